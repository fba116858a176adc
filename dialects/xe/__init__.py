"""The `xe` dialect: what one lane of an Intel Xe subgroup does with its matrix engine.

Operands are vectors, not matrices: the share of one lane.
"""

from xdsl.ir import Dialect

from coopc.dialects.xe.attributes import (
    LOAD_CONTROLS,
    STORE_CONTROLS,
    BlockAttr,
    CacheAttr,
    CacheControl,
    PayloadType,
    Precision,
    PrecisionAttr,
)
from coopc.dialects.xe.block import (
    BlockLoad2DOp,
    BlockOp,
    BlockPrefetch2DOp,
    BlockStore2DOp,
)
from coopc.dialects.xe.channels import BlockLoadOp
from coopc.dialects.xe.dpas import DpasOp, SplitDpasOp, operand_types
from coopc.dialects.xe.payload import (
    PayloadCreateOp,
    PayloadLoadOp,
    PayloadPrefetchOp,
    PayloadSetXOp,
    PayloadSetYOp,
    shape_of,
)
from coopc.dialects.xe.plans import (
    PLAN,
    REFUSAL,
    BlockLoadPlanAttr,
    BlockPrefetchPlanAttr,
    BlockStorePlanAttr,
    PlanAttr,
)

Xe = Dialect(
    "xe",
    [
        BlockLoad2DOp,
        BlockLoadOp,
        BlockPrefetch2DOp,
        BlockStore2DOp,
        DpasOp,
        PayloadCreateOp,
        PayloadLoadOp,
        PayloadPrefetchOp,
        PayloadSetXOp,
        PayloadSetYOp,
        SplitDpasOp,
    ],
    [
        BlockAttr,
        BlockLoadPlanAttr,
        BlockPrefetchPlanAttr,
        BlockStorePlanAttr,
        CacheAttr,
        PayloadType,
        PrecisionAttr,
    ],
)

__all__ = [
    "LOAD_CONTROLS",
    "PLAN",
    "REFUSAL",
    "STORE_CONTROLS",
    "BlockAttr",
    "BlockLoad2DOp",
    "BlockLoadOp",
    "BlockLoadPlanAttr",
    "BlockOp",
    "BlockPrefetch2DOp",
    "BlockPrefetchPlanAttr",
    "BlockStore2DOp",
    "BlockStorePlanAttr",
    "CacheAttr",
    "CacheControl",
    "DpasOp",
    "PayloadCreateOp",
    "PayloadLoadOp",
    "PayloadPrefetchOp",
    "PayloadSetXOp",
    "PayloadSetYOp",
    "PayloadType",
    "PlanAttr",
    "Precision",
    "PrecisionAttr",
    "SplitDpasOp",
    "Xe",
    "operand_types",
    "shape_of",
]
