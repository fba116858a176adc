"""Turn one value into several, through control flow, functions and a pass's own rules.

    v   ->   v[0], v[1], ..., v[n - 1]

A pass says what each value becomes (`Parts`) and has a rule for each operation of its
own; loops, branches, selections, calls and functions are done here:

    %r = scf.for ... iter_args(%x = %v) -> (T)
    %r:2 = scf.for ... iter_args(%x0 = %v0, %x1 = %v1) -> (T0, T1)

First everything is checked, then everything is rewritten: a value in an operation
that nobody has a rule for is an error that leaves the IR as it was.  Each operation is
looked at once.  New operations stand where the old one stood, with its location, and
values keep their names with a suffix for each part.

Laws (`test_one_to_many.py`): parts that are the value itself leave the IR as it is;
each part computes what its part of the value was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, TypeAlias

from xdsl.dialects.arith import SelectOp
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.ir.builder import Builder, Built
from coopc.ir.control_flow import (
    TRANSPARENT,
    Functions,
    block_arguments,
    callee,
    defined_by,
    functions,
    links,
    returns,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """What one value becomes."""

    types: tuple[Attribute, ...]
    """The types of the parts."""
    suffixes: tuple[str, ...] = ()
    """What the names of the parts end in; `_p0`, `_p1`, ... where it is empty.

    xDSL drops an underscore with digits from the end of a name."""

    def __post_init__(self) -> None:
        if self.suffixes and len(self.suffixes) != len(self.types):
            raise ValueError(
                f"expected a suffix for each of {len(self.types)} parts, "
                f"got {len(self.suffixes)}"
            )

    def suffix(self, part: int) -> str:
        if len(self.types) == 1:
            return ""
        return self.suffixes[part] if self.suffixes else f"_p{part}"


@dataclass(slots=True)
class Splitter(Builder):
    """Builds in front of the operation of a rule, and knows the parts of values."""

    known: dict[SSAValue, tuple[SSAValue, ...]] = field(default_factory=lambda: {})

    def parts(self, value: SSAValue) -> tuple[SSAValue, ...]:
        """Return what a value has become; the value itself where it was left alone."""
        return self.known.get(value, (value,))


Results: TypeAlias = Sequence[Sequence[SSAValue]]
"""The parts of each result of an operation."""
Rule: TypeAlias = Callable[[Any, Splitter], Results]
"""From an operation to the parts of each of its results.

