"""Whether what was decoded is the truth, and where it first is not."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from reading.decoded import STACK_TYPES, Decoded, header

_ALIASES = {"addr": "address"}


def load(table: Path, stacks: Path, frames: Path) -> Decoded:
    """Load a truth; one without stacks has no files of them."""
    if not stacks.exists():
        return Decoded(pq.read_table(table))
    symbols = pq.read_table(frames)
    names = [_ALIASES.get(name, name) for name in symbols.column_names]
    stack_lists = pq.read_table(stacks)["frames"].cast(pa.list_(pa.int64()))
    return Decoded(pq.read_table(table), stack_lists, symbols.rename_columns(names))


def written(parquet: Path) -> Decoded:
    """Return the table of a Parquet file; it has no frames beside it."""
    return Decoded(pq.read_table(parquet))


def without_stacks(truth: Decoded, export: Path) -> Decoded:
    """Return what of a truth fits into one flat file."""
    stacks = [one.name for one in header(export) if one.engineering_type in STACK_TYPES]
    return Decoded(truth.table.drop_columns(stacks))


def difference(found: Decoded, truth: Decoded) -> str:
    """Return the first difference in words, "" where there is none.

    Columns are compared as the truth has them; of stacks and frames, those that it has.
    """
    missing = [name for name in truth.table.column_names if name not in found.table.column_names]
    if missing:
        return f"no column {missing[0]!r} among {len(found.table.column_names)}"
    if len(truth.stacks):
        if len(found.stacks) != len(truth.stacks):
            return f"{len(found.stacks)} stacks, not {len(truth.stacks)}"
        differs = _first_difference("stack", found.stacks, truth.stacks)
        if differs:
            return differs
        differs = _table_difference("frame ", found.frames, truth.frames)
        if differs:
            return differs
    return _table_difference("", found.table, truth.table)


def _table_difference(prefix: str, found: pa.Table, truth: pa.Table) -> str:
    if found.num_rows != truth.num_rows:
        return f"{prefix}{found.num_rows} rows, not {truth.num_rows}"
    for name in truth.column_names:
        differs = _first_difference(f"{prefix}{name}", found[name], truth[name])
        if differs:
            return differs
    return ""


def _first_difference(name: str, found: pa.ChunkedArray, truth: pa.ChunkedArray) -> str:
    try:
        same_type = found.cast(truth.type)
    except pa.ArrowInvalid as error:
        return f"{name} is {found.type}, not {truth.type}: {error}"
    ours, theirs = _whole(same_type), _whole(truth)
    if ours.equals(theirs):
        return ""
    for row, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if not one.equals(other):
            return f"{name}, row {row + 1}: {one.as_py()!r}, not {other.as_py()!r}"
    return f"{name} differs"


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
