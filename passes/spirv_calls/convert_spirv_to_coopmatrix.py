"""convert-spirv-to-coopmatrix: raises upstream MLIR's `spirv` dialect to coopmatrix.

Before:  a spirv.module of Vulkan, as `mlir-opt`, `mlir-translate --deserialize-spirv`
         and `-t mlir-spirv` print it. Buffers are global variables with a binding, each
         a struct of one array of numbers or vectors; control flow is spirv.mlir.loop
         and spirv.mlir.selection, loops with one exit.
After:   func.func with coopmatrix, simt and arith operations for each entry point. The
         arguments are the buffers that it uses, by set and binding, then the members of
         its push constants; where it is the only entry point, all buffers.
         Specialization constants are coopmatrix.spec_constant.
Fails:   if an operation cannot be raised, naming it. The module is then unchanged.

    %m = spirv.KHR.CooperativeMatrixLoad %p, %stride, <RowMajor>
        : !spirv.ptr<f16, StorageBuffer>, i32
        -> !spirv.coopmatrix<8x16xf16, Subgroup, MatrixA>

    %v = memref.reinterpret_cast %b to offset: [%o], sizes: [8, 16], strides: [%s, 1]
    %m = coopmatrix.load %v[%c0, %c0] row_major
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, ub, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from coopc.dialects import coopmatrix, simt, spirv
from coopc.dialects.coopmatrix import (
    Layout,
    MatrixType,
    Operand,
    Ordering,
    Scope,
    SignedAttr,
    Use,
)
from coopc.dialects.narrow import is_integer, is_memref, is_vector, vector_type
from coopc.dialects.shaped_arith import RemfOp
from coopc.dialects.spirv import SpirvOp, name_of
from coopc.emit import arith as shared
from coopc.emit.simt import BUILT_INS, REDUCTIONS
from coopc.emit.spirv.coopmatrix import BINARY
from coopc.emit.spirv.simt import SHUFFLES
from coopc.ir.control_flow import inline_calls
from coopc.ir.facts import constant_number
from coopc.ir.transaction import Refused, transaction
from coopc.passes.coopmatrix.promote_matrix_arrays import promote_matrix_arrays
from coopc.passes.spirv_calls.convert_spirv_calls_to_coopmatrix import read_call
from coopc.passes.spirv_calls.reader import PointerOperand, Reader, Value, matrix_memory
from coopc.passes.spirv_calls.structured_regions import flatten
from coopc.plan.atomic_form import ATOMIC_UPDATES

_USES = {"MatrixA": Use.A, "MatrixB": Use.B, "MatrixAcc": Use.ACC}
_LAYOUTS = {"RowMajor": Layout.ROW_MAJOR, "ColumnMajor": Layout.COL_MAJOR}
_SIGNS = {
    "ASigned": Operand.A,
    "BSigned": Operand.B,
    "CSigned": Operand.C,
    "ResultSigned": Operand.RESULT,
}
_IGNORED = frozenset({"None", "NonPrivatePointer", "Aligned"})
_SPACES = {
    "Workgroup": simt.MemorySpace.WORKGROUP,
    "Function": simt.MemorySpace.PRIVATE,
}
"""Memory that a kernel has of its own, by storage class."""
_BUFFERS = ("StorageBuffer", "Uniform")
_VALUES = ("Input", "PushConstant")
"""Storage classes of what is only loaded, and then a value."""
_NO_MODES = ("SignedZeroInfNanPreserve", "RoundingModeRTE", "DenormPreserve")
"""Modes that say of floats what coopc's dialects say anyway."""

Make = Callable[..., Operation]
"""Makes an operation of its operands."""


def _of_one_type(op: type[Operation], *operands: SSAValue) -> Operation:
    return op.create(operands=operands, result_types=[operands[0].type])


def _is_nan(x: SSAValue) -> Operation:
    return arith.CmpfOp(x, x, "uno")


def _of_sign(op: type[coopmatrix.BinaryOp], opcode: str) -> Make:
    if issubclass(op, coopmatrix.SignedBinaryOp):
        return partial(op, signed=opcode.startswith("OpS"))
    return op


