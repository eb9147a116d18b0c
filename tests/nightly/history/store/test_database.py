"""A database that is refused, cut short, full, locked or of another version loses nothing."""

import socket
import sqlite3
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from sqlalchemy import URL, Engine, event, inspect
from sqlalchemy.exc import DBAPIError

from nobody import folder_of_nobody
from postgresql import Server
from stored_nights import entry_of, night_of, sql
from tracekit.base.errors import InputError, RecordingError, ToolError, TracekitError, UsageError
from tracekit.nightly.history.night import Night
from tracekit.nightly.history.store.database import as_error, database, require_tables
from tracekit.nightly.history.store.migrations import MIGRATIONS, VERSION_TABLE, VERSIONS
from tracekit.nightly.history.store.nights import append
from tracekit.nightly.history.store.place import describe_url, file_of, url_of
from tracekit.nightly.history.store.schema import METADATA
from tracekit.nightly.history.store.store import Store

SERVER = url_of("postgresql://ada:geheim77@db.local:5433/tracekit?sslpassword=other88")
COUNT = "SELECT count(*) FROM nights"


def require_refusal(
    url: str, kind: type[TracekitError], words: str, *, make: bool = True
) -> TracekitError:
    """Open a history that is none; return what is said, which has no password."""
    with pytest.raises(kind, match=words) as raised, Store.connect(url, make=make) as store:
        store.nights()
    assert "geheim77" not in raised.value.message + raised.value.hint
    return raised.value


def test_a_databases_refusal_is_quoted_without_a_password() -> None:
    file = URL.create("sqlite", database="/nights/history.db")
    for name, kind in (("FULL", RecordingError), ("NOTADB", InputError), ("CORRUPT", InputError)):
        raised = sqlite3.OperationalError("the words.")
        raised.sqlite_errorname = f"SQLITE_{name}"
        error = as_error(DBAPIError("INSERT", {}, raised), file)
        assert (type(error), error.exit_code, bool(error.hint)) == (kind, 3, True), name
        assert error.message == "/nights/history.db cannot be used as a history: the words.", name
    driver_message = (
        "\ncannot resolve geheim77@db.local.\n\tIs the server running?\nAttempts failed\n"
    )
    error = as_error(DBAPIError("INSERT", {}, sqlite3.OperationalError(driver_message)), SERVER)
    refusal = "postgresql://db.local:5433/tracekit cannot be used as a history"
    assert error.message == f"{refusal}: cannot resolve …@db.local."
    silent = as_error(DBAPIError("INSERT", {}, sqlite3.OperationalError()), SERVER)
    assert silent.message == f"{refusal}: OperationalError."


def test_a_place_is_read_as_people_write_it() -> None:
    for text, expected_url, is_shown in (
        ("nights/history.db", "sqlite:///nights/history.db", "nights/history.db"),
        ("sqlite:///nights/history.db", "sqlite:///nights/history.db", "nights/history.db"),
        ("sqlite:////var/a?b.db", "sqlite:////var/a%3Fb.db", "/var/a?b.db"),
        ("postgres://ada:x@localhost/t", "postgresql+psycopg://ada:***@localhost/t",
         "postgresql://localhost/t"),
        ("postgresql+psycopg://localhost:5433/t?sslmode=require",
         "postgresql+psycopg://localhost:5433/t?sslmode=require", "postgresql://localhost:5433/t"),
    ):  # fmt: skip
        url = url_of(text)
        assert (str(url), describe_url(url)) == (expected_url, is_shown), text
        assert file_of(text) == (Path(is_shown).absolute() if "sqlite" in expected_url else None)


def test_a_url_that_names_no_history_is_a_mistake() -> None:
    for url, words in (
        (" ", "is empty"),
        ("mysql://ada:geheim77@localhost/tracekit", "not in mysql"),
        ("postgresql+psycopg2://localhost/tracekit", r"not in postgresql\+psycopg2"),
        ("sqlite:///", "is a file"),
        ("sqlite:///:memory:", "is a file"),
        ("postgresql://ada:geheim77@localhost:port/tracekit", "cannot be read"),
        ("://geheim77", "cannot be read"),
    ):
        assert "sqlite:///" in require_refusal(url, UsageError, words).hint


