"""A thread pool whose threads wait in compiled code for the next parts of a kernel.

    pool = ThreadPool.of(4)      # three threads, and the one that calls
    run = pool.prepared([(entry, addresses)])
    run()                        # entry(addresses[n]) for each n, at once

Each thread begins with a range of the parts of its own, the same in each run, as their
data may be in its caches.  Then it takes parts that others have not begun, if there are
more parts than threads.  A thread that waits spins for a while, then sleeps on a futex
of Linux.  The threads of `concurrent.futures` need Python's lock to begin and to end
each part; barriers of the C library wake all threads from sleep.  Medians, in ms, of a
kernel that takes each of 16 cores 0.1, 1 or 10 ms, of one that does nothing, and of 0.1
ms on 2 and 8 cores:

    threads    16: 0    0.1    1      10     8: 0.1   2: 0.1
    this pool  0.005    0.15   1.03   10.6   0.16     0.10
    barriers   0.037    0.29   1.65   13.3   0.28     0.17
    futures    0.375    0.68   2.01   12.0   0.24     0.14
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import threading
from collections.abc import Callable, Sequence

import numpy as np

from coopc.run.native import Native

LINE = 8
"""Words of 8 bytes in a line of a cache."""
TICKET, SIZE, DONE, STOP, STEP, TAKEN = 0, 1, LINE, 2 * LINE, 3 * LINE, 4 * LINE
"""Where things are in the memory that threads share, in words.  At `TAKEN` are two
lines for each thread, which count the parts of its range that were begun: one for steps
of even tickets, one for those of odd ones."""
STEP_WORDS = 3
"""Of a step: the function, how many parts it has, and where their addresses are."""
SPINS = 4_000
"""How often a thread looks for work before it sleeps: for about 0.2 ms."""


def looking(number: str, at: str, test: str, begin: str, found: str, tired: str) -> str:
    """The blocks after `begin` that load a number until a test of it holds.

    Then they lead to `found`; after `SPINS` times to `tired`, which leads to `look`
    again.
    """
    return f"""\
look:
  %spins = phi i64 [ 0, %{begin} ], [ %more, %spin ], [ 0, %{tired} ]
  {number} = load atomic i64, ptr {at} acquire, align 8
  %there = {test}
  br i1 %there, label %{found}, label %again
again:
  %more = add i64 %spins, 1
  %tired = icmp ugt i64 %more, {SPINS}
  br i1 %tired, label %{tired}, label %spin
spin:
  call void @llvm.x86.sse2.pause()
  br label %look"""


CODE = f"""
declare void @llvm.x86.sse2.pause()
declare i64 @syscall(i64, ...)
declare i32 @sched_yield()
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)

define void @nothing(ptr %slot) {{
  ret void
}}

define void @work(ptr %state, i64 %index, i64 %ticket) {{
entry:
  %size_at = getelementptr i64, ptr %state, i64 {SIZE}
  %size = load i64, ptr %size_at
  %step_at = getelementptr i64, ptr %state, i64 {STEP}
  %step = load ptr, ptr %step_at
  %f = load ptr, ptr %step
  %count_at = getelementptr i64, ptr %step, i64 1
  %n = load i64, ptr %count_at
  %slots_at = getelementptr i64, ptr %step, i64 2
  %slots = load ptr, ptr %slots_at
  %odd = and i64 %ticket, 1
  %these = mul i64 %odd, %size
  %even = xor i64 %odd, 1
  %those = mul i64 %even, %size
  %mine_next = add i64 %those, %index
  %line_next = mul i64 %mine_next, {LINE}
  %word_next = add i64 %line_next, {TAKEN}
  %next_at = getelementptr i64, ptr %state, i64 %word_next
  store i64 0, ptr %next_at
  %of_one = icmp ule i64 %n, %size
  %n_or_size = call i64 @llvm.umax.i64(i64 %n, i64 %size)
  br label %range
range:
  %tried = phi i64 [ 0, %entry ], [ %now_tried, %next ]
  %after = add i64 %index, %tried
  %whose = urem i64 %after, %size
  %below = mul i64 %whose, %n_or_size
  %first = udiv i64 %below, %size
  %above = add i64 %below, %n_or_size
  %end = udiv i64 %above, %size
  %end_of_all = call i64 @llvm.umin.i64(i64 %end, i64 %n)
  %length = call i64 @llvm.usub.sat.i64(i64 %end_of_all, i64 %first)
  %number = add i64 %these, %whose
  %line = mul i64 %number, {LINE}
  %word = add i64 %line, {TAKEN}
  %taken_at = getelementptr i64, ptr %state, i64 %word
  br label %look
look:
  %seen = load atomic i64, ptr %taken_at monotonic, align 8
  %some = icmp ult i64 %seen, %length
  br i1 %some, label %take, label %next
take:
  %taken = atomicrmw add ptr %taken_at, i64 1 monotonic
  %is_there = icmp ult i64 %taken, %length
  br i1 %is_there, label %run, label %next
run:
  %part = add i64 %first, %taken
  %at = getelementptr i64, ptr %slots, i64 %part
  %slot = load ptr, ptr %at
  call void %f(ptr %slot)
  br label %look
next:
  %now_tried = add i64 %tried, 1
  %all = icmp eq i64 %now_tried, %size
  %last = or i1 %all, %of_one
  br i1 %last, label %exit, label %range
exit:
  ret void
}}

