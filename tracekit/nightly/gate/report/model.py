"""What a gate says: a verdict, and how each capture and each metric came to it.

Every report is a rendering of this, and `tracekit gate --json` prints it. It is versioned by
`FORMAT`. History of the format:

    1   first
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from tracekit.analysis import Evidence
from tracekit.compare import Scale
from tracekit.nightly.history.night import Outcome

FORMAT = 1
CAPTURE = "capture"
"""Name of the case that says how a capture itself ended, where no metric of it says so."""


@dataclass(frozen=True)
class Case:
    """One thing that was judged, or is followed only.

    Attributes:
        suite: The capture that it belongs to.
        name: The metric's name, the rule's, or `CAPTURE`.
        kind: Which of them it is.
        outcome: How it ended; None where it is followed only, and decides nothing.
        message: Why, in a sentence.
        unit: The metric's unit.
        better: Which direction is good news.
        scale: Whether the change is a ratio less one, or a difference in the metric's unit.
        candidate: The median of the candidate, or of the runs that came after.
        reference: The same of the reference, or of the runs before.
        change: The candidate from the reference.
        low: Lower end of its 95 % interval.
        high: Its upper end.
        threshold: The least change for the worse that matters, on the scale of `change`.
        expected: The change that an accepted baseline lets expect.
        baseline: The night that was accepted; empty for none.
        pairs: How many pairs count, or how many runs of the smaller side.
        reproduced: Whether a second session found the same; None where none was needed.
        severity: Of a finding: as the rule says.
        windows: Where a trace shows it, in ns of that trace.
        measured: The plain change of the medians, on the scale of `change`, which is that at equal
            machine pace: within pairs, or by reference work.
    """

    suite: str
    name: str
    kind: Literal["metric", "finding", "capture"]
    outcome: Outcome | None
    message: str = ""
    unit: str = ""
    better: Literal["lower", "higher", "neither"] = "neither"
    scale: Scale = "ratio"
    candidate: float | None = None
    reference: float | None = None
    change: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    expected: float | None = None
    baseline: str = ""
    pairs: int = 0
    reproduced: bool | None = None
    severity: str = ""
    windows: tuple[Evidence, ...] = ()
    measured: float | None = None


@dataclass(frozen=True)
class Suite:
    """One capture, or one comparison of runs.

    Attributes:
        name: The capture's name.
        outcome: How it ended.
        reason: Why, in a sentence.
        cases: What was judged; at least one of them has the suite's outcome.
        labels: What it is: `workload`, `mlx`, `candidate`, `reference`, `commit` … in words.
        seconds: How long its pairs took, as far as it is known.
        line: The line of the plan's file where it stands; None where that is not known.
    """

    name: str
    outcome: Outcome
    reason: str = ""
    cases: tuple[Case, ...] = ()
    labels: dict[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0
    line: int | None = None


@dataclass(frozen=True)
class Link:
    """A page that says more, and where it is."""

    words: str
    target: str


@dataclass(frozen=True)
class GateReport:
    """A verdict and all that it rests on.

    Attributes:
        title: What was judged, in words.
        subject: The night's id, or the names of the runs.
        outcome: The verdict; what is missing makes it inconclusive, never good.
        reason: How it came about, in a sentence.
        suites: One for each capture, or one for a comparison of runs.
        environment: Facts of the machine and its software, by name.
        plan: The plan's name, the same every night; empty for runs.
        machine: What the history calls the machine; empty for runs.
        started: ISO 8601 in UTC; empty where it is not known.
        ended: The same.
        commit: The git commit that was judged.
        file: The file that findings are shown in, relative to the repository: the plan's.
        links: Pages that say more.
        warnings: What a reader must know.
    """

    title: str
    subject: str
    outcome: Outcome
    reason: str = ""
    suites: tuple[Suite, ...] = ()
    environment: dict[str, str] = field(default_factory=dict[str, str])
    plan: str = ""
    machine: str = ""
    started: str = ""
    ended: str = ""
    commit: str = ""
    file: str = ""
    links: tuple[Link, ...] = ()
    warnings: tuple[str, ...] = ()
    format: int = field(default=FORMAT, kw_only=True)

    @property
    def cases(self) -> Iterator[Case]:
        """All cases of all suites."""
        return (case for suite in self.suites for case in suite.cases)


def explained(suite: Suite) -> Suite:
    """Return the suite with a case for its own outcome, where none of its cases has it.

    A capture that failed has no metric that says so; a reader of reports looks at cases.
    """
    if any(one.outcome is suite.outcome for one in suite.cases):
        return suite
    own = Case(suite.name, CAPTURE, "capture", suite.outcome, suite.reason)
    return replace(suite, cases=(own, *suite.cases))
