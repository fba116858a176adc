"""Compiled kernels on a driver, by their interface: one function for each driver.

Each takes a module and a `Call` (arguments packed as the interface asks) and gives an
`Outcome`: the arrays of the kernel's memrefs afterwards, the times, and on what it ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coopc.interface import Buffer, Interface
from coopc.interface_call import Call, sizes_of
from coopc.run.arrays import Array

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
    """Run a kernel on a Vulkan device.

    Args:
        binary: the SPIR-V module.
        call: the kernel's interface and its arguments.
        session: the device.
        spec: values of specialisation constants, by name.
        repeats: how often to run it.
        seconds: how long compiling and running may take.

    Raises:
        RunFailed: the device cannot run it, or did not.
        ValueError: no such specialisation constant.
    """
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
    return Outcome(call.unpack(result.buffers), result.milliseconds, where)


def on_opencl(
    binary: bytes,
    call: Call,
    session: OpenCLSession,
    *,
    spec: Mapping[str, int] | None = None,
    repeats: int = 1,
    seconds: float = 60.0,
) -> Outcome:
    """Run a kernel on an OpenCL device.

    Args:
        binary: the SPIR-V module.
        call: the kernel's interface and its arguments.
        session: the device.
        spec: values of specialisation constants, by name.
        repeats: how often to run it.
        seconds: how long compiling and running may take.

    Raises:
        RunFailed: the device cannot run it, or did not.
        ValueError: no such specialisation constant.
    """
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
    return Outcome(call.unpack(result.buffers), result.milliseconds, where)


def nothing(call: Call, repeats: int, where: str) -> Outcome:
    """What a kernel of no work-groups did: drivers start none."""
    return Outcome(call.unpack(call.buffers), (0.0,) * repeats, where)


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
    """Run a kernel on this processor, in a process of its own.

    Args:
        ir: LLVM IR of functions, what passes made of the kernel's module.
        stages: the kernels that run as several functions.
        call: the kernel's interface and its arguments.
        session: the process.
        tiles: where tiles of AMX are.
        threads: how many run parts of its grid.
        repeats: how often to run it.
        seconds: how long compiling and running may take.

    Raises:
        RunFailed: LLVM does not take the IR, or the kernel crashed, or took too long.
    """
    from coopc.run.cpu import Steps

    interface = call.interface
    name, groups = interface.name, call.groups
    sizes = sizes_of(interface, call.given)
    staged = stages.get(name)
    result = session.run(
        ir,
        staged.at(sizes, groups) if staged else Steps(((name, groups),)),
        call.opencl_arguments,
        tiles=tiles,
        names=[x.name for x in interface.arguments if isinstance(x, Buffer)],
        threads=threads,
        repeats=repeats,
        seconds=seconds,
    )
    return Outcome(call.unpack(result.buffers), result.milliseconds, session.where)


def on_cpu(
    program: Program, call: Call, *, threads: int = 1, repeats: int = 1
) -> Outcome:
    """Run a kernel on this processor, in this process.

    Args:
        program: its module, compiled.
        call: the kernel's interface and its arguments.
        threads: how many run parts of its grid.
        repeats: how often to run it.

    Raises:
        ValueError: the arguments are not what the compiled kernel takes.
    """
    result = program.run(
        call.interface.name,
        call.opencl_arguments,
        call.groups,
        sizes=sizes_of(call.interface, call.given),
        threads=threads,
        repeats=repeats,
    )
    return Outcome(call.unpack(result.buffers), result.milliseconds, program.where)


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
