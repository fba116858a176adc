"""`tensor`, against numpy."""

import numpy as np
import pytest
from support.linalg_programs import module_of
from xdsl.context import Context

from coopc.passes.linalg.generalize_linalg import GeneralizeLinalgPass
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

PAD = """
func.func @f(%x: tensor<4x5xf32>, %n: f32) -> tensor<{shape}xf32> {{
  %c2 = arith.constant -2 : index
  %p = tensor.pad %x low[{low}] high[{high}] {{
  ^bb0(%i: index, %j: index):
    tensor.yield %n : f32
  }} : tensor<4x5xf32> to tensor<{shape}xf32>
  func.return %p : tensor<{shape}xf32>
}}
"""
X = np.arange(20, dtype=np.float32).reshape(4, 5)


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize(
    ("low", "high", "shape", "expected"),
    [
        ("1, 0", "0, 2", "5x7", np.pad(X, ((1, 0), (0, 2)), constant_values=9)),
        (
            "-1, 2",
            "3, -4",
            "6x3",
            np.pad(X[1:, :1], ((0, 3), (2, 0)), constant_values=9),
        ),
        ("%c2, 0", "0, %c2", "?x?", X[2:, :3]),
        ("-4, 0", "0, 0", "0x5", X[4:]),
    ],
)
def test_pad(low: str, high: str, shape: str, expected: object, generic: bool) -> None:
    """Negative padding cuts off, before `generalize-linalg` and after it."""
    module = module_of(PAD.format(low=low, high=high, shape=shape))
    if generic:
        GeneralizeLinalgPass().apply(Context(), module)
    run = simulate(module, "f", [X, np.float32(9)])
    np.testing.assert_array_equal(run.results[0], expected)


def test_all_is_cut_off() -> None:
    """Padding alone is left, of as many elements as the type has."""
    module = module_of(PAD.format(low="-5, 2", high="3, -7", shape="2x0"))
    run = simulate(module, "f", [X, np.float32(9)])
    assert run.results[0].shape == (2, 0)
    module = module_of(PAD.format(low="-5, 0", high="3, 0", shape="2x5"))
    run = simulate(module, "f", [X, np.float32(9)])
    np.testing.assert_array_equal(run.results[0], np.full((2, 5), 9))


def test_sizes_are_not_negative() -> None:
    module = module_of(PAD.format(low="%c2, 0", high="-3, 0", shape="?x5"))
    with pytest.raises(UndefinedBehaviour, match=r"not negative, got \[-1, 5\]"):
        simulate(module, "f", [X, np.float32(9)])


SHAPES = """
func.func @f(%x: tensor<?x6xf32>, %n: index)
    -> (tensor<?x2x3xf32>, tensor<f32>, tensor<?x2xf32>) {
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %sizes = tensor.from_elements %n, %two, %three : tensor<3xindex>
  %y = tensor.reshape %x(%sizes)
    : (tensor<?x6xf32>, tensor<3xindex>) -> tensor<?x2x3xf32>
  %none = arith.constant dense<> : tensor<0xi64>
  %one = tensor.extract_slice %x[1, 1] [1, 1] [1, 1]
    : tensor<?x6xf32> to tensor<1x1xf32>
  %z = tensor.reshape %one(%none) : (tensor<1x1xf32>, tensor<0xi64>) -> tensor<f32>
  %g = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    %k = arith.addi %i, %j : index
    %e = tensor.extract %x[%i, %k] : tensor<?x6xf32>
    tensor.yield %e : f32
  } : tensor<?x2xf32>
  func.return %y, %z, %g : tensor<?x2x3xf32>, tensor<f32>, tensor<?x2xf32>
}
"""


@pytest.mark.parametrize("generic", [False, True])
def test_shapes(generic: bool) -> None:
    """Reshapes and tensors of indices, before `generalize-linalg` and after it."""
    module = module_of(SHAPES)
    if generic:
        GeneralizeLinalgPass().apply(Context(), module)
        assert "tensor.reshape" not in str(module)
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    run = simulate(module, "f", [x, np.int64(4)])
    expected = x.reshape(4, 2, 3), x[1, 1], np.add.outer(7 * np.arange(4), (0, 1))
    for found, each in zip(run.results, expected, strict=True):
        np.testing.assert_array_equal(found, each)
