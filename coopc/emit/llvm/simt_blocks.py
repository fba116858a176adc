"""`simt.block_read` and `block_write`: consecutive elements by the whole subgroup.

Intel's builtins move integers of up to 8 components (16 of 8 bits) of global memory;
of other memory each lane accesses its own elements.
"""

from __future__ import annotations

from xdsl.ir import Attribute

from coopc.dialects import simt
from coopc.emit.elements import count_of
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.llvm.mangling import letter
from coopc.emit.llvm.simt import CONVERGENT, of_subgroup
from coopc.emit.llvm.view import Num, View
from coopc.llvm.types import I64, Int, Type, like, width
from coopc.llvm.values import Value

handlers = Handlers()

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
