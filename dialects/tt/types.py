"""The types of Triton, their layouts, and the enumerations and names that it uses."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import ClassVar, Literal, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    I32,
    AnyFloat,
    Float8E4M3FNType,
    Float8E5M2Type,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NoneAttr,
    Signedness,
    StringAttr,
    TensorType,
    i1,
    i32,
)
from xdsl.ir import (
    Attribute,
    Data,
    Operation,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    AttrConstraint,
    IRDLOperation,
    VerificationContext,
    irdl_attr_definition,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    TypeDirective,
    irdl_custom_directive,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_tensor
from coopc.dialects.shaped_arith import element_of, shaped
from coopc.layout.dpas import DotOperandEncoding, DpasEncoding
from coopc.layout.encodings import Encoding, dims
from coopc.layout.linear import LinearLayout, rename_outs, reshape_outs, transpose_outs


class TritonEnum(IntEnum):
    """An enumeration: the value is the number, the name in lower case the keyword."""

    @property
    def keyword(self) -> str:
        return self.name.lower()

    @property
    def attribute(self) -> IntegerAttr[I32]:
        return IntegerAttr(self.value, i32)


class CacheModifier(TritonEnum):
    """What the caches do with an access."""

    NONE = 1
    CA = 2
    """Cached at all levels."""
    CG = 3
    """Cached at L3 (of Intel's GPUs; PTX's global level), not at L1."""
    WB = 4
    """Written back at all levels."""
    CS = 5
    """Streaming: likely accessed once."""
    WT = 6
    """Written through."""
    CV = 7
    """Not cached: read again each time."""


class EvictionPolicy(TritonEnum):
    """What is thrown out of a cache early or late."""

    EVICT_NORMAL = 1
    EVICT_FIRST = 2
    EVICT_LAST = 3


class Padding(TritonEnum):
    """What is read outside of a tensor."""

    ZERO = 1
    NAN = 2


class ProgramAxis(TritonEnum):
    """An axis of the grid of programs (work-groups)."""

    X = 0
    Y = 1
    Z = 2


class Rounding(TritonEnum):
    """How a float becomes a narrower one."""

    RTZ = 0
    """Toward zero."""
    RTNE = 1
    """To the nearest, ties to even."""


class PropagateNan(TritonEnum):
    """Whether NaN wins in a comparison."""

    NONE = 0
    ALL = 0xFFFF


class InputPrecision(TritonEnum):
    """With what precision operands of f32 are multiplied."""

    TF32 = 0
    """Rounded to tf32."""
    TF32X3 = 1
    """In three products of tf32."""
    IEEE = 2
    """As f32."""
    BF16X3 = 3
    BF16X6 = 4


class ScaledElement(TritonEnum):
    """What operands of a scaled product are, whatever type holds them."""

    E4M3 = 0
    E5M2 = 1
    E2M3 = 2
    E3M2 = 3
    E2M1 = 4
    """Two in a byte."""
    BF16 = 5
    FP16 = 6


F8: Mapping[ScaledElement, AnyFloat] = {
    ScaledElement.E4M3: Float8E4M3FNType(),
    ScaledElement.E5M2: Float8E5M2Type(),
}
"""What operands of bytes hold."""

Enum = TypeVar("Enum", bound=TritonEnum)


@dataclass(frozen=True)
class EnumConstraint(AttrConstraint[IntegerAttr[I32]]):
    """An i32 that is a member of an enumeration."""

    enum: type[TritonEnum]

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if attr in {each.attribute for each in self.enum}:
            return
        known = ", ".join(f"{each.value} ({each.keyword})" for each in self.enum)
        raise VerifyException(f"expected an i32 of {known}, got {attr}")

    def mapping_type_vars(
        self, type_var_mapping: object
    ) -> AttrConstraint[IntegerAttr[I32]]:
        return self


def member(enum: type[Enum], attr: IntegerAttr[I32]) -> Enum:
    """Return the member of an enumeration that a verified attribute is."""
    return enum(attr.value.data)


def parse_keyword(parser: AttrParser, enum: type[TritonEnum]) -> IntegerAttr[I32]:
    members = {each.keyword: each for each in enum}
    position = parser.pos
    found = parser.parse_identifier()
    if found not in members:
        known = ", ".join(members)
        message = f"expected one of {known}, got {found}"
        parser.raise_error(message, position, position + len(found))
    return members[found].attribute


@irdl_custom_directive
class Keyword(CustomDirective):
    """A property of an `EnumConstraint`, as the keyword of the member: `rtz`."""

    attr: AttributeVariable

    def is_anchorable(self) -> bool:
        return self.attr.is_anchorable()

    def is_present(self, op: IRDLOperation) -> bool:
        return self.attr.is_present(op)

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.attr.set(state, parse_keyword(parser, self.enum(state.op_type)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        found = self.attr.get(op)
        assert isinstance(found, IntegerAttr), found
        state.print_whitespace(printer)
        printer.print_string(self.enum(type(op))(found.value.data).keyword)

    def enum(self, op: type[IRDLOperation]) -> type[TritonEnum]:
        constraint = op.get_irdl_definition().properties[self.attr.name].constr
        assert isinstance(constraint, EnumConstraint), constraint
        return constraint.enum


# The types of Triton: pointers, tensors of pointers, tensor descriptors.
#
#     !tt.ptr<f16>                        to an element in global memory
#     !tt.ptr<f16, 3>                     in another address space
#     !tt.ptr<tensor<64x32xf16>>          a block pointer, as Triton had them until 2026
#     tensor<64x32x!tt.ptr<f16>, #enc>    a pointer for each element
#     !tt.tensordesc<64x32xf16>           a tensor in memory, cut into blocks of 64x32
#
# A tensor's encoding says which lane holds which element: see `layout_of`.

Tensor: TypeAlias = TensorType[Attribute]

GLOBAL = 1
"""The address space that Triton does not print."""
WORKGROUP = 3
"""The address space of memory that the lanes of a work-group share."""


@irdl_attr_definition
class CachePolicyAttr(ParametrizedAttribute):
    """What the caches do with an access, as Triton 3.9 prints it in one attribute.

    `#tt.cache_policy<cache_modifier = ca, eviction_policy = evict_normal>`
    """

    name = "tt.cache_policy"

    cache: IntegerAttr[I32]
    evict: IntegerAttr[I32]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("cache_modifier")
            parser.parse_punctuation("=")
            cache = parse_keyword(parser, CacheModifier)
            parser.parse_punctuation(",")
            parser.parse_keyword("eviction_policy")
            parser.parse_punctuation("=")
            return cache, parse_keyword(parser, EvictionPolicy)

    def print_parameters(self, printer: Printer) -> None:
        cache = member(CacheModifier, self.cache).keyword
        evict = member(EvictionPolicy, self.evict).keyword
        with printer.in_angle_brackets():
            printer.print_string(f"cache_modifier = {cache}, eviction_policy = {evict}")


@irdl_attr_definition
class PtrType(ParametrizedAttribute, TypeAttribute):
    """A pointer to an element, or to a block of a tensor: `!tt.ptr<f16, 1>`."""

    name = "tt.ptr"

    pointee: Attribute
    address_space: IntAttr

    @classmethod
    def of(cls, pointee: Attribute, address_space: int = GLOBAL) -> PtrType:
        return cls(pointee, IntAttr(address_space))

    def verify(self) -> None:
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
        return cls(TensorType(element, shape, encoding or NoneAttr()))

    @property
    def tensor(self) -> Tensor:
        assert is_tensor(self.block), self.block
        return self.block

    @property
    def is_unsigned(self) -> bool:
        """Whether elements are integers without a sign."""
        element = self.tensor.element_type
        if not isinstance(element, IntegerType):
            return False
        return element == IntegerType(element.bitwidth, Signedness.UNSIGNED)

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
        """Of the tensor in memory; of an integer with a sign or without, its bits."""
        element = self.tensor.element_type
        if isinstance(element, IntegerType):
            return IntegerType(element.bitwidth)
        return element

    @property
    def element_bits(self) -> int:
        """Width of an element."""
        bits = bits_of(self.element)
        assert bits is not None, self
        return bits

    def verify(self) -> None:
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
        with printer.in_angle_brackets():
            printer.print_dimension_list(self.shape)
            printer.print_string("x")
            printer.print_attribute(self.tensor.element_type)
            if not isinstance(encoding := self.tensor.encoding, NoneAttr):
                printer.print_string(", ")
                printer.print_attribute(encoding)


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


# The attributes that Triton puts on modules, functions and operations, by name.
#
# They are discardable: none is needed, and what is not known is kept.
#
# | on | name | what it says |
# |---|---|---|
# | module | `ttg.num-warps` | subgroups of a work-group; how many are asked for, where
# |        |                 | tensors have no layouts |
# | module | `ttg.threads-per-warp` | lanes of a subgroup, 32 where it is missing, as
# |        |                        | where tensors have no layouts |
# | module | `ttg.num-ctas` | work-groups that share a tensor, 1 where it is missing |
# | module | `ttig.support_2d_block_io` | loads may become 2D block loads (unit) |
# | access | `ttig.block_io` | the strides are those of a matrix in this order |
# | load | `ttig.block_io_stride` | the pitch in elements (i64), of a load made 2D |
# | load | `ttig.one_matrix_per_load` | no message loads several matrices (unit) |
# | load | `ttig.desc_padding` | outside of the descriptor: 1 zero, 2 NaN (i32) |
# | argument | `tt.divisibility` | it is a multiple of this (i32) |

NUM_WARPS = "ttg.num-warps"
NUM_STAGES = "tt.num_stages"
THREADS_PER_WARP = "ttg.threads-per-warp"
NUM_CTAS = "ttg.num-ctas"

BLOCK_IO = "ttig.block_io"
BLOCK_IO_STRIDE = "ttig.block_io_stride"


DEFAULT_THREADS_PER_WARP = 32

MemoryOrder: TypeAlias = Literal["row_major", "column_major"]


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """What a module says about the work-groups that run it."""

    num_warps: int | None
    """Subgroups of a work-group; None where the module does not say."""
    threads_per_warp: int
    """Lanes of a subgroup."""
    num_ctas: int
    """Work-groups that share a tensor."""
    says_threads: bool
    """Whether `threads_per_warp` is the module's, or the default."""

    @classmethod
    def of(cls, op: Operation) -> ModuleFacts:
        """Return the facts of the module around an operation.

        Raises:
            VerifyException: an attribute of the module is not a positive number.
        """
        module = op
        while not isinstance(module, ModuleOp):
            if (parent := module.parent_op()) is None:
                break
            module = parent
        threads = _number(module, THREADS_PER_WARP)
        return cls(
            _number(module, NUM_WARPS),
            DEFAULT_THREADS_PER_WARP if threads is None else threads,
            _number(module, NUM_CTAS) or 1,
            threads is not None,
        )

    @staticmethod
    def drop(module: ModuleOp) -> None:
        """Remove what a module says about the work-groups that run it."""
        for name in list(module.attributes):
            if name.startswith(("ttg.", "ttig.")):
                del module.attributes[name]


