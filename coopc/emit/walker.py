"""Walks the operations of a function and makes blocks of `scf`, for any target.

The emission of a function in a target is a `Walker`: it has labels, branches and phis,
keeps what each value of the IR became, and emits operations.  The handlers here turn
`scf` into blocks.

| operation          | blocks                                                      |
|--------------------|-------------------------------------------------------------|
| scf.for            | for (phis, test) -> body -> again (step) -> for; done       |
| scf.while          | while (phis) -> before (test) -> after -> again -> while;   |
|                    | done                                                        |
| scf.if             | then, else -> done (phis)                                   |
| scf.index_switch   | a block a case, default -> done (phis)                      |
| scf.execute_region | none: the operations of its block                           |

The blocks are in an order in which definitions dominate uses, and every construct has
one entry and one exit, as SPIR-V's structured control flow asks: `open_loop` and
`open_selection` say where it ends before it is entered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NoReturn, TypeAlias, TypeVar

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import PassFailedException

from coopc.device import Device
from coopc.device.model import Flavour
from coopc.dialects import simt
from coopc.dialects.coopmatrix import FloatElement
from coopc.dialects.narrow import is_integer, is_vector

MOST_EMITTED = 50_000
"""Operations of a function, which take some 5 seconds of a processor."""


class NoForm(Exception):
    """Why a target cannot say what an operation says; the walker names that."""


def refuse(op: Operation, reason: str) -> NoReturn:
    op.emit_error(reason, PassFailedException(reason))


@contextmanager
def refusing(op: Operation) -> Generator[None]:
    """Report at an operation what is refused and was not reported at another."""
    try:
        yield
    except NoForm as refusal:
        refuse(op, str(refusal))


# Handlers: what an emitter does with each operation, found by the operation's type.
#
#     handlers = Handlers[Emission]()
#
#     @handlers.on(simt.BarrierOp)
#     def barrier(e: Emission, op: simt.BarrierOp) -> None: ...
#
# A handler gets the emission of a function and the operation, and sets what its results
# became.  It raises `NoForm` where the target has no way to say it.  The modules of an
# emitter that have such `handlers` are imported when one of their dialects is met.

Emission = TypeVar("Emission")
"""Of a function, in some target."""
Op = TypeVar("Op", bound=Operation)
Handler: TypeAlias = Callable[[Emission, Any], None]


class Handlers(Generic[Emission]):
    """The handlers of some operations."""

    def __init__(self, *shared: Handlers[Any]) -> None:
        self.table: dict[type[Operation], Handler[Emission]] = {
            op: handler for each in shared for op, handler in each.table.items()
        }

    def on(
        self, *ops: type[Op]
    ) -> Callable[[Callable[[Emission, Op], None]], Callable[[Emission, Op], None]]:

        def register(
            handler: Callable[[Emission, Op], None],
        ) -> Callable[[Emission, Op], None]:
            for op in ops:
                self.add(op, handler)
            return handler

        return register

    def add(self, op: type[Operation], handler: Handler[Emission]) -> None:
        assert op not in self.table, f"{op.name} has two handlers"
        self.table[op] = handler


# Control flow.


class Walker(ABC):
    """The operations and blocks of one function, and what its values became.

    What labels are, and what values become, is the target's.
    """

    structured: ClassVar[bool]
    """Whether a loop's header must end where its body begins, and say where it ends."""
    index: Any
    """The index arithmetic of the function."""

    def __init__(self) -> None:
        self.became: dict[SSAValue, Any] = {}
        """What each value of the IR became."""
        self.emitted = 0
        """Operations so far; those of a function that is emitted in place count."""

    # --- blocks ------------------------------------------------------------------

    @abstractmethod
    def label(self, name: str) -> Any:
        """A label of a block to come."""

    @abstractmethod
    def begin(self, label: Any) -> None:
        """Begin the block of a label; the one before it has ended."""

    @abstractmethod
    def here(self) -> Any:
        """The label of the block that is being emitted."""

    @abstractmethod
    def jump(self, target: Any) -> None:
        """End the block with a branch."""

    @abstractmethod
    def branch(self, condition: Any, yes: Any, no: Any) -> None:
        """End the block with a branch on an i1."""

    @abstractmethod
    def switch(
        self, selector: Any, cases: Sequence[tuple[int, Any]], default: Any
    ) -> None:
        """End the block with a branch on an index."""

    def open_loop(self, done: Any, again: Any) -> None:
        """Say, just before the header ends, where its loop ends and repeats."""
        return

    def open_selection(self, done: Any) -> None:
        """Say, just before a block branches, where the branches meet."""
        return

    @abstractmethod
    def phi(self, value: SSAValue, like: Any) -> Any:
        """What a value is that is chosen by where control comes from."""

    @abstractmethod
    def arrive(self, phi: Any, value: Any, source: Any) -> None:
        """Say what a phi is when control comes from a block.

        Raises:
            NoForm: the values cannot be chosen between at run time.
        """

    def begin_control(self, op: Operation) -> None:
        """An operation of `scf` begins."""
        return

    def end_control(self, op: Operation) -> None:
        return

    def enter(self) -> None:
        """A region begins: what is defined from here on is not seen after it."""
        self.index.enter()

    def leave(self) -> None:
        self.index.leave()

    # --- operations --------------------------------------------------------------

    def region(self, region: Region) -> Operation:
        """Emit the operations of a region of one block; return its terminator."""
        if len(region.blocks) != 1:
            raise NoForm(f"expected a region of one block, got {len(region.blocks)}")
        self.enter()
        last = self.block(region.block)
        self.leave()
        return last

    def block(self, block: Block) -> Operation:
        """Emit the operations of a block; return its terminator, not emitted."""
        last = block.last_op
        for op in block.ops:
            if op is last and op.has_trait(IsTerminator):
                return op
            self.emitted += 1
            try:
                if self.emitted > MOST_EMITTED:
                    raise NoForm(
                        f"expected a function of at most {MOST_EMITTED} operations, "
                        "with those of the functions that it calls in place of calls"
                    )
                self.operation(op)
            except NoForm as refusal:
                refuse(op, str(refusal))
        raise NoForm("expected a block that ends in a terminator")

    @abstractmethod
    def operation(self, op: Operation) -> None:
        """Emit an operation, which may stand nowhere in the IR, and set its results.

        Raises:
            NoForm: it has no form.
        """

    def added(self, op: Operation) -> SSAValue:
        """The result of an operation that stands nowhere in the IR."""
        self.operation(op)
        op.drop_all_references()
        return op.results[0]

    @abstractmethod
    def value(self, value: SSAValue) -> Any:
        """The one value that a number, a vector or a matrix became."""

    def results(self, op: Operation, values: Sequence[Any]) -> None:
        for result, value in zip(op.results, values, strict=True):
            self.became[result] = value

    def carried(self, value: SSAValue, first: Any, source: Any) -> Any:
        """A phi for an SSA value, of which one choice is known."""
        phi = self.phi(value, first)
        self.arrive(phi, first, source)
        self.became[value] = phi
        return phi

    def given(self, values: Sequence[SSAValue]) -> list[Any]:
        return [self.became[value] for value in values]

    def loop(self, region: Region, phis: Sequence[Any], again: Any) -> None:
        """Emit a loop's last region; its phis take what it yields, from `again` on."""
        last = self.region(region)
        self.jump(again)
        self.begin(again)
        for phi, value in zip(phis, self.given(last.operands), strict=True):
            self.arrive(phi, value, again)

    def branches(
        self, op: Operation, arms: Sequence[tuple[Any, Region]], done: Any
    ) -> None:
        """Emit regions that each end at `done`, and choose the operation's results."""
        arrivals: list[tuple[list[Any], Any]] = []
        for label, region in arms:
            self.begin(label)
            last = self.region(region)
            arrivals.append((self.given(last.operands), self.here()))
            self.jump(done)
        self.begin(done)
        first, _ = arrivals[0]
        phis = [
            self.phi(result, value)
            for value, result in zip(first, op.results, strict=True)
        ]
        for values, source in arrivals:
            for phi, value in zip(phis, values, strict=True):
                self.arrive(phi, value, source)
        self.results(op, phis)


