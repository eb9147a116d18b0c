"""A chart on the page: valid, small, coloured by the page, the same each time."""

import re
from typing import Any

import pytest
from lxml import etree

from tracekit.base.units import duration, size
from tracekit.report.chart import (
    Chart,
    above,
    area,
    binary,
    dots,
    line,
    linear,
    logarithmic,
    span,
    spikes,
    svg,
    upright,
    words,
)

X = linear("time", 0, 10, lambda value: f"{value:g} s")
Y = linear("tokens/s", 0, 100, "{:g}".format)
SHAPES = {
    "line": line([(0, 0), (10, 100)], "device"),
    "dashed": line([(0, 0), (10, 100)], "device", dashed=True),
    "dots": dots([(5, 50)], "steps"),
    "spikes": spikes([(5, 50), (6, 20)], "warning"),
    "area": area([0, 5, 10], [20, 100], "device"),
    "upright": upright(5, "p99", "dim"),
    "words": words((5, 50), "a <b> & c"),
}
WHOLE = Chart("Rate", "It rises.", X, Y, tuple(SHAPES.values()))


def drawn(*shapes: Any) -> Any:
    return etree.fromstring(svg(Chart("Rate", "It rises.", X, Y, shapes)))


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_adds_to_the_chart_and_stays_valid(shape: str) -> None:
    assert len(list(drawn(SHAPES[shape]).iter())) > len(list(drawn().iter()))


def test_it_says_what_it_shows_to_those_who_cannot_see_it() -> None:
    root = etree.fromstring(svg(WHOLE))
    assert root.get("role") == "img"
    assert (root[0].tag, root[0].text) == ("title", "Rate")
    assert (root[1].tag, root[1].text) == ("desc", "It rises.")


def test_colours_are_the_pages() -> None:
    text = svg(WHOLE)
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', text))
    assert colours == {"none"} | {
        f"var(--{name})" for name in ("device", "steps", "warning", "dim", "ink", "line")
    }


def test_markup_in_a_label_stays_text() -> None:
    [label] = [one for one in drawn(SHAPES["words"]).iter("text") if one.text == "a <b> & c"]
    assert "&lt;b&gt; &amp; c" in svg(WHOLE)
    assert len(label) == 0


def test_a_label_stands_where_there_is_room() -> None:
    left = drawn(words((1, 50), "near the left")).xpath("//text")[-1]
    right = drawn(words((10, 50), "near the right")).xpath("//text")[-1]
    assert left.get("text-anchor") is None
    assert right.get("text-anchor") == "end"
    assert float(right.get("x")) > float(left.get("x"))


def test_the_name_of_a_rising_line_stands_left_above_it_where_there_is_room() -> None:
    rising = line([(0, 0), (10, 100)], "ink")
    label = drawn(rising, above((8, 80), "memory")).xpath("//text")[-1]
    assert label.get("text-anchor") == "end"
    place = X.project(8, 0, 1), Y.project(80, 1, 0)
    [dot] = drawn(dots([(8, 80)], "ink")).iter("circle")
    assert float(label.get("x")) < float(dot.get("cx"))
    assert float(label.get("y")) < float(dot.get("cy"))
    assert place == pytest.approx((0.8, 0.2))


def test_the_name_of_a_rising_line_stands_right_below_it_at_the_edge() -> None:
    label = drawn(above((0.5, 50), "memory 373 GiB/s")).xpath("//text")[-1]
    [dot] = drawn(dots([(0.5, 50)], "ink")).iter("circle")
    assert label.get("text-anchor") is None
    assert float(label.get("x")) > float(dot.get("cx"))
    assert float(label.get("y")) - 11 > float(dot.get("cy"))


@pytest.mark.parametrize("up", [0, 50, 100])
def test_a_label_below_a_point_stays_on_the_chart(up: float) -> None:
    label = drawn(words((5, up), "paged", under=True)).xpath("//text")[-1]
    high = drawn(words((5, up), "paged")).xpath("//text")[-1]
    ground = drawn(dots([(5, 0)], "ink")).xpath("//circle")[-1]
    assert float(high.get("y")) <= float(label.get("y")) < float(ground.get("cy"))


def test_an_area_is_as_high_as_its_steps() -> None:
    [path] = drawn(SHAPES["area"]).xpath("//path")
    ground = float(re.match(r"M0.0 ([\d.]+)", path.get("d").replace("M0 ", "M0.0 ")).group(1))
    tops = [float(y) for y in re.findall(r"V([\d.]+)H", path.get("d"))]
    assert tops == pytest.approx([ground * 0.8, 0], abs=0.1)


def test_a_linear_axis_has_round_ticks_that_hold_the_numbers() -> None:
    axis = linear("time", 0, 7.3e6, duration)
    assert axis.marks[0] == axis.low == 0
    assert axis.high == axis.marks[-1] >= 7.3e6
    assert axis.low <= 7.3e6 <= axis.high
    assert not axis.low <= -1 <= axis.high
    assert axis.project(axis.high / 2, 0, 100) == pytest.approx(50)
    assert axis.words(2e6) == "2 ms"


@pytest.mark.parametrize(
    ("high", "ticks"),
    [
        (100 << 20, "0 B | 25 MiB | 50 MiB | 75 MiB | 100 MiB"),
        (3 << 30, "0 B | 1 GiB | 2 GiB | 3 GiB"),
        (700, "0 B | 250 B | 500 B | 750 B"),
        (95 << 10, "0 B | 25 KiB | 50 KiB | 75 KiB | 100 KiB"),
        (3 << 39, "0 B | 512 GiB | 1 TiB | 1.50 TiB"),
    ],
)
def test_ticks_of_sizes_are_round_in_binary_units(high: int, ticks: str) -> None:
    axis = binary("", 0, high, size)
    assert axis.low <= high <= axis.high
    assert (axis.low, axis.high) == (axis.marks[0], axis.marks[-1])
    assert " | ".join(map(axis.words, axis.marks)) == ticks


def test_a_span_ends_where_the_numbers_end() -> None:
    axis = span("time", 130, 980, str)
    assert (axis.low, axis.high) == (130, 980)
    assert all(130 <= mark <= 980 for mark in axis.marks)
    assert len(axis.marks) >= 3


def test_a_logarithmic_axis_has_equal_ways_for_equal_ratios() -> None:
    axis = logarithmic("flop/byte", 0.3, 70, "{:g}".format)
    assert (axis.low, axis.high) == (0.1, 100)
    ways = [axis.project(value, 0, 300) for value in (0.1, 1, 10, 100)]
    assert ways == pytest.approx([0, 100, 200, 300])
    assert axis.marks == (0.1, 1, 10, 100)
    narrow = logarithmic("flop/byte", 2, 70, "{:g}".format)
    assert narrow.marks == (1, 2, 5, 10, 20, 50, 100)


def test_what_lies_outside_is_drawn_at_the_edge() -> None:
    assert X.project(-5, 0, 100) == 0
    assert X.project(50, 0, 100) == 100
