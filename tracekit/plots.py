"""Pictures of a run for notebooks and files, drawn by matplotlib, which is in the extra `plots`.

They are made of the tables and tracks that the page is made of, without a window and without the
state that pyplot keeps.
"""
# ruff: noqa: PLC0415 - matplotlib is in an extra, and takes half a second to load

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tracekit import analysis
from tracekit.analysis import Result, intervals, rows, tracks
from tracekit.base import InconclusiveError, distribution, files, require, units
from tracekit.pages import PANELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

_Tables = Mapping[str, Any]

_WIDTH = 9.0  # inches
_ROW = 0.36  # inches of a row of the timeline, or of a bar
_LINE = 0.22  # inches of a line of the legend
_MARGIN = 1.1  # inches for the title and the axis
_PARTS = 2_000  # of a timeline: events of one name that are closer together are drawn as one
_COLORS = ("#4269d0", "#efb118", "#3ca951", "#ff725c", "#6cc5b0", "#a463f2")
_GREY = "#9498a0"
_HOST_COLOR = "#7a8aa8"
_HOST_TRACKS = ("phases", "steps", "spans", "compiler_activity", "submissions", "encoders")
_ROW_HEIGHT = 0.76  # of a row, the rest is air
_LEAST_HEIGHT = 0.08  # of a bar, so that it can be seen
_OTHERS = "others"
_FORMATS = ("png", "svg", "pdf")
_MILLISECOND = 1e6
_SECOND = 1e9


@dataclass(frozen=True)
class Plot:
    """A picture: a notebook shows it, `save` writes it; `figure` is matplotlib's own."""

    title: str
    figure: "Figure"

    def save(self, path: str | Path) -> Path:
        """Write the picture as PNG, SVG or PDF, by the suffix of the path; return the path.

        Raises:
            UsageError: The path has another suffix.
            RecordingError: The file cannot be written.
        """
        file = Path(path)
        picture_format = file.suffix.removeprefix(".").lower()
        require(picture_format, _FORMATS, "format of pictures")
        files.write_whole(file, self._encode(picture_format))
        return file

    def _encode(self, picture_format: str) -> bytes:
        content = BytesIO()
        with warnings.catch_warnings():  # letters that the font lacks are drawn as boxes
            warnings.filterwarnings("ignore", message="Glyph")
            self.figure.savefig(
                content, format=picture_format, dpi=144, bbox_inches="tight", facecolor="white"
            )
        return content.getvalue()

    def _repr_png_(self) -> bytes:
        return self._encode("png")

    def __repr__(self) -> str:
        """Return the picture in one line."""
        return f"<Plot: {self.title}>"


@dataclass(frozen=True)
class _Bars:
    """The events of one row that have one name: starts, ends and time at work, in ns.

    Events that are close together are one bar, whose time at work is less than its length.
    """

    name: str
    starts: intervals.Times
    ends: intervals.Times
    work: intervals.Times


@dataclass(frozen=True)
class _Row:
    """A row of the timeline, with the bars of each name; the longest in sum come first."""

    title: str
    bars: tuple[_Bars, ...]
    is_device: bool = False


