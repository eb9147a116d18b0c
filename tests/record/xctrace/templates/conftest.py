"""Archives as Instruments writes them: equal values once, dictionaries as two rows."""

import plistlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.record.xctrace.templates.settings import Archive, read_archive

UID = plistlib.UID
SETTINGS = {
    "counterprofile": 0,
    "counterprofileinternal": 0,
    "counterscounterprofile": 0,
    "shaderprofiler": False,
    "shaderprofilerinternal": False,
    "inducedperformancestate": 0,
    "enabled": False,
}
TEMPLATE = {
    "name": "Metal System Trace",
    "instruments": [
        {"type": "gpu", "options": {"settings": SETTINGS}},
        {"type": "time profiler", "options": {"interval": 1000, "enabled": False}},
    ],
}


class KeyedArchiver:
    """Archives plain values in the way of NSKeyedArchiver."""

    def __init__(self) -> None:
        self.objects: list[Any] = ["$null"]
        self._known: dict[tuple[type, Any], plistlib.UID] = {}

    def add(self, value: Any) -> plistlib.UID:
        """Archive a value; return where it stands."""
        if isinstance(value, dict):
            uid = self._append(None)
            rows = {
                "NS.keys": [self.add(key) for key in value],
                "NS.objects": [self.add(one) for one in value.values()],
            }
            self.objects[uid.data] = {**rows, "$class": self._class("NSDictionary")}
            return uid
        if isinstance(value, list):
            uid = self._append(None)
            row = [self.add(one) for one in value]
            self.objects[uid.data] = {"NS.objects": row, "$class": self._class("NSArray")}
            return uid
        return self._once(value)

    def plist(self, root: Any) -> dict[str, Any]:
        """Return the whole archive of a root."""
        return {
            "$version": 100000,
            "$archiver": "NSKeyedArchiver",
            "$top": {"root": self.add(root)},
            "$objects": self.objects,
        }

    def _class(self, name: str) -> plistlib.UID:
        key = (type, name)
        if key not in self._known:
            described = {"$classname": name, "$classes": [name, "NSObject"]}
            self._known[key] = self._append(described)
        return self._known[key]

    def _once(self, value: Any) -> plistlib.UID:
        key = (type(value), value)
        if key not in self._known:
            self._known[key] = self._append(value)
        return self._known[key]

    def _append(self, value: Any) -> plistlib.UID:
        self.objects.append(value)
        return UID(len(self.objects) - 1)


@pytest.fixture
def keyed() -> Callable[..., dict[str, Any]]:
    """Make the property list of a value's archive; without one, of a small template."""
    return lambda root=TEMPLATE: KeyedArchiver().plist(root)


@pytest.fixture
def archive(keyed: Callable[..., dict[str, Any]]) -> Archive:
    return read_archive("a.tracetemplate", plistlib.dumps(keyed(), fmt=plistlib.FMT_BINARY))


@pytest.fixture
def template(tmp_path: Path, keyed: Callable[..., dict[str, Any]]) -> Path:
    """A template file."""
    path = tmp_path / "Metal System Trace.tracetemplate"
    path.write_bytes(plistlib.dumps(keyed(), fmt=plistlib.FMT_BINARY))
    return path


def unarchived(archive: Archive) -> Any:
    """Read an archive back into plain values, without the code under test."""

    def value(uid: plistlib.UID) -> Any:
        one = archive.plist["$objects"][uid.data]
        if isinstance(one, dict) and "NS.keys" in one:
            pairs = zip(one["NS.keys"], one["NS.objects"], strict=True)
            return {value(key): value(item) for key, item in pairs}
        if isinstance(one, dict) and "NS.objects" in one:
            return [value(item) for item in one["NS.objects"]]
        return one

    return value(archive.plist["$top"]["root"])


@pytest.fixture
def plain() -> Callable[[Archive], Any]:
    return unarchived
