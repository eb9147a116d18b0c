"""The idle share of the loaded steady window, its causes, and the token rate without it."""

from collections.abc import Callable

import pandas as pd

from tracekit.analysis.handover import Handover
from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.sources import why_unknown
from tracekit.analysis.idle.sums import idle_time, loaded_time
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import IntervalSet, spans
from tracekit.analysis.scope import Device, require_alike, require_seen, steady_steps, steady_tokens


def idle_ratio(gaps: pd.DataFrame, loaded: pd.DataFrame) -> float:
    """Share of the loaded window that lies in gaps of the target, however short.

    The loaded window leaves out the time in which a server had nobody to serve. With several
    devices this is the mean of their shares. The shares of the causes, `idle_between_encoders` …
    `idle_unattributed`, add up to it.
    """
    return idle_time(gaps) / loaded_time(loaded)


_SEEN_ANYWAY = (Cause.DRIVER, Cause.COMPILE, Cause.WIRING)  # without times of commits, too


def _make_cause_measure(cause: Cause, meaning: str) -> Callable[..., float]:
    def measure(
        idle_by_cause: dict[Cause, int], loaded: pd.DataFrame, causes: pd.DataFrame
    ) -> float:
        idle = sum(idle_by_cause.values())
        commits_unknown = idle > 0 and idle_by_cause[Cause.UNATTRIBUTED] == idle
        if commits_unknown and cause not in _SEEN_ANYWAY:
            raise Unavailable("the recording does not tell when work was committed.")
        reason = why_unknown(causes, cause)
        if reason:
            raise Unavailable(reason)
        return idle_by_cause[cause] / loaded_time(loaded)

    measure.__doc__ = f"Share of that window in which {meaning}."
    return measure


idle_between_encoders = _make_cause_measure(
    Cause.BETWEEN_ENCODERS, "the device paused between two encoders of one command buffer"
)
idle_between_buffers = _make_cause_measure(
    Cause.BETWEEN_BUFFERS, "it paused between command buffers, the next of which was committed"
)
idle_start_latency = _make_cause_measure(
    Cause.START, "work was committed to a device that had run out of work, and had yet to start"
)
idle_late_start = _make_cause_measure(
    Cause.LATE_START, "committed work waited over 100 µs for no known reason"
)
idle_way_back = _make_cause_measure(
    Cause.REPORT,
    "all work had ended, one command buffer was not yet reported, and the host is "
    "not known to have gone on without the report",
)
idle_other_device = _make_cause_measure(
    Cause.OTHER_DEVICE, "nothing was committed for this device, and another one worked"
)
idle_encoding = _make_cause_measure(Cause.ENCODING, "nothing was committed, and the host encoded")
idle_host = _make_cause_measure(
    Cause.HOST, "nothing was committed, all was reported, and the host's activity is not known"
)
idle_compile = _make_cause_measure(
    Cause.COMPILE, "nothing was committed because a pipeline was being compiled"
)
idle_wiring = _make_cause_measure(Cause.WIRING, "the driver wired memory")
idle_driver = _make_cause_measure(Cause.DRIVER, "the device waited for the driver of the target")
idle_other_process = _make_cause_measure(
    Cause.OTHER_PROCESS, "committed work waited while another process ran on the GPU"
)
idle_powering_up = _make_cause_measure(
    Cause.POWERING_UP, "committed work waited and the GPU had yet to be powered up"
)


def idle_unattributed(idle_by_cause: dict[Cause, int], loaded: pd.DataFrame) -> float:
    """Share of that window that is idle for reasons that the recording does not show."""
    return idle_by_cause[Cause.UNATTRIBUTED] / loaded_time(loaded)


def kernel_ceiling(
    steps: pd.DataFrame,
    loaded: pd.DataFrame,
    device: Device,
    handover: Handover,
) -> float:
    """Tokens of the steady steps over the time in which the device ran for the target.

    It is the value of `tokens_per_second` without any waiting, at these kernels' speed.
    """
    steady = steady_steps(steps)
    require_alike(steady)
    tokens = steady_tokens(steps)
    require_seen(steady, device.target_intervals)
    running = IntervalSet.from_spans(*device.spans)
    busy_times = running.measure_within(*spans(loaded))
    busy_time = int(busy_times.sum())
    if busy_time == 0:
        raise Unavailable("no interval of the target ran while there was load.")
    return tokens / (busy_time / 1e9)
