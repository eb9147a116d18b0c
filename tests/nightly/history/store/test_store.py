"""What a history keeps, how it is asked for, and what of each night is a point of which series."""

import re
import resource
from dataclasses import replace
from datetime import UTC, datetime
from math import exp, log
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import insert, text

from played_nights import Played
from stored_nights import ENVIRONMENT, entry_of, judged_of, night_of, pair_of, sql
from tracekit.base.documents import save
from tracekit.base.errors import InputError, RecordingError, TracekitError, UsageError
from tracekit.nightly.history.documents import cut_short, judgement_rows, moment, night_in
from tracekit.nightly.history.night import Described, Judged, Night, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.schema import METADATA, NIGHTS
from tracekit.nightly.history.store.store import Store

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "keep-a-history.md"


def test_a_night_is_kept_once_and_comes_back_as_it_was(store: Store, url: str) -> None:
    assert store.append(night_of(1))
    document = msgspec.to_builtins(night_of(1))
    del document["warnings"]  # what a later tracekit adds has a default
    for same_night in (night_of(1), msgspec.convert(document, Night)):
        assert not store.append(same_night)
    with pytest.raises(InputError, match="has another night 2026-03-01T02-30-00-abcd already"):
        store.append(night_of(1, reason="something else"))
    assert store.nights() == [night_of(1)]
    assert sql(url, "SELECT plan, machine, outcome, started FROM nights") == [
        ("nightly", "mini", "regression", "2026-03-01T02:30:00.000+00:00")
    ]
    assert sql(url, "SELECT capture, work, metric, candidate, outcome, gated FROM judgements") == [
        ("decode", "w1", "step_p50", 110.0, "regression", True)
    ]
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert sql(url, query.strip().rstrip(";")) == [
        ("2026-03-01T02:30:00.000+00:00", "decode", "w1", "step_p50", 110.0)
    ]


def test_nights_are_selected_by_their_properties(store: Store) -> None:
    store.append(night_of(4))
    store.append(night_of(2, machine="studio"))
    store.append(night_of(3, plan="weekly", outcome=Outcome.FAILED))
    store.append(night_of(1))
    queries: list[tuple[dict[str, Any], str]] = [
        ({"plan": "weekly"}, "3"),
        ({"outcome": Outcome.FAILED}, "3"),
        ({"since": "2026-03-02T04:30:00+02:00"}, "234"),
        ({"until": "2026-03-02T02:30:00+00:00"}, "1"),
        ({"since": datetime(2026, 3, 3, tzinfo=UTC), "until": "2026-03-04"}, "3"),
        ({"plan": "nightly", "machine": "mini"}, "14"),
        ({"limit": 2}, "34"),
    ]
    for filters, days in queries:
        assert "".join(night.id[9] for night in store.nights(**filters)) == days, filters
    with pytest.raises(InputError, match="Invalid time 'yesterday'"):
        store.nights(since="yesterday")


