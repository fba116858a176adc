"""Emulated DPAS against numpy: every precision, repeat count and subgroup size.

On the driver every two of these are together in a case, with every accumulator;
`COOPC_EMULATE=all` runs all cases.  The simulator runs all of them.

Operands are in memory as matrices in row-major order, packed: lane l reads register i
at i S + l.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from support.dpas_words import product, some

import coopc
from coopc.compiler import new_context
from coopc.dialects import xe
from coopc.dialects.simt import bits_of
from coopc.dialects.xe import REPEAT_COUNTS, accumulators
from coopc.parsing import parse
from coopc.run import opencl
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array: TypeAlias = npt.NDArray[Any]
P = xe.Precision

INTEGERS = ((P.S8, P.U8), (P.S4, P.U4))
FLOATS = (P.F16, P.BF16, P.TF32)
PAIRS = [
    *((a, b) for group in INTEGERS for a in group for b in group),
    *((p, p) for p in FLOATS),
]
LANES = (8, 16, 32)
WORDS = 512
"""Of 32 bits, at which a case's operands begin: more than any of them has."""


@dataclass(frozen=True)
class Case:
    """A multiplication."""

    precisions: tuple[xe.Precision, xe.Precision]
    repeat: int
    lanes: int
    c: str

    @property
    def n(self) -> int:
        """Columns."""
        return min(self.lanes, 16)


def cases(lanes: int) -> Iterator[Case]:
    """Yield all multiplications of a subgroup size."""
    for pair in PAIRS:
        for repeat in REPEAT_COUNTS:
            for type in accumulators(pair[0]):
                if repeat * min(lanes, 16) >= lanes:
                    yield Case(pair, repeat, lanes, str(type))


def chosen(lanes: int) -> list[Case]:
    """Return those that a driver runs: a third, with every pair of properties."""
    if os.environ.get("COOPC_EMULATE") == "all":
        return list(cases(lanes))
    found: list[Case] = []
    for case in cases(lanes):
        # 32 lanes have no products of one row.
        sizes = LANES[:2] if case.repeat == 1 else LANES
        turn = PAIRS.index(case.precisions) + REPEAT_COUNTS.index(case.repeat)
        if sizes[turn % len(sizes)] == lanes:
            found.append(case)
    return found


def code(case: Case, number: int) -> str:
    """Return the operations of a case."""
    a, b, length = xe.operand_types(case.precisions[0], case.repeat, case.lanes, case.n)
    c_bits = 32 if "32" in case.c else 16
    c = f"vector<{length}xi{c_bits}>"
    lines: list[str] = []

    def at(name: str, register: int, bits: int) -> str:
        start = number * WORDS * 32 // bits + register * case.lanes
        place = f"%{name}{number}_{register}"
        lines.append(f"{place}c = arith.constant {start} : index")
        lines.append(f"{place}p = arith.addi %lane, {place}c : index")
        return f"{place}p"

    def read(name: str, bits: int, size: int) -> str:
        place = f"%{name}{number}"
        type = f"vector<{size}xi{bits}>"
        lines.append(f"{place}_v = arith.constant dense<0> : {type}")
        last = f"{place}_v"
        for register in range(size):
            where = at(name, register, bits)
            one = f"{place}_{register}"
            lines.append(f"{one} = memref.load %{name}_i{bits}[{where}] : M{bits}")
            into = f"{last}[{register}] : i{bits} into {type}"
            lines.append(f"{one}v = vector.insert {one}, {into}")
            last = f"{one}v"
        return last

    left = read("a", bits_of(a.get_element_type()), a.get_shape()[0])
    right = read("b", 32, b.get_shape()[0])
    bits = read("c", c_bits, length)
    real = f"vector<{length}x{case.c}>"
    is_float = case.c != "i32"
    if is_float:
        lines.append(f"%cf{number} = vector.bitcast {bits} : {c} to {real}")
        bits = f"%cf{number}"
    first, second = case.precisions
    lines.append(
        f"%d{number} = xe.dpas {first} x {second} repeat {case.repeat} {left}, {right},"
        f" {bits} : {a}, {b}, {real}"
    )
    result = f"%d{number}"
    if is_float:
        lines.append(f"%e{number} = vector.bitcast {result} : {real} to {c}")
        result = f"%e{number}"
    for register in range(length):
        where = at("d", register, c_bits)
        one = f"%d{number}_{register}"
        lines.append(
            f"{one} = vector.extract {result}[{register}] : i{c_bits} from {c}"
        )
        lines.append(f"memref.store {one}, %d_i{c_bits}[{where}] : M{c_bits}")
    return "\n".join(lines)


