"""`amx` as intrinsics of LLVM on `x86_amx`: LLVM assigns and configures registers.

    tile_zero    llvm.x86.tilezero.internal(rows, bytes)
    tile_load    llvm.x86.tileloadd64.internal(rows, bytes, pointer, pitch);
                 tileloaddt164 if it is nontemporal
    tile_store   llvm.x86.tilestored64.internal(rows, bytes, pointer, pitch, tile)
    tile_mulf    llvm.x86.tdpbf16ps.internal(rows, bytes, bytes of k, acc, lhs, rhs)
    tile_muli    llvm.x86.tdpbssd.internal and its kin, likewise

Rows and bytes of a row, each an i16, are those of the tile; of a product those of acc,
and the bytes of a row of lhs.  The pitch is from row to row, in bytes.

`avx512` is intrinsics, too, each on one register, and conversions that LLVM knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from xdsl.dialects.builtin import BFloat16Type, i8
from xdsl.ir import SSAValue

from coopc.dialects import amx, avx512
from coopc.dialects.amx import TileType, tile_type
from coopc.dialects.narrow import length_of
from coopc.emit.llvm.emission import Emission, Handlers, View, id_of
from coopc.emit.walker import NoForm
from coopc.llvm.values import (
    BFLOAT,
    I1,
    I8,
    I16,
    I32,
    I64,
    VOID,
    Named,
    Value,
    Vector,
    integer,
    poison,
)
from coopc.passes.generic.expand_narrow_floats import upper_bits
from coopc.passes.generic.expansion import results_of

handlers = Handlers()

TILE = Named("x86_amx")


def _shape(tile: TileType) -> list[Value]:
    return [integer(I16, tile.shape[0]), integer(I16, tile.row_bytes)]


@handlers.on(amx.TileZeroOp)
def zero(e: Emission, op: amx.TileZeroOp) -> None:
    arguments = _shape(op.result.type)
    e.set(op.result, e.intrinsic("x86.tilezero.internal", TILE, arguments, ()))


@handlers.on(amx.TileLoadOp)
def load(e: Emission, op: amx.TileLoadOp) -> None:
    place = _place(e, e.view(op.base), op.indices, op.stride)
    arguments = [*_shape(op.result.type), *place]
    name = "tileloaddt164" if amx.NONTEMPORAL in op.attributes else "tileloadd64"
    e.set(op.result, e.intrinsic(f"x86.{name}.internal", TILE, arguments, ()))


@handlers.on(amx.TileStoreOp)
def store(e: Emission, op: amx.TileStoreOp) -> None:
    place = _place(e, e.view(op.base), op.indices, op.stride)
    arguments = [*_shape(tile_type(op.val)), *place, e.value(op.val)]
    e.intrinsic("x86.tilestored64.internal", VOID, arguments, ())


def _place(
    e: Emission, view: View, indices: Sequence[SSAValue], stride: SSAValue | None
) -> list[Value]:
    """A pointer to the first row, and the bytes from row to row."""
    strides = e.index.strides(view)
    if e.index.num(strides[-1]) != 1:
        raise NoForm("expected a memref whose last stride is 1")
    rows = strides[-2] if stride is None else e.nums([stride])[0]
    pitch = e.index.mul(rows, e.types.bytes_of(view.element))
    at = e.index.linear(view, e.nums(indices))
    return [e.pointer(view, at), id_of(pitch)]


@handlers.on(amx.TileMulFOp)
def multiply_floats(e: Emission, op: amx.TileMulFOp) -> None:
    """Pairs of bf16 or f16, summed as f32."""
    half = tile_type(op.lhs).element_type
    _multiply(e, op, "tdpbf16ps" if isinstance(half, BFloat16Type) else "tdpfp16ps")


@handlers.on(amx.TileMulIOp)
def multiply_integers(e: Emission, op: amx.TileMulIOp) -> None:
    """Fours of bytes, each operand signed or not, summed as i32."""
    signs = "".join(
        "s" if unsigned is None else "u"
        for unsigned in (op.is_zext_lhs, op.is_zext_rhs)
    )
    _multiply(e, op, f"tdpb{signs}d")


def _multiply(e: Emission, op: amx.TileMulFOp | amx.TileMulIOp, name: str) -> None:
    """The product of tiles, of shapes that the dialect has checked."""
    acc, lhs = tile_type(op.acc), tile_type(op.lhs)
    shape = [*_shape(acc), integer(I16, lhs.row_bytes)]
    tiles = [e.value(tile) for tile in (op.acc, op.lhs, op.rhs)]
    e.set(op.result, e.intrinsic(f"x86.{name}.internal", TILE, [*shape, *tiles], ()))


@handlers.on(avx512.DotOp)
def dot(e: Emission, op: avx512.DotOp) -> None:
    name, element = "avx512bf16.dpbf16ps", BFLOAT
    if op.element == i8:
        name, element = "avx512.vpdpbusd", I8
    acc, *factors = (e.value(x) for x in (op.acc, op.lhs, op.rhs))
    size = next(x for x in (16, 8, 4) if op.length % x == 0)
    channels = 32 // element.bits
    found: Value = poison(acc.type)
    for start in range(0, op.length, size):
        sums = e.shuffled(acc, None, range(start, start + size))
        numbers = range(start * channels, (start + size) * channels)
        to = Vector(size * channels, element)
        parts = [e.f.cast("bitcast", e.shuffled(x, None, numbers), to) for x in factors]
        full = f"x86.{name}.{32 * size}"
        part = e.intrinsic(full, sums.type, [sums, *parts], ())
        place = integer(I64, start)
        types = [acc.type, part.type]
        found = e.intrinsic("vector.insert", acc.type, [found, part, place], types)
    e.set(op.result, found)


DENORMAL = integer(I32, 0x20)
"""The class of numbers, of `vfpclassps`."""


@handlers.on(avx512.TruncFOp)
def truncate(e: Emission, op: avx512.TruncFOp) -> None:
    """Instructions where no number is denormal; else bits are rounded."""
    x, size, mask = e.value(op.input), length_of(op.input), Vector(16, I1)
    classes: list[Value] = [
        e.intrinsic(
            "x86.avx512.fpclass.ps.512",
            mask,
            [e.shuffled(x, None, range(start, start + 16)), DENORMAL],
            (),
        )
        for start in range(0, size, 16)
    ]
    found = e.f.cast("bitcast", reduce(partial(e.f.arithmetic, "or"), classes), I16)
    denormal, normal, done = map(e.label, ("denormal", "normal", "rounded"))
    e.branch(e.f.compare("icmp eq", found, integer(I16, 0)), normal, denormal)
    e.begin(denormal)
    with e.beside() as code:
        (slow,) = e.given(results_of(upper_bits(code, op.input)))
    e.jump(done)
    e.begin(normal)
    fast = e.f.cast("fptrunc", x, Vector(size, BFLOAT))
    fast = e.f.cast("bitcast", fast, e.type(op.result.type))
    e.jump(done)
    e.begin(done)
    rounded = e.f.phi(fast.type)
    e.f.arrive(rounded, fast, normal)
    e.f.arrive(rounded, slow, denormal)
    e.set(op.result, rounded)
