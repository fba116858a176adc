"""The option `device` of passes: a device by its name, or what the module says.

A device is what passes and emission see of it for a module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from coopc.device import ELEMENT_BITS, Device, MatrixShape
from coopc.device import device as device_named
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType, Scope, ScopeAttr, matrix_type
from coopc.ir.control_flow import functions, reached


def device_of(name: str | None, module: ModuleOp, who: str) -> Device:
    """Return the device of an option, or the one that the module is compiled for.

    Args:
        name: what the option says, if anything.
        module: whose `simt.target` counts without it.
        who: the name of the pass, for the message.

    Raises:
        PassFailedException: neither names one that there is.
    """
    if name is None:
        target = simt.target_of(module)
        if target is None:
            raise PassFailedException(
                f"{who}: expected a device, {who}{{device=..}}, or {simt.TARGET} on "
                "the module, got neither"
            )
        name = target.device.data
    try:
        return device_for(name, module)
    except ValueError as error:
        raise PassFailedException(f"{who}: {error}") from error


def target_device(module: ModuleOp) -> Device | None:
    """Return the device that a module is compiled for, if it says so."""
    target = simt.target_of(module)
    return None if target is None else device_named(target.device.data)


def device_for(name: str, module: ModuleOp) -> Device:
    """Return the device of a name, as a module sees it.

    A device whose shapes are unknown multiplies what the module multiplies; f32 is
    multiplied as tf32 where the module says so.  Work-groups multiply where those of
    all kernels with matrices of their scope are as large.

    Raises:
        ValueError: there is no such device.
    """
    found = device_named(name)
    if found.tf32_shapes and coopmatrix.precision_of(module) == "tf32":
        both = (*found.matrix_shapes, *found.tf32_shapes)
        found = replace(found, matrix_shapes=both)
    if found.workgroups:
        sizes = set(_sizes_with_matrices(module))
        groups = tuple(
            group if sizes <= {group.work_items} else replace(group, shapes=())
            for group in found.workgroups
        )
        found = replace(found, workgroups=groups)
    if "matrix_shapes" not in found.unknown:
        return found
    return replace(found, matrix_shapes=tuple(dict.fromkeys(_multiplied(module))))


def _sizes_with_matrices(module: ModuleOp) -> Iterator[int]:
    """Yield the work-items of work-groups that hold matrices together."""
    known, defaults = functions(module), coopmatrix.default_constants(module)

    def holds(type: Attribute) -> bool:
        if not isinstance(type, MatrixType):
            return False
        return type.specialised(defaults).scope == ScopeAttr(Scope.WORKGROUP)

    def types(func: FuncOp) -> Iterable[Attribute]:
        found = {id(x.type): x.type for op in func.walk() for x in op.results}
        return found.values()

    holding = {func for func in known.values() if any(map(holds, types(func)))}
    for kernel in simt.kernels(module) if holding else ():
        if not holding.isdisjoint(reached(kernel.func, known)):
            yield kernel.work_items


def _multiplied(module: ModuleOp) -> Iterator[MatrixShape]:
    """Yield the multiplications of a module; open sizes are those by default."""
    defaults = coopmatrix.default_constants(module)
    for op in module.walk():
        if not isinstance(op, coopmatrix.MulAddOp):
            continue
        sizes = (*matrix_type(op.a).sizes, matrix_type(op.b).sizes[1])
        m, k, n = (defaults.get(x, 0) if isinstance(x, str) else x for x in sizes)
        elements = element_names(op)
        if min(m, k, n) > 0 and ELEMENT_BITS.keys() >= set(elements):
            saturating = op.saturating is not None
            yield MatrixShape(m, n, k, *elements, saturating=saturating)


def element_name(type: Attribute, signed: bool | None = None) -> str:
    """Return the name of an element type in `coopc.device`.

    >>> from xdsl.dialects.builtin import f16, i8
    >>> element_name(f16), element_name(i8), element_name(i8, signed=True)
    ('f16', 'i8', 's8')
    """
    if not isinstance(type, IntegerType):
        return type.name
    sign = "i" if signed is None else "s" if signed else "u"
    return f"{sign}{type.bitwidth}"


def element_names(op: coopmatrix.MulAddOp) -> tuple[str, str, str, str]:
    """Return the element types of a, b, c and the result, with signs."""
    a, b, c, result = (
        element_name(type.element_type, op.is_signed(operand))
        for operand, type in op.matrices.items()
    )
    return a, b, c, result
