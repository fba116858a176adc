"""Atomic accesses: element by element, each by the lane that its turn is."""

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import matrix_type
from coopc.dialects.narrow import is_integer
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import constant
from coopc.passes.khr.scratch import Piece, Scratch
from coopc.passes.khr.staged_memory import Access

_KINDS: dict[type[coopmatrix.AtomicOp], tuple[int, int, int]] = {
    coopmatrix.AtomicAddOp: (0, 1, 1),
    coopmatrix.AtomicMaxOp: (13, 4, 5),
    coopmatrix.AtomicMinOp: (14, 7, 8),
}
"""The kinds of updates: of floats, of signed and of unsigned integers."""


def kind_of(op: coopmatrix.AtomicOp) -> int:
    """The kind of an update."""
    of_floats, of_signed, of_unsigned = _KINDS[type(op)]
    if not is_integer(op.matrix.element_type):
        return of_floats
    signed = isinstance(op, coopmatrix.AtomicMaxOp | coopmatrix.AtomicMinOp)
    return of_signed if signed and op.signed is not None else of_unsigned


def _access(
    op: coopmatrix.AtomicOp, memory: SSAValue, places: list[SSAValue], value: SSAValue
) -> Operation:
    """One element's access, as ordered as the whole."""
    new: Operation
    match op:
        case coopmatrix.AtomicLoadOp():
            new = memref.LoadOp.get(memory, places)
        case coopmatrix.AtomicStoreOp():
            new = memref.StoreOp.get(value, memory, places)
        case _:
            new = memref.AtomicRMWOp.build(
                operands=[value, memory, places],
                result_types=[value.type],
                properties={"kind": IntegerAttr(kind_of(op), i64)},
            )
    new.attributes[simt.ORDERING] = StringAttr(str(op.ordering.data))
    new.attributes[simt.ORDERING_SCOPE] = StringAttr(str(op.atomic_scope))
    return new


def staged_atomic(
    op: coopmatrix.AtomicOp, code: Code, scratch: Scratch
) -> SSAValue | None:
    """Insert an atomic access; its result, if anything uses it."""
    wanted = bool(op.results) and op.results[0].first_use is not None
    piece = _given(op, code, scratch)
    access = Access(op)
    element = op.matrix.element_type

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        places, ok = access.at(code, row, col)

        def update(code: Code) -> Operation:
            if isinstance(op, coopmatrix.AtomicLoadOp):
                value = zero(code)
            else:
                value = piece.load(code, row, col)
            new = _access(op, access.memory, places, value)
            code.do(new)
            return new

        def zero(code: Code) -> SSAValue:
            return constant(element, 0, code.get)

        if not wanted:
            code.when(ok, lambda code: _ignore(update(code)))
        elif ok is None:
            piece.store(code, update(code).results[0], row, col)
        else:
            old = code.choose(ok, element, lambda c: update(c).results[0], zero)
            piece.store(code, old, row, col)

    scratch.each(code, access.rows, access.cols, one)
    if not wanted:
        return None
    return scratch.take(code, piece, matrix_type(op.results[0]))


def _ignore(_: Operation) -> None:
    return


def _given(op: coopmatrix.AtomicOp, code: Code, scratch: Scratch) -> Piece:
    """Where the elements of the operand are, if there is one."""
    if isinstance(op, coopmatrix.AtomicUpdateOp | coopmatrix.AtomicStoreOp):
        return scratch.put(code, op.value)
    piece = scratch.of(op.matrix)
    scratch.barrier(code)
    return piece
