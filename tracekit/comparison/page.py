"""A comparison in words, and as one page with the timelines of both sides."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tracekit import analysis, pages
from tracekit.analysis import METRICS, Better, Finding
from tracekit.base import Verdict, own_version, units, verdicts
from tracekit.comparison.compare import RATES, STEP, Comparison
from tracekit.comparison.findings import Became, FindingChange
from tracekit.comparison.kernels import Kernel, KernelChange
from tracekit.comparison.samples import Order, Sample
from tracekit.comparison.verdicts import Change
from tracekit.pages import text
from tracekit.workload import WALL_TIME

Table = tuple[str, Sequence[str], list[Sequence[str]]]
MOST_KERNELS = 20
MOST_NUMBERS = 3
MOST_LINES = 8  # changes and findings that are read on the first screen
LONGEST_LINE = 80
_LONGEST_SIDE = 36  # of the heading
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
_Column = Literal["p50", "p95", "total"]
_COLUMNS: tuple[_Column, ...] = ("p50", "p95", "total")


def heading(compared: Comparison) -> str:
    """Return the verdict in a line."""
    return f"{_LEADS[compared.verdict][2]}: {compared.reason}"


def tables(compared: Comparison) -> Iterator[Table]:
    """Yield the tables of a comparison that have rows: title, columns, rows."""
    all_tables = (
        _metrics_table(compared),
        _findings_table(compared),
        _kernels_table(compared),
        _environment_table(compared),
    )
    for title, columns, rows in all_tables:
        if rows:
            yield title, columns, rows


def _metrics_table(compared: Comparison) -> Table:
    at_equal_pace = equal_pace(compared)
    columns = ["metric", "before", "after", "measured"]
    if at_equal_pace:
        columns.append("at equal pace")
    columns += ["95 % interval", "verdict"]
    rows: list[Sequence[str]] = []
    for row in _rows(compared):
        metric = row.change.metric
        if row.change.deciding:
            metric = f"{metric} *"
        cells = [metric, row.before, row.after, row.measured]
        if at_equal_pace:
            cells.append(row.equal)
        cells += [row.bounds, row.ruling]
        rows.append(tuple(cells))
    words_before = side(compared.before)
    words_after = side(compared.after)
    title = f"metrics: {words_before} → {words_after}"
    return title, tuple(columns), rows


def _findings_table(compared: Comparison) -> Table:
    rows: list[Sequence[str]] = []
    for change in compared.findings:
        runs_before, runs_after = _runs_with(change, compared)
        row = (change.rule, course(change), runs_before, runs_after)
        rows.append(row)
    return "findings", ("finding", "became", "before", "after"), rows


def _kernels_table(compared: Comparison) -> Table:
    rows: list[Sequence[str]] = []
    for change in compared.kernels[:MOST_KERNELS]:
        medians = _format_sides(change, "p50")
        row = (change.label, _counts(change), *medians, _ratio(change))
        rows.append(row)
    return "work by label, p50", ("label", "count", "before", "after", "change"), rows


def _environment_table(compared: Comparison) -> Table:
    rows: list[Sequence[str]] = [
        (difference.what, difference.before, difference.after)
        for difference in compared.environment
    ]
    return "what differs", ("what", "before", "after"), rows


def side(names: Sequence[str]) -> str:
    """Return the runs of a side in a word or two."""
    if len(names) == 1:
        return names[0]
    return f"{len(names)} runs ({names[0]} …)"


def equal_pace(compared: Comparison) -> bool:
    """Whether a change is judged at equal machine pace: by reference work, or within pairs."""
    are_changed = [change.corrected or change.paired for change in compared.changes]
    return any(are_changed)


def how_sure(compared: Comparison) -> str:
    """Explain the columns, and the assumptions of the intervals."""
    sentences = [f"* decides{_explain_decider(compared)}. Measured is the change of the medians."]
    if compared.shared:
        sentences.append(f"Both sides have the same recording: {', '.join(compared.shared)}.")
    if compared.pace is not None:
        longer = "longer" if compared.pace >= 0 else "less"
        pace_change = units.percent(abs(compared.pace))
        sentences.append(
            "At equal pace, the machine's own change is taken out of times and rates: fixed "
            f"reference work took {pace_change} {longer} after than before."
        )
    sentences.append(_explain_intervals(compared))
    sentences += compared.notes
    for reason, place in _number_shared_reasons(compared).items():
        sentences.append(f"({place}) {reason}")
    return " ".join(sentences)


def _explain_intervals(compared: Comparison) -> str:
    if any(change.paired for change in compared.changes):
        return (
            "Runs were recorded alternating, so each is compared with its neighbour in time, as "
            "drift affects both."
        )
    if _count_runs(compared) > 1:
        return (
            "Intervals are of runs of each side and of blocks within them; "
            + _DRIFT[compared.order]
        )
    run_deviation = compared.limits.between
    if compared.pace is not None:
        run_deviation = min(run_deviation, compared.limits.paced)
    return (
        "One run of a side shows only how it varied within. Equal runs are taken to differ by "
        f"{units.percent(run_deviation)} as well (--between); several of each side show it."
    )


def _count_runs(compared: Comparison) -> int:
    """Return the number of runs of the smaller side; all runs of one program share a name."""
    counts = [
        min(len(change.values_before), len(change.values_after)) for change in compared.changes
    ]
    return max(counts, default=0)


def _explain_decider(compared: Comparison) -> str:
    """Explain why other numbers than those of steps decide; empty if those do."""
    deciding = {change.metric for change in compared.changes if change.deciding}
    rates = sorted(deciding & set(RATES))
    if rates and any(change.metric == STEP for change in compared.changes):
        return f": {rates[0]} is a rate of the whole recording, and {STEP} would be sharper"
    if rates and not compared.limits.metrics:
        return f": {rates[0]}, because no median of steps and no other sharper number is known"
    if compared.limits.metrics or not deciding or deciding & METRICS.keys():
        return ""
    if deciding == {WALL_TIME}:
        return ": the time from start to exit, because no printed number is read (--read)"
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
    """Number the reasons that several metrics share; the page gives each once, below the table."""
    reasons = [change.reason for change in compared.changes if change.reason]
    reason_counts = Counter(reasons)
    places: dict[str, int] = {}
    for reason, times in reason_counts.items():
        if times >= _SHARED:
            places[reason] = len(places) + 1
    return places


def change_words(change: Change) -> str:
    """Return the change with its interval: as measured, or at equal pace and as measured."""
    if change.change is None or change.measured is None:
        return NOTHING
    wording = change.formatter
    if change.corrected or change.paired:
        words = wording.format_change(change.change, change.low, change.high)
        return f"{words} at equal pace, measured {wording.change(change.measured)}"
    return wording.format_change(change.measured, change.low, change.high)


def ruling(change: Change, compared: Comparison | None = None) -> str:
    """Return the verdict in words, with its reason, or its number where metrics share it."""
    place = None
    if compared:
        place = _number_shared_reasons(compared).get(change.reason)
    reason = f"({place})" if place else change.reason
    if change.verdict is None:
        if change.better is Better.NEITHER:
            return "not judged"
        return reason
    words = change.verdict.words
    if not reason:
        return words
    if place:
        return f"{words} {reason}"
    return f"{words}: {reason}"


def course(change: FindingChange) -> str:
    """Describe the change of a finding, with its reason if it is unknown."""
    if not change.reason:
        return str(change.course)
    return f"{change.course}: {change.reason.rstrip('.')}"


def _runs_with(change: FindingChange, compared: Comparison) -> tuple[str, str]:
    presence_before = _presence(change.runs_before, len(compared.before))
    presence_after = _presence(change.runs_after, len(compared.after))
    return (
        presence_before,
        presence_after,
    )


def _presence(runs: int, total: int) -> str:
    if total != 1:
        return f"in {runs} of {total}"
    return "found" if runs else "not found"


def _ratio(change: KernelChange) -> str:
    if change.ratio is not None:
        return verdicts.Shown("ratio", "ns").change(change.ratio - 1)
    if change.before is None:
        return "new"
    if change.after is None:
        return "gone"
    return NOTHING


def _counts(change: KernelChange) -> str:
    return _unless_same(_format_count(change.before), _format_count(change.after))


def _format_count(kernel: Kernel | None) -> str:
    return units.count(kernel.count) if kernel else "0"


def _format_sides(change: KernelChange, column: _Column) -> tuple[str, str]:
    duration_before = _format_duration(change.before, column)
    duration_after = _format_duration(change.after, column)
    return duration_before, duration_after


def _format_duration(kernel: Kernel | None, column: _Column) -> str:
    if kernel is None:
        return NOTHING
    nanoseconds: float = getattr(kernel, column)
    return units.duration(nanoseconds)


def _unless_same(text_before: str, text_after: str) -> str:
    if text_before == text_after:
        return text_before
    return f"{text_before} → {text_after}"


@dataclass(frozen=True)
class ChangeRow:
    """A metric's change in words: both sides, the measured change, that at equal pace, and so on.

    A value that is not known, or not corrected, is a dash.
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
        wording = change.formatter
        paced_change = None
        if change.corrected or change.paired:
            paced_change = change.change
        bounds = NOTHING
        if change.low is not None and change.high is not None:
            bounds = wording.format_interval(change.low, change.high)
        words_before = _format_value(change.before, change.unit)
        words_after = _format_value(change.after, change.unit)
        measured = _format_change(change.measured, wording)
        equal = _format_change(paced_change, wording)
        yield ChangeRow(
            change=change,
            before=words_before,
            after=words_after,
            measured=measured,
            equal=equal,
            bounds=bounds,
            ruling=ruling(change, compared),
        )


