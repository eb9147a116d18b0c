"""Columns of numbers as cells, of the types that the same column of an export would have."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracekit.tables.bundle.cells.cells import (
    TEXTS,
    Flags,
    Raw,
    as_array,
    decimals,
    nulls_of,
)
from tracekit.tables.bundle.cells.encodings import Encoding, EngineeringType
from tracekit.tables.values import FORMS, Form

NUMERIC = frozenset({Encoding.INTEGER, Encoding.DECIMAL})
_SIGNED = 1 << 63


@dataclass(frozen=True)
class Extent:
    """What a whole column shows: that it holds `nothing`, or numbers of 64 bits without sign.

    `gaps` tells that some cell is null.
    `width` is that of its field in bytes, which may be less than that of its numbers here.
    """

    nothing: bool = False
    unsigned: bool = False
    width: int | None = None
    gaps: bool = False


def is_widened(kind: EngineeringType) -> bool:
    """Tell whether a column is best read into 64 bits at once."""
    return kind.encoding is Encoding.INTEGER and FORMS.get(kind.tag) is not Form.FLAG


def extent_of(kind: EngineeringType, raw: Raw, width: int | None = None) -> Extent:
    """Look at a whole column of a field of that width: its pieces must have one type."""
    if not raw.size:
        return Extent(nothing=True)
    nulls = None if kind.all_ones else nulls_of(raw, width)
    known = raw if nulls is None else raw[~nulls]
    if not known.size:
        return Extent(nothing=True, width=width, gaps=True)
    return Extent(unsigned=int(known.max()) >= _SIGNED, width=width, gaps=nulls is not None)


def numbers(kind: EngineeringType, raw: Raw, extent: Extent) -> pa.Array:
    """Return the cells of a column, or of a piece of it; `raw` is void afterwards."""
    form = FORMS.get(kind.tag)
    if form is None and extent.nothing:
        return pa.nulls(raw.size, TEXTS)  # as of an export, where nothing shows the type
    nulls = None if kind.all_ones else nulls_of(raw, extent.width)
    match kind.encoding:
        case Encoding.DECIMAL:
            found = decimals(raw)
            if nulls is not None:
                found[nulls] = np.nan
            return as_array(found, nulls)
        case _:
            return _integers(form, raw, nulls, extent)


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


def _integers(form: Form | None, raw: Raw, nulls: Flags | None, extent: Extent) -> pa.Array:
    if form is Form.FLAG:
        return pa.array(raw != 0, mask=nulls)
    if nulls is not None:
        raw[nulls] = 0
    wide = raw.astype(np.uint64, copy=False)
    unsigned = extent.unsigned or form is Form.UNSIGNED
    found = as_array(wide if unsigned else wide.view(np.int64), nulls)
    match form:
        case Form.NUMBER:
            return found.cast(pa.float64(), safe=False)
        case Form.TEXT:
            return found.cast(pa.string()).dictionary_encode()
        case _:
            return found
