"""convert-spirv-calls-to-coopmatrix: raises calls of SPIR-V's built-ins to coopmatrix.

Before:  functions of the llvm dialect with calls of
         __spirv_CooperativeMatrix{Load,Store,MulAdd,Length}KHR, CompositeConstruct,
         VectorExtractDynamic and VectorInsertDynamic, as SYCL's front end emits them;
         control flow is scf, or branches whose loops have one exit.
After:   func.func with coopmatrix operations. Functions of the calling convention
         spir_kernelcc are kernels, with sizes from intel_reqd_sub_group_size and
         reqd_work_group_size.
Fails:   if an operation cannot be raised, naming it. The module is then unchanged.

    %m = llvm.call @__spirv_CooperativeMatrixLoadKHR(%p, %row, %stride, %none)

    %v = memref.reinterpret_cast %p to offset: [%o], sizes: [8, 16], strides: [%s, 1]
    %m = coopmatrix.load %v[%c0, %c0] row_major
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import Layout, MatrixType, Operand, SignedAttr
from coopc.dialects.narrow import is_integer
from coopc.ir.transaction import Refused
from coopc.passes.spirv_calls.reader import (
    Reader,
    Value,
    constant,
    enumerant,
    matrix_memory,
)

Read = Callable[[Reader, llvm.CallOp], SSAValue | None]
"""Reads a call of a builtin, which has a result or none."""

# The enumerants are those of SPV_KHR_cooperative_matrix; layout 2 and the bit 64 are
# SPV_INTEL_joint_matrix's.
_LAYOUTS = (Layout.ROW_MAJOR, Layout.COL_MAJOR, Layout.PACKED)
_SIGNS = ((1, Operand.A), (2, Operand.B), (4, Operand.C), (8, Operand.RESULT))
_SATURATING = 16
_VOLATILE, _ALIGNED, _NONTEMPORAL = 1, 2, 4
"""Bits of a memory operand; an alignment follows."""


def builtin_of(callee: str) -> str | None:
    """The builtin that a function is, without its prefix; None if it is none of SPIR-V.

    A builtin that is not read is named as it is.  Source: SPIRV-LLVM-Translator's
    SPIR-V representation in LLVM IR.

    >>> builtin_of("_Z34__spirv_CooperativeMatrixMulAddKHRDv4_i")
    'CooperativeMatrixMulAddKHR'
    >>> builtin_of("__spirv_CooperativeMatrixLoadKHR_Rx"), builtin_of("f")
    ('CooperativeMatrixLoadKHR', None)
    """
    if (mangled := re.match(r"_Z(\d+)(?=__spirv_)", callee)) is not None:
        callee = callee[mangled.end() :][: int(mangled[1])]
    name = callee.removeprefix("__spirv_")
    if name == callee:
        return None
    known = (each for each in _BUILTINS if name == each or name.startswith(f"{each}_"))
    return next(known, name)


def read_call(r: Reader, op: llvm.CallOp) -> Sequence[Value]:
    """Read a call of a builtin.

    Raises:
        Refused: it is none that is read, or its operands are not what it takes.
    """
    callee = "" if op.callee is None else op.callee.root_reference.data
    if (known := _BUILTINS.get(builtin_of(callee) or "")) is None:
        names = ", ".join(sorted(_BUILTINS))
        raise Refused(
            op, f"expected a builtin of SPIR-V that is read, {names}, got @{callee}"
        )
    counts, read = known
    if counts and len(op.args) not in counts:
        wanted = " or ".join(map(str, counts))
        raise Refused(op, f"expected {wanted} operands, got {len(op.args)}")
    found = read(r, op)
    return [] if found is None else [found]


def _id(make: Callable[[], Operation]) -> Read:
    """Reads a number, in the type that the call has."""
    return lambda r, op: _sized(r, r.add(make()), op)


def _dimension(make: Callable[[simt.Dimension], Operation]) -> Read:
    """Reads a position or a size along a dimension, in the type that the call has."""

    def read(r: Reader, op: llvm.CallOp) -> SSAValue:
        number = constant(op.args[0]) if op.args else None
        if number not in (0, 1, 2):
            raise Refused(op, f"expected a dimension, 0, 1 or 2, got {number}")
        return _sized(r, r.add(make(tuple(simt.Dimension)[number])), op)

    return read


def _sized(r: Reader, value: SSAValue, op: llvm.CallOp) -> SSAValue:
    """An index in the type of the call's result."""
    return r.add(arith.IndexCastOp(value, op.results[0].type))


