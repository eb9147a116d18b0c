"""A night as a document and as judgements: literal nights in, literal rows out."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stored_nights import entry_of, judged_of, night_of, pair_of
from tracekit.base.errors import InputError
from tracekit.nightly.history.store.documents import judgement_rows, moment
from tracekit.nightly.history.store.store import Store

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "keep-a-history.md"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("2026-03-01T02:30:00+00:00", "2026-03-01T02:30:00.000+00:00"),
        ("2026-03-01T02:30:00.123456Z", "2026-03-01T02:30:00.123+00:00"),
        ("2026-02-28T19:30:00-07:00", "2026-03-01T02:30:00.000+00:00"),
        ("2026-03-01T02:30:00", "2026-03-01T02:30:00.000+00:00"),
        ("2026-03-01", "2026-03-01T00:00:00.000+00:00"),
        (datetime(2026, 3, 1, 2, 30, tzinfo=UTC), "2026-03-01T02:30:00.000+00:00"),
    ],
)
def test_times_are_text_that_sorts_by_time(given: str | datetime, found: str) -> None:
    assert moment(given) == found


@pytest.mark.parametrize("given", ["", "now", "2026-02-30"])
def test_what_is_no_time_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="is no time"):
        moment(given)


def test_a_judgement_has_what_was_measured_beside_what_was_judged() -> None:
    judged = judged_of(change=0.02, expected=0.08, baseline="n0")
    (row,) = judgement_rows(
        night_of(1, [entry_of(pairs=[pair_of(n) for n in range(1, 8)], judged=[judged])])
    )
    assert (row["change"], row["expected"], row["baseline"]) == (0.02, 0.08, "n0")
    assert row["measured"] == pytest.approx(0.1)
    assert row["measured_low"] == pytest.approx(0.1)
    assert (row["least"], row["most"]) == (110.0, 110.0)
    (empty,) = judgement_rows(night_of(1, [entry_of(pairs=[], judged=[judged])]))
    assert [empty[name] for name in ("measured", "measured_low", "least", "most")] == [None] * 4


def test_a_ratio_of_nothing_is_not_measured() -> None:
    pairs = [pair_of(1, 0.0, 100.0), pair_of(2, -5.0, 100.0)]
    (row,) = judgement_rows(night_of(1, [entry_of(pairs=pairs)]))
    assert row["measured"] is None
    assert (row["least"], row["most"]) == (-5.0, 0.0)


def test_the_query_in_the_documentation_answers(store: Store, sql: Any) -> None:
    store.append(night_of(1))
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert sql(query.strip().rstrip(";")) == [
        ("2026-03-01T02:30:00.000+00:00", "decode", "w1", "step_p50", 110.0)
    ]
