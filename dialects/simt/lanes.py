"""Operations of `simt` that exchange values between the lanes of a subgroup."""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, UnitAttr, VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.layout.attributes import rule_in
from coopc.dialects.narrow import is_integer, is_vector
from coopc.dialects.simt.attributes import (
    ReduceKind,
    ReduceKindAttr,
    ShuffleMode,
    ShuffleModeAttr,
)
from coopc.dialects.simt.numbers import scalar_type, verify_number
from coopc.dialects.traits import Collective, ReadsLanes
from coopc.layout.distribution import Distribution
from coopc.layout.exchange import Layout, components, sources, subgroup_size
from coopc.layout.linear import LinearLayout


class LaneOp(IRDLOperation, ABC):
    """An exchange of values between the lanes of a subgroup, all of them active."""

    T: ClassVar = VarConstraint("T", AnyAttr())

    value = operand_def(T)
    result = result_def(T)

    traits = traits_def(Collective(), ReadsLanes())

    def verify_(self) -> None:
        """Check that values are numbers or vectors of them."""
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
        """Check the type against the kind and the sign."""
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
    """The same elements in another layout, which lanes read of each other.

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
        """Source and target."""
        return _layout(self.source), _layout(self.target)

    def verify_(self) -> None:
        """Check vectors against layouts, and that a subgroup holds what it wants."""
        for layout, values, what in zip(
            self.layouts,
            (self.values, self.outputs),
            ("values", "results"),
            strict=True,
        ):
            held, wanted = 0, components(layout)
            for value in values:
                assert is_vector(value.type)
                verify_number(value.type)
                held += value.type.element_count()
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
    rule = rule_in(attr)
    if not isinstance(rule, Distribution | LinearLayout):
        raise VerifyException(
            "expected the layout of one matrix, as #layout.coopmatrix<8x16, lanes = 16>"
            f" or #layout.linear<..>, got {attr}"
        )
    return rule
