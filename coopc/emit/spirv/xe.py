"""What the emission of `xe` shares: the subgroup, imported functions, registers.

Intel's compiler takes what SPIR-V has no instruction for as calls of functions by name
(`coopc.emit.intel_names`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from coopc.device import BlockKind
from coopc.emit.block_rules import check_message, fixed_lanes
from coopc.emit.spirv.address import pointer
from coopc.emit.spirv.emission import Emission
from coopc.emit.structured import Refusal
from coopc.plan.block_shape import BlockShape
from coopc.spirv.instruction import Id


def lanes_of(e: Emission) -> int:
    """The subgroup size, which `xe` needs to be fixed.

    Raises:
        Refusal: the kernel leaves it open, or the flavour has no such operations.
    """
    if e.facts.vulkan:
        raise Refusal("expected the flavour opencl, which Intel's extensions are for")
    return fixed_lanes(e.subgroup_size)


def check_shape(e: Emission, kind: BlockKind, shape: BlockShape) -> int:
    """Check that the device has such a message; return the subgroup size.

    Raises:
        Refusal: it has not.
    """
    lanes = lanes_of(e)
    check_message(kind, shape, e.facts.device, lanes)
    return lanes


def imported(e: Emission, name: str, result: Id, parameters: Sequence[Id]) -> Id:
    """A function of Intel's compiler, declared once in a module."""
    for function in e.module.functions:
        if function.id.name == name:
            return function.id
    type = e.module.type("OpTypeFunction", result, *parameters)
    function = e.module.function(result, type, name=name)
    e.module.decorate(function.id, "LinkageAttributes", name, "Import")
    return function.id


def call(e: Emission, name: str, result: Id, arguments: Sequence[Id]) -> Id:
    """Call a function of Intel's compiler."""
    types = [argument.type for argument in arguments]
    return e.emit(
        "OpFunctionCall", imported(e, name, result, types), *arguments, type=result
    )


def number(e: Emission, value: int) -> Id:
    """A constant of 32 bits."""
    return e.module.constant(e.types.u32, value % (1 << 32))


def base_pointer(e: Emission, base: SSAValue) -> Id:
    """A pointer to where a surface begins.

    Raises:
        Refusal: it is not in global memory, which blocks are moved from and to.
    """
    view = e.view(base)
    if view.storage != "CrossWorkgroup":
        raise Refusal(
            "expected a surface in global memory, which block messages reach, got "
            f"{base.type}"
        )
    return pointer(e, view, view.offset)
