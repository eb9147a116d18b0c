"""What to do about idle time, by its cause; said only where the data fulfil its condition."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracekit.analysis.idle.pieces import Cause

MANY_WAITS = 1.5
"""From so many waits an iteration on a program reads back within its iterations."""
_MATTERS = 0.1  # share of the idle time from which a cause is spoken of
_MOST = 2  # causes: who updates these records again


@dataclass(frozen=True)
class Loop:
    """How the loop hands its work over; None where that is not known.

    Attributes:
        waits: How often an iteration waits for all of its work.
        buffers: How many command buffers are committed for each such wait.
    """

    waits: float | None = None
    buffers: float | None = None


ONE_WAIT = (
    "Submit the next iteration before you wait for this one, so that host and device work at the "
    "same time: mx.async_eval in MLX, a second command buffer in flight in a program of your own. "
    "Where the next iteration needs a result of this one, such as the sampled token, keep that "
    "result on the device and read it an iteration later."
)
SEVERAL_WAITS = (
    "Wait once an iteration: take .item(), .tolist(), numpy conversions, prints and conditions on "
    "arrays out of it, keep what they decide on the device, and evaluate all outputs in one call, "
    "by mx.async_eval where the host can do without them for a while."
)
BETWEEN_BUFFERS = (
    "The next command buffer had been committed in time, so more of them in flight win nothing: "
    "make fewer, larger ones. In MLX raise MLX_MAX_OPS_PER_BUFFER and MLX_MAX_MB_PER_BUFFER, set "
    "before the process first uses the GPU, and measure both ways, as some machines get slower "
    "and memory use grows; see that neither is set to a small value for profiling. In a program "
    "of your own put more work into each command buffer, and commit once an iteration."
)
BETWEEN_ENCODERS = (
    "Put many dispatches into one encoder: each boundary between two encoders costs this pause, "
    "however much they do. Fuse element-wise kernels (mx.compile in MLX), make one call for all "
    "layers or heads, and separate dependent dispatches by barriers in one compute encoder."
)
LATE_START = (
    "Look for what the committed work waits for: an event of another stream (in MLX an operation "
    "of the loop on mx.cpu or on a second GPU stream), a fence, or a device that has to be woken. "
    "Keep the operations of the loop on one stream, and let each command buffer use fewer "
    "resources (argument buffers, residency sets, buffers that are made once)."
)
_ENCODING = (
    "The host encodes for longer than the device runs: give it fewer operations. Compile the step "
    "(mx.compile in MLX), which fuses element-wise operations and builds the graph once, make "
    "arguments, block tables and masks outside the loop, and put more into each command buffer."
)
_COMMIT_EARLIER = (
    "The host encodes a whole command buffer while the device has nothing: commit a part of the "
    "work earlier, so that the device begins with it while the host encodes the rest, and encode "
    "fewer operations (mx.compile in MLX)."
)
_ADVICE = {
    Cause.BETWEEN_ENCODERS: BETWEEN_ENCODERS,
    Cause.BETWEEN_BUFFERS: BETWEEN_BUFFERS,
    Cause.LATE_START: LATE_START,
    Cause.HOST_LATE: (
        "Nothing was handed over, and the recording does not say what the host did: look at the "
        "longest gaps beside samples of its threads, read results an iteration later or every few "
        "iterations, and keep data loading, tokenizing and logging out of the loop."
    ),
    Cause.COMPILE: (
        "A pipeline was compiled: see pipeline-churn, and make every pipeline before the loop."
    ),
    Cause.WIRING: (
        "The driver wired memory meanwhile: keep it resident. In MLX raise the wired limit "
        "(mx.set_wired_limit, and sysctl iogpu.wired_limit_mb above it) or use a smaller model; "
        "in a program of your own keep residency sets alive, and use buffers again."
    ),
    Cause.DRIVER: (
        "The driver prepared work while the device waited: fewer and larger command buffers and "
        "encoders, and fewer resources bound to each."
    ),
    Cause.OTHER_PROCESS: (
        "Another process had the GPU: close what else draws or computes, and record again."
    ),
    Cause.POWERING_UP: (
        "The GPU had been powered down and had to wake: shorter pauses keep it awake; in a "
        "benchmark let iterations follow each other without one."
    ),
    Cause.UNATTRIBUTED: (
        "The recording does not tell why: record when work was handed over (`tracekit tables` "
        "lists what is there), or tell by spans what the host does, and look at the longest gaps."
    ),
}


def lever(cause: Cause, loop: Loop) -> str:
    """Return what to do about a cause of idle time."""
    if cause is Cause.AFTER_WAIT:
        if loop.waits is None:
            return f"{ONE_WAIT} {SEVERAL_WAITS}"
        return SEVERAL_WAITS if loop.waits > MANY_WAITS else ONE_WAIT
    if cause is Cause.ENCODING:
        return _ENCODING if loop.buffers is None or loop.buffers > MANY_WAITS else _COMMIT_EARLIER
    return _ADVICE[cause]


def advice(shares: Mapping[Cause, int], loop: Loop) -> str:
    """Return what to do about the one or two causes that matter, the one that took most first.

    Args:
        shares: The idle time of each cause, in ns; not all of them zero.
        loop: How the loop hands its work over.
    """
    least = _MATTERS * sum(shares.values())
    ranked = sorted(shares, key=lambda cause: -shares[cause])
    return " ".join(lever(cause, loop) for cause in ranked[:_MOST] if shares[cause] >= least)