# The tables of emission, read backwards.
_ARITH: dict[str, type[Operation]] = {
    **{opcode[2:]: op for op, (opcode, _) in shared.INSTRUCTIONS.items()},
    **{"LogicalAnd": arith.AndIOp, "LogicalOr": arith.OrIOp},
    "LogicalNotEqual": arith.XOrIOp,
    **{f"GL.{glsl}": op for op, (_, glsl, _) in shared.FUNCTIONS.items() if glsl},
    **{f"CL.{name}": op for op, (name, _, _) in shared.FUNCTIONS.items()},
    **{"GL.FMax": arith.MaxnumfOp, "GL.FMin": arith.MinnumfOp},
    **{"GL.SAbs": math.AbsIOp, "CL.s_abs": math.AbsIOp},
}
_COMPUTED: dict[str, Make] = {
    **{name: partial(_of_one_type, op) for name, op in _ARITH.items()},
    **{
        opcode[2:]: partial(arith.CmpiOp, arg=predicate)
        for opcode, predicate in shared.INTEGER_PREDICATES
    },
    **{
        opcode[2:]: partial(arith.CmpfOp, arg=predicate)
        for opcode, predicate in shared.FLOAT_PREDICATES
        if opcode
    },
    "LogicalEqual": partial(arith.CmpiOp, arg="eq"),
    "IsNan": _is_nan,
    "Select": arith.SelectOp,
}
_COMPUTED_OF_MATRICES: dict[str, Make] = {
    **{
        opcode[2:]: _of_sign(op, opcode)
        for op, opcodes in BINARY.items()
        for opcode in opcodes
    },
    **dict.fromkeys(("FNegate", "SNegate"), coopmatrix.NegOp),
    "MatrixTimesScalar": coopmatrix.ScaleOp,
    "Select": arith.SelectOp,
}
_FLOAT_CASTS: dict[str, type[Operation]] = {
    opcode[2:]: op
    for op, (opcode, _) in shared.CASTS.items()
    if opcode.startswith("OpConvert")
}
_WIDTHS: dict[str, tuple[type[Operation], type[Operation]]] = {
    "SConvert": (arith.ExtSIOp, arith.TruncIOp),
    "UConvert": (arith.ExtUIOp, arith.TruncIOp),
    "FConvert": (arith.ExtFOp, arith.TruncFOp),
}
"""To more bits, and to fewer."""
_BY_NAME = {name: op for op, (name, _) in BUILT_INS.items()}
_SHUFFLED = {opcode[2:]: mode for mode, opcode in SHUFFLES.items()}
_REDUCED = {
    f"GroupNonUniform{name}": (kind, sort == "signed")
    for (kind, sort), name in REDUCTIONS.items()
}
_UPDATES = {
    re.sub(r"Op(.*)(EXT)", r"\2.\1", update.opcode).removeprefix("Op"): kind
    for kind, update in ATOMIC_UPDATES.items()
    if update.opcode
}
_IDS = simt.WorkgroupIdOp, simt.LocalIdOp, simt.LaneIdOp, simt.SubgroupIdOp
SIGN_BIT = 31
_SEMANTICS = ("semantics", "equal_semantics")
_ORDERS = {
    "Acquire": Ordering.ACQUIRE,
    "Release": Ordering.RELEASE,
    "AcquireRelease": Ordering.ACQUIRE_RELEASE,
    "SequentiallyConsistent": Ordering.SEQUENTIALLY_CONSISTENT,
}
_SEEN_BY = {
    "QueueFamily": Scope.DEVICE,
    "Device": Scope.DEVICE,
    "Workgroup": Scope.WORKGROUP,
    "Subgroup": Scope.SUBGROUP,
}


def converted_type(type: Attribute, op: Operation) -> Attribute:
    """What a type becomes; integers lose their sign.

    Raises:
        Refused: there is none.
    """
    match type:
        case IntegerType():
            return IntegerType(type.bitwidth)
        case VectorType():
            return VectorType(converted_type(type.element_type, op), type.get_shape())
        case spirv.CooperativeMatrixType():
            element = converted_type(type.element, op)
            scope, use = type.scope.data, type.use.data
            if (reason := coopmatrix.unsupported_element(element)) is not None:
                raise Refused(op, reason)
            if scope != "Subgroup":
                raise Refused(op, f"expected matrices of a subgroup, got {type}")
            return MatrixType.of(type.rows.data, type.cols.data, element, _USES[use])
        case _ if isinstance(type, AnyFloat):
            return type
        case _:
            raise Refused(op, f"expected a number, vector or matrix, got {type}")


def _flags(op: SpirvOp, *names: str) -> dict[str, Attribute]:
    """Volatile, nontemporal and the alignment of an access, as properties.

    Raises:
        Refused: it does more.
    """
    said = {x for name in names for x in op.enumerants(name)} - _IGNORED
    known = {"Volatile": "volatile", "Nontemporal": "nontemporal"}
    if said - known.keys():
        raise Refused(op, f"expected a plain access, got {' and '.join(sorted(said))}")
    return {known[each]: UnitAttr() for each in sorted(said)}


