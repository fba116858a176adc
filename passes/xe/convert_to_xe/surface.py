"""Surfaces: matrices in memory, as 2D block messages know them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue


@dataclass(frozen=True, slots=True)
class Surface:
    """A matrix in memory: what a descriptor becomes."""

    base: SSAValue
    width: SSAValue
    """In bytes, as the pitch; i32 as all of them."""
    height: SSAValue
    """In rows."""
    pitch: SSAValue

    @property
    def sizes(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Width, height and pitch."""
        return self.width, self.height, self.pitch
