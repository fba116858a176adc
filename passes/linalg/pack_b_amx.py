"""pack-b-amx: kernels that load B as it is get it packed, once, by a stage before.

Before:  a kernel that loads matrices of use b by rows from one argument, from whole
         channels on, in loops
After:   @f.pack, which packs all of B, and @f, which loads it packed from one argument
         more; the module's `cpu.kernels` says how they are run, see tile-matmul-amx
Fails:   never: kernels of another kind pack what they load each time

Row r of B packed has rows r * w to r * w + w - 1 of B by turns, w elements of 32 bits.
Arguments are taken not to overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import DimOp
from xdsl.ir import Attribute, BlockArgument
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import CHANNEL_BITS, Layout, Use
from coopc.dialects.narrow import is_memref
from coopc.passes.cpu.stages import KERNELS, Scratch, Stage, stages
from coopc.passes.linalg.packing import is_multiple
from coopc.rewrite.structure import free_name

INDEX = IndexType()
ATTRIBUTES = (
    "simt.kernel, simt.subgroup_size = 1 : i32, simt.work_group_size = array<i32: 1>"
)


@dataclass(frozen=True)
class PackBAmxPass(ModulePass):
    """Pack B before kernels run."""

    name = "pack-b-amx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the kernels that it knows."""
        found: dict[str, Attribute] = {}
        known = op.attributes.get(KERNELS)
        if isinstance(known, DictionaryAttr):
            found |= known.data
        for kernel in list(simt.kernels(op)):
            if kernel.name not in found and (plan := planned(kernel, op)) is not None:
                found[kernel.name] = plan.stages()
                plan.rewrite(ctx)
        if found:
            op.attributes[KERNELS] = DictionaryAttr(found)


def planned(kernel: simt.Kernel, module: ModuleOp) -> Packing | None:
    """Return what is packed for a kernel of a module, or None."""
    loads = [
        op
        for op in kernel.func.walk()
        if isinstance(op, coopmatrix.LoadOp) and op.matrix.use.data is Use.B
    ]
    if not loads or not all(map(is_plain, loads)):
        return None
    memory = loads[0].memory
    if not isinstance(memory, BlockArgument) or memory.owner != kernel.func.body.block:
        return None
    if any(load.memory is not memory for load in loads):
        return None
    if any(not isinstance(x.operation, coopmatrix.LoadOp | DimOp) for x in memory.uses):
        return None
    name = free_name(module, f"{kernel.name}.pack")
    return Packing(kernel, name, memory, tuple(loads))


def is_plain(load: coopmatrix.LoadOp) -> bool:
    """Whether a matrix can be loaded packed: by rows, of whole channels of them.

    Memory has to hold its elements one by one.
    """
    matrix = load.matrix
    if not matrix.is_static or matrix.element_bits not in (8, 16):
        return False
    many = CHANNEL_BITS // matrix.element_bits
    return (
        is_memref(load.memory.type)
        and load.memory.type.element_type == matrix.element_type
        and load.layout.data is Layout.ROW_MAJOR
        and load.checked is None
        and load.volatile is None
        and len(load.positions) == 2
        and matrix.shape[0] % many == 0
        and is_multiple(load.positions[0], many)
    )


