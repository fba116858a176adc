"""What the emission of `xe` shares: the subgroup, the surface, cache controls.

Names of builtins, and the order of their arguments, are those that Intel's Triton
backend calls: Intel's compiler, and LLVM's SPIR-V back end, match them to the byte.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from coopc.device import BlockKind
from coopc.dialects import xe
from coopc.dialects.xe import CacheControl
from coopc.emit.block_rules import check_message, fixed_lanes
from coopc.emit.cache_controls import asked
from coopc.emit.llvm.emission import Emission
from coopc.emit.structured import Refusal
from coopc.llvm.module import Metadata
from coopc.llvm.types import I32
from coopc.llvm.values import Constant, Value, integer
from coopc.plan.block_shape import BlockShape

GLOBAL = 1
"""The address space that block messages reach."""

_LOAD, _STORE = 6442, 6443
"""CacheControlLoadINTEL and CacheControlStoreINTEL in SPV_INTEL_cache_controls."""
_LOAD_CONTROLS = {
    CacheControl.UNCACHED: 0,
    CacheControl.CACHED: 1,
    CacheControl.STREAMING: 2,
    CacheControl.INVALIDATE_AFTER_READ: 3,
    CacheControl.CONST_CACHED: 4,
}
_STORE_CONTROLS = {
    CacheControl.UNCACHED: 0,
    CacheControl.WRITE_THROUGH: 1,
    CacheControl.WRITE_BACK: 2,
    CacheControl.STREAMING: 3,
}
"""Numbers of LoadCacheControl and StoreCacheControl there."""


def lanes_of(e: Emission) -> int:
    """The subgroup size, which `xe` needs to be fixed.

    Raises:
        Refusal: the kernel leaves it open.
    """
    return fixed_lanes(e.subgroup_size)


def check_shape(e: Emission, kind: BlockKind, shape: BlockShape) -> int:
    """Check that the device has such a message; return the subgroup size.

    Raises:
        Refusal: it has not.
    """
    lanes = lanes_of(e)
    check_message(kind, shape, e.facts.device, lanes)
    return lanes


def number(value: int) -> Constant:
    """A constant of 32 bits."""
    return integer(I32, value)


def surface(e: Emission, base: SSAValue) -> Value:
    """A pointer to where a surface begins.

    Raises:
        Refusal: it is not in global memory, which blocks are moved from and to.
    """
    view = e.view(base)
    if view.space != GLOBAL:
        raise Refusal(
            "expected a surface in global memory, which block messages reach, got "
            f"{base.type}"
        )
    return e.pointer(view, view.offset)


def cache_controls(
    e: Emission, cache: xe.CacheAttr | None, operand: int, *, store: bool = False
) -> tuple[Metadata, ...]:
    """What a call asks of the caches, as metadata of the call.

    Args:
        e: the emission.
        cache: what is asked.
        operand: the number of the argument that is the surface, from 0.
        store: whether it is a store.

    Raises:
        Refusal: the device has no such pair of controls.
    """
    pair = asked(cache, e.facts.device, store=store)
    if pair is None:
        return ()
    decoration = _STORE if store else _LOAD
    controls = _STORE_CONTROLS if store else _LOAD_CONTROLS
    nodes = [
        e.module.node(*map(number, (decoration, level, controls[control], operand)))
        for level, control in enumerate(pair)
    ]
    return (Metadata("spirv.DecorationCacheControlINTEL", e.module.node(*nodes)),)
