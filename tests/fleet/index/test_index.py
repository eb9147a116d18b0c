"""`tracekit index`: all runs of a folder on one page."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def runs(tracekit: Run, tmp_path: Path, intervals_xml: Callable[..., str]) -> Path:
    """Import one export twice, and analyze the first run."""
    (tmp_path / "gpu.xml").write_text(intervals_xml([(0, 10, 7, "a"), (20, 10, 7, "b")]))
    folder = tmp_path / "traces"
    for name in ("analyzed", "raw"):
        exports = ("import", tmp_path / "gpu.xml", "--target", "7", "--output", folder / name)
        assert tracekit(*exports).code == 0
    assert tracekit("analyze", folder / "analyzed").code == 0
    assert tracekit("report", folder / "analyzed").code == 0
    return folder


def test_every_run_is_on_the_page(tracekit: Run, runs: Path) -> None:
    ran = tracekit("index", runs)
    assert ran.code == 0, ran.err
    assert ran.out.split() == [str(runs / "index.html")]
    text = (runs / "index.html").read_text()
    assert 'href="analyzed/report.html"' in text
    assert "Not analyzed yet (import done): tracekit analyze raw." in text
    assert "2 runs" in text


def test_what_is_no_run_is_left_out_and_what_is_broken_is_said(tracekit: Run, runs: Path) -> None:
    (runs / "notes").mkdir()
    (runs / "raw" / "recording.json").write_text("{")
    (runs / "analyzed" / "result.json").write_text(json.dumps({"format": 99}))
    assert tracekit("index", runs).code == 0
    text = (runs / "index.html").read_text()
    assert "2 runs" in text
    assert "notes" not in text
    assert "recording.json cannot be read" in text
    assert "has format 99" in text


def test_a_folder_that_is_not_there_is_said(tracekit: Run, tmp_path: Path) -> None:
    ran = tracekit("index", tmp_path / "nowhere")
    assert ran.code == 3
    assert "is no folder" in ran.err
    assert "bench/traces" in ran.err


def test_a_folder_that_cannot_be_written_to_is_said(tracekit: Run, runs: Path) -> None:
    (runs / "index.html").mkdir()
    ran = tracekit("index", runs)
    assert ran.code == 3
    assert "index.html is a folder" in ran.err


def test_a_folder_without_runs_is_said_to_have_none(
    tracekit: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ran = tracekit("index", tmp_path)
    assert ran.code == 0
    assert "There is no run in" in caplog.text
    assert (tmp_path / "index.html").exists()
