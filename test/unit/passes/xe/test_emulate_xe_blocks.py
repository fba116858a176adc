"""Emulated blocks against numpy, and split DPAS: on Intel's CPU run-time, simulated."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.compiler import new_context
from coopc.parsing import parse
from coopc.plan.block_message import BlockMode, BlockShape, slot_bits
from coopc.run import opencl
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array: TypeAlias = npt.NDArray[Any]

PITCH, WIDTH, HEIGHT = 144, 132, 35
"""Of the surface: bytes, bytes, rows."""
PLACES = ((-4, -2), (20, 30))
"""Columns of the block's elements and rows: across the first and the last edges."""


@dataclass(frozen=True)
class Load:
    """A block that is loaded, from a memref of some elements."""

    shape: BlockShape
    lanes: int
    memory: str


LOADS = [
    Load(BlockShape(bits, height, width, count, mode), lanes, memory)
    for lanes in (8, 16, 32)
    for bits, height, width, count, mode, memory in (
        (8, 8, 32, 2, BlockMode.PLAIN, "i8"),
        (16, 8, 16, 2, BlockMode.PLAIN, "f16"),
        (16, 4, 32, 1, BlockMode.PLAIN, "bf16"),
        (32, 8, 16, 1, BlockMode.PLAIN, "f16"),
        (64, 8, 8, 1, BlockMode.PLAIN, "i32"),
        (16, 16, 16, 1, BlockMode.PLAIN, "f32"),
        (16, 16, 16, 2, BlockMode.TRANSFORM, "f16"),
        (8, 32, 16, 1, BlockMode.TRANSFORM, "i8"),
        (8, 16, 16, 1, BlockMode.TRANSFORM, "i16"),
        (32, 16, 8, 1, BlockMode.TRANSPOSE, "f16"),
        (32, 32, 8, 1, BlockMode.TRANSPOSE, "f32"),
        (64, 8, 4, 1, BlockMode.TRANSPOSE, "i32"),
    )
]


def loaded(load: Load, memory: Array, x: int, y: int) -> Array:
    """Return the slots of all lanes, as bytes: what numpy says."""
    shape, each = load.shape, load.shape.bits // 8
    # A border of zeros, so that whatever is outside the surface is 0.
    border = 600
    wide = np.zeros((HEIGHT + 2 * border, WIDTH + 2 * border), np.uint8)
    wide[border:-border, border:-border] = memory.view(np.uint8)[:HEIGHT, :WIDTH]
    rows = wide[border + y : border + y + shape.height]
    start = border + x * each
    block = rows[:, start : start + shape.columns * each]
    elements = block.reshape(shape.height, shape.count, shape.width, each)
    match shape.mode:
        case BlockMode.PLAIN:
            return elements.transpose(1, 0, 2, 3).ravel()
        case BlockMode.TRANSPOSE:
            return elements[:, 0].transpose(1, 0, 2).ravel()
        case BlockMode.TRANSFORM:
            pack = 32 // shape.bits
            groups = elements.reshape(-1, pack, shape.count, shape.width, each)
            return groups.transpose(2, 0, 3, 1, 4).ravel()


def load_code(load: Load, place: tuple[int, int], start: int, tag: str) -> str:
    """Return operations that load a block and store its slots from `start` on."""
    shape, lanes = load.shape, load.lanes
    bits = slot_bits(shape, lanes)
    slots = shape.bytes * 8 // bits // lanes
    each = min(slots, 8)
    count = slots // each
    mode = "" if shape.mode is BlockMode.PLAIN else f", {shape.mode.value}"
    block = f"{shape.bits}, {shape.height}x{shape.width}x{shape.count}{mode}"
    pieces = ", ".join(f"%p{tag}_{n}" for n in range(count))
    types = ", ".join([f"vector<{each}xi{bits}>"] * count)
    lines = [
        f"%x{tag} = arith.constant {place[0]} : i32",
        f"%y{tag} = arith.constant {place[1]} : i32",
        f"{pieces} = xe.block_load_2d %m_{load.memory}[%x{tag}, %y{tag}] "
        f"surface(%w, %h, %pitch) block <{block}> : memref<{load.memory}> -> {types}",
    ]
    for number in range(slots):
        name, piece = f"%s{tag}_{number}", number // each
        lines += [
            f"{name} = vector.extract %p{tag}_{piece}[{number % each}] : i{bits} "
            f"from vector<{each}xi{bits}>",
            f"{name}c = arith.constant {start * 8 // bits + number * lanes} : index",
            f"{name}i = arith.addi %lane, {name}c : index",
            f"memref.store {name}, %o_{bits}[{name}i] : O{bits}",
        ]
    return "\n".join(lines)


