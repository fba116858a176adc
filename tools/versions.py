"""What `--version` prints: coopc, what it stands on, and the tools it found."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from coopc.run.toolchain import version_report


def versions(tool: str) -> str:
    """A line for `tool`, and one for each version that may matter in a report."""
    rows = {
        "xdsl": installed("xdsl"),
        "numpy": installed("numpy"),
        "python": platform.python_version(),
    }
    lines = [f"{tool} {installed('coopc')}"]
    lines += [f"  {name} {number}" for name, number in rows.items()]
    lines += [f"  {line}" for line in version_report()]
    return "\n".join(lines) + "\n"


def installed(package: str) -> str:
    """The version of an installed Python package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
