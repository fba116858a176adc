"""Inputs, grids and expected results of the kernels in `kernels.py`, with numpy only.

    case = CASES["softmax"]()       # a launch.Case
    case.arguments, case.grid, case.expected, case.check("output_ptr", values)

A buffer that is in `expected` starts as what `arguments` has for it: mostly a value that no kernel
writes (so that a store outside its bounds, or one left out, shows), zeros where a kernel adds to it.
The sizes do not divide the blocks wherever the kernel allows that.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from launch import (
    BFLOAT,
    HALF,
    UNTOUCHED,
    Addresses,
    Buffer,
    Case,
    Descriptor,
    Random,
    cdiv,
    decode,
    empty,
    encode,
    zeros,
)

CASES: dict[str, Callable[[], Case]] = {}


def case(*names: str) -> Callable[[Callable[[str], Case]], Callable[[str], Case]]:
    """Make the decorated function the case of these kernels."""

    def put(make: Callable[[str], Case]) -> Callable[[str], Case]:
        for name in names:
            CASES[name] = lambda name=name: make(name)
        return make

    return put


@case("matmul", "matmul_bf16", "matmul_runtime_strides", "matmul_block_pointer")
def _matmul(name: str) -> Case:
    type_, out, bm, bn, m, n, k = {
        "matmul": ("fp16", "fp16", 128, 128, 200, 176, 80),
        "matmul_bf16": ("bf16", "bf16", 64, 128, 150, 272, 144),
        "matmul_runtime_strides": ("fp16", "fp16", 64, 64, 70, 130, 50),
        "matmul_block_pointer": ("fp16", "fp32", 128, 128, 200, 176, 80),
    }[name]
    r = Random(name)
    a, b = r.normal(type_, m, k), r.normal(type_, k, n)
    strides = {"stride_am": k, "stride_bk": n, "stride_cm": n}
    if name == "matmul_runtime_strides":  # A is stored by columns
        a = Buffer(type_, np.ascontiguousarray(a.data.T))
        strides = {
            "stride_am": 1,
            "stride_ak": m,
            "stride_bk": n,
            "stride_bn": 1,
            "stride_cm": n,
            "stride_cn": 1,
        }
    want = (a.values.T if name == "matmul_runtime_strides" else a.values) @ b.values
    return Case(
        {
            "a_ptr": a,
            "b_ptr": b,
            "c_ptr": empty(out, m, n),
            "M": m,
            "N": n,
            "K": k,
            **strides,
        },
        (cdiv(m, bm) * cdiv(n, bn), 1, 1),
        {"c_ptr": want},
        **(BFLOAT if type_ == "bf16" else HALF),
    )


@case("matmul_persistent")
def _matmul_persistent(name: str) -> Case:
    m, n, k = 150, 208, 80
    r = Random(name)
    a, b = r.normal("fp16", m, k), r.normal("fp16", k, n)
    arguments = {
        "a_ptr": a,
        "b_ptr": b,
        "c_ptr": empty("fp16", m, n),
        "M": m,
        "N": n,
        "K": k,
    }
    return Case(arguments, (4, 1, 1), {"c_ptr": a.values @ b.values}, **HALF)


@case("matmul_batched")
def _matmul_batched(name: str) -> Case:
    batch, m, n, k = 3, 40, 80, 48
    r = Random(name)
    a, b = r.normal("fp16", batch, m, k), r.normal("fp16", batch, k, n)
    arguments = {
        "a_ptr": a,
        "b_ptr": b,
        "c_ptr": empty("fp32", batch, m, n),
        "M": m,
        "N": n,
        "K": k,
        "stride_ab": m * k,
        "stride_bb": k * n,
        "stride_cb": m * n,
    }
    return Case(
        arguments, (cdiv(m, 32), cdiv(n, 64), batch), {"c_ptr": a.values @ b.values}
    )


@case("matmul_split_k")
def _matmul_split_k(name: str) -> Case:
    m, n, k = 100, 80, 304
    r = Random(name)
    a, b = r.normal("fp16", m, k), r.normal("fp16", k, n)
    arguments = {
        "a_ptr": a,
        "b_ptr": b,
        "c_ptr": zeros("fp32", m, n),
        "M": m,
        "N": n,
        "K": k,
    }
    return Case(
        arguments, (cdiv(m, 64), cdiv(n, 64), 4), {"c_ptr": a.values @ b.values}
    )


@case("matmul_int8")
def _matmul_int8(name: str) -> Case:
    m, n, k = 100, 80, 144
    r = Random(name)
    a, b = r.integers("i8", -128, 128, m, k), r.integers("i8", -128, 128, k, n)
    sa = Buffer("fp32", (np.abs(r.normal("fp32", m).data) + 0.1) / 1000)
    sb = Buffer("fp32", (np.abs(r.normal("fp32", n).data) + 0.1) / 100)
    want = (
        (a.data.astype(np.int32) @ b.data.astype(np.int32))
        * sa.data[:, None]
        * sb.data[None, :]
    )
    arguments = {
        "a_ptr": a,
        "b_ptr": b,
        "a_scale_ptr": sa,
        "b_scale_ptr": sb,
        "c_ptr": empty("fp16", m, n),
        "M": m,
        "N": n,
        "K": k,
    }
    return Case(
        arguments,
        (cdiv(m, 64), cdiv(n, 64), 1),
        {"c_ptr": want.astype(np.float32)},
        **HALF,
    )


@case("matmul_abt")
def _matmul_abt(name: str) -> Case:
    m, n, k = 100, 150, 80
    r = Random(name)
    x, w = r.normal("fp16", m, k), r.normal("fp16", n, k)
    arguments = {
        "x_ptr": x,
        "w_ptr": w,
        "y_ptr": empty("fp32", m, n),
        "M": m,
        "N": n,
        "K": k,
    }
    return Case(
        arguments, (cdiv(m, 64), cdiv(n, 128), 1), {"y_ptr": x.values @ w.values.T}
    )


erf = np.vectorize(math.erf)


@case("linear_bias_gelu")
def _linear_bias_gelu(name: str) -> Case:
    m, n, k = 100, 80, 96
    r = Random(name)
    x, w, bias = (
        r.normal("fp16", m, k),
        r.normal("fp16", k, n, scale=0.1),
        r.normal("fp16", n),
    )
    y = x.values @ w.values + bias.values
    want = (0.5 * y * (1 + erf(y / math.sqrt(2)))).astype(np.float32)
    arguments = {
        "x_ptr": x,
        "w_ptr": w,
        "bias_ptr": bias,
        "y_ptr": empty("fp16", m, n),
        "M": m,
        "N": n,
        "K": k,
    }
    return Case(arguments, (cdiv(m, 64), cdiv(n, 64), 1), {"y_ptr": want}, **HALF)


@case("matmul_fp8")
def _matmul_fp8(name: str) -> Case:
    m, n, k = 72, 80, 144
    r = Random(name)
    a, b = r.normal("fp8e4nv", m, k), r.normal("fp8e5", k, n)
    arguments = {
        "a_ptr": a,
        "b_ptr": b,
        "c_ptr": empty("fp32", m, n),
        "M": m,
        "N": n,
        "K": k,
    }
    return Case(
        arguments, (cdiv(m, 64), cdiv(n, 64), 1), {"c_ptr": a.values @ b.values}
    )


@case("matmul_int4")
def _matmul_int4(name: str) -> Case:
    m, n, k, group = 19, 128, 128, 64
    r = Random(name)
    x = r.normal("fp16", m, k)
    w = r.integers("i32", 0, 16, k, n).data
    zero = r.integers("i32", 0, 16, k // group, n).data
    scale = Buffer(
        "fp16", encode("fp16", np.abs(r.normal("fp32", k // group, n).data) / 8 + 0.01)
    )
    shifts = np.arange(8, dtype=np.int64) * 4
    packed = np.sum(
        w.reshape(k // 8, 8, n).astype(np.int64) << shifts[None, :, None], axis=1
    )
    packed_zero = np.sum(
        zero.reshape(k // group, n // 8, 8).astype(np.int64) << shifts, axis=2
    )
    zero_points, scales = (np.repeat(v, group, axis=0) for v in (zero, scale.data))
    real = ((w - zero_points).astype(np.float16) * scales).astype(np.float32)
    arguments = {
        "x_ptr": x,
        "q_ptr": Buffer("i32", packed.astype(np.uint32).view(np.int32)),
        "scale_ptr": scale,
        "zero_ptr": Buffer("i32", packed_zero.astype(np.uint32).view(np.int32)),
        "y_ptr": empty("fp16", m, n),
        "M": m,
        "N": n,
        "K": k,
    }
    return Case(
        arguments,
        (cdiv(m, 16), n // 64, 1),
        {"y_ptr": x.values @ real},
        relative=2e-3,
        absolute=1e-2,
    )


@case("matmul_host_descriptor")
def _matmul_host_descriptor(name: str) -> Case:
    m, n, k = 200, 176, 80
    r = Random(name)
    a, b = r.normal("fp16", m, k), r.normal("fp16", k, n)
    arguments = {
        "a_desc": Descriptor(a, (128, 32)),
        "b_desc": Descriptor(b, (32, 128)),
        "c_desc": Descriptor(empty("fp16", m, n), (128, 128)),
        "M": m,
        "N": n,
        "K": k,
    }
    grid = (cdiv(m, 128) * cdiv(n, 128), 1, 1)
    return Case(arguments, grid, {"c_desc": a.values @ b.values}, **HALF)


@case("matmul_device_descriptor")
def _matmul_device_descriptor(name: str) -> Case:
    m, n, k = 200, 176, 80
    r = Random(name)
    a, b = r.normal("bf16", m, k), r.normal("bf16", n, k)
    arguments = {
        "a_ptr": a,
        "b_ptr": b,
        "c_ptr": empty("bf16", m, n),
        "M": m,
        "N": n,
        "K": k,
    }
    grid = (cdiv(m, 128) * cdiv(n, 128), 1, 1)
    return Case(arguments, grid, {"c_ptr": a.values @ b.values.T}, **BFLOAT)


@case("grouped_gemm")
def _grouped_gemm(name: str) -> Case:
    sizes = [(70, 64, 32), (64, 130, 48), (10, 20, 70)]
    r = Random(name)
    a = [r.normal("fp16", m, k) for m, _, k in sizes]
    b = [r.normal("fp16", k, n) for _, n, k in sizes]
    c = [empty("fp16", m, n) for m, n, _ in sizes]
    arguments = {
        "a_ptrs": Addresses(tuple(a)),
        "b_ptrs": Addresses(tuple(b)),
        "c_ptrs": Addresses(tuple(c)),
        "sizes_ptr": Buffer("i32", np.array(sizes, np.int32)),
        "leading_ptr": Buffer(
            "i32", np.array([(k, n, n) for _, n, k in sizes], np.int32)
        ),
        "groups": len(sizes),
    }
    want = {
        f"c_ptrs[{i}]": x.values @ y.values
        for i, (x, y) in enumerate(zip(a, b, strict=True))
    }
    return Case(arguments, (4, 1, 1), want, **HALF)


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, causal: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Attention of one head, and the logarithm of base 2 of the sums of exponentials."""
    s = q.astype(np.float64) @ k.T.astype(np.float64) * scale
    if causal:
        s = np.where(np.tril(np.ones(s.shape, bool)), s, -np.inf)
    top = s.max(1, keepdims=True)
    p = np.exp(s - top)
    total = p.sum(1, keepdims=True)
    return p / total @ v, (top[:, 0] + np.log(total[:, 0])) / math.log(2)


