"""Remove people, machines and folders from a report that is made to be sent to others."""

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import redaction

_PATH = re.compile(r"(?<![\w.<])(?:~|/)[^\s\"':;,<>()\[\]]*/[^\s\"':;,<>()\[\]]*")
_WHOLE = frozenset({"expected", "value", "verdict", "name", "belief", "returncode", "seconds"})


def redact_report(report: object) -> Any:
    """Return a report as JSON's types, without names of people and machines, and without paths."""
    redact = _redaction()
    return _walk(msgspec.to_builtins(report), redact)


def _redaction() -> Callable[[str], str]:
    names = redaction.own_redaction()
    folders = (sys.executable, tempfile.gettempdir(), str(Path.cwd()), sys.prefix)
    known = sorted({folder for folder in folders if len(folder) > 1}, key=len, reverse=True)

    def redact(text: str) -> str:
        for folder in known:
            text = text.replace(folder, "<path>")
        text = _PATH.sub("<path>", text)
        return names(re.sub(r"(?:<path>)+[^\s\"':;,<>()\[\]]*", "<path>", text))

    return redact


def _walk(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        walked: dict[str, Any] = {}
        for key, item in value.items():
            is_whole = key in _WHOLE and not isinstance(item, dict | list)
            walked[key] = item if is_whole else _walk(item, redact)
        return walked
    if isinstance(value, list | tuple):
        return [_walk(item, redact) for item in value]
    return value
