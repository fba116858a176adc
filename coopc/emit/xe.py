"""`xe` in any target: block messages, multiplications and address payloads.

Intel's compiler takes what SPIR-V has no instruction for as calls of functions by name.
A target says in an `Engine` how it spells them; `coopc.emit.xe_rules` has what they
need, and their names.

The messages of SPV_INTEL_2d_block_io load to memory and store from it: to a variable of
the function, an array of the pieces, which Intel's compiler turns into registers as
long as the pieces have the slots in which the block arrives
(`coopc.plan.block_message`), each variable is of one message, and each piece is loaded
whole.  Then it costs nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, f32, i32, i64
from xdsl.ir import Attribute, SSAValue

from coopc.device import BlockKind
from coopc.dialects import xe
from coopc.dialects.shaped_arith import shaped
from coopc.dialects.xe import Precision
from coopc.emit.emission import AnyEmission
from coopc.emit.walker import Handlers, Refusal
from coopc.emit.xe_rules import (
    PAYLOAD_PREFIX,
    builtin_number,
    check_dpas,
    check_slots,
    check_split_dpas,
    flags_of,
    payload_name,
    payload_slots,
    piece_of,
    split_name,
)
from coopc.plan.block_message import LOAD_KINDS, BlockMode, BlockShape, why_no_message

E = TypeVar("E", bound=AnyEmission)

LOADS = {
    BlockMode.PLAIN: "Subgroup2DBlockLoadINTEL",
    BlockMode.TRANSFORM: "Subgroup2DBlockLoadTransformINTEL",
    BlockMode.TRANSPOSE: "Subgroup2DBlockLoadTransposeINTEL",
}
STORE = "Subgroup2DBlockStoreINTEL"
PREFETCH = "Subgroup2DBlockPrefetchINTEL"

SURFACE, STORE_SURFACE = 4, 5
"""Which operand of a message the surface is."""


class Pieces(ABC):
    """A variable that holds the pieces of one message."""

    base: Any

    @abstractmethod
    def load(self, at: int) -> Any:
        """A piece."""

    @abstractmethod
    def store(self, at: int, piece: SSAValue) -> None:
        """Set one."""


class Engine(ABC, Generic[E]):
    """How a target spells the messages and multiplications of Intel's GPUs."""

    def handlers(self) -> Handlers[E]:
        found = Handlers[E]()
        found.on(xe.BlockLoad2DOp)(self._block_load_2d)
        found.on(xe.BlockLoadOp)(self._block_load)
        found.on(xe.BlockStore2DOp)(self._block_store_2d)
        found.on(xe.BlockPrefetch2DOp)(self._block_prefetch_2d)
        found.on(xe.DpasOp)(self._dpas)
        found.on(xe.SplitDpasOp)(self._split_dpas)
        found.on(xe.PayloadCreateOp)(self._payload_create)
        found.on(xe.PayloadSetXOp, xe.PayloadSetYOp)(self._payload_change)
        found.on(xe.PayloadAddXOp, xe.PayloadAddYOp)(self._payload_change)
        found.on(xe.PayloadLoadOp)(self._payload_load)
        found.on(xe.PayloadPrefetchOp)(self._payload_prefetch)
        return found

    # --- what a target says ------------------------------------------------------

    @abstractmethod
    def check_flavour(self, e: E) -> None:
        """Refuse a flavour that has none of it."""

    @abstractmethod
    def is_global(self, view: Any) -> bool:
        """Whether a memref is in global memory, which messages reach."""

    @abstractmethod
    def word(self, e: E, value: int) -> Any:
        """A constant of 32 bits."""

    @abstractmethod
    def pieces(self, e: E, pieces: Sequence[SSAValue]) -> Pieces:
        """A variable for the pieces of one message."""

    @abstractmethod
    def message(
        self,
        e: E,
        name: str,
        operands: list[Any],
        cache: xe.CacheAttr | None,
        surface: int = SURFACE,
    ) -> None:
        """A message of SPV_INTEL_2d_block_io.

        Args:
            e: the emission.
            name: of the instruction.
            operands: in its order.
            cache: what is asked of the caches.
            surface: which operand the surface is.

        Raises:
            Refusal: the device has no such pair of cache controls.
        """

    @abstractmethod
    def block_read(self, e: E, base: Any, byte: Any, type: Attribute) -> Any:
        """A read of SPV_INTEL_subgroups, at a number of bytes from a pointer.

        Bytes: Intel's compiler shifts an index of wider elements for each message.
        """

    @abstractmethod
    def multiply(self, e: E, k: int, operands: list[Any], flags: str) -> Any:
        """SubgroupMatrixMultiplyAccumulateINTEL of a, b and c."""

    @abstractmethod
    def call(
        self, e: E, name: str, result: Attribute | None, operands: list[Any]
    ) -> Any:
        """Call a builtin of Intel's compiler; a payload is a pointer."""

    @abstractmethod
    def address(self, e: E, pointer: Any) -> Any:
        """A pointer as an i64."""

    @abstractmethod
    def part(self, e: E, vector: Any, taken: range) -> Any:
        """Some components of a vector of slots, which follow each other."""

    # --- what both say -------------------------------------------------------------

    def _lanes(self, e: E) -> int:
        """The subgroup size, which `xe` needs to be fixed."""
        self.check_flavour(e)
        if e.subgroup_size is None:
            raise Refusal(
                "expected simt.subgroup_size on the kernel: without it the compiler "
                "chooses a size, and the lanes hold other elements"
            )
        return e.subgroup_size

    def _check(
        self, e: E, kind: BlockKind, shape: BlockShape, pieces: Sequence[SSAValue] = ()
    ) -> None:
        """Refuse a message that the device has not, or not in such pieces."""
        lanes = self._lanes(e)
        if (reason := why_no_message(kind, shape, e.facts.device, lanes)) is not None:
            raise Refusal(reason)
        if pieces:
            check_slots(shape, pieces, lanes)

    def _surface(self, e: E, base: SSAValue) -> Any:
        view = e.view(base)
        if not self.is_global(view):
            raise Refusal(
                "expected a surface in global memory, which block messages reach, got "
                f"{base.type}"
            )
        return e.pointer(view, view.offset)

    def _words(self, e: E, *values: int) -> list[Any]:
        return [self.word(e, value) for value in values]

    def _sizes(self, e: E, shape: BlockShape) -> list[Any]:
        return self._words(e, shape.bits // 8, shape.width, shape.height, shape.count)

    def _where(self, e: E, op: xe.BlockOp) -> list[Any]:
        pair = e.standing(
            VectorType(i32, [2]),
            e.gathered(VectorType(i32, [2]), [e.value(op.x), e.value(op.y)]),
        )
        return [e.value(each) for each in (op.width, op.height, op.pitch, pair)]

    def _block_load_2d(self, e: E, op: xe.BlockLoad2DOp) -> None:
        shape = op.block.data
        self._check(e, LOAD_KINDS[shape.mode], shape, op.pieces)
        pieces = self.pieces(e, op.pieces)
        operands = [*self._sizes(e, shape), self._surface(e, op.base)]
        operands += [*self._where(e, op), pieces.base]
        self.message(e, LOADS[shape.mode], operands, op.cache)
        for at, piece in enumerate(op.pieces):
            e.set(piece, pieces.load(at))

    def _block_store_2d(self, e: E, op: xe.BlockStore2DOp) -> None:
        shape = op.block.data
        self._check(e, "store", shape, op.pieces)
        pieces, surface = self.pieces(e, op.pieces), self._surface(e, op.base)
        for at, piece in enumerate(op.pieces):
            pieces.store(at, piece)
        operands = [*self._sizes(e, shape), pieces.base, surface]
        operands += self._where(e, op)
        self.message(e, STORE, operands, op.cache, STORE_SURFACE)

    def _block_prefetch_2d(self, e: E, op: xe.BlockPrefetch2DOp) -> None:
        """A load to nowhere."""
        shape = op.block.data
        self._check(e, "prefetch", shape)
        operands = [*self._sizes(e, shape), self._surface(e, op.base)]
        operands += self._where(e, op)
        self.message(e, PREFETCH, operands, op.cache)

    def _block_load(self, e: E, op: xe.BlockLoadOp) -> None:
        self._lanes(e)
        base, offset, type = self._surface(e, op.base), op.offset, op.result.type
        with e.beside() as code:
            if op.guard is not None:
                # What is not wanted is read from where there is something.
                offset = code.select(op.guard, offset, code.like(offset, 0))
            byte = e.value(code(arith.ExtUIOp(offset, i64)))
            found = e.standing(type, self.block_read(e, base, byte, type))
            if op.guard is not None:
                found = code.select(op.guard, found, code.like(found, 0))
            e.set(op.result, e.value(found))

    def _dpas(self, e: E, op: xe.DpasOp) -> None:
        check_dpas(op, e.facts.device, self._lanes(e))
        sides = zip((op.a, op.b), op.precisions, strict=True)
        with e.beside() as code:
            # The bits of tf32 go as floats.
            operands = [
                code(arith.BitcastOp(value, shaped(value.type, f32)))
                if precision is Precision.TF32
                else value
                for value, precision in sides
            ]
            ids = [e.value(value) for value in (*operands, op.c)]
        e.set(op.result, self.multiply(e, op.precisions[0].k, ids, flags_of(op)))

    def _split_dpas(self, e: E, op: xe.SplitDpasOp) -> None:
        """A multiplication of two subgroups, Intel's OpenCL builtin."""
        if e.facts.device.split_pair is None:
            raise Refusal(f"{e.facts.device.name} has no split DPAS: DG2 has")
        check_split_dpas(op, e.facts.device, self._lanes(e))
        name = split_name(op.precisions, op.repeat.value.data)
        operands = [e.value(value) for value in (op.a, op.b, op.c)]
        e.set(op.result, self.call(e, name, op.result.type, operands))

    def _payload_create(self, e: E, op: xe.PayloadCreateOp) -> None:
        """A payload takes sizes less one."""
        shape = xe.shape_of(op.result)
        self._check(e, LOAD_KINDS[shape.mode], shape)
        base = self.address(e, self._surface(e, op.base))
        with e.beside() as code:
            one = code.constant(i32, 1)
            sizes = (op.width, op.height, op.pitch)
            less = [e.value(code(arith.SubiOp(size, one))) for size in sizes]
        operands = [base, *less, e.value(op.x), e.value(op.y)]
        operands += self._words(e, shape.width, shape.height, shape.count)
        name = f"{PAYLOAD_PREFIX}createBlock2DAddressPayload"
        e.set(op.result, self.call(e, name, op.result.type, operands))

    def _payload_change(self, e: E, op: xe.PayloadSetOp) -> None:
        """One move, or one sum."""
        verb = "add" if op.adds else "set"
        name = f"{PAYLOAD_PREFIX}{verb}Block2DAddressPayloadBlock{op.field.upper()}"
        self.call(e, name, None, [e.value(op.payload), e.value(op.position)])

    def _payload_load(self, e: E, op: xe.PayloadLoadOp) -> None:
        """A builtin that returns all slots as one vector, which is cut into pieces."""
        shape = xe.shape_of(op.payload)
        self._check(e, LOAD_KINDS[shape.mode], shape, op.pieces)
        slots, count = payload_slots(op.pieces), len(op.pieces)
        type = VectorType(piece_of(op.pieces).get_element_type(), [slots])
        name = payload_name("read_ap", shape)
        loaded = self.call(e, name, type, self._payload_operands(e, op))
        for at, piece in enumerate(op.pieces):
            taken = range(at * slots // count, (at + 1) * slots // count)
            e.set(piece, loaded if count == 1 else self.part(e, loaded, taken))

    def _payload_prefetch(self, e: E, op: xe.PayloadPrefetchOp) -> None:
        shape = xe.shape_of(op.payload)
        self._check(e, "prefetch", shape)
        name = payload_name("read_ap_prefetch", shape)
        self.call(e, name, None, self._payload_operands(e, op))

    def _payload_operands(
        self, e: E, op: xe.PayloadLoadOp | xe.PayloadPrefetchOp
    ) -> list[Any]:
        controls = builtin_number(op.cache, e.facts.device)
        offsets = (op.dx.value.data, op.dy.value.data)
        return [e.value(op.payload), *self._words(e, *offsets, controls)]


# Address payloads, as builtins of Intel's compiler; and how K loops are short.
#
# A payload is a register.  The builtins take and return it as a pointer that nothing
# may look at; setting x or y is one move.  Their names are not mangled: the block's
# shape is in the name, and must be that of the payload.
#
# What the compiler makes of a K loop depends on its form far more than on its messages.
# Measured with IGC 2.40.14 and 256 registers, the goldens test/emit/xe/gemm_*.mlir of
# 32 x 32 of C and variations of them, in instructions of a step on BMG and PVC:
#
# | form                                                                  | BMG | PVC |
# |-----------------------------------------------------------------------|-----|-----|
# | A B, x of A and y of B are the loop's variable, an i32                | 26  | 26  |
# | the same, or carried beside it with the same start and step           | 26  | 26  |
# | the variable is an index, 64 bits, and cast                           | 30  | 30  |
# | A B^T, the loop counts 32-bit columns h, x of A = h << 1              | 30  | 36  |
# | x of B = h = 16 t, x of A = 32 t, of a step counter t                 | 30  | 36  |
# | the loop counts k, h is carried beside it with its own step           | 32  | 38  |
# | the loop counts k, x of B = k >> 1                                    | 35  | 49  |
# | A B^T, loads of B share a payload: offsets are immediate              | 30  | 36  |
# | a payload for each load of B                                          | 32  | 32  |
# | A B, prefetches three steps ahead, without payloads                   | 42  | 47  |
# | a payload for each, set to x + 96, computed in the body               | 30  | 35  |
# | the same, the position carried through the loop                       | 31  | 36  |
#
# So, for whoever makes such loops:
#
# 1. Count in i32, in the unit in which most streams have their positions along K, and
#    derive all others by shl, mul and add.  A shift to the right hides from the
#    compiler that h + 8 is a sum, and with it the immediate offset.
# 2. Carry accumulators only.  A second carried number with another step costs a move
#    and a jump: its addition sinks into a block of its own.
# 3. The positions across K, and all that makes a surface, stand before the loop.
# 4. Prefetch through payloads, one for each block; load through them where x of one
#    register serves many loads (Xe2: one payload, `immediate_offsets`), or where there
#    is no immediate offset (PVC: one payload each).  Loads that take x or y from the
#    loop's variable need none: the compiler keeps their addresses in registers by
#    itself.
