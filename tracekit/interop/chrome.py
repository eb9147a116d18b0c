"""A run as Chrome's Trace Event Format: JSON that many viewers read.

Times are microseconds there, with three decimals, so no nanosecond is lost. Ids of arrows are
texts: JavaScript rounds numbers beyond 2^53, which would join separate arrows.
"""

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import msgspec

from tracekit.interop.tracks import Slices, StepSeries, Track, TrackGroup, known_of, split_lanes

Event = dict[str, Any]
_WITHOUT_PID = 1 << 24  # above the pids of any system


def write_chrome(tracks: Sequence[Track], file: BinaryIO) -> None:
    """Write the tracks as one JSON object; overlapping slices get tracks of their own."""
    encoder = msgspec.json.Encoder()
    file.write(b'{"displayTimeUnit":"ns","traceEvents":[\n')
    separator = b""
    for event in _events(tracks):
        file.write(separator + encoder.encode(event))
        separator = b",\n"
    file.write(b"\n]}\n")


def _events(tracks: Sequence[Track]) -> Iterator[Event]:
    pids: dict[TrackGroup, int] = {}
    started_chains: set[int] = set()
    tid = 0
    for track in tracks:
        if track.group not in pids:
            new_pid = track.group.pid
            if new_pid is None:
                new_pid = _WITHOUT_PID + len(pids)
            pids[track.group] = new_pid
            yield _make_name_event("process_name", new_pid, 0, track.group.name)
        pid = pids[track.group]
        if isinstance(track, StepSeries):
            yield from _counters(track, pid)
            continue
        for lane in split_lanes(track):
            tid += 1
            yield _make_name_event("thread_name", pid, tid, track.name)
            yield from _slices(lane, pid, tid)
            yield from _chains(lane, pid, tid, started_chains)


def _make_name_event(kind: str, pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def _counters(levels: StepSeries, pid: int) -> Iterator[Event]:
    series = levels.unit or "value"
    changes = zip(levels.times.tolist(), levels.values.tolist(), strict=True)
    for time, value in changes:
        values = {series: value}
        yield {"ph": "C", "name": levels.name, "pid": pid, "ts": time / 1000, "args": values}


def _slices(lane: Slices, pid: int, tid: int) -> Iterator[Event]:
    columns = (lane.starts.tolist(), lane.ends.tolist(), lane.codes.tolist())
    slices = zip(*columns, known_of(lane), strict=True)
    for start, end, code, arguments in slices:
        length = (end - start) / 1000
        yield {
            "ph": "X",
            "name": lane.names[code],
            "pid": pid,
            "tid": tid,
            "ts": start / 1000,
            "dur": length,
            "args": arguments,
        }


def _chains(lane: Slices, pid: int, tid: int, started_chains: set[int]) -> Iterator[Event]:
    """Yield a step for each slice that is a link of a chain: the first begins the chain."""
    for flow in lane.flows:
        links = zip(lane.starts.tolist(), flow.tolist(), strict=True)
        for start, link in links:
            if not link:
                continue
            yield {
                "ph": "t" if link in started_chains else "s",
                "id": f"{link:#x}",
                "name": "work",
                "cat": "work",
                "bp": "e",
                "pid": pid,
                "tid": tid,
                "ts": start / 1000,
            }
            started_chains.add(link)
