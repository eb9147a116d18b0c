"""The whole way: a real workload, recorded here, to a page."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from shlex import quote

import pytest

from labelled.drawn import clean
from labelled.folder import write
from labelled.program import simulate
from tracekit import open as open_run
from tracekit import pipeline
from tracekit.analysis.analyze import analyze
from tracekit.analysis.result import Result, RuleCheck, Status
from tracekit.base.errors import InconclusiveError, InterruptedRunError, RecordingError, ToolError
from tracekit.base.recording import Provenance, Recording
from tracekit.pages.render import render
from tracekit.record.recorder import FinishedRecording
from tracekit.workload.plan import Plan
from tracekit.workload.workload import find

SMALL = {"batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "block_size": 16}
SMALL |= {"max_blocks": 4, "active_blocks": 2, "dtype": "float32"}


def value(result: Result, name: str) -> float | None:
    metric = result.metric(name)
    assert metric is not None
    return metric.value


def small(output: Path, **changes: object) -> Plan:
    plan = Plan(
        workload=find("paged"),
        parameters=dict(SMALL),
        recorder="host",
        time_limit=20.0,
        warmup=2,
        repeats=40,
        output=output,
    )
    return replace(plan, **changes)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """One small recording through all stages, shared by the tests that only look."""
    recording = pipeline.record(small(tmp_path_factory.mktemp("runs") / "paged"))
    pipeline.export(recording)
    pipeline.analyze(recording)
    pipeline.report(recording)
    return recording


@pytest.mark.processes
def test_a_run_leaves_the_files_of_every_stage(run: Recording) -> None:
    assert {one.name for one in run.folder.iterdir()} >= {
        "recording.json",
        "workload.json",
        "exports",
        "result.json",
        "report.html",
    }
    stages = run.provenance().stages
    assert {name: one.state for name, one in stages.items()} == dict.fromkeys(
        ("record", "export", "analyze", "report"), "done"
    )


def test_phases_steps_and_intervals_lie_within_one_another(run: Recording) -> None:
    tables = open_run(run.folder).tables
    phases = tables["phases"].set_index("name")
    assert list(phases.index[:3]) == ["prepare", "warm-up", "steady"]
    steady = phases.loc["steady"]
    steps = tables["steps"][tables["steps"]["phase"] == "steady"]
    assert steps["start"].min() >= steady["start"]
    assert (steps["start"] + steps["duration"]).max() <= steady["start"] + steady["duration"]
    intervals = tables["gpu_intervals"]
    assert len(intervals) == len(tables["steps"])
    assert intervals["target"].all()
    assert set(intervals["clock"]) == {"host"}


def test_metrics_agree_with_a_plain_count_of_the_steps(run: Recording) -> None:
    opened = open_run(run.folder)
    steps = opened.tables["steps"]
    steady = steps[steps["phase"] == "steady"]
    length = (steady["start"] + steady["duration"]).max() - steady["start"].min()
    spans = opened.tables["spans"]
    in_steady = spans["name"].eq("reference") & spans["start"].between(
        steady["start"].min(), steady["start"].max()
    )
    length -= spans.loc[in_steady, "duration"].sum()  # work of the worker's own, on a busy machine
    assert value(opened.result, "step_rate") == pytest.approx(40 / (length / 1e9))
    assert value(opened.result, "tokens_per_second") == pytest.approx(80 / (length / 1e9))


def test_exports_can_be_analyzed_when_everything_else_is_gone(
    run: Recording, tmp_path: Path
) -> None:
    [copy] = pipeline.import_([run.exports], tmp_path / "copy")
    result = pipeline.analyze(copy)
    original = open_run(run.folder).result
    for name in ("step_rate", "host_busy", "memory_peak"):
        assert value(result, name) == value(original, name)


@pytest.mark.processes
def test_any_program_can_be_recorded(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import time; time.sleep(0.3)")
    recording = pipeline.record(Plan(command=command, recorder="host", output=tmp_path / "run"))
    pipeline.export(recording)
    result = pipeline.analyze(recording)
    assert recording.provenance().command == command
    assert (value(result, "memory_peak") or 0) > 0
    rate = result.metric("step_rate")
    assert rate is not None
    assert rate.value is None
    assert rate.reason.startswith("the recording has no table steps: the program tells nothing")


@pytest.mark.processes
def test_a_failing_program_is_reported_and_its_measurements_kept(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "import sys; sys.exit('out of luck')")
    plan = Plan(command=command, recorder="host", output=tmp_path / "run")
    with pytest.raises(ToolError, match="out of luck"):
        pipeline.record(plan)
    recording = Recording(tmp_path / "run")
    assert recording.provenance().stages["record"].state == "failed"
    pipeline.export(recording)
    assert pipeline.analyze(recording).provenance.end_reason


BROKEN = """
from tracekit.workload import Step, workload

