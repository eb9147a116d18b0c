"""A timeline that is made small for a page: thinned, and packed."""

import base64
import json
import zlib
from itertools import accumulate
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.intervals import Window
from tracekit.pages.timeline.packing import Tick, clock, pack, planes, three_digits
from tracekit.pages.timeline.thinning import MOST, thin_timeline
from tracekit.pages.timeline.track import Detail, Kind, Levels, Timeline, Track


def unpack(packed: str) -> dict[str, Any]:
    """Read the format again, from its description."""
    raw = zlib.decompress(base64.b64decode(packed, validate=True))
    length = int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4 : 4 + length])
    offset = 4 + length
    for track in header["tracks"]:
        size = sum(track["lanes"])
        columns = []
        for width in track["widths"]:
            octets = [
                raw[offset + plane * size : offset + (plane + 1) * size] for plane in range(width)
            ]
            values = (bytes(value) for value in zip(*octets, strict=True))
            columns.append([int.from_bytes(value, "little") for value in values])
            offset += width * size
        track["columns"] = columns
        track["times"] = times_of(track)
    assert offset == len(raw)
    return header


def unfold(value: int) -> int:
    return -(value + 1) // 2 if value % 2 else value // 2


def times_of(track: dict[str, Any]) -> list[tuple[int, int]]:
    numerator, under = track["tick"]
    pauses, changes, codes = track["columns"][:3]
    durations_by_code: dict[int, int] = {}
    times, row = [], 0
    for lane in track["lanes"]:
        position = track["from"]
        for _ in range(lane):
            start = position + pauses[row]
            durations_by_code[codes[row]] = durations_by_code.get(codes[row], 0) + unfold(
                changes[row]
            )
            position = start + durations_by_code[codes[row]]
            times.append((start * numerator // under, position * numerator // under))
            row += 1
    return times


def array(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def example() -> Timeline:
    device = Track(
        name="GPU Compute",
        kind=Kind.DEVICE,
        starts=array(5, 2_000_000_000_000, 7),
        durations=array(3, 0, 70_000),
        codes=array(1, 0, 1),
        texts=("matmul", "softmax"),
        lanes=(2, 1),
        note="the target's",
        details=(
            Detail("latency", "ns", array(-1, 0, 300)),
            Detail("process", "text", array(0, -1, 0), ("softmax",)),
            Detail("waited", "lead", array(5, -1, 4)),
            Detail("command buffer", "number", array(9, 0, 7)),
        ),
    )
    return Timeline(-10, 2_000_000_000_005, (device,), Window(5, 70_007, "steady phase"))


def test_unpacked_values_equal_packed_ones() -> None:
    header = unpack(pack(example(), str))
    assert (header["format"], header["begin"], header["end"]) == (2, -10, 2_000_000_000_005)
    assert header["steady"] == [5, 70_007]
    [track] = header["tracks"]
    texts = header["texts"]
    track_facts = (texts[track["name"]], texts[track["note"]], track["kind"], track["tick"])
    assert track_facts == ("GPU Compute", "the target's", "device", [1, 1])
    assert track["times"] == [(5, 8), (2_000_000_000_000, 2_000_000_000_000), (7, 70_007)]
    assert [f"{texts[name]}: {unit}" for name, unit in track["details"]] == [
        *("latency: ns", "process: text", "waited: lead", "command buffer: number")
    ]
    _, _, codes, latency, process, waited, buffer = track["columns"]
    assert [texts[code] for code in codes] == ["softmax", "matmul", "softmax"]
    assert latency == [0, 1, 301]
    assert [texts[code - 1] if code else None for code in process] == ["softmax", None, "softmax"]
    assert list(accumulate(map(unfold, waited))) == [0, 2_000_000_000_001, 3]
    assert list(accumulate(map(unfold, buffer))) == [9, 0, 7]
    texts = unpack(pack(example(), lambda text: text.replace("softmax", "<user>")))["texts"]
    assert "softmax" not in " ".join(texts)
    assert len(texts) == len(set(texts)), "every text is there once"


def test_levels_are_steps_between_the_lowest_and_the_highest() -> None:
    columns = (array(0, 10, 20), array(10, 10, 10), array(0, 0, 0))
    levels = Levels(np.array([5.0, 25.0, 15.0]), "W")
    track = Track("Heat", Kind.LEVELS, *columns, ("Heat",), (3,), levels=levels)
    [header] = unpack(pack(Timeline(0, 30, (track,)), str))["tracks"]
    assert header["levels"] == [5.0, 25.0, "W"]
    assert header["columns"][3] == [0, 65535, 32768]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 2)), min_size=1),
        min_size=1,
        max_size=4,
    ),
    st.integers(-500, 500),
)
def test_every_interval_comes_back(lanes: list[list[tuple[int, int, int]]], begin: int) -> None:
    starts, durations, codes = list[int](), list[int](), list[int]()
    for lane in lanes:
        position = begin
        for pause, length, code in lane:
            starts.append(position + pause)
            durations.append(length)
            codes.append(code)
            position += pause + length
    columns = (array(*starts), array(*durations), array(*codes))
    sizes = tuple(len(lane) for lane in lanes)
    track = Track("t", Kind.STEPS, *columns, texts=("a", "b", "c"), lanes=sizes)
    [header] = unpack(pack(Timeline(begin, begin + 10**5, (track,)), str))["tracks"]
    ends = [start + length for start, length in zip(starts, durations, strict=True)]
    assert header["times"] == list(zip(starts, ends, strict=True))


