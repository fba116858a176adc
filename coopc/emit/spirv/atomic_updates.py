"""What an atomic update makes of an element: see `coopc.emit.atomic_updates`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.ir import Attribute

from coopc.emit.atomic_updates import Update, updates
from coopc.emit.spirv.arith_float import number_extreme, strict_extreme
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import is_bf16, narrowed, relaxed, widened
from coopc.spirv.instruction import Id

Make: TypeAlias = Callable[[Emission, Id, Id], Id]


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


UPDATES: dict[int, Update[Make]] = updates(
    {
        0: (_float("OpFAdd"), "OpAtomicFAddEXT"),
        1: (_binary("OpIAdd"), "OpAtomicIAdd"),
        2: (lambda e, old, value: value, "OpAtomicExchange"),
        3: (_extreme(True, strict=True), ""),
        4: (_least("OpSGreaterThan"), "OpAtomicSMax"),
        5: (_least("OpUGreaterThan"), "OpAtomicUMax"),
        6: (_extreme(False, strict=True), ""),
        7: (_least("OpSLessThan"), "OpAtomicSMin"),
        8: (_least("OpULessThan"), "OpAtomicUMin"),
        9: (_float("OpFMul"), ""),
        10: (_binary("OpIMul"), ""),
        11: (_binary("OpBitwiseOr"), "OpAtomicOr"),
        12: (_binary("OpBitwiseAnd"), "OpAtomicAnd"),
        13: (_extreme(True, strict=False), "OpAtomicFMaxEXT"),
        14: (_extreme(False, strict=False), "OpAtomicFMinEXT"),
        15: (_binary("OpBitwiseXor"), "OpAtomicXor"),
    }
)


def combined(
    e: Emission, kind: Update[Make], type: Attribute, old: Id, value: Id
) -> Id:
    """Emit what an update makes of an element; bf16 through f32."""
    if not is_bf16(type) or kind.access == "bits":
        return kind.make(e, old, value)
    wide = kind.make(e, widened(e, old), widened(e, value))
    return narrowed(e, wide, old.type)
