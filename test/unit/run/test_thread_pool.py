"""Threads that wait in compiled code: each part is run once, in every run."""

import numpy as np
import pytest

from coopc.run.cpu import PARTS, Program, Steps, parts
from coopc.run.native import Native
from coopc.run.thread_pool import ThreadPool
from coopc.run.tiles import Tiles

pytest.importorskip("llvmlite.binding", reason="llvmlite is not installed")

COUNT = """
define void @count(ptr %out, i64 %gx, i64 %gy, i64 %gz, i64 %first, i64 %last) {
  %at = getelementptr i64, ptr %out, i64 %first
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  ret void
}
"""

ADD = """
define void @add(ptr %out, i64 %gx, i64 %gy, i64 %gz, i64 %first, i64 %last) {
  %far = sub i64 %gx, %last
  %from = getelementptr i64, ptr %out, i64 %far
  %counted = load i64, ptr %from
  %to = add i64 %first, 16
  %at = getelementptr i64, ptr %out, i64 %to
  %old = load i64, ptr %at
  %new = add i64 %old, %counted
  store i64 %new, ptr %at
  ret void
}
"""


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_steps_follow_each_other(threads: int) -> None:
    """The second step reads what another thread counted in the first."""
    program = Program.of_text(COUNT + ADD, Tiles.NONE)
    out, grid = np.zeros(32, np.int64), (threads, 1, 1)
    steps = Steps((("count", grid), ("add", grid)))
    run = program.prepared_steps(steps, [out], threads=threads)
    for _ in range(20):
        run()
    np.testing.assert_array_equal(out[16 : 16 + threads], sum(range(21)))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_part_once_a_run(threads: int) -> None:
    program = Program.of_text(COUNT, Tiles.NONE)
    for groups in (1, 3, 16):
        out = np.zeros(16, np.int64)
        run = program.prepared("count", [out], (groups, 1, 1), threads=threads)
        for _ in range(20):
            run()
        expected = np.zeros(16, np.int64)
        most = threads * PARTS if threads > 1 else 1
        expected[[part.start for part in parts(groups, most)]] = 20
        np.testing.assert_array_equal(out, expected)


SLOW = """
define void @slow(ptr %slot) {
entry:
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %j, %again ]
  %j = add i64 %i, 1
  %n = load volatile i64, ptr %slot
  %more = icmp ult i64 %j, 100000
  br i1 %more, label %again, label %end
end:
  %o = atomicrmw add ptr %slot, i64 1 monotonic
  ret void
}
"""


@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_parts_that_others_take(count: int) -> None:
    """Each part of each step runs once, whoever of three threads is done first."""
    code, pool = Native.compile(SLOW), ThreadPool(3)
    numbers = np.zeros(8 * count, np.int64)
    places = [numbers.ctypes.data + 64 * part for part in range(count)]
    entry = code.address("slow")
    run = pool.prepared([(entry, places), (entry, places[:1]), (entry, places)])
    for _ in range(10):
        run()
    pool.stop()
    expected = np.full(count, 20)
    expected[0] += 10
    np.testing.assert_array_equal(numbers[::8], expected)


def test_arguments_are_counted() -> None:
    program = Program.of_text(COUNT, Tiles.NONE)
    with pytest.raises(ValueError, match="expected 1 arguments of @count, got 0"):
        program.prepared("count", [], (1, 1, 1))
