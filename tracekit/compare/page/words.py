"""A comparison in words: the rows that a terminal shows, and that the page shows as well."""

from collections.abc import Iterator, Sequence

from tracekit.analysis.result import Better
from tracekit.base.units import count, duration, percent, quantity
from tracekit.compare.change import Change, Verdict
from tracekit.compare.compare import Comparison
from tracekit.compare.kernels import Kernel, KernelChange
from tracekit.compare.problems import FindingChange
from tracekit.compare.shown import Shown

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
            ("metric", "before", "after", "change", "95 % interval", "verdict"),
            [_change(one) for one in compared.changes],
        ),
        (
            "findings",
            ("finding", "became", "before", "after"),
            [_finding(one, compared) for one in compared.findings],
        ),
        (
            "work by label, p50",
            ("label", "count", "before", "after", "change"),
            [_kernel(one) for one in compared.kernels[:MOST_KERNELS]],
        ),
        (
            "what differs",
            ("what", "before", "after"),
            [(one.what, one.before, one.after) for one in compared.environment],
        ),
    )
    yield from (one for one in found if one[2])


def side(names: Sequence[str]) -> str:
    """Return the runs of a side in a word or two."""
    return names[0] if len(names) == 1 else f"{len(names)} runs ({names[0]} …)"


def how_sure(compared: Comparison) -> str:
    """Return what the intervals presume."""
    if min(len(compared.before), len(compared.after)) > 1:
        return "* decides. Intervals are of runs of each side, and of blocks within them."
    limits = compared.limits
    corrected = any(one.corrected for one in compared.changes)
    between = percent(min(limits.between, limits.paced) if corrected else limits.between)
    pace = " The machine's pace is taken out of times, by reference work." if corrected else ""
    return (
        "* decides. One run of a side shows no more than how it varied within. Equal runs are "
        f"taken to differ by {between} besides (--between); several of each side show it.{pace}"
    )


def value(number: float | None, change: Change) -> str:
    """Return a value of the metric in words."""
    return NOTHING if number is None else quantity(number, change.unit)


def shift(change: Change) -> str:
    """Return the change in words: "+9.8 %", or a difference in the metric's unit."""
    return NOTHING if change.change is None else _shown(change).change(change.change)


def bounds(change: Change) -> str:
    """Return the interval in words."""
    if change.low is None or change.high is None:
        return NOTHING
    return _shown(change).between(change.low, change.high)


def ruling(change: Change) -> str:
    """Return the verdict in words, with what makes it special."""
    if change.verdict is None:
        return "not judged" if change.better is Better.NEITHER else change.reason
    return f"{change.verdict}: {change.reason}" if change.reason else str(change.verdict)


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


def p50(kernel: Kernel | None) -> str:
    """Return the median interval of equal work."""
    return NOTHING if kernel is None else duration(kernel.p50)


def p95(kernel: Kernel | None) -> str:
    """Return its 95th percentile."""
    return NOTHING if kernel is None else duration(kernel.p95)


def total(kernel: Kernel | None) -> str:
    """Return the sum of its intervals."""
    return NOTHING if kernel is None else duration(kernel.total)


def _change(one: Change) -> Sequence[str]:
    name = f"{one.metric} *" if one.deciding else one.metric
    before, after = (
        NOTHING if v is None else quantity(v, one.unit) for v in (one.before, one.after)
    )
    return (name, before, after, shift(one), bounds(one), ruling(one))


def _finding(one: FindingChange, compared: Comparison) -> Sequence[str]:
    return (
        one.rule,
        course(one),
        found_in(one.runs_before, len(compared.before)),
        found_in(one.runs_after, len(compared.after)),
    )


def _kernel(one: KernelChange) -> Sequence[str]:
    return (one.label, counts(one), p50(one.before), p50(one.after), ratio(one))


def _shown(change: Change) -> Shown:
    return Shown("ratio" if change.relative else "difference", change.unit)
