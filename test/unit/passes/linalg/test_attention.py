"""Attention of usual sizes in one kernel: how long it is, and what it computes."""

from __future__ import annotations

import numpy as np
import pytest
from support.native import tiles_of

import coopc
from coopc import pipelines
from coopc.run.opencl import Session
from coopc.validate.compare import compare

TEXT = """
#q = affine_map<(b, m, n, k) -> (b, m, k)>
#k = affine_map<(b, m, n, k) -> (b, n, k)>
#s = affine_map<(b, m, n, k) -> (b, m, n)>
#w = affine_map<(b, m, n) -> (b, m, n)>
func.func @main(%q: tensor<QxTYPE>, %k: tensor<KxTYPE>, %v: tensor<KxTYPE>)
    -> tensor<Qxf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.125 : f32
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<Sxf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<Sxf32>) -> tensor<Sxf32>
  %2 = linalg.batch_matmul indexing_maps = [#q, #k, #s]
      ins(%q, %k : tensor<QxTYPE>, tensor<KxTYPE>) outs(%1 : tensor<Sxf32>)
      -> tensor<Sxf32>
  %3 = linalg.generic {indexing_maps = [#w, #w],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%2 : tensor<Sxf32>) outs(%0 : tensor<Sxf32>) {
  ^bb0(%in: f32, %out: f32):
    %m = linalg.index 1 : index
    %n = linalg.index 2 : index
    %after = arith.cmpi sge, %m, %n : index
    %scaled = arith.mulf %in, %scale : f32
    %kept = arith.select %after, %scaled, %least : f32
    linalg.yield %kept : f32
  } -> tensor<Sxf32>
  %4 = linalg.softmax dimension(2) ins(%3 : tensor<Sxf32>) outs(%0 : tensor<Sxf32>)
      -> tensor<Sxf32>
  %5 = tensor.empty() : tensor<SxTYPE>
  %6 = linalg.generic {indexing_maps = [#w, #w],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%4 : tensor<Sxf32>) outs(%5 : tensor<SxTYPE>) {
  ^bb0(%in: f32, %out: TYPE):
    %t = arith.truncf %in : f32 to TYPE
    linalg.yield %t : TYPE
  } -> tensor<SxTYPE>
  %7 = tensor.empty() : tensor<Qxf32>
  %8 = linalg.fill ins(%zero : f32) outs(%7 : tensor<Qxf32>) -> tensor<Qxf32>
  %9 = linalg.batch_matmul ins(%6, %v : tensor<SxTYPE>, tensor<KxTYPE>)
      outs(%8 : tensor<Qxf32>) -> tensor<Qxf32>
  return %9 : tensor<Qxf32>
}"""
"""Causal attention: Q, K and S are sizes."""


TYPES = {"f16": np.float16, "f32": np.float32}


def attention(
    batch: int, rows: int, length: int, head: int, element: str = "f16"
) -> str:
    sizes = {"Q": (rows, head), "K": (length, head), "S": (rows, length)}
    text = TEXT
    for name, (m, n) in sizes.items():
        text = text.replace(f"tensor<{name}x", f"tensor<{batch}x{m}x{n}x")
    if element == "f32":
        truncation = text[text.index("  %5 =") : text.index("  %7 =")]
        text = text.replace(truncation, "").replace("ins(%6,", "ins(%4,")
    return text.replace("TYPE", element)


def without_columns(text: str, name: str, sizes: tuple[int, int, int, int]) -> str:
    """Return attention of f16 without the columns of Q, or of K and V, in types."""
    batch, rows, length, head = sizes
    known = f"{batch}x{rows if name == 'Q' else length}x"
    return text.replace(f"tensor<{known}{head}xf16>", f"tensor<{known}?xf16>")


