"""Writes tables as `xctrace export` writes them.

The grammar: one `<node>` with the table's place as xpath, a `<schema>` that names the columns,
then a `<row>` a line with one cell a column. A value is defined once, `<T id="n" fmt="…">raw</T>`,
and referred to ever after, `<T ref="n"/>`; ids count 1, 2, 3 … in the order in which elements
open. A missing value is `<sentinel/>`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import files
from tracekit.tables.bundle.cells.labels import FMT
from tracekit.tables.bundle_xml import escape_text, quote_attribute


@dataclass(frozen=True)
class Compound:
    """A value made of values, each with its engineering type; `fmt` is what people read."""

    fmt: str
    children: "tuple[tuple[str, Cell], ...]"


_SMALL = 1e-3
_WORDS: dict[str, Callable[[int], str]] = {**FMT, "pid": str}

Cell = int | float | bool | str | Compound | None


def process(name: str, pid: int, session: str | None = None) -> Compound:
    """Make the cell of a process; `session` is the device session, which a host has not."""
    children: tuple[tuple[str, Cell], ...] = (("pid", pid),)
    if session is not None:
        children += (("device-session", session),)
    return Compound(f"{name} ({pid})", children)


def thread(name: str, tid: int, owner: Compound) -> Compound:
    """Make the cell of a thread of the process `owner`."""
    of, _, rest = owner.fmt.rpartition(" (")
    fmt = f"{name} 0x{tid:x} ({of}, pid: {rest.rstrip(')')})"
    return Compound(fmt, (("tid", tid), ("process", owner)))


def leaf(kind: str, value: float | str) -> tuple[str, str]:
    """Return the text of a plain value of an engineering type, and the words for it.

    Raises:
        TypeError: The type holds whole numbers and the value is none.
    """
    if isinstance(value, str):
        return value, value
    if kind in {"fixed-decimal", "percent"}:
        return _decimal(value), f"{value:,.2f}" + (" %" if kind == "percent" else "")
    if not isinstance(value, int):
        raise TypeError(f"{kind} holds whole numbers, not {value!r}")
    words = _WORDS.get(kind, "{:,}".format)(abs(value))
    return str(int(value)), f"-{words}" if value < 0 else words


def _decimal(value: float) -> str:
    """Write nine decimals, and more for a small number, whose first digits they would hide."""
    return f"{value:.9f}" if value == 0 or abs(value) >= _SMALL else f"{value:.20f}"


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
    with files.replacing(path) as file:
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
    columns = "".join(
        f"<col><mnemonic>{escape_text(column.mnemonic)}</mnemonic>"
        f"<name>{escape_text(column.name)}</name>"
        f"<engineering-type>{escape_text(column.type)}</engineering-type></col>"
        for column in table.columns
    )
    return (
        '<?xml version="1.0"?>\n<trace-query-result>\n'
        f"<node xpath='//trace-toc[1]/run[1]/data[1]/table[{table.index}]'>"
        f'<schema name="{quote_attribute(table.schema)}">{columns}</schema>'
    )


def _element(tag: str, cell: Cell, ids: dict[tuple[str, Cell], int]) -> str:
    if cell is None:
        return "<sentinel/>"
    known = ids.get((tag, cell))
    if known is not None:
        return f'<{tag} ref="{known}"/>'
    number = ids[tag, cell] = len(ids) + 1
    if isinstance(cell, Compound):
        inside = "".join(_element(kind, child, ids) for kind, child in cell.children)
        return f'<{tag} id="{number}" fmt="{quote_attribute(cell.fmt)}">{inside}</{tag}>'
    text, fmt = leaf(tag, cell)
    return f'<{tag} id="{number}" fmt="{quote_attribute(fmt)}">{escape_text(text)}</{tag}>'
