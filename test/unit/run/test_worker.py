"""Worker processes: what a driver may do to one, and what the user sees of it."""

import os
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from coopc.run.worker import RunFailed, Worker, memory_of_machine

SERVER = """
import os, sys, time
from coopc.run.worker import RunFailed, give_up, report, serve

kept = []

def echo(*arguments):
    print("this is not part of an answer")
    return arguments[::-1]

def crash():
    print("assertion failed: tile", file=sys.stderr, flush=True)
    os.abort()

def leave():
    os._exit(3)

def killed():
    os.kill(os.getpid(), 9)

def illegal():
    os.kill(os.getpid(), 4)

def hang():
    while True:
        pass

def compile():
    report("reading k")
    report("compiling k")
    hang()

def refuse():
    raise RunFailed("expected K = 16", {"check": 7})

def give():
    give_up("expected an index", check=3)

def fail():
    raise KeyError("tile")

def grow(size):
    kept.append(b"a" * size)
    hang()

serve({"open": os.getpid} | {f.__name__: f for f in (
    echo, crash, leave, killed, illegal, hang, compile, refuse, give, fail, grow)})
"""


def server(memory: int | None = None) -> Worker:
    return Worker([sys.executable, "-c", SERVER], os.environ, "open", memory=memory)


@pytest.fixture
def worker() -> Iterator[Worker]:
    with server() as found:
        yield found


def test_answers_one_call_after_the_other(worker: Worker):
    large = bytes(range(256)) * 4096  # more than a socket holds, both ways
    for arguments in ((5, b"", "x"), (large, {"a": (1, 2)}), ()):
        assert worker.call("echo", *arguments, seconds=60) == arguments[::-1]


def test_arrays_and_numbers_of_numpy(worker: Worker):
    given = (np.arange(6.0).reshape(2, 3), np.float16(3))
    number, array = worker.call("echo", *given, seconds=60)
    np.testing.assert_array_equal(array, given[0])
    assert (number, type(number)) == (given[1], np.float16)


def test_process_is_kept(worker: Worker):
    process = worker.open()
    worker.call("echo", seconds=60)
    assert worker.open() == process


@pytest.mark.parametrize(
    ("handler", "seconds", "reason"),
    [
        ("crash", 60, "ended with SIGABRT: assertion failed: tile"),
        ("leave", 60, "ended with status 3"),
        (
            "killed",
            60,
            "ended with SIGKILL, for example because the system is out of memory",
        ),
        (
            "illegal",
            60,
            "ended with SIGILL, by an instruction that this processor lacks",
        ),
        ("hang", 0.1, r"no answer within 0\.1 s$"),
        ("compile", 0.2, r"no answer within 0\.2 s: the worker was compiling k$"),
        ("refuse", 60, "^expected K = 16$"),
        ("give", 60, "^expected an index$"),
        ("fail", 60, "^KeyError: 'tile'$"),
    ],
)
def test_failure_is_one_error_and_then_all_is_well(
    worker: Worker, handler: str, seconds: float, reason: str
):
    process = worker.open()
    with pytest.raises(RunFailed, match=reason):
        worker.call(handler, seconds=seconds)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert worker.call("echo", 2, seconds=60) == (2,)


@pytest.mark.parametrize(("handler", "number"), [("refuse", 7), ("give", 3)])
def test_details_of_a_refusal(worker: Worker, handler: str, number: int):
    with pytest.raises(RunFailed) as error:
        worker.call(handler, seconds=60)
    assert error.value.details == {"check": number}


def test_the_driver_is_named_where_it_crashes(worker: Worker):
    worker.open()
    worker.driver = "a driver"
    with pytest.raises(RunFailed, match="SIGABRT, by a fault of a driver"):
        worker.call("crash", seconds=60)


def test_memory_is_limited():
    """Here to 100 MB; a worker that waits for nothing is not looked at."""
    with server(memory=100_000_000) as worker:
        process = worker.open()
        worker.driver = "a driver"
        with pytest.raises(RunFailed, match=r"at most 0\.1 GB of memory.* in a driver"):
            worker.call("grow", 200_000_000, seconds=60)
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)
        assert worker.call("echo", 2, seconds=60) == (2,)


def test_memory_of_the_machine():
    assert server().memory < memory_of_machine()


def test_a_process_that_ended_between_calls(worker: Worker):
    os.kill(worker.open(), 9)
    with pytest.raises(RunFailed, match="ended with SIGKILL"):
        worker.call("echo", seconds=60)
    assert worker.call("echo", 2, seconds=60) == (2,)


def test_missing_program():
    worker = Worker(["/nowhere/python"], {}, "open")
    with pytest.raises(RunFailed, match="cannot start /nowhere/python"):
        worker.open()


def test_failure_to_open_is_reported():
    worker = Worker([sys.executable, "-c", "raise SystemExit(7)"], {}, "open")
    with pytest.raises(RunFailed, match="ended with status 7"):
        worker.open()
