"""The nights that lie in a plan's output, as far as a schedule must know of them."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

DOCUMENT = "night.json"


@dataclass(frozen=True)
class NightSeen:
    """What `night.json` says of a night's course; times are ISO 8601."""

    id: str
    started: str
    ended: str = ""
    outcome: str | None = None
    reason: str = ""
    partial: bool = False

    @property
    def began(self) -> datetime | None:
        """When it began; None where that is no time with a zone."""
        try:
            moment = datetime.fromisoformat(self.started)
        except ValueError:
            return None
        return moment if moment.tzinfo is not None else None


def last_night(output: Path) -> NightSeen | None:
    """Return the night that began last; None where none can be read."""
    seen = {
        one.began: one
        for one in map(_read, sorted(output.glob(f"*/{DOCUMENT}")))
        if one is not None and one.began is not None
    }
    return seen[max(seen)] if seen else None


def _read(document: Path) -> NightSeen | None:
    try:
        return msgspec.json.decode(document.read_bytes(), type=NightSeen)
    except (OSError, msgspec.MsgspecError):
        return None
