"""Split DPAS against numpy: all of its forms, on pairs of subgroups of a work-group.

Every subgroup has its own half of a, its own b and its own c, so that halves in the
wrong order, or of the wrong partner, give wrong numbers; mistakes that are planted in
the emulation show that they do.
"""

import re
from itertools import product as pairs_of
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from support.dpas_words import product, some

import coopc
from coopc.compiler import new_context
from coopc.dialects import xe
from coopc.dialects.xe import SPLIT_REPEAT_COUNTS
from coopc.emit.xe import split_name
from coopc.parsing import parse
from coopc.run import opencl
from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate
from coopc.source import Source
from coopc.universe import everything

Array: TypeAlias = npt.NDArray[Any]
Precisions: TypeAlias = tuple[xe.Precision, xe.Precision]
P = xe.Precision

PAIRS: list[Precisions] = [
    *pairs_of((P.S8, P.U8), (P.S8, P.U8)),
    (P.F16, P.F16),
    (P.BF16, P.BF16),
]
FORMS = [(pair, repeat) for pair in PAIRS for repeat in SPLIT_REPEAT_COUNTS]
LANES = 8
SUBGROUPS = 6
"""Three pairs of each work-group."""
GROUPS = 2
WORDS = 64
"""Of an operand of a subgroup, at most."""

MISTAKES = {
    # Of 1 and 2, of 0 and 1, ...: whom bit 1, not bit 0, tells apart.
    "partners": (r"arith\.constant -2 : index", "arith.constant -3 : index"),
    "order of halves": (
        r"(%\d+) = arith\.addi (%3, )(%\d+) : index",
        r"%other = arith.subi %c1, \3 : index \n \1 = arith.addi \2%other : index",
    ),
    "one half twice": (
        r"(%\d+ = arith\.addi %3, )(%\d+) : index",
        r"\1%c0 : index",
    ),
}
"""What is replaced in the function that gathers the rows of a pair, by what."""


