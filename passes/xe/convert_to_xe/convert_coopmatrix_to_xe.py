"""convert-coopmatrix-to-xe: lowers matrices to DPAS operands and 2D block messages.

Before:  coopmatrix operations on matrices of any multiple of the DPAS shape of the
         device.
After:   the vectors that a lane holds of a matrix's tiles. Loads, stores and prefetches
         are 2D block messages where a plan exists, and lane by lane otherwise; products
         are `xe.dpas`. Kernels state their subgroup size and the conditions that the
         host checks; with `fallback`, @f.fallback is for arguments that violate them.
Fails:   naming the first operation that cannot be converted. The module is then
         unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.interface import SECOND_ENTRY
from coopc.ir.control_flow import (
    function_around,
    functions,
    has_matrices,
    why_not_structured,
)
from coopc.ir.device_option import device_of
from coopc.ir.split_values import Rule, Splitter, split_values
from coopc.ir.transaction import Refused, transaction
from coopc.passes.xe.channel_plans import ChannelPlan
from coopc.passes.xe.conditions import Demands
from coopc.passes.xe.convert_to_xe.matrices import MatrixRules
from coopc.passes.xe.convert_to_xe.matrix_memory import (
    Moves,
    PrefetchMove,
    decide_matrix_blocks,
    decide_matrix_channels,
    decide_matrix_prefetch,
    demand_matrix_channels,
    demand_surface,
)
from coopc.passes.xe.convert_to_xe.scale_loop_iv import narrow_loops
from coopc.passes.xe.plan_block_io import remark_second_entry, summary
from coopc.plan.refusal import Refusal
from coopc.remarks import remark


@dataclass(frozen=True)
class ConvertCoopmatrixToXePass(ModulePass):
    """Make operands of DPAS of matrices."""

    name = "convert-coopmatrix-to-xe"

    device: str | None = None
    """A device of `--list devices`; that of `simt.target` where it is absent."""
    explain: bool = False
    """Whether the plan of each access is printed, or the reason against one."""
    fallback: bool = False
    """Whether kernels whose 2D blocks have conditions get a second entry point,
    `.fallback`, which moves all matrices lane by lane."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert `op`, if it has matrices."""
        if not any(each.dialect_name() == "coopmatrix" for each in op.walk()):
            return
        device = device_of(self.device, op, self.name)
        if device.dpas is None:
            raise PassFailedException(
                f"{self.name}: expected a device with DPAS, got {device.name}"
            )
        lanes = subgroup_size(op, device)
        with transaction(op) as draft:
            decided = convert(draft, device, lanes, self.fallback)
        if self.explain:
            for each, text in decided.told:
                remark(each, text)
            for name, entry in decided.second_entries.items():
                remark_second_entry(entry, name)


