"""Tasks in flight: a few more than there are workers, each with a time limit, all of them counted.

A worker says when it begins. What is not done in time is cancelled, and the worker started again:
nothing else ends a thread that hangs, whatever it hangs in.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock, Timer
from typing import Any, cast
from uuid import uuid4

from distributed import Client, Future, as_completed
from distributed.scheduler import KilledWorker

from tracekit.base import ToolError, count, span
from tracekit.fleet.batch.analysing import BEGUN, Task, analysed
from tracekit.fleet.batch.results import BatchRow
from tracekit.fleet.batch.workers import Workers

_PATIENCE = 30.0  # s in which a worker has to be there again

Running = Future[tuple[BatchRow, ...]]


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
        """Start the timer of a task, or start it again where another worker tries it again."""
        key, worker = cast("str", event[1]["key"]), cast("str", event[1]["worker"])
        timer = Timer(self._seconds, self._end, (key, worker))
        timer.daemon = True
        with self._lock:
            if future := self._running.get(key):
                self._forget(key)
                self._running[key], self._timers[key] = future, timer
                timer.start()

    def _end(self, key: str, worker: str) -> None:
        # Where no nanny starts it again, or the cluster ends meanwhile, the rest goes on without.
        with suppress(Exception):
            if worker not in cast("dict[str, int]", self._client.nthreads()):
                return  # it died, and who tries the task again says so
            with self._lock:
                future = self._running[key]
                self._late.add(key)
            self._client.cancel([future], force=True)
            self._client.restart_workers([worker], timeout=_PATIENCE, raise_for_error=False)


_MANY = 10
_LEAST = 3  # recordings from which a pace is known


@dataclass
class Tally:
    """What became of the sources of a batch: done and failed now, and before.

    `recordings` were analysed now, which may be several of one source. `failures` are the first of
    them: name, error and hint.
    """

    total: int
    kept: int = 0
    failed_before: int = 0
    done: int = 0
    failed: int = 0
    recordings: int = 0
    failures: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    began: float = field(default_factory=time.monotonic)

    def add(self, rows: Iterable[BatchRow]) -> None:
        """Count a source that came to its end."""
        every = list(rows)
        bad = [row for row in every if row.state != "ok"]
        self.recordings += len(every) - len(bad)
        self.done += not bad
        self.failed += bool(bad)
        self.failures += [(row.recording, row.error, row.hint) for row in bad]
        del self.failures[_MANY:]

    @property
    def all_failed(self) -> int:
        """How many failed, now or before."""
        return self.failed + self.failed_before

    def words(self) -> str:
        """Say how far it is."""
        now, before = self.done + self.failed, self.kept + self.failed_before
        parts = [f"{count(now + before)} of {count(self.total)}"]
        if self.all_failed:
            parts.append(f"{count(self.all_failed)} failed")
        if now >= _LEAST:
            pace = now / max(1e-9, time.monotonic() - self.began)
            left = self.total - now - before
            parts.append(f"{pace:.3g} per s" if pace >= 1 else f"{1 / pace:.3g} s each")
            parts += [f"{span(left / pace)} left"] if left else []
        return " · ".join(parts)


_AHEAD = 2  # tasks for each thread: one that runs, one that waits beside it
_LOOK = 10.0  # s after which the workers are counted again
_DIED = (
    "The process that analysed it died, and died again when it was tried alone: it was killed, "
    "most likely for its use of memory, or it crashed."
)
_DIED_HINT = "Try it with a larger share of the memory: --workers 1 --retry-failed."
_LATE_HINT = "Give it more time with --time-limit, and --retry-failed."
_LOST_HINT = "The worker could not even begin; see what its log says."


class Course:
    """The way of tasks through the workers."""

    def __init__(self, workers: Workers, seconds: float) -> None:
        """Let the workers take tasks, each of which may last so many seconds."""
        self._workers, self._seconds = workers, seconds
        self._limit = TimeLimit(workers.client, seconds)
        self._batch = uuid4().hex[:8]
        self._died: list[Task] = []
        self._looked = 0.0
        self._window = 1

    def ended(self, tasks: Iterable[Task]) -> Iterator[tuple[BatchRow, ...]]:
        """Yield the rows of each task when it ends, whichever is first.

        What its worker did not survive is tried once more with nothing beside it, so that no
        other recording is blamed; then it has failed.

        Raises:
            ToolError: The scheduler is gone; tasks that had not ended are lost.
        """
        try:
            yield from self._through(iter(tasks), alone=False)
            died, self._died = self._died, []
            yield from self._through(iter(died), alone=True)
        finally:
            self._limit.close()

    def _through(self, tasks: Iterator[Task], *, alone: bool) -> Iterator[tuple[BatchRow, ...]]:
        running: dict[Running, Task] = {}
        ends = as_completed(loop=self._workers.client.loop)
        try:
            while self._fill(running, ends, tasks, 1 if alone else self._room()):
                future: Running = next(ends)
                rows = self._rows(future, running.pop(future), alone=alone)
                future.release()
                if rows:
                    yield rows
        finally:
            self._workers.client.cancel(list(running), force=True)

    def _fill(
        self, running: dict[Running, Task], ends: as_completed, tasks: Iterator[Task], room: int
    ) -> bool:
        """Hand tasks over while there is room; tell whether any is on its way."""
        while len(running) < room:
            task = next(tasks, None)
            if task is None:
                break
            key = f"tracekit-{self._batch}-{task.source.key}-{uuid4().hex[:4]}"
            future = self._workers.client.submit(analysed, task, key=key, pure=False)
            running[future] = task
            self._limit.watch(future)
            ends.add(future)
        return bool(running)

    def _room(self) -> int:
        if time.monotonic() - self._looked > _LOOK:
            self._looked = time.monotonic()
            self._window = max(1, self._workers.threads) * _AHEAD
        return self._window

    def _rows(self, future: Running, task: Task, *, alone: bool) -> tuple[BatchRow, ...]:
        """Return what became of a task; nothing where it is to be tried again."""
        late = self._limit.is_late(future)
        if future.status == "finished":
            return future.result()
        if late:
            return (failed(task, f"It took longer than {span(self._seconds)}.", _LATE_HINT),)
        if future.cancelled():
            raise ToolError(
                "The scheduler is gone, or somebody cancelled the batch.",
                hint="What was done is kept; the same command goes on from there.",
            )
        error = future.exception()
        if isinstance(error, KilledWorker) and not alone:
            self._died.append(task)
            return ()
        if isinstance(error, KilledWorker):
            return (failed(task, _DIED, _DIED_HINT),)
        return (failed(task, f"{type(error).__name__}: {error}", _LOST_HINT),)


def failed(task: Task, error: str, hint: str) -> BatchRow:
    """Return the row of a task that never came to its end."""
    return replace(task.row, error=error, hint=hint)
