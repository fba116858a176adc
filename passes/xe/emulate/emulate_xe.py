"""emulate-xe: expands block messages, DPAS and payloads into plain code.

Before:  operations of `xe` and split barriers, in kernels of 8, 16 or 32 lanes.
After:   calls of private functions of `simt`, `vector`, `arith`, `memref` and `scf`,
         one per operation and shape; whole barriers; no prefetches.
Fails:   if the subgroup size of a kernel is unknown or does not fit the blocks; for
         split DPAS that not all subgroups execute, or an odd number of them; for
         payloads passed through blocks or calls. The module is then unchanged.

There is one private function per operation and shape.  A block of several pieces also
has one function, which is called for each piece; its last argument is the first slot of
the piece.

    block_load_2d, payload_load    calls, one for each piece
    block_load                     a call, of a block in a row of all memory
    block_store_2d                 calls, one for each piece
    prefetches                     nothing
    dpas                           a call
    split_dpas                     a call that gathers a through work-group memory,
                                   and one that multiplies
    payload_create                 x and y in private memory; a known surface
    payload_set_x, payload_add_y   a store to that memory
    barrier_arrive, barrier_wait   nothing, and a whole barrier
    a component of a mask          computed separately: Intel's runtime for CPUs aborts
                                   if many lanes have masks of many components
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr, VectorType, i1, i32
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.vector import ExtractOp, ShuffleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import simt, xe
from coopc.dialects.narrow import is_vector, length_of, memref_type, vector_type
from coopc.ir.builder import INDEX, BoundedIndex, Builder, allocate, private_function
from coopc.ir.control_flow import function_around, kernel_around
from coopc.ir.transaction import Refused, transaction
from coopc.ir.uniformity import Uniformity, Variation
from coopc.passes.xe.emulate.blocks import BlockPiece, load_piece, store_piece
from coopc.passes.xe.emulate.dpas import DpasShape, gathered, multiply, scratch_type
from coopc.plan.block_message import BlockShape, why_not_slots

PAIR = 2
"""Subgroups that share the rows of A."""
ALL_BYTES, ALL_ROWS = -4, 1 << 27
"""A row that no offset of 32 bits leaves, extended by its sign; rows enough for all
memory, whatever the number of lanes."""

Values = Sequence[SSAValue]
Body = Callable[[Builder, Values], Values]


@dataclass
class Emulator:
    """Rewrites operations of one module, or refuses them."""

    module: ModuleOp
    unroll: bool
    """Whether loops are written out."""
    alone: frozenset[Operation]
    """The split DPAS that not all subgroups of a work-group execute."""
    names: dict[Hashable, str] = field(default_factory=dict[Hashable, str])
    """The functions that are there, by what decides on them."""
    scratch: dict[FuncOp, SSAValue] = field(default_factory=dict[FuncOp, SSAValue])
    """The work-group memory of kernels in which pairs exchange."""
    positions: dict[SSAValue, SSAValue] = field(default_factory=lambda: {})
    """The memory of x and y of payloads."""

    def emulate(self, op: Operation) -> None:
        """Replace an operation; others than `xe`'s and split barriers are left."""
        match op:
            case xe.BlockLoad2DOp():
                self._load(op, op.block.data, op.operands, op.result_types)
            case xe.BlockLoadOp():
                self._load_channels(op)
            case xe.BlockStore2DOp():
                self._store(op)
            case xe.DpasOp() | xe.SplitDpasOp():
                self._multiply(op)
            case xe.PayloadCreateOp():
                self._create(op)
            case xe.PayloadSetOp():
                self._set(op)
            case xe.PayloadLoadOp():
                operands = self._payload_operands(op)
                self._load(op, xe.shape_of(op.payload), operands, op.result_types)
            case (
                xe.PayloadPrefetchOp() | xe.BlockPrefetch2DOp() | simt.BarrierArriveOp()
            ):
                self._drop(op)
            case simt.BarrierWaitOp():
                Rewriter.replace_op(op, simt.BarrierOp(op.scope.data))
            case _:
                pass

    def drop_payloads(self) -> None:
        """Erase the operations that made payloads, which nothing uses any more."""
        for payload in self.positions:
            assert isinstance(payload.owner, Operation)
            Rewriter.erase_op(payload.owner)

    def _drop(self, op: Operation) -> None:
        if isinstance(op, xe.PayloadPrefetchOp):
            self._position(op, op.payload)  # which is refused if it is not known
        Rewriter.erase_op(op)

    # Blocks

    def _load(
        self,
        op: Operation,
        shape: BlockShape,
        operands: Values,
        types: Sequence[Attribute],
    ) -> None:
        piece = piece_of(op, shape, types, operands[0])

        def body(b: Builder, values: Values) -> Values:
            given, first = _with_first(piece, values)
            return (load_piece(b, piece, first, given),)

        name = f"xe_load_{piece.name}"
        found: list[SSAValue] = []
        for number in range(len(types)):
            values = [*operands, *_first_slot(op, piece, number)]
            found += self._call(op, ("load", piece), name, body, values, [piece.type])
        Rewriter.replace_op(op, [], found)

    def _load_channels(self, op: xe.BlockLoadOp) -> None:
        """Load a block of lanes in rows, from a surface whose rows overlap."""
        lanes, b = lanes_of(op), Builder.at(op)
        shape = BlockShape(op.slot_bits, op.slots, lanes)
        bytes = op.slot_bits // 8
        x = b.pure(arith.ShRUIOp, op.offset, b.constant(i32, bytes.bit_length() - 1))
        y, width, height, pitch = (
            b.constant(i32, n) for n in (0, ALL_BYTES, ALL_ROWS, bytes * lanes)
        )
        if op.guard is not None:
            height = b.pure(arith.SelectOp, op.guard, height, y)
        operands = [op.base, x, y, width, height, pitch]
        self._load(op, shape, operands, op.result_types)

    def _store(self, op: xe.BlockStore2DOp) -> None:
        pieces, operands = tuple(op.pieces), op.operands[len(op.pieces) :]
        types = [x.type for x in pieces]
        piece = piece_of(op, op.block.data, types, operands[0])

        def body(b: Builder, values: Values) -> Values:
            (value, *rest), first = _with_first(piece, values)
            store_piece(b, piece, first, value, rest)
            return ()

        name = f"xe_store_{piece.name}"
        for number, value in enumerate(pieces):
            values = [value, *operands, *_first_slot(op, piece, number)]
            self._call(op, ("store", piece), name, body, values, [])
        Rewriter.erase_op(op)

    # Products

    def _multiply(self, op: xe.DpasOp | xe.SplitDpasOp) -> None:
        if isinstance(op, xe.SplitDpasOp):
            a, lanes = self._gather(op), xe.SUBGROUP_SIZES[0]
        else:
            a, lanes = op.a, lanes_of(op)
        types = map(vector_type, (a, op.b, op.c))
        x = DpasShape(op.precisions, op.repeat.value.data, lanes, *types)
        if isinstance(op, xe.DpasOp):
            reason = xe.why_not_share(op, lanes, x.n)
            if reason is not None:
                raise Refused(op, reason)

        def body(b: Builder, values: Values) -> Values:
            left, right, addend = values
            return (multiply(b, x, left, right, addend),)

        result = self._call(op, x, x.name, body, [a, op.b, op.c], [op.result.type])
        Rewriter.replace_op(op, [], result)

    def _gather(self, op: xe.SplitDpasOp) -> SSAValue:
        """Return all rows of A, of which a pair of subgroups has half each."""
        if (found := known_lanes(op)) != xe.SUBGROUP_SIZES[0]:
            raise Refused(
                op,
                f"expected a kernel with {simt.SUBGROUP_SIZE} of 8, which split DPAS "
                f"has, got {'none' if found is None else found}",
            )
        func = kernel_around(op)
        assert func is not None, op
        subgroups = simt.kernel_of(func).subgroups
        if subgroups % PAIR:
            what = f"expected pairs of subgroups for split DPAS, got {subgroups}"
            raise Refused(op, what)
        if op in self.alone:
            raise Refused(
                op,
                "expected split DPAS where all subgroups of the work-group execute it, "
                "as its emulation waits for all, got control flow that varies",
            )
        if (memory := self.scratch.get(func)) is None:
            # The most rows that a lane gives to a split DPAS.
            products = (x for x in func.walk() if isinstance(x, xe.SplitDpasOp))
            rows = max(length_of(x.a) for x in products)
            type = scratch_type(simt.kernel_of(func), rows)
            memory = self.scratch[func] = allocate(func.body.block, type, "split")
        lanes, rows = xe.SUBGROUP_SIZES[0], length_of(op.a)

        def body(b: Builder, values: Values) -> Values:
            half, scratch = values
            return (gathered(b, half, scratch, lanes),)

        whole = VectorType(i32, [2 * rows])
        key = ("gather", rows, lanes, memory.type)
        name = f"xe_gather_{rows}_rows"
        return self._call(op, key, name, body, [op.a, memory], [whole])[0]

    # Payloads

    def _create(self, op: xe.PayloadCreateOp) -> None:
        block = function_around(op).body.block
        memory = allocate(block, MemRefType(i32, [2]), "position")
        self.positions[op.result] = memory
        self._put(op, memory, 0, op.x)
        self._put(op, memory, 1, op.y)

    def _set(self, op: xe.PayloadSetOp) -> None:
        number, value = "xy".index(op.field), op.position
        memory, b = self._position(op, op.payload), Builder.at(op)
        if op.adds:
            index = b.constant(INDEX, number)
            before = b.effect(memref.LoadOp.get(memory, [index])).results[0]
            value = b.pure(arith.AddiOp, before, value)
        self._put(op, memory, number, value)
        Rewriter.erase_op(op)

    def _position(self, op: Operation, payload: SSAValue) -> SSAValue:
        """Return the memory of x and y of a payload."""
        if not isinstance(payload.owner, xe.PayloadCreateOp):
            what = "expected a payload of xe.payload_create, got one through a block"
            raise Refused(op, what)
        return self.positions[payload]

    def _put(
        self, op: Operation, memory: SSAValue, number: int, value: SSAValue
    ) -> None:
        b = Builder.at(op)
        b.effect(memref.StoreOp.get(value, memory, [b.constant(INDEX, number)]))

    def _payload_operands(self, op: xe.PayloadLoadOp) -> Values:
        memory, b = self._position(op, op.payload), Builder.at(op)
        create = op.payload.owner
        assert isinstance(create, xe.PayloadCreateOp), create
        position: list[SSAValue] = []
        for number, offset in enumerate((op.dx, op.dy)):
            load = memref.LoadOp.get(memory, [b.constant(INDEX, number)])
            value = b.effect(load).results[0]
            plus = b.pure(arith.ConstantOp, offset)
            position.append(b.pure(arith.AddiOp, value, plus))
        return [create.base, *position, create.width, create.height, create.pitch]

    # Functions

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
            func = private_function(
                self.module, name, types, results, body, op.location, self.unroll
            )
            # Inlined at each call, it would take Intel's CPU runtime minutes.
            func.attributes["no_inline"] = UnitAttr()
            self.names[key] = func.sym_name.data
        call = CallOp(self.names[key], values, results)
        return list(Builder.at(op).effect(call).results)


