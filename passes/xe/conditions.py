"""What must hold of a kernel's arguments for its 2D block messages to be right.

    simt.conditions = [{what = "value", argument = 5, multiple_of = 8, ..}, ..]

They are the rules of surfaces for the numbers that descriptors are made of, where those
are arguments of the kernel; numbers that are constants were checked when the messages
were planned.  What is computed otherwise is Triton's promise, `ttig.block_io`.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

from xdsl.dialects.arith import ConstantOp, ExtSIOp, ExtUIOp, TruncIOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from coopc.device import BlockIO
from coopc.dialects import tt, ttig, xe
from coopc.dialects.tt.types import bits_of
from coopc.passes.triton.base_alignment import alignment_of
from coopc.passes.xe.convert_to_xe.entry import constant_of
from coopc.passes.xe.convert_to_xe.pointers import origin_of
from coopc.plan.surface import Part, Rule, rules

AccessOp = tt.DescriptorLoadOp | tt.DescriptorStoreOp | ttig.DescriptorPrefetchOp


def descriptor_of(op: Operation) -> tt.MakeTensorDescriptorOp | None:
    """Return where the descriptor of an access is made, if that is one place."""
    if not isinstance(op, AccessOp):
        return None
    found = origin_of(op.desc)
    made = None if found is None else found.owner
    return made if isinstance(made, tt.MakeTensorDescriptorOp) else None


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


def conditions(func: tt.FuncOp, io: BlockIO) -> ArrayAttr[DictionaryAttr]:
    """Return the conditions of a kernel whose accesses are planned."""
    found: dict[int, Rule] = {}
    pairs: dict[tuple[int, int], None] = {}
    moves: dict[int, int] = {}
    for op in func.body.walk():
        made = descriptor_of(op)
        if made is None or xe.PLAN not in op.attributes:
            continue
        values, size = numbers_of(made), element_bytes(made)
        for rule in rules(io, step_of(op)):
            value = values.get(rule.part)
            if value is None or not isinstance(value.owner, Block):
                continue
            if value.owner is not func.body.block:
                continue
            in_bytes = rule.part in ("base", "height")
            each = rule if in_bytes else rule.in_units(size)
            at = func.body.block.args.index(value)
            found[at] = each if at not in found else together(found[at], each)
        for at, each in inner_rules(func, values):
            found[at] = each if at not in found else together(found[at], each)
        aligned = alignment_of(made.base, size)
        for at, multiple in () if aligned is None else aligned.needs:
            moves[at] = lcm(moves.get(at, 1), multiple)
        if (pair := pitch_and_width(func, values)) is not None:
            pairs[pair] = None
    alone = [attribute(at, found[at]) for at in sorted(found)]
    alone += [move(at, moves[at]) for at in sorted(moves)]
    return ArrayAttr([*alone, *(relation(*pair) for pair in sorted(pairs))])


def move(argument: int, multiple: int) -> DictionaryAttr:
    """Return as an attribute that an argument keeps a base aligned that it moves."""
    return DictionaryAttr(
        {
            "argument": IntegerAttr(argument, i64),
            "what": StringAttr("value"),
            "multiple_of": IntegerAttr(multiple, i64),
            "why": StringAttr("base of a surface, which it moves"),
        }
    )


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
    known = {"pitch": constant_of(pitch), "width": constant_of(width)}
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


def relation(pitch: int, width: int) -> DictionaryAttr:
    """Return as an attribute that a pitch is no less than a width."""
    return DictionaryAttr(
        {
            "argument": IntegerAttr(pitch, i64),
            "what": StringAttr("value"),
            "at_least_argument": IntegerAttr(width, i64),
            "why": StringAttr("pitch of a surface, at least its width"),
        }
    )


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


def attribute(argument: int, rule: Rule) -> DictionaryAttr:
    """Return one condition as an attribute."""
    is_address = rule.part == "base"
    entries: dict[str, Attribute] = {
        "argument": IntegerAttr(argument, i64),
        "what": StringAttr("address" if is_address else "value"),
        "multiple_of": IntegerAttr(rule.multiple_of, i64),
        "why": StringAttr(f"{rule.part} of a surface"),
    }
    if rule.at_least:
        entries["at_least"] = IntegerAttr(rule.at_least, i64)
    if rule.less_than is not None:
        entries["less_than"] = IntegerAttr(rule.less_than, i64)
    return DictionaryAttr(entries)
