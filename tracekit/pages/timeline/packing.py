"""Pack a timeline into few bytes, which the script of the page unpacks.

The timeline becomes columns of small numbers. A column holds unsigned integers of 1 … 8 bytes in
planes: first the lowest byte of every value, then the next byte of every value, and so on. Equal
bytes are then neighbours, and deflate shrinks them well. The layout, before deflate:

    u32, little-endian      length of the header
    header                  JSON: texts, tracks, and the width of each column in bytes
    columns                 those of each track, in the header's order

Times are exact, in ticks of the track's clock (`tick` in the header). Signed numbers are folded
into unsigned ones: 0, -1, 1, -2 … become 0, 1, 2, 3 … The first three columns of a track have one
value for each interval:

    pause     from the end of the previous interval in its lane to its start; the first interval of
              a lane counts from the tick `from` of the header
    length    its difference from the length of the previous interval with the same text, folded
    text      the index of its text

One column follows for each detail of the intervals, by the detail's unit:

    ns        a time plus one, or zero if it is unknown; rounded to three digits, as on the page
    lead      the tick at which a time up to the interval's start began, or the tick after the start
              if it is unknown; the difference from the previous value, folded
    text      the index of a text plus one, or zero if it is unknown
    number    the difference from the previous value, folded; the number zero means unknown

A track of levels has one more column: the levels in steps between the lowest and the highest.
"""

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import intervals
from tracekit.pages.timeline.track import Detail, Integers, Timeline, Track

STEPS = (1 << 16) - 1
# Numbers of three digits: the codes of a power of ten, and the least such number.
_CODES_A_POWER = 900
_LEAST_NUMBER = 100