def test_a_history_of_a_newer_tracekit_or_without_a_table_is_left_alone(url: str) -> None:
    with Store.connect(url) as store:
        store.append(night_of(1))
        with pytest.raises(InputError, match="has format 99; this tracekit reads up to 2"):
            store.append(night_of(1, format=99))
    change = f"UPDATE {VERSION_TABLE} SET version_num = "  # noqa: S608
    sql(url, f"{change} '0999'")
    for make in (True, False):
        require_refusal(url, InputError, "newer tracekit: its tables have version 0999", make=make)
    sql(url, f"{change} '{VERSIONS[-1]}'")
    assert sql(url, COUNT) == [(1,)]
    sql(url, "DROP TABLE judgements")
    require_refusal(url, InputError, "is not whole: it has no table judgements")
    sql(url, f"DROP TABLE {VERSION_TABLE}")
    require_refusal(url, InputError, "is not a history, or is damaged: it has a table acceptances")


def test_files_of_something_else_are_left_alone(tmp_path: Path) -> None:
    other_file, notes, own_file = (
        tmp_path / name for name in ("other.db", "notes.txt", "history.db")
    )
    with Store.connect(str(own_file)) as store:
        store.append(night_of(1))
    with sqlite3.connect(other_file) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    notes.write_text("what I think of it\n" * 100)
    damaged = bytearray(own_file.read_bytes())
    damaged[4096 * 3 :] = b"\xa5" * (len(damaged) - 4096 * 3)
    own_file.write_bytes(damaged)
    for file, words in (
        (other_file, "is not a history, or is damaged: it has a table cats"),
        (notes, "file is not a database"),
        (own_file, "cannot be used as a history: "),
    ):
        content_before = file.read_bytes()
        require_refusal(str(file), InputError, words)
        assert file.read_bytes() == content_before
    require_refusal(str(tmp_path), RecordingError, "is a folder, not a history")


def test_a_file_that_is_read_only_is_read_and_not_written() -> None:
    with folder_of_nobody() as folder:
        file = folder / "history.db"
        with Store.connect(str(file)) as store:
            store.append(night_of(1))
        file.chmod(0o444)
        with Store.connect(str(file)) as store:
            with pytest.raises(RecordingError, match="readonly database"):
                store.append(night_of(2))
            assert store.nights() == [night_of(1)]


def test_nothing_is_made_for_a_reader_and_an_empty_file_becomes_a_history(tmp_path: Path) -> None:
    """A writer that was killed before its first page leaves one."""
    file = tmp_path / "history.db"
    require_refusal(str(file), RecordingError, "There is no history at", make=False)
    assert not file.exists()
    file.touch()
    require_refusal(str(file), RecordingError, "holds no history yet", make=False)
    assert not file.stat().st_size
    with Store.connect(str(file)) as store:
        assert store.append(night_of(1))
        file.unlink()  # by somebody, while a night runs
        with pytest.raises(RecordingError, match="unable to open database file"):
            store.append(night_of(2))
    assert not file.exists()


def test_a_server_or_a_driver_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free_socket.getsockname()[1]}/t"
        error = require_refusal(f"postgresql://ada:geheim77@{address}", RecordingError, "refused")
    assert f"postgresql://{address}" in error.message
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = require_refusal("postgresql://127.0.0.1/tracekit", ToolError, "needs psycopg")
    assert "--extra postgresql" in error.hint or "[postgresql]" in error.hint


def test_a_server_that_knows_no_such_user_says_so(postgresql: Server) -> None:
    require_refusal(postgresql.url(password="geheim77"), RecordingError, "authentication failed")


def test_a_server_that_goes_away_is_said_and_may_come_back(postgresql: Server) -> None:
    terminate_statement = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'leaving'"
    )
    with Store.connect(postgresql.new_database("leaving")) as store:
        with (  # noqa: PT012
            pytest.raises(RecordingError, match="terminating connection"),
            store.database.writing() as connection,
        ):
            with postgresql.connect() as other_connection:
                other_connection.execute(terminate_statement)
            connection.exec_driver_sql("INSERT INTO pins DEFAULT VALUES")
        assert store.append(night_of(1))


class Cut(Exception):  # noqa: N818  it stands for the process's end
    pass


@contextmanager
def cut_at(engine: Engine, number: int) -> Generator[list[str]]:
    """Fail at a statement, counted from 0; give the statements that came so far."""
    statements: list[str] = []

    def see(_: Any, __: Any, statement: str, *___: Any) -> None:
        if len(statements) == number:
            raise Cut
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", see)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", see)


