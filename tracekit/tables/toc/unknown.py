"""What tracekit does not know in a table of contents, by its path: named, never dropped."""

from collections.abc import Iterator

from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage]

from tracekit.tables.toc.settings import NAMES

_ANY = frozenset("*")
_SUMMARY = """
    start-date end-date duration end-reason instruments-version template-name recording-mode
    time-limit
"""
_SETTING = {
    "array": frozenset[str](),
    "dictionary": frozenset[str](),
    "key": frozenset({"name"}),
    "value": frozenset[str](),
    "options": frozenset[str](),
    "option": frozenset({"key", "value"}),
}
_ATTRIBUTES: dict[str, frozenset[str]] = {
    path: frozenset(attributes.split())
    for path, attributes in {
        "run": "number",
        "run/info": "",
        "run/info/target": "",
        "run/info/target/device": "*",
        "run/info/target/host-device": "*",
        "run/info/target/process": (
            "type name pid arguments return-exit-status termination-reason"
        ),
        "run/info/target/all-processes": "",
        "run/info/target/environment": "",
        "run/info/target/environment/item": "key value",
        "run/info/environment": "",
        "run/info/environment/item": "key value",
        "run/info/summary": "",
        **{f"run/info/summary/{name}": "" for name in _SUMMARY.split()},
        **{f"run/info/summary/{name}": "" for name in NAMES},
        **{f"run/info/summary/{name}/instrument": "name" for name in NAMES},
        "run/processes": "",
        "run/processes/process": "name pid path",
        "run/data": "",
        "run/data/table": "*",
        "run/data/external-format": "format source-schema",
        "run/tracks": "",
        "run/tracks/track": "name",
        "run/tracks/track/details": "",
        "run/tracks/track/details/detail": "name kind",
    }.items()
}


def unknown(element: Element, path: str) -> tuple[str, ...]:
    """Return the paths of the elements and attributes below `element` that are not known.

    What stands within an unknown element belongs to it and is not named besides.
    """
    return tuple(dict.fromkeys(_unknown(element, path)))


def _unknown(element: Element, path: str) -> Iterator[str]:
    known = _known(path)
    if known is None:
        yield path
        return
    if known != _ANY:
        yield from (f"{path}/@{name}" for name in map(str, element.keys()) if name not in known)
    for child in element:
        yield from _unknown(child, f"{path}/{child.tag}")


def _known(path: str) -> frozenset[str] | None:
    above, within, inside = path.partition("/instrument/")
    if within and above.rpartition("/")[2] in NAMES:
        return _SETTING.get(inside.rpartition("/")[2])
    return _ATTRIBUTES.get(path)
