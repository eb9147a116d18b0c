"""The results of a night: the one document that the gate, the history and the trend page read.

`night.json` in the night's folder is written again after every pair, so that a killed night is
known up to its last pair. It is versioned by `FORMAT`. History of the format:

    1   first
    2   a pair's `sitting` is its `session`, and `contaminated` are its `rejections`
"""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from tracekit.base import InputError, Overhead, verdicts
from tracekit.machine import State


def moment_of(timestamp: str | datetime) -> datetime:
    """Return a time, or ISO 8601, in UTC; a time without a zone is in UTC."""
    if isinstance(timestamp, datetime):
        moment = timestamp
    else:
        try:
            moment = datetime.fromisoformat(timestamp)
        except ValueError as error:
            raise InputError(
                f"Invalid time {timestamp!r}.", hint="Write it as 2026-03-01T02:30+00:00."
            ) from error
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def moment_in(text: str) -> datetime | None:
    """Return the time of a text in UTC; None if the text is not a time with a zone."""
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    return None


LATEST = "latest"
"""The name of the newest night."""


@dataclass(frozen=True)
class Accepted:
    """The expectation of one capture on one machine: the changes of a night, for this reason.

    It holds for the same `work`, a digest, only. `at` is ISO 8601 in UTC. `changes` are by metric
    those of the candidate from the reference in each pair that counts: the logarithm of the ratio
    if the metric is compared by ratio, else the difference. They are empty if an acceptance was
    revoked: then nothing is expected. `who` is the person who decided; it is empty in histories
    that did not record it yet.
    """

    night: str
    capture: str
    work: str
    at: str
    reason: str
    changes: dict[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    who: str = ""


FORMAT = 2
DOCUMENT = "night.json"
INTERRUPTED = "It was interrupted."
"""The end of the reason of a capture that somebody stopped."""

Side = Literal["candidate", "reference"]
ANCHORED = "-anchor"
"""The suffix of a capture's name for its work against the anchor of a moving reference."""
ReferenceKind = Literal["", "fixed", "branch point", "moving", "anchor"]
Values = dict[str, tuple[float, ...]]


KINDS: dict[ReferenceKind, str] = {
    "fixed": "a fixed commit: the losses of nights add up in the change",
    "branch point": "the branch point: the change is that of all its commits",
    "moving": "one that moves along: the change is that of one night; the sum of the losses of "
    "nights is found by their chain, and against the anchor",
    "anchor": "the anchor of one that moves along: the change is the sum over all nights since",
}
"""Each kind of reference in words, for the plan, the night, the page and the gate."""


class Outcome(StrEnum):
    """The outcome of a night, a capture or a metric."""

    OK = "ok"
    REGRESSION = "regression"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    UNJUDGED = "unjudged"  # no metric decides: all are followed over nights

    @property
    def exit_code(self) -> int:
        """The exit code of a command that ends with this outcome."""
        return {Outcome.OK: 0, Outcome.REGRESSION: 1, Outcome.FAILED: 3}.get(self, 4)


LEADS = {
    Outcome.REGRESSION: "Regression",
    Outcome.FAILED: "Failed",
    Outcome.INCONCLUSIVE: "Inconclusive",
    Outcome.OK: "OK",
    Outcome.UNJUDGED: "Nothing judged",
}
"""The begin of a sentence about an outcome; the most telling outcome of a night is first."""


@dataclass(frozen=True)
class Quantity:
    """The unit of a number that a workload measured, and the direction that is good news."""

    unit: str = ""
    better: Literal["lower", "higher", "neither"] = "neither"


@dataclass(frozen=True)
class Pair:
    """Candidate and reference, measured in turns, or `traced` one after the other.

    It is the `number`th pair of its `session`, each from 1; the second session is to reproduce the
    first. `order` is the order of turns, such as "abba": a is the candidate. Both sides have
    the value of each of their turns by metric, of a traced pair one; the reference's are empty if
    there is none. `rejections` are the reasons why the pair does not count. `runs` are the
    folders of traced runs, relative to the night's, candidate first.
    """

    session: int
    number: int
    order: str
    traced: bool = False
    candidate: Values = field(default_factory=dict[str, tuple[float, ...]])
    reference: Values = field(default_factory=dict[str, tuple[float, ...]])
    before: State | None = None
    after: State | None = None
    rejections: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """The judgement on one metric in one night.

    Only a `gated` metric decides; `outcome` is None for others. `candidate` and `reference` are
    medians of the pairs that count; `change` is the candidate from the reference, beyond the
    `expected` change: the middle over pairs of all sessions, as of `tracekit.comparison.shift`, a
    ratio less one or a difference as `scale` says, with its 95 % interval. Each is None if it is
    not known. The expected change is 0 for the same work, else that of the accepted night
    `baseline`. `reproduced` tells whether a second session found the same: False if one is still
    needed, None without one. `threshold` is the least change for the worse that matters. `verdict`
    is one of `tracekit.base.Verdict`; empty if nothing was decided, and in nights before it was
    kept.
    """

    metric: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    scale: verdicts.Scale = "ratio"
    threshold: float = 0.03
    gated: bool = True
    outcome: Outcome | None = None
    candidate: float | None = None
    reference: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    expected: float | None = None
    baseline: str = ""
    pairs: int = 0
    reproduced: bool | None = None
    reason: str = ""
    verdict: str = ""

    @property
    def formatter(self) -> verdicts.Shown:
        """The formatter that puts its changes into words."""
        return verdicts.Shown(self.scale, self.unit)

    @property
    def measured_change(self) -> float | None:
        """The plain change of the medians, on the scale of `change`; None if there is none."""
        if self.candidate is None or self.reference is None:
            return None
        if self.scale == "difference":
            return self.candidate - self.reference
        if self.reference > 0:
            return self.candidate / self.reference - 1
        return None


@dataclass(frozen=True)
class TracedFinding:
    """A finding of the candidate's traces, as in the first trace that has it.

    It is in `traces` `of` so many, and `in_reference` in so many of the reference's. `saving` is
    the possible saving in ns of the steady window, and `saving_per_token` for each token; None if
    the finding does not state it.
    """

    rule: str
    message: str
    severity: str
    traces: int
    of: int
    in_reference: int = 0
    saving_per_token: float | None = None
    saving: float | None = None


@dataclass(frozen=True)
class Described:
    """A side of a capture: its work, its code, and the versions that run it.

    `mlx` is empty without MLX, and `commit` outside of a repository. `words` describe the side in
    short: "revision 1a2b3c4", "paged, block_size 16".
    """

    workload: str
    parameters: dict[str, Any] = field(default_factory=dict[str, Any])
    python: str = ""
    mlx: str = ""
    tracekit: str = ""
    commit: str = ""
    words: str = ""


@dataclass(frozen=True)
class Entry:
    """One capture of the plan in one night.

    Nights whose entries have the same name and `work`, a digest of workload, parameters, reference,
    recorder and templates, are points of the same series. Its pairs include those that do not
    count. `outcome` is the worst of its metrics and findings, None while it runs. `overhead` is the
    cost of tracing in this session, `parity` describes the checks before it, and `backend` is the
    device of the work, as `Step.backend`. `reference_kind` is empty if the reference is not a
    commit. `search` is a command line that finds the commit of its regression; empty without one.
    """

    capture: str
    work: str
    candidate: Described
    reference: Described | None = None
    pairs: tuple[Pair, ...] = ()
    judged: tuple[Judged, ...] = ()
    findings: tuple[TracedFinding, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    overhead: Overhead | None = None
    parity: str = ""
    backend: str = ""
    reference_kind: ReferenceKind = ""
    search: str = ""

    @property
    def states(self) -> tuple[State, ...]:
        """The states of the machine before and after each pair."""
        states: list[State] = []
        for pair in self.pairs:
            states += filter(None, (pair.before, pair.after))
        return tuple(states)

    @property
    def counting(self) -> str:
        """How many of its pairs count, in words; empty if it has none."""
        if not self.pairs:
            return ""
        good = sum(not pair.rejections for pair in self.pairs)
        return f"{good} of {len(self.pairs)} pairs count"


@dataclass(frozen=True)
class Night:
    """A night: its captures, its machine, and its outcome.

    Its `id` names it everywhere: its start in UTC and a few random letters. `machine` is the name
    of the machine in the history, `environment` are facts of it as of `tracekit.machine.describe`,
    and `os_build`, `xcode_build`, `recorder`, `tracekit`. Times are ISO 8601 in UTC; `ended` is
    empty and `outcome`, the worst of its entries, None while it runs. `commit` is that of the
    folder of the plan. It is `partial` if captures are missing, such as when the budget was spent.
    `folder` is relative to the folder of the history, else absolute. A night that is not `kept` was
    to stay out of the history, and no later night may add it.
    """

    id: str
    plan: str
    machine: str
    started: str
    digest: str = ""
    environment: dict[str, Any] = field(default_factory=dict[str, Any])
    ended: str = ""
    commit: str = ""
    entries: tuple[Entry, ...] = ()
    outcome: Outcome | None = None
    reason: str = ""
    partial: bool = False
    folder: str = ""
    warnings: tuple[str, ...] = ()
    kept: bool = True
    format: int = field(default=FORMAT, kw_only=True)


@dataclass(frozen=True)
class Missed:
    """A night that was due and did not run; `due` is ISO 8601 in UTC."""

    plan: str
    machine: str
    due: str
    reason: str
