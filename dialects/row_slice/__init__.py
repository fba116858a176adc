"""The `row_slice` dialect: matrices as slices of as many elements as there are lanes.

Row slice i of a matrix is elements i * S .. i * S + S - 1 in row-major order, S the
lanes that share the matrix; it belongs to all of them: see `coopc.layout.row_slice`.
A *token* stands for one row slice.  The operations have two forms:

| form    | who runs them                 | an element is                         |
|---------|-------------------------------|---------------------------------------|
| scalar  | each lane                     | a number, that of the lane            |
| widened | one work-item for all S lanes | a vector of S, the row slice          |

Elements of the last row slice beyond the matrix are read as 0, and not written.
"""

from xdsl.ir import Dialect

from coopc.dialects.row_slice.ops import (
    ExtractElementOp,
    IdOp,
    InsertElementOp,
    InsertToMatrixOp,
    LengthOp,
    TokenType,
    lanes_of,
)

RowSlice = Dialect(
    "row_slice",
    [ExtractElementOp, IdOp, InsertElementOp, InsertToMatrixOp, LengthOp],
    [TokenType],
)

__all__ = [
    "ExtractElementOp",
    "IdOp",
    "InsertElementOp",
    "InsertToMatrixOp",
    "LengthOp",
    "RowSlice",
    "TokenType",
    "lanes_of",
]
