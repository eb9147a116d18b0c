"""Nights in a line each, series in a row for each night, times as people write them, exports."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stored_nights import entry_of, judged_of, night_of
from tracekit.base.errors import UsageError
from tracekit.base.redaction import own_redaction, redact_nothing
from tracekit.cli.history import time_of
from tracekit.nightly.history import listing
from tracekit.nightly.history.night import DOCUMENT, Accepted, Missed, Outcome
from tracekit.nightly.history.steps import Point, Series

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
UNCLEAR = judged_of("unclear", change=0.9, outcome=Outcome.INCONCLUSIVE)
WORSE = judged_of("worse", change=0.05, low=None, high=None)


def test_a_night_s_line_has_the_change_that_says_most() -> None:
    for judged, words in (
        ([judged_of("better", change=-0.5, outcome=Outcome.OK), judged_of("a bit", change=0.05),
          judged_of("tokens", change=-0.2, low=-0.3, high=-0.1, better="higher"),
          judged_of("followed", change=9.0, gated=False, outcome=None)],
         "decode tokens -20.0 % [-30.0 % … -10.0 %]"),
        ([UNCLEAR, WORSE], "decode worse +5.0 %"),
        ([judged_of("ratio", change=0.06, threshold=0.03),
          judged_of("share", change=0.05, threshold=0.01, scale="difference", unit="ratio",
                    low=None)], "decode share +5.0 points"),
        ([], ""),
        ([judged_of(change=None)], ""),
    ):  # fmt: skip
        summary = listing.line(night_of(1, [entry_of(judged=judged)]))
        assert (summary.words, summary.outcome) == (words, Outcome.REGRESSION), judged
        names = [name for name in (summary.capture, summary.metric) if name]
        assert summary.words.split()[:2] == names, judged


def test_nights_and_series_are_the_tables_of_the_golden(golden: Callable[[str, str], None]) -> None:
    """Nights in order, missed ones among them; plan and machine where there are several."""
    failed = night_of(3, [entry_of(judged=[])], plan="other", outcome=Outcome.FAILED)
    failed = replace(failed, reason="It broke. " * 50, partial=True)
    nights = night_of(1), failed, night_of(4, machine="studio", outcome=None)
    first_line, broken, studio = map(listing.line, nights)
    missed_nights = [Missed("nightly", "mini", "2026-03-02T02:30:00.000+00:00", "asleep")]
    title, head, series = listing.series_table(SERIES)
    assert title == "decode step_p50, lower is better: nightly on mini, work w1"
    text = ""
    for columns, rows in (
        listing.table_of([first_line, broken], missed_nights, {broken.id}),
        listing.table_of([first_line, studio], [replace(missed_nights[0], plan="weekly")], ()),
        (head, series),
    ):
        text += "".join(f"{' | '.join(row)}\n" for row in (columns, *rows))
    golden("tables.txt", text)


def test_the_last_baseline_of_a_work_holds_and_is_said_in_words() -> None:
    changes = {"step_p50": (0.1,)}
    accepted = [
        Accepted("n", capture, work, "", "", changes) for capture, work in ("aw", "bw", "aw", "av")
    ]
    holds = [baseline.holds for baseline in listing.held_on("mini", accepted)]
    assert holds == [False, True, True, True]
    revoked = [*accepted, Accepted("n", "b", "w", "", "revoked: wrong")]
    holds = [baseline.holds for baseline in listing.held_on("mini", revoked)]
    assert holds == [False, False, True, True, False]
    share = judged_of("share", scale="difference", unit="ratio")
    night = night_of(1, [entry_of("a"), entry_of(judged=[judged_of(), share])])
    accepted = Accepted(night.id, "decode", "w1", "", "", {"step_p50": (0.0953,), "share": (0.02,)})
    assert listing.expected_words(night, accepted, "step_p50") == "+10.0 % against the reference"
    assert listing.expected_words(night, accepted, "share") == "+2.0 points against the reference"


def test_times_are_read_as_people_write_them() -> None:
    times = [time_of(text, NOW) for text in ("36h", "2026-03-01", " 2026-03-01T02:30 ")]
    assert times == [
        *(datetime(2026, 3, 9, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
        datetime(2026, 3, 1, 2, 30, tzinfo=UTC),
    ]
    for text in ("", "d", "30", "2026-13-01"):
        with pytest.raises(UsageError, match="Invalid time"):
            time_of(text, NOW)


def test_the_course_of_a_night_is_read_of_any_version_and_the_last_is_last(tmp_path: Path) -> None:
    def write(name: str, start: str, **facts: Any) -> listing.NightSummary | None:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        document = {"id": name, "started": start, "plan": "own"} | facts
        (tmp_path / name / DOCUMENT).write_text(json.dumps(document))
        return listing.course_in(tmp_path / name)

    start_time = "2026-11-21T01:00:00+02:00"
    newer = write("a", start_time, format=99, moons=3, outcome="odd")
    expected = listing.NightSummary("a", start_time, outcome="odd", plan="own")
    assert (newer, expected.start_time) == (expected, datetime(2026, 11, 20, 23, tzinfo=UTC))
    write("b", "2026-11-20T02:30:00+00:00")
    write("e", "2026-11-22T02:30:00+00:00", plan="other")
    for name, start_time in (("c", "2026-12-01"), ("d", "2026-12-01T02:30:00")):
        undated = write(name, start_time)
        assert undated is not None, name
        assert undated.start_time is None, (name, "a time without a zone")
    for text in ("", '{"id": 7, "started": "x"}', "\xff"):
        (tmp_path / "d" / DOCUMENT).write_bytes(text.encode("latin-1"))
        assert listing.course_in(tmp_path / "d") is None, text
    assert listing.last_course(tmp_path, "own") == newer
    assert listing.last_course(tmp_path, "none") is None


HOSTILE = 'a,"b"\n; =cmd()</script>'
POINT = Point(
    "n1", "2026-03-01T02:30:00.000+00:00", 2e6, 1e6, 0.5, 0.4, 0.6, 1e6, 3e6, 9, Outcome.OK,
    HOSTILE, Outcome.OK, "a" * 40, {"chip": "Apple M1"}, "n1",
)  # fmt: skip
FAILED = Point("n2", POINT.at, None, night_outcome=Outcome.FAILED, reason="It broke.")
SERIES = Series(
    "mini", "nightly", "decode", "w1", "step_p50", "ns", "lower", points=(POINT, FAILED)
)
VALUE: dict[str, Any] = (
    dict.fromkeys(("night", "at", "machine", "plan", "capture", "work", "metric", "side"), "text")
    | {"reason": "", "value": 3.5, "pair": 1, "session": 1, "turn": 0}
    | {"traced": False, "counted": True}
)


def export_points(kind: Any, *series: Series, redact: Any = redact_nothing) -> bytes:
    file = io.BytesIO()
    listing.write_points(file, series, kind, redact)
    return file.getvalue()


def test_an_export_has_a_row_for_each_point_in_each_format() -> None:
    rows = list(csv.DictReader(io.StringIO(export_points("csv", SERIES).decode(), newline="")))
    assert [row["value"] for row in rows] == ["2000000.0", ""]
    assert ([row["outcome"] for row in rows], rows[0]["reason"]) == (["ok", ""], HOSTILE)
    assert json.loads(rows[0]["environment"]) == {"chip": "Apple M1"}
    json_rows = json.loads(export_points("json", SERIES))
    assert [row["value"] for row in json_rows] == [2e6, None]
    assert [list(row) for row in json_rows] == [list(rows[0])] * 2
    table = pq.read_table(io.BytesIO(export_points("parquet", SERIES)))
    assert table.to_pylist() == json_rows
    home = "/Users/ada/x"
    named_point = replace(POINT, folder=home, reason=f"{home} failed", environment={"at": home})
    for kind in ("csv", "json", "parquet"):
        file = io.BytesIO()
        listing.write_values(file, [VALUE | {"reason": f"see {home}"}], kind, own_redaction())
        text = export_points(kind, replace(SERIES, points=(named_point,)), redact=own_redaction())
        assert b"ada" not in text + file.getvalue(), (kind, "no person is named")
    types = [str(table.schema.field(name).type) for name in ("value", "pairs", "gated", "night")]
    assert (types, json.loads(export_points("json"))) == (["double", "int64", "bool", "string"], [])
    assert export_points("csv").count(b"\n") == 1
    assert pq.read_table(io.BytesIO(export_points("parquet"))).num_rows == 0
