"""Runs OpenCL kernels on numpy arrays, on Intel's OpenCL runtime for CPUs.

    with Session.start() as session:
        result = session.run(
            binary, "saxpy", [x, y, np.float32(2)], global_size=(64,), local_size=(16,)
        )
    result.arrays[1]

The runtime comes as Python packages.  It compiles cooperative matrices to AMX; where
the CPU has none, `Session.start(amx=True)` emulates it.  It does not check modules, and
some of its errors end the process: hence spirv-val first, and a process of its own.
"""

import ctypes
import importlib.metadata
import importlib.util
import math
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from coopc.run import tiles
from coopc.run.arrays import Argument, Outcome, check_run, to_memories
from coopc.run.toolchain import ToolMissing, why_invalid
from coopc.run.worker import TIMEOUT_SECONDS, RunFailed, Worker, report, serve, serving
from coopc.spirv.facts import SpirvFacts, spirv_facts

DISTRIBUTION = "intel-opencl-rt"
RUNTIME, LOADER = "libintelocl.so", "libOpenCL.so.1"
# Of the package intel-cmplr-lib-rt, which intel-opencl-rt needs and does not ask for.
MATH_LIBRARY = "libimf.so"
LOADER_VARIABLES = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES")
AMX_TARGET = "graniterapids"
"""The oldest CPU whose AMX has f16 (sapphirerapids has bf16 and int8 alone)."""
PLAIN_TARGET = "skx"
"""For processors with AVX512-VBMI, thus Ice Lake, Zen 4 and later: compiled for these,
kernels of bytes end Intel's compiler (2026.22), with "Cannot emit physreg copy
instruction"."""
SUB_GROUP_SIZES_INTEL = 0x4108
"""CL_DEVICE_SUB_GROUP_SIZES_INTEL, which pyopencl has no name for."""
KERNELS = 8
"""Compiled kernels that are cached: compiling one takes 0.5 s and more."""
PROGRESS = ("Compilation ", "Linking ", "Device build ", "Options used ", "(options")
"""How lines of a build log begin that do not say what is wrong."""
HOW = "run `pip install intel-opencl-rt intel-cmplr-lib-rt pyopencl`"


@dataclass(frozen=True)
class OpenCLInfo:
    """An OpenCL device and what it can do."""

    name: str
    driver: str
    """Name of the platform and version of the driver."""
    subgroup_sizes: tuple[int, ...]
    """The sizes that a kernel may ask for, in invocations."""
    invocations: int
    """The most invocations in a work-group."""
    amx: bool
    """Whether it runs cooperative matrices, as AMX tiles."""


