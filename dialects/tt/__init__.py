"""The `tt` dialect: Triton's tensors, pointers and programs, as Triton prints them.

Encodings of tensors are in the dialects `ttg` and `ttig`; what they mean is in
`coopc.layout`, and `layouts` leads there from a type.
"""

from xdsl.ir import Dialect

from coopc.dialects.tt.atomics import AtomicRMWOp, Order, SyncScope, Update
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
    DescriptorLoadOp,
    DescriptorStoreOp,
    MakeTensorDescriptorOp,
)
from coopc.dialects.tt.enums import (
    CacheModifier,
    EvictionPolicy,
    InputPrecision,
    Padding,
    ProgramAxis,
    PropagateNan,
    Rounding,
)
from coopc.dialects.tt.externs import ExternElementwiseOp
from coopc.dialects.tt.functions import CallOp, FuncOp, ReturnOp
from coopc.dialects.tt.joins import JoinOp, SplitOp
from coopc.dialects.tt.pointers import AddPtrOp, LoadOp, StoreOp
from coopc.dialects.tt.products import DotOp
from coopc.dialects.tt.programs import (
    AssertOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    MakeRangeOp,
    PrintOp,
)
from coopc.dialects.tt.reductions import ReduceOp, ReduceReturnOp
from coopc.dialects.tt.shapes import (
    BroadcastOp,
    ExpandDimsOp,
    ReshapeOp,
    SplatOp,
    TransOp,
)
from coopc.dialects.tt.types import PtrType, TensorDescType

Tt = Dialect(
    "tt",
    [
        AddPtrOp,
        AdvanceOp,
        AssertOp,
        AtomicRMWOp,
        BitcastOp,
        BroadcastOp,
        CallOp,
        ClampFOp,
        DescriptorGatherOp,
        DescriptorLoadOp,
        DescriptorScatterOp,
        DescriptorStoreOp,
        DotOp,
        ExpandDimsOp,
        ExternElementwiseOp,
        FpToFpOp,
        FuncOp,
        GetNumProgramsOp,
        GetProgramIdOp,
        IntToPtrOp,
        JoinOp,
        LoadOp,
        MakeRangeOp,
        MakeTensorDescriptorOp,
        MakeTensorPtrOp,
        MulhiUIOp,
        PreciseDivFOp,
        PreciseSqrtOp,
        PrintOp,
        PtrToIntOp,
        ReduceOp,
        ReduceReturnOp,
        ReshapeOp,
        ReturnOp,
        SplatOp,
        SplitOp,
        StoreOp,
        TransOp,
    ],
    [PtrType, TensorDescType],
)

__all__ = [
    "AddPtrOp",
    "AdvanceOp",
    "AssertOp",
    "AtomicRMWOp",
    "BitcastOp",
    "BroadcastOp",
    "CacheModifier",
    "CallOp",
    "ClampFOp",
    "DescriptorGatherOp",
    "DescriptorLoadOp",
    "DescriptorScatterOp",
    "DescriptorStoreOp",
    "DotOp",
    "EvictionPolicy",
    "ExpandDimsOp",
    "ExternElementwiseOp",
    "FpToFpOp",
    "FuncOp",
    "GetNumProgramsOp",
    "GetProgramIdOp",
    "InputPrecision",
    "IntToPtrOp",
    "JoinOp",
    "LoadOp",
    "MakeRangeOp",
    "MakeTensorDescriptorOp",
    "MakeTensorPtrOp",
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
    "SplatOp",
    "SplitOp",
    "StoreOp",
    "SyncScope",
    "TensorDescType",
    "TransOp",
    "Tt",
    "Update",
]