def _format_value(value: float | None, unit: str) -> str:
    if value is None:
        return NOTHING
    return units.quantity(value, unit)


def _format_change(change: float | None, wording: verdicts.Shown) -> str:
    if change is None:
        return NOTHING
    return wording.change(change)


WIDTH = 200
_LEAST = 0.15


def reach(changes: Sequence[Change]) -> float:
    """Return the change at both edges of the drawing: twice the largest, at least 15 %."""
    largest = 0.0
    for change in changes:
        if change.relative and change.change is not None:
            largest = max(largest, abs(change.change))
    return max(_LEAST, min(1.0, 2 * largest))


def bar(change: Change, edge: float) -> tuple[float, float, float] | None:
    """Return the ends and the middle of an interval on 0 … WIDTH, cut at the edges.

    None for a change that is not a ratio, or has no interval.
    """
    if not change.relative or change.low is None or change.high is None or change.change is None:
        return None
    low_place = _place(change.low, edge)
    high_place = _place(change.high, edge)
    change_place = _place(change.change, edge)
    return low_place, high_place, change_place


def _place(change: float, edge: float) -> float:
    visible = max(-edge, min(edge, change))
    position = (visible / edge + 1) * WIDTH / 2
    return round(position, 1)


_DrawnRow = tuple[ChangeRow, tuple[float, float, float] | None]


