"""A batch from its sources to its data set and its page."""

import shutil
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from tracekit.base import (
    HeldError,
    InterruptedRunError,
    RecordingError,
    TracekitError,
    UsageError,
    count,
    legible,
    open_lock_file,
    own_redaction,
    redact_nothing,
    require_apart,
    require_processes,
    span,
    take_lock,
)
from tracekit.fleet.batch.analysing import Choices, Task
from tracekit.fleet.batch.page import write_page
from tracekit.fleet.batch.results import RESULTS, BatchRow, Results, forget_tables, redact_row
from tracekit.fleet.batch.sources import RecordingSource, sources_of
from tracekit.fleet.batch.workers import Workers, local_workers, workers_of
from tracekit.record import Progress, quiet
from tracekit.tables import Flaw, Loss, report

_LOCK = ".lock"
_SCRATCH = ".work-"


@dataclass(frozen=True)
class BatchPlan:
    """What to analyse, and how.

    `words` are paths, patterns and URLs, `output` the folder for results, tables and the page.
    `scheduler` is the address of a cluster; without one, so many processes of this machine work,
    or as many as fit. `retry` tries those again that failed before; `seconds` is the time that one
    recording may take.
    """

    words: tuple[str, ...]
    output: Path
    scheduler: str = ""
    workers: int | None = None
    choices: Choices = field(default_factory=Choices)
    retry: bool = False
    seconds: float = 3600.0


_MANY = 10
_LEAST = 3  # recordings from which a pace is known


@dataclass
class Tally:
    """What became of the sources of a batch: done and failed now, and before.

    `recordings` were analysed now, which may be several of one source. `failures` are the first of
    them: name, error and hint.
    """

    total: int
    done_before: int = 0
    failed_before: int = 0
    done: int = 0
    failed: int = 0
    recordings: int = 0
    failures: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    start_time: float = field(default_factory=time.monotonic)

    def add(self, rows: Iterable[BatchRow]) -> None:
        """Count a source that came to its end."""
        row_list = list(rows)
        bad = [row for row in row_list if row.has_failed]
        self.recordings += len(row_list) - len(bad)
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
        ended_now, ended_before = self.done + self.failed, self.done_before + self.failed_before
        parts = [f"{count(ended_now + ended_before)} of {count(self.total)}"]
        if self.all_failed:
            parts.append(f"{count(self.all_failed)} failed")
        if ended_now >= _LEAST:
            pace = ended_now / max(1e-9, time.monotonic() - self.start_time)
            remaining_count = self.total - ended_now - ended_before
            parts.append(f"{pace:.3g} per s" if pace >= 1 else f"{1 / pace:.3g} s each")
            parts += [f"{span(remaining_count / pace)} left"] if remaining_count else []
        return " · ".join(parts)


def run_batch(plan: BatchPlan, progress: Progress = quiet) -> tuple[Tally, Path]:
    """Analyse every recording that the plan leads to; return what became of them, and the page.

    What an earlier batch left in the folder is kept, and what is unchanged since is not analysed
    again. A recording that cannot be analysed becomes a row that says why. What damage cost the
    others, now or before, is reported.

    Raises:
        UsageError: The plan is wrong, or the folder is none of a batch.
        InputError: There is no recording.
        RecordingError: Another batch writes into the folder, or nobody can.
        ToolError: The scheduler cannot be used, or is gone.
        InterruptedRunError: Someone asked to stop; what was done is kept.
    """
    require_processes("A batch")
    require_apart([plan.output])
    progress("looking for recordings")
    sources = sources_of(plan.words)
    with _claim_folder(plan.output):
        batch = _Batch(plan, Tally(len(sources)), progress)
        tasks = batch.open_tasks(sources)
        try:
            if (first_task := next(tasks, None)) is not None:
                with _workers(plan, len(sources)) as workers:
                    for rows in workers.iter_rows(chain([first_task], tasks)):
                        batch.write(rows)
        except KeyboardInterrupt as stop:
            page = write_page(plan.output)
            raise InterruptedRunError(
                f"Interrupted: {batch.tally.words()}; {page} shows what was done.",
                hint="The same command goes on from there.",
            ) from stop
        progress("drawing the page")
        report(
            Loss(Flaw.DAMAGED, text if text.startswith(name) else f"{name}: {text}")
            for name, text in Results(plan.output / RESULTS).find_damage().items()
        )
        return batch.tally, write_page(plan.output)


class _Batch:
    """Which sources are still to be analysed, and what became of them."""

    def __init__(self, plan: BatchPlan, tally: Tally, progress: Progress) -> None:
        self._plan, self.tally, self._progress = plan, tally, progress
        self._results = Results(plan.output / RESULTS)
        self._redact = own_redaction() if plan.choices.redacted else redact_nothing

    def open_tasks(self, sources: Iterable[RecordingSource]) -> Iterator[Task]:
        """Yield a task for each source that is not done; count the others."""
        known_stamps, choices = self._results.load_stamps(), self._plan.choices
        folder = str(self._plan.output.resolve()) if choices.tables else ""
        for source in sources:
            task = Task(source, self._redact_text(source.place.name), "", choices, folder)
            try:
                stamp = source.stamp(choices.settings)
            except TracekitError as error:
                self.write((replace(task.row, error=error.message, hint=error.hint),))
                continue
            done, failed = known_stamps.get(source.key, ("", False))
            if done != stamp or (failed and self._plan.retry):
                yield replace(task, stamp=stamp)
            else:
                self.tally.done_before += not failed
                self.tally.failed_before += failed

    def write(self, rows: tuple[BatchRow, ...]) -> None:
        """Write the rows of a source; its tables are there already."""
        rows = tuple(redact_row(row, self._redact_text) for row in rows)
        for row in rows:
            forget_tables(self._plan.output, row.key, row.tables)
        self._results.write(rows)
        self.tally.add(rows)
        self._progress(self.tally.words())

    def _redact_text(self, text: str) -> str:
        """Return a text as results have it."""
        return self._redact(legible(text))


@contextmanager
def _workers(plan: BatchPlan, number: int) -> Generator[Workers]:
    if plan.scheduler:
        shared = plan.output.resolve() / _LOCK if plan.choices.tables else None
        with workers_of(plan.scheduler, plan.seconds, shared) as workers:
            yield workers
        return
    with (
        tempfile.TemporaryDirectory(
            prefix=_SCRATCH, dir=plan.output, ignore_cleanup_errors=True
        ) as scratch,
        local_workers(plan.workers, number, Path(scratch), plan.seconds) as workers,
    ):
        yield workers


@contextmanager
def _claim_folder(output: Path) -> Generator[None]:
    """Have the folder of a batch for ourselves, without what a killed one left to clean up."""
    strangers = output.is_dir() and any(output.iterdir()) and not (output / _LOCK).exists()
    if strangers or (output.exists() and not output.is_dir()):
        raise UsageError(
            f"{output} exists and is not the folder of a batch.",
            hint="Name a new folder, or that of an earlier batch to go on with it.",
        )
    with open_lock_file(
        output / _LOCK, "Name a folder that you may write to with --output."
    ) as handle:
        try:
            take_lock(handle, output / _LOCK)
        except HeldError:
            raise RecordingError(
                f"Another batch writes into {output} at this moment.",
                hint="Wait for it, or name another folder.",
            ) from None
        for scratch_folder in output.glob(f"{_SCRATCH}*"):
            shutil.rmtree(scratch_folder, ignore_errors=True)
        yield
