"""What is to be done with each operation of a module: the table, asked for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, ModuleOp
from xdsl.ir import Attribute, Operation

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import (
    CHANNEL_BITS,
    Layout,
    MatrixType,
    Scope,
    ScopeAttr,
    constant,
    is_zero,
    matrix_type,
)
from coopc.dialects.narrow import is_integer
from coopc.ir.facts import constant_number
from coopc.ir.uniformity import Uniformity, Variation
from coopc.passes.coopmatrix.supported_tiles import Product, element_name
from coopc.passes.khr.legalize_coopmatrix_khr.shared_memory import DEVICE_USES
from coopc.passes.khr.legalize_coopmatrix_khr.spilled_matrices import CONTROL
from coopc.passes.khr.legalize_coopmatrix_khr.staged_memory import why_no_units
from coopc.plan.atomics import Access, atomic_form
from coopc.plan.khr_table import Fact, Form, way

ROW_BYTES = 16
"""What rows of matrices in memory are aligned to, if they are as long."""

SINGLE = (coopmatrix.ApplyOp, coopmatrix.ExtractOp, coopmatrix.InsertOp)
"""What is refused where lanes do not do the same."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done with one operation."""

    op: Operation
    form: Form
    reason: str = ""
    """Why it is refused."""


def decide(module: ModuleOp, device: Device) -> list[Decision]:
    """What is done with operations on matrices in a module, in order."""

    def held(type: Attribute) -> bool:
        return isinstance(type, MatrixType) and is_spilled(type, device)

    found: list[Decision] = []
    for op in module.walk():
        if op.dialect_name() == "coopmatrix":
            found.append(_decision(op, device))
        elif any(map(held, _types(op))):
            found.append(_passed(op, held, device))
    if any(isinstance(each.op, SINGLE) for each in found):
        uniformity = Uniformity(module)
        found = [_together(_alike(each, uniformity), uniformity) for each in found]
    return found


def decide_products(module: ModuleOp, device: Device) -> list[Decision]:
    """The multiplications that work-items do: those of types that the device lacks."""
    found = [
        _decision(op, device)
        for op in module.walk()
        if isinstance(op, coopmatrix.MulAddOp)
    ]
    return [each for each in found if each.form == "staged"]


def slow_ways(
    decisions: list[Decision], device: Device
) -> Iterator[tuple[Operation, str]]:
    """What a device does far slower than by its instructions; each reason once."""
    said: set[str] = set()
    for each in decisions:
        text = _why_slow(each, device)
        if text and text not in said:
            said.add(text)
            yield each.op, text


def _why_slow(decision: Decision, device: Device) -> str:
    """Why an operation is far slower than others of its kind; empty if it is not."""
    op = decision.op
    if decision.form not in ("staged", "memory") or isinstance(op, CONTROL):
        return ""
    facts = facts_of(op, device)
    if isinstance(op, coopmatrix.MulAddOp):
        return (
            f"{device.name} does not multiply {Product.of(op).types}: its lanes do, "
            "element by element"
        )
    if "not held" in facts:
        matrix = next(x for x in _matrices(op) if is_spilled(x, device))
        return (
            f"{device.name} has no matrices of {matrix}: they stay in work-group "
            "memory, and lanes access them element by element"
        )
    if "misaligned" in facts and isinstance(op, coopmatrix.AccessOp):
        return (
            f"rows of {op.memory_type} are not known to be "
            f"{ROW_BYTES}-byte aligned, which matrix accesses of "
            f"{device.name} require: lanes access them element by element"
        )
    if "no unit stride" in facts and isinstance(op, coopmatrix.AccessOp):
        return (
            "neither rows nor columns are known to be contiguous in "
            f"{op.memory_type}: lanes access it element by element"
        )
    return ""