def test_a_night_and_a_baseline_are_whole_or_not_there(store: Store, url: str) -> None:
    """Every statement of a transaction may fail: then nothing of it is there."""

    def counts() -> list[Any]:
        return [sql(url, f"SELECT count(*) FROM {name}") for name in METADATA.tables]  # noqa: S608

    with cut_at(store.database.engine, -1) as append_statements:
        store.append(night_of(1, [entry_of("decode"), entry_of("prefill")]))
    with cut_at(store.database.engine, -1) as accepting:
        store.accept("latest", [], "first")
    assert len(append_statements) > 2, "a look for its id, the night, what was judged"
    counts_before = counts()
    for number in range(len(append_statements)):
        with cut_at(store.database.engine, number), pytest.raises(Cut):
            store.append(night_of(2))
        assert counts() == counts_before, f"cut at {number}"
    for number in range(len(accepting)):
        with cut_at(store.database.engine, number), pytest.raises(Cut):
            store.accept("latest", [], "second")
        assert [baseline.reason for baseline in store.acceptances()] == ["first", "first"], number
    assert store.append(night_of(2))
    assert [night.id for night in store.nights()] == [night_of(1).id, night_of(2).id]


def test_tables_that_were_cut_short_are_made_again(url: str) -> None:
    opened = database(url, create=True)
    for number in (4, 10, 16, 20):
        with cut_at(opened.engine, number), pytest.raises(Cut):
            require_tables(opened, make=True)
        with opened.reading() as connection:
            assert inspect(connection).get_table_names() == [], number
    opened.engine.dispose()
    with Store.connect(url) as store:
        assert store.append(night_of(1))


def make_numbered_night(number: int) -> Night:
    return night_of(number % 28 + 1, tail=f"n{number:04d}")


def require_whole(url: str, numbers: set[int]) -> None:
    """Require that these nights are there, once and whole, and no others."""
    with Store.connect(url, make=False) as store:
        there = sorted(store.nights(), key=lambda night: night.id)
    assert there == sorted(map(make_numbered_night, numbers), key=lambda night: night.id)
    counts = sql(url, "SELECT count(*) FROM judgements GROUP BY night")
    assert counts == [(1,)] * len(numbers), "a night is there in part"


def test_writers_that_open_a_new_history_at_once_add_every_night_once(url: str) -> None:
    shared, start = list(range(10)), threading.Barrier(3)

    def add(first_number: int) -> list[int]:
        start.wait()
        with Store.connect(url, patience=60) as store:
            numbers = [*shared, *range(first_number, first_number + 10)]
            return [number for number in numbers if store.append(make_numbered_night(number))]

    with ThreadPoolExecutor(3) as pool:
        new = [number for new_numbers in pool.map(add, (100, 200, 300)) for number in new_numbers]
    assert len(new) == len(set(new)) == 40, "each was new to one of them"
    require_whole(url, set(new))


def test_a_full_disk_is_reported_and_nothing_of_the_night_is_kept(tmp_path: Path) -> None:
    url = str(tmp_path / "history.db")
    with Store.connect(url) as store:
        store.append(make_numbered_night(0))
        limit = f"PRAGMA max_page_count={sql(url, 'PRAGMA page_count')[0][0] + 1}"
        event.listen(
            store.database.engine, "connect", lambda connection, _: connection.execute(limit)
        )
        with pytest.raises(RecordingError, match="disk is full") as raised:
            any(not store.append(make_numbered_night(number)) for number in range(1, 50))
    assert raised.value.exit_code == 3
    with Store.connect(url) as again:
        kept_count = len(again.nights())
        assert again.append(make_numbered_night(kept_count))
    require_whole(url, set(range(kept_count + 1)))


def test_a_reader_sees_the_former_state_during_a_write(url: str) -> None:
    with Store.connect(url) as writer, Store.connect(url, make=False) as reader:
        writer.append(night_of(1))
        with writer.database.writing() as connection:
            append(connection, night_of(2))
            assert (reader.nights(), len(reader.series()[0].points)) == ([night_of(1)], 1)
        assert reader.nights() == [night_of(1), night_of(2)]


def test_a_writer_waits_for_another_and_then_says_so(url: str) -> None:
    with Store.connect(url) as first_store, Store.connect(url, patience=0.2) as second:
        second.append(night_of(1))
        locked = pytest.raises(RecordingError, match=r"database is locked|lock timeout")
        with first_store.database.writing(), locked:
            second.append(night_of(2))
        assert second.append(night_of(2))
        timeout_query = "PRAGMA busy_timeout" if second.database.is_sqlite else "SHOW lock_timeout"
        with second.database.writing() as connection:
            assert connection.exec_driver_sql(timeout_query).scalar() in {200, "200ms"}
    assert sql(url, COUNT) == [(2,)]


