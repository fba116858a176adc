"""What is known of a program before its matrices are spread over lanes.

Which operations lanes cannot do, and why; what is known of each access to memory.
Nothing is changed here.
"""

from __future__ import annotations

from math import gcd

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Axis, Layout, MatrixType
from coopc.dialects.coopmatrix.elements import matrix_of
from coopc.dialects.layout import rule_in
from coopc.dialects.narrow import is_memref
from coopc.ir.control_flow import defined_by, has_matrices, why_not_structured
from coopc.ir.element_access import why_no_view
from coopc.ir.facts import ValueFacts, constant_number
from coopc.ir.matrix_size import why_too_large
from coopc.layout.coopmatrix import ELEMENT_BITS
from coopc.layout.family import CoopmatrixFamily
from coopc.plan.lane_access import AccessFacts

MOST_VECTORS = 1024
"""Vectors that a lane holds of a matrix: all are written out, and each element of a
product chooses among them.  1024 of 4 are sixteen times the registers of a lane."""


def refusal(module: ModuleOp, lanes: int, longest: int) -> tuple[Operation, str] | None:
    """Return an operation that cannot be spread over lanes, and why; or None.

    Args:
        module: whose matrices are to be spread.
        lanes: of every subgroup.
        longest: components of the longest vector.
    """
    for op in module.walk():
        if isinstance(op, FuncOp) and (reason := _why_not_kernel(op, lanes)):
            return op, reason
        values = (*op.operands, *defined_by(op))
        types = [value.type for value in values]
        for attr in (*types, *op.properties.values()):
            if isinstance(attr, MatrixType) and (
                reason := _why_not_type(attr) or _why_not_held(attr, lanes, longest)
            ):
                return op, reason
        if reason := _why_not_op(op) or _why_no_slot(op, lanes):
            return op, reason
    return None


def _why_not_kernel(func: FuncOp, lanes: int) -> str | None:
    if has_matrices(func, {}) and (reason := why_not_structured(func)):
        return reason
    found = func.attributes.get(coopmatrix.DISTRIBUTION)
    if found is not None and not isinstance(rule_in(found), CoopmatrixFamily):
        return (
            f"expected {coopmatrix.DISTRIBUTION} to be #layout.coopmatrix, which lanes "
            f"hold matrices in, got {found}"
        )
    if simt.KERNEL not in func.attributes:
        return None
    kernel = simt.kernel_of(func)
    if kernel.subgroup_size not in (None, lanes):
        return (
            f"expected a kernel of {lanes} lanes, the subgroup size asked for, "
            f"got {kernel.subgroup_size}"
        )
    if simt.WORK_GROUP_SIZE in func.attributes and kernel.work_items % lanes:
        return (
            f"expected a work-group size that is a multiple of {lanes}, so that all "
            f"subgroups are full, got {kernel.work_items} work-items"
        )
    return None


def _why_not_type(type: MatrixType) -> str | None:
    if not type.is_static:
        names = ", ".join(f"@{name}" for name in type.names)
        return (
            f"expected sizes that are numbers, as lanes need, got {type} with {names}"
        )
    assert isinstance(type.scope, coopmatrix.ScopeAttr)
    if type.scope.data != coopmatrix.Scope.SUBGROUP:
        return f"expected a matrix that a subgroup holds, got scope {type.scope.data}"
    if type.element_bits not in ELEMENT_BITS:
        return f"expected elements of 8, 16, 32 or 64 bits, got {type.element_type}"
    return why_too_large(type)


def _why_not_held(type: MatrixType, lanes: int, longest: int) -> str | None:
    """Say why a lane does not hold its part of matrices of a type."""
    held = CoopmatrixFamily().distribution(matrix_of(type), lanes).components
    if held <= (most := MOST_VECTORS * longest):
        return None
    return (
        f"expected each of {lanes} lanes to hold at most {most} "
        f"elements of a matrix ({MOST_VECTORS} vectors of {longest}), "
        f"got {held} of {type}: write a loop over smaller matrices"
    )


