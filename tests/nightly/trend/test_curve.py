"""A series as a picture: which panels it has, what it says, what it marks, and its shapes."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import short_nights as made
from tracekit.nightly.history.night import Missed, Night, Outcome
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.trend_changes import Changes, LevelStep, Ramp
from tracekit.nightly.trend import curve as curves
from tracekit.nightly.trend import picture as pictures
from tracekit.nightly.trend.course import Course, CourseEvent, CourseState, happenings
from tracekit.nightly.trend.curve import RECENT, Curve
from tracekit.nightly.trend.picture import Mark, NightAxis, Picture, TrendPanel, svg
from tracekit.pages.chart import Axis, Plane, linear

Golden = Callable[[str, str], None]
MS = 1e6
MEDIAN = "Median"
PLANE = Plane(100, 50, Axis("", 0, 10, (), str), Axis("", 0, 5, (), str))


def drawn(course: Course, series: Series, *steps: LevelStep) -> tuple[Picture, ET.Element]:
    x = NightAxis(tuple(fared.at for fared in course.fared))
    curve = Curve(
        series, Changes(steps), course, x, happenings(course), lambda fared: fared.at[8:10]
    )
    picture = curves.picture_of(curve)
    return picture, ET.fromstring(svg(picture))


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [element for element in root.iter() if name in element.get("class", "").split()]


def titles(root: ET.Element) -> list[str]:
    return [title.text or "" for title in root.iter("title")]


def nights(*expected: float | None, **facts: Any) -> list[Night]:
    return [
        made.night(day, made.entry(judged=(made.make_judgement(change, **facts),)))
        for day, change in enumerate(expected, 1)
    ]


def test_a_series_that_decides_has_its_change_and_the_gates_limit_above_its_values(
    subtests: pytest.Subtests,
) -> None:
    for better, scale, worse in (
        ("lower", "ratio", 1.05 * 1.03 - 1),
        ("higher", "ratio", 1.05 / 1.03 - 1),
        ("lower", "difference", 0.08),
        ("higher", "difference", 0.02),
    ):
        with subtests.test(better=better, scale=scale):
            series = made.series(made.point(1, MS, reference=MS, change=0.0, low=-0.01, high=0.02))
            series_nights = nights(0.05, better=better, scale=scale)
            picture, root = drawn(made.course(series_nights, series), series)
            upper_panel, lower_panel = picture.panels
            assert upper_panel.title == "Change; dashed: limit 3.0 %"
            assert lower_panel.title == f"{MEDIAN}; dashed: reference"
            assert upper_panel.y.minimum <= -0.01
            [limit] = of_class(root, "limit")
            path_match = re.match(r"M[\d.]+ ([\d.]+)L", limit.get("d", ""))
            assert path_match
            assert float(path_match[1]) == pytest.approx(
                upper_panel.y.project(worse, 150, 0), abs=0.1
            )


BROKEN = made.entry(Outcome.FAILED, reason="It broke.")
WORSE = made.point(
    1, MS, outcome=Outcome.REGRESSION, reason="Worse.", change=0.1, low=0.0, high=0.2, pairs=10,
    commit="a" * 40, least=0.9 * MS, most=1.1 * MS,
)  # fmt: skip
MOVING = {"change": 0.01, "low": 0.009, "high": 0.011}
PICTURES: dict[str, tuple[list[Night], list[Point], list[LevelStep]]] = {
    "What is expected changes, and is not known of one night": (
        nights(0.0, 0.0, 0.05, 0.05, None, 0.05),
        [made.point(day, MS, reference=MS, change=0.0) for day in range(1, 7)], [],
    ),
    "A night that failed and one that was missed are gaps": (
        [made.night(day, BROKEN if day == 3 else made.entry()) for day in (1, 2, 3, 5, 6)],
        [made.point(1, MS), made.point(2, 1.1 * MS), made.point(3, None),
         made.point(5, 1.2 * MS), made.point(6, MS)], [],
    ),
    "No night has a value": (nights(None), [made.point(1, None, reference=1.0)], []),
    "A step divides the levels": (
        nights(*[None] * 4), [made.point(day, MS * (1 + day // 3 / 10)) for day in range(1, 5)],
        [LevelStep(2, MS, 1.1 * MS, 0.1)],
    ),
    "A mark says what its night found": (nights(None, None), [WORSE, made.point(2, MS)], []),
    "The reference moves along": (
        nights(None, None, None),
        [made.point(day, MS, commit=f"c{day}", reference_commit=f"c{day - 1}", **MOVING)
         for day in (1, 2, 3)], [],
    ),
}  # fmt: skip


def test_pictures_are_as_in_the_golden_file(golden: Golden) -> None:
    text, missed_nights = "", [Missed("p", "m", made.make_start_time(4), "It slept.")]
    for name, (picture_nights, points, steps) in PICTURES.items():
        series = made.series(*points)
        course = made.course(picture_nights, series, missed=missed_nights)
        picture, root = drawn(course, series, *steps)
        ET.indent(root)
        text += f"{name}\n{picture.summary}\n{ET.tostring(root, encoding='unicode')}\n\n"
    golden("pictures.txt", text)


def test_the_latest_and_the_outstanding_of_many_nights_have_marks() -> None:
    outcomes = {3: Outcome.REGRESSION, 5: Outcome.INCONCLUSIVE}
    many_nights, points = [], []
    for place in range(RECENT + 30):
        name, start = f"n{place}", f"2026-{place // 28 + 1:02}-{place % 28 + 1:02}T02:00"
        many_nights.append(made.night(1, made.entry(), id=name, started=start))
        point = made.point(1, MS, outcome=outcomes.get(place, Outcome.OK))
        points.append(replace(point, night=name, at=start))
    series = made.series(*points)
    _, root = drawn(made.course(many_nights, series), series)
    assert len([words for words in titles(root) if "UTC" in words]) == RECENT + 2
    [line] = of_class(root, "median")
    assert line.get("d", "").count("L") == RECENT + 29


def test_any_values_have_an_axis_that_holds_them_and_noise_is_not_drawn_large() -> None:
    for unit, values, lower_bound, upper_bound in (
        ("count", [0.0, 0.0], 0, 1),
        ("bytes", [3 * 2**30, 3.2 * 2**30], 2.8 * 2**30, 3.4 * 2**30),
        ("ratio", [0.1, 0.2], 0, 0.3),
        ("ratio", [0.99, 1.0], 0.9, 1.0),
        ("tokens/s", [12_345.0, 12_346.0], 12_000, 12_800),
        ("ns", [-5.0, 5.0], -15, 15),
        ("ns", [1.0 * MS, 1.001 * MS], 0.95 * MS, 1.05 * MS),
    ):
        points = (made.point(day, value) for day, value in enumerate(values, 1))
        series = made.series(*points, unit=unit, better="neither")
        picture, _ = drawn(
            made.course(nights(None, None), series), series, LevelStep(1, 1.0, 1.1, 0.1)
        )
        assert picture.summary.endswith("Changed in night 2 (2 Nov 2026), +10.0 %."), values
        y = picture.panels[0].y
        assert lower_bound <= y.minimum <= values[0]
        assert values[1] <= y.maximum <= upper_bound
        assert y.maximum - y.minimum >= 0.03 * values[0]
        words = [y.words(mark) for mark in y.marks]
        assert len(words) == len(set(words)) > 1, values


def labels_of(width: float, *starts: str) -> str:
    return ", ".join(f"{place} {words}" for place, words in NightAxis(starts).labels(width))


def test_nights_are_numbered_and_dated() -> None:
    days = [f"2026-12-{day}T02:30:00+00:00" for day in range(10, 32)]
    later = [f"2027-01-0{day}T02:30:00+00:00" for day in range(1, 5)]
    for starts, width, expected in (
        (days[:1], 800, "1 10 Dec 2026"),
        ([*days[-2:], *later[:1]], 800, "1 30 Dec 2026, 2 31 Dec, 3 1 Jan 2027"),
        ([*days, *later], 800, "5 14 Dec 2026, 10 19 Dec, 15 24 Dec, 20 29 Dec, 25 3 Jan 2027"),
        (days[:2], 9, "1 10 Dec 2026, 2 11 Dec"),
    ):
        assert labels_of(width, *starts) == expected


def test_six_trial_nights_of_a_day_are_six_places_with_their_times() -> None:
    starts = tuple(f"2026-11-28T{hour}:0{hour - 13}:00+00:00" for hour in range(13, 19))
    assert labels_of(858, *starts) == ("1 28 Nov 2026, 2 14:01, 3 15:02, 4 16:03, 5 17:04, 6 18:05")
    axis = NightAxis(starts)
    assert [axis.place(start) for start in starts] == [1, 2, 3, 4, 5, 6]
    assert axis.place("2026-11-28T14:30:00+00:00") == 2.5, "a baseline accepted between nights"


@given(st.integers(1, 4000), st.integers(200, 900))
def test_labels_lie_on_the_axis_in_order_and_have_room(nights: int, width: int) -> None:
    start = datetime(2020, 1, 1, 2, 30, tzinfo=UTC)
    starts = tuple((start + timedelta(days=night)).isoformat() for night in range(nights))
    axis = NightAxis(starts)
    places = [place for place, _ in axis.labels(width)]
    assert all(axis.axis.minimum <= place <= axis.axis.maximum for place in places)
    assert all(left_place < right_place for left_place, right_place in pairwise(places))
    assert 1 <= len(places) <= max(2, width / 66) + 1


def test_no_label_is_cut() -> None:
    points = [made.point(day, 123_456.0 + day) for day in range(1, 9)]
    series = made.series(*points, unit="tokens/s", better="neither", gated=False)
    step = LevelStep(1, 1.0, 1.1, 0.1)
    _, root = drawn(made.course(nights(*[None] * 8), series), series, step)
    width = float(root.get("viewBox", "").split()[2])
    for group in [root, *root.iter("g")]:
        offset = float(group.get("transform", "(0 0)").partition("(")[2].partition(" ")[0])
        for text in group.findall("text"):
            place, room = offset + float(text.get("x", "")), 6 * len(text.text or "")
            kind = text.get("class", "")
            begin = place - (room if "end" in kind else room / 2 if "mid" in kind else 0)
            assert begin >= 0, (group, text.text)
            assert begin + room <= width, (group, text.text)


_DAYS = NightAxis(tuple(f"1970-01-{day:02}T00:00:00+00:00" for day in range(1, 12)))


def test_tags_do_not_cover_one_another_and_their_words_are_redacted(golden: Golden) -> None:
    marks = pictures.draw_marks(
        [Mark(1 + n, 5, state, "a night") for n, state in enumerate(CourseState)]
    )
    panel = TrendPanel("Values", 150, linear("", 0, 10, "{:g}".format), (marks,))
    hostile = "</title><script>alert(1)</script>"
    tags = [CourseEvent(letter, "1970-01-06T00:00:00+00:00", False, hostile) for letter in "ABC"]
    tags.append(CourseEvent("AA", "1970-01-06T12:00:00+00:00", True, "accepted"))
    whole_picture = Picture("Title", "Summary.", 960, _DAYS, (panel,), tags, (marks,))
    text = svg(whole_picture, lambda words: words.replace("alert", "[gone]"))
    root = ET.fromstring(text)
    assert not [word for word in ("<script", "alert", "style=", " id=") if word in text]
    assert (root.findtext("title"), root.findtext("desc")) == ("Title", "Summary.")
    boxes = [(float(box.get("x", "")), float(box.get("width", ""))) for box in root.iter("rect")]
    assert len(boxes) == 4
    assert all(x + width <= next_x for (x, width), (next_x, _) in pairwise(boxes))
    assert titles(of_class(root, "changed")[1]) == ["B: </title><script>[gone](1)</script>"]
    [group] = [
        group for group in root.iter("g") if group.find("text[@class='name end']") is not None
    ]
    assert [words.text for words in group.findall("text")] == "Values 0 2 4 6 8 10".split()
    ET.indent(root)
    golden("tags.txt", ET.tostring(root, encoding="unicode") + "\n")


def test_a_line_ends_at_the_edge_and_a_point_alone_has_none() -> None:
    [element] = pictures.draw_lines([[(5, -100), (5, 100)], [], [(7, 1)]], "limit")(PLANE)
    assert element.get("d") == "M50.0 50.0L50.0 0.0"
    assert list(pictures.draw_lines([[(1, 1)]], "median")(PLANE)) == []


def test_words_of_change_points_do_not_cover_one_another() -> None:
    near = [
        (1.0, 1.0, "1 Oct: +5 %", "error"),
        (2.0, 2.0, "2 Oct: +5 %", "good"),
        (9.0, 9.0, "9 Oct", "plain"),
    ]
    words = [group.find("text") for group in pictures.draw_changes(near)(PLANE)]
    places = [(label.get("y"), label.get("class")) for label in words if label is not None]
    assert places == [("15.0", "end"), ("33.0", "end"), ("51.0", "end")]


def test_a_drift_is_a_bracket_over_its_nights_and_a_line_that_slopes() -> None:
    days = range(1, 13)
    points = [made.point(day, MS * (1 + 0.02 * min(max(day - 3, 0), 7))) for day in days]
    series = made.series(*points)
    course = made.course([made.night(day, made.entry()) for day in days], series)
    ramp = Ramp(2, 9, MS, 1.14 * MS, 0.14, 0.019)
    x = NightAxis(tuple(fared.at for fared in course.fared))
    curve = Curve(series, Changes(ramps=(ramp,)), course, x, (), lambda _: "")
    picture = curves.picture_of(curve)
    root = ET.fromstring(svg(picture))
    assert picture.summary.endswith(
        "Drifted in nights 3 to 10 (3 Nov 2026 to 10 Nov 2026), +1.9 % a night, worse."
    )
    assert not of_class(root, "step")
    [drift] = of_class(root, "drift")
    assert [text.text for text in drift.iter("text")] == ["+1.9 % a night"]
    [level] = of_class(root, "level")
    flat, sloping, level_after = (
        [float(place.split()[1]) for place in run.split("L")]
        for run in (level.get("d") or "")[1:].split("M")
    )
    assert flat[0] == flat[1]
    assert sloping[0] - sloping[1] > 50, "it rises by most of the panel"
    assert level_after[0] == level_after[1]


def test_every_ending_has_a_shape_of_its_own() -> None:
    shapes = pictures.draw_marks([Mark(5, 2, state, "words") for state in (*CourseState, None)])(
        PLANE
    )
    shape_facts = {(shape.tag, shape.get("d"), shape.get("r")) for shape in shapes}
    assert len(shape_facts) == len(CourseState) + 1
