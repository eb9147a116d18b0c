"""A comparison in words, and as one page with the timelines of both sides."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Literal

from tracekit.analysis import METRICS, Better, Given
from tracekit.base import count, duration, percent, quantity
from tracekit.compare.compare import RATES, STEP, Comparison
from tracekit.compare.differences import Became, FindingChange, KernelChange
from tracekit.compare.samples import Order, Sample
from tracekit.compare.verdicts import Change, Shown, Verdict, shown_of
from tracekit.report import Timeline, Track, document, drawn, environment_of, timeline
from tracekit.workload import WALL_TIME

Table = tuple[str, Sequence[str], list[Sequence[str]]]
MOST_KERNELS = 20
# The tone of a verdict on the page, its sign, and the word for it.
_LEADS = {
    Verdict.WORSE: ("error", "✕", "Worse"),
    Verdict.BETTER: ("good", "✓", "Better"),
    Verdict.SLIGHTLY_WORSE: ("note", "↓", "Slightly worse"),
    Verdict.SLIGHTLY_BETTER: ("good", "↑", "Slightly better"),
    Verdict.EQUIVALENT: ("good", "=", "Equivalent"),
    Verdict.UNCLEAR: ("unclear", "?", "Unclear"),
}
_COURSES = {Became.APPEARED: "error", Became.GREW: "warning", Became.GONE: "good"}
NOTHING = "—"


def heading(compared: Comparison) -> str:
    """Return the verdict in a line."""
    return f"{_LEADS[compared.verdict][2]}: {compared.reason}"


def tables(compared: Comparison) -> Iterator[Table]:
    """Yield the tables of a comparison that have rows: title, columns, rows."""
    equal = ("at equal pace",) if equal_pace(compared) else ()
    all_tables: tuple[Table, ...] = (
        (
            f"metrics: {side(compared.before)} → {side(compared.after)}",
            ("metric", "before", "after", "measured", *equal, "95 % interval", "verdict"),
            [
                (
                    f"{row.change.metric} *" if row.change.deciding else row.change.metric,
                    *(row.before, row.after, row.measured),
                    *((row.equal,) if equal else ()),
                    *(row.bounds, row.ruling),
                )
                for row in _rows(compared)
            ],
        ),
        (
            "findings",
            ("finding", "became", "before", "after"),
            [
                (change.rule, course(change), *_runs_with(change, compared))
                for change in compared.findings
            ],
        ),
        (
            "work by label, p50",
            ("label", "count", "before", "after", "change"),
            [
                (change.label, _counts(change), *_format_sides(change, "p50"), _ratio(change))
                for change in compared.kernels[:MOST_KERNELS]
            ],
        ),
        (
            "what differs",
            ("what", "before", "after"),
            [
                (difference.what, difference.before, difference.after)
                for difference in compared.environment
            ],
        ),
    )
    yield from (table for table in all_tables if table[2])


def side(names: Sequence[str]) -> str:
    """Return the runs of a side in a word or two."""
    return names[0] if len(names) == 1 else f"{len(names)} runs ({names[0]} …)"


def equal_pace(compared: Comparison) -> bool:
    """Whether a change is judged at equal machine pace: by reference work, or within pairs."""
    return any(change.corrected or change.paired for change in compared.changes)


def how_sure(compared: Comparison) -> str:
    """Return what the columns mean, and what the intervals presume."""
    sentences = [f"* decides{_explain_decider(compared)}. Measured is the change of the medians."]
    if compared.shared:
        sentences.append(f"Both sides have the same recording: {', '.join(compared.shared)}.")
    if compared.pace is not None:
        longer = "longer" if compared.pace >= 0 else "less"
        sentences.append(
            "At equal pace, what the machine itself changed is taken out of times and rates: fixed "
            f"reference work took {percent(abs(compared.pace))} {longer} after than before."
        )
    if any(change.paired for change in compared.changes):
        sentences.append(
            "Runs were recorded alternating, so each is compared with its neighbour in time, as "
            "drift affects both."
        )
    elif min(len(compared.before), len(compared.after)) > 1:
        sentences.append(
            "Intervals are of runs of each side and of blocks within them; "
            + _DRIFT[compared.order]
        )
    else:
        limits = compared.limits
        run_deviation = (
            limits.between if compared.pace is None else min(limits.between, limits.paced)
        )
        sentences.append(
            "One run of a side shows only how it varied within. Equal runs are taken to differ by "
            f"{percent(run_deviation)} as well (--between); several of each side show it."
        )
    sentences += compared.notes
    sentences += [
        f"({place}) {reason}" for reason, place in _number_shared_reasons(compared).items()
    ]
    return " ".join(sentences)


def _explain_decider(compared: Comparison) -> str:
    """Say why other numbers than those of steps decide; empty where those do."""
    deciding = {change.metric for change in compared.changes if change.deciding}
    rates = sorted(deciding & set(RATES))
    if rates and any(change.metric == STEP for change in compared.changes):
        return f": {rates[0]} is a rate of the whole recording, and {STEP} would be sharper"
    if rates and not compared.limits.metrics:
        return f": {rates[0]}, for no median of steps is known, and nothing else that is sharper"
    if compared.limits.metrics or not deciding or deciding & METRICS.keys():
        return ""
    if deciding == {WALL_TIME}:
        return ": the time from start to exit, for nothing that was printed is read (--read)"
    return ": these runs have no steps, so their own results do"


_DRIFT = {
    Order.UNKNOWN: "when they were recorded is not known for all, so none are paired.",
    Order.APART: (
        "all of one side were recorded before the other, so drift would look like a change."
    ),
    Order.MIXED: "they were not recorded alternating, so none are paired.",
    Order.ALTERNATING: "from six of each on, neighbours in time are paired.",
}
_SHARED = 3


def _number_shared_reasons(compared: Comparison) -> dict[str, int]:
    """Number the reasons that several metrics share, which are given once below the table."""
    reason_counts = Counter(change.reason for change in compared.changes if change.reason)
    shared = [reason for reason, times in reason_counts.items() if times >= _SHARED]
    return {reason: place for place, reason in enumerate(shared, start=1)}


def change_words(change: Change) -> str:
    """Return the change with its interval: as measured, or at equal pace and as measured."""
    if change.change is None or change.measured is None:
        return NOTHING
    wording = shown_of(change)
    if change.corrected or change.paired:
        words = wording.format_change(change.change, change.low, change.high)
        return f"{words} at equal pace, measured {wording.change(change.measured)}"
    return wording.format_change(change.measured, change.low, change.high)


def ruling(change: Change, compared: Comparison | None = None) -> str:
    """Return the verdict in words, with its reason, or its number where metrics share it."""
    place = _number_shared_reasons(compared).get(change.reason) if compared else None
    reason = f"({place})" if place else change.reason
    if change.verdict is None:
        return "not judged" if change.better is Better.NEITHER else reason
    words = change.verdict.words
    if place:
        return f"{words} {reason}"
    return f"{words}: {reason}" if reason else words


def course(change: FindingChange) -> str:
    """Return what became of a finding."""
    return f"{change.course}: {change.reason.rstrip('.')}" if change.reason else str(change.course)


def _runs_with(change: FindingChange, compared: Comparison) -> tuple[str, ...]:
    side_counts = (
        (change.runs_before, len(compared.before)),
        (change.runs_after, len(compared.after)),
    )
    return tuple(
        f"in {runs} of {total}" if total != 1 else "found" if runs else "not found"
        for runs, total in side_counts
    )


def _ratio(change: KernelChange) -> str:
    if change.ratio is None:
        return "new" if change.before is None else "gone" if change.after is None else NOTHING
    return Shown("ratio", "ns").change(change.ratio - 1)


def _counts(change: KernelChange) -> str:
    count_before, count_after = (
        count(side.count) if side else "0" for side in (change.before, change.after)
    )
    return _unless_same(count_before, count_after)


def _format_sides(change: KernelChange, column: Literal["p50", "p95", "total"]) -> tuple[str, ...]:
    sides = (change.before, change.after)
    return tuple(duration(getattr(side, column)) if side else NOTHING for side in sides)


def _unless_same(text_before: str, text_after: str) -> str:
    return text_before if text_before == text_after else f"{text_before} → {text_after}"


@dataclass(frozen=True)
class ChangeRow:
    """A metric's change in words: both sides, the measured change, that at equal pace, and so on.

    Where nothing is corrected, or not known, stands a dash.
    """

    change: Change
    before: str
    after: str
    measured: str
    equal: str
    bounds: str
    ruling: str


def _rows(compared: Comparison) -> Iterator[ChangeRow]:
    for change in compared.changes:
        wording = shown_of(change)
        paced = change.change if change.corrected or change.paired else None
        text_before, text_after = (
            NOTHING if value is None else quantity(value, change.unit)
            for value in (change.before, change.after)
        )
        measured, equal = (
            NOTHING if ratio is None else wording.change(ratio)
            for ratio in (change.measured, paced)
        )
        bounds = NOTHING
        if change.low is not None and change.high is not None:
            bounds = wording.format_interval(change.low, change.high)
        words = ruling(change, compared)
        yield ChangeRow(change, text_before, text_after, measured, equal, bounds, words)


def merge_timelines(sample_before: Sample, sample_after: Sample) -> Timeline:
    """Lay both runs on the axis of the one before, tracks of each under a name of its own.

    Both steady windows begin at the same place. What belongs together has one number within a run:
    those of the run after count on from the highest of the run before.
    """
    old, new = (
        timeline(sample.result, Given(sample.tables or {}, sample.result.provenance))
        for sample in (sample_before, sample_after)
    )
    begins = [line.steady.start if line.steady else line.begin for line in (old, new)]
    shift = begins[0] - begins[1]
    numbers = [
        int(detail.numbers.max())
        for track in old.tracks
        for detail in track.details
        if detail.unit == "number" and detail.numbers.size
    ]
    return Timeline(
        begin=min(old.begin, new.begin + shift),
        end=max(old.end, new.end + shift),
        tracks=(
            *(_shift_track(track, "before", 0, 0) for track in old.tracks),
            *(_shift_track(track, "after", shift, max(numbers, default=0)) for track in new.tracks),
        ),
        steady=old.steady and replace(old.steady, name="the steady window of the run before"),
        absences=(
            *(f"Before: {absence}" for absence in old.absences),
            *(f"After: {absence}" for absence in new.absences),
        ),
    )


def _shift_track(track: Track, side: str, shift: int, number: int) -> Track:
    details = tuple(
        replace(detail, numbers=detail.numbers + number * (detail.numbers > 0))
        if detail.unit == "number"
        else detail
        for detail in track.details
    )
    return replace(
        track, name=f"{side}: {track.name}", starts=track.starts + shift, details=details
    )


WIDTH = 200
_LEAST = 0.15


def reach(changes: Sequence[Change]) -> float:
    """Return the change at both edges of the drawing: twice the largest, at least 15 %."""
    known_changes = [
        abs(change.change) for change in changes if change.relative and change.change is not None
    ]
    return max(_LEAST, min(1.0, 2 * max(known_changes, default=0.0)))


def bar(change: Change, edge: float) -> tuple[float, float, float] | None:
    """Return where an interval and its middle lie on 0 … WIDTH; what is beyond the edge is cut.

    None of a change that is no ratio, or has no interval.
    """
    if not change.relative or change.low is None or change.high is None or change.change is None:
        return None
    lower_end, upper_end, middle = (
        round((max(-edge, min(edge, end)) / edge + 1) * WIDTH / 2, 1)
        for end in (change.low, change.high, change.change)
    )
    return lower_end, upper_end, middle


def render_comparison(
    compared: Comparison,
    samples_before: Sequence[Sample],
    samples_after: Sequence[Sample],
    *,
    redact: Callable[[str], str],
) -> str:
    """Return the page: one HTML document that loads nothing and reads without script.

    The timelines are those of each side's first run; what was not recorded has none. The same input
    gives the same characters.
    """
    edge = reach(compared.changes)
    return document(
        environment_of(redact),
        "compare/page.html",
        styles=("page.css", "compare/compare.css"),
        compared=compared,
        leads=_LEADS,
        nothing=NOTHING,
        before=side(compared.before),
        after=side(compared.after),
        rows=[(row, bar(row.change, edge)) for row in _rows(compared)],
        equal_pace=equal_pace(compared),
        edge=f"{edge * 100:.0f} %",
        bar_width=WIDTH,
        findings=[
            (
                change,
                course(change),
                _COURSES.get(change.course, "note"),
                *_runs_with(change, compared),
            )
            for change in compared.findings
        ],
        kernels=[
            (
                change.label,
                _counts(change),
                *(
                    _unless_same(*_format_sides(change, column))
                    for column in ("p50", "p95", "total")
                ),
                _ratio(change),
            )
            for change in compared.kernels[:MOST_KERNELS]
        ],
        more_kernels=max(0, len(compared.kernels) - MOST_KERNELS),
        how_sure=how_sure(compared).removeprefix("* decides. "),
        recorded=bool(samples_before and samples_after),
        version=samples_after[0].result.provenance.tracekit
        if samples_after
        else version("tracekit"),
        **(
            drawn(merge_timelines(samples_before[0], samples_after[0]))
            if samples_before and samples_after
            else {}
        ),
    )