define void @wait(ptr %state, i64 %index) {{
entry:
  %done = getelementptr i64, ptr %state, i64 {DONE}
  %stop = getelementptr i64, ptr %state, i64 {STOP}
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %ticket, %finished ]
  br label %look
{looking("%ticket", "%state", "icmp ne i64 %ticket, %seen", "idle", "work", "sleep")}
sleep:
  %low = trunc i64 %seen to i32
  %r = call i64 (i64, ...) @syscall(i64 202, ptr %state, i32 0, i32 %low, ptr null)
  br label %look
work:
  %stopped = load atomic i64, ptr %stop acquire, align 8
  %ends = icmp ne i64 %stopped, 0
  br i1 %ends, label %exit, label %mine
mine:
  call void @work(ptr %state, i64 %index, i64 %ticket)
  br label %finished
finished:
  %before = atomicrmw add ptr %done, i64 1 release
  br label %idle
exit:
  ret void
}}

define void @start(ptr %state, i64 %others, ptr %steps, i64 %number) {{
entry:
  %done = getelementptr i64, ptr %state, i64 {DONE}
  %step_at = getelementptr i64, ptr %state, i64 {STEP}
  br label %begin
begin:
  %step = phi ptr [ %steps, %entry ], [ %next, %end ]
  %left = phi i64 [ %number, %entry ], [ %fewer, %end ]
  store ptr %step, ptr %step_at
  store atomic i64 0, ptr %done release, align 8
  %old = atomicrmw add ptr %state, i64 1 release
  %r = call i64 (i64, ...) @syscall(i64 202, ptr %state, i32 1, i32 2147483647)
  %ticket = add i64 %old, 1
  call void @work(ptr %state, i64 0, i64 %ticket)
  br label %look
{looking("%now", "%done", "icmp uge i64 %now, %others", "begin", "end", "yield")}
yield:
  %y = call i32 @sched_yield()
  br label %look
end:
  %next = getelementptr i64, ptr %step, i64 {STEP_WORDS}
  %fewer = sub i64 %left, 1
  %over = icmp eq i64 %fewer, 0
  br i1 %over, label %exit, label %begin
exit:
  ret void
}}
"""
"""A ticket is drawn for each step; who sees a new one takes parts until none is left,
and says so.  It also clears its count for the next step, which nobody reads yet."""


WAIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
START = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p, ctypes.c_int64] * 2)
"""The two functions take the memory, and a thread's number or how many others there
are; the second one also steps, and how many."""


class ThreadPool:
    """Some threads, of which one is whoever calls `run`."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._process = os.getpid()
        self._code = Native.compile(CODE)
        self._start = START(self._code.address("start"))
        memory = np.zeros(LINE + TAKEN + 2 * size * LINE, np.int64)
        self._state = memory[-memory.ctypes.data // 8 % LINE :]  # begins with a line
        self._state[SIZE] = size
        self._address = self._state.ctypes.data
        self._lock = threading.Lock()
        wait, state = WAIT(self._code.address("wait")), self._address
        self._threads = [
            threading.Thread(target=wait, args=(state, index), daemon=True)
            for index in range(1, size)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.stop)

    @classmethod
    def of(cls, size: int) -> ThreadPool:
        """The pool of a size, which waits from one run to the next.

        A process that was forked has pools of its own, as it has no threads of others.
        """
        return _pool(size, os.getpid())

    def prepared(
        self, steps: Sequence[tuple[int, Sequence[int]]]
    ) -> Callable[[], None]:
        """Return what calls the function of each step with each address, at once.

        A step begins after the one before; all of them are one call of compiled code.
        """
        assert all(parts for _, parts in steps), steps
        kept = [np.array(parts, np.int64) for _, parts in steps]
        words = [
            (entry, len(parts), parts.ctypes.data)
            for (entry, _), parts in zip(steps, kept, strict=True)
        ]
        table = np.array(words, np.int64)
        given = self.size - 1, table.ctypes.data, len(table)

        def run(_: object = (kept, table)) -> None:
            is_own = self._process == os.getpid()
            pool = self if is_own else ThreadPool.of(self.size)
            with pool._lock:
                pool._start(pool._address, *given)

        return run

    def pin(self, processors: Sequence[int]) -> None:
        """Keep each thread on a processor of its own, whoever calls on the first."""
        threads = [0, *(x.native_id for x in self._threads)]
        for thread, processor in zip(threads, processors, strict=True):
            assert thread is not None, "threads have been started"
            os.sched_setaffinity(thread, {processor})

    def stop(self) -> None:
        if self._process != os.getpid():
            return
        with self._lock:
            self._state[STOP] = 1
            address, none = self._code.address("nothing"), np.zeros(1, np.int64)
            step = np.array([address, 1, none.ctypes.data])
            self._start(self._address, 0, step.ctypes.data, 1)
            for thread in self._threads:
                thread.join()


@functools.cache
def _pool(size: int, process: int) -> ThreadPool:
    return ThreadPool(size)
