"""Writes a SPIR-V module in upstream MLIR's `spirv` dialect, in generic form.

`mlir-translate --no-implicit-module --serialize-spirv` of LLVM 22 makes a binary of the
text.  Operations, enumerants and operands are named by the grammar, from which the
dialect is generated too; the tables below list what the dialect lacks or names
otherwise.

The dialect has regions in place of merge instructions: `spirv.mlir.selection` begins
with the terminator of the header, and `spirv.mlir.loop` with a branch to the header.
Both end in a block with `spirv.mlir.merge`.  An OpPhi is an argument of a block, and a
value that is used after a region is a result of its operation.  Constants are
operations, here at the entry of each function that uses them.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coopc.spirv.grammar import ExtendedInstruction, enumeration
from coopc.spirv.grammar_table import ENUMERATIONS, MASKS
from coopc.spirv.instruction import (
    Id,
    Instruction,
    Literal,
    ResolvedOperand,
    Selected,
    resolve_operands,
    width_of,
)
from coopc.spirv.module import Function, Module
from coopc.spirv.writer import Ordered, friendly_names, ordered


class Unsupported(ValueError):
    """The dialect has no form for something in the module."""


_LACKING = """
OpAll OpAny OpArrayLength OpAtomicFMaxEXT OpAtomicFMinEXT OpAtomicFlagClear
OpAtomicFlagTestAndSet OpAtomicLoad OpAtomicStore OpBitCastArrayQCOM
OpCompositeConstructCoopMatQCOM OpCompositeExtractCoopMatQCOM
OpCooperativeMatrixConvertNV OpCooperativeMatrixConvertUseEXT
OpCooperativeMatrixGetCoordinateEXT OpCooperativeMatrixLoadCheckedINTEL
OpCooperativeMatrixLoadTensorNV
OpCooperativeMatrixPerElementOpEXT OpCooperativeMatrixPerElementOpNV
OpCooperativeMatrixReduceEXT OpCooperativeMatrixReduceNV
OpCooperativeMatrixStoreCheckedINTEL OpCooperativeMatrixStoreTensorNV
OpCooperativeMatrixTransposeNV OpCopyLogical
OpCopyMemorySized OpCopyObject OpCreateTensorLayoutNV OpCreateTensorViewNV
OpExtractSubArrayQCOM OpGenericPtrMemSemantics OpGroupAll OpGroupAny OpGroupAsyncCopy
OpGroupNonUniformBallotBitExtract OpGroupNonUniformBroadcastFirst
OpGroupNonUniformInverseBallot OpGroupWaitEvents OpInBoundsAccessChain OpIsNormal
OpLessOrGreater OpLifetimeStart OpLifetimeStop OpOuterProduct OpPtrDiff OpPtrEqual
OpPtrNotEqual OpQuantizeToF16 OpSatConvertSToU OpSatConvertUToS OpSignBitSet OpSizeOf
OpSubgroup2DBlockLoadINTEL OpSubgroup2DBlockLoadTransformINTEL
OpSubgroup2DBlockLoadTransposeINTEL OpSubgroup2DBlockPrefetchINTEL
OpSubgroup2DBlockStoreINTEL OpSubgroupMatrixMultiplyAccumulateINTEL
OpSubgroupShuffleDownINTEL OpSubgroupShuffleINTEL OpSubgroupShuffleUpINTEL
OpSubgroupShuffleXorINTEL OpTensorLayoutSetBlockSizeNV OpTensorLayoutSetClampValueNV
OpTensorLayoutSetDimensionNV OpTensorLayoutSetStrideNV OpTensorLayoutSliceNV
OpTensorViewSetClipNV OpTensorViewSetDimensionNV OpTensorViewSetStrideNV
OpTerminateInvocation

