"""From the text of cells to values: what an engineering type holds, and its column.

An export and a bundle store a text once, and any number of cells repeat it: a file of a few
megabytes may stand for terabytes of text. So where cells of long texts add up, they stay numbers
of texts; what is written out is written a portion at a time; beyond `MOST` a table is refused.

The forms are those of the values seen in real exports. A type that is not listed is read by
what its column holds: all integers, all numbers, else text.

Integers become int64, or uint64 where the type counts to 2^64 - 1 or a value needs it; with
nulls among them Int64 or UInt64. Booleans become bool, or boolean with nulls. Decimals become
float64, with NaN for null. All else becomes string.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.base import InputError

LONG = 1 << 12
"""Bytes from which on a text is long; names, labels and messages of recordings are shorter."""
AT_ONCE = 1 << 25
"""Bytes of long texts that are written out at once."""
MOST = 1 << 32
"""Bytes of long texts that the cells of a table may stand for."""
MOST_PLAIN = 1 << 30
"""Bytes of long texts that may stand one behind the other in memory."""


def texts_of(texts: Sequence[str | None]) -> pa.ChunkedArray:
    """Return texts as a column, each once in a dictionary where long ones are repeated often."""
    longest = max(map(len, filter(None, texts)), default=0)
    if (
        longest <= LONG
        or sum(size for size in map(len, filter(None, texts)) if size > LONG) <= AT_ONCE
    ):
        return pa.chunked_array([texts], pa.string())
    numbers: dict[str, int] = {}
    codes = [text if text is None else numbers.setdefault(text, len(numbers)) for text in texts]
    if sum(map(len, numbers)) > MOST_PLAIN:
        raise refused("The export")
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(numbers))
    return pa.chunked_array([coded])


def long_bytes(cells: pa.ChunkedArray) -> int:
    """Count the bytes of all cells with long texts, as often as they are repeated."""
    return sum(int(_sizes(chunk).sum()) for chunk in cells.chunks if _may_be_long(chunk))


def refused(table: str) -> InputError:
    """Say that the texts of a table are too long."""
    return InputError(
        f"{table} holds more text than is read of one table: its cells stand for more than "
        f"{MOST >> 30} GiB in texts longer than {LONG:,} bytes.",
        hint="No recording of Instruments is known to hold such; the file is damaged or was made.",
    )


def portions(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows of a table in parts of no more long text than `AT_ONCE`, or one row's."""
    if not table.num_rows:
        yield table
        return
    sizes = np.zeros(table.num_rows, np.int64)
    for column in table.columns:
        first = 0
        for chunk in column.chunks if _has_texts(column.type) else ():
            if _may_be_long(chunk):
                sizes[first : first + len(chunk)] += _sizes(chunk)
            first += len(chunk)
    ends = np.cumsum(sizes)
    first = 0
    while first < table.num_rows:
        before = int(ends[first - 1]) if first else 0
        end = max(int(np.searchsorted(ends, before + AT_ONCE, side="right")), first + 1)
        yield table.slice(first, end - first)
        first = end


def shared(cells: pa.ChunkedArray) -> pd.Series:
    """Return texts that are numbered as a column of pandas whose cells share them."""
    parts = [_objects(chunk) for chunk in cells.chunks]
    found = np.concatenate([np.empty(0, object), *parts])
    return pd.Series(pd.array(found, dtype=pd.StringDtype("python")))


