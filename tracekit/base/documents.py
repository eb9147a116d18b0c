"""Decode JSON documents that somebody else may have written."""

from typing import TypeVar

import msgspec

_Document = TypeVar("_Document")


def decode_json(content: bytes | str, document_type: type[_Document]) -> _Document:
    """Return the document of a JSON text.

    Raises msgspec.MsgspecError if it is not JSON, not of that type, or nested too deeply.
    """
    try:
        return msgspec.json.decode(content, type=document_type)
    except RecursionError as error:
        raise msgspec.DecodeError("it is nested too deeply") from error