SPV_ARM_cooperative_matrix_layouts
SPV_EXT_cooperative_matrix_maintenance1 SPV_EXT_float8
SPV_INTEL_2d_block_io SPV_INTEL_joint_matrix
SPV_INTEL_subgroup_matrix_multiply_accumulate
SPV_KHR_maximal_reconvergence SPV_KHR_relaxed_extended_instruction
SPV_NV_cooperative_matrix2 SPV_NV_tensor_addressing
SPV_QCOM_cooperative_matrix_conversion MaximallyReconvergesKHR
"""
LACKING = frozenset(_LACKING.split())
"""What the dialect of LLVM 22 lacks of the grammar: instructions that compute, and
capabilities, extensions and enumerants."""
_GLSL = """
Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Cross Distance Exp Exp2 FAbs FClamp FMax
FMin FMix FSign FindILsb FindSMsb FindUMsb Floor Fma Fract FrexpStruct InverseSqrt Ldexp
Length Log Log2 Normalize PackHalf2x16 PackSnorm4x8 Pow Reflect Round RoundEven SAbs
SClamp SMax SMin SSign Sin Sinh Sqrt Tan Tanh UClamp UMax UMin UnpackHalf2x16
UnpackSnorm4x8
"""
_OPENCL = """
acos acosh asin asinh atan atan2 atanh ceil cos cosh erf exp fabs floor fma fmax fmin
log mix pow printf rint round rsqrt s_abs s_max s_min sin sinh sqrt tan tanh u_max u_min
"""
EXTENDED = {
    "GLSL.std.450": ("GL", frozenset(_GLSL.split())),
    "OpenCL.std": ("CL", frozenset(_OPENCL.split())),
}
"""The prefix of each set of extended instructions, and what the dialect has of it."""
_NUMBERED = frozenset({"Binding", "DescriptorSet"})
_DECORATIONS = """
Aliased Constant NoContraction NoSignedWrap NoUnsignedWrap NonReadable NonWritable
"""
_FLAGS = frozenset(_DECORATIONS.split())
"""Decorations of values that are attributes: of numbers, and without operands."""
_ATTRIBUTES = {
    "CooperativeMatrixLayout": "coop_matrix_layout_khr",
    "CooperativeMatrixOperands": "cooperative_matrix_operands_khr",
    "FPFastMathMode": "fastmath_mode",
}
"""The attributes of enumerations that are not named after these."""
ATTRIBUTES = tuple(
    _ATTRIBUTES.get(kind) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()
    for kind in (*ENUMERATIONS, *MASKS)
)
"""The names of the dialect's attributes that are enumerants."""
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
_MATRIX = "OpTypeCooperativeMatrixKHR"
_LAYOUT_AT = {"OpCooperativeMatrixLoadKHR": 1, "OpCooperativeMatrixStoreKHR": 2}
"""Which operand is a layout, an attribute in the dialect."""

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

Attributes = dict[str, str]
Results = Sequence[Id]


