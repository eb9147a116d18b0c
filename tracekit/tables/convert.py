"""Conversion of exports and bundles to files of other formats, part by part."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.base import InputError, RecordingError, UsageError
from tracekit.base import files as base_files
from tracekit.base import outputs as base_outputs
from tracekit.tables.direct import CaptureTable, Listed, TableRef
from tracekit.tables.drift import ReadNotes
from tracekit.tables.export_files import contents_beside
from tracekit.tables.exports import ExportIndex, index, of_one_run
from tracekit.tables.flat import TableSelection, read_flat, read_pieces
from tracekit.tables.layout import Layout, find_unused_name
from tracekit.tables.losses import Flaw, Loss, report
from tracekit.tables.place import OPEN, Choice
from tracekit.tables.table_files import file_name, symbol_files
from tracekit.tables.toc import Toc
from tracekit.tables.values import dtype_of
from tracekit.tables.xml.node import Node

SUFFIXES = (".parquet", ".csv", ".feather")


def suffix_of(path: Path) -> str:
    """Return the suffix that selects the format; raise UsageError for an unknown one."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{path} has a suffix that says no format.", hint=f"Use {', '.join(SUFFIXES)}."
        )
    return suffix


def write_table(frame: pd.DataFrame, path: Path | str) -> None:
    """Write `frame`, without its index, as Parquet, CSV or Feather, by the suffix of `path`.

    Parquet and Feather keep every value and dtype. CSV keeps the values; a null and an empty
    text look alike there.

    Raises:
        UsageError: The suffix is not one of these.
        RecordingError: The file cannot be written; an earlier file is left as it was.
    """
    suffix = suffix_of(Path(path))
    with base_files.replacing(Path(path)) as file:
        _write(frame, file, suffix)


def _write(frame: pd.DataFrame, file: BinaryIO, suffix: str) -> None:
    if suffix == ".parquet":
        frame.to_parquet(file, index=False)
    elif suffix == ".feather":
        frame.reset_index(drop=True).to_feather(file)
    else:
        frame.to_csv(file, index=False)


def _write_parquet(table: pa.Table, file: BinaryIO) -> None:
    """Write a whole table as `ParquetStream` writes one in parts."""
    with _parquet_writer(file, table.schema) as writer:
        writer.write_table(table)


_PART_BYTES = 1 << 25
_PART_ROWS = 1 << 19


