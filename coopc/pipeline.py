"""Pipelines as passes, and how a list of passes runs.

A `Pipeline` is one pass made of others, its `steps`.  `xdsl-opt` runs it whole;
coopc's tools run what `flatten` makes of it, so that each step is timed, printed,
verified and validated by itself.

Every pipeline begins with the checks that xDSL's verifier lacks.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Self, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, ErasedSSAValue, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import (
    DiagnosticException,
    PassFailedException,
    VerifyException,
)

from coopc.diagnostic import Kind
from coopc.explain import author_of, blame_for, explaining, reason
from coopc.options import make, read_specs
from coopc.passes.generic.check_dominance import CheckDominancePass, check_dominance
from coopc.source import Source
from coopc.xdsl_gaps import (
    blame,
    check_alignment,
    check_combining,
    check_rank,
    check_steps,
    check_symbols,
    check_yields,
    counting_operations,
    finding_symbols_once,
    keeping_locations,
    locate_by_neighbour,
)

DIALECTS = ("simt.", "coopmatrix.")
"""How attributes begin that are verified where they stand on other operations."""


def checks() -> tuple[ModulePass, ...]:
    """What every pipeline runs first."""
    # Knows all dialects that vary: too much to import where nothing is a pipeline.
    from coopc.passes.generic.check_bounds import CheckBoundsPass
    from coopc.passes.generic.check_uniformity import CheckUniformityPass

    return (CheckDominancePass(), CheckBoundsPass(), CheckUniformityPass())


class ConditionalStep(ModulePass):
    """A step that leaves some modules as they are, which is cheaper to know before."""

    @abstractmethod
    def is_needed(self, module: ModuleOp) -> bool:
        """Whether the step may change a module."""


@dataclass(frozen=True)
class Pipeline(ModulePass):
    """A pass that is a sequence of passes."""

    def __post_init__(self) -> None:
        self.steps()  # which check the options

    @abstractmethod
    def steps(self) -> tuple[ModulePass, ...]:
        """What it does, in order, after the checks."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run all steps, verifying after each."""
        for step in flatten((self,)):
            step.apply(ctx, op)
            op.verify()


def flatten(passes: Iterable[ModulePass]) -> tuple[ModulePass, ...]:
    """`passes` with each pipeline replaced by the checks and its steps."""
    flat: list[ModulePass] = []
    for each in passes:
        if isinstance(each, Pipeline):
            first = checks()
            flat += first
            flat += (step for step in flatten(each.steps()) if step not in first)
        else:
            flat.append(each)
    return tuple(flat)


def read_passes(
    text: str, known: Mapping[str, Callable[[], type[ModulePass]]]
) -> tuple[ModulePass, ...]:
    """The passes that `text` lists, with their options; pipelines are flattened.

    Raises:
        CompileError: `text` is no list of `known` passes with options that they have.
    """
    source = Source(text, "pass-pipeline")
    return flatten(
        make(source, spec, known, "pass", offset) for offset, spec in read_specs(source)
    )


class Observer:
    """What is done before the first step and after each one, beside verifying."""

    def start(self, module: ModuleOp) -> None:
        """Called before the first step."""

    def after(self, step: ModulePass, module: ModuleOp, last: bool) -> None:
        """Called after `step`, which is the `last` or not; may fail as a pass does."""


MOST_WORK = 500_000
"""Operations that all passes of a run look at: 5 to 20 seconds of a CPU."""
MOST_EACH = 100
"""The same for each operation of a large program: steps are some 30, and a few of them
put most operations into a block, at `PLACING` each."""
PLACING = 3
"""So many are looked at in the time that it takes to put one into a block."""


@dataclass
class Work:
    """What passes do with operations, which takes more than milliseconds for each.

    It is counted, not timed, so that a program is refused on every machine or on none.
    A program may be large; it may not become many times as large.
    """

    most: int
    done: int = 0
    step: str = ""

    @classmethod
    def on(cls, module: Snapshot) -> Work:
        """Return what passes may do with a module."""
        return cls(max(MOST_WORK, MOST_EACH * module.operations))

    def begin(self, step: str, module: Snapshot) -> None:
        """A pass looks at a module."""
        self.step = step
        self._add(module.operations)

    def place(self) -> None:
        """It puts an operation into a block."""
        self._add(PLACING)

    def _add(self, work: int) -> None:
        self.done += work
        if self.done > self.most:
            raise PassFailedException(
                f"expected at most {self.most} operations for all passes to look at, "
                f"where placing one counts {PLACING}, got more in '{self.step}': hold "
                "smaller matrices, or loop over what is repeated"
            )


