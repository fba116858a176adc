"""Traits that operations of several dialects have: who runs them together, effects.

What an effect permits, in `canonicalize`, `normalize`, `cse`, `licm` and their kin:

    effects      dead one erased  equal ones merged    moved out of control flow
    none, Pure   yes              yes                  yes
    none         yes              yes                  no
    read         yes              in one block, no     no
                                  write between them
    alloc        no               no                   no
    write        no               no                   no
"""

from collections.abc import Set as AbstractSet

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, OpTrait


class Collective(OpTrait):
    """All work-items of a scope execute the operation, together.

    So it stands in control flow that is uniform over the scope, and never in the body
    of `coopmatrix.apply`, which each work-item runs for the elements that it owns.
    """


class ReadsAndWrites(MemoryEffect):
    """It is never removed, repeated or moved, and no access moves across it."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {
            EffectInstance(MemoryEffectKind.READ),
            EffectInstance(MemoryEffectKind.WRITE),
        }


class FillsCache(MemoryEffect):
    """A hint to the cache: never removed, but it changes nothing that is read."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC)}


class ReadsLanes(MemoryEffect):
    """It reads what other lanes hold, which depends on who is there with it.

    So an unused one vanishes and two in one block are one, but none moves into, out of
    or across control flow.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.READ)}
