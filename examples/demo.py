"""`make demo`: compile a matrix multiplication, simulate it, compare with numpy.

Needs no driver and no compiler: the simulator runs the same program that would be
emitted for the device.
"""

import time
from pathlib import Path

import numpy as np
from rich.console import Console

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.sim.simulate import simulate
from coopc.source import read_source
from coopc.universe import everything

DEVICE = "lavapipe"
SIZE = 64
"""Rows and columns of A, B and C."""
GEMM = Path(__file__).parent / "gemm.mlir"


def main() -> None:
    """Do it, and say what was done."""
    say = Console(highlight=False).print
    source = read_source(str(GEMM))
    say(f"[bold]examples/{GEMM.name}[/bold]: C = A * B, f16 x f16 -> f32")

    start = time.perf_counter()
    pipeline = f"coopc-khr{{device={DEVICE}}}"
    artifact = coopc.compile(source.text, pipeline, "spirv", name=source.name)
    elapsed = time.perf_counter() - start
    lines = artifact.text.splitlines()
    multiplications = sum("OpCooperativeMatrixMulAddKHR" in line for line in lines)
    say(
        f"  compiled for {DEVICE} in {elapsed:.2f} s: {len(lines)} lines of SPIR-V,\n"
        f"  {multiplications} multiplications of 8 x 8 x 8 in the loop"
    )

    generator = np.random.default_rng(0)
    a, b = generator.uniform(-1, 1, (2, SIZE, SIZE)).astype(np.float16)
    c = np.zeros((SIZE, SIZE), np.float32)
    module = parse(new_context(everything()), source)
    start = time.perf_counter()
    simulate(module, "gemm", [a, b, c], subgroup_size=8)
    elapsed = time.perf_counter() - start
    say(f"  simulated {SIZE} x {SIZE} x {SIZE} in {elapsed:.2f} s")

    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = np.abs(c - exact).max()
    magnitude = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    bound = ((SIZE + 2) * 2.0**-24 * magnitude).max()
    verdict = "[green]agrees[/green]" if error <= bound else "[red]differs[/red]"
    say(
        f"  {verdict} with numpy: largest error {error:.1e}, "
        f"rounding allows {bound:.1e}"
    )
    say("\nNext: . .venv/bin/activate")
    say("      coopc-opt examples/gemm.mlir -p 'coopc-khr{device=lavapipe}' -t spirv")
    if error > bound:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
