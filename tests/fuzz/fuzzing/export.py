"""Valid exports, made at random, with what they say."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any
from xml.sax.saxutils import quoteattr

from fuzzing.style import Style
from fuzzing.values import (
    FLAGS,
    IDENTITIES,
    INTEGERS,
    LABELS,
    NUMBERS,
    SENTINEL,
    STACKS,
    TEXTS,
    UNLISTED,
    UNSIGNED,
    Value,
    value,
)
from fuzzing.writer import Writer
from tracekit.tables.values import FORMS, Form

_TYPES = [
    *(INTEGERS * 2), *(UNSIGNED * 2), *(NUMBERS * 3), *(FLAGS * 3), *(TEXTS * 2), *(LABELS * 2),
    *(IDENTITIES * 5), *STACKS, *UNLISTED, "any",
]  # fmt: skip
_REAL = [
    """
    start-time duration gpu-channel-name gpu-frame-number duration metal-nesting-level
    formatted-label gpu-state connection-uuid64 render-buffer-depth process metal-device-name
    metal-object-label formatted-label size-in-bytes metal-command-buffer-id
    metal-command-buffer-id uint64
    """,
    "event-time uint32 fixed-decimal uint64 uint32 uint32",
    "sample-time thread process core thread-state weight backtrace",
    "sample-time thread process core thread-state weight tagged-backtrace",
]


@dataclass(frozen=True)
class Table:
    """What one table of an export says: for each row the cells' types and values."""

    schema: str
    types: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Export:
    """An export: its bytes, what it says, and where each of its rows ends in it."""

    content: bytes
    tables: tuple[Table, ...]
    ends: tuple[int, ...]


def export(random: Random, style: Style) -> Export:
    """Make an export; it is valid XML that keeps xctrace's grammar, however it is styled."""
    writer, tables, ends = Writer(random, style), list[Table](), list[int]()
    parts = [style.prolog, f"<trace-query-result>{style.line_end}"]
    for number in range(1, style.tables + 1):
        table, headless = _table(random, style, tables)
        tables.append(table)
        xpath = f"//trace-toc[1]/run[1]/data[1]/table[{number}]"
        parts.append(f"<node xpath='{xpath}'>{writer.blank()}")
        parts.append("" if headless else _header(table))
        writer.restart()
        for row in table.rows:
            cells = "".join(writer.blank() + writer.element(cell) for cell in row)
            parts.append(f"{writer.blank()}<row>{cells}{writer.blank()}</row>")
            ends.append(len(parts))
            parts.append(style.line_end)
        parts.append(f"{writer.blank()}</node>")
    parts.append(f"</trace-query-result>{style.line_end}")
    encoded = [part.encode(style.encoding, "xmlcharrefreplace") for part in parts]
    places = [0]
    for part in encoded:
        places.append(places[-1] + len(part))
    return Export(b"".join(encoded), tuple(tables), tuple(places[end] for end in ends))


def _table(random: Random, style: Style, before: list[Table]) -> tuple[Table, bool]:
    headless = bool(before) and random.random() < style.headless
    if headless:
        schema, types = before[-1].schema, before[-1].types
    else:
        schema, types = f"table-{random.randrange(4)}", tuple(_types(random))
        same = [one for one in before if one.schema == schema]
        types = same[0].types if same else types
    size = random.choice([0, 1, 2, 5, 5, 12, 12, 40])
    pool: list[Value] = []
    real = random.choice([*INTEGERS, *TEXTS])
    rows = tuple(
        tuple(_cell(random, style, real if tag == "any" else tag, pool) for tag in types)
        for _ in range(size)
    )
    return Table(schema, types, rows), headless


def _types(random: Random) -> Iterator[str]:
    if random.random() < 0.4:
        yield from random.choice(_REAL).split()
    else:
        yield from (random.choice(_TYPES) for _ in range(random.randrange(1, 8)))


def _cell(random: Random, style: Style, tag: str, pool: list[Value]) -> Value:
    if random.random() < 0.05:
        return SENTINEL
    if style.tags and random.random() < style.tags:
        tag = random.choice(_TYPES[:-1])
    known = [one for one in pool if one.tag == tag]
    if known and random.random() < 0.5:
        return random.choice(known)
    made = value(random, tag, odd=random.random() < style.values)
    pool.append(made)
    pool.extend(child for child in made.children if child != SENTINEL)
    return made


def _header(table: Table) -> str:
    columns = "".join(
        f"<col><mnemonic>c{number}</mnemonic><name>Column &amp; {number}</name>"
        f"<engineering-type>{tag}</engineering-type></col>"
        for number, tag in enumerate(table.types)
    )
    return f"<schema name={quoteattr(table.schema)}>{columns}</schema>"


def said(cell: Value) -> dict[str, Any]:
    """Return what a cell says: its text, and the ids of a process or a thread."""
    if cell == SENTINEL:
        return {"text": None, "pid": None, "tid": None}
    owner = _child(cell, "process") if cell.tag == "thread" else cell
    pid = _child(owner, "pid") if owner is not None and owner.tag == "process" else None
    tid = _child(cell, "tid") if cell.tag == "thread" else None
    return {
        "text": _readable(cell),
        "pid": None if pid is None else pid.text,
        "tid": None if tid is None else tid.text,
    }


def _readable(cell: Value) -> str | None:
    if cell.children:
        return _worded(cell) if cell.fmt is None else cell.fmt
    return cell.text or (cell.fmt if FORMS.get(cell.tag) is Form.TEXT else "") or ""


def _worded(cell: Value) -> str | None:
    frames = [child for child in cell.children if child.tag == "frame"]
    if frames:
        return f"{dict(frames[0].attributes)['name']} ← ({len(frames) - 1} other frames)"
    inner = next((child for child in cell.children if child.tag.endswith("backtrace")), None)
    return None if inner is None else _worded(inner)


def _child(value: Value, tag: str) -> Value | None:
    return next((child for child in value.children if child.tag == tag), None)
