"""Values that a kernel computes once: constants, ids, and what is made of them.

What does not change in a loop is computed outside of it: a constant or an id at the
entry of the kernel, a sum with an index where the index is defined.  Intel's compiler
then keeps the address of a stream of 2D blocks in a register, and writes only what
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from xdsl.dialects.arith import (
    AddiOp,
    ConstantOp,
    IndexCastOp,
    MuliOp,
    ShRSIOp,
)
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt
from coopc.dialects.narrow import is_integer
from coopc.ir.facts import constant_number

Make = Callable[[], Operation]


@dataclass(slots=True)
class Entry:
    """The entry block of a kernel, and what has been put there."""

    block: Block
    last: Operation | None = None
    """The operation that was put at the entry last."""
    made: dict[Hashable, SSAValue] = field(default_factory=dict[Hashable, SSAValue])
    own: set[Operation] = field(default_factory=set[Operation])

    def once(self, key: Hashable, make: Make, name: str | None = None) -> SSAValue:
        """Return the value of an operation at the entry, made the first time."""
        if (found := self.made.get(key)) is None:
            found = self.made[key] = self._place(make(), name)
        return found

    def after(self, value: SSAValue, key: Hashable, make: Make) -> SSAValue:
        """Return what is made of a value and of what is at the entry, made once."""
        if (found := self.made.get((value, key))) is not None:
            return found
        owner = value.owner
        if owner is self.block or owner in self.own:
            found = self._place(make(), None)
        else:
            new = make()
            here = InsertPoint.at_start(owner) if isinstance(owner, Block) else None
            Rewriter.insert_op(new, here or InsertPoint.after(owner))  # pyright: ignore[reportArgumentType]
            found = new.results[0]
        if found.name_hint is None:
            found.name_hint = value.name_hint
        self.made[value, key] = found
        return found

    def _place(self, op: Operation, name: str | None) -> SSAValue:
        """Put an operation at the entry, behind the others."""
        at_start = InsertPoint.at_start(self.block)
        Rewriter.insert_op(
            op, at_start if self.last is None else InsertPoint.after(self.last)
        )
        self.last = op
        self.own.add(op)
        if name is not None:
            op.results[0].name_hint = name
        return op.results[0]

    def number(self, value: int, type: Attribute = i32) -> SSAValue:
        """Return an integer constant."""
        assert isinstance(type, IndexType) or is_integer(type), type
        name = f"c{value}" if value >= 0 else f"cm{-value}"
        return self.once(
            ("number", value, type),
            lambda: ConstantOp(IntegerAttr(value, type)),
            name,
        )

    def numbers(self, values: tuple[int, ...], type: Attribute = i32) -> SSAValue:
        """Return a constant vector of integers."""
        assert is_integer(type), type
        vector = VectorType(type, [len(values)])
        dense = DenseIntOrFPElementsAttr.from_list(vector, list(values))
        return self.once(("numbers", values, type), lambda: ConstantOp(dense))

    def subgroup(self) -> SSAValue:
        """Return the number of the subgroup in its work-group, as i32."""
        return self._id(simt.SubgroupIdOp, "subgroup")

    def lane(self) -> SSAValue:
        """Return the number of the lane in its subgroup, as i32."""
        return self._id(simt.LaneIdOp, "lane")

    def _id(self, op: type[simt.SubgroupIdOp | simt.LaneIdOp], name: str) -> SSAValue:
        index = self.once(op, op)
        return self.once((op, i32), lambda: IndexCastOp(index, i32), name)

    def plus(self, value: SSAValue, number: int) -> SSAValue:
        """Return an i32 and a number."""
        if number == 0:
            return value
        if (known := constant_number(value)) is not None:
            return self.number(known + number)
        other = self.number(number)
        return self.after(value, ("+", number), lambda: AddiOp(value, other))

    def sum(self, value: SSAValue, other: SSAValue | None) -> SSAValue:
        """Return an i32 and another one, which is at the entry; None is nothing."""
        if other is None:
            return value
        if constant_number(value) == 0:
            return other
        return self.after(value, ("+", other), lambda: AddiOp(value, other))

    def times(self, value: SSAValue, number: int) -> SSAValue:
        """Return an i32 times a number."""
        if number == 1:
            return value
        if (known := constant_number(value)) is not None:
            return self.number(known * number)
        other = self.number(number)
        return self.after(value, ("*", number), lambda: MuliOp(value, other))

    def divided(self, value: SSAValue, bits: int) -> SSAValue:
        """Return an i32, a multiple of a power of two, divided by that."""
        if bits == 0:
            return value
        if (known := constant_number(value)) is not None:
            return self.number(known >> bits)
        other = self.number(bits)
        return self.after(value, ("/", bits), lambda: ShRSIOp(value, other))
