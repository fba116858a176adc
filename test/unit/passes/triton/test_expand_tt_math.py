"""Arithmetic that only Triton has: exact, before and after, and on a run-time."""

import re
from collections.abc import Callable
from math import frexp, isinf, isnan
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from support.triton_cases import compiled
from xdsl.dialects.builtin import ModuleOp

import coopc
from coopc.compiler import new_context
from coopc.dialects.tt.arithmetic import FUNCTIONS, function_of
from coopc.interface_call import pack
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.rounding import FORMATS
from coopc.run import opencl
from coopc.run.execute import on_opencl
from coopc.sim.errors import SimulationError
from coopc.sim.numerics import from_bf16, to_bf16
from coopc.sim.simulate import simulate
from coopc.sim.triton import with_functions
from coopc.source import Source
from coopc.universe import everything

Array = npt.NDArray[Any]

SIZE = 1024
TEXT = """
#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [16], warpsPerCTA = [4],
                   order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  tt.func public @k(%p: !tt.ptr<T>, %q: !tt.ptr<T>, %r: !tt.ptr<T>, %out: !tt.ptr<U>) {
    %range = tt.make_range {end = SIZE : i32, start = 0 : i32} : tensor<SIZExi32, #b>
    LOADS
    %found = OPERATION : TYPE
    %base = tt.splat %out : !tt.ptr<U> -> tensor<SIZEx!tt.ptr<U>, #b>
    %to = tt.addptr %base, %range : tensor<SIZEx!tt.ptr<U>, #b>, tensor<SIZExi32, #b>
    tt.store %to, %found : tensor<SIZEx!tt.ptr<U>, #b>
    tt.return
  }
}
"""
LOAD = """
    %bN = tt.splat %N : !tt.ptr<T> -> tensor<SIZEx!tt.ptr<T>, #b>
    %aN = tt.addptr %bN, %range : tensor<SIZEx!tt.ptr<T>, #b>, tensor<SIZExi32, #b>
    %vN = tt.load %aN : tensor<SIZEx!tt.ptr<T>, #b>
"""


def kernel(operation: str, element: str, result: str | None = None) -> str:
    """Return a kernel that does something to each element of %vp, %vq, %vr."""
    tensor = f"tensor<{SIZE}x{element}, #b>"
    is_cast = result is not None
    type = f"{tensor} -> tensor<{SIZE}x{result}, #b>" if is_cast else tensor
    if "extern" in operation:
        count = len(re.findall("%v", operation))
        type = f"({', '.join([tensor] * count)}) -> {tensor}"
    loads = "".join(LOAD.replace("N", name) for name in "pqr")
    text = TEXT.replace("LOADS", loads).replace("OPERATION", operation)
    text = text.replace("TYPE", type).replace("SIZE", str(SIZE))
    text = re.sub(r"\bU>", f"{result or element}>", text)
    return re.sub(r"\bT>", f"{element}>", text)


def after(text: str, pipeline: str) -> ModuleOp:
    """Return a program after some passes."""
    universe = everything()
    ctx, source = new_context(universe), Source(text, "kernel")
    module = parse(ctx, source)
    Run(ctx, source).apply(module, read_passes(pipeline, universe.all_passes))
    return module


