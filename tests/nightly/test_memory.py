"""What a night knows of earlier ones, and adds for those that were ended from outside."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stored_nights import night_of
from tracekit.base.errors import InputError, TracekitError
from tracekit.base.recording import save
from tracekit.nightly.folder import NightFolder, work_of
from tracekit.nightly.history.night import DOCUMENT, Night, Outcome
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference
from tracekit.nightly.run import Memory

NOW = datetime(2026, 3, 9, 2, 30, tzinfo=UTC)
DECODE = Capture("decode", "paged")


@pytest.fixture
def plan(tmp_path: Path) -> NightPlan:
    output = tmp_path / "nights"
    return NightPlan(
        *("nightly", tmp_path / "tracekit.toml", (DECODE,), output),
        f"sqlite:///{output / 'history.db'}",
    )


@pytest.fixture
def memory(plan: NightPlan) -> Iterator[Memory]:
    with Memory.of(plan, keep=True) as opened:
        yield opened


def left(plan: NightPlan, night: Night) -> Path:
    """Leave a night's folder, as where its process could not add it."""
    folder = plan.output / night.id
    folder.mkdir(parents=True)
    save(folder / DOCUMENT, night)
    return folder


def known(memory: Memory) -> list[Night]:
    assert memory.store is not None
    return memory.store.nights()


def test_a_night_that_was_cut_off_is_added_by_the_next_one_as_partial(
    plan: NightPlan, memory: Memory
) -> None:
    night = night_of(3, ended="", outcome=None, reason="")
    left(plan, replace(night, entries=()))
    assert memory.catch_up("mini", NOW) == (
        "The night 2026-03-03T02-30-00-abcd had not been added to the history; now it is.",
    )
    (found,) = known(memory)
    assert (found.id, found.partial, found.outcome) == (night.id, True, Outcome.FAILED)
    assert memory.catch_up("mini", NOW) == ()


def test_a_night_that_was_to_stay_out_of_the_history_is_never_added(
    plan: NightPlan, memory: Memory
) -> None:
    folder = left(plan, night_of(3, kept=False))
    assert memory.catch_up("mini", NOW) == ()
    assert memory.store is not None
    assert memory.store.recover(folder) is None
    assert known(memory) == []


@pytest.mark.parametrize("other", [{"plan": "other"}, {"machine": "maxi"}])
def test_nights_of_other_plans_and_machines_are_left_to_them(
    other: dict[str, str], plan: NightPlan, memory: Memory
) -> None:
    """One that another machine writes now, on a disk that both have, is not cut short."""
    left(plan, night_of(3, ended="", outcome=None, **other))
    assert memory.catch_up("mini", NOW) == ()
    assert known(memory) == []


def test_one_that_cannot_be_read_is_told_every_night_and_the_others_are_added(
    plan: NightPlan, memory: Memory
) -> None:
    broken = left(plan, night_of(2))
    (broken / DOCUMENT).write_text("{")
    left(plan, night_of(3))
    first, second = memory.catch_up("mini", NOW)
    assert first.startswith("The night 2026-03-02T02-30-00-abcd could not be added: ")
    assert "now it is" in second
    assert [one.id for one in known(memory)] == ["2026-03-03T02-30-00-abcd"]
    assert memory.catch_up("mini", NOW) == (first,)


def test_what_is_not_to_be_kept_leaves_the_history_as_it_is(plan: NightPlan) -> None:
    with Memory.of(plan, keep=True) as memory:
        memory.keep(night_of(1))
    left(plan, night_of(2))
    with Memory.of(plan, keep=False) as memory:
        assert memory.catch_up("mini", NOW) == ()
        memory.keep(night_of(3))
        memory.draw(NightFolder(plan.output / "none"), NOW)
        assert [one.id for one in known(memory)] == ["2026-03-01T02-30-00-abcd"]
    assert not (plan.output / "trend.html").exists()


def test_without_a_history_only_a_night_that_keeps_nothing_goes_on(plan: NightPlan) -> None:
    with Memory.of(plan, keep=False) as memory:
        assert memory.store is None
        assert memory.accepted("mini", [DECODE]) == {}
        assert memory.catch_up("mini", NOW) == ()
    assert not plan.output.exists()
    plan.output.mkdir()
    (plan.output / "history.db").write_bytes(b"no database" * 100)
    with pytest.raises((InputError, TracekitError)) as raised, Memory.of(plan, keep=True):
        pytest.fail("it was opened")
    assert "history.db" in raised.value.message


def test_what_is_expected_is_that_of_the_same_work_on_the_same_machine(
    plan: NightPlan, memory: Memory
) -> None:
    night = night_of(1)
    work = work_of(DECODE, plan.file.parent)
    memory.keep(replace(night, entries=(replace(night.entries[0], work=work),)))
    assert memory.store is not None
    memory.store.accept(night.id, ["decode"], "It is known.")
    other = replace(DECODE, parameters={"batch": 9})
    assert memory.accepted("mini", [DECODE])["decode"].night == night.id
    assert memory.accepted("mini", [other]) == {}
    assert memory.accepted("maxi", [DECODE]) == {}


def test_other_work_is_another_series_and_how_often_it_is_measured_is_none(tmp_path: Path) -> None:
    ours = work_of(DECODE, tmp_path)
    for other in (
        replace(DECODE, workload="sdpa"),
        replace(DECODE, parameters={"batch": 9}),
        replace(DECODE, reference=Reference(revision="main")),
        replace(DECODE, together=False),
        replace(DECODE, recorder="host"),
        replace(DECODE, templates=("Other",)),
        replace(DECODE, counters="off"),
    ):
        assert work_of(other, tmp_path) != ours
    often = replace(DECODE, pairs=40, traced=9, metrics=(), checks=(("true",),))
    assert work_of(often, tmp_path) == ours


def test_work_is_the_same_in_another_checkout() -> None:
    first, second = (
        work_of(replace(DECODE, reference=Reference(python=folder / "venv/bin/python")), folder)
        for folder in (Path("/here"), Path("/there"))
    )
    assert first == second
    outside = replace(DECODE, reference=Reference(python=Path("/opt/python")))
    assert work_of(outside, Path("/here")) == work_of(outside, Path("/there")) != first
