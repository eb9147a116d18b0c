"""What a trend says in words: changes, days, how nights ended."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Literal, Self

from tracekit.base import InputError, Overhead, percent
from tracekit.nightly.history.night import Outcome

Better = Literal["lower", "higher", "neither"]
Tone = Literal["error", "warning", "unclear", "good", "plain"]

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class State(StrEnum):
    """How a capture fared in a night, or that there was nothing to fare; its sign and its tone."""

    sign: str
    tone: Tone

    OK = "ok", "✓", "good"
    REGRESSION = "regression", "▲", "error"
    INCONCLUSIVE = "inconclusive", "?", "unclear"
    UNJUDGED = "unjudged", "◇", "plain"  # nothing decides: all is followed over nights
    FAILED = "failed", "✕", "warning"
    UNFINISHED = "unfinished", "…", "plain"  # a night that runs still, or was cut off
    NOT_RUN = "not run", "—", "plain"  # a night that ended before this capture's turn
    MISSED = "missed", "▯", "plain"

    def __new__(cls, value: str, sign: str, tone: Tone) -> Self:
        """Make a state that is its word."""
        state = str.__new__(cls, value)
        state._value_ = value
        state.sign, state.tone = sign, tone
        return state


def state_of(outcome: Outcome | None) -> State:
    """Return how something ended; what has not ended is unfinished."""
    return State.UNFINISHED if outcome is None else State(outcome.value)


def moment_of(at: str) -> datetime:
    """Return an ISO 8601 time, in UTC where it does not say otherwise."""
    try:
        found = datetime.fromisoformat(at)
    except ValueError as error:
        message = f"{at!r} is no time of a night, so it has no place on the trend page."
        raise InputError(message, "Times are written as 2026-11-20T02:30:00+00:00.") from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def days_of(at: str) -> float:
    """Return a time as days since 1970: the places of nights on an axis."""
    return (moment_of(at) - _EPOCH) / _DAY


def date_of(days: float) -> datetime:
    """Return the time that so many days since 1970 are."""
    return _EPOCH + days * _DAY


def day(at: str) -> str:
    """Return the day of a night, such as "14 Oct 2026"."""
    moment = moment_of(at)
    return f"{moment.day} {moment:%b %Y}"


def ago(at: str, now: str) -> str:
    """Return how long ago a night was, in whole days: "today", "3 days ago"."""
    passed = (moment_of(now).date() - moment_of(at).date()).days
    if passed <= 0:
        return "today"
    return "yesterday" if passed == 1 else f"{passed} days ago"


def direction(change: float, better: Better) -> Literal["worse", "better", "changed"]:
    """Return which way a change goes."""
    if better == "neither" or change == 0:
        return "changed"
    return "better" if (change < 0) is (better == "lower") else "worse"


def cost_of(overhead: Overhead | None) -> str:
    """Return what tracing cost in a night, in a sentence; empty where nobody looked."""
    if overhead is None:
        return ""
    if overhead.ratio is None:
        reason = overhead.reason.rstrip(".")
        return f"What tracing costs is not known{f', because {reason}' if reason else ''}."
    doubt = "" if overhead.spread is None else f" ± {percent(overhead.spread)}"
    return f"Tracing costs {percent(overhead.ratio)}{doubt} of a step's time."


WAYS: dict[str, Tone] = {"worse": "error", "better": "good", "changed": "plain"}


def several(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: "1 night", "3 nights"."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