def test_a_night_is_named_by_id_beginning_folder_or_latest(store: Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no night 'latest'"):
        store.night("latest")
    for day in (12, 11, 1, 2, 3, 4, 5, 6):
        store.append(night_of(day))
    save(tmp_path / "night.json", night_of(1))
    for name in ("latest", "2026-03-12"):
        assert store.night(name) == night_of(12)
    for name in (night_of(1).id, str(tmp_path), str(tmp_path / "night.json")):
        assert store.night(name) == night_of(1)
    for tail in ("zzzz", "aaaa"):  # of two that began at once the one that was added last
        store.append(night_of(20, tail=tail))
    assert store.night("latest").id.endswith("aaaa")
    with pytest.raises(UsageError, match=r"Several nights begin with '2026-03-0': .*, …"):
        store.night("2026-03-0")
    with pytest.raises(UsageError, match="Several nights begin with '2026-03-1'"):
        store.night("2026-03-1")
    for name in ("2026-04", "", "%", "_026-03-12", "no/such/folder"):
        with pytest.raises(UsageError, match="The history has no night"):
            store.night(name)


def test_times_are_text_that_sorts_by_time() -> None:
    utc = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
    for same_time in (utc, "2026-02-28T19:30:00-07:00", "2026-03-01T02:30:00"):
        assert moment(same_time) == "2026-03-01T02:30:00.000+00:00"
    assert moment("2026-03-01T02:30:00.123456Z") == "2026-03-01T02:30:00.123+00:00"
    assert moment("2026-03-01") == "2026-03-01T00:00:00.000+00:00"


def test_a_judgement_has_measured_and_judged_values() -> None:
    judged = judged_of(change=0.02, expected=0.08, baseline="n0")
    names = ("change", "expected", "baseline", "measured", "measured_low", "measured_high")
    for pairs, measured, extremes in (
        ([pair_of(number) for number in range(1, 8)], [pytest.approx(0.1)] * 3, (110.0, 110.0)),
        ([], [None] * 3, (None, None)),
        ([pair_of(1, 0.0), pair_of(2, -5.0)], [None] * 3, (-5.0, 0.0)),
    ):
        (row,) = judgement_rows(night_of(1, [entry_of(pairs=pairs, judged=[judged])]))
        assert [row[name] for name in names] == [0.02, 0.08, "n0", *measured], extremes
        assert (row["least"], row["most"]) == extremes


def test_every_raw_value_is_kept_with_its_subject(store: Store) -> None:
    dirty = pair_of(2, 300.0, rejections=("the load was 3.1", "on battery"))
    store.append(night_of(1, [entry_of(pairs=[pair_of(1), dirty])]))
    rows = list(store.samples(capture="decode", metric="step_p50"))
    names = ("pair", "side", "turn", "value", "counted", "reason")
    reason = "the load was 3.1; on battery"
    assert [tuple(row[name] for name in names) for row in rows] == [
        *((1, "candidate", 0, 109.0, True, ""), (1, "candidate", 1, 111.0, True, "")),
        *((1, "reference", 0, 99.0, True, ""), (1, "reference", 1, 101.0, True, "")),
        *((2, "candidate", 0, 299.0, False, reason), (2, "candidate", 1, 301.0, False, reason)),
        *((2, "reference", 0, 99.0, False, reason), (2, "reference", 1, 101.0, False, reason)),
    ]
    of_night = [rows[0][name] for name in ("machine", "plan", "capture", "work")]
    assert of_night == ["mini", "nightly", "decode", "w1"]
    assert list(store.samples(metric="other")) == list(store.samples(capture="other")) == []
    assert list(store.samples(since="2026-03-02")) == []


def test_values_that_no_document_can_hold_are_refused(store: Store, url: str) -> None:
    for night, words in (
        (night_of(1, [entry_of(pairs=[pair_of(1, float("nan"))])]), "got `null`"),
        (night_of(1, [entry_of(pairs=[pair_of(1, float("inf"))])]), "got `null`"),
        (night_of(1, reason="\udc80"), "surrogates not allowed"),
        (night_of(1, environment={"chip": {1, 2}, 3: object()}), "unsupported"),
        (night_of(1, started="at night"), "Invalid time 'at night'"),
    ):
        with pytest.raises(InputError, match=words):
            store.append(night)
    assert sql(url, "SELECT count(*) FROM nights") == [(0,)]
    entry = entry_of("f\0g", reason="a\0b")
    night = night_of(1, [entry], reason="c\0d", environment={"chip": "e\0"})
    store.append(night)
    assert store.nights() == [night], "a text with a NUL is kept"
    assert sql(url, "SELECT capture FROM judgements") == [("f\N{REPLACEMENT CHARACTER}g",)]


def test_a_night_of_a_newer_format_is_a_point_and_is_not_read(store: Store) -> None:
    newer = msgspec.json.decode(msgspec.json.encode(night_of(2))) | {"format": 99}
    newer["entries"][0] |= {"pairs": "otherwise", "judged": {}}
    store.append(night_of(1))
    row = {"id": newer["id"], "plan": "nightly", "machine": "mini", "outcome": "failed"}
    row |= {"started": newer["started"], "document": msgspec.json.encode(newer).decode()}
    with store.database.writing() as connection:
        connection.execute(insert(NIGHTS).values(row))
    assert len(store.series()) == 1, "what prune asks for"
    with pytest.raises(InputError, match=r"cannot be read|has format 99"):
        store.nights()
    with store.database.writing() as connection:
        other_row = row | {"id": "other", "document": '{"outcome": "later"'}
        connection.execute(insert(NIGHTS).values(other_row))
    with pytest.raises(InputError, match="The night other cannot be read"):
        store.series()


SHARED = [HealthCheck.function_scoped_fixture]


@given(
    words=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    number=st.floats(allow_nan=False, allow_infinity=False),
)
@settings(deadline=None, max_examples=30, suppress_health_check=SHARED)
def test_words_and_numbers_come_back_alike(sqlite_store: Store, words: str, number: float) -> None:
    pair = replace(pair_of(), candidate={words: (number,)}, reference={})
    entry = entry_of(words, [pair], [judged_of(words, reason=words)], reason=words)
    night = night_of(1, [entry], environment={words: number}, reason=words, id=uuid4().hex)
    assert sqlite_store.append(night)
    assert sqlite_store.night(night.id) == night


def test_nothing_is_changed_removed_or_replaced_even_by_hand(store: Store, url: str) -> None:
    store.append(night_of(1))
    store.accept("latest", [], "for good")
    store.pin("latest", "to look at")
    store.record_missed("nightly", "mini", "2026-03-02T02:30:00+00:00", "asleep")
    rows_before = [sql(url, f"SELECT * FROM {name}") for name in METADATA.tables]  # noqa: S608
    columns = "missed_nights (plan, machine, due, reason)"
    selection = "SELECT plan, machine, due, 'awake' FROM missed_nights WHERE plan <> ''"
    again = "ON CONFLICT (plan, machine, due) DO UPDATE SET reason = 'awake'"
    statements: list[Any] = [text(f"INSERT INTO {columns} {selection} {again}")]
    if store.database.is_sqlite:
        statements.append(text(f"REPLACE INTO {columns} {selection}"))
    for table in METADATA.tables.values():
        column = list(table.columns)[-1].name
        statements += [table.update().values({column: table.c[column]}), table.delete()]
    for statement in statements:
        with (
            pytest.raises(Exception, match="a history is append-only"),
            store.database.writing() as connection,
        ):
            connection.execute(statement)
    assert [sql(url, f"SELECT * FROM {name}") for name in METADATA.tables] == rows_before  # noqa: S608
    assert all(rows_before)


def test_a_point_equals_its_nights_judgement(store: Store) -> None:
    pairs = [pair_of(number, 100.0 + number) for number in range(1, 11)]
    dirty = pair_of(11, 900.0, rejections=("the load was 3.1",))
    against = Described("sdpa", commit="9f9f9f9")
    store.append(night_of(1, [entry_of(pairs=[*pairs, dirty], reference=against)]))
    (series,) = store.series()
    (point,) = series.points
    assert replace(series, points=()) == Series(
        "mini", "nightly", "decode", "w1", "step_p50", "ns", "lower"
    )
    point_without_change = replace(point, change=None, low=None, high=None)
    assert point_without_change == Point(
        "2026-03-01T02-30-00-abcd", "2026-03-01T02:30:00.000+00:00", 110.0, 100.0,
        least=101.0, most=110.0, pairs=2, outcome=Outcome.REGRESSION, reason="It is slower.",
        night_outcome=Outcome.REGRESSION, commit="1a2b3c4", environment=ENVIRONMENT,
        folder="2026-03-01T02-30-00-abcd", reference_commit="9f9f9f9",
    )  # fmt: skip
    # The middle of all means of two logarithms of ratios, by hand.
    logs = [log(1.0 + number / 100) for number in range(1, 11)]
    means = sorted(
        (first_log + second_log) / 2
        for index, first_log in enumerate(logs)
        for second_log in logs[index:]
    )
    assert point.change == pytest.approx(exp(means[27]) - 1)
    assert (point.low or 0) < (point.change or 0) < (point.high or 0)


SHARE = pair_of(metric="share", candidate=3.5, reference=3.0, traced=True)
TEN = [pair_of(number) for number in range(1, 11)]
ALONE = [replace(pair_of(number), reference={}) for number in (1, 2)]
FOLLOWED: dict[str, Any] = dict.fromkeys(("reference", "change", "low", "high", "outcome"))


@pytest.mark.parametrize(
    ("pairs", "judged", "change", "extremes"),
    [
        # What was expected is not taken off, and traced pairs come behind untraced ones.
        (TEN, judged_of(change=0.0, expected=0.1, baseline="other"), 0.1, (110.0, 110.0)),
        ([pair_of(1, 120.0), pair_of(1, 500.0, 450.0, traced=True)], judged_of(), 0.2,
         (120.0, 120.0)),
        ([SHARE], judged_of("share", unit="ratio", scale="difference"), 0.5, (3.5, 3.5)),
        (ALONE, judged_of(gated=False, **FOLLOWED), None, (110.0, 110.0)),
    ],
)  # fmt: skip
def test_a_point_has_the_measured_change(
    sqlite_store: Store, pairs: list[Pair], judged: Judged, change: float | None, extremes: Any
) -> None:
    sqlite_store.append(night_of(1, [entry_of(pairs=pairs, judged=[judged])]))
    (point,) = sqlite_store.series()[0].points
    assert point.change == (None if change is None else pytest.approx(change))
    assert (point.least, point.most) == extremes


LOST: dict[str, Any] = {"outcome": Outcome.FAILED, "entries": ()}
TWO = [judged_of("step_p50"), judged_of("aaa")]
BOTH = [night_of(1, [entry_of("decode", judged=TWO), entry_of("prefill")]),
        night_of(2, [entry_of("prefill")])]  # fmt: skip


@pytest.mark.parametrize(
    ("nights", "asked", "found"),
    [
        ([night_of(1), night_of(2), night_of(3, [entry_of(work="w2")])], {},
         ["decode w1 step_p50 12", "decode w2 step_p50 3"]),
        (BOTH, {"metric": "aaa"}, ["decode w1 aaa 1"]),
        (BOTH, {"capture": "prefill"}, ["prefill w1 step_p50 12"]),
        (BOTH, {"machine": "studio"}, []),
        (BOTH, {"plan": "nightly", "since": "2026-03-02"}, ["prefill w1 step_p50 2"]),
        (BOTH, {"until": "2026-03-02", "metric": "step_p50"},
         ["decode w1 step_p50 1", "prefill w1 step_p50 1"]),
        ([night_of(1), night_of(2, machine="studio"), night_of(3, plan="weekly")], {},
         [f"decode w1 step_p50 {day}" for day in (1, 2, 3)]),
        ([night_of(1, partial=True), night_of(2, [entry_of(judged=TWO)])], {},
         ["decode w1 step_p50 12", "decode w1 aaa 2"]),
        # A night that failed is a point of the work that was done then.
        ([night_of(1, **LOST), night_of(2), night_of(3, **LOST),
          night_of(4, [entry_of(work="w2")]), night_of(5, **LOST),
          night_of(6, **LOST, plan="weekly"), night_of(7, **LOST, machine="studio")], {},
         ["decode w1 step_p50 23", "decode w2 step_p50 45"]),
    ],
)  # fmt: skip
def test_which_nights_are_points_of_which_series(
    sqlite_store: Store, nights: list[Night], asked: dict[str, Any], found: list[str]
) -> None:
    for night in nights:
        sqlite_store.append(night)
    assert [
        f"{series.capture} {series.work} {series.metric} "
        + "".join(point.night[9] for point in series.points)
        for series in sqlite_store.series(**asked)
    ] == found


def test_a_night_that_failed_is_a_point_that_says_why(sqlite_store: Store) -> None:
    failed = entry_of(judged=(), outcome=Outcome.FAILED, reason="Parity failed.")
    ok: dict[str, Any] = {"outcome": Outcome.OK}
    for night in (
        night_of(1),
        night_of(2, [failed], outcome=Outcome.FAILED, reason="decode: Parity failed."),
        night_of(3, **LOST, reason="No disk."),
        night_of(4, [], **ok, partial=True, reason="The budget was spent."),
        night_of(5, [], **ok, reason="decode is not in the plan any more."),
        night_of(6, [entry_of(judged=[judged_of(threshold=0.5, gated=False)])]),
    ):
        sqlite_store.append(night)
    (series,) = sqlite_store.series()
    assert (series.threshold, series.gated) == (0.5, False), "as the last night was judged"
    assert series.points[1].night_outcome is Outcome.FAILED
    assert [(point.night[9], point.value, point.reason) for point in series.points] == [
        *(("1", 110.0, "It is slower."), ("2", None, "Parity failed."), ("3", None, "No disk.")),
        *(("4", None, "The budget was spent."), ("6", 110.0, "It is slower.")),
    ]


def test_a_night_whose_process_was_killed_failed_unless_it_had_found_a_regression() -> None:
    unfinished_night = night_of(1, ended="", outcome=None, reason="")
    cut_night = cut_short(unfinished_night)
    assert (cut_night.partial, cut_night.outcome) == (True, Outcome.REGRESSION)
    assert "killed, or the machine went down" in cut_night.reason
    assert cut_short(replace(unfinished_night, outcome=Outcome.OK)).partial, (
        "it was judged, and not ended"
    )
    assert (
        cut_short(replace(unfinished_night, entries=(entry_of(outcome=None),))).outcome
        is Outcome.FAILED
    )
    assert cut_short(night_of(1)) == night_of(1), "one that ended is as it was"


@pytest.mark.processes
def test_a_history_that_is_removed_or_a_disk_that_is_full_as_a_night_runs(played: Played) -> None:
    """Nothing measured is lost: what was written last stays whole, and the next night adds it."""
    played.begin('revision = "FIRST"')
    file, first_night = played.top / "nights" / "history.db", played.night(1.0)
    limit, hard_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 10, hard_limit))  # less than a document has
    try:
        with pytest.raises(RecordingError, match=r"night\.json cannot be written: File too large"):
            played.night(1.0, keep=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard_limit))
    cut_night = night_in(max(file.parent.glob("*/night.json")).parent)
    assert cut_night is not None
    assert 0 < len(cut_night.entries[0].pairs) < 10
    assert not list(file.parent.rglob("*unfinished*"))
    save(file.parent / cut_night.id / "night.json", replace(cut_night, kept=True))
    with pytest.raises(TracekitError, match="Result of the night: OK"):
        played.night(1.0, progress=lambda _: file.unlink(missing_ok=True))
    last_night = played.night(1.0)
    with Store.connect(str(file), make=False) as store:
        nights_by_id = {night.id: night for night in store.nights(plan="played", machine="mini")}
    assert (len(nights_by_id), {first_night.id, last_night.id} - nights_by_id.keys()) == (4, set())
    assert nights_by_id[cut_night.id] == cut_short(replace(cut_night, kept=True))
