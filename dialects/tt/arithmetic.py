"""Operations of Triton that compute: casts, arithmetic, library functions, products."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    I32,
    AnyFloat,
    BoolAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
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
from xdsl.traits import (
    EffectInstance,
    HasParent,
    IsTerminator,
    MemoryEffect,
    Pure,
    RecursiveMemoryEffect,
    ReturnLike,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import tensor_type
from coopc.dialects.shaped_arith import Arith, RemfOp, element_of
from coopc.dialects.tt.types import (
    EnumConstraint,
    InputPrecision,
    Keyword,
    PropagateNan,
    PtrType,
    Rounding,
    ScaledElement,
    Tensor,
    bits_of,
    encoding_of,
    expect_like,
    expect_shape,
    has_encoding,
    member,
    shape_of,
    sizes,
    spelled,
)
from coopc.layout.dpas import CHANNEL_BITS, DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import BlockedEncoding


class CastOp(IRDLOperation, ABC):
    """Each element becomes one of another type."""

    src = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def verify_(self) -> None:
        expect_like("the result", self.result.type, "src", self.src.type)
        self.verify_elements(element_of(self.src.type), element_of(self.result.type))

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        raise NotImplementedError(self.name)


@irdl_op_definition
class BitcastOp(CastOp):
    """The same bits as another type; a pointer becomes another pointer.

    | value  | type            |
    |--------|-----------------|
    | src    | T, or tensor of |
    | result | as many bits    |

    ```mlir
    %x = "test.op"() : () -> tensor<16x!tt.ptr<i1>>
    %y = tt.bitcast %x : tensor<16x!tt.ptr<i1>> -> tensor<16x!tt.ptr<i8>>
    ```
    """

    name = "tt.bitcast"

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        if isinstance(src, PtrType) and isinstance(result, PtrType):
            wanted, found = src.address_space.data, result.address_space.data
            if wanted != found:
                raise VerifyException(
                    f"expected a pointer to address space {wanted}, as src, got {found}"
                )
            return
        pointers = isinstance(src, PtrType) or isinstance(result, PtrType)
        if pointers or bits_of(src) != bits_of(result):
            raise VerifyException(
                f"expected as many bits as {src} has, got {result}: "
                f"{bits_of(src) or 'a pointer'} and {bits_of(result) or 'a pointer'}"
            )


@irdl_op_definition
class IntToPtrOp(CastOp):
    """A pointer from its number.

    | value  | type                   |
    |--------|------------------------|
    | src    | i64, or tensor of it   |
    | result | !tt.ptr, in that shape |

    ```mlir
    %x = "test.op"() : () -> i64
    %y = tt.int_to_ptr %x : i64 -> !tt.ptr<f32>
    ```
    """

    name = "tt.int_to_ptr"

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        if src != i64 or not isinstance(result, PtrType):
            raise VerifyException(
                f"expected i64 to become a pointer, got {src} to {result}"
            )


@irdl_op_definition
class PtrToIntOp(CastOp):
    """The number of a pointer.

    | value  | type                 |
    |--------|----------------------|
    | src    | !tt.ptr, or tensor   |
    | result | i64, in that shape   |

    ```mlir
    %x = "test.op"() : () -> !tt.ptr<f32>
    %y = tt.ptr_to_int %x : !tt.ptr<f32> -> i64
    ```
    """

    name = "tt.ptr_to_int"

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        if not isinstance(src, PtrType) or result != i64:
            raise VerifyException(
                f"expected a pointer to become i64, got {src} to {result}"
            )


@irdl_op_definition
class FpToFpOp(CastOp):
    """A float of another format, with a rounding where it gets narrower.

    What is greater than all numbers of f8E4M3FN or f8E5M2 becomes the greatest, also an
    infinity; NaN stays.

    | value  | type                |
    |--------|---------------------|
    | src    | float, or tensor of |
    | result | float, in its shape |

    ```mlir
    %x = "test.op"() : () -> tensor<16xf32>
    %y = tt.fp_to_fp %x, rounding = rtne : tensor<16xf32> -> tensor<16xf8E5M2>
    ```
    """

    name = "tt.fp_to_fp"

    rounding = opt_prop_def(EnumConstraint(Rounding))

    custom_directives = (Keyword,)
    assembly_format = (
        "$src attr-dict (`,` `rounding` `=` custom<Keyword>($rounding)^)? "
        "`:` type($src) `->` type($result)"
    )

    @property
    def rounding_mode(self) -> Rounding | None:
        return None if self.rounding is None else member(Rounding, self.rounding)

    def verify_elements(self, src: Attribute, result: Attribute) -> None:
        if not isinstance(src, AnyFloat) or not isinstance(result, AnyFloat):
            raise VerifyException(
                f"expected a float to become a float, got {src} to {result}"
            )
        if src.bitwidth > result.bitwidth and self.rounding is None:
            raise VerifyException(
                f"expected a rounding, as {result} is narrower than {src}, got none"
            )


class MathOp(IRDLOperation, ABC):
    """Arithmetic on each element; operands and result are of one type."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    traits = traits_def(Pure())

    def verify_(self) -> None:
        expect_floats(self.results[0].type)


