"""`simt` on spir64, as builtins of OpenCL and SPIR-V.

OpenCL's functions between lanes take one number, so a vector goes component by
component.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ShuffleMode
from coopc.emit.llvm.emission import PURE, Emission
from coopc.emit.llvm.flow import SPACES, Num, View
from coopc.emit.llvm.mangling import builtin, letter
from coopc.emit.simt import (
    CROSS_WORKGROUP_MEMORY,
    SCOPES,
    SUBGROUP,
    WORKGROUP_MEMORY,
    Lanes,
    reduction_of,
)
from coopc.emit.walker import count_of
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

CONVERGENT = "convergent nounwind"
"""Attributes of a function that work-items call together."""

_NAMES: dict[type[Operation], str] = {
    simt.WorkgroupIdOp: "get_group_id",
    simt.NumWorkgroupsOp: "get_num_groups",
    simt.LocalIdOp: "get_local_id",
    simt.WorkgroupSizeOp: "get_local_size",
    simt.SubgroupIdOp: "get_sub_group_id",
    simt.NumSubgroupsOp: "get_num_sub_groups",
    simt.LaneIdOp: "get_sub_group_local_id",
    simt.SubgroupSizeOp: "get_sub_group_size",
}

_REDUCE = 0
"""GroupOperation in the SPIR-V specification."""

_SUFFIXES = {8: "_uc", 16: "_us", 32: "_ui", 64: "_ul"}


class _LaneBuiltins(Lanes[Emission]):
    """Builtins of OpenCL and SPIR-V."""

    def position(self, e: Emission, op: type[Operation], axis: int) -> Value:
        full = builtin(_NAMES[op], (I32,), unsigned=(0,))
        return e.call(full, I64, [integer(I32, axis)], attributes=PURE)

    def number(self, e: Emission, op: type[Operation]) -> Value:
        return e.f.cast("zext", _of_subgroup(e, op), I64)

    def has_split_barrier(self, e: Emission) -> bool:
        return True

    def synchronize(
        self,
        e: Emission,
        half: str,
        scope: simt.FenceScope,
        order: int,
        memory: simt.MemorySpace | None = None,
    ) -> None:
        name = f"__spirv_ControlBarrier{half}{'INTEL' if half else ''}"
        semantics = order | WORKGROUP_MEMORY | CROSS_WORKGROUP_MEMORY
        numbers = (SCOPES[scope], SCOPES[scope], semantics)
        arguments = [integer(I32, each) for each in numbers]
        e.call(builtin(name, (I32,) * 3), VOID, arguments, attributes=CONVERGENT)

    def has_block_io(self, e: Emission, view: View, type: Attribute) -> bool:
        longest = 16 if e.types.bytes_of(view.element) == 1 else 8
        is_global = view.space == SPACES[simt.MemorySpace.GLOBAL]
        count = count_of(type)
        return is_global and count in (1, 2, 4, 8, 16) and count <= longest

    def block_read(self, e: Emission, view: View, at: Num, type: Attribute) -> Value:
        to = e.type(type)
        block = like(to, Int(8 * e.types.bytes_of(view.element)))
        place, name = e.pointer(view, at), block_name("read", block)
        found = e.call(name, block, [place], attributes=CONVERGENT)
        return e.f.cast("bitcast", found, to)

    def block_write(self, e: Emission, view: View, at: Num, value: SSAValue) -> None:
        found = e.value(value)
        block = like(found.type, Int(8 * e.types.bytes_of(view.element)))
        arguments = [e.pointer(view, at), e.f.cast("bitcast", found, block)]
        e.call(block_name("write", block), VOID, arguments, attributes=CONVERGENT)

    def broadcast(self, e: Emission, op: simt.BroadcastOp) -> None:
        lane = _lane(e, op.lane)
        _move(e, op, "sub_group_broadcast", lane)

    def shuffle(self, e: Emission, op: simt.ShuffleOp) -> None:
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

    def reduce(self, e: Emission, op: simt.ReduceOp) -> None:
        end = reduction_of(op)
        name = f"__spirv_GroupNonUniform{end}"
        scope, operation = integer(I32, SUBGROUP), integer(I32, _REDUCE)

        def one(x: Value) -> Value:
            unsigned = (2,) if end.startswith("U") and isinstance(x.type, Int) else ()
            full = builtin(name, (I32, I32, x.type), unsigned=unsigned)
            return e.call(full, x.type, [scope, operation, x], attributes=CONVERGENT)

        e.set(op.result, e.gathered(op.result.type, [*map(one, e.scalars(op.value))]))


handlers = _LaneBuiltins().handlers()


def _of_subgroup(e: Emission, op: type[Operation]) -> Value:
    """A number of the subgroup as an i32: the names are mangled without parameters."""
    return e.call(builtin(_NAMES[op], ()), I32, [], attributes=PURE)


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
