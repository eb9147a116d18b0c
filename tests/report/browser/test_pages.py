"""Pages in all widths and colours, on paper, without their script, against hostile strings."""

import re
from typing import Any

import pytest

import made_nights
from opened_page import MS, Opened, html_of, words
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.fleet.batch.page import render_batch
from tracekit.fleet.batch.results import BatchRow, RowFinding
from tracekit.nightly.trend.page import render_trend
from tracekit.report.render import render

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def batch() -> str:
    """The page of sixty recordings, of which some failed."""
    found = RowFinding("bubbles", "warning", "The GPU idles 12 % of the steady window.", "", 2.5)
    good = [
        BatchRow(
            f"s3://bucket/a/rather/long/folder/of/traces/run-{n:03d}.trace",
            *("k", "k", "", "run", "ok"),
            device="Apple M4, macOS 26.3.1",
            workload="paged",
            duration=2.0,
            metrics={"gpu_busy": 1e6 * (n % 17), "tokens_per_second": 900.0 + n, "idle_ratio": 0.1},
            findings=(found,) if n % 3 else (),
        )
        for n in range(55)
    ]
    failed = ("k", "k", "", "run", "failed")
    bad = [BatchRow(f"bad-{n}", *failed, f"bad-{n} is cut.", "Export it.") for n in range(5)]
    return render_batch([*good, *bad], "out", redact=str)


@pytest.fixture(scope="module")
def trend() -> str:
    held = made_nights.history()
    kept = {"missed": held.missed, "now": made_nights.NOW, "redact": str, "links": str}
    return render_trend(held.series, held.nights, held.accepted, **kept)


def outside(opened: Opened) -> list[str]:
    return [url for url in opened.requests if not url.startswith(("file:", "data:"))]


def darkness(page: Any, of: str = "body", what: str = "backgroundColor") -> bool:
    color = page.locator(of).first.evaluate(f"one => getComputedStyle(one).{what}")
    return sum(int(part) for part in re.findall(r"\d+", color)[:3]) / 3 < 60


