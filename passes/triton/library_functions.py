"""Functions of a device's library as arithmetic.

    __nv_isnanf         x unordered with itself
    __nv_float2int_rd   math.floor, then arith.fptosi

NVIDIA's library and Intel's call them the same.  Functions that are one operation of
`math` are in `coopc.dialects.tt.arithmetic`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from math import inf, ldexp, pi

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt
from coopc.dialects.shaped_arith import RemfOp, element_of
from coopc.dialects.tt.arithmetic import bare_name
from coopc.emit.walker import NoForm
from coopc.passes.generic.expansion import Code
from coopc.passes.generic.number import Num, nums
from coopc.passes.triton import special_functions
from coopc.rounding import FORMATS, FloatFormat

Form = Callable[..., Num]


def format_of(x: Num) -> FloatFormat:
    return FORMATS[element_of(x.value.type).name]


def as_integer(x: Num) -> Num:
    return x.bits(IntegerType(format_of(x).bits))


def magnitude(x: Num) -> Num:
    return x.apply(math.AbsFOp)


def signbit(x: Num) -> Num:
    return as_integer(x).compare("slt", 0)


def saturate(x: Num) -> Num:
    """Clamp to [0, 1]; NaN becomes 0."""
    return x.apply(arith.MaxnumfOp, 0.0).apply(arith.MinnumfOp, 1.0)


def fdim(x: Num, y: Num) -> Num:
    return x.compare("ole", y).select(x.like(0.0), x - y)


def hypot(x: Num, y: Num) -> Num:
    """Max * sqrt(1 + (min / max)^2), in which no square overflows."""
    x, y = magnitude(x), magnitude(y)
    most, least = x.apply(arith.MaximumfOp, y), x.apply(arith.MinimumfOp, y)
    ratio = most.compare("oeq", 0.0).select(most, least / most)
    found = most * (ratio * ratio + 1.0).apply(math.SqrtOp)
    is_infinite = x.compare("oeq", inf) | y.compare("oeq", inf)
    return is_infinite.select(x.like(inf), found)


def sinpi(x: Num, is_cosine: bool = False) -> Num:
    """sin(pi x), or cos(pi x), by the distance of x to the nearest integer."""
    whole = x.apply(math.RoundEvenOp)
    rest = x - whole
    found = ((0.5 - magnitude(rest) if is_cosine else rest) * pi).apply(math.SinOp)
    half = whole * 0.5
    is_odd = half.compare("one", half.apply(math.FloorOp))
    return is_odd.select(found.apply(arith.NegfOp), found)


def precise(op: type[Operation]) -> Callable[..., Operation]:
    """Triton's division or square root, rounded to nearest."""
    return lambda *operands: op.create(
        operands=operands, result_types=[operands[0].type]
    )


def scalbn(x: Num, n: Num) -> Num:
    """X * 2^n by three factors, as 2^n itself may be no normal number."""
    element, form = element_of(x.value.type), format_of(x)
    bias = 1 - form.min_exponent
    n = n.apply(arith.MinSIOp, 3 * (bias - 1)).apply(arith.MaxSIOp, 3 * (1 - bias))
    third = n.apply(arith.DivSIOp, 3)
    for part in (third, third, n - third - third):
        power = (part + bias).to(IntegerType(form.bits)) << form.fraction_bits
        x = x * power.bits(element)
    return x


def ilogb(x: Num) -> Num:
    """The exponent of x; INT_MIN for 0 and NaN, INT_MAX for infinity."""
    form, size = format_of(x), magnitude(x)
    up = form.fraction_bits + 1
    is_subnormal = size.compare("olt", ldexp(1.0, form.min_exponent))
    normal = is_subnormal.select(size * 2.0**up, size)
    biased = (as_integer(normal) >> form.fraction_bits).to(i32)
    found = biased - is_subnormal.select(biased.like(up), 0) - (1 - form.min_exponent)
    found = size.compare("ogt", 0.0).select(found, -(1 << 31))
    return size.compare("oeq", inf).select(found.like((1 << 31) - 1), found)


def nextafter(x: Num, y: Num) -> Num:
    """The bits plus or minus 1; from 0, the least subnormal with the sign of y."""
    element, bits = element_of(x.value.type), as_integer(x)
    grows = x.compare("olt", y) ^ signbit(x)
    near = grows.select(bits + 1, bits - 1).bits(element)
    least = bits.like(1).bits(element).apply(math.CopySignOp, y)
    near = x.compare("oeq", 0.0).select(least, near)
    near = x.compare("oeq", y).select(y, near)
    return x.compare("uno", y).select(x + y, near)


def brev(x: Num) -> Num:
    """Reverse the bits: swap halves, then halves of these, down to single bits."""
    width = element_of(x.value.type)
    assert isinstance(width, IntegerType), width
    part = width.bitwidth // 2
    while part:
        low = ((1 << width.bitwidth) - 1) // ((1 << part) + 1)
        x = ((x >> part) & low) | ((x & low) << part)
        part //= 2
    return x


