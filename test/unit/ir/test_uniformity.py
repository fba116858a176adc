"""What varies between lanes and subgroups, as far as it can be known."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.compiler import new_context
from coopc.dialects import simt
from coopc.ir.control_flow import defined_by
from coopc.ir.uniformity import Uniformity, Variation
from coopc.parsing import parse
from coopc.source import Source
from coopc.universe import everything


def variations(
    body: str, attributes: str = "simt.kernel", masked: bool = False
) -> dict[str, Variation]:
    """The variation of each named value of a kernel."""
    text = (
        "func.func @f(%m : memref<?xindex>, %n : index) "
        f"attributes {{{attributes}}} {{\n%zero = arith.constant 0 : index\n"
        f"{body}\nfunc.return\n}}"
    )
    module = parse(new_context(everything()), Source(text))
    found = Uniformity(module, masked)
    return {
        value.name_hint: found.of(value)
        for op in module.walk()
        for value in defined_by(op)
        if value.name_hint is not None
    }


SIZES = st.tuples(*[st.sampled_from([1, 2, 3, 4, 8])] * 3)


@given(SIZES, st.integers(0, 2), st.integers(1, 9), st.sampled_from([1, 2, 4, 8]))
def test_local_id(
    sizes: tuple[int, int, int], dimension: int, divisor: int, lanes: int
) -> None:
    """Divided local ids, against all work-items of a work-group."""
    items = prod(sizes)
    if items % lanes:
        return
    x, y, z = sizes
    body = (
        f"%d = arith.constant {divisor} : index\n"
        f"%i = simt.local_id {list(simt.Dimension)[dimension]} : index\n"
        "%q = arith.divui %i, %d : index"
    )
    kernel = (
        f"simt.kernel, simt.work_group_size = array<i32: {x}, {y}, {z}>, "
        f"simt.subgroup_size = {lanes} : i32"
    )
    values = [
        (item // prod(sizes[:dimension])) % sizes[dimension] // divisor
        for item in range(items)
    ]
    subgroups = [set(values[n : n + lanes]) for n in range(0, items, lanes)]
    pairs = [set(values[n : n + 2 * lanes]) for n in range(0, items, 2 * lanes)]
    if len(set(values)) == 1:
        expected = Variation.NONE
    elif all(len(pair) == 1 for pair in pairs):
        expected = Variation.PAIRS
    elif all(len(subgroup) == 1 for subgroup in subgroups):
        expected = Variation.SUBGROUPS
    else:
        expected = Variation.LANES
    # Sound; and exact, but where a divisor does not divide the size.
    found = variations(body, kernel)["q"]
    assert found >= expected
    if sizes[dimension] % divisor == 0 or sizes[dimension] <= divisor:
        assert found == expected


def of_subgroup_id(
    operation: str, number: int, expected: Variation
) -> tuple[str, Variation]:
    """An operation of arith on the number of the subgroup and a constant."""
    return (
        f"%c = arith.constant {number} : index\n%s = simt.subgroup_id : index\n"
        f"%v = arith.{operation} %s, %c : index",
        expected,
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%v = simt.workgroup_id x : index", Variation.NONE),
        ("%v = simt.num_subgroups : index", Variation.NONE),
        ("%v = simt.subgroup_id : index", Variation.SUBGROUPS),
        *(
            of_subgroup_id(*each)
            for each in (
                ("divui", 2, Variation.PAIRS),
                ("divsi", 6, Variation.PAIRS),
                ("divui", 3, Variation.SUBGROUPS),
                ("shrui", 1, Variation.PAIRS),
                ("shrsi", 2, Variation.PAIRS),
                ("shrui", 0, Variation.SUBGROUPS),
                ("andi", 14, Variation.PAIRS),
                ("andi", 3, Variation.SUBGROUPS),
                ("remui", 2, Variation.SUBGROUPS),
            )
        ),
        (
            "%c = arith.constant 2 : i32\n%s = simt.subgroup_id : index\n"
            "%t = arith.index_cast %s : index to i32\n"
            "%w = arith.shrui %t, %c : i32\n%v = arith.index_cast %w : i32 to index",
            Variation.PAIRS,
        ),
        *(
            of_subgroup_id(f"cmpi {predicate},", number, expected)
            for predicate, number, expected in (
                ("ult", 2, Variation.PAIRS),
                ("sge", 4, Variation.PAIRS),
                ("ule", 1, Variation.PAIRS),
                ("sgt", 3, Variation.PAIRS),
                ("ult", 3, Variation.SUBGROUPS),
                ("sge", 1, Variation.SUBGROUPS),
                ("ule", 2, Variation.SUBGROUPS),
                ("ugt", 2, Variation.SUBGROUPS),
                ("eq", 2, Variation.SUBGROUPS),
            )
        ),
        ("%v = simt.lane_id : index", Variation.LANES),
        ("%v = simt.local_id x : index", Variation.LANES),
        ("%v = arith.addi %n, %n : index", Variation.NONE),
        ("%l = simt.lane_id : index\n%v = arith.addi %n, %l : index", Variation.LANES),
        (
            "%l = simt.lane_id : index\n%v = simt.broadcast %l, %zero : index",
            Variation.SUBGROUPS,
        ),
        ("%v = simt.shuffle xor %n, %n : index", Variation.LANES),
        ("%v = memref.load %m[%n] : memref<?xindex>", Variation.NONE),
        (
            "%p = memref.alloca() : memref<4xindex>\n"
            "%v = memref.load %p[%zero] : memref<4xindex>",
            Variation.LANES,
        ),
        (
            "%p = memref.alloca() : memref<4xindex, #simt.memory<workgroup>>\n"
            "%v = memref.load %p[%zero] : memref<4xindex, #simt.memory<workgroup>>",
            Variation.NONE,
        ),
        (
            "%s = simt.subgroup_id : index\n"
            "%c = arith.cmpi eq, %s, %zero : index\n"
            "%v = scf.if %c -> (index) {\nscf.yield %n : index\n} else {\n"
            "scf.yield %zero : index\n}",
            Variation.SUBGROUPS,
        ),
        (
            # The second time round, the value is the lane's.
            "%l = simt.lane_id : index\n"
            "%v, %w = scf.for %i = %zero to %n step %n iter_args(%a = %n, %b = %n) "
            "-> (index, index) {\nscf.yield %b, %l : index, index\n}",
            Variation.LANES,
        ),
        (
            "%l = simt.lane_id : index\n"
            "%v = scf.for %i = %zero to %l step %n iter_args(%a = %n) -> (index) {\n"
            "scf.yield %a : index\n}",
            Variation.LANES,
        ),
    ],
)
def test_variation(body: str, expected: Variation) -> None:
    assert variations(body)["v"] == expected


def test_branches() -> None:
    text = """
    func.func @f(%n : index) attributes {simt.kernel} {
      %lane = simt.lane_id : index
      %c = arith.cmpi eq, %lane, %n : index
      cf.cond_br %c, ^a(%n : index), ^b(%n : index)
    ^a(%x : index):
      cf.br ^b(%x : index)
    ^b(%y : index):
      simt.barrier subgroup
      func.return
    }
    """
    module = parse(new_context(everything()), Source(text))
    found = Uniformity(module)
    (barrier,) = (op for op in module.walk() if isinstance(op, simt.BarrierOp))
    assert found.around(barrier) == Variation.LANES
    assert barrier.parent is not None
    assert found.of(*barrier.parent.args) == Variation.LANES


@pytest.mark.parametrize("end", ["n", "lane"])
@pytest.mark.parametrize("masked", [False, True])
def test_carried_under_masks(end: str, masked: bool) -> None:
    """Lanes that have left a loop keep what it carries while others go on."""
    found = variations(
        f"""%one = arith.constant 1 : index
        %lane = simt.lane_id : index
        %r = scf.for %i = %zero to %{end} step %one iter_args(%x = %zero) -> (index) {{
          %y = arith.addi %x, %one : index
          scf.yield %y : index
        }}
        %s = scf.while (%u = %zero) : (index) -> index {{
          %c = arith.cmpi slt, %u, %{end} : index
          scf.condition(%c) %u : index
        }} do {{
        ^bb0(%v: index):
          %w = arith.addi %v, %one : index
          scf.yield %w : index
        }}""",
        masked=masked,
    )
    lanes = end == "lane"
    assert {name for name in "rsi" if found[name] is Variation.LANES} == (
        set("rsi") if lanes else set()
    )
    carried = {name for name in "xyuvw" if found[name] is Variation.LANES}
    assert carried == (set("xyuvw") if lanes and masked else set())
