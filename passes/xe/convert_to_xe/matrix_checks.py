"""What `convert-coopmatrix-to-xe` refuses, operation by operation, with the reason."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType, Operand
from coopc.dialects.narrow import is_memref
from coopc.dialects.xe.dpas import EXECUTION_SIZES, accumulators
from coopc.passes.xe.convert_to_xe.matrix_pieces import Pieces, pieces_of
from coopc.passes.xe.convert_to_xe.matrix_rules import precision, sources
from coopc.rewrite.lane_facts import has_matrices
from coopc.rewrite.structure import why_not_structured

CONVERTED = (
    coopmatrix.AtomicOp,
    coopmatrix.BitcastOp,
    coopmatrix.ConvertOp,
    coopmatrix.ElementwiseOp,
    coopmatrix.FillOp,
    coopmatrix.LoadOp,
    coopmatrix.MulAddOp,
    coopmatrix.PrefetchOp,
    coopmatrix.ScaleOp,
    coopmatrix.StoreOp,
)
"""The operations that have a form on operands of DPAS."""


def why_not(op: Operation, device: Device, lanes: int) -> str | None:
    """Return why an operation cannot be converted, or None."""
    if isinstance(op, FuncOp):
        return _why_not_kernel(op, lanes)
    for type in _matrices(op):
        found = pieces_of(type, device, lanes)
        if isinstance(found, str):
            return found
    if op.dialect_name() != "coopmatrix":
        return None
    if isinstance(op, coopmatrix.MulAddOp):
        assert device.dpas is not None, device
        allowed = [has for has, n in EXECUTION_SIZES if n == device.dpas.lanes]
        if lanes not in allowed:
            wanted = " or ".join(map(str, allowed))
            return (
                f"expected a kernel of {wanted} lanes, which multiply by the DPAS of "
                f"{device.name}, got {lanes}"
            )
    if not isinstance(op, CONVERTED):
        return (
            f"{op.name} is not converted to xe: coopc-lanes and coopc-khr compile "
            "kernels that reach single elements"
        )
    return _why_not_op(op, lambda type: _known(type, device, lanes))


def _known(type: MatrixType, device: Device, lanes: int) -> Pieces:
    """Return how lanes hold a matrix that they can hold."""
    found = pieces_of(type, device, lanes)
    assert isinstance(found, Pieces), found
    return found


def _why_not_op(op: Operation, pieces: Callable[[MatrixType], Pieces]) -> str | None:
    """Return why an operation on matrices that lanes can hold has no form."""
    match op:
        case coopmatrix.MulAddOp():
            return _why_not_product(op, pieces)
        case coopmatrix.ConvertOp():
            return _why_not_conversion(op, pieces)
        case coopmatrix.LoadOp() | coopmatrix.StoreOp():
            return _why_not_access(op)
        case coopmatrix.FillOp() if op.is_pointer and not is_memref(op.value.type):
            return f"expected a memref to fill from, got {op.value.type}"
        case _:
            return None


def _matrices(op: Operation) -> list[MatrixType]:
    """Return the types of the matrices that an operation has to do with."""
    types = [value.type for value in (*op.operands, *op.results)]
    types += [x.type for r in op.regions for block in r.blocks for x in block.args]
    found = [*types, *op.properties.values()]
    return [x for x in found if isinstance(x, MatrixType)]


def _why_not_kernel(func: FuncOp, lanes: int) -> str | None:
    """Return why a function does not fit."""
    if has_matrices(func, {}) and (reason := why_not_structured(func)):
        return reason
    if coopmatrix.DISTRIBUTION in func.attributes:
        return (
            f"expected no {coopmatrix.DISTRIBUTION}: lanes hold operands of DPAS, got "
            f"{func.attributes[coopmatrix.DISTRIBUTION]}"
        )
    if simt.KERNEL not in func.attributes:
        return None
    kernel = simt.kernel_of(func)
    if kernel.subgroup_size not in (None, lanes):
        return f"expected a kernel of {lanes} lanes, got {kernel.subgroup_size}"
    if simt.WORK_GROUP_SIZE in func.attributes and kernel.work_items % lanes:
        return (
            f"expected a work-group size that is a multiple of {lanes}, so that all "
            f"subgroups are full, got {kernel.work_items} work-items"
        )
    return None


def _why_not_product(
    op: coopmatrix.MulAddOp, pieces: Callable[[MatrixType], Pieces]
) -> str | None:
    """Return why a product is not a run of DPAS."""
    types = op.matrices
    a, b = types[Operand.A], types[Operand.B]
    kinds = [
        precision(pieces(type), op.is_signed(operand))
        for operand, type in ((Operand.A, a), (Operand.B, b))
    ]
    c, result = types[Operand.C], types[Operand.RESULT]
    for kind, type in zip(kinds, (a, b), strict=True):
        if kind is None:
            return (
                "expected elements of f16, bf16 or i8, which DPAS multiplies exactly, "
                f"got {type}"
            )
    x, y = kinds
    assert x is not None
    assert y is not None
    if x is not y and not (x.is_integer and y.is_integer):
        return f"expected a and b of one type, got {a} and {b}"
    if op.saturating is not None:
        return "expected a sum that wraps around, as that of DPAS, got saturating"
    if c != result:
        return f"expected c and a result of one type, got {c} and {result}"
    if c.element_type not in (allowed := accumulators(x)):
        names = " or ".join(map(str, allowed))
        return f"expected a c of {names}, which DPAS adds to, got {c}"
    return None


def _why_not_conversion(
    op: coopmatrix.ConvertOp, pieces: Callable[[MatrixType], Pieces]
) -> str | None:
    """Return why a matrix cannot have another type or use."""
    types = [x.type for x in (op.value, op.result)]
    source, target = (pieces(x) for x in types if isinstance(x, MatrixType))
    if sources(source, target) is not None:
        return None
    return (
        f"expected elements to stay in their lanes, which those of {types[0]} do not "
        f"in {types[1]}"
    )


def _why_not_access(op: coopmatrix.PlainAccessOp) -> str | None:
    """Return why a matrix cannot be loaded or stored."""
    for name in ("volatile", "available", "visible"):
        if getattr(op, name) is not None:
            return f"{name} accesses are not converted to xe"
    if op.memory_type.element_type != op.matrix.element_type:
        return (
            f"expected a memref of {op.matrix.element_type}, the element type of the "
            f"matrix, got {op.memory_type}"
        )
    return None
