"""The records of a table: inflated block by block, and split into columns.

A store allots records by chunks of 65,536, so that a small table holds megabytes of zeroes after
its last row. They are inflated too, and dropped: only the checksum after them reveals a flipped bit
in the rows. While one block is split, a thread inflates the next.
"""

import mmap
import struct
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.bundle.container.files import Files, inflate, most_inflated
from tracekit.tables.bundle.container.requirements import Field
from tracekit.tables.bundle.container.store import TableStore
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.values import prefetch

Column = NDArray[np.unsignedinteger[Any]]
Order = NDArray[np.int64]

_HEADER = struct.Struct("<7I")
_MAGIC = 0x12340A0A
_VERSION = 3
_HEADER_SIZE = 0x28
_BLOCK = 1 << 18  # of the file
_LARGE = 1 << 22
_FIRST_RECORD = 0x1000
_CHUNK_ROWS = 65_536
TIME = Field(0, 8)


def read_records(files: Files, store: TableStore, fields: Sequence[Field]) -> list[Column]:
    """Return the values of some fields, in the order in which Instruments shows the rows.

    The order is by time, and as stored if times are equal. Each column has memory of its own,
    which the caller may overwrite.
    """
    _require_room(files, store)
    read = list(fields)
    if TIME not in fields:
        read.append(TIME)
    columns = [_column(store.rows, field.width) for field in read]
    names = list(map(str, range(len(read))))
    formats = [f"<u{field.width}" for field in read]
    dtype = np.dtype(
        {
            "names": names,
            "formats": formats,
            "offsets": [field.offset for field in read],
            "itemsize": store.record,
        }
    )
    done = 0
    for records in prefetch(_records(files, store, dtype)):
        for number, column in enumerate(columns):
            column[done : done + records.size] = records[str(number)]
        done += records.size
    order = by_time(columns[read.index(TIME)])
    del columns[len(fields) :]
    if order is not None:
        for place, column in enumerate(columns):
            columns[place] = column[order]
    return columns


def _column(rows: int, width: int) -> Column:
    """Return a column to be filled.

    For a large one numpy requests huge pages. Finding these took the system as long as inflating
    the records.
    """
    if rows * width < _LARGE or sys.platform == "win32":
        return np.empty(rows, f"<u{width}")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    memory = mmap.mmap(-1, rows * width, flags=flags)
    return np.frombuffer(memory, f"<u{width}")


def by_time(times: Column) -> Order | None:
    """Return the stable order of rows by time; None if they are in that order already."""
    is_ascending = times[1:] >= times[:-1]
    if bool(is_ascending.all()):
        return None
    return np.argsort(times, kind="stable")


def _require_room(files: Files, store: TableStore) -> None:
    """Refuse more rows than the file can hold, before memory is allocated for them."""
    need = _FIRST_RECORD + store.rows * store.record
    if need > most_inflated(files.size(store.bulkstore)):
        raise files.make_damage_error(store.bulkstore, f"is too small for its {store.rows:,} rows")


def _records(
    files: Files, store: TableStore, dtype: np.dtype[np.void]
) -> Iterator[NDArray[np.void]]:
    """Yield all records, some megabytes at a time."""
    with files.open_file(store.bulkstore) as file, files.reading(store.bulkstore):
        stream = _Exactly(inflate(file, _BLOCK))
        first_record = stream.take(_FIRST_RECORD)
        *header_fields, record, chunk, rows = _HEADER.unpack_from(first_record)
        if header_fields != [_MAGIC, _VERSION, _HEADER_SIZE, _FIRST_RECORD]:
            raise ArchiveError("has a header that is not known")
        expected_layout = (store.record, store.record * _CHUNK_ROWS, _CHUNK_ROWS)
        if (record, chunk, rows) != expected_layout:
            raise ArchiveError("has records of another size than its table")
        batch_rows = max(1, _LARGE // store.record)
        for start_row in range(0, store.rows, batch_rows):
            row_count = min(batch_rows, store.rows - start_row)
            records = stream.take(row_count * record)
            yield np.frombuffer(records, dtype)
        spare_rows = -store.rows % _CHUNK_ROWS
        stream.end(max_zeroes=spare_rows * store.record)


class _Exactly:
    """A stream of blocks, taken in pieces of any size."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def take(self, size: int) -> bytes:
        """Return exactly `size` bytes; raise EOFError if there are fewer."""
        parts: list[memoryview] = []
        while size:
            if not self._rest:
                block = next(self._blocks, None)
                if block is None:
                    raise EOFError("it ends too early")
                self._rest = memoryview(block)
            part = self._rest[:size]
            self._rest = self._rest[len(part) :]
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def end(self, max_zeroes: int) -> None:
        """Go to the end, past no more than `max_zeroes` bytes of 0; raise EOFError for others."""
        remaining_bytes = max_zeroes
        for block in chain((self._rest,), self._blocks):
            remaining_bytes -= len(block)
            if remaining_bytes < 0:
                raise EOFError("it goes on behind its last chunk")
            if np.frombuffer(block, np.uint8).any():
                raise EOFError("it has records behind its last row")
