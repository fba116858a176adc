"""`python -m support.random_triton`: random kernels of Triton, on every engine.

    cd test && python -m support.random_triton --seed 1 --count 20 --on cpu --log FILE

A kernel loads blocks of two matrices under masks, computes with them (arithmetic,
views, sums and scans along an axis, sorts, gathers, loops, branches), and stores what
it has, a reduction of it, and a product.  Triton's own interpreter says what is right.
Numbers are so small that floats are exact: what differs in a bit is wrong.

With `--log` each result is a line of a file; seeds that are in it are not run again.
With `--jobs N` so many processes share the seeds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

TYPES = {
    "i8": ("int8", np.int8),
    "i16": ("int16", np.int16),
    "i32": ("int32", np.int32),
    "i64": ("int64", np.int64),
    "u8": ("uint8", np.uint8),
    "u32": ("uint32", np.uint32),
    "fp16": ("float16", np.float16),
    "fp32": ("float32", np.float32),
}
"""Of elements: what Triton and numpy call them, by their letters in signatures."""
BINARY = (
    *("{0} + {1}", "{0} - {1}", "tl.maximum({0}, {1})", "tl.minimum({0}, {1})"),
    *("({0} > {1})", "tl.where({0} == {1}, {0}, 3)"),
)
UNARY = (
    *("-{0}", "tl.abs({0})", "tl.where({0} > 1, {0}, {1})", "tl.where(mask, {0}, 2)"),
    *("{0}.to(tl.int32)", "{0} * 3"),
)
BITS = (
    *("{0} ^ {1}", "{0} & {1}", "{0} | {1}", "{0} * {1}", "{0} << 1", "{0} >> 1"),
    *("~{0}", "{0} // 3", "{0} % 3"),
)
VIEWS = (
    "tl.trans(tl.trans({0}) + tl.trans({1}))",
    "tl.reshape(tl.reshape({0}, (C, R)), (R, C))",
    "tl.reshape(tl.trans({0}), (R, C))",
    "tl.broadcast_to(tl.max({0}, axis=1)[:, None], (R, C))",
    "tl.broadcast_to(tl.min({0}, axis=0, keep_dims=True), (R, C)) + {1}",
    "tl.gather({0}, tl.broadcast_to((tl.arange(0, C) ^ (C // 2))[None, :], (R, C)), 1)",
    "tl.gather({0}, tl.broadcast_to((R - 1 - tl.arange(0, R))[:, None], (R, C)), 0)",
    "tl.reshape(tl.max(tl.reshape({0}, (R * C // 2, 2)), axis=1)[:, None] "
    "+ tl.zeros((1, 2), tl.{type}), (R, C))",
)
SUMS = (
    "tl.cumsum({0}, axis=0)",
    "tl.cumsum({0}, axis=1, reverse=True)",
    "tl.sum({0}, axis=0)[None, :] - {1}",
    "tl.sum({0}, axis=1)[:, None] + {1}",
    "tl.sum(tl.sum({0}, axis=1), axis=0) - {1}",
)
"""What makes numbers greater: one of a kernel of floats."""
PRODUCTS = (
    '    d = tl.dot(v0, tl.trans({0}), input_precision="ieee")\n',
    "    d = tl.zeros((R, R), tl.{sum})\n    for i in range(2):\n"
    '        d = tl.dot({0}, tl.trans(v1), d, input_precision="ieee")\n',
)
STATEMENTS = (
    "    from_both = tl.where({0} > {1}, x + at, y + at)\n"
    "    {2} = tl.load(from_both, mask=mask, other=2)\n",
    "    of_x, of_y = x + at, y + at\n    {2} = {0}\n    for i in range({trips}):\n"
    "        {2} = ({2} - tl.load(of_x, mask=mask, other=1)).to(tl.{type})\n"
    "        of_x, of_y = of_y, of_x\n",
    "    a, b = tl.split(tl.join({0}, {1}))\n    {2} = (a - b).to(tl.{type})\n",
    "    {2} = {0}\n    for i in range({trips}):\n"
    "        {2} = ({2} - {1}).to(tl.{type})\n",
    "    {2} = {0}\n    for i in range(tl.program_id(1), {trips}):\n"
    "        near = tl.load(y + at + i, mask=mask & (cols + i < N)[None, :], other=1)\n"
    "        {2} = ({2} + near).to(tl.{type})\n",
    "    {2} = {0}\n    if tl.program_id(0) == 0:\n"
    "        {2} = (-{0}).to(tl.{type})\n",
    "    if M > N:\n        {2} = ({1} + 1).to(tl.{type})\n    else:\n"
    "        {2} = tl.maximum({0}, {1})\n",
    "    {2}, i = {0}, 0\n    while i < {trips}:\n"
    "        {2} = tl.minimum({2}, {1} + i).to(tl.{type})\n        i += 1\n",
)
PIPELINES = {
    "opencl": ("opencl", "coopc-lanes{device=intel-cpu}"),
    "staged": ("vulkan", "coopc-khr{device=lavapipe staged=true fallback=true}"),
    "xe": ("opencl", "coopc-xe{device=bmg emulate=true fallback=true}"),
    "sim-lanes": ("sim", "coopc-lanes{device=intel-cpu fallback=true}"),
    "sim-khr": ("sim", "coopc-khr{device=lavapipe fallback=true}"),
    "sim-xe": ("sim", "coopc-xe{device=bmg fallback=true}"),
}
"""Where a kernel runs and by which pipeline, instead of by matrices, which Intel's
run-time only has on processors with AVX-512; the simulator sees races."""
REDUCTIONS = ("sum", "max", "min", "argmax", "argmin")
IN_PLACE = 0.25
"""Of kernels, those that store what they have in between to where they load from."""
SORTED = 16
"""The most elements of a row that is sorted: it is unrolled."""
HEAD = """\
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, out, reduced, product, M, N, R: tl.constexpr, C: tl.constexpr):
    rows = tl.program_id(0) * R + tl.arange(0, R)
    cols = tl.program_id(1) * C + tl.arange(0, C)
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    at = rows[:, None] * N + cols[None, :]
    v0 = tl.load(x + at, mask=mask, other=1)
    v1 = tl.load(y + at, mask=mask, other={other})
