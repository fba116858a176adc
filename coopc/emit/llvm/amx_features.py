"""What of AMX a function needs, as `target-features` of LLVM."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coopc.dialects import amx
from coopc.dialects.amx.types import tile_type


def features(func: FuncOp) -> tuple[str, ...]:
    """What of AMX a function needs, as LLVM names it."""
    found: set[str] = set()
    for op in func.walk():
        if op.dialect_name() == "amx":
            found |= {"amx-tile", *_needed(op)}
    return tuple(sorted(found))


def _needed(op: Operation) -> tuple[str, ...]:
    match op:
        case amx.TileMulIOp():
            return ("amx-int8",)
        case amx.TileMulFOp() if isinstance(
            tile_type(op.lhs).element_type, BFloat16Type
        ):
            return ("amx-bf16",)
        case amx.TileMulFOp():
            return ("amx-fp16",)
        case _:
            return ()
