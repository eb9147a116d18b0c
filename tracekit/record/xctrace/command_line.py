"""The command line of a recording, in the order that xctrace wants."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tracekit.base.errors import UsageError
from tracekit.record.recorder import Attach, Launch, Request
from tracekit.record.xctrace.environment import target_environment
from tracekit.record.xctrace.selection import Selection
from tracekit.record.xctrace.tool import Xctrace


def record_line(
    tool: Xctrace,
    request: Request,
    target: Launch | Attach,
    selection: Selection,
    *,
    bundle: Path,
    target_output: Path,
    environment: Mapping[str, str] = os.environ,
) -> tuple[str, ...]:
    """Return the command line that records `target`, as `request` wants it, into `bundle`.

    A launched program's standard output goes to `target_output`; xctrace forwards neither it
    nor standard error, for which it has no option.
    """
    words = [tool.path, "record", "--template", selection.template]
    for instrument in selection.instruments:
        words += ["--instrument", instrument]
    words += ["--time-limit", time_limit(request.time_limit), "--output", str(bundle.absolute())]
    if tool.knows("record", "--no-prompt"):
        words.append("--no-prompt")
    return (*words, *_target(target, target_output, environment))


def time_limit(seconds: float) -> str:
    """Write a time limit as xctrace reads it: whole seconds, else whole milliseconds.

    Raises:
        UsageError: It is shorter than a millisecond.
    """
    milliseconds = round(seconds * 1000)
    if milliseconds < 1:
        raise UsageError(f"A time limit of {seconds:g} s is too short to record anything.")
    if milliseconds % 1000 == 0:
        return f"{milliseconds // 1000}s"
    return f"{milliseconds}ms"


def _target(
    target: Launch | Attach, output: Path, environment: Mapping[str, str]
) -> tuple[str, ...]:
    if not isinstance(target, Launch):
        return ("--attach", str(target.pid))
    words = ["--target-stdout", str(output.absolute())]
    for name, value in target_environment(target.env, environment).items():
        words += ["--env", f"{name}={value}"]
    return (*words, "--launch", "--", *absolute(target.argv, environment))


def absolute(argv: tuple[str, ...], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return `argv` with the absolute path of its program.

    Raises:
        UsageError: There is no such program, or it is an app bundle, which xctrace would look
            up by its identifier and might start another copy of.
    """
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
