"""`simt` between the lanes of a subgroup: broadcast, shuffle and reduction.

OpenCL's functions take one number, so a vector goes component by component; an i1 goes
as an i32, a bf16 as the i16 that it is.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ReduceKind, ShuffleMode
from coopc.emit.elements import element_of
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.floats import each_float
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.mangling import builtin
from coopc.emit.llvm.simt import CONVERGENT, of_subgroup
from coopc.emit.structured import Refusal
from coopc.llvm.types import BFLOAT, I1, I16, I32, Int
from coopc.llvm.values import Value, integer

handlers = Handlers()

_SUBGROUP = 3
"""Scope in the SPIR-V specification."""
_REDUCE = 0
"""GroupOperation in the SPIR-V specification."""

_FLOATS = {
    ReduceKind.ADD: "FAdd",
    ReduceKind.MUL: "FMul",
    ReduceKind.MAX: "FMax",
    ReduceKind.MIN: "FMin",
}
_INTEGERS = {
    ReduceKind.ADD: "IAdd",
    ReduceKind.MUL: "IMul",
    ReduceKind.MAX: "UMax",
    ReduceKind.MIN: "UMin",
    ReduceKind.AND: "BitwiseAnd",
    ReduceKind.OR: "BitwiseOr",
    ReduceKind.XOR: "BitwiseXor",
}
"""The ends of opcodes; signed extremes have an S."""


def _lane(e: Emission, index: SSAValue) -> Value:
    """A lane number as an i32."""
    (known,) = e.nums((index,))
    if isinstance(known, int):
        return integer(I32, known)
    return e.f.cast("trunc", known, I32)


def _each(
    e: Emission, op: simt.BroadcastOp | simt.ShuffleOp, make: Callable[[Value], Value]
) -> None:
    """Set the result component by component."""

    def one(x: Value) -> Value:
        if x.type == BFLOAT:  # of which there are no builtins
            return e.f.cast("bitcast", make(e.f.cast("bitcast", x, I16)), BFLOAT)
        if x.type != I1:
            return make(x)
        moved = make(e.f.cast("zext", x, I32))
        return e.f.cast("trunc", moved, I1)

    value = e.value(op.value)
    found = [one(x) for x in e.components(value)]
    e.set(op.result, e.gathered(value.type, found))


def _moved(e: Emission, name: str, x: Value, lane: Value) -> Value:
    full = builtin(name, (x.type, I32), unsigned=(1,))
    return e.call(full, x.type, [x, lane], attributes=CONVERGENT)


@handlers.on(simt.BroadcastOp)
def broadcast(e: Emission, op: simt.BroadcastOp) -> None:
    """The value of one lane."""
    lane = _lane(e, op.lane)
    _each(e, op, lambda x: _moved(e, "sub_group_broadcast", x, lane))


@handlers.on(simt.ShuffleOp)
def shuffle(e: Emission, op: simt.ShuffleOp) -> None:
    """The value of another lane."""
    mode, offset = op.mode.data, _lane(e, op.offset)
    name = "sub_group_shuffle"
    if mode is ShuffleMode.XOR:
        name = "sub_group_shuffle_xor"
    elif mode is not ShuffleMode.IDX:
        # OpenCL's own shuffles up and down join two values, of which we have one.
        mine = of_subgroup(e, "get_sub_group_local_id")
        opcode = "sub" if mode is ShuffleMode.UP else "add"
        offset = e.f.binary(opcode, mine, offset)
    _each(e, op, lambda x: _moved(e, name, x, offset))


@handlers.on(simt.ReduceOp)
def reduce(e: Emission, op: simt.ReduceOp) -> None:
    """The values of all lanes as one."""
    element, kind = element_of(op.value.type), op.kind.data
    if element == IntegerType(1):
        raise Refusal("expected integers of 8 bits or more, got i1")
    whole = isinstance(element, IndexType | IntegerType)
    name = (_INTEGERS if whole else _FLOATS)[kind]
    if whole and op.signed is not None and kind in (ReduceKind.MAX, ReduceKind.MIN):
        name = f"S{name[1:]}"

    def one(x: Value) -> Value:
        unsigned = (2,) if name.startswith("U") and isinstance(x.type, Int) else ()
        full = builtin(
            f"__spirv_GroupNonUniform{name}", (I32, I32, x.type), unsigned=unsigned
        )
        scope, operation = integer(I32, _SUBGROUP), integer(I32, _REDUCE)
        return e.call(full, x.type, [scope, operation, x], attributes=CONVERGENT)

    def make(value: Value) -> Value:
        return e.gathered(value.type, [one(x) for x in e.components(value)])

    each_float(e, op.result, (op.value,), make)
