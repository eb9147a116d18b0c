"""How a trace's time is laid on the monotonic clock of the worker."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tracekit.journal import ClockAnchor

_MILLISECOND = 1_000_000


def align(start_date: str, anchors: Sequence[ClockAnchor]) -> dict[str, Any]:
    """Return what is known of the trace's time 0, all in nanoseconds.

    The TOC states when the recording began, to the millisecond; in the one bundle whose
    `time-info` could be compared, that is the trace's time 0. The worker wrote down the same
    wall clock and its own monotonic clock together, so the difference of the two gives
    `origin`: monotonic time at trace time 0, good to `uncertainty`. Without an anchor, or
    without a date, there is no origin.
    """
    epoch = _epoch(start_date)
    if epoch is None:
        return {}
    known: dict[str, Any] = {"source": "start-date of the TOC", "epoch": epoch}
    if not anchors:
        return known
    offsets = [anchor.epoch - anchor.monotonic for anchor in anchors]
    near = min(anchors, key=lambda anchor: abs(anchor.epoch - epoch))
    origin = near.monotonic + epoch - near.epoch
    drift = max(offsets) - min(offsets)
    return known | {"origin": origin, "uncertainty": _MILLISECOND + drift}


def _epoch(date: str) -> int | None:
    try:
        moment = datetime.fromisoformat(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    whole = moment.replace(microsecond=0)
    return int(whole.timestamp()) * 1_000_000_000 + moment.microsecond * 1000
