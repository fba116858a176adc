"""convert-spirv-calls-to-coopmatrix: read kernels that call SPIR-V's builtins.

Before:  functions with calls of __spirv_CooperativeMatrix{Load,Store,MulAdd,Length}KHR,
         CompositeConstruct, VectorExtractDynamic and VectorInsertDynamic, as SYCL's
         front end writes them, in the llvm dialect; control flow is scf, or branches
         whose loops are left at one place
After:   func.func of coopmatrix operations; functions of the convention spir_kernelcc
         are kernels, with their sizes from intel_reqd_sub_group_size and
         reqd_work_group_size
Fails:   naming an operation that is not read; nothing is changed then

    %m = llvm.call @__spirv_CooperativeMatrixLoadKHR(%p, %row, %stride, %none)

    %v = memref.reinterpret_cast %p to offset: [%o], sizes: [8, 16], strides: [%s, 1]
    %m = coopmatrix.load %v[%c0, %c0] row_major
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, memref
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    UnitAttr,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.hints import isa

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Layout, MatrixType
from coopc.dialects.coopmatrix.types import CHANNEL_BITS
from coopc.dialects.narrow import is_integer
from coopc.passes.spirv_calls.branches import read_blocks
from coopc.passes.spirv_calls.reader import (
    ALIGNED,
    NONTEMPORAL,
    VOLATILE,
    Reader,
    Unreadable,
    Value,
    builtin_of,
    constant,
    layout_of,
    signs_of,
)

_MEMORY = (VOLATILE | ALIGNED | NONTEMPORAL, "volatile, aligned and nontemporal")

_DIMENSIONS: dict[str, type[Operation]] = {
    "BuiltInWorkgroupId": simt.WorkgroupIdOp,
    "BuiltInNumWorkgroups": simt.NumWorkgroupsOp,
    "BuiltInLocalInvocationId": simt.LocalIdOp,
}
_IDS: dict[str, type[Operation]] = {
    "BuiltInSubgroupId": simt.SubgroupIdOp,
    "BuiltInNumSubgroups": simt.NumSubgroupsOp,
    "BuiltInSubgroupLocalInvocationId": simt.LaneIdOp,
    "BuiltInSubgroupSize": simt.SubgroupSizeOp,
}


def read_call(r: Reader, op: llvm.CallOp) -> Sequence[Value]:
    """Read a call of a builtin.

    Raises:
        Unreadable: it is none that is read, or its operands are not what it takes.
    """
    callee = "" if op.callee is None else op.callee.root_reference.data
    name = builtin_of(callee)
    if name in _DIMENSIONS or name in _IDS:
        return _id(r, op, name)
    if (read := _READ.get(name or "")) is None:
        known = ", ".join(sorted((*_READ, *_DIMENSIONS, *_IDS)))
        raise Unreadable(
            op, f"expected a builtin of SPIR-V that is read, {known}, got @{callee}"
        )
    counts, function = read
    if len(op.args) not in counts:
        wanted = " or ".join(map(str, counts))
        raise Unreadable(op, f"expected {wanted} operands, got {len(op.args)}")
    return function(r, op)


def _id(r: Reader, op: llvm.CallOp, name: str) -> Sequence[Value]:
    """A position or a size, in the type that the call has."""
    if name in _IDS:
        new: Operation = _IDS[name].create(result_types=[IndexType()])
    else:
        number = constant(op.args[0]) if op.args else None
        if number not in (0, 1, 2):
            raise Unreadable(op, f"expected a dimension, 0, 1 or 2, got {number}")
        dimension = tuple(simt.Dimension)[number]
        attribute: Attribute = simt.DimensionAttr(dimension)
        properties = {"dimension": attribute}
        new = _DIMENSIONS[name].create(
            properties=properties, result_types=[IndexType()]
        )
    return [_sized(r, r.add(new), op)]


def _sized(r: Reader, value: SSAValue, op: llvm.CallOp) -> SSAValue:
    """An index in the type of the call's result."""
    return r.add(arith.IndexCastOp(value, op.results[0].type))


