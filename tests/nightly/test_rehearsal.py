"""What a night would do: read from its plan, and from the nights before."""

import dataclasses
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nobody import folder_of_nobody
from tracekit.base.errors import UsageError
from tracekit.machine.state import State
from tracekit.nightly.folder import NightFolder, make_output
from tracekit.nightly.history.night import Described, Entry, Night, Outcome, Pair
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.nightly.rehearsal import COLUMNS, earlier, obstacles, only, rehearse, rows

BEGAN = datetime(2026, 11, 20, 2, 30, tzinfo=UTC)
MAIN = Reference(revision="main")


def plan_of(folder: Path, *references: Reference | None) -> NightPlan:
    captures = tuple(
        Capture(f"c{place}", "paged", reference=one) for place, one in enumerate(references)
    )
    return NightPlan(
        "night", folder / "tracekit.toml", captures, folder / "nights", "sqlite:///x", digest="d1"
    )


def entry(capture: str, seconds: int, sitting: int = 1, begun: datetime = BEGAN) -> Entry:
    after = begun + timedelta(seconds=seconds)
    pairs = (
        Pair(1, 1, "abba", before=State(begun.isoformat()), after=State(begun.isoformat())),
        Pair(sitting, 2, "baab", before=State(begun.isoformat()), after=State(after.isoformat())),
    )
    return Entry(capture, "w", Described("paged"), pairs=pairs, outcome=Outcome.OK)


def keep(plan: NightPlan, name: str, *entries: Entry, digest: str = "d1") -> None:
    night = Night(name, plan.name, "mini", BEGAN.isoformat(), digest, entries=entries)
    NightFolder(make_output(plan.output / name)).save(night)


def test_the_last_nights_of_the_same_plan_say_how_long_a_capture_takes(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, MAIN)
    for place, seconds in enumerate([10, 20, 130, 140, 150, 160]):
        keep(plan, f"2026-11-{place + 10}", entry("c0", seconds))
    assert earlier(plan) == {"c0": 140.0}  # the oldest of six is left out


@pytest.mark.parametrize(
    ("kept", "digest"),
    [
        pytest.param(entry("c0", 60), "d2", id="other-plan"),
        pytest.param(entry("c0", 60, sitting=2), "d1", id="measured-twice"),
        pytest.param(dataclasses.replace(entry("c0", 60), outcome=None), "d1", id="not-to-its-end"),
        pytest.param(dataclasses.replace(entry("c0", 60), pairs=()), "d1", id="no-pair"),
        pytest.param(
            dataclasses.replace(entry("c0", 60), pairs=(Pair(1, 1, "abba"),)), "d1", id="no-state"
        ),
    ],
)
def test_what_says_nothing_of_the_time_is_left_out(
    kept: Entry, digest: str, tmp_path: Path
) -> None:
    plan = plan_of(tmp_path, MAIN)
    keep(plan, "2026-11-10", kept, digest=digest)
    assert earlier(plan) == {}


def test_a_night_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, MAIN)
    keep(plan, "2026-11-10", entry("c0", 60))
    broken = plan.output / "2026-11-11"
    broken.mkdir()
    (broken / "night.json").write_text("{")
    assert earlier(plan) == {"c0": 60.0}


def test_captures_can_be_chosen_by_name(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, MAIN, None, MAIN)
    assert [one.name for one in only(plan, ["c2", "c0"]).captures] == ["c0", "c2"]
    with pytest.raises(UsageError, match="has no capture 'c9'") as refusal:
        only(plan, ["c9"])
    assert "c0, c1, c2" in refusal.value.hint


Git = Callable[..., None]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    def run(*arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True)

    run("init", "--quiet", "--initial-branch=main")
    run("commit", "--quiet", "--allow-empty", "--message=first")
    return run


def test_a_revision_that_is_there_is_in_nobodys_way(git: Git, tmp_path: Path) -> None:
    assert obstacles(plan_of(tmp_path, MAIN, None)) == ()


