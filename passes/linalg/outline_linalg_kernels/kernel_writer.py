"""A kernel of a launch sequence, as a function on memrefs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    FunctionType,
    MemRefType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from coopc.dialects.narrow import is_tensor, memref_type, tensor_type
from coopc.ir.builder import INDEX, Builder
from coopc.ir.transaction import Refused
from coopc.passes.linalg.fuse_linalg import constant_of, maps_of, output_arguments


@dataclass(slots=True)
class KernelWriter:
    """A kernel while it is written."""

    b: Builder
    given: list[SSAValue] = field(default_factory=list[SSAValue])
    """What the sequence gives for each argument."""
    known: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What values of the function are here: memrefs for tensors."""

    @classmethod
    def at(cls, op: Operation) -> KernelWriter:
        """Return an empty kernel in place of an operation."""
        return cls(Builder.at_end(Block(), op.location))

    def argument(self, given: SSAValue, name: str | None) -> SSAValue:
        """Return the argument for which the sequence gives a value."""
        block = self.b.block
        if given in self.given:
            return block.args[self.given.index(given)]
        found = block.insert_arg(given.type, len(block.args))
        found.name_hint = name or given.name_hint
        self.given.append(given)
        return found

    def function(self, name: str) -> FuncOp:
        """Return the kernel: no other operation can be written after that."""
        self.b.effect(ReturnOp())
        type = FunctionType.from_lists(self.b.block.arg_types, [])
        found = FuncOp(name, type, Region(self.b.block))
        found.location = self.b.location
        return found

    # Operations

    def fill(self, value: SSAValue, target: SSAValue) -> None:
        """Write the number that a tensor is in every element."""
        number = constant_of(value)
        assert number is not None, value
        if isinstance(number, arith.ConstantOp):
            number = self.b.effect(number).results[0]
        else:
            number = self.operand(number)
        self.b.effect(linalg.FillOp([number], [target], []))

    def copy(self, source: SSAValue, target: SSAValue) -> None:
        type = memref_type(target)
        rank, element = type.get_num_dims(), type.get_element_type()
        body = Block(arg_types=[element, element])
        body.add_op(linalg.YieldOp(body.args[0]))
        map = AffineMapAttr(AffineMap.identity(rank))
        kinds = [IteratorTypeAttr(IteratorType.PARALLEL)] * rank
        self.b.effect(
            linalg.GenericOp([source], [target], Region(body), [map] * 2, kinds)
        )

    def generic(self, op: linalg.GenericOp) -> None:
        """Write an operation whose operands and results are known as memrefs."""
        outputs = [self.known[x] for x in op.results]
        inputs = [self.operand(x) for x in op.inputs]
        inside = set(op.walk())
        for each in op.body.walk():
            for x in each.operands:
                owner = x.owner
                around = owner.parent_op() if isinstance(owner, Block) else owner
                if around not in inside:
                    self.operand(x)
        region = Region()
        op.body.clone_into(region, value_mapper=dict(self.known))
        new = linalg.GenericOp(
            inputs, outputs, region, op.indexing_maps, op.iterator_types
        )
        for each in list(region.walk()):
            if isinstance(each, tensor.ExtractOp):
                load = memref.LoadOp.get(each.tensor, each.indices)
                Rewriter.replace_op(each, load)
        self.b.effect(new)

    def temporary(self, op: linalg.GenericOp, at: int) -> None:
        """Allocate memory of the kernel's for a result that nothing else reads."""
        result = op.results[at]
        type = tensor_type(result)
        own = maps_of(op)[len(op.inputs) + at]
        sizes: list[SSAValue] = []
        for expr, size in zip(own.results, type.get_shape(), strict=True):
            if size == DYNAMIC_INDEX:
                if (found := self._size(op, expr)) is None:
                    raise Refused(op, "no operand tells how long a loop of it is")
                sizes.append(found)
        shape = MemRefType(type.element_type, type.get_shape())
        new = self.b.effect(memref.AllocOp(sizes, [], shape)).results[0]
        new.name_hint = result.name_hint
        self.known[result] = new

    def _size(self, op: linalg.GenericOp, expr: AffineExpr) -> SSAValue | None:
        """Return how long a loop is, from an operand of it or of what reads it."""
        values = *op.inputs, *op.results
        for value, map in zip(values, maps_of(op), strict=True):
            memory = self.known.get(value)
            if memory is None or expr not in map.results:
                continue
            assert isinstance(expr, AffineDimExpr), op
            at = map.results.index(expr)
            own = memory.owner
            if not isinstance(own, memref.AllocOp):
                return self.b.pure(memref.DimOp, memory, self.b.constant(INDEX, at))
            shape = memref_type(memory).get_shape()
            if shape[at] != DYNAMIC_INDEX:
                return self.b.constant(INDEX, shape[at])
            return own.dynamic_sizes[list(shape[:at]).count(DYNAMIC_INDEX)]
        for result, own in zip(op.results, maps_of(op)[len(op.inputs) :], strict=True):
            for use in result.uses if expr in own.results else ():
                reader = use.operation
                if isinstance(reader, linalg.GenericOp):
                    its = maps_of(reader)[use.index].results[own.results.index(expr)]
                    if (found := self._size(reader, its)) is not None:
                        return found
        return None

    # Values of the function

    def operand(self, value: SSAValue) -> SSAValue:
        """Return what a value of the function is here; numbers are computed again."""
        if (found := self.known.get(value)) is not None:
            return found
        op = value.owner
        assert isinstance(op, Operation), value
        if isinstance(op, tensor.ExtractOp):
            memory = self.known[op.tensor]
            indices = [self.operand(x) for x in op.indices]
            found = self.b.effect(memref.LoadOp.get(memory, indices)).results[0]
        elif isinstance(op, tensor.DimOp):
            operands = self.operand(op.source), self.operand(op.index)
            found = self.b.effect(memref.DimOp(*operands)).results[0]
        else:
            operands = {x: self.operand(x) for x in op.operands}
            at = [x is value for x in op.results].index(True)
            found = self.b.effect(op.clone(operands)).results[at]
        self.known[value] = found
        return found


def leaves_of(
    ops: Sequence[linalg.GenericOp], numbers: Sequence[SSAValue] = ()
) -> list[SSAValue]:
    """Return what a kernel is given for operations and numbers, in their order.

    These are tensors that it reads, and scalars that are arguments of the function;
    what outputs hold before is in their memory.

    Raises:
        Refused: a number is computed by what no kernel does.
    """
    found: dict[SSAValue, None] = {}
    inside = {x for op in ops for x in op.walk()}
    todo = list(numbers)
    for op in ops:
        todo += op.inputs
        for init, arg in zip(op.outputs, output_arguments(op), strict=True):
            number = constant_of(init) if arg.uses else None
            if isinstance(number, SSAValue):
                todo.append(number)
        todo += (x for each in op.body.walk() for x in each.operands)
    todo.reverse()
    seen: set[SSAValue] = set()
    while todo:
        value = todo.pop()
        owner = value.owner
        around = owner.parent_op() if isinstance(owner, Block) else owner
        if value in seen or around in inside:
            continue
        seen.add(value)
        if is_tensor(value.type) or isinstance(owner, Block):
            found[value] = None
        elif owner.regions or owner.dialect_name() not in ("arith", "math", "tensor"):
            raise Refused(owner, "a kernel does not compute it for itself")
        else:
            todo += reversed(owner.operands)
    return list(found)
