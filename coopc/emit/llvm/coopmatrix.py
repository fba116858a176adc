"""`coopmatrix` as `llvm.experimental.matrix` calls, the text of `llvm-ir{matrix=true}`.

A matrix of R x C elements is a value <R*C x T>, row after row.

| operation         | intrinsic, after `llvm.experimental.matrix.`                     |
|-------------------|------------------------------------------------------------------|
| fill              | fill(value, R, C, layout, scope, use)                            |
| load              | load(pointer, stride, volatile, R, C, layouts, scope, use)       |
| store             | store(matrix, pointer, stride, volatile, R, C, layouts, ..)      |
| mul_add           | mad, sumad, usmad or uumad(a, b, c, M, K, N, scope, types)       |
| length            | wi.slice.length(any matrix, R, C, layout, scope, use)            |
| extract           | wi.slice.extractelement(matrix, R, C, index, layout, scope, use) |
| insert            | wi.slice.insertelement(matrix, R, C, value, index, layout, ..)   |
| extract_row_slice | extract.row.slice(matrix, row, column, count, R, C, layout)      |
| insert_row_slice  | insert.row.slice(matrix, slice, row, column, count, R, C, layout)|

R, C, counts, rows and columns are i32, indices and strides i64.  Source: Intel's SYCL
matrix implementation design; where it shows no call (load, store, mad), the calls of
the compiler that it describes.  A pointer's fill has the overload `p0` where the
document writes the element's: two functions of one name cannot be declared.

Elements of a row slice beyond the matrix are 0, and dropped when they are inserted, as
the operations have it; the document leaves open what the intrinsics do with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import coopmatrix, row_slice
from coopc.dialects.coopmatrix import Layout, MatrixType, Operand, Scope, Use
from coopc.dialects.narrow import is_integer, is_memref, is_vector
from coopc.emit.arith import INSTRUCTIONS
from coopc.emit.llvm.emission import Emission, Handlers, id_of
from coopc.emit.walker import NoForm
from coopc.llvm.values import (
    I1,
    I32,
    I64,
    VOID,
    Constant,
    Named,
    Type,
    Value,
    Vector,
    component,
    integer,
    overload,
    poison,
    width,
)
from coopc.passes.coopmatrix.elementwise import of_elements

handlers = Handlers()

METADATA = Named("metadata")
_LAYOUTS = {
    Layout.ROW_MAJOR: "matrix.rowmajor",
    Layout.COL_MAJOR: "matrix.columnmajor",
    Layout.PACKED: "matrix.packed",
}
_SCOPES = {Scope.SUBGROUP: "scope.subgroup", Scope.WORKGROUP: "scope.workgroup"}
_USES = {
    Use.A: "matrix.use.a",
    Use.B: "matrix.use.b",
    Use.ACC: "matrix.use.accumulator",
    Use.NONE: "matrix.use.unnecessary",
}
_MADS = {
    (True, True): "mad",
    (True, False): "sumad",
    (False, True): "usmad",
    (False, False): "uumad",
}
"""By whether a, and b, are signed; floats are signed."""


def word(text: str) -> Constant:
    return Constant(METADATA, f'!"{text}"')


def sizes(type: MatrixType) -> list[Value]:
    return [integer(I32, size) for size in type.shape]


def scope_of(type: MatrixType) -> Constant:
    """Who holds the matrix.

    Raises:
        NoForm: neither a subgroup nor a work-group.
    """
    scope = type.scope
    found = _SCOPES.get(scope.data) if isinstance(scope, coopmatrix.ScopeAttr) else None
    if found is None:
        raise NoForm(f"expected a matrix of a subgroup or a work-group, got {type}")
    return word(found)


def facts_of(type: MatrixType) -> list[Value]:
    """The layout of the value, which is row after row, the scope, and the use."""
    layout = word(_LAYOUTS[Layout.ROW_MAJOR])
    return [layout, scope_of(type), word(_USES[type.use.data])]


def _call(
    e: Emission,
    op: Operation,
    name: str,
    arguments: Sequence[Value],
    overloads: Sequence[Type],
) -> None:
    """Call an intrinsic; its result, where it has one, is the operation's."""
    type = e.type(op.results[0].type) if op.results else VOID
    found = e.intrinsic(f"experimental.matrix.{name}", type, arguments, overloads)
    for result in op.results:
        e.set(result, found)


