"""What the emission of `xe` shares: the subgroup, imported functions, registers.

Intel's compiler takes what SPIR-V has no instruction for as calls of functions by
name.  A name that it does not know stays a call, with no more than a warning, so names
are made of checked parts only.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import SSAValue
from xdsl.utils.hints import isa

from coopc.dialects import xe
from coopc.emit.spirv.address import pointer
from coopc.emit.spirv.emission import Emission
from coopc.emit.structured import Refusal
from coopc.plan.block_message import why_not_slots
from coopc.plan.block_shape import BlockShape
from coopc.spirv.statement import Id


def lanes_of(e: Emission) -> int:
    """The subgroup size, which `xe` needs to be fixed.

    Raises:
        Refusal: the kernel leaves it open, or the flavour has no such operations.
    """
    if e.facts.vulkan:
        raise Refusal("expected the flavour opencl, which Intel's extensions are for")
    if e.subgroup_size is None:
        raise Refusal(
            "expected simt.subgroup_size on the kernel: without it the compiler "
            "chooses a size, and the lanes hold other elements"
        )
    return e.subgroup_size


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


def piece_of(pieces: Sequence[SSAValue]) -> VectorType[IntegerType]:
    """The type of the pieces of a block: they are equal, the verifier has checked."""
    type = pieces[0].type
    assert isa(type, VectorType[IntegerType]), type
    return type


def check_slots(shape: BlockShape, pieces: Sequence[SSAValue], lanes: int) -> None:
    """Check that pieces have the slots in which a block arrives.

    Raises:
        Refusal: they are of another width, or for another number of lanes.
    """
    type = piece_of(pieces)
    bits = type.get_element_type().width.data
    if (reason := why_not_slots(shape, bits, lanes)) is not None:
        raise Refusal(reason)
    slots = len(pieces) * type.element_count()
    if (expected := shape.bytes * 8 // (lanes * bits)) != slots:
        raise Refusal(
            f"expected {expected} slots of {bits} bits, which each of {lanes} lanes "
            f"gets of {shape}, got {slots}"
        )


def check_precisions(
    e: Emission, precisions: Sequence[xe.Precision], has: Sequence[str]
) -> None:
    """Check that a device multiplies those.

    Raises:
        Refusal: it does not.
    """
    for precision in precisions:
        if precision not in has:
            raise Refusal(
                f"expected {', '.join(has)}, which {e.facts.device.name} multiplies, "
                f"got {precision}"
            )
