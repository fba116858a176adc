"""Atomic accesses: element by element, each by the lane that its turn is."""

from xdsl.ir import Operation, SSAValue

from coopc.dialects import coopmatrix
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import constant
from coopc.passes.khr.scratch import Piece, Scratch
from coopc.passes.khr.staged_memory import Access
from coopc.rewrite import element_access


def _access(
    op: coopmatrix.AtomicOp, places: list[SSAValue], value: SSAValue
) -> Operation:
    """One element's access, as ordered as the whole."""
    match op:
        case coopmatrix.AtomicUpdateOp():
            return element_access.update(op, value, places)
        case coopmatrix.AtomicStoreOp():
            return element_access.store(op, value, places)
        case _:
            return element_access.load(op, places)


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
            new = _access(op, places, value)
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
