"""`simt` on spir64: positions, sizes and barriers, as builtins of OpenCL and SPIR-V.

Views of memory are what any target has.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import ReduceKind, ShuffleMode
from coopc.emit.llvm.emission import PURE, Emission, Handlers, Num, View, id_of
from coopc.emit.llvm.mangling import builtin, letter
from coopc.emit.llvm.memref import view_elements
from coopc.emit.walker import Refusal, count_of, element_of
from coopc.llvm.types import BFLOAT, I1, I16, I32, I64, Int, Type, like, width
from coopc.llvm.values import Value, integer

handlers = Handlers()
handlers.add(simt.ViewElementsOp, view_elements)

CONVERGENT = "convergent nounwind"
"""Attributes of a function that work-items call together."""

_AXES = {simt.Dimension.X: 0, simt.Dimension.Y: 1, simt.Dimension.Z: 2}


def _axis(e: Emission, op: simt.DimensionOp, name: str) -> None:
    """A function of OpenCL that takes the number of an axis."""
    axis = integer(I32, _AXES[op.dimension.data])
    full = builtin(name, (I32,), unsigned=(0,))
    e.set(op.result, e.call(full, I64, [axis], attributes=PURE))


@handlers.on(simt.WorkgroupIdOp)
def workgroup_id(e: Emission, op: simt.WorkgroupIdOp) -> None:
    """The position of the work-group in the grid."""
    _axis(e, op, "get_group_id")


@handlers.on(simt.NumWorkgroupsOp)
def num_workgroups(e: Emission, op: simt.NumWorkgroupsOp) -> None:
    """The number of work-groups in the grid."""
    _axis(e, op, "get_num_groups")


@handlers.on(simt.LocalIdOp)
def local_id(e: Emission, op: simt.LocalIdOp) -> None:
    """The position of the work-item in its work-group."""
    _axis(e, op, "get_local_id")


@handlers.on(simt.WorkgroupSizeOp)
def workgroup_size(e: Emission, op: simt.WorkgroupSizeOp) -> None:
    """The number of work-items of a work-group, which a kernel fixes."""
    if e.work_group_size is None:
        _axis(e, op, "get_local_size")
    else:
        e.set(op.result, id_of(e.work_group_size[_AXES[op.dimension.data]]))


def of_subgroup(e: Emission, name: str) -> Value:
    """A number of the subgroup as an i32: the names are mangled without parameters."""
    return e.call(builtin(name, ()), I32, [], attributes=PURE)


def _number(e: Emission, op: simt.IdOp, name: str) -> None:
    e.set(op.result, e.f.cast("zext", of_subgroup(e, name), I64))


@handlers.on(simt.SubgroupIdOp)
def subgroup_id(e: Emission, op: simt.SubgroupIdOp) -> None:
    """The number of the subgroup in its work-group."""
    _number(e, op, "get_sub_group_id")


@handlers.on(simt.NumSubgroupsOp)
def num_subgroups(e: Emission, op: simt.NumSubgroupsOp) -> None:
    """The number of subgroups of the work-group."""
    _number(e, op, "get_num_sub_groups")


@handlers.on(simt.LaneIdOp)
def lane_id(e: Emission, op: simt.LaneIdOp) -> None:
    """The number of the lane in its subgroup."""
    _number(e, op, "get_sub_group_local_id")


@handlers.on(simt.SubgroupSizeOp)
def subgroup_size(e: Emission, op: simt.SubgroupSizeOp) -> None:
    """The number of lanes of a subgroup, where a kernel does not fix it."""
    if e.subgroup_size is None:
        _number(e, op, "get_sub_group_size")
    else:
        e.set(op.result, id_of(e.subgroup_size))


# --- barriers ------------------------------------------------------------------

_SCOPES = {simt.FenceScope.WORKGROUP: 2, simt.FenceScope.SUBGROUP: 3}
"""Scope in the SPIR-V specification."""

_ACQUIRE, _RELEASE, _ACQUIRE_RELEASE = 0x2, 0x4, 0x8
_MEMORY = 0x100 | 0x200
"""WorkgroupMemory and CrossWorkgroupMemory."""


@handlers.on(simt.BarrierOp)
def barrier(e: Emission, op: simt.BarrierOp) -> None:
    """OpControlBarrier."""
    _wait(e, "__spirv_ControlBarrier", op.scope.data, _ACQUIRE_RELEASE)


@handlers.on(simt.BarrierArriveOp)
def barrier_arrive(e: Emission, op: simt.BarrierArriveOp) -> None:
    """OpControlBarrierArriveINTEL."""
    _wait(e, "__spirv_ControlBarrierArriveINTEL", op.scope.data, _RELEASE)


@handlers.on(simt.BarrierWaitOp)
def barrier_wait(e: Emission, op: simt.BarrierWaitOp) -> None:
    """OpControlBarrierWaitINTEL."""
    _wait(e, "__spirv_ControlBarrierWaitINTEL", op.scope.data, _ACQUIRE)


def _wait(e: Emission, name: str, scope: simt.FenceScope, order: int) -> None:
    number = integer(I32, _SCOPES[scope])
    semantics = integer(I32, order | _MEMORY)
    arguments = [number, number, semantics]
    e.do(builtin(name, (I32,) * 3), arguments, attributes=CONVERGENT)


# `simt` between the lanes of a subgroup: broadcast, shuffle and reduction.
#
# OpenCL's functions take one number, so a vector goes component by component; an i1
# goes
# as an i32, a bf16 as the i16 that it is.

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

    e.set(op.result, make(e.value(op.value)))


# `simt.block_read` and `block_write`: consecutive elements by the whole subgroup.
#
# Intel's builtins move integers of up to 8 components (16 of 8 bits) of global memory;
# of other memory each lane accesses its own elements.

_GLOBAL = 1
"""The address space."""
_SUFFIXES = {8: "_uc", 16: "_us", 32: "_ui", 64: "_ul"}


@handlers.on(simt.BlockReadOp)
def block_read(e: Emission, op: simt.BlockReadOp) -> None:
    """A builtin, or a load for each component."""
    view, type = e.view(op.memory), op.result.type
    at = e.index.linear(view, e.nums(op.positions))
    to = e.type(type)
    if _has_builtin(e, view, type):
        block = _block_type(e, view, to)
        name = block_name("read", block)
        place = e.pointer(view, at)
        found = e.call(name, block, [place], attributes=CONVERGENT)
        e.set(op.result, e.f.cast("bitcast", found, to))
        return
    element, align = e.types.in_memory(view.element), e.types.bytes_of(view.element)
    places = _lane_pointers(e, view, at, count_of(type))
    scalars = [e.f.load(element, place, align) for place in places]
    e.set(op.result, e.gathered(to, scalars))


@handlers.on(simt.BlockWriteOp)
def block_write(e: Emission, op: simt.BlockWriteOp) -> None:
    """A builtin, or a store for each component."""
    view, type, value = e.view(op.memory), op.value.type, e.value(op.value)
    at = e.index.linear(view, e.nums(op.positions))
    if _has_builtin(e, view, type):
        block = _block_type(e, view, value.type)
        data = e.f.cast("bitcast", value, block)
        name = block_name("write", block)
        e.do(name, [e.pointer(view, at), data], attributes=CONVERGENT)
        return
    align = e.types.bytes_of(view.element)
    places = _lane_pointers(e, view, at, count_of(type))
    for place, scalar in zip(places, e.components(value), strict=True):
        e.f.store(scalar, place, align)


def _has_builtin(e: Emission, view: View, type: Attribute) -> bool:
    longest = 16 if e.types.bytes_of(view.element) == 1 else 8
    count = count_of(type)
    return view.space == _GLOBAL and count in (1, 2, 4, 8, 16) and count <= longest


def _block_type(e: Emission, view: View, shape: Type) -> Type:
    """The integers that a block is moved as."""
    return like(shape, Int(8 * e.types.bytes_of(view.element)))


def block_name(verb: str, block: Type) -> str:
    """The mangled name of a builtin.

    >>> from coopc.llvm.types import I16, I32, Vector
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


def _lane_pointers(e: Emission, view: View, at: Num, count: int) -> list[Value]:
    """Pointers to this lane's elements: `at + c * S + lane`, S the subgroup size."""
    lane = e.f.cast("zext", of_subgroup(e, "get_sub_group_local_id"), I64)
    size: Num
    if e.subgroup_size is not None:
        size = e.subgroup_size
    else:
        size = e.f.cast("zext", of_subgroup(e, "get_sub_group_size"), I64)
    first = e.index.add(at, lane)
    steps = [e.index.mul(size, c) for c in range(count)]
    return [e.pointer(view, e.index.add(first, step)) for step in steps]