def text(module: Module) -> tuple[str, list[str]]:
    """The module as MLIR, and the specialization constants that are numbers in it.

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
        return found, [writer.symbol(id) for id in fixed]
    return found, []


def _enumerant(kind: str, names: str) -> str:
    for name in names.split("|"):
        if name in LACKING:
            raise _lacks(name, kind)
    spelled = "|".join(SPELLED.get(name, name) for name in names.split("|"))
    return f"#spirv.{_ATTRIBUTES.get(kind) or _snake(kind)}<{spelled}>"


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


def _enumerants_of(kind: str, number: int) -> str:
    """The enumerants that a number stands for."""
    found = enumeration(kind)
    members = found.members.values()
    if found.is_mask:
        names = [member.name for member in members if member.value & number]
    else:
        names = [member.name for member in members if member.value == number]
        if not names or names[0].endswith(("ARM", "INTEL")):
            raise _lacks(f"{kind} {number}", kind)
    return "|".join(names) or "None"


def _symbol(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][\w$.]*", name, re.ASCII):
        return f"@{name}"
    return "@" + _quoted(name)


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _operation_name(opcode: str) -> str:
    found = re.fullmatch(r"Op(.+?)(KHR|EXT|INTEL)?", opcode)
    if opcode in LACKING or found is None:
        raise _lacks(opcode, "instruction")
    vendor = f"{found[2]}." if found[2] else ""
    return f"spirv.{vendor}{found[1]}"


@dataclass
class _Block:
    """A block of a function; its label is its key in a dictionary."""

    phis: list[Instruction] = field(default_factory=list[Instruction])
    body: list[Instruction] = field(default_factory=list[Instruction])
    merge: Instruction | None = None


@dataclass
class _Region:
    """A region that is being written."""

    indent: str
    lines: list[str] = field(default_factory=list[str])
    labels: dict[Id, None] = field(default_factory=dict[Id, None])
    """The blocks that are in it, regions in them included."""
    ahead: dict[Id, None] = field(default_factory=dict[Id, None])
    """The blocks that are named and not yet written."""

    def line(self, text: str) -> None:
        self.lines.append(f"{self.indent}{text}")


class _Writer:
    def __init__(self, order: Ordered, fixed: dict[Id, None]) -> None:
        """Begin a module.

        Args:
            order: its instructions.
            fixed: specialization constants that are numbers, which gets what is found.
        """
        self.order = order
        self.fixed = fixed
        self.names = friendly_names(order.numbers)
        self.symbols: dict[Id, str] = {}
        self.decorations: dict[Id, list[Sequence[ResolvedOperand]]] = {}
        self.members: dict[tuple[Id, int], list[Sequence[ResolvedOperand]]] = {}
        self._types: dict[Id, str] = {}
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

    def module(self, module: Module) -> str:
        major, minor = module.version
        version = f"v{major}.{minor}"
        listed: dict[str, list[str]] = {name: [] for name in _LISTED}
        for instruction, _ in self.order.instructions:
            if instruction.facts.name in listed:
                (name,) = instruction.operands
                if name in LACKING:
                    raise _lacks(str(name), _LISTED[instruction.facts.name])
                name = SPELLED.get(str(name), str(name))
                listed[instruction.facts.name].append(name)
        has = ", ".join(f"[{', '.join(names)}]" for names in listed.values())
        addressing, memory = module.memory_model.operands
        lines = [
            f"spirv.module {addressing} {memory} requires #spirv.vce<{version}, {has}>",
            # without it, operations are verified as of version 1.0
            "    attributes {spirv.target_env = #spirv.target_env<"
            f"#spirv.vce<{version}, [], []>, #spirv.resource_limits<>>}} {{",
        ]
        for instruction in module.globals:
            is_global = instruction.facts.name in ("OpVariable", "OpSpecConstant")
            if is_global and instruction.result not in self.fixed:
                lines.append("  " + self._global(instruction))
        for function in module.functions:
            lines += _FunctionWriter(self, function).lines()
        for instruction in (*module.entry_points, *module.execution_modes):
            lines.append("  " + self._entry(instruction))
        return "\n".join([*lines, "}"]) + "\n"

    def operation(
        self,
        name: str,
        operands: Iterable[Id] = (),
        attributes: Mapping[str, str] | None = None,
        results: Results = (),
        middle: str = "",
    ) -> str:
        """The text of an operation; `middle` is its successors or regions."""
        operands = list(operands)
        given = ", ".join(map(self.value, operands))
        types = ", ".join(self.type(id.type) for id in operands)
        made = ", ".join(self.type(id.type) for id in results)
        made = made if len(results) == 1 else f"({made})"
        pairs = ", ".join(
            f"{key} = {value}" if value else key
            for key, value in (attributes or {}).items()
        )
        head = ", ".join(map(self.value, results)) + " = " if results else ""
        dictionary = f" {{{pairs}}}" if pairs else ""
        return f'{head}"{name}"({given}){middle}{dictionary} : ({types}) -> {made}'

    def value(self, id: Id) -> str:
        return "%" + self.names[id]

    def symbol(self, id: Id) -> str:
        return _symbol(self.symbols.get(id) or self.names[id])

    def attributes_of(self, id: Id) -> Attributes:
        """The decorations of a value."""
        found: Attributes = {}
        for decoration, *operands in self.decorations.get(id, ()):
            assert isinstance(decoration, Selected), decoration
            (member,) = decoration.members
            match member.name, operands:
                case "BuiltIn", [Selected(members=(built_in,))]:
                    found["built_in"] = _quoted(built_in.name)
                case "FPFastMathMode", [Selected(members=modes)]:
                    names = "|".join(mode.name for mode in modes) or "None"
                    found["fp_fast_math_mode"] = _enumerant("FPFastMathMode", names)
                case name, [int(number)] if name in _NUMBERED:
                    found[_snake(name)] = f"{number} : i32"
                case "SpecId", [int(number)]:
                    found["spec_id"] = f"{number} : i32"
                case name, [] if name in _FLAGS:
                    found[_snake(name)] = ""
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

    def type(self, id: Id) -> str:
        if id not in self._types:
            self._types[id] = self._type(id)
        return self._types[id]

    def _type(self, id: Id) -> str:
        assert id.definition is not None, id
        if (number := _number_type(id.definition)) is not None:
            return number
        match (id.definition.facts.name, *id.definition.operands):
            case "OpTypeVector", Id() as element, int(count):
                return f"vector<{count}x{self.type(element)}>"
            case "OpTypeArray", Id() as element, Id() as length:
                count = self.number(length)
                return (
                    f"!spirv.array<{count} x {self._held(element)}{self._stride(id)}>"
                )
            case "OpTypeRuntimeArray", Id() as element:
                return f"!spirv.rtarray<{self._held(element)}{self._stride(id)}>"
            case "OpTypePointer", str(storage), Id() as pointee:
                return f"!spirv.ptr<{self._held(pointee)}, {storage}>"
            case "OpTypeStruct", *members:
                return self._struct(id, _ids(members))
            case "OpTypeFunction", Id() as result, *inputs:
                given = ", ".join(map(self.type, _ids(inputs)))
                return f"({given}) -> {self.type(result)}"
            case "OpTypeCooperativeMatrixKHR", Id() as element, scope, *sizes, use:
                rows, cols = (self.number(x) for x in sizes)
                shape = f"{rows}x{cols}x{self.type(element)}"
                held = SPELLED[self.chosen("CooperativeMatrixUse", use)]
                by = self.chosen("Scope", scope)
                return f"!spirv.coopmatrix<{shape}, {by}, {held}>"
            case opcode, *_:
                raise _lacks(str(opcode), "type")

    def _held(self, id: Id) -> str:
        """A type in another one, where upstream's parser takes short vectors only."""
        text = self.type(id)
        if re.match(r"vector<(8|16)x", text):
            raise _lacks(f"{text} in memory", "vector")
        return text

    def _stride(self, id: Id) -> str:
        for _, *operands in self.decorations.get(id, ()):
            return f", stride={operands[0]}"
        return ""

    def _struct(self, id: Id, members: list[Id]) -> str:
        texts: list[str] = []
        for at, member in enumerate(members):
            notes: list[str] = []
            for decoration, *operands in self.members.get((id, at), ()):
                assert isinstance(decoration, Selected), decoration
                (chosen,) = decoration.members
                is_offset = chosen.name == "Offset"
                notes += [str(operands[0])] if is_offset else [chosen.name]
            suffix = f" [{', '.join(notes)}]" if notes else ""
            texts.append(self._held(member) + suffix)
        block = ", Block" if id in self.decorations else ""
        return f"!spirv.struct<({', '.join(texts)}){block}>"

    def constant(self, id: Id) -> str:
        """The operation that stands for something defined outside functions."""
        definition = id.definition
        assert definition is not None, id
        match (definition.facts.name, *definition.operands):
            case "OpVariable", *_:
                attributes = {"variable": self.symbol(id)}
                return self.operation("spirv.mlir.addressof", (), attributes, (id,))
            case "OpSpecConstant", *_ if id not in self.fixed:
                attributes = {"spec_const": self.symbol(id)}
                return self.operation("spirv.mlir.referenceof", (), attributes, (id,))
            case "OpSpecConstantOp", str(opcode), *given:
                name, operands = _operation_name(opcode), _ids(given)
                inner = self.operation(name, operands, {}, (id,))
                last = self.operation("spirv.mlir.yield", (id,))
                middle = f" ({{ {inner}\n      {last} }})"
                name = "spirv.SpecConstantOperation"
                return self.operation(name, (), {}, (id,), middle)
            case "OpUndef", *_:
                return self.operation("spirv.Undef", (), {}, (id,))
            case "OpSpecConstantComposite", *given:
                operands = _ids(given)
                return self.operation("spirv.CompositeConstruct", operands, {}, (id,))
            case "OpConstantNull" | "OpConstantComposite", *given if _is_matrix(
                id.type
            ):
                return self._constant_matrix(id, _ids(given))
            case _:
                attributes = {"value": self._number_attribute(id)}
                return self.operation("spirv.Constant", (), attributes, (id,))

    def _constant_matrix(self, id: Id, given: list[Id]) -> str:
        """A number and a matrix of it: xDSL reads dense numbers of vectors only."""
        type = id.type.definition
        assert type is not None, id
        element, *_ = _ids(type.operands)
        zero = "0" if _is_integer(type) else "0.0"
        number = _bits(given[0]) if given else zero
        name, text = f"%element.{self.names[id]}", self.type(element)
        constant = f'{name} = "spirv.Constant"() {{value = {number} : {text}}} : () -> '
        made = f'"spirv.CompositeConstruct"({name}) : ({text}) -> {self.type(id.type)}'
        return f"{constant}{text}\n    {self.value(id)} = {made}"

    def _number_attribute(self, id: Id) -> str:
        definition, type = id.definition, id.type.definition
        assert definition is not None, id
        assert type is not None, id
        is_dense = type.facts.name == "OpTypeVector"
        suffix = f" : {self.type(id.type)}"
        match (definition.facts.name, *definition.operands):
            case "OpConstantTrue" | "OpConstantFalse", *_:
                return _bits(id)
            case "OpConstant" | "OpSpecConstant", *_:
                return _bits(id) + suffix
            case "OpConstantNull", *_ if is_dense or not _ids(type.operands):
                zero = "0" if _is_integer(type) else "0.0"
                return (f"dense<{zero}>" if is_dense else zero) + suffix
            case "OpConstantComposite", *given if is_dense:
                parts = [_bits(part) for part in _ids(given)]
                body = parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"
                return f"dense<{body}>{suffix}"
            case "OpConstantComposite", *given:
                return f"[{', '.join(map(self._number_attribute, _ids(given)))}]"
            case opcode, *_:
                raise _lacks(f"{opcode} of {self.type(id.type)}", "constant")

    # --- what stands in a module ---

    def _global(self, instruction: Instruction) -> str:
        id = instruction.result
        assert id is not None, instruction
        attributes = {"sym_name": _quoted(self.symbols.get(id) or self.names[id])}
        attributes |= self.attributes_of(id)
        if instruction.facts.name == "OpSpecConstant":
            attributes["default_value"] = f"{_bits(id)} : {self.type(id.type)}"
            return self.operation("spirv.SpecConstant", (), attributes)
        if len(instruction.operands) > 1:
            raise _lacks("an initializer of a variable", "initializer")
        attributes["type"] = self.type(id.type)
        return self.operation("spirv.GlobalVariable", (), attributes)

    def _entry(self, instruction: Instruction) -> str:
        match (instruction.facts.name, *instruction.operands):
            case "OpEntryPoint", str(model), Id() as function, _, *interface:
                symbols = ", ".join(map(self.symbol, _ids(interface)))
                attributes = {
                    "execution_model": _enumerant("ExecutionModel", model),
                    "fn": self.symbol(function),
                    "interface": f"[{symbols}]",
                }
                return self.operation("spirv.EntryPoint", (), attributes)
            case "OpExecutionMode", Id() as function, str(mode), *values:
                attributes = {
                    "execution_mode": _enumerant("ExecutionMode", mode),
                    "fn": self.symbol(function),
                    "values": f"[{', '.join(f'{value} : i32' for value in values)}]",
                }
                return self.operation("spirv.ExecutionMode", (), attributes)
            case opcode, *_:
                raise _lacks(str(opcode), "instruction")