def unrolls(op: Operation) -> bool | None:
    """Return the value of `simt.unroll`, or None if it is absent.

    Raises:
        NoForm: it is neither true nor false.
    """
    match op.attributes.get(simt.UNROLL):
        case None:
            return None
        case IntegerAttr(value=value, type=type) if type == i1:
            return bool(value.data)
        case found:
            raise NoForm(f"expected {simt.UNROLL} to be true or false, got {found}")


def _for(walker: Walker, op: scf.ForOp) -> None:
    lower, *inits = walker.given((op.lb, *op.iter_args))
    header, body, again, done = map(walker.label, ("for", "body", "again", "done"))
    before = walker.here()
    walker.jump(header)
    walker.begin(header)
    index, *carried = (
        walker.carried(arg, first, before)
        for arg, first in zip(op.body.block.args, (lower, *inits), strict=True)
    )
    variable = op.body.block.args[0]
    more = walker.value(walker.added(arith.CmpiOp(variable, op.ub, "slt")))
    walker.open_loop(done, again)
    walker.branch(more, body, done)
    walker.begin(body)
    walker.loop(op.body, carried, again)
    stepped = walker.added(arith.AddiOp(variable, op.step))
    walker.arrive(index, walker.became[stepped], again)
    walker.jump(header)
    walker.begin(done)
    walker.results(op, carried)


