"""convert-gpu-mma-to-coopmatrix: raises MLIR's `gpu.subgroup_mma_*` to coopmatrix.

Before:  kernels of gpu.func in a gpu.module, or func.func, with gpu.subgroup_mma_*,
         ids, shuffles, reductions and barriers of gpu, as mlir-opt prints them.
After:   func.func with coopmatrix and simt operations. Kernels of gpu.func are
         simt kernels, with the work-group size of known_block_size. Memory of
         work-groups and work-items that they take is allocated in them. Functions of
         the host, with gpu.launch_func, are left out.
Fails:   if an operation cannot be raised, naming it. The module is then unchanged.

    %m = gpu.subgroup_mma_load_matrix %a[%i, %j] {leadDimension = 64 : index}
        : memref<?x64xf16> -> !gpu.mma_matrix<16x16xf16, "AOp">

    %m = coopmatrix.load %a[%i, %j] row_major
        : memref<?x64xf16> -> !coopmatrix.matrix<16x16xf16, a>
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith, func, gpu, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    Signedness,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolOpInterface

from coopc.dialects import coopmatrix, gpu_mma, simt
from coopc.dialects.coopmatrix import Layout, MatrixType, Operand, SignedAttr, Use
from coopc.dialects.gpu_mma import MmaMatrixType
from coopc.dialects.narrow import is_integer, is_memref
from coopc.dialects.simt import KERNEL, SUBGROUP_SIZE, WORK_GROUP_SIZE
from coopc.ir.builder import INDEX, Builder
from coopc.ir.control_flow import function_around, retype
from coopc.ir.facts import constant_number
from coopc.ir.transaction import Refused, transaction
from coopc.remarks import LEFT_OUT, remark

_USES = {"AOp": Use.A, "BOp": Use.B, "COp": Use.ACC}
_ELEMENTWISE: dict[str, Callable[..., Operation]] = {
    "addf": coopmatrix.AddOp,
    "addi": coopmatrix.AddOp,
    "subf": coopmatrix.SubOp,
    "subi": coopmatrix.SubOp,
    "mulf": coopmatrix.MulOp,
    "muli": coopmatrix.MulOp,
    "divf": coopmatrix.DivOp,
    "divs": partial(coopmatrix.DivOp, signed=True),
    "divu": coopmatrix.DivOp,
    "negatef": coopmatrix.NegOp,
    "negates": coopmatrix.NegOp,
}
"""`maxf` and `minf` give NaN where one element is NaN; coopmatrix gives the number."""
_ALONG: dict[type[Operation], Callable[..., Operation]] = {
    gpu.ThreadIdOp: simt.LocalIdOp,
    gpu.BlockIdOp: simt.WorkgroupIdOp,
    gpu.BlockDimOp: simt.WorkgroupSizeOp,
    gpu.GridDimOp: simt.NumWorkgroupsOp,
}
_SPACES = {
    "global": NoneAttr(),
    "workgroup": simt.MemoryAttr(simt.MemorySpace.WORKGROUP),
    "private": NoneAttr(),
}
_OTHER_LANE: dict[simt.ShuffleMode, Callable[..., Operation]] = {
    simt.ShuffleMode.XOR: arith.XOrIOp,
    simt.ShuffleMode.UP: arith.SubiOp,
    simt.ShuffleMode.DOWN: arith.AddiOp,
}
_FLOATS, _INTEGERS = ("minnumf", "maxnumf"), ("minui", "minsi", "maxui", "maxsi")
"""`minimumf` and `maximumf` give NaN where one value is; `simt.reduce` the number."""
_REDUCTIONS: dict[str, Callable[[SSAValue], Operation]] = {
    **{
        name: partial(simt.ReduceOp, simt.ReduceKind(name))
        for name in ("add", "mul", "and", "or", "xor")
    },
    **{
        name: partial(
            simt.ReduceOp, simt.ReduceKind(name[:3]), signed=name.endswith("si")
        )
        for name in (*_FLOATS, *_INTEGERS)
    },
}
_PLAIN: dict[type[Operation], Callable[[], Operation]] = {
    gpu.LaneIdOp: simt.LaneIdOp,
    gpu.SubgroupIdOp: simt.SubgroupIdOp,
    gpu.SubgroupSizeOp: simt.SubgroupSizeOp,
    gpu.NumSubgroupsOp: simt.NumSubgroupsOp,
    gpu.BarrierOp: simt.BarrierOp,
    gpu.ReturnOp: func.ReturnOp,
}


def converted_type(type: Attribute) -> Attribute:
    """A matrix of coopmatrix, whose integers have no sign, in place of one of gpu.

    Memory of work-groups is that of simt.
    """
    if is_memref(type) and isinstance(type.memory_space, gpu_mma.AddressSpaceAttr):
        space = _SPACES[type.memory_space.data]
        return MemRefType(type.element_type, type.get_shape(), type.layout, space)
    if not isinstance(type, MmaMatrixType):
        return type
    element = type.element_type
    if is_integer(element):
        element = IntegerType(element.bitwidth)
    rows, cols = type.rows.data, type.cols.data
    return MatrixType.of(rows, cols, element, _USES[type.operand.data])


def _layout(op: gpu_mma.LoadMatrixOp | gpu_mma.StoreMatrixOp) -> Layout:
    """The layout in memory, whose stride must be what `leadDimension` says.

    Raises:
        Refused: it is not, or is known only at run time.
    """
    type, lead = op.memory.type, op.lead.value.data
    strides = type.get_strides() if is_memref(type) else None
    if strides is None or len(strides) < 2 or strides[-2:] != (lead, 1):
        raise Refused(
            op,
            f"expected a memref of rank 2 or more with rows {lead} elements apart, as "
            f"leadDimension says, got {type}",
        )
    return Layout.ROW_MAJOR if op.transpose is None else Layout.COL_MAJOR


def _signs(op: gpu_mma.ComputeOp) -> SignedAttr | None:
    """Which operands are signed, by types that are not converted yet."""
    operands = (
        *((Operand.A, op.a), (Operand.B, op.b)),
        *((Operand.C, op.c), (Operand.RESULT, op.result)),
    )
    signed = frozenset(operand for operand, x in operands if _is_signed(x.type))
    return SignedAttr(signed) if signed else None


def _is_signed(type: Attribute) -> bool:
    """Whether integers are signed: of operands if they say so, always of sums."""
    assert isinstance(type, MmaMatrixType), type
    element = type.element_type
    if not is_integer(element):
        return False
    is_sum = type.operand.data == "COp"
    return is_sum or element.signedness.data is Signedness.SIGNED


def _matrix(
    op: Operation, operands: list[SSAValue], signs: SignedAttr | None
) -> Operation | None:
    """The operation of coopmatrix or simt for one of gpu; None for another dialect's.

    Raises:
        Refused: there is none.
    """
    match op:
        case gpu_mma.LoadMatrixOp():
            memory, *positions = operands
            result = converted_type(op.result.type)
            return coopmatrix.LoadOp(memory, positions, result, _layout(op))
        case gpu_mma.StoreMatrixOp():
            value, memory, *positions = operands
            return coopmatrix.StoreOp(value, memory, positions, _layout(op))
        case gpu_mma.ComputeOp():
            return _multiply(op, operands, signs)
        case gpu_mma.ConstantMatrixOp():
            return coopmatrix.FillOp(operands[0], converted_type(op.result.type))
        case gpu_mma.ElementwiseOp():
            return _elementwise(op, operands)
        case gpu_mma.ExtractOp() | gpu_mma.InsertOp():
            if len(op.indices) != 1:
                raise Refused(op, f"expected one index, got {len(op.indices)}")
            is_extract = isinstance(op, gpu_mma.ExtractOp)
            return (coopmatrix.ExtractOp if is_extract else coopmatrix.InsertOp)(
                *operands
            )
        case _:
            return _work_item(op)


def _multiply(
    op: gpu_mma.ComputeOp, operands: list[SSAValue], signs: SignedAttr | None
) -> Operation:
    """A multiplication; that an operand is transposed says how it was loaded.

    Raises:
        Refused: it was loaded otherwise.
    """
    a, b, c = operands
    for said, x in ((op.a_transpose, a), (op.b_transpose, b)):
        if said is not None and not _is_transposed(x):
            wanted = "expected a matrix that is loaded with transpose"
            raise Refused(op, f"{wanted}, as the operation says")
    return coopmatrix.MulAddOp(a, b, c, c.type, signs, None)


def _elementwise(op: gpu_mma.ElementwiseOp, operands: list[SSAValue]) -> Operation:
    """An operation of each element.

    Raises:
        Refused: coopmatrix has none.
    """
    if op.kind.data == "extf":
        return coopmatrix.ConvertOp(operands[0], converted_type(op.result.type), False)
    if op.kind.data not in _ELEMENTWISE:
        known = ", ".join((*_ELEMENTWISE, "extf"))
        raise Refused(op, f"expected one of {known}, got {op.kind.data}")
    return _ELEMENTWISE[op.kind.data](*operands)


def _is_transposed(matrix: SSAValue) -> bool:
    load = matrix.owner
    return isinstance(load, coopmatrix.LoadOp) and load.layout.data is Layout.COL_MAJOR


def _work_item(op: Operation) -> Operation | None:
    """The same for ids, sizes, barriers and returns."""
    match op:
        case gpu.ThreadIdOp() | gpu.BlockIdOp() | gpu.BlockDimOp() | gpu.GridDimOp():
            return _ALONG[type(op)](simt.Dimension(op.dimension.data.value))
        case gpu_mma.SubgroupReduceOp():
            return _reduce(op)
        case _ if type(op) in _PLAIN:
            return _PLAIN[type(op)]()
        case _ if op.name.startswith("gpu."):
            raise Refused(op, "not supported: coopc has no operation for it")
        case _:
            return None


def _global_id(op: gpu.GlobalIdOp) -> SSAValue:
    """The number of a work-item among those of all work-groups."""
    along = simt.Dimension(op.dimension.data.value)
    b = Builder.at(op)
    group, size, item = (
        b.pure(make, along)
        for make in (simt.WorkgroupIdOp, simt.WorkgroupSizeOp, simt.LocalIdOp)
    )
    return b.pure(arith.AddiOp, b.pure(arith.MuliOp, group, size), item)


def _shuffle(op: gpu_mma.ShuffleOp, lanes: int | None) -> tuple[SSAValue, SSAValue]:
    """The value of another lane, and whether there is one.

    The subgroup size is that of the function, or `lanes`.

    Raises:
        Refused: it does not go through all lanes of a subgroup.
    """
    width = constant_number(op.width)
    match function_around(op).attributes.get(SUBGROUP_SIZE):
        case IntegerAttr(value=number):
            lanes = number.data
        case _:
            pass
    if width is None or width != lanes:
        known = "not known" if lanes is None else lanes
        raise Refused(
            op,
            f"expected a width of the subgroup size, which is {known} "
            f"({SUBGROUP_SIZE}, or the option subgroup-size), got {width or 'a value'}",
        )
    b = Builder.at(op)
    mode = op.mode.data
    offset = b.pure(arith.IndexCastOp, op.offset, INDEX)
    found = b.effect(simt.ShuffleOp(mode, op.value, offset)).result
    # Of 32 bits, in which an offset has no sign.
    valid = b.pure(arith.CmpiOp, op.offset, op.width, "ult")
    if mode in _OTHER_LANE:
        lane = b.pure(arith.IndexCastOp, b.pure(simt.LaneIdOp), i32)
        other = b.pure(_OTHER_LANE[mode], lane, op.offset)
        inside = b.pure(arith.CmpiOp, other, op.width, "ult")
        valid = b.pure(arith.AndIOp, valid, inside)
    return found, valid


def _reduce(op: gpu_mma.SubgroupReduceOp) -> Operation:
    """A reduction over all lanes of a subgroup.

    Raises:
        Refused: over some of them, or simt has none.
    """
    if op.cluster_size is not None:
        raise Refused(op, "expected a reduction of all lanes, got one of clusters")
    if op.kind.data not in _REDUCTIONS:
        known = ", ".join(_REDUCTIONS)
        raise Refused(op, f"expected one of {known}, got {op.kind.data}")
    return _REDUCTIONS[op.kind.data](op.value)


def _allocate(op: gpu.FuncOp) -> None:
    """Allocate in a function the memory that its block takes after its arguments.

    Raises:
        Refused: a type does not say what memory it is, or how much.
    """
    block, count = op.body.blocks[0], len(op.function_type.inputs.data)
    end = count + gpu_mma.shared_count(op)
    for at, memory in enumerate(tuple(block.args)[count:], count):
        space = gpu_mma.AddressSpaceAttr("workgroup" if at < end else "private")
        type, first = memory.type, block.first_op
        if (
            not is_memref(type)
            or type.memory_space != space
            or DYNAMIC_INDEX in type.get_shape()
        ):
            name = memory.name_hint or at
            what = f"a memref of static shape in {space}"
            raise Refused(op, f"expected %{name} to be {what}, got {type}")
        assert first is not None, op
        types = [converted_type(type)]
        alloca = memref.AllocaOp.build(operands=[[], []], result_types=types)
        new = Builder.at(first).effect(alloca).memref
        new.name_hint = memory.name_hint
        memory.replace_all_uses_with(new)
        block.erase_arg(memory)


def _function(op: gpu.FuncOp, subgroup_size: int | None) -> func.FuncOp:
    name = op.sym_name.data
    type = FunctionType.from_lists(op.function_type.inputs.data, [])
    found = func.FuncOp(name, type, op.detach_region(op.body))
    if op.kernel is not None:
        found.attributes[KERNEL] = UnitAttr()
        if op.known_block_size is not None:
            found.attributes[WORK_GROUP_SIZE] = op.known_block_size
        if subgroup_size is not None:
            found.attributes[SUBGROUP_SIZE] = IntegerAttr(subgroup_size, i32)
    return found


def _convert(
    op: Operation,
    signs: dict[gpu_mma.ComputeOp, SignedAttr | None],
    lanes: int | None,
) -> None:
    if isinstance(op, gpu.GlobalIdOp):
        return Rewriter.replace_op(op, [], [_global_id(op)])
    if isinstance(op, gpu_mma.ShuffleOp):
        return Rewriter.replace_op(op, [], _shuffle(op, lanes))
    sign = signs.get(op) if isinstance(op, gpu_mma.ComputeOp) else None
    made = _matrix(op, list(op.operands), sign)
    if made is None:
        retype(op, converted_type)
        return
    made.location = op.location
    for old, new in zip(op.results, made.results, strict=True):
        new.name_hint = old.name_hint
    Rewriter.replace_op(op, made)


def _check_names(module: ModuleOp) -> None:
    """Refuse symbols of one name, each of which is in a module of its own.

    Raises:
        Refused: there are some.
    """
    known: set[str] = set()
    for op in module.walk():
        symbol = op.get_trait(SymbolOpInterface)
        if symbol is None or isinstance(op, gpu.ModuleOp | ModuleOp):
            continue
        name = symbol.get_sym_attr_name(op)
        if name is not None and name.data in known:
            what = "expected different names in all modules"
            raise Refused(op, f"{what}, got a second @{name.data}")
        known |= set() if name is None else {name.data}


def _leave_out_host(module: ModuleOp) -> None:
    """Erase functions that launch kernels, and their callers.

    A kernel's interface says how it is launched.
    """
    funcs = [op for op in module.ops if isinstance(op, func.FuncOp)]
    left_out: set[str] = set()

    def is_of_host(op: Operation) -> bool:
        callee = op.callee.string_value() if isinstance(op, func.CallOp) else None
        return isinstance(op, gpu.LaunchFuncOp) or callee in left_out

    while found := [
        (each, op)
        for each in funcs
        if each.sym_name.data not in left_out
        and (op := next(filter(is_of_host, each.walk()), None)) is not None
    ]:
        for each, op in found:
            name = each.sym_name.data
            remark(op, f"{LEFT_OUT}, with @{name}: code of the host")
            left_out.add(name)
            Rewriter.erase_op(each)


@dataclass(frozen=True)
class ConvertGpuMmaToCoopmatrixPass(ModulePass):
    name = "convert-gpu-mma-to-coopmatrix"

    subgroup_size: int | None = None
    """Subgroup size of the kernels; by default the device chooses."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            _leave_out_host(draft)
            _check_names(draft)
            for inner in list(draft.ops):
                if isinstance(inner, gpu.ModuleOp):
                    for each in list(inner.body.block.ops):
                        each.detach()
                        Rewriter.insert_op(each, InsertPoint.before(inner))
                    Rewriter.erase_op(inner)
            for inner in list(draft.ops):
                if isinstance(inner, gpu.FuncOp):
                    _allocate(inner)
                    made = _function(inner, self.subgroup_size)
                    made.location = inner.location
                    Rewriter.replace_op(inner, made, [])
            draft.attributes.pop("gpu.container_module", None)
            found = list(draft.walk())
            computes = [x for x in found if isinstance(x, gpu_mma.ComputeOp)]
            signs = {each: _signs(each) for each in computes}
            for inner in found:
                _convert(inner, signs, self.subgroup_size)