@handlers.on(coopmatrix.FillOp)
def fill(e: Emission, op: coopmatrix.FillOp) -> None:
    type = coopmatrix.matrix_type(op.result)
    if is_memref(op.value.type):
        view = e.view(op.value)
        value = e.pointer(view, view.offset)
    else:
        value = e.value(op.value)
    arguments = [value, *sizes(type), *facts_of(type)]
    _call(e, op, "fill", arguments, [e.type(type), value.type])


@handlers.on(coopmatrix.LoadOp)
def load(e: Emission, op: coopmatrix.LoadOp) -> None:
    arguments = _access(e, op)
    _call(e, op, "load", arguments, [e.type(op.result.type), arguments[0].type])


@handlers.on(coopmatrix.StoreOp)
def store(e: Emission, op: coopmatrix.StoreOp) -> None:
    arguments = [e.value(op.value), *_access(e, op)]
    _call(e, op, "store", arguments, [argument.type for argument in arguments[:2]])


def _access(e: Emission, op: coopmatrix.LoadOp | coopmatrix.StoreOp) -> list[Value]:
    """The arguments that a load and a store share, from the pointer on."""
    type, layout = op.matrix, op.layout.data
    if op.checked is not None:
        raise NoForm("`checked` is not supported by the matrix intrinsics")
    if layout not in _LAYOUTS:
        raise NoForm(
            "expected row_major, col_major or packed, as the matrix intrinsics have, "
            f"got {layout}"
        )
    if op.memory_type.element_type != type.element_type:
        raise NoForm(
            f"expected a memref of {type.element_type}, the matrix's elements, got "
            f"{op.memory_type}"
        )
    view = e.view(op.memory)
    *_, outer, inner = e.index.strides(view)
    if layout == Layout.COL_MAJOR and inner != 1 and outer == 1:
        # In a memref of columns without gaps, column-major is by rows.
        outer, inner, layout = inner, outer, Layout.ROW_MAJOR
    if inner != 1:
        raise NoForm(
            "expected a memref whose last stride is 1, since the matrix intrinsics "
            f"have one stride, got {op.memory_type}"
        )
    pointer = e.pointer(view, e.index.linear(view, e.nums(op.positions)))
    volatile = integer(I1, int(op.volatile is not None))
    first, scope, use = facts_of(type)
    memory = word(_LAYOUTS[layout])
    return [pointer, id_of(outer), volatile, *sizes(type), first, memory, scope, use]


@handlers.on(coopmatrix.MulAddOp)
def multiply(e: Emission, op: coopmatrix.MulAddOp) -> None:
    types = op.matrices
    if op.saturating is not None:
        raise NoForm("expected a product that does not saturate, as matrix.mad is")
    if types[Operand.C] != types[Operand.RESULT]:
        raise NoForm(
            "expected a result of the type of c, as matrix.mad has it, got "
            f"{types[Operand.RESULT]}"
        )
    floats = not is_integer(types[Operand.A].element_type)
    signs = [floats or op.is_signed(each) for each in (Operand.A, Operand.B)]
    a, b, c = (e.value(each) for each in (op.a, op.b, op.c))
    (m, k), n = types[Operand.A].shape, types[Operand.B].shape[1]
    arguments = [a, b, c, *(integer(I32, size) for size in (m, k, n))]
    arguments += [scope_of(types[Operand.A])]
    arguments += [word("matrix.reinterpret.type.none")] * 4
    _call(e, op, _MADS[signs[0], signs[1]], arguments, [c.type, a.type, b.type])


@handlers.on(coopmatrix.LengthOp)
def length(e: Emission, op: coopmatrix.LengthOp) -> None:
    """How many elements a work-item has: of any matrix of the type."""
    type = op.matrix_type
    vector = e.type(type)
    arguments = [poison(vector), *sizes(type), *facts_of(type)]
    _call(e, op, "wi.slice.length", arguments, [vector])


@handlers.on(coopmatrix.ExtractOp)
def extract(e: Emission, op: coopmatrix.ExtractOp) -> None:
    type, matrix = coopmatrix.matrix_type(op.matrix), e.value(op.matrix)
    arguments = [matrix, *sizes(type), e.value(op.index), *facts_of(type)]
    _call(e, op, "wi.slice.extractelement", arguments, [matrix.type, I64])


