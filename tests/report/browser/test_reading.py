"""What a reader finds on the timeline: findings, words, sums, matches."""

from typing import Any

import pytest

from opened_page import MS, Opened, html_of, words
from tracekit.report.render import render

pytestmark = pytest.mark.browser


def test_a_finding_leads_to_its_window(host_page: Opened) -> None:
    link = host_page.page.locator("#findings a[data-begin]")
    begin, end = host_page.settled(link.click)
    assert begin < 628 * MS < 641 * MS < end
    assert end - begin == pytest.approx(26 * MS, rel=0.01)
    assert host_page.page.evaluate("document.activeElement.id") == "timeline-canvas"
    host_page.page.wait_for_function(
        """() => {
            const top = document.getElementById("timeline").getBoundingClientRect().y;
            return top >= -5 && top <= 200;
        }"""
    )


def test_a_tooltip_says_what_is_under_the_pointer(host_page: Opened) -> None:
    page = host_page.page
    host_page.settled(page.locator('[data-do="steady"]').click)
    x, y, width, _ = host_page.canvas()
    page.mouse.move(x + width * 0.2, y + 60)
    tip = page.locator("#timeline-tip")
    tip.wait_for(state="visible")
    assert tip.locator("b").text_content() == "steady"
    assert "38 ms from 0.620 000 s" in tip.inner_text()
    page.mouse.move(x + 5, y + 60)
    tip.wait_for(state="hidden")


def test_intervals_can_be_walked_by_keys_and_are_spoken(host_page: Opened) -> None:
    page = host_page.page
    canvas = page.locator("#timeline-canvas")
    spoken = page.locator("#timeline-spoken")
    canvas.focus()
    for _ in range(3):
        canvas.press("ArrowDown")
    assert spoken.text_content() == "Steps: 5 intervals. marked by the workload"
    canvas.press("n")
    assert spoken.text_content().startswith(
        "warm-up. 8 ms from 0.600 000 s. until handed over: 1 ms"
    )
    for _ in range(2):
        canvas.press("n")
    assert "from 0.620 000 s" in spoken.text_content()
    canvas.press("p")
    assert "from 0.610 000 s" in spoken.text_content()
    begin, end = host_page.settled(lambda: canvas.press("Enter"))
    assert (begin, end) == pytest.approx((608 * MS, 620 * MS), abs=MS)


def test_a_search_counts_and_goes_from_match_to_match(host_page: Opened) -> None:
    page = host_page.page
    field = page.locator("#timeline-search")
    field.fill("DECODE")
    assert page.locator("#timeline-matches").text_content() == "1 found"
    field.press("Enter")
    assert page.locator("#timeline-spoken").text_content().startswith("decode_f16.")
    field.fill("steady")
    assert page.locator("#timeline-matches").text_content() == "5 found"
    starts = set()
    for _ in range(5):
        page.locator('[data-do="next"]').click()
        starts.add(page.locator("#timeline-spoken").text_content())
    assert len(starts) == 5
    last = page.locator("#timeline-spoken").text_content()
    page.locator('[data-do="previous"]').click()
    before = page.locator("#timeline-spoken").text_content()
    assert before != last
    field.press("Enter")
    assert page.locator("#timeline-spoken").text_content() == last
    field.press("Shift+Enter")
    assert page.locator("#timeline-spoken").text_content() == before
    field.fill("submissions")
    assert page.locator("#timeline-matches").text_content() == "5 found"
    field.fill("no such thing")
    assert page.locator("#timeline-matches").text_content() == "0 found"
    field.press("Escape")
    assert page.locator("#timeline-matches").text_content() == ""


def test_words_of_the_script_are_words_of_the_page(host_page: Opened, host_run: Any) -> None:
    page = host_page.page
    page.locator("#findings a[data-begin]").click()
    host_page.sums("In view: 26 ms")
    evidence = words(page.locator("#timeline-sums tr").first)
    assert evidence[2:4] == ["13", "ms"]
    assert page.locator("#findings a[data-begin]").inner_text().startswith("13 ms at")


def test_a_trace_of_a_gpu_is_drawn_with_its_channels(open_page: Any, trace_run: Any) -> None:
    opened = open_page(html_of(trace_run))
    names = opened.page.locator("#timeline-sums th").all_text_contents()
    assert names == ["GPU Blit", "GPU Compute", "Idle gaps", "Compiler", "Driver", "WindowServer"]
    others = words(opened.page.locator("#timeline-sums tr").last)
    assert others[1:4] == ["2", "25", "µs"]
    assert opened.errors == []


def test_levels_are_told_by_their_lowest_and_highest_in_view(
    open_page: Any, trace_run: Any, frame: Any
) -> None:
    rows = [
        {"start": at * 50_000, "duration": 50_000, "counter": "Occupancy", "value": value}
        | {"percentage": True, "clock": "gpu"}
        for at, value in enumerate([20.0, 60.0, 40.0, 30.0, 10.0, 50.0])
    ]
    tables = {**trace_run.tables, "gpu_counters": frame("gpu_counters", rows)}
    opened = open_page(render(trace_run.result, tables, redact=str))
    row = opened.page.locator("#timeline-sums tr", has_text="Occupancy")
    assert row.locator("td").all_text_contents() == ["6", "10.0 % to 60.0 %", ""]
    opened.page.locator("#timeline-search").fill("Occupancy")
    opened.page.locator('[data-do="next"]').click()
    tip = opened.page.locator("#timeline-tip")
    tip.wait_for(state="visible")
    assert tip.locator("span").first.text_content() == "20.0 %"
    assert opened.errors == []


def test_what_belongs_to_one_command_buffer_is_told_and_found_together(
    open_page: Any, trace_run: Any, frame: Any
) -> None:
    own = {"process": "probe", "pid": 41, "target": True, "clock": "gpu"}
    sent = [{"start": 90_000, "duration": 4_000, "event": "e", "command_buffer": 900, **own}]
    ran = [
        {"start": at, "duration": 9_000, "channel": "Compute", "label": f"k{at}", **own}
        | {"command_buffer": buffer}
        for at, buffer in ((100_000, 900), (120_000, 900), (140_000, 901))
    ]
    tables = {
        "submissions": frame("submissions", sent),
        "gpu_intervals": frame("gpu_intervals", ran),
    }
    opened = open_page(render(trace_run.result, tables, redact=str))
    opened.page.locator("#timeline-search").fill("k1")
    opened.page.locator('[data-do="next"]').click()
    assert "command buffer: no. 1" in opened.page.locator("#timeline-spoken").text_content()
    assert opened.errors == []
