"""Small kernels, for what is not about their arithmetic."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside, other=0, cache_modifier=".cg")
    y = tl.load(y_ptr + at, mask=inside, other=0, eviction_policy="evict_first")
    tl.store(out_ptr + at, x + y, mask=inside, cache_modifier=".cs")


@triton.autotune(
    [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 16})],
    key=["n"],
    restore_value=["x_ptr"],
)
@triton.jit
def increment(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, x + 1, mask=at < n)


@triton.jit
def refused(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.sort(tl.load(x_ptr + at)) + tl.missing(at))


@triton.jit
def tanh(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, libdevice.tanh(tl.load(x_ptr + at)))


@triton.jit
def double(x_ptr, row, column, COLUMNS: tl.constexpr):
    at = tl.program_id(0) * row + tl.arange(0, COLUMNS) * column
    tl.store(x_ptr + at, 2 * tl.load(x_ptr + at))


@triton.jit
def remainder(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x // y * 8 + x % y, mask=at < n)


@triton.jit
def total(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Its sum is asserted not to overflow, with debug=True, and is printed."""
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    s = tl.sum(x)
    tl.device_print("sum", s)
    tl.store(out_ptr, s)


@triton.jit
def stepped(a, b):
    if a > b:
        if a > 20:
            return 7
        return a - b
    return b * 2


@triton.jit
def larger(a, b):
    if a > b:
        return a
    else:
        return b


@triton.jit
def early(x_ptr, mapped_ptr, most_ptr, scanned_ptr, ROWS: tl.constexpr):
    """Functions that return early: of elements, in a reduction and in a scan."""
    at = tl.arange(0, ROWS * 8)
    x = tl.load(x_ptr + at)
    tl.store(mapped_ptr + at, tl.map_elementwise(stepped, x, at))
    tl.store(most_ptr, tl.reduce(x, 0, larger))
    rows = tl.associative_scan(tl.reshape(x, (ROWS, 8)), 1, larger)
    tl.store(scanned_ptr + tl.reshape(at, (ROWS, 8)), rows)
