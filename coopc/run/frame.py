"""The messages between coopc and a worker process that owns a driver.

A frame is a JSON header and any number of binary blobs:

    4 bytes   length of the header in bytes, little-endian
    header    a JSON object; its "blobs" lists the length in bytes of each blob
    blobs     one after the other

Laws (test/unit/test_run_frame.py checks each by its name):

    round_trip   read_frame reads what frame_parts wrote
    cut          a frame that ends early is an EOFError, never a shorter frame
"""

import json
import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Header: TypeAlias = dict[str, Any]
Blob: TypeAlias = bytes | bytearray | memoryview

_LENGTH = struct.Struct("<I")


def frame_parts(header: Header, blobs: Sequence[Blob] = ()) -> list[Blob]:
    """The pieces of a frame, to be written in this order.

    Args:
        header: what the frame says; "blobs" is filled in.
        blobs: the binary data; a memoryview must be one of bytes.
    """
    text = json.dumps(header | {"blobs": [len(b) for b in blobs]}).encode()
    return [_LENGTH.pack(len(text)) + text, *blobs]


def read_frame(read: Callable[[int], bytes]) -> tuple[Header, list[bytes]]:
    """The header and the blobs of the next frame.

    Args:
        read: reads exactly that many bytes, fewer only at the end of the stream.

    Raises:
        EOFError: the stream ended before or inside the frame.
    """

    def exactly(size: int) -> bytes:
        data = read(size)
        if len(data) < size:
            raise EOFError(f"expected {size} bytes, got {len(data)}")
        return data

    (length,) = _LENGTH.unpack(exactly(_LENGTH.size))
    header: Header = json.loads(exactly(length))
    return header, [exactly(size) for size in header.pop("blobs")]