MAC = Tick(125, 3)


def test_a_column_is_as_wide_as_its_widest_value() -> None:
    widths = {(): 1, (0,): 1, (255,): 1, (256,): 2, (1, 2**24): 4, (2**32,): 5, (2**62,): 8}
    assert {values: planes(array(*values))[0] for values in widths} == widths


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, unique=True))
def test_times_of_a_macs_ticks_are_exact_in_ticks(ticks: list[int]) -> None:
    starts = MAC.time(array(*sorted(ticks)))
    assert MAC.count(starts).tolist() == sorted(ticks)
    zeros = np.zeros(starts.size, np.int64)
    track = Track("GPU", Kind.DEVICE, starts, zeros, zeros, ("k",), (starts.size,))
    [header] = unpack(pack(Timeline(0, 1, (track,)), str))["tracks"]
    assert (header["tick"], header["times"]) == (
        [125, 3],
        [(time, time) for time in starts.tolist()],
    )


def test_one_time_between_ticks_makes_the_clock_one_of_nanoseconds() -> None:
    assert clock(array(0, 41, 83, 125)) == MAC
    assert clock(array(0, 41), array(84)) == Tick()
    assert MAC.count_nearest(array(0, 20, 21, 41, 42, 125)).tolist() == [0, 0, 1, 1, 1, 3]


@given(st.integers(0, 10**15))
def test_three_digits_are_kept_of_every_number(number: int) -> None:
    [code] = three_digits(array(number)).tolist()
    power, remainder = divmod(code - 1000, 900)
    decoded = code if code < 1000 else (remainder + 100) * 10 ** (power + 1)
    assert abs(decoded - number) * 200 <= number
    assert decoded == number or number >= 1000


def make_track(
    starts: list[int], durations: list[int], kind: Kind = Kind.DEVICE, **more: Any
) -> Track:
    columns = np.array(starts, np.int64), np.array(durations, np.int64), np.arange(len(starts)) % 2
    lanes = {"lanes": (len(starts),)} | more
    return Track(kind.value, kind, *columns, ("a", "b"), note="the target's", **lanes)


def list_intervals(track: Track) -> list[tuple[int, int, str]]:
    rows = zip(track.starts.tolist(), track.durations.tolist(), track.codes.tolist(), strict=True)
    return [(start, length, track.texts[code]) for start, length, code in rows]


def test_a_timeline_that_a_page_can_bear_stays_as_it_is() -> None:
    line = Timeline(0, 100, (make_track([0, 10, 20], [5, 5, 5]),))
    assert thin_timeline(line) is line
    assert thin_timeline(line, max_intervals=3) is line
    assert MOST > 10**6


