"""Any export as one flat table: a row for a row, a column for each mnemonic, in order.

Beside a process stands `NAME.pid`, beside a thread `NAME.tid` and `NAME.pid`. Where an export
has one mnemonic twice, the second is called `NAME.2`. `tracekit.tables.values` says which
dtypes there are.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from tracekit.errors import InputError
from tracekit.tables.drift import DamagedExportWarning, DriftWarning
from tracekit.tables.values import FORMS, Form, column, inferred
from tracekit.tables.xml import ColumnCells, Node, read_nodes
from tracekit.toc import Toc

_RUN = re.compile(r"/run\[(\d+)\]")


@dataclass(frozen=True, eq=False)
class Flat:
    """A flat table, and what its reader has to say: `damage` and `drift`, in words."""

    frame: pd.DataFrame
    damage: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()


def read_table(path: Path | str, schema: str | None = None) -> pd.DataFrame:
    """Read one table of an export.

    Args:
        path: What `xctrace export --xpath` wrote, or the host recorder.
        schema: Which table; needed only where the file has several.

    Returns:
        One row for each row. Of a damaged export the rows before the damage.

    Raises:
        InputError: The file is no export, or has several tables, or not this one.

    Warns:
        DamagedExportWarning: The export is cut or damaged; rows are missing.
        DriftWarning: A column holds what its declared type does not allow, and is text.
    """
    flat = read_flat(Path(path), schema)
    for message in flat.damage:
        warnings.warn(message, DamagedExportWarning, stacklevel=2)
    for message in flat.drift:
        warnings.warn(message, DriftWarning, stacklevel=2)
    return flat.frame


def read_flat(path: Path, schema: str | None = None, toc: Toc | None = None) -> Flat:
    """Read one table like `read_table`, and return the warnings instead of issuing them."""
    nodes = read_nodes(path, toc)
    damage = tuple(
        f"{path.name}: {node.schema} is damaged after row {node.rows}: {node.damage}."
        for node in nodes
        if node.damage
    )
    frame, drift = flatten(_chosen(path, nodes, schema))
    return Flat(frame, damage, tuple(f"{path.name}: {message}" for message in drift))


def flatten(nodes: Sequence[Node]) -> tuple[pd.DataFrame, list[str]]:
    """Turn nodes of one schema into one frame; also return where they break their types."""
    series: dict[str, pd.Series] = {}
    drift: list[str] = []
    for parts in zip(*(node.columns for node in nodes), strict=True):
        for name, values in _series_of(_joined(parts), drift):
            series[_unused(name, series)] = values
    frame = pd.DataFrame(series, index=pd.RangeIndex(sum(node.rows for node in nodes)))
    return frame, [f"{nodes[0].schema}: {message}" for message in drift]


def _chosen(path: Path, nodes: list[Node], schema: str | None) -> list[Node]:
    names = list(dict.fromkeys(node.schema for node in nodes))
    if not names:
        raise InputError(
            f"{path} holds no table: what was asked for is not in the trace.",
            hint="The table of contents (`xctrace export --toc`) lists what there is.",
        )
    if schema is None and len(names) > 1:
        raise InputError(
            f"{path} holds {len(names)} tables: {', '.join(names)}.", hint="Name the one to read."
        )
    chosen = [node for node in nodes if node.schema == (schema or names[0])]
    if not chosen:
        raise InputError(f"{path} has no table {schema!r}; it holds {', '.join(names)}.")
    if len({_run(node) for node in chosen}) > 1:
        raise InputError(
            f"{path} holds {chosen[0].schema} of several runs.", hint="Export one run at a time."
        )
    if any(_header(node) != _header(chosen[0]) for node in chosen):
        raise InputError(f"{path} holds tables of the name {chosen[0].schema} that differ.")
    return chosen


def _run(node: Node) -> str:
    found = _RUN.search(node.xpath)
    return found[1] if found else ""


def _header(node: Node) -> list[tuple[str, str]]:
    return [(part.column.mnemonic, part.column.engineering_type) for part in node.columns]


def _joined(parts: Sequence[ColumnCells]) -> ColumnCells:
    if len(parts) == 1:
        return parts[0]
    return ColumnCells(
        column=parts[0].column,
        cells=_chained([part.cells for part in parts]),
        foreign=frozenset().union(*(part.foreign for part in parts)),
        pids=_chained([part.pids for part in parts]),
        tids=_chained([part.tids for part in parts]),
    )


def _chained(arrays: Sequence[pa.ChunkedArray | None]) -> pa.ChunkedArray | None:
    chunks = [chunk for array in arrays if array is not None for chunk in array.chunks]
    return None if arrays[0] is None else pa.chunked_array(chunks, type=pa.string())


def _series_of(part: ColumnCells, drift: list[str]) -> Iterator[tuple[str, pd.Series]]:
    name = part.column.mnemonic
    yield name, _typed(part, drift)
    for ids, suffix in ((part.tids, "tid"), (part.pids, "pid")):
        if ids is not None:
            values = column(ids, Form.INTEGER)
            if values is None:
                drift.append(f"{name}.{suffix} holds what is no number, and is text")
                values = column(ids, Form.TEXT)
            assert values is not None
            yield f"{name}.{suffix}", values


def _typed(part: ColumnCells, drift: list[str]) -> pd.Series:
    declared, foreign = part.column.engineering_type, part.foreign
    if declared == "any" and len(foreign) == 1:
        declared, foreign = next(iter(foreign)), frozenset[str]()
    form = FORMS.get(declared)
    if form is None:
        return inferred(part.cells)
    if foreign:
        drift.append(
            f"{part.column.mnemonic} is declared as {declared} and holds "
            f"{', '.join(sorted(foreign))}; it is text"
        )
        form = Form.TEXT
    values = column(part.cells, form)
    if values is None:
        drift.append(
            f"{part.column.mnemonic} is declared as {declared} and holds what is no "
            f"{form}; it is text"
        )
        values = column(part.cells, Form.TEXT)
    assert values is not None
    return values


def _unused(name: str, taken: dict[str, pd.Series]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}.{number}"
    return candidate
