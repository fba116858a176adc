"""`linalg.matmul` of narrow elements into wider ones, which xDSL 0.74 cannot build.

MLIR casts both operands to the element type of the result: floats are extended, and
integers are, as signed ones.  xDSL multiplies them as they are, which does not verify
where the types differ.  Importing this module changes xDSL's class in place, since
whoever has to do with an operation finds it by its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, ContainerType, IntegerType
from xdsl.dialects.linalg import Linalg, ops
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_integer

__all__ = ["Linalg"]


def cast_to(value: SSAValue, type: Attribute) -> SSAValue:
    """Return a value extended to a wider type of its kind; others as they are."""
    if value.type == type:
        return value
    if isinstance(type, AnyFloat) and isinstance(value.type, AnyFloat):
        return arith.ExtFOp(value, type).result
    if is_integer(type) and is_integer(value.type):
        return arith.ExtSIOp(value, type).result
    return value


def hidden_region(
    cls: type[ops.MatmulOp],
    inputs: Sequence[SSAValue],
    outputs: Sequence[SSAValue],
) -> Region:
    """Return the body of a multiplication: `c + cast(a) * cast(b)`."""
    for value in (*inputs, *outputs):
        type: object = value.type
        if not isinstance(type, ContainerType):
            raise VerifyException(f"expected memrefs or tensors, got {value.type}")
        element = cast("ContainerType[Attribute]", type).get_element_type()
        if not isinstance(element, AnyFloat | IntegerType):
            raise VerifyException(
                f"expected elements that are floats or integers, got {element}"
            )
    types = cast(Sequence[Attribute], cls.body_arg_types((*inputs, *outputs)))
    block = Block(arg_types=types)
    a, b, c = block.args
    with ImplicitBuilder(block):
        a, b = cast_to(a, c.type), cast_to(b, c.type)
        if isinstance(c.type, AnyFloat):
            total = arith.AddfOp(arith.MulfOp(a, b).result, c).result
        else:
            total = arith.AddiOp(arith.MuliOp(a, b).result, c).result
        ops.YieldOp(total)
    return Region(block)


ops.MatmulOp.get_hidden_region = classmethod(hidden_region)  # pyright: ignore[reportAttributeAccessIssue]
