"""The types of Triton: pointers, tensors of pointers, tensor descriptors.

    !tt.ptr<f16>                        to an element in global memory
    !tt.ptr<f16, 3>                     in another address space
    !tt.ptr<tensor<64x32xf16>>          a block pointer, as Triton had them until 2026
    tensor<64x32x!tt.ptr<f16>, #enc>    a pointer for each element
    !tt.tensordesc<64x32xf16>           a tensor in memory, cut into blocks of 64x32

A tensor's encoding says which lane holds which element: see `layouts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from typing_extensions import TypeIs
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IntAttr,
    IntegerType,
    NoneAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of, shaped

Tensor: TypeAlias = TensorType[Attribute]

GLOBAL = 1
"""The address space that Triton does not print."""
WORKGROUP = 3
"""The address space of memory that the lanes of a work-group share."""


@irdl_attr_definition
class PtrType(ParametrizedAttribute, TypeAttribute):
    """A pointer to an element, or to a block of a tensor: `!tt.ptr<f16, 1>`."""

    name = "tt.ptr"

    pointee: Attribute
    address_space: IntAttr

    @classmethod
    def of(cls, pointee: Attribute, address_space: int = GLOBAL) -> PtrType:
        """Return the type from plain values."""
        return cls(pointee, IntAttr(address_space))

    def verify(self) -> None:
        """Check that the address space is a number of SPIR-V's."""
        if (space := self.address_space.data) < 0:
            raise VerifyException(
                f"expected an address space of at least 0, got {space}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<f16>` or `<f16, 3>`."""
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            space = GLOBAL
            if parser.parse_optional_punctuation(",") is not None:
                space = parser.parse_integer(allow_boolean=False)
        return pointee, IntAttr(space)

    def print_parameters(self, printer: Printer) -> None:
        """Print `<f16>` or `<f16, 3>`."""
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            if self.address_space.data != GLOBAL:
                printer.print_string(f", {self.address_space.data}")


@irdl_attr_definition
class TensorDescType(ParametrizedAttribute, TypeAttribute):
    """A tensor in memory, and the block of it that a load takes.

    `!tt.tensordesc<64x32xf16>`, with the encoding that blocks are to have
    `!tt.tensordesc<64x32xf16, #enc>`; before 2026 `!tt.tensordesc<tensor<64x32xf16>>`.
    """

    name = "tt.tensordesc"

    block: Attribute

    @classmethod
    def of(
        cls,
        element: Attribute,
        shape: Sequence[int],
        encoding: Attribute | None = None,
    ) -> TensorDescType:
        """Return the type from plain values."""
        return cls(TensorType(element, shape, encoding or NoneAttr()))

    @property
    def tensor(self) -> Tensor:
        """The block as a tensor."""
        assert is_tensor(self.block), self.block
        return self.block

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of a block in elements."""
        return self.tensor.get_shape()

    @property
    def rank(self) -> int:
        """The number of dimensions of the tensor in memory, and of a block."""
        return len(self.shape)

    @property
    def element(self) -> Attribute:
        """The type of an element."""
        return self.tensor.element_type

    def verify(self) -> None:
        """Check that a block has a static shape and elements that are numbers."""
        if not is_tensor(self.block):
            raise VerifyException(f"expected a block of a tensor, got {self.block}")
        shape = self.shape
        if not shape or min(shape) < 1:
            raise VerifyException(
                "expected a block of rank 1 or more with known sizes, "
                f"got {sizes(shape)}"
            )
        if not isinstance(self.element, IntegerType | AnyFloat):
            raise VerifyException(
                f"expected elements that are integers or floats, got {self.element}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<64x32xf16>`, `<64x32xf16, #enc>` or `<tensor<64x32xf16>>`."""
        with parser.in_angle_brackets():
            position = parser.pos
            shape, element = parser.parse_shape()
            if shape is None:
                parser.raise_error("expected a block with known sizes", position)
            if not shape and is_tensor(element):
                return (element,)
            encoding: Attribute = NoneAttr()
            if parser.parse_optional_punctuation(",") is not None:
                encoding = parser.parse_attribute()
        return (TensorType(element, shape, encoding),)

    def print_parameters(self, printer: Printer) -> None:
        """Print `<64x32xf16>` or `<64x32xf16, #enc>`."""
        with printer.in_angle_brackets():
            printer.print_dimension_list(self.shape)
            printer.print_string("x")
            printer.print_attribute(self.element)
            if not isinstance(encoding := self.tensor.encoding, NoneAttr):
                printer.print_string(", ")
                printer.print_attribute(encoding)


def is_tensor(type: Attribute) -> TypeIs[Tensor]:
    """Whether a type is a ranked tensor's."""
    return isinstance(type, TensorType)


def is_pointer_like(type: Attribute) -> bool:
    """Whether a type is a pointer, or a tensor of pointers."""
    return isinstance(element_of(type), PtrType)


def shape_of(type: Attribute) -> tuple[int, ...]:
    """Return the sizes of a tensor; another type has none."""
    return type.get_shape() if is_tensor(type) else ()


def pointee_of(type: Attribute) -> Attribute | None:
    """Return what is loaded through a pointer, a block pointer or a tensor of pointers.

    None if the type is none of them.
    """
    element = element_of(type)
    if not isinstance(element, PtrType):
        return None
    return shaped(type, element.pointee)


def mask_of(type: Attribute) -> Attribute:
    """Return the type of a mask for each element that a pointer-like type points to."""
    loaded = pointee_of(type)
    return shaped(type if loaded is None else loaded, i1)


def bits_of(type: Attribute) -> int | None:
    """Return the width of an element in bits; None if it has none (a pointer)."""
    element = element_of(type)
    if isinstance(element, IntegerType | AnyFloat):
        return element.bitwidth
    return None


def in_memory(element: Attribute) -> Attribute:
    """Return what an element is in memory: an i1 is a byte."""
    return IntegerType(8) if element == i1 else element


def sizes(shape: Sequence[int]) -> str:
    """Return a shape as messages say it.

    >>> sizes((64, 32))
    '64x32'
    """
    known = ("?" if size == DYNAMIC_INDEX else str(size) for size in shape)
    return "x".join(known) or "a scalar"
