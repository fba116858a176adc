"""Worker processes, which own drivers: these may print, abort, hang, take all memory.

    worker = Worker(serving([sys.executable], "opencl"), os.environ, "open", True)
    worker.call("run", kernel, buffers, seconds=60)     # in this process

    serve({"open": device.open, "run": device.run})     # in the worker

A call names a handler of the worker and gives its arguments.  What it returns, or why
it does not, comes back over a connection of `multiprocessing`.  `multiprocessing`
itself does not start the process: a driver may need another loader, and must not import
the caller's main module.  A worker that
fails is ended, and started again by the next call.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import IO, Any, NoReturn, Self

PACKAGE_PARENT = Path(__file__).absolute().parents[2]
START_SECONDS = 60.0
"""How long a worker may take to load its driver."""
TIMEOUT_SECONDS = 60.0
"""How long a driver may take to compile and to run a kernel, by default."""
GRACE_SECONDS = 2.0
"""How much later than the worker's own alarm the parent gives up."""
LOOK_SECONDS = 0.1
"""How often the parent looks at the memory of a worker that it waits for."""
MEMORY_SHARE = 0.75
"""Of the machine's memory that a worker may take; Intel's compiler takes 15 GB for
some modules."""
MESSAGE_BYTES = 2000
"""How much of what a driver printed goes into an error."""


class RunFailed(Exception):
    """A kernel could not be run: the reason, in words for the user, and details."""

    def __init__(self, reason: str, details: Mapping[str, int] | None = None) -> None:
        super().__init__(reason)
        self.details = dict(details or {})


# --- The parent's side. ---


def serving(python: Sequence[str], module: str) -> list[str]:
    """The command of a worker: `main` of a module of coopc.run serves its calls."""
    code = (
        f"import sys; sys.path.insert(0, {str(PACKAGE_PARENT)!r}); "
        f"from coopc.run.{module} import main; main()"
    )
    return [*python, "-P", "-c", code]


