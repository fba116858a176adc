"""The `simt` dialect: kernels of work-items, and what the lanes of a subgroup do."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Sequence
from enum import auto
from typing import TYPE_CHECKING, ClassVar

from xdsl.dialects.builtin import (
    AnyFloat,
    IndexType,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    VectorType,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
)
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from coopc.dialects.definitions import dialect_of
from coopc.dialects.narrow import (
    is_integer,
    length_of,
)
from coopc.dialects.simt.kernels import *
from coopc.dialects.simt.memory import *
from coopc.dialects.simt.memory import scalar_type as scalar_type
from coopc.dialects.simt.sequences import *
from coopc.dialects.traits import Collective, ReadsAndWrites, ReadsLanes

if TYPE_CHECKING:
    from coopc.layout.exchange import Layout


def verify_number(type: Attribute) -> None:
    if not isinstance(scalar_type(type), IntegerType | IndexType | AnyFloat):
        raise VerifyException(f"expected a number or a vector of numbers, got {type}")


TARGET = "simt.target"
"""On a module: what it is compiled for (`TargetAttr`)."""

ORDERING = "simt.ordering"
"""On an access to an element of a memref: it is atomic, with this ordering (a string of
`coopmatrix.ordering`)."""
ORDERING_SCOPE = "simt.ordering_scope"
"""On such an access: who sees it as atomic (a string of `coopmatrix.scope`)."""
ALIGNMENT = "alignment"
"""On a load or a store of a vector: bytes that divide the address of its first element.
"""
VOLATILE = "simt.volatile"
"""On an access to an element of a memref: it is done as often as it says (unit)."""

UNROLL = "simt.unroll"
"""On a loop: whether the driver is to write it out (true) or not to (false); without
it, the driver does as it likes."""


class Dimension(StrEnum):
    """An axis of the grid and of the work-group."""

    X = auto()
    Y = auto()
    Z = auto()


class MemorySpace(StrEnum):
    """Where a memref is, where it is not in global memory."""

    GLOBAL = auto()
    WORKGROUP = auto()
    """Shared by the work-items of a work-group (SLM, shared memory)."""
    PRIVATE = auto()
    """A work-item's own."""


class Flavour(StrEnum):
    """Which of SPIR-V's environments a module is for."""

    OPENCL = auto()
    """Physical64, kernels."""
    VULKAN = auto()
    """Logical, VulkanMemoryModel, compute shaders."""


class ShuffleMode(StrEnum):
    """Which lane a lane takes a value from, given an offset."""

    IDX = auto()
    """Lane `offset`."""
    XOR = auto()
    """Lane `lane ^ offset`."""
    UP = auto()
    """Lane `lane - offset`."""
    DOWN = auto()
    """Lane `lane + offset`."""


class ReduceKind(StrEnum):
    """How two values become one."""

    ADD = auto()
    MUL = auto()
    MAX = auto()
    MIN = auto()
    AND = auto()
    OR = auto()
    XOR = auto()


class FenceScope(StrEnum):
    """Who waits at a barrier."""

    WORKGROUP = auto()
    SUBGROUP = auto()


@irdl_attr_definition
class DimensionAttr(EnumAttribute[Dimension], SpacedOpaqueSyntaxAttribute):
    """A `Dimension`, as in `#simt<dim x>`."""

    name = "simt.dim"


