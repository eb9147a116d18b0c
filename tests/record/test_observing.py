"""What is kept beside a recording: a monitor's readings, a program's output, its results."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from fake_macmon import install_macmon
from prepared_steps import DECODE
from tracekit import pipeline
from tracekit.base.recording import Recording
from tracekit.workload.plan import Plan
from tracekit.workload.workload import find

pytestmark = pytest.mark.processes

TESTS = [
    {"n_prompt": 512, "n_gen": 0, "avg_ts": 711.25, "stddev_ts": 14.5},
    {"n_prompt": 0, "n_gen": 128, "avg_ts": 61.5, "stddev_ts": 0.5},
]


@pytest.fixture
def macmon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a macmon on PATH; return the folder that it stands in."""
    folder = tmp_path / "bin"
    install_macmon(folder)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder


def llama_bench(folder: Path, seconds: float = 0.2) -> tuple[str, ...]:
    """Return the command line of a program that prints what llama-bench does."""
    file = folder / "llama_bench.py"
    file.write_text(
        f"import time\ntime.sleep({seconds})\nprint({json.dumps(TESTS, indent=2)!r}, flush=True)\n"
    )
    return (sys.executable, str(file))


def recorded(plan: Plan) -> Recording:
    recording = pipeline.record(plan)
    pipeline.export(recording)
    return recording


def test_a_monitor_is_read_beside_a_program_and_its_output_becomes_results(
    tmp_path: Path, macmon: Path
) -> None:
    command = llama_bench(tmp_path, 1.0)
    recording = recorded(Plan(command=command, recorder="host", output=tmp_path / "run"))
    assert not psutil.pid_exists(int((macmon / "pid").read_text()))
    assert set(pipeline.tables_of(recording)["gauges"]["source"]) == {"macmon"}
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


@pytest.mark.usefixtures("macmon")
def test_a_monitor_stands_on_the_time_of_a_workloads_steps(tmp_path: Path) -> None:
    paged = Plan(find("paged"), parameters=DECODE, warmup=2, repeats=20, recorder="host")
    recording = recorded(replace(paged, output=tmp_path / "run", telemetry="macmon"))
    tables = pipeline.tables_of(recording)
    gauges, phases = tables["gauges"], tables["phases"]
    powers = gauges[gauges["name"] == "gpu_power"]
    assert (powers["value"] == 17.25).all()
    assert powers["time"].is_monotonic_increasing
    assert powers["time"].max() >= phases["start"].min()
    result = pipeline.analyze(recording)
    assert result.provenance.telemetry == "macmon"
    assert not [one for one in result.provenance.warnings if "macmon" in one]


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac has ioreg")
def test_a_monitor_that_cannot_be_read_is_a_warning(tmp_path: Path) -> None:
    plan = Plan(command=("true",), recorder="host", output=tmp_path / "run", telemetry="ioreg")
    recording = pipeline.record(plan)
    (told,) = [one for one in recording.provenance().warnings if "ioreg" in one]
    assert told.startswith("ioreg tells of GPUs on macOS only;")
