"""unwrap-tt-offsets: removes remainders from offsets where wrapped rows have no effect.

Before: (pid * 64 + range) % m    rows of a tile in a matrix of m rows; those behind its
                                  end are its first rows again, as in Triton's tutorial
After:  pid * 64 + range          and what is loaded there is masked
Fails:  never; a remainder stays where rows behind the end may be seen.

What is loaded at row i goes into row i of a product, and of what is computed of it
element by element; where all of that is stored below the end only, the rest does not
matter.  Then the rows are a matrix, which is loaded by blocks.  Coordinates are taken
to be at least 0, as a matrix begins at its pointer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.arith import (
    AddiOp,
    AndIOp,
    CeilDivSIOp,
    CeilDivUIOp,
    CmpiOp,
    DivSIOp,
    DivUIOp,
    ExtSIOp,
    FloorDivSIOp,
    MuliOp,
    RemSIOp,
    RemUIOp,
)
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.dialects.scf import ForOp, YieldOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import tt, ttg, ttig
from coopc.dialects.shaped_arith import shaped
from coopc.dialects.tt.types import is_tensor, shape_of
from coopc.passes.triton.affine_tensors import Indices, NotAffine, bounds, mask_of
from coopc.passes.triton.polynomial import ONE, Polynomial

RemainderOp = RemSIOp | RemUIOp
DIVISIONS = (
    CeilDivSIOp | CeilDivUIOp | DivSIOp | DivUIOp | FloorDivSIOp | RemSIOp | RemUIOp
)
Reached = Iterable[tuple[SSAValue, int]]
"""Values, and in which dimension of each the coordinate is."""


class Seen(Exception):
    """What is behind the end may be seen."""


@dataclass(slots=True)
class ForwardSlice:
    """Where values go, and in which dimension a coordinate of theirs is."""

    dims: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    ends: list[tuple[Operation, int]] = field(
        default_factory=list[tuple[Operation, int]]
    )
    """Operations where a way ends, and the operand's dimension."""

    def follow(self, value: SSAValue, dim: int) -> None:
        """Follow a value to all that is made of it.

        Raises:
            Seen: it goes where that is not known.
        """
        todo = [(value, dim)]
        while todo:
            value, dim = todo.pop()
            if value in self.dims:
                if self.dims[value] != dim:
                    raise Seen
                continue
            self.dims[value] = dim
            for use in value.uses:
                todo += self.through(use.operation, use.index, dim)

    def through(
        self, op: Operation, index: int, dim: int
    ) -> Iterator[tuple[SSAValue, int]]:
        """Yield what an operation makes of an operand."""
        match op:
            case tt.ExpandDimsOp():
                yield op.result, dim + (dim >= op.axis.value.data)
            case tt.TransOp():
                yield op.result, op.permutation.index(dim)
            case tt.BroadcastOp() | ttg.ConvertLayoutOp():
                yield op.results[0], dim
            case ForOp():
                if index < 3:
                    raise Seen
                yield op.body.block.args[index - 2], dim
                yield op.results[index - 3], dim
            case YieldOp() if isinstance(loop := op.parent_op(), ForOp):
                yield loop.body.block.args[index + 1], dim
                yield loop.results[index], dim
            case _:
                yield from self.other(op, index, dim)

    def other(self, op: Operation, index: int, dim: int) -> Reached:
        """Return what an operation of one of the two ways makes of an operand."""
        raise NotImplementedError


class AddressSlice(ForwardSlice):
    """From a remainder to loads."""

    def other(self, op: Operation, index: int, dim: int) -> Reached:
        """Sums and products of indices, pointers; loads are ends."""
        match op:
            case AddiOp() | MuliOp() | ExtSIOp() | tt.AddPtrOp():
                return [(op.results[0], dim)]
            case tt.LoadOp() if index == 0:
                self.ends.append((op, dim))
                return ()
            case ttig.PrefetchOp() if index == 0:
                return ()
            case _:
                raise Seen


class ResultSlice(ForwardSlice):
    """From what was loaded to stores."""

    def other(self, op: Operation, index: int, dim: int) -> Reached:
        """Rows and columns of products, arithmetic on each element; stores are ends."""
        match op:
            case tt.DotOp():
                if (index, dim) in ((0, 1), (1, 0)):
                    raise Seen
                return [(op.d, dim)]
            case tt.StoreOp() if index == 1:
                self.ends.append((op, dim))
                return ()
            case tt.AtomicRMWOp() if index == 1 and not op.result.uses:
                self.ends.append((op, dim))
                return ()
            case _ if is_elementwise(op):
                return [(result, dim) for result in op.results]
            case _:
                raise Seen