MEMORIES = ("i8", "i16", "f16", "bf16", "f32", "i32")
SLOTS: tuple[int, ...] = (8, 16, 32, 64)
DTYPES = {
    "i8": np.int8,
    "i16": np.int16,
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "i32": np.int32,
}


def kernel(body: str, lanes: int, total: int) -> str:
    """Return a kernel on one surface as memrefs of all types, and outputs."""
    arguments = [f"%m_{name}: memref<{name}>" for name in MEMORIES]
    arguments += [f"%o_{bits}: O{bits}" for bits in SLOTS]
    text = f"""
        func.func @f({", ".join(arguments)}) attributes {{simt.kernel,
            simt.subgroup_size = {lanes} : i32}} {{
          %lane = simt.lane_id : index
          %w = arith.constant {WIDTH} : i32
          %h = arith.constant {HEIGHT} : i32
          %pitch = arith.constant {PITCH} : i32
          {body}
          func.return
        }}"""
    for bits in SLOTS:
        text = text.replace(f"O{bits}", f"memref<{total * 8 // bits}xi{bits}>")
    return text


def run(
    text: str, arguments: list[Array], items: int, session: opencl.Session | None
) -> tuple[Array, ...]:
    """Run the emulated kernel of a module, and return its arrays."""
    if session is None:
        source = coopc.compile(text, "emulate-xe", "mlir").text
        module = parse(new_context(everything()), Source(source, "blocks"))
        simulate(module, "f", arguments, grid=(1, 1, 1))
        return tuple(arguments)
    target = "spirv-binary{device=intel-cpu}"
    binary = coopc.compile(text, "emulate-xe", target).bytes
    result = session.run(
        binary, "f", arguments, global_size=(items,), local_size=(items,)
    )
    return tuple(
        got.ravel().view(x.dtype)
        for got, x in zip(result.arrays, arguments, strict=True)
    )