class Worker:
    """A process that owns a driver; a context manager.

    It is started on first use, and again after a failure.

    Args:
        command: the program to start and its arguments; see `serving`.
        environment: the variables of the process.
        opening: the handler to call first; what it returns is `opened`.
        arguments: of that call.
        memory: the most bytes that the process may take; a share of the machine's
            memory by default.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        opening: str,
        *arguments: object,
        memory: int | None = None,
    ) -> None:
        self.driver = ""
        """Its name, once known: what is to blame where it ends by a signal."""
        self.memory = memory or int(MEMORY_SHARE * memory_of_machine())
        self._command = list(command)
        self._environment = dict(environment)
        self._opening = (opening, arguments)
        self._opened: Any = None
        self._step = ""
        """What the worker last reported of the call in hand."""
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._printed: IO[bytes] | None = None

    def call(self, handler: str, *arguments: object, seconds: float) -> Any:
        """What a handler of the worker returns within so many seconds.

        Raises:
            RunFailed: the worker refused, crashed, or took too long or too much memory.
        """
        self.open()
        return self._exchange(handler, arguments, seconds)

    def open(self) -> Any:
        """Start the process if it does not run, and return what its opening returned.

        Raises:
            RunFailed: it could not be started.
        """
        if self._process is None:
            self._start()
            self._opened = self._exchange(*self._opening, START_SECONDS)
        return self._opened

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        for each in (self._connection, self._printed):
            if each is not None:
                each.close()
        self._connection = self._printed = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        self._connection, theirs = Pipe()
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115, `close` closes it
        try:
            self._process = subprocess.Popen(
                [*self._command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._printed,
                stderr=self._printed,
                env=self._environment,
                pass_fds=[theirs.fileno()],
            )
        except OSError as e:
            self.close()
            raise RunFailed(f"cannot start {self._command[0]}: {e}") from None
        finally:
            theirs.close()

    def _exchange(
        self, handler: str, arguments: tuple[object, ...], seconds: float
    ) -> Any:
        assert self._connection is not None
        assert self._printed is not None
        self._printed.seek(0)
        self._printed.truncate()
        self._step = ""
        deadline = time.monotonic() + seconds + GRACE_SECONDS
        try:
            self._connection.send((handler, arguments, seconds))
            answer: object = _Step()
            while isinstance(answer, _Step):
                self._step = str(answer)
                self._wait(seconds, deadline)
                answer = self._connection.recv()
        except (EOFError, OSError):
            raise RunFailed(self._why_ended(seconds)) from None
        except BaseException:
            self.close()  # the next answer would be that of this call
            raise
        if isinstance(answer, RunFailed):
            reason = f"{answer}{self._last_printed()}"
            self.close()
            raise RunFailed(reason, answer.details)
        return answer

    def _wait(self, seconds: float, deadline: float) -> None:
        """Wait for a message.

        Raises:
            RunFailed: it takes too long, or too much memory.
        """
        assert self._connection is not None
        assert self._process is not None
        while not self._connection.poll(LOOK_SECONDS):
            if resident_bytes(self._process.pid) > self.memory:
                blamed = self.driver or "the process that runs kernels"
                raise RunFailed(
                    f"expected to need at most {self.memory / 1e9:.3g} GB of memory, "
                    f"{MEMORY_SHARE:.0%} of what there is, got more in {blamed}"
                )
            if time.monotonic() > deadline:
                raise RunFailed(self._too_long(seconds))

    def _why_ended(self, seconds: float) -> str:
        """Why the process is gone: called when its connection is closed."""
        assert self._process is not None
        try:
            status = self._process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            status = 0
        printed = self._last_printed()
        self.close()
        if status == -signal.SIGALRM:
            return self._too_long(seconds)
        end = f"status {status}" if status >= 0 else signal.Signals(-status).name
        if status == -signal.SIGKILL:
            end += ", for example because the system is out of memory"
        elif status == -signal.SIGILL:
            end += ", by an instruction that this processor lacks: the code is for one "
            end += "with other features"
        elif status < 0 and self.driver:
            end += (
                f", by a fault of {self.driver}: other code of the same kernel "
                "(unroll=true, another subgroup-size) may avoid it"
            )
        return f"the process that runs kernels ended with {end}{printed}"

    def _last_printed(self) -> str:
        """The end of what the driver printed during the last call."""
        assert self._printed is not None
        self._printed.seek(0)
        text = self._printed.read().decode(errors="replace").strip()
        return f": {text[-MESSAGE_BYTES:]}" if text else ""

    def _too_long(self, seconds: float) -> str:
        who = self.driver or "the worker"
        step = f": {who} was {self._step}" if self._step else ""
        return f"no answer within {seconds:g} s{step}"


def memory_of_machine() -> int:
    """The bytes of memory of this machine, or of its container."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else ""
    return min(found, int(text)) if text.isdigit() else found


def resident_bytes(process: int) -> int:
    """The memory that a process takes; 0 if it is gone."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class _Step(str):
    """A message of a worker that has no answer yet: what it does now."""


# --- The worker's side. ---

_connection: Connection | None = None
"""To the parent, while calls are served."""
_ending = threading.Lock()
"""Held from when the process ends: other threads of a driver may fail as well."""


def serve(handlers: Mapping[str, Callable[..., object]]) -> None:
    """Answer calls, by the names of handlers, until the parent ends.

    A call that takes longer than its time ends the process, so that none outlives its
    parent.  What a handler raises is sent back as a RunFailed, with its type unless it
    is one.
    """
    global _connection
    _connection = Connection(int(sys.argv[-1]))
    while True:
        try:
            handler, arguments, seconds = _connection.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_REAL, seconds)
        answer: object
        try:
            answer = handlers[handler](*arguments)
        except RunFailed as e:
            answer = RunFailed(str(e), e.details)
        except Exception as e:
            text = str(e) or "no message"
            answer = RunFailed(f"{type(e).__name__}: {text}")
        signal.setitimer(signal.ITIMER_REAL, 0)
        _connection.send(answer)


def report(step: str) -> None:
    """Tell the parent what the call in hand does now, in case no answer follows.

    Args:
        step: such as "compiling k".
    """
    assert _connection is not None, step
    _connection.send(_Step(step))


def give_up(reason: str, **details: int) -> NoReturn:
    """Answer the call in hand with a RunFailed, and end the process at once.

    For what a handler cannot raise, such as a signal within a driver's code.
    """
    _ending.acquire()
    assert _connection is not None, reason
    _connection.send(RunFailed(reason, details))
    os._exit(1)