def convert(
    module: ModuleOp, device: devices.Device, lanes: int, fallback: bool
) -> AccessDecisions:
    """Convert a module; return what was decided about its accesses."""
    known, decided = functions(module), AccessDecisions()
    matrices = MatrixRules(
        device, lanes, decided.moves, decided.prefetches, decided.channels
    )
    rules = matrices.rules()
    for op in module.walk():
        refuse(op, matrices, rules)
        decided.decide(op, matrices)
    for func in known.values():
        if simt.KERNEL in func.attributes and has_matrices(func, known):
            func.attributes[simt.SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
    if fallback:
        decided.add_second_entries()
    decided.demand(device.block_io)
    parts = {
        value: matrices.of(value).parts
        for value in values_in(module)
        if isinstance(value.type, MatrixType)
    }
    for func in (*known.values(), *decided.second_entries.values()):
        if len(func.body.blocks) == 1:
            narrow_loops(func, decided.messages())
    for op in tuple(module.walk()):
        if isinstance(op, coopmatrix.PrefetchOp):  # it has no matrix as a value
            matrices.prefetch(op, Splitter(op))
            Rewriter.erase_op(op)
    split_values(module, parts, rules)
    return decided


def refuse(
    op: Operation, matrices: MatrixRules, rules: Mapping[type[Operation], Rule]
) -> None:
    """Refuse an operation that nothing can be made of, whatever else there is."""
    if isinstance(op, FuncOp):
        if (reason := _why_not_kernel(op, matrices.lanes)) is not None:
            raise Refused(op, reason)
        return  # arguments are refused where they are used first
    for matrix in matrices_of(op):
        matrices.tiling(matrix, op)
    if op.dialect_name() == "coopmatrix" and type(op) not in rules:
        raise Refused(op, f"{op.name} {NOT_CONVERTED}")


def matrices_of(op: Operation) -> list[MatrixType]:
    """Return the types of the matrices that an operation has to do with."""
    types = [value.type for value in (*op.operands, *op.results)]
    types += [x.type for r in op.regions for block in r.blocks for x in block.args]
    found = [*types, *op.properties.values()]
    return [x for x in found if isinstance(x, MatrixType)]


NOT_CONVERTED = (
    "is not converted to xe: coopc-lanes and coopc-khr compile kernels that reach "
    "single elements"
)


@dataclass(slots=True)
class AccessDecisions:
    """How matrices are moved."""

    moves: dict[Operation, Moves] = field(default_factory=dict[Operation, Moves])
    prefetches: dict[Operation, tuple[PrefetchMove, ...]] = field(
        default_factory=dict[Operation, tuple[PrefetchMove, ...]]
    )
    channels: dict[Operation, ChannelPlan] = field(
        default_factory=dict[Operation, ChannelPlan]
    )
    told: list[tuple[Operation, str]] = field(
        default_factory=list[tuple[Operation, str]]
    )
    """What was decided, for people."""
    second_entries: dict[str, FuncOp] = field(default_factory=dict[str, FuncOp])
    """By name."""

    def decide(self, op: Operation, matrices: MatrixRules) -> None:
        """Decide on an operation, if it is an access."""
        if isinstance(op, coopmatrix.PrefetchOp):
            tiling = matrices.tiling(op.matrix, op)
            found = decide_matrix_prefetch(op, tiling, matrices.device)
            if not isinstance(found, Refusal):
                self.prefetches[op] = found
            parts = [found] if isinstance(found, Refusal) else [x for x, _ in found]
            self.told += ((op, summary(part)) for part in parts)
            return
        if not isinstance(op, coopmatrix.LoadOp | coopmatrix.StoreOp):
            return
        if (reason := _why_not_access(op)) is not None:
            raise Refused(op, reason)
        tiling = matrices.tiling(op.matrix, op)
        moves = decide_matrix_blocks(op, tiling, matrices.device)
        if not isinstance(moves, Refusal):
            self.moves[op] = moves
            self.told += ((op, summary(part.plan)) for part in moves)
            return
        text = summary(moves)
        if isinstance(op, coopmatrix.LoadOp):
            loads = decide_matrix_channels(op, tiling)
            text = f"{text}; nor by channels: {loads}"
            if isinstance(loads, ChannelPlan):
                self.channels[op], text = loads, str(loads)
        self.told.append((op, text))

    def accesses(self) -> Iterator[coopmatrix.AccessOp]:
        """Yield the accesses that are messages."""
        for op in (*self.moves, *self.prefetches, *self.channels):
            assert isinstance(op, coopmatrix.AccessOp), op
            yield op

    def messages(self) -> dict[Operation, int]:
        """Return by what powers of two messages of 2D blocks divide their columns."""
        shifts = {
            op: max(part.plan.packed.bit_length() - 1 for part in moves)
            for op, moves in self.moves.items()
        }
        return shifts | dict.fromkeys(self.prefetches, 0)

    def add_second_entries(self) -> None:
        """Copy the kernels that need their arguments to be like surfaces."""
        for op in (*self.moves, *self.prefetches):
            kernel = function_around(op)
            name = kernel.sym_name.data + SECOND_ENTRY
            if name not in self.second_entries:
                copy = self.second_entries[name] = kernel.clone()
                copy.sym_name = StringAttr(name)
                Rewriter.insert_op(copy, InsertPoint.after(kernel))

    def demand(self, io: devices.BlockIO | None) -> None:
        """Write on kernels what must hold of their arguments."""
        demands: dict[FuncOp, Demands] = {}
        for op in self.accesses():
            here = demands.setdefault(function_around(op), Demands())
            if op in self.channels:
                assert isinstance(op, coopmatrix.LoadOp), op
                demand_matrix_channels(here, op)
                continue
            assert io is not None, op
            steps = [part.plan.row_step for part in self.moves.get(op, ())]
            demand_surface(here, op.memory, io, max(steps, default=1))
        for func, each in demands.items():
            each.write(func)


def subgroup_size(module: ModuleOp, device: devices.Device) -> int:
    """Return the lanes of every subgroup: what kernels say, or what the device has."""
    for kernel in simt.kernels(module):
        if kernel.subgroup_size is not None:
            return kernel.subgroup_size
    return device.subgroup_size


def values_in(module: ModuleOp) -> list[SSAValue]:
    """Return all values of a module, arguments too."""
    found: list[SSAValue] = []
    for op in module.walk():
        found += op.results
        found += (x for region in op.regions for b in region.blocks for x in b.args)
    return found


def _why_not_kernel(func: FuncOp, lanes: int) -> str | None:
    """Return why a function does not fit."""
    if has_matrices(func, {}) and (reason := why_not_structured(func)):
        return reason
    if coopmatrix.DISTRIBUTION in func.attributes:
        return (
            f"{coopmatrix.DISTRIBUTION} = "
            f"{func.attributes[coopmatrix.DISTRIBUTION]} is not "
            "supported: on xe, lanes hold matrices as DPAS operands"
        )
    if simt.KERNEL not in func.attributes:
        return None
    kernel = simt.kernel_of(func)
    if kernel.subgroup_size not in (None, lanes):
        return f"expected a kernel of {lanes} lanes, got {kernel.subgroup_size}"
    if simt.WORK_GROUP_SIZE in func.attributes and kernel.work_items % lanes:
        return (
            f"expected a work-group size that is a multiple of {lanes}, so that all "
            f"subgroups are full, got {kernel.work_items} work-items"
        )
    return None


def _why_not_access(op: coopmatrix.PlainAccessOp) -> str | None:
    """Return why a matrix cannot be loaded or stored."""
    for name in ("volatile", "available", "visible"):
        if getattr(op, name) is not None:
            return f"{name} accesses are not converted to xe"
    if op.memory_type.element_type != op.matrix.element_type:
        return (
            f"expected a memref of {op.matrix.element_type}, the element type of the "
            f"matrix, got {op.memory_type}"
        )
    return None
