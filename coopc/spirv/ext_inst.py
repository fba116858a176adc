"""The members of OpenCL.std and GLSL.std.450: number and count of operands.

A line holds a number and the names that have it and those after it; `/2` is the count
of operands, one where nothing is said and `/+` for one or more.  Left out are the
members that take literals (vloadn and its like).

Sources: "OpenCL Extended Instruction Set Specification" and "GLSL.std.450", by
Khronos; every entry is checked by assembling it.
"""

from functools import cache
from typing import NamedTuple

_OPENCL = """
0 acos acosh acospi asin asinh asinpi atan atan2/2 atanh atanpi atan2pi/2 cbrt ceil
13 copysign/2 cos cosh cospi erfc erf exp exp2 exp10 expm1 fabs fdim/2 floor fma/3
27 fmax/2 fmin/2 fmod/2 fract/2 frexp/2 hypot/2 ilogb ldexp/2 lgamma lgamma_r/2 log
38 log2 log10 log1p logb mad/3 maxmag/2 minmag/2 modf/2 nan nextafter/2 pow/2 pown/2
50 powr/2 remainder/2 remquo/3 rint rootn/2 round rsqrt sin sincos/2 sinh sinpi sqrt
62 tan tanh tanpi tgamma trunc half_cos half_divide/2 half_exp half_exp2 half_exp10
72 half_log half_log2 half_log10 half_powr/2 half_recip half_rsqrt half_sin half_sqrt
80 half_tan native_cos native_divide/2 native_exp native_exp2 native_exp10 native_log
87 native_log2 native_log10 native_powr/2 native_recip native_rsqrt native_sin
93 native_sqrt native_tan fclamp/3 degrees fmax_common/2 fmin_common/2 mix/3 radians
101 step/2 smoothstep/3 sign cross/2 distance/2 length normalize fast_distance/2
109 fast_length fast_normalize
141 s_abs s_abs_diff/2 s_add_sat/2 u_add_sat/2 s_hadd/2 u_hadd/2 s_rhadd/2 u_rhadd/2
149 s_clamp/3 u_clamp/3 clz ctz s_mad_hi/3 u_mad_sat/3 s_mad_sat/3 s_max/2 u_max/2
158 s_min/2 u_min/2 s_mul_hi/2 rotate/2 s_sub_sat/2 u_sub_sat/2 u_upsample/2
165 s_upsample/2 popcount s_mad24/3 u_mad24/3 s_mul24/2 u_mul24/2
172 vstoren/3 vload_half/2
175 vstore_half/3
177 vstore_halfn/3
180 vstorea_halfn/3
182 shuffle/2 shuffle2/3 printf/+ prefetch/2 bitselect/3 select/3
201 u_abs u_abs_diff/2 u_mul_hi/2 u_mad_hi/3
"""

_GLSL = """
1 Round RoundEven Trunc FAbs SAbs FSign SSign Floor Ceil Fract Radians Degrees Sin Cos
15 Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Atan2/2 Pow/2 Exp Log Exp2 Log2
31 Sqrt InverseSqrt Determinant MatrixInverse Modf/2 ModfStruct FMin/2 UMin/2 SMin/2
40 FMax/2 UMax/2 SMax/2 FClamp/3 UClamp/3 SClamp/3 FMix/3
48 Step/2 SmoothStep/3 Fma/3 Frexp/2 FrexpStruct Ldexp/2 PackSnorm4x8 PackUnorm4x8
56 PackSnorm2x16 PackUnorm2x16 PackHalf2x16 PackDouble2x32 UnpackSnorm2x16
61 UnpackUnorm2x16 UnpackHalf2x16 UnpackSnorm4x8 UnpackUnorm4x8 UnpackDouble2x32
66 Length Distance/2 Cross/2 Normalize FaceForward/3 Reflect/2 Refract/3 FindILsb
74 FindSMsb FindUMsb
79 NMin/2 NMax/2 NClamp/3
"""


class Entry(NamedTuple):
    """A member of an extended instruction set."""

    set_name: str
    name: str
    number: int
    operand_count: int | None
    """How many ids it takes; None for one or more."""

    def takes(self, count: int) -> bool:
        """Whether it can be given so many operands."""
        return count > 0 if self.operand_count is None else count == self.operand_count


@cache
def members(set_name: str) -> dict[str, Entry]:
    """The members of a set by name.

    >>> members("OpenCL.std")["fma"].number, members("GLSL.std.450")["Fma"].number
    (26, 50)
    """
    table = {"OpenCL.std": _OPENCL, "GLSL.std.450": _GLSL}.get(set_name)
    assert table is not None, f"unknown instruction set {set_name}"
    found: dict[str, Entry] = {}
    for line in table.strip().splitlines():
        first, *words = line.split()
        for at, word in enumerate(words, int(first)):
            name, _, count = word.partition("/")
            operand_count = None if count == "+" else int(count or 1)
            found[name] = Entry(set_name, name, at, operand_count)
    return found


def member(set_name: str, name: str) -> Entry:
    """One member of a set."""
    assert name in members(set_name), f"{set_name} has no {name}"
    return members(set_name)[name]