class Session(Worker):
    """An OpenCL device that is open in a worker process; a context manager."""

    info: OpenCLInfo

    @property
    def where(self) -> str:
        """The device and its driver, for people."""
        matrices = ", matrices on AMX" if self.info.amx else ""
        return f"{self.info.name}, {self.info.driver}{matrices}"

    @classmethod
    def start(cls, *, amx: bool = False) -> Self:
        """Open Intel's runtime for CPUs; with `amx` it compiles to emulated AMX.

        Raises:
            ToolMissing: a package, or for `amx` a C compiler, is not there.
            RunFailed: the runtime cannot be opened, or the CPU lacks AVX-512, which
                the runtime's code for AMX needs.
        """
        runtime = find_runtime()
        environment = dict(os.environ)
        environment |= dict.fromkeys(LOADER_VARIABLES, str(runtime))
        if amx:
            reason = tiles.why_impossible(tiles.cpu_flags())
            if reason is not None:
                raise RunFailed(reason)
            environment["LD_PRELOAD"] = str(tiles.emulator())
            environment["CL_CONFIG_CPU_TARGET_ARCH"] = AMX_TARGET
        elif "avx512vbmi" in tiles.cpu_flags():
            environment.setdefault("CL_CONFIG_CPU_TARGET_ARCH", PLAIN_TARGET)
        command = serving([sys.executable], "opencl")
        loader = str(runtime.with_name(LOADER))
        session = cls(command, environment, "open", loader, amx)
        session.info = session.open()
        session.driver = session.info.driver
        return session

    def run(
        self,
        binary: bytes,
        entry: str,
        arguments: Sequence[Argument],
        *,
        global_size: Sequence[int],
        local_size: Sequence[int],
        spec: Mapping[int, bytes] | None = None,
        pointers: Mapping[int, Sequence[int]] | None = None,
        repeats: int = 1,
        validate: bool = True,
        seconds: float = TIMEOUT_SECONDS,
    ) -> Outcome:
        """Run a kernel on arrays, which are left as they are, and numpy scalars.

        Args:
            binary: a SPIR-V module for OpenCL.
            entry: the name of its kernel.
            arguments: those of the kernel: arrays for pointers.
            global_size: numbers of work-items, one to three.
            local_size: work-items in a work-group along each of these axes.
            spec: values of specialization constants by SpecId.
            pointers: the numbers of arrays that hold addresses of others, which are
                behind the arguments of the kernel.
            repeats: number of dispatches, all timed; each sees what the one before it
                wrote, and the result holds what the first wrote.
            validate: let spirv-val check the module first, where there is one.
            seconds: how long all of it may take.

        Raises:
            ValueError: no such kernel, sizes of 0 or that do not divide, no SPIR-V
                module.
            RunFailed: the module is invalid, the runtime cannot run it, or it crashed,
                or took too long.
        """
        sizes = (tuple(global_size), tuple(local_size))
        check_run(sum(sizes, ()), "numbers of work-items", repeats, arguments)
        if len(global_size) != len(local_size) or not 1 <= len(global_size) <= 3:
            raise ValueError(
                "expected as many global as local sizes, one to three, got "
                f"{len(global_size)} and {len(local_size)}"
            )
        if any(x % n for x, n in zip(global_size, local_size, strict=True)):
            raise ValueError(
                f"expected global sizes that are multiples of {tuple(local_size)}, "
                f"got {tuple(global_size)}"
            )
        spec = spec or {}
        facts = spirv_facts(binary, spec)
        facts.check_entry(entry)
        reason = None
        if validate:
            reason = why_invalid(binary, "spv{}.{}".format(*facts.version))
        reason = reason or why_unsupported(self.info, facts, entry, local_size)
        if reason is not None:
            raise RunFailed(reason)
        memories, given = to_memories(arguments)
        kernel = (binary, dict(spec), entry, memories, given)
        call = ("run", *kernel, sizes, repeats, pointers or {})
        contents, times = self.call(*call, seconds=seconds)
        return Outcome.of(arguments, given, contents, times, self.where)


def why_unsupported(
    info: OpenCLInfo, facts: SpirvFacts, entry: str, local_size: Sequence[int]
) -> str | None:
    """Why a device cannot run an entry point with such work-groups, or None."""
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


