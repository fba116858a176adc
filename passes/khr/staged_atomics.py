"""Atomic accesses: element by element, each by the lane that its turn is."""

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix, simt
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
    op: coopmatrix.AtomicOp,
    code: Code,
    scratch: Scratch,
    given: Piece | None,
    result: Piece | None,
) -> None:
    """Insert an atomic access.

    Args:
        op: the access.
        code: where.
        scratch: the work-group memory of the function.
        given: the elements of the operand, which all lanes see; None of a load.
        result: where those of the result go; may be `given`; None if nothing uses it.
    """
    access = Access(op)
    element = op.matrix.element_type

    def zero(code: Code) -> SSAValue:
        return constant(element, 0, code.get)

    def one(code: Code, row: SSAValue, col: SSAValue) -> None:
        places, ok = access.at(code, row, col)

        def update(code: Code) -> Operation:
            value = zero(code) if given is None else given.load(code, row, col)
            new = _access(op, access.memory, places, value)
            code.do(new)
            return new

        if result is None:
            code.when(ok, lambda code: _ignore(update(code)))
        elif ok is None:
            result.store(code, update(code).results[0], row, col)
        else:
            old = code.choose(ok, element, lambda c: update(c).results[0], zero)
            result.store(code, old, row, col)

    scratch.each(code, access.rows, access.cols, one)


def _ignore(_: Operation) -> None:
    return