def draw_timeline(tables: _Tables, start: float | None = None, end: float | None = None) -> Plot:
    """Draw the target's work on the host and on the GPU, and the GPU work of all others.

    The height of a bar is the share of its time in which there was work: it is less than the row's
    if the bar joins events that are too close together, or too short, to be drawn apart.

    Args:
        tables: The tables of a run, and those derived from them.
        start: The first moment to draw, in ns from the start of the trace; by default that of the
            steady window, else that of the target's first GPU interval.
        end: The last one, by default the end of the same window.

    Raises:
        ToolError: matplotlib is not installed.
        InconclusiveError: There is no event in that time.
    """
    figure, axes = _new_figure()
    window = _choose_window(tables, start, end)
    timeline_rows = list(_timeline_rows(tables, window))
    if not timeline_rows:
        raise InconclusiveError(
            "There is no timeline, because no event of the target lies in that time.",
            hint="`run.tables` lists the tables; each has the times of its rows.",
        )
    colors = _color_names(timeline_rows)
    for place, row in enumerate(timeline_rows):
        for bars in row.bars:
            color = _HOST_COLOR
            if row.is_device:
                color = colors.get(bars.name, _GREY)
            _draw_bars(axes, place, bars, window, color)
    length = window.end - window.start
    title = f"Timeline of {units.duration(length)}; the height of a bar is its share of work"
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_yticks(range(len(timeline_rows)), [row.title for row in timeline_rows])
    _take_literally(axes.get_yticklabels())
    axes.set_ylim(len(timeline_rows) - 0.5, -0.5)
    axes.set_xlim(window.start / _MILLISECOND, window.end / _MILLISECOND)
    axes.set_xlabel("ms from the start of the trace")
    lines = _add_legend(figure, timeline_rows, colors)
    height = _MARGIN + _ROW * len(timeline_rows) + _LINE * lines
    figure.set_size_inches(_WIDTH, height)
    return Plot(title, figure)


def draw_idle(tables: _Tables) -> Plot:
    """Draw the idle time of the device, by cause; the bars come to all of it.

    Raises:
        ToolError: matplotlib is not installed.
        InconclusiveError: The idle time is not known, with the reason, or there was none.
    """
    figure, axes = _new_figure()
    loaded_rows = rows(tables, "loaded")
    gap_rows = rows(tables, "gaps")
    absence = loaded_rows.absence
    if not gap_rows.is_known:
        absence = absence or gap_rows.absence
    if absence:
        raise _no_plot("idle time", absence)
    loaded = analysis.sums.loaded_time(loaded_rows.frame)
    sums: dict[str, int] = {}
    if not gap_rows.absence:
        for cause, time in analysis.sums.by_cause(gap_rows.frame).items():
            if time:
                sums[analysis.cause.CAUSES[cause]] = time
    if not sums:
        raise _no_plot("idle time", "the device was never idle")
    ranked = pd.Series(sums).sort_values(ascending=False, kind="stable")
    bars = axes.barh(list(ranked.index), ranked / _MILLISECOND, color=_COLORS[0], height=0.62)
    labels = [f"{units.duration(time)}, {units.percent(time / loaded)}" for time in ranked]
    axes.bar_label(bars, labels, padding=4, fontsize=9)
    axes.invert_yaxis()
    axes.margins(x=0.25)
    axes.set_xlabel("ms")
    idle = sum(sums.values())
    title = f"Idle for {units.percent(idle / loaded)} of {units.duration(loaded)}, by cause"
    axes.set_title(title, loc="left", fontsize=11)
    figure.set_size_inches(_WIDTH, _MARGIN + _ROW * len(ranked))
    return Plot(title, figure)


def draw_roofline(result: Result, tables: _Tables) -> Plot:
    """Draw the workload's steps under the roof of the chip: operations a second and a byte.

    Raises:
        ToolError: matplotlib is not installed.
        InconclusiveError: The steps or the chip are not known, with the reason.
    """
    figure, axes = _new_figure()
    contexts = {panel.name: panel.context for panel in PANELS}
    context = contexts["roofline"](result, tables)
    if context is None:
        raise _no_plot("the roofline", "the workload does not describe its steps")
    chip = context["chip"]
    if chip is None or chip.bandwidth.value is None:
        raise _no_plot("the roofline", context["absence"])
    points = [point for point in context["points"] if point["intensity"]]
    if not points:
        raise _no_plot("the roofline", "the workload does not give the operations of its steps")
    bandwidth: float = chip.bandwidth.value
    rate: float | None = chip.fp16.value or chip.fp32.value
    intensities = [float(point["intensity"]) for point in points]
    bend = max(intensities)
    if rate:
        bend = rate / bandwidth
    edges = np.geomspace(min(*intensities, bend) / 8, max(*intensities, bend) * 8, 200)
    heights = edges * bandwidth
    if rate:
        heights = np.minimum(heights, rate)
    axes.loglog(edges, heights, color="#333333", linewidth=1.5)
    for number, point in enumerate(points):
        speed = point["flops"] * _SECOND / point["time"]
        color = _COLORS[number % len(_COLORS)]
        axes.plot([point["intensity"]], [speed], "o", color=color, label=point["name"])
    axes.set_xlabel("operations for each byte")
    axes.set_ylabel("operations per second")
    axes.legend(frameon=False, fontsize=9)
    axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
    title = f"Steps under the roof of {chip.name}, {units.quantity(bandwidth, 'bytes/s')}"
    axes.set_title(title, loc="left", fontsize=11)
    figure.set_size_inches(_WIDTH * 0.7, _WIDTH * 0.45)
    return Plot(title, figure)


