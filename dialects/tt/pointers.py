"""Operations of Triton on pointers: arithmetic, loads, stores and atomics."""

from __future__ import annotations

from abc import ABC
from collections.abc import Container, Sequence
from collections.abc import Set as AbstractSet
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    AnyFloat,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    OptionalDef,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    VarConstraint,
    eq,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_tensor
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.traits import ReadsAndWrites
from coopc.dialects.tt.types import (
    CacheModifier,
    CachePolicyAttr,
    ElidedBlockPtr,
    ElidedPtr,
    EnumConstraint,
    EvictionPolicy,
    Keyword,
    Padding,
    PtrType,
    TritonEnum,
    block_io,
    expect_base,
    expect_count,
    expect_like,
    expect_mask,
    expect_permutation,
    expect_type,
    mask_of,
    member,
    parse_keyword,
    pointee_of,
    shape_of,
)

CLAUSES: dict[str, tuple[str, type[TritonEnum]]] = {
    "cacheModifier": ("cache", CacheModifier),
    "evictionPolicy": ("evict", EvictionPolicy),
}
"""From the keyword of a clause to its property and what it can be."""

SEGMENTS = "operandSegmentSizes"
"""What xDSL calls the numbers of operands; it is never printed."""


def parse_named(
    parser: Parser, op: type[IRDLOperation], *, clauses: bool
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Parse clauses and the attribute dictionary; return properties and attributes.

    The dictionary may have properties, too: those of clauses as well, by themselves or
    in a `cachePolicy`.
    """
    properties: dict[str, Attribute] = {}
    while clauses and (found := parser.parse_optional_keyword_in(CLAUSES)) is not None:
        name, enum = CLAUSES[found]
        if name in properties:
            parser.raise_error(f"expected {found} once, got it again")
        parser.parse_punctuation("=")
        properties[name] = parse_keyword(parser, enum)
    known = op.get_irdl_definition().properties
    attributes = parser.parse_optional_attr_dict()
    if isinstance(policy := attributes.get("cachePolicy"), CachePolicyAttr):
        del attributes["cachePolicy"]
        attributes |= {"cache": policy.cache, "evict": policy.evict}
    for name in [name for name in attributes if name in known]:
        properties.setdefault(name, attributes.pop(name))
    attributes.pop(SEGMENTS, None)
    return properties, attributes


def print_clauses(printer: Printer, op: IRDLOperation) -> None:
    """Print the clauses that do not say the default."""
    for keyword, (name, enum) in CLAUSES.items():
        found = op.properties.get(name)
        if found is not None and found != default_of(op, name):
            assert isinstance(found, IntegerAttr), found
            printer.print_string(f" {keyword} = {enum(found.value.data).keyword}")


def print_rest(printer: Printer, op: IRDLOperation, printed: Container[str]) -> None:
    """Print the attributes, and the properties that are not printed or the default."""
    rest = {
        name: attr
        for name, attr in op.properties.items()
        if name not in printed and attr != default_of(op, name)
    }
    printer.print_op_attributes(rest | op.attributes)


def default_of(op: IRDLOperation, name: str) -> Attribute | None:
    """Return what a property is where nothing is said."""
    return op.get_irdl_definition().properties[name].default_value


@irdl_custom_directive
class Clauses(CustomDirective):
    """` cacheModifier = ca evictionPolicy = evict_first`, in any order."""

    cache: AttributeVariable
    evict: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        # With the dictionary behind them: `attr-dict` would take properties that
        # clauses print for attributes.
        properties, attributes = parse_named(parser, state.op_type, clauses=True)
        state.properties |= properties
        state.attributes |= attributes

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        print_clauses(printer, op)


class CachedOp(IRDLOperation, ABC):
    """An operation that says what the caches are to do."""

    cache = prop_def(
        EnumConstraint(CacheModifier), default_value=CacheModifier.NONE.attribute
    )
    evict = prop_def(
        EnumConstraint(EvictionPolicy),
        default_value=EvictionPolicy.EVICT_NORMAL.attribute,
    )

    @property
    def cache_modifier(self) -> CacheModifier:
        return member(CacheModifier, self.cache)

    @property
    def eviction_policy(self) -> EvictionPolicy:
        return member(EvictionPolicy, self.evict)


class PointerOp(IRDLOperation, ABC):
    """An access through `ptr`: `%ptr, %mask cacheModifier = ca {..} : type`.

    The type is that of `ptr`, from which those of the other operands follow: a `mask`
    of i1 and else what is pointed to, which is also the type of a result.
    """

    HAS_CLAUSES: ClassVar[bool] = True

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        definition = cls.get_irdl_definition()
        names = [name for name, _ in definition.operands]
        least = sum(not isinstance(x, OptionalDef) for _, x in definition.operands)
        position = parser.pos
        operands = parse_operands(parser, names, least)
        properties, attributes = parse_named(parser, cls, clauses=cls.HAS_CLAUSES)
        parser.parse_punctuation(":")
        type, pointee = parse_accessed(parser)
        if definition.results:
            parse_pointee(parser, type, pointee)
        types = {"ptr": type, "mask": mask_of(type)}
        values = parser.resolve_operands(
            operands, [types.get(x, pointee) for x in names[: len(operands)]], position
        )
        return cls.build(
            operands=[values[at : at + 1] for at in range(len(names))],
            result_types=[pointee] * len(definition.results),
            properties=properties,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        if self.HAS_CLAUSES:
            print_clauses(printer, self)
        printed = {SEGMENTS, *(x for x, _ in CLAUSES.values() if self.HAS_CLAUSES)}
        print_rest(printer, self, printed)
        printer.print_string(" : ")
        printer.print_attribute(self.operands[0].type)


def parse_operands(
    parser: Parser, names: Sequence[str], least: int | None = None
) -> Sequence[UnresolvedOperand]:
    """Parse operands with commas between them, `least` or all of those that have names.

    Raises:
        ParseError: there are more or fewer.
    """
    position, most = parser.pos, len(names)
    found = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    least = most if least is None else least
    if not least <= len(found) <= most:
        count = f"{least} to {most}" if least < most else f"{most}"
        parser.raise_error(
            f"expected {count} operands, {', '.join(names)}, got {len(found)}",
            position,
            parser.pos,
        )
    return found


def parse_accessed(parser: Parser) -> tuple[Attribute, Attribute]:
    """Parse the type of a pointer, and return it and the type of what it points to."""
    position = parser.pos
    type = parser.parse_type()
    if (pointee := pointee_of(type)) is None:
        parser.raise_error(f"expected {ACCESSED}, got {type}", position, parser.pos)
    return type, pointee


def parse_pointee(parser: Parser, type: Attribute, pointee: Attribute) -> None:
    """Parse `-> type`, if it is there: it says no more than the pointer does."""
    if parser.parse_optional_punctuation("->") is None:
        return
    position = parser.pos
    if (found := parser.parse_type()) != pointee:
        parser.raise_error(
            f"expected {pointee}, which {type} points to, got {found}",
            position,
            parser.pos,
        )


# Operations of Triton on pointers: arithmetic, loads and stores.
#
# What is loaded follows from the pointer: through a pointer an element, through a
# tensor of pointers a tensor of the same shape and encoding, through a block pointer
# (as Triton had them until 2026) the block.

NO_CHECKS = DenseArrayBase.from_list(i32, [])
FALSE = IntegerAttr.from_bool(False)
ACCESSED = "a pointer or a tensor of pointers"
POINTED = "as ptr points to"


@irdl_op_definition
class AddPtrOp(IRDLOperation):
    """A pointer moved by a number of elements, each one of a tensor by its own.

    | value       | type                               |
    |-------------|------------------------------------|
    | ptr, result | !tt.ptr, or tensor of them         |
    | offset      | integer, or tensor in that shape   |

    ```mlir
    %p, %i = "test.op"() : () -> (tensor<64x!tt.ptr<f16>>, tensor<64xi32>)
    %q = tt.addptr %p, %i : tensor<64x!tt.ptr<f16>>, tensor<64xi32>
    ```
    """

    name = "tt.addptr"

    ptr = operand_def(VarConstraint("P", AnyAttr()))
    offset = operand_def()
    result = result_def(VarConstraint("P", AnyAttr()))

    traits = traits_def(Pure())
    assembly_format = "$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)"

    def __init__(self, ptr: SSAValue, offset: SSAValue) -> None:
        super().__init__(operands=[ptr, offset], result_types=[ptr.type])

    def verify_(self) -> None:
        if not isinstance(element_of(self.ptr.type), PtrType):
            raise VerifyException(f"expected ptr to be {ACCESSED}, got {self.ptr.type}")
        if not isinstance(element_of(self.offset.type), IntegerType):
            raise VerifyException(
                f"expected offset to be of integers, got {self.offset.type}"
            )
        expect_like("offset", self.offset.type, "ptr", self.ptr.type)


class LoadEffects(MemoryEffect):
    """A load reads; a volatile one stays where it is."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        assert isinstance(op, LoadOp), op
        is_volatile = bool(op.is_volatile.value.data)
        return (ReadsAndWrites if is_volatile else MemoryReadEffect).get_effects(op)


@irdl_op_definition
class LoadOp(CachedOp, PointerOp):
    """Load what pointers point to, where a mask is true; elsewhere it is `other`.

    Without `other` it is undefined where the mask is false.

    | value  | type                                    |
    |--------|-----------------------------------------|
    | ptr    | !tt.ptr<T>, or tensor of them           |
    | mask   | i1, in that shape                       |
    | other  | T, in that shape                        |
    | result | T, in that shape                        |

    Through a block pointer there is no mask, but `boundaryCheck`, the dimensions in
    which the block may be outside of its tensor, and `padding`, what is read there.

    ```mlir
    %p, %m = "test.op"() : () -> (tensor<64x32x!tt.ptr<f16>>, tensor<64x32xi1>)
    %zero = arith.constant dense<0.0> : tensor<64x32xf16>
    %x = tt.load %p, %m, %zero cacheModifier = ca {ttig.block_io = "row_major"}
         : tensor<64x32x!tt.ptr<f16>>
    ```
    """

    name = "tt.load"

    ptr = operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    boundary_check = prop_def(
        DenseArrayBase.constr(i32), default_value=NO_CHECKS, prop_name="boundaryCheck"
    )
    padding = opt_prop_def(EnumConstraint(Padding))
    is_volatile = prop_def(BoolAttr, default_value=FALSE, prop_name="isVolatile")
    result = result_def()

    traits = traits_def(LoadEffects())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        ptr: SSAValue,
        mask: SSAValue | None = None,
        other: SSAValue | None = None,
        *,
        cache: CacheModifier = CacheModifier.NONE,
        evict: EvictionPolicy = EvictionPolicy.EVICT_NORMAL,
    ) -> None:
        loaded = pointee_of(ptr.type)
        if loaded is None:
            raise ValueError(f"expected {ACCESSED}, got {ptr.type}")
        super().__init__(
            operands=[ptr, mask, other],
            properties={"cache": cache.attribute, "evict": evict.attribute},
            result_types=[loaded],
        )

    @property
    def padding_option(self) -> Padding | None:
        """What is read outside of a block pointer's tensor, where that is said."""
        return None if self.padding is None else member(Padding, self.padding)

    def verify_(self) -> None:
        block_io(self)
        loaded = verify_access(self.ptr.type, self.mask, self.boundary_check)
        if self.other is not None and self.mask is None:
            raise VerifyException("expected a mask, as there is an other, got none")
        if self.other is not None:
            expect_type("other", self.other.type, loaded, POINTED)
        expect_type("the result", self.result.type, loaded, POINTED)


