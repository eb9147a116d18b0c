"""What a history keeps, and how it is asked for; the same on both databases."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from stored_nights import entry_of, judged_of, night_of, pair_of
from tracekit.base.errors import InputError, UsageError
from tracekit.nightly.history.night import Night, Outcome, Pair
from tracekit.nightly.history.store.decisions import Missed
from tracekit.nightly.history.store.documents import judgement_rows, moment
from tracekit.nightly.history.store.schema import METADATA
from tracekit.nightly.history.store.store import Store

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "keep-a-history.md"
Say = Callable[[str], list[Any]]


def test_a_night_is_kept_once_and_comes_back_as_it_was(store: Store, sql: Say) -> None:
    assert store.append(night_of(1))
    document = msgspec.to_builtins(night_of(1))
    del document["warnings"]  # what a later tracekit adds has a default
    for same in (night_of(1), msgspec.convert(document, Night)):
        assert not store.append(same)
    with pytest.raises(InputError, match="has another night 2026-03-01T02-30-00-abcd already"):
        store.append(night_of(1, reason="something else"))
    assert store.nights() == [night_of(1)]
    assert sql("SELECT plan, machine, outcome, started FROM nights") == [
        ("nightly", "mini", "regression", "2026-03-01T02:30:00.000+00:00")
    ]
    assert sql("SELECT capture, work, metric, candidate, outcome, gated FROM judgements") == [
        ("decode", "w1", "step_p50", 110.0, "regression", True)
    ]
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert sql(query.strip().rstrip(";")) == [
        ("2026-03-01T02:30:00.000+00:00", "decode", "w1", "step_p50", 110.0)
    ]


@pytest.mark.parametrize(
    ("asked", "days"),
    [
        ({"plan": "weekly"}, "3"),
        ({"outcome": Outcome.FAILED}, "3"),
        ({"since": "2026-03-02T04:30:00+02:00"}, "234"),
        ({"until": "2026-03-02T02:30:00+00:00"}, "1"),
        ({"since": datetime(2026, 3, 3, tzinfo=UTC), "until": "2026-03-04"}, "3"),
        ({"plan": "nightly", "machine": "mini"}, "14"),
        ({"limit": 2}, "34"),
    ],
)
def test_nights_are_asked_for_by_what_they_are(
    store: Store, asked: dict[str, Any], days: str
) -> None:
    store.append(night_of(4))
    store.append(night_of(2, machine="studio"))
    store.append(night_of(3, plan="weekly", outcome=Outcome.FAILED))
    store.append(night_of(1))
    assert "".join(night.id[9] for night in store.nights(**asked)) == days
    with pytest.raises(InputError, match="'yesterday' is no time"):
        store.nights(since="yesterday")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("2026-03-01T02:30:00.123456Z", "2026-03-01T02:30:00.123+00:00"),
        ("2026-02-28T19:30:00-07:00", "2026-03-01T02:30:00.000+00:00"),
        ("2026-03-01T02:30:00", "2026-03-01T02:30:00.000+00:00"),
        ("2026-03-01", "2026-03-01T00:00:00.000+00:00"),
        (datetime(2026, 3, 1, 2, 30, tzinfo=UTC), "2026-03-01T02:30:00.000+00:00"),
    ],
)
def test_times_are_text_that_sorts_by_time(given: str | datetime, found: str) -> None:
    assert moment(given) == found


def test_a_judgement_has_what_was_measured_beside_what_was_judged() -> None:
    judged = judged_of(change=0.02, expected=0.08, baseline="n0")

    def row(*pairs: Pair) -> dict[str, Any]:
        (found,) = judgement_rows(night_of(1, [entry_of(pairs=pairs, judged=[judged])]))
        assert (found["change"], found["expected"], found["baseline"]) == (0.02, 0.08, "n0")
        return found

    names = ("measured", "measured_low", "measured_high", "least", "most")
    tenth = [pytest.approx(0.1)] * 3
    many = row(*(pair_of(number) for number in range(1, 8)))
    assert [many[name] for name in names] == [*tenth, 110.0, 110.0]
    assert [row()[name] for name in names] == [None] * 5
    none = row(pair_of(1, 0.0), pair_of(2, -5.0))
    assert [none[name] for name in names] == [None, None, None, -5.0, 0.0]


def test_every_value_is_kept_raw_with_what_it_is_of(store: Store) -> None:
    dirty = pair_of(2, 300.0, contaminated=("the load was 3.1", "on battery"))
    store.append(night_of(1, [entry_of(pairs=[pair_of(1), dirty])]))
    found = list(store.samples(capture="decode", metric="step_p50"))
    assert [tuple(row[name] for name in ("pair", "side", "turn", "value")) for row in found] == [
        *((1, "candidate", 0, 109.0), (1, "candidate", 1, 111.0)),
        *((1, "reference", 0, 99.0), (1, "reference", 1, 101.0)),
        *((2, "candidate", 0, 299.0), (2, "candidate", 1, 301.0)),
        *((2, "reference", 0, 99.0), (2, "reference", 1, 101.0)),
    ]
    assert [row["counted"] for row in found] == [True] * 4 + [False] * 4
    assert {row["reason"] for row in found} == {"", "the load was 3.1; on battery"}
    of_night = {name: found[0][name] for name in ("machine", "plan", "capture", "work")}
    assert [*of_night.values()] == ["mini", "nightly", "decode", "w1"]
    assert list(store.samples(metric="other")) == []
    assert list(store.samples(since="2026-03-02")) == []


@pytest.mark.parametrize(
    ("night", "words"),
    [
        (night_of(1, [entry_of(pairs=[pair_of(1, float("nan"))])]), "got `null`"),
        (night_of(1, [entry_of(pairs=[pair_of(1, float("inf"))])]), "got `null`"),
        (night_of(1, reason="\udc80"), "surrogates not allowed"),
        (night_of(1, environment={"chip": {1, 2}, 3: object()}), "unsupported"),
        (night_of(1, started="at night"), "'at night' is no time"),
    ],
    ids=["nan", "infinite", "surrogate", "object", "time"],
)
def test_what_no_document_can_hold_is_refused_in_words(
    store: Store, sql: Say, night: Night, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        store.append(night)
    assert sql("SELECT count(*) FROM nights") == [(0,)]


def test_text_with_a_nul_is_kept(store: Store, sql: Say) -> None:
    night = night_of(
        1, [entry_of("f\0g", reason="a\0b")], reason="c\0d", environment={"chip": "e\0"}
    )
    store.append(night)
    assert store.nights() == [night]
    assert sql("SELECT capture FROM judgements") == [("f\N{REPLACEMENT CHARACTER}g",)]


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(
    words=st.tuples(WORDS, WORDS, WORDS),
    values=st.lists(NUMBERS, min_size=1, max_size=4).map(tuple),
    parameters=st.dictionaries(WORDS, st.one_of(st.integers(-(2**53), 2**53), NUMBERS, WORDS)),
)
@settings(deadline=None, max_examples=30, suppress_health_check=[*HealthCheck])
def test_any_words_and_numbers_come_back_as_they_were(
    sqlite_store: Store, words: Any, values: Any, parameters: Any
) -> None:
    reason, capture, metric = words
    pair = replace(pair_of(), candidate={metric: values}, reference={})
    entry = entry_of(capture, [pair], [judged_of(metric, reason=reason)], reason=reason)
    entry = replace(entry, candidate=replace(entry.candidate, parameters=parameters))
    night = night_of(1, [entry], reason=reason, id=uuid4().hex)
    assert sqlite_store.append(night)
    assert sqlite_store.night(night.id) == night


def test_nothing_is_changed_removed_or_replaced_even_by_hand(store: Store, sql: Say) -> None:
    store.append(night_of(1))
    store.accept("latest", [], "for good")
    store.pin("latest", "to look at")
    store.missed("nightly", "mini", "2026-03-02T02:30:00+00:00", "asleep")
    rows = {name: f"SELECT * FROM {name}" for name in METADATA.tables}  # noqa: S608
    before = {name: sql(select) for name, select in rows.items()}
    columns = "missed_nights (plan, machine, due, reason)"
    known = "SELECT plan, machine, due, 'awake' FROM missed_nights WHERE plan <> ''"
    again = "ON CONFLICT (plan, machine, due) DO UPDATE SET reason = 'awake'"
    statements: list[Any] = [text(f"INSERT INTO {columns} {known} {again}")]
    if store.database.is_sqlite:
        statements.append(text(f"REPLACE INTO {columns} {known}"))
    for table in METADATA.tables.values():
        column = list(table.columns)[-1].name
        statements += [table.update().values({column: table.c[column]}), table.delete()]
    for statement in statements:
        with (
            pytest.raises(Exception, match="a history is append-only"),
            store.database.writing() as connection,
        ):
            connection.execute(statement)
    assert {name: sql(select) for name, select in rows.items()} == before
    assert all(before.values())


def test_a_night_that_was_missed_is_known_once(store: Store) -> None:
    due = "2026-03-02T02:30:00+00:00"
    assert store.missed("nightly", "mini", due, "asleep")
    assert not store.missed("nightly", "mini", "2026-03-02T03:30:00+01:00", "off")
    assert store.missed("nightly", "studio", due, "asleep")
    assert store.missed("nightly", "mini", "2026-03-01T02:30:00+00:00", "off")
    assert store.missed_nights() == [
        Missed("nightly", "mini", "2026-03-01T02:30:00.000+00:00", "off"),
        Missed("nightly", "mini", "2026-03-02T02:30:00.000+00:00", "asleep"),
        Missed("nightly", "studio", "2026-03-02T02:30:00.000+00:00", "asleep"),
    ]
    asked = {"machine": "mini", "plan": "nightly", "since": due}, {"until": due}, {"plan": "w"}
    found = [[each.reason for each in store.missed_nights(**each)] for each in asked]
    assert found == [["asleep"], ["off"], []]


def test_pins_come_and_go_and_all_of_it_is_kept(store: Store, sql: Say, tmp_path: Path) -> None:
    store.append(night_of(1))
    for name, reason, words in (("latest", " ", "needs a reason"), ("no", "x", "no night 'no'")):
        with pytest.raises(UsageError, match=words):
            store.pin(name, reason)
    assert store.pin("2026-03-01", "odd") == "2026-03-01T02-30-00-abcd"
    assert store.pin(str(tmp_path), "mine") == str(tmp_path.resolve())
    assert store.pinned() == {"2026-03-01T02-30-00-abcd", str(tmp_path.resolve())}
    store.pin("latest", "", pinned=False)
    with pytest.raises(UsageError, match="is not pinned"):
        store.pin("latest", "", pinned=False)
    assert store.pinned() == {str(tmp_path.resolve())}
    assert sql("SELECT pinned, reason FROM pins ORDER BY number") == [
        (True, "odd"), (True, "mine"), (False, ""),
    ]  # fmt: skip
