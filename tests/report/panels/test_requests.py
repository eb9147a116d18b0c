"""The panel of requests: there for a server, and for nobody else."""

import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.result import Better, Measurement
from tracekit.report.panels.requests import requests
from tracekit.report.render import render

MS = 1_000_000


@pytest.fixture
def tables(frame: Any) -> dict[str, pd.DataFrame]:
    """Three requests: one completed, one that had to go, one that could not come in."""
    served = [
        (0, "completed", 10, 40, 4, ""),
        (20, "unfinished", None, None, 0, ""),
        (30, "rejected", None, None, 0, "64 + 8 tokens need 18 blocks of 4; the pool has 8"),
    ]
    steps = [(0, 10, 0), (10, 10, 1), (20, 30, 3)]
    gauges = [
        (0, "limit_active_sequences", 1),
        (0, "limit_blocks", 8),
        (1, "active_sequences", 1),
        (1, "used_blocks", 4),
        (1, "queued_requests", 0),
        (21, "queued_requests", 2),
    ]
    rows = {
        "requests": [
            {"start": at * MS, "number": number, "state": state, "produced": produced}
            | {"first_token": first and first * MS, "last_token": last and last * MS}
            | {"reason": reason}
            for number, (at, state, first, last, produced, reason) in enumerate(served)
        ],
        "request_tokens": [
            {"time": at * MS, "request": 0, "index": index}
            for index, at in enumerate((10, 20, 30, 40))
        ],
        "steps": [
            {"start": at * MS, "duration": length * MS, "phase": "steady", "tokens": tokens}
            | {"variant": ""}
            for at, length, tokens in steps
        ],
        "gauges": [{"time": at * MS, "name": name, "value": value} for at, name, value in gauges],
    }
    return {name: frame(name, of) for name, of in rows.items()}


def page_of(run: Any, tables: dict[str, pd.DataFrame]) -> str:
    return render(run.result, tables, redact=lambda text: text)


def test_a_run_without_requests_has_no_such_section(host_run: Any, bare: Any) -> None:
    for run in (host_run, bare, host_run.emptied()):
        assert requests.context(run.result, run.tables) is None
        page = page_of(run, run.tables)
        assert 'id="requests"' not in page
        assert "#requests" not in page


def test_requests_are_counted_by_how_they_ended(bare: Any, tables: Any) -> None:
    context = requests.context(bare.result, tables)
    assert context["total"] == 3
    assert context["states"] == [("completed", 1), ("unfinished", 1), ("rejected", 1)]
    assert context["reasons"] == [("64 + 8 tokens need 18 blocks of 4; the pool has 8", 1)]


def test_latencies_are_in_words_and_say_of_how_many(bare: Any, tables: Any) -> None:
    rows = requests.context(bare.result, tables)["latencies"]
    assert [(name, number) for name, _, number, _ in rows] == [
        ("ttft", 1),
        ("tpot", 1),
        ("itl", 3),
        ("e2e", 1),
    ]
    assert rows[2][-1] == [10 * MS] * 4 + [0]


def test_what_nobody_got_so_far_is_said(bare: Any, tables: Any) -> None:
    early = {
        **tables,
        "requests": tables["requests"].iloc[1:],
        "request_tokens": tables["request_tokens"].iloc[:0],
    }
    assert all(numbers == [] for *_, numbers in requests.context(bare.result, early)["latencies"])
    assert "not available, because no request came so far" in page_of(bare, early)


def test_the_parts_of_the_run(bare: Any, tables: Any) -> None:
    rows = requests.context(bare.result, tables)["parts"]
    assert [(name, row.window.length, row.ticks, row.tokens) for name, row in rows.items()] == [
        ("ramp", 0, 0, 0),
        ("steady", 50 * MS, 3, 4),
        ("tail", 0, 0, 0),
    ]
    assert [row.rate for row in rows.values()] == [None, pytest.approx(100), None]
    page = page_of(bare, tables)
    assert '<td class="n">no tick</td>' in page
    assert '<td class="n">100 tokens/s</td>' in page


