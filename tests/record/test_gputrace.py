"""GPU frame capture: from a plan to `capture.gputrace`, and what is said where none comes of it.

On a Mac without a Mac: an MLX on PYTHONPATH captures as its documentation says.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from capture_writer import ENCODER, call, small_capture
from children import until_gone
from tracekit import pipeline
from tracekit.base.distribution import own_version
from tracekit.base.errors import InterruptedRunError, RecordingError, ToolError, UsageError
from tracekit.base.recording import Recording
from tracekit.record.gputrace import UNTIMED, FrameTimeouts, capture_gpu
from tracekit.tables import Tables
from tracekit.workload.journal import fold
from tracekit.workload.plan import Plan
from tracekit.workload.worker.spec import Spec
from tracekit.workload.workload import Workload

# What a worker needs of MLX; FAKE_MLX tells how its Metal behaves. As with MLX's own, one command
# buffer is always open and takes the next steps, two of them here; a capture holds what was in
# command buffers that were opened, and committed, while it ran.
MLX = """
import json, os, pathlib, shutil

__version__, mode = "0.99", os.environ["FAKE_MLX"]
captured = waiting = 0  # steps that a capture holds, and those in the open command buffer
made_in_capture = False  # whether that was opened while a capture ran
get_active_memory = get_peak_memory = get_cache_memory = reset_peak_memory = lambda: 0
device_info = lambda: {"device_name": "Test GPU"}

def synchronize():
    global captured, waiting, made_in_capture
    captured += waiting * made_in_capture
    waiting, made_in_capture = 0, metal.path is not None

def step():
    global waiting
    waiting += 1
    if waiting == 2:
        synchronize()

class metal:
    path = None
    is_available = staticmethod(lambda: mode != "cpu")

    @staticmethod
    def start_capture(path):
        global captured
        if mode == "silent":
            return
        if os.environ.get("MTL_CAPTURE_ENABLED") != "1" or mode == "refuse":
            raise RuntimeError("[metal::start_capture] Failed to start capture: not enabled")
        if not path.endswith(".gputrace") or os.path.exists(path):
            raise RuntimeError("[metal::start_capture] Failed to start capture: path")
        metal.path, captured = pathlib.Path(path), 0

    @staticmethod
    def stop_capture():
        if metal.path is not None:
            if mode == "made":
                shutil.copytree(os.environ["MADE_CAPTURE"], metal.path)
                return
            metal.path.mkdir()
            seen = {"steps": captured, "validation": "MTL_DEBUG_LAYER" in os.environ}
            (metal.path / "metadata").write_text(json.dumps(seen))
