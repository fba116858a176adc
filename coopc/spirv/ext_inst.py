"""The numbers of the members of OpenCL.std and GLSL.std.450, mathematics first of all.

Sources: "OpenCL Extended Instruction Set Specification" and "GLSL.std.450", by
Khronos; every number is checked by assembling it.
"""

from functools import cache

_OPENCL = """
0 acos acosh acospi asin asinh asinpi atan atan2 atanh atanpi atan2pi
11 cbrt ceil copysign cos cosh cospi erfc erf exp exp2 exp10 expm1 fabs fdim floor
26 fma fmax fmin fmod fract frexp hypot ilogb ldexp lgamma lgamma_r log log2 log10
40 log1p logb mad maxmag minmag modf nan nextafter pow pown powr remainder remquo
53 rint rootn round rsqrt sin sincos sinh sinpi sqrt tan tanh tanpi tgamma trunc
67 half_cos half_divide half_exp half_exp2 half_exp10 half_log half_log2 half_log10
75 half_powr half_recip half_rsqrt half_sin half_sqrt half_tan native_cos
82 native_divide native_exp native_exp2 native_exp10 native_log native_log2
88 native_log10 native_powr native_recip native_rsqrt native_sin native_sqrt native_tan
95 fclamp degrees fmax_common fmin_common mix radians step smoothstep sign
104 cross distance length normalize fast_distance fast_length fast_normalize
141 s_abs s_abs_diff s_add_sat u_add_sat s_hadd u_hadd s_rhadd u_rhadd s_clamp u_clamp
151 clz ctz s_mad_hi u_mad_sat s_mad_sat s_max u_max s_min u_min s_mul_hi rotate
162 s_sub_sat u_sub_sat u_upsample s_upsample popcount s_mad24 u_mad24 s_mul24 u_mul24
171 vloadn vstoren vload_half vload_halfn vstore_half vstore_half_r vstore_halfn
178 vstore_halfn_r vloada_halfn vstorea_halfn vstorea_halfn_r shuffle shuffle2 printf
185 prefetch bitselect select
201 u_abs u_abs_diff u_mul_hi u_mad_hi
"""

_GLSL = """
1 Round RoundEven Trunc FAbs SAbs FSign SSign Floor Ceil Fract Radians Degrees
13 Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Atan2
26 Pow Exp Log Exp2 Log2 Sqrt InverseSqrt Determinant MatrixInverse Modf ModfStruct
37 FMin UMin SMin FMax UMax SMax FClamp UClamp SClamp FMix
48 Step SmoothStep Fma Frexp FrexpStruct Ldexp
54 PackSnorm4x8 PackUnorm4x8 PackSnorm2x16 PackUnorm2x16 PackHalf2x16 PackDouble2x32
60 UnpackSnorm2x16 UnpackUnorm2x16 UnpackHalf2x16 UnpackSnorm4x8 UnpackUnorm4x8
65 UnpackDouble2x32 Length Distance Cross Normalize FaceForward Reflect Refract
73 FindILsb FindSMsb FindUMsb
79 NMin NMax NClamp
"""


@cache
def members(set_name: str) -> dict[str, int]:
    """Name to number of a set's members.

    >>> members("OpenCL.std")["fma"], members("GLSL.std.450")["Fma"]
    (26, 50)
    """
    table = {"OpenCL.std": _OPENCL, "GLSL.std.450": _GLSL}.get(set_name)
    assert table is not None, f"unknown instruction set {set_name}"
    found: dict[str, int] = {}
    for line in table.strip().splitlines():
        first, *names = line.split()
        found |= {name: int(first) + at for at, name in enumerate(names)}
    return found


def number(set_name: str, name: str) -> int:
    """The number of one member."""
    assert name in members(set_name), f"{set_name} has no {name}"
    return members(set_name)[name]
