"""vectorize-subgroup: vectorizes the code of one work-item over its subgroup.

Before:  kernels of work-items, with matrices as resolve-matrix-wi-slice leaves them.
After:   one work-item stands for S lanes. Uniform values stay scalars; values that
         differ between lanes become vectors with one component per lane. Kernels have a
         subgroup size of 1, and work-groups of as many work-items as they had
         subgroups. Vectors that lanes hold are split into their components. With
         `streamed=N`, loops store past the caches to arguments of N bytes or more that
         a kernel does not load, if rows are aligned to 16 bytes: it checks that.
Fails:   if an operation cannot be vectorized, naming it: for matrices, memrefs and row
         slices that differ between lanes, collective operations in divergent control
         flow, and accesses to single elements of matrices. The module is then
         unchanged.

Divergent control flow runs under masks: both sides of a branch, and a loop until no
lane is active.  A side that no lane takes is skipped, unless it has only a few masked
loads and operations without side effects.  Memory accesses are vectors if lane l
accesses element l of a row, else a loop over active lanes.

Where a work-group of several subgroups holds matrices, one work-item stands for all of
them: the row slices of such a matrix are as long as the work-group.  With
`whole-groups`, also if subgroups wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from coopc.dialects import simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.ir.control_flow import defined_by, functions, reached, why_not_structured
from coopc.ir.transaction import Refused, transaction
from coopc.ir.uniformity import Uniformity, Variation
from coopc.passes.coopmatrix.narrow_matrix_scope import SUBGROUP, WORKGROUP
from coopc.passes.cpu.vectorize_subgroup.components import split_components
from coopc.passes.cpu.vectorize_subgroup.operations import write
from coopc.passes.cpu.vectorize_subgroup.streamed import stream
from coopc.passes.cpu.vectorize_subgroup.vector_builder import (
    LaneGroup,
    VectorBuilder,
    is_shared,
)


@dataclass(frozen=True)
class VectorizeSubgroupPass(ModulePass):
    name = "vectorize-subgroup"

    subgroup_size: int | None = None
    """Subgroup size; by default that of the kernel."""
    whole_groups: bool = False
    """Also let one work-item stand for a work-group whose subgroups wait for each
    other."""
    streamed: int = 0
    """Bytes from which arguments that are only stored to are written by nontemporal
    stores; 0 for none."""

    def __post_init__(self) -> None:
        check_subgroup_size(self.subgroup_size)
        if self.streamed < 0:
            raise ValueError(f"expected streamed=N of 0 or more, got {self.streamed}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            self._vectorize(draft)

    def _vectorize(self, module: ModuleOp) -> None:
        alone = {x.func for x in simt.kernels(module) if is_alone(x)}
        kernels = [x for x in simt.kernels(module) if x.func not in alone]
        if not kernels:
            return
        scopes = {type.scope for _, type in _matrices(module)}
        waiting = SUBGROUP not in scopes and any(map(waits, kernels))
        whole = WORKGROUP in scopes or (self.whole_groups and waiting)
        own = {kernel.func: self._lanes(kernel, whole) for kernel in kernels}
        written = [
            func
            for func in module.walk()
            if isinstance(func, FuncOp) and func.body.blocks and func not in alone
        ]
        lanes = own[kernels[0].func]
        other = next((func for func in own if own[func] != lanes), None)
        if whole and other is not None:
            raise Refused(
                other,
                "expected kernels of one subgroup size and one work-group size, as a "
                f"work-item stands for a work-group, got {_sizes(own[other], lanes)}",
            )
        groups = _groups(module, own)
        who = "a work-group" if lanes.is_whole_group else "a subgroup or a work-group"
        for each, type in _matrices(module):
            is_own = type.scope == SUBGROUP and not lanes.is_whole_group
            if type.scope != WORKGROUP and not is_own:
                what = f"expected all matrices to be held by {who}, got {type}"
                raise Refused(each, what)
        for func in written:
            if reason := why_not_structured(func):
                raise Refused(func, reason)
        for kernel in kernels:
            its = own[kernel.func]
            simt.set_sizes(kernel.func, its.subgroup_size, its.work_group_size)
        least = Variation.PAIRS if lanes.is_whole_group else Variation.LANES
        varying = _of_numbers(module, written, least)
        for func in written:
            _vectorize(func, groups.get(func, lanes), varying)
            stream(func, self.streamed)
        for kernel in kernels:
            its = own[kernel.func]
            items = prod(its.work_group_size) // its.count
            simt.set_sizes(kernel.func, 1, (items,))

    def _lanes(self, kernel: simt.Kernel, whole: bool) -> LaneGroup:
        given = kernel.subgroup_size
        size = self.subgroup_size or given
        if size is None:
            raise Refused(
                kernel.func,
                f"expected a subgroup size, {simt.SUBGROUP_SIZE} of the kernel or "
                f"{self.name}{{subgroup-size=..}}, got neither",
            )
        if given not in (None, size):
            raise Refused(
                kernel.func,
                f"expected a kernel of {size} lanes, as subgroup-size says, got "
                f"{simt.SUBGROUP_SIZE} = {given}",
            )
        group = kernel.work_group_size
        if simt.WORK_GROUP_SIZE not in kernel.func.attributes:
            group = (size, 1, 1)
        if (items := prod(group)) % size:
            raise Refused(
                kernel.func,
                f"expected a work-group size that is a multiple of {size}, got {items}",
            )
        return LaneGroup(items if whole else size, size, group)


def _groups(
    module: ModuleOp, own: Mapping[FuncOp, LaneGroup]
) -> dict[FuncOp, LaneGroup]:
    """Return the lanes of kernels, and of the functions that they call.

    Raises:
        Refused: kernels of different lanes call one.
    """
    groups, known = {**own}, functions(module)
    for kernel, lanes in own.items():
        for func in reached(kernel, known):
            if (found := groups.setdefault(func, lanes)) != lanes:
                raise Refused(
                    func,
                    "expected callers of one subgroup size and one work-group size, "
                    f"got {_sizes(found, lanes)}",
                )
    return groups


def _sizes(*groups: LaneGroup) -> str:
    """Name what several kernels have."""
    return " and ".join(
        f"{prod(x.work_group_size)} work-items in subgroups of {x.subgroup_size}"
        for x in groups
    )


def check_subgroup_size(size: int | None) -> None:
    """Check what an option says, if anything.

    Raises:
        ValueError: there are no such subgroups.
    """
    if size is not None and (size < 1 or size & (size - 1)):
        raise ValueError(f"expected a subgroup size that is a power of two, got {size}")


def is_alone(kernel: simt.Kernel) -> bool:
    """Whether a kernel is of one lane already, and asks for nothing else."""
    return kernel.subgroup_size == 1 and not any(
        isinstance(op, CallOp | simt.LaneOp) or op.dialect_name() == "row_slice"
        for op in kernel.func.walk()
    )


def waits(kernel: simt.Kernel) -> bool:
    """Whether the subgroups of a kernel wait for others."""
    return kernel.work_items > (kernel.subgroup_size or 1) and any(
        isinstance(op, simt.WaitingOp) and op.scope.data is not simt.FenceScope.SUBGROUP
        for op in kernel.func.walk()
    )


def _matrices(module: ModuleOp) -> list[tuple[Operation, MatrixType]]:
    return [
        (op, value.type)
        for op in module.walk()
        for value in (*op.operands, *op.results)
        if isinstance(value.type, MatrixType)
    ]


def varying_values(module: ModuleOp, least: Variation) -> set[SSAValue]:
    """Return the values that become vectors over lanes.

    They vary at least between lanes, or between subgroups, too.
    """
    found = Uniformity(module, masked=True)
    return {
        value
        for op in module.walk()
        for value in defined_by(op)
        if found.of(value) >= least and not is_shared(value.type)
    }


def _of_numbers(
    module: ModuleOp, funcs: list[FuncOp], least: Variation
) -> set[SSAValue]:
    """Split vectors that vary, and return the values that vary then."""
    found = varying_values(module, least)
    if split_components(module, funcs, found):
        return varying_values(module, least)
    return found


def _vectorize(func: FuncOp, lanes: LaneGroup, varying: set[SSAValue]) -> None:
    """Write a function anew, and put that in its place."""
    old = func.body.block
    block = Block()
    b = VectorBuilder(block, None, func.location, lanes=lanes, varying=varying)
    for argument in old.args:
        new = block.insert_arg(b.type_of(argument), len(block.args))
        new.location = argument.location
        if argument in varying:
            varying.add(new)  # of a function that later ones call
        b.define([argument], [new])
    for op in old.ops:
        write(b, op)
    last = block.last_op
    assert last is not None, func
    inputs = [x.type for x in block.args]
    func.body.detach_block(old)
    func.body.add_block(block)
    old.erase(safe_erase=False)
    func.function_type = FunctionType.from_lists(
        inputs, [x.type for x in last.operands]
    )
