"""Tensor descriptors as surfaces: a base, a width, a height and a pitch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import ExtSIOp, ExtUIOp, TruncIOp
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from coopc.dialects import tt
from coopc.dialects.tt.types import bits_of
from coopc.passes.xe.convert_to_xe.entry import Entry, constant_of
from coopc.rewrite.one_to_many import Rule, Splitter


@dataclass(slots=True)
class Descriptors:
    """The rules."""

    entry: Entry

    def rules(self) -> dict[type[Operation], Rule]:
        """Return them, by operation."""
        return {tt.MakeTensorDescriptorOp: self.make}

    def make(
        self, op: tt.MakeTensorDescriptorOp, s: Splitter
    ) -> Sequence[Sequence[SSAValue]]:
        """Width and pitch in bytes; sizes are of 32 bits, as the hardware has them.

        Of ranks other than 2: the base, sizes and strides, in elements.
        """
        if op.type.rank != 2:
            return [(*s.parts(op.base), *op.shape, *op.strides)]
        width = bits_of(op.type.tensor)
        assert width is not None, op
        (base,) = s.parts(op.base)
        rows, cols = op.shape[-2:]
        pitch = self.narrow(op.strides[-2])
        return [
            (
                base,
                self.entry.times(cols, width // 8),
                rows,
                self.entry.times(pitch, width // 8),
            )
        ]

    def narrow(self, value: SSAValue) -> SSAValue:
        """Return an i64 that is a stride as the i32 that it was, or is cut to."""
        if (known := constant_of(value)) is not None:
            return self.entry.number(known)
        owner = value.owner
        if isinstance(owner, ExtSIOp | ExtUIOp) and owner.input.type == i32:
            return owner.input
        return self.entry.after(value, "i32", lambda: TruncIOp(value, i32))
