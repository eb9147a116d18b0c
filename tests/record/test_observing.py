"""What is kept beside a recording: a monitor's readings, a program's output, its results."""

import json
import sys
from pathlib import Path

import psutil
import pytest

from command_line import small
from fake_macmon import install_macmon
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


def workload_plan(output: Path, **options: str) -> Plan:
    values = dict(zip(small(20)[::2], small(20)[1::2], strict=True))
    named = {name[2:].replace("-", "_"): value for name, value in values.items()}
    return Plan(
        workload=find("paged"),
        warmup=int(named.pop("warmup")),
        repeats=int(named.pop("repeats")),
        parameters=named,
        recorder="host",
        output=output,
        **options,
    )


@pytest.mark.usefixtures("macmon")
def test_a_monitor_stands_on_the_time_of_a_workloads_steps(tmp_path: Path) -> None:
    recording = recorded(workload_plan(tmp_path / "run", telemetry="macmon"))
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
    recording = pipeline.record(workload_plan(tmp_path / "run", telemetry="ioreg"))
    (told,) = [one for one in recording.provenance().warnings if "ioreg" in one]
    assert told.startswith("ioreg tells of GPUs on macOS only;")
