"""The worker's side of a worker process: answers one request after the other.

A worker process owns a driver that may print, abort or hang.  What it prints on its
standard output goes to standard error, so that it cannot break a frame; a request that
takes longer than its time ends the process, so that none outlives its parent.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO, NoReturn, TypeAlias

from coopc.run.frame import Blob, Header, frame_parts, read_frame

Handler: TypeAlias = Callable[[Header, list[bytes]], tuple[Header, Sequence[Blob]]]
"""Answers a request: header and blobs to header and blobs."""


class Refusal(Exception):
    """A request that a worker refuses: the reason, in words for the user."""


_outgoing: BinaryIO | None = None
"""Where answers go, while requests are served."""
_ending = threading.Lock()
"""Held from when the process ends: other threads of a driver may fail as well."""


def give_up(reason: str, **details: int) -> NoReturn:
    """Answer the request in hand with an error, and end the process at once.

    For what a handler cannot raise, such as a signal within a driver's code.

    Args:
        reason: in words for the user.
        details: more of the answer.
    """
    _ending.acquire()
    _answer({"error": reason, **details})
    os._exit(1)


def _answer(answer: Header, results: Sequence[Blob] = ()) -> None:
    assert _outgoing is not None, answer
    for part in frame_parts(answer, results):
        _outgoing.write(part)
    _outgoing.flush()


def serve(handlers: Mapping[str, Handler]) -> None:
    """Answer requests by their "do" until standard input ends.

    Args:
        handlers: what to call for each request.  What a handler raises is sent back
            as the answer's "error", with its type unless it is a Refusal.
    """
    global _outgoing
    incoming = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    _outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            request, blobs = read_frame(incoming.read)
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_REAL, request["seconds"])
        answer: Header
        results: Sequence[Blob]
        try:
            answer, results = handlers[request["do"]](request, blobs)
        except Refusal as e:
            answer, results = {"error": str(e)}, ()
        except Exception as e:
            text = str(e) or "no message"
            answer, results = {"error": f"{type(e).__name__}: {text}"}, ()
        signal.setitimer(signal.ITIMER_REAL, 0)
        _answer(answer, results)
