"""The history's URL: made whole, or refused without showing it."""

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


@pytest.mark.parametrize("url", ["sqlite:///:memory:", " "])
def test_what_keeps_nothing_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        history_of(url, FOLDER)