@dataclass
class _Kernel:
    """What a function uses of its module, while it is read."""

    globals: dict[str, SpirvOp]
    arguments: dict[str, tuple[SSAValue, ...]] = field(default_factory=lambda: {})
    """Of a global variable: a buffer, or the members of push constants."""
    own: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """Work-group memory, by global variable."""

    def read(self, r: Reader, op: Operation) -> Sequence[Value]:
        """Read an operation of `spirv`.

        Raises:
            Refused: it is none that is read.
        """
        if isinstance(op, SpirvOp) and (read := _READ.get(name_of(op))) is not None:
            found = read(self, r, op)
            return [] if found is None else [found]
        raise Refused(op, "not supported: coopc has no operation for it")

    # --- memory ----------------------------------------------------------------

    def variable(self, pointer: SSAValue) -> tuple[str, SpirvOp | None]:
        """The storage class of a pointer, and the global variable that it is of."""
        type, owner = pointer.type, pointer.owner
        while isinstance(owner, SpirvOp) and name_of(owner) == "AccessChain":
            owner = owner.operands[0].owner
        assert isinstance(type, spirv.PointerType), pointer
        found = None
        if isinstance(owner, SpirvOp) and name_of(owner) == "mlir.addressof":
            found = self.globals[owner.symbol("variable")]
        return type.storage.data, found

    def address(self, r: Reader, op: SpirvOp) -> Value:
        """A pointer to a global variable."""
        name, result = op.symbol("variable"), op.results[0]
        storage, variable = self.variable(result)
        assert variable is not None, op
        if storage in _VALUES:
            return PointerOperand(result, i32, None)  # only loads look at it
        if name in self.arguments:
            base = r.value(self.arguments[name][0], op)
        else:
            if name not in self.own:
                start = Builder(InsertPoint.at_start(r.block))
                self.own[name] = start.insert(_own(variable)).results[0]
            base = self.own[name]
        assert is_memref(base.type), op
        return PointerOperand(base, base.type.element_type, None)

    def chain(self, r: Reader, op: SpirvOp) -> Value:
        """A pointer to an element."""
        pointer, *indices = op.operands
        found, (storage, _) = r.values[pointer], self.variable(pointer)
        assert isinstance(found, PointerOperand), op
        if storage in _VALUES:
            return found
        if storage in _BUFFERS:
            # The struct's only member comes first.
            indices = indices[1:]
        if len(indices) != 1 or found.offset is not None:
            raise Refused(op, "expected the element of an array of numbers")
        element = found.element
        if isinstance(
            element, MatrixType
        ):  # in a variable: one of this lane's elements
            element = element.element_type
        return PointerOperand(found.base, element, _index(r, indices[0], op))

    def load(self, r: Reader, op: SpirvOp) -> Value:
        (pointer,) = op.operands
        storage, variable = self.variable(pointer)
        if variable is not None and storage == "PushConstant":
            members = self.arguments[variable.symbol("sym_name")]
            return r.value(members[self.member(op)], op)
        if variable is not None and storage == "Input":
            return self.built_in(r, op, variable)
        base, places = _place(r, op, op.results[0].type)
        if not _is_of_matrix(base):
            return r.add(memref.LoadOp.get(base, places))
        matrix = r.add(memref.LoadOp.get(base, [r.number(0)]))
        whole = matrix.type == converted_type(op.results[0].type, op)
        return matrix if whole else r.add(coopmatrix.ExtractOp(matrix, *places))

    def member(self, op: SpirvOp) -> int:
        """Which member of a variable a load reads: a constant index.

        Raises:
            Refused: it is not, or it reads the whole.
        """
        chain = op.operands[0].owner
        given = chain.operands[1:] if isinstance(chain, SpirvOp) else ()
        if len(given) != 1 or (found := _number(given[0])) is None:
            raise Refused(op, "expected one member of push constants, by a constant")
        return found

    def built_in(self, r: Reader, op: SpirvOp, variable: SpirvOp) -> Value:
        """Ids and sizes: an integer, or a vector of three."""
        name = variable.given("built_in")
        known = name.data if isinstance(name, StringAttr) else ""
        type = converted_type(op.results[0].type, op)
        along: list[SSAValue] | None = None

        def cast(value: SSAValue) -> SSAValue:
            element = type.element_type if is_vector(type) else type
            return r.add(arith.IndexCastOp(value, element))

        if (make := _BY_NAME.get(known)) is not None:
            if not issubclass(make, simt.DimensionOp):
                return cast(r.add(make.create(result_types=[IndexType()])))
            along = [r.add(make(axis)) for axis in simt.Dimension]
        elif known == "GlobalInvocationId":
            along = []
            for axis in simt.Dimension:
                group, size = simt.WorkgroupIdOp(axis), simt.WorkgroupSizeOp(axis)
                first = r.add(arith.MuliOp(r.add(group), r.add(size)))
                along.append(r.add(arith.AddiOp(first, r.add(simt.LocalIdOp(axis)))))
        if along is None or not is_vector(type):
            raise Refused(variable, f"expected a built-in that is read, got {known}")
        return _vector(r, type, [cast(each) for each in along])

    def own_variable(self, r: Reader, op: SpirvOp) -> Value:
        base = r.add(_own(op))
        assert is_memref(base.type), op
        place = PointerOperand(base, base.type.element_type, None)
        if op.operands:
            zero = [r.number(0)]
            r.insert(memref.StoreOp.get(r.value(op.operands[0], op), base, zero))
        return place


