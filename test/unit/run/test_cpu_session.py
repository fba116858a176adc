"""Kernels on this processor in a worker process: what they may do to it."""

from collections.abc import Iterator
from signal import SIGSEGV

import numpy as np
import pytest

from coopc.run import cpu_session
from coopc.run.cpu import Steps
from coopc.run.cpu_session import Session
from coopc.run.tiles import Tiles
from coopc.run.worker import RunFailed

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

GRID = "i64 %x, i64 %y, i64 %z, i64 %first, i64 %last"
IR = f"""
define void @divide(ptr %a, i32 %by, {GRID}) {{
  %v = load i32, ptr %a
  %q = sdiv i32 %v, %by
  store i32 %q, ptr %a
  ret void
}}

define void @store(ptr %a, i64 %at, {GRID}) {{
  %p = getelementptr i32, ptr %a, i64 %at
  store i32 7, ptr %p
  ret void
}}

define void @read(ptr %a, i64 %at, {GRID}) {{
  %p = getelementptr i32, ptr %a, i64 %at
  %v = load i32, ptr %p
  store i32 %v, ptr %a
  ret void
}}

define void @fill(ptr %a, ptr %shared, i64 %n, {GRID}) {{
  store i32 9, ptr %shared
  %v = load i32, ptr %shared
  store i32 %v, ptr %a
  ret void
}}

define void @deep(ptr %a, {GRID}) {{
  %memory = alloca [12582912 x i32]
  %end = getelementptr i32, ptr %memory, i64 %x
  store volatile i32 11, ptr %end
  %v = load volatile i32, ptr %end
  %to = getelementptr i32, ptr %a, i64 %first
  store i32 %v, ptr %to
  ret void
}}

define void @forever(ptr %a, {GRID}) {{
  br label %loop
loop:
  store volatile i32 0, ptr %a
  br label %loop
}}
"""


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session.start() as found:
        yield found


def run(
    session: Session,
    name: str,
    *arguments: np.ndarray[tuple[int], np.dtype[np.int32]] | np.generic,
    groups: int = 1,
    ir: str = IR,
    threads: int = 1,
    repeats: int = 1,
    seconds: float = 60,
    scratch: tuple[tuple[int, tuple[int, ...]], ...] = (),
) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """What the first array is afterwards."""
    result = session.run(
        ir,
        Steps(((name, (groups, 1, 1)),), scratch),
        arguments,
        tiles=Tiles.NONE,
        names=["a"],
        threads=threads,
        repeats=repeats,
        seconds=seconds,
    )
    assert len(result.milliseconds) == repeats
    assert "without tiles" in result.where
    return result.arrays[0]


A = np.arange(8, 13, dtype=np.int32)
"""Of 20 bytes, which no page ends with by itself."""


def test_numbers_arrays_and_repeats(session: Session):
    """Each repeat is on the array as it was given."""
    found = run(session, "divide", A, np.int32(2), repeats=3)
    np.testing.assert_array_equal(found, [4, 9, 10, 11, 12])
    assert A[0] == 8
    found = run(session, "fill", A, scratch=((4, (4,)),))
    np.testing.assert_array_equal(found, [9, 9, 10, 11, 12])


@pytest.mark.parametrize(
    ("name", "at", "threads", "reason"),
    [
        ("divide", np.int32(0), 1, "divides an integer by zero"),
        ("divide", np.int32(0), 2, "divides an integer by zero"),
        ("store", np.int64(5), 1, "got one 0 bytes beyond the end of a"),
        ("read", np.int64(5), 2, "got one 0 bytes beyond the end of a"),
        ("read", np.int64(1 << 32), 1, r"got one \d{11} bytes beyond the end of a"),
        ("read", np.int64(-1 << 31), 1, r"got one \d{10} bytes before the beginning"),
        ("store", np.int64(-1), 1, "got one 4 bytes before the beginning of a"),
        ("read", np.int64(1 << 60), 1, "got one at the address 0x"),
    ],
)
def test_what_a_kernel_may_not_do(
    session: Session, name: str, at: np.generic, threads: int, reason: str
):
    """It ends in one error, and the next kernel runs."""
    with pytest.raises(RunFailed, match=reason) as error:
        run(session, name, A, at, groups=threads, threads=threads)
    assert "\n" not in str(error.value)
    np.testing.assert_array_equal(run(session, "store", A, np.int64(4))[4], 7)


@pytest.mark.parametrize("threads", [1, 2])
def test_private_memory_of_48_mebibytes(session: Session, threads: int):
    """Deep in a thread's stack: far more than the 8 MiB that systems give."""
    found = run(session, "deep", A, groups=4, threads=threads)
    assert found[0] == 11


def test_endless_loop(session: Session):
    with pytest.raises(RunFailed, match=r"no answer within 0\.5 s"):
        run(session, "forever", A, seconds=0.5)


def test_memory_that_steps_share_is_guarded(session: Session):
    """Here of no bytes, of which 4 are written."""
    with pytest.raises(RunFailed, match="got one 0 bytes beyond the end of memory"):
        run(session, "fill", A, scratch=((0, (4,)),))


def test_what_llvm_does_not_take(session: Session):
    with pytest.raises(RunFailed, match="LLVM does not take its input"):
        run(session, "f", A, ir="define void @f() {")
    with pytest.raises(RunFailed, match="expected 1 arguments of @forever, got 2"):
        run(session, "forever", A, np.int64(0))


def test_less_room_for_guards(monkeypatch: pytest.MonkeyPatch):
    """Where addresses are limited, guards are smaller; all memory is given back."""
    monkeypatch.setattr(cpu_session, "GUARDS", (1 << 60, 1 << 24))
    memory = cpu_session.GuardedMemory()
    array = memory.allocate(6, "a")
    end = array.ctypes.data + 6
    near, far = end + (1 << 24) - 1, end + (1 << 24)
    assert "16777215 bytes beyond the end of a" in memory.why_fault(SIGSEGV, near)
    assert "at the address" in memory.why_fault(SIGSEGV, far)
    assert memory.why_corrupt() is None
    memory.regions[0].pages[-8] = 0
    assert "2 bytes before the beginning of a" in (memory.why_corrupt() or "")
    memory.free()
    assert memory.why_corrupt() is None
