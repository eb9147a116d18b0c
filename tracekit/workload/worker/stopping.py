"""The end of a worker: by a signal, by the end of the process that started it, or by a failure."""

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from tracekit.base import InterruptedRunError, TracekitError
from tracekit.workload.threadgroups import advise_threadgroup

GRACE = 5.0  # seconds for a step to end, the account to be closed, and a recorder to be stopped
_CHUNK = 1 << 16


def _do_nothing(_: bytes | None = None) -> None:
    pass


@dataclass
class Stop:
    """The requests to stop; counted by a signal, read between steps.

    `abandoned` if the recorder is gone, so that the work is useless.
    """

    requests: int = 0
    abandoned: bool = False
    _settled_requests: int = 0

    @property
    def requested(self) -> bool:
        """Whether there was a request since the last settlement."""
        return self.requests > self._settled_requests

    def settle(self) -> bool:
        """Mark the requests so far as done; return whether there was any."""
        requests = self.requests  # a signal may add one at any time
        had_requests = requests > self._settled_requests
        self._settled_requests = requests
        return had_requests

    def on_signals(self, also: Callable[[], None] = _do_nothing) -> None:
        """Count SIGINT and SIGTERM from now on; `also` is called after each."""

        def ask(_signal: int, _frame: FrameType | None) -> None:
            self.requests += 1
            also()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, ask)

    def on_end_of(
        self,
        pipe: int,
        take: Callable[[bytes], None] = _do_nothing,
        also: Callable[[], None] = _do_nothing,
        grace: float = GRACE,
    ) -> None:
        """Read a pipe in a thread of its own until it ends; then request a stop, and end soon.

        The process that started this one has the other end of the pipe. `take` is called with each
        chunk, `also` once the pipe has ended; `grace` is the number of seconds after that in which
        this process may end by itself.
        """

        def read() -> None:
            while chunk := os.read(pipe, _CHUNK):
                take(chunk)
            self.abandoned = True
            self.requests += 1
            also()
            time.sleep(grace)
            os._exit(InterruptedRunError.exit_code)

        threading.Thread(target=read, name="lifeline", daemon=True).start()


def failure_of(error: BaseException) -> TracekitError:
    """Return an error for whatever a workload raised; print the traceback unless it is ours."""
    if isinstance(error, TracekitError):
        return error
    traceback.print_exception(error)
    words = type(error).__name__
    text = str(error).strip()
    if text:
        words = f"{words}: {text}"
    return TracekitError(f"The workload failed: {words}", hint=advise_threadgroup(text))
