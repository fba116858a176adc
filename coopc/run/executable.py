"""A compiled module that can be called: `Executable`."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Integral, Real
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from coopc.diagnostic import near_match
from coopc.explain import usage_errors
from coopc.interface import (
    PACKING_ENTRY,
    SECOND_ENTRY,
    Buffer,
    Interface,
    Number,
    View,
    evaluate,
)
from coopc.interface_call import (
    Array,
    Call,
    Given,
    check_shape,
    checked,
    dtype_of,
    entry_for,
    memory_of,
    pack,
    sizes_of,
    strided,
    violated_condition,
    with_fields,
)
from coopc.remarks import current_sink
from coopc.run.arrays import (
    Outcome,
    check_apart,
    copied,
    each_array,
    start_of,
    to_argument,
    write_back,
    zeros,
)

if TYPE_CHECKING:
    from coopc.run.in_process import InProcess

LAUNCH_SECONDS = 600
"""How long a driver's compiler and a kernel may take: emulated ones are long."""
MAX_GROUPS = (1 << 31) - 1
"""Along an axis: drivers count work-groups in 32 bits."""
LAUNCH = "coopc.launch"
"""What errors of a launch from Python begin with."""
Launch: TypeAlias = "tuple[Interface, list[Given], list[Array]]"
"""A kernel of a sequence, its arguments, and the memory that it is given."""
Grid: TypeAlias = "int | Sequence[int]"
"""Work-groups along x, or along up to three axes."""


def failures() -> tuple[type[Exception], ...]:
    """Return what is raised where a driver, a tool or a kernel fails."""
    from coopc.run.toolchain import ToolMissing
    from coopc.run.worker import RunFailed

    return RunFailed, ToolMissing


def check_texts(**given: object) -> None:
    """Refuse options that are neither text nor None.

    Raises:
        ValueError: there is one.
    """
    for name, value in given.items():
        if not isinstance(value, str | None):
            raise ValueError(f"expected {name} to be text, got {value!r}")


def check_run_options(kernel: object, spec: object, seconds: object) -> None:
    """Refuse options of a run that are not of their types.

    Raises:
        ValueError: there is one.
    """
    check_texts(kernel=kernel)
    if not isinstance(seconds, Real):
        raise ValueError(f"expected seconds to be a number, got {seconds!r}")
    numbers: Any = {} if spec is None else spec
    if not isinstance(numbers, Mapping) or not all(
        isinstance(name, str) and isinstance(number, Integral)
        for name, number in cast("Mapping[object, object]", numbers).items()
    ):
        raise ValueError(f"expected spec to be numbers by name, got {spec!r}")


