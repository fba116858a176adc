"""Compare what a module does before and after a pass.

Each kernel, and each other function that can be run by itself, runs on the simulator
before and after, on the same seeded inputs of both kinds, in whatever form a pass gave
it (`coopc.validate.forms`).  `report` hears which functions are not compared, and why:
those that were removed, made or given other types in another way, those that take or
return what no array is, or that the simulator does not know.  It also hears which
operations no run reached.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from coopc.dialects import coopmatrix, simt
from coopc.dialects.shaped_arith import element_of
from coopc.ir.control_flow import functions
from coopc.sim.errors import SimulationError, TooLong, UndefinedBehaviour
from coopc.sim.launch import Argument
from coopc.sim.matrices import provider_of
from coopc.sim.simulate import SIMULATED_SUBGROUP_SIZE, Options, SimulatedRun
from coopc.sim.tracked import Inputs
from coopc.sim.triton import simulated_form
from coopc.sim.values import Array
from coopc.validate.compare import Difference, compare
from coopc.validate.forms import (
    FunctionForm,
    first_entry,
    form_of,
    loses_errors,
    never_run,
    parts,
)
from coopc.validate.inputs import (
    EXACT_VALUES,
    Contract,
    Sizes,
    array_type,
    first_sizes,
    make_arguments,
    more_sizes,
    ragged_sizes,
    tiled_sizes,
    tiles_of,
    unsuitable,
)

Report: TypeAlias = Callable[[str], None]

MAX_OPERATIONS = 200_000
"""That run on inputs after the first: programs that take more are not run on them."""
LONGER = 2
"""How many times as many may run after a pass."""


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
        sizes = ", ".join(map(str, self.sizes)) or "none"
        where = f"on {self.inputs} inputs (sizes {sizes}, seed {self.seed})"
        if self.difference is None:
            return f"@{self.function} became undefined {where}: {self.undefined}"
        return f"{self.argument} of @{self.function} differs {where}: {self.difference}"


class Validator:
    """Compares a program with what each pass makes of it.

    It remembers the arguments that each function had at first, as passes may give it
    others: see `coopc.validate.forms`.
    """

    def __init__(self, module: ModuleOp, seed: int = 0) -> None:
        """Begin with the program as it is before the first pass; it is not changed."""
        self.before = simulated_form(module)
        self.seed = seed
        self.origins = functions(self.before)
        self.kernels = _kernels(self.before)
        self.forms: dict[str, FunctionForm | str] = {
            name: form_of(func, self.before, self.kernels)
            for name, func in self.origins.items()
        }

    def mismatch(self, after: ModuleOp, report: Report = print) -> Mismatch | None:
        """Return what differs after the next pass, if anything does.

        The caller does not change the module from now on.
        """
        before, self.before = self.before, simulated_form(after)
        kernels = self.kernels | _kernels(self.before)
        found: Mismatch | None = None
        for name in sorted(self._compared_names(before, report)):
            origin, started = self.origins[name], self.forms[name]
            ended = form_of(origin, self.before, kernels, started)
            if isinstance(started, str) or isinstance(ended, str):
                reason = ended if isinstance(ended, str) else str(started)
            elif (reason := unsuitable(origin)) is None:
                self.forms[name] = ended
                if found := _Pair.of(started, ended, self.seed).mismatch(report):
                    break
                continue
            report(f"@{name} is not compared: {reason}")
            self.origins.pop(name)
            if (new := functions(self.before).get(name)) is not None:
                self._begin(name, new, kernels)
        self.kernels = kernels
        return found

    def check(
        self, after: ModuleOp, step: ModulePass, report: Report | None = None
    ) -> None:
        """Refuse a pass that changes what the program does.

        What a pass leaves as it was does not run again.

        Raises:
            PassFailedException: a function does something else, or became undefined.
        """

        def tell(text: str) -> None:
            print(f"validate: {step.name}: {text}", file=sys.stderr)

        if self.before.is_structurally_equivalent(simulated_form(after)):
            return
        if (found := self.mismatch(after, report or tell)) is None:
            return
        message = f"pass {step.name} changed what the program does: {found}"
        name = StringAttr(found.function)
        changed = (op for op in after.ops if op.properties.get("sym_name") == name)
        next(changed, after).emit_error(message, PassFailedException(message))

    def _begin(self, name: str, func: FuncOp, kernels: Mapping[str, FuncOp]) -> None:
        """Compare a function from now on, with the arguments that it has."""
        self.origins[name] = func
        self.forms[name] = form_of(func, self.before, kernels)

    def _compared_names(self, before: ModuleOp, report: Report) -> set[str]:
        """Return the functions that were there, and second entry points of such."""
        names = {*self.origins}
        for name, func in functions(self.before).items():
            if name in names or name in parts(self.before):
                continue
            base = first_entry(name)
            if base in names and base in functions(before):
                self.origins[name] = self.origins[base].clone()
                self.origins[name].sym_name = StringAttr(name)
                self.forms[name] = self.forms[base]
                names.add(name)
            else:
                report(f"@{name} is not compared: it does not exist before the pass")
                self._begin(name, func, _kernels(self.before))
        return names


def _kernels(module: ModuleOp) -> dict[str, FuncOp]:
    known = functions(module).items()
    return {name: func for name, func in known if simt.KERNEL in func.attributes}


def first_mismatch(
    before: ModuleOp, after: ModuleOp, *, report: Report = print
) -> Mismatch | None:
    """Return the first function that does something else after than before, if any."""
    return Validator(before).mismatch(after, report)


class _Output(NamedTuple):
    """An array that a run left in an argument, or gave as a result."""

    name: str
    element: Attribute
    """The type of its elements."""
    value: Array
    error: Array | None
    """Bounds of the errors of its elements, where they are tracked."""


@dataclass(frozen=True)
class _Outcome:
    """What a function did."""

    run: SimulatedRun
    arguments: list[Argument]
    """What it left in its arguments."""

    def outputs(self, func: FuncOp) -> Iterator[_Output]:
        """Yield all arrays that the run of a function may have changed."""
        run, types = self.run, func.function_type
        names = [
            f"argument {x.index}" + (f" (%{x.name_hint})" if x.name_hint else "")
            for x in func.body.block.args
        ]
        names += [f"result {position}" for position in range(len(run.results))]
        errors = (*run.errors, *run.result_errors)
        values = (*self.arguments, *run.results)
        of_values = zip((*types.inputs, *types.outputs), values, strict=True)
        for name, (type, value), error in zip(names, of_values, errors, strict=True):
            if isinstance(value, np.ndarray):
                type = array_type(type)
                element = type.get_element_type() if isa(type, MemRefType) else type
                yield _Output(name, element_of(element), value, error)


@dataclass(frozen=True)
class _Case:
    """One input of a function."""

    options: Options
    sizes: Sizes
    family: int
    """Which of `EXACT_VALUES` exact inputs have."""
    expected: _Outcome
    """What the function does on exact inputs before the pass."""
    kinds: tuple[Inputs, ...] = tuple(Inputs)
    """Of inputs that are tried."""


@dataclass(frozen=True)
class _Pair:
    """A function before and after a pass."""

    before: FunctionForm
    after: FunctionForm
    seed: int
    contract: Contract
    """What holds of the arguments."""

    @classmethod
    def of(cls, before: FunctionForm, after: FunctionForm, seed: int) -> _Pair:
        """Return a pair; a second entry point takes what the first does not."""
        origin, asked = after.origin, after
        base = first_entry(origin.sym_name.data)
        first = None if base is None else functions(after.module).get(base)
        if first is not None:
            found = form_of(first, after.module, {})
            asked = asked if isinstance(found, str) else found
        contract = Contract.of(origin, (before, asked), base is not None)
        return cls(before, after, seed, contract)

    @property
    def name(self) -> str:
        """Of the function."""
        return self.after.origin.sym_name.data

    def mismatch(self, report: Report) -> Mismatch | None:
        """Return the first difference on inputs that the function accepts."""
        ran: set[Operation] = set()
        try:
            cases = list(self._cases())
        except SimulationError as error:
            report(f"@{self.name} is not compared: {error}")
            return None
        for inputs in Inputs:
            try:
                for case in (each for each in cases if inputs in each.kinds):
                    if (found := self._compared(case, inputs, ran)) is not None:
                        return found
            except SimulationError as error:
                kind = "" if inputs is Inputs.EXACT else f" on {inputs} inputs"
                report(f"@{self.name} is not compared{kind}: {error}")
        if ran and (rest := never_run(self.after, ran)):
            report(f"@{self.name}: {_described(rest)} never ran")
        return None

    def _cases(self) -> Iterator[_Case]:
        """Yield inputs that the function accepts: first plain ones, then others.

        Raises:
            SimulationError: it accepts none that are tried.
        """
        first = self._accepted(first_sizes(self.contract.func))
        if isinstance(first, UndefinedBehaviour):
            raise SimulationError(
                f"all inputs that were tried make it undefined, the last one by {first}"
            )
        yield first
        sizes, random = first.sizes, np.random.default_rng(self.seed)
        tiles = tiles_of(self.contract, (self.before, self.after))
        both, exact = tuple(Inputs), (Inputs.EXACT,)
        for kinds, candidates in (
            (both, more_sizes(sizes, random)),
            (both, ragged_sizes(self.before.entry, sizes, random)),
            *((exact, group) for group in tiled_sizes(sizes, tiles)),
        ):
            found = self._accepted(candidates, MAX_OPERATIONS)
            if isinstance(found, _Case):
                yield replace(found, kinds=kinds)

    def _accepted(
        self, candidates: Iterable[Sizes], most_operations: int | None = None
    ) -> _Case | UndefinedBehaviour:
        """Return the first input with which the function is not undefined.

        Returns:
            Why the last one is not accepted, if none is.
        """
        last = UndefinedBehaviour("nothing was tried")
        for wanted in candidates:
            sizes = self.contract.fitted(wanted)
            for plain in self._options():
                options = replace(plain, most_operations=most_operations)
                for family in range(len(EXACT_VALUES)):
                    exact = (Inputs.EXACT, family)
                    try:
                        done = self._run(self.before, options, sizes, *exact)
                    except UndefinedBehaviour as error:
                        last = error
                    except TooLong as error:
                        return UndefinedBehaviour(str(error))
                    else:
                        return _Case(options, sizes, family, done)
        return last

    def _options(self) -> Iterator[Options]:
        """Yield ways to run it: what the pass decided holds before it too."""
        forms = (self.after, self.before)
        started = [stage.started for form in forms for stage in form.stages]
        kernels = [simt.kernel_of(f) for f in started if simt.KERNEL in f.attributes]
        precision = coopmatrix.precision_of(self.after.module)
        if not kernels:
            yield Options(precision=precision)
            return
        fixed = (kernel.subgroup_size for kernel in kernels)
        named = [f for f in started if coopmatrix.DISTRIBUTION in f.attributes]
        options = Options(
            subgroup_size=next(
                (size for size in fixed if size), SIMULATED_SUBGROUP_SIZE
            ),
            distribution=provider_of(named[0]) if named else None,
            precision=precision,
        )
        if all(form.has_grid for form in forms):
            yield options
            return
        for grid in ((2, 2, 1), (1, 1, 1)):
            yield replace(options, grid=grid)

    def _run(
        self,
        form: FunctionForm,
        options: Options,
        sizes: Sizes,
        inputs: Inputs,
        family: int,
    ) -> _Outcome:
        """Run a form of the function on inputs.

        Raises:
            SimulationError: it is undefined for them, or not known to be defined.
        """
        arguments = make_arguments(self.contract, sizes, inputs, [self.seed, family])
        if (reason := self.contract.violated(arguments)) is not None:
            raise UndefinedBehaviour(f"arguments that it is not called with, {reason}")
        untracked = inputs is Inputs.EXACT and loses_errors(form.module)
        options = replace(options, track=None if untracked else inputs)
        return _Outcome(form.run(arguments, options), arguments)

    def _compared(
        self, case: _Case, inputs: Inputs, ran: set[Operation]
    ) -> Mismatch | None:
        """Run before and after on one input and compare."""
        seeded = (case.sizes, inputs, case.family)
        old = case.expected
        if inputs is not Inputs.EXACT:
            try:
                old = self._run(self.before, case.options, *seeded)
            except UndefinedBehaviour:
                return None  # exact inputs are accepted, these are not
        most = case.options.most_operations
        more = None if most is None else LONGER * most
        noting = replace(case.options, ran=ran, most_operations=more)
        where = (inputs, case.sizes, self.seed)
        try:
            new = self._run(self.after, noting, *seeded)
        except TooLong:
            return None
        except UndefinedBehaviour as error:
            return Mismatch(self.name, "", *where, None, str(error))
        lost = old.run.lost_errors or new.run.lost_errors
        func = self.contract.func
        for before, after in zip(old.outputs(func), new.outputs(func), strict=True):
            bound = None
            if before.error is not None and after.error is not None:
                bound = allowed(before.error, after.error, lost)
            name = before.element.name
            difference = compare(after.value, before.value, bound=bound, element=name)
            if not difference.ok:
                return Mismatch(self.name, before.name, *where, difference)
        return None


def _described(ops: Sequence[Operation]) -> str:
    """Name operations: how many, and the first that matters."""
    first = next((op for op in ops if "store" in op.name), ops[0])
    where = str(first.location)
    place = f" at {where}" if where != "loc(unknown)" else ""
    others = f" and {len(ops) - 1} other operations" if len(ops) > 1 else ""
    return f"{first.name}{place}{others}"


def allowed(before: Array, after: Array, lost: bool) -> Array:
    """Return how far results may be apart, given bounds of their errors.

    Another order of the same operations has about the same bound.  What is much less
    exact than before is wrong, even if it keeps its own bound.

    `lost` says that the bounds of `before` are not complete.
    """
    if lost:
        return 2 * np.maximum(before, after)
    return before + np.minimum(after, 4 * before)
