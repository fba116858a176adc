"""`xe` in SPIR-V: the instructions of Intel's extensions, and imported functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from coopc.dialects import xe
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.view import View
from coopc.emit.walker import NoForm
from coopc.emit.xe import STORE, XeInstructions, surface_operand
from coopc.spirv.instruction import Id


def _decorated(e: Emission, pointer: Id, name: str, controls: Sequence[str]) -> Id:
    """A pointer that says what is asked of the caches.

    It is copied and the copy is decorated, as a decoration holds for all uses of an id.
    spirv-val lets CacheControlLoadINTEL decorate an id but once, although L1 and L3
    have one each; two groups of decorations say the same.
    """
    if not controls:
        return pointer
    copy = e.emit("OpCopyObject", pointer, type=pointer.type)
    name = f"CacheControl{'Store' if name == STORE else 'Load'}INTEL"
    for level, control in enumerate(controls):
        e.module.decorate_again(copy, name, level, control)
    return copy


class _Instructions(XeInstructions[Emission]):
    """Instructions and imported functions."""

    def check_flavour(self, e: Emission) -> None:
        if e.facts.vulkan:
            raise NoForm(
                "expected the flavour opencl, which Intel's extensions are for"
            )

    def is_global(self, view: View) -> bool:
        return view.storage == "CrossWorkgroup"

    def message(
        self, e: Emission, name: str, operands: list[Any], controls: Sequence[str]
    ) -> None:
        at = surface_operand(name)
        operands[at] = _decorated(e, operands[at], name, controls)
        e.do(f"Op{name}", *operands)

    def block_read(self, e: Emission, base: Id, byte: Id, type: Attribute) -> Id:
        (to,) = e.types.parts(type)
        bytes, slots = (
            e.types.pointer("CrossWorkgroup", each)
            for each in (e.types.int(8), e.types.component(to))
        )
        if base.type is not bytes:
            base = e.emit("OpBitcast", base, type=bytes)
        place = e.emit("OpInBoundsPtrAccessChain", base, byte, type=bytes)
        if slots is not bytes:
            place = e.emit("OpBitcast", place, type=slots)
        return e.emit("OpSubgroupBlockReadINTEL", place, type=to)

    def multiply(self, e: Emission, k: int, operands: list[Any], flags: str) -> Id:
        name, type = "OpSubgroupMatrixMultiplyAccumulateINTEL", operands[2].type
        return e.emit(name, e.types.enumerant(k), *operands, flags, type=type)

    def call(
        self, e: Emission, name: str, result: Attribute | None, operands: list[Any]
    ) -> Id:
        if result is None:
            type = e.module.type("OpTypeVoid")
        elif isinstance(result, xe.PayloadType):
            type = e.types.pointer("Function", e.types.u32)
        else:
            (type,) = e.types.parts(result)
        types = [operand.type for operand in operands]
        function = _imported(e, name, type, types)
        return e.emit("OpFunctionCall", function, *operands, type=type)


handlers = _Instructions().handlers()


def _imported(e: Emission, name: str, result: Id, parameters: Sequence[Id]) -> Id:
    """A function of Intel's compiler, declared once in a module."""
    for function in e.module.functions:
        if function.id.name == name:
            return function.id
    type = e.module.type("OpTypeFunction", result, *parameters)
    function = e.module.function(result, type, name=name)
    e.module.decorate(function.id, "LinkageAttributes", name, "Import")
    return function.id
