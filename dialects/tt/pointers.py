"""Operations of Triton on pointers: arithmetic, loads and stores.

What is loaded follows from the pointer: through a pointer an element, through a tensor
of pointers a tensor of the same shape and encoding, through a block pointer (as Triton
had them until 2026) the block.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
    MemoryWriteEffect,
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.access import (
    CachedOp,
    parse_accessed,
    parse_named,
    parse_operands,
    print_named,
    print_operands,
    resolve,
)
from coopc.dialects.tt.checks import expect_like
from coopc.dialects.tt.enums import (
    CacheModifier,
    EnumConstraint,
    EvictionPolicy,
    Padding,
    member,
)
from coopc.dialects.tt.names import block_io
from coopc.dialects.tt.types import (
    PtrType,
    is_pointer_like,
    is_tensor,
    mask_of,
    pointee_of,
    shape_of,
)

NO_CHECKS = DenseArrayBase.from_list(i32, [])
FALSE = IntegerAttr.from_bool(False)
ACCESSED = "a pointer or a tensor of pointers"


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
        """Check that pointers are moved by integers, in one shape."""
        if not is_pointer_like(self.ptr.type):
            raise VerifyException(f"expected ptr to be {ACCESSED}, got {self.ptr.type}")
        if not isinstance(element_of(self.offset.type), IntegerType):
            raise VerifyException(
                f"expected offset to be of integers, got {self.offset.type}"
            )
        expect_like("offset", self.offset.type, "ptr", self.ptr.type)


class LoadEffects(MemoryEffect):
    """A load reads; a volatile one stays where it is."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """Return what `op` does to memory."""
        assert isinstance(op, LoadOp), op
        effects = {EffectInstance(MemoryEffectKind.READ)}
        if op.is_volatile.value.data:
            effects.add(EffectInstance(MemoryEffectKind.WRITE))
        return effects


@irdl_op_definition
class LoadOp(CachedOp):
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
            operands=[
                ptr,
                () if mask is None else (mask,),
                () if other is None else (other,),
            ],
            properties={"cache": cache.attribute, "evict": evict.attribute},
            result_types=[loaded],
        )

    @property
    def padding_option(self) -> Padding | None:
        """What is read outside of a block pointer's tensor, where that is said."""
        return None if self.padding is None else member(Padding, self.padding)

    def verify_(self) -> None:
        """Check mask, other and result against the pointers."""
        block_io(self)
        loaded = verify_access(self.ptr.type, self.mask, self.boundary_check)
        if self.other is not None and self.mask is None:
            raise VerifyException("expected a mask, as there is an other, got none")
        for name, value in (("other", self.other), ("the result", self.result)):
            if value is not None and value.type != loaded:
                raise VerifyException(
                    f"expected {name} to be {loaded}, as ptr points to, "
                    f"got {value.type}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        """Parse `%p, %mask, %other cacheModifier = ca {..} : type`, with `-> type`."""
        operands = parse_operands(parser, most=3)
        named = parse_named(parser, cls, clauses=True)
        parser.parse_punctuation(":")
        type, loaded = parse_accessed(parser, ACCESSED)
        if parser.parse_optional_punctuation("->") is not None:
            position = parser.pos
            if (found := parser.parse_type()) != loaded:
                parser.raise_error(
                    f"expected {loaded}, which {type} points to, got {found}",
                    position,
                    parser.pos,
                )
        values = resolve(parser, operands, (type, mask_of(type), loaded))
        return cls.build(
            operands=[values[:1], values[1:2], values[2:]],
            result_types=[loaded],
            properties=named.properties,
            attributes=named.attributes,
        )

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        print_operands(printer, self)
        print_named(printer, self, clauses=True)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)


@irdl_op_definition
class StoreOp(CachedOp):
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

    def __init__(
        self,
        ptr: SSAValue,
        value: SSAValue,
        mask: SSAValue | None = None,
        *,
        cache: CacheModifier = CacheModifier.NONE,
        evict: EvictionPolicy = EvictionPolicy.EVICT_NORMAL,
    ) -> None:
        super().__init__(
            operands=[ptr, value, () if mask is None else (mask,)],
            properties={"cache": cache.attribute, "evict": evict.attribute},
        )

    def verify_(self) -> None:
        """Check value and mask against the pointers."""
        block_io(self)
        stored = verify_access(self.ptr.type, self.mask, self.boundary_check)
        if self.value.type != stored:
            raise VerifyException(
                f"expected value to be {stored}, as ptr points to, "
                f"got {self.value.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        """Parse `%p, %value, %mask cacheModifier = wb {..} : type`."""
        position = parser.pos
        operands = parse_operands(parser, most=3)
        if len(operands) < 2:
            parser.raise_error("expected a value to store", position, parser.pos)
        named = parse_named(parser, cls, clauses=True)
        parser.parse_punctuation(":")
        type, stored = parse_accessed(parser, ACCESSED)
        values = resolve(parser, operands, (type, stored, mask_of(type)))
        return cls.build(
            operands=[values[0], values[1], values[2:]],
            properties=named.properties,
            attributes=named.attributes,
        )

    def print(self, printer: Printer) -> None:
        """Print what `parse` reads."""
        print_operands(printer, self)
        print_named(printer, self, clauses=True)
        printer.print_string(" : ")
        printer.print_attribute(self.ptr.type)


def verify_access(
    ptr: Attribute, mask: SSAValue | None, checks: DenseArrayBase[IntegerType]
) -> Attribute:
    """Check pointers, mask and boundary checks; return what the pointers point to.

    Raises:
        VerifyException: they do not fit.
    """
    accessed = pointee_of(ptr)
    if accessed is None:
        raise VerifyException(f"expected ptr to be {ACCESSED}, got {ptr}")
    is_block = isinstance(ptr, PtrType) and is_tensor(ptr.pointee)
    if mask is not None:
        if is_block:
            raise VerifyException(
                "expected boundaryCheck, as ptr is a block pointer, got a mask"
            )
        if element_of(mask.type) != i1:
            raise VerifyException(f"expected a mask of i1, got {mask.type}")
        expect_like("mask", mask.type, "ptr", ptr)
    dims, rank = checks.get_values(), len(shape_of(accessed))
    if dims and not is_block:
        raise VerifyException(
            f"expected no boundaryCheck, as ptr is no block pointer, got {list(dims)}"
        )
    if any(not 0 <= dim < rank for dim in dims):
        raise VerifyException(
            f"expected boundaryCheck of dimensions 0 to {rank - 1}, got {list(dims)}"
        )
    return accessed
