"""`capture-truncated`: the recording, or an export of it, was cut."""

from contextlib import suppress

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, marked_window, spans
from tracekit.analysis.rule import Evidence, Fact, Findings, Severity, finding
from tracekit.analysis.scope import own_rows, steady_steps
from tracekit.base import Provenance
from tracekit.tables import Flaw

_LEVERS = {"import": "export-damaged", "export": "export-damaged"}


def capture_truncated(
    provenance: Provenance,
    losses: pd.DataFrame | None,
    gpu_intervals: pd.DataFrame | None,
    phases: pd.DataFrame | None,
    steps: pd.DataFrame | None,
    *,
    limit: float = 0.05,
    least: int = 100_000_000,
) -> Findings:
    """The recording or an export of it was cut.

    What it looks for:
        A recording, an import or an export that did not finish (a recording that somebody stopped
        early is a warning, and so is one that was recovered from raw data); exports that are
        damaged or empty; tables of a bundle that are missing or damaged; a workload that left no
        marks, or never reached its steady phase; and a target whose first device interval comes
        after the beginning of its steady steps, or whose last one comes before their end, by more
        than `limit` of the steady phase (default 5 %) and by more than `least` (100 ms) and the
        error of its marks on the trace's time.

    Why it matters:
        A missing part looks like one that never happened: fewer steps, more idle time, no
        compilation. Every total and every share would describe a part that nobody chose.

    What to do:
        Record again with room for the whole steady phase, or export again to the end.

    When it abstains:
        When there are neither exports whose readers could find damage nor device intervals, and
        when a workload marked its steps but the recording has no device interval of the target.
    """
    if losses is None and gpu_intervals is None:
        raise Unavailable("there are neither exports nor device intervals to look at.")
    loss_findings = []
    if losses is not None:
        loss_findings = _find_damage(losses)
    findings = [
        *_find_unfinished_stages(provenance),
        *loss_findings,
    ]
    window = _working(phases, steps)
    has_marks = _has_marks(phases, window)
    if not has_marks:
        findings += _find_silence(provenance)
    target_rows = None
    if gpu_intervals is not None:
        target_rows = own_rows(gpu_intervals)
    if target_rows is not None and window is None and has_marks:
        never_steady = finding(
            wording="capture-truncated-never-steady",
            lever="capture-truncated",
            severity=Severity.ERROR,
        )
        findings.append(never_steady)
    if target_rows is not None and window is not None and not target_rows.empty:
        clock_uncertainty = provenance.clock.get("uncertainty") or 0
        unsure = least + int(clock_uncertainty)
        relative_margin = int(limit * window.length)
        longest_margin = max(relative_margin, unsure)
        findings += _find_uncovered_ends(target_rows, window, longest_margin, provenance)
    elif window is not None and not findings:
        raise Unavailable(
            "the workload marked its steps, but the recording has no device interval of the target "
            "to compare them with."
        )
    yield from findings


def _find_unfinished_stages(provenance: Provenance) -> Findings:
    for name, stage in provenance.incomplete.items():
        stopped = name == "record" and stage.state == "interrupted"
        recovered = name == "recover"
        reason = stage.message.rstrip(".")
        facts = (
            Fact("stage", name),
            Fact("stopped", stopped),
            Fact("recovered", recovered),
            Fact("reason", reason),
        )
        lever = _LEVERS.get(name, "capture-truncated")
        severity = Severity.ERROR
        if stopped or recovered:
            severity = Severity.WARNING
        yield finding(
            wording="capture-truncated-stage",
            facts=facts,
            lever=lever,
            severity=severity,
        )


def _has_marks(phases: pd.DataFrame | None, window: Window | None) -> bool:
    """Return whether the workload marked any of its phases or steps."""
    return window is not None or (phases is not None and not phases.empty)


def _find_silence(provenance: Provenance) -> Findings:
    """Yield the finding that a workload of tracekit left no marks; other programs have none."""
    if provenance.workload and provenance.recorder == "xctrace":
        yield finding(
            wording="capture-truncated-silent",
            facts=(Fact("workload", provenance.workload),),
            lever="capture-truncated",
            severity=Severity.ERROR,
        )


def _find_damage(losses: pd.DataFrame) -> Findings:
    is_damage = losses["flaw"] == Flaw.DAMAGED.value
    damage_texts = losses.loc[is_damage, "text"]
    texts = damage_texts.drop_duplicates()
    if not texts.empty:
        clean_texts = [f"{text.rstrip('.')}." for text in texts]
        joined_text = " ".join(clean_texts)
        text_count = len(texts)
        facts = (
            Fact("number", text_count),
            Fact("texts", joined_text),
        )
        yield finding(
            wording="capture-truncated-damaged",
            facts=facts,
            lever="export-damaged",
            severity=Severity.ERROR,
        )


def _working(phases: pd.DataFrame | None, steps: pd.DataFrame | None) -> Window | None:
    """Return the time from the first steady step with work to the last.

    Without such steps it is the steady phase; None without that either.
    """
    with suppress(Unavailable):
        if steps is not None:
            starts, ends = spans(steady_steps(steps))
            first_start = int(starts.min())
            last_end = int(ends.max())
            return Window(first_start, last_end, "the steady window")
    return marked_window(phases)


def _find_uncovered_ends(
    target_rows: pd.DataFrame, window: Window, margin: int, provenance: Provenance
) -> Findings:
    starts, ends = spans(target_rows)
    first_start = int(starts.min())
    last_end = int(ends.max())
    end_begin = max(last_end, window.start)
    begin_end = min(first_start, window.end)
    for lost_time, start, end, side in (
        (window.end - last_end, end_begin, window.end, "end"),
        (first_start - window.start, window.start, begin_end, "begin"),
    ):
        if lost_time > margin:
            share = min(1.0, lost_time / window.length)
            end_reason = provenance.end_reason.rstrip(".")
            facts = (
                Fact("side", side),
                Fact("lost", lost_time, "ns"),
                Fact("share", share, "ratio"),
                Fact("end_reason", end_reason),
            )
            evidence = (Evidence("gpu_intervals", start, end, "not recorded"),)
            yield finding(
                wording="capture-truncated-uncovered",
                facts=facts,
                lever="capture-truncated",
                evidence=evidence,
                severity=Severity.ERROR,
            )
