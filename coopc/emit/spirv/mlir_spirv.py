"""Writes a SPIR-V module as operations of upstream MLIR's `spirv` dialect.

`mlir-translate --no-implicit-module --serialize-spirv` of LLVM 22 makes a binary of
their text.  `coopc.dialects.spirv` says which operations there are, and in which order
an instruction has their fields; the tables below list what else the dialect lacks or
names otherwise.

The dialect has regions in place of merge instructions: `spirv.mlir.selection` begins
with the terminator of the header, and `spirv.mlir.loop` with a branch to the header.
Both end in a block with `spirv.mlir.merge`.  An OpPhi is an argument of a block, and a
value that is used after a region is a result of its operation.  Constants are
operations, here at the entry of each function that uses them.
"""

import operator
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.irdl import BaseAttr
from xdsl.utils.hints import isa

from coopc.dialects.narrow import is_integer, is_vector
from coopc.dialects.spirv import FIELDS, OPERATIONS, SpirvOp, opaque
from coopc.dialects.spirv.types import (
    ENUMERANTS,
    ArrayType,
    CooperativeMatrixType,
    Enumerants,
    PointerType,
    RuntimeArrayType,
    StructType,
    snake_case,
)
from coopc.spirv.grammar import ExtendedInstruction, enumeration
from coopc.spirv.instruction import (
    Id,
    Instruction,
    ResolvedOperand,
    Selected,
    resolve_operands,
    width_of,
)
from coopc.spirv.module import Function, Module
from coopc.spirv.writer import NumberedModule, friendly_names, ordered


class Unsupported(ValueError):
    """The dialect has no form for something in the module."""


_LACKING = """
SPV_ARM_cooperative_matrix_layouts
SPV_EXT_cooperative_matrix_maintenance1 SPV_EXT_float8
SPV_INTEL_2d_block_io SPV_INTEL_joint_matrix
SPV_INTEL_subgroup_matrix_multiply_accumulate
SPV_KHR_maximal_reconvergence SPV_KHR_relaxed_extended_instruction
SPV_NV_cooperative_matrix2 SPV_NV_tensor_addressing
SPV_QCOM_cooperative_matrix_conversion MaximallyReconvergesKHR
"""
LACKING = frozenset(_LACKING.split())
"""Capabilities, extensions and modes that the dialect of LLVM 22 lacks."""
EXTENDED = {"GLSL.std.450": "GL", "OpenCL.std": "CL"}
"""The prefix of each set of extended instructions."""
_NUMBERED = frozenset({"Binding", "DescriptorSet", "SpecId"})
_DECORATIONS = """
Aliased Constant NoContraction NoSignedWrap NoUnsignedWrap NonReadable NonWritable
"""
_FLAGS = frozenset(_DECORATIONS.split())
"""Decorations of values that are attributes: of numbers, and without operands."""
SPELLED = {
    "BFloat16ConversionINTEL": "Bfloat16ConversionINTEL",
    "MatrixASignedComponentsKHR": "ASigned",
    "MatrixBSignedComponentsKHR": "BSigned",
    "MatrixCSignedComponentsKHR": "CSigned",
    "MatrixResultSignedComponentsKHR": "ResultSigned",
    "SaturatingAccumulationKHR": "AccSat",
    "MatrixAccumulatorKHR": "MatrixAcc",
    **{name: name[:-3] for name in ("RowMajorKHR", "ColumnMajorKHR")},
    **{name: name[:-3] for name in ("MatrixAKHR", "MatrixBKHR")},
}
"""Enumerants that the dialect spells otherwise."""
_FLOATS: dict[int, AnyFloat] = {16: f16, 32: f32, 64: f64}

_EXPANDED = {
    "NMax": "c = GL.FMax a b; d = IsNan a; e = IsNan b; f = Select d b c; Select e a f",
    "NMin": "c = GL.FMin a b; d = IsNan a; e = IsNan b; f = Select d b c; Select e a f",
    "Trunc": """
      c = GL.Ceil a; d = GL.Floor a; e = GL.FAbs c; f = GL.FAbs d;
      g = FOrdLessThan e f; Select g c d
    """,
}
"""What the dialect has in place of extended instructions of `a` and `b`."""
_TRUTHS = frozenset({"IsNan", "FOrdLessThan"})

Attributes = dict[str, Attribute]


def operations(module: Module) -> tuple[SpirvOp, list[str]]:
    """The module as `spirv.module`, and the names of the constants that it fixes.

    Types of the dialect have numbers, and so do enumerants that an id stands for.  A
    specialization constant there is a constant of its default value everywhere.

    Raises:
        Unsupported: the dialect has no form for something in it.
    """
    order, fixed = ordered(module), dict[Id, None]()
    found = _Writer(order, fixed).module(module)
    if fixed:
        writer = _Writer(order, fixed)
        found = writer.module(module)
        return found, [f"@{writer.symbol(id)}" for id in fixed]
    return found, []


