"""Replace operations of `xe` by calls of functions that do the same in plain code.

There is one private function for each operation and shape.  A block of several pieces
is one function too: it gives the piece from a slot on, which is its last argument, and
is called for each piece.

| operation                | becomes                                                   |
|--------------------------|-----------------------------------------------------------|
| block_load_2d, payload_load | calls, one for each piece                              |
| block_load               | a call, of a block in a row of all memory                 |
| block_store_2d           | calls, one for each piece                                 |
| prefetches               | nothing                                                   |
| dpas                     | a call                                                    |
| split_dpas               | a call that gathers a, through work-group memory; a call  |
| payload_create           | x and y in private memory; the surface is remembered      |
| payload_set_x, _set_y    | a store to that memory                                    |
| barrier_arrive, _wait    | nothing, and a whole barrier                              |
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    IntegerAttr,
    MemRefType,
    ModuleOp,
    UnitAttr,
    VectorType,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.dialects import simt, xe
from coopc.dialects.narrow import is_memref, is_vector
from coopc.ir.builder import INDEX, BoundedIndex, Builder
from coopc.ir.control_flow import free_name, function_around, kernel_around
from coopc.passes.xe.emulate.blocks import Piece, load_piece, store_piece
from coopc.passes.xe.emulate.dpas import (
    Multiplication,
    gathered,
    multiply,
    scratch_type,
)
from coopc.plan.block_shape import BlockShape

ALL_BYTES, ALL_ROWS = -4, 1 << 27
"""A row that no offset of 32 bits leaves, extended by its sign; rows enough for all
memory, whatever the number of lanes."""

Values = Sequence[SSAValue]
Body = Callable[[Builder, Values], Values]


@dataclass
class Emulator:
    """Rewrites operations of one module."""

    module: ModuleOp
    unroll: bool
    """Whether loops are written out."""
    names: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    """The functions that are there, by what decides on them."""
    scratch: dict[FuncOp, SSAValue] = field(default_factory=dict[FuncOp, SSAValue])
    """The work-group memory of kernels in which pairs exchange."""
    positions: dict[SSAValue, SSAValue] = field(
        default_factory=dict[SSAValue, SSAValue]
    )
    """The memory of x and y of payloads."""

    def emulate(self, op: Operation, lanes: int) -> None:
        """Replace an operation; others than `xe`'s and split barriers are left."""
        match op:
            case xe.BlockLoad2DOp():
                types = [x.type for x in op.pieces]
                found = self._load(op, op.block.data, op.operands, types, lanes)
                Rewriter.replace_op(op, [], found)
            case xe.BlockLoadOp():
                self._load_channels(op, lanes)
            case xe.BlockStore2DOp():
                self._store(op, lanes)
            case xe.DpasOp() | xe.SplitDpasOp():
                self._multiply(op, lanes)
            case xe.PayloadCreateOp() | xe.PayloadSetXOp() | xe.PayloadSetYOp():
                self._write_position(op)
            case xe.PayloadLoadOp():
                types = [x.type for x in op.pieces]
                shape = xe.shape_of(op.payload)
                operands = self._payload_operands(op)
                found = self._load(op, shape, operands, types, lanes)
                Rewriter.replace_op(op, [], found)
            case xe.BlockPrefetch2DOp() | xe.PayloadPrefetchOp():
                Rewriter.erase_op(op)
            case simt.BarrierArriveOp():
                Rewriter.erase_op(op)
            case simt.BarrierWaitOp():
                Rewriter.replace_op(op, simt.BarrierOp(op.scope.data))
            case _:
                pass

    def drop_payloads(self) -> None:
        """Erase the operations that made payloads, which nothing uses any more."""
        for payload in self.positions:
            assert isinstance(payload.owner, Operation)
            Rewriter.erase_op(payload.owner)

    # Blocks

    def _load(
        self,
        op: Operation,
        shape: BlockShape,
        operands: Values,
        types: Sequence[Attribute],
        lanes: int,
    ) -> list[SSAValue]:
        piece = piece_of(shape, types, operands[0], lanes)

        def body(b: Builder, values: Values) -> Values:
            given, first = _with_first(piece, values)
            return (load_piece(b, piece, first, given),)

        name = f"xe_load_{piece.name}"
        found: list[SSAValue] = []
        for number in range(len(types)):
            values = [*operands, *self._first(op, piece, number)]
            found += self._call(op, ("load", piece), name, body, values, [piece.type])
        return found

    def _load_channels(self, op: xe.BlockLoadOp, lanes: int) -> None:
        """Load a block of lanes in rows, from a surface whose rows overlap."""
        shape = channel_block(op, lanes)
        bytes = op.slot_bits // 8

        def number(value: int) -> SSAValue:
            return self._before(op, arith.ConstantOp(IntegerAttr(value, i32)))

        shift = number(bytes.bit_length() - 1)
        x = self._before(op, arith.ShRUIOp(op.offset, shift))
        width, height = number(ALL_BYTES), number(ALL_ROWS)
        if op.guard is not None:
            none = number(0)
            height = self._before(op, arith.SelectOp(op.guard, height, none))
        operands = [op.base, x, number(0), width, height, number(bytes * lanes)]
        types = [op.result.type]
        found = self._load(op, shape, operands, types, lanes)
        Rewriter.replace_op(op, [], found)

    def _store(self, op: xe.BlockStore2DOp, lanes: int) -> None:
        pieces, operands = tuple(op.pieces), op.operands[len(op.pieces) :]
        types = [x.type for x in pieces]
        piece = piece_of(op.block.data, types, operands[0], lanes)

        def body(b: Builder, values: Values) -> Values:
            (value, *rest), first = _with_first(piece, values)
            store_piece(b, piece, first, value, rest)
            return ()

        name = f"xe_store_{piece.name}"
        for number, value in enumerate(pieces):
            values = [value, *operands, *self._first(op, piece, number)]
            self._call(op, ("store", piece), name, body, values, [])
        Rewriter.erase_op(op)

    def _first(self, op: Operation, piece: Piece, number: int) -> Values:
        """Return the first slot of a piece, if there are several pieces."""
        if piece.pieces == 1:
            return ()
        constant = arith.ConstantOp(IntegerAttr(number * piece.slots, INDEX))
        return (self._before(op, constant),)

    # Products

    def _multiply(self, op: xe.DpasOp | xe.SplitDpasOp, lanes: int) -> None:
        a = op.a
        if isinstance(op, xe.SplitDpasOp):
            a = self._gather(op, lanes)
        types = (a.type, op.b.type, op.c.type)
        x = multiplication(op.precisions, op.repeat.value.data, lanes, types)

        def body(b: Builder, values: Values) -> Values:
            left, right, addend = values
            return (multiply(b, x, left, right, addend),)

        result = self._call(op, x, x.name, body, [a, op.b, op.c], [op.result.type])
        Rewriter.replace_op(op, [], result)

    def _gather(self, op: xe.SplitDpasOp, lanes: int) -> SSAValue:
        func = kernel_around(op)
        assert func is not None, op
        if (memory := self.scratch.get(func)) is None:
            type = scratch_type(simt.kernel_of(func), _most_rows(func))
            memory = self.scratch[func] = self._allocated(func, type)
            memory.name_hint = "split"
        assert is_vector(op.a.type)
        rows = op.a.type.get_shape()[0]

        def body(b: Builder, values: Values) -> Values:
            half, scratch = values
            return (gathered(b, half, scratch, lanes),)

        whole = VectorType(i32, [2 * rows])
        key = ("gather", rows, lanes, memory.type)
        name = f"xe_gather_{rows}_rows"
        return self._call(op, key, name, body, [op.a, memory], [whole])[0]

    # Payloads

    def _write_position(
        self, op: xe.PayloadCreateOp | xe.PayloadSetXOp | xe.PayloadSetYOp
    ) -> None:
        match op:
            case xe.PayloadCreateOp():
                func = function_around(op)
                memory = self._allocated(func, MemRefType(i32, [2]))
                memory.name_hint = "position"
                self.positions[op.result] = memory
                self._put(op, memory, 0, op.x)
                self._put(op, memory, 1, op.y)
            case xe.PayloadSetXOp() | xe.PayloadSetYOp():
                number = 0 if isinstance(op, xe.PayloadSetXOp) else 1
                self._put(op, self.positions[op.payload], number, op.position)
                Rewriter.erase_op(op)

    def _put(
        self, op: Operation, memory: SSAValue, number: int, value: SSAValue
    ) -> None:
        at = self._before(op, arith.ConstantOp(IntegerAttr(number, INDEX)))
        store = memref.StoreOp.get(value, memory, [at])
        store.location = op.location
        Rewriter.insert_op(store, InsertPoint.before(op))

    def _payload_operands(self, op: xe.PayloadLoadOp) -> Values:
        create = op.payload.owner
        assert isinstance(create, xe.PayloadCreateOp), create
        memory = self.positions[op.payload]
        position: list[SSAValue] = []
        for number, offset in enumerate((op.dx, op.dy)):
            at = self._before(op, arith.ConstantOp(IntegerAttr(number, INDEX)))
            value = self._before(op, memref.LoadOp.get(memory, [at]))
            plus = self._before(op, arith.ConstantOp(offset))
            position.append(self._before(op, arith.AddiOp(value, plus)))
        return [create.base, *position, create.width, create.height, create.pitch]

    # Code

    def _before(self, op: Operation, new: Operation) -> SSAValue:
        new.location = op.location
        Rewriter.insert_op(new, InsertPoint.before(op))
        return new.results[0]

    def _allocated(self, func: FuncOp, type: MemRefType) -> SSAValue:
        op = memref.AllocaOp.build(
            operands=[[], []], result_types=[type], properties={}
        )
        op.location = func.location
        Rewriter.insert_op(op, InsertPoint.at_start(func.body.block))
        return op.results[0]

    def _call(
        self,
        op: Operation,
        key: Hashable,
        name: str,
        body: Body,
        values: Values,
        results: Sequence[Attribute],
    ) -> list[SSAValue]:
        """Call the function of that key, which is made if there is none."""
        if key not in self.names:
            types = [x.type for x in values]
            self.names[key] = self._function(op, name, body, types, results)
        call = CallOp(self.names[key], values, results)
        call.location = op.location
        Rewriter.insert_op(call, InsertPoint.before(op))
        return list(call.results)

    def _function(
        self,
        op: Operation,
        name: str,
        body: Body,
        types: Sequence[Attribute],
        results: Sequence[Attribute],
    ) -> str:
        found = free_name(self.module, name)
        block = Block(arg_types=types)
        func = FuncOp(found, (list(types), list(results)), Region(block), "private")
        # Inlined at each call, it would take Intel's CPU run-time minutes.
        func.attributes["no_inline"] = UnitAttr()
        func.location = op.location
        b = Builder.at_end(block, op.location, self.unroll)
        end = ReturnOp(*body(b, tuple(block.args)))
        end.location = op.location
        block.add_op(end)
        Rewriter.insert_op(func, InsertPoint.at_end(self.module.body.block))
        return found


