"""`inline-tt-calls`: Triton's functions where they are called.

Before: kernels of Triton GPU IR that call functions of the module.
After:  kernels with the bodies of what they called; no other functions are left.
Fails:  a function calls itself, by way of others too, or has several blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import tt


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of a module by name, in which calls are looked up."""

    named: dict[str, tt.FuncOp]

    def callee(self, op: tt.CallOp) -> tt.FuncOp | None:
        """Return what is called, where it is in the module."""
        return self.named.get(op.callee.string_value())

    def calls(self, func: tt.FuncOp) -> list[tt.CallOp]:
        """Return the calls in a function."""
        return [op for op in func.body.walk() if isinstance(op, tt.CallOp)]

    def why_not(self, op: tt.CallOp) -> str | None:
        """Return why a call cannot be replaced by what is called, or None."""
        func = self.callee(op)
        if func is None or not func.body.blocks:
            return f"expected a function of the module, got {op.callee}"
        if len(func.body.blocks) != 1:
            blocks = len(func.body.blocks)
            return f"expected a function of one block, got {blocks} in {op.callee}"
        if self.reaches(func, func, set()):
            return f"expected no recursion, got {op.callee}, which calls itself"
        return None

    def reaches(self, start: tt.FuncOp, wanted: tt.FuncOp, seen: set[str]) -> bool:
        """Whether a function calls another one, by way of others too."""
        for op in self.calls(start):
            found = self.callee(op)
            if found is wanted:
                return True
            if found is None or found.sym_name.data in seen:
                continue
            seen.add(found.sym_name.data)
            if self.reaches(found, wanted, seen):
                return True
        return False


def inline(op: tt.CallOp, func: tt.FuncOp) -> None:
    """Put the body of a function in the place of a call."""
    meaning: dict[SSAValue, SSAValue] = dict(
        zip(func.body.block.args, op.operands, strict=True)
    )
    results: list[SSAValue] = []
    before = InsertPoint.before(op)
    for each in func.body.block.ops:
        if isinstance(each, tt.ReturnOp):
            results = [meaning.get(value, value) for value in each.operands]
        else:
            Rewriter.insert_op(each.clone(meaning), before)
    Rewriter.replace_op(op, [], results)


@dataclass(frozen=True)
class InlineTtCallsPass(ModulePass):
    """Put functions where they are called."""

    name = "inline-tt-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline all calls of the kernels of `op`."""
        named = {x.sym_name.data: x for x in op.ops if isinstance(x, tt.FuncOp)}
        functions = Functions(named)
        for func in named.values():
            for call in functions.calls(func):
                if (reason := functions.why_not(call)) is not None:
                    call.emit_error(reason, PassFailedException(reason))
        kernels = [func for func in named.values() if func.is_kernel]
        for kernel in kernels:
            while calls := functions.calls(kernel):
                for call in calls:
                    func = functions.callee(call)
                    assert func is not None, call
                    inline(call, func)
        if kernels:
            for func in named.values():
                if not func.is_kernel:
                    Rewriter.erase_op(func)
