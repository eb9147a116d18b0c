"""What a scheduler is to start, in which environment, and when: each date once."""

import os
import pwd
import sys
import time as clock
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.errors import UsageError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.job import (
    EARLY,
    bare_environment,
    due_times,
    find_unserved_times,
    job_of,
    names_of,
    next_due,
    rotate_log,
    time_of_day,
)

NIGHT = time(2, 30)


def test_a_job_is_made_of_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = NightPlan("paged", tmp_path / "tracekit.toml", (), tmp_path / "nights", "")
    job = job_of(plan, NIGHT)
    assert job.argv == (sys.executable, "-P", "-m", "tracekit", "nightly", "run", str(plan.file))
    assert (job.folder, job.log) == (tmp_path, tmp_path / "nights" / "nightly.log")
    monkeypatch.chdir(tmp_path)
    near = replace(plan, file=Path("tracekit.toml"), output=Path("nights"))
    assert job_of(near, NIGHT) == job
    (tmp_path / "link").symlink_to(tmp_path)
    assert job_of(replace(plan, file=tmp_path / "link/tracekit.toml"), NIGHT).label == job.label
    with pytest.raises(UsageError, match="control character"):
        job_of(replace(plan, output=tmp_path / "two\nlines"), NIGHT)
    # The label tells plans apart, and holds no odd letter.
    cleaned_label = job_of(replace(plan, name='Ünder "the" /hood/ %h $HOME'), NIGHT).label
    assert cleaned_label.startswith("tracekit.nightly.nder-the-hood-h-HOME.")
    assert job_of(replace(plan, name="…"), NIGHT).label.startswith("tracekit.nightly.plan.")
    other_label = job_of(replace(plan, file=tmp_path / "other.toml"), NIGHT).label
    assert [Path(label).match(names_of(plan.file)) for label in (cleaned_label, other_label)] == [
        True,
        False,
    ]


def test_only_named_variables_of_the_environment_are_taken() -> None:
    kept_variables = {
        "HOME": "/home/ada",
        "LANG": "de_DE.UTF-8",
        "DEVELOPER_DIR": "/Applications/Xcode.app",
        "TRACEKIT_CACHE": "/cache",
    }
    dropped_variables = {
        "TRACEKIT_DISK_FLOOR": "",
        "SECRET_TOKEN": "s3cret",
        "VIRTUAL_ENV": "/venv",
    }
    variables = {
        **kept_variables,
        **dropped_variables,
        "PATH": "/opt/bin:relative:/usr/bin:/opt/bin:",
    }
    path = "/opt/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    assert bare_environment(variables) == {"PATH": path, **kept_variables}
    account_home = pwd.getpwuid(os.getuid()).pw_dir
    assert bare_environment({"HOME": ""}) == {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": account_home,
    }


def test_a_log_that_is_too_large_is_renamed(tmp_path: Path) -> None:
    log, older = tmp_path / "nightly.log", tmp_path / "nightly.log.1"
    rotate_log(tmp_path)
    log.write_bytes(b"x" * (1 << 20))
    rotate_log(tmp_path)
    assert (log.exists(), older.exists()) == (True, False)
    older.write_bytes(b"older")
    log.write_bytes(b"x" * ((1 << 20) + 1))
    rotate_log(tmp_path)
    assert (log.exists(), older.stat().st_size) == (False, (1 << 20) + 1)


BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_time_of_the_day_is_read() -> None:
    for text, expected_time in (
        ("02:30", time(2, 30)),
        ("2:30", time(2, 30)),
        (" 23:59 ", time(23, 59)),
    ):
        assert time_of_day(text) == expected_time
    for text in ("24:00", "2:60", "2", "02:30:00", "-1:00", "", "٢:30"):
        with pytest.raises(UsageError, match="Invalid time of day"):
            time_of_day(text)


def test_each_day_has_one_due_time() -> None:
    for zone, since, until, expected_times in (
        (NEW_YORK, "2026-11-20T12:00", "2026-11-22T12:00",
         ["2026-11-21T07:30", "2026-11-22T07:30"]),
        # The bounds are open below and closed above.
        (NEW_YORK, "2026-11-21T07:30", "2026-11-22T07:30", ["2026-11-22T07:30"]),
        # On 29 March 2026 the clocks of Berlin go from 02:00 to 03:00.
        (BERLIN, "2026-03-27T12:00", "2026-03-30T12:00",
         ["2026-03-28T01:30", "2026-03-29T01:30", "2026-03-30T00:30"]),
        # On 25 October 2026 they go from 03:00 to 02:00: the first time counts.
        (BERLIN, "2026-10-23T12:00", "2026-10-26T12:00",
         ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]),
    ):  # fmt: skip
        assert due_times(NIGHT, utc(since), utc(until), zone) == [
            utc(text) for text in expected_times
        ], since


