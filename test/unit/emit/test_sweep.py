"""Every operation with every type, for every target: valid, or refused by name.

One kernel holds all operations on one element type, as scalars and as vectors, and
emission leaves out those that it refuses.  So a validator sees thousands at once; which
one it means is found by emitting each alone.  `COOPC_SWEEP=all` takes more lengths of
vectors, and every device.
"""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects import arith, math, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    StridedLayoutAttr,
    UnitAttr,
    VectorType,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from coopc.device import DEVICES, device
from coopc.dialects import coopmatrix, simt
from coopc.dialects.coopmatrix import MatrixType, Use
from coopc.dialects.math_forms import (
    ClampFOp,
    ErfcOp,
    IsFiniteOp,
    IsInfOp,
    IsNaNOp,
    IsNormalOp,
)
from coopc.dialects.memref_forms import PrefetchOp
from coopc.dialects.narrow import is_integer, is_memref, is_vector
from coopc.dialects.shaped_arith import IndexCastUIOp, RemfOp
from coopc.emit.llvm.types import Facts as LlvmFacts
from coopc.emit.walker import Facts, NoForm, count_of, element_of
from coopc.interface_call import DTYPES
from coopc.llvm.text import text
from coopc.passes.generic.expansion import TABLES
from coopc.run.arguments import encode
from coopc.run.toolchain import validate_spirv
from coopc.sim.simulate import simulate
from coopc.spirv.writer import binary
from coopc.validate.compare import compare
from coopc.xdsl_gaps import check_combining

ALL = os.environ.get("COOPC_SWEEP") == "all"
"""Whether everything is swept."""

INTEGERS = (*(IntegerType(bits) for bits in (1, 4, 8, 16, 32, 64)), IndexType())
FLOATS = (
    *(Float8E4M3FNType(), Float8E5M2Type(), Float16Type(), BFloat16Type()),
    *(Float32Type(), Float64Type()),
)
ELEMENTS: tuple[Attribute, ...] = (*INTEGERS, *FLOATS)

LENGTHS = (0, 1, 2, 3, 4, 8, 16) if ALL else (0, 1, 3, 4, 8)
"""Components of the vectors; 0 is a scalar."""

LIKE_OTHERS = () if ALL else ("pvc", "lnl", "ptl", "ampere", "ada", "blackwell", "xe2")
"""Devices that differ in matrices only, at most."""
SPIRV = [
    name for name, each in DEVICES.items() if each.flavours and name not in LIKE_OTHERS
]
LLVM = ("amx", "dg2", "bmg")


@dataclass
class Kernel:
    """A kernel whose body is filled with operations."""

    block: Block = field(default_factory=Block)
    given: dict[Attribute, list[SSAValue]] = field(default_factory=lambda: {})
    ops: list[Operation] = field(default_factory=lambda: [])
    """What is swept; the other operations make operands of arguments."""

    def value(self, type: Attribute, number: int = 0) -> SSAValue:
        """A value of a type; different numbers give different values."""
        known = self.given.setdefault(type, [])
        while len(known) <= number:
            known.append(self._new(type))
        return known[number]

    def _new(self, type: Attribute) -> SSAValue:
        match type:
            case VectorType():
                source = self.value(type.element_type, len(self.given[type]))
                made = vector.BroadcastOp(source, type)
            case MemRefType() if type.memory_space != NoneAttr():
                made = memref.AllocaOp.get(type.element_type, shape=type.get_shape())
                made.memref._type = type  # pyright: ignore[reportPrivateUsage]
            case MatrixType():
                made = coopmatrix.FillOp(self.value(type.element_type), type)
            case _ if type in ARGUMENTS:
                return self.block.insert_arg(type, len(self.block.args))
            case _:
                made = arith.ConstantOp(cast("Any", number_of(1, type)))
        self.block.add_op(made)
        return made.results[0]

    def constant(self, number: int) -> SSAValue:
        """An index that is known."""
        op = arith.ConstantOp(IntegerAttr(number, IndexType()))
        self.block.add_op(op)
        return op.result

    def add(
        self,
        op: type[Operation],
        operands: Sequence[Attribute | SSAValue | Sequence[SSAValue]],
        results: Sequence[Attribute],
        **properties: Attribute | None,
    ) -> None:
        """Add an operation on values of some types, if it verifies."""
        values: list[SSAValue] = []
        seen: dict[Attribute, int] = {}
        for each in operands:
            if isinstance(each, SSAValue):
                values.append(each)
                continue
            assert isinstance(each, Attribute), each
            values.append(self.value(each, number := seen.get(each, 0)))
            seen[each] = number + 1
        made = op.create(
            operands=values,
            result_types=results,
            properties={k: v for k, v in properties.items() if v is not None},
        )
        self.keep(made)

    def keep(self, made: Operation) -> None:
        try:
            made.verify()
            check_combining(made)
        except (VerifyException, ValueError):  # the latter of an index
            made.erase()
            return
        self.block.add_op(made)
        self.ops.append(made)

    def module(self) -> ModuleOp:
        """The module of the kernel."""
        self.block.add_op(ReturnOp())
        types = [arg.type for arg in self.block.args]
        func = FuncOp("k", (types, []), Region(self.block))
        func.attributes[simt.KERNEL] = UnitAttr()
        return ModuleOp([func])


