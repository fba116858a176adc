"""Operations of `xe` that multiply: DPAS, and DPAS that two subgroups share."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    I32,
    IntegerAttr,
    VectorType,
    bf16,
    f16,
    f32,
    i16,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from coopc.dialects import simt
from coopc.dialects.traits import Collective
from coopc.dialects.xe.attributes import (
    CHANNEL_BITS,
    SYSTOLIC_DEPTH,
    Precision,
    PrecisionAttr,
)

REPEAT_COUNTS = (1, 2, 4, 8)
SPLIT_REPEAT_COUNTS = (2, 4, 8)
SPLIT_LANES = 8
"""The subgroup size of split DPAS, and its N."""
EXECUTION_SIZES = ((8, 8), (16, 16), (32, 16))
"""(lanes, N) of the devices: N is the execution size of the engine."""


def accumulators(precision: Precision) -> tuple[Attribute, ...]:
    """Return the element types that C and the result can have."""
    if precision.is_integer:
        return (i32,)
    if precision is Precision.F16:
        return f32, f16
    if precision is Precision.BF16:
        return f32, bf16
    return (f32,)


def operand_types(
    precision: Precision, repeat: int, lanes: int, n: int
) -> tuple[VectorType, VectorType, int]:
    """Return the types of A and B and the length of C, for one lane.

    A is M x K and B is K x N, packed in integers: 16 bits of A where N is 16, a channel
    of 32 where it is 8, and channels of B.  Elements of tf32 are channels in A too.
    """
    channels = SYSTOLIC_DEPTH * CHANNEL_BITS // lanes
    a = i32 if n == 8 or precision is Precision.TF32 else i16
    a_length = max(1, repeat * channels // a.bitwidth)
    b_length = channels * n // CHANNEL_BITS
    return VectorType(a, [a_length]), VectorType(i32, [b_length]), repeat * n // lanes


class SystolicOp(IRDLOperation, ABC):
    """A multiplication on the systolic array: `result = a * b + c`."""

    C: ClassVar = VarConstraint("C", base(VectorType))

    a = operand_def(VectorType)
    b = operand_def(VectorType)
    c = operand_def(C)
    result = result_def(C)
    a_precision = prop_def(PrecisionAttr)
    b_precision = prop_def(PrecisionAttr)
    repeat = prop_def(IntegerAttr[I32])

    traits = traits_def(Collective(), NoMemoryEffect())

    assembly_format = (
        "$a_precision `x` $b_precision `repeat` $repeat $a `,` $b `,` $c attr-dict "
        "`:` type($a) `,` type($b) `,` type($c)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        precisions: tuple[Precision, Precision],
        repeat: int,
    ) -> None:
        super().__init__(
            operands=[a, b, c],
            properties=dpas_properties(precisions, repeat),
            result_types=[c.type],
        )

    @property
    def precisions(self) -> tuple[Precision, Precision]:
        """What the bits of a and b are."""
        return self.a_precision.data, self.b_precision.data


@irdl_op_definition
class DpasOp(SystolicOp):
    """Multiply on the systolic array: `result = a * b + c`, K = 8 channels of 32 bits.

    | value     | of the subgroup | of a lane, 16 lanes | 32 lanes    | 8 lanes   |
    |-----------|-----------------|---------------------|-------------|-----------|
    | a         | M x K           | M x i16             | M/2 x i16   | M x i32   |
    | b         | K x N           | 8 x i32             | 4 x i32     | 8 x i32   |
    | c, result | M x N           | M x T               | M/2 x T     | M x T     |

    M is `repeat`; N is 8 on 8 lanes, else 16; a of tf32 is in i32.  T is i32 for
    integers, f32 or f16 for f16, f32 or bf16 for bf16, f32 for tf32.

    ```mlir
    %a, %b, %c = "test.op"() : () -> (vector<8xi16>, vector<8xi32>, vector<8xf32>)
    %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c :
         vector<8xi16>, vector<8xi32>, vector<8xf32>
    ```
    """

    name = "xe.dpas"

    def verify_(self) -> None:
        """Check precisions, the repeat count, and the types of each lane's share."""
        verify_precisions(self.precisions)
        repeat = verify_repeat(self.repeat, REPEAT_COUNTS)
        types = (self.a.type, self.b.type, self.c.type)
        verify_accumulator(self.c.type, self.a_precision.data)
        shares = [
            operand_types(self.a_precision.data, repeat, lanes, n)
            for lanes, n in EXECUTION_SIZES
            if repeat * n >= lanes
        ]
        verify_shares(types, shares, f"M = {repeat}, {self.a_precision.data}")


