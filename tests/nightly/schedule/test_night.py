"""A whole night as launchd starts it: by the agent that was written, and nothing of a shell's."""

import json
import plistlib
import subprocess
import sys
from collections.abc import Callable
from datetime import time
from pathlib import Path
from typing import Any

import pytest

from fake_schedulers import Fakes, agents
from tracekit import open as open_run
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.schedule import schedule

pytestmark = pytest.mark.processes

FAKE = Path(__file__).parents[2] / "fake_xctrace" / "bin"
DERIVED = {
    "gpu_idle_ratio": "GPU idle ratio",
    "idle_host_late": "Idle host late",
    "idle_other_process": "Idle other process",
    "start_latency_p50": "Start latency p50",
    "start_latency_p99": "Start latency p99",
    "encoders_per_token": "Encoders per token",
    "steady_compiles": "Steady compiles",
    "gpu_time_per_token": "GPU time per token",
    "other_process_share": "Other process share",
}
"""Series that traces alone tell, and what the page calls them."""
KNOWN = {"gpu_idle_ratio", "start_latency_p50", "start_latency_p99", "other_process_share"}
"""Those that the fake's tables tell: it exports no driver intervals and not every step's work."""
TRACED = """\
[nightly]
name = "päged"
[nightly.machine-state]
load = false
calibration = false
[[nightly.capture]]
name = "decode"
workload = "paged"
parameters = { batch = 2, q_heads = 4, kv_heads = 2, head_dim = 64, block_size = 16, \
max_blocks = 4, active_blocks = 2, dtype = "float32" }
pairs = 1
turn = "10ms"
warmup = 1
traced = 1
recorder = "xctrace"
telemetry = "off"
time-limit = "500ms"
parity = "off"
metrics = { step_p50 = { gate = false } }
"""


@pytest.fixture
def agent(
    home: Path, programs: Callable[..., Fakes], plan: NightPlan, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """What launchd was given, on a Mac whose language is written in Latin-1."""
    fakes = programs("launchctl")
    recorder = fakes.folder / "xcrun"
    recorder.write_text(f'#!/bin/sh\nexec {FAKE}/xcrun "$@"\n')
    recorder.chmod(0o755)
    (fakes.folder / "python3").symlink_to(sys.executable)
    monkeypatch.delenv("TRACEKIT_CACHE")
    monkeypatch.setenv("LANG", "de_DE.ISO8859-1")
    monkeypatch.setenv("LC_ALL", "POSIX")
    plan.file.write_text(TRACED, encoding="utf-8")
    schedule.install(read_plan(plan.file), time(2, 30), "launchd")
    [file] = agents()
    return plistlib.loads(file.read_bytes())


def start(agent: dict[str, Any]) -> tuple[int, str]:
    """Do as launchd does, but let standard input be closed and files be ours alone."""
    log = Path(agent["StandardOutPath"])
    with log.open("ab") as said:
        done = subprocess.run(
            ["/bin/sh", "-c", 'umask 077; exec "$@" <&-', "sh", *agent["ProgramArguments"]],
            cwd=agent["WorkingDirectory"],
            env=agent["EnvironmentVariables"] | {"TRACEKIT_DISK_FLOOR": "0"},
            stdout=said,
            stderr=said,
            check=False,
            timeout=200,
        )
    return done.returncode, log.read_text(encoding="utf-8")


def test_a_night_of_launchds_is_traced_kept_and_drawn(
    agent: dict[str, Any], home: Path, plan: NightPlan
) -> None:
    assert not {name for name in agent["EnvironmentVariables"] if name.startswith("FAKE")}
    code, said = start(agent)
    assert code == 4, said
    known = read_plan(plan.file)
    [document] = known.output.glob("*/night.json")
    assert str(document) in said
    with Store.open(known.history, make=False) as store:
        [night] = store.nights()
        series = {one.metric: one for one in store.series()}
    assert night.id == document.parent.name
    assert night.outcome is Outcome.UNJUDGED
    assert night.environment["recorder"] == "xctrace"
    assert json.loads(document.read_text(encoding="utf-8"))["id"] == night.id

    page = (known.output / "trend.html").read_text(encoding="utf-8")
    assert {name for name in DERIVED if name in series} == set(DERIVED)
    assert {name for name in DERIVED if series[name].points[0].value is not None} == KNOWN
    assert [words for words in DERIVED.values() if words not in page] == []
    run = document.parent / night.entries[0].pairs[-1].runs[0]
    assert open_run(run).provenance.recorder == "xctrace"
    assert f"{night.id}/decode/candidate-1-1/report.html" in page

    log = Path(agent["StandardOutPath"])  # made before, by whoever installed
    open_to_others = [one for one in known.output.rglob("*") if one.stat().st_mode & 0o077]
    assert open_to_others == [log]
    assert sorted(one.name for one in home.iterdir()) == [".cache", "Library"]
    last = schedule.status(known)
    assert last.last is not None
    assert (last.last.id, last.running) == (night.id, False)
