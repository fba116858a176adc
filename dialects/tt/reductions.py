"""`tt.reduce` and `tt.scan`: elements along one dimension are combined."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import (
    I32,
    BoolAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
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
from xdsl.traits import HasParent, IsTerminator, Pure, ReturnLike
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.constraints import Inferred
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.dialects.tt.functions import listed
from coopc.dialects.tt.types import (
    Tensor,
    encoding_of,
    expect_element,
    expect_like,
    expect_rank,
    expect_shape,
    has_encoding,
    is_tensor,
    linear,
    shape_of,
    sizes,
    spelled,
    without,
)
from coopc.layout.encodings import SliceEncoding


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
            assert is_tensor(src.type), src
            self.verify_result(src.type, result.type)
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
    def combiner(self) -> Operation | None:
        """The one operation that combines two elements in order; None if it is more."""
        block = self.combine.block
        first, last = block.first_op, block.last_op
        if first is None or last is None or first.next_op is not last:
            return None
        is_plain = tuple(first.operands) == tuple(block.args)
        is_last = tuple(first.results) == tuple(last.operands)
        return first if is_plain and is_last else None

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
    """Check the type of one result."""
    verify_axis(src, axis)
    shape = src.get_shape()
    expect_element("the result", result, src.element_type, "as the source")
    wanted = without(shape, axis)
    expect_shape("the result", result, wanted, f"the source without dimension {axis}")
    if not is_tensor(result):
        return
    if has_encoding(src) != has_encoding(result):
        kind = "an" if has_encoding(src) else "no"
        raise VerifyException(
            f"expected the result to have {kind} encoding, as the source, "
            f"got {spelled(result.encoding)}"
        )
    parent, found = encoding_of(src), encoding_of(result)
    if parent is None or found is None or found == SliceEncoding(axis, parent):
        return
    if linear(found, wanted) != linear(SliceEncoding(axis, parent), wanted):
        raise VerifyException(
            f"expected the result to have a #ttg.slice along dim = {axis} of the "
            f"source's encoding {src.encoding}, got {result.encoding}"
        )


# Elements of a tensor that are picked, or counted, by number.


def expect_integers(name: str, type: Attribute) -> None:
    """Check that a tensor has integers."""
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
        src, indices, result = self.src.type, self.indices.type, self.result.type
        assert is_tensor(src), src
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
