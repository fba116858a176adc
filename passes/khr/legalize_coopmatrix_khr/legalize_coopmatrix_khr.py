"""legalize-coopmatrix-khr: expands what SPV_KHR_cooperative_matrix does not have.

Before:  coopmatrix operations on tiles that the device has.
After:   the operations that are instructions on the device; loops over elements, and
         work-group memory with barriers, for the others, as `coopc.plan.khr_table`
         decides.
Fails:   where the table refuses an operation on the device, with the reason; for
         unknown devices. The module is then unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType, matrix_type
from coopc.ir.builder import Builder, Values
from coopc.ir.control_flow import (
    defined_by,
    function_around,
    functions,
    why_not_structured,
)
from coopc.ir.device_option import device_of
from coopc.ir.split_values import Parts, Splitter, split_values
from coopc.passes.coopmatrix.elementwise import (
    elementwise,
    fill_value,
    filled,
    over_slots,
)
from coopc.passes.khr.legalize_coopmatrix_khr.decisions import (
    Decision,
    decide,
    decide_products,
    is_spilled,
    slow_ways,
)
from coopc.passes.khr.legalize_coopmatrix_khr.shared_memory import (
    CoordinateMatrices,
    SharedMemory,
)
from coopc.passes.khr.legalize_coopmatrix_khr.spilled_matrices import SpilledMatrices
from coopc.passes.khr.legalize_coopmatrix_khr.staged_memory import where_inside
from coopc.remarks import remark


@dataclass(slots=True)
class Legalizer:
    """The rewriting of one module; a function has its work-group memory when needed."""

    module: ModuleOp
    device: devices.Device
    spills: bool = True
    """Whether matrices of types that the device lacks stay in memory."""
    _spilled: dict[FuncOp, SpilledMatrices] = field(
        default_factory=dict[FuncOp, SpilledMatrices]
    )
    _coordinates: dict[FuncOp, CoordinateMatrices] = field(
        default_factory=dict[FuncOp, CoordinateMatrices]
    )

    def is_spilled(self, type: Attribute) -> bool:
        """Whether values of a type stay in memory."""
        is_matrix = isinstance(type, MatrixType)
        return self.spills and is_matrix and is_spilled(type, self.device)

    def rewrite(self, decision: Decision) -> None:
        """Insert what an operation becomes before it."""
        op, b = decision.op, Builder.at(decision.op)
        result: SSAValue | None
        match decision.form:
            case "elements" if isinstance(op, coopmatrix.FillOp):
                result = filled(b, matrix_type(op.result), fill_value(b, op))
            case "elements":
                result = _by_slots(b, op)
            case "staged":
                result = self._staged(b, op)
            case "memory":
                result = self._spilled_of(op).lower(b, op)
            case _:
                return
        if result is not None:
            result.name_hint = op.results[0].name_hint
            op.results[0].replace_all_uses_with(result)

    def _staged(self, b: Builder, op: Operation) -> SSAValue | None:
        spilled = self._spilled_of(op)
        match op:
            case coopmatrix.LoadOp() | coopmatrix.StoreOp():

                def staged() -> Values:
                    found = spilled.lower(b, op)
                    return () if found is None else (found,)

                return next(iter(where_inside(b, op, spilled.shared, staged)), None)
            case coopmatrix.CoordOp():
                matrices = CoordinateMatrices(spilled.shared)
                func = spilled.shared.func
                self._coordinates.setdefault(func, matrices).lower(b, op)
                return None
            case _:
                return spilled.lower(b, op)

    def _spilled_of(self, op: Operation) -> SpilledMatrices:
        """What the function of an operation has in work-group memory."""
        func = function_around(op)
        if (found := self._spilled.get(func)) is None:
            shared = SharedMemory(func, self.device, *self._sizes())
            found = self._spilled[func] = SpilledMatrices(shared, self.is_spilled)
        return found

    def _sizes(self) -> tuple[int, int]:
        """Lanes of a subgroup, and subgroups of the largest work-group."""
        for kernel in list(simt.kernels(self.module)):
            if kernel.subgroup_size is None:
                _settle(kernel, self.device)
        kernels = list(simt.kernels(self.module))
        lanes = {kernel.subgroup_size for kernel in kernels}
        if len(lanes) > 1:
            message = (
                "expected kernels of one subgroup size in a module whose matrices go "
                f"through work-group memory, got {sorted(x or 0 for x in lanes)}"
            )
            self.module.emit_error(message, PassFailedException(message))
        size = next(iter(lanes), None) or self.device.subgroup_size
        return size, max((kernel.subgroups for kernel in kernels), default=1)


def _by_slots(b: Builder, op: Operation) -> SSAValue:
    """Return what an operation of matrices of one type makes, element by element.

    Which elements a work-item owns does not matter: all matrices have them alike.
    """

    def one(slot: SSAValue, made: SSAValue) -> SSAValue:
        values = [
            b.pure(coopmatrix.ExtractOp, value, slot)
            if isinstance(value.type, MatrixType)
            else value
            for value in op.operands
        ]
        return b.pure(coopmatrix.InsertOp, elementwise(b, op, values), made, slot)

    return over_slots(b, op.operands[0], one)


def _settle(kernel: simt.Kernel, device: devices.Device) -> None:
    """Write down the subgroup size that the device gives a kernel."""
    attributes, size = kernel.func.attributes, device.subgroup_size
    attributes[simt.SUBGROUP_SIZE] = IntegerAttr(size, i32)
    if simt.WORK_GROUP_SIZE not in attributes:
        sizes = DenseArrayBase.from_list(i32, [size])
        attributes[simt.WORK_GROUP_SIZE] = sizes


def legalize(
    module: ModuleOp, device: devices.Device, products_only: bool = False
) -> None:
    """Rewrite a module for a device; or only multiplications of types that it lacks.

    Raises:
        PassFailedException: the device refuses an operation; nothing is changed then.
    """
    decide_on = decide_products if products_only else decide
    decisions = decide_on(module, device)
    for each in decisions:
        if each.form == "refused":
            each.op.emit_error(each.reason, PassFailedException(each.reason))
    for func in functions(module).values():
        if (reason := why_not_structured(func)) and any(
            func.is_ancestor(each.op) for each in decisions if each.form != "native"
        ):
            func.emit_error(reason, PassFailedException(reason))
    for op, text in slow_ways(decisions, device):
        remark(op, text)
    # Products alone leave matrices, for what comes next to cut them.
    legalizer = Legalizer(module, device, spills=not products_only)
    for each in decisions:
        legalizer.rewrite(each)
    rewritten = [each.op for each in decisions if each.form != "native"]
    _drop(module, rewritten, legalizer)
    for op in reversed(rewritten):
        if op.parent is not None:
            Rewriter.erase_op(op)


def _drop(module: ModuleOp, ops: list[Operation], legalizer: Legalizer) -> None:
    """Take matrices that memory holds out of control flow, with what made them."""
    values = {
        value: Parts(())
        for op in ops
        for value in (*op.operands, *defined_by(op))
        if legalizer.is_spilled(value.type)
    }

    def rule(op: Operation, _: Splitter) -> list[tuple[SSAValue, ...]]:
        return [() if result in values else (result,) for result in op.results]

    own = {type(op): rule for op in ops if op.dialect_name() == "coopmatrix"}
    split_values(module, values, own)


@dataclass(frozen=True)
class LegalizeCoopmatrixKhrPass(ModulePass):
    """Turn operations into such as the device has instructions for."""

    name = "legalize-coopmatrix-khr"

    device: str | None = None
    """A device of `--list devices`; that of `simt.target` where it is absent."""

    products_only: bool = False
    """Whether only multiplications of types that the device lacks are rewritten: before
    `split-coopmatrix`, which cuts what is then loaded and stored."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        legalize(op, device_of(self.device, op, self.name), self.products_only)
