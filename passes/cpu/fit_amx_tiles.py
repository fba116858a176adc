"""fit-amx-tiles: functions need no more registers for tiles than LLVM can give them.

Before:  tiles of any number and of any shapes
After:   loads of tiles stand in front of their first use; tiles that control flow only
         chooses among are loaded where they are chosen; a function in which too many
         tiles of different shapes live at once keeps all in memory on the stack
Fails:   where such a function passes tiles through other control flow than scf.for and
         scf.if, or its accesses have strides of their own.  Nothing is changed then
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import amx
from coopc.plan.amx_registers import why_in_memory
from coopc.rewrite.amx_choices import copy_choices
from coopc.rewrite.amx_liveness import is_plain_loop, most_live, sink_loads, tiles
from coopc.rewrite.amx_memory import MemoryForm


@dataclass(frozen=True)
class FitAmxTilesPass(ModulePass):
    """Keep tiles in as many registers as there are."""

    name = "fit-amx-tiles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fit all functions of `op`."""
        functions = [
            each
            for each in op.walk()
            if isinstance(each, FuncOp)
            and len(each.body.blocks) == 1
            and any(inner.dialect_name() == "amx" for inner in each.walk())
        ]
        for func in functions:
            sink_loads(func.body.block)
            copy_choices(func)
        crowded: list[FuncOp] = []
        for func in functions:
            reason = why_in_memory(most_live(func.body.block), may_call(func))
            if reason is None:
                continue
            _check(func, reason)
            crowded.append(func)
        for func in crowded:
            MemoryForm(func.body.block).rewrite()


def may_call(func: FuncOp) -> bool:
    """Whether a function calls others, or LLVM may call a library's."""
    return any(
        op.name == "func.call"
        or op.name == "arith.remf"
        or (op.dialect_name() == "math" and op.name not in INSTRUCTIONS)
        for op in func.walk()
    )


INSTRUCTIONS = ("math.absf", "math.absi", "math.sqrt", "math.copysign")
"""Of math, what every processor with AMX has."""


def _check(func: FuncOp, reason: str) -> None:
    """Refuse what has no form in memory."""
    for op in func.walk():
        why = _unsupported(op)
        if why is not None:
            whole = f"{reason}: {why}"
            op.emit_error(whole, PassFailedException(whole))


def _unsupported(op: Operation) -> str | None:
    """Return why an operation on tiles has no form in memory, or None."""
    if isinstance(op, amx.TileLoadOp | amx.TileStoreOp):
        return None if op.stride is None else "expected the stride of the memref"
    values = tiles((*op.operands, *op.results))
    if not values or op.dialect_name() == "amx" or op.name == "scf.yield":
        return None
    return None if is_plain_loop(op) else "expected tiles in scf.for and scf.if alone"