def _no_plot(subject: str, reason: str) -> InconclusiveError:
    reason = reason.rstrip(".")
    return InconclusiveError(f"There is no plot of {subject}, because {reason}.")


def _new_figure() -> "tuple[Figure, Axes]":
    distribution.require_extra("plots")
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _choose_window(tables: _Tables, start: float | None, end: float | None) -> intervals.Window:
    phases = rows(tables, "phases").frame
    target_intervals = rows(tables, "gpu_intervals").of_target().frame
    window = intervals.steady_window(phases, target_intervals)
    if window is None:
        moments = _find_moments(tables)
        if not moments.size:
            raise InconclusiveError("There is no timeline, because no table has events.")
        window = intervals.Window(int(moments.min()), int(moments.max()), "the recording")
    start_time = window.start
    end_time = window.end
    if start is not None:
        start_time = round(start)
    if end is not None:
        end_time = round(end)
    if end_time <= start_time:
        raise InconclusiveError("There is no timeline, because its end is not after its start.")
    return intervals.Window(start_time, end_time, window.name)


def _find_moments(tables: _Tables) -> intervals.Times:
    """Return the starts and ends of all events that the timeline can draw."""
    parts: list[intervals.Times] = []
    for table in (*_HOST_TRACKS, "gpu_intervals"):
        parts += intervals.spans(rows(tables, table).frame)
    return np.concatenate(parts)


def _timeline_rows(tables: _Tables, window: intervals.Window) -> Iterator[_Row]:
    """Yield the rows that have an event in the window, those of the host first."""
    for table in _HOST_TRACKS:
        is_of_workload = table in {"phases", "steps", "spans"}
        track = tracks.event_track(tables, table, of_target_only=not is_of_workload)
        yield from _row_of(track, track.title, window)
    device = tracks.event_track(tables, "gpu_intervals")
    for events in device.split_processes():
        if not bool(events.frame["target"].any()):
            yield from _row_of(events, f"GPU: {events.process}", window, is_device=True)
            continue
        for channel in events.split("channel", tracks.UNKNOWN_CHANNEL):
            title = f"{channel.title}: {events.process}"
            yield from _row_of(channel, title, window, is_device=True)


def _row_of(
    track: tracks.EventTrack, title: str, window: intervals.Window, *, is_device: bool = False
) -> Iterator[_Row]:
    if track.absence:
        return
    arranged = track.arrange()
    begins_inside = arranged.starts >= window.start
    is_inside = (begins_inside | (arranged.ends > window.start)) & (arranged.starts < window.end)
    starts = arranged.starts[is_inside]
    ends = arranged.ends[is_inside]
    codes = arranged.codes[is_inside]
    shortest = (window.end - window.start) / _PARTS
    bars: list[_Bars] = []
    for code in np.unique(codes):
        is_named = codes == code
        joined = join_close(starts[is_named], ends[is_named], shortest)
        bars.append(_Bars(arranged.names[code], *joined))
    bars.sort(key=lambda entry: -int((entry.ends - entry.starts).sum()))
    if bars:
        yield _Row(title, tuple(bars), is_device)


