"""stage-row-slices: lowers row slices of matrices to accesses of a stack buffer.

Before:  coopmatrix.extract_row_slice and coopmatrix.insert_row_slice.
After:   a matrix with row slices is stored once, where it is defined, and its slices
         are vectors in memory. A matrix that a loop only slices and inserts into stays
         in memory for the whole loop. Matrices of a work-group of one work-item count
         as those of its subgroup.
Fails:   for matrices whose sizes are specialization constants.

    %r = scf.for .. iter_args(%m = %x) {      store %x, %scratch
      .. extract_row_slice %m[%k]             scf.for .. { .. vector.maskedload %scratch
      %n = insert_row_slice .., %m[%k]          vector.maskedstore %scratch }
      scf.yield %n }                          %r = load %scratch

It is for kernels of one work-item, which holds whole matrices: there is no
distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import MemRefType, ModuleOp, VectorType, i1
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType, ScopeAttr, matrix_type
from coopc.dialects.narrow import length_of, memref_type
from coopc.ir.builder import INDEX, Builder
from coopc.ir.control_flow import carry_only, retype
from coopc.ir.facts import ValueFacts, constant_number
from coopc.ir.stack_buffer import StackBuffers, origin, stack_buffer
from coopc.ir.transaction import Refused, transaction
from coopc.passes.coopmatrix.narrow_matrix_scope import SUBGROUP, WORKGROUP, narrowed

Slice = coopmatrix.ExtractRowSliceOp | coopmatrix.InsertRowSliceOp


@dataclass(frozen=True)
class StageRowSlicesPass(ModulePass):
    name = "stage-row-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            RowSliceStaging(StackBuffers()).run(draft)
            if len(core_scopes(draft)) > 1:
                for each in draft.walk():  # subgroups hold those of work-groups
                    retype(each, narrowed)
            for kernel in simt.kernels(draft):
                kernel.func.attributes.pop(coopmatrix.DISTRIBUTION, None)


def core_scopes(root: Operation) -> tuple[ScopeAttr, ...]:
    """Return the scopes that are one core: a work-group, too, if it is one work-item.

    vectorize-subgroup makes such kernels of those with matrices of work-groups.
    """
    found = list(simt.kernels(root)) if isinstance(root, ModuleOp) else []
    if found and all(kernel.work_items == 1 for kernel in found):
        return SUBGROUP, WORKGROUP
    return (SUBGROUP,)


def resident(op: ForOp, place: int) -> list[Slice] | None:
    """Return the slices of a matrix that a loop carries, where it can be in memory.

    There, each new matrix replaces the old one: nothing may ask for the old one later.
    """
    value: SSAValue = op.body.block.args[1 + place]
    end = op.body.block.last_op
    found: list[Slice] = []
    while True:
        users = [use.operation for use in value.uses]
        if any(user.parent_block() is not op.body.block for user in users):
            return None
        extracts = [x for x in users if isinstance(x, coopmatrix.ExtractRowSliceOp)]
        others = [x for x in users if not isinstance(x, coopmatrix.ExtractRowSliceOp)]
        if len(others) != 1:
            return None
        (last,) = others
        if not all(x.is_before_in_block(last) for x in extracts):
            return None
        found += extracts
        if isinstance(last, YieldOp):
            assert last is end, op
            is_carried = list(last.operands).count(value) == 1
            return found if is_carried and last.operands[place] is value else None
        if not isinstance(last, coopmatrix.InsertRowSliceOp):
            return None
        found.append(last)
        value = last.result


@dataclass(slots=True)
class RowSliceStaging:
    """Replaces the row slices of a program."""

    buffers: StackBuffers
    stored: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Where matrices with slices have been stored."""

    def run(self, root: Operation) -> None:
        """Replace all slices in `root`, loops first.

        Raises:
            Refused: the sizes of a matrix are not known.
        """
        for op in tuple(root.walk()):
            if isinstance(op, Slice) and not (type := matrix_type(op.matrix)).is_static:
                raise Refused(op, f"expected numbers for sizes and scope, got {type}")
        for op in tuple(root.walk()):
            if isinstance(op, ForOp):
                self._loop(op)
        for op in tuple(root.walk()):
            if isinstance(op, coopmatrix.ExtractRowSliceOp):
                if (memory := self.stored.get(value := op.matrix)) is None:
                    memory = _store(Builder.after(value, op.location), value)
                    self.stored[value] = memory
                _access(op, memory)
            elif isinstance(op, coopmatrix.InsertRowSliceOp):
                b = Builder.at(op)
                memory = self.buffers.of_matrix(b, op.matrix, "slice")
                b.effect(coopmatrix.StoreOp(op.matrix, memory, origin(b)))
                _access(op, memory)
                load = coopmatrix.LoadOp(memory, origin(b), op.result.type)
                load.location = op.location
                Rewriter.replace_op(op, load)

    def _loop(self, op: ForOp) -> None:
        """Keep matrices of a loop in memory."""
        b = Builder.at(op)
        memories: dict[int, SSAValue] = {}
        for place, value in enumerate(op.iter_args):
            if isinstance(value.type, MatrixType) and (slices := resident(op, place)):
                memories[place] = memory = _store(b, value)
                for inner in slices:
                    _access(inner, memory)
                    if isinstance(inner, coopmatrix.InsertRowSliceOp):
                        Rewriter.replace_op(inner, [], [inner.matrix])
        if memories:
            _carry_less(op, memories)


