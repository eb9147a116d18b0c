"""A checklist of a program: each check on programs that are fine, crash, print NaN or grow."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from json_documents import require_schema
from tracekit.analysis import Status
from tracekit.app.symptoms import checklist, checks
from tracekit.app.symptoms.checklist import Checklist, SymptomCheck
from tracekit.app.symptoms.program import ExaminedProgram
from tracekit.app.symptoms.watching import MemoryUse
from tracekit.base import documents
from tracekit.machine import Machine

FINE = ("/bin/sh", "-c", "echo token 1.5; sleep 0.3; echo token 2")
NAN = ("/bin/sh", "-c", "echo loss 0.3; echo loss nan")
CRASH = ("/bin/sh", "-c", "echo before 1; echo bad pointer >&2; kill -SEGV $$")
GROWING = """
import time
kept = []
for _ in range(200):
    kept.append(b"x" * (2 << 20))
    time.sleep(0.012)
"""
VALIDATED = """
if [ "$MTL_SHADER_VALIDATION$MTL_SHADER_VALIDATION_REPORT_TO_STDERR$MTL_DEBUG_LAYER" = 111 ]; then
  echo "Metal GPU Validation Enabled" >&2
  [ -z "$1" ] || echo 'Invalid device load at offset 2116, executing kernel function: "f"' >&2
fi
echo 1
"""


def subject(folder: Path, argv: tuple[str, ...], symptom: str = "wrong") -> ExaminedProgram:
    return ExaminedProgram(argv, 10.0, folder / "out", symptom)


def write_script(file: Path, text: str) -> str:
    """Write a program that a Mac could start too."""
    file.write_text(f"#!/bin/sh\n{text}")
    file.chmod(0o755)
    return str(file)


def answered(name: str, status: Status, command: str = "") -> SymptomCheck:
    return SymptomCheck(name, "Why?", status, f"It is {name}.", command)


def conclude(*made: SymptomCheck, interrupted: bool = False) -> tuple[int, str, str]:
    concluded = checklist.conclude(
        Checklist("slow-decode", ("p", "a b"), "f", made, interrupted=interrupted)
    )
    return concluded.exit_code, concluded.finding, concluded.next_command


def test_the_first_finding_decides_and_then_failures_and_abstentions() -> None:
    passed = answered("capture", Status.PASSED, "open it")
    swapping = answered("swap", Status.FOUND)
    failed = answered("clock", Status.FAILED)
    unjudged = answered("speed", Status.ABSTAINED, "measure it")
    not_applicable = answered("gpu", Status.NOT_APPLICABLE)
    memory = "tracekit doctor --symptom memory -- p 'a b'"
    again = "tracekit doctor --symptom slow-decode -- p 'a b'"
    assert conclude(not_applicable, passed) == (0, "", "open it")
    assert conclude(unjudged, passed) == (4, "", "measure it")
    assert conclude(unjudged, failed, passed) == (3, "", "open it")
    assert conclude(unjudged, failed, swapping, passed) == (1, "It is swap.", memory)
    assert conclude(swapping, interrupted=True) == (130, "It is swap.", again)
    assert conclude(interrupted=True) == (130, "", again)


def test_each_symptom_has_known_checks_and_ends_with_a_capture() -> None:
    for symptom, names in checklist.CHECKS.items():
        assert set(names) <= set(checks.QUESTIONS), symptom
        assert (names[0], names[-1]) == ("end", "capture"), symptom
    in_a_list = {name for names in checklist.CHECKS.values() for name in names}
    assert in_a_list == set(checks.QUESTIONS)


@pytest.mark.processes
def test_a_program_that_is_fine_passes(tmp_path: Path) -> None:
    fine = subject(tmp_path, FINE)
    assert checks.check_end(fine).status is Status.PASSED
    first_output = checks.check_first_output(fine)
    assert first_output.status is Status.PASSED
    assert "token 1.5; the first number is 1.5" in first_output.words
    assert checks.check_nan(fine).words == (
        "No number that it printed is NaN or infinite; there are 2."
    )
    assert "of resident memory at most" in checks.check_memory(fine).words
    assert (tmp_path / "out" / "plain" / "stdout.txt").read_text() == "token 1.5\ntoken 2\n"


@pytest.mark.processes
def test_a_crash_names_the_signal_and_the_last_words(tmp_path: Path) -> None:
    crash = subject(tmp_path, CRASH, "crash")
    answer = checks.check_end(crash)
    assert answer.status is Status.FOUND
    assert "with signal SIGSEGV. Its last line is: bad pointer" in answer.words
    assert Path(answer.log).read_text() == "bad pointer\n"
    assert checks.check_capture(crash).status is Status.ABSTAINED


@pytest.mark.processes
def test_a_program_over_the_time_limit_is_ended_and_not_judged(tmp_path: Path) -> None:
    sleeping = ExaminedProgram(("sleep", "60"), 0.2, tmp_path / "out", "crash")
    answer = checks.check_end(sleeping)
    assert answer.status is Status.ABSTAINED
    assert answer.command == "tracekit doctor --symptom crash --time-limit 2m -- sleep 60"
    assert sleeping.plain_run.seconds < 10


def test_a_speed_is_compared_with_the_mark_of_its_symptom() -> None:
    rows = (
        (19.5, "slow-decode", "Apple M4 Max", "found", "below the 20 tokens/s of Apple M4 Max"),
        (25.0, "slow-decode", "Apple M3", "passed", "25 tokens/s for the generation"),
        (25.0, "slow-prefill", "Apple M3", "found", "below the 100 tokens/s of Apple M3"),
        (19.5, "slow-decode", "Apple M1", "not-applicable", "for M3 and M4"),
    )
    for speed, symptom, chip, status, words in rows:
        answer = checks.judge_speed(speed, symptom, chip)
        assert answer.status == status, (speed, chip)
        assert words in answer.words, (speed, chip)


def test_memory_is_judged_by_the_lowest_levels_of_eight_parts() -> None:
    rising = [(moment / 10, moment) for moment in range(40)]
    memory = MemoryUse(levels=rising)
    assert memory.lowest_levels(0, 4) == [0, 5, 10, 15, 20, 25, 30, 35]
    assert memory.lowest_levels(2, 4) == [20, 22, 25, 27, 30, 32, 35, 37]
    assert memory.lowest_levels(3.5, 4) == []


@pytest.mark.processes
def test_memory_that_grows_to_the_end_is_found(tmp_path: Path) -> None:
    growing = subject(tmp_path, (sys.executable, "-c", GROWING), "memory")
    answer = checks.check_growth(growing)
    assert answer.status is Status.FOUND, (answer.words, growing.plain_run.memory.levels)
    assert "grows all the time in the second half" in answer.words
    assert not answer.command, "it ended by itself, so more time shows no more"
    assert checks.check_growth(subject(tmp_path / "short", NAN)).status is Status.ABSTAINED


def test_work_on_the_cpu_is_found_by_the_use_of_gpu_and_cpu() -> None:
    for gpu_share, cores, status in (
        (0.03, 7.8, Status.FOUND),
        (0.9, 7.8, Status.PASSED),
        (0.03, 1.1, Status.PASSED),
        (None, 7.8, Status.ABSTAINED),
        (0.5, None, Status.ABSTAINED),
    ):
        answer = checks.judge_fallback(gpu_share, cores)
        assert answer.status is status, (gpu_share, cores)
    found = checks.judge_fallback(0.03, 7.8)
    assert "ran for it in 3.0 % of the capture, and it used 7.8 cores: most of its" in found.words


REGIONS = """\
Physical footprint:         {footprint}
                                VIRTUAL RESIDENT    DIRTY  SWAPPED
