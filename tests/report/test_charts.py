"""Charts: axes with round numbers, labels where there is room, points where they belong."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lxml import etree

from tracekit.analysis.intervals import Window
from tracekit.base.units import count, duration, size
from tracekit.pages import chart as charts
from tracekit.pages.chart import Chart, binary, dots, line, linear, make_integer_axis, svg, words
from tracekit.pages.plots import Level, Placed, course, distribution, levels, roof, sample_level

MS = 1e6
X = linear("time", 0, 10, lambda value: f"{value:g} s")
Y = linear("tokens/s", 0, 100, "{:g}".format)
LEVEL = Level("rate", [0, 50 * MS, 100 * MS], [10, 30])
BEGINS = [(20 * MS, "warm-up"), (60 * MS, "steady"), (100 * MS, "later")]


def drawn(*shapes: Any) -> Any:
    return etree.fromstring(svg(Chart("Rate", "It rises.", X, Y, shapes)))


def texts(chart: Chart) -> list[str]:
    return [text.text or "" for text in etree.fromstring(svg(chart)).iter("text")]


def spot(chart: Chart, label: str) -> tuple[float, float]:
    [text] = etree.fromstring(svg(chart)).xpath("//text[.=$label]", label=label)
    return float(text.get("x")), float(text.get("y"))


def dots_of(chart: Chart) -> list[tuple[float, float]]:
    circles = etree.fromstring(svg(chart)).iter("circle")
    return [(float(circle.get("cx")), float(circle.get("cy"))) for circle in circles]


@pytest.mark.parametrize(
    "chart",
    [
        distribution("Step", np.array([5 * MS])),
        distribution("Step", np.linspace(1, 2, 500) * MS),
        course("Rate", "It rises.", LEVEL, "{:g}".format, begins=BEGINS, marked=[30 * MS]),
        levels("Memory", "It rises.", [LEVEL, Level("b", [0, 100 * MS], [5])], "{:g}".format),
        roof("Roof <b>", "Near.", [Placed("a <b> & c", 2, 1e9)], 100e9, 3e12),
    ],
)
def test_all_are_small_valid_described_and_coloured_by_the_page(chart: Chart) -> None:
    text = svg(chart)
    root = etree.fromstring(text)
    assert (root.get("role"), root[0].text, root[1].text) == ("img", chart.title, chart.summary)
    assert len(text) < 6_000
    assert not re.search(r"style=|<style|<script| id=|nan|inf|<b>", text)
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', text))
    assert all(re.fullmatch(r"none|var\(--[a-z]+\)", colour) for colour in colours)


def test_a_label_is_next_to_its_point_on_the_chart() -> None:
    ground = drawn(dots([(5, 0)], "ink")).xpath("//circle")[-1]
    for point, anchor in {(1, 50): None, (10, 50): "end", (5, 0): None, (5, 100): None}.items():
        upper_label = drawn(words(point, "paged")).xpath("//text")[-1]
        lower_label = drawn(words(point, "paged", under=True)).xpath("//text")[-1]
        assert upper_label.get("text-anchor") == anchor, point
        assert (
            11
            <= float(upper_label.get("y"))
            <= float(lower_label.get("y"))
            < float(ground.get("cy"))
        ), point


def test_ticks_of_sizes_are_round_in_binary_units() -> None:
    for maximum, ticks in (
        (100 << 20, "0 B | 25 MiB | 50 MiB | 75 MiB | 100 MiB"),
        (700, "0 B | 200 B | 400 B | 600 B | 800 B"),
        (1024, "0 B | 256 B | 512 B | 768 B | 1 KiB"),
        (95 << 10, "0 B | 25 KiB | 50 KiB | 75 KiB | 100 KiB"),
        (3 << 39, "0 B | 512 GiB | 1 TiB | 1.50 TiB"),
    ):
        axis = binary("", 0, maximum, size)
        assert (axis.minimum, axis.maximum) == (axis.marks[0], axis.marks[-1]), ticks
        assert axis.minimum <= maximum <= axis.maximum
        assert " | ".join(map(axis.words, axis.marks)) == ticks


def test_axes_hold_their_numbers_and_outliers_are_at_the_edge() -> None:
    axis = linear("time", 0, 7.3e6, duration)
    assert (axis.marks[0], axis.minimum) == (0, 0)
    assert axis.maximum == axis.marks[-1] >= 7.3e6
    assert [axis.project(number, 0, 100) for number in (-1, axis.maximum / 2, 1e9)] == [0, 50, 100]
    ends = charts.span("time", 130, 980, str)
    assert (ends.minimum, ends.maximum) == (130, 980)
    assert len(ends.marks) >= 3
    assert all(130 <= mark <= 980 for mark in ends.marks)
    decades = charts.logarithmic("flop/byte", 0.3, 70, "{:g}".format)
    assert (decades.minimum, decades.maximum, decades.marks) == (0.1, 100, (0.1, 1, 10, 100))
    ways = [decades.project(value, 0, 300) for value in (0.1, 1, 10, 100)]
    assert ways == pytest.approx([0, 100, 200, 300])
    narrow = charts.logarithmic("flop/byte", 2, 70, "{:g}".format)
    assert narrow.marks == (1, 2, 5, 10, 20, 50, 100)


def test_a_distribution_names_its_percentiles_and_its_last_bin() -> None:
    far = distribution("Step", np.append(np.linspace(1, 2, 999), 500) * MS)
    assert {"p50 1.50 ms", "p99 1.99 ms"} <= set(texts(far))
    assert far.summary.endswith("the longest 500 ms.")
    assert far.x.maximum < 3 * MS
    assert far.x.title == "time; the last bin holds all up to 500 ms"
    near = distribution("Step", np.linspace(1, 2, 1000) * MS)
    assert (near.x.title, near.x.minimum, near.x.maximum) == ("time", MS, 2 * MS)
    single = distribution("Step", np.array([MS]))
    assert all(mark == round(mark) for mark in single.y.marks)


def test_a_level_holds_until_the_next_and_the_highest_of_a_part_is_kept() -> None:
    times, values = np.array([30, 60, 61, 120]), np.array([1.0, 9.0, 2.0, 5.0])
    level = sample_level("level", times, values, Window(0, 120))
    assert level.heights == [0.0] * 30 + [1.0] * 30 + [9.0] + [2.0] * 58 + [5.0]
    assert sample_level("level", times, values, Window(40, 60)).heights[-1] == 9
    twice = sample_level("level", np.array([30, 30]), np.array([9.0, 1.0]), Window(30, 60))
    assert twice.heights == [9.0] + [1.0] * 119
    assert sample_level("level", times[:1], values[:1], Window(30, 30)).heights == [1.0] * 120


def test_counts_have_no_halves() -> None:
    for maximum, ticks in {0: "0 | 1", 1: "0 | 1", 2: "0 | 1 | 2", 2.5e6: "0 | 500,000"}.items():
        axis = course(
            "Waiting", "Few.", Level("a", [0, MS], [maximum]), count, upward=make_integer_axis
        ).y
        assert " | ".join(map(axis.words, axis.marks)).startswith(ticks), maximum
        assert axis.maximum > maximum


def test_a_level_rises_and_falls_without_spare_corners() -> None:
    falls = Level("memory", [0, 25 * MS, 50 * MS, 75 * MS, 100 * MS], [1, 3, 3, 2])
    chart = levels("Memory", "Two.", [falls], "{:g}".format)
    corners = [(0, 1), (25, 1), (25, 3), (75, 3), (75, 2), (100, 2)]
    expected = line([(time * MS, value) for time, value in corners], falls.color)
    assert svg(chart) == svg(replace(chart, shapes=(expected, chart.shapes[-1])))
    two = levels("Memory", "Two.", [falls, LEVEL], size)
    assert svg(two).count("stroke-dasharray") == 1
    assert {"memory", "rate"} <= set(texts(two))


def test_points_lie_under_the_roof_and_their_names_away_from_it() -> None:
    points = [Placed("slow", 1, 10e9), Placed("fast", 4, 200e9), Placed("cached", 2, 400e9)]
    chart = roof("Roof", "Two.", points, 100e9, 3e12)
    slow, fast, cached = dots_of(chart)
    assert slow[0] < cached[0] < fast[0]
    assert slow[1] > fast[1] > cached[1]
    assert spot(chart, "slow")[0] > slow[0]
    assert spot(chart, "slow")[1] > slow[1]
    assert spot(chart, "cached")[0] < cached[0]
    assert spot(chart, "cached")[1] < cached[1]
    without = roof("Roof", "One.", points, 100e9)
    assert not any(text.startswith("arithmetic") for text in texts(without))


@pytest.mark.parametrize("intensity", [0.5, 2, 6, 20])
def test_the_roof_of_memory_is_named_away_from_all_others(intensity: float) -> None:
    chart = roof("Roof", "One.", [Placed("paged", intensity, intensity * 9e10)], 100e9, 3e12)
    memory = next(text for text in texts(chart) if text.startswith("memory "))
    arithmetic = next(text for text in texts(chart) if text.startswith("arithmetic "))
    assert spot(chart, memory)[1] - spot(chart, arithmetic)[1] > 11
    [(across, up)] = dots_of(chart)
    label_x, height = spot(chart, memory)
    assert abs(label_x - across) > 8 or abs(height - up) > 11
