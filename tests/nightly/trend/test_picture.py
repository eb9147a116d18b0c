"""Pictures of nights: valid SVG whose dates, panels, tags and marks lie where they should."""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.nightly.trend.course import Happening, State, days_of
from tracekit.nightly.trend.picture import (
    Mark,
    Panel,
    Picture,
    dated,
    day_axis,
    day_marks,
    lines,
    nights,
    svg,
)
from tracekit.report.chart import Axis, Plane, linear

SIXTH = "1970-01-06T00:00:00+00:00"
HOSTILE = "</title><script>alert(1)</script>"
PLANE = Plane(100, 50, Axis("", 0, 10, (), str), Axis("", 0, 5, (), str))


def axis_of(first: str, last: str) -> Axis:
    return day_axis([days_of(first), days_of(last)])


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("2026-11-20", "2026-11-20", "20 Nov 2026"),
        ("2026-12-30", "2027-01-02", "30 Dec 2026, 31 Dec, 1 Jan 2027, 2 Jan"),
        ("2026-10-01", "2026-10-13",
         "1 Oct 2026, 3 Oct, 5 Oct, 7 Oct, 9 Oct, 11 Oct, 13 Oct"),
        ("2026-10-12", "2026-11-20", "12 Oct 2026, 19 Oct, 26 Oct, 2 Nov, 9 Nov, 16 Nov"),
    ],
)  # fmt: skip
def test_dates_are_round_and_few(first: str, last: str, expected: str) -> None:
    assert ", ".join(words for _, words in day_marks(axis_of(first, last), 800)) == expected


@given(st.integers(0, 4000), st.integers(0, 4000), st.integers(200, 900))
def test_dates_lie_on_the_axis_in_order_and_have_room(begin: int, days: int, width: int) -> None:
    start = datetime(2020, 1, 1, 2, 30, tzinfo=UTC) + timedelta(days=begin)
    x = axis_of(start.isoformat(), (start + timedelta(days=days)).isoformat())
    marks = day_marks(x, width)
    assert all(x.low <= at <= x.high for at, _ in marks)
    assert all(before < after for (before, _), (after, _) in pairwise(marks))
    assert len(marks) <= max(2, width / 66) + 1


def picture(*letters: str, words: str = "") -> Picture:
    marks = nights([Mark(1, 5, State.OK, "night 1")])
    panel = Panel("Values", 150, linear("", 0, 10, "{:g}".format), (marks,))
    tags = [Happening(letter, SIXTH, False, words or letter) for letter in letters]
    return Picture("Title", "Summary.", 960, day_axis([0, 10]), (panel,), tags, (marks,))


def test_it_is_xml_with_words_and_numbers_at_their_lines() -> None:
    text = svg(picture())
    root = ET.fromstring(text)
    assert (root.get("role"), root.get("class")) == ("img", "nights")
    assert (root.findtext("title"), root.findtext("desc")) == ("Title", "Summary.")
    assert "style=" not in text
    assert " id=" not in text
    [panel] = [one for one in root.iter("g") if one.find("text[@class='name end']") is not None]
    found = [one.text for one in panel.findall("text")]
    assert found == ["Values", "0", "2.5", "5", "7.5", "10"]
    assert len(panel.findall("path[@class='grid']")) == 5


def test_tags_do_not_cover_one_another_and_say_what_they_are() -> None:
    root = ET.fromstring(svg(picture(*"ABC")))
    boxes = [(float(one.get("x", "")), float(one.get("width", ""))) for one in root.iter("rect")]
    assert len(boxes) == 3
    assert all(x + width <= after for (x, width), (after, _) in pairwise(boxes))
    titles = [one.findtext("title") for one in root.iter("g") if one.get("class") == "changed"]
    assert titles == ["A: A", "B: B", "C: C"]


def test_words_are_escaped_and_pass_through_who_redacts() -> None:
    text = svg(picture("A", words=HOSTILE), lambda words: words.replace("alert", "[gone]"))
    assert "<script" not in text
    assert "[gone](1)" in text
    assert "alert" not in text


def drawn(shape: Any) -> list[ET.Element]:
    return list(shape(PLANE))


@pytest.mark.parametrize(
    ("runs", "end", "path"),
    [
        ([[(0, 0), (5, 5)], [], [(7, 1)], [(8, 0), (10, 5)]], "",
         "M0.0 50.0L50.0 0.0M80.0 50.0L100.0 0.0"),
        ([[(5, -100), (5, 100)]], "", "M50.0 50.0L50.0 0.0"),
        ([[(0, 1), (0, 2), (5, 2), (5, 1)]], "Z", "M0.0 40.0L0.0 30.0L50.0 30.0L50.0 40.0Z"),
    ],
)  # fmt: skip
def test_a_line_is_broken_at_gaps_and_ends_at_the_edge(runs: Any, end: str, path: str) -> None:
    [element] = drawn(lines(runs, "limit", "too much", end=end))
    assert (element.get("class"), element.get("d")) == ("limit", path)
    assert element.findtext("title") == "too much"
    assert drawn(lines([[(1, 1)]], "median")) == []


def test_words_of_change_points_do_not_cover_one_another() -> None:
    near = [(1.0, "1 Oct: +5 %", "error"), (2.0, "2 Oct: +5 %", "good"), (9.0, "9 Oct", "plain")]
    groups = drawn(dated(near))
    assert [one.get("class") for one in groups] == ["step error", "step good", "step plain"]
    words = [found for one in groups if (found := one.find("text")) is not None]
    assert [one.get("y") for one in words] == ["11.0", "24.0", "37.0"]
    assert [one.get("class") for one in words] == ["begin", "begin", "end"]


def test_every_ending_has_a_shape_of_its_own() -> None:
    shapes = [drawn(nights([Mark(5, 2, state, "words")]))[0] for state in (*State, None)]
    assert {one.findtext("title") for one in shapes} == {"words"}
    assert len({(one.tag, one.get("d"), one.get("r")) for one in shapes}) == len(State) + 1