@pytest.mark.processes
def test_a_revision_that_is_not_there_is_told_once_for_each_capture(
    git: Git, tmp_path: Path
) -> None:
    gone = Reference(revision="v9")
    first, second = obstacles(plan_of(tmp_path, gone, gone))
    assert first.startswith("c0: ")
    assert second.startswith("c1: ")
    assert "no revision 'v9'" in first


def test_a_folder_without_a_repository_has_no_revision(tmp_path: Path) -> None:
    (told,) = obstacles(plan_of(tmp_path, MAIN))
    assert "git repository" in told


def test_an_interpreter_must_be_there_and_a_program(tmp_path: Path) -> None:
    python = tmp_path / "python"
    plan = plan_of(tmp_path, Reference(python=python))
    assert obstacles(plan) == (f"c0: There is no interpreter {python}.",)
    python.touch(mode=0o644)
    assert obstacles(plan) == (f"c0: {python} cannot be run: it is no program.",)
    python.chmod(0o755)
    assert obstacles(plan) == ()


@pytest.mark.processes
def test_a_rehearsal_shows_no_password_and_writes_nothing(git: Git, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, MAIN)
    before = sorted(os.walk(tmp_path))
    seen = rehearse(dataclasses.replace(plan, history="postgresql://ada:secret@host/nights"))
    assert seen.plan["history"] == "postgresql://ada:***@host/nights"
    assert sorted(os.walk(tmp_path)) == before
    assert seen.plan["file"] == str(plan.file)
    assert seen.obstacles == ()


@pytest.mark.processes
def test_a_commit_that_would_be_measured_against_itself_is_said(git: Git, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, MAIN, Reference(revision="main", python=Path("other/python")))
    [sentence] = [one for one in rehearse(plan).remarks if "same commit" in one]
    assert sentence.startswith("c0: candidate and reference are the same commit, ")
    git("commit", "--quiet", "--allow-empty", "-m", "second")
    assert any("same commit" in one for one in rehearse(plan).remarks)
    git("checkout", "--quiet", "-b", "work")
    git("commit", "--quiet", "--allow-empty", "-m", "third")
    assert not any("same commit" in one for one in rehearse(plan).remarks)
    assert any(
        "against the revision main (" in one and "moves along" in one
        for one in rehearse(plan).remarks
    )
    git("tag", "v1")
    stays = plan_of(tmp_path, Reference(revision="v1"))
    assert not any("moves along" in one for one in rehearse(stays).remarks)


def test_a_row_says_what_runs_against_what_and_what_decides(tmp_path: Path) -> None:
    metrics = (
        Gated("step_p50", 0.03),
        Gated("idle_ratio", 0.02, "difference"),
        Gated("steady_compiles", 1.0, "difference"),
        Gated("memory_peak", gate=False),
    )
    reference = Reference(workload="sdpa", parameters={"batch": 4}, revision="v1")
    capture = Capture("c", "paged", parameters={"batch": 8}, reference=reference, metrics=metrics)
    capture = dataclasses.replace(capture, fail_on=("bubbles",))
    plan = dataclasses.replace(plan_of(tmp_path), captures=(capture, Capture("d", "churn")))
    first, second = (
        dict(zip(COLUMNS, one, strict=True)) for one in rows(plan, rehearse(plan).estimate)
    )
    assert first["work"] == "paged, batch 8"
    assert first["reference"] == "revision v1, sdpa, batch 4"
    assert first["decides"] == "step_p50 3.0 %, idle_ratio 2 points, steady_compiles 1, bubbles"
    assert (second["reference"], second["decides"]) == ("none", "nothing")


def test_a_place_that_takes_no_night_is_an_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    plan = dataclasses.replace(plan_of(tmp_path), output=file / "nights")
    assert obstacles(plan) == (f"Nights cannot be kept in {file}/nights: {file} is no folder.",)
    assert obstacles(dataclasses.replace(plan, output=tmp_path / "new" / "nights")) == ()


def test_a_folder_that_cannot_be_written_to_is_an_obstacle(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    with folder_of_nobody() as folder:
        folder.chmod(0o500)
        (told,) = obstacles(dataclasses.replace(plan, output=folder / "nights"))
    assert told.endswith(f"{folder} cannot be written to.")
