"""expand-tt-math: expands Triton's own arithmetic to `arith` and `math`.

Before:  `tt.clampf`, `tt.precise_sqrt`, `tt.precise_divf`, `tt.mulhiui`,
         `tt.extern_elementwise`, `tt.bitcast` of numbers, `tt.fp_to_fp` of a scalar.
After:   operations of `arith` and `math` on tensors of the same encodings.
Fails:   for library functions that `math` does not have, and for correct rounding on
         devices without f64. The module is then unchanged.

`arith.divf` and `math.sqrt` may be 2.5 and 3 units in the last place off, as OpenCL has
it, so what is to be rounded correctly is computed in f64.  A quotient of f64 that is
rounded to f32 compilers take for one of f32, which is why it is a product with the
inverse and one correction here (Markstein's): its error is much less than the 2^-49 by
which a quotient of two f32 is off the middle between two others.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float64Type,
    ModuleOp,
    f32,
    f64,
)
from xdsl.ir import SSAValue

from coopc import device as devices
from coopc.diagnostic import near_match
from coopc.dialects import simt, tt
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.arithmetic import FUNCTIONS, function_of
from coopc.dialects.tt.types import PropagateNan, Rounding, is_tensor, member
from coopc.emit.walker import Refusal
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.generic.expansion import Code, ExpandPass, Expansions, Target
from coopc.rounding import FORMATS

table = Expansions()


@table.on(tt.ClampFOp)
def clamp(code: Code, op: tt.ClampFOp) -> SSAValue:
    """The greater one, then the smaller one; both with NaN, or both without."""
    if member(PropagateNan, op.propagate_nan) is PropagateNan.ALL:
        least = code(arith.MaximumfOp(op.x, op.min))
        return code(arith.MinimumfOp(least, op.max))
    least = code(arith.MaxnumfOp(op.x, op.min))
    return code(arith.MinnumfOp(least, op.max))


@table.on(tt.MulhiUIOp)
def high_half(code: Code, op: tt.MulhiUIOp) -> SSAValue:
    """The second result of a product."""
    product = arith.MulUIExtendedOp(op.x, op.y)
    code(product)
    return product.high


@table.on(
    *(tt.PreciseDivFOp, tt.PreciseSqrtOp),
    when=lambda op, to: "f64" not in to.device.scalars,
)
def inexact(code: Code, op: tt.PreciseDivFOp | tt.PreciseSqrtOp) -> SSAValue:
    raise Refusal(
        "expected a device with f64, in which it is rounded correctly, got one without"
    )


@table.on(tt.PreciseSqrtOp)
def root(code: Code, op: tt.PreciseSqrtOp) -> SSAValue:
    """In f64, whose root is rounded correctly; rounding it again never matters."""
    return narrowed(code, code(math.SqrtOp(widened(code, op.x))), op.x)


@table.on(tt.PreciseDivFOp)
def quotient(code: Code, op: tt.PreciseDivFOp) -> SSAValue:
    """In f64: a product with the inverse, and what that left, divided again."""
    if isinstance(element_of(op.x.type), Float64Type):
        return code(arith.DivfOp(op.x, op.y))
    x, y = widened(code, op.x), widened(code, op.y)
    one, zero = code.like(x, 1.0), code.like(x, 0.0)
    inverse = code(arith.DivfOp(one, y))
    near = code(arith.MulfOp(x, inverse))
    back = code(arith.NegfOp(near))
    left = code(math.FmaOp(back, y, x))
    nearer = code(math.FmaOp(left, inverse, near))
    # Where nothing is left it is exact, and the sign of a zero is right; where NaN is,
    # something was infinite, or divided by zero, and the product is right.
    some = code(arith.CmpfOp(left, zero, "one"))
    return narrowed(code, code.select(some, nearer, near), op.x)


def is_short(value: SSAValue) -> bool:
    return isinstance(element_of(value.type), Float16Type | BFloat16Type)


def widened(code: Code, value: SSAValue) -> SSAValue:
    """Return floats in f64, by way of f32."""
    if is_short(value):
        value = converted(code, value, f32)
    return converted(code, value, f64)


def narrowed(code: Code, value: SSAValue, like: SSAValue) -> SSAValue:
    """Return quotients or roots of f64 in the format that operands had.

    Those of f16 and bf16 are rounded to f32 first, which has enough bits that it never
    matters: twice as many and two.
    """
    if is_short(like):
        value = converted(code, value, f32)
    return converted(code, value, element_of(like.type))


@table.on(
    tt.BitcastOp,
    when=lambda op, to: not isinstance(element_of(op.src.type), tt.PtrType),
)
def bits(code: Code, op: tt.BitcastOp) -> SSAValue:
    """Of numbers, the same operation of `arith`; nothing where the type stays."""
    if op.src.type == op.result.type:
        return op.src
    return code(arith.BitcastOp(op.src, op.result.type))


def is_of_floats(op: tt.FpToFpOp, target: Target) -> bool:
    """Whether a float of a format of `arith` becomes another, rounded to nearest.

    Of tensors only those that saturate: passes convert the others.
    """
    if op.rounding_mode is Rounding.RTZ:
        return False
    types = element_of(op.src.type), element_of(op.result.type)
    known = all(x.name in FORMATS for x in types)
    return known and (not is_tensor(op.src.type) or types[1].name.startswith("f8"))


@table.on(tt.FpToFpOp, when=is_of_floats)
def float_of_another_format(code: Code, op: tt.FpToFpOp) -> SSAValue:
    """Wider or narrower; of f8 what is too great becomes the greatest number.

    So do Triton's test_conversions.py (test_typeconvert_downcast_clamping) and its
    back ends; NaN stays.
    """
    value, element = op.src, element_of(op.result.type)
    most = FORMATS[element.name].greatest
    source = FORMATS[element_of(value.type).name]
    if element.name.startswith("f8") and source.greatest > most:
        value = code(arith.MaximumfOp(value, code.like(value, -most)))
        value = code(arith.MinimumfOp(value, code.like(value, most)))
    return converted(code, value, element)


@table.on(tt.ExternElementwiseOp)
def function(code: Code, op: tt.ExternElementwiseOp) -> SSAValue:
    """The operation that the function is.

    Raises:
        Refusal: it is none.
    """
    symbol = op.symbol.data
    if (found := function_of(symbol)) is None:
        bare = symbol.removeprefix("__imf_").removeprefix("__nv_").removesuffix("f")
        close = near_match(bare, FUNCTIONS)
        raise Refusal(f"expected a function of mathematics, got {symbol!r}{close}")
    definition = found.get_irdl_definition()
    wanted = len(definition.operands)
    if len(op.srcs) != wanted:
        raise Refusal(f"expected {wanted} operands of {symbol!r}, got {len(op.srcs)}")
    types = [value.type for value in (*op.srcs, op.result)]
    if len(set(types)) != 1 or not isinstance(element_of(types[0]), AnyFloat):
        got = ", ".join(map(str, types[:-1])) + f" to {types[-1]}"
        raise Refusal(f"expected floats of one type for {symbol!r}, got {got}")
    new = found.create(operands=list(op.srcs), result_types=[op.result.type])
    default = definition.properties.get("fastmath")
    if default is not None and default.default_value is not None:
        new.properties["fastmath"] = default.default_value
    return code(new)


@dataclass(frozen=True)
class ExpandTtMathPass(ExpandPass):
    name = "expand-tt-math"
    table = table

    def target(self, module: ModuleOp) -> Target:
        """The module's target; one that has f64 where it names none."""
        if self.device is None and simt.target_of(module) is None:
            return Target("spir64", devices.device("pvc"))
        return super().target(module)
