"""A night's folder and document, what its traces found, and what it knows of others."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from stored_nights import night_of
from tracekit.analysis.result import Result
from tracekit.analysis.rule import Finding, Severity
from tracekit.base.documents import save
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.recording import Overhead, Provenance
from tracekit.nightly import run
from tracekit.nightly.captures import findings_of
from tracekit.nightly.folder import (
    NightFolder,
    NightWriter,
    make_output,
    night_id,
    nights_in,
    work_of,
)
from tracekit.nightly.history.documents import night_in
from tracekit.nightly.history.night import (
    DOCUMENT,
    Described,
    Entry,
    Night,
    Outcome,
    Pair,
    TracedFinding,
)
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.memory import HistoryKeeper, Recalled
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference

NIGHT = night_of()
EMPTY = Entry("decode", "00", Described("paged"))
BEGUN = datetime(2026, 11, 20, 2, 30, tzinfo=UTC)


def test_a_night_is_named_by_its_start_in_utc_and_read_as_it_was_written(tmp_path: Path) -> None:
    for begin in (BEGUN, BEGUN.astimezone(timezone(timedelta(hours=9)))):
        start, tail = night_id(begin)[:19], night_id(begin)[20:]
        assert (start, len(tail), tail.isalpha()) == ("2026-11-20T02-30-00", 4, True), begin
    folders = [NightFolder(make_output(tmp_path / night_of(day).id)) for day in (1, 2)]
    for day, folder in enumerate(folders, 1):
        folder.save(night_of(day))
        assert night_in(folder.folder) == night_of(day)
    (tmp_path / "worktrees").mkdir()
    assert (nights_in(tmp_path), night_in(tmp_path)) == (folders, None)
    with pytest.raises(RecordingError, match="cannot be made: File exists"):
        make_output(folders[0].folder)
    newer = '{"id": "a", "plan": "", "machine": "", "started": "", "format": 99}'
    for content, complaint in (
        ("{", "be read"),
        ('{"id": 3}', "be read"),
        (newer, "has format 99; this tracekit reads"),
    ):
        folders[0].document.write_text(content)
        with pytest.raises(InputError, match=complaint):
            night_in(folders[0].folder)


def test_every_pair_is_on_the_disk_as_soon_as_it_is_added(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    folder = make_output(tmp_path / "night")
    writer = NightWriter(NightFolder(folder), replace(NIGHT, entries=()))
    writer.put_entry(EMPTY)
    for number in (1, 2, 3):
        with subtests.test(number=number):
            writer.add("decode", Pair(1, number, "abba"))
            on_disk = night_in(folder)
            assert on_disk is not None
            assert [pair.number for pair in on_disk.entries[0].pairs] == [*range(1, number + 1)]
            assert on_disk == writer.night
    for _ in range(2):
        writer.warn(["The plan is dirty.", "There is no thermal state."])
    assert writer.night.warnings == ("The plan is dirty.", "There is no thermal state.")
    initial_night = writer.night
    (folder / DOCUMENT).unlink()
    folder.rmdir()
    folder.write_text("a file where the folder was")
    with pytest.raises(RecordingError, match="cannot be written"):
        writer.add("decode", Pair(1, 4, "abba"))
    assert writer.night == initial_night


def test_notes_explain_checks_and_the_cost_of_tracing() -> None:
    assert list(run.notes(NIGHT)) == [
        "decode: The quick grid agrees.",
        "decode: the machine meanwhile: Other processes had 10.0 % to 20.0 % of the cores' time.",
        "decode: Tracing costs 2.0 % ± 1.0 % of a step's time.",
    ]
    entry = replace(NIGHT.entries[0], overhead=Overhead(reason="nothing was traced"))
    (*_, cost) = run.notes(replace(NIGHT, entries=(entry,)))
    assert cost == "decode: The cost of tracing is not known, because nothing was traced."


CHURN = Finding(
    "pipeline-churn", Severity.WARNING, "9 pipelines.", "Keep them.", (), 900, saving_per_token=4.5
)
AGAIN = replace(CHURN, message="2 more pipelines.")
IDLE = Finding("bubbles", Severity.NOTE, "The GPU waited.", "Batch more.")


def make_traced_pair(folder: Path, number: int, *sides: tuple[Finding, ...]) -> Pair:
    """Make the runs of a traced pair, candidate first, with what each found."""
    runs: list[str] = []
    for role, findings in zip(("candidate", "reference"), sides, strict=False):
        name = f"decode/{role}-1-{number}"
        (folder / name).mkdir(parents=True)
        save(folder / name / "result.json", Result(Provenance(), (), findings, ()))
        runs.append(name)
    return Pair(1, number, "ab", traced=True, runs=tuple(runs))


def test_a_finding_counts_once_a_trace_the_most_frequent_first(tmp_path: Path) -> None:
    pairs = [
        make_traced_pair(tmp_path, 1, (IDLE, CHURN, AGAIN), (IDLE,)),
        make_traced_pair(tmp_path, 2, (AGAIN,), ()),
        make_traced_pair(tmp_path, 3, (AGAIN,), (IDLE,)),
        replace(make_traced_pair(tmp_path, 4, (CHURN,), (CHURN,)), rejections=("load",)),
        Pair(1, 5, "abba", candidate={"step_p50": (1.0, 1.0)}),
    ]
    assert findings_of(pairs, tmp_path) == (
        TracedFinding("pipeline-churn", "9 pipelines.", "warning", 3, 3, 0, 4.5, 900),
        TracedFinding("bubbles", "The GPU waited.", "note", 1, 3, 2),
    )


def test_an_effect_of_another_finding_counts_as_found_by_its_rule(tmp_path: Path) -> None:
    folded = replace(IDLE, effects=("shallow-queue",))
    queue = Finding("shallow-queue", Severity.WARNING, "Each step waits.", "Submit ahead.")
    pairs = [
        make_traced_pair(tmp_path, 1, (folded,), (queue,)),
        make_traced_pair(tmp_path, 2, (folded,), (folded,)),
    ]
    findings_by_rule = {finding.rule: finding for finding in findings_of(pairs, tmp_path)}
    queue_found = findings_by_rule["shallow-queue"]
    assert (queue_found.traces, queue_found.of, queue_found.in_reference) == (2, 2, 2)


NOW = datetime(2026, 3, 9, 2, 30, tzinfo=UTC)
DECODE = Capture("decode", "paged")


@pytest.fixture
def plan(tmp_path: Path) -> NightPlan:
    (tmp_path / "link").symlink_to(tmp_path)
    file, url = tmp_path / "tracekit.toml", f"sqlite:///{tmp_path}/link/nights/history.db"
    return NightPlan("nightly", file, (DECODE,), tmp_path / "nights", url)


def recall_history(plan: NightPlan, machine: str = "mini", *, keep: bool = True) -> Recalled:
    """Return what a night of the plan is told that begins now."""
    return HistoryKeeper(plan, machine, keep).recall([DECODE], NOW)


def leave_night(plan: NightPlan, night: Night) -> Path:
    """Leave a night's folder, as where its process could not add it."""
    folder = make_output(plan.output / night.id)
    save(folder / DOCUMENT, night)
    return folder


