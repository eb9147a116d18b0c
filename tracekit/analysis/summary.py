"""What a result comes to, in words for a terminal."""

from tracekit.analysis.finding import Finding
from tracekit.analysis.result import Result, Status
from tracekit.base.units import duration, quantity, unavailable

_FIRST = (
    *("tokens_per_second", "step_rate", "step_p50", "step_p99", "gpu_busy", "idle_ratio"),
    *("gpu_idle_ratio", "host_idle_ratio", "start_latency_p50", "requests_completed"),
    *("requests_unfinished", "requests_rejected", "request_rate_served", "ttft_p50", "ttft_p99"),
    *("tpot_p50", "tpot_p99", "itl_p99", "steady_token_rate", "goodput"),
)
_OF_THE_SPAN = frozenset({"gpu_idle_ratio", "host_idle_ratio"})  # warm-up included


def numbers(result: Result) -> dict[str, str]:
    """Return the numbers that a reader came for; all that are known where none of those is.

    Shares of idle time that count the warm-up too stand only where that of the steady window,
    which findings speak of, is not known.
    """
    told = [one for one in (*result.metrics, *result.results) if one.value is not None]
    known = {one.name: quantity(one.value, one.unit) for one in told if one.value is not None}
    known |= {one.name: unavailable(one.reason) for one in result.results if one.value is None}
    if "idle_ratio" in known:
        known = {name: value for name, value in known.items() if name not in _OF_THE_SPAN}
    first = (*_FIRST, *(one.name for one in result.results))
    return {name: known[name] for name in first if name in known} or known


def worth(finding: Finding) -> str:
    """Say what mending it could save, and which other finding counts that too."""
    if not finding.saving:
        return ""
    each = finding.saving_per_token
    per_token = f", {duration(each)} per token" if each is not None else ""
    counted = f"; {finding.within} counts that too" if finding.within else ""
    return f" Could save up to {duration(finding.saving)}{per_token}{counted}."


def silence(result: Result) -> str:
    """Say that nothing was found, and by how many of the rules."""
    judged = sum(one.status is Status.PASSED for one in result.checks)
    if judged == len(result.checks):
        return "No finding."
    return f"No finding, by the {judged} of {len(result.checks)} rules that could judge."
