"""convert-tt-to-coopmatrix: lowers Triton's kernels to subgroups with matrices.

Before:  kernels of Triton, their calls inlined and its own arithmetic expanded. Layouts
         are ignored. The module has a target, or `subgroup-size` is given.
After:   kernels whose work-groups are one subgroup, a program each. Tensors that come
         from memory, loops and products are in work-group memory; all others are
         computed where an element of them is used. `tt.dot` is coopmatrix.mul_add of
         tiles. No operation of `tt`, `ttg` and `ttig` is left.
Fails:   naming the first operation that cannot be converted. The module is then
         unchanged.

    tt.func @f(%p: !tt.ptr<f16>, %n: i32)
    func.func @f(%p: memref<f16>, %n: i32)
        attributes {simt.kernel, simt.subgroup_size, simt.work_group_size}

A tensor that a loop carries has a buffer, unless it only moves by the same amount each
time: then it is computed from the number of the round. Buffers are allocated where they
are first written, for `share-workgroup-memory` to place.

With `rounds=true` blocks of memory that are factors are loaded as matrices, and a loop
that only adds products is written around what stores its sums (rounds.py). That the
memory of two arguments does not overlap may then be a condition of the kernel; with
`fallback=true` it has a second entry point without one, where loops are as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import nan, prod
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, gpu, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.memref import ReinterpretCastOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import coopmatrix, simt, tt, ttg, ttig
from coopc.dialects.coopmatrix import Axis, MatrixType
from coopc.dialects.llvm_target import AssumeOp
from coopc.dialects.narrow import is_integer
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.simt import bits_of
from coopc.dialects.tt.descriptors import Combination
from coopc.dialects.tt.types import (
    Padding,
    ProgramAxis,
    block_io,
    in_memory,
    is_tensor,
    shape_of,
)
from coopc.interface import SECOND_ENTRY
from coopc.ir.builder import INDEX, BoundedIndex, Builder, Values
from coopc.ir.control_flow import yielded
from coopc.ir.device_option import device_of
from coopc.ir.facts import constant_number
from coopc.ir.transaction import Refused, transaction
from coopc.passes.triton.convert_tt_to_coopmatrix import tensors
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    VIEWS,
    RoundsPlan,
    consumers,
    feeds_products,
    is_pair,
    plan_rounds,
    replaced,
    updated,
    waits,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.statements import (
    Flag,
    Statements,
    kind_of,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    ELEMENTWISE,
    FUNCTIONS,
    Address,
    Coordinates,
    Elements,
    InMemory,
    MatrixInMemory,
    Pointer,
    Tensor,
    address_of,
    addresses,
    function_of,
    index,
    is_resized,
    offset,
    pointee_bytes,
    scaled,
    splat_tensor,
    split_tensor,
)
from coopc.passes.triton.memory import compare_exchange, rmw, update_memory
from coopc.passes.triton.normalize_tt_descriptors import make_host_descriptors
from coopc.passes.triton.origins import bases_of
from coopc.remarks import remark, remarks_to

Value: TypeAlias = SSAValue | Address | Pointer | InMemory | Tensor
StoreOp: TypeAlias = (
    tt.StoreOp | tt.DescriptorStoreOp | tt.DescriptorReduceOp | tt.DescriptorScatterOp
)
PointerOp: TypeAlias = tt.LoadOp | tt.StoreOp | tt.AtomicRMWOp | tt.AtomicCASOp

DIMENSIONS = {
    ProgramAxis.X: simt.Dimension.X,
    ProgramAxis.Y: simt.Dimension.Y,
    ProgramAxis.Z: simt.Dimension.Z,
}
ROW_BYTES = 16
"""What rows in memory begin at multiples of for devices that want them aligned."""
BLOCK = (32, 32)
"""Rows and columns of sums that a subgroup keeps, where a device does not say it."""
REASONS = {
    "tt.elementwise_inline_asm": "assembly is for one device",
}
"""Why operations are never converted, where there is more to say than that."""
DROPPED = {
    "tt.assert": "a kernel cannot stop with a message",
    "tt.print": "a kernel has no output to print to",
}
"""Why operations are left out."""
UPDATES = {
    Combination.ADD: (tt.Update.FADD, tt.Update.ADD, tt.Update.ADD),
    Combination.AND: (None, tt.Update.AND, tt.Update.AND),
    Combination.MAX: (None, tt.Update.MAX, tt.Update.UMAX),
    Combination.MIN: (None, tt.Update.MIN, tt.Update.UMIN),
    Combination.OR: (None, tt.Update.OR, tt.Update.OR),
    Combination.XOR: (None, tt.Update.XOR, tt.Update.XOR),
}
"""The atomic update of a combination: of floats, of signed and of unsigned integers."""


@dataclass(slots=True)
class Rounds:
    """The rounds of a statement, while they are written."""

    plan: RoundsPlan
    strip: Tensor | None = None
    """The sums that are known where the statement is written."""
    places: dict[Coordinates, Coordinates] = field(
        default_factory=dict[Coordinates, Coordinates]
    )
    """Where in the strip an element of all sums is."""

    def element(self, elements: Elements, b: Builder, at: Coordinates) -> SSAValue:
        assert self.strip is not None, self.plan
        return elements.of(b, self.strip, self.places[at])


@dataclass(slots=True)
class Kernel:
    """One kernel while it is written anew."""

    b: Builder
    write: Statements
    values: dict[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])
    in_place: frozenset[Operation] = frozenset()
    """Loops that are written where they stand."""
    rounds: dict[Operation, Rounds] = field(default_factory=dict[Operation, Rounds])
    """By the statement that they are around."""
    users: dict[SSAValue, Operation] = field(default_factory=dict[SSAValue, Operation])
    """Where tensors are used that are used in one place."""
    apart: dict[tuple[SSAValue | None, SSAValue | None], scf.ForOp] = field(
        default_factory=dict["tuple[SSAValue | None, SSAValue | None]", scf.ForOp]
    )
    """What rounds load from and store to, which may not overlap: with their loop.

    None is memory at addresses."""

    # What old values are now.

    def number(self, value: SSAValue) -> SSAValue:
        found = self.values[value]
        assert isinstance(found, SSAValue), value
        return found

    def numbers(self, values: Sequence[SSAValue]) -> tuple[SSAValue, ...]:
        return tuple(map(self.number, values))

    def tensor(self, value: SSAValue) -> Tensor:
        found = self.values[value]
        assert isinstance(found, Tensor), value
        return found

    def pointer(self, value: SSAValue) -> Pointer:
        found = self.values[value]
        assert isinstance(found, Pointer), value
        return found

    def in_memory(self, value: SSAValue) -> InMemory:
        found = self.values[value]
        assert isinstance(found, InMemory), value
        return found

    def in_buffer(self, value: SSAValue) -> Tensor:
        """Return a tensor with its elements in a buffer, from here on."""
        name = value.name_hint or "tensor"
        tensor, element = self.tensor(value), _kept_as(value)
        if tensor.buffer is None and (old := replaced(value)) is not None:
            target = self.tensor(old)
            if target.buffer is not None:
                self.write.assign(self.b, target, tensor)
                tensor = target
        found = self.write.stored(self.b, tensor, element, name)
        self.values[value] = found = replace(found, base=tensor.base)
        return found

    # Blocks, and operations one by one.

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Build at the end of another block, what is known in which is of no use after.

        What was put in a buffer there is in none elsewhere: it may not run.
        """
        known = dict(self.values)
        with self.b.inside(block):
            yield
        self.values = known

    def block(self, block: Block) -> None:
        """Write the operations of a block, without the one that ends it."""
        for op in block.ops:
            if op is not block.last_op:
                self.operation(op)

    def captured(self, op: Operation) -> dict[SSAValue, SSAValue]:
        """Return what numbers around its regions are that an operation uses in them."""
        inner = (
            x for region in op.regions for each in region.walk() for x in each.operands
        )
        return {x: self.number(x) for x in inner if not op.is_ancestor(x.owner)}

    def operation(self, op: Operation) -> None:
        if op.results and all(x in self.values for x in op.results):
            return  # it was needed before
        self.b.location = op.location
        if (rule := RULES.get(type(op))) is not None:
            rule(self, op)
        elif any(is_tensor(x.type) for x in op.results):
            self.of_elements(op)
        else:
            self.scalar(op)
        for result in op.results:
            found = self.values.get(result)
            if isinstance(found, SSAValue) and found.name_hint is None:
                found.name_hint = result.name_hint

    def is_loaded(self, value: SSAValue) -> bool:
        """Whether elements of a tensor are bits in buffers, which need no other."""
        if self.tensor(value).buffer is not None:
            return True
        op = value.owner
        is_view = isinstance(op, (*VIEWS, arith.BitcastOp, tt.BitcastOp))
        is_view = is_view or (isinstance(op, tt.ReduceOp) and is_pair(op))
        if not isinstance(op, Operation) or not is_view:
            return False
        return all(map(self.is_loaded, op.operands))

    def reduce(self, op: tt.ReduceOp) -> None:
        if is_pair(op) and self.is_loaded(op.srcs[0]):
            (src,), (result,) = map(self.tensor, op.srcs), op.results
            self.values[result] = self.write.pair(op, src)
            return
        self.write.outer.update(self.captured(op))
        found = self.write.reduce(self.b, op, [self.tensor(x) for x in op.srcs])
        self.values.update(zip(op.results, found, strict=True))

    def scan(self, op: tt.ScanOp) -> None:
        self.write.outer.update(self.captured(op))
        found = self.write.scan(self.b, op, [self.tensor(x) for x in op.srcs])
        self.values.update(zip(op.results, found, strict=True))

    def map_elementwise(self, op: tt.MapElementwiseOp) -> None:
        self.write.outer.update(self.captured(op))
        found = self.write.map(self.b, op, [self.tensor(x) for x in op.srcs])
        self.values.update(zip(op.results, found, strict=True))

    def histogram(self, op: tt.HistogramOp) -> None:
        mask = None if op.mask is None else self.tensor(op.mask)
        found = self.write.histogram(self.b, op, self.tensor(op.src), mask)
        self.values[op.result] = found

    def split(self, op: tt.SplitOp) -> None:
        for which, result in enumerate(op.results):
            found = split_tensor(self.write.elements, self.tensor(op.src), which)
            self.values.setdefault(result, found)

    def hint(self, op: Operation) -> None:
        """Nothing is left of it."""

    def shared(self, op: ttg.LocalAllocOp | ttg.LocalLoadOp) -> None:
        """Take what a buffer of Triton is made of for what it holds."""
        src = op.init if isinstance(op, ttg.LocalAllocOp) else op.src
        changed = any(isinstance(x.operation, ttg.LocalStoreOp) for x in op.result.uses)
        if src is None or changed:
            raise Refused(op, "expected a buffer that is written once, when it is made")
        self.values[op.result] = self.values[src]

    def drop(self, op: tt.AssertOp | tt.PrintOp) -> None:
        remark(op, f"it is left out: {DROPPED[op.name]}")

    def of_elements(self, op: Operation) -> None:
        """Let tensors be computed where they are used, or once, if that is less."""
        if isinstance(op, tt.SplatOp):
            value = self.values[op.src]
            assert isinstance(value, SSAValue | Pointer), op
            self.values[op.result] = splat_tensor(shape_of(op.result.type), value)
            return
        self._refuse(op, type(op) in FUNCTIONS)
        is_repeated = isinstance(op, tt.GatherOp | tt.BroadcastOp)
        if is_repeated and self.tensor(op.src).reads and not self.is_loaded(op.src):
            self.in_buffer(op.src)
        values = [self.values[x] for x in op.operands]
        srcs = [
            splat_tensor((), x) if isinstance(x, SSAValue) else x
            for x in values
            if isinstance(x, SSAValue | Tensor)
        ]
        for result in op.results:
            found = function_of(self.write.elements, op, srcs, result)
            self.values[result] = found
            is_kept = bool(found.reads) and not found.in_rounds
            is_kept = is_kept and bool(result.uses) and result not in self.users
            if is_kept and not isinstance(op, VIEWS) and not self.is_loaded(result):
                self.in_buffer(result)

    def scalar(self, op: Operation) -> None:
        """Write an operation on numbers and pointers."""
        b = self.b
        if (pointer := self.of_pointer(op)) is not None:
            self.values[op.results[0]] = pointer
            return
        match op:
            case tt.GetProgramIdOp() | tt.GetNumProgramsOp():
                is_id = isinstance(op, tt.GetProgramIdOp)
                make = simt.WorkgroupIdOp if is_id else simt.NumWorkgroupsOp
                found = b.effect(make(DIMENSIONS[op.program_axis])).results[0]
                self.values[op.result] = b.pure(arith.IndexCastOp, found, i32)
            case tt.UnsplatOp():
                src = self.tensor(op.src)
                self.write.elements.known.clear()
                zeros = tuple(b.constant(INDEX, 0) for _ in src.shape)
                found = self.write.elements.of(b, src, zeros)
                self.values[op.result] = found
            case tt.MakeTensorDescriptorOp():
                self.values[op.result] = InMemory(
                    self.pointer(op.base),
                    self.numbers(op.shape),
                    self.numbers(op.strides),
                    pads_with_nan=op.padding_option is Padding.NAN,
                )
            case tt.MakeTensorPtrOp():
                self.values[op.result] = InMemory(
                    self.pointer(op.base),
                    self.numbers(op.shape),
                    self.numbers(op.strides),
                    self.numbers(op.offsets),
                )
            case tt.AdvanceOp():
                old = self.in_memory(op.ptr)
                pairs = zip(old.offsets, self.numbers(op.offsets), strict=True)
                moved = tuple(b.pure(arith.AddiOp, x, y) for x, y in pairs)
                self.values[op.result] = replace(old, offsets=moved)
            case ttg.BarrierOp() | gpu.BarrierOp():
                b.effect(simt.BarrierOp())
            case _:
                known = op.dialect_name() not in ("tt", "ttg", "ttig")
                self._refuse(op, known and not op.regions)
                operands = dict(
                    zip(op.operands, self.numbers(op.operands), strict=True)
                )
                new = b.effect(op.clone(dict(operands)))
                self.values.update(zip(op.results, new.results, strict=True))

    def of_pointer(self, op: Operation) -> Value | None:
        """Write an operation on pointers; None for another one."""
        match op:
            case tt.AddPtrOp():
                start, moved = self.pointer(op.ptr), self.number(op.offset)
                place = self.b.pure(arith.AddiOp, start.offset, offset(self.b, moved))
                return replace(start, offset=place)
            case tt.BitcastOp() if isinstance(pointer := self.values[op.src], Pointer):
                if not is_resized(op):
                    return pointer
                return self.pointer_to(self.address(pointer), op.result.type)
            case tt.IntToPtrOp():
                return self.pointer_to(self.number(op.src), op.result.type)
            case tt.PtrToIntOp():
                return self.address(self.pointer(op.src))
            case arith.SelectOp() if not isinstance(self.values[op.lhs], SSAValue):
                form = self.form(op.lhs, op.result, op)
                one, other = (self.values[x] for x in (op.lhs, op.rhs))
                pairs = zip(*(self.parts(x, form) for x in (one, other)), strict=True)
                chosen = [self.b.select(self.number(op.cond), *each) for each in pairs]
                return self.like(form, iter(chosen))
            case _:
                return None

    def address(self, pointer: Pointer) -> SSAValue:
        return address_of(self.b, pointer.base, pointer.offset)

    def pointer_to(self, address: SSAValue, type: Attribute) -> Pointer:
        """Return a pointer of a type to what is at an address."""
        assert isinstance(type, tt.PtrType), type
        return self.at_address(address, in_memory(type.pointee))

    def at_address(self, address: SSAValue, element: Attribute) -> Pointer:
        base = self.b.pure(simt.MemoryAtOp, address, MemRefType(element, []))
        return Pointer(base, self.b.constant(i64, 0))

    def _refuse(self, op: Operation, is_known: bool) -> None:
        if not is_known:
            what = REASONS.get(op.name, "no engine has it")
            raise Refused(op, f"not supported: {what}")

    # Memory.

    def access(self, op: PointerOp) -> None:
        """Write an access through pointers, of a tensor or of one element."""
        target = self.values[op.ptr]
        if isinstance(target, InMemory):
            assert isinstance(op, tt.LoadOp | tt.StoreOp), op
            self.block_access(
                op, target, target.offsets, op.boundary_check.get_values()
            )
        elif isinstance(target, Tensor):
            place = partial(self.write.elements.of, self.b, target)
            self.tensor_access(op, target.base, place, self._mask(op))
        else:
            assert isinstance(target, Pointer), op
            self.scalar_access(op, target)

    def _mask(self, op: PointerOp) -> Tensor | None:
        mask = None if isinstance(op, tt.AtomicCASOp) else op.mask
        return None if mask is None else self.tensor(mask)

    def tensor_access(
        self,
        op: Operation,
        base: SSAValue | None,
        place: tensors.At,
        mask: Tensor | None,
        inside: tensors.InsideAt | None = None,
        other: float = 0,
        matrix: MatrixInMemory | None = None,
    ) -> None:
        """Write an access of each element of a tensor.

        Args:
            op: the access.
            base: the argument that places are in; without it they are addresses.
            place: where in it each element is.
            mask: of what is accessed, all without one.
            inside: what is accessed besides, all without it.
            other: what is loaded elsewhere, if the operation does not say it.
            matrix: what is loaded, if that is a matrix in memory.
        """
        b, write = self.b, self.write

        def flag(at: Coordinates) -> Flag:
            found = True if inside is None else inside(at)
            return b.both(
                found, True if mask is None else write.elements.of(b, mask, at)
            )

        if isinstance(op, StoreOp):
            self.tensor_store(op, base, place, flag)
            return
        (result,) = op.results
        element, shape = element_of(result.type), shape_of(result.type)
        if isinstance(op, tt.AtomicRMWOp | tt.AtomicCASOp):
            values, update = self.tensor(op.val), op

            def get(at: Coordinates) -> SSAValue:
                value = write.elements.of(b, values, at)
                if isinstance(update, tt.AtomicCASOp):
                    expected = write.elements.of(b, self.tensor(update.cmp), at)
                    how = partial(compare_exchange, update, expected)
                else:
                    how = partial(rmw, update)
                return write.update(b, op, base, place(at), flag(at), value, how)

            if not result.uses:
                self.each(op, base, shape, get)
                return
        else:
            rest = op.other if isinstance(op, tt.LoadOp) else None
            others = None if rest is None else self.tensor(rest)

            def get(at: Coordinates) -> SSAValue:
                spare = other if others is None else write.elements.of(b, others, at)
                return write.load(b, base, place(at), flag(at), spare, element)

        if isinstance(op, tt.LoadOp | tt.DescriptorLoadOp) and write.block is not None:
            is_factor = matrix is not None and feeds_products(op)
            if is_factor or waits(op, self.users):
                reads = frozenset[SSAValue]() if base is None else frozenset({base})
                found = Tensor(shape, lambda b, at: get(at), None, reads)
                found = replace(found, matrix=matrix if is_factor else None)
                self.values[result] = found
                return
        found = write.buffer(b, shape, element, result.name_hint or "loaded")
        write.fill(b, found, get)
        self.values[result] = found

    def tensor_store(
        self,
        op: StoreOp,
        base: SSAValue | None,
        place: tensors.At,
        flag: Callable[[Coordinates], Flag],
    ) -> None:
        """Write a store of each element of a tensor, or an update of what is there."""
        b, write = self.b, self.write
        source = self.tensor(op.value if isinstance(op, tt.StoreOp) else op.src)

        def store(at: Coordinates) -> None:
            element = write.elements.of(b, source, at)
            write.store(b, base, place(at), flag(at), element)

        def update(at: Coordinates) -> None:
            element = write.elements.of(b, source, at)
            write.update(b, op, base, place(at), flag(at), element, how)

        if not isinstance(op, tt.DescriptorReduceOp):
            self.each(op, base, source.shape, store)
            return
        kind, element = Combination(op.kind.value.data), element_of(op.src.type)
        kinds = UPDATES.get(kind, (None, None, None))
        assert isinstance(op.desc.type, tt.TensorDescType), op
        number = is_integer(element) + op.desc.type.is_unsigned
        if (how_updated := kinds[number]) is None:
            what = "expected add, or and, max, min, or, xor of integers"
            raise Refused(op, f"{what}, got {kind.name.lower()} of {element}")
        how = partial(update_memory, how_updated)
        self.each(op, base, source.shape, update)

    def scalar_access(self, op: PointerOp, target: Pointer) -> None:
        """Write an access of one element: a load by all lanes, else by the first.

        All lanes wait before an update that others may wait for, and after one that
        waits for others.
        """
        b, base, place = self.b, target.base, target.offset
        mask = None if isinstance(op, tt.AtomicCASOp) else op.mask
        flag: Flag = True if mask is None else self.number(mask)
        if isinstance(op, tt.LoadOp):
            other = 0 if op.other is None else self.number(op.other)
            element = op.result.type
            found = self.write.load(b, base, place, flag, other, element)
            self.values[op.result] = found
            return
        first = b.both(flag, b.equal(b.lane(self.write.lanes), 0))
        if isinstance(op, tt.StoreOp):
            self.write.store(b, base, place, first, self.number(op.value))
            return
        if isinstance(op, tt.AtomicCASOp):
            how = partial(compare_exchange, op, self.number(op.cmp))
        else:
            how = partial(rmw, op)
        if op.order in (tt.Order.RELEASE, tt.Order.ACQ_REL):
            b.effect(simt.BarrierOp())
        found = self.write.update(b, op, base, place, first, self.number(op.val), how)
        if op.result.uses:
            self.values[op.result] = b.from_lane(found, tensors.FIRST)
        if op.order in (tt.Order.ACQUIRE, tt.Order.ACQ_REL):
            b.effect(simt.BarrierOp())

    def descriptor_access(
        self, op: tt.DescriptorLoadOp | tt.DescriptorStoreOp | tt.DescriptorReduceOp
    ) -> None:
        target, places = self.in_memory(op.desc), self.numbers(op.indices)
        is_turned = block_io(op) == "column_major"
        self.block_access(op, target, places, range(len(places)), is_turned)

    def rows_access(self, op: tt.DescriptorGatherOp | tt.DescriptorScatterOp) -> None:
        """Write an access of parts of rows, within the bounds of the tensor."""
        b, target = self.b, self.in_memory(op.desc)
        rows, start = self.tensor(op.x_offsets), self.number(op.y_offset)

        def coordinates(at: Coordinates) -> tuple[SSAValue, SSAValue]:
            row = offset(b, self.write.elements.of(b, rows, at[:1]))
            return row, b.pure(arith.AddiOp, offset(b, start), offset(b, at[1]))

        def place(at: Coordinates) -> SSAValue:
            return self.element_at(target, coordinates(at))

        def inside(at: Coordinates) -> Flag:
            pairs = zip(coordinates(at), target.sizes, strict=True)
            return b.both(*(b.compare("ult", x, offset(b, n)) for x, n in pairs))

        other = nan if target.pads_with_nan else 0
        self.tensor_access(op, target.pointer.base, place, None, inside, other)

    def element_at(self, target: InMemory, where: Sequence[SSAValue]) -> SSAValue:
        """Return the offset of an element of a tensor in memory."""
        found = target.pointer.offset
        for number, stride in zip(where, target.strides, strict=True):
            step = self.b.pure(arith.MuliOp, number, stride)
            found = self.b.pure(arith.AddiOp, found, step)
        return found

    def block_access(
        self,
        op: Operation,
        target: InMemory,
        starts: Sequence[SSAValue],
        checked: Sequence[int],
        is_turned: bool = False,
    ) -> None:
        """Write an access of a block of a tensor in memory, within its bounds.

        Args:
            op: the access.
            target: the tensor in memory.
            starts: where in that the block begins.
            checked: the dimensions in which it may be outside.
            is_turned: whether its two dimensions are in the other order there.
        """
        b = self.b
        pads_with_nan = target.pads_with_nan
        if isinstance(op, tt.LoadOp) and op.padding is not None:
            pads_with_nan = op.padding == Padding.NAN.attribute

        def coordinates(at: Coordinates) -> list[SSAValue]:
            if is_turned:
                at = at[::-1]
            whole = (*[b.constant(INDEX, 0)] * (len(starts) - len(at)), *at)
            pairs = zip(starts, whole, strict=True)
            return [b.pure(arith.AddiOp, offset(b, x), offset(b, y)) for x, y in pairs]

        def place(at: Coordinates) -> SSAValue:
            return self.element_at(target, coordinates(at))

        def inside(at: Coordinates) -> Flag:
            where = coordinates(at)
            sizes = [offset(b, x) for x in target.sizes]
            return b.both(*(b.compare("ult", where[d], sizes[d]) for d in checked))

        other, matrix = nan if pads_with_nan else 0, None
        if self.write.block is not None and not pads_with_nan:
            matrix = self._matrix(target, starts, checked)
            if matrix is not None and is_turned:
                matrix = matrix.transposed()
        base = target.pointer.base
        self.tensor_access(op, base, place, None, inside, other, matrix)

    def _matrix(
        self, target: InMemory, starts: Sequence[SSAValue], checked: Sequence[int]
    ) -> MatrixInMemory | None:
        """Return a block in memory as what matrices are loaded from, if they can be."""
        if len(starts) != 2 or constant_number(target.strides[1]) != 1:
            return None
        b, base = self.b, target.pointer.base
        element = kind_of(base)
        layout = StridedLayoutAttr([None, 1], None)
        type = MemRefType(element, [DYNAMIC_INDEX] * 2, layout)
        begin, pitch = index(b, target.pointer.offset), index(b, target.strides[0])
        sizes = [index(b, x) for x in target.sizes]
        view = ReinterpretCastOp.from_dynamic(base, [begin], sizes, [pitch, 1], type)
        memory = b.effect(view).results[0]
        aligned: SSAValue | bool = True
        least = ROW_BYTES * 8 // bits_of(element)
        if self.write.aligns_rows and least > 1:
            first = b.pure(arith.AddiOp, begin, index(b, starts[1]))
            both = b.pure(arith.OrIOp, pitch, first)
            rest = b.pure(arith.AndIOp, both, b.constant(INDEX, least - 1))
            aligned = b.compare("eq", rest, b.constant(INDEX, 0))
        places = tuple(index(b, x) for x in starts)
        axes = tuple((Axis.ROWS, Axis.COLS)[x] for x in checked)
        return MatrixInMemory(memory, places, axes, aligned)

    # Products.

    def dot(self, op: tt.DotOp) -> None:
        """Multiply tiles; into the buffer of c where nothing else needs that."""
        a, b = self.factor(op.a), self.factor(op.b)
        c = self.tensor(op.c)
        if (carried := updated(op)) is not None:
            target = self.tensor(carried)
            self.write.assign(self.b, target, c)
            c = target
        owner = op.c.owner
        around = owner if isinstance(owner, Block) else owner.parent
        is_last = c.buffer is not None and op.c.has_one_use()
        is_last = is_last and around is op.parent and not isinstance(owner, VIEWS)
        if carried is None and not is_last:
            element = element_of(op.d.type)
            new = self.write.buffer(self.b, c.shape, element, "product")
            self.write.assign(self.b, new, c)
            c = new
        self.write.dot(self.b, op, a, b, c)
        self.values[op.d] = c

    def factor(self, value: SSAValue) -> Tensor:
        """Return a tensor that products can load: in a buffer, or where it is."""
        found = self.tensor(value)
        can_load = self.write.block is not None and found.matrix is not None
        return found if can_load else self.in_buffer(value)

    def each(
        self,
        op: Operation,
        base: SSAValue | None,
        shape: Sequence[int],
        body: Callable[[Coordinates], object],
    ) -> None:
        """Run the body of a statement for each element, in rounds if there are some.

        Args:
            op: the statement.
            base: the argument that it stores to; None for memory at addresses.
            shape: of what it stores.
            body: what it does.
        """
        if (rounds := self.rounds.get(op)) is None:
            self.write.for_each(self.b, shape, body)
            return
        b, write, plan = self.b, self.write, rounds.plan
        (rows, cols), (_, beside) = plan.block, plan.rounds
        strip = write.sum_type(plan.dot)

        def of_round(t: BoundedIndex, _: Values) -> Values:
            at = (
                b.index(b.times(b.divided(t, beside), rows)),
                b.index(b.times(b.remainder(t, beside), cols)),
            )
            first = tuple(b.plus(x, y) for x, y in zip(at, plan.begin, strict=True))
            sums = self.sums(plan, first, strip)
            stage = write.buffer(b, strip.shape, strip.element_type, "sums")
            assert stage.buffer is not None
            rounds.strip = stage
            zero = b.constant(INDEX, 0)
            for number, each in enumerate(sums):

                def of_strip(x: Coordinates, number: int = number) -> None:
                    row = b.plus(x[0], number * strip.shape[0])
                    whole = (
                        b.pure(arith.AddiOp, at[0], row),
                        b.pure(arith.AddiOp, at[1], x[1]),
                    )
                    rounds.places[whole] = x
                    body(whole)

                write.barrier(b)
                b.effect(coopmatrix.StoreOp(each, stage.buffer, (zero, zero)))
                write.barrier(b)
                write.for_each(b, strip.shape, of_strip)
            return ()

        write.reads.clear()
        b.loop(prod(plan.rounds), (), of_round, name="round")
        for each in write.reads:
            if each is None or isinstance(each.owner, Block | simt.MemoryAtOp):
                self.apart[each, base] = plan.loop

    def sums(self, plan: RoundsPlan, at: Coordinates, strip: MatrixType) -> Values:
        """Write a loop anew for a block of its sums; return their strips."""
        b, op = self.b, plan.loop
        init = self.write.elements.of(b, self.tensor(op.iter_args[plan.number]), at)
        fill = b.effect(coopmatrix.FillOp(init, strip)).results[0]
        count = plan.block[0] // strip.shape[0]

        def add(sums: Values) -> Values:
            a, c = (self.tensor(x) for x in (plan.dot.a, plan.dot.b))
            return self.write.add_products(b, plan.dot, (a, c), at, sums)

        return self.rewritten(op, {plan.number}, (fill,) * count, add, plan.dot)

    # Control flow. Tensors that it carries are in buffers, others are several numbers.

    def parts(self, value: Value, form: Value) -> tuple[SSAValue, ...]:
        """Return the numbers that control flow carries of a value in a form."""
        match value, form:
            case Pointer(), Address():
                return (self.address(value),)
            case Pointer(), _:
                return (value.offset,)
            case InMemory(), InMemory():
                where = self.parts(value.at, form.at)
                return (*where, *value.sizes, *value.strides, *value.offsets)
            case Tensor(), _:
                return ()
            case _:
                assert isinstance(value, SSAValue), value
                return (value,)

    def like(self, value: Value, parts: Iterator[SSAValue]) -> Value:
        """Return a value of the form of another, of numbers that were carried."""
        match value:
            case SSAValue():
                return next(parts)
            case Pointer():
                return replace(value, offset=next(parts))
            case Address():
                return self.at_address(next(parts), value.element)
            case InMemory():
                at = self.like(value.at, parts)
                assert isinstance(at, Pointer), value
                sizes = tuple(next(parts) for _ in value.sizes)
                strides = tuple(next(parts) for _ in value.strides)
                offsets = tuple(next(parts) for _ in value.offsets)
                return replace(
                    value, at=at, sizes=sizes, strides=strides, offsets=offsets
                )
            case Tensor():
                return value

    def has_base(self, value: SSAValue, around: Operation) -> bool:
        """Whether pointers count from one base that is known before an operation."""
        bases = bases_of(value)
        known = len(bases) == 1 and not around.is_ancestor(next(iter(bases)).owner)
        return known and not any(is_tensor(x.type) for x in bases)

    def form(self, old: SSAValue, target: SSAValue, around: Operation) -> Value:
        """Return the form of a value as one that may be another: see `carried`."""
        match value := self.values[old]:
            case Pointer() | InMemory() if not self.has_base(target, around):
                where = value if isinstance(value, Pointer) else value.pointer
                form = Address(kind_of(where.base))
                return form if value is where else replace(value, at=form)
            case _:
                return value

    def carried(
        self,
        old: SSAValue,
        target: SSAValue,
        around: Operation,
        name: str,
        b: Builder | None = None,
    ) -> Value:
        """Return the form in which control flow carries a value: a tensor's buffer.

        Args:
            old: the value.
            target: what it is passed on as.
            around: the control flow.
            name: of the buffer.
            b: where that is allocated, in front of the control flow; here without it.
        """
        value = self.form(old, target, around)
        if not isinstance(value, Tensor):
            return value
        found = self.write.buffer(b or self.b, value.shape, _kept_as(old), name)
        is_known = value.base is not None and self.has_base(target, around)
        return replace(found, base=value.base if is_known else None)

    def hand_over(
        self, op: Operation, olds: Sequence[SSAValue], forms: Sequence[Value | None]
    ) -> list[SSAValue]:
        """Write what is yielded to its buffers; return the numbers that are yielded.

        A value without a form is not carried.
        """
        found: list[SSAValue] = []
        waiting: list[tuple[Tensor, Tensor]] = []
        targets = {x.buffer for x in forms if isinstance(x, Tensor)}
        for old, form in zip(olds, forms, strict=True):
            if form is None:
                continue
            value = self.values[old]
            if isinstance(value, Tensor) and _base(form) is None:
                value = addresses(self.write.elements, value)
            assert _base(form) in (None, _base(value)), op
            found += self.parts(value, form)
            if isinstance(form, Tensor) and isinstance(value, Tensor):
                if value.buffer is form.buffer:
                    continue
                if value.reads & targets and value.buffer not in (None, *targets):
                    pass  # a buffer of its own, computed already
                elif value.reads & targets:
                    spare = self.write.buffer(
                        self.b, value.shape, _kept_as(old), "next"
                    )
                    self.write.assign(self.b, spare, value)
                    value = spare
                waiting.append((form, value))
        for form, value in waiting:
            self.write.assign(self.b, form, value)
        return found

    def steps(self, op: scf.ForOp) -> dict[int, Operation]:
        """Return what moves an argument by the same amount each round, by number."""
        found: dict[int, Operation] = {}
        args = op.body.block.args[1:]
        for number, value in enumerate(yielded(op.body)):
            owner = value.owner
            is_sum = isinstance(owner, tt.AddPtrOp | arith.AddiOp)
            if not is_sum or owner.parent is not op.body.block:
                continue
            if owner.operands[0] is not args[number] or op.results[number].uses:
                continue
            if is_tensor(value.type) and _invariant(owner.operands[1], op):
                found[number] = owner
        return found

    def loop(self, op: scf.ForOp) -> None:
        """Write a loop anew, where it stands or around what uses its sums."""
        if self.write.block is not None and op not in self.in_place:
            plans = plan_rounds(op, set(self.steps(op)), self.write.block)
            if not isinstance(plans, str):
                # The sums first: a view of them may be what is used.
                values = [op.results[plans[0].number], *(x.source for x in plans)]
                all_rounds = [Rounds(plans[0]), *map(Rounds, plans)]
                for value, each in zip(values, all_rounds, strict=True):
                    self.rounds[each.plan.statement] = each
                    element = partial(each.element, self.write.elements)
                    shape = shape_of(value.type)
                    self.values[value] = Tensor(shape, element, in_rounds=True)
                return
        self.rewritten(op, set())

    def rewritten(
        self,
        op: scf.ForOp,
        kept: set[int],
        sums: Values = (),
        add: Callable[[Values], Values] | None = None,
        dot: Operation | None = None,
    ) -> Values:
        """Write a loop anew.

        Args:
            op: the loop.
            kept: the numbers of what it carries in matrices.
            sums: these matrices.
            add: adds to them, in the place of an operation.
            dot: that operation.
        """
        b, body = self.b, op.body.block
        steps = self.steps(op)
        forms: list[Value | None] = []
        for number, old in enumerate(op.iter_args):
            name = body.args[1 + number].name_hint or "carried"
            before, value = old.owner, self.values[old]
            is_last = isinstance(before, scf.ForOp) and old.has_one_use()
            is_last = is_last and not isinstance(element_of(old.type), tt.PtrType)
            if number in steps or number in kept:
                forms.append(None)
            elif is_last and before.parent is op.parent and isinstance(value, Tensor):
                forms.append(value)  # nobody else needs that buffer
            else:
                forms.append(self.carried(old, body.args[1 + number], op, name))
        starts = self.hand_over(op, op.iter_args, forms)
        lower, upper, stride = self.numbers((op.lb, op.ub, op.step))
        types = [x.type for x in (lower, *sums, *starts)]
        block = Block(arg_types=types)
        new = b.effect(scf.ForOp(lower, upper, stride, [*sums, *starts], block))
        counter, *parts = block.args
        counter.name_hint = body.args[0].name_hint
        with self.inside(block):
            self.values[body.args[0]] = counter
            self._enter(body.args[1:], forms, iter(parts[len(sums) :]))
            for number, step in steps.items():
                arg = body.args[1 + number]
                start = self.tensor(op.iter_args[number])
                self.values[arg] = self._moved(op, step, start, counter)
            totals: Values = ()
            for each in body.ops:
                if add is not None and each is dot:
                    totals = add(tuple(parts[: len(sums)]))
                elif each is not body.last_op:
                    self.operation(each)
            self.b.location = op.location
            ends = self.hand_over(op, yielded(op.body), forms)
            b.effect(scf.YieldOp(*totals, *ends))
        results = [x for x, form in zip(op.results, forms, strict=True) if form]
        self._enter(results, [x for x in forms if x], iter(new.results[len(sums) :]))
        return tuple(new.results[: len(sums)])

    def _enter(
        self,
        olds: Sequence[SSAValue],
        forms: Sequence[Value | None],
        parts: Iterator[SSAValue],
    ) -> None:
        """Note what values of the old program are, of numbers that were carried."""
        for old, form in zip(olds, forms, strict=True):
            if form is None:
                continue
            found = self.like(form, parts)
            if isinstance(found, SSAValue):
                found.name_hint = old.name_hint
            self.values[old] = found

    def _moved(
        self, op: scf.ForOp, step: Operation, start: Tensor, counter: SSAValue
    ) -> Tensor:
        """Return a tensor that was moved once in each round so far."""
        b = self.b
        for each in _needed(step.operands[1], op):
            self.operation(each)
        lower, stride = self.numbers((op.lb, op.step))
        rounds = b.pure(arith.SubiOp, counter, lower)
        rounds = b.pure(arith.DivUIOp, rounds, stride)
        by, elements = self.tensor(step.operands[1]), self.write.elements
        is_address = isinstance(step, tt.AddPtrOp) and start.base is None
        unit = pointee_bytes(step.results[0].type) if is_address else 1

        def element(b: Builder, at: Coordinates) -> SSAValue:
            first, moved = elements.of(b, start, at), elements.of(b, by, at)
            count = rounds
            if isinstance(step, tt.AddPtrOp):
                first, moved = offset(b, first), scaled(b, offset(b, moved), unit)
            if count.type != moved.type:
                count = b.pure(arith.IndexCastOp, index(b, count), moved.type)
            return b.pure(arith.AddiOp, first, b.pure(arith.MuliOp, count, moved))

        return Tensor(start.shape, element, None, start.reads | by.reads, start.base)

    def branch(self, op: scf.IfOp) -> None:
        """Write a branch anew."""
        b = self.b
        sides = [x.block for x in op.regions if x.blocks]
        blocks, outside = [Block() for _ in sides], replace(b)
        forms: list[Value | None] = []
        ends: list[SSAValue] = []
        for old, new in zip(sides, blocks, strict=True):
            with self.inside(new):
                self.block(old)
                last = old.last_op
                values = () if last is None else last.operands
                if old is sides[0]:
                    pairs = zip(values, op.results, strict=True)
                    forms += [
                        self.carried(x, y, op, y.name_hint or "chosen", outside)
                        for x, y in pairs
                    ]
                ends = self.hand_over(op, values, forms)
                b.effect(scf.YieldOp(*ends))
        types = [x.type for x in ends]
        then, *rest = (Region(x) for x in blocks)
        otherwise = rest[0] if rest else None
        found = b.effect(scf.IfOp(self.number(op.cond), types, then, otherwise))
        self._enter(op.results, forms, iter(found.results))

    def loop_while(self, op: scf.WhileOp) -> None:
        """Write a loop with a condition anew."""
        b = self.b
        before, after = op.before_region.block, op.after_region.block
        pairs = zip(op.arguments, before.args, strict=True)
        forms = [self.carried(x, y, op, "carried") for x, y in pairs]
        starts = self.hand_over(op, op.arguments, forms)
        types = [x.type for x in starts]
        blocks, outside = (Block(arg_types=types), Block()), replace(b)
        with self.inside(blocks[0]):
            self._enter(before.args, forms, iter(blocks[0].args))
            self.block(before)
            condition, *passed = yielded(op.before_region)
            pairs = zip(passed, after.args, strict=True)
            kept = [self.carried(x, y, op, "kept", outside) for x, y in pairs]
            ends = self.hand_over(op, passed, kept)
            b.effect(scf.ConditionOp(self.number(condition), *ends))
        for each in ends:
            blocks[1].insert_arg(each.type, len(blocks[1].args))
        with self.inside(blocks[1]):
            self._enter(after.args, kept, iter(blocks[1].args))
            self.block(after)
            b.effect(scf.YieldOp(*self.hand_over(op, yielded(op.after_region), forms)))
        regions = [Region(x) for x in blocks]
        new = b.effect(scf.WhileOp(starts, [x.type for x in ends], *regions))
        self._enter(op.results, kept, iter(new.results))


