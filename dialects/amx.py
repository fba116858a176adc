"""The `amx` dialect: AMX tiles, as upstream MLIR spells them.

What it prints, `mlir-opt` of LLVM 22 reads, and the other way round.
"""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    IndexType,
    IntAttr,
    MemRefType,
    UnitAttr,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.definitions import dialect_of
from coopc.dialects.narrow import memref_type
from coopc.dialects.traits import FillsCache

MAX_ROWS = 16
"""Rows of a tile, at most."""
MAX_ROW_BYTES = 64
"""Bytes of a row of a tile, at most."""
NONTEMPORAL = "nontemporal"
"""An attribute of loads, which upstream lacks: the tile need not stay in caches."""
CHANNEL_BYTES = 4
"""The bytes that an accumulator takes in k for each of its elements."""


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """A tile of `rows` by `cols` elements: `!amx.tile<16x32xbf16>`.

    A row is a multiple of 4 bytes.
    """

    name = "amx.tile"

    rows: IntAttr
    """1 to `MAX_ROWS`."""
    cols: IntAttr
    """In elements; `MAX_ROW_BYTES` at most."""
    element_type: Attribute
    """f32, f16, bf16, i32 or i8."""

    @classmethod
    def of(cls, rows: int, cols: int, element_type: Attribute) -> "TileType":
        return TileType(IntAttr(rows), IntAttr(cols), element_type)

    @property
    def shape(self) -> tuple[int, int]:
        """The (rows, columns), in elements."""
        return self.rows.data, self.cols.data

    @property
    def row_bytes(self) -> int:
        return self.cols.data * element_bytes(self.element_type)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            position = parser.pos
            sizes, element_type = parser.parse_ranked_shape()
            if len(sizes) != 2:
                parser.raise_error(
                    f"expected a tile of rank 2, got {len(sizes)}", position, parser.pos
                )
        return *(IntAttr(size) for size in sizes), element_type

    def print_parameters(self, printer: Printer) -> None:
        rows, cols = self.shape
        with printer.in_angle_brackets():
            printer.print_string(f"{rows}x{cols}x")
            printer.print_attribute(self.element_type)

    def verify(self) -> None:
        if not is_tile_element(self.element_type):
            raise VerifyException(
                f"expected elements of f32, f16, bf16, i32 or i8, which tiles hold, "
                f"got {self.element_type}"
            )
        if not 1 <= (rows := self.rows.data) <= MAX_ROWS:
            raise VerifyException(
                f"expected 1 to {MAX_ROWS} rows, which a tile has, got {rows}"
            )
        size = self.row_bytes
        if not 1 <= size <= MAX_ROW_BYTES or size % CHANNEL_BYTES:
            raise VerifyException(
                f"expected a row of at most {MAX_ROW_BYTES} bytes, a multiple of "
                f"{CHANNEL_BYTES}, got {size}"
            )


def is_tile_element(type: Attribute) -> bool:
    """Whether tiles have elements of a type.

    >>> from xdsl.dialects.builtin import f64
    >>> is_tile_element(i8), is_tile_element(f64)
    (True, False)
    """
    return isinstance(type, BFloat16Type | Float16Type | Float32Type) or type in (
        i8,
        i32,
    )


def element_bytes(type: Attribute) -> int:
    assert isinstance(type, FixedBitwidthType), type
    return type.bitwidth // 8


def tile_type(value: SSAValue) -> TileType:
    assert isinstance(value.type, TileType), value.type
    return value.type


# Operations of `amx` on memory: load and store.
#
# Memory is a memref of rank 2 or more with consecutive elements in its last dimension.
# Row r of a tile is `stride` elements after row r - 1: the stride of the last dimension
# but one, where it is not given.


