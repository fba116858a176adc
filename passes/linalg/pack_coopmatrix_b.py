"""pack-coopmatrix-b: packs B for devices that require packed B.

Before:  loads of matrices of use b in row-major or column-major order.
After:   if the device needs another order, lanes pack each matrix into work-group
         memory and load it from there. Matrices that the device does not support are
         unchanged.
Fails:   for unknown devices, and for matrices whose sizes or scope are specialization
         constants. The module is then unchanged.

With `kernel`, a separate kernel `<name>.pack_b` packs all of B once, and the kernel
takes packed B:

Before:  func.func @f(%a, %b: memref<KxN>, %c) of loads of %b by rows or columns
After:   func.func @f.pack_b(%b: memref<KxN>, %b_packed: memref<K/w x N*w>), and
         func.func @f(%a, %b: memref<K/w x N*w>, %c) of loads of %b as it is packed,
         w the elements of 32 bits
Fails:   if anything else uses %b, such as the grid, or a load may begin inside a
         channel
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Layout, Use
from coopc.interface import PACKING_ENTRY
from coopc.ir.device_option import device_of
from coopc.ir.transaction import Refused, transaction
from coopc.passes.coopmatrix.supported_tiles import HeldMatrices
from coopc.passes.khr.legalize_coopmatrix_khr.legalize_coopmatrix_khr import (
    Legalizer,
    why_not_staged,
)

if TYPE_CHECKING:
    from coopc.passes.linalg.packing import PackedB


@dataclass(frozen=True)
class PackCoopmatrixBPass(ModulePass):
    name = "pack-coopmatrix-b"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    kernel: bool = False
    """Pack all of B once in a separate kernel; otherwise each work-group packs its
    part."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        if not wanted(op, device):
            return
        with transaction(op) as draft:
            if self.kernel:
                from coopc.passes.linalg.packing import packable

                for kernel in list(simt.kernels(draft)):
                    if loads := wanted(kernel.func, device):
                        pack_before(packable(kernel.func, loads), device, ctx)
                return
            target = HeldMatrices(device, coopmatrix.default_constants(draft))
            legalizer = Legalizer(draft, target)
            for load in wanted(draft, device):
                if legalizer.is_spilled(load.matrix):
                    continue  # lanes take it from where it is
                if reason := why_not_staged(load, target):
                    raise Refused(load, reason)
                legalizer.rewrite(load, "staged")
                Rewriter.erase_op(load)


def wanted(root: Operation, device: Device) -> list[coopmatrix.LoadOp]:
    """Return the loads of matrices that a device wants packed, and are not."""
    target = HeldMatrices(device, coopmatrix.default_constants(root))
    found: list[coopmatrix.LoadOp] = []
    for op in root.walk():
        if not isinstance(op, coopmatrix.LoadOp) or op.layout_name is not None:
            continue
        if op.matrix.use.data is Use.B and op.matrix.is_static:
            has = target.layouts(op.matrix)
            if Layout.PACKED in has and op.layout_in_memory not in has:
                found.append(op)
    return found


def pack_before(b: PackedB, device: Device, ctx: Context) -> None:
    """Insert a kernel that packs B, and load what it packed.

    Raises:
        Refused: the grid needs B as it was.
    """
    from coopc.passes.linalg.match import tiles

    func = b.func
    grid, numbers = func.attributes.get(simt.GRID), simt.kernel_sizes(func)
    used = grid.data.used_dims() if isinstance(grid, AffineMapAttr) else ()
    if b.memory.index in (numbers[at].argument for at in used):
        raise Refused(func, "expected a grid that does not depend on the sizes of B")
    lanes = simt.kernel_of(func).subgroup_size or device.subgroup_size
    name, type = b.memory.name_hint or "b", b.packed_type
    text = b.kernel(f"%b: {b.type}, %packed: {type}", "%b", type, lanes)
    packing = b.insert(text, func.sym_name.data + PACKING_ENTRY, lanes, ctx)
    source, target = packing.body.block.args
    source.name_hint, target.name_hint = name, f"{name}_packed"
    rows, cols, *batch = b.extents(packing, source)
    groups = (tiles(cols, lanes), tiles(rows, b.channel), *batch)
    map = AffineMap(len(simt.kernel_sizes(packing)), 0, groups)
    packing.attributes[simt.GRID] = AffineMapAttr(map)
    b.load_from(b.memory)
    simt.forget_sizes(func, b.memory.index)
    Rewriter.replace_value_with_new_type(b.memory, type)
    func.update_function_type()