def find_runtime() -> Path:
    """The library of Intel's OpenCL runtime.

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


# --- The worker's side. ---


class OpenCLServer:
    def __init__(self) -> None:
        import pyopencl

        self.cl: Any = pyopencl
        self.context: Any = None
        self.queue: Any = None
        self._kernel = lru_cache(KERNELS)(self._compiled)

    def open(self, loader: str, amx: bool) -> OpenCLInfo:
        cl = self.cl
        device = cl.get_platforms()[0].get_devices()[0]
        self.context = cl.Context([device])
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(self.context, properties=profiling)
        return OpenCLInfo(
            name=device.name.strip(),
            driver=f"{device.platform.name} {device.driver_version}",
            subgroup_sizes=tuple(subgroup_sizes(device, loader)),
            invocations=device.max_work_group_size,
            amx=amx,
        )

    def run(
        self,
        binary: bytes,
        spec: Mapping[int, bytes],
        entry: str,
        memories: Sequence[bytes],
        given: Sequence[np.generic | int],
        sizes: tuple[tuple[int, ...], tuple[int, ...]],
        repeats: int,
        pointers: Mapping[int, Sequence[int]],
    ) -> tuple[list[bytes], list[float]]:
        """Run a kernel: of its arguments, an int is the number of a memory."""
        cl = self.cl
        report(f"compiling {entry}")
        kernel = self._kernel(binary, tuple(spec.items()), entry)
        report(f"running {entry}")
        count = len(given) - sum(map(len, pointers.values()))
        if kernel.num_args != count:
            raise RunFailed(f"expected {kernel.num_args} arguments, got {count}")
        make = self._shared if pointers else self._buffer
        buffers = [make(x) for x in memories]
        arguments: list[Any] = [buffers[x] if type(x) is int else x for x in given]
        for number, parts in pointers.items():
            starts = [arguments[x].mem.ctypes.data for x in parts]
            arguments[number].mem.view(np.int64)[:] = starts
        for position, argument in enumerate(arguments[:count]):
            kernel.set_arg(position, argument)
        times = [self._dispatch(kernel, *sizes)]
        contents: list[bytes] = []
        for buffer in buffers:
            if isinstance(buffer, cl.SVM):
                contents.append(buffer.mem.tobytes())
            else:
                content = bytearray(buffer.size)
                cl.enqueue_copy(self.queue, content, buffer)
                contents.append(bytes(content))
        times += [self._dispatch(kernel, *sizes) for _ in range(repeats - 1)]
        return contents, times

    def _buffer(self, data: bytes) -> Any:
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        return self.cl.Buffer(self.context, flags, hostbuf=data)

    def _shared(self, data: bytes) -> Any:
        """Memory whose address kernels may load, as the host does."""
        memory = self.cl.fsvm_empty(self.context, len(data), np.uint8)
        memory[:] = np.frombuffer(data, np.uint8)
        return self.cl.SVM(memory)

    def _compiled(
        self, binary: bytes, spec: tuple[tuple[int, bytes], ...], entry: str
    ) -> Any:
        return self.cl.Kernel(self._build(binary, spec), entry)

    def _build(self, binary: bytes, spec: Iterable[tuple[int, bytes]]) -> Any:
        """The program of a module; a refusal is cut down to what the compiler said."""
        cl = self.cl
        program = cl.Program(self.context, binary)
        for id, value in spec:
            program._prg.set_specialization_constant(id, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            try:
                return program.build()
            except cl.RuntimeError as e:
                lines = str(e).partition("Build on")[2].splitlines()[1:]
                said = [x for x in lines if x and not x.startswith(PROGRESS)]
                raise RunFailed("; ".join(said) or str(e)) from None

    def _dispatch(
        self, kernel: Any, global_size: Sequence[int], local_size: Sequence[int]
    ) -> float:
        cl = self.cl
        event = cl.enqueue_nd_range_kernel(self.queue, kernel, global_size, local_size)
        event.wait()
        return (event.profile.end - event.profile.start) * 1e-6


def subgroup_sizes(device: Any, loader_path: str) -> list[int]:
    """The subgroup sizes of a device, asked through the runtime's own loader."""
    loader = ctypes.CDLL(loader_path)
    handle = ctypes.c_void_p(device.int_ptr)
    size = ctypes.c_size_t()
    none = ctypes.c_size_t(0)
    ask = loader.clGetDeviceInfo
    ask(handle, SUB_GROUP_SIZES_INTEL, none, None, ctypes.byref(size))
    sizes = (ctypes.c_size_t * (size.value // ctypes.sizeof(size)))()
    ask(handle, SUB_GROUP_SIZES_INTEL, size, sizes, None)
    return list(sizes)


def main() -> None:
    server = OpenCLServer()
    serve({"open": server.open, "run": server.run})
