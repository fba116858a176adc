"""What numpy makes of a function that is one product of matrices, with a bound.

The simulator takes a minute for 1000 x 1000 x 1000, as it adds product after product.
This is for functions without an epilogue; `test_product.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument

from coopc.device import signless
from coopc.passes.linalg.match import constant_text, matches
from coopc.plan.gemm import GemmOperand
from coopc.rounding import FORMATS
from coopc.run.arguments import encode
from coopc.sim.numerics import decoded
from coopc.sim.tracked import product_bound
from coopc.sim.values import CODED, Array

if TYPE_CHECKING:
    from coopc.interface_call import Given

TYPES = {"f16", "bf16", "f32", "s8", "u8", "s32", "u32"}
"""Element types whose sums of products f64 holds."""


def expected_product(
    module: ModuleOp, name: str, given: Sequence[Given]
) -> tuple[int, Array, Array | None] | None:
    """Return which argument a function changes, how, and how far off that may be.

    The bound is None where the bits are the same for any order of the sums.  None if
    the function is more than a product, or of other types.
    """
    products = (x for func, x in matches(module) if func.sym_name.data == name)
    found = next(products, None)
    if found is None or not {*found.problem.elements} <= TYPES:
        return None
    problem, places = found.problem, found.memories
    if problem.epilogue is not None or problem.fill == "value":
        return None
    numbers = [x.index for x in places if isinstance(x, BlockArgument)]
    arrays = [np.asarray(given[n]) for n in numbers]
    operands = problem.a, problem.b, problem.c
    a, b, c = map(_matrix, arrays, operands)
    if found.fill is not None:
        c = np.full_like(c, float(constant_text(found.fill) or 0))
    total = a @ b + c
    result, magnitude = (
        encode(total, signless(problem.c.element)),
        abs(a) @ abs(b) + abs(c),
    )
    bound = None
    if (format := FORMATS.get(problem.c.element)) is not None:
        whole = all((x == np.rint(x)).all() for x in (a, b, c))
        if not whole or magnitude.max(initial=0) >= 2.0 ** (format.fraction_bits + 1):
            half = 2.0 ** -(format.fraction_bits + 1)
            bound = product_bound(a.shape[-1], magnitude, total, half, half)
    if problem.c.transposed:
        result = result.swapaxes(-1, -2)
        bound = None if bound is None else bound.swapaxes(-1, -2)
    return numbers[2], result, bound


def _matrix(array: Array, operand: GemmOperand) -> Array:
    """Return the numbers of an operand, rows first."""
    if operand.element in CODED:
        array = decoded(array, operand.element)
    if operand.element == "u8":
        array = array.view(np.uint8)
    found = array.astype(np.float64)
    return found.swapaxes(-1, -2) if operand.transposed else found
