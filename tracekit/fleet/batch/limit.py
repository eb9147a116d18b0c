"""The time that one recording may take, and the end of what takes longer.

A worker tells when it begins. What is not done in time is cancelled, and the worker started anew:
nothing else ends a thread that hangs, whatever it hangs in.
"""

from contextlib import suppress
from threading import Lock, Timer
from typing import Any, cast

from distributed import Client, Future

from tracekit.fleet.batch.analysing import BEGUN
from tracekit.fleet.batch.row import Row

_PATIENCE = 30.0  # s in which a worker has to be there again

Running = Future[tuple[Row, ...]]


class TimeLimit:
    """A timer for each task that a worker has begun."""

    def __init__(self, client: Client, seconds: float) -> None:
        self._client, self._seconds = client, seconds
        self._lock = Lock()
        self._running: dict[str, Running] = {}
        self._timers: dict[str, Timer] = {}
        self._late: set[str] = set()
        client.subscribe_topic(BEGUN, self._begun)

    def watch(self, future: Running) -> None:
        """See to it that a task ends."""
        with self._lock:
            self._running[str(future.key)] = future

    def is_late(self, future: Running) -> bool:
        """Tell whether a task that ended was ended by us; it is not watched any more."""
        with self._lock:
            key = str(future.key)
            self._forget(key)
            late = key in self._late
            self._late.discard(key)
            return late

    def close(self) -> None:
        """Watch nothing any more."""
        with suppress(ValueError):
            self._client.unsubscribe_topic(BEGUN)
        with self._lock:
            for key in list(self._running):
                self._forget(key)

    def _forget(self, key: str) -> None:
        self._running.pop(key, None)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _begun(self, event: tuple[float, Any]) -> None:
        """Start the timer of a task, or start it anew where another worker tries it again."""
        key, worker = cast("str", event[1]["key"]), cast("str", event[1]["worker"])
        timer = Timer(self._seconds, self._end, (key, worker))
        timer.daemon = True
        with self._lock:
            if future := self._running.get(key):
                self._forget(key)
                self._running[key], self._timers[key] = future, timer
                timer.start()

    def _end(self, key: str, worker: str) -> None:
        # Where no nanny starts it anew, or the cluster ends meanwhile, the rest goes on without.
        with suppress(Exception):
            if worker not in cast("dict[str, int]", self._client.nthreads()):
                return  # it died, and who tries the task again tells so
            with self._lock:
                future = self._running[key]
                self._late.add(key)
            self._client.cancel([future], force=True)
            self._client.restart_workers([worker], timeout=_PATIENCE, raise_for_error=False)