"""


@dataclass(frozen=True)
class RandomKernel:
    """A kernel and how it is launched."""

    source: str
    type: str
    sum_type: str
    block: tuple[int, int]
    shape: tuple[int, int]
    axis: int
    has_product: bool

    @property
    def signature(self) -> str:
        kinds = (self.type, self.type, self.type, "i32", self.sum_type)
        return ", ".join([*(f"*{x}" for x in kinds), "i32", "i32"])

    @property
    def grid(self) -> tuple[int, int]:
        pairs = zip(self.shape, self.block, strict=True)
        rows, cols = (-(-n // size) for n, size in pairs)
        return rows, cols

    def arguments(self, random: np.random.Generator) -> list[Any]:
        """Return matrices of small numbers, and results that hold others."""
        dtype, (m, n), (r, _) = TYPES[self.type][1], self.shape, self.block
        least = 0 if self.type[0] == "u" else -3
        given = [random.integers(least, 4, (m, n)).astype(dtype) for _ in range(2)]
        rows, cols = self.grid
        size = (rows * n, m * cols)[self.axis]
        return [
            *given,
            np.full((m, n), 77, dtype),
            np.full(size, 77, np.int32),
            np.full(rows * cols * r * r, 77, TYPES[self.sum_type][1]),
            *(m, n),
        ]


def random_kernel(seed: int) -> RandomKernel:
    """Return a kernel that is the same for the same seed."""
    draw = Random(seed)
    type = draw.choice([*TYPES])
    is_float = type[0] == "f"
    has_product = type in ("i8", "fp16", "fp32") and draw.random() < 0.5
    sizes = (16, 32) if has_product else (1, 2, 4, 8, 16, 32, 64)
    block = draw.choice(sizes), draw.choice(sizes)
    shape = draw.randint(1, 2 * block[0] + 1), draw.randint(1, 2 * block[1] + 1)
    lines = [HEAD.format(other=draw.randint(0 if type[0] == "u" else -2, 2))]
    count = draw.randint(1, 3 if is_float else 6)
    forms = list(BINARY + UNARY + (() if is_float else BITS) + STATEMENTS)
    if 1 not in block:
        forms += VIEWS
        if block[1] <= SORTED:
            forms += ["tl.sort({0})", "tl.flip({0})"]
    sums, name = list(SUMS), TYPES[type][0]
    for number in range(2, count + 2):
        names = [f"v{draw.randrange(number)}" for _ in range(2)]
        form = draw.choice(forms + sums)
        if is_float and form in sums:
            sums.clear()
        words = {"type": name, "trips": draw.randint(0, 3)}
        text = form.format(*names, f"v{number}", **words)
        is_line = form in STATEMENTS
        lines.append(text if is_line else f"    v{number} = ({text}).to(tl.{name})\n")
    last = f"v{count + 1}"
    axis, how = draw.randrange(2), draw.choice(REDUCTIONS)
    place = ("tl.program_id(0) * N + cols", "rows * tl.num_programs(1)")[axis]
    place += " + tl.program_id(1)" if axis else ""
    inside = ("cols < N", "rows < M")[axis]
    put = draw.choice(("store", "atomic_add", "atomic_max"))
    sum_type = "fp32" if is_float else "i32"
    lines += [
        f"    tl.store(out + at, {last}, mask=mask)\n",
        f"    line = tl.{how}({last}, axis={axis})\n",
        f"    tl.{put}(reduced + {place}, line.to(tl.int32), mask={inside})\n",
    ]
    if has_product:
        lines += [
            draw.choice(PRODUCTS).format(last, sum=TYPES[sum_type][0]),
            "    program = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)\n",
            "    r = tl.arange(0, R)\n",
            "    to = program * R * R + r[:, None] * R + r[None, :]\n",
            "    tl.store(product + to, d)\n",
        ]
    if draw.random() < IN_PLACE:
        number = draw.randint(1, count + 1)
        lines.insert(number, f"    tl.store(x + at, v{number}, mask=mask)\n")
    text = "".join(lines)
    return RandomKernel(text, type, sum_type, block, shape, axis, has_product)


class Storage:
    """What Triton's interpreter wants of memory of PyTorch, of an array of numpy."""

    def __init__(self, array: Array) -> None:
        self.array = array

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def cpu(self) -> Storage:
        return self

    def copy_(self, other: Storage) -> None:
        """They are the same memory."""


