"""Timelines of two runs on one axis: each at its place, with numbers of its own."""

from dataclasses import replace

import pandas as pd

from step_samples import MS, sample_of, tables_of
from tracekit.analysis.given import Given
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.comparison.samples import Sample
from tracekit.pages.timeline.merging import merge_timelines
from tracekit.pages.timeline.track import Timeline
from tracekit.pages.timeline.tracks import timeline


def timeline_of(sample: Sample) -> Timeline:
    given = Given(sample.tables or {}, sample.result.provenance)
    return timeline(sample.result, given)


def test_both_steady_windows_begin_at_the_same_place() -> None:
    evident_finding = Finding(
        "bubbles", Severity.WARNING, "It was idle.", "", evidence=(Evidence("steps", 0, MS),)
    )
    before = timeline_of(sample_of([MS] * 40))
    sample_after = sample_of(
        [2 * MS] * 40, findings=[evident_finding], tables=tables_of([2 * MS] * 40, begin=5 * MS)
    )
    line = merge_timelines(before, timeline_of(sample_after))
    tracks = {track.name: track for track in line.tracks}
    assert {"before: Steps", "after: Steps", "before: Phases", "after: CPU"} <= set(tracks)
    assert tracks["before: Steps"].starts[0] == tracks["after: Steps"].starts[0] == 0
    assert tracks["after: Evidence"].starts[0] == -5 * MS, "evidence moves with its run"
    assert line.begin <= -5 * MS
    assert line.end == 80 * MS
    names = [track.name for track in line.tracks]
    first_after = next(place for place, name in enumerate(names) if name.startswith("after"))
    assert all(name.startswith("after") for name in names[first_after:])
    bare_timeline = merge_timelines(before, timeline_of(replace(sample_after, tables={})))
    count_before, count_after = (
        sum(absence.startswith(side) for absence in bare_timeline.absences)
        for side in ("Before", "After")
    )
    assert 0 < count_before < count_after, "each side lacks its own"


def test_grouped_rows_keep_their_numbers_apart_on_both_sides() -> None:
    tables = tables_of([MS] * 40)
    work = tables["gpu_intervals"].assign(command_buffer=pd.array([7, 9, *[pd.NA] * 38], "UInt64"))
    line = timeline_of(sample_of([MS] * 40, tables=tables | {"gpu_intervals": work}))
    numbers = [
        detail.numbers.tolist()[:3]
        for track in merge_timelines(line, line).tracks
        for detail in track.details
        if detail.name == "command buffer"
    ]
    assert numbers == [[1, 2, 0], [3, 4, 0]]
