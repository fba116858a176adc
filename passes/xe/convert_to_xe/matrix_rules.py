"""How each operation of `coopmatrix` is done on operands of DPAS.

Rules for `coopc.rewrite.one_to_many`, which does the rest; `Matrices.rules` is the
table.  What can be refused is refused before, by `matrix_checks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects import memref
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix, xe
from coopc.dialects.coopmatrix import MatrixType, Operand, matrix_type
from coopc.dialects.narrow import is_memref
from coopc.ir.builder import Builder, Built
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.matrix_access import MatrixBlocks
from coopc.passes.xe.convert_to_xe.matrix_channels import Channels, MatrixChannels
from coopc.passes.xe.convert_to_xe.matrix_lanes import MatrixLanes
from coopc.passes.xe.convert_to_xe.matrix_pieces import Pieces
from coopc.passes.xe.convert_to_xe.matrix_plans import Moves
from coopc.passes.xe.convert_to_xe.registers import gathered, packed, unpacked
from coopc.passes.xe.register_layout import precision_of
from coopc.rewrite import lane_arithmetic
from coopc.rewrite.lane_values import Held
from coopc.rewrite.one_to_many import Rule, Splitter

Results: TypeAlias = Sequence[Sequence[SSAValue]]


def held_of(pieces: Pieces, element: Attribute | None = None) -> Held:
    """Return what a lane holds of a tile, as lanes' arithmetic knows it: no padding."""
    spread, lanes = pieces.spread, pieces.encoding.threads_per_warp
    full = CoopmatrixLayout.of(lanes, spread.run, 32, "acc", lanes)
    count = spread.run // spread.length
    return Held(full, element or spread.element, spread.length, count)


def precision(pieces: Pieces, signed: bool) -> xe.Precision | None:
    """Return what DPAS calls the elements of a matrix; None where it has no name."""
    found = precision_of(pieces.spread.element)
    if found is xe.Precision.TF32:
        return None  # it would drop bits of f32
    if found is xe.Precision.S8 and not signed:
        return xe.Precision.U8
    return found


def sources(source: Pieces, target: Pieces) -> list[int] | None:
    """Return which element of a lane each one is in another layout of the matrix.

    None where elements would have to go to other lanes.
    """
    if source.spread.layout.bases("lane") != target.spread.layout.bases("lane"):
        return None
    at = {element: number for number, element in enumerate(elements(source))}
    found = [at.get(element) for element in elements(target)]
    return None if None in found else [x for x in found if x is not None]


def elements(pieces: Pieces) -> list[tuple[int, int]]:
    """Return what lane 0 holds of a matrix, (row, column), tile after tile."""
    inside = [pieces.spread.coordinates[x] for x in pieces.spread.registers]
    return [(row + r, col + c) for row, col in pieces.tiles for r, c in inside]


