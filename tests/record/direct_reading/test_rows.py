"""Whose GPU work a bundle holds is found in the bundle itself."""

from pathlib import Path

import pytest

from bundle_writer import RunInfo, write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.record.direct_reading.compare import Checked, Memory, keep
from tracekit.record.direct_reading.export import named_directly, rows_of_target
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


def test_processes_are_named_once_the_table_is_known_to_be_read_rightly(
    recording: Recording,
) -> None:
    assert named_directly(recording.bundle, RUN) is None
    assert named_directly(recording.bundle, RUN, unchecked=True) == {420, 4711}
    (store,) = Bundle(recording.bundle).runs[0].stores
    keep(Memory("17C529").learned(store, Checked(store.schema, 2, "now")), notes_folder())
    assert named_directly(recording.bundle, RUN) == {420, 4711}
    keep(Memory("17C529").learned(store, Checked(store.schema, 2, "now", "bad")), notes_folder())
    assert named_directly(recording.bundle, RUN, unchecked=True) is None


def test_without_the_table_or_the_bundle_nothing_is_known(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "x.trace", [ticks([1])])
    assert named_directly(bundle, RUN, unchecked=True) is None
    assert named_directly(tmp_path / "none.trace", RUN, unchecked=True) is None


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
