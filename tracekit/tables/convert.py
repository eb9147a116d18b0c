"""Exports and bundles into files of another kind, in memory that does not grow with their rows.

Where no cell to come can change the type of a column, parts are written as they come. Else the
cells wait as they are in a spool, a file without a name, until all of them were seen.
"""

import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import InputError, RecordingError, replacing, writing
from tracekit.tables.bundle.cells.encodings import Said, sentences
from tracekit.tables.direct import Listed, TableRef, shown
from tracekit.tables.drift import Told
from tracekit.tables.exports import ExportIndex, contents_beside, index
from tracekit.tables.layout import Layout
from tracekit.tables.place import OPEN, Choice
from tracekit.tables.reading import ReaderName, read_pieces
from tracekit.tables.selection import Selection, of_one_run
from tracekit.tables.toc.toc import Toc
from tracekit.tables.write import TableWriter, suffix_of, table_writer
from tracekit.tables.xml.node import Node

_PART_BYTES = 1 << 25
_PART_ROWS = 1 << 19


class Stream:
    """A sink that writes one table; `finish` has to be called at its end."""

    def __init__(
        self, file: BinaryIO, suffix: str, folder: Path, aside: "Aside", part_rows: int = _PART_ROWS
    ) -> None:
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
        self._held.append(raw)
        self._bytes += raw.nbytes
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


@dataclass(frozen=True)
class Converted:
    """What was written, and what the reader had to say."""

    files: tuple[Path, ...]
    rows: int
    told: Told


def convert(
    ref: TableRef,
    output: Path,
    schema: str | None = None,
    choice: Choice = OPEN,
    *,
    only: ReaderName | None = None,
    toc: Toc | None = None,
) -> Converted:
    """Write one table of an export to a file, and the stacks in it to two more.

    Beside `table.parquet` stand `table.frames.parquet` and `table.stacks.parquet` where the
    export has stacks: the columns NAME.stack number the rows of the second, whose frames number
    the rows of the first. All are written whole or not at all.

    Args:
        ref: What `xctrace export --xpath` wrote, or the host recorder; or a table of a bundle.
        output: The file to write; its suffix says the format.
        schema: Which table; needed only where the file has several.
        choice: Which of several tables of the schema.
        only: The one reader to use, as `read_pieces` takes it.
        toc: The table of contents; without it, the only one beside the export.

    Raises:
        UsageError: The suffix says no format.
        InputError: As `read_table`.
        RecordingError: A file cannot be written.
    """
    suffix = suffix_of(output)
    toc = toc or contents_beside(ref)
    with ExitStack() as files:
        file = files.enter_context(replacing(output))
        stream = files.enter_context(streaming(file, suffix, output.parent))
        selection = Selection(ref, stream, schema, choice, toc)
        symbols = read_pieces(ref, selection, toc, only).symbols
        selection.finish()
        stream.finish()
        beside: list[Path] = []
        if symbols.stacks.num_rows:
            beside += symbol_files(output)
            for path, part in zip(beside, (symbols.frames, symbols.stacks), strict=True):
                written = files.enter_context(replacing(path))
                pq.write_table(part, written, compression="zstd", compression_level=1)
    drift = tuple(f"{shown(ref)}: {message}" for message in stream.drift)
    told = Told(selection.damage, drift, selection.remarks)
    return Converted((output, *beside), selection.rows, told)


def files_of(table: Path) -> tuple[Path, Path, Path]:
    """Return the files that a table may become: itself, its frames and its stacks.

    Raises:
        UsageError: The suffix says no format.
    """
    suffix_of(table)
    return table, *symbol_files(table)


def symbol_files(table: Path) -> tuple[Path, Path]:
    """Return where the frames and the stacks of a table stand."""
    return table.with_suffix(".frames.parquet"), table.with_suffix(".stacks.parquet")


@dataclass(frozen=True)
class Unbundled:
    """What became of a bundle's tables.

    Attributes:
        files: What was written: tables, and the stacks beside them.
        said: What is to be known of tables that were written.
        lost: Which tables could not be read, and why.
    """

    files: tuple[Path, ...]
    said: tuple[str, ...]
    lost: tuple[str, ...]


def unbundle(
    bundle: Path,
    folder: Path,
    suffix: str,
    progress: Callable[[str], None],
    run: int | None = None,
    *,
    force: bool = False,
) -> Unbundled:
    """Write every table of a bundle as a flat one, under the name of its schema.

    Where a schema occurs again, its tables are called NAME-2, NAME-3 and so on, in the order of the
    table of contents. Of several runs, each has a folder `run1`, `run2` of its own, unless one of
    them is named.

    Args:
        bundle: The bundle.
        folder: Where to write; it is made.
        suffix: The format: .parquet, .csv or .feather.
        progress: Called with the table that is written.
        run: The only run to write; None for all.
        force: Whether files of the same names are replaced that tracekit did not make.

    Raises:
        UsageError: There is such a file, or no such run.
        InputError: The bundle is damaged, or of a layout that is not known.
        RecordingError: The files cannot be written.
    """
    found = index(bundle)
    if run is not None:
        found, _, _ = of_one_run(found, bundle, Choice(run))
    outputs = [
        (one, folder / f"{name}{suffix}") for one, name in _named(found.every) if not one.unreadable
    ]
    every = [file for _, output in outputs for file in files_of(output)]
    with writing(every, [bundle], force=force):
        return _written(found, outputs, progress)


def _written(
    found: ExportIndex, outputs: Iterable[tuple[Listed, Path]], progress: Callable[[str], None]
) -> Unbundled:
    files, said = list[Path](), dict[Said, None](dict.fromkeys(one.text for one in found.said))
    lost = dict.fromkeys(one.text for one in found.lost)
    for one, output in outputs:
        progress(f"writing {one.schema}")
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(
                f"{output.parent} cannot be made: {error.strerror}.", hint="Name another folder."
            ) from error
        try:
            converted = convert(one.ref, output, one.schema, one.choice, toc=found.toc)
        except InputError as error:
            lost[f"{one.schema}, {one}, is left out: {error.message}"] = None
            continue
        files += converted.files
        said |= dict.fromkeys(converted.told.said)
    return Unbundled(tuple(files), sentences(said), tuple(lost))


def _named(tables: Sequence[Listed]) -> Iterator[tuple[Listed, str]]:
    """Yield tables with the names of their files, none of which leads elsewhere."""
    several = len({table.place.run for table in tables}) > 1
    taken = set[str]()
    for one in sorted(tables, key=lambda one: (one.place.run or 0, one.place.index or 0)):
        name = f"{f'run{one.place.run}/' if several else ''}{file_name(one.schema)}"
        numbered = chain((name,), (f"{name}-{number}" for number in count(2)))
        free = next(other for other in numbered if other not in taken)
        taken.add(free)
        yield one, free


def file_name(text: str) -> str:
    """Return a text as it can be a file's name, with nothing that leads elsewhere."""
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in text)
