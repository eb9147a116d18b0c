"""Tasks in flight: a few more than there are workers, until all have come to their end."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from uuid import uuid4

from distributed import as_completed
from distributed.scheduler import KilledWorker

from tracekit.base.errors import ToolError
from tracekit.base.units import span
from tracekit.fleet.batch.analysing import Task, analysed
from tracekit.fleet.batch.limit import Running, TimeLimit
from tracekit.fleet.batch.row import Row
from tracekit.fleet.batch.workers import Workers

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
        """Begin.

        Args:
            workers: Who analyses.
            seconds: The time that one recording may take.
        """
        self._workers, self._seconds = workers, seconds
        self._limit = TimeLimit(workers.client, seconds)
        self._batch = uuid4().hex[:8]
        self._died: list[Task] = []
        self._looked = 0.0
        self._window = 1

    def ended(self, tasks: Iterable[Task]) -> Iterator[tuple[Row, ...]]:
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

    def _through(self, tasks: Iterator[Task], *, alone: bool) -> Iterator[tuple[Row, ...]]:
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

    def _rows(self, future: Running, task: Task, *, alone: bool) -> tuple[Row, ...]:
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


def failed(task: Task, error: str, hint: str) -> Row:
    """Return the row of a task that never came to its end."""
    return replace(task.row, error=error, hint=hint)
