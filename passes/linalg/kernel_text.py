"""Kernels that multiply, as MLIR text: what all of them are written with.

A kernel is written as a function of what it multiplies, which then takes the place of
the body of the function that multiplied so:

    func.func @kernel(%a: .., %b: .., %c: .., %fill: ..) { ..  func.return }
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, LocationAttr, UnitAttr
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from coopc.device import is_integer, signless
from coopc.dialects import simt
from coopc.dialects.avx512 import Avx512
from coopc.dialects.coopmatrix import Coopmatrix
from coopc.dialects.effects import Vector
from coopc.dialects.layout import Layout
from coopc.dialects.math_forms import Math
from coopc.dialects.memref_forms import MemRef, PrefetchOp
from coopc.dialects.scf_forms import Scf
from coopc.dialects.shaped_arith import Arith
from coopc.dialects.simt import Simt
from coopc.parsing import CachingParser
from coopc.passes.linalg.epilogue import CALLS, Consumers, Result
from coopc.passes.linalg.match import Multiplication, extent, tiles
from coopc.passes.linalg.rows import equal_sizes, sizes_of
from coopc.plan.gemm import AXES, Axis, Cast, Direct, GemmOperand, GemmPlan, Problem

DIALECTS = (Arith, Avx512, Coopmatrix, Func, Layout, Math, MemRef, Scf, Simt, Vector)
"""What kernels are written in, should the context of a user's own tool lack them."""


@dataclass(frozen=True, slots=True)
class Memory:
    name: str
    """Of its memref: %a, %b or %c."""
    matrix: GemmOperand

    @property
    def element(self) -> str:
        """The type of an element in the IR."""
        return signless(self.matrix.element)

    @property
    def layout(self) -> str:
        """The layout of a matrix there, as coopmatrix.load has it."""
        return "col_major" if self.matrix.transposed else "row_major"

    def place(self, row: str, col: str) -> str:
        """Return the position of an element; %batch is that of the matrix."""
        return self.index(*((col, row) if self.matrix.transposed else (row, col)))

    def index(self, *pair: str) -> str:
        """Return the position of an element by its two positions in memory."""
        found = [*pair]
        if self.matrix.batched:
            found.insert(self.matrix.batch_dimension, "%batch")
        return ", ".join(found)

    def dim(self, axis: Axis) -> str:
        dimension = self.matrix.dimension(axis)
        return f"memref.dim {self.name}, %c{dimension} : {self.matrix.type}"

    def at(self, row: str, col: str, checked: Sequence[Axis] = ()) -> str:
        """Return what an access says of a position, checked along some axes."""
        checks = f" checked({', '.join(checked)})" if checked else ""
        return f"{self.name}[{self.place(row, col)}] {self.layout}{checks}"

    def load(
        self, result: str, at: tuple[str, str], type: str, checked: Sequence[Axis] = ()
    ) -> str:
        where = self.at(*at, checked)
        return f"{result} = coopmatrix.load {where} : {self.matrix.type} -> {type}"

    def store(
        self, value: str, at: tuple[str, str], type: str, checked: Sequence[Axis] = ()
    ) -> str:
        where = self.at(*at, checked)
        return f"coopmatrix.store {value}, {where} : {type}, {self.matrix.type}"


