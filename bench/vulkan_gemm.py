"""How fast multiplications are under Vulkan, and next to them those of cuBLAS.

On the first GPU of the system's Vulkan loader; nothing is measured without one.
Functions of linalg go through `coopc-khr{device=nvidia staged=true}`; times are by
timestamps of the GPU, warm, and C is compared with a product in f64, and with that of a
second run.  Each kernel has rows of what the driver tells of it, and of its machine
code where that can be read (`bench.machine_code`).  cuBLAS is what
PyTorch calls, if that is installed.  The bounds are twice what the best published
sample of the extension reaches on an H200 (185 and 184 TF/s), and 1.3 times for s8
(459): that is with B transposed, the layout that cuBLAS has for bytes.  Other shapes
have few tiles of C, or sizes that tiles do not divide: those whose rows are not
aligned are copied, in a launch sequence.  Both sides launch one product
at a time, so that small ones show what a launch costs, too; B stays in the caches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from statistics import median
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import coopc
from bench.harness import Row, cuda_milliseconds, pytorch
from bench.machine_code import in_loop, resident
from coopc.generate.gemms import Gemm
from coopc.interface import Argument, Buffer
from coopc.interface_call import dtype_of, pack, row_major, strided_zeros
from coopc.run.executable import Executable
from coopc.run.execute import on_vulkan, shader_of
from coopc.run.toolchain import ToolMissing
from coopc.run.vulkan import Session
from coopc.run.worker import RunFailed

Array: TypeAlias = npt.NDArray[Any]

SIZE = 4096
PIPELINE = "coopc-khr{device=nvidia staged=true}"
WARM, MEASURED = 1500, 101
"""Runs before those that are measured, until the clocks are up, and runs measured."""
NO_NUMBER = 2**32
"""Larger statistics say nothing: NVIDIA's driver reports 2**36 bytes of local memory
for every shader."""
FLOAT_ERROR = 1e-5
"""Of f32 sums of 4096 products, relative, in the Frobenius norm."""


@dataclass(frozen=True)
class Case:
    name: str
    gemm: Gemm
    teraflops: float | None
    """What is wanted, in 1e12 operations a second."""


WHOLE = (SIZE, SIZE, SIZE)
CASES = (
    Case("f16 -> f32", Gemm(WHOLE), 370),
    Case("bf16 -> f32", Gemm(WHOLE, types=("bf16", "f32")), 368),
    Case("s8 -> s32, B transposed", Gemm(WHOLE, b="nk", types=("i8", "i32")), 597),
    Case("f16 -> f32, B transposed", Gemm(WHOLE, b="nk"), None),
    Case("f16 -> f32, A transposed", Gemm(WHOLE, a="km"), None),
    Case("s8 -> s32", Gemm(WHOLE, types=("i8", "i32")), None),
    Case("f16 -> f32, dynamic sizes", Gemm(WHOLE, dynamic=True), None),
    *(
        Case(f"f16 -> f32, {'x'.join(map(str, sizes))}", Gemm(sizes), None)
        for sizes in (
            (1, 4096, 4096),
            (16, 4096, 4096),
            (128, 4096, 4096),
            (512, 512, 512),
            (1000, 1000, 1000),
            (1024, 1024, 1024),
            (2500, 2500, 2500),
            (4095, 4097, 4099),
        )
    ),
)


def milliseconds(gemm: Gemm, teraflops: float) -> float:
    """Return how long a multiplication takes at a rate, and the other way round."""
    return 2 * prod(map(float, gemm.sizes)) / teraflops * 1e-9


def error(found: Array, expected: Array) -> float:
    difference = found.astype(np.float64) - expected.astype(np.float64)
    return float(np.linalg.norm(difference) / np.linalg.norm(expected))


def ours(session: Session, case: Case, arrays: list[Array]) -> tuple[float, Array]:
    """Return the milliseconds of the kernels, and C.

    Those of a launch sequence are timed one by one, on memory of zeros.
    """
    artifact = coopc.compile(case.gemm.text, PIPELINE, "spirv-binary")
    run = partial(on_vulkan, artifact.bytes, session=session)
    known = {each.name: each for each in artifact.interface}
    whole = Executable(artifact.interface, run)
    interface = whole.kernel()
    if not interface.steps:
        call = pack(interface, arrays)
        outcome = run(call, repeats=WARM + MEASURED)
        again = run(call).arrays[2]
        assert again.tobytes() == outcome.arrays[2].tobytes(), case.name
        return median(outcome.milliseconds[WARM:]), outcome.arrays[2]
    found = whole.execute(pack(interface, arrays)).arrays[2]
    again = whole.execute(pack(interface, arrays)).arrays[2]
    assert again.tobytes() == found.tobytes(), case.name
    total = 0.0
    for step in interface.steps:
        kernel = known[step.kernel]
        call = pack(kernel, [zeros(x) for x in kernel.arguments])
        times = run(call, repeats=WARM + MEASURED).milliseconds
        total += median(times[WARM:])
    return total, found


def told(session: Session, case: Case) -> Iterator[Row]:
    """Yield a row for each kernel, with what the driver tells of it."""
    artifact = coopc.compile(case.gemm.text, PIPELINE, "spirv-binary")
    for kernel in artifact.interface:
        if kernel.steps:
            continue
        call = pack(kernel, [zeros(x, SIZE) for x in kernel.arguments])
        shader = shader_of(session, artifact.bytes, call, range(len(call.buffers)))
        found = session.statistics(shader, [x.nbytes for x in call.buffers])
        numbers = {x.lower(): n for x, n in found.numbers.items() if n < NO_NUMBER}
        each = ", ".join(f"{x} {n:.0f}" for x, n in numbers.items())
        name = f"  {kernel.name}, compiled by the driver: {each or 'nothing told'}"
        yield Row(name, found.milliseconds, "ms")
        if "register count" in numbers:
            items = prod(kernel.work_group_size)
            shared = numbers.get("shared memory size", 0)
            count = resident(numbers["register count"], shared, items)
            yield Row(f"  {kernel.name}, work-groups a multiprocessor", count, "")
        if (loop := in_loop(found.cache)) is not None:
            most = sorted(loop.items(), key=lambda x: -x[1])
            each = ", ".join(f"{n} {x}" for x, n in most)
            name = f"  {kernel.name}, instructions of its loop: {each}"
            yield Row(name, sum(loop.values()), "")


def zeros(argument: Argument, unknown: int = 1) -> Array:
    """Return memory for an argument, with a size for those that are not known."""
    assert isinstance(argument, Buffer), argument
    shape = tuple(unknown if size is None else size for size in argument.shape)
    known = argument.strides or row_major(shape)
    strides = [1 if step is None else step for step in known]
    return strided_zeros(shape, strides, dtype_of(argument.element))


def cublas(case: Case, arrays: list[Array]) -> float | None:
    if (torch := pytorch()) is None:
        return None
    a, b = (torch.from_numpy(x).cuda() for x in arrays[:2])
    if case.gemm.types[0] == "bf16":
        a, b = (torch.from_numpy(x.view(np.int16)).cuda() for x in arrays[:2])
        a, b = a.view(torch.bfloat16), b.view(torch.bfloat16)
    a = a.t() if case.gemm.a == "km" else a
    b = b.t() if case.gemm.b == "nk" else b
    run = partial(torch.mm, a, b, out_dtype=torch.float32)
    if case.gemm.types[0] == "i8":
        run = partial(torch._int_mm, a, b)
    return median(cuda_milliseconds(torch, run, 200 + MEASURED)[200:])


def rows(session: Session, case: Case) -> Iterator[Row]:
    arrays = case.gemm.arrays(random=True)
    time, found = ours(session, case, arrays)
    expected = case.gemm.expected(*arrays)
    wrong = error(found, expected)
    assert wrong <= (0 if found.dtype == np.int32 else FLOAT_ERROR), (case.name, wrong)
    rate = f"{milliseconds(case.gemm, time):.0f} TF/s, error {wrong:.0e}"
    wanted = case.teraflops
    bound = None if wanted is None else milliseconds(case.gemm, wanted)
    yield Row(f"{case.name}: {rate}", time, "ms", bound)
    yield from told(session, case)
    if (theirs := cublas(case, arrays)) is not None:
        rate = f"{milliseconds(case.gemm, theirs):.0f} TF/s"
        name = f"  cuBLAS: {rate}, coopc {theirs / time:.0%}"
        yield Row(name, theirs, "ms")


def matrix_gpu() -> Session | None:
    """Open this machine's GPU; say why not where none has cooperative matrices."""
    try:
        session = Session.start("system")
    except (ToolMissing, RunFailed) as reason:
        print(f"no Vulkan device: {reason}", file=sys.stderr)
        return None
    if session.info.matrix_shapes:
        return session
    print(f"{session.info.name} has no cooperative matrices", file=sys.stderr)
    session.close()
    return None


def measure() -> Iterator[Row]:
    """Yield the rows; none where there is no GPU with the extension."""
    if (session := matrix_gpu()) is None:
        return
    with session:
        for case in CASES:
            yield from rows(session, case)
