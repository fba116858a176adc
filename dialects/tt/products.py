"""`tt.dot`: the product of two tensors, which DPAS computes."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    I32,
    AnyFloat,
    BoolAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i32,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.tt.checks import expect_shape, spelled
from coopc.dialects.tt.enums import (
    EnumConstraint,
    InputPrecision,
    InputPrecisionKeyword,
    LhsElementKeyword,
    RhsElementKeyword,
    ScaledElement,
    member,
)
from coopc.dialects.tt.layouts import encoding_of, has_encoding
from coopc.dialects.tt.types import Tensor, bits_of, is_tensor, shape_of, sizes
from coopc.layout.dpas import CHANNEL_BITS, DpasEncoding
from coopc.layout.encodings import BlockedEncoding, DotOperandEncoding

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
    custom_directives = (InputPrecisionKeyword,)
    assembly_format = (
        "$a `,` $b `,` $c custom<InputPrecisionKeyword>($inputPrecision) attr-dict "
        "`:` type($a) `*` type($b) `->` type($d)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        precision: InputPrecision = InputPrecision.IEEE,
    ) -> None:
        super().__init__(
            operands=[a, b, c],
            properties={"inputPrecision": precision.attribute},
            result_types=[c.type],
        )

    @property
    def precision(self) -> InputPrecision:
        """With what precision operands of f32 are multiplied."""
        return member(InputPrecision, self.input_precision)

    @property
    def types(self) -> tuple[Tensor, Tensor, Tensor]:
        """The types of a, b and c."""
        a, b, c = self.a.type, self.b.type, self.c.type
        assert is_tensor(a), a
        assert is_tensor(b), b
        assert is_tensor(c), c
        return a, b, c

    def verify_(self) -> None:
        """Check shapes, then elements, then encodings."""
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
    custom_directives = (LhsElementKeyword, RhsElementKeyword)
    assembly_format = (
        "$a (`scale` $a_scale^)? `,` $b (`scale` $b_scale^)? `,` $c "
        "custom<LhsElementKeyword>($a_elem_type) "
        "custom<RhsElementKeyword>($b_elem_type) attr-dict "
        "`:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? "
        "`->` type($d)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        elements: tuple[ScaledElement, ScaledElement],
        scales: tuple[SSAValue | None, SSAValue | None] = (None, None),
    ) -> None:
        super().__init__(
            operands=[a, b, c, *(() if x is None else (x,) for x in scales)],
            properties={
                "a_elem_type": elements[0].attribute,
                "b_elem_type": elements[1].attribute,
                "fastMath": IntegerAttr.from_bool(False),
            },
            result_types=[c.type],
        )

    def verify_(self) -> None:
        """Check the shape of c; how many elements a byte has is not looked at."""
        rows, cols = shape_of(self.a.type)[:-1], shape_of(self.b.type)[-1:]
        expect_shape("c", self.c.type, (*rows, *cols), "M of a and N of b")


def verify_product(a: Tensor, b: Tensor, c: Tensor) -> None:
    """Check that shapes are those of a product.

    Raises:
        VerifyException: they are not.
    """
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
    """Check that a and b can be multiplied, and added to c.

    Raises:
        VerifyException: they cannot.
    """
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
    """Check that a and b are kept as operands of c's encoding.

    Raises:
        VerifyException: they are not, or DPAS of that encoding takes other elements.
    """
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
    """Check that opsPerChan elements fill a channel of 32 bits.

    Raises:
        VerifyException: they do not.
    """
    wanted, found = CHANNEL_BITS // parent.ops_per_chan, bits_of(type)
    widens = isinstance(type.element_type, AnyFloat) and (found, wanted) == (8, 16)
    if found != wanted and not widens:
        raise VerifyException(
            f"expected {name} of {wanted} bits, as opsPerChan = {parent.ops_per_chan} "
            f"packs in a channel of {CHANNEL_BITS}, got {found} in {type.element_type}"
        )
