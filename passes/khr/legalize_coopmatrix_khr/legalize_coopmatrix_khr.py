"""legalize-coopmatrix-khr: expands what SPV_KHR_cooperative_matrix does not have.

Before:  coopmatrix operations on tiles that the device has, or on other matrices.
After:   the operations that are instructions on the device; loops over elements, and
         work-group memory with barriers, for the others, as `coopc.plan.khr_table`
         decides.
Fails:   where the table refuses an operation on the device, with the reason; for
         unknown devices. The module is then unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import MemoryEffectKind, get_effects

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import (
    CHANNEL_BITS,
    DEVICE_USES,
    Layout,
    MatrixType,
    Reduced,
    Scope,
    ScopeAttr,
    Use,
    constant,
    is_zero,
    matrix_type,
)
from coopc.dialects.narrow import is_integer, is_memref
from coopc.ir.builder import Builder, Values
from coopc.ir.control_flow import (
    captured,
    defined_by,
    function_around,
    functions,
    why_not_structured,
)
from coopc.ir.device_option import device_of
from coopc.ir.facts import constant_number
from coopc.ir.split_values import Parts, Splitter, split_values
from coopc.ir.transaction import Refused, transaction
from coopc.ir.uniformity import Uniformity, Variation
from coopc.passes.coopmatrix.elementwise import (
    elementwise,
    fill_value,
    filled,
    over_slots,
)
from coopc.passes.coopmatrix.inline_matrix_calls import inline_calls
from coopc.passes.coopmatrix.supported_tiles import (
    Product,
    SupportedTiles,
    element_names,
)
from coopc.passes.khr.legalize_coopmatrix_khr.staged_matrices import (
    CONTROL,
    SharedMemory,
    StagedMatrices,
    layouts_of,
)
from coopc.plan.atomic_form import Access, atomic_form
from coopc.plan.khr_table import Fact, Form, Row, way
from coopc.remarks import remark

ROW_BYTES = 16
"""What rows of matrices in memory are aligned to, if they are as long."""


# What is done with each operation


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done with one operation."""

    op: Operation
    form: Form
    facts: frozenset[Fact] = frozenset()


def decide(module: ModuleOp, device: Device) -> list[Decision]:
    """Return what is done with operations on matrices in a module, in order.

    Raises:
        Refused: the device cannot do one of them.
    """
    found: list[Decision] = []
    for op in module.walk():
        spilled = next((x for x in _matrices(op) if is_spilled(x, device)), None)
        if op.dialect_name() == "coopmatrix":
            found.append(_decision(op, device))
        elif isinstance(op, (*CONTROL, arith.SelectOp)) and spilled:
            found.append(Decision(op, "memory"))
        elif spilled:
            raise Refused(
                op,
                f"{device.name} has no matrices of {spilled}: work-group memory holds "
                f"them, and {op.name} cannot pass that on",
            )
    single = coopmatrix.ApplyOp | coopmatrix.ExtractOp | coopmatrix.InsertOp
    if any(isinstance(each.op, single) for each in found):
        uniformity = Uniformity(module)
        for each in found:
            if isinstance(each.op, coopmatrix.ApplyOp):
                _check_body(each.op, uniformity)
            elif isinstance(each.op, single) and each.form == "memory":
                _check_together(each.op, uniformity)
    return found


def decide_products(module: ModuleOp, device: Device) -> list[Decision]:
    """Return the multiplications that lanes do: no tiles of the device make them up."""
    found: list[Decision] = []
    supported = SupportedTiles(device)
    for op in module.walk():
        if isinstance(op, coopmatrix.MulAddOp):
            facts = facts_of(op, device)
            row = _way(op, facts, device)
            if row.form != "staged" or why_not_staged(op):
                continue
            if not supported.product(Product.of(op)):
                found.append(Decision(op, "staged", facts))
    return found


