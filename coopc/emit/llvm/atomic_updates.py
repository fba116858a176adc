"""What an atomic update makes of an element: see `coopc.emit.atomic_updates`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import Attribute

from coopc.emit.atomic_updates import Update, updates
from coopc.emit.llvm.arith_float import number_extreme, strict_extreme
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.floats import is_bf16, narrowed, widened
from coopc.llvm.values import Value

Make: TypeAlias = Callable[[Emission, Value, Value], Value]


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


UPDATES: dict[int, Update[Make]] = updates(
    {
        0: (_binary("fadd"), "fadd"),
        1: (_binary("add"), "add"),
        2: (lambda e, old, value: value, "xchg"),
        3: (_extreme(True, strict=True), ""),
        4: (_least("sgt"), "max"),
        5: (_least("ugt"), "umax"),
        6: (_extreme(False, strict=True), ""),
        7: (_least("slt"), "min"),
        8: (_least("ult"), "umin"),
        9: (_binary("fmul"), ""),
        10: (_binary("mul"), ""),
        11: (_binary("or"), "or"),
        12: (_binary("and"), "and"),
        13: (_extreme(True, strict=False), "fmax"),
        14: (_extreme(False, strict=False), "fmin"),
        15: (_binary("xor"), "xor"),
    }
)


def combined(
    e: Emission, kind: Update[Make], type: Attribute, old: Value, value: Value
) -> Value:
    """Emit what an update makes of an element; bf16 through f32."""
    if kind.access == "bits":
        return kind.make(e, old, value)
    if is_bf16(type):
        wide = kind.make(e, widened(e, old), widened(e, value))
        return narrowed(e, wide)
    return kind.make(e, old, value)
