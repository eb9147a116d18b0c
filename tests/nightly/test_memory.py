"""Nights while their history is away: measured, kept in their folder, added later and once."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import typer

from command_line import assert_error, join_stderr
from played_nights import Played
from postgresql import Server, server
from real_nights import repository
from stored_nights import night_of, sql
from tracekit.base import locks
from tracekit.base.documents import save
from tracekit.base.errors import RecordingError
from tracekit.cli.nightly import _show  # pyright: ignore[reportPrivateUsage]
from tracekit.nightly.folder import make_output
from tracekit.nightly.history.documents import night_in
from tracekit.nightly.history.night import Night, Outcome
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.reading import read_plan

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def postgresql() -> Any:
    with server() as started:
        yield started


def nobody_listens() -> str:
    """Return the URL of a server on a port of loopback at which nobody listens."""
    with closing(socket.socket()) as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        return f"postgresql://ada:geheim77@127.0.0.1:{free_socket.getsockname()[1]}/nights"


def with_history(plan: Path, url: str) -> None:
    """Write the plan again, with this history."""
    lines = [line for line in plan.read_text().splitlines() if not line.startswith("history = ")]
    position = lines.index("[nightly]") + 1
    plan.write_text("\n".join([*lines[:position], f'history = "{url}"', *lines[position:], ""]))


def documents(output: Path) -> list[Night]:
    nights = [night_in(file.parent) for file in sorted(output.glob("*/night.json"))]
    return [night for night in nights if night is not None]


@pytest.mark.processes
def test_a_night_whose_server_is_down_is_measured_and_stored_later(
    tmp_path: Path, tracekit: Run
) -> None:
    nights = repository(tmp_path / "repo")
    plan = nights.top / "tracekit.toml"
    with_history(plan, nobody_listens())
    result = tracekit("nightly", "run", plan)
    assert_error(result, 3, "cannot be used as a history", "Result of the night: Nothing judged")
    assert "`tracekit nightly history sync` adds it to the history" in join_stderr(result)
    assert "geheim77" not in result.out + result.err
    assert "# nap" in result.out, "what was measured is shown"
    as_json = tracekit("nightly", "run", plan, "--json")
    assert as_json.code == 3
    document = json.loads(as_json.out)
    assert (document["outcome"], document["history"]["stored"]) == ("unjudged", False)
    assert "cannot be used as a history" in document["history"]["reason"]
    measured = documents(nights.output)
    assert [(len(night.entries[0].pairs), bool(night.ended)) for night in measured] == [
        (1, True)
    ] * 2
    assert "could not be read before the night" in measured[0].warnings[0]
    assert_error(
        tracekit("nightly", "history", "sync", "--config", plan), 3, "cannot be used as a history"
    )

    with_history(plan, "sqlite:///bench/nights/history.db")
    added = tracekit("nightly", "history", "sync", "--config", plan)
    assert added.code == 0, added.err
    assert added.out.splitlines() == [f"added   {night.id}" for night in measured]
    assert (nights.output / "trend.html").exists()
    again = tracekit("nightly", "history", "sync", "--config", plan)
    assert (again.code, again.out) == (
        0, "The history has every night of the plan that has ended.\n"
    )  # fmt: skip
    with Store.connect(read_plan(plan).history, make=False) as store:
        # Two short nights may begin within one second: their folders are in the order of ids then.
        assert sorted(store.nights(), key=lambda night: night.id) == measured


@pytest.mark.processes
def test_the_next_night_adds_waiting_nights_and_reports_them(tmp_path: Path, tracekit: Run) -> None:
    """The history is in a folder that is a file at first."""
    nights = repository(tmp_path / "repo")
    plan = nights.top / "tracekit.toml"
    with_history(plan, "sqlite:///kept/history.db")
    (nights.top / "kept").touch()
    assert_error(tracekit("nightly", "run", plan), 3, "cannot be made")
    (nights.top / "kept").unlink()
    result = tracekit("nightly", "run", plan, "--json")
    assert result.code == 4, "nothing judged, and stored"
    first_night, second = documents(nights.output)
    assert json.loads(result.out)["history"] == {"stored": True, "reason": ""}
    assert second.warnings[0] == (
        f"The night {first_night.id} had not been added to the history; now it is."
    )
    kept_out = json.loads(tracekit("nightly", "run", plan, "--no-history", "--json").out)
    assert kept_out["history"] == {"stored": False, "reason": "--no-history keeps it out."}
    with Store.connect(read_plan(plan).history, make=False) as store:
        assert store.nights() == [first_night, second]


def run_unstored_night(played: Played, cost: float, **keys: Any) -> Any:
    """Let a night run that cannot be stored; return the error, which has the night."""
    with pytest.raises(RecordingError, match="Result of the night") as raised:
        played.night(cost, **keys)
    played.nights.append(documents(played.top / "nights")[-1])
    assert raised.value.night == played.nights[-1]  # type: ignore[attr-defined]
    return raised.value


@pytest.mark.processes
@pytest.mark.parametrize(
    ("cost", "words"),
    [(1.0, "If there are none, it is ok: "), (1.3, "If there are none, it is a regression: ")],
)
def test_without_its_history_a_night_judges_nothing_that_may_have_been_accepted(
    played: Played, cost: float, words: str
) -> None:
    played.begin('revision = "FIRST"')
    with_history(played.plan, nobody_listens())
    night = run_unstored_night(played, cost).night
    (entry,) = night.entries
    judged, *_ = [metric_judgement for metric_judgement in entry.judged if metric_judgement.gated]
    assert (night.outcome, judged.outcome, judged.expected) == (
        Outcome.INCONCLUSIVE, Outcome.INCONCLUSIVE, None
    )  # fmt: skip
    assert judged.change == pytest.approx(cost - 1, abs=0.02)
    assert "The accepted changes are not known" in night.reason
    assert words in night.reason
    held_out = played.night(cost, keep=False)
    assert held_out.outcome is Outcome.INCONCLUSIVE, "nor where the night is to stay out"


@pytest.mark.processes
def test_the_night_before_is_known_from_the_folder(played: Played) -> None:
    played.begin("previous-night = true")
    first_night = played.night(1.0)
    with_history(played.plan, nobody_listens())
    night = run_unstored_night(played, 1.2).night
    (entry,) = night.entries
    assert entry.reference is not None
    assert entry.reference.commit == first_night.commit
    assert entry.judged[0].change == pytest.approx(0.2, abs=0.02)


@pytest.mark.processes
def test_a_night_that_is_judged_and_refused_ends_as_it_was_judged_or_with_3(
    played: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    """The history can be read, and takes no night: a regression goes before that, ok does not."""
    played.begin('revision = "FIRST"')
    played.night(1.0)
    refusal = "SELECT RAISE(ABORT, 'attempt to write a readonly database')"
    trigger = f"CREATE TRIGGER refused BEFORE INSERT ON nights BEGIN {refusal}; END"
    sql(read_plan(played.plan).history, trigger)
    for cost, outcome in ((1.0, Outcome.OK), (1.3, Outcome.REGRESSION)):
        failed = run_unstored_night(played, cost)
        night, plan = documents(played.top / "nights")[-1], read_plan(played.plan)
        assert night.outcome is outcome, night.reason
        error_type = RecordingError if outcome is Outcome.OK else typer.Exit
        with pytest.raises(error_type) as end:
            _show(plan, night, failed, json=True, open_page=False)
        streams = capsys.readouterr()
        assert json.loads(streams.out)["history"]["stored"] is False, cost
        assert end.value.exit_code == (3 if outcome is Outcome.OK else 1), cost
    assert "readonly database" in streams.err


PLAN = """
[nightly]
name = "nightly"
machine = "mini"
output = "nights"
[[nightly.capture]]
name = "decode"
workload = "paged"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "tracekit.toml").write_text(PLAN)
    return tmp_path


