"""The `row_slice` dialect: row slices of matrices, an element for each lane.

Row slice i of a matrix is elements i * S .. i * S + S - 1 in row-major order, S the
lanes that share the matrix; it belongs to all of them: see `coopc.layout.distribution`.
A *token* stands for one row slice.  The operations have two forms:

| form    | who runs them                 | an element is                         |
|---------|-------------------------------|---------------------------------------|
| scalar  | each lane                     | a number, that of the lane            |
| widened | one work-item for all S lanes | a vector of S, the row slice          |

Elements of the last row slice beyond the matrix are read as 0, and not written.
"""

from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType, i1, i32
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix import MatrixType, matrix_type, verify_mask
from coopc.dialects.definitions import dialect_of
from coopc.dialects.narrow import is_vector


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """A row slice of a matrix, the same for all lanes: `!row_slice.token`."""

    name = "row_slice.token"


@irdl_op_definition
class LengthOp(IRDLOperation):
    """How many row slices a matrix has: ceil(rows * columns / S).

    `lanes` is S, where the code is one work-item's for all lanes; without it S is the
    number of lanes that run the operation.

    ```mlir
    %n = row_slice.length !coopmatrix.matrix<12x12xi32, none> : index
    %w = row_slice.length !coopmatrix.matrix<12x12xi32, none> lanes 16 : index
    ```
    """

    name = "row_slice.length"

    matrix_type = prop_def(MatrixType)
    lanes = opt_prop_def(IntegerAttr.constr(i32))
    result = result_def(IndexType())

    traits = traits_def(Pure())

    assembly_format = (
        "qualified($matrix_type) (`lanes` $lanes^)? attr-dict `:` type($result)"
    )

    def __init__(self, matrix_type: Attribute, lanes: int | None = None) -> None:
        super().__init__(
            properties={
                "matrix_type": matrix_type,
                "lanes": None if lanes is None else IntegerAttr(lanes, i32),
            },
            result_types=[IndexType()],
        )

    def verify_(self) -> None:
        if self.lanes is not None and self.lanes.value.data < 1:
            raise VerifyException(
                f"expected at least 1 lane, got {self.lanes.value.data}"
            )


@irdl_op_definition
class IdOp(IRDLOperation):
    """A token of row slice `index` of a matrix, the same index in all lanes.

    The token holds the matrix as it is: what is inserted by another one is not seen.

    ```mlir
    %m, %i = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index)
    %t = row_slice.id %m[%i] : !coopmatrix.matrix<12x12xi32, none>
    ```
    """

    name = "row_slice.id"

    matrix = operand_def(MatrixType)
    index = operand_def(IndexType())
    result = result_def(TokenType())

    # Never merged with an equal one: insertions change a token.
    traits = traits_def(MemoryAllocEffect())

    assembly_format = "$matrix `[` $index `]` attr-dict `:` type($matrix)"

    def __init__(self, matrix: SSAValue, index: SSAValue) -> None:
        super().__init__(operands=[matrix, index], result_types=[TokenType()])


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """The lane's element of a row slice, or the whole row slice as a vector.

    ```mlir
    %t = "test.op"() : () -> !row_slice.token
    %e = row_slice.extract_element %t : i32
    %v = row_slice.extract_element %t : vector<16xi32>
    ```
    """

    name = "row_slice.extract_element"

    token = operand_def(TokenType)
    result = result_def()

    traits = traits_def(MemoryReadEffect())

    assembly_format = "$token attr-dict `:` type($result)"

    def __init__(self, token: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[token], result_types=[result])

    def verify_(self) -> None:
        _verify_element(self.token, self.result.type)


@irdl_op_definition
class InsertElementOp(IRDLOperation):
    """Replace the lane's element of a row slice, or all where a mask allows it.

    It changes the token, and no matrix.

    ```mlir
    %t, %e, %c = "test.op"() : () -> (!row_slice.token, i32, i1)
    row_slice.insert_element %e, %t : i32
    row_slice.insert_element %e, %t mask %c : i1 : i32
    %v, %m = "test.op"() : () -> (vector<16xi32>, vector<16xi1>)
    row_slice.insert_element %v, %t : vector<16xi32>
    row_slice.insert_element %v, %t mask %m : vector<16xi1> : vector<16xi32>
    ```
    """

    name = "row_slice.insert_element"

    value = operand_def()
    token = operand_def(TokenType)
    mask = opt_operand_def()

    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$value `,` $token (`mask` $mask^ `:` type($mask))? attr-dict `:` type($value)"
    )

    def __init__(
        self, value: SSAValue, token: SSAValue, mask: SSAValue | None = None
    ) -> None:
        super().__init__(operands=[value, token, mask])

    def verify_(self) -> None:
        type = self.value.type
        _verify_element(self.token, type)
        expected = VectorType(i1, type.get_shape()) if is_vector(type) else i1
        verify_mask(self.mask, expected)


@irdl_op_definition
class InsertToMatrixOp(IRDLOperation):
    """The matrix of a token, with the row slice as insertions have made it.

    ```mlir
    %t = "test.op"() : () -> !row_slice.token
    %n = row_slice.insert_to_matrix %t : !coopmatrix.matrix<12x12xi32, none>
    ```
    """

    name = "row_slice.insert_to_matrix"

    token = operand_def(TokenType)
    result = result_def(MatrixType)

    traits = traits_def(MemoryReadEffect())

    assembly_format = "$token attr-dict `:` type($result)"

    def __init__(self, token: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[token], result_types=[result])

    def verify_(self) -> None:
        found = _matrix_of(self.token)
        if found is not None and self.result.type != found:
            raise VerifyException(
                f"expected {found}, the matrix of the token, got {self.result.type}"
            )


def lanes_of(type: Attribute) -> int | None:
    """Return the lanes of a widened element; None for a lane's own.

    >>> lanes_of(VectorType(i32, [16]))
    16
    """
    return type.get_shape()[0] if is_vector(type) else None


def _matrix_of(token: SSAValue) -> MatrixType | None:
    """Return the matrix that a token is of, where that is seen."""
    owner = token.owner
    return matrix_type(owner.matrix) if isinstance(owner, IdOp) else None


def _verify_element(token: SSAValue, type: Attribute) -> None:
    if is_vector(type):
        if type.get_num_dims() != 1 or type.get_num_scalable_dims() != 0:
            raise VerifyException(
                f"expected a vector of rank 1, an element for each lane, got {type}"
            )
        type = type.get_element_type()
    matrix = _matrix_of(token)
    if matrix is not None and type != matrix.element_type:
        raise VerifyException(
            f"expected elements of {matrix.element_type}, those of the matrix, "
            f"got {type}"
        )


RowSlice = dialect_of("row_slice", globals())
