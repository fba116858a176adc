"""The `ttg` dialect: Triton's encodings of tensors, and shared memory."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import IntFlag
from typing import Any, Generic, TypeVar

from xdsl.dialects.builtin import (
    I32,
    ArrayAttr,
    DenseArrayBase,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import (
    Attribute,
    Data,
    Dialect,
    Operation,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    MemoryFreeEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.mlir_lexer import MLIRTokenKind

from coopc.diagnostic import near_match
from coopc.dialects.definitions import defined_in
from coopc.dialects.traits import ReadsAndWrites
from coopc.dialects.tt.types import (
    Tensor,
    encoding_in,
    expect_element,
    expect_shape,
    has_encoding,
    is_tensor,
    linear,
    sizes,
)
from coopc.layout.dpas import DpasEncoding
from coopc.layout.encoding import Bases, Encoding, cga_bases
from coopc.layout.encodings import (
    BlockedEncoding,
    DotOperandEncoding,
    LinearEncoding,
    SliceEncoding,
)
from coopc.layout.linear import LinearLayout

Read = Callable[[AttrParser], Any]


def read_integer(parser: AttrParser) -> int:
    """Parse `8`."""
    return parser.parse_integer(allow_boolean=False)


def read_flag(parser: AttrParser) -> bool:
    """Parse `true` or `false`."""
    return parser.parse_boolean()


def read_integers(parser: AttrParser) -> tuple[int, ...]:
    """Parse `[1, 8]`."""
    square = parser.Delimiter.SQUARE
    return tuple(
        parser.parse_comma_separated_list(square, lambda: read_integer(parser))
    )


def read_bases(parser: AttrParser) -> Bases:
    """Parse `[[0, 1], [0, 2]]`."""
    square = parser.Delimiter.SQUARE
    return tuple(
        parser.parse_comma_separated_list(square, lambda: read_integers(parser))
    )


def read_encoding(parser: AttrParser) -> Encoding:
    """Parse an attribute that holds an encoding."""
    position = parser.pos
    found = parser.parse_attribute()
    if (held := encoding_in(found)) is None:
        parser.raise_error(f"expected an encoding, got {found}", position, parser.pos)
    return held


def table_of(read: Read, *keys: str) -> dict[str, Read]:
    """Return a table in which all keys are read alike."""
    return dict.fromkeys(keys, read)


def parse_fields(
    parser: AttrParser,
    name: str,
    table: Mapping[str, Read],
    optional: Collection[str] = (),
) -> dict[str, Any]:
    """Parse a dictionary in angle brackets.

    Args:
        parser: stands before `<`.
        name: of the attribute, for messages.
        table: from each key to what reads its value.
        optional: keys that can be missing.

    Raises:
        ParseError: a key is unknown, there twice, or missing.
    """
    found: dict[str, Any] = {}
    with parser.in_angle_brackets():
        position = parser.pos

        def read_field() -> None:
            start = parser.pos
            key = parser.parse_identifier()
            if key not in table:
                near = near_match(key, table)
                parser.raise_error(f"unknown key '{key}' of {name}{near}", start)
            if key in found:
                parser.raise_error(f"expected {key} once in {name}", start)
            parser.parse_punctuation("=")
            try:
                found[key] = table[key](parser)
            except ValueError as error:
                parser.raise_error(f"{error} in {key} of {name}", start, parser.pos)

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, read_field)
        missing = [key for key in table if key not in found and key not in optional]
        if missing:
            parser.raise_error(f"expected {missing[0]} in {name}", position, parser.pos)
    return found


# The encodings of `ttg`, as attributes around frozen values of `coopc.layout`.
#
#     #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 8], warpsPerCTA = [4,
# 1],
#                   order = [1, 0]}>
#     #ttg.slice<{dim = 1, parent = #blocked}>
#     #ttg.linear<{register = [[0, 1]], lane = [[0, 2]], warp = [], block = []}>
#     #ttg.dot_op<{opIdx = 0, parent = #dpas, kWidth = 1}>
#
# `attr.data` is the encoding, `attr.layout(shape)` the layout of a tensor; equal
# encodings are equal attributes, however they were spelled.

EncodingT = TypeVar("EncodingT", bound=Encoding)


class EncodingAttr(Data[EncodingT], ABC, Generic[EncodingT]):
    """How tensors are kept: what the encodings have in common."""

    def layout(self, shape: Sequence[int]) -> LinearLayout:
        """Return the layout of a tensor.

        Raises:
            ValueError: there is none for this shape.
        """
        return linear(self.data, tuple(shape))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> EncodingT:
        """Parse the dictionary; what contradicts itself is an error there."""
        position = parser.pos
        try:
            return cls.read(parser)
        except ValueError as error:
            parser.raise_error(f"{error} in #{cls.name}", position, parser.pos)

    @classmethod
    def read(cls, parser: AttrParser) -> EncodingT:
        """Parse the dictionary.

        Raises:
            ValueError: its values contradict each other.
        """
        raise NotImplementedError(cls.name)

    def print_parameter(self, printer: Printer) -> None:
        """Print the dictionary."""
        printer.print_string(spell_fields(self.data))


GRID = {
    "CTAsPerCGA": read_integers,
    "CTASplitNum": read_integers,
    "CTAOrder": read_integers,
}
"""How work-groups share a tensor, until 2025."""


def read_cga(parser: AttrParser) -> Bases:
    """Parse `[[1, 0]]`, or the older `#ttg.cga<{CTAsPerCGA = [..], ..}>`."""
    kind, position = MLIRTokenKind.HASH_IDENT, parser.pos
    token = parser._parse_optional_token(kind)  # pyright: ignore[reportPrivateUsage]
    if token is None:
        return read_bases(parser)
    if token.text != "#ttg.cga":
        parser.raise_error(f"expected bases or #ttg.cga, got {token.text}", position)
    return cga_of(parse_fields(parser, "#ttg.cga", GRID))


SHARING = {**GRID, "CGALayout": read_cga}
"""The keys that say how work-groups share a tensor; without them they do not."""


def cga_of(found: dict[str, Any]) -> Bases:
    """Return the bases that the keys of `SHARING` stand for.

    Raises:
        ValueError: some of them are missing.
    """
    if "CGALayout" in found:
        return found["CGALayout"]
    given = [key for key in GRID if key in found]
    if not given:
        return ()
    if len(given) != len(GRID):
        raise ValueError(f"expected all of {', '.join(GRID)}, got {', '.join(given)}")
    return cga_bases(*(found[key] for key in GRID))


@irdl_attr_definition
class BlockedEncodingAttr(EncodingAttr[BlockedEncoding]):
    """Registers, then lanes, then subgroups walk over the tensor."""

    name = "ttg.blocked"

    @classmethod
    def read(cls, parser: AttrParser) -> BlockedEncoding:
        """Parse `<{sizePerThread = [..], threadsPerWarp = [..], ..}>`."""
        keys = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")
        table = table_of(read_integers, *keys) | SHARING
        found = parse_fields(parser, "#ttg.blocked", table, SHARING)
        values = [found[key] for key in keys]
        return BlockedEncoding(*values, cga=cga_of(found))


@irdl_attr_definition
class SliceEncodingAttr(EncodingAttr[SliceEncoding]):
    """What is left of the parent's layout without one dimension."""

    name = "ttg.slice"

    @classmethod
    def read(cls, parser: AttrParser) -> SliceEncoding:
        """Parse `<{dim = 1, parent = #blocked}>`."""
        table = {"dim": read_integer, "parent": read_encoding}
        return SliceEncoding(**parse_fields(parser, "#ttg.slice", table))


