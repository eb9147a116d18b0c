"""A table on its way into a file, in memory that does not grow with its rows.

Where no cell to come can change the type of a column, parts are written as they come. Else the
cells wait as they are in a spool, a file without a name, until all of them were seen.
"""

import tempfile
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from tracekit.tables.layout import Layout
from tracekit.tables.long_texts import portions
from tracekit.tables.write import TableWriter, table_writer
from tracekit.tables.xml.node import Node

_PART_BYTES = 1 << 25
_PART_ROWS = 1 << 19


class Stream:
    """A sink that writes one table; `finish` has to be called at its end."""

    def __init__(
        self, file: BinaryIO, suffix: str, folder: Path, aside: "Aside", part_rows: int = _PART_ROWS
    ) -> None:
        """Take the file, its format, the folder for the spool, and who writes meanwhile."""
        self._part_rows = part_rows
        self._file = file
        self._suffix = suffix
        self._folder = folder
        self._aside = aside
        self._spool: BinaryIO | None = None
        self._writer: TableWriter | None = None
        self._spooling: pa.ipc.RecordBatchStreamWriter | None = None
        self.begin()

    def begin(self) -> None:
        """Forget all that was taken."""
        self._aside.wait()
        self._abandon()
        for file in (self._file, self._spool):
            if file is not None:
                file.seek(0)
                file.truncate()
        self._layout: Layout | None = None
        self._held: list[pa.Table] = []
        self._bytes = self._rows = 0

    def take(self, piece: Node) -> None:
        """Take the next piece; write when there is enough for a part."""
        if self._layout is None:
            self._layout = Layout(piece)
        raw = self._layout.take(piece)
        for number, part in enumerate(portions(raw)):
            if number:
                self._pass_on(self._layout)
            self._held.append(part.cast(self._layout.raw))
            self._bytes += self._held[-1].nbytes
        self._rows += raw.num_rows
        if self._bytes >= _PART_BYTES or self._rows >= self._part_rows:
            self._pass_on(self._layout)

    def finish(self) -> None:
        """Write what is left, and end the file."""
        layout = self._layout
        assert layout is not None
        if self._spooling is not None and self._held:
            self._pass_on(layout)
        self._aside.wait()
        writer = self._writer or table_writer(self._suffix, self._file, layout.schema)
        if self._spooling is not None:
            self._spooling.close()
            self._writer = writer
            self._unspool(layout, writer)
        elif self._held:
            writer.write(layout.converted(self._part()))
        self._writer = None
        writer.close(layout.metadata)

    @property
    def drift(self) -> tuple[str, ...]:
        """Say where columns break their declared types."""
        return self._layout.drift if self._layout else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._layout.raw.names) if self._layout else ()

    def _pass_on(self, layout: Layout) -> None:
        part = self._part()
        if layout.settled and self._suffix != ".feather":
            writer = self._writer or table_writer(self._suffix, self._file, layout.schema)
            self._writer = writer
            self._aside.do(lambda: writer.write(layout.converted(part)))
        else:
            spooling = self._spooling or self._begin_spool(layout)
            self._spooling = spooling
            self._aside.do(lambda: spooling.write_table(part))

    def _part(self) -> pa.Table:
        part = pa.concat_tables(self._held).combine_chunks()
        self._held = []
        self._bytes = self._rows = 0
        return part

    def _begin_spool(self, layout: Layout) -> pa.ipc.RecordBatchStreamWriter:
        if self._spool is None:
            self._spool = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115  closed by close
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        return pa.ipc.new_stream(self._spool, layout.raw, options=options)

    def _unspool(self, layout: Layout, writer: TableWriter) -> None:
        assert self._spool is not None
        self._spool.seek(0)
        for batch in pa.ipc.open_stream(self._spool):
            part = layout.converted(pa.Table.from_batches([batch]))
            self._aside.do(lambda part=part: writer.write(part))
        self._aside.wait()

    def close(self) -> None:
        """Give the spool back, and let go of a file that was not finished."""
        self._abandon()
        if self._spool is not None:
            self._spool.close()

    def _abandon(self) -> None:
        """End what was begun while its file is open: a writer that is forgotten writes an end."""
        writer, spooling = self._writer, self._spooling
        self._writer = self._spooling = None
        with suppress(OSError, pa.ArrowException):
            if writer is not None:
                writer.close({})
        with suppress(OSError, pa.ArrowException):
            if spooling is not None:
                spooling.close()


class Aside:
    """One thread that writes while the next part is read; it holds one part at most."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        """Take the pool whose one thread it is."""
        self._pool = pool
        self._doing: Future[None] | None = None

    def do(self, work: Callable[[], None]) -> None:
        """Begin the work once the one before is done; raise what that one raised."""
        self.wait()
        self._doing = self._pool.submit(work)

    def wait(self) -> None:
        """Wait until the work is done; raise what it raised."""
        doing, self._doing = self._doing, None
        if doing is not None:
            doing.result()


@contextmanager
def streaming(
    file: BinaryIO, suffix: str, folder: Path, part_rows: int = _PART_ROWS
) -> Generator[Stream]:
    """Give a stream into a file; end its thread and its spool, whatever happens.

    A part is written when it has `part_rows` rows or some ten MB.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="writer") as pool:
        stream = Stream(file, suffix, folder, Aside(pool), part_rows)
        try:
            yield stream
        finally:
            pool.shutdown(wait=True)
            stream.close()
