import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.machine.watch import Watch
from tracekit.nightly.plan.plan import Reference
from tracekit.nightly.session.measuring import measure
from tracekit.nightly.session.prepared import Prepared
from tracekit.nightly.session.program import BudgetSpentError, Timeouts

pytestmark = [pytest.mark.usefixtures("children"), pytest.mark.processes]


def ending(prepared: Prepared, deadline: float) -> Prepared:
    """Return a capture of a night whose time is spent then."""
    return replace(prepared, bounds=replace(prepared.bounds, deadline=deadline))


def slower(factor: float) -> Reference:
    return Reference(parameters={"slow": factor})


def test_a_pair_tells_each_turn_of_each_side(ready: Callable[..., Any]) -> None:
    with ready(reference=slower(2)) as prepared:
        first, second = measure(prepared)
    assert (first.sitting, first.number, first.order) == (1, 1, "abba")
    assert (second.number, second.order) == (2, "baab")
    assert set(first.candidate) == {"step_p50", "step_rate", "tokens_per_second", "depth"}
    assert len(first.candidate["step_p50"]) == len(first.reference["step_p50"]) == 2
    assert 1e6 < min(first.candidate["step_p50"]) < max(first.candidate["step_p50"]) < 2e6
    assert min(first.reference["step_p50"]) > 2e6
    assert first.candidate["depth"] == (0.25,)
    rate, tokens = first.candidate["step_rate"], first.candidate["tokens_per_second"]
    assert tokens == pytest.approx([3 * one for one in rate])
    assert first.before is None
    assert not first.traced


