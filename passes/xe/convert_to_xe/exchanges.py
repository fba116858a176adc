"""`ttg.convert_layout`: an exchange of the lanes of each subgroup, or through memory.

Which of them is what `coopc.layout.exchange` plans: what a subgroup has is exchanged
there, `simt.exchange`; what other subgroups have goes through work-group memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod

from xdsl.ir import SSAValue

from coopc.dialects import simt, ttg
from coopc.dialects.layout import LinearAttr
from coopc.dialects.tt.types import bits_of
from coopc.ir.split_values import Splitter
from coopc.layout.exchange import plan_exchange
from coopc.layout.linear import LinearLayout
from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.group_memory import GroupMemory, row_major, too_large
from coopc.passes.xe.convert_to_xe.registers import packed, unpacked
from coopc.passes.xe.register_layout import RegisterLayout, registers_of

Values = Sequence[SSAValue]


@cache
def goes_through_memory(source: RegisterLayout, target: RegisterLayout) -> bool:
    """Whether the lanes of a subgroup do not exchange what they want."""
    bits = bits_of(source.element) or 64
    layouts = _kept(source.layout), _kept(target.layout)
    return plan_exchange(*layouts, element_bits=bits).through_memory


def _kept(layout: LinearLayout) -> LinearLayout:
    """Return a layout of the registers that are kept: those with elements of their own.

    A register whose number has a bit with a dependent basis repeats an earlier one.
    """
    free = layout.free_masks().get("register", 0)
    ins = tuple(
        (name, tuple(x for bit, x in enumerate(bases) if not free >> bit & 1))
        if name == "register"
        else (name, bases)
        for name, bases in layout.ins
    )
    return replace(layout, ins=ins)


def why_not_convert(op: ttg.ConvertLayoutOp) -> str | None:
    """Return why a tensor cannot get another layout, or None."""
    source, target = registers_of(op.src), registers_of(op.result)
    if not goes_through_memory(source, target):
        return None
    return too_large([source.element], prod(source.layout.out_sizes.values()))


@dataclass(slots=True)
class Exchanges:
    """The rule."""

    entry: Entry
    memory: GroupMemory

    def convert(self, op: ttg.ConvertLayoutOp, s: Splitter) -> Sequence[Values]:
        """Give every lane what it wants."""
        source, target = registers_of(op.src), registers_of(op.result)
        if source == target:
            return [s.parts(op.src)]
        vectors = unpacked(s, source, s.parts(op.src))
        if goes_through_memory(source, target):
            found = self._through_memory(s, source, target, vectors)
            return [packed(s, target, found)]
        layouts = LinearAttr(_kept(source.layout)), LinearAttr(_kept(target.layout))
        count = len(target.distinct) // target.length
        new = simt.ExchangeOp(vectors, *layouts, (target.vector,) * count)
        return [packed(s, target, s.insert(new).outputs)]

    def _through_memory(
        self,
        s: Splitter,
        source: RegisterLayout,
        target: RegisterLayout,
        vectors: Values,
    ) -> list[SSAValue]:
        """Store, wait, load."""
        count = prod(source.layout.out_sizes.values())
        memory = self.memory.of(source.element, count)
        self.memory.barrier(s)
        places = row_major(self.entry, source)
        self.memory.store(s, memory, vectors, places, source.layout)
        self.memory.barrier(s)
        return self.memory.load(s, memory, target, row_major(self.entry, target))
