"""Writes keyed archives as NSKeyedArchiver lays them out, from plain Python values."""

import plistlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Archived:
    name: str
    parts: Mapping[str, Any] = field(default_factory=dict[str, Any])


def by_number(values: Mapping[int, Any]) -> Archived:
    parts: dict[str, Any] = {"$0": len(values)}
    for place, (key, value) in enumerate(values.items()):
        parts |= {f"${2 * place + 1}": key, f"${2 * place + 2}": value}
    return Archived("XRIntKeyedDictionary", parts)


def text(value: str) -> Archived:
    """Return a text that is an object of its own, as types are listed."""
    return Archived("NSMutableString", {"NS.string": value})


def archive(**top: Any) -> bytes:
    objects = _Objects()
    references = {name: objects.add(value) for name, value in top.items()}
    contents = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": references}
    return plistlib.dumps(contents | {"$objects": objects.found}, fmt=plistlib.FMT_BINARY)


class _Objects:
    def __init__(self) -> None:
        self.found: list[Any] = ["$null"]
        self._plain: dict[tuple[type, Any], plistlib.UID] = {(type(None), None): plistlib.UID(0)}
        self._classes: dict[str, plistlib.UID] = {}

    def add(self, value: Any) -> plistlib.UID:
        match value:
            case None | str() | bool() | int() | float() | bytes():
                return self._plain_one(value)
            case Archived(name, parts):
                return self._add_object(name, parts)
            case UUID():
                return self._add_object("NSUUID", {"NS.uuidbytes": value.bytes})
            case Mapping():
                return self._collection("NSDictionary", list(value.values()), list(value))
            case set() | frozenset():
                return self._collection("NSSet", sorted(value))
            case list() | tuple():
                return self._collection("NSArray", value)
            case _:
                raise TypeError(f"no archive holds a {type(value).__name__}")

    def _plain_one(self, value: Any) -> plistlib.UID:
        key = (type(value), value)
        if key not in self._plain:
            self._plain[key] = self._place()
            self.found[self._plain[key].data] = value
        return self._plain[key]

    def _add_object(self, name: str, parts: Mapping[str, Any]) -> plistlib.UID:
        place = self._place()
        inner = {key: self._inner(key, value) for key, value in parts.items()}
        self.found[place.data] = inner | {"$class": self._class(name)}
        return place

    def _inner(self, key: str, value: Any) -> Any:
        # Counts, texts and bytes of such objects stand in place: they are no objects themselves.
        counts = key == "$0" and isinstance(value, int)
        return value if counts or key in {"NS.string", "NS.uuidbytes"} else self.add(value)

    def _collection(self, name: str, values: Any, keys: list[Any] | None = None) -> plistlib.UID:
        place = self._place()
        entries: dict[str, Any] = {} if keys is None else {"NS.keys": [self.add(k) for k in keys]}
        entries["NS.objects"] = [self.add(value) for value in values]
        self.found[place.data] = entries | {"$class": self._class(name)}
        return place

    def _class(self, name: str) -> plistlib.UID:
        if name not in self._classes:
            place = self._classes[name] = self._place()
            self.found[place.data] = {"$classname": name, "$classes": [name, "NSObject"]}
        return self._classes[name]

    def _place(self) -> plistlib.UID:
        self.found.append(None)
        return plistlib.UID(len(self.found) - 1)
