"""`scf.forall` as MLIR 22 prints it, which xDSL 0.74 lacks.

    scf.forall (%i) in (4) shared_outs(%o = %t) -> (tensor<..>) {..}

What its points do to its results is `tensor.parallel_insert_slice`, which is in
`coopc.dialects.tensor_forms`: loops need no tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    TensorType,
    i64,
)
from xdsl.dialects.utils import (
    parse_dynamic_index_list_without_types,
    print_dynamic_index_list,
)
from xdsl.ir import Attribute, Block, Dialect, Region
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

BOUNDS = {
    "lower": "staticLowerBound",
    "upper": "staticUpperBound",
    "step": "staticStep",
}
"""The bounds of the loops, and the properties with the constants among them."""


@irdl_op_definition
class ForallOp(IRDLOperation):
    """Run a body for each point of a grid, in no order; each sets a part of the results.

    ```mlir
    %t = "test.op"() : () -> tensor<8xf32>
    %r = scf.forall (%i) in (8) shared_outs(%o = %t) -> (tensor<8xf32>) {
      %s = tensor.extract_slice %t[%i] [1] [1] : tensor<8xf32> to tensor<1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
      }
    }
    ```
    """  # noqa: E501

    name = "scf.forall"

    lower = var_operand_def(IndexType)
    upper = var_operand_def(IndexType)
    step = var_operand_def(IndexType)
    outputs = var_operand_def(TensorType)
    static_lower = prop_def(DenseArrayBase.constr(i64), prop_name=BOUNDS["lower"])
    static_upper = prop_def(DenseArrayBase.constr(i64), prop_name=BOUNDS["upper"])
    static_step = prop_def(DenseArrayBase.constr(i64), prop_name=BOUNDS["step"])
    mapping = opt_prop_def(ArrayAttr)
    res = var_result_def(TensorType)
    body = region_def("single_block")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse(cls, parser: Parser) -> ForallOp:
        indices = parser.parse_comma_separated_list(
            Parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        given: dict[str, tuple[Sequence[Any], Sequence[int]]] = {
            "lower": ((), (0,) * len(indices)),
            "step": ((), (1,) * len(indices)),
        }
        words = {"in": "upper"}
        if parser.parse_optional_punctuation("=") is not None:
            given["lower"] = _parse_bounds(parser)
            words = {"to": "upper", "step": "step"}
        for word, name in words.items():
            parser.parse_keyword(word)
            given[name] = _parse_bounds(parser)
        names: list[Any] = []
        values: list[Any] = []
        if parser.parse_optional_keyword("shared_outs") is not None:

            def parse_output() -> None:
                names.append(parser.parse_argument(expect_type=False))
                parser.parse_punctuation("=")
                values.append(parser.parse_unresolved_operand())

            parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parse_output)
        start, types = parser.pos, list[Attribute]()
        if parser.parse_optional_punctuation("->") is not None:
            types += parser.parse_comma_separated_list(
                Parser.Delimiter.PAREN, parser.parse_type
            )
        outputs = parser.resolve_operands(values, types, start)
        kinds = [*(IndexType() for _ in indices), *types]
        arguments = [
            each.resolve(type)
            for each, type in zip((*indices, *names), kinds, strict=True)
        ]
        region = parser.parse_region(arguments)
        if region.block.last_op is None or not isinstance(
            region.block.last_op, InParallelOp
        ):
            region.block.add_op(InParallelOp.build(regions=[Region(Block())]))
        attributes = parser.parse_optional_attr_dict()
        properties: dict[str, Attribute] = {
            BOUNDS[name]: DenseArrayBase.from_list(i64, given[name][1])
            for name in BOUNDS
        }
        if (mapping := attributes.pop("mapping", None)) is not None:
            properties["mapping"] = mapping
        return cls.build(
            operands=(*(given[name][0] for name in BOUNDS), outputs),
            result_types=(types,),
            properties=properties,
            attributes=attributes,
            regions=(region,),
        )

    def print(self, printer: Printer) -> None:
        count = len(self.static_upper)
        args = self.body.block.args
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(args[:count], printer.print_ssa_value)
        for word, name in zip(("=", "to", "step"), BOUNDS, strict=True):
            printer.print_string(f" {word} ")
            print_dynamic_index_list(
                printer,
                DYNAMIC_INDEX,
                getattr(self, name),
                getattr(self, f"static_{name}").get_values(),
                delimiter=Parser.Delimiter.PAREN,
            )
        if self.outputs:
            printer.print_string(" shared_outs")

            def print_output(pair: Any) -> None:
                printer.print_ssa_value(pair[0])
                printer.print_string(" = ")
                printer.print_ssa_value(pair[1])

            with printer.in_parens():
                pairs = zip(args[count:], self.outputs, strict=True)
                printer.print_list(pairs, print_output)
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.outputs.types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        mapping = {} if self.mapping is None else {"mapping": self.mapping}
        printer.print_op_attributes({**mapping, **self.attributes})

    def verify_(self) -> None:
        types = [
            *(IndexType() for _ in self.static_upper.get_values()),
            *self.outputs.types,
        ]
        if [*self.body.block.arg_types] != types:
            raise VerifyException("expected an argument for each loop and each output")
        if not isinstance(self.body.block.last_op, InParallelOp):
            raise VerifyException("expected scf.forall.in_parallel at the end")


def _parse_bounds(parser: Parser) -> tuple[Sequence[Any], Sequence[int]]:
    position = parser.pos
    dynamic, static = parse_dynamic_index_list_without_types(
        parser, DYNAMIC_INDEX, delimiter=Parser.Delimiter.PAREN
    )
    types = [IndexType()] * len(dynamic)
    return parser.resolve_operands(dynamic, types, position), static


@irdl_op_definition
class InParallelOp(IRDLOperation):
    """What the points of `scf.forall` do to its results."""

    name = "scf.forall.in_parallel"

    body = region_def("single_block")

    traits = traits_def(IsTerminator(), NoTerminator())

    @classmethod
    def parse(cls, parser: Parser) -> InParallelOp:
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.build(regions=[region])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_region(self.body)


Scf = Dialect("scf", [*scf.Scf.operations, ForallOp, InParallelOp])
