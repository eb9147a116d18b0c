"""The script counts and words as the rest of tracekit does."""

import base64
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.intervals import busy, clip
from tracekit.analysis.rows import Rows
from tracekit.analysis.tracks import EventTrack
from tracekit.base.files import find_shipped_folder
from tracekit.base.units import count, duration, moment, percent, quantity
from tracekit.pages.timeline.packing import pack
from tracekit.pages.timeline.track import Detail, Kind, Levels, Timeline, Track, track
from typed_rows import frame

pytestmark = pytest.mark.browser

SCRIPTS = find_shipped_folder("templates") / "report" / "script"
TIMES = [0, 1, 7, 999, 1_000, 1_234, 9_999, 99_950, 999_400, 999_600, 1_500_000, 45_600_000]
LONG = [10**9, 2 * 10**9, 1_204_518_400, 59_999_999_999, 3_600 * 10**9, -1_500_000]


@pytest.fixture(scope="module")
def script(browser: Any) -> Iterator[Any]:
    context = browser.new_context()
    page = context.new_page()

    def run(names: str, expression: str, argument: Any) -> Any:
        sources = "\n".join((SCRIPTS / name).read_text() for name in names.split())
        return page.evaluate(f"async (given) => {{ {sources}\nreturn {expression}; }}", argument)

    yield run
    context.close()


@pytest.mark.parametrize(
    ("name", "own", "given"),
    [
        ("duration", duration, [*TIMES, *LONG]),
        ("instant", moment, [*TIMES, *LONG]),
        ("percent", percent, [0, 0.0004, 0.00123, 0.345, 0.99949, 1]),
        ("count", count, [0, 7, 1_000, 1_234_567]),
    ],
)
def test_numbers_are_worded_alike(script: Any, name: str, own: Any, given: list[float]) -> None:
    if own in {duration, moment}:
        given = [*given, *np.random.default_rng(5).integers(0, 10**12, 200).tolist()]
    assert script("words.js", f"given.map({name})", given) == [own(number) for number in given]


def test_levels_are_worded_alike(script: Any) -> None:
    levels = {"bytes": [0, 1023, 1024, 1_536_000, 7 * 2**30], "ratio": [0.5, 0.00001], "": [41.5]}
    levels |= {"W": [0.75, 12.5, 4_000_000], "Hz": [1.398e9], "ns": [1_500]}
    levels |= {"count": [3, 12_345], "blocks": [7, 2_500_000]}
    pairs = [(value, unit) for unit, values in levels.items() for value in values]
    texts = script("words.js", "given.map((pair) => quantity(...pair))", pairs)
    assert texts == [quantity(*pair) for pair in pairs]


def test_details_and_levels_come_through(script: Any) -> None:
    times, zeros = np.array([0, 41, 250, 83_333], np.int64), np.zeros(4, np.int64)
    gpu_track = Track(
        *("GPU", Kind.DEVICE, times, zeros, zeros, ("k",), (4,)),
        details=(
            Detail("ns", "ns", np.array([-1, 0, 999, 45_678])),
            Detail("lead", "lead", np.array([-1, 41, 208, 83_250])),
            Detail("number", "number", np.array([0, 4, 4, 2])),
            Detail("text", "text", np.array([0, -1, 1, 0]), ("k", "other")),
        ),
        levels=Levels(np.array([2.0, 4.0, 3.0, 2.0]), "W"),
    )
    code = """unpack(given).then(({tracks: [track], texts}) => [
        ...track.details.slice(0, 3).map((detail) => [...detail.values]),
        [...track.details[3].values].map((place) => texts[place - 1] ?? null),
        [...track.levels.values].map((level) => Number(level.toFixed(3))),
        extremes(track, 40, 260), extremes(track, 90_000, 95_000)])"""
    unpacked_values = script(
        "words.js unpack.js", code, pack(Timeline(0, 10**5, (gpu_track,)), str)
    )
    assert unpacked_values[0] == [0, 1, 1000, 45_701]
    assert unpacked_values[1] == pytest.approx([0, 42, 209, 83_251], abs=1)
    assert unpacked_values[2] == [0, 4, 4, 2]
    assert unpacked_values[3] == ["k", None, "other", "k"]
    assert unpacked_values[4] == [2, 4, 3, 2]
    assert unpacked_values[5:] == [pytest.approx([3, 4], abs=1e-4), None]


def test_a_tick_has_the_digits_its_step_needs(script: Any) -> None:
    for tick_time, step, words in (
        (0, 10**8, "0 ns"),
        (200 * 10**6, 10**8, "200 ms"),
        (1_200_000_000, 10**8, "1.2 s"),
        (1_062_508_000, 500_000, "1.0625 s"),
        (5_000_000_100, 100, "5,000.0001 ms"),
        (1_500, 500, "1.5 µs"),
    ):
        assert script("words.js", "moment(...given)", [tick_time, step]) == words


def test_sums_of_a_window_are_those_of_the_analysis(script: Any) -> None:
    chance = np.random.default_rng(11)
    starts = chance.integers(0, 10**6, 400).tolist()
    durations = chance.choice([0, 1, 500, 30_000], 400).tolist()
    table = frame("gpu_intervals", [{"start": start} for start in starts])
    table["duration"] = pd.array(durations, "Int64")
    events = EventTrack(Rows("gpu_intervals", table), "GPU", table["label"])
    gpu_track = track(events, Kind.DEVICE, "", max_lanes=12)
    windows = np.sort(chance.integers(-(10**5), 12 * 10**5, (60, 2))).tolist()
    sums = script(
        "words.js unpack.js",
        """unpack(given.packed).then((data) => given.windows.map(([begin, end]) => {
            const [track] = data.tracks;
            const counts = track.lanes.map((lane) => cover(lane, begin, end).count);
            return [union(track, begin, end), counts.reduce((sum, count) => sum + count, 0)];
        }))""",
        {"packed": pack(Timeline(0, 2 * 10**6, (gpu_track,)), str), "windows": windows},
    )
    for (begin, end), (time, number) in zip(windows, sums, strict=True):
        assert time == busy(*clip(gpu_track.starts, gpu_track.ends, begin, end)), begin
        touching = (gpu_track.ends > begin) & (gpu_track.starts < end)
        assert number == int(np.count_nonzero(touching)), begin


def test_data_are_decoded_alike_in_browsers_that_lack_the_newest_decoder(script: Any) -> None:
    code = """(() => {
        const newest = octets(given);
        const kept = Uint8Array.fromBase64;
        Uint8Array.fromBase64 = undefined;
        const older = octets(given);
        if (kept) Uint8Array.fromBase64 = kept; else delete Uint8Array.fromBase64;
        return [[...newest], [...older]];
    })()"""
    content = bytes(range(256))
    newest, older = script("unpack.js", code, base64.b64encode(content).decode())
    assert newest == older == list(content)


def test_data_of_another_format_or_damaged_ones_are_refused(script: Any) -> None:
    packed = pack(Timeline(0, 1, ()), str)
    keys = script("unpack.js", "unpack(given).then((data) => Object.keys(data).sort())", packed)
    assert keys == ["begin", "end", "steady", "texts", "tracks"]
    newer = zlib.decompress(base64.b64decode(packed)).replace(b'"format":2', b'"format":9')
    damaged = base64.b64encode(zlib.compress(newer)).decode()
    with pytest.raises(Exception, match="its data have the unknown format 9"):
        script("unpack.js", "unpack(given)", damaged)
    for damaged in ("AAAA", "%%%", packed[:40]):
        with pytest.raises(Exception, match="its data are damaged"):
            script("unpack.js", "unpack(given)", damaged)
