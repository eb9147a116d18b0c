"""A night as rows: literal nights in, literal rows out."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stored_nights import ENVIRONMENT, entry_of, judged_of, night_of, pair_of
from tracekit.base.errors import InputError
from tracekit.nightly.history.store.rows import (
    entry_rows,
    environment_row,
    finding_rows,
    judgement_rows,
    moment,
    night_row,
    of_entries,
    pair_rows,
    sample_rows,
    state_rows,
)
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


def test_an_environment_is_known_by_all_that_is_known_of_it() -> None:
    row = environment_row(night_of(1))
    turned = dict(reversed(ENVIRONMENT.items()))
    assert environment_row(night_of(2, environment=turned))["digest"] == row["digest"]
    other = environment_row(night_of(2, environment=ENVIRONMENT | {"os_build": "25D2128"}))
    assert other["digest"] != row["digest"]
    assert (row["chip"], row["cores"], row["xcode_build"]) == ("Apple M1", 8, "")


@pytest.mark.parametrize(
    ("environment", "cores"), [({}, None), ({"cores": "many"}, None), ({"cores": 8}, 8)]
)
def test_an_environment_may_lack_anything(environment: dict[str, Any], cores: int | None) -> None:
    row = environment_row(night_of(1, environment=environment))
    assert row["cores"] == cores
    assert row["mlx"] == ""


def test_a_night_has_its_fields_in_columns() -> None:
    row = night_row(night_of(1, partial=True), "e1", "{}")
    assert row == {
        "id": "2026-03-01T02-30-00-abcd",
        "plan": "nightly",
        "digest": "d1",
        "machine": "mini",
        "environment": "e1",
        "started": "2026-03-01T02:30:00.000+00:00",
        "ended": "2026-03-01T02:55:00.000+00:00",
        "git_commit": "1a2b3c4",
        "outcome": "regression",
        "reason": "decode: step_p50 is slower.",
        "partial": True,
        "folder": "2026-03-01T02-30-00-abcd",
        "format": 1,
        "document": "{}",
    }
    assert night_row(night_of(1, ended=""), "e1", "{}")["ended"] == ""


def test_an_entry_has_its_work_and_what_tracing_cost() -> None:
    bare = entry_of("prefill", reference=None, overhead=None, outcome=None)
    first, second = entry_rows(night_of(1, [entry_of(), bare]))
    assert first == {
        "position": 0,
        "capture": "decode",
        "work": "w1",
        "workload": "paged",
        "parameters": '{"batch":8,"dtype":"float16"}',
        "candidate": "paged",
        "candidate_commit": "1a2b3c4",
        "candidate_mlx": "0.32.0",
        "reference": "sdpa",
        "outcome": "regression",
        "reason": "step_p50 is slower.",
        "parity": "The quick grid agrees.",
        "backend": "gpu",
        "overhead": 0.02,
        "overhead_spread": 0.01,
    }
    assert (second["position"], second["reference"], second["outcome"]) == (1, None, None)
    assert (second["overhead"], second["overhead_spread"]) == (None, None)


def test_a_pair_says_why_it_does_not_count() -> None:
    pairs = [
        pair_of(3, sitting=2),
        replace(pair_of(4, contaminated=("hot", "busy")), order="baab", runs=("a/1", "b/1")),
    ]
    first, second = pair_rows(entry_of(pairs=pairs))
    assert first == {
        "position": 0,
        "sitting": 2,
        "number": 3,
        "turns": "abba",
        "traced": False,
        "counted": True,
        "reason": "",
        "runs": "[]",
    }
    assert (second["counted"], second["reason"]) == (False, "hot; busy")
    assert (second["turns"], second["runs"]) == ("baab", '["a/1","b/1"]')


def test_each_turn_of_each_side_is_a_row() -> None:
    pair = replace(pair_of(), candidate={"a": (1.0, 2.0, 3.0), "b": ()}, reference={"a": (4.0,)})
    found = [
        (row["pair"], row["side"], row["metric"], row["turn"], row["value"])
        for row in sample_rows(entry_of(pairs=[pair_of(metric="c"), pair]))
    ]
    assert found[4:] == [
        (1, "candidate", "a", 0, 1.0),
        (1, "candidate", "a", 1, 2.0),
        (1, "candidate", "a", 2, 3.0),
        (1, "reference", "a", 0, 4.0),
    ]


def test_what_was_read_goes_before_why_it_was_not() -> None:
    state = replace(
        pair_of().before, readings={"load": 0.5}, absences={"load": "x", "calibration": "y"}
    )
    pairs = [replace(pair_of(), before=state, after=None)]
    rows = state_rows(entry_of(pairs=pairs))
    found = [tuple(row[name] for name in ("moment", "name", "value", "absence")) for row in rows]
    assert found == [("before", "load", 0.5, ""), ("before", "calibration", None, "y")]


def test_a_judgement_has_what_was_measured_beside_what_was_judged() -> None:
    judged = judged_of(change=0.02, expected=0.08, baseline="n0")
    (row,) = judgement_rows(entry_of(pairs=[pair_of(n) for n in range(1, 8)], judged=[judged]))
    assert (row["change"], row["expected"], row["baseline"]) == (0.02, 0.08, "n0")
    assert row["measured"] == pytest.approx(0.1)
    assert row["measured_low"] == pytest.approx(0.1)
    assert (row["least"], row["most"]) == (110.0, 110.0)
    (empty,) = judgement_rows(entry_of(pairs=[], judged=[judged]))
    assert [empty[name] for name in ("measured", "measured_low", "least", "most")] == [None] * 4


def test_a_ratio_of_nothing_is_not_measured() -> None:
    pairs = [pair_of(1, 0.0, 100.0), pair_of(2, -5.0, 100.0)]
    (row,) = judgement_rows(entry_of(pairs=pairs))
    assert row["measured"] is None
    assert (row["least"], row["most"]) == (-5.0, 0.0)


def test_a_finding_says_in_how_many_traces_it_is() -> None:
    (row,) = finding_rows(entry_of())
    assert row == {
        "position": 0,
        "rule": "small-work",
        "message": "Work is small.",
        "severity": "warning",
        "traces": 1,
        "of_traces": 1,
        "in_reference": 0,
        "saving_per_token": 12.5,
        "saving": 800.0,
    }


def test_rows_of_entries_know_their_entry() -> None:
    night = night_of(1, [entry_of(), entry_of("prefill", findings=()), entry_of("third")])
    assert [row["entry"] for row in of_entries(night, finding_rows)] == [0, 2]


def test_the_query_in_the_documentation_answers(store: Store, sql: Any) -> None:
    store.append(night_of(1))
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert sql(query.strip().rstrip(";")) == [
        ("2026-03-01T02:30:00.000+00:00", "decode", "w1", "step_p50", 110.0)
    ]
