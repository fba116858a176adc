"""Cache controls: every pair is what Intel's compiler makes of it, or is refused."""

import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

import coopc
from coopc.device import BMG, PVC, Device
from coopc.dialects.xe import LOAD_CONTROLS, STORE_CONTROLS, CacheAttr, CacheControl
from coopc.emit.xe import Pair, resolved, why_not_pair
from coopc.run.offline_compiler import compile_kernel

Tool = Callable[[str], Path]

ISA = {
    CacheControl.UNCACHED: "uc",
    CacheControl.CACHED: "ca",
    CacheControl.STREAMING: "st",
    CacheControl.INVALIDATE_AFTER_READ: "ri",
    CacheControl.CONST_CACHED: "cc",
    CacheControl.WRITE_THROUGH: "wt",
    CacheControl.WRITE_BACK: "wb",
}
"""What the disassembler calls them."""

BODIES = {
    "load": """
  %v = xe.block_load_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1>
    CACHE : memref<i8> -> vector<8xi16>
  simt.block_write %v, %out[%at] : vector<8xi16>, memref<?xi16, strided<[1]>>""",
    "prefetch": """
  xe.block_prefetch_2d %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1>
    CACHE : memref<i8>""",
    "payload": """
  %t = xe.payload_create %p[%x, %y] surface(%w, %h, %w)
    : memref<i8> -> !xe.payload<16, 8x16x1>
  xe.payload_prefetch %t[0, 0] CACHE : !xe.payload<16, 8x16x1>""",
    "store": """
  %v = arith.constant dense<7> : vector<8xi16>
  xe.block_store_2d %v into %p[%x, %y] surface(%w, %h, %w) block <16, 8x16x1>
    CACHE : vector<8xi16> into memref<i8>""",
}


def pairs(message: str, device: Device) -> Iterator[tuple[CacheAttr, Pair]]:
    """The controls that are not refused, and what they come to."""
    store = message == "store"
    controls = STORE_CONTROLS if store else LOAD_CONTROLS
    default = CacheControl.WRITE_BACK if store else CacheControl.CACHED
    for l1, l3 in product(controls, repeat=2):
        cache = CacheAttr((l1, l3))
        pair = resolved(cache, default)
        if pair is None or why_not_pair(pair, device, store=store) is not None:
            continue
        # The builtins of payloads have no numbers for what Xe2 added.
        if message != "payload" or why_not_pair(pair, PVC, store=False) is None:
            yield cache, pair


def kernel(number: int, body: str, cache: CacheAttr) -> str:
    l1, l3 = cache.data
    body = body.replace("CACHE", f"cache <l1 = {l1}, l3 = {l3}>")
    return f"""
func.func @k{number}(%p: memref<i8>, %x: i32, %y: i32, %w: i32, %h: i32,
    %out: memref<?xi16, strided<[1]>>, %at: index)
    attributes {{simt.kernel, simt.subgroup_size = 16 : i32}} {{{body}
  func.return
}}
"""


@pytest.mark.parametrize("message", BODIES)
@pytest.mark.parametrize("device", [PVC, BMG], ids=lambda device: device.name)
def test_each_pair_arrives(message: str, device: Device, tool: Tool) -> None:
    tool("ocloc")
    found = list(pairs(message, device))
    text = "".join(
        kernel(number, BODIES[message], cache)
        for number, (cache, _) in enumerate(found)
    )
    binary = coopc.compile(text, "", f"spirv-binary{{device={device.name}}}").bytes
    isa = compile_kernel(binary, device.name)
    assert isa.warnings == ()
    for number, (_, (l1, l3)) in enumerate(found):
        assembly = isa.kernels[f"k{number}"].assembly
        suffix = re.search(r"_block2d\.ugm\.d16\.a64\.(\w+\.\w+)", assembly)
        expected = f"{ISA[l1]}.{ISA[l3]}"
        if l1 is CacheControl.INVALIDATE_AFTER_READ and device is BMG:
            expected = "ri.ri"
        assert suffix is not None, assembly
        assert suffix[1] == expected


def test_nothing_is_asked_for_by_default() -> None:
    assert resolved(None, CacheControl.CACHED) is None
    assert (
        resolved(
            CacheAttr((CacheControl.DEFAULT, CacheControl.DEFAULT)), CacheControl.CACHED
        )
        is None
    )


@pytest.mark.parametrize(
    ("pair", "device", "store", "reason"),
    [
        (
            (CacheControl.CONST_CACHED, CacheControl.CACHED),
            *(BMG, False),
            "expected l1 = uncached or cached or streaming or invalidate_after_read, "
            "which bmg has, got const_cached",
        ),
        (
            (CacheControl.CACHED, CacheControl.CONST_CACHED),
            *(PVC, False),
            "expected l3 = uncached or cached, which pvc has with l1 = cached, "
            "got const_cached",
        ),
        (
            (CacheControl.WRITE_BACK, CacheControl.UNCACHED),
            *(BMG, True),
            "expected l3 = write_back, which bmg has with l1 = write_back, "
            "got uncached",
        ),
    ],
)
def test_refused(pair: Pair, device: Device, store: bool, reason: str) -> None:
    assert why_not_pair(pair, device, store=store) == reason
