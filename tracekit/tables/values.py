"""From the text of cells to values: the content of an engineering type, and its column.

An export and a bundle store a text once, and any number of cells repeat it: a file of a few
megabytes may represent terabytes of text. So a table of more than `MOST` bytes in long texts is
refused.

The forms are those of the values seen in real exports. The cells of a type that is not listed
determine its form: all integers, all numbers, else text.

Integers become int64, or uint64 if the type counts to 2^64 - 1 or a value needs it; with nulls
among them Int64 or UInt64. Booleans become bool, or boolean with nulls. Decimals become float64,
with NaN for null. All else becomes string.
"""

from __future__ import annotations

import csv
import gc
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa

from tracekit.base import InputError
from tracekit.tables.lazy import pc, pd

_Item = TypeVar("_Item")
LONG = 1 << 12
"""Bytes of the shortest long text; names, labels and messages of recordings are shorter."""
MOST = 1 << 28
"""Bytes of long texts that the cells of a table may represent."""


@contextmanager
def without_collecting() -> Generator[None]:
    """Keep the collector from examining thousands of new objects, none of them in a cycle."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def prefetch(items: Iterator[_Item], depth: int = 1) -> Iterator[_Item]:
    """Yield items while a thread gets the next ones; numpy and Arrow let both work at once.

    An exception of an item is raised in its place.
    """
    with ThreadPoolExecutor(1, "tracekit-ahead") as thread:
        coming = deque(thread.submit(next, items, None) for _ in range(depth))
        while (item := coming.popleft().result()) is not None:
            coming.append(thread.submit(next, items, None))
            yield item


def texts_of(texts: Sequence[str | None]) -> pa.ChunkedArray:
    """Return texts as a column; raise InputError if they are too long."""
    longest = max(map(len, filter(None, texts)), default=0)
    if longest > LONG:
        sizes = map(len, filter(None, texts))
        long_size = sum(size for size in sizes if size > LONG)
        require_room("The export", long_size)
    return pa.chunked_array([texts], pa.string())


def long_bytes(cells: pa.ChunkedArray) -> int:
    """Count the bytes of all cells with long texts, as often as they are repeated."""
    total = 0
    for chunk in cells.chunks:
        texts = chunk.dictionary if is_coded(chunk.type) else chunk
        if not pa.types.is_string(texts.type) or texts.nbytes < LONG:
            continue
        lengths = pc.call_function("binary_length", [texts])
        sizes = lengths.cast(pa.int64())
        longest_scalar = pc.call_function("max", [sizes])
        longest = longest_scalar.as_py() or 0
        if longest > LONG:
            if is_coded(chunk.type):
                sizes = sizes.take(chunk.indices)
            is_long = pc.call_function("greater", [sizes, pa.scalar(LONG)])
            long = sizes.filter(is_long)
            long_total = pc.call_function("sum", [long])
            total += long_total.as_py() or 0
    return total


def require_room(table: str, size: int) -> None:
    """Raise InputError if the cells of a table represent more than `MOST` bytes of long text."""
    if size > MOST:
        raise InputError(
            f"{table} holds too much text: its cells represent more than {MOST >> 20} MiB in texts "
            f"longer than {LONG:,} bytes.",
            hint="No recording of Instruments is known to hold such; the file is damaged or was "
            "made.",
        )


class Form(StrEnum):
    """The form of the text of a cell."""

    INTEGER = "integer"
    UNSIGNED = "unsigned"
    NUMBER = "number"
    FLAG = "flag"
    TEXT = "text"


class TypeFacts(NamedTuple):
    """The facts about an engineering type in a line of `engineering_types.csv`.

    These are its name and the form of its texts in an export; its name in a bundle, without
    "TypeID", the encoding of its values there and the evidence for it; and whether all ones is a
    value of it instead of null: `seen`, or `presumed`. An empty fact is not known.
    """

    tag: str
    form: str
    bundle: str
    encoding: str
    evidence: str
    all_ones: str


def _engineering_types() -> tuple[TypeFacts, ...]:
    file = Path(__file__).with_name("engineering_types.csv")
    text = file.read_text(encoding="utf-8")
    head, *lines = csv.reader(text.splitlines())
    assert tuple(head) == TypeFacts._fields
    return tuple(map(TypeFacts._make, lines))


ENGINEERING_TYPES = _engineering_types()
FORMS: dict[str, Form] = {facts.tag: Form(facts.form) for facts in ENGINEERING_TYPES if facts.form}


# The patterns of texts; a plain text is the same after it was read as a number.
_INTEGER = r"^-?[0-9]+$"
_PLAIN_INTEGER = r"^(0|-?[1-9][0-9]*)$"
_NUMBER = r"^-?([0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|nan|inf)$"
_PLAIN_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"


def type_of(texts: pa.ChunkedArray, form: Form | None) -> pa.DataType | None:
    """Return the type of a column of these texts in that form; None if one breaks it.

    Without a form, it is the narrowest type that all texts fit.
    """
    if form is Form.TEXT or (form is None and texts.null_count == len(texts)):
        return pa.string()
    if form is Form.NUMBER:
        return pa.float64() if _follow(texts, _NUMBER) else None
    if form is None and not _follow(texts, _PLAIN_INTEGER):
        return pa.float64() if _follow(texts, _PLAIN_NUMBER) else pa.string()
    if form is Form.UNSIGNED:
        integer_type = _integer(texts, pa.uint64(), pa.int64())
    else:
        integer_type = _integer(texts, pa.int64(), pa.uint64())
    if form is None:
        return integer_type or pa.string()
    if integer_type is not None and form is Form.FLAG:
        return pa.bool_()
    return integer_type


def _integer(texts: pa.ChunkedArray, *kinds: pa.DataType) -> pa.DataType | None:
    """Return the first of these types that holds all texts as integers, if one does."""
    # The usual case comes first, which is 5 times as fast.
    is_decimal = _all(pc.call_function("ascii_is_decimal", [texts]))
    if not (is_decimal or _follow(texts, _INTEGER)):
        return None
    for kind in kinds:
        if _fit(texts, kind):
            return kind
    return None


def is_coded(values: pa.DataType) -> bool:
    """Return whether a column holds texts by their numbers, each text stored once."""
    return pa.types.is_dictionary(values)


def cast_cells(cells: pa.ChunkedArray, to: pa.DataType) -> pa.ChunkedArray:
    """Convert texts, or numbers that a reader has made, to a type that they all fit."""
    if is_coded(cells.type) and not is_coded(to):
        cells = cells.cast(pa.string())
    if cells.type == to:
        return cells
    if not pa.types.is_boolean(to):
        return cells.cast(to)
    integers = cells
    if pa.types.is_string(cells.type):
        integer_type = pa.int64() if _fit(cells, pa.int64()) else pa.uint64()
        integers = cells.cast(integer_type)
    zero = pa.scalar(0, integers.type)
    return pc.call_function("not_equal", [integers, zero])


def series(values: pa.ChunkedArray) -> pd.Series:
    """Return typed values as a series of pandas, which may be modified."""
    if is_coded(values.type):
        values = values.cast(pa.string())
    has_nulls = values.null_count > 0
    dtype = pd.api.types.pandas_dtype(dtype_of(values.type, nulls=has_nulls))
    if hasattr(dtype, "__from_arrow__"):
        return pd.Series(dtype.__from_arrow__(values))  # pyright: ignore[reportAttributeAccessIssue]
    numbers = values.to_numpy()
    if not numbers.flags.writeable:
        numbers = numbers.copy()
    return pd.Series(numbers, dtype=dtype, copy=False)


def dtype_of(values: pa.DataType, *, nulls: bool) -> str:
    """Return the name of the dtype of a column of that type, with or without nulls in it."""
    if pa.types.is_string(values) or is_coded(values):
        return "string"
    if pa.types.is_floating(values):
        return "float64"
    if pa.types.is_boolean(values):
        if nulls:
            return "boolean"
        return "bool"
    name = "uint64" if pa.types.is_uint64(values) else "int64"
    if nulls:
        return name.replace("i", "I").replace("uI", "UI")
    return name


def _follow(texts: pa.ChunkedArray, pattern: str) -> bool:
    options = pc.MatchSubstringOptions(pattern=pattern)
    return _all(pc.call_function("match_substring_regex", [texts], options))


def _all(flags: pa.ChunkedArray) -> bool:
    return pc.call_function("all", [flags]).as_py() is not False


def _fit(texts: pa.ChunkedArray, integer: pa.DataType) -> bool:
    try:
        texts.cast(integer)
    except pa.ArrowInvalid:
        return False
    return True