def verify_access(
    op: "TileLoadOp | TileStoreOp", tile: TileType, indices: Sequence[SSAValue]
) -> None:
    """Check the memref and the indices of an access against the tile."""
    memory = memref_type(op.base)
    rank = memory.get_num_dims()
    if rank < 2 and op.stride is None:
        raise VerifyException(
            f"expected a memref of rank 2 or more, or a stride, got {memory}"
        )
    if len(indices) != rank:
        raise VerifyException(
            f"expected {rank} indices, one for each dimension of the memref, "
            f"got {len(indices)}"
        )
    strides = memory.get_strides()
    if strides is None or (strides and strides[-1] != 1):
        raise VerifyException(
            f"expected a memref with a stride of 1 in its last dimension, got {memory}"
        )
    if memory.element_type != tile.element_type:
        raise VerifyException(
            f"expected a memref of {tile.element_type}, the element type of the tile, "
            f"got {memory.element_type}"
        )


@irdl_op_definition
class TileLoadOp(IRDLOperation):
    """Read a tile from memory.

    | value   | what                                                        |
    |---------|-------------------------------------------------------------|
    | base    | a memref, its last stride 1                                 |
    | indices | where element (0, 0) is                                     |
    | stride  | from row to row, in elements; that of the memref if absent  |
    | result  | R x C                                                       |

    ```mlir
    %m, %i, %s = "test.op"() : () -> (memref<?x?xbf16>, index, index)
    %a = amx.tile_load %m[%i, %i] : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    %b = amx.tile_load %m[%i, %i], %s : memref<?x?xbf16> into !amx.tile<16x32xbf16>
    ```

    A load with the attribute `nontemporal` is `tileloaddt1`: the tile need not stay in
    caches.
    """

    name = "amx.tile_load"

    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    stride = opt_operand_def(IndexType())
    result = result_def(TileType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$base `[` $indices `]` (`,` $stride^)? attr-dict "
        "`:` type($base) `into` type($result)"
    )

    def __init__(
        self,
        base: SSAValue,
        indices: Sequence[SSAValue],
        result: Attribute,
        stride: SSAValue | None = None,
    ) -> None:
        super().__init__(operands=[base, indices, stride], result_types=[result])

    def verify_(self) -> None:
        verify_access(self, tile_type(self.result), self.indices)


@irdl_op_definition
class TileStoreOp(IRDLOperation):
    """Write a tile to memory.

    | value   | what                                                        |
    |---------|-------------------------------------------------------------|
    | base    | a memref, its last stride 1                                 |
    | indices | where element (0, 0) is                                     |
    | val     | R x C                                                       |
    | stride  | from row to row, in elements; that of the memref if absent  |

    ```mlir
    %m, %i, %s = "test.op"() : () -> (memref<?x?xf32>, index, index)
    %c = amx.tile_zero : !amx.tile<16x16xf32>
    amx.tile_store %m[%i, %i], %c : memref<?x?xf32>, !amx.tile<16x16xf32>
    amx.tile_store %m[%i, %i], %c, %s : memref<?x?xf32>, !amx.tile<16x16xf32>
    ```
    """

    name = "amx.tile_store"

    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    val = operand_def(TileType)
    stride = opt_operand_def(IndexType())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$base `[` $indices `]` `,` $val (`,` $stride^)? attr-dict "
        "`:` type($base) `,` type($val)"
    )

    def __init__(
        self,
        base: SSAValue,
        indices: Sequence[SSAValue],
        val: SSAValue,
        stride: SSAValue | None = None,
    ) -> None:
        super().__init__(operands=[base, indices, val, stride])

    def verify_(self) -> None:
        verify_access(self, tile_type(self.val), self.indices)


# Operations of `amx` in registers: zero, and multiplication of floats and integers.


@irdl_op_definition
class TileZeroOp(IRDLOperation):
    """A tile of zeros, in a separate register.

    Equal ones are never merged: one register for two accumulators would have to be
    copied, which only memory does.

    ```mlir
    %c = amx.tile_zero : !amx.tile<16x16xf32>
    ```
    """

    name = "amx.tile_zero"

    result = result_def(TileType)

    traits = traits_def(FillsCache())

    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, result: Attribute) -> None:
        super().__init__(result_types=[result])


