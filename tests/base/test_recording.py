"""A run's folder: what stands in it, how far each stage came, and which ways have worked."""

from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.capabilities import Combination
from tracekit.base.documents import save
from tracekit.base.errors import InputError, InterruptedRunError, RecordingError, ToolError
from tracekit.base.files import quote_path
from tracekit.base.recording import Overhead, Process, Provenance, Recording, Stage
from tracekit.base.stages import running

FULL = Provenance(
    parameters={"batch": 16, "dtype": "float16"},
    command_lines=(("python", "-m", "tracekit.workload.worker"),),
    targets=(Process(4711, "python3"),),
    time_limit=10.0,
    overhead=Overhead(0.01, 0.02, 6, 6),
    stages={
        "record": Stage("running", "t"),
        "export": Stage("failed", "t", "The disk is full."),
        "analyze": Stage("done", "t"),
        "report": Stage("interrupted", "t"),
    },
)


def test_a_path_is_quoted_for_a_shell_if_needed() -> None:
    names = [quote_path(Path(name)) for name in ("bench/traces/a", "my traces/a")]
    assert names == ["bench/traces/a", "'my traces/a'"]


def test_missing_cut_and_newer_provenance_is_reported(tmp_path: Path) -> None:
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
    recording.provenance_file.write_text('{"a":' * 100_000)
    with pytest.raises(InputError, match="nested too deeply"):
        recording.provenance()
    save(recording.provenance_file, {"format": 2})
    with pytest.raises(InputError, match="format 2; this tracekit reads up to 1"):
        recording.provenance()


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    new_recording = Recording(tmp_path / "my run")
    new_recording.save_provenance(Provenance(workload="paged"))
    return new_recording


def state(recording: Recording, name: str) -> str:
    return recording.provenance().stages[name].state


def test_a_stage_runs_then_ends_and_foreign_keys_are_kept(
    recording: Recording,
) -> None:
    assert list(FULL.unfinished_stages) == ["record", "export"]
    with running(recording, "record"):
        assert state(recording, "record") == "running"
        recording.save_provenance(Provenance(workload="paged", end_reason="time limit", stages={}))
    assert recording.provenance().end_reason == "time limit"
    stage_record = recording.provenance().stages["record"]
    assert (stage_record.state, stage_record.message) == ("done", "")
    json_text = (recording.folder / "recording.json").read_text()
    assert '\n  "end_reason": "time limit",\n' in json_text
    with pytest.raises(ToolError), running(recording, "export"):
        raise ToolError("xctrace said no.")
    assert state(recording, "export") == "failed"
    assert recording.provenance().stages["export"].message == "xctrace said no."
    with pytest.raises(ToolError, match="said no"), running(recording, "export"):  # noqa: PT012
        recording.provenance_file.unlink()  # nothing is left to note it in
        raise ToolError("xctrace said no.")


@pytest.mark.parametrize(
    ("name", "bundle", "hint"),
    [
        ("record", "bundle", "`tracekit export '{}'`"),
        ("record", "host_bundle", "`tracekit export '{}'`"),
        ("record", "", "Nothing was saved; record again."),
        ("import", "bundle", "`tracekit analyze '{}'`"),
        ("export", "bundle", "`tracekit export '{}'`"),
        ("analyze", "bundle", "`tracekit analyze '{}'`"),
        ("report", "bundle", "`tracekit report '{}'`"),
    ],
)
def test_an_interrupt_says_how_to_go_on(
    recording: Recording, name: str, bundle: str, hint: str
) -> None:
    if bundle:
        getattr(recording, bundle).mkdir(parents=True)
    with pytest.raises(InterruptedRunError) as error, running(recording, name):
        raise KeyboardInterrupt if bundle else InterruptedRunError("Asked to stop.")
    assert error.value.exit_code == 130
    assert hint.format(recording.folder) in error.value.hint
    assert state(recording, name) == "interrupted"


GOOD = Combination("launch", counters=False, rows=150, others=3, dispatches=150)


def test_a_way_works_if_it_has_rows_and_the_counters_that_were_asked_for() -> None:
    assert GOOD.works
    assert replace(GOOD, counters=True, counter_rows=9).works
    assert not replace(GOOD, counters=True, counter_rows=0).works
    assert not replace(GOOD, counters=True).works
    assert not Combination("launch", counters=False, rows=0).works
    assert not Combination("launch", counters=False).works
    assert not replace(GOOD, failure="It hung.").works
