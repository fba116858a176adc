"""What no text brings about: constructors of `tt`, `ttg`, `ttig`, effects, messages."""

import re
from collections.abc import Callable
from inspect import getdoc

import pytest
from xdsl.dialects.builtin import (
    TensorType,
    f16,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
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
    PtrType,
    TensorDescType,
)
from coopc.dialects.ttg import Domain
from coopc.parsing import parse
from coopc.source import Source
from coopc.universe import everything

SHARED = ttg.SwizzledSharedAttr(ttg.SwizzledShared(1, 1, 1, (1, 0)))


def tensor(element: Attribute, *shape: int) -> TensorType[Attribute]:
    return TensorType(element, shape)


def value(type: Attribute) -> SSAValue:
    return create_ssa_value(type)


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
    lambda: tt.BroadcastOp(value(tensor(f16, 8, 1)), TILE),
    lambda: tt.DescriptorLoadOp(value(DESC), AT, TILE, cache=CacheModifier.CA),
    lambda: tt.DescriptorStoreOp(value(DESC), AT, value(TILE)),
    lambda: tt.ExpandDimsOp(value(ROWS), 1, tensor(i32, 4, 1)),
    lambda: tt.LoadOp(value(PTRS), value(MASK), value(TILE), cache=CacheModifier.CG),
    lambda: tt.LoadOp(value(BLOCK)),
    lambda: tt.MakeRangeOp(4, 20, INTEGERS),
    lambda: tt.MakeTensorDescriptorOp(
        value(PTR), AT, (value(i64), value(i64)), DESC, Padding.NAN
    ),
    lambda: tt.SplatOp(value(f16), TILE),
    lambda: tt.TransOp(value(TILE), (1, 0), tensor(f16, 16, 8)),
    lambda: ttg.BarrierOp(Domain.LOCAL | Domain.GLOBAL_READ),
    lambda: ttig.DescriptorPrefetchOp(value(DESC), AT),
]


@pytest.mark.parametrize("make", MADE, ids=lambda make: make().name)
def test_constructor_makes_what_verifies(make: Callable[[], Operation]) -> None:
    make().verify()


OPERATIONS = (*tt.Tt.operations, *ttg.Ttg.operations, *ttig.Ttig.operations)


def example(op: type[Operation]) -> Operation:
    """Return the first such operation of the example in its docstring."""
    text = re.search(r"```mlir\n(.*?)```", getdoc(op) or "", re.DOTALL)
    assert text is not None
    module = parse(new_context(everything()), Source(text[1]))
    return next(found for found in module.walk() if isinstance(found, op))


EFFECTS: dict[str, set[MemoryEffectKind]] = {
    "tt.atomic_cas": {MemoryEffectKind.READ, MemoryEffectKind.WRITE},
    "tt.atomic_poll": {MemoryEffectKind.READ, MemoryEffectKind.WRITE},
    "tt.atomic_rmw": {MemoryEffectKind.READ, MemoryEffectKind.WRITE},
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
    "ttg.local_alloc": {MemoryEffectKind.ALLOC, MemoryEffectKind.WRITE},
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
UNKNOWN = ("tt.call", "tt.func", "tt.return")


@pytest.mark.parametrize("kind", OPERATIONS, ids=lambda kind: kind.name)
def test_effects(kind: type[Operation]) -> None:
    effects = get_effects(op := example(kind))
    if op.name in UNKNOWN:
        assert effects is None
        return
    assert effects is not None
    assert {effect.kind for effect in effects} == EFFECTS.get(op.name, set())
    assert is_side_effect_free(op) == (op.name not in EFFECTS)


def test_allocation_writes_its_initial_value() -> None:
    mutable, initial = buffer(8, 16), buffer(8, 16, mutable=False)
    plain = ttg.LocalAllocOp(operands=[()], result_types=[mutable])
    written = ttg.LocalAllocOp(operands=[value(TILE)], result_types=[initial])
    for op in (plain, written):
        op.verify()
    assert only_has_effect(plain, MemoryEffectKind.ALLOC)
    assert not only_has_effect(written, MemoryEffectKind.ALLOC)


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


def test_messages_that_no_text_brings_about() -> None:
    with pytest.raises(VerifyException, match="expected a block of a tensor, got i8"):
        TensorDescType(i8)
    pointer = tt.AdvanceOp.create(operands=[value(f32)], result_types=[f32])
    with pytest.raises(VerifyException, match="expected ptr to be a block pointer"):
        pointer.verify()
