"""The command line of a recording: its target, its template and its GPU counters."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import (
    InputError,
    Recording,
    ToolError,
    UsageError,
    choices,
    programs,
    require,
    suggest_name,
)
from tracekit.record.recorder import Attach, ProgramLaunch, RecordingRequest, running
from tracekit.record.xctrace.command import target_environment
from tracekit.record.xctrace.notice import FLAG as NOTICE_FLAG
from tracekit.record.xctrace.notice import name_notice
from tracekit.record.xctrace.progress import RecordingTranscript
from tracekit.record.xctrace.template_archive import read_template
from tracekit.record.xctrace.templates import GPU_COUNTERS, SUFFIX
from tracekit.record.xctrace.tool import Xctrace

_COUNTER_REQUESTS = {"gpu counters", "metal gpu counters"}
_AUTO_LEAVES_OUT = (
    "GPU counters were not asked for: many chips reject them without an error, so "
    "`--counters auto` leaves them out. `--counters on` records them and checks for rows."
)

_UNLISTED = "lists no instruments in a known form, so it was not checked whether it has"


@dataclass(frozen=True)
class TemplateSelection:
    """One template, by name or by absolute path, and the instruments that are added to it.

    Without a template, the instruments alone are recorded. `adds_counters` is whether one of them
    is that of GPU counters. `own_counters` is whether the template itself switches a counter set
    on; None if that is not known before the recording.
    """

    template: str
    adds_counters: bool = False
    warnings: tuple[str, ...] = ()
    own_counters: bool | None = False
    instruments: tuple[str, ...] = ()
    counter_profile: int | None = None  # in a template that was made for this recording

    @property
    def counters(self) -> bool:
        """Whether GPU counters are to be recorded."""
        return self.adds_counters or self.own_counters is True


def select(request: RecordingRequest, tool: Xctrace) -> TemplateSelection:
    """Choose the template; a wish for counters becomes the instrument that has them.

    Xctrace takes one template a recording, the last one given. There is no template of GPU
    counters in any Xcode; "Metal GPU Counters" is an instrument, added to a template. It is not
    added to a template file with a counter set of its own: its default set is the one that
    chips reject. Raise UsageError for several templates, or one that this Xcode does not have,
    ToolError for an xctrace that does not know instruments.
    """
    template, wants_counters = _read_wishes(request)
    own_counters: bool | None = False
    if template:
        template, own_counters = _find_template(template, tool)
    instruments = _find_instruments(request)
    wants_counters = wants_counters or GPU_COUNTERS in request.choices.instruments
    if request.choices.counters == "off":
        if wants_counters or own_counters:
            raise UsageError("GPU counters are both asked for and switched off.")
        own_counters = False
    adds_counters = (wants_counters or request.choices.counters == "on") and not own_counters
    if adds_counters:
        instruments = (*instruments, GPU_COUNTERS)
    warnings = _check_instruments(instruments, tool)
    if request.choices.counters == "auto" and own_counters is False and not adds_counters:
        warnings = (*warnings, _AUTO_LEAVES_OUT)
    return TemplateSelection(template, adds_counters, warnings, own_counters, instruments)


def _read_wishes(request: RecordingRequest) -> tuple[str, bool]:
    """Return the one template of a request, and whether it names GPU counters as another."""
    templates: list[str] = []
    wants_counters = False
    for name in request.choices.templates:
        if name.casefold() in _COUNTER_REQUESTS:
            wants_counters = True
        elif name not in templates:
            templates.append(name)
    if len(templates) > 1:
        raise UsageError(
            f"xctrace records with one template, and {len(templates)} were given: "
            f"{', '.join(templates)}.",
            hint="Choose one. Instruments saves any set of instruments as a template file, "
            "which --template takes by its path.",
        )
    if not templates:
        template = "" if request.choices.instruments else choices.METAL_SYSTEM_TRACE
        return template, wants_counters
    return templates[0], wants_counters


def _find_instruments(request: RecordingRequest) -> tuple[str, ...]:
    """Return the requested instruments, without that of counters."""
    return tuple(name for name in request.choices.instruments if name != GPU_COUNTERS)


def _check_instruments(instruments: tuple[str, ...], tool: Xctrace) -> tuple[str, ...]:
    """Return a warning if this Xcode does not list its instruments in a known form.

    Raise ToolError if xctrace takes no instruments, UsageError if it lists others.
    """
    if not instruments:
        return ()
    _require_flag(tool)
    names = tool.names("instruments")
    if not names:
        return (f"{tool.version.text} {_UNLISTED} {', '.join(instruments)}.",)
    for name in instruments:
        require(name, names, "instrument in this Xcode")
    return ()


def _find_template(template: str, tool: Xctrace) -> tuple[str, bool | None]:
    """Return a template by its name or absolute path, and whether it has counters of its own."""
    if "/" in template or template.endswith(SUFFIX):
        path = Path(template).expanduser().resolve()
        if not path.exists():
            raise UsageError(f"There is no template file {path}.")
        return str(path), _own_counters(path)
    names = tool.names("templates")
    if names and template not in names:
        hint = f"{suggest_name(template, names)} A template file is given by its path."
        raise UsageError(f"There is no template in this Xcode {template!r}.", hint)
    if template == choices.METAL_SYSTEM_TRACE:
        return template, False
    return template, None


def _require_flag(tool: Xctrace) -> None:
    """Raise ToolError if xctrace takes no instruments."""
    if not tool.knows("record", "--instrument"):
        raise ToolError(
            f"{tool.version.text} cannot add instruments to a template.",
            hint="Xcode 14 and later can.",
        )


def _own_counters(path: Path) -> bool | None:
    """Return whether a template switches counters on; None if that is not known beforehand."""
    try:
        profile = read_template(path).counter_profile()
    except InputError:
        return None
    if profile is None:
        return None
    return profile > 0


@dataclass(frozen=True)
class RecordedSubject:
    """The subject of one recording."""

    target: ProgramLaunch | Attach  # the program that xctrace launches or attaches to
    # called with the account of the recording whenever its state changes
    changed: Callable[[RecordingTranscript], None] = lambda _: None
    # returns whether nothing of it is left to record, though xctrace may go on
    finished: Callable[[], bool] = lambda: False


def subject_of(target: ProgramLaunch | Attach) -> RecordedSubject:
    """Return the subject of a plain target.

    xctrace notices the end of a program that it launched; whether it does so with one that it
    attached to is not established, so that one is watched.
    """
    if isinstance(target, ProgramLaunch):
        return RecordedSubject(target)
    is_running = running(target.pid)
    return RecordedSubject(target, finished=lambda: not is_running())


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

    A launched program's standard output goes to a file next to it; xctrace forwards neither it
    nor standard error, for which it has no option.
    """
    limit = time_limit(request.time_limit)
    bundle = str(recording.bundle.absolute())
    words = [tool.path, "record"]
    if selection.template:
        words += ["--template", selection.template]
    for name in selection.instruments:
        words += ["--instrument", name]
    words += ["--time-limit", limit, "--output", bundle]
    if tool.knows("record", "--no-prompt"):
        words.append("--no-prompt")
    if tool.knows("record", NOTICE_FLAG):
        words += [NOTICE_FLAG, name_notice(os.getpid())]
    if isinstance(target, Attach):
        return (*words, "--attach", str(target.pid))
    words += ["--target-stdout", str(recording.target_output_file.absolute())]
    for name, value in target_environment(target.env, environment, tool.version.build).items():
        words += ["--env", f"{name}={value}"]
    return (*words, "--launch", "--", *absolute(target.argv, environment))


def time_limit(seconds: float) -> str:
    """Return a time limit as xctrace reads it: whole seconds, else whole milliseconds."""
    milliseconds = round(seconds * 1000)
    if milliseconds < 1:
        raise UsageError(f"A time limit of {seconds:g} s is too short to record anything.")
    if milliseconds % 1000:
        return f"{milliseconds}ms"
    return f"{milliseconds // 1000}s"


def absolute(argv: tuple[str, ...], environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return `argv` with the absolute path of its program, after its shell if it needs one."""
    if not argv:
        raise UsageError("There is no command to record.")
    program = Path(programs.require_program(argv[0], environment.get("PATH"))).absolute()
    words = (str(program), *argv[1:])
    if programs.needs_shell(program):
        return ("/bin/sh", *words)
    return words