def leave_nights(home: Path, *nights: Night) -> None:
    """Leave nights in the plan's folder, as where their history was away."""
    for night in nights:
        save(make_output(home / "nights" / night.id) / "night.json", night)


def sync_history(tracekit: Run, home: Path, code: int = 0) -> Any:
    result = tracekit("nightly", "history", "sync", "--config", home / "tracekit.toml", "--json")
    assert result.code == code, result.err
    return json.loads(result.out)


def test_nights_are_added_oldest_first_and_once(home: Path, tracekit: Run) -> None:
    leave_nights(home, night_of(5), night_of(2), night_of(9, machine="maxi"))
    leave_nights(home, night_of(3, kept=False), night_of(4, plan="other"))
    ids = [night_of(day).id for day in (2, 5, 9)]
    assert sync_history(tracekit, home)["added"] == ids
    leave_nights(home, night_of(7, ended="", outcome=None))
    assert sync_history(tracekit, home)["added"] == [night_of(7).id]
    assert sync_history(tracekit, home)["added"] == []
    rows = sql(f"sqlite:///{home}/nights/history.db", "SELECT id FROM nights ORDER BY number")
    assert [row[0] for row in rows] == [*ids, night_of(7).id]


def test_a_night_that_may_still_run_waits(home: Path, tracekit: Run) -> None:
    unended: dict[str, Any] = {"ended": "", "outcome": None}
    leave_nights(home, night_of(1), night_of(2, **unended), night_of(3, machine="maxi", **unended))
    with locks.holding(home / "nights" / ".night.lock", "", "a night"):
        done = sync_history(tracekit, home)
        assert done["added"] == [night_of(1).id]
        assert [entry["night"] for entry in done["wait"]] == [night_of(2).id, night_of(3).id]
        leave_nights(home.parent / home.name, night_of(4))
        result = tracekit("nightly", "history", "sync", "--config", home / "tracekit.toml")
        assert f"The night {night_of(2).id} waits: it may still run." in join_stderr(result)
    (waiting,) = sync_history(tracekit, home)["wait"]
    assert waiting["why"] == "it has not ended, and may still run on maxi"
    with Store.connect(str(home / "nights" / "history.db"), make=False) as store:
        (cut_night,) = [night for night in store.nights() if night.id == night_of(2).id]
    assert (cut_night.partial, cut_night.outcome) == (True, Outcome.REGRESSION)


