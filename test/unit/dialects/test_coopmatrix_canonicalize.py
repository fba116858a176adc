"""Canonical forms mean what the program meant: simulated before and after.

The programs are random chains of operations on matrices of awkward numbers and on fills
of awkward constants.  Programs that do what is undefined are not compared.
"""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.programs import kernel
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from coopc.sim.errors import UndefinedBehaviour
from coopc.sim.simulate import simulate

ROWS, COLS = 4, 3
NUMPY = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "f16": np.float16,
    "f32": np.float32,
}
CONSTANTS = {
    "i8": ("0", "1", "-1", "2", "3", "7", "-128", "127"),
    "i16": ("0", "1", "-1", "2", "15", "255", "300", "-32768"),
    "i32": ("0", "1", "-1", "2", "31", "65536", "-300", "-2147483648"),
    "f16": ("0.0", "-0.0", "1.0", "-2.5", "65504.0", "0.1", "0x7C00", "0x7E00"),
    "f32": ("0.0", "-0.0", "1.0", "-2.5", "3.0e38", "0.1", "0x7F800000", "0x7FC00000"),
}
INPUTS = {
    "f": (0.0, -0.0, 1.0, -1.5, 0.1, np.inf, -np.inf, np.nan, 300.0, 6e-8, 1e4, 7.0),
    "i": (0, 1, -1, 2, 3, 7, 31, 100, 127, -128, -100, 5),
}
BINARY = {
    "f": ("add", "sub", "mul", "div", "rem", "min", "max"),
    "i": tuple(
        [
            "add",
            "sub",
            "mul",
            "and",
            "or",
            "xor",
            "min",
            "max",
            "div",
            "rem",
            "shl",
            "shr",
        ]
        + [f"{op} signed" for op in ("div", "rem", "min", "max", "shr")]
    ),
}
UNARY = {"f": ("neg", "abs"), "i": ("neg", "abs", "not")}


def matrix(type: str) -> str:
    return f"!coopmatrix.matrix<{ROWS}x{COLS}x{type}, none>"


@dataclass
class Program:
    """The lines of a program, and the matrices in it, by the type of their elements."""

    lines: list[str] = field(default_factory=list[str])
    values: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, text: str, type: str, is_matrix: bool = True) -> str:
        """Append an operation and return its result."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        if is_matrix:
            self.values[type].append(name)
        return name

    def constant(self, number: str, type: str) -> str:
        return self.add(f"arith.constant {number} : {type}", type, is_matrix=False)

    def fill(self, number: str, source: str, type: str) -> str:
        scalar = self.constant(number, source)
        return self.add(f"coopmatrix.fill {scalar} : {source} -> {matrix(type)}", type)

    def binary(self, op: str, x: str, y: str, type: str) -> str:
        """Append an operation on two matrices, `div` or `div signed`."""
        return self.add(f"coopmatrix.{op} {x}, {y} : {matrix(type)}", type)

    def convert(self, x: str, source: str, type: str, signed: bool) -> None:
        """Convert; a float that becomes an integer is one that fits."""
        sign = "signed " if signed and "i" in source + type else ""
        if source[0] == "f" and type[0] == "i":
            low = self.fill("-100.0" if signed else "0.0", source, source)
            x = self.binary("max", x, low, source)
            x = self.binary("min", x, self.fill("100.0", source, source), source)
        text = f"{sign}{x} : {matrix(source)} -> {matrix(type)}"
        self.add(f"coopmatrix.convert {text}", type)

    def module(self) -> ModuleOp:
        """Return the program as a kernel that stores all matrices in it."""
        stores: list[str] = []
        for type, names in self.values.items():
            for number, name in enumerate(names):
                place = f"%{type}[%n{number * ROWS}, %n0] row_major"
                memory = memory_type(type, len(names))
                stores.append(
                    f"coopmatrix.store {name}, {place} : {matrix(type)}, {memory}"
                )
        most = max(map(len, self.values.values()))
        positions = [
            f"%n{row} = arith.constant {row} : index"
            for row in range(0, most * ROWS, ROWS)
        ]
        loads = [
            f"%{type}x = coopmatrix.load %{type}[%n0, %n0] row_major : "
            f"{memory_type(type, len(names))} -> {matrix(type)}"
            for type, names in self.values.items()
        ]
        arguments = ", ".join(
            f"%{type}: {memory_type(type, len(names))}"
            for type, names in self.values.items()
        )
        body = "\n  ".join([*positions, *loads, *self.lines, *stores])
        return kernel(arguments, body, lanes=4)

    def run(self, module: ModuleOp) -> list[NDArray[np.generic]]:
        """Return what a form of the program leaves in memory."""
        memory: list[NDArray[np.generic]] = []
        for type, names in self.values.items():
            rows = np.array(INPUTS[type[0]], np.float64).reshape(ROWS, COLS)
            with np.errstate(over="ignore"):
                memory.append(np.tile(rows, (len(names), 1)).astype(NUMPY[type]))
        simulate(module, "f", memory)
        return memory


def memory_type(type: str, matrices: int) -> str:
    return f"memref<{matrices * ROWS}x{COLS}x{type}>"


def add_operation(draw: st.DrawFn, program: Program) -> None:
    """Append one operation on matrices that there are."""
    type = draw(st.sampled_from(sorted(NUMPY)))
    x, y = (draw(st.sampled_from(program.values[type])) for _ in range(2))
    match draw(
        st.sampled_from(("fill", "binary", "unary", "convert", "bitcast", "scale"))
    ):
        case "fill":
            source = draw(
                st.sampled_from([name for name in NUMPY if name[0] == type[0]])
            )
            program.fill(draw(st.sampled_from(CONSTANTS[source])), source, type)
        case "binary":
            program.binary(draw(st.sampled_from(BINARY[type[0]])), x, y, type)
        case "unary":
            op = draw(st.sampled_from(UNARY[type[0]]))
            program.add(f"coopmatrix.{op} {x} : {matrix(type)}", type)
        case "convert":
            to = draw(st.sampled_from(sorted(NUMPY)))
            program.convert(x, type, to, draw(st.booleans()))
        case "bitcast":
            same = {"i16": "f16", "i32": "f32"}.get(type, type)
            text = f"coopmatrix.bitcast {x} : {matrix(type)} -> {matrix(same)}"
            program.add(text, same)
        case _:
            scalar = program.constant(draw(st.sampled_from(CONSTANTS[type])), type)
            program.add(
                f"coopmatrix.scale {x}, {scalar} : {matrix(type)}, {type}", type
            )


@st.composite
def programs(draw: st.DrawFn) -> Program:
    program = Program(values={type: [f"%{type}x"] for type in NUMPY})
    for _ in range(draw(st.integers(1, 12))):
        add_operation(draw, program)
    return program


@settings(max_examples=60)
@given(programs())
def test_same_numbers(program: Program) -> None:
    """Bytes are the same, but for those of NaN."""
    module = program.module()
    try:
        before = program.run(module)
    except UndefinedBehaviour:
        assume(False)
        return
    CanonicalizePass().apply(Context(), module)
    module.verify()
    for found, expected in zip(program.run(module), before, strict=True):
        np.testing.assert_array_equal(found, expected)
        numbers = ~np.isnan(expected)
        assert (np.signbit(found) == np.signbit(expected))[numbers].all()
