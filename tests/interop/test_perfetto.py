"""A run as Perfetto's own trace processor reads it."""

import io
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

from trace_processor import TraceProcessor, trace_processor
from tracekit.analysis.rule import Finding
from tracekit.interop.chrome import write_chrome
from tracekit.interop.perfetto import write_perfetto
from tracekit.interop.tracks import tracks

Tables = dict[str, pd.DataFrame]

_SLICES = """
    select slice.name as name, slice.ts as ts, slice.dur as dur, track.name as track
    from slice join track on slice.track_id = track.id order by slice.ts, slice.dur desc
"""
_ARROWS = """
    select out.name as source, out.ts as since, inn.name as target, inn.ts as till
    from flow join slice out on out.id = flow.slice_out join slice inn on inn.id = flow.slice_in
    order by out.ts, inn.ts
"""


@pytest.fixture
def reader(browser: Any) -> Iterator[TraceProcessor]:
    with trace_processor(browser) as started:
        yield started


def written(tables: Tables, findings: tuple[Finding, ...] = ()) -> bytes:
    file = io.BytesIO()
    write_perfetto(list(tracks(tables, findings)), file)
    return file.getvalue()


@pytest.mark.browser
def test_perfetto_reads_slices_arrows_levels_and_processes(
    reader: TraceProcessor, tables: Tables, findings: tuple[Finding, ...]
) -> None:
    reader.load(written(tables, findings))
    rows = [tuple(row.values()) for row in reader.query(_SLICES)]
    assert rows == [
        ("warm-up", 0, 400, "Phases"),
        ("steady", 500, 9000, "Phases"),
        ("bubbles", 550, 10, "bubbles"),
        ("host late", 1500, 3000, "bubbles"),
        ("Submission", 1500, 900, "Command buffers"),
        ("unlabelled", 1600, 300, "Encoders"),
        ("Submission", 2000, 900, "Command buffers"),
        ("unlabelled", 2100, 300, "Encoders"),
        ("copy", 4500, 1500, "Compute: python3 (4711)"),
        ("frame", 5000, 200, "Vertex: WindowServer (420)"),
        ("paged", 6000, 0, "Compute: python3 (4711)"),
    ]
    assert [tuple(row.values()) for row in reader.query(_ARROWS)] == [
        ("Submission", 1500, "unlabelled", 1600),
        ("unlabelled", 1600, "copy", 4500),
        ("Submission", 2000, "unlabelled", 2100),
        ("unlabelled", 2100, "paged", 6000),
    ]
    levels = reader.query(
        "select ts, value, unit from counter join counter_track t on track_id = t.id order by ts"
    )
    assert [tuple(row.values()) for row in levels] == [(4500, 40.5, "%"), (4700, 50.25, "%")]
    [process] = reader.query("select name from process where pid = 4711")
    assert process == {"name": "python3"}
    latency = "select int_value as ns from args where key = 'debug.start_latency' order by 1"
    assert [row["ns"] for row in reader.query(latency)] == [5, 2100]
    problems = "select name, value from stats where severity = 'error' and value > 0"
    assert reader.query(problems) == []


@pytest.mark.browser
def test_perfetto_reads_the_json_as_well(reader: TraceProcessor, tables: Tables) -> None:
    file = io.BytesIO()
    write_chrome(list(tracks(tables)), file)
    reader.load(file.getvalue())
    rows = {(row["name"], row["dur"]) for row in reader.query(_SLICES)}
    assert {("copy", 1500), ("frame", 200), ("steady", 9000), ("Submission", 900)} <= rows
    arrows = [(row["source"], row["target"]) for row in reader.query(_ARROWS)]
    assert arrows.count(("Submission", "unlabelled")) == 2
    assert ("unlabelled", "copy") in arrows


def test_without_tracks_the_trace_is_whole_and_empty() -> None:
    trace = Trace.FromString(written({}))
    assert [packet.HasField("track_event") for packet in trace.packet] == [False]


def test_times_are_shifted_so_that_the_first_is_zero(tables: Tables) -> None:
    def moments(of: Tables) -> list[int]:
        packets = Trace.FromString(written(of)).packet
        return sorted(one.timestamp for one in packets if one.HasField("track_event"))

    assert moments(tables)[0] == 0
    later = {name: one for name, one in tables.items() if name != "phases"}
    assert moments(later)[0] == 1000


def test_what_overlaps_stands_on_tracks_of_its_own(tables: Tables) -> None:
    trace = Trace.FromString(written(tables))
    described = [one.track_descriptor for one in trace.packet if one.HasField("track_descriptor")]
    assert [one.name for one in described].count("Command buffers") == 2
    assert len({one.uuid for one in described}) == len(described)
    begun: dict[int, int] = {}
    for packet in trace.packet:
        if packet.HasField("track_event") and packet.track_event.type in {1, 2}:
            uuid = packet.track_event.track_uuid
            begun[uuid] = begun.get(uuid, 0) + (1 if packet.track_event.type == 1 else -1)
            assert begun[uuid] in {0, 1}
    assert set(begun.values()) == {0}