def test_every_pair_has_processes_of_its_own(ready: Callable[..., Any], tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    with ready(parameters={"mark": str(mark)}) as prepared:
        list(measure(prepared))
        pids = mark.read_text().split()
    assert len(set(pids)) == len(pids) == 4


def test_what_was_learned_is_there_for_the_night(ready: Callable[..., Any]) -> None:
    with ready(pairs=1) as prepared:
        assert prepared.backend == ""
        list(measure(prepared))
        assert prepared.backend == "cpu"
        assert prepared.results["depth"].better == "neither"
        assert prepared.remarks == []


def test_without_a_reference_there_are_only_turns_of_the_candidate(
    ready: Callable[..., Any],
) -> None:
    with ready(reference=None, pairs=1) as prepared:
        (pair,) = measure(prepared)
    assert pair.order == "aa"
    assert len(pair.candidate["step_rate"]) == 2
    assert pair.reference == {}


def test_sides_that_do_not_fit_together_run_one_after_the_other(
    ready: Callable[..., Any], tmp_path: Path, children: Callable[[], list[psutil.Process]]
) -> None:
    with ready(together=False, reference=slower(2)) as prepared:
        first, second = measure(prepared, session=2, first=3)
    assert [first.order, second.order] == ["ab", "ba"]
    assert (first.sitting, first.number) == (2, 3)
    assert len(first.candidate["step_p50"]) == len(first.reference["step_p50"]) == 1
    assert first.reference["step_p50"] > first.candidate["step_p50"]


def test_more_pairs_can_be_asked_for(ready: Callable[..., Any]) -> None:
    with ready() as prepared:
        pairs = list(measure(prepared, first=11, pairs=1))
    assert [one.number for one in pairs] == [11]


def test_a_turn_of_many_steps_tells_its_99th_percentile(ready: Callable[..., Any]) -> None:
    with ready(pairs=1, reference=None, turn=0.5, parameters={"seconds": 0.0}) as prepared:
        (pair,) = measure(prepared)
    both = zip(pair.candidate["step_p50"], pair.candidate["step_p99"], strict=True)
    assert all(0 < p50 <= p99 for p50, p99 in both)


def test_long_steps_are_made_five_times_a_turn(ready: Callable[..., Any]) -> None:
    with ready(pairs=1, reference=None, parameters={"seconds": 0.02}) as prepared:
        (pair,) = measure(prepared)
    assert statistics.median(pair.candidate["step_p50"]) > 0.02e9


def test_what_a_workload_prints_is_kept_and_corrupts_nothing(ready: Callable[..., Any]) -> None:
    with ready(pairs=1, parameters={"trick": "print"}) as prepared:
        (pair,) = measure(prepared)
        said = prepared.log_of("candidate").read_text()
    assert pair.candidate["step_p50"]
    assert "a line of the workload" in said


def test_the_machine_is_looked_at_before_and_after(ready: Callable[..., Any]) -> None:
    with ready() as prepared, Watch("off") as watch:
        pairs = list(measure(prepared, watch=watch))
    states = [state for pair in pairs for state in (pair.before, pair.after)]
    assert len(states) == 4
    for state in states:
        assert state is not None
        assert 1e5 < state.readings["calibration"] < 1e9
        assert "load" in state.readings


def test_without_calibration_the_machine_is_looked_at_too(
    ready: Callable[..., Any],
) -> None:
    with ready(pairs=1) as prepared, Watch("off") as watch:
        (pair,) = measure(prepared, watch=watch, calibrate=False)
        assert not prepared.log_of("calibration").exists()
    for state in (pair.before, pair.after):
        assert state is not None
        assert state.absences["calibration"] == "no fixed work was done."
        assert "load" in state.readings


def test_the_machine_is_looked_at_around_sides_apart(ready: Callable[..., Any]) -> None:
    with ready(pairs=1, together=False) as prepared, Watch("off") as watch:
        (pair,) = measure(prepared, watch=watch)
    assert pair.before is not None
    assert pair.after is not None
    assert pair.before.at < pair.after.at


@pytest.mark.parametrize(
    ("trick", "told"),
    [
        ("crash", "The candidate of short: The workload failed: RuntimeError: the pool is empty"),
        ("kill", "The candidate of short ended in the middle of its work, with signal SIGKILL."),
        ("exit", "The candidate of short ended in the middle of its work, with exit code 7."),
        ("refuse", "The candidate of short: The workload failed: ValueError: not today"),
        ("exhausted", "The candidate of short had nothing left to do in its turn."),
        ("idle", "The candidate of short made no step that did anything in its turn."),
    ],
)
def test_a_side_that_fails_is_named_and_quoted(
    ready: Callable[..., Any], trick: str, told: str
) -> None:
    with (
        ready(parameters={"trick": trick}, turn=0.1, reference=None) as prepared,
        pytest.raises(ToolError) as caught,
    ):
        list(measure(prepared))
    assert caught.value.message.startswith(told)
    if trick == "kill":
        assert caught.value.message.endswith("Its last words: about to be killed")


def test_it_is_the_reference_that_fails_where_it_does(ready: Callable[..., Any]) -> None:
    with (
        ready(reference=Reference(parameters={"trick": "exit"}), turn=0.1) as prepared,
        pytest.raises(ToolError, match=r"^The reference of short ended"),
    ):
        list(measure(prepared))


def test_pairs_before_a_failure_are_whole(ready: Callable[..., Any], tmp_path: Path) -> None:
    with ready(pairs=3) as prepared:
        pairs = measure(prepared)
        first = next(pairs)
        (prepared.candidate.workloads / "naps.py").write_text("no Python")
        with pytest.raises(ToolError, match=r"cannot be loaded"):
            next(pairs)
    assert first.candidate["step_p50"]


def test_a_side_that_hangs_is_ended(ready: Callable[..., Any]) -> None:
    hasty = Timeouts(turn=0.3, leave=0.1)
    with (
        ready(parameters={"trick": "hang"}, turn=0.05, timeouts=hasty, reference=None) as prepared,
        pytest.raises(ToolError, match=r"^The candidate of short did not answer within"),
    ):
        list(measure(prepared))


def test_the_night_s_time_ends_even_a_side_that_hangs(ready: Callable[..., Any]) -> None:
    begun = time.monotonic()
    with (
        ready(parameters={"trick": "hang"}, turn=0.05, reference=None) as prepared,
        pytest.raises(BudgetSpentError, match=r"while the candidate of short worked"),
    ):
        list(measure(ending(prepared, time.monotonic() + 4)))
    assert time.monotonic() - begun < 30


def test_no_pair_is_begun_once_the_time_is_spent(ready: Callable[..., Any], tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    with ready(parameters={"mark": str(mark)}) as prepared, pytest.raises(BudgetSpentError):
        list(measure(ending(prepared, time.monotonic())))
    assert not mark.exists()


def test_who_stops_asking_leaves_nothing_behind(
    ready: Callable[..., Any], children: Callable[[], list[psutil.Process]]
) -> None:
    with ready(pairs=5) as prepared, Watch("off") as watch:
        for pair in measure(prepared, watch=watch):
            assert pair.number == 1
            break
        names = [" ".join(one.cmdline()) for one in children()]
    assert not [one for one in names if "tracekit.workload.interleaved" in one]


def test_ctrl_c_leaves_nothing_behind(
    ready: Callable[..., Any], children: Callable[[], list[psutil.Process]]
) -> None:
    def interrupt() -> None:
        while not [one for one in children() if "tracekit.workload.interleaved" in one.cmdline()]:
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    with ready(turn=30.0) as prepared:
        helper = threading.Thread(target=interrupt)
        helper.start()
        with pytest.raises(KeyboardInterrupt):
            list(measure(prepared))
        helper.join()


def test_a_killed_night_leaves_nothing_behind(workloads: Path, tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference
from tracekit.nightly.session.measuring import measure
from tracekit.nightly.session.prepared import Prepared
from tracekit.nightly.session.prepared import prepared
home = Path({str(tmp_path)!r})
capture = Capture("short", "naps", home / "plan" / "workloads", {{"mark": str(home / "pids")}},
                  Reference(), turn=30.0)
plan = NightPlan("nightly", home / "plan" / "tracekit.toml", (capture,), home, "sqlite://")
with prepared(capture, plan, home / "night") as ready:
    list(measure(ready))
"""
    (tmp_path / "night").mkdir()
    (tmp_path / "plan" / "tracekit.toml").touch()
    parent = subprocess.Popen([sys.executable, "-c", program])
    mark = tmp_path / "pids"
    try:
        for _ in range(2000):
            if mark.exists() and len(mark.read_text().split()) == 2:
                break
            time.sleep(0.01)
    finally:
        parent.kill()
        parent.wait()
    pids = [int(one) for one in mark.read_text().split()]
    for _ in range(1500):
        if not any(psutil.pid_exists(one) for one in pids):
            return
        time.sleep(0.01)
    pytest.fail(f"still there: {[one for one in pids if psutil.pid_exists(one)]}")


def test_a_parameter_that_the_candidate_does_not_know_is_refused_first(
    ready: Callable[..., Any],
) -> None:
    told = "has no parameter 'depth'"
    with pytest.raises(UsageError, match=told), ready(parameters={"depth": 1}):
        pytest.fail("it was prepared")


def test_what_a_workload_started_ends_with_its_pair(
    ready: Callable[..., Any], tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    with ready(parameters={"trick": "fork", "mark": str(mark)}, pairs=1) as prepared:
        list(measure(prepared))
    pids = [int(line) for line in mark.read_text().split()]
    assert len(set(pids)) == 6
    assert [one for one in pids if psutil.pid_exists(one) and _runs(one)] == []


def _runs(pid: int) -> bool:
    with suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False
