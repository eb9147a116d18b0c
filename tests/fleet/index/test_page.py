"""The page over all runs."""

import re
from typing import Any

import pytest
from lxml import html

from tracekit.analysis.result import Better, Check, Measurement, Result, Status
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.recording import Process, Provenance
from tracekit.fleet.index import RunFolder, entries_of, render_index

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


def test_a_folder_without_runs_says_how_to_make_one() -> None:
    assert "tracekit capture --workload paged" in page()


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
