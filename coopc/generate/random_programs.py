"""Random kernels of coopmatrix that are legal in the dialect, each from a seed.

A program is built around a few of the `AXES`: types and uses, scopes, orders in memory,
pointees that are not the component, sizes that no tile divides, names for sizes,
scopes, uses and layouts, conditions, accesses to elements, and matrices through every
kind of control flow.
Its result depends on no element's owner.  Numbers are small integers, so that most
results are exact; the simulator bounds the errors of the others.

Each axis is drawn with the same probability.  A program is drawn for no device, or for
one: then it has only element types of that device.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects import affine, func, llvm, memref, scf, ub, vector
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Dialect
from xdsl.parser import Parser

from coopc.device import Device
from coopc.dialects.coopmatrix import Coopmatrix
from coopc.dialects.layout import Layout
from coopc.dialects.math_forms import Math
from coopc.dialects.row_slice import RowSlice
from coopc.dialects.shaped_arith import Arith
from coopc.dialects.simt import Simt
from coopc.interface_call import element_strides, strided_zeros
from coopc.run.arguments import encode
from coopc.sim.simulate import SIMULATED_SUBGROUP_SIZE, simulate
from coopc.sim.tracked import Inputs
from coopc.validate.compare import compare

Array: TypeAlias = npt.NDArray[Any]

DIALECTS = (
    Builtin,
    affine.Affine,
    Arith,
    func.Func,
    llvm.LLVM,
    Math,
    memref.MemRef,
    scf.Scf,
    ub.UB,
    vector.Vector,
    Coopmatrix,
    Layout,
    RowSlice,
    Simt,
)
"""What programs may use."""


def module_of(text: str, *more: Dialect) -> ModuleOp:
    """Return the verified module that a text is, which may use more dialects."""
    context = Context()
    for dialect in (*DIALECTS, *more):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


AXES = (
    "product",
    "elementwise",
    "convert",
    "reduce",
    "apply",
    "elements",
    "atomic",
    "for",
    "if",
    "while",
    "call",
    "select",
    "ragged",
    "checked",
    "columns",
    "offset",
    "vectors",
    "pointee",
    "work-group",
    "named",
    "condition",
    "use",
    "type",
    "barrier",
)
"""What a program may be about."""
BITS = {
    **{"f16": 16, "bf16": 16, "f32": 32, "f64": 64},
    **{f"i{bits}": bits for bits in (8, 16, 32, 64)},
}
ARITHMETIC = ("add", "sub", "mul", "min", "max", "neg", "abs", "scale", "div", "rem")
BITWISE = ("and", "or", "xor", "not", "shl", "shr")
"""Of integers alone."""
USES = ("a", "b", "acc", "none")
WHOLE = (8, 16, 32)
"""Sizes that devices multiply."""
PRODUCTS = (
    ("f16", "f32"),
    ("f16", "f16"),
    ("bf16", "f32"),
    ("i8", "i32"),
    ("f32", "f32"),
    ("f64", "f64"),
    ("i16", "i32"),
)
"""Types of A and B, and of C."""
MAY_BE_ABSENT = frozenset({"vectors", "pointee"})
"""Axes that other axes, or the type of the elements, can leave without effect."""


class RandomProduct(NamedTuple):
    """A matrix product of a program, M x N x K; its integers are signed."""

    m: int
    n: int
    k: int
    factor: str
    """The element type of A and B."""
    sum: str
    """The element type of C and of the result."""
    scope: str
    """The default, where it has a name."""
    named: bool = False
    """Whether its sizes have names, so that it cannot be cut."""


@dataclass(frozen=True)
class RandomProgram:
    """A kernel @k, and what it is called with."""

    text: str
    arrays: tuple[Array, ...]
    axes: frozenset[str]
    """Those that had an effect."""
    products: tuple[RandomProduct, ...] = ()
    grid: tuple[int, int, int] = (1, 1, 1)
    """Work-groups along x, y, z."""

    def copies(self) -> list[Array]:
        """Return the arrays, to be changed in place: with the same strides."""
        found: list[Array] = []
        for array in self.arrays:
            strides = element_strides(array)
            assert strides is not None, array.strides
            found.append(strided_zeros(array.shape, strides, array.dtype))
            found[-1][...] = array
        return found

    def difference(
        self, found: Sequence[Array], lanes: int | None = None
    ) -> str | None:
        """Return how the arrays after a run differ from the simulator's, or None."""
        expected = self.copies()
        run = simulate(
            module_of(self.text),
            "k",
            expected,
            subgroup_size=lanes or SIMULATED_SUBGROUP_SIZE,
            track=Inputs.EXACT,
        )
        for n, (x, y) in enumerate(zip(found, expected, strict=True)):
            bound = run.errors[n]
            memory = self.text.split(f"%m{n}: ")[1].split(">")[0]
            element = re.split("[x<]", memory.partition(",")[0])[-1]
            both = None if bound is None else 2 * bound
            if not (compared := compare(x, y, bound=both, element=element)).ok:
                return f"argument {n}: {compared}"
        return None