def _why_not_op(op: Operation) -> str | None:
    if isinstance(op, coopmatrix.SpecConstantOp):
        return None
    if isinstance(op, coopmatrix.PlainAccessOp) and op.layout_name is not None:
        return f"expected a layout that is known, got {op.layout_name}"
    if reason := why_no_view(op):
        return reason
    is_pointer = isinstance(op, coopmatrix.FillOp) and op.is_pointer
    if is_pointer and not is_memref(op.operands[0].type):
        return f"expected a memref to fill from, got {op.operands[0].type}"
    if isinstance(op, coopmatrix.ApplyOp):
        allowed = (coopmatrix.ExtractOp, coopmatrix.CoordOp)
        for inner in op.body.walk():
            values = (*inner.operands, *inner.results)
            matrices = any(isinstance(value.type, MatrixType) for value in values)
            if matrices and not isinstance(inner, allowed):
                return f"expected single elements in a body, got {inner.name}"
    return None


def _why_no_slot(op: Operation, lanes: int) -> str | None:
    if not isinstance(op, coopmatrix.ExtractOp | coopmatrix.InsertOp):
        return None
    slot, type = constant_number(op.index), coopmatrix.matrix_type(op.matrix)
    slots = CoopmatrixFamily().distribution(matrix_of(type), lanes).components
    if slot is None or 0 <= slot < slots:
        return None
    return (
        f"expected a slot below {slots}, the number of slots of "
        f"{type} per lane, over {lanes} lanes, got {slot}"
    )


def memory_of(
    op: coopmatrix.LoadOp
    | coopmatrix.StoreOp
    | coopmatrix.AtomicLoadOp
    | coopmatrix.AtomicStoreOp,
) -> AccessFacts:
    """Return what is known of the memory of an access."""
    space = op.memory_type.memory_space
    checked = () if op.checked is None else op.checked.data
    is_plain = isinstance(op, coopmatrix.PlainAccessOp)
    return AccessFacts(
        rows_last=op.layout.data == Layout.COL_MAJOR,
        strides=op.matrix_strides,
        element_bytes=op.matrix.element_bits // 8,
        alignment=alignment_of(op),
        is_write=isinstance(op, coopmatrix.StoreOp | coopmatrix.AtomicStoreOp),
        is_global=not isinstance(space, simt.MemoryAttr)
        or space.data == simt.MemorySpace.GLOBAL,
        is_atomic=not is_plain,
        is_special=is_plain and (op.volatile or op.nontemporal) is not None,
        is_packed=op.layout.data == Layout.PACKED,
        is_placed=is_placed(op.memory_type),
        checked_rows=Axis.ROWS in checked,
        checked_cols=Axis.COLS in checked,
    )


def is_placed(type: MemRefType[Attribute]) -> bool:
    """Whether all is known of where the elements of a memref are."""
    numbers = (*type.get_shape(), *(type.get_strides() or (None,)), type.get_offset())
    return all(number not in (None, DYNAMIC_INDEX) for number in numbers)


def alignment_of(op: coopmatrix.AccessOp) -> int:
    """Return what the address of element (0, 0) is a multiple of, in bytes.

    The access may say it; or the memref is assumed to be aligned, and offset, positions
    and strides are known multiples.
    """
    size = op.matrix.element_bits // 8
    said = size
    if isinstance(op, coopmatrix.PlainAccessOp) and op.alignment is not None:
        said = max(said, op.alignment.value.data)
    owner = op.memory.owner
    if not isinstance(owner, memref.AssumeAlignmentOp):
        return said
    strides = op.memory_type.get_strides()
    assert strides is not None, op.memory_type
    found: int = owner.alignment.value.data
    layout = op.memory_type.layout
    if isinstance(layout, StridedLayoutAttr):
        offset = layout.get_offset()
        found = gcd(found, size * (1 if offset is None else offset))
    for position, stride in zip(op.positions, strides, strict=True):
        step = 1 if stride is None or stride == DYNAMIC_INDEX else stride
        found = gcd(found, size * step * ValueFacts().divisor(position))
    return max(said, found)
