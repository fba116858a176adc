"""`simt` between the lanes of a subgroup: broadcast, shuffle and reduction.

Vulkan has the non-uniform group operations.  Under OpenCL, Intel's run-times have
SPV_INTEL_subgroups, and OpenCL's own group operations, on all of which they run.  No
lane operation takes a bool everywhere, so an i1 goes as an i32.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import AnyFloat, Float16Type, IndexType, IntegerType
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ReduceKind, ShuffleMode
from coopc.emit.elements import element_of
from coopc.emit.spirv.arith_integer import is_i1
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import each_float, is_bf16
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id

handlers = Handlers()

_SUBGROUP = 3
"""Scope in the SPIR-V specification."""

_WORDS = (1, 2, 4, 8, 16)
"""Components that vectors of words have under OpenCL; 1 is a number."""

_REDUCTIONS: dict[tuple[ReduceKind, str], str] = {
    (ReduceKind.ADD, "float"): "FAdd",
    (ReduceKind.ADD, "unsigned"): "IAdd",
    (ReduceKind.MUL, "float"): "FMul",
    (ReduceKind.MUL, "unsigned"): "IMul",
    (ReduceKind.MAX, "float"): "FMax",
    (ReduceKind.MAX, "signed"): "SMax",
    (ReduceKind.MAX, "unsigned"): "UMax",
    (ReduceKind.MIN, "float"): "FMin",
    (ReduceKind.MIN, "signed"): "SMin",
    (ReduceKind.MIN, "unsigned"): "UMin",
    (ReduceKind.AND, "unsigned"): "BitwiseAnd",
    (ReduceKind.OR, "unsigned"): "BitwiseOr",
    (ReduceKind.XOR, "unsigned"): "BitwiseXor",
}
"""The ends of opcodes."""

_GROUP = ("FAdd", "IAdd", "FMax", "SMax", "UMax", "FMin", "SMin", "UMin")
"""What OpenCL's capability Groups has."""


def _subgroup(e: Emission) -> Id:
    return e.types.enumerant(_SUBGROUP)


def _lane(e: Emission, index: SSAValue) -> Id:
    """A lane number as a u32."""
    id = e.id(index)
    if e.facts.vulkan:
        return id
    known = e.index.num(id)
    if isinstance(known, int):
        return e.types.enumerant(known % (1 << 32))
    return e.emit("OpUConvert", id, type=e.types.u32)


def _each(
    e: Emission, op: simt.BroadcastOp | simt.ShuffleOp, make: Callable[[Id, Id], Id]
) -> None:
    """Set the result part by part; bools as u32, the type bf16 as its bits."""

    def part(to: Id, x: Id) -> Id:
        if is_bf16(op.value.type) and e.facts.bf16 == "khr":
            bits = e.like(to, e.types.int(16))
            moved = make(bits, e.emit("OpBitcast", x, type=bits))
            return e.emit("OpBitcast", moved, type=to)
        if not is_i1(op.value.type):
            return make(to, x)
        word = e.like(to, e.types.u32)
        one, zero = e.number(word, 1), e.number(word, 0)
        moved = make(word, e.emit("OpSelect", x, one, zero, type=word))
        return e.emit("OpINotEqual", moved, zero, type=to)

    e.each(op.result, (op.value,), part)


@handlers.on(simt.BroadcastOp)
def broadcast(e: Emission, op: simt.BroadcastOp) -> None:
    """The value of one lane."""
    lane, scope = _lane(e, op.lane), _subgroup(e)
    opcode = "OpGroupNonUniformBroadcast" if e.facts.vulkan else "OpGroupBroadcast"
    _each(e, op, lambda to, x: e.emit(opcode, scope, x, lane, type=to))


