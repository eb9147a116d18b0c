"""Followed metrics whose change is so large that the night reports it."""

import math
from collections.abc import Sequence

from tracekit.base import Verdict, verdicts
from tracekit.nightly.history.night import Judged

_STRIKING = 2.0  # times the threshold: from there on a change of a followed metric is reported


def find_striking(judged: Sequence[Judged]) -> str:
    """Return a sentence on the followed metric that changed most, if by far more than matters."""
    striking: dict[str, float] = {}
    for metric in judged:
        verdict = _find_striking_verdict(metric)
        if verdict is None or metric.change is None:
            continue
        change_interval = (metric.change, metric.low, metric.high)
        words = verdicts.sentence_of(verdict, metric.formatter, change_interval, metric.threshold)
        sentence = f"{metric.metric} is {words}, but is followed only."
        log_change = math.log1p(metric.change)
        striking[sentence] = abs(log_change)
    return max(striking, key=lambda sentence: striking[sentence], default="")


def _find_striking_verdict(metric: Judged) -> Verdict | None:
    """Return the verdict on a followed ratio that changed by far; None if it did not."""
    if metric.outcome is not None or metric.scale != "ratio" or metric.better == "neither":
        return None
    if metric.change is None or metric.low is None or metric.high is None or metric.low <= -1:
        return None
    middle_change = math.log1p(metric.change)
    lower_change = math.log1p(metric.low)
    upper_change = math.log1p(metric.high)
    ends = verdicts.Interval(middle_change, lower_change, upper_change)
    turn = 1
    if metric.better != "lower":
        turn = -1
    log_threshold = math.log1p(metric.threshold)
    verdict, _ = verdicts.verdict_of(ends.orient(turn), log_threshold)
    is_far = abs(metric.change) >= _STRIKING * metric.threshold
    if is_far and verdict in {Verdict.WORSE, Verdict.BETTER}:
        return verdict
    return None