_IR = "include/mlir/Dialect/SPIRV/IR"
_BASE = f"{_IR}/SPIRVBase.td"
_SERIALIZER = "lib/Target/SPIRV/Serialization"
PLACES = {
    "Capability": f"{_BASE}:1489",
    "CooperativeMatrixLayout": f"{_BASE}:4140",
    "CooperativeMatrixUse": f"{_BASE}:4127",
    "ExecutionMode": f"{_BASE}:3165",
    "Scope": f"{_BASE}:3926",
    "bit cast": f"{_IR}/SPIRVCastOps.td:74",
    "constant": "lib/Dialect/SPIRV/IR/SPIRVOps.cpp:562",
    "declaration": "lib/Dialect/SPIRV/IR/SPIRVOps.cpp:1569",
    "decoration": f"{_SERIALIZER}/Serializer.cpp:406",
    "decoration of a parameter": f"{_SERIALIZER}/SerializeOps.cpp:242",
    "extension": f"{_BASE}:430",
    "GLSL.std.450": f"{_IR}/SPIRVGLOps.td:24",
    "initializer": "lib/Dialect/SPIRV/IR/SPIRVOps.cpp:1288",
    "instruction": f"{_BASE}:4617",
    "matrix access": f"{_IR}/SPIRVCooperativeMatrixOps.td:133",
    "memory access": f"{_IR}/SPIRVMemoryOps.td:224",
    "OpenCL.std": f"{_IR}/SPIRVCLOps.td:23",
    "size": f"{_IR}/SPIRVTypes.h:123",
    "switch": f"{_SERIALIZER}/SerializeOps.cpp:787",
    "type": f"{_SERIALIZER}/Serializer.cpp:875",
    "vector": "lib/Dialect/SPIRV/IR/SPIRVDialect.cpp:191",
}
"""Where LLVM 22.1.8, in `mlir/`, lists what there is of a kind, or refuses the rest."""


_LISTED = {"OpCapability": "Capability", "OpExtension": "extension"}


def _lacks(what: str, kind: str) -> Unsupported:
    """Why something is not printed; kinds without a place are those of instructions."""
    where = PLACES.get(kind, PLACES["instruction"])
    return Unsupported(
        f"expected what the spirv dialect of LLVM 22 has, got {what} (mlir/{where})"
    )


_COMPUTED: dict[str, Callable[[int, int], int]] = {
    "OpIAdd": operator.add,
    "OpISub": operator.sub,
    "OpIMul": operator.mul,
}
"""What is computed of specialization constants that are the size of something."""


def _enumerants(kind: type[Enumerants], names: str) -> Enumerants:
    for name in names.split("|"):
        if name in LACKING:
            raise _lacks(name, kind.KIND)
    return kind("|".join(SPELLED.get(name, name) for name in names.split("|")))


def _enumerants_of(kind: str, number: int) -> str:
    found = enumeration(kind)
    members = found.members.values()
    if found.is_mask:
        names = [member.name for member in members if member.value & number]
    else:
        names = [member.name for member in members if member.value == number]
        if not names or names[0].endswith(("ARM", "INTEL")):
            raise _lacks(f"{kind} {number}", kind)
    return "|".join(names) or "None"


def _name(opcode: str) -> str:
    """The operation that an instruction is."""
    found = re.fullmatch(r"Op(.+?)(KHR|EXT|INTEL)?", opcode)
    assert found is not None, opcode
    name = f"{found[2]}.{found[1]}" if found[2] else found[1]
    if f"spirv.{name}" not in OPERATIONS:
        raise _lacks(opcode, "instruction")
    return name


