"""convert-simt-to-loops: kernels become functions that loop over work-groups.

Before:  kernels whose subgroups are single work-items, as vectorize-subgroup makes them
After:   functions without simt, with five arguments more: the work-groups of the grid
         along x, y, z, and the first and the last (exclusive) that this call runs,
         numbered with x first; work-items of a work-group run one after the other
Fails:   for subgroups of several lanes, and barriers between the work-items of a
         work-group; for simt in other functions than kernels; for calls of kernels

    func.func @k(%m: ..)                     func.func @k(%m: .., %groups_x, ..)
      attributes {simt.kernel} {               scf.for %group = %first to %last {
      %x = simt.workgroup_id x : index           %x = arith.remui %group, %groups_x
      ..                                         ..

Threads call the function for parts of the grid.  What it allocates is allocated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix, simt
from coopc.dialects.narrow import is_memref
from coopc.ir.control_flow import callee, functions, why_not_structured

INDEX = IndexType()
WORK_GROUP = simt.MemoryAttr.of(simt.MemorySpace.WORKGROUP)
EXTRA = ("groups_x", "groups_y", "groups_z", "first", "last")
"""The arguments that kernels get, each an index."""
OF_KERNELS = (
    simt.KERNEL,
    simt.SUBGROUP_SIZE,
    simt.WORK_GROUP_SIZE,
    simt.GRID,
    coopmatrix.DISTRIBUTION,
)


CALLED = (
    "expected a function that is no kernel to be called: here a kernel is a loop over "
    "all work-groups"
)


def is_of_work_items(op: Operation) -> bool:
    """Whether an operation depends on the work-item that runs it."""
    is_view = isinstance(op, simt.ViewElementsOp)
    return op.dialect_name() == "simt" and not is_view


@dataclass(frozen=True)
class ConvertSimtToLoopsPass(ModulePass):
    """Make functions of kernels."""

    name = "convert-simt-to-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all of `op`, then rewrite its kernels."""
        kernels = list(simt.kernels(op))
        inside: set[Operation] = set()
        for kernel in kernels:
            inside |= set(kernel.func.walk())
            if (found := refused(kernel)) is not None:
                _refuse(*found)
        known, started = functions(op), {kernel.func for kernel in kernels}
        for call in op.walk():
            if isinstance(call, CallOp) and callee(call, known) in started:
                _refuse(call, CALLED)
        outside = [
            other
            for other in op.walk()
            if is_of_work_items(other) and other not in inside
        ]
        for other in outside:
            if not isinstance(other, OF_ONE_LANE):
                _refuse(other, "expected it in a kernel, which knows where it runs")
        for other in outside:
            _replace_outside(other)
        for kernel in kernels:
            Loops(kernel).rewrite()


OF_ONE_LANE = (simt.LaneIdOp, simt.LaneOp, simt.SubgroupSizeOp)
"""What is known of a subgroup of one lane wherever it is asked for."""


def _replace_outside(op: Operation) -> None:
    """Replace what is known of the only lane of a subgroup."""
    if isinstance(op, simt.LaneOp):
        Rewriter.replace_op(op, [], [op.value])
        return
    number = int(isinstance(op, simt.SubgroupSizeOp))
    new = arith.ConstantOp(IntegerAttr(number, INDEX))
    new.location = op.location
    Rewriter.replace_op(op, new)


def _refuse(op: Operation, reason: str) -> None:
    op.emit_error(reason, PassFailedException(reason))


def refused(kernel: simt.Kernel) -> tuple[Operation, str] | None:
    """Return what of a kernel is no loop, and why; None if all of it is."""
    if kernel.subgroup_size not in (None, 1):
        return kernel.func, (
            "expected subgroups of one work-item, as vectorize-subgroup makes them, "
            f"got {kernel.subgroup_size} lanes"
        )
    if reason := why_not_structured(kernel.func):
        return kernel.func, reason
    for op in kernel.func.walk():
        match op:
            case simt.WaitingOp() if kernel.work_items > 1 and is_for_all(op):
                return op, (
                    f"expected no {op.name} between the {kernel.work_items} subgroups "
                    "of a work-group, which one core runs one after the other: "
                    "expected work-groups of one subgroup"
                )
            case simt.BlockReadOp() | simt.BlockWriteOp():
                return op, "expected vectors, as vectorize-subgroup makes them"
            case _:
                pass
    return None


def is_for_all(op: simt.WaitingOp) -> bool:
    """Whether a whole work-group waits, and not only a subgroup."""
    return op.scope.data is not simt.FenceScope.SUBGROUP


