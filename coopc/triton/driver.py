"""The driver by which Triton launches kernels that coopc compiled.

It is active if `COOPC_TRITON=cpu|vulkan|opencl[:DEVICE]` or `TRITON_DEFAULT_BACKEND`
says so, or if no other driver is.  On cpu a kernel runs in this process, on the memory
of its arguments.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from coopc.triton.compiler import (
    NAME,
    PLACE,
    TORCH_DEVICE,
    current_place,
    place_of,
    target_of,
)
from coopc.triton.version import why_not

if TYPE_CHECKING:
    from coopc.run.executable import Executable

PLACES: dict[str, int] = {}
"""The places used so far, and the number of each as a device of Triton."""
BACKEND = "TRITON_DEFAULT_BACKEND"
"""Triton's own variable, which it asks before it asks drivers."""
BENCHMARK_SECONDS = 0.1
"""How long a configuration of an autotuner is measured, at least three times."""
REGISTERS, WARPS = 32, 32
"""Registers of a lane and warps of a core, as reported to hosts, which compute from
them how many programs a core can hold."""
SHARED_MEMORY = 1 << 16
"""Bytes of a core, as reported: libraries choose tiles by it, here those of a small
GPU."""

if os.environ.get(PLACE):
    os.environ.setdefault(BACKEND, NAME)


def flat(values: Any) -> Iterator[Any]:
    """Return what is in tuples and those in them."""
    for each in values:
        if isinstance(each, tuple):
            yield from flat(each)
        else:
            yield each


class Launcher:
    """Made once for a compiled kernel, called for each launch."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self.types = [*flat(source.signature.values())]
        self.metadata = metadata
        self.executable: Executable | None = None

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: object,
        binary: bytes,
        packed: object,
        launch: object,
        enter: Callable[[object], object] | None,
        leave: Callable[[object], object] | None,
        *arguments: object,
    ) -> None:
        if enter is not None:
            enter(launch)
        if self.executable is None:
            self.executable = loaded(self.metadata, binary)
        pairs = zip(self.types, flat(arguments), strict=True)
        given = [value for type, value in pairs if type != "constexpr"]
        self.executable.run(*given, grid=(x, y, z))
        if leave is not None:
            leave(launch)


def loaded(metadata: Any, binary: bytes) -> Executable:
    """Return what runs a kernel that was compiled now, or before."""
    from coopc.interface import Interface
    from coopc.launcher import PLACES
    from coopc.run.cpu import Program
    from coopc.run.executable import Executable
    from coopc.run.execute import executable_on_driver
    from coopc.run.in_process import InProcess
    from coopc.run.tiles import Tiles

    target = target_of(place_of(metadata.target))
    interface = tuple(map(Interface.from_json, metadata.interface))
    if target.on == "cpu":
        program = Program.of_text(binary.decode(), Tiles(metadata.tiles))
        runner = InProcess(program, target.threads)
        return Executable(interface, runner.execute, in_process=runner)
    device = target.device or PLACES[target.on]
    return executable_on_driver(interface, target.on, device, lambda _: binary)


class Utils:
    """What Triton and hosts ask of a device."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Return what hosts size grids by: each core is a multiprocessor."""
        from coopc.run.cpu import cores

        return {
            "max_num_regs": REGISTERS * WARPS,
            "max_shared_mem": SHARED_MEMORY,
            "multiprocessor_count": len(cores()),
            "warpSize": 1,
        }

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> Any:
        """Return module, function, registers, spills, most threads of a program.

        Triton loads a kernel again before each launch if its module is None.
        """
        return binary, binary, REGISTERS, 0, 1 << 30

    def unload_module(self, module: object) -> None:
        """Nothing was loaded."""


class Event:
    """A moment, as `triton.testing.do_bench` wants it."""

    def __init__(self, enable_timing: bool = True) -> None:
        self.time = 0.0

    def record(self) -> None:
        self.time = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        return 1000 * (end.time - self.time)

    @staticmethod
    def synchronize() -> None:
        """A launch ends with its kernel."""


def benchmark(
    kernel_call: Callable[[], object], *, quantiles: Sequence[float], **_: object
) -> list[float]:
    """Measure a kernel for an autotuner, in milliseconds."""
    import numpy as np

    kernel_call()
    times: list[float] = []
    while len(times) < 3 or sum(times) < 1000 * BENCHMARK_SECONDS:
        start = time.perf_counter()
        kernel_call()
        times.append(1000 * (time.perf_counter() - start))
    return np.quantile(times, quantiles).tolist()


class CoopcDriver(DriverBase):
    def __init__(self) -> None:
        if (reason := why_not()) is not None:
            raise RuntimeError(reason)
        super().__init__()
        self.utils = Utils()
        self.launcher_cls = Launcher

    @classmethod
    def is_active(cls) -> bool:
        """Whether it was asked for, or no other driver is active."""
        if os.environ.get(BACKEND) == NAME:
            return True
        from triton.backends import backends

        others = (each.driver for each in backends.values() if each.driver is not cls)
        return why_not() is None and not any(each.is_active() for each in others)

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_device(self) -> int:
        """Return the number of the current place, in the order of first use."""
        return PLACES.setdefault(current_place(), len(PLACES))

    def get_current_target(self) -> GPUTarget:
        place = current_place()
        target_of(place)
        return GPUTarget(TORCH_DEVICE, place, 1)

    def get_current_stream(self, device: object) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        return import_module("torch").device(TORCH_DEVICE)

    def get_benchmarker(self) -> Any:
        return benchmark

    def get_device_interface(self) -> Any:
        return type("Processor", (), {"Event": Event, "synchronize": Event.synchronize})

    def get_empty_cache_for_benchmark(self) -> None:
        return None

    def clear_cache(self, cache: None) -> None:
        """A benchmark measures what is in the caches of the processor."""
