"""Leave out of results and pages what names a person or a machine.

Recordings are private: they hold host names, user names, home folders, hardware ids and
environment values. Results and pages are made to be shown, so none of it gets into them unless
it is asked for.
"""

import getpass
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tracekit.recording import Provenance

T = TypeVar("T")

_PATTERNS = (
    (re.compile(r"/(?:Users|home)/[^/\s\"':;,<>]+"), "~"),
    (re.compile(r"(?:/private)?/var/folders/[^/\s]+/[^/\s]+"), "<temporary>"),
    (re.compile(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b[0-9A-F]{8}-[0-9A-F]{16}\b"), "<udid>"),
)
# Names that say nothing of a person, or are words of the language.
_NOBODY = {"root", "user", "admin", "runner", "localhost", "mac", "test", "build", "nobody"}
_SHORTEST_NAME = 3


@dataclass(frozen=True)
class Redaction:
    """A function of text: what to leave out, and what to write in its place."""

    names: tuple[tuple[str, str], ...] = ()

    def __call__(self, text: str) -> str:
        """Return the text without what names a person or a machine."""
        for pattern, substitute in _PATTERNS:
            text = pattern.sub(substitute, text)
        for name, substitute in self.names:
            # An option such as --max-blocks is not about a user called max.
            text = re.sub(rf"(?<!\w)(?<!--){re.escape(name)}(?!\w)", substitute, text)
        return text


def nothing(text: str) -> str:
    """Be the redaction of those who asked for none."""
    return text


def redaction(private: Iterable[tuple[str, str]] = ()) -> Redaction:
    """Return the redaction of this machine's names, and of the given ones.

    Args:
        private: Pairs of a name and what to write for it, such as a device's name in a TOC.
    """
    home = _home()
    names = [(home, "~")] if len(home) > len("/") else []
    host = socket.gethostname()
    names += [*private, (host, "<host>"), (host.partition(".")[0], "<host>"), (_user(), "<user>")]
    kept = {name: word for name, word in names if _is_private(name)}
    return Redaction(tuple(sorted(kept.items(), key=lambda one: (-len(one[0]), one[0]))))


def redact_all(value: T, redact: Callable[[str], str]) -> T:
    """Return the document with every text in it redacted; keys stay as they are."""
    plain = msgspec.to_builtins(value)
    return msgspec.convert(_walk(plain, redact), type(value))


def redact_provenance(provenance: Provenance, redact: Redaction) -> Provenance:
    """Return the provenance without names, and without the values of environment variables."""
    shown = replace(
        provenance,
        command=_without_values(provenance.command),
        command_lines=tuple(_without_values(line) for line in provenance.command_lines),
    )
    return replace(redact_all(shown, redact), redacted=True)


def _without_values(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command line with `NAME=…` for `--env NAME=value` and `env NAME=value`."""
    hidden: list[str] = []
    before, under_env = "", False
    for argument in argv:
        start = "--env=" if argument.startswith("--env=") else ""
        name, equals, _ = argument.removeprefix(start).partition("=")
        assigns = before == "--env" or bool(start) or (under_env and name.isidentifier())
        hidden.append(f"{start}{name}=…" if assigns and equals else argument)
        before, under_env = argument, under_env or Path(argument).name == "env"
    return tuple(hidden)


def _walk(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _walk(one, redact) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(one, redact) for one in value]
    return value


def _is_private(name: str) -> bool:
    return len(name) >= _SHORTEST_NAME and name.lower() not in _NOBODY


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # neither HOME nor an account
        return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
