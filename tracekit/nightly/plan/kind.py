"""What a key of a plan takes: in words, for its page, and the function that reads it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tracekit.nightly.plan.mistakes import UnfitError


@dataclass(frozen=True)
class Kind:
    """What a key takes.

    `read` turns what TOML holds into what the plan holds, or raises `UnfitError`.
    """

    words: str
    read: Callable[[Any], Any]


def off_or(kind: Kind) -> Kind:
    """What `kind` takes, or `false` for None."""

    def read(value: Any) -> Any:
        return None if value is False else kind.read(value)

    return Kind(f"{kind.words}; or `false`", read)


def bounded(value: Any, least: float, most: float) -> Any:
    """Return the value; raise UnfitError unless it is within the bounds."""
    if not least <= value <= most:
        raise UnfitError(f"must be {least:g} to {most:g}; it is {value}.")
    return value


def as_table(value: Any) -> Mapping[str, Any]:
    """Return a table; raise UnfitError where it is none."""
    if not isinstance(value, dict):
        raise refused("a table", value)
    return value


def refused(expected: str, value: Any, hint: str = "") -> UnfitError:
    """Say what was expected, and what is there."""
    return UnfitError(f"must be {expected}, not {shown(value)}.", hint)


def shown(value: Any) -> str:
    """Return a value as TOML has it; of tables and arrays only that they are such."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    return repr(value) if isinstance(value, str) else str(value)
