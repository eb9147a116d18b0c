"""What must hold of every bundle, whole or damaged: it is read, or refused in words.

A file that carries a checksum never gives other values than were written; a damage to one that
carries none (the document, the requirements, symbols, issues) may change names, no more.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pyarrow as pa

from tracekit.errors import InputError
from tracekit.tables.bundle import Bundle, BundleRun, Store
from tracekit.tables.bundle.about.issues import issues_of
from tracekit.tables.bundle.about.remarks import remarks_of
from tracekit.tables.bundle.about.toc import toc_of
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.bundle_xml.meanings import Meanings, UnwritableError
from tracekit.tables.bundle_xml.table import write_table
from tracekit.tables.layout import Layout
from tracekit.toc import Toc

Key = tuple[int, int]  # run, number of the store


@dataclass(frozen=True)
class Told:
    """All that a bundle says: its tables, and why others are not read."""

    tables: Mapping[Key, tuple[pa.Table, pa.Table]] = field(
        default_factory=dict[Key, tuple[pa.Table, pa.Table]]
    )
    unread: Mapping[Key, str] = field(default_factory=dict[Key, str])
    toc: Toc | None = None
    refused: str = ""

    def untrue_of(self, whole: "Told") -> list[Key]:
        """Return the tables that are read, and not as those of the whole bundle."""
        return [key for key, found in self.tables.items() if found != whole.tables.get(key)]


def told(path: Path, only: Key | None = None) -> Told:
    """Read everything of a bundle, or one table; only what tracekit has words for is caught."""
    try:
        bundle = Bundle(path)
        remarks_of(bundle)
        for run in bundle.runs:
            issues_of(bundle, run)
        toc = toc_of(bundle)
        runs = bundle.runs
        pairs = [
            (run, table)
            for run in runs
            for table in run.tables
            if only in (None, (run.number, table.number))
        ]
    except InputError as error:
        return Told(refused=_words(error))
    tables: dict[Key, tuple[pa.Table, pa.Table]] = {}
    unread: dict[Key, str] = {}
    for run, table in pairs:
        key = (run.number, table.number)
        if not isinstance(table, Store):
            unread[key] = table.why
            continue
        try:
            tables[key] = _table(run, table)
            _write(run, table)
        except InputError as error:
            unread[key] = _words(error)
    return Told(tables, unread, toc)


def _table(run: BundleRun, store: Store) -> tuple[pa.Table, pa.Table]:
    reader = BundleReader(run, store, "//trace-toc[1]/run[1]/data[1]/table[1]")
    layout: Layout | None = None
    parts: list[pa.Table] = []
    for piece in reader.pieces():
        layout = layout or Layout(piece)
        parts.append(layout.take(piece))
    return pa.concat_tables(parts), reader.symbols().frames


def _write(run: BundleRun, store: Store) -> None:
    with suppress(UnwritableError):
        write_table(BytesIO(), run, store, 1, Meanings(run))


def _words(error: InputError) -> str:
    if not error.message or not error.hint:
        raise AssertionError(f"an error without a way out: {error!r}")
    return error.message
