"""What can be asked: the views, their columns, and how many runs have them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tracekit.base.errors import TracekitError
from tracekit.fleet.query import batches, overviews
from tracekit.fleet.query.leftout import LeftOut
from tracekit.fleet.query.opening import Opener
from tracekit.fleet.query.sources import Sources, sources
from tracekit.pipeline import tables_of
from tracekit.record.recorder import Progress, quiet
from tracekit.tables.schemas import SCHEMAS


@dataclass(frozen=True)
class View:
    """A view: how many runs have it, and its columns."""

    name: str
    runs: int
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """The views that some run has, and what kept runs from being looked at."""

    views: tuple[View, ...]
    warnings: tuple[str, ...]


def listing(
    paths: Sequence[Path], progress: Progress = quiet, number: int | None = None
) -> Listing:
    """List what can be asked of all runs, bundles and batches below paths; nothing is made.

    Of a bundle with several runs `number` says which; None for the last.

    Raises:
        UsageError: As `tracekit.fleet.query.sources`.
        RecordingError: There is no run.
    """
    found = sources(paths)
    left_out = LeftOut()
    with TemporaryDirectory(prefix="tracekit-query-") as workshop:
        opener = Opener(Path(workshop), number)
        counts = _counts(found, opener, left_out, progress)
    return Listing(tuple(_views(found, counts)), (*opener.notes, *left_out.warnings))


def _counts(found: Sources, opener: Opener, left_out: LeftOut, progress: Progress) -> Counter[str]:
    counts: Counter[str] = Counter()
    for number, run in enumerate(found.runs, start=1):
        progress(f"run {number:,} of {len(found.runs):,}")
        try:
            recording = opener.opened(run)
            counts.update(list(tables_of(recording)))
            counts.update(["metrics", "findings"] if recording.result_file.exists() else [])
        except TracekitError as error:
            left_out.unreadable("every table", run.name, error.message)
    for batch in found.batches:
        analysed = batches.analysed(batch)
        counts.update({name: len(batch.table(name)) for name in SCHEMAS})
        counts.update(dict.fromkeys(("metrics", "findings"), analysed))
        counts["runs"] += batches.recorded(batch)
    counts["runs"] += len(found.runs)
    return counts


def _views(found: Sources, counts: Counter[str]) -> Iterator[View]:
    for name, schema in overviews.SCHEMAS.items():
        yield View(name, counts[name], tuple(schema.names))
    if found.batches:
        recorded = sum(map(batches.recorded, found.batches))
        yield View(
            batches.RESULTS, recorded, ("run", "run_path", *batches.columns(found.batches[0]))
        )
    for name, schema in SCHEMAS.items():
        if counts[name]:
            own = [column.name for column in schema.columns]
            more = [f"({schema.more})"] if schema.more else []
            yield View(name, counts[name], ("run", "run_path", *own, *more))
