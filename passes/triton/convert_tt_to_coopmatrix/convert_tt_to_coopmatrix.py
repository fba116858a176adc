"""convert-tt-to-coopmatrix: makes kernels of one subgroup of Triton's kernels.

Before:  kernels of Triton, their calls inlined and its own arithmetic expanded, with
         layouts or without: these are not looked at. A target, or `lanes`.
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
time: then it is computed from the number of the round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import nan
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, gpu, scf
from xdsl.dialects.builtin import (
    FunctionType,
    MemRefType,
    ModuleOp,
    UnitAttr,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException

from coopc.dialects import simt, tt, ttg, ttig
from coopc.dialects.llvm_target import AssumeOp
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import (
    Padding,
    ProgramAxis,
    block_io,
    in_memory,
    is_tensor,
    shape_of,
)
from coopc.ir.builder import INDEX, Builder
from coopc.ir.control_flow import yielded
from coopc.ir.device_option import device_of
from coopc.ir.transaction import Refused, transaction
from coopc.passes.triton.convert_tt_to_coopmatrix import tensors
from coopc.passes.triton.convert_tt_to_coopmatrix.statements import Flag, Statements
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    ELEMENTWISE,
    FUNCTIONS,
    Coordinates,
    InMemory,
    Pointer,
    Tensor,
    function_of,
    index,
    offset,
    splat_tensor,
    split_tensor,
)
from coopc.passes.triton.normalize_tt_descriptors import make_host_descriptors

Value: TypeAlias = SSAValue | Pointer | InMemory | Tensor

DIMENSIONS = {
    ProgramAxis.X: simt.Dimension.X,
    ProgramAxis.Y: simt.Dimension.Y,
    ProgramAxis.Z: simt.Dimension.Z,
}
VIEWS = (
    tt.BroadcastOp | tt.ExpandDimsOp | tt.ReshapeOp | tt.TransOp | ttg.ConvertLayoutOp
)
CARRIED = "expected pointers into one argument"
REASONS = {
    "tt.assert": "a kernel cannot stop with a message",
    "tt.atomic_cas": "memory has no compare-and-exchange",
    "tt.elementwise_inline_asm": "assembly is of one device",
    "tt.int_to_ptr": "expected a pointer that is an argument, moved by elements",
    "tt.print": "a kernel has no output to print to",
    "tt.ptr_to_int": "expected a pointer that is moved by elements",
}
"""Why operations are never converted, where there is more to say than that."""


@dataclass(slots=True)
class Kernel:
    """One kernel while it is written anew."""

    b: Builder
    write: Statements
    values: dict[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])

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
        found = self.write.stored(self.b, tensor, element, name)
        self.values[value] = found = replace(found, base=tensor.base)
        return found

    # Blocks, and operations one by one.

    def block(self, block: Block) -> None:
        """Write the operations of a block, without the one that ends it."""
        for op in block.ops:
            if op is not block.last_op:
                self.operation(op)

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

    def reduce(self, op: tt.ReduceOp) -> None:
        found = self.write.reduce(self.b, op, [self.tensor(x) for x in op.srcs])
        self.values.update(zip(op.results, found, strict=True))

    def scan(self, op: tt.ScanOp) -> None:
        found = self.write.scan(self.b, op, [self.tensor(x) for x in op.srcs])
        self.values.update(zip(op.results, found, strict=True))

    def histogram(self, op: tt.HistogramOp) -> None:
        mask = None if op.mask is None else self.tensor(op.mask)
        found = self.write.histogram(self.b, op, self.tensor(op.src), mask)
        self.values[op.result] = found

    def split(self, op: tt.SplitOp) -> None:
        for which, result in enumerate(op.results):
            found = split_tensor(self.write.elements, self.tensor(op.src), which)
            self.values[result] = found

    def hint(self, op: Operation) -> None:
        """Nothing is left of it."""

    def of_elements(self, op: Operation) -> None:
        """Let tensors be computed where they are used, or once, if that is less."""
        if isinstance(op, tt.SplatOp):
            value = self.values[op.src]
            assert isinstance(value, SSAValue | Pointer), op
            self.values[op.result] = splat_tensor(shape_of(op.result.type), value)
            return
        self._refuse(op, type(op) in FUNCTIONS)
        if isinstance(op, tt.GatherOp | tt.BroadcastOp) and self.tensor(op.src).reads:
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
            if found.reads and not isinstance(op, VIEWS) and _is_used_again(result):
                self.in_buffer(result)

    def scalar(self, op: Operation) -> None:
        """Write an operation on numbers and pointers."""
        b = self.b
        match op:
            case tt.GetProgramIdOp() | tt.GetNumProgramsOp():
                is_id = isinstance(op, tt.GetProgramIdOp)
                make = simt.WorkgroupIdOp if is_id else simt.NumWorkgroupsOp
                found = b.effect(make(DIMENSIONS[op.program_axis])).results[0]
                self.values[op.result] = b.pure(arith.IndexCastOp, found, i32)
            case tt.AddPtrOp():
                start, moved = self.pointer(op.ptr), self.number(op.offset)
                place = b.pure(arith.AddiOp, start.offset, offset(b, moved))
                self.values[op.result] = replace(start, offset=place)
            case tt.BitcastOp() if isinstance(self.values[op.src], Pointer):
                self.values[op.result] = self.values[op.src]
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

    def _refuse(self, op: Operation, is_known: bool) -> None:
        if not is_known:
            what = REASONS.get(op.name, "no engine has it")
            raise Refused(op, f"it is not supported: {what}")

    # Memory.

    def access(self, op: tt.LoadOp | tt.StoreOp | tt.AtomicRMWOp) -> None:
        """Write an access through pointers, of a tensor or of one element."""
        target = self.values[op.ptr]
        if isinstance(target, InMemory):
            assert not isinstance(op, tt.AtomicRMWOp), op
            self.block_access(
                op, target, target.offsets, op.boundary_check.get_values()
            )
        elif isinstance(target, Tensor):
            assert target.base is not None, op
            place = partial(self.write.elements.of, self.b, target)
            self.tensor_access(op, target.base, place, self._mask(op))
        else:
            assert isinstance(target, Pointer), op
            self.scalar_access(op, target)

    def _mask(self, op: tt.LoadOp | tt.StoreOp | tt.AtomicRMWOp) -> Tensor | None:
        return None if op.mask is None else self.tensor(op.mask)

    def tensor_access(
        self,
        op: Operation,
        base: SSAValue,
        place: tensors.At,
        mask: Tensor | None,
        inside: tensors.InsideAt | None = None,
        other: float = 0,
    ) -> None:
        """Write an access of each element of a tensor.

        Args:
            op: the access.
            base: the argument that places are in.
            place: where in it each element is.
            mask: of what is accessed, all without one.
            inside: what is accessed besides, all without it.
            other: what is loaded elsewhere, if the operation does not say it.
        """
        b, write = self.b, self.write

        def flag(at: Coordinates) -> Flag:
            found = True if inside is None else inside(at)
            return b.both(
                found, True if mask is None else write.elements.of(b, mask, at)
            )

        if isinstance(op, tt.StoreOp | tt.DescriptorStoreOp):
            value = op.value if isinstance(op, tt.StoreOp) else op.src
            source = self.tensor(value)

            def store(at: Coordinates) -> None:
                element = write.elements.of(b, source, at)
                write.store(b, base, place(at), flag(at), element)

            write.for_each(b, source.shape, store)
            return
        (result,) = op.results
        element, shape = element_of(result.type), shape_of(result.type)
        if isinstance(op, tt.AtomicRMWOp):
            values, update = self.tensor(op.val), op

            def get(at: Coordinates) -> SSAValue:
                value = write.elements.of(b, values, at)
                return write.update(b, update, base, place(at), flag(at), value)

            if not result.uses:
                write.for_each(b, shape, get)
                return
        else:
            rest = op.other if isinstance(op, tt.LoadOp) else None
            others = None if rest is None else self.tensor(rest)

            def get(at: Coordinates) -> SSAValue:
                spare = other if others is None else write.elements.of(b, others, at)
                return write.load(b, base, place(at), flag(at), spare, element)

        found = write.buffer(shape, element, result.name_hint or "loaded")
        write.fill(b, found, get)
        self.values[result] = found

    def scalar_access(
        self, op: tt.LoadOp | tt.StoreOp | tt.AtomicRMWOp, target: Pointer
    ) -> None:
        """Write an access of one element: a load by all lanes, else by the first."""
        b, base, place = self.b, target.base, target.offset
        flag: Flag = True if op.mask is None else self.number(op.mask)
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
        found = self.write.update(b, op, base, place, first, self.number(op.val))
        if op.result.uses:
            self.values[op.result] = b.from_lane(found, tensors.FIRST)

    def descriptor_access(self, op: tt.DescriptorLoadOp | tt.DescriptorStoreOp) -> None:
        if block_io(op) == "column_major":
            raise Refused(op, "column_major loads are supported by coopc-xe only")
        target, places = self.in_memory(op.desc), self.numbers(op.indices)
        self.block_access(op, target, places, range(len(places)))

    def block_access(
        self,
        op: Operation,
        target: InMemory,
        starts: Sequence[SSAValue],
        checked: Sequence[int],
    ) -> None:
        """Write an access of a block of a tensor in memory, within its bounds."""
        b = self.b
        pads_with_nan = target.pads_with_nan
        if isinstance(op, tt.LoadOp) and op.padding is not None:
            pads_with_nan = op.padding == Padding.NAN.attribute

        def coordinates(at: Coordinates) -> list[SSAValue]:
            whole = (*[b.constant(INDEX, 0)] * (len(starts) - len(at)), *at)
            pairs = zip(starts, whole, strict=True)
            return [b.pure(arith.AddiOp, offset(b, x), offset(b, y)) for x, y in pairs]

        def place(at: Coordinates) -> SSAValue:
            found = target.at.offset
            for where, stride in zip(coordinates(at), target.strides, strict=True):
                step = b.pure(arith.MuliOp, where, stride)
                found = b.pure(arith.AddiOp, found, step)
            return found

        def inside(at: Coordinates) -> Flag:
            where = coordinates(at)
            sizes = [offset(b, x) for x in target.sizes]
            return b.both(*(b.compare("ult", where[d], sizes[d]) for d in checked))

        other = nan if pads_with_nan else 0
        self.tensor_access(op, target.at.base, place, None, inside, other)

    # Products.

    def dot(self, op: tt.DotOp) -> None:
        """Multiply tiles; into the buffer of c where nothing else needs that."""
        a, b = self.in_buffer(op.a), self.in_buffer(op.b)
        c = self.tensor(op.c)
        owner = op.c.owner
        around = owner if isinstance(owner, Block) else owner.parent
        is_last = c.buffer is not None and op.c.has_one_use()
        if not is_last or around is not op.parent or isinstance(owner, VIEWS):
            new = self.write.buffer(c.shape, element_of(op.d.type), "product")
            self.write.assign(self.b, new, c)
            c = new
        self.write.dot(self.b, op, a, b, c)
        self.values[op.d] = c

    # Control flow. Tensors that it carries are in buffers, others are several numbers.

    def parts(self, value: Value) -> tuple[SSAValue, ...]:
        """Return the numbers that control flow carries of a value."""
        match value:
            case SSAValue():
                return (value,)
            case Pointer():
                return (value.offset,)
            case InMemory():
                where = self.parts(value.at)
                return (*where, *value.sizes, *value.strides, *value.offsets)
            case Tensor():
                return ()

    def like(self, value: Value, parts: Iterator[SSAValue]) -> Value:
        """Return a value of the form of another, of numbers that were carried."""
        match value:
            case SSAValue():
                return next(parts)
            case Pointer():
                return replace(value, offset=next(parts))
            case InMemory():
                at = replace(value.at, offset=next(parts))
                sizes = tuple(next(parts) for _ in value.sizes)
                strides = tuple(next(parts) for _ in value.strides)
                offsets = tuple(next(parts) for _ in value.offsets)
                return replace(
                    value, at=at, sizes=sizes, strides=strides, offsets=offsets
                )
            case Tensor():
                return value

    def carried(self, old: SSAValue, name: str) -> Value:
        """Return the form in which control flow carries a value: a tensor's buffer."""
        value = self.values[old]
        if not isinstance(value, Tensor):
            return value
        found = self.write.buffer(value.shape, _kept_as(old), name)
        return replace(found, base=value.base)

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
            if _base(value) is not _base(form):
                raise Refused(op, f"{CARRIED}, got several for one value")
            found += self.parts(value)
            if isinstance(form, Tensor) and isinstance(value, Tensor):
                if value.buffer is form.buffer:
                    continue
                if value.reads & targets and value.buffer not in (None, *targets):
                    pass  # a buffer of its own, computed already
                elif value.reads & targets:
                    spare = self.write.buffer(value.shape, _kept_as(old), "next")
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
        """Write a loop anew."""
        b, body = self.b, op.body.block
        steps = self.steps(op)
        forms: list[Value | None] = []
        for number, old in enumerate(op.iter_args):
            name = body.args[1 + number].name_hint or "carried"
            forms.append(None if number in steps else self.carried(old, name))
        starts = self.hand_over(op, op.iter_args, forms)
        bounds = self.numbers((op.lb, op.ub, op.step))
        block = Block(arg_types=[bounds[0].type, *(x.type for x in starts)])
        lower, upper, stride = bounds
        new = b.effect(scf.ForOp(lower, upper, stride, starts, block))
        counter, *parts = block.args
        counter.name_hint = body.args[0].name_hint
        self.values[body.args[0]] = counter
        with b.inside(block):
            self._enter(body.args[1:], forms, iter(parts))
            for number, step in steps.items():
                arg = body.args[1 + number]
                start = self.tensor(op.iter_args[number])
                self.values[arg] = self._moved(op, step, start, counter)
            self.block(body)
            self.b.location = op.location
            ends = self.hand_over(op, yielded(op.body), forms)
            b.effect(scf.YieldOp(*ends))
        results = [x for x, form in zip(op.results, forms, strict=True) if form]
        self._enter(results, [x for x in forms if x], iter(new.results))

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

        def element(b: Builder, at: Coordinates) -> SSAValue:
            first, moved = elements.of(b, start, at), elements.of(b, by, at)
            count = rounds
            if start.base is not None:
                first, moved = offset(b, first), offset(b, moved)
            if count.type != moved.type:
                count = b.pure(arith.IndexCastOp, index(b, count), moved.type)
            return b.pure(arith.AddiOp, first, b.pure(arith.MuliOp, count, moved))

        return Tensor(start.shape, element, None, start.reads | by.reads, start.base)

    def branch(self, op: scf.IfOp) -> None:
        """Write a branch anew."""
        b = self.b
        sides = [x.block for x in op.regions if x.blocks]
        blocks = [Block() for _ in sides]
        forms: list[Value | None] = []
        ends: list[SSAValue] = []
        for old, new in zip(sides, blocks, strict=True):
            with b.inside(new):
                self.block(old)
                last = old.last_op
                values = () if last is None else last.operands
                if old is sides[0]:
                    pairs = zip(values, op.results, strict=True)
                    forms += [
                        self.carried(x, y.name_hint or "chosen") for x, y in pairs
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
        forms = [self.carried(x, "carried") for x in op.arguments]
        starts = self.hand_over(op, op.arguments, forms)
        types = [x.type for x in starts]
        blocks = Block(arg_types=types), Block()
        with b.inside(blocks[0]):
            self._enter(before.args, forms, iter(blocks[0].args))
            self.block(before)
            condition, *passed = yielded(op.before_region)
            kept = [self.carried(x, "kept") for x in passed]
            ends = self.hand_over(op, passed, kept)
            b.effect(scf.ConditionOp(self.number(condition), *ends))
        for each in ends:
            blocks[1].insert_arg(each.type, len(blocks[1].args))
        with b.inside(blocks[1]):
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
    ttig.PrefetchOp: Kernel.hint,
    ttig.DescriptorPrefetchOp: Kernel.hint,
    tt.LoadOp: Kernel.access,
    tt.StoreOp: Kernel.access,
    tt.AtomicRMWOp: Kernel.access,
    tt.DescriptorLoadOp: Kernel.descriptor_access,
    tt.DescriptorStoreOp: Kernel.descriptor_access,
    tt.DotOp: Kernel.dot,
    tt.ReduceOp: Kernel.reduce,
    tt.ScanOp: Kernel.scan,
    tt.HistogramOp: Kernel.histogram,
    tt.SplitOp: Kernel.split,
}
"""How an operation is written that is neither arithmetic nor a view."""