def _made(
    name: str,
    operands: Sequence[SSAValue] = (),
    types: Sequence[Attribute] = (),
    given: Attributes | None = None,
    *,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> SpirvOp:
    """An operation, of attributes that are its properties or none."""
    form, given = OPERATIONS[f"spirv.{name}"], given or {}
    known = form.get_irdl_definition().properties
    return form.create(
        operands=operands,
        result_types=types,
        properties={key: x for key, x in given.items() if key in known},
        attributes={key: x for key, x in given.items() if key not in known},
        successors=successors,
        regions=regions,
    )


@dataclass
class _Block:
    """A block of a function; its label is its key in a dictionary."""

    phis: list[Instruction] = field(default_factory=list[Instruction])
    body: list[Instruction] = field(default_factory=list[Instruction])
    merge: Instruction | None = None


@dataclass
class _Scope:
    """A region that is being written."""

    region: Region = field(default_factory=Region)
    labels: dict[Id, None] = field(default_factory=dict[Id, None])
    """The blocks that are in it, regions in them included."""
    ahead: dict[Id, None] = field(default_factory=dict[Id, None])
    """The blocks that are named and not yet written."""


class _Writer:
    def __init__(self, order: NumberedModule, fixed: dict[Id, None]) -> None:
        """Begin a module.

        `fixed` gets the specialization constants that are numbers.
        """
        self.order = order
        self.fixed = fixed
        self.names = friendly_names(order.numbers)
        self.symbols: dict[Id, str] = {}
        self.decorations: dict[Id, list[Sequence[ResolvedOperand]]] = {}
        self.members: dict[tuple[Id, int], list[Sequence[ResolvedOperand]]] = {}
        self._types: dict[Id, Attribute] = {}
        for instruction, found in order.instructions:
            match instruction.facts.name, found:
                case "OpName", [Id() as id, str(name)]:
                    self.symbols[id] = name
                case "OpDecorate", [Id() as id, *rest]:
                    self.decorations.setdefault(id, []).append(rest)
                case "OpMemberDecorate", [Id() as id, int(member), *rest]:
                    self.members.setdefault((id, member), []).append(rest)
                case ("OpDecorateId" | "OpGroupDecorate") as name, _:
                    raise _lacks(name, "decoration")
                case _:
                    pass

    def module(self, module: Module) -> SpirvOp:
        listed = self._listed()
        body = [
            *self._globals(module),
            *(_FunctionWriter(self, each).write() for each in module.functions),
            *map(self._entry, (*module.entry_points, *module.execution_modes)),
        ]
        version = "v{}.{}".format(*module.version)
        addressing, memory = map(str, module.memory_model.operands)
        # without it, operations are verified as of version 1.0
        environment = f"#spirv.vce<{version}, [], []>, #spirv.resource_limits<>"
        given = {
            "addressing_model": ENUMERANTS["addressing_model"](addressing),
            "memory_model": ENUMERANTS["memory_model"](memory),
            "vce_triple": opaque("vce", f"{version}, {listed}"),
            "spirv.target_env": opaque("target_env", environment),
        }
        return _made("module", given=given, regions=[Region(Block(body))])

    def _listed(self) -> str:
        """The capabilities and extensions."""
        listed: dict[str, list[str]] = {name: [] for name in _LISTED}
        for instruction, _ in self.order.instructions:
            if instruction.facts.name in listed:
                name = str(instruction.operands[0])
                if name in LACKING:
                    raise _lacks(name, _LISTED[instruction.facts.name])
                listed[instruction.facts.name].append(SPELLED.get(name, name))
        return ", ".join(f"[{', '.join(names)}]" for names in listed.values())

    def symbol(self, id: Id) -> str:
        return self.symbols.get(id) or self.names[id]

    def name(self, value: SSAValue | Block, id: Id) -> None:
        name = self.names[id]
        value.name_hint = name if value.is_valid_name(name) else None

    def attributes_of(self, id: Id) -> Attributes:
        """The decorations of a value."""
        found: Attributes = {}
        for decoration, *operands in self.decorations.get(id, ()):
            assert isinstance(decoration, Selected), decoration
            (member,) = decoration.members
            match member.name, operands:
                case "BuiltIn", [Selected(members=(built_in,))]:
                    found["built_in"] = StringAttr(built_in.name)
                case "FPFastMathMode", [Selected(members=modes)]:
                    names = "|".join(mode.name for mode in modes) or "None"
                    kind = ENUMERANTS["fastmath_mode"]
                    found["fp_fast_math_mode"] = _enumerants(kind, names)
                case name, [int(number)] if name in _NUMBERED:
                    found[snake_case(name)] = IntegerAttr(number, i32)
                case name, [] if name in _FLAGS:
                    found[snake_case(name)] = UnitAttr()
                case name, _:
                    raise _lacks(f"the decoration {name} of a value", "decoration")
        return found

    # --- types and constants ---

    def number(self, id: ResolvedOperand) -> int:
        """The number of a constant that is an attribute or part of a type."""
        assert isinstance(id, Id), id
        assert id.definition is not None, id
        match (id.definition.facts.name, *id.definition.operands):
            case "OpConstant", int(number):
                return number
            case "OpSpecConstant", int(number):
                self.fixed[id] = None
                return number
            case "OpSpecConstantOp", str(opcode), a, b if opcode in _COMPUTED:
                found = _COMPUTED[opcode](self.number(a), self.number(b))
                return found % 2 ** width_of(id.type)
            case name, *rest:
                raise _lacks(f"{name} {rest[0]} as a size", "size")

    def chosen(self, kind: str, id: ResolvedOperand) -> str:
        """The enumerants that a constant stands for."""
        return _enumerants_of(kind, self.number(id))

    def type(self, id: Id) -> Attribute:
        if id not in self._types:
            self._types[id] = self._type(id)
        return self._types[id]

    def _type(self, id: Id) -> Attribute:
        assert id.definition is not None, id
        if (number := _number_type(id.definition)) is not None:
            return number
        match (id.definition.facts.name, *id.definition.operands):
            case "OpTypeVector", Id() as element, int(count):
                return VectorType(self.type(element), [count])
            case "OpTypeArray", Id() as element, Id() as length:
                count = IntAttr(self.number(length))
                return ArrayType(count, self._held(element), self._stride(id))
            case "OpTypeRuntimeArray", Id() as element:
                return RuntimeArrayType(self._held(element), self._stride(id))
            case "OpTypePointer", str(storage), Id() as pointee:
                return PointerType(self._held(pointee), StringAttr(storage))
            case "OpTypeStruct", *members:
                return self._struct(id, _ids(members))
            case "OpTypeFunction", Id() as result, *inputs:
                given = list(map(self.type, _ids(inputs)))
                results = [] if _is_void(result) else [self.type(result)]
                return FunctionType.from_lists(given, results)
            case "OpTypeCooperativeMatrixKHR", Id() as element, scope, *sizes, use:
                rows, cols = (IntAttr(self.number(x)) for x in sizes)
                by = StringAttr(self.chosen("Scope", scope))
                held = StringAttr(SPELLED[self.chosen("CooperativeMatrixUse", use)])
                return CooperativeMatrixType(rows, cols, self.type(element), by, held)
            case opcode, *_:
                raise _lacks(str(opcode), "type")

    def _held(self, id: Id) -> Attribute:
        """A type in another one, where upstream's parser takes short vectors only."""
        type = self.type(id)
        if is_vector(type) and type.element_count() > 4:
            raise _lacks(f"{type} in memory", "vector")
        return type

    def _stride(self, id: Id) -> IntAttr:
        for _, stride in self.decorations.get(id, ()):
            assert isinstance(stride, int), id
            return IntAttr(stride)
        return IntAttr(0)

    def _struct(self, id: Id, members: list[Id]) -> Attribute:
        notes: list[StringAttr] = []
        for at, _ in enumerate(members):
            found: list[str] = []
            for decoration, *operands in self.members.get((id, at), ()):
                assert isinstance(decoration, Selected), decoration
                (chosen,) = decoration.members
                is_offset = chosen.name == "Offset"
                found += [str(operands[0])] if is_offset else [chosen.name]
            notes.append(StringAttr(", ".join(found)))
        ending = StringAttr("Block" if id in self.decorations else "")
        types = ArrayAttr(map(self._held, members))
        return StructType(types, ArrayAttr(notes), ending)

    def numeral(self, id: Id) -> Attribute:
        """The attribute of a scalar, vector or array constant."""
        definition, type = id.definition, self.type(id.type)
        is_number = is_integer(type) or isinstance(type, AnyFloat)
        assert definition is not None, id
        match (definition.facts.name, *definition.operands):
            case "OpConstantTrue" | "OpConstantFalse" as opcode, *_:
                return IntegerAttr(opcode == "OpConstantTrue", i1)
            case "OpConstant" | "OpSpecConstant", int(bits):
                return _scalar(bits, type)
            case "OpConstantNull", *_ if is_vector(type):
                return _dense([_scalar(0, type.element_type)], type)
            case "OpConstantNull", *_ if is_number:
                return _scalar(0, type)
            case "OpConstantComposite", *given:
                parts = list(map(self.numeral, _ids(given)))
                return _dense(parts, type) if is_vector(type) else ArrayAttr(parts)
            case opcode, *_:
                raise _lacks(f"{opcode} of {type}", "constant")

    # --- what stands in a module ---

    def _globals(self, module: Module) -> Iterator[SpirvOp]:
        for instruction in module.globals:
            opcode, id = instruction.facts.name, instruction.result
            if opcode not in ("OpVariable", "OpSpecConstant"):
                continue
            assert id is not None, instruction
            if id in self.fixed:
                continue
            given = {"sym_name": StringAttr(self.symbol(id)), **self.attributes_of(id)}
            if opcode == "OpSpecConstant":
                given["default_value"] = self.numeral(id)
                yield _made("SpecConstant", given=given)
                continue
            if len(instruction.operands) > 1:
                raise _lacks("an initializer of a variable", "initializer")
            given["type"] = self.type(id.type)
            yield _made("GlobalVariable", given=given)

    def _entry(self, instruction: Instruction) -> SpirvOp:
        match (instruction.facts.name, *instruction.operands):
            case "OpEntryPoint", str(model), Id() as function, _, *interface:
                symbols = [SymbolRefAttr(self.symbol(id)) for id in _ids(interface)]
                given: Attributes = {
                    "execution_model": ENUMERANTS["execution_model"](model),
                    "fn": SymbolRefAttr(self.symbol(function)),
                    "interface": ArrayAttr(symbols),
                }
                return _made("EntryPoint", given=given)
            case "OpExecutionMode", Id() as function, str(mode), *values:
                numbers = [IntegerAttr(x, i32) for x in values if isinstance(x, int)]
                given = {
                    "execution_mode": _enumerants(ENUMERANTS["execution_mode"], mode),
                    "fn": SymbolRefAttr(self.symbol(function)),
                    "values": ArrayAttr(numbers),
                }
                return _made("ExecutionMode", given=given)
            case opcode, *_:
                raise _lacks(str(opcode), "instruction")


class _FunctionWriter:
    """Writes a function: its blocks, in regions where the dialect has them."""

    def __init__(self, writer: _Writer, function: Function) -> None:
        self.writer = writer
        self.function = function
        self.blocks: dict[Id, _Block] = {}
        self.values: dict[Id, SSAValue] = {}
        self._scope = _Scope()
        self._targets: dict[Id, Block] = {}
        """The blocks that are written or named, by their labels."""
        self._defined: dict[Id, Id] = {}
        """The block that defines a value, by its label."""
        self._used: dict[Id, set[Id]] = {}
        """The blocks that use a value; an OpPhi uses it where it comes from."""
        self._headers: set[Id] = set()
        """The headers of the loops that are being written."""
        self._results: set[Id] = set()
        """Values that are results of a region's operation."""
        self._again: dict[Id, dict[Id, SSAValue]] = {}
        """Values of a loop's last block that are its arguments, by what is passed."""
        self._divide()

    def _divide(self) -> None:
        label = Id()
        for instruction in self.function.body:
            name, result = instruction.facts.name, instruction.result
            if name == "OpLabel" and result is not None:
                label = result
                self.blocks[label] = _Block()
                continue
            block = self.blocks[label]
            if result is not None:
                self._defined[result] = label
            if name == "OpPhi":
                block.phis.append(instruction)
                for value, source in _arrivals(instruction):
                    self._used.setdefault(value, set()).add(source)
                continue
            for id in _ids(instruction.operands):
                self._used.setdefault(id, set()).add(label)
            if name in ("OpLoopMerge", "OpSelectionMerge"):
                block.merge = instruction
            else:
                block.body.append(instruction)

    def write(self) -> SpirvOp:
        writer, function = self.writer, self.function
        if not function.body:
            raise _lacks(f"{function.id}, which is only declared", "declaration")
        for parameter in function.parameters:
            if parameter in writer.decorations:
                raise _lacks("a decoration of a parameter", "decoration of a parameter")
        first, *_ = self.blocks
        types = [writer.type(each.type) for each in function.parameters]
        entry = self._targets[first] = Block(arg_types=types)
        self._bind(function.parameters, entry.args)
        scope = self._scope
        scope.region.add_block(entry)
        for id in self._constants():
            self._constant(id)
        for variable in function.locals:
            self._instruction(variable)
        self._chain(first)
        self._rest()
        control, type = function.head.operands
        assert isinstance(type, Id), function.head
        given: Attributes = {
            "sym_name": StringAttr(writer.symbol(function.id)),
            "function_type": writer.type(type),
            "function_control": ENUMERANTS["function_control"](str(control)),
        }
        return _made("func", given=given, regions=[scope.region])

    def _bind(self, ids: Iterable[Id], values: Iterable[SSAValue]) -> None:
        for id, value in zip(ids, values, strict=True):
            self.values[id] = value
            self.writer.name(value, id)

    def _insert(self, op: SpirvOp) -> Sequence[SSAValue]:
        block = self._scope.region.last_block
        assert block is not None, op
        block.add_op(op)
        return op.results

    def _add(
        self,
        name: str,
        operands: Sequence[SSAValue] = (),
        results: Sequence[Id] = (),
        given: Attributes | None = None,
        *,
        successors: Sequence[Id] = (),
        regions: Sequence[Region] = (),
    ) -> None:
        """Append an operation, whose results are the values of ids from now on."""
        results = [id for id in results if not _is_void(id.type)]
        types = [self.writer.type(id.type) for id in results]
        blocks = [self._target(label) for label in successors]
        op = _made(name, operands, types, given, successors=blocks, regions=regions)
        self._bind(results, self._insert(op))

    def _known(self, ids: Iterable[Id]) -> list[SSAValue]:
        return [self.values[id] for id in ids]

    def _constants(self) -> Iterator[Id]:
        """What the function uses of globals, each after what it is made of."""
        found: dict[Id, None] = {}

        def visit(id: Id) -> None:
            definition = id.definition
            is_value = definition is not None and definition.type is not None
            if not is_value or id in found or id in self._defined:
                return
            if id in self.function.parameters or definition in self.function.locals:
                return
            assert definition is not None, id
            if definition.facts.name == "OpFunction":
                return
            if definition.facts.name in ("OpSpecConstantOp", "OpSpecConstantComposite"):
                for operand in _ids(definition.operands):
                    visit(operand)
            found[id] = None

        for instruction in self.function.body:
            for id in _ids(instruction.operands):
                visit(id)
        return iter(found)

    def _constant(self, id: Id) -> None:
        """Write what stands for something defined outside functions."""
        definition, type = id.definition, self.writer.type(id.type)
        assert definition is not None, id
        symbol = SymbolRefAttr(self.writer.symbol(id))
        match (definition.facts.name, *definition.operands):
            case "OpVariable", *_:
                self._add("mlir.addressof", (), [id], {"variable": symbol})
            case "OpSpecConstant", *_ if id not in self.writer.fixed:
                self._add("mlir.referenceof", (), [id], {"spec_const": symbol})
            case "OpSpecConstantOp", str(opcode), *given:
                inner = _made(_name(opcode), self._known(_ids(given)), [type])
                body = Region(Block([inner, _made("mlir.yield", inner.results)]))
                self._add("SpecConstantOperation", (), [id], regions=[body])
            case "OpUndef", *_:
                self._add("Undef", (), [id])
            case "OpSpecConstantComposite", *given:
                self._add("CompositeConstruct", self._known(_ids(given)), [id])
            case "OpConstantNull" | "OpConstantComposite", *given if isinstance(
                type, CooperativeMatrixType
            ):
                # A number and a matrix of it: xDSL reads dense numbers of vectors only.
                parts = list(map(self.writer.numeral, _ids(given)))
                value = {"value": parts[0] if parts else _scalar(0, type.element)}
                number = self._insert(_made("Constant", (), [type.element], value))
                self._add("CompositeConstruct", number, [id])
            case _:
                self._add("Constant", (), [id], {"value": self.writer.numeral(id)})

    def _chain(self, label: Id) -> None:
        """Write a block, and what follows it without a branch in the dialect."""
        while True:
            self._scope.labels[label] = None
            block = self.blocks[label]
            *body, last = block.body
            for instruction in body:
                self._instruction(instruction)
            target = last.operands[0] if last.facts.name == "OpBranch" else None
            merge = block.merge
            if merge is not None and merge.facts.name == "OpSelectionMerge":
                label = self._selection(label, merge, last)
            elif isinstance(target, Id) and self._enters(target):
                label = self._loop(label, target)
            else:
                self._branch(last, label)
                return

    def _enters(self, target: Id) -> bool:
        """Whether a branch to a block enters a loop."""
        merge = self.blocks[target].merge
        is_header = merge is not None and merge.facts.name == "OpLoopMerge"
        return is_header and target not in self._headers

    def _rest(self, *later: Id) -> None:
        """Write the blocks that are named; some of them last, or not at all."""
        while ahead := [x for x in self._scope.ahead if x not in later]:
            self._block(ahead[0])

    def _block(self, label: Id) -> None:
        self._scope.ahead.pop(label, None)
        self._scope.region.add_block(self._target(label))
        self._chain(label)

    def _target(self, label: Id) -> Block:
        """The block of a label, with an argument for each OpPhi."""
        if label not in self._targets:
            phis = [phi.result for phi in self.blocks[label].phis if phi.result]
            block = Block(arg_types=[self.writer.type(phi.type) for phi in phis])
            self.writer.name(block, label)
            self._bind(phis, block.args)
            self._targets[label] = block
        return self._targets[label]

    def _selection(self, label: Id, merge: Instruction, last: Instruction) -> Id:
        """Write a selection, and return the block where it ends."""
        done, control = merge.operands
        assert isinstance(done, Id), merge
        outer, self._scope = self._scope, _Scope(Region(Block()))
        self._branch(last, label)
        self._rest(done)
        self._close("selection", str(control), done, outer)
        return done

    def _loop(self, label: Id, header: Id) -> Id:
        """Write a loop, and return the block where it ends."""
        merge = self.blocks[header].merge
        assert merge is not None, header
        done, again, control = merge.operands[:3]
        assert isinstance(done, Id), merge
        assert isinstance(again, Id), merge
        outer, self._scope = self._scope, _Scope(Region(Block()))
        self._jump(label, header)
        self._headers.add(header)
        self._again[again] = {}
        self._block(header)
        self._rest(again, done)
        self._block(again)
        self._headers.remove(header)
        self._close("loop", str(control), done, outer)
        return done

    def _close(self, kind: str, control: str, done: Id, outer: _Scope) -> None:
        """Write the last block of a region, and the operation around it."""
        inner = self._scope
        unwritten = [x for x in inner.ahead if x is not done]
        assert not unwritten, f"a {kind} is left by a branch to {unwritten}"
        phis = [phi.result for phi in self.blocks[done].phis if phi.result]
        kept = [
            id
            for id, label in self._defined.items()
            if label in inner.labels
            and any(use not in inner.labels for use in self._used.get(id, ()))
        ]
        results = [*phis, *kept]
        self._results.update(results)
        inner.region.add_block(self._target(done))
        self._add("mlir.merge", self._known(results))
        self._scope = outer
        name = f"{kind}_control"
        given: Attributes = {name: _enumerants(ENUMERANTS[name], control)}
        self._add(f"mlir.{kind}", (), results, given, regions=[inner.region])
        outer.labels |= inner.labels

    # --- instructions ---

    def _passed(self, source: Id, target: Id) -> list[SSAValue]:
        """What a branch passes to the arguments of a block."""
        if target in self._again:
            return self._passed_on(target)
        renamed = self._again.get(source, {})
        return [
            renamed[value] if value in renamed else self.values[value]
            for phi in self.blocks[target].phis
            for value, label in _arrivals(phi)
            if label is source
        ]

    def _passed_on(self, again: Id) -> list[SSAValue]:
        """What the last block of a loop takes as arguments, to pass to the header.

        Upstream's serializer gives no number to a region's result that is passed to a
        block before it, because it replaces the result first (`processSelectionOp`).
        """
        (header,) = _ids(self.blocks[again].body[-1].operands)
        aliases, block = self._again[again], self._target(again)
        for phi in self.blocks[header].phis:
            for value, label in _arrivals(phi):
                if label is again and value in self._results and value not in aliases:
                    type = self.writer.type(value.type)
                    alias = aliases[value] = block.insert_arg(type, len(block.args))
                    alias.name_hint = f"again.{self.writer.names[value]}"
        return self._known(aliases)

    def _jump(self, source: Id, target: Id) -> None:
        self._add("Branch", self._passed(source, target), successors=[target])

    def _branch(self, last: Instruction, label: Id) -> None:
        """Write the terminator of a block."""
        given: Attributes = {}
        match (last.facts.name, *last.operands):
            case "OpBranch", Id() as target:
                self._ahead([target])
                self._jump(label, target)
                return
            case "OpBranchConditional", Id() as condition, Id() as yes, Id() as no:
                name, targets = "BranchConditional", [yes, no]
            case "OpSwitch", Id() as condition, Id() as default, *cases:
                if (bits := width_of(condition.type)) != 32:
                    raise _lacks(f"OpSwitch of {bits} bits", "switch")
                name, targets = "Switch", [default, *_ids(cases)]
                numbers = [each for each in cases if isinstance(each, int)]
                counts = [len(self._passed(label, each)) for each in targets[1:]]
                given["case_operand_segments"] = DenseArrayBase.from_list(i32, counts)
                if numbers:
                    parts = [_scalar(number, i32) for number in numbers]
                    given["literals"] = _dense(parts, VectorType(i32, [len(numbers)]))
            case _:
                self._instruction(last)
                return
        self._ahead(targets)
        first, *others = [self._passed(label, target) for target in targets]
        rest = [value for values in others for value in values]
        segments = [1, len(first), len(rest)]
        given["operandSegmentSizes"] = DenseArrayBase.from_list(i32, segments)
        operands = [self.values[condition], *first, *rest]
        self._add(name, operands, (), given, successors=targets)

    def _ahead(self, targets: list[Id]) -> None:
        for target in targets:
            if target not in self._scope.labels and target not in self._headers:
                self._scope.ahead[target] = None

    def _instruction(self, instruction: Instruction) -> None:
        opcode, result = instruction.facts.name, instruction.result
        given = {} if result is None else self.writer.attributes_of(result)
        found = resolve_operands(instruction)
        found = found[instruction.facts.has_type + instruction.facts.has_result :]
        match opcode, found:
            case "OpExtInst", [Id() as imported, ExtendedInstruction(name=name), *rest]:
                assert imported.definition is not None, imported
                instructions = str(imported.definition.operands[0])
                prefix, found = EXTENDED[instructions], rest
                if name in _EXPANDED and result is not None and prefix == "GL":
                    self._expanded(_EXPANDED[name], self._known(_ids(rest)), result)
                    return
                if f"spirv.{prefix}.{name}" not in OPERATIONS:
                    raise _lacks(f"{name} of {instructions}", instructions)
                name = f"{prefix}.{name}"
            case "OpAtomicLoad", [Id() as place, *_] if result is not None and (
                _is_written(place, self.writer)
            ):
                # An update that changes nothing.
                type = self.writer.type(result.type)
                value = {"value": _scalar(0, type)}
                zero = self._insert(_made("Constant", (), [type], value))
                operands, said = self._fields("AtomicOr", found)
                self._add("AtomicOr", [*operands, *zero], [result], said)
                return
            case "OpBitcast", _ if result is not None and isinstance(
                self.writer.type(result.type), CooperativeMatrixType
            ):
                raise _lacks("OpBitcast of matrices", "bit cast")
            case _:
                name = _name(opcode)
        operands, said = self._fields(name, found)
        results = [] if result is None else [result]
        self._add(name, operands, results, {**given, **said})

    def _expanded(self, by: str, given: list[SSAValue], result: Id) -> None:
        """The operations in place of an instruction; all but truths are of its type."""
        type = self.writer.type(result.type)
        truth = VectorType(i1, type.get_shape()) if is_vector(type) else i1
        values = dict(zip("ab", given, strict=False))
        for each in by.split(";"):
            made, _, text = each.strip().rpartition(" = ")
            opcode, *operands = text.split()
            to = truth if opcode in _TRUTHS else type
            op = _made(opcode, [values[x] for x in operands], [to])
            (values[made],) = self._insert(op)
        self._bind([result], [values[""]])

    def _fields(
        self, name: str, found: Sequence[ResolvedOperand]
    ) -> tuple[list[SSAValue], Attributes]:
        form, rest = OPERATIONS[f"spirv.{name}"], deque(found)
        properties = form.get_irdl_definition().properties
        values: list[SSAValue] = []
        given: Attributes = {}
        for key, quantifier, _ in FIELDS[form.name]:
            if key not in properties:
                while rest and isinstance(id := rest[0], Id):
                    values.append(self.values[id])
                    rest.popleft()
                    if quantifier != "*":
                        break
            elif isinstance(first := next(iter(rest), None), int):
                numbers = [IntegerAttr(x, i32) for x in rest if isinstance(x, int)]
                given[key] = numbers[0] if key == "alignment" else ArrayAttr(numbers)
                rest.clear()
            elif first is not None:
                constraint = properties[key].constr
                given[key] = self._attribute(constraint, rest.popleft(), name)
        assert not rest, (name, rest)
        return values, given

    def _attribute(
        self, constraint: object, found: ResolvedOperand, name: str
    ) -> Attribute:
        """The attribute that an operand is: enumerants, a function or a type."""
        kind: type[Attribute] | None = None
        if isinstance(constraint, BaseAttr):
            kind = cast(BaseAttr[Attribute], constraint).attr
        match found:
            case Id() if kind is SymbolRefAttr:
                return SymbolRefAttr(self.writer.symbol(found))
            case Id() if kind is None:
                return self.writer.type(found)
            case Id() | Selected():
                assert kind is not None, name
                assert issubclass(kind, Enumerants), kind
                if isinstance(found, Id):
                    return _enumerants(kind, self.writer.chosen(kind.KIND, found))
                chosen = "|".join(each.name for each in found.members) or "None"
                if "MakePointer" in chosen:
                    accessed = "matrix" if "Cooperative" in name else "memory"
                    raise _lacks(f"the scope of {chosen}", f"{accessed} access")
                return _enumerants(kind, chosen)
            case _:
                raise AssertionError(f"{name}: {found} is no attribute")


def _is_written(place: Id, writer: _Writer) -> bool:
    """Whether a place of integers in memory may be written."""
    whole = place
    while (chain := whole.definition) and chain.facts.name.endswith("Chain"):
        (whole, *_) = _ids(chain.operands)
    pointer = writer.type(place.type)
    assert isinstance(pointer, PointerType), place
    flags = writer.attributes_of(whole)
    return "non_writable" not in flags and is_integer(pointer.pointee)


def _number_type(type: Instruction) -> Attribute | None:
    match (type.facts.name, *type.operands):
        case "OpTypeBool", *_:
            return i1
        case "OpTypeInt", int(bits), signed:
            sign = Signedness.SIGNED if signed else Signedness.SIGNLESS
            return IntegerType(bits, sign)
        case "OpTypeFloat", int(bits):
            return _FLOATS[bits]
        case "OpTypeFloat", _, "BFloat16KHR":
            return bf16
        case _:
            return None


def _scalar(bits: int, type: Attribute) -> Attribute:
    """The number of a type that has some bits."""
    if is_integer(type):
        is_negative = bits >> (type.bitwidth - 1)
        return IntegerAttr(bits - (is_negative << type.bitwidth), type)
    assert isinstance(type, AnyFloat), type
    (number,) = type.unpack(bits.to_bytes(type.bitwidth // 8, "little"), 1)
    return FloatAttr(number, type)


def _dense(parts: Sequence[Attribute], type: VectorType) -> Attribute:
    """A vector of numbers; one number is all of them."""
    if isa(type, VectorType[IntegerType]):
        integers = [x.value.data for x in parts if isinstance(x, IntegerAttr)]
        return DenseIntOrFPElementsAttr.from_list(type, integers)
    assert isa(type, VectorType[AnyFloat]), type
    floats = [x.value.data for x in parts if isinstance(x, FloatAttr)]
    return DenseIntOrFPElementsAttr.from_list(type, floats)


def _ids(operands: Iterable[object]) -> list[Id]:
    return [operand for operand in operands if isinstance(operand, Id)]


def _arrivals(phi: Instruction) -> list[tuple[Id, Id]]:
    ids = _ids(phi.operands)
    return list(zip(ids[::2], ids[1::2], strict=True))


def _is_void(type: Id) -> bool:
    return type.definition is not None and type.definition.facts.name == "OpTypeVoid"
