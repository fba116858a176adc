"""convert-attention-to-coopmatrix: lowers attention to one kernel.

Before:  a function on memrefs of two products with a softmax between them, as from
         `outline-linalg-kernels`.
After:   a kernel with a grid.  Each work-group is a subgroup that computes rows of the
         result in a loop over the rows of K and V.  If the matrix unit of the device
         does not support the types, the kernel states the distribution
         `#layout.coopmatrix`, for `distribute-coopmatrix`, with a remark.
Fails:   for unknown devices; other functions are unchanged.

    scores  = score(Q * K^T)            elementwise: a scale, a mask, ..
    top     = max of each row of scores
    total   = sum of each row of exp(scores - top)
    weights = exp(scores - top) / total
    result  = epilogue(weights * V)     elementwise, too

Everything except the operands of products is computed in f32 if the program has f16 or
bf16.  The kernel iterates over K and V in blocks of rows and keeps a running maximum
and sum of each row, by which it rescales its accumulators: scores are not stored.  See
`AttentionPlan` for the rows of a subgroup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, ModuleOp, bf16, f16, f32
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineMap
from xdsl.passes import ModulePass

from coopc.device import Device
from coopc.dialects import simt
from coopc.dialects.coopmatrix import DISTRIBUTION
from coopc.dialects.layout import CoopmatrixAttr
from coopc.ir.control_flow import uses_dialect
from coopc.ir.device_option import device_of
from coopc.layout.family import CoopmatrixFamily
from coopc.passes.linalg.epilogue import Consumers, Result, is_part, not_computed
from coopc.passes.linalg.fuse_linalg import (
    is_elementwise,
    is_product,
    maps_of,
    output_arguments,
)
from coopc.passes.linalg.kernel_text import Memory, Operands, kernel, put_kernel
from coopc.passes.linalg.match import (
    Multiplication,
    extent,
    order,
    recognised,
    tiles,
    with_epilogue,
)
from coopc.passes.linalg.rows import sizes_of
from coopc.plan.core_gemm import unit_without
from coopc.plan.gemm import Axis, in_precision
from coopc.remarks import remark
from coopc.rounding import PrecisionName

SCORE = "score"
"""What the name of the call that computes scores begins with."""
AT_SUMS = "%sums[%c0, %at] row_major"
MOST_DEPTH = 256
"""Columns of Q and K, and of V, at most: they are in registers."""

LEAST = "-inf"
MAXIMA = (arith.MaximumfOp, arith.MaxnumfOp)
Expression = tuple[object, ...] | str


def defined(op: linalg.GenericOp) -> SSAValue:
    """Return what an operation computes: a tensor, or the memref that it writes."""
    return op.results[0] if op.results else op.outputs[0]


def expression(value: SSAValue, names: Mapping[SSAValue, str]) -> Expression:
    """Return what a body computes, in terms of names of its arguments."""
    if isinstance(value, BlockArgument) or value in names:
        return names.get(value, "?")
    op = value.owner
    assert isinstance(op, Operation), value
    operands = [expression(x, names) for x in op.operands]
    if isinstance(op, MAXIMA) and LEAST in operands:
        return next((x for x in operands if x != LEAST), LEAST)
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr):
        return str(op.value.value.data)
    if isinstance(op, (arith.AddfOp, *MAXIMA)):
        operands.sort(key=str)
    return (op.name, *operands)


@dataclass(frozen=True, slots=True)
class Attention:
    """The operations of attention: on tensors, or on memrefs."""

    scores: linalg.GenericOp
    """Q times K."""
    score: linalg.GenericOp | None
    top: linalg.GenericOp
    total: linalg.GenericOp
    weights: linalg.GenericOp
    result: linalg.GenericOp
    epilogue: linalg.GenericOp | None

    @property
    def ops(self) -> tuple[linalg.GenericOp, ...]:
        found = (
            *(self.scores, self.score, self.top, self.total, self.weights),
            *(self.result, self.epilogue),
        )
        return tuple(op for op in found if op is not None)


def attention_of(ops: Sequence[linalg.GenericOp]) -> Attention | None:
    """Return the attention that operations are, in order; None if they are none."""
    if len(ops) < 5 or not is_product(ops[0]):
        return None
    scores, *rest = ops
    score = rest.pop(0) if is_elementwise(rest[0]) else None
    if not 4 <= len(rest) <= 5:
        return None
    top, total, weights, result, *last = rest
    epilogue = last[0] if last else None
    found = Attention(scores, score, top, total, weights, result, epilogue)
    return found if _is_attention(found) else None


def _is_attention(its: Attention) -> bool:
    s = defined(its.scores if its.score is None else its.score)
    top, total, p = map(defined, (its.top, its.total, its.weights))
    loops = maps_of(its.weights)[0].num_dims
    whole = AffineMap.identity(loops)
    row = AffineMap(loops, 0, whole.results[:-1])
    read = {s: (whole, "s"), top: (row, "m"), total: (row, "l")}
    exp: Expression = ("math.exp", ("arith.subf", "s", "m"))
    share: Expression = ("arith.divf", exp, "l")
    for op, wanted in (
        (its.top, [("arith.maximumf", "o", "s"), ("arith.maxnumf", "o", "s")]),
        (its.total, [("arith.addf", *sorted([exp, "o"], key=str))]),
        (its.weights, [share, ("arith.truncf", share)]),
    ):
        names: dict[SSAValue, str] = {}
        given = zip(op.inputs, maps_of(op), op.body.block.args, strict=False)
        for x, accesses, arg in given:
            if x not in read or read[x][0] != accesses:
                return False
            names[arg] = read[x][1]
        names |= {arg: "o" for arg in output_arguments(op)}
        outputs = maps_of(op)[len(op.inputs) :]
        if outputs != [whole if op is its.weights else row]:
            return False
        last = op.body.block.last_op
        assert last is not None, op
        if expression(last.operands[0], names) not in wanted:
            return False
    products = all(map(is_product, (its.scores, its.result)))
    if not products or its.result.inputs[0] is not p:
        return False
    types = {arg.type for op in (its.top, its.total) for arg in output_arguments(op)}
    return types in ({f32}, {f16}, {bf16}) and _follow(its)


def _follow(its: Attention) -> bool:
    """Whether elementwise operations read the products as they are written.

    What else they read is at places that their loops name.
    """
    for product, op in ((its.scores, its.score), (its.result, its.epilogue)):
        if op is None:
            continue
        maps = maps_of(op)
        whole = AffineMap.identity(maps[0].num_dims)
        pairs = zip(op.inputs, maps, strict=False)
        read = [map for x, map in pairs if x is defined(product)]
        if not read or any(map != whole for map in (*read, maps[-1])):
            return False
        parts = all(is_part(x) for map in maps for x in map.results)
        if not parts or not_computed(op) is not None:
            return False
    return True


def why_not_kernel(its: Attention) -> str | None:
    """Return why attention, on tensors or memrefs, has no kernel; None if it has."""
    q, _, s = map(order, maps_of(its.scores))
    p, v, o = map(order, maps_of(its.result))
    if q[:-1] != s[:-1] or p[:-1] != o[:-1] or v[-1] not in (o[-1], p[-1]):
        return "expected products of rows, as of Q and weights"
    for name, depth in zip("KV", depths(its), strict=True):
        if depth is None or depth > MOST_DEPTH:
            found = "?" if depth is None else depth
            return f"expected {name} of at most {MOST_DEPTH} columns, got {found}"
    return None


def depths(its: Attention) -> tuple[int | None, int | None]:
    """Return the columns of Q and K, and those of V, if any operand's type says."""
    sizes = sizes_of((its.scores, its.result))
    (q, *_), (*_, o) = maps_of(its.scores), maps_of(its.result)
    loops = (its.scores, order(q)[-1]), (its.result, order(o)[-1])
    depth, columns = map(sizes.known, loops)
    return depth, columns