def _matrix(r: Reader, value: SSAValue, op: llvm.CallOp) -> MatrixType:
    """The matrix that a value of the old function is."""
    found = r.type(value.type, op)
    if not isinstance(found, MatrixType):
        raise Unreadable(op, f"expected a matrix, got {value.type}")
    return found


def _number(op: llvm.CallOp, at: int, what: str) -> int:
    if (found := constant(op.args[at])) is None:
        raise Unreadable(op, f"expected {what} that is constant, got one of run time")
    return found


def _load(r: Reader, op: llvm.CallOp) -> Sequence[Value]:
    type = _matrix(r, op.results[0], op)
    layout, memory = _memory(r, op, type, op.args[0], op.args[1:])
    volatile, nontemporal, alignment = _how(op, op.args[3:])
    zero = r.number(0)
    load = coopmatrix.LoadOp(
        memory, [zero, zero], type, layout, None, volatile, nontemporal, alignment
    )
    return [r.add(load)]


def _store(r: Reader, op: llvm.CallOp) -> Sequence[Value]:
    type = _matrix(r, op.args[1], op)
    layout, memory = _memory(r, op, type, op.args[0], op.args[2:])
    volatile, nontemporal, alignment = _how(op, op.args[4:])
    zero, value = r.number(0), r.value(op.args[1], op)
    store = coopmatrix.StoreOp(
        value, memory, [zero, zero], layout, None, volatile, nontemporal, alignment
    )
    store.location = r.location
    r.builder.insert(store)
    return []


