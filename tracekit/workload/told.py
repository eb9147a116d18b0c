"""What a workload tells of itself while it runs: measurements, spans, gauges, requests.

Times are nanoseconds of the system-wide monotonic clock (`time.monotonic_ns`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

IDLE = "idle"
"""Variant of a step, and name of a span, in which there was nothing to do: load was absent."""
COMPILE = "compile"
"""Name of a span in which a pipeline was made."""
READBACK = "readback"
"""Name of a span in which results were read back: the host waited for them and used them."""
REFERENCE = "reference"
"""Name of a gauge, in ns: how long fixed work took just then, which tells the machine's pace.

And name of the span in which a worker did such work of its own, between steps: no step's time, and
none that anybody could save."""
OWN_REFERENCE = "tracekit"
"""How the source of that gauge begins where the worker did the work, not the workload."""


@dataclass(frozen=True)
class Measured:
    """A number that a workload found out; None, with the reason, where it could not.

    Units are those of metrics: "ns", "bytes", "ratio", "count", "tokens/s" … ; `better` says
    which direction is good news.
    """

    value: float | None
    unit: str = ""
    better: Literal["lower", "higher", "neither"] = "neither"
    reason: str = ""


@dataclass(frozen=True)
class Span:
    """What the host did for a while inside a step, such as "admit" or "prefill"."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Gauge:
    """A level at one moment, such as the blocks in use; `source` is who read it."""

    name: str
    value: float
    at: int
    unit: str = ""
    source: str = "workload"


@dataclass(frozen=True)
class Request:
    """One request that a server served, or did not.

    Attributes:
        number: Its place in the schedule, from 0.
        scheduled: When it was to arrive; latencies count from here, however late it was seen.
        prompt_tokens: Tokens of its prompt.
        output_tokens: Tokens that it asked for.
        admitted: When it got its blocks; None if it never did.
        tokens: When each of its tokens was there; the last one completes it.
        state: "completed", "unfinished" when the time was up, or "rejected".
        reason: Why it was rejected.
    """

    number: int
    scheduled: int
    prompt_tokens: int
    output_tokens: int
    admitted: int | None = None
    tokens: tuple[int, ...] = ()
    state: Literal["completed", "unfinished", "rejected"] = "unfinished"
    reason: str = ""


@dataclass(frozen=True)
class Memory:
    """How much memory the workload's process had of one sort when a phase was over.

    Attributes:
        phase: "baseline", before the workload was loaded, or the phase that was over.
        what: "resident", "mlx_active", "mlx_peak" … : see the table `memory_profile`.
        bytes: How much; None where it cannot be known.
        at: When it was read.
        reason: Why it cannot be known.
    """

    phase: str
    what: str
    bytes: int | None
    at: int
    reason: str = ""


@dataclass(frozen=True)
class Told:
    """What a step says of itself once it is complete.

    Attributes:
        variant: Which of several things that are compared this step was, such as "paged" or
            "sdpa"; empty where all steps are alike; `IDLE` if it only waited for load.
        tokens: Tokens that it produced, where that differs from step to step.
        spans: What the host did in it.
        gauges: Levels in it. A level holds until it is told again.
        requests: Requests that it completed or rejected.
    """

    variant: str = ""
    tokens: int | None = None
    spans: Sequence[Span] = ()
    gauges: Sequence[Gauge] = ()
    requests: Sequence[Request] = ()


@dataclass(frozen=True)
class Work:
    """What one step of a variant is known to do; units as of `step.Step`."""

    tokens: int = 0
    bytes_read: int = 0
    bytes_unique: int = 0
    bytes_written: int = 0
    flops: int = 0
    dispatches: int | None = None
