"""Tables are kept beside the run, and never met when they are no longer true."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tracekit.base.errors import TracekitError
from tracekit.base.recording import Process, Recording
from tracekit.fleet.query.views import normalized
from tracekit.tables.tables import MissingTableError

Make = Callable[..., Path]
ROWS = [(0, 10, 7, "python3"), (20, 30, 7, "python3")]


@pytest.fixture
def recording(run: Make) -> Recording:
    return Recording(run("a", ROWS))


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    (tmp_path / "workshop").mkdir()
    return tmp_path / "workshop"


def kept(recording: Recording) -> list[Path]:
    return sorted(recording.normalized.glob("*"))


def test_a_kept_table_is_not_made_again(recording: Recording, workshop: Path, later: None) -> None:
    first = normalized(recording, "gpu_intervals", workshop)
    made = first.file.stat().st_mtime_ns
    assert normalized(recording, "gpu_intervals", workshop) == first
    assert first.file.stat().st_mtime_ns == made
    assert first.said, "what the reader said is kept with the table"


def test_a_changed_export_is_read_again_and_the_old_table_goes(
    recording: Recording, workshop: Path, later: None
) -> None:
    first = normalized(recording, "gpu_intervals", workshop)
    export = recording.exports / "gpu.xml"
    _copy(export, export.read_text().replace(">30<", ">31<")).replace(export)
    second = normalized(recording, "gpu_intervals", workshop)
    assert pq.read_table(second.file)["duration"].to_pylist() == [10, 31]
    assert kept(recording) == [second.file] != [first.file]


def _copy(export: Path, text: str) -> Path:
    other = export.with_suffix(".new")
    other.write_text(text)
    return other


def test_other_targets_make_another_table(
    recording: Recording, workshop: Path, later: None
) -> None:
    normalized(recording, "gpu_intervals", workshop)
    nobody = replace(recording.provenance(), targets=(Process(8, "other"),))
    recording.save_provenance(nobody)
    part = normalized(recording, "gpu_intervals", workshop)
    assert pq.read_table(part.file)["target"].to_pylist() == [False, False]


def test_a_table_of_exports_that_are_young_is_not_kept(
    recording: Recording, workshop: Path
) -> None:
    part = normalized(recording, "gpu_intervals", workshop)
    assert part.file.parent == workshop
    assert kept(recording) == []


def test_a_damaged_file_is_made_again(recording: Recording, workshop: Path, later: None) -> None:
    part = normalized(recording, "gpu_intervals", workshop)
    part.file.write_bytes(part.file.read_bytes()[:-9])
    again = normalized(recording, "gpu_intervals", workshop)
    assert again == part
    assert pq.read_table(again.file)["duration"].to_pylist() == [10, 30]


def test_where_nothing_can_be_written_the_table_is_read_all_the_same(
    recording: Recording, workshop: Path, later: None
) -> None:
    recording.tables.write_text("a file is in the way, for root as well")
    part = normalized(recording, "gpu_intervals", workshop)
    assert part.file.parent == workshop
    assert pq.read_table(part.file)["duration"].to_pylist() == [10, 30]


@pytest.mark.parametrize("young", [True, False])
def test_a_table_that_is_not_there_is_said(
    young: bool, recording: Recording, workshop: Path, request: Any
) -> None:
    if not young:
        request.getfixturevalue("later")
    with pytest.raises(MissingTableError):
        normalized(recording, "hangs", workshop)
    (recording.exports / "gpu.xml").unlink()
    with pytest.raises(MissingTableError):
        normalized(recording, "gpu_intervals", workshop)
    (recording.folder / "recording.json").unlink()
    with pytest.raises(TracekitError, match="is not a run's folder"):
        normalized(recording, "gpu_intervals", workshop)
    assert kept(recording) == []
