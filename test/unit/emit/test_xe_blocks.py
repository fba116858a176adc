"""Every 2D block message that a device takes, in the eyes of Intel's compiler."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import coopc
from coopc.device import BMG, DG2, PVC, BlockIO, BlockKind, BlockShapes, Device
from coopc.plan import search
from coopc.plan.block_message import (
    BITS,
    LOAD_KINDS,
    BlockMode,
    BlockShape,
    slot_bits,
    why_no_message,
    why_not_slots,
)
from coopc.run.isa import CLEAN
from coopc.run.offline_compiler import compile_kernel

Tool = Callable[[str], Path]


def tables(io: BlockIO) -> dict[BlockKind, tuple[BlockShapes, ...]]:
    return {
        "load": io.load,
        "transform": io.transform,
        "transpose": io.transpose,
        "prefetch": io.prefetch,
        "store": io.store,
    }


def shapes(kind: BlockKind, device: Device, lanes: int) -> Iterator[BlockShape]:
    """All shapes of the device's table that are not refused."""
    assert device.block_io is not None
    modes = {kind: mode for mode, kind in LOAD_KINDS.items()}
    for entry in tables(device.block_io)[kind]:
        for count in entry.counts:
            for height in entry.heights:
                mode = modes.get(kind, BlockMode.PLAIN)
                size = (entry.element_bits, height, entry.width, count)
                shape = BlockShape(*size, mode)
                if why_no_message(kind, shape, device, lanes) is None:
                    yield shape


def kernel(number: int, bits: int, lanes: int, body: str) -> str:
    """A kernel around messages whose slots are that wide."""
    return f"""
func.func @k{number}(%p: memref<i8>, %out: memref<?xi{bits}, strided<[1]>>, %x: i32,
    %y: i32, %w: i32, %h: i32, %pitch: i32, %at: index)
    attributes {{simt.kernel, simt.subgroup_size = {lanes} : i32}} {{
{body}
  func.return
}}
"""


def surface(shape: BlockShape) -> str:
    size = f"{shape.bits}, {shape.height}x{shape.width}x{shape.count}"
    mode = "" if shape.mode is BlockMode.PLAIN else f", {shape.mode.value}"
    return f"%p[%x, %y] surface(%w, %h, %pitch) block <{size}{mode}>"


def pieces_of(shape: BlockShape, lanes: int) -> tuple[int, int]:
    """How many pieces of a block a lane gets, and how many slots each has."""
    slots = shape.bytes * 8 // (lanes * slot_bits(shape, lanes))
    length = min(slots, 8)
    return slots // length, length


def load(name: str, shape: BlockShape, lanes: int) -> str:
    """A load whose pieces are written to memory."""
    count, length = pieces_of(shape, lanes)
    bits = slot_bits(shape, lanes)
    piece = f"vector<{length}xi{bits}>"
    names = [f"%{name}_v{at}" for at in range(count)]
    lines = [
        f"  {', '.join(names)} = xe.block_load_2d {surface(shape)}",
        f"    : memref<i8> -> {', '.join([piece] * count)}",
    ]
    for each in names:
        value, written = each, piece
        if length == 1:
            value, written = f"{each}s", f"i{bits}"
            lines.append(
                f"  {value} = vector.extract {each}[0] : {written} from {piece}"
            )
        memory = f"memref<?xi{bits}, strided<[1]>>"
        lines.append(f"  simt.block_write {value}, %out[%at] : {written}, {memory}")
    return "\n".join(lines)


def store(name: str, shape: BlockShape, lanes: int) -> str:
    """A store of constants."""
    count, length = pieces_of(shape, lanes)
    piece = f"vector<{length}xi{slot_bits(shape, lanes)}>"
    names = [f"%{name}_v{at}" for at in range(count)]
    lines = [f"  {each} = arith.constant dense<1> : {piece}" for each in names]
    types = ", ".join([piece] * count)
    lines.append(f"  xe.block_store_2d {', '.join(names)} into {surface(shape)}")
    lines.append(f"    : {types} into memref<i8>")
    return "\n".join(lines)


def prefetch(name: str, shape: BlockShape, lanes: int) -> str:
    del name, lanes
    return f"  xe.block_prefetch_2d {surface(shape)} : memref<i8>"


MESSAGES: dict[BlockKind, tuple[str, Callable[[str, BlockShape, int], str]]] = {
    "load": ("load2d", load),
    "transform": ("load2d", load),
    "transpose": ("load2d", load),
    "prefetch": ("prefetch2d", prefetch),
    "store": ("store2d", store),
}


