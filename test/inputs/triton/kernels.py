"""Triton kernels as users write them, with what Triton needs to compile them without arguments.

`KERNELS` is the table that `triton_dump.py` reads: for each kernel the function, the types of its
arguments, its constexprs (an argument that is 1 at the call is one too, as Triton specializes it), the
integers that 16 divides, and options. `references.py` has inputs, grids and expected results.
"""

import triton
import triton.language as tl

KERNELS = {}


def entry(name, signature, constexprs, divisible="", only=None, **options):
    """Put a kernel into the table under a name; several entries may share a function.

    `only="xpu"`: upstream Triton 3.9 does not know what the kernel uses.
    """

    def put(fn):
        KERNELS[name] = {
            "fn": fn,
            "signature": dict(s.split(":") for s in signature.split()),
            "constexprs": constexprs,
            "divisible": tuple(divisible.split()),
            "options": {"num_warps": 4, "num_stages": 2, **options},
            "only": only,
        }
        return fn

    return put


# Matrix multiplications with pointers.

STRIDES = "stride_am:i32 stride_ak:i32 stride_bk:i32 stride_bn:i32 stride_cm:i32 stride_cn:i32"
ONES = {"stride_ak": 1, "stride_bn": 1, "stride_cn": 1}
ROWS = "stride_am:i32 stride_bk:i32 stride_cm:i32"


@entry(
    "matmul",
    f"a_ptr:*fp16 b_ptr:*fp16 c_ptr:*fp16 M:i32 N:i32 K:i32 {ROWS}",
    {**ONES, "BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "GROUP_M": 8},
    "N K stride_am stride_bk stride_cm",
    num_warps=8,
)
@entry(
    "matmul_bf16",
    f"a_ptr:*bf16 b_ptr:*bf16 c_ptr:*bf16 M:i32 N:i32 K:i32 {ROWS}",
    {**ONES, "BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 4},
    "N K stride_am stride_bk stride_cm",
    num_warps=8,
)
@entry(
    "matmul_runtime_strides",
    f"a_ptr:*fp16 b_ptr:*fp16 c_ptr:*fp16 M:i32 N:i32 K:i32 {STRIDES}",
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8},
)
@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    """C = A B; programs in groups of rows, rows and columns past the end wrap around."""
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m

    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)

    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c = accumulator.to(c_ptr.dtype.element_ty)

    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, c, mask=c_mask)


@entry(
    "matmul_persistent",
    "a_ptr:*fp16 b_ptr:*fp16 c_ptr:*fp16 M:i32 N:i32 K:i32",
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 2, "NUM_PROGRAMS": 4},
    "N K",
)
@triton.jit
def matmul_persistent_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    NUM_PROGRAMS: tl.constexpr,
):
    """C = A B; a fixed number of programs, each takes every NUM_PROGRAMS-th tile."""
    start_pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    k_tiles = tl.cdiv(K, BLOCK_K)
    num_tiles = num_pid_m * num_pid_n
    num_pid_in_group = GROUP_M * num_pid_n
    offs_k_for_mask = tl.arange(0, BLOCK_K)
    for tile_id in tl.range(start_pid, num_tiles, NUM_PROGRAMS):
        group_id = tile_id // num_pid_in_group
        first_pid_m = group_id * GROUP_M
        group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
        pid_m = first_pid_m + (tile_id % group_size_m)
        pid_n = (tile_id % num_pid_in_group) // group_size_m
        offs_am = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_bn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        offs_am = tl.where(offs_am < M, offs_am, 0)
        offs_bn = tl.where(offs_bn < N, offs_bn, 0)
        offs_am = tl.max_contiguous(tl.multiple_of(offs_am, BLOCK_M), BLOCK_M)
        offs_bn = tl.max_contiguous(tl.multiple_of(offs_bn, BLOCK_N), BLOCK_N)
        accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for ki in range(k_tiles):
            offs_k = ki * BLOCK_K + tl.arange(0, BLOCK_K)
            a_ptrs = a_ptr + (offs_am[:, None] * K + offs_k[None, :])
            b_ptrs = b_ptr + (offs_k[:, None] * N + offs_bn[None, :])
            a = tl.load(
                a_ptrs, mask=offs_k_for_mask[None, :] < K - ki * BLOCK_K, other=0.0
            )
            b = tl.load(
                b_ptrs, mask=offs_k_for_mask[:, None] < K - ki * BLOCK_K, other=0.0
            )
            accumulator = tl.dot(a, b, accumulator)
        offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        c_ptrs = c_ptr + N * offs_cm[:, None] + offs_cn[None, :]
        c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
        tl.store(c_ptrs, accumulator.to(tl.float16), mask=c_mask)


@entry(
    "matmul_batched",
    "a_ptr:*fp16 b_ptr:*fp16 c_ptr:*fp32 M:i32 N:i32 K:i32 stride_ab:i32 stride_bb:i32 stride_cb:i32",
    {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32},
    "N K stride_ab stride_bb stride_cb",
)
@triton.jit
def matmul_batched_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_ab,
    stride_bb,
    stride_cb,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """C[i] = A[i] B[i]; the grid's third axis is the batch."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    batch = tl.program_id(2)
    a_ptr += batch * stride_ab
    b_ptr += batch * stride_bb
    c_ptr += batch * stride_cb
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        a_mask = (offs_m[:, None] < M) & (offs_k[None, :] < K)
        b_mask = (offs_k[:, None] < K) & (offs_n[None, :] < N)
        a = tl.load(
            a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=a_mask, other=0.0
        )
        b = tl.load(
            b_ptr + offs_k[:, None] * N + offs_n[None, :], mask=b_mask, other=0.0
        )
        accumulator += tl.dot(a, b)
    c_mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], accumulator, mask=c_mask)


@entry(
    "matmul_split_k",
    "a_ptr:*fp16 b_ptr:*fp16 c_ptr:*fp32 M:i32 N:i32 K:i32",
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "SPLIT_K": 4},
    "N K",
)
@triton.jit
def matmul_split_k_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SPLIT_K: tl.constexpr,
):
    """C += A B; SPLIT_K programs share a tile and add to it atomically."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    pid_k = tl.program_id(2)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = pid_k * BLOCK_K + tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * K + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * N + offs_n[None, :]
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K * SPLIT_K)):
        k_left = K - k * (BLOCK_K * SPLIT_K)
        a = tl.load(
            a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < k_left), other=0.0
        )
        b = tl.load(
            b_ptrs, mask=(offs_k[:, None] < k_left) & (offs_n[None, :] < N), other=0.0
        )
        accumulator += tl.dot(a, b)
        a_ptrs += BLOCK_K * SPLIT_K
        b_ptrs += BLOCK_K * SPLIT_K * N
    c_mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.atomic_add(
        c_ptr + offs_m[:, None] * N + offs_n[None, :], accumulator, mask=c_mask
    )


