"""Row slices of matrices that are tiles: through scratch memory, once a matrix.

A matrix with slices taken from it is stored where it is defined, once for all of them.
A matrix that a loop only takes slices from and inserts them into is in memory for the
whole loop:

    %r = scf.for .. iter_args(%m = %x) {      store %x, %scratch
      .. extract_row_slice %m[%k]             scf.for .. { .. vector.maskedload %scratch
      %n = insert_row_slice .., %m[%k]          vector.maskedstore %scratch }
      scf.yield %n }                          %r = load %scratch

Memory on the stack that tiles are staged through, and how it is addressed.

Every piece is allocated once, at the start of its function, so that loops do not grow
the stack, and is aligned to 64 bytes, a row of a tile.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IntegerAttr, MemRefType, VectorType, i1, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.dialects.narrow import is_memref, is_vector
from coopc.ir.builder import INDEX, Builder
from coopc.ir.facts import ValueFacts, constant_number

ALIGNMENT = 64

"""Of scratch memory, in bytes."""


@dataclass(slots=True)
class Scratch:
    """The scratch memory of a program."""

    shared: dict[tuple[Block, Attribute, str], SSAValue] = field(
        default_factory=dict[tuple[Block, Attribute, str], SSAValue]
    )

    def own(self, b: Builder, shape: tuple[int, int], element: Attribute) -> SSAValue:
        """Return memory that nobody else uses."""
        new = memref.AllocaOp.get(element, ALIGNMENT, shape)
        assert new.memref.type == MemRefType(element, shape), new
        new.alignment = IntegerAttr(ALIGNMENT, i64)
        new.memref.name_hint = "scratch"
        new.location = b.location
        Rewriter.insert_op(new, InsertPoint.at_start(_start(b)))
        return new.memref

    def passing(
        self, b: Builder, shape: tuple[int, int], element: Attribute, purpose: str
    ) -> SSAValue:
        """Return memory that others use for the same purpose, before and after."""
        key = _start(b), MemRefType(element, shape), purpose
        if (found := self.shared.get(key)) is None:
            found = self.shared[key] = self.own(b, shape, element)
        return found

    def of_matrix(self, b: Builder, type: MatrixType, purpose: str) -> SSAValue:
        """Return memory for a whole matrix, that others use before and after."""
        return self.passing(b, type.shape, type.element_type, purpose)


def _start(b: Builder) -> Block:
    """Return the first block of the function that is built in."""
    block = b.block
    while not isinstance(around := block.parent_op(), FuncOp):
        assert around is not None, block
        assert around.parent is not None, block
        block = around.parent
    return around.body.blocks[0]


def origin(b: Builder) -> tuple[SSAValue, SSAValue]:
    """Return the position of the first element."""
    zero = b.constant(INDEX, 0)
    return zero, zero


def flat(b: Builder, memory: SSAValue) -> SSAValue:
    """Return scratch memory as one row."""
    return b.pure(_flat, memory)


def _flat(memory: SSAValue) -> Operation:
    type = memory.type
    assert is_memref(type), type
    rows, cols = type.get_shape()
    size = rows * cols
    result = MemRefType(type.get_element_type(), [size])
    return memref.ReinterpretCastOp(memory, [], [], [], [0], [size], [1], result)


Slice = coopmatrix.ExtractRowSliceOp | coopmatrix.InsertRowSliceOp


def resident(op: ForOp, place: int) -> list[Slice] | None:
    """Return the slices of a matrix that a loop carries, where it can be in memory.

    There, each new matrix replaces the old one: nothing may ask for the old one later.
    """
    value: SSAValue = op.body.block.args[1 + place]
    end = op.body.block.last_op
    assert isinstance(end, YieldOp), op
    found: list[Slice] = []
    while True:
        step = _users(value, op)
        if step is None:
            return None
        extracts, last = step
        found += extracts
        if isinstance(last, YieldOp):
            is_carried = list(end.operands).count(value) == 1
            return found if is_carried and end.operands[place] is value else None
        found.append(last)
        value = last.result


def _users(
    value: SSAValue, loop: ForOp
) -> tuple[list[Slice], coopmatrix.InsertRowSliceOp | YieldOp] | None:
    """Return who takes slices of a matrix, and who needs it last; None if unclear."""
    users = [use.operation for use in value.uses]
    block = loop.body.block
    if any(user.parent_block() is not block for user in users):
        return None
    extracts = [x for x in users if isinstance(x, coopmatrix.ExtractRowSliceOp)]
    others = [x for x in users if not isinstance(x, coopmatrix.ExtractRowSliceOp)]
    if len(others) != 1:
        return None
    last = others[0]
    if not isinstance(last, coopmatrix.InsertRowSliceOp | YieldOp):
        return None
    if not all(x.is_before_in_block(last) for x in extracts):
        return None
    return [*extracts], last


@dataclass(slots=True)
class Slices:
    """Replaces the row slices of a program."""

    scratch: Scratch
    stored: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Where matrices with slices have been stored."""

    def run(self, root: Operation) -> None:
        """Replace all slices in `root`, loops first."""
        for op in tuple(root.walk()):
            if isinstance(op, ForOp):
                self._loop(op)
        for op in tuple(root.walk()):
            if isinstance(op, coopmatrix.ExtractRowSliceOp):
                self._extract(op, self._memory(op))
            elif isinstance(op, coopmatrix.InsertRowSliceOp):
                self._alone(op)

    def _loop(self, op: ForOp) -> None:
        """Keep matrices of a loop in memory."""
        places = [
            (place, slices)
            for place, value in enumerate(op.iter_args)
            if isinstance(value.type, MatrixType) and (slices := resident(op, place))
        ]
        if not places:
            return
        b = Builder.at(op)
        memories: dict[int, SSAValue] = {}
        for place, slices in places:
            type = matrix_type(op.iter_args[place])
            memory = self.scratch.own(b, type.shape, type.element_type)
            b.effect(coopmatrix.StoreOp(op.iter_args[place], memory, origin(b)))
            memories[place] = memory
            for inner in slices:
                if isinstance(inner, coopmatrix.ExtractRowSliceOp):
                    self._extract(inner, memory)
                else:
                    self._insert(inner, memory)
                    Rewriter.replace_op(inner, [], [inner.matrix])
        self._without(op, memories)

    def _without(self, op: ForOp, memories: dict[int, SSAValue]) -> None:
        """Replace a loop by one that does not carry some matrices."""
        kept = [place for place in range(len(op.iter_args)) if place not in memories]
        end = op.body.block.last_op
        assert isinstance(end, YieldOp), op
        new_end = YieldOp(*(end.operands[place] for place in kept))
        new_end.location = end.location
        Rewriter.replace_op(end, new_end)
        for place in sorted(memories, reverse=True):
            op.body.block.erase_arg(op.body.block.args[1 + place])
        new = ForOp(
            op.lb,
            op.ub,
            op.step,
            [op.iter_args[place] for place in kept],
            op.detach_region(op.body),
        )
        new.attributes = dict(op.attributes)
        new.location = op.location
        b = Builder.at(op)
        b.effect(new)
        results: list[SSAValue] = []
        rest = iter(new.res)
        for place, old in enumerate(op.res):
            if (memory := memories.get(place)) is None:
                results.append(next(rest))
            else:
                load = coopmatrix.LoadOp(memory, origin(b), old.type)
                results.append(b.effect(load).results[0])
        Rewriter.replace_op(op, [], results)

    def _memory(self, op: coopmatrix.ExtractRowSliceOp) -> SSAValue:
        """Return where a matrix is in memory; it is stored where it is defined."""
        value = op.matrix
        if (found := self.stored.get(value)) is not None:
            return found
        type = matrix_type(value)
        b = Builder.after(value, op.location)
        memory = self.scratch.own(b, type.shape, type.element_type)
        b.effect(coopmatrix.StoreOp(value, memory, origin(b)))
        self.stored[value] = memory
        return memory

    def _alone(self, op: coopmatrix.InsertRowSliceOp) -> None:
        """Replace an insertion: store, change, load."""
        b = Builder.at(op)
        type = matrix_type(op.matrix)
        memory = self.scratch.of_matrix(b, type, "slice")
        b.effect(coopmatrix.StoreOp(op.matrix, memory, origin(b)))
        self._insert(op, memory)
        load = coopmatrix.LoadOp(memory, origin(b), type)
        load.location = op.location
        Rewriter.replace_op(op, load)

    def _extract(self, op: coopmatrix.ExtractRowSliceOp, memory: SSAValue) -> None:
        """Replace an extraction by one from memory."""
        b = Builder.at(op)
        row = flat(b, memory)
        type = op.result.type
        if _is_inside(op, type):
            new: Operation = vector.LoadOp(row, [op.offset], type)
        else:
            mask = _mask(b, op, type)
            zero = b.constant(type, 0)
            new = vector.MaskedLoadOp(row, [op.offset], mask, zero, type)
        new.location = op.location
        Rewriter.replace_op(op, new)

    def _insert(self, op: coopmatrix.InsertRowSliceOp, memory: SSAValue) -> None:
        """Write a slice to memory, in front of its operation."""
        b = Builder.at(op)
        row = flat(b, memory)
        if op.mask is None and _is_inside(op, op.value.type):
            b.effect(vector.StoreOp(op.value, row, [op.offset]))
            return
        mask = _mask(b, op, op.value.type)
        if op.mask is not None:
            mask = b.pure(arith.AndIOp, mask, op.mask)
        b.effect(vector.MaskedStoreOp(row, [op.offset], mask, op.value))