def is_spilled(matrix: MatrixType, device: Device) -> bool:
    """Whether a device has no matrices of a type, so that memory holds them.

    A type with names for sizes or scope is taken to be one that it has.
    """
    if not matrix.is_static or matrix.scope != ScopeAttr(Scope.SUBGROUP):
        return False
    use = DEVICE_USES.get(matrix.use.data)
    if use is None:
        return True
    return matrix.shape not in device.held(use, str(matrix.element_type))


def _matrices(op: Operation) -> Iterator[MatrixType]:
    for value in (*op.operands, *op.results):
        if isinstance(value.type, MatrixType):
            yield value.type
    if isinstance(op, coopmatrix.AccessOp):
        yield op.matrix
    elif isinstance(op, coopmatrix.LengthOp):
        yield op.matrix_type


def facts_of(op: Operation, device: Device) -> frozenset[Fact]:
    matrices = list(_matrices(op))
    found: dict[Fact, bool] = {
        "bf16": any(isinstance(x.element_type, BFloat16Type) for x in matrices),
        "integers": all(is_integer(x.element_type) for x in matrices),
        "not held": any(is_spilled(x, device) for x in matrices),
    }
    found["inexact"] = not (device.exact_matrices or found["integers"])
    match op:
        case coopmatrix.AccessOp():
            found |= _of_access(op, device)
        case coopmatrix.FillOp():
            found["fill of 0"] = is_zero(constant(op.value))
        case coopmatrix.ConvertOp() | coopmatrix.BitcastOp():
            before, after = matrix_type(op.value), matrix_type(op.result)
            found["same use"] = before.use == after.use
            found["same type"] = before.element_type == after.element_type
        case coopmatrix.MulAddOp():
            result = matrix_type(op.result)
            found["not multiplied"] = not _is_multiplied(op, device)
            found["wide saturation"] = (
                op.saturating is not None and result.element_bits > 32
            )
        case _:
            pass
    return frozenset(fact for fact, true in found.items() if true)


def _is_multiplied(op: coopmatrix.MulAddOp, device: Device) -> bool:
    """Whether the device multiplies matrices of such types, of whatever sizes."""
    a, b, c, result = (
        element_name(type.element_type, op.is_signed(operand))
        for operand, type in op.matrices.items()
    )
    return bool(device.multiplications(a, b, c, result, op.saturating is not None))


def _of_access(op: coopmatrix.AccessOp, device: Device) -> dict[Fact, bool]:
    return {
        "checked": op.checked is not None,
        "no unit stride": op.layout_in_memory is None,
        "misaligned": device.aligned_rows
        and isinstance(op, coopmatrix.PlainAccessOp)
        and is_misaligned(op),
        "logical": isinstance(op, coopmatrix.AtomicOp) and _is_logical(op, device),
    }


