"""Which operands A of DPAS two subgroups can share, half each, or why not.

A pair are the subgroups 2 i and 2 i + 1 of a work-group (`Device.split_pair`).  They
can share an operand A if

    both are there          the kernel's subgroups are full, and even in number
    both execute it         control flow is the same for both, as often, in all lanes
    both have the same A    it is loaded by blocks from offsets that are the same for
                            both, out of an argument that the kernel does not write;
                            arguments are memory of their own
    nothing else reads A    but multiplications that split DPAS has

What is the same for both follows from how the kernel spreads the tile of a work-group
over its subgroups (`coopc.rewrite.uniformity`): with s / 4 as the row of subgroup s and
s mod 4 as its column, 2 i and 2 i + 1 are in one row.  B and C may differ, and do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import BFloat16Type, Float16Type
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from coopc.device import Device
from coopc.dialects import simt, xe
from coopc.dialects.narrow import is_memref, is_vector
from coopc.dialects.xe.dpas import SPLIT_LANES, SPLIT_REPEAT_COUNTS
from coopc.passes.xe.emulate.emulator import kernel_around
from coopc.plan.because import Because
from coopc.rewrite.uniformity import Uniformity, Variation

SPLIT_PRECISIONS = (
    xe.Precision.S8,
    xe.Precision.U8,
    xe.Precision.F16,
    xe.Precision.BF16,
)
CASTS = (
    memref.CastOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.AssumeAlignmentOp,
    memref.MemorySpaceCastOp,
)
"""Operations that give memory of their first operand."""
READS = (
    *CASTS,
    memref.LoadOp,
    memref.DimOp,
    memref.RankOp,
    memref.ExtractStridedMetaDataOp,
    simt.BlockReadOp,
    vector.LoadOp,
    vector.MaskedLoadOp,
    xe.BlockLoadOp,
    xe.BlockLoad2DOp,
    xe.BlockPrefetch2DOp,
    xe.PayloadCreateOp,
)
"""Operations that take memory and do not write it."""


class Reason(Enum):
    """Why two subgroups do not share an operand A."""

    KERNEL = "only in a kernel is it known which subgroups there are"
    LANES = "split DPAS is of 8 lanes"
    ALONE = "not every subgroup has a partner"
    PRECISION = "split DPAS does not multiply these"
    REPEAT = "split DPAS has 2, 4 or 8 rows"
    ACCUMULATOR = "split DPAS accumulates in f32 or i32"
    CONTROL_FLOW = "not both subgroups of a pair execute it, in all lanes"
    SOURCE = "A is not loaded by blocks, half after half"
    USES = "all of A is used by something else"
    ROWS = "the subgroups of a pair have other rows of A"
    WRITTEN = "the kernel may write the memory of A"


class Refusal(Because[Reason]):
    """Why an operand is not shared, with what was found."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of A that one load gives: a run of its channels."""

    load: xe.BlockLoadOp
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class SharedOperand:
    """An operand A of which each subgroup of a pair loads half."""

    a: SSAValue
    halves: tuple[tuple[Rows, Rows], ...]
    """For each load of a half: what the first and the second subgroup load."""
    products: tuple[xe.DpasOp, ...]


def decide(
    a: SSAValue, uniformity: Uniformity, device: Device
) -> SharedOperand | Refusal:
    """Return how pairs of subgroups share an operand A of DPAS, or why they do not."""
    products = [use.operation for use in a.uses if isinstance(use.operation, xe.DpasOp)]
    assert products, a
    kernel = kernel_around(products[0])
    if kernel is None:
        return Refusal(Reason.KERNEL, "this is a function")
    if (refusal := _refused_kernel(kernel, device)) is not None:
        return refusal
    if (refusal := _refused_uses(a)) is not None:
        return refusal
    for product in products:
        refusal = _refused_product(product) or _refused_flow(product, uniformity)
        if refusal is not None:
            return refusal
    halves = halves_of(a)
    if isinstance(halves, Refusal):
        return halves
    loads = {rows.load: None for half in halves for rows in half}
    for load in loads:
        refusal = _refused_load(load, uniformity) or _refused_memory(load, kernel)
        if refusal is not None:
            return refusal
    return SharedOperand(a, halves, tuple(products))


def _refused_kernel(func: FuncOp, device: Device) -> Refusal | None:
    kernel = simt.kernel_of(func)
    lanes = kernel.subgroup_size or device.subgroup_size
    if lanes != SPLIT_LANES:
        return Refusal(Reason.LANES, f"the kernel has subgroups of {lanes}")
    full, rest = divmod(kernel.work_items, lanes)
    if kernel.subgroup_size is None or rest or full % 2:
        what = f"{kernel.work_items} work-items in subgroups of {lanes}"
        return Refusal(Reason.ALONE, what)
    return None