@dataclass(frozen=True)
class Run:
    ctx: Context
    source: Source
    """Where the module came from, for diagnostics."""
    verify: bool = True
    """Whether the module is verified at first and after each step, what that changed;
    with `COOPC_VERIFY=all` all of it."""
    observers: Sequence[Observer] = ()

    def apply(self, module: ModuleOp, steps: Sequence[ModulePass]) -> None:
        """Run `steps` over `module`.

        Raises:
            CompileError: The module is not valid, or a step failed.
        """
        with keeping_locations():
            before = Snapshot.of(module)
            self._verify(module, before)
            work = Work.on(before)
            for observer in self.observers:
                observer.start(module)
            for number, step in enumerate(steps, start=1):
                with explaining(Kind.PASS, self.source, f"pass '{step}'", step):
                    work.begin(str(step), before)
                    runs = not isinstance(step, ConditionalStep) or (
                        step.is_needed(module)
                    )
                    if runs:
                        with counting_operations(work.place):
                            step.apply(self.ctx, module)
                if runs:
                    locate_by_neighbour(module)
                after = Snapshot.of(module, before) if runs else before
                if after != before or verifies_all():
                    self._verify(module, after, step, after.changed(before))
                before = after
                for observer in self.observers:
                    what = f"the check of pass '{step}'"
                    with explaining(Kind.PASS, self.source, what):
                        observer.after(step, module, number == len(steps))

    def _verify(
        self,
        module: ModuleOp,
        snapshot: Snapshot,
        step: ModulePass | None = None,
        changed: Sequence[bool] | None = None,
    ) -> None:
        if not self.verify:
            return
        after = "" if step is None else f" after pass '{step}'"
        with explaining(Kind.VERIFY, self.source, f"verification{after}"):
            try:
                if verifies_all():
                    verify(module)
                else:
                    verify(module, changed, snapshot)
            except VerifyException as error:
                if step is not None:
                    _, whose = blame_for(error, step)
                    error.add_note(f"after pass '{step}', which left it so; {whose}")
                raise


def verifies_all() -> bool:
    """Whether `COOPC_VERIFY=all` asks to verify what no step changed, as tests do."""
    return os.environ.get("COOPC_VERIFY") == "all"


Key: TypeAlias = tuple[object, ...]
ALIKE = ("arith", "coopmatrix", "math", "memref", "simt", "tt", "vector", "xe")
"""Dialects whose operations without regions are verified by their attributes, by the
types of what they use and define, and by the function around them."""
STRUCTURED = ("scf.if", "scf.for", "scf.yield")
"""Operations that are verified by the ends of their blocks, or by what they end."""
STATE = attrgetter("parent", "_operands", "_successors", "results")
OPERANDS = attrgetter("_operands")
TYPE = attrgetter("_type")


