"""`tt.dot` as a run of DPAS.

C(m, n) += A(m, k) B(k, n) for every k, then every n, then every m: each B is used for
all rows of A while it is at hand, and no accumulator is needed twice in a row.  Which
piece is which tile is what the layouts say of lane 0 of warp 0; the others hold the
same tiles elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from coopc import device as devices
from coopc.device import Device
from coopc.dialects import simt, tt, xe
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.layouts import dpas_of
from coopc.dialects.tt.types import shape_of
from coopc.dialects.xe.dpas import EXECUTION_SIZES, accumulators
from coopc.layout.dpas import DpasEncoding, Operand
from coopc.passes.xe.convert_to_xe.block_access import spread_of_value
from coopc.passes.xe.register_layout import Spread, precision_of
from coopc.rewrite.one_to_many import Splitter

Tile = tuple[tuple[int, ...], int, int]
"""The batch, and two of m, n and k."""


def why_not_dot(op: tt.DotOp) -> str | None:
    """Return why a product is not a run of DPAS, or None."""
    encoding = dpas_of(op.d.type)
    if encoding is None:
        return f"expected a result in #ttig.dpas, which DPAS gives, got {op.d.type}"
    lanes = encoding.threads_per_warp
    if (lanes, size := encoding.execution_size) not in EXECUTION_SIZES:
        wanted = " or ".join(str(n) for has, n in EXECUTION_SIZES if has == lanes)
        return f"expected executionSize = {wanted}, that of {lanes} lanes, got {size}"
    if (device := device_of(op)) is not None and size not in columns(device):
        found = " or ".join(map(str, columns(device))) or "none"
        return f"expected executionSize = {found}, that of {device.name}, got {size}"
    if (reason := _too_small(op, encoding)) is not None:
        return reason
    a, b = (spread_of_value(value) for value in (op.a, op.b))
    if a.packed is None or b.packed is None:
        wide = op.a.type if a.packed is None else op.b.type
        return (
            f"expected operands of DPAS, of 32 / opsPerChan = "
            f"{32 // encoding.ops_per_chan} bits an element, got {wide}"
        )
    if precision_of(a.element) != precision_of(b.element):
        return f"expected a and b of one type, got {a.element} and {b.element}"
    precision, sum = precision_of(a.element), element_of(op.d.type)
    assert precision is not None, op
    if sum not in (allowed := accumulators(precision)):
        known = " or ".join(map(str, allowed))
        return f"expected a result of {known}, as {a.element} has, got {sum}"
    return None


def _too_small(op: tt.DotOp, encoding: DpasEncoding) -> str | None:
    """Return which tensor is smaller than what one DPAS takes, or None."""
    named: tuple[tuple[str, Operand, SSAValue], ...] = (
        ("a result", "c", op.d),
        ("a", "a", op.a),
        ("b", "b", op.b),
    )
    for name, operand, value in named:
        rows, cols = encoding.tile_shape(operand)
        *_, high, wide = shape_of(value.type)
        if high < rows or wide < cols:
            what = f"{name} of at least {rows} x {cols}, one DPAS"
            return f"expected {what}, got {value.type}"
    return None


def device_of(op: Operation) -> Device | None:
    """Return the device that an operation is compiled for, if its module says so."""
    top: Operation | None = op
    while top is not None and not isinstance(top, ModuleOp):
        top = top.parent_op()
    target = None if top is None else simt.target_of(top)
    return None if target is None else devices.device(target.device.data)


def columns(device: Device) -> tuple[int, ...]:
    """Return the execution sizes of the DPAS of a device."""
    return () if device.dpas is None else (device.dpas.lanes,)


def tiles(spread: Spread) -> dict[Tile, int]:
    """Return the pieces of a tensor by their first element."""
    found: dict[Tile, int] = {}
    for piece in range(spread.pieces):
        *batch, row, col = spread.first(piece)
        found[tuple(batch), row, col] = piece
    return found


def dot(op: tt.DotOp, s: Splitter) -> Sequence[Sequence[SSAValue]]:
    """Multiply piece by piece."""
    encoding = dpas_of(op.d.type)
    assert encoding is not None, op
    spreads = [spread_of_value(value) for value in (op.a, op.b, op.c)]
    a, b, c = (tiles(spread) for spread in spreads)
    left, right = s.parts(op.a), s.parts(op.b)
    sums = list(s.parts(op.c))
    precision = precision_of(spreads[0].element)
    assert precision is not None, op
    steps = sorted({(batch, k) for batch, k, _ in b})
    rows = sorted({row for _, row, _ in a})
    for batch, k in steps:
        for col in sorted({n for where, depth, n in b if (where, depth) == (batch, k)}):
            for row in rows:
                at = c[batch, row, col]
                product = xe.DpasOp(
                    left[a[batch, row, k]],
                    right[b[batch, k, col]],
                    sums[at],
                    (precision, precision),
                    encoding.repeat_count,
                )
                sums[at] = s.insert(product).result
    return [sums]
