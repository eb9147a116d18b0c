"""Counters of a GPU frame capture, as Xcode exports them: a CSV of all, a text of each tab.

The CSV has two forms with different first columns. One has a row for each encoder, rounds to two
decimals and writes no unit. The other has a row for each function that Xcode measured, all
digits, a percent sign after each share, and `GPU Time`. A tab is tab-separated, has fewer counters
with more digits and units, and alone has `Execution Cost`. Values are those of a serialized replay
of the capture at a fixed clock, not those of the run.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tracekit.base import InputError
from tracekit.base import files as base_files
from tracekit.tables.lazy import pd

COST = "Execution Cost"
GPU_TIME = "GPU Time"


@dataclass(frozen=True)
class _CountersForm:
    """The head of a file of counters: its first columns, and the numbers of those with a meaning.

    `label` is None if the column of the `function` holds the label as well. `encoder` are the
    columns that name an encoder if a row is one of its functions. `units` is set if cells have
    units of their own.
    """

    first_columns: tuple[str, ...]
    delimiter: str
    function: int
    label: int | None = None
    command_buffer: int | None = None
    encoder: tuple[int, ...] = ()
    marker: int | None = None
    units: bool = True


_ROUNDED = _CountersForm(
    ("Index", "Encoder FunctionIndex", "CommandBuffer Label", "Encoder Label", ""),
    ",",
    function=1,
    label=3,
    command_buffer=2,
    units=False,
)
_EXACT = _CountersForm(
    (
        *("Index", "Encoder Index", "CommandBuffer Index", "FunctionIndex"),
        *("CommandBuffer Label", "Encoder Label", "Marker"),
    ),
    ",",
    function=3,
    label=5,
    command_buffer=4,
    encoder=(1, 2),
    marker=6,
)
_TAB = _CountersForm(("Thumbnails", "Name"), "\t", function=1)
_FORMS = (_ROUNDED, _EXACT, _TAB)
_LINE_END = re.compile(r"[\r\n]")
_NAME = re.compile(r"(\d+)(?: (.*))?")
_NUMBER = re.compile(r"(-?[\d,]+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?) ?([A-Za-zµ%/]{0,12})")
_NOTHING = frozenset({"", "-", "N/A", "n/a", "NaN", "nan"})
_POWERS = {"B": 0, "bytes": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
_UNITS = {"%": ("ratio", 0.01)} | {unit: ("bytes", 2.0**by) for unit, by in _POWERS.items()}
_SHARES = re.compile(
    r"(Limiter|Utilization|Occupancy|Miss Rate|Eviction Rate|Residency|Manager Target"
    r"|L1 (Read|Write) Accesses|ALU (Float|Half|Integer and \w+) Instructions)$"
)
_SIZES = re.compile(r"\bBytes\b(?! From Cache)")
_QUARTERS = re.compile(r"Buffer L1 Bytes (Read|Written)$")
_LARGEST = 64 << 20
_LONGEST_HEADER = 1 << 16
_NAMED_COLUMNS = 6  # of an unknown header, in a message
_LONGEST_NAME = 40
_COLUMNS = (
    "place",
    "function",
    "command_buffer",
    "encoder",
    "counter",
    "value",
    "unit",
    "suspect",
)
_INVOCATIONS = "Kernel Invocations"
_INSTRUCTIONS = "Kernel ALU Instructions"
_NEGATIVE = "negative, which no share, count or time is"
_NO_BYTES = "not bytes: in a capture whose sizes are known it was a quarter of them"
_L1_BANDWIDTH = "Buffer L1 Read Bandwidth"
_L1_MISSES = "Buffer L1 Miss Rate"
_LAST_LEVEL = "Last Level Cache Bandwidth"
_LAST_LEVEL_MISSES = "Last Level Cache Miss Rate"
_DEVICE_MEMORY = "Device Memory Bandwidth"
_OF_LAST_LEVEL = (
    *(_LAST_LEVEL, _LAST_LEVEL_MISSES, "Last Level Cache Bytes Read"),
    *("Last Level Cache Bytes Written", "Last Level Cache Limiter"),
    "Last Level Cache Utilization",
)
_OF_DEVICE_MEMORY = (
    *(_DEVICE_MEMORY, "GPU Read Bandwidth", "GPU Write Bandwidth"),
    *("Bytes Read From Device Memory", "Bytes Written To Device Memory"),
)
_LEAST_PASSED_ON = 0.01  # of the misses of the L1 caches: a cache between them may serve the rest
_LEAST_FROM_MEMORY = 0.1  # of the misses of the last-level cache
_MOVED = ("Bytes Read From Device Memory", "Bytes Written To Device Memory")
_MOST_APART = 10.0  # ratio of bytes over time to the bandwidth, far below that of two units
_UNSEEN_BY_LAST_LEVEL = (
    "the last-level cache has less than a hundredth of what missed the L1 caches, so it was not "
    "measured here, or another cache served the rest"
)
_UNSEEN_BY_MEMORY = "less than a tenth of what missed the last-level cache"
_PERFORMANCE = "Kernel ALU Performance"
_MISSES = "Kernel Texture Cache Miss Rate"


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


@dataclass
class _CountersFile:
    """The content of a file: its encoders by function, in a form, and remarks on lost content."""

    path: Path
    form: _CountersForm
    encoders: dict[int, _Encoder] = field(default_factory=dict[int, _Encoder])
    remarks: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Counters:
    """Counters that were read, and remarks on them, in sentences.

    `rows` has a row for each counter of each encoder. Columns: `place` of the encoder in the
    capture, from 1; `function`, its index there; `command_buffer` and `encoder`, their labels;
    `counter`, `value`, `unit` ("ratio", "bytes", "ns", else as Xcode writes it, "" if it writes
    none); `suspect`, the reason why a value is not credible, else null.
    """

    rows: pd.DataFrame
    remarks: tuple[str, ...] = ()


def is_counters(path: Path) -> bool:
    """Return whether a file begins as an export of Xcode's counters does, CSV or tab."""
    return path.is_file() and _form(path) is not None


