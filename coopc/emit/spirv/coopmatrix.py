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

What has no instruction is refused: `legalize-coopmatrix-khr` turns it into what has.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerType

from coopc.device import Device
from coopc.dialects import coopmatrix
from coopc.dialects.coopmatrix import MatrixType, Scope, matrix_type
from coopc.dialects.narrow import is_memref
from coopc.emit.spirv import address
from coopc.emit.spirv.arith_convert import converted
from coopc.emit.spirv.emission import Emission
from coopc.emit.spirv.handlers import Handlers
from coopc.emit.spirv.matrix_rules import DEVICE_USES
from coopc.emit.spirv.view import Num, View
from coopc.emit.structured import Refusal
from coopc.spirv.instruction import Id, Operand

handlers = Handlers()

LEGALIZE = "legalize-coopmatrix-khr"
"""The pass that turns operations into such as have instructions."""

LAYOUTS = {"row_major": 0, "col_major": 1, "packed": 2}
"""CooperativeMatrixLayout; 2 is PackedINTEL of SPV_INTEL_joint_matrix."""

_HANDED_OVER = {
    Scope.CROSS_DEVICE: 5,
    Scope.DEVICE: 5,
    Scope.QUEUE_FAMILY: 5,
    Scope.WORKGROUP: 2,
    Scope.SUBGROUP: 3,
    Scope.INVOCATION: 4,
}
"""Scopes of SPIR-V; the widest of Vulkan without another capability is 5."""

MATRIX_STORAGE = (
    "StorageBuffer",
    "PhysicalStorageBuffer",
    "CrossWorkgroup",
    "Workgroup",
)
"""Where matrices are loaded from and stored to."""


@handlers.on(coopmatrix.LoadOp)
def load(e: Emission, op: coopmatrix.LoadOp) -> None:
    """OpCooperativeMatrixLoadKHR."""
    type = e.types.matrix(op.matrix)
    pointer, *operands = _access(e, op)
    id = e.emit("OpCooperativeMatrixLoadKHR", pointer, *operands, type=type)
    e.set(op.result, (id,))


@handlers.on(coopmatrix.StoreOp)
def store(e: Emission, op: coopmatrix.StoreOp) -> None:
    """OpCooperativeMatrixStoreKHR."""
    pointer, *operands = _access(e, op)
    e.whole.written.add(e.view(op.memory).base)
    e.do("OpCooperativeMatrixStoreKHR", pointer, e.id(op.value), *operands)


@handlers.on(coopmatrix.PrefetchOp)
def prefetch(e: Emission, op: coopmatrix.PrefetchOp) -> None:
    """Nothing: it is a hint, for which there is no instruction."""


def _access(
    e: Emission, op: coopmatrix.LoadOp | coopmatrix.StoreOp
) -> tuple[Operand, ...]:
    """The pointer, the layout, the stride and the memory operands of an access."""
    if op.checked is not None:
        raise Refusal(
            "expected an access without checks, as SPIR-V has none with them: "
            f"{LEGALIZE} stages it"
        )
    view, device = e.view(op.memory), e.facts.device
    if view.storage not in MATRIX_STORAGE:
        raise Refusal("expected global or work-group memory, got a work-item's own")
    name, stride = memory_layout(e, op, view)
    known, key = e.whole.layouts, (op.matrix, name)
    if key not in known:
        known[key] = why_no_layout(device, e.types.by_default(op.matrix), name)
    if (reason := known[key]) is not None:
        raise Refusal(reason)
    alignment = op.alignment.value.data if op.alignment and device.aligned else None
    pointer = address.element_pointer(e, view, e.nums(op.positions))
    operands = address.memory_operands(
        e,
        view,
        volatile=op.volatile is not None,
        nontemporal=op.nontemporal is not None,
        alignment_bytes=alignment,
        available=_scope(e, op.available),
        visible=_scope(e, op.visible),
    )
    return pointer, _layout(e, op, name), e.index.narrow(stride), *operands


def _layout(e: Emission, op: coopmatrix.PlainAccessOp, name: str) -> Id:
    """The constant that says which layout a matrix has in memory."""
    if op.layout_name is None:
        return e.types.enumerant(LAYOUTS[name])
    if "layout" not in e.facts.device.specialised:
        raise Refusal(
            f"{e.facts.device.name} takes no specialisation constant for the layout "
            f"of a matrix, got {op.layout_name}"
        )
    return e.types.named(op.layout_name.root_reference.data)


def _scope(e: Emission, scope: coopmatrix.ScopeAttr | None) -> Id | None:
    """The scope to which an access hands data over."""
    if scope is None:
        return None
    if not e.facts.vulkan:
        raise Refusal(
            "expected available and visible under vulkan, whose memory model has them"
        )
    return e.types.enumerant(_HANDED_OVER[scope.data])