@handlers.on(simt.ShuffleOp)
def shuffle(e: Emission, op: simt.ShuffleOp) -> None:
    """The value of another lane."""
    mode = op.mode.data
    offset, scope = _lane(e, op.offset), _subgroup(e)
    if e.facts.vulkan:
        names = {
            ShuffleMode.IDX: "OpGroupNonUniformShuffle",
            ShuffleMode.XOR: "OpGroupNonUniformShuffleXor",
            ShuffleMode.UP: "OpGroupNonUniformShuffleUp",
            ShuffleMode.DOWN: "OpGroupNonUniformShuffleDown",
        }
        opcode = names[mode]
        _each(e, op, lambda to, x: e.emit(opcode, scope, x, offset, type=to))
        return
    if mode == ShuffleMode.XOR:
        opcode = "OpSubgroupShuffleXorINTEL"
    else:
        opcode = "OpSubgroupShuffleINTEL"
        offset = _source_lane(e, mode, offset)
    _each(e, op, lambda to, x: _shuffled(e, op, opcode, x, offset, to))


def _shuffled(
    e: Emission, op: simt.ShuffleOp, opcode: str, x: Id, lane: Id, to: Id
) -> Id:
    """Shuffle under OpenCL, which has no functions for some vectors: as words."""
    width, type = e.types.width(to), element_of(op.value.type)
    is_number = isinstance(type, IntegerType | AnyFloat)
    bits = type.bitwidth if is_number else 64  # of an index
    if width == 1 or not (bits == 64 or isinstance(type, Float16Type)):
        return e.emit(opcode, x, lane, type=to)
    if (words := width * bits // 32) in _WORDS and width % 2 == 0:
        word = e.types.vector(e.types.u32, words)
        given = e.emit("OpBitcast", x, type=word)
        return e.emit("OpBitcast", e.emit(opcode, given, lane, type=word), type=to)
    return _componentwise(
        e, x, to, lambda one: e.emit(opcode, one, lane, type=one.type)
    )


def _componentwise(e: Emission, x: Id, to: Id, make: Callable[[Id], Id]) -> Id:
    """What `make` gives of a number, or of each component of a vector."""
    found = [make(one) for one in e.components(x)]
    if len(found) == 1:
        return found[0]
    return e.emit("OpCompositeConstruct", *found, type=to)


def _source_lane(e: Emission, mode: ShuffleMode, offset: Id) -> Id:
    """The lane that a shuffle takes from.

    Intel's own shuffles up and down join two values, of which we have one.
    """
    if mode == ShuffleMode.IDX:
        return offset
    mine = e.built_in("SubgroupLocalInvocationId", e.types.u32)
    opcode = "OpISub" if mode == ShuffleMode.UP else "OpIAdd"
    return e.emit(opcode, mine, offset, type=e.types.u32)


@handlers.on(simt.ReduceOp)
def reduce(e: Emission, op: simt.ReduceOp) -> None:
    """The values of all lanes as one."""
    type = element_of(op.value.type)
    if is_i1(type):
        raise Refusal("expected integers of 8 bits or more, got i1")
    opcode = _reduction(e, op, type)
    scope = _subgroup(e)

    def one(to: Id, x: Id) -> Id:
        return e.emit(opcode, scope, "Reduce", x, type=to)

    def part(to: Id, x: Id) -> Id:
        if e.facts.vulkan:
            return one(to, x)
        # OpenCL has no reductions of vectors.
        return _componentwise(e, x, to, lambda each: one(each.type, each))

    each_float(e, op.result, (op.value,), part)


def _reduction(e: Emission, op: simt.ReduceOp, type: Attribute) -> str:
    """The opcode of a reduction."""
    kind = op.kind.data
    if not isinstance(type, IndexType | IntegerType):
        sort = "float"
    elif op.signed is not None:
        sort = "signed"
    else:
        sort = "unsigned"
    name = _REDUCTIONS[kind, sort]
    if not e.facts.vulkan and name in _GROUP:
        return f"OpGroup{name}"
    return f"OpGroupNonUniform{name}"
