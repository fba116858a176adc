# ruff: noqa: I001 - isort parts `A as A`, which exports a name, into a line each
"""The `tt` dialect: Triton's tensors, pointers and programs, as Triton prints them.

Encodings of tensors are in the dialects `ttg` and `ttig`; what they mean is in
`coopc.layout`, and `tt.types.layout_of` leads there from a type.
"""

from coopc.dialects.definitions import dialect_of
from coopc.dialects.tt.arithmetic import (
    BitcastOp as BitcastOp,
    ClampFOp as ClampFOp,
    DotOp as DotOp,
    DotScaledOp as DotScaledOp,
    ElementwiseInlineAsmOp as ElementwiseInlineAsmOp,
    ExternElementwiseOp as ExternElementwiseOp,
    FpToFpOp as FpToFpOp,
    IntToPtrOp as IntToPtrOp,
    MapElementwiseOp as MapElementwiseOp,
    MapElementwiseReturnOp as MapElementwiseReturnOp,
    MulhiUIOp as MulhiUIOp,
    PreciseDivFOp as PreciseDivFOp,
    PreciseSqrtOp as PreciseSqrtOp,
    PtrToIntOp as PtrToIntOp,
)
from coopc.dialects.tt.descriptors import (
    Combination as Combination,
    DescriptorGatherOp as DescriptorGatherOp,
    DescriptorLoadOp as DescriptorLoadOp,
    DescriptorReduceOp as DescriptorReduceOp,
    DescriptorScatterOp as DescriptorScatterOp,
    DescriptorStoreOp as DescriptorStoreOp,
    MakeTensorDescriptorOp as MakeTensorDescriptorOp,
)
from coopc.dialects.tt.functions import (
    AssertOp as AssertOp,
    CallOp as CallOp,
    FuncOp as FuncOp,
    GetNumProgramsOp as GetNumProgramsOp,
    GetProgramIdOp as GetProgramIdOp,
    MakeRangeOp as MakeRangeOp,
    PrintOp as PrintOp,
    ReturnOp as ReturnOp,
)
from coopc.dialects.tt.pointers import (
    AddPtrOp as AddPtrOp,
    AdvanceOp as AdvanceOp,
    AtomicCASOp as AtomicCASOp,
    AtomicRMWOp as AtomicRMWOp,
    LoadOp as LoadOp,
    MakeTensorPtrOp as MakeTensorPtrOp,
    Order as Order,
    StoreOp as StoreOp,
    SyncScope as SyncScope,
    Update as Update,
)
from coopc.dialects.tt.reductions import (
    GatherOp as GatherOp,
    HistogramOp as HistogramOp,
    ReduceOp as ReduceOp,
    ReduceReturnOp as ReduceReturnOp,
    ScanOp as ScanOp,
    ScanReturnOp as ScanReturnOp,
)
from coopc.dialects.tt.shapes import (
    BroadcastOp as BroadcastOp,
    CatOp as CatOp,
    ExpandDimsOp as ExpandDimsOp,
    JoinOp as JoinOp,
    ReshapeOp as ReshapeOp,
    SplatOp as SplatOp,
    SplitOp as SplitOp,
    TransOp as TransOp,
    UnsplatOp as UnsplatOp,
)
from coopc.dialects.tt.types import (
    CacheModifier as CacheModifier,
    EvictionPolicy as EvictionPolicy,
    InputPrecision as InputPrecision,
    Padding as Padding,
    ProgramAxis as ProgramAxis,
    PropagateNan as PropagateNan,
    PtrType as PtrType,
    Rounding as Rounding,
    ScaledElement as ScaledElement,
    TensorDescType as TensorDescType,
)

Tt = dialect_of("tt", globals())
