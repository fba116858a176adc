"""convert-coopmatrix-to-amx: matrices become tiles of a processor with AMX.

Before:  coopmatrix operations on matrices of a subgroup, which is one core
After:   each matrix is tiles of at most 16 rows of 64 bytes, through loops and
         branches; zero fills, products, loads and stores are operations of amx; what
         tiles cannot do is done in scratch memory on the stack
Fails:   for types that AMX does not hold or multiply, saturation, volatile access,
         other scopes, matrices passed to functions or selected, atomics, reductions,
         and elements that work-items own.  Nothing is changed then

Operations on elements of matrices, as tiles have none: through scratch memory.

    %y = coopmatrix.neg %x    store %x, %scratch; loop over it; %y = load %scratch

What comes out is loads and stores of whole matrices, which are then cut into tiles, and
loops over the elements that a matrix has: padding stays zero.

Loads and stores of matrices as loads and stores of tiles.

Where memory is as a tile wants it, tiles are read and written there; else through
scratch memory, element by element, once a tile: B is packed on the way in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import amx, coopmatrix
from coopc.dialects.amx import element_bytes
from coopc.dialects.coopmatrix import (
    MatrixType,
    Operand,
    Use,
    matrix_type,
)
from coopc.ir.builder import BoundedIndex, Builder, Built, Values
from coopc.ir.control_flow import block_arguments
from coopc.ir.element_access import (
    Element,
    checks_of,
    positions_of,
    view_elements,
)
from coopc.ir.split_values import Parts, Rule, Splitter, split_values
from coopc.passes.coopmatrix.elementwise import elementwise
from coopc.passes.coopmatrix.split_coopmatrix.cutting import memory_offset
from coopc.passes.cpu.convert_coopmatrix_to_amx.refusal import is_zero, refusal
from coopc.passes.cpu.convert_coopmatrix_to_amx.row_slices import (
    Scratch,
    Slices,
    origin,
)
from coopc.plan.amx_tiles import TileCut, TileGrid, grid, why_staged

Compute = Callable[[Builder, tuple[SSAValue, SSAValue], Values], SSAValue]

"""From the (row, column) of an element and the elements there to the new element."""


def stage_elements(op: Operation, scratch: Scratch) -> None:
    """Replace an operation that gives a matrix, element by element."""
    b = Builder.at(op)
    result = matrix_type(op.results[0])
    compute, matrices = _rule(op)
    memories: list[SSAValue] = []
    for number, value in enumerate(matrices):
        memory = scratch.of_matrix(b, matrix_type(value), str(number))
        b.effect(coopmatrix.StoreOp(value, memory, origin(b)))
        memories.append(memory)
    target = memories[0] if memories else None
    if not memories or matrix_type(matrices[0]).element_type != result.element_type:
        target = scratch.of_matrix(b, result, "result")
    assert target is not None
    over_elements(b, result, target, memories, compute)
    load = coopmatrix.LoadOp(target, origin(b), result)
    load.location = op.location
    Rewriter.replace_op(op, load)


def over_elements(
    b: Builder,
    type: MatrixType,
    target: SSAValue,
    memories: Sequence[SSAValue],
    compute: Compute,
) -> None:
    """Compute each element of a matrix in memory from those of others."""
    rows, cols = type.shape

    def each(row: BoundedIndex, col: BoundedIndex) -> None:
        place = b.index(row), b.index(col)
        loaded = tuple(
            b.effect(memref.LoadOp.get(memory, place)).results[0] for memory in memories
        )
        b.effect(memref.StoreOp.get(compute(b, place, loaded), target, place))

    nest(b, rows, cols, each)


def nest(
    b: Builder, rows: int, cols: int, each: Callable[[BoundedIndex, BoundedIndex], None]
) -> None:
    """Build two loops, over rows and columns."""

    def row_body(row: BoundedIndex, _: Values) -> Values:
        def col_body(col: BoundedIndex, _: Values) -> Values:
            each(row, col)
            return ()

        return b.loop(cols, (), col_body, "col")

    b.loop(rows, (), row_body, "row")


def _rule(op: Operation) -> tuple[Compute, tuple[SSAValue, ...]]:
    """Return how an element is computed, and the matrices that it is computed from."""
    if isinstance(op, coopmatrix.FillOp):
        value = op.value
        return (lambda b, place, x: value), ()

    def compute(b: Builder, place: tuple[SSAValue, SSAValue], x: Values) -> SSAValue:
        scalars = [y for y in op.operands if not isinstance(y.type, MatrixType)]
        is_apply = isinstance(op, coopmatrix.ApplyOp)
        return elementwise(b, op, (*x, *scalars), place if is_apply else ())

    return compute, tuple(x for x in op.operands if isinstance(x.type, MatrixType))


def is_staged(op: Operation) -> bool:
    """Whether an operation is replaced by `stage_elements`."""
    if isinstance(op, coopmatrix.FillOp):
        return not is_zero(op)
    return isinstance(op, ELEMENT_BY_ELEMENT)


ELEMENT_BY_ELEMENT = (
    coopmatrix.ApplyOp,
    coopmatrix.BitcastOp,
    coopmatrix.ConvertOp,
    coopmatrix.ElementwiseOp,
)


Access = coopmatrix.LoadOp | coopmatrix.StoreOp


def grid_of(type: MatrixType) -> TileGrid:
    """Return the tiles of matrices of a type."""
    is_packed = type.use.data == Use.B
    return grid(*type.shape, element_bytes(type.element_type), is_packed)


def tile_types(type: MatrixType) -> tuple[amx.TileType, ...]:
    """Return the types of the tiles of matrices of a type."""
    element = type.element_type
    return tuple(amx.TileType.of(*cut.shape, element) for cut in grid_of(type).cuts)


@dataclass(slots=True)
class TileAccess:
    """The rules for accesses to memory."""

    scratch: Scratch
    built: Built = field(default_factory=Built)

    def load(self, op: coopmatrix.LoadOp, splitter: Splitter) -> Sequence[Values]:
        """Read each tile of a matrix."""
        staged = reason_to_stage(op) is not None
        parts: list[SSAValue] = []
        cuts = grid_of(op.matrix).cuts
        places = () if staged else [self._place(op, cut) for cut in cuts]
        for part, tile in enumerate(tile_types(op.matrix)):
            if staged:
                memory, where = self._packed_tile(op, cuts[part])
            else:
                memory, where = op.memory, places[part]
            new = splitter.insert(amx.TileLoadOp(memory, where, tile))
            parts.append(new.result)
        return [tuple(parts)]

    def store(self, op: coopmatrix.StoreOp, splitter: Splitter) -> Sequence[Values]:
        """Write each tile of a matrix."""
        staged = reason_to_stage(op) is not None
        cuts = grid_of(op.matrix).cuts
        places = () if staged else [self._place(op, cut) for cut in cuts]
        for part, value in enumerate(splitter.parts(op.value)):
            if not staged:
                splitter.insert(amx.TileStoreOp(op.memory, places[part], value))
                continue
            cut = cuts[part]
            b = Builder.at(op)
            memory = self._memory(b, op, cut)
            b.effect(amx.TileStoreOp(memory, origin(b), value))
            Elements(b, op, cut, memory).store()
        return []

    def _place(self, op: Access, cut: TileCut) -> Values:
        """Return where the first element of a tile is in memory."""
        bits = op.matrix.element_bits
        offset = memory_offset(op.layout.data, cut.row, cut.col, bits)
        *leading, outer, inner = op.positions
        b = Builder.at(op, self.built)
        return (*leading, b.plus(outer, offset[0]), b.plus(inner, offset[1]))

    def _packed_tile(
        self, op: coopmatrix.LoadOp, cut: TileCut
    ) -> tuple[SSAValue, Values]:
        """Gather a tile in scratch memory; return that, and where the tile is in it."""
        b = Builder.at(op)
        memory = self._memory(b, op, cut)
        Elements(b, op, cut, memory).load()
        return memory, origin(b)

    def _memory(self, b: Builder, op: Access, cut: TileCut) -> SSAValue:
        return self.scratch.passing(b, cut.shape, op.matrix.element_type, "tile")


def reason_to_stage(op: Access) -> str | None:
    """Return why an access goes through scratch memory, or None."""
    return why_staged(
        grid_of(op.matrix).cuts,
        str(op.layout.data),
        op.matrix_strides[1],
        op.checked is not None,
    )


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of one tile, in scratch memory and where the access is."""

    b: Builder
    op: Access
    cut: TileCut
    memory: SSAValue
    """The scratch memory, of the shape of the tile."""

    def load(self) -> None:
        """Copy the elements to scratch memory; what is not there is 0."""
        b, cut = self.b, self.cut
        zero = b.constant(self.op.matrix.element_type, 0)
        if cut.is_padded:

            def clear(row: BoundedIndex, col: BoundedIndex) -> None:
                place = b.index(row), b.index(col)
                b.effect(memref.StoreOp.get(zero, self.memory, place))

            nest(b, *cut.shape, clear)

        def copy(row: BoundedIndex, col: BoundedIndex) -> None:
            positions = self._positions(row, col)

            def read() -> Values:
                return (
                    b.effect(memref.LoadOp.get(self.op.memory, positions)).results[0],
                )

            (value,) = b.branch(b.both(*self._checks(positions)), read, (zero,))
            b.effect(memref.StoreOp.get(value, self.memory, self._place(row, col)))

        nest(b, cut.rows, cut.cols, copy)

    def store(self) -> None:
        """Copy the elements from scratch memory, those that are to be written."""
        b = self.b

        def copy(row: BoundedIndex, col: BoundedIndex) -> None:
            positions = self._positions(row, col)

            def write() -> Values:
                place = self._place(row, col)
                value = b.effect(memref.LoadOp.get(self.memory, place)).results[0]
                b.effect(memref.StoreOp.get(value, self.op.memory, positions))
                return ()

            b.branch(b.both(*self._checks(positions)), write)

        nest(b, self.cut.rows, self.cut.cols, copy)

    def _place(self, row: BoundedIndex, col: BoundedIndex) -> Values:
        """Return where an element is in scratch memory."""
        b, packed = self.b, self.cut.packed
        within = b.remainder(row, packed)
        inner = b.add(b.times(col, packed), within)
        return b.index(b.divided(row, packed)), b.index(inner)

    def _positions(self, row: BoundedIndex, col: BoundedIndex) -> Values:
        """Return where an element is in the coordinates of the memref."""
        b, cut = self.b, self.cut
        row, col = b.add(row, BoundedIndex(cut.row)), b.add(col, BoundedIndex(cut.col))
        return positions_of(b, self.op, Element(row, col))

    def _checks(self, positions: Values) -> list[SSAValue]:
        """Return what has to hold of the positions along the axes that are checked."""
        return checks_of(self.b, self.op, positions)


