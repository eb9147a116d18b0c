"""A part of a label is worded alike, whether the label is read or written as XML."""

from pathlib import Path

import pandas as pd
import pytest

from bundle_writer import TIME, Col, Label, Part, Table, write_bundle
from direct_reading import read_directly, read_exported
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle_xml.write import write_exports

WORDS = [
    ("XRDisplayedSurfaceSwapID", 4685385, "0x477e49"),
    ("XRGPUDriverIOSurfaceID", 255, "0xff"),
    ("XRTimeSample", 0, "Timer Fired"),
    ("XRCPUCore", 6, "CPU 6"),
    ("XRGenericUInt32", 1195048, "1195048"),
    ("XRGenericUInt32", None, "n/a"),
    ("XRPrototypeValue", 2370013267, "2,370,013,267"),
    ("XRPrototypeFixedDecimalValue", None, "n/a"),
    ("XRProcess", None, "n/a"),
    ("XRThreadName", None, ""),
    ("XRMetalCommandBufferID", (1 << 64) - 1, "0xffffffffffffffff"),
]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    columns = [
        Col("time", "Time", "XRStartTimeTypeID", TIME),
        Col("label", "Label", "XRFormattedLabelTypeID"),
    ]
    labels = [Label((Part(f"{type_id}TypeID", value),)) for type_id, value, _ in WORDS]
    return write_bundle(tmp_path / "x.trace", [Table("made", columns, list(enumerate(labels)))])


def test_parts_of_each_type(bundle: Path) -> None:
    assert read_directly(bundle)["made"]["label"].tolist() == [words for _, _, words in WORDS]


def test_the_same_is_read_from_its_export(bundle: Path) -> None:
    done = write_exports(Bundle(bundle), bundle.with_name("out"), lambda there: there, print)
    pd.testing.assert_frame_equal(read_exported(done.files[1]), read_directly(bundle)["made"])