def _base(value: Value | None) -> SSAValue | None:
    match value:
        case Pointer() | Tensor():
            return value.base
        case InMemory():
            return value.at.base
        case _:
            return None


def _kept_as(value: SSAValue) -> Attribute:
    """Return the type of the elements of a tensor in a buffer: of pointers, offsets."""
    element = element_of(value.type)
    return i64 if isinstance(element, tt.PtrType) else element


def _is_used_again(value: SSAValue) -> bool:
    """Whether a value is used more than once, or may be, in a loop."""
    uses, block = list(value.uses), value.owner.parent
    return len(uses) > 1 or any(x.operation.parent is not block for x in uses)


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


def convert_function(old: tt.FuncOp, lanes: int, tile: tuple[int, int, int]) -> FuncOp:
    """Return the kernel of one subgroup that does what a kernel of Triton does."""
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
    simt.set_sizes(func, lanes, (lanes,))
    b = Builder.at_end(entry, old.location)
    kernel = Kernel(b, Statements(entry, lanes, tile))
    for arg, new in zip(args, entry.args, strict=True):
        new.name_hint, new.location = arg.name_hint, arg.location
        is_pointer = isinstance(arg.type, tt.PtrType)
        kernel.values[arg] = Pointer(new, b.constant(i64, 0)) if is_pointer else new
    kernel.block(old.body.block)
    b.effect(ReturnOp())
    return func


@dataclass(frozen=True)
class ConvertTtToCoopmatrixPass(ModulePass):
    """Make kernels of one subgroup, with products of matrices, of Triton's kernels."""

    name = "convert-tt-to-coopmatrix"

    subgroup_size: int | None = None
    """Lanes that run a program; those of the device without it."""
    device: str | None = None
    """The device, if the module has no target."""
    tile: tuple[int, ...] = (16, 16, 16)
    """The most rows, columns and steps of k of one product."""

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
        lanes = self.subgroup_size
        if lanes is None:
            if self.device is None and simt.target_of(op) is None:
                what = f"expected a target, or {self.name}{{subgroup-size=..}}"
                raise PassFailedException(f"{what}, got neither")
            lanes = device_of(self.device, op, self.name).subgroup_size
        with transaction(op) as draft:
            for each in list(draft.ops):
                if isinstance(each, tt.FuncOp):
                    Rewriter.replace_op(
                        each, convert_function(each, lanes, (m, n, k)), []
                    )
            for name in list(draft.attributes):
                if name.startswith(("ttg.", "ttig.")):
                    del draft.attributes[name]
