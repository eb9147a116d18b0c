"""Whole nights, small ones: real processes that sleep, a real history, a real page."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from tracekit.base.errors import InterruptedRunError, RecordingError, UsageError
from tracekit.machine.state import StateLimits
from tracekit.nightly.folder import NightFolder
from tracekit.nightly.history.night import Described, Entry, Night, Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.nightly.run import run_night

pytestmark = pytest.mark.processes

NAP = """
import os
import time

from tracekit.workload import Step, workload


@workload
def nap(seconds: float = 0.002, broken: bool = False) -> Step:
    '''Sleep in each step, as long as the environment says.'''
    if broken:
        raise ValueError("not today")
    seconds = float(os.environ.get("NAP", seconds))
    return Step(submit=lambda: None, wait=lambda _: time.sleep(seconds), backend="cpu", tokens=2)
"""
# Tests run on machines that do other things: their state is judged where a test is about that.
ANY = StateLimits(None, None, None, None, None, None, None, low_power=True)
BEGUN = datetime(2026, 11, 20, 2, 30, tzinfo=UTC)
Interpreter = Callable[[str], Path]


@pytest.fixture
def interpreter(tmp_path: Path) -> Interpreter:
    """Make an interpreter in whose environment a nap is so long."""

    def make(seconds: str) -> Path:
        file = tmp_path / f"python-{seconds}"
        file.write_text(f'#!/bin/sh\nNAP={seconds} exec "{sys.executable}" "$@"\n')
        file.chmod(0o755)
        return file

    return make


@pytest.fixture
def capture(tmp_path: Path, interpreter: Interpreter) -> Capture:
    """A capture whose sides do the same."""
    folder = tmp_path / "workloads"
    folder.mkdir()
    (folder / "nap.py").write_text(NAP)
    return Capture(
        "nap",
        "nap",
        workloads=folder,
        reference=Reference(python=interpreter("0.002")),
        pairs=6,
        turn=0.02,
        warmup=1,
        traced=0,
        metrics=(Gated("step_p50", 0.2), Gated("idle_ratio", 0.02, "difference", gate=False)),
    )


def plan_of(tmp_path: Path, *captures: Capture) -> NightPlan:
    output = tmp_path / "nights"
    return NightPlan(
        "naps",
        tmp_path / "tracekit.toml",
        captures,
        output,
        f"sqlite:///{output / 'history.db'}",
        machine="mini-1",
        state=ANY,
        digest="0123",
    )


def kept(plan: NightPlan) -> list[Night]:
    with Store.open(plan.history) as store:
        return store.nights()


def test_a_night_is_measured_kept_and_drawn(tmp_path: Path, capture: Capture) -> None:
    plan = plan_of(tmp_path, capture)
    heard: list[str] = []
    night = run_night(plan, now=lambda: BEGUN, progress=heard.append)

    assert (night.outcome, night.partial, night.machine) == (Outcome.OK, False, "mini-1")
    assert night.started == night.ended == "2026-11-20T02:30:00.000+00:00"
    entry = night.entries[0]
    assert (entry.outcome, entry.backend, len(entry.pairs)) == (Outcome.OK, "cpu", 6)
    speed = entry.judged[0]
    assert speed.candidate == pytest.approx(2.1e6, rel=0.3)
    assert speed.expected == 0
    assert speed.change == pytest.approx(0, abs=0.2)
    assert {"chip", "python", "tracekit", "os_build"} <= set(night.environment)
    assert "nap: pair 6 of 6" in heard

    assert kept(plan) == [night]
    folder = NightFolder(plan.output / night.id)
    assert folder.load() == night
    assert night.folder == night.id
    page = folder.page.read_text()
    assert "naps" in page
    assert night.id[:10] in page


def test_a_slower_candidate_is_a_regression_that_two_sittings_found(
    tmp_path: Path, capture: Capture, interpreter: Interpreter
) -> None:
    before = replace(capture, reference=Reference(python=interpreter("0.001")))
    night = run_night(plan_of(tmp_path, before))
    entry = night.entries[0]
    assert night.outcome is entry.outcome is Outcome.REGRESSION
    assert {one.sitting for one in entry.pairs} == {1, 2}
    assert len(entry.pairs) == 12
    assert entry.judged[0].reproduced is True
    assert entry.judged[0].change == pytest.approx(0.95, abs=0.35)
    assert "step_p50" in night.reason


def test_what_is_known_to_be_slower_is_accepted_once_and_then_expected(
    tmp_path: Path, capture: Capture
) -> None:
    """Other work than the reference's has no change that is expected, until one was accepted."""
    other = replace(capture, reference=Reference(parameters={"seconds": 0.001}))
    plan = plan_of(tmp_path, other)
    first = run_night(plan)
    assert first.outcome is Outcome.INCONCLUSIVE
    assert "tracekit baseline accept" in first.reason
    with Store.open(plan.history) as store:
        store.accept(first.id, ["nap"], reason="twice the work")
    second = run_night(plan)
    assert second.outcome is Outcome.OK
    judged = second.entries[0].judged[0]
    assert judged.baseline == first.id
    assert judged.expected == pytest.approx(0.95, abs=0.35)