@irdl_op_definition
class StoreOp(CachedOp, PointerOp):
    """Store to where pointers point, where a mask is true.

    | value  | type                                    |
    |--------|-----------------------------------------|
    | ptr    | !tt.ptr<T>, or tensor of them           |
    | value  | T, in that shape                        |
    | mask   | i1, in that shape                       |

    Through a block pointer there is no mask, but `boundaryCheck`: see `tt.load`.

    ```mlir
    %p, %x = "test.op"() : () -> (tensor<64x32x!tt.ptr<f16>>, tensor<64x32xf16>)
    %m = "test.op"() : () -> tensor<64x32xi1>
    tt.store %p, %x, %m evictionPolicy = evict_first : tensor<64x32x!tt.ptr<f16>>
    ```
    """

    name = "tt.store"

    ptr = operand_def()
    value = operand_def()
    mask = opt_operand_def()
    boundary_check = prop_def(
        DenseArrayBase.constr(i32), default_value=NO_CHECKS, prop_name="boundaryCheck"
    )

    traits = traits_def(MemoryWriteEffect())

    def verify_(self) -> None:
        block_io(self)
        stored = verify_access(self.ptr.type, self.mask, self.boundary_check)
        expect_type("value", self.value.type, stored, POINTED)


def verify_access(
    ptr: Attribute, mask: SSAValue | None, checks: DenseArrayBase[IntegerType]
) -> Attribute:
    """Check pointers, mask and boundary checks; return what the pointers point to."""
    accessed = pointee_of(ptr)
    if accessed is None:
        raise VerifyException(f"expected ptr to be {ACCESSED}, got {ptr}")
    is_block = isinstance(ptr, PtrType) and is_tensor(ptr.pointee)
    if mask is not None:
        if is_block:
            raise VerifyException(
                "expected boundaryCheck, as ptr is a block pointer, got a mask"
            )
        expect_mask(mask, accessed)
    dims, rank = checks.get_values(), len(shape_of(accessed))
    if dims and not is_block:
        raise VerifyException(
            f"boundaryCheck requires a block pointer, got {list(dims)} "
            "for an ordinary pointer"
        )
    if any(not 0 <= dim < rank for dim in dims):
        raise VerifyException(
            f"expected boundaryCheck of dimensions 0 to {rank - 1}, got {list(dims)}"
        )
    return accessed


