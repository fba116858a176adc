"""Random kernels of several statements, legal in coopmatrix, each from a seed.

A program loads a matrix, and each statement makes another matrix of the last one: the
statements of `random_programs`, one after the other and in loops and branches, and
what these never draw:

    memory      any strides and ranks; positions outside, also negative, where they are
                checked, or known only at run time; stored, and loaded another way
    sizes       1; several work-groups, or several subgroups, each with its own memory
    numbers     unsigned integers, mixed signs; f8; NaN, infinities and what overflows
    products    of converted matrices, in loops along K, saturating, of any result
    elements    inserted where lanes differ, stored by their coordinates, row slices
    operations  all reductions, transpositions, bit casts, fills from memory

Its result depends on no element's owner, and on no order of a sum: sums of floats are
of small numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from coopc.generate.random_programs import (
    ARITHMETIC,
    BITS,
    BITWISE,
    PRODUCTS,
    USES,
    Array,
    Matrix,
    ProgramWriter,
    RandomProgram,
    contents,
)
from coopc.interface_call import strided_zeros
from coopc.rounding import FORMATS
from coopc.run.arguments import encode

F8 = ("f8E4M3FN", "f8E5M2")
BITCASTS = {
    **{"f16": "i16", "bf16": "i16", "f32": "i32", "f64": "i64"},
    **dict.fromkeys(F8, "i8"),
}
"""Integers of the bits of floats; bits of NaN that become a float need not stay."""
MORE_PRODUCTS = (
    *PRODUCTS,
    *((name, "f32") for name in F8),
    *(("bf16", "bf16"), ("i8", "i8"), ("f16", "f64")),
)
MIXED = (("i32", "i32"), ("i16", "i16"), ("i32", "i16"), ("i8", "i32"))
"""Types of C and of the result, of a product of integers of any signs."""
GROUPS = {"%workgroup0": 2, "%subgroup0": 8}
"""How many parts of memory there are, by what says whose part it is."""
WORK_ITEMS = 32
"""Of a work-group of several subgroups: at most 8, of 4 lanes."""
ELEMENTS = ("elements", "divergent", "by_coordinates", "slices")
"""Statements on single elements."""
ATOMICS = ("update", "access")


@dataclass(frozen=True)
class Drawn:
    """What programs have, of what all engines do not."""

    types: tuple[str, ...] = (*BITS, *F8)
    sizes: tuple[int, ...] = (1, 1, 2, 3, 5, 7, 8, 8, 8, 11, 15, 16, 16, 17, 20, 32)
    without: tuple[str, ...] = ()
    """Statements that are left out."""


ANY = Drawn()
TILES = Drawn(
    ("f16", "bf16", "f32", "i8", "i32"),
    (1, 5, 8, 16, 16, 20, 32),
    (*ELEMENTS, *ATOMICS, "mixed"),
)
"""What tiles of AMX hold."""
BLOCKS = Drawn(
    ("f16", "bf16", "f32", "i8", "i16", "i32"), (8, 16, 16, 32), (*ELEMENTS, "mixed")
)
"""What most of `coopc-xe` takes."""


def random_statements(seed: int, drawn: Drawn = ANY) -> RandomProgram:
    """Return the program of a seed."""
    random = np.random.default_rng(seed)
    return StatementWriter(random, drawn.types, drawn=drawn).program()


@dataclass
class StatementWriter(ProgramWriter):
    drawn: Drawn = ANY
    depth: int = 0
    """Loops and branches around."""
    part: str = ""
    """Whose part of memory it is, if there are several."""
    numbers: set[int] = field(default_factory=lambda: {*range(5)})
    """Constants that are used."""

    def program(self) -> RandomProgram:
        self.axes, self.scope = set[str](), "subgroup"
        self.is_special = self.chance(20)
        if self.chance(35):
            self.part = self.one_of((*GROUPS,))
            op = "workgroup_id x" if self.part == "%workgroup0" else "subgroup_id"
            self.lines.append(f"{self.part} = simt.{op} : index")
            if self.part == "%subgroup0":
                size = f"simt.work_group_size = array<i32: {WORK_ITEMS}>"
                self.attributes.append(size)
        first = Matrix("", self.size(), self.size(), self.element(), self.use())
        found = self.load(first)
        for _ in range(int(self.random.integers(1, 6))):
            found = self.statement(found)
        self.store(found)
        groups = GROUPS[self.part] if self.part == "%workgroup0" else 1
        return replace(self.finished(), grid=(groups, 1, 1))

    def finished(self) -> RandomProgram:
        numbers = (
            f"{self.constant(n)} = arith.constant {n} : index"
            for n in sorted(self.numbers - {*range(5)})
        )
        self.lines[:0] = numbers
        found = super().finished()
        if self.part == "%workgroup0":
            text = found.text.replace(") -> (1)>", f") -> ({GROUPS[self.part]})>", 1)
            found = replace(found, text=text)
        return found

    def chance(self, percent: int) -> bool:
        return int(self.random.integers(100)) < percent

    def constant(self, number: int) -> str:
        self.numbers.add(number)
        return f"%c{number}" if number >= 0 else f"%cm{-number}"

    def size(self) -> int:
        return self.one_of(self.drawn.sizes)

    def use(self) -> str:
        return self.one_of(USES) if self.chance(40) else "acc"

    def element(self) -> str:
        types = [x for x in self.types if not self.is_special or x in FORMATS]
        return self.one_of(types)

    def contents(self, shape: tuple[int, ...], element: str) -> Array:
        small = contents(self.random, shape, element)
        if not self.is_special or element not in FORMATS:
            return small
        values = np.array([np.nan, np.inf, -np.inf, FORMATS[element].greatest])
        if not FORMATS[element].has_infinity:
            values[1:3] = np.nan
        which = self.random.integers(0, 16, shape)
        special = encode(values[which % len(values)], element)
        return np.where(which < len(values), special, small)

    # Memory

    def given(self, shape: tuple[int, ...], element: str) -> tuple[str, str]:
        """Add a memref of one part, or of each; return its name and type."""
        whole = (GROUPS[self.part], *shape) if self.part else shape
        text = "".join(f"{size}x" for size in whole)
        return self.argument(f"memref<{text}{element}>", self.contents(whole, element))

    def argument(self, text: str, array: Array) -> tuple[str, str]:
        name = f"%m{len(self.arguments)}"
        self.arguments.append(f"{name}: {text}")
        self.arrays.append(array)
        return name, text

    def at(self, *positions: str) -> str:
        return ", ".join([self.part, *positions] if self.part else positions)

    def memory(self, matrix: Matrix) -> tuple[str, str, str]:
        order = self.one_of(("row_major", "row_major", "col_major"))
        axes = ("rows", "cols") if order == "row_major" else ("cols", "rows")
        dims = [matrix.rows, matrix.cols][:: 1 if order == "row_major" else -1]
        checked: tuple[str, ...] = ()
        if self.chance(35):
            checked = self.one_of((("rows", "cols"), ("rows",), ("cols",)))
        positions: list[str] = []
        for n, axis in enumerate(axes):
            position = int(self.random.integers(0, 5)) if self.chance(30) else 0
            more = int(self.random.integers(0, 2))
            if axis in checked:
                position = int(self.random.integers(-dims[n] - 1, 6))
                more = int(self.random.integers(-5, 3))
            dims[n] = max(1, dims[n] + position + more)
            positions.append(self.constant(position))
        if self.chance(25):
            zero = self.put("simt.workgroup_id z : index", matrix)
            text = f"arith.addi {zero.name}, {positions[1]} : index"
            positions[1] = self.put(text, matrix).name
        name, text = self.strided(dims[0], dims[1], matrix.element)
        check = f" checked({', '.join(checked)})" if checked else ""
        return name, text, f"{name}[{self.at(*positions)}] {order}{check}"

    def strided(self, rows: int, cols: int, element: str) -> tuple[str, str]:
        """Add a memref, perhaps with dynamic sizes or with strides."""
        gap = int(self.random.integers(0, 3))
        form = self.one_of(("plain", "dynamic", "columns", "gaps", "steps"))
        if form == "dynamic":
            name, text = self.given((rows, cols), element)
            rank = text.count("x", 0, -len(element) - 1)
            self.arguments[-1] = f"{name}: memref<{'?x' * rank}{element}>"
            return name, self.arguments[-1].partition(": ")[2]
        strides = {
            "columns": (1, rows + gap),
            "gaps": (cols + gap, 1),
            "steps": (2 * cols + gap, 2),
        }.get(form)
        if strides is None or self.part:
            return self.given((rows, cols), element)
        values = self.contents((rows, cols), element)
        array = strided_zeros(values.shape, strides, values.dtype)
        array[...] = values
        layout = f"strided<[{strides[0]}, {strides[1]}]>"
        return self.argument(f"memref<{rows}x{cols}x{element}, {layout}>", array)

    # Statements

    def statement(self, x: Matrix) -> Matrix:
        """Make another matrix of one, or change memory and return it."""
        names = [n for n in STATEMENTS if n not in self.drawn.without]
        return STATEMENTS[self.one_of(names)](self, x)

    def number(self, value: int, element: str) -> str:
        text = float(value) if element in FORMATS else value
        constant = f"arith.constant {text} : {element}"
        return self.put(constant, Matrix("", 1, 1, element)).name

    def filled(self, value: int, x: Matrix) -> Matrix:
        number = self.number(value, x.element)
        return self.put(f"coopmatrix.fill {number} : {x.element} -> {x.type}", x)

    def sign(self, x: Matrix) -> str:
        return "" if x.is_float else self.one_of(("", "signed "))

    def arithmetic(self, x: Matrix) -> Matrix:
        kind = self.one_of(ARITHMETIC if x.is_float else (*ARITHMETIC, *BITWISE))
        if kind in ("neg", "abs", "not"):
            return self.put(f"coopmatrix.{kind} {x.name} : {x.type}", x)
        divides = kind in ("div", "rem", "shl", "shr")
        value = self.one_of((1, 2, 3) if divides else (0, 1, 2, 3))
        if kind == "scale":
            number = self.number(value, x.element)
            text = f"coopmatrix.scale {x.name}, {number} : {x.type}, {x.element}"
            return self.put(text, x)
        both = [x.name, x.name]
        if divides or self.chance(60):
            both[1] = self.filled(value, x).name
        if not divides and self.chance(30):
            both.reverse()
        word = self.sign(x) if kind in ("div", "rem", "shr", "min", "max") else ""
        return self.put(f"coopmatrix.{kind} {word}{both[0]}, {both[1]} : {x.type}", x)

    def small(self, x: Matrix) -> Matrix:
        """Bound the elements by -3 and 3."""
        word = "" if x.is_float else "signed "
        for kind, value in (("max", -3), ("min", 3)):
            bound = self.filled(value, x)
            text = f"coopmatrix.{kind} {word}{x.name}, {bound.name} : {x.type}"
            x = self.put(text, x)
        return x

    def converted(self, x: Matrix, like: Matrix, sign: str = "signed ") -> Matrix:
        """Convert a matrix to the element and the use of another; floats fit."""
        y = replace(x, name="", element=like.element, use=like.use)
        if x.element != y.element and x.is_float and not y.is_float:
            x = self.small(x)
            if not sign:
                x = self.put(f"coopmatrix.abs {x.name} : {x.type}", x)
        word = "" if x.element == y.element or (x.is_float and y.is_float) else sign
        if x.type == y.type:
            return x
        return self.put(f"coopmatrix.convert {word}{x.name} : {x.type} -> {y.type}", y)

    def conversion(self, x: Matrix) -> Matrix:
        like = replace(x, element=self.element(), use=self.use())
        return self.converted(x, like, self.one_of(("", "signed ")))

    def reduction(self, x: Matrix) -> Matrix:
        quads = x.rows % 2 == x.cols % 2 == 0
        axis = self.one_of(("rows", "cols", "all", *(("quads",) if quads else ())))
        kinds = ("max", "min") if self.is_special else ("add", "max", "min")
        kind = self.one_of(kinds)
        if kind == "add":
            x = self.small(x)
            kind = "max" if x.element in F8 else kind  # whose sums are rounded
        y = x
        broadcast = self.one_of(("", "broadcast "))
        if not broadcast:
            rows, cols = {
                "rows": (x.rows, 1),
                "cols": (1, x.cols),
                "all": (1, 1),
                "quads": (x.rows // 2, x.cols // 2),
            }[axis]
            y = replace(x, rows=rows, cols=cols)
        word = "" if kind == "add" else self.sign(x)
        text = f"coopmatrix.reduce {kind} {axis} {word}{broadcast}{x.name}"
        return self.put(f"{text} : {x.type} -> {y.type}", y)

    def transposition(self, x: Matrix) -> Matrix:
        y = replace(x, rows=x.cols, cols=x.rows, use=self.use())
        return self.put(f"coopmatrix.transpose {x.name} : {x.type} -> {y.type}", y)

    def bits(self, x: Matrix) -> Matrix:
        """Change bits of floats, and change them back."""
        if (element := BITCASTS.get(x.element)) not in self.types:
            return self.arithmetic(x)
        y = replace(x, element=str(element))
        text = f"coopmatrix.bitcast {x.name} : {x.type} -> {y.type}"
        found = self.put(text, y)
        for _ in range(2):
            found = self.put(f"coopmatrix.not {found.name} : {y.type}", y)
        return self.put(f"coopmatrix.bitcast {found.name} : {y.type} -> {x.type}", x)

    def added(self, x: Matrix) -> Matrix:
        """Add a number to each element, by where it is."""
        element = x.element
        steps = f"%w = arith.index_cast %s : index to {element}"
        if x.is_float:
            middle = "f32" if element in F8 else element
            steps = "%n = arith.index_cast %s : index to i32\n"
            steps += f"  %{'p' if element in F8 else 'w'} = arith.sitofp %n : i32 to "
            steps += middle
            if element in F8:
                steps += f"\n  %w = arith.truncf %p : f32 to {element}"
        return self.block(
            f"""\
