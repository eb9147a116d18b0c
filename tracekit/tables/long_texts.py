"""Texts so long that a table must not hold one of its own for every cell.

An export and a bundle store a text once, and any number of cells repeat it: a file of a few
megabytes may stand for terabytes of text. So where cells of long texts add up, they stay numbers
of texts; what is written out is written a portion at a time; beyond `MOST` a table is refused.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tracekit.base.errors import InputError

LONG = 1 << 12
"""Bytes from which on a text is long; names, labels and messages of recordings are shorter."""
AT_ONCE = 1 << 25
"""Bytes of long texts that are written out at once."""
MOST = 1 << 32
"""Bytes of long texts that the cells of a table may stand for."""


def long_bytes(cells: pa.ChunkedArray) -> int:
    """Count the bytes of all cells with long texts, as often as they are repeated."""
    return sum(int(_sizes(one).sum()) for one in cells.chunks if _may_be_long(one))


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
        for one in column.chunks if _has_texts(column.type) else ():
            if _may_be_long(one):
                sizes[first : first + len(one)] += _sizes(one)
            first += len(one)
    ends = np.cumsum(sizes)
    first = 0
    while first < table.num_rows:
        before = int(ends[first - 1]) if first else 0
        end = max(int(np.searchsorted(ends, before + AT_ONCE, side="right")), first + 1)
        yield table.slice(first, end - first)
        first = end


def shared(cells: pa.ChunkedArray) -> pd.Series:
    """Return texts that are numbered as a column of pandas whose cells share them."""
    parts = [_objects(one) for one in cells.chunks]
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
