"""Which Triton coopc works with, and which is installed."""

import hashlib
import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version

WANTED = "3.9"
"""The version of Triton whose front end and IR coopc knows."""


def coopc_version() -> str:
    try:
        return version("coopc")
    except PackageNotFoundError:
        return "(not installed)"


@cache
def source_hash() -> str:
    """Return a digest of coopc's modules, which change without a new version, too."""
    found = hashlib.sha256()
    package = os.path.dirname(os.path.dirname(__file__))
    for folder, folders, names in os.walk(package, followlinks=True):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".py", ".c")):
                found.update(name.encode())
                with open(os.path.join(folder, name), "rb") as file:
                    found.update(file.read())
    return found.hexdigest()


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
        f"expected Triton {WANTED}, which coopc {coopc_version()} is for, got Triton "
        f"{triton.__version__}"
    )