def piece_of(
    shape: BlockShape, types: Sequence[Attribute], base: SSAValue, lanes: int
) -> Piece:
    """Return what a call moves of a block."""
    first = types[0]
    assert is_vector(first)
    assert is_memref(base.type)
    return Piece(shape, first, len(types), lanes, base.type)


def channel_block(op: xe.BlockLoadOp, lanes: int) -> BlockShape:
    """Return the block that slots are, a row for each of a lane."""
    return BlockShape(op.slot_bits, op.slots, lanes)


def multiplication(
    precisions: tuple[xe.Precision, xe.Precision],
    repeat: int,
    lanes: int,
    types: tuple[Attribute, Attribute, Attribute],
) -> Multiplication:
    """Return what decides on the function of a DPAS."""
    a, b, c = types
    assert is_vector(a)
    assert is_vector(b)
    assert is_vector(c)
    return Multiplication(precisions, repeat, lanes, a, b, c)


def _most_rows(func: FuncOp) -> int:
    """Return the most rows that a lane gives to a split DPAS of a kernel."""
    types = [x.a.type for x in func.walk() if isinstance(x, xe.SplitDpasOp)]
    return max(x.get_shape()[0] for x in types if is_vector(x))


def _with_first(piece: Piece, values: Values) -> tuple[Values, BoundedIndex]:
    """Return arguments without the last one, and what that says, if it is there."""
    if piece.pieces == 1:
        return values, BoundedIndex()
    *given, first = values
    return given, BoundedIndex(0, first, (piece.pieces - 1) * piece.slots)
