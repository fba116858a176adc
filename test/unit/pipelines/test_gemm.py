"""Matrix multiplications on a driver, against numpy: exact inputs, equal bits."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import coopc
from coopc.interface_call import Array, pack, violated_condition
from coopc.run.execute import on_vulkan
from coopc.run.vulkan import Session
from coopc.tools import coopc_run

TYPES = {
    # a and b, c, the keywords of the multiplication
    "f16_f32": ("f16", "f32", ""),
    "f16_f16": ("f16", "f16", ""),
    "s8_s32": ("i8", "i32", "signed(a, b, c, result)"),
    "u8_u32": ("i8", "i32", ""),
}
NUMPY = {
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "i8": np.dtype(np.int8),
    "i32": np.dtype(np.int32),
}


@dataclass(frozen=True)
class Gemm:
    """C += A * B of one kind and size, in steps of 16."""

    types: str
    a_layout: str
    b_layout: str
    m: int
    n: int
    k: int
    tile: int = 16

    @property
    def text(self) -> str:
        """The kernel: a tile of C a work-group."""
        ab, c, keywords = TYPES[self.types]
        tile = self.tile
        a_shape = (self.m, self.k) if self.a_layout == "row_major" else (self.k, self.m)
        b_shape = (self.k, self.n) if self.b_layout == "row_major" else (self.n, self.k)
        a_memory = f"memref<{a_shape[0]}x{a_shape[1]}x{ab}>"
        b_memory = f"memref<{b_shape[0]}x{b_shape[1]}x{ab}>"
        c_memory = f"memref<{self.m}x{self.n}x{c}>"
        matrix = f"!coopmatrix.matrix<{tile}x{tile}x"
        a_place = "%row, %k" if self.a_layout == "row_major" else "%k, %row"
        b_place = "%k, %col" if self.b_layout == "row_major" else "%col, %k"
        grid = f"affine_map<() -> ({self.n // tile}, {self.m // tile})>"
        return f"""
