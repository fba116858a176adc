"""The messages between coopc and its worker processes."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coopc.run.frame import frame_parts, read_frame

HEADERS = st.dictionaries(
    st.text().filter(lambda x: x != "blobs"), st.integers() | st.text() | st.booleans()
)
BLOBS = st.lists(st.binary())


@given(HEADERS, BLOBS)
def test_round_trip(header: dict[str, object], blobs: list[bytes]):
    stream = io.BytesIO(b"".join(frame_parts(header, blobs)))
    assert read_frame(stream.read) == (header, blobs)
    assert stream.read() == b""


@given(HEADERS, BLOBS, st.data())
def test_cut(header: dict[str, object], blobs: list[bytes], data: st.DataObject):
    whole = b"".join(frame_parts(header, blobs))
    size = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(EOFError):
        read_frame(io.BytesIO(whole[:size]).read)
