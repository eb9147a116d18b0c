"""Other recorders: which of them forbid a recording, and which are only told."""

import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.base.errors import ToolError
from tracekit.record.xctrace.claim import Rival, refuse_rivals, rivals

SINCE = 1_795_000_000.0
RECORDING = Rival(17, "xctrace", "ada", SINCE, ("/X/xctrace", "record", "--template", "A"))
EXPORTING = Rival(18, "xctrace", "ada", SINCE, ("/X/xctrace", "export", "--toc"))
HIDDEN = Rival(19, "xctrace", "grace", SINCE, None)
INSTRUMENTS = Rival(20, "Instruments", "ada", SINCE, ("/X/Instruments",))


def test_another_recording_is_refused_with_who_and_since_when() -> None:
    with pytest.raises(ToolError) as caught:
        refuse_rivals([EXPORTING, RECORDING])
    assert caught.value.message.startswith(
        "Another recorder runs under ada: xctrace, process 17, runs since 2026-11-1"
    )
    assert "kill -INT 17" in caught.value.hint


def test_an_export_disturbs_nobody() -> None:
    assert refuse_rivals([EXPORTING]) == ()


@pytest.mark.parametrize("one", [HIDDEN, INSTRUMENTS])
def test_what_cannot_be_known_is_a_warning(one: Rival) -> None:
    [warning] = refuse_rivals([one])
    assert warning.startswith(f"{one.name}, process {one.pid}, runs since ")
    assert one.user not in warning
    assert "if it records too" in warning


@pytest.mark.processes
def test_they_are_found_by_name(tmp_path: Path) -> None:
    name = "a-recorder"  # not xctrace: other tests may record at this moment
    (tmp_path / name).symlink_to(sys.executable)
    code = "print(flush=True); input()"
    argv = (str(tmp_path / name), "-I", "-S", "-c", code, "record")
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        [found] = rivals({name})
        process.communicate(b"\n")
    assert (found.pid, found.name) == (process.pid, name)
    assert found.arguments is not None
    assert found.arguments[-1] == "record"
    assert found.created > 0
    assert rivals({name}) == ()
