"""Recordings of the probe, through a recorder that behaves like Apple's."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.capabilities import Combination, Identity, Mode
from tracekit.base.errors import InterruptedRunError
from tracekit.base.recording import Recording
from tracekit.record.doctor.probe import dispatches_within, probe
from tracekit.record.doctor.surroundings import Surroundings
from tracekit.record.recorder import Recorded
from tracekit.record.recorders import choose
from tracekit.workload.journal import StepMark, WorkloadReport
from tracekit.workload.workload import Work

pytestmark = pytest.mark.processes

Scenario = Callable[..., None]
LITTLE: dict[str, Any] = {"seconds": 0.3, "dispatches": 10}
HERE = Identity("25D2128", "17C529", "Apple M1")


def probed(*ways: tuple[Mode, bool]) -> list[Combination]:
    matrix = probe(choose("xctrace"), HERE, ways=ways, **LITTLE)
    assert matrix.identity == HERE
    assert [(one.mode, one.counters) for one in matrix.combinations] == list(ways)
    return list(matrix.combinations)


def test_each_way_is_recorded_and_counted(scenario: Scenario) -> None:
    scenario()
    reported: list[str] = []
    matrix = probe(choose("xctrace"), Surroundings().identity, reported.append, **LITTLE)
    assert matrix.identity.xcode_build == "17C529"
    assert [(one.mode, one.counters) for one in matrix.combinations] == [
        ("launch", False),
        ("attach", False),
        ("launch", True),
        ("attach", True),
    ]
    for one in matrix.combinations:
        assert one.failure == ""
        assert one.works
        assert one.rows
        assert one.others
        assert one.saving is not None
        assert one.backend in {"cpu", "metal"}
        assert one.counter_set == ("Performance Limiters" if one.counters else "")
        assert bool(one.counter_rows) is one.counters
    assert any(text.startswith("2: attach, without counters") for text in reported)
    assert not list(Path(tempfile.gettempdir()).glob("tracekit-probe-*"))


def test_rows_of_other_processes_alone_are_zero_of_the_probes_own(scenario: Scenario) -> None:
    scenario(others_only=True)
    [one] = probed(("attach", False))
    assert one.rows == 0
    assert one.others
    assert not one.works


def test_a_way_that_fails_is_a_result_with_its_reason(scenario: Scenario) -> None:
    scenario(die={"at": "start", "code": 3})
    for one in probed(("launch", False), ("attach", False)):
        assert one.rows is None
        assert "xctrace ended" in one.failure
        assert not one.works


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
    with pytest.raises(InterruptedRunError, match="after 1 of 4 probes"):
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
