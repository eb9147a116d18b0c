"""A run's folder and the files in it."""

from pathlib import Path

import pytest

from tracekit.base.errors import InputError, RecordingError
from tracekit.base.recording import (
    Overhead,
    Process,
    Provenance,
    Recording,
    Stage,
    quoted,
    save,
)

FULL = Provenance(
    tracekit="0.1.0",
    created="2026-11-20T10:15:03.000+00:00",
    recorder="host",
    workload="paged",
    parameters={"batch": 16, "dtype": "float16"},
    command_lines=(("python", "-m", "tracekit.workload.worker"),),
    targets=(Process(4711, "python3"),),
    time_limit=10.0,
    overhead=Overhead(0.01, 0.02, 6, 6),
    stages={"record": Stage("done", "2026-11-20T10:15:13.000+00:00")},
    warnings=("none to speak of",),
)


def test_stages_that_never_ended_are_known() -> None:
    stages = {
        "record": Stage("running", "t"),
        "export": Stage("failed", "t", "The disk is full."),
        "analyze": Stage("done", "t"),
        "report": Stage("interrupted", "t"),
    }
    assert list(Provenance(stages=stages).unfinished) == ["record", "export"]


def test_a_path_is_quoted_for_a_shell_where_it_must_be() -> None:
    assert quoted(Path("bench/traces/a")) == "bench/traces/a"
    assert quoted(Path("my traces/a")) == "'my traces/a'"


def test_provenance_that_is_not_there_cut_or_newer_is_told(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    with pytest.raises(RecordingError, match=r"no recording\.json") as error:
        recording.provenance()
    assert "tracekit capture" in error.value.hint
    recording.save_provenance(FULL)
    assert recording.provenance() == FULL
    text = recording.provenance_file.read_bytes()
    recording.provenance_file.write_bytes(text[: len(text) // 2])
    with pytest.raises(InputError, match="cannot be read"):
        recording.provenance()
    save(recording.provenance_file, {"format": 99})
    with pytest.raises(InputError, match="format 99"):
        recording.provenance()