def _decision(op: Operation, device: Device) -> Decision:
    facts = facts_of(op, device)
    row = _way(op, facts, device)
    if row.form == "refused":
        raise Refused(op, f"{device.name} refuses {op.name}: {row.reason}")
    if row.form in ("staged", "memory") and (reason := why_not_staged(op)):
        raise Refused(op, reason)
    return Decision(op, row.form, facts)


def _way(op: Operation, facts: frozenset[Fact], device: Device) -> Row:
    return way(op.name.partition(".")[2], facts, device)


def is_spilled(matrix: Attribute, device: Device) -> bool:
    """Whether a device has no matrices of a type, so that memory holds them.

    A type with names for sizes or scope is taken to be one that it has.
    """
    if not isinstance(matrix, MatrixType) or not matrix.is_static:
        return False
    if matrix.scope != ScopeAttr(Scope.SUBGROUP):
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
            found["checked"] = op.checked is not None
            found["no unit stride"] = op.layout_in_memory is None
            if isinstance(op, coopmatrix.AtomicOp):
                found["logical"] = _is_logical(op, device)
            elif isinstance(op, coopmatrix.PlainAccessOp):
                found["from start"] = op.is_from_start
                found["misaligned"] = device.aligned_rows and is_misaligned(op)
                found["other layout"] = _is_other_layout(op, device)
                pointee = op.memory_type.element_type
                same = pointee == op.matrix.element_type
                found["other pointee"] = not (device.pointees or same)
        case coopmatrix.FillOp():
            found["fill of 0"] = is_zero(constant(op.value))
        case coopmatrix.ConvertOp() | coopmatrix.BitcastOp() | coopmatrix.TransposeOp():
            before, after = matrix_type(op.value), matrix_type(op.result)
            found["same use"] = before.use == after.use
            found["same type"] = before.element_type == after.element_type
            found["use changes"] = device.changes_use(
                before.use.data, after.use.data, isinstance(op, coopmatrix.TransposeOp)
            )
            found["of floats"] = not found["integers"]
        case coopmatrix.ReduceOp():
            # Instructions halve the sizes by quads, and else keep them.
            halves = op.axis.data is Reduced.QUADS
            found["same type"] = halves == (op.broadcast is None)
            found["of acc"] = matrix_type(op.value).use.data is Use.ACC
        case coopmatrix.ApplyOp():
            found["no function"] = _is_no_function(op)
        case coopmatrix.MulAddOp():
            saturates = op.saturating is not None
            shapes = device.multiplications(*element_names(op), saturates)
            if all(matrix.is_static for matrix in matrices):
                product = Product.of(op)
                size = product.m, product.n, product.k
                shapes = [x for x in shapes if (x.m, x.n, x.k) == size]
            found["not multiplied"] = not shapes
            bits = matrix_type(op.result).element_bits
            found["wide saturation"] = saturates and bits > 32
        case _:
            pass
    return frozenset(fact for fact, true in found.items() if true)


def _is_no_function(op: coopmatrix.ApplyOp) -> bool:
    """Whether the body cannot be a function that runs once or more for an element."""
    effects = get_effects(op)
    if effects is None or any(x.kind is not MemoryEffectKind.READ for x in effects):
        return True
    private = simt.MemoryAttr(simt.MemorySpace.PRIVATE)
    return any(
        isinstance(value.type, MatrixType)
        or (is_memref(value.type) and value.type.memory_space == private)
        for value in captured(op.body)
    )


def _is_other_layout(op: coopmatrix.PlainAccessOp, device: Device) -> bool:
    """Whether a device has a matrix, but does not access it in a layout."""
    matrix, layout = op.matrix, op.layout_in_memory
    if layout is None or op.layout_name is not None or is_spilled(matrix, device):
        return False
    has = layouts_of(matrix, device)
    return bool(has) and layout not in has


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
        begin += (constant_number(position) or 0) * (stride or 0)
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


def why_not_staged(op: Operation) -> str:
    """Why matrices cannot go through memory of a known size; empty if they can."""
    if isinstance(op, coopmatrix.PlainAccessOp):
        if op.layout_name is not None:
            return (
                "expected a known layout for a matrix that goes through "
                f"work-group memory, got {op.layout_name}"
            )
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
    return ""


