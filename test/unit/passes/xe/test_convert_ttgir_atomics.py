"""Atomic updates, casts of pointers, pairs: simulated before and after, and run."""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

import coopc
from coopc.compiler import new_context
from coopc.interface_call import pack
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run import opencl
from coopc.run.execute import on_opencl
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

Array = npt.NDArray[Any]

HEAD = """
#b = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [16], warpsPerCTA = [4],
                   order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
"""
UPDATE = """
  tt.func public @k(%p: !tt.ptr<T>, %x: !tt.ptr<T>, %at: !tt.ptr<i32>, %out: !tt.ptr<T>,
                    %n: i32) {
    %r = tt.make_range {end = SIZE : i32, start = 0 : i32} : tensor<SIZExi32, #b>
    %limit = tt.splat %n : i32 -> tensor<SIZExi32, #b>
    %m = arith.cmpi slt, %r, %limit : tensor<SIZExi32, #b>
    %0 = tt.splat %at : !tt.ptr<i32> -> tensor<SIZEx!tt.ptr<i32>, #b>
    %1 = tt.addptr %0, %r : tensor<SIZEx!tt.ptr<i32>, #b>, tensor<SIZExi32, #b>
    %2 = tt.load %1 : tensor<SIZEx!tt.ptr<i32>, #b>
    %3 = tt.splat %x : !tt.ptr<T> -> tensor<SIZEx!tt.ptr<T>, #b>
    %4 = tt.addptr %3, %r : tensor<SIZEx!tt.ptr<T>, #b>, tensor<SIZExi32, #b>
    %5 = tt.load %4 : tensor<SIZEx!tt.ptr<T>, #b>
    %6 = tt.splat %p : !tt.ptr<T> -> tensor<SIZEx!tt.ptr<T>, #b>
    %7 = tt.addptr %6, %2 : tensor<SIZEx!tt.ptr<T>, #b>, tensor<SIZExi32, #b>
    %8 = tt.atomic_rmw KIND, acq_rel, gpu, %7, %5, %m
       : (tensor<SIZEx!tt.ptr<T>, #b>, tensor<SIZExT, #b>, tensor<SIZExi1, #b>)
       -> tensor<SIZExT, #b>
    STORE
    tt.return
  }
}
"""
STORE = """
    %pid = tt.get_program_id x : i32
    %size = arith.constant SIZE : i32
    %before = arith.muli %pid, %size : i32
    %mine = tt.addptr %out, %before : !tt.ptr<T>, i32
    %9 = tt.splat %mine : !tt.ptr<T> -> tensor<SIZEx!tt.ptr<T>, #b>
    %10 = tt.addptr %9, %r : tensor<SIZEx!tt.ptr<T>, #b>, tensor<SIZExi32, #b>
    tt.store %10, %8, %m : tensor<SIZEx!tt.ptr<T>, #b>
"""
FUNCTIONS: dict[str, Any] = {
    "add": np.add,
    "fadd": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def update(kind: str, type: str, size: int, store: bool) -> str:
    """Return a kernel that updates elements at some places."""
    text = HEAD + UPDATE.replace("STORE", STORE if store else "")
    text = text.replace("KIND", kind).replace("SIZE", str(size))
    return re.sub(r"(\bT>|(?<=x)T,)", lambda x: type + x[0][1:], text)


def after(text: str, pipeline: str) -> ModuleOp:
    """Return a program after some passes."""
    universe = everything()
    ctx, source = new_context(universe), Source(text, "kernel")
    module = parse(ctx, source)
    Run(ctx, source).apply(module, read_passes(pipeline, universe.all_passes))
    return module


def runs(text: str, arguments: list[Any], session: opencl.Session | None) -> Any:
    """Yield the arguments after each way to run a kernel."""

    def fresh() -> list[Any]:
        return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]

    given = fresh()
    simulate(with_functions(after(text, "")), "k", given, grid=(2,))
    yield given
    for fallback in ("false", "true"):
        given = fresh()
        module = after(text, f"coopc-xe{{device=bmg fallback={fallback}}}")
        simulate(module, "k", given, grid=(2,))
        yield given
    if session is not None:
        pipeline = "coopc-xe{device=bmg emulate=true}"
        artifact = coopc.compile(text, pipeline, "spirv-binary")
        (interface,) = artifact.interface
        call = pack(interface, fresh(), (2, 1, 1))
        found = iter(on_opencl(artifact.bytes, call, session).arrays)
        yield [next(found) if isinstance(x, np.ndarray) else x for x in arguments]


