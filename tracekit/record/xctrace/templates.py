"""Templates of Instruments: which there are, and copies with settings switched on.

A template file is a keyed archive: a property list of objects in a row that point at each other by
number. Nothing is ever constructed from it, and a file that exists is never written.
"""

import plistlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracekit.base import InputError, UsageError, require_apart, unreadable, write_whole
from tracekit.record.xctrace.tool import Xctrace
from tracekit.workload import METAL_SYSTEM_TRACE

GPU_COUNTERS = "Metal GPU Counters"
SUFFIX = ".tracetemplate"
_OF_USER = Path("Library") / "Application Support" / "Instruments" / "Templates"
_OF_INSTRUMENTS = "Contents/Packages/*/Contents/Templates"
_LARGEST = 1 << 26
_KEYS, _VALUES = "NS.keys", "NS.objects"
_DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError),
    *(RuntimeError, TypeError, ValueError),
)
_COUNTER_PROFILE = ("counterprofile", "counterprofileinternal")
_SHADER_TIMELINE = ("shaderprofiler", "shaderprofilerinternal")
_BY_HAND = (
    "Do it in Instruments: open Metal System Trace, Recording Options > GPU > Counter Set and "
    "Shader Timeline, then File > Save As Template, and pass the file with --template."
)


@dataclass(frozen=True)
class Overview:
    """The templates as xctrace lists them, and where GPU counters come from."""

    xctrace: str  # what `xctrace version` prints
    # names of templates under the headings that xctrace prints, in order
    sections: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    # whether the template that tracekit records with is among them
    metal_system_trace: bool = False
    gpu_counters: str = ""  # the instrument that records GPU counters; empty if there is none
    instruments_app: str = ""  # the Instruments of that Xcode; empty if it was not found
    files: tuple[str, ...] = ()  # template files that were found; names of templates need no file

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else to know."""
        no_metal = "This Xcode lists no template Metal System Trace, so it cannot record GPU work."
        if not self.sections:
            no_metal = "xctrace listed no template in a form that is known."
        counters = (
            f"GPU counters are no template: --counters on adds the instrument {GPU_COUNTERS}. "
            "Where a chip rejects its counters, a template file with a counter set may help: "
            "`tracekit templates make`."
            if self.gpu_counters
            else f"This Xcode has no instrument {GPU_COUNTERS}; counters come from a template file "
            "that was saved in Instruments with a counter set, by --template PATH."
        )
        return (counters,) if self.metal_system_trace else (no_metal, counters)


def overview(tool: Xctrace, home: Path) -> Overview:
    """Ask xctrace what there is; raise ToolError where it cannot answer."""
    sections = tool.sections("templates")
    counters = tool.knows("record", "--instrument") and GPU_COUNTERS in tool.names("instruments")
    return Overview(
        xctrace=tool.version.text,
        sections=sections,
        metal_system_trace=any(METAL_SYSTEM_TRACE in names for names in sections.values()),
        gpu_counters=GPU_COUNTERS if counters else "",
        instruments_app=str(instruments_app(tool.path) or ""),
        files=tuple(map(str, template_files(home, tool.path))),
    )


def instruments_app(xctrace: str) -> Path | None:
    """Return the Instruments of the Xcode that an `xctrace` belongs to; None if it is not there.

    The tool lies in Contents/Developer of an Xcode, Instruments in its Contents/Applications.
    """
    for parent in Path(xctrace).parents:
        if parent.name == "Developer":
            app = parent.parent / "Applications" / "Instruments.app"
            return app if app.is_dir() else None
    return None


def template_files(home: Path, xctrace: str = "") -> tuple[Path, ...]:
    """Return the template files that can be found, the user's own first."""
    app = instruments_app(xctrace)
    folders = [home / _OF_USER, *(sorted(app.glob(_OF_INSTRUMENTS)) if app else ())]
    return tuple(path for folder in folders for path in sorted(folder.glob(f"*{SUFFIX}")))


def template_file(name: str, files: Sequence[Path]) -> Path:
    """Return the only template file that is called `name`; raise UsageError unless there is one."""
    matches = [path for path in files if path.stem == name]
    if len(matches) == 1:
        return matches[0]
    listed = f": {', '.join(map(str, matches))}" if matches else ""
    raise UsageError(
        f"{len(matches) or 'No'} template files called {name!r} were found in the user's folder of "
        f"templates and in the Instruments of the selected Xcode{listed}.",
        hint="Name one by its path, with --from. File > Save As Template in Instruments makes one.",
    )


@dataclass(frozen=True)
class KeyChange:
    """A key of an archived dictionary: entry `position` of object `holder`; its values."""

    holder: int
    position: int
    key: str
    old_value: Any
    new_value: int | bool

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        return f"object {self.holder}: {self.key}"