def awkward(element: str, seed: int) -> Array:
    """Return numbers of all sizes, and all that are special."""
    random = np.random.default_rng(seed)
    if element[0] == "i":
        return random.integers(0, 1 << 64, SIZE, "u8").astype(
            f"i{int(element[1:]) // 8}"
        )
    dtype = np.dtype({"f16": "f2", "bf16": "f4", "f32": "f4", "f64": "f8"}[element])
    bits = random.integers(0, 1 << 64, SIZE, "u8").astype(f"u{dtype.itemsize}")
    numbers = bits.view(dtype).copy()
    info = np.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 3.0, info.max, info.tiny]
    special.append(info.smallest_subnormal)
    numbers[: SIZE // 4] = random.choice(np.array(special, dtype), SIZE // 4)
    numbers[SIZE // 4 : SIZE // 2] = random.integers(-9, 9, SIZE // 4)
    return to_bf16(numbers) if element == "bf16" else numbers


def same(found: Array, expected: Array) -> bool:
    """Whether two arrays have the same bits; a NaN is any NaN."""
    if found.dtype.kind != "f":
        return np.array_equal(found, expected)
    nan = np.isnan(expected)
    if not np.array_equal(np.isnan(found), nan):
        return False
    type = f"u{found.dtype.itemsize}"
    return np.array_equal(found[~nan].view(type), expected[~nan].view(type))


def check(
    text: str,
    element: str,
    compute: Callable[..., Array],
    session: opencl.Session | None,
) -> None:
    """Compare a kernel, what becomes of it, and what runs, with numpy."""
    inputs = [awkward(element, seed) for seed in range(3)]
    values = (
        [from_bf16(x).astype("f4") for x in inputs] if element == "bf16" else inputs
    )
    with np.errstate(all="ignore"):
        expected = compute(*values)
    out = np.zeros(SIZE, expected.dtype if element != "bf16" else inputs[0].dtype)

    def is_right(found: Array) -> bool:
        return same(from_bf16(found) if element == "bf16" else found, expected)

    simulate(with_functions(after(text, "")), "k", [*inputs, out], grid=(1,))
    assert is_right(out)
    out[:] = 0
    simulate(
        with_functions(after(text, "expand-tt-math")), "k", [*inputs, out], grid=(1,)
    )
    assert is_right(out)
    out[:] = 0
    simulate(after(text, "coopc-xe{device=bmg}"), "k", [*inputs, out], grid=(1,))
    assert is_right(out)
    if session is not None:
        artifact = coopc.compile(
            text, "coopc-xe{device=bmg emulate=true}", "spirv-binary"
        )
        (interface,) = artifact.interface
        call = pack(interface, [*inputs, np.zeros_like(out)], (1, 1, 1))
        assert is_right(on_opencl(artifact.bytes, call, session).arrays[3])


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_precise_division(element: str, intel_cpu: opencl.Session) -> None:
    def quotient(x: Array, y: Array, _: Array) -> Array:
        found = x / y
        return from_bf16(to_bf16(found)) if element == "bf16" else found

    check(kernel("tt.precise_divf %vp, %vq", element), element, quotient, intel_cpu)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_precise_root(element: str, intel_cpu: opencl.Session) -> None:
    def root(x: Array, *_: Array) -> Array:
        found = np.sqrt(x)
        return from_bf16(to_bf16(found)) if element == "bf16" else found

    check(kernel("tt.precise_sqrt %vp", element), element, root, intel_cpu)


@pytest.mark.parametrize("propagate", ["none", "all"])
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_clamp(element: str, propagate: str, intel_cpu: opencl.Session) -> None:
    """NaN is kept, or becomes the least; the bounds are numbers."""

    def clamp(x: Array, *_: Array) -> Array:
        inside = np.minimum(np.maximum(x, -2), 3)
        return inside if propagate == "all" else np.where(np.isnan(x), -2, inside)

    operation = f"tt.clampf %vp, %low, %high, propagateNan = {propagate}"
    type = f"tensor<{SIZE}x{element}, #b>"
    bounds = "".join(
        f"    %{name} = arith.constant dense<{value}> : {type}\n"
        for name, value in (("low", "-2.0"), ("high", "3.0"))
    )
    text = kernel(operation, element).replace("    %found", f"{bounds}    %found")

    def of_type(*xs: Array) -> Array:
        return clamp(*xs).astype(xs[0].dtype)

    check(text, element, of_type, intel_cpu)


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
def test_high_half_of_a_product(element: str, intel_cpu: opencl.Session) -> None:
    def high(x: Array, y: Array, _: Array) -> Array:
        bits = x.dtype.itemsize * 8
        wide = [each.view(f"u{bits // 8}").astype(object) for each in (x, y)]
        return ((wide[0] * wide[1]) >> bits).astype(f"u{bits // 8}").view(x.dtype)

    check(kernel("tt.mulhiui %vp, %vq", element), element, high, intel_cpu)


@pytest.mark.parametrize(("element", "result"), [("i32", "f32"), ("f16", "i16")])
def test_bits(element: str, result: str, intel_cpu: opencl.Session) -> None:
    dtype = f"{result[0]}{int(result[1:]) // 8}"
    text = kernel("tt.bitcast %vp", element, result)

    def view(x: Array, *_: Array) -> Array:
        # Which NaN it is a value of floats does not say.
        return x.view(dtype)

    if element == "f16":
        inputs = awkward("f16", 0)
        inputs[np.isnan(inputs)] = 1
        out = np.zeros(SIZE, dtype)
        pipelines: tuple[str, ...] = ("", "expand-tt-math")
        for pipeline in pipelines:
            simulate(
                with_functions(after(text, pipeline)),
                "k",
                [inputs, inputs, inputs, out],
                grid=(1,),
            )
            assert np.array_equal(out, inputs.view(dtype))
    else:
        check(text, element, view, intel_cpu)


@pytest.mark.parametrize(
    ("symbol", "operands", "function"),
    [
        ("__imf_tanhf", "%vp", np.tanh),
        ("__nv_expf", "%vp", np.exp),
        ("_Z15__spirv_ocl_powff", "%vp, %vq", np.power),
        ("__imf_fabsf", "%vp", np.abs),
    ],
)
def test_functions_of_libraries(
    symbol: str, operands: str, function: Callable[..., Array]
) -> None:
    attributes = f'{{libname = "", libpath = "", pure = true, symbol = "{symbol}"}}'
    text = kernel(f"tt.extern_elementwise {operands} {attributes}", "f32")

    def compute(*xs: Array) -> Array:
        wide = (x.astype("f8") for x in xs[: operands.count("%")])
        return function(*wide).astype("f4")

    check(text, "f32", compute, None)


Computes: TypeAlias = (
    Callable[[Array], Any]
    | Callable[[Array, Array], Any]
    | Callable[[Array, Array, Array], Any]
)
NUMBERS: dict[str, tuple[str, str, Computes]] = {
    "isnanf": ("f4", "i4", np.isnan),
    "isinfd": ("f8", "i4", np.isinf),
    "finitef": ("f4", "i4", np.isfinite),
    "signbitd": ("f8", "i4", np.signbit),
    "llrintf": ("f4", "i8", np.rint),
    "llround": ("f8", "i8", lambda x: np.trunc(x + np.copysign(0.5, x))),
    "float2int_rd": ("f4", "i4", np.floor),
    "double2uint_rz": ("f8", "i4", lambda x: np.trunc(x).astype("u4")),
    "double2ll_ru": ("f8", "i8", np.ceil),
    "ull2float_rn": ("i8", "f4", lambda x: x.view("u8")),
    "float_as_int": ("f4", "i4", lambda x: x.view("i4")),
    "longlong_as_double": ("i8", "f8", lambda x: x.view("f8")),
    "frcp_rn": ("f4", "f4", lambda x: 1 / x),
    "dsqrt_rn": ("f8", "f8", np.sqrt),
    "popcll": ("i8", "i4", lambda x: np.bitwise_count(x.view("u8"))),
    "clz": ("i4", "i4", lambda x: [32 - int(n).bit_length() for n in x.view("u4")]),
    "ffsll": ("i8", "i4", lambda x: [(int(n) & -int(n)).bit_length() for n in x]),
    "brev": ("i4", "i4", lambda x: [int(f"{n:032b}"[::-1], 2) for n in x.view("u4")]),
    "ilogbf": ("f4", "i4", lambda x: [exponent(float(n)) for n in x]),
    "ilogb": ("f8", "i4", lambda x: [exponent(float(n)) for n in x]),
    "fdim": ("f8 f8", "f8", lambda x, y: np.where(x <= y, 0, x - y)),
    "nextafterf": ("f4 f4", "f4", np.nextafter),
    "nextafter": ("f8 f8", "f8", np.nextafter),
    "fdiv_rn": ("f4 f4", "f4", np.divide),
    "fmodf": ("f4 f4", "f4", np.fmod),
    "fma_rn": ("f8 f8 f8", "f8", lambda x, y, z: x * y + z),
}
"""Functions by their names: types of operands and of the result as numpy has them, and
what computes it."""
NEAR: dict[str, tuple[str, str, Computes]] = {
    "saturatef": ("f4", "f4", lambda x: np.where(np.isnan(x), 0, np.clip(x, 0, 1))),
    "hypotf": ("f4 f4", "f4", np.hypot),
    "rhypot": ("f8 f8", "f8", lambda x, y: 1 / np.hypot(x, y)),
    "cospif": ("f4", "f4", lambda x: np.cos(np.pi * x.astype("f8")).round(9)),
    "sinpi": ("f8", "f8", lambda x: np.sin(np.pi * x).round(9)),
    "exp10f": ("f4", "f4", lambda x: np.power(10.0, x)),
    "rcbrt": ("f8", "f8", lambda x: 1 / np.cbrt(x)),
    "fast_sinf": ("f4", "f4", np.sin),
    "fast_fdividef": ("f4 f4", "f4", np.divide),
    "ldexpf": ("f4 i4", "f4", lambda x, n: np.ldexp(x.astype("f8"), n)),
    "scalbn": ("f8 i4", "f8", np.ldexp),
    "powif": ("f4 i4", "f4", lambda x, n: np.power(x.astype("f8"), n)),
}
"""The same of functions that may be a few units in the last place off."""


def exponent(x: float) -> int:
    if isnan(x) or x == 0:
        return -(1 << 31)
    return (1 << 31) - 1 if isinf(x) else frexp(x)[1] - 1


def sample(dtype: str, seed: int, is_exponent: bool) -> Array:
    """Numbers that are special, of all sizes, and small; small ones if asked."""
    random, kind = np.random.default_rng(seed), dtype[0] + str(8 * int(dtype[1]))
    if is_exponent:
        return random.integers(-300, 300, SIZE).astype(dtype)
    return awkward(kind, seed)


@pytest.mark.parametrize("name", {**NUMBERS, **NEAR})
def test_numbers(name: str) -> None:
    """Before and after, and in vectors of a processor."""
    types, result, compute = {**NUMBERS, **NEAR}[name]
    dtypes = types.split()
    is_mixed = types.endswith("f4 i4") or types.endswith("f8 i4")
    inputs = [sample(x, n, is_mixed and n == 1) for n, x in enumerate(dtypes)]
    if name in ("fma_rn", "powif", "cospif", "sinpi", "exp10f", "fast_sinf"):
        small = np.random.default_rng(0).integers(-16, 17, (len(dtypes), SIZE))
        inputs = [
            n.astype(x) if x[0] == "i" else n.astype(x) / 2
            for n, x in zip(small, dtypes, strict=True)
        ]
    if "2" in name or name.startswith("ll"):  # others have no integer
        inputs = [np.where(abs(x) < 1e9, x, 7).astype(x.dtype) for x in inputs]
    if name == "double2uint_rz":
        inputs = [abs(inputs[0])]
    with np.errstate(all="ignore"):
        found = compute(*inputs)
        if isinstance(found, list):
            found = np.array(found, "i8")
        expected = found.astype(result)
    module = after(of_library(name, dtypes, result), "")
    for passes in ("", "expand-tt-math"):
        out = np.zeros(SIZE, result)
        run = after(of_library(name, dtypes, result), passes) if passes else module
        simulate(with_functions(run), "k", [*inputs, out], grid=(1,))
        if name in NUMBERS:
            assert same(out, expected), passes
        else:
            np.testing.assert_allclose(out, expected, 1e-5 if result == "f4" else 1e-13)


def of_library(name: str, dtypes: list[str], result: str) -> str:
    """A kernel that calls a function for each element."""
    types = [f"{x[0]}{8 * int(x[1])}" for x in (*dtypes, result)]
    lines: list[str] = []
    for n, type in enumerate(types):
        pointers = f"tensor<{SIZE}x!tt.ptr<{type}>>"
        lines += [
            f"%s{n} = tt.splat %p{n} : !tt.ptr<{type}> -> {pointers}",
            f"%a{n} = tt.addptr %s{n}, %i : {pointers}, tensor<{SIZE}xi32>",
        ]
    *given, to = (f"tensor<{SIZE}x{type}>" for type in types)
    lines += [
        f"%v{n} = tt.load %a{n} : tensor<{SIZE}x!tt.ptr<{type}>>"
        for n, type in enumerate(types[:-1])
    ]
    operands = ", ".join(f"%v{n}" for n in range(len(given)))
    arguments = ", ".join(f"%p{n}: !tt.ptr<{type}>" for n, type in enumerate(types))
    body = "\n".join(lines)
    return f"""
tt.func public @k({arguments}) {{
  %i = tt.make_range {{end = {SIZE} : i32, start = 0 : i32}} : tensor<{SIZE}xi32>
  {body}
  %f = tt.extern_elementwise {operands}
       {{libname = "", libpath = "", pure = true, symbol = "__nv_{name}"}}
       : ({", ".join(given)}) -> {to}
  tt.store %a{len(given)}, %f : tensor<{SIZE}x!tt.ptr<{types[-1]}>>
  tt.return
}}"""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_name_of_a_function(name: str) -> None:
    wanted = FUNCTIONS[name]
    mangled = f"__spirv_ocl_{name}"
    for symbol in (f"__imf_{name}f", f"__imf_{name}", f"__nv_{name}f"):
        assert function_of(symbol) is wanted
    assert function_of(f"_Z{len(mangled)}{mangled}f") is wanted
    assert function_of(name) is None


def test_an_unknown_function_is_not_simulated() -> None:
    attributes = '{libname = "", libpath = "", pure = true, symbol = "__imf_j0f"}'
    module = after(kernel(f"tt.extern_elementwise %vp {attributes}", "f32"), "")
    arrays = [np.zeros(SIZE, "f4") for _ in range(4)]
    with pytest.raises(SimulationError, match="a known function, got __imf_j0f"):
        simulate(with_functions(module), "k", arrays, grid=(1,))


@pytest.mark.parametrize(
    ("source", "result"),
    [("f32", "f16"), ("f32", "bf16"), ("f32", "f8E4M3FN"), ("f16", "f8E5M2")],
)
def test_toward_zero(source: str, result: str) -> None:
    """Of all numbers of the format the greatest that is not greater; NaN stays."""
    text = kernel("tt.fp_to_fp %vp, rounding = rtz", source, result)
    given, format = awkward(source, 0), FORMATS[result]
    known = [format.decode(x) for x in range(format.greatest_code + 1)]
    with np.errstate(invalid="ignore"):  # signalling NaN
        sizes = np.abs(given.astype("f8"))
    codes = np.searchsorted(known, sizes, side="right") - 1
    if format.bits == 16:  # f8 saturates
        codes[np.isinf(given)] += 1
    codes[np.signbit(given)] |= 1 << format.bits - 1
    is_number = ~np.isnan(given)
    for passes in ("", "expand-tt-math", "coopc-xe{device=bmg}"):
        module = after(text, passes)
        out = np.zeros(SIZE, "f2" if result == "f16" else f"u{format.bits // 8}")
        simulate(with_functions(module), "k", [given, given, given, out], grid=(1,))
        found = out.view(f"u{out.itemsize}")
        assert np.array_equal(found[is_number], codes[is_number])
        assert all(isnan(format.decode(int(x))) for x in found[~is_number])


SCALED = {
    "e2m1": ("i8", 2, True),
    "e2m1 along rows": ("i8", 2, False),
    "e4m3": ("i8", 1, True),
    "e5m2": ("f8E5M2", 1, True),
    "bf16": ("bf16", 1, True),
    "fp16": ("f16", 1, True),
}
"""By format: what holds an element, how many, whether these are neighbours along K."""


NOT_FINITE = {"e4m3": (0x7F,), "e5m2": (0x7C, 0x7D, 0x7E, 0x7F)}
"""Codes without their signs that are no numbers."""


def scaled_kernel(left: str, right: str) -> str:
    """A kernel of one product of two blocks, in these formats, with scales."""
    lines, operands, types = list[str](), list[str](), list[str]()
    for name, words, rows, cols in (("a", left, 16, 64), ("b", right, 64, 16)):
        held, count, along_k = SCALED[words]
        is_last = along_k == (name == "a")
        rows, cols = (rows, cols // count) if is_last else (rows // count, cols)
        groups = 2 if words not in ("bf16", "fp16") else 0
        for x, kind, m, n in (
            (name, held, rows, cols),
            *([(f"s{name}", "i8", 16, groups)] if groups else ()),
        ):
            size = m * n
            pointers = f"tensor<{size}x!tt.ptr<{kind}>>"
            lines += [
                f"%r{x} = tt.make_range {{end = {size} : i32, start = 0 : i32}} "
                f": tensor<{size}xi32>",
                f"%t{x} = tt.splat %{x} : !tt.ptr<{kind}> -> {pointers}",
                f"%p{x} = tt.addptr %t{x}, %r{x} : {pointers}, tensor<{size}xi32>",
                f"%l{x} = tt.load %p{x} : {pointers}",
                f"%v{x} = tt.reshape %l{x} : tensor<{size}x{kind}> "
                f"-> tensor<{m}x{n}x{kind}>",
            ]
        operands.append(f"%v{name}" + (f" scale %vs{name}" if groups else ""))
        type = f"tensor<{rows}x{cols}x{held}>"
        types.append(type + (", tensor<16x2xi8>" if groups else ""))
    packs = ", ".join(
        f"{x}_k_pack = {str(SCALED[y][2]).lower()}"
        for x, y in (("lhs", left), ("rhs", right))
    )
    formats = f"lhs = {left.split()[0]} rhs = {right.split()[0]}"
    body = "\n    ".join(lines)
    return f"""
tt.func public @k(%a: !tt.ptr<{SCALED[left][0]}>, %sa: !tt.ptr<i8>,
    %b: !tt.ptr<{SCALED[right][0]}>, %sb: !tt.ptr<i8>, %d: !tt.ptr<f32>) {{
    {body}
    %c = arith.constant dense<0.0> : tensor<16x16xf32>
    %x = tt.dot_scaled {operands[0]}, {operands[1]}, %c {formats}
         {{fastMath = false, {packs}}} : {types[0]} * {types[1]} -> tensor<16x16xf32>
    %y = tt.reshape %x : tensor<16x16xf32> -> tensor<256xf32>
    %r = tt.make_range {{end = 256 : i32, start = 0 : i32}} : tensor<256xi32>
    %t = tt.splat %d : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %p = tt.addptr %t, %r : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    tt.store %p, %y : tensor<256x!tt.ptr<f32>>
    tt.return
}}
"""


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("e2m1", "e2m1"),
        ("e2m1 along rows", "e2m1 along rows"),
        ("e4m3", "e2m1 along rows"),
        ("e5m2", "e4m3"),
        ("bf16", "e2m1"),
        ("e2m1", "fp16"),
    ],
)
def test_scaled_products(left: str, right: str) -> None:
    """All codes, a NaN of f8, scales from 0 to NaN, before and after."""
    source = Source(scaled_kernel(left, right), "k.mlir")
    draw, results = np.random.default_rng(1), list[Any]()
    given: list[Any] = []
    for words in (left, right):
        held, count, _ = SCALED[words]
        codes = draw.permutation(1024)[: 1024 // count].astype(np.uint8)
        (rest,) = np.nonzero(np.isin(codes & 127, NOT_FINITE.get(words, ())))
        codes[rest[1:]] = 1  # one says enough
        if words == "fp16":
            codes = draw.integers(-9, 10, 1024).astype(np.float16)
        elif words == "bf16":
            codes = (draw.integers(0, 200, 1024) + 0x3F00).astype(np.uint16)
        scales = draw.integers(120, 130, 32).astype(np.uint8)
        scales[[3, 20]] = 0, 255
        given += [codes.view(np.int8) if held == "i8" else codes, scales.view(np.int8)]
    for passes in ("", "expand-tt-math"):
        module = compiled(source, passes)
        out = np.full(256, 77, np.float32)
        arguments = [*(x.copy() for x in given), out]
        simulate(with_functions(module), "k", arguments, grid=(1,))
        results.append(out)
    assert np.array_equal(*results, equal_nan=True)
    assert np.isnan(results[0]).any()
    assert np.isfinite(results[0]).any()
