"""A night's folder and document, what its traces found, and what it knows of others."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from stored_nights import night_of
from tracekit.analysis.result import Result
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.errors import InputError, RecordingError, TracekitError
from tracekit.base.recording import Overhead, Provenance, save
from tracekit.nightly import run
from tracekit.nightly.captures import findings_of
from tracekit.nightly.folder import Keeper, NightFolder, make_output, night_id, nights_in, work_of
from tracekit.nightly.history.night import (
    DOCUMENT,
    Described,
    Entry,
    Night,
    Outcome,
    Pair,
    TracedFinding,
)
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference
from tracekit.nightly.run import Memory

NIGHT = night_of()
EMPTY = Entry("decode", "00", Described("paged"))
BEGUN = datetime(2026, 11, 20, 2, 30, tzinfo=UTC)


def test_a_night_is_named_by_its_start_in_utc() -> None:
    east = BEGUN.astimezone(timezone(timedelta(hours=9)))
    for begun in (BEGUN, east):
        start, tail = night_id(begun)[:19], night_id(begun)[20:]
        assert start == "2026-11-20T02-30-00"
        assert len(tail) == 4
        assert tail.isalpha()


def test_a_night_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = NightFolder(make_output(tmp_path / "nights" / NIGHT.id))
    folder.save(NIGHT)
    assert folder.load() == NIGHT
    (tmp_path / "nights" / "worktrees").mkdir()
    later = NightFolder(make_output(tmp_path / "nights" / night_of(2).id))
    later.save(night_of(2))
    assert nights_in(tmp_path / "nights") == [folder, later]
    with pytest.raises(RecordingError, match="cannot be made: File exists"):
        make_output(folder.folder)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "cannot be read"),
        ('{"id": 3}', "cannot be read"),
        (
            '{"id": "a", "plan": "", "machine": "", "started": "", "format": 99}',
            "has format 99; this tracekit reads up to 1",
        ),
    ],
)
def test_a_document_that_cannot_be_understood_is_told(
    tmp_path: Path, content: str, told: str
) -> None:
    (tmp_path / "night.json").write_text(content)
    with pytest.raises(InputError, match=told):
        NightFolder(tmp_path).load()


def test_every_pair_is_on_the_disk_as_soon_as_it_is_added(tmp_path: Path) -> None:
    keeper = Keeper(NightFolder(tmp_path), replace(NIGHT, entries=()))
    keeper.put(EMPTY)
    for number in (1, 2, 3):
        keeper.add("decode", Pair(1, number, "abba"))
        on_disk = NightFolder(tmp_path).load()
        assert [one.number for one in on_disk.entries[0].pairs] == list(range(1, number + 1))
        assert on_disk == keeper.night


def test_a_warning_is_told_once(tmp_path: Path) -> None:
    keeper = Keeper(NightFolder(tmp_path), NIGHT)
    keeper.warn(["The plan is dirty."])
    keeper.warn(["The plan is dirty.", "There is no thermal state."])
    assert keeper.night.warnings == ("The plan is dirty.", "There is no thermal state.")


def test_what_could_not_be_written_is_not_taken_for_kept(tmp_path: Path) -> None:
    folder = tmp_path / "night"
    folder.mkdir()
    keeper = Keeper(NightFolder(folder), NIGHT)
    before = keeper.night
    for one in folder.iterdir():
        one.unlink()
    folder.rmdir()
    folder.write_text("a file where the folder was")
    with pytest.raises(RecordingError, match="cannot be written"):
        keeper.add("decode", Pair(1, 1, "abba"))
    assert keeper.night == before


def test_the_notes_say_why_what_was_checked_and_what_tracing_cost() -> None:
    assert list(run.notes(NIGHT)) == [
        "decode: The quick grid agrees.",
        "decode: Tracing costs 2.0 % ± 1.0 % of a step's time.",
    ]
    entry = replace(NIGHT.entries[0], overhead=Overhead(reason="nothing was traced"))
    assert list(run.notes(replace(NIGHT, entries=(entry,))))[-1] == (
        "decode: What tracing costs is not known, because nothing was traced."
    )


CHURN = Finding(
    "pipeline-churn", Severity.WARNING, "9 pipelines.", "Keep them.", (), 900, saving_per_token=4.5
)
IDLE = Finding("bubbles", Severity.NOTE, "The GPU waited.", "Batch more.")


def traced(folder: Path, number: int, *sides: tuple[Finding, ...]) -> Pair:
    """Make the runs of a traced pair, candidate first, with what each found."""
    runs: list[str] = []
    for role, findings in zip(("candidate", "reference"), sides, strict=False):
        name = f"decode/{role}-1-{number}"
        (folder / name).mkdir(parents=True)
        save(folder / name / "result.json", Result(Provenance(), (), findings, ()))
        runs.append(name)
    return Pair(1, number, "ab", traced=True, runs=tuple(runs))


def test_a_finding_is_counted_on_both_sides_the_most_frequent_first(tmp_path: Path) -> None:
    pairs = [
        traced(tmp_path, 1, (IDLE, CHURN), (IDLE,)),
        traced(tmp_path, 2, (CHURN,), ()),
        traced(tmp_path, 3, (CHURN,), (IDLE,)),
    ]
    assert findings_of(pairs, tmp_path) == (
        TracedFinding("pipeline-churn", "9 pipelines.", "warning", 3, 3, 0, 4.5, 900),
        TracedFinding("bubbles", "The GPU waited.", "note", 1, 3, 2),
    )


def test_a_rule_that_finds_two_things_in_a_trace_counts_once_and_is_told_by_the_first(
    tmp_path: Path,
) -> None:
    again = replace(CHURN, message="2 more pipelines.")
    (found,) = findings_of([traced(tmp_path, 1, (CHURN, again), (again,))], tmp_path)
    assert (found.message, found.traces, found.of, found.in_reference) == ("9 pipelines.", 1, 1, 1)


def test_pairs_that_were_not_traced_or_do_not_count_are_not_looked_at(tmp_path: Path) -> None:
    good = traced(tmp_path, 1, (IDLE,), ())
    lost = replace(traced(tmp_path, 2, (CHURN,), ()), contaminated=("load",))
    plain = Pair(1, 3, "abba", candidate={"step_p50": (1.0, 1.0)})
    (found,) = findings_of([plain, lost, good], tmp_path)
    assert (found.rule, found.of) == ("bubbles", 1)


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
