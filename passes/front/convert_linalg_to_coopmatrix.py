"""convert-linalg-to-coopmatrix: make a kernel of each function that multiplies.

Before:  a func.func of one linalg.matmul (or a linalg.generic that is one) on memrefs
         that are its arguments, perhaps after a linalg.fill of the output
After:   a kernel with a grid: a work-group computes a tile of C in a loop over K, by
         coopmatrix operations; accesses that may leave a memref are checked
Fails:   where an operation of such a function is not one of them, naming it
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from coopc.device import device
from coopc.dialects import coopmatrix, simt
from coopc.plan.matmul_tile import ANY, matmul_tile
from coopc.rewrite.matmul_plan import (
    Plan,
    Refused,
    Tile,
    element_names,
    planned,
    signs,
    staged_by,
)
from coopc.rewrite.multiplication import Multiplication, Operand


@dataclass
class KernelBuilder:
    """The body of one kernel, built from its plan."""

    plan: Plan
    ops: list[Operation] = field(default_factory=list[Operation])
    constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])

    def add(self, op: Operation, name: str) -> SSAValue:
        """Append an operation, and return its result under a name."""
        self.ops.append(op)
        op.results[0].name_hint = name
        return op.results[0]

    def index(self, number: int) -> SSAValue:
        """Return a constant index."""
        if number not in self.constants:
            op = arith.ConstantOp(IntegerAttr(number, IndexType()))
            self.constants[number] = self.add(op, f"c{number}")
        return self.constants[number]

    def position(self, dimension: simt.Dimension, step: int, name: str) -> SSAValue:
        """Return where the tile of the work-group begins along a dimension."""
        group = self.add(simt.WorkgroupIdOp(dimension), f"group_{dimension.value}")
        if step == 1:
            return group
        return self.add(arith.MuliOp(group, self.index(step)), name)

    def size(self, operand: Operand, dimension: int, name: str) -> SSAValue:
        """Return the size of a dimension of a memref."""
        size = operand.type.get_shape()[dimension]
        if size != DYNAMIC_INDEX:
            return self.index(size)
        where = self.index(dimension)
        return self.add(memref.DimOp(operand.memory, where), name)

    def build(self) -> list[Operation]:
        """Return the operations of the kernel."""
        plan, tile = self.plan, self.plan.tile
        found = plan.multiplication
        row = self.position(simt.Dimension.Y, tile.m, "row")
        col = self.position(simt.Dimension.X, tile.n, "col")
        batch = self.position(simt.Dimension.Z, 1, "") if found.batched else None
        end = self.size(found.a, found.a.dimensions[1], "k_end")
        start, step = self.index(0), self.index(tile.k)
        c_type = matrix_of(found.c, (tile.m, tile.n), coopmatrix.Use.ACC)
        if plan.fill is None:
            first = self.add(access(plan, found.c, c_type, (row, col), batch), "init")
        else:
            first = self.add(coopmatrix.FillOp(plan.fill, c_type), "init")
        loop = self._loop((start, end, step), first, (row, col), batch)
        total = self.add(loop, "sum")
        layout, places = placed(found.c, (row, col), batch)
        self.ops.append(
            coopmatrix.StoreOp(
                total, found.c.memory, places, layout, plan.checked(found.c, c_type)
            )
        )
        self.ops.append(ReturnOp())
        return self.ops

    def _loop(
        self,
        bounds: tuple[SSAValue, SSAValue, SSAValue],
        first: SSAValue,
        tile_at: tuple[SSAValue, SSAValue],
        batch: SSAValue | None,
    ) -> scf.ForOp:
        """Return the loop over K."""
        found, tile = self.plan.multiplication, self.plan.tile
        row, col = tile_at
        block = Block(arg_types=(IndexType(), first.type))
        k, total = block.args
        k.name_hint, total.name_hint = "k", "acc"
        a_type = matrix_of(found.a, (tile.m, tile.k), coopmatrix.Use.A)
        b_type = matrix_of(found.b, (tile.k, tile.n), coopmatrix.Use.B)
        a = access(self.plan, found.a, a_type, (row, k), batch)
        b = access(self.plan, found.b, b_type, (k, col), batch)
        a.result.name_hint, b.result.name_hint = "a_tile", "b_tile"
        signed = signs(found)
        multiply = coopmatrix.MulAddOp(a.result, b.result, total, signed=signed)
        multiply.result.name_hint = "next"
        block.add_ops((a, b, multiply, scf.YieldOp(multiply.result)))
        return scf.ForOp(*bounds, [first], Region(block))


def matrix_of(
    operand: Operand, shape: tuple[int, int], use: coopmatrix.Use
) -> coopmatrix.MatrixType:
    """Return the type of a tile of an operand."""
    element: Attribute = operand.type.get_element_type()
    return coopmatrix.MatrixType.of(*shape, element, use)


def placed(
    operand: Operand, at: tuple[SSAValue, SSAValue], batch: SSAValue | None
) -> tuple[coopmatrix.Layout, tuple[SSAValue, ...]]:
    """Return the layout and the positions of the tile at (row, column)."""
    row, col = at
    places = (col, row) if operand.transposed else (row, col)
    if batch is not None:
        places = (batch, *places)
    layout = coopmatrix.Layout
    return (layout.COL_MAJOR if operand.transposed else layout.ROW_MAJOR), places


def access(
    plan: Plan,
    operand: Operand,
    type: coopmatrix.MatrixType,
    at: tuple[SSAValue, SSAValue],
    batch: SSAValue | None,
) -> coopmatrix.LoadOp:
    """Return the load of the tile at (row, column)."""
    layout, places = placed(operand, at, batch)
    return coopmatrix.LoadOp(
        operand.memory, places, type, layout, plan.checked(operand, type)
    )


def grid_of(func: FuncOp, plan: Plan) -> AffineMap:
    """Return the map from the sizes of a kernel to its work-groups."""
    numbers: dict[tuple[SSAValue, int], int] = {}
    for argument in func.body.block.args:
        if isa(argument.type, MemRefType):
            for dimension, size in enumerate(argument.type.get_shape()):
                if size == DYNAMIC_INDEX:
                    numbers[argument, dimension] = len(numbers)
        elif isinstance(argument.type, IndexType):
            numbers[argument, 0] = len(numbers)
    c, tile = plan.multiplication.c, plan.tile

    def extent(dimension: int) -> AffineExpr:
        static = c.type.get_shape()[dimension]
        if static != DYNAMIC_INDEX:
            return AffineConstantExpr(static)
        return AffineDimExpr(numbers[c.memory, dimension])

    rows, cols = c.dimensions
    groups = [tiles(extent(cols), tile.n), tiles(extent(rows), tile.m)]
    if c.batched:
        groups.append(extent(0))
    return AffineMap(len(numbers), 0, tuple(groups))


def tiles(size: AffineExpr, tile: int) -> AffineExpr:
    """Return how many tiles cover a size."""
    if isinstance(size, AffineConstantExpr):
        return AffineConstantExpr(-(-size.value // tile))
    return size.ceil_div(tile)


def rewrite(func: FuncOp, plan: Plan) -> None:
    """Make a kernel of a function, as planned."""
    block = func.body.block
    source = next(op for op in block.ops if op.name.startswith("linalg."))
    built = KernelBuilder(plan).build()
    kept = [op for op in block.ops if isinstance(op, arith.ConstantOp)]
    for op in reversed(list(block.ops)):
        if op not in kept:
            block.detach_op(op)
            op.drop_all_references()
    for op in built:
        op.location = source.location
        block.add_op(op)
    for op in kept:
        if not op.result.uses:
            op.detach()
            op.erase()
    func.attributes[simt.KERNEL] = UnitAttr()
    func.attributes[simt.GRID] = AffineMapAttr(grid_of(func, plan))
    demand_equal_sizes(func, plan.multiplication)


def demand_equal_sizes(func: FuncOp, found: Multiplication) -> None:
    """Write on a kernel which sizes of its arguments are the same."""
    if sizes := found.equal_sizes:
        func.attributes[simt.EQUAL_SIZES] = simt.equal_sizes_attr(sizes)


@dataclass(frozen=True)
class ConvertLinalgToCoopmatrixPass(ModulePass):
    """Make a kernel of each function that multiplies matrices with linalg."""

    name = "convert-linalg-to-coopmatrix"

    tile: tuple[int, ...] = ()
    """m, n and k: what a work-group computes at a time; the device of `simt.target`
    decides without it."""

    def __post_init__(self) -> None:
        if self.tile and (len(self.tile) != 3 or min(self.tile) < 1):
            raise ValueError(f"expected a tile of m, n and k, got {self.tile}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Plan every function first, then rewrite them."""
        plans: list[tuple[FuncOp, Plan]] = []
        for func in op.ops:
            if not isinstance(func, FuncOp) or not func.body.blocks:
                continue
            match planned(func, Tile(*(self.tile or ANY))):
                case None:
                    pass
                case Plan() as plan:
                    plans.append((func, self._sized(plan, simt.target_of(op))))
                case Refused(culprit, reason):
                    culprit.emit_error(reason, PassFailedException(reason))
        for func, plan in plans:
            rewrite(func, plan)

    def _sized(self, plan: Plan, target: simt.TargetAttr | None) -> Plan:
        """Return a plan with the tile and the accesses that the target wants."""
        if target is None:
            return plan
        wanted = device(target.device.data)
        plan = replace(plan, staged=staged_by(wanted, plan.multiplication))
        if self.tile:
            return plan
        sizes = matmul_tile(wanted, element_names(plan))
        return replace(plan, tile=Tile(*sizes))
