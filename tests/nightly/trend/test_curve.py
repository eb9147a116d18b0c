"""A series as a picture: which panels it has, what it says, what it marks, and its shapes."""

import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Step
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend import curve as curves
from tracekit.nightly.trend.course import Happening, State, days_of, happenings
from tracekit.nightly.trend.curve import RECENT, Curve, Mark, Picture, day_axis, day_marks, svg
from tracekit.report.chart import Axis, Plane, linear

MS = 1e6
MEDIAN = "Median of the pairs, with the least and the most"
PLANE = Plane(100, 50, Axis("", 0, 10, (), str), Axis("", 0, 5, (), str))


def drawn(course: Any, series: Any, *steps: Step) -> tuple[Picture, ET.Element]:
    x = day_axis([days_of(fared.at) for fared in course.fared])
    curve = Curve(series, steps, course, x, happenings(course), lambda fared: fared.at[8:10])
    picture = curves.picture_of(curve)
    return picture, ET.fromstring(svg(picture))


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in root.iter() if name in element.get("class", "").split()]


def titles(root: ET.Element) -> list[str]:
    return [title.text or "" for title in root.iter("title")]


def nights(made: Any, *expected: float | None, **facts: Any) -> list[Any]:
    return [
        made.night(day, made.entry(judged=(made.judged(change, **facts),)))
        for day, change in enumerate(expected, 1)
    ]


@pytest.mark.parametrize(
    ("better", "scale", "worse"),
    [
        ("lower", "ratio", 1.05 * 1.03 - 1),
        ("higher", "ratio", 1.05 / 1.03 - 1),
        ("lower", "difference", 0.08),
        ("higher", "difference", 0.02),
    ],
)
def test_a_series_that_decides_has_its_change_and_the_gates_limit_above_its_values(
    made: Any, better: str, scale: str, worse: float
) -> None:
    series = made.series(made.point(1, MS, reference=MS, change=0.0, low=-0.01, high=0.02))
    held = nights(made, 0.05, better=better, scale=scale)
    picture, root = drawn(made.course(held, series), series)
    above, below = picture.panels
    assert above.title.endswith("; shaded: what is expected ± 3.0 %; dashed: the limit")
    assert below.title == f"{MEDIAN}; dashed: the reference"
    assert above.y.low <= -0.01
    [limit] = of_class(root, "limit")
    found = re.match(r"M[\d.]+ ([\d.]+)L", limit.get("d", ""))
    assert found
    assert float(found[1]) == pytest.approx(above.y.project(worse, 150, 0), abs=0.1)


@pytest.mark.parametrize(
    ("expected", "stretches"), [([0.0, 0.0, 0.05, 0.05, None, 0.05], 3), ([None, None], 0)]
)
def test_nights_in_a_row_of_which_the_same_is_expected_are_one_stretch(
    made: Any, expected: list[float | None], stretches: int
) -> None:
    days = range(1, len(expected) + 1)
    series = made.series(*(made.point(day, MS, reference=MS, change=0.0) for day in days))
    picture, root = drawn(made.course(nights(made, *expected), series), series)
    limits = [limit.get("d", "").count("M") for limit in of_class(root, "limit")]
    assert limits == [stretches] * bool(stretches)
    assert len(of_class(root, "band")) == len(limits)
    assert ("shaded" in picture.panels[0].title) is bool(stretches)


def test_nights_without_a_value_are_gaps_with_a_mark_and_never_zero(made: Any) -> None:
    broken = made.entry(Outcome.FAILED, reason="It broke.")
    values = {1: MS, 2: 1.1 * MS, 3: None, 5: 1.2 * MS, 6: MS}
    held = [made.night(day, broken if day == 3 else made.entry()) for day in values]
    series = made.series(*(made.point(day, value) for day, value in values.items()))
    course = made.course(held, series, missed=[Missed("p", "m", made.at(4), "It slept.")])
    picture, root = drawn(course, series)
    assert [panel.title for panel in picture.panels] == [MEDIAN]
    assert not of_class(root, "reference")
    [line] = of_class(root, "median")
    assert line.get("d", "").count("M") == 2
    assert picture.panels[0].y.low > 0
    assert {"3 Nov 2026: failed: It broke.", "4 Nov 2026: missed: It slept."} <= {*titles(root)}
    assert picture.summary == (
        "5 nights, 4 with a value, from 1 ms to 1.20 ms; the last, of 6 Nov 2026, 1 ms."
    )
    blank = made.series(made.point(1, None, reference=1.0, reason="It broke."))
    picture, _ = drawn(made.course(nights(made, None), blank), blank)
    assert picture.panels[0].title == "No night has a value"
    assert picture.summary == "1 night, none with a value."


