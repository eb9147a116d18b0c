"""What stands on a panel of nights."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tracekit.nightly.trend import picture as points
from tracekit.nightly.trend.course import State
from tracekit.nightly.trend.picture import Mark
from tracekit.report.chart import Axis, Plane

PLANE = Plane(100, 50, Axis("", 0, 10, (), str), Axis("", 0, 5, (), str))


def drawn(shape: Any) -> list[ET.Element]:
    return list(shape(PLANE))


def test_a_line_is_broken_at_gaps_and_one_night_alone_has_none() -> None:
    [path] = drawn(points.lines([[(0, 0), (5, 5)], [], [(7, 1)], [(8, 0), (10, 5)]], "median"))
    assert path.get("d") == "M0.0 50.0L50.0 0.0M80.0 50.0L100.0 0.0"
    assert drawn(points.lines([[(1, 1)]], "median")) == []


def test_what_lies_beyond_the_axis_ends_at_its_edge() -> None:
    [path] = drawn(points.lines([((5, -100), (5, 100))], "spread"))
    assert path.get("d") == "M50.0 50.0L50.0 0.0"


def test_a_band_lies_between_its_limits() -> None:
    [path] = drawn(points.lines([((0, 1), (0, 2), (5, 2), (5, 1))], "band", end="Z"))
    assert path.get("d") == "M0.0 40.0L0.0 30.0L50.0 30.0L50.0 40.0Z"


def test_level_lines_say_what_they_are() -> None:
    [path] = drawn(points.levels([(0, 10, 2.5)], "limit", "too much"))
    assert (path.get("class"), path.get("d")) == ("limit", "M0.0 25.0L100.0 25.0")
    assert path.findtext("title") == "too much"
    assert drawn(points.levels([], "limit")) == []


def test_words_of_change_points_do_not_cover_one_another() -> None:
    near = [(1.0, "1 Oct: +5 %", "error"), (2.0, "2 Oct: +5 %", "good"), (9.0, "9 Oct", "plain")]
    groups = drawn(points.dated(near))
    assert [one.get("class") for one in groups] == ["step error", "step good", "step plain"]
    heights = [one.find("text").get("y") for one in groups]  # type: ignore[union-attr]
    assert heights[0] != heights[1]
    last = groups[2].find("text")
    assert last is not None
    assert last.get("text-anchor") == "end"


@pytest.mark.parametrize("state", [*State, None])
def test_every_ending_has_a_shape_of_its_own(state: State | None) -> None:
    def shape(one: State | None) -> tuple[Any, ...]:
        [element] = drawn(points.nights([Mark(5, 2, one, "words")]))
        return (element.tag, element.get("d"), element.get("r"), element.get("class"))

    others = {shape(one)[:3] for one in (*State, None) if one is not state}
    assert shape(state)[:3] not in others


def test_a_mark_is_a_link_where_there_is_a_report() -> None:
    [plain] = drawn(points.nights([Mark(5, 2, State.OK, "words")]))
    assert (plain.tag, plain.findtext("title")) == ("circle", "words")
    [link] = drawn(points.nights([Mark(5, 2, State.REGRESSION, "words", "n/report.html")]))
    assert (link.tag, link.get("href"), link.get("tabindex")) == ("a", "n/report.html", "-1")
    assert [one.tag for one in link] == ["title", "path"]