# Atomic updates of memory through pointers.


class Update(TritonEnum):
    """What becomes of an element and a value."""

    AND = 1
    OR = 2
    XOR = 3
    ADD = 4
    FADD = 5
    MAX = 6
    """Of signed integers."""
    MIN = 7
    UMAX = 8
    UMIN = 9
    EXCH = 10
    """The value."""


class Order(TritonEnum):
    """What other accesses see of one that is atomic."""

    RELAXED = 1
    ACQUIRE = 2
    RELEASE = 3
    ACQ_REL = 4


class SyncScope(TritonEnum):
    """Who sees an access as atomic."""

    GPU = 1
    """The device."""
    CTA = 2
    """The work-group."""
    SYS = 3
    """The host and all devices."""


def verify_pointee(ptr: SSAValue, values: dict[str, SSAValue]) -> Attribute:
    """Check pointers, and what they point to against some values; return that."""
    pointee = pointee_of(ptr.type)
    if pointee is None or is_tensor(pointee) != is_tensor(ptr.type):
        raise VerifyException(
            f"expected pointers to elements to be updated, got {ptr.type}"
        )
    for name, value in values.items():
        expect_type(name, value.type, pointee, POINTED)
    return pointee


class AtomicOp(IRDLOperation, ABC):
    """An access that happens as a whole, for who is in a scope."""

    sem = prop_def(EnumConstraint(Order))
    scope = prop_def(EnumConstraint(SyncScope))

    traits = traits_def(ReadsAndWrites())
    custom_directives = (Keyword,)

    @property
    def order(self) -> Order:
        return member(Order, self.sem)

    @property
    def sync_scope(self) -> SyncScope:
        return member(SyncScope, self.scope)


