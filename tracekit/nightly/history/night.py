"""What a night found: the one document that the gate, the history and the trend page read.

`night.json` in the night's folder is written again after every pair, so that a night that was
killed is known up to there. It is versioned by `FORMAT`. History of the format:

    1   first
"""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from tracekit.base import InputError, Overhead
from tracekit.compare import Scale, Shown
from tracekit.machine import State


def moment_of(timestamp: str | datetime) -> datetime:
    """Return a time in UTC, of ISO 8601 too; one that does not say otherwise is in UTC."""
    try:
        moment = timestamp if isinstance(timestamp, datetime) else datetime.fromisoformat(timestamp)
    except ValueError as error:
        raise InputError(
            f"{timestamp!r} is no time.", hint="Write it as 2026-03-01T02:30+00:00."
        ) from error
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def moment_in(text: str) -> datetime | None:
    """Return the time in UTC that a text says; None, no error, where it is none with a zone."""
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    return None


@dataclass(frozen=True)
class Accepted:
    """What is expected of one capture on one machine: what a night found, for this reason.

    What was accepted of other `work`, a digest, says nothing. `at` is ISO 8601 in UTC. `changes`
    are by metric those of the candidate from the reference in each pair that counts: the logarithm
    of the ratio where the metric is compared by ratio, else the difference. They are empty where
    an acceptance was revoked: then nothing is expected. `who` decided so; empty of histories in
    which that was not noted yet.
    """

    night: str
    capture: str
    work: str
    at: str
    reason: str
    changes: dict[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])
    who: str = ""


FORMAT = 1
DOCUMENT = "night.json"
INTERRUPTED = "It was interrupted."
"""How the reason of a capture ends that somebody stopped."""

Side = Literal["candidate", "reference"]
ANCHORED = "-anchor"
"""Behind a capture's name: the same work against the anchor of a reference that moves along."""
ReferenceKind = Literal["", "fixed", "branch point", "moving", "anchor"]
Values = dict[str, tuple[float, ...]]


KINDS: dict[ReferenceKind, str] = {
    "fixed": "a fixed commit: what nights lose adds up in the change",
    "branch point": "where the branch began: the change is that of all its commits",
    "moving": "one that moves along: the change is that of one night; what nights lose together "
    "is found by their chain, and against the anchor",
    "anchor": "the anchor of one that moves along: the change is what all nights since add up to",
}
"""What is measured against, by its kind: said in the plan, the night, the page and the gate."""


class Outcome(StrEnum):
    """How a night, a capture or a metric ended."""

    OK = "ok"
    REGRESSION = "regression"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    UNJUDGED = "unjudged"  # nothing decides: all is followed over nights


LEADS = {
    Outcome.REGRESSION: "Regression",
    Outcome.FAILED: "Failed",
    Outcome.INCONCLUSIVE: "Inconclusive",
    Outcome.OK: "OK",
    Outcome.UNJUDGED: "Nothing judged",
}
"""How a sentence about an outcome begins; what says most of a night stands first."""


@dataclass(frozen=True)
class Pair:
    """Candidate and reference, measured in turns, or `traced` one after the other.

    It is the `number`th of the session `sitting`, each from 1; the second session is to reproduce
    what the first found. `order` says whose turn it was, such as "abba": a the candidate. Both
    have the value of each of their turns by metric, of a traced pair one; the reference's are
    empty where there is none. `contaminated` says why the pair does not count. `runs` are the
    folders of traced runs, relative to the night's, candidate first.
    """

    sitting: int
    number: int
    order: str
    traced: bool = False
    candidate: Values = field(default_factory=dict[str, tuple[float, ...]])
    reference: Values = field(default_factory=dict[str, tuple[float, ...]])
    before: State | None = None
    after: State | None = None
    contaminated: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """What became of one metric in one night.

    Only one that is `gated` decides; `outcome` is None of others. `candidate` and `reference` are
    medians of the pairs that count; `change` is the candidate from the reference, beyond what was
    `expected`: the middle over pairs of all sessions, as of `tracekit.compare.shift`, a ratio less
    one or a difference as `scale` says, with its 95 % interval. Each is None where it is not known.
    What is expected is 0 for the same work, else the change of the accepted night `baseline`.
    `reproduced` says whether a second session found the same: False where one is needed still,
    None where none was. `threshold` is the least change for the worse that matters. `verdict` is
    one of `tracekit.base.Verdict`; empty where nothing was decided, and of nights before it was
    kept.
    """

    metric: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    scale: Scale = "ratio"
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
    def formatter(self) -> Shown:
        """How its changes are put into words."""
        return Shown(self.scale, self.unit)

    @property
    def measured_change(self) -> float | None:
        """The plain change of the medians, on the scale of `change`; None where there is none."""
        new, old = self.candidate, self.reference
        if new is None or old is None:
            return None
        if self.scale == "difference":
            return new - old
        return new / old - 1 if old > 0 else None


@dataclass(frozen=True)
class TracedFinding:
    """A finding of the candidate's traces, as it stands in the first trace that has it.

    It was found in `traces` of so many, and in so many of the reference's. It says that `saving` ns
    of the steady window could be saved, `saving_per_token` for each token; None where it does not.
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
    """What a side of a capture is: its work, whose code it is, and which versions run it.

    `mlx` is empty without MLX, and `commit` outside of a repository. `words` are all this in short,
    as people say it: "revision 1a2b3c4", "paged, block_size 16".
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
    count. `outcome` is the worst of its metrics and findings, None while it runs. `overhead` is
    what tracing cost in this session, `parity` says what was checked first, and `backend` where the
    work ran, as `Step.backend`. `reference_kind` is empty where the reference is no commit.
    `search` is a command line that finds the commit of its regression; empty where none does.
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
        """What the machine was like, whenever a pair was begun or had ended."""
        looks = [look for pair in self.pairs for look in (pair.before, pair.after)]
        return tuple(look for look in looks if look is not None)

    @property
    def counting(self) -> str:
        """How many of its pairs count, in words; empty where it has none."""
        good = sum(not pair.contaminated for pair in self.pairs)
        return f"{good} of {len(self.pairs)} pairs count" if self.pairs else ""


@dataclass(frozen=True)
class Night:
    """A night: what ran, on what, and how it ended.

    Its `id` names it everywhere: its start in UTC and a few random letters. `machine` is what the
    history calls the machine, `environment` are facts of it as of `tracekit.machine.describe`, and
    `os_build`, `xcode_build`, `recorder`, `tracekit`. Times are ISO 8601 in UTC; `ended` is empty
    and `outcome`, the worst of its entries, None while it runs. `commit` is that of the folder that
    holds the plan. It is `partial` where captures are missing, as where the budget was spent.
    `folder` is relative to the one that holds the history, else whole. One that is not `kept` was
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
