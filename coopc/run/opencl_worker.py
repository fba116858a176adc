"""The worker process that owns an OpenCL device; `coopc.run.opencl` starts it."""

import ctypes
import warnings
from collections.abc import Sequence
from typing import Any

import pyopencl

from coopc.run.frame import Blob, Header
from coopc.run.service import Refusal, serve

cl: Any = pyopencl
SUB_GROUP_SIZES_INTEL = 0x4108
"""CL_DEVICE_SUB_GROUP_SIZES_INTEL, which pyopencl has no name for."""
PROGRESS = ("Compilation ", "Linking ", "Device build ", "Options used ", "(options")
"""How lines of a build log begin that do not say what is wrong."""


class OpenclWorker:
    """What the process holds between requests."""

    def __init__(self) -> None:
        self.context: Any = None
        self.queue: Any = None

    def open(
        self, request: Header, blobs: Sequence[bytes]
    ) -> tuple[Header, Sequence[Blob]]:
        """Open the first device and describe it."""
        device = cl.get_platforms()[0].get_devices()[0]
        self.context = cl.Context([device])
        profiling = cl.command_queue_properties.PROFILING_ENABLE
        self.queue = cl.CommandQueue(self.context, properties=profiling)
        return {
            "name": device.name.strip(),
            "driver": f"{device.platform.name} {device.driver_version}",
            "version": device.version.strip(),
            "extensions": device.extensions.split(),
            "subgroup_sizes": subgroup_sizes(device, request["loader"]),
            "invocations": device.max_work_group_size,
            "shared_memory_bytes": device.local_mem_size,
        }, ()

    def run(
        self, request: Header, blobs: Sequence[bytes]
    ) -> tuple[Header, Sequence[Blob]]:
        """Run a kernel: the blobs are code and arguments, "is_buffer" says which."""
        code, *values = blobs
        kernel = cl.Kernel(self._build(code, request["spec"]), request["entry"])
        if kernel.num_args != len(values):
            raise Refusal(f"expected {kernel.num_args} arguments, got {len(values)}")
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        arguments = [
            cl.Buffer(self.context, flags, hostbuf=value) if is_buffer else value
            for value, is_buffer in zip(values, request["is_buffer"], strict=True)
        ]
        for position, argument in enumerate(arguments):
            kernel.set_arg(position, argument)
        sizes = (request["global_size"], request["local_size"])
        times = [self._dispatch(kernel, *sizes)]
        results: list[Blob] = []
        for value, argument in zip(values, arguments, strict=True):
            if isinstance(argument, cl.Buffer):
                results.append(bytearray(len(value)))
                cl.enqueue_copy(self.queue, results[-1], argument)
        times += [self._dispatch(kernel, *sizes) for _ in range(request["repeats"] - 1)]
        return {"milliseconds": times}, results

    def _build(self, code: bytes, spec: dict[str, str]) -> Any:
        """The program of a module; a refusal is cut down to what the compiler said."""
        program = cl.Program(self.context, code)
        for id, value in spec.items():
            program._prg.set_specialization_constant(int(id), bytes.fromhex(value))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            try:
                return program.build()
            except cl.RuntimeError as e:
                lines = str(e).partition("Build on")[2].splitlines()[1:]
                said = [x for x in lines if x and not x.startswith(PROGRESS)]
                raise Refusal("; ".join(said) or str(e)) from None

    def _dispatch(
        self, kernel: Any, global_size: list[int], local_size: list[int]
    ) -> float:
        """The milliseconds that one dispatch takes."""
        event = cl.enqueue_nd_range_kernel(self.queue, kernel, global_size, local_size)
        event.wait()
        return (event.profile.end - event.profile.start) * 1e-6


def subgroup_sizes(device: Any, loader_path: str) -> list[int]:
    """The subgroup sizes of a device, asked through the run-time's own loader."""
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
    """Serve requests until standard input ends."""
    worker = OpenclWorker()
    serve({"open": worker.open, "run": worker.run})
