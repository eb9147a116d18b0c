"""A series as a picture: which panels it has, what it says, what it marks."""

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Step
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.trend.course import days_of, happenings
from tracekit.nightly.trend.curve import (
    RECENT,
    Drawing,
    doubt_of,
    picture_of,
)
from tracekit.nightly.trend.picture import Picture, day_axis, svg

MS = 1e6


def drawing_of(course: Any) -> Drawing:
    days = [days_of(one.at) for one in course.fared]
    return Drawing(
        course, day_axis(days), happenings(course), lambda fared: f"{fared.at[8:10]}/report.html"
    )


def drawn(course: Any, series: Any, *steps: Step) -> tuple[Picture, ET.Element]:
    picture = picture_of(series, steps, drawing_of(course))
    return picture, ET.fromstring(svg(picture))


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [one for one in root.iter() if name in one.get("class", "").split()]


def titles(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter("title")]


def nights(made: Any, *expected: float | None, better: str = "lower") -> list[Any]:
    return [
        made.night(day, made.entry(judged=(made.replace(made.judged(one), better=better),)))
        for day, one in enumerate(expected, 1)
    ]


def test_a_series_that_decides_has_its_change_above_its_values(made: Any) -> None:
    points = [made.point(day, 2 * MS, reference=2 * MS, change=0.0) for day in (1, 2)]
    series = made.series(*points)
    picture, root = drawn(made.course(nights(made, 0.0, 0.0), series), series)
    above, below = picture.panels
    assert above.title == (
        "Change from the reference, with its 95 % interval; shaded: what is expected ± 3.0 %; "
        "dashed: the limit"
    )
    assert below.title == (
        "Median of the pairs, with the least and the most; dashed: the reference"
    )
    assert len(of_class(root, "reference")) == 1
    [limit] = of_class(root, "limit")
    assert limit.findtext("title") == (
        "Beyond this line a change for the worse matters: 3.0 % from what is expected"
    )


def test_a_series_without_a_reference_has_its_values_only(made: Any) -> None:
    series = made.series(made.point(1, 2 * MS))
    picture, root = drawn(made.course(nights(made, None), series), series)
    assert [one.title for one in picture.panels] == [
        "Median of the pairs, with the least and the most"
    ]
    assert not of_class(root, "limit")
    assert not of_class(root, "reference")


@pytest.mark.parametrize(
    ("better", "worse"), [("lower", 1.05 * 1.03 - 1), ("higher", 1.05 / 1.03 - 1)]
)
def test_the_limit_lies_where_the_gate_has_it(made: Any, better: str, worse: float) -> None:
    series = made.series(made.point(1, 1 * MS, reference=1 * MS, change=0.0))
    picture, root = drawn(made.course(nights(made, 0.05, better=better), series), series)
    y = picture.panels[0].y
    [limit] = of_class(root, "limit")
    found = re.match(r"M[\d.]+ ([\d.]+)L", limit.get("d", ""))
    assert found
    assert float(found[1]) == pytest.approx(y.project(worse, 150, 0), abs=0.1)


def test_where_nothing_is_expected_there_are_no_limits(made: Any) -> None:
    points = [made.point(day, 1 * MS, reference=1 * MS, change=0.01) for day in (1, 2)]
    series = made.series(*points)
    picture, root = drawn(made.course(nights(made, None, None), series), series)
    assert picture.panels[0].title == "Change from the reference, with its 95 % interval"
    assert not of_class(root, "limit")
    assert not of_class(root, "band")


def test_nights_without_a_value_are_gaps_with_a_mark_and_never_nought(made: Any) -> None:
    held = [
        made.night(1, made.entry()),
        made.night(2, made.entry()),
        made.night(3, made.entry(Outcome.FAILED, reason="It broke.")),
        made.night(5, made.entry()),
        made.night(6, made.entry()),
    ]
    values = [1 * MS, 1.1 * MS, None, 1.2 * MS, 1 * MS]
    points = [made.point(day, one) for day, one in zip((1, 2, 3, 5, 6), values, strict=True)]
    series = made.series(*points)
    course = made.course(held, series, missed=[Missed("p", "m", made.at(4), "It slept.")])
    picture, root = drawn(course, series)
    [line] = of_class(root, "median")
    assert line.get("d", "").count("M") == 2
    assert picture.panels[0].y.low > 0
    assert "3 Nov 2026: failed: It broke." in titles(root)
    assert "4 Nov 2026: missed: It slept." in titles(root)


