"""Timelines of two runs on one axis."""

from collections.abc import Iterator
from dataclasses import replace

from tracekit.pages.timeline.track import Detail, Timeline, Track


def merge_timelines(before: Timeline, after: Timeline) -> Timeline:
    """Lay both runs on the axis of the run before, each with tracks of its own names.

    Both steady windows begin at the same place. Numbers of the run after continue from the highest
    number of the run before, so that a number still joins the parts of one run only.
    """
    shift = _aligned_begin(before) - _aligned_begin(after)
    highest_number = _highest_number(before)
    tracks_before = _iter_shifted(before, "before", 0, 0)
    tracks_after = _iter_shifted(after, "after", shift, highest_number)
    absences = [f"Before: {absence}" for absence in before.absences]
    absences += [f"After: {absence}" for absence in after.absences]
    begin = min(before.begin, after.begin + shift)
    end = max(before.end, after.end + shift)
    return Timeline(
        begin=begin,
        end=end,
        tracks=(*tracks_before, *tracks_after),
        steady=before.steady and replace(before.steady, name="the steady window of the run before"),
        absences=tuple(absences),
    )


def _aligned_begin(line: Timeline) -> int:
    """Return the place of a run that is aligned with the other's, in ns."""
    if line.steady:
        return line.steady.start
    return line.begin


def _highest_number(line: Timeline) -> int:
    highest_number = 0
    for track in line.tracks:
        for detail in track.details:
            if detail.unit == "number" and detail.numbers.size:
                highest_number = max(highest_number, int(detail.numbers.max()))
    return highest_number


def _iter_shifted(line: Timeline, side: str, shift: int, number: int) -> Iterator[Track]:
    for track in line.tracks:
        yield _shift_track(track, side, shift, number)


def _shift_track(track: Track, side: str, shift: int, number: int) -> Track:
    details: list[Detail] = []
    for detail in track.details:
        if detail.unit == "number":
            numbers = detail.numbers.copy()
            numbers[numbers > 0] += number
            details.append(replace(detail, numbers=numbers))
        else:
            details.append(detail)
    starts = track.starts + shift
    return replace(
        track,
        name=f"{side}: {track.name}",
        starts=starts,
        details=tuple(details),
    )
