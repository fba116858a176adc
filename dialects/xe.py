"""The `xe` dialect: what one lane of an Intel Xe subgroup does with its matrix engine.

Operands are vectors, not matrices: the share of one lane.  What `plan-block-io` decides
is in attributes (`coopc.dialects.xe_plans`).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    I32,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    bf16,
    f16,
    f32,
    i1,
    i16,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.str_enum import StrEnum

from coopc.device.model import Dpas
from coopc.dialects import simt, xe_plans
from coopc.dialects.definitions import dialect_of
from coopc.dialects.layout import (
    ValueAttr,
)
from coopc.dialects.narrow import length_of, vector_type
from coopc.dialects.simt import MAX_COMPONENTS
from coopc.dialects.traits import Collective, FillsCache, ReadsAndWrites
from coopc.dialects.xe_plans import ShapeAttr
from coopc.layout.dpas import CHANNEL_BITS, SYSTOLIC_DEPTH
from coopc.plan.block_message import BlockMode, BlockShape

# Precisions, caches and payloads.


class Precision(StrEnum):
    """What the bits of an operand of DPAS are."""

    S8 = "s8"
    U8 = "u8"
    S4 = "s4"
    U4 = "u4"
    F16 = "f16"
    BF16 = "bf16"
    TF32 = "tf32"

    @property
    def bits(self) -> int:
        """Width of an element."""
        return {"8": 8, "4": 4, "6": 16, "2": 32}[self.value[-1]]

    @property
    def ops_per_channel(self) -> int:
        """Elements that a channel of 32 bits packs."""
        return CHANNEL_BITS // self.bits

    @property
    def is_integer(self) -> bool:
        return self.value[0] in "su"

    @property
    def k(self) -> int:
        """K of one DPAS."""
        return SYSTOLIC_DEPTH * self.ops_per_channel


class CacheControl(StrEnum):
    """What a cache does with an access, as SPV_INTEL_cache_controls names it."""

    DEFAULT = "default"
    UNCACHED = "uncached"
    CACHED = "cached"
    STREAMING = "streaming"
    INVALIDATE_AFTER_READ = "invalidate_after_read"
    CONST_CACHED = "const_cached"
    WRITE_THROUGH = "write_through"
    WRITE_BACK = "write_back"


_WRITES = (CacheControl.WRITE_THROUGH, CacheControl.WRITE_BACK)
STORE_CONTROLS = (
    CacheControl.DEFAULT,
    CacheControl.UNCACHED,
    *_WRITES,
    CacheControl.STREAMING,
)
LOAD_CONTROLS = tuple(x for x in CacheControl if x not in _WRITES)


@irdl_attr_definition
class PrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    """A `Precision`, as in `#xe<precision f16>`."""

    name = "xe.precision"


@irdl_attr_definition
class BlockAttr(ShapeAttr):
    """The shape of a block: `#xe.block<16, 32x16x2, transform>`."""

    name = "xe.block"


@irdl_attr_definition
class PayloadType(ShapeAttr, TypeAttribute):
    """The address of blocks of a shape, as in `!xe.payload<32, 16x8x1, transpose>`.

    It is a register that is written in place: whoever holds it sees what `set_x` and
    `set_y` wrote, as with a memref.
    """

    name = "xe.payload"


@irdl_attr_definition
class CacheAttr(ValueAttr[tuple[CacheControl, CacheControl]]):
    """What the caches L1 and L3 do with an access.

    `#xe.cache<l1 = cached, l3 = cached>`
    """

    name = "xe.cache"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> tuple[CacheControl, CacheControl]:
        def level(name: str) -> CacheControl:
            parser.parse_keyword(name)
            parser.parse_punctuation("=")
            return parser.parse_str_enum(CacheControl)

        l1 = level("l1")
        parser.parse_punctuation(",")
        return l1, level("l3")

    def body(self) -> str:
        l1, l3 = self.data
        return f"l1 = {l1}, l3 = {l3}"


# Operations of `xe` that move 2D blocks between memory and the registers of lanes.
#
# A surface is a base, a width and a pitch in bytes and a height in rows, all of them
# the same in every lane, as are x (in elements of the block) and y (in rows), which are
# signed.  Elements outside the surface are 0 in a load and not written by a store.
# What is placed where is `coopc.plan.block_message`'s to say.

SUBGROUP_SIZES = (8, 16, 32)

_SURFACE = "$base `[` $x `,` $y `]` `surface` `(` $width `,` $height `,` $pitch `)` "
_ACCESS = _SURFACE + "`block` $block (`cache` $cache^)? "


class SurfaceOp(IRDLOperation, ABC):
    """A surface and a position in it."""

    base = operand_def(MemRefType)
    x = operand_def(i32)
    y = operand_def(i32)
    width = operand_def(i32)
    height = operand_def(i32)
    pitch = operand_def(i32)


class BlockOp(SurfaceOp, ABC):
    """A block of a surface, and what the caches do with it."""

    CONTROLS: ClassVar = LOAD_CONTROLS
    """What they can do."""

    block = prop_def(BlockAttr)
    cache = opt_prop_def(CacheAttr)

    def __init__(
        self,
        base: SSAValue,
        position: tuple[SSAValue, SSAValue],
        surface: tuple[SSAValue, SSAValue, SSAValue],
        block: BlockAttr,
        cache: CacheAttr | None = None,
        *,
        stored: Sequence[SSAValue] | None = None,
        loaded: Sequence[Attribute] | None = None,
    ) -> None:
        super().__init__(
            operands=[
                *([] if stored is None else [stored]),
                *(base, *position, *surface),
            ],
            properties={"block": block, "cache": cache},
            result_types=[] if loaded is None else [loaded],
        )

    def verify_(self) -> None:
        verify_cache(self.name, self.cache, self.CONTROLS)


@irdl_op_definition
class BlockLoad2DOp(BlockOp):
    """Load a block; each result is a piece, a run of the slots of each lane.

    | value  | what                                                               |
    |--------|--------------------------------------------------------------------|
    | base   | any memref: where the surface begins                               |
    | x, y   | column in elements of the block, row                               |
    | pieces | equal vectors of integers, at most 16 long: a lane's slots in order |

    ```mlir
    %p, %x, %y, %w, %h, %pitch = "test.op"() : () ->
      (memref<f16>, i32, i32, i32, i32, i32)
    %a0, %a1 = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch)
      block <16, 16x16x1> : memref<f16> -> vector<8xi16>, vector<8xi16>
    %b = xe.block_load_2d %p[%x, %y] surface(%w, %h, %pitch)
      block <16, 16x16x1, transform> cache <l1 = cached, l3 = uncached> :
      memref<f16> -> vector<8xi32>
    ```
    """

    name = "xe.block_load_2d"

    pieces = var_result_def(VectorType)

    traits = traits_def(Collective(), MemoryReadEffect())

    assembly_format = _ACCESS + "attr-dict `:` type($base) `->` type($pieces)"

    def verify_(self) -> None:
        super().verify_()
        verify_pieces(self.block.data, self.pieces.types)


@irdl_op_definition
class BlockStore2DOp(BlockOp):
    """Store a block; the pieces are the slots of each lane, in order.

    ```mlir
    %p, %x, %y, %w, %h, %pitch = "test.op"() : () ->
      (memref<f32>, i32, i32, i32, i32, i32)
    %c = "test.op"() : () -> vector<8xi32>
    xe.block_store_2d %c into %p[%x, %y] surface(%w, %h, %pitch)
      block <32, 8x16x1> : vector<8xi32> into memref<f32>
    ```
    """

    name = "xe.block_store_2d"

    CONTROLS: ClassVar = STORE_CONTROLS

    pieces = var_operand_def(VectorType)

    traits = traits_def(Collective(), MemoryWriteEffect())

    assembly_format = (
        "$pieces `into` " + _ACCESS + "attr-dict `:` type($pieces) `into` type($base)"
    )

    def verify_(self) -> None:
        super().verify_()
        if self.block.data.mode is not BlockMode.PLAIN or self.block.data.count != 1:
            raise VerifyException(
                "expected one plain block, the only kind that can be stored, "
                f"got {self.block.data}"
            )
        verify_pieces(self.block.data, self.pieces.types)


@irdl_op_definition
class BlockPrefetch2DOp(BlockOp):
    """Prefetch a block into a cache; a hint without a result.

    ```mlir
    %p, %x, %y, %w, %h, %pitch = "test.op"() : () ->
      (memref<f16>, i32, i32, i32, i32, i32)
    xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %pitch)
      block <16, 32x16x2> cache <l1 = cached, l3 = cached> : memref<f16>
    ```
    """

    name = "xe.block_prefetch_2d"

    traits = traits_def(Collective(), FillsCache())

    assembly_format = _ACCESS + "attr-dict `:` type($base)"

    def verify_(self) -> None:
        super().verify_()
        verify_prefetched(self.block.data)


def verify_cache(
    name: str, cache: CacheAttr | None, allowed: Sequence[CacheControl]
) -> None:
    for control in cache.data if cache is not None else ():
        if control not in allowed:
            raise VerifyException(
                f"expected one of {', '.join(allowed)}, which {name} can ask of a "
                f"cache, got {control}"
            )


def verify_prefetched(shape: BlockShape) -> None:
    if shape.mode is not BlockMode.PLAIN:
        raise VerifyException(f"expected a plain block to prefetch, got {shape}")


def verify_pieces(shape: BlockShape, types: Sequence[Attribute]) -> None:
    """Check that pieces are equal vectors of integers that the block fills."""
    first = types[0] if types else None
    if (
        not isa(first, VectorType[IntegerType])
        or first.get_num_dims() != 1
        or first.get_shape()[0] > MAX_COMPONENTS
    ):
        raise VerifyException(
            f"expected pieces that are vectors of at most {MAX_COMPONENTS} integers, "
            f"got {first}"
        )
    for type in types:
        if type != first:
            raise VerifyException(f"expected pieces of one type, {first}, got {type}")
    slot_bits = first.get_element_type().bitwidth
    lane_bits = len(types) * first.get_shape()[0] * slot_bits
    expected = [
        shape.bytes * 8 // lanes
        for lanes in SUBGROUP_SIZES
        if shape.bytes * 8 % lanes == 0
    ]
    if lane_bits not in expected or slot_bits < shape.slot_bits:
        raise VerifyException(
            f"expected {' or '.join(map(str, expected))} bits a lane in slots of at "
            f"least {shape.slot_bits}, which {SUBGROUP_SIZES} lanes get of {shape}, "
            f"got {lane_bits} in slots of {slot_bits}"
        )


def slots_of(pieces: Sequence[SSAValue]) -> tuple[int, int]:
    """Return the width of a slot in bits, and the slots of each piece."""
    type = vector_type(pieces[0])
    return simt.bits_of(type.get_element_type()), type.get_shape()[0]


# The operation of `xe` that loads slots of lanes which follow each other in memory.

BLOCK_LENGTHS = (1, 2, 4, 8)
"""Slots of a lane, as SPV_INTEL_subgroups has them."""
SLOT_BITS = (8, 16, 32)
ALIGNMENT = 4
"""Bytes that every address is a multiple of."""


@irdl_op_definition
class BlockLoadOp(IRDLOperation):
    """Load consecutive slots of 8, 16 or 32 bits with the whole subgroup.

    | value  | what                                                             |
    |--------|------------------------------------------------------------------|
    | base   | any memref of global memory: where it begins                     |
    | offset | bytes from there, without sign, a multiple of 4; uniform         |
    | guard  | whether anything is read: else all slots are 0; uniform          |
    | result | 1, 2, 4 or 8 slots a lane: slot c of lane l is c S + l           |

    S is the number of lanes.  It needs no surface: devices without 2D blocks have it,
    too.  An offset of 32 bits is what messages to memory of less than 4 GiB take.

    ```mlir
    %p, %offset, %inside = "test.op"() : () -> (memref<f16>, i32, i1)
    %a = xe.block_load %p[%offset] : memref<f16> -> vector<8xi32>
    %b = xe.block_load %p[%offset] where %inside : memref<f16> -> vector<2xi16>
    ```
    """

    name = "xe.block_load"

    base = operand_def(MemRefType)
    offset = operand_def(i32)
    guard = opt_operand_def(i1)
    result = result_def(VectorType)

    traits = traits_def(Collective(), MemoryReadEffect())

    assembly_format = (
        "$base `[` $offset `]` (`where` $guard^)? attr-dict "
        "`:` type($base) `->` type($result)"
    )

    def __init__(
        self,
        base: SSAValue,
        offset: SSAValue,
        slots: int,
        slot_bits: int = 32,
        guard: SSAValue | None = None,
    ) -> None:
        type = VectorType(IntegerType(slot_bits), [slots])
        super().__init__(operands=[base, offset, guard], result_types=[type])

    @property
    def slots(self) -> int:
        return length_of(self.result)

    @property
    def slot_bits(self) -> int:
        return simt.bits_of(vector_type(self.result).get_element_type())

    def verify_(self) -> None:
        allowed = [
            VectorType(IntegerType(bits), [length])
            for bits in SLOT_BITS
            for length in BLOCK_LENGTHS
        ]
        if self.result.type not in allowed:
            raise VerifyException(
                "expected a vector of 1, 2, 4 or 8 integers of 8, 16 or 32 bits, which "
                f"block loads give a lane, got {self.result.type}"
            )


# Operations of `xe` that multiply: DPAS, and DPAS that two subgroups share.

REPEAT_COUNTS = (1, 2, 4, 8)
SPLIT_REPEAT_COUNTS = (2, 4, 8)
SPLIT_LANES = 8
"""The subgroup size of split DPAS, and its N."""
SPLIT_PRECISIONS = (Precision.S8, Precision.U8, Precision.F16, Precision.BF16)
EXECUTION_SIZES = ((8, 8), (16, 16), (32, 16))
"""(lanes, N) of the devices: N is the execution size of the engine."""


def accumulators(precision: Precision, n: int = 16) -> tuple[Attribute, ...]:
    """Return the element types that C and the result can have: see `Dpas.sums`."""
    known = {"s32": i32, "f32": f32, "f16": f16, "bf16": bf16}
    return tuple(known[name] for name in Dpas(lanes=n).sums(precision.value))


def operand_types(
    precision: Precision, repeat: int, lanes: int, n: int
) -> tuple[VectorType, VectorType, int]:
    """Return the types of A and B and the length of C, for one lane.

    A is M x K and B is K x N, packed in integers: 16 bits of A where N is 16, a channel
    of 32 where it is 8, and channels of B.  Elements of tf32 are channels in A too.
    """
    channels = SYSTOLIC_DEPTH * CHANNEL_BITS // lanes
    a = i32 if n == 8 or precision is Precision.TF32 else i16
    a_length = max(1, repeat * channels // a.bitwidth)
    b_length = channels * n // CHANNEL_BITS
    return VectorType(a, [a_length]), VectorType(i32, [b_length]), repeat * n // lanes


def why_not_share(op: SystolicOp, lanes: int, n: int) -> str | None:
    """Return why a, b and c are not what one of so many lanes holds, or None."""
    repeat = op.repeat.value.data
    a, b, length = operand_types(op.a_precision.data, repeat, lanes, n)
    found = length_of(op.c)
    if (op.a.type, op.b.type, found) == (a, b, length):
        return None
    return (
        f"expected {a}, {b} and {length} of c, a lane's share of {lanes} lanes, got "
        f"{op.a.type}, {op.b.type} and {found}"
    )


class SystolicOp(IRDLOperation, ABC):
    """A multiplication on the systolic array: `result = a * b + c`."""

    REPEATS: ClassVar = REPEAT_COUNTS
    """What M can be."""
    C: ClassVar = VarConstraint("C", base(VectorType))

    a = operand_def(VectorType)
    b = operand_def(VectorType)
    c = operand_def(C)
    result = result_def(C)
    a_precision = prop_def(PrecisionAttr)
    b_precision = prop_def(PrecisionAttr)
    repeat = prop_def(IntegerAttr[I32])

    traits = traits_def(Collective(), NoMemoryEffect())

    assembly_format = (
        "$a_precision `x` $b_precision `repeat` $repeat $a `,` $b `,` $c attr-dict "
        "`:` type($a) `,` type($b) `,` type($c)"
    )

    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        precisions: tuple[Precision, Precision],
        repeat: int,
    ) -> None:
        super().__init__(
            operands=[a, b, c],
            properties={
                "a_precision": PrecisionAttr(precisions[0]),
                "b_precision": PrecisionAttr(precisions[1]),
                "repeat": IntegerAttr(repeat, 32),
            },
            result_types=[c.type],
        )

    @property
    def precisions(self) -> tuple[Precision, Precision]:
        return self.a_precision.data, self.b_precision.data

    def verify_(self) -> None:
        """Check numbers of one width that are multiplied, rows, and the sum."""
        (a, b), repeat = self.precisions, self.repeat.value.data
        if a != b and not (a.is_integer and b.is_integer and a.bits == b.bits):
            raise VerifyException(
                f"expected b to be {a}, or integers of the same width, got {b}"
            )
        if repeat not in self.REPEATS:
            raise VerifyException(
                f"expected a repeat count in {self.REPEATS}, got {repeat}"
            )
        found, allowed = simt.scalar_type(self.c.type), accumulators(a)
        if found not in allowed:
            raise VerifyException(
                f"expected c of {' or '.join(map(str, allowed))}, as {a} accumulates "
                f"in, got {found}"
            )


@irdl_op_definition
class DpasOp(SystolicOp):
    """Multiply on the systolic array: `result = a * b + c`, K = 8 channels of 32 bits.

    | value     | of the subgroup | of a lane, 16 lanes | 32 lanes    | 8 lanes   |
    |-----------|-----------------|---------------------|-------------|-----------|
    | a         | M x K           | M x i16             | M/2 x i16   | M x i32   |
    | b         | K x N           | 8 x i32             | 4 x i32     | 8 x i32   |
    | c, result | M x N           | M x T               | M/2 x T     | M x T     |

    M is `repeat`; N is 8 on 8 lanes, else 16; a of tf32 is in i32.  T is i32 for
    integers, f32 or f16 for f16, f32 or bf16 for bf16, f32 for tf32; on 8 lanes f32 for
    all floats.

    ```mlir
    %a, %b, %c = "test.op"() : () -> (vector<8xi16>, vector<8xi32>, vector<8xf32>)
    %d = xe.dpas f16 x f16 repeat 8 %a, %b, %c :
         vector<8xi16>, vector<8xi32>, vector<8xf32>
    ```
    """

    name = "xe.dpas"

    def verify_(self) -> None:
        super().verify_()
        repeat = self.repeat.value.data
        shares = [
            operand_types(self.a_precision.data, repeat, lanes, n)
            for lanes, n in EXECUTION_SIZES
            if repeat * n >= lanes
        ]
        verify_shares(self, shares, f"M = {repeat}, {self.a_precision.data}")


@irdl_op_definition
class SplitDpasOp(SystolicOp):
    """DPAS of two subgroups that multiply the same a: each gives half of its rows.

    | value     | of the subgroup | of a lane |
    |-----------|-----------------|-----------|
    | a         | M/2 x K         | M/2 x i32 |
    | b         | K x 8           | 8 x i32   |
    | c, result | M x 8           | M x T     |

    The first subgroup of the pair gives the first half of the rows, the second the
    rest; each has its own b and c.  Both must execute it.  T is i32 for integers of 8
    bits, f32 for f16 and bf16.

    ```mlir
    %a, %b, %c = "test.op"() : () -> (vector<4xi32>, vector<8xi32>, vector<8xf32>)
    %d = xe.split_dpas f16 x f16 repeat 8 %a, %b, %c :
         vector<4xi32>, vector<8xi32>, vector<8xf32>
    ```
    """

    name = "xe.split_dpas"

    REPEATS: ClassVar = SPLIT_REPEAT_COUNTS

    def verify_(self) -> None:
        super().verify_()
        if self.a_precision.data.bits not in (8, 16):
            raise VerifyException(
                "expected s8, u8, f16 or bf16, which split DPAS multiplies, "
                f"got {self.a_precision.data}"
            )
        if simt.scalar_type(self.c.type) not in (f32, i32):
            raise VerifyException(
                f"expected f32 or i32 in c of split DPAS, got {self.c.type}"
            )
        repeat = self.repeat.value.data
        share = (VectorType(i32, [repeat // 2]), VectorType(i32, [8]), repeat)
        verify_shares(self, [share], f"M = {repeat} on 8 lanes")
        verify_pairs(self)


def verify_pairs(op: SplitDpasOp) -> None:
    """Check that the kernel around an operation, if there is one, has pairs.

    N is 8: the operation has no other subgroup size.  Which two subgroups are a pair is
    a device's matter; that there are two is the kernel's.
    """
    around = op.parent_op()
    while around is not None and not isinstance(around, FuncOp):
        around = around.parent_op()
    if around is None or simt.KERNEL not in around.attributes:
        return
    kernel = simt.kernel_of(around)
    if kernel.subgroup_size not in (None, SPLIT_LANES):
        raise VerifyException(
            f"expected a subgroup of {SPLIT_LANES} lanes for split DPAS, got "
            f"{kernel.subgroup_size}"
        )
    if kernel.subgroup_size is not None and kernel.subgroups % 2:
        raise VerifyException(
            f"expected pairs of subgroups for split DPAS, got {kernel.subgroups}"
        )


def verify_shares(
    op: SystolicOp,
    shares: Sequence[tuple[VectorType, VectorType, int]],
    what: str,
) -> None:
    """Check that a, b and c are a lane's share for one of the subgroup sizes."""
    a, b, c = map(vector_type, (op.a, op.b, op.c))
    if (a, b, *c.get_shape()) in shares:
        return
    wanted = "; or ".join(f"{x}, {y} and {z} of c" for x, y, z in shares)
    raise VerifyException(f"expected {wanted}, for {what}, got {a}, {b} and {c}")


