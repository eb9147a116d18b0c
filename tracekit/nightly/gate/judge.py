"""What became of one metric in one night."""

from collections.abc import Sequence
from dataclasses import replace

from tracekit.analysis.result import Better
from tracekit.nightly.gate.case import Case
from tracekit.nightly.gate.counted import counted, missing, others, short_of
from tracekit.nightly.gate.decision import Decision, decide
from tracekit.nightly.gate.exact import decide_exactly, is_exact
from tracekit.nightly.gate.policy import POLICY, Policy
from tracekit.nightly.gate.words import reason
from tracekit.nightly.history.night import Judged, Outcome, Pair
from tracekit.nightly.plan.plan import Gated

NO_BASELINE = (
    "No night was accepted as what to expect of work that differs from the reference's: "
    "`tracekit baseline accept NIGHT --reason TEXT`."
)
_OVER_NIGHTS = "it is followed over nights"


def judge(
    gated: Gated,
    pairs: Sequence[Pair],
    *,
    unit: str,
    better: str,
    expected: Sequence[float] | None = None,
    same_work: bool | None = True,
    wanted: int = 0,
    policy: Policy = POLICY,
) -> Judged:
    """Judge one metric by all pairs that count, of one sitting or of both.

    A change for the worse is a regression where it is beyond the threshold, significant and
    reproduced by the second sitting. What one sitting leaves open is inconclusive, with
    `reproduced` False: then a second one is needed.

    Args:
        gated: The metric, its threshold and its scale.
        pairs: All pairs of the capture, those that do not count included.
        unit: The metric's unit.
        better: Which direction is good news, unless `gated` says so.
        expected: The changes of the accepted baseline, as of `changes`; None without one.
        same_work: Whether the reference does the same work, so that no change is expected where
            no baseline was accepted; None where there is no reference.
        wanted: How many pairs were asked for: where fewer are left, for the others were
            contaminated, nothing is called harmless.
        policy: What it takes to decide.

    Raises:
        ValueError: The threshold is not above 0.
    """
    if not gated.threshold > 0:
        raise ValueError(f"A threshold lies above 0; that of {gated.metric} is {gated.threshold}.")
    direction = Better(gated.better or better)
    case = Case(gated, tuple(pairs), unit, direction, tuple(expected or ()), policy)
    known = case.known()
    if same_work is None:
        if known.candidate is None:
            return _open(known, missing(case))
        return _followed(known, f"There is no reference: {_OVER_NIGHTS}.")
    if not case.changes:
        return _open(known, missing(case))
    told = _told(case, known)
    unknown = expected is None and not same_work
    told = told if unknown else replace(told, expected=case.expectation())
    if direction is Better.NEITHER:
        return _followed(told, f"Which direction is worse is not known: {_OVER_NIGHTS}.")
    if unknown:
        # What is accepted counts for ever, so it is measured twice before it can be.
        again = gated.gate and len(case.sittings) == 1
        return replace(_open(told, NO_BASELINE), reproduced=False if again else None)
    return _settled(case, told, wanted) if gated.gate else told


def _told(case: Case, known: Judged) -> Judged:
    """Return it with the change in numbers and words."""
    change, interval = case.middle(case.changes), case.interval()
    words = f"{case.shown.whole(change, interval)}."
    if interval is None:
        return replace(known, change=change, reason=words)
    return replace(known, change=change, low=interval.low, high=interval.high, reason=words)


def _settled(case: Case, told: Judged, wanted: int) -> Judged:
    """Return it with how it ended."""
    turned, expected = [case.turned(one) for one in case.sittings], case.turned(case.expected)
    least = case.policy.least
    if case.few and (case.gated.scale != "difference" or not is_exact(case.values, case.unit)):
        few = f"{case.planned} traced in a sitting, and an interval takes {least} pairs"
        return _followed(told, f"{told.reason.rstrip('.')}: {few}, so {_OVER_NIGHTS}.")
    if case.few:
        decision = decide_exactly(turned, expected, case.threshold)
    elif 0 < len(expected) < least:
        return _open(told, f"The accepted night has {len(expected)} pairs; it takes {least}.")
    else:
        decision = decide(turned, expected, case.threshold, case.policy)
    if decision is None:
        few = f"{counted(case, max(wanted, least))}, and an interval takes {least}"
        return _open(told, f"Only {few}{others(case)}.")
    if decision.found.outcome is Outcome.OK and len(case.changes) < wanted:
        few = f"only {counted(case, wanted)}{others(case)}"
        return _open(told, f"{told.reason.rstrip('.')}, but {few}.")
    return _said(case, told, decision)


def _said(case: Case, told: Judged, decision: Decision) -> Judged:
    shown = case.shown
    change, interval = case.middle(case.changes), case.interval()
    parts = [shown.change(case.middle(one)) if one else "nothing" for one in case.sittings]
    words = reason(decision.found, shown.whole(change, interval), parts, case.limit, short_of(case))
    return replace(
        told, outcome=decision.found.outcome, reproduced=decision.reproduced, reason=words
    )


def _open(judged: Judged, why: str) -> Judged:
    """Return it as inconclusive if it decides."""
    return replace(judged, outcome=Outcome.INCONCLUSIVE if judged.gated else None, reason=why)


def _followed(judged: Judged, why: str) -> Judged:
    return replace(judged, gated=False, outcome=None, reason=why)
