"""Kernels as entry points: how they get their arguments, and what they declare.

Vulkan: the n-th memref is the storage buffer at binding n of set 0, or its address a
push constant (`Facts.addresses`); scalars, and what
the types of memrefs leave to run time, are members of one block of push constants, and
are loaded at the entry where something uses them.  OpenCL: they are parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.emit.interface import name_of
from coopc.emit.memrefs import Form
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import emit
from coopc.emit.spirv.view import PHYSICAL, Later, Num, View, filled, is_wide
from coopc.emit.spirv.whole import ModuleEmission
from coopc.interface import Field, Interface, What
from coopc.spirv.instruction import Id

Numbers = dict[tuple[What, int, int], Num]
"""What is passed beside the buffers, by what it is, argument and dimension."""


def begin_vulkan(
    whole: ModuleEmission, kernel: simt.Kernel, interface: Interface
) -> Emission:
    """Begin a kernel of Vulkan, with its arguments set."""
    e = _begin(whole, kernel, [])
    numbers = _push_constants(e, interface)
    for position, arg in enumerate(kernel.func.body.block.args):
        if not is_memref(arg.type):
            number = numbers[What.VALUE, position, 0]
            if arg.first_use is not None:
                _set_scalar(e, arg, e.index.id(number))
            continue
        if whole.facts.addresses:
            address = e.index.id(numbers[What.ADDRESS, position, 0])
            pointer = _physical(e, arg.type.element_type, address)
            view = _view(arg.type, position, pointer, PHYSICAL, numbers)
            e.set(arg, view)
            continue
        binding = interface.binding(position)
        variable = buffer(whole, arg.type.element_type, name_of(arg, position), binding)
        e.set(arg, _view(arg.type, position, variable, "StorageBuffer", numbers))
    return e


def buffer(whole: ModuleEmission, element: Attribute, name: str, binding: int) -> Id:
    """The variable of a storage buffer.

    Two memrefs may be the same memory, which the Vulkan memory model assumes they are
    not unless they are decorated so.
    """
    pointer = whole.types.pointer("StorageBuffer", whole.block(element))
    variable = whole.module.variable(pointer, "StorageBuffer", name=name)
    whole.module.decorate(variable, "DescriptorSet", 0)
    whole.module.decorate(variable, "Binding", binding)
    whole.module.decorate(variable, "Aliased")
    whole.buffers.append(variable)
    whole.bindings[variable] = binding
    return variable


def _physical(e: Emission, element: Attribute, address: Id) -> Id:
    """The pointer to a buffer that is an address."""
    pointer = e.types.pointer(PHYSICAL, e.whole.block(element))
    return e.at_entry(lambda: e.emit("OpConvertUToPtr", address, type=pointer))


def _push_constants(e: Emission, interface: Interface) -> Numbers:
    """The members of the block of push constants, each loaded if it is used."""
    if not interface.fields:
        return {}
    types = [e.types.field(field.type) for field in interface.fields]
    block = e.module.type("OpTypeStruct", *types, distinct=True, name="Arguments")
    e.module.decorate(block, "Block")
    for member, field in enumerate(interface.fields):
        e.module.member_decorate(block, member, "Offset", field.byte_offset)
        e.module.member_name(block, member, field_name(field, interface))
    pointer = e.types.pointer("PushConstant", block)
    variable = e.module.variable(pointer, "PushConstant", name="arguments")

    def loaded(member: int, field: Field) -> Later:
        def load() -> Id:
            to = e.types.pointer("PushConstant", types[member])
            at = e.types.enumerant(member)
            address = e.emit("OpAccessChain", variable, at, type=to)
            name = field_name(field, interface)
            return e.function.emit("OpLoad", address, type=types[member], name=name)

        return Later(lambda: e.at_entry(load))

    return {
        (field.what, field.argument, field.dimension): loaded(member, field)
        for member, field in enumerate(interface.fields)
    }


def begin_opencl(
    whole: ModuleEmission, kernel: simt.Kernel, interface: Interface
) -> Emission:
    """Begin a kernel of OpenCL, with its arguments set."""
    args = kernel.func.body.block.args
    e = _begin(whole, kernel, _parameter_types(whole, args, interface))
    given = iter(e.function.parameters)
    for position, arg in enumerate(args):
        pointer = next(given) if is_memref(arg.type) else None
        numbers: Numbers = {}
        for field in interface.fields:
            if field.argument == position:
                id = next(given)
                e.module.name(id, field_name(field, interface))
                numbers[field.what, position, field.dimension] = id
        if is_memref(arg.type):
            assert pointer is not None, arg
            e.module.name(pointer, name_of(arg, position))
            e.set(arg, _view(arg.type, position, pointer, "CrossWorkgroup", numbers))
        else:
            _set_scalar(e, arg, e.index.id(numbers[What.VALUE, position, 0]))
    return e


def _begin(whole: ModuleEmission, kernel: simt.Kernel, types: list[Id]) -> Emission:
    """Begin the function of a kernel with parameters of some types."""
    void = whole.module.type("OpTypeVoid")
    type = whole.module.type("OpTypeFunction", void, *types)
    return Emission(
        whole,
        whole.module.function(void, type, name=kernel.name),
        emit,
        work_group_size=kernel.work_group_size,
        subgroup_size=kernel.subgroup_size,
    )


def _parameter_types(
    whole: ModuleEmission, args: Sequence[BlockArgument], interface: Interface
) -> list[Id]:
    """The types of a kernel's parameters: of each argument a pointer, then numbers."""
    types: list[Id] = []
    for position, arg in enumerate(args):
        if is_memref(arg.type):
            element = whole.types.in_memory(arg.type.element_type)
            types.append(whole.types.pointer("CrossWorkgroup", element))
        types += [
            whole.types.field(field.type)
            for field in interface.fields
            if field.argument == position
        ]
    return types


def _view(
    type: MemRefType, position: int, base: Id, storage: str, numbers: Numbers
) -> View:
    """The memref of an argument."""
    form = Form.of(type)
    wide = is_wide(form, storage)
    empty = View(base, storage, type.element_type, 0, (), None, wide=wide)
    return filled(
        form,
        empty,
        lambda: numbers[What.OFFSET, position, 0],
        lambda d: numbers[What.SIZE, position, d],
        lambda d: numbers[What.STRIDE, position, d],
    )


def _set_scalar(e: Emission, arg: BlockArgument, id: Id) -> None:
    """Set a scalar argument; an i1 came as a byte."""
    e.set(arg, (e.from_memory(arg.type, id),))


def field_name(field: Field, interface: Interface) -> str:
    """The debug name of a number beside the buffers: %a_size0."""
    name = interface.arguments[field.argument].name
    if field.what == What.VALUE:
        return name
    whole = field.what in (What.OFFSET, What.ADDRESS)
    dimension = "" if whole else str(field.dimension)
    return f"{name}_{field.what}{dimension}"


def declare(e: Emission, kernel: simt.Kernel) -> None:
    """Declare a finished kernel as an entry point."""
    module, function = e.module, e.function
    variables = e.whole.globals_of(function)
    model = "GLCompute" if e.facts.vulkan else "Kernel"
    module.entry_point(model, function.id, kernel.name, variables)
    module.execution_mode(function.id, "LocalSize", *kernel.work_group_size)
    if not e.facts.vulkan and kernel.subgroup_size is not None:
        module.execution_mode(function.id, "SubgroupSize", kernel.subgroup_size)
