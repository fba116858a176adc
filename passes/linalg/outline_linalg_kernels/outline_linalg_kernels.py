"""outline-linalg-kernels: splits linalg functions into kernels launched in turn.

Before:  functions of `linalg.generic`, `linalg.fill` and views on tensors, as from
         `fuse-linalg`; memrefs are read at the beginning and written at the end.
After:   a function on memrefs for each group of operations that become one kernel, and
         a `simt.sequence` with the name of the function, which launches them.  Returned
         tensors become memrefs after its arguments.  A function on memrefs with a
         single group keeps its name, without a sequence.
Fails:   if neither a kernel nor the host can execute an operation, naming the first;
         the module is then unchanged.

A group is a product and the elementwise operation that reads all of its result,
attention whose scores are not to be in memory, or one other operation. A group does not
write what it reads, unless each element is written where it was read. An argument that
is overwritten before it is read again is copied. Temporary memory is reused when
nothing reads it any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, bufferization, memref, ml_program, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IndexType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.utils.dynamic_index_list import (
    get_dynamic_index_list,
    split_dynamic_index_list,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt
from coopc.dialects.narrow import (
    is_memref,
    is_tensor,
    kept_dimensions,
    memref_type,
    tensor_type,
)
from coopc.dialects.shaped_arith import IndexCastUIOp
from coopc.ir.builder import INDEX, Builder, Size
from coopc.ir.control_flow import definer
from coopc.ir.facts import constant_number
from coopc.ir.transaction import Refused, transaction
from coopc.passes.linalg.fuse_linalg import (
    constant_of,
    elementwise,
    is_covered,
    is_elementwise,
    keeps,
    maps_of,
    output_arguments,
)
from coopc.passes.linalg.outline_linalg_kernels.groups import (
    VIEWS,
    Group,
    groups_of,
    users,
)
from coopc.passes.linalg.rows import Sizes, sizes_of

RESHAPES = tensor.ExpandShapeOp | tensor.CollapseShapeOp

# --- Where tensors are computed. ---


def replaced(value: SSAValue) -> SSAValue | None:
    """Return the tensor that an operation updates, if its result is one."""
    op = value.owner
    if isinstance(op, tensor.InsertSliceOp):
        return op.dest
    if isinstance(op, linalg.GenericOp):
        at = op.results.index(value)
        if keeps(op, at):
            return op.outputs[at]
    return None


def known_strides(type: MemRefType[Attribute]) -> tuple[int, ...] | None:
    """Return the strides of a memref; None where its type leaves one open."""
    found = [x for x in type.get_strides() or () if x is not None]
    return tuple(found) if len(found) == type.get_num_dims() else None


def has_parts(memory: SSAValue) -> bool:
    """Whether the host can say where a part of an argument is."""
    type = memref_type(memory)
    return isinstance(type.layout, NoneAttr) or known_strides(type) is not None


def written(memory: SSAValue) -> list[Operation]:
    """Return the operations that write a tensor to a memref."""
    found = (use.operation for use in memory.uses)
    kind = bufferization.MaterializeInDestinationOp
    return [op for op in found if isinstance(op, kind) and op.dest is memory]


@dataclass(slots=True)
class Destinations:
    """Decides for the tensors of a block."""

    block: Block
    groups: Mapping[Operation, Group]
    order: dict[Operation, int] = field(init=False)
    """When each operation is done: those of a kernel when the last of them is."""
    found: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The argument, or the memref of the function, that a tensor is computed in."""

    def __post_init__(self) -> None:
        self.order = {op: at for at, op in enumerate(self.block.ops)}
        for last, group in self.groups.items():
            self.order |= dict.fromkeys(group.ops, self.order[last])

    def when(self, op: Operation) -> int:
        """Return when an operation of the block, or within one of it, is done.

        Numbers are computed by the kernels that use them.
        """
        seen: set[Operation] = set()
        todo = [op]
        while todo:
            each = todo.pop()
            while each.parent is not self.block:
                around = each.parent_op()
                assert around is not None, op
                each = around
            if each in seen:
                continue
            seen.add(each)
            computes = each.dialect_name() in ("arith", "math")
            if computes or isinstance(each, tensor.ExtractOp):
                todo += (use.operation for x in each.results for use in x.uses)
        return max(self.order[x] for x in seen)

    def decide(self, results: Sequence[SSAValue]) -> None:
        """Decide, given the arguments for what a function returns."""
        for op in self.block.ops:
            kind = bufferization.MaterializeInDestinationOp
            if isinstance(op, kind) and len(written(op.dest)) == 1:
                self.want(op.source, op.dest)
        last = self.block.last_op
        assert isinstance(last, ReturnOp), self.block
        for value, target in zip(last.arguments, results, strict=True):
            self.want(value, target)

    def want(self, value: SSAValue, target: SSAValue) -> None:
        """Let a tensor be computed in an argument, and with it what it updates."""
        known = linalg.GenericOp | linalg.FillOp | tensor.InsertSliceOp
        op = value.owner
        if isinstance(op, RESHAPES):
            plain = isinstance(memref_type(target).layout, NoneAttr)
            if plain and isinstance(op.src.owner, linalg.GenericOp | RESHAPES):
                self.want(op.src, target)  # the same memory in another shape
            return
        if value in self.found or not isinstance(op, known):
            return
        if isinstance(op, tensor.InsertSliceOp) and not has_parts(target):
            return
        if not self.may_overwrite(target, value):
            return
        self.found[value] = target
        old = replaced(value)
        assert isinstance(op, Operation), value
        if old is not None and self.is_last(old, op):
            self.want(old, target)

    def is_last(self, value: SSAValue, op: Operation) -> bool:
        """Whether what else uses a tensor, or a view of it, is done before."""
        end = self.order[op]
        return all(
            sum(x is part for x in op.operands) == 1
            if user is op
            else self.order.get(user, end) < end
            for part, user in users(value)
        )

    def group_of(self, op: Operation) -> tuple[Operation, ...]:
        """Return the operations of the kernel that an operation is part of."""
        return next((x.ops for x in self.groups.values() if op in x.ops), (op,))

    def may_overwrite(self, memory: SSAValue, value: SSAValue) -> bool:
        """Whether a tensor can be computed in memory that the function reads.

        That is so if it is read before, or by the same kernel, element by element.
        """
        writer = value.owner
        if isinstance(writer, Block):
            return False
        group = self.group_of(writer)
        tensors = (
            use.operation.tensor
            for use in memory.uses
            if isinstance(use.operation, bufferization.ToTensorOp)
        )
        for seen in tensors:
            for part, op in users(seen):
                if op is writer and replaced(value) is part:
                    others = [x for x in op.operands if x is part]
                    if len(others) > 1:
                        return False
                elif op in group:
                    # Others read after the writer, or compute its result again.
                    if op is not writer or op is not group[-1]:
                        return False
                    if not _reads_what_it_writes(op, part):
                        return False
                elif self.when(op) >= self.order[writer]:
                    return False
        return True


