"""narrow-matrix-scope: gives matrices of a work-group that is one subgroup its scope.

Before:  matrices of scope `workgroup`.
After:   matrices of scope `subgroup`; the other matrices stay.
Fails:   where a work-group that holds such a matrix has several subgroups, or how many
         is unknown. The module is then unchanged.

    !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
->  !coopmatrix.matrix<8x8xf32, acc>

Engines have matrices of a subgroup.  Which elements a work-item owns is open before and
after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import simt
from coopc.dialects.coopmatrix import MatrixType, Scope, ScopeAttr
from coopc.ir.control_flow import (
    Functions,
    callee,
    defined_by,
    function_around,
    functions,
)
from coopc.ir.transaction import Refused


@dataclass(frozen=True)
class NarrowMatrixScopePass(ModulePass):
    """Give matrices of a work-group that is one subgroup the scope of a subgroup."""

    name = "narrow-matrix-scope"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [each for each in op.walk() if _is_wide(each)]
        try:
            check(op, found)
        except Refused as error:
            error.report()
        for each in found:
            _narrow(each)


def check(module: ModuleOp, wide: Iterable[Operation]) -> None:
    """Check that operations on matrices of a work-group run in single subgroups.

    Raises:
        Refused: one of them may not.
    """
    known = functions(module)
    first: dict[FuncOp, Operation] = {}
    for op in sorted(wide, key=lambda op: isinstance(op, FuncOp)):
        first.setdefault(function_around(op), op)
    if not first:
        return
    reached = set[FuncOp]()
    for kernel in simt.kernels(module):
        inside = reach(kernel.func, known)
        reached |= inside
        reason = why_several(kernel)
        for func, op in first.items():
            if func in inside and reason is not None:
                raise Refused(op, reason)
    for func, op in first.items():
        if func not in reached:
            raise Refused(
                op,
                "expected a matrix of scope workgroup in a kernel, or in a function "
                "that a kernel calls: no kernel says that its work-group is one "
                "subgroup",
            )


def why_several(kernel: simt.Kernel) -> str | None:
    """Return why the work-groups of a kernel may not be one subgroup each."""
    expected = (
        "expected a work-group of one subgroup around a matrix of scope workgroup"
    )
    if kernel.subgroup_size is None and simt.WORK_GROUP_SIZE in kernel.func.attributes:
        return (
            f"{expected}, got {kernel.work_items} work-items in @{kernel.name} without "
            f"{simt.SUBGROUP_SIZE}"
        )
    if kernel.subgroups > 1:
        return f"{expected}, got {kernel.subgroups} subgroups in @{kernel.name}"
    return None


def reach(func: FuncOp, known: Functions) -> set[FuncOp]:
    """Return a function and those that it calls, through others too."""
    found, todo = {func}, [func]
    while todo:
        calls = (op for op in todo.pop().walk() if isinstance(op, CallOp))
        called = {each for op in calls if (each := callee(op, known)) is not None}
        todo += called - found
        found |= called
    return found


def narrowed(type: Attribute) -> Attribute:
    """Return a matrix of a work-group as one of a subgroup; others as they are."""
    if not isinstance(type, MatrixType) or type.scope != ScopeAttr(Scope.WORKGROUP):
        return type
    sizes, scope = (type.rows, type.cols), ScopeAttr(Scope.SUBGROUP)
    return MatrixType(*sizes, type.element_type, type.use, scope, type.use_name)


def _types(op: Operation) -> Iterator[Attribute]:
    yield from (value.type for value in (*op.operands, *defined_by(op)))
    yield from op.properties.values()
    if isinstance(op, FuncOp):
        yield from (*op.function_type.inputs, *op.function_type.outputs)


def _is_wide(op: Operation) -> bool:
    return any(narrowed(type) is not type for type in _types(op))


def _narrow(op: Operation) -> None:
    """Change the types of what an operation makes, and those that it names."""
    for value in tuple(defined_by(op)):
        if (type := narrowed(value.type)) is not value.type:
            new = Rewriter.replace_value_with_new_type(value, type)
            if isinstance(value, BlockArgument) and isinstance(new, BlockArgument):
                new.location = value.location
    for name, attribute in op.properties.items():
        op.properties[name] = narrowed(attribute)
    if isinstance(op, FuncOp):
        types = op.function_type
        inputs, outputs = map(narrowed, types.inputs), map(narrowed, types.outputs)
        op.function_type = FunctionType.from_lists(tuple(inputs), tuple(outputs))