@dataclass(frozen=True, slots=True)
class Packing:
    """A B that is packed before a kernel runs."""

    kernel: simt.Kernel
    name: str
    """Of the kernel that packs."""
    memory: BlockArgument
    loads: tuple[coopmatrix.LoadOp, ...]

    @property
    def type(self) -> MemRefType:
        """The type of B as it is."""
        assert is_memref(self.memory.type), self.memory
        return self.memory.type

    @property
    def many(self) -> int:
        """Elements of a channel."""
        return CHANNEL_BITS // self.loads[0].matrix.element_bits

    def stages(self) -> DictionaryAttr:
        """Return how the kernel is run."""
        rows, cols = self._extents()
        bytes = 4 // self.many
        channels = rows.ceil_div(self.many)
        packed = Scratch(
            (channels, cols, self.many * bytes), (channels, cols * self.many)
        )
        return stages(
            len(simt.kernel_sizes(self.kernel.func)),
            (Stage(self.name, (channels,)), Stage(self.kernel.name, None)),
            (packed,),
        )

    def _extents(self) -> tuple[AffineExpr, AffineExpr]:
        """Return the rows and columns of B, by the sizes of the kernel."""
        found: list[AffineExpr] = []
        sizes = simt.kernel_sizes(self.kernel.func)
        for dimension, size in enumerate(self.type.get_shape()):
            if size != DYNAMIC_INDEX:
                found.append(AffineConstantExpr(size))
                continue
            found += [
                AffineDimExpr(number)
                for number, each in enumerate(sizes)
                if (each.argument, each.dimension) == (self.memory.index, dimension)
            ]
        rows, cols = found
        return rows, cols

    def rewrite(self, ctx: Context) -> None:
        """Insert the kernel that packs, and load what it packed."""
        func = self.kernel.func
        made = Parser(ctx, self.text()).parse_module()
        for new in list(made.ops):
            assert isinstance(new, FuncOp), new
            new.sym_name = StringAttr(self.name)
            new.detach()
            for inner in new.walk():
                inner.location = func.location
            Rewriter.insert_op(new, InsertPoint.before(func))
        block = func.body.block
        element = self.type.get_element_type()
        packed = block.insert_arg(
            MemRefType(element, [DYNAMIC_INDEX] * 2), len(block.args)
        )
        packed.name_hint = f"{self.memory.name_hint or 'b'}_packed"
        packed.location = func.location
        for load in self.loads:
            self._replace(load, packed)
        func.update_function_type()
        grid = func.attributes.get(simt.GRID)
        if isinstance(grid, AffineMapAttr):
            map = grid.data
            wider = AffineMap(map.num_dims + 2, map.num_symbols, map.results)
            func.attributes[simt.GRID] = AffineMapAttr(wider)

    def _replace(self, load: coopmatrix.LoadOp, packed: BlockArgument) -> None:
        row, col = load.positions
        many = arith.ConstantOp(IntegerAttr(self.many, INDEX))
        channel = arith.DivUIOp(row, many.result)
        place = arith.MuliOp(col, many.result)
        for new in (many, channel, place):
            new.location = load.location
            Rewriter.insert_op(new, InsertPoint.before(load))
        channel.result.name_hint, place.result.name_hint = "channel", "place"
        new = coopmatrix.LoadOp(
            packed,
            (channel.result, place.result),
            load.result.type,
            Layout.PACKED,
        )
        new.location = load.location
        new.result.name_hint = load.result.name_hint
        Rewriter.replace_op(load, new)

    def text(self) -> str:
        """Return the kernel that packs: a work-group for each row of B packed."""
        element = self.type.get_element_type()
        packed, many, b = f"memref<?x?x{element}>", self.many, str(self.type)
        types = self.kernel.func.function_type.inputs
        names = [f"%arg{at}" for at in range(len(types))]
        given = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
        source = names[self.memory.index]
        zero = "0" if str(element).startswith("i") else "0.0"
        rows = "".join(
            f"""
    %t{t} = arith.constant {t} : index
    %row{t} = arith.addi %first, %t{t} : index
    %in{t} = arith.cmpi ult, %row{t}, %k : index
    %near{t} = arith.select %in{t}, %row{t}, %c0 : index
    %x{t} = memref.load {source}[%near{t}, %col] : {b}
    %y{t} = arith.select %in{t}, %x{t}, %zero : {element}
    %to{t} = arith.addi %start, %t{t} : index
    memref.store %y{t}, %packed[%row, %to{t}] : {packed}"""
            for t in range(many)
        )
        return f"""
func.func @pack({given}, %packed: {packed})
    attributes {{{ATTRIBUTES}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant {many} : index
  %zero = arith.constant {zero} : {element}
  %k = memref.dim {source}, %c0 : {b}
  %n = memref.dim {source}, %c1 : {b}
  %row = simt.workgroup_id x : index
  %first = arith.muli %row, %many : index
  scf.for %col = %c0 to %n step %c1 {{
    %start = arith.muli %col, %many : index{rows}
  }}
  func.return
}}"""