It inserts what it needs and leaves the operation, which is erased later.  What it
cannot do has to be refused before `split_values`, or by `Refused` in a transaction.
Rules share what they build, as `Built` says."""


def split_values(
    root: Operation,
    parts: Mapping[SSAValue, Parts],
    rules: Mapping[type[Operation], Rule],
    unroll: bool = False,
) -> None:
    """Replace each value of `parts` in `root` by its parts.

    Args:
        root: a module, or an operation in it that holds all users of the values.
        parts: for values that control flow makes one, the same parts.
        rules: by operation; not for those of `scf`, `func` and `arith.select`.
        unroll: whether rules write loops out.

    Raises:
        PassFailedException: where an operation takes or gives such a value and has no
            rule; nothing is changed then.
    """
    changed = {
        value: becomes
        for value, becomes in parts.items()
        if becomes.types != (value.type,)
    }
    if not changed:
        return
    known = functions(root)
    touched: list[Operation] = []
    for op in root.walk():
        values = [*op.operands, *defined_by(op)]
        if isinstance(op, FuncOp):
            values += [value for end in returns(op) for value in end.arguments]
        if any(value in changed for value in values):
            has_rule = type(op) in rules or isinstance(op, FuncOp)
            if not has_rule and (reason := _refusal(op, changed, known)):
                op.emit_error(reason, PassFailedException(reason))
            touched.append(op)
    _Rewrite(changed, rules, touched, unroll).run()


@dataclass(slots=True)
class _Rewrite:
    """The second phase, in which nothing fails."""

    changed: Mapping[SSAValue, Parts]
    rules: Mapping[type[Operation], Rule]
    touched: Sequence[Operation]
    """What has these values, definitions before uses."""
    unroll: bool
    built: Built = field(default_factory=Built)
    new: dict[SSAValue, tuple[SSAValue, ...]] = field(default_factory=lambda: {})

    def run(self) -> None:
        for op in self.touched:
            self._replace(op)
        for op in reversed(self.touched):  # uses before definitions
            if not isinstance(op, FuncOp):
                Rewriter.erase_op(op)
        for old in reversed(self.new):
            if isinstance(old, BlockArgument):
                old.block.erase_arg(old)

    def _replace(self, op: Operation) -> None:
        """Insert what an operation and its blocks' arguments become."""
        if isinstance(op, FuncOp):
            self._split_signature(op)
        for argument in tuple(block_arguments(op)) if op.regions else ():
            if argument in self.changed:
                insert, location = argument.block.insert_arg, argument.location
                types = self.types(argument)
                new = [insert(type, argument.index, location) for type in types]
                self._become(argument, new)
        if not isinstance(op, FuncOp):
            rule = self.rules.get(type(op), self._pass_on)
            b = Splitter.at(op, self.built, self.unroll)
            b.known = self.new
            results = rule(op, b)
            for old, new in zip(op.results, results, strict=True):
                self._become(old, new)

    def types(self, value: SSAValue) -> tuple[Attribute, ...]:
        parts = self.changed.get(value)
        return (value.type,) if parts is None else parts.types

    def _split_signature(self, func: FuncOp) -> None:
        """Give a function the type that its arguments and results will have."""
        inputs = [self.types(argument) for argument in func.args]
        outputs = [(type,) for type in func.function_type.outputs.data]
        for end in returns(func):
            outputs = [self.types(value) for value in end.arguments]
        func.function_type = FunctionType.from_lists(
            tuple(chain.from_iterable(inputs)), tuple(chain.from_iterable(outputs))
        )
        if func.arg_attrs is not None:
            func.arg_attrs = _repeated(func.arg_attrs, inputs)
        if func.res_attrs is not None:
            func.res_attrs = _repeated(func.res_attrs, outputs)

    def _pass_on(self, op: Operation, b: Splitter) -> Results:
        """Insert an operation on the parts of its values, around the same regions."""
        if isinstance(op, SelectOp):
            pairs = zip(b.parts(op.lhs), b.parts(op.rhs), strict=True)
            return [[b.effect(SelectOp(op.cond, *x)).result for x in pairs]]
        operands = [part for old in op.operands for part in b.parts(old)]
        types = [self.types(result) for result in op.results]
        new = b.effect(
            type(op).create(
                operands=operands,
                result_types=tuple(chain.from_iterable(types)),
                properties=dict(op.properties),
                attributes=dict(op.attributes),
                successors=op.successors,
                regions=[op.detach_region(region) for region in tuple(op.regions)],
            )
        )
        results = iter(new.results)
        return [tuple(islice(results, len(parts))) for parts in types]

    def _become(self, old: SSAValue, new: Sequence[SSAValue]) -> None:
        """Note what a value becomes, and name it after that where it has no name."""
        parts = self.changed.get(old)
        several = len(set(new)) > 1
        for part, value in enumerate(new):
            if old.name_hint is not None and value.name_hint is None:
                suffix = parts.suffix(part) if several and parts is not None else ""
                value.name_hint = old.name_hint + suffix
        if parts is None:
            old.replace_all_uses_with(new[0])
        else:
            self.new[old] = tuple(new)


def _refusal(
    op: Operation,
    changed: Mapping[SSAValue, Parts],
    known: Functions,
) -> str | None:
    """Say why a value in `op`, which has no rule, cannot be split; None if it can."""
    if isinstance(op, CallOp) and callee(op, known) is None:
        return f"cannot split what is passed to @{op.callee.string_value()}: no body"
    if type(op) not in TRANSPARENT and not isinstance(op, SelectOp):
        values = (x for x in (*op.operands, *op.results) if x in changed)
        kind = next((value.type for value in values), "the arguments of a region")
        return f"cannot split {kind} here"
    for group in links(op, known):
        found = {changed[value].types if value in changed else () for value in group}
        assert len(found) == 1, (op, found)
    return None


def _repeated(
    attributes: ArrayAttr[DictionaryAttr], types: Sequence[Sequence[Attribute]]
) -> ArrayAttr[DictionaryAttr]:
    """Return the attributes of each argument, for each of its parts."""
    return ArrayAttr(
        attribute
        for attribute, parts in zip(attributes, types, strict=True)
        for _ in parts
    )
