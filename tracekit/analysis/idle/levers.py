"""Which mechanism is behind idle time, by its cause and by the habits of the loop."""

from collections.abc import Mapping
from dataclasses import dataclass

from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.levers import Mechanism

MANY_WAITS = 1.5
"""From so many waits an iteration on a program reads back within its iterations."""
_NO_WAIT = 0.05
RARE = 0.6
"""Fewer waits than this an iteration are no habit of each of them."""


@dataclass(frozen=True)
class Habits:
    """How the loop hands its work over; None where that is not known.

    An iteration drains the queue so many times without the host being known to have gone on
    (`waits`), and commits so many `buffers` for each of these. The host may take longer for it
    than the device (`host_longer`), and the ways there and back so much longer than the device's
    work that a few in flight do not hide them (`small_work`). Memory that is wired in it may be
    `lost` (see `Wired.lost`), as the target may have `outgrown` what can be held (see
    `Room.outgrown`). Another thread may work while committed work waits (`other_stream`). What the
    host does `meanwhile` is a sentence, where samples tell.
    """

    waits: float | None = None
    buffers: float | None = None
    host_longer: bool = False
    small_work: bool = False
    lost: bool | None = None
    outgrown: bool | None = None
    other_stream: bool = False
    meanwhile: str = ""


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

_WIRING = {
    True: Mechanism.WIRING_LOST,
    False: Mechanism.WIRING_ALLOCATIONS,
    None: Mechanism.WIRING,
}


def mechanism(cause: Cause, habits: Habits) -> Mechanism:
    """Return the mechanism behind a cause of idle time, which its lever depends on."""
    if cause in {Cause.START, Cause.REPORT, Cause.HOST, Cause.ENCODING}:
        return _turn(cause, habits)
    if cause is Cause.LATE_START:
        return Mechanism.OTHER_STREAM if habits.other_stream else Mechanism.LATE_START
    if cause is Cause.WIRING:
        return _wiring(habits)
    return _MECHANISMS[cause]


def _wiring(habits: Habits) -> Mechanism:
    if habits.lost and habits.outgrown:
        return Mechanism.CACHE_SWAPPED
    return _WIRING[habits.lost]


def _turn(cause: Cause, habits: Habits) -> Mechanism:
    """Return the mechanism where host and device take turns, or where the host is late."""
    waits = habits.waits
    if waits is not None and waits < _NO_WAIT:
        return _without_wait(cause, habits)
    if waits is not None and waits < RARE:
        return Mechanism.PERIODIC_WAIT
    if waits is not None and waits > MANY_WAITS:
        return Mechanism.SEVERAL_WAITS
    if habits.small_work:
        return Mechanism.ROUND_TRIPS
    return Mechanism.HOST_AFTER_WAIT if habits.host_longer else Mechanism.WAIT_EACH_ITERATION


def _without_wait(cause: Cause, habits: Habits) -> Mechanism:
    if cause is Cause.HOST:
        return Mechanism.HOST_ELSEWHERE
    many = habits.buffers is None or habits.buffers > MANY_WAITS
    return Mechanism.HOST_ENCODES if many else Mechanism.COMMIT_EARLIER


def by_mechanism(shares: Mapping[Cause, int], habits: Habits) -> dict[Mechanism, int]:
    """Return the idle time behind each mechanism, in ns, the most first."""
    sums: dict[Mechanism, int] = {}
    for cause, time in shares.items():
        name = mechanism(cause, habits)
        sums[name] = sums.get(name, 0) + time
    return dict(sorted(sums.items(), key=lambda item: -item[1]))
