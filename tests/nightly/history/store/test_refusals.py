"""What databases say, in words: each kind of refusal, with its class, its hint, its code."""

import sqlite3
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from tracekit.base.errors import InputError, RecordingError, TracekitError, UsageError
from tracekit.nightly.history.store.database import as_error
from tracekit.nightly.history.store.place import folder_of, place, shown

FILE = URL.create("sqlite", database="/nights/history.db")
SERVER = place("postgresql://ada:geheim77@db.local:5433/tracekit?sslpassword=other88")


def sqlite_error(name: str, words: str) -> DBAPIError:
    """Make an error as sqlite3 raises it."""
    error = sqlite3.OperationalError(words)
    error.sqlite_errorname = name
    return DBAPIError("INSERT", {}, error)


def server_error(kind: type[psycopg.Error], words: str) -> DBAPIError:
    """Make an error as psycopg raises it."""
    return DBAPIError("INSERT", {}, kind(words))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SQLITE_FULL", RecordingError),
        ("SQLITE_BUSY_SNAPSHOT", RecordingError),
        ("SQLITE_READONLY", RecordingError),
        ("SQLITE_NOTADB", InputError),
        ("SQLITE_CORRUPT_INDEX", InputError),
        ("", RecordingError),
    ],
)
def test_what_sqlite_refuses_is_told_in_its_words(name: str, kind: type[TracekitError]) -> None:
    error = as_error(sqlite_error(name, "the words."), FILE)
    assert type(error) is kind
    assert error.message == "/nights/history.db cannot be used as a history: the words."
    assert error.exit_code == 3
    assert error.hint


def test_only_the_first_line_of_a_server_is_told() -> None:
    said = "\nconnection failed: refused\n\tIs the server running?\nMultiple attempts failed\n"
    error = as_error(server_error(errors.ConnectionFailure, said), SERVER)
    assert error.message.startswith("postgresql://db.local:5433/tracekit cannot be used")
    assert error.message.endswith(": connection failed: refused.")


def test_a_password_in_what_is_said_is_left_out() -> None:
    said = "cannot resolve geheim77@db.local"
    error = as_error(server_error(psycopg.OperationalError, said), SERVER)
    assert "geheim77" not in error.message + error.hint
    assert "cannot resolve …@db.local" in error.message


@pytest.mark.parametrize(
    ("text", "found", "is_shown"),
    [
        ("nights/history.db", "sqlite:///nights/history.db", "nights/history.db"),
        ("sqlite:///nights/history.db", "sqlite:///nights/history.db", "nights/history.db"),
        ("sqlite:////var/history.db", "sqlite:////var/history.db", "/var/history.db"),
        (
            "postgres://ada:x@localhost/t",
            "postgresql+psycopg://ada:***@localhost/t",
            "postgresql://localhost/t",
        ),
        (
            "postgresql+psycopg://localhost:5433/t?sslmode=require",
            "postgresql+psycopg://localhost:5433/t?sslmode=require",
            "postgresql://localhost:5433/t",
        ),
        ("postgresql:///t", "postgresql+psycopg:///t", "postgresql:///t"),
    ],
)
def test_a_place_is_read_as_people_write_it(text: str, found: str, is_shown: str) -> None:
    url = place(text)
    assert str(url) == found
    assert shown(url) == is_shown


def test_a_home_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place("~/history.db").database == str(tmp_path / "history.db")


def test_folders_of_nights_are_relative_to_a_file_s_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder_of("nights/history.db") == tmp_path / "nights"
    assert folder_of(f"sqlite:///{tmp_path}/history.db") == tmp_path
    assert folder_of("postgresql://localhost/tracekit") is None


@pytest.mark.parametrize("text", [" ", "sqlite:///", "oracle://x/y", "http://localhost/t"])
def test_what_is_no_place_is_told_with_examples(text: str) -> None:
    with pytest.raises(UsageError) as error:
        place(text)
    assert "sqlite:///" in error.value.hint
    assert "postgresql://" in error.value.hint
