"""Template files, the settings in them that are known, and copies with settings switched on.

A template is a keyed archive: a property list of objects in a row that point at each other by
number. Nothing is ever constructed from it, and a file that exists is never written.
"""

import plistlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracekit.base import InputError, UsageError, require_apart, write_whole

LARGEST = 1 << 26
_BINARY = b"bplist00"
_KEYS, _VALUES = "NS.keys", "NS.objects"
_DAMAGE = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError),
    *(RuntimeError, TypeError, ValueError),
)


@dataclass(frozen=True)
class Archive:
    """What a file holds; `name` is what messages call it."""

    name: str
    plist: Mapping[str, Any]

    @property
    def objects(self) -> list[Any]:
        """The objects, each known by its place in the row."""
        return self.plist["$objects"]


@dataclass(frozen=True)
class Entry:
    """One key of an archived dictionary: object number `holder`, its entry `position`."""

    holder: int
    position: int
    key: str
    value: Any


def read_archive(name: str, content: bytes) -> Archive:
    """Read an archive from the content of its file."""
    if len(content) > LARGEST:
        raise InputError(f"{name} is larger than any template; it was not read.")
    if not content.startswith(_BINARY):
        raise InputError(
            f"{name} is not a binary property list, as templates of Instruments are.",
            hint="If it is one as XML: plutil -convert binary1 -o COPY FILE",
        )
    try:
        plist = plistlib.loads(content)
    except _DAMAGE as error:
        raise InputError(f"{name} is not a whole property list.") from error
    match plist:
        case {"$archiver": "NSKeyedArchiver", "$objects": list()}:
            return Archive(name, plist)
        case _:
            raise InputError(f"{name} is not a keyed archive, so it is no template of Instruments.")


def resolve(archive: Archive, uid: Any) -> Any:
    """Return the object that a reference points at; raise InputError where it is none."""
    if not isinstance(uid, plistlib.UID):
        raise _strange(archive, f"{type(uid).__name__} stands where a reference must stand")
    if uid.data >= len(archive.objects):
        raise _strange(archive, f"it points at object {uid.data} of {len(archive.objects)}")
    return archive.objects[uid.data]


def entries(archive: Archive) -> Iterator[Entry]:
    """Give the entries of all archived dictionaries, wherever they stand, whose keys are strings.

    Raises:
        InputError: The two rows of one do not fit each other.
    """
    for holder, one in enumerate(archive.objects):
        if not isinstance(one, dict) or _KEYS not in one:
            continue
        keys, values = one[_KEYS], one.get(_VALUES)
        if not (isinstance(keys, list) and isinstance(values, list) and len(keys) == len(values)):
            raise _strange(archive, f"keys and values of the dictionary {holder} do not pair")
        for position, (key, value) in enumerate(zip(keys, values, strict=True)):
            name = resolve(archive, key)
            if isinstance(name, str):
                yield Entry(holder, position, name, resolve(archive, value))


def with_values(archive: Archive, values: Mapping[tuple[int, int], Any]) -> Archive:
    """Return a copy in which the entries at (holder, position) have new values.

    Each new value is a new object at the end of the row: an archive keeps equal values once,
    so that changing one in its place would change everything else that points at it.
    """
    objects = list(archive.objects)
    for (holder, position), value in values.items():
        pointers = list(objects[holder][_VALUES])
        pointers[position] = plistlib.UID(len(objects))
        objects[holder] = {**objects[holder], _VALUES: pointers}
        objects.append(value)
    return Archive(archive.name, {**archive.plist, "$objects": objects})


def archive_bytes(archive: Archive) -> bytes:
    """Return the content of an archive's file."""
    try:
        return plistlib.dumps(dict(archive.plist), fmt=plistlib.FMT_BINARY, sort_keys=False)
    except _DAMAGE as error:
        raise InputError(f"{archive.name} cannot be written again as it was read.") from error


def _strange(archive: Archive, why: str) -> InputError:
    return InputError(f"{archive.name} is a damaged keyed archive: {why}.")


SUFFIX = ".tracetemplate"
_OF_USER = Path("Library") / "Application Support" / "Instruments" / "Templates"
_OF_INSTRUMENTS = "Contents/Packages/*/Contents/Templates"


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
    folders = [home / _OF_USER]
    app = instruments_app(xctrace)
    if app is not None:
        folders += sorted(app.glob(_OF_INSTRUMENTS))
    return tuple(path for folder in folders for path in sorted(folder.glob(f"*{SUFFIX}")))