@irdl_op_definition
class AtomicRMWOp(AtomicOp):
    """Update what pointers point to, where a mask is true; the result was there before.

    | value  | type                          |
    |--------|-------------------------------|
    | ptr    | !tt.ptr<T>, or tensor of them |
    | val    | T, in that shape              |
    | mask   | i1, in that shape             |
    | result | T, in that shape              |

    ```mlir
    %p = "test.op"() : () -> tensor<64x!tt.ptr<f32>>
    %x, %m = "test.op"() : () -> (tensor<64xf32>, tensor<64xi1>)
    %old = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x, %m
         : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> tensor<64xf32>
    ```
    """

    name = "tt.atomic_rmw"

    update = prop_def(EnumConstraint(Update), prop_name="atomic_rmw_op")
    ptr = operand_def()
    val = operand_def()
    mask = opt_operand_def()
    result = result_def()

    assembly_format = (
        "custom<Keyword>($atomic_rmw_op) `,` custom<Keyword>($sem) `,` "
        "custom<Keyword>($scope) `,` $ptr `,` $val (`,` $mask^)? attr-dict "
        "`:` functional-type(operands, results)"
    )

    @property
    def kind(self) -> Update:
        return member(Update, self.update)

    def verify_(self) -> None:
        values = {"val": self.val, "the result": self.result}
        pointee = verify_pointee(self.ptr, values)
        expect_mask(self.mask, pointee)
        kind, element = self.kind, element_of(pointee)
        if kind is Update.EXCH:
            return
        wanted = AnyFloat if kind is Update.FADD else IntegerType
        if not isinstance(element, wanted):
            what = "floats" if kind is Update.FADD else "integers"
            raise VerifyException(f"expected {what} for {kind.keyword}, got {element}")


