"""Smoke tests on a Mac with Xcode, be it real or hosted: `.ci/mac tests` runs them in this order.

Elsewhere they are skipped by name. A hosted Mac is virtual, so no test asserts a time, a counter or
a row of the GPU. Load comes last: one heavy kernel can wedge the driver of a virtual GPU.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from children import running, started_since
from tracekit.base.recording import Recording
from tracekit.machine.machine import Machine, describe
from tracekit.machine.state import JUDGED
from tracekit.machine.watch import look
from tracekit.record.asking import ask
from tracekit.record.beliefs import AnswerVerdict
from tracekit.record.doctor.probe_work import launch
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.progress import quiet
from tracekit.record.xctrace.templates import GPU_COUNTERS
from tracekit.record.xctrace.tool import Xctrace, find_xctrace
from tracekit.tables.tables import Tables

pytestmark = pytest.mark.mac

BUSY = """
import time
end = time.monotonic() + float({seconds})
while time.monotonic() < end:
    sum(range(9999))
"""
TEMPLATE = "Time Profiler"  # it needs neither a GPU nor counters


@pytest.fixture(scope="module")
def tool() -> Xctrace:
    """The xctrace of the selected Xcode; without one the tests that need it are skipped."""
    found_tool = find_xctrace()
    if found_tool is None:
        pytest.skip("no usable xctrace: `tracekit doctor` gives the reason")
    return found_tool


def make_busy(seconds: float) -> tuple[str, ...]:
    return (sys.executable, "-c", BUSY.format(seconds=seconds))


def test_the_system_describes_itself() -> None:
    facts = describe()
    assert facts["system"] == "Darwin"
    assert re.fullmatch(r"macOS \d+(\.\d+)*", facts["os"])
    assert re.fullmatch(r"\d+[A-Z]\d+[a-z]?", Machine().os_build)
    assert facts["chip"].startswith("Apple ")
    sysctl = ("/usr/sbin/sysctl", "-n", "kern.hv_vmm_present")
    answer = subprocess.run(sysctl, capture_output=True, text=True, check=True).stdout.strip()
    assert facts["virtual"] is (answer == "1" or "Virtual" in facts["chip"])


def test_each_reading_of_a_night_is_there_or_has_a_reason() -> None:
    state = look()
    unexplained = [name for name in JUDGED if name not in {*state.readings, *state.absences}]
    assert unexplained == []


def test_the_doctor_warns_of_a_virtual_machine(tracekit: Callable[..., Any]) -> None:
    result = tracekit("doctor", "--json")
    assert result.code in {0, 3, 4}
    facts = {fact["name"]: fact for fact in json.loads(result.out)["facts"]}
    verdict = "warning" if Machine().is_virtual else "ok"
    assert facts["virtual machine"]["verdict"] == verdict


def test_xctrace_names_its_build_its_options_and_its_instruments(tool: Xctrace) -> None:
    assert re.fullmatch(r"\d+[A-Z][0-9a-z]+", tool.version.build)
    assert (tool.version.xcode or 0) >= 16
    for option in ("--instrument", "--no-prompt", "--notify-tracing-started", "--env"):
        assert tool.knows("record", option), option
    assert {TEMPLATE, "Metal System Trace"} <= set(tool.names("templates"))
    assert GPU_COUNTERS in tool.names("instruments")


def test_metal_compiles_and_runs_a_kernel() -> None:
    assert mx.metal.is_available()
    values = mx.array([0.5] * 4096)
    expected = np.float64(0.5)
    for _ in range(4096):
        expected = expected * 0.999 + 0.001
    assert np.allclose(np.array(launch(values)), expected, rtol=1e-3)


def test_paged_attention_agrees_with_dense_attention(tracekit: Callable[..., Any]) -> None:
    result = tracekit("kernel", "parity", "--case", "float16-d64-b16-q8-kv2-ragged")
    assert result.code == 0, result.out + result.err


@pytest.mark.usefixtures("tool")
def test_questions_are_answered_and_leave_nothing(tmp_path: Path) -> None:
    before = running()
    names = ("version", "lines", "environment", "sigint-launch")
    report = ask(names, DoctorSurroundings(), tmp_path / "notes", quiet, limit=180)
    assert started_since(before) == []
    unanswered = [
        f"{answer.belief}: {answer.reason}"
        for question in report.questions
        for answer in question.answers
        if answer.verdict is AnswerVerdict.NOT_ANSWERED
    ]
    assert unanswered == []


@pytest.mark.usefixtures("tool")
def test_a_program_is_recorded_to_a_page_and_read_as_it_is_exported(
    tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    options = ("--template", TEMPLATE, "--method", "launch", "--counters", "off")
    captured = tracekit(
        "capture", *options, "--time-limit", "3s", "--output", run, "--", *make_busy(6)
    )
    assert captured.code in {0, 4}, captured.err  # 4: it has no work of a GPU
    assert "<html" in Recording(run).report_file.read_text()
    tables = Tables(Recording(run).bundle, frozenset())
    assert len(tables) > 5, "the bundle is read directly"
    compared = tracekit("doctor", "--compare", run)
    differing = [line for line in compared.out.splitlines() if line.startswith("differs")]
    assert differing == []
    assert compared.code in {0, 4}, compared.err


def test_a_killed_recorder_is_recovered(
    tool: Xctrace, tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    bundle, said = tmp_path / "killed.trace", tmp_path / "said.txt"
    argv = (
        *(tool.path, "record", "--template", TEMPLATE, "--time-limit", "60s", "--no-prompt"),
        *("--output", str(bundle), "--launch", "--", *make_busy(40)),
    )
    with said.open("wb") as output:
        recorder = subprocess.Popen(argv, stdout=output, stderr=output)
    end = time.monotonic() + 180
    while "Ctrl-C to stop" not in said.read_text():
        assert recorder.poll() is None, said.read_text()
        assert time.monotonic() < end, said.read_text()
        time.sleep(0.2)
    time.sleep(5)
    recorder.kill()
    recorder.wait()
    run = tmp_path / "recovered"
    result = tracekit("runs", "recover", bundle, "--template", TEMPLATE, "--output", run)
    assert result.code == 0, result.err
    assert Recording(run).provenance().stages["recover"].state == "incomplete"


@pytest.mark.usefixtures("tool")
def test_two_seconds_of_paged_attention_end_in_a_stated_way(
    tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    run = tmp_path / "paged"
    shape = ("--batch", "1", "--active-blocks", "8")
    result = tracekit(
        "record", "--workload", "paged", *shape, "--time-limit", "2s", "--output", run
    )
    stage = Recording(run).provenance().stages["record"]
    assert result.code in {0, 3, 4}, result.err
    assert stage.state == "done" or stage.message, "a failure has its reason"