def template_file(name: str, files: Sequence[Path]) -> Path:
    """Return the template file that is called `name`, among those that were found.

    Raises:
        UsageError: None is, or several are.
    """
    found = [path for path in files if path.stem == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"Several template files are called {name!r}: {', '.join(map(str, found))}.",
            hint="Name one of them by its path, with --from.",
        )
    raise UsageError(
        f"No template file called {name!r} was found in the user's folder of templates or in "
        "the Instruments of the selected Xcode.",
        hint="Save it in Instruments with File > Save As Template, and give the path with --from.",
    )


COUNTER_PROFILE = ("counterprofile", "counterprofileinternal")
SHADER_TIMELINE = ("shaderprofiler", "shaderprofilerinternal")
BY_HAND = (
    "Do it in Instruments: open Metal System Trace, Recording Options > GPU > Counter Set and "
    "Shader Timeline, then File > Save As Template, and pass the file with --template."
)

Value = int | bool


@dataclass(frozen=True)
class Wish:
    """What a template is to have; None leaves a setting as it is."""

    counter_profile: int | None = None
    shader_timeline: bool | None = None

    @property
    def values(self) -> dict[str, Value]:
        """The wanted value of each key of the archive."""
        wanted: dict[str, Value] = {}
        if self.counter_profile is not None:
            wanted |= dict.fromkeys(COUNTER_PROFILE, self.counter_profile)
        if self.shader_timeline is not None:
            wanted |= dict.fromkeys(SHADER_TIMELINE, self.shader_timeline)
        return wanted


@dataclass(frozen=True)
class Change:
    """One place where a key stands, entry `position` of object `holder`; its values."""

    holder: int
    position: int
    key: str
    before: Value
    after: Value

    @property
    def place(self) -> str:
        """Where it stands, in words."""
        return f"object {self.holder}: {self.key}"


def changes(archive: Archive, wish: Wish) -> tuple[Change, ...]:
    """Find every place that the wish touches; nothing is changed yet.

    Raises:
        InputError: A key is in no archived dictionary, or its value has another type: then this is
            not the structure that is known.
    """
    wanted = wish.values
    found: list[Change] = []
    for entry in entries(archive):
        if entry.key in wanted:
            after = wanted[entry.key]
            change = Change(entry.holder, entry.position, entry.key, entry.value, after)
            if type(entry.value) is not type(after):
                kind = "on or off" if isinstance(after, bool) else "a whole number"
                raise _unknown(archive, f"{change.place} is {entry.value!r}, not {kind}")
            found.append(change)
    for key in wanted:
        if all(change.key != key for change in found):
            raise _unknown(archive, f"no archived dictionary has the key {key}")
    return tuple(found)


def counter_profile(archive: Archive) -> int | None:
    """Return the number of the counter profile that a template asks for; None if unknown."""
    found = [entry.value for entry in entries(archive) if entry.key == COUNTER_PROFILE[0]]
    return found[0] if len(set(map(repr, found))) == 1 and type(found[0]) is int else None


def _unknown(archive: Archive, why: str) -> InputError:
    return InputError(
        f"{archive.name} is not built in the way that is known, and is left alone: {why}.",
        hint=BY_HAND,
    )


@dataclass(frozen=True)
class Draft:
    """A template that can be written: where to, and what is different."""

    output: Path
    changes: tuple[Change, ...]
    content: bytes


def draft(source: Path, output: Path, wish: Wish) -> Draft:
    """Make the copy in memory; nothing is written.

    Raises:
        UsageError: Nothing is wished for, or the output exists or has another suffix.
        InputError: The source is no template, or not built in the way that is known.
    """
    if not wish.values:
        raise UsageError(
            "Nothing is to be changed.", hint="Give --counter-profile N or --shader-timeline on."
        )
    if output.suffix != SUFFIX:
        raise UsageError(f"{output} must end in {SUFFIX}, or xctrace takes it for a name.")
    _require_new(output)
    require_apart([output], [source])
    archive = read_template(source)
    found = changes(archive, wish)
    values = {(change.holder, change.position): change.after for change in found}
    return Draft(output, found, archive_bytes(with_values(archive, values)))


def write(made: Draft) -> Path:
    """Write a draft into a file that does not exist yet.

    Raises:
        UsageError: The file exists by now.
        RecordingError: It cannot be written.
    """
    _require_new(made.output)
    write_whole(made.output, made.content)
    return made.output


def _require_new(output: Path) -> None:
    if output.exists() or output.is_symlink():
        raise UsageError(
            f"{output} exists; a template is never written over.", hint="Name a new file."
        )


def read_template(path: Path) -> Archive:
    """Read a template file; raise InputError where it cannot be understood."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is larger than any template; it was not read.")
        return read_archive(str(path), path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
