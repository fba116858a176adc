"""legalize-coopmatrix-khr: expands operations that SPV_KHR_cooperative_matrix lacks.

Before:  coopmatrix operations on tiles that the device has, or on other matrices.
After:   only operations that are instructions on the device; `coopc.plan.khr_table`
         decides which others become loops over elements, or go through work-group
         memory with barriers. Specialization constants record the values that the
         rewrite assumes.
Fails:   if the table rejects an operation on the device, with the reason; for unknown
         devices. The module is then unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    ModuleOp,
    SymbolRefAttr,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.ub import PoisonOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.traits import MemoryEffectKind, get_effects

from coopc.device import Device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import (
    BLOCKED,
    CHANNEL_BITS,
    SCOPE_NUMBERS,
    USE_NUMBERS,
    Layout,
    MatrixType,
    NarrowFloat,
    Reduced,
    Scope,
    ScopeAttr,
    Size,
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
from coopc.passes.coopmatrix.supported_tiles import (
    HeldMatrices,
    Product,
    SupportedTiles,
    element_names,
    rows_move,
)
from coopc.passes.generic.inline_calls import inline_functions_of
from coopc.passes.khr.legalize_coopmatrix_khr.staged_matrices import (
    CONTROL,
    SharedMemory,
    StagedMatrices,
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


Known: TypeAlias = dict[tuple[object, ...], Decision]
"""What is done with operations by what that depends on."""


def decide(module: ModuleOp, target: HeldMatrices) -> list[Decision]:
    """Return what is done with operations on matrices in a module, in order.

    For lanes only with those of specialization constants.

    Raises:
        Refused: the device cannot do one of them.
    """
    found: list[Decision] = []
    known: Known = {}
    for op in module.walk():
        spilled = next((x for x in _matrices(op) if target.is_spilled(x)), None)
        named = isinstance(op, coopmatrix.PlainAccessOp) and op.layout_name
        if target.for_lanes and not spilled and not named:
            continue
        if op.dialect_name() == "coopmatrix":
            found.append(_decision(op, target, known))
        elif isinstance(op, (*CONTROL, arith.SelectOp, PoisonOp)) and spilled:
            found.append(Decision(op, "memory"))
        elif spilled:
            raise Refused(
                op,
                f"{target.device.name} has no matrices of {spilled}: work-group memory "
                f"holds them, and {op.name} cannot pass that on",
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


def decide_products(module: ModuleOp, target: HeldMatrices) -> list[Decision]:
    """Return what no tiles of the device make up, before matrices are cut.

    These are multiplications, which lanes do, and conversions whose tiles before and
    after differ: a product that is multiplied again has tiles of M x N, then M x K.
    """
    found: list[Decision] = []
    supported = SupportedTiles(target.device)
    for op in module.walk():
        if (
            isinstance(op, coopmatrix.ConvertOp)
            and not supported.shares_tiles(op)
            and not why_not_staged(op, target)
        ):
            found.append(Decision(op, "staged"))
        if isinstance(op, coopmatrix.MulAddOp):
            facts = facts_of(op, target)
            row = _way(op, facts, target)
            if row.form != "staged" or why_not_staged(op, target):
                continue
            if not all(matrix.is_static for matrix in op.matrices.values()):
                continue  # split-coopmatrix leaves it whole
            if not supported.product(Product.of(op)):
                found.append(Decision(op, "staged", facts))
    return found


def _decision(op: Operation, target: HeldMatrices, known: Known) -> Decision:
    if not isinstance(op, coopmatrix.MulAddOp):  # most of a large program
        return _decided(op, target)
    key = (*op.operand_types, *op.properties.items())
    if (like := known.get(key)) is not None:
        return Decision(op, like.form, like.facts)
    found = known[key] = _decided(op, target)
    return found


def _decided(op: Operation, target: HeldMatrices) -> Decision:
    facts = facts_of(op, target)
    row = _way(op, facts, target)
    if row.form == "refused":
        raise Refused(op, f"{target.device.name} refuses {op.name}: {row.reason}")
    if row.form in ("staged", "memory") and (reason := why_not_staged(op, target)):
        raise Refused(op, reason)
    return Decision(op, row.form, facts)


def _way(op: Operation, facts: frozenset[Fact], target: HeldMatrices) -> Row:
    return way(op.name.partition(".")[2], facts, target.device)


def _matrices(op: Operation) -> Iterator[MatrixType]:
    for value in (*op.operands, *op.results):
        if isinstance(value.type, MatrixType):
            yield value.type
    if isinstance(op, coopmatrix.AccessOp):
        yield op.matrix
    elif isinstance(op, coopmatrix.LengthOp):
        yield op.matrix_type


def is_rounding_seen(
    op: coopmatrix.ConvertOp | coopmatrix.BitcastOp | coopmatrix.TransposeOp,
) -> bool:
    """Whether floats are rounded and not only stored, or made wider and not loaded."""
    before, after = (matrix_type(x).element_bits for x in (op.value, op.result))
    if before < after:
        return not isinstance(op.value.owner, coopmatrix.LoadOp)
    users = [x.operation for x in op.result.uses]
    return before > after and not all(isinstance(x, coopmatrix.StoreOp) for x in users)


def facts_of(op: Operation, target: HeldMatrices) -> frozenset[Fact]:
    matrices, device = list(_matrices(op)), target.device
    found: dict[Fact, bool] = {
        "narrow float": any(isinstance(x.element_type, NarrowFloat) for x in matrices),
        "integers": all(is_integer(x.element_type) for x in matrices),
        "not held": any(target.is_spilled(x) for x in matrices),
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
                if op.checked is not None and device.checked_rows:
                    found["surface"] = _is_surface(op, device)
                found["misaligned"] = device.aligned_rows and is_misaligned(op)
                found["other layout"] = _is_other_layout(op, target)
                pointee = op.memory_type.element_type
                same = pointee == op.matrix.element_type
                found["other pointee"] = not (device.pointees or same)
        case coopmatrix.FillOp():
            found["fill of 0"] = is_zero(constant(op.value))
        case coopmatrix.ConvertOp() | coopmatrix.BitcastOp() | coopmatrix.TransposeOp():
            before, after = matrix_type(op.value), matrix_type(op.result)
            found["same use"] = before.use == after.use
            found["same type"] = before.element_type == after.element_type
            moves = found["rows move"] = rows_move(op, device)
            found["use changes"] = moves or device.changes_use(
                before.use.data, after.use.data, isinstance(op, coopmatrix.TransposeOp)
            )
            found["of floats"] = not found["integers"]
            found["rounding"] = not found["integers"] and is_rounding_seen(op)
        case coopmatrix.ReduceOp():
            # Instructions halve the sizes by quads, and else keep them.
            halves = op.axis.data is Reduced.QUADS
            found["same type"] = halves == (op.broadcast is None)
            found["of acc"] = matrix_type(op.value).use.data is Use.ACC
        case coopmatrix.ApplyOp():
            found["no function"] = _is_no_function(op)
        case coopmatrix.MulAddOp():
            saturates = op.saturating is not None
            a, b = (matrix_type(x).specialised(target.constants) for x in (op.a, op.b))
            assert isinstance(a.scope, ScopeAttr), a
            sizes = a.shape[0], b.shape[1], a.shape[1]
            shape = device.multiplication(
                sizes, element_names(op), saturates, a.scope.data
            )
            found["not multiplied"] = shape is None or found["not held"]
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


def _is_surface(op: coopmatrix.PlainAccessOp, device: Device) -> bool:
    from coopc.passes.xe.convert_to_xe.matrix_memory import why_not_checked

    return why_not_checked(op, device) is None


def _is_other_layout(op: coopmatrix.PlainAccessOp, target: HeldMatrices) -> bool:
    """Whether a device has a matrix, but does not access it in a layout."""
    if op.layout_name is not None:
        return target.for_lanes or "layout" not in target.device.specialised
    matrix, layout = op.matrix, op.layout_in_memory
    if layout is None or target.is_spilled(matrix):
        return False
    has = target.layouts(matrix)
    return bool(has) and layout not in has


def is_misaligned(op: coopmatrix.PlainAccessOp) -> bool:
    """Whether rows in memory are surely not aligned as Vulkan asks for.

    Rows, or columns where these are contiguous, begin at multiples of 16 bytes, or of
    their length where that is less: VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986.
    Strides that are known only when the kernel runs are taken to be aligned; a length
    that has a name may be any.
    """
    matrix, strides = op.matrix, op.memory_type.get_strides()
    if strides is None or op.layout_in_memory in (None, *BLOCKED):
        return False
    by_rows = op.layout_in_memory is not Layout.COL_MAJOR
    length, needed = matrix.sizes[by_rows], 8 * ROW_BYTES
    if isinstance(length, int) and op.layout_name is None:
        if op.layout_in_memory is Layout.PACKED:
            length *= CHANNEL_BITS // matrix.element_bits
        needed = min(needed, length * matrix.element_bits)
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


def why_not_staged(op: Operation, target: HeldMatrices) -> str:
    """Why matrices cannot go through memory of a known size; empty if they can."""
    if isinstance(op, coopmatrix.PlainAccessOp):
        for word, scope in (("available", op.available), ("visible", op.visible)):
            if scope is not None:
                return (
                    f"{word} = {scope.data} is not supported on an access that "
                    "goes through work-group memory element by element; only "
                    "matrix instructions have it"
                )
        along = op.matrix.specialised(target.constants).shape[
            op.layout.data is not Layout.COL_MAJOR
        ]
        if not op.matrix.is_static and along * op.matrix.element_bits % op.pointee_bits:
            return (
                f"expected rows in memory that are whole elements of {op.memory_type}, "
                f"got {along} of {op.matrix.element_type} by default"
            )
    for matrix in _matrices(op):
        scope = matrix.specialised(target.constants).scope
        if scope != ScopeAttr(Scope.SUBGROUP):
            default = "" if matrix.scope == scope else f", by default {scope}"
            return (
                "expected a matrix of scope subgroup, whose lanes share work-group "
                f"memory here, got {matrix}{default}; {target.device.name} has "
                f"matrices of scope {target.device.scopes}"
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


# What the constants that are set later must be for what is done without instructions


def constrain(module: ModuleOp, decisions: list[Decision]) -> None:
    """Note which values of constants are those that a module is rewritten for.

    An instruction has rules for its types; code in their place is right only where
    those of the instruction would be met.
    """
    constants = {
        op.sym_name.data: op
        for op in module.ops
        if isinstance(op, coopmatrix.SpecConstantOp)
    }

    for op in (each.op for each in decisions if each.form != "native"):
        for one, other in _equal(op):
            if isinstance(one, str) and one != other:
                constants[one].must_equal(other)
            elif isinstance(other, str) and one != other:
                constants[other].must_equal(one)
        if isinstance(op, coopmatrix.PlainAccessOp):
            unit = op.pointee_bits // op.matrix.element_bits
            name = op.matrix.sizes[op.layout.data is not Layout.COL_MAJOR]
            if isinstance(name, str) and unit > 1:
                constants[name].multiple_of = IntegerAttr(unit, i32)


def _equal(op: Operation) -> Iterator[tuple[Size, Size]]:
    """Yield names and numbers that must be equal pairwise, for an operation."""
    for type in _matrices(op):
        if isinstance(name := type.scope, SymbolRefAttr):
            yield name.root_reference.data, SCOPE_NUMBERS[Scope.SUBGROUP]
    if not isinstance(op, coopmatrix.MulAddOp):
        return
    (m, k), (depth, n) = matrix_type(op.a).sizes, matrix_type(op.b).sizes
    yield depth, k
    for value in (op.c, op.result):
        yield from zip(matrix_type(value).sizes, (m, n), strict=True)
    for type in op.matrices.values():
        if isinstance(name := type.use_name, SymbolRefAttr):
            yield name.root_reference.data, USE_NUMBERS[type.use.data]


def slow_ways(
    decisions: list[Decision], target: HeldMatrices
) -> Iterator[tuple[Operation, str]]:
    """Yield what is far slower than by instructions, and why; each reason once."""
    said: set[str] = set()
    for each in decisions:
        if each.form not in ("staged", "memory"):
            continue
        if (text := _why_slow(each.op, each.facts, target)) and text not in said:
            said.add(text)
            yield each.op, text


def _why_slow(op: Operation, facts: frozenset[Fact], target: HeldMatrices) -> str:
    """Why an operation is far slower than others of its kind; empty if it is not."""
    device = target.device
    if isinstance(op, coopmatrix.MulAddOp):
        what = Product.of(op, target.constants).unsupported(device)
        return (
            f"{device.name} does not multiply {what}: its lanes compute it, element by "
            "element"
        )
    if "not held" in facts:
        matrix = next(x for x in _matrices(op) if target.is_spilled(x))
        return (
            f"{device.name} has no matrices of {matrix}: they stay in work-group "
            "memory, and lanes access them element by element"
        )
    if not isinstance(op, coopmatrix.AccessOp):
        return ""
    memory, has = op.memory_type, " or ".join(map(str, target.layouts(op.matrix)))
    texts: dict[Fact, str] = {
        "misaligned": f"rows of {memory} are not known to be {ROW_BYTES}-byte aligned, "
        f"which matrix accesses of {device.name} require: lanes access them",
        "other layout": f"{device.name} accesses {op.matrix} in {has}, not in "
        f"{op.layout_in_memory}: lanes access it",
        "other pointee": f"{device.name} accesses {op.matrix} in memory of its "
        f"elements, not in {memory}: lanes access it",
        "no unit stride": "neither rows nor columns are known to be contiguous in "
        f"{memory}: lanes access it",
    }
    found = next((text for fact, text in texts.items() if fact in facts), None)
    return "" if found is None else f"{found} element by element"


# The rewriting


@dataclass(slots=True)
class Legalizer:
    """The rewriting of one module; a function has its work-group memory when needed."""

    module: ModuleOp
    target: HeldMatrices
    spills: bool = True
    """Whether matrices of types that the device lacks stay in memory."""
    lanes: int | None = None
    """Of subgroups, where kernels do not say so; as the device has them if absent."""
    _staged: dict[FuncOp, StagedMatrices] = field(default_factory=lambda: {})

    def is_spilled(self, type: Attribute) -> bool:
        """Whether values of a type stay in memory."""
        return self.spills and self.target.is_spilled(type)

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
            shared = SharedMemory(func, self.target, *self._sizes(func))
            found = self._staged[func] = StagedMatrices(shared, self.is_spilled)
        return found

    def _sizes(self, func: FuncOp) -> tuple[int, int]:
        """Lanes of a subgroup, and subgroups of the largest work-group of a function.

        Any kernel may call a function that is none.
        """
        size = self.lanes or self.target.device.subgroup_size
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
        own = [kernel for kernel in kernels if kernel.func is func] or kernels
        subgroups = max((kernel.subgroups for kernel in own), default=1)
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
        type = values[-1].type
        if isinstance(op, coopmatrix.DivOp | coopmatrix.RemOp) and is_integer(type):
            # A slot without an element has any number, also 0.
            zero, unit = (b.constant(type, number) for number in (0, 1))
            is_zero = b.pure(arith.CmpiOp, values[1], zero, "eq")
            values[1] = b.pure(arith.SelectOp, is_zero, unit, values[1])
        return b.pure(coopmatrix.InsertOp, elementwise(b, op, values), made, slot)

    return over_slots(b, op.operands[0], one)


Only: TypeAlias = Literal["all", "products", "named"]
"""What is legalized: everything; multiplications that are not to be split; or what
specialization constants name, for lanes."""


def legalize(
    module: ModuleOp, device: Device, only: Only = "all", lanes: int | None = None
) -> None:
    """Rewrite a module for a device.

    Raises:
        Refused: the device refuses an operation; the module may be changed then.
    """
    constants = coopmatrix.default_constants(module)
    target = HeldMatrices(device, constants, for_lanes=only == "named")
    if only != "products":
        inline_functions_of(module, target.is_spilled)
    decisions = _DECIDE[only](module, target)
    constrain(module, decisions)
    slow = list(slow_ways(decisions, target))
    rewritten = [each.op for each in decisions if each.form != "native"]
    for func in functions(module).values():
        if (reason := why_not_structured(func)) and any(
            func.is_ancestor(op) for op in rewritten
        ):
            raise Refused(func, reason)
    # Products alone leave matrices, for what comes next to cut them.
    _demand_surfaces(decisions, device)
    legalizer = Legalizer(module, target, only != "products", lanes)
    for each in decisions:
        legalizer.rewrite(each.op, each.form)
    for op, text in slow:
        remark(op, text)
    _drop(module, rewritten, legalizer)
    for op in reversed(rewritten):
        if op.parent is not None:
            Rewriter.erase_op(op)


def _demand_surfaces(decisions: list[Decision], device: Device) -> None:
    """Note what must hold of memory that is accessed with checks, for the host."""
    checked = [
        x.op
        for x in decisions
        if x.form == "native"
        and "surface" in x.facts
        and isinstance(x.op, coopmatrix.PlainAccessOp)
    ]
    if not checked or device.block_io is None:
        return
    from coopc.passes.xe.conditions import Demands
    from coopc.passes.xe.convert_to_xe.matrix_memory import demand_surface

    for op in checked:
        demands = Demands()
        demand_surface(demands, op.memory, device.block_io)
        simt.add_conditions(function_around(op), demands.conditions())


_DECIDE: Mapping[Only, Callable[[ModuleOp, HeldMatrices], list[Decision]]] = {
    "all": decide,
    "products": decide_products,
    "named": decide,
}


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

    own = {type(op): rule for op in ops if op.dialect_name() in ("coopmatrix", "ub")}
    split_values(module, values, own)


@dataclass(frozen=True)
class LegalizeCoopmatrixKhrPass(ModulePass):
    name = "legalize-coopmatrix-khr"

    device: str | None = None
    """A device of `--list devices`; by default that of `simt.target`."""

    only: Only = "all"
    """What to rewrite. `products`: only multiplications whose types or sizes the device
    lacks (run before `split-coopmatrix`). `named`: only matrices and layouts given by
    specialization constants (run before `distribute-coopmatrix`)."""
    subgroup_size: int | None = None
    """Subgroup size; by default that of the kernel, or else of the device."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        device = device_of(self.device, op, self.name)
        if self.only == "products":
            constants = coopmatrix.default_constants(op)
            if not decide_products(op, HeldMatrices(device, constants)):
                return
        with transaction(op) as draft:
            legalize(draft, device, self.only, self.subgroup_size)