class TileMulOp(IRDLOperation, ABC):
    """A multiplication of tiles, `result = lhs * rhs + acc`."""

    T: ClassVar = VarConstraint("T", base(TileType))

    lhs = operand_def(TileType)
    rhs = operand_def(TileType)
    acc = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    def __init__(
        self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue, **flags: Attribute
    ) -> None:
        super().__init__(
            operands=[lhs, rhs, acc], properties=flags, result_types=[acc.type]
        )

    @property
    def tiles(self) -> tuple[TileType, TileType, TileType]:
        return tile_type(self.lhs), tile_type(self.rhs), tile_type(self.acc)

    def verify_sizes(self) -> None:
        """Check that the shapes are M x K, K/w x N*w and M x N."""
        lhs, rhs, acc = self.tiles
        packed = CHANNEL_BYTES // element_bytes(lhs.element_type)
        m, n = acc.shape
        k = lhs.shape[1]
        if lhs.shape[0] != m:
            raise VerifyException(
                f"expected lhs to have M = {m} rows, as acc has, got {lhs.shape[0]}"
            )
        if rhs.shape != (expected := (k // packed, n * packed)):
            raise VerifyException(
                f"expected rhs to be K/{packed} x N*{packed} = "
                f"{expected[0]} x {expected[1]}, as K = {k} and N = {n}, "
                f"got {rhs.shape[0]} x {rhs.shape[1]}"
            )


@irdl_op_definition
class TileMulFOp(TileMulOp):
    """Multiply tiles of floats: `result = lhs * rhs + acc`.

    | value       | tile      | of                     |
    |-------------|-----------|------------------------|
    | lhs         | M x K     | bf16 or f16            |
    | rhs         | K/2 x N*2 | as lhs, pairs of rows  |
    | acc, result | M x N     | f32                    |

    Row i of rhs has rows 2i and 2i+1 of the matrix, their elements by turns.

    ```mlir
    %a, %b = "test.op"() : () -> (!amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>)
    %c = amx.tile_zero : !amx.tile<16x16xf32>
    %d = amx.tile_mulf %a, %b, %c :
         !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    ```
    """

    name = "amx.tile_mulf"

    assembly_format = (
        "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)"
    )

    def verify_(self) -> None:
        lhs, rhs, acc = (tile.element_type for tile in self.tiles)
        if (
            not isinstance(lhs, BFloat16Type | Float16Type)
            or lhs != rhs
            or not acc == f32
        ):
            raise VerifyException(
                "expected bf16 * bf16 + f32 or f16 * f16 + f32, "
                f"got {lhs} * {rhs} + {acc}"
            )
        self.verify_sizes()


@irdl_op_definition
class TileMulIOp(TileMulOp):
    """Multiply tiles of bytes: `result = lhs * rhs + acc`, which wraps around.

    | value       | tile      | of                              |
    |-------------|-----------|---------------------------------|
    | lhs         | M x K     | i8, unsigned with `isZextLhs`   |
    | rhs         | K/4 x N*4 | i8, unsigned with `isZextRhs`   |
    | acc, result | M x N     | i32                             |

    Row i of rhs has rows 4i to 4i+3 of the matrix, their elements by turns.

    ```mlir
    %a, %b = "test.op"() : () -> (!amx.tile<16x64xi8>, !amx.tile<16x64xi8>)
    %c = amx.tile_zero : !amx.tile<16x16xi32>
    %d = amx.tile_muli %a zext, %b, %c :
         !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    ```
    """

    name = "amx.tile_muli"

    is_zext_lhs = opt_prop_def(UnitAttr, prop_name="isZextLhs")
    is_zext_rhs = opt_prop_def(UnitAttr, prop_name="isZextRhs")

    assembly_format = (
        "$lhs (`zext` $isZextLhs^)? `,` $rhs (`zext` $isZextRhs^)? `,` $acc attr-dict "
        "`:` type($lhs) `,` type($rhs) `,` type($acc)"
    )

    def verify_(self) -> None:
        lhs, rhs, acc = (tile.element_type for tile in self.tiles)
        if not (lhs == i8 and rhs == i8 and acc == i32):
            raise VerifyException(f"expected i8 * i8 + i32, got {lhs} * {rhs} + {acc}")
        self.verify_sizes()


Amx = dialect_of("amx", globals())
