"""The views that SQL can name, each made of all runs when it is first asked for, and their list.

A table is kept in a file whose name holds a digest of everything that it follows from: the stamps
of the exports, and of the bundle where tables are read from it, the targets, the table's columns,
and the versions of what reads it. So a table that is no longer true has another name, and is never
met. A file appears whole or not at all; what its reader had to say stands in it.
"""

import difflib
import logging
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import (
    Recording,
    RecordingError,
    TracekitError,
    UsageError,
    is_text,
    replacing,
)
from tracekit.fleet.query import overviews
from tracekit.fleet.query.database import Database, texts
from tracekit.fleet.query.sources import AskedRun, Opener, Sources, sources
from tracekit.pipeline import tables_of
from tracekit.record import Progress, quiet
from tracekit.tables import (
    READER_VERSION,
    SCHEMAS,
    MissingTableError,
    direct,
    lasting,
    origins,
    sentences,
    stamp,
)

FORMAT = 2
_SAID = b"tracekit.said"
_ROW_GROUP = 122_880  # rows; what one thread of DuckDB takes at a time
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Part:
    """A table of one run: the file that holds it, and what its reader had to say."""

    file: Path
    said: tuple[str, ...] = ()


def normalized(recording: Recording, name: str, workshop: Path) -> Part:
    """Return a normalized table of a run, made if it is not kept already.

    What cannot be kept is made in the workshop: that of a run that nothing can be written into, or
    whose exports are so young that a change could leave no trace.
    """
    digest = _digest(recording, name)
    kept = recording.normalized / f"{name}.{digest}.parquet"
    if digest is not None and (known := _known(kept)) is not None:
        return known
    tables = tables_of(recording)
    before = tables.said
    table = pa.Table.from_pandas(tables[name], preserve_index=False)
    said = sentences((remark for remark in tables.said if remark not in before), bundles=False)
    table = table.replace_schema_metadata({_SAID: msgspec.json.encode(said)})
    if digest is not None and digest == _digest(recording, name):
        try:
            _write(table, kept)
        except (OSError, RecordingError) as error:
            _log.info("The table %s is not kept: %s", name, error)
        else:
            for other in kept.parent.glob(f"{name}.*.parquet"):
                if other != kept:
                    other.unlink(missing_ok=True)
            return Part(kept, said)
    place = blake2b(str(recording.folder.resolve()).encode(), digest_size=8).hexdigest()
    file = workshop / f"{name}.{place}.parquet"
    _write(table, file)
    return Part(file, said)


def _write(table: pa.Table, file: Path) -> None:
    with replacing(file) as made:
        pq.write_table(table, made, compression="zstd", row_group_size=_ROW_GROUP)


def _known(file: Path) -> Part | None:
    """Return the table that is kept there; None where there is none that can be read."""
    try:
        metadata = pq.read_metadata(file).metadata or {}
        return Part(file, msgspec.json.decode(metadata[_SAID], type=tuple[str, ...]))
    except (OSError, KeyError, pa.ArrowException, msgspec.MsgspecError) as error:
        _log.info("%s is made: %s", file, error)
        return None


def _digest(recording: Recording, name: str) -> str | None:
    """Return the digest of what the table follows from; None where it may change unseen."""
    stamps: list[tuple[str, ...]] = []
    for path in _inputs(recording):
        lasts = lasting(stamp(path))
        if lasts is None:
            return None
        stamps.append((os.path.relpath(path, recording.folder), *map(str, astuple(lasts))))
    provenance = recording.provenance()
    targets = sorted(target.pid for target in provenance.targets)
    inputs = (_way_of_reading(name), targets, provenance.run, stamps)
    return blake2b(msgspec.json.encode(inputs), digest_size=16).hexdigest()


@cache
def _way_of_reading(name: str) -> tuple[int, str, int, str]:
    """Return what a table follows from in addition to its run."""
    return FORMAT, version("tracekit"), READER_VERSION, repr(SCHEMAS[name].columns)


def _inputs(recording: Recording) -> Iterator[Path]:
    """Yield the files that tables are read from: the exports, and what the bundle holds."""
    yield from sorted(path for path in recording.exports.glob("*") if path.is_file())
    note = direct(recording.exports)
    if note is not None:
        yield from sorted(
            file for file in note.path(recording.exports).rglob("*") if file.is_file()
        )


_NAMED = 12  # runs of one sentence, and sentences