@pytest.mark.parametrize("lanes", [16, 32])
@pytest.mark.parametrize("device", [PVC, BMG], ids=lambda device: device.name)
def test_what_is_planned_is_emitted(device: Device, lanes: int) -> None:
    """The planner tries no message that the emitted operation refuses."""
    io = device.block_io
    assert io is not None
    tried = 0
    for kind, table in tables(io).items():
        mode = {x: mode for mode, x in LOAD_KINDS.items()}.get(kind, BlockMode.PLAIN)
        for shape in search.shapes(table, mode, BITS) if kind != "prefetch" else ():
            if search.message_bases(shape, lanes, 1, 1) is not None:
                assert why_no_message(kind, shape, device, lanes) is None
                tried += 1
    assert tried > 50


@pytest.mark.parametrize("lanes", [16, 32])
@pytest.mark.parametrize("device", [PVC, BMG], ids=lambda device: device.name)
@pytest.mark.parametrize("kind", MESSAGES)
def test_every_shape_is_one_message(
    kind: BlockKind, device: Device, lanes: int, tool: Tool
) -> None:
    tool("ocloc")
    name, write = MESSAGES[kind]
    by_bits: dict[int, list[BlockShape]] = {}
    for shape in shapes(kind, device, lanes):
        by_bits.setdefault(slot_bits(shape, lanes), []).append(shape)
    assert by_bits
    text = "".join(
        kernel(
            bits,
            bits,
            lanes,
            "\n".join(write(f"m{at}", shape, lanes) for at, shape in enumerate(found)),
        )
        for bits, found in by_bits.items()
    )
    binary = coopc.compile(text, "", f"spirv-binary{{device={device.name}}}").bytes
    isa = compile_kernel(binary, device.name, registers=256)
    counts = {f"k{bits}:{name}": len(found) for bits, found in by_bits.items()}
    assert isa.check({**CLEAN, "simd": lanes, "scratch": 0, **counts}) == ()


@pytest.mark.parametrize(
    ("kind", "shape", "device", "lanes", "reason"),
    [
        (
            *("load", BlockShape(16, 16, 32, 2), BMG, 16),
            "expected 1 block of 1, 2, 4, 8, 16 or 32 rows, as bmg can load, "
            "got 16 bits, 16x32x2",
        ),
        (
            *("load", BlockShape(16, 4, 4, 2), PVC, 16),
            "expected 1 block of 1, 2, 4, 8, 16 or 32 rows; or 2 or 4 of 8, 16 or 32 "
            "rows, as pvc can load, got 16 bits, 4x4x2",
        ),
        (
            *("transform", BlockShape(16, 16, 32, 1, BlockMode.TRANSFORM), PVC, 16),
            "expected rows of 2, 4, 8 or 16 elements, as pvc can load and transform, "
            "got 16 bits, 16x32x1, transform",
        ),
        (
            *("transpose", BlockShape(16, 8, 8, 1, BlockMode.TRANSPOSE), BMG, 16),
            "expected elements of 32 or 64 bits, as bmg can load and transpose, "
            "got 16 bits, 8x8x1, transpose",
        ),
        (
            *("store", BlockShape(32, 16, 16), BMG, 16),
            "expected 1 block of 1, 2, 4 or 8 rows, as bmg can store, "
            "got 32 bits, 16x16x1",
        ),
        (
            *("load", BlockShape(32, 1, 8), BMG, 16),
            "expected a block of a multiple of 64 bytes, a slot of each of 16 lanes, "
            "got 32 of 32 bits, 1x8x1",
        ),
        (
            *("load", BlockShape(8, 1, 16, 2), BMG, 32),
            "expected a block of a multiple of 32 bytes, a slot of each of 32 lanes, "
            "got 16 of 8 bits, 1x16x2",
        ),
        (
            *("load", BlockShape(16, 8, 16), PVC, 8),
            "expected a subgroup of 16 or more lanes, which pvc has, got 8",
        ),
        (
            *("load", BlockShape(16, 8, 16), DG2, 8),
            "dg2 has no 2D block messages",
        ),
    ],
)
def test_refused(
    kind: BlockKind, shape: BlockShape, device: Device, lanes: int, reason: str
) -> None:
    assert why_no_message(kind, shape, device, lanes) == reason


def test_slots_are_as_wide_as_the_compiler_makes_them() -> None:
    shape = BlockShape(16, 8, 32)
    assert why_not_slots(shape, 32, 8, 16) is None
    assert why_not_slots(shape, 16, 8, 32) is None
    assert why_not_slots(shape, 16, 16, 16) == (
        "expected pieces of i32, in which 16 lanes get 16 bits, 8x32x1, got i16: "
        "the elements of a slot would be those of other lanes"
    )
