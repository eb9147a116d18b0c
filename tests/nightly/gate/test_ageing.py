"""A night that is too old says nothing of today."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gate_night import FINE, NIGHT
from tracekit.nightly.gate.found import aged
from tracekit.nightly.gate.report.model import of_night
from tracekit.nightly.history.night import Outcome

GOOD = of_night(replace(NIGHT, entries=(FINE,), outcome=Outcome.OK))
NOW = datetime(2026, 11, 21, 2, 30, tzinfo=UTC)
DAY = 24 * 3600.0


def test_a_young_night_stays_good() -> None:
    assert aged(GOOD, DAY, NOW) is GOOD


@pytest.mark.parametrize(
    ("started", "said"),
    [
        ("2026-11-20T02:29:59+00:00", r"24\.0 h ago; --max-age allows 24\.0 h"),
        ("2026-11-18T02:30:00", r"72\.0 h ago"),
    ],
)
def test_an_old_night_is_inconclusive(started: str, said: str) -> None:
    old = aged(replace(GOOD, started=started), DAY, NOW)
    assert old.outcome is Outcome.INCONCLUSIVE
    assert re.search(said, old.reason)
    assert [one.outcome for one in old.cases] == [Outcome.OK, Outcome.INCONCLUSIVE]


def test_a_regression_stays_one_however_old_it_is() -> None:
    worse = replace(GOOD, outcome=Outcome.REGRESSION)
    assert aged(worse, 1.0, NOW) is worse
