"""How the kernels of a program are run, whatever form a pass gave to its functions.

Inputs are made for a function as it was first seen, its origin.  What it became is run
on these inputs:

| form    | what a pass made of @f                                                  |
|---------|-------------------------------------------------------------------------|
| the same | @f takes what it took                                                  |
| loops   | @f takes five indices more, the work-groups of the grid and a range of them: `convert-simt-to-loops` |
| stages  | `cpu.kernels` names functions that run one after the other, and memory that they share |
| packed  | @f takes B packed, as @f.pack_b writes it: `pack-coopmatrix-b`          |
| calls   | @f is a launch sequence: `outline-linalg-kernels`, see `coopc.validate.sequences` |
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IndexType,
    MemRefType,
    ModuleOp,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineMap
from xdsl.utils.hints import isa

from coopc.dialects import coopmatrix, simt
from coopc.dialects.narrow import as_bytes
from coopc.interface import PACKING_ENTRY, SECOND_ENTRY
from coopc.interface_call import row_major
from coopc.ir.control_flow import functions, reached
from coopc.passes.cpu.convert_simt_to_loops import EXTRA
from coopc.passes.cpu.stages import Stages
from coopc.sim.errors import SimulationError
from coopc.sim.launch import Argument, grid_sizes, launch_of
from coopc.sim.simulate import Options, SimulatedRun, simulate
from coopc.sim.values import Array, bits_of, memory_dtype
from coopc.validate.sequences import called

CHANNEL_BITS = 32
"""Of packed B: as many rows as fit into it are interleaved."""

MAX_WORK_GROUPS = 4096
"""Of a grid: a function with more is not run."""

Scratch: TypeAlias = tuple[AffineMap, AffineMap, MemRefType]
"""Memory that stages share: factors of its bytes, its dynamic sizes, and its type."""


def loses_errors(module: ModuleOp) -> bool:
    """Whether errors are not tracked through some operations, 2D blocks and tiles.

    What is exact is the same there.
    """
    return any(op.dialect_name() in ("xe", "amx") for op in module.walk())


@dataclass(frozen=True, slots=True)
class FunctionStage:
    """A function that is run, and for which work-groups."""

    func: FuncOp
    groups: AffineMap | None = None
    """From the origin's sizes to work-groups; None for those of its grid."""
    kernel: FuncOp | None = None
    """The kernel that `func` loops over the work-groups of, if it does."""

    @property
    def started(self) -> FuncOp:
        """What says how many work-groups there are."""
        return self.kernel or self.func

    @property
    def map(self) -> AffineMap | None:
        """From the origin's sizes to work-groups, if that is known."""
        if self.groups is not None or simt.KERNEL not in self.started.attributes:
            return self.groups
        return simt.kernel_of(self.started).grid