def test_a_step_is_dated_and_divides_the_levels(made: Any) -> None:
    values = [1.0, 1.0, 1.1, 1.1]
    series = made.series(*(made.point(day, value * MS) for day, value in enumerate(values, 1)))
    course = made.course(nights(made, *[None] * 4), series)
    picture, root = drawn(course, series, Step(2, MS, 1.1 * MS, 0.1))
    [step] = of_class(root, "step")
    assert (step.get("class"), step.findtext("text")) == ("step error", "3 Nov: +10.0 %")
    [levels] = of_class(root, "level")
    assert levels.get("d", "").count("M") == 2
    assert picture.summary.endswith("Changed on 3 Nov 2026, +10.0 %, worse.")


def test_of_many_nights_the_latest_have_marks_and_those_that_stand_out(made: Any) -> None:
    outcomes = {3: Outcome.REGRESSION, 5: Outcome.INCONCLUSIVE}
    held, points = [], []
    for place in range(RECENT + 30):
        name, at = f"n{place}", f"2026-{place // 28 + 1:02}-{place % 28 + 1:02}T02:00"
        held.append(made.replace(made.night(1, made.entry()), id=name, started=at))
        point = made.point(1, MS, outcome=outcomes.get(place, Outcome.OK))
        points.append(made.replace(point, night=name, at=at))
    series = made.series(*points)
    _, root = drawn(made.course(held, series), series)
    assert len([words for words in titles(root) if "UTC" in words]) == RECENT + 2
    [line] = of_class(root, "median")
    assert line.get("d", "").count("L") == RECENT + 29


def test_a_mark_says_what_its_night_found_and_leads_to_the_report(made: Any) -> None:
    facts = {"change": 0.1, "low": 0.0, "high": 0.2, "pairs": 10, "commit": "a" * 40}
    facts |= {"least": 0.9 * MS, "most": 1.1 * MS}
    worse = made.point(1, MS, outcome=Outcome.REGRESSION, reason="Worse.", **facts)
    series = made.series(worse, made.point(2, MS))
    _, root = drawn(made.course(nights(made, None, None), series), series)
    assert {link.get("tabindex") for link in root.iter("a")} == {"-1"}, "keys do not stop at each"
    assert {link.findtext("title"): link.get("href") for link in root.iter("a")} == {
        "01 Nov 2026 02:30 UTC: 1 ms, +10.0 % [0.0 % … +20.0 %] from the reference; pairs from "
        "900 µs to 1.10 ms; 10 pairs; commit aaaaaaaaaaaa; regression: Worse.": "01",
        "02 Nov 2026 02:30 UTC: 1 ms": "02",
    }


@pytest.mark.parametrize(
    ("unit", "values", "least", "most"),
    [
        ("count", [0.0, 0.0], 0, 1),
        ("bytes", [3 * 2**30, 3.2 * 2**30], 2.8 * 2**30, 3.4 * 2**30),
        ("ratio", [0.1, 0.2], 0, 0.3),
        ("ratio", [0.99, 1.0], 0.9, 1.0),
        ("tokens/s", [12_345.0, 12_346.0], 12_000, 12_800),
        ("ns", [-5.0, 5.0], -15, 15),
        ("ns", [1.0 * MS, 1.001 * MS], 0.95 * MS, 1.05 * MS),
    ],
)
def test_any_values_have_an_axis_that_holds_them_and_noise_is_not_drawn_large(
    made: Any, unit: str, values: list[float], least: float, most: float
) -> None:
    points = (made.point(day, value) for day, value in enumerate(values, 1))
    series = made.series(*points, unit=unit)
    picture, _ = drawn(made.course(nights(made, None, None), series), series)
    y = picture.panels[0].y
    assert least <= y.low <= values[0]
    assert values[1] <= y.high <= most
    assert y.high - y.low >= 0.03 * values[0]
    words = [y.words(mark) for mark in y.marks]
    assert len(words) == len(set(words)) > 1


