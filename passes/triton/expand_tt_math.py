"""`expand-tt-math`: arithmetic that only Triton has, as `arith` and `math`.

Before: `tt.clampf`, `tt.precise_sqrt`, `tt.precise_divf`, `tt.mulhiui`,
        `tt.extern_elementwise`, `tt.bitcast` of numbers, `tt.fp_to_fp` of a scalar
After:  operations of `arith` and `math`, on tensors of the same encodings
Fails:  a function of a library that is none of `math`; what is rounded correctly, on a
        device without f64.  Nothing is changed then.

`arith.divf` and `math.sqrt` may be 2.5 and 3 units in the last place off, as OpenCL has
it, so what is to be rounded correctly is computed in f64.  A quotient of f64 that is
rounded to f32 compilers take for one of f32, which is why it is a product with the
inverse and one correction here (Markstein's): its error is much less than the 2^-49 by
which a quotient of two f32 is off the middle between two others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import pack
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float64Type,
    FloatAttr,
    ModuleOp,
    f32,
    f64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc import device as devices
from coopc.diagnostic import near_match
from coopc.dialects import simt, tt
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.dialects.tt.arithmetic import FUNCTIONS, function_of
from coopc.dialects.tt.types import PropagateNan, Rounding, is_tensor, member


@dataclass(slots=True)
class Expansion:
    """What is put in the place of an operation."""

    op: Operation

    def insert(self, new: Operation) -> SSAValue:
        """Insert an operation before, at the same location; return its last result."""
        new.location = self.op.location
        Rewriter.insert_op(new, InsertPoint.before(self.op))
        return new.results[-1]

    def number(self, value: float, type: Attribute) -> SSAValue:
        """Return a constant of f64, the same for all elements of a tensor."""
        if is_tensor(type):
            data = BytesAttr(pack("<d", value))
            dense = DenseIntOrFPElementsAttr(type, data)  # pyright: ignore[reportArgumentType]
            return self.insert(arith.ConstantOp(dense))
        return self.insert(arith.ConstantOp(FloatAttr(value, f64)))

    def converted(self, value: SSAValue, element: AnyFloat) -> SSAValue:
        """Return floats of another type, by way of f32 where neither has the other."""
        source = element_of(value.type)
        assert isinstance(source, AnyFloat), value
        if source == element:
            return value
        if source.bitwidth == element.bitwidth:
            value = self.converted(value, f32)
            source = f32
        make = arith.ExtFOp if source.bitwidth < element.bitwidth else arith.TruncFOp
        return self.insert(make(value, shaped(value.type, element)))


def clamp(op: tt.ClampFOp, to: Expansion) -> SSAValue:
    """The greater one, then the smaller one; both with NaN, or both without."""
    if member(PropagateNan, op.propagate_nan) is PropagateNan.ALL:
        least = to.insert(arith.MaximumfOp(op.x, op.min))
        return to.insert(arith.MinimumfOp(least, op.max))
    least = to.insert(arith.MaxnumfOp(op.x, op.min))
    return to.insert(arith.MinnumfOp(least, op.max))


def high_half(op: tt.MulhiUIOp, to: Expansion) -> SSAValue:
    """The second result of a product."""
    return to.insert(arith.MulUIExtendedOp(op.x, op.y))


def root(op: tt.PreciseSqrtOp, to: Expansion) -> SSAValue:
    """In f64, whose root is rounded correctly; rounding it again never matters."""
    return narrowed(to, to.insert(math.SqrtOp(widened(to, op.x))), op.x)


def quotient(op: tt.PreciseDivFOp, to: Expansion) -> SSAValue:
    """In f64: a product with the inverse, and what that left, divided again."""
    if isinstance(element_of(op.x.type), Float64Type):
        return to.insert(arith.DivfOp(op.x, op.y))
    x, y = widened(to, op.x), widened(to, op.y)
    one, zero = to.number(1.0, x.type), to.number(0.0, x.type)
    inverse = to.insert(arith.DivfOp(one, y))
    near = to.insert(arith.MulfOp(x, inverse))
    back = to.insert(arith.NegfOp(near))
    left = to.insert(math.FmaOp(back, y, x))
    nearer = to.insert(math.FmaOp(left, inverse, near))
    # Where nothing is left it is exact, and the sign of a zero is right; where NaN is,
    # something was infinite, or divided by zero, and the product is right.
    some = to.insert(arith.CmpfOp(left, zero, "one"))
    return narrowed(to, to.insert(arith.SelectOp(some, nearer, near)), op.x)


def widened(to: Expansion, value: SSAValue) -> SSAValue:
    """Return floats in f64, by way of f32."""
    if isinstance(element_of(value.type), Float16Type | BFloat16Type):
        value = to.converted(value, f32)
    return to.converted(value, f64)


def narrowed(to: Expansion, value: SSAValue, like: SSAValue) -> SSAValue:
    """Return quotients or roots of f64 in the format that operands had.

    Those of f16 and bf16 are rounded to f32 first, which has enough bits that it never
    matters: twice as many and two.
    """
    element = element_of(like.type)
    assert isinstance(element, AnyFloat), like
    if isinstance(element, Float16Type | BFloat16Type):
        value = to.converted(value, f32)
    return to.converted(value, element)


def bits(op: tt.BitcastOp, to: Expansion) -> SSAValue:
    """The same operation of `arith`; nothing where the type stays."""
    if op.src.type == op.result.type:
        return op.src
    return to.insert(arith.BitcastOp(op.src, op.result.type))


def float_of_another_format(op: tt.FpToFpOp, to: Expansion) -> SSAValue:
    """Wider or narrower."""
    element = element_of(op.result.type)
    assert isinstance(element, AnyFloat), op
    return to.converted(op.src, element)


def function(op: tt.ExternElementwiseOp, to: Expansion) -> SSAValue:
    """The operation that the function is."""
    found = function_of(op.symbol.data)
    assert found is not None, op
    new = found.create(operands=list(op.srcs), result_types=[op.result.type])
    default = found.get_irdl_definition().properties.get("fastmath")
    if default is not None and default.default_value is not None:
        new.properties["fastmath"] = default.default_value
    return to.insert(new)


RULES: Mapping[type[Operation], Callable[[Any, Expansion], SSAValue]] = {
    tt.BitcastOp: bits,
    tt.ClampFOp: clamp,
    tt.ExternElementwiseOp: function,
    tt.FpToFpOp: float_of_another_format,
    tt.MulhiUIOp: high_half,
    tt.PreciseDivFOp: quotient,
    tt.PreciseSqrtOp: root,
}
"""By operation."""


def is_expanded(op: Operation) -> bool:
    """Whether an operation is replaced."""
    if isinstance(op, tt.BitcastOp):
        return not isinstance(element_of(op.src.type), tt.PtrType)
    if isinstance(op, tt.FpToFpOp):
        floats = (Float16Type, BFloat16Type, type(f32), Float64Type)
        types = (op.src.type, op.result.type)
        if is_tensor(op.src.type) or op.rounding_mode is Rounding.RTZ:
            return False
        return all(isinstance(each, floats) for each in types)
    return type(op) in RULES


def why_not(op: Operation, has_f64: bool) -> str | None:
    """Return why an operation cannot be expanded, or None."""
    match op:
        case tt.ExternElementwiseOp():
            return _why_not_function(op)
        case tt.PreciseDivFOp() | tt.PreciseSqrtOp() if not has_f64:
            return (
                "expected a device with f64, in which it is rounded correctly, got one "
                "without"
            )
        case _:
            return None


def _why_not_function(op: tt.ExternElementwiseOp) -> str | None:
    """Return why a function of a library is no operation, or None."""
    symbol = op.symbol.data
    if (found := function_of(symbol)) is None:
        bare = symbol.removeprefix("__imf_").removeprefix("__nv_").removesuffix("f")
        close = near_match(bare, FUNCTIONS)
        return f"expected a function of mathematics, got {symbol!r}{close}"
    wanted = len(found.get_irdl_definition().operands)
    if len(op.srcs) != wanted:
        return f"expected {wanted} operands of {symbol!r}, got {len(op.srcs)}"
    types = [value.type for value in (*op.srcs, op.result)]
    if len(set(types)) != 1 or not isinstance(element_of(types[0]), AnyFloat):
        got = ", ".join(map(str, types[:-1])) + f" to {types[-1]}"
        return f"expected floats of one type for {symbol!r}, got {got}"
    return None


@dataclass(frozen=True)
class ExpandTtMathPass(ModulePass):
    """Write arithmetic of Triton as `arith` and `math`."""

    name = "expand-tt-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Check all of `op`, then rewrite it."""
        target = simt.target_of(op)
        has_f64 = True
        if target is not None:
            has_f64 = "f64" in devices.device(target.device.data).scalars
        found = [each for each in op.walk() if is_expanded(each)]
        for each in found:
            if (reason := why_not(each, has_f64)) is not None:
                each.emit_error(reason, PassFailedException(reason))
        for each in found:
            value = RULES[type(each)](each, Expansion(each))
            if value.name_hint is None:
                value.name_hint = each.results[0].name_hint
            Rewriter.replace_op(each, [], [value])
