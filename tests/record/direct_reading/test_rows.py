"""Whose GPU work a bundle holds is found in the bundle itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bundle_writer import RunInfo, write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.recording import Recording
from tracekit.record.direct_reading import rows_of_target
from tracekit.record.xctrace.exporting import NO_ROWS
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import write_toc
from tracekit.tables.toc import TocRun, read_toc

BUILD = "26.0 (17C529)"
RUN = TocRun(1, instruments_version=BUILD)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    made = Recording(tmp_path / "run")
    table = intervals((5, 7, PYTHON), (6, 8, SERVER))
    write_bundle(made.bundle, [table], info=RunInfo(instruments_version=BUILD))
    made.exports.mkdir()
    write_toc(Bundle(made.bundle), made.toc_file)
    return made


def test_without_the_table_or_the_bundle_nothing_is_known(
    recording: Recording, tmp_path: Path
) -> None:
    other = Recording(tmp_path / "other")
    other.exports.mkdir(parents=True)
    assert rows_of_target(other, [4711]) == (None, ())
    write_bundle(other.bundle, [ticks([1])])
    write_toc(Bundle(other.bundle), other.toc_file)
    assert rows_of_target(other, [4711]) == (None, ())


def test_an_export_counts_before_the_bundle(
    recording: Recording, intervals_xml: Callable[..., str]
) -> None:
    export = recording.exports / "metal-gpu-intervals.xml"
    export.write_text(intervals_xml([(1, 1, 99, "other")]))
    assert rows_of_target(recording, [99]) == (True, ())
    assert rows_of_target(recording, [4711])[0] is False


def test_the_target_has_rows_or_only_others_have_or_nobody(
    recording: Recording, tmp_path: Path
) -> None:
    assert read_toc(recording.toc_file).runs[0].instruments_version == BUILD
    assert rows_of_target(recording, [4711]) == (True, ())
    found, (reported,) = rows_of_target(recording, [99])
    assert found is False
    assert "has rows of other processes only" in reported
    assert rows_of_target(recording, []) == (None, ())
    empty = Recording(tmp_path / "empty")
    write_bundle(empty.bundle, [intervals()], info=RunInfo(instruments_version=BUILD))
    empty.exports.mkdir()
    write_toc(Bundle(empty.bundle), empty.toc_file)
    assert rows_of_target(empty, [4711]) == (False, (NO_ROWS,))