class Operands:
    """What is multiplied, as kernels name it."""

    def __init__(self, problem: Problem, uses: Sequence[str] = ()) -> None:
        self.problem = problem
        self.uses = uses
        """Those of matrices that the epilogue stores."""
        self.outer = ["%batch" if problem.batched else "%c0"]
        """The position of the matrix of C."""
        self.a = Memory("%a", problem.a)
        """A, rows along M."""
        self.b = Memory("%b", problem.b)
        """B, rows along K."""
        self.c = Memory("%c", problem.c)
        """C, and the result."""

    @property
    def targets(self) -> str:
        """The arguments that a kernel stores to, C among them."""
        outputs = enumerate(self.problem.outputs)
        found = [f"%out{n}: {output.memory.type}" for n, output in outputs]
        return ", ".join([f"{self.c.name}: {self.c.matrix.type}", *found])

    @property
    def arguments(self) -> str:
        found = [f"{x.name}: {x.matrix.type}" for x in (self.a, self.b)]
        found.append(self.targets)
        if self.problem.fill != "nothing":
            found.append(f"%fill: {self.c.element}")
        return ", ".join(found)

    def matrix(self, use: str, m: int, n: int, k: int) -> str:
        """Return the type of the a, b or acc of a product."""
        rows, cols = {"a": (m, k), "b": (k, n), "acc": (m, n)}[use]
        element = {"a": self.a, "b": self.b, "acc": self.c}[use].element
        return f"!coopmatrix.matrix<{rows}x{cols}x{element}, {use}>"

    def initial(
        self, result: str, at: tuple[str, str], type: str, checked: Sequence[Axis] = ()
    ) -> str:
        """Return what sums begin with: what C is filled with, or what it has."""
        if self.problem.fill == "nothing":
            return self.c.load(result, at, type, checked)
        return f"{result} = coopmatrix.fill %fill : {self.c.element} -> {type}"

    def finish(
        self, total: str, at: tuple[str, str], type: str, checked: Sequence[Axis] = ()
    ) -> str:
        """Return the store of sums, or of what the epilogue makes of them."""
        if self.problem.epilogue is None:
            return self.c.store(total, at, type, checked)
        of = _prefix(total, at)
        lines, stores = "", ""
        for axis in checked:  # elements beyond C are computed, too, and not stored
            size, last = self.c.matrix.size(axis), f"{of}_last_{axis}"
            if size is not None:
                lines += f"""
  {last} = arith.constant {size - 1} : index"""
            else:
                lines += f"""
  {last}_size = {self.c.dim(axis)}
  {last} = arith.subi {last}_size, %c1 : index"""
        # All is read before the first is stored.
        for number, output in enumerate(self.problem.outputs):
            value, result, text = total, type, ""
            if output.element is not None:
                value, result, text = self._output(number, total, at, type, checked)
            memory = Memory(f"%out{number}", output.memory)
            lines += text
            stores += f"""
  {memory.store(value, at, result, checked)}"""
        if self.problem.epilogue.in_place:
            # Other lanes may store an element than those that have read it.
            lines += """
  simt.barrier subgroup memory = <global>"""
        return (lines + stores).lstrip()

    def _output(
        self,
        number: int,
        total: str,
        at: tuple[str, str],
        type: str,
        checked: Sequence[Axis],
    ) -> tuple[str, str, str]:
        """Return a matrix of what an output of the epilogue is, its type, and how."""
        output = self.problem.outputs[number]
        of = _prefix(total, at)
        name, element, lines = f"{of}_y{number}", output.element, ""
        value = total
        for cast in output.before:
            value, type, line = _cast(value, type, cast, f"{of}_x{number}", "acc")
            lines += line
        place, places = "", list(self.outer)
        for axis, start, i in zip(AXES, at, ("%i", "%j"), strict=True):
            places.append(f"%at_{axis}")
            place += f"""
    %at_{axis} = arith.addi {start}, {i} : index"""
            if axis in checked:
                places[-1] = f"%{axis}_in"
                place += f"""
    %{axis}_in = arith.minui %at_{axis}, {of}_last_{axis} : index"""
        lines += f"""
  {name} = coopmatrix.apply (%i, %j, %element) in {value} : {type} {{{place}
    %f = func.call @{CALLS}{number}({", ".join(places)}, %element)
      : ({"index, " * len(places)}{element}) -> {element}
    coopmatrix.yield %f : {element}
  }}"""
        value = name
        for cast in output.after:
            use = self.uses[number] if cast is output.after[-1] else "acc"
            value, type, line = _cast(value, type, cast, name, use)
            lines += line
        return value, type, lines

    @property
    def signed(self) -> str:
        """What of a product is signed, as coopmatrix.mul_add says it."""
        a, b, c = self.problem.elements
        if not is_integer(c):
            return ""
        kinds = zip(("a", "b", "c", "result"), (a, b, c, c), strict=True)
        names = [name for name, element in kinds if element.startswith("s")]
        return f"signed({', '.join(names)}) " if names else ""

    def multiply(
        self, result: str, a: str, b: str, c: str, sizes: tuple[int, int, int]
    ) -> str:
        """Return a product of matrices, of M x N x K."""
        types = ", ".join(self.matrix(use, *sizes) for use in ("a", "b", "acc"))
        return f"{result} = coopmatrix.mul_add {a}, {b}, {c} {self.signed}: {types}"


def _prefix(total: str, at: tuple[str, str]) -> str:
    """Return a prefix for names of a part of C; parts may have the same sums."""
    return "%" + re.sub(r"\W", "", "_".join((total, *at)))


def _cast(
    value: str, type: str, cast: Cast, name: str, use: str
) -> tuple[str, str, str]:
    """Return a matrix that is cast, its type, and the operation."""
    shape = type.rsplit("x", 1)[0]
    result, to = f"{name}_{cast.element}", f"{shape}x{cast.element}, {use}>"
    line = f"""
  {result} = coopmatrix.{cast.operation} {value} : {type} -> {to}"""
    return result, to, line


def zero(element: str) -> str:
    return "0" if element.startswith("i") else "0.0"


def kernel(
    arguments: str, body: str, name: str = "kernel", attributes: str = ""
) -> str:
    """Return a kernel; %c12 is the index 12 in its body."""
    return f"""
func.func @{name}({arguments}) attributes {{{attributes}}} {{{with_constants(body)}
  func.return
}}"""


def with_constants(body: str) -> str:
    """Return a body in which %c12 is the index 12."""
    numbers = sorted({int(x) for x in re.findall(r"%c(\d+)\b", body)})
    constants = "".join(f"\n  %c{x} = arith.constant {x} : index" for x in numbers)
    return f"{constants}{body}"


