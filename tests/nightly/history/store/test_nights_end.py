"""A history that is gone, full or locked when a night ends: nothing measured is lost."""

import resource
from dataclasses import replace
from pathlib import Path

import pytest

from postgresql import Server
from real_nights import Nights, repository
from tracekit.base.errors import RecordingError, TracekitError
from tracekit.base.recording import save
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.run import run_night

pytestmark = pytest.mark.processes

_SMALL = 64 << 10  # bytes: more than a night's document has, less than a history
_LITTLE = 12 << 10  # bytes: less than a night's document of many pairs has


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return repository(tmp_path / "repo")


def ids(url: str) -> list[str]:
    with Store.open(url, make=False) as store:
        return [one.id for one in store.nights()]


def test_a_whole_night_with_a_plans_history_on_a_server(
    nights: Nights, postgresql: Server, tmp_path: Path
) -> None:
    """The server loses the database while the first night runs; two machines share it then."""
    url = postgresql.new_database("nights of a test")
    nights.plan(top=f'history = "{url}"')
    plan = read_plan(nights.top / "tracekit.toml")

    def lose(words: str) -> None:
        if "pair 1" in words:
            rename(postgresql, "nights of a test", "elsewhere")

    with pytest.raises(RecordingError, match="does not exist") as caught:
        run_night(plan, progress=lose)
    assert "What the night found: Nothing judged" in caught.value.message
    [lost] = nights.documents()
    assert f"{lost.id}/night.json keeps the night, and the next night adds it" in caught.value.hint
    assert (lost.outcome, lost.partial) == (Outcome.UNJUDGED, False)
    assert lost.ended

    rename(postgresql, "elsewhere", "nights of a test")
    nights.plan(top=f'history = "{url}"')
    code, _, said = nights.run()
    assert code == 4, said
    assert f"The night {lost.id} had not been added to the history; now it is." in said
    assert "phrase" not in said

    other = repository(tmp_path / "other")
    other.plan(top=f'history = "{url}"')
    text = (other.top / "tracekit.toml").read_text().replace('"mini"', '"studio"')
    (other.top / "tracekit.toml").write_text(text)
    told = run_night(read_plan(other.top / "tracekit.toml")).warnings
    assert not [one for one in told if "had not been added" in one]
    found = [one.id for one in (*nights.documents(), *other.documents())]
    assert ids(url) == found
    with Store.open(url) as store:
        assert store.machines() == ["mini", "studio"]
        assert store.nights()[0] == lost
    assert lost.id[:10] in (nights.output / "trend.html").read_text()


def rename(server: Server, name: str, other: str) -> None:
    with server.connect() as connection:
        connection.execute(f'ALTER DATABASE "{name}" RENAME TO "{other}"')


def test_a_history_that_may_not_grow_at_a_nights_end(nights: Nights) -> None:
    run_night(read_plan(nights.top / "tracekit.toml"))
    limit = (_SMALL, resource.RLIM_INFINITY)
    code, _, said = nights.run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
    _, second = nights.documents()
    assert code == 3, said
    assert "history.db" in said
    assert "What the night found: Nothing judged" in said
    assert f"{second.id}/night.json keeps the night" in said
    assert second.outcome is Outcome.UNJUDGED

    third = run_night(read_plan(nights.top / "tracekit.toml"))
    assert sorted(ids(str(nights.output / "history.db"))) == sorted(
        one.id for one in nights.documents()
    )
    [told] = [one for one in third.warnings if "had not been added" in one]
    assert told.startswith(f"The night {second.id} had not been added")


def test_a_disk_that_is_full_while_a_night_runs(nights: Nights) -> None:
    """What was written last stays whole, and the next night takes it up if it is to be kept."""
    nights.plan(capture="pairs = 12")
    limit = (_LITTLE, resource.RLIM_INFINITY)
    code, shown, said = nights.run(
        "--no-history",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert code == 3, said
    assert "night.json cannot be written: File too large" in shown + said
    [cut] = nights.documents()
    assert 0 < len(cut.entries[0].pairs) < 12
    assert nights.left() == []
    assert [one.name for one in nights.output.rglob("*unfinished*")] == []

    nights.plan()
    assert not cut.kept
    run_night(read_plan(nights.top / "tracekit.toml"))
    assert cut.id not in ids(str(nights.output / "history.db"))

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
    assert sorted(ids(plan.history)) == sorted(one.id for one in nights.documents())
    assert sum("had not been added" in one for one in third.warnings) == 2
    assert ids(plan.history)[0] == first.id
