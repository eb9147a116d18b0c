"""Which encoding a column is read by: that of its type, if its field has the width for it."""

from pathlib import Path

import pytest

from bundle_writer import write_bundle
from small_bundle import ticks
from tracekit.tables.bundle.bundle import Bundle, BundleRun
from tracekit.tables.bundle.cells.encodings import Encoding, Evidence
from tracekit.tables.bundle.container.requirements import Field
from tracekit.tables.bundle.container.store import StoreColumn
from tracekit.tables.bundle.reader import type_of


@pytest.fixture
def run(tmp_path: Path) -> BundleRun:
    return Bundle(write_bundle(tmp_path / "x.trace", [ticks([1])])).runs[0]


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
    run: BundleRun, type_id: str, width: int, encoding: Encoding
) -> None:
    found = type_of(StoreColumn("c", "C", type_id, Field(16, width)), run)
    assert found.encoding is encoding
    assert (found.evidence is Evidence.NONE) == (encoding is Encoding.UNKNOWN)
