"""Pairs of processes: what is measured, what fails, and that nothing is left behind.

One session is measured once, and read by all tests that only look at what came of it.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest

from naps import undescribed_in, write_naps
from tracekit.base.errors import ToolError
from tracekit.machine.watch import Watch
from tracekit.nightly.history.night import Pair
from tracekit.nightly.plan.plan import Reference
from tracekit.nightly.session.child import Prepared
from tracekit.nightly.session.measuring import measure, order_of
from tracekit.nightly.session.program import BudgetSpentError, Timeouts

pytestmark = pytest.mark.processes

Ready = Callable[..., Any]
SLOWER = Reference(parameters={"slow": 20.0})


@dataclass(frozen=True)
class Session:
    """What was measured of a capture, and by which processes."""

    prepared: Prepared
    pairs: list[Pair]
    pids: list[str]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Two pairs of naps, which print, while the machine is looked at."""
    home = tmp_path_factory.mktemp("session")
    write_naps(home)
    parameters = {"mark": str(home / "pids"), "trick": "print"}
    with (
        undescribed_in(home, parameters=parameters, reference=SLOWER) as prepared,
        Watch("off") as watch,
    ):
        pairs = list(measure(prepared, watch=watch))
    return Session(prepared, pairs, (home / "pids").read_text().split())


def ending(prepared: Prepared, deadline: float) -> Prepared:
    """Return a capture of a night whose time is spent then."""
    return replace(prepared, bounds=replace(prepared.bounds, deadline=deadline))


def test_a_pair_tells_each_turn_of_each_side(session: Session) -> None:
    first, second = session.pairs
    assert (first.sitting, first.number, first.order) == (1, 1, "abba")
    assert (second.number, second.order) == (2, "baab")
    assert set(first.candidate) == {"step_p50", "step_rate", "tokens_per_second", "depth"}
    assert len(first.candidate["step_p50"]) == len(first.reference["step_p50"]) == 2
    assert min(first.candidate["step_p50"]) > 1e6
    assert max(first.candidate["step_p50"]) < min(first.reference["step_p50"])
    assert first.candidate["depth"] == (0.25,)
    rate, tokens = first.candidate["step_rate"], first.candidate["tokens_per_second"]
    assert tokens == pytest.approx([3 * each for each in rate])
    assert not first.traced
    assert len(set(session.pids)) == len(session.pids) == 4, "each pair has processes of its own"
    assert session.prepared.backend == "cpu"
    assert session.prepared.results["depth"].better == "neither"
    assert session.prepared.remarks == []
    looks = [state for pair in session.pairs for state in (pair.before, pair.after) if state]
    assert len(looks) == 4
    assert all(before.at <= after.at for before, after in pairwise(looks))
    assert all(1e5 < look.readings["calibration"] < 1e10 for look in looks)
    assert all("load" in look.readings for look in looks)


def test_odd_and_even_pairs_go_the_other_way_round(session: Session) -> None:
    for together, known, orders in (
        (True, session.prepared.reference, ["abba", "baab"]),
        (False, session.prepared.reference, ["ab", "ba"]),
        (True, None, ["aa", "aa"]),
        (False, None, ["a", "a"]),
    ):
        capture = replace(session.prepared.capture, together=together)
        asked = replace(session.prepared, capture=capture, reference=known)
        assert [order_of(asked, number) for number in (1, 2)] == orders


def test_sides_that_do_not_fit_together_run_one_after_the_other(ready: Ready) -> None:
    values: dict[str, Any] = {"together": False, "reference": SLOWER}
    with ready(**values) as prepared, Watch("off") as watch:
        pair, *_ = measure(prepared, session=2, first=3, pairs=1, watch=watch, calibrate=False)
        assert not prepared.log_of("calibration").exists()
    assert (pair.sitting, pair.number, pair.order) == (2, 3, "ab")
    assert len(pair.candidate["step_p50"]) == len(pair.reference["step_p50"]) == 1
    assert pair.reference["step_p50"] > pair.candidate["step_p50"]
    assert pair.before is not None
    assert pair.after is not None
    assert pair.before.at < pair.after.at
    assert pair.before.absences["calibration"] == "no fixed work was done."


@pytest.mark.parametrize(
    ("trick", "reason"),
    [
        ("crash", "The candidate of short: The workload failed: RuntimeError: the pool is empty"),
        ("kill", "The candidate of short ended in the middle of its work, with signal SIGKILL."),
        ("exhausted", "The candidate of short had nothing left to do in its turn."),
        ("hang", "The candidate of short did not answer within"),
    ],
)
def test_a_side_that_fails_is_named_and_quoted(ready: Ready, trick: str, reason: str) -> None:
    hasty = Timeouts(turn=0.3, leave=0.1)
    values: dict[str, Any] = {"turn": 0.05, "timeouts": hasty, "reference": None}
    with (
        ready(parameters={"trick": trick}, **values) as prepared,
        pytest.raises(ToolError) as caught,
    ):
        list(measure(prepared))
    assert caught.value.message.startswith(reason)
    if trick == "kill":
        assert caught.value.message.endswith("Its last words: about to be killed")


def test_the_night_s_time_ends_even_a_side_that_hangs(ready: Ready, tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    parameters = {"trick": "hang", "mark": str(mark)}
    with ready(parameters=parameters, turn=0.05, reference=None) as prepared:
        with pytest.raises(BudgetSpentError):
            list(measure(ending(prepared, time.monotonic())))
        assert not mark.exists(), "no pair is begun once the time is spent"
        with pytest.raises(BudgetSpentError, match=r"while the candidate of short worked"):
            list(measure(ending(prepared, time.monotonic() + 4)))


def test_who_stops_asking_leaves_nothing_behind(
    ready: Ready, children: Callable[[], list[psutil.Process]], tmp_path: Path
) -> None:
    """Neither processes of the pair, nor the calibration's, nor what a workload started."""
    mark = tmp_path / "mark"
    parameters = {"trick": "fork", "mark": str(mark)}
    with ready(pairs=5, parameters=parameters) as prepared, Watch("off") as watch:
        next(measure(prepared, watch=watch))
        names = [" ".join(each.cmdline()) for each in children()]
    assert not [each for each in names if "tracekit.workload.interleaved" in each]
    pids = [int(line) for line in mark.read_text().split()]
    assert len(set(pids)) == 6
    assert not [each for each in psutil.process_iter() if each.pid in pids and _runs(each)]


def _runs(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


# It may come between the opening of a file of /proc and the `with` that closes it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_leaves_nothing_behind(
    ready: Ready, children: Callable[[], list[psutil.Process]], tmp_path: Path
) -> None:
    mark = tmp_path / "pids"

    def interrupt() -> None:
        while not mark.exists() or len(mark.read_text().split()) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with ready(turn=30.0, parameters={"mark": str(mark)}) as prepared:
        helper = threading.Thread(target=interrupt)
        helper.start()
        with pytest.raises(KeyboardInterrupt):
            list(measure(prepared))
        helper.join()
