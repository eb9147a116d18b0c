"""Tables are exported once and compared; then they are read from the bundle."""

import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from command_line import run as command
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.record.direct_reading import Xml, export, recall
from tracekit.record.recorder import quiet
from tracekit.record.xctrace.exporting import only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import Timeouts, locate
from tracekit.run import open as open_run
from tracekit.tables.direct import direct
from tracekit.tables.tables import Tables

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
Exported = Callable[[], list[str]]
Recorded = Callable[..., Recording]
INTERVALS, ENCODERS = "metal-gpu-intervals", "metal-application-encoders-list"
STATES, TIME = "metal-gpu-state-intervals", "time-info"
COUNTERS = "metal-gpu-counter-intervals"
CHOSEN = [ENCODERS, INTERVALS, STATES]


def read(recording: Recording, xml: Xml = "unchecked", *schemas: str) -> tuple[str, ...]:
    recording.folder.mkdir(exist_ok=True)
    tool = locate(timeouts=Timeouts(pauses=(0, 0)))
    if not recording.toc_file.exists():
        recording.exports.mkdir()
        tool.toc(recording.bundle, recording.toc_file)
    recorder = XctraceRecorder(tool, only())
    chosen = frozenset(schemas or CHOSEN)
    return export(recorder, recording, lambda _: chosen, quiet, xml=xml)


def intervals(recording: Recording) -> pd.DataFrame:
    found = Tables(recording.exports, frozenset({4711})).get("gpu_intervals")
    assert found is not None
    return found


def test_what_was_compared_is_not_exported_again(
    scenario: Scenario, recorded: Recorded, exported: Exported
) -> None:
    scenario()
    first = recorded("first")
    assert read(first) == ()
    assert exported() == [*CHOSEN, TIME]
    checked = {table.schema: table for table in recall("17C529", notes_folder()).tables.values()}
    assert sorted(checked) == [*CHOSEN, TIME]
    assert {name: checked[name].rows for name in CHOSEN} == {
        INTERVALS: 220,
        ENCODERS: 200,
        STATES: 0,
    }
    assert not any(table.difference for table in checked.values())

    second = recorded("second")
    assert read(second) == ()
    assert exported() == []
    assert sorted(file.name for file in second.exports.iterdir()) == ["direct.json", "toc.xml"]
    pd.testing.assert_frame_equal(intervals(second), intervals(first))

    read(recorded("third", build="17E999"))
    assert exported() == [*CHOSEN, TIME]
    asked = recorded("asked")  # what is asked for is exported always
    assert read(asked, "asked", INTERVALS, "no-such") == ("The recording has no table no-such.",)
    assert exported() == [INTERVALS, TIME]
    assert (asked.exports / f"{INTERVALS}.xml").exists()


def test_a_capture_of_a_known_build_exports_nothing_and_says_as_much(
    scenario: Scenario, recorded: Recorded, exported: Exported, packages: list[str], tmp_path: Path
) -> None:
    scenario(packages=packages)
    more = ("metal-command-buffer-completed", "metal-driver-intervals", COUNTERS)
    read(recorded(), "unchecked", *CHOSEN, *more)  # so that the build is known
    exported()
    folder = tmp_path / "captured"
    assert command("capture", "--output", folder, "--", sys.executable, "-c", "") == 0
    assert exported() == []
    assert sorted(file.name for file in (folder / "exports").iterdir()) == [
        "direct.json",
        "toc.xml",
    ]
    opened = open_run(folder)
    assert opened.tables["gpu_intervals"]["target"].any()
    assert opened.provenance.target_rows is True
    assert not any("xport" in warning for warning in opened.provenance.warnings)
    assert {"gpu_busy"} <= {
        found.name for found in opened.result.metrics if found.value is not None
    }
    assert "<canvas" in (folder / "report.html").read_text()


def test_an_export_that_differs_is_used_and_the_difference_is_reported(
    scenario: Scenario, recorded: Recorded, exported: Exported
) -> None:
    scenario(lies={INTERVALS: [">3000000<", ">3000001<"]})
    (said,) = read(recorded("a"))
    assert said == (
        f"{INTERVALS} is read otherwise than xctrace exports it (row 1, duration: 3000000 "
        "directly, 3000001 exported): only its export is used, which `tracekit export` writes. "
        "`tracekit doctor` shows it again, to be reported with the build of Xcode."
    )
    exported()

    again = recorded("b")
    assert read(again) == (said,)
    assert exported() == [INTERVALS, TIME]
    assert intervals(again)["duration"].iloc[0] == 3_000_001
    note = direct(again.exports)
    assert note is not None
    assert note.schemas is not None
    assert INTERVALS not in note.schemas

    none = recorded("c")
    (left_out,) = read(none, "none")
    assert left_out == said
    assert Tables(none.exports, frozenset()).get("gpu_intervals") is None


def test_a_bundle_of_unknown_layout_is_exported_and_that_is_said(
    scenario: Scenario, recorded: Recorded, exported: Exported
) -> None:
    scenario()
    recording = recorded()
    requirements = recording.bundle / "open.creq"
    text = requirements.read_text().replace("<integer>5<", "<integer>6<", 1)
    requirements.write_text(text)
    for _ in range(2):
        (said,) = read(recording)
        assert said.startswith("recording.trace is not read directly: its com.apple.dt.trace is 6")
        assert said.endswith("Its tables were exported instead.")
        assert exported() == [*CHOSEN, TIME]
    assert direct(recording.exports) is None


def test_nothing_is_exported_if_that_is_asked_for_or_fails_and_what_is_not_known_is_said(
    scenario: Scenario, recorded: Recorded, exported: Exported
) -> None:
    scenario(trap=[INTERVALS])
    recording = recorded()
    new = "Read directly, and never compared with an export of build 17C529:"
    assert read(recording, "none") == (f"{new} {ENCODERS}, {INTERVALS}.",)
    assert exported() == []
    assert len(intervals(recording)) == 220
    failed, unchecked = read(recording)
    assert "SIGTRAP" in failed
    assert unchecked == f"{new} {INTERVALS}."
    assert len(intervals(recording)) == 220


def test_a_cache_that_cannot_be_written_only_means_comparing_again(
    scenario: Scenario, recorded: Recorded, exported: Exported, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    scenario()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRACEKIT_CACHE", str(tmp_path / "file"))
    assert read(recorded("a"), "unchecked", INTERVALS) == ()
    assert read(recorded("b"), "unchecked", INTERVALS) == ()
    assert exported().count(INTERVALS) == 2