@irdl_attr_definition
class MemoryAttr(EnumAttribute[MemorySpace]):
    """A `MemorySpace`, as in `memref<16xf16, #simt.memory<workgroup>>`."""

    name = "simt.memory"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MemorySpace:
        with parser.in_angle_brackets():
            return super().parse_parameter(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            super().print_parameter(printer)


DEVICE_NAME = re.compile(r"[A-Za-z_][\w$.]*(-[A-Za-z_][\w$.]*)*", re.ASCII)
"""The names of devices that need no quotes: identifiers, joined by dashes."""


def _parse_device(parser: AttrParser) -> str:
    """Parse `lavapipe`, `intel-cpu` or, for any other name, `"16 lanes"`."""
    if (name := parser.parse_optional_str_literal()) is not None:
        return name
    parts = [parser.parse_identifier(": a device, as in lavapipe or intel-cpu")]
    while parser.parse_optional_punctuation("-") is not None:
        parts.append(parser.parse_identifier(": the rest of the device's name"))
    return "-".join(parts)


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """What a module is compiled for, as in `#simt.target<opencl, intel-cpu>`.

    Pipelines write it, emission reads it.  The device is a name in
    `coopc.device.DEVICES`.
    """

    name = "simt.target"

    flavour: StringAttr
    device: StringAttr

    @classmethod
    def of(cls, flavour: Flavour, device: str) -> TargetAttr:
        return TargetAttr(StringAttr(str(flavour)), StringAttr(device))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<vulkan, lavapipe>`."""
        with parser.in_angle_brackets():
            flavour = StringAttr(str(parser.parse_str_enum(Flavour)))
            parser.parse_punctuation(",")
            device = _parse_device(parser)
        return flavour, StringAttr(device)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.flavour.data}, ")
            if DEVICE_NAME.fullmatch(self.device.data):
                printer.print_string(self.device.data)
            else:
                printer.print_string_literal(self.device.data)

    def verify(self) -> None:
        if self.flavour.data not in list(Flavour):
            raise VerifyException(
                f"expected {' or '.join(Flavour)}, got {self.flavour.data}"
            )
        if not self.device.data:
            raise VerifyException("expected the name of a device, got nothing")


@irdl_attr_definition
class ShuffleModeAttr(EnumAttribute[ShuffleMode], SpacedOpaqueSyntaxAttribute):
    """A `ShuffleMode`, as in `#simt<shuffle_mode xor>`."""

    name = "simt.shuffle_mode"


@irdl_attr_definition
class ReduceKindAttr(EnumAttribute[ReduceKind], SpacedOpaqueSyntaxAttribute):
    """A `ReduceKind`, as in `#simt<reduce_kind add>`."""

    name = "simt.reduce_kind"


@irdl_attr_definition
class FenceScopeAttr(EnumAttribute[FenceScope], SpacedOpaqueSyntaxAttribute):
    """A `FenceScope`, as in `#simt<fence_scope workgroup>`."""

    name = "simt.fence_scope"


def target_of(module: ModuleOp) -> TargetAttr | None:
    """Return what a module is compiled for, if it says so.

    Raises:
        VerifyException: where the module's attribute is not a target.
    """
    found = module.attributes.get(TARGET)
    if found is None or isinstance(found, TargetAttr):
        return found
    error = VerifyException(
        f"expected {TARGET} to be a flavour and a device, as in "
        f"#simt.target<vulkan, lavapipe>, got {found}"
    )
    module.emit_error(str(error), error)


# Operations of `simt` that say where a work-item is, and among how many.


class DimensionOp(IRDLOperation, ABC):
    """A position or a size along one dimension."""

    dimension = prop_def(DimensionAttr)
    result = result_def(IndexType())

    traits = traits_def(Pure())

    assembly_format = "$dimension attr-dict `:` type($result)"

    @property
    def axis(self) -> int:
        """0, 1 or 2."""
        return list(Dimension).index(self.dimension.data)

    def __init__(self, dimension: Dimension) -> None:
        super().__init__(
            properties={"dimension": DimensionAttr(dimension)},
            result_types=[IndexType()],
        )


class IdOp(IRDLOperation, ABC):
    """A position or a size that has no dimensions."""

    result = result_def(IndexType())

    traits = traits_def(Pure())

    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[IndexType()])


@irdl_op_definition
class WorkgroupIdOp(DimensionOp):
    """The position of the work-group in the grid.

    ```mlir
    %x = simt.workgroup_id x : index
    ```
    """

    name = "simt.workgroup_id"


@irdl_op_definition
class NumWorkgroupsOp(DimensionOp):
    """The number of work-groups in the grid.

    ```mlir
    %x = simt.num_workgroups x : index
    ```
    """

    name = "simt.num_workgroups"


@irdl_op_definition
class LocalIdOp(DimensionOp):
    """The position of the work-item in its work-group.

    ```mlir
    %x = simt.local_id x : index
    ```
    """

    name = "simt.local_id"


@irdl_op_definition
class WorkgroupSizeOp(DimensionOp):
    """The number of work-items of a work-group.

    ```mlir
    %x = simt.workgroup_size x : index
    ```
    """

    name = "simt.workgroup_size"


@irdl_op_definition
class SubgroupIdOp(IdOp):
    """The number of the subgroup in its work-group.

    ```mlir
    %x = simt.subgroup_id : index
    ```
    """

    name = "simt.subgroup_id"


@irdl_op_definition
class NumSubgroupsOp(IdOp):
    """The number of subgroups of the work-group.

    ```mlir
    %x = simt.num_subgroups : index
    ```
    """

    name = "simt.num_subgroups"


@irdl_op_definition
class LaneIdOp(IdOp):
    """The number of the lane in its subgroup.

    ```mlir
    %x = simt.lane_id : index
    ```
    """

    name = "simt.lane_id"


