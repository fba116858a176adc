"""Operations of Triton that change the shape of a tensor, or combine its elements.

A view moves nothing: each element stays in the lane that holds it, so the encoding of
the result follows from that of the source, and is checked by the layouts that both
have.  What moves elements is `ttg.convert_layout`.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import (
    I32,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
    i32,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import HasParent, IsTerminator, NoMemoryEffect, Pure, ReturnLike
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.constraints import Inferred
from coopc.dialects.narrow import is_tensor, tensor_type
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.dialects.tt.functions import listed
from coopc.dialects.tt.types import (
    Tensor,
    encoding_of,
    expand,
    expect_element,
    expect_encoding,
    expect_encodings,
    expect_like,
    expect_permutation,
    expect_rank,
    expect_shape,
    linear,
    reshaped,
    shape_of,
    sizes,
    transposed,
    without,
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
        return tensor_type(self.src), tensor_type(self.result)

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
        expect_encodings(src, result, AS_SRC)
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
        axis = self.axis.value.data
        if not is_slice(have, axis, parent, src.get_shape()):
            raise VerifyException(
                f"expected src to have a #ttg.slice along dim = {axis} of the "
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
        expect_permutation(order, len(shape))
        why = f"{sizes(shape)} in the order {list(order)}"
        expect_shape("the result", result, [shape[dim] for dim in order], why)

    def verify_encoding(self, src: Tensor, result: Tensor) -> None:
        source = layout_or_none(encoding_of(src), src.get_shape())
        if source is not None:
            expect_layout(result, transposed(source, self.permutation))


def layout_or_none(
    encoding: Encoding | None, shape: tuple[int, ...]
) -> LinearLayout | None:
    if encoding is None:
        return None
    try:
        return linear(encoding, shape)
    except ValueError:
        return None


def is_slice(
    found: Encoding | None, axis: int, parent: Encoding | None, shape: tuple[int, ...]
) -> bool:
    """Whether an encoding may be the slice of another one along an axis."""
    if found is None or parent is None or found == SliceEncoding(axis, parent):
        return True
    wanted = layout_or_none(SliceEncoding(axis, parent), shape)
    return layout_or_none(found, shape) == wanted


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


# `tt.reduce` and `tt.scan`: elements along one dimension are combined.


class CombiningOp(IRDLOperation, ABC):
    """Combine elements along one dimension with the operations of a region."""

    srcs = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])
    res = var_result_def()
    combine = region_def("single_block")

    traits = traits_def(Pure())

    def verify_(self) -> None:
        if not self.srcs:
            raise VerifyException("expected a tensor to combine, got none")
        first = self.srcs[0].type
        for position, src in enumerate(self.srcs):
            expect_like(f"source {position}", src.type, "source 0", first)
        if len(self.res) != len(self.srcs):
            raise VerifyException(
                f"expected {len(self.srcs)} results, one of each source, "
                f"got {len(self.res)}"
            )
        for src, result in zip(self.srcs, self.res, strict=True):
            self.verify_result(tensor_type(src), result.type)
        self.verify_region_()

    def verify_result(self, src: Tensor, result: Attribute) -> None:
        raise NotImplementedError(self.name)

    def verify_region_(self) -> None:
        elements = tuple(element_of(src.type) for src in self.srcs)
        found = tuple(self.combine.block.arg_types)
        if found != elements * 2:
            raise VerifyException(
                f"expected a region with arguments {listed(elements * 2)}, two "
                f"elements of each source, got {listed(found)}"
            )
        last, end = self.combine.block.last_op, f"{self.name}.return"
        if last is None or last.name != end:
            kind = "nothing" if last is None else last.name
            raise VerifyException(f"expected a region that ends in {end}, got {kind}")
        given = tuple(last.operand_types)
        if given != elements:
            raise VerifyException(
                f"expected {end} of {listed(elements)}, an element of each source, "
                f"got {listed(given)}"
            )


@irdl_op_definition
class ReduceOp(CombiningOp):
    """Combine the elements along one dimension, with the operations of the region.

    | value   | shape | encoding                              |
    |---------|-------|---------------------------------------|
    | srcs    | M x N | E                                     |
    | results | M     | `#ttg.slice<{dim = 1, parent = E}>`   |

    Several tensors are combined together.  The region takes an element of each, twice,
    and yields their combination; it combines in any order.  A tensor of rank 1 becomes
    a scalar.

    ```mlir
    %x = "test.op"() : () -> tensor<64x32xf32>
    %y = "tt.reduce"(%x) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.maxnumf %a, %b : f32
      tt.reduce.return %c : f32
    }) : (tensor<64x32xf32>) -> tensor<64xf32>
    ```
    """

    name = "tt.reduce"

    reduction_ordering = opt_prop_def(StringAttr)

    @property
    def only_operation(self) -> Operation | None:
        """The one operation whose results the region returns; None if it has more."""
        first, last = self.combine.block.first_op, self.combine.block.last_op
        if first is None or last is None or first.next_op is not last:
            return None
        return first if tuple(first.results) == tuple(last.operands) else None

    @property
    def combiner(self) -> Operation | None:
        """The one operation that combines two elements in order; None if it is more."""
        one, args = self.only_operation, tuple(self.combine.block.args)
        return one if one is not None and tuple(one.operands) == args else None

    def verify_result(self, src: Tensor, result: Attribute) -> None:
        verify_reduced(src, result, self.axis.value.data)


@irdl_op_definition
class ScanOp(CombiningOp):
    """Combine each element along one dimension with all before it.

    With `reverse` with all behind it.  Sources and results have one shape and one
    encoding; the region is as that of `tt.reduce`, and combines in any order.

    ```mlir
    %x = "test.op"() : () -> tensor<64xf32>
    %y = "tt.scan"(%x) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      tt.scan.return %c : f32
    }) : (tensor<64xf32>) -> tensor<64xf32>
    ```
    """

    name = "tt.scan"

    reverse = prop_def(BoolAttr)

    def verify_result(self, src: Tensor, result: Attribute) -> None:
        verify_axis(src, self.axis.value.data)
        expect_element("the result", result, src.element_type, "as the source")
        expect_like("the result", result, "the source", src)


class CombinedOp(IRDLOperation, ABC):
    """The end of a region: what two elements of each source become."""

    result = var_operand_def()

    assembly_format = "$result attr-dict `:` type($result)"


@irdl_op_definition
class ReduceReturnOp(CombinedOp):
    """The end of the region of `tt.reduce`: what two elements of each source become.

    ```mlir
    %x = "test.op"() : () -> tensor<64xi32>
    %y = "tt.reduce"(%x) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.addi %a, %b : i32
      tt.reduce.return %c : i32
    }) : (tensor<64xi32>) -> i32
    ```
    """

    name = "tt.reduce.return"

    traits = lazy_traits_def(
        lambda: (IsTerminator(), HasParent(ReduceOp), ReturnLike(), Pure())
    )


@irdl_op_definition
class ScanReturnOp(CombinedOp):
    """The end of the region of `tt.scan`: what two elements of each source become.

    ```mlir
    %x = "test.op"() : () -> tensor<64xi32>
    %y = "tt.scan"(%x) <{axis = 0 : i32, reverse = true}> ({
    ^bb0(%a: i32, %b: i32):
      %c = arith.maxsi %a, %b : i32
      tt.scan.return %c : i32
    }) : (tensor<64xi32>) -> tensor<64xi32>
    ```
    """

    name = "tt.scan.return"

    traits = lazy_traits_def(
        lambda: (IsTerminator(), HasParent(ScanOp), ReturnLike(), Pure())
    )


def verify_axis(src: Tensor, axis: int) -> None:
    """Check that a tensor has a dimension."""
    shape = src.get_shape()
    if not 0 <= axis < len(shape):
        raise VerifyException(
            f"expected axis 0 to {len(shape) - 1}, a dimension of {sizes(shape)}, "
            f"got {axis}"
        )


def verify_reduced(src: Tensor, result: Attribute, axis: int) -> None:
    verify_axis(src, axis)
    shape = src.get_shape()
    expect_element("the result", result, src.element_type, "as the source")
    wanted = without(shape, axis)
    expect_shape("the result", result, wanted, f"the source without dimension {axis}")
    if not is_tensor(result):
        return
    expect_encodings(src, result, "as the source")
    if not is_slice(encoding_of(result), axis, encoding_of(src), wanted):
        raise VerifyException(
            f"expected the result to have a #ttg.slice along dim = {axis} of the "
            f"source's encoding {src.encoding}, got {result.encoding}"
        )


# Elements of a tensor that are picked, or counted, by number.


def expect_integers(name: str, type: Attribute) -> None:
    if not isinstance(found := element_of(type), IntegerType):
        raise VerifyException(f"expected integers for {name}, got {found}")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Elements of a tensor, each picked by its number along one dimension.

    `result[i, j] = src[indices[i, j], j]` along dimension 0.  With `efficient_layout`
    the layouts are not to be changed.

    | value           | shape                                        |
    |-----------------|----------------------------------------------|
    | src             | M x N                                        |
    | indices, result | any size along axis, else at most that of src |

    ```mlir
    %x, %i = "test.op"() : () -> (tensor<64x32xf32>, tensor<16x32xi32>)
    %y = tt.gather %x[%i] {axis = 0 : i32}
       : (tensor<64x32xf32>, tensor<16x32xi32>) -> tensor<16x32xf32>
    ```
    """

    name = "tt.gather"

    src = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr[I32])
    efficient_layout = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        src, indices, result = (
            tensor_type(self.src),
            self.indices.type,
            self.result.type,
        )
        expect_integers("indices", indices)
        expect_rank("indices", indices, len(src.get_shape()))
        axis = self.axis.value.data
        verify_axis(src, axis)
        pairs = zip(shape_of(indices), src.get_shape(), strict=True)
        for dimension, (size, limit) in enumerate(pairs):
            if dimension != axis and size > limit:
                raise VerifyException(
                    f"expected indices of at most {limit} along dimension {dimension}, "
                    f"as src has, got {size}"
                )
        expect_element("the result", result, src.element_type, "as src")
        expect_like("the result", result, "indices", indices)


@irdl_op_definition
class HistogramOp(IRDLOperation):
    """How often each of 0, 1, 2, .. occurs in a tensor, where a mask is true.

    | value  | type                     |
    |--------|--------------------------|
    | src    | tensor<M x integer>      |
    | mask   | tensor<M x i1>           |
    | result | tensor<bins x integer>   |

    ```mlir
    %x, %m = "test.op"() : () -> (tensor<64xi32>, tensor<64xi1>)
    %y = tt.histogram %x, %m : tensor<64xi32> -> tensor<16xi32>
    ```
    """

    name = "tt.histogram"

    src = operand_def(VarConstraint("S", base(TensorType)))
    mask = opt_operand_def(Inferred("S", lambda src: shaped(src, i1)))
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$src (`,` $mask^)? attr-dict `:` type($src) `->` type($result)"

    def verify_(self) -> None:
        expect_integers("src", self.src.type)
        expect_integers("the result", self.result.type)
        expect_rank("the result", self.result.type, 1)
        if self.mask is not None:
            expect_element("mask", self.mask.type, i1, "true or false")
            expect_like("mask", self.mask.type, "src", self.src.type)