@handlers.on(coopmatrix.InsertOp)
def insert(e: Emission, op: coopmatrix.InsertOp) -> None:
    type, matrix = coopmatrix.matrix_type(op.matrix), e.value(op.matrix)
    element = [e.value(op.value), e.value(op.index)]
    arguments = [matrix, *sizes(type), *element, *facts_of(type)]
    _call(e, op, "wi.slice.insertelement", arguments, [matrix.type, I64])


@handlers.on(coopmatrix.ExtractRowSliceOp)
def extract_row_slice(e: Emission, op: coopmatrix.ExtractRowSliceOp) -> None:
    slice = e.type(op.result.type)
    place = _place(e, coopmatrix.matrix_type(op.matrix), e.value(op.offset), slice)
    e.set(op.result, _row_slice(e, e.value(op.matrix), place, slice))


def _row_slice(
    e: Emission, matrix: Value, place: Sequence[Value], slice: Type
) -> Value:
    name, overloads = "experimental.matrix.extract.row.slice", [slice, matrix.type]
    return e.intrinsic(name, slice, [matrix, *place], overloads)


@handlers.on(coopmatrix.InsertRowSliceOp)
def insert_row_slice(e: Emission, op: coopmatrix.InsertRowSliceOp) -> None:
    """The matrix with consecutive elements replaced, or those that a mask allows."""
    matrix, slice = e.value(op.matrix), e.value(op.value)
    place = _place(e, coopmatrix.matrix_type(op.matrix), e.value(op.offset), slice.type)
    if op.mask is not None:
        old = _row_slice(e, matrix, place, slice.type)
        slice = e.f.select(e.value(op.mask), slice, old)
    arguments = [matrix, slice, *place]
    _call(e, op, "insert.row.slice", arguments, [matrix.type, slice.type])


def _place(e: Emission, type: MatrixType, offset: Value, slice: Type) -> list[Value]:
    """Where a row slice begins, and its count, from the number of its first element.

    Raises:
        NoForm: the slice is a number, of one lane.
    """
    if not isinstance(slice, Vector):
        raise NoForm("expected a row slice of 2 elements or more, got one")
    cols = integer(I32, type.shape[1])
    if isinstance(number := e.index.num(offset), int):
        row, col = divmod(number, type.shape[1])
        place: list[Value] = [integer(I32, row), integer(I32, col)]
    else:
        short = e.f.cast("trunc", offset, I32)
        place = [
            e.f.arithmetic("udiv", short, cols),
            e.f.arithmetic("urem", short, cols),
        ]
    layout = word(_LAYOUTS[Layout.ROW_MAJOR])
    return [*place, integer(I32, slice.length), *sizes(type), layout]


def suffix(*types: Type) -> str:
    """What the name of a builtin ends with: `.v144i32.i64`."""
    return "".join(f".{overload(type)}" for type in types)


# `coopmatrix` arithmetic on matrices that are vectors: LLVM's own, element by element.
#
# Others than these are refused by name: the element loop, over `length`, says them all.

_ARITHMETIC = (
    *(coopmatrix.AddOp, coopmatrix.SubOp, coopmatrix.MulOp, coopmatrix.DivOp),
    *(coopmatrix.AndOp, coopmatrix.OrOp, coopmatrix.XorOp, coopmatrix.ScaleOp),
)


def _check(type: Attribute) -> None:
    if isinstance(type, BFloat16Type):
        raise NoForm("expected arithmetic of f32 or f16 as LLVM has it, got bf16")


@handlers.on(*_ARITHMETIC)
def arithmetic(e: Emission, op: coopmatrix.ElementwiseOp) -> None:
    element = op.matrix.element_type
    _check(element)
    signed = isinstance(op, coopmatrix.SignedBinaryOp) and op.signed is not None
    _, opcode = INSTRUCTIONS[of_elements(type(op), element, signed)]
    left, right = e.values(op.operands)
    if isinstance(op, coopmatrix.ScaleOp):
        right = e.splat(right, width(left.type))
    e.set(op.result, e.f.arithmetic(opcode, left, right))


@handlers.on(coopmatrix.NegOp)
def negate(e: Emission, op: coopmatrix.NegOp) -> None:
    """The sign changed, of zeros and NaNs too."""
    element, value = op.matrix.element_type, e.value(op.value)
    _check(element)
    if is_integer(element):
        e.set(op.result, e.f.arithmetic("sub", integer(value.type, 0), value))
    else:
        e.set(op.result, e.f.arithmetic("fneg", value))


