"""Nothing leaves the page, and nothing that it shows runs."""

from typing import Any

import pytest

from opened_page import html_of
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.report.render import render

pytestmark = pytest.mark.browser


def test_the_policy_holds_against_hostile_strings(
    open_page: Any, host_run: Any, frame: Any
) -> None:
    script = "</script><script>window.attacked=1</script>"
    attack = f"{script}<img src='//x.invalid/a.png' onerror='window.attacked=2'>"
    finding = Finding(attack, Severity.ERROR, attack, attack, (Evidence(attack, 1, 2),))
    rows = [{"start": 5, "duration": 5, "channel": attack, "label": attack, "target": True}]
    tables = {**host_run.tables, "gpu_intervals": frame("gpu_intervals", rows)}
    run = host_run.having(findings=(finding,))
    opened = open_page(render(run.result, tables, redact=str))
    opened.page.locator("#timeline-search").fill("attacked")
    opened.page.locator('[data-do="next"]').click()
    assert (
        "<script>window.attacked=1</script>"
        in opened.page.locator("#timeline-tip b").text_content()
    )
    assert opened.page.evaluate("window.attacked") is None
    assert [url for url in opened.requests if not url.startswith(("file:", "data:"))] == []
    assert opened.errors == []


def test_the_policy_stops_a_script_and_a_request_that_slipped_in(
    open_page: Any, host_run: Any
) -> None:
    slipped = "<script>window.attacked=1</script><img src='https://x.invalid/a.png'></main>"
    opened = open_page(html_of(host_run).replace("</main>", slipped))
    assert opened.page.evaluate("window.attacked") is None
    assert len([one for one in opened.errors if "Content Security Policy" in one]) >= 2
