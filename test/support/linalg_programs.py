"""Programs of linalg as frameworks print them, each with what numpy computes.

    run = program("linear_relu")          # test/inputs/linalg/linear_relu.mlir
    run.text, run.arguments(), run.expected(arguments)

References get floats as f64 and integers as int64. They return the results of the
function, then the buffers that it writes.  Inputs are small integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from math import erf, sqrt
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from xdsl.dialects.builtin import MemRefType, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from coopc.compiler import new_context
from coopc.dialects.narrow import I4
from coopc.dialects.shaped_arith import element_of
from coopc.parsing import parse
from coopc.pipeline import verify
from coopc.sim.numerics import decoded, encoded
from coopc.sim.simulate import simulate
from coopc.sim.tracked import Inputs
from coopc.sim.values import CODED, is_float, memory_dtype
from coopc.source import Source
from coopc.universe import everything
from coopc.validate.compare import compare

Array: TypeAlias = npt.NDArray[Any]
Outputs: TypeAlias = Array | tuple[Array, ...]
Reference: TypeAlias = (
    Callable[[], Outputs]
    | Callable[[Array], Outputs]
    | Callable[[Array, Array], Outputs]
    | Callable[[Array, Array, Array], Outputs]
    | Callable[[Array, Array, Array, Array], Outputs]
    | Callable[[Array, Array, Array, Array, Array], Outputs]
    | Callable[[Array, Array, Array, Array, Array, Array, Array], Outputs]
)
"""By the number of arguments."""

FOLDER = Path(__file__).parents[1] / "inputs" / "linalg"
INFINITIES = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000"}


@dataclass(frozen=True)
class Program:
    """How a program is run."""

    reference: Reference
    writes: tuple[int, ...] = ()
    """The buffers among the arguments that it writes."""
    sizes: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])
    """Shapes of arguments whose types do not say them."""
    half: str | None = None
    """A type that f32 may be replaced by, throughout; None if not."""
    numbers: Mapping[int, int] = field(default_factory=dict[int, int])
    """Arguments that are indices."""


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.vectorize(erf)(x / sqrt(2)))


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array, axis: int = -1) -> Array:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def transposed(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def heads(x: Array) -> Array:
    return x.reshape(5, 2, 8).transpose(1, 0, 2)


def heads_behind(x: Array) -> Array:
    return np.swapaxes(x, 1, 2)


def orders(a: Array, b: Array, w: Array, d: Array) -> Outputs:
    return (
        np.einsum("bmk,bkn->mn", a, b),
        np.einsum("bmk,nk->mbn", a, w),
        np.einsum("pqmk,qkn->pqmn", d, b),
    )


def conv_pointwise(x: Array, w: Array, b: Array) -> Array:
    return np.einsum("ncyx,fc->nfyx", x, w[:, :, 0, 0]) + b[:, None, None]


def conv_nchw_bias(x: Array, w: Array, b: Array) -> Array:
    image, weights = np.moveaxis(x, 1, 3), np.transpose(w, (2, 3, 1, 0))
    return np.moveaxis(relu(conv(image, weights) + b), 3, 1)


def rows_updated(x: Array) -> Outputs:
    most = x.max(1)
    return most, np.maximum((x * most[:, None]).max(1), most)


def partial_outputs(x: Array, y: Array, z: Array) -> Outputs:
    padded, diagonal, every_other, row = np.zeros(9), y.copy(), z.copy(), y.copy()
    padded[1:6] = x
    diagonal[range(5), range(5)] += x
    every_other[::2] = x
    row[2] = y.sum(1)
    return padded, diagonal, every_other, row


def attend(q: Array, k: Array, v: Array, mask: Array | float, scale: float) -> Array:
    return softmax(q @ transposed(k) * scale + mask) @ v


def causal(
    q: Array, k: Array, v: Array, bias: Array | float = 0.0, scale: float = 0.25
) -> Array:
    seen = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    return attend(q, k, v, np.where(seen, bias, -np.inf), scale)


def conv(
    x: Array, w: Array, strides: tuple[int, int] = (1, 1), dilations: Any = (1, 1)
) -> Array:
    """Convolve NHWC by HWCF."""
    kh, kw = w.shape[:2]
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, s, d in zip(x.shape[1:3], (kh, kw), strides, dilations, strict=True)
    ]
    found = np.zeros((x.shape[0], *sizes, w.shape[3]), x.dtype)
    for i in range(kh):
        for j in range(kw):
            part = x[:, i * dilations[0] :, j * dilations[1] :]
            part = part[:, :: strides[0], :: strides[1]][:, : sizes[0], : sizes[1]]
            found += part @ w[i, j]
    return found


def conv_nchw(x: Array, w: Array) -> Array:
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))).transpose(0, 2, 3, 1)
    return conv(x, w.transpose(2, 3, 1, 0), (2, 2)).transpose(0, 3, 1, 2)


def conv_depthwise(x: Array, w: Array) -> Array:
    parts = [x[:, i : i + 4, j : j + 4] * w[i, j] for i in range(3) for j in range(3)]
    return np.sum(parts, 0)


def layer_norm(x: Array, weight: Array, bias: Array) -> Array:
    centred = x - x.mean(1, keepdims=True)
    variance = (centred**2).mean(1, keepdims=True)
    return centred / np.sqrt(variance + 2.0**-10) * weight + bias


def rms_norm(x: Array, weight: Array) -> Array:
    return x / np.sqrt((x * x).mean(1, keepdims=True) + 2.0**-10) * weight


def gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(0.797884583 * (x + 0.044715 * x**3)))


def elementwise_named(x: Array) -> Array:
    x = abs(x) + 1.25
    powers = np.exp(-(np.log(x) ** 2))
    return (np.tanh(powers) * np.vectorize(erf)(np.sqrt(x)) - 1 / np.sqrt(x)) * x


def rounding(x: Array) -> Array:
    x = x / 2
    away = np.copysign(np.floor(abs(x) + 0.5), x)
    return np.minimum(np.ceil(x), away) * 4 + np.floor(x)


def elementwise_i32(x: Array, y: Array) -> Array:
    x = np.maximum(x + 3, y)
    least = np.where(x % 2**32 < y % 2**32, x, y)
    return np.trunc(least / 3).astype(np.int64)


def shapes(x: Array, y: Array) -> Array:
    found = np.exp(x).reshape(-1)
    found[20:] = 1
    return found.reshape(y.shape)


def elements_as_numbers(x: Array, y: Array, z: Array) -> tuple[Array, ...]:
    total, old = x.sum(), z[1, 2]
    found = (x - total * y + total) * y
    found[1], z[1, 1] = total, y
    return found, np.stack([total, y, old, np.zeros_like(y)]).reshape(2, 2), z


def scatter_add(x: Array, at: Array, y: Array) -> Array:
    found = x.copy()
    np.add.at(found, at & 7, y)
    return found


def subviews(x: Array, y: Array, at: Array) -> Array:
    y[3:7, 5:8] = x[1:5, 2:7:2] + x[int(at) : int(at) + 4, :3]
    return y


def subview_row(x: Array, y: Array) -> Array:
    y[:] = x[2]
    y[5] = x[0]
    return y


def filled_rows(x: Array) -> Array:
    x[:2] = 3
    return x


def requantized(a: Array, b: Array) -> Array:
    return np.clip(np.rint((a - 3) @ (b + 2) / 4), -128, 127).astype(np.int64)


def quantized_conv(x: Array, w: Array, bias: Array) -> Array:
    padded = np.pad(x + 7, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = sliding_window_view(padded, (3, 3), (1, 2))
    sums = np.einsum("nhwcij,ijcf->nhwf", windows, w) + bias
    return np.clip((sums * 1288490189 + (1 << 37)) >> 38, -128, 127)


def cross_entropy(x: Array, at: Array) -> Array:
    most = x.max(1)
    total = np.exp(x - most[:, None]).sum(1)
    return np.log(total) + most - x[np.arange(5), at & 7]


def int4_weights(x: Array, w: Array, scale: Array, zero: Array) -> Array:
    numbers = np.stack((w & 15, w >> 4), -1).reshape(24, 2, 32)
    weights = (numbers - zero[..., None]) * scale[..., None]
    return x @ weights.reshape(24, 64).T


def kv_cache(cache: Array, new: Array, at: Array) -> Outputs:
    place = int(np.clip(at, 0, 14))
    after = cache.copy()
    after[:, place] = new
    return after, cache[:, place + 1]


def conv_3d(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[:3], (1, 2, 3))
    return np.einsum("ndhwcpij,pijcf->ndhwf", windows, w)


def pooling_nchw(x: Array) -> Outputs:
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), (2, 3))
    return windows[:, :, ::2, ::2].max((-1, -2)), windows.sum((-1, -2))


def rotary_embedding(x: Array, cosine: Array, sine: Array) -> Array:
    return x * cosine + np.concatenate((-x[..., 8:], x[..., :8]), -1) * sine


def padded(x: Array, low: Array) -> Array:
    return -np.pad(x, ((int(low), 0), (1, 1)), constant_values=1)


def unsigned(a: Array, b: Array) -> Array:
    return (a % 256) @ (b % 256)


WEIGHTS = np.array([[1, -2], [0, 3], [0.5, 1], [-1, 2]])
RAGGED = {0: (5, 7), 1: (7, 6), 2: (5, 6)}
LAYERS = {
    **{0: (5, 4), 1: (4, 6), 2: (6,), 3: (6, 3), 4: (3,)},
    **{5: (3, 7), 6: (7,)},
}

PROGRAMS: dict[str, Program] = {
    "argmax": Program(lambda x: (x.max(1), x.argmax(1)), half="f16"),
    "attention": Program(lambda q, k, v: attend(q, k, v, 0, 0.353515625), half="f16"),
    "attention_btnh": Program(
        lambda q, k, v: heads_behind(
            attend(heads_behind(q), heads_behind(k), heads_behind(v), 0, 1)
        ),
        sizes={0: (2, 5, 3, 8), 1: (2, 6, 3, 8), 2: (2, 6, 3, 8)},
        half="f16",
    ),
    "attention_causal": Program(causal, half="bf16"),
    "attention_contract": Program(
        lambda q, k, v, bias: causal(q, transposed(k), v, bias, 1.0),
        sizes={0: (2, 3, 5, 8), 1: (2, 3, 8, 6), 2: (2, 3, 6, 8), 3: (6,)},
        half="bf16",
    ),
    "attention_f16": Program(lambda q, k, v: attend(q, k, v, 0, 1)),
    "attention_heads": Program(
        lambda x, y: (
            x.reshape(5, 2, 8).transpose(1, 0, 2)
            @ y.reshape(5, 2, 8).transpose(1, 2, 0)
        ),
        half="f16",
    ),
    "attention_jax": Program(causal, half="bf16"),
    "attention_mask": Program(
        lambda q, k, v, mask: attend(q, k, v, mask, 1), half="f16"
    ),
    "attention_torch": Program(
        lambda q, k, v, mask: attend(q, k, v, mask, 0.5), half="f16"
    ),
    "batch_matmul": Program(lambda a, b: a @ b, half="f16"),
    "batch_matmul_nt": Program(
        lambda a, b, c: a @ transposed(b) + c,
        sizes={0: (3, 5, 7), 1: (3, 6, 7), 2: (3, 5, 6)},
        half="bf16",
    ),
    "batch_matmul_shared": Program(lambda a, b: a @ b, half="f16"),
    "branch_on_element": Program(
        lambda x, y, z: x @ y + z + x[1, 1] if x[1, 1] > 0 else z, half="f16"
    ),
    "branch_on_constant": Program(abs, half="bf16"),
    "broadcast": Program(
        lambda x, y: np.broadcast_to(x[:, None], y.shape), (1,), half="f16"
    ),
    "bufferized_linear": Program(lambda x, w, b: relu(x @ w + b), half="f16"),
    "bufferized_mlp": Program(lambda x, v, w, y: relu(x @ v) @ w, (3,), half="bf16"),
    "bufferized_shapes": Program(shapes, (1,), {1: (4, 6)}, half="f16"),
    "calls": Program(lambda a, b, c: relu(a @ b) + c, (2,), half="f16"),
    "concatenated": Program(lambda x, y: np.concatenate((x, y), 1) ** 2, half="bf16"),
    "constant_weights": Program(lambda x: x @ WEIGHTS, half="f16"),
    "contract": Program(lambda a, b: np.einsum("kbm,kn->bmn", a, b), half="f16"),
    "conv_3d": Program(conv_3d, half="f16"),
    "conv_bias_relu": Program(lambda x, w, b: relu(conv(x, w) + b), half="f16"),
    "conv_channels": Program(
        lambda x, w, b: relu(conv(x, w, strides=(2, 1)) + b), half="f16"
    ),
    "conv_depthwise": Program(conv_depthwise, half="bf16"),
    "conv_dilated": Program(
        lambda x, w, y: conv(x, w, dilations=(2, 1)) + y, (2,), half="bf16"
    ),
    "conv_i8": Program(conv),
    "conv_pointwise": Program(conv_pointwise, half="f16"),
    "conv_nchw_bias": Program(conv_nchw_bias, sizes={0: (2, 16, 5, 6)}, half="f16"),
    "conv_strided_padded": Program(conv_nchw, half="f16"),
    "cross_entropy": Program(cross_entropy, half="f16"),
    "dequantized_weights": Program(lambda x, w, s: x @ (w * s), half="bf16"),
    "destination_passing": Program(
        lambda a, b, c: np.maximum(a @ b + c, c), half="f16"
    ),
    "dot": Program(lambda x, y: x @ y, half="f16"),
    "elements_as_numbers": Program(elements_as_numbers, (2,), half="bf16"),
    "einsum_orders": Program(
        orders,
        sizes={0: (3, 5, 7), 1: (3, 7, 6), 3: (2, 3, 5, 7)},
        half="f16",
    ),
    "elementwise_chain": Program(
        lambda x, y: abs(x - y) * 2 + x, sizes={0: (11,), 1: (11,)}, half="f16"
    ),
    "elementwise_i32": Program(elementwise_i32),
    "elementwise_kinds": Program(
        lambda x, y, z: np.maximum(x + y, z.T) ** 2 - x, half="bf16"
    ),
    "elementwise_named": Program(elementwise_named, half="f16"),
    "gather": Program(lambda at, table: table[at & 7], half="f16"),
    "gather_buffer": Program(lambda at, x, y: x[at & 7] + y, (2,), half="bf16"),
    "global_weights": Program(lambda x: x @ WEIGHTS + 1, half="bf16"),
    "int4_weights": Program(int4_weights, half="bf16"),
    "iota": Program(lambda: np.arange(4)[:, None] * 10 + np.arange(6)),
    "kv_cache": Program(kv_cache, half="f16"),
    "layer_norm": Program(layer_norm, half="f16"),
    "linear_column_bias": Program(
        lambda x, w, b: (x @ w + b[:, None]) * b[:, None], half="bf16"
    ),
    "linear_f16_out": Program(lambda x, w, b: relu(x @ w + b)),
    "linear_gelu_erf": Program(lambda x, w, b: gelu(x @ w + b), half="f16"),
    "linear_gelu_tanh": Program(lambda x, w: gelu_tanh(x @ w), half="bf16"),
    "linear_heads": Program(
        lambda x, w, v: np.einsum("bsd,dhe,hef->bsf", x, w, v), half="f16"
    ),
    "linear_relu": Program(lambda x, w, b: relu(x @ w.T + b), half="f16"),
    "linear_relu_broadcast": Program(lambda x, w, b: relu(x @ w + b), half="bf16"),
    "linear_residual": Program(lambda x, w, y: x @ w + y, half="f16"),
    "linear_scale_clamp": Program(
        lambda x, w: np.clip(x @ w * 0.25, -2, 3), half="f16"
    ),
    "linear_silu": Program(lambda x, w: x @ w * sigmoid(x @ w), half="bf16"),
    "linear_tanh": Program(lambda x, w: np.tanh(x @ w), half="f16"),
    "located": Program(lambda x, y: (x + y) * x, half="f16"),
    "map_body": Program(lambda x, y: x * y + 1, half="bf16"),
    "materialized": Program(lambda x, w, y: (x @ w) ** 2, (2,), half="f16"),
    "matmul_accumulate": Program(lambda a, b, c: a @ b + c, (2,), half="f16"),
    "matmul_alpha_beta": Program(
        lambda a, b, c, alpha, beta: alpha * (a @ b) + beta * c, half="f16"
    ),
    "matmul_alpha_beta_buffers": Program(
        lambda a, b, c, alpha, beta: alpha * (a @ b) + beta * c,
        (2,),
        RAGGED,
        half="bf16",
    ),
    "matmul_bf16_f32": Program(lambda a, b: a @ b),
    "matmul_dynamic": Program(lambda a, b: a @ b, sizes=RAGGED, half="f16"),
    "matmul_empty": Program(
        lambda a, b: a @ b + 2, sizes={0: (3, 0), 1: (0, 4)}, half="f16"
    ),
    "matmul_f16_f32": Program(lambda a, b: a @ b),
    "matmul_filled": Program(lambda a, b, c: a @ b, (2,), RAGGED, half="f16"),
    "matmul_i8_i32": Program(lambda a, b: a @ b),
    "matmul_nn": Program(lambda a, b: a @ b, half="f16"),
    "matmul_nt": Program(lambda a, b: a @ b.T, half="bf16"),
    "matmul_one": Program(lambda a, b: a @ b, half="bf16"),
    "matmul_tn": Program(lambda a, b: a.T @ b, half="f16"),
    "matmul_transposed_first": Program(lambda a, b: a @ b.T, half="bf16"),
    "matmul_tt": Program(lambda a, b: a.T @ b.T, half="f16"),
    "matmul_unsigned": Program(unsigned),
    "matvec": Program(lambda a, x, y: a @ x + y, half="f16"),
    "mlp_gelu_dynamic": Program(
        lambda x, v, b, w: gelu(x @ v + b) @ w, sizes={0: (3, 8)}, half="bf16"
    ),
    "mlp_three_layers": Program(
        lambda x, u, a, v, b, w, c: np.tanh(
            np.tanh(np.tanh(x @ u + a) @ v + b) @ w + c
        ),
        sizes=LAYERS,
        half="f16",
    ),
    "mlp_two_layers": Program(
        lambda x, v, b, w, c: relu(x @ v + b) @ w + c, half="f16"
    ),
    "padded_dynamic": Program(padded, sizes={0: (3, 4)}, numbers={1: 2}, half="f16"),
    "partial_outputs": Program(partial_outputs, half="f16"),
    "pooling_max": Program(
        lambda x: x.reshape(1, 3, 2, 3, 2, 3).max((2, 4)), half="f16"
    ),
    "pooling_nchw": Program(pooling_nchw, half="f16"),
    "quantized_conv": Program(quantized_conv),
    "quantized_matmul": Program(lambda a, b, x, y: (a - x) @ (b - y)),
    "quantized_named": Program(requantized),
    "reduce_all": Program(lambda x: x.sum() / 16, half="f16"),
    "reduce_columns": Program(
        lambda x, y: np.maximum(x.max(0), y), sizes={0: (5, 9), 1: (9,)}, half="bf16"
    ),
    "reduce_i32_min": Program(lambda x, y: np.minimum(x.min((1, 2)), y), (1,)),
    "reduce_rows": Program(lambda x: x.sum(1), half="f16"),
    "reshaped": Program(lambda x, w: x @ w, half="bf16"),
    "rms_norm": Program(rms_norm, sizes={0: (5, 8)}, half="f16"),
    "rotary_embedding": Program(rotary_embedding, half="bf16"),
    "rounding": Program(rounding, half="f16"),
    "rows_updated": Program(rows_updated, half="f16"),
    "scatter_add": Program(scatter_add, half="f16"),
    "softmax_columns_buffer": Program(
        lambda x, y: softmax(x, 0), (1,), {0: (5, 9), 1: (5, 9)}, half="bf16"
    ),
    "softmax_rows": Program(softmax, half="f16"),
    "subview_row": Program(subview_row, (1,), half="f16"),
    "subviews": Program(subviews, (1,), numbers={2: 3}, half="bf16"),
    "through_a_buffer": Program(filled_rows, half="f16"),
    "tiled_buffers": Program(lambda a, b, c: a @ b + c, (2,), half="f16"),
    "tiled_forall": Program(lambda a, b, c: a @ b + c, half="bf16"),
    "tiled_tensors": Program(lambda a, b: a @ b, half="f16"),
    "transpose": Program(lambda x: x.transpose(2, 0, 1), half="f16"),
    "two_results": Program(lambda a, b: (a @ b, relu(a @ b) - a @ b), half="f16"),
    "vecmat": Program(lambda x, w, y: x @ w, (2,), half="bf16"),
    "where": Program(lambda x, y: np.where(x < y, y, x), half="f16"),
}
"""By the name of the file; `test_linalg_programs.py` compares them with the folder."""


def names() -> list[tuple[str, str | None]]:
    """Return each program, and with another type of floats where it has one."""
    return [
        (name, half)
        for name, program in PROGRAMS.items()
        for half in dict.fromkeys((None, program.half))
    ]


def text_of(name: str, half: str | None = None) -> str:
    text = (FOLDER / f"{name}.mlir").read_text()
    if half is None:
        return text
    text = text.replace(INFINITIES["f32"], INFINITIES[half])
    return re.sub("f32", half, text)


def module_of(text: str, name: str = "<linalg>") -> ModuleOp:
    module = parse(new_context(everything()), Source(text, name))
    verify(module)
    return module


def entry(module: ModuleOp) -> FuncOp:
    """Return the function that is run: the one that is not private."""
    functions = (op for op in module.ops if isinstance(op, FuncOp))
    return next(
        op
        for op in functions
        if op.sym_visibility is None or op.sym_visibility.data != "private"
    )


def _numbers(type: Attribute, shape: Sequence[int], random: Any) -> Array:
    """Return small integers, as memory holds them; of two i4 a byte, any bytes."""
    if type == I4:
        shape = *shape[:-1], shape[-1] // 2
        return random.integers(0, 256, shape, np.uint8)
    element = element_of(type)
    found = random.integers(-2, 4, shape)
    return _stored(found, element)


def _stored(numbers: Array, element: Attribute) -> Array:
    if element.name in CODED:
        return encoded(np.asarray(numbers, np.float64), element.name)
    return np.asarray(numbers).astype(memory_dtype(element))


def arguments(name: str, func: FuncOp) -> list[Any]:
    """Return arguments for a program, the same at each call."""
    program, random = PROGRAMS[name], np.random.default_rng(len(name))
    found: list[Any] = []
    for at, type in enumerate(func.function_type.inputs.data):
        if isa(type, TensorType | MemRefType):
            shape = program.sizes.get(at, type.get_shape())
            array = _numbers(type.get_element_type(), shape, random)
            strides = type.get_strides() if isa(type, MemRefType) else None
            if strides is not None and type.element_type != I4:
                array = _with_strides(array, strides)
            found.append(array)
        elif at in program.numbers:
            found.append(program.numbers[at])
        else:
            found.append(_numbers(type, (), random)[()])
    return found


def _with_strides(array: Array, strides: Sequence[int | None]) -> Array:
    """Return an array with the strides that a type says, of a larger one."""
    wanted = [
        have // array.itemsize if want is None else want
        for have, want in zip(array.strides, strides, strict=True)
    ]
    if wanted == [each // array.itemsize for each in array.strides]:
        return array
    last = sum((n - 1) * step for n, step in zip(array.shape, wanted, strict=True))
    bytes = [step * array.itemsize for step in wanted]
    found = np.lib.stride_tricks.as_strided(
        np.zeros(last + 1, array.dtype), array.shape, bytes
    )
    found[...] = array
    return found


def expected(
    name: str, func: FuncOp, given: Sequence[Any]
) -> list[tuple[Array, Array | float]]:
    """Return each output, as memory holds it, and how much it was rounded by."""
    program = PROGRAMS[name]
    inputs = func.function_type.inputs.data
    types = [
        *func.function_type.outputs.data,
        *(inputs[at] for at in program.writes),
    ]
    pairs = zip(inputs, given, strict=True)
    compute = cast("Callable[..., Outputs]", program.reference)
    results = compute(*(_plain(type, array) for type, array in pairs))
    outputs = results if isinstance(results, tuple) else (results,)
    found: list[tuple[Array, Array | float]] = []
    for type, output in zip(types, outputs, strict=True):
        element = _element(type)
        stored = _stored(output, element)
        error: Array | float = 0.0
        if is_float(element):
            error = abs(_plain(element, stored) - output)
        found.append((stored, error))
    return found


def check(name: str, module: ModuleOp, func: FuncOp) -> None:
    """Run a program, and compare its outputs with the reference.

    `func` is the function as given: its memrefs may have become tensors since.
    """
    given = arguments(name, func)
    wanted = expected(name, func, deepcopy(given))
    run = simulate(module, entry(module).sym_name.data, given, track=Inputs.EXACT)
    assert not run.lost_errors
    writes = PROGRAMS[name].writes
    found = [*run.results, *(given[at] for at in writes)]
    bounds = [*run.result_errors, *(run.errors[at] for at in writes)]
    types = [*func.function_type.outputs, *(func.args[at].type for at in writes)]
    outputs = zip(found, wanted, bounds, types, strict=True)
    for array, (reference, rounding), bound, type in outputs:
        element = getattr(type, "element_type", type).name
        limit = None if bound is None else bound + rounding
        difference = compare(array, reference, bound=limit, element=element)
        assert difference.ok, difference
        assert not difference.unbounded


def _element(type: Attribute) -> Attribute:
    return type.get_element_type() if isa(type, TensorType | MemRefType) else type


def _plain(type: Attribute, array: Any) -> Array:
    """Return an array of f64 or int64."""
    element = _element(type)
    if element.name in CODED:
        return decoded(array, element.name).astype(np.float64)
    return np.array(array, np.float64 if is_float(element) else np.int64)
