"""Operations on matrices, each on the vectors that a lane holds of them.

Rules for `coopc.ir.split_values`, which does the rest; `MatrixRules.rules` is
the table.  Loads, stores, products and conversions are those of tensors: a matrix is a
tensor in a layout of DPAS (`dpas_tiling`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from typing import Any, TypeAlias

from xdsl.dialects.builtin import VectorType
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Operation, SSAValue

from coopc.device import Device
from coopc.dialects import coopmatrix, xe
from coopc.dialects.coopmatrix import MatrixType, Operand, matrix_type
from coopc.dialects.narrow import is_memref
from coopc.dialects.xe import EXECUTION_SIZES, accumulators
from coopc.ir import element_access
from coopc.ir.builder import Builder, Built
from coopc.ir.split_values import Rule, Splitter
from coopc.ir.transaction import Refused
from coopc.passes.coopmatrix.elementwise import converted, elementwise, fill_value
from coopc.passes.xe.channel_plans import ChannelPlan
from coopc.passes.xe.convert_to_xe.block_access import (
    BlockMessages,
    Surface,
    load_channels,
)
from coopc.passes.xe.convert_to_xe.dot_to_dpas import DpasOperand, multiply
from coopc.passes.xe.convert_to_xe.matrix_memory import (
    MatrixPlaces,
    Moves,
    PrefetchMove,
    place_of,
    start_of,
    surface_of,
)
from coopc.passes.xe.convert_to_xe.scalar_access import ScalarAccess
from coopc.passes.xe.convert_to_xe.vectors import gathered, packed, unpacked
from coopc.passes.xe.register_layout import (
    DpasTiling,
    RegisterLayout,
    precision_of,
    sources,
    tiling_of,
)

Results: TypeAlias = Sequence[Sequence[SSAValue]]

CACHES = {
    1: xe.CacheAttr.of(xe.CacheControl.CACHED, xe.CacheControl.CACHED),
    2: xe.CacheAttr.of(xe.CacheControl.UNCACHED, xe.CacheControl.CACHED),
}
"""What is filled by a prefetch for a level: from there on outwards.  There is no third
level, and a hint for it is ignored."""


def precision(tiling: DpasTiling, signed: bool) -> xe.Precision | None:
    """Return what DPAS calls the elements of a matrix; None where it has no name."""
    found = precision_of(tiling.registers.element)
    if found is xe.Precision.TF32:
        return None  # it would drop bits of f32
    if found is xe.Precision.S8 and not signed:
        return xe.Precision.U8
    return found


def splat(b: Builder, registers: RegisterLayout, scalar: SSAValue) -> SSAValue:
    """Return a vector of one number, as lanes hold vectors of elements."""
    type = VectorType(registers.element, [registers.length])
    return b.pure(BroadcastOp, scalar, type)


@dataclass(slots=True)
class MatrixRules:
    """The rules for one module, and what they share."""

    device: Device
    lanes: int
    moves: Mapping[Operation, Moves]
    """Of the loads and stores that are done by blocks."""
    prefetches: Mapping[Operation, Sequence[PrefetchMove]]
    channels: Mapping[Operation, ChannelPlan]
    """Of the loads that are done by channels."""
    built: Built = field(default_factory=Built)
    blocks: BlockMessages = field(default_factory=BlockMessages)

    def rules(self) -> dict[type[Operation], Rule]:
        """Return them, by operation."""
        table: dict[type[Operation], Callable[[Any, Splitter], Results]] = {
            coopmatrix.LoadOp: self.load,
            coopmatrix.StoreOp: self.store,
            coopmatrix.PrefetchOp: self.prefetch,
            coopmatrix.AtomicLoadOp: self.load,
            coopmatrix.AtomicStoreOp: self.store,
            coopmatrix.AtomicAddOp: self.update,
            coopmatrix.AtomicMaxOp: self.update,
            coopmatrix.AtomicMinOp: self.update,
            coopmatrix.FillOp: self.fill,
            coopmatrix.MulAddOp: self.mul_add,
            coopmatrix.ConvertOp: self.convert,
            coopmatrix.BitcastOp: self.bitcast,
        }
        for op in coopmatrix.OPERATIONS:
            if issubclass(op, coopmatrix.ElementwiseOp):
                table[op] = self.elementwise
        return dict(table)

    def tiling(self, type: MatrixType, op: Operation) -> DpasTiling:
        """Return how lanes hold matrices of a type, which `op` takes or gives."""
        found = tiling_of(type, self.device, self.lanes)
        if isinstance(found, str):
            raise Refused(op, found)
        return found

    def of(self, value: SSAValue) -> DpasTiling:
        """Return how lanes hold a matrix."""
        owner = value.owner
        op = owner if isinstance(owner, Operation) else owner.parent_op()
        assert op is not None, value
        return self.tiling(matrix_type(value), op)

    def builder(self, op: Operation) -> Builder:
        """Return a builder in front of an operation."""
        return Builder.at(op, self.built, unroll=True)

    # Memory

    def _in_memory(
        self, b: Builder, op: coopmatrix.AccessOp
    ) -> tuple[Surface, tuple[SSAValue, SSAValue]]:
        """Return the surface of an access, and where in it the matrix begins."""
        return surface_of(b, op.memory), start_of(self.blocks.known, b, op)

    def load(
        self, op: coopmatrix.LoadOp | coopmatrix.AtomicLoadOp, s: Splitter
    ) -> Results:
        """By blocks, by channels, or each element by itself."""
        tiling, b = self.of(op.result), self.builder(op)
        registers = tiling.registers
        if (moves := self.moves.get(op)) is not None:
            surface, start = self._in_memory(b, op)
            return [self.blocks.load(b, registers, moves, surface, start)]
        if (plan := self.channels.get(op)) is not None:
            assert isinstance(op, coopmatrix.LoadOp), op
            place, name = place_of(b, op), op.result.name_hint
            return [load_channels(b, plan, registers, op.memory, place, name)]
        read = partial(element_access.load, op)
        return [ScalarAccess().load(b, registers, MatrixPlaces(op, tiling), read)]

    def store(
        self, op: coopmatrix.StoreOp | coopmatrix.AtomicStoreOp, s: Splitter
    ) -> Results:
        """By blocks, or each element by itself."""
        tiling, b = self.of(op.value), self.builder(op)
        registers, pieces = tiling.registers, s.parts(op.value)
        if (moves := self.moves.get(op)) is not None:
            surface, start = self._in_memory(b, op)
            self.blocks.store(b, registers, pieces, moves, surface, start)
            return []
        write = partial(element_access.store, op)
        ScalarAccess().store(b, registers, pieces, MatrixPlaces(op, tiling), write)
        return []

    def prefetch(self, op: coopmatrix.PrefetchOp, s: Splitter) -> Results:
        """By blocks, if there is a cache of that level; else not: it is a hint."""
        cache = CACHES.get(1 if op.level is None else op.level.value.data)
        moves = self.prefetches.get(op, ())
        if cache is None or not moves:
            return []
        b = self.builder(op)
        surface, (row, col) = self._in_memory(b, op)
        for plan, (down, right) in moves:
            known = self.blocks.known
            start = known.plus(b, row, down), known.plus(b, col, right)
            self.blocks.prefetch(b, plan, surface, start, cache)
        return []

    def update(self, op: coopmatrix.AtomicUpdateOp, s: Splitter) -> Results:
        """Each element by itself, once: `test_one_lane_has_an_element`."""
        tiling, b = self.of(op.value), self.builder(op)
        registers, change = tiling.registers, partial(element_access.update, op)
        places, pieces = MatrixPlaces(op, tiling), s.parts(op.value)
        found = ScalarAccess().update(b, registers, pieces, places, change)
        return [packed(b, registers, found)]

    # Arithmetic

    def fill(self, op: coopmatrix.FillOp, s: Splitter) -> Results:
        """The number, converted, in every component."""
        if op.is_pointer and not is_memref(op.value.type):
            what = f"expected a memref to fill from, got {op.value.type}"
            raise Refused(op, what)
        b, registers = self.builder(op), self.of(op.result).registers
        vector = splat(b, registers, fill_value(b, op))
        count = registers.run // registers.length
        (tile,) = packed(b, registers, [vector] * count)
        return [(tile,) * registers.pieces]

    def mul_add(self, op: coopmatrix.MulAddOp, s: Splitter) -> Results:
        """A run of DPAS."""
        values = (op.a, op.b, op.c)
        a, b, c = (DpasOperand(self.of(x).registers, s.parts(x)) for x in values)
        repeat = self.of(op.c).encoding.repeat_count
        return [multiply(self.builder(op), a, b, c, self._precisions(op), repeat)]

    def _precisions(self, op: coopmatrix.MulAddOp) -> tuple[xe.Precision, xe.Precision]:
        """Return what DPAS calls the elements of a and b."""
        assert self.device.dpas is not None, self.device
        allowed = [has for has, n in EXECUTION_SIZES if n == self.device.dpas.lanes]
        if self.lanes not in allowed:
            wanted = " or ".join(map(str, allowed))
            raise Refused(
                op,
                f"expected a kernel of {wanted} lanes, which multiply by the DPAS of "
                f"{self.device.name}, got {self.lanes}",
            )
        a, b = op.matrices[Operand.A], op.matrices[Operand.B]
        x = precision(self.tiling(a, op), op.is_signed(Operand.A))
        y = precision(self.tiling(b, op), op.is_signed(Operand.B))
        if x is None or y is None:
            raise Refused(
                op,
                "expected elements of f16, bf16 or i8, which DPAS multiplies exactly, "
                f"got {a if x is None else b}",
            )
        if x is not y and not (x.is_integer and y.is_integer):
            raise Refused(op, f"expected a and b of one type, got {a} and {b}")
        if op.saturating is not None:
            what = "expected a sum that wraps around, as that of DPAS, got saturating"
            raise Refused(op, what)
        c, result = op.matrices[Operand.C], op.matrices[Operand.RESULT]
        if c != result:
            raise Refused(
                op, f"expected c and a result of one type, got {c} and {result}"
            )
        if c.element_type not in (sums := accumulators(x)):
            names = " or ".join(map(str, sums))
            raise Refused(op, f"expected a c of {names}, which DPAS adds to, got {c}")
        return x, y

    def elementwise(self, op: Operation, s: Splitter) -> Results:
        """The same on vectors of elements."""
        b, registers = self.builder(op), self.of(op.results[0]).registers
        operands = (
            unpacked(b, registers, s.parts(x))
            if isinstance(x.type, MatrixType)
            else repeat(splat(b, registers, x))
            for x in op.operands
        )
        vectors = zip(*operands, strict=False)
        return [packed(b, registers, [elementwise(b, op, each) for each in vectors])]

    def convert(self, op: coopmatrix.ConvertOp, s: Splitter) -> Results:
        """Convert the elements, then put them where the other use has them."""
        source, target = self.of(op.value).registers, self.of(op.result).registers
        elements = [target.coordinates[x] for x in target.distinct]
        wanted = sources(source, elements)
        if wanted is None or source.layout.bases("lane") != target.layout.bases("lane"):
            raise Refused(
                op,
                f"expected elements to stay in their lanes, which those of "
                f"{op.value.type} do not in {op.result.type}",
            )
        b, signed = self.builder(op), op.signed is not None
        vectors = [
            converted(b, x, target.element, signed)
            for x in unpacked(b, source, s.parts(op.value))
        ]
        return [packed(b, target, gathered(b, vectors, wanted, target.length))]

    def bitcast(self, op: coopmatrix.BitcastOp, s: Splitter) -> Results:
        """The same bits: width and use are the same, and so is the layout."""
        source, target = self.of(op.value).registers, self.of(op.result).registers
        b = self.builder(op)
        vectors = unpacked(b, source, s.parts(op.value))
        return [packed(b, target, [elementwise(b, op, (x,)) for x in vectors])]
