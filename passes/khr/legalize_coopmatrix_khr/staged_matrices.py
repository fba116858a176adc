"""Operations that lanes do in work-group memory, and the matrices that stay there.

Spilled are matrices of types that a device does not have: the M x 1 results of
reductions, matrices of use `none`, and f64 on most devices.  Each has its own buffer,
through loops and branches.  Others go there and come back.

A buffer is a memref of one matrix for each subgroup, and a subgroup uses the part of
its number: so its own barriers suffice, and it may go there while others do not.  There
a matrix has a layout in which the device loads and stores such.  Every use is

    barrier; all lanes write; barrier; all lanes read

so that buffers of one type can be used again and again.

Sizes that are specialization constants are values here, and memory has these sizes:

    %m = coopmatrix.spec_value @M
    %scratch = memref.alloca(%m) : memref<1x?x8xf32, #simt.memory<workgroup>>

A matrix that the device has by default comes and goes as others do.  One that it has
not stays in memory, whatever the constants are set to.

The elements are spread over the S lanes in row-major order, so slot i of a lane is
element i S + lane; the length is ceil(M N / S), and what is beyond the matrix is
padding.

    %n = coopmatrix.length M        ->  a constant
    %e = coopmatrix.extract %m[%i]  ->  memref.load %m_in_memory[row, col]

All lanes agree on a row slice: each reads all of it, and one writes it.

    %v = extract_row_slice %m[%k]    ->  element j: load [(k + j) / N, (k + j) % N]
    %n = insert_row_slice %v, %m[%k] ->  one lane stores each element that is inside

Where a driver gives access to single elements, matrices that go through this memory at
the entry of a function say which element that is: one holds its rows, one its columns.

    %r, %c = coopmatrix.coord %m[%i]
->  %r = coopmatrix.extract %rows[%i] - 1, %c = coopmatrix.extract %cols[%i]

A driver spreads all matrices of one type alike.  Rows count from 1, because slots that
hold no element are read as 0.  Where the element type does not hold all numbers, as f8
those above 8, there is a matrix for each digit that it holds.

Where a memref holds other numbers than the matrix, or vectors of numbers, lanes access
units: the wider of an element and of what the memref holds, whose bits are cast.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

from xdsl.dialects import arith, memref, scf, ub, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    MemRefType,
    VectorType,
    f32,
    f64,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import (
    CHANNEL_BITS,
    Layout,
    MatrixType,
    Operand,
    matrix_type,
)
from coopc.dialects.narrow import is_integer, is_vector
from coopc.ir import element_access
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Size, Values
from coopc.ir.control_flow import TRANSPARENT
from coopc.ir.element_access import (
    Element,
    access_element,
    checks_of,
    in_layout,
    moved,
    positions_of,
)
from coopc.ir.transaction import Refused
from coopc.passes.coopmatrix.elementwise import (
    converted,
    elementwise,
    fill_value,
    reduction,
)
from coopc.passes.coopmatrix.supported_tiles import HeldMatrices
from coopc.passes.generic.number import Num, saturating_sum
from coopc.rounding import FORMATS

CONTROL = (*(TRANSPARENT - {CallOp, ReturnOp}),)
"""Control flow that passes on matrices which stay in memory."""


def _middle(matrix: MatrixType) -> Attribute:
    """The type by way of which numbers become elements of a matrix."""
    return i32 if is_integer(matrix.element_type) else f32


def _digit_bits(element: Attribute) -> int:
    """How many bits the integers from 0 on may have that a type of elements holds."""
    if is_integer(element):
        return element.width.data
    return FORMATS[element.name].fraction_bits + 1


def memory_shape(
    b: Builder, layout: Layout, bits: int, rows: Size, cols: Size
) -> tuple[Size, Size]:
    """The sizes of the memref of a matrix of elements of so many bits."""
    match layout:
        case Layout.ROW_MAJOR:
            return rows, cols
        case Layout.COL_MAJOR:
            return cols, rows
        case Layout.PACKED:
            count = max(1, CHANNEL_BITS // bits)
            return b.tiles(rows, count), b.product(cols, count)
        case Layout.ROW_BLOCKED | Layout.COL_BLOCKED:
            raise AssertionError(layout)  # no memory of the compiler's own has blocks


@dataclass(frozen=True, slots=True)
class SharedBuffer:
    """Where one matrix is: `memory[subgroup, row, column]` where it is row major."""

    memory: SSAValue
    subgroup: SSAValue
    shape: tuple[Size, Size]
    """Rows and columns."""
    element: Attribute
    layout: Layout

    def load(self, b: Builder, at: Element) -> SSAValue:
        load = memref.LoadOp.get(self.memory, self._place(b, at))
        return b.effect(load).results[0]

    def store(self, b: Builder, value: SSAValue, at: Element) -> Values:
        b.effect(memref.StoreOp.get(value, self.memory, self._place(b, at)))
        return ()

    def _place(self, b: Builder, at: Element) -> list[SSAValue]:
        assert isinstance(self.element, FixedBitwidthType), self.element
        place = in_layout(b, self.layout, self.element.bitwidth, at)
        return [self.subgroup, *map(b.index, place)]

    def origin(self, b: Builder) -> list[SSAValue]:
        """The positions of the whole matrix."""
        zero = b.constant(INDEX, 0)
        return [self.subgroup, zero, zero]


def element_of(b: Builder, number: BoundedIndex, cols: Size) -> Element:
    """Return the element of a number in row-major order."""
    return Element(b.divided(number, cols), b.remainder(number, cols))


@dataclass(slots=True)
class SharedMemory:
    """The work-group memory of one function."""

    func: FuncOp
    target: HeldMatrices
    lanes: int
    """Of a subgroup."""
    subgroups: int
    """Of a work-group, at most."""
    _buffers: dict[Hashable, SharedBuffer] = field(default_factory=lambda: {})
    _ids: list[SSAValue] = field(default_factory=list[SSAValue])
    _constants: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])

    def _entry(self) -> Builder:
        block = self.func.body.block
        return Builder(block, block.first_op, self.func.location)

    def _known(self) -> list[SSAValue]:
        """The numbers of the lane and of the subgroup, at the entry of the function."""
        if not self._ids:
            b = self._entry()
            self._ids = [b.pure(simt.LaneIdOp), b.pure(simt.SubgroupIdOp)]
        return self._ids

    def constant(self, name: str) -> SSAValue:
        """The number of a specialization constant, at the entry of the function."""
        if (found := self._constants.get(name)) is None:
            self._known()  # behind which memory is allocated
            found = self._entry().pure(coopmatrix.SpecValueOp, name)
            found.name_hint = name.lower()
            self._constants[name] = found
        return found

    def shape(self, matrix: MatrixType) -> tuple[Size, Size]:
        """The rows and columns of matrices of a type."""
        rows, cols = (
            self.constant(x) if isinstance(x, str) else x for x in matrix.sizes
        )
        return rows, cols

    @property
    def lane(self) -> BoundedIndex:
        return BoundedIndex(0, self._known()[0], self.lanes - 1, varies=True)

    def slots(self, b: Builder, matrix: MatrixType) -> Size:
        """The slots of a lane."""
        return b.tiles(b.product(*self.shape(matrix)), self.lanes)

    def own(self, matrix: MatrixType) -> SharedBuffer:
        """A buffer that nothing else uses."""
        shape, (_, subgroup) = self.shape(matrix), self._known()
        b = Builder.after(subgroup, self.func.location)
        layout, bits = self.target.shared_layout(matrix), matrix.element_bits
        sizes = memory_shape(b, layout, bits, *shape)
        static = (DYNAMIC_INDEX if isinstance(x, SSAValue) else x for x in sizes)
        space = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
        element = matrix.element_type
        type = MemRefType(element, (self.subgroups, *static), memory_space=space)
        named = [x for x in sizes if isinstance(x, SSAValue)]
        alloca = memref.AllocaOp.build(
            operands=[named, []], result_types=[type], properties={}
        )
        memory = b.effect(alloca).results[0]
        memory.name_hint = "scratch"
        return SharedBuffer(memory, subgroup, shape, element, layout)

    def of(self, matrix: MatrixType, number: int = 0) -> SharedBuffer:
        """The buffer that all matrices of a size and an element type go through.

        Those that are there at the same time have other numbers.
        """
        layout = self.target.shared_layout(matrix)
        key = matrix.element_type, matrix.sizes, layout, number
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

    def take(self, b: Builder, buffer: SharedBuffer, matrix: MatrixType) -> SSAValue:
        """Return the matrix that all lanes wrote."""
        self.barrier(b)
        at = buffer.origin(b)
        load = coopmatrix.LoadOp(buffer.memory, at, matrix, buffer.layout)
        return b.effect(load).results[0]

    def each(
        self, b: Builder, shape: tuple[Size, Size], body: Callable[[Element], object]
    ) -> None:
        """Run a body for all elements of a matrix, shared out to the lanes in turn."""
        count = b.product(*shape)

        def turn(t: BoundedIndex, _: object) -> tuple[()]:
            number = b.add(b.times(t, self.lanes), self.lane)

            def one() -> tuple[()]:
                body(element_of(b, number, shape[1]))
                return ()

            b.branch(b.below(number, count), one)
            return ()

        b.loop(b.tiles(count, self.lanes), (), turn)


@dataclass(slots=True)
class StagedMatrices:
    """The matrices of one function that are in work-group memory."""

    shared: SharedMemory
    is_spilled: Callable[[Attribute], bool]
    """Whether values of a type stay there."""
    buffers: dict[SSAValue, SharedBuffer] = field(default_factory=lambda: {})
    _coordinates: dict[MatrixType, tuple[Values, Values]] = field(
        default_factory=dict[MatrixType, tuple[Values, Values]]
    )
    """The matrices of the digits of rows and of columns."""

    def lower(self, b: Builder, op: Operation) -> Values:
        """Do an operation in work-group memory.

        Returns:
            What replaces the results; nothing for matrices that stay there.
        """
        found = RULES.get(type(op), StagedMatrices.elementwise)(self, b, op)
        if not isinstance(found, SharedBuffer):
            return found
        (result,) = op.results
        if not self.is_spilled(result.type):
            return (self.shared.take(b, found, matrix_type(result)),)
        self.shared.barrier(b)
        self.buffers[result] = found
        return ()

    def _new(self, matrix: MatrixType, number: int = 0) -> SharedBuffer:
        """A buffer for a matrix: its own where it stays there."""
        if self.is_spilled(matrix):
            return self.shared.own(matrix)
        return self.shared.of(matrix, number)

    def _given(self, b: Builder, value: SSAValue, number: int = 0) -> SharedBuffer:
        """Where the elements of an operand are; all lanes see them."""
        if (found := self.buffers.get(value)) is not None:
            return found
        buffer = self._new(matrix_type(value), number)
        at = buffer.origin(b)
        self.shared.barrier(b)
        b.effect(coopmatrix.StoreOp(value, buffer.memory, at, buffer.layout))
        self.shared.barrier(b)
        return buffer

    def _for_writing(self, b: Builder, value: SSAValue) -> SharedBuffer:
        """A copy of a matrix, of which elements can be changed."""
        source = self._given(b, value)
        if not self.is_spilled(value.type):
            return source
        buffer = self._new(matrix_type(value))
        self._copy(b, source, buffer)
        return buffer

    def _copy(self, b: Builder, source: SharedBuffer, target: SharedBuffer) -> None:
        """Copy a matrix that all lanes see."""
        self.shared.each(
            b, source.shape, lambda at: target.store(b, source.load(b, at), at)
        )

    def _computed(
        self, b: Builder, buffer: SharedBuffer, element: Callable[[Element], SSAValue]
    ) -> SharedBuffer:
        """Let lanes compute each element of a buffer, when none reads it any more."""
        self.shared.barrier(b)
        self.shared.each(b, buffer.shape, lambda at: buffer.store(b, element(at), at))
        return buffer

    # Accesses to memory

    def load(self, b: Builder, op: coopmatrix.LoadOp) -> SharedBuffer | Values:
        return self._where_inside(b, op, lambda: self._fetch(b, op))

    def store(self, b: Builder, op: coopmatrix.StoreOp) -> SharedBuffer | Values:
        return self._where_inside(
            b, op, lambda: self._scatter(b, op, self._given(b, op.value))
        )

    def _where_inside(
        self,
        b: Builder,
        op: coopmatrix.LoadOp | coopmatrix.StoreOp,
        elements: Callable[[], SharedBuffer | Values],
    ) -> SharedBuffer | Values:
        """Access a matrix as a whole where no check fails, else by elements.

        Always by elements where the device has no access in such a layout, and loads
        where it has no matrices that control flow chooses.
        """
        target, is_load = self.shared.target, isinstance(op, coopmatrix.LoadOp)
        if (
            op.checked is None
            or self.is_spilled(op.matrix)
            or op.layout_name is not None
            or op.layout_in_memory not in target.layouts(op.matrix)
            or (is_load and not target.device.branched_matrices)
        ):
            return elements()

        def whole() -> Values:
            new = op.clone()
            new.properties.pop("checked")
            return tuple(b.effect(new).results)

        def staged() -> Values:
            found = elements()
            if isinstance(found, SharedBuffer):
                return (self.shared.take(b, found, op.matrix),)
            return found

        # All elements are inside if the first and the last one are.
        conditions: list[SSAValue] = []
        row, col = (
            BoundedIndex(x - 1) if isinstance(x, int) else b.sized(b.plus(x, -1))
            for x in self.shared.shape(op.matrix)
        )
        for at in (Element(BoundedIndex(), BoundedIndex()), Element(row, col)):
            conditions += checks_of(b, op, positions_of(b, op, at))
        inside = b.both(*conditions)
        assert isinstance(inside, SSAValue), op
        return b.either(inside, [x.type for x in op.results], whole, staged)

    def _fetch(self, b: Builder, op: coopmatrix.LoadOp) -> SharedBuffer:
        """Bring a matrix from memory to work-group memory."""
        buffer = self._new(op.matrix)

        def unit(op: coopmatrix.PlainAccessOp, units: Units, at: Element) -> None:
            found: list[SSAValue] = []
            for positions in units.positions(b, op, at):
                load = b.effect(element_access.load(op, positions))
                found += _components(b, load.results[0])
            values = _cast(b, found, buffer.element, units.elements)
            for value, place in zip(values, units.places(b, op, at), strict=True):
                buffer.store(b, value, place)

        def one(op: coopmatrix.PlainAccessOp, at: Element) -> None:
            buffer.store(b, access_element(b, op, at)[0], at)

        self.shared.barrier(b)
        self._by_units(b, op, unit, one)
        return buffer

    def _scatter(
        self, b: Builder, op: coopmatrix.StoreOp, buffer: SharedBuffer
    ) -> tuple[()]:
        """Bring a matrix from work-group memory to memory."""

        def unit(op: coopmatrix.PlainAccessOp, units: Units, at: Element) -> None:
            found = [buffer.load(b, place) for place in units.places(b, op, at)]
            numbers = _cast(b, found, units.number, units.numbers)
            width = units.numbers // units.pointees
            for step, positions in enumerate(units.positions(b, op, at)):
                some = numbers[step * width : (step + 1) * width]
                is_whole = is_vector(op.memory_type.element_type)
                value = _vector(b, some) if is_whole else some[0]
                b.effect(element_access.store(op, value, positions))

        def one(op: coopmatrix.PlainAccessOp, at: Element) -> None:
            access_element(b, op, at, lambda: buffer.load(b, at))

        self._by_units(b, op, unit, one)
        return ()

    def _by_units(
        self,
        b: Builder,
        op: coopmatrix.PlainAccessOp,
        unit: Callable[[coopmatrix.PlainAccessOp, Units, Element], None],
        one: Callable[[coopmatrix.PlainAccessOp, Element], None],
    ) -> None:
        """Access each unit of a matrix where memory has no elements, else those.

        Where a constant names the layout, in that which it is.
        """
        if op.layout_name is not None:
            number = self.shared.constant(op.layout_name.root_reference.data)
            by_lines = Layout.ROW_MAJOR, Layout.COL_MAJOR  # packed only by default
            for layout in dict.fromkeys((*by_lines, op.layout.data)):
                known = op.clone()
                known.layout = coopmatrix.LayoutAttr(layout)
                known.layout_name = None
                value = b.constant(INDEX, coopmatrix.LAYOUT_NUMBERS[layout])

                def access(known: coopmatrix.PlainAccessOp = known) -> Values:
                    self._by_units(b, known, unit, one)
                    return ()

                b.branch(b.compare("eq", number, value), access)
                known.erase()
            return
        shape = self.shared.shape(op.matrix)
        if (units := Units.of(op, b, shape)) is None:
            self.shared.each(b, shape, partial(one, op))
        else:
            shape = units.lines, units.per_line
            self.shared.each(b, shape, partial(unit, op, units))

    def atomic(self, b: Builder, op: coopmatrix.AtomicOp) -> SharedBuffer | Values:
        """Element by element; where the result is, if anything uses it."""
        given: SharedBuffer | None = None
        if isinstance(op, coopmatrix.AtomicUpdateOp | coopmatrix.AtomicStoreOp):
            given = self._given(b, op.value)
        else:
            self.shared.barrier(b)
        result: SharedBuffer | None = None
        if op.results and op.results[0].first_use is not None:
            keeps = given is None or self.is_spilled(op.matrix)
            result = self._new(op.matrix) if keeps else given

        def one(at: Element) -> None:
            value = given and partial(given.load, b, at)
            old = access_element(b, op, at, value)
            if result is not None:
                result.store(b, old[0], at)

        self.shared.each(b, self.shared.shape(op.matrix), one)
        return () if result is None else result

    # Single elements

    def _in_slot(
        self, b: Builder, slot: SSAValue, matrix: MatrixType
    ) -> tuple[Element, SSAValue | bool]:
        """Return the element in a slot, and whether there is one."""
        rows, cols = self.shared.shape(matrix)
        most = b.sized(self.shared.slots(b, matrix)).most - 1
        at = BoundedIndex(0, slot, most, varies=True)
        number = b.add(b.times(at, self.shared.lanes), self.shared.lane)
        inside = b.below(number, b.product(rows, cols))
        return element_of(b, number, cols), inside

    def length(self, b: Builder, op: coopmatrix.LengthOp) -> Values:
        return (b.index(b.sized(self.shared.slots(b, op.matrix_type))),)

    def extract(self, b: Builder, op: coopmatrix.ExtractOp) -> Values:
        """Return an element; 0 where the slot holds none."""
        buffer = self._given(b, op.matrix)
        at, inside = self._in_slot(b, op.index, matrix_type(op.matrix))
        zero = b.constant(buffer.element, 0)
        return b.branch(inside, lambda: (buffer.load(b, at),), (zero,))

    def insert(self, b: Builder, op: coopmatrix.InsertOp) -> SharedBuffer:
        """Set an element, if the slot holds one."""
        buffer = self._for_writing(b, op.matrix)
        at, inside = self._in_slot(b, op.index, matrix_type(op.matrix))
        self.shared.barrier(b)
        b.branch(inside, lambda: buffer.store(b, op.value, at))
        return buffer

    def coord(self, b: Builder, op: coopmatrix.CoordOp) -> Values:
        """Return where an element is; (M, N) where the slot holds none."""
        matrix = matrix_type(op.matrix)
        if self.shared.target.device.element_access and not self.is_spilled(matrix):
            return self._driver_coord(b, matrix, op.index)
        at, inside = self._in_slot(b, op.index, matrix)
        pairs = zip((at.row, at.col), self.shared.shape(matrix), strict=True)
        return tuple(
            b.select(inside, b.index(number), b.index(b.sized(size)))
            for number, size in pairs
        )

    def _driver_coord(self, b: Builder, matrix: MatrixType, slot: SSAValue) -> Values:
        """Return where an element is that the driver has in a slot."""
        if (held := self._coordinates.get(matrix)) is None:
            held = self._coordinates[matrix] = self._held_coordinates(matrix)
        middle, width = _middle(matrix), _digit_bits(matrix.element_type)

        def number(digits: Values) -> Num:
            found: list[Num] = []
            for digit in digits:
                extracted = Num(b, b.pure(coopmatrix.ExtractOp, digit, slot))
                whole = extracted.to(middle, signed=False).to(i32, signed=False)
                found.append(whole << (width * len(found)))
            return reduce(Num.__or__, found)

        row, col = map(number, held)
        outside = row.compare("eq", 0)
        places = (row - 1, col)
        return tuple(
            b.select(
                outside.value,
                b.index(b.sized(size)),
                place.cast(arith.IndexCastOp, INDEX).value,
            )
            for place, size in zip(places, self.shared.shape(matrix), strict=True)
        )

    def _held_coordinates(self, matrix: MatrixType) -> tuple[Values, Values]:
        """Insert matrices of the digits of rows, from 1 on, and of columns."""
        buffer, middle = self.shared.of(matrix), _middle(matrix)
        start = Builder.after(buffer.memory, self.shared.func.location)
        width = _digit_bits(matrix.element_type)

        def filled(name: str, most: int, place: Callable[[Element], Num]) -> Values:
            found: list[SSAValue] = []
            for shift in range(0, max(1, most.bit_length()), width):

                def one(at: Element, shift: int = shift) -> SSAValue:
                    digit = place(at)
                    if shift:
                        digit = digit >> shift
                    if most >> shift >> width:
                        digit = digit & ((1 << width) - 1)
                    digit = digit.to(middle, signed=False)
                    return digit.to(matrix.element_type, signed=False).value

                self._computed(start, buffer, one)
                result = self.shared.take(start, buffer, matrix)
                result.name_hint = name
                found.append(result)
            return tuple(found)

        def counted(number: BoundedIndex) -> Num:
            return Num(start, start.index(number)).cast(arith.IndexCastOp, i32)

        rows, cols = (start.sized(x).most for x in self.shared.shape(matrix))
        return (
            filled("rows", rows, lambda at: counted(at.row) + 1),
            filled("cols", cols - 1, lambda at: counted(at.col)),
        )

    # Row slices

    def _in_slice(
        self, b: Builder, offset: SSAValue, number: int, shape: tuple[Size, Size]
    ) -> tuple[Element, SSAValue]:
        """Return an element of a slice, and whether the matrix has it."""
        count = b.sized(b.product(*shape))
        if number:
            offset = b.pure(arith.AddiOp, offset, b.constant(INDEX, number))
        # A negative number is a great one without sign.
        inside = b.compare("ult", offset, b.index(count))
        place = BoundedIndex(0, offset, count.most - 1)
        return element_of(b, place, shape[1]), inside

    def extract_row_slice(self, b: Builder, op: coopmatrix.ExtractRowSliceOp) -> Values:
        buffer, type = self._given(b, op.matrix), op.result.type
        assert is_vector(type), type
        zero = b.constant(buffer.element, 0)
        found = b.pure(vector.BroadcastOp, zero, type)
        for number in range(type.element_count()):
            at, inside = self._in_slice(b, op.offset, number, buffer.shape)
            (value,) = b.branch(inside, lambda at=at: (buffer.load(b, at),), (zero,))
            found = b.insert(found, number, value)
        return (found,)

    def insert_row_slice(
        self, b: Builder, op: coopmatrix.InsertRowSliceOp
    ) -> SharedBuffer:
        buffer, type = self._for_writing(b, op.matrix), op.value.type
        assert is_vector(type), type

        def write() -> Values:
            for number in range(type.element_count()):
                at, wanted = self._in_slice(b, op.offset, number, buffer.shape)
                if op.mask is not None:
                    bit = b.extract(op.mask, number)
                    wanted = b.pure(arith.AndIOp, wanted, bit)

                def store(number: int = number, at: Element = at) -> Values:
                    return buffer.store(b, b.extract(op.value, number), at)

                b.branch(wanted, store)
            return ()

        self.shared.barrier(b)
        b.branch(b.equal(self.shared.lane, 0), write)
        return buffer

    # Arithmetic

    def fill(self, b: Builder, op: coopmatrix.FillOp) -> SharedBuffer:
        value, buffer = fill_value(b, op), self._new(matrix_type(op.result))
        return self._computed(b, buffer, lambda _: value)

    def poison(self, b: Builder, op: ub.PoisonOp) -> SharedBuffer:
        """What the memory of a matrix holds."""
        return self._new(matrix_type(op.result))

    def elementwise(self, b: Builder, op: Operation) -> SharedBuffer | Values:
        """By elements; what is no matrix is the same for each.

        In the memory of the first operand, if that has the type of the result and
        leaves: each element is read by the lane that writes it.
        """
        matrices = [x for x in op.operands if isinstance(x.type, MatrixType)]
        given = {
            value: self._given(b, value, number)
            for number, value in enumerate(dict.fromkeys(matrices))
        }
        buffer = self._new(matrix_type(op.results[0]))
        is_cast = isinstance(op, coopmatrix.ConvertOp | coopmatrix.BitcastOp)
        if is_cast and buffer in given.values():
            return buffer  # of the use alone

        def one(at: Element) -> SSAValue:
            values = [given[x].load(b, at) if x in given else x for x in op.operands]
            return elementwise(b, op, values, (b.index(at.row), b.index(at.col)))

        if op.results[0].first_use is None:  # what has effects alone
            self.shared.each(b, buffer.shape, one)
            return ()
        return self._computed(b, buffer, one)

    def reduce(self, b: Builder, op: coopmatrix.ReduceOp) -> SharedBuffer:
        """Each lane reduces whole windows: rows, columns, all or 2 x 2; in order."""
        source = self._given(b, op.value)
        buffer = self._new(matrix_type(op.result), 1)
        rows, cols = source.shape
        height, width = op.axis.data.window(rows, cols)
        count, make = b.product(height, width), reduction(op)
        quads = op.axis.data is coopmatrix.Reduced.QUADS
        windows = (
            b.tiles(rows, 2) if quads else 1 if height is rows else rows,
            b.tiles(cols, 2) if quads else 1 if width is cols else cols,
        )

        def one(at: Element) -> None:
            first = Element(b.times(at.row, height), b.times(at.col, width))

            def place(k: BoundedIndex) -> Element:
                within = element_of(b, k, width)
                return Element(
                    b.add(first.row, within.row), b.add(first.col, within.col)
                )

            def step(k: BoundedIndex, now: Values) -> Values:
                return (b.pure(make, *now, source.load(b, place(k))),)

            begin = source.load(b, first)
            (found,) = b.loop(count, (begin,), step, start=1)
            if op.broadcast is None:
                buffer.store(b, found, at)
                return
            b.loop(count, (), lambda k, _: buffer.store(b, found, place(k)))

        self.shared.barrier(b)
        self.shared.each(b, windows, one)
        return buffer

    def transpose(self, b: Builder, op: coopmatrix.TransposeOp) -> SharedBuffer:
        """Each lane moves elements, in the order of the result."""
        source = self._given(b, op.value)
        buffer = self._new(matrix_type(op.result), 1)
        return self._computed(
            b, buffer, lambda at: source.load(b, Element(at.col, at.row))
        )

    def multiply(self, b: Builder, op: coopmatrix.MulAddOp) -> SharedBuffer:
        """Each lane whole elements of the result, of types that the device lacks.

        Floats are added up in f32 or f64, integers in the type of the result.
        """
        x, y, z = (
            self._given(b, value, number)
            for number, value in enumerate((op.a, op.b, op.c))
        )
        target = self._new(matrix_type(op.result), 3)
        element = target.element
        is_whole = is_integer(element)
        wide = element if is_whole or element == f64 else f32

        def extended(operand: Operand, value: SSAValue, to: Attribute) -> SSAValue:
            return converted(b, value, to, op.is_signed(operand))

        def one(at: Element) -> SSAValue:
            def step(k: BoundedIndex, now: Values) -> Values:
                p = extended(Operand.A, x.load(b, Element(at.row, k)), wide)
                q = extended(Operand.B, y.load(b, Element(k, at.col)), wide)
                if is_whole:
                    return (b.pure(arith.AddiOp, *now, b.pure(arith.MuliOp, p, q)),)
                return (b.pure(arith.AddfOp, *now, b.pure(arith.MulfOp, p, q)),)

            c = z.load(b, at)
            start = b.constant(wide, 0) if is_whole else extended(Operand.C, c, wide)
            (total,) = b.loop(x.shape[1], (start,), step)
            if is_whole:
                sum, own = Num(b, total), Num(b, extended(Operand.C, c, wide))
                if op.saturating is not None:
                    return saturating_sum(sum, own, op.is_signed(Operand.RESULT)).value
                return (sum + own).value
            return converted(b, total, element, signed=False)

        return self._computed(b, target, one)

    # Control flow

    def pass_on(self, b: Builder, op: Operation) -> Values:
        """Copy matrices to where control flow passes them on.

        What a loop carries and what a branch gives has a buffer of its own: they are
        copied there before the loop, and where a region ends.
        """
        match op:
            case scf.ForOp():
                self._share(op.body.block.args[1:], op.results)
                self._move(b, op.iter_args, op.results)
            case scf.WhileOp():
                before, after = (region.block.args for region in op.regions)
                self._share(before)
                self._share(after, op.results)
                self._move(b, op.arguments, before)
            case scf.YieldOp():
                around = op.parent_op()
                assert around is not None, op
                targets: Sequence[SSAValue] = around.results
                if isinstance(around, scf.WhileOp):
                    targets = around.before_region.block.args
                self._move(b, op.operands, targets)
            case scf.ConditionOp():
                around = op.parent_op()
                assert isinstance(around, scf.WhileOp), op
                self._move(b, op.args, around.results)
            case _:
                self._share(op.results)
        return ()

    def _share(self, *groups: Sequence[SSAValue]) -> None:
        """Make a buffer for what values of several groups have in common, each."""
        for values in zip(*groups, strict=True):
            if self.is_spilled(values[0].type):
                buffer = self._new(matrix_type(values[0]))
                self.buffers |= dict.fromkeys(values, buffer)

    def _move(
        self, b: Builder, values: Sequence[SSAValue], to: Sequence[SSAValue]
    ) -> None:
        """Copy matrices, all at once: one may go where another was."""
        moves = [
            (self._given(b, value), self.buffers[target], matrix_type(target))
            for value, target in zip(values, to, strict=True)
            if self.is_spilled(target.type)
        ]
        moves = [move for move in moves if move[0] != move[1]]
        if not moves:
            return
        self.shared.barrier(b)
        targets = [target for _, target, _ in moves]
        for at, (source, target, matrix) in enumerate(moves):
            if source in targets:
                aside = self.shared.own(matrix)
                self._copy(b, source, aside)
                self.shared.barrier(b)
                moves[at] = aside, target, matrix
        for source, target, _ in moves:
            self._copy(b, source, target)
        self.shared.barrier(b)


RULES: dict[
    type[Operation],
    Callable[[StagedMatrices, Builder, Any], SharedBuffer | Values],
] = {
    coopmatrix.LoadOp: StagedMatrices.load,
    coopmatrix.StoreOp: StagedMatrices.store,
    coopmatrix.LengthOp: StagedMatrices.length,
    coopmatrix.CoordOp: StagedMatrices.coord,
    coopmatrix.ExtractOp: StagedMatrices.extract,
    coopmatrix.InsertOp: StagedMatrices.insert,
    coopmatrix.ExtractRowSliceOp: StagedMatrices.extract_row_slice,
    coopmatrix.InsertRowSliceOp: StagedMatrices.insert_row_slice,
    coopmatrix.FillOp: StagedMatrices.fill,
    coopmatrix.ReduceOp: StagedMatrices.reduce,
    coopmatrix.TransposeOp: StagedMatrices.transpose,
    coopmatrix.MulAddOp: StagedMatrices.multiply,
    ub.PoisonOp: StagedMatrices.poison,
    **dict.fromkeys(CONTROL, StagedMatrices.pass_on),
    **{
        op: StagedMatrices.atomic
        for op in coopmatrix.OPERATIONS
        if issubclass(op, coopmatrix.AtomicOp)
    },
}
"""Where the result is, or what it is; other operations are element by element."""


# Memory of other numbers, or of vectors


@dataclass(frozen=True, slots=True)
class Units:
    """What is accessed at a time where a memref holds something else than elements.

    A line of the matrix, which lies without gaps in memory, is whole units.
    """

    lines: Size
    """Rows of a row-major matrix, columns of a column-major one."""
    per_line: Size
    """Units of a line."""
    elements: int
    """Of the matrix in a unit."""
    pointees: int
    """What the memref holds, in a unit."""
    number: Attribute
    """The type of the numbers that the memref holds, or of which vectors."""
    numbers: int
    """Of those in a unit."""

    @classmethod
    def of(
        cls, op: coopmatrix.PlainAccessOp, b: Builder, shape: tuple[Size, Size]
    ) -> Units | None:
        """Return how memory is accessed in which there are no elements of the matrix.

        None where there are.  Sizes that have names are taken to be whole units.

        Raises:
            Refused: elements of the matrix are not found in it.
        """
        pointee, element = op.memory_type.element_type, op.matrix.element_type
        if pointee == element:
            return None
        bits, pointee_bits = op.matrix.element_bits, op.pointee_bits
        lines, along = shape
        if op.layout.data is Layout.COL_MAJOR:
            lines, along = along, lines
        if max(bits, pointee_bits) % min(bits, pointee_bits):
            raise Refused(
                op,
                f"expected memory whose {pointee} is a multiple or a part of "
                f"{element}, got {pointee_bits} and {bits} bits",
            )
        if isinstance(along, int) and along * bits % pointee_bits:
            raise Refused(
                op,
                f"expected rows in memory that are whole {pointee}, which the memref "
                f"holds, got {along} of {element}",
            )
        if op.matrix_strides[1] != 1:
            raise Refused(
                op,
                "expected a memref of which the last stride is 1, as it holds "
                f"{pointee}, not {element}, got {op.memory_type}",
            )
        elements = max(1, pointee_bits // bits)
        pointees = max(1, bits // pointee_bits)
        number, width = pointee, 1
        if is_vector(pointee):
            number, width = pointee.get_element_type(), pointee.element_count()
        numbers = pointees * width
        per_line = b.tiles(along, elements)
        return cls(lines, per_line, elements, pointees, number, numbers)

    def positions(
        self, b: Builder, op: coopmatrix.PlainAccessOp, at: Element
    ) -> Iterator[Values]:
        """Yield the positions of what the memref holds in a unit, in order.

        Its line and its number are `at`.
        """
        *leading, first, second = op.positions
        line, start = moved(b, first, at.row), b.times(at.col, self.pointees)
        for step in range(self.pointees):
            along = b.add(start, BoundedIndex(step))
            yield (*leading, line, moved(b, second, along))

    def places(
        self, b: Builder, op: coopmatrix.PlainAccessOp, at: Element
    ) -> Iterator[Element]:
        """Yield the elements of a unit, in order."""
        start = b.times(at.col, self.elements)
        for step in range(self.elements):
            along = b.add(start, BoundedIndex(step))
            by_rows = op.layout.data is not Layout.COL_MAJOR
            yield Element(at.row, along) if by_rows else Element(along, at.row)


def _components(b: Builder, value: SSAValue) -> list[SSAValue]:
    """Return the components of a vector; a number is its own."""
    if not is_vector(value.type):
        return [value]
    return [b.extract(value, at) for at in range(value.type.element_count())]


def _vector(b: Builder, numbers: Sequence[SSAValue]) -> SSAValue:
    type = VectorType(numbers[0].type, [len(numbers)])
    found = b.pure(vector.BroadcastOp, numbers[0], type)
    for at, number in enumerate(numbers[1:], 1):
        found = b.insert(found, at, number)
    return found


def _cast(
    b: Builder, numbers: list[SSAValue], to: Attribute, count: int
) -> list[SSAValue]:
    """Return the bits of some numbers, in order, as so many of another type."""
    if numbers[0].type == to:
        return numbers
    type = VectorType(to, [count])
    return _components(b, b.pure(vector.BitcastOp, _vector(b, numbers), type))
