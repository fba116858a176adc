"""inline-calls: inlines what functions of linalg call.

Before:  functions of linalg or on tensors that call functions of the module.
After:   the bodies of these in place of the calls; private ones are erased.
Fails:   for recursion, for functions without a body and for those of several blocks.
         The module is then unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.ir.control_flow import inline_call
from coopc.ir.transaction import Refused, transaction
from coopc.passes.linalg.whole_functions import calls, whole_functions


def inline_into(func: FuncOp, module: ModuleOp, around: tuple[FuncOp, ...]) -> None:
    """Inline all that a function calls, callees first.

    Raises:
        Refused: the body of what is called cannot be put there.
    """
    for call, called in calls(func, module):
        if called is None:
            raise Refused(
                call,
                f"{call.callee} has no body: call a function of the module, or write "
                "what it computes",
            )
        if called in (*around, func):
            raise Refused(call, f"recursion is not supported: {call.callee}")
        if (count := len(called.body.blocks)) != 1:
            raise Refused(call, f"expected a function of one block, got {count}")
        inline_into(called, module, (*around, func))
        inline_call(call, called)


@dataclass(frozen=True)
class InlineCallsPass(ModulePass):
    name = "inline-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(each for func in whole_functions(op) for each in calls(func, op)):
            return
        with transaction(op) as draft:
            inlined: set[FuncOp] = set()
            for func in whole_functions(draft):
                inlined |= {x for _, x in calls(func, draft) if x is not None}
                inline_into(func, draft, ())
            for func in inlined:
                visibility = func.sym_visibility
                if visibility is not None and visibility.data == "private":
                    Rewriter.erase_op(func)
