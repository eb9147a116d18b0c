"""What large files were found to hold, kept so that they are not scanned again."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import msgspec

from tracekit.base.errors import RecordingError
from tracekit.base.recording import save
from tracekit.tables.stamp import Stamp, lasting, stamp

_LARGE = 1 << 26
_VERSION = 1
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True)
class _Memory:
    version: int
    stamp: Stamp
    found: msgspec.Raw


def remembered(path: Path, folder: Path | None, look: Callable[[Path], _T], of: type[_T]) -> _T:
    """Return what `look` finds in a file, from memory if the file is large and has not changed.

    Args:
        path: The file.
        folder: Where to remember; None remembers nothing.
        look: What looks at the file.
        of: The type of what it finds.
    """
    try:
        before = stamp(path)
    except OSError:
        return look(path)
    if folder is None or before.size < _LARGE:
        return look(path)
    name = blake2b(str(path.resolve()).encode(), digest_size=8).hexdigest()
    note = folder / f"{name}.scan"
    known = _recall(note, before, of)
    if known is not None:
        return known
    found = look(path)
    lasts = lasting(before)
    if lasts is not None:
        _keep(note, _Memory(_VERSION, lasts, msgspec.Raw(msgspec.json.encode(found))))
    return found


def _recall(note: Path, before: Stamp, of: type[_T]) -> _T | None:
    try:
        memory = msgspec.json.decode(note.read_bytes(), type=_Memory)
        if (memory.version, memory.stamp) == (_VERSION, before):
            return msgspec.json.decode(memory.found, type=of)
    except (OSError, msgspec.MsgspecError) as error:
        _log.debug("%s: %s", note, error)
    return None


def _keep(note: Path, memory: _Memory) -> None:
    try:
        save(note, memory)
    except RecordingError as error:
        _log.debug("%s is not kept: %s", note, error)
