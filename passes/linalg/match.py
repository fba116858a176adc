"""Matches functions that multiply matrices by `linalg`, or says why they do not.

A multiplication reads A (M x K) and B (K x N) and adds to C (M x N), each of them with
or without a leading batch dimension and each as it is or transposed:

    C[b, m, n] += cast(A[b, m, k]) * cast(B[b, k, n])

It is a `linalg.matmul`, a `linalg.batch_matmul` or a `linalg.generic` whose maps and
body say the same, perhaps after a `linalg.fill` of C.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from coopc.dialects import simt
from coopc.dialects.coopmatrix.types import unsupported_element
from coopc.dialects.mixed_matmul import BatchMatmulOp
from coopc.dialects.simt import EqualSizes
from coopc.passes.coopmatrix.split_coopmatrix.tiling import element_name
from coopc.plan.gemm import Fill, Matrix, Problem

Product = linalg.MatmulOp | BatchMatmulOp | linalg.GenericOp
CASTS = (arith.ExtFOp, arith.ExtSIOp, arith.ExtUIOp)


@dataclass(frozen=True, slots=True)
class Operand:
    """A, B or C of a multiplication."""

    memory: SSAValue
    transposed: bool
    """Whether its last two dimensions are columns and rows."""
    batched: bool
    """Whether it has a leading dimension for the batch."""
    signed: bool
    """Whether its integers are extended as signed ones."""

    @property
    def type(self) -> MemRefType:
        """The type of the memref."""
        type = self.memory.type
        assert isa(type, MemRefType), type
        return type

    @property
    def argument(self) -> int:
        """The position among the arguments of a function, if it is one."""
        assert isinstance(self.memory, BlockArgument), self.memory
        return self.memory.index

    @property
    def dimensions(self) -> tuple[int, int]:
        """The dimensions of the memref that are rows and columns of the matrix."""
        rank = self.type.get_num_dims()
        return (rank - 1, rank - 2) if self.transposed else (rank - 2, rank - 1)

    @property
    def matrix(self) -> Matrix:
        """What plans need of it."""
        type, strides = self.type, self.type.get_strides()
        rows, cols = self.dimensions
        shape = [None if x == DYNAMIC_INDEX else x for x in type.get_shape()]
        return Matrix(
            str(type),
            element_name(type.get_element_type(), self.signed),
            (shape[rows], shape[cols]),
            (None, None) if strides is None else (strides[rows], strides[cols]),
            row_alignment(type),
            self.transposed,
        )


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


@dataclass(frozen=True, slots=True)
class Multiplication:
    """`C += A * B`, or `C = fill + A * B`."""

    op: Operation
    a: Operand
    b: Operand
    c: Operand
    fill: SSAValue | None = None
    """What C is before; None where it is what it was."""

    @property
    def problem(self) -> Problem:
        """What plans need of it."""
        fill: Fill = "nothing"
        if self.fill is not None:
            fill = "value" if constant_text(self.fill) is None else "constant"
        a, b, c = (x.matrix for x in (self.a, self.b, self.c))
        return Problem(a, b, c, self.batched, fill)

    @property
    def batched(self) -> bool:
        """Whether there is a batch of them."""
        return self.c.batched

    @property
    def equal_sizes(self) -> tuple[EqualSizes, ...]:
        """Which sizes are the same: K of A and B, M, N and the batch of them and C.

        Those that types say are not among them.
        """
        a, b, c = self.a, self.b, self.c
        pairs = [
            ((b, b.dimensions[0]), (a, a.dimensions[1])),
            ((c, c.dimensions[0]), (a, a.dimensions[0])),
            ((c, c.dimensions[1]), (b, b.dimensions[1])),
        ]
        if self.batched:
            pairs += [((b, 0), (a, 0)), ((c, 0), (a, 0))]
        return tuple(
            EqualSizes(x.argument, at, y.argument, like)
            for (x, at), (y, like) in pairs
            if DYNAMIC_INDEX in (x.type.get_shape()[at], y.type.get_shape()[like])
        )


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a function cannot become a kernel."""

    op: Operation
    reason: str


def matched(func: FuncOp) -> Multiplication | Refused | None:
    """Return what a function multiplies, or why not; None without linalg."""
    inside = (op for block in func.body.blocks for op in block.ops)
    ops = [op for op in inside if not isinstance(op, arith.ConstantOp | ReturnOp)]
    first = next((op for op in ops if op.name.startswith("linalg.")), None)
    if first is None:
        return None
    if len(func.body.blocks) > 1:
        return Refused(first, "expected a function of one block, without branches")
    fill = ops[0] if isinstance(ops[0], linalg.FillOp) else None
    rest = ops if fill is None else ops[1:]
    if not rest:
        return Refused(ops[0], "expected a multiplication after the fill")
    found = recognised(rest[0])
    if isinstance(found, str):
        return Refused(rest[0], found)
    if len(rest) > 1:
        return Refused(rest[1], "expected one multiplication in a function and no more")
    operands = (found.a, found.b, found.c)
    if not all(isinstance(each.memory, BlockArgument) for each in operands):
        return Refused(rest[0], "expected operands that are arguments of the function")
    if fill is None:
        return found
    if fill.outputs[0] is not found.c.memory:
        return Refused(fill, "expected a fill of the output of the multiplication")
    return replace(found, fill=fill.inputs[0])