def render_comparison(
    compared: Comparison,
    samples_before: Sequence[Sample],
    samples_after: Sequence[Sample],
    *,
    redact: Callable[[str], str],
) -> str:
    """Return the page: one HTML document that loads nothing and reads without script.

    The timelines are those of each side's first run; a side without recordings, and a bench, has
    none. The same input gives the same characters.
    """
    edge = reach(compared.changes)
    if samples_after:
        tracekit_version = samples_after[0].result.provenance.tracekit
    else:
        tracekit_version = own_version()
    are_benches = [sample.is_bench for sample in (*samples_before, *samples_after)]
    recorded = bool(samples_before and samples_after) and not all(are_benches)
    timelines: Mapping[str, Any] = {}
    if recorded:
        timeline_before = pages.timeline(samples_before[0].result, _tables_of(samples_before[0]))
        timeline_after = pages.timeline(samples_after[0].result, _tables_of(samples_after[0]))
        timelines = pages.drawn(pages.merge_timelines(timeline_before, timeline_after))
    rows = list(_rows(compared))
    judged_rows: list[_DrawnRow] = []
    unjudged_rows: list[_DrawnRow] = []
    deciding_rows: list[ChangeRow] = []
    for row in rows:
        kind = unjudged_rows if row.change.verdict is None else judged_rows
        kind.append((row, bar(row.change, edge)))
        if row.change.deciding:
            deciding_rows.append(row)
    finding_rows = [_finding_row(change, compared) for change in compared.findings]
    lines = [*_list_changes(rows), *_list_findings(finding_rows)]
    kernel_rows = [_kernel_row(change) for change in compared.kernels[:MOST_KERNELS]]
    more_kernels = max(0, len(compared.kernels) - MOST_KERNELS)
    sentence = how_sure(compared).removeprefix("* decides. ")
    sentence = " ".join(filter(None, (compared.bound, sentence)))
    words_before = side(compared.before)
    words_after = side(compared.after)
    return pages.document(
        pages.environment_of(redact),
        "compare/page.html",
        styles=("page.css", "compare/compare.css"),
        compared=compared,
        leads=_LEADS,
        nothing=NOTHING,
        before=words_before,
        after=words_after,
        short_before=text.clip(words_before, _LONGEST_SIDE),
        short_after=text.clip(words_after, _LONGEST_SIDE),
        setting=_describe_setting(compared, samples_after),
        numbers=deciding_rows[:MOST_NUMBERS],
        lines=lines[:MOST_LINES],
        tally=_tally(compared),
        judged=judged_rows,
        unjudged=unjudged_rows,
        work_gist=_describe_work(compared),
        environment_gist=_list_differences(compared),
        equal_pace=equal_pace(compared),
        edge=f"{edge * 100:.0f} %",
        bar_width=WIDTH,
        findings=finding_rows,
        kernels=kernel_rows,
        more_kernels=more_kernels,
        how_sure=sentence,
        recorded=recorded,
        version=tracekit_version,
        **timelines,
    )


