"""Every gap of the target, cut into pieces with one cause each.

How a gap came about is its *state*, decided by the work that ends it:

- *inside*: the device had begun that work's command buffer already. The pause lies between two
  encoders of one command buffer.
- *queued*: its command buffer was committed before the gap began. The device did not run what it
  had: a boundary between command buffers.
- *encoding*: nothing was queued, and the host had begun to encode that work before all earlier work
  was reported complete: it was encoding all along.
- *after-wait*: the host began to encode only when everything had been reported complete, and was
  not wiring memory at that moment: it had waited.
- *empty*: nothing was queued, and nothing more is known, or memory was being wired when all was
  reported; or no work follows.
- *dark*: its command buffer was committed before the gap began, and for most of the gap the device
  was off and had to power up.
- *unknown*: the recording says neither when that work was committed nor when it was encoded.

Within a gap, time goes to what is seen to hold work up, and the rest to the state:

- While work was queued: the driver was still preparing it or wired memory, another process ran on
  the target's channel, or the device was powered up. If none of these, a *late start* where that
  rest is longer than `LATE` in its gap and stands out of the others, else a *boundary between
  command buffers*. Where a loop has many boundaries and most of them are as long, none stands out.
- While nothing was queued: a pipeline was compiled, memory was wired, the driver worked, or the
  workload says that it read back.
- Where the queue had been empty, the time from the commit to the start belongs to whatever kept it
  empty: with work in the queue it would have passed unseen. Only if it is over 200 µs and over half
  of the gap, it is taken for time while work was queued.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.work import Flags, Surroundings, Work
from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet, Times, distinct

LATE = 100_000
"""Queued work that waits longer than this on a device that nobody uses starts late; ns."""
FEWEST = 8
"""Fewer boundaries than this are no habit of a loop."""
_LONG = 200_000
_USUAL = 0.4  # the quantile of boundaries that counts as their usual length
_LONGEST = 300_000  # ns: no boundary was ever reported to be that long
_STANDS_OUT = 3.0  # times that length


class State(StrEnum):
    """How a gap came about; see the module."""

    INSIDE = "inside"
    QUEUED = "queued"
    ENCODING = "encoding"
    AFTER_WAIT = "after-wait"
    EMPTY = "empty"
    DARK = "dark"
    UNKNOWN = "unknown"


class Cause(StrEnum):
    """Why the device had nothing of the target to do for a while."""

    BETWEEN_ENCODERS = "between-encoders"
    BETWEEN_BUFFERS = "between-buffers"
    LATE_START = "late-start"
    ENCODING = "encoding"
    AFTER_WAIT = "after-wait"
    HOST_LATE = "host-late"
    COMPILE = "compile"
    WIRING = "wiring"
    DRIVER = "driver"
    OTHER_PROCESS = "other-process"
    POWERING_UP = "powering-up"
    UNATTRIBUTED = "unattributed"


CAUSES: dict[Cause, str] = {
    Cause.BETWEEN_ENCODERS: "between encoders",
    Cause.BETWEEN_BUFFERS: "between command buffers",
    Cause.LATE_START: "late start",
    Cause.ENCODING: "host encoding",
    Cause.AFTER_WAIT: "after a wait",
    Cause.HOST_LATE: "host late",
    Cause.COMPILE: "compile",
    Cause.WIRING: "wiring memory",
    Cause.DRIVER: "driver",
    Cause.OTHER_PROCESS: "other process",
    Cause.POWERING_UP: "powering up",
    Cause.UNATTRIBUTED: "unattributed",
}
"""Each cause as a sentence names it, in the order in which they are listed."""

STATES: dict[State, str] = {
    State.INSIDE: "inside of a command buffer",
    State.QUEUED: "with the next command buffer committed",
    State.ENCODING: "while the host was still encoding",
    State.AFTER_WAIT: "after the host had waited for all of its work",
    State.EMPTY: "with nothing committed, and no wait seen",
    State.DARK: "with the next command buffer committed, and the GPU off",
    State.UNKNOWN: "where nothing tells when work was committed",
}
"""How a gap came about, as it stands behind "idle"."""

_REST: dict[State, Cause] = {
    State.INSIDE: Cause.BETWEEN_ENCODERS,
    State.QUEUED: Cause.BETWEEN_BUFFERS,
    State.ENCODING: Cause.ENCODING,
    State.AFTER_WAIT: Cause.AFTER_WAIT,
    State.EMPTY: Cause.HOST_LATE,
    State.DARK: Cause.POWERING_UP,
    State.UNKNOWN: Cause.UNATTRIBUTED,
}
"""The cause of what nothing seen explains, by the gap's state."""

Codes = NDArray[np.int16]

DOING = ("compiler", "encoding", "wiring memory", "driver")
"""What the host is seen doing in a gap, beside the names of the workload's spans."""


@dataclass(frozen=True)
class Cut:
    """Pieces of gaps, in order; `gap` is the number of the gap that each belongs to."""

    start: Times
    end: Times
    gap: NDArray[np.int64]


def cut(gaps: IntervalSet, bounds: Times) -> Cut:
    """Cut the gaps at those of the moments that lie inside one of them."""
    start = distinct(np.concatenate((gaps.starts, bounds[gaps.contains(bounds)])))
    gap = np.searchsorted(gaps.starts, start, side="right") - 1
    end = np.minimum(np.append(start[1:], FOREVER)[: start.size], gaps.ends[gap])
    return Cut(start, end, gap)


