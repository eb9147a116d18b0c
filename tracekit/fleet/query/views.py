"""The views that SQL can name, each made of all runs when it is first asked for, and their list.

The tables of runs are written as Parquet into a private folder, from where DuckDB reads what the
question needs, so that memory stays bounded.
"""

import difflib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import InputError, RecordingError, TracekitError, UsageError
from tracekit.fleet.batch.results import ROW_SCHEMA
from tracekit.fleet.query import overviews
from tracekit.fleet.query.database import QueryDatabase
from tracekit.fleet.query.sources import AskedRun, Opener, Sources, sources
from tracekit.pipeline import tables_of
from tracekit.record import Progress, quiet
from tracekit.tables import (
    SCHEMAS,
    Flaw,
    Ledger,
    Loss,
    MissingTableError,
    Severity,
    collecting,
    origins,
    report,
    sentences,
)

_ROW_GROUP = 122_880  # rows; what one thread of DuckDB takes at a time
_NAMED = 12  # runs of one sentence, and sentences


class LeftOut:
    """Runs that lack a table or cannot be read, and what was lost of the others."""

    def __init__(self) -> None:
        self._runs: defaultdict[tuple[str, str, Flaw], list[str]] = defaultdict(list)

    def note(
        self,
        table: str,
        run: str,
        words: str = " is left out: there is none.",
        flaw: Flaw = Flaw.NOTED,
    ) -> None:
        """Note why a run does not have a table, or what the reader of it had to say."""
        self._runs[table, words, flaw].append(run)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """All of it: damage first, then runs that are left out."""
        sorted_entries = sorted(
            self._runs.items(),
            key=lambda entry: (
                entry[0][2].severity is not Severity.ERROR,
                entry[0][1].startswith(":"),
            ),
        )
        losses = [
            Loss(flaw, f"{table} of {_join_names(runs)}{words}", table=table)
            for (table, words, flaw), runs in sorted_entries
        ]
        hidden_count = len(losses) - _NAMED
        more = f"There are {hidden_count:,} more losses; ask fewer runs to see them."
        return (*losses[:_NAMED], *([Loss(Flaw.NOTED, more)] if hidden_count > 0 else []))

    @property
    def warnings(self) -> tuple[str, ...]:
        """All of it in sentences."""
        return sentences(self.losses)


def _flaw(error: TracekitError, ledger: Ledger) -> Flaw:
    """Tell whether a run is left out for damage: it was told, or nothing of it can be read."""
    damage = ledger.costs or (isinstance(error, InputError) and not ledger.read)
    return Flaw.DAMAGED if damage else Flaw.UNSURE


def _join_names(runs: list[str]) -> str:
    some = ", ".join(runs[:_NAMED])
    return some if len(runs) <= _NAMED else f"{some} and {len(runs) - _NAMED:,} more"


def no_table(name: str, there: Collection[str]) -> UsageError:
    """Say that there is no table of that name, and which are near."""
    near = difflib.get_close_matches(name.lower(), there, cutoff=0.5)
    listed = "`tracekit query --list` lists all tables with their columns."
    hint = f"Near are {', '.join(near)}. {listed}" if near else listed
    return UsageError(f"There is no table {name!r}.", hint=hint)


NAMES = (*overviews.SCHEMAS, overviews.RESULTS, *SCHEMAS)
View = tuple[str, int, list[str]]  # its name, how many runs have it, its columns


