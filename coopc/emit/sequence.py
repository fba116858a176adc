"""How a launch sequence is run: its `simt.sequence` as an `Interface`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.dialects import arith, bufferization, memref
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Block, Operation, SSAValue

from coopc.dialects import simt
from coopc.dialects.narrow import memref_type
from coopc.emit.interface import argument_of, interface_of, name_of
from coopc.emit.view import mixed
from coopc.emit.walker import Facts, NoForm, refusing
from coopc.interface import (
    Argument,
    Buffer,
    Expression,
    Interface,
    Number,
    Step,
    Temporary,
    View,
    What,
    evaluate,
    fields_of,
)
from coopc.ir.facts import constant_number


def computed(kind: str, left: Expression, right: Expression) -> Expression:
    """Return an operation on two numbers; what is known is computed.

    Raises:
        NoForm: it divides by 0.

    >>> computed("mul", 1, ("size", 0)), computed("add", 2, 3)
    (('size', 0), 5)
    """
    if isinstance(left, int) and isinstance(right, int):
        try:
            return evaluate((kind, left, right), ())
        except ValueError as error:
            raise NoForm(str(error)) from error
    neutral = {"mul": 1, "add": 0}.get(kind)
    if neutral is not None and neutral in (left, right):
        return right if left == neutral else left
    return (kind, left, right)


def product(sizes: Sequence[Expression]) -> Expression:
    found: Expression = 1
    for size in sizes:
        found = computed("mul", found, size)
    return found


def interfaces_of(
    kernels: Iterable[simt.Kernel], module: ModuleOp, facts: Facts
) -> list[Interface]:
    """How the kernels of a module, and then its launch sequences, are called.

    Raises:
        PassFailedException: a kernel cannot be called under the flavour.
    """
    found: list[Interface] = []
    for kernel in kernels:
        with refusing(kernel.func):
            found.append(interface_of(kernel, module, facts))
    return [*found, *sequences_of(module, facts)]


def as_unsigned(number: Expression) -> Expression:
    """Return a number modulo 2^64, if it may be negative."""
    return computed("mod", number, 1 << 64) if may_be_negative(number) else number


def may_be_negative(number: Expression) -> bool:
    """Whether a number may be negative if sizes are not."""
    if isinstance(number, int):
        return number < 0
    kind, *operands = number
    return kind == "sub" or any(map(may_be_negative, operands))


def sequences_of(module: ModuleOp, facts: Facts) -> list[Interface]:
    """Return the interfaces of the launch sequences of a module.

    Raises:
        PassFailedException: a sequence has an operation that no host does.
    """
    found: list[Interface] = []
    for op in module.ops:
        if isinstance(op, simt.SequenceOp):
            with refusing(op):
                found.append(_SequenceReader(op, facts).read())
    return found


def of_one_element(argument: Argument) -> Argument:
    """Return an argument that is no pointer.

    A memref of rank 0 holds one element in a sequence; in a kernel it is a pointer.
    """
    is_pointer = isinstance(argument, Buffer) and argument.is_pointer
    return replace(argument, strides=()) if is_pointer else argument


@dataclass(slots=True)
class _SequenceReader:
    """Follows the operations of a sequence."""

    op: simt.SequenceOp
    facts: Facts
    numbers: dict[SSAValue, Expression] = field(default_factory=lambda: {})
    views: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])
    temporaries: list[Temporary] = field(default_factory=list[Temporary])
    steps: list[Step] = field(default_factory=list[Step])
    results: list[tuple[Expression, ...]] = field(default_factory=lambda: [])

    def read(self) -> Interface:
        block, name = self.op.body.block, self.op.sym_name.data
        arguments = tuple(
            of_one_element(argument_of(name_of(arg, at), arg.type))
            for at, arg in enumerate(block.args)
        )
        fields = fields_of(arguments, self.facts.flavour)
        found = Interface(
            name, self.facts.flavour, arguments, fields, (1, 1, 1), None, None
        )
        sizes: dict[tuple[int, int], Expression] = {}
        for at, each in enumerate(found.sizes):
            sizes[each.argument, each.dimension] = ("size", at)
            if each.what is What.VALUE:
                self.numbers[block.args[each.argument]] = ("size", at)
        for at, (arg, given) in enumerate(zip(block.args, arguments, strict=True)):
            if isinstance(given, Buffer):
                shape = tuple(
                    sizes[at, dimension] if size is None else size
                    for dimension, size in enumerate(given.shape)
                )
                self.views[arg] = View("argument", at, 0, shape, None)
        for op in block.ops:
            self._operation(op)
        return replace(
            found,
            steps=tuple(self.steps),
            temporaries=tuple(self.temporaries),
            results=tuple(self.results),
        )

    def _operation(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp():
                if (number := constant_number(op.result)) is not None:
                    self.numbers[op.result] = int(number)
            case memref.DimOp():
                dimension = self._number(op.index)
                assert isinstance(dimension, int), op
                self.numbers[op.result] = self.views[op.source].shape[dimension]
            case simt.LaunchOp():
                given = tuple(map(self._given, op.arguments))
                self._use(given)
                self.steps.append(Step(op.kernel.root_reference.data, given))
            case _ if (kind := simt.HOST_ARITHMETIC.get(type(op))) is not None:
                left, right = map(self._number, op.operands)
                if type(op) in simt.HOST_UNSIGNED:
                    left, right = as_unsigned(left), as_unsigned(right)
                self.numbers[op.results[0]] = computed(kind, left, right)
            case _:
                self._memory(op)

    def _memory(self, op: Operation) -> None:
        match op:
            case bufferization.ToBufferOp():
                self._constant(op)
            case memref.AllocOp():
                shape = self._mixed(op.memref.type.get_shape(), op.dynamic_sizes)
                self.views[op.memref] = self._temporary(op.memref.type, shape)
            case simt.ResultOp():
                shape = self._mixed(memref_type(op.memory).get_shape(), op.sizes)
                self.results.append(shape)
                old = self.views[op.memory]
                self.views[op.memory] = replace(old, shape=shape)
            case memref.ReinterpretCastOp():
                offset = self._mixed(op.static_offsets.get_values(), op.offsets)
                shape = self._mixed(op.static_sizes.get_values(), op.sizes)
                strides = self._mixed(op.static_strides.get_values(), op.strides)
                old = self.views[op.source]
                self.views[op.result] = replace(
                    old, offset=offset[0], shape=shape, strides=strides
                )
            case memref.CastOp():
                self.views[op.dest] = self.views[op.source]
            case _:
                raise NoForm(f"expected what a host does between launches: {op.name}")

    def _constant(self, op: bufferization.ToBufferOp) -> None:
        type, owner = memref_type(op.memref), op.tensor.owner
        attr = owner.value if isinstance(owner, arith.ConstantOp) else None
        if not isinstance(attr, DenseIntOrFPElementsAttr):
            raise NoForm(f"expected a constant, got {op.tensor.type}")
        view = self._temporary(type, tuple(type.get_shape()))
        data = attr.data.data
        if attr.is_splat():
            data *= prod(type.get_shape())
        old = self.temporaries[view.number]
        text = b64encode(data).decode()
        self.temporaries[view.number] = replace(old, data=text)
        self.views[op.memref] = view

    def _temporary(self, type: MemRefType, shape: tuple[Expression, ...]) -> View:
        strides = tuple(product(shape[at + 1 :]) for at in range(len(shape)))
        found = View("temporary", len(self.temporaries), 0, shape, strides)
        steps = len(self.steps), len(self.steps)
        element = str(type.get_element_type())
        self.temporaries.append(Temporary(element, product(shape), steps))
        return found

    def _use(self, given: Sequence[View | Number]) -> None:
        """Note that the next step uses memory."""
        for each in given:
            if isinstance(each, View) and each.memory == "temporary":
                old = self.temporaries[each.number]
                self.temporaries[each.number] = replace(
                    old, steps=(old.steps[0], len(self.steps))
                )

    def _given(self, value: SSAValue) -> View | Number:
        if value in self.views:
            return self.views[value]
        if value not in self.numbers and isinstance(owner := value.owner, Block):
            return Number(owner.args.index(value))
        return Number(None, self._number(value))

    def _number(self, value: SSAValue) -> Expression:
        if (found := self.numbers.get(value)) is None:
            raise NoForm(
                "expected numbers that a host computes from the sizes of arguments, "
                f"got %{value.name_hint or '?'}"
            )
        return found

    def _mixed(
        self, static: Sequence[int], dynamic: Sequence[SSAValue]
    ) -> tuple[Expression, ...]:
        """Numbers of which some are attributes and the others operands."""
        return tuple(mixed(static, map(self._number, dynamic)))
