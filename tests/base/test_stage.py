"""Each stage leaves word of how far it came."""

from pathlib import Path

import pytest

from tracekit.base.errors import InterruptedRunError, ToolError
from tracekit.base.recording import Provenance, Recording, stage


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    made = Recording(tmp_path)
    made.save_provenance(Provenance(workload="paged"))
    return made


def state(recording: Recording, name: str) -> str:
    return recording.provenance().stages[name].state


def test_a_stage_is_running_and_then_done(recording: Recording) -> None:
    with stage(recording, "export"):
        assert state(recording, "export") == "running"
    assert state(recording, "export") == "done"


def test_a_failure_is_kept_with_its_message(recording: Recording) -> None:
    with pytest.raises(ToolError), stage(recording, "export"):
        raise ToolError("xctrace said no.")
    assert state(recording, "export") == "failed"
    assert recording.provenance().stages["export"].message == "xctrace said no."


@pytest.mark.parametrize(
    ("name", "follow"),
    [
        ("record", "export"),
        ("import", "analyze"),
        ("export", "export"),
        ("analyze", "analyze"),
        ("report", "report"),
    ],
)
def test_an_interrupt_says_how_to_go_on(recording: Recording, name: str, follow: str) -> None:
    recording.bundle.mkdir()
    with pytest.raises(InterruptedRunError) as error, stage(recording, name):
        raise KeyboardInterrupt
    assert error.value.exit_code == 130
    assert f"tracekit {follow} {recording.folder}" in error.value.hint
    assert state(recording, name) == "interrupted"


def test_what_others_wrote_meanwhile_is_kept(recording: Recording) -> None:
    with stage(recording, "record"):
        recording.save_provenance(Provenance(workload="paged", end_reason="time limit", stages={}))
    assert recording.provenance().end_reason == "time limit"
    assert state(recording, "record") == "done"


def test_where_nothing_was_saved_nothing_can_go_on(recording: Recording) -> None:
    with pytest.raises(InterruptedRunError) as error, stage(recording, "record"):
        raise KeyboardInterrupt
    assert error.value.hint == "Nothing was saved; record again."


def test_a_command_to_go_on_with_can_be_pasted(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "my run")
    recording.host_bundle.mkdir(parents=True)
    recording.save_provenance(Provenance())
    with pytest.raises(InterruptedRunError) as stop, stage(recording, "record"):
        raise KeyboardInterrupt
    assert f"`tracekit export '{recording.folder}'`" in stop.value.hint
