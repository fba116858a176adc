"""LLVM IR for x86-64, compiled by LLVM in the process and run.

What is run is what both flavours of SPIR-V run: the tests of emission in test/unit/emit
that need no work-items, with another runner.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

import coopc
from coopc.interface import Interface
from coopc.interface_call import Given, pack
from coopc.rounding import FORMATS
from coopc.run.native import Native

llvm = pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

Array: TypeAlias = npt.NDArray[Any]

NUMPY = {
    **{"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32},
    **{"i64": np.int64, "f16": np.float16, "bf16": np.uint16},
    **{"f32": np.float32, "f64": np.float64},
}


def verified(text: str) -> Any:
    """The module of a text, which LLVM has checked."""
    module = llvm.parse_assembly(text)
    module.verify()
    return module


def emitted(text: str) -> str:
    """LLVM IR for x86-64 of some IR."""
    return coopc.compile(text, "", "llvm-ir{device=amx}").text


def call(text: str, name: str, arguments: Sequence[Any], level: int = 2) -> None:
    """Compile LLVM IR, and call a function with arrays and numpy scalars."""
    Native.compile(text, level=level).call(name, arguments)


LOOP = """
func.func @k({arguments}, %size: index) attributes {{simt.kernel}} {{
  %zero_ = arith.constant 0 : index
  %one_ = arith.constant 1 : index
  scf.for %i = %zero_ to %size step %one_ {{
{body}
  }}
  func.return
}}
"""


@dataclass(frozen=True)
class Runner:
    """What the tests of emission run kernels with: see test/unit/emit/conftest.py."""

    flavour: str = "opencl"

    def run(
        self,
        text: str,
        arguments: Sequence[Given],
        groups: tuple[int, int, int] | None = None,
        pipeline: str = "",
    ) -> tuple[Array, ...]:
        """Compile the one kernel in some IR, run it, and return its arrays.

        A kernel of 16 work-items along x is called 16 times.
        """
        assert not pipeline
        text, items = alone(text)
        described = json.loads(
            coopc.compile(text, "", "abi-json{device=intel-cpu}").text
        )
        (interface,) = map(Interface.from_json, described["kernels"])
        compiled = emitted(text)
        extra = [0] if items > 1 else []
        packed = pack(interface, [*arguments, *extra], (1, 1, 1))
        given: list[Any] = [
            each.copy() if isinstance(each, np.ndarray) else each
            for each in packed.opencl_arguments
        ]
        for item in range(items):
            if items > 1:
                given[-1] = np.int64(item)
            call(compiled, interface.name, given)
        arrays: list[Array] = [x for x in given if isinstance(x, np.ndarray)]
        return packed.unpack(arrays)

    def elementwise(
        self,
        bodies: Mapping[str, tuple[str, str]],
        types: Sequence[str],
        arrays: Sequence[Array],
    ) -> dict[str, Array]:
        """Run bodies once an element, all in one loop."""
        names = "abcdefg"[: len(types)]
        given = [f"%m{n}: memref<?x{t}>" for n, t in zip(names, types, strict=True)]
        lines = [
            f"%{n} = memref.load %m{n}[%i] : memref<?x{t}>"
            for n, t in zip(names, types, strict=True)
        ]
        for number, (out, body) in enumerate(bodies.values()):
            given.append(f"%o{number}: memref<?x{out}>")
            lines.append(f"%r{number} = scf.execute_region -> {out} {{")
            lines.append(f"{body}\n scf.yield %r : {out}\n}}")
            lines.append(f"memref.store %r{number}, %o{number}[%i] : memref<?x{out}>")
        text = LOOP.format(arguments=", ".join(given), body="\n".join(lines))
        size = arrays[0].size
        results = [np.zeros(size, NUMPY[out]) for out, _ in bodies.values()]
        found = self.run(text, [*arrays, *results, size])
        return dict(zip(bodies, found[len(types) :], strict=True))


def alone(text: str) -> tuple[str, int]:
    """A kernel of work-items along x as one of an index, and their number."""
    found = re.search(r", simt.work_group_size = array<i32: (\d+)>", text)
    if found is None:
        return text, 1
    text = text.replace(found[0], "").replace("%i = simt.local_id x : index", "")
    head, _, tail = text.rpartition(")\n    attributes {simt.kernel")
    return f"{head}, %i: index)\n    attributes {{simt.kernel{tail}", int(found[1])


@pytest.fixture
def runner() -> Runner:
    """In place of the flavours of SPIR-V."""
    return Runner()


EMIT = Path(__file__).parent

NOT_HERE = {
    "test_allocations": "has work-group memory",
    "test_barriers_order_buffers": "has barriers",
    "test_ids": "has work-items",
    "test_lanes": "has lanes",
    "test_lanes_exchange_vectors": "has lanes",
    "test_views_of_bytes": "has work-group memory",
    "test_blocks": "has lanes",
    "test_resize": "expects a refusal of SPIR-V's",
}


def loaded(name: str) -> ModuleType:
    spec = spec_from_file_location(f"emit_for_llvm_{name}", EMIT / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


for _stem in ("integers", "floats", "casts", "control", "math", "memory", "vector"):
    for _name, _value in vars(loaded(f"test_{_stem}")).items():
        if _name.startswith("test_") and _name not in NOT_HERE:
            assert _name not in globals(), _name
            globals()[_name] = _value


@pytest.mark.parametrize(
    ("stem", "device"),
    [
        ("llvm_x86", "amx"),
        ("llvm_amx", "amx"),
        ("llvm_spir64", "bmg"),
        ("arith", "bmg"),
    ],
)
def test_llvm_takes_the_goldens(stem: str, device: str) -> None:
    text = (EMIT.parents[1] / "emit" / f"{stem}.mlir").read_text()
    found = coopc.compile(text, "", f"llvm-ir{{device={device}}}").text
    assert str(verified(found)).count("define ") == found.count("\ndefine ")


def test_wide_numbers_round_once(runner: Runner) -> None:
    """Just beside ties of the narrow format, where rounding to f32 first is wrong."""
    random = np.random.default_rng(0)
    near = 1 + random.integers(0, 1 << 11, 500) / 2**11
    x = near * 2.0 ** random.integers(-30, 20, 500) + random.choice([0, 1e-12], 500)
    n = random.integers(-(1 << 31), 1 << 31, 500).astype(np.int32)
    bodies = {
        "f16": ("f16", "%r = arith.truncf %a : f64 to f16"),
        "bf16": ("bf16", "%r = arith.truncf %a : f64 to bf16"),
        "whole": ("bf16", "%r = arith.sitofp %b : i32 to bf16"),
    }
    found = runner.elementwise(bodies, ["f64", "i32"], [x, n])
    for name, format, given in (("bf16", "bf16", x), ("whole", "bf16", n)):
        rounded = [FORMATS[format].round(each) for each in given.tolist()]
        bits = (np.array(rounded, np.float32).view(np.uint32) >> 16).astype(np.uint16)
        np.testing.assert_array_equal(found[name], bits, name)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found["f16"], x.astype(np.float16))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_blocks_and_branches(n: int) -> None:
    """A loop of blocks, a switch, and two branches to one block."""
    text = """
    func.func @f(%n: index, %x: memref<3xi32>) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %first = arith.constant 1 : i32
      %three = arith.constant 3 : i32
      cf.br ^loop(%zero, %first : index, i32)
    ^loop(%i: index, %p: i32):
      %more = arith.cmpi slt, %i, %n : index
      cf.cond_br %more, ^body, ^done(%p : i32)
    ^body:
      %q = arith.muli %p, %three : i32
      %j = arith.addi %i, %one : index
      cf.br ^loop(%j, %q : index, i32)
    ^done(%r: i32):
      memref.store %r, %x[%zero] : memref<3xi32>
      %odd = arith.cmpi eq, %n, %one : index
      cf.cond_br %odd, ^join(%first : i32), ^join(%three : i32)
    ^join(%s: i32):
      memref.store %s, %x[%one] : memref<3xi32>
      cf.switch %s : i32, [
        default: ^end(%s : i32),
        1: ^end(%r : i32),
        3: ^end(%first : i32)
      ]
    ^end(%t: i32):
      memref.store %t, %x[%two] : memref<3xi32>
      func.return
    }"""
    found = np.zeros(3, np.int32)
    ir = emitted(text)
    verified(ir)
    call(ir, "f", [np.int64(n), found])
    expected = [3**n, 1 if n == 1 else 3, 3**n if n == 1 else 1]
    np.testing.assert_array_equal(found, expected)


NARROWED = (
    *(("i64", to) for to in ("i32", "i16", "i8")),
    *(("i32", to) for to in ("i16", "i8")),
    ("i16", "i8"),
    *(("f32", to) for to in ("bf16", "f16")),
    ("f64", "f32"),
)
"""What is stored, from wider numbers."""


def test_masked_stores_of_narrowed_numbers() -> None:
    """Only what a mask chooses is stored: one component, too, and constant masks."""
    lanes = 16
    masks = [[n] for n in (0, 1, lanes - 1)] + [[0, 1], [*range(1, lanes)], []]
    size = f"{len(masks)}x{lanes}"
    text = ""
    for wide, narrow in NARROWED:
        narrowed = "arith.trunci" if wide[0] == "i" else "arith.truncf"
        text += f"""
        func.func @{wide}_{narrow}(%in: memref<{size}x{wide}>,
                                   %out: memref<{size}x{narrow}>) {{
          %zero = arith.constant 0 : index"""
        for at, mask in enumerate(masks):
            bits = ", ".join(str(lane in mask).lower() for lane in range(lanes))
            text += f"""
          %mask{at} = arith.constant dense<[{bits}]> : vector<{lanes}xi1>
          %at{at} = arith.constant {at} : index
          %x{at} = vector.load %in[%at{at}, %zero]
            : memref<{size}x{wide}>, vector<{lanes}x{wide}>
          %y{at} = {narrowed} %x{at}
            : vector<{lanes}x{wide}> to vector<{lanes}x{narrow}>
          vector.maskedstore %out[%at{at}, %zero], %mask{at}, %y{at}
            : memref<{size}x{narrow}>, vector<{lanes}xi1>, vector<{lanes}x{narrow}>"""
        text += "\n          func.return\n        }"
    code = Native.compile(emitted(text))
    for wide, narrow in NARROWED:
        numbers = np.arange(1, 1 + len(masks) * lanes).reshape(len(masks), lanes)
        given = numbers.astype(NUMPY[wide])
        stored = given.astype(NUMPY[narrow])
        if narrow == "bf16":
            stored = (given.view(np.uint32) >> 16).astype(np.uint16)
        expected = np.full(stored.shape, 99, stored.dtype)
        found = expected.copy()
        for row, mask in enumerate(masks):
            expected[row, mask] = stored[row, mask]
        code.call(f"{wide}_{narrow}", [given, found])
        np.testing.assert_array_equal(found, expected, f"{wide} as {narrow}")


def test_stores_of_narrowed_numbers_in_a_loop() -> None:
    """Of which LLVM makes masked stores of one component each."""
    text = """
    func.func @f(%in: memref<64xi32>, %out: memref<64xi8>) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %three = arith.constant 3 : index
      %last = arith.constant 15 : index
      %end = arith.constant 64 : index
      scf.for %i = %zero to %end step %one {
        %x = memref.load %in[%i] : memref<64xi32>
        %y = arith.trunci %x : i32 to i8
        %rest = arith.andi %i, %last : index
        %chosen = arith.cmpi eq, %rest, %three : index
        scf.if %chosen {
          memref.store %y, %out[%i] : memref<64xi8>
        }
      }
      func.return
    }"""
    found, given = np.full(64, 99, np.int8), np.arange(64, dtype=np.int32)
    call(emitted(text), "f", [given, found], level=3)
    np.testing.assert_array_equal(found, np.where(given % 16 == 3, given, 99))
