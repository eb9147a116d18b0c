"""Of very many intervals the page keeps each where readers look, and merges the others.

Detail is kept in the windows of findings, then in the steady phase, then in the rest, each from its
begin, until there are as many intervals as a page can bear. What is left is merged lane by lane
within equal parts of the axis: one interval that starts with the first of them and lasts as long as
all together, so that sums of time stay what they are.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import Times, union
from tracekit.base import count, duration
from tracekit.report.timeline.track import MERGED, Kind, Timeline, Track, unknown

MOST = 1_800_000
KEPT = 1_200_000
PARTS = 5_000
_SMALL = 10_000
_Span = tuple[int, int]


def thinned(timeline: Timeline, most: int = MOST, kept: int = KEPT, parts: int = PARTS) -> Timeline:
    """Return the timeline, or, if it has more than `most` intervals, one with fewer.

    Of these, about `kept` keep their detail; the others are merged within each of so many `parts`
    of the axis. Tracks of few intervals stay whole. A track's note says how many of its intervals
    are merged, and within what time.
    """
    if timeline.count <= most:
        return timeline
    large = [track for track in timeline.tracks if track.starts.size > min(_SMALL, kept)]
    starts = np.sort(np.concatenate([one.starts for one in large]))
    detailed = _detailed(starts, timeline, kept)
    width = max(1, -(-(timeline.end - timeline.begin) // parts))
    tracks = (
        _merged(one, detailed, timeline.begin, width)
        if any(one is other for other in large)
        else one
        for one in timeline.tracks
    )
    thin = replace(timeline, tracks=tuple(tracks))
    if thin.count == timeline.count:
        return timeline
    said = (
        f"Of {count(timeline.count)} intervals the page holds {count(thin.count)}, to stay small: "
        "detail is kept where findings point to and in the steady phase from its begin, the others "
        "are merged. Sums of time count all, sums of intervals count what is merged as one."
    )
    return replace(thin, absences=(*thin.absences, said))


def _detailed(starts: Times, timeline: Timeline, most: int) -> list[_Span]:
    """Return where intervals keep their detail."""
    kept: list[_Span] = []
    free = np.ones(starts.size, bool)
    for begin, end in _wanted(timeline):
        first, last = np.searchsorted(starts, (begin, end))
        inside = first + np.flatnonzero(free[first:last])
        if inside.size > most:
            kept.append((begin, int(starts[inside[most]])))
            break
        kept.append((begin, end))
        free[first:last] = False
        most -= inside.size
    return kept


def _wanted(timeline: Timeline) -> Iterator[_Span]:
    """Yield parts of the axis, the most wanted first."""
    for track in timeline.tracks:
        if track.kind is Kind.EVIDENCE:
            begins, ends = union(track.starts, track.ends)
            yield from zip(begins.tolist(), (ends + 1).tolist(), strict=True)
    if timeline.steady is not None:
        yield timeline.steady.start, timeline.steady.end
    yield timeline.begin, timeline.end + 1


def _merged(track: Track, detailed: list[_Span], begin: int, width: int) -> Track:
    lanes = np.repeat(np.arange(len(track.lanes)), track.lanes)
    outside = ~_within(track.starts, detailed)
    parts = (track.starts - begin) // width
    joins = np.zeros(track.starts.size, bool)
    joins[1:] = outside[1:] & outside[:-1] & (parts[1:] == parts[:-1]) & (lanes[1:] == lanes[:-1])
    if not joins.any():
        return track
    firsts = np.flatnonzero(~joins)
    sizes = np.diff(np.append(firsts, track.starts.size))
    several = sizes > 1
    said = (
        f"{count(int(sizes[several].sum()))} merged into {count(int(several.sum()))}, each within "
        f"{duration(width)}, to keep the page small"
    )
    return replace(
        track,
        starts=track.starts[firsts],
        durations=np.add.reduceat(track.durations, firsts),
        codes=np.where(several, len(track.texts), track.codes[firsts]),
        texts=(*track.texts, MERGED),
        lanes=tuple(int(one) for one in np.bincount(lanes[firsts])),
        note="; ".join(filter(None, (track.note, said))),
        details=tuple(
            replace(each, numbers=np.where(several, unknown(each), each.numbers[firsts]))
            for each in track.details
        ),
    )


def _within(starts: Times, spans: list[_Span]) -> NDArray[np.bool_]:
    inside = np.zeros(starts.size, bool)
    for begin, end in spans:
        inside |= (starts >= begin) & (starts < end)
    return inside
