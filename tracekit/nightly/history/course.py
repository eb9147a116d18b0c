"""A night's course: as much of its document as schedules and pruning must know of it.

More than that is not read, so that the night of a newer tracekit counts as well.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tracekit.nightly.history.night import DOCUMENT


@dataclass(frozen=True)
class Course:
    """When a night began, and how it ended; times are ISO 8601."""

    id: str
    started: str
    ended: str = ""
    outcome: str | None = None
    reason: str = ""
    partial: bool = False
    plan: str = ""

    @property
    def began(self) -> datetime | None:
        """When it began; None where that is no time with a zone."""
        try:
            moment = datetime.fromisoformat(self.started)
        except ValueError:
            return None
        return moment.astimezone(UTC) if moment.tzinfo is not None else None


def course_in(folder: Path) -> Course | None:
    """Return the course of the night in a folder; None where it cannot be read."""
    try:
        return msgspec.json.decode((folder / DOCUMENT).read_bytes(), type=Course)
    except (OSError, msgspec.MsgspecError):
        return None


def last_course(output: Path, plan: str) -> Course | None:
    """Return the course of the plan's night that began last; None where none can be read."""
    found = [course_in(one.parent) for one in sorted(output.glob(f"*/{DOCUMENT}"))]
    own = [one for one in found if one is not None and one.plan == plan]
    known = {one.began: one for one in own if one.began is not None}
    return known[max(known)] if known else None
