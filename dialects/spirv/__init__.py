"""The `spirv` dialect: that of upstream MLIR, as tools of LLVM 22 print it.

xDSL has none.  `_FORMS` is the one table of its operations: their names, what they take
and what their text is.  `mlir-opt` verifies the rest.  `convert-spirv-to-coopmatrix`
reads them, and `-t mlir-spirv` (`coopc.emit.spirv.mlir_spirv`) makes them of SPIR-V.

```mlir
%p = "test.op"() : () -> !spirv.ptr<f32, StorageBuffer>
%x = spirv.Load "StorageBuffer" %p : f32
%y = spirv.FAdd %x, %x : f32
```
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnregisteredAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.dialects.cf import SwitchOpCases
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    AnyAttr,
    AttrConstraint,
    AttrSizedOperandSegments,
    EqAttrConstraint,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.traits import IsTerminator, NoTerminator, OpTrait
from xdsl.utils.exceptions import VerifyException

from coopc.dialects.constraints import Inferred
from coopc.dialects.narrow import is_vector
from coopc.dialects.spirv import custom
from coopc.dialects.spirv.custom import SpirvOp, name_of
from coopc.dialects.spirv.types import (
    ENUMERANTS,
    ArrayType,
    CooperativeMatrixType,
    Enumerants,
    PointerType,
    RuntimeArrayType,
    StructType,
    enumerants,
)

__all__ = [
    "FIELDS",
    "OPERATIONS",
    "ArrayType",
    "CooperativeMatrixType",
    "Enumerants",
    "PointerType",
    "RuntimeArrayType",
    "Spirv",
    "SpirvOp",
    "StructType",
    "name_of",
    "opaque",
]

_T = VarConstraint("T", AnyAttr())
_P = VarConstraint("P", base(PointerType))


def _truth(type: Attribute) -> Attribute:
    return VectorType(i1, type.get_shape()) if is_vector(type) else i1


def _part(type: Attribute, indices: ArrayAttr[IntegerAttr]) -> Attribute:
    """The type of a part of a composite.

    Raises:
        VerifyException: it has no such part.
    """
    for index in indices:
        at = index.value.data
        match type:
            case StructType() if at < len(type.members):
                type = type.members.data[at]
            case ArrayType() | RuntimeArrayType() | CooperativeMatrixType():
                type = type.element
            case _ if is_vector(type):
                type = type.element_type
            case _:
                raise VerifyException(f"expected a composite with a part {at}")
    return type


_TYPES: dict[str, AttrConstraint] = {
    "": AnyAttr(),
    "T": _T,
    "part": Inferred("T indices", _part),
    "truth": Inferred("T", _truth),
    "vector": VarConstraint("V", base(VectorType)),
    "component": Inferred("V", lambda vector: vector.element_type),
    "struct": VarConstraint("S", base(StructType)),
    "member": Inferred("S", lambda struct: struct.members.data[0]),
    "P": _P,
    "pointee": Inferred("P", lambda pointer: pointer.pointee),
    "i1": EqAttrConstraint(i1),
    "i32": EqAttrConstraint(i32),
}
"""What fields may be: those of one type, and those whose types follow from another."""
_PROPERTIES: dict[str, AttrConstraint] = {
    **dict.fromkeys(("execution_scope", "memory_scope"), enumerants("scope")),
    **dict.fromkeys(
        ("semantics", "equal_semantics", "unequal_semantics", "memory_semantics"),
        enumerants("memory_semantics"),
    ),
    "matrix_layout": enumerants("coop_matrix_layout_khr"),
    "matrix_operands": enumerants("cooperative_matrix_operands_khr"),
    "memory_operand": enumerants("memory_access"),
    "alignment": IntegerAttr.constr(i32),
    **dict.fromkeys(("binding", "descriptor_set"), IntegerAttr.constr(i32)),
    "indices": VarConstraint("indices", base(ArrayAttr)),
    **dict.fromkeys(("components", "constituents"), base(ArrayAttr)),
    **dict.fromkeys(("branch_weights", "interface", "values"), base(ArrayAttr)),
    "case_operand_segments": base(DenseArrayBase),
    "literals": base(DenseIntOrFPElementsAttr),
    "sym_name": SymbolNameConstraint(),
    "built_in": base(StringAttr),
    **dict.fromkeys(("callee", "fn", "initializer"), base(SymbolRefAttr)),
    **dict.fromkeys(("spec_const", "variable"), base(SymbolRefAttr)),
    **dict.fromkeys(("cooperative_matrix_type", "type"), AnyAttr()),
    **dict.fromkeys(("linkage_attributes", "vce_triple"), AnyAttr()),
    **{
        kind: enumerants(kind)
        for kind in (
            *("addressing_model", "memory_model", "execution_model"),
            *("execution_mode", "group_operation", "storage_class"),
        )
    },
}
"""The fields that are attributes."""


class _Form(NamedTuple):
    names: str
    """Of the operations."""
    fields: str
    """Operands and attributes in the order of the binary, `->` the result.

    One is optional with `?`, any number with `*`; `:` and one of `_TYPES` follow.
    `^` is a block that control goes to, `{}` a region."""
    text: str | type[SpirvOp]
    """What follows a name, or the class that parses and prints it."""
    traits: tuple[OpTrait, ...] = ()


_FORMS = (
    _Form(
        """
      FAdd FSub FMul FDiv FMod FRem FNegate IAdd ISub IMul SDiv UDiv SMod SRem UMod
      SNegate BitwiseAnd BitwiseOr BitwiseXor Not BitCount BitReverse LogicalAnd
      LogicalOr LogicalNot LogicalEqual LogicalNotEqual
      GL.Acos GL.Acosh GL.Asin GL.Asinh GL.Atan GL.Atanh GL.Ceil GL.Cos GL.Cosh GL.Exp
      GL.Exp2 GL.FAbs GL.FSign GL.Floor GL.Fract GL.InverseSqrt GL.Log GL.Log2
      GL.Normalize GL.Round GL.RoundEven GL.Sin GL.Sinh GL.Sqrt GL.Tan GL.Tanh GL.Cross
      GL.FMax GL.FMin GL.Pow GL.Reflect GL.FClamp GL.Fma GL.FindILsb GL.FindSMsb
      GL.FindUMsb GL.SAbs GL.SSign GL.SClamp GL.UClamp GL.SMax GL.SMin GL.UMax GL.UMin
      CL.acos CL.acosh CL.asin CL.asinh CL.atan CL.atanh CL.ceil CL.cos CL.cosh CL.erf
      CL.exp CL.fabs CL.floor CL.log CL.rint CL.round CL.rsqrt CL.sin CL.sinh CL.sqrt
      CL.tan CL.tanh CL.atan2 CL.fmax CL.fmin CL.pow CL.fma CL.mix CL.s_abs CL.s_max
      CL.s_min CL.u_max CL.u_min
    """,
        "arguments*:T -> result:T",
        "$arguments attr-dict `:` type($result)",
    ),
    _Form(
        """
      IEqual INotEqual SGreaterThan SGreaterThanEqual SLessThan SLessThanEqual
      UGreaterThan UGreaterThanEqual ULessThan ULessThanEqual FOrdEqual FOrdGreaterThan
      FOrdGreaterThanEqual FOrdLessThan FOrdLessThanEqual FOrdNotEqual FUnordEqual
      FUnordGreaterThan FUnordGreaterThanEqual FUnordLessThan FUnordLessThanEqual
      FUnordNotEqual Ordered Unordered
    """,
        "a:T b:T -> result:truth",
        "$a `,` $b attr-dict `:` type($a)",
    ),
    _Form(
        "IsFinite IsInf IsNan",
        "value:T -> result:truth",
        "$value attr-dict `:` type($value)",
    ),
    _Form(
        """
      Bitcast ConvertFToS ConvertFToU ConvertSToF ConvertUToF ConvertPtrToU
      ConvertUToPtr FConvert SConvert UConvert GenericCastToPtr GenericCastToPtrExplicit
      PtrCastToGeneric INTEL.ConvertBF16ToF INTEL.ConvertFToBF16
    """,
        "value -> result",
        "$value attr-dict `:` type($value) `to` type($result)",
    ),
    _Form(
        """
      GL.Distance GL.FrexpStruct GL.Length GL.PackHalf2x16 GL.PackSnorm4x8
      GL.UnpackHalf2x16 GL.UnpackSnorm4x8 INTEL.SubgroupBlockRead
    """,
        "arguments* -> result",
        "$arguments attr-dict `:` type($arguments) `->` type($result)",
    ),
    _Form(
        "GL.FMix GL.Ldexp",
        "a b c? -> result",
        "$a `:` type($a) `,` $b `:` type($b) (`,` $c^ `:` type($c))? attr-dict "
        "`->` type($result)",
    ),
    _Form(
        "MatrixTimesScalar ShiftLeftLogical ShiftRightArithmetic ShiftRightLogical",
        "a:T b -> result:T",
        "$a `,` $b attr-dict `:` type($a) `,` type($b)",
    ),
    _Form(
        "CompositeConstruct VectorTimesScalar",
        "arguments* -> result",
        "$arguments attr-dict `:` `(` type($arguments) `)` `->` type($result)",
    ),
    _Form(
        "Dot",
        "a:T b:T -> result",
        "$a `,` $b attr-dict `:` type($a) `->` type($result)",
    ),
    _Form(
        "IAddCarry ISubBorrow SMulExtended UMulExtended",
        "a:member b:member -> result:struct",
        "$a `,` $b attr-dict `:` type($result)",
    ),
    _Form(
        "BitFieldSExtract BitFieldUExtract",
        "value:T offset count -> result:T",
        "$value `,` $offset `,` $count attr-dict `:` type($value) `,` "
        "type($offset) `,` type($count)",
    ),
    _Form(
        "BitFieldInsert",
        "value:T inserted:T offset count -> result:T",
        "$value `,` $inserted `,` $offset `,` $count attr-dict `:` type($value) "
        "`,` type($offset) `,` type($count)",
    ),
    _Form(
        "Select",
        "condition yes:T no:T -> result:T",
        "$condition `,` $yes `,` $no attr-dict `:` type($condition) `,` type($yes)",
    ),
    _Form("Undef", "-> result", "attr-dict `:` type($result)"),
    _Form(
        "KHR.CooperativeMatrixLength",
        "cooperative_matrix_type -> result:i32",
        "attr-dict `:` $cooperative_matrix_type",
    ),
    _Form(
        """
      AtomicAnd AtomicExchange AtomicIAdd AtomicIDecrement AtomicIIncrement AtomicISub
      AtomicOr AtomicSMax AtomicSMin AtomicUMax AtomicUMin AtomicXor EXT.AtomicFAdd
    """,
        "pointer:P memory_scope semantics value?:pointee -> result:pointee",
        "$memory_scope $semantics $pointer (`,` $value^)? attr-dict `:` type($pointer)",
    ),
    _Form(
        "AtomicCompareExchange AtomicCompareExchangeWeak",
        "pointer:P memory_scope equal_semantics unequal_semantics value:pointee "
        "comparator:pointee -> result:pointee",
        "$memory_scope $equal_semantics $unequal_semantics $pointer `,` $value "
        "`,` $comparator attr-dict `:` type($pointer)",
    ),
    _Form(
        "AccessChain InBoundsPtrAccessChain PtrAccessChain",
        "pointer steps* -> result",
        "$pointer `[` $steps `]` attr-dict `:` type($pointer) `,` type($steps) `->` "
        "type($result)",
    ),
    _Form(
        "KHR.CooperativeMatrixLoad",
        "pointer matrix_layout stride memory_operand? alignment? -> result",
        "$pointer `,` $stride `,` $matrix_layout (`,` $memory_operand^)? (`,` "
        "$alignment^)? attr-dict `:` type($pointer) `,` type($stride) `->` "
        "type($result)",
    ),
    _Form(
        "KHR.CooperativeMatrixStore",
        "pointer object matrix_layout stride memory_operand? alignment?",
        "$pointer `,` $object `,` $stride `,` $matrix_layout (`,` "
        "$memory_operand^)? (`,` $alignment^)? attr-dict `:` type($pointer) `,` "
        "type($object) `,` type($stride)",
    ),
    _Form(
        "KHR.CooperativeMatrixMulAdd",
        "a b c:T matrix_operands? -> result:T",
        "$a `,` $b `,` $c (`,` $matrix_operands^)? attr-dict `:` type($a) `,` "
        "type($b) `->` type($c)",
    ),
    _Form(
        """
      GroupFAdd GroupFMax GroupFMin GroupIAdd GroupSMax GroupSMin GroupUMax GroupUMin
    """,
        "execution_scope group_operation value:T -> result:T",
        "$execution_scope $group_operation $value attr-dict `:` type($value)",
    ),
    _Form(
        """
      GroupNonUniformBallotBitCount GroupNonUniformBitwiseAnd GroupNonUniformBitwiseOr
      GroupNonUniformBitwiseXor GroupNonUniformFAdd GroupNonUniformFMax
      GroupNonUniformFMin GroupNonUniformFMul GroupNonUniformIAdd GroupNonUniformIMul
      GroupNonUniformLogicalAnd GroupNonUniformLogicalOr GroupNonUniformLogicalXor
      GroupNonUniformSMax GroupNonUniformSMin GroupNonUniformUMax GroupNonUniformUMin
    """,
        "execution_scope group_operation value cluster_size? -> result",
        "$execution_scope $group_operation $value (`cluster_size` `(` "
        "$cluster_size^ `)`)? attr-dict `:` type($value) (`,` "
        "type($cluster_size)^)? `->` type($result)",
    ),
    _Form(
        """
      GroupBroadcast GroupNonUniformBroadcast GroupNonUniformShuffle
      GroupNonUniformShuffleDown GroupNonUniformShuffleUp GroupNonUniformShuffleXor
    """,
        "execution_scope value:T lane -> result:T",
        "$execution_scope $value `,` $lane attr-dict `:` type($value) `,` type($lane)",
    ),
    _Form(
        "GroupNonUniformBallot GroupNonUniformElect",
        "execution_scope predicate?:i1 -> result",
        "$execution_scope ($predicate^)? attr-dict `:` type($result)",
    ),
    _Form(
        "GroupNonUniformBallotFindLSB GroupNonUniformBallotFindMSB",
        "execution_scope value -> result",
        "$execution_scope $value attr-dict `:` type($value) `,` type($result)",
    ),
    _Form(
        "ControlBarrier",
        "execution_scope memory_scope memory_semantics",
        "$execution_scope `,` $memory_scope `,` $memory_semantics attr-dict",
    ),
    _Form(
        "INTEL.ControlBarrierArrive INTEL.ControlBarrierWait",
        "execution_scope memory_scope memory_semantics",
        "$execution_scope $memory_scope $memory_semantics attr-dict",
    ),
    _Form(
        "MemoryBarrier",
        "memory_scope memory_semantics",
        "$memory_scope `,` $memory_semantics attr-dict",
    ),
    _Form(
        "VectorShuffle",
        "a b components -> result",
        "$components $a `,` $b attr-dict `:` type($a) `,` type($b) `->` type($result)",
    ),
    _Form(
        "VectorExtractDynamic",
        "vector:vector index -> result:component",
        "$vector `[` $index `]` attr-dict `:` type($vector) `,` type($index)",
    ),
    _Form(
        "VectorInsertDynamic",
        "vector:vector component:component index -> result:vector",
        "$component `,` $vector `[` $index `]` attr-dict `:` type($vector) `,` "
        "type($index)",
    ),
    _Form(
        "CompositeInsert",
        "object composite:T indices -> result:T",
        "$object `,` $composite `` $indices attr-dict `:` type($object) `into` "
        "type($composite)",
    ),
    _Form(
        "Branch",
        "^target arguments*",
        "$target (`(` $arguments^ `:` type($arguments) `)`)? attr-dict",
        (IsTerminator(),),
    ),
    _Form(
        "Kill Return ReturnValue Unreachable mlir.merge mlir.yield",
        "arguments*",
        "($arguments^ `:` type($arguments))? attr-dict",
        (IsTerminator(),),
    ),
    _Form(
        "FunctionCall",
        "callee arguments* -> result?",
        "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)",
    ),
    _Form(
        "mlir.addressof",
        "variable -> result",
        "$variable attr-dict `:` type($result)",
    ),
    _Form(
        "mlir.referenceof",
        "spec_const -> result",
        "$spec_const attr-dict `:` type($result)",
    ),
    _Form(
        "CompositeExtract",
        "composite:T indices -> result:part",
        "$composite `` $indices attr-dict `:` type($composite)",
    ),
    _Form(
        "Variable",
        "storage_class start?:pointee -> result:P",
        "(`init` `(` $start^ `)`)? attr-dict `:` "
        "custom<PointerTo>($storage_class, type($result))",
    ),
    _Form(
        "GlobalVariable",
        "sym_name initializer? descriptor_set? binding? built_in? "
        "linkage_attributes? type",
        "$sym_name (`initializer` `(` $initializer^ `)`)? (`bind` `(` $descriptor_set^ "
        "`,` $binding `)`)? (`built_in` `(` $built_in^ `)`)? attr-dict `:` $type",
    ),
    _Form(
        "SpecConstantComposite",
        "sym_name type constituents",
        "$sym_name `(` custom<Listed>($constituents) `)` attr-dict `:` $type",
    ),
    _Form(
        "EntryPoint",
        "execution_model fn interface",
        "custom<Quoted>($execution_model) $fn (`,` custom<Listed>($interface)^)? "
        "attr-dict",
    ),
    _Form(
        "ExecutionMode",
        "fn execution_mode values",
        "$fn custom<Quoted>($execution_mode) (`,` custom<Listed>($values)^)? attr-dict",
    ),
    _Form(
        "module",
        "sym_name? addressing_model memory_model vce_triple? {body}",
        "($sym_name^)? custom<Plain>($addressing_model) custom<Plain>($memory_model) "
        "(`requires` $vce_triple^)? attr-dict-with-keyword $body",
        (NoTerminator(),),
    ),
    _Form(
        "Load Store INTEL.SubgroupBlockWrite",
        "pointer object? memory_access? alignment?",
        custom.Access,
    ),
    _Form(
        "BranchConditional",
        "condition:i1 if_true* if_false* branch_weights? ^yes ^no",
        "$condition (`[` custom<Listed>($branch_weights)^ `]`)? `,` "
        "custom<Way>($yes, $if_true, type($if_true)) `,` "
        "custom<Way>($no, $if_false, type($if_false)) attr-dict",
        (IsTerminator(),),
    ),
    _Form(
        "Switch",
        "selector if_default* in_cases* case_operand_segments literals? ^default "
        "^*cases",
        "$selector `:` custom<AnInteger>(type($selector)) `,` `[` `\\n` "
        "custom<SwitchOpCases>(ref(type($selector)), $default, $if_default, "
        "type($if_default), $literals, $cases, $in_cases, $case_operand_segments, "
        "type($in_cases)) `\\n` `]` attr-dict",
        (IsTerminator(),),
    ),
    _Form("mlir.loop mlir.selection", "", custom.Structured),
    _Form("func", "", custom.Func),
    _Form("SpecConstant", "", custom.SpirvSpecConstant),
    _Form("SpecConstantOperation", "", custom.SpecOperation),
    _Form("Constant", "", custom.SpirvConstant),
)


class FormField(NamedTuple):
    """An operand, an attribute, a successor or a result of an operation."""

    name: str
    quantifier: str
    """`?` for optional, `*` for any number, else a key of `_OTHERS`."""
    type: str
    """One of `_TYPES`."""


def _fields(text: str) -> tuple[FormField, ...]:
    found = re.findall(r"([\^{]?\*?)(\w+)([?*]?):?(\w*)", text)
    return tuple(
        FormField(name, mark + often, kind) for mark, name, often, kind in found
    )


def _operations(names: str, form: type[SpirvOp]) -> Iterator[type[SpirvOp]]:
    """The operations of a form, which has one definition."""
    first, *others = (f"spirv.{name}" for name in names.split())
    defined = irdl_op_definition(type(first, (form,), {"name": first}))
    yield defined
    for name in others:
        yield type(name, (defined,), {"name": name})


_DIRECTIVES = (
    *(custom.AnInteger, custom.Listed, custom.Plain, custom.PointerTo, custom.Quoted),
    *(SwitchOpCases, custom.Way),
)
_OTHERS: dict[str, Callable[[], Any]] = {
    "^": successor_def,
    "^*": var_successor_def,
    "{": region_def,
}
"""Blocks and regions."""
_OPERANDS: dict[str, Callable[..., Any]] = {
    "": operand_def,
    "?": opt_operand_def,
    "*": var_operand_def,
}


def _declared(form: _Form) -> type[SpirvOp]:
    """The class of the operations of a form."""
    if not isinstance(form.text, str):
        return form.text
    made: dict[str, Any] = {
        "assembly_format": form.text,
        "custom_directives": _DIRECTIVES,
    }
    if form.fields.count("*") > 1:
        sizes = AttrSizedOperandSegments(as_property=True)
        made["irdl_options"] = (sizes, *SpirvOp.irdl_options)
    before, _, after = form.fields.partition("->")
    for field in _fields(before):
        if (attribute := _PROPERTIES.get(field.name)) is not None:
            define = opt_prop_def if field.quantifier else prop_def
            made[field.name] = define(attribute)
        elif field.quantifier in _OTHERS:
            made[field.name] = _OTHERS[field.quantifier]()
        else:
            made[field.name] = _OPERANDS[field.quantifier](_TYPES[field.type])
    for field in _fields(after):
        define = opt_result_def if field.quantifier else result_def
        made[field.name] = define(_TYPES[field.type])
    if form.traits:
        made["traits"] = traits_def(*form.traits)
    return type("Declared", (SpirvOp,), made)


OPERATIONS = {
    op.name: op for form in _FORMS for op in _operations(form.names, _declared(form))
}
"""By their names."""
FIELDS = {
    f"spirv.{name}": _fields(form.fields.partition("->")[0])
    for form in _FORMS
    for name in form.names.split()
}
"""What an operation takes, in the order of the binary."""


_OPAQUE = {
    name: irdl_attr_definition(init=False)(
        type(name, (UnregisteredAttr,), {"name": f"spirv.{name}"})
    )
    for name in ("vce", "target_env", "resource_limits", "entry_point_abi")
}
"""Attributes that are kept as text."""


def opaque(name: str, text: str) -> Attribute:
    """Return an attribute that is kept as text."""
    return _OPAQUE[name](f"spirv.{name}", False, False, text)


Spirv = Dialect(
    "spirv",
    [*OPERATIONS.values()],
    [
        *(PointerType, ArrayType, RuntimeArrayType, StructType),
        CooperativeMatrixType,
        *_OPAQUE.values(),
        *ENUMERANTS.values(),
    ],
)
