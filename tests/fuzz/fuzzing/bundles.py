"""All that a bundle says, whole or damaged: it is read, or refused in words."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pyarrow as pa

from tracekit.base.errors import InputError
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.container.store import TableStore
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.bundle.run_info import issues_of, losses_of, toc_of
from tracekit.tables.bundle_xml import UnwritableError, write_table
from tracekit.tables.layout import Layout
from tracekit.tables.toc import Toc

Key = tuple[int, int]  # run, number of the store


@dataclass(frozen=True)
class Told:
    """All that a bundle says: its tables, why others are not read, and what else is to be known.

    `said` are the sentences of all remarks, issues and notes of tables, `issues` those that
    Instruments noted.
    """

    tables: Mapping[Key, tuple[pa.Table, pa.Table]] = field(
        default_factory=dict[Key, tuple[pa.Table, pa.Table]]
    )
    unread: Mapping[Key, str] = field(default_factory=dict[Key, str])
    toc: Toc | None = None
    issues: tuple[str, ...] = ()
    said: frozenset[str] = frozenset()
    refused: str = ""

    def differing(self, whole: "Told") -> Iterator[str]:
        """Name what differs from the whole bundle."""
        for key, found in whole.tables.items():
            if key not in self.tables:
                yield f"table {key} is missing"
            elif found != self.tables[key]:
                yield f"table {key} differs"
        for key in self.tables.keys() - whole.tables.keys():
            yield f"table {key} is new"
        if self.toc != whole.toc:
            yield "the table of contents differs"
        if self.issues != whole.issues:
            yield "the issues differ"

    def wrong_numbers(self, whole: "Told") -> list[Key]:
        """Return the tables that are read and have other rows or numbers than in the whole one."""
        return [
            key
            for key, found in self.tables.items()
            if key not in whole.tables or _numbers(found) != _numbers(whole.tables[key])
        ]

    def speaks_of(self, keys: Collection[Key], new: frozenset[str], names: Sequence[str]) -> bool:
        """Tell whether new sentences name each of some tables, or one of some files."""
        if any(name in one for one in new for name in names):
            return True
        schemas = {(run.number, table.index - 1): table.schema for run in
                   (self.toc.runs if self.toc else ()) for table in run.tables}  # fmt: skip
        return all(any(schemas.get(key, "?") in one for one in new) for key in keys)


def told(path: Path, only: Sequence[Key] | None = None, *, xml: bool = True) -> Told:
    """Read everything of a bundle, or some tables; only what tracekit has words for is caught.

    Args:
        path: The bundle.
        only: Which tables; all where it is None.
        xml: Whether to write the tables as an export, too.
    """
    try:
        bundle = Bundle(path)
        said = [*map(str, losses_of(bundle))]
        issues = [str(one) for run in bundle.runs for one in issues_of(bundle, run)]
        toc = toc_of(bundle)
        pairs = [
            (run, table)
            for run in bundle.runs
            for table in run.tables
            if only is None or (run.number, table.number) in only
        ]
    except InputError as error:
        return Told(refused=_words(error))
    tables: dict[Key, tuple[pa.Table, pa.Table]] = {}
    unread: dict[Key, str] = {}
    for run, table in pairs:
        key = (run.number, table.number)
        if not isinstance(table, TableStore):
            unread[key] = table.reason
            continue
        try:
            tables[key], notes = _table(run, table)
            said += notes
            if xml:
                _write(run, table)
        except InputError as error:
            unread[key] = _words(error)
    sentences = frozenset((*said, *issues, *unread.values()))
    return Told(tables, unread, toc, tuple(issues), sentences)


def _table(run: BundleRun, store: TableStore) -> tuple[tuple[pa.Table, pa.Table], tuple[str, ...]]:
    reader = BundleReader(run, store, "//trace-toc[1]/run[1]/data[1]/table[1]")
    layout: Layout | None = None
    parts: list[pa.Table] = []
    notes: tuple[str, ...] = ()
    for piece in reader.pieces():
        layout = layout or Layout(piece)
        parts.append(layout.take(piece))
        notes = tuple(str(note) for note in piece.losses)
    return (pa.concat_tables(parts), reader.symbols().frames), notes


def _numbers(found: tuple[pa.Table, pa.Table]) -> tuple[int, list[pa.ChunkedArray]]:
    """Return how many rows there are, and all columns but those of words."""
    table, _ = found
    words = (pa.types.is_dictionary, pa.types.is_string, pa.types.is_null)
    columns = [one for one in table.columns if not any(is_it(one.type) for is_it in words)]
    return table.num_rows, columns


def _write(run: BundleRun, store: TableStore) -> None:
    with suppress(UnwritableError):
        write_table(BytesIO(), run, store, 1)


def _words(error: InputError) -> str:
    if not error.message or not error.hint:
        raise AssertionError(f"an error without a way out: {error!r}")
    return error.message