def block_io(op: Operation) -> MemoryOrder | None:
    """Return in which order a matrix is in memory, where an operation says it.

    Raises:
        VerifyException: the attribute says something else.
    """
    match op.attributes.get(BLOCK_IO):
        case None:
            return None
        case StringAttr(data="row_major" | "column_major" as order):
            return order
        case found:
            raise VerifyException(
                f'expected {BLOCK_IO} to be "row_major" or "column_major", got {found}'
            )


def _number(op: Operation, name: str) -> int | None:
    """Return the positive number that an attribute is, None where there is none."""
    match op.attributes.get(name):
        case None:
            return None
        case IntegerAttr(value=value) if value.data > 0:
            return value.data
        case found:
            raise VerifyException(f"expected {name} to be a positive i32, got {found}")


# Types whose dialect and name an operation's syntax leaves out: `<f16>`.
#
#     tt.make_tensor_descriptor .. : <f16>, <64x32xf16>
#
# stands for `!tt.ptr<f16>, !tt.tensordesc<64x32xf16>`, which is read too.


class ElidedType(CustomDirective, ABC):
    """One type, of a kind that the operation knows."""

    KIND: ClassVar[type[ParametrizedAttribute]]

    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Parse `<f16>` or `!tt.ptr<f16>`."""
        self.type.set(state, (parse_elided(parser, self.KIND),))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        (found,) = self.type.get(op)
        assert isinstance(found, ParametrizedAttribute), found
        state.print_whitespace(printer)
        found.print_parameters(printer)


def parse_elided(parser: Parser, kind: type[ParametrizedAttribute]) -> Attribute:
    """Parse a type of one kind, with its name or without it."""
    position = parser.pos
    named = parser.parse_optional_type()
    if named is None:
        return kind.new(kind.parse_parameters(parser))
    if not isinstance(named, kind):
        message = f"expected a type !{kind.name}, got {named}"
        parser.raise_error(message, position, parser.pos)
    return named


@irdl_custom_directive
class ElidedPtr(ElidedType):
    """A pointer."""

    KIND: ClassVar[type[ParametrizedAttribute]] = PtrType
    type: TypeDirective


@irdl_custom_directive
class ElidedDesc(ElidedType):
    """A tensor descriptor."""

    KIND: ClassVar[type[ParametrizedAttribute]] = TensorDescType
    type: TypeDirective


@irdl_custom_directive
class ElidedBlockPtr(ElidedType):
    """A block pointer, from which the type of a pointer to its elements follows."""

    KIND: ClassVar[type[ParametrizedAttribute]] = PtrType
    base: TypeDirective
    type: TypeDirective

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Parse `<tensor<64x32xf16>>`."""
        position = parser.pos
        found = parse_elided(parser, self.KIND)
        if not isinstance(found, PtrType) or not is_tensor(found.pointee):
            parser.raise_error(
                f"expected a pointer to a tensor, got {found}", position, parser.pos
            )
        self.type.set(state, (found,))
        base = PtrType(found.pointee.element_type, found.address_space)
        self.base.set(state, (base,))


