"""The views that SQL can name, each made of all runs when it is first named, and their list.

The tables of runs are written as Parquet into a private folder, from where DuckDB reads only the
parts that the question needs, so that memory stays bounded. Rows that an earlier question found are
taken from `kept_rows`.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tracekit import analysis
from tracekit import tables as tables_room
from tracekit.base import (
    InputError,
    Recording,
    RecordingError,
    TracekitError,
    UsageError,
    find_similar,
)
from tracekit.fleet.query import kept_rows, overviews
from tracekit.fleet.query.database import QueryDatabase, text
from tracekit.fleet.query.kept_rows import KeptRows, KeptRun
from tracekit.fleet.query.sources import AskedRun, Opener, Sources, sources
from tracekit.pipeline import tables_of
from tracekit.record import Progress, quiet
from tracekit.tables import (
    SCHEMAS,
    Flaw,
    Loss,
    Severity,
    run_keys,
    schemas,
)
from tracekit.tables import losses as tables_losses
from tracekit.tables.lazy import pa, pq

_NAMED = 12  # runs of one sentence, and sentences
_UNION = " UNION ALL BY NAME "
_THERE_IS_NONE = " is left out: there is none."


class LeftOut:
    """Runs that lack a table or cannot be read, and the losses of the others."""

    def __init__(self) -> None:
        self._runs: defaultdict[tuple[str, str, Flaw], dict[str, None]] = defaultdict(dict)

    def note(
        self,
        table: str,
        run: str,
        words: str = _THERE_IS_NONE,
        flaw: Flaw = Flaw.NOTED,
    ) -> None:
        """Note once why a run does not have a table, or a loss that its reader reports."""
        self._runs[table, words, flaw][run] = None

    @property
    def losses(self) -> tuple[Loss, ...]:
        """All of it: damage first, then runs that are left out."""
        entries = sorted(self._runs, key=self._rank)
        losses: list[Loss] = []
        for entry in entries[:_NAMED]:
            table, words, flaw = entry
            names = _join_names(list(self._runs[entry]))
            text = f"{table} of {names}{words}"
            losses.append(Loss(flaw, text, table=table))
        hidden_count = len(entries) - _NAMED
        if hidden_count > 0:
            more = f"There are {hidden_count:,} more losses; ask fewer runs to see them."
            losses.append(Loss(Flaw.NOTED, more))
        return tuple(losses)

    @staticmethod
    def _rank(entry: tuple[str, str, Flaw]) -> tuple[bool, bool]:
        _, words, flaw = entry
        is_damage = flaw.severity is Severity.ERROR
        is_left_out = not words.startswith(":")
        return not is_damage, not is_left_out

    @property
    def warnings(self) -> tuple[str, ...]:
        """All of it in sentences."""
        return tables_losses.sentences(self.losses)


def _flaw(error: TracekitError, ledger: tables_losses.Ledger) -> Flaw:
    """Return DAMAGED for a run that lost rows, or of which nothing can be read, else UNSURE."""
    if ledger.costs or (isinstance(error, InputError) and not ledger.read):
        return Flaw.DAMAGED
    return Flaw.UNSURE


def _join_names(runs: list[str]) -> str:
    names = ", ".join(runs[:_NAMED])
    if len(runs) > _NAMED:
        names += f" and {len(runs) - _NAMED:,} more"
    return names


def no_table(name: str, there: Collection[str]) -> UsageError:
    """Return the error for a table that does not exist, with similar names of those `there`."""
    hint = "`tracekit query --list` lists all tables with their columns."
    near = find_similar(name.lower(), there, likeness=0.5)
    if near:
        hint = f"Near are {', '.join(near)}. {hint}"
    return UsageError(f"There is no table {name!r}.", hint=hint)


GAPS = "gaps"
"""The table of gaps, which the analysis derives from other tables of a run."""
NAMES = (*overviews.COLUMNS, overviews.RESULTS, GAPS, *SCHEMAS)
_GAPS_COME_FROM = "gpu_intervals"
_HINT_OF_GAPS = "They are derived from GPU work of the target: look at `gpu_intervals`."
View = tuple[str, int, list[str]]  # its name, how many runs have it, its columns


@dataclass(frozen=True)
class _RunRows:
    """A table of a run, None if it lacks it, and the words on its losses.

    Rows that follow from an error that may pass are not certain, and are read again next time.
    `losses` are those of an import.
    """

    table: pa.Table | None
    omissions: tuple[tuple[str, Flaw], ...] = ()
    is_certain: bool = True
    losses: tuple[Loss, ...] = ()


_Read = Callable[[str, AskedRun], _RunRows]


_KeptRows = tuple[KeptRun, "pa.Table"]


@dataclass
class _Reading:
    """The runs that a question reads, on their way to the kept rows."""

    store: KeptRows
    kept_runs: dict[str, KeptRun]
    keys: Mapping[AskedRun, str]
    opener: Opener
    _waiting: list[tuple[KeptRun, pa.Table]] = field(
        default_factory=list[tuple[KeptRun, "pa.Table"]]
    )
    _row_count: int = 0

    def add(self, run: AskedRun, rows: _RunRows) -> None:
        """Keep the rows of a run with those of the next ones, if they are certain."""
        key = self.keys[run]
        table = rows.table
        row_count = table.num_rows if table is not None else 0
        if not key or not rows.is_certain or row_count > kept_rows.MOST_ROWS:
            return
        notes = self.opener.notes_on(run)
        kept_run = KeptRun(key, row_count, table is not None, rows.omissions, notes, rows.losses)
        self.kept_runs[key] = kept_run
        self._waiting.append((kept_run, kept_rows.with_number(table, kept_run)))
        self._row_count += row_count
        if self._row_count >= kept_rows.ROW_GROUP:
            self.keep()

    def keep(self) -> None:
        """Write the rows that were added since the last time."""
        if self._waiting or self.store.has_dead_rows:
            self.store.add(self._waiting, self.kept_runs)
        self._waiting = []
        self._row_count = 0


@dataclass
class _Statement:
    """SQL that names the files of batches; `write` makes it of those that are there now."""

    write: Callable[[], str]
    sql: str

    def renew(self) -> bool:
        """Write it again; return whether it changed."""
        last_sql = self.sql
        self.sql = self.write()
        return self.sql != last_sql


@dataclass(frozen=True)
class Views:
    """The views of a database; `omissions` grows with the runs that they lack, and the reasons."""

    database: QueryDatabase
    sources: Sources
    opener: Opener
    omissions: LeftOut
    progress: Progress
    _made: list[_Statement] = field(default_factory=list[_Statement])

    def make(self, name: str) -> None:
        """Make the view that a question names, in upper or lower case."""
        name = name.lower()
        if name not in NAMES:
            raise no_table(name, NAMES)
        if name in overviews.COLUMNS:
            self._make_overview(name)
        elif name == overviews.RESULTS:
            self._make_view(name, lambda: overviews.results(self.sources.batches))
        else:
            of_runs = self._select_runs(name, self._read_table)
            self._make_view(name, lambda: self._select_table(name, of_runs))

    def renew(self) -> bool:
        """Make those views anew for which a batch has other files now; return if there are any."""
        is_changed = False
        for statement in self._made:
            if statement.renew():
                self._execute_with_files(statement)
                is_changed = True
        return is_changed

    def _make_view(self, name: str, select: Callable[[], Sequence[str]]) -> None:
        def write() -> str:
            return f"CREATE OR REPLACE VIEW {name} AS {_UNION.join(select())}"

        statement = _Statement(write, write())
        self._execute_with_files(statement)
        self._made.append(statement)

    def _make_overview(self, name: str) -> None:
        """Make a table, because many small files are read once, in the order of the runs' names."""
        of_runs = self._select_overview(name)

        def write() -> str:
            of_batches = overviews.of_batches(name, self.sources.batches)
            return f"CREATE TABLE unsorted_{name} AS {_UNION.join((*of_runs, *of_batches))}"

        self._execute_with_files(_Statement(write, write()))
        self._execute(f"CREATE TABLE {name} AS FROM unsorted_{name} ORDER BY run, rowid")

    def _execute_with_files(self, statement: _Statement) -> None:
        """Execute a statement; if a file is gone, because a batch joins its files, a new one."""
        execute = self.database.connection.execute
        self.database.read(lambda: execute(statement.sql), statement.renew)

    def _execute(self, sql: str) -> None:
        self.database.waiting(lambda: self.database.connection.execute(sql))

    def _select_table(self, name: str, of_runs: Sequence[str]) -> list[str]:
        """Return queries for the rows of runs and batches, and note the recordings without any."""
        selects = list(of_runs)
        for batch in self.sources.batches:
            table_files = batch.table(name)
            if table_files:
                selects.append(overviews.rows_in(batch, list(table_files)))
            keys = {key for keys in table_files.values() for key in keys}
            for recording in batch.recordings:
                if not recording.has_failed and recording.key not in keys:
                    self.omissions.note(name, batch.name_recording(recording))
        if not selects:
            sentences = [f"No run has a table {name} that can be read.", *self.omissions.warnings]
            if name == GAPS:
                raise RecordingError(" ".join(sentences), hint=_HINT_OF_GAPS)
            origins = schemas.origins(SCHEMAS[name])
            raise RecordingError(
                " ".join(sentences),
                hint=f"It is made of {origins}; `tracekit query --list` lists the "
                f"tables, and `tracekit tables RUN {name}` reads that of one run.",
            )
        if self.sources.batches:
            selects.append(overviews.select_no_rows("month"))
        return selects

    def _select_overview(self, name: str) -> list[str]:
        """Return queries for the rows of all runs in an overview, and note batches without it."""
        if name not in overviews.IN_BATCHES:
            for batch in self.sources.batches:
                words = f" is left out: a batch does not keep its {name}."
                self.omissions.note(name, batch.path.name, words)
        self.database.table(f"no_{name}", overviews.schema_of(name).empty_table())
        selects = self._select_runs(name, self._read_overview)
        if name != "runs":
            self._note_failed_recordings(name)
        return [f"FROM no_{name}", *selects]

    def _select_runs(self, name: str, read: _Read) -> list[str]:
        """Return queries for the rows of all runs, and note the runs that lack them.

        Rows that an earlier question found are taken from there; others are read, and are kept.
        """
        store = KeptRows(self.sources.paths, name)
        ignored = run_keys.RESULTS
        if name in overviews.COLUMNS:
            ignored = frozenset()
        keys: dict[AskedRun, str] = {}
        for run in self.sources.runs:
            keys[run] = run_keys.make_run_key(
                run.path, f"{self.opener.number}", is_bundle=run.is_bundle, ignored=ignored
            )
        asked_keys = [key for key in keys.values() if key]
        kept_runs, kept_files = store.find(asked_keys, self.database)
        kept_by_run: dict[AskedRun, KeptRun] = {}
        unread_runs: list[AskedRun] = []
        for run, key in keys.items():
            if key in kept_runs:
                kept_by_run[run] = kept_runs[key]
            else:
                unread_runs.append(run)
        selects = self._select_kept_rows(name, kept_by_run, kept_files)
        reading = _Reading(store, kept_runs, keys, self.opener)
        files = list(self._write_files(name, self._each_table(name, unread_runs, read, reading)))
        reading.keep()
        if files:
            selects.append(f"FROM {overviews.parquet(files)}")
        return selects

    def _select_kept_rows(
        self, name: str, kept_runs: Mapping[AskedRun, KeptRun], files: Sequence[Path]
    ) -> list[str]:
        """Return a query for the kept rows of runs, and repeat the losses; empty without rows."""
        identities: list[str] = []
        for run, kept_run in kept_runs.items():
            self._note(name, run, kept_run.omissions)
            self.opener.note(run, kept_run.notes)
            tables_losses.report(kept_run.losses, read=False)
            if kept_run.has_table:
                words = ", ".join(map(text, overviews.identify_run(run).values()))
                identities.append(f"(CAST('{kept_run.number}' AS BIGINT), {words})")
        if not identities:
            return []
        # Not by way of Arrow, which would import pandas to make a table of values.
        values = f"(VALUES {', '.join(identities)}) AS asked({kept_rows.NUMBER}, run, run_path)"
        self.database.connection.execute(f"CREATE TABLE asked_{name} AS FROM {values}")
        select = (
            f"SELECT run, run_path, kept.* EXCLUDE ({kept_rows.NUMBER}) "
            f"FROM {overviews.parquet(files)} AS kept "
            f"JOIN asked_{name} USING ({kept_rows.NUMBER})"
        )
        return [select]

    def _write_files(self, name: str, all_tables: Iterator[pa.Table]) -> Iterator[Path]:
        """Yield files with the tables of runs.

        Small tables with the same columns share a file: writing one takes longer than reading them.
        """
        number = 0
        row_count = 0
        tables: list[pa.Table] = []
        for table in all_tables:
            is_full = row_count >= kept_rows.ROW_GROUP
            if tables and (is_full or not table.schema.equals(tables[0].schema)):
                yield self._write_file(name, number, tables)
                number += 1
                row_count = 0
                tables = []
            tables.append(table)
            row_count += table.num_rows
        if tables:
            yield self._write_file(name, number, tables)

    def _write_file(self, name: str, number: int, tables: list[pa.Table]) -> Path:
        file = self.database.workshop / f"{name}.{number}.parquet"
        whole_table = pa.concat_tables(tables)
        pq.write_table(whole_table, file, compression="zstd", row_group_size=kept_rows.ROW_GROUP)
        return file

    def _each_table(
        self, name: str, runs: Sequence[AskedRun], read: _Read, reading: _Reading
    ) -> Iterator[pa.Table]:
        """Yield the table of each run that has it, with the columns that identify the run."""
        for number, run in enumerate(runs, start=1):
            self.progress(f"{name}: run {number:,} of {len(runs):,}")
            rows = read(name, run)
            self._note(name, run, rows.omissions)
            reading.add(run, rows)
            table = rows.table
            if table is None:
                continue
            identity = overviews.identify_run(run).items()
            for place, (column, value) in enumerate(identity):
                repeated = _repeat(value, table.num_rows)
                table = table.add_column(place, column, repeated)
            yield table

    def _note(self, name: str, run: AskedRun, omissions: Sequence[tuple[str, Flaw]]) -> None:
        for words, flaw in omissions:
            self.omissions.note(name, run.name, words, flaw)

    def _read_table(self, name: str, run: AskedRun) -> _RunRows:
        """Read a table of a run, and the words on its losses."""
        with tables_losses.collecting() as ledger:
            try:
                table = _read_rows(name, self.opener.open_run(run))
                omissions: list[tuple[str, Flaw]] = []
            except tables_room.MissingTableError:
                table = None
                omissions = [(_THERE_IS_NONE, Flaw.NOTED)]
            except analysis.Unavailable as reason:
                table = None
                omissions = [(f" is left out: {reason}", Flaw.NOTED)]
            except TracekitError as error:
                words = f" is left out: {error.message}"
                return _RunRows(None, ((words, _flaw(error, ledger)),), is_certain=False)
        for flaw in Flaw:
            losses = [loss for loss in ledger.read if loss.flaw is flaw]
            for sentence in tables_losses.sentences(losses, bundles=False):
                omissions.append((f": {sentence}", flaw))
        return _RunRows(table, tuple(omissions))

    def _read_overview(self, name: str, run: AskedRun) -> _RunRows:
        """Read the rows of a run, and report the losses of its import."""
        with tables_losses.collecting() as ledger:
            rows = self._read_rows(name, run)
        tables_losses.report(ledger.losses, read=False)
        return replace(rows, losses=ledger.losses)

    def _read_rows(self, name: str, run: AskedRun) -> _RunRows:
        """Read the rows of a run; `runs` has a row with the error of a run that is unreadable."""
        schema = overviews.without_identity(name)
        try:
            rows = overviews.rows_of(name, self.opener.open_run(run))
            return _RunRows(pa.Table.from_pylist(rows, schema))
        except TracekitError as error:
            if name == "runs":
                row: overviews.Cells = {"state": "unreadable", "error": error.message}
                return _RunRows(pa.Table.from_pylist([row], schema), is_certain=False)
            words = f" is left out: {error.message}"
            flaw = _flaw(error, tables_losses.Ledger())
            return _RunRows(None, ((words, flaw),), is_certain=False)

    def _note_failed_recordings(self, name: str) -> None:
        for batch in self.sources.batches:
            for recording in batch.recordings:
                if recording.has_failed:
                    words = f" is left out: {recording.error}"
                    self.omissions.note(name, batch.name_recording(recording), words)


