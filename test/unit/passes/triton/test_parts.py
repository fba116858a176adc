"""Programs that are cut do, part by part, what they did as a whole.

Each kernel runs on the simulator as it is and in rounds; arrays are equal in all bits.
Then what subgroups do of attention, with edges, on the simulator, which sees races, and
on lavapipe.
"""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import coopc
from coopc.compiler import new_context
from coopc.dialects import tt
from coopc.parsing import parse
from coopc.passes.triton.convert_tt_to_coopmatrix.parts import cut_program, plan_parts
from coopc.pipeline import Run, read_passes
from coopc.remarks import remarks_to
from coopc.sim.simulate import Options, simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

ADD = """({
  ^bb0(%left: f32, %right: f32):
    %both = arith.addf %left, %right : f32
    tt.NAME.return %both : f32
  })"""
HEAD = """
!f = tensor<8x4xf32>
!f1 = tensor<8x1x4xf32>
!i = tensor<8x4xi32>
!p = tensor<8x4x!tt.ptr<f32>>
!q = tensor<8x2x2xf32>
!t = tensor<4x8xf32>
!t1 = tensor<4x1x8xf32>
tt.func public @f(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %r: !tt.ptr<f32>) {
  %i = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %j = tt.make_range {start = 4 : i32, end = 8 : i32} : tensor<4xi32>
  %c4 = arith.constant dense<4> : tensor<8x1xi32>
  %i0 = tt.expand_dims %i {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
  %i1 = arith.muli %i0, %c4 : tensor<8x1xi32>
  %i2 = tt.broadcast %i1 : tensor<8x1xi32> -> !i
  %j0 = tt.expand_dims %j {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
  %j1 = tt.broadcast %j0 : tensor<1x4xi32> -> !i
  %at = arith.addi %i2, %j1 : !i
  %xs = tt.splat %x : !tt.ptr<f32> -> !p
  %ys = tt.splat %y : !tt.ptr<f32> -> !p
  %xp = tt.addptr %xs, %at : !p, !i
  %yp = tt.addptr %ys, %at : !p, !i
  %c25 = arith.constant dense<25> : !i
  %m = arith.cmpi slt, %at, %c25 : !i
  %one = arith.constant dense<1.0> : !f
  %zero = arith.constant 0 : i32
  %unit = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %long = arith.constant 1 : i64
  %long4 = arith.constant 4 : i64
  %n4 = arith.constant 4 : i32
  %n8 = arith.constant 8 : i32
  %v = tt.load %xp, %m, %one : !p
"""
STORE = "  tt.store %yp, %w, %m : !p\n"
LINE = """
  %s = "tt.reduce"(%w) <{axis = AXIS : i32}> ADDED : (!f) -> tensor<SIZExf32>
  %k = tt.make_range {start = 0 : i32, end = SIZE : i32} : tensor<SIZExi32>
  %rs = tt.splat %r : !tt.ptr<f32> -> tensor<SIZEx!tt.ptr<f32>>
  %rp = tt.addptr %rs, %k : tensor<SIZEx!tt.ptr<f32>>, tensor<SIZExi32>
  tt.store %rp, %s : tensor<SIZEx!tt.ptr<f32>>
"""
BODIES = {
    "pointwise": "  %w = arith.addf %v, %one : !f\n",
    "scanned": """
  %w = "tt.scan"(%v) <{axis = 1 : i32, reverse = false}> ({
  ^bb0(%left: f32, %right: f32):
    %both = arith.addf %left, %right : f32
    tt.scan.return %both : f32
  }) : (!f) -> !f
""",
    "scanned_down": """
  %w = "tt.scan"(%v) <{axis = 0 : i32, reverse = true}> ({
  ^bb0(%left: f32, %right: f32):
    %both = arith.addf %left, %right : f32
    tt.scan.return %both : f32
  }) : (!f) -> !f
""",
    "viewed": """
  %t = tt.trans %v {order = array<i32: 1, 0>} : !f -> !t
  %u = tt.reshape %t : !t -> !t1
  %p = tt.trans %u {order = array<i32: 2, 1, 0>} : !t1 -> !f1
  %w = tt.reshape %p : !f1 -> !f
""",
    "paired": """
  %h = tt.reshape %v : !f -> !q
  %a, %b = tt.split %h : !q -> tensor<8x2xf32>
  %c = tt.join %b, %a : tensor<8x2xf32> -> !q
  %w = tt.reshape %c : !q -> !f
""",
    "gathered": """
  %c3 = arith.constant dense<7> : !i
  %back = arith.subi %c3, %j1 : !i
  %w = tt.gather %v[%back] {axis = 1 : i32} : (!f, !i) -> !f
""",
    "carried": """
  %l:2 = scf.for %t = %zero to %three step %unit iter_args(%a = %v, %b = %one)
      -> (!f, !f) : i32 {
    %c = arith.addf %a, %b : !f
    scf.yield %b, %c : !f, !f
  }
  %w = arith.mulf %l#0, %l#1 : !f
""",
    "branched": """
  %w = scf.for %t = %zero to %three step %unit iter_args(%a = %v) -> (!f) : i32 {
    %is = arith.cmpi eq, %t, %unit : i32
    %b, %c = scf.if %is -> (!f, !f) {
      %d = arith.addf %a, %one : !f
      scf.yield %d, %v : !f, !f
    } else {
      %d = tt.load %xp, %m, %one : !p
      scf.yield %d, %a : !f, !f
    }
    %e = arith.mulf %b, %c : !f
    scf.yield %e : !f
  }
""",
    "multiplied": """
  %xd = tt.make_tensor_descriptor %x, [%n8, %n4], [%long4, %long] : <f32>, <8x4xf32>
  %kd = tt.make_tensor_descriptor %x, [%n8, %n4], [%long4, %long] : <f32>, <4x4xf32>
  %a = tt.descriptor_load %xd[%zero, %unit] : !tt.tensordesc<8x4xf32> -> !f
  %b = tt.descriptor_load %kd[%three, %zero] : !tt.tensordesc<4x4xf32>
      -> tensor<4x4xf32>
  %w = tt.dot %a, %b, %v : !f * tensor<4x4xf32> -> !f
""",
    "block": """
  %xb = tt.make_tensor_ptr %x, [%long4, %long4], [%long4, %long], [%unit,
      %zero] {order = array<i32: 1, 0>} : <tensor<8x4xf32>>
  %xc = tt.advance %xb, [%zero, %unit] : <tensor<8x4xf32>>
  %a = tt.load %xc {boundaryCheck = array<i32: 0, 1>, padding = 1 : i32}
      : !tt.ptr<tensor<8x4xf32>>
  %w = arith.addf %a, %v : !f
""",
}
REFUSED = {
    ("scanned", 0): "a scan runs along the split dimension",
    ("scanned_down", 1): "a scan runs along the split dimension",
    ("paired", 0): "a view of other sizes is not split",
}
"""Why programs are not cut along the columns, or the rows, of what they store."""


