"""Work-group memory that matrices go through, a piece for each subgroup.

A piece is a memref of one matrix for each subgroup, and a subgroup uses the part of
its number: so its own barriers suffice, and it may go there while others do not.  There
a matrix has a layout in which the device loads and stores such.  Every use is

    barrier; all lanes write; barrier; all lanes read

so that pieces of one type can be used again and again.

Where the elements of a matrix are in work-group memory, by its layout there.

| layout    | memref of        | element (row, col) at          |
|-----------|------------------|--------------------------------|
| row_major | M x N            | [row, col]                     |
| col_major | N x M            | [col, row]                     |
| packed    | M / w x (N * w)  | [row / w, col * w + row % w]   |

w is the elements of a channel of 32 bits.

Which element a work-item holds, asked of the driver by matrices that know.

At the entry of a function a matrix is made whose elements are their rows, and one of
their columns, through work-group memory:

    %r, %c = coopmatrix.coord %m[%i]
->  %r = coopmatrix.extract %rows[%i], %c = coopmatrix.extract %cols[%i]

A driver spreads all matrices of one type alike.  Every element type holds the numbers
below 128, and no matrix of a device has more rows or columns (`test_khr_table.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FixedBitwidthType, IndexType, MemRefType, f32, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from coopc.device import Device
from coopc.device import Use as DeviceUse
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import CHANNEL_BITS, Layout, MatrixType, Use, matrix_type
from coopc.dialects.narrow import is_integer
from coopc.passes.khr.legalize_coopmatrix_khr.code import Code
from coopc.passes.khr.legalize_coopmatrix_khr.scalar_forms import converted

DEVICE_USES: dict[Use, DeviceUse] = {Use.A: "a", Use.B: "b", Use.ACC: "acc"}

"""The uses that devices have matrices of."""

PREFERRED = (Layout.ROW_MAJOR, Layout.PACKED, Layout.COL_MAJOR)


def layouts_of(matrix: MatrixType, device: Device) -> tuple[Layout, ...]:
    """The layouts that a device loads and stores a matrix in, the preferred one first.

    None for a matrix of use `none`, whose sizes have names, or that no matrix of the
    device divides.
    """
    use, element = DEVICE_USES.get(matrix.use.data), str(matrix.element_type)
    if use is None or not matrix.is_static:
        return ()
    rows, cols = matrix.shape
    if all(rows % tile[0] or cols % tile[1] for tile in device.held(use, element)):
        return ()
    has = device.layouts(use, element, *matrix.shape)
    return tuple(layout for layout in PREFERRED if str(layout) in has)


def scratch_layout(matrix: MatrixType, device: Device) -> Layout:
    """The layout of a matrix in work-group memory; row major where the device has none.

    >>> from coopc.device import BMG, DG2, INTEL_CPU
    >>> from xdsl.dialects.builtin import i8
    >>> b = MatrixType.of(32, 8, i8, Use.B)
    >>> [str(scratch_layout(b, device)) for device in (BMG, DG2, INTEL_CPU)]
    ['row_major', 'packed', 'packed']
    """
    return next(iter(layouts_of(matrix, device)), Layout.ROW_MAJOR)


def channels(bits: int) -> int:
    """Elements of a channel, of so many bits each."""
    return max(1, CHANNEL_BITS // bits)


def memory_shape(layout: Layout, bits: int, rows: int, cols: int) -> tuple[int, int]:
    """The sizes of the memref of a matrix.

    >>> memory_shape(Layout.PACKED, 8, 32, 16)
    (8, 64)
    """
    match layout:
        case Layout.ROW_MAJOR:
            return rows, cols
        case Layout.COL_MAJOR:
            return cols, rows
        case Layout.PACKED:
            many = channels(bits)
            return rows // many, cols * many


def places(
    code: Code, layout: Layout, bits: int, row: SSAValue, col: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Insert where an element of a matrix is in its memref."""
    match layout:
        case Layout.ROW_MAJOR:
            return row, col
        case Layout.COL_MAJOR:
            return col, row
        case Layout.PACKED:
            many = channels(bits)
            channel, rest = code.div_mod(row, many)
            return channel, code.add(code.mul(col, many), rest)