def _carry_less(op: ForOp, memories: dict[int, SSAValue]) -> None:
    """Replace a loop by one that does not carry the matrices in memory."""
    kept = [place for place in range(len(op.iter_args)) if place not in memories]
    rest, b = iter(carry_only(op, kept).results), Builder.at(op)
    results = [
        b.effect(coopmatrix.LoadOp(memories[place], origin(b), old.type)).results[0]
        if place in memories
        else next(rest)
        for place, old in enumerate(op.results)
    ]
    Rewriter.replace_op(op, [], results)


def _store(b: Builder, matrix: SSAValue) -> SSAValue:
    """Store a matrix to memory of its own, and return that."""
    type = matrix_type(matrix)
    memory = stack_buffer(b, type.shape, type.element_type)
    b.effect(coopmatrix.StoreOp(matrix, memory, origin(b)))
    return memory


def _access(op: Slice, memory: SSAValue) -> None:
    """Replace an extraction by one from memory; write what is inserted to it."""
    b, where = Builder.at(op), [op.offset]
    row, mask = b.pure(_flat, memory), _mask(b, op)
    if isinstance(op, coopmatrix.ExtractRowSliceOp):
        type = op.result.type
        if mask is None:
            new: Operation = vector.LoadOp(row, where, type)
        else:
            zero = b.constant(type, 0)
            new = vector.MaskedLoadOp(row, where, mask, zero, type)
        new.location = op.location
        Rewriter.replace_op(op, new)
        return
    if mask is None or op.mask is None:
        mask = mask or op.mask
    else:
        mask = b.pure(arith.AndIOp, mask, op.mask)
    if mask is None:
        b.effect(vector.StoreOp(op.value, row, where))
    else:
        b.effect(vector.MaskedStoreOp(row, where, mask, op.value))


def _flat(memory: SSAValue) -> Operation:
    """Return the operation that sees memory as one row."""
    type = memref_type(memory)
    rows, cols = type.get_shape()
    result = MemRefType(type.get_element_type(), [rows * cols])
    return memref.ReinterpretCastOp(memory, [], [], [], [0], [rows * cols], [1], result)


def _mask(b: Builder, op: Slice) -> SSAValue | None:
    """Return which elements of a slice the matrix has; None if that is all.

    Those in front of it, from a negative offset on, would be anybody's memory.
    """
    is_read = isinstance(op, coopmatrix.ExtractRowSliceOp)
    length = length_of(op.result if is_read else op.value)
    rows, cols = matrix_type(op.matrix).shape
    end, offset = rows * cols, constant_number(op.offset)
    if offset is not None and 0 <= offset <= end - length:
        return None
    bits = VectorType(i1, [length])

    def first(count: int) -> SSAValue:
        """The elements in front of a number of the matrix."""
        number = b.pure(arith.SubiOp, b.constant(INDEX, count), op.offset)
        return b.effect(vector.CreateMaskOp([number], bits)).results[0]

    mask = first(end)
    if ValueFacts().is_known_nonnegative(op.offset):
        return mask
    behind = b.pure(arith.XOrIOp, first(0), b.constant(bits, 1))
    return b.pure(arith.AndIOp, mask, behind)