def functions(ctx: Context, text: str) -> list[FuncOp]:
    """Return the functions of a text, in no module."""
    ctx = ctx.clone()
    ctx.allow_unregistered = False
    for dialect in DIALECTS:
        if dialect.name not in ctx.registered_dialect_names:
            ctx.load_dialect(dialect)
    if ctx.get_optional_op(PrefetchOp.name) is None:  # xDSL's memref lacks it
        ctx.load_op(PrefetchOp)
    module = CachingParser(ctx, text).parse_module()
    found = [op for op in module.ops if isinstance(op, FuncOp)]
    for func in found:
        func.detach()
    return found


def become_kernel(
    func: FuncOp,
    found: Multiplication,
    plan: GemmPlan,
    text: str,
    ctx: Context,
    groups: Sequence[AffineExpr] | None = None,
) -> None:
    """Put a kernel in place of a function that multiplies.

    Work-groups along x, y, z are `groups`, or as many as C has tiles.
    """
    problem, memory = found.problem, found.memories[2]
    if groups is None:
        rows, cols = (extent(func, memory, problem.c.dimension(x)) for x in AXES)
        groups = [tiles(cols, plan.group[1]), tiles(rows, plan.group[0])]
        groups += [extent(func, memory, 0)] * problem.batched
    values = [*found.memories, *(x.memory for x in found.stored)]
    values += [] if found.fill is None else [found.fill]
    calls = [] if found.consumers is None else [(found.consumers, found.stored)]
    put_kernel(func, text, ctx, found.op.location, values, calls, groups)


def put_kernel(
    func: FuncOp,
    text: str,
    ctx: Context,
    location: LocationAttr,
    values: Sequence[SSAValue],
    calls: Sequence[tuple[Consumers, Sequence[Result]]],
    groups: Sequence[AffineExpr],
) -> None:
    """Put a kernel in place of the body of a function.

    Its arguments become `values`, and the functions that it calls those of `calls`.
    """
    (kernel,) = functions(ctx, text)
    for op in kernel.walk():
        op.location = location
    block = func.body.block
    old = [op for op in block.ops if not isinstance(op, arith.ConstantOp)]
    sizes = equal_sizes(func, sizes_of(old))
    Rewriter.inline_block(kernel.body.block, InsertPoint.at_end(block), values)
    for consumers, stored in calls:
        consumers.write(func, stored, {x: x for x in block.args})
    for op in reversed(old):
        Rewriter.erase_op(op)
    for op in list(block.ops):
        if isinstance(op, arith.ConstantOp) and not op.result.uses:
            Rewriter.erase_op(op)
    map = AffineMap(len(simt.kernel_sizes(func)), 0, tuple(groups))
    func.attributes |= {simt.KERNEL: UnitAttr(), simt.GRID: AffineMapAttr(map)}
    if sizes:
        func.attributes[simt.EQUAL_SIZES] = simt.equal_sizes_attr(sizes)


# --- work-groups of one subgroup -----------------------------------------------------


def direct_kernel(problem: Problem, plan: GemmPlan) -> str:
    """Return the kernel of work-groups of one subgroup, with all matrices in memory."""
    its = Operands(problem, plan.uses)
    (m, n), c = plan.group, its.matrix("acc", *plan.group, plan.depth)
    at = "%row", "%col"
    batch = "\n  %batch = simt.workgroup_id z : index" if problem.batched else ""
    k_end, dim = f"%c{problem.a.size('cols')}", ""
    if problem.a.size("cols") is None:
        k_end, dim = "%k_end", f"\n  %k_end = {its.a.dim('cols')}"
    body = f"""
  %group_y = simt.workgroup_id y : index
  %row = arith.muli %group_y, %c{m} : index
  %group_x = simt.workgroup_id x : index
  %col = arith.muli %group_x, %c{n} : index{batch}{dim}
  {its.initial("%init", at, c, plan.c.checked)}{direct_loop(its, plan, k_end, "%init")}
  {its.finish("%sum", at, c, plan.c.checked)}"""
    return kernel(its.arguments, body)


def direct_loop(its: Operands, plan: GemmPlan, end: str, before: str) -> str:
    """Return the loop along K, which adds to what is before, and gives %sum."""
    sizes = *plan.group, plan.depth
    a, b, c = (its.matrix(use, *sizes) for use in ("a", "b", "acc"))
    a_checked, b_checked = (
        x.checked for x in (plan.a, plan.b) if isinstance(x, Direct)
    )
    return f"""
  %sum = scf.for %k = %c0 to {end} step %c{plan.depth}
      iter_args(%acc = {before}) -> ({c}) {{
    {its.a.load("%a_tile", ("%row", "%k"), a, a_checked)}
    {its.b.load("%b_tile", ("%k", "%col"), b, b_checked)}
    {its.multiply("%next", "%a_tile", "%b_tile", "%acc", sizes)}
    scf.yield %next : {c}
  }}"""
