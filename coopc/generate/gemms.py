"""Multiplications as functions of linalg, with arguments and what numpy makes of them.

Sizes, orders of dimensions in memory, types, and what C is before are free:

    gemm = Gemm((64, 32, 16), b="nk", types=("i8", "i32"), extended=("extsi", "extsi"))
    gemm.text           # func.func @gemm of a linalg.generic
    gemm.arrays()       # small integers, whose sums are exact in every type
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from coopc.interface_call import CODED
from coopc.run.arguments import encode
from coopc.sim.numerics import decoded

Array: TypeAlias = npt.NDArray[Any]

FILL = 3


@dataclass(frozen=True)
class Gemm:
    """A multiplication, `C = A * B + first` or `C += A * B`."""

    sizes: tuple[int, int, int]
    """M, N and K."""
    a: str = "mk"
    """The dimensions of A in memory, a `b` in front for a batch."""
    b: str = "kn"
    c: str = "mn"
    types: tuple[str, str] = ("f16", "f32")
    """Of A and B, and of sums."""
    extended: tuple[str, str] = ("extsi", "extsi")
    """How integers of A and of B are extended: extsi or extui."""
    fill: bool = True
    """Whether C is `first`, rather than what it was."""
    first: int = FILL
    dynamic: bool = False
    """Whether sizes are known when it is run."""
    batch: int = 2
    """How many products, where dimensions have a `b`."""
    stored: str | None = None
    """The type of C, whose sums are in memory of their own; None for that of sums."""

    def shape(self, dimensions: str) -> tuple[int, ...]:
        sizes = dict(zip("mnkb", (*self.sizes, self.batch), strict=True))
        return tuple(sizes[x] for x in dimensions)

    def memref(self, dimensions: str, element: str) -> str:
        sizes = "".join(
            "?x" if self.dynamic else f"{size}x" for size in self.shape(dimensions)
        )
        return f"memref<{sizes}{element}>"

    @property
    def text(self) -> str:
        ab, c = self.types
        types = [self.memref(self.a, ab), self.memref(self.b, ab)]
        out, f = self.memref(self.c, c), "f" if c[0] == "f" else "i"
        loops = "bmnk" if "b" in self.a else "mnk"
        names = (", ".join(x) for x in (self.a, self.b, self.c))
        maps = ", ".join(f"affine_map<({', '.join(loops)}) -> ({x})>" for x in names)
        kinds = ", ".join('"reduction"' if x == "k" else '"parallel"' for x in loops)
        first, to, sums, convert = str(self.first) + ".0" * (f == "f"), out, "%c", ""
        if (stored := self.stored) is not None:
            to, sums = self.memref(self.c, stored), "%sums"
            how = "truncf" if f == "f" else "sitofp"
            same = f"affine_map<({', '.join(self.c)}) -> ({', '.join(self.c)})>"
            parallel = ", ".join(['"parallel"'] * len(self.c))
            convert = f"""linalg.generic {{indexing_maps = [{same}, {same}],
      iterator_types = [{parallel}]}} ins(%sums : {out}) outs(%c : {to}) {{
  ^bb0(%x: {c}, %y: {stored}):
    %r = arith.{how} %x : {c} to {stored}
    linalg.yield %r : {stored}
  }}"""
        fill = (
            f"linalg.fill ins(%first : {c}) outs({sums} : {out})" if self.fill else ""
        )
        x, y, extensions = "%x", "%y", ""
        if ab != c:
            x, y = "%xe", "%ye"
            how = ("extf", "extf") if f == "f" else self.extended
            extensions = "\n".join(
                f"    %{x}e = arith.{each} %{x} : {ab} to {c}"
                for x, each in zip("xy", how, strict=True)
            )
        return f"""
func.func @gemm(%a: {types[0]}, %b: {types[1]}, %c: {to}) {{
  %first = arith.constant {first} : {c}
  {f"%sums = memref.alloc() : {out}" if stored else ""}
  {fill}
  linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%a, %b : {types[0]}, {types[1]}) outs({sums} : {out}) {{
  ^bb0(%x: {ab}, %y: {ab}, %z: {c}):
{extensions}
    %p = arith.mul{f} {x}, {y} : {c}
    %s = arith.add{f} %z, %p : {c}
    linalg.yield %s : {c}
  }}
  {convert}
  func.return
}}"""

    def arrays(self, seed: int = 0, *, random: bool = False) -> list[Array]:
        """Return the arguments: whole numbers, or with `random` normal ones in A and B.

        Integers are all that there are of 8 bits, random or not.
        """
        generator = np.random.default_rng(seed)
        ab, c = self.types
        low, high = (-128, 128) if ab == "i8" else (-4, 5)
        found: list[Array] = []
        to = self.stored or c
        for dimensions, element in ((self.a, ab), (self.b, ab), (self.c, to)):
            shape = self.shape(dimensions)
            if random and ab != "i8" and dimensions is not self.c:
                values: Array = generator.standard_normal(shape, np.float32)
            else:
                values = generator.integers(low, high, shape)
            found.append(encode(values, element))
        return found

    def values(self, array: Array, operand: int) -> Array:
        """Return the numbers of A or B (operand 0 or 1), as f64."""
        if self.types[0] in CODED:
            return decoded(array, self.types[0]).astype(np.float64)
        if self.types[0] == "i8" and self.extended[operand] == "extui":
            array = array.view(np.uint8)
        return array.astype(np.float64)

    def expected(self, a: Array, b: Array, c: Array) -> Array:
        named = f"{self.a},{self.b}->{self.c}"
        pair = self.values(a, 0), self.values(b, 1)
        product = np.einsum(named, *pair, optimize=True)
        total = product + (self.first if self.fill else c.astype(np.float64))
        if c.dtype == np.int32:
            return total.astype(np.int64).astype(np.int32)
        return total.astype(c.dtype)
