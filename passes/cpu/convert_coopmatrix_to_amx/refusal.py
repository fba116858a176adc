"""What of `coopmatrix` tiles of AMX cannot do, as reasons; nothing is changed here."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    i8,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix, simt
from coopc.dialects.amx import is_tile_element
from coopc.dialects.coopmatrix import MatrixType, Scope, ScopeAttr
from coopc.dialects.coopmatrix.arithmetic import fill_constant
from coopc.ir.control_flow import TRANSPARENT
from coopc.ir.element_access import why_no_view
from coopc.ir.matrix_size import why_too_large

STAGED = (
    coopmatrix.ApplyOp,
    coopmatrix.BinaryOp,
    coopmatrix.BitcastOp,
    coopmatrix.ConvertOp,
    coopmatrix.ExtractRowSliceOp,
    coopmatrix.InsertRowSliceOp,
    coopmatrix.ScaleOp,
    coopmatrix.SignedBinaryOp,
    coopmatrix.UnaryOp,
)

"""Operations that are done on elements in memory, as tiles have no arithmetic."""

TILED = (
    coopmatrix.FillOp,
    coopmatrix.LoadOp,
    coopmatrix.MulAddOp,
    coopmatrix.PrefetchOp,
    coopmatrix.StoreOp,
    coopmatrix.YieldOp,
)


OF_WORK_ITEMS = (
    coopmatrix.CoordOp,
    coopmatrix.ExtractOp,
    coopmatrix.InsertOp,
    coopmatrix.LengthOp,
)


def refusal(root: Operation) -> tuple[Operation, str] | None:
    """Return the first operation in `root` that tiles cannot do, and why."""
    scopes = core_scopes(root)
    for op in root.walk():
        if reason := unsupported(op, scopes):
            return op, reason
    return None


def core_scopes(root: Operation) -> tuple[Scope, ...]:
    """Return the scopes that are one core: a work-group, too, if it is one work-item.

    vectorize-subgroup makes such kernels of those with matrices of work-groups.
    """
    found = list(simt.kernels(root)) if isinstance(root, ModuleOp) else []
    if found and all(kernel.work_items == 1 for kernel in found):
        return Scope.SUBGROUP, Scope.WORKGROUP
    return (Scope.SUBGROUP,)


def unsupported(op: Operation, scopes: tuple[Scope, ...]) -> str | None:
    """Say why an operation cannot be done with tiles, or None.

    Args:
        op: the operation.
        scopes: of matrices that one core holds.
    """
    for type in _matrices(op):
        if reason := unsupported_matrix(type, scopes):
            return reason
    if op.dialect_name() != "coopmatrix":
        return _passing_on(op)
    match op:
        case coopmatrix.MulAddOp():
            return _product(op)
        case coopmatrix.FillOp():
            return _fill(op)
        case coopmatrix.LoadOp() | coopmatrix.StoreOp():
            return _access(op)
        case _ if isinstance(op, OF_WORK_ITEMS):
            return (
                f"{op.name} is of one work-item: expected row slices, as "
                "resolve-subgroup-wi-call makes them"
            )
        case _ if isinstance(op, (*STAGED, *TILED)):
            return None
        case _:
            return f"there is no rule for {op.name} on tiles"


def _access(op: coopmatrix.LoadOp | coopmatrix.StoreOp) -> str | None:
    """Say why an access to memory cannot be one of tiles, or None."""
    if op.volatile is not None:
        return "AMX has no volatile access to memory"
    if op.layout_name is not None:
        return f"expected a layout that is known, got {op.layout_name}"
    return why_no_view(op)


def _passing_on(op: Operation) -> str | None:
    """Say why an operation that is not of `coopmatrix` cannot take tiles, or None."""
    matrix = next(_matrices(op), None)
    if matrix is None or is_loop_or_branch(op):
        return None
    if isinstance(op, FuncOp | CallOp | ReturnOp):
        return f"tiles of AMX cannot be passed to functions, or returned, got {matrix}"
    return f"there is no rule for {op.name} on tiles, got {matrix}"


def is_loop_or_branch(op: Operation) -> bool:
    """Whether an operation passes values on through registers: loops and branches."""
    return type(op) in TRANSPARENT and not isinstance(op, CallOp | ReturnOp)


def unsupported_matrix(type: MatrixType, scopes: tuple[Scope, ...]) -> str | None:
    """Say why a matrix cannot be tiles, or None."""
    if not type.is_static:
        return f"expected sizes that are known, to cut into tiles, got {type}"
    if not any(type.scope == ScopeAttr(scope) for scope in scopes):
        return f"expected a matrix of a subgroup, which is a core, got {type}"
    if not is_tile_element(type.element_type):
        return (
            "expected elements of f32, f16, bf16, i32 or i8, which tiles of AMX hold, "
            f"got {type}"
        )
    return why_too_large(type)


def is_zero(op: coopmatrix.FillOp) -> bool:
    """Whether a fill is of +0, which tiles are set to by one instruction."""
    match fill_constant(op.result):
        case FloatAttr() as found:
            return str(found.value.data) == "0.0"
        case IntegerAttr() as found:
            return found.value.data == 0
        case _:
            return False


def _matrices(op: Operation) -> Iterator[MatrixType]:
    """Yield the types of the matrices of an operation, and of the blocks in it."""
    values: list[SSAValue] = [*op.operands, *op.results]
    types: list[Attribute] = [value.type for value in values]
    if isinstance(op, FuncOp):
        types += [*op.function_type.inputs, *op.function_type.outputs]
    if isinstance(op, coopmatrix.LengthOp | coopmatrix.PrefetchOp):
        types.append(op.matrix_type)
    for region in op.regions:
        for block in region.blocks:
            types += block.arg_types
    yield from (type for type in types if isinstance(type, MatrixType))


def _product(op: coopmatrix.MulAddOp) -> str | None:
    """Say why AMX does not multiply these types, or None."""
    a, b, c, result = (x.element_type for x in op.matrices.values())
    halves = isinstance(a, BFloat16Type | Float16Type) and a == b
    floats = halves and isinstance(c, Float32Type) and c == result
    if not floats and not (a == i8 and b == i8 and c == i32 and result == i32):
        return (
            "AMX multiplies bf16 * bf16 + f32, f16 * f16 + f32 and i8 * i8 + i32, "
            f"got {a} * {b} + {c} -> {result}"
        )
    if op.saturating is not None:
        return "sums of AMX wrap around, they do not saturate"
    return None


def _fill(op: coopmatrix.FillOp) -> str | None:
    """Say why a matrix is not filled with this value, or None."""
    wanted = op.result.type
    assert isinstance(wanted, MatrixType), wanted
    if op.value.type == wanted.element_type or is_zero(op):
        return None
    return (
        f"expected a value of {wanted.element_type}, the element type, as "
        f"resolve-matrix-fill makes it, got {op.value.type}"
    )
