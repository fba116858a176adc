"""expand-tt-math: expands Triton's arithmetic to `arith` and `math`.

Before:  `tt.clampf`, `tt.precise_sqrt`, `tt.precise_divf`, `tt.mulhiui`,
         `tt.extern_elementwise`, `tt.bitcast` of numbers, `tt.fp_to_fp`,
         `tt.dot_scaled` of tensors without encodings, and `tt.dot` of f8; divisions
         of integers by tensors; `tt.atomic_poll`.
After:   operations of `arith` and `math` on tensors of the same encodings; `tt.dot` of
         bf16, or of f16 if one operand is f16, for a scaled product, and of bf16 or f16
         for a product of f8 that the device does not multiply as it is; a loop around
         `tt.atomic_cas`; divisions by 1 in place of 0.
Fails:   for library functions that neither `math` nor `library_functions` has, for
         operands of 6-bit floats, and for correct rounding on devices without f64. The
         module is then unchanged.

`arith.divf` and `math.sqrt` may be off by 2.5 and 3 ulp, as in OpenCL, so correctly
rounded operations are computed in f64.  Compilers narrow an f64 division that is
rounded to f32, so it is a multiplication by the inverse with one correction
(Markstein's): its error is much less than 2^-49, the least distance of a quotient of
two f32 from a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf, ldexp, prod
from typing import TypeAlias

from xdsl.dialects import arith, math, scf
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float16Type,
    Float64Type,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from coopc import device as devices
from coopc.diagnostic import near_match
from coopc.dialects import simt, tt
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import bits_of
from coopc.dialects.tt.arithmetic import FUNCTIONS, bare_name, function_of
from coopc.dialects.tt.types import (
    InputPrecision,
    PropagateNan,
    Rounding,
    ScaledElement,
    encoding_of,
    member,
)
from coopc.emit.walker import NoForm
from coopc.ir.facts import splat_number
from coopc.passes.coopmatrix.elementwise import converted
from coopc.passes.generic.expansion import Code, ExpandPass, Expansions, Target
from coopc.passes.generic.number import Num, nums
from coopc.passes.triton.library_functions import FORMS, of_numbers
from coopc.rounding import FORMATS

table = Expansions()


@table.on(tt.ClampFOp)
def clamp(code: Code, op: tt.ClampFOp) -> Num:
    """The greater one, then the smaller one; both with NaN, or both without."""
    x, least, most = nums(code, op.x, op.min, op.max)
    if member(PropagateNan, op.propagate_nan) is PropagateNan.ALL:
        return x.apply(arith.MaximumfOp, least).apply(arith.MinimumfOp, most)
    return x.apply(arith.MaxnumfOp, least).apply(arith.MinnumfOp, most)


Division: TypeAlias = arith.DivSIOp | arith.DivUIOp | arith.RemSIOp | arith.RemUIOp


def may_trap(op: Division, target: Target) -> bool:
    """Whether a masked element, which is 0, may be a divisor: x86 CPUs then trap.

    A constant or a splat is no masked load, and a guarded divisor is a select with 1.
    """
    match op.rhs.owner:
        case arith.ConstantOp() | tt.SplatOp():
            return False
        case arith.SelectOp() as select:
            return splat_number(select.lhs) != 1
        case _:
            return isinstance(op.rhs.type, TensorType)


@table.on(*(arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp), when=may_trap)
def division(code: Code, op: Division) -> Num:
    """Divide by 1 in place of 0, and of -1 where the quotient overflows."""
    x, y = nums(code, op.lhs, op.rhs)
    traps = y.compare("eq", 0)
    if isinstance(op, arith.DivSIOp | arith.RemSIOp):
        least = -1 << (bits_of(element_of(op.lhs.type)) - 1)
        traps |= x.compare("eq", least) & y.compare("eq", -1)
    return x.apply(type(op), traps.select(y.like(1), y))


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
    raise NoForm(
        "expected a device with f64, in which it is rounded correctly, got one without"
    )


@table.on(tt.PreciseSqrtOp)
def root(code: Code, op: tt.PreciseSqrtOp) -> Num:
    """In f64, whose root is rounded correctly; rounding it again never matters."""
    return narrowed(widened(code, op.x).apply(math.SqrtOp), op.x)


@table.on(tt.PreciseDivFOp)
def quotient(code: Code, op: tt.PreciseDivFOp) -> Num:
    """In f64: a product with the inverse, and what that left, divided again."""
    if isinstance(element_of(op.x.type), Float64Type):
        return Num(code, op.x) / Num(code, op.y)
    x, y = widened(code, op.x), widened(code, op.y)
    one, zero = x.like(1.0), x.like(0.0)
    inverse = one / y
    near = x * inverse
    left = near.apply(arith.NegfOp).apply(math.FmaOp, y, x)
    nearer = left.apply(math.FmaOp, inverse, near)
    # Where nothing is left it is exact, and the sign of a zero is right; where NaN is,
    # something was infinite, or divided by zero, and the product is right.
    return narrowed(left.compare("one", zero).select(nearer, near), op.x)


def is_short(value: SSAValue) -> bool:
    return isinstance(element_of(value.type), Float16Type | BFloat16Type)


def widened(code: Code, value: SSAValue) -> Num:
    """Return floats in f64, by way of f32."""
    found = Num(code, value)
    return (found.to(f32) if is_short(value) else found).to(f64)


def narrowed(value: Num, like: SSAValue) -> Num:
    """Return quotients or roots of f64 in the format that operands had.

    Those of f16 and bf16 are rounded to f32 first, which has enough bits that it never
    matters: twice as many and two.
    """
    return (value.to(f32) if is_short(like) else value).to(element_of(like.type))


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
    """Whether a float of a format of `arith` becomes another, rounded to nearest."""
    types = element_of(op.src.type), element_of(op.result.type)
    is_to_nearest = op.rounding_mode is not Rounding.RTZ
    return is_to_nearest and all(x.name in FORMATS for x in types)


@table.on(tt.FpToFpOp, when=lambda op, to: op.rounding_mode is Rounding.RTZ)
def float_toward_zero(code: Code, op: tt.FpToFpOp) -> Num:
    """A number of the format that is as near to zero, then exactly converted.

    Compilers take a number that is rounded and widened again for the number, so that
    it cannot be compared with what it was.
    """
    x, element = Num(code, op.src), element_of(op.result.type)
    if is_short(op.src):
        x = x.to(f32)
    source = element_of(x.value.type)
    wide, narrow = FORMATS[source.name], FORMATS[element.name]
    if (dropped := wide.fraction_bits - narrow.fraction_bits) <= 0:
        return x.to(element)
    cut = (x.bits(IntegerType(wide.bits)) & (-1 << dropped)).bits(source)
    size = x.apply(math.AbsFOp)
    if narrow.min_exponent > wide.min_exponent:
        unit = ldexp(1.0, narrow.min_exponent - narrow.fraction_bits)
        small = (x * (1 / unit)).apply(math.TruncOp) * unit
        is_small = size.compare("olt", ldexp(1.0, narrow.min_exponent))
        cut = is_small.select(small, cut)
    cut = cut.apply(arith.MinnumfOp, narrow.greatest)
    cut = cut.apply(arith.MaxnumfOp, -narrow.greatest)
    is_number = size.compare("olt", inf)
    rest = saturated(x, element)  # an infinity, or NaN
    return is_number.select(cut, rest).to(element)


@table.on(tt.FpToFpOp, when=is_of_floats)
def float_of_another_format(code: Code, op: tt.FpToFpOp) -> Num:
    """Wider or narrower; of f8 what is too great becomes the greatest number.

    So do Triton's test_conversions.py (test_typeconvert_downcast_clamping) and its
    back ends; NaN stays.
    """
    element = element_of(op.result.type)
    return saturated(Num(code, op.src), element).to(element)


def saturated(x: Num, element: Attribute) -> Num:
    """Return a number that a format has room for, if it is one of f8."""
    most = FORMATS[element.name].greatest
    source = FORMATS[element_of(x.value.type).name]
    if element.name.startswith("f8") and source.greatest > most:
        x = x.apply(arith.MaximumfOp, -most).apply(arith.MinimumfOp, most)
    return x


@table.on(tt.ExternElementwiseOp)
def function(code: Code, op: tt.ExternElementwiseOp) -> SSAValue:
    """The operation that the function is.

    Raises:
        NoForm: it is none.
    """
    symbol = op.symbol.data
    if (made := of_numbers(code, op)) is not None:
        return made.value
    if (found := function_of(symbol)) is None:
        close = near_match(bare_name(symbol).removesuffix("f"), {**FUNCTIONS, **FORMS})
        raise NoForm(f"expected a function of mathematics, got {symbol!r}{close}")
    definition = found.get_irdl_definition()
    wanted = len(definition.operands)
    if len(op.srcs) != wanted:
        raise NoForm(f"expected {wanted} operands of {symbol!r}, got {len(op.srcs)}")
    types = [value.type for value in (*op.srcs, op.result)]
    if len(set(types)) != 1 or not isinstance(element_of(types[0]), AnyFloat):
        got = ", ".join(map(str, types[:-1])) + f" to {types[-1]}"
        raise NoForm(f"expected floats of one type for {symbol!r}, got {got}")
    new = found.create(operands=list(op.srcs), result_types=[op.result.type])
    default = definition.properties.get("fastmath")
    if default is not None and default.default_value is not None:
        new.properties["fastmath"] = default.default_value
    return code(new)


# Products of f8, and of factors with scales


def is_multiplied_as(type: AnyFloat, op: tt.DotOp, target: Target) -> bool:
    """Whether a device multiplies what two factors of f8 fit in, but no f8.

    On Vulkan, factors that are computed are buffers: those of f8 are half as large.
    """
    one, other, acc = (element_of(x.type) for x in (op.a, op.b, op.d))
    multiplies = target.device.multiplications
    if not {one, other} <= {*tt.F8.values()} or encoding_of(op.a.type) is not None:
        return False
    if multiplies(one.name, other.name, acc.name, acc.name):
        return False
    size = sum(prod(tt.shape_of(x.type)) * bits_of(type) for x in (op.a, op.b)) // 8
    if target.language == "vulkan" and size > target.device.limits.local_bytes:
        return False
    return bool(multiplies(type.name, type.name, acc.name, acc.name))


def widened_product(code: Code, op: tt.DotOp, type: AnyFloat) -> SSAValue:
    new = tt.DotOp.create(
        operands=[*(converted(code, x, type) for x in (op.a, op.b)), op.c],
        result_types=[op.d.type],
        properties=dict(op.properties),
    )
    return code(new)


@table.on(tt.DotOp, when=partial(is_multiplied_as, bf16))
def product_as_bf16(code: Code, op: tt.DotOp) -> SSAValue:
    return widened_product(code, op, bf16)


@table.on(tt.DotOp, when=partial(is_multiplied_as, f16))
def product_as_f16(code: Code, op: tt.DotOp) -> SSAValue:
    return widened_product(code, op, f16)


E8M0_NAN, E8M0_LEAST = 255, 0x00400000
"""The scale that is NaN, and the bits of f32 of the least one, 2^-127."""


@table.on(tt.DotScaledOp)
def scaled_product(code: Code, op: tt.DotScaledOp) -> SSAValue:
    """The product of the factors, each multiplied by its scales before.

    Raises:
        NoForm: a factor has another format, or an encoding.
    """
    kinds = [member(ScaledElement, x) for x in (op.a_elem_type, op.b_elem_type)]
    floats = f16 if ScaledElement.FP16 in kinds else bf16
    one, other = (
        scaled(code, value, kind, scale, pack in PAIRS_OF_K, bool(is_right), floats)
        for is_right, (value, kind, scale, pack) in enumerate(
            (
                (op.a, kinds[0], op.a_scale, op.lhs_k_pack),
                (op.b, kinds[1], op.b_scale, op.rhs_k_pack),
            )
        )
    )
    properties = {
        "inputPrecision": InputPrecision.IEEE.attribute,
        "maxNumImpreciseAcc": IntegerAttr(0, i32),
    }
    return code(
        tt.DotOp.create(
            operands=[one, other, op.c],
            result_types=[op.d.type],
            properties=properties,
        )
    )


PAIRS_OF_K = (None, IntegerAttr(1, 1))
"""How `lhs_k_pack` and `rhs_k_pack` say that a byte has neighbours along K."""


def scaled(
    code: Code,
    value: SSAValue,
    kind: ScaledElement,
    scale: SSAValue | None,
    packs_k: bool,
    is_right: bool,
    floats: AnyFloat,
) -> SSAValue:
    """Return a factor times its scales, in a format that is multiplied.

    The factor is M x K, its scales M x K / 32; with `is_right` K x N, and N x K / 32.
    With `packs_k` two neighbours along K share a byte, else along M or N.
    """
    if encoding_of(value.type) is not None:
        raise NoForm("expected tensors without encodings")
    match kind:
        case ScaledElement.E2M1:
            value = of_e2m1(code, halves(code, value, turned=packs_k == is_right))
        case ScaledElement.E4M3 | ScaledElement.E5M2:
            value = code.cast(arith.BitcastOp, value, tt.F8[kind])
            type = TensorType(f32, tt.shape_of(value.type))
            value = code(tt.FpToFpOp.create(operands=[value], result_types=[type]))
        case ScaledElement.BF16 | ScaledElement.FP16:
            value = converted(code, value, f32)
        case _:
            what = "expected e2m1, e4m3, e5m2, bf16 or fp16"
            raise NoForm(f"{what}, got {kind.name.lower()}")
    if scale is not None:
        (rows, cols), count = tt.shape_of(value.type), tt.shape_of(scale.type)[-1]
        size = (rows if is_right else cols) // count
        scale = of_e8m0(code, scale)
        scale = code(
            tt.ExpandDimsOp(scale, 2, resized(scale, (*tt.shape_of(scale.type), 1)))
        )
        scale = code(
            tt.BroadcastOp(scale, resized(scale, (*tt.shape_of(scale.type)[:2], size)))
        )
        scale = reshaped(code, scale, (cols if is_right else rows, count * size))
        value = code(arith.MulfOp(value, turn(code, scale) if is_right else scale))
    return converted(code, value, floats)


def resized(value: SSAValue, shape: Sequence[int]) -> TensorType:
    return TensorType(element_of(value.type), shape)


def reshaped(code: Code, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    type = resized(value, shape)
    return code(tt.ReshapeOp.create(operands=[value], result_types=[type]))


def turn(code: Code, value: SSAValue) -> SSAValue:
    rows, cols = tt.shape_of(value.type)
    return code(tt.TransOp(value, (1, 0), resized(value, (cols, rows))))


def halves(code: Code, value: SSAValue, turned: bool) -> SSAValue:
    """Return the halves of bytes, the low one first, beside or below each other."""
    if turned:
        return turn(code, halves(code, turn(code, value), False))
    rows, cols = tt.shape_of(value.type)
    x = Num(code, value)
    four = x.like(4)
    parts = [(x & 15).value, (x >> four).value]
    type = resized(value, (rows, cols, 2))
    pairs = code(tt.JoinOp.create(operands=parts, result_types=[type]))
    return reshaped(code, pairs, (rows, 2 * cols))


def of_e2m1(code: Code, bits: SSAValue) -> SSAValue:
    """Return the floats of 4-bit codes s, e, e, m: 0, 0.5, 1, 1.5, 2, 3, 4, 6.

    From 1 on exponent and mantissa are those of f32, moved; 0 and 0.5 are multiples.
    """
    wide = Num(code, bits).cast(arith.ExtUIOp, i32)
    size = wide & 7
    normal, small = (size << 22) + (126 << 23), size * (126 << 23)
    found = size.compare("ult", 2).select(small, normal)
    return (found | ((wide & 8) << 28)).bits(f32).value


def of_e8m0(code: Code, scale: SSAValue) -> SSAValue:
    """Return 2^(s - 127) of bytes s, as f32."""
    if element_of(scale.type) != i8:
        raise NoForm(f"expected scales of bytes, got {scale.type}")
    wide = Num(code, scale).cast(arith.ExtUIOp, i32)
    moved = (wide << 23).apply(arith.MaxSIOp, E8M0_LEAST)
    is_nan = wide.compare("eq", E8M0_NAN)
    return is_nan.select(wide.like(0x7FC00000), moved).bits(f32).value


@table.on(tt.AtomicPollOp)
def polled(code: Code, op: tt.AtomicPollOp) -> SSAValue:
    """A loop around exchanges of what is expected with itself.

    With a time-out there is one for each nanosecond at most: none takes less.
    """
    start = code.like(op.result, 0), code.constant(i64, 0)
    before, after = (Block(arg_types=[x.type for x in start]) for _ in range(2))
    loop = Code(before.add_op)
    known, count = before.args
    exchange = tt.AtomicCASOp.create(
        operands=[op.ptr, op.expected, op.expected],
        result_types=[op.expected.type],
        properties={"sem": op.sem, "scope": op.scope},
    )
    is_seen = loop(arith.CmpiOp(loop(exchange), op.expected, "eq"))
    found = loop(arith.OrIOp(known, is_seen))
    more = loop(arith.XOrIOp(all_of(loop, found), loop.constant(i1, 1)))
    count = loop(arith.AddiOp(count, loop.constant(i64, 1)))
    if op.timeout is not None:
        in_time = loop(arith.CmpiOp(count, op.timeout, "ult"))
        more = loop(arith.AndIOp(more, in_time))
    before.add_op(scf.ConditionOp(more, found, count))
    after.add_op(scf.YieldOp(*after.args))
    for inner in before.ops:
        inner.location = op.location
    types = [x.type for x in start]
    return code(scf.WhileOp(start, types, Region(before), Region(after)))


def all_of(code: Code, flags: SSAValue) -> SSAValue:
    """Return whether all elements of a tensor are true."""
    while shape := tt.shape_of(flags.type):
        body = Block(arg_types=[i1, i1])
        one, other = body.args
        both = arith.AndIOp(one, other)
        body.add_ops([both, tt.ReduceReturnOp.create(operands=[both.result])])
        op = tt.ReduceOp.create(
            operands=[flags],
            result_types=[TensorType(i1, shape[1:]) if shape[1:] else i1],
            properties={"axis": IntegerAttr(0, i32)},
            regions=[Region(body)],
        )
        flags = code(op)
    return flags


@dataclass(frozen=True)
class ExpandTtMathPass(ExpandPass):
    name = "expand-tt-math"
    table = table

    def target(self, module: ModuleOp) -> Target:
        """The module's target; one that has f64 where it names none."""
        if self.device is None and simt.target_of(module) is None:
            return Target("spir64", devices.device("pvc"))
        return super().target(module)
