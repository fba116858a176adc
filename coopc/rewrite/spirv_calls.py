"""Calls of SPIR-V-friendly LLVM: which builtin a name is, and what its constants say.

Source: SPIRV-LLVM-Translator's SPIR-V representation in LLVM IR, and the enumerants of
SPV_KHR_cooperative_matrix; layout 2 and the bit 64 are SPV_INTEL_joint_matrix's.

    _Z34__spirv_CooperativeMatrixMulAddKHRPU3AS1..    CooperativeMatrixMulAddKHR
    __spirv_CooperativeMatrixLengthKHR                CooperativeMatrixLengthKHR
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute

from coopc.dialects.coopmatrix import (
    Layout,
    MatrixType,
    Operand,
    Scope,
    SignedAttr,
    Use,
)
from coopc.dialects.coopmatrix.types import unsupported_element
from coopc.dialects.llvm_target import TargetExtType

MATRIX = "spirv.CooperativeMatrixKHR"
_PREFIX = "__spirv_"
_NAMES = (
    "CooperativeMatrixLoadKHR",
    "CooperativeMatrixStoreKHR",
    "CooperativeMatrixMulAddKHR",
    "CooperativeMatrixLengthKHR",
    "CompositeConstruct",
    "VectorExtractDynamic",
    "VectorInsertDynamic",
    "BuiltInWorkgroupId",
    "BuiltInNumWorkgroups",
    "BuiltInLocalInvocationId",
    "BuiltInSubgroupId",
    "BuiltInNumSubgroups",
    "BuiltInSubgroupLocalInvocationId",
    "BuiltInSubgroupSize",
)
_SCOPES = (
    *(Scope.CROSS_DEVICE, Scope.DEVICE, Scope.WORKGROUP),
    *(Scope.SUBGROUP, Scope.INVOCATION, Scope.QUEUE_FAMILY),
)
_USES = (Use.A, Use.B, Use.ACC)
_LAYOUTS = (Layout.ROW_MAJOR, Layout.COL_MAJOR, Layout.PACKED)
_SIGNS = ((1, Operand.A), (2, Operand.B), (4, Operand.C), (8, Operand.RESULT))
_SATURATING = 16
VOLATILE, ALIGNED, NONTEMPORAL = 1, 2, 4
"""Bits of a memory operand; an alignment follows."""


def builtin_of(callee: str) -> str | None:
    """The builtin that a function is, without its prefix; None if it is none of SPIR-V.

    A builtin that is not read is named as it is.

    >>> builtin_of("_Z34__spirv_CooperativeMatrixMulAddKHRDv4_i")
    'CooperativeMatrixMulAddKHR'
    >>> builtin_of("__spirv_CooperativeMatrixLoadKHR_Rx"), builtin_of("f")
    ('CooperativeMatrixLoadKHR', None)
    """
    if (mangled := re.match(r"_Z(\d+)(?=__spirv_)", callee)) is not None:
        callee = callee[mangled.end() :][: int(mangled[1])]
    if not callee.startswith(_PREFIX):
        return None
    name = callee[len(_PREFIX) :]
    known = [each for each in _NAMES if name == each or name.startswith(f"{each}_")]
    return known[0] if known else name


def matrix_of(type: TargetExtType) -> MatrixType | str:
    """The matrix that a target's type is, or why it is none."""
    if type.target.data != MATRIX or len(type.types) != 1 or len(type.numbers) != 4:
        return (
            f'expected "{MATRIX}" with a type, scope, rows, columns and use, got {type}'
        )
    scope, rows, cols, use = (number.data for number in type.numbers)
    element: Attribute = type.types.data[0]
    if (reason := unsupported_element(element)) is not None:
        return reason
    if scope >= len(_SCOPES):
        return f"expected a scope of SPIR-V, 0 to {len(_SCOPES) - 1}, got {scope}"
    if use >= len(_USES):
        return f"expected a use of SPIR-V, 0 to {len(_USES) - 1}, got {use}"
    if min(rows, cols) < 1:
        return f"expected rows and columns of 1 or more, got {rows} x {cols}"
    return MatrixType.of(rows, cols, element, _USES[use], _SCOPES[scope])


def layout_of(number: int) -> Layout | str:
    """The layout of a number, or why it is none."""
    if not 0 <= number < len(_LAYOUTS):
        return f"expected a layout, 0, 1 or 2, got {number}"
    return _LAYOUTS[number]


def signs_of(bits: int) -> tuple[SignedAttr | None, UnitAttr | None] | str:
    """What the operands of a multiplication say: who is signed, and saturation."""
    if bits & ~31:
        return (
            "expected the bits of SPV_KHR_cooperative_matrix, signs and saturation, "
            f"below 32, got {bits}"
        )
    signed = frozenset(operand for bit, operand in _SIGNS if bits & bit)
    saturating = UnitAttr() if bits & _SATURATING else None
    return (SignedAttr(signed) if signed else None), saturating
