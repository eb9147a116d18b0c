"""Remove the names of people and machines from results and pages.

Recordings are private: they hold host names, user names, home folders, hardware ids and
environment values. Results and pages are made to be shown, so none of it gets into them unless
the user asks for it.

All fields of a provenance are redacted, apart from those that are listed as public: states, times,
versions and other fields that a program acts on. These stay as they are, even if the user has the
same name. In a text a name is left out wherever it is a word, unless tracekit's own sentences use
that word (`done`, `run`, `metal`): then only where it must be a name, such as in a path or before
an @.
"""

import getpass
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tracekit.base.choices import is_public_choice
from tracekit.base.recording import Provenance

_PATTERNS = (
    (re.compile(r"/(?:Users|home)/[^/\s\"':;,<>]+"), "~"),
    (re.compile(r"(?:/private)?/var/folders/[^/\s]+/[^/\s]+"), "<temporary>"),
    (re.compile(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b[0-9A-F]{8}-[0-9A-F]{16}\b"), "<udid>"),
)
# Names that do not identify a person, or are words of the language.
_NOBODY = {"root", "user", "admin", "runner", "localhost", "mac", "test", "build", "nobody"}
_SHORTEST_NAME = 3
_PATH = re.compile(r"(?<![\w.])[~/][^\s\"':;,<>]*")
# Words of results and pages that are also names of users and machines. A name that is not listed
# here is left out everywhere, even if a sentence only uses it as a word.
_SENTENCES = """
abstained active all alone analyze apple auto bandwidth batch bench best blocks buffer bubbles
bytes cache call capture channel chip chrome clock cold command compile compute context convert
copy core cores count counter cpu csv data dense device disk dispatch done driver encoder end
error event events evidence export exports fail failed finding findings flash float folder
frame gauge gpu grade grid group head heads heat host hot idle import index input instruments
interval job kernel kernels late latency level light limit line linux list llama log low mac
macos main marks max mean median memory metal metric min mlx model name names night none note
null number object off open other output page pages paged parity part pass passed path pattern
peak phase phases pid pin plan power prefill prepare process program python query queue quick
rate ratio read ready record recording report request result results rule rules run runs
sample sampler sdpa serve server service share shader show size slow source span spans stack
stage start state status steady step steps table tables target template test text thread tick
time timeline token tokens tool trace track type unit unknown usage verify version wait warning
window work worker workload xcode xctrace
"""
_WORDS = frozenset(_SENTENCES.split())
# The fields of a provenance and of its members that never name a person or a machine, and the
# workload's name, which a program acts on. All other fields are redacted; a choice of the user's
# declares itself whether it is, see `RecordingChoices`.
_PUBLIC = {
    *("at", "backend", "created", "ended", "git_commit", "identity", "mode", "probed"),
    *("recorder_version", "started", "state", "tracekit", "workload"),
}


@dataclass(frozen=True)
class Redaction:
    """A function of text, with pairs of a name and its substitute.

    `names` are replaced wherever they are words, `words` only where they must be names.
    """

    names: tuple[tuple[str, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()

    @cached_property
    def _patterns(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        """The patterns that are replaced wherever they match, with their substitutes."""
        patterns = list(_PATTERNS)
        for name, substitute in self.names:
            # An option such as --max-blocks is not about a user called max.
            pattern = re.compile(rf"(?<!\w)(?<!--){re.escape(name)}(?!\w)")
            patterns.append((pattern, substitute))
        return tuple(patterns)

    def __call__(self, text: str) -> str:
        """Return the text without the names of people and machines."""
        if not text:
            return text
        for pattern, substitute in self._patterns:
            text = pattern.sub(substitute, text)
        for name, substitute in self.words:
            text = _where_a_name(text, name, substitute)
        return text


def redact_nothing(text: str) -> str:
    """Return the text as it is, for users who asked for no redaction."""
    return text


def is_common_word(name: str) -> bool:
    """Return whether a name is also a word of tracekit's sentences, or of Metal's."""
    return name.lower() in _WORDS


def own_redaction(private: Iterable[tuple[str, str]] = ()) -> Redaction:
    """Return the redaction of this machine's names, and of pairs of a name and its substitute."""
    user = _user()
    host = socket.gethostname()
    short_host = host.partition(".")[0]
    candidates = [*private, (host, "<host>"), (short_host, "<host>"), (user, "<user>")]
    home = _home()
    if len(home) > len("/"):
        candidates.insert(0, (home, "~"))
    substitutes = {name: word for name, word in candidates if _is_private(name)}
    names: list[tuple[str, str]] = []
    words: list[tuple[str, str]] = []
    for name in sorted(substitutes, key=lambda name: (-len(name), name)):
        pair = (name, substitutes[name])
        if name in {host, short_host, user} and name.lower() in _WORDS:
            words.append(pair)
        else:
            names.append(pair)
    return Redaction(tuple(names), tuple(words))


def redact_provenance(provenance: Provenance, redact: Callable[[str], str]) -> Provenance:
    """Return the provenance without names, and without the values of environment variables.

    Versions, times, states, the workload's name and choices from a list stay as they are.
    """
    redacted_lines = tuple(_arguments(line, redact) for line in provenance.command_lines)
    redacted_provenance = _walk(provenance, redact)
    redacted_command = _arguments(provenance.command, redact)
    return replace(
        redacted_provenance,
        command=redacted_command,
        command_lines=redacted_lines,
        redacted=True,
    )


def _arguments(argv: Sequence[str], redact: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(map(redact, _without_values(argv)))


def _without_values(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the command line with `NAME=…` for `--env NAME=value` and `env NAME=value`."""
    hidden: list[str] = []
    previous_argument = ""
    under_env = False
    for argument in argv:
        start = "--env=" if argument.startswith("--env=") else ""
        name, equals, _ = argument.removeprefix(start).partition("=")
        assigns = previous_argument == "--env" or start or (under_env and name.isidentifier())
        if assigns and equals:
            hidden.append(f"{start}{name}=…")
        else:
            hidden.append(argument)
        previous_argument = argument
        under_env = under_env or Path(argument).name == "env"
    return tuple(hidden)


def _walk(value: Any, redact: Callable[[str], str]) -> Any:
    """Redact all texts in a value, apart from the public fields of a dataclass."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _walk(item, redact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_walk(item, redact) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    redacted_fields: dict[str, Any] = {}
    for field in fields(value):
        if not (field.name in _PUBLIC or is_public_choice(field.name)):
            redacted_fields[field.name] = _walk(getattr(value, field.name), redact)
    return replace(value, **redacted_fields)


def _where_a_name(text: str, name: str, substitute: str) -> str:
    """Replace a word where it must be a name: in a path, an address, a device."""
    word = re.escape(name)
    folder = rf"(?<=/){word}(?=[/.]|$)"
    text = _PATH.sub(lambda path: re.sub(folder, substitute, path[0]), text)
    return re.sub(
        rf"(?<=/){word}(?=/)|^{word}(?=/)|(?<=@){word}(?!\w)"
        rf"|(?<![\w-]){word}(?=@|[\u2019']s (?:i?Mac|iP)|\.(?:local|lan|home)\b)",
        substitute,
        text,
    )


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
    except (OSError, KeyError, ImportError):
        return ""
