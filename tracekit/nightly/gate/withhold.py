"""A night whose history could not be read: its measurements, without verdicts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tracekit.base import Verdict
from tracekit.nightly.gate.judge import NO_BASELINE, outcome_of
from tracekit.nightly.history.night import Entry, Judged, Night, Outcome
from tracekit.nightly.plan.plan import Capture

_NOT_KNOWN = (
    "The accepted changes are not known, because the history could not be read before the night."
)


def withhold(night: Night, captures: Iterable[Capture]) -> Night:
    """Return the night without the verdicts that an accepted baseline could change.

    A change of a metric from its reference is a regression, or none, only beyond the last accepted
    change. Verdicts that need no history stay: failures, findings that fail, metrics without a
    reference.
    """
    fail_on = {capture.name: capture.fail_on for capture in captures}
    entries = [_withheld(entry, fail_on.get(entry.capture, ())) for entry in night.entries]
    return replace(night, entries=tuple(entries))


def _withheld(entry: Entry, fail_on: Sequence[str]) -> Entry:
    if entry.reference is None:
        return entry
    judged = tuple(map(_withhold_verdict, entry.judged))
    if judged == entry.judged:
        return entry
    new = replace(entry, judged=judged)
    if (entry.outcome, entry.reason) == outcome_of(entry, fail_on):
        outcome, reason = outcome_of(new, fail_on)
        return replace(new, outcome=outcome, reason=reason)
    if entry.outcome is not Outcome.REGRESSION:
        return new
    # The capture was cut off: the reason for that follows the regressions found before.
    worse = [metric for metric in entry.judged if metric.outcome is Outcome.REGRESSION]
    regression_reason = " ".join(f"{metric.metric}: {metric.reason}" for metric in worse)
    interruption_reason = entry.reason.removeprefix(regression_reason).strip()
    return replace(new, outcome=Outcome.INCONCLUSIVE, reason=f"{_NOT_KNOWN} {interruption_reason}")


def _withhold_verdict(judged: Judged) -> Judged:
    decides = judged.gated and judged.outcome in {Outcome.OK, Outcome.REGRESSION}
    if not decides and judged.reason != NO_BASELINE:
        return judged
    reason = _NOT_KNOWN
    if judged.outcome is Outcome.OK:
        reason = f"{reason} If there are none, it is ok: {judged.reason}"
    elif judged.outcome is Outcome.REGRESSION:
        reason = f"{reason} If there are none, it is a regression: {judged.reason}"
    opened = replace(judged, reason=reason, expected=None, reproduced=None)
    if not judged.gated:
        return replace(opened, outcome=None, verdict="")
    return replace(opened, outcome=Outcome.INCONCLUSIVE, verdict=Verdict.UNCLEAR.value)
