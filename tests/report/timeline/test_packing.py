import base64
import json
import zlib
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.intervals import Window
from tracekit.report.timeline.packing import distances, pack, planes
from tracekit.report.timeline.track import Detail, Kind, Timeline, Track


def unpack(packed: str) -> dict[str, Any]:
    """Read the format anew, from its description."""
    raw = zlib.decompress(base64.b64decode(packed, validate=True))
    length = int.from_bytes(raw[:4], "little")
    header = json.loads(raw[4 : 4 + length])
    at = 4 + length
    for track in header["tracks"]:
        size = sum(track["lanes"])
        columns = []
        for width in track["widths"]:
            octets = [raw[at + plane * size : at + (plane + 1) * size] for plane in range(width)]
            columns.append(
                [int.from_bytes(bytes(one), "little") for one in zip(*octets, strict=True)]
            )
            at += width * size
        track["columns"] = columns
    assert at == len(raw)
    return header


def starts_of(track: dict[str, Any], begin: int) -> list[int]:
    lengths, found, first = track["lanes"], [], 0
    for length in lengths:
        found += list(accumulate(track["columns"][0][first : first + length], initial=begin))[1:]
        first += length
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
        ),
    )
    return Timeline(-10, 2_000_000_000_005, (device,), Window(5, 70_007, "steady phase"))


def test_what_was_packed_is_what_is_unpacked() -> None:
    header = unpack(pack(example(), str))
    assert (header["format"], header["begin"], header["end"]) == (1, -10, 2_000_000_000_005)
    assert header["steady"] == [5, 70_007]
    [track] = header["tracks"]
    texts = header["texts"]
    assert (texts[track["name"]], texts[track["note"]], track["kind"]) == (
        "GPU Compute",
        "the target's",
        "device",
    )
    assert starts_of(track, header["begin"]) == [5, 2_000_000_000_000, 7]
    assert track["columns"][1] == [3, 0, 70_000]
    assert [texts[code] for code in track["columns"][2]] == ["softmax", "matmul", "softmax"]
    assert [(texts[name], unit) for name, unit in track["details"]] == [
        ("latency", "ns"),
        ("process", "text"),
    ]
    assert track["columns"][3] == [0, 1, 301]
    assert [texts[code - 1] if code else None for code in track["columns"][4]] == [
        "softmax",
        None,
        "softmax",
    ]


def test_every_text_is_there_once_and_as_it_may_be_shown() -> None:
    texts = unpack(pack(example(), lambda text: text.replace("softmax", "<user>")))["texts"]
    assert "softmax" not in " ".join(texts)
    assert len(texts) == len(set(texts))
    assert texts.count("<user>") == 1


def test_texts_that_are_shown_alike_become_one() -> None:
    header = unpack(pack(example(), lambda _: "x"))
    assert header["texts"] == ["x"]
    assert header["tracks"][0]["columns"][2] == [0, 0, 0]


def test_a_packed_timeline_is_letters_of_base64_alone() -> None:
    assert set(pack(example(), str)) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
    )


def test_no_tracks_are_packed_too() -> None:
    header = unpack(pack(Timeline(0, 1, ()), str))
    assert header["tracks"] == []
    assert header["steady"] is None


@pytest.mark.parametrize(
    ("values", "width"),
    [((), 1), ((0,), 1), ((255,), 1), ((256,), 2), ((2**32,), 5), ((2**62,), 8), ((1, 2**24), 4)],
)
def test_a_column_is_as_wide_as_its_widest_value(values: tuple[int, ...], width: int) -> None:
    assert planes(array(*values))[0] == width


def test_a_negative_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no negative values, but -3"):
        planes(array(1, -3))


@given(st.lists(st.integers(0, 2**62), max_size=30))
def test_planes_hold_every_value(values: list[int]) -> None:
    width, octets = planes(array(*values))
    assert len(octets) == width * len(values)
    size = len(values)
    back = [
        sum(octets[plane * size + at] << (8 * plane) for plane in range(width))
        for at in range(size)
    ]
    assert back == values


@given(st.lists(st.lists(st.integers(-50, 1000), min_size=1, max_size=9), min_size=1, max_size=4))
def test_distances_add_up_to_the_starts(lanes: list[list[int]]) -> None:
    lanes = [sorted(lane) for lane in lanes]
    starts = array(*(start for lane in lanes for start in lane))
    steps = distances(starts, tuple(len(lane) for lane in lanes), -50)
    assert (steps >= 0).all()
    track = {"lanes": [len(lane) for lane in lanes], "columns": [steps.tolist()]}
    assert starts_of(track, -50) == starts.tolist()


def test_ten_thousand_intervals_take_less_than_a_hundred_kilobytes() -> None:
    rng = np.random.default_rng(7)
    durations = rng.integers(4_000, 9_000, 10_000)
    starts = np.cumsum(durations + rng.integers(0, 3_000, 10_000)) - durations
    codes = rng.integers(0, 40, 10_000)
    texts = tuple(f"kernel {one}" for one in range(40))
    track = Track("GPU Compute", Kind.DEVICE, starts, durations, codes, texts, (10_000,))
    assert len(pack(Timeline(0, int(starts[-1]), (track,)), str)) < 100_000
