"""How an object of an archive is reached from its root: words for a place."""

import plistlib
from collections import deque
from collections.abc import Iterator
from typing import Any

from tracekit.record.xctrace.templates.archive import Archive, entries_of, is_dictionary

_MOST_STEPS = 12
_NOT_REACHED = "(nothing points at it)"
_CLASS = "$class"

# An object's number, and from where it was reached: the number there and the step's name.
Routes = dict[int, tuple[int | None, str]]


def routes(archive: Archive) -> Routes:
    """Find the shortest way to every object; an archive may point in circles."""
    found: Routes = {}
    waiting: deque[tuple[int, int | None, str]] = deque(
        (uid.data, None, str(name))
        for name, uid in archive.top.items()
        if isinstance(uid, plistlib.UID)
    )
    while waiting:
        number, parent, step = waiting.popleft()
        if number in found:
            continue
        found[number] = (parent, step)
        waiting.extend((child, number, name) for child, name in _children(archive, number))
    return found


def route_to(found: Routes, number: int) -> str:
    """Say how an object is reached, by its last steps: `root.settings[2].GPU`."""
    steps: list[str] = []
    at: int | None = number
    while at is not None and len(steps) < _MOST_STEPS:
        if at not in found:
            return _NOT_REACHED
        at, step = found[at]
        steps.append(step)
    beginning = "" if at is None else "…"
    return beginning + "".join(reversed(steps))


def _children(archive: Archive, number: int) -> Iterator[tuple[int, str]]:
    one = archive.objects[number]
    if is_dictionary(one):
        pointers = one["NS.objects"]
        for entry in entries_of(archive, number):
            yield pointers[entry.position].data, f".{entry.key}"
    elif isinstance(one, dict):
        for name, value in one.items():
            if name != _CLASS:
                yield from _pointed_at(value, "" if name == "NS.objects" else f".{name}")
    else:
        yield from _pointed_at(one, "")


def _pointed_at(value: Any, step: str) -> Iterator[tuple[int, str]]:
    if isinstance(value, plistlib.UID):
        yield value.data, step
    elif isinstance(value, list):
        for place, uid in enumerate(value):
            if isinstance(uid, plistlib.UID):
                yield uid.data, f"{step}[{place}]"
