"""A comparison in words, and as one page with the timelines of both sides."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

from tracekit.analysis import Better, Given
from tracekit.base import count, duration, percent, quantity
from tracekit.compare.compare import Comparison
from tracekit.compare.differences import Became, FindingChange, Kernel, KernelChange
from tracekit.compare.samples import Order, Sample
from tracekit.compare.verdicts import Change, Shown, Verdict
from tracekit.report import Detail, Timeline, Track, document, drawn, environment_of, timeline

Table = tuple[str, Sequence[str], list[Sequence[str]]]
MOST_KERNELS = 20
_LEADS = {
    Verdict.WORSE: "Worse",
    Verdict.BETTER: "Better",
    Verdict.SAME: "The same",
    Verdict.UNCLEAR: "Unclear",
}
NOTHING = "—"


def heading(compared: Comparison) -> str:
    """Return the verdict in a line."""
    return f"{_LEADS[compared.verdict]}: {compared.reason}"


def tables(compared: Comparison) -> Iterator[Table]:
    """Yield the tables of a comparison that have rows: title, columns, rows."""
    found: tuple[Table, ...] = (
        (
            f"metrics: {side(compared.before)} → {side(compared.after)}",
            ("metric", "before", "after", *_CHANGES[equal_pace(compared)], "verdict"),
            [_change(change, compared) for change in compared.changes],
        ),
        (
            "findings",
            ("finding", "became", "before", "after"),
            [_finding(finding, compared) for finding in compared.findings],
        ),
        (
            "work by label, p50",
            ("label", "count", "before", "after", "change"),
            [_kernel(kernel) for kernel in compared.kernels[:MOST_KERNELS]],
        ),
        (
            "what differs",
            ("what", "before", "after"),
            [(one.what, one.before, one.after) for one in compared.environment],
        ),
    )
    yield from (table for table in found if table[2])


def side(names: Sequence[str]) -> str:
    """Return the runs of a side in a word or two."""
    return names[0] if len(names) == 1 else f"{len(names)} runs ({names[0]} …)"


_CHANGES = {
    False: ("measured", "95 % interval"),
    True: ("measured", "at equal pace", "95 % interval"),
}


def equal_pace(compared: Comparison) -> bool:
    """Whether a change is judged at equal machine pace: by reference work, or within pairs."""
    return any(change.corrected or change.paired for change in compared.changes)


def how_sure(compared: Comparison) -> str:
    """Return what the columns mean, and what the intervals presume."""
    sentences = ["* decides. Measured is the change of the medians."]
    if compared.shared:
        sentences.append(f"Both sides have the same recording: {', '.join(compared.shared)}.")
    paired = any(change.paired for change in compared.changes)
    if compared.pace is not None:
        longer = "longer" if compared.pace >= 0 else "less"
        sentences.append(
            "At equal pace, what the machine itself changed is taken out of times and rates: fixed "
            f"reference work took {percent(abs(compared.pace))} {longer} after than before."
        )
    if paired:
        sentences.append(
            "Runs were recorded alternating, so each is compared with its neighbour in time, as "
            "drift affects both."
        )
    elif min(len(compared.before), len(compared.after)) > 1:
        sentences.append(
            f"Intervals are of runs of each side and of blocks within them; {_drift(compared)}"
        )
    else:
        limits = compared.limits
        between = limits.between if compared.pace is None else min(limits.between, limits.paced)
        sentences.append(
            "One run of a side shows only how it varied within. Equal runs are taken to differ by "
            f"{percent(between)} as well (--between); several of each side show it."
        )
    sentences += compared.notes
    sentences += [f"({place}) {reason}" for reason, place in _shared(compared).items()]
    return " ".join(sentences)


def _drift(compared: Comparison) -> str:
    if compared.order is Order.UNKNOWN:
        return "when they were recorded is not known for all, so none are paired."
    if compared.order is Order.APART:
        return "all of one side were recorded before the other, so drift would look like a change."
    if compared.order is Order.MIXED:
        return "they were not recorded alternating, so none are paired."
    return "from six of each on, neighbours in time are paired."


_SHARED = 3


def _shared(compared: Comparison) -> dict[str, int]:
    """Number the reasons that several metrics share, which are given once below the table."""
    counted = Counter(change.reason for change in compared.changes if change.reason)
    shared = [reason for reason, times in counted.items() if times >= _SHARED]
    return {reason: place for place, reason in enumerate(shared, start=1)}


def value(number: float | None, change: Change) -> str:
    """Return a value of the metric in words."""
    return NOTHING if number is None else quantity(number, change.unit)


def measured(change: Change) -> str:
    """Return the plain change in words: "+9.8 %", or a difference in the metric's unit."""
    return NOTHING if change.measured is None else _shown(change).change(change.measured)


