"""Atomic accesses: element by element, each by the lane that its turn is."""

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import matrix_type
from coopc.dialects.narrow import is_integer
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import constant
from coopc.passes.khr.scratch import Piece, Scratch
from coopc.passes.khr.staged_memory import Access

ASSIGN, OR = 2, 11
"""MLIR's AtomicRMWKind: an exchange, and a bitwise or."""

_KINDS: dict[type[coopmatrix.AtomicOp], tuple[int, int, int]] = {
    coopmatrix.AtomicAddOp: (0, 1, 1),
    coopmatrix.AtomicMaxOp: (13, 4, 5),
    coopmatrix.AtomicMinOp: (14, 7, 8),
}
"""The kinds of updates: of floats, of signed and of unsigned integers."""


def kind_of(op: coopmatrix.AtomicOp) -> int:
    """The kind of an access as an update."""
    if isinstance(op, coopmatrix.AtomicLoadOp):
        return OR
    if isinstance(op, coopmatrix.AtomicStoreOp):
        return ASSIGN
    of_floats, of_signed, of_unsigned = _KINDS[type(op)]
    if not is_integer(op.matrix.element_type):
        return of_floats
    signed = isinstance(op, coopmatrix.AtomicMaxOp | coopmatrix.AtomicMinOp)
    return of_signed if signed and op.signed is not None else of_unsigned


def staged_atomic(
    op: coopmatrix.AtomicOp, code: Code, scratch: Scratch
) -> SSAValue | None:
    """Insert an atomic access; its result, if anything uses it."""
    wanted = bool(op.results) and op.results[0].first_use is not None
    piece = _given(op, code, scratch)
    access = Access(op)
    kind = IntegerAttr(kind_of(op), i64)
    element = op.matrix.element_type

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        places, ok = access.at(code, row, col)

        def update(code: Code) -> SSAValue:
            if isinstance(op, coopmatrix.AtomicLoadOp):
                value = constant(element, 0, code.get)
            else:
                value = piece.load(code, row, col)
            new = memref.AtomicRMWOp.build(
                operands=[value, access.memory, places],
                result_types=[element],
                properties={"kind": kind},
            )
            return code.get(new)

        if wanted:
            zero = constant(element, 0, code.get)
            old = (
                update(code)
                if ok is None
                else code.choose(ok, element, update, lambda _: zero)
            )
            piece.store(code, old, row, col)
        else:
            code.when(ok, lambda code: _ignore(update(code)))

    scratch.each(code, access.rows, access.cols, one)
    if not wanted:
        return None
    return scratch.take(code, piece, matrix_type(op.results[0]))


def _ignore(_: SSAValue) -> None:
    return


def _given(op: coopmatrix.AtomicOp, code: Code, scratch: Scratch) -> Piece:
    """Where the elements of the operand are, if there is one."""
    if isinstance(op, coopmatrix.AtomicUpdateOp | coopmatrix.AtomicStoreOp):
        return scratch.put(code, op.value)
    piece = scratch.of(op.matrix)
    scratch.barrier(code)
    return piece