@irdl_op_definition
class SubgroupSizeOp(IdOp):
    """The number of lanes of a subgroup.

    ```mlir
    %x = simt.subgroup_size : index
    ```
    """

    name = "simt.subgroup_size"


# Operations of `simt` at which work-items wait for each other.
#
# No access to memory moves across them.


class WaitingOp(IRDLOperation, ABC):
    """An operation that every work-item of a scope executes, to wait for the others."""

    scope = prop_def(FenceScopeAttr)

    traits = traits_def(Collective(), ReadsAndWrites())

    assembly_format = "$scope attr-dict"

    def __init__(self, scope: FenceScope = FenceScope.WORKGROUP) -> None:
        super().__init__(properties={"scope": FenceScopeAttr(scope)})


@irdl_op_definition
class BarrierOp(WaitingOp):
    """Wait for every work-item of the scope, and see what they wrote.

    Every work-item of the scope must execute it.  What was written before it, in global
    and in work-group memory, is seen after it.

    With `memory`, only what was written in that memory is.

    ```mlir
    simt.barrier workgroup
    simt.barrier workgroup memory = <workgroup>
    ```
    """

    name = "simt.barrier"

    memory = opt_prop_def(MemoryAttr)

    assembly_format = "$scope (`memory` `=` $memory^)? attr-dict"

    def __init__(
        self,
        scope: FenceScope = FenceScope.WORKGROUP,
        memory: MemorySpace | None = None,
    ) -> None:
        super().__init__(scope)
        self.memory = None if memory is None else MemoryAttr(memory)

    def verify_(self) -> None:
        if self.memory is not None and self.memory.data is MemorySpace.PRIVATE:
            raise VerifyException(
                "expected memory that others see, global or workgroup, got private"
            )


@irdl_op_definition
class BarrierArriveOp(WaitingOp):
    """The first half of a barrier: say that this work-item is there, and go on.

    Every work-item of the scope must execute it, and then the other half.  What was
    written before it, in global and in work-group memory, is seen after the other half.

    ```mlir
    simt.barrier_arrive workgroup
    ```
    """

    name = "simt.barrier_arrive"


@irdl_op_definition
class BarrierWaitOp(WaitingOp):
    """The second half of a barrier: wait for those who have not arrived.

    Every work-item of the scope must execute it, after the first half.  What was
    written before the first half, in global and in work-group memory, is seen after it.

    ```mlir
    simt.barrier_wait workgroup
    ```
    """

    name = "simt.barrier_wait"


# Operations of `simt` that exchange values between the lanes of a subgroup.


