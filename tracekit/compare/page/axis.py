"""The timelines of two runs on one axis: where each one's steady window begins is the same."""

from collections.abc import Iterator
from dataclasses import replace

from tracekit.analysis.given import Given
from tracekit.compare.sample import Sample
from tracekit.report.rows import Kept
from tracekit.report.timeline.track import Detail, Timeline, Track
from tracekit.report.timeline.tracks import timeline

_SIDES = ("before", "after")
_NUMBER = "number"


def both(before: Sample, after: Sample) -> Timeline:
    """Lay both runs on the axis of the one before, tracks of each under a name of its own."""
    lines = [_laid(one) for one in (before, after)]
    shift = _begin(lines[0]) - _begin(lines[1])
    first = max((_highest(track) for track in lines[0].tracks), default=0)
    tracks = [
        *(_named(track, _SIDES[0], 0, 0) for track in lines[0].tracks),
        *(_named(track, _SIDES[1], shift, first) for track in lines[1].tracks),
    ]
    begins = (lines[0].begin, lines[1].begin + shift)
    ends = (lines[0].end, lines[1].end + shift)
    steady = lines[0].steady
    return Timeline(
        begin=min(begins),
        end=max(ends),
        tracks=tuple(tracks),
        steady=steady and replace(steady, name="the steady window of the run before"),
        absences=tuple(_absences(lines)),
    )


def _laid(sample: Sample) -> Timeline:
    tables = Kept(Given(sample.tables or {}, sample.result.provenance))
    return timeline(sample.result, tables)


def _begin(line: Timeline) -> int:
    return line.steady.start if line.steady else line.begin


def _named(track: Track, side: str, shift: int, number: int) -> Track:
    """Say whose the track is, lay it on the common axis, and keep its numbers apart."""
    return replace(
        track,
        name=f"{side}: {track.name}",
        starts=track.starts + shift,
        details=tuple(_apart(one, number) for one in track.details),
    )


def _apart(detail: Detail, number: int) -> Detail:
    """Count on from `number`, lest work of both sides seem to belong together."""
    if detail.unit != _NUMBER:
        return detail
    known = detail.numbers >= 0
    return replace(detail, numbers=detail.numbers + number * known)


def _highest(track: Track) -> int:
    counted = [one.numbers for one in track.details if one.unit == _NUMBER]
    return max((int(numbers.max()) for numbers in counted if numbers.size), default=0)


def _absences(lines: list[Timeline]) -> Iterator[str]:
    for side, line in zip(_SIDES, lines, strict=True):
        yield from (f"{side.capitalize()}: {absence}" for absence in line.absences)
