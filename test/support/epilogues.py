"""Multiplications with operations behind them: text of linalg, and numpy's result.

    Fused(Gemm((33, 17, 40)), "bias_relu", "f16").text

The body of an operation is lines: `%acc` is the sum, `%old` what the output was, other
operands have names, and `%y` is stored, converted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erf
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from coopc.generate.gemms import Gemm
from coopc.interface_call import CODED
from coopc.run.arguments import encode
from coopc.sim.numerics import decoded

Array: TypeAlias = npt.NDArray[Any]
BITS = {"i8": 8, "f16": 16, "bf16": 16, "i32": 32, "f32": 32}
ERF = np.vectorize(erf, otypes=[np.float64])

BIAS = "%y = arith.addf %acc, %bias : f32"
RELU = """
    %none = arith.constant 0.0 : f32
    %y = arith.maximumf %acc, %none : f32"""
GELU = """
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %root = arith.constant 0.70710678 : f32
    %u = arith.mulf %acc, %root : f32
    %e = math.erf %u : f32
    %p = arith.addf %e, %one : f32
    %h = arith.mulf %acc, %half : f32
    %y = arith.mulf %h, %p : f32"""
SILU = """
    %one = arith.constant 1.0 : f32
    %m = arith.negf %acc : f32
    %e = math.exp %m : f32
    %p = arith.addf %one, %e : f32
    %y = arith.divf %acc, %p : f32"""


@dataclass(frozen=True)
class Kind:
    """Operations behind a product."""

    reads: dict[str, tuple[str, str]]
    """The dimensions and the element type of operands of the first operation."""
    bodies: tuple[str, ...]
    result: Callable[[Array, Array, Array], Array]
    """Of the sums and two operands in f64, broadcast; what is read of the output is the
    last, and those that there are not are zeros."""
    integers: bool = False
    in_place: bool = False
    """Whether the output is read."""


KINDS = {
    "relu": Kind({}, (RELU,), lambda x, _y, _z: np.maximum(x, 0)),
    "bias_relu": Kind(
        {"bias": ("n", "f32")},
        (BIAS, RELU),
        lambda x, bias, _z: np.maximum(x + bias, 0),
    ),
    "bias_gelu": Kind(
        {"bias": ("n", "f32")},
        (BIAS, GELU),
        lambda x, bias, _z: (x + bias) / 2 * (1 + ERF((x + bias) * np.sqrt(0.5))),
    ),
    "row_bias_silu": Kind(
        {"bias": ("m", "f32")},
        (BIAS, SILU),
        lambda x, bias, _z: (x + bias) / (1 + np.exp(-(x + bias))),
    ),
    "tanh": Kind({}, ("%y = math.tanh %acc : f32",), lambda x, _y, _z: np.tanh(x)),
    "residual": Kind({"bias": ("mn", "f32")}, (BIAS,), lambda x, bias, _z: x + bias),
    "transposed": Kind({"bias": ("nm", "f32")}, (BIAS,), lambda x, bias, _z: x + bias),
    "scalar": Kind({"bias": ("", "f32")}, (BIAS,), lambda x, bias, _z: x + bias),
    "alpha_beta": Kind(
        {},
        (
            """
    %alpha = arith.constant 0.5 : f32
    %beta = arith.constant 2.0 : f32
    %before = arith.extf %old : f16 to f32
    %p = arith.mulf %acc, %alpha : f32
    %q = arith.mulf %before, %beta : f32
    %y = arith.addf %p, %q : f32""",
        ),
        lambda x, old, _z: x / 2 + 2 * old,
        in_place=True,
    ),
    "narrow": Kind(
        {"bias": ("n", "f16")},
        (
            """
    %h = arith.truncf %acc : f32 to f16
    %s = arith.addf %h, %bias : f16
    %y = arith.extf %s : f16 to f32""",
        ),
        lambda x, bias, _z: x.astype("f2") + bias.astype("f2"),
    ),
    "leaky": Kind(
        {"slope": ("n", "f32")},
        (
            """
    %none = arith.constant 0.0 : f32
    %below = arith.cmpf olt, %acc, %none : f32
    %less = arith.mulf %acc, %slope : f32
    %y = arith.select %below, %less, %acc : f32""",
        ),
        lambda x, slope, _z: np.where(x < 0, x * slope, x),
    ),
    "dequantised": Kind(
        {"scale": ("n", "f32")},
        (
            """
    %f = arith.sitofp %acc : i32 to f32
    %y = arith.mulf %f, %scale : f32""",
        ),
        lambda x, scale, _z: x * scale,
        integers=True,
    ),
    "zero_point": Kind(
        {"zero": ("n", "i32"), "scale": ("", "f32")},
        (
            """
    %less = arith.subi %acc, %zero : i32
    %f = arith.sitofp %less : i32 to f32
    %y = arith.mulf %f, %scale : f32""",
        ),
        lambda x, zero, scale: (x - zero) * scale,
        integers=True,
    ),
    "saturated": Kind(
        {"bias": ("n", "i32")},
        (
            """
    %most = arith.constant 127 : i32
    %least = arith.constant -128 : i32
    %six = arith.constant 6 : i32
    %s = arith.addi %acc, %bias : i32
    %r = arith.shrsi %s, %six : i32
    %p = arith.minsi %r, %most : i32
    %y = arith.maxsi %p, %least : i32""",
        ),
        lambda x, bias, _z: np.clip(np.floor((x + bias) / 64), -128, 127),
        integers=True,
    ),
    "requantised": Kind(
        {"scale": ("m", "f32")},
        (
            """
    %most = arith.constant 127.0 : f32
    %least = arith.constant -128.0 : f32
    %f = arith.sitofp %acc : i32 to f32
    %s = arith.mulf %f, %scale : f32
    %r = math.roundeven %s : f32
    %p = arith.minimumf %r, %most : f32
    %q = arith.maximumf %p, %least : f32
    %y = arith.fptosi %q : f32 to i8""",
        ),
        lambda x, scale, _z: np.clip(np.rint(x * scale), -128, 127),
        integers=True,
    ),
}


@dataclass(frozen=True)
class Fused:
    """A multiplication whose sums are in memory of the function, and what uses them."""

    gemm: Gemm
    kind: str
    out: str = "f32"
    """The element type of the output."""

    @property
    def its(self) -> Kind:
        return KINDS[self.kind]

    @property
    def batch(self) -> str:
        return "b" if "b" in self.gemm.c else ""

    @property
    def reads(self) -> dict[str, tuple[str, str]]:
        """The operands; of a whole matrix there is one for each of the batch."""
        return {
            name: (self.batch + dims if len(dims) == 2 else dims, of)
            for name, (dims, of) in self.its.reads.items()
        }

    @property
    def text(self) -> str:
        gemm, of = self.gemm, self.gemm.types[1]
        sums, out = gemm.memref(gemm.c, of), gemm.memref(gemm.c, self.out)
        memories = {x: gemm.memref(*about) for x, about in self.reads.items()}
        operands = "".join(f", %{x}_memory: {type}" for x, type in memories.items())
        head, rest = gemm.text.split("{\n", 1)
        text = head.replace(f"%c: {sums}", f"%d: {out}{operands}") + "{"
        sizes = range(len(gemm.c)) if gemm.dynamic else range(0)
        for n in sizes:
            text += f"""
  %at{n} = arith.constant {n} : index
  %size{n} = memref.dim %d, %at{n} : {out}"""
        text += f"""
  %c = memref.alloc({", ".join(f"%size{n}" for n in sizes)}) : {sums}
{rest.replace("func.return", "").rstrip()[:-1]}"""
        for number, body in enumerate(self.its.bodies):
            last = number == len(self.its.bodies) - 1
            name, type, element = ("%d", out, self.out) if last else ("%c", sums, of)
            reads = {} if number else self.reads
            names = ["%c", *(f"%{x}_memory" for x in reads)]
            types = [sums, *(memories[x] for x in reads)]
            maps = [gemm.c, *(dims for dims, _ in reads.values()), gemm.c]
            args = [f"%acc: {of}", *(f"%{x}: {each}" for x, (_, each) in reads.items())]
            loops = f"{self.batch}mn"
            affine = [
                f"affine_map<({', '.join(loops)}) -> ({', '.join(map)})>"
                for map in maps
            ]
            text += f"""
  linalg.generic {{indexing_maps = [{", ".join(affine)}],
      iterator_types = [{", ".join(['"parallel"'] * len(loops))}]}}
      ins({", ".join(names)} : {", ".join(types)}) outs({name} : {type}) {{
  ^bb0({", ".join(args)}, %old: {element}):
    {body}{yielded(body, element)}
  }}"""
        return f"{text}\n  memref.dealloc %c : {sums}\n  func.return\n}}\n"

    def arrays(self) -> list[Array]:
        """Return A, B, the output, and what is read beside them."""
        generator = np.random.default_rng(sum(self.gemm.sizes))
        a, b, c = self.gemm.arrays()
        found = [a, b, encode(np.clip(c, -4, 4).astype(np.float64), self.out)]
        for dims, of in self.reads.values():
            values = generator.integers(-20, 21, self.gemm.shape(dims))
            unit = 1 / 1024 if self.its.integers else 1 / 16
            values = values if of[0] == "i" else values * unit
            found.append(np.asarray(encode(values, of)))
        return found

    def expected(self, a: Array, b: Array, old: Array, *reads: Array) -> Array:
        """Return what the output is, before it is rounded to its type."""
        gemm = self.gemm
        start = np.zeros(gemm.shape(gemm.c), "i4" if self.its.integers else "f4")
        given: list[Array] = []
        for array, (dims, _) in zip(reads, self.reads.values(), strict=True):
            dims, order = [*dims], [x for x in gemm.c if x in dims]
            array = array.transpose([dims.index(x) for x in order])
            axes = tuple(n for n, x in enumerate(gemm.c) if x not in dims)
            given.append(np.expand_dims(array, axes).astype(np.float64))
        if self.its.in_place:
            given.append(self.numbers(old))
        sums = gemm.expected(a, b, start).astype(np.float64)
        first, second, *_ = [*given, np.zeros(()), np.zeros(())]
        return np.broadcast_to(self.its.result(sums, first, second), sums.shape)

    def numbers(self, output: Array) -> Array:
        return (decoded(output, self.out) if self.out in CODED else output).astype(
            np.float64
        )


def yielded(body: str, to: str) -> str:
    """Return the end of a body: %y, converted."""
    (line,) = (x for x in body.split("\n") if x.strip().startswith("%y ="))
    of = line.rsplit(" ", 1)[1]
    if of == to:
        return f"\n    linalg.yield %y : {to}"
    narrower, kind = BITS[to] < BITS[of], "f" if "f" in of else "i"
    name = f"trunc{kind}" if narrower else {"f": "extf", "i": "extsi"}[kind]
    return f"""
    %stored = arith.{name} %y : {of} to {to}
    linalg.yield %stored : {to}"""
