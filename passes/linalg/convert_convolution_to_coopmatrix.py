"""convert-convolution-to-coopmatrix: lowers convolutions to implicit products.

Before:  a func.func of a convolution in NHWC, as linalg.generic on memref arguments, of
         types that the device multiplies, optionally after a linalg.fill and before
         operations that use its sums element by element.  Channels, filters and the
         window are of known sizes.
After:   a kernel with a grid.  Each work-group computes a tile of a row of the result,
         x by filters, in a loop over the window, unless it is one place, and the
         channels.
Fails:   never; other functions stay as they are, with a remark where the channels are
         too few for the matrices of the device.

Nothing is copied: for a row y of the result and a place (ky, kx) of the window,

    A = image[n, y * sy + ky * dy, kx * dx + (0, sx, 2 sx, ..), :]     x by channels
    B = weights[ky, kx, :, :]                                          channels by f
    C = result[n, y, :, :]                                             x by f

are matrices in memory.  In NCHW they are not: neither rows nor columns of the weights
of a place are consecutive.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from coopc.device import Device
from coopc.dialects.narrow import memref_type
from coopc.ir.control_flow import uses_dialect
from coopc.ir.device_option import device_of, element_name
from coopc.ir.transaction import Refused
from coopc.passes.linalg.epilogue import Consumers, Place, Result
from coopc.passes.linalg.kernel_text import Operands, become_kernel, kernel
from coopc.passes.linalg.match import (
    Dimension,
    Multiplication,
    Window,
    body_signs,
    extent,
    tiles,
    window_of,
)
from coopc.plan.gemm import (
    Direct,
    GemmOperand,
    GemmPlan,
    Problem,
    Role,
    direct_tile,
    in_precision,
    plan_direct_gemm,
)
from coopc.remarks import remark
from coopc.rounding import PrecisionName

ROLES: tuple[Role, ...] = ("b", "y", "m", "n")
PLACE: Place = ROLES
"""Where an element of a result is."""


# --- what is convolved ---------------------------------------------------------------


def is_known(type: MemRefType) -> bool:
    """Whether memory has a known number of channels, consecutive, and then known steps.

    Those of batches and rows may be known when the kernel runs.
    """
    strides = type.get_strides()  # of a dynamic shape only the last two are right
    return (
        type.get_shape()[-1] != DYNAMIC_INDEX
        and strides is not None
        and None not in strides[-2:]
        and strides[-1] == 1
    )


def matrix(
    value: SSAValue,
    signed: bool,
    rows: tuple[int, int | None, int],
    transposed: bool = False,
) -> GemmOperand:
    """Return a matrix in memory of rank 4, whose columns are its last dimension.

    Args:
        value: the memory.
        signed: whether its integers are.
        rows: the dimension of rows, how many there are, if known, and how far they are
            apart.
        transposed: whether these rows are the columns of the matrix.
    """
    type = memref_type(value)
    strides = type.get_strides()
    dimension, count, step = rows
    assert strides is not None, type
    between = strides[dimension]
    assert between is not None, type
    element, cols = type.get_element_type(), type.get_shape()[-1]
    stride = step * between
    many = "?" if count is None else count
    text = f"memref<{many}x{cols}x{element}, strided<[{stride}, 1], offset: ?>>"
    shape, apart = (count, cols), (stride, 1)
    if transposed:
        shape, apart = (cols, count), (1, stride)
    name = element_name(element, signed)
    return GemmOperand(text, name, shape, apart, 1, transposed)


def known(size: int) -> int | None:
    return None if size == DYNAMIC_INDEX else size


class Convolution(Multiplication):
    """The product for a row of the result and a place of the window."""

    @property
    def alike(self) -> list[tuple[Dimension, Dimension]]:
        image, _, out = self.memories
        return [((image, 0), (out, 0))]

    @property
    def loops(self) -> dict[Role, Dimension]:
        return {role: (self.memories[2], n) for n, role in enumerate(ROLES)}


def convolution_of(func: FuncOp) -> tuple[Multiplication, Window] | None:
    """Return a convolution as the product of matrices that it is; None for others.

    Raises:
        Refused: operations behind it are no epilogue.
    """
    besides = memref.AllocOp | memref.DeallocOp | memref.DimOp | ConstantOp | ReturnOp
    inside = (op for block in func.body.blocks for op in block.ops)
    ops = [op for op in inside if not isinstance(op, besides)]
    first = ops[0] if ops else None
    fill = first if isinstance(first, linalg.FillOp) else None
    ops = ops if fill is None else ops[1:]
    op = ops[0] if ops else None
    if len(func.body.blocks) != 1 or not isinstance(op, linalg.GenericOp):
        return None
    maps = [attr.data for attr in op.indexing_maps]
    window = window_of(maps) if len(maps) == 3 and len(op.inputs) == 2 else None
    signs = None if window is None else body_signs(op)
    if window is None or signs is None or (fill is None and len(ops) > 1):
        return None
    if fill is not None and fill.outputs[0] is not op.outputs[0]:
        return None
    consumers, stored = None, tuple[Result, ...]()
    if len(ops) > 1:
        consumers = Consumers(op.outputs[0], PLACE)
        for each in ops[1:]:
            consumers.add(each)
        stored = consumers.finished(ops[-1])
    outputs = [x.memory for x in stored]
    suits = all(is_known(memref_type(x)) for x in (*op.operands, *outputs))
    suits = suits and DYNAMIC_INDEX not in memref_type(op.inputs[1]).get_shape()
    if not suits or any(x.at != PLACE or x.memory in op.inputs for x in stored):
        return None
    sums = op.outputs[0] if not stored or op.outputs[0] in outputs else outputs[0]
    problem = _problem(op, window, signs, consumers, stored)
    if fill is not None:
        problem = replace(problem, fill="value")
    memories = op.inputs[0], op.inputs[1], sums
    if not all(isinstance(x, BlockArgument) for x in memories):
        return None
    value = None if fill is None else fill.inputs[0]
    return Convolution(op, memories, problem, value, consumers, stored), window


def _problem(
    op: linalg.GenericOp,
    window: Window,
    signs: tuple[bool, bool],
    consumers: Consumers | None,
    stored: Sequence[Result],
) -> Problem:
    """Return the product for a row of the result and a place of the window."""
    image, weights, out = op.operands
    across = known(memref_type(out).get_shape()[2])
    at = 0 if window.by_filter else 2
    count = memref_type(weights).get_shape()[at]
    c = matrix(out, all(signs), (2, across, 1))
    a = matrix(image, signs[0], (2, across, window.strides[1]))
    b = matrix(weights, signs[1], (at, count, 1), window.by_filter)
    if consumers is None:
        return Problem(a, b, c)
    outputs = [matrix(x.memory, all(signs), (2, across, 1)) for x in stored]
    if out not in [x.memory for x in stored]:
        c = replace(outputs[0], element=c.element)
    return Problem(a, b, c, epilogue=consumers.epilogue(stored, outputs))


# --- the kernel ----------------------------------------------------------------------


def part(
    name: str, of: str, to: GemmOperand, offsets: str, sizes: str, step: int = 1
) -> str:
    """Return a matrix of memory of rank 4: two of its sizes are 1."""
    return f"""
  {name} = memref.subview {of.split(": ")[0]}[{offsets}] [{sizes}] [1, 1, {step}, 1]
    : {of.split(": ")[1]} to {to.type}"""


def convolving(found: Multiplication, window: Window, plan: GemmPlan) -> str:
    """Return the kernel, as text."""
    problem, its = found.problem, Operands(found.problem, plan.uses)
    its.outer = ["%batch", "%y"]
    types = [memref_type(x) for x in found.memories]
    names = ("%image", "%weights", "%result")
    given = [f"{name}: {type}" for name, type in zip(names, types, strict=True)]
    given += [f"%to{n}: {x.memory.type}" for n, x in enumerate(found.stored)]
    _, filters = problem.c.shape
    channels, across = problem.a.size("cols"), "%across"
    assert filters is not None, problem
    place, row = "%batch, %y, 0, 0", f"1, 1, {across}, {filters}"
    if (size := problem.c.size("rows")) is not None:
        row = f"1, 1, {(across := size)}, {filters}"
    outs = "".join(
        part(f"%out{n}", given[3 + n], output.memory, place, row)
        for n, output in enumerate(problem.outputs)
    ) + part("%c", given[2], problem.c, place, row)
    fill = [f"%fill: {its.c.element}"] if problem.fill != "nothing" else []
    shape = types[1].get_shape()
    ky, kx = shape[1:3] if window.by_filter else shape[:2]
    (m, n), k = plan.group, plan.depth
    a, b, c = (its.matrix(use, m, n, k) for use in ("a", "b", "acc"))
    a_checked, b_checked = (
        x.checked for x in (plan.a, plan.b) if isinstance(x, Direct)
    )
    (sy, sx), (dy, dx) = window.strides, window.dilations

    def product(y: str, x: str, at: tuple[str, str], before: str) -> str:
        """Return the product of a place of the image and one of the window."""
        of_b = f"{at[0]}, {at[1]}, 0, 0", f"1, 1, {channels}, {filters}"
        if window.by_filter:
            of_b = f"0, {at[0]}, {at[1]}, 0", f"{filters}, 1, 1, {channels}"
        of_a = f"%batch, {y}, {x}, 0", f"1, 1, {across}, {channels}"
        matrices = part("%a", given[0], problem.a, *of_a, sx)
        matrices += part("%b", given[1], problem.b, *of_b)
        return f"""{matrices}
      %sum = scf.for %k = %c0 to %c{channels} step %c{k}
          iter_args(%acc = {before}) -> ({c}) {{
        {its.a.load("%a_tile", ("%row", "%k"), a, a_checked)}
        {its.b.load("%b_tile", ("%k", "%col"), b, b_checked)}
        {its.multiply("%next", "%a_tile", "%b_tile", "%acc", (m, n, k))}
        scf.yield %next : {c}
      }}"""

    inside = product("%iy", "%ix", ("%ky", "%kx"), "%acc_x")
    total, sums = "%sum", product("%y0", "%c0", ("0", "0"), "%init")
    if ky * kx > 1:
        total, sums = "%all", f"""
  %all = scf.for %ky = %c0 to %c{ky} step %c1 iter_args(%acc_y = %init) -> ({c}) {{
    %y1 = arith.muli %ky, %c{dy} : index
    %iy = arith.addi %y0, %y1 : index
    %sum_y = scf.for %kx = %c0 to %c{kx} step %c1 iter_args(%acc_x = %acc_y) -> ({c}) {{
      %ix = arith.muli %kx, %c{dx} : index{inside}
      scf.yield %sum : {c}
    }}
    scf.yield %sum_y : {c}
  }}"""  # fmt: skip
    body = f"""
  %group = simt.workgroup_id x : index
  %tile_row = arith.divui %group, %c{-(-filters // n)} : index
  %row = arith.muli %tile_row, %c{m} : index
  %tile_col = arith.remui %group, %c{-(-filters // n)} : index
  %col = arith.muli %tile_col, %c{n} : index
  %y = simt.workgroup_id y : index
  %batch = simt.workgroup_id z : index
  %across = memref.dim {given[2].split(": ")[0]}, %c2 : {types[2]}
  %y0 = arith.muli %y, %c{sy} : index{outs}
  {its.initial("%init", ("%row", "%col"), c, plan.c.checked)}{sums}
  {its.finish(total, ("%row", "%col"), c, plan.c.checked)}"""
    return kernel(", ".join([*given, *fill]), body)


@dataclass(frozen=True)
class ConvertConvolutionToCoopmatrixPass(ModulePass):
    name = "convert-convolution-to-coopmatrix"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""
    precision: PrecisionName = "ieee"
    """As what `split-f32-products` lets the device multiply f32."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not uses_dialect(op, "linalg"):
            return
        device = device_of(self.device, op, self.name)
        for func in op.ops:
            if isinstance(func, FuncOp):
                with suppress(Refused):  # rows may do it
                    self._convert(ctx, func, device)

    def _convert(self, ctx: Context, func: FuncOp, device: Device) -> None:
        """Put a kernel in place of a function that convolves, if matrices suit it."""
        if (known := convolution_of(func)) is None:
            return
        found, window = known
        problem, out = found.problem, found.memories[2]
        a, b, c = elements = in_precision(problem, self.precision).elements
        if not device.multiplications(a, b, c, c):
            return
        tile = direct_tile(device, elements, problem.c.shape)
        plan = plan_direct_gemm(problem, device, tile)
        channels, filters = problem.a.size("cols"), problem.c.size("cols")
        assert filters is not None, problem
        if channels is None or 2 * channels < plan.depth:
            remark(
                found.op,
                f"done without matrices: {channels} channels fill less than half of "
                f"the K of {plan.depth} of a product of {device.name}",
            )
            return
        batch, height, across = (extent(func, out, x) for x in range(3))
        # Filters are the innermost of x: their number is known.
        x = tiles(across, plan.group[0]) * -(-filters // plan.group[1])
        text = convolving(found, window, plan)
        become_kernel(func, found, plan, text, ctx, [x, height, batch])