@dataclass(frozen=True)
class Matrix:
    name: str
    rows: int
    cols: int
    element: str
    use: str = "acc"
    scope: str = "subgroup"
    names: tuple[str, str] | None = None
    """Its sizes as text, where one has a name."""
    use_name: str = ""
    """` = @U` where the use has a name."""

    @property
    def type(self) -> str:
        scope = "" if self.scope == "subgroup" else f", scope = {self.scope}"
        size = f"{self.rows}x{self.cols}x"
        if self.names is not None:
            size = "{} x {} x ".format(*self.names)
        use = self.use + self.use_name
        return f"!coopmatrix.matrix<{size}{self.element}, {use}{scope}>"

    @property
    def is_float(self) -> bool:
        return "f" in self.element


def random_program(seed: int, device: Device | None = None) -> RandomProgram:
    """Return the program of a seed, drawn for a device or for none.

    A device that has all types draws the same programs as none.
    """
    types = tuple(BITS) if device is None else element_types(device)
    return ProgramWriter(np.random.default_rng(seed), types).program()


def element_types(device: Device) -> tuple[str, ...]:
    """Return the types that programs for a device have; bf16 is at least memory.

    >>> from coopc.device import device
    >>> element_types(device("dg2"))
    ('f16', 'bf16', 'f32', 'i8', 'i16', 'i32', 'i64')
    """
    known = {"bf16", "f32", "i32", *device.scalars}
    return tuple(name for name in BITS if name in known)


def contents(
    random: np.random.Generator, shape: tuple[int, ...], element: str
) -> Array:
    return encode(random.integers(-2, 4, shape), element)


