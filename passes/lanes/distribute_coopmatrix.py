"""distribute-coopmatrix: matrices become vectors of lanes, in the coopmatrix layout.

Before:  coopmatrix operations on matrices of a subgroup
After:   each matrix is the vectors that a lane holds of it, through loops, branches,
         calls and functions; the kernels say subgroup size and distribution
Fails:   for specialisation constants as sizes, other scopes, elements of other than 8,
         16, 32 or 64 bits, other distributions, subgroup sizes that kernels contradict
         or that the target's device has not.  Nothing is changed then
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.dialects import coopmatrix, layout, simt
from coopc.dialects.coopmatrix.elements import matrix_of
from coopc.layout.family import CoopmatrixFamily
from coopc.plan.lane_access import BlockAccess, plan_block
from coopc.remarks import remark
from coopc.rewrite.element_views import view_elements
from coopc.rewrite.lane_distribution import Distributor
from coopc.rewrite.lane_facts import memory_of, refusal
from coopc.rewrite.structure import has_matrices
from coopc.rewrite.one_to_many import split_values
from coopc.rewrite.structure import functions

SUBGROUP_SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Lanes of the subgroups that devices have."""

PlainAccess = (
    coopmatrix.LoadOp
    | coopmatrix.StoreOp
    | coopmatrix.AtomicLoadOp
    | coopmatrix.AtomicStoreOp
)


@dataclass(frozen=True)
class DistributeCoopmatrixPass(ModulePass):
    """Spread matrices over the lanes of subgroups."""

    name = "distribute-coopmatrix"

    subgroup_size: int | None = None
    """Lanes; what kernels say, or else the target's device, where it is absent."""
    unroll: bool = False
    """Whether loops over what a lane holds are written out."""
    max_vector: int | None = None
    """Components of the longest vector: 4, 8 or 16; the device's, or 16, if absent."""
    block_access: bool = True
    """Whether consecutive elements are read and written by the whole subgroup."""
    explain: bool = False
    """Whether standard error says how each access to memory is done, and why."""

    def __post_init__(self) -> None:
        if self.subgroup_size not in (None, *SUBGROUP_SIZES):
            raise ValueError(
                "expected a subgroup size that is a power of two up to 64, got "
                f"{self.subgroup_size}"
            )
        if self.max_vector not in (None, 4, 8, 16):
            raise ValueError(
                "expected vectors of at most 4, 8 or 16 components, got "
                f"{self.max_vector}"
            )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on all of `op`, then rewrite it."""
        lanes, longest = self._lanes(op), self._longest(op)
        if (found := refusal(op, lanes, longest)) is not None:
            where, reason = found
            where.emit_error(reason, PassFailedException(reason))
        view_elements(op)
        blocks = self._blocks(op, lanes, longest)
        distributor = Distributor(op, lanes, longest, self.unroll, blocks)
        known = functions(op)
        kernels = [x.func for x in simt.kernels(op)]
        for func in [x for x in kernels if has_matrices(x, known)]:
            _say(func, lanes)
        self._drop(op, distributor)
        split_values(op, distributor.parts(), distributor.rules)

    def _lanes(self, module: ModuleOp) -> int:
        """Return the lanes of every subgroup, which the device must have."""
        target = simt.target_of(module)
        device = None if target is None else devices.device(target.device.data)
        lanes = self._wanted(module)
        if device is None:
            return lanes or self._no_lanes()
        lanes = lanes or device.subgroup_size
        # One lane is no subgroup: any device has that.
        if lanes not in (1, *device.subgroup_sizes):
            sizes = " or ".join(map(str, device.subgroup_sizes))
            raise PassFailedException(
                f"{self.name}: expected subgroups of {sizes} lanes, as {device.name} "
                f"has them, got {lanes}"
            )
        return lanes

    def _wanted(self, module: ModuleOp) -> int | None:
        """Return the lanes that the pass or a kernel is told to have."""
        if self.subgroup_size is not None:
            return self.subgroup_size
        sizes = (kernel.subgroup_size for kernel in simt.kernels(module))
        return next((size for size in sizes if size is not None), None)

    def _no_lanes(self) -> NoReturn:
        raise PassFailedException(
            f"{self.name}: expected a subgroup size, {self.name}{{subgroup-size=..}}, "
            f"{simt.SUBGROUP_SIZE} on a kernel, or {simt.TARGET} on the module, "
            "got none"
        )

    def _longest(self, module: ModuleOp) -> int:
        """Return the components of the longest vector."""
        if self.max_vector is not None:
            return self.max_vector
        target = simt.target_of(module)
        if target is None:
            return 16
        return min(16, devices.device(target.device.data).limits.max_vector)

    def _blocks(
        self, module: ModuleOp, lanes: int, longest: int
    ) -> dict[Operation, BlockAccess]:
        """Return the accesses that are done by blocks."""
        found: dict[Operation, BlockAccess] = {}
        family = CoopmatrixFamily()
        for op in module.walk():
            if not isinstance(op, PlainAccess):
                continue
            held = family.distribution(matrix_of(op.matrix), lanes)
            plan = plan_block(held, memory_of(op), longest)
            if isinstance(plan, BlockAccess) and self.block_access:
                found[op] = plan
                self._tell(op, str(plan))
            else:
                self._tell(op, f"element by element: {plan}")
        return found

    def _drop(self, module: ModuleOp, distributor: Distributor) -> None:
        """Replace what has no matrices as values."""
        for op in tuple(module.walk()):
            if isinstance(op, coopmatrix.PrefetchOp):
                self._tell(op, "dropped: lanes have no prefetch")
                Rewriter.erase_op(op)
            elif isinstance(op, coopmatrix.LengthOp):
                length = distributor.held(op.matrix_type).layout.length
                new = arith.ConstantOp(IntegerAttr(length, IndexType()))
                Rewriter.replace_op(op, new)

    def _tell(self, op: Operation, text: str) -> None:
        if self.explain:
            remark(op, text, by=self.name)


def _say(func: FuncOp, lanes: int) -> None:
    """Say on a kernel what was decided."""
    func.attributes[simt.SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
    func.attributes[coopmatrix.DISTRIBUTION] = layout.CoopmatrixAttr(CoopmatrixFamily())
