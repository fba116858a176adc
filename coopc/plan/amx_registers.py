"""Decide whether tiles stay in registers, by how many of each shape live at once.

LLVM configures tiles once a function: a register has one shape from beginning to end.
So what counts is not how many tiles live at once, but the sum over all shapes of how
many of that shape do.  Of a single shape LLVM spills what is too many, and what a call
would destroy.  Of several it stops, or reloads into registers of other shapes.
"""

from __future__ import annotations

from collections.abc import Mapping

from coopc.device.model import Amx
from coopc.plan.amx_tiles import AMX

Shape = tuple[int, int]
"""Rows of a tile, and bytes of a row."""


def why_in_memory(
    most: Mapping[Shape, int], calls: bool = False, amx: Amx = AMX
) -> str | None:
    """Return why the tiles of a function are kept in memory, or None.

    Args:
        most: how many tiles of each shape live at once, at most.
        calls: whether the function may call others.
        amx: whose registers they are.

    Of several shapes one register is left over: LLVM's choice is not always the best.

    >>> why_in_memory({(16, 64): 12})
    >>> why_in_memory({(16, 64): 4, (5, 64): 3})
    >>> why_in_memory({(16, 64): 6, (5, 64): 3})
    'tiles of 2 shapes need 9 registers, 7 are for several shapes'
    >>> why_in_memory({(16, 64): 1, (5, 64): 1}, calls=True)
    'tiles of 2 shapes may live across a call'
    """
    needed = sum(most.values())
    room = amx.tiles - 1
    if len(most) < 2:
        return None
    if calls:
        return f"tiles of {len(most)} shapes may live across a call"
    if needed <= room:
        return None
    return (
        f"tiles of {len(most)} shapes need {needed} registers, "
        f"{room} are for several shapes"
    )
