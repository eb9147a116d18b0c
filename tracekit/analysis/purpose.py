"""The question that a run was made to answer, and its answer in a sentence: before any finding."""

from tracekit.analysis.result import Measurement, Result
from tracekit.base import units

_STEP_TIME = "step_time_"


def answer_of(result: Result) -> str:
    """Return the answer of a comparing or a serving workload; empty for any other."""
    all_metrics = (*result.metrics, *result.results)
    metrics = {metric.name: metric for metric in all_metrics}
    return _compare_variants(metrics) or _serve(metrics)


def _compare_variants(metrics: dict[str, Measurement]) -> str:
    """Return the ratio of the steps of two variants in words; empty if it is unknown."""
    names = [name.removeprefix(_STEP_TIME) for name in metrics if name.startswith(_STEP_TIME)]
    speed = _value(metrics, "speedup")
    if len(names) != 2 or not speed:  # noqa: PLR2004  two variants
        return ""
    subject, baseline = names
    lower_bound = _value(metrics, "speedup_low_95")
    upper_bound = _value(metrics, "speedup_high_95")
    if speed < 1:
        # The subject is the faster one, so that the number is the gain.
        subject, baseline = baseline, subject
        speed = 1 / speed
        lower_bound, upper_bound = (
            None if not end else 1 / end for end in (upper_bound, lower_bound)
        )
    words = f"{speed:.2f} times as fast as {baseline}"
    claim = f"{subject} is {words}"
    unclear_verdict = f"Which of {subject} and {baseline} is faster is unclear"
    if not lower_bound or not upper_bound:
        return f"{unclear_verdict}: {claim}, from too few pairs of steps for an interval."
    interval = f"{lower_bound:.2f} to {upper_bound:.2f} with 95 % confidence"
    if lower_bound <= 1:
        return f"{unclear_verdict}: {claim} ({interval})."
    return f"{claim} ({interval})."


def _serve(metrics: dict[str, Measurement]) -> str:
    """Return the latencies of a server and its goodput; empty if it served nothing."""
    first_token_time = _value(metrics, "ttft_p50")
    if first_token_time is None:
        return ""
    worst_first = _worst(metrics, "ttft_p99")
    parts = [f"First token after {units.quantity(first_token_time, 'ns')}{worst_first}"]
    later = _value(metrics, "tpot_p50")
    if later is not None:
        worst_later = _worst(metrics, "tpot_p99")
        parts.append(f"{units.quantity(later, 'ns')} for each further one{worst_later}")
    goodput = metrics.get("goodput")
    if goodput is not None and goodput.value is not None:
        goodput_words = units.quantity(goodput.value, goodput.unit)
        parts.append(f"goodput {goodput_words}")
    return f"{', '.join(parts)}."


def _worst(metrics: dict[str, Measurement], name: str) -> str:
    value = _value(metrics, name)
    if value is None:
        return ""
    return f" (99th percentile {units.quantity(value, 'ns')})"


def _value(metrics: dict[str, Measurement], name: str) -> float | None:
    metric = metrics.get(name)
    return None if metric is None else metric.value
