"""The questions about the GPU, answered as believed, otherwise, with garbage, or never."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from children import running, started_since
from every_command import stock_template
from tracekit.machine.machine import Machine
from tracekit.record.asking import AskedQuestion, ask
from tracekit.record.beliefs import AnswerVerdict
from tracekit.record.doctor.gpu_questions import GPU_QUESTIONS
from tracekit.record.doctor.interpreters import Interpreter, find_interpreters
from tracekit.record.doctor.interview import GpuExperiment
from tracekit.record.doctor.surroundings import DoctorSurroundings
from tracekit.record.progress import quiet

Scenario = Callable[..., None]
AS_BELIEVED, DIFFERS, NOT_ANSWERED = AnswerVerdict
NAMES = tuple(question.name for question in GPU_QUESTIONS)

# Plays the program of the questions: its jobs only take time, and the fake has them as rows.
PLAYER = """
import json, os, sys, tempfile, time
from pathlib import Path

folder, kind, amount = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
marks = Path(tempfile.gettempdir(), "fake-gpu", str(os.getpid()))
marks.parent.mkdir(exist_ok=True)
(folder / "ready").touch()
while not (folder / "go").exists():
    time.sleep(0.01)
count = int(amount) if kind == "dispatches" else 20
with marks.open("w", buffering=1) as file:
    for _ in range(count):
        start = time.monotonic_ns()
        time.sleep(0.001)
        print(start, time.monotonic_ns(), file=file)
report = json.dumps({"pid": os.getpid(), "dispatches": count})
(folder / "done.unfinished").write_text(report)
(folder / "done.unfinished").rename(folder / "done")
time.sleep(60)
"""
FAILING = """
import sys
from pathlib import Path

