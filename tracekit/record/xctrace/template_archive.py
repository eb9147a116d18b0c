"""The content of a template of Instruments: read, and written again with changed settings.

A template file is a keyed archive: a property list of objects in a row that point at each other by
number. No object is ever constructed from it.
"""

import plistlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers.expat import ExpatError

from tracekit.base import InputError
from tracekit.base import files as base_files

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
_NULL = "NSNull"
COUNTER_PROFILE = ("counterprofile", "counterprofileinternal")
"""The keys of the counter profile."""
_BY_HAND = (
    "Do it in Instruments: open Metal System Trace, Recording Options > GPU > Counter Set and "
    "Shader Timeline, then File > Save As Template, and pass the file with --template."
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


class ArchivedEntry(NamedTuple):
    """An entry of an archived dictionary: `position` in object `holder`, its key and its value."""

    holder: int
    position: int
    key: str
    value: Any


@dataclass(frozen=True)
class Template:
    """A template file that was read."""

    path: Path
    plist: Mapping[str, Any]

    def entries(self) -> Iterator[ArchivedEntry]:
        """Yield the entries of all archived dictionaries.

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
                    yield ArchivedEntry(holder, position, name, self._resolve(value))

    def changes(
        self,
        new_values: Mapping[str, int | bool],
        more_values: Mapping[str, int | bool] | None = None,
    ) -> tuple[KeyChange, ...]:
        """Return every place of these keys with its old and its new value, which may be equal.

        Keys of `more_values` are changed too, and may be missing. A value that was never
        set is NSNull. Raise InputError if another key is in no archived dictionary, or its value
        has another type.
        """
        all_values = {**(more_values or {}), **new_values}
        key_changes: list[KeyChange] = []
        for entry in self.entries():
            if entry.key in all_values:
                old_value = None if self._is_null(entry.value) else entry.value
                new_value = all_values[entry.key]
                change = KeyChange(entry.holder, entry.position, entry.key, old_value, new_value)
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
        profiles = [entry.value for entry in self.entries() if entry.key == COUNTER_PROFILE[0]]
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
