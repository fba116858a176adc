"""convert-simt-to-loops: turns kernels into functions that loop over work-groups.

Before:  kernels whose subgroups are single work-items, as vectorize-subgroup leaves
         them.
After:   functions without simt that take five more arguments: the number of work-groups
         along x, y and z, and the first and the last (exclusive) work-group that this
         call runs, numbered with x fastest. The work-items of a work-group run one
         after the other.
Fails:   for subgroups of several lanes, barriers between the work-items of a
         work-group, simt operations outside kernels, and calls of kernels.

    func.func @k(%m: ..)                     func.func @k(%m: .., %groups_x, ..)
      attributes {simt.kernel} {               scf.for %group = %first to %last {
      %x = simt.workgroup_id x : index           %x = arith.remui %group, %groups_x
      ..                                         ..

Threads call the function for ranges of the grid.  Allocations are hoisted out of the
loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.narrow import is_memref
from coopc.ir.builder import INDEX, Builder, Values
from coopc.ir.control_flow import callee, functions, why_not_structured
from coopc.ir.transaction import Refused, transaction

WORK_GROUP = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
EXTRA = ("groups_x", "groups_y", "groups_z", "first", "last")
"""The arguments that kernels get, each an index."""
OF_KERNELS = (
    simt.KERNEL,
    simt.SUBGROUP_SIZE,
    simt.WORK_GROUP_SIZE,
    simt.GRID,
    coopmatrix.DISTRIBUTION,
)


CALLED = "a kernel cannot be called here: it becomes a loop over all work-groups"


def is_of_work_items(op: Operation) -> bool:
    """Whether an operation depends on the work-item that runs it."""
    return op.dialect_name() == "simt" and not isinstance(op, simt.OF_MEMORY)


@dataclass(frozen=True)
class ConvertSimtToLoopsPass(ModulePass):
    name = "convert-simt-to-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            kernels = list(simt.kernels(draft))
            known, started = functions(draft), {kernel.func for kernel in kernels}
            for call in draft.walk():
                if isinstance(call, CallOp) and callee(call, known) in started:
                    raise Refused(call, CALLED)
            for kernel in kernels:
                _check(kernel)
                Loops(kernel).rewrite()
            for each in list(draft.ops):
                if isinstance(each, simt.SequenceOp):  # the host launches no functions
                    Rewriter.erase_op(each)
            for other in tuple(draft.walk()):
                if not is_of_work_items(other):
                    continue
                if (found := of_one_lane(other, Builder.at(other))) is None:
                    raise Refused(
                        other,
                        "only a kernel has a position in the grid: expected this "
                        "operation in a kernel",
                    )
                if not isinstance(other, simt.LaneOp):
                    found.name_hint = other.results[0].name_hint
                Rewriter.replace_op(other, [], [found])


def of_one_lane(op: Operation, b: Builder) -> SSAValue | None:
    """Return what is known of a subgroup of one lane wherever it is asked for."""
    match op:
        case simt.LaneOp():
            return op.value
        case simt.LaneIdOp() | simt.SubgroupSizeOp():
            return b.constant(INDEX, int(isinstance(op, simt.SubgroupSizeOp)))
        case _:
            return None


def _check(kernel: simt.Kernel) -> None:
    """Refuse what of a kernel is no loop."""
    if kernel.subgroup_size not in (None, 1):
        raise Refused(
            kernel.func,
            "expected subgroups of one work-item, as vectorize-subgroup makes them, "
            f"got {kernel.subgroup_size} lanes",
        )
    if reason := why_not_structured(kernel.func):
        raise Refused(kernel.func, reason)
    for op in kernel.func.walk():
        match op:
            case simt.WaitingOp() if (
                kernel.work_items > 1 and op.scope.data is not simt.FenceScope.SUBGROUP
            ):
                raise Refused(
                    op,
                    f"{op.name} is not supported between subgroups: one core runs "
                    f"the {kernel.work_items} subgroups of a work-group one after "
                    "the other; use work-groups of one subgroup",
                )
            case simt.BlockReadOp() | simt.BlockWriteOp():
                raise Refused(op, "expected vectors, as vectorize-subgroup makes them")
            case _:
                pass


class Loops:
    """One kernel while it becomes a function."""

    def __init__(self, kernel: simt.Kernel) -> None:
        self.kernel = kernel
        self.old = kernel.func.body.block
        self.b = Builder.at_end(Block(), kernel.func.location)
        self.start = self.b
        """Where constants go: in front of the loops, once there are any."""

    def rewrite(self) -> None:
        """Put loops around the body."""
        func, old, start = self.kernel.func, self.old, self.b.block
        for argument in old.args:
            new = start.insert_arg(argument.type, len(start.args))
            new.name_hint, new.location = argument.name_hint, argument.location
            argument.replace_all_uses_with(new)
        extra = [start.insert_arg(INDEX, len(start.args)) for _ in EXTRA]
        for argument, name in zip(extra, EXTRA, strict=True):
            argument.name_hint, argument.location = name, func.location
        func.body.detach_block(old)
        func.body.add_block(start)
        self._loops(*extra)
        self.b.effect(ReturnOp())
        old.erase(safe_erase=False)
        func.function_type = FunctionType.from_lists([x.type for x in start.args], [])
        for name in OF_KERNELS:
            func.attributes.pop(name, None)

    def _number(self, number: int) -> SSAValue:
        return self.start.constant(INDEX, number)

    def _hoist(self) -> None:
        """Move what is allocated out of the loops; a work-group's is the function's."""
        for op in list(self.old.walk()):
            if isinstance(op, memref.AllocaOp) and not op.operands:
                op.detach()
                self.b.block.add_op(op)
                type = op.memref.type
                if is_memref(type) and type.memory_space == WORK_GROUP:
                    plain = MemRefType(type.element_type, type.shape, type.layout)
                    Rewriter.replace_value_with_new_type(op.memref, plain)

    def _loops(
        self, x: SSAValue, y: SSAValue, z: SSAValue, first: SSAValue, last: SSAValue
    ) -> None:
        """Loop over work-groups, then over the work-items of each."""
        b, items = self.b, prod(self.kernel.work_group_size)
        group = Block(arg_types=[INDEX])
        one, zero = self._number(1), self._number(0)
        self._hoist()
        loop = b.effect(scf.ForOp(first, last, one, [], group))
        self.start = Builder.at(loop, b.built)
        (number,) = group.args
        number.name_hint = "group"
        with b.inside(group):
            rows = b.pure(arith.DivUIOp, number, x)
            ids = (
                b.pure(arith.RemUIOp, number, x),
                b.pure(arith.RemUIOp, rows, y),
                b.pure(arith.DivUIOp, rows, y),
            )
            for value, axis in zip(ids, "xyz", strict=True):
                value.name_hint = f"group_{axis}"
            if items == 1:
                self._move(ids, (x, y, z), zero)
            else:
                body = Block(arg_types=[INDEX])
                b.effect(scf.ForOp(zero, self._number(items), one, [], body))
                body.args[0].name_hint = "item"
                with b.inside(body):
                    self._move(ids, (x, y, z), body.args[0])
                    b.effect(scf.YieldOp())
            b.effect(scf.YieldOp())

    def _move(self, ids: Values, counts: Values, item: SSAValue) -> None:
        """Move the operations of the kernel, and answer what asks where it is."""
        last = self.old.last_op
        assert isinstance(last, ReturnOp), last
        body = self.b.block
        for op in list(self.old.ops):
            if op is not last:
                op.detach()
                body.add_op(op)
        for op in list(body.walk()):
            if isinstance(op, simt.WaitingOp):
                Rewriter.erase_op(op)
            elif is_of_work_items(op):
                Rewriter.replace_op(op, [], [self._answer(op, ids, counts, item)])

    def _answer(
        self, op: Operation, ids: Values, counts: Values, item: SSAValue
    ) -> SSAValue:
        """Return what stands in for an id or a size."""
        sizes = self.kernel.work_group_size
        axis = op.axis if isinstance(op, simt.DimensionOp) else 0
        match op:
            case simt.WorkgroupIdOp():
                return ids[axis]
            case simt.NumWorkgroupsOp():
                return counts[axis]
            case simt.LocalIdOp():  # a digit of the number of the work-item
                at = Builder.at(op)
                below = self._number(prod(sizes[:axis]))
                quotient = at.pure(arith.DivUIOp, item, below)
                quotient.name_hint = op.result.name_hint
                return at.pure(arith.RemUIOp, quotient, self._number(sizes[axis]))
            case simt.SubgroupIdOp():
                return item
            case simt.WorkgroupSizeOp():
                return self._number(sizes[axis])
            case simt.NumSubgroupsOp():
                return self._number(prod(sizes))
            case _:
                found = of_one_lane(op, self.start)
                assert found is not None, op
                return found