def _check_body(op: coopmatrix.ApplyOp, uniformity: Uniformity) -> None:
    """Refuse an `apply` whose body asks who owns an element."""
    ids = (x for x in op.body.walk() if isinstance(x, simt.LaneIdOp | simt.LocalIdOp))
    for each in ids:
        if uniformity.of(each.results[0]) > Variation.SUBGROUPS:
            raise Refused(
                each,
                "expected a body that does not depend on the lane: other lanes than "
                "before compute the elements",
            )
    for value in captured(op.body):
        if uniformity.of(value) > Variation.SUBGROUPS:
            raise Refused(
                op,
                "expected values from outside the body to be uniform: other lanes than "
                "before compute the elements",
            )


def _check_together(op: Operation, uniformity: Uniformity) -> None:
    """Refuse single elements in memory where not all lanes go there together."""
    if uniformity.around(op) > Variation.SUBGROUPS:
        raise Refused(
            op,
            "expected uniform control flow: the device cannot access elements of a "
            "matrix, so all lanes store it to work-group memory together",
        )


def slow_ways(
    decisions: list[Decision], device: Device
) -> Iterator[tuple[Operation, str]]:
    """Yield what is far slower than by instructions, and why; each reason once."""
    said: set[str] = set()
    for each in decisions:
        if each.form not in ("staged", "memory"):
            continue
        if (text := _why_slow(each.op, each.facts, device)) and text not in said:
            said.add(text)
            yield each.op, text