def ffs(x: Num) -> Num:
    """The position of the lowest 1, counted from 1; 0 if there is none."""
    found = x.apply(math.CountTrailingZerosOp) + 1
    return x.compare("eq", 0).select(x.like(0), found)


def rounded_to(
    rounds: type[Operation] | None, element: Attribute, signed: bool, x: Num
) -> Num:
    return (x if rounds is None else x.apply(rounds)).to(element, signed)


def remainder(x: Num, y: Num) -> Num:
    """The rest of the quotient that is rounded to nearest even, as IEEE 754 has it."""
    size = magnitude(y)
    rest = magnitude(x.apply(RemfOp, size + size))
    less = rest - size
    least = (less + less).compare("oge", size).select(less - size, less)
    rest = (rest + rest).compare("ogt", size).select(least, rest)
    signed = rest * x.like(1.0).apply(math.CopySignOp, x)
    is_whole = size.compare("oeq", inf) & magnitude(x).compare("olt", inf)
    return is_whole.select(x, signed)


def mulhi(x: Num, y: Num) -> Num:
    """The high half of a signed product, from that of the unsigned one."""
    high = x.apply(precise(tt.MulhiUIOp), y)
    high = high - x.compare("slt", 0).select(y, 0)
    return high - y.compare("slt", 0).select(x, 0)


def mul24(x: Num, y: Num) -> Num:
    x, y = ((each << 8).apply(arith.ShRSIOp, 8) for each in (x, y))
    return x * y


def distance(x: Num, y: Num) -> Num:
    return x.apply(arith.MaxSIOp, y) - x.apply(arith.MinSIOp, y)


def unsigned_distance(x: Num, y: Num) -> Num:
    return x.apply(arith.MaxUIOp, y) - x.apply(arith.MinUIOp, y)


def logb(x: Num) -> Num:
    """The exponent of x, as a float; minus infinity for 0."""
    size = magnitude(x)
    found = ilogb(x).to(element_of(x.value.type))
    found = size.compare("oeq", 0.0).select(x.like(-inf), found)
    return size.compare("olt", inf).select(found, size)


ROUNDINGS: dict[str, type[Operation] | None] = {
    "rn": math.RoundEvenOp,
    "rd": math.FloorOp,
    "ru": math.CeilOp,
    "rz": None,
}
FLOATS = {"float": f32, "double": f64}
INTEGERS = {
    **{"int": (i32, True), "uint": (i32, False)},
    **{"ll": (i64, True), "ull": (i64, False)},
}


def conversions() -> Iterator[tuple[str, str, Form]]:
    """Yield `float2int_rz`, `int2float_rn` and their like."""
    for name, float in FLOATS.items():
        for whole, (integer, signed) in INTEGERS.items():
            for suffix, rounds in ROUNDINGS.items():
                form = partial(rounded_to, rounds, integer, signed)
                yield f"{name}2{whole}_{suffix}", "f", form
            yield f"{whole}2{name}_rn", "i", partial(rounded_to, None, float, signed)


OF_FLOAT: Mapping[str, Callable[[Num], Num]] = {
    "isnan": lambda x: x.compare("uno", x),
    "isinf": lambda x: magnitude(x).compare("oeq", inf),
    "finite isfinite": lambda x: magnitude(x).compare("olt", inf),
    "signbit": signbit,
    "cospi": partial(sinpi, is_cosine=True),
    "sinpi": sinpi,
    "exp10": lambda x: x.like(10.0).apply(math.PowFOp, x),
    "rcbrt": lambda x: x.like(1.0) / x.apply(math.CbrtOp),
    "saturate": saturate,
    "ilogb": ilogb,
    "logb": logb,
    "frsqrt_rn": lambda x: x.like(1.0) / x.apply(precise(tt.PreciseSqrtOp)),
    "llrint": partial(rounded_to, math.RoundEvenOp, i64, True),
    "llround": partial(rounded_to, math.RoundOp, i64, True),
    "frcp_rn drcp_rn": lambda x: x.like(1.0).apply(precise(tt.PreciseDivFOp), x),
    "fsqrt_rn dsqrt_rn": lambda x: x.apply(precise(tt.PreciseSqrtOp)),
    "float_as_int float_as_uint": lambda x: x.bits(i32),
    "double_as_longlong": lambda x: x.bits(i64),
    "double2float_rn": lambda x: x.to(f32),
}
OF_FLOATS: Mapping[str, Callable[[Num, Num], Num]] = {
    "fdim": fdim,
    "fdivide": lambda x, y: x / y,
    "hypot": hypot,
    "rhypot": lambda x, y: x.like(1.0) / hypot(x, y),
    "nextafter": nextafter,
    "remainder": remainder,
    "fadd_rn dadd_rn": lambda x, y: x + y,
    "fsub_rn dsub_rn": lambda x, y: x - y,
    "fmul_rn dmul_rn": lambda x, y: x * y,
    "fdiv_rn ddiv_rn": lambda x, y: x.apply(precise(tt.PreciseDivFOp), y),
}
OF_FLOAT_AND_INTEGER: Mapping[str, Callable[[Num, Num], Num]] = {
    "ldexp scalbn": scalbn,
    "powi": lambda x, n: x.apply(math.PowFOp, n.to(element_of(x.value.type))),
}
OF_INTEGER: Mapping[str, Callable[[Num], Num]] = {
    "int_as_float uint_as_float": lambda x: x.bits(f32),
    "longlong_as_double": lambda x: x.bits(f64),
    "abs llabs": lambda x: x.apply(math.AbsIOp),
    "popc popcll": lambda x: x.apply(math.CtPopOp),
    "clz clzll": lambda x: x.apply(math.CountLeadingZerosOp),
    "ffs ffsll": ffs,
    "brev brevll": brev,
}