def _while(walker: Walker, op: scf.WhileOp) -> None:
    header, test, body, again, done = map(
        walker.label, ("while", "before", "after", "again", "done")
    )
    before = walker.here()
    firsts = walker.given(op.arguments)
    walker.jump(header)
    walker.begin(header)
    carried = [
        walker.carried(arg, first, before)
        for arg, first in zip(op.before_region.block.args, firsts, strict=True)
    ]
    walker.open_loop(done, again)
    walker.jump(test)
    walker.begin(test)
    # What the first region defines is seen in the second and after the loop.
    last = walker.block(op.before_region.block)
    condition, *passing = last.operands
    passed = walker.given(passing)
    walker.branch(walker.value(condition), body, done)
    walker.begin(body)
    for arg, value in zip(op.after_region.block.args, passed, strict=True):
        walker.became[arg] = value
    walker.loop(op.after_region, carried, again)
    walker.jump(header)
    walker.begin(done)
    walker.results(op, passed)


def _if(walker: Walker, op: scf.IfOp) -> None:
    condition = walker.value(op.cond)
    arms = [(walker.label("then"), op.true_region)]
    done = walker.label("done")
    if op.false_region.blocks:
        arms.append((walker.label("else"), op.false_region))
    walker.open_selection(done)
    walker.branch(condition, arms[0][0], arms[1][0] if len(arms) > 1 else done)
    walker.branches(op, arms, done)


def _index_switch(walker: Walker, op: scf.IndexSwitchOp) -> None:
    selector = walker.value(op.arg)
    done, default = walker.label("done"), walker.label("default")
    numbers = [int(number) for number in op.cases.get_values()]
    cases = [(number, walker.label(f"case{number}")) for number in numbers]
    walker.open_selection(done)
    walker.switch(selector, cases, default)
    labels = [label for _, label in cases]
    arms = list(zip(labels, op.case_regions, strict=True))
    walker.branches(op, [*arms, (default, op.default_region)], done)


def _execute_region(walker: Walker, op: scf.ExecuteRegionOp) -> None:
    if len(op.region.blocks) != 1:
        raise NoForm(f"expected a region of one block, got {len(op.region.blocks)}")
    walker.results(op, walker.given(walker.block(op.region.block).operands))