# `kept/history-1` was written by the last commit whose tables had version 0001, with what its
# store answered; each file is the database's own dump.
KEPT = Path(__file__).parents[3] / "kept" / "history-1"


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    dump = (KEPT / f"{request.param}.sql").read_text()
    if request.param == "sqlite":
        with sqlite3.connect(tmp_path / "history.db") as connection:
            connection.executescript(dump)
        connection.close()
        return str(tmp_path / "history.db")
    server: Server = request.getfixturevalue("postgresql")
    name = f"old{uuid4().hex}"
    database_url = server.new_database(name)
    with server.connect(name) as connection:
        connection.execute(dump.encode())
    return database_url


def test_a_history_of_the_version_before_answers_as_it_did(old: str) -> None:
    for _ in range(2):
        with Store.connect(old, make=False) as store:
            answers = {
                "nights": [night.id for night in store.nights()],
                "series": store.series(),
                "samples": list(store.samples()),
                "accepted": store.acceptances(),
                "pinned": sorted(store.list_pins()),
                "missed": store.missed_nights(),
            }
        plain_answers = msgspec.json.decode(msgspec.json.encode(answers))
        for point in (point for series in plain_answers["series"] for point in series["points"]):
            assert point.pop("reference_commit") == ""  # new; that version's histories have none
        assert all(
            accepted.pop("who") == "" for accepted in plain_answers["accepted"]
        )  # new as well
        for sample in plain_answers["samples"]:
            sample["sitting"] = sample.pop("session")  # its name in that version
        assert plain_answers == msgspec.json.decode((KEPT / "answers.json").read_bytes())


def test_nothing_of_the_version_before_is_left_and_numbers_go_on_from_theirs(old: str) -> None:
    with Store.connect(old) as store:
        with store.database.reading() as connection:
            names = set(connection.dialect.get_table_names(connection))
            columns = {
                name: {column["name"] for column in inspect(connection).get_columns(name)}
                for name in METADATA.tables
            }
        assert names == {*METADATA.tables, VERSION_TABLE}
        assert columns == {
            name: {column.name for column in table.columns}
            for name, table in METADATA.tables.items()
        }
        assert sql(old, f"SELECT version_num FROM {VERSION_TABLE}") == [(VERSIONS[-1],)]  # noqa: S608
        with pytest.raises(Exception, match="a history is append-only"):
            sql(old, "DELETE FROM nights")
        assert not store.append(night_of(1))
        assert store.append(night_of(9))
        store.accept("latest", [], "as it is now")
        store.pin("latest", "to look at")
    assert sql(old, "SELECT number FROM nights ORDER BY id") == [(2,), (1,), (3,), (4,), (5,)]
    assert sql(old, "SELECT max(number) FROM acceptances") == [(3,)]


def test_a_history_of_version_2_keeps_who_accepts(tmp_path: Path) -> None:
    dump = (KEPT.parent / "history-3.sql").read_text()
    of_version_2 = dump.replace("\twho TEXT DEFAULT '' NOT NULL, \n", "").replace("0003", "0002")
    assert len(of_version_2) < len(dump)
    with sqlite3.connect(tmp_path / "history.db") as connection:
        connection.executescript(of_version_2)
    connection.close()
    url = str(tmp_path / "history.db")
    with Store.connect(url, make=False) as store:
        store.accept("latest", [], "as it is now", who="ada")
        assert [accepted.who for accepted in store.acceptances()] == ["ada"]
    assert sql(url, f"SELECT version_num FROM {VERSION_TABLE}") == [(VERSIONS[-1],)]  # noqa: S608


def test_every_version_has_one_migration_to_the_next() -> None:
    assert VERSIONS == ("0001", "0002", "0003")
    assert [migration.version for migration in MIGRATIONS] == list(VERSIONS[1:])


def test_a_change_that_is_cut_short_leaves_the_history_as_it_was(old: str) -> None:
    count_before = sql(old, "SELECT count(*) FROM samples")
    opened = database(old, create=False)
    for number in range(4, 40, 6):
        with cut_at(opened.engine, number), pytest.raises(Cut):
            require_tables(opened, make=False)
        assert sql(old, "SELECT count(*) FROM samples") == count_before, number
    opened.engine.dispose()
