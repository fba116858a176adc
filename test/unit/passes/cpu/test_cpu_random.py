"""Random kernels on tiles of AMX, against numpy: exact, as all numbers are small.

Each fills or loads matrices of any size, changes what work-items own of some of them in
loops, multiplies in steps, and stores; operands of all types of AMX, every layout.
COOPC_RANDOM_KERNELS=1000 runs as many.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.native import best_or_emulated, has, run_native

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.pipeline import Run, flatten
from coopc.pipelines import CoopcAmxPass
from coopc.run.tiles import Tiles
from coopc.sim.numerics import from_bf16, to_bf16
from coopc.source import Source
from coopc.universe import everything

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

Array = np.ndarray[Any, Any]
COUNT = int(os.environ.get("COOPC_RANDOM_KERNELS", "100"))
LAYOUTS = ("row_major", "col_major")
RNG = np.random.Generator


@dataclass(frozen=True)
class Matrix:
    """An operand: where it comes from, and what is done with it first."""

    name: str
    rows: int
    cols: int
    element: str
    use: str
    layout: str
    source: str
    """load, zero, constant or argument: what it is filled from."""
    owned: str
    """What is done with elements that work-items own: nothing, scale, shift, both."""
    scope: str

    @property
    def type(self) -> str:
        return (
            f"!coopmatrix.matrix<{self.rows}x{self.cols}x{self.element}, "
            f"{self.use}{self.scope}>"
        )

    @property
    def memory_shape(self) -> tuple[int, int]:
        if self.layout == "packed":
            packed = 4 // (1 if self.element == "i8" else 2)
            return self.rows // packed, self.cols * packed
        if self.layout == "col_major":
            return self.cols, self.rows
        return self.rows, self.cols

    @property
    def memory(self) -> str:
        rows, cols = self.memory_shape
        return f"memref<{rows}x{cols}x{self.element}>"

    @property
    def is_whole(self) -> bool:
        return self.element.startswith("i")

    def literal(self, number: int) -> str:
        return str(number) if self.is_whole else f"{number}.0"

    def code(self, factor: int, summand: int) -> str:
        """The operations that make %name."""
        n, t, e = self.name, self.type, self.element
        first = f"{n}_first"
        match self.source:
            case "load":
                make = (
                    f"%{first} = coopmatrix.load %m{n}[%c0, %c0] {self.layout} : "
                    f"{self.memory} -> {t}"
                )
            case "argument":
                make = f"%{first} = coopmatrix.fill %v{n} : {e} -> {t}"
            case source:
                number = 0 if source == "zero" else 3
                make = (
                    f"%{n}_k = arith.constant {self.literal(number)} : {e}\n"
                    f"%{first} = coopmatrix.fill %{n}_k : {e} -> {t}"
                )
        mul, add = ("muli", "addi") if self.is_whole else ("mulf", "addf")
        lines = [f"%e0 = coopmatrix.extract %it[%i] : {t}"]
        last = "e0"
        if self.owned in ("scale", "both"):
            lines.append(f"%e1 = arith.{mul} %e0, %{n}_f : {e}")
            last = "e1"
        if self.owned in ("shift", "both"):
            lines.append(f"%e2 = arith.{add} %{last}, %{n}_s : {e}")
            last = "e2"
        lines.append(f"%next = coopmatrix.insert %{last}, %it[%i] : {t}")
        body = "\n    ".join(lines)
        return f"""
  {make}
  %{n}_f = arith.constant {self.literal(factor)} : {e}
  %{n}_s = arith.constant {self.literal(summand)} : {e}
  %{n}_n = coopmatrix.length {t} : index
  %{n} = scf.for %i = %c0 to %{n}_n step %c1 iter_args(%it = %{first}) -> ({t}) {{
    {body}
    scf.yield %next : {t}
  }}"""

    def value(self, given: Array, number: int, factor: int, summand: int) -> Array:
        """The matrix as whole numbers, wrapped around where they are bytes."""
        match self.source:
            case "load":
                found = plain(given, self.layout)
            case "zero":
                found = np.zeros((self.rows, self.cols), np.int64)
            case "constant":
                found = np.full((self.rows, self.cols), 3)
            case _:
                found = np.full((self.rows, self.cols), number)
        if self.owned in ("scale", "both"):
            found = found * factor
        if self.owned in ("shift", "both"):
            found = found + summand
        return found.astype(np.int8).astype(np.int64) if self.element == "i8" else found


def plain(array: Array, layout: str) -> Array:
    """A matrix of whole numbers as it is, from its layout in memory."""
    if array.dtype == np.uint16:
        numbers = from_bf16(array).astype(np.int64)
    else:
        numbers = array.astype(np.int64)
    if layout == "packed":
        each = 4 // array.dtype.itemsize
        rows, cols = numbers.shape
        split = numbers.reshape(rows, cols // each, each).swapaxes(1, 2)
        return split.reshape(rows * each, cols // each)
    return numbers if layout == "row_major" else numbers.T


def in_memory(rng: RNG, matrix: Matrix) -> Array:
    """Small whole numbers; of bytes, any."""
    if matrix.element == "i8":
        return rng.integers(-128, 128, matrix.memory_shape).astype(np.int8)
    numbers = rng.integers(-6, 7, matrix.memory_shape).astype(np.float32)
    if matrix.element == "bf16":
        return to_bf16(numbers)
    return numbers.astype(
        {"f16": np.float16, "i32": np.int32}.get(matrix.element, "f4")
    )


def pick(rng: RNG, *options: str) -> str:
    return options[int(rng.integers(len(options)))]


def operands(rng: RNG, scope: str) -> tuple[Matrix, Matrix, Matrix]:
    """Three matrices that can be multiplied."""
    element = pick(rng, "bf16", "f16", "i8")
    m, n, k = (int(rng.integers(1, high)) for high in (37, 37, 70))
    layout_b = pick(rng, *LAYOUTS, "packed")
    if layout_b == "packed":
        k = -(-k // 4) * 4
    acc = "i32" if element == "i8" else "f32"

    def matrix(name: str, shape: tuple[int, int], element: str, layout: str) -> Matrix:
        use = "acc" if name == "c" else name
        source = pick(rng, "load", "load", "zero", "constant", "argument")
        owned = pick(rng, "nothing", "scale", "shift", "both")
        return Matrix(name, *shape, element, use, layout, source, owned, scope)

    return (
        matrix("a", (m, k), element, pick(rng, *LAYOUTS)),
        matrix("b", (k, n), element, layout_b),
        matrix("c", (m, n), acc, pick(rng, *LAYOUTS)),
    )


def text_of(
    matrices: tuple[Matrix, Matrix, Matrix],
    constants: dict[str, tuple[int, int]],
    signed: str,
    steps: int,
    lanes: int,
    subgroups: int,
) -> str:
    a, b, c = matrices
    arguments = ", ".join(
        f"%m{x.name}: {x.memory}, %v{x.name}: {x.element}" for x in matrices
    )
    code = "".join(x.code(*constants[x.name]) for x in matrices)
    return f"""
