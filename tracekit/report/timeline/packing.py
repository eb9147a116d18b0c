"""A timeline as few bytes: columns of deltas, split into planes, deflated.

The layout, before deflate:

    u32, little-endian      length of the header
    header                  JSON: texts, tracks, and how many bytes wide each column is
    columns                 those of each track, in the header's order

A column holds unsigned integers of 1 … 8 bytes: first the lowest byte of every value, then the
next byte of every value, and so on; equal bytes stand together and deflate well. Starts are
distances from the start before in the same lane, the first one from the timeline's begin.
Details are stored plus one, so that nought means unknown.
"""

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from tracekit.analysis.intervals import Times
from tracekit.report.timeline.track import Detail, Timeline, Track

FORMAT = 1
_LEVEL = 6


class _Texts:
    """All strings of a page, each once."""

    def __init__(self, shown: Callable[[str], str]) -> None:
        self._shown = shown
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self._places.setdefault(self._shown(text), len(self._places))

    def places(self, texts: tuple[str, ...], codes: Times) -> Times:
        """Return where the text of each code stands; -1 stays -1."""
        known = np.array([self.place(text) for text in texts] + [-1], np.int64)
        return known[codes]

    def all(self) -> list[str]:
        return list(self._places)


def pack(timeline: Timeline, shown: Callable[[str], str]) -> str:
    """Return the timeline as base64, for the page's script to unpack.

    Args:
        timeline: What to pack.
        shown: Makes a text fit to be shown: redacted, harmless, on one line.
    """
    texts = _Texts(shown)
    columns: list[bytes] = []
    tracks = [_header(track, timeline.begin, texts, columns) for track in timeline.tracks]
    steady = timeline.steady
    header = {
        "format": FORMAT,
        "begin": timeline.begin,
        "end": timeline.end,
        "steady": [steady.start, steady.end] if steady else None,
        "tracks": tracks,
        "texts": texts.all(),
    }
    words = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    raw = struct.pack("<I", len(words)) + words + b"".join(columns)
    return base64.b64encode(zlib.compress(raw, _LEVEL)).decode("ascii")


def planes(values: Times) -> tuple[int, bytes]:
    """Return how many bytes wide a column is, and its bytes, plane by plane.

    Raises:
        ValueError: A value is negative.
    """
    if values.size and int(values.min()) < 0:
        raise ValueError(f"a packed column holds no negative values, but {values.min()}")
    highest = int(values.max()) if values.size else 0
    width = max(1, (highest.bit_length() + 7) // 8)
    octets = values.astype("<u8").view(np.uint8).reshape(-1, 8)
    return width, octets[:, :width].T.tobytes()


def distances(starts: Times, lanes: tuple[int, ...], begin: int) -> Times:
    """Return each start's distance from the start before it in its lane."""
    before = np.empty_like(starts)
    before[1:] = starts[:-1]
    firsts = [0, *accumulate(lanes)][: len(lanes)]
    before[firsts] = begin
    return starts - before


def _header(track: Track, begin: int, texts: _Texts, columns: list[bytes]) -> dict[str, Any]:
    widths: list[int] = []
    for values in _columns(track, begin, texts):
        width, octets = planes(values)
        widths.append(width)
        columns.append(octets)
    return {
        "name": texts.place(track.name),
        "note": texts.place(track.note),
        "kind": track.kind.value,
        "lanes": list(track.lanes),
        "widths": widths,
        "details": [[texts.place(detail.name), detail.unit] for detail in track.details],
    }


def _columns(track: Track, begin: int, texts: _Texts) -> Iterator[Times]:
    yield distances(track.starts, track.lanes, begin)
    yield track.durations
    yield texts.places(track.texts, track.codes)
    for detail in track.details:
        yield _detail(detail, texts) + 1


def _detail(detail: Detail, texts: _Texts) -> Times:
    return texts.places(detail.texts, detail.numbers) if detail.unit == "text" else detail.numbers