def is_misaligned(op: coopmatrix.PlainAccessOp) -> bool:
    """Whether rows in memory are surely not aligned as Vulkan asks for.

    Rows, or columns where these are contiguous, begin at multiples of 16 bytes, or of
    their length where that is less: VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986.
    What is known only when the kernel runs is taken to be aligned.
    """
    matrix, strides = op.matrix, op.memory_type.get_strides()
    if not matrix.is_static or strides is None or op.layout_in_memory is None:
        return False
    by_rows = op.layout_in_memory is not Layout.COL_MAJOR
    length = matrix.shape[1] if by_rows else matrix.shape[0]
    if op.layout_in_memory is Layout.PACKED:
        length *= CHANNEL_BITS // matrix.element_bits
    needed = 8 * min(ROW_BYTES, length * matrix.element_bits // 8)
    steps = [x for x in strides[-2:] if x is not None and x != 1]
    begin = 0
    for position, stride in zip(op.positions, strides, strict=True):
        number = constant_number(position)
        begin += (number or 0) * (stride or 0)
    return any(x * op.pointee_bits % needed for x in (*steps, begin))


def _is_logical(op: coopmatrix.AtomicOp, device: Device) -> bool:
    """Whether an access is by integers, which its memory cannot be seen as."""
    space = op.memory_type.memory_space
    is_own = isinstance(space, simt.MemoryAttr) and (
        space.data != simt.MemorySpace.GLOBAL
    )
    if device.family != "vulkan" or not is_own:
        return False
    access: Access = "min_max"
    if isinstance(op, coopmatrix.AtomicLoadOp | coopmatrix.AtomicStoreOp):
        access = "access"
    elif isinstance(op, coopmatrix.AtomicAddOp):
        access = "add"
    element = str(op.matrix.element_type)
    return atomic_form(element, access, device) != "native"


def _decision(op: Operation, device: Device) -> Decision:
    row = way(op.name.partition(".")[2], facts_of(op, device), device)
    reason = row.reason and f"{device.name} refuses {op.name}: {row.reason}"
    if row.form in ("staged", "memory"):
        reason = why_not_staged(op)
    return Decision(op, "refused" if reason else row.form, reason)


def why_not_staged(op: Operation) -> str:
    """Why matrices cannot go through memory of a known size; empty if they can."""
    if isinstance(op, coopmatrix.PlainAccessOp) and op.layout_name is not None:
        return (
            "expected a known layout for a matrix that goes through "
            f"work-group memory, got {op.layout_name}"
        )
    if isinstance(op, coopmatrix.PlainAccessOp):
        for word, scope in (("available", op.available), ("visible", op.visible)):
            if scope is not None:
                return (
                    f"{word} = {scope.data} is not supported on an access that "
                    "goes through work-group memory element by element; only "
                    "matrix instructions have it"
                )
    for matrix in _matrices(op):
        if not matrix.is_static:
            return (
                "expected numbers for the sizes and the scope of a matrix that goes "
                f"through work-group memory, got {matrix}"
            )
        if matrix.scope != ScopeAttr(Scope.SUBGROUP):
            return (
                "expected a matrix of scope subgroup, whose lanes share work-group "
                f"memory here, got {matrix}"
            )
    return why_no_units(op) if isinstance(op, coopmatrix.AccessOp) else ""


def _alike(decision: Decision, uniformity: Uniformity) -> Decision:
    """Refuse an `apply` whose body asks who owns an element."""
    op = decision.op
    if not isinstance(op, coopmatrix.ApplyOp) or decision.form == "refused":
        return decision
    inside = set(op.body.walk())
    for inner in inside:
        for value in inner.operands:
            if value.owner in inside or value.owner is op.body.block:
                continue
            if uniformity.of(value) > Variation.SUBGROUPS:
                return Decision(
                    op,
                    "refused",
                    "expected values from outside the body to be uniform: other "
                    "lanes than before compute the elements",
                )
    return decision


def _together(decision: Decision, uniformity: Uniformity) -> Decision:
    """Refuse single elements in memory where not all lanes go there together."""
    op = decision.op
    single = isinstance(op, coopmatrix.ExtractOp | coopmatrix.InsertOp)
    if not single or decision.form != "memory":
        return decision
    if uniformity.around(op) <= Variation.SUBGROUPS:
        return decision
    return Decision(
        op,
        "refused",
        "expected uniform control flow: the device cannot access "
        "elements of a matrix, so all lanes store it to work-group "
        "memory together",
    )


def _types(op: Operation) -> Iterator[Attribute]:
    for value in (*op.operands, *op.results):
        yield value.type


def _passed(
    op: Operation, held: Callable[[Attribute], bool], device: Device
) -> Decision:
    """What is done with an operation that passes on matrices which memory holds."""
    if isinstance(op, (*CONTROL, arith.SelectOp)):
        return Decision(op, "memory")
    type = next(filter(held, _types(op)))
    return Decision(
        op,
        "refused",
        f"{device.name} has no matrices of {type}: work-group memory holds them, and "
        f"{op.name} cannot pass that on",
    )