# Operations of `xe` on address payloads: blocks whose address stays in a register.
#
# A 2D block message takes its address, the payload, from one register: base, width,
# height and pitch of the surface, x and y.  A compiler that sees only the message
# builds that register anew where it cannot prove that nothing changed, above all for a
# prefetch in a loop.  A payload that the program holds costs one instruction a step: x
# or y is set or moved on, the rest stays.
#
# A payload is written in place, like memory: the operations that change x or y write
# it, those that use it read it, and two that were made alike are two.


@irdl_op_definition
class PayloadCreateOp(SurfaceOp):
    """Make the payload of blocks of a surface, at a position.

    | value  | what                                                               |
    |--------|--------------------------------------------------------------------|
    | base   | any memref: where the surface begins                               |
    | x, y   | column in elements of the block, row                               |
    | result | the payload, of one shape of block                                 |

    ```mlir
    %m, %x, %y, %w, %h, %pitch = "test.op"() : () ->
      (memref<f16>, i32, i32, i32, i32, i32)
    %p = xe.payload_create %m[%x, %y] surface(%w, %h, %pitch)
      : memref<f16> -> !xe.payload<32, 16x8x1, transpose>
    ```
    """

    name = "xe.payload_create"

    result = result_def(PayloadType)

    traits = traits_def(Collective(), ReadsAndWrites())

    assembly_format = _SURFACE + "attr-dict `:` type($base) `->` type($result)"

    def __init__(
        self,
        base: SSAValue,
        position: tuple[SSAValue, SSAValue],
        surface: tuple[SSAValue, SSAValue, SSAValue],
        shape: BlockShape,
    ) -> None:
        super().__init__(
            operands=[base, *position, *surface], result_types=[PayloadType(shape)]
        )


