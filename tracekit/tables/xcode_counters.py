"""Counters of a GPU frame capture, as Xcode exports them: a CSV of all, a text of each tab.

The CSV has a row for each encoder and rounds to two decimals. A tab is tab-separated, has fewer
counters with more digits and units, and alone has `Execution Cost`. Values are those of a
serialized replay of the capture at a fixed clock, not those of the run.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from tracekit.base import InputError

COST = "Execution Cost"
_FIRST = ("Index", "Encoder FunctionIndex", "CommandBuffer Label", "Encoder Label", "")
_TAB = ("Thumbnails", "Name")
_NAME = re.compile(r"(\d+)(?: (.*))?")
_NUMBER = re.compile(r"(-?[\d,]+(?:\.\d+)?) ?([A-Za-zµ%/]{0,12})")
_NOTHING = frozenset({"", "-", "N/A", "n/a", "NaN", "nan"})
_BYTES = {"B": 0, "bytes": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
_SHARES = re.compile(
    r"(Limiter|Utilization|Occupancy|Miss Rate|Eviction Rate|Residency|Manager Target"
    r"|L1 (Read|Write) Accesses|ALU (Float|Half|Integer and \w+) Instructions)$"
)
_SIZES = re.compile(r"\bBytes\b(?! From Cache)")
_LARGEST = 64 << 20
_INVOCATIONS, _INSTRUCTIONS = "Kernel Invocations", "Kernel ALU Instructions"
_PERFORMANCE, _MISSES = "Kernel ALU Performance", "Kernel Texture Cache Miss Rate"


@dataclass(frozen=True)
class _Cell:
    """A value: a share as 0 … 1 (unit "ratio"), a size in "bytes", else in the unit Xcode writes.

    `rounding` is half of the last digit that was written, in the same unit.
    """

    value: float
    unit: str
    rounding: float


@dataclass
class _Encoder:
    """An encoder: its place in the capture, its labels, its counters by name."""

    function: int
    label: str
    command_buffer: str = ""
    cells: dict[str, _Cell] = field(default_factory=dict[str, _Cell])


def is_xcode_counters(path: Path) -> bool:
    """Tell whether a file begins as an export of Xcode's counters does, CSV or tab."""
    if path.suffix.lower() not in {".csv", ".txt", ".tsv"} or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.readline(1 << 16).decode("utf-8-sig", errors="replace")
    return head.startswith((",".join(_FIRST[:4]), "\t".join(_TAB)))


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
        _add(encoders, list(_encoders(path)), path)
    if not encoders:
        raise InputError(f"{paths[0]} has no encoder.")
    return _frame(sorted(encoders.values(), key=lambda encoder: encoder.function))


def _is_tab(path: Path) -> bool:
    with path.open("rb") as file:
        return file.readline(1 << 16).lstrip(b"\xef\xbb\xbf").startswith("\t".join(_TAB).encode())


