"""stage-row-slices: moves row slices of matrices through memory on the stack.

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

It is for kernels of one work-item, which holds its matrices alone: no distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, VectorType, i1
from xdsl.dialects.func import FuncOp
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType, Scope, ScopeAttr, matrix_type
from coopc.dialects.narrow import is_memref
from coopc.ir.builder import INDEX, Builder
from coopc.ir.control_flow import defined_by
from coopc.ir.facts import ValueFacts, constant_number
from coopc.passes.cpu.stack_buffer import StackBuffers, origin, stack_buffer

Slice = coopmatrix.ExtractRowSliceOp | coopmatrix.InsertRowSliceOp


@dataclass(frozen=True)
class StageRowSlicesPass(ModulePass):
    """Make accesses to memory of row slices."""

    name = "stage-row-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all row slices of `op`, then replace them."""
        for each in op.walk():
            if isinstance(each, Slice):
                type = matrix_type(each.matrix)
                if not type.is_static:
                    reason = f"expected numbers for sizes and scope, got {type}"
                    each.emit_error(reason, PassFailedException(reason))
        RowSliceStaging(StackBuffers()).run(op)
        if len(core_scopes(op)) > 1:
            narrow_scopes(op)
        for kernel in simt.kernels(op):
            kernel.func.attributes.pop(coopmatrix.DISTRIBUTION, None)


def core_scopes(root: Operation) -> tuple[Scope, ...]:
    """Return the scopes that are one core: a work-group, too, if it is one work-item.

    vectorize-subgroup makes such kernels of those with matrices of work-groups.
    """
    found = list(simt.kernels(root)) if isinstance(root, ModuleOp) else []
    if found and all(kernel.work_items == 1 for kernel in found):
        return Scope.SUBGROUP, Scope.WORKGROUP
    return (Scope.SUBGROUP,)


def narrow_scopes(op: ModuleOp) -> None:
    """Let subgroups hold the matrices of work-groups."""
    for inner in op.walk():
        for value in defined_by(inner):
            type = narrowed(value.type)
            if type != value.type:
                Rewriter.replace_value_with_new_type(value, type)
        if isinstance(inner, FuncOp):
            types = inner.function_type
            inner.function_type = FunctionType.from_lists(
                [narrowed(type) for type in types.inputs],
                [narrowed(type) for type in types.outputs],
            )


def narrowed(type: Attribute) -> Attribute:
    """Return a type, or that of a matrix that a subgroup holds, not its work-group."""
    if isinstance(type, MatrixType) and type.scope == ScopeAttr(Scope.WORKGROUP):
        rows, cols, element, use, _, use_name = type.parameters
        own = ScopeAttr(Scope.SUBGROUP)
        return MatrixType.new([rows, cols, element, use, own, use_name])
    return type


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
        """Replace all slices in `root`, loops first."""
        for op in tuple(root.walk()):
            if isinstance(op, ForOp):
                self._loop(op)
        for op in tuple(root.walk()):
            if isinstance(op, coopmatrix.ExtractRowSliceOp):
                if (memory := self.stored.get(value := op.matrix)) is None:
                    memory = _store(Builder.after(value, op.location), value)
                    self.stored[value] = memory
                _extract(op, memory)
            elif isinstance(op, coopmatrix.InsertRowSliceOp):
                b = Builder.at(op)
                memory = self.buffers.of_matrix(b, op.matrix, "slice")
                b.effect(coopmatrix.StoreOp(op.matrix, memory, origin(b)))
                _insert(op, memory)
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
                    if isinstance(inner, coopmatrix.ExtractRowSliceOp):
                        _extract(inner, memory)
                    else:
                        _insert(inner, memory)
                        Rewriter.replace_op(inner, [], [inner.matrix])
        if memories:
            _carry_less(op, memories)


def _carry_less(op: ForOp, memories: dict[int, SSAValue]) -> None:
    """Replace a loop by one that does not carry the matrices in memory."""
    kept = [place for place in range(len(op.iter_args)) if place not in memories]
    body, b = op.body.block, Builder.at(op)
    end = body.last_op
    assert isinstance(end, YieldOp), op
    end.operands = [end.operands[place] for place in kept]
    for place in sorted(memories, reverse=True):
        body.erase_arg(body.args[1 + place])
    start = [op.iter_args[place] for place in kept]
    new = ForOp(op.lb, op.ub, op.step, start, op.detach_region(op.body))
    new.attributes = dict(op.attributes)
    b.effect(new)
    rest = iter(new.results)
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


def _extract(op: coopmatrix.ExtractRowSliceOp, memory: SSAValue) -> None:
    """Replace an extraction by one from memory."""
    b = Builder.at(op)
    row, type = b.pure(_flat, memory), op.result.type
    if _is_inside(op, _length(type)):
        new: Operation = vector.LoadOp(row, [op.offset], type)
    else:
        mask, zero = _mask(b, op, _length(type)), b.constant(type, 0)
        new = vector.MaskedLoadOp(row, [op.offset], mask, zero, type)
    new.location = op.location
    Rewriter.replace_op(op, new)


def _insert(op: coopmatrix.InsertRowSliceOp, memory: SSAValue) -> None:
    """Write a slice to memory, in front of its operation."""
    b = Builder.at(op)
    row, length = b.pure(_flat, memory), _length(op.value.type)
    if op.mask is None and _is_inside(op, length):
        b.effect(vector.StoreOp(op.value, row, [op.offset]))
        return
    mask = _mask(b, op, length)
    if op.mask is not None:
        mask = b.pure(arith.AndIOp, mask, op.mask)
    b.effect(vector.MaskedStoreOp(row, [op.offset], mask, op.value))


def _flat(memory: SSAValue) -> Operation:
    """Return the operation that sees memory as one row."""
    type = memory.type
    assert is_memref(type), type
    rows, cols = type.get_shape()
    result = MemRefType(type.get_element_type(), [rows * cols])
    return memref.ReinterpretCastOp(memory, [], [], [], [0], [rows * cols], [1], result)


def _length(type: Attribute) -> int:
    assert isinstance(type, VectorType), type
    (length,) = type.get_shape()
    return length


def _is_inside(op: Slice, length: int) -> bool:
    """Whether a slice is known to be all inside of the matrix."""
    rows, cols = matrix_type(op.matrix).shape
    offset = constant_number(op.offset)
    return offset is not None and 0 <= offset <= rows * cols - length


def _mask(b: Builder, op: Slice, length: int) -> SSAValue:
    """Return which elements of a slice the matrix has.

    Those in front of it, from a negative offset on, would be anybody's memory.
    """
    rows, cols = matrix_type(op.matrix).shape
    bits = VectorType(i1, [length])

    def first(count: SSAValue) -> SSAValue:
        return b.effect(vector.CreateMaskOp([count], bits)).results[0]

    mask = first(b.pure(arith.SubiOp, b.constant(INDEX, rows * cols), op.offset))
    if ValueFacts().is_known_nonnegative(op.offset):
        return mask
    before = first(b.pure(arith.SubiOp, b.constant(INDEX, 0), op.offset))
    behind = b.pure(arith.XOrIOp, before, b.constant(bits, 1))
    return b.pure(arith.AndIOp, mask, behind)
