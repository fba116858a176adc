"""The interface of a kernel, from its type and its attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    IndexType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.traits import SymbolTable

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.narrow import as_bytes, is_memref, is_vector
from coopc.emit.view import allocated, memref_type
from coopc.emit.walker import Facts, NoForm, element_of, refuse
from coopc.interface import (
    SCALAR_BYTES,
    Argument,
    Buffer,
    Condition,
    Expression,
    Interface,
    Scalar,
    SpecConstant,
    fields_of,
)
from coopc.ir.control_flow import callee, functions, reached
from coopc.remarks import remark

_OF_SUBGROUPS = (
    simt.BlockReadOp,
    simt.BlockWriteOp,
    simt.BroadcastOp,
    simt.LaneIdOp,
    simt.NumSubgroupsOp,
    simt.ReduceOp,
    simt.ShuffleOp,
    simt.SubgroupIdOp,
    simt.SubgroupSizeOp,
)
"""Operations of `simt` that ask what a subgroup is."""


IN_MEMORY = (
    "a matrix cannot be stored in memory as a whole: SPV_KHR_cooperative_matrix allows "
    "matrices only in the storage classes Function and Private"
)


def kernels_of(module: ModuleOp) -> list[simt.Kernel]:
    """The kernels of a module.

    Raises:
        PassFailedException: there is none.
    """
    kernels = list(simt.kernels(module))
    if not kernels:
        refuse(module, f"expected a function with {simt.KERNEL}, an entry point")
    return kernels


def remark_left_out(module: ModuleOp, kernels: Sequence[simt.Kernel]) -> None:
    """Say which functions are not emitted: no kernel calls them."""
    known = functions(module)
    if len(known) == len(kernels):
        return
    used = {each for kernel in kernels for each in reached(kernel.func, known)}
    for func in known.values():
        visibility = func.sym_visibility
        is_private = visibility is not None and visibility.data == "private"
        if func not in used and not func.is_declaration and not is_private:
            remark(func, "not emitted: it is not a kernel, and no kernel calls it")


def settled(kernel: simt.Kernel, module: ModuleOp, device: Device) -> simt.Kernel:
    """A kernel with the sizes that the device gives it where it leaves them open.

    A kernel with matrices, or with operations of subgroups, has the device's subgroup
    size, and without a work-group size one subgroup.

    Raises:
        NoForm: the device has no such subgroup, or a smaller work-group.
    """
    if kernel.subgroup_size is None and uses_subgroups(kernel.func, module):
        size, items = device.subgroup_size, kernel.work_group_size
        if simt.WORK_GROUP_SIZE not in kernel.func.attributes:
            items = (size, 1, 1)
        kernel = replace(kernel, subgroup_size=size, work_group_size=items)
    size, limits = kernel.subgroup_size, device.limits
    if size is not None and size not in device.subgroup_sizes:
        has = " or ".join(map(str, device.subgroup_sizes))
        raise NoForm(
            f"expected a subgroup size of {has}, which {device.name} has, got {size}"
        )
    if size is not None and kernel.work_items % size:
        raise NoForm(
            f"expected a work-group size that is a multiple of the subgroup size "
            f"{size}, so that all subgroups are full, got {kernel.work_items}"
        )
    for found, most in zip(kernel.work_group_size, limits.work_group_size, strict=True):
        if found > most or kernel.work_items > limits.work_items:
            raise NoForm(
                f"expected a work-group of at most {limits.work_items} work-items, "
                f"{limits.work_group_size} along x, y, z, on {device.name}, "
                f"got {kernel.work_group_size}"
            )
    return kernel


def uses_subgroups(kernel: FuncOp, module: ModuleOp) -> bool:
    """Whether anything in a kernel, or what it calls, depends on subgroups."""
    return any(
        isinstance(op, _OF_SUBGROUPS) or op.dialect_name() == "coopmatrix"
        for func in reached(kernel, functions(module))
        for op in func.walk()
    )


def interface_of(kernel: simt.Kernel, module: ModuleOp, facts: Facts) -> Interface:
    """How a kernel of a module is called.

    Raises:
        NoForm: an argument has no form there, or the device is too small.
    """
    kernel = settled(kernel, module, facts.device)
    # Not the types of the block: the simulator's form of Triton's kernels has others.
    inputs = kernel.func.function_type.inputs.data
    arguments = tuple(
        argument_of(name_of(arg, position), type)
        for position, (arg, type) in enumerate(
            zip(kernel.func.args, inputs, strict=True)
        )
    )
    memory = _work_group_memory(kernel.func, module, facts)
    grid = kernel.grid
    found = Interface(
        kernel.name,
        facts.flavour,
        arguments,
        fields_of(arguments, facts.flavour, facts.addresses),
        kernel.work_group_size,
        kernel.subgroup_size,
        None if grid is None else tuple(map(expression_of, grid.results)),
        memory,
        conditions=(*conditions_of(kernel), *stride_conditions(kernel.func)),
        spec_constants=tuple(
            _spec_constant(op, number) for op, number in spec_constant_ids(module)
        ),
    )
    if reason := _why_too_large(found, facts):
        raise NoForm(reason)
    return found


def _why_too_large(interface: Interface, facts: Facts) -> str | None:
    """Why a device has no room for what a kernel is given and allocates, or None."""
    limits, name = facts.device.limits, facts.device.name
    if (memory := interface.work_group_memory_bytes) > limits.local_bytes:
        return (
            f"expected at most {limits.local_bytes} bytes of work-group memory, which "
            f"{name} has, got {memory}"
        )
    counts = zip("xyz", interface.grid or (), limits.work_groups or (), strict=False)
    for axis, found, most in counts:
        if isinstance(found, int) and found > most:
            return (
                f"expected at most {most} work-groups along {axis}, which {name} "
                f"starts, got {found}"
            )
    buffers = interface.buffers
    what, size = "push constants", interface.push_constant_bytes
    if not facts.vulkan:
        what, size = "arguments", 8 * len(buffers)
        size += sum(SCALAR_BYTES[field.type] for field in interface.fields)
    if size > limits.argument_bytes:
        return (
            f"expected at most {limits.argument_bytes} bytes of {what}, which {name} "
            f"takes, got {size}, for scalars and for what the types of memrefs leave "
            "open: offsets, sizes, strides"
        )
    if facts.addresses or limits.binding_bytes is None:
        return None
    if limits.buffers is not None and len(buffers) > limits.buffers:
        return (
            f"expected at most {limits.buffers} buffers, which {name} binds, got "
            f"{len(buffers)}: with addresses=true a kernel gets their addresses"
        )
    for each in buffers:
        if (size := least_bytes(each)) > limits.binding_bytes:
            return (
                f"expected a buffer of at most {limits.binding_bytes} bytes, which "
                f"{name} binds, got {size} of {each.name}: with addresses=true a "
                "kernel gets its address"
            )
    return None


def least_bytes(buffer: Buffer) -> int:
    """The size of a buffer, in bytes, as far as its type fixes it."""
    shape = tuple(1 if size is None else size for size in buffer.shape)
    if buffer.strides is None:
        elements = prod(shape)
    else:
        pairs = zip(shape, buffer.strides, strict=True)
        steps = ((size - 1) * (stride or 0) for size, stride in pairs)
        elements = (buffer.offset or 0) + sum(steps) + 1
    return elements * SCALAR_BYTES[buffer.element]


def conditions_of(kernel: simt.Kernel) -> tuple[Condition, ...]:
    """What must hold of the arguments of a kernel, equal sizes too."""
    equal = (
        Condition(
            "size",
            each.argument,
            each.dimension,
            like_argument=each.like_argument,
            like_dimension=each.like_dimension,
        )
        for each in kernel.equal_sizes
    )
    return (*kernel.conditions, *equal)


def stride_conditions(func: FuncOp) -> tuple[Condition, ...]:
    """What SPIR-V asks of the strides of memrefs that matrices are loaded from.

    Of those among the arguments; others are computed in the kernel.
    """
    # The last two strides of arguments, where types leave them to run time.
    left: dict[SSAValue, list[tuple[int, int]]] = {}
    for arg in func.args:
        layout = arg.type.layout if is_memref(arg.type) else None
        if isinstance(layout, StridedLayoutAttr):
            last = list(enumerate(layout.get_strides()))[-2:]
            left[arg] = [(arg.index, at) for at, stride in last if stride is None]
    least: dict[tuple[int, int], int] = {}
    for op in func.walk():
        if isinstance(op, coopmatrix.PlainAccessOp):
            value = int(isinstance(op, coopmatrix.StoreOp))
            for key in left.get(op.memory, ()):
                least[key] = max(value, least.get(key, 0))
    why = "matrices are loaded", "matrices that are stored would overlap"
    return tuple(
        Condition("stride", argument, dimension, at_least=value, why=why[value])
        for (argument, dimension), value in least.items()
    )


def _spec_constant(op: coopmatrix.SpecConstantOp, id: int) -> SpecConstant:
    equal_to = tuple(
        x.root_reference.data if isinstance(x, SymbolRefAttr) else x.value.data
        for x in op.equal_to or ()
    )
    multiple_of = 1 if op.multiple_of is None else op.multiple_of.value.data
    return SpecConstant(
        op.sym_name.data, id, op.value.value.data, equal_to, multiple_of
    )


def spec_constant_ids(module: ModuleOp) -> list[tuple[coopmatrix.SpecConstantOp, int]]:
    """Specialization constants, in order, and their SpecIds.

    Those without an id get the least ones that are free.
    """
    ops = [op for op in module.ops if isinstance(op, coopmatrix.SpecConstantOp)]
    taken = {op.id.value.data for op in ops if op.id is not None}
    free = (number for number in range(len(ops) + len(taken)) if number not in taken)
    return [(op, next(free) if op.id is None else op.id.value.data) for op in ops]


def name_of(arg: BlockArgument, position: int) -> str:
    """The name of an argument: its own, or its position."""
    return arg.name_hint or f"arg{position}"


def argument_of(name: str, type: Attribute) -> Argument:
    if isinstance(type, IndexType):
        return Scalar(name, "index")
    try:
        type = as_bytes(type)
    except ValueError as error:
        raise NoForm(str(error)) from error
    if not is_memref(type):
        return Scalar(name, _scalar(type, type))
    layout = type.layout
    if not isinstance(layout, NoneAttr | StridedLayoutAttr):
        raise NoForm(f"expected {name} to have strides, got layout {layout}")
    if type.memory_space not in (
        NoneAttr(),
        simt.MemoryAttr(simt.MemorySpace.GLOBAL),
    ):
        raise NoForm(
            f"expected {name} to be in global memory, got {type.memory_space}: "
            f"other memory is allocated in the kernel"
        )
    shape = tuple(None if size < 0 else size for size in type.get_shape())
    pointee = type.element_type
    element = _scalar(element_of(pointee), type)
    if is_vector(pointee):  # an array with one dimension more, without gaps
        if not isinstance(layout, NoneAttr):
            raise NoForm(f"expected {name}, which holds vectors, to be without strides")
        if (width := pointee.element_count()) == 3:
            raise NoForm(
                f"expected {name} to hold vectors of 2, 4, 8 or 16, got {width}"
            )
        return Buffer(name, element, (*shape, width))
    if isinstance(layout, NoneAttr):
        return Buffer(name, element, shape)
    strides = tuple(layout.get_strides())
    return Buffer(name, element, shape, strides, layout.get_offset())


def _scalar(type: Attribute, argument: Attribute) -> str:
    """Return the name of a scalar type; `argument` is the type that errors name."""
    if isinstance(type, coopmatrix.MatrixType):
        raise NoForm(IN_MEMORY)
    if (name := str(type)) not in SCALAR_BYTES:
        raise NoForm(
            f"expected index, or numbers or memrefs of {', '.join(SCALAR_BYTES)}, got "
            f"{argument}"
        )
    return name


def expression_of(expression: AffineExpr) -> Expression:
    """Return an expression of sizes, as an interface has it."""
    match expression:
        case AffineConstantExpr(value=value):
            return value
        case AffineDimExpr(position=position):
            return ("size", position)
        case AffineBinaryOpExpr(kind=kind, lhs=left, rhs=right):
            return (kind.name.lower(), expression_of(left), expression_of(right))
        case other:
            raise NoForm(f"expected {simt.GRID} without symbols, got {other}")


def _work_group_memory(kernel: FuncOp, module: ModuleOp, facts: Facts) -> int:
    """Size of the work-group memory of a kernel and what it calls, in bytes.

    Under Vulkan a function has memory of its own wherever it is called.
    """
    known, seen = functions(module), dict[FuncOp, int]()

    def of(func: FuncOp) -> int:
        if func in seen:
            return seen[func] if facts.vulkan else 0
        seen[func] = total = 0  # recursion is refused where it is emitted
        for op in func.walk():
            if isinstance(op, memref.AllocaOp):
                total += _allocated_bytes(op, facts)
            elif isinstance(op, CallOp) and (called := callee(op, known)) is not None:
                total += of(called)
        seen[func] = total
        return total

    return of(kernel)


def _allocated_bytes(op: memref.AllocaOp, facts: Facts) -> int:
    """Size of the work-group memory that an operation allocates, in bytes."""
    type = memref_type(op.memref)
    if type.memory_space != simt.MemoryAttr(simt.MemorySpace.WORKGROUP):
        return 0
    element, width = type.element_type, 1
    if is_vector(element):
        element, width = element.get_element_type(), element.element_count()
    width = 4 if width == 3 else width  # as C has vectors of three
    if isinstance(element, IndexType):
        bytes = 4 if facts.vulkan else 8
    else:
        bytes = SCALAR_BYTES.get(str(element), 0)
    named = [_default(size, op) for size in op.dynamic_sizes]
    return bytes * width * prod(allocated(type, named)[0])


def _default(size: SSAValue, allocation: Operation) -> int:
    """What a size is unless its specialization constant is set.

    Raises:
        PassFailedException: it is none.
    """
    op = size.owner
    if isinstance(op, coopmatrix.SpecValueOp):
        constant = SymbolTable.lookup_symbol(op, op.constant)
        assert isinstance(constant, coopmatrix.SpecConstantOp), op
        return constant.value.value.data
    refuse(
        allocation,
        "expected constant sizes, or such as coopmatrix.spec_value gives, got "
        f"%{size.name_hint or '?'}",
    )
