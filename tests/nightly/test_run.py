"""Whole nights, small ones: real processes that sleep, a real history, a real page.

One night with four captures is measured once, and read by all tests that only look at it.
"""

import json
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.base.errors import InterruptedRunError, RecordingError, UsageError
from tracekit.machine.state import StateLimits
from tracekit.nightly.folder import NightFolder
from tracekit.nightly.history.night import Entry, Night, Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.nightly.run import run_night

pytestmark = pytest.mark.processes

NAP = """
import os
import time

from tracekit.workload import Step, workload


@workload
def nap(seconds: float = 0.006, broken: bool = False) -> Step:
    '''Sleep in each step, as long as the environment says.'''
    if broken:
        raise ValueError("not today")
    seconds = float(os.environ.get("NAP", seconds))
    return Step(submit=lambda: None, wait=lambda _: time.sleep(seconds), backend="cpu", tokens=2)
"""
# Tests run on machines that do other things: their state is judged where a test is about that.
ANY = StateLimits(None, None, None, None, None, None, None, low_power=True)
BEGUN = datetime(2026, 11, 20, 2, 30, tzinfo=UTC)
SPEED = Gated("step_p50", 1.0)
FOLLOWED = Gated("idle_ratio", 0.02, "difference", gate=False)


def capture_in(folder: Path, name: str = "nap", nap: str = "0.006", **values: Any) -> Capture:
    """Return a capture against an interpreter in whose environment a nap is so long."""
    (folder / "workloads").mkdir(exist_ok=True)
    (folder / "workloads" / "nap.py").write_text(NAP)
    python = folder / f"python-{nap}"
    python.write_text(f'#!/bin/sh\nNAP={nap} exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return Capture(
        name,
        "nap",
        **{
            "workloads": folder / "workloads",
            "reference": Reference(python=python),
            "pairs": 6,
            "turn": 0.02,
            "warmup": 1,
            "traced": 0,
            "metrics": (SPEED,),
        }
        | values,
    )


def plan_of(folder: Path, *captures: Capture) -> NightPlan:
    output, file = folder / "nights", folder / "tracekit.toml"
    history = f"sqlite:///{output / 'history.db'}"
    return NightPlan("naps", file, captures, output, history, machine="mini-1", state=ANY)


def kept(plan: NightPlan) -> list[Night]:
    with Store.open(plan.history) as store:
        return store.nights()


@dataclass(frozen=True)
class Measured:
    """A night that was measured, its plan, and what was heard of it."""

    plan: NightPlan
    night: Night
    heard: list[str]
    children: list[psutil.Process]

    def __getitem__(self, capture: str) -> Entry:
        return next(one for one in self.night.entries if one.capture == capture)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A night of a capture that is as it was, a slower, a broken, and a traced one."""
    folder, heard = tmp_path_factory.mktemp("night"), list[str]()
    traced = {"pairs": 2, "traced": 1, "recorder": "host", "time_limit": 0.3}
    plan = plan_of(
        folder,
        capture_in(folder, metrics=(SPEED, FOLLOWED)),
        capture_in(folder, "slower", "0.0015"),
        capture_in(folder, "broken", parameters={"broken": True}),
        capture_in(folder, "traced", metrics=(FOLLOWED,), **traced),
    )
    before = set(psutil.Process().children())
    night = run_night(plan, now=lambda: BEGUN, progress=heard.append)
    left = [one for one in psutil.Process().children() if one not in before]
    return Measured(plan, night, heard, left)


def test_a_night_is_measured_kept_and_drawn(measured: Measured) -> None:
    plan, night = measured.plan, measured.night
    assert (night.outcome, night.partial, night.machine) == (Outcome.REGRESSION, False, "mini-1")
    assert night.started == night.ended == "2026-11-20T02:30:00.000+00:00"
    entry = measured["nap"]
    assert (entry.outcome, entry.backend, len(entry.pairs)) == (Outcome.OK, "cpu", 6)
    speed = entry.judged[0]
    assert speed.candidate is not None
    assert speed.candidate > 6e6
    assert (speed.expected, speed.change) == (0, pytest.approx(0, abs=1))
    assert {"chip", "python", "tracekit", "os_build"} <= set(night.environment)
    assert "nap: pair 6 of 6" in measured.heard
    assert measured.children == []

    assert kept(plan) == [night]
    folder = NightFolder(plan.output / night.id)
    assert folder.load() == night
    assert night.folder == night.id
    page = folder.page.read_text()
    assert "naps" in page
    assert night.id[:10] in page


def test_a_capture_that_fails_is_no_slow_one_and_the_others_go_on(measured: Measured) -> None:
    entry = measured["broken"]
    assert (entry.outcome, entry.judged) == (Outcome.FAILED, ())
    assert "not today" in entry.reason


def test_traces_are_taken_and_shown_beside_the_pairs(measured: Measured) -> None:
    plan, night, entry = measured.plan, measured.night, measured["traced"]
    assert entry.outcome is Outcome.UNJUDGED
    pair = entry.pairs[-1]
    assert pair.traced
    assert pair.runs == ("traced/candidate-1-1", "traced/reference-1-1")
    for run in pair.runs:
        assert (plan.output / night.id / run / "report.html").is_file()
    assert entry.judged[0].candidate == pair.candidate["idle_ratio"][0]
    assert night.environment["recorder"] == "host"
    assert entry.overhead is not None
    assert entry.overhead.ratio is not None
    page = NightFolder(plan.output / night.id).page.read_text()
    assert f"{night.id}/traced/candidate-1-1/report.html" in page


def test_what_is_known_to_be_slower_is_accepted_once_and_then_expected(tmp_path: Path) -> None:
    """Other work than the reference's has no change that is expected, until one was accepted."""
    plan = plan_of(
        tmp_path, capture_in(tmp_path, reference=Reference(parameters={"seconds": 0.0015}))
    )
    first = run_night(plan)
    assert first.outcome is Outcome.INCONCLUSIVE
    assert "tracekit baseline accept" in first.reason
    with Store.open(plan.history) as store:
        store.accept(first.id, ["nap"], reason="four times the work")
    second = run_night(plan)
    judged = second.entries[0].judged[0]
    assert (second.outcome, judged.baseline) == (Outcome.OK, first.id)
    assert judged.expected is not None
    assert judged.expected > 1