class PayloadSetOp(IRDLOperation, ABC):
    """Set or change where a payload is, along one dimension."""

    payload = operand_def(PayloadType)
    position = operand_def(i32)

    traits = traits_def(Collective(), MemoryWriteEffect())

    assembly_format = "$payload `,` $position attr-dict `:` type($payload)"

    def __init__(self, payload: SSAValue, position: SSAValue) -> None:
        super().__init__(operands=[payload, position])

    @property
    def adds(self) -> bool:
        """Whether the number is added to what is there."""
        return isinstance(self, PayloadAddXOp | PayloadAddYOp)

    @property
    def field(self) -> str:
        return "x" if isinstance(self, PayloadAddXOp | PayloadSetXOp) else "y"


@irdl_op_definition
class PayloadSetXOp(PayloadSetOp):
    """Set the column of a payload, in elements of its block.

    ```mlir
    %p, %x = "test.op"() : () -> (!xe.payload<16, 32x16x2>, i32)
    xe.payload_set_x %p, %x : !xe.payload<16, 32x16x2>
    ```
    """

    name = "xe.payload_set_x"


@irdl_op_definition
class PayloadSetYOp(PayloadSetOp):
    """Set the row of a payload.

    ```mlir
    %p, %y = "test.op"() : () -> (!xe.payload<16, 32x16x2>, i32)
    xe.payload_set_y %p, %y : !xe.payload<16, 32x16x2>
    ```
    """

    name = "xe.payload_set_y"


