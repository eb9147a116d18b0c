"""The settings of a template that are known, and what changing them would change."""

from collections.abc import Iterator
from dataclasses import dataclass

from tracekit.base.errors import InputError
from tracekit.record.xctrace.templates.archive import Archive, entries, is_dictionary, with_values
from tracekit.record.xctrace.templates.routes import route_to, routes

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
    """One place where a key stands: what it is, and what it is to be."""

    holder: int
    position: int
    route: str
    key: str
    before: Value
    after: Value


@dataclass(frozen=True)
class Changes:
    """All places that a wish touches, and what looks alike and stays as it is."""

    changes: tuple[Change, ...]
    untouched: tuple[str, ...] = ()


def changes(archive: Archive, wish: Wish) -> Changes:
    """Find every place that the wish touches; nothing is changed yet.

    Raises:
        InputError: A key is missing, stands elsewhere than in an archived dictionary, or its
            value has another type: then this is not the structure that is known.
    """
    wanted, ways = wish.values, routes(archive)
    found: list[Change] = []
    untouched: list[str] = []
    for entry in entries(archive):
        route = f"{route_to(ways, entry.holder)}.{entry.key}"
        if entry.key not in wanted:
            if _looks_alike(entry.key):
                untouched.append(f"{route} = {entry.value!r}")
            continue
        after = wanted[entry.key]
        if type(entry.value) is not type(after):
            raise _unknown(archive, f"{route} is {entry.value!r}, not {_kind(after)}")
        found.append(Change(entry.holder, entry.position, route, entry.key, entry.value, after))
    strange = list(_elsewhere(archive, wanted))
    for key in wanted:
        if all(one.key != key for one in found):
            where = f"; it stands in {strange[0]}" if strange else ""
            raise _unknown(archive, f"no archived dictionary has the key {key}{where}")
    return Changes(tuple(found), (*untouched, *strange))


def changed(archive: Archive, wanted: Changes) -> Archive:
    """Return a copy of the archive with the changes made."""
    values = {(one.holder, one.position): one.after for one in wanted.changes}
    return with_values(archive, values)


def counter_profile(archive: Archive) -> int | None:
    """Return the number of the counter profile that a template asks for; None if unknown."""
    found = [one.value for one in entries(archive) if one.key == COUNTER_PROFILE[0]]
    return found[0] if len(set(map(repr, found))) == 1 and type(found[0]) is int else None


def _looks_alike(key: str) -> bool:
    return COUNTER_PROFILE[0] in key or SHADER_TIMELINE[0] in key


def _elsewhere(archive: Archive, wanted: dict[str, Value]) -> Iterator[str]:
    """Name the objects that speak of a wanted key in a form that is not known."""
    for number, one in enumerate(archive.objects):
        if isinstance(one, dict) and not is_dictionary(one) and wanted.keys() & one.keys():
            raise _unknown(archive, f"object {number} has the key as an attribute of its own")
        if isinstance(one, bytes) and any(key.encode() in one for key in wanted):
            yield f"the data of object {number}, which are not looked into"


def _kind(value: Value) -> str:
    return "on or off" if isinstance(value, bool) else "a whole number"


def _unknown(archive: Archive, why: str) -> InputError:
    return InputError(
        f"{archive.name} is not built in the way that is known, and is left alone: {why}.",
        hint=BY_HAND,
    )
