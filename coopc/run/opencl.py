"""Runs OpenCL kernels on numpy arrays, on Intel's OpenCL run-time for CPUs.

    with Session.start() as session:
        result = session.run(
            binary, "saxpy", [x, y, np.float32(2)], global_size=(64,), local_size=(16,)
        )
    result.buffers[1]

The run-time comes as Python packages.  It compiles cooperative matrices to AMX; where
the CPU has none, `Session.start(amx=True)` emulates it.  It does not check modules, and
some of its errors end the process: hence spirv-val first, and a process of its own.
"""

import importlib.metadata
import importlib.util
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np

from coopc.run import amx as amx_emulation
from coopc.run.arrays import Array, RunResult, check_run, to_blob
from coopc.run.frame import Header
from coopc.run.spirv_facts import SpirvFacts, spirv_facts
from coopc.run.toolchain import ToolMissing, why_invalid
from coopc.run.worker import RunFailed, Served, Worker, serving

Argument: TypeAlias = "Array | np.generic"

DISTRIBUTION = "intel-opencl-rt"
RUNTIME, LOADER = "libintelocl.so", "libOpenCL.so.1"
# Of the package intel-cmplr-lib-rt, which intel-opencl-rt needs and does not ask for.
MATH_LIBRARY = "libimf.so"
LOADER_VARIABLES = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES")
AMX_TARGET = "graniterapids"
"""The oldest CPU whose AMX has f16 (sapphirerapids has bf16 and int8 alone)."""
HOW = "run `pip install intel-opencl-rt intel-cmplr-lib-rt pyopencl`"


@dataclass(frozen=True)
class DeviceInfo:
    """An OpenCL device and what it can do."""

    name: str
    """The device's own name."""
    driver: str
    """Name of the platform and version of the driver."""
    version: str
    """The OpenCL version, such as `OpenCL 3.1 (Build 0)`."""
    subgroup_sizes: tuple[int, ...]
    """The sizes that a kernel may ask for, in invocations."""
    extensions: frozenset[str]
    """The extensions of the device."""
    invocations: int
    """The most invocations in a work-group."""
    shared_memory_bytes: int
    """Size of the memory of a work-group."""
    amx: bool
    """Whether it runs cooperative matrices, as AMX tiles."""

    @classmethod
    def from_header(cls, header: Header, *, amx: bool) -> Self:
        """What a worker's answer says of a device."""
        return cls(
            name=header["name"],
            driver=header["driver"],
            version=header["version"],
            subgroup_sizes=tuple(header["subgroup_sizes"]),
            extensions=frozenset(header["extensions"]),
            invocations=header["invocations"],
            shared_memory_bytes=header["shared_memory_bytes"],
            amx=amx,
        )


