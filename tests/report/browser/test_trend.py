"""The trend page in a browser: all widths, both colours, on paper, by keys, without a script."""

import re
from typing import Any

import pytest

import made_nights
from tracekit.nightly.trend.page import render_trend

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page() -> str:
    """The page of forty made-up nights."""
    held = made_nights.history()
    kept = {"missed": held.missed, "now": made_nights.NOW, "redact": str, "links": str}
    return render_trend(held.series, held.nights, held.accepted, **kept)


@pytest.mark.parametrize("width", [320, 375, 800, 2560])
def test_no_width_needs_sideways_scrolling(open_page: Any, page: str, width: int) -> None:
    opened = open_page(page, java_script_enabled=True)
    opened.page.set_viewport_size({"width": width, "height": 900})
    assert opened.page.evaluate("document.documentElement.scrollWidth") == width
    assert opened.errors == []
    assert [one for one in opened.requests if not one.startswith(("file:", "data:"))] == []


def test_a_narrow_chart_begins_with_its_latest_nights(open_page: Any, page: str) -> None:
    opened = open_page(page)
    opened.page.set_viewport_size({"width": 375, "height": 900})
    seen = opened.page.evaluate(
        """() => {
            const chart = document.querySelector("figure.large .latest");
            const outer = chart.getBoundingClientRect();
            const marks = [...chart.querySelectorAll("a")].map(one => one.getBoundingClientRect());
            const inside = one => one.left >= outer.left - 4 && one.right <= outer.right + 4;
            return [inside(marks[0]), inside(marks[36])];
        }"""
    )
    assert seen == [False, True]


@pytest.mark.parametrize(("choice", "dark"), [("theme-light", False), ("theme-dark", True)])
def test_the_reader_chooses_the_colours_without_a_script(
    open_page: Any, page: str, choice: str, dark: bool
) -> None:
    opened = open_page(page, java_script_enabled=False)
    opened.page.locator(f"#{choice}").check()
    for of, what in (("body", "backgroundColor"), ("figure .nights .band", "fill")):
        color = opened.page.locator(of).first.evaluate(f"one => getComputedStyle(one).{what}")
        brightness = sum(int(part) for part in re.findall(r"\d+", color)[:3]) / 3
        assert (brightness < 60) is dark


def test_keys_stop_at_charts_and_tables_but_not_at_each_night(open_page: Any, page: str) -> None:
    opened = open_page(page)
    stops = []
    for _ in range(30):
        opened.page.keyboard.press("Tab")
        stops.append(
            opened.page.evaluate(
                "() => document.activeElement.getAttribute('aria-label')"
                " || document.activeElement.textContent.trim().slice(0, 40)"
            )
        )
    assert stops[0].startswith("Skip to the")
    for one in ("Step p50 over nights", "Tokens per second over nights", "Findings over time"):
        assert one in stops


def test_on_paper_all_is_open_and_nothing_is_cut(open_page: Any, page: str) -> None:
    opened = open_page(page)
    opened.page.emulate_media(media="print")
    assert opened.page.locator("nav").is_hidden()
    assert opened.page.locator("#capture-1 .values").is_visible()
    cut = opened.page.evaluate(
        """() => [...document.querySelectorAll("figure.large .latest")]
            .filter(one => one.scrollWidth > one.clientWidth + 1).length"""
    )
    assert cut == 0
