"""Recordings of the probe, through a recorder that behaves like Apple's; and its workload."""

import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tracekit.base.capabilities import Combination, Identity, Mode
from tracekit.base.errors import InterruptedRunError, ToolError
from tracekit.base.recording import Process, Recording
from tracekit.record.doctor import probe_work
from tracekit.record.doctor.probe import WAYS, WORK, dispatches_within, probe
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.recorder import FinishedRecording
from tracekit.record.recorders import choose
from tracekit.workload.journal import Journal, StepMark, WorkloadReport
from tracekit.workload.workload import Work, all_workloads, load

Scenario = Callable[..., None]
LITTLE: dict[str, Any] = {"seconds": 0.3, "dispatches": 10}
HERE = Identity("25D2128", "17C529", "Apple M1")


def test_each_way_is_recorded_and_counted(scenario: Scenario) -> None:
    scenario(busy=True)
    reported: list[str] = []
    here = DoctorSurroundings().identity
    ways: tuple[tuple[Mode, bool], ...] = (("attach", True),)
    matrix = probe(choose("xctrace"), here, reported.append, ways, **LITTLE)
    assert matrix.identity.xcode_build == "17C529"
    [combination] = matrix.combinations
    assert (combination.mode, combination.counters, combination.failure, combination.works) == (
        "attach",
        True,
        "",
        True,
    )
    assert all((combination.rows, combination.others, combination.counter_rows, combination.saving))
    assert combination.backend in {"cpu", "metal"}
    assert combination.counter_set == "Performance Limiters"
    assert reported[0].startswith("1: attach, with counters: ")
    assert not list(Path(tempfile.gettempdir()).glob("tracekit-probe-*"))


class Stopped:
    """A recorder whose first recording fails, whose second one has no work of the target's.

    The third one somebody stops. Each is said to end later than now, and has three steps.
    """

    name = "xctrace"

    def __init__(self, toc: str, intervals: str, stop: Exception | FinishedRecording) -> None:
        mine = FinishedRecording(
            (Process(4711),), end_date="2999-01-01", failure="Cut.", warnings=("Late.",)
        )
        self._outcomes = [ToolError("It failed.", "Do."), mine, stop]
        self._exports = {"toc.xml": toc, "metal-gpu-intervals.xml": intervals}

    def version(self) -> str:
        return "xctrace version 26.0 (17C529)"

    def record(self, _: Any, recording: Recording, *__: Any) -> FinishedRecording:
        with closing(Journal(recording.journal_file)) as journal:
            journal.write("model", dispatches=2)
            for phase in ("warm-up", "steady", "steady"):
                journal.write("step", phase=phase, start=0, submitted=1, completed=2)
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def export(self, recording: Recording, *_: Any) -> tuple[str, ...]:
        recording.exports.mkdir()
        for name, text in self._exports.items():
            (recording.exports / name).write_text(text)
        return ("Odd.",)


@pytest.mark.parametrize(
    "stop", [InterruptedRunError("Stopped."), FinishedRecording(interrupted=True)]
)
def test_a_way_that_gives_nothing_is_a_result_and_a_probe_that_is_stopped_is_none(
    stop: Any, toc_xml: Callable[..., str], intervals_xml: Callable[..., str]
) -> None:
    recorder: Any = Stopped(toc_xml(), intervals_xml([(0, 1, 420, "WindowServer")] * 2), stop)
    failed, empty = probe(recorder, HERE, ways=WAYS[1::-1], seconds=0.3, dispatches=2).combinations
    assert failed == Combination("attach", counters=False, failure="It failed. Do.")
    assert "that the export lacks" in empty.warnings[0]
    assert empty == Combination(
        "launch", counters=False, rows=0, others=2, dispatches=4, saving=0.0, failure="Cut.",
        warnings=(*empty.warnings[:1], "Late.", "Odd."),
    )  # fmt: skip
    with pytest.raises(InterruptedRunError, match="no probe is kept"):
        probe(recorder, HERE, **LITTLE)


def steps(*phases: str) -> tuple[StepMark, ...]:
    return tuple(StepMark(phase, 0, 1, 2) for phase in phases)


def test_dispatches_are_those_within_the_recording() -> None:
    marks = steps("warm-up", "warm-up", "warm-up", "wake-up", "steady", "steady", "steady")
    report = WorkloadReport(model=Work(dispatches=1), steps=marks)
    cases = {("launch", 100): 7, ("attach", 100): 4, ("launch", 5): 5, ("attach", 5): 2}
    assert {case: dispatches_within(report, *case) for case in cases} == cases
    assert dispatches_within(WorkloadReport(steps=marks), "launch", 5) is None


def test_it_works_so_many_times_and_then_rests() -> None:
    work = load(WORK)
    step = work.prepare(dispatches=3, pause=0.0)
    arrays: list[Any] = [step.submit() for _ in range(5)]
    assert [array is not None for array in arrays] == [True, True, True, False, False]
    for array in arrays:
        step.wait(array)
    assert arrays[0].shape == (4096,)
    on_metal = mx.metal.is_available()  # dispatches count only where there is a GPU
    assert step.backend == ("metal" if on_metal else "cpu")
    assert step.dispatches == (1 if on_metal else None)
    # it is not among the workloads of users
    assert work.name == "probe"
    assert "probe" not in {workload.name for workload in all_workloads()}


def test_its_kernel_takes_floats(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Exporting traces the kernel, with the checks that MLX makes, and needs no GPU."""
    mx.export_function(str(tmp_path / "probe.mlxfn"), probe_work.launch, mx.array([0.5] * 4096))
    assert (tmp_path / "probe.mlxfn").stat().st_size > 0
    assert capfd.readouterr().err == ""
