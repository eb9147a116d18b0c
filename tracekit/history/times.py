"""Times as people write them on a command line."""

import re
from datetime import UTC, datetime, timedelta

from tracekit.errors import UsageError

_AGO = re.compile(r"(\d{1,9})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def time_of(text: str, now: datetime | None = None) -> datetime:
    """Return a time: so many hours, days or weeks ago, as "30d", or a date or time in UTC.

    Raises:
        UsageError: It is neither.
    """
    ago = _AGO.fullmatch(text.strip())
    try:
        if ago:
            return (now or datetime.now(UTC)) - int(ago[1]) * _UNITS[ago[2]]
        found = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        raise UsageError(
            f"{text!r} is no time.", hint="Write 30d, 12w, 2026-03-01 or 2026-03-01T02:30+00:00."
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
