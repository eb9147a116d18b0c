"""A night's course is read of any night.json that says when it began."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gate_night import NIGHT
from tracekit.base.recording import save
from tracekit.nightly.history.listing import NightSummary, course_in, last_course
from tracekit.nightly.history.night import DOCUMENT


def write(folder: Path, **facts: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / DOCUMENT).write_text(json.dumps(facts))
    return folder


def test_the_course_of_a_night_that_tracekit_wrote(tmp_path: Path) -> None:
    save(tmp_path / DOCUMENT, NIGHT)
    found = course_in(tmp_path)
    assert found == NightSummary(
        id="2026-11-20T02-30-00-abcd",
        started="2026-11-20T02:30:00+00:00",
        ended="2026-11-20T02:58:10+00:00",
        outcome="failed",
        reason="serve failed; decode is worse.",
        plan="attention",
    )
    assert found.began == datetime(2026, 11, 20, 2, 30, tzinfo=UTC)


def test_that_of_a_newer_tracekit_is_read_as_well(tmp_path: Path) -> None:
    started = "2027-01-01T04:30:00+02:00"
    write(tmp_path / "n", format=99, id="n", started=started, moons=3, outcome="odd")
    found = course_in(tmp_path / "n")
    assert found == NightSummary("n", started, outcome="odd")
    assert found.began == datetime(2027, 1, 1, 2, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"id": "n"}', '{"id": 7, "started": "x"}', "\xff"]
)
def test_what_is_no_night_has_no_course(tmp_path: Path, text: str) -> None:
    (tmp_path / DOCUMENT).write_bytes(text.encode("latin-1"))
    assert course_in(tmp_path) is None


@pytest.mark.parametrize("started", ["", "tonight", "2026-11-20T02:30:00", "2026-11-20"])
def test_a_time_without_a_zone_is_no_beginning(started: str) -> None:
    assert NightSummary("n", started).began is None


def test_the_last_night_is_the_one_that_began_last(tmp_path: Path) -> None:
    write(tmp_path / "a", id="late", plan="own", started="2026-11-21T01:00:00+02:00")
    write(tmp_path / "b", id="early", plan="own", started="2026-11-20T02:30:00+00:00")
    write(tmp_path / "c", id="undated", plan="own", started="2026-12-01")
    write(tmp_path / "d")
    write(tmp_path / "e", id="other", plan="other", started="2026-11-22T02:30:00+00:00")
    found = last_course(tmp_path, "own")
    assert found is not None
    assert found.id == "late"
