"""Tiles of A and B in work-group memory: how they get there, and matrices from there.

A tile has rows of pieces (see `coopc.plan.khr_gemm`).  Piece number p of the tile is
copied by work-item p modulo the work-items of the work-group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.passes.khr.code import Code
from coopc.passes.khr.scalar_forms import constant
from coopc.plan.khr_gemm import Panel
from coopc.rewrite.multiplication import Operand

ALIGNMENT = "alignment"
"""On a load of a vector: bytes that divide the address of its first element."""

WORD_BYTES = 4


def piece_type(panel: Panel) -> Attribute:
    """Return what work-group memory holds: words of 32 bits."""
    words = panel.width // WORD_BYTES
    return i32 if words == 1 else VectorType(i32, [words])


def allocation(panel: Panel, stages: int) -> memref.AllocaOp:
    """Return the work-group memory of some tiles: stages x rows x pieces and gap."""
    space = simt.MemoryAttr.of(simt.MemorySpace.WORKGROUP)
    shape = (stages, panel.rows, panel.stride)
    return memref.AllocaOp.get(piece_type(panel), shape=shape, memory_space=space)


def size_of(code: Code, operand: Operand, dimension: int) -> SSAValue:
    """Insert the size of a dimension of a memref."""
    if (size := operand.type.get_shape()[dimension]) >= 0:
        return code.index(size)
    return code.get(memref.DimOp(operand.memory, code.index(dimension)))


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of an operand: where it comes from, and where it is."""

    operand: Operand
    use: coopmatrix.Use
    """A or B."""
    panel: Panel
    work_items: int
    """Of a work-group."""
    memory: SSAValue
    """What `allocation` gives."""

    @property
    def element(self) -> Attribute:
        """The type of an element."""
        return self.operand.type.get_element_type()

    @property
    def along_rows(self) -> bool:
        """Whether its rows go along K, so that subgroups share out the rows."""
        return (self.use is coopmatrix.Use.A) != self.operand.transposed

    @property
    def passes(self) -> int:
        """Pieces that each work-item copies."""
        return self.panel.rows * self.panel.pieces // self.work_items

    # --- from memory to work-group memory ------------------------------------------

    def piece(
        self, code: Code, item: SSAValue, turn: SSAValue | int
    ) -> tuple[SSAValue, SSAValue]:
        """Insert the row, and the piece of it, that a work-item copies at its turn."""
        if isinstance(turn, int):
            number = code.add(item, turn * self.work_items)
        else:
            number = code.add(code.mul(turn, self.work_items), item)
        return self._numbered(code, number)

    def _numbered(self, code: Code, number: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Insert the row, and the piece of it, of a number.

        With `interleaved` rows, eight numbers are the pieces of some rows that are
        `pieces` apart, and after as many times eight numbers come eight more rows.
        """
        pieces, rows = self.panel.pieces, self.panel.interleaved
        if rows == 1:
            return code.div_mod(number, pieces)
        eight, within = code.div_mod(number, 8 * pieces)
        first, within = code.div_mod(within, 8)
        across, piece = code.div_mod(within, pieces)
        down = code.get(arith.AddiOp(first, code.mul(across, pieces)))
        return code.get(arith.AddiOp(code.mul(eight, 8), down)), piece

    def pieces(self, code: Code, item: SSAValue) -> list[tuple[SSAValue, SSAValue]]:
        """Insert the row, and the piece of it, of all that a work-item copies."""
        pieces = self.panel.pieces
        whole = pieces if self.panel.interleaved == 1 else 8 * pieces
        if self.work_items % whole:
            return [self.piece(code, item, turn) for turn in range(self.passes)]
        row, piece = self._numbered(code, item)
        down = self.work_items // pieces
        return [(code.add(row, turn * down), piece) for turn in range(self.passes)]

    def position(
        self, code: Code, origin: Sequence[SSAValue], row: SSAValue, piece: SSAValue
    ) -> list[SSAValue]:
        """Insert the position in memory of a piece of the tile that is at `origin`."""
        *lead, first, second = origin
        col = code.mul(piece, self.panel.per_piece)
        return [*lead, code.add(first, row), code.add(second, col)]

    def load(self, code: Code, position: Sequence[SSAValue]) -> SSAValue:
        """Insert the load of a piece that is inside of memory."""
        type = VectorType(self.element, [self.panel.per_piece])
        op = vector.LoadOp(self.operand.memory, position, type)
        op.attributes[ALIGNMENT] = IntegerAttr(self.panel.width, i64)
        return self._words(code, code.get(op))

    def load_checked(self, code: Code, position: Sequence[SSAValue]) -> SSAValue:
        """Insert the load of a piece, zeros for what is outside of memory."""
        count = self.panel.per_piece
        *_, row, col = position
        last = len(position) - 1
        left = code.get(arith.SubiOp(size_of(code, self.operand, last), col))
        inside = code.less(row, size_of(code, self.operand, last - 1))
        left = code.get(arith.SelectOp(inside, left, code.index(0)))
        mask = code.get(vector.CreateMaskOp([left], VectorType(i1, [count])))
        type = VectorType(self.element, [count])
        zero = constant(self.element, 0, code.get)
        zeros = code.get(vector.BroadcastOp(zero, type))
        memory = self.operand.memory
        load = vector.MaskedLoadOp(memory, position, mask, zeros, type)
        return self._words(code, code.get(load))

    def _words(self, code: Code, piece: SSAValue) -> SSAValue:
        """Insert a piece as what work-group memory holds."""
        words = self.panel.width // WORD_BYTES
        found = code.get(vector.BitcastOp(piece, VectorType(i32, [words])))
        if words > 1:
            return found
        return code.get(vector.ExtractOp(found, [0], i32))

    def store(
        self, code: Code, value: SSAValue, place: Sequence[SSAValue | int]
    ) -> None:
        """Insert the store of a piece to a stage, row and piece."""
        at = [x if isinstance(x, SSAValue) else code.index(x) for x in place]
        code.do(memref.StoreOp.get(value, self.memory, at))

    # --- from work-group memory to matrices ----------------------------------------

    def part(
        self, code: Code, stage: SSAValue | int, at: SSAValue, size: int
    ) -> SSAValue:
        """Insert the view of the part of a stage that a subgroup multiplies.

        Args:
            code: where.
            stage: which one.
            at: the number of the part along M or N.
            size: how much of M or N it has.
        """
        panel, type = self.panel, self.memory.type
        assert isinstance(type, MemRefType), type
        if self.along_rows:
            offsets = [stage, code.mul(at, size), 0]
            sizes = [1, size, panel.pieces]
        else:
            offsets = [stage, 0, code.mul(at, size // panel.per_piece)]
            sizes = [1, panel.rows, size // panel.per_piece]
        layout = StridedLayoutAttr([panel.stride, 1], None)
        part = MemRefType(piece_type(panel), sizes[1:], layout, type.memory_space)
        view = memref.SubviewOp.get(self.memory, offsets, sizes, [1, 1, 1], part)
        return code.get(view)

    def matrix(
        self, code: Code, part: SSAValue, k: int, depth: int, at: int, size: int
    ) -> SSAValue:
        """Insert the load of a matrix of a part.

        Args:
            code: where.
            part: what `part` gave.
            k: where it begins along K.
            depth: its size along K.
            at: where it begins along M or N.
            size: its size along M or N.
        """
        shape = (size, depth) if self.use is coopmatrix.Use.A else (depth, size)
        type = coopmatrix.MatrixType.of(*shape, self.element, self.use)
        per_piece = self.panel.per_piece
        places = [at, k // per_piece] if self.along_rows else [k, at // per_piece]
        layouts = coopmatrix.Layout
        layout = layouts.COL_MAJOR if self.operand.transposed else layouts.ROW_MAJOR
        position = [code.index(x) for x in places]
        return code.get(coopmatrix.LoadOp(part, position, type, layout))
