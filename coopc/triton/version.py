"""Which Triton coopc works with, and which is installed."""

from coopc.versions import installed

WANTED = "3.9"
"""The version of Triton whose front end and IR coopc knows."""


def why_not() -> str | None:
    """Return why coopc cannot use the Triton that is installed, or None.

    >>> why_not() in (None, "expected Triton 3.9, got none: pip install coopc[triton]")
    True
    """
    try:
        import triton
    except ImportError:
        return f"expected Triton {WANTED}, got none: pip install coopc[triton]"
    if triton.__version__.startswith(f"{WANTED}."):
        return None
    return (
        f"expected Triton {WANTED}, which coopc {installed('coopc')} is for, "
        f"got Triton {triton.__version__}"
    )
