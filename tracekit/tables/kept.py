"""A table that was kept as Parquet: its columns are loaded when they are asked for."""

import hashlib
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.tables.convert import symbol_files
from tracekit.tables.flat import Flat
from tracekit.tables.layout import LONG_TEXTS, frame_of
from tracekit.tables.reading import ReaderName
from tracekit.tables.stamp import Stamp
from tracekit.tables.xml.symbols import Symbols, no_symbols

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Note:
    """What is known of a kept table: of its files, and what its reader had to say."""

    export: Stamp | None
    file: Stamp | None
    digest: str
    symbols: tuple[str, ...] = ()
    rows: int = 0
    damage: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    reader: ReaderName = "exact"
    irregularity: str = ""


@dataclass(frozen=True)
class Kept:
    """A table in a Parquet file; `again` reads the export where the file turns out damaged."""

    path: Path
    note: Note
    again: Callable[[], Flat]

    @property
    def said(self) -> tuple[str, ...]:
        """What the reader had to say."""
        return (*self.note.damage, *self.note.drift, *self.note.remarks)

    @property
    def damage(self) -> tuple[str, ...]:
        """Where rows are missing."""
        return self.note.damage

    @property
    def drift(self) -> tuple[str, ...]:
        """Where columns break their declared types."""
        return self.note.drift

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return self._or_again(self._names, lambda flat: flat.names)

    @property
    def symbols(self) -> Symbols:
        """The stacks that the columns NAME.stack number."""
        return self._or_again(self._symbols, lambda flat: flat.symbols)

    def part(self, columns: Collection[str] | None = None) -> pd.DataFrame:
        """Load some columns, in the table's order; without names all of them."""
        return self._or_again(lambda: self._part(columns), lambda flat: flat.part(columns))

    def _names(self) -> tuple[str, ...]:
        return tuple(pq.read_schema(self.path).names)

    def _part(self, columns: Collection[str] | None) -> pd.DataFrame:
        wanted = [name for name in self._names() if columns is None or name in columns]
        with pq.ParquetFile(
            self.path, page_checksum_verification=True, read_dictionary=self._long()
        ) as file:
            # One after the other, so that no more than one is held twice. A name also selects
            # what has it for a prefix before a dot.
            loaded = ((name, file.read([name]).column(name)) for name in wanted)
            return frame_of(loaded, file.metadata.num_rows)

    def _long(self) -> list[str]:
        """Name the columns whose texts are long and repeated often, as the file says."""
        said = (pq.read_metadata(self.path).metadata or {}).get(LONG_TEXTS, b"[]")
        return msgspec.json.decode(said, type=list[str])

    def _symbols(self) -> Symbols:
        if not self.note.symbols:
            return no_symbols()
        frames, stacks = symbol_files(self.path)
        if (digest(frames), digest(stacks)) != self.note.symbols:
            raise pa.ArrowInvalid(f"the stacks beside {self.path} are not those it was kept with")
        return Symbols(pq.read_table(frames), pq.read_table(stacks))

    def _or_again(self, load: Callable[[], _T], of: Callable[[Flat], _T]) -> _T:
        try:
            return load()
        except (OSError, pa.ArrowException) as error:
            _log.warning("%s is damaged; the export is read again: %s", self.path, error)
        return of(self._flat)

    @cached_property
    def _flat(self) -> Flat:
        return self.again()


def digest(file: Path) -> str:
    """Return what tells a file's content from any other."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "blake2b").hexdigest()[:32]
