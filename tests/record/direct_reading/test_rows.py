"""Whose GPU work a bundle holds is found in the bundle itself, unless something was exported."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bundle_writer import RunInfo, write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.recording import Recording
from tracekit.record.direct_reading import rows_of_target
from tracekit.record.xctrace.exporting import NO_ROWS
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import write_toc

WORK = intervals((5, 7, PYTHON), (6, 8, SERVER))


def recorded(folder: Path, *tables: Any) -> Recording:
    recording = Recording(folder)
    recording.exports.mkdir(parents=True)
    if tables:
        info = RunInfo(instruments_version="26.0 (17C529)")
        write_bundle(recording.bundle, list(tables), info=info)
        write_toc(Bundle(recording.bundle), recording.toc_file)
    return recording


@pytest.mark.parametrize(
    ("tables", "pids", "found", "said"),
    [
        ([], [4711], None, ""),
        ([ticks([1])], [4711], None, ""),
        ([WORK], [4711], True, ""),
        ([WORK], [99, 4711], True, ""),
        ([WORK], [99], False, "has rows of other processes only: no GPU work of the target (proc"),
        ([WORK], [], None, ""),
        ([intervals()], [4711], False, NO_ROWS),
    ],
)
def test_the_target_has_rows_or_only_others_have_or_nobody_or_it_is_not_known(
    tables: list[Any], pids: list[int], found: bool | None, said: str, tmp_path: Path
) -> None:
    rows, warnings = rows_of_target(recorded(tmp_path / "run", *tables), pids)
    assert rows is found
    assert said in "".join(warnings)
    assert len(warnings) == bool(said)


def test_an_export_counts_before_the_bundle(
    tmp_path: Path, intervals_xml: Callable[..., str]
) -> None:
    recording = recorded(tmp_path / "run", WORK)
    export = recording.exports / "metal-gpu-intervals.xml"
    export.write_text(intervals_xml([(1, 1, 99, "other")]))
    assert rows_of_target(recording, [99]) == (True, ())
    assert rows_of_target(recording, [4711])[0] is False
