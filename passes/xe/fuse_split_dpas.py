"""fuse-split-dpas: lets two subgroups share A, each loading half of its rows.

Before:  DPAS in a pair of subgroups that load the same A and multiply it by different
         B.
After:   the first subgroup loads the first half of the rows, the second the other half,
         and both use split DPAS. An A that they cannot share is loaded as before.
Fails:   for unknown devices and those without split DPAS.

The device defines which two subgroups are a pair.  If that is an assumption, nothing is
fused without `assumed=true`.

Which operands A of DPAS two subgroups can share, half each, or why not.

A pair are the subgroups 2 i and 2 i + 1 of a work-group (`Device.split_pair`).  They
can share an operand A if

    both are there          the kernel's subgroups are full, and even in number
    both execute it         control flow is the same for both, as often, in all lanes
    both have the same A    it is loaded by blocks from offsets that are the same for
                            both, out of an argument that the kernel does not write;
                            arguments are memory of their own
    nothing else reads A    but multiplications that split DPAS has

What is the same for both follows from how the kernel spreads the tile of a work-group
over its subgroups (`coopc.ir.uniformity`): with s / 4 as the row of subgroup s and
s mod 4 as its column, 2 i and 2 i + 1 are in one row.  B and C may differ, and do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, groupby

from xdsl.context import Context
from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp, i1, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.device import Device
from coopc.dialects import simt, xe
from coopc.dialects.narrow import is_memref, vector_type
from coopc.dialects.xe import SPLIT_LANES, SPLIT_PRECISIONS, SPLIT_REPEAT_COUNTS
from coopc.ir.builder import Builder, Built
from coopc.ir.control_flow import kernel_around
from coopc.ir.device_option import device_of
from coopc.ir.polynomial import Polynomial
from coopc.ir.uniformity import Uniformity, Variation
from coopc.passes.xe.convert_to_xe.vectors import concatenated
from coopc.plan.refusal import Refusal
from coopc.remarks import remark

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


class SplitReason(Enum):
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
    refusals = chain(
        _against_kernel(kernel_around(products[0]), device),
        _against_uses(a, products, uniformity),
    )
    if (refusal := next(refusals, None)) is not None:
        return refusal
    halves = halves_of(a)
    if isinstance(halves, Refusal):
        return halves
    loads = {rows.load: None for half in halves for rows in half}
    refusals = (x for load in loads for x in _against_load(load, uniformity))
    return next(refusals, None) or SharedOperand(a, halves, tuple(products))


def _against_kernel(func: FuncOp | None, device: Device) -> Iterator[Refusal]:
    if func is None:
        yield Refusal(SplitReason.KERNEL, "this is a function")
        return
    kernel = simt.kernel_of(func)
    lanes = kernel.subgroup_size or device.subgroup_size
    if lanes != SPLIT_LANES:
        yield Refusal(SplitReason.LANES, f"the kernel has subgroups of {lanes}")
    full, rest = divmod(kernel.work_items, lanes)
    if kernel.subgroup_size is None or rest or full % 2:
        what = f"{kernel.work_items} work-items in subgroups of {lanes}"
        yield Refusal(SplitReason.ALONE, what)


def _against_uses(
    a: SSAValue, products: Sequence[xe.DpasOp], uniformity: Uniformity
) -> Iterator[Refusal]:
    for use in a.uses:
        if not isinstance(use.operation, xe.DpasOp) or use.index != 0:
            yield Refusal(SplitReason.USES, use.operation.name)
    for op in products:
        if any(x not in SPLIT_PRECISIONS for x in op.precisions):
            yield Refusal(SplitReason.PRECISION, " x ".join(op.precisions))
        if (repeat := op.repeat.value.data) not in SPLIT_REPEAT_COUNTS:
            yield Refusal(SplitReason.REPEAT, str(repeat))
        element = vector_type(op.c).get_element_type()
        if isinstance(element, Float16Type | BFloat16Type):
            yield Refusal(SplitReason.ACCUMULATOR, str(element))
        yield from _against_flow(op, uniformity)


def _against_flow(op: Operation, uniformity: Uniformity) -> Iterator[Refusal]:
    around = uniformity.around(op)
    if around > Variation.PAIRS:
        cause = uniformity.cause(op)
        name = "control flow" if cause is None else cause.name
        who = "lanes" if around is Variation.LANES else "subgroups"
        what = f"{name} around {op.name} differs by {who}"
        yield Refusal(SplitReason.CONTROL_FLOW, what)


def _against_load(load: xe.BlockLoadOp, uniformity: Uniformity) -> Iterator[Refusal]:
    yield from _against_flow(load, uniformity)
    operands = {"offset": load.offset, "guard": load.guard, "base": load.base}
    for name, value in operands.items():
        if value is not None and uniformity.of(value) > Variation.PAIRS:
            yield Refusal(SplitReason.ROWS, f"the {name} of {load.name} differs")
    kernel, base = kernel_around(load), root_of(load.base)
    assert kernel is not None, load
    if base.owner is not kernel.body.blocks[0]:
        yield Refusal(SplitReason.WRITTEN, "it is not an argument of the kernel")
    for op in kernel.walk():
        if not isinstance(op, READS) and any(
            is_memref(value.type) and root_of(value) is base for value in op.operands
        ):
            yield Refusal(SplitReason.WRITTEN, f"{op.name} has it")


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
        return Refusal(SplitReason.SOURCE, f"it is the result of {name}")
    middle = len(rows) // 2
    first, second = (tuple(runs(x)) for x in (rows[:middle], rows[middle:]))
    counts = [[run.count for run in half] for half in (first, second)]
    if counts[0] != counts[1]:
        return Refusal(
            SplitReason.SOURCE, f"halves of {counts[0]} and {counts[1]} rows"
        )
    blocks = {run.load.parent_block() for run in (*first, *second)}
    if len(blocks) > 1:
        return Refusal(SplitReason.SOURCE, "its loads are in several blocks")
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
    by_run = groupby(enumerate(rows), lambda x: (x[1][0], x[1][1] - x[0]))
    for (load, _), run in by_run:
        first, *rest = [channel for _, (_, channel) in run]
        yield Rows(load, first, 1 + len(rest))


ROW_BYTES = SPLIT_LANES * 4
"""Of a row of A, of which each lane holds a channel of 32 bits."""


def share(operands: Sequence[SharedOperand], order: Mapping[Operation, int]) -> None:
    """Load halves of operands of one function, and multiply with split DPAS.

    `order` says where the operations of the function stand.
    """
    jobs = [
        (max((rows.load for rows in pair), key=order.__getitem__), operand.a, pair)
        for operand in operands
        for pair in operand.halves
    ]
    # Offsets are made once, where the first half that needs them is loaded.
    built = Built()
    found = {
        (a, pair): _load_half(Builder.at(place, built, unroll=True), *pair)
        for place, a, pair in sorted(jobs, key=lambda job: order[job[0]])
    }
    for operand in operands:
        halves = [found[operand.a, pair] for pair in operand.halves]
        _multiply(operand, halves, min(operand.products, key=order.__getitem__))


def _multiply(
    operand: SharedOperand, halves: Sequence[SSAValue], first: xe.DpasOp
) -> None:
    """Multiply with half of an operand, first in place of the first product."""
    b = Builder.at(first)
    half = concatenated(b, halves)
    for product in operand.products:
        split = xe.SplitDpasOp(
            half, product.b, product.c, product.precisions, product.repeat.value.data
        )
        split.location = product.location
        Rewriter.replace_op(product, split)
    _erase_unused(operand.a)


def _load_half(b: Builder, first: Rows, second: Rows) -> SSAValue:
    """Load rows of the first half in the first subgroup, of the second in the other."""
    start, other_start = (
        Polynomial.of(rows.load.offset) + Polynomial.number(rows.first * ROW_BYTES)
        for rows in (first, second)
    )
    half = b.pure(arith.MuliOp, (other_start - start).build(b), parity(b))
    half.name_hint = "half"
    offset = (start + Polynomial.value(half)).build(b)
    guard, other = first.load.guard, second.load.guard
    if guard is not other:
        always = b.constant(i1, 1)
        guard = chosen(b, guard or always, other or always)
    load = xe.BlockLoadOp(first.load.base, offset, first.count, guard=guard)
    load.result.name_hint = first.load.result.name_hint
    b.effect(load)
    return load.result


def parity(b: Builder) -> SSAValue:
    """Return 0 in the first subgroup of a pair, 1 in the second, an i32."""
    found = b.pure(arith.AndIOp, b.id("warp"), b.constant(i32, 1))
    found.name_hint = "second"
    return found


def chosen(b: Builder, first: SSAValue, second: SSAValue) -> SSAValue:
    """Return one condition in the first subgroup of a pair, another in the second.

    What is part of both is not chosen.
    """
    if first is second:
        return first
    one, other = first.owner, second.owner
    if isinstance(one, arith.AndIOp) and isinstance(other, arith.AndIOp):
        rests = [x for x in one.operands if x not in other.operands]
        others = [x for x in other.operands if x not in one.operands]
        if len(rests) == len(others) == 1:
            (common,) = (x for x in one.operands if x in other.operands)
            both = sorted((chosen(b, *rests, *others), common), key=b.depth)
            return b.pure(arith.AndIOp, *both)
    is_first = b.compare("eq", parity(b), b.constant(i32, 0))
    return b.pure(arith.SelectOp, is_first, first, second)


def _erase_unused(value: SSAValue) -> None:
    """Erase what made a value that nothing uses any more."""
    op = value.owner
    if not isinstance(op, xe.BlockLoadOp | vector.ShuffleOp):
        return
    if any(result.uses for result in op.results):
        return
    operands = tuple(op.operands)
    Rewriter.erase_op(op)
    for operand in operands:
        _erase_unused(operand)


@dataclass(frozen=True)
class FuseSplitDpasPass(ModulePass):
    name = "fuse-split-dpas"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    assumed: bool = False
    """Also fuse if the pairs of the device are an assumption."""
    explain: bool = False
    """Print a remark for each decision."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        if device.split_pair is None:
            raise PassFailedException(
                f"{self.name}: expected a device with split DPAS, as dg2 has, got "
                f"{device.name}"
            )
        dpas = (x for x in op.walk() if isinstance(x, xe.DpasOp))
        operands = list(dict.fromkeys(x.a for x in dpas))
        if device.split_pair.assumed and not self.assumed:
            for a in operands:
                self._tell(
                    a,
                    "not shared: which subgroups are a pair is only assumed for "
                    f"{device.name}: {self.name}{{assumed=true}} takes it",
                )
            return
        uniformity = Uniformity(op)
        decisions = [decide(a, uniformity, device) for a in operands]
        shared: dict[FuncOp, list[SharedOperand]] = {}
        for a, decided in zip(operands, decisions, strict=True):
            if isinstance(decided, Refusal):
                self._tell(a, f"not shared: {decided}")
                continue
            many, loads = len(decided.products), len(decided.halves)
            self._tell(a, f"shared: {many} split DPAS, {loads} loads of half of it")
            func = kernel_around(decided.products[0])
            assert func is not None
            shared.setdefault(func, []).append(decided)
        order = {each: place for place, each in enumerate(op.walk())}
        for each in shared.values():
            share(each, order)

    def _tell(self, a: SSAValue, text: str) -> None:
        if self.explain:
            users = (use.operation for use in a.uses)
            remark(next(x for x in users if isinstance(x, xe.DpasOp)), text)
