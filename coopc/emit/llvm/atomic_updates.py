"""What an atomic update makes of an element, by the numbers of MLIR's AtomicRMWKind.

The extremes of floats 13 and 14 are those that take the number of a number and a NaN,
3 and 6 those that take the NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute

from coopc.emit.llvm.arith_float import number_extreme, strict_extreme
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.floats import is_bf16, narrowed, widened
from coopc.llvm.values import Value
from coopc.plan.atomics import Access

Make: TypeAlias = Callable[[Emission, Value, Value], Value]
"""Emits an element from what is there and a value, both of a type that has it."""


@dataclass(frozen=True, slots=True)
class Update:
    """One kind of update."""

    access: Access
    make: Make
    word: str = ""
    """What `atomicrmw` calls it, where it has it."""


def _binary(opcode: str) -> Make:
    return lambda e, old, value: e.f.binary(opcode, old, value)


def _least(predicate: str) -> Make:
    """The old one where a comparison holds of both, else the value."""

    def make(e: Emission, old: Value, value: Value) -> Value:
        return e.f.select(e.f.compare(f"icmp {predicate}", old, value), old, value)

    return make


def _extreme(greater: bool, *, strict: bool) -> Make:
    emit = strict_extreme if strict else number_extreme
    return lambda e, old, value: emit(e, old, value, greater)


UPDATES: dict[int, Update] = {
    0: Update("add", _binary("fadd"), "fadd"),
    1: Update("add", _binary("add"), "add"),
    2: Update("bits", lambda e, old, value: value, "xchg"),
    3: Update("other", _extreme(True, strict=True)),
    4: Update("min_max", _least("sgt"), "max"),
    5: Update("min_max", _least("ugt"), "umax"),
    6: Update("other", _extreme(False, strict=True)),
    7: Update("min_max", _least("slt"), "min"),
    8: Update("min_max", _least("ult"), "umin"),
    9: Update("other", _binary("fmul")),
    10: Update("other", _binary("mul")),
    11: Update("bits", _binary("or"), "or"),
    12: Update("bits", _binary("and"), "and"),
    13: Update("min_max", _extreme(True, strict=False), "fmax"),
    14: Update("min_max", _extreme(False, strict=False), "fmin"),
    15: Update("bits", _binary("xor"), "xor"),
}


def combined(
    e: Emission, kind: Update, type: Attribute, old: Value, value: Value
) -> Value:
    """Emit what an update makes of an element; bf16 through f32."""
    if kind.access == "bits":
        return kind.make(e, old, value)
    if is_bf16(type):
        wide = kind.make(e, widened(e, old), widened(e, value))
        return narrowed(e, wide)
    return kind.make(e, old, value)
