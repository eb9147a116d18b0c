"""Which template a recording uses, whether with GPU counters, and whether this Xcode has them."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import InputError, ToolError, UsageError
from tracekit.record.recorder import Request
from tracekit.record.xctrace.templates.settings import SUFFIX, counter_profile, read_template
from tracekit.record.xctrace.tool import Xctrace

METAL_SYSTEM_TRACE = "Metal System Trace"
GPU_COUNTERS = "Metal GPU Counters"

_COUNTER_REQUESTS = {"gpu counters", "metal gpu counters"}
_COUNTER_MODES = ("auto", "on", "off")
_AUTO_LEAVES_OUT = (
    "GPU counters were not asked for: many chips reject them without an error, so "
    "`--counters auto` leaves them out. `--counters on` records them and checks for rows."
)


@dataclass(frozen=True)
class Selection:
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


def select(request: Request, tool: Xctrace) -> Selection:
    """Choose what to record with; a wish for counters becomes the instrument that has them.

    Xctrace takes one template a recording, the last one given. There is no template of GPU
    counters in any Xcode; "Metal GPU Counters" is an instrument, added to a template. It is not
    added to a template file with a counter set of its own: its default set is the one that
    chips reject.

    Raises:
        UsageError: Several templates, or one that this Xcode does not have.
        ToolError: This xctrace does not know instruments.
    """
    if request.counters not in _COUNTER_MODES:
        raise UsageError(f"Counters are auto, on or off, not {request.counters!r}.")
    wishes = [name for name in request.templates if name.casefold() in _COUNTER_REQUESTS]
    template = _only_template([name for name in request.templates if name not in wishes])
    own = _own_counters(template)
    if request.counters == "off":
        if wishes or own:
            raise UsageError("GPU counters are both asked for and switched off.")
        own = False
    adds = bool(wishes or request.counters == "on") and not own
    if adds:
        _check_counters(tool)
    left_out = request.counters == "auto" and own is False and not adds
    warnings = (_AUTO_LEAVES_OUT,) if left_out else ()
    return Selection(_checked_template(template, tool), adds, warnings, own)


def _only_template(templates: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(templates))
    if len(distinct) > 1:
        raise UsageError(
            f"xctrace records with one template, and {len(distinct)} were given: "
            f"{', '.join(distinct)}.",
            hint="Choose one. Instruments saves any set of instruments as a template file, "
            "which --template takes by its path.",
        )
    return distinct[0] if distinct else METAL_SYSTEM_TRACE


def _own_counters(template: str) -> bool | None:
    """Say whether a template switches counters on; None where that is not known beforehand."""
    if template == METAL_SYSTEM_TRACE:
        return False
    if not _is_file(template):
        return None
    try:
        profile = counter_profile(read_template(_path(template)))
    except InputError:
        return None
    return None if profile is None else profile > 0


def _is_file(template: str) -> bool:
    return "/" in template or template.endswith(SUFFIX)


def _path(template: str) -> Path:
    return Path(template).expanduser().resolve()


def _checked_template(template: str, tool: Xctrace) -> str:
    if _is_file(template):
        path = _path(template)
        if not path.exists():
            raise UsageError(f"There is no template file {path}.")
        return str(path)
    names = tool.names("templates")
    if names and template not in names:
        raise UsageError(
            f"This Xcode has no template {template!r}.",
            hint=f"It has: {_closest(template, names)}. A template file is given by its path.",
        )
    return template


def _check_counters(tool: Xctrace) -> None:
    if not tool.knows("record", "--instrument"):
        raise ToolError(
            f"{tool.version.text} cannot add instruments to a template.",
            hint="Xcode 14 and later can.",
        )
    names = tool.names("instruments")
    if names and GPU_COUNTERS not in names:
        raise UsageError(
            f"This Xcode has no instrument {GPU_COUNTERS!r}.",
            hint=f"It has: {_closest(GPU_COUNTERS, names)}.",
        )


def _closest(name: str, names: Sequence[str]) -> str:
    """Say which names there are: those that are near, else all."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return ", ".join(near or names)
