"""Effects of operations of `arith`, `memref` and `vector` that xDSL 0.74 has wrong.

| operations                | xDSL          | here                                   |
|---------------------------|---------------|----------------------------------------|
| extsi, bitcast, masks, .. | unknown       | none: dead ones go, equal ones merge   |
| vector.load and its kin   | unknown       | read                                   |
| vector.shuffle, views     | never moved   | moved                                  |
| memref.dim                | never moved   | moved if the dimension is known        |
| memref.load               | read          | and write, if volatile, acquire, ...   |
| divisions and remainders  | moved, or not | moved if the divisor never traps       |

Division by 0 traps, and so does -2^n / -1: what a condition or an empty loop guards
must not run before it.  So a division is speculatable only where its divisor is a
constant other than 0, and other than -1 if it has signs.

Importing this module changes traits of xDSL's classes in place, since whoever has to do
with an operation finds it by its class.
"""

from collections.abc import Set as AbstractSet

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.traits import (
    ConditionallySpeculatable,
    EffectInstance,
    MemoryEffect,
    MemoryReadEffect,
    NoMemoryEffect,
    OpTrait,
    Pure,
)

from coopc.dialects.narrow import is_memref
from coopc.dialects.simt import ORDERING, VOLATILE
from coopc.dialects.traits import ReadsAndWrites

RELAXED = StringAttr("relaxed")

Arith = arith.Arith
MemRef = memref.MemRef
Vector = vector.Vector


def numbers_of(value: SSAValue) -> tuple[int, ...] | None:
    """Return the integers of a constant, each once for a vector; None for others."""
    if not isinstance(op := value.owner, arith.ConstantOp):
        return None
    match op.value:
        case IntegerAttr(value=number):
            return (number.data,)
        case DenseIntOrFPElementsAttr() as dense if dense.is_splat():
            return (int(next(dense.iter_values())),)  # pyright: ignore
        case DenseIntOrFPElementsAttr() as dense:
            return tuple(int(x) for x in dense.iter_values())  # pyright: ignore
        case _:
            return None


class NeverTraps(ConditionallySpeculatable):
    """A division or remainder, by what is known."""

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        divisors = numbers_of(op.operands[1])
        traps = (0, -1) if isinstance(op, SIGNED_DIVISIONS) else (0,)
        return divisors is not None and not any(x in traps for x in divisors)


class ReadsOrStays(MemoryEffect):
    """`memref.load`, which is never removed if it is volatile or orders other accesses.

    A relaxed atomic load orders nothing: it goes when its result is unused.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        ordering = op.attributes.get(ORDERING, RELAXED)
        stays = VOLATILE in op.attributes or ordering != RELAXED
        return (ReadsAndWrites if stays else MemoryReadEffect).get_effects(op)


class HasDimension(ConditionallySpeculatable):
    """`memref.dim`, of a dimension that is known."""

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        assert isinstance(op, memref.DimOp), op
        numbers, type = numbers_of(op.index), op.source.type
        if numbers is None or not is_memref(type):
            return False
        return all(0 <= x < type.get_num_dims() for x in numbers)


def set_effects(op: type[IRDLOperation], *effects: OpTrait) -> None:
    """Give an operation the effects it has, in place of those that xDSL says."""
    kept = [
        each
        for each in op.traits
        if not isinstance(each, MemoryEffect | ConditionallySpeculatable)
    ]
    traits = frozenset((*kept, *effects))
    op.traits._traits = traits  # pyright: ignore[reportPrivateUsage]


PURE: tuple[type[IRDLOperation], ...] = (
    arith.ExtSIOp,
    memref.ExtractStridedMetaDataOp,
    memref.GetGlobalOp,
    memref.ReinterpretCastOp,
    vector.BitcastOp,
    vector.CreateMaskOp,
    vector.ReductionOp,
    vector.ShuffleOp,
)
READING: tuple[type[IRDLOperation], ...] = (
    vector.LoadOp,
    vector.MaskedLoadOp,
    vector.TransferReadOp,
)
SIGNED_DIVISIONS = (arith.CeilDivSIOp, arith.FloorDivSIOp, arith.RemSIOp)
MENDED_DIVISIONS = (*SIGNED_DIVISIONS, arith.CeilDivUIOp, arith.RemUIOp)
"""Those that xDSL has wrong: `divsi` and `divui` are right."""
DIVISIONS = (*MENDED_DIVISIONS, arith.DivSIOp, arith.DivUIOp)
"""Divisions and remainders of integers, which are undefined for some divisors."""

for pure in PURE:
    set_effects(pure, Pure())
for reading in READING:
    set_effects(reading, MemoryReadEffect())
for division in MENDED_DIVISIONS:
    set_effects(division, NoMemoryEffect(), NeverTraps())
set_effects(memref.LoadOp, ReadsOrStays())
set_effects(memref.DimOp, NoMemoryEffect(), HasDimension())
