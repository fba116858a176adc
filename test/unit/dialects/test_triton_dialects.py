"""What no text brings about: constructors of `tt`, `ttg`, `ttig`, effects, messages."""

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import (
    FunctionType,
    IntegerType,
    TensorType,
    f16,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import (
    MemoryEffectKind,
    get_effects,
    is_side_effect_free,
    only_has_effect,
)
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from coopc.compiler import new_context
from coopc.dialects import tt, ttg, ttig
from coopc.dialects.tt.types import (
    CacheModifier,
    Padding,
    ProgramAxis,
    PtrType,
    TensorDescType,
)
from coopc.dialects.ttg import Domain
from coopc.dialects.ttig import MemoryLayout
from coopc.parsing import parse
from coopc.source import Source
from coopc.universe import everything

SHARED = ttg.SwizzledSharedAttr(ttg.SwizzledShared(1, 1, 1, (1, 0)))


def tensor(element: Attribute, *shape: int) -> TensorType[Attribute]:
    return TensorType(element, shape)


def value(type: Attribute) -> SSAValue:
    return create_ssa_value(type)


def combine(end: Callable[[SSAValue], Operation] = tt.ReduceReturnOp) -> Region:
    block = Block(arg_types=[f32, f32])
    block.add_op(end(block.args[0]))
    return Region(block)


def buffer(*shape: int, mutable: bool = True) -> ttg.MemDescType:
    return ttg.MemDescType.of(TensorType(f16, shape, SHARED), mutable=mutable)


PTR = PtrType.of(f16)
PTRS = tensor(PTR, 8, 16)
DESC = TensorDescType.of(f16, (8, 16))
TILE = tensor(f16, 8, 16)
MASK = tensor(i1, 8, 16)
FLOATS = tensor(f32, 8, 16)
ROWS = tensor(i32, 4)
INTEGERS = tensor(i32, 16)
BLOCK = PtrType.of(TILE)
SURFACE = (value(i32), value(i32), value(i32))
AT = (value(i32), value(i32))

MADE: list[Callable[[], Operation]] = [
    lambda: tt.AddPtrOp(value(PTRS), value(tensor(i32, 8, 16))),
    lambda: tt.AdvanceOp(value(BLOCK), AT),
    lambda: tt.AssertOp(value(i1), "x"),
    lambda: tt.AtomicCASOp(value(PTR), value(f16), value(f16)),
    lambda: tt.BitcastOp(value(f16), IntegerType(16)),
    lambda: tt.BroadcastOp(value(tensor(f16, 8, 1)), TILE),
    lambda: tt.CatOp(value(ROWS), value(ROWS), tensor(i32, 8)),
    lambda: tt.ClampFOp(value(f32), value(f32), value(f32), tt.PropagateNan.ALL),
    lambda: tt.DescriptorGatherOp(
        value(TensorDescType.of(f16, (1, 16))),
        value(ROWS),
        value(i32),
        tensor(f16, 4, 16),
    ),
    lambda: tt.DescriptorLoadOp(value(DESC), AT, TILE, cache=CacheModifier.CA),
    lambda: tt.DescriptorReduceOp(tt.Combination.ADD, value(DESC), AT, value(TILE)),
    lambda: tt.DescriptorScatterOp(
        value(TensorDescType.of(f16, (1, 16))),
        value(ROWS),
        value(i32),
        value(tensor(f16, 4, 16)),
    ),
    lambda: tt.DescriptorStoreOp(value(DESC), AT, value(TILE)),
    lambda: tt.DotOp(value(TILE), value(tensor(f16, 16, 8)), value(tensor(f32, 8, 8))),
    lambda: tt.DotScaledOp(
        value(tensor(i8, 8, 16)),
        value(tensor(i8, 16, 8)),
        value(tensor(f32, 8, 8)),
        (tt.ScaledElement.E4M3, tt.ScaledElement.E5M2),
        (None, value(tensor(i8, 8, 1))),
    ),
    lambda: tt.ElementwiseInlineAsmOp("nop", "=r", (value(ROWS),), (ROWS,)),
    lambda: tt.ExpandDimsOp(value(ROWS), 1, tensor(i32, 4, 1)),
    lambda: tt.FpToFpOp(value(f32), f16, tt.Rounding.RTNE),
    lambda: tt.FpToFpOp(value(f16), f32),
    lambda: tt.FuncOp("f", FunctionType.from_lists([], []), Region(), "private"),
    lambda: tt.GatherOp(value(INTEGERS), value(ROWS), 0, ROWS),
    lambda: tt.GetNumProgramsOp(ProgramAxis.Y),
    lambda: tt.GetProgramIdOp(ProgramAxis.X),
    lambda: tt.HistogramOp(value(ROWS), None, INTEGERS),
    lambda: tt.IntToPtrOp(value(i64), PTR),
    lambda: tt.LoadOp(value(PTRS), value(MASK), value(TILE), cache=CacheModifier.CG),
    lambda: tt.LoadOp(value(BLOCK)),
    lambda: tt.MakeRangeOp(4, 20, INTEGERS),
    lambda: tt.MakeTensorDescriptorOp(
        value(PTR), AT, (value(i64), value(i64)), DESC, Padding.NAN
    ),
    lambda: tt.MakeTensorPtrOp(
        value(PTR),
        ((value(i64), value(i64)), (value(i64), value(i64)), AT),
        (1, 0),
        BLOCK,
    ),
    lambda: tt.MulhiUIOp(value(i32), value(i32)),
    lambda: tt.PreciseDivFOp(value(f32), value(f32)),
    lambda: tt.PreciseSqrtOp(value(f32)),
    lambda: tt.PrintOp("x", (value(i32), value(f32)), (True, False)),
    lambda: tt.PtrToIntOp(value(PTR), i64),
    lambda: tt.ReduceOp((value(FLOATS),), 1, (tensor(f32, 8),), combine()),
    lambda: tt.ReshapeOp(value(TILE), tensor(f16, 128)),
    lambda: tt.ScanOp((value(FLOATS),), 1, False, combine(tt.ScanReturnOp)),
    lambda: tt.SplatOp(value(f16), TILE),
    lambda: tt.StoreOp(value(PTRS), value(TILE), value(MASK)),
    lambda: tt.StoreOp(value(PTR), value(f16)),
    lambda: tt.TransOp(value(TILE), (1, 0), tensor(f16, 16, 8)),
    lambda: tt.UnsplatOp(value(tensor(f16, 1, 1))),
    lambda: ttg.BarrierOp(Domain.LOCAL | Domain.GLOBAL_READ),
    lambda: ttg.LocalAllocOp(buffer(8, 16)),
    lambda: ttg.LocalAllocOp(buffer(8, 16, mutable=False), value(TILE)),
    lambda: ttg.LocalDeallocOp(value(buffer(8, 16))),
    lambda: ttg.LocalLoadOp(value(buffer(8, 16)), TILE),
    lambda: ttg.LocalStoreOp(value(TILE), value(buffer(8, 16))),
    lambda: ttg.MemDescIndexOp(value(buffer(3, 8, 16)), value(i32), buffer(8, 16)),
    lambda: ttg.MemDescSubsliceOp(value(buffer(8, 16)), (0, 8), buffer(8, 8)),
    lambda: ttg.MemDescTransOp(value(buffer(8, 16)), (1, 0), buffer(16, 8)),
    lambda: ttig.BlockLoad2DFromPtrOp(
        value(PTRS), value(i32), None, MemoryLayout.ROW_MAJOR, (64, 8)
    ),
    lambda: ttig.BlockLoad2DFromPtrOp(
        value(PTRS),
        value(i32),
        (value(MASK), value(TILE)),
        MemoryLayout.COLUMN_MAJOR,
        (64, 8),
    ),
    lambda: ttig.BlockLoad2DOp(
        value(PTR), SURFACE, AT, MemoryLayout.ROW_MAJOR, TILE, pad_nan=True
    ),
    lambda: ttig.DescriptorPrefetchOp(value(DESC), AT),
    lambda: ttig.ExtractDescOp(value(DESC), 4),
    lambda: ttig.ExtractDescOp(value(DESC), 1),
    lambda: ttig.PrefetchOp(value(PTRS), value(MASK)),
    lambda: ttig.SubGroupTransposeOp(
        value(PtrType.of(f16, 3)), value(tensor(f16, 16, 16))
    ),
]


@pytest.mark.parametrize("make", MADE, ids=lambda make: make().name)
def test_constructor_makes_what_verifies(make: Callable[[], Operation]) -> None:
    make().verify()


EFFECTS: dict[str, set[MemoryEffectKind]] = {
    "tt.atomic_cas": {MemoryEffectKind.READ, MemoryEffectKind.WRITE},
    "tt.descriptor_reduce": {MemoryEffectKind.READ, MemoryEffectKind.WRITE},
    "tt.assert": {MemoryEffectKind.WRITE},
    "tt.print": {MemoryEffectKind.WRITE},
    "tt.load": {MemoryEffectKind.READ},
    "tt.store": {MemoryEffectKind.WRITE},
    "tt.descriptor_load": {MemoryEffectKind.READ},
    "tt.descriptor_gather": {MemoryEffectKind.READ},
    "tt.descriptor_store": {MemoryEffectKind.WRITE},
    "tt.descriptor_scatter": {MemoryEffectKind.WRITE},
    "ttg.barrier": {MemoryEffectKind.READ, MemoryEffectKind.WRITE},
    "ttg.local_dealloc": {MemoryEffectKind.FREE},
    "ttg.local_load": {MemoryEffectKind.READ},
    "ttg.local_store": {MemoryEffectKind.WRITE},
    "ttig.2d_block_load": {MemoryEffectKind.READ},
    "ttig.2d_block_load_from_ptr": {MemoryEffectKind.READ},
    "ttig.descriptor_prefetch": {MemoryEffectKind.ALLOC},
    "ttig.prefetch": {MemoryEffectKind.ALLOC},
    "ttig.sub_group_transpose": {MemoryEffectKind.READ, MemoryEffectKind.WRITE},
}
"""What is not here has none."""


@pytest.mark.parametrize("make", MADE, ids=lambda make: make().name)
def test_effects(make: Callable[[], Operation]) -> None:
    op = make()
    if op.name in ("tt.func", "ttg.local_alloc"):
        return
    effects = get_effects(op)
    assert effects is not None
    assert {effect.kind for effect in effects} == EFFECTS.get(op.name, set())
    assert is_side_effect_free(op) == (op.name not in EFFECTS)


def test_allocation_writes_its_initial_value() -> None:
    plain = ttg.LocalAllocOp(buffer(8, 16))
    initial = ttg.LocalAllocOp(buffer(8, 16), value(TILE))
    assert only_has_effect(plain, MemoryEffectKind.ALLOC)
    assert not only_has_effect(initial, MemoryEffectKind.ALLOC)


def test_volatile_loads_stay() -> None:
    text = """
    %p = "test.op"() : () -> !tt.ptr<f32>
    %x = tt.load %p {isVolatile = true} : !tt.ptr<f32>
    %y = tt.load %p : !tt.ptr<f32>
    ttig.prefetch %p {cache = 1 : i32, evict = 1 : i32, isVolatile = false}
      : !tt.ptr<f32>
    """
    ctx = new_context(everything())
    module = parse(ctx, Source(text))
    CanonicalizePass().apply(ctx, module)
    names = [op.name for op in module.ops]
    assert names == ["test.op", "tt.load", "ttig.prefetch"]


def test_wrong_calls() -> None:
    with pytest.raises(ValueError, match="expected a pointer or a tensor of pointers"):
        tt.LoadOp(value(f32))
    with pytest.raises(ValueError, match="expected a pointer or a tensor of pointers"):
        ttig.BlockLoad2DFromPtrOp(
            value(TILE), value(i32), None, MemoryLayout.ROW_MAJOR, (64, 8)
        )


def test_messages_that_no_text_brings_about() -> None:
    with pytest.raises(VerifyException, match="expected a block of a tensor, got i8"):
        TensorDescType(i8)
    pointer = tt.AdvanceOp.create(operands=[value(f32)], result_types=[f32])
    with pytest.raises(VerifyException, match="expected ptr to be a block pointer"):
        pointer.verify()
