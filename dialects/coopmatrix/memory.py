"""Operations of `coopmatrix` on memory: load, store and prefetch."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import (
    I32,
    IntegerAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    MemoryWriteEffect,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.access import (
    AccessOp,
    PlainAccessOp,
    verify_no_zero_stride,
)
from coopc.dialects.coopmatrix.enums import (
    CheckedAttr,
    Layout,
    LayoutAttr,
    Scope,
    ScopeAttr,
)
from coopc.dialects.coopmatrix.traits import NamesConstants
from coopc.dialects.coopmatrix.types import (
    MatrixType,
    matrix_type,
)
from coopc.dialects.traits import Collective, FillsCache

_ACCESS = (
    "$memory `[` $positions `]` $layout (`=` $layout_name^)? "
    "(`checked` `` $checked^)? (`volatile` $volatile^)? (`nontemporal` $nontemporal^)? "
    "(`alignment` `=` $alignment^)? "
    "(`available` `=` $available^)? (`visible` `=` $visible^)? "
)


class ReadsUnlessVolatile(MemoryEffect):
    """A load reads; a volatile one also writes, so that it is never removed."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """Return what `op` does to memory."""
        read = EffectInstance(MemoryEffectKind.READ)
        if isinstance(op, LoadOp) and op.volatile is None:
            return {read}
        return {read, EffectInstance(MemoryEffectKind.WRITE)}


def _memory_operands(
    volatile: bool, nontemporal: bool, alignment: int | None
) -> dict[str, Attribute | None]:
    """Return the properties of a plain access that say how it is done."""
    return {
        "volatile": UnitAttr() if volatile else None,
        "nontemporal": UnitAttr() if nontemporal else None,
        "alignment": None if alignment is None else IntegerAttr(alignment, 64),
    }


@irdl_op_definition
class LoadOp(PlainAccessOp):
    """Read a matrix from memory.

    | value     | shape                                             |
    |-----------|---------------------------------------------------|
    | memory    | rank 2 or more; see `PlainAccessOp`               |
    | positions | one index for each dimension of the memref        |
    | result    | M x N                                             |

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x?xf16>, index, index)
    %a = coopmatrix.load %memory[%i, %j] row_major checked(rows, cols) alignment = 16 :
         memref<64x?xf16> -> !coopmatrix.matrix<8x16xf16, a>
    %b = coopmatrix.load %memory[%i, %j] col_major volatile nontemporal :
         memref<64x?xf16> -> !coopmatrix.matrix<16x16xf16, b>
    ```
    """

    name = "coopmatrix.load"

    result = result_def(MatrixType)

    traits = traits_def(Collective(), ReadsUnlessVolatile(), NamesConstants())

    assembly_format = _ACCESS + "attr-dict `:` type($memory) `->` type($result)"

    def __init__(
        self,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        result: Attribute,
        layout: Layout = Layout.ROW_MAJOR,
        checked: CheckedAttr | None = None,
        volatile: bool = False,
        nontemporal: bool = False,
        alignment: int | None = None,
        visible: Scope | None = None,
    ) -> None:
        super().__init__(
            operands=[memory, positions],
            properties={
                "layout": LayoutAttr(layout),
                "checked": checked,
                "visible": None if visible is None else ScopeAttr(visible),
                **_memory_operands(volatile, nontemporal, alignment),
            },
            result_types=[result],
        )

    @property
    def matrix(self) -> MatrixType:
        """The type of the result."""
        return matrix_type(self.result)

    def verify_(self) -> None:
        """Check that it makes nothing available, which is of stores."""
        super().verify_()
        self.verify_not_handed(self.available, "available", "a store")


@irdl_op_definition
class StoreOp(PlainAccessOp):
    """Write a matrix to memory.

    | value     | shape                                             |
    |-----------|---------------------------------------------------|
    | value     | M x N                                             |
    | memory    | rank 2 or more; see `PlainAccessOp`               |
    | positions | one index for each dimension of the memref        |

    A stride of 0 would write elements over each other and is refused.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf32>, index, index)
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    coopmatrix.store %c, %memory[%i, %j] row_major checked(rows) :
      !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
    ```
    """

    name = "coopmatrix.store"

    value = operand_def(MatrixType)

    traits = traits_def(Collective(), MemoryWriteEffect(), NamesConstants())

    assembly_format = (
        "$value `,` " + _ACCESS + "attr-dict `:` type($value) `,` type($memory)"
    )

    def __init__(
        self,
        value: SSAValue,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        layout: Layout = Layout.ROW_MAJOR,
        checked: CheckedAttr | None = None,
        volatile: bool = False,
        nontemporal: bool = False,
        alignment: int | None = None,
        available: Scope | None = None,
    ) -> None:
        super().__init__(
            operands=[value, memory, positions],
            properties={
                "layout": LayoutAttr(layout),
                "checked": checked,
                "available": None if available is None else ScopeAttr(available),
                **_memory_operands(volatile, nontemporal, alignment),
            },
        )

    @property
    def matrix(self) -> MatrixType:
        """The type of the value."""
        return matrix_type(self.value)

    def verify_(self) -> None:
        """Check that no two elements are written to one place; visible is of loads."""
        super().verify_()
        self.verify_not_handed(self.visible, "visible", "a load")
        verify_no_zero_stride(self)


@irdl_op_definition
class PrefetchOp(AccessOp):
    """Ask for what a load of `matrix_type` would read; a hint without a result.

    `level` is the cache that is wanted nearest, 1 for L1; a hint for a level that the
    device does not have is ignored.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf16>, index, index)
    coopmatrix.prefetch %memory[%i, %j] row_major level = 1 :
      memref<64x64xf16>, !coopmatrix.matrix<8x16xf16, a>
    ```
    """

    name = "coopmatrix.prefetch"

    matrix_type = prop_def(MatrixType)
    level = opt_prop_def(IntegerAttr[I32])

    traits = traits_def(Collective(), FillsCache(), NamesConstants())
    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = (
        "$memory `[` $positions `]` $layout (`checked` `` $checked^)? "
        "(`level` `=` $level^)? attr-dict `:` type($memory) `,` qualified($matrix_type)"
    )

    def __init__(
        self,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        matrix_type: Attribute,
        layout: Layout = Layout.ROW_MAJOR,
        checked: CheckedAttr | None = None,
        level: int | None = None,
    ) -> None:
        super().__init__(
            operands=[memory, positions],
            properties={
                "matrix_type": matrix_type,
                "layout": LayoutAttr(layout),
                "checked": checked,
                "level": None if level is None else IntegerAttr(level, 32),
            },
        )

    @property
    def matrix(self) -> MatrixType:
        """The type that a load would have."""
        return self.matrix_type

    def verify_(self) -> None:
        """Check the level too."""
        super().verify_()
        if self.level is not None and (level := self.level.value.data) < 1:
            raise VerifyException(
                f"expected a level of 1, the nearest cache, or more, got {level}"
            )
