"""Atomic updates of memory through pointers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import AnyFloat, IntegerType, i1
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    irdl_custom_directive,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.checks import expect_like
from coopc.dialects.tt.enums import EnumConstraint, Keyword, TritonEnum, member
from coopc.dialects.tt.types import is_tensor, pointee_of


class Update(TritonEnum):
    """What becomes of an element and a value."""

    AND = 1
    OR = 2
    XOR = 3
    ADD = 4
    FADD = 5
    MAX = 6
    """Of signed integers."""
    MIN = 7
    UMAX = 8
    UMIN = 9
    EXCH = 10
    """The value."""


class Order(TritonEnum):
    """What other accesses see of one that is atomic."""

    RELAXED = 1
    ACQUIRE = 2
    RELEASE = 3
    ACQ_REL = 4


class SyncScope(TritonEnum):
    """Who sees an access as atomic."""

    GPU = 1
    """The device."""
    CTA = 2
    """The work-group."""
    SYS = 3
    """The host and all devices."""


@irdl_custom_directive
class UpdateKeyword(Keyword):
    """`fadd`."""

    ENUM: ClassVar[type[TritonEnum]] = Update
    attr: AttributeVariable


@irdl_custom_directive
class OrderKeyword(Keyword):
    """`acq_rel`."""

    ENUM: ClassVar[type[TritonEnum]] = Order
    attr: AttributeVariable


@irdl_custom_directive
class SyncScopeKeyword(Keyword):
    """`gpu`."""

    ENUM: ClassVar[type[TritonEnum]] = SyncScope
    attr: AttributeVariable


def verify_pointee(ptr: SSAValue, values: dict[str, SSAValue]) -> Attribute:
    """Check pointers, and what they point to against some values; return that.

    Raises:
        VerifyException: it is no element, or a value has another type.
    """
    pointee = pointee_of(ptr.type)
    if pointee is None or is_tensor(pointee) != is_tensor(ptr.type):
        raise VerifyException(
            f"expected pointers to elements to be updated, got {ptr.type}"
        )
    for name, value in values.items():
        if value.type != pointee:
            raise VerifyException(
                f"expected {name} to be {pointee}, as ptr points to, got {value.type}"
            )
    return pointee


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """Update what pointers point to, where a mask is true; the result was there before.

    | value  | type                          |
    |--------|-------------------------------|
    | ptr    | !tt.ptr<T>, or tensor of them |
    | val    | T, in that shape              |
    | mask   | i1, in that shape             |
    | result | T, in that shape              |

    ```mlir
    %p = "test.op"() : () -> tensor<64x!tt.ptr<f32>>
    %x, %m = "test.op"() : () -> (tensor<64xf32>, tensor<64xi1>)
    %old = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x, %m
         : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> tensor<64xf32>
    ```
    """

    name = "tt.atomic_rmw"

    update = prop_def(EnumConstraint(Update), prop_name="atomic_rmw_op")
    sem = prop_def(EnumConstraint(Order))
    scope = prop_def(EnumConstraint(SyncScope))
    ptr = operand_def()
    val = operand_def()
    mask = opt_operand_def()
    result = result_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (UpdateKeyword, OrderKeyword, SyncScopeKeyword)
    assembly_format = (
        "custom<UpdateKeyword>($atomic_rmw_op) `,` custom<OrderKeyword>($sem) `,` "
        "custom<SyncScopeKeyword>($scope) `,` $ptr `,` $val (`,` $mask^)? attr-dict "
        "`:` functional-type(operands, results)"
    )

    def __init__(
        self,
        update: Update,
        ptr: SSAValue,
        val: SSAValue,
        mask: SSAValue | None = None,
        *,
        sem: Order = Order.ACQ_REL,
        scope: SyncScope = SyncScope.GPU,
    ) -> None:
        super().__init__(
            operands=[ptr, val, () if mask is None else (mask,)],
            properties={
                "atomic_rmw_op": update.attribute,
                "sem": sem.attribute,
                "scope": scope.attribute,
            },
            result_types=[val.type],
        )

    @property
    def kind(self) -> Update:
        """What becomes of an element."""
        return member(Update, self.update)

    @property
    def order(self) -> Order:
        """What other accesses see."""
        return member(Order, self.sem)

    @property
    def sync_scope(self) -> SyncScope:
        """Who sees it as atomic."""
        return member(SyncScope, self.scope)

    def verify_(self) -> None:
        """Check value, mask and result against the pointers, and the update."""
        values = {"val": self.val, "the result": self.result}
        pointee = verify_pointee(self.ptr, values)
        if self.mask is not None:
            if element_of(self.mask.type) != i1:
                raise VerifyException(f"expected i1 for a mask, got {self.mask.type}")
            expect_like("mask", self.mask.type, "ptr", self.ptr.type)
        self._verify_kind(element_of(pointee))

    def _verify_kind(self, element: Attribute) -> None:
        """Check that elements can be updated so."""
        kind = self.kind
        if kind is Update.EXCH:
            return
        wanted = AnyFloat if kind is Update.FADD else IntegerType
        if not isinstance(element, wanted):
            what = "floats" if kind is Update.FADD else "integers"
            raise VerifyException(f"expected {what} for {kind.keyword}, got {element}")


@irdl_op_definition
class AtomicCASOp(IRDLOperation):
    """Replace what pointers point to where it is `cmp`; the result was there before.

    | value    | type                          |
    |----------|-------------------------------|
    | ptr      | !tt.ptr<T>, or tensor of them |
    | cmp, val | T, in that shape              |
    | result   | T, in that shape              |

    ```mlir
    %p, %x, %y = "test.op"() : () -> (!tt.ptr<i32>, i32, i32)
    %old = tt.atomic_cas acq_rel, gpu, %p, %x, %y : (!tt.ptr<i32>, i32, i32) -> i32
    ```
    """

    name = "tt.atomic_cas"

    sem = prop_def(EnumConstraint(Order))
    scope = prop_def(EnumConstraint(SyncScope))
    ptr = operand_def()
    cmp = operand_def()
    val = operand_def()
    result = result_def()

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (OrderKeyword, SyncScopeKeyword)
    assembly_format = (
        "custom<OrderKeyword>($sem) `,` custom<SyncScopeKeyword>($scope) `,` $ptr `,` "
        "$cmp `,` $val attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        ptr: SSAValue,
        cmp: SSAValue,
        val: SSAValue,
        *,
        sem: Order = Order.ACQ_REL,
        scope: SyncScope = SyncScope.GPU,
    ) -> None:
        super().__init__(
            operands=[ptr, cmp, val],
            properties={"sem": sem.attribute, "scope": scope.attribute},
            result_types=[val.type],
        )

    def verify_(self) -> None:
        """Check the values and the result against the pointers."""
        values = {"cmp": self.cmp, "val": self.val, "the result": self.result}
        verify_pointee(self.ptr, values)
