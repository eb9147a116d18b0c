"""Gaps, cut wherever something around them begins or ends, each piece with one cause.

At every moment of a gap the target's work is in one of three states, and each has causes of its
own:

- *Queued*: work was handed over and has not begun. The first that holds: the driver is still
  preparing it (then the device could not run it, whoever else uses it), another process runs on
  the same channel, the device was powered down, or nothing that the recording knows: start latency;
  but if the device had begun the command buffer already, that is no latency of a start, and the
  time is unattributed.
- *Empty*: all that was handed over has run. The first that holds: a pipeline is compiled, the
  driver works for the target, the host reads back or waits for work that has run to be reported,
  or the host does something else: it is late.
- *Dark*: the recording does not say when the next work was handed over. Compiler and driver
  count as above; all else is unattributed.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.work import Flags, Surroundings, Work
from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet, Times


class Cause(StrEnum):
    """Why the device had nothing of the target to do for a while."""

    HOST_LATE = "host-late"
    START_LATENCY = "start-latency"
    DRIVER = "driver"
    COMPILE = "compile"
    READBACK = "readback"
    OTHER_PROCESS = "other-process"
    DOWN_CLOCKED = "down-clocked"
    UNATTRIBUTED = "unattributed"


class Drained(StrEnum):
    """Whether the queue ran empty because the host waited for all of its work."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


CAUSES: dict[Cause, str] = {
    Cause.HOST_LATE: "host late",
    Cause.START_LATENCY: "start latency",
    Cause.DRIVER: "driver",
    Cause.COMPILE: "compile",
    Cause.READBACK: "waiting for completion",
    Cause.OTHER_PROCESS: "other process",
    Cause.DOWN_CLOCKED: "powered down",
    Cause.UNATTRIBUTED: "unattributed",
}
"""Each cause as a sentence names it, in the order in which they are listed."""


Codes = NDArray[np.int16]

DOING = ("encoding", "driver", "compiler", "waiting")
"""What the host is seen doing in a gap, beside the names of the workload's spans."""


@dataclass(frozen=True)
class Cut:
    """Pieces of gaps, in order; `gap` is the number of the gap that each belongs to."""

    start: Times
    end: Times
    gap: NDArray[np.int64]


@dataclass(frozen=True)
class Way:
    """How each gap came about.

    Attributes:
        submitted: When the work that ends it was handed over; NEVER: not known; FOREVER: no work
            follows.
        drained: Whether the host had waited for all of its work: a member of Drained.
        dark: Whether the recording does not say when the work that ends it was handed over.
        broken: Whether it lies inside a command buffer, between two pieces of its work.
    """

    submitted: Times
    drained: Codes
    dark: Flags
    broken: Flags


def cut(gaps: IntervalSet, bounds: Times) -> Cut:
    """Cut the gaps at those of the moments that lie inside one of them."""
    start = _distinct(np.concatenate((gaps.starts, bounds[gaps.contains(bounds)])))
    gap = np.searchsorted(gaps.starts, start, side="right") - 1
    end = np.minimum(np.append(start[1:], FOREVER)[: start.size], gaps.ends[gap])
    return Cut(start, end, gap)


def attributed(gaps: IntervalSet, work: Work, around: Surroundings) -> pd.DataFrame:
    """Return the pieces of the gaps, each with its cause and with what is known of it."""
    queued, unreported = work.queued, work.unreported
    pieces = cut(gaps, np.concatenate((queued.bounds, unreported.bounds, around.bounds)))
    way = ways(gaps, work)
    drained = way.drained[pieces.gap]
    waits = unreported.contains(pieces.start) & (drained == _code(Drained.YES))
    until = gaps.ends[pieces.gap]
    driving = around.driving(pieces.start, way.submitted[pieces.gap])
    cause = np.where(
        queued.contains(pieces.start),
        _causes_queued(pieces.start, until, around, driving, way.broken[pieces.gap]),
        _causes_empty(pieces.start, around, way.dark[pieces.gap], waits),
    )
    during, names = _during(pieces.start, around, waits)
    return _joined(
        pieces, {"cause": cause, "drained": drained, "during": during}, _NAMES | {"during": names}
    )