def _read_rows(name: str, recording: Recording) -> pa.Table:
    """Return a table of a run, or its gaps; raise Unavailable if the analysis cannot tell them."""
    tables = tables_of(recording)
    if name == GAPS:
        gaps = analysis.Given(tables, recording.provenance())["gap_list"]
        return pa.Table.from_pandas(gaps, preserve_index=False).replace_schema_metadata()
    return tables.arrow(name)


def _repeat(value: str, count: int) -> pa.DictionaryArray:
    """Return a column of equal texts; `pa.repeat` and `pa.array` would import pandas."""
    content = value.encode()
    ends = array("i", (0, len(content)))
    one_text = pa.StringArray.from_buffers(1, pa.py_buffer(ends), pa.py_buffer(content))
    zeros = pa.py_buffer(bytes(ends.itemsize * count))
    places = pa.Int32Array.from_buffers(pa.int32(), count, [None, zeros])
    return pa.DictionaryArray.from_arrays(places, one_text)


def listing(
    paths: Sequence[Path] | Mapping[Path, Path],
    progress: Progress = quiet,
    number: int | None = None,
) -> tuple[list[View], tuple[str, ...]]:
    """List the tables of all runs, bundles and batches below paths; nothing is made.

    `number` is the run of a bundle that has several; None for the last. The second part is why
    runs were left out.
    """
    asked_sources = sources(paths)
    omissions = LeftOut()
    with TemporaryDirectory(prefix="tracekit-query-") as workshop:
        opener = Opener(Path(workshop), number)
        counts = _counts(asked_sources, opener, omissions, progress)
    tables_losses.report(omissions.losses)
    all_views = list(_views(asked_sources, counts))
    return all_views, (*opener.notes, *omissions.warnings)


