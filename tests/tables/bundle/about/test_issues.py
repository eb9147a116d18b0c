"""What Instruments noted of a run."""

from pathlib import Path

import pytest

from bundle_writer import Issue, write_bundle
from documented_bundle import TICK
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import issues_of

NAME = "Trace1.run/RunIssues.storedata"
MAPPING = Issue("Data stream: Time Mapping")
HEALTHY = (
    'Instruments noted once "Data stream: Time Mapping", as in nearly every trace that is whole.'
)


def noted(bundle: Path) -> tuple[str, ...]:
    opened = Bundle(bundle)
    return issues_of(opened, opened.runs[0])


def written(folder: Path, *issues: Issue) -> Path:
    return write_bundle(folder / "made.trace", [TICK], issues=issues)


def test_what_nearly_every_trace_has_alarms_nobody(tmp_path: Path) -> None:
    assert noted(written(tmp_path, MAPPING)) == (HEALTHY,)


def test_issues_of_a_kind_are_counted(tmp_path: Path) -> None:
    bundle = written(
        tmp_path,
        Issue("Data stream: Signpost\nintervals", kind=1, count=1200, nanoseconds=7),
        Issue("Data stream: Signpost\nintervals", kind=1, count=34, nanoseconds=9),
        MAPPING,
    )
    healthy, other = noted(bundle)
    assert healthy == HEALTHY
    assert other == (
        'Instruments noted 1,234 times "Data stream: Signpost intervals"; how grave that is, the '
        "bundle does not tell."
    )


def test_no_database(tmp_path: Path) -> None:
    bundle = written(tmp_path, MAPPING)
    (bundle / NAME).unlink()
    (told,) = noted(bundle)
    assert told.endswith(f"{NAME} is missing.")


def test_long_and_many_issues_are_cut(tmp_path: Path) -> None:
    found = noted(written(tmp_path, *(Issue(f"{n:02} {'x' * 500}", count=0) for n in range(25))))
    assert len(found) == 20
    assert found[0].startswith('Instruments noted once "00 xxx')
    assert len(found[0]) < 300


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + bytes(200)])
def test_a_damaged_database_is_told(tmp_path: Path, content: bytes) -> None:
    bundle = written(tmp_path)
    (bundle / NAME).write_bytes(content)
    (told,) = noted(bundle)
    assert told == (
        f"What Instruments noted of run 1 is not available: {NAME} is no database that can be read."
    )