@case("flash_attention_descriptor")
def _flash_attention_descriptor(name: str) -> Case:
    heads, length, width = 2, 128, 64
    r = Random(name)
    q, k, v = (r.normal("fp16", heads * length, width) for _ in range(3))
    scale = 1 / math.sqrt(width)
    parts = [
        attention(*(x.values[h * length :][:length] for x in (q, k, v)), scale)
        for h in range(heads)
    ]
    arguments = {
        "q_ptr": q,
        "k_ptr": k,
        "v_ptr": v,
        "o_ptr": empty("fp16", heads * length, width),
        "lse_ptr": empty("fp32", heads * length),
        "scale": scale,
        "length": length,
        "rows": heads * length,
    }
    want = {
        "o_ptr": np.concatenate([o for o, _ in parts]).astype(np.float32),
        "lse_ptr": np.concatenate([s for _, s in parts]).astype(np.float32),
    }
    return Case(arguments, (length // 64, heads, 1), want, **HALF)


@case("flash_attention_pointer", "flash_attention_f16", "flash_attention_f16_causal")
def _flash_attention_pointer(name: str) -> Case:
    type_, rows, length, width = "bf16", 32, 75, 64
    if "f16" in name:
        type_, rows, length, width = "fp16", 128, 150, 128
    heads, groups, is_causal = 4, 2, name != "flash_attention_f16"
    r = Random(name)
    q = r.normal(type_, heads, length, width)
    k, v = (r.normal(type_, heads // groups, length, width) for _ in range(2))
    scale = 1 / math.sqrt(width)
    want = [
        attention(
            *(q.values[h], k.values[h // groups], v.values[h // groups]),
            scale,
            is_causal,
        )[0]
        for h in range(heads)
    ]
    arguments = {
        "q_ptr": q,
        "k_ptr": k,
        "v_ptr": v,
        "o_ptr": empty(type_, heads, length, width),
        "scale": scale,
        "length": length,
        "kv_groups": groups,
        "stride_h": length * width,
        "stride_m": width,
    }
    grid, least = (cdiv(length, rows), heads, 1), BFLOAT if type_ == "bf16" else HALF
    return Case(arguments, grid, {"o_ptr": np.stack(want).astype(np.float32)}, **least)


@case("softmax")
def _softmax(name: str) -> Case:
    rows, columns, pitch = 13, 203, 208
    x = Random(name).normal("fp32", rows, columns, scale=3)
    e = np.exp(x.data - x.data.max(1, keepdims=True))
    want = np.full((rows, pitch), UNTOUCHED, np.float32)
    want[:, :columns] = e / e.sum(1, keepdims=True)
    arguments = {
        "output_ptr": empty("fp32", rows, pitch),
        "input_ptr": x,
        "input_stride": columns,
        "output_stride": pitch,
        "rows": rows,
        "columns": columns,
    }
    return Case(
        arguments, (4, 1, 1), {"output_ptr": want}, relative=1e-5, absolute=1e-6
    )


@case("layer_norm_forward")
def _layer_norm_forward(name: str) -> Case:
    rows, n, pitch, eps = 5, 600, 608, 1e-5
    r = Random(name)
    x, w, b = r.normal("fp16", rows, pitch), r.normal("fp16", n), r.normal("fp16", n)
    v = x.values[:, :n]
    mean, rstd = v.mean(1), 1 / np.sqrt(v.var(1) + eps)
    want = np.full((rows, pitch), UNTOUCHED, np.float32)
    want[:, :n] = (v - mean[:, None]) * rstd[:, None] * w.values + b.values
    arguments = {
        "x_ptr": x,
        "y_ptr": empty("fp16", rows, pitch),
        "w_ptr": w,
        "b_ptr": b,
        "mean_ptr": empty("fp32", rows),
        "rstd_ptr": empty("fp32", rows),
        "stride": pitch,
        "N": n,
        "eps": eps,
    }
    return Case(
        arguments,
        (rows, 1, 1),
        {"y_ptr": want, "mean_ptr": mean, "rstd_ptr": rstd},
        **HALF,
    )


@case("layer_norm_backward")
def _layer_norm_backward(name: str) -> Case:
    rows, n, pitch, groups = 10, 200, 208, 4
    r = Random(name)
    x, dy, w = (
        r.normal("fp16", rows, pitch),
        r.normal("fp16", rows, pitch),
        r.normal("fp16", n),
    )
    v, g = x.values[:, :n], dy.values[:, :n]
    mean, rstd = v.mean(1), 1 / np.sqrt(v.var(1) + 1e-5)
    x_hat = (v - mean[:, None]) * rstd[:, None]
    wdy = g * w.values
    c1, c2 = (x_hat * wdy).mean(1, keepdims=True), wdy.mean(1, keepdims=True)
    dx = np.full((rows, pitch), UNTOUCHED, np.float32)
    dx[:, :n] = (wdy - (x_hat * c1 + c2)) * rstd[:, None]
    dw = np.stack([(g * x_hat)[i::groups].sum(0) for i in range(groups)])
    db = np.stack([g[i::groups].sum(0) for i in range(groups)])
    arguments = {
        "dx_ptr": empty("fp16", rows, pitch),
        "dy_ptr": dy,
        "dw_ptr": empty("fp32", groups, n),
        "db_ptr": empty("fp32", groups, n),
        "x_ptr": x,
        "w_ptr": w,
        "mean_ptr": Buffer("fp32", mean),
        "rstd_ptr": Buffer("fp32", rstd),
        "lock_ptr": zeros("i32", 2 * groups),
        "stride": pitch,
        "N": n,
    }
    lock = np.array([0] * groups + [1] * groups, np.int32)
    want = {"dx_ptr": dx, "dw_ptr": dw, "db_ptr": db, "lock_ptr": lock}
    return Case(arguments, (rows, 1, 1), want, **HALF)


@case("layer_norm_backward_sum")
def _layer_norm_backward_sum(name: str) -> Case:
    m, n = 40, 144
    r = Random(name)
    dw, db = r.normal("fp32", m, n), r.normal("fp32", m, n)
    arguments = {
        "dw_ptr": dw,
        "db_ptr": db,
        "final_dw_ptr": empty("fp16", n),
        "final_db_ptr": empty("fp16", n),
        "M": m,
        "N": n,
    }
    want = {"final_dw_ptr": dw.data.sum(0), "final_db_ptr": db.data.sum(0)}
    return Case(arguments, (cdiv(n, 64), 1, 1), want, relative=2e-3, absolute=5e-3)


@case("rms_norm_rope")
def _rms_norm_rope(name: str) -> Case:
    rows, n, eps = 6, 96, 1e-6
    r = Random(name)
    x, w = r.normal("bf16", rows, n), r.normal("bf16", n)
    angle = np.arange(rows)[:, None] * 10000.0 ** (-np.arange(n // 2) / (n // 2))
    cos, sin = (Buffer("fp32", f(angle).astype(np.float32)) for f in (np.cos, np.sin))
    y = x.values / np.sqrt((x.values**2).mean(1, keepdims=True) + eps) * w.values
    want = np.empty_like(y)
    want[:, ::2] = y[:, ::2] * cos.data - y[:, 1::2] * sin.data
    want[:, 1::2] = y[:, ::2] * sin.data + y[:, 1::2] * cos.data
    arguments = {
        "x_ptr": x,
        "w_ptr": w,
        "cos_ptr": cos,
        "sin_ptr": sin,
        "o_ptr": empty("bf16", rows, n),
        "N": n,
        "eps": eps,
    }
    return Case(arguments, (rows, 1, 1), {"o_ptr": want}, **BFLOAT)


@case("cross_entropy")
def _cross_entropy(name: str) -> Case:
    rows, vocabulary, pitch = 7, 1000, 1001
    r = Random(name)
    logits = r.normal("bf16", rows, pitch, scale=4)
    target = r.integers("i64", 0, vocabulary, rows)
    target.data[2] = -100
    x = logits.values[:, :vocabulary]
    lse = x.max(1) + np.log(np.exp(x - x.max(1, keepdims=True)).sum(1))
    loss = np.where(
        target.data == -100, 0, lse - x[np.arange(rows), np.maximum(target.data, 0)]
    )
    arguments = {
        "logits_ptr": logits,
        "target_ptr": target,
        "loss_ptr": empty("fp32", rows),
        "lse_ptr": empty("fp32", rows),
        "vocabulary": vocabulary,
        "stride": pitch,
    }
    want = {"loss_ptr": loss.astype(np.float32), "lse_ptr": lse}
    return Case(arguments, (rows, 1, 1), want, relative=1e-5, absolute=1e-5)


@case("embedding")
def _embedding(name: str) -> Case:
    tokens, width, vocabulary = 19, 112, 50
    r = Random(name)
    index = r.integers("i64", 0, vocabulary, tokens)
    index.data[3], index.data[11] = -1, vocabulary
    weight = r.normal("fp16", vocabulary, width)
    known = (index.data >= 0) & (index.data < vocabulary)
    want = np.where(known[:, None], weight.values[np.where(known, index.data, 0)], 0)
    arguments = {
        "index_ptr": index,
        "weight_ptr": weight,
        "out_ptr": empty("fp16", tokens, width),
        "tokens": tokens,
        "width": width,
        "vocabulary": vocabulary,
    }
    return Case(
        arguments,
        (cdiv(tokens, 8), cdiv(width, 64), 1),
        {"out_ptr": want},
        relative=0,
        absolute=0,
    )


@case("top_k")
def _top_k(name: str) -> Case:
    rows, columns, k = 5, 50, 8
    x = Random(name).normal("fp32", rows, columns)
    want = -np.sort(-x.data, axis=1)[:, :k]
    arguments = {"x_ptr": x, "y_ptr": empty("fp32", rows, k), "columns": columns}
    return Case(arguments, (rows, 1, 1), {"y_ptr": want}, relative=0, absolute=0)


@case("cumsum")
def _cumsum(name: str) -> Case:
    rows, columns = 8, 150
    x = Random(name).normal("fp32", rows, columns)
    arguments = {"x_ptr": x, "y_ptr": empty("fp32", rows, columns), "columns": columns}
    want = np.cumsum(x.data, axis=1, dtype=np.float64).astype(np.float32)
    return Case(
        arguments, (rows // 4, 1, 1), {"y_ptr": want}, relative=1e-5, absolute=1e-5
    )


@case("linear_recurrence")
def _linear_recurrence(name: str) -> Case:
    rows, length = 8, 64
    r = Random(name)
    a = Buffer("fp32", r.rng.uniform(0.5, 1, (rows, length)).astype(np.float32))
    b = r.normal("fp32", rows, length)
    want = np.zeros((rows, length), np.float32)
    h = np.zeros(rows)
    for t in range(length):
        h = a.data[:, t] * h + b.data[:, t]
        want[:, t] = h
    arguments = {"a_ptr": a, "b_ptr": b, "h_ptr": empty("fp32", rows, length)}
    return Case(
        arguments, (rows // 4, 1, 1), {"h_ptr": want}, relative=1e-5, absolute=1e-5
    )


def philox_uniform(seed: int, offsets: np.ndarray) -> np.ndarray:
    """`tl.rand(seed, offsets)`: the first word of Philox 4x32-10 with the counter (offset, 0, 0, 0)."""
    mask = 0xFFFFFFFF
    c0 = [int(o) for o in offsets]
    c1, c2, c3 = ([0] * len(c0) for _ in range(3))
    k0, k1 = seed & mask, (seed >> 32) & mask
    for _ in range(10):
        p, q = [0xD2511F53 * c for c in c0], [0xCD9E8D57 * c for c in c2]
        c0 = [(b >> 32) ^ c ^ k0 for b, c in zip(q, c1, strict=True)]
        c2 = [(b >> 32) ^ c ^ k1 for b, c in zip(p, c3, strict=True)]
        c1, c3 = [b & mask for b in q], [b & mask for b in p]
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    word = np.array(c0, np.uint32).view(np.int32)
    return np.where(word < 0, -word - 1, word).astype(np.float32) * np.float32(
        4.6566127342e-10
    )


@case("dropout")
def _dropout(name: str) -> Case:
    n, p, seed = 700, 0.3, 12345
    x = Random(name).normal("fp32", n)
    keep = philox_uniform(seed, np.arange(n)) > np.float32(p)
    arguments = {"x_ptr": x, "y_ptr": empty("fp32", n), "n": n, "p": p, "seed": seed}
    want = np.where(keep, x.data / (1 - np.float32(p)), 0).astype(np.float32)
    return Case(
        arguments, (cdiv(n, 256), 1, 1), {"y_ptr": want}, relative=1e-6, absolute=0
    )


@case("argmax")
def _argmax(name: str) -> Case:
    rows, columns = 16, 100
    x = Random(name).normal("fp32", rows, columns)
    x.data[1, [7, 30, 99]] = 9.0  # a tie: the first place counts
    arguments = {
        "x_ptr": x,
        "value_ptr": empty("fp32", rows),
        "index_ptr": empty("i32", rows),
        "columns": columns,
    }
    want = {"value_ptr": x.data.max(1), "index_ptr": x.data.argmax(1).astype(np.int32)}
    return Case(arguments, (rows // 8, 1, 1), want, relative=0, absolute=0)


@case("histogram")
def _histogram(name: str) -> Case:
    n, bins = 700, 32
    x = Random(name).integers("i32", 0, bins, n)
    arguments = {"x_ptr": x, "y_ptr": zeros("i32", bins), "n": n}
    want = np.bincount(x.data, minlength=bins).astype(np.int32)
    return Case(arguments, (3, 1, 1), {"y_ptr": want})


@case("gather")
def _gather(name: str) -> Case:
    r = Random(name)
    x, index = r.normal("fp32", 8, 32), r.integers("i32", 0, 32, 8, 16)
    arguments = {"x_ptr": x, "index_ptr": index, "y_ptr": empty("fp32", 8, 16)}
    want = np.take_along_axis(x.data, index.data, 1)
    return Case(arguments, (2, 1, 1), {"y_ptr": want}, relative=0, absolute=0)


@case("cat")
def _cat(name: str) -> Case:
    r = Random(name)
    x, y = r.normal("fp32", 64), r.normal("fp32", 64)
    both = np.concatenate([x.data, y.data]).astype(np.float64)
    want = np.array([both.sum(), both.max()], np.float32)
    arguments = {"x_ptr": x, "y_ptr": y, "z_ptr": empty("fp32", 2)}
    return Case(arguments, (1, 1, 1), {"z_ptr": want}, relative=1e-5, absolute=1e-5)


@case("gcd")
def _gcd(name: str) -> Case:
    r = Random(name)
    a, b = r.integers("i32", 1, 5000, 128), r.integers("i32", 1, 5000, 128)
    steps: list[int] = []
    for block in range(0, 128, 64):
        x, y = (v.data[block : block + 64].copy() for v in (a, b))
        steps.append(0)
        while y.max() > 0:
            x, y = np.where(y > 0, y, x), np.where(y > 0, x % np.maximum(y, 1), 0)
            steps[-1] += 1
    arguments = {"a_ptr": a, "b_ptr": b, "c_ptr": empty("i32", 128)}
    want = {"c_ptr": np.gcd(a.data, b.data), "steps_ptr": np.array(steps, np.int32)}
    return Case({**arguments, "steps_ptr": empty("i32", 2)}, (2, 1, 1), want)


@case("moved_pointer")
def _moved_pointer(name: str) -> Case:
    n = 150
    x = Random(name).normal("fp32", 300)
    rows = [x.data[k * n : k * n + 128].reshape(4, 32).sum(0) for k in (0, 1, 0)]
    arguments = {"from_ptr": x, "y_ptr": empty("fp32", 3, 32), "n": n}
    want = {"y_ptr": np.stack(rows)}
    return Case(arguments, (3, 1, 1), want, relative=1e-5, absolute=1e-5)


@case("checked")
def _checked(name: str) -> Case:
    x = Random(name).integers("i32", 0, 99, 64)
    arguments = {"x_ptr": x, "y_ptr": empty("i32", 64)}
    return Case(arguments, (2, 1, 1), {"y_ptr": 2 * x.data})


@case("descriptor_sum")
def _descriptor_sum(name: str) -> Case:
    count, m, n = 3, 12, 48
    x = Random(name).normal("fp32", count, m, n)
    arguments = {"x_ptr": x, "y_ptr": zeros("fp32", m, n), "M": m, "N": n}
    want = x.data.sum(0, dtype=np.float64).astype(np.float32)
    return Case(arguments, (count, 1, 1), {"y_ptr": want}, relative=1e-5, absolute=1e-5)


@case("spin_lock")
def _spin_lock(name: str) -> Case:
    programs = 5
    x = Random(name).integers("i32", 0, 99, programs, 64)
    total = np.full(64, sum(3**k for k in range(programs)), np.int32)
    arguments = {"x_ptr": x, "sum_ptr": zeros("i32", 64), "lock_ptr": zeros("i32", 2)}
    lock = np.array([0, x.data.sum()], np.int32)
    return Case(arguments, (programs, 1, 1), {"sum_ptr": total, "lock_ptr": lock})


@case("cas_max")
def _cas_max(name: str) -> Case:
    n = 250
    x = Random(name).integers("i32", 1, 500, n)
    taken = np.zeros(500, np.int32)
    taken[x.data] = x.data
    arguments = {
        "x_ptr": x,
        "most_ptr": zeros("i32", 1),
        "taken_ptr": zeros("i32", 500),
    }
    want = {"most_ptr": np.array([x.data.max()], np.int32), "taken_ptr": taken}
    return Case({**arguments, "n": n}, (4, 1, 1), want)


@case("gather_rows")
def _gather_rows(name: str) -> Case:
    m, n = 20, 24
    r = Random(name)
    x = r.normal("fp32", m, n)
    index = Buffer("i32", r.rng.permutation(m)[:16].astype(np.int32))
    index.data[[3, 9]] = [m, -1]  # outside: zeros are read, nothing is written
    known = (index.data >= 0) & (index.data < m)
    found = np.where(known[:, None], x.data[np.where(known, index.data, 0)], 0)
    z = np.full((m, n), UNTOUCHED, np.float32)
    z[index.data[known]] = 2 * found[known]
    arguments = {
        "x_ptr": x,
        "index_ptr": index,
        "y_ptr": empty("fp32", 16, n),
        "z_ptr": empty("fp32", m, n),
        "M": m,
        "N": n,
    }
    want = {"y_ptr": found, "z_ptr": z}
    return Case(arguments, (2, 2, 1), want, relative=0, absolute=0)


@case("matmul_mxfp")
def _matmul_mxfp(name: str) -> Case:
    m, n, k = 40, 50, 96
    r = Random(name)
    a, b = r.integers("u8", 0, 256, m, k // 2), r.normal("fp8e4nv", k, n)
    a_scale, b_scale = (r.integers("u8", 120, 133, x, k // 32) for x in (m, n))
    codes = np.stack([a.data & 15, a.data >> 4], -1).reshape(m, k)
    sizes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[codes & 7]
    powers = [np.exp2(np.repeat(x.data - 127.0, 32, 1)) for x in (a_scale, b_scale)]
    left = np.where(codes & 8, -sizes, sizes) * powers[0]
    arguments = {
        "a_ptr": a,
        "a_scale_ptr": a_scale,
        "b_ptr": b,
        "b_scale_ptr": b_scale,
        "c_ptr": empty("fp32", m, n),
        "M": m,
        "N": n,
        "K": k,
    }
    want = (left @ (b.values * powers[1].T)).astype(np.float32)
    grid = (cdiv(m, 32), cdiv(n, 32), 1)
    return Case(arguments, grid, {"c_ptr": want}, relative=1e-5, absolute=1e-3)


@case("toward_zero")
def _toward_zero(name: str) -> Case:
    r = Random(name)
    x = r.normal("fp32", 128)
    x.data[...] *= np.exp2(r.rng.integers(-18, 20, 128)).astype(np.float32)
    x.data[[5, 70]] = np.inf, -0.0
    want: dict[str, np.ndarray] = {}
    for name, type_, codes in (
        ("y_ptr", "fp16", np.arange(0x7C01, dtype=np.uint16).view(np.float16)),
        ("z_ptr", "bf16", np.arange(0x7F81, dtype=np.uint16)),
        ("w_ptr", "fp8e5", np.arange(0x7C, dtype=np.uint8)),  # it saturates
    ):
        table = decode(type_, codes)
        size = table[np.searchsorted(table, np.abs(x.data), side="right") - 1]
        want[name] = np.copysign(size, x.data)
    arguments = {
        "x_ptr": x,
        "y_ptr": empty("fp16", 128),
        "z_ptr": empty("bf16", 128),
        "w_ptr": Buffer("fp8e5", np.full(128, 77, np.uint8)),
    }
    return Case(arguments, (2, 1, 1), want, relative=0, absolute=0)


@case("chosen_pointer")
def _chosen_pointer(name: str) -> Case:
    block, programs, rounds, limit = 64, 3, 3, 7
    r = Random(name)
    x = r.integers("i32", -99, 99, block * (programs + 2))
    y = r.integers("i32", -99, 99, block * (programs + 2))
    u = r.integers("i32", -99, 99, block * programs)
    v = zeros("i32", block * programs)
    x.data[4 * block], y.data[0] = 2, 5
    at = np.arange(block * programs)
    pid = at // block
    first = np.where(pid == 1, x.data[at], y.data[at + np.where(pid == 2, 5, 0)])
    total = np.where(at % 3 == 0, first, x.data[at + 1])
    for number in range(-(-limit // 2)):  # x, y, x + 1, y + 1, ...
        total += (y if number % 2 else x).data[pid + number // 2]
    want = {
        "u_ptr": u.data + 1 + 2,
        "v_ptr": u.data + 1 + 2 + 3,
        "out_ptr": total,
    }
    arguments = {
        "x_ptr": x,
        "y_ptr": y,
        "u_ptr": u,
        "v_ptr": v,
        "out_ptr": empty("i32", block * programs),
        "rounds": rounds,
        "limit": limit,
    }
    return Case(arguments, (programs, 1, 1), want)


@case("descriptor_updates")
def _descriptor_updates(name: str) -> Case:
    m, n, programs = 10, 24, 3
    r = Random(name)
    x = r.integers("i32", -(2**30), 2**30, programs, m, n)
    arguments = {"x_ptr": x}
    for each in ("low_ptr", "high_ptr", "unsigned_ptr", "bits_ptr"):
        arguments[each] = empty("u32" if each[0] == "u" else "i32", m, n)
    start = np.full((1, m, n), UNTOUCHED, np.int32)
    every = np.concatenate([start, x.data])
    want = {
        "low_ptr": every.min(0),
        "high_ptr": every.max(0),
        "unsigned_ptr": every.view(np.uint32).max(0),
    }
    bits = np.bitwise_xor.reduce(every, 0)
    # Each program sets and clears bits 30 and 31 after its own.
    want["bits_ptr"] = bits & 0x3FFFFFFF | 0x40000000
    return Case({**arguments, "M": m, "N": n}, (programs, 1, 1), want)


@case("mapped")
def _mapped(name: str) -> Case:
    x = Random(name).integers("i32", -5, 200, 128)
    counts: list[int] = []
    ends: list[int] = []
    for at, number in enumerate(x.data.tolist()):
        count = 0
        while number > 1 and count < at + 2:
            number = 3 * number + 1 if number % 2 else number // 2
            count += 1
        counts.append(count)
        ends.append(number)
    count = np.array(counts, np.int32)
    one, other = x.data[::2], x.data[1::2]
    first, second = count[::2], count[1::2]
    low = np.where(one > other, second, first) - one
    high = np.where(one > other, first, second) + other
    want = {
        "count_ptr": count,
        "end_ptr": np.array(ends, np.int32),
        "pairs_ptr": np.stack([low, high], 1).reshape(-1),
    }
    return Case(
        {"x_ptr": x, **{each: empty("i32", 128) for each in want}}, (2, 1, 1), want
    )


@case("relay")
def _relay(name: str) -> Case:
    block, programs = 32, 4
    x = Random(name).integers("i32", -99, 99, programs, block)
    flags, out = zeros("i32", 1 + block), zeros("i32", programs + 1, block)
    flags.data[[4, 8]] = 5
    want = {"out_ptr": np.tile(np.int32(flags.data[1:] == 5), (programs + 1, 1))}
    want["out_ptr"][0] = x.data.sum(0)
    arguments = {"x_ptr": x, "flag_ptr": flags, "out_ptr": out}
    return Case(arguments, (programs, 1, 1), want)


def ordered(x: np.ndarray) -> np.ndarray:
    """The order of floats by their bits: -NaN, ..., -0.0, 0.0, ..., NaN; its own inverse."""
    bits = x.view(np.int32)
    return np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


@case("atomic_extremes")
def _atomic_extremes(name: str) -> Case:
    block, cols, n = 64, 16, 250
    r = Random(name)
    x = r.normal("fp32", n)
    x.data[1:n:cols] = -np.abs(x.data[1:n:cols])
    x.data[[17, 34, 51, 66]] = -0.0, np.nan, -np.nan, np.inf  # of columns 1, 2, 3, 2
    x.data[[4, 64]] = 0.0, -np.inf
    x.data[[20, 36]] = -0.0
    most, least = (r.normal("fp32", cols + 1) for _ in range(2))
    most.data[1], least.data[1] = -7, 7
    seen = Buffer("fp32", np.concatenate([r.normal("fp32", n).data, np.zeros(n, "f4")]))
    want: dict[str, np.ndarray] = {}
    for each, start, reduced in (
        ("most_ptr", most.data, np.max),
        ("least_ptr", least.data, np.min),
    ):
        groups = [x.data[at::cols] for at in range(cols)] + [x.data[::block]]
        found = [
            reduced(ordered(np.append(old, some)))
            for old, some in zip(start, groups, strict=True)
        ]
        bits = np.array(found, np.int32)
        want[each] = ordered(bits.view(np.float32)).view(np.float32)
    before = seen.data[:n]
    greater = ordered(before) > ordered(x.data)
    want["seen_ptr"] = np.concatenate([np.where(greater, before, x.data), before])
    arguments = {"x_ptr": x, "most_ptr": most, "least_ptr": least, "seen_ptr": seen}
    grid = (cdiv(n, block), 1, 1)
    return Case({**arguments, "n": n}, grid, want, relative=0, absolute=0)


@case("assembly")
def _assembly(name: str) -> Case:
    x = Random(name).integers("i32", -99, 99, 64)
    want = {"y_ptr": ~x.data}
    return Case({"x_ptr": x, "y_ptr": empty("i32", 64)}, (1, 1, 1), want)
