"""Times as people write them on a command line."""

from contextlib import suppress
from datetime import UTC, datetime

from tracekit.base.errors import UsageError
from tracekit.base.units import age


def time_of(text: str, now: datetime | None = None) -> datetime:
    """Return a time: so many hours, days or weeks ago, as "30d", or a date or time in UTC.

    Raises:
        UsageError: It is neither.
    """
    with suppress(UsageError):
        return (now or datetime.now(UTC)) - age(text)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is no time.", hint="Write 30d, 12w, 2026-03-01 or 2026-03-01T02:30+00:00."
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