@dataclass(frozen=True)
class Tick:
    """The step of a clock, in ns, as a fraction.

    The k-th tick is at floor(k · numerator / denominator).
    """

    numerator: int = 1
    denominator: int = 1

    def count(self, times: intervals.Times) -> intervals.Times:
        """Return the first tick that is not before each time."""
        return -(-times * self.denominator // self.numerator)

    def time(self, ticks: intervals.Times) -> intervals.Times:
        """Return the time of each tick."""
        return ticks * self.numerator // self.denominator

    def count_nearest(self, durations: intervals.Times) -> intervals.Times:
        """Return the number of ticks of each duration, to the nearest."""
        half = self.numerator // 2
        return (durations * self.denominator + half) // self.numerator

    def holds(self, times: intervals.Times) -> bool:
        """Return whether all times can be written in ticks, to the nanosecond."""
        rounded_times = self.time(self.count(times))
        return bool((rounded_times == times).all())


# The clock of Apple silicon runs at 24 MHz; a trace gives its ticks in ns, rounded down.
_CLOCKS = (Tick(125, 3), Tick())


def clock(*times: intervals.Times) -> Tick:
    """Return the coarsest known clock that holds all times without loss."""
    for tick in _CLOCKS[:-1]:
        if all(tick.holds(part) for part in times):
            return tick
    return _CLOCKS[-1]  # which holds every nanosecond


def planes(values: intervals.Times) -> tuple[int, bytes]:
    """Return the width of a column in bytes, and its bytes, plane by plane.

    A negative value is a ValueError.
    """
    if values.size and int(values.min()) < 0:
        raise ValueError(f"a packed column holds no negative values, but {values.min()}")
    highest = 0
    if values.size:
        highest = int(values.max())
    width = max(1, (highest.bit_length() + 7) // 8)
    raw_octets = values.astype("<u8").view(np.uint8)
    octets = raw_octets.reshape(-1, 8)
    return width, octets[:, :width].T.tobytes()


def pauses(
    starts: intervals.Times, ends: intervals.Times, lanes: tuple[int, ...], begin: int
) -> intervals.Times:
    """Return the pause before each interval, from the end of the previous one in its lane."""
    previous_ends = np.empty_like(starts)
    previous_ends[1:] = ends[:-1]
    firsts = [0, *accumulate(lanes)][: len(lanes)]
    previous_ends[firsts] = begin
    return starts - previous_ends


def fold_differences(values: intervals.Times, codes: intervals.Times) -> intervals.Times:
    """Return the difference of each value from the previous one with the same code, folded."""
    order = np.argsort(codes, kind="stable")
    ordered = values[order]
    groups = codes[order]
    previous_values = np.zeros_like(values)
    is_same_group = groups[1:] == groups[:-1]
    previous_values[1:] = np.where(is_same_group, ordered[:-1], 0)
    differences = np.empty_like(values)
    differences[order] = ordered - previous_values
    return fold_signs(differences)


def fold_signs(values: intervals.Times) -> intervals.Times:
    """Return values without a sign: 0, -1, 1, -2, 2 become 0, 1, 2, 3, 4."""
    folded_negatives = -2 * values - 1
    return np.where(values < 0, folded_negatives, 2 * values)


def three_digits(values: intervals.Times) -> intervals.Times:
    """Return codes of numbers from 0 on, with as many digits as the page shows: three.

    Below 1000 a code is the number; from there each power of ten has 900 codes.
    """
    power = np.zeros(values.size, np.int64)
    quotients = values // 1000
    while (quotients > 0).any():
        power += quotients > 0
        quotients //= 10
    half = 10**power // 2
    rounded = (values + half) // 10**power
    codes = 1000 + (power - 1) * _CODES_A_POWER + rounded - _LEAST_NUMBER
    return np.where(power > 0, codes, values)


def steps(values: NDArray[np.float64], lowest: float, highest: float) -> intervals.Times:
    """Return the values as steps of 0 … STEPS between the lowest and the highest."""
    span = highest - lowest
    shares = (values - lowest) / (span or 1)
    return np.round(shares * STEPS).astype(np.int64)


FORMAT = 2
_LEVEL = 6


class _Texts(dict[str, int]):
    """The index of each string of a page; `clean_text` makes it fit to be shown."""

    def __init__(self, clean_text: Callable[[str], str]) -> None:
        self._shown = clean_text

    def place(self, text: str) -> int:
        return self.setdefault(self._shown(text), len(self))

    def places(self, texts: tuple[str, ...], codes: Integers) -> intervals.Times:
        """Return the index of the text of each code; -1 stays -1."""
        return np.array([*map(self.place, texts), -1], np.int64)[codes]


def pack(timeline: Timeline, clean_text: Callable[[str], str]) -> str:
    """Return the timeline as base64, which the page's script unpacks.

    `clean_text` makes a text fit to be shown: redacted, harmless, on one line.
    """
    texts = _Texts(clean_text)
    columns: list[bytes] = []
    tracks = [_header(track, texts, columns) for track in timeline.tracks]
    steady = None
    if timeline.steady is not None:
        steady = [timeline.steady.start, timeline.steady.end]
    header = {
        "format": FORMAT,
        "begin": timeline.begin,
        "end": timeline.end,
        "steady": steady,
        "tracks": tracks,
        "texts": list(texts),
    }
    words = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    length = struct.pack("<I", len(words))
    raw = length + words + b"".join(columns)
    return base64.b64encode(zlib.compress(raw, _LEVEL)).decode("ascii")


def _header(track: Track, texts: _Texts, columns: list[bytes]) -> dict[str, Any]:
    """Return the header of a track, and add its columns and texts to those of the timeline."""
    tick = clock(track.starts, track.ends)
    begin = 0
    if track.starts.size:
        begin = int(tick.count(track.starts).min())
    widths: list[int] = []
    for values in _columns(track, tick, begin, texts):
        width, octets = planes(values)
        widths.append(width)
        columns.append(octets)
    levels = None
    if track.levels is not None:
        levels = [track.levels.lowest, track.levels.highest, track.levels.unit]
    details = [[texts.place(detail.name), detail.unit] for detail in track.details]
    name = texts.place(track.name)
    note = texts.place(track.note)
    return {
        "name": name,
        "note": note,
        "kind": track.kind.value,
        "lanes": list(track.lanes),
        "tick": [tick.numerator, tick.denominator],
        "from": begin,
        "widths": widths,
        "details": details,
        "levels": levels,
    }


def _columns(track: Track, tick: Tick, begin: int, texts: _Texts) -> Iterator[intervals.Times]:
    starts = tick.count(track.starts)
    ends = tick.count(track.ends)
    codes = texts.places(track.texts, track.codes)
    yield pauses(starts, ends, track.lanes, begin)
    yield fold_differences(ends - starts, codes)
    yield codes
    for detail in track.details:
        if detail.unit == "lead":
            yield _lead(detail, tick, starts)
        else:
            yield _detail(detail, texts)
    if track.levels is not None:
        yield steps(track.levels.values, track.levels.lowest, track.levels.highest)


def _detail(detail: Detail, texts: _Texts) -> intervals.Times:
    if detail.unit == "text":
        return texts.places(detail.texts, detail.numbers) + 1
    if detail.unit == "number":
        return fold_signs(np.diff(detail.numbers.astype(np.int64), prepend=0))
    is_known = detail.numbers >= 0
    codes = three_digits(np.where(is_known, detail.numbers, 0))
    return np.where(is_known, codes + 1, 0)


def _lead(detail: Detail, tick: Tick, starts: intervals.Times) -> intervals.Times:
    is_known = detail.numbers >= 0
    durations = np.where(is_known, detail.numbers, 0)
    begin_ticks = starts - tick.count_nearest(durations)
    begin_ticks = np.where(is_known, begin_ticks, starts + 1)
    return fold_signs(np.diff(begin_ticks, prepend=0))
