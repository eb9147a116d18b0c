"""A rule: one judgement, a function of tables that yields findings with their evidence.

A rule's function is named after the bad state that it looks for, and documents itself under
four heads, which pages and the reference show as they stand:

    What it looks for / Why it matters / What to do / When it abstains

Parameters without a default are tables, by name; keywords with a default are thresholds that a
user may set. A rule that cannot know raises `Unavailable` with the reason.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pandas as pd

from tracekit.analysis.intervals import Times, spans


class Severity(StrEnum):
    """How much a finding matters: errors make numbers void, warnings cost time."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Evidence:
    """A window of a table where the finding can be seen; times in ns of the trace.

    `note` says what is special about this one, such as the cause of a gap.
    """

    table: str
    start: int
    end: int
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """A fact that a rule found.

    `saving` is the time that could be won in the window the rule looked at, in ns; None where
    it cannot be estimated. `saving_per_token` is the same for each token of the steady window;
    the analysis fills it in where steps and their tokens are known. `within` names the rule whose
    saving holds most of this one's time already, so that nobody adds it up twice; the analysis
    keeps it only where that rule found something too.
    """

    rule: str
    severity: Severity
    message: str
    advice: str
    evidence: tuple[Evidence, ...] = ()
    saving: int | None = None
    saving_per_token: float | None = None
    within: str = ""


_SHOWN = 20


def longest(table: str, starts: Times, ends: Times) -> tuple[Evidence, ...]:
    """Return the windows that last longest, longest first, at most twenty."""
    order = (starts - ends).argsort(kind="stable")[:_SHOWN]
    return tuple(Evidence(table, int(starts[i]), int(ends[i])) for i in order)


def longest_rows(table: str, rows: pd.DataFrame) -> tuple[Evidence, ...]:
    """Return the windows of the rows that last longest, longest first, at most twenty."""
    ordered = rows.sort_values("start", kind="stable")
    return longest(table, *spans(ordered))


HEADS = ("What it looks for", "Why it matters", "What to do", "When it abstains")


@dataclass(frozen=True)
class Rule:
    """One judgement: its name in kebab-case, and the function that makes it."""

    name: str
    judge: Callable[..., Iterator[Finding]]

    @property
    def title(self) -> str:
        """The first line of the docstring: the bad state in a phrase."""
        return (inspect.getdoc(self.judge) or "").partition("\n")[0]

    @property
    def sections(self) -> dict[str, str]:
        """The four heads of the docstring with their texts."""
        text = inspect.getdoc(self.judge) or ""
        pattern = "|".join(re.escape(head) for head in HEADS)
        parts = re.split(rf"^({pattern}):\s*", text, flags=re.MULTILINE)
        return {head: _flowing(body) for head, body in zip(parts[1::2], parts[2::2], strict=True)}


def rule(judge: Callable[..., Iterator[Finding]]) -> Rule:
    """Make a rule of a function: `def low_occupancy(...)` becomes `low-occupancy`."""
    return Rule(judge.__name__.replace("_", "-"), judge)


def _flowing(text: str) -> str:
    return " ".join(text.split())


Settings = dict[str, dict[str, Any]]
