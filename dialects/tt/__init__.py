"""The `tt` dialect: Triton's tensors, pointers and programs, as Triton prints them.

Encodings of tensors are in the dialects `ttg` and `ttig`; what they mean is in
`coopc.layout`, and `layouts` leads there from a type.
"""

from xdsl.ir import Dialect

from coopc.dialects.tt.atomics import AtomicCASOp, AtomicRMWOp, Order, SyncScope, Update
from coopc.dialects.tt.block_pointers import AdvanceOp, MakeTensorPtrOp
from coopc.dialects.tt.casts import (
    BitcastOp,
    ClampFOp,
    FpToFpOp,
    IntToPtrOp,
    MulhiUIOp,
    PreciseDivFOp,
    PreciseSqrtOp,
    PtrToIntOp,
)
from coopc.dialects.tt.descriptor_rows import (
    DescriptorGatherOp,
    DescriptorScatterOp,
)
from coopc.dialects.tt.descriptors import (
    Combination,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorStoreOp,
    MakeTensorDescriptorOp,
)
from coopc.dialects.tt.elementwise import (
    ElementwiseInlineAsmOp,
    MapElementwiseOp,
    MapElementwiseReturnOp,
)
from coopc.dialects.tt.enums import (
    CacheModifier,
    EvictionPolicy,
    InputPrecision,
    Padding,
    ProgramAxis,
    PropagateNan,
    Rounding,
    ScaledElement,
)
from coopc.dialects.tt.externs import ExternElementwiseOp
from coopc.dialects.tt.functions import CallOp, FuncOp, ReturnOp
from coopc.dialects.tt.gathers import GatherOp, HistogramOp
from coopc.dialects.tt.joins import CatOp, JoinOp, SplitOp
from coopc.dialects.tt.pointers import AddPtrOp, LoadOp, StoreOp
from coopc.dialects.tt.products import DotOp, DotScaledOp
from coopc.dialects.tt.programs import (
    AssertOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    MakeRangeOp,
    PrintOp,
)
from coopc.dialects.tt.reductions import (
    ReduceOp,
    ReduceReturnOp,
    ScanOp,
    ScanReturnOp,
)
from coopc.dialects.tt.shapes import (
    BroadcastOp,
    ExpandDimsOp,
    ReshapeOp,
    SplatOp,
    TransOp,
    UnsplatOp,
)
from coopc.dialects.tt.types import PtrType, TensorDescType

Tt = Dialect(
    "tt",
    [
        AddPtrOp,
        AdvanceOp,
        AssertOp,
        AtomicCASOp,
        AtomicRMWOp,
        BitcastOp,
        BroadcastOp,
        CallOp,
        CatOp,
        ClampFOp,
        DescriptorGatherOp,
        DescriptorLoadOp,
        DescriptorReduceOp,
        DescriptorScatterOp,
        DescriptorStoreOp,
        DotOp,
        DotScaledOp,
        ElementwiseInlineAsmOp,
        ExpandDimsOp,
        ExternElementwiseOp,
        FpToFpOp,
        FuncOp,
        GatherOp,
        GetNumProgramsOp,
        GetProgramIdOp,
        HistogramOp,
        IntToPtrOp,
        JoinOp,
        LoadOp,
        MakeRangeOp,
        MakeTensorDescriptorOp,
        MakeTensorPtrOp,
        MapElementwiseOp,
        MapElementwiseReturnOp,
        MulhiUIOp,
        PreciseDivFOp,
        PreciseSqrtOp,
        PrintOp,
        PtrToIntOp,
        ReduceOp,
        ReduceReturnOp,
        ReshapeOp,
        ReturnOp,
        ScanOp,
        ScanReturnOp,
        SplatOp,
        SplitOp,
        StoreOp,
        TransOp,
        UnsplatOp,
    ],
    [PtrType, TensorDescType],
)

__all__ = [
    "AddPtrOp",
    "AdvanceOp",
    "AssertOp",
    "AtomicCASOp",
    "AtomicRMWOp",
    "BitcastOp",
    "BroadcastOp",
    "CacheModifier",
    "CallOp",
    "CatOp",
    "ClampFOp",
    "Combination",
    "DescriptorGatherOp",
    "DescriptorLoadOp",
    "DescriptorReduceOp",
    "DescriptorScatterOp",
    "DescriptorStoreOp",
    "DotOp",
    "DotScaledOp",
    "ElementwiseInlineAsmOp",
    "EvictionPolicy",
    "ExpandDimsOp",
    "ExternElementwiseOp",
    "FpToFpOp",
    "FuncOp",
    "GatherOp",
    "GetNumProgramsOp",
    "GetProgramIdOp",
    "HistogramOp",
    "InputPrecision",
    "IntToPtrOp",
    "JoinOp",
    "LoadOp",
    "MakeRangeOp",
    "MakeTensorDescriptorOp",
    "MakeTensorPtrOp",
    "MapElementwiseOp",
    "MapElementwiseReturnOp",
    "MulhiUIOp",
    "Order",
    "Padding",
    "PreciseDivFOp",
    "PreciseSqrtOp",
    "PrintOp",
    "ProgramAxis",
    "PropagateNan",
    "PtrToIntOp",
    "PtrType",
    "ReduceOp",
    "ReduceReturnOp",
    "ReshapeOp",
    "ReturnOp",
    "Rounding",
    "ScaledElement",
    "ScanOp",
    "ScanReturnOp",
    "SplatOp",
    "SplitOp",
    "StoreOp",
    "SyncScope",
    "TensorDescType",
    "TransOp",
    "Tt",
    "UnsplatOp",
    "Update",
]