def is_right(
    sizes: tuple[int, int, int, int],
    on: str,
    pipeline: str,
    element: str = "f16",
    backwards: bool = False,
    tiles: str = "auto",
    unknown: str = "",
) -> bool:
    """Whether a pipeline's kernel computes what numpy does.

    Args:
        sizes: batches, rows of Q, those of K, and columns.
        on: where it runs.
        pipeline: of the kernel.
        element: the type of Q, K and V.
        backwards: whether a row sees what comes after it, and first blocks are -inf.
        tiles: of AMX, on the CPU.
        unknown: of which operands no type says the columns: Q, or K and V.
    """
    batch, rows, length, head = sizes
    random = np.random.default_rng(0)
    q, k, v = (
        random.standard_normal((batch, n, head)).astype(
            {"f16": np.float16, "f32": np.float32}[element]
        )
        for n in (rows, length, length)
    )
    scores = q.astype(np.float64) @ np.swapaxes(k, 1, 2) * 0.125
    seen, text = np.tri(rows, length, dtype=bool), attention(*sizes, element)
    if backwards:
        seen, text = ~np.tri(rows, length, -1, dtype=bool), text.replace("sge", "sle")
    for name in unknown:
        text = without_columns(text, name, sizes)
    scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(2, keepdims=True))
    weights /= weights.sum(2, keepdims=True)
    wanted = (weights @ v).astype(np.float32)
    # Weights are rounded to f16, relative to the greatest of their row.
    bound = 2.0**-10 * abs(v.astype(np.float64)).max()
    outcome = coopc.launch(text, q, k, v, on=on, pipeline=pipeline, tiles=tiles)
    return compare(outcome.arrays[-1], wanted, bound=bound, element="f32").ok


def test_length() -> None:
    """A kernel in loops is as long for any head, and multiplies in two places."""
    passes = "coopc-khr{device=lavapipe}"
    lengths: list[int] = []
    for head in (64, 128):
        text = coopc.compile(attention(2, 40, 48, head), passes, "spirv").text
        assert text.count("OpCooperativeMatrixMulAddKHR") == 2
        # Constants apart: of two sizes, some happen to be one number.
        body = text.splitlines()
        lengths.append(len([line for line in body if "OpConstant" not in line]))
    assert lengths[0] == lengths[1] < 700


def test_on_lavapipe() -> None:
    """It took more than ten minutes to compile when it was written out."""
    assert is_right((1, 40, 50, 64), "vulkan", "coopc-khr{device=lavapipe}")


def test_sums_in_memory_of_work_groups() -> None:
    """Lanes wait for those that load before they store."""
    assert is_right((1, 9, 20, 16), "sim", "coopc-khr{device=lavapipe}")


def test_on_lanes() -> None:
    assert is_right((1, 20, 50, 24), "sim", "coopc-lanes{device=intel-cpu}")


def test_on_lanes_of_opencl(intel_cpu: Session) -> None:
    """64 rows, which Intel's run-time builds in seconds."""
    assert is_right((1, 64, 64, 64), "opencl", "coopc-lanes{device=intel-cpu}")


@pytest.mark.parametrize("sizes", [(2, 32, 64, 32), (1, 20, 40, 16)])
def test_on_xe(sizes: tuple[int, int, int, int]) -> None:
    """By DPAS and 2D blocks, whose surfaces have the heads one below the other."""
    text = attention(*sizes)
    lowered = coopc.compile(text, "coopc-xe{device=bmg}", "mlir").text
    assert lowered.count("func.func") == 1
    assert ("xe.block_load_2d" in lowered) == (sizes[1] == 32)
    assert is_right(sizes, "sim", "coopc-xe{device=bmg}")


@pytest.mark.parametrize("element", TYPES)
def test_scores_of_amx_are_stored(element: str) -> None:
    """Static sizes: two products as any others, and a softmax of rows between them."""
    sizes = (2, 40, 70, 24)
    lowered = coopc.compile(attention(*sizes, element), "coopc-amx", "mlir").text
    stages = ".0.pack", ".0.multiply", ".1", ".2.pack", ".2.multiply"
    assert [x for x in stages if f"@main{x}(" in lowered] == [*stages]
    assert lowered.count("func.func @") == len(stages)
    assert ("amx.tile_mulf" in lowered) == (element == "f16")
    tiles = tiles_of(element) if element == "f16" else "none"
    assert is_right(sizes, "cpu", "coopc-amx", element, tiles=tiles)