def line(axis: int) -> str:
    """Return the text that stores sums along an axis."""
    added = ADD.replace("NAME", "reduce")
    text = LINE.replace("ADDED", added).replace("AXIS", str(axis))
    return text.replace("SIZE", str((4, 8)[axis]))


def module_of(text: str) -> tuple[ModuleOp, tt.FuncOp]:
    module = parse(new_context(everything()), Source(text, "test.mlir"))
    (func,) = module.ops
    assert isinstance(func, tt.FuncOp)
    return module, func


def results(module: ModuleOp) -> list[Any]:
    """Return arrays after a kernel ran."""
    x = np.random.default_rng(0).integers(-8, 8, 40).astype(np.float32)
    arrays = [x, np.full(40, 77, np.float32), np.full(8, 77, np.float32)]
    simulate(with_functions(module), "f", arrays, Options(grid=(1, 1, 1)))
    return arrays


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", BODIES)
def test_rounds(name: str, axis: int, count: int) -> None:
    text = HEAD + BODIES[name] + STORE + line(axis) + "  tt.return\n}"
    (whole, _), (module, func) = module_of(text), module_of(text)
    plan = plan_parts(func, count, 1)
    if (reason := REFUSED.get((name, axis))) is not None:
        assert plan == reason
        return
    assert not isinstance(plan, str), plan
    assert plan.apart == {(0, 1), (0, 2)}
    cut_program(func, plan, 1)
    module.verify()
    for one, other in zip(results(whole), results(module), strict=True):
        np.testing.assert_array_equal(one, other)


