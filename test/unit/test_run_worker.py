"""Worker processes: what a driver may do to one, and what the user sees of it."""

import os
import sys
from collections.abc import Iterator

import pytest

from coopc.run.worker import RunFailed, Worker

SERVER = """
import os, sys
from coopc.run.service import Refusal, serve

def echo(request, blobs):
    print("this would break a frame")
    return {"said": request["say"]}, blobs[::-1]

def crash(request, blobs):
    print("assertion failed: tile", file=sys.stderr, flush=True)
    os.abort()

def leave(request, blobs):
    os._exit(3)

def hang(request, blobs):
    while True:
        pass

def refuse(request, blobs):
    raise Refusal("expected K = 16")

def fail(request, blobs):
    raise KeyError("tile")

serve({"open": lambda r, b: ({"pid": os.getpid()}, ()), "echo": echo, "crash": crash,
       "leave": leave, "hang": hang, "refuse": refuse, "fail": fail})
"""


@pytest.fixture
def worker() -> Iterator[Worker]:
    command = [sys.executable, "-c", SERVER]
    server = Worker(command, dict(os.environ), {"do": "open"})
    yield server
    server.close()


def test_answers_one_request_after_the_other(worker: Worker):
    large = bytes(range(256)) * 4096  # more than a pipe holds, both ways
    for blobs in ([b"a", b""], [large, b"b"]):
        answer, results = worker.ask({"do": "echo", "say": 5}, blobs, seconds=60)
        assert answer == {"said": 5}
        assert results == blobs[::-1]


def test_process_is_kept(worker: Worker):
    process = worker.open()["pid"]
    worker.ask({"do": "echo", "say": 1}, seconds=60)
    assert worker.open()["pid"] == process


@pytest.mark.parametrize(
    ("do", "seconds", "reason"),
    [
        ("crash", 60, "ended with SIGABRT: assertion failed: tile"),
        ("leave", 60, "ended with status 3"),
        ("hang", 0.1, "no answer within 0.1 s"),
        ("refuse", 60, "^expected K = 16$"),
        ("fail", 60, "^KeyError: 'tile'$"),
    ],
)
def test_failure_is_one_error_and_then_all_is_well(
    worker: Worker, do: str, seconds: float, reason: str
):
    process = worker.open()["pid"]
    with pytest.raises(RunFailed, match=reason):
        worker.ask({"do": do}, seconds=seconds)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    answer, _ = worker.ask({"do": "echo", "say": 2}, seconds=60)
    assert answer == {"said": 2}


def test_the_driver_is_named_where_it_crashes(worker: Worker):
    worker.open()
    worker.driver = "a driver"
    with pytest.raises(RunFailed, match="SIGABRT, by a fault of a driver"):
        worker.ask({"do": "crash"}, seconds=60)


def test_missing_program():
    worker = Worker(["/nowhere/python"], {}, {"do": "open"})
    with pytest.raises(RunFailed, match="cannot start /nowhere/python"):
        worker.open()


def test_failure_to_open_is_reported():
    worker = Worker([sys.executable, "-c", "raise SystemExit(7)"], {}, {"do": "open"})
    with pytest.raises(RunFailed, match="ended with status 7"):
        worker.open()