class ParquetStream:
    """A sink that writes one table as Parquet, in a thread while the next part is read.

    Parts are written as they come if no later cell can change the type of a column; else the cells
    are held until all were read. A part has half a million rows or some ten MB.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._doing: Future[None] | None = None
        self._parquet: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="writer")
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True)
        self._close()

    def begin(self) -> None:
        """Forget all pieces taken so far."""
        self._wait()
        self._close()
        self._file.seek(0)
        self._file.truncate()
        self.layout: Layout | None = None
        self._held: list[pa.Table] = []
        self._bytes = 0
        self._rows = 0

    def take(self, piece: Node) -> None:
        """Take the next piece; write when there is enough for a part."""
        layout = self.layout or Layout(piece)
        self.layout = layout
        raw = layout.take(piece)
        self._held.append(raw)
        self._bytes += raw.nbytes
        self._rows += raw.num_rows
        is_enough = self._bytes >= _PART_BYTES or self._rows >= _PART_ROWS
        if is_enough and layout.is_settled:
            part = self._part()
            self._wait()
            self._doing = self._pool.submit(lambda: self._write(layout.convert_table(part)))

    def finish(self) -> None:
        """Write the remaining cells, and end the file."""
        layout = self.layout
        assert layout is not None
        self._wait()
        if self._held:
            self._write(layout.convert_table(self._part()))
        if self._parquet is not None:
            self._parquet.add_key_value_metadata(layout.metadata)
            self._parquet.close()
            self._parquet = None

    def _close(self) -> None:
        """End an unfinished file while it is open, because a forgotten writer writes its end."""
        writer = self._parquet
        self._parquet = None
        with suppress(OSError, pa.ArrowException):
            if writer is not None:
                writer.close()

    def _part(self) -> pa.Table:
        part = pa.concat_tables(self._held).combine_chunks()
        self._held = []
        self._bytes = 0
        self._rows = 0
        return part

    def _write(self, table: pa.Table) -> None:
        self._parquet = self._parquet or _parquet_writer(self._file, table.schema)
        self._parquet.write_table(table, row_group_size=_PART_ROWS)

    def _wait(self) -> None:
        doing = self._doing
        self._doing = None
        if doing is not None:
            doing.result()


def _parquet_writer(file: BinaryIO, schema: pa.Schema) -> pq.ParquetWriter:
    """Start a Parquet file; each part is a row group, and each page has a checksum."""
    texts = [field.name for field in schema if dtype_of(field.type, nulls=False) == "string"]
    # The stored schema would hide the metadata that are known only at the end.
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=texts,  # pyright: ignore[reportArgumentType]  a list will do
        store_schema=False,
        write_page_checksum=True,
    )


@dataclass(frozen=True)
class Converted:
    """The files that were written, and the notes of the reader."""

    files: tuple[Path, ...]
    rows: int
    notes: ReadNotes


def convert_table(
    ref: TableRef,
    output: Path,
    schema: str | None = None,
    choice: Choice = OPEN,
    *,
    toc: Toc | None = None,
) -> Converted:
    """Write one table of an export to a file, and the stacks in it to two more.

    If the export has stacks, `table.frames.parquet` and `table.stacks.parquet` are written next to
    `table.parquet`: the columns NAME.stack number the rows of the second, whose frames number the
    rows of the first. All are written whole or not at all. Without a table of contents, the only
    one next to the export is used.

    Raises:
        UsageError: The suffix selects no format.
        InputError: As in `read_table`.
        RecordingError: A file cannot be written.
    """
    suffix = suffix_of(output)
    toc = toc or contents_beside(ref)
    with ExitStack() as files:
        file = files.enter_context(base_files.replacing(output))
        if suffix == ".parquet" and not isinstance(ref, CaptureTable):
            stream = files.enter_context(ParquetStream(file))
            selection = TableSelection(ref, stream, schema, choice, toc)
            symbols = read_pieces(ref, selection, toc)
            selection.finish()
            stream.finish()
            assert stream.layout is not None
            rows = selection.rows
            notes = selection.notes(stream.layout.drift)
        else:
            flat = read_flat(ref, schema, toc, choice)
            if suffix == ".parquet":
                _write_parquet(flat.table, file)
            else:
                _write(flat.frame, file, suffix)
            symbols = flat.symbols
            rows = flat.table.num_rows
            notes = flat.notes
        symbol_paths: tuple[Path, ...] = ()
        if symbols.stacks.num_rows:
            symbol_paths = symbol_files(output)
            parts = (symbols.frames, symbols.stacks)
            for path, part in zip(symbol_paths, parts, strict=True):
                symbol_stream = files.enter_context(base_files.replacing(path))
                pq.write_table(part, symbol_stream, compression="zstd", compression_level=1)
    return Converted((output, *symbol_paths), rows, notes)


def files_of(table: Path) -> tuple[Path, Path, Path]:
    """Return the files that a table may become: itself, its frames and its stacks."""
    suffix_of(table)
    return table, *symbol_files(table)


def convert_bundle(
    bundle: Path,
    folder: Path,
    suffix: str,
    progress: Callable[[str], None],
    run: int | None = None,
    *,
    force: bool = False,
) -> tuple[Path, ...]:
    """Write every table of a bundle as a flat one, under the name of its schema.

    If a schema occurs again, its tables are called NAME-2, NAME-3 and so on, in the order of the
    table of contents. Each of several runs has a folder `run1`, `run2` of its own, unless one of
    them is named. Files that tracekit did not make are replaced only by `force`. Returns the files
    of tables and their stacks; tables that could not be read are reported.

    Raises:
        UsageError: There is such a file, or no such run.
        InputError: The bundle is damaged, or of an unknown layout.
        RecordingError: The files cannot be written.
    """
    export_index = index(bundle)
    if run is not None:
        export_index, _, _ = of_one_run(export_index, bundle, Choice(run))
    outputs: list[tuple[Listed, Path]] = []
    all_files: list[Path] = []
    for table, name in _name_tables(export_index.all_tables):
        if table.unreadable:
            continue
        output = folder / f"{name}{suffix}"
        outputs.append((table, output))
        all_files += files_of(output)
    with base_outputs.writing(all_files, [bundle], force=force):
        return _write_tables(export_index, outputs, progress)


def _write_tables(
    export_index: ExportIndex,
    outputs: Iterable[tuple[Listed, Path]],
    progress: Callable[[str], None],
) -> tuple[Path, ...]:
    report((*export_index.unchecked_losses, *export_index.missing_losses))
    files: list[Path] = []
    for table, output in outputs:
        progress(f"writing {table.schema}")
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(
                f"{output.parent} cannot be made: {error.strerror}.", hint=base_files.remedy(error)
            ) from error
        try:
            converted = convert_table(
                table.ref, output, table.schema, table.choice, toc=export_index.toc
            )
        except InputError as error:
            text = f"{table.schema}, {table}, is left out: {error.message}"
            loss = Loss(Flaw.DAMAGED, text, schema=table.schema, run=table.place.run)
            report([loss])
            continue
        files += converted.files
    return tuple(files)


def _name_tables(tables: Sequence[Listed]) -> Iterator[tuple[Listed, str]]:
    """Yield tables with the names of their files, which lead to no other folder."""
    runs = {table.place.run for table in tables}
    has_several_runs = len(runs) > 1
    sorted_tables = sorted(tables, key=lambda entry: (entry.place.run or 0, entry.place.index or 0))
    name_counts: dict[str, int] = {}
    for table in sorted_tables:
        name = file_name(table.schema)
        if has_several_runs:
            name = f"run{table.place.run}/{name}"
        yield table, find_unused_name(name, name_counts, "-")
