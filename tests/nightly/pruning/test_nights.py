"""Pruning beside real nights: one that runs, one that is pinned, and what goes on afterwards."""

from datetime import timedelta
from pathlib import Path

import pytest

from real_nights import Nights, repository
from tracekit.cli.prune import _protection
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.pruning import Limits, Pruned, prune
from tracekit.nightly.run import run_night

pytestmark = pytest.mark.processes

ALL = Limits(timedelta(0), newest=0)


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    made = repository(tmp_path / "repo")
    later = '[[nightly.capture]]\nname = "later"'
    made.plan(capture=f"traced = 1\n{later}\nmetrics = {{ step_p50 = {{ gate = false }} }}")
    return made


def pruned(plan: NightPlan, *folders: Path) -> Pruned:
    return prune(folders or [plan.output], ALL, _protection(plan.history))


def test_a_night_is_pruned_once_it_has_ended_and_nobody_wants_it(nights: Nights) -> None:
    plan = read_plan(nights.top / "tracekit.toml")
    meanwhile: list[Pruned] = []

    def clean(words: str) -> None:
        if words.startswith("later: pair 1"):
            meanwhile.append(pruned(plan))

    night = run_night(plan, progress=clean)
    assert night.outcome is Outcome.UNJUDGED
    run = plan.output / night.id / "nap" / "candidate-1-1"
    [while_it_ran] = meanwhile
    assert while_it_ran.removed == []
    assert [(one.path, one.why) for one in while_it_ran.kept] == [(run, "its night has not ended")]

    with Store.open(plan.history) as store:
        store.pin(night.id, "somebody looks at it")
    for folders in ([], [run.parent], [run]):
        done = pruned(plan, *folders)
        assert done.removed == []
        assert [one.why for one in done.kept] == ["its night is pinned"]
    with Store.open(plan.history) as store:
        store.unpin(night.id)
    assert {one.what for one in pruned(plan).removed} == {"bundle", "exports"}

    again = run_night(plan, captures=["later"])
    assert again.outcome is Outcome.UNJUDGED
    assert again.warnings == night.warnings
    page = (plan.output / "trend.html").read_text()
    assert f"{night.id}/nap/candidate-1-1/report.html" in page
    assert (run / "report.html").is_file()
    with Store.open(plan.history) as store:
        assert store.nights()[0] == night
