"""Simulation of `memref`: views into memory, and single elements of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.interpreter import Interpreter, PythonValues, impl, register_impls
from xdsl.ir import Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.simt import MemorySpace
from coopc.sim.atomic import ACQUIRING, combination, update
from coopc.sim.coopmatrix_pointees import in_elements
from coopc.sim.errors import SimulationError
from coopc.sim.interpreter import SimulatorFunctions
from coopc.sim.memory import (
    MemRef,
    check_aligned,
    memref_type,
    type_sizes,
    type_strides,
    whole,
)
from coopc.sim.values import (
    AXES,
    GROUP_AXIS,
    LANE_AXIS,
    SUBGROUP_AXIS,
    Array,
    element_of,
    number,
    scalar_of,
    shape_of,
    trailing,
)

_ATOMICS: tuple[tuple[str, bool], ...] = (
    ("add", True),
    ("add", True),
    ("assign", True),
    ("maximum", True),
    ("max", True),
    ("max", False),
    ("minimum", True),
    ("min", True),
    ("min", False),
    ("mul", True),
    ("mul", True),
    ("or", True),
    ("and", True),
    ("maxnum", True),
    ("minnum", True),
    ("xor", True),
)
"""By the numbers of MLIR's AtomicRMWKind: what is done, and whether it is signed."""

_WORK_ITEM = (GROUP_AXIS, SUBGROUP_AXIS, LANE_AXIS)


