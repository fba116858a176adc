"""Compiled kernels on a driver, by their interface: one function for each driver.

Each takes a module and a `Call` (arguments packed as the interface asks) and gives an
`Outcome`: the arrays of the kernel's memrefs afterwards, the times, and on what it ran.
`spec` has values of specialisation constants by name, `threads` run parts of the grid,
`repeats` is how often the kernel runs, and `seconds` how long compiling and running may
take.  What fails is a RunFailed, a wrong argument a ValueError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coopc.interface import Interface
from coopc.interface_call import Call, sizes_of
from coopc.run.arrays import Array, RunResult

if TYPE_CHECKING:
    from coopc.run.cpu import Program, Stages
    from coopc.run.cpu_session import Session as CpuSession
    from coopc.run.opencl import Session as OpenCLSession
    from coopc.run.tiles import Tiles
    from coopc.run.vulkan import Session as VulkanSession

SPEC_BYTES = 4
"""Specialisation constants are i32."""


@dataclass(frozen=True)
class Outcome:
    arrays: tuple[Array, ...]
    """Those of its memrefs, in order, after the first run."""
    milliseconds: tuple[float, ...]
    """The time of each run."""
    where: str
    """The device and its driver, for people."""

    @property
    def median_milliseconds(self) -> float:
        """The median time of a run, without the first where there are more."""
        return float(np.median(self.milliseconds[1:] or self.milliseconds))


def on_vulkan(
    binary: bytes,
    call: Call,
    session: VulkanSession,
    *,
    spec: Mapping[str, int] | None = None,
    repeats: int = 1,
    seconds: float = 60.0,
) -> Outcome:
    """Run a SPIR-V module on a Vulkan device."""
    interface = call.interface
    where = f"{session.info.name}, {session.info.driver}"
    if 0 in call.groups:
        return nothing(call, repeats, where)
    result = session.run(
        binary,
        interface.name,
        call.buffers,
        groups=call.groups,
        push_constants=call.push_constants,
        spec=spec_values(interface, spec or {}),
        subgroup_size=interface.subgroup_size,
        addresses=interface.addresses,
        repeats=repeats,
        seconds=seconds,
    )
    return outcome(call, result, where)


def on_opencl(
    binary: bytes,
    call: Call,
    session: OpenCLSession,
    *,
    spec: Mapping[str, int] | None = None,
    repeats: int = 1,
    seconds: float = 60.0,
) -> Outcome:
    """Run a SPIR-V module on an OpenCL device."""
    interface = call.interface
    size = interface.work_group_size
    matrices = ", matrices on AMX" if session.info.amx else ""
    where = f"{session.info.name}, {session.info.driver}{matrices}"
    if 0 in call.groups:
        return nothing(call, repeats, where)
    result = session.run(
        binary,
        interface.name,
        call.opencl_arguments,
        global_size=[n * items for n, items in zip(call.groups, size, strict=True)],
        local_size=size,
        spec=spec_values(interface, spec or {}),
        repeats=repeats,
        seconds=seconds,
    )
    return outcome(call, result, where)


def on_cpu_session(
    ir: str,
    stages: Mapping[str, Stages],
    call: Call,
    session: CpuSession,
    *,
    tiles: Tiles,
    threads: int = 1,
    repeats: int = 1,
    seconds: float = 60.0,
) -> Outcome:
    """Run LLVM IR on this processor, in a process of its own.

    `stages` are the kernels that run as several functions.
    """
    from coopc.run.cpu import Steps

    interface = call.interface
    name, groups = interface.name, call.groups
    staged = stages.get(name)
    sizes = sizes_of(interface, call.given)
    result = session.run(
        ir,
        staged.at(sizes, groups) if staged else Steps(((name, groups),)),
        call.opencl_arguments,
        tiles=tiles,
        names=[x.name for x in interface.buffers],
        threads=threads,
        repeats=repeats,
        seconds=seconds,
    )
    return outcome(call, result, session.where)


def on_cpu(
    program: Program, call: Call, *, threads: int = 1, repeats: int = 1
) -> Outcome:
    """Run a compiled module on this processor, in this process."""
    result = program.run(
        call.interface.name,
        call.opencl_arguments,
        call.groups,
        sizes=sizes_of(call.interface, call.given),
        threads=threads,
        repeats=repeats,
    )
    return outcome(call, result, program.where)


def outcome(call: Call, result: RunResult, where: str) -> Outcome:
    return Outcome(call.unpack(result.buffers), result.milliseconds, where)


def nothing(call: Call, repeats: int, where: str) -> Outcome:
    """What a kernel of no work-groups did: drivers start none."""
    return outcome(call, RunResult(call.buffers, (0.0,) * repeats), where)


def spec_values(interface: Interface, spec: Mapping[str, int]) -> dict[int, bytes]:
    """Specialisation constants by their ids, as bytes.

    Raises:
        ValueError: the kernel's module has no constant of a name.
    """
    ids = {constant.name: constant.id for constant in interface.spec_constants}
    if unknown := [name for name in spec if name not in ids]:
        raise ValueError(
            f"expected a specialisation constant, one of {', '.join(ids) or 'none'}, "
            f"got {unknown[0]}"
        )
    return {
        ids[name]: value.to_bytes(SPEC_BYTES, "little", signed=True)
        for name, value in spec.items()
    }
