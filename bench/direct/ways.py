"""The ways to read what `direct.made` makes; each returns what it holds at the end."""

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from reading.lxml_iterparse import decode as with_lxml
from reading.naive import decode_with_lxml as naively
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.layout import Layout
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.node import Node, Reader

_STORE = "corespace/run1/core/stores/indexed-store-0/bulkstore"
_BLOCK = 1 << 16
_FIRST_RECORD = 0x1000


def directly(path: Path) -> list[Node]:
    """Open a bundle, and read its first table into columns."""
    run = Bundle(path).runs[0]
    return list(BundleReader(run, run.stores[0], "").pieces())


def as_xml(path: Path) -> list[Node]:
    """Read an export with the fast reader."""
    return list(FastReader(path).pieces())


def inflated(path: Path) -> int:
    """Inflate the records of a bundle's first table, and nothing else."""
    store = Bundle(path).runs[0].stores[0]
    stream, size = zlib.decompressobj(), _FIRST_RECORD + store.rows * store.record
    done = 0
    with (path / _STORE).open("rb") as file:
        while done < size:
            done += len(stream.decompress(file.read(_BLOCK)))
    return done


def opened(path: Path) -> int:
    """Open a bundle: all its tables, its texts."""
    run = Bundle(path).runs[0]
    return len(run.tables) + len(run.strings)


WAYS: dict[str, Callable[[Path], Any]] = {
    "bundle": directly,
    "XML, tracekit, fast": as_xml,
    "XML, lxml iterparse": with_lxml,
    "XML, lxml, naive": naively,
    "inflate alone": inflated,
    "open": opened,
}


def rows_of(made: Any) -> int:
    """Count the rows of what a way returned, 0 where it has none."""
    return sum(piece.rows for piece in made) if isinstance(made, list) else 0


def size_of(made: Any) -> int:
    """Return the bytes of the columns that a way returned, each piece of memory once."""
    if not isinstance(made, list):
        return 0
    arrays = (
        array
        for piece in made
        for column in piece.columns
        for array in (column.cells, column.pids, column.tids, column.stacks)
        if array is not None
    )
    buffers = (buffer for array in arrays for chunk in array.chunks for buffer in _buffers(chunk))
    return sum({buffer.address: buffer.size for buffer in buffers}.values())


def difference(one: Reader, other: Reader) -> str:
    """Say which columns two readers read differently, or ""."""
    first, second = _flat(one), _flat(other)
    if first.schema.names != second.schema.names:
        return f"columns {first.schema.names} and {second.schema.names}"
    names = (name for name in first.schema.names if not first[name].equals(second[name]))
    return ", ".join(names)


def _buffers(chunk: pa.Array) -> Sequence[pa.Buffer]:
    found = chunk.buffers()
    if pa.types.is_dictionary(chunk.type):
        found = [*found, *chunk.dictionary.buffers()]
    return [one for one in found if one is not None]


def _flat(reader: Reader) -> pa.Table:
    layout, parts = None, list[pa.Table]()
    for piece in reader.pieces():
        layout = layout or Layout(piece)
        parts.append(layout.take(piece))
    assert layout is not None
    found = layout.convert_table(pa.concat_tables(parts))
    plain = [
        pa.field(one.name, pa.string()) if pa.types.is_dictionary(one.type) else one
        for one in found.schema
    ]
    return found.cast(pa.schema(plain))
