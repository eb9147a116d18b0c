"""Writes tables as `xctrace export` writes them, so that one reader serves both.

The grammar: one `<node>` with the table's place as xpath, a `<schema>` that names the columns,
then a `<row>` a line with one cell a column. A value is defined once, `<T id="n" fmt="…">raw</T>`,
and referred to ever after, `<T ref="n"/>`; ids count 1, 2, 3 … in the order in which elements
open. A missing value is `<sentinel/>`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.files import replacing
from tracekit.record.host.cells import Cell, Compound, leaf, printable


@dataclass(frozen=True)
class ExportColumn:
    """A column: its mnemonic, its title, and the engineering type that tags its cells."""

    mnemonic: str
    name: str
    type: str


@dataclass(frozen=True)
class ExportTable:
    """A table: its schema's name, its columns, and its place in the TOC, counted from 1."""

    schema: str
    columns: tuple[ExportColumn, ...]
    index: int = 1


def write_export(path: Path, table: ExportTable, rows: Iterable[Sequence[Cell]]) -> int:
    """Write a table, row by row, whole or not at all; return the number of rows.

    Raises:
        RecordingError: The file cannot be written.
        ValueError: A row is shorter or longer than the schema.
        TypeError: A value does not fit its column's type.
    """
    count = 0
    with replacing(path) as file:
        file.write(_head(table).encode())
        ids: dict[tuple[str, Cell], int] = {}
        for row in rows:
            if len(row) != len(table.columns):
                raise ValueError(
                    f"{table.schema} has {len(table.columns)} columns, a row has {len(row)}"
                )
            cells = zip(table.columns, row, strict=True)
            text = "".join(_element(column.type, cell, ids) for column, cell in cells)
            file.write(f"<row>{text}</row>\n".encode())
            count += 1
        file.write(b"</node></trace-query-result>\n")
    return count


def _head(table: ExportTable) -> str:
    return (
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[{table.index}]'>{_schema(table)}"
    )


def escaped(text: str) -> str:
    """Make text safe between tags and in double quotes; whitespace survives in both."""
    return printable(text).translate(_ENTITIES)


_ENTITIES = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "\t": "&#9;",
        "\n": "&#10;",
        "\r": "&#13;",
    }
)


def _schema(table: ExportTable) -> str:
    columns = "".join(
        f"<col><mnemonic>{escaped(column.mnemonic)}</mnemonic>"
        f"<name>{escaped(column.name)}</name>"
        f"<engineering-type>{escaped(column.type)}</engineering-type></col>"
        for column in table.columns
    )
    return f'<schema name="{escaped(table.schema)}">{columns}</schema>'


def _element(tag: str, cell: Cell, ids: dict[tuple[str, Cell], int]) -> str:
    if cell is None:
        return "<sentinel/>"
    cell = printable(cell) if isinstance(cell, str) else cell
    known = ids.get((tag, cell))
    if known is not None:
        return f'<{tag} ref="{known}"/>'
    number = ids[tag, cell] = len(ids) + 1
    if isinstance(cell, Compound):
        inside = "".join(_element(kind, child, ids) for kind, child in cell.children)
        return f'<{tag} id="{number}" fmt="{escaped(cell.fmt)}">{inside}</{tag}>'
    text, fmt = leaf(tag, cell)
    return f'<{tag} id="{number}" fmt="{escaped(fmt)}">{escaped(text)}</{tag}>'
