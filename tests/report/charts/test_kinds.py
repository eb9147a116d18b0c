"""The kinds of charts: what they put where, of literal numbers."""

import re
from dataclasses import replace

import numpy as np
import pytest
from lxml import etree

from tracekit.base.units import size
from tracekit.report.chart import line, svg
from tracekit.report.plots import Level, Moment, Placed, course, distribution, levels, roof

MS = 1e6
LEVEL = Level("rate", [0, 50 * MS, 100 * MS], [10, 30])
BEGINS = [Moment(20 * MS, "warm-up"), Moment(60 * MS, "steady"), Moment(200 * MS, "later")]


def texts(chart: object) -> list[str]:
    return [one.text for one in etree.fromstring(svg(chart)).iter("text")]


def places(chart: object, tag: str, name: str) -> list[float]:
    return [float(one.get(name)) for one in etree.fromstring(svg(chart)).iter(tag)]


@pytest.mark.parametrize(
    "chart",
    [
        distribution("Step", np.array([5 * MS])),
        distribution("Step", np.linspace(1, 2, 500) * MS),
        course("Rate", "It rises.", LEVEL, "{:g}".format, begins=BEGINS, marked=[30 * MS]),
        levels("Memory", "It rises.", [LEVEL, Level("b", [0, 100 * MS], [5])], "{:g}".format),
        roof("Roof", "Near.", [Placed("paged", 2, 1e9)], 100e9, 3e12),
    ],
)
def test_all_are_small_valid_and_without_style(chart: object) -> None:
    drawn = svg(chart)
    assert len(drawn) < 6_000
    root = etree.fromstring(drawn)
    assert [root[0].tag, root[1].tag] == ["title", "desc"]
    assert not re.search(r"style=|<style|<script| id=|nan|inf", drawn)
    assert drawn == svg(chart)


def test_a_distribution_names_its_percentiles_and_its_longest() -> None:
    chart = distribution("Step", np.append(np.linspace(1, 2, 999), 500) * MS)
    assert "p50 1.50 ms" in texts(chart)
    assert "p99 1.99 ms" in texts(chart)
    assert chart.summary.endswith("the longest 500 ms.")
    assert chart.x.high < 3 * MS
    assert chart.x.title == "time; the last bin holds all up to 500 ms"


def test_a_distribution_without_any_far_beyond_the_others_ends_with_its_longest() -> None:
    chart = distribution("Step", np.linspace(1, 2, 1000) * MS)
    assert (chart.x.title, chart.x.low, chart.x.high) == ("time", MS, 2 * MS)


def test_counts_have_no_halves() -> None:
    assert all(mark == round(mark) for mark in distribution("s", np.array([MS])).y.marks)


def test_a_course_names_the_phases_that_begin_in_it() -> None:
    chart = course("Rate", "It rises.", LEVEL, "{:g}".format, begins=BEGINS, marked=[30 * MS])
    assert {"warm-up", "steady"} <= set(texts(chart))
    assert "later" not in texts(chart)
    assert chart.y.high > 30
    assert (chart.x.low, chart.x.high) == (0, 100 * MS)
    assert svg(chart).count("l-4 7z") == 1


def test_each_level_has_its_name_and_a_line_of_its_own() -> None:
    lines = [LEVEL, Level("other", [0, 100 * MS], [20], "steps")]
    drawn = svg(levels("Memory", "Two.", lines, "{:g}".format))
    assert {"rate", "other"} <= set(texts(levels("Memory", "Two.", lines, "{:g}".format)))
    assert drawn.count("stroke-dasharray") == 1


def test_a_level_goes_up_and_down_and_has_no_corner_where_it_stays() -> None:
    falls = Level("memory", [0, 25 * MS, 50 * MS, 75 * MS, 100 * MS], [1, 3, 3, 2])
    chart = levels("Memory", "Two.", [falls], "{:g}".format)
    corners = [(0, 1), (25, 1), (25, 3), (75, 3), (75, 2), (100, 2)]
    expected = line([(at * MS, value) for at, value in corners], falls.color)
    assert svg(chart) == svg(replace(chart, shapes=(expected, chart.shapes[-1])))


def test_points_lie_under_the_roof_where_they_belong() -> None:
    points = [Placed("slow", 1, 10e9), Placed("fast", 4, 200e9)]
    chart = roof("Roof", "Two.", points, 100e9, 3e12)
    left, right = places(chart, "circle", "cx")
    below, above = places(chart, "circle", "cy")
    assert left < right
    assert below > above
    assert {"slow", "fast"} <= set(texts(chart))
    assert any(one.startswith("memory ") for one in texts(chart))
    assert any(one.startswith("arithmetic ") for one in texts(chart))


def spot(chart: object, label: str) -> tuple[float, float]:
    [one] = [one for one in etree.fromstring(svg(chart)).iter("text") if (one.text or "") == label]
    return float(one.get("x")), float(one.get("y"))


def test_names_lie_on_the_side_away_from_the_roof() -> None:
    points = [Placed("from memory", 2, 90e9), Placed("from caches", 2, 400e9)]
    chart = roof("Roof", "Two.", points, 100e9, 3e12)
    across = places(chart, "circle", "cx")[0]
    low, high = places(chart, "circle", "cy")
    assert spot(chart, "from memory")[0] > across
    assert spot(chart, "from memory")[1] > low
    assert spot(chart, "from caches")[0] < across
    assert spot(chart, "from caches")[1] < high


@pytest.mark.parametrize("intensity", [0.5, 2, 6, 20])
def test_the_roof_of_memory_is_named_away_from_points_and_from_that_of_arithmetic(
    intensity: float,
) -> None:
    chart = roof("Roof", "One.", [Placed("paged", intensity, intensity * 9e10)], 100e9, 3e12)
    memory = next(one for one in texts(chart) if one.startswith("memory "))
    arithmetic = next(one for one in texts(chart) if one.startswith("arithmetic "))
    assert spot(chart, memory)[1] - spot(chart, arithmetic)[1] > 11
    [across], [up] = places(chart, "circle", "cx"), places(chart, "circle", "cy")
    left, height = spot(chart, memory)
    assert abs(left - across) > 8 or abs(height - up) > 11


def test_levels_of_memory_have_an_axis_of_bytes() -> None:
    one = Level("resident", [0, 50 * MS, 100 * MS], [30 << 20, 95 << 20])
    chart = levels("Memory", "It rises.", [one], size)
    assert "100 MiB" in texts(chart)
    assert not [word for word in texts(chart) if word and "." in word and word.endswith("iB")]


def test_without_a_rate_there_is_no_roof_of_arithmetic() -> None:
    chart = roof("Roof", "One.", [Placed("paged", 2, 1e9)], 100e9)
    assert not any(one.startswith("arithmetic") for one in texts(chart))