def known_lanes(op: Operation) -> int | None:
    """Return the lanes of the kernel around an operation, if it says so.

    In a function that is no kernel, the lanes of the module's kernels, if they agree.
    """
    if (kernel := kernel_around(op)) is not None:
        return simt.kernel_of(kernel).subgroup_size
    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp), op
    sizes = {x.subgroup_size for x in simt.kernels(module)}
    return sizes.pop() if len(sizes) == 1 else None


def lanes_of(op: Operation) -> int:
    """Return the lanes of the kernel around an operation; others are refused."""
    found = known_lanes(op)
    if found not in xe.SUBGROUP_SIZES:
        got = "none" if found is None else found
        what = f"expected a kernel with {simt.SUBGROUP_SIZE} of 8, 16 or 32, got {got}"
        raise Refused(op, what)
    return found


def piece_of(
    op: Operation, shape: BlockShape, types: Sequence[Attribute], base: SSAValue
) -> BlockPiece:
    """Return what a call moves of a block, if lanes hold these pieces of it."""
    first, lanes = types[0], lanes_of(op)
    assert is_vector(first)
    piece = BlockPiece(shape, first, len(types), lanes, memref_type(base))
    slots = piece.pieces * piece.slots
    if (reason := why_not_slots(shape, piece.slot_bits, slots, lanes)) is not None:
        raise Refused(op, reason)
    if piece.unit.bitwidth not in (8, 16, 32, 64):
        what = "expected a surface of elements of 8, 16, 32 or 64 bits"
        raise Refused(op, f"{what}, got {memref_type(base).element_type}")
    return piece


