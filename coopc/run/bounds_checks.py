"""Checks of every access to memory, in functions that one work-item runs.

    %x = memref.load %m[%i] : memref<?xf32>

gets a call before it, of a function that is added to the module:

    func.call @coopc.check_bounds(%number, %i, %c1, %size)

which calls `@coopc.out_of_bounds` with the same arguments, a function of whoever runs
the code, where not all of `[%i, %i + %c1)` is in `[0, %size)`.  The number is that of
the access and its dimension.  A masked access is of the elements from the first active
one to the last; none, if the count is not positive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    VectorType,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from coopc.dialects import amx
from coopc.dialects.amx import tile_type

CHECK = "coopc.check_bounds"
OUT_OF_BOUNDS = "coopc.out_of_bounds"
INDEX = IndexType()
FOUR = (INDEX,) * 4
"""What both functions take: a number, the first index, how many, and a size."""
Extent: TypeAlias = tuple[SSAValue, SSAValue]
"""The first index along a dimension, and how many there are."""


class CheckedAccess(NamedTuple):
    """An access along one dimension of a memref."""

    op: Operation
    dimension: int
    memory: SSAValue


def add_bounds_checks(module: ModuleOp) -> list[CheckedAccess]:
    """Check every access of a module; return what the numbers of checks stand for."""
    checks = _Checks()
    for op in list(module.walk()):
        match op:
            case memref.LoadOp() | memref.StoreOp() | memref.AtomicRMWOp():
                checks.add(op, op.memref, op.indices)
            case vector.LoadOp():
                checks.add(op, op.base, op.indices, _shape(op.result))
            case vector.StoreOp():
                checks.add(op, op.base, op.indices, _shape(op.vector))
            case vector.MaskedLoadOp() | vector.MaskedStoreOp():
                checks.add(op, op.base, op.indices, mask=op.mask)
            case amx.TileLoadOp():
                shape = tile_type(op.result).shape
                checks.add(op, op.base, op.indices, _in_rows(op, shape))
            case amx.TileStoreOp():
                shape = tile_type(op.val).shape
                checks.add(op, op.base, op.indices, _in_rows(op, shape))
            case _:
                pass
    declared = FuncOp.external(OUT_OF_BOUNDS, FOUR, ())
    for function in (declared, _check_function()):
        Rewriter.insert_op(function, InsertPoint.at_end(module.body.block))
    return checks.found


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isa(value.type, VectorType), value
    return value.type.get_shape()


def _in_rows(
    op: amx.TileLoadOp | amx.TileStoreOp, shape: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape of a tile as far as it is along dimensions of its memref."""
    return shape if op.stride is None else shape[-1:]


@dataclass
class _Checks:
    """The checks of a module."""

    found: list[CheckedAccess] = field(default_factory=list[CheckedAccess])

    def add(
        self,
        op: Operation,
        memory: SSAValue,
        indices: Sequence[SSAValue],
        shape: Sequence[int] = (),
        mask: SSAValue | None = None,
    ) -> None:
        """Check an access of a shape along its last dimensions, or under a mask."""
        block = Block()
        with ImplicitBuilder(block):
            counts = [1] * (len(indices) - len(shape)) + list(shape)
            extents = [
                (index, _constant(count))
                for index, count in zip(indices, counts, strict=True)
            ]
            if mask is not None:
                extents = list(_active(extents, mask))
            for dimension, (first, count) in enumerate(extents):
                number = _constant(len(self.found))
                size = _size(memory, dimension)
                CallOp(CHECK, (number, first, count, size), ())
                self.found.append(CheckedAccess(op, dimension, memory))
        for made in list(block.ops):
            made.detach()
            made.location = op.location
            Rewriter.insert_op(made, InsertPoint.before(op))


def _constant(value: int) -> SSAValue:
    return arith.ConstantOp(IntegerAttr(value, INDEX)).result


def _size(memory: SSAValue, dimension: int) -> SSAValue:
    assert isa(memory.type, MemRefType), memory
    size = memory.type.get_shape()[dimension]
    if size != DYNAMIC_INDEX:
        return _constant(size)
    return memref.DimOp(memory, _constant(dimension)).result


def _active(extents: Sequence[Extent], mask: SSAValue) -> Iterator[Extent]:
    """What a mask leaves of consecutive elements along the last dimension."""
    (lanes,) = _shape(mask)
    type = VectorType(INDEX, [lanes])

    def reduced(inactive: int, kind: vector.CombiningKindFlag) -> SSAValue:
        numbers, other = (
            arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, values)).result
            for values in (list(range(lanes)), [inactive])
        )
        chosen = arith.SelectOp(mask, numbers, other).result
        return vector.ReductionOp.build(
            operands=[chosen, None],
            result_types=[INDEX],
            properties={"kind": vector.CombiningKindAttr(kind)},
        ).dest

    least = reduced(lanes, vector.CombiningKindFlag.MINSI)
    most = reduced(-1, vector.CombiningKindFlag.MAXSI)
    count = arith.AddiOp(arith.SubiOp(most, least), _constant(1)).result
    some = arith.MinSIOp(count, _constant(1)).result
    *leading, (last, _) = extents
    yield from ((first, some) for first, _ in leading)
    yield arith.AddiOp(last, least).result, count


def _check_function() -> FuncOp:
    """The function that checks some indices."""
    body = Block(arg_types=FOUR)
    number, first, count, size = body.args
    with ImplicitBuilder(body):
        zero = _constant(0)
        last = arith.AddiOp(first, count).result
        below = arith.CmpiOp(first, zero, "slt").result
        beyond = arith.CmpiOp(last, size, "sgt").result
        some = arith.CmpiOp(count, zero, "sgt").result
        outside = arith.OrIOp(below, beyond).result
        wrong = arith.AndIOp(outside, some).result
        then = Block()
        with ImplicitBuilder(then):
            CallOp(OUT_OF_BOUNDS, (number, first, count, size), ())
            scf.YieldOp()
        scf.IfOp(wrong, (), Region(then))
        ReturnOp()
    return FuncOp(CHECK, FunctionType.from_lists(FOUR, ()), Region(body), "private")