def multiplications(module: ModuleOp) -> list[tuple[FuncOp, Multiplication]]:
    """Return the functions of a module that multiply.

    Raises:
        PassFailedException: one has operations of linalg, but is no multiplication.
    """
    found: list[tuple[FuncOp, Multiplication]] = []
    for func in module.ops:
        if not isinstance(func, FuncOp):
            continue
        match matched(func):
            case Multiplication() as multiplication:
                found.append((func, multiplication))
            case Refused(culprit, reason):
                culprit.emit_error(reason, PassFailedException(reason))
            case None:
                pass
    return found


def recognised(op: Operation) -> Multiplication | str:
    """Return what an operation multiplies, or why it is no multiplication."""
    if not isinstance(op, Product):
        return (
            "expected linalg.matmul, linalg.batch_matmul or linalg.generic, "
            f"got {op.name}"
        )
    values = (*op.inputs, *op.outputs)
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        return (
            "expected two inputs and one output, as a multiplication has, "
            f"got {len(op.inputs)} and {len(op.outputs)}"
        )
    if found := next((x for x in values if not isa(x.type, MemRefType)), None):
        return f"expected operands that are memrefs, got {found.type}"
    maps = [attr.data for attr in op.get_indexing_maps().data]
    if (roles := loop_roles(maps)) is None:
        shown = ", ".join(map(str, maps))
        return (
            "expected maps of (batch,) m, n and k, as a multiplication has, "
            f"got {shown}"
        )
    if (signs := body_signs(op)) is None:
        return "expected a body that adds the product of its inputs to its output"
    if (reason := _why_not_elements(op)) is not None:
        return reason
    batch, m, k = roles
    batched = batch is not None
    return Multiplication(
        op,
        Operand(values[0], order(maps[0])[-1] == m, batched, signs[0]),
        Operand(values[1], order(maps[1])[-1] == k, batched, signs[1]),
        Operand(values[2], order(maps[2])[-1] == m, batched, signed=all(signs)),
    )


def _why_not_elements(op: Product) -> str | None:
    """Say why no matrix holds the elements, or None."""
    a, b, c = (x.type for x in (*op.inputs, *op.outputs))
    types = [x.get_element_type() for x in (a, b, c) if isa(x, MemRefType)]
    for type in types:
        if (reason := unsupported_element(type)) is not None:
            return reason
    widths = [x.bitwidth for x in types if isinstance(x, FixedBitwidthType)]
    if max(widths[:2]) > widths[2]:
        return (
            "expected an output of elements as wide as those of the inputs, or wider, "
            f"got {types[2]} for {types[0]} and {types[1]}"
        )
    if op.outputs[0] in op.inputs:
        return "expected an output that is not an input, too: it is written in pieces"
    return None


def order(map: AffineMap) -> list[int]:
    """Return which loop each dimension of a memref follows; -1 where it is none."""
    return [x.position if isinstance(x, AffineDimExpr) else -1 for x in map.results]


def loop_roles(maps: list[AffineMap]) -> tuple[int | None, int, int] | None:
    """Return which loops are the batch, m and k; None where it is no product.

    >>> maps = [AffineMap.from_callable(f) for f in (
    ...     lambda m, n, k: (m, k), lambda m, n, k: (n, k), lambda m, n, k: (m, n))]
    >>> loop_roles(maps)
    (None, 0, 2)
    """
    a, b, c = map(order, maps)
    batch = None
    if len(a) == len(b) == len(c) == 3 and a[0] == b[0] == c[0]:
        batch = a[0]
        a, b, c = a[1:], b[1:], c[1:]
    if any(len(x) != 2 or len({*x}) != 2 or -1 in x for x in (a, b, c)):
        return None
    loops = {*a, *b, *c}
    only_a_c, only_b_c = ({*a} & {*c}) - {*b}, ({*b} & {*c}) - {*a}
    only_a_b = ({*a} & {*b}) - {*c}
    if len(loops) != 3 or not len(only_a_c) == len(only_b_c) == len(only_a_b) == 1:
        return None
    if batch in loops:
        return None
    return batch, only_a_c.pop(), only_a_b.pop()


def body_signs(op: Product) -> tuple[bool, bool] | None:
    """Return whether a and b are extended as signed; None where it is no product."""
    block = op.regions[0].block
    last = block.last_op
    if not isinstance(last, linalg.YieldOp) or len(last.operands) != 1:
        return None
    total = last.operands[0].owner
    if not isinstance(total, arith.AddfOp | arith.AddiOp):
        return None
    a, b, c = block.args
    for product, addend in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        multiply = product.owner
        if addend is not c or not isinstance(multiply, arith.MulfOp | arith.MuliOp):
            continue
        left, right = uncast(multiply.lhs), uncast(multiply.rhs)
        if (left[0], right[0]) == (a, b):
            return left[1], right[1]
        if (left[0], right[0]) == (b, a):
            return right[1], left[1]
    return None


def uncast(value: SSAValue) -> tuple[SSAValue, bool]:
    """Return what a value is extended from, and whether as a signed integer."""
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
    type = memory.type
    assert isa(type, MemRefType), type
    if (size := type.get_shape()[dimension]) != DYNAMIC_INDEX:
        return AffineConstantExpr(size)
    sizes = [(each.argument, each.dimension) for each in simt.kernel_sizes(func)]
    return AffineDimExpr(sizes.index((memory.index, dimension)))


def tiles(size: AffineExpr, tile: int) -> AffineExpr:
    """Return how many tiles cover a size."""
    if isinstance(size, AffineConstantExpr):
        return AffineConstantExpr(-(-size.value // tile))
    return size.ceil_div(tile)
