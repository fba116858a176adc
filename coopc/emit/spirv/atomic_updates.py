"""What an atomic update makes of an element, by the numbers of MLIR's AtomicRMWKind.

The extremes of floats 13 and 14 are those that take the number of a number and a NaN,
3 and 6 those that take the NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute

from coopc.emit.spirv.arith_float import number_extreme, strict_extreme
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import is_bf16, narrowed, relaxed, widened
from coopc.plan.atomics import Access
from coopc.spirv.statement import Id

Make: TypeAlias = Callable[[Emission, Id, Id], Id]
"""Emits an element from what is there and a value, both of a type that has it."""


@dataclass(frozen=True, slots=True)
class Update:
    """One kind of update."""

    access: Access
    make: Make
    opcode: str = ""
    """The instruction, where SPIR-V has one."""


def _binary(opcode: str) -> Make:
    return lambda e, old, value: e.emit(opcode, old, value, type=old.type)


def _float(opcode: str) -> Make:
    def make(e: Emission, old: Id, value: Id) -> Id:
        return relaxed(e, opcode, e.emit(opcode, old, value, type=old.type), None)

    return make


def _least(opcode: str) -> Make:
    """The old one where a comparison holds of both, else the value."""

    def make(e: Emission, old: Id, value: Id) -> Id:
        keeps = e.emit(opcode, old, value, type=e.types.bool)
        return e.emit("OpSelect", keeps, old, value, type=old.type)

    return make


def _extreme(greater: bool, *, strict: bool) -> Make:
    def make(e: Emission, old: Id, value: Id) -> Id:
        e.whole.strict = True
        emit = strict_extreme if strict else number_extreme
        return emit(e, old.type, old, value, greater)

    return make


UPDATES: dict[int, Update] = {
    0: Update("add", _float("OpFAdd"), "OpAtomicFAddEXT"),
    1: Update("add", _binary("OpIAdd"), "OpAtomicIAdd"),
    2: Update("bits", lambda e, old, value: value, "OpAtomicExchange"),
    3: Update("other", _extreme(True, strict=True)),
    4: Update("min_max", _least("OpSGreaterThan"), "OpAtomicSMax"),
    5: Update("min_max", _least("OpUGreaterThan"), "OpAtomicUMax"),
    6: Update("other", _extreme(False, strict=True)),
    7: Update("min_max", _least("OpSLessThan"), "OpAtomicSMin"),
    8: Update("min_max", _least("OpULessThan"), "OpAtomicUMin"),
    9: Update("other", _float("OpFMul")),
    10: Update("other", _binary("OpIMul")),
    11: Update("bits", _binary("OpBitwiseOr"), "OpAtomicOr"),
    12: Update("bits", _binary("OpBitwiseAnd"), "OpAtomicAnd"),
    13: Update("min_max", _extreme(True, strict=False), "OpAtomicFMaxEXT"),
    14: Update("min_max", _extreme(False, strict=False), "OpAtomicFMinEXT"),
    15: Update("bits", _binary("OpBitwiseXor"), "OpAtomicXor"),
}


def combined(e: Emission, kind: Update, type: Attribute, old: Id, value: Id) -> Id:
    """Emit what an update makes of an element; bf16 through f32."""
    if not is_bf16(type) or kind.access == "bits":
        return kind.make(e, old, value)
    wide = kind.make(e, widened(e, old), widened(e, value))
    return narrowed(e, wide, old.type)