def code(number: int, form: tuple[Precisions, int]) -> str:
    """Return the operations of a form: operands from memory, the result into it."""
    (first, second), repeat = form
    bits = f"vector<{repeat}xi32>"
    real = f"vector<{repeat}x{'i32' if first.is_integer else 'f32'}>"
    lines: list[str] = []
    names: dict[str, str] = {}
    for name, size in (("a", repeat // 2), ("b", 8), ("c", repeat)):
        type = f"vector<{size}xi32>"
        names[name] = last = f"%{name}{number}"
        lines.append(f"{last}_at = arith.addi %start, %at{number} : index")
        lines.append(f"{last} = simt.block_read %{name}[{last}_at] : M -> {type}")
    if not first.is_integer:
        lines.append(f"%r{number} = vector.bitcast {names['c']} : {bits} to {real}")
        names["c"] = f"%r{number}"
    lines.append(
        f"%d{number} = xe.split_dpas {first} x {second} repeat {repeat} {names['a']}, "
        f"{names['b']}, {names['c']} : vector<{repeat // 2}xi32>, vector<8xi32>, {real}"
    )
    result = f"%d{number}"
    if not first.is_integer:
        lines.append(f"%e{number} = vector.bitcast {result} : {real} to {bits}")
        result = f"%e{number}"
    lines.append(f"simt.block_write {result}, %d[%c{number}_at] : {bits}, M")
    return f"%at{number} = arith.constant {number * WORDS} : index\n" + "\n".join(lines)


def program(forms: list[tuple[Precisions, int]], condition: str = "") -> str:
    """Return a kernel of some forms; a, b, c and d are words of all subgroups."""
    body = "\n".join(code(number, form) for number, form in enumerate(forms))
    if condition:
        body = f"{condition}\nscf.if %here {{\n{body}\n}}"
    size = GROUPS * SUBGROUPS * len(forms) * WORDS
    arguments = ", ".join(f"%{name}: M" for name in "abcd")
    text = f"""
        func.func @f({arguments}) attributes {{simt.kernel,
            simt.subgroup_size = {LANES} : i32,
            simt.work_group_size = array<i32: {LANES * SUBGROUPS}>}} {{
          %subgroup = simt.subgroup_id : index
          %group = simt.workgroup_id x : index
          %subgroups = arith.constant {SUBGROUPS} : index
          %each = arith.constant {len(forms) * WORDS} : index
          %before = arith.muli %group, %subgroups : index
          %number = arith.addi %before, %subgroup : index
          %start = arith.muli %number, %each : index
          {body}
          func.return
        }}"""
    return re.sub(r"\bM\b", f"memref<{size}xi32>", text)


def operands(forms: list[tuple[Precisions, int]]) -> tuple[Array, Array]:
    """Return a, b and c of each subgroup and form, and what d is to be."""
    random = np.random.default_rng(len(forms))
    shape = (GROUPS * SUBGROUPS, len(forms), WORDS)
    memory, expected = np.zeros((3, *shape), np.int32), np.zeros(shape, np.int32)
    for number, ((first, second), repeat) in enumerate(forms):
        half, size = repeat // 2 * LANES, repeat * LANES
        c_precision = first if first.is_integer else P.TF32
        for subgroup in range(GROUPS * SUBGROUPS):
            a, b, c = memory[:, subgroup, number]
            a[:half] = some(random, first, half)
            b[:] = some(random, second, WORDS)
            c[:size] = some(random, c_precision, size)
        for subgroup in range(GROUPS * SUBGROUPS):
            pair = subgroup // 2 * 2
            rows = memory[0, pair : pair + 2, number, :half].ravel()
            _, b, c = memory[:, subgroup, number]
            type = "i32" if first.is_integer else "f32"
            found = product((first, second), (repeat, 8), type, (rows, b, c[:size]))
            expected[subgroup, number, :size] = found
    return memory, expected


def on_cpu(
    forms: list[tuple[Precisions, int]], text: str, session: opencl.Session
) -> bool:
    """Run a program on a device, and return whether it gives what numpy does."""
    memory, expected = operands(forms)
    binary = coopc.compile(text, "", "spirv-binary{device=intel-cpu}").bytes
    work_items = LANES * SUBGROUPS
    arguments = [*(x.ravel() for x in memory), np.zeros(expected.size, np.int32)]
    result = session.run(
        binary,
        "f",
        arguments,
        global_size=(GROUPS * work_items,),
        local_size=(work_items,),
    )
    return np.array_equal(result.arrays[3], expected.ravel())


def emulated(forms: list[tuple[Precisions, int]]) -> str:
    """Return a program after the pass."""
    return coopc.compile(program(forms), "emulate-xe", "mlir").text


def test_these_are_all_forms() -> None:
    assert len({split_name(pair, repeat) for pair, repeat in FORMS}) == 18


@pytest.mark.parametrize("start", range(0, 18, 6))
def test_on_cpu(start: int, intel_cpu: opencl.Session) -> None:
    forms = FORMS[start : start + 6]
    assert on_cpu(forms, emulated(forms), intel_cpu)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_seen(name: str, intel_cpu: opencl.Session) -> None:
    wrong, right = MISTAKES[name]
    forms = [((P.S8, P.U8), 4)]
    text = emulated(forms)
    start = text.index("func.func private @xe_gather_2_rows")
    end = text.index("func.func private @xe_dpas", start)
    gather, count = re.subn(wrong, right, text[start:end])
    assert count == 1
    assert on_cpu(forms, text, intel_cpu)
    assert not on_cpu(forms, text[:start] + gather + text[end:], intel_cpu)


@pytest.mark.parametrize("passes", ["", "emulate-xe"])
def test_simulated(passes: str) -> None:
    memory, expected = operands(FORMS)
    found = np.zeros(expected.size, np.int32)
    run(program(FORMS), passes, [*(x.ravel() for x in memory), found])
    assert np.array_equal(found, expected.ravel())


def run(text: str, passes: str, arguments: list[Array]) -> None:
    """Simulate a program after some passes."""
    source = Source(coopc.compile(text, passes, "mlir").text, "split")
    module = parse(new_context(everything()), source)
    simulate(module, "f", arguments, grid=(GROUPS, 1, 1))


ONE_PAIR = """
    %two = arith.constant 2 : index
    %here = arith.cmpi ult, %subgroup, %two : index"""
ONE_OF_A_PAIR = """
    %two = arith.constant 2 : index
    %here = arith.cmpi ule, %subgroup, %two : index"""


def test_a_pair_needs_no_other() -> None:
    forms = FORMS[:1]
    memory, expected = operands(forms)
    found = np.zeros(expected.size, np.int32)
    run(program(forms, ONE_PAIR), "", [*(x.ravel() for x in memory), found])
    here = expected.reshape(GROUPS, SUBGROUPS, -1).copy()
    here[:, 2:] = 0
    assert np.array_equal(found, here.ravel())


def test_one_of_a_pair_cannot() -> None:
    forms = FORMS[:1]
    memory, expected = operands(forms)
    found = np.zeros(expected.size, np.int32)
    with pytest.raises(UndefinedBehaviour, match="got one of 2 and 3"):
        run(program(forms, ONE_OF_A_PAIR), "", [*(x.ravel() for x in memory), found])


@pytest.mark.parametrize(
    ("lanes", "work_items", "message"),
    [(16, 64, "subgroups of 8 lanes"), (8, 24, "pairs of subgroups for split DPAS")],
)
def test_pairs_are_of_eight_lanes(lanes: int, work_items: int, message: str) -> None:
    # Of a kernel that does not say how many lanes it has, whoever starts it decides.
    text = program(FORMS[:1]).replace(
        f"array<i32: {LANES * SUBGROUPS}>", f"array<i32: {work_items}>"
    )
    text = text.replace(f"simt.subgroup_size = {LANES} : i32,", "")
    arguments = [np.zeros(GROUPS * SUBGROUPS * WORDS, np.int32) for _ in range(4)]
    module = parse(new_context(everything()), Source(text, "split"))
    with pytest.raises(UndefinedBehaviour, match=message):
        simulate(module, "f", arguments, grid=(GROUPS,), subgroup_size=lanes)