def _memory(
    r: Reader,
    op: llvm.CallOp,
    type: MatrixType,
    pointer: SSAValue,
    rest: Sequence[SSAValue],
) -> tuple[Layout, SSAValue]:
    """The layout, and the memory as a memref of the matrix alone."""
    layout = layout_of(_number(op, list(op.args).index(rest[0]), "a layout"))
    if not isinstance(layout, Layout):
        raise Unreadable(op, layout)
    place = r.place(pointer, op, type.element_type)
    sizes = list(type.shape)
    if layout == Layout.COL_MAJOR:
        sizes.reverse()
    elif layout == Layout.PACKED:
        factor = CHANNEL_BITS // type.element_bits
        if factor < 1 or sizes[0] % factor:
            raise Unreadable(op, f"expected rows in groups of {factor}, got {type}")
        sizes = [sizes[0] // factor, sizes[1] * factor]
    number = constant(rest[1])
    stride = r.index(rest[1], op) if number is None else number
    offset = 0 if place.offset is None else place.offset
    base = place.base.type
    assert isa(base, MemRefType)
    strides = StridedLayoutAttr(
        [None if number is None else number, 1],
        0 if place.offset is None else None,
    )
    shape = MemRefType(type.element_type, sizes, strides, base.memory_space)
    cast = memref.ReinterpretCastOp.from_dynamic(
        place.base, [offset], sizes, [stride, 1], shape
    )
    return layout, r.add(cast)


def _how(op: llvm.CallOp, rest: Sequence[SSAValue]) -> tuple[bool, bool, int | None]:
    """Volatile, nontemporal, and the alignment in bytes."""
    if not rest:
        return False, False, None
    numbers = [constant(each) for each in rest]
    bits, known = numbers[0], _MEMORY[0]
    if bits is None or None in numbers or bits & ~known:
        raise Unreadable(
            op,
            f"expected a constant memory operand, of {_MEMORY[1]}, got "
            + ("one of run time" if bits is None else str(bits)),
        )
    if len(numbers) != 1 + bool(bits & ALIGNED):
        raise Unreadable(op, "expected an alignment behind a memory operand of 2")
    alignment = numbers[1] if bits & ALIGNED else None
    return bool(bits & VOLATILE), bool(bits & NONTEMPORAL), alignment


def _multiply(r: Reader, op: llvm.CallOp) -> Sequence[Value]:
    signs = signs_of(_number(op, 3, "operands"))
    if isinstance(signs, str):
        raise Unreadable(op, signs)
    signed, saturating = signs
    types = [_matrix(r, each, op) for each in (*op.args[:3], op.results[0])]
    named = dict(zip(coopmatrix.Operand, types, strict=True))
    for operand in signed.data if signed is not None else ():
        if not is_integer(found := named[operand].element_type):
            raise Unreadable(
                op,
                f"expected {operand} to hold integers, since it is signed, got {found}",
            )
    a, b, c = (r.value(each, op) for each in op.args[:3])
    return [r.add(coopmatrix.MulAddOp(a, b, c, types[3], signed, saturating))]


def _length(r: Reader, op: llvm.CallOp) -> Sequence[Value]:
    length = r.add(coopmatrix.LengthOp(_matrix(r, op.args[0], op)))
    return [_sized(r, length, op)]


def _fill(r: Reader, op: llvm.CallOp) -> Sequence[Value]:
    type = _matrix(r, op.results[0], op)
    return [r.add(coopmatrix.FillOp(r.value(op.args[0], op), type))]


def _extract(r: Reader, op: llvm.CallOp) -> Sequence[Value]:
    _matrix(r, op.args[0], op)
    matrix, index = r.value(op.args[0], op), r.index(op.args[1], op)
    return [r.add(coopmatrix.ExtractOp(matrix, index))]


def _insert(r: Reader, op: llvm.CallOp) -> Sequence[Value]:
    _matrix(r, op.args[0], op)
    matrix, value = r.value(op.args[0], op), r.value(op.args[1], op)
    return [r.add(coopmatrix.InsertOp(value, matrix, r.index(op.args[2], op)))]


_READ: dict[
    str, tuple[tuple[int, ...], Callable[[Reader, llvm.CallOp], Sequence[Value]]]
] = {
    "CooperativeMatrixLoadKHR": ((3, 4, 5), _load),
    "CooperativeMatrixStoreKHR": ((4, 5, 6), _store),
    "CooperativeMatrixMulAddKHR": ((4,), _multiply),
    "CooperativeMatrixLengthKHR": ((1,), _length),
    "CompositeConstruct": ((1,), _fill),
    "VectorExtractDynamic": ((2,), _extract),
    "VectorInsertDynamic": ((3,), _insert),
}
"""From a builtin to the numbers of its operands, and its reader."""


_LANES, _SIZE = "intel_reqd_sub_group_size", "reqd_work_group_size"

Function = llvm.FuncOp | func.FuncOp


@dataclass(frozen=True)
class ConvertSpirvCallsToCoopmatrixPass(ModulePass):
    """Make coopmatrix operations of SPIR-V-friendly calls."""

    name = "convert-spirv-calls-to-coopmatrix"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Read all functions of `op`, then replace them."""
        old = [each for each in op.ops if isinstance(each, Function)]
        concerned = [each for each in old if each.body.blocks and _concerns(each)]
        try:
            read = [(each, _read(each)) for each in concerned]
        except Unreadable as error:
            error.op.emit_error(error.reason, PassFailedException(error.reason))
        for each, new in read:
            Rewriter.replace_op(each, new)
        for each in old:
            if not each.body.blocks and builtin_of(each.sym_name.data) is not None:
                Rewriter.erase_op(each)


def _concerns(function: Function) -> bool:
    """Whether a function is SPIR-V-friendly LLVM."""
    return isinstance(function, llvm.FuncOp) or any(
        isinstance(op, llvm.CallOp) for op in function.walk()
    )


def _read(old: Function) -> func.FuncOp:
    new = Reader(old, read_call).read(read_blocks)
    new.location = old.location
    new.attributes.update(_attributes(old))
    return new


def _attributes(old: Function) -> dict[str, Attribute]:
    """Return the attributes of the new function: what a kernel is, in simt's words."""
    found = {
        name: value
        for name, value in old.attributes.items()
        if name.startswith(("simt.", "coopmatrix."))
    }
    if isinstance(old, llvm.FuncOp) and old.CConv.convention.data == "spir_kernelcc":
        found[simt.KERNEL] = UnitAttr()
    lanes, size = old.attributes.get(_LANES), old.attributes.get(_SIZE)
    if isinstance(lanes, IntegerAttr):
        found[simt.SUBGROUP_SIZE] = IntegerAttr(lanes.value.data, i32)
    if isinstance(size, DenseArrayBase):
        found[simt.WORK_GROUP_SIZE] = size
    return found