@irdl_op_definition
class AtomicCASOp(AtomicOp):
    """Replace what pointers point to where it is `cmp`; the result was there before.

    | value    | type                          |
    |----------|-------------------------------|
    | ptr      | !tt.ptr<T>, or tensor of them |
    | cmp, val | T, in that shape              |
    | result   | T, in that shape              |

    ```mlir
    %p, %x, %y = "test.op"() : () -> (!tt.ptr<i32>, i32, i32)
    %old = tt.atomic_cas acq_rel, gpu, %p, %x, %y : (!tt.ptr<i32>, i32, i32) -> i32
    ```
    """

    name = "tt.atomic_cas"

    ptr = operand_def()
    cmp = operand_def()
    val = operand_def()
    result = result_def()

    assembly_format = (
        "custom<Keyword>($sem) `,` custom<Keyword>($scope) `,` $ptr `,` "
        "$cmp `,` $val attr-dict `:` functional-type(operands, results)"
    )

    def verify_(self) -> None:
        values = {"cmp": self.cmp, "val": self.val, "the result": self.result}
        verify_pointee(self.ptr, values)


@irdl_op_definition
class AtomicPollOp(AtomicOp):
    """Wait until what pointers point to is `expected`, or for so long; say if it was.

    | value    | type                          | unit        |
    |----------|-------------------------------|-------------|
    | ptr      | !tt.ptr<T>, or tensor of them |             |
    | expected | T, in that shape              |             |
    | timeout  | i64; forever without it       | nanoseconds |
    | result   | i1, in that shape             |             |

    ```mlir
    %p, %x, %t = "test.op"() : () -> (!tt.ptr<i32>, i32, i64)
    %was = tt.atomic_poll acquire, gpu, %p, %x timeout %t : !tt.ptr<i32>, i32 -> i1
    ```
    """

    name = "tt.atomic_poll"

    ptr = operand_def()
    expected = operand_def()
    timeout = opt_operand_def(eq(i64))
    result = result_def()

    assembly_format = (
        "custom<Keyword>($sem) `,` custom<Keyword>($scope) `,` $ptr `,` $expected "
        "(`timeout` $timeout^)? attr-dict `:` type($ptr) `,` type($expected) "
        "`->` type($result)"
    )

    def verify_(self) -> None:
        verify_pointee(self.ptr, {"expected": self.expected})
        if element_of(self.result.type) != i1:
            raise VerifyException(f"expected a result of i1, got {self.result.type}")
        expect_like("the result", self.result.type, "ptr", self.ptr.type)


