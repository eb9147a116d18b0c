"""A rule: one judgement, a function of tables that yields findings.

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
from typing import Any

from tracekit.analysis.finding import Finding

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