def _own(variable: SpirvOp) -> memref.AllocaOp:
    """The memory of a variable that is no argument: numbers, each work-group's own.

    Raises:
        Refused: it has an initializer, or is of another storage class.
    """
    found = variable.given("type")
    type = variable.results[0].type if found is None else found
    assert isinstance(type, spirv.PointerType), variable
    storage = type.storage.data
    if storage not in _SPACES:
        raise Refused(
            variable,
            "expected a buffer with a binding, push constants, a built-in or memory of "
            f"the work-group, got {storage}",
        )
    pointee, count = type.pointee, 1
    if isinstance(pointee, spirv.ArrayType):
        pointee, count = pointee.element, pointee.count.data
    if storage == "Function" and isinstance(pointee, spirv.CooperativeMatrixType):
        element = converted_type(pointee, variable)
    else:
        element = _scalar(pointee, variable)
    space = simt.MemoryAttr(_SPACES[storage])
    return memref.AllocaOp.get(element, None, [count], memory_space=space)


def _scalar(type: Attribute, op: Operation) -> Attribute:
    """The type of a number or a vector in memory.

    Raises:
        Refused: it is none.
    """
    if is_integer(type):
        return IntegerType(type.bitwidth)
    if is_vector(type):
        return VectorType(_scalar(type.element_type, op), type.get_shape())
    if not isinstance(type, AnyFloat):
        raise Refused(op, f"expected an array of numbers, got elements of {type}")
    return type


def _buffer(variable: SpirvOp) -> Attribute:
    """The memref that a buffer is.

    Raises:
        Refused: it is not a struct of one array of numbers without gaps.
    """
    type = variable.given("type")
    assert isinstance(type, spirv.PointerType), variable
    match type.pointee:
        case spirv.StructType(members=ArrayAttr(data=[inner])):
            pass
        case other:
            raise Refused(variable, f"expected a struct of one array, got {other}")
    match inner:
        case spirv.RuntimeArrayType():
            count = DYNAMIC_INDEX
        case spirv.ArrayType():
            count = inner.count.data
        case _:
            raise Refused(variable, f"expected a struct of one array, got {inner}")
    element = _scalar(inner.element, variable)
    size = simt.bits_of(element) // 8
    if inner.stride.data not in (0, size):
        raise Refused(
            variable, f"expected elements {size} bytes apart, got {inner.stride.data}"
        )
    return MemRefType(element, [count])


def _number(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, SpirvOp) and name_of(owner) == "Constant":
        return next(iter(owner.numbers("value")), None)
    return None


def _index(r: Reader, value: SSAValue, op: Operation) -> SSAValue:
    number = _number(value)
    return r.index(value, op) if number is None else r.number(number)


def _place(r: Reader, op: SpirvOp, type: Attribute) -> tuple[SSAValue, list[SSAValue]]:
    """The memref and the index that an access reads or writes."""
    if _flags(op, "memory_access"):
        raise Refused(op, "expected an access that is not volatile or nontemporal")
    found = r.place(op.operands[0], op, converted_type(type, op))
    return found.base, [r.number(0) if found.offset is None else found.offset]


def _is_of_matrix(memory: SSAValue) -> bool:
    """Whether memory is a variable with a matrix, whose elements lanes address."""
    return is_memref(memory.type) and isinstance(memory.type.element_type, MatrixType)


def _refuse_matrix(place: PointerOperand, op: Operation) -> None:
    if _is_of_matrix(place.base):
        raise Refused(op, "expected a load or a store of a matrix in a variable")


def _vector(r: Reader, type: VectorType, parts: Sequence[SSAValue]) -> SSAValue:
    found = r.add(ub.PoisonOp(type))
    for at, part in enumerate(parts):
        found = r.add(vector.InsertOp(part, found, [at]))
    return found


# --- operations ----------------------------------------------------------------

Read = Callable[[_Kernel, Reader, SpirvOp], "Value | None"]


def _operands(r: Reader, op: SpirvOp) -> list[SSAValue]:
    return [r.value(each, op) for each in op.operands]


