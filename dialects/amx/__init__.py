"""The `amx` dialect: tiles of a processor with AMX, as upstream MLIR spells them.

What it prints, `mlir-opt` of LLVM 22 reads, and the other way round.
"""

from xdsl.ir import Dialect

from coopc.dialects.amx.memory import TileLoadOp, TileStoreOp
from coopc.dialects.amx.multiply import TileMulFOp, TileMulIOp, TileZeroOp
from coopc.dialects.amx.types import (
    CHANNEL_BYTES,
    MAX_ROW_BYTES,
    MAX_ROWS,
    TileType,
    tile_type,
)

Amx = Dialect(
    "amx",
    [TileLoadOp, TileMulFOp, TileMulIOp, TileStoreOp, TileZeroOp],
    [TileType],
)

__all__ = [
    "CHANNEL_BYTES",
    "MAX_ROWS",
    "MAX_ROW_BYTES",
    "Amx",
    "TileLoadOp",
    "TileMulFOp",
    "TileMulIOp",
    "TileStoreOp",
    "TileType",
    "TileZeroOp",
    "tile_type",
]