class _FunctionWriter:
    """Writes a function: its blocks, in regions where the dialect has them."""

    def __init__(self, writer: _Writer, function: Function) -> None:
        self.writer = writer
        self.function = function
        self.blocks: dict[Id, _Block] = {}
        self._defined: dict[Id, Id] = {}
        """The block that defines a value, by its label."""
        self._used: dict[Id, set[Id]] = {}
        """The blocks that use a value; an OpPhi uses it where it comes from."""
        self._headers: set[Id] = set()
        """The headers of the loops that are being written."""
        self._results: set[Id] = set()
        """Values that are results of a region's operation."""
        self._again: dict[Id, dict[Id, Id]] = {}
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

    def lines(self) -> list[str]:
        writer, function = self.writer, self.function
        if not function.body:
            raise _lacks(f"{function.id}, which is only declared", "declaration")
        region = _Region("    ")
        for parameter in function.parameters:
            if parameter in writer.decorations:
                raise _lacks("a decoration of a parameter", "decoration of a parameter")
        parameters = ", ".join(
            f"{writer.value(each)}: {writer.type(each.type)}"
            for each in function.parameters
        )
        first, *_ = self.blocks
        region.lines.append(f"  ^{writer.names[first]}({parameters}):")
        for id in self._constants():
            region.line(writer.constant(id))
        for variable in function.locals:
            region.line(self._instruction(variable))
        self._chain(first, region)
        self._rest(region)
        _, type = function.head.operands
        assert isinstance(type, Id), function.head
        control = str(function.head.operands[0])
        attributes = {
            "sym_name": _quoted(
                writer.symbols.get(function.id) or writer.names[function.id]
            ),
            "function_type": writer.type(type),
            "function_control": _enumerant("FunctionControl", control),
        }
        last = writer.operation("spirv.func", (), attributes)
        name, tail = last.split("()", 1)
        return [f"  {name}() ({{", *region.lines, f"  }}){tail}"]

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

    def _chain(self, label: Id, region: _Region) -> None:
        """Write a block, and what follows it without a branch in the dialect."""
        while True:
            region.labels[label] = None
            block = self.blocks[label]
            *body, last = block.body
            for instruction in body:
                region.line(self._instruction(instruction))
            target = last.operands[0] if last.facts.name == "OpBranch" else None
            merge = block.merge
            if merge is not None and merge.facts.name == "OpSelectionMerge":
                label = self._selection(label, merge, last, region)
            elif isinstance(target, Id) and self._enters(target):
                label = self._loop(label, target, region)
            else:
                region.line(self._branch(last, label, region))
                return

    def _enters(self, target: Id) -> bool:
        """Whether a branch to a block enters a loop."""
        merge = self.blocks[target].merge
        is_header = merge is not None and merge.facts.name == "OpLoopMerge"
        return is_header and target not in self._headers

    def _rest(self, region: _Region, *later: Id) -> None:
        """Write the blocks that are named; some of them last, or not at all."""
        while ahead := [x for x in region.ahead if x not in later]:
            self._block(ahead[0], region)

    def _block(self, label: Id, region: _Region) -> None:
        region.ahead.pop(label, None)
        self._label(label, region)
        self._chain(label, region)

    def _label(self, label: Id, region: _Region) -> None:
        phis = [phi.result for phi in self.blocks[label].phis if phi.result]
        phis += self._again.get(label, {}).values()
        arguments = ", ".join(
            f"{self.writer.value(phi)}: {self.writer.type(phi.type)}" for phi in phis
        )
        name = f"^{self.writer.names[label]}"
        region.lines.append(
            f"{region.indent[:-2]}{name}" + (f"({arguments}):" if phis else ":")
        )

    def _selection(
        self, label: Id, merge: Instruction, last: Instruction, region: _Region
    ) -> Id:
        """Write a selection, and return the block where it ends."""
        done, control = merge.operands
        assert isinstance(done, Id), merge
        inner = _Region(region.indent + "  ")
        inner.line(self._branch(last, label, inner))
        self._rest(inner, done)
        attributes = {"selection_control": _enumerant("SelectionControl", str(control))}
        self._close("spirv.mlir.selection", attributes, done, inner, region)
        return done

    def _loop(self, label: Id, header: Id, region: _Region) -> Id:
        """Write a loop, and return the block where it ends."""
        merge = self.blocks[header].merge
        assert merge is not None, header
        done, again, control = merge.operands[:3]
        assert isinstance(done, Id), merge
        assert isinstance(again, Id), merge
        inner = _Region(region.indent + "  ")
        inner.line(self._jump(label, header))
        self._headers.add(header)
        self._again[again] = {}
        self._block(header, inner)
        self._rest(inner, again, done)
        self._block(again, inner)
        self._headers.remove(header)
        attributes = {"loop_control": _enumerant("LoopControl", str(control))}
        self._close("spirv.mlir.loop", attributes, done, inner, region)
        return done

    def _close(
        self,
        name: str,
        attributes: Attributes,
        done: Id,
        inner: _Region,
        outer: _Region,
    ) -> None:
        """Write the last block of a region, and the operation around it."""
        unwritten = [x for x in inner.ahead if x is not done]
        assert not unwritten, f"{name} is left by a branch to {unwritten}"
        phis = [phi.result for phi in self.blocks[done].phis if phi.result]
        kept = [
            id
            for id, label in self._defined.items()
            if label in inner.labels
            and any(use not in inner.labels for use in self._used.get(id, ()))
        ]
        results = [*phis, *kept]
        self._results.update(results)
        self._label(done, inner)
        inner.line(self.writer.operation("spirv.mlir.merge", results))
        text = self.writer.operation(name, (), attributes, results)
        head, tail = text.split("()", 1)
        outer.line(f"{head}() ({{")
        outer.lines += inner.lines
        outer.line(f"}}){tail}")
        outer.labels |= inner.labels

    # --- instructions ---

    def _passed(self, source: Id, target: Id) -> list[Id]:
        """What a branch passes to the arguments of a block."""
        if target in self._again:
            return self._passed_on(target)
        renamed = self._again.get(source, {})
        return [
            renamed.get(value, value)
            for phi in self.blocks[target].phis
            for value, label in _arrivals(phi)
            if label is source
        ]

    def _passed_on(self, again: Id) -> list[Id]:
        """What the last block of a loop takes as arguments, to pass to the header.

        Upstream's serializer gives no number to a region's result that is passed to a
        block before it, because it replaces the result first (`processSelectionOp`).
        """
        (header,) = _ids(self.blocks[again].body[-1].operands)
        for phi in self.blocks[header].phis:
            for value, label in _arrivals(phi):
                if label is again and value in self._results:
                    alias = Id()
                    alias.definition = Instruction("OpPhi", (), value.type, alias)
                    self.writer.names[alias] = f"again.{self.writer.names[value]}"
                    self._again[again].setdefault(value, alias)
        return list(self._again[again])

    def _jump(self, source: Id, target: Id) -> str:
        middle = f"[^{self.writer.names[target]}]"
        passed = self._passed(source, target)
        return self.writer.operation("spirv.Branch", passed, {}, (), middle)

    def _branch(self, last: Instruction, label: Id, region: _Region) -> str:
        """The terminator of a block."""
        match (last.facts.name, *last.operands):
            case "OpBranch", Id() as target:
                self._ahead([target], region)
                return self._jump(label, target)
            case "OpBranchConditional", Id() as condition, Id() as yes, Id() as no:
                attributes, condition, targets = {}, condition, [yes, no]
            case "OpSwitch", Id() as condition, Id() as default, *cases:
                bits = width_of(condition.type)
                if bits != 32:
                    raise _lacks(f"OpSwitch of {bits} bits", "switch")
                targets = [default, *_ids(cases)]
                numbers = [str(each) for each in cases if isinstance(each, int)]
                counts = [len(self._passed(label, each)) for each in targets[1:]]
                literals = f"dense<[{', '.join(numbers)}]> : vector<{len(numbers)}xi32>"
                attributes = {"case_operand_segments": _array(counts)}
                if numbers:
                    attributes["literals"] = literals
            case _:
                return self._instruction(last)
        self._ahead(targets, region)
        passed = [self._passed(label, target) for target in targets]
        first, *others = map(len, passed)
        is_switch = last.facts.name == "OpSwitch"
        segments = [1, first, sum(others)]
        attributes["operandSegmentSizes"] = _array(segments)
        middle = ", ".join(f"^{self.writer.names[target]}" for target in targets)
        operands = [condition, *(id for ids in passed for id in ids)]
        name = "spirv.Switch" if is_switch else "spirv.BranchConditional"
        return self.writer.operation(name, operands, attributes, (), f"[{middle}]")

    def _ahead(self, targets: list[Id], region: _Region) -> None:
        for target in targets:
            if target not in region.labels and target not in self._headers:
                region.ahead[target] = None

    def _instruction(self, instruction: Instruction) -> str:
        opcode, result = instruction.facts.name, instruction.result
        results = () if result is None else (result,)
        if result is not None and _is_void(result.type):
            results = ()
        attributes = {} if result is None else self.writer.attributes_of(result)
        found = resolve_operands(instruction)
        found = found[instruction.facts.has_type + instruction.facts.has_result :]
        match opcode, found:
            case "OpExtInst", [Id() as imported, ExtendedInstruction(name=name), *rest]:
                assert imported.definition is not None, imported
                (instructions,) = imported.definition.operands
                prefix, has = EXTENDED[str(instructions)]
                if name in _EXPANDED and result is not None and prefix == "GL":
                    return self._expanded(_EXPANDED[name], _ids(rest), result)
                if name not in has:
                    raise _lacks(f"{name} of {instructions}", str(instructions))
                return self.writer.operation(
                    f"spirv.{prefix}.{name}", _ids(rest), attributes, results
                )
            case "OpFunctionCall", [Id() as callee, *rest]:
                attributes["callee"] = self.writer.symbol(callee)
                name = "spirv.FunctionCall"
                return self.writer.operation(name, _ids(rest), attributes, results)
            case "OpCooperativeMatrixLengthKHR", [Id() as type]:
                attributes["cooperative_matrix_type"] = self.writer.type(type)
                name = "spirv.KHR.CooperativeMatrixLength"
                return self.writer.operation(name, (), attributes, results)
            case "OpAtomicLoad", [Id() as place, *_] if result is not None and (
                _is_written(place, self.writer)
            ):
                return self._loaded(instruction, place, result)
            case "OpBitcast", _ if result is not None and _is_matrix(result.type):
                raise _lacks("OpBitcast of matrices", "bit cast")
            case _:
                name = _operation_name(opcode)
                operands = self._operands(instruction, found, attributes)
                return self.writer.operation(name, operands, attributes, results)

    def _expanded(self, by: str, given: list[Id], result: Id) -> str:
        """The operations in place of an instruction; all but truths are of its type."""
        name, type = self.writer.names[result], self.writer.type(result.type)
        truth = re.sub(r"(bf|f)\d+(?=>?$)", "i1", type)
        pairs = zip("ab", given, strict=False)
        values = {letter: (self.writer.value(id), type) for letter, id in pairs}
        lines: list[str] = []
        for each in by.split(";"):
            made, _, text = each.strip().rpartition(" = ")
            opcode, *operands = text.split()
            to = truth if opcode in _TRUTHS else type
            values[made] = (f"%{made}.{name}" if made else f"%{name}"), to
            inner = ", ".join(values[x][0] for x in operands)
            types = ", ".join(values[x][1] for x in operands)
            lines.append(
                f'{values[made][0]} = "spirv.{opcode}"({inner}) : ({types}) -> {to}'
            )
        return "\n    ".join(lines)

    def _loaded(self, load: Instruction, place: Id, result: Id) -> str:
        """An update that changes nothing in place of an atomic load."""
        name, type = self.writer.names[result], self.writer.type(result.type)
        attributes: Attributes = {}
        found = resolve_operands(load)[2:]
        self._operands(load, found, attributes)
        pairs = ", ".join(f"{key} = {value}" for key, value in attributes.items())
        pointer = self.writer.type(place.type)
        return (
            f'%zero.{name} = "spirv.Constant"() {{value = 0 : {type}}} : () -> {type}\n'
            f'    %{name} = "spirv.AtomicOr"({self.writer.value(place)}, %zero.{name}) '
            f"{{{pairs}}} : ({pointer}, {type}) -> {type}"
        )

    def _operands(
        self,
        instruction: Instruction,
        found: list[ResolvedOperand],
        attributes: Attributes,
    ) -> list[Id]:
        """The operands that are values; the others become attributes."""
        opcode, values = instruction.facts.name, list[Id]()
        parameters = instruction.facts.parameters
        numbers: list[int] = []
        names = _operand_names(opcode)
        for at, operand in enumerate(found):
            kind = parameters[min(at, len(parameters) - 1)].kinds[0]
            if _LAYOUT_AT.get(opcode) == at:
                kind = "CooperativeMatrixLayout"
            kind = kind.removeprefix("Id")
            match operand:
                case Id() if kind in names:
                    chosen = _enumerant(kind, self.writer.chosen(kind, operand))
                    attributes[names[kind].pop()] = chosen
                case Id():
                    values.append(operand)
                case Selected(members=members):
                    chosen = "|".join(each.name for each in members) or "None"
                    if "MakePointer" in chosen:
                        accessed = "matrix" if "Cooperative" in opcode else "memory"
                        raise _lacks(f"the scope of {chosen}", f"{accessed} access")
                    key = _KEYS.get((kind, opcode[:8])) or _snake(kind)
                    attributes[key] = _enumerant(kind, chosen)
                case _ if kind == "MemoryAccess":
                    attributes["alignment"] = f"{operand} : i32"
                case _:
                    assert isinstance(operand, int), operand
                    numbers.append(operand)
        if numbers:
            key = "components" if opcode == "OpVectorShuffle" else "indices"
            attributes[key] = f"[{', '.join(f'{n} : i32' for n in numbers)}]"
        return values