def _first_slot(op: Operation, piece: BlockPiece, number: int) -> Values:
    """Return the first slot of a piece, if there are several pieces."""
    if piece.pieces == 1:
        return ()
    return (Builder.at(op).constant(INDEX, number * piece.slots),)


def _with_first(piece: BlockPiece, values: Values) -> tuple[Values, BoundedIndex]:
    """Return arguments without the last one, and what that says, if it is there."""
    if piece.pieces == 1:
        return values, BoundedIndex()
    *given, first = values
    return given, BoundedIndex(0, first, (piece.pieces - 1) * piece.slots)


def take_component(op: ExtractOp) -> None:
    """Replace what is taken of a mask."""
    (at,) = op.static_position.get_values()
    Rewriter.replace_op(op, [], [component(Builder.at(op), op.vector, at)])


def component(b: Builder, mask: SSAValue, at: int) -> SSAValue:
    """Return a component of a mask, from those of what the mask is made of."""
    match mask.owner:
        case ShuffleOp() as op:
            chosen, size = op.mask.get_values()[at], length_of(op.v1)
            one = chosen < size
            return component(b, op.v1 if one else op.v2, chosen - size * (not one))
        case arith.AndIOp() as op:
            return b.pure(arith.AndIOp, *(component(b, x, at) for x in op.operands))
        case _:
            return b.extract(mask, at)


