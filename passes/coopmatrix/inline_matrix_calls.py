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

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.ir.control_flow import inline_call


@dataclass(frozen=True)
class InlineMatrixCallsPass(ModulePass):
    """Inline functions that take or give matrices."""

    name = "inline-matrix-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {
            each.sym_name.data: each
            for each in op.ops
            if isinstance(each, FuncOp) and each.body.blocks and _on_matrices(each)
        }
        called = {name for each in op.ops for name in _calls(each)}
        for name in sorted(called & functions.keys()):
            if (reason := _refused(name, functions)) is not None:
                functions[name].emit_error(reason, PassFailedException(reason))
        while calls := [
            each
            for each in op.walk()
            if isinstance(each, CallOp) and _callee(each) in functions
        ]:
            for each in calls:
                inline_call(each, functions[_callee(each)])
        for name in called & functions.keys():
            Rewriter.erase_op(functions[name])


def _on_matrices(func: FuncOp) -> bool:
    """Whether matrices are among what a function takes or gives; kernels take none."""
    type = func.function_type
    if simt.KERNEL in func.attributes:
        return False
    return any(isinstance(each, MatrixType) for each in (*type.inputs, *type.outputs))


def _callee(call: CallOp) -> str:
    return call.callee.root_reference.data


def _calls(op: Operation) -> Iterator[str]:
    return (_callee(each) for each in op.walk() if isinstance(each, CallOp))


def _refused(name: str, functions: dict[str, FuncOp]) -> str | None:
    """Return why a function is not inlined; None if it is."""
    if (count := len(functions[name].body.blocks)) != 1:
        return f"expected a function on matrices of one block, got {count}"
    reached, todo = set[str](), [name]
    while todo:
        new = {*_calls(functions[todo.pop()])} & functions.keys() - reached
        if name in new:
            return "expected a function on matrices that does not call itself"
        reached |= new
        todo += new
    return None
