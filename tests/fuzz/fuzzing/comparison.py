"""What must hold of every file, whole or damaged, whatever it holds.

The fast reader accepts nothing that libxml2 rejects, and what it accepts it reads as the exact
reader does: the same tables, the same stacks, bit for bit. The exact reader reads the rows
before a damage as if there were none, and never fails but in words.
"""

import struct
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from lxml import etree

from fuzzing.export import Export, said
from tracekit.base.errors import InputError
from tracekit.tables.flat import Flat, read_flat
from tracekit.tables.xml.fast import reader, tokens
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.node import Node, Symbols
from tracekit.tables.xml.reader import ExactReader

Row = tuple[Any, ...]
_UTF_16 = b"\xff\xfe"


@dataclass(frozen=True)
class Verdict:
    """What became of one file; `difference` is empty where all that must hold does."""

    fast: bool
    well_formed: bool
    difference: str = ""


def judge(path: Path) -> Verdict:
    """Read a file in every way, and compare."""
    try:
        pieces, symbols = _read(FastReader(path))
    except IrregularError:
        return Verdict(fast=False, well_formed=_refusal(path) == "")
    refusal = _refusal(path)
    if refusal:
        return Verdict(fast=True, well_formed=False, difference=f"libxml2 refuses it: {refusal}")
    return Verdict(fast=True, well_formed=True, difference=_difference(path, pieces, symbols))


@contextmanager
def blocks_of(size: int) -> Generator[None]:
    """Let the fast reader read blocks of another size, so that small files have many."""
    before = tokens.MOST_IN_A_BLOCK
    tokens.MOST_IN_A_BLOCK = reader.MOST_IN_A_BLOCK = size
    try:
        yield
    finally:
        tokens.MOST_IN_A_BLOCK = reader.MOST_IN_A_BLOCK = before


def untruth(path: Path, export: Export) -> str:
    """Return where the exact reader differs from what was written; empty where it does not."""
    pieces, _ = _read(ExactReader(path))
    nodes = _joined(pieces)
    if len(nodes) != len(export.tables):
        return f"{len(nodes)} tables for {len(export.tables)}"
    for node, table in zip(nodes, export.tables, strict=True):
        if node[0].schema != table.schema or node[-1].damage:
            return f"{node[0].schema} for {table.schema}: {node[-1].damage}"
        written = [[said(cell) for cell in row] for row in table.rows]
        for place, tag in enumerate(table.types):
            cells = [row[place] for row in written]
            found = _texts(node, place)
            for name in ("text", *(("pid",) if tag in {"process", "thread"} else ())):
                if found[name] != [cell[name] for cell in cells]:
                    return f"{table.schema}, column {place} ({tag}), {name}"
    return ""


def harm(path: Path, whole: Export, first: int) -> str:
    """Return where the exact reader was misled by a change that begins at byte `first`."""
    unharmed = sum(end <= first for end in whole.ends)
    rows = [tuple(said(cell)["text"] for cell in row) for one in whole.tables for row in one.rows]
    try:
        pieces, _ = _read(ExactReader(path))
    except InputError as error:
        well_formed = _refusal(path) == ""
        by_blocks = whole.content.startswith(_UTF_16)  # a decoder fails for a block at once
        accepted = well_formed or by_blocks or "document type" in error.message
        if unharmed and not accepted:
            return f"{unharmed} rows are lost: {error.message}"
        return "" if error.message.strip() and "\n" not in error.message else "no sentence"
    found = [row for node in _joined(pieces) for row in _rows(node)]
    if found[:unharmed] != rows[:unharmed]:
        return f"the first {unharmed} rows are others"
    if _refusal(path) and not any(piece.damage for piece in pieces):
        return "damage is passed over in silence"
    return ""


def _read(reader: FastReader | ExactReader) -> tuple[list[Node], Symbols]:
    return list(reader.pieces()), reader.symbols()


def _refusal(path: Path) -> str:
    """Return why libxml2 does not take the file for well-formed XML; empty where it does."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        etree.parse(path, parser)
    except (etree.XMLSyntaxError, OSError) as error:  # an encoding that breaks is the second
        return str(error) or "without a word"
    fatal = parser.error_log.filter_from_fatals()
    return fatal[0].message if fatal else ""


def _difference(path: Path, pieces: list[Node], symbols: Symbols) -> str:
    exact = ExactReader(path)
    try:
        others = list(exact.pieces())
    except InputError as error:
        return f"the exact reader refuses it: {error.message}"
    if others[-1].damage:
        return f"the exact reader finds damage: {others[-1].damage}"
    heads = [_heads(read) for read in (pieces, others)]
    if heads[0] != heads[1]:
        return f"tables: {heads[0]} and {heads[1]}"
    columns = [[part.column for part in read[0].columns] for read in (pieces, others)]
    if columns[0] != columns[1]:
        return f"columns: {columns[0]} and {columns[1]}"
    return _stacks_differ(symbols, exact.symbols()) or _flats_differ(path)


def _heads(pieces: Sequence[Node]) -> list[tuple[str, str, int, int]]:
    return [
        (node[0].schema, node[0].xpath, node[0].number, sum(piece.rows for piece in node))
        for node in _joined(pieces)
    ]


def _stacks_differ(fast: Symbols, exact: Symbols) -> str:
    for name in ("frames", "stacks"):
        one: pa.Table = getattr(fast, name)
        other: pa.Table = getattr(exact, name)
        if not one.equals(other):
            return f"{name}: {one.to_pylist()[:5]} and {other.to_pylist()[:5]}"
    return ""


def _flats_differ(path: Path) -> str:
    fast, exact = _flat(path, "fast"), _flat(path, "exact")
    if isinstance(fast, str) or isinstance(exact, str):
        return "" if fast == exact else f"{fast!r} and {exact!r}"
    if fast.notes != exact.notes:
        return f"words: {fast.notes.losses} and {exact.notes.losses}"
    if list(fast.frame) != list(exact.frame):
        return f"columns: {list(fast.frame)} and {list(exact.frame)}"
    for name in fast.frame:
        one, other = fast.frame[name], exact.frame[name]
        if one.dtype != other.dtype or _bits(one) != _bits(other):
            return f"{name}: {one.dtype} {one.tolist()[:9]} and {other.dtype} {other.tolist()[:9]}"
    return ""


def _flat(path: Path, only: Any) -> Flat | str:
    try:
        return read_flat(path, reader_name=only)
    except InputError as error:
        return error.message


def _bits(column: pd.Series) -> list[object]:
    """Return values that are equal only where each bit is."""
    values = [None if value is pd.NA else value for value in column.tolist()]
    return [struct.pack("<d", one) if isinstance(one, float) else one for one in values]


def _joined(pieces: Sequence[Node]) -> list[list[Node]]:
    """Return the pieces, table by table."""
    tables: dict[tuple[int, str], list[Node]] = {}
    for piece in pieces:
        tables.setdefault((piece.number, piece.xpath), []).append(piece)
    return list(tables.values())


def _texts(node: list[Node], place: int) -> dict[str, list[str | None]]:
    parts = [piece.columns[place] for piece in node]
    return {
        "text": [one for part in parts for one in part.cells.to_pylist()],
        "pid": [one for part in parts if part.pids is not None for one in part.pids.to_pylist()],
    }


def _rows(node: list[Node]) -> list[Row]:
    columns = [_texts(node, place)["text"] for place in range(len(node[0].columns))]
    return list(zip(*columns, strict=True))