def store_nights(plan: NightPlan, *nights: Night) -> list[Night]:
    """Add nights to the history; return all that it has."""
    with Store.connect(plan.history) as store:
        for night in nights:
            store.append(night)
        return store.nights()


def test_a_night_that_was_cut_off_is_added_as_partial(plan: NightPlan) -> None:
    """Not one that was to stay out, nor one that another machine or plan may write still."""
    leave_night(plan, night_of(3, ended="", outcome=None, reason="", entries=()))
    foreign_facts: list[dict[str, Any]]
    foreign_facts = [{"kept": False}, {"plan": "other"}, {"machine": "maxi"}]
    for day, facts in enumerate(foreign_facts, 4):
        leave_night(plan, night_of(day, ended="", outcome=None, **facts))
    (leave_night(plan, night_of(2)) / DOCUMENT).write_text("{")
    first_remark, second = recall_history(plan).remarks
    assert first_remark.startswith(f"The night {night_of(2).id} could not be added: ")
    name = night_of(3).id
    assert second == f"The night {name} had not been added to the history; now it is."
    (added_night,) = store_nights(plan)
    assert (added_night.id, added_night.partial, added_night.outcome) == (
        name,
        True,
        Outcome.FAILED,
    )
    assert recall_history(plan).remarks == (first_remark,), (
        "what cannot be read is told every night"
    )


