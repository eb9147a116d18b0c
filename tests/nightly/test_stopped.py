"""Nights that are stopped: when their time is spent, or by somebody, in each of their phases."""

import shutil
from pathlib import Path

import pytest

from real_nights import TAG, Nights, git, repository
from tracekit.base.errors import InterruptedRunError
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.run import run_night

pytestmark = pytest.mark.processes


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nights:
    made = repository(tmp_path / "repo")
    monkeypatch.setenv(TAG, made.environment[TAG])
    return made


def stopped_at(nights: Nights, words: str) -> Night:
    """Run a night until something is told, and interrupt it there."""

    def interrupt(told: str) -> None:
        if told.startswith(words) and "reproduced" in told:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError):
        run_night(read_plan(nights.top / "tracekit.toml"), progress=interrupt)
    return nights.documents()[-1]


def test_a_regression_that_was_reproduced_is_one_though_the_night_was_stopped(
    nights: Nights,
) -> None:
    work = nights.top / "workloads" / "nap.py"
    work.write_text(work.read_text().replace("0.001", "0.003"))
    git(nights.top, "commit", "--quiet", "--all", "-m", "slower")
    nights.plan(
        capture='pairs = 7\nmetrics = { step_p50 = 0.2 }\nreference = { revision = "HEAD~" }'
    )
    night = stopped_at(nights, "nap: pair 7")
    [entry] = night.entries
    assert [one.sitting for one in entry.pairs].count(2) == 6
    assert (night.outcome, night.partial) == (Outcome.REGRESSION, True)
    assert entry.reason.startswith("step_p50: ")
    assert entry.reason.endswith("It was interrupted.")


def test_a_reference_that_is_gone_is_told_and_the_work_tree_is_made_anew(nights: Nights) -> None:
    git(nights.top, "tag", "before")
    nights.plan(capture='reference = { revision = "before" }')
    plan = read_plan(nights.top / "tracekit.toml")
    work = nights.top / "workloads" / "nap.py"
    work.write_text(f"{work.read_text()}# somebody works on it\n")
    first = run_night(plan)
    assert first.outcome is Outcome.UNJUDGED
    assert first.entries[0].candidate.commit.endswith("-dirty")
    assert first.entries[0].reference is not None
    assert not first.entries[0].reference.commit.endswith("-dirty")

    git(nights.top, "tag", "--delete", "before")
    gone = run_night(plan)
    assert gone.outcome is Outcome.FAILED
    assert "has no revision 'before'" in gone.reason

    git(nights.top, "tag", "before", "HEAD")
    git(nights.top, "worktree", "prune")
    [folder] = [
        line for line in git(nights.top, "worktree", "list").splitlines() if "notes" in line
    ]
    shutil.rmtree(folder.split()[0])
    assert run_night(plan).outcome is Outcome.UNJUDGED
