"""Which values and which control flow are the same for whom.

Each value of a kernel has a `Variation`: it is the same for all work-items of a
work-group, for both subgroups of each pair (2 i and 2 i + 1), only for all lanes of
each subgroup, or for none.  So has the control flow around an operation.  Both grow
from where work-items differ:

| operation                                  | variation of its results                |
|--------------------------------------------|-----------------------------------------|
| simt.lane_id, simt.local_id, shuffle       | lanes (see `local_id`)                  |
| simt.subgroup_id                           | subgroups                               |
| that divided by 2, 4, ..., or without bit 0 | pairs                                  |
| simt.broadcast, simt.reduce, any matrix    | that of the operands, at most subgroups |
| extract, coord, block reads, all of xe     | lanes                                   |
| row_slice.extract_element                  | lanes                                   |
| a memref of private memory, atomics        | lanes                                   |
| scf                                        | that of the yields and of the condition |
| any other                                  | that of the operands                    |

The analysis knows nothing of what memory holds: a load from one address gives one
value.  It is a fixed point over a module: a function varies as all its calls do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from math import prod
from typing import Any

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.traits import SymbolTable

from coopc.dialects import coopmatrix, simt
from coopc.ir.control_flow import enclosing, yielded
from coopc.ir.facts import constant_number

MAX_SHIFT = 32
"""Ids have fewer bits than this."""


class Variation(IntEnum):
    """Between whom something differs."""

    NONE = 0
    """The same for all work-items of a work-group."""
    PAIRS = 1
    """The same for all lanes of the subgroups 2 i and 2 i + 1."""
    SUBGROUPS = 2
    """The same for all lanes of each subgroup."""
    LANES = 3


class Uniformity:
    """The variation of all values and operations of a module.

    Args:
        module: kernels and functions.
        masked: whether lanes that have left a loop run on under a mask, and so keep
            what the loop carries while it changes for others.
    """

    def __init__(self, module: ModuleOp, masked: bool = False):
        self._masked = masked
        self._values: dict[SSAValue, Variation] = {}
        self._regions: dict[Region, Variation] = {}
        self._causes: dict[Region, Operation] = {}
        self._grown = 0
        """How often a region, or an argument of a block, has come to vary more."""
        self._changed = self._has_calls = True
        while self._changed and self._has_calls:
            self._changed = self._has_calls = False
            for op in module.ops:
                self._visit(op)

    def of(self, *values: SSAValue) -> Variation:
        """The variation that `values` have together."""
        found = Variation.NONE
        for value in values:
            found = max(found, self._values.get(value, Variation.NONE))
        return found

    def around(self, op: Operation) -> Variation:
        """The variation of whether `op` runs, and how often."""
        region = op.parent_region()
        return Variation.NONE if region is None else self._around(region)

    def cause(self, op: Operation) -> Operation | None:
        """The operation that decides whether `op` runs, if that varies."""
        region = op.parent_region()
        return None if region is None else self._causes.get(region)

    def _around(self, region: Region) -> Variation:
        return self._regions.get(region, Variation.NONE)

    # The lattice grows only.

    def _raise(self, values: Iterable[SSAValue], variation: Variation) -> None:
        for value in values:
            if variation <= (known := self._values.get(value, Variation.NONE)):
                continue
            most = variation
            if isinstance(value.type, coopmatrix.MatrixType):
                most = min(variation, Variation.SUBGROUPS)
            if most > known:
                self._values[value] = most
                self._changed = True
                self._grown += isinstance(value, BlockArgument)

    def _join(self, values: Sequence[SSAValue], inputs: Sequence[SSAValue]) -> None:
        for value, given in zip(values, inputs, strict=True):
            self._raise((value,), self.of(given))

    def _enter(self, region: Region, variation: Variation, op: Operation) -> None:
        if variation > self._around(region):
            self._regions[region] = variation
            self._changed = True
            self._grown += 1
            outer = op.parent_region()
            known = None if outer is None else self._causes.get(outer)
            inherited = outer is not None and self._around(outer) == variation
            self._causes[region] = known if known and inherited else op

    # Operations

    def _visit(self, op: Operation) -> None:
        """Visit an operation, and what is in it until that varies no more."""
        transfer = _TRANSFER.get(type(op), Uniformity.visit_other)
        if not op.regions:
            transfer(self, op)
            return
        around = self.around(op)
        for region in op.regions:
            self._enter(region, around, op)
        transfer(self, op)
        grown = None
        while grown != self._grown:
            for region in op.regions:
                for block in region.blocks:
                    for nested in block.ops:
                        self._visit(nested)
            grown = self._grown
            transfer(self, op)  # results vary as what is yielded

    def visit_other(self, op: Operation) -> None:
        self._visit_plain(op, max(self.of(*op.operands), source(op)))

    def visit_shared(self, op: simt.BroadcastOp | simt.ReduceOp) -> None:
        """What they give is that of all lanes of a subgroup."""
        self._raise(op.results, min(self.of(*op.operands), Variation.SUBGROUPS))

    def visit_apply(self, op: coopmatrix.ApplyOp) -> None:
        self._enter(op.body, Variation.LANES, op)
        self._visit_plain(op, Variation.LANES)

    def _visit_plain(self, op: Operation, variation: Variation) -> None:
        self._raise(op.results, variation)
        for region in op.regions:
            self._raise(region.blocks[0].args if region.blocks else (), variation)
            if region.first_block is not region.last_block:
                self._branches(region, op)

    def _branches(self, region: Region, op: Operation) -> None:
        """Blocks and their arguments vary as any branch of the region does."""
        ends = [block.last_op for block in region.blocks if block.last_op is not None]
        branches = [end for end in ends if end.successors]
        decisions = [end.operands[0] for end in branches if len(end.successors) > 1]
        variation = max(self._around(region), self.of(*decisions))
        self._enter(region, variation, op)
        for end in branches:
            passed = max(variation, self.of(*end.operands))
            for block in end.successors:
                self._raise(block.args, passed)

    def visit_select(self, op: Operation) -> None:
        """`scf.if`, `scf.index_switch`: one of the regions runs."""
        decision = self.of(op.operands[0])
        for region in op.regions:
            self._enter(region, max(self.around(op), decision), op)
            if region.blocks:
                self._join(op.results, yielded(region))
        self._raise(op.results, decision)

    def visit_for(self, op: scf.ForOp) -> None:
        bounds = self.of(op.lb, op.ub, op.step)
        self._enter(op.body, max(self.around(op), bounds), op)
        first, *carried = op.body.block.args
        self._raise((first, *op.results, *(carried if self._masked else ())), bounds)
        for inputs in (op.iter_args, yielded(op.body)):
            self._join(carried, inputs)
            self._join(op.results, inputs)

    def visit_while(self, op: scf.WhileOp) -> None:
        decide = op.before_region.block.last_op
        assert isinstance(decide, scf.ConditionOp), decide
        decision = self.of(decide.condition)
        for region in op.regions:
            self._enter(region, max(self.around(op), decision), op)
        before, after = op.before_region.block.args, op.after_region.block.args
        self._join(before, op.arguments)
        self._join(before, yielded(op.after_region))
        self._join(after, decide.args)
        self._join(op.results, decide.args)
        self._raise(op.results, decision)
        if self._masked:
            self._raise((*before, *after), decision)

    def visit_call(self, op: func.CallOp) -> None:
        self._has_calls = True
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, func.FuncOp) or callee.is_declaration:
            self.visit_other(op)
            return
        self._enter(callee.body, self.around(op), self.cause(op) or op)
        self._join(callee.body.blocks[0].args, op.arguments)
        for block in callee.body.blocks:
            if isinstance(end := block.last_op, func.ReturnOp):
                self._join(op.results, end.arguments)
        self._raise(op.results, self._around(callee.body))

    def visit_local_id(self, op: simt.LocalIdOp) -> None:
        self._raise(op.results, of_local_id(op, 1))

    def visit_comparison(self, op: arith.AndIOp | arith.CmpiOp) -> None:
        if _is_of_pairs(op):
            self._raise(op.results, Variation.PAIRS)
        else:
            self.visit_other(op)

    def visit_division(self, op: Operation) -> None:
        """An id divided by a constant may be the same for all lanes, or for a pair."""
        divided, by = id_of(op.operands[0]), constant_number(op.operands[1])
        divisor = by or 0
        if by is not None and isinstance(op, arith.ShRUIOp | arith.ShRSIOp):
            divisor = 1 << by if 0 <= by < MAX_SHIFT else 0
        match divided:
            case simt.LocalIdOp() if divisor > 0:
                self._raise(op.results, of_local_id(divided, divisor))
            case simt.SubgroupIdOp() if divisor > 0 and divisor % 2 == 0:
                self._raise(op.results, Variation.PAIRS)
            case _:
                self.visit_other(op)


_TRANSFER: dict[type[Operation], Callable[[Uniformity, Any], None]] = {
    scf.IfOp: Uniformity.visit_select,
    scf.IndexSwitchOp: Uniformity.visit_select,
    scf.ForOp: Uniformity.visit_for,
    scf.WhileOp: Uniformity.visit_while,
    func.CallOp: Uniformity.visit_call,
    simt.LocalIdOp: Uniformity.visit_local_id,
    simt.BroadcastOp: Uniformity.visit_shared,
    simt.ReduceOp: Uniformity.visit_shared,
    coopmatrix.ApplyOp: Uniformity.visit_apply,
    **dict.fromkeys(
        (
            arith.DivUIOp,
            arith.DivSIOp,
            arith.FloorDivSIOp,
            arith.ShRUIOp,
            arith.ShRSIOp,
        ),
        Uniformity.visit_division,
    ),
    arith.AndIOp: Uniformity.visit_comparison,
    arith.CmpiOp: Uniformity.visit_comparison,
}


def id_of(value: SSAValue) -> Operation | None:
    """Return the operation that gives an id, before it was cast to another integer."""
    owner = value.owner
    while isinstance(owner, arith.IndexCastOp | arith.ExtUIOp):
        owner = owner.operands[0].owner
    return owner if isinstance(owner, Operation) else None


def _is_of_pairs(op: arith.AndIOp | arith.CmpiOp) -> bool:
    """Whether a result is the same for subgroups 2 i and 2 i + 1.

    It is that of the number of a subgroup without bit 0, and of whether that is below,
    or above, 2 n.
    """
    pairs = [(op.lhs, op.rhs)]
    if isinstance(op, arith.AndIOp):
        pairs.append((op.rhs, op.lhs))
    for value, other in pairs:
        number = constant_number(other)
        if not isinstance(id_of(value), simt.SubgroupIdOp) or number is None:
            continue
        if isinstance(op, arith.AndIOp):
            return number % 2 == 0
        name = CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
        return name[1:] in (("lt", "ge") if number % 2 == 0 else ("le", "gt"))
    return False


# Of xe and row_slice by name, so that programs without them do not import them.
SOURCES: dict[str, Variation] = {
    simt.LaneIdOp.name: Variation.LANES,
    simt.SubgroupIdOp.name: Variation.SUBGROUPS,
    simt.ShuffleOp.name: Variation.LANES,
    simt.BlockReadOp.name: Variation.LANES,
    "xe.block_load": Variation.LANES,
    "xe.block_load_2d": Variation.LANES,
    "xe.payload_load": Variation.LANES,
    "xe.dpas": Variation.LANES,
    "xe.split_dpas": Variation.LANES,
    coopmatrix.ExtractOp.name: Variation.LANES,
    coopmatrix.CoordOp.name: Variation.LANES,
    "row_slice.extract_element": Variation.LANES,
    memref.AtomicRMWOp.name: Variation.LANES,
    simt.CompareExchangeOp.name: Variation.LANES,
}
"""Operations whose results vary whatever the operands are."""


def source(op: Operation) -> Variation:
    """The least variation of the results of `op`."""
    if isinstance(op, memref.AllocaOp):
        workgroup = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
        shared = op.memref.type.memory_space == workgroup
        return Variation.NONE if shared else Variation.LANES
    return SOURCES.get(op.name, Variation.NONE)


def of_local_id(op: simt.LocalIdOp, divisor: int) -> Variation:
    """The variation of a local id divided by `divisor`.

    Lanes are consecutive work-items, x first, where the subgroup size is known.
    """
    function = enclosing(op, func.FuncOp)
    if function is None or simt.KERNEL not in function.attributes:
        return Variation.LANES
    kernel = simt.kernel_of(function)
    sizes = kernel.work_group_size
    dimension = op.axis
    if dimension == 0 and kernel.subgroup_size is None:
        return Variation.LANES  # the size along x may be the device's choice
    if sizes[dimension] <= divisor:
        return Variation.NONE
    # The number of consecutive work-items that have the same quotient, if that
    # of the dimension is a multiple of the divisor.
    run = prod(sizes[:dimension]) * divisor
    exact = divisor == 1 or sizes[dimension] % divisor == 0
    if not exact or not kernel.subgroup_size or run % kernel.subgroup_size:
        return Variation.LANES
    is_of_pairs = run % (2 * kernel.subgroup_size) == 0
    return Variation.PAIRS if is_of_pairs else Variation.SUBGROUPS