func.func @gemm(%a: {a_memory}, %b: {b_memory}, %c: {c_memory})
    attributes {{simt.kernel, simt.grid = {grid}}} {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {tile} : index
  %end = arith.constant {self.k} : index
  %x = simt.workgroup_id x : index
  %y = simt.workgroup_id y : index
  %row = arith.muli %y, %step : index
  %col = arith.muli %x, %step : index
  %init = coopmatrix.load %c[%row, %col] row_major : {c_memory} -> {matrix}{c}, acc>
  %sum = scf.for %k = %c0 to %end step %step iter_args(%acc = %init)
      -> ({matrix}{c}, acc>) {{
    %at = coopmatrix.load %a[{a_place}] {self.a_layout} : {a_memory} -> {matrix}{ab}, a>
    %bt = coopmatrix.load %b[{b_place}] {self.b_layout} : {b_memory} -> {matrix}{ab}, b>
    %next = coopmatrix.mul_add %at, %bt, %acc {keywords}
        : {matrix}{ab}, a>, {matrix}{ab}, b>, {matrix}{c}, acc>
    scf.yield %next : {matrix}{c}, acc>
  }}
  coopmatrix.store %sum, %c[%row, %col] row_major : {matrix}{c}, acc>, {c_memory}
  func.return
}}
"""

    @property
    def inputs(self) -> tuple[Array, Array, Array]:
        """A (M x K), B (K x N) and C: small integers, so that every sum is exact."""
        ab, c, _ = TYPES[self.types]
        generator = np.random.default_rng(self.m + self.n + self.k)
        low, high = {"u8_u32": (0, 256), "s8_s32": (-128, 128)}.get(self.types, (-1, 2))
        a = generator.integers(low, high, (self.m, self.k))
        b = generator.integers(low, high, (self.k, self.n))
        start = generator.integers(-4, 5, (self.m, self.n))
        return a.astype(NUMPY[ab]), b.astype(NUMPY[ab]), start.astype(NUMPY[c])

    @property
    def expected(self) -> Array:
        """What numpy makes of it, exactly."""
        a, b, c = self.inputs
        if self.types == "u8_u32":
            a, b = a.view(np.uint8), b.view(np.uint8)
        # All sums are far below 2^53: exact.
        exact = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
        return exact.astype(c.dtype)


def sweep() -> Iterator[Gemm]:
    layouts = ("row_major", "col_major")
    for types, a, b in product(TYPES, layouts, layouts):
        for m, n, k, tile in ((8, 8, 8, 8), (32, 48, 16, 16), (64, 16, 128, 16)):
            yield Gemm(types, a, b, m, n, k, tile)
    for types in TYPES:
        yield Gemm(types, "row_major", "col_major", 512, 16, 64)
        yield Gemm(types, "col_major", "row_major", 16, 32, 512)
    yield Gemm("f16_f32", "row_major", "row_major", 512, 512, 512)


@pytest.mark.parametrize(
    "gemm",
    list(sweep()),
    ids=lambda g: f"{g.types}-{g.a_layout}-{g.b_layout}-{g.m}x{g.n}x{g.k}",
)
def test_gemm_on_lavapipe(gemm: Gemm, lavapipe: Session) -> None:
    artifact = coopc.compile(gemm.text, "coopc-khr{device=lavapipe}", "spirv-binary")
    a, b, c = gemm.inputs
    stored_a = a if gemm.a_layout == "row_major" else np.ascontiguousarray(a.T)
    stored_b = b if gemm.b_layout == "row_major" else np.ascontiguousarray(b.T)
    call = pack(artifact.interface[0], [stored_a, stored_b, c])
    outcome = on_vulkan(artifact.bytes, call, session=lavapipe)
    assert (outcome.arrays[2] == gemm.expected).all()


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("layouts", list(product(("row_major", "col_major"), repeat=2)))
def test_gemm_from_coopc_run(
    types: str, layouts: tuple[str, str], lavapipe: Session, tmp_path: Path
) -> None:
    assert lavapipe.info.matrix_shapes
    gemm = Gemm(types, *layouts, 32, 16, 48)
    a, b, c = gemm.inputs
    kernel = tmp_path / "gemm.mlir"
    kernel.write_text(gemm.text)
    arguments = [str(kernel), "--on", "vulkan", "--check"]
    stored = {
        "a": a if gemm.a_layout == "row_major" else a.T,
        "b": b if gemm.b_layout == "row_major" else b.T,
        "c": c,
    }
    for name, array in stored.items():
        np.save(tmp_path / f"{name}.npy", np.ascontiguousarray(array))
        arguments += ["--arg", f"{name}={tmp_path / name}.npy"]
    np.save(tmp_path / "expected.npy", gemm.expected)
    assert coopc_run.main([*arguments, "--expect", f"c={tmp_path}/expected.npy"]) == 0


@pytest.mark.parametrize(
    "pipeline",
    ["coopc-khr{device=lavapipe}", "coopc-lanes{device=bmg}", "coopc-xe{device=bmg}"],
)
def test_the_example_says_what_sizes_it_takes(pipeline: str) -> None:
    """Each entry point, whatever became of the kernel: tiles of 16, sizes that fit."""
    text = (Path(__file__).parents[3] / "examples" / "gemm.mlir").read_text()
    target = "spirv" if "xe" not in pipeline else "llvm-ir"
    for interface in coopc.compile(text, pipeline, target).interface:
        for m, k, n, c, reason in (
            (40, 48, 32, (40, 32), "size 0 of a: expected a multiple of 16, got 40"),
            (32, 40, 32, (32, 32), "size 1 of a: expected a multiple of 16, got 40"),
            (32, 48, 40, (32, 40), "size 1 of b: expected a multiple of 16, got 40"),
            (32, 48, 32, (16, 32), "size 0 of c: expected 32, which is size 0 of a"),
            (32, 48, 32, (32, 16), "size 1 of c: expected 32, which is size 1 of b"),
        ):
            given = [np.zeros((m, k), "f2"), np.zeros((k, n), "f2"), np.zeros(c, "f4")]
            assert reason in str(violated_condition(interface, given))