def _computed(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    operands = _operands(r, op)
    is_matrix = isinstance(operands[0].type, MatrixType)
    make = (_COMPUTED_OF_MATRICES if is_matrix else _COMPUTED).get(name_of(op))
    if make is None:
        raise Refused(op, f"not supported for {'matrices' if is_matrix else 'numbers'}")
    return r.add(make(*operands))


def _negate(kernel: _Kernel, r: Reader, op: SpirvOp) -> Value:
    (x,) = _operands(r, op)
    if isinstance(x.type, MatrixType):
        return _computed(kernel, r, op)
    return r.add(arith.SubiOp(_splat(r, x.type, 0), x))


def _shifted_down(kernel: _Kernel, r: Reader, op: SpirvOp) -> Value:
    """A shift; of ids, which are less than 2^31, by 31 it is 0 in all lanes.

    `Emission.hidden` hides numbers so from lavapipe.
    """
    value, by = _operands(r, op)
    if constant_number(by) == SIGN_BIT and value.type == i32 and _is_of_ids(value):
        return _splat(r, value.type, 0)
    return _computed(kernel, r, op)


def _is_of_ids(value: SSAValue) -> bool:
    """Whether a number is an id, or several or-ed."""
    match value.owner:
        case arith.OrIOp(lhs=lhs, rhs=rhs):
            return _is_of_ids(lhs) and _is_of_ids(rhs)
        case arith.IndexCastOp(input=source):
            return isinstance(source.owner, _IDS)
        case _:
            return False


def _splat(r: Reader, type: Attribute, number: int) -> SSAValue:
    """An integer, or a vector of one integer."""
    element = type.element_type if is_vector(type) else type
    assert is_integer(element), type
    found = r.add(arith.ConstantOp(IntegerAttr(number, element)))
    return r.add(vector.BroadcastOp(found, type)) if is_vector(type) else found


def _not(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    (x,) = _operands(r, op)
    return r.add(arith.XOrIOp(x, _splat(r, x.type, -1)))


def _convert(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    """A conversion; the opcode says which of the integers are signed."""
    name, (x,) = name_of(op), _operands(r, op)
    to = converted_type(op.results[0].type, op)
    if to == x.type:
        return x
    if isinstance(to, MatrixType):
        if name == "Bitcast":
            raise Refused(op, "expected matrices of one type but for the sign")
        return r.add(coopmatrix.ConvertOp(x, to, "S" in name.removeprefix("Convert")))
    if name == "Bitcast":
        return _bitcast(r, x, to)
    make = _FLOAT_CASTS.get(name)
    if make is None:
        wider, narrower = _WIDTHS[name]
        make = wider if simt.bits_of(to) > simt.bits_of(x.type) else narrower
    return r.add(make.create(operands=[x], result_types=[to]))


def _bitcast(r: Reader, x: SSAValue, to: Attribute) -> Value:
    """A bit cast; vectors of one component stand for numbers next to other vectors."""
    if is_vector(x.type) == is_vector(to):
        cast = vector.BitcastOp if is_vector(to) else arith.BitcastOp
        return r.add(cast.create(operands=[x], result_types=[to]))
    if is_vector(to):
        x = r.add(vector.BroadcastOp(x, VectorType(x.type, [1])))
        return r.add(vector.BitcastOp.create(operands=[x], result_types=[to]))
    one = vector.BitcastOp.create(operands=[x], result_types=[VectorType(to, [1])])
    return r.add(vector.ExtractOp(r.add(one), [0], to))


def _constant(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    value, type = op.given("value"), converted_type(op.results[0].type, op)
    if isinstance(value, IntegerAttr) and is_integer(type):
        return r.add(arith.ConstantOp(IntegerAttr(value.value.data, type)))
    if isa(value, FloatAttr):
        return r.add(arith.ConstantOp(value))
    if isa(value, DenseIntOrFPElementsAttr) and value.type == type:
        return r.add(arith.ConstantOp(value))
    raise Refused(op, f"expected a number or a vector, got {type}")


def _spec_constant(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    found = r.add(coopmatrix.SpecValueOp(op.symbol("spec_const")))
    return r.add(arith.IndexCastOp(found, converted_type(op.results[0].type, op)))


def _spec_operation(kernel: _Kernel, r: Reader, op: SpirvOp) -> Value:
    """What an operation on specialization constants is: it is computed."""
    inner, _ = op.regions[0].block.ops
    (found,) = kernel.read(r, inner)
    return found


def _store(_: _Kernel, r: Reader, op: SpirvOp) -> None:
    base, places = _place(r, op, op.operands[1].type)
    value = r.value(op.operands[1], op)
    if _is_of_matrix(base) and not isinstance(value.type, MatrixType):
        at, places = places, [r.number(0)]
        matrix = r.add(memref.LoadOp.get(base, places))
        value = r.add(coopmatrix.InsertOp(value, matrix, *at))
    r.insert(memref.StoreOp.get(value, base, places))


def _atomic(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    """An atomic update, or a replacement where the value is the expected one."""
    type = converted_type(op.results[0].type, op)
    found = r.place(op.operands[0], op, type)
    _refuse_matrix(found, op)
    at = [r.number(0) if found.offset is None else found.offset]
    values = [r.value(each, op) for each in op.operands[1:]]
    made: Operation
    if name_of(op) == "AtomicCompareExchange":
        made = simt.CompareExchangeOp(values[1], values[0], found.base, at)
    else:
        made = memref.AtomicRMWOp(
            operands=[values[0], found.base, at],
            properties={"kind": IntegerAttr(_UPDATES[name_of(op)], 64)},
            result_types=[type],
        )
    said = {x for key in _SEMANTICS for x in op.enumerants(key)}
    scope = _scope(op)
    orders = [order for name, order in _ORDERS.items() if name in said]
    if scope not in _SEEN_BY or len(orders) > 1:
        raise Refused(op, f"expected one ordering and a scope, got {op}")
    if orders:
        made.attributes[simt.ORDERING] = StringAttr(orders[0])
    made.attributes[simt.ORDERING_SCOPE] = StringAttr(_SEEN_BY[scope])
    return r.add(made)


def _construct(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    type, parts = converted_type(op.results[0].type, op), _operands(r, op)
    if isinstance(type, MatrixType):
        return r.add(coopmatrix.FillOp(parts[0], type))
    assert is_vector(type), op
    if len(parts) != type.element_count():
        raise Refused(op, "expected a number for each component")
    return _vector(r, type, parts)


def _modulo(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    """A remainder with the sign of the divisor: the other one, or that and it."""
    x, y = (r.value(each, op) for each in op.operands)
    b, is_float = r.b, name_of(op) == "FMod"
    rest = b.pure(RemfOp if is_float else arith.RemSIOp, x, y)
    zero = b.constant(x.type, 0)

    def compare(predicate: str, value: SSAValue) -> SSAValue:
        if is_float:
            return b.pure(arith.CmpfOp, value, zero, f"o{predicate}")
        signed = "slt" if predicate == "lt" else predicate
        return b.pure(arith.CmpiOp, value, zero, signed)

    apart = b.pure(arith.XOrIOp, compare("lt", rest), compare("lt", y))
    wrong = b.pure(arith.AndIOp, apart, compare("ne", rest))
    other = b.pure(arith.AddfOp if is_float else arith.AddiOp, rest, y)
    return b.pure(arith.SelectOp, wrong, other, rest)


def _extract(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    """An element at a constant or an index: of a vector, or a matrix's own ones."""
    whole = r.value(op.operands[0], op)
    at = op.numbers("indices")
    if isinstance(whole.type, MatrixType):
        index = r.number(at[0]) if at else _index(r, op.operands[1], op)
        return r.add(coopmatrix.ExtractOp(whole, index))
    assert is_vector(whole.type), op
    element = whole.type.element_type
    if not at:
        place = _index(r, op.operands[1], op)
        return r.add(vector.ExtractOp(whole, [place], element))
    return _component(whole, at[0]) or r.add(vector.ExtractOp(whole, at, element))


def _component(whole: SSAValue, at: int) -> SSAValue | None:
    """What was inserted at a position, if that is known."""
    while isinstance(whole.owner, vector.InsertOp):
        if whole.owner.static_position.get_values() == (at,):
            return whole.owner.source
        whole = whole.owner.dest
    return None


def _insert(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    at, values = op.numbers("indices"), [r.value(x, op) for x in op.operands[:2]]
    part, old = values if at else reversed(values)
    if isinstance(old.type, MatrixType):
        index = r.number(at[0]) if at else _index(r, op.operands[2], op)
        return r.add(coopmatrix.InsertOp(part, old, index))
    return r.add(vector.InsertOp(part, old, at or [_index(r, op.operands[2], op)]))


def _shuffle_components(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    """Components of two vectors, one after the other; -1 is any.

    Raises:
        Refused: they have fewer.
    """
    one, other = (r.value(x, op) for x in op.operands)
    mask = [max(at, 0) for at in op.numbers("components")]
    type = converted_type(op.results[0].type, op)
    assert is_vector(type), op
    count = sum(vector_type(x).get_shape()[0] for x in (one, other))
    if max(mask) >= count:
        raise Refused(op, f"expected components below {count}, got {max(mask)}")
    found = DenseArrayBase.from_list(i64, mask)
    return r.add(vector.ShuffleOp(one, other, found, result_type=type))


def _matrix_load(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    type = converted_type(op.results[0].type, op)
    assert isinstance(type, MatrixType), op
    layout, memory, flags = _matrix_memory(r, op, type, op.operands[1:])
    zero = r.number(0)
    return r.add(coopmatrix.LoadOp(memory, [zero, zero], type, layout, **flags))


def _matrix_store(_: _Kernel, r: Reader, op: SpirvOp) -> None:
    value = r.value(op.operands[1], op)
    assert isinstance(value.type, MatrixType), op
    layout, memory, flags = _matrix_memory(r, op, value.type, op.operands[2:])
    zero = r.number(0)
    r.insert(coopmatrix.StoreOp(value, memory, [zero, zero], layout, **flags))


def _matrix_memory(
    r: Reader, op: SpirvOp, type: MatrixType, rest: Sequence[SSAValue]
) -> tuple[Layout, SSAValue, dict[str, Attribute]]:
    (said, *_) = op.enumerants("matrix_layout")
    if (layout := _LAYOUTS.get(said)) is None or not rest:
        raise Refused(op, f"expected RowMajor or ColumnMajor with a stride, got {said}")
    place = r.place(op.operands[0], op, None)
    _refuse_matrix(place, op)
    number = _number(rest[0])
    stride = r.index(rest[0], op) if number is None else number
    flags = _flags(op, "memory_operand")
    return layout, matrix_memory(r, op, type, layout, place, stride), flags


def _multiply(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    said = set(op.enumerants("matrix_operands")) - {"None", "AccSat"}
    signs = SignedAttr(frozenset(_SIGNS[x] for x in said)) if said else None
    saturating = UnitAttr() if "AccSat" in op.enumerants("matrix_operands") else None
    a, b, c = _operands(r, op)
    return r.add(coopmatrix.MulAddOp(a, b, c, c.type, signs, saturating))


def _length(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    type = op.given("cooperative_matrix_type")
    assert type is not None, op
    found = r.add(coopmatrix.LengthOp(converted_type(type, op)))
    return r.add(arith.IndexCastOp(found, i32))


def _scope(op: SpirvOp) -> str:
    """The scope of an operation, of memory if it does not wait for others."""
    said = op.enumerants("execution_scope") or op.enumerants("memory_scope")
    return said[0] if said else "None"


def _barrier(_: _Kernel, r: Reader, op: SpirvOp) -> None:
    scopes = {
        "Workgroup": simt.FenceScope.WORKGROUP,
        "Subgroup": simt.FenceScope.SUBGROUP,
    }
    if (scope := scopes.get(_scope(op))) is None:
        raise Refused(op, f"expected Workgroup or Subgroup, got {_scope(op)}")
    r.insert(simt.BarrierOp(scope))


def _across_lanes(_: _Kernel, r: Reader, op: SpirvOp) -> Value:
    """A reduction, a broadcast or a shuffle in a subgroup."""
    name, value = name_of(op), r.value(op.operands[0], op)
    if _scope(op) != "Subgroup":
        raise Refused(op, f"expected the scope Subgroup, got {_scope(op)}")
    if (reduced := _REDUCED.get(name)) is not None:
        if op.enumerants("group_operation") != ["Reduce"] or len(op.operands) > 1:
            raise Refused(op, "expected a reduction of the whole subgroup")
        return r.add(simt.ReduceOp(reduced[0], value, reduced[1]))
    lane = _index(r, op.operands[1], op)
    if name == "GroupNonUniformBroadcast":
        return r.add(simt.BroadcastOp(value, lane))
    return r.add(simt.ShuffleOp(_SHUFFLED[name], value, lane))


_READ: dict[str, Read] = {
    **dict.fromkeys((*_COMPUTED, *_COMPUTED_OF_MATRICES), _computed),
    "SNegate": _negate,
    "ShiftRightLogical": _shifted_down,
    **dict.fromkeys((*_FLOAT_CASTS, *_WIDTHS, "Bitcast"), _convert),
    **dict.fromkeys((*_REDUCED, *_SHUFFLED, "GroupNonUniformBroadcast"), _across_lanes),
    "mlir.addressof": _Kernel.address,
    "AccessChain": _Kernel.chain,
    "Variable": _Kernel.own_variable,
    "Load": _Kernel.load,
    "Store": _store,
    "Constant": _constant,
    "Undef": lambda _, r, op: r.add(
        ub.PoisonOp(converted_type(op.results[0].type, op))
    ),
    "mlir.referenceof": _spec_constant,
    "SpecConstantOperation": _spec_operation,
    "Not": _not,
    "LogicalNot": _not,
    "KHR.CooperativeMatrixLoad": _matrix_load,
    "KHR.CooperativeMatrixStore": _matrix_store,
    "KHR.CooperativeMatrixMulAdd": _multiply,
    "KHR.CooperativeMatrixLength": _length,
    "CompositeConstruct": _construct,
    **dict.fromkeys(("CompositeExtract", "VectorExtractDynamic"), _extract),
    **dict.fromkeys(("CompositeInsert", "VectorInsertDynamic"), _insert),
    "VectorShuffle": _shuffle_components,
    **dict.fromkeys(("SMod", "FMod"), _modulo),
    **dict.fromkeys(("ControlBarrier", "MemoryBarrier"), _barrier),
    **dict.fromkeys((*_UPDATES, "AtomicCompareExchange"), _atomic),
}
"""From an operation to what reads it."""


# --- modules -----------------------------------------------------------------------


def _kernel(
    old: SpirvOp, interface: Sequence[str], globals: dict[str, SpirvOp]
) -> func.FuncOp:
    """The kernel that an entry point is.

    It is said to use the global variables of its interface; `globals` has functions,
    too.

    Raises:
        Refused: an operation or a global variable is not read.
    """
    region = old.detach_region(old.regions[0])
    used = dict.fromkeys(interface) | {
        op.symbol("variable"): None
        for op in region.walk()
        if isinstance(op, SpirvOp) and name_of(op) == "mlir.addressof"
    }
    kernel = _Kernel(globals)
    entry = region.blocks[0]
    if entry.args:
        raise Refused(old, "expected an entry point without arguments")

    def place(name: str) -> tuple[int, ...]:
        variable = globals[name]
        return tuple(
            x for key in ("descriptor_set", "binding") for x in variable.numbers(key)
        )

    buffers = [name for name in used if place(name)]
    places: dict[tuple[int, ...], str] = {}
    for name in buffers:
        if (other := places.setdefault(place(name), name)) != name:
            wanted = "expected one buffer of each binding"
            raise Refused(globals[name], f"{wanted}, got @{other} and @{name}")
    for name_ in sorted(buffers, key=place):
        arg = entry.insert_arg(_buffer(globals[name_]), len(entry.args))
        arg.name_hint = name_
        kernel.arguments[name_] = (arg,)
    for name_ in used:
        type = globals[name_].given("type")
        assert isinstance(type, spirv.PointerType), name_
        if type.storage.data == "PushConstant":
            assert isinstance(type.pointee, spirv.StructType), name_
            kernel.arguments[name_] = tuple(
                entry.insert_arg(_scalar(each, globals[name_]), len(entry.args))
                for each in type.pointee.members
            )
    flatten(region)
    inputs = [arg.type for arg in entry.args]
    made = func.FuncOp(old.symbol("sym_name"), (inputs, []), region)
    made.location = old.location
    found = Reader(made, read_call, kernel.read).read()
    found.location = old.location
    promote_matrix_arrays(found)
    found.attributes[simt.KERNEL] = UnitAttr()
    return found


def _specialization(op: SpirvOp) -> coopmatrix.SpecConstantOp:
    value = op.given("default_value")
    if not isa(value, IntegerAttr[IntegerType]) or value.type != i32:
        raise Refused(op, f"expected an i32, got {value}")
    ids = op.numbers("spec_id")
    return coopmatrix.SpecConstantOp(op.symbol("sym_name"), value.value.data, *ids)


def _mode(op: SpirvOp) -> dict[str, Attribute]:
    """The attributes of a kernel that an execution mode is."""
    (mode,), values = op.enumerants("execution_mode"), op.numbers("values")
    if mode == "LocalSize":
        return {simt.WORK_GROUP_SIZE: DenseArrayBase.from_list(i32, values)}
    if mode == "SubgroupSize":
        return {simt.SUBGROUP_SIZE: IntegerAttr(values[0], i32)}
    if mode not in _NO_MODES:
        raise Refused(op, f"expected LocalSize or SubgroupSize, got {mode}")
    return {}


def _named(ops: Sequence[SpirvOp]) -> dict[str, SpirvOp]:
    """Return functions and variables by their names.

    Raises:
        Refused: two have one name.
    """
    found: dict[str, SpirvOp] = {}
    for op in ops:
        name = op.given("sym_name")
        if isinstance(name, StringAttr) and found.setdefault(name.data, op) is not op:
            raise Refused(op, f"expected one definition of @{name.data}, got two")
    return found


def _called(op: Operation, named: Mapping[str, SpirvOp]) -> SpirvOp | None:
    """Return the function that an operation calls, if it is a call.

    Raises:
        Refused: the function returns elsewhere than at its end.
    """
    if not isinstance(op, SpirvOp) or name_of(op) != "FunctionCall":
        return None
    if (found := named.get(name := op.symbol("callee"))) is None:
        raise Refused(op, f"expected a function @{name} in the module, got none")
    body = found.regions[0].blocks
    given = [*op.operand_types], [*op.result_types]
    if name_of(found) != "func" or not body or given[0] != [*body[0].arg_types]:
        raise Refused(op, f"expected @{name} to be a function of these arguments")
    ends = [x for x in found.walk() if x.name in ("spirv.Return", "spirv.ReturnValue")]
    if len(ends) > 1 or any(x.parent_op() is not found for x in ends):
        raise Refused(ends[0], "expected a called function to return only at its end")
    if not ends or [*ends[0].operand_types] != given[1]:
        wanted = ", ".join(map(str, given[1])) or "nothing"
        raise Refused(op, f"expected @{name} to return {wanted}")
    return found


def _convert_module(module: SpirvOp, subgroup_size: int | None) -> list[Operation]:
    """What a module becomes.

    Raises:
        Refused: something in it is not read.
    """
    found: list[Operation] = []
    kernels: dict[str, func.FuncOp] = {}
    ops = [op for op in module.regions[0].block.ops if isinstance(op, SpirvOp)]
    named = _named(ops)
    entries = [named[op.symbol("fn")] for op in ops if name_of(op) == "EntryPoint"]
    inline_calls(entries, partial(_called, named=named))
    is_single = sum(name_of(op) == "EntryPoint" for op in ops) == 1
    buffers = [name for name, op in named.items() if op.given("binding") is not None]
    for op in ops:
        match name_of(op):
            case "SpecConstant":
                found.append(_specialization(op))
            case "EntryPoint":
                name = op.symbol("fn")
                given = op.given("interface")
                assert isa(given, ArrayAttr[SymbolRefAttr]), op
                interface = [each.root_reference.data for each in given]
                if is_single:
                    interface += buffers
                kernels[name] = _kernel(named[name], interface, named)
                if subgroup_size is not None:
                    size = IntegerAttr(subgroup_size, i32)
                    kernels[name].attributes[simt.SUBGROUP_SIZE] = size
            case "ExecutionMode":
                kernels[op.symbol("fn")].attributes.update(_mode(op))
            case "GlobalVariable" | "func":
                pass
            case _:
                raise Refused(op, "not supported: coopc has no operation for it")
    return [*found, *kernels.values()]


@dataclass(frozen=True)
class ConvertSpirvToCoopmatrixPass(ModulePass):
    name = "convert-spirv-to-coopmatrix"

    subgroup_size: int | None = None
    """Subgroup size of the kernels; by default the device chooses."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with transaction(op) as draft:
            for inner in list(draft.ops):
                if isinstance(inner, SpirvOp) and name_of(inner) == "module":
                    made = _convert_module(inner, self.subgroup_size)
                    for each in made:
                        Rewriter.insert_op(each, InsertPoint.before(inner))
                    Rewriter.erase_op(inner, safe_erase=False)