def attributed(
    gaps: IntervalSet, work: Work, around: Surroundings, many: float = FEWEST
) -> pd.DataFrame:
    """Return the pieces of the gaps, each with its cause and with what is known of it.

    `many` is the number of boundaries from which they are a habit of the loop, not an event in it.
    """
    state, committed = ways(gaps, work, around.wiring)
    pieces = cut(gaps, np.concatenate((committed, around.bounds)))
    state, committed = state[pieces.gap], committed[pieces.gap]
    ends = gaps.ends[pieces.gap]
    inside, after = state == _code(State.INSIDE), pieces.start >= committed
    # The way from the commit to the start counts for what had kept the queue empty, as a rule.
    way_to_start = ends - committed
    long = (way_to_start > _LONG) & (2 * way_to_start > ends - gaps.starts[pieces.gap])
    long |= state == _code(State.QUEUED)
    queued, empty = after & long & ~inside, ~after & ~inside
    cause = np.select(
        [
            around.compiling(pieces.start) & empty,
            around.wiring.contains(pieces.start) & (queued | empty),
            around.driver.contains(pieces.start) & empty,
            around.driving(pieces.start, committed) & queued,
            around.others.contains(pieces.start) & (after | inside),
            around.asleep(pieces.start, ends) & queued,
            around.reading_back(pieces.start) & empty,
            queued,
        ],
        [
            _code(Cause.COMPILE),
            _code(Cause.WIRING),
            _code(Cause.DRIVER),
            _code(Cause.DRIVER),
            _code(Cause.OTHER_PROCESS),
            _code(Cause.POWERING_UP),
            _code(Cause.AFTER_WAIT),
            _code(Cause.BETWEEN_BUFFERS),
        ],
        _REST_CODES[state],
    )
    cause = _late(pieces, cause, queued & (cause == _code(Cause.BETWEEN_BUFFERS)), state, many)
    state = _dark(pieces, cause, state)
    during, names = _during(pieces.start, around)
    codes = {"state": state, "cause": cause, "during": during}
    texts = {"state": list(map(str, State)), "cause": list(map(str, Cause)), "during": names}
    return _joined(pieces, codes, texts)


def _late(pieces: Cut, cause: Codes, unexplained: Flags, state: Codes, many: float) -> Codes:
    """Say of queued time that nothing explains whether it is a late start, by its sum in a gap."""
    lengths = np.where(unexplained, pieces.end - pieces.start, 0)
    sums = np.bincount(pieces.gap, weights=lengths)
    behind = state == _code(State.QUEUED)
    boundaries = sums[np.unique(pieces.gap[behind & unexplained])]
    usual = float(np.quantile(boundaries, _USUAL)) if boundaries.size >= many else 0.0
    usual *= usual <= _LONGEST
    late = (sums > max(LATE, _STANDS_OUT * usual))[pieces.gap] | ~behind
    return np.where(unexplained & late, _code(Cause.LATE_START), cause)


def _dark(pieces: Cut, cause: Codes, state: Codes) -> Codes:
    """Say of gaps before queued work whether the device was off for most of them."""
    lengths = pieces.end - pieces.start
    off = np.where(cause == _code(Cause.POWERING_UP), lengths, 0)
    whole, dark = (np.bincount(pieces.gap, weights=each) for each in (lengths, off))
    mostly = (2 * dark > whole)[pieces.gap] & (state == _code(State.QUEUED))
    return np.where(mostly, _code(State.DARK), state)


def ways(gaps: IntervalSet, work: Work, wiring: IntervalSet) -> tuple[Codes, Times]:
    """Return how each gap came about, and when the work that ends it was handed over.

    A state is a code of State; the moment is FOREVER where it is not known, or no work follows.
    """
    behind = np.searchsorted(work.start, gaps.starts, side="left")
    ended = _so_far(work.end)[behind]
    reported = _so_far(work.completed)[behind]
    ahead = np.searchsorted(work.start, gaps.ends, side="left")
    none_follows = ahead == work.start.size
    begun = np.append(work.begun, NEVER)[ahead]
    committed = np.append(work.submitted, FOREVER)[ahead]
    known = begun != NEVER
    never_said = bool((work.submitted == NEVER).all())
    last = np.maximum(ended, reported)
    state = np.select(
        [
            np.append(work.opened, FOREVER)[ahead] < gaps.starts,
            (committed != NEVER) & (committed <= gaps.starts),
            (committed == NEVER) & (begun < gaps.starts) & ~none_follows,
            known & (begun < last),
            known & (reported != NEVER) & ~wiring.contains(last),
            none_follows & never_said,
        ],
        [
            _code(State.INSIDE),
            _code(State.QUEUED),
            _code(State.UNKNOWN),
            _code(State.ENCODING),
            _code(State.AFTER_WAIT),
            _code(State.UNKNOWN),
        ],
        _code(State.EMPTY),
    )
    return state, np.where(committed == NEVER, FOREVER, committed)


def _during(at: Times, around: Surroundings) -> tuple[Codes, list[str]]:
    """Return what the host did at each moment: the workload's word first, the innermost span."""
    names = ["", *DOING, *around.annotated]
    seen = [
        around.compiler.contains(at),
        around.written.contains(at),
        around.wiring.contains(at),
        around.driver.contains(at),
    ]
    doing = np.select(seen, [np.int16(names.index(kind)) for kind in DOING], np.int16(0))
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


def _so_far(times: Times) -> Times:
    """Return the latest of the first k times, for each k from 0."""
    return np.concatenate((np.array([NEVER]), np.maximum.accumulate(times)))


def _code(member: State | Cause) -> np.int16:
    return np.int16(list(type(member)).index(member))


_REST_CODES = np.array([_code(_REST[state]) for state in State], np.int16)
