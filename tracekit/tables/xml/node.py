"""One table of an export, as text: its columns, and what their cells say."""

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class ExportColumn:
    """A column as the export declares it: its key, its title, the type of its cells."""

    mnemonic: str
    name: str
    engineering_type: str


@dataclass(frozen=True)
class Header:
    """What stands above a table's rows."""

    schema: str
    columns: tuple[ExportColumn, ...]


@dataclass(frozen=True, eq=False)
class ColumnTexts:
    """The cells of one column, null where the export has none.

    `foreign` holds the cells' own types where they differ from the declared one, as they do
    in a column of type `any`. `pids` and `tids` stand beside a process or a thread.
    """

    column: ExportColumn
    texts: pa.ChunkedArray
    foreign: frozenset[str] = frozenset()
    pids: pa.ChunkedArray | None = None
    tids: pa.ChunkedArray | None = None


@dataclass(frozen=True, eq=False)
class Node:
    """One table of an export; `damage` says in words where its rows stop too early."""

    schema: str
    xpath: str
    columns: tuple[ColumnTexts, ...]
    rows: int
    damage: str = ""
