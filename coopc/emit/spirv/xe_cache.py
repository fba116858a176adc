"""Cache controls of `xe`: decorations of the pointer.

The pointer of one message is copied and the copy is decorated, as a decoration holds
for all uses of an id.  spirv-val lets CacheControlLoadINTEL decorate an id but once,
although L1 and L3 have one each; two groups of decorations say the same.
"""

from __future__ import annotations

from coopc.dialects import xe
from coopc.dialects.xe import CacheControl
from coopc.emit.cache_controls import asked
from coopc.emit.spirv.emission import Emission
from coopc.spirv.instruction import Id, Operand

_NAMES = {
    CacheControl.UNCACHED: "UncachedINTEL",
    CacheControl.CACHED: "CachedINTEL",
    CacheControl.STREAMING: "StreamingINTEL",
    CacheControl.INVALIDATE_AFTER_READ: "InvalidateAfterReadINTEL",
    CacheControl.CONST_CACHED: "ConstCachedINTEL",
    CacheControl.WRITE_THROUGH: "WriteThroughINTEL",
    CacheControl.WRITE_BACK: "WriteBackINTEL",
}


def decorated(
    e: Emission, pointer: Id, cache: xe.CacheAttr | None, *, store: bool = False
) -> Id:
    """A pointer whose accesses ask that of the caches.

    Raises:
        Refusal: the device has no such pair of controls.
    """
    pair = asked(cache, e.facts.device, store=store)
    if pair is None:
        return pointer
    copy = e.emit("OpCopyObject", pointer, type=pointer.type)
    name = "CacheControlStoreINTEL" if store else "CacheControlLoadINTEL"
    for level, control in enumerate(pair):
        decoration: tuple[Operand, ...] = (name, level, _NAMES[control])
        e.module.group_decorate(e.module.decoration_group([decoration]), [copy])
    return copy