def at_equal_pace(change: Change) -> str:
    """Return the change at equal machine pace; a dash where nothing is corrected."""
    if change.change is None or not (change.corrected or change.paired):
        return NOTHING
    return _shown(change).change(change.change)


def bounds(change: Change) -> str:
    """Return the interval in words."""
    if change.low is None or change.high is None:
        return NOTHING
    return _shown(change).between(change.low, change.high)


def change_words(change: Change) -> str:
    """Return the change that is judged with its interval, and the measured one where it differs."""
    if change.change is None:
        return NOTHING
    interval = f" [{bounds(change)}]" if change.low is not None else ""
    if change.corrected or change.paired:
        return f"{at_equal_pace(change)}{interval} at equal pace, measured {measured(change)}"
    return f"{measured(change)}{interval}"


def ruling(change: Change, compared: Comparison | None = None) -> str:
    """Return the verdict in words, with its reason, or its number where metrics share it."""
    place = _shared(compared).get(change.reason) if compared else None
    reason = f"({place})" if place else change.reason
    if change.verdict is None:
        return "not judged" if change.better is Better.NEITHER else reason
    if place:
        return f"{change.verdict} {reason}"
    return f"{change.verdict}: {reason}" if reason else str(change.verdict)


def course(change: FindingChange) -> str:
    """Return what became of a finding."""
    return f"{change.course}: {change.reason.rstrip('.')}" if change.reason else str(change.course)


def found_in(runs: int, of: int) -> str:
    """Return in how many runs a finding was found."""
    if of == 1:
        return "found" if runs else "not found"
    return f"in {runs} of {of}"


def ratio(change: KernelChange) -> str:
    """Return how the median interval changed."""
    if change.ratio is None:
        return "new" if change.before is None else "gone" if change.after is None else NOTHING
    return Shown("ratio", "ns").change(change.ratio - 1)


def counts(change: KernelChange) -> str:
    """Return how many intervals there were and are."""
    before, after = (count(one.count) if one else "0" for one in (change.before, change.after))
    return before if before == after else f"{before} → {after}"


def _times(kernel: Kernel | None) -> tuple[str, str, str]:
    """Return the median interval of equal work, its 95th percentile, and the sum of all."""
    if kernel is None:
        return NOTHING, NOTHING, NOTHING
    return duration(kernel.p50), duration(kernel.p95), duration(kernel.total)


def _change(change: Change, compared: Comparison) -> Sequence[str]:
    name = f"{change.metric} *" if change.deciding else change.metric
    pace = (at_equal_pace(change),) if equal_pace(compared) else ()
    return (
        name,
        value(change.before, change),
        value(change.after, change),
        measured(change),
        *pace,
        bounds(change),
        ruling(change, compared),
    )


def _finding(change: FindingChange, compared: Comparison) -> Sequence[str]:
    return (change.rule, course(change), *_runs_with(change, compared))


def _runs_with(change: FindingChange, compared: Comparison) -> tuple[str, str]:
    before = found_in(change.runs_before, len(compared.before))
    return before, found_in(change.runs_after, len(compared.after))


def _kernel(change: KernelChange) -> Sequence[str]:
    before, after = (_times(kernel)[0] for kernel in (change.before, change.after))
    return (change.label, counts(change), before, after, ratio(change))


def _shown(change: Change) -> Shown:
    return Shown("ratio" if change.relative else "difference", change.unit)


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
    tables = Given(sample.tables or {}, sample.result.provenance)
    return timeline(sample.result, tables)


def _begin(line: Timeline) -> int:
    return line.steady.start if line.steady else line.begin


def _named(track: Track, side: str, shift: int, number: int) -> Track:
    """Say whose the track is, lay it on the common axis, and keep its numbers apart."""
    return replace(
        track,
        name=f"{side}: {track.name}",
        starts=track.starts + shift,
        details=tuple(_apart(detail, number) for detail in track.details),
    )


def _apart(detail: Detail, number: int) -> Detail:
    """Count on from `number`, lest work of both sides seem to belong together."""
    if detail.unit != _NUMBER:
        return detail
    known = detail.numbers >= 0
    return replace(detail, numbers=detail.numbers + number * known)


