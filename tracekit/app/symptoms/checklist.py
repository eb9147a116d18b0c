"""The checklist of a symptom: its checks in order, and the conclusion from their answers."""

import os
import shlex
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from tracekit import pipeline
from tracekit.analysis import Status
from tracekit.app.symptoms.checks import QUESTIONS
from tracekit.app.symptoms.program import CheckAnswer, ExaminedProgram
from tracekit.base import (
    InterruptedRunError,
    TracekitError,
    UsageError,
    documents,
    programs,
    system,
)
from tracekit.base.choices import SymptomChoice

_SLOW = (
    *("end", "first-output", "speed", "gpu", "fallback"),
    *("memory", "swap", "machine", "clock", "capture"),
)
CHECKS: dict[SymptomChoice, tuple[str, ...]] = {
    "slow-decode": _SLOW,
    "slow-prefill": _SLOW,
    "memory": ("end", "memory", "regions", "swap", "growth", "capture"),
    "crash": ("end", "validation", "nan", "memory", "swap", "gpu", "capture"),
    "wrong": ("end", "first-output", "validation", "nan", "gpu", "fallback", "capture"),
}
"""The names of the checks of each symptom, in order."""

_FOLDER = Path("bench") / "symptoms"
_FILE = "checklist.json"


@dataclass(frozen=True)
class SymptomCheck:
    """A check: its question, its state, and the facts in words.

    `command` is the command that brings an answer or shows more, empty if none is known; `log` is
    the file with the output of the program, or the words of a tool that failed.
    """

    name: str
    question: str
    status: Status
    words: str
    command: str = ""
    log: str = ""


@dataclass(frozen=True)
class Checklist:
    """The checks of a program with a symptom, and their conclusion.

    `finding` is the first thing that was found, in words; `next_command` the command to continue
    with, empty if none is known. `folder` keeps the output of the program and the capture.
    """

    symptom: SymptomChoice
    program: tuple[str, ...]
    folder: str
    checks: tuple[SymptomCheck, ...] = ()
    finding: str = ""
    next_command: str = ""
    interrupted: bool = False
    exit_code: int = 0
    format: int = 1


def examine_symptom(
    symptom: SymptomChoice,
    argv: Sequence[str],
    limit: float,
    folder: Path,
    *,
    show_stage: pipeline.ShowStage = pipeline.show_nothing,
    show_check: Callable[[SymptomCheck], None] | None = None,
) -> Checklist:
    """Make the checks of a symptom in order; call `show_check` with each one that is answered.

    Each run of the program lasts `limit` seconds at most. An interruption ends the program and the
    checklist, which keeps the answers so far. The folder is that of `prepare_folder`; the checklist
    is in it too, as `checklist.json`.
    """
    subject = ExaminedProgram(tuple(argv), limit, folder, symptom, show_stage)
    checks: list[SymptomCheck] = []
    interrupted = False
    try:
        for name in CHECKS[symptom]:
            check = _make_check(name, subject)
            checks.append(check)
            if show_check is not None:
                show_check(check)
    except (KeyboardInterrupt, InterruptedRunError):
        interrupted = True
    checklist = Checklist(
        symptom, subject.argv, str(folder), tuple(checks), interrupted=interrupted
    )
    checklist = conclude(checklist)
    documents.save(folder / _FILE, checklist)
    return checklist


def _make_check(name: str, subject: ExaminedProgram) -> SymptomCheck:
    checked_question = QUESTIONS[name]
    try:
        answer = checked_question.answer(subject)
    except InterruptedRunError:
        raise
    except TracekitError as error:
        answer = CheckAnswer(Status.FAILED, error.message, log=error.hint)
    except Exception as error:  # noqa: BLE001  a bug in one check must not cost other answers
        log = traceback.format_exc()
        answer = CheckAnswer(Status.FAILED, f"{type(error).__name__}: {error}", log=log)
    return SymptomCheck(
        name, checked_question.question, answer.status, answer.words, answer.command, answer.log
    )


def conclude(checklist: Checklist) -> Checklist:
    """Return the checklist with its finding, the next command and the exit code.

    The first check that found something gives the finding. Exit code 1: something was found;
    3: nothing was found, and a check failed; 4: nothing was found, and a check could not judge;
    130: it was interrupted; else 0.
    """
    code = 0
    finding = ""
    command = ""
    for status, code_of_status in ((Status.FOUND, 1), (Status.FAILED, 3), (Status.ABSTAINED, 4)):
        matching = [check for check in checklist.checks if check.status is status]
        if not matching:
            continue
        code = code_of_status
        if status is Status.FOUND:
            finding = matching[0].words
        command = _choose_command(checklist, matching)
        break
    if checklist.interrupted:
        code = InterruptedRunError.exit_code
        command = _examine_again(checklist, checklist.symptom)
    if not command and checklist.checks:
        command = checklist.checks[-1].command
    return replace(checklist, finding=finding, next_command=command, exit_code=code)


def _choose_command(checklist: Checklist, matching: Sequence[SymptomCheck]) -> str:
    """Return the first command of these checks, or the one that the first finding suggests."""
    leader = matching[0]
    if leader.command:
        return leader.command
    next_symptom = _NEXT.get(leader.name, checklist.symptom)
    if leader.status is Status.FOUND and next_symptom != checklist.symptom:
        return _examine_again(checklist, next_symptom)
    for check in matching[1:]:
        if check.command:
            return check.command
    return ""


_NEXT: dict[str, SymptomChoice] = {
    "end": "crash",
    "nan": "wrong",
    "memory": "memory",
    "swap": "memory",
}
# the symptom whose checklist explains the finding of a check of another one


def _examine_again(checklist: Checklist, symptom: SymptomChoice) -> str:
    program = shlex.join(checklist.program)
    return f"tracekit doctor --symptom {symptom} -- {program}"


def prepare_folder(program: str, output: Path | None) -> Path:
    """Make a new folder for the checklist of a program: `output`, or one in bench/symptoms.

    Raises:
        UsageError: There is no such program, or the folder exists or cannot be made.
        ToolError: This system has no process groups.
    """
    system.require_processes("A checklist")
    programs.require_program(program, os.environ.get("PATH"))
    folder = output
    if folder is None:
        moment = datetime.now().astimezone()
        folder = _FOLDER / f"{moment:%Y-%m-%dT%H-%M-%S.%f}-{Path(program).name}"
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists.", hint="Choose a new folder with --output.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}.") from error
    return folder
