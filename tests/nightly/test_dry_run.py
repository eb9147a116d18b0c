"""What a night would do, and how long that takes, read from its plan."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from git_program import git
from tracekit.nightly.dry_run import COLUMNS, estimate, obstacles, preview_night, rows
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference

MAIN = Reference(revision="main")
PYTHON = Reference(python=Path("/usr/bin/python3"))
STEP = (Gated("step_p50"),)


def night_of(folder: Path, *captures: Capture) -> NightPlan:
    return NightPlan("night", folder / "tracekit.toml", captures, folder / "nights", "sqlite:///x")


def plan_of(folder: Path, *references: Reference) -> NightPlan:
    captures = (
        Capture(f"c{number}", "paged", reference=reference)
        for number, reference in enumerate(references)
    )
    return night_of(folder, *captures)


def test_an_interpreter_must_be_there_and_a_program(tmp_path: Path) -> None:
    python = tmp_path / "python"
    plan = plan_of(tmp_path, Reference(python=python))
    for _ in range(2):
        (message,) = obstacles(plan)
        assert message.startswith(f"c0: There is no interpreter {python} that can be run.")
        python.touch(mode=0o644)
    python.chmod(0o755)
    assert obstacles(plan) == obstacles(replace(plan, output=tmp_path / "new" / "nights")) == ()
    blocked_plan = replace(plan, output=python / "nights")
    message = f"Nights cannot be kept in {python}/nights: {python} is not a folder."
    assert obstacles(blocked_plan) == (message,)
    assert "sdap" in obstacles(plan_of(tmp_path, Reference(workload="sdap")))[0]


@pytest.mark.processes
def test_a_commit_that_is_gone_or_measured_against_itself_is_said(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message=first")
    missing_revision = Reference(revision="v9")
    assert [
        words.split("'")[:2]
        for words in obstacles(plan_of(tmp_path, missing_revision, MAIN, missing_revision))
    ] == [[f"c{number}: The repository {tmp_path} has no revision ", "v9"] for number in (0, 2)]
    plan = plan_of(tmp_path, MAIN, Reference(revision="main", python=Path("other/python")))
    [sentence] = [words for words in preview_night(plan).remarks if "same commit" in words]
    assert sentence.startswith("c0: candidate and reference are the same commit, ")
    git(tmp_path, "checkout", "--quiet", "-b", "work")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "third")
    remarks = "\n".join(preview_night(plan).remarks)
    assert "same commit" not in remarks
    assert "against the revision main (" in remarks
    assert "moves along" in remarks
    git(tmp_path, "tag", "v1")
    assert "moves along" not in str(
        preview_night(plan_of(tmp_path, Reference(revision="v1"))).remarks
    )


def test_a_row_shows_sides_and_deciding_metrics(tmp_path: Path) -> None:
    metrics = (
        Gated("step_p50", 0.03),
        Gated("idle_ratio", 0.02, "difference"),
        Gated("steady_compiles", 1.0, "difference"),
        Gated("memory_peak", gate=False),
    )
    reference = Reference(workload="sdpa", parameters={"batch": 4}, revision="v1")
    capture = Capture("c", "paged", None, {"batch": 8}, reference, metrics=metrics)
    capture = replace(capture, fail_on=("bubbles",))
    plan = night_of(tmp_path, capture, Capture("d", "churn"))
    first_row, second = (
        dict(zip(COLUMNS, row, strict=True)) for row in rows(plan, preview_night(plan).estimate)
    )
    assert (first_row["work"], first_row["reference"]) == (
        "paged, batch 8",
        "revision v1, sdpa, batch 4",
    )
    assert (
        first_row["decides"] == "step_p50 3.0 %, idle_ratio 2.0 points, steady_compiles 1, bubbles"
    )
    assert (second["reference"], second["decides"]) == ("none", "nothing")


def test_pairs_traces_and_repeats_add_up(tmp_path: Path) -> None:
    plan = night_of(tmp_path, Capture("decode", "paged", reference=MAIN, metrics=STEP))
    night_estimate, pair = estimate(plan), 2 * 5 + 4 * 0.3
    session = 10 * pair + 1 * 2 * (5 + 30)
    assert night_estimate.seconds == pytest.approx(session)
    assert night_estimate.most == pytest.approx(2 * (session + 5 * pair))
    assert night_estimate.captures[0].capture == "decode"
    for budget, warned in ((night_estimate.most - 1, True), (night_estimate.most, False)):
        assumptions = estimate(replace(plan, budget=budget)).assumptions
        assert any("budget" in words for words in assumptions) is warned


def test_surprises_in_a_plan_are_mentioned() -> None:
    other_work = "its reference does other work, so nothing is decided until a night is accepted"
    cases: list[tuple[dict[str, Any], str]] = [
        ({"reference": PYTHON, "metrics": STEP}, ""),
        ({"reference": PYTHON, "fail_on": ("bubbles",)}, ""),
        ({"reference": PYTHON, "metrics": (*STEP, Gated("hits"))}, "hits is not a metric"),
        ({"reference": PYTHON}, "none of its metrics decides."),
        ({}, "it has no reference"),
        ({"reference": Reference(workload="sdpa"), "metrics": STEP}, other_work),
    ]
    captures = [
        Capture(f"c{number}", "paged", **values) for number, (values, _) in enumerate(cases)
    ]
    remarks = preview_night(night_of(Path("/"), *captures)).remarks
    expected_remarks = [f"c{number}: {words}" for number, (_, words) in enumerate(cases) if words]
    assert len(remarks) == len(expected_remarks)
    assert all(
        remark.startswith(words) for remark, words in zip(remarks, expected_remarks, strict=True)
    )