def test_a_night_that_keeps_nothing_adds_nothing(plan: NightPlan) -> None:
    assert recall_history(plan, keep=False) == Recalled()
    assert not plan.output.exists()
    plan.output.mkdir()
    (plan.output / "history.db").touch()
    assert recall_history(plan, keep=False) == Recalled(), "it has no tables yet"
    store_nights(plan, night_of(1))
    folder = NightFolder(leave_night(plan, night_of(2)))
    assert recall_history(plan, keep=False).remarks == ()
    memory = HistoryKeeper(plan, "mini", keep=False)
    assert memory.remember(night_of(3), folder, NOW, make=True) is None
    assert [night.id for night in store_nights(plan)] == [night_of(1).id]
    assert not folder.page.exists()


@pytest.mark.parametrize("keep", [True, False])
def test_a_history_that_is_none_is_said_and_the_folder_asked(
    plan: NightPlan, *, keep: bool
) -> None:
    leave_night(plan, night_of(2))
    (plan.output / "history.db").write_bytes(b"no database" * 100)
    recall_result = recall_history(plan, keep=keep)
    assert (
        recall_result.accepted,
        "history.db cannot be used as a history" in recall_result.history_error,
    ) == ({}, True)
    assert recall_result.history_error in recall_result.remarks[0]
    assert {point.night for series in recall_result.series for point in series.points} == {
        night_of(2).id
    }
    folder = NightFolder(plan.output / night_of(2).id)
    failed = HistoryKeeper(plan, "mini").remember(night_of(2), folder, NOW, make=True)
    assert failed is not None
    assert not failed.stored


def test_a_folder_is_relative_to_the_history_or_absolute_elsewhere(
    plan: NightPlan, tmp_path: Path
) -> None:
    memory = HistoryKeeper(plan, "mini")
    assert memory.place_of(NightFolder(plan.output / "n1")) == "n1"
    assert memory.place_of(NightFolder(tmp_path / "n1")) == str(tmp_path.resolve() / "n1")
    server = replace(memory, plan=replace(plan, history="postgresql://localhost/t"))
    assert server.place_of(NightFolder(plan.output / "n1")) == str(plan.output.resolve() / "n1")


def test_an_expected_change_is_of_the_same_work_and_machine(plan: NightPlan) -> None:
    night, work = night_of(1), work_of(DECODE, plan.file.parent)
    store_nights(plan, replace(night, entries=(replace(night.entries[0], work=work),)))
    with Store.connect(plan.history) as store:
        store.accept(night.id, ["decode"], "It is known.")
    other_capture = replace(DECODE, parameters={"batch": 9})
    assert recall_history(plan).accepted["decode"].night == night.id
    assert HistoryKeeper(plan, "mini").recall([other_capture], NOW).accepted == {}
    assert recall_history(plan, "maxi").accepted == {}
    store_nights(plan, night_of(2, plan="other"))
    points = [point for series in recall_history(plan).series for point in series.points]
    assert {point.night for point in points} == {night.id}, "of this plan alone"
    assert recall_history(plan, "maxi").series == []


def test_other_work_is_another_series_and_how_often_it_is_measured_is_none(tmp_path: Path) -> None:
    ours = work_of(DECODE, tmp_path)
    assert ours == "741e0faca136", "else no night would have one before it"
    main = Reference(revision="main")
    other_captures = (
        replace(DECODE, workload="sdpa"),
        replace(DECODE, parameters={"batch": 9}),
        replace(DECODE, reference=main),
        replace(DECODE, reference=replace(main, workload="sdpa")),
        replace(DECODE, reference=replace(main, parameters={"batch": 9})),
        replace(DECODE, reference=Reference(merge_base="main")),
        replace(DECODE, reference=Reference(previous_night=True)),
        replace(DECODE, together=False),
        replace(DECODE, recorder="host"),
        replace(DECODE, templates=("Other",)),
        replace(DECODE, counters="off"),
    )
    assert (
        len({work_of(capture, tmp_path) for capture in (DECODE, *other_captures)})
        == len(other_captures) + 1
    )
    repeated_capture = replace(DECODE, pairs=40, traced=9, metrics=(), checks=(("true",),))
    assert work_of(repeated_capture, tmp_path) == ours
    moving = replace(DECODE, reference=Reference(previous_night=True, revision="c1"))
    assert work_of(moving, tmp_path) == work_of(other_captures[6], tmp_path), (
        "the night's own commit"
    )
    here, there = (
        work_of(replace(DECODE, reference=Reference(python=folder / "venv/python")), folder)
        for folder in (Path("/here"), Path("/there"))
    )
    assert here == there, "a checkout elsewhere is the same work"
    outside = replace(DECODE, reference=Reference(python=Path("/opt/python")))
    assert work_of(outside, Path("/here")) == work_of(outside, Path("/there")) != here
