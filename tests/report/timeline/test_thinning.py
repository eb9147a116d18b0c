from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.intervals import Window
from tracekit.report.timeline.packing import pack
from tracekit.report.timeline.thinning import MOST, thinned
from tracekit.report.timeline.track import Detail, Kind, Timeline, Track


def made(starts: list[int], durations: list[int], kind: Kind = Kind.DEVICE, **more: Any) -> Track:
    columns = np.array(starts, np.int64), np.array(durations, np.int64), np.arange(len(starts)) % 2
    lanes = {"lanes": (len(starts),)} | more
    return Track(kind.value, kind, *columns, ("a", "b"), note="the target's", **lanes)


def shown(track: Track) -> list[tuple[int, int, str]]:
    rows = zip(track.starts.tolist(), track.durations.tolist(), track.codes.tolist(), strict=True)
    return [(start, length, track.texts[code]) for start, length, code in rows]


def test_a_timeline_that_a_page_can_bear_stays_as_it_is() -> None:
    line = Timeline(0, 100, (made([0, 10, 20], [5, 5, 5]),))
    assert thinned(line) is line
    assert thinned(line, most=3) is line
    assert MOST > 10**6


def test_detail_is_kept_in_windows_of_findings_first_and_then_in_the_steady_phase() -> None:
    work = made(list(range(0, 100, 5)), [3] * 20)
    evidence = made([60], [10], kind=Kind.EVIDENCE)
    line = Timeline(0, 100, (evidence, work), Window(30, 90, "steady phase"))
    thinner = thinned(line, most=5, kept=5, parts=5)
    assert thinner.absences[0].startswith("Of 21 intervals the page holds 11, to stay small")
    [same, thin] = thinner.tracks
    assert same is evidence
    merged, kept = "several, merged", zip((30, 35, 60, 65, 70, 75), "ababab", strict=True)
    assert [row for row in shown(thin) if row[2] != merged] == [(at, 3, text) for at, text in kept]
    assert shown(thin)[:2] == [(0, 12, merged), (20, 6, merged)]
    assert thin.note == "the target's; 14 merged into 4, each within 20 ns, to keep the page small"


def test_only_what_is_in_one_lane_and_one_part_is_merged() -> None:
    latency = Detail("latency", "ns", np.array([1, 2, 3, 4, 5]))
    buffer = Detail("command buffer", "number", np.array([1, 1, 2, 2, 3]))
    work = made([0, 10, 60, 5, 15], [2, 3, 4, 9, 9], lanes=(3, 2), details=(latency, buffer))
    [thin] = thinned(Timeline(0, 100, (work,)), most=0, kept=0, parts=2).tracks
    merged = "several, merged"
    assert shown(thin) == [(0, 5, merged), (60, 4, "a"), (5, 18, merged)]
    assert thin.lanes == (2, 1)
    assert [detail.numbers.tolist() for detail in thin.details] == [[-1, 3, -1], [0, 2, 0]]
    assert pack(Timeline(0, 100, (thin,)), str)


def test_what_begins_where_the_steady_phase_ends_is_no_part_of_it() -> None:
    work = made(list(range(0, 100, 5)), [3] * 20)
    line = Timeline(0, 100, (work,), Window(30, 40, "steady phase"))
    [thin] = thinned(line, most=3, kept=3, parts=1).tracks
    assert [start for start, _, text in shown(thin) if text in "ab"] == [0, 30, 35]
    [begin] = thinned(Timeline(0, 100, (work,)), most=4, kept=4, parts=1).tracks
    assert begin.starts.tolist() == [0, 5, 10, 15, 20], "where nothing is steady"


def test_tracks_of_few_intervals_stay_whole_beside_large_ones() -> None:
    few = made(list(range(0, 20_000, 2)), [1] * 10_000, kind=Kind.STEPS)
    many = made(list(range(10_001)), [1] * 10_001)
    line = thinned(Timeline(0, 20_000, (few, many)), most=15_000, kept=15_000, parts=10)
    assert line.tracks[0] is few
    assert line.tracks[1] is many
    tight = thinned(Timeline(0, 20_000, (few, many)), most=10_000, kept=10_000, parts=10)
    assert tight.tracks[0] is few
    assert tight.tracks[1].starts.size == 10_001
    assert tight.tracks[1].note == "the target's"


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=60),
    st.integers(0, 60),
    st.integers(1, 9),
)
def test_time_is_neither_lost_nor_made_and_lanes_stay_in_order(
    pairs: list[tuple[int, int]], most: int, parts: int
) -> None:
    starts, durations, at = list[int](), list[int](), 0
    for pause, length in pairs:
        starts.append(at + pause)
        durations.append(length)
        at += pause + length
    [thin] = thinned(Timeline(0, max(1, at), (made(starts, durations),)), most, most, parts).tracks
    assert int(thin.durations.sum()) == sum(durations)
    assert (thin.starts[1:] >= thin.ends[:-1]).all()
    assert thin.starts[0] == starts[0]
    assert thin.ends[-1] <= at
    assert thin.lanes == (thin.starts.size,)
