"""Rows of runs, kept between questions among tracekit's own notes.

To open each run for a table takes longer than the answer. So its rows are kept: many runs share a
file of Parquet, and the metadata of the file lists them by key, with the losses of each.
Rows whose key nobody asks for belong to runs that changed or are gone: they are dropped when rows
are added. A file that is damaged counts as absent. Nothing is written into a folder of runs.

A folder of kept rows belongs to the paths that were asked. A question may read whatever is below
these, so it can read all rows that lie there.
"""

from __future__ import annotations

import io
import logging
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import duckdb
import msgspec

from tracekit.base import RecordingError, documents, files
from tracekit.fleet.query.database import QueryDatabase
from tracekit.tables import Flaw, Loss
from tracekit.tables.lazy import np, pa, pq

_log = logging.getLogger(__name__)
NUMBER = "_run"
"""The column of kept rows that holds the number of their run, the beginning of its key."""
ROW_GROUP = 122_880  # rows; one thread of DuckDB takes so many at a time
MOST_ROWS = 1_000_000  # of a run whose rows are kept
_MOST_BYTES = 2 << 30  # of all kept rows; folders that were not asked for longest go first
_METADATA = "tracekit.runs"
_FOLDER = "rows"


@dataclass(frozen=True)
class KeptRun:
    """A run whose rows lie in a file.

    `has_table` is false for a run that lacks the table. `omissions` are sentences on the losses of
    its table, `notes` those on the choice of a run of its bundle, and `losses` are those of its
    import.
    """

    key: str
    row_count: int = 0
    has_table: bool = True
    omissions: tuple[tuple[str, Flaw], ...] = ()
    notes: tuple[str, ...] = ()
    losses: tuple[Loss, ...] = ()

    @property
    def number(self) -> int:
        """The number by which its rows name it: the first eight bytes of its key."""
        return number_of(self.key)


def number_of(key: str) -> int:
    """Return the number of a key, as a signed integer of 64 bits."""
    return int.from_bytes(bytes.fromhex(key)[:8], "big", signed=True)


@dataclass(frozen=True)
class _RowPart:
    """A file of kept rows, and its runs."""

    file: Path
    runs: tuple[KeptRun, ...]

    @property
    def row_count(self) -> int:
        return sum(run.row_count for run in self.runs)


@dataclass
class _SharedRows:
    """Rows of one schema that will share a file."""

    runs: list[KeptRun] = field(default_factory=list[KeptRun])
    tables: list[pa.Table] = field(default_factory=list["pa.Table"])
    row_count: int = 0

    def add(self, runs: Sequence[KeptRun], table: pa.Table) -> None:
        self.runs += runs
        self.tables.append(table)
        self.row_count += table.num_rows


class KeptRows:
    """The kept rows of one table, of the runs below the paths that were asked."""

    def __init__(self, paths: Sequence[Path], table: str) -> None:
        """Look at the folder for these paths and this table; it need not be there."""
        places = sorted({str(path.resolve()) for path in paths})
        digest = blake2b("\n".join(places).encode(errors="surrogateescape"), digest_size=16)
        self._top = files.notes_folder() / _FOLDER
        self._folder = self._top / digest.hexdigest() / table
        self._parts: list[_RowPart] = []
        self._outdated: list[_RowPart] = []
        self.has_dead_rows = False
        """Whether rows lie here that nobody can ask for any more."""

    def find(
        self, keys: Sequence[str], database: QueryDatabase
    ) -> tuple[dict[str, KeptRun], list[Path]]:
        """Return by key the runs with kept rows among these keys, and files with their rows.

        The files lie in the database's folder, where no other process removes them, and hold no
        other rows.
        """
        asked_keys = set(keys)
        kept_runs: dict[str, KeptRun] = {}
        lent_files: list[Path] = []
        numbers: set[int] = set()
        for file, content in self._read_files():
            lent_file = database.workshop / f"{self._folder.name}.kept.{file.name}"
            try:
                part = _RowPart(file, _read_runs(file, content, database))
            except (ValueError, duckdb.Error, msgspec.MsgspecError) as error:
                _log.info("%s is made again: %s", file, error)
                self._outdated.append(_RowPart(file, ()))
                continue
            part_numbers = [run.number for run in part.runs]
            is_ambiguous = not numbers.isdisjoint(part_numbers)
            if is_ambiguous or len(set(part_numbers)) < len(part_numbers):
                self._outdated.append(part)
                continue
            numbers.update(part_numbers)
            self._parts.append(part)
            asked_runs = [run for run in part.runs if run.key in asked_keys]
            kept_runs.update((run.key, run) for run in asked_runs)
            self.has_dead_rows |= len(asked_runs) < len(part.runs)
            if any(run.has_table for run in asked_runs):
                _lend(part, content, asked_runs, lent_file)
                lent_files.append(lent_file)
        self.has_dead_rows |= bool(self._outdated)
        return kept_runs, lent_files

    def add(
        self, runs: Sequence[tuple[KeptRun, pa.Table]], live_runs: Mapping[str, KeptRun]
    ) -> None:
        """Keep the rows of more runs; drop those of runs that are not in `live_runs`.

        Small files become one. Rows that cannot be written are not kept.
        """
        small_parts = [part for part in self._parts if self._is_unsettled(part, live_runs)]
        try:
            self._top.mkdir(mode=0o700, parents=True, exist_ok=True)  # runs may be private
            self._folder.mkdir(parents=True, exist_ok=True)
            written_files: set[Path] = set()
            for rows in _share_files(self._collect(small_parts, live_runs), runs):
                written_files.add(self._write(rows))
            for part in (*small_parts, *self._outdated):
                if part.file not in written_files:
                    part.file.unlink(missing_ok=True)
            self._parts = [part for part in self._parts if part not in small_parts]
            self._outdated = []
            self.has_dead_rows = False
            _make_room(self._top, self._folder.parent)
        except (OSError, ValueError, RecordingError, pa.ArrowException) as error:
            _log.info("Rows of %s are not kept: %s", self._folder.name, error)

    @staticmethod
    def _is_unsettled(part: _RowPart, live_runs: Mapping[str, KeptRun]) -> bool:
        """Return whether a part is small, or has rows of runs that changed or are gone."""
        return part.row_count < ROW_GROUP // 2 or any(run.key not in live_runs for run in part.runs)

    def _read_files(self) -> Iterator[tuple[Path, bytes]]:
        """Yield the files with their content; one that another process removed is not there."""
        try:
            kept_files = sorted(self._folder.glob("*.parquet"))
            if kept_files:
                os.utime(self._folder.parent)
        except OSError as error:
            _log.info("Kept rows of %s are not read: %s", self._folder.name, error)
            return
        for file in kept_files:
            try:
                content = file.read_bytes()
            except OSError as error:
                _log.info("%s is not read: %s", file, error)
                continue
            yield file, content

    @staticmethod
    def _collect(
        parts: Sequence[_RowPart], live_runs: Mapping[str, KeptRun]
    ) -> Iterator[tuple[list[KeptRun], pa.Table]]:
        """Yield the rows of parts that are still asked for, and their runs."""
        for part in parts:
            runs = [run for run in part.runs if run.key in live_runs]
            table = pq.read_table(part.file)
            yield runs, _select_rows(table, part, runs)

    def _write(self, rows: _SharedRows) -> Path:
        table = pa.concat_tables(rows.tables)
        metadata = {**(table.schema.metadata or {}), _METADATA: documents.encode_json(rows.runs)}
        content = io.BytesIO()
        described_table = table.replace_schema_metadata(metadata)
        pq.write_table(described_table, content, compression="zstd", row_group_size=ROW_GROUP)
        file = self._folder / f"{_digest(content.getbuffer())}.parquet"
        files.write_whole(file, content.getvalue())
        return file


