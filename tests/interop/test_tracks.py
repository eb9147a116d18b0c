"""What of a run's tables is drawn, where, and how its parts hang together."""

from dataclasses import replace

import pandas as pd

from tracekit.analysis.rule import Finding
from tracekit.interop.tracks import Slices, StepSeries, Track, TrackGroup, known_of, tracks

Tables = dict[str, pd.DataFrame]
OURS = TrackGroup("python3", 4711)


def drawn(tables: Tables, findings: tuple[Finding, ...] = ()) -> dict[tuple[str, str], Track]:
    return {(track.group.name, track.name): track for track in tracks(tables, findings)}


def slices(track: Track) -> Slices:
    assert isinstance(track, Slices)
    return track


def test_every_kind_of_row_has_its_track(tables: Tables, findings: tuple[Finding, ...]) -> None:
    assert list(drawn(tables, findings)) == [
        ("tracekit", "bubbles"),
        ("Workload", "Phases"),
        ("python3", "Submissions"),
        ("python3", "Encoders"),
        ("GPU", "Compute: python3 (4711)"),
        ("GPU", "Vertex: WindowServer (420)"),
        ("Machine", "Kernel Occupancy"),
    ]
    tables["gpu_intervals"] = tables["gpu_intervals"].assign(clock="host")
    groups = {group for group, _ in drawn(tables)}
    assert groups == {"Workload", "python3", "CPU backend", "Machine"}, "no work of a GPU"


def test_names_are_families_and_rows_are_ordered(tables: Tables) -> None:
    tables["gpu_intervals"] = tables["gpu_intervals"].iloc[::-1]
    track = slices(drawn(tables)["GPU", "Compute: python3 (4711)"])
    assert (track.starts.tolist(), track.ends.tolist()) == ([4000, 5500], [5500, 5500])
    assert [track.names[code] for code in track.codes] == ["copy", "paged"]
    assert known_of(track) == [
        {"command_buffer": 70, "encoder": 80, "start_latency": 2100, "pid": 4711},
        {"command_buffer": 71, "encoder": 81, "pid": 4711},
    ]


def test_a_chain_runs_from_the_command_buffer_over_the_encoder_to_the_gpu(tables: Tables) -> None:
    drawn_tracks = drawn(tables)
    [buffers] = slices(drawn_tracks["python3", "Submissions"]).flows
    to_encoder, from_encoder = slices(drawn_tracks["python3", "Encoders"]).flows
    [on_gpu] = slices(drawn_tracks["GPU", "Compute: python3 (4711)"]).flows
    [of_others] = slices(drawn_tracks["GPU", "Vertex: WindowServer (420)"]).flows
    assert buffers.tolist() == to_encoder.tolist()
    assert from_encoder.tolist() == on_gpu.tolist()
    assert not set(buffers.tolist()) & set(on_gpu.tolist())
    assert len({*buffers.tolist(), *on_gpu.tolist(), *of_others.tolist(), 0}) == 6


def test_chains_of_two_processes_never_meet(tables: Tables) -> None:
    """Ids are given by each process, and may be small."""
    frame = tables["encoders"]
    ids = {"pid": pd.array([4, 8], "Int64"), "encoder": pd.array([2, 1], "UInt64")}
    chain_tracks = tracks({"encoders": frame.assign(**ids)})
    links = [int(link) for track in chain_tracks for flow in slices(track).flows for link in flow]
    assert len(set(links)) == len(links) == 4
    tables["encoders"] = frame.assign(encoder=pd.array([None, 81], dtype="UInt64"))
    _, from_encoder = slices(drawn(tables)["python3", "Encoders"]).flows
    assert (from_encoder[0], from_encoder[1] > 0) == (0, True), "a row without an id is no link"


def test_levels_are_known_values_and_evidence_names_its_subject(
    tables: Tables, findings: tuple[Finding, ...]
) -> None:
    level = drawn(tables)["Machine", "Kernel Occupancy"]
    assert isinstance(level, StepSeries)
    assert level.unit == "%"
    assert (level.times.tolist(), list(level.values)) == ([4000, 4200], [40.5, 50.25])
    track = slices(drawn(tables, findings)["tracekit", "bubbles"])
    assert track.starts.tolist() == [50, 1000]
    assert [track.names[code] for code in track.codes] == ["bubbles", "host late"]
    assert known_of(track)[1] == {"finding": "Idle for 33 %.", "note": "host late"}


def test_every_text_is_redacted(tables: Tables, findings: tuple[Finding, ...]) -> None:
    redacted_tracks = list(tracks(tables, findings, lambda text: "…" * bool(text)))
    for track in redacted_tracks:
        assert {track.group.name, track.name} == {"…"}
        if isinstance(track, Slices):
            assert set(track.names) == {"…"}
            texts = [value for row in known_of(track) for value in row.values()]
            assert all(text == "…" for text in texts if isinstance(text, str)), track
    assert redacted_tracks[2].group == replace(OURS, name="…")
