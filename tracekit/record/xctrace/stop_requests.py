"""Ctrl-C, SIGTERM and SIGHUP while a recording runs: counted, so that it can stop and save."""

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Self

_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequests:
    """Counts requests to stop instead of letting them end us in the middle of something.

    Signals that are ignored stay ignored, as a job in the background wants it. Away from the
    main thread, where Python delivers no signals, nothing is counted. Signals within `together`
    seconds are one request: a terminal and a parent such as `uv run` both pass a Ctrl-C on.
    """

    def __init__(self, together: float = 1.0) -> None:
        self._together = together
        self._last = float("-inf")
        self._waiting = 0
        self._before: list[tuple[signal.Signals, signal._HANDLER]] = []  # pyright: ignore[reportPrivateUsage] - typeshed's only name for it

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _ASKING:
                before = signal.getsignal(number)
                if before is not signal.SIG_IGN:
                    self._before.append((number, before))
                    signal.signal(number, self._count)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, before in self._before:
            signal.signal(number, before)

    def take(self) -> bool:
        """Tell whether a request waits, and take it."""
        if not self._waiting:
            return False
        self._waiting -= 1
        return True

    def _count(self, _number: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if now - self._last >= self._together:
            self._last = now
            self._waiting += 1
