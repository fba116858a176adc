"""Expansions say the same as what they replace: run before and after, to the bit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.arith_values import floats, integers
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from coopc.compiler import new_context
from coopc.dialects import simt
from coopc.interface_call import DTYPES
from coopc.parsing import parse
from coopc.passes.generic import (
    expand_arith,
    expand_math,
    expand_narrow_floats,
    expand_vector,
)
from coopc.passes.generic.expansion import ExpandPass
from coopc.passes.generic.set_target import target
from coopc.rounding import FORMATS
from coopc.sim.numerics import decoded, encoded
from coopc.sim.simulate import simulate
from coopc.sim.values import CODED
from coopc.source import Source
from coopc.universe import everything

Array = npt.NDArray[Any]

VULKAN = ("lavapipe", "vulkan")
OPENCL = ("bmg", "opencl")
AMX = ("amx", None)
RDNA4 = ("rdna4", "vulkan")
INTEL_CPU = ("intel-cpu", "opencl")


@dataclass(frozen=True)
class Case:
    """An operation on numbers of some types, and what expands it."""

    expand: type[ExpandPass]
    device: tuple[str, str | None]
    text: str
    """With operands %a, %b, %c and a result %r."""
    types: tuple[str, ...]
    """Of the operands."""
    result: str
    ulps: int = 0
    """How many units in the last place the result may differ by."""

    @property
    def name(self) -> str:
        """For the list of tests."""
        return f"{self.device[0]}: {self.text}"


def module_of(case: Case) -> ModuleOp:
    """A loop over arrays of operands."""
    names = "abc"[: len(case.types)]
    pairs = list(zip(names, case.types, strict=True))
    arguments = ", ".join(f"%m{n}: memref<?x{t}>" for n, t in pairs)
    loads = "\n".join(f"%{n} = memref.load %m{n}[%i] : memref<?x{t}>" for n, t in pairs)
    text = f"""
    func.func @f({arguments}, %mr: memref<?x{case.result}>) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %n = memref.dim %ma, %zero : memref<?x{case.types[0]}>
      scf.for %i = %zero to %n step %one {{
        {loads}
        {case.text}
        memref.store %r, %mr[%i] : memref<?x{case.result}>
      }}
      func.return
    }}"""
    return parse(new_context(everything()), Source(text))


def operands(types: Sequence[str]) -> list[Array]:
    """Interesting numbers of some types, all pairs of them, then random ones."""
    found: list[Array] = []
    for number, name in enumerate(types):
        if name == "bf16":
            wide = floats("f32")[number % 2]
            found.append((wide.view(np.uint32) >> 16).astype(np.uint16))
        elif name in CODED:
            codes = np.arange(256, dtype=np.uint8)
            found.append(codes * np.uint8(37) if number % 2 else codes)
        elif name.startswith("f"):
            found.append(floats(name)[number % 2])
        else:
            bits = 64 if name == "index" else max(8, int(name[1:]))
            one = integers(bits)[number % 2]
            found.append(one % 2 if name == "i1" else one)
    size = min(map(len, found))
    dtypes = [DTYPES[name][0] for name in types]
    return [
        np.ascontiguousarray(each[:size]).view(dtype)
        for each, dtype in zip(found, dtypes, strict=True)
    ]


def run(module: ModuleOp, case: Case) -> Array:
    """What a module makes of the operands."""
    given = operands(case.types)
    result = np.zeros(len(given[0]), DTYPES[case.result][0])
    simulate(module, "f", [*given, result])
    return result


def expand(module: ModuleOp, case: Case) -> None:
    """Expand what the device of a case lacks."""
    device, flavour = case.device
    if flavour is None:
        case.expand(device).apply(Context(), module)
        return
    module.attributes[simt.TARGET] = target(device, flavour)
    case.expand().apply(Context(), module)
    module.verify()


def numbers(values: Array, type: str) -> Array:
    """Floats of any format as f64."""
    if type in CODED:
        return decoded(values, type).astype(np.float64)
    return values.astype(np.float64)


ARITH, NARROW = (
    expand_arith.ExpandArithPass,
    expand_narrow_floats.ExpandNarrowFloatsPass,
)
MATH, VECTOR = expand_math.ExpandMathPass, expand_vector.ExpandVectorPass


def binary(name: str, type: str) -> str:
    return f"%r = {name} %a, %b : {type}"


DIVISIONS = ("arith.floordivsi", "arith.ceildivsi", "arith.ceildivui", "arith.remsi")
ADD = "arith.addui_extended"
LOGIC = ("addi", "subi", "muli", "minui", "maxui", "minsi", "maxsi")
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CASES = [
    *(
        Case(
            ARITH,
            VULKAN,
            f"""%zero_{t} = arith.constant 0 : {t}
            %least = arith.constant {-(1 << (bits - 1))} : {t}
            %one_{t} = arith.constant 1 : {t}
            %minus = arith.constant -1 : {t}
            %by0 = arith.cmpi eq, %b, %zero_{t} : {t}
            %isleast = arith.cmpi eq, %a, %least : {t}
            %isminus = arith.cmpi eq, %b, %minus : {t}
            %wraps = arith.andi %isleast, %isminus : i1
            %bad = arith.ori %by0, %wraps : i1
            %d = arith.select %bad, %one_{t}, %b : {t}
            %r = {op} %a, %d : {t}""",
            (t, t),
            t,
        )
        for bits in (8, 16, 32, 64)
        for t in (f"i{bits}",)
        for op in DIVISIONS
    ),
    *(
        Case(
            ARITH,
            OPENCL,
            f"%s, %r = arith.addui_extended %a, %b : {t}, i1",
            (t, t),
            "i1",
        )
        for t in ("i8", "i32", "i64")
    ),
    *(
        Case(ARITH, VULKAN, binary(f"arith.{op}", "i1"), ("i1", "i1"), "i1")
        for op in LOGIC
    ),
    *(
        Case(ARITH, VULKAN, binary(f"arith.cmpi {p},", "i1"), ("i1", "i1"), "i1")
        for p in PREDICATES
    ),
    *(
        Case(ARITH, OPENCL, f"%r = arith.{op} %a : i1 to {t}", ("i1",), t)
        for op, t in (
            *(("extui", "i8"), ("extsi", "i32"), ("extsi", "i64")),
            *(("uitofp", "f32"), ("sitofp", "f16"), ("uitofp", "bf16")),
        )
    ),
    Case(ARITH, VULKAN, "%r = arith.trunci %a : i32 to i1", ("i32",), "i1"),
    *(
        Case(ARITH, VULKAN, binary(f"arith.cmpf {p},", "f32"), ("f32", "f32"), "i1")
        for p in ("true", "false")
    ),
    *(
        Case(ARITH, device, binary(f"arith.{op}", t), (t, t), t)
        for t in ("f16", "f32", "f64")
        for op in ("maximumf", "minimumf")
        for device in (VULKAN, OPENCL)
    ),
    *(
        Case(ARITH, INTEL_CPU, text.format(t=t), (t,), t)
        for t in ("f16", "f32", "f64")
        for text in (
            "%r = arith.negf %a : {t}",
            "%c = arith.constant -1.0 : {t}\n%r = arith.mulf %c, %a : {t}",
        )
    ),
    *(
        Case(NARROW, device, binary(op, "bf16"), ("bf16", "bf16"), "bf16")
        for op in (
            *("arith.addf", "arith.subf", "arith.mulf", "arith.divf"),
            *("arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.minimumf"),
        )
        for device in (VULKAN, OPENCL, AMX)
    ),
    *(
        Case(NARROW, AMX, f"%r = {op} %a : bf16", ("bf16",), "bf16")
        for op in ("arith.negf", "math.sqrt", "math.absf", "math.floor")
    ),
    *(
        Case(NARROW, AMX, binary(f"arith.cmpf {p},", "bf16"), ("bf16", "bf16"), "i1")
        for p in ("oeq", "olt", "uge", "ord", "uno")
    ),
    *(
        Case(NARROW, AMX, f"%r = arith.{op} %a : {s} to {t}", (s,), t)
        for op, s, t in (
            *(("extf", "bf16", "f32"), ("extf", "bf16", "f64")),
            *(("truncf", "f32", "bf16"), ("truncf", "f64", "bf16")),
            *(("truncf", "f64", "f16"), ("sitofp", "i8", "bf16")),
            *(("sitofp", "i32", "bf16"), ("uitofp", "i32", "bf16")),
            *(("sitofp", "i64", "bf16"), ("uitofp", "i64", "bf16")),
        )
    ),
    *(
        Case(NARROW, device, text.format(t=t), types, to or t)
        for t in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU")
        for device in (AMX, RDNA4)
        for text, types, to in (
            ("%r = arith.extf %a : {t} to f32", (t,), "f32"),
            ("%r = arith.extf %a : {t} to f16", (t,), "f16"),
            ("%r = arith.extf %a : {t} to bf16", (t,), "bf16"),
            ("%r = arith.truncf %a : f32 to {t}", ("f32",), ""),
            ("%r = arith.truncf %a : f64 to {t}", ("f64",), ""),
            ("%r = arith.sitofp %a : i32 to {t}", ("i32",), ""),
            ("%r = arith.addf %a, %b : {t}", (t, t), ""),
            ("%r = arith.cmpf olt, %a, %b : {t}", (t, t), "i1"),
        )
    ),
    *(
        Case(MATH, VULKAN, binary("math.copysign", t), (t, t), t)
        for t in ("f16", "f32", "f64")
    ),
    *(
        Case(MATH, VULKAN, f"%r = math.round %a : {t}", (t,), t)
        for t in ("f16", "f32", "f64")
    ),
    *(
        Case(MATH, VULKAN, f"%r = math.{op} %a : {t}", (t,), t)
        for op in ("ctpop", "ctlz", "cttz")
        for t in ("i8", "i16", "i32", "i64")
    ),
    *(
        Case(MATH, VULKAN, f"%r = math.{op} %a : f32", ("f32",), "f32", ulps=8)
        for op in ("cbrt", "erf", "erfc", "expm1", "log10", "log1p")
    ),
    Case(MATH, VULKAN, "%r = math.erf %a : f16", ("f16",), "f16"),
    Case(MATH, VULKAN, "%r = math.erfc %a : f16", ("f16",), "f16"),
    Case(
        MATH, VULKAN, "%r = math.fpowi %a, %b : f32, i8", ("f32", "i8"), "f32", ulps=8
    ),
    *(
        Case(MATH, AMX, f"%r = math.{op} %a : f16", ("f16",), "f16")
        for op in ("sqrt", "floor", "absf", "roundeven", "erfc")
    ),
    *(
        # Of 0 and -0 either is right; other f16 are further apart than this.
        Case(NARROW, AMX, f"%r = arith.{op} %a, %b : f16", ("f16",) * 2, "f16", ulps=1)
        for op in ("maxnumf", "minnumf")
    ),
    Case(MATH, AMX, "%r = math.fma %a, %b, %c : f16", ("f16",) * 3, "f16"),
    Case(MATH, AMX, "%r = math.fma %a, %b, %c : bf16", ("bf16",) * 3, "bf16"),
    Case(MATH, AMX, "%r = math.rsqrt %a : f32", ("f32",), "f32", ulps=2),
    *(
        Case(
            MATH,
            AMX,
            f"""%v = vector.broadcast %a : f32 to vector<2xf32>
            %w = math.{op} %v : vector<2xf32>
            %r = vector.extract %w[1] : f32 from vector<2xf32>""",
            ("f32",),
            "f32",
            ulps=2 if op in ("sin", "cos") else 3,
        )
        for op in (
            *("exp", "exp2", "expm1", "log", "log10", "log1p", "log2"),
            *("sin", "cos", "tanh", "erf", "erfc"),
        )
    ),
    Case(
        MATH,
        AMX,
        """%v = vector.broadcast %a : f32 to vector<2xf32>
        %u = vector.broadcast %b : f32 to vector<2xf32>
        %w = math.powf %v, %u : vector<2xf32>
        %r = vector.extract %w[1] : f32 from vector<2xf32>""",
        ("f32", "f32"),
        "f32",
        ulps=1,
    ),
    *(
        Case(MATH, device, f"%r = math.{op} %a : {t}", (t,), "i1")
        for op in ("isnan", "isinf", "isfinite", "isnormal")
        for t, device in (("f16", VULKAN), ("bf16", AMX), ("f32", AMX), ("f64", VULKAN))
    ),
    *(
        Case(MATH, AMX, f"%r = math.clampf %a to [%b, %c] : {t}", (t,) * 3, t)
        for t in ("bf16", "f32")
    ),
    Case(
        MATH,
        AMX,
        "%k = arith.constant 5 : i16\n%r = math.ipowi %a, %k : i16",
        ("i16",),
        "i16",
    ),
    *(
        Case(
            MATH,
            VULKAN,
            f"""%k = arith.constant 1 : i32
            {operand}
            %r = math.ipowi %x, %y : i32""",
            ("i32", "i32"),
            "i32",
        )
        for operand in (
            "%x = arith.ori %a, %k : i32\n%y = arith.ori %b, %b : i32",
            "%x = arith.ori %a, %a : i32\n%y = arith.shrui %b, %k : i32",
        )
    ),
    *(
        Case(
            VECTOR,
            VULKAN,
            f"""%x = vector.broadcast %a : {t} to vector<3x{t}>
            %v = vector.insert %b, %x[1] : {t} into vector<3x{t}>
            %r = vector.reduction <{kind}>, %v, %b : vector<3x{t}> into {t}""",
            (t, t),
            t,
        )
        for t, kinds in (
            (
                "i8",
                ("add", "mul", "minui", "minsi", "maxui", "maxsi", "and", "or", "xor"),
            ),
            ("f32", ("add", "mul", "minnumf", "maxnumf", "minimumf", "maximumf")),
            ("bf16", ("add", "mul", "maximumf")),
            ("f8E5M2", ("add", "mul", "maximumf")),
        )
        for kind in kinds
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_meaning_stays(case: Case) -> None:
    before, after = module_of(case), module_of(case)
    expand(after, case)
    with np.errstate(all="ignore"):
        expected, found = run(before, case), run(after, case)
        if "f" not in case.result:
            assert np.array_equal(expected, found)
            return
        x, y = (numbers(each, case.result) for each in (expected, found))
        same = (x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y)
        if case.ulps:
            same |= np.abs(x - y) <= case.ulps * 2.0**-23 * np.abs(x)
    assert same.all(), (
        x[~same],
        y[~same],
        [each[~same] for each in operands(case.types)],
    )


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_something_is_expanded(case: Case) -> None:
    """Of what the device lacks: a count of 32 bits and equality it has."""
    module = module_of(case)
    before = str(module)
    expand(module, case)
    module.attributes.pop(simt.TARGET, None)
    has = "math.ct" in case.text and case.types == ("i32",)
    has |= "cmpi eq" in case.text and case.types[0] == "i1"
    has |= "cmpi ne" in case.text and case.types[0] == "i1"
    has |= case.device == OPENCL and "remsi" in case.text
    has |= case.device == RDNA4 and case.text.endswith("f8E4M3FN to f16")
    has |= case.device == RDNA4 and case.text.endswith("f8E5M2 to f16")
    assert (str(module) == before) == has


@pytest.mark.parametrize("type", ["f8E4M3FN", "f8E5M2", "f8E8M0FNU"])
@pytest.mark.parametrize("source", ["f16", "bf16", "f32", "f64"])
def test_f8_is_rounded_once(source: str, type: str) -> None:
    """Codes, what lies half-way between two, and the neighbours of that."""
    codes = decoded(np.arange(256, dtype=np.uint8), type).astype(np.float64)
    finite = np.unique(codes[np.isfinite(codes)])
    middle = (finite[1:] + finite[:-1]) / 2
    ends = [464.0, 480.0, 61440.0, 65536.0, 1e38, 2.0**-10, 2.0**-17, 2.0**-140, np.nan]
    tried = np.concatenate([codes, middle, ends])
    if source in ("f32", "f64"):
        kind = np.dtype(DTYPES[source][0]).type
        near = (np.nextafter(tried.astype(kind), kind(x)) for x in (-9e9, 9e9))
        tried = np.concatenate([tried, *near])
    given = encoded(tried, source) if source in CODED else None
    if given is None:
        with np.errstate(over="ignore"):
            given = tried.astype(DTYPES[source][0])
    text = f"%r = arith.truncf %a : {source} to {type}"
    case = Case(NARROW, AMX, text, (source,), type)
    module = module_of(case)
    expand(module, case)
    result = np.zeros(len(given), np.uint8)
    simulate(module, "f", [given, result])
    exact = (decoded(given, source) if source in CODED else given).tolist()
    assert result.tolist() == [FORMATS[type].encode(x) for x in exact]


@pytest.mark.parametrize("op", ["floordivsi", "ceildivui"])
def test_i1_is_not_divided(op: str) -> None:
    case = Case(ARITH, VULKAN, binary(f"arith.{op}", "i1"), ("i1", "i1"), "i1")
    with pytest.raises(PassFailedException, match="8 bits or more, got i1"):
        expand(module_of(case), case)


def test_a_target_is_needed() -> None:
    case = CASES[0]
    with pytest.raises(
        PassFailedException, match=r"expected simt\.target on the module"
    ):
        case.expand().apply(Context(), module_of(case))