def element_bits(type: Attribute) -> int:
    """The width of an element, in bits."""
    assert isinstance(type, FixedBitwidthType), type
    return type.bitwidth


@dataclass(frozen=True, slots=True)
class Piece:
    """Where one matrix is: `memory[subgroup, row, column]` where it is row major."""

    memory: SSAValue
    subgroup: SSAValue
    rows: int
    cols: int
    element: Attribute
    layout: Layout = Layout.ROW_MAJOR

    def load(self, code: Code, row: SSAValue, col: SSAValue) -> SSAValue:
        """Insert the load of an element."""
        return code.get(memref.LoadOp.get(self.memory, self._at(code, row, col)))

    def store(self, code: Code, value: SSAValue, row: SSAValue, col: SSAValue) -> None:
        """Insert the store of an element."""
        code.do(memref.StoreOp.get(value, self.memory, self._at(code, row, col)))

    def _at(self, code: Code, row: SSAValue, col: SSAValue) -> list[SSAValue]:
        bits = element_bits(self.element)
        return [self.subgroup, *places(code, self.layout, bits, row, col)]

    def whole(self, code: Code) -> list[SSAValue]:
        """The positions of the whole matrix."""
        zero = code.index(0)
        return [self.subgroup, zero, zero]


@dataclass(slots=True)
class Scratch:
    """The work-group memory of one function."""

    func: FuncOp
    device: Device
    lanes: int
    """Of a subgroup."""
    subgroups: int
    """Of a work-group, at most."""
    _pieces: dict[tuple[Attribute, int, int, Layout, int], Piece] = field(
        default_factory=dict[tuple[Attribute, int, int, Layout, int], Piece]
    )
    _ids: list[SSAValue] = field(default_factory=list[SSAValue])

    def _entry(self) -> Code:
        first = self.func.body.block.first_op
        assert first is not None, self.func
        at: Operation = first
        # What is at the entry already stays before what uses it.
        if self._ids:
            owner = self._ids[-1].owner
            assert isinstance(owner, Operation)
            return Code(InsertPoint.after(owner))
        return Code(InsertPoint.before(at))

    @property
    def subgroup(self) -> SSAValue:
        """The number of the subgroup."""
        if not self._ids:
            code = self._entry()
            lane, subgroup = simt.LaneIdOp(), simt.SubgroupIdOp()
            self._ids = [code.get(lane), code.get(subgroup)]
        return self._ids[1]

    @property
    def lane(self) -> SSAValue:
        """The number of the lane."""
        assert self.subgroup
        return self._ids[0]

    def new(
        self,
        element: Attribute,
        rows: int,
        cols: int,
        layout: Layout = Layout.ROW_MAJOR,
    ) -> Piece:
        """A piece of its own."""
        subgroup = self.subgroup
        space = simt.MemoryAttr.of(simt.MemorySpace.WORKGROUP)
        shape = memory_shape(layout, element_bits(element), rows, cols)
        type = MemRefType(element, (self.subgroups, *shape), memory_space=space)
        alloca = memref.AllocaOp.build(
            operands=[[], []], result_types=[type], properties={}
        )
        memory = self._entry().get(alloca)
        memory.name_hint = "scratch"
        return Piece(memory, subgroup, rows, cols, element, layout)

    def own(self, matrix: MatrixType) -> Piece:
        """A piece of its own, for a matrix."""
        layout = scratch_layout(matrix, self.device)
        return self.new(matrix.element_type, *matrix.shape, layout)

    def of(self, matrix: MatrixType, number: int = 0) -> Piece:
        """The piece that all matrices of a size and an element type go through.

        Those that are there at the same time have other numbers.
        """
        layout = scratch_layout(matrix, self.device)
        place = matrix.element_type, *matrix.shape, layout
        if (found := self._pieces.get((*place, number))) is None:
            found = self._pieces[*place, number] = self.new(*place)
        return found

    def barrier(self, code: Code) -> None:
        """Insert a barrier of the subgroup."""
        code.do(simt.BarrierOp(simt.FenceScope.SUBGROUP))

    def put(self, code: Code, value: SSAValue, piece: Piece | None = None) -> Piece:
        """Insert what brings a matrix to work-group memory, for all lanes to read."""
        if piece is None:
            piece = self.of(matrix_type(value))
        at = piece.whole(code)
        self.barrier(code)
        code.do(coopmatrix.StoreOp(value, piece.memory, at, piece.layout))
        self.barrier(code)
        return piece

    def take(self, code: Code, piece: Piece, matrix: MatrixType) -> SSAValue:
        """Insert what makes a matrix of what all lanes wrote."""
        self.barrier(code)
        at = piece.whole(code)
        return code.get(coopmatrix.LoadOp(piece.memory, at, matrix, piece.layout))

    def each(
        self,
        code: Code,
        rows: int,
        cols: int,
        body: Callable[[Code, SSAValue, SSAValue], None],
    ) -> None:
        """Insert a loop over the elements of a matrix, shared out to the lanes."""
        count = rows * cols

        def step(code: Code, turn: SSAValue) -> None:
            place = code.add(code.mul(turn, self.lanes), self.lane)
            inside = None if count % self.lanes == 0 else code.less(place, count)

            def one(code: Code) -> None:
                row, col = code.div_mod(place, cols)
                body(code, row, col)

            code.when(inside, one)

        code.loop(-(-count // self.lanes), step)


@dataclass(slots=True)
class Coordinates:
    """The matrices of rows and of columns of one function."""

    scratch: Scratch
    _made: dict[MatrixType, tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[MatrixType, tuple[SSAValue, SSAValue]]
    )

    def lower(self, op: coopmatrix.CoordOp, code: Code) -> None:
        """Insert the coordinates of an element."""
        for result, matrix in zip(op.results, self._of(op), strict=True):
            number = code.get(coopmatrix.ExtractOp(matrix, op.index))
            place = _index(number, code)
            place.name_hint = result.name_hint
            result.replace_all_uses_with(place)

    def _of(self, op: coopmatrix.CoordOp) -> tuple[SSAValue, SSAValue]:
        matrix = matrix_type(op.matrix)
        if (found := self._made.get(matrix)) is None:
            alloca = self.scratch.of(matrix).memory.owner
            assert isinstance(alloca, Operation), alloca
            code = Code(InsertPoint.after(alloca))
            found = self._made[matrix] = (
                self._filled(code, matrix, by_row=True),
                self._filled(code, matrix, by_row=False),
            )
        return found

    def _filled(self, code: Code, matrix: MatrixType, *, by_row: bool) -> SSAValue:
        piece = self.scratch.of(matrix)

        def one(code: Code, row: SSAValue, col: SSAValue) -> None:
            place = row if by_row else col
            number = code.get(arith.IndexCastOp(place, i32))
            if not is_integer(matrix.element_type):
                number = converted(number, f32, False, code.get)
            number = converted(number, matrix.element_type, False, code.get)
            piece.store(code, number, row, col)

        self.scratch.barrier(code)
        self.scratch.each(code, *matrix.shape, one)
        result = self.scratch.take(code, piece, matrix)
        result.name_hint = "rows" if by_row else "cols"
        return result


def _index(number: SSAValue, code: Code) -> SSAValue:
    """An element as an index."""
    if not is_integer(number.type):
        number = converted(number, f32, False, code.get)
    number = converted(number, i32, False, code.get)
    return code.get(arith.IndexCastOp(number, IndexType()))
