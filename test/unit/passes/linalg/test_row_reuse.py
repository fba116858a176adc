"""Values that several statements of a row compute: which they are, and that rows keep
them rightly."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import memref
from xdsl.dialects.func import FuncOp

from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.passes.linalg.convert_linalg_to_simt.convert_linalg_to_simt import (
    ConvertLinalgToSimtPass,
)
from coopc.passes.linalg.convert_linalg_to_simt.row_reuse import reused
from coopc.passes.linalg.rows import rows_of
from coopc.run.arrays import Argument
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

MAPS = """
#p = affine_map<(d0, d1) -> (d0, d1)>
#t = affine_map<(d0, d1) -> (d1, d0)>
#r = affine_map<(d0, d1) -> (d0)>
#c = affine_map<(d0, d1) -> (d1)>
"""


def statement(
    body: str, sums: str, out: str, x: str = "%x", rows: str = "#r", over: str = "#p"
) -> str:
    """A statement of elements %a of x, and %s that rows have reduced.

    It yields %y, or reduces it if `out` is one of a row.
    """
    of_rows = not out.startswith(("%o", "%x"))
    kinds = '["parallel", "reduction"]' if of_rows else '["parallel", "parallel"]'
    to = rows if of_rows else over
    types = ("$m", "$v", "$v" if of_rows else "$m")
    combined = "\n    %z = arith.addf %old, %y : f64" if of_rows else ""
    return f"""
  linalg.generic {{indexing_maps = [{over}, {rows}, {to}], iterator_types = {kinds}}}
      ins({x}, {sums} : {types[0]}, {types[1]}) outs({out} : {types[2]}) {{
  ^bb0(%a: f64, %s: f64, %old: f64):{body}{combined}
    linalg.yield {"%z" if of_rows else "%y"} : f64
  }}"""


def function(body: str, shape: tuple[int, int], axis: int = 1, args: str = "") -> str:
    matrix, row = f"memref<{shape[0]}x{shape[1]}xf64>", f"memref<{shape[1 - axis]}xf64>"
    text = f"""{MAPS}
