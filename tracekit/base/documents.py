"""JSON documents: decoded, saved, and read in the formats of earlier versions.

To rename a key of a document, raise the document's `FORMAT`, and add the key to `RENAMED_KEYS`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tracekit.base.files import write_whole

_Document = TypeVar("_Document")


def decode_json(content: bytes | str, document_type: type[_Document]) -> _Document:
    """Return the document of a JSON text.

    Raises msgspec.MsgspecError if it is not JSON, not of that type, or nested too deeply.
    """
    try:
        return msgspec.json.decode(content, type=document_type)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error


def encode_json(value: object) -> bytes:
    """Return `value` as indented JSON, with a line's end."""
    encoded = msgspec.json.encode(value)
    return msgspec.json.format(encoded, indent=2) + b"\n"


def save(path: Path, value: object) -> None:
    """Write `value` as indented JSON, whole or not at all; raise RecordingError if it cannot."""
    write_whole(path, encode_json(value))


@dataclass(frozen=True)
class RenamedKey:
    """A key that a kind of document had up to a format, and its name since.

    `path` are the keys that lead to the objects with the key; a list on the way has many of them.
    """

    document: str
    last_format: int
    path: tuple[str, ...]
    old: str
    new: str


RENAMED_KEYS = (
    RenamedKey("night.json", 1, ("entries", "pairs"), "sitting", "session"),
    RenamedKey("night.json", 1, ("entries", "pairs"), "contaminated", "rejections"),
)
"""Every renamed key of every kind of document, the oldest rename first."""


def rename_old_keys(content: str | bytes, document: str, format_number: int) -> bytes:
    """Return the JSON of a document with the keys of today, in place of those of its format.

    `document` is the kind of document, as in `RENAMED_KEYS`. Raises msgspec.MsgspecError if the
    content is not JSON.
    """
    tree = decode_json(content, object)
    for renamed_key in RENAMED_KEYS:
        if renamed_key.document == document and format_number <= renamed_key.last_format:
            _rename(tree, renamed_key.path, renamed_key)
    return msgspec.json.encode(tree)


def _rename(node: Any, path: tuple[str, ...], renamed_key: RenamedKey) -> None:
    """Rename the key in the objects at a path; a node of another shape stays as it is."""
    if isinstance(node, list):
        for element in node:
            _rename(element, path, renamed_key)
    elif isinstance(node, dict):
        if path:
            _rename(node.get(path[0]), path[1:], renamed_key)
        elif renamed_key.old in node:
            node[renamed_key.new] = node.pop(renamed_key.old)