# --- The kernel. ---


@dataclass(frozen=True, slots=True)
class AttentionPlan:
    """How a subgroup goes over what it multiplies."""

    rows: int = 16
    """Of the result, that it computes."""
    block: int = 32
    """Rows of K and V in a step, and columns of a matrix."""
    unrolled: bool = True
    """Whether Q and the sums are matrices in registers.  Else loops load Q again and
    keep sums in work-group memory: the kernel is as long for any number of columns."""


def plan_attention(device: Device | None, by_lanes: bool = False) -> AttentionPlan:
    """Return the plan for a device; None if that is not known.

    Its lanes multiply if `by_lanes`, else its matrix unit.

    >>> from coopc.device import LAVAPIPE
    >>> plan_attention(LAVAPIPE)
    AttentionPlan(rows=8, block=8, unrolled=False)
    """
    if device is None or device.amx is not None:
        return AttentionPlan(unrolled=device is None or by_lanes)
    if device.unrolls:
        return AttentionPlan(block=16, unrolled=False) if by_lanes else AttentionPlan()
    return AttentionPlan(rows=8, block=8, unrolled=False)


def unit_without_products(
    its: Attention, device: Device | None, precision: str
) -> str | None:
    """Return the matrix unit that does not multiply as attention does, if any."""
    problems = (recognised(op).problem for op in (its.scores, its.result))
    seen = (in_precision(x, precision) for x in problems)
    return next(filter(None, (unit_without(x, device) for x in seen)), None)