"""
WORKLOAD = '''
import contextlib, os, signal, time
import mlx.core as mx
from tracekit.base import UsageError
from tracekit.workload import Step, journal, workload

@contextlib.contextmanager
def noting():
    yield {journal.KernelLaunch("probe", (100, 1, 1), (32, 1, 1), ("out",)): None}

@workload
def dots(size: int = 4) -> Step:
    """Count steps."""
    mode = os.environ["DOTS"]
    if mode == "die":
        os._exit(9)
    if mode == "misuse":
        raise UsageError("size is odd", hint="Take 4.")
    if mode == "stop":
        os.kill(os.getpid(), signal.SIGINT)
    wait = lambda _: time.sleep(60 if mode == "hang" else 0.001)
    if mode == "launches":
        return Step(mx.step, wait, "metal", noting_launches=noting)
    return Step(mx.step, wait, "metal")
'''
Mac = Callable[..., None]
Capture = Callable[..., Recording]


@pytest.fixture(autouse=True)
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    """Let workers find that MLX; call it to change how its Metal or the workload behaves."""
    package = tmp_path / "python" / "mlx"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "core.py").write_text(MLX)
    (tmp_path / "dots.py").write_text(WORKLOAD)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setenv("MTL_DEBUG_LAYER", "1")

    def change(metal: str = "", dots: str = "") -> None:
        monkeypatch.setenv("FAKE_MLX", metal)
        monkeypatch.setenv("DOTS", dots)

    change()
    return change


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    """Capture the workload into the folder "run", with other values of a plan where given."""

    def never() -> Any:
        pytest.fail("only a worker prepares it")

    dots = Workload("dots", tmp_path / "dots.py", never)
    plan_defaults: dict[str, Any] = {"workload": dots, "warmup": 2, "output": tmp_path / "run"}

    def run(
        timeouts: FrameTimeouts | None = None,
        progress: Callable[[str], None] = lambda _: None,
        more: tuple[str, ...] = (),
        **values: Any,
    ) -> Recording:
        plan = Plan(**{**plan_defaults, **values})
        return capture_gpu(plan, progress, timeouts or FrameTimeouts(capture=60), more)

    return run


@pytest.mark.processes
@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("warmup", [0, 1, 2])
def test_a_capture_holds_every_step(steps: int, warmup: int, tracekit: Any, tmp_path: Path) -> None:
    workload_options = ("--workload", "dots", "--workloads", tmp_path, "--output", tmp_path / "run")
    result = tracekit(
        "capture", "--gputrace", *workload_options, "--repeats", steps, "--warmup", warmup
    )
    assert result.code == 0, result.err
    metadata = (Recording(tmp_path / "run").gputrace / "metadata").read_text()
    assert json.loads(metadata)["steps"] == steps


@pytest.mark.processes
def test_a_few_steps_are_captured_and_none_is_timed(tracekit: Any, tmp_path: Path) -> None:
    workload_options = (
        "--workload",
        "dots",
        "--workloads",
        tmp_path,
        "--repeats",
        "2",
        "--size",
        "7",
    )
    result = tracekit("capture", "--gputrace", *workload_options, "--output", tmp_path / "a run")
    recording = Recording(tmp_path / "a run")
    assert (result.code, result.out) == (0, f"{recording.gputrace}\n")
    assert f"open '{recording.gputrace}'" in result.err
    assert f"tracekit tables '{recording.gputrace}'" in result.err
    assert UNTIMED in " ".join(result.err.split())
    frame_metadata = json.loads((recording.gputrace / "metadata").read_text())
    assert frame_metadata == {"steps": 2, "validation": False}
    report, provenance = fold(recording.journal_file), recording.provenance()
    assert [phase.name for phase in report.phases] == ["prepare", "warm-up", "gputrace"]
    assert {step.phase for step in report.steps} == {"warm-up"}
    assert (provenance.recorder, provenance.workload, provenance.repeats) == ("gputrace", "dots", 2)
    assert provenance.tracekit == own_version()
    assert provenance.parameters == {"size": 7}
    unreadable = "The capture cannot be read: capture.gputrace: index is missing."
    assert provenance.warnings == (UNTIMED, unreadable)
    assert provenance.stages["record"].state == report.state == "done"
    [line] = provenance.command_lines
    assert line[:2] == ("MTL_CAPTURE_ENABLED=1", sys.executable)
    assert line[-2:] == ("tracekit.workload.worker", str(recording.spec_file.resolve()))
    assert provenance.targets[0].pid == report.pid
    for stage in (pipeline.export, pipeline.analyze):
        with pytest.raises(RecordingError, match="nothing of it was timed") as caught:
            stage(recording)
        assert f"tracekit open {recording.folder}" in caught.value.hint, stage
    assert not recording.result_file.exists()
    assert not recording.report_file.exists()


@pytest.mark.processes
@pytest.mark.parametrize("threads", [32, 64])
def test_the_workload_has_expectations_of_its_capture(
    threads: int, mac: Mac, tracekit: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac("made", "launches")
    made = small_capture()
    dispatch = call(0xC132, "C@3ul@3ul", ENCODER, (100, 1, 1), (32, 1, 1), stack=(0x110, 0x200))
    place = made.calls.index(dispatch)
    made.calls[place] = call(0xC132, "C@3ul@3ul", ENCODER, (100, 1, 1), (threads, 1, 1))
    monkeypatch.setenv("MADE_CAPTURE", str(made.write(tmp_path / "made.gputrace")))
    run = tmp_path / "run"
    result = tracekit(
        "capture", "--gputrace", "--workload", "dots", "--workloads", tmp_path, "--output", run
    )
    assert result.code == 0, result.err
    assert (run / "expectations.toml").read_text().splitlines()[1:] == [
        "",
        "[[dispatch]]",
        "expect = [",
        '    "function==probe",',
        '    "missing_bindings==0",',
        '    "threads.x==100",',
        '    "threads.y==1",',
        '    "threads.z==1",',
        '    "threadgroup.x==32",',
        '    "threadgroup.y==1",',
        '    "threadgroup.z==1",',
        '    "bindings.out==bound",',
        "]",
    ]
    assert ("As expected: all" if threads == 32 else "Not as expected: ") in result.err
    assert len(Tables(run / "exports")["pipeline_limits"]) == 1
    assert tracekit("kernel", "check", run).code == int(threads != 32)
    assert tracekit("analyze", run).code == 0
    page = tracekit("report", run)
    assert page.code == 0, page.err
    assert "probe" in (run / "report.html").read_text()


@pytest.mark.processes
@pytest.mark.parametrize(
    ("metal", "dots", "said"),
    [
        ("silent", "", "Metal captured nothing"),
        ("refuse", "", "could not begin to capture: .*not enabled"),
        ("cpu", "", "runs on the CPU"),
        ("", "die", "ended with exit code 9"),
    ],
)
def test_a_missing_capture_is_reported_and_the_rest_kept(
    metal: str, dots: str, said: str, mac: Mac, capture: Capture, tmp_path: Path
) -> None:
    mac(metal, dots)
    with pytest.raises(ToolError, match=f"Nothing was captured. .*{said}") as caught:
        capture()
    assert bool(caught.value.hint) == (not dots)
    recording = Recording(tmp_path / "run")
    assert recording.provenance().stages["record"].state == "failed"
    assert recording.journal_file.exists()
    assert not recording.gputrace.exists()


@pytest.mark.processes
def test_a_capture_that_is_late_or_interrupted_ends(
    mac: Mac, capture: Capture, tmp_path: Path
) -> None:
    mac("", "hang")
    with pytest.raises(ToolError, match=r"not done within 2 s"):
        capture(FrameTimeouts(capture=2, leave=0.2))
    until_gone(fold(Recording(tmp_path / "run").journal_file).pid)

    def impatient(text: str) -> None:
        if text.startswith("preparing"):
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match="Interrupted while"):
        capture(FrameTimeouts(), impatient, output=tmp_path / "again")
    mac("", "stop")
    with pytest.raises(InterruptedRunError, match="Interrupted while"):
        capture(output=tmp_path / "asked to stop")
    mac("", "misuse")
    with pytest.raises(UsageError, match="size is odd") as caught:
        capture(output=tmp_path / "misused")
    assert (caught.value.hint, (tmp_path / "misused").exists()) == ("Take 4.", False)
    recording = Recording(tmp_path / "again")
    spec = Spec.load(recording.spec_file)
    assert (spec.repeats, spec.lifeline) == (3, True)  # it does not outlive tracekit
    assert fold(recording.journal_file).complete


def test_senseless_options_of_a_capture_are_a_usage_error(capture: Capture, tmp_path: Path) -> None:
    for error_words, values in (
        ("captures a workload", {"workload": None, "command": ("true",), "warmup": 5}),
        (
            "so --recorder has no meaning",
            {"workload": None, "attach": 1, "warmup": 5, "recorder": "host"},
        ),
        ("Choose what to record", {"workload": None}),
        ("so --recorder has no meaning", {"recorder": "host"}),
        ("so --counters, --time-limit has no", {"time_limit": 3.0, "counters": "off"}),
        ("so --telemetry has no meaning", {"telemetry": "off"}),
        ("so --light has no meaning", {"templates": (), "instruments": ("GPU",)}),
        ("so --instrument has no meaning", {"instruments": ("GPU",)}),
        ("so --export has no meaning", {"more": ("--export",)}),
        (
            "so --method, --counters, --template has no meaning",
            {"templates": ("Blank",), "method": "attach", "counters": "on"},
        ),
    ):
        with pytest.raises(UsageError, match=error_words):
            capture(**values)
    assert not (tmp_path / "run").exists()


def attach_capture(pid: int, folder: Path) -> Recording:
    return capture_gpu(Plan(attach=pid, output=folder, repeats=2))


@pytest.fixture
def capturable() -> Iterator[int]:
    """Yield the process id of a program that Metal could capture."""
    environment = {**os.environ, "MTL_CAPTURE_ENABLED": "1"}
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=environment) as process:
        yield process.pid


@pytest.mark.processes
def test_a_running_process_is_captured_by_gpucapture(
    scenario: Callable[..., None], capturable: int, tmp_path: Path
) -> None:
    bundle = tmp_path / "made.gputrace"
    bundle.mkdir()
    (bundle / "metadata").write_text("made")
    scenario(version="27A266a", gputrace=str(bundle))
    recording = attach_capture(capturable, tmp_path / "run")
    assert (recording.gputrace / "metadata").read_text() == "made"
    provenance = recording.provenance()
    [line] = provenance.command_lines
    assert line[1:] == (
        *("start", "--pid", str(capturable), "--count", "2"),
        *("--output", str(recording.gputrace)),
    )
    assert [(target.pid, target.name) for target in provenance.targets] == [(capturable, "cat")]
    scenario(version="27A266a")
    with pytest.raises(ToolError, match="gpucapture ended well, but left no"):
        attach_capture(capturable, tmp_path / "nothing")


@pytest.mark.processes
def test_without_gpucapture_no_process_is_captured(
    monkeypatch: pytest.MonkeyPatch, capturable: int, tmp_path: Path
) -> None:
    with pytest.raises(ToolError, match="comes with Xcode 27 or macOS 27, and there is none here"):
        attach_capture(capturable, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    tool = tmp_path / "bin" / "gpucapture"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\nmkdir "$7"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=os.pathsep)
    recording = attach_capture(capturable, tmp_path / "without xcrun")
    assert recording.provenance().command_lines[0][0] == str(tool)


@pytest.mark.processes
def test_a_process_without_the_switch_is_doubted_and_gpucapture_decides(
    scenario: Callable[..., None], tmp_path: Path
) -> None:
    scenario(version="27A266a")
    with (
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={"PATH": os.environ["PATH"]}) as other,
        pytest.raises(ToolError, match="no capturable process") as caught,
    ):
        attach_capture(other.pid, tmp_path / "run")
    assert "start it anew: MTL_CAPTURE_ENABLED=1 PROGRAM" in caught.value.hint
    (*_, doubt) = Recording(tmp_path / "run").provenance().warnings
    assert f"Process {other.pid} was started without MTL_CAPTURE_ENABLED=1" in doubt
    with pytest.raises(UsageError, match=f"There is no process {other.pid}"):
        attach_capture(other.pid, tmp_path / "gone")
    assert not (tmp_path / "gone").exists()
