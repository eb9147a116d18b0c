"""The requirements of a bundle in `open.creq`: Apple's own check of versions.

A capability has the version of the reader that it needs and a sentence for users who lack it. The
sentences about types name the tags that the XML has for them. Only known versions are accepted: a
magic number alone does not distinguish one generation of bundles from the next.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.keyed import plist
from tracekit.tables.bundle.errors import ArchiveError, unknown

NAME = "open.creq"
_LARGEST = 1 << 22
_TRACE = "com.apple.dt.trace"
_TRACE_VERSION = 5
_TYPE = "com.apple.dt.etype."
TYPE_SUFFIX = "TypeID"
_TAG = re.compile(r"engineering type '([^']{1,80})'")


class Field(NamedTuple):
    """The place of a column in a record: offset and width in bytes."""

    offset: int
    width: int


class Topology(NamedTuple):
    """The beginning of every record of a table: its number in descriptors, fields, bytes."""

    number: int
    fields: Mapping[str, Field]
    size: int


_TIME = "XRTraceRelativeTimestampFieldID"
_DURATION = "XRDurationFieldID"
_CATEGORIES = ("XRCategory1FieldID", "XRCategory2FieldID")
TOPOLOGIES: Mapping[str, Topology] = {
    "XRT64_CC32_R_TypeID": Topology(
        7, {_TIME: Field(0, 8), _CATEGORIES[0]: Field(8, 4), _CATEGORIES[1]: Field(12, 4)}, 16
    ),
    "XRTD64_CC32_R_TypeID": Topology(
        6,
        {
            _TIME: Field(0, 8),
            _DURATION: Field(8, 8),
            _CATEGORIES[0]: Field(16, 4),
            _CATEGORIES[1]: Field(20, 4),
        },
        24,
    ),
}

_AT_MOST_ONE = {
    "com.apple.dt.path-manager.compression",
    "com.apple.dt.Instruments.Hierarchies",
    *(f"com.apple.dt.ac.topology.{name}" for name in TOPOLOGIES),
}


@dataclass(frozen=True)
class Requirements:
    """The facts about types, by ids without "TypeID": `tags`, and those of a `newer` version."""

    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    newer: frozenset[str] = frozenset()


def requirements(files: Files) -> Requirements:
    """Return the requirements of a bundle; raise InputError unless its generation is known."""
    bundle = files.bundle
    if not files.exists(NAME):
        raise unknown(
            bundle, f"it has no {NAME}, as bundles of Instruments 8 and later have; it is older, "
            "or was copied in part"
        )  # fmt: skip
    with files.reading(NAME):
        versions = _versions(plist(files.read(NAME, _LARGEST)))
    trace, _ = versions.pop(_TRACE, ("none", ""))
    if trace != _TRACE_VERSION:
        raise unknown(
            bundle, f"its {_TRACE} is {trace}, and {_TRACE_VERSION} (Xcode 12 and later) is known"
        )
    tags = dict[str, str]()
    newer = set[str]()
    for name, (version, message) in versions.items():
        if name.startswith(_TYPE):
            type_id = name.removeprefix(_TYPE).removesuffix(TYPE_SUFFIX)
            tag_match = _TAG.search(message)
            if tag_match:
                tags[type_id] = tag_match[1]
            if version > 1:
                newer.add(type_id)
        elif name not in _AT_MOST_ONE or not 0 <= version <= 1:
            raise unknown(
                bundle, f'it requires {name} {version}, which is not known ("{message[:120]}")'
            )
    return Requirements(tags, frozenset(newer))


def _versions(capabilities: object) -> dict[str, tuple[int, str]]:
    if not isinstance(capabilities, dict):
        raise ArchiveError("holds no capabilities")
    versions: dict[str, tuple[int, str]] = {}
    for name, entry in capabilities.items():
        match entry:
            case [int() as version, str() as message]:
                versions[str(name)] = (version, message)
            case _:
                raise ArchiveError(f"has {str(name)[:80]} without a version")
    return versions
