"""Precision, recall and the errors of estimates, over many traces."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from labelled.judged import Judged, Verdict
from labelled.labels import Label

NEAR = 0.25
"""An estimate of a saving is good within 25 % of what the fault cost."""


@dataclass
class Score:
    """How one rule did: how often it was right, and what its estimates were off by."""

    rule: str
    found: int = 0
    missed: int = 0
    false: int = 0
    passed: int = 0
    either: int = 0
    failed: int = 0
    false_on_clean: int = 0
    errors: list[float] = field(default_factory=list[float])

    @property
    def precision(self) -> float | None:
        """Share of its findings that are true; None where it found nothing."""
        count = self.found + self.false
        return self.found / count if count else None

    @property
    def recall(self) -> float | None:
        """Share of faults that it found; None where there were none."""
        count = self.found + self.missed
        return self.found / count if count else None

    @property
    def median_error(self) -> float | None:
        """Median of |estimate / cost - 1|; None without estimates."""
        return float(np.median(self.errors)) if self.errors else None

    @property
    def near(self) -> float | None:
        """Share of estimates that are good."""
        return float(np.mean([one <= NEAR for one in self.errors])) if self.errors else None

    def add(self, verdict: Verdict, *, clean: bool) -> None:
        """Count one trace."""
        found = verdict.status == "found"
        self.failed += verdict.status == "failed"
        match verdict.label:
            case Label.FIND:
                self.found += found
                self.missed += not found
            case Label.PASS:
                self.false += found
                self.passed += not found
                self.false_on_clean += found and clean
            case Label.EITHER:
                self.either += 1
        if verdict.error is not None:
            self.errors.append(verdict.error)


@dataclass(frozen=True)
class Tally:
    """All scores, and how much idle time got its true cause, by cause; ns."""

    scores: dict[str, Score]
    traces: int
    clean: int
    alarms: int
    idle: dict[str, int]
    right: dict[str, int]

    @property
    def causes_right(self) -> float | None:
        """Share of all idle time that got its true cause."""
        whole = sum(self.idle.values())
        return sum(self.right.values()) / whole if whole else None


def tally(judged: Sequence[Judged], rule: str | None = None) -> Tally:
    """Sum up what the rules, or one of them, did with the traces."""
    scores: dict[str, Score] = {}
    idle: dict[str, int] = {}
    right: dict[str, int] = {}
    for one in judged:
        for verdict in one.of(rule):
            score = scores.setdefault(verdict.rule, Score(verdict.rule))
            score.add(verdict, clean=not one.trace.faults)
        for cause, time in one.idle.items():
            idle[cause] = idle.get(cause, 0) + time
            right[cause] = right.get(cause, 0) + one.right[cause]
    clean = [one for one in judged if not one.trace.faults]
    alarms = sum(any(_alarm(verdict) for verdict in one.of(rule)) for one in clean)
    return Tally(scores, len(judged), len(clean), alarms, idle, right)


def wrong(judged: Iterable[Judged]) -> list[tuple[Judged, Verdict]]:
    """Return what the rules got wrong, rule by rule."""
    found = [(one, verdict) for one in judged for verdict in one.verdicts if verdict.wrong]
    return sorted(found, key=lambda pair: (pair[1].rule, pair[0].trace.seed))


def far_off(judged: Iterable[Judged]) -> list[tuple[Judged, Verdict]]:
    """Return the estimates that are not good."""
    found = [
        (one, verdict)
        for one in judged
        for verdict in one.verdicts
        if verdict.error is not None and verdict.error > NEAR
    ]
    return sorted(found, key=lambda pair: (pair[1].rule, pair[0].trace.seed))


def _alarm(verdict: Verdict) -> bool:
    return verdict.label is Label.PASS and verdict.status == "found"
