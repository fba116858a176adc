"""Operations of `coopmatrix` that access memory atomically, element by element."""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.coopmatrix.access import AccessOp, verify_no_zero_stride
from coopc.dialects.coopmatrix.enums import (
    CheckedAttr,
    Layout,
    LayoutAttr,
    Ordering,
    OrderingAttr,
    Scope,
    ScopeAttr,
)
from coopc.dialects.coopmatrix.traits import NamesConstants
from coopc.dialects.coopmatrix.types import MatrixType, matrix_type
from coopc.dialects.narrow import is_integer
from coopc.dialects.traits import Collective, ReadsAndWrites

_ATOMIC = (
    "$memory `[` $positions `]` $layout (`checked` `` $checked^)? "
    "$ordering (`scope` `=` $scope^)? "
)


class AtomicOp(AccessOp, ABC):
    """An access that is atomic element by element, not as a whole."""

    ordering = prop_def(OrderingAttr)
    scope = opt_prop_def(ScopeAttr)
    """Who sees it as atomic; the device where it is absent."""

    irdl_options = (ParsePropInAttrDict(),)

    @property
    def atomic_scope(self) -> Scope:
        """Who sees the access as atomic."""
        return self.scope.data if self.scope is not None else Scope.DEVICE

    def verify_(self) -> None:
        """Check the ordering, and the element type: atomics need whole bytes."""
        super().verify_()
        if self.ordering.data in (refused := self.refused_orderings()):
            *most, last = (each for each in Ordering if each not in refused)
            raise VerifyException(
                f"expected {', '.join(most)} or {last}, the orderings that "
                f"{self.name} can have, got {self.ordering.data}"
            )
        if self.matrix.element_bits < 8:
            raise VerifyException(
                "expected elements of 8 bits or more, which atomics need, "
                f"got {self.matrix.element_type}"
            )

    @classmethod
    def refused_orderings(cls) -> tuple[Ordering, ...]:
        """Return the orderings that such an access cannot have."""
        return ()


def _properties(
    layout: Layout,
    checked: CheckedAttr | None,
    ordering: Ordering,
    scope: Scope | None,
) -> dict[str, Attribute | None]:
    """Return the properties that every atomic access has."""
    return {
        "layout": LayoutAttr(layout),
        "checked": checked,
        "ordering": OrderingAttr(ordering),
        "scope": None if scope is None else ScopeAttr(scope),
    }


