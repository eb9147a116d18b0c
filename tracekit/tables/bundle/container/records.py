"""The records of a table: inflated block by block, and taken apart into columns.

A store allots records by chunks of 65,536, so that a small table holds megabytes of zeroes behind
its last row. They are inflated too, and forgotten: the checksum behind them is all that tells a
flipped bit in the rows. While one block is taken apart, the next is inflated beside.
"""

import mmap
import struct
import sys
import zlib
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.bundle.container.files import Files, inflated, most_inflated
from tracekit.tables.bundle.container.record_layout import (
    CHUNK_ROWS,
    FIRST_RECORD,
    Field,
    dtype_of,
)
from tracekit.tables.bundle.container.store import Store

Column = NDArray[np.unsignedinteger[Any]]
Order = NDArray[np.int64]

_HEADER = struct.Struct("<7I")
_MAGIC, _VERSION, _HEADER_SIZE = 0x12340A0A, 3, 0x28
_BLOCK = 1 << 18  # of the file
_LARGE = 1 << 22
TIME = Field(0, 8)


def read_records(
    files: Files, store: Store, fields: Sequence[Field], wide: Collection[int] = ()
) -> list[Column]:
    """Return the values of some fields, in the order in which Instruments shows the rows.

    Each column has memory of its own, which the caller may overwrite. The order is by time, and
    as stored where times are equal.

    Args:
        files: The bundle.
        store: The table.
        fields: Which fields.
        wide: The places of those that are to have 64 bits, whatever they have in the records.

    Raises:
        BundleError: The records are damaged, cut, or laid out otherwise than the store says.
    """
    _require_room(files, store)
    widths = [8 if place in wide else one.width for place, one in enumerate(fields)]
    found = [_column(store.rows, width) for width in widths]
    known: dict[Field, list[Column]] = {TIME: []}
    for one, column in zip(fields, found, strict=True):
        known.setdefault(one, []).append(column)
    times = next((one for one in known[TIME]), None)
    if times is None:
        times = np.empty(store.rows, np.uint64)
        known[TIME].append(times)
    dtype = dtype_of(store.record, {str(number): one for number, one in enumerate(known)})
    done = 0
    stopped = Event()
    for records in _ahead(_records(files, store, dtype, stopped), stopped):
        for number, columns in enumerate(known.values()):
            for column in columns:
                column[done : done + records.size] = records[str(number)]
        done += records.size
    order = by_time(times)
    if order is None:
        return found
    del times, known
    for place, column in enumerate(found):
        found[place] = column[order]
    return found


def _column(rows: int, width: int) -> Column:
    """Return a column to be filled.

    For a large one numpy asks for huge pages. To find these took the system as long as inflating
    the records did.
    """
    if rows * width < _LARGE or sys.platform == "win32":
        return np.empty(rows, f"<u{width}")
    memory = mmap.mmap(-1, rows * width, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, f"<u{width}")


def by_time(times: Column) -> Order | None:
    """Return the stable order of rows by time; None where they stand in it already."""
    if bool((times[1:] >= times[:-1]).all()):
        return None
    return np.argsort(times, kind="stable")


def _require_room(files: Files, store: Store) -> None:
    """Refuse more rows than the file can hold, before memory is taken for them."""
    need = FIRST_RECORD + store.rows * store.record
    if need > most_inflated(files.size(store.bulkstore)):
        raise files.damaged(store.bulkstore, f"is too small for its {store.rows:,} rows")


def _records(
    files: Files, store: Store, dtype: np.dtype[np.void], stopped: Event
) -> Iterator[NDArray[np.void]]:
    """Yield all records, those that a block of the stream holds at a time, until `stopped`."""
    name, left = store.bulkstore, store.rows
    try:
        with files.open(name) as file:
            stream = _Exactly(_until(stopped, inflated(file, _BLOCK)))
            _check(files, store, stream.take(FIRST_RECORD))
            while left:
                block = stream.whole(store.record, left)
                left -= len(block) // store.record
                yield np.frombuffer(block, dtype)
            stream.end(most=-store.rows % CHUNK_ROWS * store.record)
    except (zlib.error, EOFError) as error:
        raise files.damaged(name, f"cannot be inflated ({error})") from error
    except OSError as error:
        raise files.damaged(name, f"cannot be read ({error.strerror})") from error


def _check(files: Files, store: Store, header: bytes) -> None:
    magic, version, size, first, record, chunk, rows = _HEADER.unpack_from(header)
    expected = (_MAGIC, _VERSION, _HEADER_SIZE, FIRST_RECORD)
    if (magic, version, size, first) != expected:
        raise files.damaged(store.bulkstore, "has a header that is not known")
    if (record, chunk, rows) != (store.record, store.record * CHUNK_ROWS, CHUNK_ROWS):
        raise files.damaged(store.bulkstore, "has records of another size than its table")


class _Exactly:
    """A stream of blocks, taken in pieces of any size."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = memoryview(b"")

    def take(self, size: int) -> bytes:
        """Return exactly so many bytes; raise EOFError if there are fewer."""
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

    def whole(self, size: int, most: int) -> bytes | memoryview:
        """Return pieces of that size, no more than `most`: those that are at hand, or one."""
        count = min(len(self._rest) // size, most)
        if not count:
            return self.take(size)
        pieces, self._rest = self._rest[: count * size], self._rest[count * size :]
        return pieces

    def end(self, most: int) -> None:
        """Go to the end, past no more than so many zeroes; raise EOFError if there is more."""
        left = most
        for block in chain((self._rest,), self._blocks):
            left -= len(block)
            if left < 0:
                raise EOFError("it goes on behind its last chunk")
            if np.frombuffer(block, np.uint8).any():
                raise EOFError("it has records behind its last row")


def _until(stopped: Event, blocks: Iterator[bytes]) -> Iterator[bytes]:
    for block in blocks:
        if stopped.is_set():
            return
        yield block


def _ahead(blocks: Iterator[NDArray[np.void]], stopped: Event) -> Iterator[NDArray[np.void]]:
    """Yield blocks while a thread gets the next one; who leaves early sets `stopped`.

    The thread is waited for, so it must not read on to the end of a file for nobody.
    """
    with ThreadPoolExecutor(1) as thread:
        try:
            coming = thread.submit(next, blocks, None)
            while (block := coming.result()) is not None:
                coming = thread.submit(next, blocks, None)
                yield block
        finally:
            stopped.set()