@pytest.mark.parametrize("size", [16, 128, 512])
@pytest.mark.parametrize(
    ("kind", "type"),
    [
        ("fadd", "f32"),
        ("add", "i32"),
        ("add", "i64"),
        ("max", "i32"),
        ("umax", "i32"),
        ("min", "i32"),
        ("umin", "i32"),
        ("and", "i32"),
        ("or", "i32"),
        ("xor", "i32"),
    ],
)
def test_updates(kind: str, type: str, size: int, intel_cpu: opencl.Session) -> None:
    """Each of two work-groups updates each element once, several at one place."""
    dtype = {"f32": "f4", "i32": "i4", "i64": "i8"}[type]
    random = np.random.default_rng(size)
    p, x = (random.integers(-99, 99, size).astype(dtype) for _ in range(2))
    at = random.integers(0, size // 2, size).astype("i4")
    n = size - 3
    expected = p.view("u4") if kind[0] == "u" else p
    expected = expected.copy()
    compute = FUNCTIONS[kind.removeprefix("u")]
    for _ in range(2):
        compute.at(expected, at[:n], x[:n].view(expected.dtype))
    session = intel_cpu if size == 128 else None
    arguments = [p, x, at, np.zeros_like(p), n]
    for found in runs(update(kind, type, size, store=False), arguments, session):
        assert np.array_equal(found[0].view(expected.dtype), expected)


@pytest.mark.parametrize("size", [16, 128])
def test_what_was_there(size: int, intel_cpu: opencl.Session) -> None:
    """All lanes that have an element get what was there, once for each place."""
    p = np.arange(size, dtype="i4") * 10
    x = np.full(size, 7, "i4")
    at = np.random.default_rng(size).permutation(size).astype("i4")
    n = size - 3
    for found in runs(
        update("exch", "i32", size, store=True),
        [p, x, at, np.full(2 * size, -1, "i4"), n],
        intel_cpu,
    ):
        assert (found[0][at[:n]] == 7).all()
        assert (found[0][at[n:]] == p[at[n:]]).all()
        # Of two work-groups either is the first.
        out = found[3].reshape(2, size)
        assert ((out[:, :n] == p[at[:n]]).sum(axis=0) == 1).all()
        assert ((out[:, :n] == 7).sum(axis=0) == 1).all()
        assert (out[:, n:] == -1).all()


@pytest.mark.parametrize("size", [16, 128])
def test_exchanges(size: int, intel_cpu: opencl.Session) -> None:
    """What is as expected is replaced once, of two work-groups that see it by one."""
    p = np.arange(1000, 1000 + size, dtype="i4")
    at = np.random.default_rng(size).permutation(size).astype("i4")
    x = p[at]
    x[::3] += 1
    text, number = re.subn(
        r"tt.atomic_rmw exch, (.*) %7, %5, %m\s*"
        r": \((.*#b>), (.*#b>), .*#b>\)",
        r"tt.atomic_cas \1 %7, %5, %r : (\2, \3, \3)",
        update("exch", "i32", size, store=True),
    )
    assert number == 1, text
    arguments = [p, x, at, np.full(2 * size, -1, "i4"), size]
    expected, is_same = p.copy(), x == p[at]
    expected[at[is_same]] = np.arange(size)[is_same]
    for found in runs(text, arguments, intel_cpu):
        assert np.array_equal(found[0], expected)
        out = found[3].reshape(2, size)
        assert ((out == p[at]).sum(axis=0) == np.where(is_same, 1, 2)).all()
        assert ((out == np.arange(size))[:, is_same].sum(axis=0) == 1).all()


COUNTER = """
  tt.func public @k(%p: !tt.ptr<i32>, %out: !tt.ptr<i32>, %by: i32, %c: i1) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #b>
    %0 = tt.atomic_rmw add, relaxed, gpu, %p, %by, %c : (!tt.ptr<i32>, i32, i1) -> i32
    %1 = tt.splat %0 : i32 -> tensor<64xi32, #b>
    %2 = tt.splat %out : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #b>
    %3 = tt.addptr %2, %r : tensor<64x!tt.ptr<i32>, #b>, tensor<64xi32, #b>
    %4 = tt.addptr %3, %1 : tensor<64x!tt.ptr<i32>, #b>, tensor<64xi32, #b>
    tt.store %4, %1 : tensor<64x!tt.ptr<i32>, #b>
    tt.return
  }
}
"""


def test_a_counter(intel_cpu: opencl.Session) -> None:
    """Each work-group takes a number, which all of its lanes know."""
    arguments = [np.array([64], "i4"), np.zeros(192, "i4"), 64, True]
    expected = np.repeat(np.array([0, 64, 128], "i4"), 64)
    for found in runs(HEAD + COUNTER, arguments, intel_cpu):
        assert found[0] == 192
        assert np.array_equal(found[1], expected)


CASTS = """
  tt.func public @k(%keep: !tt.ptr<i1>, %x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32,
                    %flags: !tt.ptr<i1>) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #b>
    %limit = tt.splat %n : i32 -> tensor<64xi32, #b>
    %m = arith.cmpi slt, %r, %limit : tensor<64xi32, #b>
    %ones = arith.constant dense<1> : tensor<64xi32, #b>
    %no = arith.constant dense<0> : tensor<64xi8, #b>
    %0 = tt.splat %keep : !tt.ptr<i1> -> tensor<64x!tt.ptr<i1>, #b>
    %1 = tt.addptr %0, %r : tensor<64x!tt.ptr<i1>, #b>, tensor<64xi32, #b>
    %2 = tt.bitcast %1 : tensor<64x!tt.ptr<i1>, #b> -> tensor<64x!tt.ptr<i8>, #b>
    %3 = tt.load %2, %m, %no : tensor<64x!tt.ptr<i8>, #b>
    %4 = arith.cmpi ne, %3, %no : tensor<64xi8, #b>
    %5 = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<i32>
    %6 = tt.splat %5 : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #b>
    %7 = tt.addptr %6, %r : tensor<64x!tt.ptr<i32>, #b>, tensor<64xi32, #b>
    %8 = tt.load %7, %4, %ones : tensor<64x!tt.ptr<i32>, #b>
    %9 = tt.load %5 : !tt.ptr<i32>
    %10 = tt.splat %9 : i32 -> tensor<64xi32, #b>
    %11 = arith.xori %8, %10 : tensor<64xi32, #b>
    %12 = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>, #b>
    %13 = tt.bitcast %12 : tensor<64x!tt.ptr<f32>, #b> -> tensor<64x!tt.ptr<i32>, #b>
    %14 = tt.addptr %13, %r : tensor<64x!tt.ptr<i32>, #b>, tensor<64xi32, #b>
    tt.store %14, %11, %m : tensor<64x!tt.ptr<i32>, #b>
    %15 = tt.splat %flags : !tt.ptr<i1> -> tensor<64x!tt.ptr<i1>, #b>
    %16 = tt.addptr %15, %r : tensor<64x!tt.ptr<i1>, #b>, tensor<64xi32, #b>
    %17 = tt.load %1 : tensor<64x!tt.ptr<i1>, #b>
    tt.store %16, %17, %m : tensor<64x!tt.ptr<i1>, #b>
    %18 = tt.addptr %5, %n : !tt.ptr<i32>, i32
    %19 = arith.constant 5 : i32
    tt.store %18, %19 : !tt.ptr<i32>
    tt.return
  }
}
"""


def test_many_updates_are_little_code() -> None:
    """256 of each lane, in loops."""
    size = 1 << 14
    random = np.random.default_rng(1)
    p, x = (random.integers(-99, 99, size).astype("i4") for _ in range(2))
    at, n = random.permutation(size).astype("i4"), size - 3
    text = update("add", "i32", size, store=False)
    assert len(list(after(text, "coopc-xe{device=bmg}").walk())) < 1000
    expected = p.copy()
    np.add.at(expected, at[:n], 2 * x[:n])
    for found in runs(text, [p, x, at, np.zeros(size, "i4"), n], None):
        assert np.array_equal(found[0], expected)


def test_casts(intel_cpu: opencl.Session) -> None:
    """Booleans are bytes; bits of floats are moved as integers."""
    random = np.random.default_rng(0)
    keep = random.integers(0, 2, 64).astype("i1")
    x = random.standard_normal(64).astype("f4")
    n = 61
    x[n] = 0
    arguments = [keep, x, np.zeros(64, "f4"), n, np.zeros(64, "i1")]
    bits = np.where(keep, x.view("i4"), 1) ^ x.view("i4")[0]
    for found in runs(HEAD + CASTS, arguments, intel_cpu):
        assert np.array_equal(found[2].view("i4")[:n], bits[:n])
        assert not found[2][n:].any()
        assert np.array_equal(found[4][:n], keep[:n])
        assert not found[4][n:].any()
        assert found[1].view("i4")[n] == 5


def test_another_width_is_not_simulated() -> None:
    text = (
        HEAD
        + """
  tt.func public @k(%p: !tt.ptr<f32>) {
    %0 = tt.bitcast %p : !tt.ptr<f32> -> !tt.ptr<i16>
    %1 = tt.load %0 : !tt.ptr<i16>
    tt.return
  }
}
"""
    )
    with pytest.raises(SimulationError, match="elements of f32 through a pointer"):
        simulate(with_functions(after(text, "")), "k", [np.zeros(4, "f4")], grid=(1,))


ASSUMED = """
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %c = arith.cmpi sge, %n, %zero : i32
    llvm.intr.assume %c : i1
    tt.store %p, %n : !tt.ptr<i32>
    tt.return
  }
}
"""


def test_assumptions() -> None:
    """They are checked where tensors are whole, and gone where they are lanes."""
    for found in runs(HEAD + ASSUMED, [np.zeros(1, "i4"), 3], None):
        assert found[0] == 3
    with pytest.raises(UndefinedBehaviour, match="the assumption to be true"):
        simulate(
            with_functions(after(HEAD + ASSUMED, "")),
            "k",
            [np.zeros(1, "i4"), -3],
            grid=(1,),
        )
    module = after(HEAD + ASSUMED, "coopc-xe{device=bmg}")
    assert not any("assume" in op.name for op in module.walk())


BRANCH = """
  tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %size = arith.constant 64 : i32
    %pid = tt.get_program_id x : i32
    %c = arith.cmpi slt, %pid, %n : i32
    scf.if %c {
      %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #b>
      %0 = arith.muli %pid, %size : i32
      %1 = tt.addptr %p, %0 : !tt.ptr<i32>, i32
      %2 = tt.splat %1 : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #b>
      %3 = tt.addptr %2, %r : tensor<64x!tt.ptr<i32>, #b>, tensor<64xi32, #b>
      %4 = tt.load %3 : tensor<64x!tt.ptr<i32>, #b>
      %5 = arith.addi %4, %r : tensor<64xi32, #b>
      tt.store %3, %5 : tensor<64x!tt.ptr<i32>, #b>
      %6 = tt.atomic_rmw add, relaxed, gpu, %3, %r
         : (tensor<64x!tt.ptr<i32>, #b>, tensor<64xi32, #b>) -> tensor<64xi32, #b>
    }
    tt.return
  }
}
"""


def test_work_groups_that_do_not_take_a_branch(intel_cpu: opencl.Session) -> None:
    """They access nothing: there is memory for the first one only."""
    for found in runs(HEAD + BRANCH, [np.ones(64, "i4"), 1], intel_cpu):
        assert np.array_equal(found[0], 1 + 2 * np.arange(64))


PAIRS = """
  tt.func public @k(%p: !tt.ptr<i8>, %out: !tt.ptr<i8>, %both: !tt.ptr<i8>) {
    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #b>
    %four = arith.constant dense<4> : tensor<128xi8, #b>
    %0 = tt.splat %p : !tt.ptr<i8> -> tensor<128x!tt.ptr<i8>, #b>
    %1 = tt.addptr %0, %r : tensor<128x!tt.ptr<i8>, #b>, tensor<128xi32, #b>
    %bytes = tt.load %1 : tensor<128x!tt.ptr<i8>, #b>
    %2 = arith.shli %bytes, %four : tensor<128xi8, #b>
    %low = arith.shrsi %2, %four : tensor<128xi8, #b>
    %high = arith.shrsi %bytes, %four : tensor<128xi8, #b>
    %pairs = tt.join %low, %high : tensor<128xi8, #b> -> tensor<128x2xi8, #pairs>
    %wide = tt.reshape %pairs : tensor<128x2xi8, #pairs> -> tensor<256xi8, #wide>
    %3 = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #wide>
    %4 = tt.splat %out : !tt.ptr<i8> -> tensor<256x!tt.ptr<i8>, #wide>
    %5 = tt.addptr %4, %3 : tensor<256x!tt.ptr<i8>, #wide>, tensor<256xi32, #wide>
    tt.store %5, %wide : tensor<256x!tt.ptr<i8>, #wide>
    %again = tt.reshape %wide : tensor<256xi8, #wide> -> tensor<128x2xi8, #pairs>
    %x, %y = tt.split %again : tensor<128x2xi8, #pairs> -> tensor<128xi8, #b>
    %6 = arith.subi %x, %y : tensor<128xi8, #b>
    %7 = tt.splat %both : !tt.ptr<i8> -> tensor<128x!tt.ptr<i8>, #b>
    %8 = tt.addptr %7, %r : tensor<128x!tt.ptr<i8>, #b>, tensor<128xi32, #b>
    tt.store %8, %6 : tensor<128x!tt.ptr<i8>, #b>
    tt.return
  }
}
"""
LAYOUTS = """
#pairs = #ttg.blocked<{sizePerThread = [2, 2], threadsPerWarp = [16, 1],
                       warpsPerCTA = [4, 1], order = [1, 0]}>
#wide = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [4],
                      order = [0]}>
"""


def test_halves_of_bytes(intel_cpu: opencl.Session) -> None:
    """As weights of 4 bits are unpacked."""
    packed = np.random.default_rng(4).integers(-128, 128, 128).astype("i1")
    low, high = (packed << 4).astype("i1") >> 4, packed >> 4
    text = LAYOUTS + HEAD + PAIRS
    arguments = [packed, np.zeros(256, "i1"), np.zeros(128, "i1")]
    for found in runs(text, arguments, intel_cpu):
        assert np.array_equal(found[1], np.stack([low, high], 1).reshape(-1))
        assert np.array_equal(found[2], low - high)
    ops = [op.name for op in after(text, "coopc-xe{device=bmg}").walk()]
    assert "simt.shuffle" not in ops
    assert "simt.barrier" not in ops
