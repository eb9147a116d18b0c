"""A history that cannot be reached: a server, a driver, a name that is none."""

import socket
import sys

import pytest

from postgresql import Server
from stored_nights import night_of
from tracekit.base.errors import RecordingError, ToolError, UsageError
from tracekit.nightly.history.store.store import Store


def _write_while_it_ends(store: Store, postgresql: Server) -> None:
    with store.database.writing() as connection:
        with postgresql.connect() as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'leaving'"
            )
        connection.exec_driver_sql("INSERT INTO pins DEFAULT VALUES")


def test_a_server_that_goes_away_is_told(postgresql: Server) -> None:
    url = postgresql.new_database("leaving")
    with Store.open(url) as store:
        with pytest.raises(RecordingError, match="terminating connection") as told:
            _write_while_it_ends(store, postgresql)
        assert "postgresql://127.0.0.1" in told.value.message
        assert store.append(night_of(1)), "it is there again"


def test_a_server_that_is_not_there_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        url = f"postgresql://ada:geheim77@127.0.0.1:{port}/tracekit"
        with pytest.raises(RecordingError, match="refused") as told, Store.open(url):
            pass
    assert f"postgresql://127.0.0.1:{port}/tracekit" in told.value.message
    assert "geheim77" not in told.value.message + told.value.hint


def test_a_wrong_password_is_told_and_not_shown(postgresql: Server) -> None:
    url = postgresql.url(password="geheim77")
    with pytest.raises(RecordingError, match="authentication failed") as told, Store.open(url):
        pass
    assert "geheim77" not in told.value.message + told.value.hint
    assert told.value.exit_code == 3


def test_a_driver_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with (
        pytest.raises(ToolError, match="needs psycopg") as told,
        Store.open("postgresql://127.0.0.1/tracekit"),
    ):
        pass
    assert told.value.hint == "pip install 'tracekit[postgresql]'"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "is empty"),
        ("mysql://ada:geheim77@localhost/tracekit", "not in mysql"),
        ("postgresql+psycopg2://localhost/tracekit", r"not in postgresql\+psycopg2"),
        ("sqlite://", "is a file"),
        ("sqlite:///:memory:", "is a file"),
        ("postgresql://ada:geheim77@localhost:port/tracekit", "cannot be read"),
        ("://geheim77", "cannot be read"),
    ],
)
def test_a_url_that_names_no_history_is_a_mistake(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as told, Store.open(url):
        pass
    assert "geheim77" not in told.value.message + told.value.hint