class Session(Served):
    """An OpenCL device that is open in a worker process; a context manager."""

    def __init__(self, worker: Worker, *, amx: bool) -> None:
        super().__init__(worker)
        self.info = DeviceInfo.from_header(worker.open(), amx=amx)
        worker.driver = self.info.driver

    @classmethod
    def start(cls, *, amx: bool = False) -> Self:
        """Open Intel's run-time for CPUs.

        Args:
            amx: compile cooperative matrices to AMX, and emulate it.

        Raises:
            ToolMissing: a package, or for `amx` a C compiler, is not there.
            RunFailed: the run-time cannot be opened, or the CPU lacks AVX-512, which
                the run-time's code for AMX needs.
        """
        runtime = find_runtime()
        environment = dict(os.environ)
        environment |= dict.fromkeys(LOADER_VARIABLES, str(runtime))
        if amx:
            reason = amx_emulation.why_impossible(amx_emulation.cpu_flags())
            if reason is not None:
                raise RunFailed(reason)
            environment["LD_PRELOAD"] = str(amx_emulation.emulator())
            environment["CL_CONFIG_CPU_TARGET_ARCH"] = AMX_TARGET
        opening: Header = {"do": "open", "loader": str(runtime.with_name(LOADER))}
        command = serving([sys.executable], "opencl_worker")
        worker = Worker(command, environment, opening)
        return cls(worker, amx=amx)

    def run(
        self,
        binary: bytes,
        entry: str,
        arguments: Sequence[Argument],
        *,
        global_size: Sequence[int],
        local_size: Sequence[int],
        spec: Mapping[int, bytes] | None = None,
        repeats: int = 1,
        validate: bool = True,
        seconds: float = 60.0,
    ) -> RunResult:
        """Run a kernel; the arrays given are left as they are.

        Args:
            binary: a SPIR-V module for OpenCL.
            entry: the name of its kernel.
            arguments: those of the kernel: arrays for pointers, numpy scalars.
            global_size: numbers of work-items, one to three.
            local_size: work-items in a work-group along each of these axes.
            spec: values of specialization constants by SpecId.
            repeats: number of dispatches, all timed; each sees what the one before it
                wrote, and the result holds what the first wrote.
            validate: let spirv-val check the module first, where there is one.
            seconds: how long all of it may take.

        Returns:
            The arrays among the arguments, in their order, and the times.

        Raises:
            ValueError: no such kernel, sizes of 0 or that do not divide, no SPIR-V
                module.
            RunFailed: the module is invalid, the run-time cannot run it, or it crashed,
                or took too long.
        """
        check_run((*global_size, *local_size), "numbers of work-items", repeats)
        check_sizes(global_size, local_size)
        blobs = [
            to_blob(x, i) if isinstance(x, np.ndarray) else x.tobytes()
            for i, x in enumerate(arguments)
        ]
        spec = spec or {}
        facts = spirv_facts(binary, spec)
        self._check(binary, facts, entry, local_size, validate=validate)
        request: Header = {
            "do": "run",
            "entry": entry,
            "is_buffer": [isinstance(x, np.ndarray) for x in arguments],
            "spec": {str(id): value.hex() for id, value in spec.items()},
            "global_size": list(global_size),
            "local_size": list(local_size),
            "repeats": repeats,
        }
        answer, contents = self._worker.ask(request, [binary, *blobs], seconds=seconds)
        arrays = [x for x in arguments if isinstance(x, np.ndarray)]
        return RunResult.of(contents, arrays, answer["milliseconds"])

    def _check(
        self,
        binary: bytes,
        facts: SpirvFacts,
        entry: str,
        local_size: Sequence[int],
        *,
        validate: bool,
    ) -> None:
        """Refuse a kernel that is not there, is not valid, or that cannot run here."""
        facts.check_entry(entry)
        reason = None
        if validate:
            reason = why_invalid(binary, "spv{}.{}".format(*facts.version))
        reason = reason or why_unsupported(self.info, facts, entry, local_size)
        if reason is not None:
            raise RunFailed(reason)


def why_unsupported(
    info: DeviceInfo, facts: SpirvFacts, entry: str, local_size: Sequence[int]
) -> str | None:
    """Why a device cannot run a kernel, or None.

    Args:
        info: the device.
        facts: what the module uses.
        entry: the name of the kernel.
        local_size: work-items in a work-group along each axis.
    """
    if math.prod(local_size) > info.invocations:
        return (
            f"expected work-groups of at most {info.invocations} work-items on "
            f"{info.name}, got {math.prod(local_size)}"
        )
    lanes = facts.subgroup_sizes.get(entry)
    if lanes is not None and lanes not in info.subgroup_sizes:
        has = ", ".join(map(str, info.subgroup_sizes))
        return f"expected a subgroup size of {has} on {info.name}, got {lanes}"
    if facts.mistakes:
        return facts.mistakes[0]
    if facts.matrix_types and not info.amx:
        return f"{info.name} has cooperative matrices only with AMX"
    return None


def check_sizes(global_size: Sequence[int], local_size: Sequence[int]) -> None:
    """Refuse work-groups that do not fill the work-items.

    Raises:
        ValueError: the sizes differ in number, are not one to three, or do not divide.
    """
    if len(global_size) != len(local_size) or not 1 <= len(global_size) <= 3:
        raise ValueError(
            "expected as many global as local sizes, one to three, got "
            f"{len(global_size)} and {len(local_size)}"
        )
    if any(x % group for x, group in zip(global_size, local_size, strict=True)):
        raise ValueError(
            f"expected global sizes that are multiples of {tuple(local_size)}, "
            f"got {tuple(global_size)}"
        )


def find_runtime() -> Path:
    """The library of Intel's OpenCL run-time.

    Raises:
        ToolMissing: a package is not installed.
    """
    if importlib.util.find_spec("pyopencl") is None:
        raise ToolMissing("pyopencl", HOW)
    try:
        files = importlib.metadata.distribution(DISTRIBUTION).files or []
    except importlib.metadata.PackageNotFoundError:
        raise ToolMissing(DISTRIBUTION, HOW) from None
    for file in files:
        if file.name == RUNTIME:
            path = Path(str(file.locate())).resolve()
            if not path.with_name(MATH_LIBRARY).exists():
                raise ToolMissing("intel-cmplr-lib-rt", HOW)
            return path
    raise ToolMissing(RUNTIME, HOW)
