"""What to do about idle time, by its cause; said only where the data fulfil its condition."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracekit.analysis.idle.pieces import Cause

MANY_WAITS = 1.5
"""From so many waits an iteration on a program reads back within its iterations."""
_NO_WAIT = 0.05
RARE = 0.6
"""Fewer waits than this an iteration are no habit of each of them."""
_MATTERS = 0.1  # share of the idle time from which a cause is spoken of
_MOST = 2  # causes: who updates these records again


@dataclass(frozen=True)
class Habits:
    """How the loop hands its work over; None where that is not known.

    An iteration drains the queue so many times without the host being known to have gone on
    (`waits`), and commits so many `buffers` for each of these. The host may take longer for it
    than the device (`host_longer`), memory that is wired in it may be `lost` (see `Wired.lost`),
    another thread may work while committed work waits (`other_stream`). What the host does
    `meanwhile` is a sentence, if it was `sampled`.
    """

    waits: float | None = None
    buffers: float | None = None
    host_longer: bool = False
    small_work: bool = False
    lost: bool | None = None
    other_stream: bool = False
    sampled: bool = False
    meanwhile: str = ""


ROUND_TRIP = (
    "Make fewer round trips: put the work of several iterations into one command buffer and wait "
    "once for all of it; k iterations a wait save (k - 1)/k of the way there and back. Where an "
    "iteration does not need the last one's result, keep the next command buffer committed "
    "meanwhile; where it does, keep the result on the device and read it later."
)
ONE_WAIT = (
    "Submit the next iteration before you wait for this one, so that host and device work at the "
    "same time: mx.async_eval in MLX, a second command buffer in flight in a program of your own. "
    "Where the next iteration needs a result of this one, such as the sampled token, keep that "
    "result on the device and read it an iteration later."
)
_CANDIDATES = (
    " Samples of its threads do not say what the host did meanwhile; candidates are .item(), "
    ".tolist(), sampling, masks, tokenizing, data loading and logging: read results an iteration "
    "later, or every few iterations."
)
_HOST_LONGER = (
    " The host takes longer for an iteration than the device, so that it has to do less as well: "
    "mx.compile, fewer operations, no Python between them."
)
PERIODIC = (
    "The loop stops only every so many iterations: look for what runs then, and do it less often, "
    "beside the device's work, or not at all. Candidates: mx.clear_cache(), mx.synchronize() or an "
    "evaluation for the sake of logging, Python's garbage collection (gc.freeze, gc.disable), "
    "writing a log or a checkpoint."
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
_OTHER_STREAM = (
    "Committed work waits while another thread of the program is at work: move its operations to "
    "the GPU's stream, or take them out of the loop. In MLX these are operations on mx.cpu, or on "
    "a second stream, on whose results work on the GPU depends."
)
LOST_RESIDENCY = (
    "Keep the model wired. In MLX raise the wired limit by mx.set_wired_limit, and the system's "
    "above it (sudo sysctl iogpu.wired_limit_mb=…); leave other programs enough memory, or use a "
    "smaller model, a smaller quantization, a shorter context. In a program of your own keep "
    "residency sets alive over pauses, and request them once."
)
HOT_ALLOCATIONS = (
    "Make buffers before the loop and use them again: preallocate outputs and caches, take "
    "temporary ones from a pool, and keep shapes the same from step to step, so that MLX's own "
    "cache of buffers fits them. Do not clear that cache in the loop, and let its limit "
    "(mx.set_cache_limit) be larger than what a step frees."
)
_HOST = (
    "Nothing was handed over, and the recording does not say what the host did: look at the "
    "longest gaps beside samples of its threads, read results an iteration later or every few "
    "iterations, and keep data loading, tokenizing and logging out of the loop."
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
    Cause.OTHER_DEVICE: (
        "The devices take turns: give each device work that does not need the other's result, or "
        "split the work so that both run at the same time."
    ),
    Cause.COMPILE: (
        "A pipeline was compiled: see pipeline-churn, and make every pipeline before the loop."
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


_MECHANISMS = {
    Cause.BETWEEN_ENCODERS: "boundaries-between-encoders",
    Cause.BETWEEN_BUFFERS: "boundaries-between-buffers",
    Cause.OTHER_DEVICE: "other-device",
    Cause.COMPILE: "compile-in-loop",
    Cause.DRIVER: "driver-work",
    Cause.OTHER_PROCESS: "other-process",
    Cause.POWERING_UP: "powering-up",
    Cause.UNATTRIBUTED: "unattributed",
}


def mechanism(cause: Cause, habits: Habits) -> str:
    """Return the mechanism behind a cause of idle time, which its lever depends on."""
    if cause in {Cause.START, Cause.REPORT, Cause.HOST, Cause.ENCODING}:
        return _turn(cause, habits)
    if cause is Cause.LATE_START:
        return "other-stream" if habits.other_stream else "late-start"
    if cause is Cause.WIRING:
        return {True: "wiring-lost", False: "wiring-allocations", None: "wiring"}[habits.lost]
    return _MECHANISMS[cause]


def _turn(cause: Cause, habits: Habits) -> str:
    """Return the mechanism where host and device take turns, or where the host is late."""
    waits = habits.waits
    if waits is not None and waits < _NO_WAIT:
        return _without_wait(cause, habits)
    if waits is not None and waits < RARE:
        return "periodic-wait"
    if waits is not None and waits > MANY_WAITS:
        return "several-waits"
    if habits.small_work:
        return "round-trips"
    if habits.host_longer and cause is Cause.ENCODING:
        return "host-encodes"
    return "host-after-wait" if habits.host_longer else "wait-each-iteration"


def _without_wait(cause: Cause, habits: Habits) -> str:
    if cause is Cause.HOST:
        return "host-elsewhere"
    many = habits.buffers is None or habits.buffers > MANY_WAITS
    return "host-encodes" if many else "commit-earlier"


def by_mechanism(shares: Mapping[Cause, int], habits: Habits) -> dict[str, int]:
    """Return the idle time behind each mechanism, in ns, the most first."""
    sums: dict[str, int] = {}
    for cause, time in shares.items():
        name = mechanism(cause, habits)
        sums[name] = sums.get(name, 0) + time
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


_TEXTS = {
    "boundaries-between-encoders": BETWEEN_ENCODERS,
    "boundaries-between-buffers": BETWEEN_BUFFERS,
    "other-device": _ADVICE[Cause.OTHER_DEVICE],
    "compile-in-loop": _ADVICE[Cause.COMPILE],
    "driver-work": _ADVICE[Cause.DRIVER],
    "other-process": _ADVICE[Cause.OTHER_PROCESS],
    "powering-up": _ADVICE[Cause.POWERING_UP],
    "unattributed": _ADVICE[Cause.UNATTRIBUTED],
    "late-start": LATE_START,
    "other-stream": _OTHER_STREAM,
    "wiring-lost": LOST_RESIDENCY,
    "wiring-allocations": HOT_ALLOCATIONS,
    "wiring": f"{LOST_RESIDENCY} If the loop allocates as much as it wires: {HOT_ALLOCATIONS}",
    "round-trips": ROUND_TRIP,
    "wait-each-iteration": ONE_WAIT,
    "host-after-wait": ONE_WAIT + _HOST_LONGER,
    "several-waits": SEVERAL_WAITS,
    "periodic-wait": PERIODIC,
    "host-encodes": _ENCODING,
    "commit-earlier": _COMMIT_EARLIER,
    "host-elsewhere": _HOST,
}


def lever_text(name: str) -> str:
    """Return what to do about a mechanism."""
    return _TEXTS[name]
