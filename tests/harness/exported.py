"""Tables of a made-up program as exports of xctrace, and what the command line says of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from command_line import run
from labelled.grammar import COLUMNS, table
from labelled.writer import (
    Cell,
    Compound,
    ExportColumn,
    ExportTable,
    process,
    thread,
    write_export,
)
from tracekit.tables import SCHEMAS

_SPAN = "start:start-time duration:duration"
_MORE = {
    "os-signpost-interval": f"{_SPAN} name:signpost-name category:category subsystem:subsystem "
    "identifier:os-signpost-identifier process:process",
    "ca-client-present-request": "timestamp:start-time cmdbuffer-id:metal-command-buffer-id "
    "surface-id:displayed-surface-swap at-time:start-time minimal-duration:start-time "
    "thread:thread process:process",
    "time-profile": "time:sample-time thread:thread process:process core:core "
    "thread-state:thread-state weight:weight",
}
"""Tables that `labelled.grammar` lacks, as mnemonic:type; samples have no stacks."""


def write_exports(folder: Path, tables: Mapping[str, pd.DataFrame]) -> Path:
    """Write an export for each table that a trace would have; return the folder."""
    folder.mkdir(parents=True)
    for place, (name, frame) in enumerate(tables.items(), start=1):
        schema = SCHEMAS[name].sources[0].schema
        if name == "signpost_intervals":
            schema = "os-signpost-interval"
        if frame.empty:
            continue
        column_names = {column.source: column.name for column in SCHEMAS[name].columns}
        layout = _layout(schema, place)
        records = frame.to_dict("records")
        rows = [
            tuple(_cell(column, column_names, row) for column in layout.columns) for row in records
        ]
        write_export(folder / f"{schema}.xml", layout, rows)
    return folder


def _layout(schema: str, place: int) -> ExportTable:
    if schema in COLUMNS:
        return table(schema, "26.0", place)
    pairs = (column.split(":") for column in _MORE[schema].split())
    return ExportTable(schema, tuple(ExportColumn(a, a, b) for a, b in pairs), place)


def _cell(column: ExportColumn, column_names: Mapping[str, str], row: Mapping[Any, Any]) -> Cell:
    owner = process(str(row.get("process", "python3")), int(row.get("pid", 0)), "TODO")
    if column.type == "process":
        return owner
    if column.type == "thread":
        return thread("Main Thread", int(row.get("tid") or 1), owner)
    value = row.get(column_names.get(column.mnemonic, ""), None)
    if value is None or pd.isna(value):
        return _make_absent_cell(column)
    if column.type == "formatted-label":
        return Compound(str(value), (("string", str(value)),))
    return value if isinstance(value, str) else int(value)


def _make_absent_cell(column: ExportColumn) -> Cell:
    """Return what stands where a table of a test says nothing."""
    if column.mnemonic == "end" or column.type in {"backtrace", "boolean"}:
        return None
    return None


def findings_of(folder: Path, tables: Mapping[str, pd.DataFrame], target: str) -> dict[str, Any]:
    """Import exports and analyze them by the command line; return what result.json holds."""
    exports = write_exports(folder / "exports", tables)
    code = run("import", exports, "--target", target, "--output", folder / "run")
    assert code == 0, "the import failed"
    code = run("analyze", folder / "run")
    assert code in {0, 4}, "the analysis failed"
    return json.loads((folder / "run" / "result.json").read_text())