class LeftOut:
    """Runs that lack a table or cannot be read, and what readers said of the others."""

    def __init__(self) -> None:
        self._runs: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self._reasons: dict[str, str] = {}

    def lacks(self, table: str, run: str) -> None:
        """Note that a run does not have a table."""
        self._runs[table, " is left out: there is none."].append(run)

    def unreadable(self, table: str, run: str, reason: str) -> None:
        """Note that a run's table cannot be read."""
        self._reasons.setdefault(table, f"{run}: {reason.rstrip('.')}")
        self._runs[table, f" is left out: {reason}"].append(run)

    def said(self, table: str, run: str, words: Sequence[str]) -> None:
        """Note what the reader of a run's table had to say."""
        for remark in words:
            self._runs[table, f": {remark}"].append(run)

    def reason(self, table: str) -> str:
        """Name the first run whose table cannot be read, and why; empty where there is none."""
        return self._reasons.get(table, "")

    @property
    def warnings(self) -> tuple[str, ...]:
        """All of it in sentences."""
        first = sorted(self._runs.items(), key=lambda noted: noted[0][1].startswith(":"))
        sentences = [f"{table} of {_named(runs)}{words}" for (table, words), runs in first]
        left = len(sentences) - _NAMED
        more = [f"There are {left:,} more remarks; ask fewer runs to see them."] if left > 0 else []
        return (*sentences[:_NAMED], *more)


def _named(runs: list[str]) -> str:
    some = ", ".join(runs[:_NAMED])
    return some if len(runs) <= _NAMED else f"{some} and {len(runs) - _NAMED:,} more"


def no_table(name: str, there: Collection[str]) -> UsageError:
    """Say that there is no table of that name, and which are near."""
    near = difflib.get_close_matches(name.lower(), there, cutoff=0.5)
    listed = "`tracekit query --list` lists all tables with their columns."
    hint = f"Near are {', '.join(near)}. {listed}" if near else listed
    return UsageError(f"There is no table {name!r}.", hint=hint)


NAMES = (*overviews.SCHEMAS, overviews.RESULTS, *SCHEMAS)
_GLOB = frozenset("*?[]{}")
View = tuple[str, int, list[str]]  # its name, how many runs have it, its columns


@dataclass(frozen=True)
class Views:
    """The views of a database; `left_out` grows with what they lack, and why."""

    database: Database
    sources: Sources
    opener: Opener
    workshop: Path
    left_out: LeftOut
    progress: Progress

    def make(self, name: str) -> None:
        """Make the view that a question names, in whatever case."""
        name = name.lower()
        if name not in NAMES:
            raise no_table(name, NAMES)
        if name in overviews.SCHEMAS:
            self._overview(name)
        elif name == overviews.RESULTS:
            self.database.view(name, overviews.results(self.sources.batches))
        else:
            self._table(name)

    def _table(self, name: str) -> None:
        parts = [*self._parts(name)]
        for batch in self.sources.batches:
            kept = {file.stem for file in batch.table(name)}
            for recording in batch.recordings:
                if recording.state == "ok" and recording.key not in kept:
                    self.left_out.lacks(name, recording.name)
        selects = overviews.tables(self.sources.batches, name)
        if parts:
            selects.insert(0, self._of_runs(name, parts))
        if not selects:
            raise self._nowhere(name)
        self.database.view(name, overviews.together(selects))

    def _of_runs(self, name: str, parts: Sequence[tuple[AskedRun, Part]]) -> str:
        """Return the rows of runs; the small table beside lets DuckDB skip files by run."""
        files = [self._safe(part.file) for _, part in parts]
        content = {
            "file": files,
            "run": [run.name for run, _ in parts],
            "run_path": [run.place for run, _ in parts],
        }
        self.database.table(f"kept_{name}", pa.table(content))
        return (
            "SELECT f.run, f.run_path, t.* EXCLUDE (filename) "
            f"FROM read_parquet({texts(files)}, union_by_name = true, filename = true) t "
            f"JOIN kept_{name} f ON t.filename = f.file"
        )

    def _parts(self, name: str) -> Iterator[tuple[AskedRun, Part]]:
        for run in self.sources.each_run(self.progress, f"{name}: "):
            try:
                part = normalized(self.opener.opened(run), name, self.workshop)
            except MissingTableError:
                self.left_out.lacks(name, run.name)
            except TracekitError as error:
                self.left_out.unreadable(name, run.name, error.message)
            else:
                self.left_out.said(name, run.name, part.said)
                yield run, part

    def _overview(self, name: str) -> None:
        schema = overviews.SCHEMAS[name]
        done = [schema.empty_table()]
        for run in self.sources.each_run(self.progress, f"{name}: "):
            try:
                rows = list(overviews.rows_of(name, run, self.opener.opened(run)))
            except TracekitError as error:
                rows = [overviews.named(run) | {"state": "unreadable", "error": error.message}]
                if name != "runs":
                    rows = []
                    self.left_out.unreadable(name, run.name, error.message)
            done.append(pa.Table.from_pylist(rows, schema))
        self.database.table(f"kept_{name}", pa.concat_tables(done).combine_chunks())
        for batch in self.sources.batches if name != "runs" else ():
            for recording in batch.recordings:
                if recording.state != "ok":
                    self.left_out.unreadable(name, recording.name, recording.error)
        selects = [f"FROM kept_{name}", *map(overviews.OF_BATCH[name], self.sources.batches)]
        self.database.view(name, overviews.together(selects))

    def _safe(self, file: Path) -> str:
        """Return a file's path, or that of a link to it where DuckDB took it for a pattern."""
        path = str(file.resolve())
        if not _GLOB & set(path):
            return path
        name = blake2b(path.encode(), digest_size=16).hexdigest()
        link = self.workshop / f"{name}.parquet"
        link.symlink_to(path)
        return str(link)

    def _nowhere(self, name: str) -> RecordingError:
        if reason := self.left_out.reason(name):
            return RecordingError(
                f"No run has a table {name} that can be read ({reason}).",
                hint=f"`tracekit tables RUN {name}` reads that of one run; --table says which of "
                "several.",
            )
        return RecordingError(
            f"No run has the table {name}.",
            hint=f"It is made of {origins(SCHEMAS[name])}; "
            "`tracekit query --list` says what there is.",
        )


