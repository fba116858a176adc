"""What must hold of a kernel's arguments for its 2D block messages to be right.

    simt.conditions = [{what = "value", argument = 5, multiple_of = 8, ..}, ..]

They are the rules of surfaces for the numbers that descriptors are made of, where those
are arguments of the kernel; numbers that are constants were checked when the messages
were planned.  What is computed otherwise is Triton's promise, `ttig.block_io`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import lcm

from xdsl.dialects.arith import ConstantOp, ExtSIOp, ExtUIOp, TruncIOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from coopc.device import BlockIO
from coopc.dialects import simt, tt, ttig, xe
from coopc.dialects.tt.types import bits_of
from coopc.interface import SECOND_ENTRY
from coopc.ir.facts import ValueFacts, constant_number
from coopc.passes.triton.access_attributes import LANE_BY_LANE
from coopc.passes.triton.base_alignment import alignment_of
from coopc.passes.triton.origins import made_by
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import Part, Rule, rules
from coopc.plan.refusal import Reason, Refusal

AccessOp = tt.DescriptorLoadOp | tt.DescriptorStoreOp | ttig.DescriptorPrefetchOp


def descriptor_of(op: Operation) -> tt.MakeTensorDescriptorOp | None:
    """Return where the descriptor of an access is made, if that is one place."""
    return made_by(op.desc) if isinstance(op, AccessOp) else None


def numbers_of(made: tt.MakeTensorDescriptorOp) -> dict[Part, SSAValue]:
    """Return the values of a descriptor that its surface is made of, in elements."""
    found: dict[Part, SSAValue] = {"base": made.base, "width": made.shape[-1]}
    if len(made.shape) > 1:
        found |= {"height": made.shape[-2], "pitch": made.strides[-2]}
    return {part: source_of(value) for part, value in found.items()}


def source_of(value: SSAValue) -> SSAValue:
    """Return a number before it was extended, or a pointer before it was moved."""
    while True:
        match value.owner:
            case ExtSIOp() | ExtUIOp() | TruncIOp() as extended:
                value = extended.input
            case tt.AddPtrOp() as add:
                value = add.ptr
            case _:
                return value


def element_bytes(made: tt.MakeTensorDescriptorOp) -> int:
    """Return the bytes of an element."""
    width = bits_of(made.type.tensor)
    assert width is not None, made
    return width // 8


def known_numbers(made: tt.MakeTensorDescriptorOp) -> dict[Part, int]:
    """Return what is known of a surface, in bytes and rows."""
    size = element_bytes(made)
    found: dict[Part, int] = {}
    for part, value in numbers_of(made).items():
        op = value.owner
        if isinstance(op, ConstantOp) and isinstance(op.value, IntegerAttr):
            found[part] = op.value.value.data * (1 if part == "height" else size)
    return found


@dataclass(frozen=True, slots=True, order=True)
class HostNumber:
    """A number that the host can check before a kernel runs."""

    argument: int
    """Which argument of the kernel it is of."""
    what: str
    """address, bytes (that the argument has), value, size or stride."""
    dimension: int = 0
    """Of a size or a stride."""


@dataclass(slots=True)
class Demands:
    """What must hold of the arguments of a kernel, as `simt.conditions`."""

    rules: dict[HostNumber, Rule] = field(default_factory=dict[HostNumber, Rule])

    def add(self, number: HostNumber, rule: Rule) -> None:
        """Demand a rule, with what is demanded of the number already."""
        known = self.rules.get(number)
        self.rules[number] = rule if known is None else together(known, rule)

    def attributes(self) -> list[DictionaryAttr]:
        """Return the conditions, by argument."""
        return [attribute(number, self.rules[number]) for number in sorted(self.rules)]

    def write(self, func: Operation) -> None:
        """Write them on a kernel, after what it says already."""
        known = func.attributes.get(simt.CONDITIONS)
        before = known.data if isa(known, ArrayAttr[DictionaryAttr]) else ()
        if before or self.rules:
            func.attributes[simt.CONDITIONS] = ArrayAttr([*before, *self.attributes()])


def number_of_surface(argument: int, rule: Rule) -> HostNumber:
    """Return the number of an argument that is a part of a surface itself."""
    return HostNumber(argument, "address" if rule.part == "base" else "value")


def conditions(func: tt.FuncOp, io: BlockIO) -> ArrayAttr[DictionaryAttr]:
    """Return the conditions of a kernel whose accesses are planned."""
    demands = Demands()
    pairs: dict[tuple[int, int], None] = {}
    moves: dict[int, int] = {}
    for op in func.body.walk():
        made = descriptor_of(op)
        if made is None or xe.PLAN not in op.attributes:
            continue
        values, size = numbers_of(made), element_bytes(made)
        for rule in rules(io, step_of(op)):
            at = argument_of(func, values.get(rule.part))
            if at is not None:
                in_bytes = rule.part in ("base", "height")
                each = rule if in_bytes else rule.in_units(size)
                demands.add(number_of_surface(at, each), each)
        for at, each in inner_rules(func, values):
            demands.add(number_of_surface(at, each), each)
        aligned = alignment_of(made.base, size)
        for at, multiple in () if aligned is None else aligned.needs:
            moves[at] = lcm(moves.get(at, 1), multiple)
        if (pair := pitch_and_width(func, values)) is not None:
            pairs[pair] = None
    alone = [
        *demands.attributes(),
        *(
            condition(
                HostNumber(at, "value"),
                "base of a surface, which it moves",
                multiple_of=moves[at],
            )
            for at in sorted(moves)
        ),
    ]
    for pitch, width in sorted(pairs):
        why = "pitch of a surface, at least its width"
        number = HostNumber(pitch, "value")
        alone.append(condition(number, why, at_least_argument=width))
    return ArrayAttr(alone)


def argument_of(func: tt.FuncOp, value: SSAValue | None) -> int | None:
    """Return which argument of a kernel a value is, if it is one."""
    if value is None or value.owner is not func.body.block:
        return None
    return func.body.block.args.index(value)


def inner_rules(
    func: tt.FuncOp, values: dict[Part, SSAValue]
) -> Iterator[tuple[int, Rule]]:
    """Yield what a pitch or a width must be where the other one is a constant."""
    pitch, width = values.get("pitch"), values.get("width")
    if pitch is None or width is None:
        return
    known = {"pitch": constant_number(pitch), "width": constant_number(width)}
    at = argument_of(func, pitch)
    if at is not None and known["width"] is not None:
        yield at, Rule("pitch", at_least=known["width"])
    at = argument_of(func, width)
    if at is not None and known["pitch"] is not None:
        yield at, Rule("width", less_than=known["pitch"] + 1)


def pitch_and_width(
    func: tt.FuncOp, values: dict[Part, SSAValue]
) -> tuple[int, int] | None:
    """Return the arguments that are the pitch and the width, if both are arguments."""
    pitch, width = (argument_of(func, values.get(x)) for x in ("pitch", "width"))
    if pitch is None or width is None or pitch == width:
        return None
    return pitch, width


def step_of(op: Operation) -> int:
    """Return the rows from one row of the messages of an access to the next."""
    attr = op.attributes.get(xe.PLAN)
    return attr.data.row_step if isinstance(attr, xe.PlanAttr) else 1


def together(one: Rule, other: Rule) -> Rule:
    """Return both rules of one argument as one."""
    limits = [x for x in (one.less_than, other.less_than) if x is not None]
    return Rule(
        one.part,
        lcm(one.multiple_of, other.multiple_of),
        max(one.at_least, other.at_least),
        min(limits) if limits else None,
    )


def attribute(number: HostNumber, rule: Rule) -> DictionaryAttr:
    """Return a rule as a condition."""
    why = (
        "offsets of 32 bits" if number.what == "bytes" else f"{rule.part} of a surface"
    )
    limits: dict[str, int] = {"multiple_of": rule.multiple_of}
    if rule.at_least:
        limits["at_least"] = rule.at_least
    if rule.less_than is not None:
        limits["less_than"] = rule.less_than
    return condition(number, why, **limits)


FIRST = ("multiple_of", "at_least_argument")
"""Limits that are printed before the reason."""


def condition(number: HostNumber, why: str, **limits: int) -> DictionaryAttr:
    """Return one condition as an attribute."""
    told = {name: IntegerAttr(limit, i64) for name, limit in limits.items()}
    entries: dict[str, Attribute] = {
        "argument": IntegerAttr(number.argument, i64),
        "what": StringAttr(number.what),
        **{name: told.pop(name) for name in FIRST if name in told},
        "why": StringAttr(why),
    }
    if number.what in ("size", "stride"):
        entries["dimension"] = IntegerAttr(number.dimension, i64)
    entries |= told
    return DictionaryAttr(entries)


def refuse_steps(plan: BlockPlan, y: SSAValue, x: SSAValue) -> Refusal | None:
    """Return why the messages of a plan cannot begin at a position, or None.

    Args:
        plan: of any step.
        y: the row of memory, a number or an index.
        x: the column.
    """
    step = plan.row_step
    if step == 1:
        return None
    if (known := ValueFacts().divisor(y)) % step:
        what = f"cannot prove that the row is a multiple of {step}:"
        return Refusal(Reason.POSITION, f"{what} it is known to be one of {known}")
    if not ValueFacts().is_known_nonnegative(x):
        return Refusal(Reason.POSITION, f"the column may be negative, for {plan}")
    return None


def second_entries(module: ModuleOp, io: BlockIO | None) -> dict[tt.FuncOp, bool]:
    """Return second entry points, and whether the kernel itself has conditions."""
    named = {x.sym_name.data: x for x in module.ops if isinstance(x, tt.FuncOp)}
    found: dict[tt.FuncOp, bool] = {}
    for name, func in named.items():
        first = named.get(name.removesuffix(SECOND_ENTRY))
        if LANE_BY_LANE in func.attributes and first not in (None, func):
            found[func] = io is not None and bool(conditions(first, io).data)
    return found
