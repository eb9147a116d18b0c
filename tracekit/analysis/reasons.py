"""Why rules could not judge: those that give one and the same reason stand together."""

from collections.abc import Iterable
from dataclasses import dataclass

from tracekit.analysis.result import Check, Status


@dataclass(frozen=True)
class Reason:
    """Why rules did not judge, in words, and which rules gave that reason."""

    words: str
    rules: tuple[str, ...]


def reasons(checks: Iterable[Check], *states: Status) -> tuple[Reason, ...]:
    """Return the reasons of the checks that ended so, the one that most rules gave first."""
    rules: dict[str, list[str]] = {}
    for check in checks:
        if check.status in states:
            rules.setdefault(check.reason or "no reason is given", []).append(check.rule)
    most_first = sorted(rules.items(), key=lambda one: -len(one[1]))
    return tuple(Reason(words, tuple(names)) for words, names in most_first)