# Where the elements of Triton's tensors are: from types to linear layouts.
#
# A tensor's encoding is an attribute that holds a `coopc.layout.encodings.Encoding`:
#
#     tensor<64x32xf16, #ttg.dot_op<..>>
#         -> encoding_of     DotOperandEncoding(0, DpasEncoding(..), 1)
#         -> layout_of       register, lane, warp, block -> dim0, dim1
#
# Laws (test/unit/dialects/test_triton_layouts.py checks each by its name):
#
#     agree    an encoding that contradicts its tensor, or the module's number of lanes
#              or subgroups, is refused, with both numbers
#     views    a transposed or reshaped layout has at every place the element that
#              numpy's transpose or reshape puts where the place points


def encoding_of(type: Attribute) -> Encoding | None:
    """Return how a tensor is kept; None for other types and for other attributes."""
    if not is_tensor(type):
        return None
    return encoding_in(type.encoding)


def encoding_in(attr: Attribute) -> Encoding | None:
    if not isinstance(attr, Data):
        return None
    data = cast("Data[object]", attr).data
    return data if isinstance(data, Encoding) else None


@cache
def linear(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    """Return the layout of a tensor, computed once.

    Raises:
        ValueError: the encoding has none for this shape.
    """
    return encoding.linear(shape)


def layout_of(type: Attribute) -> LinearLayout:
    """Return the layout of a tensor with an encoding, in IR that verifies.

    Raises:
        ValueError: it has no encoding, or one without a layout.
    """
    encoding = encoding_of(type)
    if encoding is None or not is_tensor(type):
        raise ValueError(f"expected a tensor with an encoding, got {type}")
    return linear(encoding, type.get_shape())


def dpas_of(type: Attribute) -> DpasEncoding | None:
    """Return the DPAS encoding that a tensor, or the result it is multiplied into, has.

    None for tensors of other encodings.
    """
    encoding = encoding_of(type)
    if isinstance(encoding, DotOperandEncoding):
        encoding = encoding.parent
    return encoding if isinstance(encoding, DpasEncoding) else None


def transposed(layout: LinearLayout, order: Sequence[int]) -> LinearLayout:
    """Return the layout of the tensor whose dimension i is dimension order[i] of this.

    >>> from coopc.layout.linear import LinearLayout
    >>> x = LinearLayout.of({"lane": [(1, 0), (0, 1)]}, {"dim0": 2, "dim1": 2})
    >>> transposed(x, (1, 0)).bases("lane")
    ((0, 1), (1, 0))
    """
    names = dims(len(order))
    renamed = {names[old]: names[new] for new, old in enumerate(order)}
    return transpose_outs(rename_outs(layout, renamed), names)


def reshaped(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """Return the layout of the tensor of another shape, elements in row-major order.

    >>> from coopc.layout.linear import LinearLayout
    >>> x = LinearLayout.of({"lane": [(1, 0), (0, 1)]}, {"dim0": 2, "dim1": 2})
    >>> reshaped(x, (4,)).bases("lane")
    ((2,), (1,))
    """
    minor_first = transpose_outs(layout, layout.out_names[::-1])
    names = dims(len(shape))
    outer_last = dict(zip(names[::-1], shape[::-1], strict=True))
    return transpose_outs(reshape_outs(minor_first, outer_last), names)


def verify_layouts(top: Operation) -> None:
    """Check that every tensor type in `top` has a layout, and fits the module."""
    facts = ModuleFacts.of(top)
    seen: set[Attribute] = set()
    for op in top.walk():
        types = [value.type for value in op.results]
        types += [arg.type for r in op.regions for b in r.blocks for arg in b.args]
        for type in types:
            if is_tensor(type) and type not in seen:
                seen.add(type)
                if (reason := wrong_layout(type, facts)) is not None:
                    op.emit_error(reason, VerifyException(reason))


def wrong_layout(type: Tensor, facts: ModuleFacts) -> str | None:
    """Return why a tensor's encoding does not fit it or the module; None if it does."""
    encoding = encoding_of(type)
    if encoding is None:
        return None
    try:
        layout = linear(encoding, type.get_shape())
    except ValueError as error:
        return f"{error}, in {type}"
    sizes = layout.in_sizes
    if sizes["lane"] != facts.threads_per_warp:
        who = "the module's" if facts.says_threads else "a module without"
        return (
            f"expected {facts.threads_per_warp} lanes, as {who} {THREADS_PER_WARP} "
            f"has, got threadsPerWarp = {sizes['lane']} in {type.encoding}"
        )
    if facts.num_warps not in (None, sizes["warp"]):
        return (
            f"expected {facts.num_warps} subgroups, as the module's {NUM_WARPS} has, "
            f"got warpsPerCTA of product {sizes['warp']} in {type.encoding}"
        )
    if sizes["block"] != facts.num_ctas:
        return (
            f"expected {facts.num_ctas} work-groups, as the module's {NUM_CTAS} has "
            f"(1 if it is missing), got {sizes['block']} in {type.encoding}"
        )
    return None


def has_encoding(type: Attribute) -> bool:
    """Whether a type is a tensor's with any encoding, known or not."""
    return is_tensor(type) and not isinstance(type.encoding, NoneAttr)


def expand(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return a shape with a dimension of size 1 put in.

    >>> expand((4, 8), 1)
    (4, 1, 8)
    """
    return (*shape[:axis], 1, *shape[axis:])


def without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return a shape without one of its dimensions.

    >>> without((4, 2, 8), 1)
    (4, 8)
    """
    return (*shape[:axis], *shape[axis + 1 :])


# What verifiers of Triton's operations share: each says what it expected and found.


def expect_shape(name: str, type: Attribute, shape: Sequence[int], why: str) -> None:
    if shape_of(type) != tuple(shape):
        raise VerifyException(
            f"expected {name} of shape {sizes(shape)}, {why}, "
            f"got {sizes(shape_of(type))}"
        )


def expect_type(name: str, type: Attribute, wanted: Attribute, why: str) -> None:
    if type != wanted:
        raise VerifyException(f"expected {name} to be {wanted}, {why}, got {type}")


def expect_mask(mask: SSAValue | None, like: Attribute) -> None:
    """Check that a mask, if there is one, has a bit for each element accessed."""
    if mask is None:
        return
    if element_of(mask.type) != i1:
        raise VerifyException(f"expected a mask of i1, got {mask.type}")
    expect_like("mask", mask.type, "ptr", like)


def expect_base(base: SSAValue, element: Attribute) -> None:
    """Check that a pointer points to the elements of a block."""
    assert isinstance(base.type, PtrType), base
    if (found := base.type.pointee) != element:
        raise VerifyException(
            f"expected base to point to {element}, as the block has, got {found}"
        )


def expect_count(what: str, values: Sequence[SSAValue], shape: Sequence[int]) -> None:
    """Check that there is a value for each dimension of a shape."""
    if len(values) != len(shape):
        raise VerifyException(
            f"expected {len(shape)} {what}, the rank of {sizes(shape)}, "
            f"got {len(values)}"
        )


def expect_permutation(order: Sequence[int], rank: int) -> None:
    """Check that each dimension is listed once."""
    if sorted(order) != list(range(rank)):
        raise VerifyException(
            f"expected order to permute {rank} dimensions, got {list(order)}"
        )


def expect_encodings(src: Tensor, result: Tensor, why: str) -> None:
    """Check that both of two tensors have an encoding, or none."""
    if has_encoding(src) != has_encoding(result):
        raise VerifyException(
            f"expected the result to have {'an' if has_encoding(src) else 'no'} "
            f"encoding, {why}, got {spelled(result.encoding)}"
        )


def expect_element(name: str, type: Attribute, element: Attribute, why: str) -> None:
    if (found := element_of(type)) != element:
        raise VerifyException(f"expected {name} to be of {element}, {why}, got {found}")


def expect_encoding(name: str, type: Attribute, encoding: Attribute, why: str) -> None:
    """Check the encoding of a tensor; scalars have none."""
    if is_tensor(type) and type.encoding != encoding:
        raise VerifyException(
            f"expected {name} to have {spelled(encoding)}, {why}, "
            f"got {spelled(type.encoding)}"
        )


def expect_like(name: str, type: Attribute, other: str, like: Attribute) -> None:
    """Check that a value has the shape and the encoding of another one."""
    if is_tensor(type) != is_tensor(like):
        kind = "a tensor" if is_tensor(like) else "a scalar"
        raise VerifyException(f"expected {name} to be {kind}, as {other}, got {type}")
    expect_shape(name, type, shape_of(like), f"as {other}")
    if is_tensor(like):
        expect_encoding(name, type, like.encoding, f"as {other}")


def expect_rank(name: str, type: Attribute, rank: int) -> None:
    shape = shape_of(type)
    if len(shape) != rank:
        raise VerifyException(
            f"expected {name} to be of rank {rank}, got {sizes(shape)}"
        )


def spelled(encoding: Attribute) -> str:
    return "no encoding" if isinstance(encoding, NoneAttr) else str(encoding)
