"""Compiled kernels on a driver, by their interface: one function for each driver.

Each takes a module and a `Call` (arguments packed as the interface asks) and gives an
`Outcome`: the arrays of the kernel's memrefs afterwards, the times, and on what it ran.
`spec` has values of specialization constants by name, `threads` run parts of the grid,
`repeats` is how often the kernel runs, and `seconds` how long compiling and running may
take.  What fails is a RunFailed, a wrong argument a ValueError.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from coopc.device.factory import options_of_device
from coopc.interface import Interface
from coopc.interface_call import Call, sizes_of
from coopc.run.arrays import Array, Outcome
from coopc.run.executable import Executable
from coopc.run.worker import TIMEOUT_SECONDS, Worker

if TYPE_CHECKING:
    from coopc.passes.cpu.stages import Stages
    from coopc.run.cpu_session import Session as CpuSession
    from coopc.run.opencl import Session as OpenCLSession
    from coopc.run.tiles import Tiles
    from coopc.run.vulkan import Session as VulkanSession
    from coopc.run.vulkan_device import Shader

SPEC_BYTES = 4
"""Specialization constants are i32."""
AnyWorker = TypeVar("AnyWorker", bound=Worker)

_started: dict[tuple[object, ...], Worker] = {}
_lock = threading.RLock()


@contextmanager
def kept(start: Callable[..., AnyWorker], **options: object) -> Generator[AnyWorker]:
    """A session that this process starts once, for one thread at a time."""
    key = (os.getpid(), start, *options.items())
    with _lock:
        if key not in _started:
            _started[key] = start(**options)
            atexit.register(_close, key[0], _started[key])
        yield cast("AnyWorker", _started[key])


def _close(process: int, worker: Worker) -> None:
    """End a session, unless this is a fork of the process that started it."""
    if process == os.getpid():
        worker.close()


def vulkan_session(device: str) -> AbstractContextManager[VulkanSession]:
    """The session of this machine's driver for a Vulkan device."""
    from coopc.run.vulkan import Session as Vulkan

    given = options_of_device(device)
    loader = given.get("loader", "lavapipe" if device == "lavapipe" else "system")
    return kept(Vulkan.start, driver=loader, index=given.get("index"))


def executable_on_driver(
    interface: tuple[Interface, ...],
    flavour: str,
    device: str,
    binary_of: Callable[[str], bytes],
    without_grid: frozenset[str] = frozenset(),
) -> Executable:
    """Return what runs kernels on the driver of this machine for a device.

    `binary_of` gives the SPIR-V module that has a kernel, by its name.
    """

    def by_vulkan(call: Call, **how: Any) -> Outcome:
        with vulkan_session(device) as session:
            return on_vulkan(binary_of(call.interface.name), call, session, **how)

    def by_opencl(call: Call, **how: Any) -> Outcome:
        from coopc.run.opencl import Session as OpenCL

        binary = binary_of(call.interface.name)
        with kept(OpenCL.start, amx=b"SPV_KHR_cooperative_matrix" in binary) as session:
            return on_opencl(binary, call, session, **how)

    if flavour == "opencl":
        return Executable(interface, by_opencl, without_grid)
    whole = partial(sequence_on_vulkan, device, binary_of)
    return Executable(interface, by_vulkan, without_grid, whole)


def on_vulkan(
    binary: bytes,
    call: Call,
    session: VulkanSession,
    *,
    spec: Mapping[str, int] | None = None,
    repeats: int = 1,
    seconds: float = TIMEOUT_SECONDS,
) -> Outcome:
    """Run a SPIR-V module on a Vulkan device."""
    return _on_driver(
        session,
        call,
        *(binary, call.interface.name, call.buffers),
        **_of_shader(call, spec or {}),
        repeats=repeats,
        seconds=seconds,
    )


def _of_shader(call: Call, spec: Mapping[str, int]) -> dict[str, Any]:
    interface = call.interface
    return {
        "groups": call.groups,
        "push_constants": call.push_constants,
        "spec": spec_values(interface, spec),
        "subgroup_size": interface.subgroup_size,
        "addresses": interface.addresses,
        "pointers": call.pointers,
    }