SCALARS = tuple(x for x in (*INTEGERS, *FLOATS) if x != IntegerType(4))
ARGUMENTS: tuple[Attribute, ...] = (
    *SCALARS,
    *(MemRefType(x, [DYNAMIC_INDEX, 64]) for x in SCALARS if x != IndexType()),
    MemRefType(IntegerType(8), [DYNAMIC_INDEX]),
    *(MemRefType(x, []) for x in SCALARS if x != IndexType()),
)
"""What kernels can have as arguments."""


def of_length(element: Attribute, length: int) -> Attribute:
    return VectorType(element, [length]) if length else element


def named(module: Any, *names: str) -> list[type[Operation]]:
    return [getattr(module, f"{name}Op") for name in names]


# --- what is swept ---------------------------------------------------------------

INTEGER_BINARY = named(
    arith,
    *("Addi", "Subi", "Muli", "DivUI", "DivSI", "FloorDivSI", "CeilDivSI"),
    *("CeilDivUI", "RemUI", "RemSI", "MinSI", "MaxSI", "MinUI", "MaxUI"),
    *("AndI", "OrI", "XOrI", "ShLI", "ShRUI", "ShRSI"),
)
FLOAT_BINARY = [
    *named(arith, "Addf", "Subf", "Mulf", "Divf"),
    *named(arith, "Minimumf", "Minnumf", "Maximumf", "Maxnumf"),
    *named(math, "Atan2", "CopySign", "PowF"),
]
FLOAT_UNARY = named(
    math,
    *("AbsF", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cbrt", "Ceil"),
    *("Cos", "Cosh", "Erf", "Exp2", "ExpM1", "Exp", "Floor", "Log10", "Log1p", "Log2"),
    *("Log", "RoundEven", "Round", "Rsqrt", "Sin", "Sinh", "Sqrt", "Tan", "Tanh"),
    "Trunc",
)
INTEGER_UNARY = named(math, "AbsI", "CountLeadingZeros", "CountTrailingZeros", "CtPop")
CASTS = {
    arith.ExtSIOp: (False, False),
    arith.ExtUIOp: (False, False),
    arith.TruncIOp: (False, False),
    arith.IndexCastOp: (False, False),
    IndexCastUIOp: (False, False),
    arith.SIToFPOp: (False, True),
    arith.UIToFPOp: (False, True),
    arith.FPToSIOp: (True, False),
    arith.FPToUIOp: (True, False),
    arith.ExtFOp: (True, True),
    arith.TruncFOp: (True, True),
}
"""Whether they are from floats, and to floats."""
EXTENDED = named(arith, "MulSIExtended", "MulUIExtended")
FAST = arith.FastMathFlagsAttr("none")
NO_FLAGS = {"overflowFlags": arith.IntegerOverflowAttr("none")}


def elementwise(k: Kernel, element: Attribute, length: int) -> None:
    """`arith` and `math` on one type, and casts from it to all others."""
    type, bools = of_length(element, length), of_length(i1, length)
    (floats if is_float(element) else integers)(k, element, length)
    k.add(arith.SelectOp, [i1, type, type], [type])
    k.add(arith.SelectOp, [bools, type, type], [type])
    for other in ELEMENTS:
        k.add(arith.BitcastOp, [type], [of_length(other, length)])
    for op, other in product(CASTS, ELEMENTS):
        if CASTS[op] == (is_float(element), is_float(other)) and other != element:
            k.add(op, [type], [of_length(other, length)])
    constants(k, element, length)


def integers(k: Kernel, element: Attribute, length: int) -> None:
    type, bools = of_length(element, length), of_length(i1, length)
    for op in INTEGER_BINARY:
        flags = NO_FLAGS if issubclass(op, OVERFLOWING) else {}
        k.add(op, [type, type], [type], **flags)
    for number in range(10):
        k.add(arith.CmpiOp, [type] * 2, [bools], predicate=IntegerAttr(number, i64))
    k.add(arith.AddUIExtendedOp, [type] * 2, [type, bools])
    for op in EXTENDED:
        k.add(op, [type] * 2, [type] * 2)
    for op in INTEGER_UNARY:
        k.add(op, [type], [type])
    if element != i1:
        k.add(math.IPowIOp, [type] * 2, [type])


def floats(k: Kernel, element: Attribute, length: int) -> None:
    type, bools = of_length(element, length), of_length(i1, length)
    for number in range(16):
        predicate = IntegerAttr(number, i64)
        k.add(arith.CmpfOp, [type] * 2, [bools], predicate=predicate, fastmath=FAST)
    for op in FLOAT_BINARY:
        k.add(op, [type] * 2, [type], fastmath=FAST)
    for op in (*FLOAT_UNARY, arith.NegfOp, ErfcOp):
        k.add(op, [type], [type], fastmath=FAST)
    for op in (math.FmaOp, ClampFOp):
        k.add(op, [type] * 3, [type], fastmath=FAST)
    for op in (IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp):
        k.add(op, [type], [bools], fastmath=FAST)
    k.add(RemfOp, [type] * 2, [type], fastmath=FAST)
    for other in INTEGERS[:-1]:
        to = of_length(other, length)
        k.add(math.FPowIOp, [type, to], [type], fastmath=FAST)


def is_float(element: Attribute) -> bool:
    return element in FLOATS


OVERFLOWING = arith.SignlessIntegerBinaryOperationWithOverflow


def constants(k: Kernel, element: Attribute, length: int) -> None:
    """The least number, one and another, and vectors of them."""
    type = of_length(element, length)
    least = -(1 << (element.width.data - 1)) if is_integer(element) else 5
    for number in (least, 0, 1):
        one = number_of(number, element)
        if is_vector(type):
            values = [(least, 0, 1)[n % 3] for n in range(length)]
            one = DenseIntOrFPElementsAttr.from_list(cast("Any", type), values)
        k.add(arith.ConstantOp, [], [type], value=one)


def number_of(number: int, element: Attribute) -> Attribute:
    if is_float(element):
        return FloatAttr(float(number), cast("Any", element))
    return IntegerAttr(number, cast("Any", element))


def vectors(k: Kernel, element: Attribute, length: int) -> None:
    """`vector` on a vector of some length, and with those of other lengths."""
    if not length:
        return
    type = VectorType(element, [length])
    matrix = VectorType(element, [2, length])
    for to in (type, matrix):
        k.add(vector.BroadcastOp, [element], [to])
    k.add(vector.BroadcastOp, [type], [matrix])
    at = DenseArrayBase.from_list(i64, [length - 1])
    some = DenseArrayBase.from_list(i64, [DYNAMIC_INDEX])
    row = DenseArrayBase.from_list(i64, [1])
    varying = k.value(IndexType())
    for source, piece in ((type, element), (matrix, type)):
        where = at if piece == element else row
        k.add(vector.ExtractOp, [source], [piece], static_position=where)
        k.add(vector.ExtractOp, [source, varying], [piece], static_position=some)
        k.add(vector.InsertOp, [piece, source], [source], static_position=where)
        operands = [piece, source, varying]
        k.add(vector.InsertOp, operands, [source], static_position=some)
    for other in (1, 2, 3, 5, 8, length):
        numbers = [-1, *range(2 * length - 1, -1, -1)] * other
        mask = DenseArrayBase.from_list(i64, numbers[:other])
        k.add(vector.ShuffleOp, [type] * 2, [VectorType(element, [other])], mask=mask)
    k.add(vector.FMAOp, [type] * 3, [type])
    for other in ELEMENTS:
        bits, wanted = getattr(element, "bitwidth", 0), getattr(other, "bitwidth", 0)
        if bits and wanted and length * bits % wanted == 0:
            to = VectorType(other, [length * bits // wanted])
            k.add(vector.BitcastOp, [type], [to])
    for kind in vector.CombiningKindFlag:
        properties = {"kind": vector.CombiningKindAttr(kind), "fastmath": FAST}
        k.add(vector.ReductionOp, [type], [element], **properties)
        k.add(vector.ReductionOp, [type, element], [element], **properties)


def memory(k: Kernel, element: Attribute, length: int) -> None:
    """`memref` and accesses to it, of scalars and vectors."""
    workgroup = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
    private = simt.MemoryAttr(simt.MemorySpace.PRIVATE)
    shape = [DYNAMIC_INDEX, 64]
    types = [
        MemRefType(element, shape),
        MemRefType(element, [4, 64], NoneAttr(), workgroup),
        MemRefType(element, [4, 64], NoneAttr(), private),
    ]
    index = k.value(IndexType())
    places = [index, k.constant(8)]
    if element not in ARGUMENTS:
        return
    for type in types if types[0] in ARGUMENTS else types[1:]:
        if length:
            accesses_of_vectors(k, type, VectorType(element, [length]), places)
        else:
            accesses(k, type, places)
    if not length:
        views(k, types[0])
        views_of_others(k, element)


def accesses_of_vectors(
    k: Kernel, type: MemRefType, to: VectorType, places: Sequence[SSAValue]
) -> None:
    mask = VectorType(i1, [to.element_count()])
    k.add(vector.LoadOp, [type, *places], [to])
    k.add(vector.StoreOp, [to, type, *places], [])
    k.add(vector.MaskedLoadOp, [type, *places, mask, to], [to])
    k.add(vector.MaskedStoreOp, [type, *places, mask, to], [])


def accesses(k: Kernel, type: MemRefType, places: Sequence[SSAValue]) -> None:
    element = type.element_type
    k.add(memref.LoadOp, [type, *places], [element])
    k.add(memref.StoreOp, [element, type, *places], [])
    for kind in range(16):
        number = IntegerAttr(kind, i64)
        k.add(memref.AtomicRMWOp, [element, type, *places], [element], kind=number)


def views(k: Kernel, type: MemRefType) -> None:
    element = type.element_type
    if type not in ARGUMENTS:
        return
    source = k.value(type)
    for number in (0, 1):
        k.add(memref.DimOp, [source, k.constant(number)], [IndexType()])
    k.add(memref.RankOp, [source], [IndexType()])
    k.add(memref.CastOp, [source], [MemRefType(element, [DYNAMIC_INDEX] * 2)])
    aligned = IntegerAttr(64, i32)
    k.add(memref.AssumeAlignmentOp, [source], [type], alignment=aligned)
    at = k.constant(0)
    k.keep(PrefetchOp(source, [at, at], 3, is_write=True))
    metadata = [MemRefType(element, []), *[IndexType()] * 5]
    k.add(memref.ExtractStridedMetaDataOp, [source], metadata)
    strided = StridedLayoutAttr([64, 1], 64)
    part = MemRefType(element, [2, 32], strided)

    def numbers(*values: int) -> Attribute:
        return DenseArrayBase.from_list(i64, values)

    segments = DenseArrayBase.from_list(i32, [1, 0, 0, 0])
    k.add(
        memref.SubviewOp,
        [source],
        [part],
        static_offsets=numbers(1, 0),
        static_sizes=numbers(2, 32),
        static_strides=numbers(1, 1),
        operandSegmentSizes=segments,
    )
    k.add(
        memref.ReinterpretCastOp,
        [source],
        [part],
        static_offsets=numbers(64),
        static_sizes=numbers(2, 32),
        static_strides=numbers(64, 1),
        operandSegmentSizes=segments,
    )


def views_of_others(k: Kernel, element: Attribute) -> None:
    """Memory of one type as elements of another, and an element of that."""
    workgroup = simt.MemoryAttr(simt.MemorySpace.WORKGROUP)
    zero = k.constant(0)
    for source in (
        MemRefType(i8, [DYNAMIC_INDEX]),
        MemRefType(i8, [1024], NoneAttr(), workgroup),
    ):
        space = source.memory_space
        result = MemRefType(element, [4, 16], NoneAttr(), space)
        k.add(memref.ViewOp, [source, k.constant(64)], [result])
        accessed(k, zero)
    for other in (i8, i32, i64):  # which every device has
        bits, wanted = other.bitwidth, getattr(element, "bitwidth", 0)
        memory = MemRefType(other, [DYNAMIC_INDEX, 64])
        if wanted and bits % wanted == 0:
            layout = StridedLayoutAttr([64 * bits // wanted, 1], None)
            result = MemRefType(element, [4, 8], layout)
            k.add(simt.ViewElementsOp, [memory, zero, zero], [result])
            accessed(k, zero)


def accessed(k: Kernel, zero: SSAValue) -> None:
    """Load and store an element of the memref that was made last, if there is one."""
    (made,) = k.ops[-1].results or (zero,)
    if is_memref(made.type):
        element = made.type.element_type
        k.add(memref.LoadOp, [made, zero, zero], [element])
        k.add(memref.StoreOp, [element, made, zero, zero], [])


def lanes(k: Kernel, element: Attribute, length: int) -> None:
    """`simt` between lanes."""
    type, zero = of_length(element, length), k.constant(1)
    k.add(simt.BroadcastOp, [type, zero], [type])
    for mode in simt.ShuffleMode:
        k.add(simt.ShuffleOp, [type, zero], [type], mode=simt.ShuffleModeAttr(mode))
    for kind, signed in product(simt.ReduceKind, (None, UnitAttr())):
        attribute = simt.ReduceKindAttr(kind)
        k.add(simt.ReduceOp, [type], [type], kind=attribute, signed=signed)
    if MemRefType(element, [DYNAMIC_INDEX, 64]) in ARGUMENTS:
        places = [MemRefType(element, [DYNAMIC_INDEX, 64]), zero, zero]
        k.add(simt.BlockReadOp, places, [type])
        k.add(simt.BlockWriteOp, [type, *places], [])


GROUPS = (elementwise, vectors, memory, lanes)


def kernel_of(element: Attribute) -> Kernel:
    """All operations on an element type."""
    k = Kernel()
    for length, group in product(LENGTHS, GROUPS):
        group(k, element, length)
    return k


def others() -> Kernel:
    """What has no element type: ids, barriers, masks."""
    k = Kernel()
    for op in (simt.LaneIdOp, simt.SubgroupIdOp, simt.NumSubgroupsOp):
        k.add(op, [], [IndexType()])
    k.add(simt.SubgroupSizeOp, [], [IndexType()])
    for op, axis in product(
        named(simt, "WorkgroupId", "NumWorkgroups", "LocalId", "WorkgroupSize"),
        simt.Dimension,
    ):
        k.add(op, [], [IndexType()], dimension=simt.DimensionAttr(axis))
    for op, scope in product(
        named(simt, "Barrier", "BarrierArrive", "BarrierWait"), simt.FenceScope
    ):
        k.add(op, [], [], scope=simt.FenceScopeAttr(scope))
    for shape in product((1, 2, 3, 8), repeat=2):
        for sizes in ([shape[0]], list(shape)):
            mask = VectorType(i1, sizes)
            k.add(vector.CreateMaskOp, [IndexType()] * len(sizes), [mask])
    return k


def addresses() -> Kernel:
    """Addresses of memory, and the memory at them, of types that every device has."""
    k = Kernel()
    for element in (i8, i32, i64, Float32Type()):
        first = MemRefType(element, [])
        k.add(simt.AddressOfOp, [first], [i64])
        (address,) = k.ops[-1].results
        k.add(simt.MemoryAtOp, [address], [first])
        (found,) = k.ops[-1].results
        k.add(memref.LoadOp, [found], [element])
        k.add(memref.StoreOp, [element, found], [])
    return k


UNARY_MATRICES = named(coopmatrix, "Neg", "Abs", "Not")
BINARY_MATRICES = named(
    coopmatrix,
    *("Add", "Sub", "Mul", "Div", "Rem", "Min", "Max", "And", "Or", "Xor", "Shl"),
    "Shr",
)
WITH_SIGN = named(coopmatrix, "Div", "Rem", "Min", "Max", "Shr")
MATRIX_ELEMENTS: dict[str, Attribute] = {
    **{f"{s}{bits}": IntegerType(bits) for bits in (8, 16, 32, 64) for s in "su"},
    **{str(each): each for each in FLOATS},
}


def matrices(name: str) -> Kernel:
    """`coopmatrix` on matrices of all products of a device, and one of no product."""
    k, seen = Kernel(), set[tuple[str, ...]]()
    for shape in device(name).matrix_shapes:
        elements = (shape.a, shape.b, shape.c, shape.result)
        if elements in seen or not set(elements) <= MATRIX_ELEMENTS.keys():
            continue
        seen.add(elements)
        of = [MATRIX_ELEMENTS[each] for each in elements]
        a = MatrixType.of(shape.m, shape.k, of[0], Use.A)
        b = MatrixType.of(shape.k, shape.n, of[1], Use.B)
        c = MatrixType.of(shape.m, shape.n, of[2], Use.ACC)
        result = MatrixType.of(shape.m, shape.n, of[3], Use.ACC)
        operands = zip(coopmatrix.Operand, elements, strict=True)
        signs = [operand for operand, each in operands if each[0] == "s"]
        for signed in (
            coopmatrix.SignedAttr(frozenset(signs)) if signs else None,
            None,
        ):
            k.add(coopmatrix.MulAddOp, [a, b, c], [result], signed=signed)
        for type in (a, b, c, result):
            on_matrix(k, type)
    on_matrix(k, MatrixType.of(5, 7, Float32Type(), Use.ACC))
    return k


def on_matrix(k: Kernel, type: MatrixType) -> None:
    """Whatever takes or gives one matrix."""
    element, signs = type.element_type, (None, UnitAttr())
    index = k.value(IndexType())
    k.add(coopmatrix.FillOp, [element], [type])
    k.add(coopmatrix.LengthOp, [], [IndexType()], matrix_type=type)
    k.add(coopmatrix.ExtractOp, [type, index], [element])
    k.add(coopmatrix.CoordOp, [type, index], [IndexType()] * 2)
    k.add(coopmatrix.InsertOp, [element, type, index], [type])
    k.add(coopmatrix.ScaleOp, [type, element], [type])
    for op in UNARY_MATRICES:
        k.add(op, [type], [type])
    for op, sign in product(BINARY_MATRICES, signs):
        signed = {"signed": sign} if op in WITH_SIGN else {}
        k.add(op, [type] * 2, [type], **signed)
    rows, cols = type.shape
    k.add(coopmatrix.TransposeOp, [type], [type.with_shape(cols, rows)])
    for other, sign in product(MATRIX_ELEMENTS.values(), signs):
        to = MatrixType.of(rows, cols, other, type.use.data)
        k.add(coopmatrix.ConvertOp, [type], [to], signed=sign)
        k.add(coopmatrix.BitcastOp, [type], [to])
    for use in Use.A, Use.B, Use.ACC:
        k.add(coopmatrix.ConvertOp, [type], [MatrixType.of(rows, cols, element, use)])
    for kind, axis, sign in product(
        coopmatrix.Reduction, (coopmatrix.Reduced.ROWS, coopmatrix.Reduced.COLS), signs
    ):
        of = {
            "kind": coopmatrix.ReductionAttr(kind),
            "axis": coopmatrix.AxisAttr(axis),
            "signed": sign,
        }
        k.add(coopmatrix.ReduceOp, [type], [type], **of, broadcast=UnitAttr())
    body = Block(arg_types=[IndexType(), IndexType(), element])
    body.add_op(coopmatrix.YieldOp(k.value(element)))
    k.keep(coopmatrix.ApplyOp(k.value(type), Region(body)))
    for layout, pointee in product(coopmatrix.Layout, (element, i32)):
        way = coopmatrix.LayoutAttr(layout)
        places = [MemRefType(pointee, [DYNAMIC_INDEX, 64]), index, index]
        k.add(coopmatrix.LoadOp, places, [type], layout=way)
        k.add(coopmatrix.StoreOp, [type, *places], [], layout=way)
        k.add(coopmatrix.PrefetchOp, places, [], matrix_type=type, layout=way)


# --- how it is emitted -----------------------------------------------------------


@dataclass
class Sweep:
    """What became of the operations of a kernel."""

    only: Operation | None = None
    """The one that is emitted, where it is one."""
    refused: dict[Operation, str] = field(default_factory=lambda: {})

    def __post_init__(self) -> None:
        self.needed = {self.only}
        todo = [self.only] if self.only is not None else []
        while todo:
            for value in todo.pop().operands:
                if (
                    isinstance(value.owner, Operation)
                    and value.owner not in self.needed
                ):
                    self.needed.add(value.owner)
                    todo.append(value.owner)

    def operation(self, emit: Callable[[Any, Operation], None]) -> Any:
        """What emits an operation, or leaves it out where it is refused."""

        def emit_or_leave_out(e: Any, op: Operation) -> None:
            if not isinstance(op.get_toplevel_object(), ModuleOp):
                # Of an expansion, which is refused as a whole.
                emit(e, op)
                return
            if self.only is not None and op not in self.needed:
                return
            if missing := [x for x in op.operands if x not in e.became]:
                owner = missing[0].owner
                assert isinstance(owner, Operation), owner
                self.refused[op] = self.refused[owner]
                return
            function = e.function if hasattr(e, "function") else e.f
            before = state_of(function)
            try:
                emit(e, op)
            except NoForm as refusal:
                self.refused[op] = str(refusal)
                restore(e, function, before)
            except Exception as error:
                error.add_note(f"of {op}")
                raise

        return emit_or_leave_out


def state_of(function: Any) -> Any:
    if hasattr(function, "body"):
        return len(function.body), function.block
    return len(function.blocks), function.block, len(function.block.instructions)


def restore(e: Any, function: Any, state: Any) -> None:
    """Take back what was emitted of an operation before it was refused."""
    if hasattr(function, "body"):
        length, function.block = state
        gone = {instruction.result for instruction in function.body[length:]}
        del function.body[length:]
        notes = e.module.annotations
        notes[:] = [note for note in notes if note.operands[0] not in gone]
        return
    blocks, function.block, length = state
    del function.blocks[blocks:]
    del function.block.instructions[length:]


@dataclass(frozen=True)
class Target:
    """An emitter, and a device that it emits for."""

    emitter: str
    """spirv, llvm, or matrix: LLVM IR with matrices."""
    device: str
    addresses: bool = False
    """Whether kernels of Vulkan get addresses."""

    @property
    def is_vulkan(self) -> bool:
        return self.emitter == "spirv" and device(self.device).flavours[0] == "vulkan"

    def emit(self, module: ModuleOp, sweep: Sweep) -> bytes | str:
        """What is emitted of a module: a binary, or the text of LLVM IR."""
        if self.emitter == "spirv":
            from coopc.emit.spirv.emission import Emission
            from coopc.emit.spirv.module import emit_module

            found = device(self.device)
            facts = Facts(found.flavours[0], found, self.addresses)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(
                    Emission, "operation", sweep.operation(Emission.operation)
                )
                return binary(emit_module(module, facts))
        from coopc.emit.llvm.emission import Emission
        from coopc.emit.llvm.module import emit_module

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Emission, "operation", sweep.operation(Emission.operation))
            matrix = self.emitter == "matrix"
            facts = LlvmFacts(device(self.device), matrix=matrix)
            return text(emit_module(module, facts))

    def invalid(self, emitted: bytes | str) -> str | None:
        """What the validator has against it."""
        if isinstance(emitted, bytes):
            vulkan = device(self.device).flavours[0] == "vulkan"
            return validate_spirv(emitted, "vulkan1.3" if vulkan else "spv1.4")
        try:
            llvm_binding: Any = import_module("llvmlite.binding")
            llvm_binding.parse_assembly(emitted).verify()
        except RuntimeError as error:
            return str(error)
        return None


TARGETS = [
    *(Target("spirv", name) for name in SPIRV),
    *(Target("llvm", name) for name in LLVM),
    Target("matrix", "amx"),
]


def check(target: Target, kernel: Kernel, module: ModuleOp) -> int:
    """Check what is emitted, and why the rest is refused; how many are emitted."""
    sweep = Sweep()
    if (reason := target.invalid(target.emit(module, sweep))) is not None:
        wrong: list[str] = []
        for op in kernel.ops:
            alone = target.invalid(target.emit(module, Sweep(only=op)))
            wrong += [f"{op}: {alone.strip()}"] if alone else []
        raise AssertionError(f"{target}: {wrong or reason}")
    for op, reason in sweep.refused.items():
        assert re.search(REFUSAL, reason), f"{op}: {reason}"
    return sum(op not in sweep.refused for op in kernel.ops)


REFUSAL = r"got |has no |has \w+ of |with zeros only"
"""What a reason says: what was found, or what there is instead."""


WITHOUT_TYPE = {"no type": others, "addresses": addresses}
"""What is swept once, not for each element type."""


@pytest.mark.parametrize("name", [*map(str, ELEMENTS), *WITHOUT_TYPE])
def test_all_that_is_emitted_is_valid(name: str, tool: Callable[[str], Any]) -> None:
    tool("spirv-val")
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    element = {str(each): each for each in ELEMENTS}.get(name)
    kernel = WITHOUT_TYPE[name]() if element is None else kernel_of(element)
    module = kernel.module()
    targets = [each for each in TARGETS if takes(each.device, element)]
    if name == "addresses":
        targets = [replace(each, addresses=each.is_vulkan) for each in targets]
    emitted = sum(check(target, kernel, module) for target in targets)
    assert (not emitted) == (element == IntegerType(4))  # which no emitter has


@pytest.mark.parametrize("name", [*SPIRV, "amx"])
def test_matrices_that_are_emitted_are_valid(
    name: str, tool: Callable[[str], Any]
) -> None:
    tool("spirv-val")
    pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")
    kernel = matrices(name)
    target = Target("matrix" if name == "amx" else "spirv", name)
    assert check(target, kernel, kernel.module())


def takes(device_name: str, element: Attribute | None) -> bool:
    """Whether a kernel of a device can have arguments of a type."""
    return element != Float64Type() or "f64" in device(device_name).scalars


@pytest.mark.parametrize("emitter", ["spirv", "llvm"])
def test_every_operation_is_swept(emitter: str) -> None:
    """All that an emitter has a handler or an expansion for, of these dialects."""
    dialects = ("arith", "math", "vector", "memref", "simt", "coopmatrix")
    swept = {
        type(op)
        for kernel in (
            *map(kernel_of, ELEMENTS),
            *(make() for make in WITHOUT_TYPE.values()),
            matrices("nvidia"),
        )
        for op in kernel.block.ops
    }
    modules = import_module(f"coopc.emit.{emitter}.emission").MODULES
    tables = [
        import_module(f"coopc.emit.{emitter}.{module}").handlers.table
        for dialect in dialects
        for module in modules[dialect]
    ]
    tables += [
        import_module(f"coopc.passes.generic.{module}").table.rows
        for dialect in dialects
        for module in TABLES.get(dialect, ())
    ]
    found = {op for table in tables for op in table}
    missing = {op for op in found if op.dialect_name() in dialects} - swept
    assert {op.name for op in missing} <= NOT_SWEPT


NOT_SWEPT = {
    "coopmatrix.extract_row_slice",
    "coopmatrix.insert_row_slice",
    "coopmatrix.spec_value",
    "memref.alloc",
    "memref.dealloc",
    "memref.memory_space_cast",
    "simt.compare_exchange",
}
"""Slices, which are calls; constants, which emit/spec_values.mlir has; the heap, which
there is not; a cast between spaces; what test_compare_exchange.py runs.
"""


# --- what it computes ------------------------------------------------------------

INEXACT = {
    f"math.{op.name.removeprefix('math.')}"
    for op in (*FLOAT_UNARY, math.Atan2Op, math.PowFOp, math.FPowIOp, math.FmaOp)
} - {
    f"math.{name}" for name in ("absf", "ceil", "floor", "round", "roundeven", "trunc")
}
"""Whose last bits are the driver's."""

BOOLS = [(0, 1), (1, 1), (1, 0), (0, 0)]
REALS = [(100.75, 3.5), (float("-inf"), 2.0), (float("nan"), 1.0), (0.0, -0.0)]
COUNT = 4 if ALL else 1
"""How many pairs of operands of a type are taken; all of i1."""
VALUES: list[tuple[Attribute, tuple[float, float]]] = [
    *((i1, pair) for pair in BOOLS),
    *(
        (IntegerType(bits), pair)
        for bits in (8, 16, 32, 64)
        for pair in [(-(1 << (bits - 1)), 3), (-1, 1), (5, 7), (1, 5)][:COUNT]
    ),
    *((element, pair) for element in FLOATS for pair in REALS[: COUNT + 1]),
]
"""Operands for which integer operations are defined; casts of floats for the first."""


def results(element: Attribute, target: Target, values: tuple[float, float]) -> Kernel:
    """A kernel that stores what operations on two numbers give, and refuses none."""
    k = Kernel()
    for length in (0, 1, 3, 8) if ALL else (0, 3):
        elementwise(k, element, length)
        vectors(k, element, length)
    sweep, module = Sweep(), k.module()
    target.emit(module, sweep)
    swept = set(k.ops)
    for op in reversed(list(k.block.ops)):
        if op in sweep.refused or (op in swept and not is_defined(op, values)):
            op.detach()
            op.erase()
            swept.discard(op)
    k.ops = [op for op in k.ops if op in swept]
    outputs: dict[Attribute, list[SSAValue]] = {}
    for result in (x for op in k.ops for x in op.results):
        if not is_vector(result.type) or result.type.get_num_dims() == 1:
            outputs.setdefault(element_of(result.type), []).append(result)
    store(k, outputs)
    (func,) = module.ops
    assert isinstance(func, FuncOp)
    func.update_function_type()
    return k


def is_defined(op: Operation, values: tuple[float, float]) -> bool:
    """Whether the result of an operation is, to the bit."""
    if 0.0 in values and "numf" in str(op):  # of zeros of both signs, either
        return False
    if op.name in INEXACT or any(element_of(x.type) == IndexType() for x in op.results):
        return False
    if isinstance(op, arith.FPToSIOp | arith.FPToUIOp):
        return values[0] == 100.75 and element_of(op.result.type) != i1
    if isinstance(op, vector.ShuffleOp):
        return -1 not in op.mask.get_values()
    if isinstance(op, vector.FMAOp):
        return False
    return not isinstance(op, vector.ExtractOp | vector.InsertOp) or not (
        op.dynamic_position
    )


def store(k: Kernel, outputs: dict[Attribute, list[SSAValue]]) -> None:
    """Store values one after the other, in a memref for each element type."""
    end = k.block.last_op
    assert end is not None
    end.detach()
    for element, found in outputs.items():
        size = sum(count_of(x.type) for x in found)
        memory = k.block.insert_arg(MemRefType(element, [size]), len(k.block.args))
        at = 0
        for value in found:
            place = [k.constant(at)]
            if is_vector(value.type):
                k.block.add_op(vector.StoreOp(value, memory, place))
            else:
                k.block.add_op(memref.StoreOp.get(value, memory, place))
            at += count_of(value.type)
    k.block.add_op(end)


@pytest.mark.parametrize(
    ("element", "values"), VALUES, ids=[f"{t}-{a}-{b}" for t, (a, b) in VALUES]
)
def test_results_are_those_of_the_simulator(
    runner: Any, element: Attribute, values: tuple[float, float]
) -> None:
    if not takes(runner.device, element):
        pytest.skip(f"{runner.device} has no {element}")
    k = results(element, Target("spirv", runner.device), values)
    func = k.block.parent_op()
    module = None if func is None else func.parent_op()
    assert isinstance(module, ModuleOp)
    types = [arg.type for arg in k.block.args]
    given = [argument(type, n, element, values) for n, type in enumerate(types)]
    expected = [np.copy(each) if np.ndim(each) else each for each in given]
    simulate(module, "k", expected, grid=(1, 1, 1), subgroup_size=8)
    found = runner.run(str(module), given, (1, 1, 1))
    memories = [n for n, type in enumerate(types) if isinstance(type, MemRefType)]
    for mine, number in zip(found, memories, strict=True):
        name = str(types[number])[:-1].rpartition("x")[2]
        difference = compare(mine, cast("Any", expected[number]), element=name)
        assert difference.ok, (str(types[number]), str(difference))


def argument(
    type: Attribute, number: int, element: Attribute, values: tuple[float, float]
) -> Any:
    """An array for a memref, one of two numbers for a number."""
    if is_memref(type):
        return np.zeros(type.get_shape(), DTYPES[str(type.element_type)][0])
    name = str(type)
    value = values[number % 2] if type == element else 1.0
    return encode(np.array([value]), name)[0]