@given(
    start=st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    days=st.integers(0, 40),
    at=st.times().map(lambda drawn: drawn.replace(second=0, microsecond=0)),
    zone=st.sampled_from(
        [BERLIN, NEW_YORK, UTC, *map(ZoneInfo, ("Australia/Lord_Howe", "Pacific/Apia"))]
    ),
)
def test_days_have_a_due_time_each(start: datetime, days: int, at: time, zone: ZoneInfo) -> None:
    times = due_times(at, start, start + timedelta(days=days), zone)
    assert abs(len(times) - days) <= 1
    assert times == sorted(set(times))
    apart = [later_time - earlier_time for earlier_time, later_time in pairwise(times)]
    assert all(timedelta(hours=22) <= gap <= timedelta(hours=26) for gap in apart)
    assert len({due_time.astimezone(zone).date() for due_time in times}) >= len(times) - 1


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        clock.tzset()
        yield
    clock.tzset()


def find_missed_times(
    last_begin: datetime | None, night_begin: datetime, since: datetime | None = None
) -> list[datetime]:
    return find_unserved_times(NIGHT, last_begin, night_begin + EARLY, since)[:-1]


@pytest.mark.usefixtures("in_berlin")
def test_due_times_no_night_served_are_missed() -> None:
    for last_begin, night_begin, expected in (
        ("2026-11-20T01:30:01", "2026-11-21T01:30:01", []),
        ("2026-11-17T01:30", "2026-11-20T01:30", ["2026-11-18T01:30", "2026-11-19T01:30"]),
        # A late night is late and not missed.
        ("2026-11-20T01:30", "2026-11-21T09:12", []),
        # A timer that fires a moment early serves its own due time.
        ("2026-11-20T01:30", "2026-11-21T01:29:59", []),
        ("2026-11-21T01:29:59", "2026-11-22T01:30", []),
        # A night by hand in the evening serves no later time.
        ("2026-11-20T22:00", "2026-11-22T01:30", ["2026-11-21T01:30"]),
        # The clocks change: each date counts once.
        ("2026-10-24T00:30", "2026-10-27T01:30", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        ("2026-03-28T01:30", "2026-03-31T00:30", ["2026-03-29T01:30", "2026-03-30T00:30"]),
    ):
        assert find_missed_times(utc(last_begin), utc(night_begin)) == [
            utc(text) for text in expected
        ], (last_begin, night_begin)


@pytest.mark.usefixtures("in_berlin")
def test_nothing_was_due_before_it_was_installed_and_the_list_is_bounded() -> None:
    since, night_begin = utc("2026-11-19T12:00"), utc("2026-11-21T01:30")
    for last_begin in (utc("2026-10-01T01:30"), None):
        assert find_missed_times(last_begin, night_begin, since) == [utc("2026-11-20T01:30")]
    assert find_missed_times(None, night_begin) == []
    missing_times = find_missed_times(utc("2001-01-01T00:00"), night_begin)
    assert (len(missing_times), missing_times[-1]) == (399, utc("2026-11-20T01:30"))
    assert next_due(NIGHT, utc("2026-11-21T01:29")) == utc("2026-11-21T01:30")
    assert next_due(NIGHT, utc("2026-11-21T01:30")) == utc("2026-11-22T01:30")


@given(gaps=st.lists(st.integers(1, 9 * 24 * 60), min_size=1, max_size=12))
def test_each_due_time_is_served_or_missed_just_once(gaps: list[int]) -> None:
    """Whenever nights begin: what they serve and what is told as missed are all due times."""
    starts = [utc("2026-03-20T12:00")]
    for gap in gaps:
        starts.append(starts[-1] + timedelta(minutes=gap))
    missed_times = [due_time for pair in pairwise(starts) for due_time in find_missed_times(*pair)]
    unserved_times = (
        find_unserved_times(NIGHT, earlier_start, later_start + EARLY, None)
        for earlier_start, later_start in pairwise(starts)
    )
    served = [times[-1] for times in unserved_times if times]
    assert sorted([*missed_times, *served]) == due_times(
        NIGHT, starts[0] + EARLY, starts[-1] + EARLY
    )
