"""convert-spirv-calls-to-coopmatrix: what it reads computes what the calls say."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.passes.spirv_calls.convert_spirv_calls_to_coopmatrix import (
    ConvertSpirvCallsToCoopmatrixPass,
    builtin_of,
)
from coopc.pipeline import verify
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

M, N, K, STEP = 8, 16, 96, 32


def matrix(element: str, rows: int, cols: int, use: int) -> str:
    numbers = f"{element}, 3, {rows}, {cols}, {use}"
    return f'!llvm.target<"spirv.CooperativeMatrixKHR", {numbers}>'


A, B, C = (
    matrix("i8", M, STEP, 0),
    matrix("i8", STEP, N, 1),
    matrix("i32", M, N, 2),
)


def kernel(layout_b: int, signs: int, stride_b: int, step_b: int) -> ModuleOp:
    """A product of 8-bit integers, in a loop along K, its elements scaled by 3."""
    text = f"""
    llvm.func @__spirv_CooperativeMatrixLoadKHR_a(!llvm.ptr<1>, i32, i64, i32) -> {A}
    llvm.func @__spirv_CooperativeMatrixLoadKHR_b(!llvm.ptr<1>, i32, i64, i32) -> {B}
    llvm.func @__spirv_CompositeConstruct(i32) -> {C}
    llvm.func @__spirv_CooperativeMatrixMulAddKHR({A}, {B}, {C}, i32) -> {C}
    llvm.func @__spirv_CooperativeMatrixLengthKHR({C}) -> i32
    llvm.func @__spirv_VectorExtractDynamic({C}, i64) -> i32
    llvm.func @__spirv_VectorInsertDynamic({C}, i32, i64) -> {C}
    llvm.func @__spirv_CooperativeMatrixStoreKHR(!llvm.ptr<1>, {C}, i32, i64, i32)
    llvm.func spir_kernelcc @k(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %c: !llvm.ptr<1>)
        attributes {{intel_reqd_sub_group_size = 16 : i32,
                     coopmatrix.distribution = #layout.row_slice}} {{
      %none = llvm.mlir.constant(0 : i32) : i32
      %layout = llvm.mlir.constant({layout_b} : i32) : i32
      %signs = llvm.mlir.constant({signs} : i32) : i32
      %three = llvm.mlir.constant(3 : i32) : i32
      %stride_a = llvm.mlir.constant({K} : i64) : i64
      %stride_b = llvm.mlir.constant({stride_b} : i64) : i64
      %stride_c = llvm.mlir.constant({N} : i64) : i64
      %step_b = llvm.mlir.constant({step_b} : i64) : i64
      %zero = llvm.call @__spirv_CompositeConstruct(%none) : (i32) -> {C}
      %c0 = arith.constant 0 : i64
      %end = arith.constant {K} : i64
      %step = arith.constant {STEP} : i64
      %sum = scf.for %k = %c0 to %end step %step iter_args(%it = %zero) -> ({C})
          : i64 {{
        %pa = llvm.getelementptr %a[%k] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
        %at = llvm.mul %k, %step_b : i64
        %pb = llvm.getelementptr %b[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
        %x = llvm.call @__spirv_CooperativeMatrixLoadKHR_a(%pa, %none, %stride_a, %none)
          : (!llvm.ptr<1>, i32, i64, i32) -> {A}
        %y = llvm.call @__spirv_CooperativeMatrixLoadKHR_b(
          %pb, %layout, %stride_b, %none)
          : (!llvm.ptr<1>, i32, i64, i32) -> {B}
        %d = llvm.call @__spirv_CooperativeMatrixMulAddKHR(%x, %y, %it, %signs)
          : ({A}, {B}, {C}, i32) -> {C}
        scf.yield %d : {C}
      }}
      %length = llvm.call @__spirv_CooperativeMatrixLengthKHR(%sum) : ({C}) -> i32
      %first = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %scaled = scf.for %i = %first to %length step %one iter_args(%it = %sum) -> ({C})
          : i32 {{
        %at = llvm.zext %i : i32 to i64
        %e = llvm.call @__spirv_VectorExtractDynamic(%it, %at) : ({C}, i64) -> i32
        %f = llvm.mul %e, %three : i32
        %g = llvm.call @__spirv_VectorInsertDynamic(%it, %f, %at)
          : ({C}, i32, i64) -> {C}
        scf.yield %g : {C}
      }}
      llvm.call @__spirv_CooperativeMatrixStoreKHR(%c, %scaled, %none, %stride_c, %none)
        : (!llvm.ptr<1>, {C}, i32, i64, i32) -> ()
      llvm.return
    }}"""
    module = parse(new_context(everything()), Source(text, "test"))
    ConvertSpirvCallsToCoopmatrixPass().apply(Context(), module)
    module.verify()
    names = {op.name for op in module.walk()}
    assert not any(name.startswith("llvm.") for name in names)
    return module


@pytest.mark.parametrize("layout", ["row", "column", "packed"])
@pytest.mark.parametrize("signs", range(4))
def test_product(layout: str, signs: int) -> None:
    """Layouts of b, and who is signed."""
    random = np.random.default_rng(signs)
    a = random.integers(-128, 128, (M, K)).astype(np.int8)
    b = random.integers(-128, 128, (K, N)).astype(np.int8)
    memory: np.ndarray[Any, Any]
    match layout:
        case "row":
            memory, form = b, (0, N, N)
        case "column":
            memory, form = b.T.copy(), (1, K, 1)
        case _:
            memory = b.reshape(K // 4, 4, N).transpose(0, 2, 1).copy()
            form = (2, 4 * N, N)
    c = np.zeros(M * N, np.int32)
    # The signs of c and of the result, bits 4 and 8, change nothing at 32 bits.
    module = kernel(form[0], signs | 12, *form[1:])
    simulate(module, "k", [a.reshape(-1), memory.reshape(-1), c], grid=(1, 1, 1))
    types = [np.int8 if signs & bit else np.uint8 for bit in (1, 2)]
    left, right = (
        x.view(t).astype(np.int32) for x, t in zip((a, b), types, strict=True)
    )
    np.testing.assert_array_equal(c.reshape(M, N), 3 * (left @ right))


@pytest.mark.parametrize(
    ("callee", "expected"),
    [
        ("_Z33__spirv_CooperativeMatrixStoreKHRPU3AS1f", "CooperativeMatrixStoreKHR"),
        ("__spirv_CooperativeMatrixLoadKHR_Rmatrix", "CooperativeMatrixLoadKHR"),
        ("_Z15__spirv_FNegatef", "FNegate"),
        ("_Z3foof", None),
        ("__spirv_CompositeConstructor", "CompositeConstructor"),
    ],
)
def test_names(callee: str, expected: str | None) -> None:
    """Mangled or not; a longer name is another builtin."""
    assert builtin_of(callee) == expected


ONE_LOOP = """
  llvm.br ^head(%zero, %seven : i32, i32)
^head(%i: i32, %sum: i32):
  %more = llvm.icmp "slt" %i, %n : i32
  {ends}
^body:
  %twice = llvm.add %i, %i : i32
  %next_sum = llvm.add %sum, %twice : i32
  %next = llvm.add %i, %one : i32
  llvm.br ^head(%next, %next_sum : i32, i32)
^exit:
  llvm.br ^end(%sum : i32)
"""
BRANCHES: dict[str, tuple[str, Callable[[int], int]]] = {
    "while": (
        ONE_LOOP.format(ends="llvm.cond_br %more, ^body, ^exit"),
        lambda n: 7 + n * (n - 1) if n > 0 else 7,
    ),
    "do while, where a guard lets it, with two first blocks": (
        """
  %some = llvm.icmp "sgt" %n, %zero : i32
  llvm.cond_br %some, ^loop(%zero : i32), ^end(%seven : i32)
^loop(%i: i32):
  %odd = llvm.and %i, %one : i32
  %is_odd = llvm.icmp "eq" %odd, %one : i32
  llvm.cond_br %is_odd, ^latch(%i : i32), ^even
^even:
  %scaled = llvm.mul %i, %seven : i32
  llvm.br ^latch(%scaled : i32)
^latch(%value: i32):
  %next = llvm.add %i, %one : i32
  %again = llvm.icmp "slt" %next, %n : i32
  llvm.cond_br %again, ^loop(%next : i32), ^end(%value : i32)
""",
        lambda n: 7 if n <= 0 else (n - 1) * (1 if n % 2 == 0 else 7),
    ),
    "a loop in a loop, continued in its midst": (
        """
  llvm.br ^outer(%zero, %zero : i32, i32)
^outer(%i: i32, %sum: i32):
  %more = llvm.icmp "slt" %i, %n : i32
  llvm.cond_br %more, ^first, ^end(%sum : i32)
^first:
  %next = llvm.add %i, %one : i32
  %bit = llvm.and %i, %one : i32
  %skip = llvm.icmp "eq" %bit, %zero : i32
  llvm.cond_br %skip, ^outer(%next, %sum : i32, i32), ^inner(%zero, %sum : i32, i32)
^inner(%j: i32, %inside: i32):
  %more_inside = llvm.icmp "sge" %j, %i : i32
  llvm.cond_br %more_inside, ^outer(%next, %inside : i32, i32), ^work
^work:
  %next_inside = llvm.add %inside, %i : i32
  %next_j = llvm.add %j, %one : i32
  llvm.br ^inner(%next_j, %next_inside : i32, i32)
""",
        lambda n: sum(i * i for i in range(1, n, 2)),
    ),
    "both ways to one block": (
        """
  %some = llvm.icmp "sgt" %n, %seven : i32
  llvm.cond_br %some, ^end(%n : i32), ^end(%seven : i32)
""",
        lambda n: max(n, 7),
    ),
}


def branching(body: str) -> str:
    """A kernel that stores a matrix of what its branches give to `^end`."""
    return f"""
    llvm.func @__spirv_CompositeConstruct(i32) -> {C}
    llvm.func @__spirv_CooperativeMatrixStoreKHR(!llvm.ptr<1>, {C}, i32, i64, i32)
    llvm.func spir_kernelcc @k(%start: !llvm.ptr<1>, %n: i32)
        attributes {{intel_reqd_sub_group_size = 16 : i32}} {{
      %zero = llvm.mlir.constant(0 : i32) : i32
      %one = llvm.mlir.constant(1 : i32) : i32
      %seven = llvm.mlir.constant(7 : i32) : i32
      %stride = llvm.mlir.constant({N} : i64) : i64
      {body}
    ^end(%result: i32):
      %m = llvm.call @__spirv_CompositeConstruct(%result) : (i32) -> {C}
      llvm.call @__spirv_CooperativeMatrixStoreKHR(%start, %m, %zero, %stride, %zero)
        : (!llvm.ptr<1>, {C}, i32, i64, i32) -> ()
      llvm.return
    }}"""


@pytest.mark.parametrize("name", BRANCHES)
def test_branches(name: str) -> None:
    """Branches do what they say, whatever the loops and ways are."""
    body, expected = BRANCHES[name]
    module = parse(new_context(everything()), Source(branching(body), "test"))
    ConvertSpirvCallsToCoopmatrixPass().apply(Context(), module)
    verify(module)
    for n in (-1, 0, 1, 2, 5, 8):
        found = np.zeros(M * N, np.int32)
        simulate(module, "k", [found, n], grid=(1, 1, 1))
        assert set(found.tolist()) == {expected(n)}


def test_pointers_through_branches() -> None:
    """A pointer that a loop moves, and an early return."""
    text = f"""
    llvm.func @__spirv_CompositeConstruct(i32) -> {C}
    llvm.func @__spirv_CooperativeMatrixStoreKHR(!llvm.ptr<1>, {C}, i32, i64, i32)
    llvm.func spir_kernelcc @k(%start: !llvm.ptr<1>, %n: i32)
        attributes {{intel_reqd_sub_group_size = 16 : i32}} {{
      %zero = llvm.mlir.constant(0 : i32) : i32
      %one = llvm.mlir.constant(1 : i32) : i32
      %stride = llvm.mlir.constant({N} : i64) : i64
      %none = llvm.icmp "sle" %n, %zero : i32
      llvm.cond_br %none, ^early, ^loop(%start, %one : !llvm.ptr<1>, i32)
    ^early:
      llvm.return
    ^loop(%at: !llvm.ptr<1>, %i: i32):
      %m = llvm.call @__spirv_CompositeConstruct(%i) : (i32) -> {C}
      llvm.call @__spirv_CooperativeMatrixStoreKHR(%at, %m, %zero, %stride, %zero)
        : (!llvm.ptr<1>, {C}, i32, i64, i32) -> ()
      %further = llvm.getelementptr %at[{M * N}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32
      %next = llvm.add %i, %one : i32
      %more = llvm.icmp "sle" %next, %n : i32
      llvm.cond_br %more, ^loop(%further, %next : !llvm.ptr<1>, i32), ^done
    ^done:
      llvm.return
    }}"""
    module = parse(new_context(everything()), Source(text, "test"))
    ConvertSpirvCallsToCoopmatrixPass().apply(Context(), module)
    verify(module)
    for n in range(4):
        found = np.zeros((3, M * N), np.int32)
        simulate(module, "k", [found.reshape(-1), n], grid=(1, 1, 1))
        assert found[:, 0].tolist() == [i + 1 if i < n else 0 for i in range(3)]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            ONE_LOOP.format(ends="llvm.cond_br %more, ^body, ^body"),
            "expected a loop that is left at one place, got 0",
        ),
        (
            """
  %some = llvm.icmp "sgt" %n, %zero : i32
  llvm.cond_br %some, ^one, ^other
^one:
  llvm.cond_br %some, ^other, ^end(%one : i32)
^other:
  llvm.cond_br %some, ^one, ^end(%zero : i32)
""",
            "expected loops that are entered at one block, as front ends write",
        ),
        (
            """
  llvm.br ^loop
^loop:
  %some = llvm.icmp "sgt" %n, %zero : i32
  llvm.cond_br %some, ^more, ^end(%zero : i32)
^more:
  llvm.cond_br %some, ^loop, ^end(%one : i32)
""",
            "expected a loop that is left at one place, got 2",
        ),
        ("llvm.unreachable\n^some:\nllvm.br ^end(%zero : i32)", "expected a branch"),
    ],
)
def test_branches_refused(body: str, message: str) -> None:
    """What has no form in `scf` without copies is refused."""
    module = parse(new_context(everything()), Source(branching(body), "test"))
    with pytest.raises(PassFailedException, match=message):
        ConvertSpirvCallsToCoopmatrixPass().apply(Context(), module)
