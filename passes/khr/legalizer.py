"""Rewrites operations of one module as was decided, and holds what they share.

Each function has its work-group memory, made when something first goes there.
"""

from dataclasses import dataclass, field

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.passes.khr.code import Code
from coopc.passes.khr.coordinates import Coordinates
from coopc.passes.khr.decisions import Decision, is_held
from coopc.passes.khr.elements import element_loop, fill_loop
from coopc.passes.khr.held import Held
from coopc.passes.khr.scratch import Scratch
from coopc.passes.khr.staged_memory import staged_load, staged_store
from coopc.passes.khr.staged_values import staged_apply, staged_conversion


@dataclass(slots=True)
class Legalizer:
    """The rewriting of one module."""

    module: ModuleOp
    device: devices.Device
    holds: bool = True
    """Whether matrices of types that the device lacks stay in memory."""
    _held: dict[FuncOp, Held] = field(default_factory=dict[FuncOp, Held])
    _coordinates: dict[FuncOp, Coordinates] = field(
        default_factory=dict[FuncOp, Coordinates]
    )

    def is_held(self, type: Attribute) -> bool:
        """Whether values of a type stay in memory."""
        is_matrix = isinstance(type, MatrixType)
        return self.holds and is_matrix and is_held(type, self.device)

    def rewrite(self, decision: Decision) -> None:
        """Insert what an operation becomes before it."""
        op = decision.op
        code = Code(InsertPoint.before(op))
        result: SSAValue | None
        match decision.form:
            case "elements" if isinstance(op, coopmatrix.FillOp):
                result = fill_loop(op, code)
            case "elements":
                result = element_loop(op, code)
            case "staged":
                result = self._staged(op, code)
            case "memory":
                result = self._held_of(op).lower(op, code)
            case _:
                return
        if result is not None:
            result.name_hint = op.results[0].name_hint
            op.results[0].replace_all_uses_with(result)

    def _staged(self, op: Operation, code: Code) -> SSAValue | None:
        scratch = self._held_of(op).scratch
        match op:
            case coopmatrix.LoadOp():
                return staged_load(op, code, scratch)
            case coopmatrix.StoreOp():
                staged_store(op, code, scratch)
                return None
            case coopmatrix.ApplyOp():
                return staged_apply(op, code, scratch)
            case coopmatrix.ConvertOp() | coopmatrix.BitcastOp():
                return staged_conversion(op, code, scratch)
            case (
                coopmatrix.AtomicOp()
                | coopmatrix.MulAddOp()
                | coopmatrix.ExtractRowSliceOp()
                | coopmatrix.InsertRowSliceOp()
            ):
                return self._held_of(op).lower(op, code)
            case coopmatrix.CoordOp():
                func = scratch.func
                known = self._coordinates
                known.setdefault(func, Coordinates(scratch)).lower(op, code)
                return None
            case _:
                raise AssertionError(f"{op.name} has no staged form")

    def _held_of(self, op: Operation) -> Held:
        """What the function of an operation has in work-group memory."""
        around: Operation | None = op
        while not isinstance(around, FuncOp):
            assert around is not None, op
            around = around.parent_op()
        if (found := self._held.get(around)) is None:
            lanes, subgroups = self._sizes()
            found = self._held[around] = Held(
                Scratch(around, self.device, lanes, subgroups),
                self.is_held,
            )
        return found

    def _sizes(self) -> tuple[int, int]:
        """Lanes of a subgroup, and subgroups of the largest work-group."""
        kernels = list(simt.kernels(self.module))
        for kernel in kernels:
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


def _settle(kernel: simt.Kernel, device: devices.Device) -> None:
    """Write down the subgroup size that the device gives a kernel."""
    attributes, size = kernel.func.attributes, device.subgroup_size
    attributes[simt.SUBGROUP_SIZE] = IntegerAttr(size, i32)
    if simt.WORK_GROUP_SIZE not in attributes:
        sizes = DenseArrayBase.from_list(i32, [size])
        attributes[simt.WORK_GROUP_SIZE] = sizes
