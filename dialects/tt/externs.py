"""Functions of a library on each element, by the name that the library gives them.

A function of mathematics is an operation of `math` or `arith`, whoever has it:

    __imf_tanhf, __nv_tanhf, _Z16__spirv_ocl_tanhf    math.tanh
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffect
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.tt.checks import expect_like

FUNCTIONS: Mapping[str, type[IRDLOperation]] = {
    "acos": math.AcosOp,
    "acosh": math.AcoshOp,
    "asin": math.AsinOp,
    "asinh": math.AsinhOp,
    "atan": math.AtanOp,
    "atan2": math.Atan2Op,
    "atanh": math.AtanhOp,
    "cbrt": math.CbrtOp,
    "ceil": math.CeilOp,
    "copysign": math.CopySignOp,
    "cos": math.CosOp,
    "cosh": math.CoshOp,
    "erf": math.ErfOp,
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "expm1": math.ExpM1Op,
    "fabs": math.AbsFOp,
    "floor": math.FloorOp,
    "fma": math.FmaOp,
    "fmax": arith.MaxnumfOp,
    "fmin": arith.MinnumfOp,
    "log": math.LogOp,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
    "log2": math.Log2Op,
    "nearbyint": math.RoundEvenOp,
    "pow": math.PowFOp,
    "rint": math.RoundEvenOp,
    "round": math.RoundOp,
    "rsqrt": math.RsqrtOp,
    "sin": math.SinOp,
    "sinh": math.SinhOp,
    "sqrt": math.SqrtOp,
    "tan": math.TanOp,
    "tanh": math.TanhOp,
    "trunc": math.TruncOp,
}
"""By the name that the C library has for a function of f64."""

_LIBRARY = re.compile(r"__(?:imf|nv)_(?P<name>\w+)")
"""Intel's library for devices, and CUDA's."""
_BUILTIN = re.compile(r"_Z(?P<length>\d+)(?P<rest>__spirv_ocl_\w+)")
"""OpenCL's, as LLVM IR spells them: the length of the name, the name, the operands."""


def function_of(symbol: str) -> type[IRDLOperation] | None:
    """Return the operation that a function is, if it is one.

    >>> function_of("__imf_tanhf").name
    'math.tanh'
    >>> function_of("__imf_log2").name
    'math.log2'
    >>> function_of("_Z15__spirv_ocl_expf").name
    'math.exp'
    """
    if (found := _BUILTIN.fullmatch(symbol)) is not None:
        name = found["rest"][: int(found["length"])]
        return FUNCTIONS.get(name.removeprefix("__spirv_ocl_"))
    if (found := _LIBRARY.fullmatch(symbol)) is None:
        return None
    name = found["name"]
    return FUNCTIONS.get(name) or FUNCTIONS.get(name.removesuffix("f"))


class PureOrNot(MemoryEffect):
    """What is not `pure` does whatever it likes."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        """Return what `op` does to memory; None is anything."""
        pure = op.properties["pure"]
        is_pure = isinstance(pure, IntegerAttr) and bool(pure.value.data)
        return set[EffectInstance]() if is_pure else None


@irdl_op_definition
class ExternElementwiseOp(IRDLOperation):
    """A function of a library, on each element.

    | value        | type                    |
    |--------------|-------------------------|
    | srcs, result | numbers, or tensors of  |

    ```mlir
    %x = "test.op"() : () -> tensor<16xf32>
    %y = tt.extern_elementwise %x
         {libname = "", libpath = "", pure = true, symbol = "__imf_tanhf"}
         : (tensor<16xf32>) -> tensor<16xf32>
    ```
    """

    name = "tt.extern_elementwise"

    srcs = var_operand_def()
    libname = prop_def(StringAttr)
    libpath = prop_def(StringAttr)
    pure = prop_def(BoolAttr)
    symbol = prop_def(StringAttr)
    result = result_def()

    traits = traits_def(PureOrNot())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"

    def __init__(
        self, srcs: Sequence[SSAValue], symbol: str, result_type: Attribute
    ) -> None:
        super().__init__(
            operands=[srcs],
            properties={
                "libname": StringAttr(""),
                "libpath": StringAttr(""),
                "pure": IntegerAttr.from_bool(True),
                "symbol": StringAttr(symbol),
            },
            result_types=[result_type],
        )

    def verify_(self) -> None:
        """Check that there is something to apply it to, in one shape."""
        if not self.srcs:
            raise VerifyException("expected one operand or more, got none")
        for at, src in enumerate(self.srcs):
            name = f"operand {at}"
            expect_like(name, src.type, "the result", self.result.type)
