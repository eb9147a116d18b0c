"""Thin out a timeline of very many intervals: keep those that readers look at, merge the others.

Detail is kept in the windows of findings, then in the steady phase, then in the rest, each from its
begin, up to as many intervals as a page can bear. The others are merged lane by lane within equal
parts of the axis: one interval that starts with the first of them and lasts as long as all
together, so that sums of time stay the same.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import intervals
from tracekit.base import units
from tracekit.pages.timeline.track import MERGED, Detail, Kind, Timeline, Track, unknown

MOST = 1_800_000
KEPT = 1_100_000
PARTS = 5_000
_SMALL = 10_000


def thin_timeline(
    timeline: Timeline, max_intervals: int = MOST, kept_intervals: int = KEPT, parts: int = PARTS
) -> Timeline:
    """Return the timeline, or, if it has more than `max_intervals` intervals, one with fewer.

    Of these, about `kept_intervals` keep their detail; the others are merged within each of so many
    `parts` of the axis. Tracks of few intervals stay whole. A track's note gives the number of its
    merged intervals, and the time within which they were merged.
    """
    if timeline.count <= max_intervals:
        return timeline
    small = min(_SMALL, kept_intervals)
    detail_end = _find_detail_end(timeline, small, kept_intervals)
    length = timeline.end - timeline.begin
    width = max(1, -(-length // parts))
    tracks: list[Track] = []
    for track in timeline.tracks:
        if track.starts.size <= small:
            tracks.append(track)
            continue
        is_outside = _rank_intervals(track.starts, timeline) >= detail_end
        tracks.append(_merge_track(track, is_outside, timeline.begin, width))
    thin = replace(timeline, tracks=tuple(tracks))
    if thin.count == timeline.count:
        return timeline
    absence = (
        f"Of {units.count(timeline.count)} intervals the page holds "
        f"{units.count(thin.count)}, to stay small: "
        "detail is kept around findings and in the steady phase from its beginning, the others are "
        "merged. Sums of time count all intervals; sums of intervals count merged ones as one."
    )
    return replace(thin, absences=(*thin.absences, absence))


def _find_detail_end(timeline: Timeline, small: int, kept_intervals: int) -> int:
    """Return the first rank whose intervals lose their detail."""
    large_tracks = [track for track in timeline.tracks if track.starts.size > small]
    ranks = [_rank_intervals(track.starts, timeline) for track in large_tracks]
    ordered = np.sort(np.concatenate(ranks))
    if ordered.size > kept_intervals:
        return int(ordered[kept_intervals])
    return int(ordered[-1]) + 1


def _rank_intervals(starts: intervals.Times, timeline: Timeline) -> intervals.Times:
    """Return ranks, the lowest for the intervals to keep: by their phase, then by their begin."""
    rank = np.full(starts.size, 2)
    if timeline.steady is not None:
        is_steady = (starts >= timeline.steady.start) & (starts < timeline.steady.end)
        rank[is_steady] = 1
    for track in timeline.tracks:
        if track.kind is Kind.EVIDENCE:
            evidence = zip(*intervals.union(track.starts, track.ends), strict=True)
            for begin, end in evidence:
                is_evidence = (starts >= begin) & (starts <= end)
                rank[is_evidence] = 0
    rank_length = timeline.end - timeline.begin + 1
    return rank * rank_length + starts - timeline.begin


def _merge_track(track: Track, is_outside: NDArray[np.bool_], begin: int, width: int) -> Track:
    """Merge neighbours in a lane that both lie outside of the part with detail."""
    lane_numbers = np.arange(len(track.lanes))
    lanes = np.repeat(lane_numbers, track.lanes)
    parts = (track.starts - begin) // width
    joins = np.zeros(track.starts.size, bool)
    is_same_part = parts[1:] == parts[:-1]
    is_same_lane = lanes[1:] == lanes[:-1]
    are_both_outside = is_outside[1:] & is_outside[:-1]
    joins[1:] = are_both_outside & is_same_part & is_same_lane
    if not joins.any():
        return track
    firsts = np.flatnonzero(~joins)
    ends = np.append(firsts, track.starts.size)
    sizes = np.diff(ends)
    is_merged = sizes > 1
    interval_count = units.count(int(sizes[is_merged].sum()))
    merged_count = units.count(int(is_merged.sum()))
    note = (
        f"{interval_count} merged into {merged_count}, each within {units.duration(width)}, "
        f"to keep the "
        "page small"
    )
    if track.note:
        note = f"{track.note}; {note}"
    details: list[Detail] = []
    for detail in track.details:
        numbers = np.where(is_merged, unknown(detail), detail.numbers[firsts])
        details.append(replace(detail, numbers=numbers))
    durations = np.add.reduceat(track.durations, firsts)
    codes = np.where(is_merged, len(track.texts), track.codes[firsts])
    lane_counts = np.bincount(lanes[firsts])
    return replace(
        track,
        starts=track.starts[firsts],
        durations=durations,
        codes=codes,
        texts=(*track.texts, MERGED),
        lanes=tuple(lane_counts.tolist()),
        note=note,
        details=tuple(details),
    )
