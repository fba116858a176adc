"""promote-matrix-arrays: replaces arrays of matrices in private memory by values.

Before:  `memref.alloca` of matrices, of static shape, whose matrices are loaded and
         stored one by one, in structured control flow.
After:   an SSA value for each matrix, carried through loops and conditionals.  A
         variable index becomes selects.  A matrix that is read before it is written is
         zero.
Fails:   if an array is used otherwise, or in other control flow.

    %t = memref.alloca() : memref<2x!coopmatrix.matrix<8x8xf32, acc>>
    memref.store %x, %t[%c1]
    %y = memref.load %t[%i]
->  %y = arith.select %i == 1, %x, %zero

SPIR-V allows matrices in variables of a function, but indexing an array of them at run
time is as slow, and not every driver supports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType
from coopc.dialects.narrow import is_memref
from coopc.ir.builder import INDEX, Builder
from coopc.ir.facts import ValueFacts
from coopc.ir.transaction import Refused, transaction

MOST = 64
"""Matrices of an array: each is a value in all control flow around its stores."""


@dataclass(frozen=True)
class PromoteMatrixArraysPass(ModulePass):
    name = "promote-matrix-arrays"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(map(_is_array, op.walk())):
            return
        with transaction(op) as draft:
            promote_matrix_arrays(draft)


def promote_matrix_arrays(root: Operation) -> None:
    """Replace the arrays of matrices in an operation.

    Raises:
        Refused: one is used otherwise than by loads and stores.
    """
    for each in [x for x in root.walk() if _is_array(x)]:
        assert isinstance(each, memref.AllocaOp), each
        MatrixArray.of(each).promote()


def _is_array(op: Operation) -> bool:
    """Whether an operation allocates matrices that each work-item could have."""
    if not isinstance(op, memref.AllocaOp) or not is_memref(type := op.memref.type):
        return False
    shared = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
    return isinstance(type.element_type, MatrixType) and type.memory_space != shared


@dataclass(frozen=True, slots=True)
class MatrixArray:
    op: memref.AllocaOp
    shape: tuple[int, ...]
    element: Attribute

    @classmethod
    def of(cls, op: memref.AllocaOp) -> MatrixArray:
        """Return an array that can be promoted.

        Raises:
            Refused: its shape is not static, it is long, or it is used otherwise.
        """
        type = op.memref.type
        assert is_memref(type), type
        shape = type.get_shape()
        if op.dynamic_sizes or prod(shape) > MOST:
            raise Refused(
                op, f"expected at most {MOST} matrices in an array, got {type}"
            )
        for use in op.memref.uses:
            if not isinstance(use.operation, memref.LoadOp | memref.StoreOp):
                raise Refused(
                    use.operation,
                    f"expected a matrix of {type} to be loaded or stored, as no array "
                    "of matrices has an address",
                )
        return cls(op, shape, type.element_type)

    def promote(self) -> None:
        b = Builder.at(self.op)
        assert isinstance(self.element, MatrixType), self.element
        zero = b.constant(self.element.element_type, 0)
        start = b.effect(coopmatrix.FillOp(zero, self.element)).results[0]
        block = self.op.parent
        assert block is not None, self.op
        self.run(block, [start] * prod(self.shape))
        Rewriter.erase_op(self.op)

    def run(self, block: Block, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Replace the accesses in a block; return what the matrices are at its end."""
        now = list(values)
        for op in tuple(block.ops):
            accesses = self.accesses(op)
            if op in accesses:
                now = self.access(op, now)
            elif accesses:
                now = self.through(op, now, accesses)
        return now

    def accesses(self, op: Operation) -> list[Operation]:
        found = [use.operation for use in self.op.memref.uses]
        return [each for each in found if op.is_ancestor(each)]

    def access(self, op: Operation, now: list[SSAValue]) -> list[SSAValue]:
        assert isinstance(op, memref.LoadOp | memref.StoreOp), op
        b = Builder.at(op)
        known, at = self.place(b, op)
        same = [
            None if at is None else b.compare("eq", at, b.constant(INDEX, n))
            for n in range(len(now))
        ]
        if isinstance(op, memref.LoadOp):
            found = now[known or 0]
            for condition, value in zip(same, now, strict=True):
                if condition is not None and value is not found:
                    found = b.select(condition, value, found)
            Rewriter.replace_op(op, [], [found])
            return now
        for n, condition in enumerate(same):
            if condition is not None:
                now[n] = b.select(condition, op.value, now[n])
            elif n == known:
                now[n] = op.value
        Rewriter.erase_op(op)
        return now

    def place(
        self, b: Builder, op: memref.LoadOp | memref.StoreOp
    ) -> tuple[int | None, SSAValue | None]:
        """Return the number of a matrix, if it is known, or else as a value.

        Raises:
            Refused: there is no such matrix.
        """
        facts, known, at = ValueFacts(), 0, None
        for index, size in zip(op.indices, self.shape, strict=True):
            number = facts.of(index).number
            if number is not None and not 0 <= number < size:
                raise Refused(op, f"expected an index below {size}, got {number}")
            known = None if known is None or number is None else known * size + number
            if at is not None:
                step = b.pure(arith.MuliOp, at, b.constant(INDEX, size))
                index = b.pure(arith.AddiOp, step, index)
            at = index
        return (known, None) if known is not None else (None, at)

    def through(
        self, op: Operation, now: list[SSAValue], accesses: Sequence[Operation]
    ) -> list[SSAValue]:
        """Carry the matrices through an operation with regions.

        Raises:
            Refused: it is no loop or conditional of scf.
        """
        if not isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
            raise Refused(op, f"{op.name} around arrays of matrices is not supported")
        if not any(isinstance(each, memref.StoreOp) for each in accesses):
            for region in op.regions:
                for block in region.blocks:
                    self.run(block, now)
            return now
        carried = () if isinstance(op, scf.IfOp) else now
        for region in op.regions:
            if not region.blocks:
                region.add_block(Block([scf.YieldOp()]))
            block = region.block
            given = [block.insert_arg(self.element, len(block.args)) for _ in carried]
            last = self.run(block, given or now)
            end = block.last_op
            assert isinstance(end, scf.YieldOp | scf.ConditionOp), end
            end.operands = [*end.operands, *last]
        new = Builder.at(op).like(
            op,
            [*op.operands, *carried],
            [*op.result_types, *(self.element for _ in now)],
            [op.detach_region(region) for region in tuple(op.regions)],
        )
        count = len(op.results)
        Rewriter.replace_op(op, [], new.results[:count])
        return list(new.results[count:])