@dataclass(frozen=True, slots=True)
class FunctionForm:
    """What a module has in place of a function of the original program."""

    origin: FuncOp
    module: ModuleOp
    stages: tuple[FunctionStage, ...]
    scratch: tuple[Scratch, ...] = ()
    packing: FuncOp | None = None
    """What packs the argument that the kernel takes packed."""
    by_columns: bool = False
    """Whether that argument has the columns of B as its rows."""

    @property
    def entry(self) -> FuncOp:
        """The function that computes the results: that of the last stage."""
        return self.stages[-1].func

    @property
    def has_grid(self) -> bool:
        """Whether the work-groups of all stages are known from the sizes."""
        return all(
            stage.map is not None or simt.KERNEL not in stage.started.attributes
            for stage in self.stages
        )

    def reached(self) -> list[FuncOp]:
        """Return all functions that run: the stages, and what they call."""
        known = functions(self.module)
        found = [stage.func for stage in self.stages]
        found += [] if self.packing is None else [self.packing]
        return list(dict.fromkeys(x for func in found for x in reached(func, known)))

    def run(self, arguments: Sequence[Argument], options: Options) -> SimulatedRun:
        """Run all stages on the origin's arguments, which are changed in place.

        Raises:
            SimulationError: a stage does what is undefined, or what is not known; or
                has too many work-groups.
        """
        sizes = grid_sizes(self.origin, arguments)
        given: list[Argument] = [*arguments, *self._scratch(sizes)]
        if self.packing is not None:
            given = self._packed(given, options)
        run: SimulatedRun | None = None
        for stage in self.stages:
            grid = self._grid(stage, sizes, given, options)
            if (groups := prod(grid)) > MAX_WORK_GROUPS:
                raise SimulationError(
                    f"its grid has {groups} work-groups, more than {MAX_WORK_GROUPS}"
                )
            extra = () if stage.kernel is None else (*grid, 0, groups)
            own = replace(options, grid=grid)
            done = simulate(
                self.module, stage.func.sym_name.data, [*given, *extra], own
            )
            run = done if run is None else _later(run, done)
        assert run is not None, self
        # Of a packed argument, which is only read, the errors have another shape.
        errors = tuple(
            None if one is None or one.shape != np.shape(given) else one
            for one, given in zip(run.errors, arguments, strict=False)
        )
        return replace(run, errors=errors)

    def _grid(
        self,
        stage: FunctionStage,
        sizes: Sequence[int],
        given: Sequence[Argument],
        options: Options,
    ) -> tuple[int, int, int]:
        """Return the work-groups of a stage along x, y, z.

        Raises:
            SimulationError: nothing says how many there are.
        """
        if stage.groups is not None:
            x, y, z = (*stage.groups.eval(sizes, []), 1, 1)[:3]
            return x, y, z
        try:
            return launch_of(
                stage.started, given, options.grid, options.subgroup_size
            ).grid
        except ValueError as error:
            raise SimulationError(str(error)) from error

    def _scratch(self, sizes: Sequence[int]) -> Iterator[Array]:
        """Yield memory that stages share; a dynamic dimension takes all of it."""
        for factors, dynamic, type in self.scratch:
            dtype = memory_dtype(type.get_element_type())
            memory = np.zeros(prod(factors.eval(sizes, [])), np.uint8).view(dtype)
            numbers = iter(dynamic.eval(sizes, []))
            shape = [
                min(next(numbers), memory.size) if size == DYNAMIC_INDEX else size
                for size in type.get_shape()
            ]
            steps = zip(type.get_strides() or (), row_major(shape), strict=True)
            strides = [default if step is None else step for step, default in steps]
            rest = sum(
                (size - 1) * step
                for size, step in zip(type.get_shape(), strides, strict=True)
                if size != DYNAMIC_INDEX
            )
            # Stages count through all of it from any row: what is after is not theirs.
            yield np.lib.stride_tricks.as_strided(
                np.concatenate([memory, np.zeros(rest, dtype)]),
                shape,
                [dtype.itemsize * step for step in strides],
            )

    def _packed(self, given: Sequence[Argument], options: Options) -> list[Argument]:
        assert self.packing is not None
        place = _changed(self.origin, self.entry)
        plain = given[place]
        assert isinstance(plain, np.ndarray)
        type = self.origin.function_type.inputs.data[place]
        assert isa(type, MemRefType), type
        rows = CHANNEL_BITS // bits_of(type.get_element_type())
        *batch, first, second = plain.shape
        k, n = (second, first) if self.by_columns else (first, second)
        packed = np.zeros((*batch, k // rows, n * rows), plain.dtype)
        own = replace(options, grid=None, track=None)
        try:
            simulate(
                self.module, self.packing.sym_name.data, [plain.copy(), packed], own
            )
        except ValueError as error:
            raise SimulationError(str(error)) from error
        return [*given[:place], packed, *given[place + 1 :]]


def form_of(
    origin: FuncOp,
    module: ModuleOp,
    kernels: Mapping[str, FuncOp],
    before: FunctionForm | str | None = None,
) -> FunctionForm | str:
    """Return how a module runs what was a function, or why it cannot be run.

    `kernels` are, for each name, the last function that was a kernel; `before` is the
    form before the last pass.
    """
    known, name = functions(module), origin.sym_name.data
    if (staged := Stages.of(module).get(name)) is not None:
        return _staged(origin, module, staged, kernels)
    if (func := known.get(name)) is None:
        found = called(origin, module)
        if isinstance(found, str):
            return found
        return FunctionForm(origin, found, (FunctionStage(functions(found)[name]),))
    wanted = origin.function_type
    packed = FunctionType.from_lists(
        [*map(as_bytes, wanted.inputs)], wanted.outputs.data
    )
    if func.function_type in (wanted, packed):
        # After `convert-simt-to-loops` has run, the origin may be of its form already.
        return FunctionForm(origin, module, (FunctionStage(func),))
    if _is_looped(packed.inputs.data, func) and name in kernels:
        return FunctionForm(
            origin, module, (FunctionStage(func, kernel=kernels[name]),)
        )
    packing = known.get(name + PACKING_ENTRY)
    place = _changed(origin, func)
    if packing is not None and place >= 0 and isinstance(before, FunctionForm):
        columns = before.by_columns or _has_columns(before.entry, place)
        stages = (FunctionStage(func),)
        return FunctionForm(origin, module, stages, packing=packing, by_columns=columns)
    return f"its type changed from {wanted} to {func.function_type}"


def _staged(
    origin: FuncOp, module: ModuleOp, staged: Stages, kernels: Mapping[str, FuncOp]
) -> FunctionForm | str:
    known = functions(module)
    count = len(origin.function_type.inputs)
    stages: list[FunctionStage] = []
    scratch: list[Scratch] = []
    for name, groups in staged.functions:
        if (func := known.get(name)) is None:
            return f"its stage @{name} is missing"
        types = func.function_type.inputs.data
        memories = types[count : count + len(staged.scratch)]
        if len(memories) < len(staged.scratch):
            return "the memory that its stages share is among its arguments"
        plain = (*origin.function_type.inputs, *memories)
        kernel = kernels.get(name) if _is_looped(plain, func) else None
        if types != plain and kernel is None:
            return f"its stage @{name} does not take what it takes"
        stages.append(FunctionStage(func, groups, kernel))
        scratch = [
            (*maps, type)
            for maps, type in zip(staged.scratch, memories, strict=True)
            if isa(type, MemRefType)
        ]
    return FunctionForm(origin, module, tuple(stages), tuple(scratch))


def parts(module: ModuleOp) -> set[str]:
    """Return the functions that run only as a part of another: stages, packing."""
    known = functions(module)
    staged = Stages.of(module)
    found = {name for each in staged.values() for name, _ in each.functions}
    found -= set(staged)
    return found | {name for name in known if name.endswith(PACKING_ENTRY)}


def first_entry(name: str) -> str | None:
    """Return the kernel that a second entry point stands in for."""
    return name.removesuffix(SECOND_ENTRY) if name.endswith(SECOND_ENTRY) else None


def never_run(form: FunctionForm, ran: set[Operation]) -> list[Operation]:
    """Return the operations of a form that are not among those that ran."""
    return [
        op
        for func in form.reached()
        for op in func.walk()
        if op is not func and op not in ran and not _is_simulated_whole(op)
    ]


def _is_simulated_whole(op: Operation) -> bool:
    """Whether an operation says what one around it does, which runs as one."""
    around = op.parent_op()
    return around is not None and around.dialect_name() == "linalg"


def _is_looped(inputs: Sequence[Attribute], func: FuncOp) -> bool:
    """Whether a function takes some arguments, then what loops over work-groups do."""
    return func.function_type.inputs.data == (*inputs, *(IndexType(),) * len(EXTRA))


def _changed(origin: FuncOp, func: FuncOp) -> int:
    """Return which one memref argument changed, or -1."""
    pairs = zip(origin.function_type.inputs, func.function_type.inputs, strict=False)
    changed = [n for n, (old, new) in enumerate(pairs) if old != new]
    same = len(origin.function_type.inputs) == len(func.function_type.inputs)
    return changed[0] if same and len(changed) == 1 else -1


def _has_columns(func: FuncOp, position: int) -> bool:
    """Whether a function loads matrices from an argument by columns."""
    return any(
        isinstance(use.operation, coopmatrix.LoadOp)
        and use.operation.layout.data is coopmatrix.Layout.COL_MAJOR
        for use in func.body.block.args[position].uses
    )


def _later(first: SimulatedRun, second: SimulatedRun) -> SimulatedRun:
    """Return what two runs did, one after the other, on the same arguments."""
    errors = tuple(
        old if new is None else new if old is None else np.maximum(old, new)
        for old, new in zip(first.errors, second.errors, strict=True)
    )
    lost = first.lost_errors or second.lost_errors
    return replace(second, errors=errors, lost_errors=lost)
