"""The user's choices for a recording, before a recorder is chosen."""

import errno
import math
import os
import re
import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from pathlib import Path

from tracekit.base import (
    Provenance,
    Recording,
    RecordingChoices,
    RecordingError,
    TracekitError,
    UsageError,
    choices,
    files,
    outputs,
    programs,
    suggest_name,
    system,
)
from tracekit.workload.workload import Workload

TRACES = Path("bench") / "traces"
ANY_PROGRAM = "command"  # the workload that is the program after `--`

_UNFINISHED = ".recording.json.unfinished-"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Plan(RecordingChoices):
    """The target of a recording, and the choices for it with the defaults of `capture`.

    Exactly one of `workload`, `command` and `attach` (a process id) is given. `output` is the new
    folder of the run. If `steps` are wanted, a workload on the host continues up to six times the
    time limit until it has made them. `reads_input` is whether a command reads the standard input
    of tracekit, which nothing else may read then; by default it is empty.
    """

    workload: Workload | None = None
    attach: int | None = None
    output: Path | None = None
    steps: int = 0
    _: KW_ONLY
    recorder: str = "auto"
    templates: tuple[str, ...] = (choices.METAL_SYSTEM_TRACE,)
    time_limit: float = 10.0
    warmup: int = 5
    reads_input: bool = False

    @property
    def name(self) -> str:
        """The end of the run's folder's name: the workload, the program or the pid."""
        if self.workload is not None:
            return self.workload.name
        if self.command:
            program_name = Path(self.command[0]).name
            return re.sub(r"[^\w.-]+", "-", program_name) or "command"
        return f"pid-{self.attach}"


def check(plan: Plan) -> None:
    """Raise UsageError unless the plan has one target, and settings that it can have."""
    _check_choices(plan)
    _check_target(plan)
    _check_warmup(plan)


def _check_choices(plan: Plan) -> None:
    for name, option in RecordingChoices.options():
        value = getattr(plan, name)
        if option.words and value not in option.words:
            hint = suggest_name(value, option.words)
            raise UsageError(f"--{option.name} cannot be {value!r}.", hint=hint)
    counts = (("repeats", plan.repeats, 1), ("warmup", plan.warmup, 0))
    for name, number, fewest in counts:
        if number is not None and number < fewest:
            raise UsageError(f"--{name} must be at least {fewest}; it is {number}.")
    limit = plan.time_limit
    try:
        is_possible = 0 < limit < math.inf
    except TypeError:
        raise UsageError(f"time_limit is a number of seconds, not {limit!r}.") from None
    if not is_possible:
        raise UsageError(f"--time-limit must be finite and more than 0 s; it is {limit:g} s.")


def _check_target(plan: Plan) -> None:
    given_targets = [plan.workload is not None, bool(plan.command), plan.attach is not None]
    target_count = given_targets.count(True)
    if target_count != 1:
        request = "Choose what to record: a workload, a command after `--`, or a running process"
        message = f"{request}; one of them, not several." if target_count else f"{request}."
        raise UsageError(
            message,
            hint="tracekit capture --workload paged | -- COMMAND ARGS | --attach PID. "
            "`tracekit list workloads` lists the workloads.",
        )
    if plan.command and plan.method == "attach":
        raise UsageError(
            "--method attach is for workloads: any other program would not wait for the recorder.",
            hint="Start the program yourself, and give its process id with --attach PID.",
        )
    if plan.attach is not None and plan.method == "launch":
        raise UsageError(
            "--method launch and --attach contradict each other: the process runs already.",
            hint="Leave --method out.",
        )
    if plan.patterns and not plan.command:
        raise UsageError(
            "--read is for a program after `--`: a workload reports its own numbers, and the "
            "output of a running process is not known.",
            hint="Leave --read out.",
        )
    if plan.command:
        programs.require_program(plan.command[0], os.environ.get("PATH"))


