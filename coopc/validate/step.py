"""Compare what a module does before and after a pass.

Each kernel, and each other function that can be run by itself, runs on the simulator
before and after, on the same seeded inputs of both kinds.  Functions that the pass
made, removed or gave other types are not compared, nor are those that take or return
what no array is, or that the simulator does not know: `report` hears which, and why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from coopc.dialects import coopmatrix, simt
from coopc.interface import PACKING_ENTRY, SECOND_ENTRY
from coopc.sim.arguments import Argument
from coopc.sim.errors import SimulationError, UndefinedBehaviour
from coopc.sim.launch import launch_of
from coopc.sim.matrices import provider_of
from coopc.sim.simulate import (
    DEFAULT_SUBGROUP_SIZE,
    Options,
    Run,
    simulate,
)
from coopc.sim.tracked import Inputs
from coopc.sim.values import BFLOAT16, Array, scalar_of
from coopc.validate.compare import Difference, compare
from coopc.validate.forms import simulated_form, uses_xe
from coopc.validate.inputs import (
    EXACT_VALUES,
    Sizes,
    first_sizes,
    make_arguments,
    more_sizes,
    ragged_sizes,
    unsuitable,
)
from coopc.validate.pointers import are_allowed, are_apart

Report: TypeAlias = Callable[[str], None]

MAX_WORK_GROUPS = 4096
"""Of a grid: a function with more is not run."""


@dataclass(frozen=True)
class Mismatch:
    """Where a program does something else after a pass."""

    function: str
    argument: str
    """Which argument or result differs; empty if the program became undefined."""
    inputs: Inputs
    sizes: Sizes
    seed: int
    difference: Difference | None
    """How it differs."""
    undefined: str = ""
    """What the program does after the pass that no program may do."""

    def __str__(self) -> str:
        """What differs, and on which inputs."""
        where = f"on {self.inputs} inputs (sizes {self.sizes}, seed {self.seed})"
        if self.difference is None:
            return f"@{self.function} became undefined {where}: {self.undefined}"
        return f"{self.argument} of @{self.function} differs {where}: {self.difference}"


@dataclass(frozen=True)
class Case:
    """One input of a function."""

    options: Options
    sizes: Sizes
    family: int
    """Which of `EXACT_VALUES` exact inputs have."""


def validate_step(
    before: ModuleOp,
    after: ModuleOp,
    step: ModulePass,
    *,
    seed: int = 0,
    report: Report | None = None,
) -> None:
    """Refuse a pass that changes what a module does.

    Args:
        before: the module that the pass was given.
        after: what it made of it.
        step: the pass.
        seed: of the inputs.
        report: is told what is not compared, and why; standard error by default.

    Raises:
        PassFailedException: a function does something else, or became undefined.
    """

    def tell(text: str) -> None:
        print(f"validate: {step.name}: {text}", file=sys.stderr)

    if (
        found := first_mismatch(before, after, seed=seed, report=report or tell)
    ) is None:
        return
    functions = {
        op.properties["sym_name"]: op for op in after.ops if "sym_name" in op.properties
    }
    message = f"pass {step.name} changed what the program does: {found}"
    changed = functions[StringAttr(found.function)]
    changed.emit_error(message, PassFailedException(message))


def first_mismatch(
    before: ModuleOp, after: ModuleOp, *, seed: int = 0, report: Report = print
) -> Mismatch | None:
    """Return the first function that does something else after than before, if any."""
    before, after = simulated_form(before), simulated_form(after)
    old = {op.sym_name.data: op for op in before.ops if isinstance(op, FuncOp)}
    new = {op.sym_name.data: op for op in after.ops if isinstance(op, FuncOp)}
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            when = "before" if name not in old else "after"
            report(f"@{name} is not compared: there is none {when}")
            continue
        packing = name + PACKING_ENTRY
        if packing in new and packing not in old:
            report(f"@{name} is not compared: its B is now packed, by @{packing}")
            continue
        if (reason := not_comparable(old[name], new[name])) is not None:
            report(f"@{name} is not compared: {reason}")
            continue
        pair = _Pair(before, after, old[name], new[name], seed)
        found = pair.mismatch(report)
        if found is not None:
            return found
    return None


def not_comparable(before: FuncOp, after: FuncOp) -> str | None:
    """Say why two functions cannot be compared; None where they can."""
    if before.function_type != after.function_type:
        return f"its type changed from {before.function_type} to {after.function_type}"
    return unsuitable(before) or unsuitable(after)


@dataclass(frozen=True)
class _Pair:
    """A function before and after a pass."""

    before: ModuleOp
    after: ModuleOp
    old: FuncOp
    new: FuncOp
    seed: int

    @property
    def name(self) -> str:
        """Of the function."""
        return self.old.sym_name.data

    def mismatch(self, report: Report) -> Mismatch | None:
        """Return the first difference on inputs that the function accepts."""
        try:
            cases = list(self._cases())
        except SimulationError as error:
            report(f"@{self.name} is not compared: {error}")
            return None
        for inputs in Inputs:
            try:
                for case in cases:
                    if (found := self._compared(case, inputs)) is not None:
                        return found
            except SimulationError as error:
                kind = "" if inputs is Inputs.EXACT else f" on {inputs} inputs"
                report(f"@{self.name} is not compared{kind}: {error}")
        return None

    def _cases(self) -> Iterator[Case]:
        """Yield inputs that the function accepts: first plain ones, then others.

        Raises:
            SimulationError: it accepts none that are tried.
        """
        first = self._accepted(first_sizes(self.old))
        if isinstance(first, UndefinedBehaviour):
            raise SimulationError(
                f"all inputs that were tried make it undefined, the last one by {first}"
            )
        yield first
        random = np.random.default_rng(self.seed)
        for candidates in (more_sizes, ragged_sizes):
            found = self._accepted(candidates(self.old, first.sizes, random))
            if isinstance(found, Case):
                yield found

    def _accepted(self, candidates: Iterator[Sizes]) -> Case | UndefinedBehaviour:
        """Return the first input with which the function is not undefined.

        Returns:
            Why the last one is not accepted, if none is.
        """
        last = UndefinedBehaviour("nothing was tried")
        for sizes in candidates:
            if not self._allowed(sizes.values):
                continue
            for options in self._options():
                for family in range(len(EXACT_VALUES)):
                    case = Case(options, sizes, family)
                    try:
                        self._run(self.before, case, Inputs.EXACT)
                    except UndefinedBehaviour as error:
                        last = error
                    else:
                        return case
        return last

    def _allowed(self, values: tuple[int, ...]) -> bool:
        """Whether the kernel is called for sizes, and for which rows do not overlap.

        Stores to rows that overlap are undone by others, in no order.
        """
        name = self.name.removesuffix(SECOND_ENTRY)
        first = next(
            (
                op
                for op in self.after.ops
                if isinstance(op, FuncOp) and op.sym_name.data == name
            ),
            self.new,
        )
        return are_allowed(self.new, values) and are_apart(first, values)

    def _options(self) -> Iterator[Options]:
        """Yield ways to run it: what the pass decided holds before it too."""
        kernels = [
            simt.kernel_of(func)
            for func in (self.new, self.old)
            if simt.KERNEL in func.attributes
        ]
        if not kernels:
            yield Options()
            return
        fixed = (kernel.subgroup_size for kernel in kernels)
        lanes = next((size for size in fixed if size), DEFAULT_SUBGROUP_SIZE)
        decided = any(
            coopmatrix.DISTRIBUTION in func.attributes for func in (self.new, self.old)
        )
        named = self.new if coopmatrix.DISTRIBUTION in self.new.attributes else self.old
        options = Options(
            subgroup_size=lanes,
            distribution=provider_of(named) if decided else None,
        )
        if all(kernel.grid is not None for kernel in kernels):
            yield options
            return
        for grid in ((2, 2, 1), (1, 1, 1)):
            yield replace(options, grid=grid)

    def _run(
        self, module: ModuleOp, case: Case, inputs: Inputs
    ) -> tuple[Run, list[Argument]]:
        """Run the function of a module on inputs."""
        seed = [self.seed, case.family]
        arguments = make_arguments(self.old, case.sizes, inputs, seed)
        # Of 2D blocks and DPAS no errors are known: what is exact is the same there.
        untracked = inputs is Inputs.EXACT and uses_xe(module)
        options = replace(case.options, track=None if untracked else inputs)
        try:
            launch = launch_of(self.old, arguments, options.grid, options.subgroup_size)
        except ValueError as error:
            raise SimulationError(str(error)) from error
        if launch.work_groups > MAX_WORK_GROUPS:
            raise SimulationError(
                f"its grid has {launch.work_groups} work-groups, more than "
                f"{MAX_WORK_GROUPS}"
            )
        return simulate(module, self.name, arguments, options), arguments

    def _compared(self, case: Case, inputs: Inputs) -> Mismatch | None:
        """Run before and after on one input and compare."""
        try:
            old, expected = self._run(self.before, case, inputs)
        except UndefinedBehaviour:
            return None  # exact inputs are accepted, these are not
        try:
            new, found = self._run(self.after, case, inputs)
        except UndefinedBehaviour as error:
            return self._mismatch(case, inputs, "", None, str(error))
        pairs = zip(
            _outputs(self.old, expected, old),
            _outputs(self.new, found, new),
            strict=True,
        )
        for before, after in pairs:
            difference = _difference(before, after, old.lost_errors)
            if difference is not None and not difference.ok:
                return self._mismatch(case, inputs, before.name, difference)
        return None

    def _mismatch(
        self,
        case: Case,
        inputs: Inputs,
        argument: str,
        difference: Difference | None,
        undefined: str = "",
    ) -> Mismatch:
        """Return a mismatch on one input."""
        return Mismatch(
            self.name, argument, inputs, case.sizes, self.seed, difference, undefined
        )


@dataclass(frozen=True, slots=True)
class _Output:
    """What a run left in an argument, or gave as a result."""

    name: str
    element: Attribute
    """Its type, or that of its elements."""
    value: Any
    """An array; of an argument that is a number, what was given."""
    error: Array | None
    """Bounds of the errors of its elements, where they are tracked."""


def _outputs(
    func: FuncOp, arguments: Sequence[Argument], run: Run
) -> Iterator[_Output]:
    """Yield all that a run of a function may have changed."""
    errors = run.errors or (None,) * len(arguments)
    for value, array, error in zip(
        func.body.block.args, arguments, errors, strict=True
    ):
        name = f" (%{value.name_hint})" if value.name_hint else ""
        element = _element(value.type)
        yield _Output(f"argument {value.index}{name}", element, array, error)
    of_results = run.result_errors or (None,) * len(run.results)
    results = zip(func.function_type.outputs, run.results, of_results, strict=True)
    for position, (type, array, error) in enumerate(results):
        yield _Output(f"result {position}", _element(type), array, error)


def _element(type: Attribute) -> Attribute:
    """Return the element type of a memref or a vector; a number's as it is."""
    return type.get_element_type() if isa(type, MemRefType) else scalar_of(type)


def _difference(before: _Output, after: _Output, lost: bool) -> Difference | None:
    """Return how an output differs; None where it is no array."""
    expected: Array = before.value
    found: Array = after.value
    if not (_is_array(expected) and _is_array(found)):
        return None
    bound = None
    if before.error is not None and after.error is not None:
        bound = allowed(before.error, after.error, lost)
    is_bf16 = before.element == BFLOAT16
    return compare(found, expected, bound=bound, bf16=is_bf16)


def _is_array(value: object) -> bool:
    """Whether a value has elements to compare."""
    return isinstance(value, np.ndarray)


def allowed(before: Array, after: Array, lost: bool) -> Array:
    """Return how far results may be apart, given bounds of their errors.

    Another order of the same operations has about the same bound.  What is much less
    exact than before is wrong, even if it keeps its own bound.

    Args:
        before: what the program was exact to.
        after: what the result of the pass is exact to.
        lost: whether the bounds of before are not complete.
    """
    if lost:
        return 2 * np.maximum(before, after)
    return before + np.minimum(after, 4 * before)
