"""The views that SQL can name, each made of all runs when it is first asked for."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa

from tracekit.base.errors import RecordingError, TracekitError
from tracekit.base.files import is_text
from tracekit.fleet.query import batches, overviews
from tracekit.fleet.query.database import Database, texts
from tracekit.fleet.query.kept import Part, normalized
from tracekit.fleet.query.leftout import LeftOut
from tracekit.fleet.query.opening import Opener
from tracekit.fleet.query.sources import Run, Sources
from tracekit.fleet.query.words import no_table
from tracekit.pipeline import tables_of
from tracekit.record.recorder import Progress
from tracekit.tables.schemas import SCHEMAS
from tracekit.tables.sources import origins
from tracekit.tables.tables import MissingTableError

NAMES = (*overviews.SCHEMAS, batches.RESULTS, *SCHEMAS)
_AT_ONCE = 20_000  # rows of an overview that are held as Python's objects
_GLOB = frozenset("*?[]{}")


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
        """Make the view that a question names, in whatever case.

        Raises:
            UsageError: There is no view of that name.
            RecordingError: No run has the table.
            duckdb.Error: DuckDB cannot read its files.
        """
        name = name.lower()
        if name not in NAMES:
            raise no_table(name, NAMES)
        if name in overviews.SCHEMAS:
            self._overview(name)
        elif name == batches.RESULTS:
            self.database.view(name, batches.results(self.sources.batches))
        else:
            self._table(name)

    def _table(self, name: str) -> None:
        parts = [*self._parts(name)]
        for batch in self.sources.batches:
            for recording in batches.lacking(batch, name):
                self.left_out.lacks(name, recording)
        selects = batches.tables(self.sources.batches, name)
        if parts:
            selects.insert(0, self._of_runs(name, parts))
        if not selects:
            raise self._nowhere(name)
        self.database.view(name, " UNION ALL BY NAME ".join(selects))

    def _of_runs(self, name: str, parts: Sequence[tuple[Run, Part]]) -> str:
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

    def _parts(self, name: str) -> Iterator[tuple[Run, Part]]:
        for number, run in enumerate(self.sources.runs, start=1):
            self.progress(f"{name}: run {number:,} of {len(self.sources.runs):,}")
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
        done, rows = [pa.Table.from_pylist([], schema)], list[overviews.Row]()
        for number, run in enumerate(self.sources.runs, start=1):
            self.progress(f"{name}: run {number:,} of {len(self.sources.runs):,}")
            try:
                rows += overviews.rows_of(name, run, self.opener.opened(run))
            except TracekitError as error:
                if name == "runs":
                    rows.append(overviews.unread(run, error))
                else:
                    self.left_out.unreadable(name, run.name, error.message)
            if len(rows) > _AT_ONCE:
                done.append(pa.Table.from_pylist(rows, schema))
                rows = []
        done.append(pa.Table.from_pylist(rows, schema))
        self.database.table(f"kept_{name}", pa.concat_tables(done))
        for batch in self.sources.batches if name != "runs" else ():
            for recording, error in batches.failed(batch):
                self.left_out.unreadable(name, recording, error)
        selects = [f"FROM kept_{name}", *batches.overview(self.sources.batches, name)]
        self.database.view(name, " UNION ALL BY NAME ".join(selects))

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
        near = get_close_matches(name, self._there(), cutoff=0.4)
        hint = f"Near are {', '.join(near)}. " if near else ""
        return RecordingError(
            f"No run has the table {name}.",
            hint=f"{hint}It is made of {origins(SCHEMAS[name])}; "
            "`tracekit query --list` tells what there is.",
        )

    def _there(self) -> list[str]:
        """Return the tables of the first run that can be read, which is what others are like."""
        for run in self.sources.runs:
            with suppress(TracekitError):
                return list(tables_of(self.opener.opened(run)))
        return [name for name in SCHEMAS if any(one.table(name) for one in self.sources.batches)]


def folders(sources: Sources) -> Iterator[Path]:
    """Yield the folders that views read files from."""
    for run in sources.runs:
        if not run.is_bundle and is_text(run.path.resolve()):
            yield run.path / "tables"
    for batch in sources.batches:
        yield from (batch.path / "tables", batch.path / "results")