def _tables_of(sample: Sample) -> "analysis.Given":
    return analysis.Given(sample.open_tables(), sample.result.provenance)


_SIGNS = {"error": "▲", "warning": "▲", "good": "✓"}
_Line = tuple[str, str, str, str]  # tone, sign, words, and the section that has more


def _list_changes(rows: Sequence[ChangeRow]) -> Iterator[_Line]:
    """Yield a line for each change of a certain direction that does not decide."""
    for row in rows:
        verdict = row.change.verdict
        if row.change.deciding or verdict is None:
            continue
        if verdict not in {Verdict.WORSE, Verdict.BETTER}:
            continue
        tone, sign, word = _LEADS[verdict]
        change = row.equal
        if change == NOTHING:
            change = row.measured
        words = f"{text.heading(row.change.metric)} {change}: {row.before} → {row.after}"
        line = text.clip(words, LONGEST_LINE - len(word) - 2)
        yield tone, sign, f"{line}, {word.lower()}", "metrics"


def _list_findings(finding_rows: Sequence["_ComparedFinding"]) -> Iterator[_Line]:
    for place, row in enumerate(finding_rows, 1):
        course_words = str(row.change.course)
        line = f"{course_words}: {row.title}"
        if len(line) > LONGEST_LINE:
            line = f"{course_words}: {row.change.rule}"
        sign = _SIGNS.get(row.tone, "●")
        yield row.tone, sign, line, f"finding-{place}"


def _tally(compared: Comparison) -> str:
    """Return how many metrics have each verdict, and how many are not judged."""
    judged = Counter(change.verdict for change in compared.changes if change.verdict is not None)
    parts = [f"{judged[verdict]} {verdict.words}" for verdict in Verdict if judged[verdict]]
    unjudged = len(compared.changes) - judged.total()
    if unjudged:
        parts.append(f"{unjudged} not judged")
    if not parts:
        return "No metric of both sides is known."
    return f"{len(compared.changes)} metrics: {', '.join(parts)}"


def _describe_setting(
    compared: Comparison, samples_after: Sequence[Sample]
) -> list[tuple[str, str]]:
    """Return sides that the heading shortens, the setting after, and what differs."""
    sides = (("Before", side(compared.before)), ("After", side(compared.after)))
    facts: list[tuple[str, str]] = []
    for name, words in sides:
        if len(words) > _LONGEST_SIDE:
            facts.append((name, words))
    if samples_after:
        sample = samples_after[0]
        setting = dict(pages.describe_setting(sample.result, _tables_of(sample)))
        names = ("Chip",) if sample.is_bench else ("Target", "Chip")
        facts += [(name, setting[name]) for name in names]
    return [*facts, ("What differs", _list_differences(compared))]


def _list_differences(compared: Comparison) -> str:
    names = [difference.what for difference in compared.environment]
    if not names:
        return "nothing that the runs record"
    return text.clip(", ".join(names), LONGEST_LINE)


def _describe_work(compared: Comparison) -> str:
    if not compared.kernels:
        return "not available"
    if len(compared.kernels) == 1:
        return "1 label"
    return f"{units.count(len(compared.kernels))} labels"


@dataclass(frozen=True)
class _ComparedFinding:
    """A finding's change as the page shows it; `more_advice` is folded at first."""

    change: FindingChange
    title: str
    course: str
    tone: str
    before: str
    after: str
    advice: str
    more_advice: str


def _finding_row(change: FindingChange, compared: Comparison) -> _ComparedFinding:
    tone = _COURSES.get(change.course, "note")
    presence_before, presence_after = _runs_with(change, compared)
    advice, more_advice = "", ""
    if change.after is not None:
        advice, more_advice = text.split_words(change.after.advice)
    return _ComparedFinding(
        change=change,
        title=_title_of(change),
        course=course(change),
        tone=tone,
        before=presence_before,
        after=presence_after,
        advice=advice,
        more_advice=more_advice,
    )


def _title_of(change: FindingChange) -> str:
    """Return the finding after, or else that before, in a line with its cost."""
    finding: Finding | None = change.after or change.before
    if finding is None:
        return change.rule
    room = LONGEST_LINE - len(f"{change.course} ")
    return analysis.wording.line_of(finding, finding.cost, longest=room)


def _kernel_row(change: KernelChange) -> tuple[str, ...]:
    durations: list[str] = []
    for column in _COLUMNS:
        text_before, text_after = _format_sides(change, column)
        durations.append(_unless_same(text_before, text_after))
    return change.label, _counts(change), *durations, _ratio(change)
