"""A run as Chrome's JSON and as Perfetto's trace, which its own trace processor reads."""

import io
import json
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


def events(tables: Tables) -> list[dict[str, Any]]:
    file = io.BytesIO()
    write_chrome(list(tracks(tables)), file)
    document = json.loads(file.getvalue())
    assert document["displayTimeUnit"] == "ns"
    return document["traceEvents"]


def test_slices_and_levels_keep_every_nanosecond(tables: Tables) -> None:
    trace_events = events(tables)
    [copy] = [event for event in trace_events if event["name"] == "copy"]
    assert (copy["ph"], copy["ts"], copy["dur"]) == ("X", 4.0, 1.5)
    expected_args = {"command_buffer": 70, "encoder": 80, "start_latency": 2100, "pid": 4711}
    assert copy["args"] == expected_args
    levels = [(event["ts"], event["args"]) for event in trace_events if event["ph"] == "C"]
    assert levels == [(4.0, {"%": 40.5}), (4.2, {"%": 50.25})]
    assert events({}) == []


def test_processes_and_tracks_are_named(tables: Tables) -> None:
    trace_events = events(tables)
    names = {
        event["args"]["name"]: event["pid"]
        for event in trace_events
        if event["name"] == "process_name"
    }
    assert set(names) == {"Workload", "python3", "GPU", "Machine"}
    assert names["python3"] == 4711
    assert len(set(names.values())) == 4
    threads = [event for event in trace_events if event["name"] == "thread_name"]
    assert len({event["tid"] for event in threads}) == len(threads)
    assert [event["args"]["name"] for event in threads].count("Submissions") == 2


def test_chains_begin_once_and_go_on_by_ids_that_no_viewer_rounds(tables: Tables) -> None:
    later = {
        name: frame.replace({"pid": {4711: 99_998}}) if "pid" in frame else frame
        for name, frame in tables.items()
    }
    steps: dict[str, str] = {}
    for event in events(later):
        if event.get("cat") == "work":
            steps[event["id"]] = steps.get(event["id"], "") + event["ph"]
    assert sorted(steps.values()) == ["s", "st", "st", "st", "st"]
    assert len({float(int(number, 16)) for number in steps}) < 5, "numbers would be rounded"


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


def encode_trace(tables: Tables, findings: tuple[Finding, ...] = ()) -> bytes:
    file = io.BytesIO()
    write_perfetto(list(tracks(tables, findings)), file)
    return file.getvalue()


@pytest.mark.browser
def test_perfetto_reads_slices_arrows_levels_and_processes(
    reader: TraceProcessor, tables: Tables, findings: tuple[Finding, ...]
) -> None:
    reader.load(encode_trace(tables, findings))
    rows = [tuple(row.values()) for row in reader.query(_SLICES)]
    assert rows == [
        ("warm-up", 0, 400, "Phases"),
        ("steady", 500, 9000, "Phases"),
        ("bubbles", 550, 10, "bubbles"),
        ("host late", 1500, 3000, "bubbles"),
        ("Submission", 1500, 900, "Submissions"),
        ("unlabelled", 1600, 300, "Encoders"),
        ("Submission", 2000, 900, "Submissions"),
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


def test_times_are_shifted_so_that_the_first_is_zero(tables: Tables) -> None:
    def moments() -> list[int]:
        packets = Trace.FromString(encode_trace(tables)).packet
        return sorted(packet.timestamp for packet in packets if packet.HasField("track_event"))

    assert moments()[0] == 0
    del tables["phases"]
    assert moments()[0] == 1000
    tables.clear()
    assert moments() == []


def test_overlapping_rows_get_tracks_of_their_own(tables: Tables) -> None:
    trace = Trace.FromString(encode_trace(tables))
    described = [
        packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")
    ]
    assert [track.name for track in described].count("Submissions") == 2
    assert len({track.uuid for track in described}) == len(described)
    open_slices: dict[int, int] = {}
    for packet in trace.packet:
        if packet.HasField("track_event") and packet.track_event.type in {1, 2}:
            uuid = packet.track_event.track_uuid
            open_slices[uuid] = open_slices.get(uuid, 0) + (
                1 if packet.track_event.type == 1 else -1
            )
            assert open_slices[uuid] in {0, 1}, packet
    assert set(open_slices.values()) == {0}
