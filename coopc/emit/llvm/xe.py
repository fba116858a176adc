"""`xe` in LLVM IR, as calls of builtins.

Names of builtins, and the order of their arguments, are those that Intel's Triton
backend calls: Intel's compiler, and LLVM's SPIR-V back end, match them to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt, xe
from coopc.emit.llvm.emission import SPACES, Emission, View, bytes_of
from coopc.emit.llvm.mangling import builtin
from coopc.emit.llvm.simt import CONVERGENT, block_name
from coopc.emit.xe import LOADS, PREFETCH, STORE, STORE_SURFACE, SURFACE, Engine, Pieces
from coopc.emit.xe_rules import PAYLOAD_PREFIX, asked
from coopc.llvm.module import Metadata
from coopc.llvm.values import (
    I32,
    I64,
    VOID,
    Array,
    Constant,
    Int,
    Pointer,
    Type,
    Value,
    component,
    integer,
    width,
)
from coopc.spirv.grammar import enumeration


def word(value: int) -> Constant:
    """A constant of 32 bits."""
    return integer(I32, value)


def _cache_controls(
    e: Emission, cache: xe.CacheAttr | None, operand: int
) -> tuple[Metadata, ...]:
    """What a call asks of the caches, as metadata of the call.

    Args:
        e: the emission.
        cache: what is asked.
        operand: the number of the argument that is the surface.
    """
    store = operand == STORE_SURFACE
    pair = asked(cache, e.facts.device, store=store)
    if pair is None:
        return ()
    access = "Store" if store else "Load"
    decoration = enumeration("Decoration").value(f"CacheControl{access}INTEL")
    controls = enumeration(f"{access}CacheControl")
    nodes: list[Constant | int] = []
    for level, control in enumerate(pair):
        name = "".join(map(str.capitalize, control.split("_")))
        numbers = decoration, level, controls.value(f"{name}INTEL"), operand
        nodes.append(e.module.node(*map(word, numbers)))
    return (Metadata("spirv.DecorationCacheControlINTEL", e.module.node(*nodes)),)


_SIZES, _WHERE = ("",) * 4, ("",) * 4
_READ, _WRITTEN = "nonnull readonly", "nonnull writeonly"
_ACCESS = "nounwind willreturn"

_MESSAGES = {
    **dict.fromkeys(
        LOADS.values(),
        ("iiiiPU3AS1viiiDv2_iPv", _ACCESS, (*_SIZES, _READ, *_WHERE, _WRITTEN)),
    ),
    STORE: ("iiiiPvPU3AS1viiiDv2_i", _ACCESS, (*_SIZES, _READ, _WRITTEN, *_WHERE)),
    # LLVM would delete a prefetch if it were sure to return.
    PREFETCH: ("iiiiPU3AS1viiiDv2_i", "nounwind memory(argmem: read)", ()),
}
"""How the parameters are mangled, and the attributes of the function and of these."""

MULTIPLY = "__spirv_SubgroupMatrixMultiplyAccumulateINTEL"
_COMPUTES = "convergent nounwind willreturn memory(none)"


def flag_bits(flags: str) -> int:
    """The number of some flags.

    >>> hex(flag_bits("MatrixAPackedFloat16INTEL|MatrixBPackedFloat16INTEL"))
    '0xc00'
    """
    return enumeration("MatrixMultiplyAccumulateOperands").value(flags)


class _StackPieces(Pieces):
    """A variable of one piece, or of an array of them."""

    def __init__(self, e: Emission, pieces: Sequence[SSAValue]) -> None:
        self._e = e
        self._type: Type = e.type(pieces[0].type)
        self._whole = Array(len(pieces), self._type) if len(pieces) > 1 else self._type
        self._align = bytes_of(component(self._type)) * width(self._type)
        self.base: Value = e.f.allocate(self._whole, self._align)

    def _pointer(self, at: int) -> Value:
        if self._whole == self._type:
            return self.base
        first, index = integer(I64, 0), integer(I64, at)
        return self._e.f.address(self._whole, self.base, first, index)

    def load(self, at: int) -> Value:
        return self._e.f.load(self._type, self._pointer(at), self._align)

    def store(self, at: int, piece: SSAValue) -> None:
        self._e.f.store(self._e.value(piece), self._pointer(at), self._align)


class _XeBuiltins(Engine[Emission]):
    """Calls of builtins."""

    def check_flavour(self, e: Emission) -> None:
        return

    def is_global(self, view: View) -> bool:
        return view.space == SPACES[simt.MemorySpace.GLOBAL]

    def word(self, e: Emission, value: int) -> Constant:
        return word(value)

    def pieces(self, e: Emission, pieces: Sequence[SSAValue]) -> _StackPieces:
        return _StackPieces(e, pieces)

    def message(
        self,
        e: Emission,
        name: str,
        operands: list[Any],
        cache: xe.CacheAttr | None,
        surface: int = SURFACE,
    ) -> None:
        mangled, attributes, of_parameters = _MESSAGES[name]
        name = f"__spirv_{name}"
        e.call(
            f"_Z{len(name)}{name}{mangled}",
            VOID,
            operands,
            attributes=attributes,
            parameter_attributes=of_parameters,
            metadata=_cache_controls(e, cache, surface),
        )

    def block_read(
        self, e: Emission, base: Value, byte: Value, type: Attribute
    ) -> Value:
        place, to = e.f.address(Int(8), base, byte), e.type(type)
        return e.call(block_name("read", to), to, [place], attributes=CONVERGENT)

    def multiply(self, e: Emission, k: int, operands: list[Any], flags: str) -> Value:
        arguments = [word(k), *operands, word(flag_bits(flags))]
        name = builtin(MULTIPLY, [argument.type for argument in arguments])
        return e.call(name, operands[2].type, arguments, attributes=_COMPUTES)

    def call(
        self, e: Emission, name: str, result: Attribute | None, operands: list[Any]
    ) -> Value:
        # What touches a payload is no mere computation.
        attributes = "nounwind" if name.startswith(PAYLOAD_PREFIX) else _COMPUTES
        type = VOID if result is None else Pointer()
        if result is not None and not isinstance(result, xe.PayloadType):
            type = e.type(result)
        return e.call(name, type, operands, attributes=attributes)

    def address(self, e: Emission, pointer: Value) -> Value:
        return e.f.cast("ptrtoint", pointer, I64)

    def part(self, e: Emission, vector: Value, taken: range) -> Value:
        return e.shuffled(vector, None, taken)


handlers = _XeBuiltins().handlers()