def _is_written(place: Id, writer: _Writer) -> bool:
    """Whether a place of integers in memory may be written."""
    whole = place
    while (chain := whole.definition) and chain.facts.name.endswith("Chain"):
        (whole, *_) = _ids(chain.operands)
    flags = writer.attributes_of(whole)
    pointer = place.type.definition
    assert pointer is not None, place
    (pointee,) = _ids(pointer.operands)
    return "non_writable" not in flags and writer.type(pointee).startswith("i")


def _operand_names(opcode: str) -> dict[str, list[str]]:
    """The names of operands that are attributes, by their kind, the last one first."""
    semantics, scopes = ["memory_semantics"], ["memory_scope"]
    if opcode.startswith("OpAtomicCompare"):
        semantics = ["unequal_semantics", "equal_semantics"]
    elif opcode.startswith("OpAtomic"):
        semantics = ["semantics"]
    if opcode.startswith(("OpControl", "OpGroup")):
        scopes.append("execution_scope")
    layouts = ["matrix_layout"]
    return {
        "MemorySemantics": semantics,
        "Scope": scopes,
        "CooperativeMatrixLayout": layouts,
    }


_KEYS = {
    ("CooperativeMatrixOperands", "OpCooper"): "matrix_operands",
    ("MemoryAccess", "OpCooper"): "memory_operand",
}
"""Names of operands that differ from those of their kind."""


