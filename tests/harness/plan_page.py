"""Write the starter of a night's plan and its keys into their reference: types, defaults, meanings.

The page has a place for each table, between `BEGIN` and `END`, below the heading of the table, and
one for the starter before them.
"""

import dataclasses
import inspect
import json
import re
import types
import typing
from pathlib import Path
from typing import Any, Literal

from msgspec import Meta

from tracekit.machine import THERMAL_PRESSURES, StateLimits
from tracekit.nightly.plan.document import STARTER
from tracekit.nightly.plan.mistakes import keys_of
from tracekit.nightly.plan.plan import (
    STATE,
    Bytes,
    Capture,
    FromText,
    Gated,
    NightPlan,
    Pressure,
    Reference,
    Seconds,
    words_of,
)

BEGIN, END = "<!-- written by tests/harness/plan_page.py -->", "<!-- end of keys -->"
_END_OF_STARTER = "<!-- end of starter -->"
PLAN: dict[str, type[Any]] = {
    "[nightly]": NightPlan,
    "[nightly.machine-state]": StateLimits,
    "[[nightly.capture]]": Capture,
    "[nightly.capture.reference]": Reference,
    "[nightly.capture.metrics]": Gated,
}
_LINKS: dict[Any, str] = {
    tuple[Capture, ...]: "[array of tables](#nightlycapture)",
    tuple[Gated, ...]: "[table](#nightlycapturemetrics)",
    Reference: "[table](#nightlycapturereference), or `false` for none",
    StateLimits: "[table](#nightlymachine-state)",
}
_WORDS: dict[Any, str] = {bool: "true or false", int: "whole number", float: "number", Path: "path"}
# Defaults that code makes of other keys.
_DEFAULTS = {
    (NightPlan, "name"): "the folder's name",
    (NightPlan, "output"): "`bench/nights`",
    (NightPlan, "history"): "`history.db` in `output`",
    (Capture, "name"): "the workload's name",
    (Capture, "workload"): "required, or `program`",
    (Capture, "metrics"): "see below",
    (Gated, "threshold"): "see below",
    (Gated, "scale"): "see below",
    (Gated, "gate"): "`true` if there is a reference",
    (StateLimits, "battery"): "`false`",
}
_DEFAULTS_KEY = (
    "defaults",
    "table",
    "none",
    "Keys of a capture that apply to every capture that does not set them.",
)


def plan_page(text: str) -> str:
    """Return the page with the present starter and keys in its places."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(_END_OF_STARTER)
    starter = f"```toml\n{STARTER.read_text()}```"
    text = f"{head}{BEGIN}\n\n{starter}\n\n{_END_OF_STARTER}{tail}"
    for head, noun in PLAN.items():
        before, begin, rest = text.partition(f"\n## {head}\n")
        note, _, rest = rest.partition(BEGIN)
        _, _, after = rest.partition(END)
        text = f"{before}{begin}{note}{BEGIN}\n\n{_table(noun)}\n{END}{after}"
    return text


def _table(noun: type[Any]) -> str:
    meanings = _meanings(noun)
    kinds = typing.get_type_hints(noun, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(noun)}
    rows: list[tuple[str, ...]] = []
    for key, name in keys_of(noun).items():
        if name == "defaults":
            rows.append(_DEFAULTS_KEY)
            continue
        kind = _kind(noun, name, kinds)
        takes = _takes(kind)
        if noun is StateLimits and kind is not bool:
            takes += "; or `false`"
        default = _DEFAULTS.get((noun, name)) or _default(fields[name], kind)
        rows.append((key, takes, default, meanings[name]))
    lines = [
        f"| `{key}` | {takes} | {default} | {meaning} |\n" for key, takes, default, meaning in rows
    ]
    return "| key | takes | default | meaning |\n|---|---|---|---|\n" + "".join(lines)


def _kind(noun: type[Any], name: str, kinds: dict[str, Any]) -> Any:
    """Return the type of a key without None."""
    if noun is StateLimits:
        return STATE[name]
    kind = kinds[name]
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        [kind] = [part for part in typing.get_args(kind) if part is not types.NoneType]
    return kind


def _meanings(noun: type[Any]) -> dict[str, str]:
    """Return the meaning of each attribute, from the docstring."""
    _, _, text = (inspect.getdoc(noun) or "").partition("Attributes:\n")
    entries = re.findall(
        r"^    (\w+): (.+?)(?=^    \w+: |\Z)", text + "\n", re.MULTILINE | re.DOTALL
    )
    return {name: " ".join(meaning.split()).replace("|", "\\|") for name, meaning in entries}


def _takes(kind: Any) -> str:
    """Return the values that a key takes, in words, with their bounds."""
    base = kind
    metadata: tuple[Any, ...] = getattr(kind, "__metadata__", ())
    if metadata:
        base = typing.get_args(kind)[0]
    if base in _LINKS:
        return _LINKS[base]
    if typing.get_origin(base) is Literal:
        choices = [choice for choice in typing.get_args(base) if choice]
        return "one of " + ", ".join(f'"{choice}"' for choice in choices)
    if typing.get_origin(base) is dict:
        return "table"
    return (words_of(kind) or _WORDS[base]) + _bounds(kind, metadata)


def _bounds(kind: Any, metadata: tuple[Any, ...]) -> str:
    if any(isinstance(note, FromText) for note in metadata) and _same(kind, Bytes, Pressure):
        return ""
    bounds = [note for note in metadata if isinstance(note, Meta)]
    least = next((note.ge for note in bounds if note.ge is not None), None)
    above = next((note.gt for note in bounds if note.gt is not None), None)
    most = next((note.le for note in bounds if note.le is not None), None)
    if above is not None:
        return f" above {above}"
    if least is not None:
        return f", {least} to {most}"
    return ""


def _same(kind: Any, *others: Any) -> bool:
    """Tell whether a type reads its text as one of the others does."""
    return any(_reader(kind) is _reader(other) for other in others)


def _reader(kind: Any) -> Any:
    notes = [note for note in getattr(kind, "__metadata__", ()) if isinstance(note, FromText)]
    return notes[0].read if notes else None


def _default(field: "dataclasses.Field[Any]", kind: Any) -> str:
    if field.default is dataclasses.MISSING:
        return "none" if field.default_factory is not dataclasses.MISSING else "required"
    value = field.default
    if value is None or value in ("", ()):
        return "none"
    return f"`{_value(value, kind)}`"


def _value(value: Any, kind: Any) -> str:
    """Return a value as a plan would have it."""
    if isinstance(value, tuple):
        return json.dumps(value[0])
    text = json.dumps(value)
    if _same(kind, Seconds):
        text = _time(value)
    elif _same(kind, Bytes):
        text = f'"{value >> 30}GiB"'
    elif _same(kind, Pressure):
        text = f'"{THERMAL_PRESSURES[value]}"'
    return text


def _time(seconds: float) -> str:
    """Return seconds as a plan would have them."""
    for unit, length in (("h", 3600.0), ("m", 60.0), ("s", 1.0), ("ms", 0.001)):
        count = seconds / length
        if count >= 1 and count == round(count):
            return f'"{count:.0f}{unit}"'
    return f"{seconds:g}"
