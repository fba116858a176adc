"""What a `linalg` operation multiplies: recognised as a value, or why it is none.

A multiplication reads A (M x K) and B (K x N) and adds to C (M x N), each of them with
or without a leading batch dimension and each as it is or transposed:

    C[b, m, n] += cast(A[b, m, k]) * cast(B[b, k, n])

It is a `linalg.matmul`, a `linalg.batch_matmul` or a `linalg.generic` whose maps and
body say the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, MemRefType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.utils.hints import isa

from coopc.dialects.coopmatrix.types import unsupported_element
from coopc.dialects.mixed_matmul import BatchMatmulOp
from coopc.dialects.simt import EqualSizes

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


@dataclass(frozen=True, slots=True)
class Multiplication:
    """`C += A * B`."""

    a: Operand
    b: Operand
    c: Operand

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