@dataclass
class ProgramWriter:
    random: np.random.Generator
    types: tuple[str, ...]
    """Of elements, those that may be drawn, in the order of `BITS`."""
    lines: list[str] = field(default_factory=list[str])
    functions: list[str] = field(default_factory=list[str])
    arguments: list[str] = field(default_factory=list[str])
    arrays: list[Array] = field(default_factory=list[Array])
    attributes: list[str] = field(default_factory=list[str])
    products: list[RandomProduct] = field(default_factory=list[RandomProduct])
    effective: set[str] = field(default_factory=set[str])
    """Which of the axes that may be absent are not."""
    constants: dict[str, int] = field(default_factory=dict[str, int])
    """What has a name: the sizes M, N and K, the scope S, the use U, the layout L."""
    count: int = 0

    def program(self) -> RandomProgram:
        number = int(self.random.integers(1, 5))
        self.axes = set(map(str, self.random.choice(AXES, number, replace=False)))
        self.scope = "workgroup" if "work-group" in self.axes else "subgroup"
        element = self.element()
        rows, cols = self.size(), self.size()
        base = Matrix("", rows, cols, element, self.use(), self.scope)
        found = self.load(self.named(base) if "named" in self.axes else base)
        if "product" in self.axes:
            found = self.product(found)
        for name in ("elementwise", "convert", "use", "reduce", "apply", "elements"):
            if name in self.axes:
                found = self.operation(name, found)
        for name in ("for", "if", "while", "call", "select"):
            if name in self.axes:
                found = self.flow(name, found)
        if "atomic" in self.axes:
            self.atomic(found)
        if "barrier" in self.axes:
            self.lines.append("simt.barrier workgroup")
        self.store(found)
        return self.finished()

    def finished(self) -> RandomProgram:
        body = "\n  ".join(self.lines)
        constants = "".join(
            f"coopmatrix.spec_constant @{name} = {value} : i32\n"
            for name, value in self.constants.items()
        )
        numbers = "\n  ".join(
            f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4)
        )
        extra = "".join(f", {each}" for each in self.attributes)
        dynamic = sum(text.count("?") for text in self.arguments)
        sizes = ", ".join(f"s{n}" for n in range(dynamic))
        text = (
            f"{constants}"
            f"func.func @k({', '.join(self.arguments)}) attributes {{simt.kernel, "
            f"simt.grid = affine_map<({sizes}) -> (1)>{extra}}} {{\n  {numbers}\n"
            f"  {body}\n  func.return\n}}\n" + "".join(self.functions)
        )
        absent = MAY_BE_ABSENT - self.effective
        axes = frozenset(self.axes - absent)
        return RandomProgram(text, tuple(self.arrays), axes, tuple(self.products))

    def named(self, x: Matrix) -> Matrix:
        """Give names to the sizes of a matrix, and to something else."""
        self.constants = {"M": x.rows, "N": x.cols}
        what = self.one_of(("sizes", "scope", "use", "layout"))
        if what == "scope" and self.scope == "subgroup":
            self.constants["S"], self.scope = 3, "@S"
        elif what == "use" and x.use != "none":
            self.constants["U"] = USES.index(x.use)
            x = replace(x, use_name=" = @U")
        elif what == "layout" and not self.axes & {"checked", "vectors", "pointee"}:
            self.constants["L"] = int("columns" in self.axes)
        return replace(x, names=("@M", "@N"), scope=self.scope)

    def one_of(self, values: Any) -> Any:
        return values[int(self.random.integers(len(values)))]

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def element(self) -> str:
        if "type" in self.axes:
            return self.one_of(self.types)
        common = ("f16", "f32", "i8", "i32")
        return self.one_of([name for name in common if name in self.types])

    def use(self) -> str:
        return self.one_of(USES) if "use" in self.axes else "acc"

    def size(self) -> int:
        if "ragged" in self.axes:
            return int(self.random.integers(1, 25))
        return self.one_of(WHOLE)

    def memory(self, matrix: Matrix) -> tuple[str, str, str]:
        """Add a memref that a matrix fits into; return its name, type and access."""
        order = "col_major" if "columns" in self.axes else "row_major"
        shape = (matrix.rows, matrix.cols)
        rows, cols = shape[::-1] if order == "col_major" else shape
        row = col = 0
        if "offset" in self.axes:
            row, col = map(int, self.random.integers(0, 4, 2))
        pointee, width = self.pointee(matrix.element, cols)
        cols //= width
        checked = ""
        if "checked" in self.axes:
            axes = ["rows", "cols"] if self.random.integers(2) else ["rows"]
            short = int(self.random.integers(0, 3))
            checked = f" checked({', '.join(axes)})"
            if order == "row_major" or "cols" in axes:
                rows = max(1, rows - short)
        more = int(self.random.integers(0, 2))
        dims = (rows + row, cols + col + more)
        if "condition" in self.axes:
            text = f"memref<?x?x{pointee}>"
            argument = len(self.arguments)
            self.condition(argument, dims[0])
        else:
            text = f"memref<{dims[0]}x{dims[1]}x{pointee}>"
        name = f"%m{len(self.arguments)}"
        self.arguments.append(f"{name}: {text}")
        inner = (width,) if pointee.startswith("vector") else ()
        of = matrix.element if inner or width == 1 else pointee
        array = contents(self.random, (*dims, *inner), of)
        if not inner and width > 1:
            # What other types see in these bits are small numbers again.
            own = contents(self.random, (dims[0], dims[1] * width), matrix.element)
            array = own.view(array.dtype)
        self.arrays.append(array)
        layout = " = @L" if "L" in self.constants else ""
        return name, text, f"{name}[%c{row}, %c{col}] {order}{layout}{checked}"

    def condition(self, argument: int, rows: int) -> None:
        step = next(n for n in (8, 4, 2, 1) if rows % n == 0)
        text = (
            f'{{argument = {argument} : i64, what = "size", dimension = 0 : i64, '
            f'multiple_of = {step} : i64, why = "rows"}}'
        )
        known = [x for x in self.attributes if x.startswith("simt.conditions")]
        if known:
            self.attributes.remove(known[0])
            text = known[0].removeprefix("simt.conditions = [")[:-1] + ", " + text
        self.attributes.append(f"simt.conditions = [{text}]")

    def pointee(self, element: str, cols: int) -> tuple[str, int]:
        """Choose the type of memory, and how many elements are in one of it."""
        axis, pointee, width = "", element, 1
        if "checked" in self.axes:
            pass  # memory has the elements of the matrix
        elif "vectors" in self.axes:
            axis, pointee, width = "vectors", f"vector<4x{element}>", 4
        elif "pointee" in self.axes:
            wider = [x for x in self.types if BITS[x] > BITS[element] and x != "bf16"]
            if wider:
                axis, pointee = "pointee", self.one_of(wider)
                width = BITS[pointee] // BITS[element]
        if width == 1 or cols % width:
            return element, 1
        self.effective.add(axis)
        return pointee, width

    def load(self, matrix: Matrix) -> Matrix:
        _, text, access = self.memory(matrix)
        return self.put(f"coopmatrix.load {access} : {text} -> {matrix.type}", matrix)

    def put(self, text: str, like: Matrix) -> Matrix:
        """Add an operation with one result, which is like another matrix."""
        found = replace(like, name=self.fresh())
        self.lines.append(f"{found.name} = {text}")
        return found

    def store(self, matrix: Matrix) -> None:
        _, text, access = self.memory(matrix)
        self.lines.append(
            f"coopmatrix.store {matrix.name}, {access} : {matrix.type}, {text}"
        )

    def product(self, given: Matrix) -> Matrix:
        listed = [pair for pair in PRODUCTS if {*pair} <= {*self.types}]
        types, result = self.one_of(listed)
        m, n, k, scope = given.rows, given.cols, self.size(), self.scope
        names: list[tuple[str, str] | None] = [None] * 3
        if given.names is not None:
            names = [("@M", "@K"), ("@K", "@N"), ("@M", "@N")]
            self.constants["K"] = k
        a = self.load(Matrix("", m, k, types, "a", scope, names[0]))
        b = self.load(Matrix("", k, n, types, "b", scope, names[1]))
        c = self.load(Matrix("", m, n, result, "acc", scope, names[2]))
        held = "subgroup" if scope == "@S" else scope
        is_named = given.names is not None
        self.products.append(RandomProduct(m, n, k, types, result, held, is_named))
        signed = " signed(a, b, c, result)" if types.startswith("i") else ""
        text = f"{a.type}, {b.type}, {c.type}"
        return self.put(
            f"coopmatrix.mul_add {a.name}, {b.name}, {c.name}{signed} : {text}", c
        )

    def operation(self, name: str, x: Matrix) -> Matrix:
        match name:
            case "elementwise":
                return self.elementwise(x)
            case "convert":
                to = self.one_of([e for e in self.types if e != x.element])
                y = replace(x, name="", element=to)
                word = "" if x.is_float and y.is_float else "signed "
                text = f"coopmatrix.convert {word}{x.name} : {x.type} -> {y.type}"
                return self.put(text, y)
            case "use":
                use = self.one_of([u for u in USES if u != x.use])
                y = replace(x, name="", use=use, use_name="")
                text = f"coopmatrix.convert {x.name} : {x.type} -> {y.type}"
                return self.put(text, y)
            case "reduce":
                axis, kind = self.one_of(("rows", "cols")), self.one_of(("add", "max"))
                rows, cols = (x.rows, 1) if axis == "rows" else (1, x.cols)
                y = replace(x, name="", rows=rows, cols=cols)
                if x.names is not None:
                    m, n = x.names
                    y = replace(y, names=(m, "1") if axis == "rows" else ("1", n))
                word = "" if x.is_float or kind == "add" else "signed "
                text = f"coopmatrix.reduce {kind} {axis} {word}{x.name}"
                return self.put(f"{text} : {x.type} -> {y.type}", y)
            case "apply":
                return self.apply(x)
            case "elements":
                return self.elements(x)
            case _:
                return x

    def elementwise(self, x: Matrix) -> Matrix:
        kind = self.one_of(ARITHMETIC if x.is_float else (*ARITHMETIC, *BITWISE))
        if kind in ("neg", "abs", "not"):
            return self.put(f"coopmatrix.{kind} {x.name} : {x.type}", x)
        number = self.fresh()
        value = f"{float(2)}" if x.is_float else "2"
        self.lines.append(f"{number} = arith.constant {value} : {x.element}")
        if kind == "scale":
            text = f"coopmatrix.scale {x.name}, {number} : {x.type}, {x.element}"
            return self.put(text, x)
        other = x
        if kind in ("div", "rem", "shl", "shr", "min", "sub", "xor"):
            fill = f"coopmatrix.fill {number} : {x.element} -> {x.type}"
            other = self.put(fill, x)
        needs = kind in ("div", "rem", "shr", "min", "max") and not x.is_float
        word = "signed " if needs else ""
        return self.put(f"coopmatrix.{kind} {word}{x.name}, {other.name} : {x.type}", x)

    def block(self, text: str, like: Matrix) -> Matrix:
        """Add operations of which %out is like another matrix.

        Values whose names are letters alone get new names.
        """
        self.count += 1
        named = re.sub(r"%([a-z]+)\b", rf"%\g<1>{self.count}", text)
        self.lines += named.splitlines()
        return replace(like, name=f"%out{self.count}")

    def apply(self, x: Matrix) -> Matrix:
        """Change each element by where it is."""
        add = "addf" if x.is_float else "addi"
        return self.block(
            f"""\
%out = coopmatrix.apply (%i, %j, %v) in {x.name} : {x.type} {{
  %near = arith.cmpi ule, %i, %j : index
  %twice = arith.{add} %v, %v : {x.element}
  %new = arith.select %near, %twice, %v : {x.element}
  coopmatrix.yield %new : {x.element}
}}""",
            x,
        )

    def elements(self, x: Matrix) -> Matrix:
        """Change the elements that each work-item owns, by where they are."""
        add = "addf" if x.is_float else "addi"
        return self.block(
            f"""\
%length = coopmatrix.length {x.type} : index
%out = scf.for %slot = %c0 to %length step %c1
    iter_args(%now = {x.name}) -> ({x.type}) {{
  %v = coopmatrix.extract %now[%slot] : {x.type}
  %i, %j = coopmatrix.coord %now[%slot] : {x.type}
  %near = arith.cmpi ult, %i, %c3 : index
  %twice = arith.{add} %v, %v : {x.element}
  %new = arith.select %near, %twice, %v : {x.element}
  %next = coopmatrix.insert %new, %now[%slot] : {x.type}
  scf.yield %next : {x.type}
}}""",
            x,
        )

    def flow(self, name: str, x: Matrix) -> Matrix:
        """Pass a matrix through control flow, which adds it to itself."""
        steps = self.one_of(("%c0", "%c1", "%c2"))
        twice = f"coopmatrix.add {x.name}, {x.name} : {x.type}"
        is_first = f"""\
%group = simt.workgroup_id x : index
%first = arith.cmpi eq, %group, {steps} : index
"""
        function = f"f{len(self.functions)}"
        if name == "call":
            self.functions.append(
                f"func.func private @{function}(%x: {x.type}) -> {x.type} {{\n"
                f"  %y = coopmatrix.add %x, %x : {x.type}\n"
                f"  func.return %y : {x.type}\n}}\n"
            )
        texts = {
            "for": f"""\
%out = scf.for %i = %c0 to {steps} step %c1
    iter_args(%now = {x.name}) -> ({x.type}) {{
  %new = coopmatrix.add %now, %now : {x.type}
  scf.yield %new : {x.type}
}}""",
            "while": f"""\
%end, %out = scf.while (%k = %c0, %old = {x.name})
    : (index, {x.type}) -> (index, {x.type}) {{
  %go = arith.cmpi ult, %k, {steps} : index
  scf.condition(%go) %k, %old : index, {x.type}
}} do {{
^bb0(%i: index, %now: {x.type}):
  %more = arith.addi %i, %c1 : index
  %new = coopmatrix.add %now, %now : {x.type}
  scf.yield %more, %new : index, {x.type}
}}""",
            "call": f"%out = func.call @{function}({x.name}) : ({x.type}) -> {x.type}",
            "if": f"""\
{is_first}%out = scf.if %first -> ({x.type}) {{
  %new = {twice}
  scf.yield %new : {x.type}
}} else {{
  scf.yield {x.name} : {x.type}
}}""",
            "select": f"""\
{is_first}%other = {twice}
%out = arith.select %first, %other, {x.name} : {x.type}""",
        }
        return self.block(texts[name], x)

    def atomic(self, x: Matrix) -> None:
        kept, self.axes = self.axes, self.axes - {"vectors", "pointee"}
        _, text, access = self.memory(x)
        access, self.axes = access.replace(" = @L", ""), kept
        kind = self.one_of(("add", "max"))
        word = "signed " if kind == "max" and not x.is_float else ""
        self.put(
            f"coopmatrix.atomic_{kind} {word}{x.name}, {access} relaxed : "
            f"{x.type}, {text} -> {x.type}",
            x,
        )
