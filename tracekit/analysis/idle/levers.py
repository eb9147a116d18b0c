"""The mechanism behind idle time, by its cause and by the habits of the loop."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.levers import Mechanism

MANY_WAITS = 1.5
"""With more waits an iteration, a program reads back within its iterations."""
_NO_WAIT = 0.05
RARE = 0.6
"""With fewer waits than this an iteration, not every iteration waits by habit."""
_SHORT = 1_000_000  # ns: with waits at shorter intervals, it waits for launches, not iterations
_ALWAYS = 0.75  # share of the time from which a host that encodes sets the pace
_MOST = 0.5  # share of the time that is mostly idle
_BRIEF = 2_000_000  # ns: a thread that polls or is woken by others seldom needs longer
_SECOND = 0.25  # share of the idle time from which a second lever is named
_LONG_BOUNDARY = 60_000  # ns: longer than a device takes between two command buffers that it has


@dataclass(frozen=True)
class Habits:
    """How the loop hands its work over; None if that is not known.

    An iteration drains the queue so many times without the host being known to have gone on
    (`waits`), and commits so many `buffers` for each of these. The host may take longer for it
    than the device (`host_longer`), and the ways there and back so much longer than the device's
    work that a few in flight do not hide them (`small_work`). Memory that is wired in it may be
    `lost_wiring` (see `Wired.lost`), as the target may have `outgrown` what can be held (see
    `Room.outgrown`). Another thread may work while committed work waits (`other_stream`).
    `host_activity` is a sentence about the host, if there are samples.

    The host encodes for a share of the time, `encoding`, and ever longer for a command buffer if
    `encoding_rises`; `late_commit` shows whether most of the idle time is that of a host that
    encodes all that the device waits for as one command buffer. `period` is the time from wait to
    wait, in ns, and `idle` the share of the time in which the device had nothing to do. An
    iteration may have many `small_buffers`, one for each launch; most idle time lies between them
    if they are `apart`. `quantum` is how long a thread sleeps before it looks again whether the
    device is done, in ns; 0 if it does not. `boundary` is the median gap between command buffers
    that had both been committed, `until_encoding` that in which the host does nothing that is seen,
    in ns.

    The host may take more than twice as long as the device, and seldom encodes meanwhile
    (`host_far_longer`); most of its idle time may be `allocating`, in few of the iterations if
    `allocating_rarely`. Where pauses part nearly all
    iterations, and fill nearly all of the time, the device is `asked_singly`.
    """

    waits: float | None = None
    buffers: float | None = None
    host_longer: bool = False
    small_work: bool = False
    lost_wiring: bool | None = None
    outgrown: bool | None = None
    other_stream: bool = False
    host_activity: str = ""
    encoding: float = 0.0
    encoding_rises: bool = False
    late_commit: bool = False
    period: float | None = None
    idle: float = 0.0
    small_buffers: bool = False
    apart: bool = False
    quantum: int = 0
    boundary: float = 0.0
    until_encoding: float = 0.0
    host_far_longer: bool = False
    allocating: bool = False
    allocating_rarely: bool = False
    asked_singly: bool = False

    @property
    def host_sets_the_pace(self) -> bool:
        """Whether the host encodes nearly all of the time: nothing else can be the limit."""
        return self.encoding >= _ALWAYS

    @property
    def launches(self) -> bool:
        """Whether the time between waits is as short as one launch, and mostly idle."""
        return self.period is not None and self.period < _SHORT and self.idle >= _MOST


_MECHANISMS = {
    Cause.BETWEEN_ENCODERS: Mechanism.BOUNDARIES_BETWEEN_ENCODERS,
    Cause.BETWEEN_BUFFERS: Mechanism.BOUNDARIES_BETWEEN_BUFFERS,
    Cause.OTHER_DEVICE: Mechanism.OTHER_DEVICE,
    Cause.COMPILE: Mechanism.COMPILE_IN_LOOP,
    Cause.DRIVER: Mechanism.DRIVER_WORK,
    Cause.OTHER_PROCESS: Mechanism.OTHER_PROCESS,
    Cause.POWERING_UP: Mechanism.POWERING_UP,
    Cause.UNATTRIBUTED: Mechanism.UNATTRIBUTED,
}

_ALLOCATING = {
    True: Mechanism.MADE_FOR_EACH_REQUEST,
    False: Mechanism.ALLOCATIONS_ANEW,
}

_WIRING = {
    True: Mechanism.WIRING_LOST,
    False: Mechanism.WIRING_ALLOCATIONS,
    None: Mechanism.WIRING,
}


def mechanism(cause: Cause, habits: Habits) -> Mechanism:
    """Return the mechanism behind a cause of idle time, which its lever depends on."""
    if cause in {Cause.START, Cause.REPORT, Cause.HOST, Cause.ENCODING}:
        return _turn(cause, habits)
    if cause is Cause.LATE_START and habits.other_stream:
        return Mechanism.OTHER_STREAM
    if cause is Cause.LATE_START:
        return Mechanism.LATE_START
    if cause is Cause.WIRING:
        return _wiring(habits)
    return _MECHANISMS[cause]


def _wiring(habits: Habits) -> Mechanism:
    if habits.lost_wiring and habits.outgrown:
        return Mechanism.CACHE_SWAPPED
    return _WIRING[habits.lost_wiring]


def _turn(cause: Cause, habits: Habits) -> Mechanism:
    """Return the mechanism if host and device take turns, or if the host is late."""
    waits = habits.waits
    if habits.allocating and cause in {Cause.HOST, Cause.ENCODING}:
        return _ALLOCATING[habits.allocating_rarely]
    if habits.host_sets_the_pace:
        return _host_encodes(habits)
    if habits.quantum and cause is Cause.HOST:
        return Mechanism.SLOW_WAIT
    if waits is not None and waits < RARE:
        return _without_wait(cause, habits) if waits < _NO_WAIT else Mechanism.PERIODIC_WAIT
    if cause is Cause.ENCODING and habits.late_commit:
        return Mechanism.COMMIT_EARLIER
    return _waiting(habits)


def _host_encodes(habits: Habits) -> Mechanism:
    if habits.encoding_rises:
        return Mechanism.GROWING_HOST
    if habits.apart:
        return Mechanism.LAUNCHES_APART
    return Mechanism.HOST_ENCODES


def _waiting(habits: Habits) -> Mechanism:
    """Return the mechanism if each iteration waits."""
    if habits.waits is not None and habits.waits > MANY_WAITS:
        return Mechanism.SEVERAL_WAITS
    if habits.apart:
        return Mechanism.LAUNCHES_APART
    if habits.small_work or habits.launches:
        return Mechanism.ROUND_TRIPS
    if habits.host_far_longer:
        return Mechanism.HOST_BETWEEN
    if habits.host_longer:
        return Mechanism.HOST_AFTER_WAIT
    return Mechanism.WAIT_EACH_ITERATION


def _without_wait(cause: Cause, habits: Habits) -> Mechanism:
    if cause is Cause.HOST:
        return Mechanism.HOST_ELSEWHERE
    if habits.buffers is None or habits.buffers > MANY_WAITS:
        return Mechanism.HOST_ENCODES
    return Mechanism.COMMIT_EARLIER


def by_mechanism(idle_by_cause: Mapping[Cause, int], habits: Habits) -> dict[Mechanism, int]:
    """Return the idle time behind each mechanism, in ns, the most first."""
    sums: dict[Mechanism, int] = {}
    for cause, time in idle_by_cause.items():
        name = mechanism(cause, habits)
        sums[name] = sums.get(name, 0) + time
    longest_first = sorted(sums.items(), key=lambda item: -item[1])
    return dict(longest_first)


_BESIDE: Mapping[Mechanism, Mechanism] = {
    Mechanism.COMMIT_EARLIER: Mechanism.WAIT_EACH_ITERATION,
    Mechanism.LAUNCHES_APART: Mechanism.WAIT_EACH_ITERATION,
    Mechanism.WAIT_EACH_ITERATION: Mechanism.SLOW_WAIT,
    Mechanism.HOST_AFTER_WAIT: Mechanism.SLOW_WAIT,
    Mechanism.HOST_BETWEEN: Mechanism.SLOW_WAIT,
    Mechanism.ROUND_TRIPS: Mechanism.SLOW_WAIT,
    Mechanism.SEVERAL_WAITS: Mechanism.SLOW_WAIT,
    Mechanism.HOST_ELSEWHERE: Mechanism.SLOW_WAIT,
    Mechanism.BOUNDARIES_BETWEEN_BUFFERS: Mechanism.LATE_START,
}
"""The lever that fits the same facts as another one."""
_WITH_SMALL_BUFFERS = frozenset(
    {
        Mechanism.WAIT_EACH_ITERATION,
        Mechanism.HOST_AFTER_WAIT,
        Mechanism.HOST_BETWEEN,
        Mechanism.HOST_ENCODES,
    }
)
NAMED_BY: Mapping[Mechanism, set[Mechanism]] = {
    Mechanism.SLOW_WAIT: {Mechanism.SEVERAL_WAITS, Mechanism.ROUND_TRIPS},
    Mechanism.HOST_AFTER_WAIT: {Mechanism.WAIT_EACH_ITERATION, Mechanism.HOST_ENCODES},
    Mechanism.HOST_BETWEEN: {Mechanism.WAIT_EACH_ITERATION, Mechanism.HOST_ENCODES},
    Mechanism.ALLOCATIONS_ANEW: {
        Mechanism.WAIT_EACH_ITERATION,
        Mechanism.HOST_AFTER_WAIT,
        Mechanism.HOST_BETWEEN,
        Mechanism.HOST_ENCODES,
    },
    Mechanism.DRIVER_WORK: {Mechanism.BOUNDARIES_BETWEEN_BUFFERS},
    Mechanism.SEVERAL_WAITS: {Mechanism.ROUND_TRIPS},
    Mechanism.LAUNCHES_APART: {Mechanism.BOUNDARIES_BETWEEN_BUFFERS},
}
"""Levers that the words of another one name already."""


def second_lever(
    first_lever: Mechanism, idle_by_cause: Mapping[Cause, int], habits: Habits
) -> Mechanism | None:
    """Return the lever that is named next to the first; None if no other one matters.

    It is the one with the most of the rest, if that is a quarter of the idle time, else one that
    fits the same facts: a wait may be slow if the host is not seen to do anything for a quarter
    of the idle time, and a boundary that is far longer than the device needs may be an event.
    """
    idle = sum(idle_by_cause.values())
    mechanism_times = by_mechanism(idle_by_cause, habits)
    for name, time in mechanism_times.items():
        if name is not first_lever and time >= _SECOND * idle:
            if name in NAMED_BY.get(first_lever, ()):
                return None
            return name
    if habits.small_buffers and first_lever in _WITH_SMALL_BUFFERS:
        return Mechanism.LAUNCHES_APART
    return _lever_of_same_facts(first_lever, idle_by_cause, habits)


def _lever_of_same_facts(
    first_lever: Mechanism, idle_by_cause: Mapping[Cause, int], habits: Habits
) -> Mechanism | None:
    """Return the lever that would show by the same facts as the first, or None."""
    related_lever = _BESIDE.get(first_lever)
    is_shown = True
    if related_lever is Mechanism.SLOW_WAIT:
        unseen = 0 < habits.until_encoding <= _BRIEF and not habits.host_activity
        host_share = idle_by_cause.get(Cause.HOST, 0)
        matters = host_share >= _SECOND * sum(idle_by_cause.values())
        is_shown = unseen and matters
    elif related_lever is Mechanism.LATE_START:
        is_shown = habits.boundary >= _LONG_BOUNDARY
    elif related_lever is Mechanism.WAIT_EACH_ITERATION:
        is_shown = (habits.waits or 0.0) >= RARE
    return related_lever if is_shown else None
