"""A picture of nights: panels above one another that share the axis of days."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

import numpy as np

from tracekit.nightly.trend.happened import Happening
from tracekit.nightly.trend.words import date_of, days_of
from tracekit.report import Axis, Plane, Shape, figure, finished, moved, svg_text

_STEPS = (1, 2, 7, 14)  # days between ticks, before it is months
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120)
_APART = 66.0  # the least room of a date
_CHARACTER = 6.0


@dataclass(frozen=True)
class Size:
    """The measures of a picture, in its own units."""

    width: float
    left: float
    right: float
    heights: tuple[float, ...]
    head: float = 16.0
    gap: float = 24.0
    lane: float = 20.0
    foot: float = 18.0

    @property
    def across(self) -> float:
        """The width between the sides."""
        return self.width - self.left - self.right


WIDE = Size(960, 10, 60, (150, 84))
FLAT = Size(960, 10, 60, (150,))
COMPACT = Size(400, 6, 48, (78,))


@dataclass(frozen=True)
class Panel:
    """One of the panels: what stands above it, its axis and what is drawn, from back to front."""

    title: str
    y: Axis
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Picture:
    """What a picture shows, with as many panels, from the top, as its size has heights.

    `x` is the axis of days since 1970, `tags` are lettered lines through all panels, and `lane`
    stands under the last panel, on a plane of its own.
    """

    title: str
    summary: str
    size: Size
    x: Axis
    panels: tuple[Panel, ...]
    tags: Sequence[Happening] = ()
    lane: tuple[Shape, ...] = ()


def svg(picture: Picture, spoken: Callable[[str], str] = str) -> str:
    """Return the picture as an SVG element without style, script and ids.

    All words of it pass through `spoken`. The same picture gives the same characters.
    """
    size = picture.size
    tops = list(_tops(size))
    bottom = tops[-1] + size.heights[-1]
    height = bottom + size.lane + size.foot
    root = figure("nights", (size.width, height), picture.title, picture.summary)
    root.extend(_dates(picture, bottom, height))
    root.extend(_tags(picture))
    for panel, top, high in zip(picture.panels, tops, size.heights, strict=True):
        root.append(_panel(panel, picture, top, high))
    lane = moved(size.left, bottom)
    plane = Plane(size.across, size.lane, picture.x, _LANE)
    lane.extend(element for shape in picture.lane for element in shape(plane))
    root.append(lane)
    return finished(root, spoken)


_LANE = Axis("", 0, 1, (), str)


def day_marks(x: Axis, width: float) -> tuple[tuple[float, str], ...]:
    """Return where dates stand on an axis so wide, and their words; the year where it begins."""
    most = max(2, int(width / _APART))
    first, last = date_of(x.low), date_of(x.high)
    midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
    days = [midnight + timedelta(days=at) for at in range(int(x.high - x.low) + 3)]
    days = [day for day in days if first <= day <= last]
    for step in _STEPS:
        if len(days) <= most * step:
            chosen = days[::step]
            break
    else:
        months = [one for one in days if one.day == 1]
        apart = next((one for one in _MONTHS if len(months) <= most * one), _MONTHS[-1])
        chosen = [month for month in months if (month.year * 12 + month.month - 1) % apart == 0]
    years: set[int] = set()
    marks: list[tuple[float, str]] = []
    for one in chosen:
        words = f"{one.day} {one:%b}" if one.year in years else f"{one.day} {one:%b %Y}"
        years.add(one.year)
        marks.append((x.low + (one - first) / timedelta(days=1), words))
    return tuple(marks)


def _tops(size: Size) -> Iterator[float]:
    top = size.head + size.gap - 6
    for height in size.heights:
        yield top
        top += height + size.gap


def _panel(panel: Panel, picture: Picture, top: float, height: float) -> ET.Element:
    size = picture.size
    group = moved(size.left, top)
    plane = Plane(size.across, height, picture.x, panel.y)
    group.append(_text(size.across, -7, panel.title, "name end"))
    for mark in panel.y.marks:
        _, y = plane.at((picture.x.low, mark))
        ET.SubElement(group, "path", {"class": "grid", "d": f"M0 {y:.1f}H{size.across:g}"})
        group.append(_text(size.across + 7, y + 4, panel.y.words(mark), ""))
    group.extend(element for shape in panel.shapes for element in shape(plane))
    return group


def _dates(picture: Picture, bottom: float, height: float) -> Iterator[ET.Element]:
    size = picture.size
    for at, words in day_marks(picture.x, size.across):
        x = size.left + picture.x.project(at, 0, size.across)
        yield ET.Element("path", {"class": "grid", "d": f"M{x:.1f} {bottom:.1f}v{size.lane:g}"})
        room = len(words) * _CHARACTER / 2
        place = min(max(x, room + 1), size.width - room)
        yield _text(place, height - 5, words, "mid")


def _tags(picture: Picture) -> Iterator[ET.Element]:
    size = picture.size
    ends = [float("-inf")]
    for tag in picture.tags:
        x = size.left + picture.x.project(days_of(tag.at), 0, size.across)
        width = len(tag.letter) * 7.5 + 6
        place = max(x - width / 2, ends[-1] + 1)
        ends.append(place + width)
        group = ET.Element("g", {"class": "accepted" if tag.accepted else "changed"})
        ET.SubElement(group, "title").text = f"{tag.letter}: {tag.words}"
        tops = zip(_tops(size), size.heights, strict=True)
        line = "".join(f"M{x:.1f} {top:g}v{high:g}" for top, high in tops)
        ET.SubElement(group, "path", {"class": "through", "d": line})
        box = {"x": f"{place:.1f}", "y": "0", "width": f"{width:g}", "height": f"{size.head:g}"}
        ET.SubElement(group, "rect", {**box, "rx": "8" if tag.accepted else "2"})
        group.append(_text(place + width / 2, 12, tag.letter, "mid"))
        yield group


def _text(x: float, y: float, words: str, name: str) -> ET.Element:
    return svg_text(x, y, words, {"class": name} if name else {})


@dataclass(frozen=True)
class NightAxis(Axis):
    """An axis of days on which nights that began close together stand apart.

    `knots` are days and where on the axis these lie, in order; in between it is even.
    """

    knots: tuple[tuple[float, float], ...] = ()

    def project(self, value: float, begin: float, end: float) -> float:
        """Return the place of a day between those of the axis' ends."""
        days, places = zip(*self.knots, strict=True)
        return super().project(float(np.interp(value, days, places)), begin, end)


_LEAST_APART = 1 / 90  # of the axis' length: marks of two nights that can be distinguished
_CLOSE = 0.8  # of the length, at most, that all nights together take for that


def day_axis(days: Sequence[float]) -> Axis:
    """Return the axis over nights, with room at both ends; of one night alone, too."""
    nights = sorted(set(days))
    air = max(0.6, (nights[-1] - nights[0]) * 0.015)
    low, high = nights[0] - air, nights[-1] + air
    least = (high - low) * min(_LEAST_APART, _CLOSE / len(nights))
    places = [nights[0]]
    for before, day in pairwise(nights):
        places.append(places[-1] + max(day - before, least))
    over = max(0.0, places[-1] - high + (high - low) * 0.02)
    shrunk = (places[-1] - places[0] - over) / max(places[-1] - places[0], 1e-9)
    places = [places[0] + (place - places[0]) * shrunk for place in places]
    knots = ((low, low), *zip(nights, places, strict=True), (high, high))
    return NightAxis("", low, high, (), str, knots=knots)
