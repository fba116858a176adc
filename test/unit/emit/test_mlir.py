"""Which attributes the text of a module has aliases for, and what they are called."""

from io import StringIO

from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, StringAttr, f16
from xdsl.ir import Attribute

from coopc.compiler import new_context
from coopc.dialects.encodings import attribute_of
from coopc.dialects.layout import LinearAttr, RowSliceAttr
from coopc.emit.mlir import LONGEST_INLINE, AliasPrinter, AliasTarget
from coopc.layout.distribution import RowSlices
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.linear import LinearLayout
from coopc.parsing import parse
from coopc.source import Source
from coopc.universe import everything


def linear(size: int) -> LinearAttr:
    return LinearAttr(LinearLayout.identity(size, "lane", "dim0"))


def printed(*attrs: Attribute, **flags: bool) -> str:
    module = ModuleOp(
        [test.TestOp(attributes={f"a{n}": a for n, a in enumerate(attrs)})]
    )
    out = StringIO()
    AliasTarget(**flags).emit(new_context(everything()), module, out)
    return out.getvalue()


def test_numbered_in_the_order_of_use() -> None:
    """The first one has no number; the same attribute is the same alias."""
    lines = printed(linear(8), linear(2), linear(8), linear(4)).splitlines()
    assert [line.partition(" ")[0] for line in lines[:3]] == [
        "#linear",
        "#linear1",
        "#linear2",
    ]
    assert "{a0 = #linear, a1 = #linear1, a2 = #linear, a3 = #linear2}" in lines[4]


def test_only_long_layouts() -> None:
    longer = RowSliceAttr(RowSlices(4, 4, 4))
    assert len(str(longer)) > LONGEST_INLINE
    assert printed(longer).startswith(
        "#row_slice = #layout.row_slice<4x4, lanes = 4>\n"
    )
    text = "x" * 100
    assert printed(StringAttr(text)).startswith("builtin.module")


def test_reads_back() -> None:
    attrs = [linear(8), RowSliceAttr(RowSlices(7, 9, 16)), StringAttr("x"), f16]
    for flags in ({}, {"print_generic_format": True}, {"syntax_highlight": True}):
        text = printed(*attrs, **flags)
        if "syntax_highlight" in flags:
            assert text == printed(*attrs)  # colours are for SSA values: there are none
        module = parse(new_context(everything()), Source(text))
        (op,) = module.ops
        assert list(op.attributes.values()) == attrs


def test_parents_first() -> None:
    """What an encoding of Triton is made of has an alias too, once."""
    dpas = DpasEncoding.of(16, 16)
    operands = [DotOperandEncoding(0, dpas, 1), DotOperandEncoding(1, dpas, 2)]
    attrs = [*map(attribute_of, operands)]
    text = printed(*attrs)
    assert text.splitlines()[:3] == [
        f"#dpas = {attribute_of(dpas)}",
        "#dot = #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>",
        "#dot1 = #ttg.dot_op<{opIdx = 1, parent = #dpas, kWidth = 2}>",
    ]
    (op,) = parse(new_context(everything()), Source(text)).ops
    assert list(op.attributes.values()) == attrs


def test_printer_alone() -> None:
    """Without the target, who prints has the definitions."""
    out = StringIO()
    printer = AliasPrinter(stream=out)
    printer.print_attribute(linear(8))
    assert out.getvalue() == "#linear"
    (line,) = printer.aliases.definitions
    assert line == f"#linear = {linear(8)}\n"
