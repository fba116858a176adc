"""Every form of split DPAS, as `fuse-split-dpas` makes it of matrices."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.compiler import new_context
from coopc.dialects import xe
from coopc.parsing import parse
from coopc.run.isa import CLEAN
from coopc.run.offline_compiler import compile_kernel
from coopc.sim.numerics import to_bf16
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array: TypeAlias = npt.NDArray[Any]

SPLIT = "coopc-xe{device=dg2 split=true}"
FORMS = [
    (element, signed, rows)
    for rows in (8, 4, 2)
    for element, signed in (
        ("f16", ""),
        ("bf16", ""),
        ("i8", " signed(a, b, c, result)"),
        ("i8", " signed(a, c, result)"),
        ("i8", " signed(b, c, result)"),
        ("i8", " signed(c, result)"),
    )
]


def form_kernel(element: str, signed: str, rows: int) -> str:
    """Return a kernel whose four subgroups have a tile of C each, two in a row."""
    w, total = (4, "i32") if element == "i8" else (2, "f32")
    k, zero = 8 * w, "0" if total == "i32" else "0.0"
    a = f"!coopmatrix.matrix<{rows}x{k}x{element}, a>"
    b = f"!coopmatrix.matrix<{k}x8x{element}, b>"
    c = f"!coopmatrix.matrix<{rows}x8x{total}, acc>"
    a_memory = f"memref<2x?x{rows}x{k}x{element}>"
    b_memory = f"memref<?x2x8x{8 * w}x{element}>"
    return f"""
    func.func @form(%a: {a_memory}, %b: {b_memory}, %c: memref<{2 * rows}x16x{total}>)
        attributes {{simt.kernel, simt.subgroup_size = 8 : i32,
                    simt.work_group_size = array<i32: 32>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %height = arith.constant {rows} : index
      %zero = arith.constant {zero} : {total}
      %s = simt.subgroup_id : index
      %m = arith.divui %s, %c2 : index
      %n = arith.remui %s, %c2 : index
      %row = arith.muli %m, %height : index
      %col = arith.muli %n, %c8 : index
      %end = memref.dim %a, %c1 : {a_memory}
      %init = coopmatrix.fill %zero : {total} -> {c}
      %sum = scf.for %k = %c0 to %end step %c1 iter_args(%acc = %init) -> ({c}) {{
        %x = coopmatrix.load %a[%m, %k, %c0, %c0] row_major : {a_memory} -> {a}
        %y = coopmatrix.load %b[%k, %n, %c0, %c0] packed : {b_memory} -> {b}
        %next = coopmatrix.mul_add %x, %y, %acc{signed} : {a}, {b}, {c}
        scf.yield %next : {c}
      }}
      coopmatrix.store %sum, %c[%row, %col] row_major
        : {c}, memref<{2 * rows}x16x{total}>
      func.return
    }}"""


def form_inputs(element: str, signed: str, rows: int) -> tuple[Array, ...]:
    """Return A and B in tiles, room for C, and the product."""
    random = np.random.default_rng(rows)
    w, steps = (4 if element == "i8" else 2), 3
    a = random.integers(-9, 9, (2, steps, rows, 8 * w)).astype(np.int8)
    b = random.integers(-9, 9, (steps, 2, 8, 8, w)).astype(np.int8)
    numbers: list[Array] = []
    for x, operand in ((a, "a"), (b, "b")):
        unsigned = element == "i8" and f"{operand}," not in signed.replace(")", ",")
        numbers.append(x.view(np.uint8).astype(np.int64) if unsigned else x)
    left = numbers[0].swapaxes(1, 2).reshape(2 * rows, -1).astype(np.int64)
    right = numbers[1].transpose(0, 2, 4, 1, 3).reshape(steps * 8 * w, 16)
    product = left @ right.astype(np.int64)
    b = b.reshape(steps, 2, 8, 8 * w)
    if element == "i8":
        return a, b, np.full((2 * rows, 16), -1, np.int32), product
    stored = [
        x.astype(np.float16) if element == "f16" else to_bf16(x.astype(np.float32))
        for x in (a, b)
    ]
    return *stored, np.full((2 * rows, 16), -1, np.float32), product


@pytest.mark.parametrize(("element", "signed", "rows"), FORMS)
@pytest.mark.parametrize("passes", ["", SPLIT])
def test_forms_simulated(passes: str, element: str, signed: str, rows: int) -> None:
    text = coopc.compile(form_kernel(element, signed, rows), passes, "mlir").text
    module = parse(new_context(everything()), Source(text, "form"))
    assert sum(isinstance(op, xe.SplitDpasOp) for op in module.walk()) == bool(passes)
    a, b, c, product = form_inputs(element, signed, rows)
    simulate(module, "form", [a, b, c], grid=(1, 1, 1))
    assert np.array_equal(c, product)


@pytest.mark.parametrize(("element", "signed", "rows"), FORMS)
def test_forms_compiled(
    element: str, signed: str, rows: int, tool: Callable[[str], Path]
) -> None:
    tool("ocloc")
    text = form_kernel(element, signed, rows)
    binary = coopc.compile(text, SPLIT, "spirv-binary").bytes
    isa = compile_kernel(binary, "dg2")
    names = {"f16": ("hf", "hf", "f"), "bf16": ("bf", "bf", "f")}.get(element)
    if names is None:
        a, b = ("b" if f"{x}," in signed else "ub" for x in "ab")
        names = (a, b, "d")
    expected = {f"dpasw.8x{rows}(8)": 1, f"dpasw.{'.'.join(names)}": 1, "dpas": 0}
    assert isa.check({**CLEAN, **expected, "dpasw": 1, "simd": 8}) == ()
