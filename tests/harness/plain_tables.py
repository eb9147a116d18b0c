"""What the fast reader makes of a file."""

from pathlib import Path

import pytest

from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.node import ColumnCells, Node

PROCESS = (
    '<process id="{0}" fmt="shader lab (77)"><pid id="{1}" fmt="77">77</pid>'
    '<device-session id="{2}" fmt="TODO">TODO</device-session></process>'
)
INNER_STACK = '<backtrace id="{0}"><frame id="{1}" name="{2}" addr="0x10"/></backtrace>'


def whole(path: Path) -> list[Node]:
    return list(FastReader(path).pieces())


def cells(path: Path) -> list[list[object]]:
    """Return the columns of the file's table."""
    return [
        [cell for column in parts for cell in column.cells.to_pylist()]
        for parts in zip(*(piece.columns for piece in whole(path)), strict=True)
    ]


def column(path: Path, number: int = 0) -> ColumnCells:
    (piece,) = whole(path)
    return piece.columns[number]


def irregularity(path: Path) -> str:
    with pytest.raises(IrregularError) as caught:
        whole(path)
    return str(caught.value)
