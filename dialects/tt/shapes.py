"""Operations of Triton that change the shape of a tensor, and move nothing.

Each element stays in the lane that holds it: the encoding of the result follows from
that of the source, and is checked by the layouts that both have.  What moves elements
is `ttg.convert_layout`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import (
    I32,
    DenseArrayBase,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i32,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import (
    Tensor,
    encoding_of,
    expand,
    expect_element,
    expect_encoding,
    expect_rank,
    expect_shape,
    has_encoding,
    is_tensor,
    linear,
    reshaped,
    shape_of,
    sizes,
    spelled,
    transposed,
)
from coopc.layout.encodings import Encoding, SliceEncoding
from coopc.layout.linear import LinearLayout

AS_SRC = "as src"


class ShapeOp(IRDLOperation, HasFolderInterface, ABC):
    """A tensor of another shape with the elements of `src`."""

    src = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    @property
    def types(self) -> tuple[Tensor, Tensor]:
        src, result = self.src.type, self.result.type
        assert is_tensor(src), src
        assert is_tensor(result), result
        return src, result

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.src,) if self.is_identity() else None

    def is_identity(self) -> bool:
        return self.src.type == self.result.type

    def verify_(self) -> None:
        """Check that the elements are of one type, and both have an encoding or none.

        Then what the operation does to shapes and layouts.
        """
        src, result = self.types
        expect_element("the result", result, src.element_type, AS_SRC)
        self.verify_shape(src, result)
        if has_encoding(src) != has_encoding(result):
            raise VerifyException(
                f"expected the result to have {'an' if has_encoding(src) else 'no'} "
                f"encoding, {AS_SRC}, got {spelled(result.encoding)}"
            )
        self.verify_encoding(src, result)

    def verify_shape(self, src: Tensor, result: Tensor) -> None:
        raise NotImplementedError(self.name)

    def verify_encoding(self, src: Tensor, result: Tensor) -> None:
        raise NotImplementedError(self.name)


@irdl_op_definition
class SplatOp(IRDLOperation):
    """A tensor whose elements are all one value.

    | value  | type        |
    |--------|-------------|
    | src    | T           |
    | result | tensor of T |

    ```mlir
    %x = "test.op"() : () -> !tt.ptr<f32>
    %y = tt.splat %x : !tt.ptr<f32> -> tensor<64x32x!tt.ptr<f32>>
    ```
    """

    name = "tt.splat"

    src = operand_def()
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    def verify_(self) -> None:
        if is_tensor(self.src.type):
            raise VerifyException(f"expected src to be a scalar, got {self.src.type}")
        expect_element("the result", self.result.type, self.src.type, AS_SRC)


@irdl_op_definition
class UnsplatOp(IRDLOperation):
    """The element of a tensor that has one.

    | value  | type              |
    |--------|-------------------|
    | src    | tensor of one T   |
    | result | T                 |

    ```mlir
    %x = "test.op"() : () -> tensor<1x1xf32>
    %y = tt.unsplat %x : tensor<1x1xf32>
    ```
    """

    name = "tt.unsplat"

    T: ClassVar = VarConstraint("T", AnyAttr())
    src = operand_def(TensorType.constr(T))
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src)"

    def verify_(self) -> None:
        ones = [1] * len(shape_of(self.src.type))
        expect_shape("src", self.src.type, ones, "one element")


@irdl_op_definition
class ExpandDimsOp(ShapeOp):
    """The same tensor with a dimension of size 1 put in at `axis`.

    | value  | shape       | encoding                                  |
    |--------|-------------|-------------------------------------------|
    | src    | M           | `#ttg.slice` along axis of the result's   |
    | result | M x 1       | any                                       |

    ```mlir
    %x = "test.op"() : () -> tensor<64xi32>
    %y = tt.expand_dims %x {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    ```
    """

    name = "tt.expand_dims"

    axis = prop_def(IntegerAttr[I32])

    def __init__(self, src: SSAValue, axis: int, result_type: Attribute) -> None:
        super().__init__(
            operands=[src],
            properties={"axis": IntegerAttr(axis, i32)},
            result_types=[result_type],
        )

    def verify_shape(self, src: Tensor, result: Tensor) -> None:
        axis, rank = self.axis.value.data, len(src.get_shape())
        if not 0 <= axis <= rank:
            raise VerifyException(f"expected axis 0 to {rank}, got {axis}")
        why = f"src with a dimension at {axis}"
        expect_shape("the result", result, expand(src.get_shape(), axis), why)

    def verify_encoding(self, src: Tensor, result: Tensor) -> None:
        have, parent = encoding_of(src), encoding_of(result)
        if have is None or parent is None:
            return
        wanted = SliceEncoding(self.axis.value.data, parent)
        if have == wanted:
            return
        shape = src.get_shape()
        if layout_or_none(have, shape) != layout_or_none(wanted, shape):
            raise VerifyException(
                f"expected src to have a #ttg.slice along dim = {wanted.dim} of the "
                f"result's encoding {result.encoding}, got {src.encoding}"
            )


@irdl_op_definition
class BroadcastOp(ShapeOp):
    """The tensor repeated along dimensions of size 1.

    | value  | shape | encoding                             |
    |--------|-------|--------------------------------------|
    | src    | M x 1 | E, or one that is E on M x 1         |
    | result | M x N | E                                    |

    ```mlir
    %x = "test.op"() : () -> tensor<64x1xi32>
    %y = tt.broadcast %x : tensor<64x1xi32> -> tensor<64x32xi32>
    ```
    """

    name = "tt.broadcast"

    def __init__(self, src: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    def verify_shape(self, src: Tensor, result: Tensor) -> None:
        expect_rank("the result", result, len(src.get_shape()))
        pairs = zip(src.get_shape(), result.get_shape(), strict=True)
        for position, (old, new) in enumerate(pairs):
            if old not in (1, new):
                raise VerifyException(
                    f"expected the result's dimension {position} to be {old}, "
                    f"as src has it, got {new}"
                )

    def verify_encoding(self, src: Tensor, result: Tensor) -> None:
        shape, (have, wanted) = src.get_shape(), map(encoding_of, (src, result))
        layout = layout_or_none(have, shape)
        if layout is None or layout != layout_or_none(wanted, shape):
            expect_encoding("the result", result, src.encoding, AS_SRC)


@irdl_op_definition
class ReshapeOp(ShapeOp):
    """The elements in row-major order as a tensor of another shape.

    With `allow_reorder` in any order; with `efficient_layout` the encoding of the
    result is not to be changed.

    | value  | shape        |
    |--------|--------------|
    | src    | M x N        |
    | result | of M N elements |

    ```mlir
    %x = "test.op"() : () -> tensor<64x32xf16>
    %y = tt.reshape %x : tensor<64x32xf16> -> tensor<2048xf16>
    %z = tt.reshape %x allow_reorder : tensor<64x32xf16> -> tensor<32x64xf16>
    ```
    """

    name = "tt.reshape"

    allow_reorder = opt_prop_def(UnitAttr)
    efficient_layout = opt_prop_def(UnitAttr)

    assembly_format = (
        "$src (`allow_reorder` $allow_reorder^)? (`efficient_layout` "
        "$efficient_layout^)? attr-dict `:` type($src) `->` type($result)"
    )

    def is_identity(self) -> bool:
        return super().is_identity() and self.allow_reorder is None

    def verify_shape(self, src: Tensor, result: Tensor) -> None:
        wanted, found = prod(src.get_shape()), prod(result.get_shape())
        if wanted != found:
            raise VerifyException(
                f"expected the result to have {wanted} elements, {AS_SRC}, "
                f"got {found} in {sizes(result.get_shape())}"
            )

    def verify_encoding(self, src: Tensor, result: Tensor) -> None:
        if self.allow_reorder is None:
            source = layout_or_none(encoding_of(src), src.get_shape())
            if source is not None:
                expect_layout(result, reshaped(source, result.get_shape()))


@irdl_op_definition
class TransOp(ShapeOp):
    """The tensor with its dimensions in another order.

    Dimension i of the result is dimension order[i] of src.

    | value  | shape | order |
    |--------|-------|-------|
    | src    | M x N |       |
    | result | N x M | 1, 0  |

    ```mlir
    %x = "test.op"() : () -> tensor<64x32xf16>
    %y = tt.trans %x {order = array<i32: 1, 0>} : tensor<64x32xf16> -> tensor<32x64xf16>
    ```
    """

    name = "tt.trans"

    order = prop_def(DenseArrayBase.constr(i32))

    def __init__(
        self, src: SSAValue, order: Sequence[int], result_type: Attribute
    ) -> None:
        super().__init__(
            operands=[src],
            properties={"order": DenseArrayBase.from_list(i32, order)},
            result_types=[result_type],
        )

    def is_identity(self) -> bool:
        stays = list(self.permutation) == sorted(self.permutation)
        return stays and super().is_identity()

    @property
    def permutation(self) -> tuple[int, ...]:
        """The dimension of src that each of the result is."""
        return tuple(int(dim) for dim in self.order.get_values())

    def verify_shape(self, src: Tensor, result: Tensor) -> None:
        order, shape = self.permutation, src.get_shape()
        if sorted(order) != list(range(len(shape))):
            raise VerifyException(
                f"expected order to permute {len(shape)} dimensions, got {list(order)}"
            )
        why = f"{sizes(shape)} in the order {list(order)}"
        expect_shape("the result", result, [shape[dim] for dim in order], why)

    def verify_encoding(self, src: Tensor, result: Tensor) -> None:
        source = layout_or_none(encoding_of(src), src.get_shape())
        if source is not None:
            expect_layout(result, transposed(source, self.permutation))


def layout_or_none(
    encoding: Encoding | None, shape: tuple[int, ...]
) -> LinearLayout | None:
    """Return the layout that an encoding has for a shape, if it has one."""
    if encoding is None:
        return None
    try:
        return linear(encoding, shape)
    except ValueError:
        return None


def expect_layout(result: Tensor, wanted: LinearLayout) -> None:
    """Check that a result keeps each element where the source has it."""
    found = layout_or_none(encoding_of(result), result.get_shape())
    if found is not None and found != wanted:
        raise VerifyException(
            f"expected an encoding of the result that keeps each element where src has "
            f"it, got {result.encoding}: register {list(found.bases('register'))}, "
            f"not {list(wanted.bases('register'))}; "
            f"lane {list(found.bases('lane'))}, not {list(wanted.bases('lane'))}"
        )


# Two tensors in one: side by side, as halves of bytes are unpacked, or one behind.


def expect_pair(name: str, type: Attribute, half: str, of: Attribute) -> None:
    """Check that a tensor has two elements for each one of another."""
    if not is_tensor(of) or not is_tensor(type):
        raise VerifyException(f"expected tensors, got {of} and {type}")
    expect_shape(name, type, (*shape_of(of), 2), f"two for each element of {half}")
    expect_element(name, type, element_of(of), f"as {half}")


@irdl_op_definition
class JoinOp(IRDLOperation):
    """Element (.., 0) is of lhs, element (.., 1) of rhs.

    | value    | type        |
    |----------|-------------|
    | lhs, rhs | tensor      |
    | result   | (.., 2)     |

    ```mlir
    %a, %b = "test.op"() : () -> (tensor<16xi8>, tensor<16xi8>)
    %c = tt.join %a, %b : tensor<16xi8> -> tensor<16x2xi8>
    ```
    """

    name = "tt.join"

    lhs = operand_def(VarConstraint("T", AnyAttr()))
    rhs = operand_def(VarConstraint("T", AnyAttr()))
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def verify_(self) -> None:
        expect_pair("the result", self.result.type, "lhs", self.lhs.type)


@irdl_op_definition
class SplitOp(IRDLOperation):
    """Elements (.., 0), and elements (.., 1).

    | value      | type        |
    |------------|-------------|
    | src        | (.., 2)     |
    | low, high  | tensor      |

    ```mlir
    %a = "test.op"() : () -> tensor<16x2xf32>
    %b, %c = tt.split %a : tensor<16x2xf32> -> tensor<16xf32>
    ```
    """

    name = "tt.split"

    src = operand_def()
    low = result_def(VarConstraint("T", AnyAttr()))
    high = result_def(VarConstraint("T", AnyAttr()))

    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($low)"

    def verify_(self) -> None:
        expect_pair("src", self.src.type, "low", self.low.type)


@irdl_op_definition
class CatOp(IRDLOperation):
    """The elements of lhs and rhs in one tensor; a compiler may reorder them.

    | value    | type            |
    |----------|-----------------|
    | lhs, rhs | tensor, (M, ..) |
    | result   | (2 M, ..)       |

    ```mlir
    %a, %b = "test.op"() : () -> (tensor<16xi8>, tensor<16xi8>)
    %c = tt.cat %a, %b : tensor<16xi8> -> tensor<32xi8>
    ```
    """

    name = "tt.cat"

    lhs = operand_def(VarConstraint("T", base(TensorType)))
    rhs = operand_def(VarConstraint("T", base(TensorType)))
    result = result_def(TensorType)

    traits = traits_def(NoMemoryEffect())
    assembly_format = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def verify_(self) -> None:
        half, result = self.lhs.type, self.result.type
        expect_element("the result", result, element_of(half), "as lhs")
        size, *rest = shape_of(half)
        expect_shape("the result", result, (2 * size, *rest), "lhs and rhs")
