"""Small runs of literal rows, and how to ask them."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tracekit.analysis.result import Better, Measurement, Result
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.documents import save
from tracekit.base.recording import Process, Provenance, Recording
from tracekit.fleet.query.ask import ask_runs

Rows = list[tuple[int, int, int, str]]


@pytest.fixture
def run(tmp_path: Path, intervals_xml: Callable[..., str]) -> Callable[..., Path]:
    """Make a run of (start, duration, pid, process) rows below `runs`; process 7 is the target."""

    def make(name: str, rows: Rows, **facts: Any) -> Path:
        recording = Recording(tmp_path / "runs" / name)
        recording.exports.mkdir(parents=True)
        (recording.exports / "gpu.xml").write_text(intervals_xml(rows))
        facts = {"targets": (Process(7, "python3"),), "recorder": "xctrace", **facts}
        recording.save_provenance(Provenance(**facts))
        return recording.folder

    return make


@pytest.fixture
def analyzed(run: Callable[..., Path]) -> Callable[..., Path]:
    """Make a run with a result: two metrics, of which one is not available, and a finding."""

    def make(name: str, busy: float) -> Path:
        folder = run(name, [(0, 10, 7, "python3")])
        recording = Recording(folder)
        busy_metric = Measurement("gpu_busy", busy, "ns", Better.LOWER)
        missing_metric = Measurement("occupancy", None, "ratio", Better.HIGHER, "no counters")
        finding = Finding("bubbles", Severity.WARNING, "The GPU waits.", "Wait less.", saving=40)
        save(
            recording.result_file,
            Result(recording.provenance(), (busy_metric, missing_metric), (finding,)),
        )
        return folder

    return make


@pytest.fixture
def two_runs(run: Callable[..., Path]) -> Path:
    """Two runs, `a` with three intervals and `b` with two."""
    run("a", [(0, 10, 7, "python3"), (20, 30, 7, "python3"), (50, 1, 420, "WindowServer")])
    return run("b", [(5, 100, 7, "python3"), (200, 7, 420, "WindowServer")]).parent


@dataclass
class Questions:
    """Asks, and returns the rows of the answer; `said` is what the last one said of runs."""

    said: tuple[str, ...] = ()

    def __call__(self, sql: str, *paths: Path) -> list[dict[str, Any]]:
        file = io.BytesIO()
        with ask_runs(sql, paths) as (result, self.said):
            result.write(file, "parquet")
        return pq.read_table(file).to_pylist(maps_as_pydicts="strict")


@pytest.fixture
def ask() -> Questions:
    return Questions()
