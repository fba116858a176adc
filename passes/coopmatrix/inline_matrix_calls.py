"""inline-matrix-calls: inlines functions that take or return matrices.

Before:  calls of functions of the module that take or return matrices.
After:   the bodies of these functions in place of the calls; the functions are erased.
         Calls of functions without a body, and of functions without matrices, stay.
Fails:   for recursive functions on matrices, and for those with several blocks. The
         module is then unchanged.

    %n = func.call @twice(%m) : (!M) -> !M      %n = coopmatrix.add %m, %m : !M

For devices whose matrices no function can pass: tiles of AMX are registers that LLVM
assigns within a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.ir.control_flow import inline_call
from coopc.ir.transaction import Refused


@dataclass(frozen=True)
class InlineMatrixCallsPass(ModulePass):
    """Inline functions that take or give matrices."""

    name = "inline-matrix-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        try:
            inline_calls(op, lambda type: isinstance(type, MatrixType))
        except Refused as error:
            error.report()


def inline_calls(module: ModuleOp, passes: Callable[[Attribute], bool]) -> None:
    """Inline the functions that take or return values of some types, and erase them.

    Those that nothing calls stay.

    Raises:
        Refused: one cannot be inlined; the module is unchanged then.
    """
    functions = {
        each.sym_name.data: each
        for each in module.ops
        if isinstance(each, FuncOp) and each.body.blocks and _has(each, passes)
    }
    called = {name for each in module.ops for name in _calls(each)}
    for name in sorted(called & functions.keys()):
        _check(name, functions)
    while calls := [
        each
        for each in module.walk()
        if isinstance(each, CallOp) and _callee(each) in functions
    ]:
        for each in calls:
            inline_call(each, functions[_callee(each)])
    for name in called & functions.keys():
        Rewriter.erase_op(functions[name])


def _has(func: FuncOp, passes: Callable[[Attribute], bool]) -> bool:
    """Whether a function takes or returns values of some types; kernels do not."""
    type = func.function_type
    if simt.KERNEL in func.attributes:
        return False
    return any(map(passes, (*type.inputs, *type.outputs)))


def _callee(call: CallOp) -> str:
    return call.callee.root_reference.data


def _calls(op: Operation) -> Iterator[str]:
    return (_callee(each) for each in op.walk() if isinstance(each, CallOp))


def _check(name: str, functions: dict[str, FuncOp]) -> None:
    """Refuse a function that cannot be inlined."""
    func = functions[name]
    if (count := len(func.body.blocks)) != 1:
        raise Refused(
            func, f"expected a function on matrices of one block, got {count}"
        )
    for call in func.walk():
        if not isinstance(call, CallOp):
            continue
        reached, todo = set[str](), [_callee(call)]
        while todo:
            if (each := todo.pop()) in functions and each not in reached:
                reached.add(each)
                todo += _calls(functions[each])
        if name in reached:
            raise Refused(call, f"recursion is not supported: @{name} calls itself")
