"""convert-convolution-to-coopmatrix: lowers convolutions to implicit GEMMs.

Before:  a func.func with an NHWC convolution, as linalg.generic on memref arguments, of
         types that the device supports; a linalg.fill may precede it, and elementwise
         operations on its result may follow.  Channels, filters and window have static
         sizes.
After:   a kernel with a grid.  Each work-group computes a tile of a row of the result,
         x by filters, in a loop over the window, unless it is 1x1, and the channels.
Fails:   never; other functions are unchanged, with a remark if there are too few
         channels for the matrices of the device.

The image is not copied: for row y of the result and filter tap (ky, kx),

    A = image[n, y * sy + ky * dy, kx * dx + (0, sx, 2 sx, ..), :]     x by channels
    B = weights[ky, kx, :, :]                                          channels by f
    C = result[n, y, :, :]                                             x by f

are matrices in memory.  In NCHW they are not: neither rows nor columns of the weights
of a tap are consecutive.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from coopc.device import Device
from coopc.dialects.narrow import memref_type
from coopc.ir.control_flow import uses_dialect
from coopc.ir.device_option import device_of, element_name
from coopc.ir.transaction import Refused
from coopc.passes.linalg.epilogue import Place, Result
from coopc.passes.linalg.kernel_text import Operands, become_kernel, direct_loop, kernel
from coopc.passes.linalg.match import (
    Multiplication,
    Window,
    body_signs,
    check_elements,
    extent,
    matches,
    tiles,
    window_of,
)
from coopc.plan.gemm import (
    GemmOperand,
    GemmPlan,
    Problem,
    direct_tile,
    in_precision,
    plan_direct_gemm,
)
from coopc.remarks import remark
from coopc.rounding import PrecisionName

PLACE: Place = AffineMap.identity(4).results
"""Where an element is in a result."""
UNSUITED = "expected a convolution in NHWC of known sizes, with consecutive channels"


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
    rows: tuple[int, int, int],
    transposed: bool = False,
) -> GemmOperand:
    """Return a matrix in memory of rank 4, whose columns are its last dimension.

    Args:
        value: the memory.
        signed: whether its integers are.
        rows: the dimension of rows, how many there are, as a memref has it, and how far
            they are apart.
        transposed: whether these rows are the columns of the matrix.
    """
    type = memref_type(value)
    strides = type.get_strides()
    dimension, size, step = rows
    assert strides is not None, type
    between = strides[dimension]
    assert between is not None, type
    element, cols = type.get_element_type(), type.get_shape()[-1]
    stride = step * between
    count, many = (None, "?") if size == DYNAMIC_INDEX else (size, size)
    text = f"memref<{many}x{cols}x{element}, strided<[{stride}, 1], offset: ?>>"
    shape, apart = (count, cols), (stride, 1)
    if transposed:
        shape, apart = (cols, count), (1, stride)
    name = element_name(element, signed)
    return GemmOperand(text, name, shape, apart, 1, transposed)


@dataclass(frozen=True, slots=True)
class Convolution(Multiplication):
    """The product for a row of the result and a place of the window."""

    _: KW_ONLY
    window: Window

    @property
    def at(self) -> Place:
        return PLACE

    def output(self, result: Result) -> GemmOperand:
        if result.at != PLACE or not is_known(memref_type(result.memory)):
            raise Refused(self.op, UNSUITED)
        across = memref_type(self.memories[2]).get_shape()[2]
        signed = self.problem.c.element.startswith("s")
        return matrix(result.memory, signed, (2, across, 1))


def convolution(op: Operation) -> Convolution:
    """Return a convolution as the product of matrices that it is.

    Raises:
        Refused: it is none, or matrices do not suit it.
    """
    if not isinstance(op, linalg.GenericOp) or len(op.operands) != 3 or op.results:
        raise Refused(op, UNSUITED)
    window, signs = window_of([x.data for x in op.indexing_maps]), body_signs(op)
    if len(op.inputs) != 2 or window is None or signs is None:
        raise Refused(op, UNSUITED)
    image, weights, out = op.operands
    types = [memref_type(x) for x in op.operands]
    if not all(map(is_known, types)) or DYNAMIC_INDEX in types[1].get_shape():
        raise Refused(op, UNSUITED)
    check_elements(op)
    across, at = types[2].get_shape()[2], 0 if window.by_filter else 2
    problem = Problem(
        matrix(image, signs[0], (2, across, window.strides[1])),
        matrix(weights, signs[1], (at, types[1].get_shape()[at], 1), window.by_filter),
        matrix(out, all(signs), (2, across, 1)),
    )
    return Convolution(op, (image, weights, out), problem, window=window)


# --- the kernel ----------------------------------------------------------------------


def part(
    name: str, of: str, to: GemmOperand, offsets: str, sizes: str, step: int = 1
) -> str:
    """Return a matrix of memory of rank 4: two of its sizes are 1."""
    return f"""
  {name} = memref.subview {of.split(": ")[0]}[{offsets}] [{sizes}] [1, 1, {step}, 1]
    : {of.split(": ")[1]} to {to.type}"""


def convolving(found: Convolution, plan: GemmPlan) -> str:
    """Return the kernel, as text."""
    window, problem = found.window, found.problem
    its = Operands(problem, plan.uses)
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
    c = its.matrix("acc", m, n, k)
    (sy, sx), (dy, dx) = window.strides, window.dilations

    def product(y: str, x: str, at: tuple[str, str], before: str) -> str:
        """Return the product of a place of the image and one of the window."""
        of_b = f"{at[0]}, {at[1]}, 0, 0", f"1, 1, {channels}, {filters}"
        if window.by_filter:
            of_b = f"0, {at[0]}, {at[1]}, 0", f"{filters}, 1, 1, {channels}"
        of_a = f"%batch, {y}, {x}, 0", f"1, 1, {across}, {channels}"
        matrices = part("%a", given[0], problem.a, *of_a, sx)
        matrices += part("%b", given[1], problem.b, *of_b)
        return matrices + direct_loop(its, plan, f"%c{channels}", before)

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
    """How f32 is multiplied, as for `split-f32-products`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not uses_dialect(op, "linalg"):
            return
        device = device_of(self.device, op, self.name)
        for func, found in matches(op, convolution):
            assert isinstance(found, Convolution), found
            self._convert(ctx, func, found, device)

    def _convert(
        self, ctx: Context, func: FuncOp, found: Convolution, device: Device
    ) -> None:
        """Put a kernel in place of a function that convolves, if matrices suit it."""
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
                f"computed without matrices: {channels} channels fill less than half "
                f"of the K of {plan.depth} of a product of {device.name}",
            )
            return
        batch, height, across = (extent(func, out, x) for x in range(3))
        # Filters are the innermost of x: their number is known.
        x = tiles(across, plan.group[0]) * -(-filters // plan.group[1])
        text = convolving(found, plan)
        become_kernel(func, found, plan, text, ctx, [x, height, batch])