REGION TYPE                        SIZE     SIZE     SIZE     SIZE
IOAccelerator (graphics)           4.8G     {size}     4.2G      16K
"""


@pytest.mark.processes
def test_the_memory_of_the_gpu_is_that_of_vmmaps_regions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checks.check_regions(subject(tmp_path, FINE)).status is Status.NOT_APPLICABLE
    monkeypatch.setattr(sys, "platform", "darwin")
    argv = (write_script(tmp_path / "p", "echo 1\nsleep 0.2\n"),)
    commands: list[tuple[str, ...]] = []

    def answer(command: tuple[str, ...], _: float) -> bytes:
        commands.append(command)
        return REGIONS.format(footprint="5.0G", size="4.5G").encode()

    host = Machine("Darwin", answer=answer)
    regions = checks.check_regions(ExaminedProgram(argv, 10.0, tmp_path / "a", "memory", host=host))
    assert regions.status is Status.PASSED
    assert "GPU (IOAccelerator) had 4.50 GiB of a footprint of 5 GiB" in regions.words
    assert {command[:2] for command in commands} == {("/usr/bin/vmmap", "-summary")}
    commands.clear()
    timed = ExaminedProgram(argv, 10.0, tmp_path / "b", "slow-decode", host=host)
    assert checks.check_regions(timed).status is Status.ABSTAINED
    assert commands == [], "vmmap may pause a program whose speed is judged"


@pytest.mark.processes
def test_a_report_of_the_validation_layers_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checks.check_validation(subject(tmp_path, FINE)).status is Status.NOT_APPLICABLE
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("MTL_DEBUG_LAYER", "1")  # which reaches no run without validation
    reporting = subject(tmp_path / "a", (write_script(tmp_path / "e", VALIDATED), "reports"))
    answer = checks.check_validation(reporting)
    assert answer.status is Status.FOUND
    assert 'executing kernel function: "f"' in answer.words
    assert answer.command == "tracekit kernel verify FILE.metal"
    quiet = subject(tmp_path / "b", (write_script(tmp_path / "e", VALIDATED),))
    assert checks.check_validation(quiet).status is Status.PASSED
    assert quiet.plain_run.stderr.read_text() == ""
    without_metal = subject(tmp_path / "c", (write_script(tmp_path / "d", "echo 1\n"),))
    assert checks.check_validation(without_metal).status is Status.ABSTAINED


@pytest.mark.processes
def test_the_command_shows_each_check_and_the_next_command(tmp_path: Path, tracekit: Any) -> None:
    folder = tmp_path / "out"
    outcome = tracekit("doctor", "--symptom", "wrong", "--output", folder, "--", *NAN)
    assert outcome.code == 1, outcome.err
    assert "line 2 is: loss nan" in outcome.out
    assert "not applicable   Do Metal's validation layers report errors?" in outcome.out
    assert "next         tracekit kernel verify FILE.metal" in outcome.out
    document = documents.decode_json((folder / "checklist.json").read_bytes(), Checklist)
    assert document.exit_code == 1
    assert [check.name for check in document.checks] == list(checklist.CHECKS["wrong"])
    assert (folder / "run" / "report.html").exists()


@pytest.mark.processes
def test_the_document_fits_its_schema(tmp_path: Path, tracekit: Any) -> None:
    line = ("doctor", "--symptom", "slow-decode", "--json", "--output", tmp_path / "out", "--")
    outcome = tracekit(*line, "true")
    document = json.loads(outcome.out)
    require_schema(document, "Checklist")
    assert document["exit_code"] == outcome.code
    assert document["program"] == ["true"]


@pytest.mark.processes
def test_an_interruption_ends_the_program_and_keeps_the_answers(
    tmp_path: Path,
) -> None:
    def interrupt(_: SymptomCheck) -> None:
        raise KeyboardInterrupt

    folder = checklist.prepare_folder(CRASH[0], tmp_path / "out")
    interrupted = checklist.examine_symptom("crash", CRASH, 5.0, folder, show_check=interrupt)
    assert interrupted.exit_code == 130
    assert [check.name for check in interrupted.checks] == ["end"]
    assert (folder / "plain" / "stderr.txt").read_text() == "bad pointer\n"
    assert documents.decode_json((folder / "checklist.json").read_bytes(), Checklist) == interrupted


def test_wrong_lines_are_refused_in_a_sentence(tmp_path: Path, tracekit: Any) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("")
    lines: dict[tuple[Any, ...], str] = {
        ("--symptom", "crash"): "No program is named.",
        ("--symptom", "crash", "--", "no-such-program"): "no-such-program cannot be started",
        ("--symptom", "slow", "--", "true"): "slow-decode",
        ("--symptom", "crash", "--output", tmp_path / "taken", "--", "true"): "exists.",
        ("--symptom", "crash", "--time-limit", "soon", "--", "true"): "'soon' is not a time limit",
        ("--symptom", "crash", "--probe", "--", "true"): "Do one thing at a time",
        ("--symptom", "crash", "--json=summary", "--", "true"): "A checklist has no summary.",
        ("--time-limit", "2s"): "are for a program with a symptom",
    }
    for line, words in lines.items():
        outcome = tracekit("doctor", *line)
        assert outcome.code == 2, line
        printed = f"{outcome.out} {outcome.err}".replace("\n", " ")
        assert words in printed, (line, outcome.err)


@pytest.mark.processes
def test_a_mac_is_asked_about_its_gpu_by_a_capture(
    tmp_path: Path, scenario: Any, tracekit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fake xctrace records no GPU work of a program of the user's."""
    monkeypatch.setattr(sys, "platform", "darwin")
    program = write_script(tmp_path / "p", "echo 1.5\nsleep 0.2\n")
    folder = tmp_path / "out"
    options = ("--symptom", "slow-decode", "--time-limit", "3s", "--output", folder)
    outcome = tracekit("doctor", *options, "--", program)
    assert outcome.code == 1, outcome.err
    document = documents.decode_json((folder / "checklist.json").read_bytes(), Checklist)
    statuses = {check.name: check.status for check in document.checks}
    assert statuses["gpu"] is Status.FOUND
    assert statuses["fallback"] is Status.ABSTAINED, "its use of the GPU is not known"
    assert statuses["clock"] is Status.ABSTAINED
    assert "no device interval of p (" in document.finding
    assert document.next_command == f"tracekit report {folder}/run --evidence 1"
