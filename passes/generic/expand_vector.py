"""expand-vector: expands reductions of vectors, in order, and masks.

Before:  `vector.reduction`, `vector.create_mask`
After:   `vector.extract` and operations of `arith`, from the first component to the
         last. x86-64 keeps the reductions that LLVM computes in this order. A mask is
         a comparison of positions with its bounds.
Fails:   for combinations of integers on floats, and of floats on integers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    VectorType,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue

from coopc.dialects.narrow import vector_type
from coopc.emit.walker import count_of
from coopc.passes.generic.expansion import Code, ExpandPass, Expansions, Target

table = Expansions()

STRICT = arith.FastMathFlagsAttr("none")

COMBINED: dict[str, Callable[..., Operation]] = {
    op.name.removeprefix("arith."): op for op in arith.Arith.operations
}
"""What combines two elements, by its kind; `vector.reduction` and
`memref.atomic_rmw` leave out the last letter of some."""


def combined(
    code: Code,
    kind: str,
    a: SSAValue,
    b: SSAValue,
    fastmath: arith.FastMathFlagsAttr = STRICT,
) -> SSAValue:
    """Two elements as one.

    Args:
        code: to insert into.
        kind: of `vector.reduction` or `memref.atomic_rmw`.
        a: the first one.
        b: the second one.
        fastmath: what may be relaxed, of floats.
    """
    if kind == "assign":
        return b
    return code(combiner(kind, a.type, fastmath)(a, b))


def combiner(
    kind: str, element: Attribute, fastmath: arith.FastMathFlagsAttr = STRICT
) -> Callable[..., Operation]:
    """Return what makes one number of two."""
    if kind not in COMBINED:
        kind += "i" if is_whole(element) else "f"
    made = COMBINED[kind]
    return made if is_whole(element) else partial(made, flags=fastmath)


def is_whole(element: Attribute) -> bool:
    return isinstance(element, IndexType | IntegerType)


def reduction(value: SSAValue, kind: CombiningKindFlag) -> vector.ReductionOp:
    """Return what reduces a vector to one number: see `coopc.xdsl_gaps`."""
    return vector.ReductionOp.create(
        operands=[value],
        result_types=[vector_type(value).get_element_type()],
        properties={
            "kind": CombiningKindAttr(kind),
            "fastmath": arith.FastMathFlagsAttr("none"),
        },
    )


def is_one_by_one(op: vector.ReductionOp, target: Target) -> bool:
    """Whether a target has no reduction in order, or no start for it."""
    element = op.dest.type
    if target.language != "x86" or count_of(op.vector.type) == 1:
        return True
    if not (is_whole(element) or isinstance(element, Float32Type | Float64Type)):
        return True
    starts = str(op.kind.data) in ("add", "mul") and not is_whole(element)
    return op.acc is not None and not starts


@table.on(vector.ReductionOp, when=is_one_by_one)
def reduce(code: Code, op: vector.ReductionOp) -> SSAValue:
    """Component by component, in order."""
    found = op.acc
    for position in product(*map(range, vector_type(op.vector).get_shape())):
        one = code(vector.ExtractOp(op.vector, position, op.dest.type))
        if found is None:
            found = one
        else:
            found = combined(code, str(op.kind.data), found, one, op.fastmath)
    assert found is not None, op
    return found


@table.on(vector.CreateMaskOp)
def create_mask(code: Code, op: vector.CreateMaskOp) -> SSAValue:
    """Each position is below the bound of its dimension."""
    shape = vector_type(op.mask_vector).get_shape()
    places = list(product(*map(range, shape)))
    type, found = VectorType(IndexType(), shape), None
    for dimension, bound in enumerate(op.mask_dim_sizes):
        numbers = [place[dimension] for place in places]
        place = code(
            arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, numbers))
        )
        bounds = code(vector.BroadcastOp(bound, type))
        below = code(arith.CmpiOp(place, bounds, "slt"))
        found = below if found is None else code(arith.AndIOp(found, below))
    assert found is not None, op
    return found


class ExpandVectorPass(ExpandPass):
    name = "expand-vector"
    table = table
