"""The members of arrays, asked for one by one."""

from pathlib import Path

import pytest

from bundle_writer import TIME, Col, Table, write_bundle
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle_xml.meanings import Members


def test_arrays_are_found_by_their_numbers_wherever_they_lie(tmp_path: Path) -> None:
    columns = [
        Col("time", "Time", "XRSampleTimestampTypeID", TIME),
        Col("n", "N", "XRPrototypeUInt64ArrayTypeID"),
    ]
    arrays = [(*range(number % 5), number) for number in range(3000)]
    table = Table("t", columns, list(enumerate(arrays)))
    run = Bundle(write_bundle(tmp_path / "x.trace", [table])).runs[0]
    members = Members(run.arrays)
    first = next(number for number in range(10) if members.of(number) == arrays[0])
    assert [members.of(first + number) for number in (2999, 0, 1500)] == [
        arrays[2999],
        arrays[0],
        arrays[1500],
    ]
    for beyond in (len(run.arrays), (1 << 64) - 1):
        with pytest.raises(DamagedCellError):
            members.of(beyond)
    assert members.of_length(first + 1, 2) == (0, 1)
    assert members.of_length(first + 2, 2, longer=True) == (0, 1, 2)
    for number, longer in ((2, False), (0, True)):
        with pytest.raises(DamagedCellError, match="another length"):
            members.of_length(first + number, 2, longer=longer)
