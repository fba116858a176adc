"""`simt` on spir64, as builtins of OpenCL and SPIR-V.

OpenCL's functions between lanes take one number, so a vector goes component by
component.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ShuffleMode
from coopc.emit import simt as shared
from coopc.emit.llvm.emission import PURE, SPACES, Emission, Handlers, View
from coopc.emit.llvm.mangling import builtin, letter
from coopc.emit.simt import (
    BUILT_INS,
    CROSS_WORKGROUP_MEMORY,
    HALVES,
    SCOPES,
    SUBGROUP,
    WORKGROUP_MEMORY,
    known_size,
    read_by_lanes,
    reduction_of,
    write_by_lanes,
)
from coopc.llvm.values import (
    I32,
    I64,
    VOID,
    Int,
    Type,
    Value,
    integer,
    like,
    width,
)

handlers = Handlers(shared.handlers)

CONVERGENT = "convergent nounwind"
"""Attributes of a function that work-items call together."""

_REDUCE = 0
"""GroupOperation in the SPIR-V specification."""

_SUFFIXES = {8: "_uc", 16: "_us", 32: "_ui", 64: "_ul"}


@handlers.on(*BUILT_INS)
def built_in(e: Emission, op: simt.DimensionOp | simt.IdOp) -> None:
    """A constant that the kernel fixes, or a call."""
    if (size := known_size(e, op)) is not None:
        e.set(op.result, e.index.value(size))
    elif isinstance(op, simt.IdOp):
        e.set(op.result, _number(e, type(op)))
    else:
        full = builtin(BUILT_INS[type(op)][1], (I32,), unsigned=(0,))
        e.set(op.result, e.call(full, I64, [integer(I32, op.axis)], attributes=PURE))


def _number(e: Emission, op: type[simt.IdOp]) -> Value:
    return e.f.cast("zext", _of_subgroup(e, op), I64)


@handlers.on(*HALVES)
def barrier(e: Emission, op: simt.WaitingOp) -> None:
    half, order = HALVES[type(op)]
    scope, semantics = SCOPES[op.scope.data], order | WORKGROUP_MEMORY
    numbers = scope, scope, semantics | CROSS_WORKGROUP_MEMORY
    full = builtin(f"__spirv_ControlBarrier{half}", (I32,) * 3)
    arguments = [integer(I32, each) for each in numbers]
    e.call(full, VOID, arguments, attributes=CONVERGENT)


# Blocks of consecutive elements.


@handlers.on(simt.BlockReadOp)
def block_read(e: Emission, op: simt.BlockReadOp) -> None:
    view, to = e.view(op.memory), e.type(op.result.type)
    if not _has_block_io(e, view, to):
        read_by_lanes(e, op, _number)
        return
    place, block = _block(e, op, to)
    found = e.call(block_name("read", block), block, [place], attributes=CONVERGENT)
    e.set(op.result, e.f.cast("bitcast", found, to))


@handlers.on(simt.BlockWriteOp)
def block_write(e: Emission, op: simt.BlockWriteOp) -> None:
    view, found = e.view(op.memory), e.value(op.value)
    if not _has_block_io(e, view, found.type):
        write_by_lanes(e, op, _number)
        return
    place, block = _block(e, op, found.type)
    arguments = [place, e.f.cast("bitcast", found, block)]
    e.call(block_name("write", block), VOID, arguments, attributes=CONVERGENT)


def _has_block_io(e: Emission, view: View, type: Type) -> bool:
    longest = 16 if e.types.bytes_of(view.element) == 1 else 8
    is_global = view.space == SPACES[simt.MemorySpace.GLOBAL]
    return is_global and width(type) in (1, 2, 4, 8, 16) and width(type) <= longest


def _block(
    e: Emission, op: simt.BlockReadOp | simt.BlockWriteOp, type: Type
) -> tuple[Value, Type]:
    """A pointer to a block, and the type of a lane's integers."""
    view = e.view(op.memory)
    place = e.pointer(view, e.index.linear(view, e.nums(op.positions)))
    return place, like(type, Int(8 * e.types.bytes_of(view.element)))


# Operations between lanes.


@handlers.on(simt.BroadcastOp)
def broadcast(e: Emission, op: simt.BroadcastOp) -> None:
    lane = _lane(e, op.lane)
    _move(e, op, "sub_group_broadcast", lane)


@handlers.on(simt.ShuffleOp)
def shuffle(e: Emission, op: simt.ShuffleOp) -> None:
    mode, offset = op.mode.data, _lane(e, op.offset)
    name = "sub_group_shuffle"
    if mode is ShuffleMode.XOR:
        name = "sub_group_shuffle_xor"
    elif mode is not ShuffleMode.IDX:
        # OpenCL's own shuffles up and down join two values, of which we have one.
        mine = _of_subgroup(e, simt.LaneIdOp)
        opcode = "sub" if mode is ShuffleMode.UP else "add"
        offset = e.f.arithmetic(opcode, mine, offset)
    _move(e, op, name, offset)


@handlers.on(simt.ReduceOp)
def reduce(e: Emission, op: simt.ReduceOp) -> None:
    end = reduction_of(op)
    name = f"__spirv_GroupNonUniform{end}"
    scope, operation = integer(I32, SUBGROUP), integer(I32, _REDUCE)

    def one(x: Value) -> Value:
        unsigned = (2,) if end.startswith("U") and isinstance(x.type, Int) else ()
        full = builtin(name, (I32, I32, x.type), unsigned=unsigned)
        return e.call(full, x.type, [scope, operation, x], attributes=CONVERGENT)

    e.set(op.result, e.gathered(op.result.type, [*map(one, e.scalars(op.value))]))


def _of_subgroup(e: Emission, op: type[simt.IdOp]) -> Value:
    """A number of the subgroup as an i32: the names are mangled without parameters."""
    return e.call(builtin(BUILT_INS[op][1], ()), I32, [], attributes=PURE)


def _lane(e: Emission, index: SSAValue) -> Value:
    known = e.num(index)
    return (
        integer(I32, known) if isinstance(known, int) else e.f.cast("trunc", known, I32)
    )


def _move(
    e: Emission, op: simt.BroadcastOp | simt.ShuffleOp, name: str, lane: Value
) -> None:
    """Set the result component by component to those of another lane."""
    found: list[Value] = []
    for x in e.scalars(op.value):
        full = builtin(name, (x.type, I32), unsigned=(1,))
        found.append(e.call(full, x.type, [x, lane], attributes=CONVERGENT))
    e.set(op.result, e.gathered(op.result.type, found))


def block_name(verb: str, block: Type) -> str:
    """The mangled name of a builtin.

    >>> from coopc.llvm.values import I16, I32, Vector
    >>> block_name("read", Vector(8, I16)), block_name("write", I32)
    ('_Z30intel_sub_group_block_read_us8PU3AS1t', \
'_Z30intel_sub_group_block_write_uiPU3AS1jj')
    """
    element, count = getattr(block, "element", block), width(block)
    assert isinstance(element, Int), block
    many = "" if count == 1 else str(count)
    name = f"intel_sub_group_block_{verb}{_SUFFIXES[element.bits]}{many}"
    mangled = letter(element, unsigned=True)
    data = mangled if count == 1 else f"Dv{count}_{mangled}"
    return f"_Z{len(name)}{name}PU3AS1{mangled}{data if verb == 'write' else ''}"