@register_impls
class MemrefFunctions(SimulatorFunctions):
    """Memory is a work-group's where its type says so, else a work-item's own."""

    def _allocated(self, value: SSAValue, dynamic: Sequence[Array]) -> MemRef:
        """Return new memory of the type of a value."""
        type = memref_type(value.type)
        sizes = type_sizes(type, dynamic)
        pairs = zip(sizes, type_strides(type, sizes), strict=True)
        last = sum(max(0, size.max() - 1) * stride.max() for size, stride in pairs)
        space = type.memory_space
        shared = isinstance(space, simt.MemoryAttr) and (
            space.data == MemorySpace.WORKGROUP
        )
        axes = (GROUP_AXIS,) if shared else _WORK_ITEM
        name = f"%{value.name_hint}" if value.name_hint else str(type)
        components = prod(shape_of(type.get_element_type()))
        buffer = self.machine.allocate(axes, (int(last) + 1) * components, type, name)
        return whole(buffer, type, sizes)

    @impl(memref.AllocaOp)
    def alloca(
        self, interpreter: Interpreter, op: memref.AllocaOp, args: PythonValues
    ) -> PythonValues:
        """Give new memory."""
        return (self._allocated(op.memref, args[: len(op.dynamic_sizes)]),)

    @impl(memref.AllocOp)
    def alloc(
        self, interpreter: Interpreter, op: memref.AllocOp, args: PythonValues
    ) -> PythonValues:
        """Give new memory."""
        return (self._allocated(op.memref, args[: len(op.dynamic_sizes)]),)

    @impl(memref.DeallocOp)
    def dealloc(
        self, interpreter: Interpreter, op: memref.DeallocOp, args: PythonValues
    ) -> PythonValues:
        """Keep the memory: accesses to it later are not noticed."""
        return ()

    @impl(memref.AssumeAlignmentOp)
    def assume_alignment(
        self, interpreter: Interpreter, op: memref.AssumeAlignmentOp, args: PythonValues
    ) -> PythonValues:
        """Give the memory as it is, if its first element is aligned."""
        (memory,) = args
        mask, bytes = self.machine.mask, op.alignment.value.data
        if all((size > 0).all() for size in memory.sizes):
            first = [np.zeros_like(memory.offset)] * len(memory.sizes)
            check_aligned(memory, first, mask, bytes)
        return args

    @impl(memref.CastOp)
    def cast(
        self, interpreter: Interpreter, op: memref.CastOp, args: PythonValues
    ) -> PythonValues:
        """Give the memory as it is: its sizes and strides are known anyway."""
        return args

    @impl(memref.MemorySpaceCastOp)
    def memory_space_cast(
        self, interpreter: Interpreter, op: memref.MemorySpaceCastOp, args: PythonValues
    ) -> PythonValues:
        """Give the memory as it is."""
        return args

    @impl(memref.GlobalOp)
    def define_global(
        self, interpreter: Interpreter, op: memref.GlobalOp, args: PythonValues
    ) -> PythonValues:
        """A definition does nothing by itself."""
        return ()

    @impl(memref.GetGlobalOp)
    def get_global(
        self, interpreter: Interpreter, op: memref.GetGlobalOp, args: PythonValues
    ) -> PythonValues:
        """Give the memory of a global, made and filled the first time."""
        name = op.name_.root_reference.data
        machine = self.machine
        if (found := machine.globals.get(name)) is None:
            found = machine.globals[name] = self._global(interpreter, op.name_)
        return (found,)

    def _global(self, interpreter: Interpreter, symbol: SymbolRefAttr) -> MemRef:
        """Return the memory of a global with its first contents.

        Raises:
            SimulationError: there is no such global.
        """
        definition = interpreter.get_op_for_symbol(symbol)
        if not isinstance(definition, memref.GlobalOp):
            raise SimulationError(f"no memref.global is called {symbol}")
        type = definition.type
        assert isinstance(type, MemRefType)
        element = element_of(type)
        elements = prod(type.get_shape())
        name = f"@{symbol.root_reference.data}"
        buffer = self.machine.allocate((), elements, type, name)
        value = definition.initial_value
        if isinstance(value, DenseIntOrFPElementsAttr):
            values = list(value.get_values())
            filled = values * elements if len(values) == 1 else values
            numbers = self.machine.numerics.constant(filled, element)
            buffer.flat[...] = self.machine.numerics.to_memory(numbers, element)
            if buffer.shadow is not None:
                buffer.shadow.written = None
        return whole(buffer, type, type_sizes(type, ()))

    @impl(memref.LoadOp)
    def load(
        self, interpreter: Interpreter, op: memref.LoadOp, args: PythonValues
    ) -> PythonValues:
        """Read an element."""
        memory, *indices = args
        memory, indices, active = self._whole(memory, indices)
        is_atomic = simt.ORDERING in op.attributes
        found = self.machine.load(memory, indices, active, is_atomic=is_atomic)
        self._acquire(op, memory)
        return (found,)

    @impl(memref.StoreOp)
    def store(
        self, interpreter: Interpreter, op: memref.StoreOp, args: PythonValues
    ) -> PythonValues:
        """Write an element."""
        value, memory, *indices = args
        memory, indices, active = self._whole(memory, indices)
        is_atomic = simt.ORDERING in op.attributes
        self.machine.store(memory, indices, value, active, is_atomic=is_atomic)
        return ()

    def _whole(
        self, memory: MemRef, indices: Sequence[Array]
    ) -> tuple[MemRef, list[Array], Array | None]:
        """Return where an element is and who is active; of a vector, all components."""
        mask = self.machine.mask
        shape = shape_of(memory.element_type)
        if not shape:
            return memory, [*indices], mask
        steps = np.arange(prod(shape), dtype=np.int64)
        component = steps.reshape((1,) * AXES + (-1,))
        return (
            in_elements(memory, scalar_of(memory.element_type)),
            [*(trailing(index, 1) for index in indices), component],
            None if mask is None else trailing(mask, 1),
        )

    @impl(memref.AtomicRMWOp)
    def atomic_rmw(
        self, interpreter: Interpreter, op: memref.AtomicRMWOp, args: PythonValues
    ) -> PythonValues:
        """Update an element, once for each work-item."""
        value, memory, *indices = args
        kind = op.kind.value.data
        if not 0 <= kind < len(_ATOMICS):
            raise SimulationError(f"expected a kind of atomic update, got {kind}")
        combine = combination(self.machine.numerics, *_ATOMICS[kind], op.result.type)
        mask, shape = self.machine.mask, self.machine.shape
        old = update(self.machine, memory, indices, value, mask, combine, shape)
        self._acquire(op, memory)
        return (old,)

    def _acquire(self, op: Operation, memory: MemRef) -> None:
        """Note an ordering that waits for others."""
        ordering = op.attributes.get(simt.ORDERING)
        if isinstance(ordering, StringAttr) and ordering.data in ACQUIRING:
            self.machine.acquire(memory.buffer)

    @impl(memref.DimOp)
    def dim(
        self, interpreter: Interpreter, op: memref.DimOp, args: PythonValues
    ) -> PythonValues:
        """Give a size."""
        memory, index = args
        assert isinstance(memory, MemRef)
        dimension = int(index.flat[0])
        if not 0 <= dimension < len(memory.sizes):
            raise SimulationError(
                f"expected a dimension below {len(memory.sizes)}, got {dimension}"
            )
        return (memory.sizes[dimension],)

    @impl(memref.RankOp)
    def rank(
        self, interpreter: Interpreter, op: memref.RankOp, args: PythonValues
    ) -> PythonValues:
        """Give the number of dimensions."""
        return (number(len(args[0].sizes)),)

    @impl(memref.CopyOp)
    def copy(
        self, interpreter: Interpreter, op: memref.CopyOp, args: PythonValues
    ) -> PythonValues:
        """Copy all elements."""
        source, destination = args
        for sizes in zip(source.sizes, destination.sizes, strict=True):
            if not (sizes[0] == sizes[1]).all():
                raise SimulationError(f"cannot copy {source} to {destination}")
        shape = [int(size.max()) for size in source.sizes]
        axes = len(shape)
        grid = np.indices(shape, dtype=np.int64)
        coordinates = [x.reshape((1,) * AXES + x.shape) for x in grid]
        mask = self.machine.mask
        active = None if mask is None else mask.reshape(mask.shape + (1,) * axes)
        values = self.machine.load(source, coordinates, active)
        self.machine.store(destination, coordinates, values, active)
        return ()
