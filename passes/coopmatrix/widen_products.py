"""widen-products: widens f8 operands that the device does not multiply.

Before:  products of types that the device does not list.
After:   if the device lists them for a wider operand type that represents all values of
         the narrow one, the operands are converted first, with a remark.  Products of
         dynamic sizes stay, since conversions may go through memory.
Fails:   never.

    %d = mul_add %a, %b, %c : <f8E4M3FN, a>, <f8E5M2, b>, <f32, acc>
->  %x = convert %a : <f8E4M3FN, a> -> <f16, a>
    %y = convert %b : <f8E5M2, b> -> <f16, b>
    %d = mul_add %x, %y, %c : <f16, a>, <f16, b>, <f32, acc>

f16, bf16 and f32 represent every f8 value, except f16 for f8E8M0FNU. The product of two
is exact in f32, so each accumulator adds the same terms as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from coopc.device import Device
from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import matrix_type
from coopc.ir.builder import Builder
from coopc.ir.device_option import device_of, element_names
from coopc.remarks import remark

WIDER: dict[str, tuple[Attribute, ...]] = {
    "f8E4M3FN": (f16, bf16, f32),
    "f8E5M2": (f16, bf16, f32),
    "f8E8M0FNU": (bf16, f32),
}
"""Types that have all numbers of a type, in the order in which they are tried."""


def widened(
    op: coopmatrix.MulAddOp, device: Device
) -> tuple[Attribute, Attribute] | None:
    """Return the element types that a and b get; None where they keep theirs."""
    a, b, c, result = element_names(op)
    saturates = op.saturating is not None
    if device.multiplications(a, b, c, result, saturates):
        return None
    if not all(matrix.is_static for matrix in op.matrices.values()):
        return None
    own = matrix_type(op.a).element_type, matrix_type(op.b).element_type
    choices = ((type, *WIDER.get(type.name, ())) for type in own)
    for x, y in product(*choices):
        if device.multiplications(x.name, y.name, c, result, saturates):
            return x, y
    return None


@dataclass(frozen=True)
class WidenProductsPass(ModulePass):
    name = "widen-products"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        products = [x for x in op.walk() if isinstance(x, coopmatrix.MulAddOp)]
        if not products:
            return
        device = device_of(self.device, op, self.name)
        for each in products:
            if (types := widened(each, device)) is None:
                continue
            a, b, c, result = element_names(each)
            remark(
                each,
                f"{device.name} does not multiply {a} * {b} + {c} -> {result}: the "
                f"operands become {types[0]} and {types[1]}",
            )
            each.operands[0] = _converted(each, each.a, types[0])
            each.operands[1] = _converted(each, each.b, types[1])


def _converted(
    op: coopmatrix.MulAddOp, value: SSAValue, element: Attribute
) -> SSAValue:
    old = matrix_type(value)
    if old.element_type == element:
        return value
    convert = coopmatrix.ConvertOp(value, old.with_element(element))
    return Builder.at(op).effect(convert).results[0]
