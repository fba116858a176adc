"""`python -m support.random_gemms`: random products on this processor and its GPU.

    cd test && python -m support.random_gemms --count 500 --on cpu,amx,vulkan

A draw is M, N and K, types with signs, the orders of A and B, a batch or none, and
whether C is filled first.  Half of the draws are of whole numbers, whose sums are
exact, and half of normal ones, whose sums have a bound.  Without AMX its tiles are
emulated.
Sizes are dynamic, so that draws share compiled kernels; with `--static` each is
compiled for its own sizes and number of threads.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import cache
from random import Random

import numpy as np
from support.native import FEATURES, best_or_emulated, has, run_call

from coopc.generate.gemms import FILL, Gemm
from coopc.launcher import Build, LaunchTarget, build
from coopc.remarks import remarks_to
from coopc.rounding import FORMATS
from coopc.run.arrays import Array
from coopc.run.cpu import Program
from coopc.run.tiles import Tiles
from coopc.sim.tracked import product_bound
from coopc.source import Source
from coopc.validate.compare import compare

MOST = 700
TYPES = {
    "cpu": (("f32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("i8", "i32")),
    "amx": (("f16", "f32"), ("bf16", "f32"), ("i8", "i32")),
    "lavapipe": (("f16", "f32"), ("f32", "f32"), ("i8", "i32")),
    "vulkan": (("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("i8", "i32")),
}
PIPELINES = {
    "lavapipe": "coopc-khr{device=lavapipe staged=true}",
    "vulkan": "coopc-khr{device=nvidia staged=true}",
}
ORDERS = (("mk", "kn"), ("km", "kn"), ("mk", "nk"), ("km", "nk"))
SIGNS = (("extsi", "extsi"), ("extui", "extui"), ("extui", "extsi"))


@dataclass(frozen=True)
class Draw:
    on: str
    seed: int
    gemm: Gemm
    random: bool
    threads: int


def drawn(on: str, seed: int, most: int = MOST, *, static: bool = False) -> Draw:
    """Return the draw of a seed; half of the sizes are small, or near edges."""
    random = Random(f"{on} {seed}")

    def size() -> int:
        most_here = random.choice((most, most, 64, 20))
        found = random.randint(1, min(most, most_here))
        return found if random.random() < 0.7 else max(1, found // 16 * 16)

    sizes = size(), size(), size()
    a, b = random.choice(ORDERS)
    batch = "b" if random.random() < 0.25 else ""
    types, signs = random.choice(TYPES[on]), random.choice(SIGNS)
    gemm = Gemm(
        sizes,
        batch + a,
        batch + b,
        f"{batch}mn",
        types,
        signs if types[0] == "i8" else SIGNS[0],
        fill=random.random() < 0.5,
        dynamic=not static,
    )
    threads = random.choice((1, 2, 5, 16) if static else (1, 2))
    return Draw(on, seed, gemm, random.random() < 0.5, threads)


@cache
def compiled(on: str, gemm: Gemm, threads: int = 1) -> Build:
    """Compile a product, mostly of any size, for a GPU, for tiles or for vectors."""
    tiles = Tiles.NONE
    if on == "amx":
        tiles = best_or_emulated()
    target = LaunchTarget("cpu", tiles=tiles, threads=threads)
    if (pipeline := PIPELINES.get(on)) is not None:
        device = "nvidia" if on == "vulkan" else on
        target = LaunchTarget("vulkan", device, pipeline)
    with remarks_to(lambda _: None):
        return build(Source(gemm.text, "gemm"), target)


@cache
def program(on: str, gemm: Gemm, threads: int = 1) -> Program:
    tiles = best_or_emulated() if on == "amx" else Tiles.NONE
    return Program.of(compiled(on, gemm, threads).program, tiles, level=2)


def run(draw: Draw, arrays: list[Array]) -> Array:
    """Return what C is after a product."""
    of_any = draw.on, replace(draw.gemm, sizes=(1, 1, 1)), 1
    if not draw.gemm.dynamic:
        of_any = draw.on, draw.gemm, draw.threads
    built = compiled(*of_any)
    call = built.executable.call(arrays)
    if draw.on in PIPELINES:
        return built.executable.execute(call).arrays[-1]
    return run_call(program(*of_any), call, threads=draw.threads)[-1]


def difference(draw: Draw) -> str | None:
    """Return what is wrong with the result of a draw, or None."""
    gemm = draw.gemm
    arrays = gemm.arrays(draw.seed, random=draw.random)
    found = run(draw, arrays)
    a, b, c = arrays
    expected, bound = gemm.expected(a, b, c), None
    if draw.random and gemm.types[1] == "f32":
        factors = abs(gemm.values(a, 0)), abs(gemm.values(b, 1))
        named = f"{gemm.a},{gemm.b}->{gemm.c}"
        first = float(FILL) if gemm.fill else abs(c)
        size = np.einsum(named, *factors, optimize=True) + first
        epsilon = FORMATS["f32"].epsilon
        bound = product_bound(gemm.sizes[2], size, expected, epsilon, epsilon)
    summary = compare(found, expected, bound=bound)
    return None if summary.ok else str(summary)


def possible(draw: Draw) -> bool:
    """Return whether what runs a draw has the types: a processor's tiles may not."""
    if draw.on != "amx":
        return True
    tiles = best_or_emulated()
    return tiles is not Tiles.NONE and has(tiles, FEATURES[draw.gemm.types[0]])


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m support.random_gemms")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--on", default="cpu,amx")
    parser.add_argument("--most", type=int, default=MOST, help="M, N and K at most")
    parser.add_argument("--static", action="store_true", help="sizes are constants")
    options = parser.parse_args(words)
    wrong = 0
    for on in options.on.split(","):
        ran = 0
        for seed in range(options.seed, options.seed + options.count):
            draw = drawn(on, seed, options.most, static=options.static)
            if not possible(draw):
                continue
            ran += 1
            if (reason := difference(draw)) is not None:
                wrong += 1
                print(f"{draw}: {reason}", flush=True)
        print(f"{on}: {ran} draws of {options.count}, {wrong} wrong so far", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
