"""`xe` in SPIR-V: the instructions of Intel's extensions, and imported functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute, SSAValue

from coopc.dialects import xe
from coopc.dialects.xe import CacheControl
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.view import View
from coopc.emit.walker import Refusal
from coopc.emit.xe import STORE_SURFACE, SURFACE, Engine, Pieces
from coopc.emit.xe_rules import asked
from coopc.spirv.instruction import Id

# Cache controls of `xe`: decorations of the pointer.
#
# The pointer of one message is copied and the copy is decorated, as a decoration holds
# for all uses of an id.  spirv-val lets CacheControlLoadINTEL decorate an id but once,
# although L1 and L3 have one each; two groups of decorations say the same.

_NAMES = {
    CacheControl.UNCACHED: "UncachedINTEL",
    CacheControl.CACHED: "CachedINTEL",
    CacheControl.STREAMING: "StreamingINTEL",
    CacheControl.INVALIDATE_AFTER_READ: "InvalidateAfterReadINTEL",
    CacheControl.CONST_CACHED: "ConstCachedINTEL",
    CacheControl.WRITE_THROUGH: "WriteThroughINTEL",
    CacheControl.WRITE_BACK: "WriteBackINTEL",
}


def _decorated(e: Emission, pointer: Id, cache: xe.CacheAttr | None, store: bool) -> Id:
    pair = asked(cache, e.facts.device, store=store)
    if pair is None:
        return pointer
    copy = e.emit("OpCopyObject", pointer, type=pointer.type)
    name = "CacheControlStoreINTEL" if store else "CacheControlLoadINTEL"
    for level, control in enumerate(pair):
        e.module.decorate_again(copy, name, level, _NAMES[control])
    return copy


class _Pieces(Pieces):
    """A variable of one piece, or of an array of them."""

    def __init__(self, e: Emission, pieces: Sequence[SSAValue]) -> None:
        self._e = e
        (self._type,) = e.types.parts(pieces[0].type)
        self._many = len(pieces) > 1
        whole = self._type
        if self._many:
            count = e.types.enumerant(len(pieces))
            whole = e.module.type("OpTypeArray", self._type, count)
        self.base: Id = e.function.local_variable(e.types.pointer("Function", whole))

    def _pointer(self, at: int) -> Id:
        if not self._many:
            return self.base
        to, index = (
            self._e.types.pointer("Function", self._type),
            self._e.types.enumerant(at),
        )
        return self._e.emit("OpInBoundsAccessChain", self.base, index, type=to)

    def load(self, at: int) -> Id:
        return self._e.emit("OpLoad", self._pointer(at), type=self._type)

    def store(self, at: int, piece: SSAValue) -> None:
        self._e.do("OpStore", self._pointer(at), self._e.value(piece))


class _Instructions(Engine[Emission]):
    """Instructions and imported functions."""

    def check_flavour(self, e: Emission) -> None:
        if e.facts.vulkan:
            raise Refusal(
                "expected the flavour opencl, which Intel's extensions are for"
            )

    def is_global(self, view: View) -> bool:
        return view.storage == "CrossWorkgroup"

    def word(self, e: Emission, value: int) -> Id:
        return e.types.enumerant(value % (1 << 32))

    def pieces(self, e: Emission, pieces: Sequence[SSAValue]) -> _Pieces:
        return _Pieces(e, pieces)

    def message(
        self,
        e: Emission,
        name: str,
        operands: list[Any],
        cache: xe.CacheAttr | None,
        surface: int = SURFACE,
    ) -> None:
        store = surface == STORE_SURFACE
        operands[surface] = _decorated(e, operands[surface], cache, store)
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
        return e.emit(name, self.word(e, k), *operands, flags, type=type)

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

    def address(self, e: Emission, pointer: Id) -> Id:
        return e.emit("OpConvertPtrToU", pointer, type=e.types.int(64))

    def part(self, e: Emission, vector: Id, taken: range) -> Id:
        element = e.types.component(vector.type)
        if len(taken) == 1:
            return e.emit("OpCompositeExtract", vector, taken[0], type=element)
        type = e.types.vector(element, len(taken))
        return e.emit("OpVectorShuffle", vector, vector, *taken, type=type)


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
