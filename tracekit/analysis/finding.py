"""What a rule finds: a fact, its evidence, what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


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
