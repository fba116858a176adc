"""lift-memrefs-to-tensors: gives linalg functions value semantics.

Before:  linalg functions of one block, without loops and calls, on memrefs.
After:   the same on tensors. A memref argument is read once, by `to_tensor` at the
         beginning, and written once, by `materialize_in_destination` at the end.
         Memrefs that are returned are tensors.
Fails:   for memrefs of unknown origin, naming the operation. The module is then
         unchanged.

    %s = memref.subview %c[0, 4] ..        %s = tensor.extract_slice %c[0, 4] ..
    linalg.matmul ins(%a, %b) outs(%s)     %p = linalg.matmul ins(..) outs(%s)
                                           %d = tensor.insert_slice %p into %c ..

Memrefs that are arguments do not overlap (`restrict`), as for every kernel of coopc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, bufferization, memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import SymbolTable

from coopc.dialects.linalg_forms import SoftmaxOp
from coopc.dialects.narrow import as_tensor, is_memref, memref_type
from coopc.ir.builder import Builder
from coopc.ir.facts import elements_of_resource
from coopc.ir.transaction import Refused
from coopc.passes.linalg.fuse_linalg import sizes
from coopc.passes.linalg.whole_functions import (
    cast,
    convert_whole_functions,
    insert,
    replace,
)

VIEWS = (
    memref.SubviewOp,
    memref.CastOp,
    memref.MemorySpaceCastOp,
    memref.AssumeAlignmentOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.ReinterpretCastOp,
)
Reassociation = ArrayAttr[ArrayAttr[IntegerAttr]]


@dataclass(frozen=True, slots=True)
class ViewChain:
    """Memory of its own, and the views that lead from it to a memref."""

    root: SSAValue
    steps: tuple[Operation, ...] = ()


@dataclass(slots=True)
class Lifter:
    """Follows what memory holds through a function, operation by operation."""

    func: FuncOp
    views: dict[SSAValue, ViewChain] = field(default_factory=dict[SSAValue, ViewChain])
    """What each memref is."""
    held: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The tensor that each memory holds now."""
    written: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Arguments that were written to, in order."""

    def lift(self) -> None:
        """Convert the function.

        Raises:
            Refused: memory is used in a way that is not known.
        """
        block = self.func.body.block
        ops = [*block.ops]
        for argument in block.args:
            if is_memref(argument.type) and argument.first_use is not None:
                read = bufferization.ToTensorOp(argument, restrict=True)
                self.views[argument] = ViewChain(argument)
                (self.held[argument],) = insert(read, ops[0])
        for op in ops:
            self._lift(op)
        for op in reversed(ops):
            if any(is_memref(x.type) for x in op.results):
                Rewriter.erase_op(op)
        last = block.last_op
        assert isinstance(last, ReturnOp), last
        for argument in self.written:
            held = self.held[argument]
            write = bufferization.MaterializeInDestinationOp.create(
                operands=(held, argument),
                properties={"restrict": UnitAttr(), "writable": UnitAttr()},
            )
            insert(write, last)
            read = next(
                use.operation
                for use in argument.uses
                if isinstance(use.operation, bufferization.ToTensorOp)
            )
            read.properties["writable"] = UnitAttr()
        types = self.func.function_type
        self.func.function_type = FunctionType.from_lists(
            types.inputs.data, list(last.operand_types)
        )

    def _lift(self, op: Operation) -> None:
        """Convert an operation; what makes memrefs is erased later.

        Raises:
            Refused: it is none of those that are known.
        """
        if isinstance(op, VIEWS):
            view = self.view(op.operands[0], op)
            self.views[op.results[0]] = ViewChain(view.root, (*view.steps, op))
        elif (rule := RULES.get(type(op))) is not None:
            rule(self, op)
        elif isinstance(op, LinalgStructuredOperation | SoftmaxOp):
            self._compute(op)
        elif any(is_memref(x.type) for x in (*op.operands, *op.results)):
            raise Refused(
                op,
                f"{op.name} on memrefs is not supported in a function of linalg: "
                "write it on tensors, or as linalg.generic",
            )

    def own(self, op: Operation, made: Operation) -> None:
        """Let a new memref hold what is made."""
        self.hold(op.results[0], insert(made, op)[0])

    def hold(self, memory: SSAValue, value: SSAValue) -> None:
        """Let a memref be memory of its own, which holds a tensor."""
        if value.name_hint is None:
            value.name_hint = memory.name_hint
        self.views[memory] = ViewChain(memory)
        self.held[memory] = value

    def view(self, memory: SSAValue, op: Operation) -> ViewChain:
        if (found := self.views.get(memory)) is None:
            raise Refused(op, "expected a memref of the function's own, or an argument")
        return found

    def _compute(self, op: LinalgStructuredOperation | SoftmaxOp) -> None:
        """Compute on tensors, and write what memrefs get."""
        for each in op.walk():
            if isinstance(each, memref.LoadOp):
                value = self.read(each.memref, op)
                new = tensor.ExtractOp(value, each.indices, each.res.type)
                replace(each, insert(new, each))
            elif each is not op and any(is_memref(x.type) for x in each.operands):
                raise Refused(each, f"{each.name} is not supported in a body of linalg")
        if not any(is_memref(x.type) for x in op.operands):
            return
        inputs = 1 if isinstance(op, SoftmaxOp) else len(op.inputs)
        tensors = {
            x: self.read(x, op) for x in dict.fromkeys(op.operands) if is_memref(x.type)
        }
        operands = [tensors.get(x, x) for x in op.operands]
        new = type(op).create(
            operands=operands,
            result_types=[x.type for x in operands[inputs:]],
            properties=op.properties,
            attributes=op.attributes,
            regions=[op.detach_region(0) for _ in range(len(op.regions))],
        )
        insert(new, op)
        for target, value in zip(op.operands[inputs:], new.results, strict=True):
            self.write(target, value, op)
        replace(op, ())

    def read(self, memory: SSAValue, op: Operation) -> SSAValue:
        """Return the tensor that a memref shows, in front of an operation."""
        view = self.view(memory, op)
        value = self.held[view.root]
        for step in view.steps:
            value = _seen(step, value, op)
        return value

    def write(self, memory: SSAValue, value: SSAValue, op: Operation) -> None:
        """Let a memref show another tensor."""
        view = self.view(memory, op)
        if isinstance(view.root, BlockArgument):
            self.written[view.root] = None
        self.held[view.root] = _put(view.steps, self.held[view.root], value, op)


def _type(value: SSAValue) -> TensorType:
    return as_tensor(value.type)


def _constant(op: memref.GetGlobalOp) -> Operation:
    """Return the constant that a global is.

    Raises:
        Refused: it may change, or has no value.
    """
    known = SymbolTable.lookup_symbol(op, op.name_)
    value = known.initial_value if isinstance(known, memref.GlobalOp) else None
    if isinstance(value, DenseResourceAttr):
        value = _elements(op, value)
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise Refused(
            op,
            f"expected {op.name_} to be a memref.global with a dense value: pass it as "
            "an argument",
        )
    return arith.ConstantOp(value, value_type=_type(op.memref))


def _seen(step: Operation, whole: SSAValue, op: Operation) -> SSAValue:
    """Return the part of a tensor that a view shows."""
    type = _type(step.results[0])
    match step:
        case memref.SubviewOp():
            new: Operation = tensor.ExtractSliceOp.create(
                operands=(whole, *step.operands[1:]),
                result_types=(type,),
                properties=step.properties,
            )
        case memref.CollapseShapeOp():
            return _collapsed(whole, step.reassociation, type, op)
        case memref.ExpandShapeOp():
            new = tensor.ExpandShapeOp(
                whole,
                step.output_shape,
                step.reassociation,
                step.static_output_shape,
                type,
            )
        case memref.ReinterpretCastOp():
            row = _in_a_row(whole, op)
            offset, count = _reinterpreted(step)
            part = TensorType(type.get_element_type(), [count])
            new = tensor.ExtractSliceOp(row, [offset], [count], [1], part)
            return _reshaped(insert(new, op)[0], type, op)
        case _:
            return cast(whole, type, op)
    return insert(new, op)[0]


def _put(
    steps: Sequence[Operation], whole: SSAValue, value: SSAValue, op: Operation
) -> SSAValue:
    """Return a tensor where the part that views show is another one."""
    if not steps:
        return cast(value, _type(whole), op)
    step, *rest = steps
    if rest:
        value = _put(rest, _seen(step, whole, op), value, op)
    type = _type(whole)
    match step:
        case memref.SubviewOp():
            new: Operation = tensor.InsertSliceOp.build(
                operands=(value, whole, step.offsets, step.sizes, step.strides),
                result_types=(type,),
                properties={
                    "static_offsets": step.static_offsets,
                    "static_sizes": step.static_sizes,
                    "static_strides": step.static_strides,
                },
            )
        case memref.ExpandShapeOp():
            return _collapsed(value, step.reassociation, type, op)
        case memref.CollapseShapeOp():
            new = tensor.ExpandShapeOp(
                value,
                sizes(Builder.at(op), whole),
                step.reassociation,
                type.get_shape(),
                type,
            )
        case memref.ReinterpretCastOp():
            row = _in_a_row(whole, op)
            offset, count = _reinterpreted(step)
            part = _reshaped(value, TensorType(type.get_element_type(), [count]), op)
            new = tensor.InsertSliceOp.get(
                part, row, [count], static_offsets=[offset], static_strides=[1]
            )
            return _reshaped(insert(new, op)[0], type, op)
        case _:
            return cast(value, type, op)
    return insert(new, op)[0]


def _collapsed(
    value: SSAValue, groups: Reassociation, type: TensorType, op: Operation
) -> SSAValue:
    new = tensor.CollapseShapeOp.create(
        operands=(value,), result_types=(type,), properties={"reassociation": groups}
    )
    return insert(new, op)[0]


def _reinterpreted(step: memref.ReinterpretCastOp) -> tuple[int, int]:
    """Return where in memory without gaps a cast begins, and how many elements it has.

    Raises:
        Refused: it, or what it casts, has gaps or sizes that are not known.
    """
    source, result = memref_type(step.source), memref_type(step.result)
    (offset,) = step.static_offsets.get_values()
    numbers = (*source.get_shape(), *result.get_shape(), offset)
    if (
        DYNAMIC_INDEX in numbers
        or step.static_strides.get_values()
        != result.strides_for_shape(result.get_shape())
        or source.get_strides() is None
        or result.element_count() + offset > source.element_count()
    ):
        raise Refused(
            step,
            "expected memref.reinterpret_cast of static sizes, whose elements follow "
            "each other: write memref.subview",
        )
    return offset, result.element_count()


def _in_a_row(whole: SSAValue, op: Operation) -> SSAValue:
    type = _type(whole)
    row = TensorType(type.get_element_type(), [type.element_count()])
    return _reshaped(whole, row, op)


def _reshaped(value: SSAValue, type: TensorType, op: Operation) -> SSAValue:
    """Return a tensor of one shape as one of another, where one of them is a row."""
    source, result = (len(x.shape) for x in (_type(value), type))
    dimensions = range(max(source, result))
    groups: Reassociation = ArrayAttr(
        [ArrayAttr([IntegerAttr(at, i64) for at in dimensions])]
    )
    if source == result:
        return value
    if source > result:
        return _collapsed(value, groups, type, op)
    new = tensor.ExpandShapeOp(value, [], groups, type.get_shape(), type)
    return insert(new, op)[0]


def _load(lifter: Lifter, op: memref.LoadOp) -> None:
    value = lifter.read(op.memref, op)
    replace(op, insert(tensor.ExtractOp(value, op.indices, op.res.type), op))


def _store(lifter: Lifter, op: memref.StoreOp) -> None:
    new = tensor.InsertOp(op.value, lifter.read(op.memref, op), op.indices)
    lifter.write(op.memref, insert(new, op)[0], op)
    replace(op, ())


def _copy(lifter: Lifter, op: memref.CopyOp) -> None:
    value = cast(lifter.read(op.source, op), _type(op.destination), op)
    lifter.write(op.destination, value, op)
    replace(op, ())


def _dim(lifter: Lifter, op: memref.DimOp) -> None:
    replace(op, insert(tensor.DimOp(lifter.read(op.source, op), op.index), op))


def _materialize(lifter: Lifter, op: bufferization.MaterializeInDestinationOp) -> None:
    if is_memref(op.dest.type):
        lifter.write(op.dest, op.source, op)
        replace(op, ())


def _return(lifter: Lifter, op: ReturnOp) -> None:
    for at, value in enumerate(op.operands):
        if is_memref(value.type):
            op.operands[at] = lifter.read(value, op)


def _alloc(lifter: Lifter, op: memref.AllocOp | memref.AllocaOp) -> None:
    lifter.own(op, tensor.EmptyOp(op.dynamic_sizes, _type(op.memref)))


RULES: dict[type[Operation], Callable[[Lifter, Any], None]] = {
    bufferization.CloneOp: lambda x, op: x.hold(op.output, x.read(op.input, op)),
    bufferization.MaterializeInDestinationOp: _materialize,
    bufferization.ToBufferOp: lambda x, op: x.hold(op.memref, op.tensor),
    bufferization.ToTensorOp: lambda x, op: replace(op, [x.read(op.memref, op)]),
    memref.AllocOp: _alloc,
    memref.AllocaOp: _alloc,
    memref.CopyOp: _copy,
    memref.DeallocOp: lambda _, op: replace(op, ()),
    memref.DimOp: _dim,
    memref.GetGlobalOp: lambda x, op: x.own(op, _constant(op)),
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    ReturnOp: _return,
}
"""What becomes of operations on memrefs that are neither views nor of linalg."""


@dataclass(frozen=True)
class LiftMemrefsToTensorsPass(ModulePass):
    name = "lift-memrefs-to-tensors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert_whole_functions(op, lift)


def lift(func: FuncOp) -> None:
    for op in func.walk():
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, DenseResourceAttr):
            op.value = _elements(op, op.value)
    Lifter(func).lift()


def _elements(op: Operation, value: DenseResourceAttr) -> DenseIntOrFPElementsAttr:
    try:
        return elements_of_resource(value)
    except ValueError as error:
        raise Refused(op, str(error)) from error
