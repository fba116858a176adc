"""Nontemporal stores to memory that is larger than the caches.

    scf.for %t = .. {                     %row = memref.subview %c[%i, 0] ..
      %j = .. + %t * 16                   %address = simt.address_of %row
      vector.store %x, %c[%i, %j]         %streams = .. its last bits are 0
                                          scf.for %t = .. {
                                            scf.if %streams {
                                              vector.store .. {nontemporal = true, ..
                                            } else {
                                              vector.store %x, %c[%i, %j]

Other stores read the lines that they overwrite.  LLVM takes the condition out of the
loop.
"""

from __future__ import annotations

from functools import reduce

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BoolAttr,
    FixedBitwidthType,
    IntegerAttr,
    NoneAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref, length_of, memref_type
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Size, Values
from coopc.ir.control_flow import is_inside
from coopc.ir.facts import ValueFacts
from coopc.ir.polynomial import Polynomial

ALIGNMENT = 16
"""Bytes that divide the addresses of nontemporal stores: LLVM stores by registers of
128 bits if the alignment is not that of larger ones.  numpy's arrays are so aligned."""
LEAST_ROW_BYTES = 1 << 10
"""Of a row of memory: lines at its ends are written in parts.  They must not be written
by other stores, too: rows of 1,000 f32, whose last 8 were, took 2.4 times as long."""

STORES = vector.StoreOp | vector.MaskedStoreOp | memref.StoreOp


def stream(func: FuncOp, least: int) -> None:
    """Make stores of a function nontemporal.

    Args:
        func: vector code.
        least: bytes of memory that caches cannot hold; 0 for none.
    """
    if not least:
        return
    facts = ValueFacts()
    written = [x for x in func.body.block.args if is_only_written(x)]
    for op in list(func.walk()):
        if isinstance(op, vector.StoreOp) and op.base in written:
            loop = op.parent_op()
            if isinstance(loop, scf.ForOp) and goes_on(op, loop, facts):
                _stream(op, loop, least)


def is_only_written(value: BlockArgument) -> bool:
    """Whether an argument is memory that a function stores to and does not load.

    Its elements are of whole bytes that divide `ALIGNMENT`, and `simt.address_of` takes
    its memory space.
    """
    return (
        is_memref(type := value.type)
        and isinstance(element := type.element_type, FixedBitwidthType)
        and element.bitwidth in (8, 16, 32, 64, 128)
        and isinstance(type.memory_space, NoneAttr)
        and all(isinstance(x.operation, STORES | memref.DimOp) for x in value.uses)
    )


def goes_on(op: vector.StoreOp, loop: scf.ForOp, facts: ValueFacts) -> bool:
    """Whether each iteration of a loop stores behind what the one before it stored."""
    type, step = memref_type(op.base), Polynomial.of(loop.step).constant
    strides, length = type.get_strides(), length_of(op.vector)
    unit = ALIGNMENT * 8 // simt.bits_of(type.element_type)
    *outer, last = op.indices
    place, count = Polynomial.of(last), loop.body.block.args[0]
    first = place.where(count, Polynomial.number(0))
    return (
        strides is not None
        and strides[-1] == 1
        and step is not None
        and not any(is_inside(x, loop) for x in (*outer, *first.values))
        and (place - first) * Polynomial.number(step)
        == Polynomial.value(count) * Polynomial.number(length)
        and length % unit == 0
        and facts.divisor(last) % unit == 0
    )


def _stream(op: vector.StoreOp, loop: scf.ForOp, least: int) -> None:
    """Make a store nontemporal where it is aligned, and memory is large."""
    if (streams := _streams(op, loop, least)) is None:
        return
    b = Builder.at(op)

    def past_caches() -> Values:
        new = b.effect(op.clone())
        new.nontemporal = BoolAttr.from_bool(True)
        new.attributes[simt.ALIGNMENT] = IntegerAttr(ALIGNMENT, i64)
        return ()

    b.either(streams, [], past_caches, lambda: b.effect(op.clone()).results)
    Rewriter.erase_op(op)


def _streams(op: vector.StoreOp, loop: scf.ForOp, least: int) -> SSAValue | None:
    """Return, before a loop, whether its stores are nontemporal; None for never."""
    b = Builder.at(loop)
    type, memory = memref_type(op.base), op.base
    bits = simt.bits_of(type.element_type)

    def size(dimension: int) -> Size:
        known = type.get_shape()[dimension]
        if known != DYNAMIC_INDEX:
            return known
        return b.pure(memref.DimOp, memory, b.constant(INDEX, dimension))

    def reaches(number: Size, bytes: int) -> SSAValue | bool:
        return b.below(BoundedIndex(bytes * 8 // bits - 1), number)

    sizes = [size(x) for x in range(type.get_num_dims())]
    rest = b.remainder(b.sized(sizes[-1]), length_of(op.vector))
    is_large = b.both(
        reaches(reduce(b.product, sizes), least),
        reaches(sizes[-1], LEAST_ROW_BYTES),
        b.equal(rest, 0),
    )
    if is_large is False:
        return None
    row, ones = (*op.indices[:-1], 0), (1,) * len(sizes)
    to = memref.SubviewOp.infer_result_type(type, row, ones, ones, reduce_rank=True)
    start = b.pure(memref.SubviewOp.get, memory, row, ones, ones, to)
    address = b.pure(simt.AddressOfOp, start)
    unit = b.pure(arith.AndIOp, address, b.constant(i64, ALIGNMENT - 1))
    is_aligned = b.compare("eq", unit, b.constant(i64, 0))
    return (
        is_aligned if is_large is True else b.pure(arith.AndIOp, is_large, is_aligned)
    )