RULES: dict[type[Operation], Callable[[Kernel, Any], None]] = {
    scf.ForOp: Kernel.loop,
    scf.IfOp: Kernel.branch,
    scf.WhileOp: Kernel.loop_while,
    AssumeOp: Kernel.hint,
    ttg.LocalAllocOp: Kernel.shared,
    ttg.LocalDeallocOp: Kernel.hint,
    ttg.LocalLoadOp: Kernel.shared,
    ttig.PrefetchOp: Kernel.hint,
    ttig.DescriptorPrefetchOp: Kernel.hint,
    tt.LoadOp: Kernel.access,
    tt.StoreOp: Kernel.access,
    tt.AtomicCASOp: Kernel.access,
    tt.AtomicRMWOp: Kernel.access,
    tt.DescriptorLoadOp: Kernel.descriptor_access,
    tt.DescriptorReduceOp: Kernel.descriptor_access,
    tt.DescriptorGatherOp: Kernel.rows_access,
    tt.DescriptorScatterOp: Kernel.rows_access,
    tt.DescriptorStoreOp: Kernel.descriptor_access,
    tt.AssertOp: Kernel.drop,
    tt.PrintOp: Kernel.drop,
    tt.DotOp: Kernel.dot,
    tt.ReduceOp: Kernel.reduce,
    tt.ScanOp: Kernel.scan,
    tt.HistogramOp: Kernel.histogram,
    tt.MapElementwiseOp: Kernel.map_elementwise,
    tt.SplitOp: Kernel.split,
}
"""How an operation is written that is neither arithmetic nor a view."""


