"""A compiled module that can be called: `Executable`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from coopc.diagnostic import near_match
from coopc.explain import usage_errors
from coopc.interface import SECOND_ENTRY, Buffer, Interface
from coopc.interface_call import (
    Call,
    Given,
    checked,
    entry_for,
    pack,
    violated_condition,
    with_fields,
)
from coopc.remarks import current_sink
from coopc.run.arrays import Outcome, check_apart, to_argument, write_back

TIMEOUT_SECONDS = 600
"""How long a driver's compiler and a kernel may take: emulated ones are long."""
LAUNCH = "coopc.launch"
"""What errors of a launch from Python begin with."""
Grid: TypeAlias = "int | Sequence[int]"
"""Work-groups along x, or along up to three axes."""


def failures() -> tuple[type[Exception], ...]:
    """Return what is raised where a driver, a tool or a kernel fails."""
    from coopc.run.toolchain import ToolMissing
    from coopc.run.worker import RunFailed

    return RunFailed, ToolMissing


@dataclass(frozen=True)
class Executable:
    """Compiled kernels, and what runs them."""

    interface: tuple[Interface, ...]
    execute: Callable[..., Outcome]
    """Runs a `Call`; it takes `spec`, `repeats` and `seconds`: see
    `coopc.run.execute`."""
    without_grid: frozenset[str] = frozenset()
    """Kernels whose work-groups coopc chose."""

    def kernel(self, name: str | None = None) -> Interface:
        """Return the kernel of a name, or the only one, second entry points aside.

        Raises:
            ValueError: there is none, or there are several and no name.
        """
        names = [interface.name for interface in self.interface]
        first = [
            x
            for x in names
            if not x.endswith(SECOND_ENTRY) or x.removesuffix(SECOND_ENTRY) not in names
        ]
        if not names:
            raise ValueError(
                "expected a kernel: no function has simt.kernel or linalg.matmul, and "
                "no pass made one; -p says the passes"
            )
        if name is None and len(first) > 1:
            raise ValueError(f"expected --kernel, one of {', '.join(names)}")
        if name is not None and name not in names:
            near = near_match(name, names)
            raise ValueError(f"expected a kernel, one of {', '.join(names)}{near}")
        return self.interface[names.index(first[0] if name is None else name)]

    def call(
        self, given: Sequence[Given], grid: Grid | None = None, name: str | None = None
    ) -> Call:
        """Pack arguments for the entry point of a kernel that takes them.

        Without a name it is `.fallback` where they violate a condition, with a remark.

        Raises:
            ValueError: an argument, or the grid, is not what the kernel takes.
        """
        interface = self.kernel(name)
        if name is None:
            given = checked(interface, given)
            entry = entry_for(self.interface, interface, given)
            if entry is not interface:
                reason = violated_condition(interface, given)
                current_sink()(f"remark: {interface.name}: {reason}: runs {entry.name}")
            interface = entry
        groups = None if grid is None else _three(grid)
        if groups is not None and interface.name in self.without_grid:
            raise ValueError(
                f"--grid is not allowed for {interface.name}, got "
                f"{','.join(map(str, groups))}: coopc made this kernel and chooses its "
                "work-groups"
            )
        return pack(interface, given, groups)

    def run(
        self,
        *arguments: object,
        grid: Grid | None = None,
        kernel: str | None = None,
        spec: Mapping[str, int] | None = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> Outcome:
        """Run a kernel on arrays, which it changes in place: see `coopc.launch`.

        Raises:
            CompileError: the arguments are wrong, or the kernel cannot be run.
        """
        with usage_errors(LAUNCH, OSError, *failures()):
            found = [to_argument(each) for each in arguments]
            given = with_fields(self.kernel(kernel), found)
            call = self.call(given, grid, kernel)
            outcome = self.execute(call, spec=spec or {}, repeats=1, seconds=seconds)
            pairs = zip(call.interface.arguments, given, strict=True)
            buffers = [np.asarray(x) for y, x in pairs if isinstance(y, Buffer)]
            names = [x.name for x in call.interface.buffers]
            check_apart(names, buffers, outcome.arrays)
            for before, after in zip(buffers, outcome.arrays, strict=True):
                write_back(before, after)
        return replace(outcome, arrays=tuple(buffers))


def _three(grid: Grid) -> tuple[int, int, int]:
    sizes = (grid,) if isinstance(grid, int) else tuple(grid)
    if not 1 <= len(sizes) <= 3 or min(sizes) < 0:
        raise ValueError(f"expected a grid of one to three numbers, got {grid}")
    x, y, z = (*map(int, sizes), 1, 1)[:3]
    return x, y, z
