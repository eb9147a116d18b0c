"""The history's URL: made whole, or refused without showing it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.nightly.plan.document import Mistakes, Places
from tracekit.nightly.plan.keys import Given
from tracekit.nightly.plan.reading import history_of

OUTPUT, FOLDER = Path("/srv/nights"), Path("/srv/plan folder")


def address_of(url: str | None) -> tuple[str, list[str]]:
    mistakes = Mistakes("tracekit.toml", Places(""))
    given = None if url is None else Given(("nightly", "history"), url, mistakes)
    found = history_of(given, OUTPUT, FOLDER)
    return found, [words for _, _, words in mistakes.found]


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        pytest.param(None, "sqlite:////srv/nights/history.db", id="none"),
        pytest.param("sqlite:///a.db", "sqlite:////srv/plan folder/a.db", id="beside-the-plan"),
        pytest.param("sqlite:///../a.db", "sqlite:////srv/plan folder/../a.db", id="above-it"),
        pytest.param("sqlite:////var/a.db", "sqlite:////var/a.db", id="elsewhere"),
        pytest.param("postgresql:///nights", "postgresql:///nights", id="by-socket"),
        pytest.param(
            "postgresql+psycopg://ada:p%2Fw@host:5433/n?sslmode=require",
            "postgresql+psycopg://ada:p%2Fw@host:5433/n?sslmode=require",
            id="with-all-parts",
        ),
    ],
)
def test_an_address_is_made_whole(url: str | None, whole: str) -> None:
    assert address_of(url) == (whole, [])


@pytest.mark.parametrize(
    ("url", "said"),
    [
        pytest.param("nights.db", "is no URL of a database", id="path"),
        pytest.param("", "is no URL of a database", id="empty"),
        pytest.param("postgresql://host:port/n", "is no URL of a database", id="port"),
        pytest.param("mysql://ada:secret@host/n", "not of mysql", id="other"),
        pytest.param("sqlite://", "names no file", id="nothing"),
        pytest.param("sqlite:///:memory:", "names no file", id="memory"),
    ],
)
def test_what_keeps_nothing_is_refused(url: str, said: str) -> None:
    found, (told,) = address_of(url)
    assert found == ""
    assert said in told
    assert "secret" not in told


@pytest.mark.processes
def test_plans_are_known_without_what_knows_databases() -> None:
    """Every command loads the module of plans; few need a database."""
    program = "import sys, tracekit.nightly.plan; print('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ran.stdout == b"False\n"