_BLOCKS: dict[type[Operation], Callable[[Walker, Any], None]] = {
    scf.ForOp: _for,
    scf.WhileOp: _while,
    scf.IfOp: _if,
    scf.IndexSwitchOp: _index_switch,
    scf.ExecuteRegionOp: _execute_region,
}
control_flow = Handlers[Walker]()
"""Of `scf`, for any target."""


@control_flow.on(*_BLOCKS)
def _control(walker: Walker, op: Operation) -> None:
    walker.begin_control(op)
    _BLOCKS[type(op)](walker, op)
    walker.end_control(op)


# A flavour on a device: what emission asks before it says something.


@dataclass(frozen=True, slots=True)
class Facts:
    """What a module is emitted for."""

    flavour: Flavour
    device: Device
    addresses: bool = False
    """Whether kernels get addresses of physical storage buffers under Vulkan, not
    bound ones."""

    def __post_init__(self) -> None:
        if self.addresses and self.flavour != "vulkan":
            raise ValueError(
                "expected the flavour vulkan, which has physical storage buffers, "
                f"got {self.flavour}"
            )
        if self.flavour not in self.device.flavours:
            has = " or ".join(self.device.flavours) or "no flavour of SPIR-V"
            raise ValueError(
                f"expected {has}, which {self.device.name} has, got {self.flavour}"
            )

    @property
    def vulkan(self) -> bool:
        return self.flavour == "vulkan"


def as_flavour(name: str) -> Flavour:
    """A flavour by its name.

    Raises:
        ValueError: there is none of that name.
    """
    match name:
        case "vulkan":
            return "vulkan"
        case "opencl":
            return "opencl"
        case _:
            raise ValueError(f"expected the flavour vulkan or opencl, got {name!r}")


# Elements of numbers and vectors, as both emitters see them.


def element_of(type: Attribute) -> Attribute:
    """The type of one component of a number or a vector of them."""
    return type.element_type if is_vector(type) else type


def is_i1(type: Attribute) -> bool:
    """Whether a number or the components of a vector are i1."""
    return element_of(type) == i1


def refuse_i1(op: Operation) -> None:
    """Refuse an operation on i1, where there is none."""
    if is_i1(op.operands[0].type):
        raise NoForm("expected integers of 8 bits or more, got i1")


def count_of(type: Attribute) -> int:
    """How many components a number or a vector of them has."""
    return type.element_count() if is_vector(type) else 1


_OPTIONAL = frozenset({"f16", "f64", "i8", "i16", "i64"})
"""What `Device.scalars` is about."""
INTEGER_BITS = (1, 8, 16, 32, 64)


def check_number(type: Attribute, device: Device) -> None:
    """Check that a device has numbers of a type.

    Raises:
        NoForm: it has none, or emission knows none.
    """
    name = str(type)
    if name in _OPTIONAL and name not in device.scalars:
        raise NoForm(f"{device.name} has no {name}")
    if is_integer(type) and type.width.data not in INTEGER_BITS:
        raise NoForm(f"expected integers of 1, 8, 16, 32, 64 bits, got {type}")
    if not isinstance(type, IndexType | IntegerType | FloatElement):
        raise NoForm(f"expected {NUMBERS}, got {type}")


NUMBERS = "integers, index, f8E4M3FN, f8E5M2, f8E8M0FNU, f16, bf16, f32 or f64"
"""What numbers are, for messages: there are other floats."""


def constant_bits(type: Attribute, value: float, bits: int) -> int:
    """The bits of a float of a type, as it rounds to it; an integer as it is.

    Args:
        type: of the number.
        value: an int of an integer type, a float of a float type.
        bits: the width of the type.

    Raises:
        NoForm: it is an integer of more bits.
    """
    if not isinstance(type, IndexType | IntegerType):
        from coopc.rounding import FORMATS

        return FORMATS[type.name].encode(value)
    number = int(value)
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise NoForm(f"expected a constant of at most {bits} bits, got {value}")
    return number
