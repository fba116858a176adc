"""A kernel that packs B, for a kernel that loads it packed: decided, then made.

Element (k, n) goes to [k / w, n * w + k % w], w the elements of a channel of 32 bits;
where w does not divide K, the rest of the last channels is zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    i32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Layout, Use
from coopc.dialects.narrow import is_memref
from coopc.interface import PACKING_ENTRY
from coopc.passes.khr.code import Code
from coopc.passes.khr.layouts import channels, layouts_of
from coopc.passes.khr.scalar_forms import constant


@dataclass(frozen=True, slots=True)
class Refused:
    """Why B cannot be packed before."""

    op: Operation
    reason: str


def wants_packed(op: Operation, device: Device) -> bool:
    """Whether an operation loads a matrix that the device wants packed."""
    if not isinstance(op, coopmatrix.LoadOp) or op.matrix.use.data is not Use.B:
        return False
    has = layouts_of(op.matrix, device)
    if op.layout_name is not None:
        return False
    return Layout.PACKED in has and op.layout_in_memory not in has


def planned(func: FuncOp, device: Device) -> Packing | Refused | None:
    """What is packed before a kernel runs, or why not; None if it wants nothing so."""
    loads = [
        op
        for op in func.walk()
        if isinstance(op, coopmatrix.LoadOp) and wants_packed(op, device)
    ]
    if not loads:
        return None
    first, memory = loads[0], loads[0].memory
    if not isinstance(memory, BlockArgument) or memory.block is not func.body.block:
        return Refused(first, "expected B to be an argument of the kernel")
    for load in loads:
        if load.memory is not memory or load.layout != first.layout:
            reason = "expected one B in one layout of memory, got another"
            return Refused(load, reason)
        many = channels(load.matrix.element_bits)
        if not is_multiple(_place(load)[0], many):
            reason = (
                f"expected rows of B from a multiple of {many} on, as a channel has"
            )
            return Refused(load, f"{reason} {many} rows")
    for use in memory.uses:
        if use.operation not in loads:
            reason = "expected nothing but loads of B, which is packed before"
            return Refused(use.operation, reason)
    packing = Packing(func, memory, tuple(loads), device.subgroup_size)
    if packing.sizes_the_grid:
        return Refused(func, "expected a grid that does not depend on the sizes of B")
    return packing


def is_multiple(value: SSAValue, number: int) -> bool:
    """Whether an index is a multiple of a number, for sure."""
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr(value=constant)):
            return constant.data % number == 0
        case arith.MuliOp(lhs=x, rhs=y):
            return is_multiple(x, number) or is_multiple(y, number)
        case arith.AddiOp(lhs=x, rhs=y):
            return is_multiple(x, number) and is_multiple(y, number)
        case Block() as block if isinstance(loop := block.parent_op(), scf.ForOp):
            return value is block.args[0] and all(
                is_multiple(each, number) for each in (loop.lb, loop.step)
            )
        case _:
            return False


def _place(load: coopmatrix.LoadOp) -> tuple[SSAValue, SSAValue]:
    """Row and column of B where a load begins."""
    first, second = load.positions[-2:]
    return (first, second) if _by_rows(load) else (second, first)


def _by_rows(load: coopmatrix.LoadOp) -> bool:
    return load.layout.data is Layout.ROW_MAJOR


@dataclass(frozen=True, slots=True)
class Packing:
    """A B that is packed before a kernel runs."""

    func: FuncOp
    memory: BlockArgument
    loads: tuple[coopmatrix.LoadOp, ...]
    lanes: int
    """Subgroup size where the kernel does not say."""

    @property
    def type(self) -> MemRefType:
        """The type of B as it is."""
        assert is_memref(self.memory.type), self.memory
        return self.memory.type

    @property
    def many(self) -> int:
        """Elements of a channel."""
        return channels(self.loads[0].matrix.element_bits)

    @property
    def dimensions(self) -> tuple[int, int]:
        """The dimensions of B that are rows (K) and columns (N)."""
        rank = self.type.get_num_dims()
        found = rank - 2, rank - 1
        return found if _by_rows(self.loads[0]) else (found[1], found[0])

    @property
    def packed_type(self) -> MemRefType:
        """The type of B packed."""
        shape = list(self.type.get_shape())
        rows, cols = (shape[dimension] for dimension in self.dimensions)
        shape[-2:] = (
            rows if rows == DYNAMIC_INDEX else -(-rows // self.many),
            cols if cols == DYNAMIC_INDEX else cols * self.many,
        )
        space = self.type.memory_space
        return MemRefType(self.type.element_type, shape, memory_space=space)

    @property
    def sizes_the_grid(self) -> bool:
        """Whether the grid of the kernel depends on the sizes of B."""
        grid = self.func.attributes.get(simt.GRID)
        if not isinstance(grid, AffineMapAttr):
            return False
        sizes = simt.kernel_sizes(self.func)
        used = grid.data.used_dims()
        return any(sizes[at].argument == self.memory.index for at in used)

    def rewrite(self) -> None:
        """Insert the kernel that packs, and load what it packed."""
        Rewriter.insert_op(self.kernel(), InsertPoint.before(self.func))
        new_type = self.packed_type
        for load in self.loads:
            code = Code(InsertPoint.before(load))
            row, col = _place(load)
            channel, _ = code.div_mod(row, self.many)
            place = code.mul(col, self.many)
            channel.name_hint, place.name_hint = "channel", "place"
            places = [*load.positions[:-2], channel, place]
            self._replace(load, places, code)
        simt.forget_sizes(self.func, self.memory.index)
        Rewriter.replace_value_with_new_type(self.memory, new_type)
        self.func.update_function_type()

    def _replace(
        self, load: coopmatrix.LoadOp, places: list[SSAValue], code: Code
    ) -> None:
        new = load.clone()
        new.properties["layout"] = coopmatrix.LayoutAttr(Layout.PACKED)
        new.operands = [load.memory, *places]
        new.result.name_hint = load.result.name_hint
        code.do(new)
        load.result.replace_all_uses_with(new.result)
        Rewriter.erase_op(load)

    def kernel(self) -> FuncOp:
        """The kernel that packs: a work-item for each channel."""
        block = Block(arg_types=[self.type, self.packed_type])
        source, target = block.args
        source.name_hint = self.memory.name_hint or "b"
        target.name_hint = f"{source.name_hint}_packed"
        lanes = simt.kernel_of(self.func).subgroup_size or self.lanes
        self._body(Code(InsertPoint.at_end(block)), source, target, lanes)
        func = FuncOp(
            self.func.sym_name.data + PACKING_ENTRY,
            FunctionType.from_lists([x.type for x in block.args], []),
            Region(block),
        )
        func.attributes |= {
            simt.KERNEL: UnitAttr(),
            simt.SUBGROUP_SIZE: IntegerAttr(lanes, i32),
            simt.WORK_GROUP_SIZE: DenseArrayBase.from_list(i32, [lanes]),
            simt.GRID: AffineMapAttr(self._grid(lanes)),
        }
        func.location = self.func.location
        return func

    def _body(self, code: Code, source: SSAValue, target: SSAValue, lanes: int) -> None:
        k, n = self.dimensions
        channel = code.get(simt.WorkgroupIdOp(simt.Dimension.Y))
        group = code.get(simt.WorkgroupIdOp(simt.Dimension.X))
        col = code.add(code.mul(group, lanes), code.get(simt.LaneIdOp()))
        lead: list[SSAValue] = []
        if self.type.get_num_dims() == 3:
            lead.append(code.get(simt.WorkgroupIdOp(simt.Dimension.Z)))
        element = self.type.element_type
        rows, cols = (
            code.get(memref.DimOp(source, code.index(dimension)))
            for dimension in (k, n)
        )

        def one(code: Code) -> None:
            for number in range(self.many):
                row = code.add(code.mul(channel, self.many), code.index(number))
                at = [*lead, row, col] if k < n else [*lead, col, row]
                value = code.choose(
                    code.less(row, rows),
                    element,
                    lambda code, at=at: code.get(memref.LoadOp.get(source, at)),
                    lambda code: constant(element, 0, code.get),
                )
                place = code.add(code.mul(col, self.many), code.index(number))
                code.do(memref.StoreOp.get(value, target, [*lead, channel, place]))

        code.when(code.less(col, cols), one)
        code.do(ReturnOp())

    def _grid(self, lanes: int) -> AffineMap:
        """From the sizes of B and of B packed to work-groups."""
        shape = self.type.get_shape()
        numbers = [at for at, size in enumerate(shape) if size == DYNAMIC_INDEX]

        def extent(dimension: int) -> AffineExpr:
            if shape[dimension] == DYNAMIC_INDEX:
                return AffineDimExpr(numbers.index(dimension))
            return AffineConstantExpr(shape[dimension])

        k, n = self.dimensions
        groups = [_groups(extent(n), lanes), _groups(extent(k), self.many)]
        if len(shape) == 3:
            groups.append(extent(0))
        dynamic = self.packed_type.get_shape().count(DYNAMIC_INDEX)
        return AffineMap(len(numbers) + dynamic, 0, tuple(groups))


def _groups(size: AffineExpr, of: int) -> AffineExpr:
    """How many groups of a size cover another."""
    if isinstance(size, AffineConstantExpr):
        return AffineConstantExpr(-(-size.value // of))
    return size.ceil_div(of)
