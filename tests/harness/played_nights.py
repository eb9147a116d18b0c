"""Nights in a real repository, by a clock that is made: each commit says what a step costs.

Plan, references, work trees, judgement, history, page and gate are the real ones; only the times of
steps are made, of the cost that each side's own files name, of the machine's pace and of noise.
"""

import math
import random
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from real_nights import git
from tracekit.machine.state import State
from tracekit.nightly.captures import NightSteps
from tracekit.nightly.history.night import Described, Night, Pair
from tracekit.nightly.history.night import Side as Role
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, NightPlan
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.run import run_night
from tracekit.nightly.session.child import PreparedCapture
from tracekit.nightly.session.program import Bounds, BudgetSpentError
from tracekit.nightly.session.variants import CodeVariant, candidate_of, reference_of

_WORK = """from tracekit.workload import Step, workload

COST = {cost!r}


@workload
def costly() -> Step:
    return Step(submit=lambda: None, wait=lambda _: None, backend="cpu")
"""
_PLAN = """
[nightly]
name = "played"
machine = "mini"
output = "nights"
retries = 0
[[nightly.capture]]
name = "decode"
workload = "costly"
workloads = "own"
telemetry = "off"
traced = 0
{reference}
[nightly.capture.metrics]
step_p50 = 0.03
"""
_FIRST = datetime(2026, 11, 1, 2, 30, tzinfo=UTC)
_NS = 1e6
_BUSY = "Other programs were busy."


@dataclass
class Played:
    """A repository and its nights, a day apart; `noise` is that of a turn, one deviation.

    `pace` is how much longer everything takes, `rejected` the session of which no pair counts, and
    `stopped` after how many pairs a night's budget is spent.
    """

    top: Path
    noise: float = 0.004
    pace: float = 1.0
    rejected: int = 0
    stopped: int | None = None
    nights: list[Night] = field(default_factory=list[Night])
    commits: list[str] = field(default_factory=list[str])
    source: random.Random = field(default_factory=lambda: random.Random(1))

    def git(self, *words: str) -> str:
        return git(self.top, *words)

    def begin(self, reference: str) -> None:
        """Make the repository, with a first commit and a plan; `reference` is the lines of it."""
        (self.top / "own").mkdir(parents=True)
        (self.top / ".gitignore").write_text("nights/\ntracekit.toml\n__pycache__/\n")
        self.git("init", "--quiet", "--initial-branch=main")
        first_commit = self.commit(1.0)
        table = "[nightly.capture.reference]\n" + reference.replace("FIRST", first_commit)
        plan = _PLAN.format(reference=table if reference else "")
        (self.top / "tracekit.toml").write_text(plan)

    def commit(self, cost: float) -> str:
        """Commit what lets a step cost so much; return the commit."""
        (self.top / "own" / "costly.py").write_text(_WORK.format(cost=cost))
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", f"cost {cost}")
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]

    def night(
        self, cost: float | None = None, *, begin_time: datetime | None = None, **keys: Any
    ) -> Night:
        """Commit a cost, where one is given, and let the next night run, a day after the last."""
        if cost is not None:
            self.commit(cost)
        begins = begin_time or _FIRST + timedelta(days=len(self.nights))
        steps = NightSteps(_ready, lambda _: "", self._measure, lambda *_, **__: iter(()))
        plan = read_plan(self.top / "tracekit.toml")
        self.nights.append(run_night(plan, clock=lambda: begins, steps=steps, **keys))
        if keys.get("keep", True):
            self._append_other_nights(plan.history)
        return self.nights[-1]

    def _append_other_nights(self, history: str) -> None:
        """Let another plan and another machine have had the same night, and become slower."""
        night, slower = self.nights[-1], {"candidate": 2e6, "reference": 1e6, "expected": 1.0}
        entries = tuple(
            replace(entry, judged=tuple(replace(judgement, **slower) for judgement in entry.judged))
            for entry in night.entries
        )
        with Store.connect(history) as store:
            for number, names in enumerate(({"plan": "other"}, {"machine": "maxi"})):
                other_id = f"{night.id[:20]}{number}{night.id[-3:]}"
                store.append(replace(night, id=other_id, entries=entries, **names))

    @property
    def plan(self) -> Path:
        return self.top / "tracekit.toml"

    @property
    def page(self) -> str:
        return (self.top / "nights" / "trend.html").read_text()

    def _measure(
        self,
        prepared: PreparedCapture,
        *,
        session: int = 1,
        first_number: int = 1,
        pairs: int = 0,
        **_: object,
    ) -> Iterator[Pair]:
        for number in range(first_number, first_number + pairs):
            if number - first_number == self.stopped:
                raise BudgetSpentError("The night's time was spent while a pair was measured.")
            sides = [self._turns(variant) for variant in (prepared.candidate, prepared.reference)]
            reasons = (_BUSY,) if session == self.rejected else ()
            pace = {"calibration": 1e6 * self.pace} if self.pace != 1.0 else {}
            state = State("2026-11-01T02:30:00+00:00", {"load": 0.9 if reasons else 0.0} | pace)
            order = "abba" if number % 2 else "baab"
            yield Pair(session, number, order, False, *sides, before=state, after=state)

    def _turns(self, variant: CodeVariant | None) -> dict[str, tuple[float, ...]]:
        if variant is None:
            return {}
        assert variant.workloads is not None
        match = re.search(
            r"COST = (\S+)", (variant.workloads / f"{variant.workload}.py").read_text()
        )
        assert match is not None
        log_time = math.log(float(match[1]) * self.pace * _NS)
        turns = (math.exp(self.source.gauss(log_time, self.noise)) for _ in range(2))
        return {"step_p50": tuple(turns)}


@contextmanager
def _ready(
    capture: Capture, plan: NightPlan, folder: Path, *, deadline: float
) -> Generator[PreparedCapture]:
    bounds = Bounds(None, deadline=deadline)  # type: ignore[arg-type]
    candidate = candidate_of(capture, plan)
    with reference_of(capture, plan, candidate, bounds) as reference:
        described: dict[Role, Described] = {}
        for variant in filter(None, (candidate, reference)):
            words = ", ".join(variant.difference) or variant.workload
            described[variant.role] = Described(
                variant.workload, commit=variant.commit, words=words
            )
        yield PreparedCapture(
            capture, folder, candidate, reference, bounds, described, backend="cpu"
        )
