"""The data set of a batch: one Parquet file for each source, written whole."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base.files import replacing
from tracekit.fleet.batch.row import Row, as_table

RESULTS = "results"
# A row in a file of its own has nothing to share or to skip: this is smallest, and soonest done.
_OF_FEW_ROWS: dict[str, Any] = {"use_dictionary": False, "write_statistics": False}


@dataclass(frozen=True)
class Known:
    """What an earlier batch found: the stamp of the source then, and whether it failed."""

    stamp: str
    failed: bool


@dataclass(frozen=True)
class Results:
    """The folder `results` of a batch.

    A file is called by the digest of where its source lies: whoever writes the results of a
    source again, for whatever reason, replaces them, so that none is ever there twice.
    """

    folder: Path

    def write(self, rows: tuple[Row, ...]) -> None:
        """Put the rows of one source in place of those that it had.

        Raises:
            RecordingError: They cannot be written.
        """
        with replacing(self._file(rows[0].source)) as file:
            pq.write_table(as_table(rows), file, **_OF_FEW_ROWS)

    def known(self) -> dict[str, Known]:
        """Return what is known of each source, by its key; a file that is damaged is not."""
        found: dict[str, Known] = {}
        for table in self._tables(["source", "stamp", "state"]):
            states = table["state"].to_pylist()
            if states:
                known = Known(table["stamp"][0].as_py(), "ok" not in states)
                found[table["source"][0].as_py()] = known
        return found

    def rows(self, columns: list[str]) -> Iterator[dict[str, Any]]:
        """Yield every row of the data set, with the columns that are asked for."""
        for table in self._tables(columns):
            yield from table.to_pylist(maps_as_pydicts="strict")

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        for path in sorted(self.folder.glob("*.parquet")):
            with suppress(pa.ArrowInvalid, OSError, KeyError):
                yield pq.ParquetFile(path).read(columns=columns, use_threads=False)

    def _file(self, source: str) -> Path:
        return self.folder / f"{source}.parquet"