OF_INTEGERS: Mapping[str, Callable[[Num, Num], Num]] = {
    "mulhi mul64hi": mulhi,
    "umulhi umul64hi": lambda x, y: x.apply(precise(tt.MulhiUIOp), y),
    "mul24": mul24,
    "umul24": lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF),
    "hadd": lambda x, y: (x & y) + (x ^ y).apply(arith.ShRSIOp, 1),
    "uhadd": lambda x, y: (x & y) + ((x ^ y) >> 1),
    "rhadd": lambda x, y: (x | y) - (x ^ y).apply(arith.ShRSIOp, 1),
    "urhadd": lambda x, y: (x | y) - ((x ^ y) >> 1),
}
OF_THREE_INTEGERS: Mapping[str, Callable[[Num, Num, Num], Num]] = {
    "sad": lambda x, y, z: distance(x, y) + z,
    "usad": lambda x, y, z: unsigned_distance(x, y) + z,
}


def fused(x: Num, y: Num, z: Num) -> Num:
    return x.apply(math.FmaOp, y, z)


def norm(*parts: Num) -> Num:
    return reduce(hypot, parts)


def reciprocal_norm(*parts: Num) -> Num:
    return parts[0].like(1.0) / norm(*parts)


OF_THREE_FLOATS: Mapping[str, Callable[[Num, Num, Num], Num]] = {
    "fma_rn fmaf_rn": fused,
    "norm3d": norm,
    "rnorm3d": reciprocal_norm,
}
OF_FOUR_FLOATS: Mapping[str, Form] = {"norm4d": norm, "rnorm4d": reciprocal_norm}


TABLES: Sequence[tuple[str, Mapping[str, Form]]] = (
    *(("f", OF_FLOAT), ("f", special_functions.OF_FLOAT), ("ff", OF_FLOATS)),
    *(("fff", OF_THREE_FLOATS), ("ffff", OF_FOUR_FLOATS)),
    *(("fi", OF_FLOAT_AND_INTEGER), ("i", OF_INTEGER), ("ii", OF_INTEGERS)),
    ("iii", OF_THREE_INTEGERS),
)
FORMS: Mapping[str, tuple[str, Form]] = {
    **{name: (kinds, form) for name, kinds, form in conversions()},
    **{
        name: (kinds, form)
        for kinds, table in TABLES
        for names, form in table.items()
        for name in names.split()
    },
}
"""From a name without its type suffix to the kinds of its operands, `f` for floats and
`i` for integers, and its expansion.  An i1 is extended to the type of the result."""


def form_of(symbol: str) -> tuple[str, Form] | None:
    """Return the kinds of a function's operands and its expansion, if it has one.

    >>> form_of("__nv_isnanf")[0], form_of("__imf_ldexp")[0], form_of("__nv_j0f")
    ('f', 'fi', None)
    """
    name = bare_name(symbol)
    return FORMS.get(name) or FORMS.get(name[:-1] if name[-1:] in "fd" else name)


def of_numbers(code: Code, op: tt.ExternElementwiseOp) -> Num | None:
    """Insert the expansion of a call, if its function has one.

    Raises:
        NoForm: its operands or its result are others.
    """
    if (known := form_of(op.symbol.data)) is None:
        return None
    kinds, form = known
    types = [element_of(value.type) for value in (*op.srcs, op.result)]
    *found, to = ("i" if isinstance(x, IntegerType) else "f" for x in types)
    floats = {x for x, kind in zip(types, found, strict=False) if kind == "f"}
    if found == [*kinds] and len(floats) < 2:
        made = form(*nums(code, *op.srcs))
        element = element_of(made.value.type)
        if to == "i" and isinstance(element, IntegerType):
            made = made.to(types[-1], signed=element != i1)
        if made.value.type == op.result.type:
            return made
    what = ", ".join("floats" if kind == "f" else "integers" for kind in kinds)
    got = ", ".join(str(x.type) for x in op.srcs) + f" to {op.result.type}"
    raise NoForm(f"expected {what} for {op.symbol.data!r}, got {got}")


def expand_functions(func: Operation) -> None:
    """Expand the calls of functions in `FORMS`, for the simulator."""
    for op in [x for x in func.walk() if isinstance(x, tt.ExternElementwiseOp)]:
        insert = partial(Rewriter.insert_op, insertion_point=InsertPoint.before(op))
        if (made := of_numbers(Code(insert), op)) is not None:
            Rewriter.replace_op(op, [], [made.value])
