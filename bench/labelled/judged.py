"""What the rules say of a trace, beside what they should say."""

import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from labelled.corpus import Trace
from labelled.facts import Facts
from labelled.faults import FAULTS
from labelled.folder import write
from labelled.idle import Idle
from labelled.labels import SIZES, Label, label
from labelled.program import simulate
from tracekit.analysis.analyze import analyze
from tracekit.analysis.given import Given
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.result import Result, Status
from tracekit.analysis.rules import RULES
from tracekit.recording import Provenance
from tracekit.tables import Tables

logging.getLogger("tracekit").setLevel(logging.CRITICAL)


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


@dataclass(frozen=True)
class Judged:
    """One trace as the rules saw it; idle time in ns, and how much of it has its true cause."""

    trace: Trace
    verdicts: tuple[Verdict, ...]
    idle: dict[str, int]
    right: dict[str, int]


def judge(trace: Trace, folder: Path | None = None) -> Judged:
    """Make the trace, let all rules judge it, and compare with what is true of it."""
    world = simulate(trace.setup())
    facts = Facts(world)
    with tempfile.TemporaryDirectory() as scratch:
        recording = write(world, folder or Path(scratch) / "run")
        provenance = recording.provenance()
        targets = frozenset(one.pid for one in provenance.targets)
        tables = Tables(recording.exports, targets)
        result = analyze(tables, provenance)
        idle, right = _causes(tables, provenance, facts)
    verdicts = tuple(_verdict(rule, facts, trace, result) for rule in RULES if rule in SIZES)
    return Judged(trace, verdicts, idle, right)


def _verdict(rule: str, facts: Facts, trace: Trace, result: Result) -> Verdict:
    size, wanted = SIZES[rule](facts), label(rule, facts)
    if not trace.faults and size is not None:
        wanted = Label.PASS  # nothing at all is wrong, however near to a limit
    check = next(one for one in result.checks if one.rule == rule)
    findings = [one for one in result.findings if one.rule == rule]
    savings = [one.saving for one in findings if one.saving is not None]
    found = wanted is Label.FIND and savings
    return Verdict(
        rule,
        wanted,
        check.status.value,
        size,
        _cost(rule, facts, trace) if found else None,
        sum(savings) if savings else None,
        " ".join(one.message for one in findings) or check.reason,
    )


def _cost(rule: str, facts: Facts, trace: Trace) -> int | None:
    """Return what the fault cost: what the same trace takes less without it."""
    setup = facts.world.setup
    if rule == "bubbles":
        return facts.idle_time() - facts.idle_time("compile", "other-process")
    if rule == "roofline-distance":
        moved = setup.bytes_moved * setup.steps
        return facts.busy - round(moved / (0.8 * setup.machine.bandwidth) * 1e9)
    heal = FAULTS[rule].heal
    if heal is None or rule not in trace.faults:
        return None
    return facts.length - Facts(simulate(heal(setup))).length


def _causes(
    tables: Tables, provenance: Provenance, facts: Facts
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the idle time by its true cause, and how much of it the analysis gives that cause."""
    setup = facts.world.setup
    if setup.empty or setup.broken or setup.drifted or not setup.marks:
        return {}, {}
    try:
        gaps = Given(tables, provenance)["gaps"]
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
