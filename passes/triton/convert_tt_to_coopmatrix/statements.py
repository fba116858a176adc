"""What a kernel does with tensors, in order: loops over elements, and products.

    %x = tt.load %p, %m, %o     for each element, shared among the lanes:
                                  buffer of x[i, j] = m(i, j) ? *p(i, j) : o(i, j)
    tt.store %p, %v, %m         for each element: where m(i, j), *p(i, j) = v(i, j)
    %d = tt.dot %a, %b, %c      buffer of d = c, then for each tile of it
                                  coopmatrix.mul_add along k, of tiles of buffers

The lanes of one subgroup, which a program is, share the elements: lane l has element
l of each run of elements along the last dimension.  A buffer is work-group memory;
barriers stand around what writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coopc.dialects import coopmatrix, simt, tt
from coopc.dialects.coopmatrix import (
    CheckedAttr,
    Layout,
    MatrixType,
    Operand,
    SignedAttr,
    Use,
)
from coopc.dialects.narrow import is_integer, is_memref
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import ShuffleMode
from coopc.dialects.tt.types import in_memory, shape_of
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.transaction import Refused
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    Coordinates,
    Elements,
    Tensor,
    from_memory,
    in_buffer,
    index,
    to_memory,
    unflattened,
)
from coopc.passes.triton.memory import MANY, cast_memory, update_memory

WORK_GROUP = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
Flag = SSAValue | bool
Combining = tt.ReduceOp | tt.ScanOp


@dataclass(slots=True)
class Statements:
    """Writes statements on tensors into one kernel."""

    lanes: int
    """Of the subgroup that runs a program, a power of two."""
    tile: tuple[int, int, int]
    """The most rows, columns and steps of k of one product."""
    block: tuple[int, int] | None = None
    """The most rows and columns of sums that matrices keep; None where products are
    only loaded from work-group memory, and sums are kept there."""
    aligns_rows: bool = False
    """Whether rows of matrices in memory are to begin at multiples of 16 bytes."""
    elements: Elements = field(default_factory=Elements)
    outer: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What regions of reductions and the like use of values around them."""
    reads: set[SSAValue | None] = field(default_factory=set["SSAValue | None"])
    """Memory that was loaded from since it was asked; None for that at addresses."""

    # Elements, and the buffers that hold them.

    def for_each(
        self,
        b: Builder,
        shape: Sequence[int],
        body: Callable[[Coordinates], object],
    ) -> None:
        """Run a body for each element of a shape, in one lane each."""
        self.elements.known.clear()  # memory may have changed
        lanes, total, run = self.lanes, prod(shape), shape[-1] if shape else 1
        lane = b.lane(lanes)

        def of_row(row: BoundedIndex, _: Values) -> Values:
            def of_run(t: BoundedIndex, _: Values) -> Values:
                col = b.index(b.add(b.times(t, lanes), lane))
                body((*unflattened(b, b.index(row), shape[:-1]), col))
                return ()

            return b.loop(run // lanes, (), of_run, name="run")

        def of_lanes(t: BoundedIndex, _: Values) -> Values:
            number = b.index(b.add(b.times(t, lanes), lane))
            body(unflattened(b, number, shape))
            return ()

        if run % lanes == 0:
            b.loop(total // run, (), of_row, name="row")
        elif total % lanes == 0:
            b.loop(total // lanes, (), of_lanes, name="part")
        else:
            whole = total // lanes
            b.loop(whole, (), of_lanes, name="part")

            def of_rest() -> Values:
                return of_lanes(BoundedIndex(whole), ())

            b.branch(b.below(lane, total - whole * lanes), of_rest)

    def buffer(
        self, b: Builder, shape: Sequence[int], element: Attribute, name: str
    ) -> Tensor:
        """Return a tensor in memory of its own, from here on in this block."""
        type = MemRefType(in_memory(element), shape, memory_space=WORK_GROUP)
        new = memref.AllocaOp.build(
            operands=[[], []], result_types=[type], properties={}
        )
        b.effect(new).results[0].name_hint = name
        return in_buffer(new.memref, shape, element)

    def put(self, b: Builder, target: Tensor, at: Coordinates, value: SSAValue) -> None:
        """Store an element of a tensor in a buffer."""
        memory = target.buffer
        assert memory is not None, target
        value = to_memory(b, value, kind_of(memory))
        b.effect(memref.StoreOp.get(value, memory, at))

    def barrier(self, b: Builder) -> None:
        b.effect(simt.BarrierOp(memory=simt.MemorySpace.WORKGROUP))

    def fill(
        self,
        b: Builder,
        target: Tensor,
        element: Callable[[Coordinates], SSAValue],
    ) -> None:
        """Compute the elements of a tensor into its buffer."""

        def store(at: Coordinates) -> None:
            self.put(b, target, at, element(at))

        self.barrier(b)
        self.for_each(b, target.shape, store)
        self.barrier(b)

    def assign(self, b: Builder, target: Tensor, value: Tensor) -> None:
        """Copy a tensor into the buffer of another; they may be the same."""
        if target.buffer is not value.buffer:
            self.fill(b, target, lambda at: self.elements.of(b, value, at))

    def stored(
        self, b: Builder, value: Tensor, element: Attribute, name: str
    ) -> Tensor:
        """Return a tensor with its elements in a buffer."""
        if value.buffer is not None:
            return value
        found = self.buffer(b, value.shape, element, name)
        self.assign(b, found, value)
        return found

    # Memory behind pointers.

    def memory(
        self,
        b: Builder,
        base: SSAValue | None,
        place: SSAValue,
        flag: Flag,
        element: Attribute,
    ) -> tuple[SSAValue, list[SSAValue]]:
        """Return memory with an element, and the indices of that.

        Without a base the place is the address of an element, if the flag is true.
        """
        if base is not None:
            return b.pure(cast_memory, base, 0, MANY), [index(b, place)]
        if flag is not True and not isinstance(flag, bool):
            place = b.select(flag, place, b.constant(i64, 0))
        return b.pure(simt.MemoryAtOp, place, MemRefType(in_memory(element), [])), []

    def load(
        self,
        b: Builder,
        base: SSAValue | None,
        place: SSAValue,
        flag: Flag,
        other: SSAValue | float,
        element: Attribute,
    ) -> SSAValue:
        """Return an element in memory where a flag is true, else something else."""
        memory, at = self.memory(b, base, place, flag, element)
        kind = kind_of(memory)
        self.reads.add(base)
        if not isinstance(other, SSAValue):
            other = b.constant(element, other)
        rest = to_memory(b, other, kind) if flag is not True else other
        (found,) = b.effect_where(flag, lambda: memref.LoadOp.get(memory, at), [rest])
        return from_memory(b, found, element)

    def store(
        self,
        b: Builder,
        base: SSAValue | None,
        place: SSAValue,
        flag: Flag,
        value: SSAValue,
    ) -> None:
        """Store an element where a flag is true."""
        memory, at = self.memory(b, base, place, flag, value.type)
        value = to_memory(b, value, kind_of(memory))
        b.effect_where(flag, lambda: memref.StoreOp.get(value, memory, at))

    def update(
        self,
        b: Builder,
        op: Operation,
        base: SSAValue | None,
        place: SSAValue,
        flag: Flag,
        value: SSAValue,
        how: Callable[[SSAValue, SSAValue, Sequence[SSAValue]], Operation],
    ) -> SSAValue:
        """Update an element where a flag is true; return what was there, or 0.

        Args:
            b: the builder.
            op: the update.
            base: the memory that the element is in.
            place: where in it, or an address: see `memory`.
            flag: whether it is updated.
            value: what it is updated by.
            how: the operation on memory, a value and a place.
        """
        memory, at = self.memory(b, base, place, flag, value.type)
        if (kind := kind_of(memory)) != value.type:
            raise Refused(op, f"expected memory of {value.type}, got {kind}")
        zero = b.constant(value.type, 0)
        return b.effect_where(flag, lambda: how(memory, value, at), [zero])[0]

    # Combinations along an axis.

    def inlined(
        self, b: Builder, op: Operation, body: Block, given: Sequence[SSAValue]
    ) -> Values:
        """Return what a region of an operation makes of values."""
        known = {**self.outer, **dict(zip(body.args, given, strict=True))}
        for each in body.ops:
            if each is body.last_op:
                return tuple(known.get(x, x) for x in each.operands)
            for inner in each.walk():
                if inner.dialect_name() not in ("arith", "math", "scf"):
                    what = f"expected arithmetic in the region, got {inner.name}"
                    raise Refused(op, what)
            new = b.effect(each.clone(dict(known)))
            known.update(zip(each.results, new.results, strict=True))
        raise AssertionError(op)

    def combined(
        self, b: Builder, op: Combining, sums: Values, values: Values
    ) -> Values:
        """Return what the body of a reduction or a scan makes of elements."""
        return self.inlined(b, op, op.combine.block, (*sums, *values))

    def _elements(self, b: Builder, srcs: Sequence[Tensor], at: Coordinates) -> Values:
        return tuple(self.elements.of(b, x, at) for x in srcs)

    def pair(self, op: tt.ReduceOp, src: Tensor) -> Tensor:
        """Return the tensor of pairs combined, each where it is used."""
        axis = op.axis.value.data

        def element(b: Builder, at: Coordinates) -> SSAValue:
            one, other = (
                self.elements.of(b, src, (*at[:axis], b.constant(INDEX, x), *at[axis:]))
                for x in range(2)
            )
            return self.combined(b, op, (one,), (other,))[0]

        shape = (*src.shape[:axis], *src.shape[axis + 1 :])
        return Tensor(shape, element, None, src.reads)

    def _of_lanes(
        self, b: Builder, op: tt.ReduceOp, srcs: Sequence[Tensor], size: int, put: Put
    ) -> Values:
        """Reduce elements that all lanes share: each its own, then with each other."""
        lane = b.lane(self.lanes)

        def next(t: BoundedIndex, sums: Values) -> Values:
            place = b.index(b.add(b.times(t, self.lanes), lane))
            return self.combined(b, op, sums, self._elements(b, srcs, put(place)))

        sums = self._elements(b, srcs, put(b.index(lane)))
        sums = b.loop(size // self.lanes, sums, next, name="part", start=1)
        step = self.lanes // 2
        while step:
            apart = b.constant(INDEX, step)
            others = tuple(b.shuffle(x, apart, ShuffleMode.XOR) for x in sums)
            sums = self.combined(b, op, sums, others)
            step //= 2
        return tuple(b.from_lane(x, BoundedIndex(0)) for x in sums)

    def _in_turn(
        self, b: Builder, op: tt.ReduceOp, srcs: Sequence[Tensor], size: int, put: Put
    ) -> Values:
        """Reduce elements one after the other."""

        def next(t: BoundedIndex, sums: Values) -> Values:
            here = self._elements(b, srcs, put(b.index(t)))
            return self.combined(b, op, sums, here)

        sums = self._elements(b, srcs, put(b.constant(INDEX, 0)))
        return b.loop(size, sums, next, name="at", start=1)

    def reduce(
        self, b: Builder, op: tt.ReduceOp, srcs: Sequence[Tensor]
    ) -> list[Tensor] | Values:
        """Return tensors, or scalars, of the elements along an axis combined."""
        axis, whole = op.axis.value.data, srcs[0].shape
        shape, size = (*whole[:axis], *whole[axis + 1 :]), whole[axis]
        shared = size % self.lanes == 0
        reduced = self._of_lanes if shared else self._in_turn

        def along(at: Coordinates) -> Put:
            return lambda place: (*at[:axis], place, *at[axis:])

        if not shape:
            self.elements.known.clear()
            return reduced(b, op, srcs, size, along(()))
        elements = [element_of(x.type) for x in op.res]
        targets = [self.buffer(b, shape, each, "reduced") for each in elements]

        def store(at: Coordinates, values: Values) -> Values:
            for target, value in zip(targets, values, strict=True):
                self.put(b, target, at, value)
            return ()

        def of_row(row: BoundedIndex, _: Values) -> Values:
            at = unflattened(b, b.index(row), shape)
            values = self._of_lanes(b, op, srcs, size, along(at))
            is_first = b.equal(b.lane(self.lanes), 0)
            return b.branch(is_first, lambda: store(at, values))

        self.barrier(b)
        if shared and prod(shape) < self.lanes:
            self.elements.known.clear()
            b.loop(prod(shape), (), of_row, name="row")
        else:
            self.for_each(
                b,
                shape,
                lambda at: store(at, self._in_turn(b, op, srcs, size, along(at))),
            )
        self.barrier(b)
        return targets

    def scan(self, b: Builder, op: tt.ScanOp, srcs: Sequence[Tensor]) -> list[Tensor]:
        """Return tensors of each element combined with what is before it."""
        axis, whole = op.axis.value.data, srcs[0].shape
        shape, size = (*whole[:axis], *whole[axis + 1 :]), whole[axis]
        backwards = bool(op.reverse.value.data)
        elements = [element_of(x.type) for x in op.res]
        targets = [self.buffer(b, whole, each, "scanned") for each in elements]

        def of_row(at: Coordinates) -> None:
            def put(t: BoundedIndex) -> Coordinates:
                place = b.index(t)
                if backwards:
                    place = b.pure(arith.SubiOp, b.constant(INDEX, size - 1), place)
                return (*at[:axis], place, *at[axis:])

            def store(here: Coordinates, values: Values) -> Values:
                for target, value in zip(targets, values, strict=True):
                    self.put(b, target, here, value)
                return values

            def next(t: BoundedIndex, sums: Values) -> Values:
                here = put(t)
                new = self._elements(b, srcs, here)
                return store(here, self.combined(b, op, sums, new))

            first = put(BoundedIndex(0))
            sums = store(first, self._elements(b, srcs, first))
            b.loop(size, sums, next, name="at", start=1)

        self.barrier(b)
        self.for_each(b, shape or (1,), lambda at: of_row(at if shape else ()))
        self.barrier(b)
        return targets

    def map(
        self, b: Builder, op: tt.MapElementwiseOp, srcs: Sequence[Tensor]
    ) -> list[Tensor]:
        """Return tensors of what a region makes of elements, `pack` at a time."""
        pack, shape = op.pack.value.data, srcs[0].shape
        if shape[-1] % pack:
            what = f"rows of a multiple of {pack} elements, which a call takes"
            raise Refused(op, f"expected {what}, got {shape[-1]}")
        targets = [
            self.buffer(b, shape, element_of(x.type), "mapped") for x in op.results
        ]

        def call(at: Coordinates) -> None:
            *row, group = at
            first = b.pure(arith.MuliOp, group, b.constant(INDEX, pack))
            places = [(*row, b.plus(first, x)) for x in range(pack)]
            given = [self.elements.of(b, x, place) for x in srcs for place in places]
            found = iter(self.inlined(b, op, op.scalar_op.block, given))
            for target in targets:
                for place in places:
                    self.put(b, target, place, next(found))

        self.barrier(b)
        self.for_each(b, (*shape[:-1], shape[-1] // pack), call)
        self.barrier(b)
        return targets

    def histogram(
        self, b: Builder, op: tt.HistogramOp, src: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Return how many elements are 0, 1, 2, ..."""
        result = self.buffer(b, shape_of(op.result.type), i32, "counts")
        memory = result.buffer
        assert memory is not None
        self.fill(b, result, lambda at: b.constant(i32, 0))

        def count(at: Coordinates) -> None:
            place = index(b, self.elements.of(b, src, at))
            flag: Flag = b.compare("ult", place, b.constant(INDEX, result.shape[0]))
            if mask is not None:
                flag = b.both(flag, self.elements.of(b, mask, at))
            one = b.constant(i32, 1)
            b.effect_where(
                flag, lambda: update_memory(tt.Update.ADD, memory, one, [place])
            )

        self.for_each(b, src.shape, count)
        self.barrier(b)
        return result

    # Products.

    def load_tile(
        self, b: Builder, tensor: Tensor, at: Coordinates, type: MatrixType
    ) -> SSAValue:
        """Return a tile of a tensor that memory holds, which begins at an element."""
        matrix = tensor.matrix
        assert matrix is not None, tensor
        self.reads |= tensor.reads

        def load() -> Values:
            *lead, row, col = at
            place = (*lead, col, row) if matrix.is_transposed else at
            if matrix.starts:
                pairs = zip(matrix.starts, place, strict=True)
                place = tuple(b.pure(arith.AddiOp, x, y) for x, y in pairs)
            layout = Layout.COL_MAJOR if matrix.is_transposed else Layout.ROW_MAJOR
            new = coopmatrix.LoadOp(matrix.memory, place, type, layout)
            if matrix.checked:
                new.checked = CheckedAttr(frozenset(matrix.checked))
            return tuple(b.effect(new).results)

        def staged() -> Values:
            stage = self.stage(b, tensor, at, type.shape, type.element_type)
            assert stage.buffer is not None
            zeros = (b.constant(INDEX, 0),) * len(stage.shape)
            new = coopmatrix.LoadOp(stage.buffer, zeros, type)
            return tuple(b.effect(new).results)

        if isinstance(matrix.aligned, bool):
            return load()[0]
        return b.either(matrix.aligned, [type], load, staged)[0]

    def stage(
        self,
        b: Builder,
        tensor: Tensor,
        at: Coordinates,
        shape: Sequence[int],
        element: Attribute,
    ) -> Tensor:
        """Return a buffer of the part of a tensor that begins at an element."""

        def moved(x: Coordinates) -> Coordinates:
            whole = (*[b.constant(INDEX, 0)] * (len(at) - len(x)), *x)
            pairs = zip(at, whole, strict=True)
            return tuple(b.pure(arith.AddiOp, one, other) for one, other in pairs)

        found = self.buffer(b, shape, element, "stage")
        self.fill(b, found, lambda x: self.elements.of(b, tensor, moved(x)))
        return found

    def sum_type(self, op: tt.DotOp) -> MatrixType:
        """Return the type of the matrices that hold sums while they are kept."""
        assert self.block is not None
        shape = shape_of(op.d.type)
        rows, cols = min(self.tile[0], shape[0]), min(self.block[1], shape[1])
        return MatrixType.of(rows, cols, element_of(op.d.type), Use.ACC)

    def add_products(
        self,
        b: Builder,
        op: tt.DotOp,
        factors: tuple[Tensor, Tensor],
        at: Coordinates,
        sums: Values,
    ) -> Values:
        """Return sums, strips of a block that begins at an element, and products.

        Args:
            b: the builder.
            op: says what is multiplied.
            factors: the tensors, of two dimensions.
            at: the first row and the first column of the sums.
            sums: the strips, below each other.
        """
        strip = self.sum_type(op)
        (m, n), depth = strip.shape, factors[0].shape[-1]
        k = min(self.tile[2], depth)
        elements = element_of(op.a.type), element_of(op.b.type)
        of_a = MatrixType.of(m, k, elements[0], Use.A)
        of_b = MatrixType.of(k, n, elements[1], Use.B)
        signed = (
            SignedAttr(frozenset(Operand)) if is_integer(strip.element_type) else None
        )

        def step(t: BoundedIndex, sums: Values) -> Values:
            parts: list[tuple[Tensor, Coordinates]] = []
            along = b.index(b.times(t, k))
            for tensor, place, shape, element in (
                (factors[0], (at[0], along), (m * len(sums), k), elements[0]),
                (factors[1], (along, at[1]), (k, n), elements[1]),
            ):
                if tensor.matrix is None:
                    tensor = self.stage(b, tensor, place, shape, element)
                    place = (b.constant(INDEX, 0),) * 2
                parts.append((tensor, place))
            (one, (row, col)), (other, start) = parts
            right = self.load_tile(b, other, start, of_b)
            found: list[SSAValue] = []
            for number, total in enumerate(sums):
                left = self.load_tile(b, one, (b.plus(row, number * m), col), of_a)
                new = coopmatrix.MulAddOp(left, right, total, signed=signed)
                found.append(b.effect(new).results[0])
            return tuple(found)

        return b.loop(depth // k, sums, step, name="k")

    def dot(self, b: Builder, op: tt.DotOp, a: Tensor, c: Tensor, d: Tensor) -> None:
        """Add the product of two tensors in memory to a third one, tile by tile.

        Args:
            b: the builder.
            op: says what is multiplied.
            a: the first factor, in memory.
            c: the second one, in memory.
            d: the sum, in a buffer.
        """
        *batch, rows, cols = d.shape
        depth = a.shape[-1]
        sizes = [min(x, y) for x, y in zip(self.tile, (rows, cols, depth), strict=True)]
        m, n, k = sizes
        elements = [element_of(x.type) for x in (op.a, op.b, op.d)]
        of_a = MatrixType.of(m, k, elements[0], Use.A)
        of_b = MatrixType.of(k, n, elements[1], Use.B)
        of_d = MatrixType.of(m, n, elements[2], Use.ACC)
        signed = None
        if is_integer(elements[2]):
            signed = SignedAttr(frozenset(Operand))

        def load(tensor: Tensor, at: Coordinates, type: MatrixType) -> SSAValue:
            return self.load_tile(b, tensor, at, type)

        def of_tile(lead: Coordinates, row: SSAValue, col: SSAValue) -> None:
            def step(t: BoundedIndex, sums: Values) -> Values:
                at = b.index(b.times(t, k))
                one = load(a, (*lead, row, at), of_a)
                other = load(c, (*lead, at, col), of_b)
                new = coopmatrix.MulAddOp(one, other, sums[0], signed=signed)
                return (b.effect(new).results[0],)

            sums = (load(d, (*lead, row, col), of_d),)
            (total,) = b.loop(depth // k, sums, step, name="k")
            assert d.buffer is not None
            self.barrier(b)  # other lanes may have loaded what this one stores
            b.effect(coopmatrix.StoreOp(total, d.buffer, (*lead, row, col)))

        def of_batch(number: BoundedIndex, _: Values) -> Values:
            lead = unflattened(b, b.index(number), batch)

            def of_rows(row: BoundedIndex, _: Values) -> Values:
                def of_cols(col: BoundedIndex, _: Values) -> Values:
                    places = b.index(b.times(row, m)), b.index(b.times(col, n))
                    of_tile(lead, *places)
                    return ()

                return b.loop(cols // n, (), of_cols, name="col")

            return b.loop(rows // m, (), of_rows, name="row")

        b.loop(prod(batch), (), of_batch, name="batch")
        self.barrier(b)


Put = Callable[[SSAValue], Coordinates]
"""From a place along the axis to the coordinates of an element."""


def kind_of(memory: SSAValue) -> Attribute:
    """Return what memory holds."""
    assert is_memref(memory.type), memory
    return memory.type.get_element_type()