def join_close(
    starts: intervals.Times, ends: intervals.Times, shortest: float
) -> tuple[intervals.Times, intervals.Times, intervals.Times]:
    """Join events, in order of their starts, that are closer together than `shortest` ns.

    Return the starts and ends of the bars, and the time that their events cover.
    """
    latest_ends = np.maximum.accumulate(ends)
    earlier_ends = np.append(starts[:1], latest_ends[:-1])
    covered = np.maximum(0, latest_ends - np.maximum(starts, earlier_ends))
    is_apart = starts > earlier_ends + shortest
    is_apart[0] = True
    firsts = np.flatnonzero(is_apart)
    lasts = np.append(firsts[1:] - 1, starts.size - 1)
    return starts[firsts], latest_ends[lasts], np.add.reduceat(covered, firsts)


def _color_names(timeline_rows: Sequence[_Row]) -> dict[str, str]:
    """Return a colour for each of the names on the device that take the most time."""
    sums: dict[str, int] = {}
    for row in timeline_rows:
        for bars in row.bars:
            if row.is_device:
                sums[bars.name] = sums.get(bars.name, 0) + int((bars.ends - bars.starts).sum())
    ranked = sorted(sums, key=lambda name: -sums[name])
    return dict(zip(ranked, _COLORS, strict=False))


def _draw_bars(axes: "Axes", place: int, bars: _Bars, window: intervals.Window, color: str) -> None:
    """Draw bars, each at least as wide as a part of the timeline, so that it can be seen."""
    from matplotlib.collections import PolyCollection

    shortest = (window.end - window.start) / _PARTS
    widths = np.maximum(bars.ends - bars.starts, shortest)
    heights = _ROW_HEIGHT * np.clip(bars.work / widths, _LEAST_HEIGHT, 1.0)
    lefts = bars.starts / _MILLISECOND
    rights = (bars.starts + widths) / _MILLISECOND
    bottoms = np.full(lefts.size, place + _ROW_HEIGHT / 2)  # the axis points down
    tops = bottoms - heights
    corners = np.stack(
        [
            np.column_stack([lefts, bottoms]),
            np.column_stack([lefts, tops]),
            np.column_stack([rights, tops]),
            np.column_stack([rights, bottoms]),
        ],
        axis=1,
    )
    axes.add_collection(PolyCollection(list(corners), facecolors=color, linewidths=0))


def _add_legend(figure: "Figure", timeline_rows: Sequence[_Row], colors: dict[str, str]) -> int:
    """Name the colours below the axes; return the number of lines that this takes.

    A space comes before each name, because matplotlib hides those that begin with an underscore.
    """
    from matplotlib.patches import Patch

    device_names = {bars.name for row in timeline_rows if row.is_device for bars in row.bars}
    entries: list[Patch] = []
    for name, color in colors.items():
        entries.append(Patch(color=color, label=f" {_shorten(name)}"))
    if device_names - set(colors):
        entries.append(Patch(color=_GREY, label=f" {_OTHERS}"))
    if entries:
        legend = figure.legend(
            handles=entries, loc="outside lower left", ncols=2, frameon=False, fontsize=8
        )
        _take_literally(legend.get_texts())
    return math.ceil(len(entries) / 2)


def _take_literally(texts: Iterable["Text"]) -> None:
    """Draw names as they are, with dollar signs; matplotlib would read those as formulas."""
    for text in texts:
        text.set_parse_math(parse_math=False)


_LONGEST = 56  # letters of a name in the legend


def _shorten(name: str) -> str:
    """Return the end of a long name, which differs where its beginning is that of others."""
    if len(name) <= _LONGEST:
        return name or "unnamed"
    return f"…{name[1 - _LONGEST :]}"
