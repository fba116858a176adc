"""The parent's side of a worker process: asks, and turns every failure into one error.

Drivers abort on errors of their own, crash on modules that they do not like, and hang.
So each lives in a process that coopc starts, asks over pipes, and starts again after a
failure.
"""

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from coopc.run.frame import Blob, Header, frame_parts, read_frame

PACKAGE_PARENT = Path(__file__).absolute().parents[2]
START_SECONDS = 60.0
"""How long a worker may take to load its driver."""
GRACE_SECONDS = 2.0
"""How much later than the worker's own alarm the parent gives up."""
MESSAGE_BYTES = 2000
"""How much of what a driver printed goes into an error."""


class RunFailed(Exception):
    """A kernel could not be run: the reason, in words for the user.

    Args:
        reason: it.
        details: what else a worker answered.
    """

    def __init__(self, reason: str, details: Header | None = None) -> None:
        super().__init__(reason)
        self.details = details or {}


def serving(python: Sequence[str], module: str) -> list[str]:
    """The command of a worker process.

    Args:
        python: the command that starts python.
        module: the module of coopc.run whose `main` serves requests.
    """
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE_PARENT)!r}); "
        f"from coopc.run.{module} import main; main()"
    )
    return [*python, "-P", "-c", code]


class Worker:
    """A process that owns a driver; started on first use, again after a failure.

    Args:
        command: the program to start and its arguments; see `serving`.
        environment: the variables of the process.
        opening: the request to send first; its answer is `opened`.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        opening: Header,
    ) -> None:
        self.command = list(command)
        self.environment = dict(environment)
        self.opening = opening
        self.driver = ""
        """Its name, once known: what is to blame where it ends by a signal."""
        self.opened: Header = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._printed: IO[bytes] | None = None

    def ask(
        self, request: Header, blobs: Sequence[Blob] = (), *, seconds: float
    ) -> tuple[Header, list[bytes]]:
        """Send a request and return its answer.

        Args:
            request: its "do" names a handler of the worker.
            blobs: binary data of the request.
            seconds: how long the worker may take.

        Raises:
            RunFailed: the worker refused, crashed or took too long.
        """
        self.open()
        return self._exchange(request, blobs, seconds)

    def open(self) -> Header:
        """Start the process if it does not run, and return its first answer.

        Raises:
            RunFailed: it could not be started.
        """
        if self._process is None:
            self._process = self._start()
            self.opened, _ = self._exchange(self.opening, (), START_SECONDS)
        return self.opened

    def close(self) -> None:
        """End the process and wait for it."""
        process, self._process = self._process, None
        printed, self._printed = self._printed, None
        if process is None or printed is None:
            return
        printed.close()
        process.kill()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        printed = tempfile.TemporaryFile()  # noqa: SIM115, closed with the process
        try:
            process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                env=self.environment,
            )
        except OSError as e:
            printed.close()
            raise RunFailed(f"cannot start {self.command[0]}: {e}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        os.set_blocking(process.stdin.fileno(), False)
        os.set_blocking(process.stdout.fileno(), False)
        self._printed = printed
        return process

    def _exchange(
        self, request: Header, blobs: Sequence[Blob], seconds: float
    ) -> tuple[Header, list[bytes]]:
        assert self._process is not None
        assert self._printed is not None
        self._printed.seek(0)
        self._printed.truncate()
        pipes = _Pipes(self._process, time.monotonic() + seconds + GRACE_SECONDS)
        try:
            for part in frame_parts(request | {"seconds": seconds}, blobs):
                pipes.write(part)
            answer, results = read_frame(pipes.read)
        except (EOFError, BrokenPipeError):
            raise RunFailed(self._why_ended(seconds)) from None
        except TimeoutError:
            self.close()
            raise RunFailed(f"no answer within {seconds:g} s") from None
        except BaseException:
            self.close()  # the next answer would be that of this request
            raise
        if "error" in answer:
            message = answer["error"] + self._last_printed()
            self.close()
            raise RunFailed(message, answer)
        return answer, results

    def _why_ended(self, seconds: float) -> str:
        """Why the process is gone: called when its pipes are closed."""
        assert self._process is not None
        try:
            status = self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            status = 0
        printed = self._last_printed()
        self.close()
        if status == -signal.SIGALRM:
            return f"no answer within {seconds:g} s"
        end = f"status {status}" if status >= 0 else signal.Signals(-status).name
        if status < 0 and self.driver:
            end += (
                f", by a fault of {self.driver}: other code of the same kernel "
                "(unroll=true, another subgroup-size) may avoid it"
            )
        return f"the process that runs kernels ended with {end}{printed}"

    def _last_printed(self) -> str:
        """The end of what the driver printed during the last request."""
        assert self._printed is not None
        self._printed.seek(0)
        text = self._printed.read().decode(errors="replace").strip()
        return f": {text[-MESSAGE_BYTES:]}" if text else ""


class _Pipes:
    """Reads and writes the pipes of a process until a deadline."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin = process.stdin.fileno()
        self.stdout = process.stdout.fileno()
        self.deadline = deadline

    def write(self, data: Blob) -> None:
        rest = memoryview(data)
        while rest:
            self._wait(self.stdin, select.POLLOUT)
            rest = rest[os.write(self.stdin, rest) :]

    def read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait(self.stdout, select.POLLIN)
            piece = os.read(self.stdout, size - len(data))
            if not piece:
                break
            data += piece
        return bytes(data)

    def _wait(self, file: int, event: int) -> None:
        poll = select.poll()
        poll.register(file, event)
        if not poll.poll(max(0.0, self.deadline - time.monotonic()) * 1000):
            raise TimeoutError


class Served:
    """What a worker process serves, open until it is closed; a context manager."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def close(self) -> None:
        """End the worker process."""
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