def _objects(cells: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    texts = np.empty(len(cells.dictionary) + 1, object)
    texts[:-1] = cells.dictionary.to_pylist()
    texts[-1] = pd.NA
    numbers = cells.indices.fill_null(len(cells.dictionary)).to_numpy(zero_copy_only=False)
    return texts.take(numbers)


def _has_texts(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_dictionary(kind)


def _may_be_long(cells: pa.Array) -> bool:
    """Tell, without a look at each cell, whether any of them has a long text."""
    texts = cells.dictionary if pa.types.is_dictionary(cells.type) else cells
    if not pa.types.is_string(texts.type) or texts.nbytes < LONG:
        return False
    longest = pc.call_function("max", [pc.call_function("binary_length", [texts])]).as_py()
    return longest is not None and longest > LONG


def _sizes(cells: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the bytes of each cell's text, 0 for one that is not long."""
    coded = pa.types.is_dictionary(cells.type)
    lengths = pc.call_function("binary_length", [cells.dictionary if coded else cells])
    sizes = lengths.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    sizes = np.where(sizes > LONG, sizes, 0)
    if not coded:
        return sizes
    numbers = cells.indices.fill_null(len(sizes)).to_numpy(zero_copy_only=False)
    return np.append(sizes, 0).take(numbers)


class Form(StrEnum):
    """What the text of a cell is."""

    INTEGER = "integer"
    UNSIGNED = "unsigned"
    NUMBER = "number"
    FLAG = "flag"
    TEXT = "text"


class TypeFacts(NamedTuple):
    """All that is known of an engineering type, by a line of `engineering_types.csv`.

    What is empty is not known.

    Attributes:
        tag: Its name in an export.
        form: The form of its texts there.
        bundle: Its name in a bundle, without "TypeID".
        encoding: How a bundle stores its values; see `tracekit.tables.bundle.cells.encodings`.
        evidence: How surely that is known.
        all_ones: Whether all ones is a value of it instead of null: that was `seen`, or is
            `presumed`.
    """

    tag: str
    form: str
    bundle: str
    encoding: str
    evidence: str
    all_ones: str


def _engineering_types() -> tuple[TypeFacts, ...]:
    file = Path(__file__).with_name("engineering_types.csv")
    head, *lines = csv.reader(file.read_text(encoding="utf-8").splitlines())
    assert tuple(head) == TypeFacts._fields
    return tuple(map(TypeFacts._make, lines))


ENGINEERING_TYPES = _engineering_types()
FORMS: dict[str, Form] = {facts.tag: Form(facts.form) for facts in ENGINEERING_TYPES if facts.form}


class Text(StrEnum):
    """How a text is written; a plain one says the same after it was read as a number."""

    INTEGER = r"^-?[0-9]+$"
    PLAIN_INTEGER = r"^(0|-?[1-9][0-9]*)$"
    NUMBER = r"^-?([0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|nan|inf)$"
    PLAIN_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"


@dataclass(eq=False)
class TextEvidence:
    """How all texts of a column were written so far, and so which type they allow."""

    known: bool = False
    _broken: set[Text] = field(default_factory=set[Text])
    _too_narrow: set[pa.DataType] = field(default_factory=set[pa.DataType])

    def take(self, texts: pa.ChunkedArray, ways: frozenset[Text] = frozenset(Text)) -> None:
        """Look at more texts; a way of writing that one did not follow is not asked for again."""
        self.known = self.known or texts.null_count < len(texts)
        for way in ways - self._broken:
            if not _follow(texts, way):
                self._broken.add(way)
        if Text.INTEGER in ways - self._broken:
            for integer in {pa.int64(), pa.uint64()} - self._too_narrow:
                if not _fit(texts, integer):
                    self._too_narrow.add(integer)

    def type(self, form: Form | None) -> pa.DataType | None:
        """Return the type of a column of that form, or of none; None where a text breaks it."""
        match form:
            case Form.TEXT:
                return pa.string()
            case Form.NUMBER:
                return None if Text.NUMBER in self._broken else pa.float64()
            case Form.FLAG:
                return None if self._integer(pa.int64(), pa.uint64()) is None else pa.bool_()
            case Form.INTEGER:
                return self._integer(pa.int64(), pa.uint64())
            case Form.UNSIGNED:
                return self._integer(pa.uint64(), pa.int64())
            case None:
                return self._inferred()

    def _integer(self, *types: pa.DataType) -> pa.DataType | None:
        if Text.INTEGER in self._broken:
            return None
        return next((kind for kind in types if kind not in self._too_narrow), None)

    def _inferred(self) -> pa.DataType:
        if not self.known:
            return pa.string()
        if Text.PLAIN_INTEGER not in self._broken:
            return self._integer(pa.int64(), pa.uint64()) or pa.string()
        return pa.string() if Text.PLAIN_NUMBER in self._broken else pa.float64()


def column(texts: pa.ChunkedArray, form: Form) -> pd.Series | None:
    """Return the values of `texts`, or None where one of them is not of that form."""
    evidence = TextEvidence()
    evidence.take(texts)
    found = evidence.type(form)
    return None if found is None else series(converted(texts, found))


def inferred(texts: pa.ChunkedArray) -> pd.Series:
    """Return the values of a column of unknown type: integers, numbers, else text.

    A text such as "007" stays text: as a number it would not be the same any more.
    """
    evidence = TextEvidence()
    evidence.take(texts)
    return series(converted(texts, evidence.type(None) or pa.string()))


def is_coded(values: pa.DataType) -> bool:
    """Tell whether a column holds texts by their numbers, each text stored once."""
    return pa.types.is_dictionary(values)


def converted(cells: pa.ChunkedArray, to: pa.DataType) -> pa.ChunkedArray:
    """Turn texts, or numbers that a reader has made, into the type that evidence allows."""
    if is_coded(cells.type) and not is_coded(to):
        cells = cells.cast(pa.string())
    if cells.type == to:
        return cells
    if not pa.types.is_boolean(to):
        return cells.cast(to)
    integers = cells
    if pa.types.is_string(cells.type):
        integers = cells.cast(pa.int64() if _fit(cells, pa.int64()) else pa.uint64())
    return pc.call_function("not_equal", [integers, pa.scalar(0, integers.type)])


def series(values: pa.ChunkedArray) -> pd.Series:
    """Return typed values as pandas holds them."""
    if is_coded(values.type):
        if long_bytes(values) > AT_ONCE:
            return shared(values)
        values = values.cast(pa.string())
    dtype = dtype_of(values.type, nulls=values.null_count > 0)
    if pa.types.is_string(values.type):
        return pd.Series(pd.StringDtype().__from_arrow__(values))  # pyright: ignore[reportAttributeAccessIssue]
    if pa.types.is_floating(values.type) or not values.null_count:
        return pd.Series(_writable(values.to_numpy()), dtype=dtype, copy=False)
    nulls = values.is_null().to_numpy()
    known = values.fill_null(pa.scalar(0).cast(values.type)).to_numpy()
    if pa.types.is_boolean(values.type):
        return pd.Series(pd.arrays.BooleanArray(known.astype(np.bool_), _writable(nulls)))
    return pd.Series(pd.arrays.IntegerArray(_writable(known), _writable(nulls)))


def _writable(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return numbers that a frame may change: Arrow's own are for reading only."""
    return numbers if numbers.flags.writeable else numbers.copy()


def dtype_of(values: pa.DataType, *, nulls: bool) -> str:
    """Name the dtype of a column of that type, with or without nulls in it."""
    if pa.types.is_string(values) or is_coded(values):
        return "string"
    if pa.types.is_floating(values):
        return "float64"
    if pa.types.is_boolean(values):
        return "boolean" if nulls else "bool"
    name = "uint64" if pa.types.is_uint64(values) else "int64"
    return name.replace("i", "I").replace("uI", "UI") if nulls else name


def _follow(texts: pa.ChunkedArray, way: Text) -> bool:
    if way is Text.INTEGER and _all(pc.call_function("ascii_is_decimal", [texts])):
        return True  # the usual case, five times as fast
    options = pc.MatchSubstringOptions(pattern=way.value)
    return _all(pc.call_function("match_substring_regex", [texts], options))


def _all(flags: pa.ChunkedArray) -> bool:
    return pc.call_function("all", [flags]).as_py() is not False


def _fit(texts: pa.ChunkedArray, integer: pa.DataType) -> bool:
    try:
        texts.cast(integer)
    except pa.ArrowInvalid:
        return False
    return True
