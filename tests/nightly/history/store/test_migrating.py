"""Histories that the version before wrote are changed into this one's tables, without loss.

`kept/history-1` was written by the last commit whose tables had version 0001, with what its store
answered; each file is the database's own dump.
"""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from postgresql import Server
from stored_nights import Cut, cut_at, night_of
from tracekit.nightly.history.store.database import database, require_tables
from tracekit.nightly.history.store.schema import METADATA, VERSION_TABLE, VERSIONS
from tracekit.nightly.history.store.store import Store

KEPT = Path(__file__).parents[3] / "kept" / "history-1"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a history that the version before wrote."""
    dump = (KEPT / f"{request.param}.sql").read_text()
    if request.param == "sqlite":
        with sqlite3.connect(tmp_path / "history.db") as connection:
            connection.executescript(dump)
        connection.close()
        return str(tmp_path / "history.db")
    server: Server = request.getfixturevalue("postgresql")
    name = f"old{uuid4().hex}"
    made = server.new_database(name)
    with server.connect(name) as connection:
        connection.execute(dump.encode())
    return made


def answers(store: Store) -> Any:
    return msgspec.json.decode(
        msgspec.json.encode(
            {
                "nights": [night.id for night in store.nights()],
                "series": store.series(),
                "samples": list(store.samples()),
                "accepted": store.acceptances(),
                "pinned": sorted(store.pinned()),
                "missed": store.missed_nights(),
            }
        )
    )


def test_a_history_of_the_version_before_answers_as_it_did(url: str) -> None:
    known = msgspec.json.decode((KEPT / "answers.json").read_bytes())
    for _ in range(2):
        with Store.open(url, make=False) as store:
            found = answers(store)
        for point in (point for series in found["series"] for point in series["points"]):
            assert point.pop("reference_commit") == ""  # new; that version's histories have none
        assert all(accepted.pop("who") == "" for accepted in found["accepted"])  # new as well
        assert found == known


def test_nothing_of_the_version_before_is_left_and_numbers_go_on_from_where_they_were(
    url: str, sql: Callable[[str], Any]
) -> None:
    with Store.open(url) as store:
        with store.database.reading() as connection:
            names = set(connection.dialect.get_table_names(connection))
        assert names == {*METADATA.tables, VERSION_TABLE}
        assert sql(f"SELECT version_num FROM {VERSION_TABLE}") == [(VERSIONS[-1],)]  # noqa: S608
        with pytest.raises(Exception, match="a history is append-only"):
            sql("DELETE FROM nights")
        assert not store.append(night_of(1))
        assert store.append(night_of(9))
        store.accept("latest", [], "as it is now")
        store.pin("latest", "to look at")
    assert sql("SELECT number FROM nights ORDER BY id") == [(2,), (1,), (3,), (4,), (5,)]
    assert sql("SELECT max(number) FROM acceptances") == [(3,)]


def test_a_change_that_is_cut_short_leaves_the_history_as_it_was(
    url: str, sql: Callable[[str], Any]
) -> None:
    before = sql("SELECT count(*) FROM samples")
    opened = database(url, create=False)
    for number in range(4, 40, 6):
        with cut_at(opened.engine, number), pytest.raises(Cut):
            require_tables(opened, make=False)
        assert sql("SELECT count(*) FROM samples") == before
    opened.engine.dispose()
