"""The attributes of `simt`: what a kernel is, where memory is, what is compiled for."""

import re
from collections.abc import Sequence
from enum import auto

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

KERNEL = "simt.kernel"
"""On a func.func: it is an entry point (unit)."""
WORK_GROUP_SIZE = "simt.work_group_size"
"""On a kernel: work-items of a work-group along x, y, z (array<i32: ...>)."""
SUBGROUP_SIZE = "simt.subgroup_size"
"""On a kernel: lanes of a subgroup (i32)."""
CONDITIONS = "simt.conditions"
"""On a kernel: what must hold of its arguments (an array of dictionaries, each with
`what`, value, size, stride, offset, address or bytes, `argument`, `dimension` of a size
or a stride, and `multiple_of`, `at_least`, `less_than`, `at_least_argument` and `why`
where they apply)."""
EQUAL_SIZES = "simt.equal_sizes"
"""On a kernel: which dimensions of its memrefs are equally long (an array of
array<i64: argument, dimension, argument, dimension>)."""
GRID = "simt.grid"
"""On a kernel: an affine map from its sizes to the number of work-groups along x, y, z.

The sizes are the dynamic sizes of its memrefs and its index arguments, in the order of
the arguments."""
TARGET = "simt.target"
"""On a module: what it is compiled for (`TargetAttr`)."""

ORDERING = "simt.ordering"
"""On an access to an element of a memref: it is atomic, with this ordering (a string of
`coopmatrix.ordering`)."""
ORDERING_SCOPE = "simt.ordering_scope"
"""On such an access: who sees it as atomic (a string of `coopmatrix.scope`)."""
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
class MemoryAttr(ParametrizedAttribute):
    """A `MemorySpace`, as in `memref<16xf16, #simt.memory<workgroup>>`."""

    name = "simt.memory"

    space: StringAttr

    @classmethod
    def of(cls, space: MemorySpace) -> "MemoryAttr":
        """Return the attribute of a memory space."""
        return MemoryAttr(StringAttr(str(space)))

    @property
    def data(self) -> MemorySpace:
        """The memory space."""
        return MemorySpace(self.space.data)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parse `<workgroup>`."""
        with parser.in_angle_brackets():
            return (StringAttr(str(parser.parse_str_enum(MemorySpace))),)

    def print_parameters(self, printer: Printer) -> None:
        """Print `<workgroup>`."""
        with printer.in_angle_brackets():
            printer.print_string(self.space.data)

    def verify(self) -> None:
        """Check that there is such a memory space."""
        if self.space.data not in list(MemorySpace):
            raise VerifyException(
                f"expected {', '.join(MemorySpace)}, got {self.space.data}"
            )


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
    def of(cls, flavour: Flavour, device: str) -> "TargetAttr":
        """Return the attribute from plain values."""
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
        """Print `<vulkan, lavapipe>`."""
        with printer.in_angle_brackets():
            printer.print_string(f"{self.flavour.data}, ")
            if DEVICE_NAME.fullmatch(self.device.data):
                printer.print_string(self.device.data)
            else:
                printer.print_string_literal(self.device.data)

    def verify(self) -> None:
        """Check that there is such a flavour, and that the device has a name."""
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
