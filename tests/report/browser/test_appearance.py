"""The page in all widths and colours, on paper, and without its script."""

import re
from typing import Any

import pytest

from opened_page import Opened, html_of

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [320, 375, 800, 2560])
def test_no_width_needs_sideways_scrolling(host_page: Opened, width: int) -> None:
    host_page.page.set_viewport_size({"width": width, "height": 900})
    host_page.page.wait_for_function(
        """width => document.documentElement.scrollWidth === width
            && document.getElementById("timeline-canvas").clientWidth <= width""",
        arg=width,
    )


@pytest.mark.parametrize(("choice", "dark"), [("theme-light", False), ("theme-dark", True)])
def test_the_reader_chooses_the_colours(host_page: Opened, choice: str, dark: bool) -> None:
    host_page.page.locator(f"#{choice}").check()
    ground = host_page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) / 3
    assert (brightness < 60) is dark


def test_commands_can_be_copied_or_selected(host_page: Opened) -> None:
    button = host_page.page.locator("pre.command button").first
    button.click()
    host_page.page.wait_for_function(
        "() => /^(Copied|Selected)/.test(document.querySelector('pre.command button').textContent)"
    )


def test_on_paper_the_still_timeline_takes_the_place_of_the_moving_one(host_page: Opened) -> None:
    host_page.page.emulate_media(media="print")
    assert host_page.page.locator("#timeline-still").is_visible()
    assert host_page.page.locator("#timeline-live").is_hidden()


def test_without_a_script_findings_and_timeline_are_there(
    open_page: Any, trace_run: Any, host_run: Any
) -> None:
    opened = open_page(html_of(host_run), java_script_enabled=False)
    page = opened.page
    assert page.get_by_text("Keep two steps in flight.").is_visible()
    assert page.get_by_text("the recording has no GPU counters.").is_visible()
    assert page.locator("#timeline-still").is_visible()
    assert page.locator("#timeline-still svg").count() == 7
    assert page.locator("#timeline-live").is_hidden()
    assert page.locator("[data-do]").first.is_hidden()
    page.locator("#theme-dark").check()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 20, 23)"


def test_damaged_data_leave_the_still_timeline_and_say_so(
    open_page: Any, host_run: Any, browser: Any
) -> None:
    html = re.sub(r'(id="timeline-data">)[^<]+', r"\1AAAA", html_of(host_run))
    file_page = open_page(html, java_script_enabled=False).page
    assert file_page.locator("#timeline-still").is_visible()
    context = browser.new_context()
    page = context.new_page()
    page.goto(file_page.url)
    notice = page.locator("#timeline-trouble")
    notice.wait_for(state="visible")
    assert notice.text_content().startswith(
        "The timeline cannot be made to move: its data are damaged"
    )
    assert page.locator("#timeline-still").is_visible()
    context.close()