unfinished = Path(sys.argv[1], "failed.unfinished")
unfinished.write_text("MLX has no Metal")
unfinished.rename(Path(sys.argv[1], "failed"))
"""


@pytest.fixture
def question(tmp_path: Path) -> Callable[..., AskedQuestion]:
    """Ask one question of a Mac with an M4, whose GPU a program plays."""

    def ask_one(
        name: str,
        program: str = PLAYER,
        *,
        chip: str = "Apple M4 Max",
        limit: float = 60,
        kinds: tuple[str, ...] = ("uv",),
    ) -> AskedQuestion:
        file = tmp_path / "player.py"
        file.write_text(program)
        interpreters = tuple(Interpreter(kind, Path(sys.executable)) for kind in kinds)
        gpu = GpuExperiment(file, haste=0.05, interpreters=interpreters, home=tmp_path)
        surroundings = replace(
            DoctorSurroundings(), machine=Machine("Darwin", answer=lambda *_: chip.encode())
        )
        report = ask((name,), surroundings, tmp_path / "notes", quiet, limit=limit, gpu=gpu)
        return report.questions[0]

    return ask_one


def values_of(question: AskedQuestion) -> dict[str, object]:
    return {answer.belief: answer.value for answer in question.answers}


@pytest.mark.processes
def test_each_dispatch_is_found_launched_attached_and_light(
    scenario: Scenario, question: Callable[..., AskedQuestion]
) -> None:
    scenario()
    before = running()
    asked = question("rows")
    assert started_since(before) == []
    reasons = [answer.reason for answer in asked.answers]
    assert {answer.verdict for answer in asked.answers} == {AS_BELIEVED}, reasons
    recorded = [command.argv for command in asked.commands if "record" in command.argv]
    assert ["--attach" in argv for argv in recorded] == [False, True, False]
    assert recorded[2].count("--instrument") == 3


@pytest.mark.processes
def test_missing_rows_of_each_way_differ(
    scenario: Scenario, question: Callable[..., AskedQuestion]
) -> None:
    for shares, complete in (((0.5, 1), (False, True, True)), ((0.6, 0.5), (False, False, False))):
        launched, attached = shares
        scenario(rows={"launch": {"share": launched}, "attach": {"share": attached}})
        asked = question("rows")
        launch_complete, attach_complete, light_complete = complete
        assert values_of(asked) == {
            "launch-complete": launch_complete,
            "attach-complete": attach_complete,
            "light-complete": light_complete,
        }, shares
    scenario(rows={"attach": {"most": 0}, "launch": {"most": 0}})
    asked = question("interpreters", kinds=("uv", "homebrew", "python-org"))
    assert values_of(asked) == {
        "uv-python-gives-rows": False,
        "homebrew-python-gives-rows": False,
        "python-org-python-gives-rows": False,
    }


@pytest.mark.processes
def test_an_interpreter_that_gives_rows_is_believed(
    scenario: Scenario, question: Callable[..., AskedQuestion]
) -> None:
    scenario()
    asked = question("interpreters")
    uv, *others = asked.answers
    assert (uv.belief, uv.verdict) == ("uv-python-gives-rows", AS_BELIEVED)
    assert {answer.reason for answer in others} == {
        "no such Python with the version of this one is here"
    }


@pytest.mark.processes
def test_a_program_that_fails_is_the_reason_for_no_answer(
    scenario: Scenario, question: Callable[..., AskedQuestion]
) -> None:
    scenario()
    for name in ("rows", "interpreters", "clock-ramp"):
        asked = question(name, FAILING)
        reasons = {answer.reason for answer in asked.answers}
        assert {answer.verdict for answer in asked.answers} == {NOT_ANSWERED}, name
        assert "the program failed: MLX has no Metal" in reasons, name


@pytest.mark.processes
def test_a_recorder_that_never_answers_or_talks_garbage_costs_no_more_than_the_limit(
    scenario: Scenario, question: Callable[..., AskedQuestion]
) -> None:
    before = running()
    for name in NAMES:
        scenario(start_delay=60)
        asked = question(name, limit=1)
        assert {answer.verdict for answer in asked.answers} == {NOT_ANSWERED}, name
        scenario(refuse={"code": 3, "text": "\x00\x1b garbage " * 100})
        asked = question(name, limit=5)
        assert {answer.verdict for answer in asked.answers} == {NOT_ANSWERED}, name
        assert all(len(answer.reason) < 500 for answer in asked.answers), name
    assert started_since(before) == []


@pytest.mark.processes
def test_a_virtual_machine_is_not_asked_about_its_gpu(
    scenario: Scenario, question: Callable[..., AskedQuestion]
) -> None:
    scenario()
    for name in NAMES:
        asked = question(name, chip="Apple M1 (Virtual)")
        assert asked.commands == (), name
        assert {answer.verdict for answer in asked.answers} == {NOT_ANSWERED}, name
        assert all("is a virtual machine" in answer.reason for answer in asked.answers), name


@pytest.mark.processes
def test_the_counter_profile_of_a_chip_is_the_first_one_that_gives_samples(
    scenario: Scenario, question: Callable[..., AskedQuestion], tmp_path: Path
) -> None:
    scenario()
    asked = question("profiles")
    assert "No template files called 'Metal System Trace'" in asked.answers[1].reason
    templates = tmp_path / "Library" / "Application Support" / "Instruments" / "Templates"
    templates.mkdir(parents=True)
    (templates / "Metal System Trace.tracetemplate").write_bytes(stock_template())
    for chip, profiles, value, verdict in (
        ("M4 Max", None, 13, AS_BELIEVED),
        ("M4 Max", [14], 14, DIFFERS),
        ("M4 Max", [99], None, NOT_ANSWERED),
        ("M1", None, 3, AS_BELIEVED),
        ("M1", [4], 4, DIFFERS),
    ):
        scenario(chip=chip, profiles=profiles)
        early, late = question("profiles", chip=f"Apple {chip}").answers
        answer = early if chip == "M1" else late
        assert (answer.value, answer.verdict) == (value, verdict), (chip, profiles, answer.reason)


@pytest.mark.processes
def test_the_ramp_of_the_clock_is_measured_or_bounded(
    scenario: Scenario, question: Callable[..., AskedQuestion]
) -> None:
    busy = PLAYER.replace("else 20", "else 700")
    for ramp, program, longer, verdict in (
        (0, PLAYER, False, AS_BELIEVED),
        (0.01, PLAYER, False, AS_BELIEVED),
        (60, PLAYER, True, NOT_ANSWERED),
        (0.6, busy, False, DIFFERS),
        (60, busy, True, DIFFERS),
    ):
        scenario(tables="all", clock_ramp=ramp)
        (answer,) = question("clock-ramp", program).answers
        assert (answer.longer, answer.verdict) == (longer, verdict), (ramp, answer.reason)


def test_interpreters_of_this_version_are_found_by_their_places(tmp_path: Path) -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    root, home = tmp_path / "root", tmp_path / "home"
    uv = home / ".local/share/uv/python"
    framework = root / "Library/Frameworks/Python.framework/Versions"
    for path in (
        uv / f"cpython-{version}.1-macos-aarch64-none/bin/python{version}",
        uv / f"cpython-{version}.2-macos-aarch64-none/bin/python{version}",
        uv / "cpython-2.7.1-macos-aarch64-none/bin/python2.7",
        framework / version / f"bin/python{version}",
    ):
        path.parent.mkdir(parents=True)
        path.touch()
    found = {
        interpreter.kind: interpreter.path for interpreter in find_interpreters(root, home, {})
    }
    assert found == {
        "uv": uv / f"cpython-{version}.2-macos-aarch64-none/bin/python{version}",
        "python-org": framework / version / f"bin/python{version}",
    }
    elsewhere = {"UV_PYTHON_INSTALL_DIR": str(tmp_path)}
    assert "uv" not in {each.kind for each in find_interpreters(root, home, elsewhere)}