def test_a_capture_that_fails_is_no_slow_one_and_the_others_go_on(
    tmp_path: Path, capture: Capture
) -> None:
    broken = replace(capture, name="broken", parameters={"broken": True})
    followed = replace(capture, pairs=1, metrics=(Gated("step_p50", gate=False),))
    night = run_night(plan_of(tmp_path, broken, followed))
    first, second = night.entries
    assert (first.outcome, second.outcome) == (Outcome.FAILED, Outcome.UNJUDGED)
    assert night.outcome is Outcome.FAILED
    assert "not today" in first.reason
    assert first.judged == ()


def test_where_a_check_fails_nothing_is_measured(tmp_path: Path, capture: Capture) -> None:
    unsound = replace(capture, name="unsound", checks=((sys.executable, "-c", "exit(3)"),))
    night = run_night(plan_of(tmp_path, capture, unsound))
    assert [one.outcome for one in night.entries] == [Outcome.INCONCLUSIVE, Outcome.FAILED]
    assert (night.outcome, night.partial) == (Outcome.FAILED, True)
    assert not any(one.pairs for one in night.entries)
    assert "ended with exit code 3" in night.entries[1].reason


def test_a_machine_that_is_not_fit_makes_a_night_inconclusive(
    tmp_path: Path, capture: Capture
) -> None:
    plan = plan_of(tmp_path, replace(capture, pairs=2, metrics=(Gated("step_p50", 0.2),)))
    plan = replace(plan, state=replace(ANY, memory_free=1 << 60), retries=1)
    night = run_night(plan)
    assert night.outcome is Outcome.INCONCLUSIVE
    pairs = night.entries[0].pairs
    assert len(pairs) == 3
    assert all("of memory were free" in one.contaminated[0] for one in pairs)
    assert "of memory were free" in night.reason


def test_a_night_whose_time_is_spent_is_partial(tmp_path: Path, capture: Capture) -> None:
    plan = replace(plan_of(tmp_path, replace(capture, pairs=500)), budget=1.5)
    night = run_night(plan)
    assert (night.outcome, night.partial) == (Outcome.INCONCLUSIVE, True)
    assert "time was spent" in night.entries[0].reason
    assert len(night.entries[0].pairs) < 500
    assert kept(plan) == [night]


def test_a_night_that_is_interrupted_keeps_what_it_has(tmp_path: Path, capture: Capture) -> None:
    plan = plan_of(tmp_path, capture, replace(capture, name="later"))

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