def _reads_what_it_writes(op: Operation, value: SSAValue) -> bool:
    """Whether an operation only reads an element of a tensor to write that element."""
    if not isinstance(op, linalg.GenericOp) or not is_elementwise(op):
        return False
    maps = maps_of(op)
    return all(
        map == maps[-1] for x, map in zip(op.inputs, maps, strict=False) if x is value
    )


# --- A kernel. ---


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
        self.b.effect(elementwise([source], target, SSAValue.get))

    def generic(self, op: linalg.GenericOp) -> None:
        """Write an operation whose operands and results are known as memrefs."""
        outputs = [self.known[x] for x in op.results]
        inputs = [self.operand(x) for x in op.inputs]
        inside = set(op.walk())
        for each in op.body.walk():
            for x in each.operands:
                if definer(x) not in inside:
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

    def temporary(self, op: linalg.GenericOp, at: int, known: Sizes) -> None:
        """Allocate memory of the kernel's for a result that nothing else reads."""
        result = op.results[at]
        type = tensor_type(result)
        sizes = [
            self._size(op, known, (result, n))
            for n, size in enumerate(type.get_shape())
            if size == DYNAMIC_INDEX
        ]
        shape = MemRefType(type.element_type, type.get_shape())
        new = self.b.effect(memref.AllocOp(sizes, [], shape)).results[0]
        new.name_hint = result.name_hint
        self.known[result] = new

    def _size(self, op: Operation, known: Sizes, dimension: object) -> SSAValue:
        """Return the size of a dimension, which that of an argument is."""
        if (number := known.known(dimension)) is not None:
            return self.b.constant(INDEX, number)
        for found in known.all(dimension):
            match found:
                case (SSAValue() as value, int(at)) if value in self.known:
                    memory = self.known[value]
                    if not isinstance(memory.owner, memref.AllocOp):
                        number = self.b.constant(INDEX, at)
                        return self.b.pure(memref.DimOp, memory, number)
                case _:
                    pass
        raise Refused(op, "no operand tells how long a loop of it is")

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
            found = self.b.load(memory, indices)
        elif isinstance(op, tensor.DimOp):
            operands = self.operand(op.source), self.operand(op.index)
            found = self.b.effect(memref.DimOp(*operands)).results[0]
        else:
            operands = {x: self.operand(x) for x in op.operands}
            at = [x is value for x in op.results].index(True)
            found = self.b.effect(op.clone(operands)).results[at]
        self.known[value] = found
        return found


