"""From the command line to the page, through a recorder that behaves like Apple's."""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from command_line import run, small
from tracekit.run import open as open_run

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
SMALL = small(200)


def capture(folder: Path, *more: str) -> int:
    return run("capture", "--workload", "paged", "--output", folder, *SMALL, *more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def test_a_workload_is_recorded_exported_judged_and_drawn(
    scenario: Scenario, folder: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    scenario()
    monkeypatch.setenv("PYTHONWARNINGS", "ignore::DeprecationWarning")
    assert capture(folder) == 0
    opened = open_run(folder)
    provenance = opened.provenance
    assert provenance.recorder == "xctrace"
    assert provenance.end_reason == "Target app exited"
    assert provenance.targets
    intervals = opened.tables["gpu_intervals"]
    assert set(intervals["clock"]) == {"gpu"}
    assert not intervals.loc[intervals["process"] == "WindowServer", "target"].any()
    assert (opened.tables["steps"]["phase"] == "steady").sum() == 200
    busy = opened.result.metric("gpu_busy")
    assert busy is not None
    assert busy.value is not None
    said = capsys.readouterr().out
    assert f"trace        {folder / 'recording.trace'} (private" in said
    assert ("open -a Instruments" in said) == (sys.platform == "darwin")
    shown = (folder / "result.json").read_text() + (folder / "report.html").read_text()
    assert "<canvas" in shown
    # values of the environment stay out of result and page
    line = json.loads((folder / "recording.json").read_text())["command_lines"][0]
    given = [value for before, value in pairwise(line) if before == "--env"]
    values = [value.partition("=")[2] for value in given]
    assert "ignore::DeprecationWarning" in values
    assert not [value for value in values if len(value) >= 8 and value in shown]
    # more tables are exported beside what is there
    before = {path.name for path in (folder / "exports").iterdir()}
    assert run("export", folder, "--tables", "gpu_counter_infos,vsyncs") == 0
    after = {path.name for path in (folder / "exports").iterdir()}
    assert after - before == {"gpu-counter-info.xml", "gpu-counter-info-2.xml"}
    assert "gpu_counter_infos" in open_run(folder).tables
    missing = "The recording has no table display-vsyncs-interval."
    assert missing in open_run(folder).provenance.warnings
    assert run("analyze", folder) == 0
    assert open_run(folder).result.metrics == opened.result.metrics
    assert run("export", folder, "--tables", "needed,no_such") == 2
    assert "There is no table 'no_such' to export" in capsys.readouterr().err


def test_a_bundle_that_cannot_be_exported_is_kept_and_said(
    scenario: Scenario, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario(trap=["metal-gpu-intervals"])
    assert capture(folder) == 4
    printed = capsys.readouterr().err
    assert "SIGTRAP" in printed
    assert "cannot be said: the recording has no table gpu_intervals" in printed
    scenario()
    assert run("export", folder) == 0
    assert "gpu_intervals" in open_run(folder).tables


REJECTED = "GPU Service reported error: Selected counter profile is not supported on target device"


def test_lost_counters_end_in_one_sentence_of_run_and_page(
    scenario: Scenario, folder: Path
) -> None:
    lacking = "GPU counters are not available on this chip and Xcode"
    scenario(issues=[["Warning", REJECTED]] * 2, counter_set="(null)")
    assert capture(folder, "--counters", "on") == 0
    result = open_run(folder).result
    [said] = [one for one in result.provenance.warnings if lacking in one]
    assert "xctrace says: " in said
    assert (folder / "report.html").read_text().count(lacking) == 1
    [check] = [one for one in result.checks if one.rule == "low-occupancy"]
    assert check.status == "abstained"
    for way in ("Recording Options > GPU > Counter Set", "--template", "tracekit templates make"):
        assert way in check.reason


@pytest.mark.corpus
def test_a_report_of_real_tables_says_what_an_import_of_them_says(
    corpus: Path, scenario: Scenario, folder: Path, tmp_path: Path
) -> None:
    real = next(corpus.glob("*steinmarder/src/re/apple/results/tranche1_20260330_204856"))
    start = "xctrace_gpu_baseline_"
    tables = {
        file.stem.removeprefix(start): str(file) for file in sorted(real.glob(f"{start}*.xml"))
    }
    toc = real / "gpu_baseline_toc.xml"
    scenario(exports={"toc": str(toc), "tables": tables})
    assert capture(folder) == 0
    assert run("import", toc, *tables.values(), "--output", tmp_path / "imported") == 0
    assert run("analyze", tmp_path / "imported") == 0
    recorded, imported = open_run(folder).result, open_run(tmp_path / "imported").result
    for name in ("gpu_busy", "gpu_span", "gpu_interval_count", "encoder_count"):
        ours, theirs = recorded.metric(name), imported.metric(name)
        assert ours is not None
        assert theirs is not None
        assert ours.value == theirs.value
        assert ours.value
    assert "WindowServer" in (folder / "report.html").read_text()