@entry(
    "matmul_int8",
    "a_ptr:*i8 b_ptr:*i8 a_scale_ptr:*fp32 b_scale_ptr:*fp32 c_ptr:*fp16 M:i32 N:i32 K:i32",
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64},
    "N K",
)
@triton.jit
def matmul_int8_kernel(
    a_ptr,
    b_ptr,
    a_scale_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """C = diag(sa) (A B) diag(sb), A and B of 8-bit integers, a scale for each row and column."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * K + offs_k[None, :]
    b_ptrs = b_ptr + offs_k[:, None] * N + offs_n[None, :]
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        k_left = K - k * BLOCK_K
        a = tl.load(
            a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < k_left), other=0
        )
        b = tl.load(
            b_ptrs, mask=(offs_k[:, None] < k_left) & (offs_n[None, :] < N), other=0
        )
        accumulator = tl.dot(a, b, accumulator, out_dtype=tl.int32)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    a_scale = tl.load(a_scale_ptr + offs_m, mask=offs_m < M, other=0.0)
    b_scale = tl.load(b_scale_ptr + offs_n, mask=offs_n < N, other=0.0)
    c = accumulator.to(tl.float32) * a_scale[:, None] * b_scale[None, :]
    c_mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(
        c_ptr + offs_m[:, None] * N + offs_n[None, :], c.to(tl.float16), mask=c_mask
    )


@entry(
    "matmul_abt",
    "x_ptr:*fp16 w_ptr:*fp16 y_ptr:*fp32 M:i32 N:i32 K:i32",
    {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32},
    "K",
    num_warps=8,
)
@triton.jit
def matmul_abt_kernel(
    x_ptr,
    w_ptr,
    y_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Y = X Wᵀ, W stored as [out features, in features]."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    row = offs_m[:, None] < M
    col = offs_n[:, None] < N
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        inside = offs_k[None, :] < K - k
        x = tl.load(
            x_ptr + offs_m[:, None] * K + (k + offs_k)[None, :],
            mask=row & inside,
            other=0.0,
        )
        w = tl.load(
            w_ptr + offs_n[:, None] * K + (k + offs_k)[None, :],
            mask=col & inside,
            other=0.0,
        )
        accumulator = tl.dot(x, tl.trans(w), accumulator)
    y_ptrs = y_ptr + offs_m[:, None] * N + offs_n[None, :]
    tl.store(y_ptrs, accumulator, mask=row & (offs_n[None, :] < N))


@triton.jit
def gelu(x):
    """The exact GELU."""
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@entry(
    "linear_bias_gelu",
    "x_ptr:*fp16 w_ptr:*fp16 bias_ptr:*fp16 y_ptr:*fp16 M:i32 N:i32 K:i32",
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "EVEN_K": True, "ACTIVATION": "gelu"},
    "N K",
)
@triton.jit
def linear_bias_gelu_kernel(
    x_ptr,
    w_ptr,
    bias_ptr,
    y_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    EVEN_K: tl.constexpr,
    ACTIVATION: tl.constexpr,
):
    """Y = gelu(X W + bias); no mask in the loop where BLOCK_K divides K."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = tl.max_contiguous(tl.multiple_of(offs_m % M, BLOCK_M), BLOCK_M)
    columns = tl.max_contiguous(tl.multiple_of(offs_n % N, BLOCK_N), BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + rows[:, None] * K + offs_k[None, :]
    w_ptrs = w_ptr + offs_k[:, None] * N + columns[None, :]
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        if EVEN_K:
            x = tl.load(x_ptrs)
            w = tl.load(w_ptrs)
        else:
            x = tl.load(x_ptrs, mask=offs_k[None, :] < K - k, other=0.0)
            w = tl.load(w_ptrs, mask=offs_k[:, None] < K - k, other=0.0)
        accumulator = tl.dot(x, w, accumulator)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K * N
    bias = tl.load(bias_ptr + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)
    accumulator += bias[None, :]
    if ACTIVATION == "gelu":
        accumulator = gelu(accumulator)
    y_mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(
        y_ptr + offs_m[:, None] * N + offs_n[None, :],
        accumulator.to(tl.float16),
        mask=y_mask,
    )


@entry(
    "matmul_fp8",
    "a_ptr:*fp8e4nv b_ptr:*fp8e5 c_ptr:*fp32 M:i32 N:i32 K:i32",
    {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64},
    "N K",
)
@triton.jit
def matmul_fp8_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """C = A B of 8-bit floats, widened to f16, as hardware without fp8 multiplies them."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a_mask = (offs_m[:, None] < M) & (offs_k[None, :] < K - k)
        b_mask = (offs_k[:, None] < K - k) & (offs_n[None, :] < N)
        a = tl.load(
            a_ptr + offs_m[:, None] * K + (k + offs_k)[None, :], mask=a_mask, other=0.0
        )
        b = tl.load(
            b_ptr + (k + offs_k)[:, None] * N + offs_n[None, :], mask=b_mask, other=0.0
        )
        accumulator = tl.dot(a.to(tl.float16), b.to(tl.float16), accumulator)
    c_mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], accumulator, mask=c_mask)


@entry(
    "matmul_int4",
    "x_ptr:*fp16 q_ptr:*i32 scale_ptr:*fp16 zero_ptr:*i32 y_ptr:*fp16 M:i32 N:i32 K:i32",
    {"BLOCK_M": 16, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP": 64},
    "N K",
)
@triton.jit
def matmul_int4_kernel(
    x_ptr,
    q_ptr,
    scale_ptr,
    zero_ptr,
    y_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    """Y = X W, W of 4 bits: 8 rows in an i32 word, a scale and a packed zero point for GROUP rows."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    shift = (offs_k % 8) * 4
    zero_shift = (offs_n % 8) * 4
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x_ptrs = x_ptr + offs_m[:, None] * K + (k + offs_k)[None, :]
        x = tl.load(x_ptrs, mask=offs_m[:, None] < M, other=0.0)
        word = tl.load(q_ptr + ((k + offs_k)[:, None] // 8) * N + offs_n[None, :])
        group = k // GROUP
        scale = tl.load(scale_ptr + group * N + offs_n)
        zero = tl.load(zero_ptr + group * (N // 8) + offs_n // 8)
        zero = (zero >> zero_shift) & 0xF
        w = ((word >> shift[:, None]) & 0xF) - zero[None, :]
        accumulator = tl.dot(x, w.to(tl.float16) * scale[None, :], accumulator)
    y_ptrs = y_ptr + offs_m[:, None] * N + offs_n[None, :]
    tl.store(y_ptrs, accumulator.to(tl.float16), mask=offs_m[:, None] < M)


# Matrix multiplications with descriptors.


@entry(
    "matmul_host_descriptor",
    "a_desc:tensordesc<fp16[128,32]> b_desc:tensordesc<fp16[32,128]> c_desc:tensordesc<fp16[128,128]>"
    " M:i32 N:i32 K:i32",
    {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32},
    "N K",
    num_warps=8,
)
@triton.jit
def matmul_host_descriptor_kernel(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """C = A B; the caller made the descriptors, which bound the accesses."""
    pid = tl.program_id(0)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    offs_m = (pid // num_pid_n) * BLOCK_M
    offs_n = (pid % num_pid_n) * BLOCK_N
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([offs_m, k])
        b = b_desc.load([k, offs_n])
        accumulator = tl.dot(a, b, accumulator)
    c_desc.store([offs_m, offs_n], accumulator.to(tl.float16))


@entry(
    "matmul_device_descriptor",
    "a_ptr:*bf16 b_ptr:*bf16 c_ptr:*bf16 M:i32 N:i32 K:i32",
    {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32, "HALVES": True},
    "N K",
    num_warps=8,
)
@triton.jit
def matmul_device_descriptor_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    HALVES: tl.constexpr,
):
    """C = A Bᵀ; the kernel makes the descriptors; C is stored in two halves if so asked."""
    pid = tl.program_id(0)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    offs_m = (pid // num_pid_n) * BLOCK_M
    offs_n = (pid % num_pid_n) * BLOCK_N
    a_desc = tl.make_tensor_descriptor(
        a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BLOCK_M, BLOCK_K]
    )
    b_desc = tl.make_tensor_descriptor(
        b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BLOCK_N, BLOCK_K]
    )
    c_desc = tl.make_tensor_descriptor(
        c_ptr,
        shape=[M, N],
        strides=[N, 1],
        block_shape=[BLOCK_M, BLOCK_N // 2 if HALVES else BLOCK_N],
    )
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = a_desc.load([offs_m, k * BLOCK_K])
        b = b_desc.load([offs_n, k * BLOCK_K])
        accumulator = tl.dot(a, b.T, accumulator)
    if HALVES:
        halves = tl.reshape(accumulator, (BLOCK_M, 2, BLOCK_N // 2))
        halves = tl.permute(halves, (0, 2, 1))
        left, right = tl.split(halves)
        c_desc.store([offs_m, offs_n], left.to(tl.bfloat16))
        c_desc.store([offs_m, offs_n + BLOCK_N // 2], right.to(tl.bfloat16))
    else:
        c_desc.store([offs_m, offs_n], accumulator.to(tl.bfloat16))


@entry(
    "matmul_block_pointer",
    "a_ptr:*fp16 b_ptr:*fp16 c_ptr:*fp32 M:i32 N:i32 K:i32 stride_am:i32 stride_bk:i32 stride_cm:i32",
    {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32},
    "N K stride_am stride_bk stride_cm",
    only="xpu",
    num_warps=16,
    grf_mode="large",
)
@triton.jit
def matmul_block_pointer_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """C = A B with block pointers, of which Intel's Triton 3.3 makes 2D block loads."""
    pid = tl.program_id(0)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    offs_m = (pid // num_pid_n) * BLOCK_M
    offs_n = (pid % num_pid_n) * BLOCK_N
    a_block = tl.make_block_ptr(
        a_ptr, (M, K), (stride_am, 1), (offs_m, 0), (BLOCK_M, BLOCK_K), (1, 0)
    )
    b_block = tl.make_block_ptr(
        b_ptr, (K, N), (stride_bk, 1), (0, offs_n), (BLOCK_K, BLOCK_N), (1, 0)
    )
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        a = tl.load(a_block, boundary_check=(0, 1))
        b = tl.load(b_block, boundary_check=(0, 1))
        accumulator = tl.dot(a, b, accumulator)
        a_block = tl.advance(a_block, (0, BLOCK_K))
        b_block = tl.advance(b_block, (BLOCK_K, 0))
    c_block = tl.make_block_ptr(
        c_ptr, (M, N), (stride_cm, 1), (offs_m, offs_n), (BLOCK_M, BLOCK_N), (1, 0)
    )
    tl.store(c_block, accumulator, boundary_check=(0, 1))


@entry(
    "grouped_gemm",
    "a_ptrs:*i64 b_ptrs:*i64 c_ptrs:*i64 sizes_ptr:*i32 leading_ptr:*i32 groups:i32",
    {"NUM_PROGRAMS": 4, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32},
)
@triton.jit
def grouped_gemm_kernel(
    a_ptrs,
    b_ptrs,
    c_ptrs,
    sizes_ptr,
    leading_ptr,
    groups,
    NUM_PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """C[g] = A[g] B[g] for problems of different sizes, given as arrays of addresses and sizes."""
    tile = tl.program_id(0)
    last_problem_end = 0
    for g in range(groups):
        m = tl.load(sizes_ptr + g * 3)
        n = tl.load(sizes_ptr + g * 3 + 1)
        k = tl.load(sizes_ptr + g * 3 + 2)
        num_n_tiles = tl.cdiv(n, BLOCK_N)
        num_tiles = tl.cdiv(m, BLOCK_M) * num_n_tiles
        while tile >= last_problem_end and tile < last_problem_end + num_tiles:
            lda = tl.load(leading_ptr + g * 3)
            ldb = tl.load(leading_ptr + g * 3 + 1)
            ldc = tl.load(leading_ptr + g * 3 + 2)
            a_ptr = tl.load(a_ptrs + g).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_ptrs + g).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_ptrs + g).to(tl.pointer_type(tl.float16))
            index = tile - last_problem_end
            offs_m = (index // num_n_tiles) * BLOCK_M + tl.arange(0, BLOCK_M)
            offs_n = (index % num_n_tiles) * BLOCK_N + tl.arange(0, BLOCK_N)
            offs_k = tl.arange(0, BLOCK_K)
            a_tile = a_ptr + offs_m[:, None] * lda + offs_k[None, :]
            b_tile = b_ptr + offs_k[:, None] * ldb + offs_n[None, :]
            accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for kk in range(0, tl.cdiv(k, BLOCK_K)):
                left = k - kk * BLOCK_K
                a = tl.load(
                    a_tile,
                    mask=(offs_m[:, None] < m) & (offs_k[None, :] < left),
                    other=0.0,
                )
                b = tl.load(
                    b_tile,
                    mask=(offs_k[:, None] < left) & (offs_n[None, :] < n),
                    other=0.0,
                )
                accumulator += tl.dot(a, b)
                a_tile += BLOCK_K
                b_tile += BLOCK_K * ldb
            c_mask = (offs_m[:, None] < m) & (offs_n[None, :] < n)
            c_tile = c_ptr + offs_m[:, None] * ldc + offs_n[None, :]
            tl.store(c_tile, accumulator.to(tl.float16), mask=c_mask)
            tile += NUM_PROGRAMS
        last_problem_end = last_problem_end + num_tiles


# Attention.


@entry(
    "flash_attention_descriptor",
    "q_ptr:*fp16 k_ptr:*fp16 v_ptr:*fp16 o_ptr:*fp16 lse_ptr:*fp32 scale:fp32 length:i32 rows:i32",
    {"HEAD": 64, "BLOCK_M": 64, "BLOCK_N": 32},
    "length rows",
)
@triton.jit
def flash_attention_descriptor_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,
    scale,
    length,
    rows,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """O = softmax(scale Q Kᵀ) V, causal; full blocks first, then those on the diagonal."""
    start_m = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    first = head * length
    q_desc = tl.make_tensor_descriptor(
        q_ptr, shape=[rows, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_M, HEAD]
    )
    k_desc = tl.make_tensor_descriptor(
        k_ptr, shape=[rows, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_N, HEAD]
    )
    v_desc = tl.make_tensor_descriptor(
        v_ptr, shape=[rows, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_N, HEAD]
    )
    o_desc = tl.make_tensor_descriptor(
        o_ptr, shape=[rows, HEAD], strides=[HEAD, 1], block_shape=[BLOCK_M, HEAD]
    )
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    qk_scale = scale * 1.44269504
    q = q_desc.load([first + start_m, 0])
    for diagonal in tl.static_range(2):
        if diagonal == 0:
            low, high = 0, start_m
        else:
            low, high = tl.multiple_of(start_m, BLOCK_M), start_m + BLOCK_M
        for start_n in tl.range(low, high, BLOCK_N):
            start_n = tl.multiple_of(start_n, BLOCK_N)
            k = k_desc.load([first + start_n, 0]).T
            qk = tl.dot(q, k)
            if diagonal == 1:
                seen = offs_m[:, None] >= (start_n + offs_n[None, :])
                qk = qk * qk_scale + tl.where(seen, 0, -1.0e6)
                m_ij = tl.maximum(m_i, tl.max(qk, 1))
                qk -= m_ij[:, None]
            else:
                m_ij = tl.maximum(m_i, tl.max(qk, 1) * qk_scale)
                qk = qk * qk_scale - m_ij[:, None]
            p = tl.math.exp2(qk)
            alpha = tl.math.exp2(m_i - m_ij)
            l_i = l_i * alpha + tl.sum(p, 1)
            acc = acc * alpha[:, None]
            v = v_desc.load([first + start_n, 0])
            acc = tl.dot(p.to(tl.float16), v, acc)
            m_i = m_ij
    tl.store(lse_ptr + first + offs_m, m_i + tl.math.log2(l_i))
    o_desc.store([first + start_m, 0], (acc / l_i[:, None]).to(tl.float16))


ATTENTION = "scale:fp32 length:i32 kv_groups:i32 stride_h:i32 stride_m:i32"


@entry(
    "flash_attention_pointer",
    f"q_ptr:*bf16 k_ptr:*bf16 v_ptr:*bf16 o_ptr:*bf16 {ATTENTION}",
    {"HEAD": 64, "BLOCK_M": 32, "BLOCK_N": 32, "CAUSAL": True},
    "stride_h stride_m",
)
@entry(
    "flash_attention_f16",
    f"q_ptr:*fp16 k_ptr:*fp16 v_ptr:*fp16 o_ptr:*fp16 {ATTENTION}",
    {"HEAD": 128, "BLOCK_M": 128, "BLOCK_N": 64, "CAUSAL": False},
    "stride_h stride_m",
)
@entry(
    "flash_attention_f16_causal",
    f"q_ptr:*fp16 k_ptr:*fp16 v_ptr:*fp16 o_ptr:*fp16 {ATTENTION}",
    {"HEAD": 128, "BLOCK_M": 128, "BLOCK_N": 64, "CAUSAL": True},
    "stride_h stride_m",
)
@triton.jit
def flash_attention_pointer_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    scale,
    length,
    kv_groups,
    stride_h,
    stride_m,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """The same with pointers and masks, for any length; several query heads share a key head."""
    start_m = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    q_ptr += head * stride_h
    o_ptr += head * stride_h
    k_ptr += (head // kv_groups) * stride_h
    v_ptr += (head // kv_groups) * stride_h
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD)
    m_i = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    q_ptrs = q_ptr + offs_m[:, None] * stride_m + offs_d[None, :]
    k_ptrs = k_ptr + offs_d[:, None] + offs_n[None, :] * stride_m
    v_ptrs = v_ptr + offs_n[:, None] * stride_m + offs_d[None, :]
    q = tl.load(q_ptrs, mask=offs_m[:, None] < length, other=0.0)
    end = tl.minimum(start_m + BLOCK_M, length) if CAUSAL else length
    for start_n in range(0, end, BLOCK_N):
        cols = start_n + offs_n
        k = tl.load(k_ptrs + start_n * stride_m, mask=cols[None, :] < length, other=0.0)
        qk = tl.dot(q, k) * scale
        if CAUSAL:
            qk = tl.where(
                (offs_m[:, None] >= cols[None, :]) & (cols[None, :] < length),
                qk,
                float("-inf"),
            )
        else:
            qk = tl.where(cols[None, :] < length, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(qk - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptrs + start_n * stride_m, mask=cols[:, None] < length, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new
    o_ptrs = o_ptr + offs_m[:, None] * stride_m + offs_d[None, :]
    tl.store(o_ptrs, (acc / l_i[:, None]).to(q.dtype), mask=offs_m[:, None] < length)


# Rows: normalizations, losses, reductions, scans.


@entry(
    "softmax",
    "output_ptr:*fp32 input_ptr:*fp32 input_stride:i32 output_stride:i32 rows:i32 columns:i32",
    {"BLOCK": 256},
    "output_stride",
)
@triton.jit
def softmax_kernel(
    output_ptr,
    input_ptr,
    input_stride,
    output_stride,
    rows,
    columns,
    BLOCK: tl.constexpr,
):
    """The softmax of each row; a program takes several rows."""
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        offsets = tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(
            input_ptr + row * input_stride + offsets, mask=mask, other=-float("inf")
        )
        numerator = tl.exp(x - tl.max(x, axis=0))
        y = numerator / tl.sum(numerator, axis=0)
        tl.store(output_ptr + row * output_stride + offsets, y, mask=mask)


@entry(
    "layer_norm_forward",
    "x_ptr:*fp16 y_ptr:*fp16 w_ptr:*fp16 b_ptr:*fp16 mean_ptr:*fp32 rstd_ptr:*fp32 stride:i32 N:i32 eps:fp32",
    {"BLOCK": 256},
    "stride",
)
@triton.jit
def layer_norm_forward_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr
):
    """y = (x - mean) rstd w + b for each row, in blocks of columns."""
    row = tl.program_id(0)
    y_ptr += row * stride
    x_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    square = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        square += x * x
    rstd = 1 / tl.sqrt(tl.sum(square, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < N
        w = tl.load(w_ptr + cols, mask=mask)
        b = tl.load(b_ptr + cols, mask=mask)
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + cols, (x - mean) * rstd * w + b, mask=mask)


@entry(
    "layer_norm_backward",
    "dx_ptr:*fp16 dy_ptr:*fp16 dw_ptr:*fp32 db_ptr:*fp32 x_ptr:*fp16 w_ptr:*fp16 mean_ptr:*fp32"
    " rstd_ptr:*fp32 lock_ptr:*i32 stride:i32 N:i32",
    {"GROUPS": 4, "BLOCK": 256},
    "stride",
)
@triton.jit
def layer_norm_backward_kernel(
    dx_ptr,
    dy_ptr,
    dw_ptr,
    db_ptr,
    x_ptr,
    w_ptr,
    mean_ptr,
    rstd_ptr,
    lock_ptr,
    stride,
    N,
    GROUPS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """dx of a row; its share of dw and db is added to one of GROUPS partial sums, under a lock."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x_ptr += row * stride
    dy_ptr += row * stride
    dx_ptr += row * stride
    group = row % GROUPS
    lock_ptr += group
    count_ptr = lock_ptr + GROUPS
    dw_ptrs = dw_ptr + group * N + cols
    db_ptrs = db_ptr + group * N + cols
    x = tl.load(x_ptr + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    rstd = tl.load(rstd_ptr + row)
    x_hat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(x_hat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    tl.store(dx_ptr + cols, (wdy - (x_hat * c1 + c2)) * rstd, mask=mask)
    partial_dw = dy * x_hat
    partial_db = dy
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(count_ptr)
    if count == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        partial_dw += tl.load(dw_ptrs, mask=mask)
        partial_db += tl.load(db_ptrs, mask=mask)
    tl.store(dw_ptrs, partial_dw, mask=mask)
    tl.store(db_ptrs, partial_db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@entry(
    "layer_norm_backward_sum",
    "dw_ptr:*fp32 db_ptr:*fp32 final_dw_ptr:*fp16 final_db_ptr:*fp16 M:i32 N:i32",
    {"BLOCK_M": 32, "BLOCK_N": 64},
    "N",
)
@triton.jit
def layer_norm_backward_sum_kernel(
    dw_ptr,
    db_ptr,
    final_dw_ptr,
    final_db_ptr,
    M,
    N,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    """The sums over the rows of the partial sums."""
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for i in range(0, M, BLOCK_M):
        rows = i + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offsets = rows[:, None] * N + cols[None, :]
        dw += tl.load(dw_ptr + offsets, mask=mask, other=0.0)
        db += tl.load(db_ptr + offsets, mask=mask, other=0.0)
    tl.store(final_dw_ptr + cols, tl.sum(dw, axis=0), mask=cols < N)
    tl.store(final_db_ptr + cols, tl.sum(db, axis=0), mask=cols < N)


@entry(
    "rms_norm_rope",
    "x_ptr:*bf16 w_ptr:*bf16 cos_ptr:*fp32 sin_ptr:*fp32 o_ptr:*bf16 N:i32 eps:fp32",
    {"BLOCK": 128},
)
@triton.jit
def rms_norm_rope_kernel(
    x_ptr, w_ptr, cos_ptr, sin_ptr, o_ptr, N, eps, BLOCK: tl.constexpr
):
    """RMS norm of a row, then rotary embedding of neighbouring pairs."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    x = x * tl.rsqrt(tl.sum(x * x) / N + eps) * w
    even, odd = tl.split(tl.reshape(x, (BLOCK // 2, 2)))
    pairs = tl.arange(0, BLOCK // 2)
    cos = tl.load(cos_ptr + row * (N // 2) + pairs, mask=pairs < N // 2, other=0.0)
    sin = tl.load(sin_ptr + row * (N // 2) + pairs, mask=pairs < N // 2, other=0.0)
    y = tl.interleave(even * cos - odd * sin, even * sin + odd * cos)
    tl.store(o_ptr + row * N + cols, y.to(tl.bfloat16), mask=cols < N)


@entry(
    "cross_entropy",
    "logits_ptr:*bf16 target_ptr:*i64 loss_ptr:*fp32 lse_ptr:*fp32 vocabulary:i32 stride:i64",
    {"BLOCK": 256, "IGNORE": -100},
)
@triton.jit
def cross_entropy_kernel(
    logits_ptr,
    target_ptr,
    loss_ptr,
    lse_ptr,
    vocabulary,
    stride,
    BLOCK: tl.constexpr,
    IGNORE: tl.constexpr,
):
    """loss = logsumexp(logits) - logits[target]; the vocabulary in blocks, one pass over it."""
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * stride
    target = tl.load(target_ptr + row)
    biggest = float("-inf")
    total = 0.0
    for start in range(0, vocabulary, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < vocabulary, other=float("-inf")).to(
            tl.float32
        )
        new = tl.maximum(biggest, tl.max(x, 0))
        total = total * tl.exp(biggest - new) + tl.sum(tl.exp(x - new), 0)
        biggest = new
    lse = biggest + tl.log(total)
    tl.store(lse_ptr + row, lse)
    if target == IGNORE:
        tl.store(loss_ptr + row, 0.0)
    else:
        tl.store(loss_ptr + row, lse - tl.load(logits_ptr + target).to(tl.float32))


@entry(
    "embedding",
    "index_ptr:*i64 weight_ptr:*fp16 out_ptr:*fp16 tokens:i32 width:i32 vocabulary:i32",
    {"BLOCK_T": 8, "BLOCK_D": 64},
    "width",
)
@triton.jit
def embedding_kernel(
    index_ptr,
    weight_ptr,
    out_ptr,
    tokens,
    width,
    vocabulary,
    BLOCK_T: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Rows of a table by index, several at once; an index outside the table gives zeros."""
    token = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    col = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    index = tl.load(index_ptr + token, mask=token < tokens, other=-1)
    known = (index >= 0) & (index < vocabulary)
    inside = col[None, :] < width
    rows = tl.load(
        weight_ptr + index[:, None] * width + col[None, :],
        mask=known[:, None] & inside,
        other=0.0,
    )
    tl.store(
        out_ptr + token[:, None] * width + col[None, :],
        rows,
        mask=(token < tokens)[:, None] & inside,
    )


@entry("top_k", "x_ptr:*fp32 y_ptr:*fp32 columns:i32", {"K": 8, "BLOCK": 64})
@triton.jit
def top_k_kernel(x_ptr, y_ptr, columns, K: tl.constexpr, BLOCK: tl.constexpr):
    """The K greatest values of a row in descending order, by sorting it."""
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + cols, mask=cols < columns, other=float("-inf"))
    tl.store(y_ptr + row * K + cols, tl.sort(x, descending=True), mask=cols < K)


@entry("cumsum", "x_ptr:*fp32 y_ptr:*fp32 columns:i32", {"ROWS": 4, "BLOCK": 64})
@triton.jit
def cumsum_kernel(x_ptr, y_ptr, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Running sums along rows, in blocks with a carry."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    carry = tl.zeros([ROWS], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        offsets = row[:, None] * columns + cols[None, :]
        x = tl.load(x_ptr + offsets, mask=cols[None, :] < columns, other=0.0)
        tl.store(
            y_ptr + offsets,
            tl.cumsum(x, axis=1) + carry[:, None],
            mask=cols[None, :] < columns,
        )
        carry += tl.sum(x, axis=1)


@triton.jit
def combine_linear(a1, b1, a2, b2):
    """h -> a2 (a1 h + b1) + b2."""
    return a1 * a2, b1 * a2 + b2


@entry(
    "linear_recurrence", "a_ptr:*fp32 b_ptr:*fp32 h_ptr:*fp32", {"ROWS": 4, "BLOCK": 64}
)
@triton.jit
def linear_recurrence_kernel(
    a_ptr, b_ptr, h_ptr, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """h[t] = a[t] h[t-1] + b[t] along rows, as an associative scan of pairs."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    offsets = row[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    _, h = tl.associative_scan(
        (tl.load(a_ptr + offsets), tl.load(b_ptr + offsets)), 1, combine_linear
    )
    tl.store(h_ptr + offsets, h)


@entry("dropout", "x_ptr:*fp32 y_ptr:*fp32 n:i32 p:fp32 seed:i32", {"BLOCK": 256})
@triton.jit
def dropout_kernel(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    """Zero with probability p, else x / (1 - p); Philox numbers of a seed and the position."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(y_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@entry(
    "argmax",
    "x_ptr:*fp32 value_ptr:*fp32 index_ptr:*i32 columns:i32",
    {"ROWS": 8, "BLOCK": 128},
)
@triton.jit
def argmax_kernel(
    x_ptr, value_ptr, index_ptr, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    """The greatest value of each row and the first place of it."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    offsets = row[:, None] * columns + cols[None, :]
    x = tl.load(x_ptr + offsets, mask=cols[None, :] < columns, other=float("-inf"))
    value, index = tl.max(x, axis=1, return_indices=True)
    tl.store(value_ptr + row, value)
    tl.store(index_ptr + row, index)


# One operation each, which the kernels above do not have.


@entry("histogram", "x_ptr:*i32 y_ptr:*i32 n:i32", {"BLOCK": 256, "BINS": 32})
@triton.jit
def histogram_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """How often each of the numbers below BINS occurs, in all blocks together."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    counts = tl.histogram(tl.load(x_ptr + offsets, mask=mask, other=0), BINS, mask=mask)
    tl.atomic_add(y_ptr + tl.arange(0, BINS), counts)


@entry(
    "gather",
    "x_ptr:*fp32 index_ptr:*i32 y_ptr:*fp32",
    {"ROWS": 4, "BLOCK": 32, "M": 16},
)
@triton.jit
def gather_kernel(
    x_ptr, index_ptr, y_ptr, ROWS: tl.constexpr, BLOCK: tl.constexpr, M: tl.constexpr
):
    """y[i, j] = x[i, index[i, j]]: places in a tensor, not in memory."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    x = tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK)[None, :])
    places = row * M + tl.arange(0, M)[None, :]
    y = tl.gather(x, tl.load(index_ptr + places), 1)
    tl.store(y_ptr + places, y)


@entry("cat", "x_ptr:*fp32 y_ptr:*fp32 z_ptr:*fp32", {"BLOCK": 64})
@triton.jit
def cat_kernel(x_ptr, y_ptr, z_ptr, BLOCK: tl.constexpr):
    """The sum and the maximum of two blocks in one tensor, in whatever order."""
    at = tl.arange(0, BLOCK)
    both = tl.cat(tl.load(x_ptr + at), tl.load(y_ptr + at), can_reorder=True)
    tl.store(z_ptr, tl.sum(both, axis=0))
    tl.store(z_ptr + 1, tl.max(both, axis=0))


@entry("gcd", "a_ptr:*i32 b_ptr:*i32 c_ptr:*i32 steps_ptr:*i32", {"BLOCK": 64})
@triton.jit
def gcd_kernel(a_ptr, b_ptr, c_ptr, steps_ptr, BLOCK: tl.constexpr):
    """Greatest common divisors: a loop while any is not found, of tensors and a number."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    steps = 0
    while tl.max(b, axis=0) > 0:
        rest = tl.where(b > 0, a % tl.maximum(b, 1), 0)
        a = tl.where(b > 0, b, a)
        b = rest
        steps += 1
    tl.store(c_ptr + at, a)
    tl.store(steps_ptr + tl.program_id(0), steps)


@entry("moved_pointer", "from_ptr:*fp32 y_ptr:*fp32 n:i32", {"BLOCK": 32, "STEPS": 4})
@triton.jit
def moved_pointer_kernel(from_ptr, y_ptr, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """Sums of blocks from a pointer on that a branch chooses and a loop moves."""
    pid = tl.program_id(0)
    if pid % 2 == 1:
        from_ptr += n
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(STEPS):
        total += tl.load(from_ptr + tl.arange(0, BLOCK))
        from_ptr += BLOCK
    tl.store(y_ptr + pid * BLOCK + tl.arange(0, BLOCK), total)


@entry("checked", "x_ptr:*i32 y_ptr:*i32", {"BLOCK": 32}, debug=True)
@triton.jit
def checked_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Twice a number, with a print and an assertion."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.device_assert(x >= 0, "expected no negative number")
    tl.device_print("x", x)
    tl.store(y_ptr + at, x + x)


@entry("descriptor_sum", "x_ptr:*fp32 y_ptr:*fp32 M:i32 N:i32", {"BLOCK": 16}, "N")
@triton.jit
def descriptor_sum_kernel(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    """The sum of matrices, a program each, added to Y through a descriptor."""
    x = tl.make_tensor_descriptor(
        x_ptr + tl.program_id(0) * M * N, [M, N], [N, 1], [BLOCK, BLOCK]
    )
    y = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    for col in range(0, N, BLOCK):
        y.atomic_add([0, col], x.load([0, col]))


@entry("spin_lock", "x_ptr:*i32 sum_ptr:*i32 lock_ptr:*i32", {"BLOCK": 64})
@triton.jit
def spin_lock_kernel(x_ptr, sum_ptr, lock_ptr, BLOCK: tl.constexpr):
    """The sum of rows, one program at a time: it loads, adds and stores."""
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    total = tl.load(sum_ptr + at)
    tl.store(sum_ptr + at, 3 * total + 1)
    count = tl.load(lock_ptr + 1)
    tl.store(lock_ptr + 1, count + tl.sum(x, axis=0))
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@entry("cas_max", "x_ptr:*i32 most_ptr:*i32 taken_ptr:*i32 n:i32", {"BLOCK": 64})
@triton.jit
def cas_max_kernel(x_ptr, most_ptr, taken_ptr, n, BLOCK: tl.constexpr):
    """The greatest number, by one exchange after another; and which places are taken."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    most = tl.max(x, axis=0)
    old = tl.atomic_add(most_ptr, 0)
    while old < most:
        seen = tl.atomic_cas(most_ptr, old, most)
        old = tl.where(seen == old, most, seen)
    tl.atomic_cas(taken_ptr + x, tl.zeros_like(x), x)


@entry(
    "gather_rows",
    "x_ptr:*fp32 index_ptr:*i32 y_ptr:*fp32 z_ptr:*fp32 M:i32 N:i32",
    {"ROWS": 8, "COLS": 16},
    "N",
)
@triton.jit
def gather_rows_kernel(
    x_ptr, index_ptr, y_ptr, z_ptr, M, N, ROWS: tl.constexpr, COLS: tl.constexpr
):
    """Rows of X by their numbers, and twice these to the same rows of Z, by descriptors."""
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [1, COLS])
    z = tl.make_tensor_descriptor(z_ptr, [M, N], [N, 1], [1, COLS])
    at = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    rows, col = tl.load(index_ptr + at), tl.program_id(1) * COLS
    found = x.gather(rows, col)
    z.scatter(found * 2, rows, col)
    cols = col + tl.arange(0, COLS)
    tl.store(y_ptr + at[:, None] * N + cols[None, :], found, mask=cols[None, :] < N)


@entry(
    "matmul_mxfp",
    "a_ptr:*u8 a_scale_ptr:*u8 b_ptr:*fp8e4nv b_scale_ptr:*u8 c_ptr:*fp32 M:i32 N:i32 K:i32",
    {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 64},
)
@triton.jit
def matmul_mxfp_kernel(
    a_ptr,
    a_scale_ptr,
    b_ptr,
    b_scale_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """C = A B; A of 4-bit floats, two in a byte, B of 8-bit ones, a scale for 32 along K."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    row, col = offs_m[:, None] < M, offs_n[None, :] < N
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        pairs = k // 2 + tl.arange(0, BLOCK_K // 2)
        offs_k = k + tl.arange(0, BLOCK_K)
        groups = k // 32 + tl.arange(0, BLOCK_K // 32)
        a = tl.load(
            a_ptr + offs_m[:, None] * (K // 2) + pairs[None, :],
            mask=row & (pairs[None, :] < K // 2),
            other=0,
        )
        b = tl.load(
            b_ptr + offs_k[:, None] * N + offs_n[None, :],
            mask=(offs_k[:, None] < K) & col,
            other=0.0,
        )
        a_scale = tl.load(
            a_scale_ptr + offs_m[:, None] * (K // 32) + groups[None, :],
            mask=row & (groups[None, :] < K // 32),
            other=127,
        )
        b_scale = tl.load(
            b_scale_ptr + offs_n[:, None] * (K // 32) + groups[None, :],
            mask=(offs_n[:, None] < N) & (groups[None, :] < K // 32),
            other=127,
        )
        accumulator = tl.dot_scaled(a, a_scale, "e2m1", b, b_scale, "e4m3", accumulator)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], accumulator, mask=row & col)


@entry("toward_zero", "x_ptr:*fp32 y_ptr:*fp16 z_ptr:*bf16 w_ptr:*fp8e5", {"BLOCK": 64})
@triton.jit
def toward_zero_kernel(x_ptr, y_ptr, z_ptr, w_ptr, BLOCK: tl.constexpr):
    """Numbers in narrower formats, of two neighbours the one that is nearer to zero."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x.to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(z_ptr + at, x.to(tl.bfloat16, fp_downcast_rounding="rtz"))
    tl.store(w_ptr + at, x.to(tl.float8e5, fp_downcast_rounding="rtz"))


@entry(
    "chosen_pointer",
    "x_ptr:*i32 y_ptr:*i32 u_ptr:*i32 v_ptr:*i32 out_ptr:*i32 rounds:i32 limit:i32",
    {"BLOCK": 64},
)
@triton.jit
def chosen_pointer_kernel(
    x_ptr, y_ptr, u_ptr, v_ptr, out_ptr, rounds, limit, BLOCK: tl.constexpr
):
    """Pointers into several arguments: chosen by programs and elements, and carried."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    first = x_ptr if pid == 1 else y_ptr
    if pid == 2:
        first = y_ptr + tl.load(y_ptr)
    total = tl.load(tl.where(at % 3 == 0, first + at, x_ptr + (at + 1)))
    source, target = u_ptr + at, v_ptr + at
    for number in range(rounds):  # what one round stores, the next one loads
        tl.store(target, tl.load(source) + number + 1)
        source, target = target, source
    one, other = x_ptr + pid, y_ptr + pid
    count = 0
    while count < limit:
        total += tl.load(one)
        moved = one + 1
        one = other
        other = moved
        count += tl.load(x_ptr + 4 * BLOCK)
    tl.store(out_ptr + at, total)


@entry(
    "descriptor_updates",
    "x_ptr:*i32 low_ptr:*i32 high_ptr:*i32 unsigned_ptr:*u32 bits_ptr:*i32 M:i32 N:i32",
    {"BLOCK": 16},
    "N",
)
@triton.jit
def descriptor_updates_kernel(
    x_ptr, low_ptr, high_ptr, unsigned_ptr, bits_ptr, M, N, BLOCK: tl.constexpr
):
    """The least, the greatest and more of several matrices, through descriptors."""
    x = tl.make_tensor_descriptor(
        x_ptr + tl.program_id(0) * M * N, [M, N], [N, 1], [BLOCK, BLOCK]
    )
    low = tl.make_tensor_descriptor(low_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    high = tl.make_tensor_descriptor(high_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    unsigned = tl.make_tensor_descriptor(unsigned_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    bits = tl.make_tensor_descriptor(bits_ptr, [M, N], [N, 1], [BLOCK, BLOCK])
    for col in range(0, N, BLOCK):
        value = x.load([0, col])
        low.atomic_min([0, col], value)
        high.atomic_max([0, col], value)
        unsigned.atomic_max([0, col], value.to(tl.uint32, bitcast=True))
        bits.atomic_xor([0, col], value)
        bits.atomic_or([0, col], 0x40000000 + tl.zeros_like(value))
        bits.atomic_and([0, col], 0x7FFFFFFF + tl.zeros_like(value))


@triton.jit
def collatz(number, limit):
    count = number * 0
    while (number > 1) & (count < limit):
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        count += 1
    return count, number


@triton.jit
def swapped(one, other, first, second):
    if one > other:
        first, second = second, first
    return first - one, second + other


@entry("mapped", "x_ptr:*i32 count_ptr:*i32 end_ptr:*i32 pairs_ptr:*i32", {"BLOCK": 64})
@triton.jit
def mapped_kernel(x_ptr, count_ptr, end_ptr, pairs_ptr, BLOCK: tl.constexpr):
    """Functions of numbers with loops and branches, of each element and of pairs."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    count, end = tl.map_elementwise(collatz, x, at + 2)
    tl.store(count_ptr + at, count)
    tl.store(end_ptr + at, end)
    (pairs,) = tl.map_elementwise(swapped, x, count, pack=2)
    tl.store(pairs_ptr + at, pairs)


@entry("relay", "x_ptr:*i32 flag_ptr:*i32 out_ptr:*i32", {"BLOCK": 32})
@triton.jit
def relay_kernel(x_ptr, flag_ptr, out_ptr, BLOCK: tl.constexpr):
    """Each program waits for the one before it, and adds to what that stored."""
    pid = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + pid * BLOCK + at)
    tl.atomic_poll(flag_ptr, pid)
    total = tl.load(out_ptr + at) + x
    tl.store(out_ptr + at, total)
    seen = tl.atomic_poll(flag_ptr + 1 + at, 5, timeout_ns=1000)
    tl.store(out_ptr + (pid + 1) * BLOCK + at, seen.to(tl.int32))
    tl.debug_barrier()
    tl.atomic_xchg(flag_ptr, pid + 1)


@entry(
    "atomic_extremes",
    "x_ptr:*fp32 most_ptr:*fp32 least_ptr:*fp32 seen_ptr:*fp32 n:i32",
    {"BLOCK": 64},
)
@triton.jit
def atomic_extremes_kernel(
    x_ptr, most_ptr, least_ptr, seen_ptr, n, BLOCK: tl.constexpr
):
    """The greatest and the least numbers of columns, and of one: updates of their bits."""
    col = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + col
    x = tl.load(x_ptr + at, mask=at < n)
    tl.atomic_max(most_ptr + col % 16, x, mask=at < n)
    tl.atomic_min(least_ptr + col % 16, x, mask=at < n)
    first = tl.load(x_ptr + tl.program_id(0) * BLOCK)
    tl.atomic_max(most_ptr + 16, first)
    tl.atomic_min(least_ptr + 16, first)
    seen = tl.atomic_max(seen_ptr + at, x, mask=at < n)
    tl.store(seen_ptr + n + at, seen, mask=at < n)


@entry("assembly", "x_ptr:*i32 y_ptr:*i32", {"BLOCK": 64})
@triton.jit
def assembly_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    """Assembly of another machine, which no engine takes."""
    at = tl.arange(0, BLOCK)
    x = tl.inline_asm_elementwise(
        "not.b32 $0, $1;", "=r,r", [tl.load(x_ptr + at)], tl.int32, True, 1
    )
    tl.store(y_ptr + at, x)
