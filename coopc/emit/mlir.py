"""IR as text, with long layouts written once, as aliases before the module.

    #dpas = #ttig.dpas<{repeatCount = 8, systolicDepth = 8, ..}>
    #dot = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
    builtin.module {
      %a = "test.op"() : () -> tensor<256x32xf16, #dot>

An alias is called after its attribute, numbered from the second one on in the order in
which the text uses them, so the same module always prints the same.  xDSL parses
aliases, but prints none; `coopc-opt` prints with this target instead of xDSL's `mlir`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from io import StringIO
from typing import IO, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Data, TypeAttribute
from xdsl.printer import Printer
from xdsl.syntax_printer import SyntaxPrinter
from xdsl.targets.mlir import MLIRTarget

from coopc.layout.encodings import Encoding

ALIASED_DIALECTS = ("layout", "ttg", "ttig")
"""The dialects whose attributes may be long, and are then printed as aliases."""

LONGEST_INLINE = 30
"""Characters of the longest attribute of these dialects that has no alias."""

SHORT_NAMES = {"dot_op": "dot"}
"""What an alias is called, where it is not the attribute's own name."""


@dataclass
class Aliases:
    """The aliases of one text."""

    names: dict[Attribute, str | None] = field(default_factory=lambda: {})
    """The alias of each attribute that was printed; None where it is short."""
    definitions: list[str] = field(default_factory=list[str])
    """The lines that define them, each before those that use it."""
    used: Counter[str] = field(default_factory=Counter[str])
    """How many aliases are called by a name, but for their number."""

    def name_of(self, attribute: Attribute) -> str | None:
        """Return the alias of an attribute, made if need be; None if it has none."""
        if attribute not in self.names:
            text = StringIO()
            AliasPrinter(stream=text, aliases=self).print_in_full(attribute)
            parent = parent_of(attribute)
            name = None if parent is None else self.name_of(parent)
            written = text.getvalue()
            if name is not None:
                written = written.replace(str(parent), f"#{name}")
            self.names[attribute] = self._define(attribute, written)
        return self.names[attribute]

    def _define(self, attribute: Attribute, text: str) -> str | None:
        if len(text) <= LONGEST_INLINE:
            return None
        mnemonic = attribute.name.rpartition(".")[2]
        base = SHORT_NAMES.get(mnemonic, mnemonic)
        name = f"{base}{self.used[base] or ''}"
        self.used[base] += 1
        self.definitions.append(f"#{name} = {text}\n")
        return name


@dataclass(eq=False, repr=False)
class AliasPrinter(Printer):
    """A printer that writes aliases for long layouts."""

    aliases: Aliases = field(default_factory=Aliases)

    def print_attribute(self, attribute: Attribute) -> None:
        name = self.aliases.name_of(attribute) if may_have_alias(attribute) else None
        if name is None:
            super().print_attribute(attribute)
        else:
            self.print_string(f"#{name}")

    def print_in_full(self, attribute: Attribute) -> None:
        """Print an attribute without its own alias, but with those of its parts."""
        super().print_attribute(attribute)


class HighlightingAliasPrinter(AliasPrinter, SyntaxPrinter):
    """An `AliasPrinter` for terminals."""


def may_have_alias(attribute: Attribute) -> bool:
    """Whether an attribute is one that gets an alias when it is long."""
    dialect = attribute.name.partition(".")[0]
    return dialect in ALIASED_DIALECTS and not isinstance(attribute, TypeAttribute)


def parent_of(attribute: Attribute) -> Attribute | None:
    """Return the parent of an encoding of Triton, which its own text spells out."""
    if not attribute.name.startswith("ttg.") or not isinstance(attribute, Data):
        return None
    encoding = cast("Data[object]", attribute).data
    parent = getattr(encoding, "parent", None)
    if not isinstance(parent, Encoding):
        return None
    from coopc.dialects.encodings import attribute_of

    return attribute_of(parent)


@dataclass(frozen=True)
class AliasTarget(MLIRTarget):
    """xDSL's `mlir`, with aliases."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        cls = HighlightingAliasPrinter if self.syntax_highlight else AliasPrinter
        body = StringIO()
        printer = cls(
            stream=body,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.print_op(module)
        printer.print_metadata(ctx.loaded_dialects)
        output.writelines(printer.aliases.definitions)
        output.write(f"{body.getvalue()}\n")