class BinaryMathOp(MathOp, ABC):
    """Arithmetic on the elements of two operands."""

    x = operand_def(MathOp.T)
    y = operand_def(MathOp.T)
    result = result_def(MathOp.T)

    assembly_format = "$x `,` $y attr-dict `:` type($x)"


def expect_floats(type: Attribute) -> None:
    if not isinstance(element_of(type), AnyFloat):
        raise VerifyException(f"expected floats, got {type}")


@irdl_op_definition
class ClampFOp(MathOp):
    """`min` where x is below, `max` where it is above, x elsewhere.

    | value                | type                |
    |----------------------|---------------------|
    | x, min, max, result  | float, or tensor of |

    ```mlir
    %x, %a, %b = "test.op"() : () -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %y = tt.clampf %x, %a, %b, propagateNan = none : tensor<8xf32>
    ```
    """

    name = "tt.clampf"

    x = operand_def(MathOp.T)
    min = operand_def(MathOp.T)
    max = operand_def(MathOp.T)
    propagate_nan = prop_def(EnumConstraint(PropagateNan), prop_name="propagateNan")
    result = result_def(MathOp.T)

    custom_directives = (Keyword,)
    assembly_format = (
        "$x `,` $min `,` $max `,` `propagateNan` `=` custom<Keyword>($propagateNan) "
        "attr-dict `:` type($result)"
    )


@irdl_op_definition
class PreciseSqrtOp(MathOp):
    """The square root, correctly rounded.

    | value     | type                |
    |-----------|---------------------|
    | x, result | float, or tensor of |

    ```mlir
    %x = "test.op"() : () -> tensor<8xf32>
    %y = tt.precise_sqrt %x : tensor<8xf32>
    ```
    """

    name = "tt.precise_sqrt"

    x = operand_def(MathOp.T)
    result = result_def(MathOp.T)

    assembly_format = "$x attr-dict `:` type($x)"


@irdl_op_definition
class PreciseDivFOp(BinaryMathOp):
    """The quotient, correctly rounded.

    | value        | type                |
    |--------------|---------------------|
    | x, y, result | float, or tensor of |

    ```mlir
    %x, %y = "test.op"() : () -> (f32, f32)
    %z = tt.precise_divf %x, %y : f32
    ```
    """

    name = "tt.precise_divf"


@irdl_op_definition
class MulhiUIOp(BinaryMathOp):
    """The high half of the product of two unsigned integers.

    | value        | type                  |
    |--------------|-----------------------|
    | x, y, result | integer, or tensor of |

    ```mlir
    %x, %y = "test.op"() : () -> (i32, i32)
    %z = tt.mulhiui %x, %y : i32
    ```
    """

    name = "tt.mulhiui"

    def verify_(self) -> None:
        if not isinstance(element_of(self.x.type), IntegerType):
            raise VerifyException(f"expected integers, got {self.x.type}")


