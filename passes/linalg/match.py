"""Matches functions that multiply matrices by `linalg`, or refuses.

A multiplication reads A (M x K) and B (K x N) and adds to C (M x N), each of them with
or without a leading batch dimension and each as it is or transposed:

    C[b, m, n] += cast(A[b, m, k]) * cast(B[b, k, n])

It is a `linalg.matmul`, a `linalg.batch_matmul` or a `linalg.generic` whose maps and
body say the same, perhaps after a `linalg.fill` of C.  Operations behind it may use its
sums, element by element: see `coopc.passes.linalg.epilogue`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StringAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.utils.hints import isa

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix.types import unsupported_element
from coopc.dialects.linalg_forms import BatchMatmulOp
from coopc.dialects.narrow import is_memref, is_nibble, is_tensor, memref_type
from coopc.dialects.shaped_arith import element_of
from coopc.interface import SCALAR_BYTES
from coopc.ir.device_option import element_name
from coopc.ir.transaction import Refused
from coopc.passes.linalg.epilogue import BATCH, Consumers, Place, Result
from coopc.passes.linalg.rows import Nest, factor_of, rows_of
from coopc.plan.core_gemm import is_of_dots
from coopc.plan.gemm import Fill, GemmOperand, Problem, is_of_vector

if TYPE_CHECKING:
    from coopc.device import Device
    from coopc.plan.tuning import Choice

MATMULS = (linalg.MatmulOp, BatchMatmulOp)
ProductOp = linalg.MatmulOp | BatchMatmulOp | linalg.GenericOp
ROW, COL = AffineDimExpr(1), AffineDimExpr(2)
CASTS = (arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp)


@dataclass(frozen=True, slots=True)
class Multiplication:
    """`C += A * B`, or `C = fill + A * B`."""

    op: Operation
    memories: tuple[SSAValue, SSAValue, SSAValue]
    """A, B and C: memrefs, which are arguments of a function.  C is the first output of
    the epilogue where the sums are in none."""
    problem: Problem
    fill: SSAValue | None = None
    """What C is before; None where it is what it was."""
    consumers: Consumers | None = None
    """The operations of the epilogue."""
    stored: tuple[Result, ...] = ()
    """What these store."""
    tuned: Choice | None = None
    """What of its plan `apply-tuning` has decided."""

    @property
    def at(self) -> Place:
        """Where in the memory of C the sum of an element is."""
        at = (COL, ROW) if self.problem.c.transposed else (ROW, COL)
        return (BATCH, *at) if self.problem.batched else at

    def output(self, result: Result) -> GemmOperand:
        """Return what the epilogue stores to, as a matrix."""
        signed = self.problem.c.element.startswith("s")
        transposed = result.at[-1] == ROW
        batch = 0 if self.problem.batched else None
        return _operand(result.memory, signed, transposed, batch)


def row_alignment(type: MemRefType) -> int:
    """Return what divides where rows of a memref begin, 0 for those without gaps.

    >>> from xdsl.dialects.builtin import StridedLayoutAttr, f16
    >>> layouts = (NoneAttr(), StridedLayoutAttr([24, 1], 16))
    >>> [row_alignment(MemRefType(f16, [4, 4], layout)) for layout in layouts]
    [0, 8]
    """
    if isinstance(type.layout, NoneAttr):
        return 0
    strides = type.get_strides()
    if strides is None:
        return 1
    known = (*strides[:-1], type.layout.get_offset())
    return gcd(*(1 if x is None else x for x in known))


def matched(
    func: FuncOp, recognise: Callable[[Operation], Multiplication] | None = None
) -> Multiplication | None:
    """Return what a function multiplies; None without linalg.

    With `recognise`, that says what an operation multiplies, in place of `recognised`.

    Raises:
        Refused: it has operations of linalg, but is no multiplication.
    """
    inside = (op for block in func.body.blocks for op in block.ops)
    ops = [op for op in inside if not isinstance(op, arith.ConstantOp | ReturnOp)]
    first = next((op for op in ops if op.name.startswith("linalg.")), None)
    if first is None:
        return None
    if len(func.body.blocks) > 1:
        raise Refused(first, "expected a function of one block, without branches")
    own = [op for op in ops if isinstance(op, memref.AllocOp)]
    ops = [op for op in ops if not _is_besides(op)]
    fill = ops[0] if isinstance(ops[0], linalg.FillOp) else None
    rest = ops if fill is None else ops[1:]
    if not rest:
        raise Refused(ops[0], "expected a multiplication after the fill")
    found = (recognise or recognised)(rest[0])
    if fill is not None:
        if fill.outputs[0] is not found.memories[2]:
            raise Refused(fill, "expected a fill of the output of the multiplication")
        value = fill.inputs[0]
        kind: Fill = "value" if constant_text(value) is None else "constant"
        found = replace(found, fill=value, problem=replace(found.problem, fill=kind))
    sums = found.memories[2]
    if rest[1:]:
        if fill is None and not isinstance(sums, BlockArgument):
            raise Refused(rest[0], "expected a fill of what the product is added to")
        found = with_epilogue(found, rest[1:])
    elif own:
        raise Refused(own[0], "expected an operation behind the product, which uses it")
    if not all(isinstance(each, BlockArgument) for each in found.memories):
        raise Refused(rest[0], "expected operands that are arguments of the function")
    return replace(found, tuned=choice_of(func))


def choice_of(func: FuncOp) -> Choice | None:
    """Return what `apply-tuning` has decided of the product of a function."""
    found = func.attributes.get(coopmatrix.TUNED)
    if not isinstance(found, StringAttr):
        return None
    from coopc.plan.tuning import read_choice  # what reads files is rarely needed

    return read_choice(found.data)


def _is_besides(op: Operation) -> bool:
    """Whether an operation is of memory of the function, sizes and numbers."""
    memory = memref.AllocOp | memref.DeallocOp | memref.DimOp
    return isinstance(op, memory) or op.dialect_name() == "arith"


def with_epilogue(found: Multiplication, ops: Sequence[Operation]) -> Multiplication:
    """Return a multiplication with the operations behind it.

    Raises:
        Refused: they are no epilogue.
    """
    a, b, sums = found.memories
    consumers = Consumers(sums, found.at)
    for op in ops:
        if isinstance(op, linalg.MatmulOp | BatchMatmulOp) or is_multiplication(op):
            reason = "expected one multiplication in a function and no more"
            raise Refused(op, reason)
        consumers.add(op)
    stored = consumers.finished(ops[-1])
    if any(result.memory in (a, b) for result in stored):
        raise Refused(
            ops[-1],
            "expected an output that is not an input, too: it is written in pieces",
        )
    memories = [found.output(result) for result in stored]
    epilogue = consumers.epilogue(stored, memories)
    problem = replace(found.problem, epilogue=epilogue)
    if sums in [x.memory for x in stored]:
        memory = sums
    else:
        memory = stored[0].memory
        c = replace(memories[0], element=problem.c.element)
        problem = replace(problem, c=c)
    return replace(
        found,
        memories=(a, b, memory),
        problem=problem,
        consumers=consumers,
        stored=stored,
    )


def matches(
    module: ModuleOp, recognise: Callable[[Operation], Multiplication] | None = None
) -> Iterator[tuple[FuncOp, Multiplication]]:
    """Yield the functions of a module that multiply, and pass over others."""
    for func in [x for x in module.ops if isinstance(x, FuncOp)]:
        with suppress(Refused):
            if (found := matched(func, recognise)) is not None:
                yield func, found


def dots_of(func: FuncOp, found: Multiplication) -> Nest | None:
    """Return a product as rows, if its elements are dot products of rows in memory."""
    if is_of_dots(found.problem):
        with suppress(Refused):
            return rows_of(func)
    return None


def is_vector_product(
    func: FuncOp, found: Multiplication, device: Device | None
) -> bool:
    """Return whether a product is left to be computed by rows: see `is_of_vector`."""
    if found.tuned is not None or not is_of_vector(found.problem, device):
        return False
    with suppress(Refused):
        rows_of(func)
        return True
    return False


def check_arguments(func: FuncOp) -> None:
    """Check that arguments have element types that a target supports.

    Raises:
        Refused: one has another type.
    """
    for arg in func.args:
        type = arg.type
        element: Attribute = type
        if is_memref(type) or is_tensor(type):
            element = element_of(type.get_element_type())
        if is_nibble(element) or str(element) in (*SCALAR_BYTES, "index"):
            continue
        known = ", ".join(SCALAR_BYTES)
        name = f"%{arg.name_hint or arg.index}"
        raise Refused(func, f"expected {name} of {known}, got {arg.type}")


def multiplications(
    module: ModuleOp, recognise: Callable[[Operation], Multiplication] | None = None
) -> Iterator[tuple[FuncOp, Multiplication]]:
    """Yield the functions of a module that multiply; not those of rows.

    Raises:
        Refused: one has operations of linalg, but is neither.
    """
    for func in list(module.ops):
        if not isinstance(func, FuncOp):
            continue
        try:
            found = matched(func, recognise)
        except Refused as no_product:
            if any(isinstance(x, MATMULS) or is_multiplication(x) for x in func.walk()):
                raise
            try:
                rows_of(func)
            except Refused as no_rows:
                raise no_rows from no_product
            continue
        if found is not None:
            check_arguments(func)
            yield func, found


def recognised(op: Operation, inner_batch: bool = False) -> Multiplication:
    """Return what an operation multiplies; see `loop_roles`.

    Raises:
        Refused: it is no multiplication.
    """
    if not isinstance(op, ProductOp):
        raise Refused(
            op,
            "expected linalg.matmul, linalg.batch_matmul or linalg.generic, "
            f"got {op.name}",
        )
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        raise Refused(
            op,
            "expected two inputs and one output, as a multiplication has, "
            f"got {len(op.inputs)} and {len(op.outputs)}",
        )
    a, b, c = values = (*op.inputs, *op.outputs)
    if found := next((x for x in values if not isa(x.type, MemRefType)), None):
        raise Refused(op, f"expected operands that are memrefs, got {found.type}")
    maps = [attr.data for attr in op.get_indexing_maps().data]
    if (roles := loop_roles(maps, inner_batch)) is None:
        shown = ", ".join(map(str, maps))
        raise Refused(
            op,
            "expected maps of (batch,) m, n and k, as a multiplication has, "
            f"got {shown}",
        )
    if (signs := body_signs(op)) is None:
        reason = "expected a body that adds the product of its inputs to its output"
        raise Refused(op, reason)
    check_elements(op)
    batch, m, k = roles
    # A and C are transposed where M is their last loop, B where K is.
    lasts, signed = (m, k, m), (*signs, all(signs))
    of_a, of_b, of_c = (
        _operand(
            memory,
            sign,
            order(axes)[-1] == last,
            None if batch is None else order(axes).index(batch),
        )
        for memory, axes, last, sign in zip(values, maps, lasts, signed, strict=True)
    )
    return Multiplication(op, (a, b, c), Problem(of_a, of_b, of_c))


def _operand(
    memory: SSAValue, signed: bool, transposed: bool, batch: int | None
) -> GemmOperand:
    type = memref_type(memory)
    strides = type.get_strides()
    shape = [None if x == DYNAMIC_INDEX else x for x in type.get_shape()]
    rows, cols = (x for x in range(len(shape)) if x != batch)
    if transposed:
        rows, cols = cols, rows
    return GemmOperand(
        str(type),
        element_name(type.get_element_type(), signed),
        (shape[rows], shape[cols]),
        (None, None) if strides is None else (strides[rows], strides[cols]),
        row_alignment(type),
        transposed,
        batch is not None,
        batch or 0,
        1 if batch is None else shape[batch],
    )


def is_multiplication(op: Operation) -> bool:
    try:
        recognised(op)
    except Refused:
        return False
    return True


def check_elements(op: ProductOp) -> None:
    """Check that matrices hold the elements.

    Raises:
        Refused: none does.
    """
    values = (*op.inputs, *op.outputs)
    types = [memref_type(x).get_element_type() for x in values]
    for type in types:
        if (reason := unsupported_element(type)) is not None:
            raise Refused(op, reason)
    widths = [x.bitwidth for x in types if isinstance(x, FixedBitwidthType)]
    if max(widths[:2]) > widths[2]:
        raise Refused(
            op,
            "expected an output of elements as wide as those of the inputs, or wider, "
            f"got {types[2]} for {types[0]} and {types[1]}",
        )
    if op.outputs[0] in op.inputs:
        raise Refused(
            op, "expected an output that is not an input, too: it is written in pieces"
        )


def order(map: AffineMap) -> list[int]:
    """Return which loop each dimension of a memref follows; -1 where it is none."""
    return [x.position if isinstance(x, AffineDimExpr) else -1 for x in map.results]


def map_of(loops: Sequence[int], count: int) -> AffineMap:
    """Return the map of `count` loops whose results are some of them."""
    return AffineMap(count, 0, tuple(map(AffineDimExpr, loops)))


def loop_roles(
    maps: list[AffineMap], inner_batch: bool = False
) -> tuple[int | None, int, int] | None:
    """Return which loops are the batch, m and k; None where it is no product.

    The batch is first; with `inner_batch` it may be second in A and B.

    >>> maps = [AffineMap.from_callable(f) for f in (
    ...     lambda m, n, k: (m, k), lambda m, n, k: (n, k), lambda m, n, k: (m, n))]
    >>> loop_roles(maps)
    (None, 0, 2)
    """
    a, b, c = operands = [order(map) for map in maps]
    found = groups_of(operands)
    if found is None or not len(found.rows) == len(found.cols) == len(found.along_k):
        return None
    (m, *more), (k, *_), batch = found.rows, found.along_k, None
    if found.batch:
        batch, *others = found.batch
        places = 1 + inner_batch
        more += others
        if c[0] != batch or not (batch in a[:places] and batch in b[:places]):
            return None
    return None if more else (batch, m, k)


@dataclass(frozen=True, slots=True)
class LoopGroups:
    """The loops of a product by the operands that they are in."""

    batch: frozenset[int]
    """In all of them."""
    rows: frozenset[int]
    """In A and C."""
    cols: frozenset[int]
    """In B and C."""
    along_k: frozenset[int]
    """In A and B."""


def groups_of(operands: Sequence[Sequence[int]]) -> LoopGroups | None:
    """Return the loops of a product, by the loops of the dimensions of A, B and C.

    None where it is no product of matrices.

    >>> groups_of(((0, 2, 1, 4), (0, 3, 1, 4), (0, 1, 2, 3)))
    LoopGroups(batch=frozenset({0, 1}), rows=frozenset({2}), cols=frozenset({3}), \
along_k=frozenset({4}))
    >>> groups_of(((0, 1), (0, 1), (0, 1))) is None
    True
    """
    if any(-1 in loops or len({*loops}) != len(loops) for loops in operands):
        return None
    a, b, c = map(frozenset, operands)
    found = LoopGroups(a & b & c, (a & c) - b, (b & c) - a, (a & b) - c)
    known = found.batch | found.rows | found.cols | found.along_k
    if known != a | b | c or not (found.rows and found.cols and found.along_k):
        return None
    return found


@dataclass(frozen=True, slots=True)
class Window:
    """How loops of a convolution in NHWC walk over an image.

    C[n, y, x, f] += A[n, y * sy + ky * dy, x * sx + kx * dx, c] * B[ky, kx, c, f]
    """

    strides: tuple[int, int]
    """Along y and x."""
    dilations: tuple[int, int]
    """The same of the filter."""
    by_filter: bool
    """Whether B is B[f, ky, kx, c]."""


def window_of(maps: list[AffineMap]) -> Window | None:
    """Return how a convolution walks over an image; None where it is none, in NHWC.

    >>> maps = [AffineMap.from_callable(f) for f in (
    ...     lambda n, y, x, f, i, j, c: (n, y * 2 + i, x * 2 + j, c),
    ...     lambda n, y, x, f, i, j, c: (i, j, c, f),
    ...     lambda n, y, x, f, i, j, c: (n, y, x, f))]
    >>> window_of(maps)
    Window(strides=(2, 2), dilations=(1, 1), by_filter=False)
    """
    image, weights, out = maps[0], order(maps[1]), order(maps[2])
    if out != [0, 1, 2, 3] or maps[2].num_dims != 7 or len(image.results) != 4:
        return None
    by_filter = weights[:1] == [3]
    ky, kx, c = weights[1:] if by_filter else weights[:-1]
    if sorted(weights) != [3, 4, 5, 6] or not (by_filter or weights[3] == 3):
        return None
    first, *walked, last = image.results
    if (first, last) != (AffineDimExpr(0), AffineDimExpr(c)):
        return None
    steps: list[tuple[int, int]] = []
    for expr, at, within in zip(walked, (1, 2), (ky, kx), strict=True):
        factors = [factor_of(expr, loop) for loop in range(7)]
        step, dilation = factors[at], factors[within]
        others = {x for n, x in enumerate(factors) if n not in (at, within)}
        if not step or not dilation or min(step, dilation) < 0 or others != {0}:
            return None
        if expr.eval([0] * 7, []) != 0:
            return None
        steps.append((step, dilation))
    (sy, dy), (sx, dx) = steps
    return Window((sy, sx), (dy, dx), by_filter)


def factors_of(op: ProductOp) -> tuple[SSAValue, SSAValue] | None:
    """Return the factors of what a body adds to its last argument; None if it does not.

    In the order that it multiplies them in.
    """
    block = op.regions[0].block
    last = block.last_op
    if not isinstance(last, linalg.YieldOp) or len(last.operands) != 1:
        return None
    total = last.operands[0].owner
    if not isinstance(total, arith.AddfOp | arith.AddiOp):
        return None
    for product, addend in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        found = product.owner
        if addend is block.args[-1] and isinstance(found, arith.MulfOp | arith.MuliOp):
            return found.lhs, found.rhs
    return None


def body_signs(op: ProductOp) -> tuple[bool, bool] | None:
    """Return whether a and b are extended as signed; None where it is no product."""
    if (factors := factors_of(op)) is None:
        return None
    (left, sign), (right, other) = map(uncast, factors)
    pair = tuple(op.regions[0].block.args[:-1])
    if (left, right) == pair:
        return sign, other
    return (other, sign) if (right, left) == pair else None


def uncast(value: SSAValue) -> tuple[SSAValue, bool]:
    owner = value.owner
    if isinstance(owner, CASTS):
        return owner.input, isinstance(owner, arith.ExtSIOp)
    return value, False


def constant_text(value: SSAValue) -> str | None:
    """Return a number as a dense attribute writes it; None for what is not constant."""
    if not isinstance(owner := value.owner, arith.ConstantOp):
        return None
    match owner.value:
        case IntegerAttr() as attr:
            return str(attr.value.data)
        case FloatAttr() as attr:
            return repr(attr.value.data)
        case _:
            return None


def extent(func: FuncOp, memory: SSAValue, dimension: int) -> AffineExpr:
    """Return the size of an argument, as an expression of the sizes of a function."""
    assert isinstance(memory, BlockArgument), memory
    if (size := memref_type(memory).get_shape()[dimension]) != DYNAMIC_INDEX:
        return AffineConstantExpr(size)
    sizes = [(each.argument, each.dimension) for each in simt.kernel_sizes(func)]
    return AffineDimExpr(sizes.index((memory.index, dimension)))


def tiles(size: AffineExpr, tile: int) -> AffineExpr:
    if isinstance(size, AffineConstantExpr):
        return AffineConstantExpr(-(-size.value // tile))
    return size.ceil_div(tile)