@irdl_op_definition
class PayloadAddXOp(PayloadSetOp):
    """Add to the column of a payload, in elements of its block.

    ```mlir
    %p, %dx = "test.op"() : () -> (!xe.payload<16, 32x16x2>, i32)
    xe.payload_add_x %p, %dx : !xe.payload<16, 32x16x2>
    ```
    """

    name = "xe.payload_add_x"


@irdl_op_definition
class PayloadAddYOp(PayloadSetOp):
    """Add to the row of a payload.

    ```mlir
    %p, %dy = "test.op"() : () -> (!xe.payload<16, 32x16x2>, i32)
    xe.payload_add_y %p, %dy : !xe.payload<16, 32x16x2>
    ```
    """

    name = "xe.payload_add_y"


_AT_PAYLOAD = (
    "$payload `[` $dx `,` $dy `]` (`cache` $cache^)? attr-dict `:` type($payload)"
)


class PayloadAccessOp(IRDLOperation, ABC):
    """An access to the block at a payload.

    The numbers in brackets are added to x and y for this message alone.
    """

    payload = operand_def(PayloadType)
    dx = prop_def(IntegerAttr[I32])
    dy = prop_def(IntegerAttr[I32])
    cache = opt_prop_def(CacheAttr)

    def __init__(
        self,
        payload: SSAValue,
        offset: tuple[int, int] = (0, 0),
        cache: CacheAttr | None = None,
        result_types: Sequence[Sequence[Attribute]] = (),
    ) -> None:
        dx, dy = (IntegerAttr(x, 32) for x in offset)
        super().__init__(
            operands=[payload],
            properties={"dx": dx, "dy": dy, "cache": cache},
            result_types=result_types,
        )

    def verify_(self) -> None:
        verify_cache(self.name, self.cache, LOAD_CONTROLS)


