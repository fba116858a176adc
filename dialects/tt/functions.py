"""Functions of Triton: kernels, and what they call."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    i1,
    i32,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryWriteEffect,
    Pure,
    ReturnLike,
    SymbolOpInterface,
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import (
    EnumConstraint,
    Keyword,
    ProgramAxis,
    expect_element,
    expect_rank,
    expect_shape,
    member,
    verify_layouts,
)

RESERVED = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function; one that is public and returns nothing is a kernel.

    Arguments have attributes, as `tt.divisibility`.  A body that has tensors with
    encodings is verified against the module: see `verify_layouts`.

    ```mlir
    module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
      tt.func public @kernel(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32)
          attributes {noinline = false} {
        tt.return
      }
    }
    ```
    """

    name = "tt.func"

    body = region_def()
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    @property
    def is_kernel(self) -> bool:
        """Whether the host calls it."""
        visibility = self.sym_visibility
        is_public = visibility is None or visibility.data == "public"
        return is_public and not self.function_type.outputs.data

    def argument_attributes(self, position: int) -> Mapping[str, Attribute]:
        if self.arg_attrs is None:
            return {}
        return self.arg_attrs.data[position].data

    def verify_(self) -> None:
        if (entry := self.body.first_block) is None:
            return
        wanted, found = self.function_type.inputs.data, tuple(entry.arg_types)
        if wanted != found:
            raise VerifyException(
                f"expected a body with arguments {listed(wanted)}, as the function "
                f"type says, got {listed(found)}"
            )
        verify_layouts(self)

    @classmethod
    def parse(cls, parser: Parser) -> FuncOp:
        """Parse `public @f(%x: i32 {..}) -> i32 attributes {..} { .. }`."""
        visibility = parser.parse_optional_visibility_keyword()
        name, inputs, outputs, body, extra, arg_attrs, res_attrs = parse_func_op_like(
            parser, reserved_attr_names=RESERVED
        )
        return cls.build(
            properties={
                "sym_name": StringAttr(name),
                "function_type": FunctionType.from_lists(inputs, outputs),
                "sym_visibility": visibility,
                "arg_attrs": arg_attrs,
                "res_attrs": res_attrs,
            },
            attributes={} if extra is None else dict(extra.data),
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        if self.sym_visibility is not None:
            printer.print_string(f" {self.sym_visibility.data}")
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            self.attributes,
            arg_attrs=self.arg_attrs,
            res_attrs=self.res_attrs,
            reserved_attr_names=RESERVED,
        )


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The end of a function, with its results.

    ```mlir
    tt.func private @same(%x: tensor<16xf32>) -> tensor<16xf32> {
      tt.return %x : tensor<16xf32>
    }
    ```
    """

    name = "tt.return"

    srcs = var_operand_def()

    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(FuncOp), ReturnLike()))

    assembly_format = "attr-dict ($srcs^ `:` type($srcs))?"

    def verify_(self) -> None:
        func = self.parent_op()
        assert isinstance(func, FuncOp), func
        wanted, found = func.function_type.outputs.data, self.srcs.types
        if wanted != tuple(found):
            raise VerifyException(
                f"expected {listed(wanted)}, the results of @{func.sym_name.data}, "
                f"got {listed(found)}"
            )


class NamesFunction(SymbolUserOpInterface):
    """The function that is called is in the module, with these types."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallOp), op
        name = op.callee.string_value()
        found = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(found, FuncOp):
            kind = "nothing" if found is None else found.name
            raise VerifyException(f"expected a tt.func @{name} to call, got {kind}")
        type = found.function_type
        for what, wanted, given in (
            ("arguments", type.inputs.data, op.arguments.types),
            ("results", type.outputs.data, op.res.types),
        ):
            if wanted != tuple(given):
                raise VerifyException(
                    f"expected {what} {listed(wanted)}, as @{name} has, "
                    f"got {listed(given)}"
                )