Values = tuple[SSAValue, ...]


def fill(op: coopmatrix.FillOp, splitter: Splitter) -> Sequence[Values]:
    """Zero each tile: a register for each, as accumulators need one of their own."""
    types = tile_types(matrix_type(op.result))
    return [tuple(splitter.insert(amx.TileZeroOp(type)).result for type in types)]


def mul_add(op: coopmatrix.MulAddOp, splitter: Splitter) -> Sequence[Values]:
    """Multiply tile by tile; products that do not wait for each other are in a row."""
    a, b, c = (splitter.parts(x) for x in (op.a, op.b, op.c))
    rows, cols = grid_of(matrix_type(op.c)).shape
    depth = grid_of(matrix_type(op.b)).shape[0]
    totals = list(c)
    for step in range(depth):
        for number in range(rows * cols):
            p, q = divmod(number, cols)
            operands = a[p * depth + step], b[step * cols + q], totals[number]
            totals[number] = splitter.insert(product(op, operands)).results[0]
    return [tuple(totals)]


def product(
    op: coopmatrix.MulAddOp, operands: tuple[SSAValue, SSAValue, SSAValue]
) -> Operation:
    """Return the product of tiles that is part of one of matrices."""
    if matrix_type(op.a).element_bits == 16:
        return amx.TileMulFOp(*operands)
    signs = (op.is_signed(Operand.A), op.is_signed(Operand.B))
    return amx.TileMulIOp(*operands, not signs[0], not signs[1])


