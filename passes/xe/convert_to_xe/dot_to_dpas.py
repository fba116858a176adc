"""`tt.dot` as a run of DPAS.

C(m, n) += A(m, k) B(k, n) for every k, then every n, then every m: each B is used for
all rows of A while it is at hand, and no accumulator is needed twice in a row.  Which
piece is which tile is what the layouts say of lane 0 of warp 0; the others hold the
same tiles elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from coopc.device import Device
from coopc.dialects import tt, xe
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import dpas_of, shape_of
from coopc.dialects.xe import EXECUTION_SIZES, accumulators
from coopc.ir.builder import Builder
from coopc.ir.split_values import Results, Splitter
from coopc.ir.transaction import Refused
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encodings import Operand
from coopc.passes.xe.register_layout import RegisterLayout, precision_of, registers_of

Tiles: TypeAlias = dict[tuple[tuple[int, ...], int, int], SSAValue]
"""Pieces by the batch, and two of m, n and k."""


def tiles_of(registers: RegisterLayout, pieces: Sequence[SSAValue]) -> Tiles:
    """Return what a lane holds of an operand by the first element of each piece."""
    found: Tiles = {}
    for at, piece in enumerate(pieces):
        *batch, row, col = registers.first(at)
        found[tuple(batch), row, col] = piece
    return found


def multiply(
    builder: Builder,
    a: Tiles,
    b: Tiles,
    c: Tiles,
    precisions: tuple[xe.Precision, xe.Precision],
    repeat: int,
) -> list[SSAValue]:
    """Return a * b + c as a run of DPAS: each b is used for all rows of a at hand."""
    sums = dict(c)
    rows = sorted({row for _, row, _ in a})
    for batch, k, col in sorted(b):
        for row in rows:
            at = batch, row, col
            values = a[batch, row, k], b[batch, k, col], sums[at]
            sums[at] = builder.pure(xe.DpasOp, *values, precisions, repeat)
    return list(sums.values())


def dot(device: Device | None, op: tt.DotOp, builder: Splitter) -> Results:
    """Multiply tensors in layouts of DPAS, that of the device if one is known."""
    encoding = dpas_of(op.d.type)
    if encoding is None:
        what = f"expected a result in #ttig.dpas, which DPAS gives, got {op.d.type}"
        raise Refused(op, what)
    lanes, size = encoding.threads_per_warp, encoding.execution_size
    if (lanes, size) not in EXECUTION_SIZES:
        wanted = " or ".join(str(n) for has, n in EXECUTION_SIZES if has == lanes)
        what = f"expected executionSize = {wanted}, that of {lanes} lanes, got {size}"
        raise Refused(op, what)
    if device is not None and (device.dpas is None or device.dpas.lanes != size):
        wanted = "none" if device.dpas is None else str(device.dpas.lanes)
        what = f"expected executionSize = {wanted}, that of {device.name}, got {size}"
        raise Refused(op, what)
    _refuse_small(op, encoding)
    precisions = _precisions(op, encoding, registers_of(op.a), registers_of(op.b))
    a, b, c = (tiles_of(registers_of(x), builder.parts(x)) for x in (op.a, op.b, op.c))
    return [multiply(builder, a, b, c, precisions, encoding.repeat_count)]


def _precisions(
    op: tt.DotOp, encoding: DpasEncoding, a: RegisterLayout, b: RegisterLayout
) -> tuple[xe.Precision, xe.Precision]:
    """Return what DPAS calls the elements of a and b."""
    precision, other = precision_of(a.element), precision_of(b.element)
    if precision is None or a.packed is None or b.packed is None:
        wide = op.a.type if a.packed is None else op.b.type
        raise Refused(
            op,
            f"expected operands of DPAS, of 32 / opsPerChan = "
            f"{32 // encoding.ops_per_chan} bits an element, got {wide}",
        )
    if precision != other:
        what = f"expected a and b of one type, got {a.element} and {b.element}"
        raise Refused(op, what)
    allowed = accumulators(precision, encoding.execution_size)
    sum = element_of(op.d.type)
    if sum not in allowed:
        known = " or ".join(map(str, allowed))
        what = f"expected a result of {known}, as {a.element} has, got {sum}"
        raise Refused(op, what)
    return precision, precision


def _refuse_small(op: tt.DotOp, encoding: DpasEncoding) -> None:
    """Refuse a tensor that is smaller than what one DPAS takes."""
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
            raise Refused(op, f"expected {what}, got {value.type}")
