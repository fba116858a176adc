"""B packed before kernels run: rows along K that share channels of 32 bits.

Element (k, n) of B is at [k / w, n * w + k % w], w the elements of a channel.  Where w
does not divide K, the rest of the last channels is zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import CHANNEL_BITS, Layout
from coopc.dialects.narrow import memref_type
from coopc.ir.facts import ValueFacts
from coopc.ir.transaction import Refused
from coopc.passes.linalg.kernel_text import functions, kernel, zero
from coopc.passes.linalg.match import extent


@dataclass(frozen=True, slots=True)
class PackedB:
    """An argument of a kernel of which all matrices of use b can be loaded packed."""

    func: FuncOp
    memory: BlockArgument
    loads: tuple[coopmatrix.LoadOp, ...]

    @property
    def type(self) -> MemRefType:
        return memref_type(self.memory)

    @property
    def channel(self) -> int:
        return CHANNEL_BITS // self.loads[0].matrix.element_bits

    @property
    def by_rows(self) -> bool:
        """Whether the last dimension of B in memory is its columns."""
        return self.loads[0].layout.data is Layout.ROW_MAJOR

    @property
    def dimensions(self) -> tuple[int, int]:
        """The dimensions of B that are rows (K) and columns (N)."""
        rank = self.type.get_num_dims()
        found = rank - 2, rank - 1
        return found if self.by_rows else (found[1], found[0])

    @property
    def packed_type(self) -> MemRefType:
        shape = list(self.type.get_shape())
        rows, cols = (shape[dimension] for dimension in self.dimensions)
        shape[-2:] = (
            rows if rows == DYNAMIC_INDEX else -(-rows // self.channel),
            cols if cols == DYNAMIC_INDEX else cols * self.channel,
        )
        space = self.type.memory_space
        return MemRefType(self.type.element_type, shape, memory_space=space)

    def extents(self, func: FuncOp, memory: SSAValue) -> list[AffineExpr]:
        """Return K, N and the batch, if there is one, by the sizes of a function."""
        lead = range(self.type.get_num_dims() - 2)
        return [extent(func, memory, x) for x in (*self.dimensions, *lead)]

    def insert(self, text: str, name: str, lanes: int, ctx: Context) -> FuncOp:
        """Insert the kernel that packs, of work-groups of one subgroup, before B's."""
        (packing,) = functions(ctx, text)
        for op in packing.walk():
            op.location = self.func.location
        packing.sym_name = StringAttr(name)
        packing.attributes[simt.KERNEL] = UnitAttr()
        simt.set_sizes(packing, lanes, [lanes])
        Rewriter.insert_op(packing, InsertPoint.before(self.func))
        return packing

    def place(self, load: coopmatrix.LoadOp) -> tuple[SSAValue, SSAValue]:
        """Return the row and the column of B where a load begins."""
        first, second = load.positions[-2:]
        return (first, second) if self.by_rows else (second, first)

    def load_from(self, packed: SSAValue) -> None:
        """Load the matrices from memory that has B packed."""
        for load in self.loads:
            row, col = self.place(load)
            many = arith.ConstantOp(IntegerAttr(self.channel, IndexType()))
            channel = arith.DivUIOp(row, many.result)
            at = arith.MuliOp(col, many.result)
            channel.result.name_hint, at.result.name_hint = "channel", "place"
            new = load.clone()
            new.properties["layout"] = coopmatrix.LayoutAttr(Layout.PACKED)
            new.alignment = None  # that was of B as it was
            new.operands = [packed, *load.positions[:-2], channel.result, at.result]
            new.result.name_hint = load.result.name_hint
            for op in (many, channel, at, new):
                op.location = load.location
            Rewriter.replace_op(load, [many, channel, at, new])

    def kernel(
        self, arguments: str, source: str, packed: MemRefType, lanes: int | None
    ) -> str:
        """Return the kernel that packs, as text.

        Args:
            arguments: what it takes, %packed among them.
            source: the name of B among these.
            packed: the type of %packed.
            lanes: of a subgroup, of which each packs a channel; None where a work-group
                of one work-item packs a row of channels.
        """
        rows, cols = self.dimensions
        element, by_rows = self.type.element_type, self.by_rows
        batch, lead = "", ""
        if self.type.get_num_dims() == 3:
            batch, lead = "\n  %batch = simt.workgroup_id z : index", "%batch, "
        one = f"""
    %start = arith.muli %col, %c{self.channel} : index"""
        for t in range(self.channel):  # zeros for rows that B has not
            pair = f"%near{t}, %col" if by_rows else f"%col, %near{t}"
            one += f"""
    %row{t} = arith.addi %first, %c{t} : index
    %in{t} = arith.cmpi ult, %row{t}, %rows : index
    %near{t} = arith.select %in{t}, %row{t}, %c0 : index
    %x{t} = memref.load {source}[{lead}{pair}] : {self.type}
    %y{t} = arith.select %in{t}, %x{t}, %zero : {element}
    %to{t} = arith.addi %start, %c{t} : index
    memref.store %y{t}, %packed[{lead}%channel, %to{t}] : {packed}"""
        if lanes is None:
            columns = f"""
  scf.for %col = %c0 to %cols step %c1 {{{one}
  }}"""
        else:
            columns = f"""
  %group = simt.workgroup_id x : index
  %before = arith.muli %group, %c{lanes} : index
  %lane = simt.lane_id : index
  %col = arith.addi %before, %lane : index
  %inside = arith.cmpi slt, %col, %cols : index
  scf.if %inside {{{one}
  }}"""
        body = f"""{batch}
  %rows = memref.dim {source}, %c{rows} : {self.type}
  %cols = memref.dim {source}, %c{cols} : {self.type}
  %zero = arith.constant {zero(str(element))} : {element}
  %channel = simt.workgroup_id {"x" if lanes is None else "y"} : index
  %first = arith.muli %channel, %c{self.channel} : index{columns}"""
        return kernel(arguments, body)


def packable(
    func: FuncOp,
    loads: Sequence[coopmatrix.LoadOp],
    others: tuple[type[Operation], ...] = (),
) -> PackedB:
    """Return the B that some loads of a kernel are of.

    Operations of `others` may use B, too.

    Raises:
        Refused: it cannot be packed before.
    """
    first, memory = loads[0], loads[0].memory
    if not isinstance(memory, BlockArgument) or memory.block is not func.body.block:
        raise Refused(first, "expected B to be an argument of the kernel")
    if first.layout.data in coopmatrix.BLOCKED:
        raise Refused(first, "expected B by rows or by columns, got it in blocks")
    found = PackedB(func, memory, tuple(loads))
    for load in loads:
        if load.memory is not memory or load.layout != first.layout:
            reason = "expected one B in one layout of memory, got another"
            raise Refused(load, reason)
        if ValueFacts().divisor(found.place(load)[0]) % found.channel:
            raise Refused(
                load,
                f"expected rows of B from a multiple of {found.channel} on, as a "
                f"channel has {found.channel} rows",
            )
    for use in memory.uses:
        if use.operation not in loads and not isinstance(use.operation, others):
            reason = "B is packed in advance, so only loads of it are supported"
            raise Refused(use.operation, reason)
    return found
