"""What is kept beside a recording: a monitor's readings, a program's output, its results."""

import json
import sys
from pathlib import Path

import psutil
import pytest

from fake_macmon import install_macmon
from tracekit import pipeline
from tracekit.workload.plan import Plan

pytestmark = pytest.mark.processes

TESTS = [
    {"n_prompt": 512, "n_gen": 0, "avg_ts": 711.25, "stddev_ts": 14.5},
    {"n_prompt": 0, "n_gen": 128, "avg_ts": 61.5, "stddev_ts": 0.5},
]


def test_a_monitor_is_read_beside_a_program_and_its_output_becomes_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, program = tmp_path / "bin", tmp_path / "llama_bench.py"
    install_macmon(folder)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    text = json.dumps(TESTS, indent=2)
    program.write_text(f"import time\ntime.sleep(1)\nprint({text!r}, flush=True)\n")
    command = (sys.executable, str(program))
    recording = pipeline.record(Plan(command=command, recorder="host", output=tmp_path / "run"))
    pipeline.export(recording)
    assert not psutil.pid_exists(int((folder / "pid").read_text()))
    gauges = pipeline.tables_of(recording)["gauges"]
    assert set(gauges["source"]) == {"macmon"}
    powers = gauges[gauges["name"] == "gpu_power"]
    assert (powers["value"] == 17.25).all()
    assert powers["time"].is_monotonic_increasing
    assert 0 <= powers["time"].min() < powers["time"].max() < 60e9  # on the recording's time
    assert json.loads(recording.output_file.read_text()) == TESTS
    result = pipeline.analyze(recording)
    speeds = {found.name: found.value for found in result.results}
    assert speeds["pp512_tokens_per_second"] == 711.25
    assert speeds["tg128_tokens_per_second_stddev"] == 0.5
    clock, heat = result.metric("gpu_clock_p50"), result.metric("thermal_pressure_worst")
    assert clock is not None
    assert clock.value == 1.398e9
    assert heat is not None
    assert heat.reason.startswith("macmon, which was read, does not tell thermal_pressure")


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has ioreg")
def test_a_monitor_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    plan = Plan(command=("true",), recorder="host", output=tmp_path / "run", telemetry="ioreg")
    recording = pipeline.record(plan)
    (told,) = [text for text in recording.provenance().warnings if "ioreg" in text]
    assert told.startswith("ioreg tells of GPUs on macOS only;")
