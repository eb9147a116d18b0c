"""Pictures of nights: valid SVG whose dates, panels and tags lie where they should."""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.nightly.trend.course import Happening, State, days_of
from tracekit.nightly.trend.picture import (
    FLAT,
    Mark,
    Panel,
    Picture,
    day_axis,
    day_marks,
    nights,
    svg,
)
from tracekit.report.chart import Axis, linear

SIXTH = "1970-01-06T00:00:00+00:00"
HOSTILE = "</title><script>alert(1)</script>"


def axis_of(first: str, last: str) -> Axis:
    return day_axis([days_of(first), days_of(last)])


def words(first: str, last: str, width: float = 800) -> list[str]:
    return [one for _, one in day_marks(axis_of(first, last), width)]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        pytest.param("2026-11-20", "2026-11-20", ["20 Nov 2026"], id="one-night"),
        pytest.param(
            "2026-12-30",
            "2027-01-02",
            ["30 Dec 2026", "31 Dec", "1 Jan 2027", "2 Jan"],
            id="new-year",
        ),
        pytest.param("2026-10-01", "2026-10-21",
            ["1 Oct 2026", "3 Oct", "5 Oct", "7 Oct", "9 Oct", "11 Oct", "13 Oct", "15 Oct",
             "17 Oct", "19 Oct", "21 Oct"], id="every-other-day"),
        pytest.param("2026-10-12", "2026-11-20",
            ["12 Oct 2026", "19 Oct", "26 Oct", "2 Nov", "9 Nov", "16 Nov"], id="weeks"),
    ],
)  # fmt: skip
def test_dates_are_round_and_few(first: str, last: str, expected: list[str]) -> None:
    assert words(first, last) == expected


@given(st.integers(0, 4000), st.integers(0, 4000), st.integers(200, 900))
def test_dates_lie_on_the_axis_in_order_and_have_room(begin: int, days: int, width: int) -> None:
    start = datetime(2020, 1, 1, 2, 30, tzinfo=UTC) + timedelta(days=begin)
    x = axis_of(start.isoformat(), (start + timedelta(days=days)).isoformat())
    marks = day_marks(x, width)
    assert all(x.low <= at <= x.high for at, _ in marks)
    assert all(before < after for (before, _), (after, _) in pairwise(marks))
    assert len(marks) <= max(2, width / 66) + 1


def picture(**facts: object) -> Picture:
    panel = Panel("Values", linear("", 0, 10, "{:g}".format), (nights([mark(1, 5)]),))
    kept = {"size": FLAT, "x": day_axis([0, 10]), "panels": (panel,), **facts}
    return Picture("Title", "Summary.", **kept)  # type: ignore[arg-type]


def mark(at: float, value: float, state: State | None = State.OK, href: str = "") -> Mark:
    return Mark(at, value, state, f"night {at}", href)


def test_it_is_xml_with_a_title_a_description_and_nothing_that_runs() -> None:
    text = svg(picture())
    root = ET.fromstring(text)
    assert (root.get("role"), root.get("class")) == ("img", "nights")
    assert (root.findtext("title"), root.findtext("desc")) == ("Title", "Summary.")
    assert "style=" not in text
    assert " id=" not in text
    assert svg(picture()) == text


def test_numbers_of_the_axis_stand_at_their_lines() -> None:
    root = ET.fromstring(svg(picture()))
    group = next(one for one in root.iter("g") if one.find("text[@class='name end']") is not None)
    told = [one.text for one in group.findall("text")]
    assert told[0] == "Values"
    assert told[1:] == ["0", "2", "4", "6", "8", "10"] or told[1:] == ["0", "2.5", "5", "7.5", "10"]
    assert len(group.findall("path[@class='grid']")) == len(told) - 1


def test_tags_do_not_cover_one_another_and_say_what_they_are() -> None:
    tags = tuple(Happening(letter, SIXTH, False, f"because of {letter}") for letter in "ABC")
    root = ET.fromstring(svg(picture(tags=tags)))
    boxes = [(float(one.get("x", "")), float(one.get("width", ""))) for one in root.iter("rect")]
    assert len(boxes) == 3
    assert all(x + width <= after for (x, width), (after, _) in pairwise(boxes))
    titles = [one.findtext("title") for one in root.iter("g") if one.get("class") == "changed"]
    assert titles == ["A: because of A", "B: because of B", "C: because of C"]


def test_words_are_escaped_and_pass_through_who_redacts() -> None:
    tags = (Happening("A", SIXTH, False, HOSTILE),)
    text = svg(picture(tags=tags), lambda words: words.replace("alert", "[gone]"))
    assert "<script" not in text
    assert "alert" not in text
    assert "[gone](1)" in text
