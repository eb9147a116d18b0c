import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tracekit.workload.interleaved.protocol import (
    ChildRequest,
    Finish,
    Prepare,
    Ready,
    RunSteps,
    StepTimes,
)
from tracekit.workload.interleaved.resident import Notes, Resident, step_times
from tracekit.workload.worker.stopping import Stop
from tracekit.workload.workload import IDLE, Measured, Step, Work


@pytest.fixture
def resident() -> Iterator[Resident]:
    yield Resident(Stop())
    gc.unfreeze()


def prepare(resident: Resident, workloads: Path, warmup: int = 2, **parameters: Any) -> Ready:
    asked = Prepare("naps", workloads, {"seconds": 0.0, **parameters}, warmup)
    ready = resident.answer(ChildRequest(prepare=asked)).ready
    assert ready is not None
    return ready


def step_on(
    resident: Resident, seconds: float = 0.0, least: int = 5, wake: float = 0.0
) -> StepTimes:
    turn = resident.answer(ChildRequest(steps=RunSteps(seconds, least, wake))).steps
    assert turn is not None
    return turn


def finish(resident: Resident) -> dict[str, Measured]:
    finished = resident.answer(ChildRequest(finish=Finish())).finished
    assert finished is not None
    return finished.results


def test_it_is_warm_once_it_is_ready(resident: Resident, workloads: Path) -> None:
    ready = prepare(resident, workloads, warmup=4)
    assert (ready.backend, ready.tokens, ready.steps, ready.warnings) == ("cpu", 3, 4, ())
    assert ready.last > 0


def test_a_warm_up_that_never_calms_down_is_told(resident: Resident, workloads: Path) -> None:
    ready = prepare(resident, workloads, trick="churn")
    assert ready.steps == 64
    assert "before 2 steps in a row brought no new pipeline" in ready.warnings[0]


def test_steps_that_wait_for_load_are_told_apart(resident: Resident, workloads: Path) -> None:
    prepare(resident, workloads, warmup=2, trick="idle")
    turn = step_on(resident, least=4)
    assert (len(turn.times), turn.idle, turn.variants) == (2, 2, ())
    assert turn.tokens == 3 + 5


def test_work_that_runs_out_is_told(resident: Resident, workloads: Path) -> None:
    prepare(resident, workloads, warmup=2, trick="exhausted")
    first, second = step_on(resident, seconds=1), step_on(resident, seconds=1)
    assert (len(first.times), first.exhausted) == (5, True)
    assert second == StepTimes(exhausted=True)


def test_tokens_are_those_of_the_variant() -> None:
    step = Step(
        submit=lambda: None,
        wait=lambda _: None,
        backend="cpu",
        tokens=100,
        variants={"paged": Work(tokens=7), "sdpa": Work(tokens=5)},
    )
    notes = Notes()
    for start, values in ((10, {"variant": "paged"}), (20, {"variant": "sdpa", "tokens": 1})):
        notes.mark("step", start=start, submitted=start, completed=start + 4, **values)
    notes.mark("step", start=30, submitted=31, completed=39, variant=IDLE)
    assert step_times(notes, step) == StepTimes((4, 4), 1, 8, 29, ("paged", "sdpa"))


def test_new_pipelines_make_the_warm_up_longer_and_those_of_a_turn_are_named(
    resident: Resident, workloads: Path
) -> None:
    assert prepare(resident, workloads, trick="compile").steps == 4
    assert step_on(resident, least=16).specializations == ("kernel-20",)
    assert step_on(resident).specializations == ()


def test_a_turn_makes_its_fewest_steps_or_lasts_its_time(
    resident: Resident, workloads: Path
) -> None:
    prepare(resident, workloads, seconds=0.002)
    for least in (7, 6):  # each turn tells its own steps
        turn = step_on(resident, least=least)
        assert len(turn.times) == least
        assert (turn.tokens, turn.idle, turn.variants, turn.exhausted) == (3 * least, 0, (), False)
        assert min(turn.times) >= 0.002e9
        assert sum(turn.times) <= turn.length
    assert 0.045e9 < step_on(resident, seconds=0.05).length < 0.5e9


def test_the_work_begins_once_is_asked_at_the_end_and_steps_that_wake_it_are_nobodys(
    resident: Resident, workloads: Path
) -> None:
    prepare(resident, workloads)
    step_on(resident)
    assert len(step_on(resident, wake=0.05).times) == 5
    results = finish(resident)
    assert results["begun"] == Measured(1)
    assert results["depth"] == Measured(0.25)
    assert results["steps"].value > 12  # two warm up, ten are told