def _why_slow(op: Operation, facts: frozenset[Fact], device: Device) -> str:
    """Why an operation is far slower than others of its kind; empty if it is not."""
    if isinstance(op, coopmatrix.MulAddOp):
        product = Product.of(op)
        types = device.multiplications(*product.elements, product.saturating)
        what = f"{product} of {product.types}" if types else product.types
        return (
            f"{device.name} does not multiply {what}: its lanes do it, element by "
            "element"
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
    if "other layout" in facts and isinstance(op, coopmatrix.AccessOp):
        has = " or ".join(map(str, layouts_of(op.matrix, device)))
        return (
            f"{device.name} accesses {op.matrix} in {has}, not in "
            f"{op.layout_in_memory}: lanes access it element by element"
        )
    if "other pointee" in facts and isinstance(op, coopmatrix.AccessOp):
        return (
            f"{device.name} accesses {op.matrix} in memory of its elements, not in "
            f"{op.memory_type}: lanes access it element by element"
        )
    if "no unit stride" in facts and isinstance(op, coopmatrix.AccessOp):
        return (
            "neither rows nor columns are known to be contiguous in "
            f"{op.memory_type}: lanes access it element by element"
        )
    return ""


# The rewriting


@dataclass(slots=True)
class Legalizer:
    """The rewriting of one module; a function has its work-group memory when needed."""

    module: ModuleOp
    device: Device
    spills: bool = True
    """Whether matrices of types that the device lacks stay in memory."""
    _staged: dict[FuncOp, StagedMatrices] = field(
        default_factory=dict[FuncOp, StagedMatrices]
    )

    def is_spilled(self, type: Attribute) -> bool:
        """Whether values of a type stay in memory."""
        return self.spills and is_spilled(type, self.device)

    def rewrite(self, op: Operation, form: Form) -> None:
        """Insert what an operation becomes before it."""
        b = Builder.at(op)
        results: Values
        match form:
            case "native" | "refused":
                return
            case "elements" if isinstance(op, coopmatrix.FillOp):
                results = (filled(b, matrix_type(op.result), fill_value(b, op)),)
            case "elements":
                results = (_by_slots(b, op),)
            case "staged" | "memory":
                results = self._staged_in(function_around(op)).lower(b, op)
        for old, new in zip(op.results if results else (), results, strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)

    def _staged_in(self, func: FuncOp) -> StagedMatrices:
        """Return what a function has in work-group memory."""
        if (found := self._staged.get(func)) is None:
            shared = SharedMemory(func, self.device, *self._sizes())
            found = self._staged[func] = StagedMatrices(shared, self.is_spilled)
        return found

    def _sizes(self) -> tuple[int, int]:
        """Lanes of a subgroup, and subgroups of the largest work-group."""
        size = self.device.subgroup_size
        for kernel in list(simt.kernels(self.module)):
            attributes = kernel.func.attributes
            if kernel.subgroup_size is None:
                attributes[simt.SUBGROUP_SIZE] = IntegerAttr(size, i32)
                group = DenseArrayBase.from_list(i32, [size])
                attributes.setdefault(simt.WORK_GROUP_SIZE, group)
        kernels = list(simt.kernels(self.module))
        lanes = {kernel.subgroup_size or size for kernel in kernels}
        if len(lanes) > 1:
            raise Refused(
                self.module,
                "expected kernels of one subgroup size in a module whose matrices go "
                f"through work-group memory, got {sorted(lanes)}",
            )
        subgroups = max((kernel.subgroups for kernel in kernels), default=1)
        return next(iter(lanes), size), subgroups


def _by_slots(b: Builder, op: Operation) -> SSAValue:
    """Return what an operation of matrices of one type makes, element by element.

    Which elements a work-item owns does not matter: all matrices have them alike.
    """

    def one(slot: SSAValue, made: SSAValue) -> SSAValue:
        values = [
            b.pure(coopmatrix.ExtractOp, value, slot)
            if isinstance(value.type, MatrixType)
            else value
            for value in op.operands
        ]
        return b.pure(coopmatrix.InsertOp, elementwise(b, op, values), made, slot)

    return over_slots(b, op.operands[0], one)


def legalize(module: ModuleOp, device: Device, products_only: bool = False) -> None:
    """Rewrite a module for a device; or only multiplications of types that it lacks.

    Raises:
        Refused: the device refuses an operation; the module may be changed then.
    """
    if not products_only:
        inline_calls(module, lambda type: is_spilled(type, device))
    decide_on = decide_products if products_only else decide
    decisions = decide_on(module, device)
    slow = list(slow_ways(decisions, device))
    rewritten = [each.op for each in decisions if each.form != "native"]
    for func in functions(module).values():
        if (reason := why_not_structured(func)) and any(
            func.is_ancestor(op) for op in rewritten
        ):
            raise Refused(func, reason)
    # Products alone leave matrices, for what comes next to cut them.
    legalizer = Legalizer(module, device, spills=not products_only)
    for each in decisions:
        legalizer.rewrite(each.op, each.form)
    for op, text in slow:
        remark(op, text)
    _drop(module, rewritten, legalizer)
    for op in reversed(rewritten):
        if op.parent is not None:
            Rewriter.erase_op(op)


def _drop(module: ModuleOp, ops: list[Operation], legalizer: Legalizer) -> None:
    """Take matrices that memory holds out of control flow, with what made them."""
    values = {
        value: Parts(())
        for op in ops
        for value in (*op.operands, *defined_by(op))
        if legalizer.is_spilled(value.type)
    }

    def rule(op: Operation, _: Splitter) -> list[tuple[SSAValue, ...]]:
        return [() if result in values else (result,) for result in op.results]

    own = {type(op): rule for op in ops if op.dialect_name() == "coopmatrix"}
    split_values(module, values, own)


@dataclass(frozen=True)
class LegalizeCoopmatrixKhrPass(ModulePass):
    """Turn operations into such as the device has instructions for."""

    name = "legalize-coopmatrix-khr"

    device: str | None = None
    """A device of `--list devices`; that of `simt.target` where it is absent."""

    products_only: bool = False
    """Whether only multiplications of types and sizes that the device lacks are
    rewritten: before `split-coopmatrix`, which cuts what is then loaded and stored."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        with transaction(op) as draft:
            legalize(draft, device, self.products_only)
