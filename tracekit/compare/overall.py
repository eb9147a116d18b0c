"""The verdict over all: what the metrics that decide come to together."""

from collections.abc import Iterable, Sequence

from tracekit.compare.change import Change, Verdict
from tracekit.compare.conditions import Condition


def overall(deciding: Sequence[Change], held: Sequence[Condition]) -> tuple[Verdict, str]:
    """Return the verdict and, in a sentence, how it came about.

    One that is worse makes all worse. What the machine did to just the slower side makes it
    unclear, and so does what spoils times: then the work may be as it was.
    """
    if not deciding:
        return Verdict.UNCLEAR, "No run has a metric of speed."
    for verdict in (Verdict.WORSE, Verdict.BETTER):
        if names := _with(deciding, verdict):
            return _changed(verdict, names, deciding, held)
    if unclear := [one for one in deciding if one.verdict is not Verdict.SAME]:
        names = _are([one.metric for one in unclear])
        return Verdict.UNCLEAR, f"{names} unclear: {unclear[0].reason}."
    return Verdict.SAME, f"{_are([one.metric for one in deciding])} the same."


def _changed(
    verdict: Verdict, names: list[str], deciding: Sequence[Change], held: Iterable[Condition]
) -> tuple[Verdict, str]:
    told = f"{_are(names)} {verdict}"
    slower = "after" if verdict is Verdict.WORSE else "before"
    blamed = next((one for one in held if one.spoils or one.side == slower), None)
    if blamed is not None:
        return Verdict.UNCLEAR, f"{told}, but {blamed.words}."
    opposed = _with(deciding, Verdict.BETTER) if verdict is Verdict.WORSE else []
    return verdict, f"{told}, though {_are(opposed)} better." if opposed else f"{told}."


def _with(changes: Sequence[Change], verdict: Verdict) -> list[str]:
    return [one.metric for one in changes if one.verdict is verdict]


def _are(metrics: Sequence[str]) -> str:
    return f"{' and '.join(metrics)} {'is' if len(metrics) == 1 else 'are'}"
