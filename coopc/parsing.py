"""From text to IR in which every operation knows where it stands.

`LocatedParser` is xDSL's parser with five things added: locations, the limits below,
near matches of misspelled names, names from before a renaming (`coopc.renamed`), and
the mends of `coopc.xdsl_gaps`.  `parse` is the way to use it: whatever is wrong with
the text comes out as one `CompileError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, NamedTuple, NoReturn, TypeVar

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FixedBitwidthType,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Operation,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.parser import AttrParser, Parser, ParserState
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span

from coopc.diagnostic import CompileError, near_match
from coopc.explain import of_parser
from coopc.renamed import canonical_name
from coopc.source import Source
from coopc.xdsl_gaps import Lexer, alias_positions, float_of_hex, locate_by_neighbour

MAX_NESTED_REGIONS = 64
"""Deeper IR is refused: walks over it would exhaust Python's stack."""

MAX_BLOCKS = 1000
"""Blocks of a region: each verification takes time that is quadratic in them."""

MAX_CONSTANT_ELEMENTS = 1 << 24
"""A larger `dense` constant is refused: each element listed takes about 200 bytes."""


MAX_INTEGER_BITS = (1 << 24) - 1
"""The widest integer, as in MLIR; xDSL computes with the bounds of each type."""

OPERATION_NAME = re.compile(r'(?:%[^=\n]*=\s*)?"?([\w$.]+)')
"""How an operation begins, with its results."""

MAX_SPACE = 1000
"""How many characters may stand between a token and what it depends on."""


TYPE = re.compile(r"(?:index|[if]\d+)\b|(?:[a-z]+|![\w.$]+)<(?:[^<>]|<[^<>]*+>)*+>")
"""What most types are written as; for others it may end elsewhere than they do."""


LINE = re.compile(
    r"(?:%([\w$.-]+) = )?(\w+\.[^\"\n/]+)\n"
    r"(?=\s*+(?:}|(?:%[\w$.:-]+(?:, %[\w$.:-]+)* = )?\w+\.\w))"
)
"""A line that may be an operation, which no token that follows continues."""
USE = re.compile(r"%([\w$.-]+)(?:#(\d+))?")


class Line(NamedTuple):
    """An operation without regions and successors that a line was read as."""

    type: type[Operation]
    operand_types: list[Attribute]
    result_types: list[Attribute]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    location: LocationAttr


class CachingParser(Parser):
    """A parser that parses once what the text repeats.

    That is types, which are most of the time of operations, and the lines that differ
    in the names of values alone, which are most of unrolled code.
    """

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>") -> None:
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(Lexer(Input(text, name)))
        self._types: dict[str, TypeAttribute] = {}
        self._lines: dict[str, Line] = {}
        """By the line without names of values."""

    def parse_operation(self) -> Operation:
        line = LINE.match(self.lexer.input.content, self.pos)
        if line is None:
            return super().parse_operation()
        key = USE.sub("%", line[0])
        if (known := self._lines.get(key)) is None:
            op = super().parse_operation()
            self._know(key, line, op)
            return op
        operands = self._operands_of(line)
        if operands is None or [x.type for x in operands] != known.operand_types:
            return super().parse_operation()
        op = known.type.create(
            operands=operands,
            result_types=known.result_types,
            properties=known.properties,
            attributes=known.attributes,
            location=known.location,
        )
        if line[1] is not None:
            span = Span(line.start(1) - 1, line.end(1), self.lexer.input)
            self._register_ssa_definition(line[1], op.results, span)
        self._resume_from(line.end())
        return op

    def _know(self, key: str, line: re.Match[str], op: Operation) -> None:
        """Keep what a line was read as, if its names of values are the operands."""
        operands = self._operands_of(line)
        if (
            operands is None
            or len(op.results) != (line[1] is not None)
            or op.regions
            or op.successors
            or tuple(operands) != tuple(op.operands)
            or len(set(operands)) != len(operands)
            or self.pos < line.end()
            or self.lexer.input.content[line.end() : self.pos].strip()
        ):
            return
        self._lines[key] = Line(
            type(op),
            [x.type for x in operands],
            list(op.result_types),
            op.properties.copy(),
            op.attributes.copy(),
            op.location,
        )

    def _operands_of(self, line: re.Match[str]) -> list[SSAValue] | None:
        """Return the values that a line names; None if any is not defined yet."""
        found: list[SSAValue] = []
        for name, place in USE.findall(line[2]):
            values, at = self.ssa_values.get(name, ()), int(place or 0)
            if at >= len(values):
                return None
            found.append(values[at])
        return found

    def parse_optional_type(self) -> TypeAttribute | None:
        text, start = self.lexer.input.content, self.pos
        if (match := TYPE.match(text, start)) is None:
            return super().parse_optional_type()
        if (known := self._types.get(match[0])) is not None:
            self._resume_from(match.end())
            return known
        found = super().parse_optional_type()
        if found is not None and not text[match.end() : self.pos].strip():
            self._types[match[0]] = found
        return found


