"""What passed, what could not be checked, why and what would help, what failed to run."""

from dataclasses import dataclass

from tracekit.analysis.result import Check, Result, Status
from tracekit.report.panel import Context, Panel, Tables

_OTHER = "Other things"
_TELLING = "A workload that tells more of itself"
# By words of the reasons that rules give; the first that fits.
_HELPS = (
    ("A recording on a Mac with Xcode", ("on a Mac", "ran on the CPU")),
    ("A recording with GPU counters", ("counter", "limiter")),
    ("Naming the process that is meant", ("which process is the target", "--target")),
    ("A longer run, or a longer steady window", ("too few", "too short", "at least", "no length")),
    (_TELLING, ("comes from host-",)),
    (
        "A recording with more tables",
        ("no table", "not exported", "not recorded", "were recorded", "no rows"),
    ),
    (_TELLING, ("workload", "steps", "span", "label", "marks")),
)


@dataclass(frozen=True)
class Reason:
    """Why rules abstained: those that gave one and the same reason."""

    words: str
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Help:
    """What would help rules to judge, and the reasons that they gave."""

    title: str
    reasons: tuple[Reason, ...]


def context(result: Result, tables: Tables) -> Context:  # noqa: ARG001  a panel's signature
    """Sort the checks by how they ended, and those that abstained by what would help."""
    abstained = _of(result, Status.ABSTAINED)
    return {
        "passed": _of(result, Status.PASSED),
        "found": _of(result, Status.FOUND),
        "abstained": abstained,
        "helps": _helps(abstained),
        "failed": _of(result, Status.FAILED),
    }


def _of(result: Result, status: Status) -> list[Check]:
    return [check for check in result.checks if check.status is status]


def _helps(abstained: list[Check]) -> list[Help]:
    """Group by what would help, in the order of that list; equal reasons stand once."""
    titles = [*(title for title, _ in _HELPS), _OTHER]
    grouped: dict[str, dict[str, list[str]]] = {title: {} for title in titles}
    for check in abstained:
        words = check.reason or "no reason is given"
        grouped[_help(check.reason)].setdefault(words, []).append(check.rule)
    return [
        Help(title, tuple(Reason(words, tuple(rules)) for words, rules in reasons.items()))
        for title, reasons in grouped.items()
        if reasons
    ]


def _help(reason: str) -> str:
    return next((title for title, words in _HELPS if any(one in reason for one in words)), _OTHER)


checks = Panel("checks", "What was checked", context)
