"""Each stage leaves word of how far it came."""

from pathlib import Path

import pytest

from tracekit.base.errors import InterruptedRunError, ToolError
from tracekit.base.recording import Provenance, Recording, stage


def state(recording: Recording, name: str) -> str:
    return recording.provenance().stages[name].state


def test_a_failure_is_kept_with_its_message(recording: Recording) -> None:
    with pytest.raises(ToolError), stage(recording, "export"):
        raise ToolError("xctrace said no.")
    assert state(recording, "export") == "failed"
    assert recording.provenance().stages["export"].message == "xctrace said no."


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    made = Recording(tmp_path / "my run")
    made.save_provenance(Provenance(workload="paged"))
    return made


def test_a_stage_is_running_and_then_done_and_what_others_wrote_is_kept(
    recording: Recording,
) -> None:
    with stage(recording, "record"):
        assert state(recording, "record") == "running"
        recording.save_provenance(Provenance(workload="paged", end_reason="time limit", stages={}))
    assert recording.provenance().end_reason == "time limit"
    assert state(recording, "record") == "done"


@pytest.mark.parametrize(
    ("name", "bundle", "hint"),
    [
        ("record", "bundle", "`tracekit export 'FOLDER'`"),
        ("record", "host_bundle", "`tracekit export 'FOLDER'`"),
        ("record", "", "Nothing was saved; record again."),
        ("import", "bundle", "`tracekit analyze 'FOLDER'`"),
        ("export", "bundle", "`tracekit export 'FOLDER'`"),
        ("analyze", "bundle", "`tracekit analyze 'FOLDER'`"),
        ("report", "bundle", "`tracekit report 'FOLDER'`"),
    ],
)
def test_an_interrupt_says_how_to_go_on(
    recording: Recording, name: str, bundle: str, hint: str
) -> None:
    if bundle:
        getattr(recording, bundle).mkdir(parents=True)
    with pytest.raises(InterruptedRunError) as error, stage(recording, name):
        raise KeyboardInterrupt
    assert error.value.exit_code == 130
    assert hint.replace("FOLDER", str(recording.folder)) in error.value.hint
    assert state(recording, name) == "interrupted"
