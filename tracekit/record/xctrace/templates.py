"""Templates of Instruments: a list of them, and copies with settings switched on.

An existing file is never written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.base import UsageError, choices, outputs
from tracekit.base import files as base_files
from tracekit.record.xctrace.template_archive import COUNTER_PROFILE, KeyChange, read_template
from tracekit.record.xctrace.tool import Xctrace

GPU_COUNTERS = "Metal GPU Counters"
SUFFIX = ".tracetemplate"
_OF_USER = Path("Library") / "Application Support" / "Instruments" / "Templates"
_OF_INSTRUMENTS = "Contents/Packages/*/Contents/Templates"
_SHADER_TIMELINE = ("shaderprofiler", "shaderprofilerinternal")
# The same of the instrument Metal GPU Counters; not every template has them.
_OF_COUNTERS = {
    "counterprofile": "counterscounterprofile",
    "shaderprofiler": "countersshaderprofiler",
}


@dataclass(frozen=True)
class Overview:
    """The templates as xctrace lists them, and the source of GPU counters."""

    xctrace: str  # the output of `xctrace version`
    # names of templates under the headings that xctrace prints, in order
    sections: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    # whether the template that tracekit records with is among them
    metal_system_trace: bool = False
    gpu_counters: str = ""  # the instrument that records GPU counters; empty if there is none
    instruments_app: str = ""  # the Instruments of that Xcode; empty if it was not found
    files: tuple[str, ...] = ()  # template files that were found; names of templates need no file

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on a missing template, and on the source of GPU counters."""
        if self.gpu_counters:
            counters = (
                f"GPU counters are not a template: --counters on adds the instrument "
                f"{GPU_COUNTERS}. "
                "If a chip rejects its counters, a template file with a counter set may help: "
                "`tracekit list templates make`."
            )
        else:
            counters = (
                f"This Xcode has no instrument {GPU_COUNTERS}; counters come from a template file "
                "that was saved in Instruments with a counter set, by --template PATH."
            )
        if self.metal_system_trace:
            return (counters,)
        if not self.sections:
            return ("xctrace listed no template in a form that is known.", counters)
        no_metal = "This Xcode lists no template Metal System Trace, so it cannot record GPU work."
        return (no_metal, counters)


def overview(tool: Xctrace, home: Path) -> Overview:
    """Return the templates of a machine; raise ToolError if xctrace cannot answer."""
    sections = tool.sections("templates")
    gpu_counters = ""
    if tool.knows("record", "--instrument") and GPU_COUNTERS in tool.names("instruments"):
        gpu_counters = GPU_COUNTERS
    return Overview(
        xctrace=tool.version.text,
        sections=sections,
        metal_system_trace=any(choices.METAL_SYSTEM_TRACE in names for names in sections.values()),
        gpu_counters=gpu_counters,
        instruments_app=str(instruments_app(tool.path) or ""),
        files=tuple(map(str, template_files(home, tool.path))),
    )


def instruments_app(xctrace: str) -> Path | None:
    """Return the Instruments of the Xcode that an `xctrace` belongs to; None if it has none.

    The tool is in Contents/Developer of an Xcode, Instruments in its Contents/Applications.
    """
    for parent in Path(xctrace).parents:
        if parent.name == "Developer":
            app = parent.parent / "Applications" / "Instruments.app"
            if app.is_dir():
                return app
            return None
    return None


def template_files(home: Path, xctrace: str = "") -> tuple[Path, ...]:
    """Return the template files that can be found, the user's own first."""
    folders = [home / _OF_USER]
    app = instruments_app(xctrace)
    if app is not None:
        folders += sorted(app.glob(_OF_INSTRUMENTS))
    files: list[Path] = []
    for folder in folders:
        files += sorted(folder.glob(f"*{SUFFIX}"))
    return tuple(files)


def template_file(name: str, files: Sequence[Path]) -> Path:
    """Return the only template file of a name; raise UsageError if there are none or several."""
    matches = [path for path in files if path.stem == name]
    if len(matches) == 1:
        return matches[0]
    listed_files = ""
    if matches:
        listed_files = f": {', '.join(map(str, matches))}"
    raise UsageError(
        f"{len(matches) or 'No'} template files called {name!r} were found in the user's folder of "
        f"templates and in the Instruments of the selected Xcode{listed_files}.",
        hint="Name one by its path, with --from. File > Save As Template in Instruments makes one.",
    )


def draft(
    source: Path, output: Path, counter_profile: int | None, shader_timeline: bool | None
) -> tuple[tuple[KeyChange, ...], bytes]:
    """Return the changes in a copy of a template, and its content; None keeps a setting.

    Raise UsageError if nothing is to be changed, or the output exists, has another suffix or lies
    in a run; InputError if the source is not a template, or has an unknown structure.
    """
    if output.suffix != SUFFIX:
        raise UsageError(f"{output} must end in {SUFFIX}, or xctrace takes it for a name.")
    _require_new(output)
    outputs.require_apart([output], [source])
    return amend(source, counter_profile, shader_timeline)


def amend(
    source: Path, counter_profile: int | None, shader_timeline: bool | None
) -> tuple[tuple[KeyChange, ...], bytes]:
    """Return the changes in a copy of a template, and its content, wherever that will lie.

    Raise UsageError if nothing is to be changed, InputError if the source is not a template, or
    has an unknown structure.
    """
    new_values: dict[str, int | bool] = {}
    if counter_profile is not None:
        new_values |= dict.fromkeys(COUNTER_PROFILE, counter_profile)
    if shader_timeline is not None:
        new_values |= dict.fromkeys(_SHADER_TIMELINE, shader_timeline)
    if not new_values:
        hint = "Give --counter-profile N or --shader-timeline on."
        raise UsageError("Nothing is to be changed.", hint=hint)
    template = read_template(source)
    more_values = {_OF_COUNTERS[key]: new_values[key] for key in _OF_COUNTERS if key in new_values}
    changes = template.changes(new_values, more_values)
    return changes, template.apply_changes(changes)


def write(output: Path, content: bytes) -> Path:
    """Write a template into a new file; raise UsageError if it exists by now, or RecordingError."""
    _require_new(output)
    base_files.write_whole(output, content)
    return output


def _require_new(output: Path) -> None:
    if output.exists() or output.is_symlink():
        raise UsageError(
            f"{output} exists; a template is never written over.", hint="Name a new file."
        )