class Tensor(Storage):
    @property
    def dtype(self) -> str:
        return f"torch.{self.array.dtype}"

    def untyped_storage(self) -> Storage:
        return Storage(self.array)

    def new_empty(self, size: int, device: str) -> Tensor:
        return Tensor(self.array)

    def set_(self, storage: Storage, *_: object) -> None:
        """It is that already."""

    def storage_offset(self) -> int:
        return 0

    def size(self) -> Sequence[int]:
        return self.array.shape

    def stride(self) -> Sequence[int]:
        return self.array.strides


def loaded(kernel: RandomKernel, folder: Path) -> Any:
    """Return the function of a kernel, of which Triton wants the file."""
    path = folder / "random_kernel.py"
    path.write_text(kernel.source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def interpreted(seed: int) -> list[Any]:
    """Return the arguments of a kernel after Triton's interpreter ran it."""
    kernel = random_kernel(seed)
    given = kernel.arguments(np.random.default_rng(seed))
    constexprs = {"R": kernel.block[0], "C": kernel.block[1]}
    tensors = [Tensor(x) if hasattr(x, "dtype") else x for x in given]
    with tempfile.TemporaryDirectory() as folder:
        loaded(kernel, Path(folder))[kernel.grid](*tensors, **constexprs)
    return given


def interpreter() -> ProcessPoolExecutor:
    """Return a process in which Triton interprets: it decides that when imported."""
    found = ProcessPoolExecutor(1, get_context("spawn"))
    os.environ["TRITON_INTERPRET"] = "1"
    try:
        found.submit(interpreted, 0).result()
    finally:
        del os.environ["TRITON_INTERPRET"]
    return found


def differences(
    seed: int, expected: Sequence[Any], places: Sequence[str], folder: Path
) -> list[str]:
    """Return where engines differ from Triton's interpreter, or refuse the kernel."""
    import coopc.triton
    from coopc.diagnostic import CompileError
    from coopc.run.arrays import copied

    kernel = random_kernel(seed)
    given = kernel.arguments(np.random.default_rng(seed))
    constexprs = {"R": kernel.block[0], "C": kernel.block[1]}
    function, found = loaded(kernel, folder), list[str]()
    for on in places:
        after: list[Any] = [*copied(given)]
        place, pipeline = PIPELINES.get(on, (on, None))
        try:
            made = coopc.triton.compile(
                function,
                kernel.signature,
                constexprs,
                on=place,
                pipeline=pipeline,
            )
            made.run(*after, grid=kernel.grid)
        except CompileError as error:
            found.append(f"{on}: {error}")
            continue
        for name, one, other in zip(
            ("x", "y", "out", "reduced", "product"), after, expected, strict=False
        ):
            if not np.array_equal(one, other):
                found.append(f"{on}: {name} differs")
    return found


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m support.random_triton")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--on", default="sim,cpu,vulkan,opencl")
    parser.add_argument("--log", type=Path, help="where results are kept")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(words)
    if options.jobs > 1:
        return shared(options)
    places = options.on.split(",")
    seeds = range(options.seed, options.seed + options.count)
    known = results(options.log)
    with interpreter() as process:
        for seed in seeds:
            left = [on for on in places if (seed, on) not in known]
            if not left:
                continue
            expected = process.submit(interpreted, seed).result()
            for on in left:
                with tempfile.TemporaryDirectory() as folder:
                    found = differences(seed, expected, [on], Path(folder))
                known[seed, on] = "; ".join(found)
                if options.log is not None:
                    with options.log.open("a") as log:
                        log.write(json.dumps([seed, on, known[seed, on]]) + "\n")
                for line in found:
                    print(f"seed {seed}: {line}", flush=True)
    wrong = {x for x in seeds if any(known[x, on] for on in places)}
    same = options.count - len(wrong)
    print(f"{options.count} kernels from seed {options.seed}: {same} agree on {places}")
    return int(bool(wrong))


def shared(options: argparse.Namespace) -> int:
    """Let processes run a part of the seeds each; return whether any differs."""
    rest = ["--on", options.on]
    if options.log is not None:
        rest += ["--log", str(options.log)]
    running: list[subprocess.Popen[bytes]] = []
    for part in range(options.jobs):
        ends = (options.count * each // options.jobs for each in (part, part + 1))
        first, last = (options.seed + each for each in ends)
        words = [sys.executable, "-m", "support.random_triton", "--seed", str(first)]
        running.append(subprocess.Popen([*words, "--count", str(last - first), *rest]))
    return int(any([each.wait() for each in running]))


def results(log: Path | None) -> dict[tuple[int, str], str]:
    """Return what is known of seeds on engines: nothing that differs, or what."""
    if log is None or not log.exists():
        return {}
    lines = map(json.loads, log.read_text().splitlines())
    return {(seed, on): found for seed, on, found in lines}


if __name__ == "__main__":
    sys.exit(main())
