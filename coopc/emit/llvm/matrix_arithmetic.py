"""`coopmatrix` arithmetic on matrices that are vectors: LLVM's own, element by element.

| operation       | integers   | floats |
|-----------------|------------|--------|
| add, sub, mul   | the same   | f...   |
| div             | sdiv, udiv | fdiv   |
| neg             | sub of 0   | fneg   |
| and, or, xor    | the same   |        |
| scale           | mul        | fmul   |

Others are refused by name: the element loop, over `length`, says them all.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Attribute, Operation

from coopc.dialects import coopmatrix
from coopc.dialects.narrow import is_integer
from coopc.emit.llvm.emission import Emission
from coopc.emit.llvm.handlers import Handlers
from coopc.emit.structured import Refusal
from coopc.llvm.types import Vector
from coopc.llvm.values import integer

handlers = Handlers()

_BINARY: dict[type[Operation], tuple[str, str]] = {
    coopmatrix.AddOp: ("add", "fadd"),
    coopmatrix.SubOp: ("sub", "fsub"),
    coopmatrix.MulOp: ("mul", "fmul"),
    coopmatrix.AndOp: ("and", ""),
    coopmatrix.OrOp: ("or", ""),
    coopmatrix.XorOp: ("xor", ""),
}
"""Opcodes for integers and for floats."""


def _check(type: Attribute) -> None:
    if isinstance(type, BFloat16Type):
        raise Refusal("expected arithmetic of f32 or f16 as LLVM has it, got bf16")


def _binary(e: Emission, op: coopmatrix.BinaryOp) -> None:
    element = op.matrix.element_type
    _check(element)
    opcode = _BINARY[type(op)][0 if is_integer(element) else 1]
    e.set(op.result, e.f.binary(opcode, e.value(op.lhs), e.value(op.rhs)))


for _op in _BINARY:
    handlers.add(_op, _binary)


@handlers.on(coopmatrix.DivOp)
def divide(e: Emission, op: coopmatrix.DivOp) -> None:
    """A division, of integers with their sign."""
    element = op.matrix.element_type
    _check(element)
    opcode = "sdiv" if op.signed is not None else "udiv"
    opcode = opcode if is_integer(element) else "fdiv"
    e.set(op.result, e.f.binary(opcode, e.value(op.lhs), e.value(op.rhs)))


@handlers.on(coopmatrix.NegOp)
def negate(e: Emission, op: coopmatrix.NegOp) -> None:
    """The sign changed, of zeros and NaNs too."""
    element, value = op.matrix.element_type, e.value(op.value)
    _check(element)
    if is_integer(element):
        e.set(op.result, e.f.binary("sub", integer(value.type, 0), value))
    else:
        e.set(op.result, e.f.unary("fneg", value))


@handlers.on(coopmatrix.ScaleOp)
def scale(e: Emission, op: coopmatrix.ScaleOp) -> None:
    """Each element times a number."""
    element, matrix = op.matrix.element_type, e.value(op.value)
    _check(element)
    assert isinstance(matrix.type, Vector), matrix
    factor = e.splat(e.value(op.scalar), matrix.type.length)
    opcode = "mul" if is_integer(element) else "fmul"
    e.set(op.result, e.f.binary(opcode, matrix, factor))
