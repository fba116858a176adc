"""narrow-matrix-scope: gives matrices of one-subgroup work-groups subgroup scope.

Before:  matrices of scope `workgroup`.
After:   matrices of scope `subgroup`.  All are unchanged if one may be in a work-group
         of several subgroups, or of an unknown number.
Fails:   never.

    !coopmatrix.matrix<8x8xf32, acc, scope = workgroup>
->  !coopmatrix.matrix<8x8xf32, acc>

Only `coopc-amx` and `coopc-cpu`, and `coopc-khr` for devices that list them, have
matrices of several subgroups.  The mapping of elements to work-items is unspecified
before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from coopc.dialects import simt
from coopc.dialects.coopmatrix import MatrixType, Scope, ScopeAttr
from coopc.ir.control_flow import (
    defined_by,
    function_around,
    functions,
    reached,
    retype,
)

SUBGROUP, WORKGROUP = ScopeAttr(Scope.SUBGROUP), ScopeAttr(Scope.WORKGROUP)


@dataclass(frozen=True)
class NarrowMatrixScopePass(ModulePass):
    name = "narrow-matrix-scope"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = [each for each in op.walk() if _is_wide(each)]
        if not is_of_single_subgroups(op, found):
            return
        for each in found:
            retype(each, narrowed)


def is_of_single_subgroups(module: ModuleOp, wide: Iterable[Operation]) -> bool:
    """Whether operations run only in kernels whose work-group is one subgroup."""
    known, found = functions(module), set[FuncOp]()
    holders = {function_around(op) for op in wide}
    for kernel in simt.kernels(module):
        inside = set(reached(kernel.func, known))
        found |= inside
        # Without either size, a work-group is one subgroup of the device's size.
        may_be_several = (
            simt.WORK_GROUP_SIZE in kernel.func.attributes
            if kernel.subgroup_size is None
            else kernel.subgroups > 1
        )
        if may_be_several and not holders.isdisjoint(inside):
            return False
    return holders <= found


def narrowed(type: Attribute) -> Attribute:
    """Return a matrix of a work-group as one of a subgroup; others as they are."""
    if not isinstance(type, MatrixType) or type.scope != WORKGROUP:
        return type
    return type.with_scope(SUBGROUP)


def _types(op: Operation) -> Iterator[Attribute]:
    yield from (value.type for value in (*op.operands, *defined_by(op)))
    yield from op.properties.values()
    if isinstance(op, FuncOp):
        yield from (*op.function_type.inputs, *op.function_type.outputs)


def _is_wide(op: Operation) -> bool:
    return any(narrowed(type) is not type for type in _types(op))
