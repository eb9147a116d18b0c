"""When a night is due: once on each day, at a time of the local clock.

On the day when clocks go forward, a time that is left out counts as it would have been without
the change: 02:30 is then the moment that the clock calls 03:30. On the day when they go back, a
time that comes twice counts the first time. So each date has just one due time.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta, tzinfo

from tracekit.base.errors import UsageError

_DAY = timedelta(days=1)
_EARLY = timedelta(minutes=1)  # a timer may fire a moment before its time, as clocks are set
_MOST = 400  # days; who was away for years needs no list of nights


def time_of_day(text: str) -> time:
    """Turn "02:30" into a time of the local clock; raise UsageError for anything else."""
    found = re.fullmatch(r"(\d{1,2}):(\d{2})", text.strip(), re.ASCII)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:  # noqa: PLR2004  a clock
        raise UsageError(
            f"{text!r} is no time of the day.", hint="Write hours and minutes, such as 02:30."
        )
    return time(int(found[1]), int(found[2]))


def due_times(
    at: time, after: datetime, until: datetime, zone: tzinfo | None = None
) -> Iterator[datetime]:
    """Yield the due times in (after, until], oldest first, in UTC.

    Args:
        at: The time of the local clock.
        after: A moment with a time zone.
        until: The same.
        zone: Whose clock counts; None for this machine's.
    """
    first = after.astimezone(zone).date() - _DAY
    last = until.astimezone(zone).date() + _DAY
    for days in range((last - first).days + 1):
        due = _moment(datetime.combine(first + days * _DAY, at), zone)
        if after < due <= until:
            yield due


def next_due(at: time, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the first due time after `now`, in UTC."""
    return next(due_times(at, now, now + 3 * _DAY, zone))


def last_due(at: time, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the due time that a night begun `now` is for, in UTC; see `late`."""
    return [*due_times(at, now - 3 * _DAY, now + _EARLY, zone)][-1]


def late(at: time, now: datetime, zone: tzinfo | None = None) -> timedelta:
    """Return how long after its due time a night begins, as one does on a Mac that slept."""
    return max(now - last_due(at, now, zone), timedelta(0))


def passed(
    at: time,
    last_started: datetime | None,
    now: datetime,
    *,
    since: datetime | None = None,
    zone: tzinfo | None = None,
) -> list[datetime]:
    """Return the due times that passed without a night, where one begins `now`.

    The due time right before `now` is the one that this night is for, however late it is; a
    machine that slept has one night for all that it slept through.

    Args:
        at: When nights are due, on the local clock.
        last_started: When the last night began; None where there was none.
        now: When this one begins.
        since: When the schedule was installed; before that nothing was due.
        zone: Whose clock counts; None for this machine's.

    Returns:
        Moments in UTC, oldest first, of the last 400 days; nothing where neither a night nor the
        installation says since when to count.
    """
    return unserved(at, last_started, now + _EARLY, since=since, zone=zone)[:-1]


def unserved(
    at: time,
    last_started: datetime | None,
    until: datetime,
    *,
    since: datetime | None = None,
    zone: tzinfo | None = None,
) -> list[datetime]:
    """Return the due times up to `until` that no night has begun after; see `passed`."""
    known = [one for one in (last_started and last_started + _EARLY, since) if one is not None]
    if not known:
        return []
    return [*due_times(at, max([*known, until - _MOST * _DAY]), until, zone)]


def _moment(local: datetime, zone: tzinfo | None) -> datetime:
    """Return a time of the local clock as a moment."""
    if zone is not None:
        return local.replace(tzinfo=zone).astimezone(UTC)
    return local.astimezone().astimezone(UTC)
