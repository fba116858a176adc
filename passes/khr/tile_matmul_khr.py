"""tile-matmul-khr: a fast kernel of each function that multiplies.

Before:  a func.func of one linalg.matmul (or a linalg.generic that is one) on memrefs
         that are its arguments, perhaps after a linalg.fill of the output
After:   a kernel with a grid: a work-group brings tiles of A and B to work-group memory
         and its subgroups multiply them; at the edges of C, or where a row is no
         multiple of what is copied at a time, with checks
Fails:   where an operation of such a function is not one of them, where the tiles do
         not suit the device, or do not fit its work-group memory; naming the operation
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    NoneAttr,
    UnitAttr,
    i32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.passes.front import convert_linalg_to_coopmatrix as front
from coopc.passes.khr.code import Code
from coopc.passes.khr.gemm_kernel import GemmKernel, Place
from coopc.passes.khr.gemm_panel import Tile, allocation, size_of
from coopc.passes.khr.gemm_slices import SlicedKernel
from coopc.plan import khr_gemm
from coopc.plan.khr_gemm import GemmPlan, GemmTiles, Panel
from coopc.remarks import remark
from coopc.rewrite.device_option import device_of
from coopc.rewrite.matrix_offers import element_name
from coopc.rewrite.multiplication import Multiplication, Operand


@dataclass(frozen=True, slots=True)
class Decision:
    """What a function becomes."""

    front: front.Plan
    plan: GemmPlan
    device: Device


def decide(
    func: FuncOp, device: Device, given: GemmTiles | None
) -> Decision | front.Refused | None:
    """Return what a function becomes, or why it cannot; None if it stays as it is.

    Args:
        func: the function.
        device: by which it is done.
        given: the tiles that are asked for; the first of the device's that suit it
            without.
    """
    m, n = (1, 1) if given is None else given.group
    found = front.planned(func, front.Tile(m, n, 1))
    if not isinstance(found, front.Plan):
        return found
    multiplication = found.multiplication
    op = next(x for x in func.body.ops if x.name.startswith("linalg."))
    if (reason := why_no_memory(multiplication)) is not None:
        return front.Refused(op, reason)
    elements = names(multiplication)
    transposed = multiplication.a.transposed, multiplication.b.transposed
    reason = f"expected tiles for {device.name}, which has none by default"
    tried = khr_gemm.defaults(device, elements) if given is None else (given,)
    for tiles in tried:
        plan = khr_gemm.plan(tiles, device, elements, transposed)
        if isinstance(plan, GemmPlan):
            if (
                given is None
                and tiles.sliced
                and not suits_slices(multiplication, plan)
            ):
                continue
            tile = front.Tile(*tiles.group, tiles.step)
            return Decision(replace(found, tile=tile), plan, device)
        reason = plan
    return front.Refused(op, reason)


def why_no_memory(found: Multiplication) -> str | None:
    """Return why A or B cannot be copied row by row, or None."""
    for operand in (found.a, found.b):
        strides = operand.type.get_strides()
        if strides is None or strides[-1] != 1:
            return (
                f"expected a memref whose last stride is 1, got {operand.type}: "
                "convert-linalg-to-coopmatrix takes any"
            )
    return None


def names(found: Multiplication) -> tuple[str, str, str]:
    """Return the element types of A, B and C, with signs."""
    a, b, c = (
        element_name(x.type.get_element_type(), x.signed)
        for x in (found.a, found.b, found.c)
    )
    return a, b, c


# --- where the tiles are inside of memory ------------------------------------------


def is_aligned(operand: Operand, per_piece: int) -> bool:
    """Return whether all rows but for their number begin at pieces, as far as known.

    The size of a row of a memref in row-major order is not asked here.
    """
    type = operand.type
    if isinstance(type.layout, NoneAttr):
        return True
    strides, offset = type.get_strides(), type.layout.get_offset()
    assert strides is not None, type
    known = (*strides[:-1], offset)
    return all(x is not None and x % per_piece == 0 for x in known)


def suits_slices(found: Multiplication, plan: GemmPlan) -> bool:
    """Return whether slices of B are a good default.

    Where all copies are known to be whole pieces inside of memory, and A is contiguous
    along K: else its lines are read whole without.
    """
    (m, n), step = plan.tiles.group, plan.tiles.step
    axes = (found.c, 0, m), (found.c, 1, n), (found.a, 1, step)
    sizes = [(x.type.get_shape()[x.dimensions[at]], of) for x, at, of in axes]
    return (
        not found.a.transposed
        and all(size != DYNAMIC_INDEX and size % of == 0 for size, of in sizes)
        and is_aligned(found.a, plan.a.per_piece)
        and is_aligned(found.b, plan.b.per_piece)
    )


def inside(
    code: Code, decision: Decision, row: SSAValue, col: SSAValue
) -> SSAValue | bool:
    """Insert whether all that a work-group copies are whole pieces inside of memory."""
    found, plan = decision.front.multiplication, decision.plan
    (m, n), step = plan.tiles.group, plan.tiles.step
    answers: list[SSAValue | bool] = [
        ends_inside(code, found.c, 0, row, m),
        ends_inside(code, found.c, 1, col, n),
        is_multiple(code, found.a, found.a.dimensions[1], step, 1),
    ]
    for operand, panel in ((found.a, plan.a), (found.b, plan.b)):
        answers.append(is_aligned(operand, panel.per_piece))
        if isinstance(operand.type.layout, NoneAttr):
            last = operand.type.get_num_dims() - 1
            if last != operand.dimensions[operand is found.a] or step % panel.per_piece:
                answers.append(is_multiple(code, operand, last, panel.per_piece, 0))
    if False in answers:
        return False
    return code.every([x for x in answers if isinstance(x, SSAValue)]) or True


def ends_inside(
    code: Code, c: Operand, axis: int, start: SSAValue, size: int
) -> SSAValue | bool:
    """Insert whether a tile ends inside of C along an axis."""
    dimension = c.dimensions[axis]
    whole = c.type.get_shape()[dimension]
    if whole != DYNAMIC_INDEX and whole % size == 0:
        return True
    end = code.add(start, size)
    return code.get(arith.CmpiOp(end, size_of(code, c, dimension), "sle"))


def is_multiple(
    code: Code, operand: Operand, dimension: int, of: int, least: int
) -> SSAValue | bool:
    """Insert whether a size is a multiple of a number, and at least so many of it."""
    size = operand.type.get_shape()[dimension]
    if size != DYNAMIC_INDEX:
        return size % of == 0 and size >= least * of
    number = size_of(code, operand, dimension)
    _, rest = code.div_mod(number, of)
    whole = code.get(arith.CmpiOp(rest, code.index(0), "eq"))
    if not least:
        return whole
    enough = code.less(code.index(least * of - 1), number)
    return code.get(arith.AndIOp(whole, enough))


# --- the kernel --------------------------------------------------------------------


def tile_numbers(code: Code, tiles: GemmTiles) -> tuple[SSAValue, SSAValue]:
    """Insert which tile of C the work-group computes: its row and column of tiles.

    In bands of some rows of tiles, work-groups follow each other column by column.
    """
    x, y = simt.Dimension.X, simt.Dimension.Y
    col, row = code.get(simt.WorkgroupIdOp(x)), code.get(simt.WorkgroupIdOp(y))
    if not tiles.band:
        return row, col
    cols, rows = code.get(simt.NumWorkgroupsOp(x)), code.get(simt.NumWorkgroupsOp(y))
    number = code.add(code.get(arith.MuliOp(row, cols)), col)
    size = code.mul(cols, tiles.band)
    band = code.get(arith.DivUIOp(number, size))
    within = code.get(arith.RemUIOp(number, size))
    first = code.mul(band, tiles.band)
    left = code.get(arith.SubiOp(rows, first))
    height = code.get(arith.MinSIOp(left, code.index(tiles.band)))
    down = code.get(arith.RemUIOp(within, height))
    return code.add(first, down), code.get(arith.DivUIOp(within, height))


def place(code: Code, decision: Decision) -> Place:
    """Insert where a work-item is."""
    tiles = decision.plan.tiles
    row, col = tile_numbers(code, tiles)
    batched = decision.front.multiplication.batched
    batch = code.get(simt.WorkgroupIdOp(simt.Dimension.Z)) if batched else None
    item = code.get(simt.LocalIdOp(simt.Dimension.X))
    across = tiles.group[1] // tiles.subgroup[1]
    sub_row, sub_col = code.div_mod(code.get(simt.SubgroupIdOp()), across)
    m, n = tiles.group
    return Place(item, sub_row, sub_col, code.mul(row, m), code.mul(col, n), batch)


def build(code: Code, decision: Decision) -> None:
    """Insert the body of a kernel."""
    found, plan = decision.front.multiplication, decision.plan

    def tile(operand: Operand, use: coopmatrix.Use, panel: Panel, copies: int) -> Tile:
        memory = code.get(allocation(panel, copies))
        memory.name_hint = f"{use.value}_tiles"
        return Tile(operand, use, panel, plan.work_items, memory)

    a_copies, b_copies = plan.copies
    a = tile(found.a, coopmatrix.Use.A, plan.a, a_copies)
    b = tile(found.b, coopmatrix.Use.B, plan.b, b_copies)
    at = place(code, decision)
    fill, signed = decision.front.fill, front.signs(found)
    kind = SlicedKernel if plan.tiles.sliced else GemmKernel
    kernel = kind(found, plan, a, b, at, fill, signed)
    is_inside = inside(code, decision, at.row, at.col)
    if isinstance(is_inside, SSAValue):
        code.branch(is_inside, kernel.fast, kernel.slow)
    elif is_inside:
        kernel.fast(code)
    else:
        kernel.slow(code)
    code.do(ReturnOp())


def rewrite(func: FuncOp, decision: Decision) -> None:
    """Make a kernel of a function, as decided."""
    block = func.body.block
    kept = [op for op in block.ops if isinstance(op, arith.ConstantOp)]
    old = [op for op in block.ops if op not in kept]
    source = next(op for op in old if op.name.startswith("linalg."))
    build(Code(InsertPoint.at_end(block)), decision)
    for op in reversed(old):
        op.detach()
        op.erase()
    for op in func.body.walk():
        if op not in kept:
            op.location = source.location
    for op in kept:
        if not op.result.uses:
            op.detach()
            op.erase()
    func.attributes[simt.KERNEL] = UnitAttr()
    func.attributes[simt.GRID] = AffineMapAttr(front.grid_of(func, decision.front))
    size = DenseArrayBase.from_list(i32, [decision.plan.work_items, 1, 1])
    func.attributes[simt.WORK_GROUP_SIZE] = size
    lanes = decision.device.subgroup_size
    func.attributes[simt.SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
    front.demand_equal_sizes(func, decision.front.multiplication)


@dataclass(frozen=True)
class TileMatmulKhrPass(ModulePass):
    """Make a fast kernel of each function that multiplies matrices with linalg."""

    name = "tile-matmul-khr"

    device: str | None = None
    """A name in `coopc.device.DEVICES`; the module's `simt.target` without it."""
    group: tuple[int, ...] = ()
    """M and N of a work-group; the device's tiles without, and without `subgroup`."""
    subgroup: tuple[int, ...] = ()
    """M and N of a subgroup."""
    step: int = 0
    """K of what is in work-group memory at a time."""
    stages: int = 2
    """1 or 2 tiles of A and of B in work-group memory."""
    gaps: bool = True
    """Whether rows in work-group memory have gaps, against bank conflicts."""
    band: int = 0
    """Rows of tiles in which work-groups go column by column; 0 for row by row."""
    unroll: bool = False
    """Whether the driver is asked to write out the loop along K, or not to."""
    sliced: bool = False
    """Whether B comes in slices of the K of one multiplication; with 1 stage."""
    remark: bool = False
    """Whether functions stay as they are, and a remark says which would be faster."""

    def __post_init__(self) -> None:
        given = (self.group, self.subgroup)
        some, every = any((*given, self.step)), [len(x) for x in given] == [2, 2]
        if some and (not every or self.step < 1):
            raise ValueError(
                "expected group and subgroup of m and n, and a step, or none of "
                f"them, got {self.group}, {self.subgroup} and {self.step}"
            )
        if self.band < 0:
            raise ValueError(f"expected a band of at least 0, got {self.band}")

    @property
    def tiles(self) -> GemmTiles | None:
        """The tiles that are asked for."""
        if not self.group:
            return None
        (m, n), (sub_m, sub_n) = self.group, self.subgroup
        return GemmTiles(
            (m, n),
            (sub_m, sub_n),
            self.step,
            self.stages,
            self.gaps,
            self.band,
            self.unroll,
            self.sliced,
        )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide for every function first, then rewrite them."""
        device = device_of(self.device, op, self.name)
        decisions: list[tuple[FuncOp, Decision]] = []
        for func in op.ops:
            if not isinstance(func, FuncOp) or not func.body.blocks:
                continue
            match decide(func, device, self.tiles):
                case Decision() if self.remark and device.name in khr_gemm.FASTER:
                    remark(
                        func,
                        "one subgroup a work-group multiplies; with staged=true "
                        "several share tiles in work-group memory, which is far "
                        f"faster on {device.name}",
                    )
                case _ if self.remark:
                    pass
                case None:
                    pass
                case Decision() as decision:
                    decisions.append((func, decision))
                case front.Refused(culprit, reason):
                    error = PassFailedException(reason)
                    culprit.emit_error(reason, error)
        for func, decision in decisions:
            rewrite(func, decision)