@irdl_op_definition
class SplitDpasOp(SystolicOp):
    """DPAS of two subgroups that multiply the same a: each gives half of its rows.

    | value     | of the subgroup | of a lane |
    |-----------|-----------------|-----------|
    | a         | M/2 x K         | M/2 x i32 |
    | b         | K x 8           | 8 x i32   |
    | c, result | M x 8           | M x T     |

    The first subgroup of the pair gives the first half of the rows, the second the
    rest; each has its own b and c.  Both must execute it.  T is i32 for integers of 8
    bits, f32 for f16 and bf16.

    ```mlir
    %a, %b, %c = "test.op"() : () -> (vector<4xi32>, vector<8xi32>, vector<8xf32>)
    %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c :
         vector<4xi32>, vector<8xi32>, vector<8xf32>
    ```
    """

    name = "xe.split_dpas"

    def verify_(self) -> None:
        """Check precisions, the repeat count, and the types of each lane's share."""
        verify_precisions(self.precisions)
        if self.a_precision.data.bits not in (8, 16):
            raise VerifyException(
                "expected s8, u8, f16 or bf16, which split DPAS multiplies, "
                f"got {self.a_precision.data}"
            )
        repeat = verify_repeat(self.repeat, SPLIT_REPEAT_COUNTS)
        verify_accumulator(self.c.type, self.a_precision.data)
        if scalar(self.c.type) not in (f32, i32):
            raise VerifyException(
                f"expected f32 or i32 in c of split DPAS, got {self.c.type}"
            )
        types = (self.a.type, self.b.type, self.c.type)
        share = (VectorType(i32, [repeat // 2]), VectorType(i32, [8]), repeat)
        verify_shares(types, [share], f"M = {repeat} on 8 lanes")
        verify_pairs(self)


def verify_pairs(op: SplitDpasOp) -> None:
    """Check that the kernel around an operation, if there is one, has pairs.

    N is 8: the operation has no other subgroup size.  Which two subgroups are a pair is
    a device's matter; that there are two is the kernel's.
    """
    around = op.parent_op()
    while around is not None and not isinstance(around, FuncOp):
        around = around.parent_op()
    if around is None or simt.KERNEL not in around.attributes:
        return
    kernel = simt.kernel_of(around)
    if kernel.subgroup_size not in (None, SPLIT_LANES):
        raise VerifyException(
            f"expected a subgroup of {SPLIT_LANES} lanes for split DPAS, got "
            f"{kernel.subgroup_size}"
        )
    if kernel.subgroup_size is not None and kernel.subgroups % 2:
        raise VerifyException(
            f"expected pairs of subgroups for split DPAS, got {kernel.subgroups}"
        )


def dpas_properties(
    precisions: tuple[Precision, Precision], repeat: int
) -> dict[str, Attribute]:
    """Return the properties of a multiplication."""
    return {
        "a_precision": PrecisionAttr(precisions[0]),
        "b_precision": PrecisionAttr(precisions[1]),
        "repeat": IntegerAttr(repeat, 32),
    }


def scalar(type: Attribute) -> Attribute:
    """Return the element type of a vector."""
    assert isa(type, VectorType), type
    return type.get_element_type()


def verify_precisions(precisions: tuple[Precision, Precision]) -> None:
    """Check that a and b can be multiplied: integers of one width, or equal floats."""
    a, b = precisions
    if a != b and not (a.is_integer and b.is_integer and a.bits == b.bits):
        raise VerifyException(
            f"expected b to be {a}, or integers of the same width, got {b}"
        )


def verify_repeat(repeat: IntegerAttr[I32], allowed: Sequence[int]) -> int:
    """Check the repeat count, and return it."""
    if (count := repeat.value.data) not in allowed:
        raise VerifyException(
            f"expected a repeat count in {tuple(allowed)}, got {count}"
        )
    return count


def verify_accumulator(type: Attribute, precision: Precision) -> None:
    """Check the element type of c."""
    found, allowed = scalar(type), accumulators(precision)
    if found not in allowed:
        raise VerifyException(
            f"expected c of {' or '.join(map(str, allowed))}, as {precision} "
            f"accumulates in, got {found}"
        )


def verify_shares(
    types: tuple[Attribute, Attribute, Attribute],
    shares: Sequence[tuple[VectorType, VectorType, int]],
    what: str,
) -> None:
    """Check that a, b and c are a lane's share for one of the subgroup sizes."""
    a, b, c = types
    assert isinstance(c, VectorType)
    for expected_a, expected_b, length in shares:
        if a == expected_a and b == expected_b and c.get_shape() == (length,):
            return
    wanted = "; or ".join(f"{x}, {y} and {z} of c" for x, y, z in shares)
    raise VerifyException(f"expected {wanted}, for {what}, got {a}, {b} and {c}")