def read_counters(paths: Sequence[Path]) -> Counters:
    """Return the counters of one capture, from at most one CSV and any tabs of it.

    Raises:
        InputError: A file is not one of these, two are not of the same capture, an encoder occurs
            twice, a cell is not a number, or a counter that occurs twice has two values.
    """
    files = sorted(map(_file, paths), key=lambda file: file.form is _TAB)
    tables = [file.path for file in files if file.form is not _TAB]
    if len(tables) > 1:
        raise InputError(
            f"{tables[0]} and {tables[1]} are both exports of all counters.",
            hint="Import one capture at a time: its CSV and the texts of its tabs.",
        )
    encoders: dict[int, _Encoder] = {}
    remarks: list[str] = []
    for file in files:
        wrong = _add_counters(encoders, file.encoders)
        if wrong:
            raise InputError(
                f"{file.path} has {wrong} than the files before it.",
                hint="Import the files of one capture.",
            )
        remarks += file.remarks
    if not encoders:
        raise InputError(f"{paths[0]} has no encoder.")
    sorted_encoders = dict(sorted(encoders.items()))
    return Counters(_frame(sorted_encoders), tuple(remarks))


def refused_table(path: Path) -> InputError | None:
    """Return the reason why a table of text is not read, with its header; None for other files."""
    header = _beginning(path)
    if "\ufffd" in header or not header.replace("\t", "").isprintable():
        return None
    delimiter = max(",;\t", key=header.count)
    if delimiter not in header or header.lstrip().startswith("<"):
        return None
    for form in _FORMS:
        if header.startswith(_join_columns(form, ";")):
            return InputError(
                f"{path} holds Xcode's counters with semicolons between them, as a spreadsheet "
                "saves them in some languages, in which numbers may be changed.",
                hint="Import the file as Xcode exported it.",
            )
    columns = _columns(header, delimiter)
    column_names = [repr(column[:_LONGEST_NAME]) for column in columns[:_NAMED_COLUMNS]]
    names = ", ".join(column_names)
    if len(columns) > _NAMED_COLUMNS:
        names += f" and {len(columns) - _NAMED_COLUMNS} more"
    rounded = _join_columns(_ROUNDED, ",")
    exact = _join_columns(_EXACT, ",")
    return InputError(
        f"{path} is a table of text with an unknown header: {names}.",
        hint="Of such tables, `tracekit import` reads Xcode's counters, whose CSV begins with "
        f"{rounded!r} or {exact!r}.",
    )


