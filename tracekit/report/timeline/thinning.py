"""Of very many intervals the page keeps each where readers look, and merges the others.

Detail is kept in the windows of findings, then in the steady phase, then in the rest, each from its
begin, until there are as many intervals as a page can bear. What is left is merged lane by lane
within equal parts of the axis: one interval that starts with the first of them and lasts as long as
all together, so that sums of time stay what they are.
"""

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


def thin_timeline(
    timeline: Timeline, max_intervals: int = MOST, kept_intervals: int = KEPT, parts: int = PARTS
) -> Timeline:
    """Return the timeline, or, if it has more than `max_intervals` intervals, one with fewer.

    Of these, about `kept_intervals` keep their detail; the others are merged within each of so many
    `parts` of the axis. Tracks of few intervals stay whole. A track's note says how many of its
    intervals are merged, and within what time.
    """
    if timeline.count <= max_intervals:
        return timeline
    small = min(_SMALL, kept_intervals)
    large = [track for track in timeline.tracks if track.starts.size > small]
    order = np.sort(np.concatenate([_rank_intervals(track.starts, timeline) for track in large]))
    detail_end = (
        order[kept_intervals] if order.size > kept_intervals else order[-1] + 1
    )  # where detail ends
    width = max(1, -(-(timeline.end - timeline.begin) // parts))
    tracks = (
        _merge_track(
            track, _rank_intervals(track.starts, timeline) >= detail_end, timeline.begin, width
        )
        if track.starts.size > small
        else track
        for track in timeline.tracks
    )
    thin = replace(timeline, tracks=tuple(tracks))
    if thin.count == timeline.count:
        return timeline
    absence = (
        f"Of {count(timeline.count)} intervals the page holds {count(thin.count)}, to stay small: "
        "detail is kept where findings point to and in the steady phase from its begin, the others "
        "are merged. Sums of time count all, sums of intervals count what is merged as one."
    )
    return replace(thin, absences=(*thin.absences, absence))


def _rank_intervals(starts: Times, timeline: Timeline) -> Times:
    """Return numbers that grow as intervals are less wanted: by where they begin, then by when."""
    rank = np.full(starts.size, 2)
    if timeline.steady is not None:
        rank[(starts >= timeline.steady.start) & (starts < timeline.steady.end)] = 1
    for track in timeline.tracks:
        if track.kind is Kind.EVIDENCE:
            for begin, end in zip(*union(track.starts, track.ends), strict=True):
                rank[(starts >= begin) & (starts <= end)] = 0
    return rank * (timeline.end - timeline.begin + 1) + starts - timeline.begin


def _merge_track(track: Track, outside: NDArray[np.bool_], begin: int, width: int) -> Track:
    """Merge neighbours in a lane that both lie outside of what keeps its detail."""
    lanes = np.repeat(np.arange(len(track.lanes)), track.lanes)
    parts = (track.starts - begin) // width
    joins = np.zeros(track.starts.size, bool)
    joins[1:] = outside[1:] & outside[:-1] & (parts[1:] == parts[:-1]) & (lanes[1:] == lanes[:-1])
    if not joins.any():
        return track
    firsts = np.flatnonzero(~joins)
    sizes = np.diff(np.append(firsts, track.starts.size))
    is_merged = sizes > 1
    merge_note = (
        f"{count(int(sizes[is_merged].sum()))} merged into {count(int(is_merged.sum()))}, each "
        "within "
        f"{duration(width)}, to keep the page small"
    )
    return replace(
        track,
        starts=track.starts[firsts],
        durations=np.add.reduceat(track.durations, firsts),
        codes=np.where(is_merged, len(track.texts), track.codes[firsts]),
        texts=(*track.texts, MERGED),
        lanes=tuple(int(number) for number in np.bincount(lanes[firsts])),
        note="; ".join(filter(None, (track.note, merge_note))),
        details=tuple(
            replace(detail, numbers=np.where(is_merged, unknown(detail), detail.numbers[firsts]))
            for detail in track.details
        ),
    )
