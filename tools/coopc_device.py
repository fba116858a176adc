"""coopc-device: print a device as a file, which the option device=FILE reads.

    coopc-device rdna3 -o engine.toml
    coopc-device "driver{loader=lavapipe}"
    coopc-device --from-driver
    coopc-device --list

Edit the file, or extend it from another one (`extends`): see `coopc/device/file.py`.
Fields whose values are unknown are listed on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from coopc.device import device
from coopc.device.file import SUFFIXES, written
from coopc.explain import usage_errors, wrong_call
from coopc.tools.driver import ArgumentParser, RawHelpFormatter, run_tool, write_output
from coopc.tools.help import add_about

TOOL = "coopc-device"


def print_device(args: Sequence[str] | None) -> None:
    parser = ArgumentParser(
        prog=TOOL, description=__doc__, formatter_class=RawHelpFormatter
    )
    add = parser.add_argument
    add("device", nargs="?", metavar="NAME", help="a device, as rdna3 or engine.toml")
    add(
        "--from-driver",
        action="store_true",
        help="ask the system's Vulkan loader, as the device driver{} does",
    )
    add_about(add, "devices")
    add("--output", "-o", metavar="FILE", help="where to write it, a .toml file")
    given = parser.read(args)
    if given.from_driver == (given.device is not None):
        got = "both" if given.from_driver else "neither"
        message = f"expected the name of a device or --from-driver, got {got}"
        raise wrong_call(TOOL, message)
    output: str | None = given.output
    if output not in (None, "-") and Path(output).suffix != SUFFIXES[0]:
        raise wrong_call(TOOL, f"expected a {SUFFIXES[0]} file, got {output}")
    with usage_errors(TOOL):
        found = device("driver" if given.from_driver else given.device)
    write_output(output, written(found).encode())
    if found.unknown:
        print(f"{found.name}: unknown: {', '.join(found.unknown)}", file=sys.stderr)


def main(args: Sequence[str] | None = None) -> int:
    return run_tool(TOOL, lambda: print_device(args))


if __name__ == "__main__":
    sys.exit(main())
