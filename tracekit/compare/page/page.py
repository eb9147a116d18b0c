"""A comparison as one page: verdict, metrics with intervals, findings, work, both timelines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracekit.compare.change import Change, Verdict
from tracekit.compare.compare import Comparison
from tracekit.compare.kernels import KernelChange
from tracekit.compare.page import words
from tracekit.compare.page.axis import both
from tracekit.compare.page.bars import WIDTH, Bar, bar, reach
from tracekit.compare.problems import Course, FindingChange
from tracekit.compare.sample import Sample
from tracekit.report.panels.timeline import drawn
from tracekit.report.render import document, environment_of

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
_COURSES = {Course.APPEARED: "error", Course.GREW: "warning", Course.GONE: "good"}


@dataclass(frozen=True)
class Row:
    """A metric's change in words, and drawn where it is a ratio with an interval."""

    change: Change
    before: str
    after: str
    shift: str
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

    The timelines are those of each side's first run. The same input gives the same characters.
    """
    edge = reach(compared.changes)
    return document(
        environment_of(redact),
        "compare/page.html",
        styles=("page.css", "compare/compare.css"),
        compared=compared,
        verdict=(_TONES[compared.verdict], _SIGNS[compared.verdict]),
        before=words.side(compared.before),
        after=words.side(compared.after),
        rows=[_row(one, edge) for one in compared.changes],
        edge=f"{edge * 100:.0f} %",
        bar_width=WIDTH,
        findings=[_finding(one, compared) for one in compared.findings],
        kernels=[_kernel(one) for one in compared.kernels[: words.MOST_KERNELS]],
        more_kernels=max(0, len(compared.kernels) - words.MOST_KERNELS),
        how_sure=words.how_sure(compared).removeprefix("* decides. "),
        version=after[0].result.provenance.tracekit,
        **drawn(both(before[0], after[0])),
    )


def _row(one: Change, edge: float) -> Row:
    bounds = words.bounds(one)
    return Row(
        change=one,
        before=words.value(one.before, one),
        after=words.value(one.after, one),
        shift=words.shift(one),
        bounds=bounds,
        ruling=words.ruling(one),
        tone=_TONES[one.verdict] if one.verdict else "",
        bar=bar(one, edge, f"{words.shift(one)}, {bounds} with 95 % confidence"),
    )


def _finding(one: FindingChange, compared: Comparison) -> tuple[FindingChange, str, str, str, str]:
    counts = (
        words.found_in(one.runs_before, len(compared.before)),
        words.found_in(one.runs_after, len(compared.after)),
    )
    return (one, words.course(one), _COURSES.get(one.course, "note"), *counts)


def _kernel(one: KernelChange) -> tuple[str, ...]:
    sides = [
        (words.p50(kernel), words.p95(kernel), words.total(kernel))
        for kernel in (one.before, one.after)
    ]
    columns = [f"{old} → {new}" if old != new else old for old, new in zip(*sides, strict=True)]
    return (one.label, words.counts(one), *columns, words.ratio(one))
