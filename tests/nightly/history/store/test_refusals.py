"""What is no history, cannot be reached, or is refused by its database: said, and left alone."""

import socket
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from postgresql import Server
from stored_nights import night_of
from tracekit.base.errors import InputError, RecordingError, ToolError, TracekitError, UsageError
from tracekit.nightly.history.store.database import as_error
from tracekit.nightly.history.store.place import file_of, place, shown
from tracekit.nightly.history.store.schema import VERSION_TABLE
from tracekit.nightly.history.store.store import Store

Say = Callable[[str], list[Any]]
SERVER = place("postgresql://ada:geheim77@db.local:5433/tracekit?sslpassword=other88")


def refused(url: str, kind: type[TracekitError], words: str, *, make: bool = True) -> TracekitError:
    """Open a history that is none; return what is said, which has no password."""
    with pytest.raises(kind, match=words) as raised, Store.open(url, make=make) as store:
        store.nights()
    assert "geheim77" not in raised.value.message + raised.value.hint
    return raised.value


def test_what_a_database_refuses_is_said_in_its_first_words_and_without_a_password() -> None:
    file = URL.create("sqlite", database="/nights/history.db")
    for name, kind in (("FULL", RecordingError), ("NOTADB", InputError), ("CORRUPT", InputError)):
        raised = sqlite3.OperationalError("the words.")
        raised.sqlite_errorname = f"SQLITE_{name}"
        error = as_error(DBAPIError("INSERT", {}, raised), file)
        assert (type(error), error.exit_code, bool(error.hint)) == (kind, 3, True)
        assert error.message == "/nights/history.db cannot be used as a history: the words."
    said = "\ncannot resolve geheim77@db.local.\n\tIs the server running?\nAttempts failed\n"
    error = as_error(DBAPIError("INSERT", {}, errors.ConnectionFailure(said)), SERVER)
    used = "postgresql://db.local:5433/tracekit cannot be used as a history"
    assert error.message == f"{used}: cannot resolve …@db.local."
    silent = as_error(DBAPIError("INSERT", {}, psycopg.OperationalError()), SERVER)
    assert silent.message == f"{used}: OperationalError."


@pytest.mark.parametrize(
    ("text", "found", "is_shown"),
    [
        ("nights/history.db", "sqlite:///nights/history.db", "nights/history.db"),
        ("sqlite:///nights/history.db", "sqlite:///nights/history.db", "nights/history.db"),
        ("sqlite:////var/a?b.db", "sqlite:////var/a%3Fb.db", "/var/a?b.db"),
        ("postgres://ada:x@localhost/t", "postgresql+psycopg://ada:***@localhost/t",
         "postgresql://localhost/t"),
        ("postgresql+psycopg://localhost:5433/t?sslmode=require",
         "postgresql+psycopg://localhost:5433/t?sslmode=require", "postgresql://localhost:5433/t"),
    ],
)  # fmt: skip
def test_a_place_is_read_as_people_write_it(text: str, found: str, is_shown: str) -> None:
    url = place(text)
    assert (str(url), shown(url)) == (found, is_shown)
    assert file_of(text) == (Path(is_shown).absolute() if "sqlite" in found else None)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (" ", "is empty"),
        ("mysql://ada:geheim77@localhost/tracekit", "not in mysql"),
        ("postgresql+psycopg2://localhost/tracekit", r"not in postgresql\+psycopg2"),
        ("sqlite:///", "is a file"),
        ("sqlite:///:memory:", "is a file"),
        ("postgresql://ada:geheim77@localhost:port/tracekit", "cannot be read"),
        ("://geheim77", "cannot be read"),
    ],
)
def test_a_url_that_names_no_history_is_a_mistake(url: str, words: str) -> None:
    assert "sqlite:///" in refused(url, UsageError, words).hint


def test_a_history_of_a_newer_tracekit_or_without_a_table_is_left_alone(url: str, sql: Say) -> None:
    with Store.open(url) as store:
        store.append(night_of(1))
        with pytest.raises(InputError, match="has format 99; this tracekit reads up to 1"):
            store.append(night_of(1, format=99))
    (version,) = sql(f"SELECT version_num FROM {VERSION_TABLE}")  # noqa: S608
    for number in ("0999", version[0]):
        sql(f"UPDATE {VERSION_TABLE} SET version_num = '{number}'")  # noqa: S608
        for make in (True, False) if number == "0999" else ():
            refused(url, InputError, "newer tracekit: its tables have version 0999", make=make)
    assert sql("SELECT count(*) FROM nights") == [(1,)]
    sql("DROP TABLE judgements")
    refused(url, InputError, "is not whole: it has no table judgements")
    sql(f"DROP TABLE {VERSION_TABLE}")
    refused(url, InputError, "is no history, or not whole: it has a table acceptances")


def test_files_of_something_else_are_left_alone(tmp_path: Path) -> None:
    other, notes, own = (tmp_path / name for name in ("other.db", "notes.txt", "history.db"))
    with Store.open(str(own)) as store:
        store.append(night_of(1))
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    notes.write_text("what I think of it\n" * 100)
    damaged = bytearray(own.read_bytes())
    damaged[4096 * 3 :] = b"\xa5" * (len(damaged) - 4096 * 3)
    own.write_bytes(damaged)
    for file, words in (
        (other, "is no history, or not whole: it has a table cats"),
        (notes, "file is not a database"),
        (own, "cannot be used as a history: "),
    ):
        before = file.read_bytes()
        refused(str(file), InputError, words)
        assert file.read_bytes() == before
    refused(str(tmp_path), RecordingError, "is a folder, not a history")


def test_nothing_is_made_for_a_reader_and_an_empty_file_becomes_a_history(tmp_path: Path) -> None:
    """A writer that was killed before its first page leaves one."""
    file = tmp_path / "history.db"
    refused(str(file), RecordingError, "There is no history at", make=False)
    assert not file.exists()
    file.touch()
    refused(str(file), InputError, "holds no history yet", make=False)
    assert not file.stat().st_size
    with Store.open(str(file)) as store:
        assert store.append(night_of(1))


def test_a_server_or_a_driver_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}/t"
        error = refused(f"postgresql://ada:geheim77@{where}", RecordingError, "refused")
    assert f"postgresql://{where}" in error.message
    monkeypatch.setitem(sys.modules, "psycopg", None)
    error = refused("postgresql://127.0.0.1/tracekit", ToolError, "needs psycopg")
    assert error.hint == "pip install 'tracekit[postgresql]'"


def test_a_server_that_goes_away_is_said_and_may_come_back(postgresql: Server) -> None:
    refused(postgresql.url(password="geheim77"), RecordingError, "authentication failed")
    gone = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'leaving'"

    def write() -> None:
        with store.database.writing() as connection:
            with postgresql.connect() as other:
                other.execute(gone)
            connection.exec_driver_sql("INSERT INTO pins DEFAULT VALUES")

    with Store.open(postgresql.new_database("leaving")) as store:
        with pytest.raises(RecordingError, match="terminating connection"):
            write()
        assert store.append(night_of(1))