def is_elementwise(op: Operation) -> bool:
    """Whether each element of the results is made of the same element of operands.

    Whatever that is: quotients of integers are undefined where zeros are loaded.
    """
    if isinstance(op, DIVISIONS):
        return False
    known = op.dialect_name() in ("arith", "math") or isinstance(op, tt.FpToFpOp)
    return known and all(is_tensor(x.type) for x in op.results)


@dataclass(slots=True)
class Unwrapping:
    """What becomes of one remainder."""

    op: RemainderOp
    indices: Indices
    addresses: AddressSlice = field(default_factory=AddressSlice)
    masks: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    def decide(self) -> bool:
        """Whether nobody sees what is behind the end."""
        if len(shape_of(self.op.result.type)) != 1:
            return False
        try:
            limit = self._limit()
            self.addresses.follow(self.op.result, 0)
            for load, dim in self.addresses.ends:
                results = ResultSlice()
                results.follow(load.results[0], dim)
                for store, at in results.ends:
                    self._check(store, at, limit)
        except (NotAffine, Seen):
            return False
        return bool(self.addresses.ends)

    def _limit(self) -> Polynomial:
        """Return below which coordinate elements are those of the matrix."""
        place, size = self.indices.of(self.op.lhs), self.indices.of(self.op.rhs)
        if place.steps != (ONE,) or not size.is_uniform:
            raise Seen
        return size.start - place.start

    def _check(self, op: Operation, dim: int, limit: Polynomial) -> None:
        """Check that a store leaves out what is behind the end."""
        assert isinstance(op, tt.AtomicRMWOp | tt.StoreOp), op
        if op.mask is None or not is_tensor(op.ptr.type):
            raise Seen
        rank = len(shape_of(op.ptr.type))
        mask = mask_of(op.mask, self.indices)
        if bounds(mask, rank)[dim].below != limit:
            raise Seen

    def rewrite(self) -> None:
        """Mask the loads, and drop the remainder."""
        op = self.op
        inside = CmpiOp(op.lhs, op.rhs, "slt")
        self.masks[op.result] = self._after(op.result, inside)
        for load, _ in self.addresses.ends:
            assert isinstance(load, tt.LoadOp), load
            self._mask(load)
        Rewriter.replace_op(op, [], [op.lhs])

    def _mask(self, op: tt.LoadOp) -> None:
        """Let a load leave out what is behind the end."""
        mask = self._mask_of(op.ptr)
        if op.mask is not None:
            both = AndIOp(op.mask, mask)
            both.location = op.location
            Rewriter.insert_op(both, InsertPoint.before(op))
            mask = both.result
        new = tt.LoadOp(op.ptr, mask, op.other)
        new.properties |= {
            name: x for name, x in op.properties.items() if "egment" not in name
        }
        new.attributes |= op.attributes
        new.location = op.location
        new.result.name_hint = op.result.name_hint
        Rewriter.replace_op(op, new)

    def _mask_of(self, value: SSAValue) -> SSAValue:
        """Return which elements of a value are not behind the end."""
        if (found := self.masks.get(value)) is None:
            found = self.masks[value] = self._make(value)
        return found

    def _make(self, value: SSAValue) -> SSAValue:
        """Return a mask that is made as a value is made."""
        owner = value.owner
        if isinstance(owner, Block):
            loop = owner.parent_op()
            assert isinstance(loop, ForOp), value
            assert isinstance(value, BlockArgument)
            return self._mask_of(loop.iter_args[value.index - 1])
        if isinstance(owner, ForOp):
            return self._mask_of(owner.iter_args[owner.results.index(value)])
        source = next(x for x in owner.operands if x in self.addresses.dims)
        mask = self._mask_of(source)
        type = shaped(value.type, i1)
        match owner:
            case tt.ExpandDimsOp():
                return self._after(
                    value, tt.ExpandDimsOp(mask, owner.axis.value.data, type)
                )
            case tt.BroadcastOp():
                return self._after(value, tt.BroadcastOp(mask, type))
            case tt.TransOp():
                return self._after(value, tt.TransOp(mask, owner.permutation, type))
            case ttg.ConvertLayoutOp():
                return self._after(value, ttg.ConvertLayoutOp(mask, type))
            case _:
                return mask

    def _after(self, value: SSAValue, new: Operation) -> SSAValue:
        """Insert an operation right behind the one that gives a value."""
        owner = value.owner
        assert isinstance(owner, Operation), value
        new.location = owner.location
        Rewriter.insert_op(new, InsertPoint.after(owner))
        return new.results[0]


@dataclass(frozen=True)
class UnwrapTtOffsetsPass(ModulePass):
    """Replace remainders whose effect nobody sees."""

    name = "unwrap-tt-offsets"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.ops:
            if not isinstance(func, tt.FuncOp):
                continue
            for each in [x for x in func.body.walk() if isinstance(x, RemainderOp)]:
                found = Unwrapping(each, Indices())
                if is_tensor(each.result.type) and found.decide():
                    found.rewrite()