def _refused_uses(a: SSAValue) -> Refusal | None:
    for use in a.uses:
        if not isinstance(use.operation, xe.DpasOp) or use.index != 0:
            return Refusal(Reason.USES, use.operation.name)
    return None


def _refused_product(op: xe.DpasOp) -> Refusal | None:
    if any(x not in SPLIT_PRECISIONS for x in op.precisions):
        return Refusal(Reason.PRECISION, " x ".join(op.precisions))
    if (repeat := op.repeat.value.data) not in SPLIT_REPEAT_COUNTS:
        return Refusal(Reason.REPEAT, str(repeat))
    assert is_vector(op.c.type)
    element = op.c.type.get_element_type()
    if isinstance(element, Float16Type | BFloat16Type):
        return Refusal(Reason.ACCUMULATOR, str(element))
    return None


def _refused_flow(op: Operation, uniformity: Uniformity) -> Refusal | None:
    around = uniformity.around(op)
    if around <= Variation.PAIRS:
        return None
    cause = uniformity.cause(op)
    name = "control flow" if cause is None else cause.name
    who = "lanes" if around is Variation.LANES else "subgroups"
    return Refusal(Reason.CONTROL_FLOW, f"{name} around {op.name} differs by {who}")


def _refused_load(load: xe.BlockLoadOp, uniformity: Uniformity) -> Refusal | None:
    if (refusal := _refused_flow(load, uniformity)) is not None:
        return refusal
    for name, value in (
        ("offset", load.offset),
        ("guard", load.guard),
        ("base", load.base),
    ):
        if value is not None and uniformity.of(value) > Variation.PAIRS:
            return Refusal(Reason.ROWS, f"the {name} of {load.name} differs")
    return None


def _refused_memory(load: xe.BlockLoadOp, kernel: FuncOp) -> Refusal | None:
    base = root_of(load.base)
    if base.owner is not kernel.body.blocks[0]:
        return Refusal(Reason.WRITTEN, "it is no argument of the kernel")
    for op in kernel.walk():
        if isinstance(op, READS):
            continue
        if any(
            is_memref(value.type) and root_of(value) is base for value in op.operands
        ):
            return Refusal(Reason.WRITTEN, f"{op.name} has it")
    return None


def root_of(memory: SSAValue) -> SSAValue:
    """Return the memref that another one is a part of."""
    while isinstance(owner := memory.owner, CASTS):
        memory = owner.operands[0]
    return memory


def halves_of(a: SSAValue) -> tuple[tuple[Rows, Rows], ...] | Refusal:
    """Return what the first and the second subgroup of a pair load, load by load."""
    rows = rows_of(a)
    if rows is None:
        name = a.owner.name if isinstance(a.owner, Operation) else "a block's argument"
        return Refusal(Reason.SOURCE, f"it is the result of {name}")
    middle = len(rows) // 2
    first, second = (tuple(runs(x)) for x in (rows[:middle], rows[middle:]))
    counts = [[run.count for run in half] for half in (first, second)]
    if counts[0] != counts[1]:
        return Refusal(Reason.SOURCE, f"halves of {counts[0]} and {counts[1]} rows")
    blocks = {run.load.parent_block() for run in (*first, *second)}
    if len(blocks) > 1:
        return Refusal(Reason.SOURCE, "its loads are in several blocks")
    return tuple(zip(first, second, strict=True))


def rows_of(value: SSAValue) -> list[tuple[xe.BlockLoadOp, int]] | None:
    """Return the load and the channel that each component of a vector is, if known."""
    match value.owner:
        case xe.BlockLoadOp(slot_bits=32) as load:
            return [(load, channel) for channel in range(load.slots)]
        case vector.ShuffleOp() as shuffle:
            sources = [rows_of(x) for x in (shuffle.v1, shuffle.v2)]
            if sources[0] is None or sources[1] is None:
                return None
            both = [*sources[0], *sources[1]]
            return [both[at] for at in shuffle.mask.get_values()]
        case _:
            return None


def runs(rows: Sequence[tuple[xe.BlockLoadOp, int]]) -> Iterator[Rows]:
    """Yield the runs of channels that follow each other."""
    start = 0
    for at in range(1, len(rows) + 1):
        load, channel = rows[at - 1]
        if at < len(rows) and rows[at] == (load, channel + 1):
            continue
        yield Rows(load, rows[start][1], at - start)
        start = at
