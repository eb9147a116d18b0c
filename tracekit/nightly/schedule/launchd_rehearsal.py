"""A rehearsal by launchd: a job with the surroundings of a night runs once, before nights do.

A job of launchd sees other folders than a terminal, has no desktop of its own, and no shell's
variables. Only launchd shows whether a night works there.
"""

import plistlib
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tracekit.base import ToolError, TracekitError, documents, files, processes
from tracekit.nightly.schedule.job import Job
from tracekit.nightly.schedule.schedulers import Launchd, ask, make_refusal, property_list

PLACE = "TRACEKIT_REHEARSAL"  # the variable that names the folder of a rehearsal
_LONGEST = 900.0  # seconds; saving the first trace can take minutes
_POLL = 0.2
_WITH_GPU_WORK = 0  # the exit code of a capture that holds GPU work of its target
_WITHOUT_GPU_WORK = 4  # of one that holds none, or of which that is unknown
_SCRIPT = f"""\
cd "${PLACE}" || exit 1
"$0" -P -m tracekit nightly run "$1" --dry-run >plan.txt 2>&1
echo $? >plan.code
"$0" -P -m tracekit doctor --json >doctor.json 2>doctor.txt
echo $? >doctor.code
"$0" -P -m tracekit capture --workload paged --batch 1 --active-blocks 8 --time-limit 2s \\
    --output run >capture.txt 2>&1
echo $? >capture.code
"""


@dataclass(frozen=True)
class _DoctorFact:
    """The parts of a fact in the doctor's document that an error needs."""

    words: str
    name: str
    verdict: str


@dataclass(frozen=True)
class _DoctorDocument:
    facts: tuple[_DoctorFact, ...] = ()


def rehearse_under_launchd(
    launchd: Launchd, job: Job, seconds: float = _LONGEST
) -> tuple[str, ...]:
    """Let launchd run the doctor and a capture of two seconds, once; return remarks.

    The capture is written to the plan's output. Nothing of the rehearsal is left.

    Raises:
        ToolError: launchd does not take the job, the job does not end, or the plan, the doctor or
            the capture fails in it.
    """
    label = f"{job.label}.rehearsal"
    file = launchd.folder / f"{label}.plist"
    folder = Path(tempfile.mkdtemp(prefix="rehearsal-", dir=job.log.parent))
    try:
        files.write_whole(file, plistlib.dumps(_properties(job, label, folder)))
        answer = launchd.load(label)
        if answer.returncode != 0:
            raise make_refusal(answer, "launchd does not take the rehearsal", launchd.hint)
        started = ask("launchctl", "kickstart", launchd.target_of(label))
        if started.returncode != 0:
            raise make_refusal(started, "launchd does not start the rehearsal", launchd.hint)
        _await_end(launchd, label, folder, seconds)
        return _judge(folder)
    finally:
        with suppress(TracekitError, OSError):
            launchd.unload(label)
        file.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def _properties(job: Job, label: str, folder: Path) -> dict[str, object]:
    """Return the job of a rehearsal: that of the nights, with another program and no time."""
    properties = property_list(job)
    del properties["StartCalendarInterval"]
    return {
        **properties,
        "Label": label,
        "ProgramArguments": ["/bin/sh", "-c", _SCRIPT, job.argv[0], str(job.plan)],
        "EnvironmentVariables": {**job.environment, PLACE: str(folder)},
        "StandardOutPath": str(folder / "log.txt"),
        "StandardErrorPath": str(folder / "log.txt"),
    }


def _await_end(launchd: Launchd, label: str, folder: Path, seconds: float) -> None:
    """Wait until the capture has ended; raise ToolError if the job ends before, or never."""
    until = time.monotonic() + seconds
    while not (folder / "capture.code").exists():
        last_exit = launchd.look(label).last_exit
        if last_exit is not None and not (folder / "capture.code").exists():
            raise _make_failure(
                f"the job ended with {processes.exit_words(last_exit)} before it could record.",
                processes.last_words(folder / "log.txt"),
            )
        if time.monotonic() >= until:
            raise _make_failure(f"it did not end within {seconds:g} s.", "")
        time.sleep(_POLL)


def _judge(folder: Path) -> tuple[str, ...]:
    """Return remarks on a rehearsal that worked; raise ToolError for one that did not."""
    codes = {name: _read_code(folder / f"{name}.code") for name in ("plan", "doctor", "capture")}
    if codes["plan"] != 0:
        words = processes.last_words(folder / "plan.txt")
        raise _make_failure(f"the plan ended with {processes.exit_words(codes['plan'])}.", words)
    if codes["doctor"] == ToolError.exit_code:
        raise _make_failure("the doctor found an obstacle.", _failed_facts(folder / "doctor.json"))
    if codes["capture"] not in {_WITH_GPU_WORK, _WITHOUT_GPU_WORK}:
        words = processes.last_words(folder / "capture.txt")
        raise _make_failure(
            f"the capture ended with {processes.exit_words(codes['capture'])}.", words
        )
    ends = f"the doctor ended with {codes['doctor']}, a capture of 2 s with {codes['capture']}"
    remarks = [f"Rehearsed by launchd: the plan was read, {ends}."]
    if codes["capture"] == _WITHOUT_GPU_WORK:
        remarks.append("No GPU work of its target is known to be in the rehearsal's trace.")
    return tuple(remarks)


def _read_code(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _failed_facts(file: Path) -> str:
    """Return the failed facts of a doctor's document, in words."""
    try:
        document = documents.decode_json(file.read_bytes(), _DoctorDocument)
    except (OSError, msgspec.MsgspecError):
        return "Its document cannot be read."
    failed = [fact for fact in document.facts if fact.verdict == "failed"]
    return " ".join(f"{fact.name}: {fact.words}" for fact in failed)


def _make_failure(problem: str, words: str) -> ToolError:
    return ToolError(
        f"In the rehearsal by launchd, {problem} {words}".rstrip(),
        hint="Nothing was installed. The same command works in a terminal, which has other rights: "
        "see `tracekit doctor`, row `reach of launchd`.",
    )