def parts_of(root: Operation) -> dict[SSAValue, Parts]:
    """Return the tiles that each matrix in `root` becomes."""
    known: dict[Attribute, Parts] = {}
    found: dict[SSAValue, Parts] = {}
    for op in root.walk():
        for value in (*op.results, *block_arguments(op)):
            if not isinstance(type := value.type, MatrixType):
                continue
            if type not in known:
                known[type] = Parts(tile_types(type), grid_of(type).suffixes)
            found[value] = known[type]
    return found


def through_memory(root: Operation, scratch: Scratch) -> None:
    """Replace what tiles cannot do by loads and stores of matrices, and loops."""
    Slices(scratch).run(root)
    for op in tuple(root.walk()):
        if isinstance(op, coopmatrix.PrefetchOp):
            Rewriter.erase_op(op)
        elif is_staged(op):
            stage_elements(op, scratch)


@dataclass(frozen=True)
class ConvertCoopmatrixToAmxPass(ModulePass):
    """Cut matrices into tiles of AMX."""

    name = "convert-coopmatrix-to-amx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on all of `op`, then rewrite it."""
        if (found := refusal(op)) is not None:
            where, reason = found
            where.emit_error(reason, PassFailedException(reason))
        view_elements(op)
        scratch = Scratch()
        through_memory(op, scratch)
        access = TileAccess(scratch)
        rules: dict[type[Operation], Rule] = {
            coopmatrix.FillOp: fill,
            coopmatrix.LoadOp: access.load,
            coopmatrix.MulAddOp: mul_add,
            coopmatrix.StoreOp: access.store,
        }
        split_values(op, parts_of(op), rules)
        for func in op.walk():
            if isinstance(func, FuncOp):
                func.attributes.pop(coopmatrix.DISTRIBUTION, None)