def _select_rows(table: pa.Table, part: _RowPart, runs: Sequence[KeptRun]) -> pa.Table:
    """Return the rows of some runs of a part."""
    if len(runs) == len(part.runs):
        return table
    from pyarrow import compute as pc  # noqa: PLC0415  most answers need none of it

    numbers = [run.number for run in runs]
    return table.filter(pc.field(NUMBER).isin(numbers))


def _lend(part: _RowPart, content: bytes, runs: Sequence[KeptRun], target: Path) -> None:
    """Put the rows of some runs of a part at a place; link the file if these are all."""
    if len(runs) < len(part.runs):
        table = pq.read_table(io.BytesIO(content))
        pq.write_table(_select_rows(table, part, runs).replace_schema_metadata(), target)
        return
    _link(part.file, content, target)


def _link(file: Path, content: bytes, target: Path) -> None:
    """Put a file at a place, by a link if that can be."""
    try:
        os.link(file, target)
    except OSError:
        target.write_bytes(content)


def _read_runs(file: Path, content: bytes, database: QueryDatabase) -> tuple[KeptRun, ...]:
    """Return the runs of a file, whose name is the digest of its content; ValueError if not."""
    if _digest(content) != file.stem:
        raise ValueError("its content is not that which was written")
    # It may hold rows of other runs, so it must be gone before a question is answered.
    copy = database.workshop / "runs.parquet"
    _link(file, content, copy)
    try:
        runs = database.read_metadata(copy, _METADATA)
    finally:
        copy.unlink()
    return documents.decode_json(runs, tuple[KeptRun, ...])


def _digest(content: bytes | memoryview) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _share_files(
    kept_rows: Iterator[tuple[list[KeptRun], pa.Table]],
    added_rows: Sequence[tuple[KeptRun, pa.Table]],
) -> Iterator[_SharedRows]:
    """Yield rows of one schema until they fill a row group, and then the others."""
    open_rows: dict[pa.Schema, _SharedRows] = {}
    additions = [([run], table) for run, table in added_rows]
    for runs, table in (*kept_rows, *additions):
        schema = table.schema.remove_metadata()
        plain_table = table.replace_schema_metadata()
        rows = open_rows.setdefault(schema, _SharedRows())
        rows.add(runs, plain_table)
        if rows.row_count >= ROW_GROUP:
            yield open_rows.pop(schema)
    yield from open_rows.values()


def with_number(table: pa.Table | None, run: KeptRun) -> pa.Table:
    """Return the rows of a run with the column of its number; no rows if it lacks the table."""
    if table is None:
        return pa.table({NUMBER: _repeat_number(run.number, 0)})
    return table.append_column(NUMBER, _repeat_number(run.number, table.num_rows))


def _repeat_number(number: int, count: int) -> pa.Array:
    """Return an array of one number; pyarrow imports pandas for any value that it converts."""
    numbers = np.full(count, number, np.int64)
    return pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(numbers)])


def _make_room(top: Path, asked_folder: Path) -> None:
    """Remove folders of kept rows, those first that were not asked for longest, to the limit."""
    folders = sorted(top.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    total = 0
    for folder in folders:
        total += sum(file.stat().st_size for file in folder.rglob("*.parquet"))
        if total > _MOST_BYTES and folder != asked_folder:
            shutil.rmtree(folder, ignore_errors=True)
