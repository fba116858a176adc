"""`row_slice` as the builtins of the SYCL matrix design, on matrices as vectors.

| operation               | builtin                                                 |
|-------------------------|---------------------------------------------------------|
| length                  | i64 get_sub_group_slice_length.(i32 elements)           |
| id                      | i64 get_sub_group_rowslice_id(matrix, R, C, i64 index)  |
| extract_element         | T sub_group_rowslice_extractelement(i64 token)          |
| extract_element, wide   | <S x T> _ZGVbN<S>u_sub_group_rowslice_extractelement    |
| insert_element          | sub_group_rowslice_insertelement(i64 token, T value)    |
| insert_element, wide    | _ZGVbN<S>uv_sub_group_rowslice_insertelement            |
| insert_element, masked  | _ZGVbM<S>uv_..(i64 token, <S x T> values, <S x i1> mask)|
| insert_to_matrix        | matrix sub_group_insert_rowslice_to_matrix(i64 token)   |

Calls of the two that are widened say how (`vector-function-abi-variant`), where the
kernel says how many lanes hold the matrix, those of a subgroup or of a work-group:
their token is uniform (u), their value of each lane (v), with a mask (M) or without
(N).
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from coopc.dialects import coopmatrix, row_slice
from coopc.dialects.narrow import is_vector
from coopc.emit.llvm.coopmatrix import sizes, suffix
from coopc.emit.llvm.emission import Emission, Handlers
from coopc.emit.walker import Refusal
from coopc.llvm.values import I32, I64, VOID, component, integer, width

handlers = Handlers()

EXTRACT, INSERT = (
    "sub_group_rowslice_extractelement",
    "sub_group_rowslice_insertelement",
)


def variant(name: str, lanes: int, parameters: str, masked: bool = False) -> str:
    """The name of a widened function by the vector function ABI, of x86's SSE.

    >>> variant("f.i32", 16, "uv")
    '_ZGVbN16uv_f.i32'
    """
    return f"_ZGVb{'M' if masked else 'N'}{lanes}{parameters}_{name}"


@handlers.on(row_slice.LengthOp)
def length(e: Emission, op: row_slice.LengthOp) -> None:
    """How many row slices there are, from the number of elements."""
    rows, cols = op.matrix_type.shape
    elements = integer(I32, rows * cols)
    e.set(op.result, e.call("get_sub_group_slice_length.", I64, [elements]))


@handlers.on(row_slice.IdOp)
def token(e: Emission, op: row_slice.IdOp) -> None:
    type, matrix = coopmatrix.matrix_type(op.matrix), e.value(op.matrix)
    arguments = [matrix, *sizes(type), e.value(op.index)]
    name = f"get_sub_group_rowslice_id{suffix(matrix.type, I64)}"
    e.set(op.result, e.call(name, I64, arguments))


@handlers.on(row_slice.ExtractElementOp)
def extract(e: Emission, op: row_slice.ExtractElementOp) -> None:
    result = e.type(op.result.type)
    name = f"{EXTRACT}{suffix(component(result))}"
    wide = is_vector(op.result.type)
    if wide:
        name = variant(name, width(result), "u")
    variants = "" if wide else _variants(e, name, "u", op.token)
    e.set(op.result, e.call(name, result, [e.value(op.token)], of_call=variants))


@handlers.on(row_slice.InsertElementOp)
def insert(e: Emission, op: row_slice.InsertElementOp) -> None:
    """Replace an element, or all that a mask allows."""
    value = e.value(op.value)
    arguments = [e.value(op.token), value]
    name = f"{INSERT}{suffix(component(value.type))}"
    wide = is_vector(op.value.type)
    if op.mask is not None:
        if not wide:
            raise Refusal(
                "expected a mask on all lanes, as vectorize-subgroup makes it: one "
                "work-item inserts or does not"
            )
        arguments.append(e.value(op.mask))
    if wide:
        name = variant(name, width(value.type), "uv", op.mask is not None)
    variants = "" if wide else _variants(e, name, "uv", op.token)
    e.call(name, VOID, arguments, of_call=variants)


@handlers.on(row_slice.InsertToMatrixOp)
def to_matrix(e: Emission, op: row_slice.InsertToMatrixOp) -> None:
    type = e.type(op.result.type)
    name = f"sub_group_insert_rowslice_to_matrix{suffix(type)}"
    e.set(op.result, e.call(name, type, [e.value(op.token)]))


def _variants(e: Emission, name: str, parameters: str, token: SSAValue) -> str:
    """The attribute of a call that says which widened functions there are."""
    lanes, owner = e.subgroup_size, token.owner
    if isinstance(owner, row_slice.IdOp):
        scope = coopmatrix.matrix_type(owner.matrix).scope
        if scope == coopmatrix.ScopeAttr(coopmatrix.Scope.WORKGROUP):
            lanes = e.whole.work_items
    if lanes is None:
        return ""
    names = [variant(name, lanes, parameters, masked) for masked in (False, True)]
    return f'"vector-function-abi-variant"="{",".join(names)}"'
