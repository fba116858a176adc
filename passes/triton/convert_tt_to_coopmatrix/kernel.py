"""A kernel while it is written: what old values are now, buffers, loops over elements.

    %x = tt.load %p, %m, %o     for each element, shared among the lanes:
                                  buffer of x[i, j] = m(i, j) ? *p(i, j) : o(i, j)

The lanes of one subgroup, which a program is, share the elements: lane l has element
l of each run of elements along the last dimension.  A buffer is work-group memory;
barriers stand around what writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from coopc.device import Device
from coopc.dialects import simt, tt
from coopc.dialects.narrow import memref_type
from coopc.dialects.shaped_arith import element_of
from coopc.dialects.tt.types import in_memory
from coopc.ir.builder import BoundedIndex, Builder, Values
from coopc.ir.control_flow import captured
from coopc.ir.transaction import Refused
from coopc.passes.generic.share_workgroup_memory import is_passed
from coopc.passes.triton.convert_tt_to_coopmatrix.rounds import (
    RoundsPlan,
    is_pair,
    replaced,
)
from coopc.passes.triton.convert_tt_to_coopmatrix.tensors import (
    Coordinates,
    Elements,
    Pointer,
    Tensor,
    buffer_shape,
    in_buffer,
    place_in_buffer,
    to_memory,
    unflattened,
)
from coopc.passes.triton.origins import View
from coopc.plan.gemm import GemmPlan, Problem, Source

Value: TypeAlias = SSAValue | Pointer | Tensor
Flag: TypeAlias = SSAValue | bool
Rule: TypeAlias = Callable[["TtKernel", Any], None]
"""Writes what an operation does, and notes what its results are."""

WORK_GROUP = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """How the subgroups of a work-group share the sums of a loop."""

    gemm: GemmPlan
    problem: Problem
    moved: frozenset[Source] = frozenset()
    """Operands of which the loop moves the memory along K, by whole blocks."""


@dataclass(frozen=True, slots=True)
class SubgroupOptions:
    """What kernels are written for."""

    lanes: int
    """Of the subgroup that runs a program, a power of two."""
    tile: tuple[int, int, int]
    """The most rows, columns and steps of k of one product."""
    block: tuple[int, int] | None = None
    """The most rows and columns of sums that matrices keep; None where products are
    only loaded from work-group memory, and sums are kept there."""
    aligns_rows: bool = False
    """Whether rows of matrices in memory are to begin at multiples of 16 bytes."""
    shared: Mapping[Operation, SharedPlan] = field(default_factory=lambda: {})
    """How loops are shared by the subgroups of a work-group, which runs a program."""
    device: Device | None = None
    """The device, where matrices keep sums."""
    parts: int = 1
    """Subgroups that each run a part of a program, with buffers of their own."""
    common: frozenset[Operation] = frozenset()
    """Loads that all these do alike: the work-group stages what they load."""
    rematerialize: bool = False
    """Whether elements are computed once more where that needs no buffer."""

    @property
    def work_items(self) -> int:
        """Of a work-group; as many for each loop that is shared."""
        shared = next(iter(self.shared.values()), None)
        return self.lanes * self.parts if shared is None else shared.gemm.work_items


@dataclass(slots=True)
class Strips:
    """The strips of a tensor that a statement goes through, while it is written."""

    strip: Tensor | None = field(default=None, init=False)
    """What is known of the tensor where the statement is written."""
    places: dict[Coordinates, Coordinates] = field(
        default_factory=lambda: {}, init=False
    )
    """Where in the strip an element of the tensor is."""

    def whole(self, elements: Elements, shape: Sequence[int]) -> Tensor:
        """Return the tensor, or a view of it."""

        def element(at: Coordinates) -> SSAValue:
            assert self.strip is not None, self
            return elements.of(self.strip, self.places[at])

        return Tensor(tuple(shape), element, in_rounds=True)


@dataclass(slots=True)
class Rounds(Strips):
    """Those of sums, which are computed there."""

    plan: RoundsPlan


@dataclass(slots=True)
class Tiles(Strips):
    """Those of what is known before: matrices, row by row."""

    tiles: Values
    across: int
    """Beside each other."""


@dataclass(frozen=True, eq=False, slots=True)
class SubgroupSums:
    """What a subgroup has of the sums of a loop."""

    parts: Values
    """Matrices, side by side."""
    first: Coordinates
    """The row and the column where they begin."""
    stage: Tensor
    """Of the work-group: a part for each subgroup."""
    reads: frozenset[SSAValue | None]
    """Memory that was loaded from."""


class NotShared(Exception):
    """Why subgroups do not share what a program does."""


@dataclass(slots=True)
class TtKernel:
    """One kernel while it is written anew."""

    ctx: Context
    b: Builder
    options: SubgroupOptions
    write: Rule
    """What operations are written by."""
    in_place: frozenset[Operation]
    """Loops that are written where they stand."""
    users: Mapping[SSAValue, Operation]
    """Where tensors are used that are used in one place."""
    repeated: frozenset[SSAValue]
    """Tensors that are computed where they are used, each time."""
    waiting: frozenset[Operation]
    """Accesses before which lanes wait for what others read and wrote."""
    elements: Elements = field(init=False)
    values: dict[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])
    rounds: dict[Operation, Rounds | Tiles] = field(
        default_factory=dict[Operation, "Rounds | Tiles"]
    )
    """By the statement that they are around."""
    reads: set[SSAValue | None] = field(default_factory=set["SSAValue | None"])
    """Memory that was loaded from since it was asked; None for that at addresses."""
    apart: dict[tuple[SSAValue | None, SSAValue | None], scf.ForOp] = field(
        default_factory=dict["tuple[SSAValue | None, SSAValue | None]", scf.ForOp]
    )
    """What rounds load from and store to, which may not overlap: with their loop.

    None is memory at addresses."""
    is_sharing: bool = False
    """Whether what is written is of the elements that a subgroup has, not of all."""
    totals: dict[scf.ForOp, SubgroupSums] = field(default_factory=lambda: {})
    """What subgroups share, where it is known."""
    kept: dict[SSAValue, Values] = field(default_factory=dict[SSAValue, Values])
    """Values in matrices: their tiles, row by row."""
    staged: set[Operation] = field(default_factory=set[Operation])
    """Loads that are written of those that the work-group stages."""

    def __post_init__(self) -> None:
        self.elements = Elements(self.b)

    def keep(
        self,
        values: Iterable[SSAValue],
        likes: Iterable[Values],
        tiles: Sequence[SSAValue],
    ) -> None:
        """Note the tiles of values, as many for each as another one has."""
        rest = iter(tiles)
        for value, like in zip(values, likes, strict=True):
            self.kept[value] = tuple(islice(rest, len(like)))

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

    def tensors(self, values: Sequence[SSAValue]) -> tuple[Tensor, ...]:
        return tuple(map(self.tensor, values))

    def pointer(self, value: SSAValue) -> Pointer:
        found = self.values[value]
        assert isinstance(found, Pointer), value
        return found

    def at_address(self, address: SSAValue, element: Attribute) -> Pointer:
        base = self.b.pure(simt.MemoryAtOp, address, MemRefType(element, []))
        return Pointer(base, self.b.constant(i64, 0))

    def is_loaded(self, value: SSAValue) -> bool:
        """Whether elements of a tensor are bits in buffers, which need no other."""
        if self.tensor(value).buffer is not None:
            return True
        op = value.owner
        is_view = isinstance(op, View | arith.BitcastOp | tt.BitcastOp)
        is_view = is_view or (isinstance(op, tt.ReduceOp) and is_pair(op))
        if not isinstance(op, Operation) or not is_view:
            return False
        return all(map(self.is_loaded, op.operands))

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

    def operation(self, op: Operation) -> None:
        if op.results and all(x in self.values for x in op.results):
            return  # it was needed before
        self.b.location = op.location
        self.write(self, op)
        for result in op.results:
            found = self.values.get(result)
            if isinstance(found, SSAValue) and found.name_hint is None:
                found.name_hint = result.name_hint

    def inserted(self, block: Block, given: Sequence[SSAValue]) -> Values:
        """Write the operations of a block with arguments; return what it ends with."""
        for arg, value in zip(block.args, given, strict=True):
            arg.replace_all_uses_with(value)
        for op in list(block.ops):
            op.detach()
            if op.has_trait(IsTerminator):
                found = tuple(op.operands)
                op.drop_all_references()
                return found
            for each in op.walk():
                each.location = self.b.location
            self.b.effect(op)
        raise AssertionError(block)

    def inlined(self, op: Operation, region: Region, given: Values) -> Values:
        """Return what a region of an operation makes of values."""
        known = {x: self.number(x) for x in captured(region)}
        known |= dict(zip(region.block.args, given, strict=True))
        for each in region.block.ops:
            if each is region.block.last_op:
                return tuple(known.get(x, x) for x in each.operands)
            for inner in each.walk():
                if inner.dialect_name() not in ("arith", "math", "scf"):
                    what = f"expected arithmetic in the region, got {inner.name}"
                    raise Refused(op, what)
            new = self.b.effect(each.clone(dict(known)))
            known.update(zip(each.results, new.results, strict=True))
        raise AssertionError(op)

    # Elements, and the buffers that hold them.

    @property
    def workers(self) -> int:
        """How many lanes share elements: of a subgroup, or of a work-group."""
        shared = (
            None if self.is_sharing else next(iter(self.options.shared.values()), None)
        )
        return self.options.lanes if shared is None else shared.gemm.work_items

    @property
    def worker(self) -> BoundedIndex:
        """Which of them a lane is."""
        lanes = self.workers
        if lanes == self.options.lanes:
            return self.b.lane(lanes)
        item = self.b.pure(simt.LocalIdOp, simt.Dimension.X)
        return BoundedIndex(0, item, lanes - 1, varies=True)

    def for_each(
        self, shape: Sequence[int], body: Callable[[Coordinates], object]
    ) -> None:
        """Run a body for each element of a shape, in one lane each."""
        self.elements.known.clear()  # memory may have changed
        b, total, run = self.b, prod(shape), shape[-1] if shape else 1
        lane, lanes = self.worker, self.workers

        def of_row(row: BoundedIndex, _: Values) -> Values:
            def of_run(t: BoundedIndex, _: Values) -> Values:
                col = b.index(b.add(b.times(t, lanes), lane))
                body((*unflattened(b, b.index(row), shape[:-1]), col))
                return ()

            return b.loop(run // lanes, (), of_run, name="run")

        def of_lanes(t: BoundedIndex, _: Values) -> Values:
            number = b.index(b.add(b.times(t, lanes), lane))
            body(unflattened(b, number, shape))
            return ()

        if run % lanes == 0:
            b.loop(total // run, (), of_row, name="row")
            return
        whole = total // lanes
        b.loop(whole, (), of_lanes, name="part")
        if rest := total % lanes:
            b.branch(b.below(lane, rest), lambda: of_lanes(BoundedIndex(whole), ()))

    def buffer(
        self,
        shape: Sequence[int],
        element: Attribute,
        name: str,
        b: Builder | None = None,
    ) -> Tensor:
        """Return a tensor in memory of its own, from here or from another place on."""
        b, parts = b or self.b, self.options.parts
        sizes = buffer_shape(shape)
        sizes = (parts, *sizes) if parts > 1 else sizes
        type = MemRefType(in_memory(element), sizes, memory_space=WORK_GROUP)
        new = memref.AllocaOp.build(
            operands=[[], []], result_types=[type], properties={}
        )
        memory = b.effect(new).memref
        if parts > 1:
            memory = b.effect(own_part(memory, b.pure(simt.SubgroupIdOp))).result
        memory.name_hint = name
        return in_buffer(self.b, memory, shape, element)

    def put(self, target: Tensor, at: Coordinates, value: SSAValue) -> None:
        """Store an element of a tensor in a buffer."""
        memory = target.buffer
        assert memory is not None, target
        value = to_memory(self.b, value, kind_of(memory))
        at = place_in_buffer(self.b, at, target.shape)
        self.b.effect(memref.StoreOp.get(value, memory, at))

    def wait(self) -> None:
        """Wait for those that run the same program, and what they did to memory."""
        self.b.effect(simt.BarrierOp(self.scope))

    @property
    def scope(self) -> simt.FenceScope:
        """Who runs a program: a subgroup of several, or the work-group."""
        scopes = simt.FenceScope
        return scopes.SUBGROUP if self.options.parts > 1 else scopes.WORKGROUP

    def barrier(self) -> None:
        """Wait for those that see the same buffers, if none did so just before."""
        last = self.b.block.last_op
        while last is not None and is_passed(last):
            last = last.prev_op
        if not isinstance(last, simt.BarrierOp):
            self.b.effect(simt.BarrierOp(self.scope, simt.MemorySpace.WORKGROUP))

    def fill_each(
        self, shape: Sequence[int], body: Callable[[Coordinates], object]
    ) -> None:
        """Run a body that fills buffers for each element of a shape."""
        self.barrier()
        self.for_each(shape, body)
        self.barrier()

    def fill(self, target: Tensor, element: Callable[[Coordinates], SSAValue]) -> None:
        """Compute the elements of a tensor into its buffer."""
        self.fill_each(target.shape, lambda at: self.put(target, at, element(at)))

    def assign(self, target: Tensor, value: Tensor) -> None:
        """Copy a tensor into the buffer of another; they may be the same."""
        if target.buffer is not value.buffer:
            self.fill(target, lambda at: self.elements.of(value, at))

    def copy(self, value: Tensor, element: Attribute, name: str) -> Tensor:
        """Return a tensor with its elements in a new buffer."""
        found = self.buffer(value.shape, element, name)
        self.assign(found, value)
        return found

    def in_buffer(self, value: SSAValue) -> Tensor:
        """Return a tensor with its elements in a buffer, from here on."""
        tensor = found = self.tensor(value)
        if found.buffer is None and (old := replaced(value)) is not None:
            target = self.tensor(old)
            if target.buffer is not None:
                self.assign(target, tensor)
                found = tensor = target
        if found.buffer is None:
            found = self.copy(tensor, kept_as(value), value.name_hint or "tensor")
        self.values[value] = found = replace(found, base=tensor.base)
        return found


def own_part(memory: SSAValue, number: SSAValue) -> memref.SubviewOp:
    """Return a view of memory that is for one of several: of its part in that."""
    type = memref_type(memory)
    _, *shape = type.get_shape()
    strides = list(type.get_strides() or ())[1:]
    layout = StridedLayoutAttr(strides, None)
    view = MemRefType(type.element_type, shape, layout, type.memory_space)
    first, ones = [DYNAMIC_INDEX, *[0] * len(shape)], [1] * (1 + len(shape))
    return memref.SubviewOp(memory, [number], [], [], first, [1, *shape], ones, view)


def kind_of(memory: SSAValue) -> Attribute:
    """Return what memory holds."""
    return memref_type(memory).get_element_type()


def kept_as(value: SSAValue) -> Attribute:
    """Return the type of the elements of a tensor in a buffer: of pointers, offsets."""
    element = element_of(value.type)
    return i64 if isinstance(element, tt.PtrType) else element