def test_traces_are_taken_and_told_beside_the_pairs(tmp_path: Path, capture: Capture) -> None:
    traced = replace(capture, pairs=2, traced=1, recorder="host", time_limit=0.3)
    followed = replace(traced, metrics=(Gated("idle_ratio", 0.02, "difference", gate=False),))
    plan = plan_of(tmp_path, followed)
    night = run_night(plan)
    entry = night.entries[0]
    pair = entry.pairs[-1]
    assert pair.traced
    assert pair.runs == ("nap/candidate-1-1", "nap/reference-1-1")
    for run in pair.runs:
        assert (plan.output / night.id / run / "report.html").is_file()
    assert entry.judged[0].candidate == pair.candidate["idle_ratio"][0]
    assert night.environment["recorder"] == "host"
    assert entry.overhead is not None
    assert entry.overhead.ratio == pytest.approx(0, abs=1)
    assert (
        f"{night.id}/nap/candidate-1-1/report.html"
        in NightFolder(plan.output / night.id).page.read_text()
    )


def test_a_night_that_was_killed_is_added_by_the_next_one(tmp_path: Path, capture: Capture) -> None:
    plan = plan_of(tmp_path, replace(capture, pairs=1))
    killed = Night(
        "2026-11-19T02-30-00-abcd",
        "naps",
        "mini-1",
        "2026-11-19T02:30:00.000+00:00",
        entries=(Entry("nap", "00", Described("nap")),),
    )
    left = plan.output / killed.id
    left.mkdir(parents=True)
    NightFolder(left).save(killed)
    night = run_night(plan, now=lambda: BEGUN)
    first, second = kept(plan)
    assert (first.id, first.partial) == (killed.id, True)
    assert first.outcome is Outcome.FAILED
    assert second == night
    assert f"The night {killed.id} had not been added" in " ".join(night.warnings)


def test_a_history_that_cannot_be_kept_is_told_before_anything_is_measured(
    tmp_path: Path, capture: Capture
) -> None:
    place = tmp_path / "file"
    place.write_text("")
    plan = replace(plan_of(tmp_path, capture), history=f"sqlite:///{place / 'history.db'}")
    with pytest.raises(RecordingError):
        run_night(plan)
    assert not list(plan.output.glob("*/night.json"))


def test_without_a_history_nothing_but_the_nights_folder_is_left(
    tmp_path: Path, capture: Capture
) -> None:
    plan = plan_of(tmp_path, replace(capture, pairs=1))
    night = run_night(plan, keep=False)
    assert json.loads((plan.output / night.id / "night.json").read_text())["id"] == night.id
    assert not (plan.output / "history.db").exists()
    assert not (plan.output / "trend.html").exists()
    later = run_night(plan)
    assert not [one for one in later.warnings if "history" in one]
    with Store.open(plan.history) as store:
        assert [one.id for one in store.nights()] == [later.id], "not the one before"


def test_only_the_captures_that_are_named_run(tmp_path: Path, capture: Capture) -> None:
    plan = plan_of(tmp_path, replace(capture, pairs=1), replace(capture, name="other", pairs=1))
    night = run_night(plan, captures=["other"])
    assert [one.capture for one in night.entries] == ["other"]
    assert night.partial is False
    with pytest.raises(UsageError, match="has no capture 'othre'"):
        run_night(plan, captures=["othre"])


def test_no_process_outlives_a_night(tmp_path: Path, capture: Capture) -> None:
    run_night(plan_of(tmp_path, replace(capture, pairs=1)))
    left = [
        one for one in psutil.Process(os.getpid()).children() if "turns" in " ".join(one.cmdline())
    ]
    assert left == []


def test_a_machine_that_is_not_ready_is_waited_for_and_then_left_alone(
    tmp_path: Path, capture: Capture
) -> None:
    heard: list[str] = []
    never = replace(ANY, memory_free=1 << 60)
    plan = replace(plan_of(tmp_path, capture), wait=0.5, state=never)
    night = run_night(plan, progress=heard.append)
    (entry,) = night.entries
    assert night.outcome is entry.outcome is Outcome.INCONCLUSIVE
    assert not night.partial
    assert entry.pairs == ()
    assert entry.reason.startswith("Nothing was measured, for the machine was not ready within")
    assert any(words.startswith("nap: waiting for the machine: ") for words in heard)
    ready = run_night(replace(plan, state=ANY), progress=heard.append)
    assert ready.outcome is Outcome.OK
