"""The limits of a capture's pipelines, on a stand-in for PyObjC's Metal. No Mac has run this."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from capture_writer import (
    DEVICE,
    FUNCTION,
    LIBRARY,
    METALLIB,
    PIPELINE,
    MadeCapture,
    call,
    group,
    small_capture,
)
from command_line import run
from fake_metal import FakeMetal
from tracekit.base import Recording
from tracekit.lab.metal_queue import unavailable
from tracekit.lab.replay.limits import keep_limits
from tracekit.tables import Tables

TEXT = (
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void probe(device float* out [[buffer(0)]]) { out[0] = 1; }\n"
)
TOPIC = "threads that the pipeline allows"


def made_of_source() -> MadeCapture:
    """Return a capture whose library was compiled of text in the program, as MLX's are."""
    made = small_capture()
    made.packed["5EED"] = f"{TEXT}\0".encode()
    compiled = call(0xC04E, "CU<b>t", DEVICE, METALLIB, 0, result=("t", LIBRARY), flags=0x1000)
    library = call(0xC04F, "CU<b>Ut", DEVICE, "5EED", "5EED", 0, result=("t", LIBRARY))
    made.resources[2] = made.resources[2].replace(compiled, library)
    return made


def import_capture(made: MadeCapture, folder: Path) -> Recording:
    bundle = made.write(folder / "made.gputrace")
    assert run("import", bundle, "--output", folder / "run") == 0
    return Recording(folder / "run")


def answer_of(recording: Recording, capsys: pytest.CaptureFixture[str], topic: str) -> Any:
    capsys.readouterr()
    run("kernel", "check", recording.folder, "--json")
    (dispatch,) = json.loads(capsys.readouterr().out)["dispatches"]
    (answer,) = [entry for entry in dispatch["general"] if entry["topic"] == topic]
    return answer


def test_metal_is_asked_about_the_captured_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = import_capture(made_of_source(), tmp_path)
    assert answer_of(recording, capsys, TOPIC)["state"] == "not recorded"
    assert answer_of(recording, capsys, "threadgroup memory")["state"] == "not recorded"
    metal = FakeMetal(most_threads=640)
    keep_limits(recording, lambda: metal)
    assert metal.compiled == [(TEXT, False)]
    (row,) = Tables(recording.exports)["pipeline_limits"].to_dict("records")
    assert (row["pipeline"], row["function"], row["most_threads"]) == (0, "probe", 640)
    assert (row["execution_width"], row["threadgroup_memory"], row["reason"]) == (32, 2176, None)
    answer = answer_of(recording, capsys, TOPIC)
    assert (answer["state"], answer["value"]) == ("as expected", "640, in SIMD-groups of 32")
    memory = answer_of(recording, capsys, "threadgroup memory")
    assert (memory["state"], memory["value"]) == ("as expected", "2,176 of 32,768 bytes")
    assert run("kernel", "check", recording.folder, "--expect", "most_threads>=512") == 0
    assert run("kernel", "check", recording.folder, "--expect", "most_threads>640") == 1


def test_a_threadgroup_above_the_limit_is_not_as_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = import_capture(made_of_source(), tmp_path)
    keep_limits(recording, lambda: FakeMetal(most_threads=31))
    answer = answer_of(recording, capsys, TOPIC)
    assert answer["state"] == "not as expected"
    assert answer["note"].startswith("the threadgroup has 32; as Metal said of the captured text")


def without_text(made: MadeCapture) -> None:
    made.packed["5EED"] = b"kernel void other() {}\0"


@pytest.mark.parametrize(
    ("change", "metal", "reason"),
    [
        (None, FakeMetal(compile_error="no such type"), "Metal cannot compile probe: no such type"),
        (None, FakeMetal(pipeline_error="constants"), "makes no pipeline of probe: constants"),
        (None, FakeMetal(has_device=False), "the system has no Metal device"),
        (without_text, FakeMetal(), "has no source that defines 'probe'"),
    ],
)
def test_limits_without_an_answer_have_a_reason(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[MadeCapture], None] | None,
    metal: FakeMetal,
    reason: str,
) -> None:
    made = made_of_source()
    if change is not None:
        change(made)
    recording = import_capture(made, tmp_path)
    keep_limits(recording, lambda: metal)
    answer = answer_of(recording, capsys, TOPIC)
    assert answer["state"] == "not recorded"
    assert "Metal was asked, without an answer: " in answer["note"]
    assert reason in answer["note"]


def test_a_system_without_metal_is_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> Any:
        raise unavailable("there is no Metal on this system")

    recording = import_capture(made_of_source(), tmp_path)
    keep_limits(recording, fail)
    assert "there is no Metal on this system." in answer_of(recording, capsys, TOPIC)["note"]


def test_a_pipeline_without_a_dispatch_is_not_asked(tmp_path: Path) -> None:
    made = made_of_source()
    idle = call(0xC055, "Ctt", DEVICE, FUNCTION, 0, result=("t", PIPELINE + 0x100), flags=0x1000)
    made.resources.insert(3, group("compute-pipeline-state", PIPELINE + 0x100, idle))
    recording = import_capture(made, tmp_path)
    keep_limits(recording, FakeMetal)
    (row,) = Tables(recording.exports)["pipeline_limits"].to_dict("records")
    frame = Tables(recording.exports)["pipelines"]
    assert len(frame) == 2
    assert row["pipeline"] == int(Tables(recording.exports)["dispatches"]["pipeline"].iloc[0])