class AttentionKernel:
    """The text of a kernel on memrefs, whose arguments are Q, K, V and the outputs."""

    def __init__(
        self, its: Attention, found: Multiplication, plan: AttentionPlan
    ) -> None:
        self.its, self.plan = its, plan
        problem, result = recognised(its.scores).problem, found.problem
        self.q, self.k = Memory("%q", problem.a), Memory("%k", problem.b)
        self.v = Memory("%v", result.b)
        self.result = Operands(result, ["acc"] * len(result.outputs))
        depth, columns = depths(its)
        assert depth is not None, its
        assert columns is not None, its
        self.depth = depth
        """Columns of Q and K."""
        self.rows = problem.a.size("rows")
        self.length = problem.b.size("cols")
        """Rows of K and V; None where it is known when the kernel runs."""
        self.columns = columns
        """Columns of V and of the result."""
        (p,) = output_arguments(its.weights)
        matrix = f"!coopmatrix.matrix<{plan.rows}x{plan.block}x"
        self.acc, self.weights = f"{matrix}f32, acc>", f"{matrix}{p.type}, a>"
        self.q_type = f"{matrix}{self.q.element}, a>"
        padded = -(-columns // plan.block) * plan.block
        self.sums = f"memref<{plan.rows}x{padded}xf32, #simt.memory<workgroup>>"

    @property
    def text(self) -> str:
        plan, acc = self.plan, self.acc
        names = ["%top", "%total"]
        if plan.unrolled:
            names += [f"%o{t}" for t, _ in self._pieces(self.columns)]
        types = ", ".join([acc] * len(names))
        lines, whole = self._entry()
        first = ["%none", *["%zeros"] * (len(names) - 1)]
        given = ", ".join(f"{x} = {y}" for x, y in zip(names, first, strict=True))
        checked = self.length is None or self.length % plan.block > 0
        body, ends = self._block("%n", names, checked and not plan.unrolled)
        lines += f"""
  %loop:{len(names)} = scf.for %n = %c0 to {whole} step %c{plan.block}
      iter_args({given}) -> ({types}) {{{body}
    scf.yield {", ".join(ends)} : {types}
  }}"""
        found = [f"%loop#{at}" for at in range(len(names))]
        if not plan.unrolled:
            lines += self._over_sums(f"""
    %o = coopmatrix.load {AT_SUMS} : {self.sums} -> {acc}
    %r = coopmatrix.div %o, {found[1]} : {acc}
    {self._finish("%r", "%at")}""")
        elif self.length is None:
            body, ends = self._block(whole, found, checked)
            lines += f"""
  %rest = arith.cmpi ult, {whole}, %length : index
  %all:{len(names)} = scf.if %rest -> ({types}) {{{body}
    scf.yield {", ".join(ends)} : {types}
  }} else {{
    scf.yield {", ".join(found)} : {types}
  }}"""
            found = [f"%all#{at}" for at in range(len(names))]
        elif checked:
            body, found = self._block(whole, found, checked)
            lines += body
        for t, sums in enumerate(found[2:]):
            lines += f"""
  %r{t} = coopmatrix.div {sums}, {found[1]} : {acc}
  {self._finish(f"%r{t}", f"%c{plan.block * t}")}"""
        memories = self.q, self.k, self.v
        inputs = ", ".join(f"{x.name}: {x.matrix.type}" for x in memories)
        return kernel(f"{inputs}, {self.result.targets}", lines)

    def _finish(self, value: str, col: str) -> str:
        """Return the store of a matrix of the result."""
        checked = (*self.ragged, *beyond(self.columns % self.plan.block > 0, "cols"))
        return self.result.finish(value, ("%row", col), self.acc, checked)

    def _entry(self) -> tuple[str, str]:
        """Return what is before the loop, and where the loop ends."""
        plan, length, whole = self.plan, self.length, "%length"
        batch = "simt.workgroup_id z" if self.q.matrix.batched else "arith.constant 0"
        lines = ""
        if not plan.unrolled:
            lines += f"""
  %sums = memref.alloca() : {self.sums}"""
        lines += f"""
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %group = simt.workgroup_id x : index
  %row = arith.muli %group, %c{plan.rows} : index
  %batch = {batch} : index
  %none = coopmatrix.fill %least : f32 -> {self.acc}
  %zeros = coopmatrix.fill %zero : f32 -> {self.acc}
  %rows = {self._size(self.q, "rows", self.rows)}
  %length = {self._size(self.k, "cols", length)}
  %last_row = arith.subi %rows, %c1 : index
  %last_col = arith.subi %length, %c1 : index"""
        if not plan.unrolled:
            lines += self._over_sums(f"""
    coopmatrix.store %zeros, {AT_SUMS} : {self.acc}, {self.sums}""")
            return lines, whole
        for t, checks in self._pieces(self.depth):
            lines += f"""
  {self._load_q(f"%q{t}", f"%c{plan.block * t}", checks)}"""
        if length is not None:
            return lines, f"%c{length // plan.block * plan.block}"
        return (
            f"""{lines}
  %blocks = arith.divui %length, %c{plan.block} : index
  %whole = arith.muli %blocks, %c{plan.block} : index""",
            "%whole",
        )

    @staticmethod
    def _size(memory: Memory, axis: Axis, size: int | None) -> str:
        return memory.dim(axis) if size is None else f"arith.constant {size} : index"

    def _load_q(self, name: str, col: str, checks: bool) -> str:
        checked = (*self.ragged, *beyond(checks, "cols"))
        return self.q.load(name, ("%row", col), self.q_type, checked)

    def _over_sums(self, body: str) -> str:
        """Return a loop over the sums in work-group memory."""
        return f"""
  scf.for %at = %c0 to %c{self.columns} step %c{self.plan.block} {{{body}
  }}
  simt.barrier subgroup memory = <workgroup>"""

    def _block(
        self, n: str, before: Sequence[str], checked: bool
    ) -> tuple[str, list[str]]:
        """Return a step, for some rows of K and V, and what it makes of sums.

        Args:
            n: the first of the rows.
            before: the maxima, the totals and the sums.
            checked: whether there may be fewer rows than a block has.
        """
        acc, weights, (top, total, *sums) = self.acc, self.weights, before
        lines, score = self._scores(n, checked)
        safe = self._apply("%next", """
      %no = arith.cmpf oeq, %e, %least : f32
      %f = arith.select %no, %zero, %e : f32""")  # fmt: skip
        power = """
      %f = math.exp %e : f32"""
        lines += f"""
    %here = coopmatrix.reduce max rows broadcast {score} : {acc} -> {acc}
    %next = coopmatrix.max {top}, %here : {acc}
    %safe = {safe}
    %less = coopmatrix.sub {score}, %safe : {acc}
    %p = {self._apply("%less", power)}
    %gone = coopmatrix.sub {top}, %safe : {acc}
    %factor = {self._apply("%gone", power)}
    %kept = coopmatrix.mul {total}, %factor : {acc}
    %new = coopmatrix.reduce add rows broadcast %p : {acc} -> {acc}
    %totals = coopmatrix.add %kept, %new : {acc}
    %w = coopmatrix.convert %p : {acc} -> {weights}"""
        ends, b, inside = ["%next", "%totals"], self._b(self.v), beyond(checked, "rows")
        if not self.plan.unrolled:
            axes = (*inside, *beyond(self.columns % self.plan.block > 0, "cols"))
            # Lanes may load what others store.
            lines += self._over_sums(f"""
    %o = coopmatrix.load {AT_SUMS} : {self.sums} -> {acc}
    {self.v.load("%vs", (n, "%at"), b, axes)}
    %a = coopmatrix.mul %o, %factor : {acc}
    %s = coopmatrix.mul_add %w, %vs, %a : {weights}, {b}, {acc}
    simt.barrier subgroup memory = <workgroup>
    coopmatrix.store %s, {AT_SUMS} : {acc}, {self.sums}""")
            return lines, ends
        for t, checks in self._pieces(self.columns):
            axes = (*inside, *beyond(checks, "cols"))
            lines += f"""
    {self.v.load(f"%v{t}", (n, f"%c{self.plan.block * t}"), b, axes)}
    %a{t} = coopmatrix.mul {sums[t]}, %factor : {acc}
    %n{t} = coopmatrix.mul_add %w, %v{t}, %a{t} : {weights}, {b}, {acc}"""
            ends.append(f"%n{t}")
        return lines, ends

    def _b(self, memory: Memory) -> str:
        block = self.plan.block
        return f"!coopmatrix.matrix<{block}x{block}x{memory.element}, b>"

    def _scores(self, n: str, checked: bool) -> tuple[str, str]:
        """Return the scores of some rows of K, those beyond it the least number."""
        lines, score, b = "", "%zeros", self._b(self.k)
        block, acc, types = self.plan.block, self.acc, f"{self.q_type}, {b}, {self.acc}"
        inside = beyond(checked, "cols")
        if not self.plan.unrolled:
            checks, score = self.depth % block > 0, "%product"
            lines += f"""
    %product = scf.for %t = %c0 to %c{self.depth} step %c{block}
        iter_args(%part = %zeros) -> ({acc}) {{
      {self._load_q("%qs", "%t", checks)}
      {self.k.load("%ks", ("%t", n), b, (*beyond(checks, "rows"), *inside))}
      %s = coopmatrix.mul_add %qs, %ks, %part : {types}
      scf.yield %s : {acc}
    }}"""
        for t, checks in self._pieces(self.depth) if self.plan.unrolled else ():
            axes = (*beyond(checks, "rows"), *inside)
            lines += f"""
    {self.k.load(f"%k{t}", (f"%c{block * t}", n), b, axes)}
    %s{t} = coopmatrix.mul_add %q{t}, %k{t}, {score} : {types}"""
            score = f"%s{t}"
        if self.its.score is not None:
            body = f"""
      %i_m = arith.addi %row, %i : index
      %j_n = arith.addi {n}, %j : index"""
            row, col = "%i_m", "%j_n"
            if self.ragged:
                row, body = (
                    "%i_in",
                    f"""{body}
      %i_in = arith.minui %i_m, %last_row : index""",
                )
            if checked:
                col, body = (
                    "%j_in",
                    f"""{body}
      %j_in = arith.minui %j_n, %last_col : index""",
                )
            lines += f"""
    %score = {
                self._apply(
                    score,
                    f'''{body}
      %f = func.call @{SCORE}0(%batch, {row}, {col}, %e)
        : (index, index, index, f32) -> f32''',
                )
            }"""
            score = "%score"
        if checked:
            lines += f"""
    %masked = {
                self._apply(
                    score,
                    f'''
      %j_n = arith.addi {n}, %j : index
      %in = arith.cmpi ult, %j_n, %length : index
      %f = arith.select %in, %e, %least : f32''',
                )
            }"""
            score = "%masked"
        return lines, score

    def _apply(self, value: str, body: str) -> str:
        """Return what makes %f of each element %e, in row %i and column %j."""
        return f"""coopmatrix.apply (%i, %j, %e) in {value} : {self.acc} {{{body}
      coopmatrix.yield %f : f32
    }}"""

    @property
    def ragged(self) -> tuple[Axis, ...]:
        return beyond(self.rows is None or self.rows % self.plan.rows > 0, "rows")

    def _pieces(self, size: int) -> list[tuple[int, bool]]:
        """Return the numbers of matrices, and whether they go beyond a size."""
        block = self.plan.block
        return [(t, block * (t + 1) > size) for t in range(-(-size // block))]


def beyond(checked: bool, axis: Axis) -> tuple[Axis, ...]:
    """Return the axes along which an access is checked."""
    return (axis,) if checked else ()


def attention_in(func: FuncOp) -> Attention | None:
    """Return the attention that a function on memrefs is; None if it is not."""
    if len(func.body.blocks) != 1 or simt.KERNEL in func.attributes:
        return None
    ops = [op for op in func.body.block.ops if isinstance(op, linalg.GenericOp)]
    if any(op.results for op in ops) or (its := attention_of(ops)) is None:
        return None
    return its if why_not_kernel(its) is None else None


def become_attention(
    func: FuncOp, its: Attention, plan: AttentionPlan, ctx: Context
) -> None:
    """Put the kernel of attention in place of the body of a function."""
    of_scores, found = recognised(its.scores), recognised(its.result)
    if its.epilogue is not None:
        found = with_epilogue(found, [its.epilogue])
    calls: list[tuple[Consumers, Sequence[Result]]] = []
    if its.score is not None:
        sums = defined(its.scores)
        score = Consumers(sums, of_scores.at, SCORE)
        score.add(its.score)
        calls.append((score, [score.results[defined(its.score)]]))
    if found.consumers is not None:
        calls.append((found.consumers, found.stored))
    (q, k, _), (_, v, memory) = of_scores.memories, found.memories
    m, batched = of_scores.problem.a.dimension("rows"), found.problem.batched
    groups = [tiles(extent(func, q, m), plan.rows), AffineConstantExpr(1)]
    groups += [extent(func, q, 0)] * batched
    values = [q, k, v, memory, *(x.memory for x in found.stored)]
    text = AttentionKernel(its, found, plan).text
    put_kernel(func, text, ctx, its.result.location, values, calls, groups)


# --- The pass. ---


@dataclass(frozen=True)
class ConvertAttentionToCoopmatrixPass(ModulePass):
    name = "convert-attention-to-coopmatrix"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    precision: PrecisionName = "ieee"
    """How f32 is multiplied, as for `split-f32-products`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not uses_dialect(op, "linalg"):
            return
        known = self.device is not None or simt.target_of(op) is not None
        device = device_of(self.device, op, self.name) if known else None
        for func in op.ops:
            if not isinstance(func, FuncOp) or (found := attention_in(func)) is None:
                continue
            unit = unit_without_products(found, device, self.precision)
            if unit is not None:
                by = "vectors" if unit == "AMX" else "lanes"
                what = f"attention by {by}: {unit} does not multiply its types"
                remark(found.result, what)
                func.attributes[DISTRIBUTION] = CoopmatrixAttr(CoopmatrixFamily())
            plan = plan_attention(device, by_lanes=unit is not None)
            become_attention(func, found, plan, ctx)
