"""Operations of `amx` in registers: zero, and multiplication of floats and integers."""

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import BFloat16Type, Float16Type, UnitAttr, f32, i8, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.amx.types import CHANNEL_BYTES, TileType, element_bytes, tile_type
from coopc.dialects.traits import FillsCache


@irdl_op_definition
class TileZeroOp(IRDLOperation):
    """A tile of zeros, in a register of its own.

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

    @property
    def tiles(self) -> tuple[TileType, TileType, TileType]:
        """The types of lhs, rhs and acc."""
        return tile_type(self.lhs), tile_type(self.rhs), tile_type(self.acc)

    def verify_sizes(self) -> None:
        """Check that the shapes are M x K, K/w x N*w and M x N.

        Raises:
            VerifyException: they are not.
        """
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

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs, acc], result_types=[acc.type])

    def verify_(self) -> None:
        """Check element types and sizes."""
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
    """Multiply tiles of bytes: `result = lhs * rhs + acc`, sums wrap around.

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

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        acc: SSAValue,
        is_zext_lhs: bool = False,
        is_zext_rhs: bool = False,
    ) -> None:
        super().__init__(
            operands=[lhs, rhs, acc],
            properties={
                "isZextLhs": UnitAttr() if is_zext_lhs else None,
                "isZextRhs": UnitAttr() if is_zext_rhs else None,
            },
            result_types=[acc.type],
        )

    def verify_(self) -> None:
        """Check element types and sizes."""
        lhs, rhs, acc = (tile.element_type for tile in self.tiles)
        if not (lhs == i8 and rhs == i8 and acc == i32):
            raise VerifyException(f"expected i8 * i8 + i32, got {lhs} * {rhs} + {acc}")
        self.verify_sizes()
