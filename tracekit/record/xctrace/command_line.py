"""The command line of a recording, in the order that xctrace wants, and whom it records."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from tracekit.base import Recording, UsageError, runs
from tracekit.record.recorder import Attach, Launch, Request, Target
from tracekit.record.xctrace.command import target_environment
from tracekit.record.xctrace.progress import Account
from tracekit.record.xctrace.recording_process import Ended
from tracekit.record.xctrace.selection import GPU_COUNTERS, Selection
from tracekit.record.xctrace.tool import Xctrace


@dataclass(frozen=True)
class Subject:
    """Whom one recording is of."""

    target: Launch | Attach  # what xctrace launches or attaches to
    # called with the account of the recording whenever its state changes
    changed: Callable[[Account], None] = lambda _: None
    # says whether nothing of it is left to record, though xctrace may go on
    finished: Callable[[], bool] = lambda: False


def subject_of(target: Launch | Attach) -> Subject:
    """Return the subject of a plain target.

    xctrace notices the end of a program that it launched; whether it does so with one that it
    attached to is not established, so that one is watched.
    """
    if isinstance(target, Launch):
        return Subject(target)
    missing = UsageError(f"There is no process {target.pid} to attach to.")
    try:
        process = psutil.Process(target.pid)
    except psutil.NoSuchProcess:
        raise missing from None
    if not runs(process):
        raise missing
    return Subject(target, finished=lambda: not runs(process))


def early_end(target: Target, ended: Ended) -> tuple[str, ...]:
    """Return a warning if a process that was attached to ended before the recording did."""
    if not isinstance(target, Attach) or not ended.finished:
        return ()
    return (f"The process {target.pid} ended before the recording did.",)


def record_line(
    tool: Xctrace,
    request: Request,
    target: Launch | Attach,
    selection: Selection,
    recording: Recording,
    *,
    environment: Mapping[str, str] = os.environ,
) -> tuple[str, ...]:
    """Return the command line that records `target`, as `request` wants it, into the bundle.

    A launched program's standard output goes to a file beside it; xctrace forwards neither it
    nor standard error, for which it has no option.
    """
    limit, bundle = time_limit(request.time_limit), str(recording.bundle.absolute())
    words = [tool.path, "record", "--template", selection.template]
    if selection.adds_counters:
        words += ["--instrument", GPU_COUNTERS]
    words += ["--time-limit", limit, "--output", bundle]
    if tool.knows("record", "--no-prompt"):
        words.append("--no-prompt")
    if isinstance(target, Attach):
        return (*words, "--attach", str(target.pid))
    words += ["--target-stdout", str(recording.target_output_file.absolute())]
    for name, value in target_environment(target.env, environment).items():
        words += ["--env", f"{name}={value}"]
    return (*words, "--launch", "--", *absolute(target.argv, environment))


def time_limit(seconds: float) -> str:
    """Write a time limit as xctrace reads it: whole seconds, else whole milliseconds."""
    milliseconds = round(seconds * 1000)
    if milliseconds < 1:
        raise UsageError(f"A time limit of {seconds:g} s is too short to record anything.")
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"


def absolute(argv: tuple[str, ...], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return `argv` with the absolute path of its program."""
    if not argv:
        raise UsageError("There is no command to record.")
    if argv[0].rstrip("/").endswith(".app"):
        raise UsageError(
            f"{argv[0]} is an app bundle, not a program.",
            hint="Name the executable inside it, in Contents/MacOS.",
        )
    found = shutil.which(argv[0], path=environment.get("PATH"))
    if found is None:
        raise UsageError(f"There is no program {argv[0]!r} that can be run.")
    return (str(Path(found).absolute()), *argv[1:])