def memory_layout(e: Emission, op: coopmatrix.AccessOp, view: View) -> tuple[str, Num]:
    """The layout of a matrix in memory, and its stride in elements."""
    rows, cols = address.strides(e, view)[-2:]
    outer, inner = e.index.num(rows), e.index.num(cols)
    name = str(op.layout.data)
    if any(isinstance(x, int) and x < 0 for x in (outer, inner)):
        raise Refusal(
            "expected strides of 0 or more, as a layout of SPIR-V needs, got "
            f"{op.memory_type}"
        )
    if inner == 1:
        return name, outer
    pointee = op.memory_type.element_type
    if pointee != op.matrix.element_type:
        raise Refusal(
            f"expected a memref of which the last stride is 1, as it holds {pointee}, "
            f"not {op.matrix.element_type}, got {op.memory_type}"
        )
    named = isinstance(op, coopmatrix.PlainAccessOp) and op.layout_name is not None
    if named:
        raise Refusal(
            "expected a memref of which the last stride is 1, as its layout is set "
            f"later, got {op.memory_type}"
        )
    if outer == 1 and name != "packed":
        return ("col_major" if name == "row_major" else "row_major"), inner
    raise Refusal(
        "expected a memref of which one of the last two strides is 1, the last for "
        f"packed, as a layout of SPIR-V needs, got {op.memory_type}"
    )


def why_no_layout(device: Device, matrix: MatrixType, layout: str) -> str | None:
    """Why a device has no matrix of known sizes in a layout of memory, or None."""
    rows, cols = matrix.shape
    use = DEVICE_USES[matrix.use.data]
    has = device.layouts(use, str(matrix.element_type), rows, cols)
    if layout in has:
        return None
    return (
        f"expected a layout in memory that {device.name} has for {use} of "
        f"{matrix.element_type} ({', '.join(has) or 'none'}), got {layout}"
    )


# --- values --------------------------------------------------------------------


@handlers.on(coopmatrix.FillOp)
def fill(e: Emission, op: coopmatrix.FillOp) -> None:
    """OpConstantComposite of a constant where the device has that, else a construct."""
    matrix, device = matrix_type(op.result), e.facts.device
    type = e.types.matrix(matrix)
    value = _fill_value(e, op, matrix)
    if device.fills == "zero" and not is_zero(value):
        raise Refusal(
            f"{device.name} fills matrices with zeros only: {LEGALIZE} inserts others"
        )
    if not device.exact_matrices and is_zero(value) and not is_integer(matrix):
        value = _hidden_zero(e, value.type)
    if is_constant(value) and device.zero_matrix == "constant-composite":
        id = e.module.constant_composite(type, [value])
    else:
        id = e.emit("OpCompositeConstruct", value, type=type)
    e.set(op.result, (id,))


def _hidden_zero(e: Emission, type: Id) -> Id:
    """A zero that a compiler does not see: the highest bit of the number of a group."""

    def make() -> Id:
        u32 = e.types.u32
        ids = e.built_in("WorkgroupId", e.types.vector(u32, 3))
        group = e.emit("OpCompositeExtract", ids, 0, type=u32)
        bit = e.emit("OpShiftRightLogical", group, e.types.enumerant(31), type=u32)
        return e.emit("OpConvertUToF", bit, type=type)

    return e.once(("hidden zero", type), make)


def _fill_value(e: Emission, op: coopmatrix.FillOp, matrix: MatrixType) -> Id:
    """The number that a matrix is filled with."""
    source = op.value.type
    if is_memref(source):
        view = e.view(op.value)
        pointer = address.element_pointer(e, view, ())
        access = address.memory_operands(e, view)
        source = view.element
        value = e.emit("OpLoad", pointer, *access, type=e.types.in_memory(source))
    elif op.is_pointer:
        raise Refusal(f"expected a number or a memref of rank 0, got {source}")
    else:
        value = e.id(op.value)
    if is_zero(value):
        return e.module.constant(e.types.number(matrix.element_type), 0)
    return converted(e, value, source, matrix.element_type)


def is_constant(id: Id) -> bool:
    """Whether a number is a constant of the module."""
    return id.definition is not None and id.definition.facts.name == "OpConstant"


def is_zero(id: Id) -> bool:
    """Whether a number is the constant 0, of floats the positive one."""
    return (
        is_constant(id) and id.definition is not None and id.definition.operands == (0,)
    )


@handlers.on(coopmatrix.LengthOp)
def length(e: Emission, op: coopmatrix.LengthOp) -> None:
    """How many elements the driver gives a work-item."""
    type = e.types.matrix(op.matrix_type)
    u32 = e.emit("OpCooperativeMatrixLengthKHR", type, type=e.types.u32)
    if not e.facts.vulkan:
        u32 = e.emit("OpUConvert", u32, type=e.types.index)
    e.set(op.result, (u32,))


def is_integer(matrix: MatrixType) -> bool:
    """Whether a matrix has integers."""
    return isinstance(matrix.element_type, IndexType | IntegerType)