def _highest(track: Track) -> int:
    counted = [detail.numbers for detail in track.details if detail.unit == _NUMBER]
    return max((int(numbers.max()) for numbers in counted if numbers.size), default=0)


def _absences(lines: list[Timeline]) -> Iterator[str]:
    for side, line in zip(_SIDES, lines, strict=True):
        yield from (f"{side.capitalize()}: {absence}" for absence in line.absences)


WIDTH = 200
_LEAST = 0.15


@dataclass(frozen=True)
class Bar:
    """Places on 0 … WIDTH: the interval's ends, its middle, and no change; what it says."""

    low: float
    high: float
    middle: float
    none: float
    title: str


def reach(changes: Sequence[Change]) -> float:
    """Return the change at both edges of the drawing: twice the largest, at least 15 %."""
    known = [
        abs(change.change) for change in changes if change.relative and change.change is not None
    ]
    return max(_LEAST, min(1.0, 2 * max(known, default=0.0)))


def bar(change: Change, edge: float, words: str) -> Bar | None:
    """Draw a change that is a ratio and has an interval; what lies beyond the edge is cut."""
    if not change.relative or change.low is None or change.high is None:
        return None
    assert change.change is not None
    low, high, middle = (_place(one, edge) for one in (change.low, change.high, change.change))
    return Bar(low, high, middle, WIDTH / 2, words)


def _place(change: float, edge: float) -> float:
    inside = max(-edge, min(edge, change))
    return round((inside / edge + 1) * WIDTH / 2, 1)


_TONES = {
    Verdict.WORSE: "error",
    Verdict.BETTER: "good",
    Verdict.SAME: "good",
    Verdict.UNCLEAR: "unclear",
}
_SIGNS = {
    Verdict.WORSE: "✕ Worse",
    Verdict.BETTER: "✓ Better",
    Verdict.SAME: "= The same",
    Verdict.UNCLEAR: "? Unclear",
}
_COURSES = {Became.APPEARED: "error", Became.GREW: "warning", Became.GONE: "good"}


@dataclass(frozen=True)
class ChangeRow:
    """A metric's change in words, and drawn where it is a ratio with an interval."""

    change: Change
    before: str
    after: str
    measured: str
    equal: str
    bounds: str
    ruling: str
    tone: str
    bar: Bar | None


def render_comparison(
    compared: Comparison,
    before: Sequence[Sample],
    after: Sequence[Sample],
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
        verdict=(_TONES[compared.verdict], _SIGNS[compared.verdict]),
        before=side(compared.before),
        after=side(compared.after),
        rows=[_row(change, edge, compared) for change in compared.changes],
        equal_pace=equal_pace(compared),
        edge=f"{edge * 100:.0f} %",
        bar_width=WIDTH,
        findings=[_finding_row(finding, compared) for finding in compared.findings],
        kernels=[_kernel_row(kernel) for kernel in compared.kernels[:MOST_KERNELS]],
        more_kernels=max(0, len(compared.kernels) - MOST_KERNELS),
        how_sure=how_sure(compared).removeprefix("* decides. "),
        recorded=bool(before and after),
        version=after[0].result.provenance.tracekit if after else version("tracekit"),
        **(drawn(both(before[0], after[0])) if before and after else {}),
    )


def _row(change: Change, edge: float, compared: Comparison) -> ChangeRow:
    interval, equal = bounds(change), at_equal_pace(change)
    judged = measured(change) if equal == NOTHING else f"{equal} at equal pace"
    return ChangeRow(
        change=change,
        before=value(change.before, change),
        after=value(change.after, change),
        measured=measured(change),
        equal=equal,
        bounds=interval,
        ruling=ruling(change, compared),
        tone=_TONES[change.verdict] if change.verdict else "",
        bar=bar(change, edge, f"{judged}, {interval} with 95 % confidence"),
    )


def _finding_row(
    change: FindingChange, compared: Comparison
) -> tuple[FindingChange, str, str, str, str]:
    return (
        change,
        course(change),
        _COURSES.get(change.course, "note"),
        *_runs_with(change, compared),
    )


def _kernel_row(change: KernelChange) -> tuple[str, ...]:
    both = zip(_times(change.before), _times(change.after), strict=True)
    columns = [f"{old} → {new}" if old != new else old for old, new in both]
    return (change.label, counts(change), *columns, ratio(change))