def sequence_on_vulkan(
    device: str,
    binary_of: Callable[[str], bytes],
    calls: Sequence[Call],
    places: Sequence[Sequence[int]],
    memories: Sequence[Array],
    read: int,
    *,
    spec: Mapping[str, int] | None = None,
    seconds: float = TIMEOUT_SECONDS,
) -> Outcome:
    """Run kernels one after the other on memory that stays on the device.

    `places` are the numbers of the memories that each one's buffers are, of which the
    outcome has the first `read`.
    """
    with vulkan_session(device) as session:
        shaders = [
            shader_of(session, binary_of(x.interface.name), x, at, spec)
            for x, at in zip(calls, places, strict=True)
        ]
        return session.run_sequence(shaders, memories, read, seconds=seconds)


def shader_of(
    session: VulkanSession,
    binary: bytes,
    call: Call,
    places: Sequence[int],
    spec: Mapping[str, int] | None = None,
) -> Shader:
    """Return the shader of a call whose buffers are memories of some numbers."""
    name = call.interface.name
    return session.shader(binary, name, places, **_of_shader(call, spec or {}))


def on_opencl(
    binary: bytes,
    call: Call,
    session: OpenCLSession,
    *,
    spec: Mapping[str, int] | None = None,
    repeats: int = 1,
    seconds: float = TIMEOUT_SECONDS,
) -> Outcome:
    """Run a SPIR-V module on an OpenCL device."""
    interface = call.interface
    size = interface.work_group_size
    arguments, pointers = call.driver_arguments
    return _on_driver(
        session,
        call,
        *(binary, interface.name, arguments),
        pointers=pointers,
        global_size=[n * items for n, items in zip(call.groups, size, strict=True)],
        local_size=size,
        spec=spec_values(interface, spec or {}),
        repeats=repeats,
        seconds=seconds,
    )


def _on_driver(
    session: VulkanSession | OpenCLSession, call: Call, *given: Any, **options: Any
) -> Outcome:
    if 0 in call.groups:  # drivers start no kernels of no work-groups
        times = (0.0,) * options["repeats"]
        return _unpacked(call, Outcome(call.buffers, times, session.where))
    return _unpacked(call, session.run(*given, **options))


def on_cpu_session(
    ir: str,
    stages: Mapping[str, Stages],
    call: Call,
    session: CpuSession,
    *,
    tiles: Tiles,
    threads: int = 1,
    repeats: int = 1,
    seconds: float = TIMEOUT_SECONDS,
) -> Outcome:
    """Run LLVM IR on this processor, in a process of its own.

    `stages` are the kernels that run as several functions.
    """
    from coopc.run.cpu import steps_of

    interface = call.interface
    sizes = sizes_of(interface, call.given)
    arguments, pointers = call.driver_arguments
    known = {each.buffer: each.name for each in call.contents}
    names = [known.get(n, x.name) for n, x in enumerate(interface.buffers)]
    names += [x for n, x in known.items() if n >= len(names)]
    found = session.run(
        ir,
        steps_of(stages, interface.name, sizes, call.groups),
        arguments,
        tiles=tiles,
        names=names,
        pointers=pointers,
        threads=threads,
        repeats=repeats,
        seconds=seconds,
    )
    return _unpacked(call, found)


def _unpacked(call: Call, found: Outcome) -> Outcome:
    return replace(found, arrays=call.unpack(found.arrays))


def spec_values(interface: Interface, spec: Mapping[str, int]) -> dict[int, bytes]:
    """Specialization constants by their ids, as bytes.

    Raises:
        ValueError: the kernel's module has no constant of a name, or the kernel was
            not compiled for a value.
    """
    ids = {constant.name: constant.id for constant in interface.spec_constants}
    if unknown := [name for name in spec if name not in ids]:
        raise ValueError(
            "expected a specialization constant of the module, which has "
            f"{', '.join(ids) or 'none'}, got {unknown[0]}"
        )
    values = {each.name: each.default for each in interface.spec_constants} | {**spec}
    for each in interface.spec_constants:
        if reason := each.why_not(values):
            raise ValueError(reason)
    return {
        ids[name]: value.to_bytes(SPEC_BYTES, "little", signed=True)
        for name, value in spec.items()
    }
