"""Work-group memory that matrices go through: one buffer a subgroup and a type.

A buffer is a memref of one matrix for each subgroup, and a subgroup uses the part of
its number: so its own barriers suffice, and it may go there while others do not.  There
a matrix has a layout in which the device loads and stores such.  Every use is

    barrier; all lanes write; barrier; all lanes read

so that buffers of one type can be used again and again.

Where a driver gives access to single elements, matrices that go through this memory at
the entry of a function say which element that is: one holds its rows, one its columns.

    %r, %c = coopmatrix.coord %m[%i]
->  %r = coopmatrix.extract %rows[%i], %c = coopmatrix.extract %cols[%i]

A driver spreads all matrices of one type alike.  Every element type holds the numbers
below 128, and no matrix of a device has more rows or columns (`test_khr_table.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FixedBitwidthType, MemRefType, f32, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.traits import is_side_effect_free

from coopc.device import Device
from coopc.device import Use as DeviceUse
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import CHANNEL_BITS, Layout, MatrixType, Use, matrix_type
from coopc.dialects.narrow import is_integer
from coopc.ir.builder import INDEX, BoundedIndex, Builder
from coopc.ir.element_access import Element, in_layout
from coopc.passes.coopmatrix.elementwise import converted

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


def shared_layout(matrix: MatrixType, device: Device) -> Layout:
    """The layout of a matrix in work-group memory; row major where the device has none.

    >>> from coopc.device import BMG, DG2, INTEL_CPU
    >>> from xdsl.dialects.builtin import i8
    >>> b = MatrixType.of(32, 8, i8, Use.B)
    >>> [str(shared_layout(b, device)) for device in (BMG, DG2, INTEL_CPU)]
    ['row_major', 'packed', 'packed']
    """
    return next(iter(layouts_of(matrix, device)), Layout.ROW_MAJOR)


def memory_shape(layout: Layout, bits: int, rows: int, cols: int) -> tuple[int, int]:
    """The sizes of the memref of a matrix of elements of so many bits.

    >>> memory_shape(Layout.PACKED, 8, 32, 16)
    (8, 64)
    """
    match layout:
        case Layout.ROW_MAJOR:
            return rows, cols
        case Layout.COL_MAJOR:
            return cols, rows
        case Layout.PACKED:
            count = max(1, CHANNEL_BITS // bits)
            return rows // count, cols * count


def _bits(element: Attribute) -> int:
    assert isinstance(element, FixedBitwidthType), element
    return element.bitwidth


@dataclass(frozen=True, slots=True)
class SharedBuffer:
    """Where one matrix is: `memory[subgroup, row, column]` where it is row major."""

    memory: SSAValue
    subgroup: SSAValue
    shape: tuple[int, int]
    """Rows and columns."""
    element: Attribute
    layout: Layout

    def load(self, b: Builder, at: Element) -> SSAValue:
        load = memref.LoadOp.get(self.memory, self._place(b, at))
        return b.effect(load).results[0]

    def store(self, b: Builder, value: SSAValue, at: Element) -> None:
        b.effect(memref.StoreOp.get(value, self.memory, self._place(b, at)))

    def _place(self, b: Builder, at: Element) -> list[SSAValue]:
        place = in_layout(b, self.layout, _bits(self.element), at)
        return [self.subgroup, *map(b.index, place)]

    def origin(self, b: Builder) -> list[SSAValue]:
        """The positions of the whole matrix."""
        zero = b.constant(INDEX, 0)
        return [self.subgroup, zero, zero]


@dataclass(slots=True)
class SharedMemory:
    """The work-group memory of one function."""

    func: FuncOp
    device: Device
    lanes: int
    """Of a subgroup."""
    subgroups: int
    """Of a work-group, at most."""
    _buffers: dict[Hashable, SharedBuffer] = field(
        default_factory=dict[Hashable, SharedBuffer]
    )
    _ids: list[SSAValue] = field(default_factory=list[SSAValue])

    def _known(self) -> list[SSAValue]:
        """The numbers of the lane and of the subgroup, at the entry of the function."""
        if not self._ids:
            block = self.func.body.block
            b = Builder(block, block.first_op, self.func.location)
            self._ids = [b.pure(simt.LaneIdOp), b.pure(simt.SubgroupIdOp)]
        return self._ids

    @property
    def lane(self) -> BoundedIndex:
        return BoundedIndex(0, self._known()[0], self.lanes - 1, varies=True)

    def own(self, matrix: MatrixType) -> SharedBuffer:
        """A buffer that nothing else uses."""
        _, subgroup = self._known()
        layout = shared_layout(matrix, self.device)
        shape = memory_shape(layout, matrix.element_bits, *matrix.shape)
        space = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
        type = MemRefType(
            matrix.element_type, (self.subgroups, *shape), memory_space=space
        )
        alloca = memref.AllocaOp.build(
            operands=[[], []], result_types=[type], properties={}
        )
        b = Builder.after(subgroup, self.func.location)
        memory = b.effect(alloca).results[0]
        memory.name_hint = "scratch"
        return SharedBuffer(memory, subgroup, matrix.shape, matrix.element_type, layout)

    def of(self, matrix: MatrixType, number: int = 0) -> SharedBuffer:
        """The buffer that all matrices of a size and an element type go through.

        Those that are there at the same time have other numbers.
        """
        layout = shared_layout(matrix, self.device)
        key = matrix.element_type, matrix.shape, layout, number
        if (found := self._buffers.get(key)) is None:
            found = self._buffers[key] = self.own(matrix)
        return found

    def barrier(self, b: Builder) -> None:
        """Wait for the lanes of the subgroup; two barriers in a row are one."""
        last = b.block.last_op if b.before is None else b.before.prev_op
        while last is not None and not last.regions and is_side_effect_free(last):
            last = last.prev_op
        if not isinstance(last, simt.BarrierOp) or last.memory is not None:
            b.effect(simt.BarrierOp(simt.FenceScope.SUBGROUP))

    def put(self, b: Builder, value: SSAValue, buffer: SharedBuffer) -> SharedBuffer:
        """Bring a matrix to work-group memory, for all lanes to read."""
        at = buffer.origin(b)
        self.barrier(b)
        b.effect(coopmatrix.StoreOp(value, buffer.memory, at, buffer.layout))
        self.barrier(b)
        return buffer

    def take(self, b: Builder, buffer: SharedBuffer, matrix: MatrixType) -> SSAValue:
        """Return the matrix that all lanes wrote."""
        self.barrier(b)
        at = buffer.origin(b)
        load = coopmatrix.LoadOp(buffer.memory, at, matrix, buffer.layout)
        return b.effect(load).results[0]

    def each(
        self, b: Builder, shape: tuple[int, int], body: Callable[[Element], object]
    ) -> None:
        """Run a body for all elements of a matrix, shared out to the lanes in turn."""
        rows, cols = shape

        def turn(t: BoundedIndex, _: object) -> tuple[()]:
            number = b.add(b.times(t, self.lanes), self.lane)

            def one() -> tuple[()]:
                body(Element(b.divided(number, cols), b.remainder(number, cols)))
                return ()

            b.branch(b.below(number, rows * cols), one)
            return ()

        b.loop(-(-rows * cols // self.lanes), (), turn)


@dataclass(slots=True)
class CoordinateMatrices:
    """The matrices of rows and of columns of one function."""

    shared: SharedMemory
    _made: dict[MatrixType, tuple[SSAValue, SSAValue]] = field(
        default_factory=dict[MatrixType, tuple[SSAValue, SSAValue]]
    )

    def lower(self, b: Builder, op: coopmatrix.CoordOp) -> None:
        """Replace the coordinates of an element."""
        for result, matrix in zip(op.results, self._of(op), strict=True):
            number = b.pure(coopmatrix.ExtractOp, matrix, op.index)
            if not is_integer(number.type):
                number = converted(b, number, f32, signed=False)
            number = converted(b, number, i32, signed=False)
            place = b.pure(arith.IndexCastOp, number, INDEX)
            place.name_hint = result.name_hint
            result.replace_all_uses_with(place)

    def _of(self, op: coopmatrix.CoordOp) -> tuple[SSAValue, SSAValue]:
        matrix = matrix_type(op.matrix)
        if (found := self._made.get(matrix)) is None:
            buffer = self.shared.of(matrix)
            b = Builder.after(buffer.memory, self.shared.func.location)
            found = self._made[matrix] = (
                self._filled(b, matrix, buffer, by_row=True),
                self._filled(b, matrix, buffer, by_row=False),
            )
        return found

    def _filled(
        self, b: Builder, matrix: MatrixType, buffer: SharedBuffer, *, by_row: bool
    ) -> SSAValue:
        def one(at: Element) -> None:
            place = b.index(at.row if by_row else at.col)
            number = b.pure(arith.IndexCastOp, place, i32)
            if not is_integer(matrix.element_type):
                number = converted(b, number, f32, signed=False)
            number = converted(b, number, matrix.element_type, signed=False)
            buffer.store(b, number, at)

        self.shared.barrier(b)
        self.shared.each(b, matrix.shape, one)
        result = self.shared.take(b, buffer, matrix)
        result.name_hint = "rows" if by_row else "cols"
        return result
