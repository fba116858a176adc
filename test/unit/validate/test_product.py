"""What numpy makes of a product is what the simulator makes of it."""

import numpy as np
import pytest

from coopc.generate.gemms import Gemm
from coopc.launcher import LaunchTarget, build
from coopc.run.arguments import make_arguments, read_words
from coopc.sim.tracked import Inputs
from coopc.source import Source
from coopc.validate.compare import compare
from coopc.validate.product import expected_product

GEMMS = (
    Gemm((5, 6, 7)),
    Gemm((5, 6, 7), fill=False),
    Gemm((9, 4, 8), a="km", b="nk", c="nm"),
    Gemm((3, 4, 5), a="bmk", b="bkn", c="bmn"),
    Gemm((5, 6, 7), types=("bf16", "f32")),
    Gemm((5, 6, 70), types=("f16", "f16")),
    Gemm((5, 6, 7), types=("i8", "i32")),
    Gemm((5, 6, 7), types=("i8", "i32"), extended=("extui", "extui")),
    Gemm((5, 6, 7), types=("f32", "f32"), dynamic=True),
)


@pytest.mark.parametrize("kind", ["exact", "rand"])
@pytest.mark.parametrize("gemm", GEMMS, ids=str)
def test_simulated(gemm: Gemm, kind: str) -> None:
    built = build(Source(gemm.text, "gemm"), LaunchTarget("sim"))
    interface = built.executable.kernel()
    shapes = (gemm.shape(gemm.a), gemm.shape(gemm.b), gemm.shape(gemm.c))
    words = [
        f"{name}={kind}:{'x'.join(map(str, shape))}"
        for name, shape in zip("abc", shapes, strict=True)
    ]
    given = make_arguments(interface, read_words(words, interface))
    call = built.executable.call(given)
    inputs = Inputs.EXACT if kind == "exact" else Inputs.REAL
    simulated = built.simulated(call, built.module, "gemm", {}, inputs)
    found = expected_product(built.given, "gemm", given)
    assert found is not None
    number, result, bound = found
    assert number == 2
    array, error = simulated[2]
    both = None if error is None else error + (0 if bound is None else bound)
    element = call.contents[2].element
    assert compare(result, np.asarray(array), bound=both, element=element).ok
    if kind == "exact":
        assert bound is None
    elif gemm.types[1] != "i32":
        assert bound is not None
        assert (bound > 0).all()
        assert (bound < 1).all()


def test_more_than_a_product() -> None:
    """An epilogue, or another type, is left to the simulator."""
    gemm = Gemm((4, 4, 4), types=("f32", "f32"))
    relu = """linalg.map { arith.maximumf }
        ins(%c, %c : memref<4x4xf32>, memref<4x4xf32>) outs(%c : memref<4x4xf32>)
  func.return"""
    texts = gemm.text.replace("func.return", relu), gemm.text.replace("f32", "f64")
    for text in texts:
        built = build(Source(text, "gemm"), LaunchTarget("sim"))
        given = make_arguments(built.executable.kernel(), {})
        assert expected_product(built.given, "gemm", given) is None
