"""A whole module: its kernels as entry points, its functions and their calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import islice

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute

from coopc.dialects import coopmatrix, simt
from coopc.dialects.narrow import is_memref
from coopc.emit.interface import (
    interface_of,
    kernels_of,
    name_of,
    remark_left_out,
    settled,
    spec_constant_ids,
)
from coopc.emit.spirv.emission import Emission, Handlers, ModuleEmission
from coopc.emit.spirv.types import Types
from coopc.emit.spirv.view import PHYSICAL, Later, Num, View, is_wide
from coopc.emit.view import Form, space_of
from coopc.emit.walker import Facts, NoForm, refuse, refusing
from coopc.interface import Field, Interface, What
from coopc.passes.generic.check_bounds import check_bounds
from coopc.passes.generic.check_uniformity import check_uniformity
from coopc.spirv.instruction import Id
from coopc.spirv.module import Function, Module

handlers = Handlers()

NO_INLINE = "no_inline"
"""The attribute of a function that is to be called, as upstream names it."""

STORAGE = {
    simt.MemorySpace.GLOBAL: "CrossWorkgroup",
    simt.MemorySpace.PRIVATE: "Function",
    simt.MemorySpace.WORKGROUP: "Workgroup",
}
"""The storage class of a memref that is an argument under OpenCL."""


@handlers.on(func.CallOp)
def call(e: Emission, op: func.CallOp) -> None:
    """A call, or the body of the function in place of it."""
    name = op.callee.root_reference.data
    callee = e.whole.functions.get(name)
    if callee is None or callee.is_declaration:
        raise NoForm(f"expected a function @{name} with a body in the module")
    if len(callee.body.blocks) != 1:
        raise NoForm(f"expected @{name} to have one block")
    if name in e.whole.calling:
        raise NoForm(f"recursion is not supported by SPIR-V: @{name} calls itself")
    if e.facts.vulkan or any(is_memref(type) for type in op.result_types):
        for arg, given in zip(callee.body.block.args, op.arguments, strict=True):
            e.became[arg] = e.became[given]
        e.whole.calling.append(name)
        last = e.block(callee.body.block)
        e.whole.calling.pop()
        e.results(op, e.given(last.operands))
    else:
        _call(e, op, callee)


def _call(e: Emission, op: func.CallOp, callee: func.FuncOp) -> None:
    function = _function(e, callee)
    arguments: list[Id] = []
    for value in op.arguments:
        if not is_memref(value.type):
            arguments += e.parts(value)
            continue
        view = e.view(value)
        if view.storage != STORAGE[space_of(value.type)]:
            raise NoForm(
                "expected the memory space in the type of an allocation that is passed "
                f"on, got {value.type}"
            )
        numbers = e.index.open_numbers(view, Form.of(value.type))
        arguments += [e.pointer(view, 0), *map(e.index.value, numbers)]
    made = e.emit("OpFunctionCall", function.id, *arguments, type=function.result_type)
    types = [id for result in op.results for id in e.types.parts(result.type)]
    parts = [made]
    if len(types) > 1:
        parts = [
            e.emit("OpCompositeExtract", made, at, type=type)
            for at, type in enumerate(types)
        ]
    rest = iter(parts)
    for value in op.results:
        e.set(value, tuple(next(rest) for _ in e.types.parts(value.type)))


def _function(e: Emission, callee: func.FuncOp) -> Function:
    """The SPIR-V function of a function, emitted when it is first called.

    A memref is a pointer and what its type leaves to run time; several results are a
    struct.
    """
    name = callee.sym_name.data
    if (found := e.whole.emitted.get(name)) is not None:
        return found
    inputs = callee.function_type.inputs
    parameters = [id for type in inputs for id in _parameters(e.types, type)]
    outputs = callee.function_type.outputs.data
    result = e.module.type("OpTypeVoid")
    if types := [id for type in outputs for id in e.types.parts(type)]:
        result = types[0]
    if len(types) > 1:
        result = e.module.type("OpTypeStruct", *types)
    type = e.module.type("OpTypeFunction", result, *parameters)
    control = "DontInline" if NO_INLINE in callee.attributes else "None"
    function = e.module.function(result, type, control, name)
    inner = Emission(e.whole, function, subgroup_size=e.subgroup_size)
    given = iter(function.parameters)
    for arg in callee.body.block.args:
        if is_memref(arg.type):
            inner.set(arg, _view(arg.type, next(given), given))
        else:
            inner.set(arg, tuple(next(given) for _ in e.types.parts(arg.type)))
    e.whole.calling.append(name)
    last = inner.block(callee.body.block)
    e.whole.calling.pop()
    parts = [id for value in last.operands for id in inner.parts(value)]
    if len(parts) > 1:
        parts = [inner.emit("OpCompositeConstruct", *parts, type=result)]
    inner.do("OpReturnValue" if parts else "OpReturn", *parts)
    inner.finish()
    e.whole.emitted[name] = function
    return function


def _parameters(types: Types, type: Attribute) -> list[Id]:
    """The types of what a number or a memref is passed as."""
    if not is_memref(type):
        return list(types.parts(type))
    element = types.in_memory(type.element_type)
    pointer = types.pointer(STORAGE[space_of(type)], element)
    return [pointer, *(types.index for _ in Form.of(type).open)]


def _view(type: MemRefType, base: Id, numbers: Iterable[Num]) -> View:
    """A memref, of which a pointer and what its type leaves to run time are given."""
    form, at = Form.of(type), View(base, type.element_type)
    at = replace(at, wide=is_wide(form, at.storage))
    return form.opened(at, islice(numbers, len(form.open)))


# Kernels as entry points: how they get their arguments, and what they declare.
#
# Vulkan: the n-th memref is the storage buffer at binding n of set 0, or its address
# a push constant (`Facts.addresses`); scalars, and what the types of memrefs leave to
# run time, are members of one block of push constants, and are loaded at the entry
# where something uses them.  OpenCL: they are parameters.


def begin_vulkan(
    whole: ModuleEmission, kernel: simt.Kernel, interface: Interface
) -> Emission:
    e = _begin(whole, kernel, [])
    numbers = iter(_push_constants(e, interface))
    for position, arg in enumerate(kernel.func.args):
        if not is_memref(arg.type):
            number = next(numbers)
            if arg.first_use is not None:
                e.set(arg, e.from_memory(arg.type, number.get()))
            continue
        if whole.facts.addresses:
            address = next(numbers).get()
            pointer = e.types.pointer(PHYSICAL, whole.block(arg.type.element_type))
            with e.at_entry():
                base = e.emit("OpConvertUToPtr", address, type=pointer)
        else:
            binding, name = interface.binding(position), name_of(arg, position)
            base = whole.buffer(arg.type.element_type, name, binding)
        e.set(arg, _view(arg.type, base, numbers))
    return e


def _push_constants(e: Emission, interface: Interface) -> list[Later]:
    """The members of the block of push constants, each loaded if it is used."""
    if not interface.fields:
        return []
    types = [e.types.field(field.type) for field in interface.fields]
    block = e.module.type("OpTypeStruct", *types, distinct=True, name="Arguments")
    e.module.decorate(block, "Block")
    for member, field in enumerate(interface.fields):
        e.module.member_decorate(block, member, "Offset", field.byte_offset)
        e.module.member_name(block, member, field_name(field, interface))
    pointer = e.types.pointer("PushConstant", block)
    variable = e.module.variable(pointer, "PushConstant", name="arguments")

    def load(member: int, name: str) -> Id:
        to = e.types.pointer("PushConstant", types[member])
        at = e.types.enumerant(member)
        with e.at_entry():
            address = e.emit("OpAccessChain", variable, at, type=to)
            return e.function.emit("OpLoad", address, type=types[member], name=name)

    return [
        Later(partial(load, member, field_name(field, interface)))
        for member, field in enumerate(interface.fields)
    ]


def begin_opencl(
    whole: ModuleEmission, kernel: simt.Kernel, interface: Interface
) -> Emission:
    """Parameters: of each argument a pointer, if it is a memref, then numbers."""
    types: list[Id] = []
    for arg in kernel.func.args:
        if is_memref(arg.type):
            types += _parameters(whole.types, arg.type)
        else:
            types.append(whole.types.in_memory(arg.type))
    e = _begin(whole, kernel, types)
    given = iter(e.function.parameters)
    for position, arg in enumerate(kernel.func.args):
        fields = [x for x in interface.fields if x.argument == position]
        first, *rest = islice(given, is_memref(arg.type) + len(fields))
        numbers = rest if is_memref(arg.type) else [first]
        for id, field in zip(numbers, fields, strict=True):
            e.module.name(id, field_name(field, interface))
        if is_memref(arg.type):
            e.module.name(first, name_of(arg, position))
            e.set(arg, _view(arg.type, first, numbers))
        else:
            e.set(arg, e.from_memory(arg.type, first))
    return e


def _begin(whole: ModuleEmission, kernel: simt.Kernel, types: list[Id]) -> Emission:
    void = whole.module.type("OpTypeVoid")
    type = whole.module.type("OpTypeFunction", void, *types)
    return Emission(
        whole,
        whole.module.function(void, type, name=kernel.name),
        work_group_size=kernel.work_group_size,
        subgroup_size=kernel.subgroup_size,
    )


def field_name(field: Field, interface: Interface) -> str:
    """The debug name of a number beside the buffers: %a_size0."""
    name = interface.arguments[field.argument].name
    if field.what == What.VALUE:
        return name
    whole = field.what in (What.OFFSET, What.ADDRESS)
    dimension = "" if whole else str(field.dimension)
    return f"{name}_{field.what}{dimension}"


# A whole module: its kernels as entry points, and what they share.


def emit_module(source: ModuleOp, facts: Facts) -> Module:
    """The SPIR-V module of all kernels of a module of the IR.

    Raises:
        PassFailedException: the flavour or the device cannot say what the IR says, or
            there is no kernel.
        VerifyException: control flow is not uniform where it must be, or an access is
            out of bounds.
    """
    whole = ModuleEmission(source, facts)
    if any(isinstance(op, coopmatrix.InsertOp) for op in source.walk()):
        from coopc.emit.spirv.coopmatrix import begin_control, end_control

        whole.on_control = (begin_control, end_control)
    for op in source.ops:
        known = func.FuncOp | coopmatrix.SpecConstantOp | simt.SequenceOp
        if not isinstance(op, known):
            refuse(op, "expected functions and specialization constants at the top")
    for op, number in spec_constant_ids(source):
        name = op.sym_name.data
        whole.spec_constants[name] = whole.module.spec_constant(
            whole.types.u32, op.value.value.data, number, name
        )
    kernels = kernels_of(source)
    for kernel in kernels:
        with refusing(kernel.func):
            _kernel(whole, kernel)
    remark_left_out(source, kernels)
    # Last: what has no form at all is refused in words of its own.
    check_bounds(source)
    check_uniformity(source)
    _finish(whole)
    return whole.module


def _finish(whole: ModuleEmission) -> None:
    """Declare what is known only of the whole module."""
    written = set(map(whole.first_variable, whole.written))
    for variable in whole.buffers:
        if whole.first_variable(variable) not in written:
            whole.module.decorate(variable, "NonWritable")
    for kernel in whole.kernels if whole.strict else ():
        if not whole.facts.vulkan:
            whole.module.execution_mode(kernel, "ContractionOff")
            continue
        # Without it a driver may take x + 0.0 for x, and assume that there is no NaN.
        for bits in sorted(whole.types.float_bits):
            whole.module.execution_mode(kernel, "SignedZeroInfNanPreserve", bits)


def _kernel(whole: ModuleEmission, kernel: simt.Kernel) -> None:
    blocks = kernel.func.body.blocks
    if len(blocks) != 1:
        raise NoForm(f"expected a body of one block, got {len(blocks)}")
    interface = interface_of(kernel, whole.source, whole.facts)
    kernel = settled(kernel, whole.source, whole.facts.device)
    vulkan, module = whole.facts.vulkan, whole.module
    e = (begin_vulkan if vulkan else begin_opencl)(whole, kernel, interface)
    e.block(kernel.func.body.block)
    e.do("OpReturn")
    e.finish()
    variables, id = whole.globals_of(e.function), e.function.id
    module.entry_point("GLCompute" if vulkan else "Kernel", id, kernel.name, variables)
    module.execution_mode(id, "LocalSize", *kernel.work_group_size)
    if not vulkan and kernel.subgroup_size is not None:
        module.execution_mode(id, "SubgroupSize", kernel.subgroup_size)
    whole.kernels.append(id)
