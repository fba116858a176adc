"""`func`: calls of functions of the module.

Under OpenCL a function is emitted once and called.  Under Vulkan it is emitted where it
is called, since a pointer to a part of a buffer is no argument there; so is under
OpenCL a function that gives a memref back.  SPIR-V has no recursion.  One with
`no_inline` stays a function in what is compiled next.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import is_memref
from coopc.emit.memrefs import Form, space_of
from coopc.emit.spirv.address import base_pointer, strides
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers, emit
from coopc.emit.spirv.view import Num, View, filled
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id
from coopc.spirv.module import Function

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
        raise Refusal(f"expected no recursion, which SPIR-V has not, got @{name}")
    gives_memref = any(is_memref(type) for type in op.result_types)
    if e.facts.vulkan or gives_memref:
        _inline(e, op, callee)
    else:
        _call(e, op, callee)


def _inline(e: Emission, op: func.CallOp, callee: func.FuncOp) -> None:
    """Emit the body of a function with the arguments of a call."""
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
    """What a function with results of these types returns."""
    if not types:
        return e.module.type("OpTypeVoid")
    return types[0] if len(types) == 1 else e.module.type("OpTypeStruct", *types)


def _memref_arguments(e: Emission, view: View, type: MemRefType) -> list[Id]:
    """The pointer of a memref, then what its type leaves to run time."""
    if view.storage != STORAGE[space_of(type)]:
        raise Refusal(
            f"expected the memory space in the type of an allocation that is passed "
            f"on, got {type}"
        )
    form, known = Form.of(type), strides(e, view)
    numbers: list[Num] = []
    if form.offset is None:
        numbers.append(view.offset)
    for fixed, found in ((form.sizes, view.sizes), (form.strides or (), known)):
        pairs = zip(fixed, found, strict=bool(fixed))
        numbers += [number for n, number in pairs if n is None]
    return [base_pointer(e, view), *map(e.index.id, numbers)]


def _function(e: Emission, callee: func.FuncOp) -> Function:
    """The SPIR-V function of a function, emitted when it is first called."""
    name = callee.sym_name.data
    if (found := e.whole.emitted.get(name)) is not None:
        return found
    parameters: list[Id] = []
    for type in callee.function_type.inputs:
        parameters += _parameter_types(e, type)
    outputs = callee.function_type.outputs.data
    result = _result_type(e, [id for type in outputs for id in e.types.parts(type)])
    type = e.module.type("OpTypeFunction", result, *parameters)
    control = "DontInline" if NO_INLINE in callee.attributes else "None"
    function = e.module.function(result, type, control, name)
    inner = Emission(e.whole, function, emit, subgroup_size=e.subgroup_size)
    _set_parameters(inner, callee)
    e.whole.calling.append(name)
    last = inner.walker.block(callee.body.block)
    e.whole.calling.pop()
    _return(inner, last.operands, result)
    inner.finish()
    e.whole.emitted[name] = function
    return function


def _parameter_types(e: Emission, type: Attribute) -> list[Id]:
    """The types of the parameters that an argument becomes."""
    if not is_memref(type):
        return list(e.types.parts(type))
    element = e.types.in_memory(type.element_type)
    pointer = e.types.pointer(STORAGE[space_of(type)], element)
    return [pointer, *[e.types.index] * Form.of(type).dynamic]


def _set_parameters(e: Emission, callee: func.FuncOp) -> None:
    """Set the arguments of a function to its parameters."""
    given = iter(e.function.parameters)

    def following(_: int = 0) -> Id:
        return next(given)

    for arg in callee.body.block.args:
        if is_memref(arg.type):
            storage = STORAGE[space_of(arg.type)]
            at = View(next(given), storage, arg.type.element_type, 0, (), None)
            form = Form.of(arg.type)
            e.set(arg, filled(form, at, following, following, following))
        else:
            e.set(arg, tuple(next(given) for _ in e.types.parts(arg.type)))


def _return(e: Emission, values: Sequence[SSAValue], result: Id) -> None:
    """End a function with its results."""
    parts = [id for value in values for id in e.parts(value)]
    if not parts:
        e.do("OpReturn")
    elif len(parts) == 1:
        e.do("OpReturnValue", parts[0])
    else:
        e.do("OpReturnValue", e.emit("OpCompositeConstruct", *parts, type=result))
