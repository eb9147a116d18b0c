"""Histories in both databases: every test that takes `url` runs on each."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import create_engine, text

from postgresql import Server, server
from tracekit.nightly.history.store.place import place
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
    with Store.open(url, patience=10) as opened:
        yield opened


@pytest.fixture
def sql(url: str) -> Callable[[str], list[Any]]:
    """Say something to the database past the store, as a person with a tool does."""

    def say(statement: str) -> list[Any]:
        engine = create_engine(place(url))
        try:
            with engine.begin() as connection:
                done = connection.execute(text(statement))
                return [tuple(row) for row in done] if done.returns_rows else []
        finally:
            engine.dispose()

    return say


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Processes that begin at once, with tracekit loaded."""
    context = multiprocessing.get_context("forkserver")
    # What is slow to load. A server of Python 3.11 finds only what is installed.
    drivers = ["sqlalchemy.dialects.sqlite", "sqlalchemy.dialects.postgresql.psycopg"]
    context.set_forkserver_preload(["tracekit.nightly.history.store", *drivers])
    return context


@pytest.fixture
def nobody() -> Iterator[Callable[[], None]]:
    """Be a user whom permissions bind, from the call to the test's end."""

    def become() -> None:
        if os.geteuid() == 0:
            os.seteuid(65534)

    before = os.geteuid()
    yield become
    os.seteuid(before)


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    """One in a file, where the database makes no difference."""
    with Store.open(str(tmp_path / "history.db")) as opened:
        yield opened
