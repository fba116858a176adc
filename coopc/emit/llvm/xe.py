"""`xe` in LLVM IR, as calls of builtins.

Names of builtins, and the order of their arguments, are those that Intel's Triton
backend calls: Intel's compiler, and LLVM's SPIR-V back end, match them to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from coopc.dialects import simt, xe
from coopc.emit.llvm.emission import SPACES, Emission, View
from coopc.emit.llvm.mangling import builtin
from coopc.emit.llvm.simt import CONVERGENT, block_name
from coopc.emit.xe import (
    LOADS,
    PAYLOAD_PREFIX,
    PREFETCH,
    STORE,
    XeInstructions,
    surface_operand,
)
from coopc.llvm.module import Metadata
from coopc.llvm.values import (
    I32,
    VOID,
    Constant,
    Int,
    Pointer,
    Value,
    integer,
)
from coopc.spirv.grammar import enumeration


def _cache_controls(
    e: Emission, name: str, controls: Sequence[str]
) -> tuple[Metadata, ...]:
    """What the call of a message asks of the caches, as metadata of the call."""
    if not controls:
        return ()
    access = "Store" if name == STORE else "Load"
    decoration = enumeration("Decoration").value(f"CacheControl{access}INTEL")
    known, operand = enumeration(f"{access}CacheControl"), surface_operand(name)
    nodes: list[Constant | int] = []
    for level, control in enumerate(controls):
        numbers = decoration, level, known.value(control), operand
        nodes.append(e.module.node(*(integer(I32, x) for x in numbers)))
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


class _XeBuiltins(XeInstructions[Emission]):
    """Calls of builtins."""

    def check_flavour(self, e: Emission) -> None:
        return

    def is_global(self, view: View) -> bool:
        return view.space == SPACES[simt.MemorySpace.GLOBAL]

    def message(
        self, e: Emission, name: str, operands: list[Any], controls: Sequence[str]
    ) -> None:
        mangled, attributes, of_parameters = _MESSAGES[name]
        full = f"__spirv_{name}"
        e.call(
            f"_Z{len(full)}{full}{mangled}",
            VOID,
            operands,
            attributes=attributes,
            parameter_attributes=of_parameters,
            metadata=_cache_controls(e, name, controls),
        )

    def block_read(
        self, e: Emission, base: Value, byte: Value, type: Attribute
    ) -> Value:
        place, to = e.f.address(Int(8), base, byte), e.type(type)
        return e.call(block_name("read", to), to, [place], attributes=CONVERGENT)

    def multiply(self, e: Emission, k: int, operands: list[Any], flags: str) -> Value:
        arguments = [integer(I32, k), *operands, integer(I32, flag_bits(flags))]
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


handlers = _XeBuiltins().handlers()