func.func @f(%x: $m, %o: $m, %s0: $v{args}) {{
  %four = arith.constant 4.0 : f64
  %two = arith.constant 2.0 : f64
  %zero = arith.constant 0.0 : f64{body}
  func.return
}}"""
    return text.replace("$m", matrix).replace("$v", row)


def zeros(name: str) -> str:
    return f"""
  {name} = memref.alloc() : $v
  linalg.fill ins(%zero : f64) outs({name} : $v)"""


def line(result: str, op: str, *operands: str) -> str:
    return f"\n    {result} = {op} {', '.join(operands)} : f64"


EXP = line("%e", "math.exp", "%a")
OF_ROW = line("%d", "arith.subf", "%a", "%s")
HALF = OF_ROW + line("%h", "arith.divf", "%d", "%two")
CASES: dict[str, tuple[str, str, list[str]]] = {
    # The body of a sum, that of what is stored, and what is kept.
    "the same": (
        EXP + line("%y", "arith.addf", "%e", "%e"),
        EXP + line("%y", "arith.addf", "%e", "%e"),
        ["arith.addf"],
    ),
    "a part": (
        EXP + line("%y", "arith.addf", "%e", "%a"),
        EXP + line("%y", "arith.mulf", "%e", "%s"),
        ["math.exp"],
    ),
    "two parts": (
        EXP
        + line("%h", "arith.divf", "%a", "%two")
        + line("%y", "arith.addf", *["%e", "%h"]),
        EXP
        + line("%h", "arith.divf", "%a", "%two")
        + line("%y", "arith.mulf", *["%e", "%h"]),
        ["math.exp", "arith.divf"],
    ),
    "nothing costly": (
        line("%y", "arith.mulf", "%a", "%a"),
        line("%y", "arith.mulf", "%a", "%a"),
        [],
    ),
    "of the row alone": (
        line("%e", "math.exp", "%s") + line("%y", "arith.mulf", "%a", "%e"),
        line("%e", "math.exp", "%s") + line("%y", "arith.subf", "%a", "%e"),
        [],
    ),
    "other operands": (
        line("%y", "arith.divf", "%a", "%two"),
        line("%y", "arith.divf", "%a", "%four"),
        [],
    ),
    "other order": (
        line("%y", "arith.divf", "%a", "%two"),
        line("%y", "arith.divf", "%two", "%a"),
        [],
    ),
    "other flags": (
        line("%y", "math.exp", "%a"),
        line("%y", "math.exp", "%a fastmath<afn>"),
        [],
    ),
}


def kept(text: str) -> list[list[str]]:
    """The names of what computes values that are kept."""
    module = parse(new_context(everything()), Source(text))
    (func,) = module.ops
    assert isinstance(func, FuncOp)
    found = reused(rows_of(func))
    owners = [[x.owner for x in (y.first, *y.others)] for y in found]
    return [[getattr(x, "name", "argument") for x in each] for each in owners]


@pytest.mark.parametrize("name", CASES)
def test_what_is_kept(name: str) -> None:
    one, other, wanted = CASES[name]
    body = zeros("%s1") + statement(one, "%s0", "%s1") + statement(other, "%s0", "%o")
    assert kept(function(body, (3, 5))) == [[x, x] for x in wanted]


def test_values_of_other_rows() -> None:
    """%s1 is another number of the row than %s0."""
    body = zeros("%s1") + statement(HALF.replace("%h", "%y"), "%s0", "%s1")
    body += statement(HALF + line("%y", "arith.mulf", "%h", "%a"), "%s1", "%o")
    assert kept(function(body, (3, 5))) == []


def test_three_readers() -> None:
    body = zeros("%s1") + zeros("%s2")
    body += statement(EXP + line("%y", "arith.mulf", "%e", "%a"), "%s0", "%s1")
    body += statement(EXP + line("%y", "arith.subf", "%e", "%s"), "%s0", "%s2")
    body += statement(EXP + line("%y", "arith.divf", "%e", "%s"), "%s2", "%o")
    assert kept(function(body, (3, 5))) == [["math.exp"] * 3]


def test_a_statement_that_is_computed_again() -> None:
    """What two statements read of one that is not stored is kept as it is."""
    body = "\n  %oe = memref.alloc() : $m" + zeros("%s1")
    body += statement(line("%y", "math.exp", "%a"), "%s0", "%oe")
    body += statement(line("%y", "arith.negf", "%a"), "%s0", "%s1", "%oe")
    body += statement(line("%y", "arith.divf", "%a", "%s"), "%s1", "%o", "%oe")
    assert kept(function(body, (3, 5))) == [["argument"] * 2]


@pytest.mark.parametrize(("rows", "number"), [("#r", 0), ("#c", 1)])
def test_loops_in_another_order(rows: str, number: int) -> None:
    """Columns are not kept for rows; rows whose loops are swapped are the same."""
    store = EXP + line("%y", "arith.mulf", "%e", "%s")
    body = zeros("%s1") + statement(EXP.replace("%e", "%y"), "%s0", "%s1")
    body += statement(store, "%s1", "%o", rows=rows, over="#t")
    assert kept(function(body, (5, 5))) == [["math.exp"] * 2] * number


def test_squares_in_place() -> None:
    """Rows of a square matrix that is written are those that have read it."""
    body = zeros("%s1")
    for out in ("%s1", "%x"):
        text = line("%y", "arith.divf", "%a", "%two")
        body += statement(text, "%s0", out, over="#t")
    x = np.arange(9.0).reshape(3, 3)
    check(function(body, (3, 3), axis=0), [x, np.zeros((3, 3)), np.zeros(3)])


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, list[Argument]]:
    """Sums and stores of a row, whose bodies draw from the same few values."""
    axis, in_place = draw(st.sampled_from([0, 1])), draw(st.booleans())
    steps, count = draw(st.sampled_from([1, 2, 7, 17, 64])), draw(st.integers(1, 5))
    shape = (count, steps) if axis else (steps, count)
    body, stages, before = "", draw(st.integers(1, 3)), "%s0"
    over = "#p" if axis else "#t"
    names = [f"%s{n + 1}" for n in range(stages)]
    for name in names:
        body += zeros(name)
    values = {
        "%q": line("%q", "arith.divf", "%a", "%four"),
        "%h": HALF,
        "%m": HALF + line("%m", "arith.maximumf", "%h", "%a"),
        "%n": line("%n", "arith.negf", "%a"),
    }
    for name in [*names, "%x" if in_place else "%o"]:
        is_last = name in ("%x", "%o")  # which reads what tells rows from columns
        of = before if is_last else draw(st.sampled_from(["%s0", before]))
        drawn = draw(st.lists(st.sampled_from([*values]), min_size=1, max_size=2))
        lines = "".join(values[x] for x in drawn).split("\n")
        text = "\n".join(dict.fromkeys(lines))
        text += line("%y", "arith.addf", drawn[0], drawn[-1])
        body += statement(text, of, name, over=over)
        before = name
    generator = np.random.default_rng(draw(st.integers(0, 99)))
    x, s = (generator.integers(-2, 3, y).astype(np.float64) for y in (shape, count))
    return function(body, shape, axis), [x, np.zeros_like(x), s]


def check(text: str, arguments: Sequence[Argument], lanes: int | None = None) -> None:
    """Compare what a function gives with what its kernel does."""
    ctx, found = new_context(everything()), list[Sequence[Argument]]()
    for convert in (False, True):
        module, copies = parse(ctx, Source(text)), [np.copy(x) for x in arguments]
        if convert:
            ConvertLinalgToSimtPass("amx", lanes).apply(ctx, module)
            module.verify()
        simulate(module, "f", copies)
        found.append(copies)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=60)
@given(programs(), st.sampled_from([None, 4, 16]))
def test_kept_values_are_those(
    case: tuple[str, list[Argument]], lanes: int | None
) -> None:
    check(*case, lanes)


def test_steps_of_other_loops() -> None:
    """What depends on the step alone is another value in a longer loop."""
    step = """
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %k = arith.sitofp %j : i64 to f64
    %q = arith.divf %k, %two : f64"""
    body = ""
    for name, x in (("%s1", "%x"), ("%s2", "%x"), ("%s3", "%w"), ("%s4", "%w")):
        op = "arith.mulf" if name in ("%s1", "%s3") else "arith.addf"
        text = statement(step + line("%y", op, "%a", "%q"), "%s0", name, x)
        body += text if x == "%x" else text.replace("$m", "memref<3x64xf64>")
    args = ", %w: memref<3x64xf64>" + "".join(f", %s{n}: $v" for n in range(1, 5))
    text = function(body, (3, 32), args=args)
    assert kept(text) == [["arith.divf"] * 2] * 2
    rng = np.random.default_rng(0)
    shapes = [(3, 32), (3, 32), (3,), (3, 64), *[(3,)] * 4]
    check(text, [rng.integers(-4, 4, x).astype(np.float64) for x in shapes])


def test_an_input_that_is_not_used() -> None:
    """It is not computed where it is not used, and so not kept from there on."""
    body = "\n  %oe = memref.alloc() : $m" + zeros("%s1") + zeros("%s2")
    body += statement(line("%y", "arith.divf", "%a", "%two"), "%s0", "%oe")
    body += statement(line("%y", "arith.negf", "%s"), "%s0", "%s1", "%oe")
    body += statement(line("%y", "arith.negf", "%a"), "%s1", "%s2", "%oe")
    body += statement(line("%y", "arith.subf", "%a", "%s"), "%s2", "%o", "%oe")
    text = function(body, (3, 32))
    assert kept(text) == [["argument"] * 2]
    rng = np.random.default_rng(0)
    shapes = (3, 32), (3, 32), (3,)
    check(text, [rng.integers(-4, 4, x).astype(np.float64) for x in shapes])


@pytest.mark.parametrize(("axis", "steps"), [(1, 77), (0, 77), (1, 40000), (0, 40000)])
def test_room(axis: int, steps: int) -> None:
    """Long rows are not kept: lanes share one, or each work-item has its own."""
    shape = (2, steps) if axis else (steps, 32)
    over = "#p" if axis else "#t"
    body = zeros("%s1") + statement(EXP.replace("%e", "%y"), "%s0", "%s1", over=over)
    store = EXP + line("%y", "arith.divf", "%e", "%s")
    body += statement(store, "%s1", "%o", over=over)
    module = parse(
        ctx := new_context(everything()), Source(function(body, shape, axis))
    )
    ConvertLinalgToSimtPass("amx").apply(ctx, module)
    memories = [x for x in module.walk() if isinstance(x, memref.AllocaOp)]
    assert len(memories) == (steps == 77)