def test_a_step_is_dated_and_divides_the_levels(made: Any) -> None:
    values = [1.0, 1.0, 1.1, 1.1]
    held = [made.night(day, made.entry()) for day in range(1, 5)]
    series = made.series(*(made.point(day, one * MS) for day, one in enumerate(values, 1)))
    _, root = drawn(made.course(held, series), series, Step(2, 1 * MS, 1.1 * MS, 0.1))
    [step] = of_class(root, "step")
    assert step.get("class") == "step error"
    assert step.findtext("text") == "3 Nov: +10.0 %"
    [levels] = of_class(root, "level")
    assert levels.get("d", "").count("M") == 2


def test_of_many_nights_the_latest_have_marks_and_those_that_stand_out(made: Any) -> None:
    first = days_of("2026-01-01T02:00:00+00:00")
    outcomes = {3: Outcome.REGRESSION, 5: Outcome.INCONCLUSIVE}
    points = [
        made.replace(
            made.point(1, 1 * MS, outcome=outcomes.get(place, Outcome.OK)),
            night=f"n{place}",
            at=f"2026-{place // 28 + 1:02}-{place % 28 + 1:02}T02:00:00+00:00",
        )
        for place in range(RECENT + 30)
    ]
    series = made.series(*points)
    course = made.course([], series)
    assert days_of(course.fared[0].at) == first
    _, root = drawn(course, series)
    own = [one for one in titles(root) if "pair" in one or "UTC" in one]
    assert len(own) == RECENT + 2
    [line] = of_class(root, "median")
    assert line.get("d", "").count("L") == RECENT + 29


def test_a_mark_leads_to_the_report_of_its_night(made: Any) -> None:
    held = [made.night(day, made.entry()) for day in (1, 2)]
    series = made.series(*(made.point(day, 1 * MS, outcome=Outcome.OK) for day in (1, 2)))
    _, root = drawn(made.course(held, series), series)
    assert [one.get("href") for one in root.iter("a")] == ["01/report.html", "02/report.html"]


@pytest.mark.parametrize(
    ("unit", "values"),
    [
        pytest.param("count", [0.0, 0.0], id="zero"),
        pytest.param("bytes", [3 * 2**30, 3.2 * 2**30], id="bytes"),
        pytest.param("ratio", [0.1, 0.2], id="share"),
        pytest.param("tokens/s", [12_345.0, 12_346.0], id="alike"),
        pytest.param("ns", [-5.0, 5.0], id="below-zero"),
    ],
)
def test_any_values_have_an_axis_that_holds_them(made: Any, unit: str, values: list[float]) -> None:
    series = made.series(*(made.point(day, one) for day, one in enumerate(values, 1)), unit=unit)
    held = [made.night(day, made.entry()) for day in (1, 2)]
    picture, _ = drawn(made.course(held, series), series)
    y = picture.panels[0].y
    assert all(y.low <= one <= y.high for one in values)
    told = [y.words(one) for one in y.marks]
    assert len(told) == len(set(told)) > 1


def test_nights_in_a_row_of_which_the_same_is_expected_are_one_stretch(made: Any) -> None:
    expected = [0.0, 0.0, 0.05, 0.05, None, 0.05]
    points = [made.point(day, 2 * MS, reference=2 * MS, change=0.0) for day in range(1, 7)]
    series = made.series(*points)
    _, root = drawn(made.course(nights(made, *expected), series), series)
    [limit] = of_class(root, "limit")
    assert limit.get("d", "").count("M") == 3


def test_small_noise_is_not_drawn_large(made: Any) -> None:
    series = made.series(made.point(1, 1.0 * MS), made.point(2, 1.001 * MS))
    picture, _ = drawn(made.course(nights(made, None, None), series), series)
    y = picture.panels[0].y
    assert y.high - y.low >= 0.04 * MS


def test_no_value_at_all_is_said(made: Any) -> None:
    series = made.series(made.point(1, None, reason="It broke."))
    course = made.course([made.night(1, made.entry(Outcome.FAILED))], series)
    picture, _ = drawn(course, series)
    assert picture.panels[0].title == "No night has a value"
    assert picture.summary == "1 night, none with a value."


def test_how_surely_a_step_is_dated(made: Any) -> None:
    series = made.series(*(made.point(day, 1.0) for day in (1, 2, 3)))
    assert doubt_of(series, Step(1, 1.0, 2.0, 1.0, earliest=0, latest=2)) == (
        "1 Nov 2026 to 3 Nov 2026"
    )
    assert doubt_of(series, Step(1, 1.0, 2.0, 1.0, earliest=1, latest=1)) == ""
