"""Laws of the builder: bounded indices are the numbers of Python, at every value."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.index_values import value_of
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import UnknownLoc, VectorType, f32
from xdsl.dialects.memref import AllocaOp
from xdsl.dialects.scf import ForOp, IfOp
from xdsl.dialects.vector import ShuffleOp
from xdsl.ir import Block, SSAValue

from coopc.dialects.narrow import length_of
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values

sizes = st.sampled_from([1, 2, 3, 4, 7, 8, 16, 20])
partly = st.tuples(st.integers(0, 40), st.one_of(st.none(), st.integers(0, 35)))
"""A constant, and the greatest value of a part if there is one."""


class Bench:
    """A builder, numbers to count with, and what they are."""

    def __init__(self) -> None:
        self.block = Block(arg_types=[INDEX, INDEX])
        self.b = Builder.at_end(self.block, UnknownLoc())

    def number(self, at: int, constant: int, most: int | None) -> BoundedIndex:
        """A number of which an argument is the part."""
        if most is None:
            return BoundedIndex(constant)
        return BoundedIndex(constant, self.block.args[at], most)

    def values(self, found: BoundedIndex, x: int, y: int = 0) -> int:
        """What a number is, of what the arguments are."""
        first, second = self.block.args
        known: dict[SSAValue, int] = {first: x, second: y}
        return value_of(self.b.index(found), known)


def check(
    build: Callable[[Builder, BoundedIndex], BoundedIndex],
    expected: Callable[[int], int],
    one: tuple[int, int | None],
) -> None:
    """One number in, one out; `most` is a bound, maybe not met, but never passed."""
    bench = Bench()
    number = bench.number(0, *one)
    found = build(bench.b, number)
    constant, most = one
    for part in range((most or 0) + 1):
        result = bench.values(found, part)
        assert result == expected(constant + part)
        assert result <= found.most
    if found.known is not None:
        assert found.most == found.known


@given(one=partly, by=sizes)
def test_divided(one: tuple[int, int | None], by: int) -> None:
    """Rounded down."""
    check(lambda b, n: b.divided(n, by), lambda n: n // by, one)


@given(one=partly, by=sizes)
def test_remainder(one: tuple[int, int | None], by: int) -> None:
    """That of Python."""
    check(lambda b, n: b.remainder(n, by), lambda n: n % by, one)


@given(one=partly, factor=st.integers(0, 20))
def test_times(one: tuple[int, int | None], factor: int) -> None:
    """0 too."""
    check(lambda b, n: b.times(n, factor), lambda n: n * factor, one)


@given(one=partly, by=sizes)
def test_division_with_remainder(one: tuple[int, int | None], by: int) -> None:
    """n = by (n / by) + n mod by."""

    def again(b: Builder, n: BoundedIndex) -> BoundedIndex:
        return b.add(b.times(b.divided(n, by), by), b.remainder(n, by))

    check(again, lambda n: n, one)


@given(one=partly, other=partly, swapped=st.booleans())
def test_add(
    one: tuple[int, int | None], other: tuple[int, int | None], swapped: bool
) -> None:
    """Both orders; the greatest values add up."""
    bench = Bench()
    x, y = bench.number(0, *one), bench.number(1, *other)
    found = bench.b.add(y, x) if swapped else bench.b.add(x, y)
    assert found.most == x.most + y.most
    for part in range((one[1] or 0) + 1):
        sum_of = one[0] + other[0] + part + (other[1] or 0)
        assert bench.values(found, part, other[1] or 0) == sum_of


@given(one=partly, end=st.integers(0, 60))
def test_comparisons(one: tuple[int, int | None], end: int) -> None:
    """`below` and `equal` are known where they are the same for every value."""
    bench = Bench()
    number = bench.number(0, *one)
    parts = range((one[1] or 0) + 1)
    for found, truth in (
        (bench.b.below(number, end), [one[0] + part < end for part in parts]),
        (bench.b.equal(number, end), [one[0] + part == end for part in parts]),
    ):
        for part, expected in zip(parts, truth, strict=True):
            if isinstance(found, bool):
                assert found == expected
            else:
                known: dict[SSAValue, int] = {bench.block.args[0]: part}
                assert bool(value_of(found, known)) == expected
    if len({one[0] + part < end for part in parts}) == 1:
        assert isinstance(bench.b.below(number, end), bool)


CHEAP: list[tuple[Callable[[Builder, BoundedIndex], BoundedIndex], int]] = [
    (
        lambda b, n: b.divided(b.add(n, BoundedIndex(16)), 16),
        0,
    ),  # 1: the part is below 16
    (lambda b, n: b.remainder(b.add(n, BoundedIndex(32)), 16), 0),  # the part
    (lambda b, n: b.divided(n, 4), 2),  # the number 4, the division
    (lambda b, n: b.times(b.divided(n, 4), 1), 2),
    (lambda b, n: b.times(n, 0), 0),
    (lambda b, n: b.remainder(n, 1), 0),
]


@pytest.mark.parametrize(("build", "operations"), CHEAP)
def test_no_operation_where_none_is_needed(
    build: Callable[[Builder, BoundedIndex], BoundedIndex], operations: int
) -> None:
    """Of a part in [0, 15]."""
    bench = Bench()
    build(bench.b, bench.number(0, 0, 15))
    assert len(bench.block.ops) == operations


def test_the_same_is_computed_once() -> None:
    """Operations on the same operands are one."""
    bench = Bench()
    number = bench.number(0, 3, 40)
    assert bench.b.divided(number, 8) == bench.b.divided(number, 8)
    count = len(bench.block.ops)
    bench.b.remainder(number, 8)
    bench.b.remainder(number, 8)
    assert len(bench.block.ops) == count + 1


def test_a_block_shares_what_it_can() -> None:
    """Not effects, nor what stands in another block: `normalize` sees to that."""
    bench = Bench()
    b, x = bench.b, bench.block.args[0]
    b.pure(arith.AddiOp, x, x)
    b.effect(arith.AddiOp(x, x))
    b.loop(2, (), lambda t, _: (b.effect_where(b.both(), lambda: keep(b, x)), ())[1])
    names = [op.name for op in bench.block.ops]
    assert names.count("arith.addi") == 2
    (loop,) = (op for op in bench.block.ops if isinstance(op, ForOp))
    assert [op.name for op in loop.body.block.ops].count("arith.addi") == 1


def keep(b: Builder, x: SSAValue) -> test.TestOp:
    """An operation on a sum that is built where it is."""
    return test.TestOp([b.pure(arith.AddiOp, x, x)])


CONSTANTS = (0.0, -0.0, float("nan"), float("inf"))


def test_constants_differ_by_their_bits() -> None:
    """Zeros have a sign, and a NaN is itself."""
    b = Bench().b
    values = [b.constant(f32, x) for x in CONSTANTS]
    assert len(set(values)) == len(CONSTANTS)
    assert values == [b.constant(f32, x) for x in CONSTANTS]
    vector = VectorType(f32, [4])
    assert b.constant(vector, 0.0) != b.constant(vector, -0.0)


def test_sums_are_out_of_loops_first() -> None:
    """%x + (%t + %y) would be in the loop; %x + %y, and then + %t, is not."""
    bench = Bench()
    b = bench.b
    x, y = (BoundedIndex(0, arg, 7) for arg in bench.block.args)
    found: list[SSAValue] = []

    def body(t: BoundedIndex, _: Values) -> Values:
        moved = b.add(t, b.add(x, y))
        assert moved.part is not None
        owner = moved.part.owner
        assert isinstance(owner, arith.AddiOp)
        found.extend((owner.lhs, owner.rhs))
        return ()

    b.loop(4, (), body)
    assert [b.depth(value) for value in found] == [0, 1]


@given(st.data())
def test_gathered(data: st.DataObject) -> None:
    """What is asked for is in its place, whatever the lengths of the vectors."""
    lengths = data.draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=5))
    is_even = data.draw(st.booleans())
    types = [VectorType(f32, [lengths[0] if is_even else n]) for n in lengths]
    block = Block(arg_types=types)
    known = dict[SSAValue, list[tuple[SSAValue, int]]]()
    for x in block.args:
        known[x] = [(x, n) for n in range(length_of(x))]
    everything = [each for parts in known.values() for each in parts]
    wanted = data.draw(
        st.lists(st.one_of(st.none(), st.sampled_from(everything)), max_size=8)
    )
    found = Builder.at_end(block, UnknownLoc()).gathered(wanted, 8, block.args[0])
    for op in block.ops:
        assert isinstance(op, ShuffleOp), op
        both = [*known[op.v1], *known[op.v2]]
        known[op.result] = [both[n] for n in op.mask.get_values()]
    assert len(known[found]) == 8
    pairs = zip(wanted, known[found], strict=False)
    assert all(want in (None, got) for want, got in pairs)
    used = {each[0] for each in wanted if each is not None}
    if is_even and lengths[0] == 8:
        assert len(list(block.ops)) <= max(1, len(used) - 1)


def test_branches() -> None:
    """Of conditions that are known, one side is built; a branch yields both."""
    bench = Bench()
    b, x = bench.b, bench.block.args[0]
    one = b.constant(INDEX, 1)
    assert b.branch(True, lambda: (x,), (one,)) == (x,)
    assert b.branch(False, lambda: (x,), (one,)) == (one,)
    (result,) = b.branch(b.compare("eq", x, one), lambda: (x,), (one,))
    assert isinstance(result.owner, IfOp)
    result.owner.verify()


def test_after() -> None:
    """Code on an argument is behind what the function allocates."""
    block = Block(arg_types=[INDEX])
    memory = AllocaOp.get(f32, 64, [4])
    end = test.TestOp([])
    block.add_ops((memory, end))
    Builder.after(block.args[0], UnknownLoc()).effect(test.TestOp([memory.memref]))
    Builder.after(memory.memref, UnknownLoc()).effect(test.TestOp([]))
    assert block.first_op is memory
    assert block.last_op is end
    assert len(block.ops) == 4