def _lines(path: Path, delimiter: str) -> list[list[str]]:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is larger than any export of counters.")
        with path.open(encoding="utf-8-sig", newline="") as file:
            return [row for row in csv.reader(file, delimiter=delimiter, strict=True) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as an export of counters: {error}.") from error


def _encoders(path: Path) -> Iterator[_Encoder]:
    """Yield the encoders of a CSV, or of a tab, whose cells have units."""
    tab = _is_tab(path)
    first = _TAB if tab else _FIRST
    heads, *rows = _lines(path, "\t" if tab else ",")
    if tuple(heads[: len(first)]) != first:
        raise InputError(f"{path} is no export of Xcode's counters: its first columns differ.")
    for number, row in enumerate(rows, start=2):
        _require(len(row) == len(heads), path, number, f"has {len(row)} of {len(heads)} cells")
        named = _NAME.fullmatch(row[1])
        if named is None or (named[2] is None) is tab:
            raise InputError(f"Line {number} of {path} has no number of its encoder: {row[1]!r}.")
        label, buffer = (named[2], "") if tab else (row[3], row[2])
        encoder = _Encoder(int(named[1]), label, buffer)
        for name, text in zip(heads[len(first) :], row[len(first) :], strict=True):
            if text.strip() in _NOTHING:
                continue
            cell = _with_unit(text) if tab else _in_csv(name, text)
            if cell is None:
                raise InputError(
                    f"Line {number} of {path} has {text!r} for {name or 'no counter'}."
                )
            twin = encoder.cells.setdefault(name, cell)
            _require(twin == cell, path, number, f"has two values for {name}")
        yield encoder


def _require(condition: object, path: Path, line: int, wrong: str) -> None:
    if not condition:
        raise InputError(f"Line {line} of {path} {wrong}.")


def _in_csv(name: str, text: str) -> _Cell | None:
    """Read a cell of a CSV, whose unit follows from the counter's name, if from anything."""
    cell = _with_unit(text)
    if cell is None or cell.unit:
        return None
    return _taken_as(
        "ratio" if _SHARES.search(name) else "bytes" if _SIZES.search(name) else "", cell
    )


def _taken_as(unit: str, cell: _Cell) -> _Cell:
    """Return a number without a unit in that unit; percent become a share."""
    scale = 0.01 if unit == "ratio" else 1.0
    return _Cell(cell.value * scale, unit, cell.rounding * scale)


def _with_unit(text: str) -> _Cell | None:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    digits, unit = found[1].replace(",", ""), found[2]
    cell = _Cell(float(digits), unit, 0.5 * 10.0 ** -len(digits.partition(".")[2]))
    if unit == "%":
        return _taken_as("ratio", cell)
    if unit in _BYTES:
        scale = float(1 << _BYTES[unit])
        return _Cell(cell.value * scale, "bytes", cell.rounding * scale)
    return cell


def _add(encoders: dict[int, _Encoder], added: Iterable[_Encoder], path: Path) -> None:
    """Add the counters of a file; what two files say of a cell must be one value, rounded twice."""
    added = list(added)
    numbers = [encoder.function for encoder in added]
    if len(set(numbers)) < len(numbers):
        raise InputError(f"{path} has an encoder twice: encoders cannot be distinguished.")
    if encoders and set(numbers) != encoders.keys():
        raise InputError(
            f"{path} has other encoders than the files before it.",
            hint="Import the files of one capture.",
        )
    for encoder in added:
        known = encoders.setdefault(encoder.function, encoder)
        if known.label != encoder.label:
            raise InputError(f"{path} calls encoder {encoder.function} {encoder.label!r}.")
        for name, cell in encoder.cells.items():
            before = known.cells.get(name, cell)
            if not before.unit:
                before = _taken_as(cell.unit, before)
            apart = (cell.rounding + before.rounding) * (1 - 1e-9)
            if before.unit == cell.unit and abs(before.value - cell.value) >= apart:
                raise InputError(
                    f"{path} has another {name} of encoder {encoder.function} than the files "
                    "before it.",
                    hint="Import the files of one capture.",
                )
            known.cells[name] = min(cell, before, key=lambda one: one.rounding)


def _frame(encoders: Sequence[_Encoder]) -> pd.DataFrame:
    suspects = _suspects(encoders)
    rows = [
        (
            place,
            encoder.function,
            encoder.command_buffer or None,
            encoder.label,
            name,
            cell.value,
            cell.unit,
            suspects.get((encoder.function, name)),
        )
        for place, encoder in enumerate(encoders, start=1)
        for name, cell in encoder.cells.items()
    ]
    names = ["place", "function", "command_buffer", "encoder", "counter", "value", "unit"]
    return pd.DataFrame(rows, columns=[*names, "suspect"])


def _suspects(encoders: Sequence[_Encoder]) -> Mapping[tuple[int, str], str]:
    """Say which cells Xcode is known to leave wrong, by what other cells say."""
    found: dict[tuple[int, str], str] = {}
    for encoder in encoders:
        cells = encoder.cells
        ran = any(name in cells and cells[name].value > 0 for name in (COST, _INSTRUCTIONS))
        if _INVOCATIONS in cells and cells[_INVOCATIONS].value == 0 and ran:
            found[encoder.function, _INVOCATIONS] = "0, although the encoder ran"
    if all(_MISSES in one.cells and one.cells[_MISSES].value == 0 for one in encoders):
        found |= {(one.function, _MISSES): "0 for every encoder" for one in encoders}
    both = [(one.cells.get(_PERFORMANCE), one.cells.get(_INSTRUCTIONS)) for one in encoders]
    if all(a is not None and b is not None and a.value == b.value for a, b in both):
        found |= {(one.function, _PERFORMANCE): f"repeats {_INSTRUCTIONS}" for one in encoders}
    return found
