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

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix.arithmetic import Number, constant
from coopc.ir.builder import INDEX, Builder
from coopc.ir.device_option import device_of
from coopc.passes.khr.legalize_coopmatrix_khr.scalar_forms import converted


@dataclass(frozen=True)
class ResolveMatrixFillPass(ModulePass):
    """Make loops of fills that a device does not do itself."""

    name = "resolve-matrix-fill"

    device: str = "amx"
    """The device whose native fills stay."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Resolve all fills of `op`."""
        native = device_of(self.device, op, self.name).fills
        for fill in [x for x in op.walk() if isinstance(x, coopmatrix.FillOp)]:
            if not is_zero(constant(fill.value)):
                _resolve(fill, any_value=native == "any")


def is_zero(number: Number | None) -> bool:
    """Whether a number is known and +0, of any type; -0.0 is none.

    >>> from xdsl.dialects.builtin import FloatAttr, f32
    >>> is_zero(FloatAttr(0.0, f32)), is_zero(FloatAttr(-0.0, f32)), is_zero(None)
    (True, False, False)
    """
    return number is not None and str(number.value.data) in ("0", "0.0")


def _resolve(fill: coopmatrix.FillOp, any_value: bool) -> None:
    """Load and convert the value of a fill, and insert it where it is not native."""
    b = Builder.at(fill)
    type = coopmatrix.matrix_type(fill.result)
    value = fill.value
    if fill.is_pointer:
        value = b.effect(_load(value, type.element_type)).results[0]
    if isinstance(value.type, IndexType):
        value = b.pure(arith.IndexCastOp, value, i64)
    value = converted(
        value, type.element_type, True, lambda op: b.effect(op).results[0]
    )
    if value.name_hint is None:
        value.name_hint = "value"
    filled = (
        b.pure(coopmatrix.FillOp, value, type) if any_value else _loop(b, value, type)
    )
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


def _loop(b: Builder, value: SSAValue, type: coopmatrix.MatrixType) -> SSAValue:
    """Insert a loop that puts a value into all slots of a matrix."""
    zero = b.pure(coopmatrix.FillOp, b.constant(type.element_type, 0), type)
    zero.name_hint = "zero"
    begin, step = b.constant(INDEX, 0), b.constant(INDEX, 1)
    length = b.pure(coopmatrix.LengthOp, type)
    length.name_hint = "length"
    block = Block(arg_types=[INDEX, type])
    loop = b.effect(scf.ForOp(begin, length, step, [zero], block))
    index, carried = block.args
    index.name_hint, carried.name_hint = "i", "it"
    with b.inside(block):
        inserted = b.effect(coopmatrix.InsertOp(value, carried, index))
        b.effect(scf.YieldOp(*inserted.results))
    return loop.results[0]
