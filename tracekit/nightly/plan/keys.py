"""Which keys each table of a plan has, what each takes, and what a file gives."""

import logging
import math
import re
import shlex
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_type_hints

from tracekit.base import UsageError, nearest, size_of
from tracekit.machine import THERMAL_PRESSURES, StateLimits
from tracekit.nightly.plan.document import Mistakes, Route
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.workload import plan

log = logging.getLogger(__name__)


class UnfitError(Exception):
    """A value is not what its key takes; `at` is the route within it, as to an array's element."""

    def __init__(self, words: str, hint: str = "", at: Route = ()) -> None:
        super().__init__(words)
        self.words = words
        self.hint = hint
        self.at = at


@dataclass(frozen=True)
class Kind:
    """What a key takes.

    `read` turns what TOML holds into what the plan holds, or raises `UnfitError`.
    """

    words: str
    read: Callable[[Any], Any]


def off_or(kind: Kind) -> Kind:
    """What `kind` takes, or `false` for None."""
    return Kind(f"{kind.words}; or `false`", lambda one: None if one is False else kind.read(one))


def _bounded(value: Any, least: float, most: float) -> Any:
    if not least <= value <= most:
        raise UnfitError(f"must be {least:g} to {most:g}; it is {value}.")
    return value


def _refused(expected: str, value: Any, hint: str = "") -> UnfitError:
    return UnfitError(f"must be {expected}, not {shown(value)}.", hint)


