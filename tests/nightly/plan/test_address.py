"""The history's URL: made whole, or refused without showing it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.reading import history_of

FOLDER = Path("/srv/plan folder")


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        pytest.param("sqlite:///a.db", "sqlite:////srv/plan folder/a.db", id="beside-the-plan"),
        pytest.param("a.db", "sqlite:////srv/plan folder/a.db", id="file"),
        pytest.param("sqlite:///../a.db", "sqlite:////srv/plan folder/../a.db", id="above-it"),
        pytest.param("sqlite:////var/b.db", "sqlite:////var/b.db", id="elsewhere"),
        pytest.param(
            "postgresql://ada:p%2Fw@host:5433/n?sslmode=require",
            "postgresql+psycopg://ada:p%2Fw@host:5433/n?sslmode=require",
            id="with-all-parts",
        ),
    ],
)
def test_an_address_is_made_whole(url: str, whole: str) -> None:
    assert history_of(url, FOLDER) == whole


@pytest.mark.parametrize("url", ["mysql://ada:secret@host/n", "sqlite:///:memory:", " "])
def test_what_keeps_nothing_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UsageError) as refusal:
        history_of(url, FOLDER)
    assert "secret" not in refusal.value.message + refusal.value.hint


@pytest.mark.processes
def test_plans_are_known_without_what_knows_databases() -> None:
    """Every command loads the module of plans; few need a database."""
    program = "import sys, tracekit.nightly.plan; print('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ran.stdout == b"False\n"