@dataclass(frozen=True)
class Executable:
    """Compiled kernels, and what runs them."""

    interface: tuple[Interface, ...]
    execute_kernel: Callable[..., Outcome]
    """Runs a `Call` of a kernel; it takes `spec`, `repeats` and `seconds`: see
    `coopc.run.execute`."""
    without_grid: frozenset[str] = frozenset()
    """Kernels whose work-groups coopc chose."""
    execute_sequence: Callable[..., Outcome] | None = None
    """Runs calls on memory that stays on the device: see `coopc.run.execute`; None
    where the host has the memory between kernels."""
    in_process: InProcess | None = None
    """The runner whose `execute` is `execute_kernel`; it keeps launches that were
    checked.  None on other engines."""
    caller: str = LAUNCH
    """What errors of a run begin with."""

    def kernel(self, name: str | None = None) -> Interface:
        """Return the kernel of a name, or the only one, those beside it aside.

        These are second entry points, and what packs an argument.

        Raises:
            ValueError: there is none, or there are several and no name.
        """
        names = [interface.name for interface in self.interface]
        launched = {step.kernel for each in self.interface for step in each.steps}
        first = [
            x
            for x in names
            if x not in launched
            and not any(
                x.endswith(end) and x.removesuffix(end) in names
                for end in (SECOND_ENTRY, PACKING_ENTRY)
            )
        ]
        if not names:
            raise ValueError(
                "expected a kernel, a function with simt.kernel or of linalg, got none"
            )
        if name is None and len(first) > 1:
            known = ", ".join(first)
            raise ValueError(f"expected a kernel (--kernel, kernel=), one of {known}")
        if name is not None and name not in names:
            near = near_match(name, names)
            known = ", ".join(names)
            raise ValueError(f"expected a kernel, one of {known}, got {name}{near}")
        return self.interface[names.index(first[0] if name is None else name)]

    def call(
        self, given: Sequence[Given], grid: Grid | None = None, name: str | None = None
    ) -> Call:
        """Pack arguments for the entry point of a kernel that takes them.

        Without a name it is `.fallback` where they violate a condition, with a remark.

        Raises:
            ValueError: an argument, or the grid, is not what the kernel takes.
        """
        interface = self.kernel(name)
        if name is None:
            given = checked(interface, given)
            entry = entry_for(self.interface, interface, given)
            if entry is not interface:
                reason = violated_condition(interface, given)
                current_sink()(f"remark: {interface.name}: {reason}: runs {entry.name}")
            interface = entry
        groups = None if grid is None else _three(grid)
        if groups is not None and interface.name in self.without_grid:
            raise ValueError(
                f"expected no grid (--grid, grid=) for {interface.name}, whose "
                f"work-groups coopc chooses, got {','.join(map(str, groups))}"
            )
        call = pack(interface, given, groups)
        _check_results(interface, call.given, sizes_of(interface, call.given))
        return call

    def execute(self, call: Call, *, repeats: int = 1, **how: Any) -> Outcome:
        """Run a `Call` of a kernel or of a launch sequence."""
        if not call.interface.steps:
            return self.execute_kernel(call, repeats=repeats, **how)
        times: list[float] = []
        arrays: list[Array] = []
        where = ""
        for _ in range(repeats):
            given = [copied([x])[0] for x in call.given]
            memories = [given, _temporaries(call.interface, given)]
            steps = self._calls(call.interface, memories)
            outcomes = self._on_device(steps, memories, **how) or [
                self._on_host(pack(step, known), views, **how)
                for step, known, views in steps
            ]
            times.append(sum(sum(each.milliseconds) for each in outcomes))
            where = outcomes[-1].where if outcomes else where
            arrays = arrays or [x for x in given if isinstance(x, np.ndarray)]
        return Outcome(tuple(arrays), tuple(times), where)

    def _on_host(self, call: Call, views: Sequence[Array], **how: Any) -> Outcome:
        """Run a kernel of a sequence, and write what it changed into its memory.

        It is packed once the kernels before it have run: a buffer may be a copy.
        """
        outcome = self.execute_kernel(call, repeats=1, **how)
        names = [x.name for x in call.contents]
        for each in zip(names, views, outcome.arrays, strict=True):
            write_back(*each)
        return outcome

    def _on_device(
        self, steps: Sequence[Launch], memories: Sequence[Sequence[Given]], **how: Any
    ) -> list[Outcome]:
        """Run kernels whose memory stays on the device, and take that of arguments.

        What is not used is not there.  Nothing is run where a kernel has memory that is
        not whole, from the first element on.
        """
        if self.execute_sequence is None:
            return []
        calls = [pack(kernel, known) for kernel, known, _ in steps]
        every = [*chain(*memories)]
        starts = {
            start_of(x): n
            for n, x in enumerate(every)
            if isinstance(x, np.ndarray) and x.size
        }
        places = [[starts.get(start_of(x)) for x in call.buffers] for call in calls]
        used = sorted({n for step in places for n in step if n is not None})
        if (
            any(None in step for step in places)
            or any(x.interface.addresses or 0 in x.groups for x in calls)
            or not calls
        ):
            return []
        numbers = [[used.index(n) for n in step if n is not None] for step in places]
        arrays = [memory_of(cast("Array", every[n])) for n in used]
        read = sum(n < len(memories[0]) for n in used)
        found = self.execute_sequence(calls, numbers, arrays, read, **how)
        for array, after in zip(arrays, found.arrays, strict=False):
            array[...] = after
        return [found]

    def _calls(
        self, interface: Interface, memories: Sequence[Sequence[Given]]
    ) -> list[Launch]:
        """Return the launch of each step.

        Raises:
            ValueError: a kernel does not take them; nothing has run yet.
        """
        found: list[Launch] = []
        known = {each.name: each for each in self.interface}
        sizes = sizes_of(interface, memories[0])
        _check_results(interface, memories[0], sizes)
        for step in interface.steps:
            given = [_given(each, memories, sizes) for each in step.arguments]
            kernel = known[step.kernel]
            views = [x for x in given if isinstance(x, np.ndarray)]
            given = checked(kernel, given)
            kernel = entry_for(self.interface, kernel, given)
            if (reason := violated_condition(kernel, given)) is not None:
                raise ValueError(f"{step.kernel}: {reason}")
            found.append((kernel, given, views))
        return found

    def with_results(self, interface: Interface, given: Sequence[Given]) -> list[Given]:
        """Put arrays for the results of a launch sequence behind its arguments.

        A caller gives them either all or not at all.
        """
        count = len(interface.results)
        missing = len(interface.arguments) - len(given)
        if not count or missing != count:
            return list(given)
        number = len(given)
        fields = tuple(x for x in interface.fields if x.argument < number)
        inputs = replace(
            interface, arguments=interface.arguments[:number], fields=fields
        )
        sizes = sizes_of(inputs, checked(inputs, given))
        found = list(given)
        results = interface.arguments[-count:]
        for argument, shape in zip(results, interface.results, strict=True):
            assert isinstance(argument, Buffer), argument
            numbers = [evaluate(size, sizes) for size in shape]
            found.append(zeros(numbers, dtype_of(argument.element)))
        return found

    def run(
        self,
        *arguments: object,
        grid: Grid | None = None,
        kernel: str | None = None,
        spec: Mapping[str, int] | None = None,
        seconds: float = LAUNCH_SECONDS,
    ) -> Outcome:
        """Run a kernel on arrays, which it changes in place: see `coopc.launch`.

        Raises:
            CompileError: the arguments are wrong, or the kernel cannot be run.
        """
        with usage_errors(self.caller, OSError, *failures()):
            check_run_options(kernel, spec, seconds)
            if not float(seconds) > 0:
                raise ValueError(f"expected seconds greater than 0, got {seconds!r}")
            found = [to_argument(each) for each in arguments]
            again = None if spec else self._run_kept(found, grid, kernel)
            if again is not None:
                return again
            interface = self.kernel(kernel)
            given = self.with_results(interface, with_fields(interface, found))
            call = self.call(given, grid, kernel)
            outcome = self.execute(call, spec=spec or {}, repeats=1, seconds=seconds)
            pairs = zip(call.interface.arguments, given, strict=True)
            memrefs = each_array([x for y, x in pairs if isinstance(y, Buffer)])
            buffers = [np.asarray(x) for x in memrefs]
            names = [x.name for x in call.contents]
            taken = [call.buffers[x.buffer] for x in call.contents]
            check_apart(names, buffers, taken, outcome.arrays)
            for each in zip(names, buffers, outcome.arrays, strict=True):
                write_back(*each)
        return replace(outcome, arrays=tuple(buffers))

    def _run_kept(
        self, given: Sequence[Given], grid: Grid | None, name: str | None
    ) -> Outcome | None:
        """Run a launch that was checked, now or before; None where none is kept."""
        if (runner := self.in_process) is None:
            return None
        form = runner.form(given, None if grid is None else _three(grid), name)
        if form is None:
            return None
        if form not in runner.launches:
            interface = self.kernel(name)
            whole = self.with_results(interface, with_fields(interface, given))
            call = self.call(whole, grid, name)
            steps, between = [call], list[Given]()
            if call.interface.steps:
                between = _temporaries(call.interface, call.given)
                views = self._calls(call.interface, [call.given, between])
                steps = [pack(step, known) for step, known, _ in views]
            runner.keep(form, given, call.interface, whole, steps, between)
        return runner.again(form, given)


