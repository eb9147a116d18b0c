"""Identifiers of connections: what all ones are, no export has shown."""

from pathlib import Path

import pytest

from bundle_writer import TIME, Col, Table, write_bundle
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.reader import BundleReader

COLUMNS = [
    Col("time", "Time", "XRStartTimeTypeID", TIME),
    Col("connection-UUID", "Connection", "XRVisualConnectionUUID64TypeID"),
]


@pytest.mark.parametrize(
    ("cells", "notes"),
    [
        ([7, None], ("made: cells are left empty that may be -1: connection-UUID",)),
        ([None], ("made: cells are left empty that may be -1: connection-UUID",)),
        ([7, 8], ()),
        ([], ()),
    ],
)
def test_cells_that_may_be_a_number_are_noted(
    cells: list[int | None], notes: tuple[str, ...], tmp_path: Path
) -> None:
    table = Table("made", COLUMNS, list(enumerate(cells)))
    run = Bundle(write_bundle(tmp_path / "x.trace", [table])).runs[0]
    (piece,) = BundleReader(run, run.stores[0], "//table[1]").pieces()
    assert piece.notes == notes
    assert piece.columns[1].cells.to_pylist() == cells
