"""Where values flow through control flow: loops, branches, selections and calls.

What `coopc.ir.split_values` knows of `scf`, `func` and `arith.select`, so that the
passes on it need rules for their own operations alone.

>>> from xdsl.dialects.scf import ForOp
>>> ForOp in TRANSPARENT
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from xdsl.dialects import scf
from xdsl.dialects.arith import SelectOp
from xdsl.dialects.builtin import FunctionType, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.ir.transaction import Refused

OpT = TypeVar("OpT", bound=Operation)

TRANSPARENT: frozenset[type[Operation]] = frozenset(
    {
        CallOp,
        scf.ConditionOp,
        scf.ExecuteRegionOp,
        scf.ForOp,
        scf.IfOp,
        scf.IndexSwitchOp,
        ReturnOp,
        scf.WhileOp,
        scf.YieldOp,
    }
)
"""Operations that only pass values on.

Each has at most one list of operands, after the others: where one value becomes
several, so do the operand and the result in its place."""

Functions = dict[str, FuncOp]
"""The functions of a module, by name."""


def functions(root: Operation) -> Functions:
    """Return the functions directly in `root`, by name."""
    return {
        op.sym_name.data: op
        for region in root.regions
        for block in region.blocks
        for op in block.ops
        if isinstance(op, FuncOp)
    }


def free_name(root: Operation, name: str, *endings: str) -> str:
    """Return a name that no function in `root` has, with a number if it must.

    Args:
        root: a module.
        name: the name without a number.
        endings: what names are made of it by; the name itself without any.
    """
    taken = {op.sym_name.data for op in root.walk() if isinstance(op, FuncOp)}
    found, number = name, 0
    while any(found + ending in taken for ending in endings or ("",)):
        number += 1
        found = f"{name}_{number}"
    return found


def callee(call: CallOp, known: Functions) -> FuncOp | None:
    """Return the function that is called; None where its body is not known."""
    func = known.get(call.callee.string_value())
    around = enclosing(call, FuncOp)
    if func is None or func.is_declaration or around is None:
        return None
    return func if around.parent is func.parent else None


def reached(func: FuncOp, known: Functions) -> Iterator[FuncOp]:
    """Yield a function and those that it calls, through others too."""
    found, todo = {func}, [func]
    while todo:
        yield (each := todo.pop())
        calls = (op for op in each.walk() if isinstance(op, CallOp))
        called = {x for op in calls if (x := callee(op, known)) is not None}
        todo += called - found
        found |= called


def inline_calls(
    callers: Iterable[Operation],
    called: Callable[[Operation], Operation | None],
    around: tuple[Operation, ...] = (),
) -> set[Operation]:
    """Inline what functions call, callees first.

    Args:
        callers: the functions.
        called: from an operation to the function whose body replaces it, or None.
        around: functions that are being inlined into.

    Returns:
        the functions that were inlined.

    Raises:
        Refused: a function calls itself, through others too, or has several blocks.
    """
    found: set[Operation] = set()
    for caller in callers:
        inside = (*around, caller)
        for call in list(caller.walk()):
            if (func := called(call)) is None:
                continue
            name, (body,) = func.properties["sym_name"], func.regions
            assert isinstance(name, StringAttr), func
            if func in inside:
                what = f"@{name.data} calls itself"
                raise Refused(call, f"recursion is not supported: {what}")
            if (count := len(body.blocks)) != 1:
                got = f"{count} in @{name.data}"
                raise Refused(call, f"expected a function of one block, got {got}")
            found |= {func, *inline_calls([func], called, inside)}
            _inline_call(call, func)
    return found


def _inline_call(call: Operation, callee: Operation) -> None:
    """Replace a call by a copy of the body of a function, which has one block."""
    block = callee.clone().regions[0].detach_block(0)
    last = block.last_op
    assert last is not None, callee
    last.detach()
    Rewriter.inline_block(block, InsertPoint.before(call), call.operands)
    for old, new in zip(call.results, last.operands, strict=True):
        if new.name_hint is None:
            new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    last.erase()
    Rewriter.erase_op(call)


def block_arguments(op: Operation) -> Iterator[BlockArgument]:
    """Yield what the blocks directly in an operation take."""
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def captured(region: Region) -> list[SSAValue]:
    """Return what a region uses from outside, each once, in order."""
    found = (value for op in region.walk() for value in op.operands)
    return [x for x in dict.fromkeys(found) if not region.is_ancestor(x.owner)]


def returns(func: FuncOp) -> Iterator[ReturnOp]:
    for block in func.body.blocks:
        if isinstance(op := block.last_op, ReturnOp):
            yield op


def why_not_structured(func: FuncOp) -> str | None:
    """Return why the control flow of a function is not that of `scf`, or None."""
    regions = (region for op in func.walk() for region in op.regions)
    if all(len(region.blocks) <= 1 for region in regions):
        return None
    return "expected structured control flow, got several blocks"


def defined_by(op: Operation) -> Iterator[SSAValue]:
    """Yield the results of an operation, and the arguments of the blocks in it."""
    yield from op.results
    if op.regions:
        yield from block_arguments(op)


def definer(value: SSAValue) -> Operation | None:
    """Return the operation whose result a value is, or whose block takes it."""
    owner = value.owner
    return owner.parent_op() if isinstance(owner, Block) else owner


def block_of(value: SSAValue) -> Block | None:
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent


def retype(op: Operation, of: Callable[[Attribute], Attribute]) -> None:
    """Change the types of what an operation makes, and those that it names.

    Args:
        op: the operation, without those in it.
        of: from a type to what it becomes, which may be itself.
    """
    for value in tuple(defined_by(op)):
        if (type := of(value.type)) is not value.type:
            new = Rewriter.replace_value_with_new_type(value, type)
            if isinstance(value, BlockArgument) and isinstance(new, BlockArgument):
                new.location = value.location
    for name, attribute in op.properties.items():
        if isinstance(attribute, FunctionType):
            types = [*map(of, attribute.inputs)], [*map(of, attribute.outputs)]
            op.properties[name] = FunctionType.from_lists(*types)
        else:
            op.properties[name] = of(attribute)


def uses_dialect(module: Operation, dialect: str) -> bool:
    """Whether a module has operations of a dialect, so that its passes are needed."""
    return any(op.dialect_name() == dialect for op in module.walk())


def links(op: Operation, known: Functions) -> Iterator[tuple[SSAValue, ...]]:
    """Yield groups of values that are one value, as it goes through `op`."""
    match op:
        case scf.ForOp():
            carried, ends = op.body.block.args[1:], yielded(op.body)
            yield from zip(op.iter_args, carried, ends, op.res, strict=True)
        case scf.WhileOp():
            before, after = op.before_region, op.after_region
            yield from zip(op.arguments, before.block.args, yielded(after), strict=True)
            passed = yielded(before)[1:]
            yield from zip(passed, after.block.args, op.res, strict=True)
        case scf.IfOp() | scf.ExecuteRegionOp() | scf.IndexSwitchOp():
            for block in (block for region in op.regions for block in region.blocks):
                if isinstance(end := block.last_op, scf.YieldOp):
                    yield from zip(op.results, end.operands, strict=True)
        case SelectOp():
            yield op.lhs, op.rhs, op.result
        case CallOp():
            if (func := callee(op, known)) is not None:
                yield from zip(op.arguments, func.args, strict=True)
                for end in returns(func):
                    yield from zip(op.res, end.arguments, strict=True)
        case _:
            pass


def carry_only(loop: scf.ForOp, kept: Sequence[int]) -> scf.ForOp:
    """Insert a loop with the body of another one, which carries some values alone.

    Nothing in the body may use the others.
    """
    body, start = loop.body.block, loop.iter_args
    last = body.last_op
    assert isinstance(last, scf.YieldOp), loop
    last.operands = [last.arguments[at] for at in kept]
    for at in reversed(range(len(start))):
        if at not in kept:
            body.erase_arg(body.args[1 + at])
    carried = [start[at] for at in kept]
    region = loop.detach_region(loop.body)
    new = scf.ForOp(loop.lb, loop.ub, loop.step, carried, region)
    new.location, new.attributes = loop.location, dict(loop.attributes)
    Rewriter.insert_op(new, InsertPoint.before(loop))
    return new


def yielded(region: Region) -> Sequence[SSAValue]:
    """Return the operands of the operation that ends a region, a single block."""
    end = region.block.last_op
    return () if end is None else end.operands


def enclosing(op: Operation, kind: type[OpT]) -> OpT | None:
    """Return the innermost operation of a class that an operation is in, or is."""
    found: Operation | None = op
    while found is not None and not isinstance(found, kind):
        found = found.parent_op()
    return found


def function_around(op: Operation) -> FuncOp:
    """Return the function that an operation is in, or is."""
    found = enclosing(op, FuncOp)
    assert found is not None, op
    return found


def kernel_around(op: Operation) -> FuncOp | None:
    """Return the kernel that an operation is in, or None where it is in none."""
    func = function_around(op)
    return func if simt.KERNEL in func.attributes else None


def is_inside(value: SSAValue, loop: scf.ForOp) -> bool:
    return loop.body.block.is_ancestor(value.owner)


_ON_MATRICES = frozenset[type[Operation]](coopmatrix.OPERATIONS)


def has_matrices(func: FuncOp, known: Functions) -> bool:
    """Whether a function, or one that it calls, has operations on matrices."""
    return any(
        op.__class__ in _ON_MATRICES
        for each in reached(func, known)
        for op in each.walk()
    )
