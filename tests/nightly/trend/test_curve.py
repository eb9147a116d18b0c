"""A series as a picture: which panels it has, what it says, what it marks."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Step
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend.course import days_of, happenings
from tracekit.nightly.trend.curve import RECENT, Curve, picture_of
from tracekit.nightly.trend.picture import Picture, day_axis, svg

MS = 1e6
MEDIAN = "Median of the pairs, with the least and the most"


def drawn(course: Any, series: Any, *steps: Step) -> tuple[Picture, ET.Element]:
    x = day_axis([days_of(one.at) for one in course.fared])
    curve = Curve(series, steps, course, x, happenings(course), lambda one: one.at[8:10])
    picture = picture_of(curve)
    return picture, ET.fromstring(svg(picture))


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [one for one in root.iter() if name in one.get("class", "").split()]


def titles(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter("title")]


def nights(made: Any, *expected: float | None, **facts: Any) -> list[Any]:
    return [
        made.night(day, made.entry(judged=(made.judged(one, **facts),)))
        for day, one in enumerate(expected, 1)
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
    assert limit.findtext("title", "").endswith("matters: 3.0 % from what is expected")
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
    limits = [one.get("d", "").count("M") for one in of_class(root, "limit")]
    assert limits == [stretches] * bool(stretches)
    assert len(of_class(root, "band")) == len(limits)
    assert ("shaded" in picture.panels[0].title) is bool(stretches)


def test_nights_without_a_value_are_gaps_with_a_mark_and_never_zero(made: Any) -> None:
    held = [
        made.night(day, made.entry(Outcome.FAILED, reason="It broke.") if day == 3
        else made.entry())
        for day in (1, 2, 3, 5, 6)
    ]  # fmt: skip
    values = [MS, 1.1 * MS, None, 1.2 * MS, MS]
    points = [made.point(day, one) for day, one in zip((1, 2, 3, 5, 6), values, strict=True)]
    series = made.series(*points)
    course = made.course(held, series, missed=[Missed("p", "m", made.at(4), "It slept.")])
    picture, root = drawn(course, series)
    assert [one.title for one in picture.panels] == [MEDIAN]
    assert not of_class(root, "reference")
    [line] = of_class(root, "median")
    assert line.get("d", "").count("M") == 2
    assert picture.panels[0].y.low > 0
    assert "3 Nov 2026: failed: It broke." in titles(root)
    assert "4 Nov 2026: missed: It slept." in titles(root)
    assert picture.summary == (
        "5 nights, 4 with a value, from 1 ms to 1.20 ms; the last, of 6 Nov 2026, 1 ms."
    )


def test_a_step_is_dated_and_divides_the_levels(made: Any) -> None:
    values = [1.0, 1.0, 1.1, 1.1]
    series = made.series(*(made.point(day, one * MS) for day, one in enumerate(values, 1)))
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
        facts = {"id": f"n{place}", "at": f"2026-{place // 28 + 1:02}-{place % 28 + 1:02}T02:00"}
        held.append(made.replace(made.night(1, made.entry()), id=facts["id"], started=facts["at"]))
        point = made.point(1, MS, outcome=outcomes.get(place, Outcome.OK))
        points.append(made.replace(point, night=facts["id"], at=facts["at"]))
    series = made.series(*points)
    _, root = drawn(made.course(held, series), series)
    assert len([one for one in titles(root) if "UTC" in one]) == RECENT + 2
    [line] = of_class(root, "median")
    assert line.get("d", "").count("L") == RECENT + 29


def test_a_mark_says_what_its_night_found_and_leads_to_the_report(made: Any) -> None:
    facts = {"change": 0.1, "low": 0.0, "high": 0.2, "pairs": 10, "commit": "a" * 40}
    points = [
        made.point(1, MS, outcome=Outcome.REGRESSION, reason="Worse.", **facts),
        made.point(2, MS),
    ]
    series = made.series(*points)
    _, root = drawn(made.course(nights(made, None, None), series), series)
    assert {one.get("tabindex") for one in root.iter("a")} == {"-1"}, "keys do not stop at each"
    links = {one.findtext("title"): one.get("href") for one in root.iter("a")}
    assert links == {
        "01 Nov 2026 02:30 UTC: 1 ms, +10.0 % [0.0 % … +20.0 %] from the reference; 10 pairs; "
        "commit aaaaaaaaaaaa; regression: Worse.": "01",
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
    series = made.series(*(made.point(day, one) for day, one in enumerate(values, 1)), unit=unit)
    picture, _ = drawn(made.course(nights(made, None, None), series), series)
    y = picture.panels[0].y
    assert least <= y.low <= values[0]
    assert values[1] <= y.high <= most
    assert y.high - y.low >= 0.03 * values[0]
    words = [y.words(one) for one in y.marks]
    assert len(words) == len(set(words)) > 1


def test_no_value_at_all_is_said(made: Any) -> None:
    series = made.series(made.point(1, None, reference=1.0, reason="It broke."))
    picture, _ = drawn(made.course(nights(made, None), series), series)
    assert picture.panels[0].title == "No night has a value"
    assert picture.summary == "1 night, none with a value."


def test_where_the_reference_moves_along_nights_add_up(made: Any) -> None:
    points = [
        made.point(day, MS, change=0.01, low=0.009, high=0.011, commit=f"c{day}",
                   reference_commit=f"c{day - 1}")
        for day in (1, 2, 3)
    ]  # fmt: skip
    series = made.series(*points)
    picture, _ = drawn(made.course(nights(made, None, None, None), series), series)
    assert "From the reference of 1 Nov 2026 on, nights add up to +3.0 % [" in picture.summary
