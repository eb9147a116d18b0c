"""What this machine's memory cannot hold is refused before it is asked for."""

import psutil

from tracekit.base.errors import UsageError


def require_memory(needed: int, what: str, hint: str) -> None:
    """Raise UsageError, with a hint, if `what` takes more bytes than this machine has."""
    there = psutil.virtual_memory().total
    if needed > there:
        raise UsageError(
            f"{what} takes {needed / 1e9:.1f} GB; this machine has {there / 1e9:.1f} GB.",
            hint=hint,
        )
