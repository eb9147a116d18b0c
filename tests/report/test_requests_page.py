"""The panel of requests in a browser: without script, in the dark, on a telephone."""

from pathlib import Path
from typing import Any

import pytest

from tracekit.analysis.result import Better, Measurement, Result
from tracekit.base.recording import Provenance
from tracekit.report.render import render

pytestmark = pytest.mark.browser

MS = 1_000_000


@pytest.fixture(scope="module")
def page(frame: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty requests, two at a time, 30 ms each, that arrive every 10 ms."""
    waits = [max(0, number // 2 * 30 - number * 10) for number in range(20)]
    requests = [
        {
            "start": number * 10 * MS,
            "number": number,
            "state": "completed",
            "first_token": (wait + 10) * MS,
            "last_token": (wait + 30) * MS,
            "produced": 3,
        }
        for number, wait in enumerate(waits)
    ]
    tokens = [
        {"time": one["start"] + one["first_token"] + 10 * MS * index, "request": one["number"]}
        | {"index": index}
        for one in requests
        for index in range(3)
    ]
    steps = [
        {"start": at * 10 * MS, "duration": 10 * MS, "phase": "steady", "tokens": 2, "variant": ""}
        for at in range(30)
    ]
    limits = [("limit_active_sequences", 2.0), ("limit_blocks", 9.0)]
    levels = [
        {"time": at * 30 * MS, "name": name, "value": float(value)}
        for at in range(10)
        for name, value in (
            ("active_sequences", 2),
            ("queued_requests", at % 4),
            ("used_blocks", at % 10),
        )
    ]
    known = [{"time": 0, "name": name, "value": value} for name, value in limits]
    tables = {
        "requests": frame("requests", requests),
        "request_tokens": frame("request_tokens", tokens),
        "steps": frame("steps", steps),
        "gauges": frame("gauges", known + levels),
        "spans": frame(
            "spans", [{"name": "decode", "start": one["start"], "duration": MS} for one in steps]
        ),
    }
    metrics = (Measurement("goodput", 12.5, "requests/s", Better.HIGHER),)
    html = render(Result(Provenance(), metrics=metrics), tables, redact=lambda text: text)
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(html, encoding="utf-8")
    return file


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("width", [320, 768, 1600])
def test_the_panel_needs_neither_script_nor_width(
    browser: Any, page: Path, width: int, script: bool
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 800}, java_script_enabled=script
    )
    window = context.new_page()
    window.goto(page.as_uri())
    panel = window.locator("#requests")
    assert panel.locator("h2").inner_text() == "Requests"
    assert panel.locator("svg.level").count() == 3
    for chart in panel.locator("svg.level").all():
        box = chart.bounding_box()
        assert box["width"] > 200
        assert box["height"] == 60
    box = panel.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_levels_are_filled_in_both_themes(browser: Any, page: Path, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme)
    window = context.new_page()
    window.goto(page.as_uri())
    fills = window.locator("#requests svg.level path").evaluate_all(
        "paths => paths.map(path => getComputedStyle(path).fill)"
    )
    grounds = window.locator("#requests svg.level").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(fills)) == 3
    assert set(fills).isdisjoint(grounds)
    context.close()


def test_what_it_says_can_be_heard(browser: Any, page: Path) -> None:
    context = browser.new_context()
    window = context.new_page()
    window.goto(page.as_uri())
    names = window.locator("#requests svg.level").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label'))"
    )
    assert names == [
        "Waiting, at most 3",
        "Active, at most 2 of 2",
        "Blocks, at most 9 of 9",
    ]
    words = window.locator("#requests").inner_text()
    assert "20 requests were to arrive in the run: 20 completed." in words
    assert "12.5 requests/s" in words
    context.close()