@irdl_op_definition
class PayloadLoadOp(PayloadAccessOp):
    """Load the block at a payload; each result is a piece, as of `block_load_2d`.

    ```mlir
    %p = "test.op"() : () -> !xe.payload<32, 16x8x1, transpose>
    %b = xe.payload_load %p[8, 16]
      : !xe.payload<32, 16x8x1, transpose> -> vector<8xi32>
    ```
    """

    name = "xe.payload_load"

    pieces = var_result_def(VectorType)

    traits = traits_def(Collective(), MemoryReadEffect())

    assembly_format = _AT_PAYLOAD + " `->` type($pieces)"

    def verify_(self) -> None:
        super().verify_()
        verify_pieces(shape_of(self.payload), self.pieces.types)


@irdl_op_definition
class PayloadPrefetchOp(PayloadAccessOp):
    """Prefetch the block at a payload into a cache; a hint without a result.

    ```mlir
    %p = "test.op"() : () -> !xe.payload<16, 32x16x2>
    xe.payload_prefetch %p[0, 0] cache <l1 = cached, l3 = cached>
      : !xe.payload<16, 32x16x2>
    ```
    """

    name = "xe.payload_prefetch"

    traits = traits_def(Collective(), FillsCache())

    assembly_format = _AT_PAYLOAD

    def verify_(self) -> None:
        super().verify_()
        verify_prefetched(shape_of(self.payload))


def shape_of(payload: SSAValue) -> BlockShape:
    assert isinstance(payload.type, PayloadType), payload.type
    return payload.type.data


Xe = dialect_of("xe", {**vars(xe_plans), **globals()})
