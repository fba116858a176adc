"""Fast GEMMs of `tile-matmul-khr`, on lavapipe and on the simulator, against numpy.

Inputs are small integers, whose sums are exact in every type.  The simulator finds
races in work-group memory, and accesses that are not as aligned as they say.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.compiler import new_context
from coopc.diagnostic import CompileError
from coopc.interface_call import pack
from coopc.parsing import parse
from coopc.pipeline import Run, read_passes
from coopc.run.execute import on_vulkan
from coopc.run.toolchain import validate_spirv
from coopc.run.vulkan import Session
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array: TypeAlias = npt.NDArray[Any]
ELEMENTS = {"f16": np.float16, "f32": np.float32, "i8": np.int8, "i32": np.int32}
SMALL = "group=16,16 subgroup=8,8 step=16"
WIDE = "group=32,32 subgroup=16,16 step=16"
ACROSS = "group=16,64 subgroup=8,32 step=8 stages=1"


@dataclass(frozen=True)
class Gemm:
    """A multiplication, and with which tiles."""

    sizes: tuple[int, int, int]
    """M, N and K."""
    tiles: str = WIDE
    a: str = "mk"
    """The dimensions of A in memory, a `b` in front for a batch of 2."""
    b: str = "kn"
    c: str = "mn"
    types: tuple[str, str] = ("f16", "f32")
    """Of A and B, and of C."""
    extended: tuple[str, str] = ("ext", "ext")
    """How integers of A and of B are extended: extsi or extui."""
    fill: bool = True
    """Whether C is 3 at first, rather than what it was."""
    dynamic: bool = False
    """Whether sizes are known when it is run."""

    def shape(self, dimensions: str) -> tuple[int, ...]:
        """The sizes of some dimensions."""
        sizes = dict(zip("mnkb", (*self.sizes, 2), strict=True))
        return tuple(sizes[x] for x in dimensions)

    def memref(self, dimensions: str, element: str) -> str:
        """The type of an operand."""
        sizes = "".join(
            "?x" if self.dynamic else f"{size}x" for size in self.shape(dimensions)
        )
        return f"memref<{sizes}{element}>"

    @property
    def text(self) -> str:
        """A function of linalg."""
        ab, c = self.types
        types = [self.memref(self.a, ab), self.memref(self.b, ab)]
        out = self.memref(self.c, c)
        loops = "b, m, n, k" if "b" in self.a else "m, n, k"
        maps = ", ".join(
            f"affine_map<({loops}) -> ({', '.join(x)})>"
            for x in (self.a, self.b, self.c)
        )
        kinds = ", ".join(
            '"reduction"' if x == "k" else '"parallel"' for x in loops.split(", ")
        )
        floats, same = c[0] == "f", ab == c
        three = "3.0" if floats else "3"
        fill = f"linalg.fill ins(%three : {c}) outs(%c : {out})" if self.fill else ""
        wide = [
            f"%{x}e = arith.{'extf' if floats else how} %{x} : {ab} to {c}"
            for x, how in zip("xy", self.extended, strict=True)
        ]
        e = "" if same else "e"
        f = "f" if floats else "i"
        return f"""