%out = coopmatrix.apply (%i, %j, %v) in {x.name} : {x.type} {{
  %t = arith.muli %i, %c2 : index
  %q = arith.addi %t, %j : index
  %s = arith.remui %q, %c3 : index
  {steps}
  %new = arith.{"addf" if x.is_float else "addi"} %v, %w : {element}
  coopmatrix.yield %new : {element}
}}""",
            x,
        )

    def divergent(self, x: Matrix) -> Matrix:
        """Insert elements of another matrix, where lanes differ."""
        other, type = self.arithmetic(x), x.type
        return self.block(
            f"""\
%length = coopmatrix.length {type} : index
%out = scf.for %slot = %c0 to %length step %c1 iter_args(%now = {x.name}) -> ({type}) {{
  %i, %j = coopmatrix.coord %now[%slot] : {type}
  %near = arith.cmpi ule, %j, %i : index
  %next = scf.if %near -> ({type}) {{
    %v = coopmatrix.extract {other.name}[%slot] : {type}
    %w = coopmatrix.insert %v, %now[%slot] : {type}
    scf.yield %w : {type}
  }} else {{
    scf.yield %now : {type}
  }}
  scf.yield %next : {type}
}}""",
            x,
        )

    def by_coordinates(self, x: Matrix) -> Matrix:
        """Store each element where its coordinates say."""
        name, text = self.given((x.rows, x.cols), x.element)
        rows, cols = self.constant(x.rows), self.constant(x.cols)
        self.block(
            f"""\