def test_detail_is_kept_in_windows_of_findings_first_and_then_in_the_steady_phase() -> None:
    work = make_track(list(range(0, 100, 5)), [3] * 20)
    evidence = make_track([60], [10], kind=Kind.EVIDENCE)
    line = Timeline(0, 100, (evidence, work), Window(30, 90, "steady phase"))
    thinner = thin_timeline(line, max_intervals=5, kept_intervals=5, parts=5)
    assert thinner.absences[0].startswith("Of 21 intervals the page holds 11, to stay small")
    [same_track, thin] = thinner.tracks
    assert same_track is evidence
    merged, kept_rows = "several, merged", zip((30, 35, 60, 65, 70, 75), "ababab", strict=True)
    assert [row for row in list_intervals(thin) if row[2] != merged] == [
        (start, 3, text) for start, text in kept_rows
    ]
    assert list_intervals(thin)[:2] == [(0, 12, merged), (20, 6, merged)]
    assert thin.note == "the target's; 14 merged into 4, each within 20 ns, to keep the page small"


def test_only_intervals_of_one_lane_and_part_are_merged() -> None:
    latency = Detail("latency", "ns", np.array([1, 2, 3, 4, 5]))
    buffer = Detail("command buffer", "number", np.array([1, 1, 2, 2, 3]))
    work = make_track([0, 10, 60, 5, 15], [2, 3, 4, 9, 9], lanes=(3, 2), details=(latency, buffer))
    [thin] = thin_timeline(
        Timeline(0, 100, (work,)), max_intervals=0, kept_intervals=0, parts=2
    ).tracks
    merged = "several, merged"
    assert list_intervals(thin) == [(0, 5, merged), (60, 4, "a"), (5, 18, merged)]
    assert thin.lanes == (2, 1)
    assert [detail.numbers.tolist() for detail in thin.details] == [[-1, 3, -1], [0, 2, 0]]
    assert pack(Timeline(0, 100, (thin,)), str)


def test_intervals_after_the_steady_phase_are_not_part_of_it() -> None:
    work = make_track(list(range(0, 100, 5)), [3] * 20)
    line = Timeline(0, 100, (work,), Window(30, 40, "steady phase"))
    [thin] = thin_timeline(line, max_intervals=3, kept_intervals=3, parts=1).tracks
    assert [start for start, _, text in list_intervals(thin) if text in "ab"] == [0, 30, 35]
    [begin] = thin_timeline(
        Timeline(0, 100, (work,)), max_intervals=4, kept_intervals=4, parts=1
    ).tracks
    assert begin.starts.tolist() == [0, 5, 10, 15, 20], "where nothing is steady"


def test_small_tracks_stay_whole_among_large_ones() -> None:
    small_track = make_track(list(range(0, 20_000, 2)), [1] * 10_000, kind=Kind.STEPS)
    many = make_track(list(range(10_001)), [1] * 10_001)
    line = thin_timeline(
        Timeline(0, 20_000, (small_track, many)),
        max_intervals=15_000,
        kept_intervals=15_000,
        parts=10,
    )
    assert line.tracks[0] is small_track
    assert line.tracks[1] is many
    tight = thin_timeline(
        Timeline(0, 20_000, (small_track, many)),
        max_intervals=10_000,
        kept_intervals=10_000,
        parts=10,
    )
    assert tight.tracks[0] is small_track
    assert tight.tracks[1].starts.size == 10_001
    assert tight.tracks[1].note == "the target's"


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=60),
    st.integers(0, 60),
    st.integers(1, 9),
)
def test_time_is_neither_lost_nor_made_and_lanes_stay_in_order(
    pairs: list[tuple[int, int]], max_intervals: int, parts: int
) -> None:
    starts, durations, position = list[int](), list[int](), 0
    for pause, length in pairs:
        starts.append(position + pause)
        durations.append(length)
        position += pause + length
    [thin] = thin_timeline(
        Timeline(0, max(1, position), (make_track(starts, durations),)),
        max_intervals,
        max_intervals,
        parts,
    ).tracks
    assert int(thin.durations.sum()) == sum(durations)
    assert (thin.starts[1:] >= thin.ends[:-1]).all()
    assert thin.starts[0] == starts[0]
    assert thin.ends[-1] <= position
    assert thin.lanes == (thin.starts.size,)
