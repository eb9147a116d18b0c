"""Kinds of values that are words: names, paths, choices, commands, tables of parameters."""

import re
import shlex
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tracekit.base.errors import nearest
from tracekit.nightly.plan.kind import Kind, refused, shown
from tracekit.nightly.plan.mistakes import UnfitError

_NAME = re.compile(r"\w[\w.+-]*")
_LONGEST = 64


def choice(*choices: str) -> Kind:
    """One of several words."""
    listed = ", ".join(f'"{one}"' for one in choices)

    def read(value: Any) -> str:
        if value not in choices:
            hint = nearest(str(value), choices)
            raise UnfitError(f"must be one of {listed}; it is {shown(value)}.", hint)
        return str(value)

    return Kind(f"one of {listed}", read)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise refused("true or false", value)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise refused("text", value, "Put it in quotes.")
    if not value.strip():
        raise UnfitError("must not be empty.")
    if "\0" in value:
        raise UnfitError("must not hold a null character.")
    return value


def _name(value: Any) -> str:
    name = unicodedata.normalize("NFC", _text(value))
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise UnfitError(
            f"must be a name that can be a folder's, not {value!r}.",
            f"Use letters, digits, and . _ + - behind the first; at most {_LONGEST}.",
        )
    return name


def _path(value: Any) -> Path:
    try:
        return Path(_text(value)).expanduser()
    except RuntimeError as error:
        raise UnfitError(f"names nobody's home: {error}") from None


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (_text(value),)
    if not isinstance(value, list):
        raise refused("text, or several in an array", value)
    return tuple(_each(value, _text))


def _templates(value: Any) -> tuple[str, ...]:
    if not (names := _texts(value)):
        raise UnfitError("must name a template.")
    return names


def _command(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            words = shlex.split(_text(value))
        except ValueError as error:
            raise UnfitError(f"is no command: {error}.", "Write an array of its words.") from None
    elif isinstance(value, list):
        words = _each(value, _text)
    else:
        raise refused("a command: its words in an array", value)
    if not words:
        raise UnfitError("must not be empty.")
    return tuple(words)


def _commands(value: Any) -> tuple[tuple[str, ...], ...]:
    hint = 'Write [["python", "-m", "pytest"]], or ["python -m pytest"].'
    if not isinstance(value, list):
        raise refused("an array of commands", value, hint)
    if any(isinstance(one, str) and one.startswith("-") for one in value):
        raise UnfitError("must be an array of commands; none begins with a dash.", hint)
    return tuple(_each(value, _command))


def _parameters(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise refused("a table", value, "Write { batch = 16 }.")
    for name, one in value.items():
        if not isinstance(one, bool | int | float | str | list | dict):
            raise UnfitError(f"must be no date or time, such as {one}.", at=(name,))
    return value


def _each(values: Sequence[Any], read: Callable[[Any], Any]) -> list[Any]:
    done: list[Any] = []
    for place, value in enumerate(values):
        try:
            done.append(read(value))
        except UnfitError as error:
            raise UnfitError(error.words, error.hint, (place, *error.at)) from None
    return done


FLAG = Kind("true or false", _flag)
TEXT = Kind("text", _text)
NAME = Kind("name that can be a folder's", _name)
PATH = Kind("path", _path)
TEXTS = Kind("text, or an array of them", _texts)
TEMPLATES = Kind("text, or an array of them", _templates)
COMMAND = Kind("command: an array of its words, or one text", _command)
COMMANDS = Kind("array of commands", _commands)
PARAMETERS = Kind("table", _parameters)
