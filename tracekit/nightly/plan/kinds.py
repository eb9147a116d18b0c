"""What keys of a plan take: types that msgspec checks, and how text becomes their values."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Meta

from tracekit.base import UsageError, size_of
from tracekit.machine import THERMAL_PRESSURES
from tracekit.workload import plan


@dataclass(frozen=True)
class FromText:
    """A key takes `words` as well: text, of which `read` makes the value."""

    words: str
    read: Callable[[str], Any]


def _seconds(text: str) -> float:
    return 0.0 if re.fullmatch(r"0(ms|s|m|h)", text) else plan.seconds(text)


def _pressure(text: str) -> int:
    return [pressure.lower() for pressure in THERMAL_PRESSURES].index(text.lower())


Text = Annotated[str, Meta(pattern=r"^[^\x00]+\Z", description="text")]
Name = Annotated[
    str, Meta(pattern=r"^\w[\w.+-]{0,63}\Z", description="name that can be a folder's")
]
Texts = Annotated[tuple[Text, ...], FromText("text, or an array of them", lambda text: [text])]
Command = Annotated[
    tuple[Text, ...],
    FromText("command: an array of its words, or one text", shlex.split),
    Meta(min_length=1),
]
Commands = Annotated[tuple[Command, ...], Meta(description="array of commands")]
Seconds = Annotated[float, FromText('time such as "5s", or seconds', _seconds)]
Bytes = Annotated[int, FromText('size such as "1GiB", or bytes', size_of), Meta(ge=0, le=1 << 60)]
Share = Annotated[float, Meta(ge=0, le=1)]
Pressure = Annotated[
    int,
    FromText(f"one of {', '.join(THERMAL_PRESSURES)}, or its place from 0", _pressure),
    Meta(ge=0, lt=len(THERMAL_PRESSURES)),
]

STATE: dict[str, Any] = {
    "calibration": Annotated[float, Meta(ge=0, le=10)],
    "clock": Share,
    "load": Share,
    "memory_free": Bytes,
    "battery": Share,
    "thermal_pressure": Pressure,
    "gpu_others": Share,
    "low_power": bool,
}
"""What the keys of `machine-state` take; all but the last also `false`, which is None."""


def converted(value: Any, kind: Any) -> Any:
    """Return a value of TOML as its key's type; raise ValueError that says what it is not."""
    try:
        return msgspec.convert(_prepared(value, kind), kind, dec_hook=_path)
    except UsageError as error:
        raise ValueError(f"{error.message} {error.hint}") from error
    except msgspec.ValidationError as error:
        words = words_of(kind)
        raise ValueError(f"{error}.{f' It takes {words}.' if words else ''}") from error


def words_of(kind: Any) -> str:
    """Return what a key takes, where its type does not say it."""
    for note in getattr(kind, "__metadata__", ()):
        if isinstance(note, FromText):
            return note.words
        if isinstance(note, Meta) and note.description:
            return note.description
    return ""


def _prepared(value: Any, kind: Any) -> Any:
    """Return a value with each text in it read that stands for something else."""
    for note in getattr(kind, "__metadata__", ()):
        if isinstance(note, FromText) and isinstance(value, str):
            value = note.read(value)
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(bare) is tuple and isinstance(value, list):
        return [_prepared(each, get_args(bare)[0]) for each in value]
    return value


def _path(kind: type[Any], value: Any) -> Any:
    if kind is not Path or not isinstance(value, str):
        raise ValueError(f"Expected `str`, got `{type(value).__name__}`")
    try:
        return Path(value).expanduser()
    except RuntimeError as error:
        raise ValueError(f"It names nobody's home: {error}") from error
