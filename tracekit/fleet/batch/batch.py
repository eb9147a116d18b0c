"""A batch from its sources to its data set and its page."""

import shutil
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tracekit.base import (
    InterruptedRunError,
    RecordingError,
    TracekitError,
    UsageError,
    distribution,
    files,
    locks,
    outputs,
    redaction,
    system,
    units,
)
from tracekit.fleet.batch.page import write_page
from tracekit.fleet.batch.results import (
    RESULTS,
    BatchRow,
    Results,
    forget_page,
    forget_tables,
    join,
    recover,
    redact_row,
    take_apart,
)
from tracekit.fleet.batch.sources import RecordingSource, sources_of
from tracekit.fleet.batch.tasks import Choices, Task
from tracekit.fleet.batch.workers import Workers, local_workers, workers_of
from tracekit.record import Progress, quiet
from tracekit.tables import Flaw, Loss, losses

_LOCK = ".lock"
_SCRATCH = ".work-"


@dataclass(frozen=True)
class BatchPlan:
    """The sources of a batch, its output and its settings.

    `words` are paths, patterns and URLs, `output` the folder for results, tables and the page.
    `scheduler` is the address of a cluster; without one, `workers` processes of this machine work,
    or as many as fit. With `retry`, sources that failed before are tried again; `seconds` is the
    time limit of one recording.
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
    """The numbers of sources of a batch that are done or failed, now and before.

    `recordings` were analysed now, which may be several of one source. `failures` are the first
    failures: name, error and hint.
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
        """Count a source that has ended."""
        source_failed = False
        for row in rows:
            if not row.has_failed:
                self.recordings += 1
                continue
            source_failed = True
            if len(self.failures) < _MANY:
                self.failures.append((row.recording, row.error, row.hint))
        if source_failed:
            self.failed += 1
        else:
            self.done += 1

    @property
    def all_failed(self) -> int:
        """The number of failed sources, now or before."""
        return self.failed + self.failed_before

    def words(self) -> str:
        """Return the progress in words, with the pace and the time left."""
        ended_now = self.done + self.failed
        ended = ended_now + self.done_before + self.failed_before
        parts = [f"{units.count(ended)} of {units.count(self.total)}"]
        if self.all_failed:
            parts.append(f"{units.count(self.all_failed)} failed")
        if ended_now >= _LEAST:
            elapsed = max(1e-9, time.monotonic() - self.start_time)
            pace = ended_now / elapsed
            if pace >= 1:
                parts.append(f"{pace:.3g} per s")
            else:
                parts.append(f"{1 / pace:.3g} s each")
            remaining_count = self.total - ended
            if remaining_count:
                parts.append(f"{units.span(remaining_count / pace)} left")
        return " · ".join(parts)


def run_batch(plan: BatchPlan, progress: Progress = quiet) -> tuple[Tally, Path]:
    """Analyse every recording that the plan leads to; return the tally, and the page.

    The results of an earlier batch in the folder are kept, and recordings that are unchanged since
    then are not analysed again. A recording that cannot be analysed becomes a row with the error.
    Losses by damage in the others, now or before, are reported.

    Raises:
        UsageError: The plan is wrong, or the folder is not that of a batch.
        InputError: There is no recording.
        RecordingError: Another batch writes into the folder, or it is not writable.
        ToolError: The scheduler cannot be used, or is gone.
        InterruptedRunError: The user stopped it; the results so far are kept.
    """
    system.require_processes("A batch")
    distribution.require_extra("batch")
    outputs.require_apart([plan.output])
    progress("looking for recordings")
    sources = sources_of(plan.words)
    with _claim_folder(plan.output):
        batch = _Batch(plan, Tally(len(sources)), progress)
        try:
            tasks = batch.open_tasks(sources)
            if tasks:  # no worker is started for nothing
                with _workers(plan, len(sources)) as workers:
                    for rows in workers.iter_rows(iter(tasks)):
                        batch.write(rows)
        except KeyboardInterrupt as stop:
            page = write_page(plan.output)
            progress_words = batch.tally.words()
            raise InterruptedRunError(
                f"Interrupted: {progress_words}; {page} shows the results so far.",
                hint="The same command goes on from there.",
            ) from stop
        progress("joining small files")
        join(plan.output)
        progress("drawing the page")
        losses.report(_losses(plan.output))
        return batch.tally, write_page(plan.output)