@dataclass(slots=True)
class Matrices:
    """The rules for one module, and what they share."""

    pieces: Callable[[MatrixType], Pieces]
    moves: Mapping[Operation, Moves]
    """Of the accesses that are done by blocks."""
    channels: Mapping[Operation, Channels] = field(
        default_factory=dict[Operation, Channels]
    )
    """Of the loads that are done by channels."""
    loads: MatrixChannels = field(default_factory=MatrixChannels)
    entries: dict[Operation, Entry] = field(default_factory=dict[Operation, Entry])
    built: Built = field(default_factory=Built)

    def rules(self) -> dict[type[Operation], Rule]:
        """Return them, by operation."""
        table: dict[type[Operation], Callable[[Any, Splitter], Results]] = {
            coopmatrix.LoadOp: self.load,
            coopmatrix.StoreOp: self.store,
            coopmatrix.AtomicLoadOp: self.atomic_load,
            coopmatrix.AtomicStoreOp: self.atomic_store,
            coopmatrix.AtomicAddOp: self.update,
            coopmatrix.AtomicMaxOp: self.update,
            coopmatrix.AtomicMinOp: self.update,
            coopmatrix.FillOp: self.fill,
            coopmatrix.MulAddOp: self.mul_add,
            coopmatrix.ScaleOp: self.scale,
            coopmatrix.ConvertOp: self.convert,
            coopmatrix.BitcastOp: self.bitcast,
        }
        for op in coopmatrix.OPERATIONS:
            if issubclass(op, coopmatrix.BinaryOp | coopmatrix.SignedBinaryOp):
                table[op] = self.binary
            elif issubclass(op, coopmatrix.UnaryOp):
                table[op] = self.unary
        return dict(table)

    def of(self, value: SSAValue) -> Pieces:
        """Return what lanes hold of a matrix."""
        return self.pieces(matrix_type(value))

    def entry(self, op: Operation) -> Entry:
        """Return the entry of the function that an operation is in."""
        func: Operation | None = op
        while func is not None and not isinstance(func, FuncOp):
            func = func.parent_op()
        assert func is not None, op
        if (found := self.entries.get(func)) is None:
            found = self.entries[func] = Entry(func.body.block)
        return found

    def builder(self, op: Operation) -> Builder:
        """Return a builder in front of an operation."""
        return Builder.at(op, self.built, unroll=True)

    def load(self, op: coopmatrix.LoadOp, s: Splitter) -> Results:
        """By blocks, by channels, or lane by lane."""
        pieces = self.of(op.result)
        if (moves := self.moves.get(op)) is not None:
            return [MatrixBlocks(self.entry(op)).load(op, s, pieces, moves)]
        if (channels := self.channels.get(op)) is not None:
            return [self.loads.load(op, pieces, channels)]
        lanes = MatrixLanes(pieces)
        return [lanes.load(op, s, self.builder(op))]

    def store(self, op: coopmatrix.StoreOp, s: Splitter) -> Results:
        """By blocks, or lane by lane."""
        pieces = self.of(op.value)
        if (moves := self.moves.get(op)) is not None:
            MatrixBlocks(self.entry(op)).store(op, s, pieces, moves)
        else:
            MatrixLanes(pieces).store(op, s, self.builder(op))
        return []

    def atomic_load(self, op: coopmatrix.AtomicLoadOp, s: Splitter) -> Results:
        """Lane by lane."""
        return [MatrixLanes(self.of(op.result)).load(op, s, self.builder(op))]

    def atomic_store(self, op: coopmatrix.AtomicStoreOp, s: Splitter) -> Results:
        """Lane by lane."""
        MatrixLanes(self.of(op.value)).store(op, s, self.builder(op))
        return []

    def update(self, op: coopmatrix.AtomicUpdateOp, s: Splitter) -> Results:
        """Lane by lane: each element is in one lane."""
        return [MatrixLanes(self.of(op.value)).update(op, s, self.builder(op))]

    def fill(self, op: coopmatrix.FillOp, s: Splitter) -> Results:
        """The number, converted, in every component."""
        b, pieces, value = self.builder(op), self.of(op.result), op.value
        if is_memref(value.type):
            value = b.effect(memref.LoadOp.get(value, [])).results[0]
        held = held_of(pieces)
        scalar = lane_arithmetic.converted(b, value, held.element, signed=True)
        vector = lane_arithmetic.splat(b, held, scalar)
        (tile,) = packed(s, pieces.spread, [vector] * held.count)
        return [(tile,) * len(pieces.tiles)]

    def mul_add(self, op: coopmatrix.MulAddOp, s: Splitter) -> Results:
        """A run of DPAS: each b is used for all rows of a while it is at hand."""
        a, b, c = (self.of(x) for x in (op.a, op.b, op.c))
        left = dict(zip(a.tiles, s.parts(op.a), strict=True))
        right = dict(zip(b.tiles, s.parts(op.b), strict=True))
        sums = dict(zip(c.tiles, s.parts(op.c), strict=True))
        kinds = (
            precision(a, op.is_signed(Operand.A)),
            precision(b, op.is_signed(Operand.B)),
        )
        assert kinds[0] is not None, op
        assert kinds[1] is not None, op
        repeat = c.encoding.repeat_count
        for (k, col), piece in right.items():
            for row in sorted({row for row, _ in left}):
                new = xe.DpasOp(left[row, k], piece, sums[row, col], kinds, repeat)  # pyright: ignore[reportArgumentType]
                sums[row, col] = s.insert(new).result
        return [tuple(sums.values())]

    def _on_vectors(
        self, s: Splitter, value: SSAValue, do: Callable[[Sequence[SSAValue]], Any]
    ) -> list[SSAValue]:
        """Return tiles of which the elements are changed, each by itself."""
        spread = self.of(value).spread
        return packed(s, spread, do(unpacked(s, spread, s.parts(value))))

    def binary(
        self, op: coopmatrix.BinaryOp | coopmatrix.SignedBinaryOp, s: Splitter
    ) -> Results:
        """The same on vectors."""
        b, pieces = self.builder(op), self.of(op.result)
        other = tuple(unpacked(s, pieces.spread, s.parts(op.rhs)))
        held = held_of(pieces)

        def do(values: Sequence[SSAValue]) -> Any:
            return lane_arithmetic.binary(b, op, held, tuple(values), other)

        return [self._on_vectors(s, op.lhs, do)]

    def unary(self, op: coopmatrix.UnaryOp, s: Splitter) -> Results:
        """The same on vectors."""
        b, held = self.builder(op), held_of(self.of(op.result))

        def do(values: Sequence[SSAValue]) -> Any:
            return lane_arithmetic.unary(b, op, held, tuple(values))

        return [self._on_vectors(s, op.value, do)]

    def scale(self, op: coopmatrix.ScaleOp, s: Splitter) -> Results:
        """Vectors times a vector of the scalar."""
        b, held = self.builder(op), held_of(self.of(op.result))

        def do(values: Sequence[SSAValue]) -> Any:
            return lane_arithmetic.scale(b, held, tuple(values), op.scalar)

        return [self._on_vectors(s, op.value, do)]

    def convert(self, op: coopmatrix.ConvertOp, s: Splitter) -> Results:
        """Convert the elements, then put them where the other use has them."""
        source, target = self.of(op.value), self.of(op.result)
        b, element = self.builder(op), target.spread.element
        signed = op.signed is not None
        vectors = [
            lane_arithmetic.converted(b, x, element, signed)
            for x in unpacked(s, source.spread, s.parts(op.value))
        ]
        wanted = sources(source, target)
        assert wanted is not None, op
        vectors = gathered(s, vectors, wanted, target.spread.length)
        return [packed(s, target.spread, vectors)]

    def bitcast(self, op: coopmatrix.BitcastOp, s: Splitter) -> Results:
        """The same bits: width and use are the same, and so is the layout."""
        source, target = self.of(op.value), self.of(op.result)
        vectors = unpacked(s, source.spread, s.parts(op.value))
        found = lane_arithmetic.bits_as(
            self.builder(op), vectors, target.spread.element
        )
        assert all(isinstance(x.type, VectorType) for x in found), op
        return [packed(s, target.spread, found)]
