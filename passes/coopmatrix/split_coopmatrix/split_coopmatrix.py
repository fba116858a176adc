"""split-coopmatrix: cut matrices into tiles that a device multiplies.

Before:  coopmatrix operations on matrices of any size
After:   the same on tiles, each of a shape that the device has; what was one matrix is
         several values, through loops, branches, calls and functions
Fails:   where no tiles suit an operation and those that it shares matrices with; where
         elements are addressed by slot; for unknown devices.  Nothing is changed then
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix
from coopc.ir.builder import Built
from coopc.ir.device_option import device_of
from coopc.ir.split_values import Splitter, split_values
from coopc.passes.coopmatrix.split_coopmatrix.cutting import Cutter, Grid
from coopc.passes.coopmatrix.split_coopmatrix.tiling import Refusal, Tiling, plan_tiling


def cut(module: ModuleOp, tiling: Tiling) -> None:
    """Cut the matrices of a module as was decided."""
    cutter = Cutter(tiling.tiles)
    split_values(module, cutter.parts(), cutter.rules)
    cutter.built = Built()  # prefetches stand in front of what was built last
    for op, tile in tiling.prefetches.items():
        cutter.access_tiles(op, Grid.of(op.matrix, tile), Splitter(op))
        Rewriter.erase_op(op)


def _broken_pointee(module: ModuleOp, tiling: Tiling) -> Refusal | None:
    """Refuse tiles that begin inside of what a memref holds, such as a vector."""
    for op in module.walk():
        if not isinstance(op, coopmatrix.PlainAccessOp):
            continue
        bits, whole = op.matrix.element_bits, op.pointee_bits
        value = op.value if isinstance(op, coopmatrix.StoreOp) else op.results[0]
        tile = tiling.tiles.get(value)
        if tile is None or tile == op.matrix.shape:
            continue
        along = tile[op.layout.data is not coopmatrix.Layout.COL_MAJOR]
        if along * bits % whole:
            return Refusal(
                op,
                f"expected tiles whose rows in memory are whole {whole}-bit pieces, "
                f"which {op.memory_type} holds, got {along} elements of {bits} bits",
            )
    return None


@dataclass(frozen=True)
class SplitCoopmatrixPass(ModulePass):
    """Cut each matrix into tiles of shapes that the device has."""

    name = "split-coopmatrix"

    device: str | None = None
    """A device of `--list devices`; that of `simt.target` where it is absent."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on all of `op`, then cut."""
        tiling = plan_tiling(op, device_of(self.device, op, self.name))
        if not isinstance(tiling, Refusal):
            tiling = _broken_pointee(op, tiling) or tiling
        if isinstance(tiling, Refusal):
            tiling.op.emit_error(tiling.reason, PassFailedException(tiling.reason))
        cut(op, tiling)