def _check_results(
    interface: Interface, given: Sequence[Given], sizes: Sequence[int]
) -> None:
    """Refuse arrays for results that are not as large as these are.

    Raises:
        ValueError: there is one.
    """
    count = len(interface.results)
    results = zip(interface.buffers[-count:], given[-count:], strict=True)
    for (argument, array), shape in zip(results, interface.results, strict=count > 0):
        numbers = tuple(evaluate(size, sizes) for size in shape)
        check_shape(replace(argument, shape=numbers), np.shape(array))


def _temporaries(interface: Interface, given: Sequence[Given]) -> list[Given]:
    sizes = sizes_of(interface, given)
    found: list[Given] = []
    for each in interface.temporaries:
        memory = zeros([evaluate(each.elements, sizes)], dtype_of(each.element))
        if each.data is not None:
            memory.view(np.uint8)[:] = np.frombuffer(b64decode(each.data), np.uint8)
        found.append(memory)
    return found


def _given(
    value: View | Number, memories: Sequence[Sequence[Given]], sizes: Sequence[int]
) -> Given:
    """Return what a step gives a kernel, of arguments and temporaries."""
    arguments, temporaries = memories
    if isinstance(value, Number):
        at = value.argument
        return evaluate(value.value, sizes) if at is None else arguments[at]
    memory = np.asarray(
        (arguments if value.memory == "argument" else temporaries)[value.number]
    )
    if value.strides is None:
        return memory
    shape = [evaluate(size, sizes) for size in value.shape]
    strides = [memory.itemsize * evaluate(x, sizes) for x in value.strides]
    whole, first = memory_of(memory), evaluate(value.offset, sizes)
    count = 1 + sum(
        (n - 1) * x // memory.itemsize for n, x in zip(shape, strides, strict=True)
    )
    if min(shape, default=1) > 0 and not 0 <= first <= len(whole) - count:
        raise ValueError(
            f"expected a part of the {len(whole)} elements of {value.memory} "
            f"{value.number}, got {count} from {first}"
        )
    return strided(whole[first:], shape, strides)


def _three(grid: Grid) -> tuple[int, int, int]:
    try:
        sizes = tuple(map(index, (grid,) if isinstance(grid, int) else grid))
    except TypeError:  # a float is no number of work-groups
        sizes = ()
    if not 1 <= len(sizes) <= 3 or min(sizes) < 0 or max(sizes) > MAX_GROUPS:
        raise ValueError(
            f"expected a grid of one to three integers, 0 to {MAX_GROUPS}, got {grid}"
        )
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z
