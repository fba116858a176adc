"""The matrices of `ttig.2d_block_load`: given, in bytes."""

from __future__ import annotations

from coopc.dialects import ttig
from coopc.dialects.tt.enums import Padding
from coopc.dialects.tt.types import bits_of, shape_of
from coopc.passes.triton.affine_tensors import Indices, NotAffine
from coopc.passes.triton.pointer_matrix import Matrix, order_in
from coopc.plan.refusal import Reason, Refusal
from coopc.rewrite.polynomial import NOTHING, Polynomial


def given_matrix(op: ttig.BlockLoad2DOp, indices: Indices) -> Matrix | Refusal:
    """Return the matrix that a load of 2D blocks names, or why it is none."""
    shape = shape_of(op.result.type)
    if len(shape) != 2:
        return Refusal(Reason.RANK, f"a load of rank {len(shape)}")
    bits = bits_of(op.result.type)
    assert bits is not None, op
    size = Polynomial.number(max(1, bits // 8))
    try:
        width, height, pitch, x, y = (indices.number(x) for x in op.operands[1:])
    except NotAffine as error:
        return Refusal(Reason.UNKNOWN_MEMORY, str(error))
    found: list[Polynomial] = []
    for name, each in (("width", width), ("pitch", pitch)):
        elements, rest = each.divided(size)
        if rest:
            what = f"the {name} is not known to be a multiple of {bits // 8} bytes"
            return Refusal(Reason.WIDTH, what)
        found.append(elements)
    order = order_in(op.layout)
    tile = shape if order == "row_major" else (shape[1], shape[0])
    return Matrix(
        op.base,
        NOTHING,
        (height, found[0]),
        found[1],
        (y, x),
        order,
        (tile[0], tile[1]),
        padding=Padding.ZERO if op.pad_nan is None else Padding.NAN,
    )
