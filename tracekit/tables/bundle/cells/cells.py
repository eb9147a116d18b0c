"""Raw columns of records to cells of Arrow, of the types that an export would have.

A table of ten million rows is several hundred megabytes: numbers are changed in place.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tracekit.tables.bundle.cells.encodings import BIAS, UNITS, Encoding, EngineeringType
from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.values import FORMS, Form

Raw = NDArray[np.unsignedinteger[Any]]
Flags = NDArray[np.bool_]

TEXTS = pa.dictionary(pa.int32(), pa.string())
_BLOCK = 1 << 17
_EXACT = 1 << 53


@dataclass(frozen=True, eq=False)
class Distinct:
    """Which numbers a column holds, and which of these each cell holds, null where it has none."""

    numbers: Numbers
    places: pa.Array

    def of(self, values: pa.Array) -> pa.ChunkedArray:
        """Return cells of a dictionary, from the values of the numbers; null where one is null."""
        places = self.places
        if values.null_count:
            missing = values.is_null().take(places).fill_null(True)
            places = pc.call_function("if_else", [missing, pa.scalar(None, places.type), places])
            values = values.fill_null("")
        return pa.chunked_array([pa.DictionaryArray.from_arrays(places, values)])

    def spread(self, values: pa.Array) -> pa.ChunkedArray:
        """Return cells, from the values of the numbers."""
        return pa.chunked_array([values.take(self.places)])


def distinct(raw: Raw, size: int) -> Distinct:
    """Find the numbers in a column of 32 bits, each below `size`; all ones is null."""
    nulls = nulls_of(raw)
    known = raw if nulls is None else raw[~nulls]
    if known.size and int(known.max()) >= size:
        raise ArchiveError("names what the bundle does not hold")
    used = np.zeros(max(size, 1), np.bool_)
    used[known] = True
    places = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return Distinct(np.flatnonzero(used), as_array(places.take(raw, mode="clip"), nulls))


def nulls_of(raw: Raw) -> Flags | None:
    """Return where a column is all ones; None where it is nowhere."""
    most = np.iinfo(raw.dtype).max
    if not raw.size or int(raw.max()) != most:
        return None
    return raw == most


def as_array(values: NDArray[Any], nulls: Flags | None) -> pa.Array:
    """Return an array of Arrow in the memory of numpy's."""
    valid = None
    if nulls is not None:
        valid = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [valid, pa.py_buffer(values)])


def signed(raw: Raw) -> NDArray[np.int64]:
    """Return numbers that are stored as themselves and 2^63 - 1; `raw` is void."""
    raw -= np.uint64(BIAS)
    return raw.view(np.int64)


def decimals(raw: Raw) -> NDArray[np.float64]:
    """Return decimals of nine places, each the float nearest to it; `raw` is void."""
    scaled = signed(raw)
    found = scaled.view(np.float64)
    for block in blocks(scaled.size):
        exact = scaled[block].copy()
        found[block] = exact / UNITS
        large = np.flatnonzero((exact > _EXACT) | (exact < -_EXACT))
        if large.size:  # a division of two floats would round twice
            found[block][large] = [number / UNITS for number in exact[large].tolist()]
    return found


def blocks(size: int) -> Iterator[slice]:
    """Yield the slices of a column that are handled at once."""
    for first in range(0, size, _BLOCK):
        yield slice(first, min(first + _BLOCK, size))


NUMERIC = frozenset({Encoding.INTEGER, Encoding.DECIMAL})
_SIGNED = 1 << 63


def numbers(kind: EngineeringType, raw: Raw) -> pa.Array:
    """Return the cells of a whole column; `raw` is void afterwards."""
    form = FORMS.get(kind.tag)
    nulls = None if kind.all_ones else nulls_of(raw)
    if form is None and (not raw.size or (nulls is not None and nulls.all())):
        return pa.nulls(raw.size, TEXTS)  # as of an export, where nothing shows the type
    if kind.encoding is Encoding.DECIMAL:
        decimal = decimals(raw)
        if nulls is not None:
            decimal[nulls] = np.nan
        return as_array(decimal, nulls)
    if form is Form.FLAG:
        return pa.array(raw != 0, mask=nulls)
    if nulls is not None:
        raw[nulls] = 0
    wide = raw.astype(np.uint64, copy=False)
    unsigned = form is Form.UNSIGNED or int(wide.max(initial=0)) >= _SIGNED
    found = as_array(wide if unsigned else wide.view(np.int64), nulls)
    match form:
        case Form.NUMBER:
            return found.cast(pa.float64(), safe=False)
        case Form.TEXT:
            return found.cast(pa.string()).dictionary_encode()
        case _:
            return found


def empty(tag: str, rows: int) -> pa.Array:
    """Return the cells of a column of which nothing is known."""
    types = {
        Form.INTEGER: pa.int64(),
        Form.UNSIGNED: pa.uint64(),
        Form.NUMBER: pa.float64(),
        Form.FLAG: pa.bool_(),
    }
    form = FORMS.get(tag)
    return pa.nulls(rows, types.get(form, TEXTS) if form else TEXTS)