def _base(value: Value | None) -> SSAValue | None:
    match value:
        case Pointer() | Tensor():
            return value.base
        case InMemory():
            return _base(value.at)
        case _:
            return None


def _kept_as(value: SSAValue) -> Attribute:
    """Return the type of the elements of a tensor in a buffer: of pointers, offsets."""
    element = element_of(value.type)
    return i64 if isinstance(element, tt.PtrType) else element


_FREE = (tt.SplatOp, tt.BroadcastOp, tt.ExpandDimsOp, tt.MakeRangeOp)


def _invariant(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a value is the same in each round, without an access to memory."""
    owner = value.owner
    if isinstance(owner, Block):
        return not loop.body.block.is_ancestor(owner)
    if not loop.body.block.is_ancestor(owner):
        return True
    if not isinstance(owner, _FREE) and type(owner) not in ELEMENTWISE:
        return isinstance(owner, arith.ConstantOp)
    return not owner.regions and all(_invariant(x, loop) for x in owner.operands)


def _needed(value: SSAValue, loop: scf.ForOp) -> list[Operation]:
    """Return the operations in a loop that a value is computed by, in order."""
    owner = value.owner
    if isinstance(owner, Block) or not loop.body.block.is_ancestor(owner):
        return []
    before = [op for x in owner.operands for op in _needed(x, loop)]
    return list(dict.fromkeys([*before, owner]))


def convert_function(
    old: tt.FuncOp, statements: Statements, fallback: bool = False
) -> list[FuncOp]:
    """Return the kernel of one subgroup that does what a kernel of Triton does.

    With `fallback` another one follows if this one has conditions.
    """
    func, kernel = written(old, statements, frozenset())
    # The host compares memory of arguments only.
    same = frozenset(
        loop
        for (loaded, stored), loop in kernel.apart.items()
        if loaded is stored or not {loaded, stored} <= {*func.args}
    )
    if same:
        with remarks_to(lambda line: None):  # they were made before
            func, kernel = written(old, statements, same)
    if not kernel.apart:
        return [func]
    why = StringAttr("sums are stored before all is loaded")
    func.attributes[simt.CONDITIONS] = ArrayAttr(
        DictionaryAttr(
            {
                "argument": IntegerAttr(number, i64),
                "what": StringAttr("memory"),
                "apart_from_argument": IntegerAttr(other, i64),
                "why": why,
            }
        )
        for number, other in sorted(
            (func.args.index(stored), func.args.index(loaded))
            for loaded, stored in kernel.apart
            if loaded is not None and stored is not None
        )
    )
    if not fallback:
        return [func]
    with remarks_to(lambda line: None):
        second, _ = written(old, statements, frozenset(old.walk()))
    second.sym_name = StringAttr(func.sym_name.data + SECOND_ENTRY)
    return [func, second]


def written(
    old: tt.FuncOp, statements: Statements, in_place: frozenset[Operation]
) -> tuple[FuncOp, Kernel]:
    """Write a kernel anew; loops that are `in_place` are not around statements."""
    if not old.is_kernel:
        what = f"a kernel, got @{old.sym_name.data}: inline what is called"
        raise Refused(old, f"expected {what}")
    if len(old.body.blocks) != 1:
        what = f"structured control flow, got {len(old.body.blocks)} blocks"
        raise Refused(old, f"expected {what}")
    make_host_descriptors(old)
    args = old.body.block.args
    types = [
        MemRefType(in_memory(x.type.pointee), [])
        if isinstance(x.type, tt.PtrType)
        else x.type
        for x in args
    ]
    entry = Block(arg_types=types)
    func = FuncOp(old.sym_name.data, FunctionType.from_lists(types, []), Region(entry))
    func.location = old.location
    func.attributes[simt.KERNEL] = UnitAttr()
    simt.set_sizes(func, statements.lanes, (statements.lanes,))
    b = Builder.at_end(entry, old.location)
    kernel = Kernel(b, statements, in_place=in_place, users=consumers(old))
    for arg, new in zip(args, entry.args, strict=True):
        new.name_hint, new.location = arg.name_hint, arg.location
        is_pointer = isinstance(arg.type, tt.PtrType)
        kernel.values[arg] = Pointer(new, b.constant(i64, 0)) if is_pointer else new
    kernel.block(old.body.block)
    b.effect(ReturnOp())
    return func, kernel


@dataclass(frozen=True)
class ConvertTtToCoopmatrixPass(ModulePass):
    """Make kernels of one subgroup, with products of matrices, of Triton's kernels."""

    name = "convert-tt-to-coopmatrix"

    subgroup_size: int | None = None
    """Lanes that run a program; by default those of the device."""
    device: str | None = None
    """The device, if the module has no target."""
    tile: tuple[int, ...] = (16, 16, 16)
    """The most M, N and K of one product."""
    rounds: bool = False
    """Whether to load factors as matrices straight from memory, where the device can,
    and to keep sums in matrices, as many at a time as suit it."""
    fallback: bool = False
    """Whether kernels that have conditions get a second entry point, `.fallback`."""

    def __post_init__(self) -> None:
        lanes = self.subgroup_size
        if lanes is not None and (lanes < 1 or lanes & (lanes - 1)):
            what = "expected a subgroup size that is a power of two"
            raise ValueError(f"{what}, got {lanes}")
        if len(self.tile) != 3 or any(n < 1 or n & (n - 1) for n in self.tile):
            what = "expected tile = m,n,k, powers of two"
            raise ValueError(f"{what}, got {','.join(map(str, self.tile))}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert `op`, if it has kernels of Triton."""
        if not any(isinstance(each, tt.FuncOp) for each in op.ops):
            return
        m, n, k = self.tile
        statements = Statements(self.subgroup_size or 0, (m, n, k))
        if self.rounds or not statements.lanes:
            if self.device is None and simt.target_of(op) is None:
                what = f"expected a target, or {self.name}{{subgroup-size=..}}"
                raise PassFailedException(f"{what}, got neither")
            device = device_of(self.device, op, self.name)
            statements.lanes = statements.lanes or device.subgroup_size
            if self.rounds:
                tiles = device.gemm_tiles
                statements.block = tiles[0].subgroup if tiles else BLOCK
                statements.aligns_rows = device.aligned_rows
        with transaction(op) as draft:
            for each in list(draft.ops):
                if isinstance(each, tt.FuncOp):
                    new = convert_function(each, statements, self.fallback)
                    Rewriter.replace_op(each, new, [])
            for name in list(draft.attributes):
                if name.startswith(("ttg.", "ttig.")):
                    del draft.attributes[name]
