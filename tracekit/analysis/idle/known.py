"""The table `causes`: of which causes the recording can tell how much idle time they took.

Each moment of idle time goes to one cause, by an order of precedence. Where the table is missing
that would show one of them, its time goes to those behind it; so they are not known either.
"""

import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.target import ON_THE_CPU, of_target
from tracekit.workload.workload import COMPILE, READBACK

_DRIVEN = ("driver intervals", "driver events")
# What must have been recorded for a cause's share: its own table and those of what goes first.
_NEEDS: dict[Cause, tuple[str, ...]] = {
    Cause.HOST_LATE: ("compiles", *_DRIVEN, "completions"),
    Cause.START_LATENCY: (*_DRIVEN, "states"),
    Cause.DRIVER: ("compiles", *_DRIVEN),
    Cause.COMPILE: ("compiles",),
    Cause.READBACK: ("compiles", *_DRIVEN, "completions"),
    Cause.OTHER_PROCESS: _DRIVEN,
    Cause.DOWN_CLOCKED: (*_DRIVEN, "states"),
    Cause.UNATTRIBUTED: (),
}
_ON_A_GPU: tuple[Cause, ...] = (
    Cause.START_LATENCY,
    Cause.DRIVER,
    Cause.OTHER_PROCESS,
    Cause.DOWN_CLOCKED,
)
_NO_COMPILES = (
    "neither compiler activity (graphics-compiler-activity-intervals) was exported nor did the "
    f"workload tell spans “{COMPILE}”"
)


def causes_table(  # noqa: PLR0917  a derived table's sources are its parameters
    gaps: pd.DataFrame,
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    spans: pd.DataFrame | None,
    completions: pd.DataFrame | None,
    driver_intervals: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `causes`: for each `cause` the `reason` why its share is not known, or null.

    Where there is no gap, no cause took any time.

    Raises:
        Unavailable: As for `gaps`.
    """
    own = of_target(gpu_intervals, targets)
    if (own["clock"] == "host").any():
        return _table(_on_a_cpu(spans))
    if gaps.empty:
        return _table({})
    missing: dict[str, str] = {}
    if compiler_activity is None and not _told(spans, COMPILE):
        missing["compiles"] = _NO_COMPILES
    if driver_intervals is None or not driver_intervals["target"].any():
        missing["driver intervals"] = (
            "no driver interval of the target (metal-driver-intervals) was recorded"
        )
    if driver_events is None:
        missing["driver events"] = (
            "driver events (metal-driver-event-intervals), which show when memory was wired, were "
            "not recorded"
        )
    if completions is None or not _of(completions, own).any():
        missing["completions"] = (
            "no completion of a command buffer of the target (metal-command-buffer-completed) was "
            "recorded"
        )
    if gpu_performance_states is None or gpu_performance_states.empty:
        missing["states"] = (
            "no performance state of the GPU (gpu-performance-state-intervals) was recorded"
        )
    reasons = {
        cause: next((f"{missing[one]}." for one in needed if one in missing), "")
        for cause, needed in _NEEDS.items()
    }
    return _table(reasons)


def _on_a_cpu(spans: pd.DataFrame | None) -> dict[Cause, str]:
    """Return the reasons where a CPU did the work: only the workload can tell what else it did."""
    reasons = dict.fromkeys(_ON_A_GPU, ON_THE_CPU)
    if not _told(spans, COMPILE):
        reasons[Cause.COMPILE] = f"{_NO_COMPILES}."
    if not _told(spans, READBACK):
        reasons[Cause.READBACK] = f"the workload did not tell spans “{READBACK}”."
    return reasons


def _table(reasons: dict[Cause, str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "cause": pd.array([str(one) for one in Cause], dtype="string"),
            "reason": pd.array([reasons.get(one) or None for one in Cause], dtype="string"),
        }
    )


def why_unknown(causes: pd.DataFrame, cause: Cause) -> str:
    """Return the reason why a cause's share is not known; "" where it is known."""
    [reason] = causes.loc[causes["cause"] == str(cause), "reason"]
    return "" if pd.isna(reason) else str(reason)


def unsure(causes: pd.DataFrame) -> str:
    """Say what was not recorded, so that its time counts for other causes; "" where all was.

    Of work on a CPU nothing is said: its causes are those that the workload tells.
    """
    reasons = dict.fromkeys(causes["reason"].dropna())
    if not reasons or ON_THE_CPU in reasons:
        return ""
    listed = "; ".join(one.rstrip(".") for one in reasons)
    return f"These shares are not sure, as time of one cause may count for another: {listed}."


def _told(spans: pd.DataFrame | None, name: str) -> bool:
    return spans is not None and bool((spans["name"] == name).any())


def _of(completions: pd.DataFrame, own: pd.DataFrame) -> pd.Series:
    buffers = own["command_buffer"].dropna()
    return completions["command_buffer"].isin(buffers)