def _array(counts: Iterable[int]) -> str:
    inner = ", ".join(map(str, counts))
    return f"array<i32: {inner}>" if inner else "array<i32>"


def _number_type(type: Instruction) -> str | None:
    """The text of a scalar type, or of none at all."""
    match (type.facts.name, *type.operands):
        case "OpTypeVoid", *_:
            return "()"
        case "OpTypeBool", *_:
            return "i1"
        case "OpTypeInt", int(bits), signed:
            return f"si{bits}" if signed else f"i{bits}"
        case "OpTypeFloat", int(bits):
            return f"f{bits}"
        case "OpTypeFloat", _, "BFloat16KHR":
            return "bf16"
        case _:
            return None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _ids(operands: Iterable[object]) -> list[Id]:
    return [operand for operand in operands if isinstance(operand, Id)]


def _arrivals(phi: Instruction) -> list[tuple[Id, Id]]:
    ids = _ids(phi.operands)
    return list(zip(ids[::2], ids[1::2], strict=True))


def _is_void(type: Id) -> bool:
    return type.definition is not None and type.definition.facts.name == "OpTypeVoid"


def _is_matrix(type: Id) -> bool:
    return type.definition is not None and type.definition.facts.name == _MATRIX


def _is_integer(type: Instruction) -> bool:
    """Whether a number, vector or matrix type is one of integers."""
    while type.operands and isinstance(type.operands[0], Id):
        assert type.operands[0].definition is not None, type
        type = type.operands[0].definition
    return type.facts.name != "OpTypeFloat"


def _bits(id: Id) -> str:
    """The number of a scalar constant, floats by their bits."""
    definition, type = id.definition, id.type.definition
    assert definition is not None, id
    assert type is not None, id
    match (definition.facts.name, *definition.operands):
        case "OpConstantTrue", *_:
            return "true"
        case "OpConstantFalse", *_:
            return "false"
        case _, int(bits):
            if type.facts.name == "OpTypeFloat":
                return f"{bits:#0{2 + width_of(id.type) // 4}x}"
            return Literal(bits, id.type).text
        case opcode, *_:
            raise _lacks(f"{opcode} in a composite", "constant")
