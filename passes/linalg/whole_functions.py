"""Which functions are converted as a whole, and how their operations are replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects import cf, memref, tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt
from coopc.dialects.narrow import is_tensor
from coopc.dialects.tensor_forms import Bufferization, Tensor
from coopc.ir.control_flow import functions
from coopc.ir.transaction import Refused, transaction
from coopc.passes.linalg.match import check_arguments, matched
from coopc.remarks import remark

DIALECTS = ("linalg", Tensor.name, Bufferization.name)


def whole_functions(module: ModuleOp) -> list[FuncOp]:
    """Return the functions of linalg, but for those that are one multiplication.

    A function is one of linalg if it, or one that it calls, has tensors, operations of
    linalg or copies of memrefs, and it is no kernel.  One multiplication of memrefs
    stays what it is: `coopc.passes.linalg.match` gives it a kernel of its own.
    """
    known = functions(module)
    found = {name: func for name, func in known.items() if _is_linalg(func)}
    while more := [
        name
        for name, func in known.items()
        if name not in found and any(x in found for x in _called(func))
    ]:
        found |= {name: known[name] for name in more}
    return [func for func in found.values() if not is_one_product(func)]


def convert_whole_functions(
    module: ModuleOp, convert: Callable[[FuncOp], None]
) -> None:
    """Convert all of them, or none; modules without any are not looked at further.

    Raises:
        PassFailedException: one is refused, or has several blocks.
    """
    if not whole_functions(module):
        return
    with transaction(module) as draft:
        for func in whole_functions(draft):
            if len(func.body.blocks) != 1:
                raise Refused(func, "expected a function of one block")
            check_arguments(func)
            convert(func)


def _is_linalg(func: FuncOp) -> bool:
    if simt.KERNEL in func.attributes or func.is_declaration:
        return False
    types = (*func.function_type.inputs, *func.function_type.outputs)
    return any(map(is_tensor, types)) or any(
        op.dialect_name() in DIALECTS or isinstance(op, memref.CopyOp)
        for op in func.body.walk()
    )


def _called(func: FuncOp) -> Iterator[str]:
    if simt.KERNEL not in func.attributes:
        for op in func.body.walk():
            if isinstance(op, CallOp):
                yield op.callee.string_value()


def is_one_product(func: FuncOp) -> bool:
    """Whether a function is one multiplication of memrefs, and what follows it."""
    try:
        return matched(func) is not None
    except Refused:
        return False


def drop_assertion(op: cf.AssertOp, known: float | None) -> None:
    """Erase an assertion, as kernels cannot fail; with a remark unless it is known."""
    if not known:
        remark(op, f"dropped, and taken to hold: {op.msg.data}")
    Rewriter.erase_op(op)


def insert(new: Operation, before: Operation) -> Sequence[SSAValue]:
    """Insert an operation where another one is, and return its results."""
    for each in new.walk():
        each.location = before.location
    Rewriter.insert_op(new, InsertPoint.before(before))
    return new.results


def cast(value: SSAValue, type: TensorType, op: Operation) -> SSAValue:
    """Return a tensor as one of a type, by a cast in front of an operation."""
    return value if value.type == type else insert(tensor.CastOp(value, type), op)[0]


def replace(op: Operation, values: Sequence[SSAValue]) -> None:
    """Erase an operation, whose results are other values."""
    for old, new in zip(op.results, values, strict=True):
        new.name_hint = new.name_hint or old.name_hint
        old.replace_all_uses_with(new)
    Rewriter.erase_op(op)