%length = coopmatrix.length {x.type} : index
scf.for %slot = %c0 to %length step %c1 {{
  %i, %j = coopmatrix.coord {x.name}[%slot] : {x.type}
  %above = arith.cmpi ult, %i, {rows} : index
  %left = arith.cmpi ult, %j, {cols} : index
  %inside = arith.andi %above, %left : i1
  scf.if %inside {{
    %v = coopmatrix.extract {x.name}[%slot] : {x.type}
    memref.store %v, {name}[{self.at("%i", "%j")}] : {text}
  }}
}}""",
            x,
        )
        return x

    def slices(self, x: Matrix) -> Matrix:
        """Insert a row slice elsewhere, also before the matrix and beyond."""
        length = self.one_of((1, 2, 4, 5, 8, 16))
        last = x.rows * x.cols + 2
        start, end = (self.constant(int(self.random.integers(-3, last))) for _ in "ab")
        vector = f"vector<{length}x{x.element}>"
        mask, masked = "", ""
        if self.chance(40):
            bits = ", ".join(self.one_of(("true", "false")) for _ in range(length))
            mask = f"%mask = arith.constant dense<[{bits}]> : vector<{length}xi1>\n"
            masked = f" mask %mask : vector<{length}xi1>"
        return self.block(
            f"""\
{mask}%s = coopmatrix.extract_row_slice {x.name}[{start}] : {x.type} -> {vector}
%t = arith.{"addf" if x.is_float else "addi"} %s, %s : {vector}
%out = coopmatrix.insert_row_slice %t, {x.name}[{end}]{masked} : {vector}, {x.type}""",
            x,
        )

    # Products

    def pair(self) -> tuple[str, str]:
        return self.one_of([pair for pair in MORE_PRODUCTS if {*pair} <= {*self.types}])

    def multiplied(self, x: Matrix) -> Matrix:
        """Multiply a matrix, as either factor, by another one."""
        factor, result = self.pair()
        if self.is_special:
            return self.arithmetic(x)
        side, other = self.one_of("ab"), self.size()
        x = self.converted(self.small(x), replace(x, element=factor, use=side))
        if side == "a":
            m, n = x.rows, other
            a, b = x, self.load(Matrix("", x.cols, other, factor, "b"))
        else:
            m, n = other, x.cols
            a, b = self.load(Matrix("", other, x.rows, factor, "a")), x
        c = Matrix("", m, n, result)
        c = self.filled(self.one_of((0, 1)), c) if self.chance(50) else self.load(c)
        signs = "" if c.is_float else " signed(a, b, c, result)"
        types = f"{a.type}, {b.type}, {c.type}"
        text = f"coopmatrix.mul_add {a.name}, {b.name}, {c.name}{signs} : {types}"
        return self.put(text, c)

    def mixed(self, x: Matrix) -> Matrix:
        """Multiply integers of any signs into any result."""
        m, n, k = x.rows, x.cols, self.size()
        a = self.load(Matrix("", m, k, self.one_of(("i8", "i16")), "a"))
        b = self.load(Matrix("", k, n, self.one_of(("i8", "i16")), "b"))
        kept, result = self.one_of(MIXED)
        c = self.load(Matrix("", m, n, kept))
        y = replace(c, element=result)
        signed = [name for name in ("a", "b", "c", "result") if self.chance(50)]
        words = f" signed({', '.join(signed)})" if signed else ""
        if {"a", "b", "result"} <= {*signed}:  # else products are too great
            words += self.one_of(("", " saturating"))
        types = f"{a.type}, {b.type}, {c.type}"
        arrow = f" -> {y.type}" if kept != result else ""
        text = f"coopmatrix.mul_add {a.name}, {b.name}, {c.name}{words}"
        return self.put(f"{text} : {types}{arrow}", y)

    def along_k(self, x: Matrix) -> Matrix:
        """Multiply in a loop along K, perhaps one that does not run."""
        factor, result = self.pair()
        if self.is_special:
            return self.arithmetic(x)
        m, n, k, steps = self.size(), self.size(), self.size(), self.one_of(range(4))
        a, a_text = self.given((m, max(1, steps * k)), factor)
        by_rows = self.chance(50)
        shape = (max(1, steps * k), n)
        b, b_text = self.given(shape if by_rows else shape[::-1], factor)
        order, place = ("row_major", "%k, %c0") if by_rows else ("col_major", "%c0, %k")
        checked = self.one_of(("", " checked(rows, cols)", " checked(cols)"))
        c = self.load(Matrix("", m, n, result))
        signs = "" if c.is_float else " signed(a, b, c, result)"
        a_type = Matrix("", m, k, factor, "a").type
        b_type = Matrix("", k, n, factor, "b").type
        return self.block(
            f"""\
