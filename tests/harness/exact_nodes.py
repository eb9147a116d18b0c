"""What the exact reader makes of a file: its tables, each in one piece."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from tracekit.tables.toc import Toc
from tracekit.tables.xml.node import ColumnCells, Node
from tracekit.tables.xml.reader import ExactReader


def read_nodes(path: Path, toc: Toc | None = None) -> list[Node]:
    """Read every table of an export, in the order in which they stand in the file."""
    pieces = ExactReader(path, toc).pieces()
    return [joined(list(table)) for _, table in groupby(pieces, lambda one: one.number)]


def joined(pieces: list[Node]) -> Node:
    """Return a table as one piece."""
    columns = tuple(
        ColumnCells(
            column=parts[0].column,
            cells=_chained([part.cells for part in parts]),
            foreign=frozenset[str]().union(*(part.foreign for part in parts)),
            **{
                name: _chained([getattr(part, name) for part in parts])
                for name in ("pids", "tids", "stacks")
                if getattr(parts[0], name) is not None
            },
        )
        for parts in zip(*(piece.columns for piece in pieces), strict=True)
    )
    return replace(pieces[-1], columns=columns, rows=sum(piece.rows for piece in pieces))


def _chained(arrays: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for one in arrays for chunk in one.chunks], arrays[0].type)
