"""Small runs of literal rows, and how to ask them."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tracekit.analysis.result import Better, Measurement, Result
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.recording import Process, Provenance, Recording, save
from tracekit.fleet.query.ask import asked

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
        metrics = (
            Measurement("gpu_busy", busy, "ns", Better.LOWER),
            Measurement("occupancy", None, "ratio", Better.HIGHER, "no counters"),
        )
        finding = Finding("bubbles", Severity.WARNING, "The GPU waits.", "Wait less.", saving=40)
        save(recording.result_file, Result(recording.provenance(), metrics, (finding,)))
        return folder

    return make


@pytest.fixture
def two_runs(run: Callable[..., Path]) -> Path:
    """Two runs, `a` with three intervals and `b` with two."""
    run("a", [(0, 10, 7, "python3"), (20, 30, 7, "python3"), (50, 1, 420, "WindowServer")])
    return run("b", [(5, 100, 7, "python3"), (200, 7, 420, "WindowServer")]).parent


@pytest.fixture
def ask() -> Callable[..., list[dict[str, Any]]]:
    """Ask, and return the answer's rows; warnings are appended to a list that is given."""

    def answer(sql: str, *paths: Path, warnings: list[str] | None = None) -> list[dict[str, Any]]:
        with asked(sql, paths) as (found, left_out):
            if warnings is not None:
                warnings += left_out
            file = io.BytesIO()
            found.write(file, "parquet")
            return pq.read_table(file).to_pylist(maps_as_pydicts="strict")

    return answer
