"""Operations of `coopmatrix` on the elements that a work-item owns, and on all of them.

`length`, `extract`, `insert` and `coord` have a meaning only under a distribution: see
the kernel attribute `coopmatrix.distribution`.  No fold assumes one.  Slots that hold
no element of the matrix (padding) are read as 0, writes to them are dropped, and
`coord` gives (rows, columns) of the matrix, which is out of range.  A slot is a number
from 0 to `length` - 1; another one is undefined behaviour in `extract` and `insert`,
and an undefined result of `coord`.

They may stand in divergent control flow: each work-item runs them by itself.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr, VectorType, i1
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsTerminator,
    NoMemoryEffect,
    Pure,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.constraints import Inferred, OfType
from coopc.dialects.coopmatrix.fill import FillOp, fill_constant, fill_with
from coopc.dialects.coopmatrix.types import (
    AxisAttr,
    CanonicalForm,
    CanonicalOp,
    MatrixType,
    NamesConstants,
    Reduced,
    Reduction,
    ReductionAttr,
    Size,
    matrix_type,
)
from coopc.dialects.narrow import is_integer, is_vector
from coopc.dialects.traits import Collective
from coopc.rounding import wrap

if TYPE_CHECKING:
    from coopc.layout.distribution import Distribution
    from coopc.layout.family import MatrixSpec

_MATRIX = VarConstraint("M", OfType(MatrixType))
_SAME = Inferred("M", lambda matrix: matrix)
_ELEMENT = Inferred("M", lambda matrix: matrix.element_type)


@irdl_op_definition
class LengthOp(IRDLOperation):
    """The number of slots of each work-item for the elements of a matrix.

    ```mlir
    %n = coopmatrix.length !coopmatrix.matrix<7x9xi32, acc> : index
    ```
    """

    name = "coopmatrix.length"

    matrix_type = prop_def(MatrixType)
    result = result_def(IndexType())

    traits = traits_def(Pure(), NamesConstants())

    assembly_format = "qualified($matrix_type) attr-dict `:` type($result)"

    def __init__(self, matrix_type: Attribute) -> None:
        super().__init__(
            properties={"matrix_type": matrix_type}, result_types=[IndexType()]
        )


@irdl_op_definition
class ExtractOp(CanonicalOp):
    """The element in one slot of the work-item; 0 where the slot holds none.

    ```mlir
    %m, %i = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index)
    %e = coopmatrix.extract %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
    ```
    """

    name = "coopmatrix.extract"

    matrix = operand_def(_MATRIX)
    index = operand_def(IndexType())
    result = result_def(_ELEMENT)

    traits = traits_def(NoMemoryEffect(), NamesConstants())

    assembly_format = "$matrix `[` $index `]` attr-dict `:` type($matrix)"

    def __init__(self, matrix: SSAValue, index: SSAValue) -> None:
        super().__init__(
            operands=[matrix, index],
            result_types=[matrix_type(matrix).element_type],
        )

    def canonical_form(self) -> CanonicalForm:
        """Return the value that was just inserted in the slot.

        The one fold on slots: it is allowed although a slot that holds no element drops
        what is inserted.
        """
        insert = self.matrix.owner
        if isinstance(insert, InsertOp) and insert.index is self.index:
            return insert.value
        return None

    def verify_(self) -> None:
        verify_element(self.result, matrix_type(self.matrix))


@irdl_op_definition
class InsertOp(IRDLOperation):
    """A matrix with another element in one slot of the work-item.

    ```mlir
    %m, %i, %e = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index, i32)
    %n = coopmatrix.insert %e, %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
    ```
    """

    name = "coopmatrix.insert"

    value = operand_def(_ELEMENT)
    matrix = operand_def(_MATRIX)
    index = operand_def(IndexType())
    result = result_def(_SAME)

    traits = traits_def(NoMemoryEffect(), NamesConstants())

    assembly_format = "$value `,` $matrix `[` $index `]` attr-dict `:` type($matrix)"

    def __init__(self, value: SSAValue, matrix: SSAValue, index: SSAValue) -> None:
        super().__init__(operands=[value, matrix, index], result_types=[matrix.type])

    def verify_(self) -> None:
        verify_element(self.value, matrix_type(self.matrix))
        verify_same_type(self.result, self.matrix)


@irdl_op_definition
class CoordOp(IRDLOperation):
    """Which (row, column) of the matrix one slot of the work-item holds.

    ```mlir
    %m, %i = "test.op"() : () -> (!coopmatrix.matrix<7x9xi32, acc>, index)
    %row, %col = coopmatrix.coord %m[%i] : !coopmatrix.matrix<7x9xi32, acc>
    ```
    """

    name = "coopmatrix.coord"

    matrix = operand_def(MatrixType)
    index = operand_def(IndexType())
    row = result_def(IndexType())
    col = result_def(IndexType())

    traits = traits_def(Pure(), NamesConstants())

    assembly_format = "$matrix `[` $index `]` attr-dict `:` type($matrix)"


ELEMENTS_OF_LANES = (CoordOp, ExtractOp, InsertOp, LengthOp)
"""The operations on the elements that a work-item owns by a distribution."""


def verify_element(value: SSAValue, matrix: MatrixType) -> None:
    if value.type != matrix.element_type:
        raise VerifyException(
            f"expected a scalar of {matrix.element_type}, the element type of the "
            f"matrix, got {value.type}"
        )


def verify_same_type(result: SSAValue, operand: SSAValue) -> None:
    if result.type != operand.type:
        raise VerifyException(
            f"expected a result of {operand.type}, the type of the operand, "
            f"got {result.type}"
        )


# Where the elements of a matrix type are, by the attribute of its kernel.  Few programs
# have one, and layouts take longer to import than these operations.


def matrix_of(type: MatrixType) -> MatrixSpec:
    """Return what of a type decides where its elements are; its sizes are numbers."""
    use = type.use.data.value
    assert use in ("a", "b", "acc", "none"), use
    from coopc.layout.family import MatrixSpec

    return MatrixSpec(*type.shape, type.element_bits, use)


def distribution_of(attr: Attribute, type: MatrixType, lanes: int) -> Distribution:
    """Return how the lanes hold a matrix, by a kernel's `coopmatrix.distribution`.

    The attribute is one of `layout`, or an encoding of Triton.

    Raises:
        ValueError: the attribute is of another kind, or not for such a matrix or so
            many lanes.
    """
    from coopc.dialects.layout import rule_in
    from coopc.layout.family import distribution

    rule = rule_in(attr)
    if rule is None:
        raise ValueError(
            f"expected a distribution such as #layout.coopmatrix, got {attr}"
        )
    return distribution(rule, matrix_of(type), lanes)


# Operations of `coopmatrix` on row slices: consecutive elements, row by row.


@irdl_op_definition
class ExtractRowSliceOp(IRDLOperation):
    """Consecutive elements of a matrix, in row-major order, from `offset` on.

    | value  | shape                                                           |
    |--------|-----------------------------------------------------------------|
    | matrix | M x N                                                           |
    | offset | index of the first element: row * N + column                    |
    | result | L elements; those beyond the matrix are 0                       |

    ```mlir
    %m, %k = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index)
    %v = coopmatrix.extract_row_slice %m[%k] :
         !coopmatrix.matrix<12x12xi32, none> -> vector<16xi32>
    ```
    """

    name = "coopmatrix.extract_row_slice"

    matrix = operand_def(MatrixType)
    offset = operand_def(IndexType())
    result = result_def(VectorType)

    traits = traits_def(Collective(), Pure(), NamesConstants())

    assembly_format = (
        "$matrix `[` $offset `]` attr-dict `:` type($matrix) `->` type($result)"
    )

    def __init__(self, matrix: SSAValue, offset: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[matrix, offset], result_types=[result])

    def verify_(self) -> None:
        verify_row_slice(self.result, matrix_type(self.matrix))


@irdl_op_definition
class InsertRowSliceOp(IRDLOperation):
    """A matrix with other elements, in row-major order, from `offset` on.

    Elements that lie beyond the matrix, or whose bit in `mask` is 0, are dropped.

    ```mlir
    %m, %k = "test.op"() : () -> (!coopmatrix.matrix<12x12xi32, none>, index)
    %v, %mask = "test.op"() : () -> (vector<16xi32>, vector<16xi1>)
    %n = coopmatrix.insert_row_slice %v, %m[%k] :
         vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
    %o = coopmatrix.insert_row_slice %v, %m[%k] mask %mask : vector<16xi1> :
         vector<16xi32>, !coopmatrix.matrix<12x12xi32, none>
    ```
    """

    name = "coopmatrix.insert_row_slice"

    value = operand_def(VectorType)
    matrix = operand_def(_MATRIX)
    offset = operand_def(IndexType())
    mask = opt_operand_def(VectorType)
    result = result_def(_SAME)

    traits = traits_def(Collective(), Pure(), NamesConstants())

    assembly_format = (
        "$value `,` $matrix `[` $offset `]` (`mask` $mask^ `:` type($mask))? attr-dict "
        "`:` type($value) `,` type($matrix)"
    )

    def __init__(
        self,
        value: SSAValue,
        matrix: SSAValue,
        offset: SSAValue,
        mask: SSAValue | None = None,
    ) -> None:
        super().__init__(
            operands=[value, matrix, offset, mask], result_types=[matrix.type]
        )

    def verify_(self) -> None:
        slice = verify_row_slice(self.value, matrix_type(self.matrix))
        verify_same_type(self.result, self.matrix)
        verify_mask(self.mask, VectorType(i1, slice.get_shape()))


def verify_mask(mask: SSAValue | None, expected: Attribute) -> None:
    if mask is not None and mask.type != expected:
        raise VerifyException(
            f"expected a mask of {expected}, a bit for each element, got {mask.type}"
        )


def verify_row_slice(value: SSAValue, matrix: MatrixType) -> VectorType:
    """Check that a vector is a row slice of a matrix, and return its type."""
    type = value.type
    assert is_vector(type), type
    if (
        type.get_num_dims() != 1
        or type.get_num_scalable_dims() != 0
        or type.get_element_type() != matrix.element_type
    ):
        raise VerifyException(
            f"expected a row slice, a vector of rank 1 and of {matrix.element_type}, "
            f"the element type of the matrix, got {type}"
        )
    return type


# Operations of `coopmatrix` on whole matrices: reduce and apply.


@irdl_op_definition
class ReduceOp(CanonicalOp):
    """Reduce each row, each column, all, or each 2 x 2, of a matrix to one element.

    | axis  | result              | element (i, j)                              |
    |-------|---------------------|---------------------------------------------|
    | rows  | M x 1, or M x N     | of row i, over all columns                  |
    | cols  | 1 x N, or M x N     | of column j, over all rows                  |
    | all   | 1 x 1, or M x N     | of the whole matrix                         |
    | quads | M/2 x N/2, or M x N | of rows 2i, 2i + 1 and columns 2j, 2j + 1   |

    With `broadcast` the result has the type of the value: all elements of what becomes
    one are the same.  Quads need even M and N.

    The order is open: sums of floats are exact only where every order is.  Integers
    wrap around in `add`; `signed` orders them in `max` and `min`.  Of a number and a
    NaN, `max` and `min` take the number.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %r = coopmatrix.reduce add rows %x :
         !coopmatrix.matrix<8x16xf32, acc> -> !coopmatrix.matrix<8x1xf32, acc>
    %y = "test.op"() : () -> !coopmatrix.matrix<8x16xi32, acc>
    %s = coopmatrix.reduce max cols signed %y :
         !coopmatrix.matrix<8x16xi32, acc> -> !coopmatrix.matrix<1x16xi32, acc>
    %t = coopmatrix.reduce max rows broadcast %x :
         !coopmatrix.matrix<8x16xf32, acc> -> !coopmatrix.matrix<8x16xf32, acc>
    %q = coopmatrix.reduce max quads %x :
         !coopmatrix.matrix<8x16xf32, acc> -> !coopmatrix.matrix<4x8xf32, acc>
    ```
    """

    name = "coopmatrix.reduce"

    value = operand_def(MatrixType)
    result = result_def(MatrixType)
    kind = prop_def(ReductionAttr)
    axis = prop_def(AxisAttr)
    signed = opt_prop_def(UnitAttr)
    broadcast = opt_prop_def(UnitAttr)

    traits = traits_def(Collective(), Pure(), NamesConstants())

    assembly_format = (
        "$kind $axis (`signed` $signed^)? (`broadcast` $broadcast^)? $value attr-dict "
        "`:` type($value) `->` type($result)"
    )

    def __init__(
        self,
        kind: Reduction,
        axis: Reduced,
        value: SSAValue,
        signed: bool = False,
        broadcast: bool = False,
    ) -> None:
        super().__init__(
            operands=[value],
            properties={
                "kind": ReductionAttr(kind),
                "axis": AxisAttr(axis),
                "signed": UnitAttr() if signed else None,
                "broadcast": UnitAttr() if broadcast else None,
            },
            result_types=[
                value.type if broadcast else reduced(matrix_type(value), axis)
            ],
        )

    @property
    def form(self) -> str:
        """What is reduced, as it is written: `rows broadcast`."""
        return self.axis.data + " broadcast" * (self.broadcast is not None)

    def canonical_form(self) -> CanonicalForm:
        """Return a matrix of one row or column, or a fill.

        The maximum or minimum of one value is the value, and the sum of integers is
        known.  Sums of floats stay: their order is open, so how often they round is
        too.
        """
        if self.value.type == reduced(matrix_type(self.value), self.axis.data):
            return self.value
        fill, number = self.value.owner, fill_constant(self.value)
        if not isinstance(fill, FillOp) or fill.is_pointer:
            return None
        if self.kind.data != Reduction.ADD:
            return FillOp(fill.value, self.result.type)
        value = matrix_type(self.value)
        if not isinstance(number, IntegerAttr) or not value.is_static:
            return None
        count = prod(self.axis.data.window(*value.shape))
        element_type: Attribute = number.type
        assert is_integer(element_type), element_type
        total = wrap(count * number.value.data, element_type.width.data, True)
        return fill_with(IntegerAttr(total, element_type), self.result.type)

    def verify_(self) -> None:
        value = matrix_type(self.value)
        if self.axis.data == Reduced.QUADS and (
            not value.is_static or any(size % 2 for size in value.shape)
        ):
            raise VerifyException(
                f"expected even numbers of rows and columns for quads, got {value}"
            )
        expected, why = value, "as broadcast keeps the type"
        if self.broadcast is None:
            expected = reduced(value, self.axis.data)
            why = f"one element for each of the {self.axis.data}"
            if self.axis.data is Reduced.ALL:
                why = "one element of all"
        if self.result.type != expected:
            raise VerifyException(f"expected {expected}, {why}, got {self.result.type}")
        if self.signed is None:
            return
        if self.kind.data == Reduction.ADD or not is_integer(value.element_type):
            raise VerifyException(
                "expected max or min of integers, which can be signed, got "
                f"{self.kind.data} of {value.element_type}"
            )


@irdl_op_definition
class TransposeOp(CanonicalOp):
    """Swap the rows and the columns of a matrix; the use may change, too.

    | value  | shape                                            |
    |--------|--------------------------------------------------|
    | value  | M x N                                            |
    | result | N x M, of the same scope and element type        |

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xf16, acc>
    %b = coopmatrix.transpose %x :
         !coopmatrix.matrix<8x16xf16, acc> -> !coopmatrix.matrix<16x8xf16, b>
    ```
    """

    name = "coopmatrix.transpose"

    value = operand_def(MatrixType)
    result = result_def(MatrixType)

    traits = traits_def(Collective(), Pure(), NamesConstants())

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result])

    def canonical_form(self) -> CanonicalForm:
        """Return what was transposed before, or a fill of the result's type."""
        match self.value.owner:
            case TransposeOp() as inner if inner.value.type == self.result.type:
                return inner.value
            case FillOp(is_pointer=False) as fill:
                return FillOp(fill.value, self.result.type)
            case _:
                return None

    def verify_(self) -> None:
        value, result = matrix_type(self.value), self.result.type
        rows, cols = value.sizes
        expected = result.with_shape(cols, rows).with_element(value.element_type)
        if result != expected or result.scope != value.scope:
            raise VerifyException(
                f"expected a result of {cols} x {rows} of {value.element_type}, and of "
                f"the scope of the value, got {result}"
            )


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The new element, at the end of `coopmatrix.apply`.

    ```mlir
    %x = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x16xf32, acc> {
      coopmatrix.yield %v : f32
    }
    ```
    """

    name = "coopmatrix.yield"

    value = operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ApplyOp), Pure()))

    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value])


@irdl_op_definition
class ApplyOp(CanonicalOp):
    """Compute each element anew from its row, its column and its value.

    | value  | what                                                      |
    |--------|-----------------------------------------------------------|
    | value  | M x N                                                     |
    | body   | (row: index, col: index, value: T) -> T, once an element  |
    | result | the type of the value                                     |

    The body runs for the elements of the matrix, not for padding, in any order.  It may
    use values from outside; each work-item uses its own.  Nothing in it is collective:
    the work-items run it as often as they own elements.

    ```mlir
    %x, %zero = "test.op"() : () -> (!coopmatrix.matrix<8x16xf32, acc>, f32)
    %y = coopmatrix.apply (%i, %j, %v) in %x : !coopmatrix.matrix<8x16xf32, acc> {
      %below = arith.cmpi ugt, %i, %j : index
      %w = arith.select %below, %v, %zero : f32
      coopmatrix.yield %w : f32
    }
    ```
    """

    name = "coopmatrix.apply"

    value = operand_def(MatrixType)
    result = result_def(MatrixType)
    body = region_def("single_block")

    traits = traits_def(
        Collective(),
        RecursiveMemoryEffect(),
        RecursivelySpeculatable(),
        NamesConstants(),
    )

    def __init__(self, value: SSAValue, body: Region) -> None:
        super().__init__(operands=[value], regions=[body], result_types=[value.type])

    def canonical_form(self) -> CanonicalForm:
        """Return the matrix, where each element is yielded as it is."""
        body = self.body.block
        only = body.first_op
        same = isinstance(only, YieldOp) and only.value is body.args[2]
        return self.value if same else None

    @classmethod
    def parse(cls, parser: Parser) -> ApplyOp:
        """Parse `(%i, %j, %v) in %x : type { ... }`."""
        with parser.in_parens():
            names = [parser.parse_argument(expect_type=False)]
            for _ in range(2):
                parser.parse_punctuation(",")
                names.append(parser.parse_argument(expect_type=False))
        parser.parse_keyword("in")
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        position = parser.pos
        type = parser.parse_type()
        if not isinstance(type, MatrixType):
            parser.raise_error(f"expected a !coopmatrix.matrix, got {type}", position)
        types = (IndexType(), IndexType(), type.element_type)
        arguments = [name.resolve(of) for name, of in zip(names, types, strict=True)]
        body = parser.parse_region(arguments)
        op = cls(parser.resolve_operand(value, type), body)
        op.attributes = parser.parse_optional_attr_dict()
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        printer.print_string(" in ")
        printer.print_ssa_value(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        verify_same_type(self.result, self.value)
        matrix = matrix_type(self.value)
        expected = (IndexType(), IndexType(), matrix.element_type)
        if self.body.block.arg_types != expected:
            found = ", ".join(str(type) for type in self.body.block.arg_types)
            raise VerifyException(
                f"expected a body of (index, index, {matrix.element_type}): row, "
                f"column and element, got ({found})"
            )
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            found = "nothing" if last is None else last.name
            raise VerifyException(
                f"expected a body that ends in coopmatrix.yield, got {found}"
            )
        verify_element(last.value, matrix)
        for op in self.body.walk():
            if op.has_trait(Collective):
                raise VerifyException(
                    f"{op.name} is collective and cannot be in a body that each "
                    "work-item runs by itself"
                )


def reduced(matrix: MatrixType, axis: Reduced) -> MatrixType:
    """Return the type of a reduction that is not broadcast."""
    if axis is Reduced.QUADS:
        rows, cols = matrix.shape
        return matrix.with_shape(rows // 2, cols // 2)
    rows, cols = matrix.sizes
    sizes: tuple[Size, Size] = 1, 1
    if axis is not Reduced.ALL:
        sizes = (rows, 1) if axis is Reduced.ROWS else (1, cols)
    return matrix.with_shape(*sizes)