def filled_with(op: linalg.GenericOp, at: int) -> SSAValue | arith.ConstantOp | None:
    """Return the number that an output holds before, if a kernel can fill it itself.

    A kernel fills those elements alone that it computes.
    """
    if not output_arguments(op)[at].uses or not is_covered(op, at):
        return None
    return constant_of(op.outputs[at])


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
        filled = (filled_with(op, at) for at in range(len(op.outputs)))
        todo += (number for number in filled if isinstance(number, SSAValue))
        todo += (x for each in op.body.walk() for x in each.operands)
    todo.reverse()
    seen: set[SSAValue] = set()
    while todo:
        value = todo.pop()
        if value in seen or definer(value) in inside:
            continue
        seen.add(value)
        owner = value.owner
        if is_tensor(value.type) or isinstance(owner, Block):
            found[value] = None
        elif owner.regions or owner.dialect_name() not in ("arith", "math", "tensor"):
            raise Refused(owner, "a kernel does not compute it for itself")
        else:
            todo += reversed(owner.operands)
    return list(found)


# --- The sequence. ---

NOT_DONE = "no kernel does it, and the host does not either"
FROM_INDEX = "the host computes sizes from index"
HOST_INTEGERS = (IndexType(), i64)
"""Integer types that the host computes with, both as index."""


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """Elements of a memref of the sequence."""

    base: SSAValue
    shape: tuple[Size, ...]
    strides: tuple[Size, ...] | None
    """In elements; None where the type of the memref leaves them open."""
    offset: Size = 0
    whole: bool = True
    """Whether it is the memref as it is."""

    @property
    def element(self) -> Attribute:
        return memref_type(self.base).get_element_type()