def _matrix(r: Reader, value: SSAValue, op: llvm.CallOp) -> MatrixType:
    """The matrix that a value of the old function is."""
    found = r.type(value.type, op)
    if not isinstance(found, MatrixType):
        raise Refused(op, f"expected a matrix, got {value.type}")
    return found


def _number(op: llvm.CallOp, at: int, what: str) -> int:
    if (found := constant(op.args[at])) is None:
        raise Refused(op, f"expected {what} that is constant, got one of run time")
    return found


def _load(r: Reader, op: llvm.CallOp) -> SSAValue:
    type = _matrix(r, op.results[0], op)
    layout, memory = _memory(r, op, type, op.args[0], op.args[1:])
    zero, operands = r.number(0), _memory_operands(op, op.args[3:])
    load = coopmatrix.LoadOp(memory, [zero, zero], type, layout, **operands)
    return r.add(load)


def _store(r: Reader, op: llvm.CallOp) -> None:
    type = _matrix(r, op.args[1], op)
    layout, memory = _memory(r, op, type, op.args[0], op.args[2:])
    operands = _memory_operands(op, op.args[4:])
    zero, value = r.number(0), r.value(op.args[1], op)
    r.insert(coopmatrix.StoreOp(value, memory, [zero, zero], layout, **operands))


def _memory(
    r: Reader,
    op: llvm.CallOp,
    type: MatrixType,
    pointer: SSAValue,
    rest: Sequence[SSAValue],
) -> tuple[Layout, SSAValue]:
    """The layout, and the memory as a memref of the matrix alone."""
    number = _number(op, list(op.args).index(rest[0]), "a layout")
    layout = enumerant(_LAYOUTS, number, "a layout", op)
    place = r.place(pointer, op, type.element_type)
    number = constant(rest[1])
    stride = r.index(rest[1], op) if number is None else number
    return layout, matrix_memory(r, op, type, layout, place, stride)


def _memory_operands(op: llvm.CallOp, rest: Sequence[SSAValue]) -> dict[str, Attribute]:
    """Volatile, nontemporal, and the alignment in bytes, as properties."""
    if not rest:
        return {}
    numbers = [constant(each) for each in rest]
    bits, known = numbers[0], _VOLATILE | _ALIGNED | _NONTEMPORAL
    if bits is None or None in numbers or bits & ~known:
        raise Refused(
            op,
            "expected a constant memory operand, of volatile, aligned and nontemporal, "
            f"got {'one of run time' if bits is None else bits}",
        )
    if len(numbers) != 1 + bool(bits & _ALIGNED):
        raise Refused(op, "expected an alignment behind a memory operand of 2")
    flags = {"volatile": _VOLATILE, "nontemporal": _NONTEMPORAL}
    found: dict[str, Attribute] = {x: UnitAttr() for x in flags if bits & flags[x]}
    if len(numbers) > 1 and numbers[1] is not None:
        found["alignment"] = IntegerAttr(numbers[1], 64)
    return found