def ways(gaps: IntervalSet, work: Work) -> Way:
    """Say of each gap how it came about.

    The queue was drained by a wait if the host began to write the work that ends the gap only
    when all work before it had been reported complete; it was not if that had been begun, or
    even handed over, before.
    """
    behind = np.searchsorted(work.start, gaps.starts, side="left")
    ended = _so_far(work.end)[behind]
    reported = _so_far(work.completed)[behind]
    ahead = np.searchsorted(work.start, gaps.ends, side="left")
    begun = np.append(work.begun, NEVER)[ahead]
    submitted = np.append(work.submitted, FOREVER)[ahead]
    known = begun != NEVER
    early = known & (begun < np.maximum(ended, reported))
    handed_over = (submitted != NEVER) & (submitted <= gaps.starts)
    waited = known & (reported != NEVER) & (begun >= reported)
    drained = np.select(
        [early | handed_over, waited],
        [_code(Drained.NO), _code(Drained.YES)],
        _code(Drained.UNKNOWN),
    )
    never_said = bool((work.submitted == NEVER).all())
    last = ahead == work.start.size
    opened = np.append(work.opened, FOREVER)[ahead]
    dark = np.where(last, never_said, submitted == NEVER)
    return Way(submitted, drained, dark, opened < gaps.starts)


def _causes_queued(
    at: Times, until: Times, around: Surroundings, driving: Flags, broken: Flags
) -> Codes:
    """Return why work that was handed over did not run."""
    return np.select(
        [driving, around.others.contains(at), around.asleep(at, until), broken],
        [
            _of(Cause.DRIVER),
            _of(Cause.OTHER_PROCESS),
            _of(Cause.DOWN_CLOCKED),
            _of(Cause.UNATTRIBUTED),
        ],
        _of(Cause.START_LATENCY),
    )


def _causes_empty(at: Times, around: Surroundings, dark: Flags, waits: Flags) -> Codes:
    """Return why nothing was handed over."""
    return np.select(
        [
            around.compiling(at),
            around.driver.contains(at),
            dark,
            waits | around.reading_back(at),
        ],
        [
            _of(Cause.COMPILE),
            _of(Cause.DRIVER),
            _of(Cause.UNATTRIBUTED),
            _of(Cause.READBACK),
        ],
        _of(Cause.HOST_LATE),
    )


def _during(at: Times, around: Surroundings, waits: Flags) -> tuple[Codes, list[str]]:
    """Return what the host did at each moment: the workload's word first, the innermost span."""
    names = ["", *DOING, *around.annotated]
    seen = [
        around.compiler.contains(at),
        around.written.contains(at),
        around.driver.contains(at),
        waits,
    ]
    kinds = ["compiler", "encoding", "driver", "waiting"]
    doing = np.select(seen, [np.int16(names.index(kind)) for kind in kinds], np.int16(0))
    latest = np.full(at.size, NEVER)
    for place, own in enumerate(around.annotated.values(), start=1 + len(DOING)):
        begun = own.interval_start(at)
        inner = (begun > latest) & ~seen[0]
        doing, latest = np.where(inner, np.int16(place), doing), np.maximum(latest, begun)
    return doing, names


def _joined(pieces: Cut, codes: dict[str, Codes], names: dict[str, list[str]]) -> pd.DataFrame:
    """Return the pieces as a table; neighbours of which the same is known become one."""
    fresh = np.ones(pieces.start.size, dtype=bool)
    fresh[1:] = np.diff(pieces.gap) != 0
    for column in codes.values():
        fresh[1:] |= np.diff(column) != 0
    first = np.flatnonzero(fresh)
    last = np.append(first[1:] - 1, pieces.end.size - 1)[: first.size]
    start = pieces.start[first]
    return pd.DataFrame(
        {
            "start": start,
            "duration": pieces.end[last] - start,
            "gap": pieces.gap[first],
            **{
                name: pd.Categorical.from_codes(column[first], pd.Index(names[name]))
                for name, column in codes.items()
            },
        }
    )


def _distinct(times: Times) -> Times:
    """Return the times in order, each once; np.unique takes several times as long."""
    ordered = np.sort(times, kind="stable")
    return ordered[np.append(np.array([True]), ordered[1:] != ordered[:-1])[: ordered.size]]


def _so_far(times: Times) -> Times:
    """Return the latest of the first k times, for each k from 0."""
    return np.concatenate((np.array([NEVER]), np.maximum.accumulate(times)))


def _of(cause: Cause) -> np.int16:
    return np.int16(_NAMES["cause"].index(cause))


def _code(drained: Drained) -> np.int16:
    return np.int16(_NAMES["drained"].index(drained))


_NAMES = {
    "cause": [str(member) for member in Cause],
    "drained": [str(member) for member in Drained],
}
