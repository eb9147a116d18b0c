"""Templates of Instruments: a list of them, and copies with settings switched on.

A template file is a keyed archive: a property list of objects in a row that point at each other by
number. No object is ever constructed from it, and an existing file is never written.
"""

import plistlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from tracekit.base import InputError, UsageError, choices, outputs
from tracekit.base import files as base_files
from tracekit.record.xctrace.tool import Xctrace

GPU_COUNTERS = "Metal GPU Counters"
SUFFIX = ".tracetemplate"
_OF_USER = Path("Library") / "Application Support" / "Instruments" / "Templates"
_OF_INSTRUMENTS = "Contents/Packages/*/Contents/Templates"
_LARGEST = 1 << 26
_DEEPEST = 100
_REFERENCE = "CF$UID"
_BINARY = b"bplist00"
_KEYS = "NS.keys"
_VALUES = "NS.objects"
_DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError),
    *(RuntimeError, TypeError, ValueError, ExpatError),
)
_COUNTER_PROFILE = ("counterprofile", "counterprofileinternal")
_SHADER_TIMELINE = ("shaderprofiler", "shaderprofilerinternal")
# The same of the instrument Metal GPU Counters; not every template has them.
_OF_COUNTERS = {
    "counterprofile": "counterscounterprofile",
    "shaderprofiler": "countersshaderprofiler",
}
_NULL = "NSNull"
_BY_HAND = (
    "Do it in Instruments: open Metal System Trace, Recording Options > GPU > Counter Set and "
    "Shader Timeline, then File > Save As Template, and pass the file with --template."
)


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
        """The place of the key, in words."""
        return f"object {self.holder}: {self.key}"


@dataclass(frozen=True)
class Template:
    """A template file that was read."""

    path: Path
    plist: Mapping[str, Any]

    def entries(self) -> Iterator[tuple[int, int, str, Any]]:
        """Yield object, position, key and value of all archived dictionaries' entries.

        Keys that are not strings are left out. Raise InputError if the archive is damaged.
        """
        for holder, archived in enumerate(self.plist["$objects"]):
            if not isinstance(archived, dict) or _KEYS not in archived:
                continue
            keys = archived[_KEYS]
            values = archived.get(_VALUES)
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

    def changes(
        self,
        new_values: Mapping[str, int | bool],
        more_values: Mapping[str, int | bool] | None = None,
    ) -> tuple[KeyChange, ...]:
        """Return every place of these keys with its old and its new value, which may be equal.

        Keys of `more_values` are changed where they are, and may be missing. A value that was never
        set is NSNull. Raise InputError if another key is in no archived dictionary, or its value
        has another type.
        """
        all_values = {**(more_values or {}), **new_values}
        key_changes: list[KeyChange] = []
        for holder, position, key, old_value in self.entries():
            if key in all_values:
                if self._is_null(old_value):
                    old_value = None  # noqa: PLW2901  it was never set
                change = KeyChange(holder, position, key, old_value, all_values[key])
                key_changes.append(change)
        for change in key_changes:
            if change.old_value is None:
                continue
            if type(change.old_value) is not type(change.new_value):
                kind = "a whole number"
                if isinstance(change.new_value, bool):
                    kind = "on or off"
                raise self._unknown(f"{change.place} is {change.old_value!r}, not {kind}")
        missing_keys = new_values.keys() - {change.key for change in key_changes}
        for key in missing_keys:
            raise self._unknown(f"no archived dictionary has the key {key}")
        return tuple(key_changes)

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
        """Return the number of the requested counter profile; None if it is unknown."""
        profiles = [value for *_, key, value in self.entries() if key == _COUNTER_PROFILE[0]]
        distinct_profiles = set(map(repr, profiles))
        if len(distinct_profiles) != 1 or type(profiles[0]) is not int:
            return None
        return profiles[0]

    def _is_null(self, value: Any) -> bool:
        """Return whether an archived value is NSNull."""
        if not isinstance(value, dict) or set(value) != {"$class"}:
            return False
        archived_class = self._resolve(value["$class"])
        return isinstance(archived_class, dict) and archived_class.get("$classname") == _NULL

    def _resolve(self, uid: Any) -> Any:
        objects = self.plist["$objects"]
        if not isinstance(uid, plistlib.UID):
            raise self._make_damage_error(f"{type(uid).__name__} is in the place of a reference")
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
    """Read a template file; raise InputError if it cannot be understood."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise base_files.unreadable(path, error) from error
    if len(content) > _LARGEST:
        raise InputError(f"{path} is larger than any template; it was not read.")
    if not content.startswith((_BINARY, b"<?xml")):
        raise InputError(f"{path} is not a property list, as templates of Instruments are.")
    try:
        plist = plistlib.loads(content)
        if not content.startswith(_BINARY):  # where objects are shared, and to walk them is endless
            plist = _read_references(plist)
    except _DAMAGE as error:
        raise InputError(f"{path} is not a whole property list.") from error
    match plist:
        case {"$archiver": "NSKeyedArchiver", "$objects": list()}:
            return Template(path, plist)
        case _:
            raise InputError(
                f"{path} is not a keyed archive, so it is not a template of Instruments."
            )


def _read_references(value: Any, depth: int = 0) -> Any:
    """Return a property list whose references, which XML writes as dictionaries, are UIDs."""
    if depth > _DEEPEST:
        raise ValueError("a property list is nested too deep")
    if isinstance(value, list):
        return [_read_references(member, depth + 1) for member in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {_REFERENCE} and isinstance(value[_REFERENCE], int):
        return plistlib.UID(value[_REFERENCE])
    return {key: _read_references(member, depth + 1) for key, member in value.items()}


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
        new_values |= dict.fromkeys(_COUNTER_PROFILE, counter_profile)
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
