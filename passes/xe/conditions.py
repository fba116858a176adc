"""What must hold of a kernel's arguments for its 2D block messages to be right.

    simt.conditions = [{what = "value", argument = 5, multiple_of = 8, ..}, ..]

They are the rules of surfaces for the numbers that descriptors are made of, where those
are arguments of the kernel; numbers that are constants were checked when the messages
were planned.  What is computed otherwise is Triton's promise, `ttig.block_io`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import gcd, isinf, lcm
from typing import TypeAlias

from xdsl.dialects.arith import ExtSIOp, ExtUIOp, MaxSIOp, MinSIOp, TruncIOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from coopc.device import BlockIO
from coopc.dialects import tt, ttig, xe_plans
from coopc.interface import SECOND_ENTRY, Condition
from coopc.ir.facts import ValueFacts, constant_number
from coopc.passes.triton.access_attributes import LANE_BY_LANE
from coopc.passes.triton.base_alignment import ALIGNED, alignment_of
from coopc.passes.triton.origins import made_by
from coopc.passes.xe.vector_plans import plan_vector
from coopc.plan.block2d import BlockPlan
from coopc.plan.block_message import Part, Rule, rules
from coopc.plan.refusal import Reason, Refusal
from coopc.plan.search import MOST_PACKED

BlockOp: TypeAlias = tt.DescriptorLoadOp | tt.DescriptorStoreOp
AccessOp: TypeAlias = BlockOp | ttig.DescriptorPrefetchOp


def numbers_of(made: tt.MakeTensorDescriptorOp) -> dict[Part, SSAValue]:
    """Return the values of a descriptor that its surface is made of, in elements."""
    found: dict[Part, SSAValue] = {"base": made.base, "width": made.shape[-1]}
    if len(made.shape) > 1:
        found |= {"height": made.shape[-2], "pitch": made.strides[-2]}
    return {part: source_of(value) for part, value in found.items()}


def source_of(value: SSAValue) -> SSAValue:
    """Return a number before it was extended, or a pointer before it was moved.

    A size is also one before it was made 0 where it is negative, or less where it is
    more than an i32 holds.
    """
    while True:
        match value.owner:
            case ExtSIOp() | ExtUIOp() | TruncIOp() as extended:
                value = extended.input
            case MaxSIOp() as size if constant_number(size.rhs) == 0:
                value = size.lhs
            case MinSIOp() as size if constant_number(size.rhs) == (1 << 31) - 1:
                value = size.lhs
            case tt.AddPtrOp() as add:
                value = add.ptr
            case _:
                return value


def known_numbers(made: tt.MakeTensorDescriptorOp) -> dict[Part, int]:
    """Return what is known of a surface, in bytes and rows."""
    size = made.type.element_bits // 8
    found: dict[Part, int] = {}
    for part, value in numbers_of(made).items():
        if (number := constant_number(value)) is not None:
            found[part] = number * (1 if part == "height" else size)
    return found


def known_surfaces(made: tt.MakeTensorDescriptorOp) -> list[dict[Part, int]]:
    """Return what is known of a surface, where its width is the least and the most.

    A width grows with the distance that its base was moved to be aligned.
    """
    known, owner = known_numbers(made), made.base.owner
    if "width" in known or not isinstance(owner, tt.AddPtrOp):
        return [known]
    if ALIGNED not in owner.attributes:
        return [known]
    width, size = ValueFacts().of(made.shape[-1]), made.type.element_bits // 8
    ends = [int(x) for x in (width.low, width.high) if not isinf(x)]
    return [{**known, "width": end * size} for end in ends] or [known]


@dataclass(frozen=True, slots=True, order=True)
class HostNumber:
    """A number that the host can check before a kernel runs."""

    argument: int
    """Which argument of the kernel it is of."""
    what: str
    """address, bytes (that the argument has), value, size or stride."""
    dimension: int = 0
    """Of a size or a stride."""

    def condition(self, why: str) -> Condition:
        """Return a condition that is about it, and demands nothing yet."""
        return Condition(self.what, self.argument, self.dimension, why=why)

    def is_of(self, condition: Condition) -> bool:
        """Whether it is the number that a condition is about."""
        about = condition.argument, condition.what, condition.dimension
        return about == (self.argument, self.what, self.dimension)


@dataclass(slots=True)
class Demands:
    """What must hold of the arguments of a kernel, as `simt.conditions`."""

    why: str = ""
    """What for; without it that is a surface, or offsets."""
    rules: dict[HostNumber, Rule] = field(default_factory=dict[HostNumber, Rule])

    def add(self, number: HostNumber, rule: Rule) -> None:
        """Demand a rule, with what is demanded of the number already."""
        if (known := self.rules.get(number)) is not None:
            limits = [x for x in (known.less_than, rule.less_than) if x is not None]
            rule = Rule(
                known.part,
                lcm(known.multiple_of, rule.multiple_of),
                max(known.at_least, rule.at_least),
                min(limits, default=None),
            )
        self.rules[number] = rule

    def add_part(self, arguments: Mapping[Part, int], rule: Rule) -> None:
        """Demand a rule of the argument that is a part of a surface, if one is."""
        if rule.part in arguments:
            what = "address" if rule.part == "base" else "value"
            self.add(HostNumber(arguments[rule.part], what), rule)

    def conditions(self) -> list[Condition]:
        """Return the conditions, by argument."""
        return [
            replace(
                number.condition(self.why or _why(number, rule)),
                multiple_of=rule.multiple_of,
                at_least=rule.at_least or None,
                less_than=rule.less_than,
            )
            for number, rule in sorted(self.rules.items())
        ]


def _why(number: HostNumber, rule: Rule) -> str:
    is_reach = number.what == "bytes"
    return "offsets of 32 bits" if is_reach else f"{rule.part} of a surface"


def arguments_of(
    func: tt.FuncOp | FuncOp, made: tt.MakeTensorDescriptorOp
) -> dict[Part, int]:
    """Return which arguments of a kernel are parts of the surface of a descriptor."""
    args = func.body.block.args
    return {
        part: args.index(value)
        for part, value in numbers_of(made).items()
        if value.owner is func.body.block
    }


def demand_vectors(func: tt.FuncOp) -> Demands:
    """Demand what arguments must be multiples of, for accesses that move vectors."""
    found = Demands("vectors of a lane")
    for op in func.body.walk():
        if isinstance(op, tt.LoadOp | tt.StoreOp) and xe_plans.VECTOR in op.attributes:
            vector = plan_vector(op)
            assert vector is not None, op
            for argument, what, multiple in vector.needs:
                found.add(HostNumber(argument, what), Rule("base", multiple))
    return found


def conditions(func: tt.FuncOp, io: BlockIO | None) -> list[Condition]:
    """Return the conditions of a kernel whose accesses are planned."""
    demands, moves = Demands(), Demands("base of a surface, which it moves")
    pairs, units = set[tuple[int, int]](), set[int]()
    for op in func.body.walk():
        plan = op.attributes.get(xe_plans.PLAN)
        if not isinstance(op, AccessOp) or plan is None:
            continue
        if (made := made_by(op.desc)) is None:
            continue
        assert io is not None, op
        size, arguments = made.type.element_bits // 8, arguments_of(func, made)
        step = plan.data.row_step if isinstance(plan, xe_plans.PlanAttr) else 1
        for rule in rules(io, step):
            in_bytes = rule.part in ("base", "height")
            demands.add_part(arguments, rule if in_bytes else rule.in_units(size))
        *_, most = known_surfaces(made)
        known = {part: number // size for part, number in most.items()}
        if "width" in known:
            demands.add_part(arguments, Rule("pitch", at_least=known["width"]))
        if "pitch" in known:
            demands.add_part(arguments, Rule("width", less_than=known["pitch"] + 1))
        pitch, width = arguments.get("pitch"), arguments.get("width")
        if pitch is not None and width is not None and pitch != width:
            pairs.add((pitch, width))
        stride = source_of(made.strides[-1])
        if stride.owner is func.body.block:
            units.add(func.body.block.args.index(stride))
        aligned = alignment_of(made.base, size)
        for at, multiple in () if aligned is None else aligned.needs:
            moves.add(HostNumber(at, "value"), Rule("base", multiple))
    inner = "stride of columns of a surface"
    above = "pitch of a surface, at least its width"
    return [
        *demands.conditions(),
        *demand_vectors(func).conditions(),
        *moves.conditions(),
        *(
            Condition("value", at, at_least=1, less_than=2, why=inner)
            for at in sorted(units)
        ),
        *(
            Condition("value", pitch, at_least_argument=width, why=above)
            for pitch, width in sorted(pairs)
        ),
    ]


def known_multiple(column: SSAValue) -> int:
    """Return a power of two that a column is a multiple of, as far as messages pack."""
    return gcd(ValueFacts().divisor(column), MOST_PACKED)


def refuse_steps(plan: BlockPlan, y: SSAValue, x: SSAValue) -> Refusal | None:
    """Return why the messages of a plan cannot begin at a position, or None.

    That is row `y`, a number or an index, and column `x`.
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
            found[func] = bool(conditions(first, io))
    return found
