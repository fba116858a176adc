"""split-coopmatrix: splits matrices into tiles that the device multiplies.

Before:  coopmatrix operations on matrices of any size.
After:   the same operations on tiles, each of a shape that the device has; a matrix
         becomes several values, through loops, branches, calls and functions.
Fails:   where no tiles suit an operation and those that share its matrices; where
         elements are addressed by slot; for unknown devices. The module is then
         unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.ir.builder import Built
from coopc.ir.device_option import device_of
from coopc.ir.split_values import Splitter, split_values
from coopc.ir.transaction import transaction
from coopc.passes.coopmatrix.split_coopmatrix.cutting import Cutter, MatrixTiles
from coopc.passes.coopmatrix.split_coopmatrix.tiling import Tiling, plan_tiling


def cut(module: ModuleOp, tiling: Tiling) -> None:
    cutter = Cutter(tiling.tiles)
    split_values(module, cutter.parts(), cutter.rules)
    cutter.built = Built()  # prefetches stand in front of what was built last
    for op, tile in tiling.prefetches.items():
        cutter.access_tiles(op, MatrixTiles.of(op.matrix, tile), Splitter(op))
        Rewriter.erase_op(op)


@dataclass(frozen=True)
class SplitCoopmatrixPass(ModulePass):
    """Cut each matrix into tiles of shapes that the device has."""

    name = "split-coopmatrix"

    device: str | None = None
    """A device of `--list devices`; that of `simt.target` where it is absent."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        with transaction(op) as draft:
            cut(draft, plan_tiling(draft, device))