def run_loads(lanes: int, session: opencl.Session | None) -> None:
    """Run the loads of a subgroup size at all places, and compare them."""
    random = np.random.default_rng(lanes)
    memory = random.integers(0, 120, (HEIGHT, PITCH)).astype(np.uint8)
    cases = [(x, at) for x in LOADS if x.lanes == lanes for at in PLACES]
    starts = np.cumsum([0, *(load.shape.bytes for load, _ in cases)])
    total = int(starts[-1])
    body = "\n".join(
        load_code(load, at, int(start), str(number))
        for number, ((load, at), start) in enumerate(zip(cases, starts, strict=False))
    )
    arguments: list[Array] = [memory.view(DTYPES[x]).copy() for x in MEMORIES]
    arguments += [
        np.zeros(total * 8 // bits, np.dtype(f"i{bits // 8}")) for bits in SLOTS
    ]
    found = run(kernel(body, lanes, total), arguments, lanes, session)
    outputs = dict(zip(SLOTS, found[len(MEMORIES) :], strict=True))
    for (load, at), start in zip(cases, starts, strict=False):
        got = outputs[slot_bits(load.shape, lanes)].view(np.uint8)
        wanted = loaded(load, memory, *at)
        assert np.array_equal(got[start : start + wanted.size], wanted), (load, at)


@pytest.mark.parametrize("lanes", [8, 16, 32])
def test_loads_simulated(lanes: int) -> None:
    run_loads(lanes, None)


@pytest.mark.parametrize("lanes", [8, 16, 32])
def test_loads_on_cpu(lanes: int, intel_cpu: opencl.Session) -> None:
    run_loads(lanes, intel_cpu)


def split_code(subgroups: int) -> str:
    """Return a kernel in which pairs of subgroups multiply by split DPAS."""
    lines = [
        "%lane = simt.lane_id : index",
        "%sub = simt.subgroup_id : index",
        "%c8 = arith.constant 8 : index",
        "%a_v = arith.constant dense<0> : vector<4xi32>",
        "%b_v = arith.constant dense<0> : vector<8xi32>",
        "%c = arith.constant dense<0> : vector<8xi32>",
    ]

    def at(row: str, rows: int, number: int) -> str:
        """Return where a row of a subgroup's lane is."""
        name = f"%{row}{number}"
        lines.append(f"{name}n = arith.constant {number} : index")
        lines.append(f"{name}r = arith.constant {rows} : index")
        lines.append(f"{name}s = arith.muli %sub, {name}r : index")
        lines.append(f"{name}t = arith.addi {name}s, {name}n : index")
        lines.append(f"{name}u = arith.muli {name}t, %c8 : index")
        lines.append(f"{name}i = arith.addi {name}u, %lane : index")
        return f"{name}i"

    for name, rows in (("a", 4), ("b", 8)):
        last = f"%{name}_v"
        type, memory = f"vector<{rows}xi32>", f"memref<{subgroups * rows * 8}xi32>"
        for number in range(rows):
            one, where = f"%{name}_{number}", at(name, rows, number)
            lines.append(f"{one} = memref.load %{name}[{where}] : {memory}")
            lines.append(
                f"{one}v = vector.insert {one}, {last}[{number}] : i32 into {type}"
            )
            last = f"{one}v"
    lines.append(
        "%d = xe.split_dpas s8 x u8 repeat 8 %a_3v, %b_7v, %c : "
        "vector<4xi32>, vector<8xi32>, vector<8xi32>"
    )
    for number in range(8):
        where = at("d", 8, number)
        lines.append(
            f"%e{number} = vector.extract %d[{number}] : i32 from vector<8xi32>"
        )
        lines.append(
            f"memref.store %e{number}, %o[{where}] : memref<{subgroups * 64}xi32>"
        )
    body = "\n".join(lines)
    return f"""
        func.func @f(%a: memref<{subgroups * 32}xi32>, %b: memref<{subgroups * 64}xi32>,
                     %o: memref<{subgroups * 64}xi32>)
            attributes {{simt.kernel, simt.subgroup_size = 8 : i32,
                         simt.work_group_size = array<i32: {8 * subgroups}>}} {{
          {body}
          func.return
        }}"""


def run_split(session: opencl.Session | None) -> None:
    """Multiply in three pairs, all halves of a and all of b different."""
    subgroups = 6
    random = np.random.default_rng(0)
    a = random.integers(-(2**31), 2**31, subgroups * 32).astype(np.int32)
    b = random.integers(-(2**31), 2**31, subgroups * 64).astype(np.int32)
    given = [a, b, np.zeros(subgroups * 64, np.int32)]
    *_, found = run(split_code(subgroups), given, 8 * subgroups, session)
    # Subgroups 2 i and 2 i + 1: 4 rows each make the 8 rows of both.
    left = a.view(np.int8).reshape(subgroups // 2, 8, 32).astype(np.int32)
    right = b.view(np.uint8).reshape(subgroups, 8, 8, 4).astype(np.int32)
    right = right.swapaxes(2, 3).reshape(subgroups, 32, 8)
    expected = np.repeat(left, 2, axis=0) @ right
    assert np.array_equal(found.reshape(expected.shape), expected)


def test_split_simulated() -> None:
    run_split(None)


def test_split_on_cpu(intel_cpu: opencl.Session) -> None:
    run_split(intel_cpu)


STORES = [
    (lanes, BlockShape(bits, 8, width), memory)
    for lanes in (8, 16, 32)
    for bits, width, memory in (
        (8, 64, "i8"),
        (16, 32, "bf16"),
        (16, 16, "i8"),
        (32, 16, "f16"),
        (64, 8, "i32"),
        (16, 16, "f32"),
    )
]


@pytest.mark.parametrize("place", [(-4, -2), (12, 30)])
def test_stores_simulated(place: tuple[int, int]) -> None:
    """What is stored is what the simulation of `xe` itself stores."""
    for lanes, shape, memory in STORES:
        bits = slot_bits(shape, lanes)
        slots = shape.bytes * 8 // bits // lanes
        each = min(slots, 8)
        vector = f"vector<{each}xi{bits}>"
        numbers = range(1, slots + 1)
        pieces = [numbers[n : n + each] for n in range(0, slots, each)]
        lines = [
            f"%v{n} = arith.constant dense<[{', '.join(map(str, piece))}]> : {vector}"
            for n, piece in enumerate(pieces)
        ]
        names = ", ".join(f"%v{n}" for n in range(len(pieces)))
        block = f"{shape.bits}, {shape.height}x{shape.width}x1"
        lines += [
            f"%x = arith.constant {place[0]} : i32",
            f"%y = arith.constant {place[1]} : i32",
            f"xe.block_store_2d {names} into %m_{memory}[%x, %y] surface(%w, %h, "
            f"%pitch) block <{block}> : {', '.join([vector] * len(pieces))} into "
            f"memref<{memory}>",
        ]
        text = kernel("\n".join(lines), lanes, 64)
        after: list[Array] = []
        for passes in ("", "emulate-xe"):
            source = coopc.compile(text, passes, "mlir").text
            module = parse(new_context(everything()), Source(source, "stores"))
            arguments: list[Array] = [
                np.zeros((HEIGHT, PITCH), np.uint8).view(DTYPES[x]) for x in MEMORIES
            ]
            arguments += [
                np.zeros(512 // bits, np.dtype(f"i{bits // 8}")) for bits in SLOTS
            ]
            simulate(module, "f", arguments, grid=(1, 1, 1))
            after.append(arguments[MEMORIES.index(memory)].view(np.uint8))
        assert after[0].any()
        assert np.array_equal(after[0], after[1]), (lanes, shape, memory)
