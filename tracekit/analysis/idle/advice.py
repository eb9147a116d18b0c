"""What to do about idle time, by what caused it."""

from collections.abc import Mapping

from tracekit.analysis.idle.cause import Cause

_MATTERS = 0.1  # share of the idle time from which a cause is spoken of
_MOST = 2  # causes: who mends these records again

_ADVICE = {
    Cause.HOST_LATE: (
        "The host hands work over too late: queue the next step before this one is done (in MLX "
        "by mx.async_eval), make arguments, block tables and masks outside the loop or once for "
        "all layers, and put several small steps into one."
    ),
    Cause.READBACK: (
        "The host waits until work is reported complete: evaluate and read results back less "
        "often, keep what decides the next step on the device, and look at the last step's "
        "result while the next one runs."
    ),
    Cause.START_LATENCY: (
        "Work was queued and did not begin: keep more than one command buffer in flight, so "
        "that this time passes while earlier work runs, and put more work into each."
    ),
    Cause.DRIVER: (
        "The driver prepared work while the device waited: fewer and larger command buffers and "
        "encoders, fewer buffers bound to each, and memory that is allocated once and kept."
    ),
    Cause.COMPILE: (
        "A pipeline was compiled: see pipeline-churn, and make every pipeline before the loop."
    ),
    Cause.OTHER_PROCESS: (
        "Another process had the GPU: close what else draws or computes, and record again."
    ),
    Cause.DOWN_CLOCKED: (
        "The GPU had been powered down and had to wake: shorter pauses keep it awake; in a "
        "benchmark let steps follow each other without one."
    ),
    Cause.UNATTRIBUTED: (
        "The recording does not tell why: export when work was handed over (`tracekit tables` "
        "lists what is there), or tell by spans what the host does, and look at the longest gaps."
    ),
}


def advice(shares: Mapping[Cause, int]) -> str:
    """Return what to do about the one or two causes that matter, the one that took most first.

    Args:
        shares: The idle time of each cause, in ns; not all of them nought.
    """
    least = _MATTERS * sum(shares.values())
    ranked = sorted(shares, key=lambda one: -shares[one])
    return " ".join(_ADVICE[one] for one in ranked[:_MOST] if shares[one] >= least)