def folders(sources: Sources) -> Iterator[Path]:
    """Yield the folders that views read files from."""
    for run in sources.runs:
        if not run.is_bundle and is_text(run.path.resolve()):
            yield run.path / "tables"
    for batch in sources.batches:
        yield from (batch.path / "tables", batch.path / "results")


def listing(
    paths: Sequence[Path], progress: Progress = quiet, number: int | None = None
) -> tuple[list[View], tuple[str, ...]]:
    """List what can be asked of all runs, bundles and batches below paths; nothing is made.

    Of a bundle with several runs `number` says which; None for the last. The second part says
    what kept runs from being looked at.

    Raises:
        UsageError: As `tracekit.fleet.query.sources`.
        RecordingError: There is no run.
    """
    found = sources(paths)
    left_out = LeftOut()
    with TemporaryDirectory(prefix="tracekit-query-") as workshop:
        opener = Opener(Path(workshop), number)
        counts = _counts(found, opener, left_out, progress)
    return list(_views(found, counts)), (*opener.notes, *left_out.warnings)


def _counts(found: Sources, opener: Opener, left_out: LeftOut, progress: Progress) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run in found.each_run(progress):
        try:
            recording = opener.opened(run)
            counts.update(list(tables_of(recording)))
            counts.update(["metrics", "findings"] if recording.result_file.exists() else [])
        except TracekitError as error:
            left_out.unreadable("every table", run.name, error.message)
    for batch in found.batches:
        analysed = sum(recording.state == "ok" for recording in batch.recordings)
        counts.update({name: len(batch.table(name)) for name in SCHEMAS})
        counts.update(dict.fromkeys(("metrics", "findings"), analysed))
        counts["runs"] += len(batch.recordings)
    counts["runs"] += len(found.runs)
    return counts


def _views(found: Sources, counts: Counter[str]) -> Iterator[View]:
    for name, schema in overviews.SCHEMAS.items():
        yield name, counts[name], schema.names
    if found.batches:
        recorded = sum(len(batch.recordings) for batch in found.batches)
        yield overviews.RESULTS, recorded, ["run", "run_path", *found.batches[0].columns]
    for name, schema in SCHEMAS.items():
        if counts[name]:
            own = [column.name for column in schema.columns]
            more = [f"({schema.more})"] if schema.more else []
            yield name, counts[name], ["run", "run_path", *own, *more]
