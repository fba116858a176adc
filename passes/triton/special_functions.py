"""Special functions of a device's library, of f32: see `library_functions`.

They are approximated by polynomials and fractions, to about 1e-5 of the result, or of 1
where that is less (`lgamma`, near its zeros).  Sources: W. H. Press et al., Numerical
Recipes (erfc, lgamma); M. Giles, Approximating the erfinv function, 2011 (erfinv);
M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 9.8 (i0, i1).
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf, log, pi, sqrt

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32

from coopc.dialects.shaped_arith import element_of
from coopc.emit.walker import NoForm
from coopc.passes.generic.expand_math import polynomial
from coopc.passes.generic.number import Num

ERFC = (
    *(-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807),
    *(-1.13520398, 1.48851587, -0.82215223, 0.17087277),
)
"""log(erfc(x) / t) + x^2 for t = 1 / (1 + x / 2), x >= 0, by powers of t."""
ERFINV_CENTER = (
    *(1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087),
    *(-4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08),
)
"""erfinv(x) / x by powers of w - 2.5, for w = -log(1 - x^2) < 5."""
ERFINV_TAIL = (
    *(2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773),
    *(-0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257),
)
"""The same by powers of sqrt(w) - 3, for w >= 5."""
LANCZOS = (
    *(76.18009172947146, -86.50532032941677, 24.01409824083091),
    *(-1.231739572450155, 0.1208650973866179e-2, -0.5395239384953e-5),
)
"""Numerators of the partial fractions of the gamma function."""
I0_CENTER = (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813)
"""I0(x) by powers of (x / 3.75)^2, for |x| <= 3.75."""
I0_TAIL = (
    *(0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706),
    *(0.02635537, -0.01647633, 0.00392377),
)
"""I0(x) sqrt(x) / exp(x) by powers of 3.75 / x, for x > 3.75."""
I1_CENTER = (
    *(0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733),
    *(0.00301532, 0.00032411),
)
"""I1(x) / x by powers of (x / 3.75)^2, for |x| <= 3.75."""
I1_TAIL = (
    *(0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967),
    *(-0.02895312, 0.01787654, -0.00420059),
)
"""I1(x) sqrt(x) / exp(x) by powers of 3.75 / x, for x > 3.75."""
SMALL = 1e-6
"""Below it erfcinv is computed in another way; the polynomials end at 1e-7."""
STEPS = 5
"""Of its iteration: each leaves 1 / (2 y^2) of the error, less than 1 / 20."""


def single(x: Num) -> Num:
    """Return an operand, which must be f32.

    Raises:
        NoForm: it has another type.
    """
    if (element := element_of(x.value.type)) != f32:
        raise NoForm(f"expected f32, of which it is approximated, got {element}")
    return x


def erfc_of_magnitude(x: Num, of_square: Num) -> Num:
    """Return t exp(s + p(t)) for s = `of_square`: erfc(|x|) if that is -x^2."""
    t = x.like(1.0) / (x.apply(math.AbsFOp) * 0.5 + 1.0)
    return t * (of_square + polynomial(t, ERFC)).apply(math.ExpOp)


def erfc(x: Num) -> Num:
    x = single(x)
    found = erfc_of_magnitude(x, (x * x).apply(arith.NegfOp))
    return x.compare("olt", 0.0).select(2.0 - found, found)


def erfcx(x: Num) -> Num:
    """exp(x^2) erfc(x), which is not 0 where erfc is."""
    x = single(x)
    found = erfc_of_magnitude(x, x.like(0.0))
    twice = (x * x).apply(math.ExpOp) * 2.0
    return x.compare("olt", 0.0).select(twice - found, found)


def erfinv_of(x: Num, rest: Num) -> Num:
    """Return erfinv(x), where `rest` is 1 - x^2, which x may be too inexact for."""
    w = rest.apply(math.LogOp).apply(arith.NegfOp)
    center = polynomial(w - 2.5, ERFINV_CENTER)
    tail = polynomial(w.apply(math.SqrtOp) - 3.0, ERFINV_TAIL)
    found = w.compare("olt", 5.0).select(center, tail) * x
    is_end = rest.compare("oeq", 0.0)
    return is_end.select(x.like(inf).apply(math.CopySignOp, x), found)


def erfinv(x: Num) -> Num:
    x = single(x)
    return erfinv_of(x, (1.0 - x) * (x + 1.0))


def erfcinv(x: Num) -> Num:
    """Where x is small it is y = sqrt(log(erfcx(y)) - log(x)), by iteration."""
    x = single(x)
    found = erfinv_of(1.0 - x, x * (2.0 - x))
    is_small = x.compare("olt", SMALL) & x.compare("ogt", 0.0)
    least = is_small.select(x, SMALL)
    wanted = least.apply(math.LogOp).apply(arith.NegfOp)
    y = wanted.apply(math.SqrtOp)
    for _ in range(STEPS):
        scaled = erfc_of_magnitude(y, y.like(0.0))
        y = (wanted + scaled.apply(math.LogOp)).apply(math.SqrtOp)
    return is_small.select(y, found)


def normcdfinv(x: Num) -> Num:
    return erfcinv(single(x) * 2.0) * -sqrt(2.0)


def normcdf(x: Num) -> Num:
    return erfc(single(x) * -sqrt(0.5)) * 0.5


def lgamma(x: Num) -> Num:
    """Log |gamma(x)|; of x < 1/2 by that of 1 - x."""
    x = single(x)
    is_left = x.compare("olt", 0.5)
    y = is_left.select(1.0 - x, x) - 1.0
    series = y.like(1.000000000190015)
    for at, factor in enumerate(LANCZOS, 1):
        series = series + y.like(factor) / (y + float(at))
    base = y + 5.5
    found = (y + 0.5) * base.apply(math.LogOp) - base
    found = found + (series.apply(math.LogOp) + log(sqrt(2 * pi)))
    whole = x.apply(math.FloorOp)
    sine = ((x - x.apply(math.RoundEvenOp)) * pi).apply(math.SinOp).apply(math.AbsFOp)
    mirrored = (x.like(pi) / sine).apply(math.LogOp) - found
    found = is_left.select(mirrored, found)
    is_pole = x.compare("oeq", whole) & x.compare("ole", 0.0)
    is_end = is_pole | x.apply(math.AbsFOp).compare("oeq", inf)
    return is_end.select(x.like(inf), found)


def bessel_i(
    x: Num, center: Sequence[float], tail: Sequence[float]
) -> tuple[Num, Num, Num]:
    """Return where |x| is small, and what there is for it and elsewhere."""
    size = single(x).apply(math.AbsFOp)
    ratio = size * (1 / 3.75)
    large = size.apply(arith.MaximumfOp, 3.75)  # of others exp and 1 / x are not used
    half = (large * 0.5).apply(math.ExpOp)  # exp(large) may be infinite
    far = half / large.apply(math.SqrtOp) * polynomial(large.like(3.75) / large, tail)
    far = far * half
    far = size.compare("oeq", inf).select(size, far)
    return size.compare("ole", 3.75), polynomial(ratio * ratio, center), far


def i0(x: Num) -> Num:
    is_small, near, far = bessel_i(x, I0_CENTER, I0_TAIL)
    return is_small.select(near, far)


def i1(x: Num) -> Num:
    is_small, near, far = bessel_i(x, I1_CENTER, I1_TAIL)
    return is_small.select(near * x, far.apply(math.CopySignOp, x))


OF_FLOAT: Mapping[str, Callable[[Num], Num]] = {
    "erfc": erfc,
    "erfcx": erfcx,
    "erfinv": erfinv,
    "erfcinv": erfcinv,
    "normcdf": normcdf,
    "normcdfinv": normcdfinv,
    "lgamma": lgamma,
    "cyl_bessel_i0": i0,
    "cyl_bessel_i1": i1,
}
