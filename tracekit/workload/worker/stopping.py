"""How a worker ends: asked by a signal, because whoever started it is gone, or by a failure."""

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from tracekit.base import InterruptedRunError, TracekitError

GRACE = 5.0  # seconds for a step to end, the account to be closed, and a recorder to be stopped
_CHUNK = 1 << 16


def _do_nothing(_: bytes | None = None) -> None:
    pass


@dataclass
class Stop:
    """How often somebody asked to stop; counted by a signal, read between steps.

    `abandoned` tells that the recorder is gone, so that there is nobody left to work for.
    """

    requests: int = 0
    abandoned: bool = False
    _settled_requests: int = 0

    @property
    def requested(self) -> bool:
        """Whether anybody asked since the last settlement."""
        return self.requests > self._settled_requests

    def settle(self) -> bool:
        """Count what was asked so far as done; return whether anything was."""
        requests, settled_before = self.requests, self._settled_requests
        self._settled_requests = requests
        return requests > settled_before

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
        """Read a pipe in a thread of its own until it ends; then ask to stop, and end soon.

        The other end of the pipe is with whoever started this process. `take` is called with what
        comes, `also` once the pipe has ended; `grace` is how many seconds after that the process
        may end by itself.
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
    text = str(error).strip()
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return TracekitError(f"The workload failed: {words}")
