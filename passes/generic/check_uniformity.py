"""check-uniformity: rejects collective operations in divergent control flow.

Before:  any IR that verifies.
After:   the same.
Fails:   if a collective operation of a subgroup or work-group is in divergent control
         flow, or has a position, memref or scalar that is not uniform; for invalid
         attributes of kernels.

`coopmatrix.extract` and `insert`, and operations of a single work-item, may stand
anywhere.  `coopc.ir.uniformity` is the analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from coopc.dialects import coopmatrix, simt
from coopc.dialects.traits import Collective
from coopc.ir.control_flow import enclosing
from coopc.ir.uniformity import Uniformity, Variation
from coopc.xdsl_gaps import note_at

WHO = {
    Variation.NONE: "all work-items of the work-group",
    Variation.PAIRS: "both subgroups of the pair",
    Variation.SUBGROUPS: "all lanes of the subgroup",
}
"""For whom something is the same that varies as the key says, at most."""

BETWEEN = {
    Variation.PAIRS: "differs between subgroups",
    Variation.SUBGROUPS: "differs between subgroups",
    Variation.LANES: "may differ between lanes",
}


def check_uniformity(module: ModuleOp) -> None:
    """Check all operations of `module`.

    Raises:
        VerifyException: Blaming an operation that not all of its scope run, or not
            with the same operands; or a kernel whose attributes are wrong.
    """
    for _ in simt.kernels(module):
        pass  # read, and so checked, also where nothing is collective
    collective = [op for op in module.walk() if op.has_trait(Collective)]
    if not collective:
        return
    found = Uniformity(module)
    for op in collective:
        check_op(op, found)


def check_op(op: Operation, found: Uniformity) -> None:
    """Check the control flow around `op` and those of its operands that matter."""
    most = allowed(op)
    if (around := found.around(op)) > most:
        message = (
            f"expected control flow that is the same for {WHO[most]}, "
            f"got control flow that {BETWEEN[around]}"
        )
        error = VerifyException(message)
        if (cause := found.cause(op)) is not None:
            note_at(error, cause, f"it depends on this {cause.name}")
        op.emit_error(message, error)
    for name, value in uniform_operands(op):
        if (variation := found.of(value)) > most:
            message = (
                f"expected {name} to be the same for {WHO[most]}, "
                f"got a value that {BETWEEN[variation]}"
            )
            op.emit_error(message, VerifyException(message))


def allowed(op: Operation) -> Variation:
    """How far the control flow around `op` may vary: its scope's members agree.

    A work-group of one subgroup is that subgroup.
    """
    most = allowed_by_scope(op)
    if most >= Variation.SUBGROUPS:
        return most
    function = enclosing(op, FuncOp)
    if function is None or simt.KERNEL not in function.attributes:
        return most
    kernel = simt.kernel_of(function)
    alone = kernel.subgroup_size == prod(kernel.work_group_size)
    return Variation.SUBGROUPS if alone else most


def allowed_by_scope(op: Operation) -> Variation:
    """How far it may vary in a work-group of several subgroups."""
    if isinstance(op, simt.WaitingOp):
        subgroup = op.scope.data is simt.FenceScope.SUBGROUP
        return Variation.SUBGROUPS if subgroup else Variation.NONE
    if op.name == "xe.split_dpas":
        return Variation.PAIRS
    most = Variation.SUBGROUPS
    if isinstance(op, coopmatrix.AccessOp):
        return of_scope(op.matrix)
    for value in (*op.operands, *op.results):
        if isinstance(value.type, coopmatrix.MatrixType):
            most = min(most, of_scope(value.type))
    return most


def of_scope(type: coopmatrix.MatrixType) -> Variation:
    """How far a matrix may vary, from its scope; a named one is a subgroup's."""
    scope = type.scope
    match scope.data if isinstance(scope, coopmatrix.ScopeAttr) else None:
        case None | coopmatrix.Scope.SUBGROUP:
            return Variation.SUBGROUPS
        case coopmatrix.Scope.INVOCATION:
            return Variation.LANES
        case _:
            return Variation.NONE


def uniform_operands(op: Operation) -> Sequence[tuple[str, SSAValue]]:
    """The operands of `op` that all of its scope must give alike, with their names."""
    match op:
        case coopmatrix.AccessOp():
            return accessed(op.memory, op.positions)
        case coopmatrix.FillOp():
            return (("the value", op.value),)
        case coopmatrix.ScaleOp():
            return (("the scalar", op.scalar),)
        case simt.BroadcastOp():
            return (("the lane", op.lane),)
        case simt.BlockReadOp() | simt.BlockWriteOp():
            return accessed(op.memory, op.positions)
        case _ if op.name == "xe.block_load":
            # Here alone: numpy comes with xe, and every pipeline runs this pass.
            from coopc.dialects.xe import BlockLoadOp

            assert isinstance(op, BlockLoadOp)
            guard = () if op.guard is None else (("the guard", op.guard),)
            return (("the base", op.base), ("the offset", op.offset), *guard)
        case _:
            return ()


def accessed(
    memory: SSAValue, positions: Sequence[SSAValue]
) -> tuple[tuple[str, SSAValue], ...]:
    """A memref and the positions in it, with their names."""
    named = ((f"position {n}", value) for n, value in enumerate(positions))
    return (("the memref", memory), *named)


class CheckUniformityPass(ModulePass):
    name = "check-uniformity"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_uniformity(op)