def program(all_cases: list[Case]) -> str:
    """Return a kernel of all cases; a, b, c and d each as i32 and as i16."""
    arguments = ", ".join(
        f"%{name}_i{bits}: M{bits}" for name in "abcd" for bits in (32, 16)
    )
    body = "\n".join(code(case, number) for number, case in enumerate(all_cases))
    text = f"""
        func.func @f({arguments}) attributes {{simt.kernel,
            simt.subgroup_size = {all_cases[0].lanes} : i32}} {{
          %lane = simt.lane_id : index
          {body}
          func.return
        }}"""
    for bits in (32, 16):
        size = len(all_cases) * WORDS * 32 // bits
        text = text.replace(f"M{bits}", f"memref<{size}xi{bits}>")
    return text


def operands(case: Case, random: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return the words of a, b and c."""
    a = some(random, case.precisions[0], case.repeat * 8)
    b = some(random, case.precisions[1], case.n * 8)
    element = {"f16": P.F16, "bf16": P.BF16, "f32": P.TF32, "i32": P.S8}[case.c]
    size = case.repeat * case.n
    words = size if case.c in ("f32", "i32") else size // 2
    return a, b, some(random, element, words)


def run_all(
    all_cases: list[Case], session: opencl.Session | None, passes: str = "emulate-xe"
) -> None:
    """Run cases on a device, or in the simulator, and compare them."""
    random = np.random.default_rng(len(all_cases))
    memory = np.zeros((4, len(all_cases), WORDS), np.int32)
    expected = np.zeros((len(all_cases), WORDS), np.int32)
    for number, case in enumerate(all_cases):
        found = operands(case, random)
        for array, words in zip(memory, found, strict=False):
            array[number, : words.size] = words
        shape = (case.repeat, case.n)
        words = product(case.precisions, shape, case.c, found)
        expected[number, : words.size] = words
    arguments = [each.ravel() for each in memory for _ in range(2)]
    arguments = [
        x.view(np.int16) if number % 2 else x for number, x in enumerate(arguments)
    ]
    # d as i32 and as i16 are two buffers on a device.
    arguments[-1] = arguments[-1].copy()
    if session is None:
        source = coopc.compile(program(all_cases), passes, "mlir").text
        module = parse(new_context(everything()), Source(source, "dpas"))
        simulate(module, "f", arguments, grid=(1, 1, 1))
        outputs = arguments[-2:]
    else:
        target = "spirv-binary{device=intel-cpu}"
        binary = coopc.compile(program(all_cases), passes, target).bytes
        lanes = (all_cases[0].lanes,)
        result = session.run(
            binary, "f", arguments, global_size=lanes, local_size=lanes
        )
        outputs = result.arrays[-2:]
    merged = outputs[0] | outputs[1].view(np.int32)
    for number, case in enumerate(all_cases):
        got = merged.reshape(expected.shape)[number]
        assert np.array_equal(got, expected[number]), case


@pytest.mark.parametrize("lanes", LANES)
def test_on_cpu(lanes: int, intel_cpu: opencl.Session) -> None:
    # The run-time takes more than twice as long to compile twice as many.
    some_of_all = chosen(lanes)
    for start in range(0, len(some_of_all), 16):
        run_all(some_of_all[start : start + 16], intel_cpu)


PAIRS_OF_PROPERTIES: tuple[Callable[[Case], object], ...] = (
    lambda x: (x.precisions, x.c, x.repeat),
    lambda x: (x.precisions, x.c, x.lanes),
    lambda x: (x.repeat, x.lanes),
)


def test_what_a_driver_runs() -> None:
    """Every two of precisions, repeat count and lanes, and every accumulator."""
    there = [case for lanes in LANES for case in cases(lanes)]
    run = [case for lanes in LANES for case in chosen(lanes)]
    for pair in PAIRS_OF_PROPERTIES:
        assert {pair(x) for x in there} == {pair(x) for x in run}


@pytest.mark.parametrize("lanes", LANES)
def test_simulated(lanes: int) -> None:
    # Some of each: the device runs all.
    run_all([x for n, x in enumerate(cases(lanes)) if n % 5 == 0], None)


@pytest.mark.parametrize("lanes", LANES)
def test_simulated_as_xe(lanes: int) -> None:
    run_all(list(cases(lanes)), None, "")
