"""`coopmatrix`: what SPV_KHR_cooperative_matrix has instructions for.

A matrix in memory has a layout and a stride, so one of the memref's last two strides
must be 1:

| access    | strides | layout             | stride |
|-----------|---------|--------------------|--------|
| row_major | s, 1    | RowMajorKHR        | s      |
| row_major | 1, s    | ColumnMajorKHR     | s      |
| col_major | s, 1    | ColumnMajorKHR     | s      |
| col_major | 1, s    | RowMajorKHR        | s      |
| packed    | s, 1    | 2 (PackedINTEL)    | s      |
| row_blocked, col_blocked | s, 1 | 4202, 4203 (of Arm) | interleave |

What has no instruction is refused: `legalize-coopmatrix-khr` turns it into what has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from coopc.device import Device, MatrixShape
from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, ScopeAttr, Use, matrix_type
from coopc.dialects.coopmatrix import Operand as MatrixOperand
from coopc.dialects.narrow import is_integer
from coopc.emit.spirv.arith import is_constant, is_zero, relax
from coopc.emit.spirv.emission import Emission, Handlers, Kept
from coopc.emit.spirv.view import Num, View
from coopc.emit.walker import Facts, NoForm
from coopc.ir.control_flow import definer, yielded
from coopc.ir.device_option import element_names
from coopc.ir.uniformity import Variation
from coopc.passes.coopmatrix.supported_tiles import rows_move
from coopc.spirv.grammar import enumeration
from coopc.spirv.instruction import Id, Instruction, Operand

handlers = Handlers()

LEGALIZE = "legalize-coopmatrix-khr"
"""The pass that turns operations into such as have instructions."""

LAYOUTS = {
    "row_major": "RowMajorKHR",
    "col_major": "ColumnMajorKHR",
    "packed": "PackedINTEL",
    "row_blocked": "RowBlockedInterleavedARM",
    "col_blocked": "ColumnBlockedInterleavedARM",
}
"""What SPIR-V calls them: members of CooperativeMatrixLayout."""

MATRIX_STORAGE = (
    "StorageBuffer",
    "PhysicalStorageBuffer",
    "CrossWorkgroup",
    "Workgroup",
)
"""Where matrices are loaded from and stored to."""


@handlers.on(coopmatrix.LoadOp)
def load(e: Emission, op: coopmatrix.LoadOp) -> None:
    """By tensor addressing, nothing of the object that is taken is left."""
    form, place, rest = _access(e, op)
    type = e.types.matrix(op.matrix)
    if form == "TensorNV":
        zero = e.module.constant(e.types.number(op.matrix.element_type), 0)
        place = *place, e.module.constant_composite(type, [zero])
    opcode = f"OpCooperativeMatrixLoad{form}"
    e.set(op.result, e.emit(opcode, *place, *rest, type=type))


@handlers.on(coopmatrix.StoreOp)
def store(e: Emission, op: coopmatrix.StoreOp) -> None:
    form, place, rest = _access(e, op)
    e.writes(e.view(op.memory))
    e.do(f"OpCooperativeMatrixStore{form}", *place, e.value(op.value), *rest)


@handlers.on(coopmatrix.PrefetchOp)
def prefetch(e: Emission, op: coopmatrix.PrefetchOp) -> None:
    """Nothing: it is a hint, for which there is no instruction."""


_Access: TypeAlias = tuple[str, tuple[Operand, ...], tuple[Operand, ...]]
"""What the instruction ends in; its operands in front of the matrix, and behind it."""


def _access(e: Emission, op: coopmatrix.LoadOp | coopmatrix.StoreOp) -> _Access:
    """The pointer; the layout, the stride and the memory operands of an access.

    A checked one has the start of memory, the row and the column there, and, before the
    stride, the rows and the columns of memory.
    """
    view, device = e.view(op.memory), e.facts.device
    if op.checked is not None and "tensor addressing" in device.matrix2:
        return _tensor(e, op, view)
    if op.checked is not None and (reason := _why_not_checked(op, device)) is not None:
        raise NoForm(f"{reason}: {LEGALIZE} stages it")
    if view.storage not in MATRIX_STORAGE:
        raise NoForm("expected global or work-group memory, got a work-item's own")
    name, stride = memory_layout(e, op, view)
    known, key = e.whole.layouts, (op.matrix, name)
    if key not in known:
        known[key] = why_no_layout(device, e.types.by_default(op.matrix), name)
    if (reason := known[key]) is not None:
        raise NoForm(reason)
    alignment = op.alignment.value.data if op.alignment and device.aligned else None
    positions, layout = e.nums(op.positions), _layout(e, name, op.layout_name)
    offset = e.index.linear(view, positions) if op.checked is None else 0
    pointer = e.pointer(view, offset)
    operands = e.memory_operands(
        view,
        _hints(op),
        alignment_bytes=alignment,
        available=_scope(e, op.available),
        visible=_scope(e, op.visible),
    )
    if op.checked is None:
        return "KHR", (pointer,), (layout, e.index.narrow(stride), *operands)
    row, col, *sizes = (_as_u32(e, x) for x in (*positions, *view.sizes))
    rest = layout, *sizes, e.index.narrow(stride), *operands
    return "CheckedINTEL", (pointer, row, col), rest


def _hints(op: coopmatrix.LoadOp | coopmatrix.StoreOp) -> list[str]:
    flags = {"Volatile": op.volatile, "Nontemporal": op.nontemporal}
    return [name for name, flag in flags.items() if flag is not None]


def _why_not_checked(op: coopmatrix.PlainAccessOp, device: Device) -> str | None:
    """Why a device has no instruction for a checked access, or None."""
    if not device.checked_rows:
        return f"expected an access without checks, as {device.name} has none with them"
    # It imports what plans 2D blocks, which other modules need not do.
    from coopc.passes.xe.convert_to_xe.matrix_memory import why_not_checked

    return why_not_checked(op, device)


def _as_u32(e: Emission, number: Num) -> Id:
    if isinstance(number, int):
        return e.types.enumerant(number % (1 << 32))
    id = e.index.narrow(number)
    return id if e.facts.vulkan else e.emit("OpUConvert", id, type=e.types.u32)


def _layout(e: Emission, name: str, constant: SymbolRefAttr | None) -> Id:
    if constant is None:
        layout = enumeration("CooperativeMatrixLayout").members[LAYOUTS[name]]
        if name != "packed" or name in e.facts.device.joint_matrix:
            e.module.capabilities.update(layout.needs.capabilities)
        return e.types.enumerant(layout.value)
    if "layout" not in e.facts.device.specialised:
        raise NoForm(
            f"{e.facts.device.name} takes no specialization constant for the layout "
            f"of a matrix, got {constant}"
        )
    return e.types.named(constant.root_reference.data)


def _scope(e: Emission, scope: coopmatrix.ScopeAttr | None) -> Id | None:
    if scope is None:
        return None
    if not e.facts.vulkan:
        raise NoForm(
            "expected available and visible under vulkan, whose memory model has them"
        )
    return e.scope(scope.data)


def memory_layout(e: Emission, op: coopmatrix.AccessOp, view: View) -> tuple[str, Num]:
    """The layout of a matrix in memory, and its stride in elements."""
    rows, cols = e.index.strides(view)[-2:]
    outer, inner = e.index.num(rows), e.index.num(cols)
    name = str(op.layout.data)
    if any(isinstance(x, int) and x < 0 for x in (outer, inner)):
        raise NoForm(
            "expected strides of 0 or more, as a layout of SPIR-V needs, got "
            f"{op.memory_type}"
        )
    if op.layout.data in coopmatrix.BLOCKED:
        assert isinstance(op, coopmatrix.PlainAccessOp), op
        return name, op.group
    if inner == 1:
        return name, outer
    pointee = op.memory_type.element_type
    if pointee != op.matrix.element_type:
        raise NoForm(
            f"expected a memref of which the last stride is 1, as it holds {pointee}, "
            f"not {op.matrix.element_type}, got {op.memory_type}"
        )
    named = isinstance(op, coopmatrix.PlainAccessOp) and op.layout_name is not None
    if named:
        raise NoForm(
            "expected a memref of which the last stride is 1, as its layout is set "
            f"later, got {op.memory_type}"
        )
    if outer == 1 and name != "packed":
        return ("col_major" if name == "row_major" else "row_major"), inner
    raise NoForm(
        "expected a memref of which one of the last two strides is 1, the last for "
        f"packed, as a layout of SPIR-V needs, got {op.memory_type}"
    )


def why_no_layout(device: Device, matrix: MatrixType, layout: str) -> str | None:
    """Why a device has no matrix of known sizes in a layout of memory, or None."""
    rows, cols = matrix.shape
    use = coopmatrix.DEVICE_USES[matrix.use.data]
    has = device.layouts(use, str(matrix.element_type), rows, cols)
    if layout in has:
        return None
    return (
        f"expected a layout in memory that {device.name} has for {use} of "
        f"{matrix.element_type} ({', '.join(has) or 'none'}), got {layout}"
    )


# Checked accesses by the tensor addressing of SPV_NV_cooperative_matrix2.
#
# A tensor layout has the sizes and the strides of memory of two dimensions, and the
# part of it that is the matrix.  What is loaded from outside is the clamp value, 0, and
# what is stored there is dropped.  Where the columns of the matrix are the outer
# dimension, a tensor view swaps the dimensions.

CLAMP_TO_CONSTANT = 1
"""Of TensorClampMode: outside is the clamp value, which is 0 if nothing sets it."""


def _tensor(
    e: Emission, op: coopmatrix.LoadOp | coopmatrix.StoreOp, view: View
) -> _Access:
    """The pointer; the tensor layout, and how memory is accessed."""
    layout, stride = memory_layout(e, op, view)
    if not op.is_from_start:
        raise NoForm(
            "expected checks of a buffer of two dimensions, from its start on, as "
            f"tensor addressing needs, got {op.memory_type}"
        )
    constant = e.types.enumerant
    by_rows = layout == "row_major"
    inner_is_last = e.index.num(e.index.strides(view)[1]) == 1
    dimensions = (0, 1) if inner_is_last else (1, 0)
    sizes = [e.index.value(view.sizes[x]) for x in dimensions]
    positions = e.nums(op.positions)
    spans = op.matrix.shape if by_rows else op.matrix.shape[::-1]
    slices = [
        operand
        for dimension, span in zip(dimensions, spans, strict=True)
        for operand in (e.index.value(positions[dimension]), constant(span))
    ]
    type = e.module.type(
        "OpTypeTensorLayoutNV", constant(2), constant(CLAMP_TO_CONSTANT)
    )
    tensor = e.emit("OpCreateTensorLayoutNV", type=type)
    for name, *operands in (
        ("SetDimension", *sizes),
        ("SetStride", e.index.narrow(stride), constant(1)),
        ("Slice", *slices),
    ):
        tensor = e.emit(f"OpTensorLayout{name}NV", tensor, *operands, type=type)
    swapped: tuple[Operand, ...] = ("None",)
    if not by_rows:
        false = e.module.constant(e.types.bool, False)
        order = constant(1), constant(0)
        kind = e.module.type("OpTypeTensorViewNV", constant(2), false, *order)
        swapped = "TensorView", e.emit("OpCreateTensorViewNV", type=kind)
    pointer = e.pointer(view, 0)
    memory = e.memory_operands(view, _hints(op)) or ["None"]
    return "TensorNV", (pointer,), (tensor, *memory, *swapped)


# --- values --------------------------------------------------------------------


@handlers.on(coopmatrix.FillOp)
def fill(e: Emission, op: coopmatrix.FillOp) -> None:
    """OpConstantComposite of a constant where the device has that, else a construct."""
    matrix, device = matrix_type(op.result), e.facts.device
    type = e.types.matrix(matrix)
    value = e.value(op.value)
    if device.fills == "zero" and not is_zero(value):
        raise NoForm(
            f"{device.name} fills matrices with zeros only: {LEGALIZE} inserts others"
        )
    if (
        not device.exact_matrices
        and is_zero(value)
        and not is_integer(matrix.element_type)
    ):
        value = e.hidden(value.type, 0)
    is_late = value in e.whole.spec_constants.values()
    constants = device.zero_matrix == "constant-composite"
    if constants and (is_late or is_constant(value)):
        id = e.module.constant_composite(type, [value], is_late=is_late)
    else:
        id = e.emit("OpCompositeConstruct", value, type=type)
    e.set(op.result, (id,))


@handlers.on(coopmatrix.SpecValueOp)
def spec_value(e: Emission, op: coopmatrix.SpecValueOp) -> None:
    u32 = e.types.named(op.constant.root_reference.data)
    e.set(op.result, (e.index.narrow(u32),))


@handlers.on(coopmatrix.LengthOp)
def length(e: Emission, op: coopmatrix.LengthOp) -> None:
    """How many elements the driver gives a work-item."""
    type = e.types.matrix(op.matrix_type)
    u32 = e.emit("OpCooperativeMatrixLengthKHR", type, type=e.types.u32)
    if not e.facts.vulkan:
        u32 = e.emit("OpUConvert", u32, type=e.types.index)
    e.set(op.result, (u32,))


# `coopmatrix` arithmetic: multiplication, and what works on whole matrices.
#
# The extension has negation, +, -, *, /, matrix times scalar, conversions that keep the
# use, and bitcasts.  A device may lack them all (`Device.whole_arithmetic`).

_FLAGS = {
    MatrixOperand.A: "MatrixASignedComponentsKHR",
    MatrixOperand.B: "MatrixBSignedComponentsKHR",
    MatrixOperand.C: "MatrixCSignedComponentsKHR",
    MatrixOperand.RESULT: "MatrixResultSignedComponentsKHR",
}

Binary: TypeAlias = coopmatrix.BinaryOp | coopmatrix.SignedBinaryOp

BINARY: dict[type[Binary], tuple[str, str, str]] = {
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
            raise NoForm(
                "expected known uses in a multiplication, as SPIR-V's validator takes "
                f"no other, got {matrix}"
            )
    types = op.a.type, op.b.type, op.c.type, op.result.type
    known, key = e.whole.shapes, (*types, op.signed, op.saturating)
    if key not in known:
        known[key] = listed_shape(op, e)
    shape = known[key]
    flags = [_FLAGS[operand] for operand in signed_operands(op, shape, e.facts)]
    flags += _interpretations(e.facts.device, element_names(op))
    if op.saturating is not None:
        flags.append("SaturatingAccumulationKHR")
    type = e.types.matrix(matrix_type(op.result))
    operands = ["|".join(flags)] if flags else []
    ids = e.value(op.a), e.value(op.b), e.value(op.c)
    id = e.emit("OpCooperativeMatrixMulAddKHR", *ids, *operands, type=type)
    e.set(op.result, (id,))


def _interpretations(device: Device, elements: tuple[str, ...]) -> Iterator[str]:
    """As what SPV_INTEL_joint_matrix has components multiplied, of a, b, c, result."""
    a, _, c, result = elements
    if a == "f32" and "tf32" in device.joint_matrix:
        yield "MatrixAAndBTF32ComponentsINTEL"
    if "bf16" in device.joint_matrix:
        for of, element in (("AAndB", a), ("C", c), ("Result", result)):
            if element == "bf16":
                yield f"Matrix{of}BFloat16ComponentsINTEL"


def listed_shape(op: coopmatrix.MulAddOp, e: Emission) -> MatrixShape | None:
    """The multiplication of the device that this is; None if its sizes are open.

    Open sizes have defaults, which the device must multiply too: drivers run shapes
    that they do not list and give wrong numbers.

    Raises:
        NoForm: the device has none.
    """
    matrices, device = op.matrices, e.facts.device
    is_open = not all(type.is_static for type in matrices.values())
    a, b = (
        e.types.by_default(matrices[each])
        for each in (MatrixOperand.A, MatrixOperand.B)
    )
    (m, k), (_, n) = a.shape, b.shape
    names, saturates, scope = element_names(op), op.saturating is not None, a.scope
    assert isinstance(scope, ScopeAttr), a
    if shape := device.multiplication((m, n, k), names, saturates, scope.data):
        return None if is_open else shape
    found = device.multiplications(*names, saturates, scope.data)
    sizes = sorted({f"{s.m}x{s.n}x{s.k}" for s in found})
    of = f"{names[0]} * {names[1]} + {names[2]} -> {names[3]}"
    of += ", saturating" if op.saturating is not None else ""
    if not sizes:
        raise NoForm(f"{device.name} does not multiply {of}")
    raise NoForm(
        f"expected M x N x K = {', '.join(sizes)}, which {device.name} multiplies for "
        f"{of}, got {m}x{n}x{k}"
        + (" by default" if is_open else ": split-coopmatrix cuts it")
    )


def signed_operands(
    op: coopmatrix.MulAddOp, shape: MatrixShape | None, facts: Facts
) -> list[MatrixOperand]:
    """Which operands are said to be signed.

    Of c and the result the sign changes nothing where they have one width and do not
    saturate.  A Vulkan driver lists it all the same; under OpenCL it is left out, since
    Intel's runtime for CPUs then takes a and b for signed too.
    """
    found = [operand for operand in _FLAGS if op.is_signed(operand)]
    c, result = (op.matrices[each] for each in (MatrixOperand.C, MatrixOperand.RESULT))
    if shape is None or op.saturating is not None:
        return found
    if c.element_type != result.element_type or not is_integer(c.element_type):
        return found
    found = [each for each in found if each in (MatrixOperand.A, MatrixOperand.B)]
    if facts.vulkan:
        listed = ((MatrixOperand.C, shape.c), (MatrixOperand.RESULT, shape.result))
        found += [each for each, name in listed if name.startswith("s")]
    return found


# --- whole matrices ------------------------------------------------------------


def _check(e: Emission, matrix: MatrixType) -> None:
    device = e.facts.device
    if not device.whole_arithmetic:
        raise NoForm(
            f"{device.name} has no arithmetic on whole matrices: {LEGALIZE} makes it "
            "a loop over elements"
        )
    if isinstance(matrix.element_type, coopmatrix.NarrowFloat):
        raise NoForm(f"SPIR-V has no arithmetic on matrices of {matrix.element_type}")


@handlers.on(*BINARY)
def binary(e: Emission, op: Binary) -> None:
    matrix = matrix_type(op.result)
    _check(e, matrix)
    of_floats, of_signed, of_unsigned = BINARY[type(op)]
    if not is_integer(matrix.element_type):
        opcode = of_floats
    elif isinstance(op, coopmatrix.SignedBinaryOp) and op.signed is not None:
        opcode = of_signed
    else:
        opcode = of_unsigned
    id = e.emit(opcode, e.value(op.lhs), e.value(op.rhs), type=e.types.matrix(matrix))
    relax(e, opcode, id, None)
    e.set(op.result, id)


@handlers.on(coopmatrix.NegOp)
def negate(e: Emission, op: coopmatrix.NegOp) -> None:
    matrix = matrix_type(op.result)
    _check(e, matrix)
    opcode = "OpSNegate" if is_integer(matrix.element_type) else "OpFNegate"
    e.set(op.result, (e.emit(opcode, e.value(op.value), type=e.types.matrix(matrix)),))


@handlers.on(coopmatrix.ScaleOp)
def scale(e: Emission, op: coopmatrix.ScaleOp) -> None:
    matrix = matrix_type(op.result)
    _check(e, matrix)
    operands = e.value(op.value), e.value(op.scalar)
    type = e.types.matrix(matrix)
    e.whole.strict |= not is_integer(matrix.element_type)
    e.set(op.result, (e.emit("OpMatrixTimesScalar", *operands, type=type),))


@handlers.on(coopmatrix.ConvertOp)
def convert(e: Emission, op: coopmatrix.ConvertOp) -> None:
    source, result = matrix_type(op.value), matrix_type(op.result)
    device = e.facts.device
    moves = source.use != result.use and rows_move(op, device)
    if source.use != result.use and not (
        moves or device.changes_use(source.use.data, result.use.data)
    ):
        raise NoForm(
            f"expected a result of use {source.use.data}, as {device.name} has no "
            f"conversion from use {source.use.data} to {result.use.data}: {LEGALIZE} "
            "changes uses"
        )
    if source == result:
        e.set(op.result, (e.value(op.value),))
        return
    if moves:
        converted = source.with_element(result.element_type)
        id = _converted(e, op, source, converted)
        e.set(op.result, through_lanes(e, id, converted, result))
        return
    if source.use != result.use:
        vendor = device.matrix2_vendor
        e.module.capabilities.add(f"CooperativeMatrixConversions{vendor}")
    if source.element_type == result.element_type:
        name = "ConvertNV" if device.matrix2_vendor == "NV" else "ConvertUseEXT"
        type = e.types.matrix(result)
        id = e.emit(f"OpCooperativeMatrix{name}", e.value(op.value), type=type)
        e.set(op.result, id)
        return
    e.set(op.result, _converted(e, op, source, result))


def _converted(
    e: Emission, op: coopmatrix.ConvertOp, source: MatrixType, result: MatrixType
) -> Id:
    """The value of an operation with elements of another type."""
    id = e.value(op.value)
    opcode = conversion(source, result, op.signed is not None)
    if opcode is None:
        return id
    if not e.facts.device.whole_arithmetic:
        _check(e, source)
    # Signed integers go by way of types that say that they are: drivers (lavapipe
    # 26.2.6, tried) go by the sign of the component type, not by the instruction's.
    if opcode in ("OpConvertSToF", "OpSConvert"):
        id = e.emit("OpBitcast", id, type=e.types.signed_matrix(source))
    if opcode in ("OpConvertFToS", "OpSConvert"):
        id = e.emit(opcode, id, type=e.types.signed_matrix(result))
        return e.emit("OpBitcast", id, type=e.types.matrix(result))
    return e.emit(opcode, id, type=e.types.matrix(result))


def through_lanes(e: Emission, id: Id, before: MatrixType, after: MatrixType) -> Id:
    """A matrix of the rows of another, bit by bit; of columns where its use is b.

    Each lane gets one, by SPV_QCOM_cooperative_matrix_conversion.
    """
    length = before.shape[before.use.data is not Use.B]
    rows = [
        e.module.type("OpTypeArray", e.types.number(of), e.types.enumerant(length))
        for of in (before.element_type, after.element_type)
    ]
    id = e.emit("OpCompositeExtractCoopMatQCOM", id, type=rows[0])
    if rows[0] != rows[1]:
        id = e.emit("OpBitCastArrayQCOM", id, type=rows[1])
    type = e.types.matrix(after)
    return e.emit("OpCompositeConstructCoopMatQCOM", id, type=type)


def conversion(source: MatrixType, result: MatrixType, signed: bool) -> str | None:
    """The instruction that converts elements; None where the type stays."""
    if source.element_type == result.element_type:
        return None
    match is_integer(source.element_type), is_integer(result.element_type):
        case True, True:
            return "OpSConvert" if signed else "OpUConvert"
        case True, False:
            return "OpConvertSToF" if signed else "OpConvertUToF"
        case False, True:
            return "OpConvertFToS" if signed else "OpConvertFToU"
        case _:
            return "OpFConvert"


@handlers.on(coopmatrix.BitcastOp)
def bitcast(e: Emission, op: coopmatrix.BitcastOp) -> None:
    result = matrix_type(op.result)
    if op.value.type == op.result.type:
        e.set(op.result, (e.value(op.value),))
        return
    source = matrix_type(op.value)
    if rows_move(op, e.facts.device):
        e.set(op.result, through_lanes(e, e.value(op.value), source, result))
        return
    if not (is_integer(source.element_type) and is_integer(result.element_type)):
        raise NoForm(
            "expected matrices of integers, as OpBitcast takes no other, got "
            f"{source.element_type} and {result.element_type}: {LEGALIZE} stages it"
        )
    if not e.facts.device.whole_arithmetic:
        _check(e, result)
    type: Id = e.types.matrix(result)
    e.set(op.result, (e.emit("OpBitcast", e.value(op.value), type=type),))


# Which matrices live in a variable while work-items change single elements of them.
#
# A chain of insertions through loops and branches, each of which replaces the matrix
# that it was made from, is one variable, changed in place:
#
#     %r = scf.for ... iter_args(%m = %a) {        W := %a
#       %n = coopmatrix.insert %e, %m[%i]          W[%i] := %e
#       scf.yield %n                               %r is what W holds after the loop
#     }
#
# So no matrix *object* is made in control flow that differs between lanes, which the
# extension forbids, and no loop copies a matrix.


@dataclass(slots=True)
class Chain:
    """Values that are one variable, one after the other."""

    root: SSAValue | None = None
    """What the variable holds at first; None if it is no chain."""
    inserts: list[coopmatrix.InsertOp] = field(default_factory=lambda: [])
    values: dict[SSAValue, SSAValue | None] = field(default_factory=lambda: {})
    """Results and block arguments that the variable is, with what each is made from."""


def chains(op: scf.ForOp | scf.IfOp) -> list[tuple[SSAValue, Chain]]:
    found: list[tuple[SSAValue, Chain]] = []
    for result in op.results:
        if not isinstance(result.type, MatrixType):
            continue
        chain = Chain()
        chain.root = _origin(result, lambda x: not _is_inside(x, op), chain)
        if chain.root is not None and chain.inserts and _in_order(chain):
            found.append((result, chain))
    return found


def _is_inside(value: SSAValue, op: Operation) -> bool:
    """Whether a value is a result of `op`, or defined in it."""
    around = definer(value)
    return around is not None and op.is_ancestor(around)


def _origin(
    value: SSAValue, is_root: Callable[[SSAValue], bool], chain: Chain
) -> SSAValue | None:
    """The root that a value is made from; None if it is no chain from one root.

    What lies between is added to the chain.
    """
    if is_root(value):
        return value
    if value in chain.values:
        return chain.values[value]
    chain.values[value] = found = None
    match value.owner:
        case coopmatrix.InsertOp() as insert:
            chain.inserts.append(insert)
            found = _origin(insert.matrix, is_root, chain)
        case scf.IfOp() as branch if branch.false_region.blocks:
            at = branch.results.index(value)
            ends = (yielded(region)[at] for region in branch.regions)
            roots = {_origin(end, is_root, chain) for end in ends}
            found = roots.pop() if len(roots) == 1 else None
        case scf.ForOp() as loop:
            at = loop.results.index(value)
            argument = loop.body.block.args[at + 1]
            chain.values[argument] = None
            if _origin(yielded(loop.body)[at], lambda x: x is argument, chain):
                found = _origin(loop.iter_args[at], is_root, chain)
        case _:
            pass
    chain.values[value] = found
    return found


def _in_order(chain: Chain) -> bool:
    """Whether nobody reads a matrix after an insertion has replaced it."""
    passing = (scf.YieldOp, scf.ForOp, coopmatrix.InsertOp)
    for insert in chain.inserts:
        if insert.matrix is chain.root:
            continue
        for use in insert.matrix.uses:
            reader = use.operation
            if isinstance(reader, coopmatrix.ExtractOp):
                if not _precedes(reader, insert):
                    return False
            elif not isinstance(reader, passing) or (
                reader is not insert and not _exclusive(reader, insert)
            ):
                return False
    return all(_is_read_first(value, chain) for value in chain.values)


def _is_read_first(value: SSAValue, chain: Chain) -> bool:
    """Whether a value of a chain is read only before loops over it replace it."""
    uses = [(use.operation, use.index) for use in value.uses]
    replaced = [
        use
        for use in uses
        if isinstance(use[0], scf.ForOp) and use[0].results[use[1] - 3] in chain.values
    ]
    return all(
        (_precedes(reader, loop) and reader is not loop)
        or _exclusive(reader, loop)
        or _reads_own(reader, loop, chain)
        for loop, at in replaced
        for reader, index in uses
        if (reader, index) != (loop, at)
    )


def _reads_own(reader: Operation, loop: Operation, chain: Chain) -> bool:
    """Whether a reader in a loop reads the element that the iteration then replaces.

    Each iteration has an index of its own, so the element is as before the loop.
    """
    assert isinstance(loop, scf.ForOp), loop
    body, inserts = loop.body.block, [x for x in chain.inserts if loop.is_ancestor(x)]
    return (
        isinstance(reader, coopmatrix.ExtractOp)
        and reader.parent is body
        and reader.index is body.args[0]
        and all(x.parent is body and x.index is reader.index for x in inserts)
        and all(_precedes(reader, x) for x in inserts)
    )


def _meeting(one: Operation, other: Operation) -> tuple[Operation, Operation] | None:
    """The operations of one block that hold two operations; None if there are none."""
    at: Operation | None = one
    while at is not None and at.parent is not None:
        if (found := at.parent.find_ancestor_op_in_block(other)) is not None:
            return at, found
        at = at.parent_op()
    return None


def _precedes(reader: Operation, insert: Operation) -> bool:
    """Whether a reader ran before an insertion, or never runs with it."""
    met = _meeting(reader, insert)
    if met is None:
        return False
    first, second = met
    if first is second:
        return isinstance(first, scf.IfOp)
    return first.is_before_in_block(second)


def _exclusive(one: Operation, other: Operation) -> bool:
    """Whether two operations are in different branches."""
    met = _meeting(one, other)
    return met is not None and met[0] is met[1] and isinstance(met[0], scf.IfOp)


# `coopmatrix.extract` and `insert`: the elements of a work-item, by access chains.
#
# An access chain needs a variable.  A matrix that is read is stored to one right
# after it is made, where all work-items are together; so single elements can be read
# in control flow that differs between lanes.  Chains of insertions are a variable of
# their own.


@handlers.on(coopmatrix.ExtractOp)
def extract(e: Emission, op: coopmatrix.ExtractOp) -> None:
    """OpAccessChain and OpLoad; of a constant slot OpCompositeExtract."""
    _check_position(e)
    type = e.types.number(matrix_type(op.matrix).element_type)
    found, slot = e.became[op.matrix], e.index.num(e.num(op.index))
    if isinstance(found, Kept):
        variable = found.variable
    elif isinstance(slot, int) and slot >= 0 and _by_composite(e, op):
        e.set(
            op.result,
            (e.emit("OpCompositeExtract", e.value(op.matrix), slot, type=type),),
        )
        return
    else:
        variable = _spilled(e, op.matrix)
    pointer = _element(e, variable, op.index, type)
    e.set(op.result, (e.emit("OpLoad", pointer, type=type),))


@handlers.on(coopmatrix.InsertOp)
def insert(e: Emission, op: coopmatrix.InsertOp) -> None:
    """OpAccessChain and OpStore; of a constant slot OpCompositeInsert."""
    _check_position(e)
    matrix = matrix_type(op.result)
    type = e.types.number(matrix.element_type)
    kept = e.kept.get(op.result)
    if kept is not None:
        e.do("OpStore", _element(e, kept.variable, op.index, type), e.value(op.value))
        e.set(op.result, kept)
        return
    at_top = isinstance(op.parent_op(), func.FuncOp)
    if not at_top and e.whole.uniformity.around(op) > Variation.SUBGROUPS:
        raise NoForm(
            "expected an insertion that is yielded on to where all lanes are together, "
            "in a chain from one matrix through scf.if and scf.for, as matrices are "
            f"made by all lanes: {LEGALIZE} has no other form of it"
        )
    slot, whole = e.index.num(e.num(op.index)), e.types.matrix(matrix)
    if isinstance(slot, int) and slot >= 0 and _by_composite(e, op):
        ids = e.value(op.value), e.value(op.matrix)
        made = e.emit("OpCompositeInsert", *ids, slot, type=whole)
    else:
        variable = _variable(e, whole)
        e.do("OpStore", variable, e.value(op.matrix))
        e.do("OpStore", _element(e, variable, op.index, type), e.value(op.value))
        made = e.emit("OpLoad", variable, type=whole)
    e.set(op.result, (made,))


def _check_position(e: Emission) -> None:
    """Refuse elements where the device has no way to one."""
    if not e.facts.device.element_access:
        raise NoForm(
            f"{e.facts.device.name} has no access to single elements of a matrix"
        )


def _by_composite(e: Emission, op: Operation) -> bool:
    """Whether a matrix may be an operand here: all work-items are together."""
    return e.facts.vulkan and isinstance(op.parent_op(), func.FuncOp)


def _variable(e: Emission, matrix: Id) -> Id:
    return e.function.local_variable(e.types.pointer("Function", matrix))


def _element(e: Emission, variable: Id, index: SSAValue, type: Id) -> Id:
    to = e.types.pointer("Function", type)
    return e.emit("OpAccessChain", variable, e.value(index), type=to)


def _spilled(e: Emission, value: SSAValue) -> Id:
    id = e.value(value)
    if (found := e.spilled.get(id)) is not None:
        return found
    variable = e.spilled[id] = _variable(e, id.type)
    body = e.function.body
    at = _after_definition(body, id)
    if at is None:
        with e.at_entry():
            e.do("OpStore", variable, id)
    else:
        e.do("OpStore", variable, id)
        body.insert(at, body.pop())
    return variable


def _after_definition(body: list[Instruction], id: Id) -> int | None:
    """Where what follows the definition of an id begins; None if it is at the entry."""
    for at in range(len(body) - 1, -1, -1):
        if body[at] is not id.definition:
            continue
        at += 1
        while at < len(body) and body[at].facts.name in ("OpPhi", "OpLine"):
            at += 1
        return at
    return None


def begin_control(e: Emission, op: Operation) -> None:
    """Put the matrices whose elements an operation changes into variables."""
    if not isinstance(op, scf.ForOp | scf.IfOp) or not op.results:
        return
    for result, chain in chains(op):
        if result in e.kept:
            continue
        assert chain.root is not None, result
        variable = _variable(e, e.types.matrix(matrix_type(result)))
        e.do("OpStore", variable, e.value(chain.root))
        for value in chain.values:
            e.kept[value] = Kept(variable)


def end_control(e: Emission, op: Operation) -> None:
    """Take matrices out of their variables again."""
    for result in op.results:
        kept = e.became[result]
        if not isinstance(kept, Kept):
            continue
        users = [use.operation for use in result.uses]
        is_read = all(isinstance(user, coopmatrix.ExtractOp) for user in users)
        if is_read or _stays(result, e):
            continue
        type = e.types.matrix(matrix_type(result))
        e.set(result, (e.emit("OpLoad", kept.variable, type=type),))


def _stays(result: SSAValue, e: Emission) -> bool:
    return any(
        value in e.kept
        for use in result.uses
        for value in use.operation.results
        if isinstance(use.operation, coopmatrix.InsertOp | scf.ForOp)
    ) or any(
        isinstance(use.operation, scf.YieldOp)
        and (around := use.operation.parent_op()) is not None
        and around.results[use.index] in e.kept
        for use in result.uses
    )
