"""A keyed archive as a property list: objects in a row that point at each other by number."""

import plistlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tracekit.base import InputError

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
