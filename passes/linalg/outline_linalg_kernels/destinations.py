"""Which argument of a sequence each tensor of a function is computed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import bufferization, tensor
from xdsl.dialects.builtin import NoneAttr
from xdsl.dialects.func import ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, SSAValue

from coopc.dialects.narrow import memref_type
from coopc.passes.linalg.fuse_linalg import is_elementwise, maps_of, output_arguments
from coopc.passes.linalg.outline_linalg_kernels.groups import Group, users


def replaced(value: SSAValue) -> SSAValue | None:
    """Return the tensor that an operation updates, if its result is one."""
    op = value.owner
    if isinstance(op, tensor.InsertSliceOp):
        return op.dest
    if isinstance(op, linalg.GenericOp):
        at = op.results.index(value)
        if output_arguments(op)[at].uses:
            return op.outputs[at]
    return None


@dataclass(slots=True)
class Destinations:
    """Decides for the tensors of a block."""

    block: Block
    groups: Mapping[Operation, Group]
    order: dict[Operation, int] = field(init=False)
    """When each operation is done: those of a kernel when the last of them is."""
    found: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The argument, or the memref of the function, that a tensor is computed in."""

    def __post_init__(self) -> None:
        self.order = {op: at for at, op in enumerate(self.block.ops)}
        for last, group in self.groups.items():
            self.order |= dict.fromkeys(group.ops, self.order[last])

    def decide(self, results: Sequence[SSAValue]) -> None:
        """Decide, given the arguments for what a function returns."""
        for op in self.block.ops:
            if isinstance(op, bufferization.MaterializeInDestinationOp):
                self.want(op.source, op.dest)
        last = self.block.last_op
        assert isinstance(last, ReturnOp), self.block
        for value, target in zip(last.arguments, results, strict=True):
            self.want(value, target)

    def want(self, value: SSAValue, target: SSAValue) -> None:
        """Let a tensor be computed in an argument, and with it what it updates."""
        known = linalg.GenericOp | linalg.FillOp | tensor.InsertSliceOp
        op = value.owner
        if isinstance(op, tensor.ExpandShapeOp | tensor.CollapseShapeOp):
            plain = isinstance(memref_type(target).layout, NoneAttr)
            if plain and isinstance(op.src.owner, linalg.GenericOp):
                self.want(op.src, target)  # the same memory in another shape
            return
        if value in self.found or not isinstance(op, known):
            return
        if not self.may_overwrite(target, value):
            return
        self.found[value] = target
        old = replaced(value)
        assert isinstance(op, Operation), value
        if old is not None and self.is_last(old, op):
            self.want(old, target)

    def is_last(self, value: SSAValue, op: Operation) -> bool:
        """Whether what else uses a tensor, or a view of it, is done before."""
        end = self.order[op]
        return all(
            sum(x is part for x in op.operands) == 1
            if user is op
            else self.order.get(user, end) < end
            for part, user in users(value)
        )

    def group_of(self, op: Operation) -> tuple[Operation, ...]:
        """Return the operations of the kernel that an operation is part of."""
        return next((x.ops for x in self.groups.values() if op in x.ops), (op,))

    def may_overwrite(self, memory: SSAValue, value: SSAValue) -> bool:
        """Whether a tensor can be computed in memory that the function reads.

        That is so if it is read before, or by the same kernel, element by element.
        """
        writer = value.owner
        if isinstance(writer, Block):
            return False
        group = self.group_of(writer)
        tensors = (
            use.operation.tensor
            for use in memory.uses
            if isinstance(use.operation, bufferization.ToTensorOp)
        )
        for seen in tensors:
            for part, op in users(seen):
                if op is writer and replaced(value) is part:
                    others = [x for x in op.operands if x is part]
                    if len(others) > 1:
                        return False
                elif op in group:
                    if not _reads_what_it_writes(op, part) or op is not group[-1]:
                        return False
                elif self.order[op] >= self.order[writer]:
                    return False
        return True


def _reads_what_it_writes(op: Operation, value: SSAValue) -> bool:
    """Whether an operation only reads an element of a tensor to write that element."""
    if not isinstance(op, linalg.GenericOp) or not is_elementwise(op):
        return False
    maps = maps_of(op)
    return all(
        map == maps[-1] for x, map in zip(op.inputs, maps, strict=False) if x is value
    )