@dataclass(frozen=True)
class Template:
    """A template file that was read."""

    path: Path
    plist: Mapping[str, Any]

    def entries(self) -> Iterator[tuple[int, int, str, Any]]:
        """Yield object, position, key and value of all archived dictionaries' entries.

        Keys that are no strings are left out. Raise InputError where the archive is damaged.
        """
        for holder, archived in enumerate(self.plist["$objects"]):
            if not isinstance(archived, dict) or _KEYS not in archived:
                continue
            keys, values = archived[_KEYS], archived.get(_VALUES)
            if not isinstance(keys, list) or not isinstance(values, list):
                raise self._make_damage_error(
                    f"the dictionary {holder} has no lists of keys and values"
                )
            if len(keys) != len(values):
                raise self._make_damage_error(
                    f"keys and values of the dictionary {holder} do not pair"
                )
            for position, (key, value) in enumerate(zip(keys, values, strict=True)):
                name = self._resolve(key)
                if isinstance(name, str):
                    yield holder, position, name, self._resolve(value)

    def changes(self, new_values: Mapping[str, int | bool]) -> tuple[KeyChange, ...]:
        """Return every place that differs if keys have these values.

        Raise InputError where a key is in no archived dictionary, or its value has another type.
        """
        key_changes = tuple(
            KeyChange(holder, position, key, old_value, new_values[key])
            for holder, position, key, old_value in self.entries()
            if key in new_values
        )
        for change in key_changes:
            if type(change.old_value) is not type(change.new_value):
                kind = "on or off" if isinstance(change.new_value, bool) else "a whole number"
                raise self._unknown(f"{change.place} is {change.old_value!r}, not {kind}")
        for key in new_values.keys() - {change.key for change in key_changes}:
            raise self._unknown(f"no archived dictionary has the key {key}")
        return key_changes

    def apply_changes(self, changes: Sequence[KeyChange]) -> bytes:
        """Return the content of a copy with these changes.

        Each new value is a new object at the end of the row: an archive keeps equal values once,
        so that changing one in its place would change everything else that points at it.
        """
        objects = list(self.plist["$objects"])
        for change in changes:
            pointers = list(objects[change.holder][_VALUES])
            pointers[change.position] = plistlib.UID(len(objects))
            objects[change.holder] = {**objects[change.holder], _VALUES: pointers}
            objects.append(change.new_value)
        plist = {**self.plist, "$objects": objects}
        try:
            return plistlib.dumps(plist, fmt=plistlib.FMT_BINARY, sort_keys=False)
        except _DAMAGE as error:
            raise InputError(f"{self.path} cannot be written again as it was read.") from error

    def counter_profile(self) -> int | None:
        """Return the number of the counter profile that is asked for; None if unknown."""
        profile_values = [value for *_, key, value in self.entries() if key == _COUNTER_PROFILE[0]]
        return (
            profile_values[0]
            if len(set(map(repr, profile_values))) == 1 and type(profile_values[0]) is int
            else None
        )

    def _resolve(self, uid: Any) -> Any:
        objects = self.plist["$objects"]
        if not isinstance(uid, plistlib.UID):
            raise self._make_damage_error(
                f"{type(uid).__name__} stands where a reference must stand"
            )
        if uid.data >= len(objects):
            raise self._make_damage_error(f"it points at object {uid.data} of {len(objects)}")
        return objects[uid.data]

    def _make_damage_error(self, reason: str) -> InputError:
        return InputError(f"{self.path} is a damaged keyed archive: {reason}.")

    def _unknown(self, reason: str) -> InputError:
        return InputError(
            f"{self.path} is not built in the way that is known, and is left alone: {reason}.",
            hint=_BY_HAND,
        )


def read_template(path: Path) -> Template:
    """Read a template file; raise InputError where it cannot be understood."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(content) > _LARGEST:
        raise InputError(f"{path} is larger than any template; it was not read.")
    if not content.startswith(b"bplist00"):
        raise InputError(
            f"{path} is not a binary property list, as templates of Instruments are.",
            hint="If it is one as XML: plutil -convert binary1 -o COPY FILE",
        )
    try:
        plist = plistlib.loads(content)
    except _DAMAGE as error:
        raise InputError(f"{path} is not a whole property list.") from error
    match plist:
        case {"$archiver": "NSKeyedArchiver", "$objects": list()}:
            return Template(path, plist)
        case _:
            raise InputError(f"{path} is not a keyed archive, so it is no template of Instruments.")


def draft(
    source: Path, output: Path, counter_profile: int | None, shader_timeline: bool | None
) -> tuple[tuple[KeyChange, ...], bytes]:
    """Return how a copy of a template differs, and its content; None leaves a setting as it is.

    Raise UsageError where nothing is to be changed, or the output exists or has another suffix,
    InputError where the source is no template, or not built in the way that is known.
    """
    wished = ((_COUNTER_PROFILE, counter_profile), (_SHADER_TIMELINE, shader_timeline))
    new_values = {key: value for keys, value in wished if value is not None for key in keys}
    if not new_values:
        hint = "Give --counter-profile N or --shader-timeline on."
        raise UsageError("Nothing is to be changed.", hint=hint)
    if output.suffix != SUFFIX:
        raise UsageError(f"{output} must end in {SUFFIX}, or xctrace takes it for a name.")
    _require_new(output)
    require_apart([output], [source])
    template = read_template(source)
    changes = template.changes(new_values)
    return changes, template.apply_changes(changes)


def write(output: Path, content: bytes) -> Path:
    """Write a template into a new file; raise UsageError if it exists by now, or RecordingError."""
    _require_new(output)
    write_whole(output, content)
    return output


def _require_new(output: Path) -> None:
    if output.exists() or output.is_symlink():
        raise UsageError(
            f"{output} exists; a template is never written over.", hint="Name a new file."
        )
