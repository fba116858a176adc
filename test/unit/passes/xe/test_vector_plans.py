"""Accesses through pointers as vectors: when they are, and what they then move."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

import coopc
from coopc.compiler import new_context
from coopc.dialects import tt, xe_plans
from coopc.parsing import parse
from coopc.passes.xe.vector_plans import plan_vector
from coopc.pipeline import Run, read_passes
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

BLOCK = 256
OTHER = 7
"""What is loaded where a mask is false."""
HEAD = f"""
#one = #ttg.blocked<{{sizePerThread = [8], threadsPerWarp = [16], warpsPerCTA = [2],
  order = [0]}}>
module attributes {{"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 16 : i32}} {{
  tt.func public @copy(%p: !tt.ptr<f16> {{tt.divisibility = 16 : i32}},
      %q: !tt.ptr<f16> {{tt.divisibility = 16 : i32}},
      %n: i32 {{tt.divisibility = 16 : i32}}, %s: i32 {{tt.divisibility = 8 : i32}},
      %any: i32) {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %block = arith.constant {BLOCK} : i32
    %zeros = arith.constant dense<0> : tensor<{BLOCK}xi32, #one>
    %ones = arith.constant dense<1> : tensor<{BLOCK}xi32, #one>
    %other = arith.constant dense<{OTHER}.0> : tensor<{BLOCK}xf16, #one>
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, %block : i32
    %range = tt.make_range {{start = 0 : i32, end = {BLOCK} : i32}}
        : tensor<{BLOCK}xi32, #one>
    %firsts = tt.splat %first : i32 -> tensor<{BLOCK}xi32, #one>
    %at = arith.addi %firsts, %range : tensor<{BLOCK}xi32, #one>
    %ns = tt.splat %n : i32 -> tensor<{BLOCK}xi32, #one>
    %ss = tt.splat %s : i32 -> tensor<{BLOCK}xi32, #one>
    %anys = tt.splat %any : i32 -> tensor<{BLOCK}xi32, #one>
    %below = arith.cmpi slt, %at, %ns : tensor<{BLOCK}xi32, #one>
    %ps = tt.splat %p : !tt.ptr<f16> -> tensor<{BLOCK}x!tt.ptr<f16>, #one>
    %qs = tt.splat %q : !tt.ptr<f16> -> tensor<{BLOCK}x!tt.ptr<f16>, #one>
"""


def copy(places: str) -> str:
    """Return a kernel that copies what is at %where of %p, if %mask, to %at of %q."""
    text = f"""{HEAD}{places}
    %from = tt.addptr %ps, %where : #P, #I
    %to = tt.addptr %qs, %at : #P, #I
    %x = tt.load %from, %mask, %other : #P
    tt.store %to, %x, %below : #P
    tt.return
  }}
}}"""
    pointers = f"tensor<{BLOCK}x!tt.ptr<f16>, #one>"
    return text.replace("#P", pointers).replace("#I", f"tensor<{BLOCK}xi32, #one>")


def moved(offset: str, mask: str) -> str:
    """Return what loads at %at + an offset where a mask is."""
    return f"%where = arith.addi %at, {offset} : #I\n{mask}"


HERE = moved("%zeros", "%mask = arith.cmpi slt, %at, %ns : #I")
AND = "arith.andi %lower, %upper : tensor<256xi1, #one>"
PARTS: dict[str, tuple[str, int | None]] = {
    # places and masks: the length of vectors that are loaded
    "below": (HERE, 8),
    "multiple": (HERE.replace("slt, %at, %ns", "slt, %at, %ss"), 8),
    "any bound": (HERE.replace("slt, %at, %ns", "slt, %at, %anys"), None),
    "one more": (HERE.replace("slt", "sle"), None),
    "from": (moved("%ss", "%mask = arith.cmpi sge, %where, %ss : #I"), 8),
    "behind": (HERE.replace("slt", "sgt"), None),
    "unsigned": (moved("%ss", "%mask = arith.cmpi ult, %where, %ns : #I"), 8),
    "equal": (HERE.replace("slt", "ne"), None),
    "odd": (moved("%ones", "%mask = arith.cmpi slt, %where, %ns : #I"), None),
    "any start": (moved("%anys", "%mask = arith.cmpi slt, %where, %ns : #I"), None),
    "between": (
        moved(
            "%ss",
            "%lower = arith.cmpi sge, %where, %zeros : #I\n"
            "%upper = arith.cmpi slt, %where, %ns : #I\n"
            f"%mask = {AND}",
        ),
        8,
    ),
    "flag": (
        moved(
            "%zeros",
            "%lower = arith.cmpi slt, %at, %ns : #I\n"
            "%flag = arith.cmpi sgt, %any, %c0 : i32\n"
            "%upper = tt.splat %flag : i1 -> tensor<256xi1, #one>\n"
            f"%mask = {AND}",
        ),
        8,
    ),
}


@cache
def parsed(text: str, passes: str) -> ModuleOp:
    universe, source = everything(), Source(text, "test")
    ctx = new_context(universe)
    found = parse(ctx, source)
    Run(ctx, source).apply(found, read_passes(passes, universe.all_passes))
    return found


def lengths(text: str) -> list[int | None]:
    """Return the lengths of the vectors that the loads of a kernel are planned as."""
    module = parsed(text, "set-target{device=bmg flavour=opencl},plan-block-io")
    found: list[int | None] = []
    for op in module.walk():
        if isinstance(op, tt.LoadOp):
            attr, plan = op.attributes.get(xe_plans.VECTOR), plan_vector(op)
            assert (attr is None) == (plan is None)
            found.append(attr.value.data if isinstance(attr, IntegerAttr) else None)
    return found


@pytest.mark.parametrize("name", PARTS)
def test_length(name: str) -> None:
    places, length = PARTS[name]
    assert lengths(copy(places)) == [length]


def test_without_what_triton_says() -> None:
    """Nothing is a multiple unless an attribute says so, which becomes a condition."""
    text = copy(HERE)
    for number, argument in enumerate(("%p: !tt.ptr<f16>", "%n: i32")):
        start = text.index(argument)
        end = text.index("}", start) + 1
        told = text[start:end]
        assert lengths(text.replace(told, argument)) == [None]
        if number == 0:  # four f16 are 8 bytes
            halved = text.replace(told, told.replace("16 : i32", "8 : i32"))
            assert lengths(halved) == [4]
    module = parsed(text, "coopc-xe{device=bmg}")
    (func,) = module.ops
    conditions = str(func.attributes["simt.conditions"])
    assert 'what = "address", argument = 0 : i64, multiple_of = 16' in conditions
    assert 'what = "value", argument = 2 : i64, multiple_of = 8' in conditions


def expected(
    name: str, a: npt.NDArray[Any], n: int, s: int, any: int
) -> npt.NDArray[Any]:
    """Return what the kernel writes, of n elements."""
    at = np.arange(n)
    offset = {"from": s, "unsigned": s, "between": s, "odd": 1, "any start": any}
    where = at + offset.get(name, 0)
    mask = {
        "multiple": at < s,
        "any bound": at < any,
        "one more": at <= n,
        "from": where >= s,
        "behind": at > n,
        "equal": at != n,
        "flag": (at < n) & (any > 0),
        "between": (where >= 0) & (where < n),
        "unsigned": (where >= 0) & (where < n),
    }.get(name, where < n)
    return np.where(mask, a[np.where(mask, where, 0)], OTHER)


SIZES = [
    # elements, s, any
    (512, 64, 33),
    (264, 8, 1),
    (24, -16, 0),
    (0, 0, 5),
]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", PARTS)
def test_simulated(name: str, sizes: tuple[int, int, int]) -> None:
    """What is loaded is the same before and after, and what numpy says."""
    n, s, any = sizes
    if s < 0 and name not in ("between", "unsigned", "below"):
        return  # it would read in front of its memory
    random = np.random.default_rng(n)
    a = random.integers(-99, 100, n + BLOCK + 100).astype("f2")
    text = copy(PARTS[name][0])
    for module in (
        with_functions(parsed(text, "")),
        parsed(text, "coopc-xe{device=bmg}"),
        parsed(text, "coopc-xe{device=bmg emulate=true}"),
    ):
        b = np.full(n + 8, 77, "f2")
        simulate(module, "copy", [a, b, n, s, any], grid=(-(-n // BLOCK) or 1,))
        assert np.array_equal(b[:n], expected(name, a, n, s, any))
        assert (b[n:] == 77).all()


@pytest.mark.parametrize("n", [512, 264, 1000, 261, 3])
def test_executed(n: int, intel_cpu: object) -> None:
    """On a driver: bounds that are no multiples have another entry point."""
    a = np.random.default_rng(n).integers(-99, 100, n + 100).astype("f2")
    b = np.full(n + 8, 77, "f2")
    coopc.launch(
        copy(PARTS["between"][0]), a, b, n, -16, 0, on="opencl", grid=(-(-n // BLOCK),)
    )
    assert np.array_equal(b[:n], expected("between", a, n, -16, 0))
    assert (b[n:] == 77).all()
