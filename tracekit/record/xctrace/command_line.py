"""The command line of a recording, whom it records, and with which template and GPU counters."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import (
    InputError,
    Recording,
    ToolError,
    UsageError,
    needs_shell,
    require,
    require_program,
    suggest_name,
)
from tracekit.record.recorder import Attach, ProgramLaunch, RecordingRequest, running
from tracekit.record.xctrace.command import target_environment
from tracekit.record.xctrace.progress import RecordingTranscript
from tracekit.record.xctrace.templates import GPU_COUNTERS, SUFFIX, read_template
from tracekit.record.xctrace.tool import Xctrace
from tracekit.workload import METAL_SYSTEM_TRACE

_COUNTER_REQUESTS = {"gpu counters", "metal gpu counters"}
_AUTO_LEAVES_OUT = (
    "GPU counters were not asked for: many chips reject them without an error, so "
    "`--counters auto` leaves them out. `--counters on` records them and checks for rows."
)


@dataclass(frozen=True)
class TemplateSelection:
    """One template, by name or by absolute path, and whether the counters' instrument is added.

    `own_counters` tells whether the template itself switches a counter set on; None where that
    is not known before something was recorded.
    """

    template: str
    adds_counters: bool = False
    warnings: tuple[str, ...] = ()
    own_counters: bool | None = False

    @property
    def counters(self) -> bool:
        """Tell whether GPU counters are to be recorded."""
        return self.adds_counters or self.own_counters is True


def select(request: RecordingRequest, tool: Xctrace) -> TemplateSelection:
    """Choose what to record with; a wish for counters becomes the instrument that has them.

    Xctrace takes one template a recording, the last one given. There is no template of GPU
    counters in any Xcode; "Metal GPU Counters" is an instrument, added to a template. It is not
    added to a template file with a counter set of its own: its default set is the one that
    chips reject. Raise UsageError for several templates, or one that this Xcode does not have,
    ToolError for an xctrace that does not know instruments.
    """
    wishes = [name for name in request.templates if name.casefold() in _COUNTER_REQUESTS]
    templates = list(dict.fromkeys(name for name in request.templates if name not in wishes))
    if len(templates) > 1:
        raise UsageError(
            f"xctrace records with one template, and {len(templates)} were given: "
            f"{', '.join(templates)}.",
            hint="Choose one. Instruments saves any set of instruments as a template file, "
            "which --template takes by its path.",
        )
    template = templates[0] if templates else METAL_SYSTEM_TRACE
    own_counters = False if template == METAL_SYSTEM_TRACE else None
    if "/" in template or template.endswith(SUFFIX):
        path = Path(template).expanduser().resolve()
        if not path.exists():
            raise UsageError(f"There is no template file {path}.")
        template, own_counters = str(path), _own_counters(path)
    elif (names := tool.names("templates")) and template not in names:
        hint = f"{suggest_name(template, names)} A template file is given by its path."
        raise UsageError(f"There is no template in this Xcode {template!r}.", hint)
    if request.counters == "off":
        if wishes or own_counters:
            raise UsageError("GPU counters are both asked for and switched off.")
        own_counters = False
    adds = bool(wishes or request.counters == "on") and not own_counters
    if adds:
        if not tool.knows("record", "--instrument"):
            raise ToolError(
                f"{tool.version.text} cannot add instruments to a template.",
                hint="Xcode 14 and later can.",
            )
        if names := tool.names("instruments"):
            require(GPU_COUNTERS, names, "instrument in this Xcode")
    leaves_out_counters = request.counters == "auto" and own_counters is False and not adds
    return TemplateSelection(
        template, adds, (_AUTO_LEAVES_OUT,) if leaves_out_counters else (), own_counters
    )


def _own_counters(path: Path) -> bool | None:
    """Say whether a template switches counters on; None where that is not known beforehand."""
    with suppress(InputError):
        profile = read_template(path).counter_profile()
        return None if profile is None else profile > 0
    return None


@dataclass(frozen=True)
class RecordedSubject:
    """Whom one recording is of."""

    target: ProgramLaunch | Attach  # what xctrace launches or attaches to
    # called with the account of the recording whenever its state changes
    changed: Callable[[RecordingTranscript], None] = lambda _: None
    # says whether nothing of it is left to record, though xctrace may go on
    finished: Callable[[], bool] = lambda: False


def subject_of(target: ProgramLaunch | Attach) -> RecordedSubject:
    """Return the subject of a plain target.

    xctrace notices the end of a program that it launched; whether it does so with one that it
    attached to is not established, so that one is watched.
    """
    if isinstance(target, ProgramLaunch):
        return RecordedSubject(target)
    runs = running(target.pid)
    return RecordedSubject(target, finished=lambda: not runs())


def record_line(
    tool: Xctrace,
    request: RecordingRequest,
    target: ProgramLaunch | Attach,
    selection: TemplateSelection,
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
    """Return `argv` with the absolute path of its program, after its shell if it needs one."""
    if not argv:
        raise UsageError("There is no command to record.")
    program = Path(require_program(argv[0], environment.get("PATH"))).absolute()
    shell = ("/bin/sh",) if needs_shell(program) else ()
    return (*shell, str(program), *argv[1:])
