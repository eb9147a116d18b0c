"""What the rules say of a trace, beside what they should say."""

import logging
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from labelled.corpus import Trace
from labelled.facts import Facts
from labelled.faults import FAULTS
from labelled.folder import write
from labelled.grammar import COLUMNS
from labelled.idle import Idle
from labelled.labels import SIZES, Label, label
from labelled.program import simulate
from tracekit.analysis.analyze import judge as apply
from tracekit.analysis.given import Given, recorded_tables
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.result import Status
from tracekit.analysis.rules import RULES
from tracekit.analysis.wording import sentence_of
from tracekit.tables.schemas import needed_schemas
from tracekit.tables.tables import Tables

_LEAST_COST = 0.005  # of the steady phase
# What can be left out of a trace whether it was put in or not.
_OF_ANY_TRACE = {"bubbles", "roofline-distance"}
# Without these the recording does not show every cause.
_FOR_CAUSES = {
    "metal-application-encoders-list",
    "metal-command-buffer-completed",
    "metal-driver-intervals",
    "metal-driver-event-intervals",
    "graphics-compiler-activity-intervals",
}
_log = logging.getLogger("tracekit")


@dataclass(frozen=True)
class Verdict:
    """What one rule did with one trace.

    `size` is in units of the limit; `cost` and `saving` are ns in the steady phase, the model's
    and the rule's, None where one of them names none.
    """

    rule: str
    label: Label
    status: str
    size: float | None
    cost: int | None
    saving: int | None
    said: str

    @property
    def wrong(self) -> bool:
        """Whether the rule did what it should not, or did not what it should."""
        found = self.status == Status.FOUND
        broke = self.status == Status.FAILED
        missed = self.label is Label.FIND and not found
        return broke or missed or (self.label is Label.PASS and found)

    @property
    def error(self) -> float | None:
        """How far its estimate is off what the fault cost, as a share; None without either."""
        if self.status != Status.FOUND or not self.cost or self.cost < 0 or self.saving is None:
            return None
        return abs(self.saving / self.cost - 1)


@dataclass(frozen=True)
class Judged:
    """One trace as the rules saw it; idle time in ns, and how much of it has its true cause."""

    trace: Trace
    verdicts: tuple[Verdict, ...]
    idle: dict[str, int]
    right: dict[str, int]

    def of(self, rule: str | None) -> tuple[Verdict, ...]:
        """Return what one rule did; what all of them did for None."""
        return tuple(one for one in self.verdicts if rule in {None, one.rule})


def judge(trace: Trace, folder: Path | None = None) -> Judged:
    """Make the trace, let all rules judge it, and compare with what is true of it.

    With a `folder` the run is left there, with all of its exports.
    """
    facts = Facts(simulate(trace.setup()))
    with tempfile.TemporaryDirectory() as scratch, _quietly():
        needed = None if folder else _needed()
        recording = write(facts.world, folder or Path(scratch) / "run", needed)
        provenance = recording.provenance()
        targets = frozenset(one.pid for one in provenance.targets)
        known = Given(Tables(recording.exports, targets), provenance)
        verdicts = tuple(_verdict(rule, known, facts, trace) for rule in RULES if rule in SIZES)
        idle, right = _causes(known, facts, trace)
    return Judged(trace, verdicts, idle, right)


@contextmanager
def _quietly() -> Generator[None]:
    """Keep to themselves what readers say of damage that was made on purpose."""
    level = _log.level
    _log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        _log.setLevel(level)


@cache
def _needed() -> frozenset[str]:
    """Return the schemas that rules make use of."""
    tables = {name for rule in RULES.values() for name in recorded_tables(rule.judge)}
    return needed_schemas(tables, frozenset(COLUMNS))


def _verdict(rule: str, known: Given, facts: Facts, trace: Trace) -> Verdict:
    size, wanted = SIZES[rule](facts), label(rule, facts)
    if not trace.faults and size is not None:
        wanted = Label.PASS  # nothing at all is wrong, however near to a limit
    check, findings = apply(RULES[rule], known, {})
    status = check.status
    if wanted is Label.PASS and findings and all(one.severity == "note" for one in findings):
        status = Status.PASSED  # a note is no alarm
    savings = [one.saving for one in findings if one.saving is not None]
    return Verdict(
        rule,
        wanted,
        status.value,
        size,
        _cost_to_tell(rule, facts, trace) if wanted is Label.FIND and savings else None,
        sum(savings) if savings else None,
        " ".join(map(sentence_of, findings)) or check.reason,
    )


def _cost_to_tell(rule: str, facts: Facts, trace: Trace) -> int | None:
    """Return what the fault cost; None for next to nothing, where a share of it means nothing."""
    cost = _cost(rule, facts, trace)
    return cost if cost is not None and cost > _LEAST_COST * facts.length else None


def _cost(rule: str, facts: Facts, trace: Trace) -> int | None:
    """Return what the fault cost: what the same trace takes less without it."""
    setup = facts.world.setup
    if rule == "gpu-downclocked" and setup.clock[1] == 1:
        return None  # nobody read the full clock
    heal = FAULTS[rule].heal
    if heal is None or (rule not in trace.faults and rule not in _OF_ANY_TRACE):
        return None
    return facts.length - Facts(simulate(heal(setup))).length


def _causes(known: Given, facts: Facts, trace: Trace) -> tuple[dict[str, int], dict[str, int]]:
    """Return the idle time by its true cause, and how much of it the analysis gives that cause."""
    setup = facts.world.setup
    if (
        setup.empty
        or setup.broken
        or setup.drifted
        or setup.pause  # which is left out of the time that is judged
        or (not setup.marks and not trace.stock)
        or setup.missing & _FOR_CAUSES
    ):
        return {}, {}
    try:
        gaps = known["gaps"]
    except (Unavailable, KeyError):
        return {}, {}
    found = gaps.sort_values("start")
    idle: dict[str, int] = {}
    right: dict[str, int] = {}
    for cause in {one.cause for one in facts.idle}:
        pieces = [one for one in facts.idle if one.cause == cause]
        idle[cause] = sum(one.end - one.start for one in pieces)
        right[cause] = _overlap(pieces, found[found["cause"] == cause])
    return idle, right


def _overlap(pieces: list[Idle], gaps: pd.DataFrame) -> int:
    """Return the time that both cover; each of them is disjoint in itself."""
    starts = gaps["start"].to_numpy(np.int64)
    ends = starts + gaps["duration"].to_numpy(np.int64)
    total = 0
    for one in pieces:
        first, last = np.searchsorted(ends, one.start), np.searchsorted(starts, one.end)
        lengths = np.minimum(ends[first:last], one.end) - np.maximum(starts[first:last], one.start)
        total += int(lengths.clip(0).sum())
    return total