# `row_slice` as the builtins of the SYCL matrix design, on matrices as vectors.
#
# | operation               | builtin                                                 |
# |-------------------------|---------------------------------------------------------|
# | length                  | i64 get_sub_group_slice_length.(i32 elements)           |
# | id                      | i64 get_sub_group_rowslice_id(matrix, R, C, i64 index)  |
# | extract_element         | T sub_group_rowslice_extractelement(i64 token)          |
# | extract_element, wide   | <S x T> _ZGVbN<S>u_sub_group_rowslice_extractelement    |
# | insert_element          | sub_group_rowslice_insertelement(i64 token, T value)    |
# | insert_element, wide    | _ZGVbN<S>uv_sub_group_rowslice_insertelement            |
# | insert_element, masked  | _ZGVbM<S>uv_..(i64 token, <S x T> values, <S x i1> mask)|
# | insert_to_matrix        | matrix sub_group_insert_rowslice_to_matrix(i64 token)   |
#
# Calls of the two that are widened say how (`vector-function-abi-variant`), where the
# kernel says how many lanes hold the matrix, those of a subgroup or of a work-group:
# their token is uniform (u), their value of each lane (v), with a mask (M) or without
# (N).

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
def slice_length(e: Emission, op: row_slice.LengthOp) -> None:
    """How many row slices there are, from the number of elements."""
    rows, cols = op.matrix_type.shape
    elements = integer(I32, rows * cols)
    e.set(op.result, e.call("get_sub_group_slice_length.", I64, [elements]))


@handlers.on(row_slice.IdOp)
def slice_id(e: Emission, op: row_slice.IdOp) -> None:
    type, matrix = coopmatrix.matrix_type(op.matrix), e.value(op.matrix)
    arguments = [matrix, *sizes(type), e.value(op.index)]
    name = f"get_sub_group_rowslice_id{suffix(matrix.type, I64)}"
    e.set(op.result, e.call(name, I64, arguments))


@handlers.on(row_slice.ExtractElementOp)
def extract_element(e: Emission, op: row_slice.ExtractElementOp) -> None:
    result = e.type(op.result.type)
    name, of_call = _widened(e, op, EXTRACT, "u", op.result)
    e.set(op.result, e.call(name, result, [e.value(op.token)], of_call=of_call))


@handlers.on(row_slice.InsertElementOp)
def insert_element(e: Emission, op: row_slice.InsertElementOp) -> None:
    """Replace an element, or all that a mask allows."""
    arguments = [e.value(op.token), e.value(op.value)]
    if op.mask is not None:
        if not is_vector(op.value.type):
            raise NoForm(
                "expected a mask on all lanes, as vectorize-subgroup makes it: one "
                "work-item inserts or does not"
            )
        arguments.append(e.value(op.mask))
    masked = op.mask is not None
    name, of_call = _widened(e, op, INSERT, "uv", op.value, masked)
    e.call(name, VOID, arguments, of_call=of_call)


@handlers.on(row_slice.InsertToMatrixOp)
def to_matrix(e: Emission, op: row_slice.InsertToMatrixOp) -> None:
    type = e.type(op.result.type)
    name = f"sub_group_insert_rowslice_to_matrix{suffix(type)}"
    e.set(op.result, e.call(name, type, [e.value(op.token)]))


def _widened(
    e: Emission,
    op: row_slice.ExtractElementOp | row_slice.InsertElementOp,
    name: str,
    parameters: str,
    value: SSAValue,
    masked: bool = False,
) -> tuple[str, str]:
    """The name of a builtin, and the attribute that says what it is widened to.

    Of vectors the name is that of a widened one, and there is no attribute.
    """
    type = e.type(value.type)
    name += suffix(component(type))
    if is_vector(value.type):
        return variant(name, width(type), parameters, masked), ""
    lanes, owner = e.subgroup_size, op.token.owner
    if isinstance(owner, row_slice.IdOp):
        scope = coopmatrix.matrix_type(owner.matrix).scope
        if scope == coopmatrix.ScopeAttr(coopmatrix.Scope.WORKGROUP):
            lanes = e.whole.work_items
    if lanes is None:
        return name, ""
    names = [variant(name, lanes, parameters, masked) for masked in (False, True)]
    return name, f'"vector-function-abi-variant"="{",".join(names)}"'