def _is_inside(op: Slice, type: object) -> bool:
    """Whether a slice is known to be all inside of the matrix."""
    rows, cols = matrix_type(op.matrix).shape
    offset = constant_number(op.offset)
    return offset is not None and 0 <= offset <= rows * cols - _length(type)


def _length(type: object) -> int:
    assert isinstance(type, VectorType), type
    (length,) = type.get_shape()
    return length


def _mask(b: Builder, op: Slice, type: object) -> SSAValue:
    """Return which elements of a slice the matrix has.

    Those in front of it, from a negative offset on, would be anybody's memory.
    """
    rows, cols = matrix_type(op.matrix).shape
    length = _length(type)
    left = b.pure(arith.SubiOp, b.constant(INDEX, rows * cols), op.offset)
    mask = b.pure(_create_mask, left, length)
    if ValueFacts().is_known_nonnegative(op.offset):
        return mask
    before = b.pure(arith.SubiOp, b.constant(INDEX, 0), op.offset)
    ones = b.constant(VectorType(i1, [length]), 1)
    behind = b.pure(arith.XOrIOp, b.pure(_create_mask, before, length), ones)
    return b.pure(arith.AndIOp, mask, behind)


def _create_mask(left: SSAValue, length: int) -> Operation:
    new = vector.CreateMaskOp([left], VectorType(i1, [length]))
    assert is_vector(new.mask_vector.type), new
    return new
