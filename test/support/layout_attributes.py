"""The attribute of `layout` that holds a layout, for tests that spell it."""

from xdsl.ir import Attribute

from coopc.dialects.layout import (
    CoopmatrixAttr,
    DpasAttr,
    LinearAttr,
    RowSliceAttr,
    StridedAttr,
)
from coopc.layout.coopmatrix import CoopmatrixLayout
from coopc.layout.distribution import RowSlices
from coopc.layout.family import CoopmatrixFamily, DpasFamily, RowSliceFamily, Rule
from coopc.layout.linear import LinearLayout
from coopc.layout.strided import StridedLayout


def attribute_of(rule: Rule) -> Attribute:
    match rule:
        case CoopmatrixFamily() | CoopmatrixLayout():
            return CoopmatrixAttr(rule)
        case RowSliceFamily() | RowSlices():
            return RowSliceAttr(rule)
        case DpasFamily():
            return DpasAttr(rule)
        case LinearLayout():
            return LinearAttr(rule)
        case StridedLayout():
            return StridedAttr(rule)
        case _:
            raise AssertionError(rule)