func.func @f({arguments}) attributes {{simt.kernel,
    simt.subgroup_size = {lanes} : i32,
    simt.work_group_size = array<i32: {lanes * subgroups}>,
    simt.grid = affine_map<() -> (1)>}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant {steps} : index{code}
  %r = scf.for %k = %c0 to %steps step %c1 iter_args(%s = %c) -> ({c.type}) {{
    %t = coopmatrix.mul_add %a, %b, %s {signed} : {a.type}, {b.type}, {c.type}
    scf.yield %t : {c.type}
  }}
  coopmatrix.store %r, %mc[%c0, %c0] {c.layout} : {c.type}, {c.memory}
  func.return
}}"""


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_kernel(seed: int) -> None:
    if (tiles := best_or_emulated()) is Tiles.NONE:
        pytest.skip("the AMX emulator needs a C compiler")
    rng = np.random.default_rng(seed)
    lanes = int(rng.choice([4, 8, 16]))
    subgroups = int(rng.choice([1, 1, 2, 3]))
    scope = ", scope = workgroup" if subgroups > 1 else ""
    matrices = operands(rng, scope)
    a, b, c = matrices
    if a.element == "f16" and not has(tiles, "amx-fp16"):
        pytest.skip("the processor has no amx-fp16")
    signs = (bool(rng.integers(2)), bool(rng.integers(2)))
    signed = ""
    if c.is_whole:
        named = [x for x, sign in zip("ab", signs, strict=True) if sign]
        signed = f"signed({', '.join([*named, 'c', 'result'])})"
    constants = {x.name: (int(rng.integers(-3, 4)), 2) for x in matrices}
    steps = int(rng.integers(0, 3))
    text = text_of(matrices, constants, signed, steps, lanes, subgroups)
    arrays = [in_memory(rng, x) for x in matrices]
    numbers = [int(x) for x in rng.integers(-5, 6, 3)]
    given: list[Any] = []
    for array, number, x in zip(arrays, numbers, matrices, strict=True):
        given += [array, number if x.is_whole else float(number)]
    ctx, source = new_context(everything()), Source(text, "random")
    module = parse(ctx, source)
    program = module.clone()
    Run(ctx, source).apply(program, flatten([CoopcAmxPass()]))
    found = plain(run_native(module, program, given, tiles)[2], c.layout)

    va, vb, vc = (
        x.value(array, number, *constants[x.name])
        for x, array, number in zip(matrices, arrays, numbers, strict=True)
    )
    if c.is_whole:  # bytes without sign are read as such
        va = va if signs[0] else va & 255
        vb = vb if signs[1] else vb & 255
    expected = vc + steps * (va @ vb)
    if c.is_whole:
        expected = expected.astype(np.int32)
    np.testing.assert_array_equal(found, expected, f"{a} {b} {c}")