def _counts(
    asked_sources: Sources, opener: Opener, omissions: LeftOut, progress: Progress
) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run in asked_sources.each_run(progress):
        try:
            recording = opener.open_run(run)
            table_names = list(tables_of(recording))
            counts.update(table_names)
            if _GAPS_COME_FROM in table_names:
                counts[GAPS] += 1
            if recording.result_file.exists():
                counts.update(["metrics", "findings", "evidence", "checks"])
        except TracekitError as error:
            words = f" is left out: {error.message}"
            flaw = _flaw(error, tables_losses.Ledger())
            omissions.note("every table", run.name, words, flaw)
    for batch in asked_sources.batches:
        for name in SCHEMAS:
            counts[name] += sum(map(len, batch.table(name).values()))
        analysed = [recording for recording in batch.recordings if not recording.has_failed]
        counts["metrics"] += len(analysed)
        counts["findings"] += len(analysed)
        counts["runs"] += len(batch.recordings)
        counts[overviews.RESULTS] += len(batch.recordings)
    counts["runs"] += len(asked_sources.runs)
    return counts


def _views(asked_sources: Sources, counts: Counter[str]) -> Iterator[View]:
    for name in overviews.COLUMNS:
        yield name, counts[name], overviews.schema_of(name).names
    if asked_sources.batches:
        from tracekit.fleet.batch.results import ROW_SCHEMA  # noqa: PLC0415  few ask a batch

        columns = ["run", "run_path", *ROW_SCHEMA.names[1:]]
        yield overviews.RESULTS, counts[overviews.RESULTS], columns
    if counts[GAPS]:
        yield GAPS, counts[GAPS], ["run", "run_path", *analysis.listing.GAP_COLUMNS]
    for name, schema in SCHEMAS.items():
        if counts[name]:
            column_names = [column.name for column in schema.columns]
            columns = ["run", "run_path", *column_names]
            if asked_sources.batches:
                columns.append("month")
            if schema.more:
                columns.append(f"({schema.more})")
            yield name, counts[name], columns
