"""Remove people, machines and folders from a report that is made to be sent to others."""

import getpass
import re
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import redaction
from tracekit.machine import Machine

_END = r"\s\"':;,<>()\[\]"  # the characters that end a path in a text
_PATH = re.compile(rf"(?<![\w.<])(?:~|/)[^{_END}]*/[^{_END}]*")
_PATH_REST = re.compile(rf"(?:<path>)+[^{_END}]*(?: [^{_END}/]+/[^{_END}]*)*")  # after a space
_HARDWARE = (
    (re.compile(r"\b[0-9A-Fa-f]{32}\b"), "<uuid>"),
    (re.compile(r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b"), "<address>"),
)
_WHOLE = frozenset({"expected", "verdict", "name", "belief"})  # never of xctrace's output


def redact_report(report: object) -> Any:
    """Return a report as JSON's types, without names of people and machines, and without paths."""
    redact = _redaction()
    return _walk(msgspec.to_builtins(report), redact)


def _redaction() -> Callable[[str], str]:
    names = redaction.own_redaction(_list_more_names())
    patterns = [(_compile_name(name), word) for name, word in names.names if "/" not in name]
    places = (Path.home(), Path.cwd())
    folders = (sys.executable, tempfile.gettempdir(), sys.prefix, *map(str, places))
    known = sorted({folder for folder in folders if len(folder) > 1}, key=len, reverse=True)

    def redact(text: str) -> str:
        text = unicodedata.normalize("NFC", text)
        for folder in known:
            text = text.replace(unicodedata.normalize("NFC", folder), "<path>")
        text = _PATH_REST.sub("<path>", _PATH.sub("<path>", text))
        for pattern, substitute in (*patterns, *_HARDWARE):
            text = pattern.sub(substitute, text)
        return names(text)

    return redact


def _list_more_names() -> Iterator[tuple[str, str]]:
    """Yield names that commands print besides user and host, with their substitutes."""
    yield Path.home().name, "<user>"
    with suppress(ImportError, KeyError, OSError):
        import pwd  # noqa: PLC0415  not on every system

        entry = pwd.getpwnam(getpass.getuser())
        yield entry.pw_gecos.partition(",")[0], "<user>"
    machine = Machine()
    if machine.on_mac:
        for kind in ("ComputerName", "LocalHostName"):
            yield machine.text("/usr/sbin/scutil", "--get", kind), "<host>"


def _compile_name(name: str) -> re.Pattern[str]:
    """Return a pattern of a name in any case; other letters next to it make it another word."""
    escaped = re.escape(unicodedata.normalize("NFC", name))
    return re.compile(rf"(?<![^\W_]){escaped}(?![^\W_])", re.IGNORECASE)


def _hide_values(argv: Sequence[str]) -> list[str]:
    """Return a command line without the values of environment variables."""
    arguments: list[str] = []
    for number, argument in enumerate(argv):
        if number and argv[number - 1] == "--env":
            arguments.append(f"{argument.partition('=')[0]}=…")
        else:
            arguments.append(argument)
    return arguments


def _walk(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        walked: dict[str, Any] = {}
        for key, item in value.items():
            if key == "argv":
                item = _hide_values(item)  # noqa: PLW2901
            is_whole = key in _WHOLE and not isinstance(item, dict | list)
            walked[key] = item if is_whole else _walk(item, redact)
        return walked
    if isinstance(value, list | tuple):
        return [_walk(item, redact) for item in value]
    return value