@pytest.mark.parametrize("which", ["report", "batch", "trend"])
def test_no_width_needs_sideways_scrolling_and_the_reader_chooses_the_colours(
    open_page: Any, request: pytest.FixtureRequest, paced_run: Any, which: str
) -> None:
    html = html_of(paced_run) if which == "report" else request.getfixturevalue(which)
    opened = open_page(html)
    page = opened.page
    for width in (320, 400, 800, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("width => document.documentElement.scrollWidth === width", arg=width)
        if which == "report":
            cut = "one => one.scrollWidth - one.clientWidth"
            assert page.locator(".sums .scroll").evaluate(cut) <= (120 if width < 400 else 0)
    for choice, dark in (("theme-light", False), ("theme-dark", True)):
        page.locator(f"#{choice}").check()
        assert darkness(page) is dark
    assert (opened.errors, outside(opened)) == ([], [])


@pytest.mark.parametrize(
    ("choice", "shown"), [("all", 60), ("failed", 5), ("found", 36), ("clean", 19)]
)
def test_a_reader_chooses_what_a_batch_lists_without_a_script(
    open_page: Any, batch: str, choice: str, shown: int
) -> None:
    opened = open_page(batch, java_script_enabled=False)
    opened.page.locator(f"#show-{choice}").check()
    rows = opened.page.locator("table.runs tbody tr")
    assert sum(row.is_visible() for row in rows.all()) == shown


def test_a_narrow_chart_of_nights_begins_with_the_latest_and_paper_shows_all(
    open_page: Any, trend: str
) -> None:
    page = open_page(trend).page
    page.set_viewport_size({"width": 375, "height": 900})
    seen = page.evaluate(
        """() => {
            const chart = document.querySelector("figure.large .latest");
            const outer = chart.getBoundingClientRect();
            const marks = [...chart.querySelectorAll("a")].map(one => one.getBoundingClientRect());
            const inside = one => one.left >= outer.left - 4 && one.right <= outer.right + 4;
            return [inside(marks[0]), inside(marks[36])];
        }"""
    )
    assert seen == [False, True]
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator("#capture-1 .values").is_visible()
    cut = page.evaluate(
        """() => [...document.querySelectorAll("figure.large .latest")]
            .filter(one => one.scrollWidth > one.clientWidth + 1).length"""
    )
    assert cut == 0


def test_keys_stop_at_charts_and_tables_but_not_at_each_night(open_page: Any, trend: str) -> None:
    page = open_page(trend).page
    stops = []
    for _ in range(30):
        page.keyboard.press("Tab")
        stops.append(
            page.evaluate(
                "() => document.activeElement.getAttribute('aria-label')"
                " || document.activeElement.textContent.trim().slice(0, 40)"
            )
        )
    assert stops[0].startswith("Skip to the")
    shown = {"Step p50 over nights", "Tokens per second over nights", "Findings over time"}
    assert shown <= set(stops)


def test_without_a_script_or_on_paper_findings_and_timeline_are_there(
    open_page: Any, host_run: Any, host_page: Opened
) -> None:
    page = open_page(html_of(host_run), java_script_enabled=False).page
    assert page.get_by_text("Keep two steps in flight.").is_visible()
    assert page.get_by_text("the recording has no GPU counters.").is_visible()
    assert page.locator("#timeline-still svg").count() == 7
    assert page.locator("#timeline-live").is_hidden()
    page.locator("#theme-dark").check()
    assert darkness(page)
    host_page.page.emulate_media(media="print")
    assert host_page.page.locator("#timeline-still").is_visible()
    assert host_page.page.locator("#timeline-live").is_hidden()


def test_damaged_data_leave_the_still_timeline_and_say_so(
    open_page: Any, host_run: Any, browser: Any
) -> None:
    html = re.sub(r'(id="timeline-data">)[^<]+', r"\1AAAA", html_of(host_run))
    address = open_page(html, java_script_enabled=False).page.url
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    notice = page.locator("#timeline-trouble")
    notice.wait_for(state="visible")
    assert notice.text_content().startswith("The timeline cannot be made to move: its data are dam")
    assert page.locator("#timeline-still").is_visible()
    context.close()


def test_the_policy_holds_against_hostile_strings_and_what_slipped_in(
    open_page: Any, host_run: Any, frame: Any
) -> None:
    script = "</script><script>window.attacked=1</script>"
    attack = f"{script}<img src='//x.invalid/a.png' onerror='window.attacked=2'>"
    finding = Finding(attack, Severity.ERROR, attack, attack, (Evidence(attack, 1, 2),))
    rows = [{"start": 5, "duration": 5, "channel": attack, "label": attack, "target": True}]
    tables = {**host_run.tables, "gpu_intervals": frame("gpu_intervals", rows)}
    opened = open_page(render(host_run.having(findings=(finding,)).result, tables, redact=str))
    opened.page.locator("#timeline-search").fill("attacked")
    opened.page.locator('[data-do="next"]').click()
    assert (
        "<script>window.attacked=1</script>" in opened.page.locator("#timeline-tip b").inner_text()
    )
    assert opened.page.evaluate("window.attacked") is None
    assert (opened.errors, outside(opened)) == ([], [])
    slipped = "<script>window.attacked=1</script><img src='https://x.invalid/a.png'></main>"
    opened = open_page(html_of(host_run).replace("</main>", slipped))
    assert opened.page.evaluate("window.attacked") is None
    assert len([one for one in opened.errors if "Content Security Policy" in one]) >= 2


def test_a_finding_leads_to_its_window_in_the_same_words(host_page: Opened) -> None:
    page = host_page.page
    link = page.locator("#findings a[data-begin]")
    begin, end = host_page.settled(link.click)
    assert begin < 628 * MS < 641 * MS < end
    assert end - begin == pytest.approx(26 * MS, rel=0.01)
    assert page.evaluate("document.activeElement.id") == "timeline-canvas"
    host_page.sums("In view: 26 ms")
    assert words(page.locator("#timeline-sums tr").first)[2:4] == ["13", "ms"]
    assert link.inner_text().startswith("13 ms at")
    button = page.locator("pre.command button").first
    button.click()
    page.wait_for_function(
        "() => /^(Copied|Selected)/.test(document.querySelector('pre.command button').textContent)"
    )


def test_intervals_are_told_under_the_pointer_and_by_keys(host_page: Opened) -> None:
    page = host_page.page
    canvas, spoken = page.locator("#timeline-canvas"), page.locator("#timeline-spoken")
    canvas.focus()
    for _ in range(3):
        canvas.press("ArrowDown")
    assert spoken.text_content() == "Steps: 5 intervals. marked by the workload"
    canvas.press("n")
    assert spoken.text_content().startswith("warm-up. 8 ms from 0.600 000 s. until handed over: 1")
    for key, at in (("n", "0.610"), ("n", "0.620"), ("p", "0.610")):
        canvas.press(key)
        assert f"from {at} 000 s" in spoken.text_content()
    window = host_page.settled(lambda: canvas.press("Enter"))
    assert window == pytest.approx((608 * MS, 620 * MS), abs=MS)
    host_page.settled(page.locator('[data-do="steady"]').click)
    x, y, width, _ = host_page.canvas()
    page.mouse.move(x + width * 0.2, y + 60)
    tip = page.locator("#timeline-tip")
    tip.wait_for(state="visible")
    assert tip.locator("b").text_content() == "steady"
    assert "38 ms from 0.620 000 s" in tip.inner_text()
    page.mouse.move(x + 5, y + 60)
    tip.wait_for(state="hidden")


def test_a_search_counts_and_goes_from_match_to_match(host_page: Opened) -> None:
    page = host_page.page
    field, found = page.locator("#timeline-search"), page.locator("#timeline-matches")
    spoken = page.locator("#timeline-spoken")
    for text, number in (("no such", 0), ("DECODE", 1), ("submissions", 5), ("steady", 5)):
        field.fill(text)
        assert found.text_content() == f"{number} found"
    said = []
    for _ in range(5):
        page.locator('[data-do="next"]').click()
        said.append(spoken.text_content())
    assert len(set(said)) == 5
    page.locator('[data-do="previous"]').click()
    assert spoken.text_content() == said[-2]
    for key, at in (("Enter", -1), ("Shift+Enter", -2)):
        field.press(key)
        assert spoken.text_content() == said[at]
    field.press("Escape")
    assert found.text_content() == ""


def test_levels_and_what_belongs_together_are_told(
    open_page: Any, trace_run: Any, paced_run: Any
) -> None:
    opened = open_page(html_of(trace_run))
    names = opened.page.locator("#timeline-sums th").all_text_contents()
    assert names == ["GPU Blit", "GPU Compute", "Idle gaps", "Compiler", "Driver", "WindowServer"]
    assert words(opened.page.locator("#timeline-sums tr").last)[1:4] == ["2", "25", "µs"]
    opened = open_page(html_of(paced_run))
    row = opened.page.locator("#timeline-sums tr", has_text="Occupancy")
    assert row.locator("td").all_text_contents() == ["60", "30.0 % to 50.0 %", ""]
    opened.page.locator("#timeline-search").fill("GPU Compute")
    opened.page.locator('[data-do="next"]').click()
    assert "command buffer: no. 1" in opened.page.locator("#timeline-spoken").text_content()
    assert opened.errors == []