def _check_warmup(plan: Plan) -> None:
    if plan.workload is None and plan.warmup != Plan.warmup:
        raise UsageError(
            "--warmup counts the steps of a workload, and a program has none.",
            hint="--after 5s leaves out the first 5 s of a program.",
        )
    if plan.after is not None and not plan.command:
        raise UsageError(
            "--after is for a program after `--`: a workload warms up by itself, and a running "
            "process is recorded from now on.",
            hint="Leave --after out.",
        )


def seconds(text: str) -> float:
    """Turn a time limit such as 10s, 1500ms, 2m or 1h into seconds; raise UsageError."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|s|m|h)?", text.strip())
    if match is None or float(match[1]) == 0:
        raise UsageError(
            f"{text!r} is not a time limit.", hint="Write 10s, 1500ms, 2m or 1h; more than 0."
        )
    unit = _UNITS[match[2] or "s"]
    return float(match[1]) * unit


def require_place(plan: Plan) -> None:
    """Raise UsageError if the run's folder cannot be made, before any facts are gathered."""
    try:
        Path.cwd()
    except FileNotFoundError:
        raise UsageError("The current folder is gone.", hint="Go to one that exists.") from None
    if plan.output is not None:
        _require_free(plan.output)


def claim_folder(
    output: Path | None, name: str, provenance: Provenance, inputs: Iterable[Path] = ()
) -> Recording:
    """Make a folder for a run, with its `recording.json`: `output`, or a new one in bench/traces.

    Raises:
        UsageError: `output` is taken, is among the inputs, or cannot be made.
        RecordingError: The disk is full.
    """
    if output is not None:
        _require_free(output, inputs)
        lent = output.is_dir()
        if not _try_claim(output, provenance):
            raise _make_taken_error(output)
        return Recording(output, lent)
    stem = f"{datetime.now().astimezone():%Y-%m-%dT%H-%M-%S}-{name}"
    for number in range(1, 1000):
        folder_name = stem if number == 1 else f"{stem}-{number}"
        folder = TRACES / folder_name
        if _try_claim(folder, provenance):
            return Recording(folder)
    raise UsageError(f"There are too many runs named {stem} in {TRACES}.")


def _require_free(output: Path, inputs: Iterable[Path] = ()) -> None:
    with _usable(output):
        outputs.require_apart([output], inputs)
        if not _is_free(output):
            raise _make_taken_error(output)


def discard(recording: Recording) -> None:
    """Remove the files of a run, and its folder, unless that existed before."""
    with suppress(OSError):
        for path in recording.folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        if not recording.lent:
            recording.folder.rmdir()


@contextmanager
def kept_unless_misused(recording: Recording, *refusals: type[TracekitError]) -> Generator[None]:
    """Discard a recording and all its files after wrong usage, or after one of the refusals."""
    try:
        yield
    except (UsageError, *refusals):
        discard(recording)
        raise


def _make_taken_error(output: Path) -> UsageError:
    return UsageError(
        f"{output} exists and is not an empty folder.",
        hint="Name a new folder: a recording never goes over another one.",
    )


def _is_free(folder: Path) -> bool:
    """Tell whether a folder can be taken: it does not exist, or holds only an unfinished claim."""
    if not folder.exists():
        return True
    if not folder.is_dir():
        return False
    return all(path.name.startswith(_UNFINISHED) for path in folder.iterdir())


def _try_claim(folder: Path, provenance: Provenance) -> bool:
    """Take a free folder, or make it; return False if it is taken.

    Of several processes that want the same one, only one succeeds.
    """
    with _usable(folder), suppress(FileExistsError):
        folder.mkdir(parents=True, exist_ok=folder.is_dir())
        with system.locked_folder(folder):
            if _is_free(folder):
                Recording(folder).save_provenance(provenance)
                return True
    return False


@contextmanager
def _usable(folder: Path) -> Generator[None]:
    """Raise RecordingError for a folder that a full disk cannot hold, else UsageError."""
    try:
        yield
    except OSError as error:
        message = f"The folder {folder} cannot be made: {error.strerror}."
        hint = files.remedy(error, "--output")
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG}:
            raise RecordingError(message, hint=hint) from error
        raise UsageError(message, hint=hint) from error