def shown(value: Any) -> str:
    """Return a value as TOML has it; of tables and arrays only that they are such."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "an array"
    return repr(value) if isinstance(value, str) else str(value)


def whole(least: int, most: int) -> Kind:
    """A whole number within bounds."""

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _refused("a whole number", value)
        return _bounded(value, least, most)

    return Kind(f"whole number, {least} to {most}", read)


def number(least: float, most: float) -> Kind:
    """A number within bounds."""
    return Kind(f"number, {least:g} to {most:g}", lambda one: _bounded(_number(one), least, most))


def above_zero() -> Kind:
    """A finite number above 0."""

    def read(value: Any) -> float:
        found = _number(value)
        if not 0 < found < math.inf:
            raise UnfitError(f"must be above 0; it is {value}.")
        return found

    return Kind("number above 0", read)


def duration(least: float, most: float) -> Kind:
    """A length of time: text with a unit, or a number of seconds."""
    bounds = f"{_time(least)} to {_time(most)}"

    def read(value: Any) -> float:
        hint = 'Write "300ms", "5s", "10m" or "2h".'
        none = isinstance(value, str) and value in {"0ms", "0s", "0m", "0h"}
        found = 0.0 if none else _with_unit(value, plan.seconds, "a length of time", hint)
        if not least <= found <= most:
            raise UnfitError(f"must be {bounds}; it is {found:g} seconds.")
        return found

    return Kind(f'time such as "5s", {bounds}', read)


def size() -> Kind:
    """A size of memory: text with a unit, or a number of bytes."""

    def read(value: Any) -> int:
        hint = 'Write "1GiB", "500MB", or a number of bytes.'
        return int(_bounded(_with_unit(value, size_of, "a size", hint), 0, 1 << 60))

    return Kind('size such as "1GiB", or bytes', read)


def place_in(names: Sequence[str]) -> Kind:
    """The place of a name among several, or the place itself."""
    listed, lower = ", ".join(names), [name.lower() for name in names]

    def read(value: Any) -> int:
        if not isinstance(value, str):
            return whole(0, len(names) - 1).read(value)
        if value.lower() not in lower:
            raise UnfitError(f"must be one of {listed}; it is {value!r}.")
        return lower.index(value.lower())

    return Kind(f"one of {listed}, or its place from 0", read)


def _with_unit(value: Any, parse: Callable[[str], float], what: str, hint: str) -> float:
    try:
        return parse(value) if isinstance(value, str) else _number(value)
    except (UsageError, UnfitError):
        raise _refused(what, value, hint) from None


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _refused("a number", value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _time(seconds: float) -> str:
    for factor, unit in ((3600, "h"), (60, "m"), (1, "s")):
        if seconds >= factor and seconds % factor == 0:
            return f"{seconds / factor:g}{unit}"
    return f"{seconds * 1000:g}ms"


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
        raise _refused("true or false", value)
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _refused("text", value, "Put it in quotes.")
    if not value.strip():
        raise UnfitError("must not be empty.")
    if "\0" in value:
        raise UnfitError("must not hold a null character.")
    return value


def _name(value: Any) -> str:
    name = unicodedata.normalize("NFC", _text(value))
    if not re.fullmatch(r"\w[\w.+-]{,63}", name):
        raise UnfitError(
            f"must be a name that can be a folder's, not {value!r}.",
            "Use letters, digits, and . _ + - behind the first; at most 64.",
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
        raise _refused("text, or several in an array", value)
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
        raise _refused("a command: its words in an array", value)
    if not words:
        raise UnfitError("must not be empty.")
    return tuple(words)


def _commands(value: Any) -> tuple[tuple[str, ...], ...]:
    hint = 'Write [["python", "-m", "pytest"]], or ["python -m pytest"].'
    if not isinstance(value, list):
        raise _refused("an array of commands", value, hint)
    if any(isinstance(one, str) and one.startswith("-") for one in value):
        raise UnfitError("must be an array of commands; none begins with a dash.", hint)
    return tuple(_each(value, _command))


def _parameters(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _refused("a table", value, "Write { batch = 16 }.")
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


_WEEK = 7 * 24 * 3600.0


@dataclass(frozen=True)
class Keys:
    """The keys of one table; the docstring of its `noun` says what each means.

    `kinds` are what fields take, `tables` fields that are tables of their own, or arrays of them.
    `names` are keys that are not their field's name with dashes, `renamed` those of earlier
    versions and what they are called now. Messages call the table `title`.
    """

    noun: type[Any]
    title: str
    kinds: Mapping[str, Kind]
    tables: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def fields(self) -> dict[str, str]:
        """Every field by its key."""
        own = (*self.kinds, *self.tables)
        return {self.names.get(name, name.replace("_", "-")): name for name in own}


def _words_of(noun: type[Any], field: str) -> Kind:
    return choice(*(arg for arg in get_args(get_type_hints(noun)[field]) if arg))


NIGHT = Keys(
    NightPlan,
    "[nightly]",
    {
        "name": NAME,
        "output": PATH,
        "history": TEXT,
        "budget": duration(1, _WEEK),
        "wait": duration(0, _WEEK),
        "machine": NAME,
        "retries": whole(0, 1000),
    },
    ("state", "defaults", "captures"),
    {"state": "machine-state", "captures": "capture"},
)
STATE = Keys(
    StateLimits,
    "[nightly.machine-state]",
    {
        "calibration": off_or(number(0, 10)),
        "clock": off_or(number(0, 1)),
        "load": off_or(number(0, 1)),
        "memory_free": off_or(size()),
        "battery": off_or(number(0, 1)),
        "thermal_pressure": off_or(place_in(THERMAL_PRESSURES)),
        "gpu_others": off_or(number(0, 1)),
        "low_power": FLAG,
    },
    renamed={"canary": "calibration"},
)
CAPTURE = Keys(
    Capture,
    "[[nightly.capture]]",
    {
        "name": NAME,
        "workload": TEXT,
        "workloads": PATH,
        "parameters": PARAMETERS,
        "pairs": whole(1, 1000),
        "turn": duration(0.001, 600),
        "together": FLAG,
        "warmup": whole(0, 10_000),
        "traced": whole(0, 100),
        "recorder": _words_of(Capture, "recorder"),
        "templates": TEMPLATES,
        "counters": _words_of(Capture, "counters"),
        "telemetry": _words_of(Capture, "telemetry"),
        "time_limit": duration(0.1, 3600),
        "parity": _words_of(Capture, "parity"),
        "checks": COMMANDS,
        "fail_on": TEXTS,
    },
    ("reference", "metrics"),
    {"templates": "template"},
)
REFERENCE = Keys(
    Reference,
    "[nightly.capture.reference]",
    {
        "workload": TEXT,
        "parameters": PARAMETERS,
        "python": PATH,
        "revision": TEXT,
        "merge_base": TEXT,
        "previous_night": FLAG,
        "anchor_every": whole(1, 30),
        "setup": COMMAND,
        "pythonpath": TEXTS,
    },
)
METRIC = Keys(
    Gated,
    "[nightly.capture.metrics]",
    {
        "threshold": above_zero(),
        "scale": choice("ratio", "difference"),
        "better": _words_of(Gated, "better"),
        "gate": FLAG,
    },
)


@dataclass(frozen=True)
class Given:
    """A value as the file has it, where it stands, and where its mistakes go."""

    route: Route
    value: Any
    mistakes: Mistakes

    def within(self, key: str | int, value: Any = None) -> "Given":
        """Return something within it."""
        return Given((*self.route, key), value, self.mistakes)

    def refuse(self, words: str, hint: str = "") -> None:
        """Add a mistake; `words` follow the key's name."""
        self.mistakes.add(self.route, words, hint)

    def is_table(self) -> bool:
        """Tell whether it is a table; if not, that is a mistake."""
        if not isinstance(self.value, dict):
            self.refuse(f"must be a table, not {shown(self.value)}.")
        return isinstance(self.value, dict)

    def entries(self) -> "Table":
        """Return what a table gives by key; nothing where it is no table, which is a mistake."""
        if not self.is_table():
            return {}
        return {key: self.within(key, value) for key, value in self.value.items()}

    def fields(self, keys: Keys) -> "Table":
        """Return what a table gives by field; keys that it does not have are mistakes."""
        known = keys.fields
        found: Table = {}
        for name, one in self.entries().items():
            key = keys.renamed.get(name, name)
            if key != name:
                log.warning("The key %s of %s is called %s now.", name, keys.title, key)
            if key in known:
                found[known[key]] = one
            else:
                one.refuse(f"is no key of {keys.title}.", nearest(key, list(known)))
        return found


Table = dict[str, Given]


def read(table: Table, keys: Keys) -> dict[str, Any]:
    """Read the values that are no tables; what is not fit is a mistake, and left out."""
    found: dict[str, Any] = {}
    for name, kind in keys.kinds.items():
        if name in table:
            given = table[name]
            try:
                found[name] = kind.read(given.value)
            except UnfitError as error:
                given.mistakes.add((*given.route, *error.at), error.words, error.hint)
    return found