%out = scf.for %k = %c0 to {self.constant(steps * k)} step {self.constant(k)}
    iter_args(%now = {c.name}) -> ({c.type}) {{
  %a = coopmatrix.load {a}[{self.at("%c0, %k")}] row_major{checked}
      : {a_text} -> {a_type}
  %b = coopmatrix.load {b}[{self.at(place)}] {order}{checked}
      : {b_text} -> {b_type}
  %n = coopmatrix.mul_add %a, %b, %now{signs} : {a_type}, {b_type}, {c.type}
  scf.yield %n : {c.type}
}}""",
            c,
        )

    # Control flow

    def nested(self, x: Matrix) -> tuple[str, str]:
        """Return statements that make a matrix of the same type, and its name."""
        kept, self.lines = self.lines, []
        self.depth += 1
        y = self.statement(x) if self.depth < 3 else self.arithmetic(x)
        self.depth -= 1
        if (y.rows, y.cols) != (x.rows, x.cols):
            y = self.arithmetic(x)
        y = self.converted(y, x)
        body, self.lines = self.lines, kept
        return "\n  ".join(body), y.name

    def loop(self, x: Matrix) -> Matrix:
        """Two matrices and a number that change places."""
        y, (now, other) = self.arithmetic(x), (self.fresh(), self.fresh())
        body, name = self.nested(replace(x, name=now))
        end = self.one_of(("%c0", "%c1", "%c2", "%c3"))
        types = f"{x.type}, {x.type}, index"
        found = self.block(
            f"""\
