"""Which cache controls of `xe` devices have: pairs, one of L1 and one of L3.

| L1, of a load         | with L3                                               |
|-----------------------|-------------------------------------------------------|
| uncached, cached      | uncached, cached; from Xe2 on const_cached            |
| streaming             | uncached, cached                                      |
| invalidate_after_read | cached; from Xe2 on invalidate_after_read             |

| L1, of a store                            | with L3              |
|-------------------------------------------|----------------------|
| uncached, streaming, write_through        | uncached, write_back |
| write_back                                | write_back           |

What one level leaves open is cached, or write_back in a store.  Intel's compiler takes
any other pair, warns, and asks for nothing: so they are refused here.

Source: 2.40.14 tried on every pair for PVC, BMG, LNL and PTL.
"""

from __future__ import annotations

from coopc.device import Device
from coopc.dialects import xe
from coopc.dialects.xe import CacheControl
from coopc.emit.structured import Refusal

Pair = tuple[CacheControl, CacheControl]

_DEFAULT = CacheControl.DEFAULT
_UC, _C = CacheControl.UNCACHED, CacheControl.CACHED
_S, _IAR = CacheControl.STREAMING, CacheControl.INVALIDATE_AFTER_READ
_CONST = CacheControl.CONST_CACHED
_WT, _WB = CacheControl.WRITE_THROUGH, CacheControl.WRITE_BACK

LOAD_PAIRS: tuple[Pair, ...] = (
    *((l1, l3) for l1 in (_UC, _C, _S) for l3 in (_UC, _C)),
    (_IAR, _C),
)
"""(L1, L3) of loads, in the order of the numbers from 1 that builtins take."""
XE2_LOAD_PAIRS: tuple[Pair, ...] = ((_UC, _CONST), (_C, _CONST), (_IAR, _IAR))
"""More of them, which builtins have no number for."""
STORE_PAIRS: tuple[Pair, ...] = (
    *((l1, l3) for l1 in (_UC, _WT, _S) for l3 in (_UC, _WB)),
    (_WB, _WB),
)


def resolved(cache: xe.CacheAttr | None, open_level: CacheControl) -> Pair | None:
    """What is asked of L1 and L3; None where nothing is."""
    if cache is None or cache.levels == (_DEFAULT, _DEFAULT):
        return None
    l1, l3 = (open_level if level is _DEFAULT else level for level in cache.levels)
    return l1, l3


def why_not_pair(pair: Pair, device: Device, *, store: bool) -> str | None:
    """Why a device has no such pair of controls, or None."""
    allowed = STORE_PAIRS if store else LOAD_PAIRS
    # What Xe2 added came with the free immediate offsets.
    if not store and device.block_io is not None and device.block_io.immediate_offsets:
        allowed += XE2_LOAD_PAIRS
    if pair in allowed:
        return None
    fitting = [l3 for l1, l3 in allowed if l1 is pair[0]]
    if fitting:
        return (
            f"expected l3 = {' or '.join(fitting)}, which {device.name} has with "
            f"l1 = {pair[0]}, got {pair[1]}"
        )
    has = dict.fromkeys(l1 for l1, _ in allowed)
    return f"expected l1 = {' or '.join(has)}, which {device.name} has, got {pair[0]}"


def asked(
    cache: xe.CacheAttr | None, device: Device, *, store: bool = False
) -> Pair | None:
    """What is asked of L1 and L3 of a device; None where nothing is.

    Raises:
        Refusal: the device has no such pair of controls.
    """
    pair = resolved(cache, _WB if store else _C)
    if pair is None:
        return None
    if (reason := why_not_pair(pair, device, store=store)) is not None:
        raise Refusal(reason)
    return pair


def builtin_number(cache: xe.CacheAttr | None, device: Device) -> int:
    """The number by which a builtin that loads is told what to ask of the caches.

    Raises:
        Refusal: there is none for that pair of controls.
    """
    pair = resolved(cache, _C)
    if pair is None:
        return 0
    if pair not in LOAD_PAIRS:
        reason = why_not_pair(pair, device, store=False)
        raise Refusal(
            reason
            or "expected controls for which the builtins of payloads have a number, "
            f"got l1 = {pair[0]}, l3 = {pair[1]}"
        )
    return 1 + LOAD_PAIRS.index(pair)
