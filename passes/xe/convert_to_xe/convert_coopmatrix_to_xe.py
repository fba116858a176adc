"""`convert-coopmatrix-to-xe`: matrices of a subgroup as operands of DPAS.

Before: coopmatrix operations on matrices of any multiple of the DPAS of the device.
After:  each matrix is the vectors that a lane holds of its tiles; loads, stores and
        prefetches are messages of 2D blocks where there is a plan, else lane by lane;
        products are `xe.dpas`.  Kernels say subgroup size, and what the host checks;
        with `fallback` @f.fallback is for arguments that do not pass.
Fails:  naming the first operation that cannot be converted; nothing is changed then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from coopc import device as devices
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.interface import SECOND_ENTRY
from coopc.passes.xe.conditions import together
from coopc.passes.xe.convert_to_xe.matrix_access import MatrixBlocks
from coopc.passes.xe.convert_to_xe.matrix_channels import (
    Channels,
    decide_channels,
    demands,
)
from coopc.passes.xe.convert_to_xe.matrix_checks import why_not
from coopc.passes.xe.convert_to_xe.matrix_counters import narrow_loops
from coopc.passes.xe.convert_to_xe.matrix_pieces import Pieces, pieces_of
from coopc.passes.xe.convert_to_xe.matrix_plans import (
    Moves,
    Where,
    conditions,
    decide,
    kernel_argument,
)
from coopc.passes.xe.convert_to_xe.matrix_rules import Matrices
from coopc.passes.xe.plan_block_io import remark_second_entry, summary
from coopc.plan.refusal import Refusal
from coopc.plan.surface import Rule
from coopc.remarks import remark
from coopc.rewrite.device_option import device_of
from coopc.rewrite.lane_facts import has_matrices
from coopc.rewrite.one_to_many import Parts, Splitter, split_values
from coopc.rewrite.structure import functions

Accesses = coopmatrix.LoadOp | coopmatrix.StoreOp | coopmatrix.PrefetchOp


@dataclass(frozen=True)
class ConvertCoopmatrixToXePass(ModulePass):
    """Make operands of DPAS of matrices."""

    name = "convert-coopmatrix-to-xe"

    device: str | None = None
    """A name in `coopc.device.DEVICES`; that of `simt.target` where it is absent."""
    explain: bool = False
    """Whether the plan of each access is printed, or the reason against one."""
    fallback: bool = False
    """Whether kernels whose 2D blocks have conditions get a second entry point,
    `.fallback`, which moves all matrices lane by lane."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Decide on all of `op`, then rewrite it."""
        if not any(each.dialect_name() == "coopmatrix" for each in op.walk()):
            return
        device = device_of(self.device, op, self.name)
        if device.dpas is None:
            raise PassFailedException(
                f"{self.name}: expected a device with DPAS, got {device.name}"
            )
        lanes = subgroup_size(op, device)
        for each in op.walk():
            if (reason := why_not(each, device, lanes)) is not None:
                each.emit_error(reason, PassFailedException(reason))

        def pieces(type: MatrixType) -> Pieces:
            found = pieces_of(type, device, lanes)
            assert isinstance(found, Pieces), found
            return found

        moves, channels = self._decided(op, device, lanes)
        known = functions(op)
        for func in known.values():
            if simt.KERNEL in func.attributes and has_matrices(func, known):
                func.attributes[simt.SUBGROUP_SIZE] = IntegerAttr(lanes, i32)
        if self.fallback:
            known |= second_entries(moves, self.explain)
        demand(moves, channels, device.block_io)
        rules = Matrices(pieces, moves, channels)
        for func in known.values():
            narrow_loops(func, moves, rules.entry(func))
        _fetch(op, rules, moves)
        parts: dict[SSAValue, Parts] = {
            value: pieces(value.type).parts
            for value in values_in(op)
            if isinstance(value.type, MatrixType)
        }
        split_values(op, parts, rules.rules())

    def _decided(
        self, module: ModuleOp, device: devices.Device, lanes: int
    ) -> tuple[dict[Operation, Moves], dict[Operation, Channels]]:
        """Return the messages of each access that has them, of blocks or channels."""
        found: dict[Operation, Moves] = {}
        channels: dict[Operation, Channels] = {}
        for op in module.walk():
            if not isinstance(op, Accesses):
                continue
            held = pieces_of(op.matrix, device, lanes)
            assert isinstance(held, Pieces), held
            decided = decide(op, held, device)
            if not isinstance(decided, Refusal):
                found[op] = decided
                for part in decided:
                    self._tell(op, summary(part.plan))
                continue
            text = summary(decided)
            if isinstance(op, coopmatrix.LoadOp):
                loads = decide_channels(op, held)
                text = f"{text}; nor by channels: {loads}"
                if isinstance(loads, Channels):
                    channels[op], text = loads, str(loads)
            self._tell(op, text)
        return found, channels

    def _tell(self, op: Operation, text: str) -> None:
        if self.explain:
            remark(op, text)


