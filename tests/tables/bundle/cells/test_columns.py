"""Which encoding a column is read by: that of its type, if its field has the width for it."""

from pathlib import Path

import numpy as np
import pytest

from bundle_writer import Encoder, write_bundle
from small_bundle import ticks
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.cells.encodings import Encoding, Evidence
from tracekit.tables.bundle.container.record_layout import Field, Width
from tracekit.tables.bundle.container.store import StoreColumn
from tracekit.tables.bundle.reader import Columns


@pytest.fixture
def columns(tmp_path: Path) -> Columns:
    encoder = Encoder()
    assert encoder.strings.id("one") == 1
    bundle = write_bundle(tmp_path / "x.trace", [ticks([1])], encoder=encoder)
    return Columns(Bundle(bundle).runs[0])


def column(type_id: str, width: Width) -> StoreColumn:
    return StoreColumn("c", "C", type_id, Field(16, width))


@pytest.mark.parametrize(
    ("type_id", "width", "encoding"),
    [
        ("XRGPUState", 4, Encoding.STRING),
        ("XRGPUState", 8, Encoding.UNKNOWN),
        ("XRProcess", 8, Encoding.UNKNOWN),
        ("XRFormattedLabel", 8, Encoding.UNKNOWN),
        ("XRThreadName", 8, Encoding.THREAD_NAME),
        ("XRThreadName", 4, Encoding.UNKNOWN),
        ("XRPercentage", 4, Encoding.UNKNOWN),
        ("XRPercentage", 8, Encoding.DECIMAL),
        ("XRStartTime", 4, Encoding.INTEGER),
        ("XRStartTime", 8, Encoding.INTEGER),
        ("XRBacktrace", 8, Encoding.UNKNOWN),
    ],
)
def test_a_field_of_another_width_is_not_read(
    columns: Columns, type_id: str, width: Width, encoding: Encoding
) -> None:
    found = columns.type_of(column(type_id, width))
    assert found.encoding is encoding
    assert (found.evidence is Evidence.NONE) == (encoding is Encoding.UNKNOWN)


def test_a_column_that_is_not_read_has_empty_cells(columns: Columns) -> None:
    raw = np.array([1, 2], np.uint64)
    found = columns.cells(column("XRThread", 8), raw)
    assert found.column.engineering_type == "thread"
    for cells in (found.cells, found.pids, found.tids):
        assert cells is not None
        assert cells.to_pylist() == [None, None]
    assert found.stacks is None


def test_texts_are_those_of_the_run(columns: Columns) -> None:
    raw = np.array([1, 0, 0xFFFFFFFF, 1], np.uint32)
    found = columns.cells(column("XRGPUState", 4), raw)
    assert found.cells.to_pylist() == ["one", "", None, "one"]
    assert (found.column.mnemonic, found.column.name) == ("c", "C")