@irdl_attr_definition
class LinearEncodingAttr(EncodingAttr[LinearEncoding]):
    """The bases themselves."""

    name = "ttg.linear"

    @classmethod
    def read(cls, parser: AttrParser) -> LinearEncoding:
        """Parse `<{register = [[0, 1]], lane = [..], warp = [..], block = []}>`."""
        table = table_of(read_bases, "register", "lane", "warp", "block")
        return LinearEncoding.of(**parse_fields(parser, "#ttg.linear", table))


@irdl_attr_definition
class DotOperandEncodingAttr(EncodingAttr[DotOperandEncoding]):
    """The operand of a dot whose result has the parent's layout."""

    name = "ttg.dot_op"

    @classmethod
    def read(cls, parser: AttrParser) -> DotOperandEncoding:
        """Parse `<{opIdx = 0, parent = #dpas, kWidth = 1}>`."""
        table = {
            "opIdx": read_integer,
            "parent": read_encoding,
            "kWidth": read_integer,
        }
        found = parse_fields(parser, "#ttg.dot_op", table, ("kWidth",))
        parent = found["parent"]
        if not isinstance(parent, DpasEncoding | BlockedEncoding):
            raise ValueError(
                f"expected a parent that is #ttig.dpas or #ttg.blocked, "
                f"got {spell(parent)}"
            )
        return DotOperandEncoding(found["opIdx"], parent, found.get("kWidth", 0))