def second_entries(
    moves: Mapping[Operation, Moves], explain: bool
) -> dict[str, FuncOp]:
    """Copy the kernels that need their arguments to be like surfaces; by name."""
    found: dict[str, FuncOp] = {}
    for op in moves:
        assert isinstance(op, Accesses), op
        kernel = op.memory.owner.parent_op()
        assert isinstance(kernel, FuncOp), kernel
        name = kernel.sym_name.data + SECOND_ENTRY
        if name in found:
            continue
        copy = found[name] = kernel.clone()
        copy.sym_name = StringAttr(name)
        Rewriter.insert_op(copy, InsertPoint.after(kernel))
        if explain:
            remark_second_entry(copy, name)
    return found


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


def demand(
    moves: Mapping[Operation, Moves],
    channels: Mapping[Operation, Channels],
    io: devices.BlockIO | None,
) -> None:
    """Write on kernels what else must hold of their arguments."""
    found: dict[Operation, dict[Where, Rule]] = {}
    for op in (*moves, *channels):
        assert isinstance(op, Accesses), op
        argument = kernel_argument(op.memory)
        assert argument is not None, op
        owner = op.memory.owner
        func = owner.parent_op()
        assert isinstance(func, Operation), op
        rules = found.setdefault(func, {})
        if op in moves:
            assert io is not None, op
            steps = [getattr(part.plan, "row_step", 1) for part in moves[op]]
            wanted = list(conditions(op.memory, io, max(steps)))
        else:
            assert isinstance(op, coopmatrix.LoadOp), op
            wanted = [
                (Where(argument, what, dimension), rule)
                for what, dimension, rule in demands(op)
            ]
        for where, rule in wanted:
            rules[where] = together(rules[where], rule) if where in rules else rule
    for func, rules in found.items():
        ordered = sorted(rules, key=lambda x: (x.argument, x.what, x.dimension))
        known = func.attributes.get(simt.CONDITIONS)
        before = known.data if isa(known, ArrayAttr[DictionaryAttr]) else ()
        func.attributes[simt.CONDITIONS] = ArrayAttr(
            [*before, *(_condition(where, rules[where]) for where in ordered)]
        )


def _condition(where: Where, rule: Rule) -> DictionaryAttr:
    """Return one condition as an attribute."""
    entries: dict[str, Attribute] = {
        "argument": IntegerAttr(where.argument, i64),
        "what": StringAttr(where.what),
        "multiple_of": IntegerAttr(rule.multiple_of, i64),
        "why": StringAttr(f"{rule.part} of a surface"),
    }
    if where.what == "bytes":
        entries["why"] = StringAttr("offsets of 32 bits")
    if where.what in ("size", "stride"):
        entries["dimension"] = IntegerAttr(where.dimension, i64)
    if rule.at_least:
        entries["at_least"] = IntegerAttr(rule.at_least, i64)
    if rule.less_than is not None:
        entries["less_than"] = IntegerAttr(rule.less_than, i64)
    return DictionaryAttr(entries)


def _fetch(module: ModuleOp, rules: Matrices, moves: dict[Operation, Moves]) -> None:
    """Replace prefetches: they have no matrix as a value."""
    for op in tuple(module.walk()):
        if isinstance(op, coopmatrix.PrefetchOp):
            if (found := moves.get(op)) is not None:
                MatrixBlocks(rules.entry(op)).prefetch(op, Splitter(op), found)
            Rewriter.erase_op(op)
