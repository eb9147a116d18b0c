"""An export into a file of another kind, in memory that does not grow with its rows."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from tracekit.base.files import replacing
from tracekit.tables.exports import contents_beside
from tracekit.tables.place import OPEN, Choice
from tracekit.tables.reading import ReaderName, read_pieces
from tracekit.tables.selection import Selection
from tracekit.tables.stored import shown
from tracekit.tables.stream import streaming
from tracekit.tables.toc.toc import Toc
from tracekit.tables.write import suffix_of
from tracekit.tables.xml.symbols import Symbols


@dataclass(frozen=True)
class Converted:
    """What was written, and what the reader has to say, as in `Flat`."""

    files: tuple[Path, ...]
    rows: int
    damage: tuple[str, ...]
    drift: tuple[str, ...]
    remarks: tuple[str, ...]
    reader: ReaderName
    irregularity: str


def convert(
    export: Path,
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
        export: What `xctrace export --xpath` wrote, or the host recorder.
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
    toc = toc or contents_beside(export)
    with ExitStack() as files:
        file = files.enter_context(replacing(output))
        stream = files.enter_context(streaming(file, suffix, output.parent))
        selection = Selection(export, stream, schema, choice, toc)
        reading = read_pieces(export, selection, toc, only)
        selection.finish()
        stream.finish()
        beside = write_symbols(reading.symbols, output, files)
    return Converted(
        files=(output, *beside),
        rows=selection.rows,
        damage=selection.damage,
        drift=tuple(f"{shown(export)}: {message}" for message in stream.drift),
        remarks=selection.remarks,
        reader=reading.reader,
        irregularity=reading.irregularity,
    )


def files_of(table: Path) -> tuple[Path, Path, Path]:
    """Return the files that a table may become: itself, its frames and its stacks.

    Raises:
        UsageError: The suffix says no format.
    """
    suffix_of(table)
    return table, *symbol_files(table)


def write_symbols(symbols: Symbols, table: Path, files: ExitStack) -> tuple[Path, ...]:
    """Write stacks and frames beside a table, if there are any; they appear as `files` ends."""
    if not symbols.stacks.num_rows:
        return ()
    written: list[Path] = []
    for path, part in zip(symbol_files(table), (symbols.frames, symbols.stacks), strict=True):
        file = files.enter_context(replacing(path))
        pq.write_table(part, file, compression="zstd", compression_level=1)
        written.append(path)
    return tuple(written)


def symbol_files(table: Path) -> tuple[Path, Path]:
    """Return where the frames and the stacks of a table stand."""
    return table.with_suffix(".frames.parquet"), table.with_suffix(".stacks.parquet")