TOTAL = """
  %t0 = "tt.reduce"(%v) <{axis = 1 : i32}> ADDED : (!f) -> tensor<8xf32>
  %t1 = "tt.reduce"(%t0) <{axis = 0 : i32}> ADDED : (tensor<8xf32>) -> f32
  %t2 = tt.splat %t1 : f32 -> !f
  %w = arith.divf %v, %t2 : !f
""".replace("ADDED", ADD.replace("NAME", "reduce"))
ONE = """
  %f = arith.constant 1.0 : f32
  tt.store %r, %f : !tt.ptr<f32>
"""
BOTH = """
  %l:2 = scf.for %t = %zero to %three step %unit iter_args(%a = %one, %b = %v)
      -> (!f, !f) : i32 {
    %s = "tt.reduce"(%a) <{axis = 0 : i32}> ADDED : (!f) -> tensor<4xf32>
    %s1 = tt.expand_dims %s {axis = 0 : i32} : tensor<4xf32> -> tensor<1x4xf32>
    %s2 = tt.broadcast %s1 : tensor<1x4xf32> -> !f
    %c = arith.addf %b, %s2 : !f
    scf.yield %c, %c : !f, !f
  }
  %w = arith.addf %l#1, %one : !f
""".replace("ADDED", ADD.replace("NAME", "reduce"))