def test_where_the_reference_moves_along_nights_add_up(made: Any) -> None:
    points = [
        made.point(day, MS, change=0.01, low=0.009, high=0.011, commit=f"c{day}",
                   reference_commit=f"c{day - 1}")
        for day in (1, 2, 3)
    ]  # fmt: skip
    series = made.series(*points)
    picture, _ = drawn(made.course(nights(made, None, None, None), series), series)
    assert "From the reference of 1 Nov 2026 on, nights add up to +3.0 % [" in picture.summary


def axis_of(first: str, last: str) -> Axis:
    return day_axis([days_of(first), days_of(last)])


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("2026-11-20", "2026-11-20", "20 Nov 2026"),
        ("2026-12-30", "2027-01-02", "30 Dec 2026, 31 Dec, 1 Jan 2027, 2 Jan"),
        ("2026-10-12", "2026-11-20", "12 Oct 2026, 19 Oct, 26 Oct, 2 Nov, 9 Nov, 16 Nov"),
    ],
)
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


def test_tags_do_not_cover_one_another_and_their_words_pass_through_who_redacts() -> None:
    hostile = "</title><script>alert(1)</script>"
    marks = curves.nights([Mark(1, 5, State.OK, "night 1")])
    panel = curves.Panel("Values", 150, linear("", 0, 10, "{:g}".format), (marks,))
    tags = [Happening(letter, "1970-01-06T00:00:00+00:00", False, hostile) for letter in "ABC"]
    whole = Picture("Title", "Summary.", 960, day_axis([0, 10]), (panel,), tags, (marks,))
    text = svg(whole, lambda words: words.replace("alert", "[gone]"))
    root = ET.fromstring(text)
    assert not [word for word in ("<script", "alert", "style=", " id=") if word in text]
    assert (root.findtext("title"), root.findtext("desc")) == ("Title", "Summary.")
    boxes = [(float(box.get("x", "")), float(box.get("width", ""))) for box in root.iter("rect")]
    assert len(boxes) == 3
    assert all(x + width <= after for (x, width), (after, _) in pairwise(boxes))
    assert titles(of_class(root, "changed")[1]) == ["B: </title><script>[gone](1)</script>"]
    [group] = [
        group for group in root.iter("g") if group.find("text[@class='name end']") is not None
    ]
    assert [words.text for words in group.findall("text")] == "Values 0 2 4 6 8 10".split()


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
    [element] = curves.lines(runs, "limit", "too much", end=end)(PLANE)
    assert (element.get("class"), element.get("d")) == ("limit", path)
    assert element.findtext("title") == "too much"
    assert list(curves.lines([[(1, 1)]], "median")(PLANE)) == []


def test_words_of_change_points_do_not_cover_one_another() -> None:
    near = [(1.0, "1 Oct: +5 %", "error"), (2.0, "2 Oct: +5 %", "good"), (9.0, "9 Oct", "plain")]
    groups = list(curves.dated(near)(PLANE))
    assert [group.get("class") for group in groups] == ["step error", "step good", "step plain"]
    words = [found for group in groups if (found := group.find("text")) is not None]
    assert [(found.get("y"), found.get("class")) for found in words] == [
        *(("11.0", None), ("24.0", None), ("37.0", "end"))
    ]


def test_every_ending_has_a_shape_of_its_own() -> None:
    marks = [Mark(5, 2, state, "words") for state in (*State, None)]
    shapes = list(curves.nights(marks)(PLANE))
    assert {shape.findtext("title") for shape in shapes} == {"words"}
    known = {(shape.tag, shape.get("d"), shape.get("r")) for shape in shapes}
    assert len(known) == len(State) + 1
