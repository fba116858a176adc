"""Checked accesses to matrices, by the tensor addressing of SPV_NV_cooperative_matrix2.

A tensor layout has the sizes and the strides of memory of two dimensions, and the part
of it that is the matrix.  What is loaded from outside is the clamp value, 0, and what
is stored there is dropped.  Where the columns of the matrix are the outer dimension, a
tensor view swaps the dimensions.
"""

from __future__ import annotations

from coopc.dialects import coopmatrix
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.view import View
from coopc.emit.walker import Refusal
from coopc.spirv.instruction import Operand

_CONSTANT = 1
"""Of TensorClampMode: outside is the clamp value, which is 0 if nothing sets it."""


def tensor_load(
    e: Emission, op: coopmatrix.LoadOp, view: View, layout: str, stride: Operand
) -> None:
    """OpCooperativeMatrixLoadTensorNV; nothing of the object that it takes is left."""
    type = e.types.matrix(op.matrix)
    zero = e.module.constant(e.types.number(op.matrix.element_type), 0)
    pointer, tensor, *rest = _operands(e, op, view, layout, stride)
    object = e.module.constant_composite(type, [zero])
    id = e.emit(
        "OpCooperativeMatrixLoadTensorNV", pointer, object, tensor, *rest, type=type
    )
    e.set(op.result, id)


def tensor_store(
    e: Emission, op: coopmatrix.StoreOp, view: View, layout: str, stride: Operand
) -> None:
    """OpCooperativeMatrixStoreTensorNV."""
    pointer, *rest = _operands(e, op, view, layout, stride)
    e.do("OpCooperativeMatrixStoreTensorNV", pointer, e.value(op.value), *rest)


def _operands(
    e: Emission,
    op: coopmatrix.LoadOp | coopmatrix.StoreOp,
    view: View,
    layout: str,
    stride: Operand,
) -> tuple[Operand, ...]:
    """The pointer, the tensor layout, and how memory is accessed."""
    if not op.is_from_start:
        raise Refusal(
            "expected checks of a buffer of two dimensions, from its start on, as "
            f"tensor addressing needs, got {op.memory_type}"
        )
    constant = e.types.enumerant
    by_rows = layout == "row_major"
    inner_is_last = e.index.num(e.index.strides(view)[1]) == 1
    dimensions = (0, 1) if inner_is_last else (1, 0)
    sizes = [e.index.value(view.sizes[x]) for x in dimensions]
    positions = e.nums(op.positions)
    spans = op.matrix.shape if by_rows else op.matrix.shape[::-1]
    slices = [
        operand
        for dimension, span in zip(dimensions, spans, strict=True)
        for operand in (e.index.value(positions[dimension]), constant(span))
    ]
    type = e.module.type("OpTypeTensorLayoutNV", constant(2), constant(_CONSTANT))
    tensor = e.emit("OpCreateTensorLayoutNV", type=type)
    for name, *operands in (
        ("SetDimension", *sizes),
        ("SetStride", stride, constant(1)),
        ("Slice", *slices),
    ):
        tensor = e.emit(f"OpTensorLayout{name}NV", tensor, *operands, type=type)
    swapped: tuple[Operand, ...] = ("None",)
    if not by_rows:
        false = e.module.constant(e.types.bool, False)
        order = constant(1), constant(0)
        kind = e.module.type("OpTypeTensorViewNV", constant(2), false, *order)
        swapped = "TensorView", e.emit("OpCreateTensorViewNV", type=kind)
    hints = [
        *(["Volatile"] if op.volatile is not None else []),
        *(["Nontemporal"] if op.nontemporal is not None else []),
    ]
    pointer = e.pointer(view, 0)
    memory = e.memory_operands(view, hints) or ["None"]
    return pointer, tensor, *memory, *swapped
