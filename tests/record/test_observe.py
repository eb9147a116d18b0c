"""What a recorder is asked to do, and what is kept beside a recording: readings and results."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from fake_macmon import install_macmon
from tracekit import pipeline
from tracekit.base.choices import LIGHT, RecordingChoices
from tracekit.base.errors import UsageError
from tracekit.base.recording import Recording
from tracekit.record.host.recorder import HostRecorder
from tracekit.record.observe import find_ignored_options, request_for
from tracekit.record.progress import quiet
from tracekit.record.recorder import (
    Attach,
    ProgramLaunch,
    RecordingRequest,
    Warmed,
    journal_of,
)
from tracekit.record.xctrace.exporting import choose_only
from tracekit.record.xctrace.recorder import XctraceRecorder
from tracekit.record.xctrace.tool import Xctrace
from tracekit.workload.plan import Plan
from tracekit.workload.worker.spec import Spec
from tracekit.workload.workload import load
from worker_naps import naps_that

HOST = HostRecorder()
XCTRACE = XctraceRecorder(Xctrace("/X/xctrace"), choose_only())


def test_a_workload_is_launched_or_waits_until_it_is_attached_to(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    (tmp_path / "naps.py").write_text(naps_that())
    recording, workload = Recording(tmp_path), load(tmp_path / "naps.py")
    cases: tuple[tuple[Any, str, float], ...] = (
        (XCTRACE, "auto", 605), (XCTRACE, "launch", 605), (XCTRACE, "attach", 7),
        (HOST, "auto", 5), (HOST, "attach", 5),
    )  # fmt: skip
    for recorder, method, limit in cases:
        with subtests.test(recorder=recorder):
            plan, host = Plan(workload, time_limit=5, method=method), recorder is HOST
            request, spec = request_for(plan, recording, recorder), Spec.load(recording.spec_file)
            assert request.time_limit == limit
            assert journal_of(request.target) == recording.journal_file.resolve()
            warning_text, attach = "".join(find_ignored_options(plan, recorder)), method == "attach"
            assert warning_text.startswith("--method attach was not followed") is (host and attach)
            waits = attach and not host
            assert (spec.lifeline, spec.measure_overhead, spec.reference) == (waits, host, host)
            assert isinstance(request.target, Warmed) is waits
            if isinstance(request.target, Warmed):
                go_file = (recording.folder / "worker.go").resolve()
                assert spec.go_file == request.target.go_file == go_file
                assert spec.go_timeout >= 3600
                with pytest.raises(UsageError, match="it waits for no go file"):
                    HOST.record(request, recording, quiet)


def test_programs_and_processes_are_taken_as_they_are(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    recording, templates = Recording(tmp_path), ("A", "B")
    program = Plan(command=("true",), time_limit=3, templates=templates)
    choices = RecordingChoices.from_document(program)
    for recorder in (HOST, XCTRACE):
        with subtests.test(recorder=recorder):
            launched = request_for(program, recording, recorder)
            assert launched == RecordingRequest(ProgramLaunch(("true",)), 3, choices)
            process = request_for(replace(program, command=(), attach=7), recording, recorder)
            assert process == RecordingRequest(Attach(7), 3, replace(choices, command=()))
            assert journal_of(process.target) is None
    assert not recording.spec_file.exists()


TESTS = [
    {"n_prompt": 512, "n_gen": 0, "avg_ts": 711.25, "stddev_ts": 14.5},
    {"n_prompt": 0, "n_gen": 128, "avg_ts": 61.5, "stddev_ts": 0.5},
]


@pytest.mark.processes
def test_a_programs_output_and_a_monitor_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, program = tmp_path / "bin", tmp_path / "llama_bench.py"
    install_macmon(folder)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    program.write_text(f"import time\ntime.sleep(1)\nprint({json.dumps(TESTS)!r}, flush=True)\n")
    command = (sys.executable, str(program))
    recording = pipeline.record(Plan(command=command, recorder="host", output=tmp_path / "run"))
    pipeline.export(recording)
    assert not psutil.pid_exists(int((folder / "pid").read_text()))
    gauges = pipeline.tables_of(recording)["gauges"]
    assert set(gauges["source"]) == {"macmon"}
    powers = gauges[gauges["name"] == "gpu_power"]
    assert set(powers["value"]) == {17.25}
    assert powers["time"].is_monotonic_increasing
    assert -60e9 < powers["time"].min() < powers["time"].max() < 60e9, "on the recording's time"
    assert json.loads(recording.output_file.read_text()) == TESTS
    result = pipeline.analyze(recording)
    values_by_name = {metric.name: metric for metric in (*result.metrics, *result.results)}
    names = ("pp512_tokens_per_second", "tg128_tokens_per_second_stddev", "gpu_clock_p50")
    assert [values_by_name[name].value for name in names] == [711.25, 0.5, 1.398e9]
    heat = values_by_name["thermal_pressure_worst"].reason
    assert heat.startswith("macmon, which was read, does not tell thermal_pressure")


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has ioreg")
def test_a_monitor_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    plan = Plan(command=("true",), recorder="host", output=tmp_path / "run", telemetry="ioreg")
    recording = pipeline.record(plan)
    samples, gpu_warning = recording.provenance().warnings
    assert "sample" in samples
    assert gpu_warning.startswith("ioreg tells of GPUs on macOS only;")


def test_options_of_xctrace_are_not_followed_by_the_host_recorder() -> None:
    cases: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = (
        ({}, ()),
        (
            {"templates": ("Time Profiler",), "instruments": ("GPU",), "counters": "on"},
            ("--template 'Time Profiler'", "--instrument GPU", "--counters on"),
        ),
        ({"templates": (), "instruments": LIGHT}, ("--light",)),
        ({"counters": "off", "repeats": 3}, ("--repeats 3",)),
        ({"method": "launch"}, ()),
    )
    for made, options in cases:
        plan = Plan(command=("true",), **made)
        warnings = find_ignored_options(plan, HOST)
        assert [warning.partition(" was not")[0] for warning in warnings] == [*options], made
        assert [*find_ignored_options(plan, XCTRACE)] == [
            warning for warning in warnings if "--repeats" in warning
        ], made