func.func @gemm(%a: {types[0]}, %b: {types[1]}, %c: {out}) {{
  %three = arith.constant {three} : {c}
  {fill}
  linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {out}) {{
  ^bb0(%x: {ab}, %y: {ab}, %z: {c}):
    {"" if same else wide[0]}
    {"" if same else wide[1]}
    %p = arith.mul{f} %x{e}, %y{e} : {c}
    %s = arith.add{f} %z, %p : {c}
    linalg.yield %s : {c}
  }}
  func.return
}}"""

    @property
    def pipeline(self) -> str:
        """The passes."""
        tiles = f"tile-matmul-khr{{{self.tiles}}}" if self.tiles else "tile-matmul-khr"
        return f"set-target{{device=lavapipe}},{tiles},coopc-khr"

    def arrays(self) -> list[Array]:
        """The arguments."""
        generator = np.random.default_rng(sum(self.sizes))
        ab, c = (ELEMENTS[x] for x in self.types)
        low = -4 if self.types[0] == "f16" else -128
        high = 5 if self.types[0] == "f16" else 128
        return [
            generator.integers(low, high, self.shape(dimensions)).astype(element)
            for dimensions, element in ((self.a, ab), (self.b, ab), (self.c, c))
        ]

    def expected(self, a: Array, b: Array, c: Array) -> Array:
        """What numpy gives."""
        wide: list[Array] = []
        for array, how in zip((a, b), self.extended, strict=True):
            unsigned = how == "extui"
            wide.append((array.view(np.uint8) if unsigned else array).astype(np.int64))
        product = np.einsum(f"{self.a},{self.b}->{self.c}", *wide)
        return (product + (3 if self.fill else c)).astype(c.dtype)


@pytest.fixture(scope="module")
def lavapipe() -> Iterator[Session]:
    with Session.start("lavapipe") as session:
        yield session


def check(gemm: Gemm, session: Session) -> None:
    """Run a multiplication on the driver, and on the simulator, exactly."""
    a, b, c = gemm.arrays()
    expected = gemm.expected(a, b, c)
    artifact = coopc.compile(gemm.text, gemm.pipeline, "spirv-binary")
    call = pack(artifact.interface[0], [a, b, c.copy()])
    found = on_vulkan(artifact.bytes, call, session).arrays[2]
    np.testing.assert_array_equal(found, expected)
    universe = everything()
    source, context = Source(gemm.text, "test"), new_context(universe)
    module = parse(context, source)
    Run(context, source).apply(module, read_passes(gemm.pipeline, universe.all_passes))
    arguments = [a, b, c.copy()]
    simulate(module, "gemm", arguments, subgroup_size=8)
    np.testing.assert_array_equal(arguments[2], expected)


S8 = Gemm((0, 0, 0), SMALL, types=("i8", "i32"), extended=("extsi", "extsi"))
GEMMS = {
    # Inside of memory, by the ways that work-group memory is used.
    "inside": Gemm((64, 96, 48)),
    "one_step": Gemm((32, 32, 16)),
    "one_stage": Gemm((64, 32, 64), f"{WIDE} stages=1"),
    "no_gaps": Gemm((32, 64, 48), f"{WIDE} gaps=false"),
    "bands": Gemm((96, 64, 32), f"{SMALL} band=4"),
    "unrolled": Gemm((8, 8, 32), "group=8,8 subgroup=8,8 step=16 unroll=true"),
    "one_subgroup": Gemm((16, 16, 32), "group=8,8 subgroup=8,8 step=8"),
    "wide_subgroups": Gemm((32, 128, 24), ACROSS),
    "defaults": Gemm((64, 64, 32), ""),
    # Edges, whole pieces or not.
    "edge_m": Gemm((33, 32, 32), SMALL),
    "edge_n": Gemm((32, 40, 32), SMALL, dynamic=True),
    "edge_k": Gemm((32, 32, 50), SMALL, dynamic=True),
    "odd": Gemm((65, 97, 49), fill=False),
    "tiny": Gemm((7, 5, 3), dynamic=True, fill=False),
    "one_row": Gemm((1, 64, 32), SMALL, dynamic=True),
    "k_0_steps": Gemm((32, 32, 8), dynamic=True, fill=False),
    # Layouts.
    "a_transposed": Gemm((32, 32, 32), SMALL, a="km", dynamic=True),
    "b_transposed": Gemm((64, 32, 32), b="nk"),
    "c_transposed": Gemm((40, 32, 32), SMALL, c="nm", fill=False),
    "all_transposed": Gemm((35, 41, 29), SMALL, a="km", b="nk", c="nm", dynamic=True),
    "batched": Gemm((32, 40, 16), SMALL, a="bmk", b="bkn", c="bmn", dynamic=True),
    "batched_edges": Gemm((17, 18, 19), SMALL, a="bmk", b="bnk", c="bmn", fill=False),
    # Types.
    "f16_f16": Gemm((32, 48, 32), SMALL, types=("f16", "f16")),
    "s8": replace(S8, sizes=(64, 32, 64)),
    "s8_edges": replace(S8, sizes=(37, 29, 65), dynamic=True, fill=False),
    "s8_transposed": replace(S8, sizes=(32, 40, 32), b="nk", dynamic=True),
    "u8": replace(S8, sizes=(32, 32, 48), extended=("extui", "extui"), a="km"),
}


@pytest.mark.parametrize("name", GEMMS)
def test_gemm(name: str, lavapipe: Session) -> None:
    check(GEMMS[name], lavapipe)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("b", ["kn", "nk"])
@pytest.mark.parametrize("ab", ["f16", "bf16", "i8"])
def test_valid_for_nvidia(ab: str, b: str, dynamic: bool) -> None:
    """The device's own tiles: 8 subgroups, at most 48 KiB of work-group memory."""
    types, how = ((ab, "i32"), "extsi") if ab == "i8" else ((ab, "f32"), "ext")
    sizes = (4096, 4096, 4096)
    gemm = Gemm(sizes, b=b, types=types, extended=(how, how), dynamic=dynamic)
    pipeline = "coopc-khr{device=nvidia staged=true}"
    artifact = coopc.compile(gemm.text, pipeline, "spirv-binary")
    assert validate_spirv(artifact.bytes, "vulkan1.3") is None
    (interface,) = artifact.interface
    assert interface.work_group_size == (256, 1, 1)
    assert interface.subgroup_size == 32


REFUSED = {
    "expected the N of a work-group to be a multiple of that of a subgroup, got 32 and "
    "24": Gemm((32, 32, 32), "group=32,32 subgroup=16,24 step=16"),
    "expected a subgroup's tile and a step of multiples of 8x8x8 (M x N x K), got 8 x "
    "8 and 12": Gemm((32, 32, 32), "group=16,16 subgroup=8,8 step=12"),
    "expected 1 or 2 stages, got 3": Gemm((32, 32, 32), f"{WIDE} stages=3"),
    "expected at most 32768 bytes of work-group memory on lavapipe, got 36864": Gemm(
        (64, 64, 64), "group=64,64 subgroup=32,32 step=64"
    ),
    "expected at most 1024 work-items in a work-group of lavapipe, got 2048: 256 "
    "subgroups of 8": Gemm((128, 128, 8), "group=128,128 subgroup=8,8 step=8"),
    "lavapipe does not multiply s8 * u8 + u32 -> u32": replace(
        S8, sizes=(32, 32, 32), extended=("extsi", "extui")
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    gemm = REFUSED[message]
    with pytest.raises(CompileError) as caught:
        coopc.compile(gemm.text, gemm.pipeline, "spirv-binary")
    assert message in str(caught.value)
