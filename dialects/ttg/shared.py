"""Memory that the lanes of a work-group share: its layout, and buffers in it.

#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 4, order = [1, 0]}>
#smem = #ttg.shared_memory
!ttg.memdesc<2x64x32xf16, #shared, #smem, mutable>
!ttg.memdesc<32x32xf16, #shared, #smem, mutable, 64x32>     a part of 64 x 32
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, IntAttr, NoneAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.tt.types import Tensor, is_tensor, sizes
from coopc.dialects.ttg.encodings import SHARING, cga_of
from coopc.dialects.ttg.fields import (
    parse_fields,
    read_flag,
    read_integer,
    read_integers,
    table_of,
)
from coopc.dialects.ttg.spelling import dictionary, numbers, sharing
from coopc.layout.encoding import Bases


@dataclass(frozen=True, slots=True)
class SwizzledShared:
    """Rows of memory whose vectors are exchanged against bank conflicts.

    Vector v of row r is at v XOR (r / perPhase mod maxPhase).
    """

    vec: int
    """Elements that stay together."""
    per_phase: int
    """Rows that are swizzled alike."""
    max_phase: int
    """Number of different swizzles; 1 is none."""
    order: tuple[int, ...]
    """The dimensions, that with the least stride first."""
    cga: Bases = ()
    """How work-groups share it: see `BlockedEncoding`."""

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.order))):
            raise ValueError(
                f"expected order to permute {len(self.order)} dimensions, "
                f"got {list(self.order)}"
            )
        for name, size in (
            ("vec", self.vec),
            ("perPhase", self.per_phase),
            ("maxPhase", self.max_phase),
        ):
            if size < 1:
                raise ValueError(f"expected {name} of at least 1, got {size}")


@irdl_attr_definition
class SwizzledSharedAttr(Data[SwizzledShared]):
    """A `SwizzledShared`; until 2025 it was called `#ttg.shared`."""

    name = "ttg.swizzled_shared"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SwizzledShared:
        """Parse `<{vec = 8, perPhase = 1, maxPhase = 4, order = [1, 0]}>`."""
        position = parser.pos
        keys = ("vec", "perPhase", "maxPhase")
        table = table_of(read_integer, *keys) | SHARING
        table |= {"order": read_integers, "hasLeadingOffset": read_flag}
        optional = (*SHARING, "hasLeadingOffset")
        found = parse_fields(parser, f"#{cls.name}", table, optional)
        try:
            values = [found[key] for key in (*keys, "order")]
            return SwizzledShared(*values, cga=cga_of(found))
        except ValueError as error:
            parser.raise_error(f"{error} in #{cls.name}", position, parser.pos)

    def print_parameter(self, printer: Printer) -> None:
        """Print the dictionary."""
        shared = self.data
        items = [
            ("vec", str(shared.vec)),
            ("perPhase", str(shared.per_phase)),
            ("maxPhase", str(shared.max_phase)),
            ("order", numbers(shared.order)),
            *sharing(shared.cga),
        ]
        printer.print_string(dictionary(items))


@irdl_attr_definition
class SharedMemoryAttr(ParametrizedAttribute):
    """The memory space of a work-group: `#ttg.shared_memory`."""

    name = "ttg.shared_memory"


@irdl_attr_definition
class MemDescType(ParametrizedAttribute, TypeAttribute):
    """A buffer in shared memory, or a part: `!ttg.memdesc<64x32xf16, #shared, #m>`."""

    name = "ttg.memdesc"

    tensor: Attribute
    """Shape and elements, with the layout in memory as encoding."""
    memory: Attribute
    mutability: StringAttr
    """`mutable`, or nothing."""
    allocation: ArrayAttr[IntAttr]
    """The shape of the buffer that this is a part of."""

    @classmethod
    def of(
        cls,
        tensor: Tensor,
        *,
        mutable: bool = False,
        allocation: Sequence[int] = (),
    ) -> MemDescType:
        """Return the type from a tensor whose encoding is a layout in memory."""
        shape = tuple(allocation) or tensor.get_shape()
        return cls(
            tensor,
            SharedMemoryAttr(),
            StringAttr("mutable" if mutable else ""),
            ArrayAttr([IntAttr(size) for size in shape]),
        )

    @property
    def shaped(self) -> Tensor:
        """Shape and elements as a tensor's."""
        assert is_tensor(self.tensor), self.tensor
        return self.tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes in elements."""
        return self.shaped.get_shape()

    @property
    def element(self) -> Attribute:
        """The type of an element."""
        return self.shaped.element_type

    @property
    def is_mutable(self) -> bool:
        """Whether it can be stored to more than once."""
        return self.mutability.data == "mutable"

    def verify(self) -> None:
        """Check that the shape is known, and fits into the buffer."""
        shape, whole = self.shape, [size.data for size in self.allocation.data]
        if not shape or min(shape) < 1:
            raise VerifyException(
                f"expected a buffer with known sizes, got {sizes(shape)}"
            )
        if len(whole) < len(shape) or any(
            part > size for part, size in zip(shape, whole[-len(shape) :], strict=True)
        ):
            raise VerifyException(
                f"expected a part of {sizes(whole)}, got {sizes(shape)}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<64x32xf16, #shared, #smem, mutable, 128x32>`."""
        with parser.in_angle_brackets():
            shape, element = parser.parse_shape()
            parser.parse_punctuation(",")
            encoding = parser.parse_attribute()
            memory: Attribute = NoneAttr()
            mutability, allocation = "", shape or []
            while parser.parse_optional_punctuation(",") is not None:
                if parser.parse_optional_keyword("mutable") is not None:
                    mutability = "mutable"
                elif dimensions := parser.parse_dimension_list():
                    allocation = dimensions
                else:
                    memory = parser.parse_attribute()
        return (
            TensorType(element, shape or [], encoding),
            memory,
            StringAttr(mutability),
            ArrayAttr([IntAttr(size) for size in allocation]),
        )

    def print_parameters(self, printer: Printer) -> None:
        """Print what `parse_parameters` reads."""
        with printer.in_angle_brackets():
            printer.print_dimension_list(self.shape)
            printer.print_string("x")
            printer.print_attribute(self.element)
            printer.print_string(", ")
            printer.print_attribute(self.shaped.encoding)
            if not isinstance(self.memory, NoneAttr):
                printer.print_string(", ")
                printer.print_attribute(self.memory)
            if self.is_mutable:
                printer.print_string(", mutable")
            if (whole := [size.data for size in self.allocation.data]) != [*self.shape]:
                printer.print_string(", ")
                printer.print_dimension_list(whole)