_APART = {"arith.constant", "arith.index_cast", "arith.index_castui"}
ELEMENTWISE = frozenset(
    op for op in (*Arith.operations, *math.Math.operations) if op.name not in _APART
)
"""Operations that make each element of the same element of their operands."""

# Functions of a library on each element, by the name that the library gives them.
#
# A function of mathematics is an operation of `math` or `arith`, whoever has it:
#
#     __imf_tanhf, __nv_tanhf, _Z16__spirv_ocl_tanhf    math.tanh

SAME_NAME = (
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil"),
    *("copysign", "cos", "cosh", "erf", "exp", "exp2", "expm1", "floor", "fma"),
    *("log", "log10", "log1p", "log2", "round", "rsqrt", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc"),
)
"""What the C library and `math` call the same."""

_MATH = {
    op.name.removeprefix("math."): op
    for op in math.Math.operations
    if issubclass(op, IRDLOperation)
}

FUNCTIONS: Mapping[str, type[IRDLOperation]] = {
    **{name: _MATH[name] for name in SAME_NAME},
    "fabs": math.AbsFOp,
    "fmax": arith.MaxnumfOp,
    "fmin": arith.MinnumfOp,
    "fmod": RemfOp,
    "nearbyint": math.RoundEvenOp,
    "pow": math.PowFOp,
    "rint": math.RoundEvenOp,
}
"""By the name that the C library has for a function of f64."""

_LIBRARY = re.compile(r"__(?:imf|nv)_(?:fast_)?(?P<name>\w+)")
"""Intel's library for devices, and CUDA's, where some have a less exact twin."""
_BUILTIN = re.compile(r"_Z(?P<length>\d+)(?P<rest>__spirv_ocl_\w+)")
"""OpenCL's, as LLVM IR spells them: the length of the name, the name, the operands."""


def function_of(symbol: str) -> type[IRDLOperation] | None:
    """Return the operation that a function is, if it is one.

    >>> function_of("__imf_tanhf").name
    'math.tanh'
    >>> function_of("__imf_log2").name
    'math.log2'
    >>> function_of("_Z15__spirv_ocl_expf").name
    'math.exp'
    """
    name = bare_name(symbol)
    return FUNCTIONS.get(name) or FUNCTIONS.get(name.removesuffix("f"))


def bare_name(symbol: str) -> str:
    """Return what a library calls a function, less what says which library it is.

    >>> bare_name("__nv_fast_sinf"), bare_name("_Z15__spirv_ocl_expf"), bare_name("f")
    ('sinf', 'exp', '')
    """
    if (found := _BUILTIN.fullmatch(symbol)) is not None:
        name = found["rest"][: int(found["length"])]
        return name.removeprefix("__spirv_ocl_")
    found = _LIBRARY.fullmatch(symbol)
    return "" if found is None else found["name"]


class PureOrNot(MemoryEffect):
    """What is not `pure` does whatever it likes."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        pure = op.properties["pure"]
        is_pure = isinstance(pure, IntegerAttr) and bool(pure.value.data)
        return set[EffectInstance]() if is_pure else None


@irdl_op_definition
class ExternElementwiseOp(IRDLOperation):
    """A function of a library, on each element.

    | value        | type                    |
    |--------------|-------------------------|
    | srcs, result | numbers, or tensors of  |

    ```mlir
    %x = "test.op"() : () -> tensor<16xf32>
    %y = tt.extern_elementwise %x
         {libname = "", libpath = "", pure = true, symbol = "__imf_tanhf"}
         : (tensor<16xf32>) -> tensor<16xf32>
    ```
    """

    name = "tt.extern_elementwise"

    srcs = var_operand_def()
    libname = prop_def(StringAttr)
    libpath = prop_def(StringAttr)
    pure = prop_def(BoolAttr)
    symbol = prop_def(StringAttr)
    result = result_def()

    traits = traits_def(PureOrNot())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"

    def verify_(self) -> None:
        if not self.srcs:
            raise VerifyException("expected one operand or more, got none")
        for at, src in enumerate(self.srcs):
            name = f"operand {at}"
            expect_like(name, src.type, "the result", self.result.type)


# What is done to each element by assembly, or by the operations of a region.


def expect_alike(values: Sequence[SSAValue]) -> None:
    """Check that values have the shape and the encoding of the first one."""
    for at, value in enumerate(values):
        expect_like(f"value {at}", value.type, "the first", values[0].type)


@irdl_op_definition
class ElementwiseInlineAsmOp(IRDLOperation):
    """Assembly that is applied to `packed_element` elements at a time.

    | value          | type                      |
    |----------------|---------------------------|
    | args, results  | tensors of one shape      |

    ```mlir
    %x = "test.op"() : () -> tensor<64xi8>
    %y = tt.elementwise_inline_asm "mov $0, $1"
         {constraints = "=r,r", packed_element = 4 : i32, pure = true}
         %x : tensor<64xi8> -> tensor<64xi8>
    ```
    """

    name = "tt.elementwise_inline_asm"

    asm_string = prop_def(StringAttr)
    constraints = prop_def(StringAttr)
    pure = prop_def(BoolAttr)
    packed_element = prop_def(IntegerAttr[I32])
    args = var_operand_def()
    results_ = var_result_def()

    traits = traits_def(PureOrNot())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$asm_string attr-dict ($args^ `:` type($args))? `->` type($results_)"
    )

    def verify_(self) -> None:
        if not self.results_:
            raise VerifyException("expected a result or more, got none")
        expect_alike([*self.results_, *self.args])


@irdl_op_definition
class MapElementwiseOp(IRDLOperation):
    """A region of scalars that is applied to `pack` elements of each tensor at a time.

    | value          | type                      |
    |----------------|---------------------------|
    | srcs, results  | tensors of one shape      |

    ```mlir
    %x = "test.op"() : () -> tensor<64xi32>
    %y = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
    ^bb0(%a: i32):
      %b = arith.addi %a, %a : i32
      tt.map_elementwise.return %b : i32
    }) : (tensor<64xi32>) -> tensor<64xi32>
    ```
    """

    name = "tt.map_elementwise"

    srcs = var_operand_def(TensorType)
    pack = prop_def(IntegerAttr[I32])
    results_ = var_result_def(TensorType)
    scalar_op = region_def()

    traits = traits_def(RecursiveMemoryEffect())

    def verify_(self) -> None:
        if not self.srcs:
            raise VerifyException("expected a tensor to map, got none")
        expect_alike([*self.srcs, *self.results_])


@irdl_op_definition
class MapElementwiseReturnOp(IRDLOperation):
    """The end of the region of `tt.map_elementwise`: the elements of the results.

    ```mlir
    %x = "test.op"() : () -> tensor<64xi32>
    %y = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
    ^bb0(%a: i32):
      tt.map_elementwise.return %a : i32
    }) : (tensor<64xi32>) -> tensor<64xi32>
    ```
    """

    name = "tt.map_elementwise.return"

    result = var_operand_def()

    traits = lazy_traits_def(
        lambda: (IsTerminator(), HasParent(MapElementwiseOp), ReturnLike(), Pure())
    )
    assembly_format = "attr-dict ($result^ `:` type($result))?"


# `tt.dot`: the product of two tensors, which DPAS computes.

ZERO = IntegerAttr(0, i32)


@irdl_op_definition
class DotOp(IRDLOperation):
    """The product of two matrices, or of a batch of them: `d = a * b + c`.

    | value | shape         | encoding                                         |
    |-------|---------------|--------------------------------------------------|
    | a     | (batch,) M, K | `#ttg.dot_op<{opIdx = 0, parent = E, ..}>`       |
    | b     | (batch,) K, N | `#ttg.dot_op<{opIdx = 1, parent = E, ..}>`       |
    | c, d  | (batch,) M, N | E: `#ttig.dpas`, or `#ttg.blocked`               |

    Elements of a and b are integers, which are signed, or floats; c and d are then
    integers or floats too.  With `#ttig.dpas` an element of a and b takes
    32 / opsPerChan bits; floats of 8 bits may also stand where 16 are wanted.

    ```mlir
    %a, %b = "test.op"() : () -> (tensor<64x32xf16>, tensor<32x64xf16>)
    %c = arith.constant dense<0.0> : tensor<64x64xf32>
    %d = tt.dot %a, %b, %c, inputPrecision = tf32
         : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
    ```
    """

    name = "tt.dot"

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    c = operand_def(VarConstraint("C", base(TensorType)))
    d = result_def(VarConstraint("C", base(TensorType)))
    input_precision = prop_def(
        EnumConstraint(InputPrecision),
        default_value=InputPrecision.IEEE.attribute,
        prop_name="inputPrecision",
    )
    max_num_imprecise_acc = prop_def(
        IntegerAttr[I32], default_value=ZERO, prop_name="maxNumImpreciseAcc"
    )

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (Keyword,)
    assembly_format = (
        "$a `,` $b `,` $c (`,` `inputPrecision` `=` "
        "custom<Keyword>($inputPrecision)^)? attr-dict "
        "`:` type($a) `*` type($b) `->` type($d)"
    )

    @property
    def precision(self) -> InputPrecision:
        return member(InputPrecision, self.input_precision)

    @property
    def types(self) -> tuple[Tensor, Tensor, Tensor]:
        return tensor_type(self.a), tensor_type(self.b), tensor_type(self.c)

    def verify_(self) -> None:
        a, b, c = self.types
        verify_product(a, b, c)
        verify_elements(a, b, c)
        verify_encodings(a, b, c)


@irdl_op_definition
class DotScaledOp(IRDLOperation):
    """The product of two matrices whose blocks along K have scales each, and c.

    | value            | shape                | elements                       |
    |------------------|----------------------|--------------------------------|
    | a                | M, K                 | floats, or bytes that hold them |
    | b                | K, N                 | floats, or bytes that hold them |
    | a_scale, b_scale | a row of each, K / 32 | powers of two, in bytes        |
    | c, d             | M, N                 | floats                         |

    ```mlir
    %a, %b = "test.op"() : () -> (tensor<64x32xi8>, tensor<32x64xi8>)
    %s, %c = "test.op"() : () -> (tensor<64x1xi8>, tensor<64x64xf32>)
    %d = tt.dot_scaled %a scale %s, %b, %c lhs = e4m3 rhs = e5m2 {fastMath = false}
         : tensor<64x32xi8>, tensor<64x1xi8> * tensor<32x64xi8> -> tensor<64x64xf32>
    ```
    """

    name = "tt.dot_scaled"

    a = operand_def(TensorType)
    b = operand_def(TensorType)
    c = operand_def(VarConstraint("C", base(TensorType)))
    a_scale = opt_operand_def(TensorType)
    b_scale = opt_operand_def(TensorType)
    a_elem_type = prop_def(EnumConstraint(ScaledElement))
    b_elem_type = prop_def(EnumConstraint(ScaledElement))
    fast_math = prop_def(BoolAttr, prop_name="fastMath")
    lhs_k_pack = opt_prop_def(BoolAttr)
    rhs_k_pack = opt_prop_def(BoolAttr)
    d = result_def(VarConstraint("C", base(TensorType)))

    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (Keyword,)
    assembly_format = (
        "$a (`scale` $a_scale^)? `,` $b (`scale` $b_scale^)? `,` $c "
        "`lhs` `=` custom<Keyword>($a_elem_type) "
        "`rhs` `=` custom<Keyword>($b_elem_type) attr-dict "
        "`:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? "
        "`->` type($d)"
    )

    def verify_(self) -> None:
        *batch, rows, _ = shape_of(self.a.type)
        cols = shape_of(self.b.type)[-1]
        # Bytes of two neighbours along M or N, where packing is not along K.
        rows, cols = (
            2 * size if pack is not None and not pack.value.data else size
            for size, pack in ((rows, self.lhs_k_pack), (cols, self.rhs_k_pack))
        )
        expect_shape("c", self.c.type, (*batch, rows, cols), "M of a and N of b")


def verify_product(a: Tensor, b: Tensor, c: Tensor) -> None:
    """Check that shapes are those of a product."""
    rank = len(a.get_shape())
    if rank not in (2, 3):
        raise VerifyException(
            f"expected a of rank 2, or 3 with a batch, got {sizes(a.get_shape())}"
        )
    if len(b.get_shape()) != rank:
        raise VerifyException(
            f"expected b to be of rank {rank}, as a, got {sizes(b.get_shape())}"
        )
    *batch, m, k = a.get_shape()
    *batch_b, rows, n = b.get_shape()
    if batch_b != batch:
        raise VerifyException(
            f"expected b to have a batch of {batch[0]}, as a, got {batch_b[0]}"
        )
    if rows != k:
        raise VerifyException(f"expected b to have K = {k} rows, as a, got {rows}")
    expect_shape("c", c, (*batch, m, n), "M of a and N of b")


def verify_elements(a: Tensor, b: Tensor, c: Tensor) -> None:
    """Check that a and b can be multiplied, and added to c."""
    left, right, sum = a.element_type, b.element_type, c.element_type
    if not isinstance(left, AnyFloat | IntegerType):
        raise VerifyException(f"expected a of integers or floats, got {left}")
    floats = isinstance(left, AnyFloat) and isinstance(right, AnyFloat)
    if left != right and not (floats and bits_of(a) == bits_of(b) == 8):
        raise VerifyException(f"expected b of {left}, as a, got {right}")
    if isinstance(left, IntegerType) != isinstance(sum, IntegerType):
        kind = "integers" if isinstance(left, IntegerType) else "floats"
        raise VerifyException(f"expected c of {kind}, as a and b, got {sum}")


def verify_encodings(a: Tensor, b: Tensor, c: Tensor) -> None:
    """Check that a and b are kept as operands of c's encoding."""
    if not (has_encoding(a) or has_encoding(b) or has_encoding(c)):
        return
    parent = encoding_of(c)
    if not isinstance(parent, DpasEncoding | BlockedEncoding):
        raise VerifyException(
            f"expected c in #ttig.dpas or #ttg.blocked, as a and b have encodings, "
            f"got {c}"
        )
    for index, (name, type) in enumerate((("a", a), ("b", b))):
        found = encoding_of(type)
        fits = isinstance(found, DotOperandEncoding)
        if not fits or (found.op_idx, found.parent) != (index, parent):
            raise VerifyException(
                f"expected {name} in #ttg.dot_op with opIdx = {index} and the parent "
                f"{c.encoding}, as c, got {spelled(type.encoding)}"
            )
        if isinstance(parent, DpasEncoding):
            verify_channel(name, type, parent)


def verify_channel(name: str, type: Tensor, parent: DpasEncoding) -> None:
    """Check that opsPerChan elements fill a channel of 32 bits."""
    wanted, found = CHANNEL_BITS // parent.ops_per_chan, bits_of(type)
    widens = isinstance(type.element_type, AnyFloat) and (found, wanted) == (8, 16)
    if found != wanted and not widens:
        raise VerifyException(
            f"expected {name} of {wanted} bits, as opsPerChan = {parent.ops_per_chan} "
            f"packs in a channel of {CHANNEL_BITS}, got {found} in {type.element_type}"
        )
