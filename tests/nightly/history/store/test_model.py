"""A history does what a list of nights and a few dictionaries would do, in any order of calls."""

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stored_nights import entry_of, judged_of, night_of
from tracekit.base.errors import InputError, UsageError
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.history.store.store import Store

DAYS = st.integers(1, 9)
MACHINES = st.sampled_from(["mini", "studio"])
OUTCOMES = st.sampled_from([Outcome.OK, Outcome.REGRESSION, Outcome.FAILED])
WORKS = st.sampled_from(["w1", "w2"])
REASONS = st.sampled_from(["", " ", "safer", "wanted"])


class History(RuleBasedStateMachine):
    """The store beside a model of it."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.nights: dict[str, Night] = {}
        self.accepted: list[tuple[str, str, str, str]] = []
        self.pinned: set[str] = set()
        self.missed: dict[tuple[str, int], str] = {}

    @initialize()
    def open(self) -> None:
        """Begin with an empty history."""
        url = self.url.replace("{}", uuid4().hex) if "{}" in self.url else self.made()
        self.context = Store.open(url)
        self.store = self.context.__enter__()

    def made(self) -> str:
        """Return the URL of a new database of the server."""
        raise NotImplementedError

    def teardown(self) -> None:
        """Close it."""
        self.context.__exit__(None, None, None)

    @rule(day=DAYS, machine=MACHINES, outcome=OUTCOMES, work=WORKS)
    def append(self, day: int, machine: str, outcome: Outcome, work: str) -> None:
        """Add a night, the same again, or another of its id."""
        judged = judged_of(outcome=outcome)
        entries = () if outcome is Outcome.FAILED else (entry_of(work=work, judged=[judged]),)
        night = night_of(day, entries, machine=machine, outcome=outcome)
        known = self.nights.get(night.id)
        if known is None:
            assert self.store.append(night)
            self.nights[night.id] = night
        elif known == night:
            assert not self.store.append(night)
        else:
            with pytest.raises(InputError):
                self.store.append(night)

    @precondition(lambda self: self.nights)
    @rule(reason=REASONS)
    def accept_the_latest(self, reason: str) -> None:
        """Accept a night, or fail to."""
        night = self.ordered()[-1]
        if not reason.strip() or night.outcome is Outcome.FAILED:
            with pytest.raises(UsageError):
                self.store.accept("latest", [], reason)
            return
        self.store.accept("latest", [], reason)
        self.accepted.append((night.machine, night.entries[0].work, night.id, reason))

    @precondition(lambda self: self.nights)
    @rule(data=st.data(), hold=st.booleans())
    def pin_or_unpin(self, data: Any, hold: bool) -> None:
        """Pin a night, or let it go."""
        name = data.draw(st.sampled_from(sorted(self.nights)))
        if hold:
            assert self.store.pin(name, "to look at") == name
            self.pinned.add(name)
        elif name in self.pinned:
            assert self.store.unpin(name) == name
            self.pinned.remove(name)
        else:
            with pytest.raises(UsageError):
                self.store.unpin(name)

    @rule(day=DAYS, machine=MACHINES, reason=REASONS)
    def miss(self, day: int, machine: str, reason: str) -> None:
        """Note a night that did not run."""
        due = f"2026-03-{day:02d}T02:30:00.000+00:00"
        new = (machine, day) not in self.missed
        assert self.store.missed("nightly", machine, due, reason) is new
        self.missed.setdefault((machine, day), reason)

    @invariant()
    def nights_are_those(self) -> None:
        """Compare nights."""
        if not hasattr(self, "store"):
            return
        assert self.store.nights() == self.ordered()
        assert self.store.ids() == set(self.nights)
        assert self.store.nights(outcome=Outcome.FAILED) == [
            one for one in self.ordered() if one.outcome is Outcome.FAILED
        ]

    @invariant()
    def decisions_are_those(self) -> None:
        """Compare what people decided."""
        if not hasattr(self, "store"):
            return
        assert self.store.pinned() == self.pinned
        assert {
            (one.machine, int(one.due[8:10])): one.reason for one in self.store.missed_nights()
        } == self.missed
        for machine in ("mini", "studio"):
            for work in ("w1", "w2"):
                own = [one for one in self.accepted if one[:2] == (machine, work)]
                holds = self.store.accepted(machine, "decode", work)
                told = None if holds is None else (machine, work, holds.night, holds.reason)
                assert told == (own[-1] if own else None)

    @invariant()
    def series_have_each_night_once(self) -> None:
        """Compare series."""
        if not hasattr(self, "store"):
            return
        valued = [
            (one.machine, one.work, point.night)
            for one in self.store.series()
            for point in one.points
            if point.value is not None
        ]
        assert len(valued) == len(set(valued))
        assert set(valued) == {
            (one.machine, entry.work, one.id)
            for one in self.nights.values()
            for entry in one.entries
        }
        for one in self.store.series():
            times = [point.at for point in one.points]
            assert times == sorted(times)

    def ordered(self) -> list[Night]:
        """Return the model's nights, oldest first."""
        return sorted(self.nights.values(), key=lambda one: one.started)


def test_a_history_in_sqlite_does_what_a_model_does(tmp_path: Any) -> None:
    class InSqlite(History):
        url = f"{tmp_path}/{{}}.db"

    _run(InSqlite, examples=8)


def _run(machine: type[History], examples: int) -> None:
    case = machine.TestCase
    case.settings = settings(
        max_examples=examples,
        stateful_step_count=10,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    case().runTest()
