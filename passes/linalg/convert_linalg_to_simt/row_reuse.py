"""Common subexpressions of the statements of a row that are cheaper to load.

    %s = sum over d1 of exp(x[d0, d1] - %m)
    out[d0, d1] = exp(x[d0, d1] - %m) / %s

Elementwise operations are computed where they are read, so a softmax computes `exp`
twice for each element.  If those of a row have room in work-group memory, the kernel
stores them the first time, and loads them after that.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from coopc.passes.linalg.rows import Index, Made, Nest, Statement, substituted

CHEAP = frozenset(
    f"math.{name}"
    for name in (
        *("absf", "absi", "copysign", "fma", "ctlz", "cttz", "ctpop"),
        *("ceil", "floor", "round", "roundeven", "trunc"),
    )
)
"""Functions that take a few instructions."""


@dataclass(frozen=True, slots=True)
class Reuse:
    """A value that is stored for a row: an element for each step of a loop."""

    first: SSAValue
    """In the body of the statement that computes it."""
    others: tuple[SSAValue, ...]
    """The same in the bodies of statements that follow."""
    size: int
    """Steps of the loop that is not shared, the same in all of these statements."""

    @property
    def element(self) -> FixedBitwidthType:
        found = self.first.type
        assert isinstance(found, FixedBitwidthType), found
        return found

    @property
    def bytes(self) -> int:
        return -(-self.element.bitwidth // 8) * self.size


Key: TypeAlias = tuple[int, int]
"""The number of a value, and the size of the loop that it is computed in."""


def reused(nest: Nest) -> list[Reuse]:
    """Return the maximal common costly subexpressions of the statements of a row.

    Some user of a maximal one is not common itself.
    """
    terms, found = Terms(nest), dict[Key, list[SSAValue]]()
    earlier = dict[Key, SSAValue]()
    for statement in nest.loops:
        own = nest.own(statement)
        size = nest.size(statement, own[0]) if len(own) == 1 else None
        if not size:
            continue
        numbers = terms.of(statement).items()
        keys = {x: (n, size) for x, n in numbers if _may_be_stored(x)}
        same = {x for x, key in keys.items() if key in earlier}
        for value in (x for x in keys if x in same):
            users = [use.operation.results for use in value.uses]
            is_maximal = not all(x and x[0] in same for x in users)
            if is_maximal and terms.known[keys[value][0]].costly:
                first = earlier[keys[value]]
                found.setdefault(keys[value], [first]).append(value)
        for value, key in keys.items():
            earlier.setdefault(key, value)
    return [Reuse(first, tuple(x), size) for (_, size), (first, *x) in found.items()]


@dataclass(frozen=True, slots=True)
class Term:
    """What is known of a value."""

    varies: bool
    """Whether it may differ from step to step of a row."""
    costly: bool
    """Whether it takes longer to compute than to load, in each step; then it varies."""


@dataclass(slots=True)
class Terms:
    """Numbers of values: equal ones have the same."""

    nest: Nest
    known: list[Term] = field(default_factory=list[Term])
    _numbers: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def of(self, statement: Statement) -> dict[SSAValue, int]:
        """Return the numbers of values in a body."""
        found = dict(self._arguments(statement))
        point = self.nest.point(statement)
        for op in statement.block.ops:
            if isinstance(op, linalg.IndexOp):
                at = (point[op.dim.value.data],)
                found[op.result] = self._number(("index", at), self._varies(at))
            elif len(op.results) == 1:
                found[op.results[0]] = self._operation(op, found)
        return found

    def _arguments(self, statement: Statement) -> Iterator[tuple[SSAValue, int]]:
        point = self.nest.point(statement)
        for number, argument in enumerate(statement.block.args):
            source = statement.sources[number]
            index = substituted(statement.maps[number], point)
            key, varies, costly = (source, index), self._varies(index), False
            if argument.first_use is None:
                continue
            if statement.reduces and number >= statement.inputs:
                key, varies = argument, True  # what is reduced so far
            elif isinstance(source, Made):
                if source.by in self.nest.loops and self.nest.is_kept(source.by):
                    key, varies = source, False
                else:
                    costly = varies and any(map(is_costly, source.by.block.ops))
            yield argument, self._number(key, varies, costly)

    def _varies(self, index: Index) -> bool:
        """Whether an index depends on loops that are not shared."""
        used = {n for x in index for n in x.used_dims()}
        return any(n >= len(self.nest.shared) for n in used)

    def _operation(self, op: Operation, values: dict[SSAValue, int]) -> int:
        if not is_side_effect_free(op) or op.regions:
            return self._number(op, True)
        key = (
            *(op.name, tuple(op.properties.items()), tuple(op.attributes.items())),
            tuple(values.get(x, x) for x in op.operands),
            op.results[0].type,
        )
        inner = [self.known[values[x]] for x in op.operands if x in values]
        varies = any(x.varies for x in inner)
        costly = any(x.costly for x in inner) or (varies and is_costly(op))
        return self._number(key, varies, costly)

    def _number(self, key: Hashable, varies: bool, costly: bool = False) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.known)
            self.known.append(Term(varies, costly))
        return self._numbers[key]


def is_costly(op: Operation) -> bool:
    """Whether an operation takes longer than a load and a store."""
    is_function = op.dialect_name() == "math" and op.name not in CHEAP
    return is_function or isinstance(op, arith.DivfOp)


def _may_be_stored(value: SSAValue) -> bool:
    return isinstance(value.type, FixedBitwidthType) and value.type.bitwidth >= 8
