"""What a night would do, and how long that takes, read from its plan."""

import dataclasses
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.nightly.rehearsal import COLUMNS, estimate, obstacles, rehearse, rows

MAIN = Reference(revision="main")
DECIDING = (Gated("step_p50"),)


def plan_of(folder: Path, *references: Reference | None) -> NightPlan:
    captures = tuple(
        Capture(f"c{place}", "paged", reference=each) for place, each in enumerate(references)
    )
    return NightPlan(
        "night", folder / "tracekit.toml", captures, folder / "nights", "sqlite:///x", digest="d1"
    )


Git = Callable[..., None]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    def run(*arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True)

    run("init", "--quiet", "--initial-branch=main")
    run("commit", "--quiet", "--allow-empty", "--message=first")
    return run


def test_an_interpreter_must_be_there_and_a_program(tmp_path: Path) -> None:
    python = tmp_path / "python"
    plan = plan_of(tmp_path, Reference(python=python))
    for _ in range(2):
        (told,) = obstacles(plan)
        assert told.startswith(f"c0: There is no interpreter {python} that can be run.")
        python.touch(mode=0o644)
    python.chmod(0o755)
    assert obstacles(plan) == ()


@pytest.mark.processes
def test_a_rehearsal_shows_no_password_and_writes_nothing(git: Git, tmp_path: Path) -> None:
    gone = Reference(revision="v9")
    said = obstacles(plan_of(tmp_path, gone, gone))
    assert [words.split("'")[:2] for words in said] == [
        [f"c{at}: The repository {tmp_path} has no revision ", "v9"] for at in (0, 1)
    ]
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
    [sentence] = [each for each in rehearse(plan).remarks if "same commit" in each]
    assert sentence.startswith("c0: candidate and reference are the same commit, ")
    git("checkout", "--quiet", "-b", "work")
    git("commit", "--quiet", "--allow-empty", "-m", "third")
    assert not any("same commit" in each for each in rehearse(plan).remarks)
    assert any(
        "against the revision main (" in each and "moves along" in each
        for each in rehearse(plan).remarks
    )
    git("tag", "v1")
    stays = plan_of(tmp_path, Reference(revision="v1"))
    assert not any("moves along" in each for each in rehearse(stays).remarks)


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
        dict(zip(COLUMNS, each, strict=True)) for each in rows(plan, rehearse(plan).estimate)
    )
    assert first["work"] == "paged, batch 8"
    assert first["reference"] == "revision v1, sdpa, batch 4"
    assert first["decides"] == "step_p50 3.0 %, idle_ratio 2.0 points, steady_compiles 1, bubbles"
    assert (second["reference"], second["decides"]) == ("none", "nothing")


def test_a_place_that_takes_no_night_is_an_obstacle(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    plan = dataclasses.replace(plan_of(tmp_path), output=file / "nights")
    assert obstacles(plan) == (f"Nights cannot be kept in {file}/nights: {file} is no folder.",)
    assert obstacles(dataclasses.replace(plan, output=tmp_path / "new" / "nights")) == ()


def night(*captures: Capture, retries: int = 5, budget: float = 7200.0) -> NightPlan:
    return NightPlan(
        "n", Path("tracekit.toml"), captures, Path("nights"), "", budget, retries=retries
    )


def test_pairs_traces_and_repeats_add_up() -> None:
    capture = Capture("decode", "paged", reference=MAIN, metrics=DECIDING)
    found = estimate(night(capture))
    pair = 2 * 5 + 4 * 0.3
    sitting = 10 * pair + 1 * 2 * (5 + 30)
    assert found.seconds == pytest.approx(sitting)
    assert found.most == pytest.approx(2 * (sitting + 5 * pair))
    assert found.captures[0].capture == "decode"
    told = [
        any("budget" in words for words in estimate(night(capture, budget=budget)).assumptions)
        for budget in (found.most - 1, found.most)
    ]
    assert told == [True, False]


PYTHON = Reference(python=Path("/usr/bin/python3"))


def remarks_of(capture: Capture) -> tuple[str, ...]:
    return rehearse(
        NightPlan("n", Path("/tracekit.toml"), (capture,), Path("nights"), "sqlite:///x")
    ).remarks


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"reference": PYTHON, "metrics": (Gated("step_p50"),)}, []),
        ({"reference": PYTHON, "fail_on": ("bubbles",)}, []),
        ({"reference": PYTHON, "metrics": (Gated("step_p50"), Gated("hits"))}, ["hits is no met"]),
        ({"reference": PYTHON}, ["none of its metrics decides."]),
        ({}, ["it has no reference"]),
        ({"reference": Reference(workload="sdpa"), "metrics": (Gated("step_p50"),)},
         ["its reference does other work, so nothing is decided until a night is accepted"]),
    ],
)  # fmt: skip
def test_what_a_plans_author_may_not_expect_is_said(
    values: dict[str, Any], said: list[str]
) -> None:
    found = remarks_of(Capture("a", "paged", **values))
    assert len(found) == len(said)
    assert all(words.startswith(f"a: {each}") for words, each in zip(found, said, strict=True))
