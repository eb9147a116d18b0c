"""Which pairs count, in words: how many, and why others do not."""

from tracekit.nightly.gate.case import Case
from tracekit.nightly.gate.changes import value


def counted(case: Case, wanted: int) -> str:
    """Say how many pairs count, of how many that were asked for."""
    number = len(case.changes)
    return f"{number} of {max(wanted, number)} pairs count"


def others(case: Case) -> str:
    """Say why other pairs do not count, to be put behind how many do; nothing if all do."""
    if case.contaminated:
        return f"; why others do not: {_why(case)}"
    if len(case.changes) < len(case.own):
        return f"; others do not tell {case.gated.metric} of both sides"
    return ""


def short_of(case: Case) -> str:
    """Say which sitting has too few pairs that count; nothing where none has."""
    least = 1 if case.few else case.policy.least
    few = zip(("first", "second"), case.sittings, strict=False)
    told = [
        f"only {len(each)} pairs of the {name} sitting count"
        for name, each in few
        if len(each) < least
    ]
    return f"{' and '.join(told)}, and it takes {least}{others(case)}" if told else ""


def missing(case: Case) -> str:
    """Say why there is nothing to judge."""
    metric = case.gated.metric
    if not case.own:
        return f"No pair measured {metric}."
    if len(case.contaminated) == len(case.own):
        return f"No pair counts: {_why(case)}."
    good = [pair for pair in case.own if not pair.contaminated]
    sides = [(value(one, metric, "candidate"), value(one, metric, "reference")) for one in good]
    for side, known in zip(("candidate", "reference"), zip(*sides, strict=True), strict=True):
        if all(one is None for one in known):
            return f"The {side} did not say its {metric}, or not as a number."
    if all(None in both for both in sides):
        return f"No pair knows {metric} of both sides."
    return f"A ratio takes values above 0, and {metric} is 0 or below: take its difference."


def _why(case: Case) -> str:
    reasons = [why for pair in case.contaminated for why in pair.contaminated]
    return max(set(reasons), key=lambda one: (reasons.count(one), one)).rstrip(".")
