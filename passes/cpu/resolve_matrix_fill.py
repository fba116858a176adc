"""resolve-matrix-fill: expands fills that the device does not support into loops.

Before:  coopmatrix.fill with scalars of any type and with pointers.
After:   fills with +0 only, unless the device supports any value. A loop over
         coopmatrix.length inserts other values, which are loaded and converted first.
         Functions whose matrices are distributed over lanes keep their fills.
Fails:   for unknown devices.

    %m = coopmatrix.fill %v : i32 -> !M

    %zero = coopmatrix.fill %c0_i32 : i32 -> !M
    %n = coopmatrix.length !M : index
    %m = scf.for %i = %c0 to %n step %c1 iter_args(%it = %zero) -> (!M) {
      %next = coopmatrix.insert %v, %it[%i] : !M
      scf.yield %next : !M
    }

The result is the same under every distribution: the slots of all work-items together
are all elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import constant, is_zero
from coopc.dialects.narrow import is_memref
from coopc.ir.builder import Builder
from coopc.ir.control_flow import function_around
from coopc.ir.device_option import device_of
from coopc.ir.matrix_size import is_of_lanes
from coopc.passes.coopmatrix.elementwise import fill_value, filled


@dataclass(frozen=True)
class ResolveMatrixFillPass(ModulePass):
    name = "resolve-matrix-fill"

    device: str = "amx"
    """The device whose native fills stay."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        native = device_of(self.device, op, self.name).fills
        for fill in [x for x in op.walk() if isinstance(x, coopmatrix.FillOp)]:
            if is_of_lanes(function_around(fill)):
                continue  # vectors are filled with any value
            if not is_zero(constant(fill.value)):
                _resolve(fill, any_value=native == "any")


def _resolve(fill: coopmatrix.FillOp, any_value: bool) -> None:
    """Load and convert the value of a fill, and insert it where it is not native."""
    b, type = Builder.at(fill), coopmatrix.matrix_type(fill.result)
    if fill.is_pointer and not is_memref(fill.value.type):
        load = _load(fill.value, type.element_type)
        fill.operands[0] = b.effect(load).results[0]
    value = fill_value(b, fill)
    if value.name_hint is None:
        value.name_hint = "value"
    if any_value or is_zero(constant(value)):
        new = b.effect(coopmatrix.FillOp(value, type)).results[0]
    else:
        new = filled(b, type, value)
    new.name_hint = fill.result.name_hint
    Rewriter.replace_op(fill, [], [new])


def _load(pointer: SSAValue, element_type: Attribute) -> Operation:
    """Return the load of an element through an opaque pointer."""
    if pointer.type.name == "llvm.ptr":
        from xdsl.dialects import llvm

        return llvm.LoadOp(pointer, element_type)
    from xdsl.dialects import ptr

    return ptr.LoadOp(pointer, element_type)