class LocatedParser(CachingParser):
    source: Source
    open_regions: int
    """How many regions enclose the current position."""

    def __init__(self, ctx: Context, source: Source):
        super().__init__(ctx, source.text, source.name)
        self.resources: dict[str, str] = {}
        self.source = source
        self.open_regions = 0
        self._file = StringAttr(source.name)
        self._aliases = alias_positions(source.text)
        self._early_aliases: set[str] = set()
        self._open_aliases: set[str] = set()

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        if self._current_token.span.start >= len(self.source.text):
            self.raise_error("expected an operation, got an empty file", 0)
        try:
            # Without an implicit module, xDSL ignores what is around the operation.
            module = super().parse_module()
        except ParseError as error:
            if error.msg.startswith("values used but not defined"):
                self._raise_undefined(next(iter(self.forward_ssa_references)))
            raise
        if not allow_implicit_module and isinstance(module.location, UnknownLoc):
            self.raise_error("expected one builtin.module around all operations", 0)
        return module

    def _raise_undefined(self, name: str) -> NoReturn:
        # The first use that is not in a comment.
        uses = re.finditer(rf"//.*|(%{re.escape(name)}(?![\w$.-]))", self.source.text)
        start, end = next(use.span() for use in uses if use[1])
        self.raise_error(f"expected a definition of %{name}, got only uses", start, end)

    def _parse_alias_def(self) -> None:
        name = self._current_token.text
        if name in self._early_aliases:
            # The definition that is read already; a second one is an error.
            self._early_aliases.remove(name)
            del self.attribute_aliases[name]
        super()._parse_alias_def()

    def _parse_extended_type_or_attribute(self, name: str, is_type: bool) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if "." not in name and self._current_token.text != "<":
            self._define_alias(f"{'!' if is_type else '#'}{name}")
        return super()._parse_extended_type_or_attribute(name, is_type)

    def _define_alias(self, name: str) -> None:
        if name in self.attribute_aliases or name not in self._aliases:
            return
        if name in self._open_aliases:
            self.raise_error(f"expected a definition of {name} without {name} in it")
        position = self._current_token.span.start
        self._open_aliases.add(name)
        self._resume_from(self._aliases[name])
        super()._parse_alias_def()
        self._open_aliases.remove(name)
        self._early_aliases.add(name)
        self._resume_from(position)

    def _location(self, position: int) -> FileLineColLoc:
        line, column = self.source.position(position)
        return FileLineColLoc(self._file, IntAttr(line), IntAttr(column))

    def parse_operation(self) -> Operation:
        start = self.pos
        try:
            op = super().parse_operation()
        except ParseError:
            raise
        except Exception as error:
            name = OPERATION_NAME.match(self.source.text, start)
            error.__dict__.setdefault("position", start)
            error.__dict__.setdefault("operation", name[1] if name else "text")
            raise
        if op.regions:
            self._check_operands(op, start)
        if isinstance(op.location, UnknownLoc):
            op.location = self._location(start)
        return op

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        """Parse the generic form; the class completes what MLIR leaves out of it."""
        op = super()._parse_generic_operation(op_type)
        complete = getattr(op_type, "complete_generic", None)
        if complete is not None:
            complete(op)
        return op

    def parse_optional_argument(self, expect_type: bool = True) -> Any:
        """Parse an argument and its location, which is that of its name."""
        argument = super().parse_optional_argument(expect_type)
        if argument is not None:
            self.parse_optional_location()
        return argument

    def _check_operands(self, op: Operation, start: int) -> None:
        """Refuse operands that were defined in the regions, and so were forgotten.

        The operation was not there yet to get the value in place of its name.
        """
        known = [
            value
            for values in self.forward_ssa_references.values()
            for value in values.values()
        ]
        for position, operand in enumerate(op.operands):
            if isinstance(operand, ForwardDeclaredValue) and not any(
                operand is value for value in known
            ):
                message = f"expected operand {position} to be defined before its use"
                self.raise_error(f"{op.name}: {message}", start, start + 1)

    def _register_ssa_definition(
        self, name: str, values: Sequence[SSAValue], span: Span
    ) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            if isinstance(value, BlockArgument):
                value.location = self._location(span.start)

    def parse_comma_separated_list(
        self, delimiter: Any, parse: Callable[[], Any], context_msg: str = ""
    ) -> list[Any]:
        """Parse a list; parentheses are left out of `-> T`, and of no values at all.

        `linalg.generic` has them around several results; xDSL expects none there.
        """
        token = self._current_token
        start = token.span.start
        before = self.source.text[max(0, start - MAX_SPACE) : start].rstrip()
        if delimiter is self.Delimiter.NONE and token.text == "(":
            if before.endswith("->"):
                delimiter = self.Delimiter.PAREN
        elif delimiter is self.Delimiter.PAREN and token.text != "(":
            if before.endswith("->"):
                return [parse()]
            if before.endswith("scf.while") and token.text == ":":
                return []
        return super().parse_comma_separated_list(delimiter, parse, context_msg)

    def _parse_location(self) -> Any:
        if self._current_token.text == "fused":
            self._consume_token()
            metadata: Attribute = NoneAttr()
            if self.parse_optional_punctuation("<") is not None:
                metadata = self.parse_attribute()
                self.parse_punctuation(">")
            locations = super().parse_comma_separated_list(
                self.Delimiter.SQUARE, self._parse_location
            )
            return FusedLoc(tuple(locations), metadata)
        location = super()._parse_location()
        if isinstance(location, FileLineColLoc) and self.parse_optional_keyword("to"):
            # A range, of which the beginning is kept.
            self.parse_optional_integer(allow_boolean=False, allow_negative=False)
            self.parse_punctuation(":")
            self.parse_integer(allow_boolean=False, allow_negative=False)
        return location

    def parse_optional_region(
        self, arguments: Iterable[Parser.Argument] | None = None
    ) -> Region | None:
        """Parse a region, if there is one and it is not nested too deeply."""
        if self.open_regions >= MAX_NESTED_REGIONS and self._current_token.text == "{":
            self.raise_error(
                f"expected at most {MAX_NESTED_REGIONS} regions inside each other"
            )
        self.open_regions += 1
        region = super().parse_optional_region(arguments)
        self.open_regions -= 1
        if region is not None and len(region.blocks) > MAX_BLOCKS:
            self.raise_error(
                f"expected at most {MAX_BLOCKS} blocks in a region, got "
                f"{len(region.blocks)}"
            )
        return region

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, *args: Any, **kwargs: Any
    ) -> Any:
        end, name = self.pos, canonical_name(attr_name)
        find = self.ctx.get_optional_type if is_type else self.ctx.get_optional_attr
        if not is_opaque and find(name) is None:
            self._refuse_name(name, is_type, self.source.text.rfind(attr_name, 0, end))
        try:
            return super()._parse_dialect_type_or_attribute_body(
                name, is_type, is_opaque, *args, **kwargs
            )
        except VerifyException as error:
            # Where the name begins, with its `!` or `#`.
            start = max(0, self.source.text.rfind(attr_name, 0, end) - 1)
            error.__dict__.setdefault("position", start)
            raise

    def _refuse_name(self, name: str, is_type: bool, start: int) -> NoReturn:
        kind, sign = ("type", "!") if is_type else ("attribute", "#")
        loaded = self.ctx.loaded_types if is_type else self.ctx.loaded_attrs
        dialect = name.partition(".")[0]
        known = [x.name for x in loaded if x.name.partition(".")[0] == dialect]
        message = f"unknown {kind} '{sign}{name}'"
        if near := near_match(name, known):
            message += near
        elif known:
            message += f", expected one of {', '.join(sign + x for x in sorted(known))}"
        self.raise_error(message, start - 1, start + len(name))

    def _parse_block(self) -> Block:
        if not self._current_token.text.startswith("^"):
            self.raise_error("expected an operation, a block or '}'")
        name = self._current_token.text[1:]
        if name in self.blocks and name not in self.forward_block_references:
            # xDSL says so too, unless the first was used before it was defined.
            self.raise_error(f"expected one block ^{name}, got another one")
        return super()._parse_block()

    def _parse_attribute_entry(self) -> tuple[str, Attribute]:
        name, value = super()._parse_attribute_entry()
        return canonical_name(name), value

    def _get_op_by_name(self, name: str) -> type[Operation]:
        stack = self._parser_state.dialect_stack
        found = self.ctx.get_optional_op(canonical_name(name), dialect_stack=stack)
        if found is not None:
            return found
        end = self.pos
        start = self.source.text.rfind(name, 0, end)
        dialect = name.partition(".")[0]
        if self.ctx.get_optional_dialect(dialect) is None:
            near = near_match(dialect, self.ctx.registered_dialect_names)
            message = f"unknown dialect '{dialect}' of operation '{name}'{near}"
        else:
            near = near_match(name, (op.name for op in self.ctx.loaded_ops))
            message = f"unknown operation '{name}'{near}"
        self.raise_error(message, start, start + len(name))

    def _parse_dialect_resource_handle(
        self, dialect_name: str, interface: OpAsmDialectInterface
    ) -> str:
        """Return the name under which all modules' resources are kept.

        It is another one than in the text if an earlier module has a resource of that
        name; xDSL declares it anew for each use, and only the last has its contents.
        """
        key = self.parse_identifier(" for resource handle")
        if key not in self.resources:
            self.resources[key] = interface.declare_resource(key)
            self.dialect_resources.add((dialect_name, self.resources[key]))
        return self.resources[key]

    def _parse_optional_integer_or_float_type(self) -> TypeAttribute | None:
        start = self.pos
        type = super()._parse_optional_integer_or_float_type()
        bits = type.bitwidth if isinstance(type, FixedBitwidthType) else 0
        if bits > MAX_INTEGER_BITS:
            message = f"expected an integer of at most {MAX_INTEGER_BITS} bits"
            self.raise_error(f"{message}, got {bits}", start, start)
        return type

    # Words and shapes

    def _raise_wrong_str_enum_value_error(
        self, enum_type: type[Any], span: Span
    ) -> NoReturn:
        found, words = span.text, [*map(str, enum_type.__members__.values())]
        near = near_match(found, words)
        self.raise_error(f"expected one of {', '.join(words)}, got {found}{near}", span)

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        if (text := self._current_token.text).isidentifier():
            self.raise_error(f"expected a size or an element type, got {text}")
        return super().parse_shape_dimension(allow_dynamic)

    def parse_ranked_shape(self) -> tuple[list[int], Attribute]:
        dims = self.parse_dimension_list()
        if dims:
            self.parse_shape_delimiter()
        wanted = f"expected an element type, got {self._current_token.text}"
        return dims, self.expect(self.parse_optional_type, wanted)

    # Constants

    def _parse_dense_literal_type(self) -> Any:
        start = self.pos
        type = super()._parse_dense_literal_type()
        self._check_constant_size(type, start)
        return type

    def parse_dense_int_or_fp_elements_attr(self, type: Any) -> Any:
        """Parse a constant of the elements of `type`, which follows if it is None."""
        start = self.pos
        if type is not None:
            self._check_constant_size(type, start)
        self.parse_punctuation("<", " in dense attribute")
        if self._current_token.text[:1] in '["<>':
            self._resume_from(start)
            return super().parse_dense_int_or_fp_elements_attr(type)
        # One value for all elements: xDSL would make a Python object of each.
        element = self._parse_tensor_literal_element()
        self.parse_punctuation(">", " in dense attribute")
        if type is None:
            self.parse_punctuation(":", " in dense attribute")
            type = self._parse_dense_literal_type()
        value: Any = element.to_type(self, type.element_type)
        return DenseIntOrFPElementsAttr.from_list(type, [value])

    def _check_constant_size(self, type: Any, position: int) -> None:
        if (elements := prod(type.get_shape())) > MAX_CONSTANT_ELEMENTS:
            self.raise_error(
                f"expected a constant of at most 2^24 = {MAX_CONSTANT_ELEMENTS} "
                f"elements, got {elements}",
                position,
                self.pos,
            )

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        element = super()._parse_tensor_literal_element()
        return LiteralElement(element.is_negative, element.value, element.span)


class LiteralElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """An element of a constant, which may be the bits of a float."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if isinstance(type, AnyFloat):
            try:
                value = float_of_hex(self.span.text, type)
            except ValueError as error:
                parser.raise_error(str(error), self.span)
            if value is not None:
                return value
        return super().to_type(parser, type)


AnyParser = TypeVar("AnyParser", bound=LocatedParser)


@contextmanager
def reading(source: Source, make: Callable[[], AnyParser]) -> Generator[AnyParser]:
    """Give the parser of a text, which `make` makes, and locate what it raises.

    Raises:
        CompileError: the text is not what is parsed.
    """
    parser: AnyParser | None = None
    try:
        parser = make()
        yield parser
    except (CompileError, MemoryError):
        raise
    except Exception as error:
        position = parser.pos if parser is not None else 0
        raise CompileError(of_parser(error, source, position)) from error


def parse(ctx: Context, source: Source, *, implicit_module: bool = True) -> ModuleOp:
    """The module that `source` is, or that encloses what is in `source`.

    Raises:
        CompileError: The text is no IR.
    """
    with reading(source, lambda: LocatedParser(ctx, source)) as parser:
        module = parser.parse_module(implicit_module)
    # What is implied, as the end of a loop, stands where what is before it stands.
    locate_by_neighbour(module)
    return module
