# ruff: noqa: I001 - isort parts `A as A`, which exports a name, into a line each
"""The `coopmatrix` dialect: matrices that work-items hold together, for no target yet.

A `!coopmatrix.matrix` says what a subgroup holds and for which operand of a
multiplication, not which lane holds what: a kernel fixes that with the attribute
`coopmatrix.distribution`, and each pipeline says which one it uses.
"""

from coopc.dialects.coopmatrix.arithmetic import (
    OPAQUE_POINTERS as OPAQUE_POINTERS,
    AbsOp as AbsOp,
    AddOp as AddOp,
    AndOp as AndOp,
    BinaryOp as BinaryOp,
    BitcastOp as BitcastOp,
    BitwiseOp as BitwiseOp,
    ConvertOp as ConvertOp,
    DivisionOp as DivisionOp,
    DivOp as DivOp,
    ElementwiseOp as ElementwiseOp,
    FillOp as FillOp,
    MaxOp as MaxOp,
    MinOp as MinOp,
    MulAddOp as MulAddOp,
    MulOp as MulOp,
    NegOp as NegOp,
    NotOp as NotOp,
    OrOp as OrOp,
    RemOp as RemOp,
    ScaleOp as ScaleOp,
    ShlOp as ShlOp,
    ShrOp as ShrOp,
    SignedBinaryOp as SignedBinaryOp,
    SubOp as SubOp,
    UnaryOp as UnaryOp,
    XorOp as XorOp,
)
from coopc.dialects.coopmatrix.elements import (
    ApplyOp as ApplyOp,
    CoordOp as CoordOp,
    ExtractOp as ExtractOp,
    ExtractRowSliceOp as ExtractRowSliceOp,
    InsertOp as InsertOp,
    InsertRowSliceOp as InsertRowSliceOp,
    LengthOp as LengthOp,
    ReduceOp as ReduceOp,
    YieldOp as YieldOp,
)
from coopc.dialects.coopmatrix.memory import (
    AccessOp as AccessOp,
    AtomicAddOp as AtomicAddOp,
    AtomicLoadOp as AtomicLoadOp,
    AtomicMaxOp as AtomicMaxOp,
    AtomicMinOp as AtomicMinOp,
    AtomicOp as AtomicOp,
    AtomicStoreOp as AtomicStoreOp,
    AtomicUpdateOp as AtomicUpdateOp,
    LoadOp as LoadOp,
    PlainAccessOp as PlainAccessOp,
    PrefetchOp as PrefetchOp,
    StoreOp as StoreOp,
)
from coopc.dialects.coopmatrix.types import (
    CHANNEL_BITS as CHANNEL_BITS,
    ELEMENT_BITS as ELEMENT_BITS,
    LAYOUT_NUMBERS as LAYOUT_NUMBERS,
    SCOPE_NUMBERS as SCOPE_NUMBERS,
    USE_NUMBERS as USE_NUMBERS,
    Axis as Axis,
    AxisAttr as AxisAttr,
    CheckedAttr as CheckedAttr,
    ElementType as ElementType,
    FloatElement as FloatElement,
    Layout as Layout,
    LayoutAttr as LayoutAttr,
    MatrixType as MatrixType,
    Operand as Operand,
    Ordering as Ordering,
    OrderingAttr as OrderingAttr,
    Reduction as Reduction,
    ReductionAttr as ReductionAttr,
    Scope as Scope,
    ScopeAttr as ScopeAttr,
    SignedAttr as SignedAttr,
    Size as Size,
    SpecConstantOp as SpecConstantOp,
    Use as Use,
    UseAttr as UseAttr,
    element as element,
    matrix_type as matrix_type,
    spec_ids as spec_ids,
)
from coopc.dialects.definitions import dialect_of

DISTRIBUTION = "coopmatrix.distribution"
"""The kernel attribute that says which work-item owns which element."""

Coopmatrix = dialect_of("coopmatrix", globals())
OPERATIONS = tuple(Coopmatrix.operations)