@dataclass(frozen=True)
class Views:
    """The views of a database; `omissions` grows with what they lack, and why."""

    database: QueryDatabase
    sources: Sources
    opener: Opener
    omissions: LeftOut
    progress: Progress

    def make(self, name: str) -> None:
        """Make the view that a question names, in whatever case."""
        name = name.lower()
        if name not in NAMES:
            raise no_table(name, NAMES)
        if name in overviews.SCHEMAS:
            selects = self._overview(name)
        elif name == overviews.RESULTS:
            selects = overviews.results(self.sources.batches)
        else:
            selects = self._table(name)
        select = " UNION ALL BY NAME ".join(selects)
        kind = "TABLE" if name in overviews.SCHEMAS else "VIEW"  # many small files are read once
        execute = self.database.connection.execute
        self.database.waiting(lambda: execute(f"CREATE {kind} {name} AS {select}"))

    def _table(self, name: str) -> list[str]:
        files = [*self._files(name)]
        selects = [f"FROM {overviews.parquet(files)}"] if files else []
        for batch in self.sources.batches:
            table_files = batch.table(name)
            selects += [overviews.rows_in(batch, table_files)] if table_files else []
            keys = {file.stem for file in table_files}
            for recording in batch.recordings:
                if not recording.has_failed and recording.key not in keys:
                    self.omissions.note(name, recording.recording)
        if not selects:
            raise RecordingError(
                " ".join(
                    [f"No run has a table {name} that can be read.", *self.omissions.warnings]
                ),
                hint=f"It is made of {origins(SCHEMAS[name])}; `tracekit query --list` says what "
                f"there is, and `tracekit tables RUN {name}` reads that of one run.",
            )
        return selects

    def _files(self, name: str) -> Iterator[Path]:
        """Yield a file with the table of each run that has it; the others are noted."""
        for number, run in enumerate(self.sources.each_run(self.progress, f"{name}: ")):
            table = self._read(name, run)
            if table is None:
                continue
            for place, (column, value) in enumerate(overviews.identify_run(run).items()):
                table = table.add_column(place, column, pa.repeat(value, table.num_rows))
            file = self.database.workshop / f"{name}.{number}.parquet"
            pq.write_table(table, file, compression="zstd", row_group_size=_ROW_GROUP)
            yield file

    def _read(self, name: str, run: AskedRun) -> pa.Table | None:
        """Return a table of a run; None where it is left out. What is lost of it is noted."""
        with collecting() as ledger:
            try:
                tables = tables_of(self.opener.open_run(run))
                table = pa.Table.from_pandas(tables[name], preserve_index=False)
            except MissingTableError:
                self.omissions.note(name, run.name)
                table = None
            except TracekitError as error:
                words = f" is left out: {error.message}"
                self.omissions.note(name, run.name, words, _flaw(error, ledger))
                return None
        for flaw in Flaw:
            losses = [loss for loss in ledger.read if loss.flaw is flaw]
            for text in sentences(losses, bundles=False):
                self.omissions.note(name, run.name, f": {text}", flaw)
        return table

    def _overview(self, name: str) -> list[str]:
        schema = overviews.SCHEMAS[name]
        done = [schema.empty_table()]
        for run in self.sources.each_run(self.progress, f"{name}: "):
            try:
                rows = list(overviews.rows_of(name, run, self.opener.open_run(run)))
            except TracekitError as error:
                rows = [
                    overviews.identify_run(run) | {"state": "unreadable", "error": error.message}
                ]
                if name != "runs":
                    rows = []
                    words = f" is left out: {error.message}"
                    self.omissions.note(name, run.name, words, _flaw(error, Ledger()))
            done.append(pa.Table.from_pylist(rows, schema))
        for batch in self.sources.batches:
            for recording in batch.recordings if name != "runs" else ():
                if recording.has_failed:
                    words = f" is left out: {recording.error}"
                    self.omissions.note(name, recording.recording, words)
        self.database.table(f"kept_{name}", pa.concat_tables(done).combine_chunks())
        return [f"FROM kept_{name}", *overviews.of_batches(name, self.sources.batches)]


def listing(
    paths: Sequence[Path], progress: Progress = quiet, number: int | None = None
) -> tuple[list[View], tuple[str, ...]]:
    """List what can be asked of all runs, bundles and batches below paths; nothing is made.

    Of a bundle with several runs `number` says which; None for the last. The second part says
    what kept runs from being looked at.
    """
    asked_sources = sources(paths)
    omissions = LeftOut()
    with TemporaryDirectory(prefix="tracekit-query-") as workshop:
        opener = Opener(Path(workshop), number)
        counts = _counts(asked_sources, opener, omissions, progress)
    report(omissions.losses)
    return list(_views(asked_sources, counts)), (*opener.notes, *omissions.warnings)


def _counts(
    asked_sources: Sources, opener: Opener, omissions: LeftOut, progress: Progress
) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run in asked_sources.each_run(progress):
        try:
            recording = opener.open_run(run)
            counts.update(list(tables_of(recording)))
            counts.update(["metrics", "findings"] if recording.result_file.exists() else [])
        except TracekitError as error:
            words = f" is left out: {error.message}"
            omissions.note("every table", run.name, words, _flaw(error, Ledger()))
    for batch in asked_sources.batches:
        analysed = sum(not recording.has_failed for recording in batch.recordings)
        counts.update({name: len(batch.table(name)) for name in SCHEMAS})
        counts.update(dict.fromkeys(("metrics", "findings"), analysed))
        counts.update({"runs": len(batch.recordings), overviews.RESULTS: len(batch.recordings)})
    counts["runs"] += len(asked_sources.runs)
    return counts


def _views(asked_sources: Sources, counts: Counter[str]) -> Iterator[View]:
    for name, schema in overviews.SCHEMAS.items():
        yield name, counts[name], schema.names
    if asked_sources.batches:
        yield (
            overviews.RESULTS,
            counts[overviews.RESULTS],
            ["run", "run_path", *ROW_SCHEMA.names[1:]],
        )
    for name, schema in SCHEMAS.items():
        if counts[name]:
            column_names = [column.name for column in schema.columns]
            more = [f"({schema.more})"] if schema.more else []
            yield name, counts[name], ["run", "run_path", *column_names, *more]
