"""What a device has no room for is refused with its limit, when it is compiled."""

import pytest

import coopc

OPEN = "memref<?x?xf32, strided<[?, ?], offset: ?>>"
"""Its pointer, or its address, and 5 numbers."""


def kernel(*arguments: str, body: str = "") -> str:
    """A kernel with arguments of some types."""
    named = ", ".join(f"%m{at}: {type}" for at, type in enumerate(arguments))
    return (
        f"func.func @k({named}) attributes {{simt.kernel}} {{\n"
        f"  %0 = arith.constant 0 : index\n  %z = arith.constant 0.0 : f32\n{body}"
        "  func.return\n}\n"
    )


def allocating(floats: int) -> str:
    """A function that allocates work-group memory."""
    type = f"memref<{floats}xf32, #simt.memory<workgroup>>"
    return f"""
func.func @inner() {{
  %0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %m = memref.alloca() : {type}
  memref.store %z, %m[%0] : {type}
  func.return
}}
"""


CALL = "  func.call @inner() : () -> ()\n"

FIT = (
    ("nvidia", "", kernel(*[OPEN] * 12)),  # 240 bytes
    ("nvidia", "addresses=true", kernel(*[OPEN] * 8)),  # 28 bytes each, aligned
    ("intel-cpu", "", kernel(*[OPEN] * 80)),  # 48 bytes each
    ("lavapipe", "", kernel("memref<8192x4096xf32>")),
    ("lavapipe", "addresses=true", kernel("memref<8192x8192xf32>")),
    ("intel-cpu", "", kernel("memref<70000x70000xf32>")),
    ("lavapipe", "", allocating(4096) + kernel(body=CALL * 2)),
    # One function, called twice.
    ("dg2", "", allocating(10000) + kernel(body=CALL * 2)),
)

TOO_LARGE = {
    "at most 256 bytes of push constants, which nvidia takes, got 260": (
        ("nvidia", "", kernel(*[OPEN] * 13)),
    ),
    "at most 256 bytes of push constants, which lavapipe takes, got 284": (
        ("lavapipe", "addresses=true", kernel(*[OPEN] * 9)),
    ),
    "at most 3840 bytes of arguments, which intel-cpu takes, got 3888": (
        ("intel-cpu", "", kernel(*[OPEN] * 81)),
    ),
    "a buffer of at most 134217728 bytes, which lavapipe binds, got 134234112 of m0": (
        ("lavapipe", "", kernel("memref<8193x4096xf32>")),
        ("lavapipe", "", kernel("memref<8193x1024xvector<4xf32>>")),
        (
            "lavapipe",
            "",
            kernel("memref<8193x8xf32, strided<[4096, 1], offset: 4088>>"),
        ),
    ),
    "at most 32768 bytes of work-group memory, which lavapipe has, got 32776": (
        ("lavapipe", "", allocating(4097) + kernel(body=CALL * 2)),
    ),
    "at most 65536 bytes of work-group memory, which dg2 has, got 80000": (
        ("dg2", "", allocating(20000) + kernel(body=CALL * 2)),
    ),
}


def emit(device: str, options: str, text: str) -> None:
    """Emit a module for a device."""
    coopc.compile(text, f"set-target{{device={device}}}", f"spirv{{{options}}}")


def test_what_fits() -> None:
    for each in FIT:
        emit(*each)


@pytest.mark.parametrize("message", TOO_LARGE)
def test_what_is_too_large(message: str) -> None:
    for each in TOO_LARGE[message]:
        with pytest.raises(coopc.CompileError, match=f"expected {message}"):
            emit(*each)
