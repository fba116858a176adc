"""Upstream MLIR's `spirv` dialect, as tools of LLVM 22 print it.

xDSL has none.  `_DECLARED` and `_CUSTOM` list the operations by the form of their text,
which is upstream's own or the generic one; `mlir-opt` verifies what they take.
`convert-spirv-to-coopmatrix` reads them, and `-t mlir-spirv` prints such text
(`coopc.spirv.mlir`), in generic form.

```mlir
%p = "test.op"() : () -> !spirv.ptr<f32, StorageBuffer>
%x = spirv.Load "StorageBuffer" %p : f32
%y = spirv.FAdd %x, %x : f32
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    SymbolRefAttr,
    UnregisteredAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    AnyAttr,
    RangeOf,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator

from coopc.dialects.constraints import Inferred
from coopc.dialects.narrow import is_vector
from coopc.dialects.spirv import custom
from coopc.dialects.spirv.custom import SpirvOp
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
    "OPERATIONS",
    "ArrayType",
    "CooperativeMatrixType",
    "Enumerants",
    "PointerType",
    "RuntimeArrayType",
    "Spirv",
    "SpirvOp",
    "StructType",
]

_OPAQUE = ("vce", "target_env", "resource_limits", "entry_point_abi")
"""Attributes that are kept as text."""

_T = VarConstraint("T", AnyAttr())
_VECTOR = VarConstraint("T", base(VectorType))
_STRUCT = VarConstraint("T", base(StructType))
_P = VarConstraint("P", base(PointerType))
_POINTEE = Inferred("P", lambda pointer: pointer.pointee)


def _truth(type: Attribute) -> Attribute:
    return VectorType(i1, type.get_shape()) if is_vector(type) else i1


def _component(type: VectorType) -> Attribute:
    return type.element_type


def _member(type: StructType) -> Attribute:
    return type.members.data[0]


_DECLARED: list[tuple[str, str, dict[str, Any]]] = [
    (
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
        "$arguments attr-dict `:` type($result)",
        {"arguments": var_operand_def(RangeOf(_T)), "result": result_def(_T)},
    ),
    (
        """
      IEqual INotEqual SGreaterThan SGreaterThanEqual SLessThan SLessThanEqual
      UGreaterThan UGreaterThanEqual ULessThan ULessThanEqual FOrdEqual FOrdGreaterThan
      FOrdGreaterThanEqual FOrdLessThan FOrdLessThanEqual FOrdNotEqual FUnordEqual
      FUnordGreaterThan FUnordGreaterThanEqual FUnordLessThan FUnordLessThanEqual
      FUnordNotEqual Ordered Unordered
    """,
        "$a `,` $b attr-dict `:` type($a)",
        {
            "a": operand_def(_T),
            "b": operand_def(_T),
            "result": result_def(Inferred("T", _truth)),
        },
    ),
    (
        "IsFinite IsInf IsNan",
        "$value attr-dict `:` type($value)",
        {"value": operand_def(_T), "result": result_def(Inferred("T", _truth))},
    ),
    (
        """
      Bitcast ConvertFToS ConvertFToU ConvertSToF ConvertUToF ConvertPtrToU
      ConvertUToPtr FConvert SConvert UConvert GenericCastToPtr GenericCastToPtrExplicit
      PtrCastToGeneric INTEL.ConvertBF16ToF INTEL.ConvertFToBF16
    """,
        "$value attr-dict `:` type($value) `to` type($result)",
        {"value": operand_def(), "result": result_def()},
    ),
    (
        """
      GL.Distance GL.FrexpStruct GL.Length GL.PackHalf2x16 GL.PackSnorm4x8
      GL.UnpackHalf2x16 GL.UnpackSnorm4x8 INTEL.SubgroupBlockRead
    """,
        "$arguments attr-dict `:` type($arguments) `->` type($result)",
        {"arguments": var_operand_def(), "result": result_def()},
    ),
    (
        "GL.FMix GL.Ldexp",
        "$a `:` type($a) `,` $b `:` type($b) (`,` $c^ `:` type($c))? attr-dict "
        "`->` type($result)",
        {
            "a": operand_def(),
            "b": operand_def(),
            "c": opt_operand_def(),
            "result": result_def(),
        },
    ),
    (
        """
      MatrixTimesScalar ShiftLeftLogical ShiftRightArithmetic ShiftRightLogical
    """,
        "$a `,` $b attr-dict `:` type($a) `,` type($b)",
        {"a": operand_def(_T), "b": operand_def(), "result": result_def(_T)},
    ),
    (
        "CompositeConstruct VectorTimesScalar",
        "$arguments attr-dict `:` `(` type($arguments) `)` `->` type($result)",
        {"arguments": var_operand_def(), "result": result_def()},
    ),
    (
        "Dot",
        "$a `,` $b attr-dict `:` type($a) `->` type($result)",
        {"a": operand_def(_T), "b": operand_def(_T), "result": result_def()},
    ),
    (
        "IAddCarry ISubBorrow SMulExtended UMulExtended",
        "$a `,` $b attr-dict `:` type($result)",
        {
            "a": operand_def(Inferred("T", _member)),
            "b": operand_def(Inferred("T", _member)),
            "result": result_def(_STRUCT),
        },
    ),
    (
        "BitFieldSExtract BitFieldUExtract",
        "$value `,` $offset `,` $count attr-dict `:` type($value) `,` "
        "type($offset) `,` type($count)",
        {
            "value": operand_def(_T),
            "offset": operand_def(),
            "count": operand_def(),
            "result": result_def(_T),
        },
    ),
    (
        "BitFieldInsert",
        "$value `,` $inserted `,` $offset `,` $count attr-dict `:` type($value) "
        "`,` type($offset) `,` type($count)",
        {
            "value": operand_def(_T),
            "inserted": operand_def(_T),
            "offset": operand_def(),
            "count": operand_def(),
            "result": result_def(_T),
        },
    ),
    (
        "Select",
        "$condition `,` $yes `,` $no attr-dict `:` type($condition) `,` type($yes)",
        {
            "condition": operand_def(),
            "yes": operand_def(_T),
            "no": operand_def(_T),
            "result": result_def(_T),
        },
    ),
    (
        "Undef",
        "attr-dict `:` type($result)",
        {"result": result_def()},
    ),
    (
        "KHR.CooperativeMatrixLength",
        "attr-dict `:` $cooperative_matrix_type",
        {"cooperative_matrix_type": prop_def(), "result": result_def(i32)},
    ),
    (
        """
      AtomicAnd AtomicExchange AtomicIAdd AtomicIDecrement AtomicIIncrement AtomicISub
      AtomicOr AtomicSMax AtomicSMin AtomicUMax AtomicUMin AtomicXor EXT.AtomicFAdd
    """,
        "$memory_scope $semantics $pointer (`,` $value^)? attr-dict `:` type($pointer)",
        {
            "memory_scope": prop_def(enumerants("scope")),
            "semantics": prop_def(enumerants("memory_semantics")),
            "pointer": operand_def(_P),
            "value": opt_operand_def(_POINTEE),
            "result": result_def(_POINTEE),
        },
    ),
    (
        "AtomicCompareExchange AtomicCompareExchangeWeak",
        "$memory_scope $equal_semantics $unequal_semantics $pointer `,` $value "
        "`,` $comparator attr-dict `:` type($pointer)",
        {
            "memory_scope": prop_def(enumerants("scope")),
            "equal_semantics": prop_def(enumerants("memory_semantics")),
            "unequal_semantics": prop_def(enumerants("memory_semantics")),
            "pointer": operand_def(_P),
            "value": operand_def(_POINTEE),
            "comparator": operand_def(_POINTEE),
            "result": result_def(_POINTEE),
        },
    ),
    (
        "AccessChain InBoundsPtrAccessChain PtrAccessChain",
        "$pointer `[` $indices `]` attr-dict `:` type($pointer) `,` "
        "type($indices) `->` type($result)",
        {
            "pointer": operand_def(),
            "indices": var_operand_def(),
            "result": result_def(),
        },
    ),
    (
        "KHR.CooperativeMatrixLoad",
        "$pointer `,` $stride `,` $matrix_layout (`,` $memory_operand^)? (`,` "
        "$alignment^)? attr-dict `:` type($pointer) `,` type($stride) `->` "
        "type($result)",
        {
            "pointer": operand_def(),
            "stride": operand_def(),
            "matrix_layout": prop_def(enumerants("coop_matrix_layout_khr")),
            "memory_operand": opt_prop_def(enumerants("memory_access")),
            "alignment": opt_prop_def(IntegerAttr.constr(i32)),
            "result": result_def(),
        },
    ),
    (
        "KHR.CooperativeMatrixStore",
        "$pointer `,` $object `,` $stride `,` $matrix_layout (`,` "
        "$memory_operand^)? (`,` $alignment^)? attr-dict `:` type($pointer) `,` "
        "type($object) `,` type($stride)",
        {
            "pointer": operand_def(),
            "object": operand_def(),
            "stride": operand_def(),
            "matrix_layout": prop_def(enumerants("coop_matrix_layout_khr")),
            "memory_operand": opt_prop_def(enumerants("memory_access")),
            "alignment": opt_prop_def(IntegerAttr.constr(i32)),
        },
    ),
    (
        "KHR.CooperativeMatrixMulAdd",
        "$a `,` $b `,` $c (`,` $matrix_operands^)? attr-dict `:` type($a) `,` "
        "type($b) `->` type($c)",
        {
            "a": operand_def(),
            "b": operand_def(),
            "c": operand_def(_T),
            "matrix_operands": opt_prop_def(
                enumerants("cooperative_matrix_operands_khr")
            ),
            "result": result_def(_T),
        },
    ),
    (
        """
      GroupFAdd GroupFMax GroupFMin GroupIAdd GroupSMax GroupSMin GroupUMax GroupUMin
    """,
        "$execution_scope $group_operation $value attr-dict `:` type($value)",
        {
            "execution_scope": prop_def(enumerants("scope")),
            "group_operation": prop_def(enumerants("group_operation")),
            "value": operand_def(_T),
            "result": result_def(_T),
        },
    ),
    (
        """
      GroupNonUniformBallotBitCount GroupNonUniformBitwiseAnd GroupNonUniformBitwiseOr
      GroupNonUniformBitwiseXor GroupNonUniformFAdd GroupNonUniformFMax
      GroupNonUniformFMin GroupNonUniformFMul GroupNonUniformIAdd GroupNonUniformIMul
      GroupNonUniformLogicalAnd GroupNonUniformLogicalOr GroupNonUniformLogicalXor
      GroupNonUniformSMax GroupNonUniformSMin GroupNonUniformUMax GroupNonUniformUMin
    """,
        "$execution_scope $group_operation $value (`cluster_size` `(` "
        "$cluster_size^ `)`)? attr-dict `:` type($value) (`,` "
        "type($cluster_size)^)? `->` type($result)",
        {
            "execution_scope": prop_def(enumerants("scope")),
            "group_operation": prop_def(enumerants("group_operation")),
            "value": operand_def(),
            "cluster_size": opt_operand_def(),
            "result": result_def(),
        },
    ),
    (
        """
      GroupBroadcast GroupNonUniformBroadcast GroupNonUniformShuffle
      GroupNonUniformShuffleDown GroupNonUniformShuffleUp GroupNonUniformShuffleXor
    """,
        "$execution_scope $value `,` $lane attr-dict `:` type($value) `,` type($lane)",
        {
            "execution_scope": prop_def(enumerants("scope")),
            "value": operand_def(_T),
            "lane": operand_def(),
            "result": result_def(_T),
        },
    ),
    (
        "GroupNonUniformBallot GroupNonUniformElect",
        "$execution_scope ($predicate^)? attr-dict `:` type($result)",
        {
            "execution_scope": prop_def(enumerants("scope")),
            "predicate": opt_operand_def(i1),
            "result": result_def(),
        },
    ),
    (
        "GroupNonUniformBallotFindLSB GroupNonUniformBallotFindMSB",
        "$execution_scope $value attr-dict `:` type($value) `,` type($result)",
        {
            "execution_scope": prop_def(enumerants("scope")),
            "value": operand_def(),
            "result": result_def(),
        },
    ),
    (
        "ControlBarrier",
        "$execution_scope `,` $memory_scope `,` $memory_semantics attr-dict",
        {
            "execution_scope": prop_def(enumerants("scope")),
            "memory_scope": prop_def(enumerants("scope")),
            "memory_semantics": prop_def(enumerants("memory_semantics")),
        },
    ),
    (
        "INTEL.ControlBarrierArrive INTEL.ControlBarrierWait",
        "$execution_scope $memory_scope $memory_semantics attr-dict",
        {
            "execution_scope": prop_def(enumerants("scope")),
            "memory_scope": prop_def(enumerants("scope")),
            "memory_semantics": prop_def(enumerants("memory_semantics")),
        },
    ),
    (
        "MemoryBarrier",
        "$memory_scope `,` $memory_semantics attr-dict",
        {
            "memory_scope": prop_def(enumerants("scope")),
            "memory_semantics": prop_def(enumerants("memory_semantics")),
        },
    ),
    (
        "VectorShuffle",
        "$components $a `,` $b attr-dict `:` type($a) `,` type($b) `->` type($result)",
        {
            "components": prop_def(base(ArrayAttr)),
            "a": operand_def(),
            "b": operand_def(),
            "result": result_def(),
        },
    ),
    (
        "VectorExtractDynamic",
        "$vector `[` $index `]` attr-dict `:` type($vector) `,` type($index)",
        {
            "vector": operand_def(_VECTOR),
            "index": operand_def(),
            "result": result_def(Inferred("T", _component)),
        },
    ),
    (
        "VectorInsertDynamic",
        "$component `,` $vector `[` $index `]` attr-dict `:` type($vector) `,` "
        "type($index)",
        {
            "vector": operand_def(_VECTOR),
            "component": operand_def(Inferred("T", _component)),
            "index": operand_def(),
            "result": result_def(_VECTOR),
        },
    ),
    (
        "CompositeInsert",
        "$object `,` $composite `` $indices attr-dict `:` type($object) `into` "
        "type($composite)",
        {
            "object": operand_def(),
            "composite": operand_def(_T),
            "indices": prop_def(base(ArrayAttr)),
            "result": result_def(_T),
        },
    ),
    (
        "Branch",
        "$target (`(` $arguments^ `:` type($arguments) `)`)? attr-dict",
        {
            "target": successor_def(),
            "arguments": var_operand_def(),
            "traits": traits_def(IsTerminator()),
        },
    ),
    (
        "Kill Return ReturnValue Unreachable mlir.merge mlir.yield",
        "($arguments^ `:` type($arguments))? attr-dict",
        {"arguments": var_operand_def(), "traits": traits_def(IsTerminator())},
    ),
    (
        "FunctionCall",
        "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)",
        {
            "callee": prop_def(base(SymbolRefAttr)),
            "arguments": var_operand_def(),
            "result": opt_result_def(),
        },
    ),
    (
        "mlir.addressof",
        "$variable attr-dict `:` type($result)",
        {"variable": prop_def(base(SymbolRefAttr)), "result": result_def()},
    ),
    (
        "mlir.referenceof",
        "$spec_const attr-dict `:` type($result)",
        {"spec_const": prop_def(base(SymbolRefAttr)), "result": result_def()},
    ),
]
"""Names, the text after a name, and what an operation takes."""

_CUSTOM: dict[str, type[SpirvOp]] = {
    "CompositeExtract": custom.Extract,
    "Load Store": custom.Access,
    "Variable": custom.Variable,
    "BranchConditional": custom.Conditional,
    "Switch": custom.Switch,
    "mlir.loop mlir.selection": custom.Structured,
    "module": custom.Module,
    "func": custom.Func,
    "GlobalVariable": custom.GlobalVariable,
    "SpecConstant": custom.SpecConstant,
    "SpecConstantComposite": custom.Composite,
    "SpecConstantOperation": custom.SpecOperation,
    "Constant": custom.Constant,
    "EntryPoint": custom.EntryPoint,
    "ExecutionMode": custom.ExecutionMode,
}


def _operations(names: str, form: type[SpirvOp]) -> Iterator[type[SpirvOp]]:
    """The operations of a form, which has one definition."""
    first, *others = (f"spirv.{name}" for name in names.split())
    defined = irdl_op_definition(type(first, (form,), {"name": first}))
    yield defined
    for name in others:
        yield type(name, (defined,), {"name": name})


def _declared(text: str, fields: dict[str, Any]) -> type[SpirvOp]:
    return type("Declared", (SpirvOp,), {"assembly_format": text, **fields})


OPERATIONS = {
    op.name: op
    for names, form in (
        *((names, _declared(text, fields)) for names, text, fields in _DECLARED),
        *_CUSTOM.items(),
    )
    for op in _operations(names, form)
}
"""By their names."""


def _attribute(name: str) -> type[Attribute]:
    """An attribute that is kept as text."""
    kept = type(name, (UnregisteredAttr,), {"name": f"spirv.{name}"})
    return irdl_attr_definition(init=False)(kept)


Spirv = Dialect(
    "spirv",
    [*OPERATIONS.values()],
    [
        *(PointerType, ArrayType, RuntimeArrayType, StructType),
        CooperativeMatrixType,
        *map(_attribute, _OPAQUE),
        *ENUMERANTS.values(),
    ],
)
