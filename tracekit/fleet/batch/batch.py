"""A batch from its sources to its data set and its page."""

import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from tracekit.base import (
    HeldError,
    InterruptedRunError,
    RecordingError,
    ToolError,
    TracekitError,
    UsageError,
    legible,
    nothing,
    opened,
    own_redaction,
    require_apart,
    taken,
)
from tracekit.fleet.batch.analysing import Choices, Task
from tracekit.fleet.batch.page import write_page
from tracekit.fleet.batch.results import RESULTS, BatchRow, Results, forget_tables, worded
from tracekit.fleet.batch.sources import RecordingSource, sources_of
from tracekit.fleet.batch.tasks import Course, Tally
from tracekit.fleet.batch.workers import Workers, fitting, local_workers, workers_of
from tracekit.record import Progress, quiet

_LOCK = ".lock"
_SCRATCH = ".work-"
_LOOKED_AT = 20
_ROOM = 1 << 16  # bytes that workers write at least


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


@dataclass(frozen=True)
class BatchOutcome:
    """How a batch ended: the counts, the page, and what else is to be known."""

    tally: Tally
    page: Path
    warnings: tuple[str, ...] = ()


def run_batch(plan: BatchPlan, progress: Progress = quiet) -> BatchOutcome:
    """Analyse every recording that the plan leads to, and write what was found.

    What an earlier batch left in the folder is kept, and what is unchanged since is not analysed
    again. A recording that cannot be analysed becomes a row that says why.

    Raises:
        UsageError: The plan is wrong, or the folder is none of a batch.
        InputError: There is no recording.
        RecordingError: Another batch writes into the folder, or nobody can.
        ToolError: The scheduler cannot be used, or is gone.
        InterruptedRunError: Someone asked to stop; what was done is kept.
    """
    require_apart([plan.output])
    progress("looking for recordings")
    sources = sources_of(plan.words)
    with _claimed(plan.output):
        tally = Tally(len(sources))
        results = _Writer(plan, tally, progress)
        try:
            warnings = _analyse(plan, sources, results)
        except KeyboardInterrupt as stop:
            page = write_page(plan.output)
            raise InterruptedRunError(
                f"Interrupted: {tally.words()}; {page} shows what was done.",
                hint="The same command goes on from there.",
            ) from stop
        progress("drawing the page")
        return BatchOutcome(tally, write_page(plan.output), warnings)


def _analyse(
    plan: BatchPlan, sources: Sequence[RecordingSource], results: "_Writer"
) -> tuple[str, ...]:
    tasks = results.open_tasks(sources)
    first = next(tasks, None)
    if first is None:
        return ()
    with _workers(plan, len(sources)) as workers:
        warnings = () if workers.processes else _unseen(workers, sources, plan)
        for rows in Course(workers, plan.seconds).ended(chain([first], tasks)):
            results.write(rows)
    return warnings


class _Writer:
    """Which sources are still to be analysed, and what became of them."""

    def __init__(self, plan: BatchPlan, tally: Tally, progress: Progress) -> None:
        self._plan, self._tally, self._progress = plan, tally, progress
        self._results = Results(plan.output / RESULTS)
        self._redact = own_redaction() if plan.choices.redacted else nothing

    def open_tasks(self, sources: Iterable[RecordingSource]) -> Iterator[Task]:
        """Yield a task for each source that is not done; count the others."""
        known = self._results.known()
        choices = self._plan.choices
        settings = choices.settings
        folder = str(self._plan.output.resolve()) if choices.tables else ""
        for source in sources:
            task = Task(source, self._worded(source.place.name), "", choices, folder)
            try:
                stamp = source.stamp(settings)
            except TracekitError as error:
                self.write((replace(task.row, error=error.message, hint=error.hint),))
                continue
            if not self._is_done(known.get(source.key), stamp):
                yield replace(task, stamp=stamp)

    def write(self, rows: tuple[BatchRow, ...]) -> None:
        """Write the rows of a source; its tables are there already."""
        rows = tuple(worded(row, self._worded) for row in rows)
        for row in rows:
            forget_tables(self._plan.output, row.key, row.tables)
        self._results.write(rows)
        self._tally.add(rows)
        self._progress(self._tally.words())

    def _worded(self, text: str) -> str:
        """Return a text as results have it."""
        return self._redact(legible(text))

    def _is_done(self, known: tuple[str, bool] | None, stamp: str) -> bool:
        done, failed = known or ("", False)
        if done != stamp or (failed and self._plan.retry):
            return False
        self._tally.kept += not failed
        self._tally.failed_before += failed
        return True


@contextmanager
def _workers(plan: BatchPlan, number: int) -> Generator[Workers]:
    if plan.scheduler:
        with workers_of(plan.scheduler) as workers:
            yield workers
        return
    with ExitStack() as stack:
        scratch = stack.enter_context(
            tempfile.TemporaryDirectory(
                prefix=_SCRATCH, dir=plan.output, ignore_cleanup_errors=True
            )
        )
        own = local_workers(plan.workers or fitting(number), Path(scratch))
        try:
            # On a full disk no worker comes up, which is known only a minute later.
            (Path(scratch) / "room").write_bytes(bytes(_ROOM))
            workers = stack.enter_context(own)
        except (OSError, RuntimeError) as error:  # the latter: whatever a process met at its start
            raise ToolError(
                f"The processes of the batch cannot be started: {error}",
                hint=f"They need room in {plan.output}, and loopback.",
            ) from error
        yield workers


def _unseen(
    workers: Workers, sources: Sequence[RecordingSource], plan: BatchPlan
) -> tuple[str, ...]:
    """Find out what workers elsewhere do not see of this machine."""
    if plan.choices.tables and not workers.see([plan.output.resolve() / _LOCK]):
        raise UsageError(
            f"Workers of {plan.scheduler} do not see {plan.output}, so they cannot keep tables.",
            hint="Leave --tables out, or name a folder on a disk that they share.",
        )
    near = [Path(source.place.path) for source in sources if source.place.local]
    if workers.see(near[:_LOOKED_AT]):
        return ()
    warning = (
        f"Not all workers of {plan.scheduler} see {near[0]}: recordings that lie on this machine "
        "alone cannot be analysed there."
    )
    return (warning,)


@contextmanager
def _claimed(output: Path) -> Generator[None]:
    """Have the folder of a batch for ourselves, without what a killed one left to clean up."""
    strangers = output.is_dir() and any(output.iterdir()) and not (output / _LOCK).exists()
    if strangers or (output.exists() and not output.is_dir()):
        raise UsageError(
            f"{output} exists and is not the folder of a batch.",
            hint="Name a new folder, or that of an earlier batch to go on with it.",
        )
    with opened(output / _LOCK, "Name a folder that you may write to with --output.") as handle:
        try:
            taken(handle, output / _LOCK)
        except HeldError:
            raise RecordingError(
                f"Another batch writes into {output} at this moment.",
                hint="Wait for it, or name another folder.",
            ) from None
        for left in output.glob(f"{_SCRATCH}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
