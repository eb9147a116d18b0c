"""Which metrics a capture follows, which of them decide, and what counts as a change."""

from collections.abc import Sequence

from tracekit.analysis.metrics import METRICS
from tracekit.analysis.result import Better
from tracekit.compare.verdicts import Scale
from tracekit.nightly.plan.plan import Capture, Gated

DECIDING = "step_p50"
# What turns tell, without a trace; a workload's own results are told there as well.
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
    "idle_host_late",
    "idle_start_latency",
    "idle_driver",
    "idle_compile",
    "idle_readback",
    "idle_other_process",
    "idle_down_clocked",
    "idle_unattributed",
    "other_process_share",
    "steady_compiles",
    "encoders_per_token",
    "intervals_per_token",
    "command_buffers_per_token",
    "readbacks_per_step",
    "memory_peak",
)
THRESHOLDS: dict[Scale, float] = {"ratio": 0.03, "difference": 1.0}
_POINTS = 0.02


def usual(metric: str, scale: Scale | None = None) -> tuple[Scale, float]:
    """Return the scale and threshold of a metric for which a plan states none.

    Shares differ by points, whole counts by one; all else by a ratio, as a workload's own results.
    """
    unit = METRICS[metric].unit if metric in METRICS else ""
    if scale is None:
        scale = "difference" if unit == "ratio" or counted(metric) else "ratio"
    if scale == "difference" and unit == "ratio":
        return scale, _POINTS
    return scale, THRESHOLDS[scale]


def followed(named: Sequence[Gated], dropped: frozenset[str], capture: Capture) -> list[Gated]:
    """Return all metrics of a capture: those that its plan names, then the usual ones.

    Where a plan names none, `step_p50` decides. What only traces tell is left out where nothing
    is traced, and so is what the plan drops by `false`.
    """
    gated = not named and capture.reference is not None
    usual_ones = (
        Gated(one, usual(one)[1], usual(one)[0], gate=gated and one == DECIDING)
        for one in FOLLOWED
        if one in METRICS and (capture.traced or one in UNTRACED)
    )
    taken = {one.metric for one in named} | dropped
    return [*named, *(one for one in usual_ones if one.metric not in taken)]


def counted(metric: str) -> bool:
    """Tell whether a metric is a whole number, which a few traces can show to differ."""
    known = METRICS.get(metric)
    return known is not None and known.unit in {"count", "level"} and "_per_" not in metric


def from_traces(metric: str) -> bool:
    """Tell whether only a trace tells a metric."""
    return metric in METRICS and metric not in UNTRACED


def has_direction(gated: Gated) -> bool:
    """Tell whether it is known which change is for the worse; a workload's result says itself."""
    known = METRICS.get(gated.metric)
    return bool(gated.better) or known is None or known.better is not Better.NEITHER
