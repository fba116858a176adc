"""The operation of `coopmatrix` that makes a matrix of one value."""

from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.interfaces import ConditionallySpeculatableInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.traits import Canonicalized, NamesConstants
from coopc.dialects.coopmatrix.types import MatrixType, unsupported_element
from coopc.dialects.narrow import is_memref
from coopc.dialects.traits import Collective

OPAQUE_POINTERS = ("llvm.ptr", "ptr_xdsl.ptr")
"""Pointers that do not say what they point to, by the names of their types."""


class ReadsIfPointer(MemoryEffect):
    """A fill from a pointer reads memory; a fill from a value is pure."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """Return what `op` does to memory."""
        if isinstance(op, FillOp) and op.is_pointer:
            return {EffectInstance(MemoryEffectKind.READ)}
        return set()


@irdl_op_definition
class FillOp(IRDLOperation, ConditionallySpeculatableInterface):
    """A matrix of which every element is one value.

    | value  | what                                                               |
    |--------|--------------------------------------------------------------------|
    | value  | a number, or a pointer to one: a memref of rank 0, or an opaque one |
    | result | M x N                                                              |

    A pointer is read once; an opaque one points to an element of the matrix's type.
    Every work-item of the matrix's scope gives the same value.  A number of another
    type is converted, as the operation of `arith` does it:

    | from    | to       | by         | is                                        |
    |---------|----------|------------|-------------------------------------------|
    | index   | any      | index_cast | an i64, and then as from i64              |
    | integer | wider    | extsi      | the same signed number                    |
    | integer | narrower | trunci     | the low bits                              |
    | integer | float    | sitofp     | rounded to nearest, ties to even          |
    | float   | wider    | extf       | the same number                           |
    | float   | narrower | truncf     | rounded to nearest, ties to even          |
    | float   | integer  | fptosi     | rounded towards 0; undefined where that   |
    |         |          |            | does not fit                              |

    f16 and bf16 are converted into each other by way of f32, which holds both.

    ```mlir
    %zero = arith.constant 0.0 : f32
    %c = coopmatrix.fill %zero : f32 -> !coopmatrix.matrix<8x16xf32, acc>
    %p = "test.op"() : () -> memref<i32>
    %d = coopmatrix.fill %p : memref<i32> -> !coopmatrix.matrix<7x9xi32, none>
    ```
    """

    name = "coopmatrix.fill"

    value = operand_def()
    result = result_def(MatrixType)

    traits = traits_def(
        Collective(), ReadsIfPointer(), NamesConstants(), Canonicalized()
    )

    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[value], result_types=[result])

    @property
    def is_pointer(self) -> bool:
        """Whether the value is to be read from memory."""
        type = self.value.type
        return isinstance(type, MemRefType) or type.name in OPAQUE_POINTERS

    def is_speculatable(self) -> bool:
        """Whether it may be executed where the program would not: with a number."""
        return not self.is_pointer

    def verify_(self) -> None:
        """Check that the value is a number or a pointer to one."""
        type = self.value.type
        if is_memref(type):
            if type.get_num_dims() != 0:
                raise VerifyException(
                    "expected a memref of rank 0, a pointer to the one value, "
                    f"got {type}"
                )
            type = type.get_element_type()
        elif type.name in OPAQUE_POINTERS:
            return
        if not isinstance(type, IndexType) and unsupported_element(type) is not None:
            raise VerifyException(
                "expected an index or a number of a type that matrices hold, or a "
                f"pointer to one, got {self.value.type}"
            )