def _join_columns(form: _CountersForm, delimiter: str) -> str:
    """Return the beginning of the header of a form."""
    return delimiter.join(form.first_columns[:4])


def _bytes(path: Path) -> bytes:
    with base_files.open_input(path) as file:
        return file.read(_LONGEST_HEADER)


def _encoding(path: Path) -> str:
    wide = _bytes(path).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if wide:
        return "utf-16"
    return "utf-8-sig"


def _beginning(path: Path) -> str:
    """Return the first line of a file, as text."""
    text = _bytes(path).decode(_encoding(path), errors="replace")
    return _LINE_END.split(text, maxsplit=1)[0]


def _form(path: Path) -> _CountersForm | None:
    """Return the form whose first columns the file has; None if there is no such form."""
    header = _beginning(path)
    for form in _FORMS:
        columns = _columns(header, form.delimiter)
        first_columns = tuple(columns[: len(form.first_columns)])
        if first_columns == form.first_columns:
            return form
    return None


def _columns(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # a file of some other kind
        return []


def _lines(path: Path, delimiter: str) -> list[list[str]]:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path} is larger than any export of counters.")
        with path.open(encoding=_encoding(path), newline="") as file:
            rows = csv.reader(file, delimiter=delimiter, strict=True)
            return [row for row in rows if row]
    except (OSError, UnicodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as an export of counters: {error}.") from error


def _file(path: Path) -> _CountersFile:
    """Read a CSV, or a tab."""
    form = _form(path)
    if form is None:
        raise refused_table(path) or InputError(f"{path} is not an export of Xcode's counters.")
    file = _CountersFile(path, form)
    heads, *rows = _lines(path, form.delimiter)
    for number, row in enumerate(rows, start=2):
        line = f"Line {number} of {path}"
        if len(row) != len(heads):
            raise InputError(f"{line} has {len(row)} of {len(heads)} cells.")
        function, label = _function(form, row, line)
        if function in file.encoders:
            raise InputError(f"{path} has an encoder twice: encoders cannot be distinguished.")
        encoder = _Encoder(label)
        if form.command_buffer is not None:
            encoder.command_buffer = row[form.command_buffer]
        file.encoders[function] = encoder
        first_counter = len(form.first_columns)
        cells = zip(heads[first_counter:], row[first_counter:], strict=True)
        _read_cells(encoder, form, cells, line)
    file.remarks += _remarks(file, rows)
    return file


def _function(form: _CountersForm, row: Sequence[str], line: str) -> tuple[int, str]:
    """Return the index of the function of a row, and the label of its encoder."""
    match = _NAME.fullmatch(row[form.function])
    has_joint_label = form.label is None
    if match is None or (match[2] is None) is has_joint_label:
        raise InputError(f"{line} has no number of its encoder: {row[form.function]!r}.")
    label = match[2] if form.label is None else row[form.label]
    return int(match[1]), label


def _read_cells(
    encoder: _Encoder, form: _CountersForm, cells: Iterable[tuple[str, str]], line: str
) -> None:
    for name, text in cells:
        if text.strip() in _NOTHING:
            continue
        unit = None
        if not form.units:
            unit = _unit(name)
        cell = _cell(text, unit)
        if cell is None:
            raise InputError(f"{line} has {text!r} for {name or 'no counter'}.")
        if form is _EXACT:
            cell = _with_unit(cell, name)
            if not cell.unit and _SHARES.search(name):
                raise InputError(f"{line} has {text!r} for {name}, without a percent sign.")
        if encoder.cells.setdefault(name, cell) != cell:
            raise InputError(f"{line} has two values for {name}.")


def _with_unit(cell: _Cell, name: str) -> _Cell:
    """Add the unit that the form with all digits leaves out."""
    if cell.unit:
        return cell
    if name == GPU_TIME:
        return cell._replace(unit="ns")
    if _unit(name) == "B":
        return cell._replace(unit="bytes")
    return cell


def _remarks(file: _CountersFile, rows: Sequence[Sequence[str]]) -> list[str]:
    """Return remarks on the content of a file that its table of counters cannot hold exactly."""
    form = file.form
    remarks: list[str] = []
    encoders: set[tuple[str, ...]] = set()
    for row in rows:
        encoder = tuple([row[column] for column in form.encoder])
        encoders.add(encoder)
    if form.encoder and len(encoders) < len(rows):
        remarks.append(
            f"Each of the {len(rows)} rows of {file.path.name} is listed as an encoder, although "
            "several are functions of the same one."
        )
    if form.marker is not None:
        marked_rows = [row for row in rows if row[form.marker].strip()]
        if marked_rows:
            remarks.append(
                f"The markers of {file.path.name}, in {len(marked_rows)} of {len(rows)} rows, are "
                "not kept."
            )
    return remarks


def _unit(name: str) -> str:
    """Return the unit of a counter in a CSV that its name implies, or ""."""
    if _SHARES.search(name):
        return "%"
    if _SIZES.search(name):
        return "B"
    return ""


def _cell(text: str, given_unit: str | None) -> _Cell | None:
    """Read a number with its own unit, or without one if a unit is given."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    text = match[1].replace(",", "")
    unit = match[2]
    if given_unit is not None:
        if unit:
            return None
        unit = given_unit
    unit, scale = _UNITS.get(unit, (unit, 1.0))
    digits, _, power = text.lower().partition("e")
    fraction = digits.partition(".")[2]
    half = 0.5 * 10.0 ** (int(power or 0) - len(fraction))
    return _Cell(float(text) * scale, unit, half * scale)


def _add_counters(encoders: dict[int, _Encoder], added: Mapping[int, _Encoder]) -> str:
    """Add the counters of a file; return the difference to the other files of the capture, or "".

    The values of a cell in two files must be one value, rounded twice.
    """
    if encoders and added.keys() != encoders.keys():
        return "other encoders"
    for number, encoder in added.items():
        known_encoder = encoders.setdefault(number, encoder)
        if known_encoder.label != encoder.label:
            return f"another label of encoder {number}, {encoder.label!r},"
        for name, cell in encoder.cells.items():
            earlier_cell = known_encoder.cells.get(name, cell)
            if not earlier_cell.unit:
                earlier_cell = _adopt_unit(earlier_cell, cell.unit)
            difference = abs(earlier_cell.value - cell.value)
            total_rounding = cell.rounding + earlier_cell.rounding
            tolerance = total_rounding * (1 - 1e-9)
            if earlier_cell.unit == cell.unit and difference >= tolerance:
                return f"another {name} of encoder {number}"
            known_encoder.cells[name] = min(cell, earlier_cell, key=lambda option: option.rounding)
    return ""


def _adopt_unit(cell: _Cell, unit: str) -> _Cell:
    """Give a cell without a unit that of another file; a share without one is in percent."""
    scale = 0.01 if unit == "ratio" else 1.0
    return _Cell(cell.value * scale, unit, cell.rounding * scale)


def _frame(encoders: Mapping[int, _Encoder]) -> pd.DataFrame:
    suspects = _suspects(encoders)
    rows: list[dict[str, object]] = []
    for place, (number, encoder) in enumerate(encoders.items(), start=1):
        for name, cell in encoder.cells.items():
            row: dict[str, object] = {
                "place": place,
                "function": number,
                "command_buffer": encoder.command_buffer or None,
                "encoder": encoder.label,
                "counter": name,
                "value": cell.value,
                "unit": cell.unit,
                "suspect": suspects.get((number, name)),
            }
            rows.append(row)
    return pd.DataFrame(rows, columns=_COLUMNS)


def _suspects(encoders: Mapping[int, _Encoder]) -> Mapping[tuple[int, str], str]:
    """Return the reasons why cells are not credible, by number of the encoder and counter.

    These are the cells that Xcode is known to leave wrong, judged by the other cells.
    """
    reasons: dict[tuple[int, str], str] = {}
    has_misses = False
    has_performance = False
    for number, encoder in encoders.items():
        values = {name: cell.value for name, cell in encoder.cells.items()}
        for name, reason in _doubt_cells(values).items():
            reasons[number, name] = reason
        has_run = values.get(COST, 0) > 0 or values.get(_INSTRUCTIONS, 0) > 0
        if values.get(_INVOCATIONS) == 0 and has_run:
            reasons[number, _INVOCATIONS] = "0, although the encoder ran"
        if values.get(_MISSES) != 0:
            has_misses = True
        performance = values.get(_PERFORMANCE)
        if performance is None or performance != values.get(_INSTRUCTIONS):
            has_performance = True
    for number in encoders:
        if not has_misses:
            reasons[number, _MISSES] = "0 for every encoder"
        if not has_performance:
            reasons[number, _PERFORMANCE] = f"repeats {_INSTRUCTIONS}"
    return reasons


def _doubt_cells(values: Mapping[str, float]) -> Mapping[str, str]:
    """Return the reasons why cells of one encoder are not credible, by counter."""
    reasons = {**_doubt_memory(values), **_doubt_time(values)}
    for name, value in values.items():
        reason = _doubt(name, value)
        if reason:
            reasons[name] = reason
    return reasons


def _doubt_memory(values: Mapping[str, float]) -> Mapping[str, str]:
    """Return the reasons why counters of the last-level cache and of memory are not credible.

    Each level of caches must see the misses of the one before it; bandwidths have one unit.
    """
    reasons: dict[str, str] = {}
    missed = values.get(_L1_BANDWIDTH, 0.0) * values.get(_L1_MISSES, 0.0)
    last_level = values.get(_LAST_LEVEL)
    if last_level is None:
        return reasons
    if last_level < _LEAST_PASSED_ON * missed:
        for name in (*_OF_LAST_LEVEL, *_OF_DEVICE_MEMORY):
            reasons[name] = _UNSEEN_BY_LAST_LEVEL
        return reasons
    passed_on = last_level * values.get(_LAST_LEVEL_MISSES, 0.0)
    memory = values.get(_DEVICE_MEMORY)
    if memory is not None and memory < _LEAST_FROM_MEMORY * passed_on:
        for name in _OF_DEVICE_MEMORY:
            reasons[name] = _UNSEEN_BY_MEMORY
    return reasons


def _doubt_time(values: Mapping[str, float]) -> Mapping[str, str]:
    """Return why the GPU time is not in nanoseconds, by the bytes and the bandwidth, or nothing.

    Xcode writes it without a unit; bytes per nanosecond are GB/s, the unit of the bandwidth.
    """
    moved = sum(values.get(name, 0.0) for name in _MOVED)
    time = values.get(GPU_TIME, 0.0)
    bandwidth = values.get(_DEVICE_MEMORY, 0.0)
    if min(moved, time, bandwidth) <= 0:
        return {}
    ratio = moved / time / bandwidth
    if 1 / _MOST_APART <= ratio <= _MOST_APART:
        return {}
    return {GPU_TIME: "not nanoseconds: bytes over this time are not the bandwidth of the memory"}


def _doubt(name: str, value: float) -> str:
    """Return the reason why a value is not credible whatever the others are, or ""."""
    if value < 0:
        return _NEGATIVE
    if value and _QUARTERS.search(name):
        return _NO_BYTES
    return ""
