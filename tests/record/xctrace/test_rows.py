"""Whether a target has rows is found in the export itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tracekit.base.recording import Recording
from tracekit.record.xctrace.exporting import NO_ROWS
from tracekit.record.xctrace.outcome import pids_in, target_has_rows, without_rows

Intervals = Callable[[list[tuple[int, int, int, str]]], str]
FILE = "metal-gpu-intervals.xml"


@pytest.fixture
def write(recording: Recording, intervals_xml: Intervals) -> Callable[..., Path]:
    recording.exports.mkdir()

    def make(*pids: int, name: str = FILE) -> Path:
        path = recording.exports / name
        path.write_text(intervals_xml([(n, 1, pid, f"p{pid}") for n, pid in enumerate(pids)]))
        return path

    return make


def test_processes_are_those_that_the_rows_name(write: Callable[..., Path]) -> None:
    assert pids_in(write(420, 4711, 420)) == {420, 4711}
    assert pids_in(write()) == frozenset()


def test_a_process_at_the_edge_of_a_chunk_is_seen(tmp_path: Path) -> None:
    path = tmp_path / FILE
    for before in range((1 << 20) - 40, (1 << 20) + 5, 5):
        path.write_bytes(b" " * before + b'<pid id="7" fmt="4711">4711</pid>' + b" " * 2000)
        assert pids_in(path) == {4711}


@pytest.mark.parametrize(
    ("rows", "targets", "known"),
    [
        ((420, 4711), (4711,), True),
        ((420, 4711), (1, 4711), True),
        ((420,), (4711,), False),
        ((), (4711,), False),
        ((420,), (), None),
    ],
)
def test_a_target_has_rows_or_not_or_it_is_not_known(
    rows: tuple[int, ...],
    targets: tuple[int, ...],
    known: bool | None,
    recording: Recording,
    write: Callable[..., Path],
) -> None:
    write(*rows)
    assert target_has_rows(recording, targets) is known


def test_all_tables_of_the_schema_count(recording: Recording, write: Callable[..., Path]) -> None:
    write(420)
    write(4711, name="metal-gpu-intervals-2.xml")
    assert target_has_rows(recording, [4711])


def test_without_the_table_it_is_not_known(recording: Recording) -> None:
    assert target_has_rows(recording, [4711]) is None


def test_it_is_told_whether_others_have_rows(
    recording: Recording, write: Callable[..., Path]
) -> None:
    write()
    assert without_rows(recording, [4711]) == NO_ROWS
    write(420)
    assert without_rows(recording, [4711, 4712]) == (
        "metal-gpu-intervals has rows of other processes only: no GPU work of the target "
        "(process 4711, 4712) was recorded. See whether the target was awake and used Metal."
    )