@irdl_op_definition
class AtomicLoadOp(AtomicOp):
    """Read each element of a matrix atomically.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf32>, index, index)
    %a = coopmatrix.atomic_load %memory[%i, %j] row_major acquire scope = workgroup :
         memref<64x64xf32> -> !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    name = "coopmatrix.atomic_load"

    result = result_def(MatrixType)

    traits = traits_def(Collective(), ReadsAndWrites(), NamesConstants())

    assembly_format = _ATOMIC + "attr-dict `:` type($memory) `->` type($result)"

    def __init__(
        self,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        result: Attribute,
        layout: Layout = Layout.ROW_MAJOR,
        checked: CheckedAttr | None = None,
        ordering: Ordering = Ordering.RELAXED,
        scope: Scope | None = None,
    ) -> None:
        super().__init__(
            operands=[memory, positions],
            properties=_properties(layout, checked, ordering, scope),
            result_types=[result],
        )

    @property
    def matrix(self) -> MatrixType:
        """The type of the result."""
        return matrix_type(self.result)

    @classmethod
    def refused_orderings(cls) -> tuple[Ordering, ...]:
        """A read releases nothing."""
        return Ordering.RELEASE, Ordering.ACQUIRE_RELEASE


@irdl_op_definition
class AtomicStoreOp(AtomicOp):
    """Write each element of a matrix atomically.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf32>, index, index)
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    coopmatrix.atomic_store %c, %memory[%i, %j] row_major release :
      !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
    ```
    """

    name = "coopmatrix.atomic_store"

    value = operand_def(MatrixType)

    traits = traits_def(Collective(), ReadsAndWrites(), NamesConstants())

    assembly_format = (
        "$value `,` " + _ATOMIC + "attr-dict `:` type($value) `,` type($memory)"
    )

    def __init__(
        self,
        value: SSAValue,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        layout: Layout = Layout.ROW_MAJOR,
        checked: CheckedAttr | None = None,
        ordering: Ordering = Ordering.RELAXED,
        scope: Scope | None = None,
    ) -> None:
        super().__init__(
            operands=[value, memory, positions],
            properties=_properties(layout, checked, ordering, scope),
        )

    @property
    def matrix(self) -> MatrixType:
        """The type of the value."""
        return matrix_type(self.value)

    @classmethod
    def refused_orderings(cls) -> tuple[Ordering, ...]:
        """A write acquires nothing."""
        return Ordering.ACQUIRE, Ordering.ACQUIRE_RELEASE

    def verify_(self) -> None:
        """Check that no two elements are written to one place."""
        super().verify_()
        verify_no_zero_stride(self)


class AtomicUpdateOp(AtomicOp, ABC):
    """`mem = mem (op) value`, element by element; the result is what was there before.

    Elements that fail a check are not updated and are 0 in the result.
    """

    value = operand_def(MatrixType)
    result = result_def(MatrixType)

    traits = traits_def(Collective(), ReadsAndWrites(), NamesConstants())

    def __init__(
        self,
        value: SSAValue,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        layout: Layout = Layout.ROW_MAJOR,
        checked: CheckedAttr | None = None,
        ordering: Ordering = Ordering.RELAXED,
        scope: Scope | None = None,
    ) -> None:
        super().__init__(
            operands=[value, memory, positions],
            properties=_properties(layout, checked, ordering, scope),
            result_types=[value.type],
        )

    @property
    def matrix(self) -> MatrixType:
        """The type of the value and of the result."""
        return matrix_type(self.value)

    def verify_(self) -> None:
        """Check that the result is of the type of the value."""
        super().verify_()
        if self.result.type != self.value.type:
            raise VerifyException(
                f"expected a result of {self.value.type}, the type of the value, "
                f"got {self.result.type}"
            )


_UPDATE = (
    "$value `,` " + _ATOMIC + "attr-dict `:` type($value) `,` type($memory) "
    "`->` type($result)"
)


@irdl_op_definition
class AtomicAddOp(AtomicUpdateOp):
    """Add a matrix to memory; the result is what was there before.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xf32>, index, index)
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xf32, acc>
    %old = coopmatrix.atomic_add %c, %memory[%i, %j] row_major relaxed :
      !coopmatrix.matrix<8x16xf32, acc>, memref<64x64xf32>
      -> !coopmatrix.matrix<8x16xf32, acc>
    ```
    """

    name = "coopmatrix.atomic_add"

    assembly_format = _UPDATE


class AtomicOrderOp(AtomicUpdateOp, ABC):
    """An update by the greater or the smaller: integers have a sign."""

    signed = opt_prop_def(UnitAttr)

    def __init__(
        self,
        value: SSAValue,
        memory: SSAValue,
        positions: Sequence[SSAValue],
        layout: Layout = Layout.ROW_MAJOR,
        checked: CheckedAttr | None = None,
        ordering: Ordering = Ordering.RELAXED,
        scope: Scope | None = None,
        signed: bool = False,
    ) -> None:
        super().__init__(value, memory, positions, layout, checked, ordering, scope)
        if signed:
            self.signed = UnitAttr()

    def verify_(self) -> None:
        """Check that only integers are signed."""
        super().verify_()
        if self.signed is not None and not is_integer(self.matrix.element_type):
            raise VerifyException(
                f"expected integers, which can be signed, got "
                f"{self.matrix.element_type}"
            )


_SIGNED_UPDATE = (
    "(`signed` $signed^)? $value `,` "
    + _ATOMIC
    + "attr-dict `:` type($value) `,` type($memory) `->` type($result)"
)


@irdl_op_definition
class AtomicMaxOp(AtomicOrderOp):
    """Leave the greater element in memory; the result is what was there before.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xi32>, index, index)
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xi32, acc>
    %old = coopmatrix.atomic_max signed %c, %memory[%i, %j] row_major relaxed :
      !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32>
      -> !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.atomic_max"

    assembly_format = _SIGNED_UPDATE


@irdl_op_definition
class AtomicMinOp(AtomicOrderOp):
    """Leave the smaller element in memory; the result is what was there before.

    ```mlir
    %memory, %i, %j = "test.op"() : () -> (memref<64x64xi32>, index, index)
    %c = "test.op"() : () -> !coopmatrix.matrix<8x16xi32, acc>
    %old = coopmatrix.atomic_min %c, %memory[%i, %j] col_major relaxed :
      !coopmatrix.matrix<8x16xi32, acc>, memref<64x64xi32>
      -> !coopmatrix.matrix<8x16xi32, acc>
    ```
    """

    name = "coopmatrix.atomic_min"

    assembly_format = _SIGNED_UPDATE