# Block pointers, as Triton had them until 2026: a block of a tensor in memory.
#
# They are loaded from and stored to by `tt.load` and `tt.store`.


@irdl_op_definition
class MakeTensorPtrOp(IRDLOperation):
    """A block pointer, as Triton had them until 2026: a block of a tensor in memory.

    | value   | type                         | unit     |
    |---------|------------------------------|----------|
    | base    | !tt.ptr<T>                   |          |
    | shape   | i64 for each dimension       | elements |
    | strides | i64 for each dimension       | elements |
    | offsets | i32 for each dimension       | elements |
    | result  | !tt.ptr<tensor<.. T>>        |          |

    `order` lists the dimensions, that with the least stride first.

    ```mlir
    %p, %n, %s = "test.op"() : () -> (!tt.ptr<f16>, i64, i64)
    %zero = arith.constant 0 : i32
    %b = tt.make_tensor_ptr %p, [%n, %n], [%n, %s], [%zero, %zero]
         {order = array<i32: 1, 0>} : <tensor<64x32xf16>>
    ```
    """

    name = "tt.make_tensor_ptr"

    base = operand_def(PtrType)
    shape = var_operand_def(eq(i64))
    strides = var_operand_def(eq(i64))
    offsets = var_operand_def(eq(i32))
    order = prop_def(DenseArrayBase.constr(i32))
    result = result_def(PtrType)

    traits = traits_def(Pure())
    irdl_options = (SameVariadicOperandSize(), ParsePropInAttrDict())
    custom_directives = (ElidedBlockPtr,)
    assembly_format = (
        "$base `,` `[` $shape `]` `,` `[` $strides `]` `,` `[` $offsets `]` attr-dict "
        "`:` custom<ElidedBlockPtr>(type($base), type($result))"
    )

    @property
    def block(self) -> Attribute:
        assert isinstance(self.result.type, PtrType), self.result.type
        return self.result.type.pointee

    def verify_(self) -> None:
        if not is_tensor(self.block):
            raise VerifyException(f"expected a pointer to a tensor, got {self.block}")
        shape = self.block.get_shape()
        expect_count("sizes, strides and offsets", self.shape, shape)
        expect_permutation(self.order.get_values(), len(shape))
        expect_base(self.base, self.block.element_type)


@irdl_op_definition
class AdvanceOp(IRDLOperation):
    """A block pointer moved by a number of elements in each dimension.

    | value       | type                   |
    |-------------|------------------------|
    | ptr, result | !tt.ptr<tensor<..>>    |
    | offsets     | i32 for each dimension |

    ```mlir
    %p, %i = "test.op"() : () -> (!tt.ptr<tensor<64x32xf16>>, i32)
    %q = tt.advance %p, [%i, %i] : <tensor<64x32xf16>>
    ```
    """

    name = "tt.advance"

    ptr = operand_def(VarConstraint("P", AnyAttr()))
    offsets = var_operand_def(eq(i32))
    result = result_def(VarConstraint("P", AnyAttr()))

    traits = traits_def(Pure())
    custom_directives = (ElidedPtr,)
    assembly_format = (
        "$ptr `,` `[` $offsets `]` attr-dict `:` custom<ElidedPtr>(type($result))"
    )

    def verify_(self) -> None:
        type = self.ptr.type
        if not isinstance(type, PtrType) or not is_tensor(type.pointee):
            raise VerifyException(f"expected ptr to be a block pointer, got {type}")
        expect_count("offsets", self.offsets, type.pointee.get_shape())