IN_TURN = """
  %w = scf.while (%a = %v) : (!f) -> (!f) {
    %is = arith.cmpi slt, %unit, %zero : i32
    scf.condition(%is) %a : !f
  } do {
  ^bb0(%b: !f):
    scf.yield %b : !f
  }
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (IN_TURN + STORE, "a result of scf.while is not split"),
        (TOTAL + STORE, "each part needs all that tt.reduce makes"),
        (BOTH + STORE + line(1), "each part needs all that tt.reduce makes"),
        ("  tt.store %xp, %one : !p\n", "it stores to what it loads from"),
        (
            BODIES["pointwise"] + STORE + "  gpu.barrier\n",
            "gpu.barrier is computed once",
        ),
        (ONE, "tt.store is computed once"),
        ("", "nothing is stored"),
    ],
)
def test_refused(body: str, reason: str) -> None:
    _, func = module_of(HEAD + body + "  tt.return\n}")
    assert plan_parts(func, 2, 1) == reason


def test_too_small() -> None:
    _, func = module_of(HEAD + BODIES["pointwise"] + STORE + "  tt.return\n}")
    assert plan_parts(func, 4, 4) == "tt.store of 8x4 is too small for 4 parts"


# Attention: sums that a loop keeps in matrices, and rows of them by subgroups.

REDUCE = """"tt.reduce"(%{0}) <{{axis = 1 : i32}}> ({{
    ^bb0(%left: f32, %right: f32):
      %both = arith.{1} %left, %right : f32
      tt.reduce.return %both : f32
    }}) : (!s) -> !r"""
LOOP = """
  %{0}:3 = scf.for %n = %{1} to %{2} step %c16 iter_args(%m = %{3}, %l = %{4},
      %acc = %{5})
      -> (!r, !r, !s) : i32 {{
    %k = tt.descriptor_load %kd[%n, %zero] : !dk -> !k
    %kt = tt.trans %k {{order = array<i32: 1, 0>}} : !k -> !k
    %qk = tt.dot %q, %kt, %none : !h * !k -> !s
    %j = tt.make_range {{start = 0 : i32, end = 16 : i32}} : tensor<16xi32>
    %n1 = tt.splat %n : i32 -> tensor<16xi32>
    %j1 = arith.addi %n1, %j : tensor<16xi32>
    %end = tt.splat %length : i32 -> tensor<16xi32>
    %in = arith.cmpi slt, %j1, %end : tensor<16xi32>
    %in1 = tt.expand_dims %in {{axis = 0 : i32}} : tensor<16xi1> -> tensor<1x16xi1>
    %in2 = tt.broadcast %in1 : tensor<1x16xi1> -> tensor<32x16xi1>
    %s = arith.select %in2, %qk, %least : tensor<32x16xi1>, !s
    %top = {6}
    %new = arith.maxnumf %m, %top : !r
    %less = arith.subf %m, %new : !r
    %alpha = math.exp %less : !r
    %new1 = tt.expand_dims %new {{axis = 1 : i32}} : !r -> tensor<32x1xf32>
    %new2 = tt.broadcast %new1 : tensor<32x1xf32> -> !s
    %rest = arith.subf %s, %new2 : !s
    %p = math.exp %rest : !s
    %old = arith.mulf %l, %alpha : !r
    %sum = {7}
    %total = arith.addf %old, %sum : !r
    %alpha1 = tt.expand_dims %alpha {{axis = 1 : i32}} : !r -> tensor<32x1xf32>
    %alpha2 = tt.broadcast %alpha1 : tensor<32x1xf32> -> !s
    %scaled = arith.mulf %acc, %alpha2 : !s
    %v = tt.descriptor_load %vd[%n, %zero] : !dk -> !k
    %ph = arith.truncf %p : !s to !h
    %next = tt.dot %ph, %v, %scaled : !h * !k -> !s
    scf.yield %new, %total, %next : !r, !r, !s
  }}"""
ATTENTION = """
!dk = !tt.tensordesc<16x16xf16>
!dq = !tt.tensordesc<32x16xf16>
!h = tensor<32x16xf16>
!k = tensor<16x16xf16>
!r = tensor<32xf32>
!s = tensor<32x16xf32>
tt.func public @f(%qp: !tt.ptr<f16>, %kp: !tt.ptr<f16>, %vp: !tt.ptr<f16>,
    %op: !tt.ptr<f16>, %length: i32, %part: i32, %pitch: i64) {{
  %zero = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %one = arith.constant 1 : i64
  %none = arith.constant dense<0.0> : !s
  %empty = arith.constant dense<0.0> : !r
  %least = arith.constant dense<0xff800000> : !s
  %low = arith.constant dense<0xff800000> : !r
  %id = tt.get_program_id x : i32
  %row = arith.muli %id, %c32 : i32
  %qd = tt.make_tensor_descriptor %qp, [%length, %c16], [%pitch, %one]
      : <f16>, <32x16xf16>
  %kd = tt.make_tensor_descriptor %kp, [%length, %c16], [%pitch, %one]
      : <f16>, <16x16xf16>
  %vd = tt.make_tensor_descriptor %vp, [%length, %c16], [%pitch, %one]
      : <f16>, <16x16xf16>
  %od = tt.make_tensor_descriptor %op, [%length, %c16], [%pitch, %one]
      : <f16>, <32x16xf16>
  %q = tt.descriptor_load %qd[%row, %zero] : !dq -> !h
{0}
  %l1 = tt.expand_dims %all#1 {{axis = 1 : i32}} : !r -> tensor<32x1xf32>
  %l2 = tt.broadcast %l1 : tensor<32x1xf32> -> !s
  %o = arith.divf %all#2, %l2 : !s
  %oh = arith.truncf %o : !s to !h
  tt.descriptor_store %od[%row, %zero], %oh : !dq, !h
  tt.return
}}"""


def attention(is_split: bool = True) -> str:
    """Return attention, in a loop over K and V, or one to a row and one from there."""
    inner = REDUCE.format("s", "maxnumf"), REDUCE.format("p", "addf")
    loops = (
        LOOP.format("some", "zero", "part", "low", "empty", "none", *inner),
        LOOP.format("all", "part", "length", "some#0", "some#1", "some#2", *inner),
    )
    whole = LOOP.format("all", "zero", "length", "low", "empty", "none", *inner)
    return ATTENTION.format("".join(loops) if is_split else whole)


def launch(length: int, pitch: int) -> tuple[list[Any], Any]:
    """Return arguments, and what the result is."""
    random = np.random.default_rng(length)
    q, k, v = (random.standard_normal((length, pitch)) for _ in range(3))
    q, k, v = (x.astype(np.float16) for x in (q, k, v))
    a, b, c = (x[:, :16].astype(np.float64) for x in (q, k, v))
    e = np.exp((x := a @ b.T) - x.max(1, keepdims=True))
    wanted = np.full((length, pitch), 7.0)
    wanted[:, :16] = e / e.sum(1, keepdims=True) @ c
    part = length // 32 * 16
    return [q, k, v, np.full_like(q, 7), length, part, pitch], wanted


SIZES = [(64, 16), (41, 24), (7, 19)]
"""Rows, and how far apart they are: whole tiles, edges, rows that are not aligned."""


@pytest.mark.parametrize(("length", "pitch"), SIZES)
@pytest.mark.parametrize("device", ["lavapipe", "nvidia"])
def test_attention_simulated(device: str, length: int, pitch: int) -> None:
    source = Source(attention(), "attention.mlir")
    module = parse(new_context(everything()), source)
    passes = f"convert-tt-to-coopmatrix{{rounds=true shared=true device={device}}}"
    steps = read_passes(f"{passes},share-workgroup-memory", everything().all_passes)
    remarks: list[str] = []
    with remarks_to(remarks.append):
        Run(new_context(everything()), source).apply(module, steps)
    assert "2 subgroups compute a part each" in remarks[0]
    given, wanted = launch(length, pitch)
    simulate(module, "f", given, Options(grid=(-(-length // 32), 1, 1)))
    np.testing.assert_allclose(given[3], wanted, atol=4e-3)


def test_attention_on_lavapipe() -> None:
    pipeline = "coopc-khr{device=lavapipe staged=true}"
    artifact = coopc.compile(attention(is_split=False), pipeline, "spirv-binary")
    for length, pitch in SIZES:
        given, wanted = launch(length, pitch)
        artifact.run(*given, grid=(-(-length // 32), 1, 1))
        np.testing.assert_allclose(given[3], wanted, atol=4e-3)


AGAIN = """
!t = tensor<64x64xi32>
tt.func public @f(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %pitch = arith.extsi %n : i32 to i64
  %xd = tt.make_tensor_descriptor %x, [%n, %n], [%pitch, %one] : <i32>, <64x64xi32>
  %yd = tt.make_tensor_descriptor %y, [%n, %n], [%pitch, %one] : <i32>, <64x64xi32>
  %a = tt.descriptor_load %xd[%zero, %zero] : !tt.tensordesc<64x64xi32> -> !t
  %b = tt.descriptor_load %yd[%zero, %zero] : !tt.tensordesc<64x64xi32> -> !t
  %d = arith.subi %a, %b : !t
  %is = arith.cmpi sgt, %n, %zero : i32
  %e = scf.if %is -> (!t) {
    %m = arith.maxsi %d, %b : !t
    scf.yield %m : !t
  } else {
    scf.yield %d : !t
  }
  %s = "tt.reduce"(%e) <{axis = 1 : i32}> ({
  ^bb0(%p: i32, %q: i32):
    %both = arith.addi %p, %q : i32
    tt.reduce.return %both : i32
  }) : (!t) -> tensor<64xi32>
  %s1 = tt.expand_dims %s {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %s2 = tt.broadcast %s1 : tensor<1x64xi32> -> !t
  %ta = tt.trans %d {order = array<i32: 1, 0>} : !t -> !t
  %r = arith.addi %ta, %s2 : !t
  %u = arith.xori %r, %b : !t
  tt.descriptor_store %xd[%zero, %zero], %u : !tt.tensordesc<64x64xi32>, !t
  tt.descriptor_store %yd[%zero, %zero], %s2 : !tt.tensordesc<64x64xi32>, !t
  tt.return
}"""


@pytest.mark.parametrize("n", [64, 41])
def test_loads_again(n: int) -> None:
    """What has no room is loaded once more, unless it was stored to."""
    passes = "convert-tt-to-coopmatrix{rounds=true device=lavapipe}"
    module = parse(new_context(everything()), Source(AGAIN, "again.mlir"))
    remarks: list[str] = []
    with remarks_to(remarks.append):
        steps = read_passes(f"{passes},share-workgroup-memory", everything().all_passes)
        Run(new_context(everything()), Source(AGAIN, "again.mlir")).apply(module, steps)
    assert "elements are rematerialized" in remarks[0]
    random = np.random.default_rng(n)
    x, y = (random.integers(-9, 9, (n, n)).astype("i4") for _ in range(2))
    a, b = (np.pad(each, (0, 64 - n)) for each in (x, y))
    d = a - b
    s = np.maximum(d, b).sum(1)
    u, s = (d.T + s ^ b)[:n, :n], np.tile(s[:n], (n, 1))
    after: list[Any] = [x.copy(), y.copy(), n]
    simulate(module, "f", after, Options(grid=(1, 1, 1)))
    np.testing.assert_array_equal(after[:2], (u, s))
    artifact = coopc.compile(AGAIN, "coopc-khr{device=lavapipe}", "spirv-binary")
    artifact.run(x, y, n, grid=(1, 1, 1))
    np.testing.assert_array_equal((x, y), (u, s))


SUMS = """
  %{0} = scf.for %k = %zero to %n step %c16 iter_args(%acc = %none) -> (!s) : i32 {{
    %x = tt.descriptor_load %ad[%zero, %k] : !dq -> !h
    %y = tt.descriptor_load %bd[%k, %zero] : !dk -> !k
    %less = arith.mulf %acc, %{1} : !s
    %next = tt.dot %x, %y, %{2} : !h * !k -> !s
    scf.yield %next : !s
  }}"""
TWO = """
!dk = !tt.tensordesc<16x16xf16>
!dq = !tt.tensordesc<32x16xf16>
!ds = !tt.tensordesc<32x16xf32>
!h = tensor<32x16xf16>
!k = tensor<16x16xf16>
!s = tensor<32x16xf32>
tt.func public @f(%ap: !tt.ptr<f16>, %bp: !tt.ptr<f16>, %cp: !tt.ptr<f32>, %n: i32) {{
  %zero = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %c32 = arith.constant 32 : i32
  %one = arith.constant 1 : i64
  %pitch = arith.extsi %n : i32 to i64
  %long16 = arith.constant 16 : i64
  %none = arith.constant dense<0.0> : !s
  %half = arith.constant dense<0.5> : !s
  %twice = arith.constant dense<2.0> : !s
  %ad = tt.make_tensor_descriptor %ap, [%c32, %n], [%pitch, %one] : <f16>, <32x16xf16>
  %bd = tt.make_tensor_descriptor %bp, [%n, %c16], [%long16, %one] : <f16>, <16x16xf16>
  %cd = tt.make_tensor_descriptor %cp, [%c32, %c16], [%long16, %one]
    : <f32>, <32x16xf32>
{0}
  %sum = arith.subf %some, %more : !s
  tt.descriptor_store %cd[%zero, %zero], %sum : !ds, !s
  tt.return
}}"""


@pytest.mark.parametrize("shared", ["", " shared=true"])
@pytest.mark.parametrize("is_scaled", [False, True])
def test_two_loops(is_scaled: bool, shared: str) -> None:
    """A statement may use the sums of two loops, of which one has matrices alone."""
    acc = "less" if is_scaled else "acc"
    loops = SUMS.format("some", "half", acc), SUMS.format("more", "twice", acc)
    source = Source(TWO.format("".join(loops)), "two.mlir")
    module = parse(new_context(everything()), source)
    passes = f"convert-tt-to-coopmatrix{{rounds=true device=lavapipe{shared}}}"
    steps = read_passes(f"{passes},share-workgroup-memory", everything().all_passes)
    with remarks_to(lambda line: None):
        Run(new_context(everything()), source).apply(module, steps)
    random, n = np.random.default_rng(0), 44
    a, b = (random.integers(-2, 3, x).astype(np.float16) for x in ((32, n), (n, 16)))
    c = np.zeros((32, 16), np.float32)
    simulate(module, "f", [a, b, c, n], Options(grid=(1, 1, 1)))
    parts = [a[:, k : k + 16] @ b[k : k + 16] for k in range(0, n, 16)]
    wanted = [0.25 * parts[0] + 0.5 * parts[1], 4.0 * parts[0] + 2.0 * parts[1]]
    expected = wanted[0] - wanted[1] if is_scaled else np.zeros((32, 16))
    np.testing.assert_array_equal(c, expected)