class LaneOp(IRDLOperation, ABC):
    """An exchange of values between the lanes of a subgroup, all of them active."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    result = result_def(T)

    traits = traits_def(Collective(), ReadsLanes())

    def verify_(self) -> None:
        verify_number(self.value.type)


@irdl_op_definition
class BroadcastOp(LaneOp):
    """The value that one lane has, in all lanes; `lane` is the same in all of them.

    ```mlir
    %v, %lane = "test.op"() : () -> (f32, index)
    %w = simt.broadcast %v, %lane : f32
    ```
    """

    name = "simt.broadcast"

    value = operand_def(LaneOp.T)
    lane = operand_def(IndexType())

    assembly_format = "$value `,` $lane attr-dict `:` type($value)"

    def __init__(self, value: SSAValue, lane: SSAValue) -> None:
        super().__init__(operands=[value, lane], result_types=[value.type])


@irdl_op_definition
class ShuffleOp(LaneOp):
    """The value that another lane has; undefined where that lane does not exist.

    ```mlir
    %v, %offset = "test.op"() : () -> (i32, index)
    %w = simt.shuffle xor %v, %offset : i32
    ```
    """

    name = "simt.shuffle"

    value = operand_def(LaneOp.T)
    offset = operand_def(IndexType())
    mode = prop_def(ShuffleModeAttr)

    assembly_format = "$mode $value `,` $offset attr-dict `:` type($value)"

    def __init__(self, mode: ShuffleMode, value: SSAValue, offset: SSAValue) -> None:
        super().__init__(
            operands=[value, offset],
            properties={"mode": ShuffleModeAttr(mode)},
            result_types=[value.type],
        )


@irdl_op_definition
class ReduceOp(LaneOp):
    """Values of all lanes reduced to one, which all lanes get.

    The order is open.  `signed` orders integers in `max` and `min`; of a number and a
    NaN they take the number.

    ```mlir
    %v, %n = "test.op"() : () -> (f32, i32)
    %sum = simt.reduce add %v : f32
    %most = simt.reduce max signed %n : i32
    ```
    """

    name = "simt.reduce"

    kind = prop_def(ReduceKindAttr)
    signed = opt_prop_def(UnitAttr)

    assembly_format = "$kind (`signed` $signed^)? $value attr-dict `:` type($value)"

    def __init__(self, kind: ReduceKind, value: SSAValue, signed: bool = False) -> None:
        super().__init__(
            operands=[value],
            properties={
                "kind": ReduceKindAttr(kind),
                "signed": UnitAttr() if signed else None,
            },
            result_types=[value.type],
        )

    def verify_(self) -> None:
        super().verify_()
        type = scalar_type(self.value.type)
        bitwise = (ReduceKind.AND, ReduceKind.OR, ReduceKind.XOR)
        if self.kind.data in bitwise and not is_integer(type):
            raise VerifyException(
                f"expected integers, as {self.kind.data} needs, got {type}"
            )
        ordered = (ReduceKind.MAX, ReduceKind.MIN)
        if self.signed is not None and (
            self.kind.data not in ordered or not is_integer(type)
        ):
            raise VerifyException(
                "expected max or min of integers, which can be signed, "
                f"got {self.kind.data} of {type}"
            )


@irdl_op_definition
class ExchangeOp(IRDLOperation):
    """The same elements in another layout, exchanged between lanes.

    | value   | components, those of all vectors counted through                      |
    |---------|----------------------------------------------------------------------|
    | values  | what a lane holds by the layout `source`; more are left over          |
    | results | what it holds by `target`; padding, and what is left over, is poison  |

    A layout is that of one matrix, `#layout.coopmatrix<..>` or `#layout.row_slice<..>`,
    or `#layout.linear<..>` from register, lane and perhaps warp: then the number of the
    subgroup says where elements are, too.  What a lane wants is held in its subgroup.

    ```mlir
    %v = "test.op"() : () -> vector<2xf16>
    %w = simt.exchange %v
           from #layout.coopmatrix<2x2, lanes = 2> to #layout.row_slice<2x2, lanes = 2>
           : vector<2xf16> -> vector<2xf16>
    ```
    """

    name = "simt.exchange"

    values = var_operand_def(VectorType)
    outputs = var_result_def(VectorType)
    source = prop_def()
    target = prop_def()

    traits = traits_def(Collective(), ReadsLanes())

    assembly_format = (
        "$values `from` $source `to` $target attr-dict `:` "
        "type($values) `->` type($outputs)"
    )

    def __init__(
        self,
        values: Sequence[SSAValue],
        source: Attribute,
        target: Attribute,
        result_types: Sequence[Attribute],
    ) -> None:
        super().__init__(
            operands=[values],
            properties={"source": source, "target": target},
            result_types=[result_types],
        )

    @property
    def layouts(self) -> tuple[Layout, Layout]:
        return _layout(self.source), _layout(self.target)

    def verify_(self) -> None:
        from coopc.layout.exchange import components, sources, subgroup_size

        for layout, values, what in zip(
            self.layouts,
            (self.values, self.outputs),
            ("values", "results"),
            strict=True,
        ):
            held, wanted = 0, components(layout)
            for value in values:
                verify_number(value.type)
                held += length_of(value)
            if held < wanted:
                raise VerifyException(
                    f"expected {what} of {wanted} components, as the layout has for "
                    f"each lane, got {held}"
                )
        elements = {scalar_type(x.type) for x in (*self.values, *self.outputs)}
        if len(elements) > 1:
            names = " and ".join(sorted(map(str, elements)))
            raise VerifyException(f"expected elements of one type, got {names}")
        source, target = self.layouts
        sizes = [subgroup_size(x) for x in (source, target)]
        if sizes[0] != sizes[1]:
            raise VerifyException(
                f"expected layouts of subgroups of one size, got {sizes[0]} and "
                f"{sizes[1]} lanes"
            )
        try:
            found = sources(source, target, sizes[0])
        except ValueError as error:
            raise VerifyException(str(error)) from error
        if found is None:
            raise VerifyException(
                "expected each subgroup to hold the elements that its lanes want, got "
                "one that another subgroup holds"
            )


def _layout(attr: Attribute) -> Layout:
    # Few programs have layouts, which take longer to import than this dialect.
    from coopc.dialects.layout import rule_in
    from coopc.layout.distribution import Distribution
    from coopc.layout.linear import LinearLayout

    rule = rule_in(attr)
    if not isinstance(rule, Distribution | LinearLayout):
        raise VerifyException(
            "expected the layout of one matrix, as #layout.coopmatrix<8x16, lanes = 16>"
            f" or #layout.linear<..>, got {attr}"
        )
    return rule


Simt = dialect_of("simt", globals())
