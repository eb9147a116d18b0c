"""Recordings of the probe, through a recorder that behaves like Apple's; and its workload."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from tracekit.base.capabilities import Identity, Mode
from tracekit.base.errors import InterruptedRunError
from tracekit.base.recording import Recording
from tracekit.record.doctor import probe_work
from tracekit.record.doctor.probe import WORK, dispatches_within, probe
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.recorder import Recorded
from tracekit.record.recorders import choose
from tracekit.workload.journal import StepMark, WorkloadReport
from tracekit.workload.workload import Work, all_workloads, load

Scenario = Callable[..., None]
LITTLE: dict[str, Any] = {"seconds": 0.3, "dispatches": 10}
HERE = Identity("25D2128", "17C529", "Apple M1")


def test_each_way_is_recorded_and_counted(scenario: Scenario) -> None:
    scenario()
    reported: list[str] = []
    here = Surroundings().identity
    ways: tuple[tuple[Mode, bool], ...] = (("attach", True),)
    matrix = probe(choose("xctrace"), here, reported.append, ways, **LITTLE)
    assert matrix.identity.xcode_build == "17C529"
    [found] = matrix.combinations
    assert (found.mode, found.counters, found.failure, found.works) == ("attach", True, "", True)
    assert found.rows
    assert found.others
    assert found.saving is not None
    assert found.backend in {"cpu", "metal"}
    assert found.counter_set == "Performance Limiters"
    assert found.counter_rows
    assert reported[0].startswith("1: attach, with counters: ")
    assert not list(Path(tempfile.gettempdir()).glob("tracekit-probe-*"))


@pytest.mark.parametrize("scene", [{"others_only": True}, {"die": {"at": "start", "code": 3}}])
def test_a_way_that_gives_nothing_is_a_result(scenario: Scenario, scene: dict[str, Any]) -> None:
    scenario(**scene)
    [found] = probe(choose("xctrace"), HERE, ways=(("launch", False),), **LITTLE).combinations
    assert not found.works
    failed = "die" in scene
    assert (found.rows, bool(found.others)) == ((None, False) if failed else (0, True))
    assert ("xctrace ended" in found.failure) is failed
    assert (found.counter_set, found.counter_rows) == ("", None)


class Interrupted:
    """A recorder whose second recording somebody stops."""

    name = "xctrace"

    def __init__(self, how: Callable[[], Recorded]) -> None:
        self._how = how
        self.recordings = 0

    def version(self) -> str:
        """Be an Xcode of some build."""
        return "xctrace version 26.0 (17C529)"

    def record(self, *_: Any) -> Recorded:
        """Fail once, and then be stopped."""
        self.recordings += 1
        if self.recordings == 1:
            return Recorded(failure="It failed.")
        return self._how()

    def export(self, recording: Recording, *_: Any) -> tuple[str, ...]:
        """Leave a table of contents without a run."""
        recording.exports.mkdir()
        recording.toc_file.write_text("<trace-toc></trace-toc>")
        return ()


def stopped() -> Recorded:
    raise InterruptedRunError("Stopped before anything was recorded.")


@pytest.mark.parametrize("how", [stopped, lambda: Recorded(interrupted=True)])
def test_a_probe_that_is_stopped_keeps_nothing_and_says_so(how: Callable[[], Any]) -> None:
    recorder = Interrupted(how)
    with pytest.raises(InterruptedRunError, match="no probe is kept"):
        probe(recorder, HERE, **LITTLE)
    assert recorder.recordings == 2


def steps(*phases: str) -> tuple[StepMark, ...]:
    return tuple(StepMark(phase, 0, 1, 2) for phase in phases)


def test_dispatches_are_those_within_the_recording() -> None:
    marks = steps("warm-up", "warm-up", "warm-up", "wake-up", "steady", "steady", "steady")
    report = WorkloadReport(model=Work(dispatches=1), steps=marks)
    assert dispatches_within(report, "launch", 100) == 7
    assert dispatches_within(report, "attach", 100) == 4
    assert dispatches_within(report, "launch", 5) == 5
    assert dispatches_within(report, "attach", 5) == 2
    assert dispatches_within(WorkloadReport(steps=marks), "launch", 5) is None


def test_it_works_so_many_times_and_then_rests() -> None:
    work = load(WORK)
    step = work.prepare(dispatches=3, pause=0.0)
    made: list[Any] = [step.submit() for _ in range(5)]
    assert [array is not None for array in made] == [True, True, True, False, False]
    for array in made:
        step.wait(array)
    assert made[0].shape == (4096,)
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
