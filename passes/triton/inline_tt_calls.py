"""inline-tt-calls: inlines Triton's functions.

Before:  kernels of Triton GPU IR that call functions of the module.
After:   kernels with the bodies of the functions they called, and no other functions.
Fails:   for recursive functions, and for those with several blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import tt
from coopc.ir.control_flow import inline_call
from coopc.ir.transaction import Refused, transaction


@dataclass(slots=True)
class Inliner:
    """Inlines the calls of functions, callees first."""

    functions: dict[str, tt.FuncOp]
    started: set[str] = field(default_factory=set[str])
    finished: set[str] = field(default_factory=set[str])

    def inline_calls(self, func: tt.FuncOp) -> None:
        """Inline what a function calls.

        Raises:
            Refused: the body of what is called cannot be put there.
        """
        name = func.sym_name.data
        if name in self.finished:
            return
        self.started.add(name)
        for op in [x for x in func.body.walk() if isinstance(x, tt.CallOp)]:
            callee = self.functions.get(op.callee.string_value())
            if callee is None or not callee.body.blocks:
                raise Refused(op, f"expected a function of the module, got {op.callee}")
            if (count := len(callee.body.blocks)) != 1:
                got = f"{count} in {op.callee}"
                raise Refused(op, f"expected a function of one block, got {got}")
            if callee.sym_name.data in self.started - self.finished:
                what = f"{op.callee} calls itself"
                raise Refused(op, f"recursion is not supported: {what}")
            self.inline_calls(callee)
            inline_call(op, callee)
        self.finished.add(name)


@dataclass(frozen=True)
class InlineTtCallsPass(ModulePass):
    name = "inline-tt-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            functions = [x for x in draft.ops if isinstance(x, tt.FuncOp)]
            inliner = Inliner({x.sym_name.data: x for x in functions})
            for func in functions:
                inliner.inline_calls(func)
            if any(func.is_kernel for func in functions):
                for func in functions:
                    if not func.is_kernel:
                        Rewriter.erase_op(func)
