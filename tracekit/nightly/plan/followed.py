"""The metrics of a capture: the usual ones, their thresholds, and those that cannot be followed."""

from collections.abc import Sequence

from tracekit.analysis import METRICS, Better
from tracekit.base import find_similar, paired, verdicts
from tracekit.nightly.plan.plan import Capture, Gated

# Metrics that turns measure without a trace; turns measure a workload's own results as well.
UNTRACED = frozenset({"step_p50", "step_p99", "step_rate", "tokens_per_second"})
FOLLOWED = (
    "step_p50",
    "step_p99",
    "tokens_per_second",
    "gpu_time_per_token",
    "gpu_idle_ratio",
    "start_latency_p50",
    "start_latency_p99",
    "idle_ratio",
    "idle_host",
    "idle_late_start",
    "idle_driver",
    "idle_compile",
    "idle_way_back",
    "idle_start_latency",
    "idle_other_process",
    "idle_powering_up",
    "idle_unattributed",
    "other_process_share",
    "steady_compiles",
    "encoders_per_token",
    "intervals_per_token",
    "command_buffers_per_token",
    "readbacks_per_step",
    "memory_peak",
)
NEEDS_TRACE = "Let traced be 1 or more."
"""The hint for a capture without traces that needs some."""
_LARGEST_RATIO = 10
_NEAR = 0.8  # likeness as of `find_similar`, so that a workload's own results do not count as slips


def find_default_threshold(
    metric: str, scale: verdicts.Scale | None = None
) -> tuple[verdicts.Scale, float]:
    """Return the scale and the threshold of a metric if the plan states none.

    Shares differ by points, whole counts by one; others by a ratio, as a workload's own results.
    """
    is_share = metric in METRICS and METRICS[metric].unit == "ratio"
    if scale is None:
        scale = "difference" if is_share or is_count(metric) else "ratio"
    if scale == "ratio":
        return scale, 0.03
    if is_share:
        return scale, 0.02
    return scale, 1.0


def add_usual_metrics(
    named_metrics: Sequence[Gated], dropped: frozenset[str], capture: Capture
) -> list[Gated]:
    """Return all metrics of a capture: those that its plan names, then the usual ones.

    If a plan names none, `step_p50` decides. Metrics that need a trace are left out if nothing is
    traced, and so are those that the plan drops by `false`.
    """
    step_decides = not named_metrics and capture.reference is not None
    taken_names = {metric.metric for metric in named_metrics} | dropped
    metrics = list(named_metrics)
    for name in FOLLOWED:
        if name in taken_names:
            continue
        if capture.traced or name in UNTRACED:
            scale, threshold = find_default_threshold(name)
            gate = step_decides and name == "step_p50"
            metrics.append(Gated(name, threshold, scale, gate=gate))
    return metrics


def is_count(metric: str) -> bool:
    """Tell whether a metric is a whole number, so that a few traces can show a difference."""
    definition = METRICS.get(metric)
    if definition is None:
        return False
    return definition.unit in {"count", "level"} and "_per_" not in metric


def from_traces(metric: str) -> bool:
    """Tell whether a metric needs a trace."""
    return metric in METRICS and metric not in UNTRACED


def find_unfit(gated: Gated, capture: Capture) -> list[tuple[str, str]]:
    """Return the mistakes by which a metric cannot be followed, or decide, each with a hint."""
    name = gated.metric
    problems: list[tuple[str, str]] = []
    if name not in METRICS:
        near = find_similar(name, METRICS, most=1, likeness=_NEAR)
        if near:
            problems.append(("is not a metric.", f"Did you mean {near[0]}?"))
    if gated.scale == "ratio" and gated.threshold >= _LARGEST_RATIO:
        words = f"must be below {_LARGEST_RATIO} for a ratio; it is {gated.threshold:g}."
        problems.append((words, "0.03 is 3 %."))
    problems += _lacking_traces(gated, capture)
    if gated.gate and capture.reference is None:
        hint = "Add [nightly.capture.reference], or let gate be false."
        problems.append(("cannot decide without a reference; it can be followed.", hint))
    if gated.gate and not gated.better and _has_no_direction(name):
        hint = 'Say better = "lower" or "higher", or let gate be false.'
        problems.append(("cannot decide: neither direction is good news by itself.", hint))
    return problems


def _lacking_traces(gated: Gated, capture: Capture) -> list[tuple[str, str]]:
    """Return the mistake that a metric from traces has too few of them, with a hint."""
    if not from_traces(gated.metric):
        return []
    if not capture.traced:
        return [("comes from traces, and traced is 0.", NEEDS_TRACE)]
    minimum_pairs = paired.least_pairs()
    is_exact = gated.scale == "difference" and is_count(gated.metric)
    if not gated.gate or is_exact or capture.traced >= minimum_pairs:
        return []
    words = f"cannot decide by fewer than {minimum_pairs} traces: they have no 95 % interval."
    return [(words, f"Let traced be {minimum_pairs}, or let gate be false.")]


def _has_no_direction(metric: str) -> bool:
    """Tell whether neither direction of a metric is good news by itself."""
    return metric in METRICS and METRICS[metric].better is Better.NEITHER
