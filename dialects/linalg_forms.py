"""Operations of `linalg` as MLIR 22 prints them, which xDSL 0.74 lacks or misreads.

    linalg.matmul ins(%a, %b : memref<4x8xf16>, ..) outs(%c : memref<4x4xf32>)
    linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(..) outs(..)      B transposed
    linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(..) outs(..)
    linalg.batch_matmul, matvec, vecmat, dot, contract, conv_1d_.., pooling_..
    linalg.matmul_transpose_b, ..                                       as MLIR 21 does
    linalg.div, tanh, ..; linalg.elementwise kind=#linalg.elementwise_kind<add> ..
    linalg.map { arith.addf } ins(..) outs(..)
    linalg.reduce { arith.addf } ins(..) outs(..) dimensions = [1]
    linalg.broadcast ins(..) outs(..) dimensions = [0]
    linalg.softmax dimension(1) ins(..) outs(..) -> ..

What a named operation means is its maps and its body, and these come from the tables
here: `PRODUCTS`, `POOLINGS` and `SCALARS`.  MLIR casts both factors to the element type
of the result: floats are extended, and integers are, as signed ones unless `cast` says
otherwise.  xDSL multiplies them as they are, which does not verify where types differ.

Importing this module changes xDSL's classes in place, since whoever has to do with an
operation finds it by its class; `linalg.broadcast` and `linalg.reduce`, which have
neither maps nor several operands there, are classes of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from typing import Any, ClassVar, Self, TypeVar, cast

from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, linalg, math
from xdsl.dialects.builtin import (
    I64,
    AffineMapAttr,
    AnyFloat,
    ArrayAttr,
    ContainerType,
    DenseArrayBase,
    DenseIntElementsAttr,
    FixedBitwidthType,
    FloatAttr,
    IntegerAttr,
    ShapedType,
    TensorType,
    i32,
    i64,
)
from xdsl.dialects.linalg import abstract_ops, ops
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Attribute, Block, Dialect, Operation, OpTraits, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OpDef,
    ParsePropInAttrDict,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    var_result_def,
)
from xdsl.irdl.operations import get_accessors_from_op_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.type import have_compatible_shape

from coopc.dialects.in_brackets import InBrackets
from coopc.dialects.narrow import is_integer, is_tensor
from coopc.dialects.shaped_arith import verify_also

OpT = TypeVar("OpT", bound=LinalgStructuredOperation)
DefinedT = TypeVar("DefinedT", bound=IRDLOperation)

Make = Callable[..., Operation]


def reciprocal(x: SSAValue) -> Operation:
    assert isinstance(x.type, AnyFloat)
    return arith.DivfOp(arith.ConstantOp(FloatAttr(1.0, x.type)), x)


def square(x: SSAValue) -> Operation:
    return (arith.MulfOp if isinstance(x.type, AnyFloat) else arith.MuliOp)(x, x)


SCALARS: dict[str, tuple[int, Make | None, Make | None]] = {
    "abs": (1, math.AbsFOp, math.AbsIOp),
    "add": (2, arith.AddfOp, arith.AddiOp),
    "ceil": (1, math.CeilOp, None),
    "div": (2, arith.DivfOp, arith.DivSIOp),
    "div_unsigned": (2, None, arith.DivUIOp),
    "erf": (1, math.ErfOp, None),
    "exp": (1, math.ExpOp, None),
    "floor": (1, math.FloorOp, None),
    "log": (1, math.LogOp, None),
    "max": (2, arith.MaximumfOp, arith.MaxSIOp),
    "max_signed": (2, arith.MaximumfOp, arith.MaxSIOp),
    "max_unsigned": (2, None, arith.MaxUIOp),
    "min": (2, arith.MinimumfOp, arith.MinSIOp),
    "min_signed": (2, arith.MinimumfOp, arith.MinSIOp),
    "min_unsigned": (2, None, arith.MinUIOp),
    "mul": (2, arith.MulfOp, arith.MuliOp),
    "negf": (1, arith.NegfOp, None),
    "powf": (2, math.PowFOp, None),
    "reciprocal": (1, reciprocal, None),
    "round": (1, math.RoundOp, None),
    "rsqrt": (1, math.RsqrtOp, None),
    "select": (3, arith.SelectOp, arith.SelectOp),
    "sqrt": (1, math.SqrtOp, None),
    "square": (1, square, square),
    "sub": (2, arith.SubfOp, arith.SubiOp),
    "tanh": (1, math.TanhOp, None),
}
"""Elementwise operations: how many operands, the operation on floats, on integers."""

PRODUCTS: dict[str, str] = {
    "batch_matmul": "b m k, b k n -> b m n",
    "batch_matmul_transpose_a": "b k m, b k n -> b m n",
    "batch_matmul_transpose_b": "b m k, b n k -> b m n",
    "batch_reduce_matmul": "b m k, b k n -> m n",
    "matmul_transpose_a": "k m, k n -> m n",
    "matmul_transpose_b": "m k, n k -> m n",
    "matvec": "m n, n -> m",
    "vecmat": "m, m n -> n",
    "batch_matvec": "b m k, b k -> b m",
    "batch_vecmat": "b k, b k n -> b n",
    "dot": "m, m ->",
    "mmt4d": "m k i l, n k j l -> m n i j",
    "batch_mmt4d": "b m k i l, b n k j l -> b m n i j",
    "conv_1d": "w+i, i -> w",
    "conv_1d_nwc_wcf": "n w+i c, i c f -> n w f",
    "conv_1d_ncw_fcw": "n c w+i, f c i -> n f w",
    "conv_2d": "h+i w+j, i j -> h w",
    "conv_3d": "d+p h+i w+j, p i j -> d h w",
    "conv_3d_ndhwc_dhwcf": "n d+p h+i w+j c, p i j c f -> n d h w f",
    "conv_3d_ncdhw_fcdhw": "n c d+p h+i w+j, f c p i j -> n f d h w",
    "depthwise_conv_1d_nwc_wc": "n w+i c, i c -> n w c",
    "depthwise_conv_1d_nwc_wcm": "n w+i c, i c m -> n w c m",
    "depthwise_conv_1d_ncw_cw": "n c w+i, c i -> n c w",
    "depthwise_conv_2d_nhwc_hwc": "n h+i w+j c, i j c -> n h w c",
    "depthwise_conv_2d_nhwc_hwcm": "n h+i w+j c, i j c m -> n h w c m",
    "depthwise_conv_2d_nchw_chw": "n c h+i w+j, c i j -> n c h w",
    "depthwise_conv_3d_ndhwc_dhwc": "n d+p h+i w+j c, p i j c -> n d h w c",
    "depthwise_conv_3d_ndhwc_dhwcm": "n d+p h+i w+j c, p i j c m -> n d h w c m",
    "depthwise_conv_3d_ncdhw_cdhw": "n c d+p h+i w+j, c p i j -> n c d h w",
}
"""The loops of each dimension of A, B and C; `h+i` is h * stride + i * dilation."""

QUANTIZED: dict[str, str] = {
    "quantized_matmul": "m k, k n -> m n",
    "quantized_batch_matmul": PRODUCTS["batch_matmul"],
    "conv_2d_nhwc_hwcf_q": "n h+i w+j c, i j c f -> n h w f",
    "conv_2d_nhwc_fhwc_q": "n h+i w+j c, f i j c -> n h w f",
    "conv_2d_nchw_fchw_q": "n c h+i w+j, f c i j -> n f h w",
    "conv_2d_nhwgc_gfhwc_q": "n h+i w+j g c, g f i j c -> n h w g f",
    "conv_2d_ngchw_gfchw_q": "n g c h+i w+j, g f c i j -> n g f h w",
    "conv_3d_ndhwc_dhwcf_q": PRODUCTS["conv_3d_ndhwc_dhwcf"],
    "depthwise_conv_2d_nhwc_hwc_q": PRODUCTS["depthwise_conv_2d_nhwc_hwc"],
    "depthwise_conv_2d_nhwc_hwcm_q": PRODUCTS["depthwise_conv_2d_nhwc_hwcm"],
}
"""The same of `c + (a - za) (b - zb)`; za and zb, the zero points, are numbers."""

POOLED = {
    "nwc": ("sum", "max", "min", "max_unsigned", "min_unsigned"),
    "nhwc": ("sum", "max", "min", "max_unsigned", "min_unsigned"),
    "ndhwc": ("sum", "max", "min"),
    "ncw": ("sum", "max"),
    "nchw": ("sum", "max"),
}
"""The kinds of pooling that each layout has."""

POOLINGS: dict[str, tuple[str, str]] = {
    f"pooling_{layout}_{kind}": (loops, scalar)
    for layout, loops in (
        ("nwc", "n w+i c, i -> n w c"),
        ("nhwc", "n h+i w+j c, i j -> n h w c"),
        ("ndhwc", "n d+p h+i w+j c, p i j -> n d h w c"),
        ("ncw", "n c w+i, i -> n c w"),
        ("nchw", "n c h+i w+j, i j -> n c h w"),
    )
    for kind, scalar in (
        *(("sum", "add"), ("max", "max"), ("min", "min")),
        *((f"{x}_unsigned", f"{x}_unsigned") for x in ("max", "min")),
    )
    if kind in POOLED[layout]
}
"""The same, and how an element joins the output; B only has the sizes of the window."""


KINDS = ("max_signed", "max_unsigned", "min_signed", "min_unsigned")
"""Names that are none of operations, but of kinds of `linalg.elementwise`."""

LOOPS_OF = {
    **PRODUCTS,
    **QUANTIZED,
    **{name: loops for name, (loops, _) in POOLINGS.items()},
}
SCALAR_OF = {
    **{name: name for name in SCALARS},
    **{name: scalar for name, (_, scalar) in POOLINGS.items()},
}


@irdl_attr_definition
class ElementwiseKindAttr(InBrackets):
    name = "linalg.elementwise_kind"
    VALUES = tuple(x for x in SCALARS if x not in ("max", "min"))


@irdl_attr_definition
class TypeFnAttr(InBrackets):
    """How integers are extended."""

    name = "linalg.type_fn"
    VALUES = ("cast_signed", "cast_unsigned")


def element_type(value: SSAValue) -> Attribute:
    """Return the type of the elements of an operand; a scalar is its own."""
    type: object = value.type
    if isinstance(type, ContainerType):
        return cast("ContainerType[Attribute]", type).get_element_type()
    return value.type


def body(
    operands: Sequence[SSAValue],
    compute: Callable[..., SSAValue | Operation],
    inputs: int | None = None,
) -> Region:
    """Return the body of an operation, which yields what `compute` makes of elements.

    Raises:
        VerifyException: an operand has elements that nothing is computed of, or there
            are not as many inputs as there have to be, and one output.
    """
    if inputs is not None and len(operands) != inputs + 1:
        raise VerifyException(
            f"expected {inputs} inputs and one output, got {len(operands)} operands"
        )
    types = [element_type(value) for value in operands]
    for type in types:
        if not isinstance(type, AnyFloat) and not is_integer(type):
            raise VerifyException(
                f"expected elements that are floats or integers, got {type}"
            )
    block = Block(arg_types=types)
    with ImplicitBuilder(block):
        ops.YieldOp(compute(*block.args))
    return Region(block)


def cast_to(value: SSAValue, type: Attribute, unsigned: bool = False) -> SSAValue:
    """Return a number as a number of another type."""
    if value.type == type or (make := cast_between(value.type, type, unsigned)) is None:
        return value  # an index does not verify
    return make(value, type).results[0]


def cast_between(source: Attribute, result: Attribute, unsigned: bool) -> Make | None:
    match isinstance(source, AnyFloat), isinstance(result, AnyFloat):
        case True, True:
            return arith.ExtFOp if is_wider(result, source) else arith.TruncFOp
        case True, False if is_integer(result):
            return arith.FPToUIOp if unsigned else arith.FPToSIOp
        case False, True if is_integer(source):
            return arith.UIToFPOp if unsigned else arith.SIToFPOp
        case False, False if is_integer(result) and is_integer(source):
            extend = arith.ExtUIOp if unsigned else arith.ExtSIOp
            return extend if is_wider(result, source) else arith.TruncIOp
        case _:
            return None


def is_wider(one: Attribute, other: Attribute) -> bool:
    assert isinstance(one, FixedBitwidthType), one
    assert isinstance(other, FixedBitwidthType), other
    return one.bitwidth > other.bitwidth


def scalar(name: str, *operands: SSAValue) -> Operation:
    """Compute what the table says, here.

    Raises:
        VerifyException: it has no such operation.
    """
    _, of_floats, of_integers = SCALARS[name]
    make = of_floats if isinstance(operands[-1].type, AnyFloat) else of_integers
    if make is None:
        raise VerifyException(f"{name} is not defined on {operands[-1].type}")
    return make(*operands)


def is_unsigned(cast: Attribute | None) -> bool:
    return isinstance(cast, TypeFnAttr) and cast.data == "cast_unsigned"


def copy_body(
    inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], cast: Attribute | None
) -> Region:
    def copy(x: SSAValue, y: SSAValue) -> SSAValue:
        return cast_to(x, y.type, is_unsigned(cast))

    return body((*inputs, *outputs), copy, 1)


def product_body(
    inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], cast: Attribute | None
) -> Region:
    """Return the body of a product: `c + cast(a) * cast(b)`."""

    def multiply_add(a: SSAValue, b: SSAValue, c: SSAValue) -> Operation:
        a, b = (cast_to(x, c.type, is_unsigned(cast)) for x in (a, b))
        return scalar("add", scalar("mul", a, b).results[0], c)

    return body((*inputs, *outputs), multiply_add, 2)


def quantized_body(inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> Region:
    """Return the body of a product of differences from zero points."""

    def multiply_add(
        a: SSAValue, b: SSAValue, za: SSAValue, zb: SSAValue, c: SSAValue
    ) -> Operation:
        a, za, b, zb = (cast_to(x, c.type) for x in (a, za, b, zb))
        one, other = scalar("sub", a, za), scalar("sub", b, zb)
        product = scalar("mul", one.results[0], other.results[0])
        return scalar("add", c, product.results[0])

    return body((*inputs, *outputs), multiply_add, 4)


def pooling_body(
    inputs: Sequence[SSAValue], outputs: Sequence[SSAValue], name: str
) -> Region:
    """Return the body of a pooling, which joins elements of A and C by an operation."""

    def join(x: SSAValue, window: SSAValue, y: SSAValue) -> Operation:
        return scalar(name, y, cast_to(x, y.type, name.endswith("_unsigned")))

    return body((*inputs, *outputs), join, 2)


def maps_of(
    loops: str, strides: Sequence[int] = (), dilations: Sequence[int] = ()
) -> tuple[AffineMap, ...]:
    """Return the maps of operands whose dimensions follow loops, by their names.

    Loops of the output come first, then the others.

    >>> [str(map) for map in maps_of("m k, k n -> m n")]
    ['(d0, d1, d2) -> (d0, d2)', '(d0, d1, d2) -> (d2, d1)', '(d0, d1, d2) -> (d0, d1)']
    >>> str(maps_of("h+i, i -> h", [2], [3])[0])
    '(d0, d1) -> (((d0 * 2) + (d1 * 3)))'
    """
    operands = [x.split() for x in loops.replace("->", ",").split(",")]
    inner = [name for of in operands[:2] for name in of if "+" not in name]
    order = [*dict.fromkeys([*operands[2], *inner])]
    windows = [x for x in operands[0] if "+" in x]

    def expression(dimension: str) -> AffineExpr:
        if "+" not in dimension:
            return AffineDimExpr(order.index(dimension))
        at = windows.index(dimension)
        outer, inside = (AffineDimExpr(order.index(x)) for x in dimension.split("+"))
        stride = strides[at] if strides else 1
        return outer * stride + inside * (dilations[at] if dilations else 1)

    return tuple(
        AffineMap(len(order), 0, tuple(map(expression, of))) for of in operands
    )


def kinds_of_loops(maps: Sequence[AffineMap]) -> ArrayAttr[IteratorTypeAttr]:
    """Return the kinds of loops: those of the output, which is last, are parallel."""
    of_output = {x.position for x in maps[-1].results if isinstance(x, AffineDimExpr)}
    parallel, reduction = IteratorType.PARALLEL, IteratorType.REDUCTION
    return ArrayAttr(
        IteratorTypeAttr(parallel if loop in of_output else reduction)
        for loop in range(maps[0].num_dims)
    )


def elementwise_maps(op: LinalgStructuredOperation) -> Sequence[AffineMap]:
    """Return the maps of an elementwise operation; a scalar goes with each element."""
    whole = AffineMap.identity(rank_of(op.outputs[0]))
    scalar = AffineMap(whole.num_dims, 0, ())
    return tuple(
        whole if isinstance(x.type, ShapedType) else scalar for x in op.operands
    )


class NamedForm(abstract_ops.NamedOperation):
    """An operation whose maps and body are in a table here, or are written with it."""

    PRINT_ATTRS_IN_FRONT: ClassVar[bool] = True
    indexing_maps = opt_prop_def(ArrayAttr[AffineMapAttr])
    strides = opt_prop_def(DenseIntElementsAttr)
    dilations = opt_prop_def(DenseIntElementsAttr)
    kind = opt_prop_def(ElementwiseKindAttr)
    cast = opt_prop_def(TypeFnAttr)

    @classmethod
    def body_of(
        cls,
        inputs: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        attributes: dict[str, Attribute],
    ) -> Region:
        kind = attributes.get("kind")
        own = cls.name.removeprefix("linalg.")
        name = (
            kind.data if isinstance(kind, ElementwiseKindAttr) else SCALAR_OF.get(own)
        )
        if own == "elementwise" and kind is None:
            raise VerifyException("expected a kind, such as kind=#.. before ins")
        if own == "contract" and "indexing_maps" not in attributes:
            raise VerifyException("expected indexing_maps = [..], which say what it is")
        if own in QUANTIZED:
            return quantized_body(inputs, outputs)
        if name is None:
            return product_body(inputs, outputs, attributes.get("cast"))
        operands, count = (*inputs, *outputs), len(inputs)

        def compute(*elements: SSAValue) -> Operation:
            return scalar(name, *elements[:count])

        if own in POOLINGS:
            return pooling_body(inputs, outputs, name)
        return body(operands, compute, SCALARS[name][0])

    @classmethod
    def get_hidden_region(
        cls, inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]
    ) -> Region:
        return cls.body_of(inputs, outputs, {})

    def get_default_indexing_maps(self) -> Sequence[AffineMap]:
        if self.indexing_maps is not None:
            return tuple(map.data for map in self.indexing_maps)
        loops = LOOPS_OF.get(self.name.removeprefix("linalg."))
        if loops is not None:
            steps = (
                () if x is None else tuple(map(int, x.get_values()))
                for x in (self.strides, self.dilations)
            )
            *of_inputs, of_output = maps_of(loops, *steps)
            scalars = len(self.operands) - len(of_inputs) - 1
            of_scalar = AffineMap(of_output.num_dims, 0, ())
            return (*of_inputs, *[of_scalar] * scalars, of_output)
        return elementwise_maps(self)

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        return kinds_of_loops(self.get_default_indexing_maps())


def rank_of(value: SSAValue) -> int:
    return len(value.type.get_shape()) if isinstance(value.type, ShapedType) else 0


@irdl_op_definition
class BatchMatmulOp(NamedForm):
    """Multiply the matrices of a batch: `C[b, m, n] += A[b, m, k] * B[b, k, n]`.

    ```mlir
    %a, %b, %c = "test.op"() : () -> (memref<4x8x8xf32>, memref<4x8x8xf32>, memref<4x8x8xf32>)
    linalg.batch_matmul ins(%a, %b : memref<4x8x8xf32>, memref<4x8x8xf32>) outs(%c : memref<4x8x8xf32>)
    ```
    """  # noqa: E501

    name = "linalg.batch_matmul"


def define(base: type[DefinedT], name: str) -> type[DefinedT]:
    """Define an operation of `linalg` of which the tables know more."""
    title = "".join(map(str.capitalize, name.split("_")))
    members = {"name": f"linalg.{name}", "__module__": __name__}
    cls = cast("type[DefinedT]", type(f"{title}Op", (base,), members))
    known = definition_of(base)
    traits = OpTraits(known.traits.gen_traits)
    own = replace(known, name=cls.name, traits=traits)
    for key, value in get_accessors_from_op_def(own, cls.verify_).items():
        setattr(cls, key, value)
    return cls


@cache
def definition_of(base: type[IRDLOperation]) -> OpDef:
    """The definition of all operations of a class, which takes longer than a class."""
    return OpDef.from_pyrdl(type("Op", (base,), {"name": "linalg.op"}))


KNOWN = {BatchMatmulOp.name, *(op.name for op in linalg.Linalg.operations)}
"""What xDSL has."""

FORMS = [
    define(NamedForm, name)
    for name in (*PRODUCTS, *QUANTIZED, *POOLINGS, *SCALARS, "contract", "elementwise")
    if (f"linalg.{name}" not in KNOWN or name in QUANTIZED) and name not in KINDS
]


def parse_operands(parser: Parser, keyword: str) -> list[SSAValue]:
    """Parse `keyword(%x, %y : X, Y)`, or nothing."""
    position = parser.pos
    if parser.parse_optional_keyword(keyword) is None:
        return []
    parser.parse_punctuation("(")
    names = parser.parse_comma_separated_list(
        Parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return [*parser.resolve_operands(names, types, position)]


def print_operands(printer: Printer, op: LinalgStructuredOperation) -> None:
    for keyword, operands in (("ins", op.inputs), ("outs", op.outputs)):
        if operands:
            printer.print_string(f" {keyword}(")
            printer.print_list(operands, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list(operands.types, printer.print_attribute)
            printer.print_string(")")


def parse_heading(parser: Parser) -> dict[str, Attribute]:
    """Parse what stands before `ins`."""
    attributes: dict[str, Attribute] = {}
    for name in SHOWN_BEFORE:
        if parser.parse_optional_keyword(name) is not None:
            parser.parse_punctuation("=")
            attributes[name] = parser.parse_attribute()
    return attributes | parser.parse_optional_attr_dict()


def parse_results(parser: Parser) -> Sequence[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return ()
    paren = Parser.Delimiter.PAREN
    several = parser.parse_optional_comma_separated_list(paren, parser.parse_type)
    return (parser.parse_type(),) if several is None else several


DEFAULT_STEPS = DenseIntElementsAttr.from_list(TensorType(i64, [2]), [1, 1])


def parse_named(cls: type[OpT], parser: Parser) -> OpT:
    """Parse a named operation: what stands before `ins` is read in any order."""
    start = parser.pos
    attributes = parse_heading(parser)
    inputs = parse_operands(parser, "ins")
    outputs = parse_operands(parser, "outs")
    if parser.parse_optional_keyword("attrs") is not None:
        parser.parse_punctuation("=")
        attributes |= parser.parse_optional_attr_dict()
    types = parse_results(parser)
    maps = attributes.get("indexing_maps")
    count = len(inputs) + len(outputs)
    if maps is not None and (
        not isinstance(maps, ArrayAttr) or len(cast("ArrayAttr[Any]", maps)) != count
    ):
        parser.raise_error(f"expected {count} maps, got {maps}", start, parser.pos)
    if not outputs:
        parser.raise_error("expected outs(..)", start, parser.pos)
    if issubclass(cls, abstract_ops.ConvOperation | abstract_ops.PoolingOperation):
        for name in ("strides", "dilations"):
            attributes.setdefault(name, DEFAULT_STEPS)
    if issubclass(cls, NamedForm):
        region = cls.body_of(inputs, outputs, attributes)
    elif issubclass(cls, ops.MatmulOp | abstract_ops.ConvOperation):
        region = product_body(inputs, outputs, attributes.get("cast"))
    elif issubclass(cls, ops.CopyOp):
        region = copy_body(inputs, outputs, attributes.get("cast"))
    else:
        assert issubclass(cls, abstract_ops.NamedOperation), cls
        region = cls.get_hidden_region(inputs, outputs)
    known = cls.get_irdl_definition().properties
    return cls.build(
        operands=(inputs, outputs),
        result_types=(types,),
        properties={x: attributes[x] for x in attributes if x in known},
        attributes={x: attributes[x] for x in attributes if x not in known},
        regions=(region,),
    )


SHOWN_BEFORE = ("kind", "indexing_maps")
HIDDEN = (*SHOWN_BEFORE, "linalg.memoized_indexing_maps", "operandSegmentSizes")


def print_named(self: Any, printer: Printer) -> None:
    definition: OpDef = self.get_irdl_definition()
    for name in SHOWN_BEFORE:
        value = self.properties.get(name)
        known = definition.properties.get(name)
        if value is not None and (known is None or value != known.default_value):
            printer.print_string(f" {name}{'=' if name == 'kind' else ' = '}")
            printer.print_attribute(value)
    rest = {**self.attributes, **self.properties}
    printer.print_op_attributes({x: rest[x] for x in rest if x not in HIDDEN})
    print_operands(printer, self)
    if self.res:
        printer.print_string(" -> ")
        with printer.in_parens() if len(self.res) > 1 else nullcontext():
            printer.print_list(self.res.types, printer.print_attribute)


setattr(abstract_ops.NamedOperation, "parse", classmethod(parse_named))  # noqa: B010
setattr(abstract_ops.NamedOperation, "print", print_named)  # noqa: B010


def complete_named(self: IRDLOperation) -> None:
    """Complete the generic form: steps of 1 are implied.

    How integers are extended is an attribute where xDSL has no such property.
    """
    known = self.get_irdl_definition().properties
    if "cast" in self.properties and "cast" not in known:
        self.attributes["cast"] = self.properties.pop("cast")
    if isinstance(self, abstract_ops.ConvOperation | abstract_ops.PoolingOperation):
        for name in ("strides", "dilations"):
            self.properties.setdefault(name, DEFAULT_STEPS)


setattr(abstract_ops.NamedOperation, "complete_generic", complete_named)  # noqa: B010


setattr(  # noqa: B010
    abstract_ops.ElementwiseOperation, "get_default_indexing_maps", elementwise_maps
)

for op, hidden in (
    (ops.MatmulOp, partial(product_body, cast=None)),
    (abstract_ops.ConvOperation, partial(product_body, cast=None)),
    (ops.PoolingNchwMaxOp, partial(pooling_body, name="max")),
    (ops.FillOp, partial(copy_body, cast=None)),
    (ops.CopyOp, partial(copy_body, cast=None)),
):
    setattr(op, "get_hidden_region", staticmethod(hidden))  # noqa: B010


class AlongDimensions(LinalgStructuredOperation):
    """An operation on all elements: of dimensions that are added, reduced or none.

    Its body is written out, or is one operation of the elements: `{ arith.addf }`.
    """

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())

    HAS_BODY: ClassVar[bool] = True
    HAS_DIMENSIONS: ClassVar[bool] = True
    INIT_FIRST: ClassVar[bool] = False
    """Whether the output is the first operand of one operation, and the input is next;
    otherwise the inputs are its operands."""

    dimensions = opt_prop_def(DenseArrayBase.constr(i64))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        assert issubclass(cls, AlongDimensions)
        payload = parse_payload(parser) if cls.HAS_BODY else None
        inputs = parse_operands(parser, "ins")
        outputs = parse_operands(parser, "outs")
        properties: dict[str, Attribute] = {}
        if cls.HAS_DIMENSIONS:
            parser.parse_keyword("dimensions")
            parser.parse_punctuation("=")
            found = parser.parse_comma_separated_list(
                Parser.Delimiter.SQUARE, parser.parse_integer
            )
            properties["dimensions"] = DenseArrayBase.from_list(i64, found)
        attributes = parser.parse_optional_attr_dict()
        operands = (*inputs, *outputs)
        if not cls.HAS_BODY:
            region = copy_body(inputs, outputs, None)
        elif payload is None:
            region = parser.parse_region(
                parser.parse_comma_separated_list(
                    Parser.Delimiter.PAREN, parser.parse_argument
                )
            )
        else:

            def compute(*elements: SSAValue) -> Operation:
                if cls.INIT_FIRST:
                    return payload(*reversed(elements))
                return payload(*elements[: len(inputs)])

            region = body(operands, compute)
        types = [x.type for x in outputs if is_tensor(x.type)]
        return cls.build(
            operands=(inputs, outputs),
            result_types=(types,),
            properties=properties,
            attributes=attributes,
            regions=(region,),
        )

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        if self.dimensions is not None:
            printer.print_string(" dimensions = ")
            with printer.in_square_brackets():
                printer.print_list(self.dimensions.get_values(), printer.print_int)
        printer.print_op_attributes(self.attributes)
        if self.HAS_BODY:
            printer.print_string(" ")
            with printer.in_parens():
                args = self.body.block.args
                printer.print_list(args, printer.print_block_argument)
            printer.print_string(" ")
            printer.print_region(self.body, print_entry_block_args=False)

    def complete_generic(self) -> None:
        """Complete the generic form, in which MLIR has no sizes of segments."""
        count = len(self.operands)
        outputs = count - count // 2 if isinstance(self, ReduceOp) else min(count, 1)
        sizes = DenseArrayBase.from_list(i32, [count - outputs, outputs])
        self.properties.setdefault("operandSegmentSizes", sizes)

    def verify_(self) -> None:
        inputs, outputs = len(self.inputs), len(self.outputs)
        wanted = max(inputs, 1) if isinstance(self, ReduceOp) else 1
        if outputs != wanted:
            raise VerifyException(f"expected {wanted} outputs, got {outputs}")
        super().verify_()

    def get_iterator_types(self) -> ArrayAttr[IteratorTypeAttr]:
        return kinds_of_loops([map.data for map in self.get_indexing_maps()])

    def get_indexing_maps(self) -> ArrayAttr[AffineMapAttr]:
        rank = max(map(rank_of, self.operands))
        chosen = () if self.dimensions is None else self.dimensions.get_values()
        whole = AffineMap.identity(rank)
        kept = tuple(x for n, x in enumerate(whole.results) if n not in chosen)
        part = AffineMap(rank, 0, kept)
        return ArrayAttr(
            AffineMapAttr(whole if rank_of(x) == rank else part) for x in self.operands
        )


def parse_payload(parser: Parser) -> Callable[..., Operation] | None:
    """Parse `{ arith.addf }` or nothing; return what makes the operation."""
    if parser.parse_optional_punctuation("{") is None:
        return None
    start = parser.pos
    name = parser.parse_identifier()
    attributes = parser.parse_optional_attr_dict()
    end = parser.pos
    parser.parse_punctuation("}")
    op = parser.ctx.get_optional_op(name)
    if (
        op is None
        or not issubclass(op, IRDLOperation)
        or name.partition(".")[0] not in ("arith", "math")
    ):
        parser.raise_error(f"expected an operation on numbers, got {name}", start, end)

    wanted = len(op.get_irdl_definition().operands)

    def make(*operands: SSAValue) -> Operation:
        if len(operands) != wanted:
            raise VerifyException(
                f"{name}: expected {wanted} operands, got {len(operands)}"
            )
        made = op(*operands)
        for key, value in attributes.items():
            known = key in op.get_irdl_definition().properties
            (made.properties if known else made.attributes)[key] = value
        return made

    return make


@irdl_op_definition
class MapOp(AlongDimensions):
    """Compute each element of the output from those of the inputs at its place.

    ```mlir
    %a, %b = "test.op"() : () -> (memref<4xf32>, memref<4xf32>)
    linalg.map ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) (%x: f32, %y: f32) {
      linalg.yield %x : f32
    }
    ```
    """

    name = "linalg.map"
    HAS_DIMENSIONS: ClassVar[bool] = False


@irdl_op_definition
class ReduceOp(AlongDimensions):
    """Reduce dimensions of the inputs into the outputs.

    ```mlir
    %a, %b = "test.op"() : () -> (memref<4x8xf32>, memref<4xf32>)
    linalg.reduce ins(%a : memref<4x8xf32>) outs(%b : memref<4xf32>) dimensions = [1] (%x: f32, %y: f32) {
      %sum = arith.addf %y, %x : f32
      linalg.yield %sum : f32
    }
    ```
    """  # noqa: E501

    name = "linalg.reduce"
    INIT_FIRST: ClassVar[bool] = True


@irdl_op_definition
class BroadcastOp(AlongDimensions):
    """Repeat the input along dimensions that it lacks.

    ```mlir
    %a, %b = "test.op"() : () -> (memref<4xf32>, memref<4x8xf32>)
    linalg.broadcast ins(%a : memref<4xf32>) outs(%b : memref<4x8xf32>) dimensions = [1]
    ```
    """

    name = "linalg.broadcast"
    HAS_BODY: ClassVar[bool] = False


@irdl_op_definition
class SoftmaxOp(IRDLOperation):
    """Compute `exp(x - m) / sum(exp(x - m))` along a dimension, whose maximum is m.

    ```mlir
    %a, %b = "test.op"() : () -> (memref<4x8xf32>, memref<4x8xf32>)
    linalg.softmax dimension(1) ins(%a : memref<4x8xf32>) outs(%b : memref<4x8xf32>)
    ```
    """

    name = "linalg.softmax"

    input = operand_def()
    output = operand_def()
    dimension = prop_def(IntegerAttr[I64])
    res = var_result_def(TensorType)

    assembly_format = (
        "attr-dict `dimension` `(` $dimension `)` `ins` `(` $input `:` type($input) `)`"
        "`outs` `(` $output `:` type($output) `)` (`->` type($res)^)?"
    )

    def verify_(self) -> None:
        rank, dimension = rank_of(self.input), self.dimension.value.data
        if not 0 <= dimension < rank:
            raise VerifyException(f"expected a dimension below {rank}, got {dimension}")
        if not isinstance(element_type(self.input), AnyFloat):
            raise VerifyException(f"expected floats, got {self.input.type}")
        if not have_compatible_shape(self.input.type, self.output.type):
            raise VerifyException(
                f"expected an output of the sizes of {self.input.type}, "
                f"got {self.output.type}"
            )
        if any(x.type != self.output.type for x in self.res):
            raise VerifyException(
                f"expected a result of the output's type {self.output.type}, "
                f"got {self.res[0].type}"
            )


def check_yield(op: ops.GenericOp) -> None:
    """Check that a body yields elements of the outputs, which xDSL does not."""
    wanted, last = [element_type(x) for x in op.outputs], op.body.block.last_op
    if not isinstance(last, ops.YieldOp) or [*last.operand_types] != wanted:
        shown = ", ".join(map(str, wanted))
        raise VerifyException(f"expected linalg.yield of {shown}")


verify_also(ops.GenericOp, check_yield)

UNSUPPORTED = {
    "pack": "write tensor.pad, tensor.expand_shape and linalg.transpose",
    "unpack": "write linalg.transpose, tensor.collapse_shape and tensor.extract_slice",
}
"""Operations that are refused where they are read, and what could be done."""


class UnsupportedOp(IRDLOperation):
    @classmethod
    def parse(cls, parser: Parser) -> UnsupportedOp:
        advice = UNSUPPORTED[cls.name.removeprefix("linalg.")]
        parser.raise_error(f"{cls.name} is not supported: {advice}")


OWN: list[type[Operation]] = [
    *FORMS,
    BatchMatmulOp,
    MapOp,
    ReduceOp,
    BroadcastOp,
    SoftmaxOp,
    *(define(UnsupportedOp, name) for name in UNSUPPORTED),
]
NAMES = {op.name for op in OWN}

Linalg = Dialect(
    "linalg",
    [*(op for op in linalg.Linalg.operations if op.name not in NAMES), *OWN],
    [*linalg.Linalg.attributes, ElementwiseKindAttr, TypeFnAttr],
)
"""xDSL's dialect, mended."""
