"""convert-coopmatrix-to-amx: lowers matrices to AMX tiles.

Before:  coopmatrix operations on matrices of a subgroup, which is one core.
After:   tiles of at most 16 rows of 64 bytes in place of each matrix, through loops and
         branches; zero fills, products, loads and stores are amx operations, prefetches
         are memref.prefetch, and other operations use a buffer on the stack.
Fails:   for types that AMX does not support, saturation, volatile accesses, other
         scopes, matrices as function arguments, atomics, reductions other than
         broadcasts of rows, and elements owned by work-items. The module is then
         unchanged.

It works in three steps:

1. Row slices and operations on elements, which tiles lack, go through memory:

       %y = coopmatrix.neg %x    store %x, %scratch; loop over it; %y = load %scratch

The loops iterate over the rows of a matrix, or over its elements if each loads others,
so padding stays zero.

2. Each matrix becomes the tiles of its `TileGrid`, through control flow.

3. A load or store accesses tiles if memory has the order of a tile.  Otherwise each
   tile goes through scratch memory, element by element, where B is packed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    IndexType,
    ModuleOp,
    UnitAttr,
    VectorType,
    i8,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import amx, coopmatrix
from coopc.dialects.amx import element_bytes, is_tile_element
from coopc.dialects.coopmatrix import (
    CHANNEL_BITS,
    Layout,
    MatrixType,
    Operand,
    Reduced,
    ScopeAttr,
    Use,
    fill_constant,
    is_zero,
    matrix_type,
)
from coopc.dialects.memref_forms import PrefetchOp
from coopc.dialects.narrow import length_of, memref_type, vector_type
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.control_flow import TRANSPARENT, defined_by
from coopc.ir.element_access import (
    Element,
    access_element,
    in_layout,
    memory_offset,
    view_elements,
)
from coopc.ir.matrix_size import why_matrix_too_large
from coopc.ir.split_values import Parts, Rule, Splitter, split_values
from coopc.ir.stack_buffer import StackBuffers, origin
from coopc.ir.transaction import Refused, transaction
from coopc.passes.coopmatrix.elementwise import (
    ELEMENT_BY_ELEMENT,
    elementwise,
    reduction,
)
from coopc.passes.cpu.stage_row_slices import RowSliceStaging, core_scopes
from coopc.plan.amx_tiles import TileCut, TileGrid, grid, why_staged

Access = coopmatrix.LoadOp | coopmatrix.StoreOp

IN_MEMORY = (*ELEMENT_BY_ELEMENT, coopmatrix.ApplyOp, coopmatrix.ReduceOp)
"""Operations that are done on rows or elements in memory, as tiles have no arithmetic;
so is `arith.select`."""
WITHOUT_RULE = (coopmatrix.AtomicOp, coopmatrix.TransposeOp)


@dataclass(frozen=True)
class ConvertCoopmatrixToAmxPass(ModulePass):
    name = "convert-coopmatrix-to-amx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            scopes = core_scopes(draft)
            for each in draft.walk():
                check(each, scopes)
            view_elements(draft)
            buffers = StackBuffers()
            through_memory(draft, buffers)
            access = TileAccess(buffers)
            rules: dict[type[Operation], Rule] = {
                coopmatrix.FillOp: zero,
                coopmatrix.LoadOp: access.load,
                coopmatrix.MulAddOp: mul_add,
                coopmatrix.StoreOp: access.store,
            }
            split_values(draft, tiles_of_values(draft), rules)
            for each in draft.walk():
                if isinstance(each, FuncOp):
                    each.attributes.pop(coopmatrix.DISTRIBUTION, None)


# What is refused before tiles are known


def check(op: Operation, scopes: tuple[ScopeAttr, ...]) -> None:
    """Refuse matrices that are no tiles, and operations that tiles have no form of."""
    matrices = list(_matrices(op))
    for type in matrices:
        if reason := unsupported_matrix(type, scopes):
            raise Refused(op, reason)
    if op.dialect_name() == "coopmatrix":
        if isinstance(op, coopmatrix.ELEMENTS_OF_LANES):
            raise Refused(
                op,
                f"{op.name} is of one work-item: expected row slices, as "
                "resolve-subgroup-wi-call makes them",
            )
        if isinstance(op, coopmatrix.SpecConstantOp):
            raise Refused(op, coopmatrix.ONLY_SPIRV)
        if isinstance(op, WITHOUT_RULE):
            raise Refused(op, f"there is no rule for {op.name} on tiles")
    elif matrices and isinstance(op, FuncOp | CallOp | ReturnOp):
        raise Refused(
            op,
            "tiles of AMX cannot be passed to functions, or returned, "
            f"got {matrices[0]}",
        )
    elif matrices and op.__class__ not in (*TRANSPARENT, arith.SelectOp):
        raise Refused(op, f"there is no rule for {op.name} on tiles, got {matrices[0]}")


def unsupported_matrix(type: MatrixType, scopes: tuple[ScopeAttr, ...]) -> str | None:
    """Say why a matrix cannot be tiles, or None."""
    if not type.is_static:
        return f"expected static sizes, to split into tiles, got {type}"
    if type.scope not in scopes:
        return f"expected a matrix of a subgroup, which is a core, got {type}"
    if not is_tile_element(type.element_type):
        return (
            "expected elements of f32, f16, bf16, i32 or i8, which tiles of AMX hold, "
            f"got {type}"
        )
    return why_matrix_too_large(type)


def _matrices(op: Operation) -> Iterator[MatrixType]:
    """Yield the types of the matrices of an operation, and of the blocks in it."""
    types: list[Attribute] = [x.type for x in (*op.operands, *defined_by(op))]
    if isinstance(op, FuncOp):
        types += [*op.function_type.inputs, *op.function_type.outputs]
    if isinstance(op, coopmatrix.LengthOp | coopmatrix.PrefetchOp):
        types.append(op.matrix_type)
    yield from (type for type in types if isinstance(type, MatrixType))


# Operations on elements


def through_memory(root: Operation, buffers: StackBuffers) -> None:
    """Replace what tiles cannot do by loads and stores of matrices, and loops."""
    RowSliceStaging(buffers).run(root)
    for op in tuple(root.walk()):
        match op:
            case coopmatrix.PrefetchOp():
                prefetch_rows(op)
            case coopmatrix.FillOp():
                if not is_zero(fill_constant(op.result)):  # one instruction
                    stage_elements(op, buffers)
            case _:
                chooses = isinstance(op, arith.SelectOp) and any(_matrices(op))
                if chooses or isinstance(op, IN_MEMORY):
                    stage_elements(op, buffers)


def prefetch_rows(op: coopmatrix.PrefetchOp) -> None:
    """Prefetch rows of tiles, a cache line each; drop the hint if memory has none."""
    b, matrix, layout = Builder.at(op), op.matrix, op.layout.data
    cuts, stride = grid_of(matrix).cuts, op.matrix_strides[1]
    level = 1 if op.level is None else op.level.value.data
    if not why_staged(cuts, str(layout), stride, op.checked is not None):
        *leading, outer, inner = op.positions
        for cut in cuts:
            first, col = memory_offset(layout, cut.row, cut.col, matrix.element_bits)
            for row in range(first, first + cut.shape[0]):
                place = *leading, b.plus(outer, row), b.plus(inner, col)
                b.effect(PrefetchOp(op.memory, place, max(4 - level, 0)))
    Rewriter.erase_op(op)


def stage_elements(op: Operation, buffers: StackBuffers) -> None:
    """Replace an operation that gives a matrix, element by element."""
    b = Builder.at(op)
    result = matrix_type(op.results[0])
    if isinstance(op, coopmatrix.FillOp) and op.value.type != result.element_type:
        raise Refused(
            op,
            f"expected a value of {result.element_type}, the element type, as "
            f"resolve-matrix-fill makes it, got {op.value.type}",
        )
    matrices = [x for x in op.operands if isinstance(x.type, MatrixType)]
    memories = [buffers.of_matrix(b, x, str(n)) for n, x in enumerate(matrices)]
    for matrix, memory in zip(matrices, memories, strict=True):
        b.effect(coopmatrix.StoreOp(matrix, memory, origin(b)))
    if matrices and matrix_type(matrices[0]).element_type == result.element_type:
        target = memories[0]
    else:
        target = buffers.of_matrix(b, op.results[0], "result")

    (_by_rows if _has_vectors(op) else _by_elements)(b, op, memories, target)
    load = coopmatrix.LoadOp(target, origin(b), result)
    load.location = op.location
    Rewriter.replace_op(op, load)


def _by_elements(
    b: Builder, op: Operation, memories: Sequence[SSAValue], target: SSAValue
) -> None:
    def each(row: BoundedIndex, col: BoundedIndex) -> None:
        place = b.index(row), b.index(col)
        elements = iter([b.load(x, place) for x in memories])
        values = [
            next(elements) if isinstance(x.type, MatrixType) else x for x in op.operands
        ]
        value = elementwise(b, op, values, place)
        b.store(value, target, place)

    rows, cols = memref_type(target).get_shape()
    _nest(b, rows, cols, each)


def _has_vectors(op: Operation) -> bool:
    """Whether an operation has a form on a row of elements: a body may load others."""
    return not isinstance(op, coopmatrix.ApplyOp) or all(
        x.dialect_name() in ("arith", "math") and not x.regions
        for x in op.body.block.ops
        if not isinstance(x, coopmatrix.YieldOp)
    )


def _by_rows(
    b: Builder, op: Operation, memories: Sequence[SSAValue], target: SSAValue
) -> None:
    """Do an operation on a row at a time, a vector."""
    result = memref_type(target)
    rows, cols = result.get_shape()

    def each(row: BoundedIndex) -> None:
        place = b.index(row), b.constant(INDEX, 0)
        types = [VectorType(memref_type(x).element_type, [cols]) for x in memories]
        loads = iter(
            b.effect(vector.LoadOp(x, place, type)).results[0]
            for x, type in zip(memories, types, strict=True)
        )
        values = [
            next(loads)
            if isinstance(x.type, MatrixType)
            else b.pure(vector.BroadcastOp, x, VectorType(x.type, [cols]))
            for x in op.operands
        ]
        if isinstance(op, coopmatrix.ReduceOp):
            value = _reduced(b, op, values[0])
        elif isinstance(op, coopmatrix.ApplyOp):
            value = _applied(b, op, place[0], values[0])
        elif isinstance(op, coopmatrix.FillOp):
            (value,) = values
        else:
            value = elementwise(b, op, values)
        b.effect(vector.StoreOp(value, target, place))

    b.repeat(rows, each, "row")


def _reduced(b: Builder, op: coopmatrix.ReduceOp, row: SSAValue) -> SSAValue:
    """Return a row whose elements are all what it is reduced to: half by half."""
    if op.axis.data is not Reduced.ROWS or op.broadcast is None:
        raise Refused(op, f"expected rows broadcast, got {op.form}")
    combine = reduction(op)
    part = b.halved(combine, row)
    total = b.extract(part, 0)
    for at in range(1, length_of(part)):
        total = b.pure(combine, total, b.extract(part, at))
    return b.pure(vector.BroadcastOp, total, row.type)


def _applied(
    b: Builder, op: coopmatrix.ApplyOp, row: SSAValue, values: SSAValue
) -> SSAValue:
    """Return the elements of a row that a body computes of others."""
    i, j, element = op.body.block.args
    cols = b.pure(arith.ConstantOp, _numbers(length_of(values)))
    found: dict[SSAValue, SSAValue] = {i: row, j: cols, element: values}

    for each in op.body.block.ops:
        operands = [found.get(x, x) for x in each.operands]
        if isinstance(each, coopmatrix.YieldOp):
            return b.broadcast(operands[0], vector_type(values))
        new = b.on_vectors(each, operands)
        found.update(zip(each.results, new, strict=True))
    raise AssertionError(op)


def _numbers(count: int) -> DenseIntOrFPElementsAttr:
    type = VectorType(IndexType(), [count])
    return DenseIntOrFPElementsAttr.from_list(type, range(count))


def _nest(
    b: Builder, rows: int, cols: int, each: Callable[[BoundedIndex, BoundedIndex], None]
) -> None:
    """Build two loops, over rows and columns."""

    def row_body(row: BoundedIndex) -> None:
        b.repeat(cols, partial(each, row), "col")

    b.repeat(rows, row_body, "row")


# Tiles


def grid_of(type: MatrixType) -> TileGrid:
    is_packed = type.use.data == Use.B
    return grid(*type.shape, element_bytes(type.element_type), is_packed)


def tile_types(type: MatrixType) -> tuple[amx.TileType, ...]:
    element = type.element_type
    return tuple(amx.TileType.of(*cut.shape, element) for cut in grid_of(type).cuts)


def tiles_of_values(root: Operation) -> dict[SSAValue, Parts]:
    """Return the tiles that each matrix in `root` becomes."""
    known: dict[Attribute, Parts] = {}
    found: dict[SSAValue, Parts] = {}
    for op in root.walk():
        for value in defined_by(op):
            if isinstance(type := value.type, MatrixType):
                if type not in known:
                    known[type] = Parts(tile_types(type), grid_of(type).suffixes)
                found[value] = known[type]
    return found


def zero(op: coopmatrix.FillOp, b: Splitter) -> Sequence[Values]:
    """Zero each tile: a register for each, as accumulators need one of their own."""
    types = tile_types(matrix_type(op.result))
    return [tuple(b.effect(amx.TileZeroOp(type)).result for type in types)]


def mul_add(op: coopmatrix.MulAddOp, s: Splitter) -> Sequence[Values]:
    """Multiply tile by tile; products that do not wait for each other are in a row."""
    _check_product(op)
    multiply: Callable[..., Operation] = amx.TileMulFOp
    of_a, of_b, of_c, _ = op.matrices.values()
    if of_a.element_bits != 16:
        names = {Operand.A: "isZextLhs", Operand.B: "isZextRhs"}
        flags = {name: UnitAttr() for x, name in names.items() if not op.is_signed(x)}
        multiply = partial(amx.TileMulIOp, **flags)
    a, b, c = (s.parts(x) for x in (op.a, op.b, op.c))
    rows, cols = grid_of(of_c).shape
    depth = grid_of(of_b).shape[0]
    totals = list(c)
    for step in range(depth):
        for number in range(rows * cols):
            p, q = divmod(number, cols)
            operands = a[p * depth + step], b[step * cols + q], totals[number]
            totals[number] = s.effect(multiply(*operands)).results[0]
    return [tuple(totals)]


def _check_product(op: coopmatrix.MulAddOp) -> None:
    """Refuse types that AMX does not multiply."""
    a, b, c, result = (x.element_type for x in op.matrices.values())
    halves = isinstance(a, BFloat16Type | Float16Type) and a == b
    floats = halves and isinstance(c, Float32Type) and c == result
    if not floats and not (a == i8 and b == i8 and c == i32 and result == i32):
        raise Refused(
            op,
            "AMX multiplies bf16 * bf16 + f32, f16 * f16 + f32 and i8 * i8 + i32, "
            f"got {a} * {b} + {c} -> {result}",
        )
    if op.saturating is not None:
        raise Refused(op, "accumulators of AMX wrap around, they do not saturate")


# Accesses to memory


@dataclass(slots=True)
class TileAccess:
    """The rules for accesses to memory."""

    buffers: StackBuffers

    def load(self, op: coopmatrix.LoadOp, b: Splitter) -> Sequence[Values]:
        cuts, types = grid_of(op.matrix).cuts, tile_types(op.matrix)
        places = self._places(op, b)
        parts: list[SSAValue] = []
        for cut, type, (memory, place) in zip(cuts, types, places, strict=True):
            if memory is not op.memory:
                _copy_elements(b, op, cut, memory)
            tile = b.effect(amx.TileLoadOp(memory, place, type))
            if op.nontemporal is not None and memory is op.memory:
                tile.attributes[amx.NONTEMPORAL] = UnitAttr()
            parts.append(tile.result)
        return [tuple(parts)]

    def store(self, op: coopmatrix.StoreOp, b: Splitter) -> Sequence[Values]:
        cuts, tiles = grid_of(op.matrix).cuts, b.parts(op.value)
        places = self._places(op, b)
        for cut, tile, (memory, place) in zip(cuts, tiles, places, strict=True):
            b.effect(amx.TileStoreOp(memory, place, tile))
            if memory is not op.memory:
                _copy_elements(b, op, cut, memory)
        return []

    def _places(self, op: Access, b: Builder) -> list[tuple[SSAValue, Values]]:
        """Return where tiles are: in memory, or in scratch memory that they share."""
        if op.volatile is not None:
            raise Refused(op, "AMX has no volatile access to memory")
        if op.layout_name is not None:
            raise Refused(op, f"expected a layout that is known, got {op.layout_name}")
        matrix, layout, stride = op.matrix, op.layout.data, op.matrix_strides[1]
        cuts, element = grid_of(matrix).cuts, matrix.element_type
        if why_staged(cuts, str(layout), stride, op.checked is not None):
            shapes = [cut.shape for cut in cuts]
            get = self.buffers.get
            return [(get(b, x, element, "tile"), origin(b)) for x in shapes]
        *leading, outer, inner = op.positions
        places: list[tuple[SSAValue, Values]] = []
        for cut in cuts:
            offset = memory_offset(layout, cut.row, cut.col, matrix.element_bits)
            place = b.plus(outer, offset[0]), b.plus(inner, offset[1])
            places.append((op.memory, (*leading, *place)))
        return places


def _copy_elements(b: Builder, op: Access, cut: TileCut, memory: SSAValue) -> None:
    """Copy the elements of a tile between where an access is and scratch memory.

    What is not there is loaded as 0, and not stored.
    """
    # Rows share one where memory is packed; where each has one, an element fills it.
    bits = op.matrix.element_bits if cut.packed > 1 else CHANNEL_BITS

    def clear(row: BoundedIndex, col: BoundedIndex) -> None:
        zero = b.constant(op.matrix.element_type, 0)
        b.store(zero, memory, (b.index(row), b.index(col)))

    def copy(row: BoundedIndex, col: BoundedIndex) -> None:
        def here() -> list[SSAValue]:
            place = in_layout(b, Layout.PACKED, bits, Element(row, col))
            return [*map(b.index, place)]

        def taken() -> SSAValue:
            return b.load(memory, here())

        first = BoundedIndex(cut.row), BoundedIndex(cut.col)
        at = Element(b.add(row, first[0]), b.add(col, first[1]))
        if isinstance(op, coopmatrix.StoreOp):
            access_element(b, op, at, taken)
        else:
            (value,) = access_element(b, op, at)
            b.store(value, memory, here())

    if isinstance(op, coopmatrix.LoadOp) and cut.is_padded:
        _nest(b, *cut.shape, clear)
    _nest(b, cut.rows, cut.cols, copy)
