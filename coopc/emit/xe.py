"""`xe` in any target: block messages, multiplications and address payloads.

Intel's compiler takes what SPIR-V has no instruction for as calls of functions by name.
A target says in `XeInstructions` how it spells them.  What they need, and their names,
are the same in all targets.

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
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    IntegerType,
    MemRefType,
    VectorType,
    f32,
    i32,
    i64,
)
from xdsl.dialects.vector import ShuffleOp
from xdsl.ir import Attribute, SSAValue

from coopc.device import BlockKind, Device
from coopc.dialects import xe
from coopc.dialects.shaped_arith import shaped
from coopc.dialects.xe import (
    SPLIT_LANES,
    SPLIT_PRECISIONS,
    CacheControl,
    Precision,
)
from coopc.emit.emission import AnyEmission
from coopc.emit.walker import Handlers, NoForm, element_of
from coopc.plan.block_message import (
    LOAD_KINDS,
    BlockMode,
    BlockShape,
    why_no_message,
    why_not_slots,
)

E = TypeVar("E", bound=AnyEmission)

LOADS = {
    BlockMode.PLAIN: "Subgroup2DBlockLoadINTEL",
    BlockMode.TRANSFORM: "Subgroup2DBlockLoadTransformINTEL",
    BlockMode.TRANSPOSE: "Subgroup2DBlockLoadTransposeINTEL",
}
STORE = "Subgroup2DBlockStoreINTEL"
PREFETCH = "Subgroup2DBlockPrefetchINTEL"


def surface_operand(name: str) -> int:
    return 5 if name == STORE else 4


MAX_PAYLOAD_SLOTS = 16
"""Slots that a builtin of payloads returns to a lane: components of SPIR-V's longest
vector."""


class XeInstructions(ABC, Generic[E]):
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
    def message(
        self,
        e: E,
        name: str,
        operands: list[Any],
        controls: Sequence[str],
    ) -> None:
        """A message of SPV_INTEL_2d_block_io.

        Args:
            e: the emission.
            name: of the instruction.
            operands: in its order.
            controls: what is asked of L1 and L3, as SPIR-V names it; or nothing.
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

    # --- what both say -------------------------------------------------------------

    def _lanes(self, e: E) -> int:
        """The subgroup size, which `xe` needs to be fixed."""
        self.check_flavour(e)
        if e.subgroup_size is None:
            raise NoForm(
                "expected simt.subgroup_size on the kernel: without it the compiler "
                "chooses a size, and the lanes hold other elements"
            )
        return e.subgroup_size

    def _check(
        self, e: E, kind: BlockKind, shape: BlockShape, pieces: Sequence[SSAValue] = ()
    ) -> None:
        """Refuse a message that the device has not, or not in such pieces."""
        lanes = self._lanes(e)
        reason = why_no_message(kind, shape, e.facts.device, lanes)
        if reason is None and pieces:
            bits, slots = xe.slots_of(pieces)
            reason = why_not_slots(shape, bits, len(pieces) * slots, lanes)
        if reason is not None:
            raise NoForm(reason)

    def _surface(self, e: E, base: SSAValue) -> Any:
        view = e.view(base)
        if not self.is_global(view):
            raise NoForm(
                "expected a surface in global memory, which block messages reach, got "
                f"{base.type}"
            )
        return view

    def _pointer(self, e: E, base: SSAValue) -> Any:
        view = self._surface(e, base)
        return e.pointer(view, view.offset)

    def _pieces(self, e: E, pieces: Sequence[SSAValue]) -> Any:
        """A variable for the pieces of one message."""
        counts = [len(pieces)] if len(pieces) > 1 else []
        return e.allocate(MemRefType(pieces[0].type, counts), counts, 0, None)

    def _words(self, e: E, *values: int) -> list[Any]:
        with e.beside() as code:
            return [e.value(code.constant(i32, value)) for value in values]

    def _sizes(self, e: E, shape: BlockShape) -> list[Any]:
        return self._words(e, shape.bits // 8, shape.width, shape.height, shape.count)

    def _where(self, e: E, op: xe.BlockOp) -> list[Any]:
        """The surface of a message, and the position in it."""
        pair = VectorType(i32, [2])
        at = e.standing(pair, e.gathered(pair, [e.value(op.x), e.value(op.y)]))
        sizes = (e.value(each) for each in (op.width, op.height, op.pitch, at))
        return [self._pointer(e, op.base), *sizes]

    def _block_load_2d(self, e: E, op: xe.BlockLoad2DOp) -> None:
        shape = op.block.data
        self._check(e, LOAD_KINDS[shape.mode], shape, op.pieces)
        pieces = self._pieces(e, op.pieces)
        operands = [*self._sizes(e, shape), *self._where(e, op), pieces.base]
        controls = controls_of(op.cache, e.facts.device)
        self.message(e, LOADS[shape.mode], operands, controls)
        for at, piece in enumerate(op.pieces):
            e.set(piece, e.load(pieces, at))

    def _block_store_2d(self, e: E, op: xe.BlockStore2DOp) -> None:
        shape = op.block.data
        self._check(e, "store", shape, op.pieces)
        pieces, where = self._pieces(e, op.pieces), self._where(e, op)
        for at, piece in enumerate(op.pieces):
            e.store(pieces, at, e.value(piece))
        operands = [*self._sizes(e, shape), pieces.base, *where]
        controls = controls_of(op.cache, e.facts.device, store=True)
        self.message(e, STORE, operands, controls)

    def _block_prefetch_2d(self, e: E, op: xe.BlockPrefetch2DOp) -> None:
        """A load to nowhere."""
        shape = op.block.data
        self._check(e, "prefetch", shape)
        operands = [*self._sizes(e, shape), *self._where(e, op)]
        self.message(e, PREFETCH, operands, controls_of(op.cache, e.facts.device))

    def _block_load(self, e: E, op: xe.BlockLoadOp) -> None:
        self._lanes(e)
        base, offset, type = self._pointer(e, op.base), op.offset, op.result.type
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
            raise NoForm(f"{e.facts.device.name} has no split DPAS: DG2 has")
        check_split_dpas(op, e.facts.device, self._lanes(e))
        name = split_name(op.precisions, op.repeat.value.data)
        operands = [e.value(value) for value in (op.a, op.b, op.c)]
        e.set(op.result, self.call(e, name, op.result.type, operands))

    def _payload_create(self, e: E, op: xe.PayloadCreateOp) -> None:
        """A payload takes sizes less one."""
        shape = xe.shape_of(op.result)
        self._check(e, LOAD_KINDS[shape.mode], shape)
        surface = self._surface(e, op.base)
        base = e.address(surface, surface.offset)
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
        (bits, size), count = xe.slots_of(op.pieces), len(op.pieces)
        slots = size * count
        if slots > MAX_PAYLOAD_SLOTS:
            raise NoForm(
                f"expected at most {MAX_PAYLOAD_SLOTS} slots a lane of a payload's "
                f"load, which returns one vector, got {slots}"
            )
        type = VectorType(IntegerType(bits), [slots])
        name = payload_name("read_ap", shape)
        loaded = self.call(e, name, type, self._payload_operands(e, op))
        if count == 1:
            e.set(op.pieces[0], loaded)
            return
        whole = e.standing(type, loaded)
        with e.beside() as code:
            for at, piece in enumerate(op.pieces):
                taken = list(range(at * size, (at + 1) * size))
                mask = DenseArrayBase.from_list(i64, taken)
                part = ShuffleOp(whole, whole, mask, result_type=piece.type)
                e.set(piece, e.value(code(part)))

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


# What the multiplications of `xe` need, as both emitters check it, and their flags.
#
# What the operands of OpSubgroupMatrixMultiplyAccumulateINTEL are, on the devices:
#
# | lanes  | A of M rows                          | B            | C of M rows       |
# |--------|--------------------------------------|--------------|-------------------|
# | 16     | M x i16; tf32: ceil(M / 2) x f32     | 8 x i32, f32 | M x T             |
# | 32     | M / 2 x i16; tf32: ceil(M / 4) x f32 | 4 x i32, f32 | M / 2 x T         |
# | 8, dg2 | M x i32                              | 8 x i32      | M x f32, i32      |
#
# which is what `xe.dpas` has, but for tf32, whose bits are floats here.  The flags say
# what the packed integers hold; every one that applies must be given.
#
# Where the hardware has no split DPAS, Intel's compiler takes its names, and emits
# nothing or half of the work: so they are refused here.

_PACKED = {
    Precision.S8: "PackedInt8INTEL",
    Precision.U8: "PackedInt8INTEL",
    Precision.S4: "PackedInt4INTEL",
    Precision.U4: "PackedInt4INTEL",
    Precision.F16: "PackedFloat16INTEL",
    Precision.BF16: "PackedBFloat16INTEL",
    Precision.TF32: "TF32INTEL",
}
_SIGNED = (Precision.S8, Precision.S4)


def check_dpas(op: xe.DpasOp, device: Device, lanes: int) -> None:
    """Check that a device has a multiplication.

    Raises:
        NoForm: it multiplies nothing, or no such operands.
    """
    if device.dpas is None:
        raise NoForm(f"{device.name} has no DPAS")
    _check_precisions(op.precisions, device.dpas.operands, device.name)
    _check_operands(op, lanes, device.dpas.lanes, device.name)


def check_split_dpas(op: xe.SplitDpasOp, device: Device, lanes: int) -> None:
    """Check that a device that has split DPAS has this one.

    Raises:
        NoForm: it has none by such subgroups, or of such operands.
    """
    if lanes != SPLIT_LANES:
        raise NoForm(
            f"expected a subgroup of {SPLIT_LANES} lanes for split DPAS, got {lanes}"
        )
    _check_precisions(op.precisions, SPLIT_PRECISIONS, device.name)


def _check_precisions(
    precisions: Sequence[Precision], has: Sequence[str], device: str
) -> None:
    for precision in precisions:
        if precision not in has:
            raise NoForm(
                f"expected {', '.join(has)}, which {device} multiplies, got {precision}"
            )


def _check_operands(op: xe.DpasOp, lanes: int, n: int, device: str) -> None:
    repeat = op.repeat.value.data
    if lanes < n or (n == 8 and lanes != n):
        raise NoForm(
            f"expected a subgroup of {n} lanes, which DPAS of {device} needs, got "
            f"{lanes}"
        )
    if repeat * n < lanes:
        raise NoForm(
            f"expected a repeat count of at least {lanes // n}, which gives each of "
            f"{lanes} lanes an element of c, got {repeat}"
        )
    if (reason := xe.why_not_share(op, lanes, n)) is not None:
        raise NoForm(reason)
    element = element_of(op.c.type)
    if n == 8 and isinstance(element, Float16Type | BFloat16Type):
        raise NoForm(f"expected c of f32, which {device} accumulates in, got {element}")


def flags_of(op: xe.DpasOp) -> str:
    """The flags of a multiplication, by the names that SPIR-V has for them."""
    return flags(op.precisions, bf16=isinstance(element_of(op.c.type), BFloat16Type))


def flags(precisions: tuple[Precision, Precision], *, bf16: bool) -> str:
    """The flags of a multiplication.

    >>> flags((Precision.S8, Precision.U8), bf16=False)
    'MatrixASignedComponentsINTEL|MatrixAPackedInt8INTEL|MatrixBPackedInt8INTEL'
    """
    sides = tuple(zip("AB", precisions, strict=True))
    found = [f"Matrix{side}SignedComponentsINTEL" for side, p in sides if p in _SIGNED]
    found += ["MatrixCBFloat16INTEL", "MatrixResultBFloat16INTEL"] if bf16 else []
    found += [f"Matrix{side}{_PACKED[p]}" for side, p in sides]
    return "|".join(found)


# Which cache controls of `xe` devices have: pairs, one of L1 and one of L3.
#
# | L1, of a load         | with L3                                               |
# |-----------------------|-------------------------------------------------------|
# | uncached, cached      | uncached, cached; from Xe2 on const_cached            |
# | streaming             | uncached, cached                                      |
# | invalidate_after_read | cached; from Xe2 on invalidate_after_read             |
#
# | L1, of a store                            | with L3              |
# |-------------------------------------------|----------------------|
# | uncached, streaming, write_through        | uncached, write_back |
# | write_back                                | write_back           |
#
# What one level leaves open is cached, or write_back in a store.  Intel's compiler
# takes any other pair, warns, and asks for nothing: so they are refused here.
#
# Source: 2.40.14 tried on every pair for PVC, BMG, LNL and PTL.

Pair = tuple[CacheControl, CacheControl]

_DEFAULT = CacheControl.DEFAULT
_UC, _C = CacheControl.UNCACHED, CacheControl.CACHED
_S, _IAR = CacheControl.STREAMING, CacheControl.INVALIDATE_AFTER_READ
_CONST = CacheControl.CONST_CACHED
_WT, _WB = CacheControl.WRITE_THROUGH, CacheControl.WRITE_BACK

LOAD_PAIRS: tuple[Pair, ...] = (
    *((l1, l3) for l1 in (_UC, _C, _S) for l3 in (_UC, _C)),
    (_IAR, _C),
)
"""(L1, L3) of loads, in the order of the numbers from 1 that builtins take."""
XE2_LOAD_PAIRS: tuple[Pair, ...] = ((_UC, _CONST), (_C, _CONST), (_IAR, _IAR))
"""More of them, which builtins have no number for."""
STORE_PAIRS: tuple[Pair, ...] = (
    *((l1, l3) for l1 in (_UC, _WT, _S) for l3 in (_UC, _WB)),
    (_WB, _WB),
)


def resolved(cache: xe.CacheAttr | None, open_level: CacheControl) -> Pair | None:
    """What is asked of L1 and L3; None where nothing is."""
    if cache is None or cache.data == (_DEFAULT, _DEFAULT):
        return None
    l1, l3 = (open_level if level is _DEFAULT else level for level in cache.data)
    return l1, l3


def why_not_pair(pair: Pair, device: Device, *, store: bool) -> str | None:
    """Why a device has no such pair of controls, or None."""
    allowed = STORE_PAIRS if store else LOAD_PAIRS
    # What Xe2 added came with the free immediate offsets.
    if not store and device.block_io is not None and device.block_io.immediate_offsets:
        allowed += XE2_LOAD_PAIRS
    if pair in allowed:
        return None
    fitting = [l3 for l1, l3 in allowed if l1 is pair[0]]
    if fitting:
        return (
            f"expected l3 = {' or '.join(fitting)}, which {device.name} has with "
            f"l1 = {pair[0]}, got {pair[1]}"
        )
    has = dict.fromkeys(l1 for l1, _ in allowed)
    return f"expected l1 = {' or '.join(has)}, which {device.name} has, got {pair[0]}"


def controls_of(
    cache: xe.CacheAttr | None, device: Device, *, store: bool = False
) -> list[str]:
    """What is asked of L1 and L3 of a device, as SPIR-V names it; or nothing.

    Raises:
        NoForm: the device has no such pair of controls.
    """
    pair = resolved(cache, _WB if store else _C)
    if pair is None:
        return []
    if (reason := why_not_pair(pair, device, store=store)) is not None:
        raise NoForm(reason)
    words = (control.split("_") for control in pair)
    return ["".join([*map(str.capitalize, each), "INTEL"]) for each in words]


def builtin_number(cache: xe.CacheAttr | None, device: Device) -> int:
    """The number by which a builtin that loads is told what to ask of the caches.

    Raises:
        NoForm: there is none for that pair of controls.
    """
    pair = resolved(cache, _C)
    if pair is None:
        return 0
    if pair not in LOAD_PAIRS:
        reason = why_not_pair(pair, device, store=False)
        raise NoForm(
            reason
            or "expected controls for which the builtins of payloads have a number, "
            f"got l1 = {pair[0]}, l3 = {pair[1]}"
        )
    return 1 + LOAD_PAIRS.index(pair)


# Names of the builtins of Intel's compiler, which both emitters call.
#
# A name that the compiler does not know stays a call, with no more than a warning, so
# names are made of checked parts only.  Split DPAS is Intel's OpenCL builtin, of which
# DG2 has these; the names are mangled by the Itanium rules, a u8 operand is of unsigned
# integers:
#
#     intel_sub_group_{s}_{t}_split_matrix_mad_k32(a, b, c), s and t of i8, u8
#     intel_sub_group_{t}_{t}_split_matrix_mad_k16(a, b, c), t of f16, bf16
#
# Names of payloads' builtins are not mangled: the block's shape is in the name.

PAYLOAD_PREFIX = "__builtin_IB_subgroup_"


def payload_name(operation: str, shape: BlockShape) -> str:
    """The name of a builtin that uses a payload.

    >>> payload_name("read_ap", BlockShape(32, 16, 8, 1, BlockMode.TRANSPOSE))
    '__builtin_IB_subgroup_block_read_ap_transpose_u32_m16k8v1'
    """
    size = f"u{shape.bits}_m{shape.height}k{shape.width}v{shape.count}"
    mode = "" if shape.mode is BlockMode.PLAIN else f"_{shape.mode.value}"
    return f"{PAYLOAD_PREFIX}block_{operation}{mode}_{size}"


def split_name(precisions: tuple[Precision, Precision], repeat: int) -> str:
    """The mangled name of a builtin of split DPAS.

    >>> split_name((Precision.F16, Precision.F16), 8)
    '_Z44intel_sub_group_f16_f16_split_matrix_mad_k16Dv4_iDv8_iDv8_f'
    >>> split_name((Precision.S8, Precision.S8), 2)
    '_Z42intel_sub_group_i8_i8_split_matrix_mad_k32iDv8_iDv2_i'
    """
    a, b = (
        {Precision.S8: "i8"}.get(precision, precision.value) for precision in precisions
    )
    name = f"intel_sub_group_{a}_{b}_split_matrix_mad_k{precisions[0].k}"
    letters = ["j" if p is Precision.U8 else "i" for p in precisions]
    letters.append("i" if precisions[0].is_integer else "f")
    lengths = (repeat // 2, 8, repeat)
    return f"_Z{len(name)}{name}{mangled(list(zip(letters, lengths, strict=True)))}"


def mangled(parameters: Sequence[tuple[str, int]]) -> str:
    """Vectors of a builtin type as the Itanium C++ ABI mangles them.

    A vector that occurred before is `S_`, `S0_`, `S1_` and so on, counted in the order
    in which they first occur; a single number is no vector.

    >>> mangled([("i", 4), ("i", 8), ("i", 8)])
    'Dv4_iDv8_iS0_'
    """
    seen: list[tuple[str, int]] = []
    text = ""
    for letter, length in parameters:
        if length == 1:
            text += letter
        elif (letter, length) in seen:
            at = seen.index((letter, length))
            text += f"S{at - 1 if at else ''}_"
        else:
            seen.append((letter, length))
            text += f"Dv{length}_{letter}"
    return text