def test_a_server_that_was_never_busy_says_how_busy_it_was(bare: Any, tables: Any) -> None:
    more = tables["gauges"].assign(
        value=tables["gauges"]["value"].where(
            tables["gauges"]["name"] != "limit_active_sequences", 10.0
        )
    )
    context = requests.context(bare.result, {**tables, "gauges": more})
    assert context["parts"] == {}
    assert "at most 1 of 10 slots" in context["parts_absence"]
    page = page_of(bare, {**tables, "gauges": more})
    assert "because the server was never busy enough" in page


def test_levels_are_drawn_against_their_limit(bare: Any, tables: Any) -> None:
    charts = requests.context(bare.result, tables)["charts"]
    assert [(one["name"], one["summary"]) for one in charts] == [
        ("Waiting", "at most 2"),
        ("Active", "at most 1 of 1"),
        ("Blocks", "at most 4 of 8"),
    ]
    for chart in charts:
        assert re.fullmatch(r"M0 60(H[\d.]+V[\d.]+)+Z", chart["path"])
        assert chart["path"].endswith("H1000V60Z")
    waiting = re.findall(r"H([\d.]+)V([\d.]+)", charts[0]["path"])
    assert waiting == [("0", "60.0"), ("420", "0.0"), ("1000", "60")]
    assert "V30.0" in charts[2]["path"]


def test_a_level_that_was_high_for_a_moment_is_seen(bare: Any, tables: Any, frame: Any) -> None:
    rows = [(1, 1), (2, 9), (2.001, 1), (40, 0)]
    gauges = frame(
        "gauges",
        [{"time": int(at * MS), "name": "queued_requests", "value": value} for at, value in rows],
    )
    [chart] = requests.context(bare.result, {**tables, "gauges": gauges})["charts"]
    assert chart["summary"] == "at most 9"
    assert "V0.0" in chart["path"]


def test_rates_are_shown_as_the_result_has_them(bare: Any, tables: Any) -> None:
    given = (
        Measurement("goodput", 12.5, "requests/s", Better.HIGHER),
        Measurement("slo_attainment", None, "ratio", Better.HIGHER, "nothing was demanded."),
        Measurement("step_p50", 1, "ns", Better.LOWER),
    )
    lateness = (Measurement("arrival_lateness_max", 2_000_000.0, "ns", Better.LOWER),)
    result = replace(bare.result, metrics=given, results=lateness)
    context = requests.context(result, tables)
    assert context["rates"] == [given[0]]
    assert context["lateness"] == [*lateness]


def test_the_page_reads_without_a_script(bare: Any, tables: Any) -> None:
    page = page_of(bare, tables)
    assert '<section id="requests"' in page
    assert "3 requests were to arrive in the run:" in page
    assert page.count('class="level"') == 3
    assert "1 rejected: 64 + 8 tokens need 18 blocks of 4; the pool has 8." in page
    assert "<b>" not in page[page.index('id="requests"') : page.index('id="timeline"')]


def test_gauges_that_are_missing_cost_only_what_is_drawn_of_them(bare: Any, tables: Any) -> None:
    less = {name: one for name, one in tables.items() if name != "gauges"}
    context = requests.context(bare.result, less)
    assert context["charts"] == []
    assert context["latencies"][0][2] == 1


def test_what_ticks_spend_their_time_with(bare: Any, tables: Any, frame: Any) -> None:
    did = [("decode", 0, 8), ("prefill", 8, 30), ("decode", 40, 4)]
    spans = frame(
        "spans",
        [{"name": name, "start": at * MS, "duration": length * MS} for name, at, length in did],
    )
    groups = requests.context(bare.result, {**tables, "spans": spans})["spans"]
    assert [(one["label"], one["count"], one["total"]) for one in groups] == [
        ("prefill", 1, 30 * MS),
        ("decode", 2, 12 * MS),
    ]
    assert "What ticks spend their time with" in page_of(bare, {**tables, "spans": spans})
    assert "What ticks spend their time with" not in page_of(bare, tables)
