"""inline-calls: inlines calls in Triton kernels and linalg functions.

Before:  Triton kernels, and linalg or tensor functions, that call functions of the
         module. With `matrices`, only calls of functions that take or return matrices.
After:   the bodies of these functions in place of the calls. Triton functions that are
         not kernels, private functions and those on matrices are erased, and so are
         assertions on what `tt.reduce` and `tt.scan` combine, with a remark. With
         `matrices`, calls of functions without a body stay. Triton functions return
         only at their end: see `coopc.passes.generic.early_returns`.
Fails:   for recursion, for functions of several blocks (in Triton: loops of blocks),
         and, without `matrices`, for functions without a body. The module is then
         unchanged.

    %n = func.call @twice(%m) : (!M) -> !M      %n = coopmatrix.add %m, %m : !M

`matrices` is for devices whose matrices cannot be passed to functions: AMX tiles are
registers that LLVM assigns within a function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.ir.control_flow import callee, functions, inline_calls, uses_dialect
from coopc.ir.transaction import Refused, transaction
from coopc.remarks import LEFT_OUT, remark


@dataclass(frozen=True)
class InlineCallsPass(ModulePass):
    name = "inline-calls"

    matrices: bool = False
    """Inline only functions that take or return matrices."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.matrices:
            if any(isinstance(each, CallOp) for each in op.walk()):
                with transaction(op) as draft:
                    inline_functions_of(draft, lambda x: isinstance(x, MatrixType))
            return
        is_triton = uses_dialect(op, "tt")
        if not is_triton and not any(
            isinstance(each, CallOp)
            for func in _whole_functions(op)
            for each in func.body.walk()
        ):
            return
        with transaction(op) as draft:
            known = functions(draft)
            found = inline_calls(
                _whole_functions(draft), lambda x: _of_linalg(x, known)
            )
            for func in found:
                assert isinstance(func, FuncOp), func
                visibility = func.sym_visibility
                if visibility is not None and visibility.data == "private":
                    Rewriter.erase_op(func)
            if is_triton:
                _inline_triton(draft)


def _whole_functions(module: ModuleOp) -> list[FuncOp]:
    if not functions(module):  # as in modules of Triton, which then need no linalg
        return []
    from coopc.passes.linalg.whole_functions import whole_functions

    return whole_functions(module)


def inline_functions_of(module: ModuleOp, passes: Callable[[Attribute], bool]) -> None:
    """Inline the functions that take or return values of some types, and erase them.

    Kernels, and functions that nothing calls, stay.

    Raises:
        Refused: one cannot be inlined.
    """
    known = functions(module)

    def called(op: Operation) -> FuncOp | None:
        func = callee(op, known) if isinstance(op, CallOp) else None
        if func is None or simt.KERNEL in func.attributes:
            return None
        types = (*func.function_type.inputs, *func.function_type.outputs)
        return func if any(map(passes, types)) else None

    for func in inline_calls(known.values(), called):
        Rewriter.erase_op(func)


def _of_linalg(op: Operation, known: dict[str, FuncOp]) -> FuncOp | None:
    if not isinstance(op, CallOp):
        return None
    if (func := callee(op, known)) is None:
        raise Refused(
            op,
            f"{op.callee} has no body: call a function of the module, or write "
            "what it computes",
        )
    return func


def _inline_triton(module: ModuleOp) -> None:
    from coopc.dialects import tt
    from coopc.passes.generic.early_returns import return_at_the_end

    known = {x.sym_name.data: x for x in module.ops if isinstance(x, tt.FuncOp)}

    def called(op: Operation) -> tt.FuncOp | None:
        if not isinstance(op, tt.CallOp):
            return None
        func = known.get(op.callee.string_value())
        if func is None or not func.body.blocks:
            raise Refused(op, f"expected a function of the module, got {op.callee}")
        return func

    for func in known.values():
        return_at_the_end(func)
    inline_calls(known.values(), called)
    combining = [x for x in module.walk() if isinstance(x, tt.ReduceOp | tt.ScanOp)]
    for op in [each for x in combining for each in x.walk()]:
        if isinstance(op, tt.AssertOp):
            remark(op, f"{LEFT_OUT}: a kernel cannot stop with a message")
            Rewriter.erase_op(op)
    if any(func.is_kernel for func in known.values()):
        for func in known.values():
            if not func.is_kernel:
                Rewriter.erase_op(func)