def _is_emulated(op: Operation) -> bool:
    if isinstance(op, ExtractOp):
        is_made = isinstance(op.vector.owner, ShuffleOp | arith.AndIOp)
        is_flag = op.results[0].type == i1 and not op.dynamic_position
        return is_made and is_flag and vector_type(op.vector).get_num_dims() == 1
    barriers = simt.BarrierArriveOp | simt.BarrierWaitOp
    return op.name.startswith("xe.") or isinstance(op, barriers)


@dataclass(frozen=True)
class EmulateXePass(ModulePass):
    name = "emulate-xe"

    unroll: bool = False
    """Unroll loops over a lane's components."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(map(_is_emulated, op.walk())):
            return
        with transaction(op) as draft:
            found = [x for x in draft.walk() if _is_emulated(x)]
            split = [x for x in found if isinstance(x, xe.SplitDpasOp)]
            alone: frozenset[Operation] = frozenset()
            if split:
                uniformity = Uniformity(draft)
                varies = (uniformity.around(x) is not Variation.NONE for x in split)
                alone = frozenset(x for x, y in zip(split, varies, strict=True) if y)
            emulator = Emulator(draft, self.unroll, alone)
            for each in found:
                if isinstance(each, ExtractOp):
                    take_component(each)
                else:
                    emulator.emulate(each)
            emulator.drop_payloads()