# How Triton spells encodings: from the values of `coopc.layout` to text.
#
# Keys are in Triton's order, and what follows from the others is printed as Triton
# does:
# A, B and C of `#ttig.dpas` are the shapes of a subgroup's clusters.
#
# >>> spell(BlockedEncoding((1, 2), (2, 2), (1, 1), (1, 0)))[:40]
# '#ttg.blocked<{sizePerThread = [1, 2], th'

NAMES: dict[type[Encoding], str] = {
    BlockedEncoding: "ttg.blocked",
    SliceEncoding: "ttg.slice",
    LinearEncoding: "ttg.linear",
    DotOperandEncoding: "ttg.dot_op",
    DpasEncoding: "ttig.dpas",
}


def spell(encoding: Encoding) -> str:
    """Return an encoding as the attribute that holds it is printed."""
    return f"#{NAMES[type(encoding)]}{spell_fields(encoding)}"


def spell_fields(encoding: Encoding) -> str:
    """Return the dictionary of an encoding, in its brackets."""
    match encoding:
        case BlockedEncoding():
            items = blocked(encoding)
        case SliceEncoding(dim=dim, parent=parent):
            items = [("dim", str(dim)), ("parent", spell(parent))]
        case LinearEncoding(layout=layout):
            items = [(name, numbers(layout.bases(name))) for name in layout.in_names]
        case DotOperandEncoding(op_idx=index, parent=parent, k_width=width):
            items = [("opIdx", str(index)), ("parent", spell(parent))]
            items += [("kWidth", str(width))] if width else []
        case DpasEncoding():
            items = dpas(encoding)
        case _:
            raise AssertionError(encoding)
    return dictionary(items)


def blocked(encoding: BlockedEncoding) -> list[tuple[str, str]]:
    """Return the keys and values of `#ttg.blocked`."""
    return [
        ("sizePerThread", numbers(encoding.size_per_thread)),
        ("threadsPerWarp", numbers(encoding.threads_per_warp)),
        ("warpsPerCTA", numbers(encoding.warps_per_cta)),
        ("order", numbers(encoding.order)),
        *sharing(encoding.cga),
    ]


def sharing(cga: Bases) -> list[tuple[str, str]]:
    """Return how work-groups share a tensor, if they do."""
    return [("CGALayout", numbers(cga))] if cga else []


def dpas(encoding: DpasEncoding) -> list[tuple[str, str]]:
    """Return the keys and values of `#ttig.dpas`, with those that follow."""
    pack = encoding.fp4_k_pack
    return [
        ("repeatCount", str(encoding.repeat_count)),
        ("systolicDepth", str(encoding.systolic_depth)),
        ("executionSize", str(encoding.execution_size)),
        ("opsPerChan", str(encoding.ops_per_chan)),
        *([] if pack is None else [("fp4KPack", str(pack))]),
        ("threadsPerWarp", str(encoding.threads_per_warp)),
        ("warpsPerCTA", numbers(encoding.warps_per_cta)),
        ("repCluster", numbers(encoding.rep_cluster)),
        ("A", numbers(encoding.cluster_shape("a"))),
        ("B", numbers(encoding.cluster_shape("b"))),
        ("C", numbers(encoding.cluster_shape("c"))),
    ]


def numbers(values: Sequence[int] | Bases) -> str:
    """Return nested lists of integers.

    >>> numbers(((0, 1), (2, 0)))
    '[[0, 1], [2, 0]]'
    """
    return (
        f"[{', '.join(str(x) if isinstance(x, int) else numbers(x) for x in values)}]"
    )


def dictionary(items: Iterable[tuple[str, str]]) -> str:
    """Return keys and values in the brackets of an attribute.

    >>> dictionary([("dim", "1")])
    '<{dim = 1}>'
    """
    return f"<{{{', '.join(f'{key} = {value}' for key, value in items)}}}>"