@dataclass(slots=True)
class SequenceWriter:
    """The sequence of a function, while it is written."""

    func: FuncOp
    b: Builder
    destinations: Destinations
    """Which argument a tensor that the function computes is to be in."""
    memories: dict[SSAValue, MemoryPart] = field(default_factory=lambda: {})
    """Of tensors, and of memrefs of the function."""
    numbers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What scalars of the function are."""
    kernels: list[FuncOp] = field(default_factory=list[FuncOp])
    launches: list[simt.LaunchOp] = field(default_factory=list[simt.LaunchOp])

    def add(self, arg: SSAValue, name: str | None) -> None:
        """Add an argument of the function to the sequence."""
        new = _insert(self.b.block, arg.type, name)
        if not is_memref(new.type):
            self.numbers[arg] = new
            return
        type = new.type
        shape = tuple(
            self.b.pure(memref.DimOp, new, self.b.value(at))
            if size == DYNAMIC_INDEX
            else size
            for at, size in enumerate(type.get_shape())
        )
        strides: tuple[Size, ...] | None = self.row_major(shape)
        if not isinstance(type.layout, NoneAttr):
            strides = known_strides(type)
        self.memories[arg] = MemoryPart(new, shape, strides)

    def operation(self, op: Operation) -> None:
        """Do an operation between launches."""
        if isinstance(op, tensor.InsertSliceOp):
            new = self.updated(op, op.result, op.dest)
            self.memories[op.result] = new
            self.copy(op, self.memory(op.source), self.slice(op, new))
        elif isinstance(op, bufferization.MaterializeInDestinationOp):
            source, dest = self.memory(op.source), self.memories[op.dest]
            if source.base is not dest.base:
                self.keep(op)
                self.copy(op, source, dest)
        elif not _is_later(op):
            raise Refused(op, NOT_DONE)

    def keep(self, op: bufferization.MaterializeInDestinationOp) -> None:
        """Copy what is read later of the memory that an operation overwrites."""
        when = self.destinations.when
        for use in op.dest.uses:
            reader = use.operation
            if not isinstance(reader, bufferization.ToTensorOp):
                continue
            seen = reader.tensor
            is_before = when(reader) < when(op)
            if is_before and any(
                when(user) > when(op)
                for _, user in users(seen)
                if not isinstance(user, tensor.DimOp)
            ):
                old, new = self.memory(seen), self.temporary(seen)
                self.copy(op, old, new)
                self.memories[seen] = new
                for part, _ in users(seen):
                    self.forget(part, seen)

    def forget(self, view: SSAValue, root: SSAValue) -> None:
        """Find the memory of a view anew when it is used again."""
        while view is not root:
            self.memories.pop(view, None)
            assert isinstance(view.owner, Operation), view
            view = view.owner.operands[0]

    # Sizes

    def number(self, value: SSAValue) -> Size:
        """Return an index of the function, as the host computes it."""
        if (known := constant_number(value)) is not None:
            return int(known)
        if value in self.numbers:
            return self.numbers[value]
        op = value.owner
        assert isinstance(op, Operation), value
        if isinstance(op, tensor.DimOp | memref.DimOp):
            at = self.number(op.index)
            assert isinstance(at, int), op
            shape = self.shape(op.source)
            if at not in range(len(shape)):
                reason = f"expected a dimension below {len(shape)}, got {at}"
                raise Refused(op, reason)
            return shape[at]
        is_cast = isinstance(op, arith.IndexCastOp | IndexCastUIOp)
        if is_cast and op.operands[0].type not in HOST_INTEGERS:
            raise Refused(op, f"{FROM_INDEX}, not from {op.operands[0].type}")
        is_known = is_cast or type(op) in simt.HOST_ARITHMETIC
        if not is_known or value.type not in HOST_INTEGERS:
            reason = "the host does not compute it, but integer arithmetic on index"
            raise Refused(op, reason)
        operands = [self.b.value(self.number(x)) for x in op.operands]
        if any(x.type != IndexType() for x in operands):  # an argument of the function
            raise Refused(op, f"{FROM_INDEX}, not from {i64}")
        if is_cast:
            (found,) = operands
        else:
            new = type(op).create(
                operands=operands,
                result_types=[IndexType()],
                properties=op.properties,
            )
            found = self.b.effect(new).results[0]
        self.numbers[value] = found
        return found

    def mixed(
        self, known: Sequence[int], values: Sequence[SSAValue]
    ) -> tuple[Size, ...]:
        found = get_dynamic_index_list(known, values, DYNAMIC_INDEX)
        return tuple(self.number(x) if isinstance(x, SSAValue) else x for x in found)

    def shape(self, value: SSAValue) -> tuple[Size, ...]:
        """Return the shape of a tensor, which may have no memory yet."""
        if (found := self.memories.get(value)) is not None:
            return found.shape
        known, op = tensor_type(value).get_shape(), value.owner
        match op:
            case _ if DYNAMIC_INDEX not in known:
                return tuple(known)
            case linalg.GenericOp() | linalg.FillOp():
                return self.shape(op.outputs[op.results.index(value)])
            case tensor.EmptyOp():
                return self.mixed(known, op.dynamic_sizes)
            case tensor.InsertSliceOp():
                return self.shape(op.dest)
            case _:
                return self.memory(value).shape

    def row_major(self, shape: Sequence[Size]) -> tuple[Size, ...]:
        strides: list[Size] = [1]
        for size in reversed(shape[1:]):
            strides.insert(0, self.b.product(strides[0], size))
        return tuple(strides[: len(shape)])

    # Memory

    def memory(self, value: SSAValue) -> MemoryPart:
        """Return the memory of a tensor; what a kernel computes is known already."""
        if (found := self.memories.get(value)) is None:
            assert isinstance(value.owner, Operation), value
            found = self.memories[value] = self._seen(value.owner)
        return found

    def _seen(self, op: Operation) -> MemoryPart:
        match op:
            case bufferization.ToTensorOp():
                return self.memories[op.memref]
            case tensor.CastOp():
                return self.memory(op.source)
            case tensor.ExtractSliceOp():
                old = self.memory(op.source)
                if old.strides is None:
                    old = self.contiguous(op, op.source)
                return self.slice(op, old)
            case tensor.CollapseShapeOp():
                old = self.contiguous(op, op.src)
                groups = ([x.value.data for x in each] for each in op.reassociation)
                sizes = ([old.shape[n] for n in group] for group in groups)
                return self.reshaped(old, [reduce(self.b.product, x, 1) for x in sizes])
            case tensor.ExpandShapeOp():
                old = self.contiguous(op, op.src)
                known = op.static_output_shape.get_values()
                return self.reshaped(old, self.mixed(known, op.dynamic_output_shape))
            case tensor.EmptyOp():
                return self.allocated(op.tensor)
            case arith.ConstantOp() | linalg.FillOp():
                return self._filled(op, op.results[0])
            case _:
                raise Refused(op, NOT_DONE)

    def _filled(self, op: Operation, value: SSAValue) -> MemoryPart:
        """Return memory that holds a constant, or one number in every element."""
        if (number := constant_of(value)) is None:
            constant = self.b.effect(op.clone()).results[0]
            known = tensor_type(value)
            type = MemRefType(known.element_type, known.get_shape())
            make = bufferization.ToBufferOp.create
            new = self.b.effect(make(operands=[constant], result_types=[type]))
            shape = self.shape(value)
            return MemoryPart(new.results[0], shape, self.row_major(shape))
        new, kernel = self.allocated(value), KernelWriter.at(op)
        target = kernel.argument(self.memref(new), "result")
        if isinstance(number, SSAValue):
            for leaf in leaves_of((), [number]):
                self.give(kernel, leaf)
        kernel.fill(value, target)
        self.launch(kernel)
        return new

    def reshaped(self, old: MemoryPart, shape: Sequence[Size]) -> MemoryPart:
        strides = self.row_major(shape)
        return MemoryPart(old.base, tuple(shape), strides, old.offset, whole=False)

    def slice(
        self, op: tensor.ExtractSliceOp | tensor.InsertSliceOp, old: MemoryPart
    ) -> MemoryPart:
        """Return the part of memory that an operation reads or writes."""
        assert old.strides is not None, old
        offsets = self.mixed(op.static_offsets.get_values(), op.offsets)
        shape = self.mixed(op.static_sizes.get_values(), op.sizes)
        steps = self.mixed(op.static_strides.get_values(), op.strides)
        offset = old.offset
        for x, stride in zip(offsets, old.strides, strict=True):
            offset = self.b.total(offset, self.b.product(x, stride))
        strides = [
            self.b.product(x, stride)
            for x, stride in zip(steps, old.strides, strict=True)
        ]
        part = op.result if isinstance(op, tensor.ExtractSliceOp) else op.source
        kept = kept_dimensions(shape, tensor_type(part).get_shape())
        return MemoryPart(
            old.base,
            tuple(shape[n] for n in kept),
            tuple(strides[n] for n in kept),
            offset,
            whole=False,
        )

    def contiguous(self, op: Operation, value: SSAValue) -> MemoryPart:
        """Return memory of a tensor without gaps: a copy, if there are any."""
        found = self.memory(value)
        if found.strides == self.row_major(found.shape):
            return found
        new = self.temporary(value)
        self.copy(op, found, new)
        return new

    def allocated(self, value: SSAValue) -> MemoryPart:
        """Return new memory for a tensor, or the argument that it is to be in."""
        if (base := self.destinations.found.get(value)) is not None:
            return self.target(base, self.shape(value))
        return self.temporary(value)

    def temporary(self, value: SSAValue) -> MemoryPart:
        """Return new memory for a tensor."""
        shape = self.shape(value)
        known, sizes = split_dynamic_index_list(shape, DYNAMIC_INDEX)
        type = MemRefType(tensor_type(value).element_type, known)
        base = self.b.effect(memref.AllocOp(sizes, [], type)).results[0]
        base.name_hint = value.name_hint
        return MemoryPart(base, shape, self.row_major(shape))

    def target(self, base: SSAValue, shape: tuple[Size, ...]) -> MemoryPart:
        """Return the memory of an argument that a tensor of some shape is to be in."""
        is_whole = len(shape) == memref_type(base).get_num_dims()
        found = self.memories.get(base)
        if is_whole and found is not None:
            return found
        own = base if found is None else found.base
        return MemoryPart(own, shape, self.row_major(shape), whole=is_whole)

    def memref(self, memory: MemoryPart) -> SSAValue:
        """Return the memref that a kernel is given."""
        if memory.whole:
            return memory.base
        assert memory.strides is not None, memory
        shape, strides = (
            [None if isinstance(x, SSAValue) else x for x in numbers]
            for numbers in (memory.shape, memory.strides)
        )
        layout = StridedLayoutAttr(strides, 0 if memory.offset == 0 else None)
        plain = memory.offset == 0 and memory.strides == self.row_major(memory.shape)
        type = MemRefType(
            memory.element,
            [DYNAMIC_INDEX if x is None else x for x in shape],
            NoneAttr() if plain else layout,
        )
        return self.b.pure(
            memref.ReinterpretCastOp.from_dynamic,
            memory.base,
            (memory.offset,),
            memory.shape,
            memory.strides,
            type,
        )

    # Launches

    def launch(self, kernel: KernelWriter) -> None:
        name = f"{self.func.sym_name.data}.{len(self.kernels)}"
        new = kernel.function(name)
        for old in self.kernels:
            new.sym_name = old.sym_name
            if new.is_structurally_equivalent(old):
                name = old.sym_name.data
                break
        else:
            new.sym_name = StringAttr(name)
            self.kernels.append(new)
        op = self.b.effect(simt.LaunchOp(name, kernel.given))
        assert isinstance(op, simt.LaunchOp)
        self.launches.append(op)

    def copy(self, op: Operation, source: MemoryPart, target: MemoryPart) -> None:
        kernel = KernelWriter.at(op)
        first = kernel.argument(self.memref(source), "source")
        kernel.copy(first, kernel.argument(self.memref(target), "result"))
        self.launch(kernel)

    def give(self, kernel: KernelWriter, value: SSAValue) -> None:
        """Give a kernel a tensor or a scalar of the function."""
        if is_tensor(value.type):
            given = self.memref(self.memory(value))
        else:
            given = self.b.value(self.numbers[value])
        kernel.known[value] = kernel.argument(given, value.name_hint)

    def group(self, group: Group) -> None:
        """Launch the kernel of a group."""
        results = group.results
        kernel = KernelWriter.at(group.ops[-1])
        for value in leaves_of(group.ops):
            self.give(kernel, value)
        fills: dict[SSAValue, SSAValue] = {}
        temporaries: list[tuple[linalg.GenericOp, int]] = []
        for op in group.ops:
            for at, (value, init) in enumerate(
                zip(op.results, op.outputs, strict=True)
            ):
                is_filled = filled_with(op, at) is not None
                if is_filled:
                    fills[value] = init
                before = init if keeps(op, at) and not is_filled else None
                if value in results or before is not None:
                    self._output(kernel, op, value, before)
                else:
                    temporaries.append((op, at))
        sizes = sizes_of(group.ops)
        for op, at in temporaries:  # whose sizes may be those of a result
            kernel.temporary(op, at, sizes)
        for op in group.ops:
            for value in op.results:
                if value in fills:
                    kernel.fill(fills[value], kernel.known[value])
            kernel.generic(op)
        self.launch(kernel)

    def _output(
        self,
        kernel: KernelWriter,
        op: linalg.GenericOp,
        value: SSAValue,
        init: SSAValue | None,
    ) -> None:
        """Give a kernel the memory of a result, with what it holds before."""
        if init is not None:
            found = self.updated(op, value, init)
        else:
            found = self.allocated(value)
        self.memories[value] = found
        kernel.known[value] = kernel.argument(self.memref(found), value.name_hint)

    def updated(self, op: Operation, value: SSAValue, old: SSAValue) -> MemoryPart:
        """Return memory for a tensor that holds an older one, which it replaces."""
        if isinstance(old.owner, tensor.EmptyOp):
            return self.allocated(value)  # which holds nothing
        target = self.destinations.found.get(value)
        before = self.memory(old)
        if target is not None:
            found = self.target(target, self.shape(value))
            if before.base is found.base:
                return found
        elif self.is_dead(old, op) and before.base.owner is not self.b.block:
            return before
        else:
            found = self.allocated(value)
        self.copy(op, before, found)
        return found

    def is_dead(self, value: SSAValue, op: Operation) -> bool:
        """Whether nothing uses a tensor after an operation, and it is temporary."""
        root = value
        while isinstance(root.owner, VIEWS):
            root = root.owner.operands[0]
        if isinstance(root.owner, bufferization.ToTensorOp | Block):
            return False
        return self.destinations.is_last(root, op)


# --- Rewrite. ---


def outline(func: FuncOp, most_scores: int, long_rows: int) -> None:
    """Put kernels and a sequence in place of a function; see `groups_of`.

    Raises:
        Refused: an operation is no part of a kernel.
    """
    block, entry = func.body.block, Block()
    last = block.last_op
    assert isinstance(last, ReturnOp), func
    b = Builder.at_end(entry, func.location)
    groups = groups_of(block, most_scores, long_rows)
    destinations = Destinations(block, groups)
    writer = SequenceWriter(func, b, destinations)
    for arg in block.args:
        writer.add(arg, arg.name_hint)
    results: list[SSAValue] = []
    for at, value in enumerate(last.arguments):
        if not is_tensor(value.type):
            raise Refused(last, f"expected results that are tensors, got {value.type}")
        name = "result" if len(last.arguments) == 1 else f"result{at}"
        results.append(_insert(entry, value.type, name))
    destinations.decide(results)
    members = {op for group in groups.values() for op in group.ops}
    for op in list(block.ops):
        b.location = op.location
        if op in groups:
            writer.group(groups[op])
        elif op not in members and op is not last:
            writer.operation(op)
    for value, target in zip(last.arguments, results, strict=True):
        shape = writer.shape(value)
        found = writer.memory(value)
        if found.base is not target:
            writer.copy(last, found, writer.target(target, shape))
        known = memref_type(target).get_shape()
        sizes = [
            b.value(x) for n, x in zip(known, shape, strict=True) if n == DYNAMIC_INDEX
        ]
        b.effect(simt.ResultOp(target, sizes))
    reuse_memory(entry)
    _replace(func, entry, writer, bool(results))


def _insert(block: Block, type: Attribute, name: str | None) -> SSAValue:
    """Add an argument to a sequence: a memref for a tensor."""
    if is_tensor(type):
        type = MemRefType(type.element_type, type.get_shape())
    found = block.insert_arg(type, len(block.args))
    found.name_hint = name
    return found


def _is_later(op: Operation) -> bool:
    """Whether an operation is done where its results are needed."""
    known = (*VIEWS, tensor.EmptyOp, tensor.DimOp, memref.DimOp, linalg.FillOp)
    known = (*known, bufferization.ToTensorOp, tensor.ExtractOp)
    return isinstance(op, known) or op.dialect_name() in ("arith", "math")


def reuse_memory(block: Block) -> None:
    """Let temporary memory of a sequence be used again when nothing reads it."""
    order = {op: at for at, op in enumerate(block.ops)}
    free: dict[Attribute, list[tuple[int, memref.AllocOp]]] = {}
    for op in list(block.ops):
        if not isinstance(op, memref.AllocOp) or op.dynamic_sizes:
            continue
        users, todo = [order[op]], list[SSAValue](op.results)
        while todo:
            for use in todo.pop().uses:
                users.append(order[use.operation])
                todo += use.operation.results
        type = op.memref.type
        known = free.setdefault(type.element_type, [])
        for at, (end, old) in enumerate(known):
            is_free = end < min(users[1:], default=0)
            if is_free and old.memref.type.element_count() >= type.element_count():
                known[at] = (max(users), old)
                shape = type.get_shape()
                strides = [prod(shape[n + 1 :]) for n in range(len(shape))]
                new = memref.ReinterpretCastOp.from_dynamic(
                    old.memref, [0], shape, strides, type
                )
                Rewriter.replace_op(op, new)
                order[new] = order[op]
                break
        else:
            known.append((max(users), op))


def _replace(
    func: FuncOp, entry: Block, writer: SequenceWriter, has_results: bool
) -> None:
    """Put what was written in place of the function."""
    launches, name = writer.launches, func.sym_name.data
    whole = len(launches) == 1 and tuple(launches[0].arguments) == entry.args
    if whole and not has_results:
        (kernel,) = writer.kernels
        kernel.sym_name = func.sym_name
        for new, old in zip(kernel.args, entry.args, strict=True):
            new.name_hint = old.name_hint
        kernel.attributes = dict(func.attributes)
        Rewriter.replace_op(func, kernel, [])
        return
    sequence = simt.SequenceOp(name, Region(entry))
    sequence.location = func.location
    Rewriter.insert_op([*writer.kernels, sequence], InsertPoint.before(func))
    Rewriter.erase_op(func)


@dataclass(frozen=True)
class OutlineLinalgKernelsPass(ModulePass):
    name = "outline-linalg-kernels"

    sequence: bool = True
    """Emit a `simt.sequence`; off if later passes split kernels into several functions
    (CPU pipelines), which a sequence cannot launch."""
    scores: int = 0
    """The most attention scores to store in memory. With more, or an unknown number,
    attention is one kernel."""
    long_rows: int = 1 << 15
    """Elements from which on a row is stored by a kernel of its own, if there are fewer
    than four rows: work-groups do not share rows. 2^20 suits CPUs."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            for each in list(draft.ops):
                if isinstance(each, FuncOp) and _is_function_of_tensors(each):
                    outline(each, self.scores, self.long_rows)
            names = {x for op in draft.walk() for x in _read_globals(op)}
            for each in list(draft.ops):
                if isinstance(each, memref.GlobalOp | ml_program.GlobalOp):
                    is_left = each.sym_name.data not in names
                else:
                    is_left = isinstance(each, simt.SequenceOp) and not self.sequence
                if is_left:
                    Rewriter.erase_op(each)


def _read_globals(op: Operation) -> Iterator[str]:
    """Yield the name of the global that an operation reads."""
    match op:
        case memref.GetGlobalOp():
            yield op.name_.string_value()
        case ml_program.GlobalLoadConstantOp():
            yield op.global_attr.string_value()
        case _:
            pass


def _is_function_of_tensors(func: FuncOp) -> bool:
    if len(func.body.blocks) != 1 or simt.KERNEL in func.attributes:
        return False
    return any(is_tensor(x.type) for op in func.body.block.ops for x in op.operands)