@pytest.mark.parametrize("backwards", [False, True])
def test_on_tiles_of_amx(*, backwards: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both products are tiles'; the softmax between them is done on rows of vectors.

    So it is where the number of scores is not known, or above a limit.
    """
    monkeypatch.setattr(pipelines, "CPU_SCORES", 0)
    sizes = (2, 40, 70, 24)
    lowered = coopc.compile(attention(*sizes), "coopc-amx", "mlir").text
    assert lowered.count("func.func") == 1
    assert "amx.tile_mulf" in lowered
    exps = [x for x in lowered.splitlines() if "math.exp" in x]
    assert exps
    assert all(x.endswith(": vector<32xf32>") for x in exps)
    tiles = tiles_of("f16")
    assert is_right(sizes, "cpu", "coopc-amx", backwards=backwards, tiles=tiles)


@pytest.mark.parametrize(
    ("pipeline", "on"),
    [("coopc-xe{device=bmg}", "sim"), ("coopc-amx", "cpu")],
)
def test_without_matrix_unit(
    pipeline: str, on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What DPAS or AMX does not multiply is one kernel, too, of lanes or of vectors."""
    monkeypatch.setattr(pipelines, "CPU_SCORES", 0)
    sizes = (1, 20, 40, 16)
    artifact = coopc.compile(attention(*sizes, "f32"), pipeline, "mlir")
    assert artifact.text.count("func.func @") == 1
    assert "xe.dpas" not in artifact.text
    assert any("does not multiply its types" in str(x) for x in artifact.remarks)
    assert is_right(sizes, on, pipeline, "f32", backwards=True)


@pytest.mark.parametrize("precision", ["tf32", "bf16x3"])
def test_in_precision(precision: str) -> None:
    """Where f32 may be multiplied less exactly, DPAS does attention of f32."""
    text, pipeline = attention(1, 20, 40, 16, "f32"), f"precision={precision}"
    pipeline = f"coopc-xe{{device=bmg {pipeline}}}"
    assert "xe.dpas" in coopc.compile(text, pipeline, "mlir").text
    assert is_right((1, 20, 40, 16), "sim", pipeline, "f32")


@pytest.mark.parametrize("unknown", ["Q", "K", "QK"])
@pytest.mark.parametrize(
    ("pipeline", "on"),
    [
        ("coopc-khr{device=lavapipe}", "vulkan"),
        ("coopc-xe{device=bmg}", "sim"),
        ("coopc-lanes{device=intel-cpu}", "sim"),
        ("coopc-amx", "cpu"),
    ],
)
def test_columns_that_one_type_says(
    pipeline: str, on: str, unknown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of Q are those of K, and columns of V are those of the result.

    Where neither type says them, it is several kernels.
    """
    monkeypatch.setattr(pipelines, "CPU_SCORES", 0)
    sizes, text = (1, 8, 20, 16), attention(1, 8, 20, 16)
    for name in unknown:
        text = without_columns(text, name, sizes)
    lowered = coopc.compile(text, pipeline, "mlir").text
    assert (lowered.count("func.func @") == 1) == (unknown != "QK")
    tiles = tiles_of("f16") if on == "cpu" else "auto"
    assert is_right(sizes, on, pipeline, tiles=tiles, unknown=unknown)


def test_scores_of_a_table() -> None:
    """Scores that load what an index says are another kernel's."""
    entry = "%e = tensor.extract %v[%b, %n, %b] : tensor<1x12x4xf32>"
    text = attention(1, 8, 12, 4, "f32").replace("%scaled, %least", "%scaled, %e")
    text = text.replace("%after =", f"%b = linalg.index 0 : index\n{entry}\n%after =")
    random = np.random.default_rng(0)
    q, k, v = (random.integers(-2, 3, (1, n, 4)).astype("f") for n in (8, 12, 12))
    scores = q.astype(np.float64) @ np.swapaxes(k, 1, 2) * 0.125
    scores = np.where(np.tri(8, 12, dtype=bool), scores, v[:, None, :, 0])
    weights = np.exp(scores)
    weights /= weights.sum(2, keepdims=True)
    outcome = coopc.launch(text, q, k, v, on="sim", pipeline="coopc-lanes{device=bmg}")
    np.testing.assert_allclose(outcome.arrays[-1], weights @ v, 1e-5, 1e-5)
