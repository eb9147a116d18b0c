"""The keys that documents had in earlier formats: one table, which all decoders use.

To rename a key of a document, raise the document's `FORMAT`, and add the key to `RENAMED_KEYS`.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from tracekit.base.documents import decode_json


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
