"""From the command line to the page, through a recorder that behaves like Apple's."""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from command_line import run, small
from tracekit import open as open_run


def test_a_workload_is_recorded_exported_judged_and_drawn(
    scenario: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    folder = tmp_path / "run"
    scenario(chip="M3", busy=True)
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::DeprecationWarning")
    capture = ("capture", "--workload", "paged", "--output", folder, *small(200))
    assert run(*capture, "--counters", "on") == 0
    opened = open_run(folder)
    provenance, result = opened.provenance, opened.result
    assert (provenance.recorder, provenance.end_reason) == ("xctrace", "Target app exited")
    assert provenance.targets
    intervals = opened.tables["gpu_intervals"]
    assert set(intervals["clock"]) == {"gpu"}
    assert not intervals.loc[intervals["process"] == "WindowServer", "target"].any()
    assert (opened.tables["steps"]["phase"] == "steady").sum() == 200
    assert {"gpu_busy"} <= {metric.name for metric in result.metrics if metric.value is not None}
    printed_text = capsys.readouterr().out
    assert f"trace        {folder / 'recording.trace'} (private" in printed_text
    assert ("open -a Instruments" in printed_text) == (sys.platform == "darwin")
    page = (folder / "report.html").read_text()
    assert "<canvas" in page
    # values of the environment stay out of result and page
    line = json.loads((folder / "recording.json").read_text())["command_lines"][0]
    assignments = [value for before, value in pairwise(line) if before == "--env"]
    values = [value.partition("=")[2] for value in assignments]
    public_text = (folder / "result.json").read_text() + page
    assert "ignore::DeprecationWarning" in values
    assert not [value for value in values if len(value) >= 8 and value in public_text]
    # lost counters end in one sentence of run and page
    sentence = "GPU counters are not available on this chip and Xcode"
    [warning] = [text for text in result.provenance.warnings if sentence in text]
    assert "xctrace says: " in warning
    assert page.count(sentence) == 1
    [check] = [check for check in result.checks if check.rule == "low-occupancy"]
    assert check.status == "abstained"
    for way in (
        "Recording Options > GPU > Counter Set",
        "--template",
        "tracekit list templates make",
    ):
        assert way in check.reason
    # more tables are exported beside what is there
    before = {path.name for path in (folder / "exports").iterdir()}
    assert run("export", folder, "--tables", "gpu_counter_infos,vsyncs") == 0
    files_after = {path.name for path in (folder / "exports").iterdir()}
    assert files_after - before == {"gpu-counter-info.xml"}
    missing = "The recording has no table display-vsyncs-interval."
    assert missing in open_run(folder).provenance.warnings
    assert run("export", folder, "--tables", "needed,no_such") == 2
    assert "There is no table 'no_such' to export" in capsys.readouterr().err
