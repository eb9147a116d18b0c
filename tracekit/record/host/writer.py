"""Writes tables and a TOC as `xctrace export` writes them, so that one reader serves both.

The grammar: one `<node>` with the table's place as xpath, a `<schema>` that names the columns,
then a `<row>` a line with one cell a column. A value is defined once, `<T id="n" fmt="…">raw</T>`,
and referred to ever after, `<T ref="n"/>`; ids count 1, 2, 3 … in the order in which elements
open. A missing value is `<sentinel/>`.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from lxml import etree
from lxml.etree import _Element  # pyright: ignore[reportPrivateUsage] - it has no other name

from tracekit.base import replacing, write_whole
from tracekit.record.host.session import Session

NANOSECONDS = ("start-time", "event-time", "sample-time")
IDENTIFIERS = ("metal-command-buffer-id", "metal-encoder-id", "tid", "address")


@dataclass(frozen=True)
class Compound:
    """A value made of values, each with its engineering type; `fmt` is what people read."""

    fmt: str
    children: "tuple[tuple[str, Cell], ...]"


_SMALL = 1e-3

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
    if kind == "boolean":
        return str(int(value)), "Yes" if value else "No"
    if kind in {"fixed-decimal", "percent"}:
        return _decimal(value), f"{value:,.2f}" + (" %" if kind == "percent" else "")
    if not isinstance(value, int):
        raise TypeError(f"{kind} holds whole numbers, not {value!r}")
    return str(int(value)), _words(kind, value)


def printable(text: str) -> str:
    """Put U+FFFD for what XML cannot hold: control characters and halves of surrogates."""
    return _UNPRINTABLE.sub("\ufffd", text)


_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _decimal(value: float) -> str:
    """Write nine decimals, and more for a small number, whose first digits they would hide."""
    return f"{value:.9f}" if value == 0 or abs(value) >= _SMALL else f"{value:.20f}"


def _words(kind: str, value: int) -> str:
    if kind in NANOSECONDS:
        return _clock(value)
    if kind in {"duration", "weight"}:
        return _span(value)
    if kind in IDENTIFIERS:
        return f"0x{value:x}"
    if kind == "size-in-bytes":
        return _size(value)
    return str(value) if kind == "pid" else f"{value:,}"


def _clock(value: int) -> str:
    micros = abs(value) // 1000
    seconds, micros = divmod(micros, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    sign = "-" if value < 0 else ""
    return f"{sign}{minutes:02}:{seconds:02}.{micros // 1000:03}.{micros % 1000:03}"


def _span(value: int) -> str:
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)):
        if abs(value) >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value} ns"


def _size(value: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:.2f} {unit}"
    return f"{value} Bytes"


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


def write_toc(path: Path, session: Session, schemas: Sequence[str], *, last: int = 0) -> None:
    """Write the TOC of a session and its tables, in order.

    It says that tracekit's host recorder made it, with no template's name, so that nobody
    takes it for a trace of Instruments. Names of machine and user are left out.

    Args:
        path: The file.
        session: What the recording knows of itself.
        schemas: The tables; the first one is `table[1]` of the run.
        last: The last moment known, in monotonic ns, for a session that was never closed.

    Raises:
        RecordingError: The file cannot be written.
    """
    root = etree.Element("trace-toc")
    run = _add(root, "run", number="1")
    info = _add(run, "info")
    _target(_add(info, "target"), session)
    _summary(_add(info, "summary"), session, session.end or last)
    name = printable(session.name)
    _add(_add(run, "processes"), "process", name=name, pid=str(session.pid))
    data = _add(run, "data")
    for schema in schemas:
        _add(data, "table", schema=schema)
    _add(run, "tracks")
    etree.indent(root, space="    ")
    text = etree.tostring(root, encoding="unicode")
    write_whole(path, f'<?xml version="1.0"?>\n\n{text}\n'.encode())


def _target(target: _Element, session: Session) -> None:
    machine = session.machine
    system = " ".join(str(machine.get(key, "")) for key in ("system", "release")).strip()
    _add(
        target,
        "device",
        platform=str(machine.get("system", "")),
        model=str(machine.get("chip", "")),
        **{"os-version": system},
    )
    attributes = {
        "type": session.kind,
        "name": printable(session.name),
        "pid": str(session.pid),
    }
    if session.kind == "launched":
        attributes["arguments"] = printable(shlex.join(session.arguments))
    if session.exit_status is not None:
        attributes["return-exit-status"] = str(session.exit_status)
        attributes["termination-reason"] = _termination(session.exit_status)
    _add(target, "process", **attributes)


def _summary(summary: _Element, session: Session, end: int) -> None:
    seconds = max(0, end - session.origin) / 1e9
    for tag, text in (
        ("start-date", session.started),
        ("end-date", session.ended),
        ("duration", f"{seconds:.6f}"),
        ("end-reason", session.end_reason),
        ("instruments-version", f"tracekit host recorder {version('tracekit')}"),
        ("template-name", ""),
        ("recording-mode", "Host"),
        ("time-limit", f"{session.time_limit:g} seconds"),
    ):
        _add(summary, tag).text = text


def _termination(status: int) -> str:
    return f"signal({-status})" if status < 0 else f"exit({status})"


def _add(parent: _Element, tag: str, **attributes: str) -> _Element:
    return etree.SubElement(parent, tag, attributes)
