"""resolve-matrix-fill: fills of what a device does not fill natively become loops.

Before:  coopmatrix.fill from numbers of any type and from pointers
After:   fills from +0 alone, where the device fills nothing else; a loop over
         coopmatrix.length inserts any other value, loaded and converted before
Fails:   for a device that coopc does not know

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

import math
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import (
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.dialects import coopmatrix
from coopc.passes.khr.legalize_coopmatrix_khr.scalar_forms import (
    Insert,
    constant,
    converted,
)


@dataclass(frozen=True)
class ResolveMatrixFillPass(ModulePass):
    """Make loops of fills that a device does not do itself."""

    name = "resolve-matrix-fill"

    device: str = "amx"
    """The device whose native fills stay."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Resolve all fills of `op`."""
        if self.device not in devices.DEVICES:
            raise PassFailedException(
                f"{self.name}: expected a device, one of "
                f"{', '.join(sorted(devices.DEVICES))}, got {self.device}"
            )
        native = devices.device(self.device).fills
        for fill in [x for x in op.walk() if isinstance(x, coopmatrix.FillOp)]:
            if not is_zero(fill.value):
                _resolve(fill, any_value=native == "any")


def is_zero(value: SSAValue) -> bool:
    """Whether a value is a constant +0, of any type; -0.0 is none.

    >>> from xdsl.dialects.builtin import f32
    >>> is_zero(arith.ConstantOp(FloatAttr(0.0, f32)).result)
    True
    >>> is_zero(arith.ConstantOp(FloatAttr(-0.0, f32)).result)
    False
    """
    if not isinstance(owner := value.owner, arith.ConstantOp):
        return False
    match owner.value:
        case IntegerAttr() as attr:
            return attr.value.data == 0
        case FloatAttr() as attr:
            number = attr.value.data
            return number == 0 and math.copysign(1.0, number) > 0
        case _:
            return False


def _resolve(fill: coopmatrix.FillOp, any_value: bool) -> None:
    """Load and convert the value of a fill, and insert it where it is not native."""
    builder = Builder(InsertPoint.before(fill))

    def insert(op: Operation) -> SSAValue:
        op.location = fill.location
        builder.insert(op)
        return op.results[0]

    type = coopmatrix.matrix_type(fill.result)
    element_type = type.element_type
    value = fill.value
    if fill.is_pointer:
        value = insert(_load(value, element_type))
    if isinstance(value.type, IndexType):
        value = insert(arith.IndexCastOp(value, i64))
    value = converted(value, element_type, True, insert)
    if value.name_hint is None:
        value.name_hint = "value"
    if any_value or is_zero(value):
        filled = insert(coopmatrix.FillOp(value, type))
    else:
        zero = constant(element_type, 0, insert)
        start = insert(coopmatrix.FillOp(zero, type))
        start.name_hint = "zero"
        filled = _loop(value, start, insert)
    filled.name_hint = fill.result.name_hint
    Rewriter.replace_op(fill, [], [filled])


def _load(pointer: SSAValue, element_type: Attribute) -> Operation:
    """Return the load of an element; an opaque pointer is to the matrix's type."""
    if isinstance(pointer.type, MemRefType):
        from xdsl.dialects import memref

        return memref.LoadOp.get(pointer, [])
    if pointer.type.name == "llvm.ptr":
        from xdsl.dialects import llvm

        return llvm.LoadOp(pointer, element_type)
    from xdsl.dialects import ptr

    return ptr.LoadOp(pointer, element_type)


def _loop(value: SSAValue, start: SSAValue, insert: Insert) -> SSAValue:
    """Insert a loop that puts a value into all slots of a matrix."""
    begin, step = (
        insert(arith.ConstantOp(IntegerAttr(x, IndexType()))) for x in (0, 1)
    )
    begin.name_hint, step.name_hint = "c0", "c1"
    length = insert(coopmatrix.LengthOp(start.type))
    length.name_hint = "length"
    block = Block(arg_types=[IndexType(), start.type])
    index, carried = block.args
    index.name_hint, carried.name_hint = "i", "it"
    next = coopmatrix.InsertOp(value, carried, index)
    end = scf.YieldOp(next.result)
    block.add_ops([next, end])
    loop = scf.ForOp(begin, length, step, [start], block)
    result = insert(loop)
    for op in block.ops:
        op.location = loop.location
    return result