@irdl_op_definition
class CallOp(IRDLOperation):
    """Call a function of the same module.

    ```mlir
    module {
      tt.func private @twice(%x: f32) -> f32 {
        %y = arith.addf %x, %x : f32
        tt.return %y : f32
      }
      tt.func public @kernel(%x: f32) {
        %y = tt.call @twice(%x) : (f32) -> f32
        tt.return
      }
    }
    ```
    """

    name = "tt.call"

    arguments = var_operand_def()
    callee = prop_def(FlatSymbolRefAttrConstr)
    arg_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res_attrs = opt_prop_def(ArrayAttr[DictionaryAttr])
    res = var_result_def()

    traits = traits_def(NamesFunction())
    irdl_options = (ParsePropInAttrDict(),)

    assembly_format = (
        "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $res)"
    )


def listed(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


# Operations of Triton that are about programs: which one, a range, a message.


class ProgramOp(IRDLOperation, ABC):
    """A position or a size along one axis of the grid."""

    axis = prop_def(EnumConstraint(ProgramAxis))
    result = result_def(i32)

    traits = traits_def(Pure())
    custom_directives = (Keyword,)
    assembly_format = "custom<Keyword>($axis) attr-dict `:` type($result)"

    @property
    def program_axis(self) -> ProgramAxis:
        return member(ProgramAxis, self.axis)


@irdl_op_definition
class GetProgramIdOp(ProgramOp):
    """The position of the program (the work-group) in the grid.

    ```mlir
    %x = tt.get_program_id x : i32
    ```
    """

    name = "tt.get_program_id"


@irdl_op_definition
class GetNumProgramsOp(ProgramOp):
    """The number of programs (work-groups) along an axis.

    ```mlir
    %x = tt.get_num_programs y : i32
    ```
    """

    name = "tt.get_num_programs"


@irdl_op_definition
class MakeRangeOp(IRDLOperation):
    """The integers from `start` up to but not including `end`.

    | value  | type        |
    |--------|-------------|
    | result | (end-start) |

    ```mlir
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    ```
    """

    name = "tt.make_range"

    start = prop_def(IntegerAttr[I32])
    end = prop_def(IntegerAttr[I32])
    result = result_def(TensorType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, start: int, end: int, result_type: Attribute) -> None:
        super().__init__(
            properties={
                "start": IntegerAttr(start, i32),
                "end": IntegerAttr(end, i32),
            },
            result_types=[result_type],
        )

    def verify_(self) -> None:
        start, end = self.start.value.data, self.end.value.data
        if end <= start:
            raise VerifyException(
                f"expected end to be above start = {start}, got {end}"
            )
        expect_rank("the result", self.result.type, 1)
        expect_element("the result", self.result.type, i32, "as a range is")
        why = f"as from {start} to {end}"
        expect_shape("the result", self.result.type, (end - start,), why)


@irdl_op_definition
class PrintOp(IRDLOperation):
    """Print values, each with its position.

    `isSigned` says of each argument whether it is a signed integer.

    ```mlir
    %x = "test.op"() : () -> tensor<16xi32>
    tt.print " x: " {hex = false, isSigned = array<i32: 1>} : %x : tensor<16xi32>
    ```
    """

    name = "tt.print"

    prefix = prop_def(StringAttr)
    hex = prop_def(BoolAttr)
    is_signed = opt_prop_def(DenseArrayBase.constr(i32), prop_name="isSigned")
    args = var_operand_def()

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$prefix attr-dict (`:` $args^ `:` type($args))?"

    def verify_(self) -> None:
        signs = None if self.is_signed is None else len(self.is_signed.get_values())
        if signs not in (None, len(self.args)):
            raise VerifyException(
                f"expected isSigned for {len(self.args)} arguments, got {signs}"
            )


@irdl_op_definition
class AssertOp(IRDLOperation):
    """End the program with a message unless every element of a condition is true.

    ```mlir
    %x = "test.op"() : () -> tensor<16xi1>
    tt.assert %x, "positive" : tensor<16xi1>
    ```
    """

    name = "tt.assert"

    condition = operand_def()
    message = prop_def(StringAttr)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition `,` $message attr-dict `:` type($condition)"

    def verify_(self) -> None:
        if element_of(self.condition.type) != i1:
            raise VerifyException(
                f"expected a condition of i1, got {self.condition.type}"
            )
