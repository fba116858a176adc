"""Elements of a lane in loops, one after the other: little code, where speed is less.

scf.for %at = 0 to 8 { memory[offsets[at]] = vector[at] where mask[at] }
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import IndexType, i1, i64
from xdsl.dialects.memref import LoadOp, StoreOp
from xdsl.dialects.scf import ForOp, IfOp, YieldOp
from xdsl.dialects.vector import ExtractOp, InsertOp
from xdsl.ir import Block, Operation, Region, SSAValue

from coopc.passes.xe.convert_to_xe.entry import Entry
from coopc.passes.xe.convert_to_xe.registers import length_of, vector_type, zeros
from coopc.rewrite.one_to_many import Splitter


@dataclass(slots=True)
class LaneLoops:
    """Puts loops into a kernel."""

    entry: Entry

    def load(
        self,
        s: Splitter,
        memory: SSAValue,
        offsets: SSAValue,
        mask: SSAValue | None,
        start: SSAValue,
    ) -> SSAValue:
        """Return a vector with what is loaded where a mask is true."""
        return self._found(
            s, offsets, mask, start, lambda at, index: [LoadOp.get(memory, [index])]
        )

    def update(
        self,
        s: Splitter,
        offsets: SSAValue,
        mask: SSAValue | None,
        vector: SSAValue,
        make: Callable[[SSAValue, SSAValue], Operation],
    ) -> SSAValue:
        """Return what `make` of an index and an element finds, or 0, as a vector."""
        type = vector_type(vector)

        def one(at: SSAValue, index: SSAValue) -> list[Operation]:
            element = ExtractOp(vector, [at], type.get_element_type())
            return [element, make(index, element.result)]

        return self._found(s, offsets, mask, zeros(self.entry, type), one)

    def _found(
        self,
        s: Splitter,
        offsets: SSAValue,
        mask: SSAValue | None,
        start: SSAValue,
        make: Callable[[SSAValue, SSAValue], list[Operation]],
    ) -> SSAValue:
        """Return a vector with what the last operation gives where a mask is true."""
        block = Block(arg_types=[IndexType(), start.type])
        at, before = block.args
        ops, index = self._index(offsets, at)
        ops += make(at, index)
        put = InsertOp(ops[-1].results[0], before, [at])
        if mask is None:
            block.add_ops([*ops, put, YieldOp(put.result)])
        else:
            flag = ExtractOp(mask, [at], i1)
            then = Region(Block([*ops, put, YieldOp(put.result)]))
            otherwise = Region(Block([YieldOp(before)]))
            choose = IfOp(flag.result, [start.type], then, otherwise)
            block.add_ops([flag, choose, YieldOp(choose.results[0])])
        return self._loop(s, length_of(offsets), [start], block).results[0]

    def store(
        self,
        s: Splitter,
        memory: SSAValue,
        offsets: SSAValue,
        mask: SSAValue | None,
        vector: SSAValue,
    ) -> None:
        """Store a vector where a mask is true."""
        block = Block(arg_types=[IndexType()])
        (at,) = block.args
        ops, index = self._index(offsets, at)
        one = ExtractOp(vector, [at], vector_type(vector).get_element_type())
        write = StoreOp.get(one.result, memory, [index])
        if mask is None:
            block.add_ops([*ops, one, write, YieldOp()])
        else:
            flag = ExtractOp(mask, [at], i1)
            then = Region(Block([*ops, one, write, YieldOp()]))
            block.add_ops([flag, IfOp(flag.result, [], then), YieldOp()])
        self._loop(s, length_of(offsets), [], block)

    def _index(
        self, offsets: SSAValue, at: SSAValue
    ) -> tuple[list[Operation], SSAValue]:
        """Return what computes an index out of a vector of them."""
        offset = ExtractOp(offsets, [at], i64)
        cast = IndexCastOp(offset.result, IndexType())
        return [offset, cast], cast.result

    def _loop(
        self, s: Splitter, count: int, starts: list[SSAValue], block: Block
    ) -> ForOp:
        """Insert a loop over the elements of a vector."""
        zero, end, one = (self.entry.number(x, IndexType()) for x in (0, count, 1))
        for op in block.walk():
            op.location = s.op.location
        return s.insert(ForOp(zero, end, one, starts, block))
