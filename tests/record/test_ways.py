"""A workload is recorded the way that has its rows; a trace that lacks them says so.

The workload plays a GPU, and the fake has as many of its jobs as a scenario lets it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_jobs import write_jobs
from tracekit import open as open_run
from tracekit.base import Recording
from tracekit.record.ways import bring_back, move_aside
from tracekit.run import Run

Scenario = Callable[..., None]
Capture = Callable[..., Any]
RATES = ("tokens_per_second", "step_rate", "kernel_ceiling", "gpu_time_per_token", "idle_ratio")
FEW = {"share": 0.1}


@pytest.fixture
def capture(
    scenario: Scenario, tracekit: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Capture:
    """Capture the workload that plays a GPU, into a folder of the given name.

    Use the command `record` where neither a result nor a page is looked at.
    """
    monkeypatch.setenv("TRACEKIT_PATIENCE", "0.03")
    options = (*write_jobs(tmp_path / "workloads"), "--telemetry", "off", "--warmup", "2")

    def run(name: str, *more: str, command: str = "capture") -> Any:
        output = ("--output", tmp_path / name)
        return tracekit(command, *options, "--repeats", "200", *output, *more)

    return run


def values(run: Run) -> dict[str, float | None]:
    return {metric.name: metric.value for metric in run.result.metrics}


@pytest.mark.parametrize("rows", [{"share": 0.6}, FEW, {"most": 0}])
def test_a_trace_that_lacks_rows_says_so_first_and_gives_no_rate(
    rows: dict[str, float], capture: Capture, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(rows=rows)
    done = capture("run", "--method", "launch")
    assert done.code in {0, 4}, done.err
    run = open_run(tmp_path / "run")
    assert run.result.findings[0].rule == "rows-missing"
    assert [values(run).get(name) for name in RATES] == [None] * len(RATES)
    assert "see rows-missing" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.campaign
def test_87_of_49000_rows_are_few_and_the_way_that_works_is_found_once(
    capture: Capture, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEKIT_PATIENCE", "0.5")  # the fake takes its time for so many rows
    many = ("--repeats", "49000", "--length", "0", "--warmup", "0", "--time-limit", "5m")
    scenario(rows={"launch": "few", "attach": {"share": 1}})
    poor = capture("poor", *many, "--method", "launch")
    assert poor.code in {0, 4}, poor.err
    run = open_run(tmp_path / "poor")
    assert run.result.findings[0].rule == "rows-missing"
    assert [values(run).get(name) for name in RATES] == [None] * len(RATES)
    assert capture("run", *many, command="record").code == 0
    run = open_run(tmp_path / "run")
    assert run.provenance.used is not None
    assert run.provenance.used.method == "attach"
    assert "launching it gave 87 of 49,000 GPU jobs" in run.provenance.warnings[0]
    assert capture("again", command="record").code == 0
    assert not list((tmp_path / "again").glob("*-by-*"))
    starts = (tmp_path / "scenario.said").read_text().count("Starting recording")
    assert starts == 4  # one alone, two for the choice, one by the way that is kept


def test_a_target_that_attaching_stops_is_launched_instead(
    capture: Capture, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(asleep=True)
    capture("first", command="record")
    scenario(attach="stops")
    done = capture("second", "--time-limit", "500ms", command="record")
    assert done.code == 0, done.out + done.err
    provenance = open_run(tmp_path / "second").provenance
    assert provenance.used is not None
    assert provenance.used.method == "launch"
    [note] = [text for text in provenance.warnings if text.startswith("Recorded twice: ")]
    assert "attaching to it left it idle, launching it gave" in note


def test_a_whole_trace_has_its_rates(capture: Capture, tmp_path: Path) -> None:
    assert capture("run", "--method", "launch").code == 0
    run = open_run(tmp_path / "run")
    [check] = [check for check in run.result.checks if check.rule == "rows-missing"]
    assert check.status == "passed"
    assert None not in [values(run)[name] for name in ("tokens_per_second", "gpu_time_per_token")]


@pytest.mark.parametrize(
    ("poor", "first", "words"),
    [
        ({"rows": {"launch": FEW, "attach": {"share": 1}}}, "launch", "of 200 GPU jobs"),
        ({"asleep": True}, "launch", "left it idle"),
    ],
)
def test_the_other_way_is_tried_once_and_kept(
    poor: dict[str, Any], first: str, words: str, capture: Capture, scenario: Scenario,
    tmp_path: Path,
) -> None:  # fmt: skip
    scenario(**poor)
    done = capture("first", command="record")
    assert done.code == 0, done.out + done.err
    provenance = open_run(tmp_path / "first").provenance
    assert (provenance.method, provenance.used and provenance.used.method) == ("auto", "attach")
    [note] = [text for text in provenance.warnings if text.startswith("Recorded twice: ")]
    assert words in note
    assert note.endswith("That way is kept for this machine and this Xcode; `--method` chooses.")
    assert (tmp_path / "first" / f"recording-by-{first}.trace").is_dir()
    again = capture("second", command="record")
    assert again.code == 0, again.out + again.err
    provenance = open_run(tmp_path / "second").provenance
    assert provenance.used is not None
    assert provenance.used.method == "attach"
    assert not [text for text in provenance.warnings if text.startswith("Recorded twice")]
    assert any("the other way missed its work" in text for text in provenance.warnings)
    assert not list((tmp_path / "second").glob("*-by-*"))


def test_a_way_that_does_not_find_the_process_is_left(
    capture: Capture, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(asleep=True)
    capture("first", command="record")
    text = "Cannot find process for provided pid: 1"
    scenario(refuse={"code": 21, "text": text, "way": "attach"})
    done = capture("second", command="record")
    assert done.code == 0, done.out + done.err
    provenance = open_run(tmp_path / "second").provenance
    assert provenance.used is not None
    assert provenance.used.method == "launch"
    [note] = [text for text in provenance.warnings if text.startswith("Recorded twice: ")]
    assert "attaching to it did not find the process, launching it gave" in note


def test_a_second_way_that_fails_leaves_the_first_recording(
    capture: Capture, scenario: Scenario, tmp_path: Path
) -> None:
    text = "Failed starting ktrace session."
    scenario(rows=FEW, refuse={"code": 2, "text": text, "way": "attach"})
    done = capture("run", command="record")
    assert text in done.err
    provenance = open_run(tmp_path / "run").provenance
    assert provenance.used is not None
    assert provenance.used.method == "launch"
    [note] = [text for text in provenance.warnings if text.startswith("Recorded twice: ")]
    assert note.endswith("of 200 GPU jobs, attaching to it failed.")


def test_the_first_recording_is_the_run_if_neither_way_has_rows(
    capture: Capture, scenario: Scenario, tmp_path: Path
) -> None:
    scenario(rows={"launch": FEW, "attach": {"most": 0}})
    capture("run")
    run = open_run(tmp_path / "run")
    assert run.provenance.used is not None
    assert run.provenance.used.method == "launch"
    assert run.result.findings[0].rule == "rows-missing"
    assert (tmp_path / "run" / "recording-by-attach.trace").is_dir()


@pytest.mark.parametrize(
    "name", ["counters.tracetemplate", "gauges.jsonl", "target-errors.txt", "worker.json"]
)
def test_the_second_recording_finds_no_file_of_the_first(name: str, tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    file = tmp_path / name
    file.write_text("first")
    move_aside(recording, "launch")
    assert not file.exists()
    file.write_text("second")
    move_aside(recording, "attach")
    bring_back(recording, "launch")
    assert file.read_text() == "first"


def test_instruments_are_recorded_without_a_template_and_written_down(
    capture: Capture, tmp_path: Path
) -> None:
    assert capture("run", "--light", "--instrument", "Time Profiler").code == 0
    provenance = open_run(tmp_path / "run").provenance
    names = ("GPU", "Metal Application", "Metal Resource Events", "Time Profiler")
    assert (provenance.templates, provenance.instruments) == ((), names)
    assert provenance.used is not None
    assert (provenance.used.template, provenance.used.instruments) == ("", names)
    [line] = provenance.command_lines
    assert "--template" not in line
    assert [line[at + 1] for at, word in enumerate(line) if word == "--instrument"] == list(names)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "--light --instrument &#39;Time Profiler&#39;" in page or "--light" in page


def test_unknown_instruments_and_a_template_with_light_are_refused(capture: Capture) -> None:
    unknown = capture("a", "--instrument", "Time Profile")
    assert unknown.code == 2
    assert "Time Profiler" in unknown.err
    both = capture("b", "--light", "--template", "Time Profiler")
    assert both.code == 2
    assert "--light and --template contradict each other" in both.err