@workload
def broken(after: int = 3) -> Step:
    '''Fail after some steps.'''
    made = []

    def submit():
        made.append(1)
        if len(made) > after:
            raise RuntimeError("the kernel gave up")

    return Step(submit=submit, wait=lambda _: None, backend="cpu")
"""


@pytest.mark.processes
def test_a_workload_that_dies_keeps_the_steps_before(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    plan = small(
        tmp_path / "run", workload=find("broken", tmp_path), parameters={"after": 7}, warmup=2
    )
    with pytest.raises(ToolError, match="the kernel gave up"):
        pipeline.record(plan)
    recording = Recording(tmp_path / "run")
    pipeline.export(recording)
    steps = open_run(recording.folder).tables["steps"]
    assert len(steps) == 7
    assert json.loads(recording.workload_file.read_text())["state"] == "failed"


@pytest.mark.processes
# It may come between the opening of a file of /proc and the `with` that closes it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_keeps_the_recording_and_names_the_next_command(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "run")

    def interrupt() -> None:
        journal = recording.journal_file
        while not (journal.exists() and b'"steady","start"' in journal.read_bytes()):
            time.sleep(0.01)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(InterruptedRunError) as stopped:
        pipeline.record(small(recording.folder, repeats=None))
    assert f"tracekit export {quote(str(recording.folder))}" in stopped.value.hint
    assert recording.provenance().stages["record"].state == "interrupted"
    pipeline.export(recording)
    result = pipeline.analyze(recording)
    assert value(result, "step_rate") is not None
    assert pipeline.report(recording).exists()


def test_a_clock_that_is_set_back_makes_no_duration() -> None:
    set_back = FinishedRecording(started="2026-01-01T12:00:00Z", end_date="2026-01-01T11:00:04Z")
    for seconds, duration, warnings in ((4.0, 4.0, ()), (None, None, (pipeline._SET_BACK,))):
        provenance = pipeline._with(Provenance(), replace(set_back, duration=seconds))
        assert (provenance.duration, provenance.warnings) == (duration, warnings)


@pytest.mark.processes
def test_a_run_of_a_killed_tracekit_can_be_exported(tmp_path: Path) -> None:
    """What the worker measured is there, although nobody closed the account."""
    recording = Recording(tmp_path / "run")
    arguments = ["capture", "--workload", "paged", "--recorder", "host", "--output"]
    options = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    child = subprocess.Popen(
        [sys.executable, "-m", "tracekit", *arguments, str(recording.folder), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    journal = recording.journal_file
    while not (journal.exists() and journal.read_bytes().count(b'"steady"') > 20):
        assert child.poll() is None
        time.sleep(0.02)
    child.kill()
    child.wait()
    while "; process" not in recording.provenance().stages["record"].message:
        time.sleep(0.02)
    assert recording.provenance().stages["record"].state == "interrupted"
    assert recording.provenance().targets == ()
    pipeline.export(recording)
    opened = open_run(recording.folder)
    assert (opened.tables["steps"]["phase"] == "steady").sum() >= 19
    assert opened.tables["gpu_intervals"]["target"].all()
    assert opened.provenance.targets
    result = pipeline.analyze(recording)
    assert value(result, "step_rate") is not None


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_while_facts_are_gathered_leaves_its_folder_free(
    number: signal.Signals, tmp_path: Path
) -> None:
    fifo, folder = tmp_path / "asked", tmp_path / "run"
    folder.mkdir()
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    os.mkfifo(fifo)
    git.write_text(f"#!/bin/sh\necho $$ > '{fifo}'\nexec sleep 600\n")
    git.chmod(0o755)
    path = f"{git.parent}{os.pathsep}{os.environ['PATH']}"
    argv = (sys.executable, "-m", "tracekit", "record", "--recorder", "host", "--output")
    argv = (*argv, str(folder), "--", "true")
    with subprocess.Popen(argv, env=os.environ | {"PATH": path}, stderr=subprocess.PIPE) as child:
        with fifo.open() as fifo_file:
            slow = int(fifo_file.read())
        child.send_signal(number)
        child.communicate(timeout=60)
    with contextlib.suppress(ProcessLookupError):
        os.kill(slow, signal.SIGKILL)
    assert child.returncode == (-number if number is signal.SIGKILL else 130)
    assert list(folder.iterdir()) == []
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert Recording(folder).provenance().stages["record"].state == "done"


def test_an_imported_run_has_nothing_to_export(run: Recording, tmp_path: Path) -> None:
    [copy] = pipeline.import_([run.exports], tmp_path / "copy")
    with pytest.raises(RecordingError, match="no bundle to export") as error:
        pipeline.export(copy)
    assert "tracekit analyze" in error.value.hint


def test_a_hostile_export_is_left_out_and_said(run: Recording, tmp_path: Path) -> None:
    [copy] = pipeline.import_([run.exports], tmp_path / "copy")
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    file = copy.exports / "host-steps.xml"
    file.write_text(f'<?xml version="1.0"?>{bomb}<trace-query-result/>')
    file.with_suffix(".parquet").unlink()
    result = pipeline.analyze(copy)
    assert any("host-steps.xml" in warning for warning in result.provenance.warnings)
    assert value(result, "step_rate") is None
    assert value(result, "host_busy") is None  # the lost steps would say which time is idle
    assert value(result, "memory_peak") is not None


@pytest.mark.parametrize("status", [Status.ABSTAINED, Status.FAILED])
def test_only_xctrace_must_be_known_to_have_recorded_the_target(status: Status) -> None:
    checks = (RuleCheck("capture-empty", status, "no table could be read."),)
    pipeline.require_rows(Result(Provenance(recorder="import"), checks=checks))
    with pytest.raises(InconclusiveError, match="no table could be read"):
        pipeline.require_rows(Result(Provenance(recorder="xctrace"), checks=checks))


def test_a_recording_that_is_known_to_lack_its_targets_work_is_inconclusive(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    for has_target_rows in (True, None):
        recording.save_provenance(Provenance(target_rows=has_target_rows))
        pipeline.require_target_rows(recording)
    recording.save_provenance(Provenance(target_rows=False))
    with pytest.raises(InconclusiveError, match="No GPU work of the target"):
        pipeline.require_target_rows(recording)


def test_lean_tables_give_the_same_result_and_page(tmp_path: Path) -> None:
    recording = write(simulate(replace(clean(3), steps=6, warm_up=1)), tmp_path / "run")
    provenance = recording.provenance()
    pipeline.analyze(recording)  # keeps the tables
    made: list[tuple[Result, str]] = []
    for is_lean in (False, True):
        run_tables = pipeline.tables_of(recording, is_lean=is_lean)
        result = analyze(run_tables, provenance)
        made.append((result, render(result, run_tables, redact=str)))
    assert "label" not in run_tables["gpu_intervals"]
    whole, lean = made
    assert lean == whole


def test_categories_of_texts_give_the_same_result_and_page(tmp_path: Path) -> None:
    recording = write(simulate(replace(clean(4), steps=6, warm_up=1)), tmp_path / "run")
    provenance = recording.provenance()
    run_tables = pipeline.tables_of(recording)
    frames = {name: run_tables[name] for name in run_tables}
    whole = analyze(frames, provenance)
    page = render(whole, frames, redact=str)
    texts = dict.fromkeys(("channel", "kernel", "process", "device", "clock"), "category")
    frames["gpu_intervals"] = frames["gpu_intervals"].astype(texts)
    result = analyze(frames, provenance)
    assert result == whole
    assert render(result, frames, redact=str) == page
