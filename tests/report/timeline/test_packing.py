import base64
import json
import zlib
from itertools import accumulate
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.intervals import Window
from tracekit.report.timeline.packing import Tick, clock, pack, planes, three_digits
from tracekit.report.timeline.track import Detail, Kind, Levels, Timeline, Track


def unpack(packed: str) -> dict[str, Any]:
    """Read the format again, from its description."""
    raw = zlib.decompress(base64.b64decode(packed, validate=True))
    length = int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4 : 4 + length])
    at = 4 + length
    for track in header["tracks"]:
        size = sum(track["lanes"])
        columns = []
        for width in track["widths"]:
            octets = [raw[at + plane * size : at + (plane + 1) * size] for plane in range(width)]
            values = (bytes(value) for value in zip(*octets, strict=True))
            columns.append([int.from_bytes(value, "little") for value in values])
            at += width * size
        track["columns"] = columns
        track["times"] = times_of(track)
    assert at == len(raw)
    return header


def unfold(value: int) -> int:
    return -(value + 1) // 2 if value % 2 else value // 2


def times_of(track: dict[str, Any]) -> list[tuple[int, int]]:
    """Return when each interval of a track starts and ends, in ns."""
    over, under = track["tick"]
    pauses, changes, codes = track["columns"][:3]
    before: dict[int, int] = {}
    found, row = [], 0
    for lane in track["lanes"]:
        at = track["from"]
        for _ in range(lane):
            start = at + pauses[row]
            before[codes[row]] = before.get(codes[row], 0) + unfold(changes[row])
            at = start + before[codes[row]]
            found.append((start * over // under, at * over // under))
            row += 1
    return found


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


def test_what_was_packed_is_what_is_unpacked() -> None:
    header = unpack(pack(example(), str))
    assert (header["format"], header["begin"], header["end"]) == (2, -10, 2_000_000_000_005)
    assert header["steady"] == [5, 70_007]
    [track] = header["tracks"]
    texts = header["texts"]
    named = (texts[track["name"]], texts[track["note"]], track["kind"], track["tick"])
    assert named == ("GPU Compute", "the target's", "device", [1, 1])
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
        at = begin
        for pause, length, code in lane:
            starts.append(at + pause)
            durations.append(length)
            codes.append(code)
            at += pause + length
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
def test_times_on_the_ticks_of_a_mac_are_told_in_ticks_and_lose_nothing(ticks: list[int]) -> None:
    starts = MAC.time(array(*sorted(ticks)))
    assert MAC.count(starts).tolist() == sorted(ticks)
    zeros = np.zeros(starts.size, np.int64)
    track = Track("GPU", Kind.DEVICE, starts, zeros, zeros, ("k",), (starts.size,))
    [header] = unpack(pack(Timeline(0, 1, (track,)), str))["tracks"]
    assert (header["tick"], header["times"]) == ([125, 3], [(at, at) for at in starts.tolist()])


def test_one_time_between_ticks_makes_the_clock_one_of_nanoseconds() -> None:
    assert clock(array(0, 41, 83, 125)) == MAC
    assert clock(array(0, 41), array(84)) == Tick()
    assert MAC.nearest(array(0, 20, 21, 41, 42, 125)).tolist() == [0, 0, 1, 1, 1, 3]


@given(st.integers(0, 10**15))
def test_three_digits_are_kept_of_every_number(number: int) -> None:
    [code] = three_digits(array(number)).tolist()
    power, rest = divmod(code - 1000, 900)
    decoded = code if code < 1000 else (rest + 100) * 10 ** (power + 1)
    assert abs(decoded - number) * 200 <= number
    assert decoded == number or number >= 1000
