"""A session: what is checked first, what is measured and traced, what fails, and what is left."""

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.result import Better, Measurement, Result
from tracekit.base.errors import ToolError
from tracekit.base.recording import Overhead, Provenance
from tracekit.machine.state import JUDGED, State
from tracekit.machine.watch import Watch
from tracekit.nightly.history.night import Pair
from tracekit.nightly.plan.plan import Reference
from tracekit.nightly.session.checks import check, grid_of
from tracekit.nightly.session.child import PreparedCapture
from tracekit.nightly.session.measuring import measure, order_of
from tracekit.nightly.session.program import BudgetSpentError, ParityError
from tracekit.nightly.session.tracing import arguments_of, trace
from tracekit.nightly.session.turn_values import (
    MORE_IS_WORSE,
    overhead,
    require_steps,
    traced_values,
    values_of,
    worst,
)
from tracekit.workload.interleaved.protocol import Finished, StepTimes
from tracekit.workload.workload import Measured

Ready = Callable[..., Any]
Pretend = Callable[..., None]
SECOND = 10**9
SLOWER = Reference(parameters={"slow": 20.0})


def test_a_turn_has_the_metrics_of_the_analysis() -> None:
    for turn, rate, values in (
        (StepTimes((1, 3, 2), tokens=6, length=SECOND), 3, {"step_p50": 2, "tokens_per_second": 6}),
        # Waits for load count as time, and not as steps.
        (StepTimes((100,), idle=9, length=SECOND // 2), 2, {"step_p50": 100}),
        # Of several variants, which are compared, no step time is given.
        (StepTimes((1, 2), tokens=4, length=SECOND, variants=("paged", "sdpa")), 2, {}),
        (StepTimes((1, 3), length=SECOND, variants=("paged",)), 2, {"step_p50": 2}),
    ):
        expected = {name: (value,) for name, value in {"step_rate": rate, **values}.items()}
        assert values_of([turn], Finished()) == expected


def test_each_turn_has_values_of_its_own_a_result_one_and_a_percentile_needs_100_steps() -> None:
    for steps, expected_value in ((99, None), (100, (99.01, 99.01))):
        turn = StepTimes(times=tuple(range(1, steps + 1)), length=SECOND)
        value = values_of([turn, turn], Finished()).get("step_p99")
        assert value == (expected_value and pytest.approx(expected_value))
    turns = [StepTimes(times=(time,), length=SECOND) for time in (5, 7)]
    results = {
        "max_error": Measured(0.5, "ratio", "lower"),
        "hidden": Measured(None, reason="nobody looked"),
        "step_p50": Measured(3.0, "ns", "lower"),
    }
    values = values_of(turns, Finished(results))
    assert (values["step_p50"], values["max_error"]) == ((5.0, 7.0), (0.5,))
    assert "hidden" not in values
    metrics = (
        Measurement("step_p50", 200, "ns", Better.LOWER),
        Measurement("gpu_busy", None, "ratio", Better.NEITHER, "no GPU"),
    )
    measurements = (Measurement("depth", 0.25, "ratio", Better.HIGHER),)
    result = Result(Provenance(), metrics=metrics, results=measurements)
    assert traced_values(result) == {"step_p50": (200.0,), "depth": (0.25,)}
    for turn in (StepTimes(exhausted=True), StepTimes(idle=4, length=9)):
        with pytest.raises(ToolError, match="The candidate of x"):
            require_steps("the candidate of x", turn)


def pair(*step_times: float, rejections: tuple[str, ...] = ()) -> Pair:
    return Pair(1, 1, "abba", candidate={"step_p50": step_times}, rejections=rejections)


def test_the_overhead_is_that_of_medians_in_ns_or_says_why_not() -> None:
    measured_overhead = overhead([pair(110)], [pair(90, 110), pair(100), pair(101), pair(99)])
    assert (measured_overhead.ratio, measured_overhead.recorded, measured_overhead.unrecorded) == (
        pytest.approx(0.1),
        110,
        100,
    )
    # Student's t of 3 degrees of freedom, times the deviation of one run from the mean of four
    deviation = math.sqrt((2 * math.log(1.01) ** 2) / 3)
    half = 3.182 * deviation * math.sqrt(1 + 1 / 4)
    assert measured_overhead.spread == pytest.approx(1.1 * half, rel=0.02)
    untraced = [pair(100), pair(100), pair(500, rejections=("busy",))]
    measured_overhead = overhead([pair(110)], untraced)
    assert measured_overhead.ratio == pytest.approx(0.1)
    assert replace(measured_overhead, ratio=0.1) == Overhead(0.1, 0.0, 110, 100)
    for traced, untraced_pairs, reason in (
        ([pair(32)], [pair(100)], "one untraced pair does not show how much pairs differ"),
        ([], [pair(1)], "no traced pair"),
        ([pair(1)], [pair(1, rejections=("x",))], "no untraced pair"),
        ([Pair(1, 1, "ab", traced=True)], [pair(1)], "no traced pair"),
    ):
        measured_overhead = overhead(traced, untraced_pairs)
        assert measured_overhead.ratio is None, traced
        assert measured_overhead.reason.startswith(reason), traced


READINGS = st.dictionaries(st.sampled_from(["calibration", "gpu_clock"]), st.floats(0, 1e9))


@given(st.lists(READINGS, min_size=1, max_size=4))
def test_the_worst_of_each_reading_counts(reading_sets: list[dict[str, float]]) -> None:
    worst_state = worst(
        [State(str(place), readings) for place, readings in enumerate(reading_sets)]
    )
    assert worst_state is not None
    assert worst_state.at == str(len(reading_sets) - 1)
    for name, worse in (("calibration", max), ("gpu_clock", min)):
        readings_seen = [readings[name] for readings in reading_sets if name in readings]
        assert worst_state.readings.get(name) == (worse(readings_seen) if readings_seen else None)


def test_unreadable_values_keep_their_reason() -> None:
    unread = State("01", {}, {"battery": "no battery"})
    assert worst([unread]) == unread
    assert worst([unread, State("02", {"battery": 0.5})]) == State("02", {"battery": 0.5})
    assert worst([]) is None
    assert set(JUDGED) <= MORE_IS_WORSE | {"gpu_clock", "memory_free", "mains", "battery"}


def test_the_plan_decides_the_grid_the_order_and_the_command_line(ready: Ready) -> None:
    values: dict[str, Any] = {
        "parameters": {"trick": "print"},
        "templates": ("Metal System Trace", "mine.tracetemplate"),
        "counters": "off",
        "time_limit": 2.5,
        "recorder": "host",
        "telemetry": "off",
    }
    with ready(**values) as prepared:
        assert check(prepared) == "", "nothing to check is nothing to say"
    capture, candidate, reference = prepared.capture, prepared.candidate, prepared.reference
    for parity, candidate_workload, reference_workload, grid in (
        ("auto", "naps", "naps", ""),
        ("auto", "paged", "naps", "quick"),
        ("auto", "naps", "kv-cache", "quick"),
        ("off", "paged", "sdpa", ""),
        ("full", "naps", "naps", "full"),
    ):
        sides = (
            replace(candidate, workload=candidate_workload),
            replace(reference, workload=reference_workload),
        )
        variant_capture = PreparedCapture(
            replace(capture, parity=parity), Path(), *sides, prepared.bounds
        )
        assert grid_of(variant_capture) == grid, (candidate_workload, grid)
    for is_together, other_side, orders in (
        (True, reference, ["abba", "baab"]),
        (False, reference, ["ab", "ba"]),
        (True, None, ["aa", "aa"]),
        (False, None, ["a", "a"]),
    ):
        variant_capture = replace(
            prepared, capture=replace(capture, together=is_together), reference=other_side
        )
        assert [order_of(variant_capture, number) for number in (1, 2)] == orders
    line = arguments_of(prepared, candidate, Path("/runs/one"))
    assert line[:5] == (sys.executable, "-P", "-m", "tracekit", "capture")
    assert " ".join(line[5:]) == (
        f"--workload naps --workloads {capture.workloads} --output /runs/one --trick print "
        "--recorder host --counters off --telemetry off --time-limit 2.5s --warmup 1"
    )
    on_a_mac = replace(prepared, capture=replace(capture, recorder="xctrace"))
    line = arguments_of(on_a_mac, candidate, Path("/runs/one"))
    templates = "--template Metal System Trace --template mine.tracetemplate"
    assert f"--telemetry off {templates} --time-limit 2.5s" in " ".join(line)


HOLDS = {"kind": "parity", "version": 1, "breaches": 0, "repeat": None, "outcomes": [{}, {}]}
# An interpreter whose `tracekit` answers parity with a document, and captures what it makes up.
PRETENDED = """#!{python}
import json, os, sys
if "tracekit" not in sys.argv:
    os.execv("{python}", ["{python}", *sys.argv[1:]])
if "recover" in sys.argv and {recovers}:
    folder = sys.argv[sys.argv.index("--output") + 1]
    os.makedirs(folder)
    sys.exit(0)
if "analyze" in sys.argv:
    with open(os.path.join(sys.argv[-1], "result.json"), "w") as file:
        file.write({result!r})
    sys.exit(4)
if "capture" in sys.argv and {code} == 3 and {killed}:
    os.makedirs(os.path.join(sys.argv[sys.argv.index("--output") + 1], "recording.trace"))
if "capture" in sys.argv and {code} in (0, 4):
    folder = sys.argv[sys.argv.index("--output") + 1]
    os.makedirs(folder)
    with open(os.path.join(folder, "result.json"), "w") as file:
        file.write({result!r})
sys.stdout.write(json.dumps({holds!r}))
sys.stderr.write("some words" + os.environ.get("SIDE", ""))
sys.exit({code})
"""


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Let the interpreter answer, with a value of a result and an exit code."""
    place, python = tmp_path / "pretended", sys.executable
    monkeypatch.setattr(sys, "executable", str(place))

    def answer(
        code: int = 0,
        value: float | None = 200,
        result: str = "",
        *,
        killed: bool = False,
        recovers: bool = True,
    ) -> None:
        metric = {"name": "step_p50", "value": value, "unit": "ns", "better": "lower"}
        text = result or json.dumps({"provenance": {}, "metrics": [metric]})
        words = {"python": python, "code": code, "result": text, "holds": HOLDS}
        place.write_text(PRETENDED.format(**words, killed=killed, recovers=recovers))
        place.chmod(0o755)

    answer()
    return answer


@pytest.mark.processes
def test_parity_runs_until_it_holds_and_then_once_a_night(ready: Ready, pretend: Pretend) -> None:
    with ready(reference=None, parity="quick") as prepared:
        for code in (3, 1):
            pretend(code)
            reason = rf"parity --quick --json ended with exit code {code}\. Its last words: some"
            with pytest.raises(ParityError, match=reason) as caught:
                check(prepared)
            assert str(prepared.log_of("parity")) in caught.value.hint, code
        for code in (0, 5):
            pretend(code)
            assert check(prepared) == "Parity holds in the quick grid.", code
            assert json.loads((prepared.folder / "parity-quick.json").read_text()) == HOLDS, code


@pytest.mark.processes
def test_checks_run_in_the_plan_s_folder_and_are_quoted(ready: Ready, tmp_path: Path) -> None:
    with ready(reference=None) as prepared:

        def run_checks(*checks: tuple[str, ...], seconds: float = 60) -> str:
            limited_capture = ending(prepared, time.monotonic() + seconds)
            return check(replace(limited_capture, capture=replace(prepared.capture, checks=checks)))

        message = run_checks(("sh", "-c", "pwd; echo beside >&2"), ("true",))
        assert message == "Sh succeeded; true succeeded."
        assert prepared.log_of("check-1").read_text() == f"{tmp_path / 'plan'}\nbeside\n"
        with pytest.raises(ParityError, match=r"exit code 1\. Its last words: 2 fail") as failed:
            run_checks(("true",), ("sh", "-c", "echo 2 failed; exit 1"))
        assert "check-2.log" in failed.value.hint
        with pytest.raises(
            ToolError, match=r"^no-such-program cannot be started: no folder of PATH"
        ):
            run_checks(("no-such-program",))
        with pytest.raises(BudgetSpentError):
            run_checks(("sh", "-c", "sleep 60 & wait"), seconds=0.5)


@pytest.mark.processes
def test_sides_are_traced_in_turn_and_failures_do_not_count(ready: Ready, pretend: Pretend) -> None:
    with ready(traced=2) as prepared:
        pairs = list(trace(prepared, session=2))
        pair_facts = [(traced.traced, traced.order, traced.number) for traced in pairs]
        assert pair_facts == [(True, "ab", 1), (True, "ba", 2)]
        assert pairs[0].rejections == pairs[1].rejections == ()
        assert pairs[0].candidate == pairs[0].reference == {"step_p50": (200.0,)}
        assert pairs[1].runs == ("short/candidate-2-2", "short/reference-2-2")
        output_file = prepared.log_of("candidate-2-2").with_suffix(".out")
        assert json.loads(output_file.read_text()) == HOLDS, "and the log has none of it"
        alone = replace(prepared, reference=None)
        pretend(4, None)
        other_capture, _ = trace(alone, session=3)
        env = {**prepared.reference.env, "SIDE": " of its own"}
        relabelled_capture = replace(prepared, reference=replace(prepared.reference, env=env))
        lacks_both, _ = trace(relabelled_capture, session=6)
        assert [rejection[13:26] for rejection in lacks_both.rejections] == [
            "the candidate",
            "the reference",
        ]
        assert prepared.log_of("reference-6-1").read_text() == "some words of its own"
        assert (other_capture.order, other_capture.candidate, other_capture.reference) == (
            "a",
            {},
            {},
        )
        assert other_capture.runs == ("short/candidate-3-1",)
        lacks = "The trace of the candidate is not known to hold its work."
        assert other_capture.rejections == (lacks,)
        pretend(3)
        reason = r"of the candidate of short ended with exit code 3\. Its last words: some words"
        with pytest.raises(ToolError, match=reason) as caught:
            list(trace(alone, session=4))
        assert "tracekit capture --workload naps" in caught.value.hint
        pretend(result="{")
        with pytest.raises(ToolError, match=r"left no result that can be read: .*result\.json"):
            list(trace(alone, session=5))


@pytest.mark.processes
def test_a_trace_of_a_killed_recorder_is_recovered_and_does_not_count(
    ready: Ready, pretend: Pretend
) -> None:
    with ready(traced=1, reference=None) as prepared:
        pretend(3, killed=True)
        (pair,) = trace(prepared)
        assert pair.rejections == ("The trace of the candidate was recovered, incomplete.",)
        assert pair.runs == ("short/candidate-1-1-recovered",)
        assert pair.candidate == {"step_p50": (200.0,)}
        pretend(3, killed=True, recovers=False)
        with pytest.raises(ToolError, match="of the candidate of short ended with exit code 3"):
            list(trace(prepared, session=2))


def ending(prepared: PreparedCapture, deadline: float) -> PreparedCapture:
    return replace(prepared, bounds=replace(prepared.bounds, deadline=deadline))


class Told(Watch):
    """A watch that keeps how many processes were named as ours at each look."""

    def __init__(self) -> None:
        super().__init__("off")
        self.ours: list[int] = []

    def before(self, ours: Iterable[int] = (), calibration: float | None = None) -> State:
        self.ours.append(len({*ours}))
        state = super().before(ours, calibration)
        return replace(state, readings=state.readings | {"load": len(self.ours)})


@pytest.mark.processes
def test_a_pair_tells_each_turn_of_each_side(ready: Ready, tmp_path: Path) -> None:
    parameters = {"mark": str(tmp_path / "pids"), "trick": "print"}
    with ready(parameters=parameters, reference=SLOWER) as prepared, Told() as watch:
        pairs = first_pair, second = list(measure(prepared, watch=watch))
        alone = replace(prepared, capture=replace(prepared.capture, together=False, turn=0.4))
        # Sides that do not fit together run one after the other.
        (apart,) = measure(alone, session=2, first_number=3, pairs=1, watch=watch, calibrate=False)
    # This process, those of the pair, and the calibration's are no others that disturb.
    assert watch.ours == [4, 4, 2, 2]
    orders = [(pair.session, pair.number, pair.order) for pair in (first_pair, second, apart)]
    assert orders == [(1, 1, "abba"), (1, 2, "baab"), (2, 3, "ab")]
    for pair, turns in ((first_pair, 2), (second, 2), (apart, 1)):
        candidate, reference = pair.candidate["step_p50"], pair.reference["step_p50"]
        assert len(candidate) == len(reference) == turns, pair
        assert 1e6 < max(candidate) < min(reference), pair
    rate, tokens = first_pair.candidate["step_rate"], first_pair.candidate["tokens_per_second"]
    assert tokens == pytest.approx([3 * steps for steps in rate])
    assert first_pair.candidate["depth"] == (0.25,)
    assert (prepared.results["depth"].better, prepared.remarks) == ("neither", [])
    pids = (tmp_path / "pids").read_text().split()
    assert len(set(pids)) == len(pids) == 6, "each pair has processes of its own"
    looks = [state for pair in (*pairs, apart) for state in (pair.before, pair.after) if state]
    assert len(looks) == 6
    assert all(earlier_state.at <= later_state.at for earlier_state, later_state in pairwise(looks))
    assert all(1e5 < look.readings["calibration"] < 1e10 for look in looks[:4])
    assert all("load" in look.readings for look in looks)
    assert looks[-2].readings["load"] == 4, "of both runs the worst counts"
    assert looks[-1].absences["calibration"] == "no fixed work was done."
    start, end = (datetime.fromisoformat(look.at) for look in looks[-2:])
    assert end - start >= timedelta(seconds=0.8), "one long run is of two turns"


def test_one_without_a_reference_is_measured_by_itself(ready: Ready) -> None:
    with ready(reference=None, turn=0.03, parameters={"seconds": 0.002}) as prepared:
        (alone,) = measure(prepared, session=2, first_number=3, pairs=1, calibrate=False)
        assert (prepared.backend, prepared.remarks) == ("cpu", [])
        assert prepared.log_of("candidate").exists()
    assert (alone.session, alone.number, alone.order, alone.traced) == (2, 3, "aa", False)
    assert (alone.reference, alone.before, alone.after) == ({}, None, None)
    assert set(alone.candidate) == {"step_p50", "step_rate", "tokens_per_second", "depth"}
    assert len(alone.candidate["step_p50"]) == 2
    assert all(2e6 < time < 1e9 for time in alone.candidate["step_p50"])


@pytest.mark.processes
def test_a_side_that_fails_is_named_and_quoted(ready: Ready) -> None:
    for trick, reason in (
        ("crash", ": The workload failed: RuntimeError: the pool is empty"),
        ("kill", r" ended in the middle of its work, with signal SIGKILL\. .*about to be killed$"),
    ):
        with (
            ready(turn=0.05, reference=None, parameters={"trick": trick}) as prepared,
            pytest.raises(ToolError, match=f"^The candidate of short{reason}"),
        ):
            list(measure(prepared))


@pytest.mark.processes
def test_the_night_s_time_ends_even_a_side_that_hangs(ready: Ready, tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    parameters = {"trick": "hang", "mark": str(mark)}
    with ready(parameters=parameters, turn=0.05, reference=None) as prepared:
        with pytest.raises(BudgetSpentError):
            list(measure(ending(prepared, time.monotonic())))
        assert not mark.exists(), "no pair is begun once the time is spent"
        with pytest.raises(BudgetSpentError, match=r"while the candidate of short worked"):
            list(measure(ending(prepared, time.monotonic() + 4)))


@pytest.mark.processes
def test_who_stops_asking_leaves_nothing_behind(
    ready: Ready, children: Callable[[], list[psutil.Process]], tmp_path: Path
) -> None:
    """Neither processes of the pair, nor the calibration's, nor what a workload started."""
    mark = tmp_path / "mark"
    parameters = {"trick": "fork", "mark": str(mark)}
    with ready(pairs=5, parameters=parameters) as prepared, Watch("off") as watch:
        next(measure(prepared, watch=watch))
        names = [" ".join(process.cmdline()) for process in children()]
    assert not [name for name in names if "tracekit.workload.interleaved" in name]
    pids = {int(line) for line in mark.read_text().split()}
    assert len(pids) == 6
    everything = [process.info for process in psutil.process_iter(["pid", "status"])]
    assert {
        process_facts["status"] for process_facts in everything if process_facts["pid"] in pids
    } <= {psutil.STATUS_ZOMBIE}


# It may come between the opening of a file of /proc and the `with` that closes it.
@pytest.mark.processes
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_leaves_nothing_behind(ready: Ready, tmp_path: Path) -> None:
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