def test_a_night_that_cannot_be_read_stops_no_other(home: Path, tracekit: Run) -> None:
    leave_nights(home, night_of(1), night_of(2), night_of(3))
    (home / "nights" / night_of(2).id / "night.json").write_text("{")
    done = sync_history(tracekit, home, code=3)
    assert done["added"] == [night_of(1).id, night_of(3).id]
    assert [entry["night"] for entry in done["failed"]] == [night_of(2).id]
    result = tracekit("nightly", "history", "sync", "--config", home / "tracekit.toml")
    assert_error(result, 3, "1 night could not be added.", night_of(2).id)


def test_another_night_of_the_same_name_is_refused_and_the_first_stays(
    home: Path, tracekit: Run
) -> None:
    leave_nights(home, night_of(1))
    sync_history(tracekit, home)
    moved = home / "nights" / "renamed"
    (home / "nights" / night_of(1).id).rename(moved)
    assert sync_history(tracekit, home)["added"] == [], "a folder's name says nothing of its night"
    save(moved / "night.json", replace(night_of(1), reason="changed by hand"))
    (failure,) = sync_history(tracekit, home, code=3)["failed"]
    assert "has another night" in failure["why"]


def test_a_night_is_added_though_its_runs_were_pruned(home: Path, tracekit: Run) -> None:
    leave_nights(home, night_of(1))
    result = tracekit("runs", "prune", "--keep", "1d", "--config", home / "tracekit.toml")
    assert result.code == 0, result.err
    assert sync_history(tracekit, home)["added"] == [night_of(1).id]


def in_parallel(home: Path, *plans: Path) -> list[dict[str, Any]]:
    argv = [
        sys.executable,
        "-P",
        "-m",
        "tracekit",
        "nightly",
        "history",
        "sync",
        "--json",
        "--config",
    ]
    running = [
        subprocess.Popen([*argv, str(plan)], cwd=home, stdout=subprocess.PIPE, text=True)
        for plan in plans
    ]
    texts = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0] * len(running), texts
    return [json.loads(text) for text in texts]


@pytest.mark.processes
def test_several_that_sync_at_once_add_each_night_once(home: Path) -> None:
    leave_nights(home, *map(night_of, range(1, 7)))
    done = in_parallel(home, *[home / "tracekit.toml"] * 3)
    added = [name for document in done for name in document["added"]]
    assert sorted(added) == [night_of(day).id for day in range(1, 7)]


@pytest.mark.server
def test_two_machines_sync_into_one_server(home: Path, postgresql: Server) -> None:
    url = postgresql.new_schema(f"s{uuid4().hex}")
    plans = [home / name / "tracekit.toml" for name in ("mini", "maxi")]
    for plan in plans:
        plan.parent.mkdir()
        plan.write_text(PLAN.replace("mini", plan.parent.name))
        with_history(plan, url)
        nights = [
            night_of(day, machine=plan.parent.name, tail=plan.parent.name) for day in range(1, 6)
        ]
        leave_nights(plan.parent, *nights)
    done = in_parallel(home, *plans, *plans)
    assert sorted(len(document["added"]) for document in done[::2]) != [0, 0]
    with Store.connect(url, make=False) as store:
        ids = [night.id for night in store.nights()]
    assert len(ids) == len(set(ids)) == 10


@pytest.mark.server
def test_a_server_that_goes_away_in_a_night_gets_it_when_it_is_back(
    played: Played, postgresql: Server
) -> None:
    """It is renamed as a night runs: what was accepted is known, so the night is judged."""
    name = f"d{uuid4().hex}"
    played.begin('revision = "FIRST"')
    with_history(played.plan, postgresql.new_database(name))
    first_night = played.night(1.0)
    with Store.connect(read_plan(played.plan).history) as store:
        store.accept(first_night.id, ["decode"], "it is known")

    def rename(words: str) -> None:
        if words == "decode: pair 1 of 10":
            with postgresql.connect() as connection:
                connection.execute(f'ALTER DATABASE "{name}" RENAME TO "{name}-away"')

    second = run_unstored_night(played, 1.3, progress=rename).night
    assert second.outcome is Outcome.REGRESSION
    assert second.entries[0].judged[0].baseline == first_night.id
    third = run_unstored_night(played, 1.3).night
    assert third.outcome is Outcome.INCONCLUSIVE
    with postgresql.connect() as connection:
        connection.execute(f'ALTER DATABASE "{name}-away" RENAME TO "{name}"')
    fourth = played.night(1.0)
    assert [second.id in fourth.warnings[0], third.id in fourth.warnings[1]] == [True, True]
    with Store.connect(read_plan(played.plan).history) as store:
        own_nights = store.nights(plan="played", machine="mini")
    assert [night.id for night in own_nights] == [first_night.id, second.id, third.id, fourth.id]