# Memory that the lanes of a work-group share: its layout, and buffers in it.
#
# #shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 4, order = [1, 0]}>
# #smem = #ttg.shared_memory
# !ttg.memdesc<2x64x32xf16, #shared, #smem, mutable>
# !ttg.memdesc<32x32xf16, #shared, #smem, mutable, 64x32>     a part of 64 x 32


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


# Operations of `ttg` on buffers in the memory that a work-group shares.


class AllocEffects(MemoryEffect):
    """An allocation; with an initial value it also writes."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """Return what `op` does to memory."""
        effects = {EffectInstance(MemoryEffectKind.ALLOC)}
        if op.operands:
            effects.add(EffectInstance(MemoryEffectKind.WRITE))
        return effects


@irdl_op_definition
class LocalAllocOp(IRDLOperation):
    """Allocate a buffer in shared memory, with an initial value if there is one.

    A buffer that is not mutable has its initial value for good.

    | value  | type                          |
    |--------|-------------------------------|
    | init   | tensor<M x N x T>             |
    | result | !ttg.memdesc<M x N x T, ..>   |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %x = "test.op"() : () -> tensor<64x32xf16>
    %a = ttg.local_alloc %x : (tensor<64x32xf16>) -> !ttg.memdesc<64x32xf16, #s, #smem>
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ```
    """

    name = "ttg.local_alloc"

    init = opt_operand_def(TensorType)
    result = result_def(MemDescType)

    traits = traits_def(AllocEffects())
    assembly_format = "($init^)? attr-dict `:` functional-type($init, $result)"

    def verify_(self) -> None:
        """Check the initial value, which only a mutable buffer can do without."""
        buffer = memdesc(self.result)
        if self.init is not None:
            verify_copy("init", self.init, buffer)
        elif not buffer.is_mutable:
            raise VerifyException(
                f"expected an initial value, as the buffer is not mutable, in {buffer}"
            )


@irdl_op_definition
class LocalDeallocOp(IRDLOperation):
    """Free a buffer in shared memory.

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ttg.local_dealloc %a : !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ```
    """

    name = "ttg.local_dealloc"

    src = operand_def(MemDescType)

    traits = traits_def(MemoryFreeEffect())
    assembly_format = "$src attr-dict `:` type($src)"


@irdl_op_definition
class LocalLoadOp(IRDLOperation):
    """Load a tensor from shared memory.

    | value  | type                          |
    |--------|-------------------------------|
    | src    | !ttg.memdesc<M x N x T, ..>   |
    | result | tensor<M x N x T>             |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    %x = ttg.local_load %a : !ttg.memdesc<64x32xf16, #s, #smem, mutable>
         -> tensor<64x32xf16>
    ```
    """

    name = "ttg.local_load"

    src = operand_def(MemDescType)
    result = result_def(TensorType)

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def verify_(self) -> None:
        """Check that the result is what is in memory."""
        verify_copy("the result", self.result, memdesc(self.src))


@irdl_op_definition
class LocalStoreOp(IRDLOperation):
    """Store a tensor to shared memory.

    | value  | type                                 |
    |--------|--------------------------------------|
    | src    | tensor<M x N x T>                    |
    | dst    | !ttg.memdesc<M x N x T, .., mutable> |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %x = "test.op"() : () -> tensor<64x32xf16>
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ttg.local_store %x, %a
      : tensor<64x32xf16> -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ```
    """

    name = "ttg.local_store"

    src = operand_def(TensorType)
    dst = operand_def(MemDescType)

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$src `,` $dst attr-dict `:` type($src) `->` type($dst)"

    def verify_(self) -> None:
        """Check that the buffer is mutable and holds the tensor."""
        buffer = memdesc(self.dst)
        if not buffer.is_mutable:
            raise VerifyException(f"expected dst to be mutable, got {buffer}")
        verify_copy("src", self.src, buffer)


def memdesc(value: SSAValue) -> MemDescType:
    """Return the type of a buffer."""
    assert isinstance(value.type, MemDescType), value
    return value.type


def verify_copy(name: str, tensor: SSAValue, buffer: MemDescType) -> None:
    """Check that a tensor has the shape and the elements of a buffer.

    Raises:
        VerifyException: it has others.
    """
    expect_shape(name, tensor.type, buffer.shape, "as the buffer")
    expect_element(name, tensor.type, buffer.element, "as the buffer")


# Operations of `ttg` that see a buffer otherwise; nothing moves.


@irdl_op_definition
class MemDescTransOp(IRDLOperation):
    """A buffer with its dimensions in another order; nothing moves.

    | value  | shape | order |
    |--------|-------|-------|
    | src    | M x N |       |
    | result | N x M | 1, 0  |

    ```mlir
    #a = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #b = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
    #smem = #ttg.shared_memory
    %x = "test.op"() : () -> !ttg.memdesc<64x32xf16, #a, #smem>
    %y = ttg.memdesc_trans %x {order = array<i32: 1, 0>}
         : !ttg.memdesc<64x32xf16, #a, #smem> -> !ttg.memdesc<32x64xf16, #b, #smem>
    ```
    """

    name = "ttg.memdesc_trans"

    src = operand_def(MemDescType)
    order = prop_def(DenseArrayBase.constr(i32))
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def verify_(self) -> None:
        """Check that the order permutes the dimensions."""
        src, result = memdesc(self.src), memdesc(self.result)
        order, shape = self.order.get_values(), src.shape
        if sorted(order) != list(range(len(shape))):
            raise VerifyException(
                f"expected order to permute {len(shape)} dimensions, got {list(order)}"
            )
        wanted = tuple(shape[int(dim)] for dim in order)
        verify_view(result, wanted, src, f"{sizes(shape)} in the order {list(order)}")


@irdl_op_definition
class MemDescIndexOp(IRDLOperation):
    """One of the buffers that the first dimension counts.

    | value  | type                              |
    |--------|-----------------------------------|
    | src    | !ttg.memdesc<B x M x N x T, ..>   |
    | index  | i32                               |
    | result | !ttg.memdesc<M x N x T, ..>       |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %a, %i = "test.op"() : () -> (!ttg.memdesc<3x64x32xf16, #s, #smem, mutable>, i32)
    %b = ttg.memdesc_index %a[%i] : !ttg.memdesc<3x64x32xf16, #s, #smem, mutable>
         -> !ttg.memdesc<64x32xf16, #s, #smem, mutable>
    ```
    """

    name = "ttg.memdesc_index"

    src = operand_def(MemDescType)
    index = operand_def(i32)
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    assembly_format = "$src `[` $index `]` attr-dict `:` type($src) `->` type($result)"

    def verify_(self) -> None:
        """Check that the first dimension goes."""
        src = memdesc(self.src)
        why = "src without its first dimension"
        verify_view(memdesc(self.result), src.shape[1:], src, why)


@irdl_op_definition
class MemDescSubsliceOp(IRDLOperation):
    """A part of a buffer, from constant offsets on.

    | value  | type                        | unit     |
    |--------|-----------------------------|----------|
    | src    | !ttg.memdesc<M x N x T, ..> |          |
    | offsets|                             | elements |
    | result | !ttg.memdesc<m x n x T, .., M x N> | |

    ```mlir
    #s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
    #smem = #ttg.shared_memory
    %a = "test.op"() : () -> !ttg.memdesc<64x32xf16, #s, #smem>
    %b = ttg.memdesc_subslice %a [0, 16] : !ttg.memdesc<64x32xf16, #s, #smem>
         -> !ttg.memdesc<64x16xf16, #s, #smem, 64x32>
    ```
    """

    name = "ttg.memdesc_subslice"

    src = operand_def(MemDescType)
    offsets = prop_def(DenseArrayBase.constr(i32))
    result = result_def(MemDescType)

    traits = traits_def(Pure())
    assembly_format = "$src $offsets attr-dict `:` type($src) `->` type($result)"

    def verify_(self) -> None:
        """Check that the part is inside of the buffer."""
        src, result = memdesc(self.src), memdesc(self.result)
        offsets = [int(offset) for offset in self.offsets.get_values()]
        rank = len(src.shape)
        if len(offsets) != rank or len(result.shape) != rank:
            raise VerifyException(
                f"expected {rank} offsets and sizes, as src has, "
                f"got {len(offsets)} and {len(result.shape)}"
            )
        for dim, (start, part, size) in enumerate(
            zip(offsets, result.shape, src.shape, strict=True)
        ):
            if start < 0 or start + part > size:
                raise VerifyException(
                    f"expected a part of dimension {dim}, 0 to {size}, "
                    f"got {start} to {start + part}"
                )
        verify_view(result, result.shape, src, "")


def verify_view(
    result: MemDescType, shape: Sequence[int], src: MemDescType, why: str
) -> None:
    """Check that a buffer is another one, seen otherwise.

    Raises:
        VerifyException: its shape, its elements or its mutability do not follow.
    """
    expect_shape("the result", result.shaped, shape, why)
    expect_element("the result", result.shaped, src.element, "as src")
    if result.is_mutable != src.is_mutable:
        kind = "mutable" if src.is_mutable else "not mutable"
        raise VerifyException(f"expected the result to be {kind}, as src, got {result}")


# Operations of `ttg` between lanes: layouts that change, and barriers.


@irdl_op_definition
class ConvertLayoutOp(IRDLOperation, HasFolderInterface):
    """The same tensor with another encoding: elements move between lanes.

    | value  | shape | encoding |
    |--------|-------|----------|
    | src    | M x N | any      |
    | result | M x N | any      |

    ```mlir
    #a = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 4],
                       warpsPerCTA = [4, 1], order = [1, 0]}>
    #b = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 16],
                       warpsPerCTA = [4, 1], order = [1, 0]}>
    %x = "test.op"() : () -> tensor<64x32xf16, #a>
    %y = ttg.convert_layout %x : tensor<64x32xf16, #a> -> tensor<64x32xf16, #b>
    ```
    """

    name = "ttg.convert_layout"

    src = operand_def(TensorType)
    result = result_def(TensorType)

    traits = traits_def(Pure())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: SSAValue, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        """Return src where its encoding stays, or gets back what it was."""
        src = self.src
        if src.type == self.result.type:
            return (src,)
        if isinstance(src.owner, ConvertLayoutOp):
            first = src.owner.src
            return (first,) if first.type == self.result.type else None
        return None

    def verify_(self) -> None:
        """Check that shape and elements stay."""
        src, result = self.src.type, self.result.type
        assert is_tensor(src), src
        expect_shape("the result", result, src.get_shape(), "as src")
        expect_element("the result", result, src.element_type, "as src")
        if not has_encoding(src) or not has_encoding(result):
            raise VerifyException(
                f"expected src and the result to have encodings, got {src} and {result}"
            )


class Domain(IntFlag):
    """Which accesses a barrier orders."""

    LOCAL = 1
    GLOBAL_READ = 2
    GLOBAL_WRITE = 4
    TENSOR_READ = 8
    TENSOR_WRITE = 16


ALL = 31


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All lanes of the work-group wait for each other, and see what they have written.

    What is ordered: `local` (shared memory), `global_read`, `global_write`,
    `tensor_read`, `tensor_write`, several with `|` between them; `all` or `none`.

    ```mlir
    ttg.barrier local
    ttg.barrier all
    ```
    """

    name = "ttg.barrier"

    domains = prop_def(IntegerAttr[I32], prop_name="addrSpace")

    traits = traits_def(ReadsAndWrites())

    def __init__(self, domains: Domain) -> None:
        super().__init__(properties={"addrSpace": IntegerAttr(int(domains), i32)})

    @property
    def ordered(self) -> Domain:
        """What is ordered."""
        return Domain(self.domains.value.data)

    def verify_(self) -> None:
        """Check that there are such domains."""
        if not 0 <= (found := self.domains.value.data) <= ALL:
            raise VerifyException(f"expected addrSpace of 0 to {ALL}, got {found}")

    @classmethod
    def parse(cls, parser: Parser) -> BarrierOp:
        """Parse `local|global_read {..}`."""
        known = {str(each.name).lower(): int(each) for each in Domain}
        known |= {"none": 0, "all": ALL}
        found = 0
        while True:
            found |= known[parser.parse_keyword_in(known)]
            if parser.parse_optional_characters("|") is None:
                break
        barrier = cls(Domain(found))
        barrier.attributes |= parser.parse_optional_attr_dict()
        return barrier

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        found = self.ordered
        names = [str(each.name).lower() for each in Domain if each in found]
        words = {0: "none", ALL: "all"}.get(int(found), "|".join(names))
        printer.print_string(f" {words}")
        printer.print_op_attributes(self.attributes)


Ttg = Dialect("ttg", *defined_in(__name__))
