"""A whole module: its kernels as entry points, its functions and their calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix, simt
from coopc.dialects.narrow import is_memref
from coopc.emit.interface import interface_of, name_of, settled, spec_constant_ids
from coopc.emit.spirv.emission import Emission, Handlers, ModuleEmission
from coopc.emit.spirv.flow import PHYSICAL, Later, Num, View, is_wide
from coopc.emit.view import Form, space_of
from coopc.emit.walker import Facts, Refusal
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
        raise Refusal(f"expected a function @{name} with a body in the module")
    if len(callee.body.blocks) != 1:
        raise Refusal(f"expected @{name} to have one block")
    if name in e.whole.calling:
        raise Refusal(f"recursion is not supported by SPIR-V: @{name} calls itself")
    gives_memref = any(is_memref(type) for type in op.result_types)
    if e.facts.vulkan or gives_memref:
        _inline(e, op, callee)
    else:
        _call(e, op, callee)


def _inline(e: Emission, op: func.CallOp, callee: func.FuncOp) -> None:
    for arg, given in zip(callee.body.block.args, op.arguments, strict=True):
        e.walker.values[arg] = e.value(given)
    e.whole.calling.append(callee.sym_name.data)
    last = e.walker.block(callee.body.block)
    e.whole.calling.pop()
    e.walker.results(op, e.walker.given(last.operands))


def _call(e: Emission, op: func.CallOp, callee: func.FuncOp) -> None:
    """OpFunctionCall; several results are a struct."""
    function = _function(e, callee)
    arguments: list[Id] = []
    for value in op.arguments:
        if is_memref(value.type):
            arguments += _memref_arguments(e, e.view(value), value.type)
        else:
            arguments += e.parts(value)
    types = [id for result in op.results for id in e.types.parts(result.type)]
    result = _result_type(e, types)
    if not types:
        e.emit("OpFunctionCall", function.id, *arguments, type=result)
        return
    all_parts = e.emit("OpFunctionCall", function.id, *arguments, type=result)
    parts = [all_parts]
    if len(types) > 1:
        parts = [
            e.emit("OpCompositeExtract", all_parts, at, type=type)
            for at, type in enumerate(types)
        ]
    for value in op.results:
        count = len(e.types.parts(value.type))
        e.set(value, tuple(parts[:count]))
        del parts[:count]


def _result_type(e: Emission, types: list[Id]) -> Id:
    if not types:
        return e.module.type("OpTypeVoid")
    return types[0] if len(types) == 1 else e.module.type("OpTypeStruct", *types)


def _memref_arguments(e: Emission, view: View, type: MemRefType) -> list[Id]:
    if view.storage != STORAGE[space_of(type)]:
        raise Refusal(
            f"expected the memory space in the type of an allocation that is passed "
            f"on, got {type}"
        )
    numbers = e.index.open_numbers(view, Form.of(type))
    return [e.pointer(view, 0), *map(e.index.value, numbers)]


def _function(e: Emission, callee: func.FuncOp) -> Function:
    """The SPIR-V function of a function, emitted when it is first called."""
    name = callee.sym_name.data
    if (found := e.whole.emitted.get(name)) is not None:
        return found
    parameters: list[Id] = []
    for type in callee.function_type.inputs:
        parameters += _callee_parameter_types(e, type)
    outputs = callee.function_type.outputs.data
    result = _result_type(e, [id for type in outputs for id in e.types.parts(type)])
    type = e.module.type("OpTypeFunction", result, *parameters)
    control = "DontInline" if NO_INLINE in callee.attributes else "None"
    function = e.module.function(result, type, control, name)
    inner = Emission(e.whole, function, subgroup_size=e.subgroup_size)
    _set_parameters(inner, callee)
    e.whole.calling.append(name)
    last = inner.walker.block(callee.body.block)
    e.whole.calling.pop()
    _return(inner, last.operands, result)
    inner.finish()
    e.whole.emitted[name] = function
    return function


def _callee_parameter_types(e: Emission, type: Attribute) -> list[Id]:
    if not is_memref(type):
        return list(e.types.parts(type))
    element = e.types.in_memory(type.element_type)
    pointer = e.types.pointer(STORAGE[space_of(type)], element)
    return [pointer, *[e.types.index] * len(Form.of(type).open)]


def _set_parameters(e: Emission, callee: func.FuncOp) -> None:
    given = iter(e.function.parameters)
    for arg in callee.body.block.args:
        if is_memref(arg.type):
            form, at = Form.of(arg.type), View(next(given), arg.type.element_type)
            e.set(arg, form.opened(at, islice(given, len(form.open))))
        else:
            e.set(arg, tuple(next(given) for _ in e.types.parts(arg.type)))


def _return(e: Emission, values: Sequence[SSAValue], result: Id) -> None:
    parts = [id for value in values for id in e.parts(value)]
    if not parts:
        e.do("OpReturn")
    elif len(parts) == 1:
        e.do("OpReturnValue", parts[0])
    else:
        e.do("OpReturnValue", e.emit("OpCompositeConstruct", *parts, type=result))


# Kernels as entry points: how they get their arguments, and what they declare.
#
# Vulkan: the n-th memref is the storage buffer at binding n of set 0, or its address
# a push constant (`Facts.addresses`); scalars, and what the types of memrefs leave to
# run time, are members of one block of push constants, and are loaded at the entry
# where something uses them.  OpenCL: they are parameters.

Numbers = dict[tuple[What, int, int], Num]
"""What is passed beside the buffers, by what it is, argument and dimension."""


def begin_vulkan(
    whole: ModuleEmission, kernel: simt.Kernel, interface: Interface
) -> Emission:
    e = _begin(whole, kernel, [])
    numbers = _push_constants(e, interface)
    for position, arg in enumerate(kernel.func.body.block.args):
        if not is_memref(arg.type):
            number = numbers[What.VALUE, position, 0]
            if arg.first_use is not None:
                _set_scalar(e, arg, e.index.value(number))
            continue
        if whole.facts.addresses:
            address = e.index.value(numbers[What.ADDRESS, position, 0])
            pointer = _physical(e, arg.type.element_type, address)
            view = _view(arg.type, position, pointer, numbers)
            e.set(arg, view)
            continue
        binding = interface.binding(position)
        variable = whole.buffer(arg.type.element_type, name_of(arg, position), binding)
        e.set(arg, _view(arg.type, position, variable, numbers))
    return e


def _physical(e: Emission, element: Attribute, address: Id) -> Id:
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
            e.set(arg, _view(arg.type, position, pointer, numbers))
        else:
            _set_scalar(e, arg, e.index.value(numbers[What.VALUE, position, 0]))
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


def _view(type: MemRefType, position: int, base: Id, numbers: Numbers) -> View:
    form = Form.of(type)
    at = View(base, type.element_type)
    found = [numbers[What(what), position, d] for what, d in form.open]
    return form.opened(replace(at, wide=is_wide(form, at.storage)), found)


def _set_scalar(e: Emission, arg: BlockArgument, id: Id) -> None:
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
    module, function = e.module, e.function
    variables = e.whole.globals_of(function)
    model = "GLCompute" if e.facts.vulkan else "Kernel"
    module.entry_point(model, function.id, kernel.name, variables)
    module.execution_mode(function.id, "LocalSize", *kernel.work_group_size)
    if not e.facts.vulkan and kernel.subgroup_size is not None:
        module.execution_mode(function.id, "SubgroupSize", kernel.subgroup_size)


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
        if not isinstance(op, func.FuncOp | coopmatrix.SpecConstantOp):
            _refuse(op, "expected functions and specialisation constants at the top")
    for op, number in spec_constant_ids(source):
        name = op.sym_name.data
        whole.spec_constants[name] = whole.module.spec_constant(
            whole.types.u32, op.value.value.data, number, name
        )
    for kernel in kernels_of(source):
        try:
            _kernel(whole, kernel)
        except Refusal as refusal:
            _refuse(kernel.func, str(refusal))
    # Last: what has no form at all is refused in words of its own.
    check_bounds(source)
    check_uniformity(source)
    _finish(whole)
    return whole.module


def interfaces_of(source: ModuleOp, facts: Facts) -> list[Interface]:
    """How the kernels of a module are called.

    Raises:
        PassFailedException: as of `emit_module`.
    """
    found: list[Interface] = []
    for kernel in kernels_of(source):
        try:
            found.append(interface_of(kernel, source, facts))
        except Refusal as refusal:
            _refuse(kernel.func, str(refusal))
    return found


def kernels_of(source: ModuleOp) -> list[simt.Kernel]:
    kernels = list(simt.kernels(source))
    if not kernels:
        _refuse(source, f"expected a function with {simt.KERNEL}, an entry point")
    return kernels


def _refuse(op: Operation, reason: str) -> None:
    op.emit_error(reason, PassFailedException(reason))


def _kernel(whole: ModuleEmission, kernel: simt.Kernel) -> None:
    blocks = kernel.func.body.blocks
    if len(blocks) != 1:
        raise Refusal(f"expected a body of one block, got {len(blocks)}")
    interface = interface_of(kernel, whole.source, whole.facts)
    kernel = settled(kernel, whole.source, whole.facts.device)
    begin = begin_vulkan if whole.facts.vulkan else begin_opencl
    e = begin(whole, kernel, interface)
    e.walker.block(kernel.func.body.block)
    e.do("OpReturn")
    e.finish()
    declare(e, kernel)
    whole.kernels.append(e.function.id)


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