def _multiply(r: Reader, op: llvm.CallOp) -> SSAValue:
    bits = _number(op, 3, "operands")
    if bits & ~31:
        raise Refused(
            op,
            "expected the bits of SPV_KHR_cooperative_matrix, signs and saturation, "
            f"below 32, got {bits}",
        )
    types = [_matrix(r, each, op) for each in (*op.args[:3], op.results[0])]
    named = dict(zip(coopmatrix.Operand, types, strict=True))
    signed = frozenset(operand for bit, operand in _SIGNS if bits & bit)
    for operand in signed:
        if not is_integer(found := named[operand].element_type):
            raise Refused(
                op,
                f"expected {operand} to hold integers, since it is signed, got {found}",
            )
    a, b, c = (r.value(each, op) for each in op.args[:3])
    signs = SignedAttr(signed) if signed else None
    saturating = UnitAttr() if bits & _SATURATING else None
    return r.add(coopmatrix.MulAddOp(a, b, c, types[3], signs, saturating))


def _length(r: Reader, op: llvm.CallOp) -> SSAValue:
    return _sized(r, r.add(coopmatrix.LengthOp(_matrix(r, op.args[0], op))), op)


def _fill(r: Reader, op: llvm.CallOp) -> SSAValue:
    type = _matrix(r, op.results[0], op)
    return r.add(coopmatrix.FillOp(r.value(op.args[0], op), type))


def _extract(r: Reader, op: llvm.CallOp) -> SSAValue:
    _matrix(r, op.args[0], op)
    matrix, index = r.value(op.args[0], op), r.index(op.args[1], op)
    return r.add(coopmatrix.ExtractOp(matrix, index))


def _insert(r: Reader, op: llvm.CallOp) -> SSAValue:
    _matrix(r, op.args[0], op)
    matrix, value = r.value(op.args[0], op), r.value(op.args[1], op)
    return r.add(coopmatrix.InsertOp(value, matrix, r.index(op.args[2], op)))


_BUILTINS: dict[str, tuple[tuple[int, ...], Read]] = {
    "CooperativeMatrixLoadKHR": ((3, 4, 5), _load),
    "CooperativeMatrixStoreKHR": ((4, 5, 6), _store),
    "CooperativeMatrixMulAddKHR": ((4,), _multiply),
    "CooperativeMatrixLengthKHR": ((1,), _length),
    "CompositeConstruct": ((1,), _fill),
    "VectorExtractDynamic": ((2,), _extract),
    "VectorInsertDynamic": ((3,), _insert),
    "BuiltInWorkgroupId": ((), _dimension(simt.WorkgroupIdOp)),
    "BuiltInNumWorkgroups": ((), _dimension(simt.NumWorkgroupsOp)),
    "BuiltInLocalInvocationId": ((), _dimension(simt.LocalIdOp)),
    "BuiltInSubgroupId": ((), _id(simt.SubgroupIdOp)),
    "BuiltInNumSubgroups": ((), _id(simt.NumSubgroupsOp)),
    "BuiltInSubgroupLocalInvocationId": ((), _id(simt.LaneIdOp)),
    "BuiltInSubgroupSize": ((), _id(simt.SubgroupSizeOp)),
}
"""From a builtin to the numbers of its operands, any without, and its reader."""


_LANES, _SIZE = "intel_reqd_sub_group_size", "reqd_work_group_size"

Function = llvm.FuncOp | func.FuncOp


@dataclass(frozen=True)
class ConvertSpirvCallsToCoopmatrixPass(ModulePass):
    name = "convert-spirv-calls-to-coopmatrix"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        old = [each for each in op.ops if isinstance(each, Function)]
        # Those of SPIR-V-friendly LLVM.
        concerned = [
            each
            for each in old
            if each.body.blocks
            and any(isinstance(x, llvm.FuncOp | llvm.CallOp) for x in each.walk())
        ]
        try:
            read = [Reader(each, read_call).read() for each in concerned]
        except Refused as error:
            error.report()
        for each, new in zip(concerned, read, strict=True):
            new.location = each.location
            new.attributes.update(_attributes(each))
            Rewriter.replace_op(each, new)
        for each in old:
            if not each.body.blocks and builtin_of(each.sym_name.data) is not None:
                Rewriter.erase_op(each)


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
