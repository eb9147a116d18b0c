"""The time at which old runs are looked at, and how their makers are called."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tracekit.base.recording import Recording

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
MakeRun = Callable[..., Recording]
MakeNight = Callable[..., Path]


def days_ago(days: float) -> str:
    """Return a moment so many days before NOW, ISO 8601."""
    return (NOW - timedelta(days=days)).isoformat()
