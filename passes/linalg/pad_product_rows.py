"""pad-product-rows: copies operands of products whose rows are not aligned.

Before:  linalg functions on tensors, as from `fuse-linalg`, or with one product of
         memrefs.
After:   operands of large products whose row pitch is not a multiple of 16 bytes are
         first copied to memory with padded rows. If rows run along K, the product is
         unchanged. Otherwise it gains rows or columns, which are computed from
         uninitialized memory and never read.
Fails:   never; products of dynamic sizes, and those that a copy would not make faster,
         are unchanged.

    %e = tensor.empty() : tensor<4096x4104xf16>
    %p = tensor.insert_slice %b into %e[0, 0] [4096, 4097] [1, 1] : ..
    %r = linalg.matmul ins(%a, %p) .. -> tensor<4096x4104xf32>
    %c = tensor.extract_slice %r[0, 0] [4096, 4097] [1, 1] : ..

Otherwise each work-group copies such rows to work-group memory element by element: 4095
x 4097 x 4099 in f16 took 2.15 ms on an H100, and takes 0.57 ms with the copies of A, B
and C, 0.03 ms each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects import bufferization, tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.device import Device
from coopc.device.shape import ELEMENT_BITS
from coopc.dialects.narrow import memref_type, tensor_type
from coopc.ir.device_option import device_of, element_name
from coopc.ir.transaction import Refused, transaction
from coopc.passes.linalg.fuse_linalg import fuse, is_product, maps_of, remade
from coopc.passes.linalg.generalize_linalg import generalize_function
from coopc.passes.linalg.lift_memrefs_to_tensors import Lifter
from coopc.passes.linalg.match import body_signs, loop_roles, order, row_alignment
from coopc.passes.linalg.whole_functions import insert, is_one_product, replace
from coopc.plan.gemm import WIDTHS, GemmOperand, Problem

LEAST_WORK = 1 << 26
"""Products of elements, at least: 512 x 513 x 515 took 18.6 us on an H100, with the
three copies, and 22.7 us without."""
LEAST_READ = 128
"""Products for each element of A and B, M N / (M + N), at least: with 16 rows, a
product takes as long as a copy of B."""


@dataclass(frozen=True, slots=True)
class PaddedShapes:
    """The shapes of the operands of a product, and of its result, when copied."""

    memory: tuple[tuple[int, ...] | None, tuple[int, ...] | None]
    """Of A and B, with longer rows; None for one that is not copied."""
    operands: tuple[tuple[int, ...], tuple[int, ...]]
    result: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProductLoops:
    """The loops of a product on tensors of known sizes."""

    batch: int | None
    row: int
    col: int
    along_k: int
    sizes: dict[int, int]
    """How long each loop is."""
    of: tuple[list[int], list[int], list[int]]
    """The loops that the dimensions of A, B and C follow."""
    elements: tuple[str, str, str]
    """Of A, B and C, with signs, as `coopc.device` names them."""


def loops_of(op: linalg.GenericOp, device: Device) -> ProductLoops | None:
    """Return the loops of a product that a device has matrices for, else None."""
    if not op.results or not is_product(op):
        return None
    signs, roles = body_signs(op), loop_roles(maps_of(op))
    assert signs is not None, op
    assert roles is not None, op
    types = [tensor_type(x).element_type for x in op.operands]
    a, b, c = map(element_name, types, (*signs, all(signs)))
    of_a, of_b, of_c = map(order, maps_of(op))
    sizes: dict[int, int] = {}
    for dims, value in zip((of_a, of_b, of_c), op.operands, strict=True):
        sizes |= dict(zip(dims, tensor_type(value).get_shape(), strict=True))
    if min(sizes.values()) < 0 or not device.multiplications(a, b, c, c):
        return None
    batch, row, along_k = roles
    (col,) = {*sizes} - {batch, row, along_k}
    return ProductLoops(batch, row, col, along_k, sizes, (of_a, of_b, of_c), (a, b, c))


def problem_of(op: linalg.GenericOp, its: ProductLoops) -> Problem:
    """Return what a product of whole tensors multiplies, as plans describe it."""
    row, col, along_k = its.row, its.col, its.along_k

    def operand(at: int, *dims: int) -> GemmOperand:
        of, sizes = its.of[at], its.sizes
        apart = sizes[of[-1]]
        transposed = of.index(dims[0]) > of.index(dims[1])
        return GemmOperand(
            type=str(tensor_type(op.operands[at])),
            element=its.elements[at],
            shape=(sizes[dims[0]], sizes[dims[1]]),
            strides=(1, apart) if transposed else (apart, 1),
            transposed=transposed,
            batched=its.batch is not None,  # then it is the first dimension
            matrices=1 if its.batch is None else sizes[its.batch],
        )

    return Problem(
        operand(0, row, along_k), operand(1, along_k, col), operand(2, row, col)
    )


def padding_of(op: linalg.GenericOp, device: Device) -> PaddedShapes | None:
    """Return which operands of a product are to be copied, None for none."""
    if (found := loops_of(op, device)) is None:
        return None
    sizes, along_k = dict(found.sizes), found.along_k
    m, n, k = sizes[found.row], sizes[found.col], sizes[along_k]
    if m * n * k < LEAST_WORK or m * n < LEAST_READ * (m + n):
        return None
    longer = [longer_row(x) for x in op.inputs]
    for (*_, last), length in zip(found.of, longer, strict=False):
        if length is not None and last != along_k:
            sizes[last] = length
    of_a, of_b, result = (tuple(sizes[d] for d in dims) for dims in found.of)
    memory = [
        None if length is None else (*shape[:-1], length)
        for length, shape in zip(longer, (of_a, of_b), strict=True)
    ]
    if not any(memory):
        return None
    return PaddedShapes((memory[0], memory[1]), (of_a, of_b), result)


def longer_row(value: SSAValue) -> int | None:
    """Return how long rows of a tensor are in memory that is read by vectors.

    None where those that it has are aligned.
    """
    type = tensor_type(value)
    bits = ELEMENT_BITS[element_name(type.element_type, signed=True)]
    each, apart = max(WIDTHS) * 8 // bits, type.get_shape()[-1]
    if isinstance(value.owner, bufferization.ToTensorOp):
        apart = row_alignment(memref_type(value.owner.memref)) or apart
    return None if apart % each == 0 else -(-type.get_shape()[-1] // each) * each


def pad(op: linalg.GenericOp, padding: PaddedShapes) -> None:
    """Let a product compute of copies of its operands."""
    operands: list[SSAValue] = []
    for value, memory, shape in zip(
        op.inputs, padding.memory, padding.operands, strict=True
    ):
        if memory is not None:
            value = part(inside_of(value, memory, op), shape, op)
        operands.append(value)
    (init,), (result,) = op.outputs, op.results
    if padding.result != (shape := tuple(tensor_type(init).get_shape())):
        init = inside_of(init, padding.result, op)
    (found,) = insert(remade(op, operands, [init]), op)
    found.name_hint = result.name_hint
    replace(op, [part(found, shape, op)])


def inside_of(value: SSAValue, shape: tuple[int, ...], before: Operation) -> SSAValue:
    """Return a larger tensor that begins with the elements of another one."""
    type = tensor_type(value)
    larger = TensorType(type.element_type, shape)
    (empty,) = insert(tensor.EmptyOp([], larger), before)
    if isinstance(value.owner, linalg.FillOp):
        return insert(linalg.FillOp(value.owner.inputs, [empty], [larger]), before)[0]
    at, sizes, steps = _whole(type.get_shape())
    slice = tensor.InsertSliceOp.from_static_parameters(value, empty, at, sizes, steps)
    return insert(slice, before)[0]


def part(value: SSAValue, shape: tuple[int, ...], before: Operation) -> SSAValue:
    """Return the beginning of a tensor."""
    if tuple(tensor_type(value).get_shape()) == shape:
        return value
    slice = tensor.ExtractSliceOp.from_static_parameters(value, *_whole(shape))
    return insert(slice, before)[0]


def _whole(shape: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Return offsets, sizes and strides of a slice."""
    return [0] * len(shape), [*shape], [1] * len(shape)


def lifted(func: FuncOp) -> FuncOp:
    """Return a function of one product of memrefs as one on tensors, if it can be."""
    new = func.clone()
    try:
        Lifter(new).lift()
        generalize_function(new)
    except Refused:
        return func
    fuse(new.body.block)
    return new


PlanT = TypeVar("PlanT")


def change_products(
    module: ModuleOp,
    plan_of: Callable[[linalg.GenericOp], PlanT | None],
    change: Callable[[linalg.GenericOp, PlanT], None],
) -> None:
    """Change the products of a module that have a plan.

    Functions of one product of memrefs become ones on tensors, if they are changed.
    """
    with transaction(module) as draft:
        for func in [x for x in draft.ops if isinstance(x, FuncOp)]:
            whole = lifted(func) if is_one_product(func) else func
            products = [
                (each, found)
                for each in whole.body.walk()
                if isinstance(each, linalg.GenericOp)
                and (found := plan_of(each)) is not None
            ]
            if products and whole is not func:
                Rewriter.replace_op(func, whole)
            for each, found in products:
                change(each, found)


@dataclass(frozen=True)
class PadProductRowsPass(ModulePass):
    name = "pad-product-rows"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        change_products(op, lambda x: padding_of(x, device), pad)
