"""A table read directly from a bundle, compared with the same table as xctrace exports it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tracekit.base import InputError
from tracekit.tables.direct import Stored
from tracekit.tables.flat import Flat, read_flat
from tracekit.tables.toc import Toc

MOST_ROWS = 50_000
# A thread in the words of Xcode 27; earlier ones and the reader of bundles have no brackets there.
_THREAD = re.compile(r"(.*) \((0x[0-9a-f]+)\) (\(.*, pid: [0-9]+\))", re.DOTALL)


@dataclass(frozen=True)
class TableComparison:
    """The compared rows and cells, and the first difference in words; empty if there is none."""

    rows: int
    cells: int = 0
    difference: str = ""


def compare_with_export(
    export: Path, table: Stored, toc: Toc, max_rows: int = MOST_ROWS
) -> TableComparison:
    """Compare the first rows of a table in a bundle with its export by xctrace.

    Raise InputError if the export cannot be read, so that nothing can be compared with it.
    """
    exported = read_flat(export, toc=toc)
    if exported.notes.damage:
        raise InputError(f"{export} is cut or damaged.")
    try:
        direct = read_flat(table, toc=toc)
    except InputError as error:
        return _describe_unreadable(error.message.rstrip("."))
    if direct.notes.damage:
        return _describe_unreadable(direct.notes.damage[0])
    return _compare_cells(_cells(direct, max_rows), _cells(exported, max_rows))


def _describe_unreadable(reason: str) -> TableComparison:
    return TableComparison(0, difference=f"it cannot be read directly: {reason}")


def _compare_cells(direct: pd.DataFrame, exported: pd.DataFrame) -> TableComparison:
    """Compare two frames of one table; see `compare_with_export`."""
    if list(exported) != list(direct):
        direct_names = ", ".join(map(str, direct))
        exported_names = ", ".join(map(str, exported))
        difference = f"its columns are {direct_names}, exported {exported_names}"
        return TableComparison(0, difference=difference)
    rows = min(len(exported), len(direct))
    cells = rows * len(direct.columns)
    for name in direct:
        direct_cells = direct[name][:rows]
        exported_cells = exported[name][:rows]
        equal_cells = (direct_cells == exported_cells) | (
            direct_cells.isna() & exported_cells.isna()
        )
        if not equal_cells.all():
            place = int(equal_cells.argmin())
            direct_word = _word(direct_cells.iloc[place])
            exported_word = _word(exported_cells.iloc[place])
            difference = f"{direct_word} directly, {exported_word} exported"
            return TableComparison(rows, cells, f"row {place + 1}, {name}: {difference}")
    if len(exported) != len(direct):
        difference = f"it has {len(direct):,} rows, exported {len(exported):,}"
        return TableComparison(rows, cells, difference)
    return TableComparison(rows, cells)


def _cells(flat: Flat, max_rows: int) -> pd.DataFrame:
    """Return the first rows, with None in empty cells, and stacks in words instead of numbers.

    Two readers may number stacks differently, and two Xcodes may word a thread differently.
    """
    frame = flat.frame[:max_rows].astype(object)
    frame = frame.where(frame.notna(), None)
    for name in flat.names:
        if name.endswith(".stack"):
            frame[name] = _spell_stacks(frame[name], flat)
        else:
            frame[name] = _spell_threads(frame[name])
    return frame


def _spell_threads(cells: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the cells of a column, its threads in the words of Xcode 26."""
    words: dict[Any, str] = {}
    for text in cells.dropna().unique():
        match = _THREAD.fullmatch(text) if isinstance(text, str) else None
        if match is not None:
            words[text] = " ".join(match.groups())
    if not words:
        return cells
    return cells.map(lambda cell: words.get(cell, cell))


def _spell_stacks(numbers: "pd.Series[Any]", flat: Flat) -> "pd.Series[Any]":
    """Return the stacks of a column of numbers, each as the words of its frames."""
    stacks = flat.symbols.stacks["frames"]
    frames = flat.symbols.frames.drop_columns(["frame"])
    words: dict[Any, str | None] = {None: None}
    for number in numbers.dropna().unique():
        members = frames.take(stacks[int(number)].values).to_pylist()
        frame_words = [" ".join(map(str, member.values())) for member in members]
        words[number] = "; ".join(frame_words)
    return numbers.map(words)


def _word(value: object) -> str:
    if value is None:
        return "nothing"
    return repr(value)[:80]
