"""Tasks in flight: a few more than there are workers, each with a time limit, all of them counted.

A worker says when it begins. What is not done in time is cancelled, and the worker started again:
nothing else ends a thread that hangs, whatever it hangs in.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any
from uuid import uuid4

from distributed import Future
from distributed.scheduler import KilledWorker

from tracekit.base import ToolError, count, span
from tracekit.fleet.batch.analysing import BEGUN, Task, analysed
from tracekit.fleet.batch.results import BatchRow
from tracekit.fleet.batch.workers import Workers

Running = Future[tuple[BatchRow, ...]]

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
_LOOK = 1.0  # s after which a task that takes too long is seen
_COUNT = 5.0  # s after which the workers are counted again
_BACK = 30.0  # s in which a worker has to be there again
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
        self._workers, self._client, self._seconds = workers, workers.client, seconds
        self._batch = uuid4().hex[:8]
        self._running: dict[Running, Task] = {}
        self._begun: dict[str, tuple[str, float]] = {}  # by which worker, and when
        self._late: set[str] = set()
        self._died: list[Task] = []
        self._some_ended = Event()
        self._counted = 0.0
        self._window = 1

    def ended(self, tasks: Iterable[Task]) -> Iterator[tuple[BatchRow, ...]]:
        """Yield the rows of each task when it ends, whichever is first.

        What its worker did not survive is tried once more with nothing beside it, so that no
        other recording is blamed; then it has failed.

        Raises:
            ToolError: The scheduler is gone; tasks that had not ended are lost.
        """
        self._client.subscribe_topic(BEGUN, self._note)
        try:
            yield from self._through(iter(tasks), alone=False)
            died, self._died = self._died, []
            yield from self._through(iter(died), alone=True)
        finally:
            with suppress(ValueError):
                self._client.unsubscribe_topic(BEGUN)
            self._client.cancel(list(self._running), force=True)

    def _note(self, event: tuple[float, Any]) -> None:
        """Note that a worker began a task; again where another worker tries it again."""
        self._begun[event[1]["key"]] = event[1]["worker"], time.monotonic()

    def _through(self, tasks: Iterator[Task], *, alone: bool) -> Iterator[tuple[BatchRow, ...]]:
        while self._fill(tasks, alone=alone):
            self._some_ended.wait(_LOOK)
            self._some_ended.clear()
            self._end_late()
            for future in [one for one in self._running if one.done()]:
                rows = self._rows(future, self._running.pop(future), alone=alone)
                future.release()
                if rows:
                    yield rows

    def _fill(self, tasks: Iterator[Task], *, alone: bool) -> bool:
        """Hand tasks over while there is room; tell whether any is on its way."""
        self._count()
        while len(self._running) < (1 if alone else self._window):
            task = next(tasks, None)
            if task is None:
                break
            key = f"tracekit-{self._batch}-{task.source.key}-{uuid4().hex[:4]}"
            future = self._client.submit(analysed, task, key=key, pure=False)
            future.add_done_callback(lambda _: self._some_ended.set())
            self._running[future] = task
        return bool(self._running)

    def _count(self) -> None:
        """Count the workers now and then, and start others for those that are gone."""
        if time.monotonic() - self._counted > _COUNT:
            self._counted = time.monotonic()
            with suppress(OSError):  # of a scheduler that is gone, tasks say so
                self._workers.refill()
                self._window = max(1, sum(self._workers.addresses.values())) * _AHEAD

    def _end_late(self) -> None:
        now = time.monotonic()
        for future in [one for one in self._running if not one.done()]:
            key = str(future.key)
            worker, since = self._begun.get(key, ("", now))
            # Where no nanny starts it again, or the cluster ends meanwhile, the rest goes on.
            with suppress(Exception):
                # Of a worker that died, who tries the task again says that it began.
                if now - since > self._seconds and worker in self._workers.addresses:
                    self._late.add(key)
                    self._client.cancel([future], force=True)
                    self._client.restart_workers([worker], timeout=_BACK, raise_for_error=False)

    def _rows(self, future: Running, task: Task, *, alone: bool) -> tuple[BatchRow, ...]:
        """Return what became of a task; nothing where it is to be tried again."""
        self._begun.pop(str(future.key), None)
        if future.status == "finished":
            return future.result()
        if str(future.key) in self._late:
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
