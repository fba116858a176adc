"""The `avx512` dialect: x86-64 vector operations that `vector` lacks."""

from typing import ClassVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float32Type,
    IntegerType,
    VectorType,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.definitions import dialect_of
from coopc.dialects.narrow import length_of, vector_type


@irdl_op_definition
class DotOp(IRDLOperation):
    """Add the products of neighbours: `result[i] = acc[i] + sum_t lhs[ci+t] rhs[ci+t]`.

    | value       | vector of   | c |                                             |
    |-------------|-------------|---|---------------------------------------------|
    | lhs, rhs    | c N of bf16 | 2 | AVX512_BF16's `vdpbf16ps`                   |
    | lhs, rhs    | c N of i8   | 4 | AVX512_VNNI's `vpdpbusd`: lhs is not signed |
    | acc, result | N           |   | f32 for bf16, i32 for i8; sums wrap around  |

    N is a multiple of 4.  Denormal numbers count as zero.

    ```mlir
    %a, %b, %c = "test.op"() : () -> (vector<32xbf16>, vector<32xbf16>, vector<16xf32>)
    %d = avx512.dot %a, %b, %c : vector<32xbf16>, vector<16xf32>
    ```
    """

    T: ClassVar = VarConstraint("T", base(VectorType[BFloat16Type | IntegerType]))
    S: ClassVar = VarConstraint("S", base(VectorType[Float32Type | IntegerType]))

    name = "avx512.dot"

    lhs = operand_def(T)
    rhs = operand_def(T)
    acc = operand_def(S)
    result = result_def(S)

    traits = traits_def(Pure())

    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($acc)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type])

    @property
    def element(self) -> Attribute:
        """Of lhs and rhs."""
        return vector_type(self.lhs).element_type

    @property
    def length(self) -> int:
        """N."""
        return length_of(self.acc)

    def verify_(self) -> None:
        factor, sums = vector_type(self.lhs), vector_type(self.acc)
        is_pair = isinstance(self.element, BFloat16Type)
        sum, channels = (f32, 2) if is_pair else (i32, 4)
        if not (is_pair or self.element == i8) or sums.element_type != sum:
            raise VerifyException(
                "expected bf16 * bf16 + f32 or i8 * i8 + i32, got "
                f"{self.element} * {self.element} + {sums.element_type}"
            )
        if self.length % 4 or factor.get_shape() != (channels * self.length,):
            raise VerifyException(
                f"expected {channels} N of {self.element} for N accumulators, "
                f"a multiple of 4, got {factor} for {sums}"
            )


@irdl_op_definition
class TruncFOp(IRDLOperation):
    """Round f32 to bf16, as `arith.truncf` does: by AVX512_BF16's `vcvtneps2bf16`.

    That takes denormal numbers for zero: where there are some, bits are rounded.  The
    vectors are of a multiple of 16 components, which one register has.

    ```mlir
    %x = "test.op"() : () -> vector<32xf32>
    %y = avx512.truncf %x : vector<32xf32> -> vector<32xbf16>
    ```
    """

    name = "avx512.truncf"

    input = operand_def(VectorType[Float32Type])
    result = result_def(VectorType[BFloat16Type])

    traits = traits_def(Pure())

    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue) -> None:
        result = VectorType(BFloat16Type(), vector_type(input).get_shape())
        super().__init__(operands=[input], result_types=[result])

    def verify_(self) -> None:
        source, result = vector_type(self.input), vector_type(self.result)
        if source.get_shape() != result.get_shape() or length_of(self.input) % 16:
            raise VerifyException(
                "expected vectors of the same size, a multiple of 16, got "
                f"{source} and {result}"
            )


Avx512 = dialect_of("avx512", globals())
