"""The reference page of a plan's file: every key, from the dataclasses that it becomes."""

import inspect
import re
from dataclasses import MISSING, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Meta

from tracekit.machine import StateLimits
from tracekit.nightly.plan.document import STARTER
from tracekit.nightly.plan.plan import STATE, words_of
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference
from tracekit.nightly.plan.reading import FOLLOWED, keys_of

_DEFAULTS = {
    "[nightly] name": "the folder's name",
    "[nightly] output": "`bench/nights`",
    "[nightly] history": "`history.db` in `output`",
    "[nightly] budget": '`"2h"`',
    "[nightly.machine-state] memory-free": '`"1GiB"`',
    "[nightly.machine-state] battery": "`false`",
    "[nightly.machine-state] thermal-pressure": '`"Nominal"`',
    "[[nightly.capture]] name": "the workload's name",
    "[[nightly.capture]] turn": '`"300ms"`',
    "[[nightly.capture]] time-limit": '`"5s"`',
    "[[nightly.capture]] reference": "none",
    "[[nightly.capture]] metrics": "see below",
    "[nightly.capture.metrics] threshold": "see below",
    "[nightly.capture.metrics] scale": "see below",
    "[nightly.capture.metrics] gate": "`true` where there is a reference",
}
_TABLES = {
    "reference": "[table](#nightlycapturereference), or `false` for none",
    "metrics": "[table](#nightlycapturemetrics)",
    "state": "[table](#nightlymachine-state)",
    "captures": "[array of tables](#nightlycapture)",
    "defaults": "table",
}
_MEANINGS = {
    "defaults": "What holds for every capture that does not say otherwise: keys of a capture.",
    "battery": "The least charge while on battery, as a ratio.",
    "thermal_pressure": "The worst thermal pressure.",
}
_NOTES = {
    "[nightly.machine-state]": "`false` leaves something out of account; of `battery` it allows "
    "mains only.\n\n",
    "[[nightly.capture]]": "Of `parameters` and `metrics`, single entries of `[nightly.defaults]` "
    "hold for each capture too; a capture's own go before them.\n\n",
    "[nightly.capture.reference]": "It differs by one of the commits `revision`, `merge-base` and "
    "`previous-night`, by `python`, `workload` or `parameters`: at least one is needed. `setup` "
    "and `pythonpath` are for a commit.\n\n",
}


_TITLES: dict[type[Any], str] = {
    NightPlan: "[nightly]",
    StateLimits: "[nightly.machine-state]",
    Capture: "[[nightly.capture]]",
    Reference: "[nightly.capture.reference]",
}


def plan_page() -> str:
    """Return the page."""
    sections = [_section(noun, title) for noun, title in _TITLES.items()]
    return f"{_HEAD}{''.join(sections)}{_metrics()}"


def _section(noun: type[Any], title: str) -> str:
    meanings = _meanings(noun)
    rows = [
        f"| `{key}` | {_kind(noun, field)} | {_default(noun, title, key, field)} "
        f"| {_MEANINGS.get(field) or meanings[field]} |\n"
        for key, field in keys_of(noun).items()
    ]
    head = f"\n## {title}\n\n{_NOTES.get(title, '')}"
    return f"{head}\n| key | takes | default | what it is |\n|---|---|---|---|\n".replace(
        "\n\n\n", "\n\n"
    ) + "".join(rows)


def _kind(noun: type[Any], field: str) -> str:
    """Return what a key takes: the words of its type, and its bounds."""
    if field in _TABLES:
        return _TABLES[field]
    state = noun is StateLimits
    kind = STATE[field] if state else get_type_hints(noun, include_extras=True)[field]
    off = "; or `false`" if state and kind is not bool else ""
    metas = [one for one in getattr(kind, "__metadata__", ()) if isinstance(one, Meta)]
    bounds = "".join(_bounds(one) for one in metas)
    return f"{words_of(kind) or _plain(kind)}{bounds}{off}"


def _bounds(meta: Meta) -> str:
    if meta.gt is not None:
        return f" above {meta.gt:g}"
    if meta.ge is None or (meta.le is None and meta.lt is None):
        return ""
    if meta.lt is not None or (meta.le or 0) > 1e9:
        return ""
    return f", {meta.ge:g} to {meta.le:g}"


def _plain(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(f'"{one}"' for one in get_args(kind) if one)
    if NoneType in get_args(kind):
        return "path"
    bare = get_args(kind)[0] if hasattr(kind, "__metadata__") else kind
    words = {bool: "true or false", int: "whole number", float: "number"}
    return words.get(bare) or ("table" if get_origin(bare) is dict else "path")


def _default(noun: type[Any], title: str, key: str, field: str) -> str:
    if (told := _DEFAULTS.get(f"{title} {key}")) is not None:
        return told
    known = {one.name: one for one in fields(noun)}.get(field)
    if known is None or known.default is MISSING:
        needed = known is not None and known.default_factory is MISSING
        return "needed" if needed else "none"
    return _as_toml(known.default)


def _as_toml(value: Any) -> str:
    if value is None or value is False:
        return "`false`" if value is False else "none"
    if value in {"", ()}:
        return "none"
    if isinstance(value, tuple):
        return _as_toml(value[0])
    if isinstance(value, bool):
        return "`true`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _meanings(noun: type[Any]) -> dict[str, str]:
    """Read the section Attributes of a docstring."""
    text = (inspect.getdoc(noun) or "").partition("Attributes:\n")[2]
    parts = re.split(r"^ {4}(\w+): ", text, flags=re.MULTILINE)[1:]
    return {
        name: " ".join(words.split()) for name, words in zip(parts[::2], parts[1::2], strict=True)
    }


def _metrics() -> str:
    return _section(Gated, "[nightly.capture.metrics]") + (
        "\nEach key of the table is a metric, or a result that the workload itself reports. A "
        "number is short for its `threshold`; `true` follows it as is usual, `false` not at all. "
        "Shares differ by 0.02, which is 2 points, whole counts by 1, all else by a ratio of 0.03; "
        "with the scale `difference` a threshold is in the metric's own unit.\n\n"
        "A metric that the table names decides, unless `gate` is false or there is no reference. "
        "Where the table names none, `step_p50` decides. What turns measure needs 6 pairs or more "
        "to decide; what only traces show needs 6 traces, except whole counts, which one can "
        "show.\n\n"
        "Followed in any case, where they are available: "
        + ", ".join(f"`{one}`" for one in FOLLOWED)
        + ".\n"
    )


_HEAD = f"""\
# The plan of a night

`tracekit nightly` reads `tracekit.toml`, or `[tool.tracekit.nightly]` of `pyproject.toml`, where
each table below lies in `tool.tracekit`. Without a name it takes the nearest of them, from the
current folder upwards. `tracekit nightly --init` writes this one:

```toml
{STARTER.read_text()}```

Paths are relative to the file, and so is a history of SQLite. All mistakes in the file are reported
at once, each with its line and key; then nothing runs. `tracekit nightly --dry-run` shows
what would run, how long it takes, and whether the references are available.
"""
