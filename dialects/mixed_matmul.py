"""Multiplications of `linalg` that xDSL 0.74 cannot build, or cannot read.

    linalg.matmul ins(%a, %b : memref<4x8xf16>, ..) outs(%c : memref<4x4xf32>)
    linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(..) outs(..)      B transposed
    linalg.batch_matmul ins(..) outs(..)                                of rank 3

MLIR casts both operands to the element type of the result: floats are extended, and
integers are, as signed ones; convolutions do the same.  xDSL multiplies them as they
are, which does not verify where the types differ.  It neither reads nor prints maps.
Importing this module changes xDSL's classes in place, since whoever has to do with an
operation finds it by its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, linalg
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    ContainerType,
    IntegerType,
)
from xdsl.dialects.linalg import abstract_ops, ops
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Block, Dialect, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import OpDef, irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.narrow import is_integer


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
    cls: type[abstract_ops.NamedOperation],
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


def maps_of(*dimensions: str, loops: str) -> ArrayAttr[AffineMapAttr]:
    """Return maps that name the loop of each dimension of each operand.

    >>> print(maps_of("mk", loops="mnk"))
    [affine_map<(d0, d1, d2) -> (d0, d2)>]
    """
    point = AffineMap.identity(len(loops)).results
    results = (tuple(point[loops.index(x)] for x in of) for of in dimensions)
    return ArrayAttr(AffineMapAttr(AffineMap(len(loops), 0, x)) for x in results)


@irdl_op_definition
class BatchMatmulOp(abstract_ops.NamedOperation):
    """Multiply the matrices of a batch: `C[b, m, n] += A[b, m, k] * B[b, k, n]`.

    ```mlir
    %a, %b, %c = "test.op"() : () -> (memref<4x8x8xf32>, memref<4x8x8xf32>, memref<4x8x8xf32>)
    linalg.batch_matmul ins(%a, %b : memref<4x8x8xf32>, memref<4x8x8xf32>) outs(%c : memref<4x8x8xf32>)
    ```
    """  # noqa: E501

    name = "linalg.batch_matmul"

    PRINT_ATTRS_IN_FRONT: ClassVar[bool] = True

    indexing_maps = prop_def(
        ArrayAttr[AffineMapAttr],
        default_value=maps_of("bmk", "bkn", "bmn", loops="bmnk"),
    )

    @classmethod
    def get_hidden_region(
        cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]
    ) -> Region:
        return hidden_region(cls, inputs, outputs)

    def get_default_indexing_maps(self) -> Sequence[AffineMap]:
        return tuple(map.data for map in self.indexing_maps)

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        """Return the kinds of the loops: only the last one adds up."""
        parallel = (IteratorTypeAttr.parallel(),) * 3
        return ArrayAttr((*parallel, IteratorTypeAttr.reduction()))


def parse_product(cls: type[Any], parser: Parser) -> Any:
    """Parse `indexing_maps = [..]`, if they are given, and what xDSL reads."""
    maps = None
    if parser.parse_optional_keyword("indexing_maps") is not None:
        parser.parse_punctuation("=")
        start = parser.pos
        maps = parser.parse_attribute()
        if not isinstance(maps, ArrayAttr) or len(cast("ArrayAttr[Any]", maps)) != 3:
            parser.raise_error(f"expected three maps, got {maps}", start, parser.pos)
    op = NAMED_PARSE(cls, parser)
    if maps is not None:
        op.properties["indexing_maps"] = maps
    return op


def print_product(self: Any, printer: Printer) -> None:
    definition: OpDef = self.get_irdl_definition()
    if self.indexing_maps != definition.properties["indexing_maps"].default_value:
        printer.print_string(" indexing_maps = ")
        printer.print_attribute(self.indexing_maps)
    abstract_ops.NamedOperation.print(self, printer)


NAMED_PARSE: Any = abstract_ops.NamedOperation.parse.__func__

for product in (ops.MatmulOp, abstract_ops.ConvOperation):
    setattr(product, "get_hidden_region", classmethod(hidden_region))  # noqa: B010
for product in (ops.MatmulOp, BatchMatmulOp):
    setattr(product, "parse", classmethod(parse_product))  # noqa: B010
    setattr(product, "print", print_product)  # noqa: B010

Linalg = Dialect(
    "linalg", [*linalg.Linalg.operations, BatchMatmulOp], [*linalg.Linalg.attributes]
)
"""xDSL's dialect, and the multiplication of batches."""
