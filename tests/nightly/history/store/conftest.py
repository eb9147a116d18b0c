"""Histories in both databases: every test that takes `url` or `store` runs on each."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from postgresql import Server, server
from tracekit.nightly.history.store.store import Store


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """One server for all; tests that need it are skipped by name where it is not installed."""
    with server() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database that is empty, or not there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/nights/history.db"
    return request.getfixturevalue("postgresql").new_schema(f"s{uuid4().hex}")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.connect(url, patience=10) as opened:
        yield opened


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    """One in a file, where the database makes no difference."""
    with Store.connect(str(tmp_path / "history.db")) as opened:
        yield opened