@dataclass(slots=True)
class Keys:
    """What verification sees of operations.

    Of those in one function with one key, all are valid or none.
    """

    _numbers: dict[Attribute, int] = field(default_factory=dict[Attribute, int])
    _by_id: dict[int, int] = field(default_factory=dict[int, int])
    _known: list[Attribute] = field(default_factory=list[Attribute])
    """Those in `_by_id`, which no other attributes are while they are here."""
    _alike: dict[type, str] = field(default_factory=dict[type, str])
    """Kinds of operations: by their dialect, by their name, or no others are alike."""

    def of(self, op: Operation) -> Key | None:
        """Return the key of an operation, or None if it may not be like another."""
        if (alike := self._alike.get(type(op))) is None:
            alike = "name" if op.name in STRUCTURED else ""
            alike = "dialect" if op.dialect_name() in ALIKE else alike
            self._alike[type(op)] = alike
        operands = OPERANDS(op)
        if not alike or ErasedSSAValue in map(type, operands):
            return None
        if alike == "dialect" and (op.regions or op.next_op is None):
            return None
        return (
            type(op),
            *self._types(operands),
            None,
            *self._types(op.results),
            *[(name, self._number(x)) for name, x in op.properties.items()],
            None,
            *[(name, self._number(x)) for name, x in op.attributes.items()],
            *(self._structure(op) if alike == "name" else ()),
        )

    def _structure(self, op: Operation) -> Iterator[object]:
        around = op.parent_op()
        if op.name == "scf.yield" and around is not None:
            yield from (op.next_op is None, type(around), *self._types(around.results))
        for region in op.regions:
            yield len(region.blocks)
            for block in region.blocks:
                yield from (type(block.last_op), *self._types(block.args), None)
                if block.last_op is not None:
                    yield from self._types(block.last_op.operands)

    def _types(self, values: Iterable[SSAValue]) -> list[int]:
        known, number = self._by_id.get, self._number
        return [known(id(x)) or number(x) for x in map(TYPE, values)]

    def _number(self, attr: Attribute) -> int:
        """Return the number of an attribute, that of all equal ones; hashed once."""
        if (found := self._by_id.get(id(attr))) is None:
            found = self._numbers.setdefault(attr, len(self._numbers) + 1)
            self._by_id[id(attr)] = found
            self._known.append(attr)
        return found


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of a module that verification looks at: equal while no step changes that.

    Operations, values and blocks are themselves, not what they are like; names and
    locations are left out.
    """

    head: list[object]
    """The module and the operations directly in it, without their regions: all that
    the verification of one may ask of another."""
    bodies: list[list[object]]
    """Each operation directly in the module, with its regions."""
    operations: int
    keys: Keys = field(compare=False)
    verified: list[set[Key]] = field(compare=False)
    """For each operation directly in the module, the keys of what was verified in it
    since `head` is what it is."""

    @classmethod
    def of(cls, module: ModuleOp, before: Snapshot | None = None) -> Self:
        """Take one, perhaps after another of the same module."""
        head: list[object] = []
        bodies: list[list[object]] = []
        operations = 1
        for op in (module, *module.ops):
            head += (type(op), op.properties.copy(), op.attributes.copy())
        for top in module.ops:
            body: list[object] = []
            for op in top.walk():
                operations += 1
                body += (op, *STATE(op), op.properties.copy(), op.attributes.copy())
                body += map(TYPE, op.results)
                for region in op.regions:
                    for block in region.blocks:
                        body += (block, block.args, *map(TYPE, block.args))
            bodies.append(body)
        keys = Keys() if before is None else before.keys
        if before is not None and before.head == head:
            return cls(head, bodies, operations, keys, before.verified)
        return cls(head, bodies, operations, keys, [set() for _ in bodies])

    def changed(self, before: Snapshot) -> Sequence[bool]:
        """Whether each operation directly in the module is to be verified again."""
        if self.head != before.head:
            return [True] * len(self.bodies)
        return [x != y for x, y in zip(self.bodies, before.bodies, strict=True)]


def verify(
    module: ModuleOp,
    changed: Sequence[bool] | None = None,
    snapshot: Snapshot | None = None,
) -> None:
    """Verify as xDSL does, and that definitions dominate uses; blame one operation.

    Args:
        module: the module.
        changed: which operations directly in it to verify; all of them without it.
        snapshot: of the module, if of those alike one is enough.

    Raises:
        VerifyException: The module is not valid.
    """
    with finding_symbols_once():
        for number, top in enumerate(module.ops):
            if changed is not None and not changed[number]:
                continue
            for op in top.walk(region_first=True):
                key = None if snapshot is None else snapshot.keys.of(op)
                if key is None or snapshot is None:
                    _verify_operation(op)
                elif key not in snapshot.verified[number]:
                    _verify_operation(op)
                    snapshot.verified[number].add(key)
        _verify_operation(module)
    check_dominance(module)


def _verify_operation(op: Operation) -> None:
    try:
        for region in op.regions:
            for block in region.blocks:
                if block.first_op is None:
                    block.verify()
        if op.regions:
            check_symbols(op)
            check_steps(op)
        op.verify(verify_nested_ops=False)
        check_yields(op)
        check_combining(op)
        check_alignment(op)
        check_rank(op)
        if any(name.startswith(DIALECTS) for name in op.attributes):
            # Of these dialects; what has none need not import them.
            from coopc.dialects.discardable_attributes import verify_attributes

            verify_attributes(op)
    except (DiagnosticException, RecursionError, MemoryError) as error:
        blame(error, op, str(error))
        raise
    except Exception as error:
        plain = type(error) is Exception  # as xDSL's memref.load means it
        if not plain and author_of(error) != "xdsl":
            blame(error, op, str(error))
            raise
        message = str(error) if plain else f"xDSL does not verify it: {reason(error)}"
        wrong = VerifyException(message)
        blame(wrong, op, message)
        raise wrong from error
