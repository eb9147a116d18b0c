"""tracekit's own readers, as far as typed Arrow tables, and its way to Parquet."""

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from reading.decoded import Decoded, arrow_type
from tracekit import tables
from tracekit.cli import console
from tracekit.cli.main import main
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.node import STACK_TYPES, ColumnCells, Node, Reader
from tracekit.tables.xml.reader import ExactReader

# What a command imports when it runs belongs to the imports, not to the reading.
_IMPORTED_BY_COMMANDS = (console, tables)


def decode_fast(path: Path) -> Decoded:
    """Read an export with the fast reader alone."""
    return _decode(FastReader(path))


def decode_exact(path: Path) -> Decoded:
    """Read an export with the exact reader alone."""
    return _decode(ExactReader(path))


def convert(path: Path) -> Path:
    """Run `tracekit convert` in this process, and return the Parquet file that it wrote."""
    out = Path(tempfile.mkdtemp(prefix="tracekit-bench-")) / "table.parquet"
    try:
        main(["convert", str(path), str(out)])
    except SystemExit as end:
        if end.code:
            shutil.rmtree(out.parent)
            raise RuntimeError(f"convert ended with {end.code}") from end
    return out


def _decode(reader: Reader) -> Decoded:
    table = pa.concat_tables([_typed(piece) for piece in reader.pieces()])
    symbols = reader.symbols()
    return Decoded(table, symbols.stacks["frames"], symbols.frames.drop_columns("frame"))


def _typed(piece: Node) -> pa.Table:
    if piece.damage:
        raise ValueError(f"damaged after row {piece.rows}: {piece.damage}")
    columns: dict[str, pa.ChunkedArray] = {}
    for one in piece.columns:
        name = one.column.mnemonic
        columns[name] = _cells(one)
        for suffix, ids in (("tid", one.tids), ("pid", one.pids)):
            if ids is not None:
                columns[f"{name}.{suffix}"] = ids.cast(pa.int64())
    return pa.table(columns)


def _cells(one: ColumnCells) -> pa.ChunkedArray:
    if one.column.engineering_type in STACK_TYPES and one.stacks is not None:
        return one.stacks
    kind = arrow_type(one.column.engineering_type)
    if one.column.engineering_type in STACK_TYPES:
        kind = pa.string()
    return one.cells if one.cells.type == kind else pc.cast(one.cells, kind)
