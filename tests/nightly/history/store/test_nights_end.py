"""A history that is gone, full or locked when a night ends: nothing measured is lost."""

import resource
from dataclasses import replace
from pathlib import Path

import pytest

from real_nights import Nights, repository
from tracekit.base.errors import TracekitError
from tracekit.base.recording import save
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.run import run_night

pytestmark = pytest.mark.processes

_LITTLE = 12 << 10  # bytes: less than a night's document of many pairs has


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return repository(tmp_path / "repo")


def ids(url: str) -> list[str]:
    with Store.open(url, make=False) as store:
        return [each.id for each in store.nights()]


def test_a_disk_that_is_full_while_a_night_runs(nights: Nights) -> None:
    """What was written last stays whole, and the next night takes it up if it is to be kept."""
    nights.plan(capture="pairs = 12")
    limit = (_LITTLE, resource.RLIM_INFINITY)
    code, shown, said = nights.run(
        "--no-history", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    )
    assert code == 3, said
    assert "night.json cannot be written: File too large" in shown + said
    [cut] = nights.documents()
    assert 0 < len(cut.entries[0].pairs) < 12
    assert nights.left() == []
    assert [each.name for each in nights.output.rglob("*unfinished*")] == []

    nights.plan()
    assert not cut.kept
    save(nights.output / cut.id / "night.json", replace(cut, kept=True))
    run_night(read_plan(nights.top / "tracekit.toml"))
    with Store.open(str(nights.output / "history.db"), make=False) as store:
        recovered = store.night(cut.id)
    assert recovered.outcome is Outcome.FAILED
    assert recovered.entries == cut.entries


def test_a_history_that_somebody_removed_while_a_night_ran(nights: Nights) -> None:
    plan = read_plan(nights.top / "tracekit.toml")
    first = run_night(plan)

    def remove(_: str) -> None:
        (nights.output / "history.db").unlink(missing_ok=True)

    with pytest.raises(TracekitError, match="What the night found: Nothing judged"):
        run_night(plan, progress=remove)
    third = run_night(plan)
    assert len(nights.documents()) == 3
    # Nights of one second stand in folders whose order their names do not tell.
    assert sorted(ids(plan.history)) == sorted(each.id for each in nights.documents())
    assert sum("had not been added" in each for each in third.warnings) == 2
    assert ids(plan.history)[0] == first.id
