"""pack-b-amx: packs B once, in a stage before the kernel.

Before:  a kernel that loads matrices of use b from one argument in loops, starting at
         whole channels.
After:   @f.pack, which packs all of B, and @f, which loads packed B from one more
         argument. The module attribute `cpu.kernels` tells how to run them, see
         tile-matmul-amx.
Fails:   never; other kernels pack B at each load.

See `coopc.passes.linalg.packing`.  Arguments are taken not to overlap.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.dialects.memref import DimOp
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Layout, Use
from coopc.dialects.narrow import is_memref
from coopc.ir.control_flow import free_name
from coopc.ir.transaction import Refused
from coopc.passes.cpu.stages import KERNELS, Stages, map_of_sizes
from coopc.passes.linalg.packing import PackedB, packable


@dataclass(frozen=True)
class PackBAmxPass(ModulePass):
    name = "pack-b-amx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made: dict[str, Attribute] = {}
        known = op.attributes.get(KERNELS)
        if isinstance(known, DictionaryAttr):
            made |= known.data
        for kernel in list(simt.kernels(op)):
            if kernel.name not in made and (b := planned(kernel)) is not None:
                name = free_name(op, f"{kernel.name}.pack")
                made[kernel.name] = how_to_run(b, name).attr
                pack_before(b, name, ctx)
        if made:
            op.attributes[KERNELS] = DictionaryAttr(made)


def planned(kernel: simt.Kernel) -> PackedB | None:
    """Return what is packed before a kernel; None where it is not plain.

    Loads are of whole channels, not checked, of memory that holds its elements one by
    one.
    """
    loads = [
        op
        for op in kernel.func.walk()
        if isinstance(op, coopmatrix.LoadOp) and op.matrix.use.data is Use.B
    ]
    if not loads:
        return None
    for load in loads:
        matrix, memory = load.matrix, load.memory.type
        if (
            not matrix.is_static
            or matrix.element_bits not in (8, 16)
            or not is_memref(memory)
            or memory.element_type != matrix.element_type
            or load.layout_name is not None
            or load.layout.data is Layout.PACKED
            or load.checked is not None
            or load.volatile is not None
            or matrix.shape[0] % (coopmatrix.CHANNEL_BITS // matrix.element_bits)
        ):
            return None
    # What else is loaded, or asked, of B is so as before: it stays as it is.
    with suppress(Refused):
        return packable(kernel.func, loads, (coopmatrix.LoadOp, DimOp))
    return None


def how_to_run(b: PackedB, name: str) -> Stages:
    """Return how a kernel is run, and before it that which packs."""
    rows, cols, *batch = b.extents(b.func, b.memory)
    channels = rows.ceil_div(b.channel)
    of = partial(map_of_sizes, b.func)
    channel_bytes = coopmatrix.CHANNEL_BITS // 8
    packed = (
        of(*batch, channels, cols, channel_bytes),
        of(*batch, channels, cols * b.channel),
    )
    grid = of(channels, 1, *batch) if batch else of(channels)
    return Stages(((name, grid), (b.func.sym_name.data, None)), (packed,))


def pack_before(b: PackedB, name: str, ctx: Context) -> None:
    """Insert the kernel that packs, and load what it packed from a new argument."""
    func, rank = b.func, b.type.get_num_dims()
    type = MemRefType(b.type.element_type, [DYNAMIC_INDEX] * rank)
    inputs = enumerate(func.function_type.inputs)
    given = "".join(f"%arg{at}: {each}, " for at, each in inputs)
    source = f"%arg{b.memory.index}"
    text = b.kernel(f"{given}%packed: {type}", source, type, None)
    b.insert(text, name, 1, ctx)
    block = func.body.block
    packed = block.insert_arg(type, len(block.args))
    packed.name_hint = f"{b.memory.name_hint or 'b'}_packed"
    packed.location = func.location
    b.load_from(packed)
    func.update_function_type()
    grid = func.attributes.get(simt.GRID)
    if isinstance(grid, AffineMapAttr):
        map = grid.data
        wider = AffineMap(map.num_dims + rank, map.num_symbols, map.results)
        func.attributes[simt.GRID] = AffineMapAttr(wider)