%out, %old, %sum = scf.for %i = %c0 to {end} step %c1
    iter_args({now} = {x.name}, {other} = {y.name}, %s = %c0) -> ({types}) {{
  {body}
  %t = arith.addi %s, %i : index
  scf.yield {other}, {name}, %t : {types}
}}""",
            x,
        )
        if self.is_special:
            return found
        old = found.name.replace("out", "old")
        return self.put(f"coopmatrix.add {found.name}, {old} : {x.type}", x)

    def branch(self, x: Matrix) -> Matrix:
        axis, which = self.one_of("xyz"), self.one_of(("%c0", "%c1"))
        (yes, one), (no, other) = self.nested(x), self.nested(x)
        return self.block(
            f"""\
%group = simt.workgroup_id {axis} : index
%is = arith.cmpi eq, %group, {which} : index
%out = scf.if %is -> ({x.type}) {{
  {yes}
  scf.yield {one} : {x.type}
}} else {{
  {no}
  scf.yield {other} : {x.type}
}}""",
            x,
        )

    def flowing(self, x: Matrix) -> Matrix:
        return self.flow(self.one_of(("while", "call", "select")), x)

    # Memory again

    def through(self, x: Matrix) -> Matrix:
        """Store, and load the transpose; perhaps store again."""
        edge = int(self.random.integers(0, 3))
        name, text = self.given((x.rows + edge, x.cols + edge), x.element)
        place = f"{name}[{self.at(*[self.constant(edge)] * 2)}]"
        store = f"{place} row_major : {x.type}, {text}"
        self.lines.append(f"coopmatrix.store {x.name}, {store}")
        self.lines.append("simt.barrier workgroup")
        y = replace(x, rows=x.cols, cols=x.rows, use=self.use())
        found = self.put(f"coopmatrix.load {place} col_major : {text} -> {y.type}", y)
        if self.chance(50):
            self.lines.append("simt.barrier workgroup")
            other = self.put(f"coopmatrix.neg {x.name} : {x.type}", x)
            self.lines.append(f"coopmatrix.store {other.name}, {store}")
        self.lines.append("simt.barrier workgroup")  # a loop stores again
        return found

    def update(self, x: Matrix) -> Matrix:
        """Update memory atomically; return what was there."""
        if self.is_special or x.element in F8:
            return self.arithmetic(x)
        _, text, access = self.memory(x)
        kind = self.one_of(("add", "max", "min"))
        word = "" if kind == "add" else self.sign(x)
        found = f"coopmatrix.atomic_{kind} {word}{x.name}, {access} relaxed"
        return self.put(f"{found} : {x.type}, {text} -> {x.type}", x)

    def access(self, x: Matrix) -> Matrix:
        """Store and load atomically."""
        if x.element in F8:
            return self.arithmetic(x)
        _, text, access = self.memory(x)
        store = f"coopmatrix.atomic_store {x.name}, {access} relaxed : {x.type}, {text}"
        self.lines.append(store)
        _, text, access = self.memory(x)
        return self.put(
            f"coopmatrix.atomic_load {access} relaxed : {text} -> {x.type}", x
        )

    def kept(self, x: Matrix) -> Matrix:
        self.store(x)
        return x

    def prefetched(self, x: Matrix) -> Matrix:
        _, text, access = self.memory(x)
        self.lines.append(f"coopmatrix.prefetch {access} : {text}, {x.type}")
        return x

    def from_memory(self, x: Matrix) -> Matrix:
        """Fill with a number in memory."""
        text = f"memref<{x.element}>"
        name, _ = self.argument(text, self.contents((), x.element))
        found = self.put(f"coopmatrix.fill {name} : {text} -> {x.type}", x)
        return self.put(f"coopmatrix.max {x.name}, {found.name} : {x.type}", x)


STATEMENTS: dict[str, Callable[[StatementWriter, Matrix], Matrix]] = {
    name: getattr(StatementWriter, name)
    for name in (
        *("arithmetic", "conversion", "reduction", "transposition", "bits"),
        *("apply", "added", *ELEMENTS),
        *("multiplied", "mixed", "along_k"),
        *("loop", "branch", "flowing"),
        *("through", *ATOMICS, "kept", "prefetched", "from_memory"),
    )
}
"""What statements do, by the names of methods."""
