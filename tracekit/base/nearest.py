"""What somebody may have meant: the nearest of the names that there are."""

import difflib
from collections.abc import Collection

from tracekit.base.errors import UsageError


def nearest(name: str, names: Collection[str], *, otherwise: str = "") -> str:
    """Return a hint: the nearest name, else `otherwise`, by default all names there are."""
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return otherwise or f"There are: {', '.join(names) or 'none'}."


def require(name: str, names: Collection[str], kind: str, *, otherwise: str = "") -> None:
    """Raise UsageError, with what may have been meant, unless there is something of that name."""
    if name not in names:
        hint = nearest(name, names, otherwise=otherwise)
        raise UsageError(f"There is no {kind} {name!r}.", hint=hint)
