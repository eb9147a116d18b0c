"""All runs of a folder on one page: in which order, in which series, and what stands there."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html

from tracekit.analysis.result import Better, Check, Measurement, Result, Status
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.recording import Process, Provenance
from tracekit.fleet.index import (
    MOST_POINTS,
    RunFolder,
    entries_of,
    kind_of,
    points,
    render_index,
)

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


PAGED = Provenance(recorder="host", workload="paged", parameters={"batch": 2})


def run(name: str, created: str, rate: float | None, provenance: Provenance = PAGED) -> RunFolder:
    known = replace(provenance, created=created)
    metrics = (
        Measurement("tokens_per_second", rate, "tokens/s", Better.HIGHER),
        Measurement("step_p50", 1e6, "ns", Better.LOWER),
    )
    checks = (Check("bubbles", Status.PASSED),)
    return RunFolder(name, known, Result(known, metrics, (), checks), "", {})


def test_a_series_holds_the_latest_values_only() -> None:
    runs = [run(f"{at:03}", f"{at:03}", float(at)) for at in range(MOST_POINTS + 5)]
    assert len(entries_of(runs)[0]["series"]) == MOST_POINTS
    assert entries_of(runs)[0]["series"][-1] == MOST_POINTS + 4


def test_unlike_runs_are_series_of_their_own() -> None:
    other = replace(PAGED, parameters={"batch": 4})
    runs = [run("a", "1", 1.0), run("b", "2", 9.0, other), run("c", "3", None)]
    by_name = {one["folder"]: one for one in entries_of(runs)}
    assert by_name["a"]["series"] == [1.0]
    assert by_name["b"]["series"] == [9.0]
    assert by_name["c"]["followed"] == Measurement("step_p50", 1e6, "ns", Better.LOWER)
    assert by_name["c"]["series"] == [1e6]


def test_what_makes_runs_unlike() -> None:
    machine = {"chip": "Apple M3"}
    assert kind_of(PAGED) == kind_of(replace(PAGED, created="later", tracekit="0.2"))
    for other in (
        replace(PAGED, recorder="xctrace"),
        replace(PAGED, workload="sdpa"),
        replace(PAGED, templates=("Metal System Trace",)),
        replace(PAGED, machine=machine),
    ):
        assert kind_of(other) != kind_of(PAGED)


def test_the_verdict_is_that_of_the_runs_own_page() -> None:
    bad = Finding("bubbles", Severity.WARNING, "Idle for 20 %.", "Submit ahead.")
    found = run("a", "1", 1.0)
    assert found.result is not None
    found = replace(found, result=replace(found.result, findings=(bad,)))
    [entry] = entries_of([found])
    assert (entry["verdict"].tone, entry["verdict"].message) == ("warning", "Idle for 20 %.")


def test_a_run_without_a_result_says_why() -> None:
    [entry] = entries_of([RunFolder("a", Provenance(), None, "recording.json cannot be read.", {})])
    assert entry["verdict"].tone == "unclear"
    assert entry["verdict"].lead == "recording.json cannot be read."
    assert (entry["followed"], entry["series"]) == (None, [])


HOSTILE = "</script><script>alert(1)</script>"


def unread(folder: str, workload: str, rate: float, **facts: Any) -> RunFolder:
    provenance = Provenance(recorder="host", workload=workload, **facts)
    metrics = (Measurement("tokens_per_second", rate, "tokens/s", Better.HIGHER),)
    finding = Finding("bubbles", Severity.WARNING, f"Idle in {workload}.", "Submit ahead.")
    result = Result(provenance, metrics, (finding,), (Check("bubbles", Status.FOUND),))
    return RunFolder(folder, provenance, result, "", {"report.html": "report"})


def page(*runs: RunFolder) -> str:
    return render_index(entries_of(runs), "traces", redact=str)


def test_each_run_has_a_row_with_its_verdict_and_a_link() -> None:
    tree = html.fromstring(
        page(
            unread("2026 run", "paged", 12.5, created="2026-11-20T10:00:00+00:00"),
            unread("older", "paged", 10.0, created="2026-11-19T10:00:00+00:00"),
        )
    )
    first, second = tree.xpath("//tbody/tr")
    assert first.xpath(".//th/a/@href") == ["2026%20run/report.html"]
    assert "2026-11-20 10:00:00 UTC" in first.text_content()
    assert "One thing costs time: Idle in paged. bubbles" in " ".join(first.text_content().split())
    assert first.xpath(".//svg/@aria-label") == [
        "Tokens per second: the last of 2 runs of its kind, from 10 tokens/s to 12.5 tokens/s"
    ]
    assert second.xpath("count(.//polyline)") == 0


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        pytest.param({"targets": (Process(1, "llama-bench"),)}, "llama-bench", id="target"),
        pytest.param({"command": ("./main", "-m")}, "./main -m", id="command"),
        pytest.param({}, "folder", id="nothing"),
    ],
)
def test_a_run_without_a_workload_has_a_name(facts: dict[str, Any], name: str) -> None:
    assert f">{name}<" in page(unread("folder", "", 1.0, **facts))


def test_hostile_names_stay_text_and_no_script_may_run() -> None:
    text = page(unread(HOSTILE, HOSTILE, 1.0, parameters={"name": HOSTILE}))
    assert "<script" not in text.replace("<style", "")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_the_same_runs_give_the_same_page() -> None:
    runs = [unread("a", "paged", 1.0), unread("b", "paged", 2.0)]
    assert page(*runs) == page(*reversed(runs))


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        pytest.param([5.0], ((3.0, 11.0),), id="one"),
        pytest.param([7.0, 7.0], ((3.0, 11.0), (93.0, 11.0)), id="unchanged"),
        pytest.param([1.0, 3.0, 2.0], ((3.0, 19.0), (48.0, 3.0), (93.0, 11.0)), id="up-and-down"),
        pytest.param([-4.0, 4.0], ((3.0, 19.0), (93.0, 3.0)), id="below-zero"),
    ],
)
def test_values_lie_evenly_apart_between_least_and_most(
    series: list[float], expected: tuple[tuple[float, float], ...]
) -> None:
    assert points(series) == expected
