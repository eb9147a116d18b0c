"""Counters of a GPU frame capture, as Xcode exports them: a CSV of all, a text of each tab.

The CSV has a row for each encoder and rounds to two decimals. A tab is tab-separated, has fewer
counters with more digits and units, and alone has `Execution Cost`. Values are those of a
serialized replay of the capture at a fixed clock, not those of the run.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from tracekit.base import InputError

COST = "Execution Cost"
_FIRST = ["Index", "Encoder FunctionIndex", "CommandBuffer Label", "Encoder Label", ""]
_TAB = ["Thumbnails", "Name"]
_NAME = re.compile(r"(\d+)(?: (.*))?")
_NUMBER = re.compile(r"(-?[\d,]+(?:\.\d+)?) ?([A-Za-zµ%/]{0,12})")
_NOTHING = frozenset({"", "-", "N/A", "n/a", "NaN", "nan"})
_POWERS = {"B": 0, "bytes": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
_UNITS = {"%": ("ratio", 0.01)} | {unit: ("bytes", 2.0**by) for unit, by in _POWERS.items()}
_SHARES = re.compile(
    r"(Limiter|Utilization|Occupancy|Miss Rate|Eviction Rate|Residency|Manager Target"
    r"|L1 (Read|Write) Accesses|ALU (Float|Half|Integer and \w+) Instructions)$"
)
_SIZES = re.compile(r"\bBytes\b(?! From Cache)")
_LARGEST = 64 << 20
_INVOCATIONS, _INSTRUCTIONS = "Kernel Invocations", "Kernel ALU Instructions"
_PERFORMANCE, _MISSES = "Kernel ALU Performance", "Kernel Texture Cache Miss Rate"


class _Cell(NamedTuple):
    """A value: a share as 0 … 1 (unit "ratio"), a size in "bytes", else in the unit Xcode writes.

    `rounding` is half of the last digit that was written, in the same unit.
    """

    value: float
    unit: str
    rounding: float


@dataclass
class _Encoder:
    label: str
    command_buffer: str = ""
    cells: dict[str, _Cell] = field(default_factory=dict[str, _Cell])


def is_xcode_counters(path: Path) -> bool:
    """Tell whether a file begins as an export of Xcode's counters does, CSV or tab."""
    if path.suffix.lower() not in {".csv", ".txt", ".tsv"} or not path.is_file():
        return False
    return _is_tab(path) or _beginning(path).startswith(",".join(_FIRST[:4]))


def read_xcode_counters(paths: Sequence[Path]) -> pd.DataFrame:
    """Return a row for each counter of each encoder, from at most one CSV and any tabs of it.

    Columns: `place` of the encoder in the capture, from 1; `function`, its index there;
    `command_buffer` and `encoder`, their labels; `counter`, `value`, `unit` ("ratio", "bytes", else
    as Xcode writes it, "" in a CSV); `suspect`, why a value is not to be believed, else null.

    Raises:
        InputError: A file is none of these, two are not of the same capture, an encoder stands
            twice, a cell is no number, or a counter that stands twice has two values.
    """
    encoders: dict[int, _Encoder] = {}
    tables = [path for path in paths if not _is_tab(path)]
    if len(tables) > 1:
        raise InputError(
            f"{tables[0]} and {tables[1]} are both exports of all counters.",
            hint="Import one capture at a time: its CSV and the texts of its tabs.",
        )
    for path in (*tables, *(path for path in paths if _is_tab(path))):
        if wrong := _added(encoders, _encoders(path)):
            raise InputError(
                f"{path} has {wrong} than the files before it.",
                hint="Import the files of one capture.",
            )
    if not encoders:
        raise InputError(f"{paths[0]} has no encoder.")
    return _frame(dict(sorted(encoders.items())))


def _beginning(path: Path) -> str:
    with path.open("rb") as file:
        return file.readline(1 << 16).decode("utf-8-sig", errors="replace")


def _is_tab(path: Path) -> bool:
    return _beginning(path).startswith("\t".join(_TAB))