def _losses(output: Path) -> Iterator[Loss]:
    """Yield the first loss by damage of each recording of a batch."""
    damage = Results(output / RESULTS).find_damage()
    for name, text in damage.items():
        if text.startswith(name):
            yield Loss(Flaw.DAMAGED, text)
        else:
            yield Loss(Flaw.DAMAGED, f"{name}: {text}")


class _Batch:
    """The sources that are still to be analysed, and the tally of all."""

    def __init__(self, plan: BatchPlan, tally: Tally, progress: Progress) -> None:
        self.tally = tally
        self._plan = plan
        self._progress = progress
        self._results = Results(plan.output / RESULTS)
        self._redact = (
            redaction.own_redaction() if plan.choices.redacted else redaction.redact_nothing
        )

    def open_tasks(self, sources: Iterable[RecordingSource]) -> list[Task]:
        """Return a task for each source that is not done; count the others."""
        choices = self._plan.choices
        known_sources = self._results.load_sources()
        folder = ""
        if choices.tables or choices.pages:
            folder = str(self._plan.output.resolve())
        tasks: list[Task] = []
        failures: list[BatchRow] = []
        for source in sources:
            name = self._redact_text(source.place.name)
            task = Task(source, name, "", choices, folder)
            try:
                stamp = source.stamp(choices.settings)
            except TracekitError as error:
                failures.append(replace(task.row, error=error.message, hint=error.hint))
                continue
            known_source = known_sources.get(source.key)
            if known_source is None or known_source.stamp != stamp:
                tasks.append(replace(task, stamp=stamp))
            elif not known_source.has_failed:
                self.tally.done_before += 1
            elif self._plan.retry:
                tasks.append(replace(task, stamp=stamp))
            else:
                self.tally.failed_before += 1
        replaced_sources = {task.source.key for task in tasks} | {row.source for row in failures}
        take_apart(self._plan.output, replaced_sources)
        for failure in failures:
            self.write((failure,))
        return tasks

    def write(self, rows: tuple[BatchRow, ...]) -> None:
        """Write the rows of a source; its tables are there already."""
        rows = tuple(redact_row(row, self._redact_text) for row in rows)
        for row in rows:
            forget_tables(self._plan.output, row.key, row.tables)
            if row.has_failed or not self._plan.choices.pages:
                forget_page(self._plan.output, row.key)
        self._results.write(rows)
        self.tally.add(rows)
        self._progress(self.tally.words())

    def _redact_text(self, text: str) -> str:
        """Return a text in UTF-8, and redacted if the plan says so."""
        return self._redact(files.legible(text))


@contextmanager
def _workers(plan: BatchPlan, number: int) -> Generator[Workers]:
    if plan.scheduler:
        shared_file = None
        if plan.choices.tables or plan.choices.pages:
            shared_file = plan.output.resolve() / _LOCK
        with workers_of(plan.scheduler, plan.seconds, shared_file) as workers:
            yield workers
        return
    scratch_folder = tempfile.TemporaryDirectory(
        prefix=_SCRATCH, dir=plan.output, ignore_cleanup_errors=True
    )
    with (
        scratch_folder as scratch,
        local_workers(plan.workers, number, Path(scratch), plan.seconds) as workers,
    ):
        yield workers


@contextmanager
def _claim_folder(output: Path) -> Generator[None]:
    """Lock the folder of a batch, and remove the leftovers of one that was killed."""
    lock_file = output / _LOCK
    has_other_files = output.is_dir() and any(output.iterdir()) and not lock_file.exists()
    if has_other_files or (output.exists() and not output.is_dir()):
        raise UsageError(
            f"{output} exists and is not the folder of a batch.",
            hint="Name a new folder, or that of an earlier batch to go on with it.",
        )
    with locks.open_lock_file(
        lock_file, "Name a folder that you may write to with --output."
    ) as handle:
        try:
            locks.take_lock(handle, lock_file)
        except locks.HeldError:
            raise RecordingError(
                f"Another batch writes into {output} at this moment.",
                hint="Wait for it, or name another folder.",
            ) from None
        for scratch_folder in output.glob(f"{_SCRATCH}*"):
            shutil.rmtree(scratch_folder, ignore_errors=True)
        recover(output)
        yield