class Loops:
    """One kernel while it becomes a function."""

    def __init__(self, kernel: simt.Kernel) -> None:
        self.kernel = kernel
        self.old = kernel.func.body.block
        self.constants: dict[int, SSAValue] = {}
        self.start = Block()

    def rewrite(self) -> None:
        """Put loops around the body."""
        func, old, start = self.kernel.func, self.old, self.start
        for argument in old.args:
            new = start.insert_arg(argument.type, len(start.args))
            new.name_hint, new.location = argument.name_hint, argument.location
            argument.replace_all_uses_with(new)
        extra = [start.insert_arg(INDEX, len(start.args)) for _ in EXTRA]
        for argument, name in zip(extra, EXTRA, strict=True):
            argument.name_hint, argument.location = name, func.location
        func.body.detach_block(old)
        func.body.add_block(start)
        self._hoist()
        body = self._groups(extra)
        self._move(body)
        self._put(start, ReturnOp())
        old.erase(safe_erase=False)
        func.function_type = FunctionType.from_lists([x.type for x in start.args], [])
        for name in OF_KERNELS:
            func.attributes.pop(name, None)

    def index(self, number: int) -> SSAValue:
        """Return a constant, at the start of the function."""
        if number not in self.constants:
            op = arith.ConstantOp(IntegerAttr(number, INDEX))
            op.result.name_hint = f"c{number}"
            op.location = self.kernel.func.location
            first = self.start.first_op
            if first is None:
                self.start.add_op(op)
            else:
                Rewriter.insert_op(op, InsertPoint.before(first))
            self.constants[number] = op.result
        return self.constants[number]

    def _hoist(self) -> None:
        """Move what is allocated out of the loops; a work-group's is the function's."""
        for op in list(self.old.walk()):
            if isinstance(op, memref.AllocaOp) and not op.operands:
                op.detach()
                self.start.add_op(op)
                type = op.memref.type
                if is_memref(type) and type.memory_space == WORK_GROUP:
                    plain = MemRefType(type.element_type, type.shape, type.layout)
                    Rewriter.replace_value_with_new_type(op.memref, plain)

    def _groups(self, extra: Sequence[SSAValue]) -> Block:
        """Open the loops; return where the body goes."""
        x, y, _, first, last = extra
        zero, one = self.index(0), self.index(1)
        group = Block(arg_types=[INDEX])
        loop = scf.ForOp(first, last, one, [], Region(group))
        self._put(self.start, loop)
        number = group.args[0]
        number.name_hint = "group"
        rows = self._add(group, arith.DivUIOp(number, x))
        self.ids: dict[str, SSAValue] = {
            "x": self._add(group, arith.RemUIOp(number, x), "group_x"),
            "y": self._add(group, arith.RemUIOp(rows, y), "group_y"),
            "z": self._add(group, arith.DivUIOp(rows, y), "group_z"),
        }
        self.counts = dict(zip("xyz", extra[:3], strict=True))
        self.item = zero
        items = prod(self.kernel.work_group_size)
        if items == 1:
            self.ends = [group]
            return group
        item = Block(arg_types=[INDEX])
        self._put(group, scf.ForOp(zero, self.index(items), one, [], Region(item)))
        self.item = item.args[0]
        self.item.name_hint = "item"
        self.ends = [item, group]
        return item

    def _put(self, block: Block, op: Operation) -> None:
        op.location = self.kernel.func.location
        block.add_op(op)

    def _add(self, block: Block, op: Operation, hint: str | None = None) -> SSAValue:
        self._put(block, op)
        op.results[0].name_hint = hint
        return op.results[0]

    def _move(self, body: Block) -> None:
        """Move the operations of the kernel, and answer what asks where it is."""
        last = self.old.last_op
        assert isinstance(last, ReturnOp), last
        for op in list(self.old.ops):
            if op is not last:
                op.detach()
                body.add_op(op)
        for block in self.ends:
            self._put(block, scf.YieldOp())
        for op in list(body.walk()):
            if isinstance(op, simt.WaitingOp):
                Rewriter.erase_op(op)
            elif is_of_work_items(op):
                Rewriter.replace_op(op, *self._answer(op))

    def _answer(self, op: Operation) -> tuple[list[Operation], list[SSAValue]]:
        """Return what stands in for an id or a size."""
        x, y, z = self.kernel.work_group_size
        match op:
            case simt.WorkgroupIdOp():
                return [], [self.ids[str(op.dimension.data)]]
            case simt.NumWorkgroupsOp():
                return [], [self.counts[str(op.dimension.data)]]
            case simt.WorkgroupSizeOp():
                axis = list(simt.Dimension).index(op.dimension.data)
                return [], [self.index((x, y, z)[axis])]
            case simt.LocalIdOp():
                return self._digit(list(simt.Dimension).index(op.dimension.data))
            case simt.SubgroupIdOp():
                return [], [self.item]
            case simt.NumSubgroupsOp():
                return [], [self.index(x * y * z)]
            case simt.SubgroupSizeOp():
                return [], [self.index(1)]
            case simt.LaneOp():
                return [], [op.value]
            case _:
                assert isinstance(op, simt.LaneIdOp), op
                return [], [self.index(0)]

    def _digit(self, axis: int) -> tuple[list[Operation], list[SSAValue]]:
        """Return where a work-item is along an axis: a digit of its number."""
        x, y, z = self.kernel.work_group_size
        below, size = (1, x, x * y)[axis], (x, y, z)[axis]
        quotient = arith.DivUIOp(self.item, self.index(below))
        rest = arith.RemUIOp(quotient.result, self.index(size))
        return [quotient, rest], [rest.result]
