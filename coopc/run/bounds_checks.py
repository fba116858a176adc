"""Checks of every access to memory, in functions that one work-item runs.

    %x = memref.load %m[%i] : memref<?xf32>

gets a call before it, of a function that is added to the module:

    func.call @coopc.check_bounds(%number, %i, %c1, %size)

which calls `@coopc.out_of_bounds` with the same arguments, a function of whoever runs
the code, where not all of `[%i, %i + %c1)` is in `[0, %size)`.  The number is that of
the access and its dimension.  A masked access is of the elements from the first active
one to the last; none, if the count is not positive.  An access to a part of a memref is
checked in the part and in the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Builtin,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerType,
    ModuleOp,
    VectorType,
)
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from coopc.dialects import amx, simt
from coopc.dialects.amx import tile_type
from coopc.dialects.narrow import is_memref, kept_dimensions, memref_type
from coopc.emit.view import mixed
from coopc.ir.builder import INDEX, Builder

CHECK = "coopc.check_bounds"
Extent: TypeAlias = tuple[SSAValue, SSAValue]
"""The first index along a dimension, and how many."""
FUNCTIONS = """
func.func private @coopc.out_of_bounds(index, index, index, index)

func.func private @coopc.check_bounds(
    %number: index, %first: index, %count: index, %size: index) {
  %zero = arith.constant 0 : index
  %end = arith.addi %first, %count : index
  %below = arith.cmpi slt, %first, %zero : index
  %beyond = arith.cmpi sgt, %end, %size : index
  %some = arith.cmpi sgt, %count, %zero : index
  %outside = arith.ori %below, %beyond : i1
  %wrong = arith.andi %outside, %some : i1
  scf.if %wrong {
    func.call @coopc.out_of_bounds(%number, %first, %count, %size)
      : (index, index, index, index) -> ()
  }
  func.return
}
"""
"""Both take a number, the first index, how many, and a size."""


class CheckedAccess(NamedTuple):
    """An access along one dimension of a memref."""

    op: Operation
    dimension: int
    memory: SSAValue


def add_bounds_checks(module: ModuleOp) -> list[CheckedAccess]:
    """Check every access of a module; return what the numbers of checks stand for."""
    found: list[CheckedAccess] = []
    for op in list(module.walk()):
        match op:
            case (
                memref.LoadOp()
                | memref.StoreOp()
                | memref.AtomicRMWOp()
                | simt.CompareExchangeOp()
            ):
                _check(found, op, op.memref, op.indices)
            case vector.LoadOp():
                _check(found, op, op.base, op.indices, _shape(op.result))
            case vector.StoreOp():
                _check(found, op, op.base, op.indices, _shape(op.vector))
            case vector.MaskedLoadOp() | vector.MaskedStoreOp():
                _check(found, op, op.base, op.indices, mask=op.mask)
            case amx.TileLoadOp() | amx.TileStoreOp():
                tile = op.result if isinstance(op, amx.TileLoadOp) else op.val
                shape = tile_type(tile).shape
                # With a stride, its rows are along no dimension of the memref.
                shape = shape if op.stride is None else shape[-1:]
                _check(found, op, op.base, op.indices, shape)
            case _:
                pass
    context = Context()
    for dialect in (Builtin, func.Func, arith.Arith, scf.Scf):
        context.load_dialect(dialect)
    for function in list(Parser(context, FUNCTIONS).parse_module().ops):
        function.detach()
        Rewriter.insert_op(function, InsertPoint.at_end(module.body.block))
    return found


def _shape(value: SSAValue) -> tuple[int, ...]:
    assert isa(value.type, VectorType), value
    return value.type.get_shape()


def _check(
    found: list[CheckedAccess],
    op: Operation,
    memory: SSAValue,
    indices: Sequence[SSAValue],
    shape: Sequence[int] = (),
    mask: SSAValue | None = None,
) -> None:
    """Check an access of a shape along its last dimensions, or under a mask."""
    at = Builder.at(op)
    counts = [1] * (len(indices) - len(shape)) + list(shape)
    extents = [
        (index, at.constant(INDEX, count))
        for index, count in zip(indices, counts, strict=True)
    ]
    some = at.constant(INDEX, 1)
    if mask is not None:
        least, count = _active(at, mask)
        some = at.pure(arith.MinSIOp, count, some)
        last = at.pure(arith.AddiOp, extents[-1][0], least)
        extents = [*((first, some) for first, _ in extents[:-1]), (last, count)]
    while True:
        shape = memref_type(memory).get_shape()
        for dimension, ((first, count), size) in enumerate(
            zip(extents, shape, strict=True)
        ):
            end = at.constant(INDEX, dimension if size == DYNAMIC_INDEX else size)
            if size == DYNAMIC_INDEX:
                end = at.pure(memref.DimOp, memory, end)
            number = at.constant(INDEX, len(found))
            at.effect(func.CallOp(CHECK, (number, first, count, end), ()))
            found.append(CheckedAccess(op, dimension, memory))
        match memory.owner:
            case memref.SubviewOp() as part:
                extents, memory = _whole(at, part, extents, some), part.source
            case memref.CastOp(source=source) if is_memref(source.type):
                memory = source
            case _:
                return


def _whole(
    at: Builder, part: memref.SubviewOp, extents: Sequence[Extent], some: SSAValue
) -> list[Extent]:
    """Where an access to a part of a memref is in the whole.

    `some` is how many along dimensions that the part lacks: 1, or none if no lane is
    active.
    """

    def numbers(
        static: DenseArrayBase[IntegerType], dynamic: Sequence[SSAValue]
    ) -> list[SSAValue]:
        found = mixed(static.get_values(), dynamic)
        return [at.constant(INDEX, x) if isinstance(x, int) else x for x in found]

    one, sizes = at.constant(INDEX, 1), part.static_sizes.get_values()
    firsts = numbers(part.static_offsets, part.offsets)
    steps = numbers(part.static_strides, part.strides)
    kept = kept_dimensions(sizes, memref_type(part.result).get_shape())
    found = [(first, some) for first in firsts]
    for dimension, (first, count) in zip(kept, extents, strict=True):
        step = steps[dimension]
        start = at.pure(arith.MuliOp, first, step)
        start = at.pure(arith.AddiOp, firsts[dimension], start)
        gaps = at.pure(arith.MuliOp, at.pure(arith.SubiOp, count, one), step)
        found[dimension] = start, at.pure(arith.AddiOp, gaps, one)
    return found


def _active(at: Builder, mask: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The first component that a mask leaves, and how many to the last one."""
    (lanes,) = _shape(mask)
    type = VectorType(INDEX, [lanes])

    def reduced(inactive: int, kind: vector.CombiningKindFlag) -> SSAValue:
        numbers, other = (
            at.pure(arith.ConstantOp, DenseIntOrFPElementsAttr.from_list(type, values))
            for values in (list(range(lanes)), [inactive])
        )
        chosen = at.pure(arith.SelectOp, mask, numbers, other)
        reduction = vector.ReductionOp.build(
            operands=[chosen, None],
            result_types=[INDEX],
            properties={"kind": vector.CombiningKindAttr(kind)},
        )
        return at.effect(reduction).results[0]

    least = reduced(lanes, vector.CombiningKindFlag.MINSI)
    most = reduced(-1, vector.CombiningKindFlag.MAXSI)
    difference = at.pure(arith.SubiOp, most, least)
    return least, at.pure(arith.AddiOp, difference, at.constant(INDEX, 1))
