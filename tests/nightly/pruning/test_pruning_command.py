"""`tracekit prune` at the command line, with a history that says what must stay."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert

from tracekit.base.recording import Recording
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.history.store.schema import NIGHTS
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.pruning import Limits, prune
from tracekit.record.opening import opening

Run = Callable[..., Any]
MakeRun = Callable[..., Recording]
PLAN = '[[nightly.capture]]\nname = "decode"\nworkload = "paged"\n'


def ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plan, in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tracekit.toml").write_text(PLAN)
    return tmp_path


@pytest.fixture
def nights(here: Path, make_run: MakeRun) -> Path:
    """Four nights in the plan's history, each with a run; the second is pinned."""
    output = here / "bench" / "nights"
    with Store.open(f"sqlite:///{output}/history.db") as store:
        for number in range(4):
            name = f"2026-0{number + 1}-01T02-30-00-abcd"
            make_run("traced-1", age=300 - number, root=output / name)
            night = Night(
                id=name,
                plan=here.name,
                machine="m",
                started=ago(300 - number),
                ended=ago(300 - number),
                outcome=Outcome.OK,
            )
            document = {"id": name, "started": night.started, "ended": night.ended}
            (output / name / "night.json").write_text(json.dumps(document))
            store.append(night)
        store.pin("2026-02-01T02-30-00-abcd", "to show")
    return output


def bundles(folder: Path) -> list[str]:
    return sorted(each.parents[1].name[:10] for each in folder.rglob("recording.trace"))


def test_what_is_pinned_in_the_history_stays(nights: Path, tracekit: Run) -> None:
    (nights.parents[1] / "tracekit.toml").rename(nights.parents[1] / "kept.toml")
    ran = tracekit("prune", str(nights), "--keep", "30d", "--newest", "0")
    assert (ran.code, len(bundles(nights))) == (0, 4)
    assert "name the plan with --config" in ran.out
    config = ("--config", str(nights.parents[1] / "kept.toml"))
    ran = tracekit("prune", "--keep", "30d", "--newest", "1", *config)
    assert ran.code == 0, ran.err
    assert bundles(nights) == ["2026-02-01", "2026-04-01"]
    assert "1\tits night is pinned" in ran.out
    assert "1\tit is one of the newest" in ran.out
    assert str(nights.parent) not in ran.out, "paths are as one would type them here"
    assert "freed;" in ran.out
    assert (nights / "history.db").exists()


def test_a_history_that_cannot_be_read_ends_it_before_anything_goes_but_not_a_newer_night(
    nights: Path, tracekit: Run
) -> None:
    with Store.open(str(nights / "history.db")) as store, store.database.writing() as connection:
        document = {"id": "newer", "plan": "p", "machine": "m", "started": ago(1), "format": 99}
        row = {name: document[name] for name in ("id", "plan", "machine", "started")}
        connection.execute(insert(NIGHTS).values(row | {"document": json.dumps(document)}))
    assert tracekit("prune", "--keep", "30d", "--dry-run").code == 0
    (nights / "history.db").write_text("no database at all, and long enough to be one" * 100)
    ran = tracekit("prune", "--keep", "30d")
    assert ran.code == 3
    assert "history.db" in ran.err
    assert len(bundles(nights)) == 4


def test_a_dry_run_as_json(nights: Path, tracekit: Run) -> None:
    ran = tracekit("prune", "--max-size", "1", "--newest", "0", "--dry-run", "--json")
    told = json.loads(ran.out)
    assert told["dry"] is True
    assert {each["what"] for each in told["removed"]} == {"bundle", "exports"}
    assert len(told["kept"]) == 1
    assert told["freed"] == told["before"] - told["after"] > 0
    assert told["missing"] > 0
    assert "more than --max-size" in tracekit("prune", "--max-size", "10B", "--dry-run").err
    assert len(bundles(nights)) == 4


def test_mistakes_are_told(nights: Path, tracekit: Run) -> None:
    for arguments, code, said in (
        ((), 2, "Nothing says what may stay"),
        (("--keep", "soon"), 2, "is no age"),
        (("--max-size", "big"), 2, "is no size"),
        (("nowhere", "--keep", "1d"), 3, "nowhere is no folder"),
        (("--newest", "-1", "--keep", "1d"), 2, "--newest"),
    ):
        ran = tracekit("prune", *arguments)
        assert (ran.code, said in ran.err) == (code, True)
    assert len(bundles(nights)) == 4


def test_a_pruned_bundle_is_not_opened_or_exported_but_explained(
    real_run: Recording, tracekit: Run
) -> None:
    prune([real_run.folder], Limits(most=0, newest=0))
    exported = tracekit("export", str(real_run.folder))
    assert exported.code == 3
    assert "no bundle to export: it was pruned (recording.trace on 2" in exported.err
    opened = tracekit("open", str(real_run.folder), "--trace")
    assert opened.code == 3
    assert "It was pruned: recording.trace on 2" in opened.err
    assert opening(real_run, "page").path == real_run.report_file.resolve()


def test_one_that_fails_is_exit_code_3_and_the_rest_is_done(
    here: Path, make_run: MakeRun, tracekit: Run, hold: Callable[[Path], None]
) -> None:
    stuck, other = make_run("a", 300, exports=0), make_run("b", 200, exports=0)
    hold(stuck.bundle)
    ran = tracekit("prune", "traces", "--keep", "30d", "--newest", "0")
    assert ran.code == 3
    assert "1 could not be pruned" in ran.err
    assert not other.bundle.exists()