def test_a_machine_that_is_not_fit_is_waited_for_and_its_pairs_do_not_count(
    tmp_path: Path,
) -> None:
    heard: list[str] = []
    plan = plan_of(tmp_path, capture_in(tmp_path, pairs=2))
    plan = replace(plan, state=replace(ANY, memory_free=1 << 60), retries=1)
    night = run_night(replace(plan, wait=0.5), progress=heard.append)
    (entry,) = night.entries
    assert night.outcome is entry.outcome is Outcome.INCONCLUSIVE
    assert not night.partial
    assert entry.pairs == ()
    assert entry.reason.startswith(
        "Nothing was measured, for the machine was not ready within 500 ms:"
    )
    assert any(words.startswith("nap: waiting for the machine: ") for words in heard)
    at_once = run_night(plan)
    assert at_once.outcome is Outcome.INCONCLUSIVE
    pairs = at_once.entries[0].pairs
    assert len(pairs) == 3, "two, and one for those that did not count"
    assert all("of memory were free" in one.contaminated[0] for one in pairs)
    assert "of memory were free" in at_once.reason


def test_a_night_whose_time_is_spent_is_partial(tmp_path: Path) -> None:
    plan = replace(plan_of(tmp_path, capture_in(tmp_path, pairs=500)), budget=1.5)
    night = run_night(plan)
    assert (night.outcome, night.partial) == (Outcome.INCONCLUSIVE, True)
    assert "time was spent" in night.entries[0].reason
    assert len(night.entries[0].pairs) < 500
    assert kept(plan) == [night]


def test_a_night_that_is_interrupted_keeps_what_it_has(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, capture_in(tmp_path), capture_in(tmp_path, "later"))

    def interrupt(words: str) -> None:
        if words == "nap: pair 3 of 6":
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match="keeps what was measured"):
        run_night(plan, progress=interrupt)
    (night,) = kept(plan)
    assert (night.partial, night.outcome) == (True, Outcome.INCONCLUSIVE)
    assert [one.capture for one in night.entries] == ["nap", "later"]
    assert len(night.entries[0].pairs) == 2
    assert [one.reason for one in night.entries] == [
        "It was interrupted.",
        "It was not measured, for the night was stopped before.",
    ]


def test_a_history_that_cannot_be_kept_stops_a_night_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    place = tmp_path / "file"
    place.write_text("")
    history = f"sqlite:///{place / 'history.db'}"
    plan = replace(plan_of(tmp_path, capture_in(tmp_path)), history=history)
    with pytest.raises(RecordingError):
        run_night(plan)
    assert not list(plan.output.glob("*/night.json"))


def test_only_the_captures_that_are_named_run_and_without_a_history_only_a_folder_is_left(
    tmp_path: Path,
) -> None:
    one = {"pairs": 1}
    plan = plan_of(tmp_path, capture_in(tmp_path, **one), capture_in(tmp_path, "other", **one))
    night = run_night(plan, captures=["other"], keep=False)
    assert ([each.capture for each in night.entries], night.partial) == (["other"], False)
    assert json.loads((plan.output / night.id / "night.json").read_text())["id"] == night.id
    assert not (plan.output / "history.db").exists()
    assert not (plan.output / "trend.html").exists()
    with pytest.raises(UsageError, match="has no capture 'othre'"):
        run_night(plan, captures=["othre"])