def _lines(path: Path, delimiter: str) -> list[list[str]]:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is larger than any export of counters.")
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [row for row in csv.reader(file, delimiter=delimiter, strict=True) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as an export of counters: {error}.") from error


def _encoders(path: Path) -> dict[int, _Encoder]:
    """Return the encoders of a CSV, or of a tab, whose cells have units."""
    tab = _is_tab(path)
    first = _TAB if tab else _FIRST
    heads, *rows = _lines(path, "\t" if tab else ",")
    if heads[: len(first)] != first:
        raise InputError(f"{path} is no export of Xcode's counters: its first columns differ.")
    encoders: dict[int, _Encoder] = {}
    for number, row in enumerate(rows, start=2):
        line = f"Line {number} of {path}"
        if len(row) != len(heads):
            raise InputError(f"{line} has {len(row)} of {len(heads)} cells.")
        named = _NAME.fullmatch(row[1])
        if named is None or (named[2] is None) is tab:
            raise InputError(f"{line} has no number of its encoder: {row[1]!r}.")
        if int(named[1]) in encoders:
            raise InputError(f"{path} has an encoder twice: encoders cannot be distinguished.")
        encoder = _Encoder(named[2]) if tab else _Encoder(row[3], row[2])
        encoders[int(named[1])] = encoder
        for name, text in zip(heads[len(first) :], row[len(first) :], strict=True):
            if text.strip() in _NOTHING:
                continue
            cell = _cell(text, None if tab else _unit(name))
            if cell is None:
                raise InputError(f"{line} has {text!r} for {name or 'no counter'}.")
            if encoder.cells.setdefault(name, cell) != cell:
                raise InputError(f"{line} has two values for {name}.")
    return encoders


def _unit(name: str) -> str:
    """Return the unit of a counter in a CSV, where its name says one."""
    return "%" if _SHARES.search(name) else "B" if _SIZES.search(name) else ""


def _cell(text: str, given: str | None) -> _Cell | None:
    """Read a number with its own unit; or without one, where a unit is given."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or (given is not None and found[2]):
        return None
    digits, unit = found[1].replace(",", ""), found[2] if given is None else given
    unit, scale = _UNITS.get(unit, (unit, 1.0))
    half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
    return _Cell(float(digits) * scale, unit, half * scale)


def _added(encoders: dict[int, _Encoder], added: Mapping[int, _Encoder]) -> str:
    """Add the counters of a file; return what is not as in other files of one capture.

    What two files say of a cell must be one value, rounded twice.
    """
    if encoders and added.keys() != encoders.keys():
        return "other encoders"
    for number, encoder in added.items():
        known = encoders.setdefault(number, encoder)
        if known.label != encoder.label:
            return f"another label of encoder {number}, {encoder.label!r},"
        for name, cell in encoder.cells.items():
            before = known.cells.get(name, cell)
            if not before.unit:
                scale = 0.01 if cell.unit == "ratio" else 1.0
                before = _Cell(before.value * scale, cell.unit, before.rounding * scale)
            apart = (cell.rounding + before.rounding) * (1 - 1e-9)
            if before.unit == cell.unit and abs(before.value - cell.value) >= apart:
                return f"another {name} of encoder {number}"
            known.cells[name] = min(cell, before, key=lambda known: known.rounding)
    return ""


def _frame(encoders: Mapping[int, _Encoder]) -> pd.DataFrame:
    suspects = _suspects(encoders)
    rows = [
        (
            place,
            number,
            encoder.command_buffer or None,
            encoder.label,
            name,
            cell.value,
            cell.unit,
            suspects.get((number, name)),
        )
        for place, (number, encoder) in enumerate(encoders.items(), start=1)
        for name, cell in encoder.cells.items()
    ]
    names = ["place", "function", "command_buffer", "encoder", "counter", "value", "unit"]
    return pd.DataFrame(rows, columns=[*names, "suspect"])


def _suspects(encoders: Mapping[int, _Encoder]) -> Mapping[tuple[int, str], str]:
    """Say which cells Xcode is known to leave wrong, by what other cells say."""
    found: dict[tuple[int, str], str] = {}
    values = {
        number: {name: cell.value for name, cell in encoder.cells.items()}
        for number, encoder in encoders.items()
    }
    for number, own in values.items():
        ran = own.get(COST, 0) > 0 or own.get(_INSTRUCTIONS, 0) > 0
        if own.get(_INVOCATIONS) == 0 and ran:
            found[number, _INVOCATIONS] = "0, although the encoder ran"
    if all(own.get(_MISSES) == 0 for own in values.values()):
        found |= {(number, _MISSES): "0 for every encoder" for number in values}
    if all(
        _PERFORMANCE in own and own[_PERFORMANCE] == own.get(_INSTRUCTIONS)
        for own in values.values()
    ):
        found |= {(number, _PERFORMANCE): f"repeats {_INSTRUCTIONS}" for number in values}
    return found
