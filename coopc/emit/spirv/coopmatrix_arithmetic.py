"""`coopmatrix` arithmetic: multiplication, and what works on whole matrices.

The extension has negation, +, -, *, /, matrix times scalar, conversions that keep the
use, and bitcasts.  A device may lack them all (`Device.whole_arithmetic`).
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, SymbolRefAttr
from xdsl.ir import Operation

from coopc.device import MatrixShape
from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, Operand, matrix_type
from coopc.emit.facts import Facts
from coopc.emit.spirv.coopmatrix import LEGALIZE, is_integer
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.floats import relaxed
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id

handlers = Handlers()

_FLAGS = {
    Operand.A: "MatrixASignedComponentsKHR",
    Operand.B: "MatrixBSignedComponentsKHR",
    Operand.C: "MatrixCSignedComponentsKHR",
    Operand.RESULT: "MatrixResultSignedComponentsKHR",
}

_BINARY: dict[type[Operation], tuple[str, str, str]] = {
    coopmatrix.AddOp: ("OpFAdd", "OpIAdd", "OpIAdd"),
    coopmatrix.SubOp: ("OpFSub", "OpISub", "OpISub"),
    coopmatrix.MulOp: ("OpFMul", "OpIMul", "OpIMul"),
    coopmatrix.DivOp: ("OpFDiv", "OpSDiv", "OpUDiv"),
}
"""Of floats, of signed and of unsigned integers."""


@handlers.on(coopmatrix.MulAddOp)
def mul_add(e: Emission, op: coopmatrix.MulAddOp) -> None:
    """OpCooperativeMatrixMulAddKHR, of a shape that the device has."""
    for matrix in op.matrices.values():
        if isinstance(matrix.use_name, SymbolRefAttr):
            raise Refusal(
                "expected known uses in a multiplication, as SPIR-V's validator takes "
                f"no other, got {matrix}"
            )
    known, key = e.whole.shapes, _key(op)
    if key not in known:
        known[key] = listed_shape(op, e)
    shape = known[key]
    if e.facts.device.family == "opencl-cpu" and shape and "bf16" in shape.elements:
        raise Refusal(
            f"{e.facts.device.name} multiplies bf16 only with a flag that SPIR-V's "
            "validator does not know"
        )
    flags = [_FLAGS[operand] for operand in signed_operands(op, shape, e.facts)]
    if op.saturating is not None:
        flags.append("SaturatingAccumulationKHR")
    type = e.types.matrix(matrix_type(op.result))
    operands = ["|".join(flags)] if flags else []
    ids = e.id(op.a), e.id(op.b), e.id(op.c)
    id = e.emit("OpCooperativeMatrixMulAddKHR", *ids, *operands, type=type)
    e.set(op.result, (id,))


def _key(op: coopmatrix.MulAddOp) -> Hashable:
    """What the shape of a multiplication depends on."""
    types = op.a.type, op.b.type, op.c.type, op.result.type
    return *types, op.signed, op.saturating


def element_names(op: coopmatrix.MulAddOp) -> tuple[str, str, str, str]:
    """The element types of a, b, c and the result, as devices name them."""
    a, b, c, result = (
        _element_name(type, op.is_signed(operand))
        for operand, type in op.matrices.items()
    )
    return a, b, c, result


def _element_name(type: MatrixType, signed: bool) -> str:
    name = str(type.element_type)
    if not is_integer(type):
        return name
    return ("s" if signed else "u") + name.removeprefix("i")


def listed_shape(op: coopmatrix.MulAddOp, e: Emission) -> MatrixShape | None:
    """The multiplication of the device that this is; None if its sizes are open.

    Open sizes have defaults, which the device must multiply too: drivers run shapes
    that they do not list and give wrong numbers.

    Raises:
        Refusal: the device has none.
    """
    matrices, device = op.matrices, e.facts.device
    is_open = not all(type.is_static for type in matrices.values())
    a, b = (e.types.by_default(matrices[each]) for each in (Operand.A, Operand.B))
    (m, k), (_, n) = a.shape, b.shape
    names = element_names(op)
    found = device.multiplications(*names, op.saturating is not None)
    for shape in found:
        if (shape.m, shape.n, shape.k) == (m, n, k):
            return None if is_open else shape
    sizes = sorted({f"{s.m}x{s.n}x{s.k}" for s in found})
    of = f"{names[0]} * {names[1]} + {names[2]} -> {names[3]}"
    of += ", saturating" if op.saturating is not None else ""
    if not sizes:
        raise Refusal(f"{device.name} does not multiply {of}")
    raise Refusal(
        f"expected M x N x K = {', '.join(sizes)}, which {device.name} multiplies for "
        f"{of}, got {m}x{n}x{k}"
        + (" by default" if is_open else ": split-coopmatrix cuts it")
    )


def signed_operands(
    op: coopmatrix.MulAddOp, shape: MatrixShape | None, facts: Facts
) -> list[Operand]:
    """Which operands are said to be signed.

    Of c and the result the sign changes nothing where they have one width and do not
    saturate.  A Vulkan driver lists it all the same; under OpenCL it is left out, since
    Intel's run-time for CPUs then takes a and b for signed too.
    """
    found = [operand for operand in _FLAGS if op.is_signed(operand)]
    c, result = (op.matrices[each] for each in (Operand.C, Operand.RESULT))
    if shape is None or op.saturating is not None:
        return found
    if c.element_type != result.element_type or not is_integer(c):
        return found
    found = [each for each in found if each in (Operand.A, Operand.B)]
    if facts.vulkan:
        listed = ((Operand.C, shape.c), (Operand.RESULT, shape.result))
        found += [each for each, name in listed if name.startswith("s")]
    return found


# --- whole matrices ------------------------------------------------------------


def _check(e: Emission, op: Operation, matrix: MatrixType) -> None:
    """Refuse arithmetic that the device, or the type, has none of."""
    device = e.facts.device
    if not device.whole_arithmetic:
        raise Refusal(
            f"{device.name} has no arithmetic on whole matrices: {LEGALIZE} makes it "
            "a loop over elements"
        )
    if isinstance(matrix.element_type, BFloat16Type):
        raise Refusal(f"SPIR-V has no arithmetic on matrices of {matrix.element_type}")


def _binary(e: Emission, op: coopmatrix.BinaryOp) -> None:
    matrix = matrix_type(op.result)
    _check(e, op, matrix)
    of_floats, of_signed, of_unsigned = _BINARY[type(op)]
    if not is_integer(matrix):
        opcode = of_floats
    elif isinstance(op, coopmatrix.SignedBinaryOp) and op.signed is not None:
        opcode = of_signed
    else:
        opcode = of_unsigned
    id = e.emit(opcode, e.id(op.lhs), e.id(op.rhs), type=e.types.matrix(matrix))
    e.set(op.result, (relaxed(e, opcode, id, arith.FastMathFlagsAttr("none")),))


for _op in _BINARY:
    handlers.add(_op, _binary)


@handlers.on(coopmatrix.NegOp)
def negate(e: Emission, op: coopmatrix.NegOp) -> None:
    """OpFNegate or OpSNegate."""
    matrix = matrix_type(op.result)
    _check(e, op, matrix)
    opcode = "OpSNegate" if is_integer(matrix) else "OpFNegate"
    e.set(op.result, (e.emit(opcode, e.id(op.value), type=e.types.matrix(matrix)),))


@handlers.on(coopmatrix.ScaleOp)
def scale(e: Emission, op: coopmatrix.ScaleOp) -> None:
    """OpMatrixTimesScalar."""
    matrix = matrix_type(op.result)
    _check(e, op, matrix)
    operands = e.id(op.value), e.id(op.scalar)
    type = e.types.matrix(matrix)
    e.whole.strict |= not is_integer(matrix)
    e.set(op.result, (e.emit("OpMatrixTimesScalar", *operands, type=type),))


@handlers.on(coopmatrix.ConvertOp)
def convert(e: Emission, op: coopmatrix.ConvertOp) -> None:
    """A conversion of elements that keeps the use."""
    source, result = matrix_type(op.value), matrix_type(op.result)
    if source.use != result.use:
        raise Refusal(
            f"expected a result of use {source.use.data}, as SPIR-V converts elements "
            f"only, got {result.use.data}: {LEGALIZE} changes uses"
        )
    if source == result:
        e.set(op.result, (e.id(op.value),))
        return
    if not e.facts.device.whole_arithmetic:
        _check(e, op, source)
    opcode = conversion(source, result, op.signed is not None)
    id = e.id(op.value)
    if opcode is not None:
        id = _converted(e, opcode, id, source, result)
    e.set(op.result, (id,))


def _converted(
    e: Emission, opcode: str, id: Id, source: MatrixType, result: MatrixType
) -> Id:
    """A conversion; of signed integers by way of types that say that they are.

    Drivers (lavapipe 26.2.6, tried) go by the sign of the component type, not by that
    of the instruction.
    """
    if opcode in ("OpConvertSToF", "OpSConvert"):
        id = e.emit("OpBitcast", id, type=e.types.signed_matrix(source))
    if opcode not in ("OpConvertFToS", "OpSConvert"):
        return e.emit(opcode, id, type=e.types.matrix(result))
    id = e.emit(opcode, id, type=e.types.signed_matrix(result))
    return e.emit("OpBitcast", id, type=e.types.matrix(result))


def conversion(source: MatrixType, result: MatrixType, signed: bool) -> str | None:
    """The instruction that converts elements; None where the type stays."""
    match is_integer(source), is_integer(result):
        case True, True:
            same = source.element_type == result.element_type
            return None if same else ("OpSConvert" if signed else "OpUConvert")
        case True, False:
            return "OpConvertSToF" if signed else "OpConvertUToF"
        case False, True:
            return "OpConvertFToS" if signed else "OpConvertFToU"
        case _:
            return "OpFConvert"


@handlers.on(coopmatrix.BitcastOp)
def bitcast(e: Emission, op: coopmatrix.BitcastOp) -> None:
    """OpBitcast."""
    result = matrix_type(op.result)
    if op.value.type == op.result.type:
        e.set(op.result, (e.id(op.value),))
        return
    if not e.facts.device.whole_arithmetic:
        _check(e, op, result)
    type: Id = e.types.matrix(result)
    e.set(op.result, (e.emit("OpBitcast", e.id(op.value), type=type),))
