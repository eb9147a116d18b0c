"""The reference page of a plan's file: every key, from the dataclasses that it becomes."""

import inspect
import re
from dataclasses import MISSING, fields
from typing import Any

from tracekit.nightly.plan.keys import CAPTURE, METRIC, NIGHT, REFERENCE, STATE, Keys
from tracekit.nightly.plan.reading import FOLLOWED
from tracekit.nightly.plan.starter import STARTER

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
    STATE.title: "`false` leaves something out of account; of `battery` it allows mains only.\n\n",
    CAPTURE.title: "Of `parameters` and `metrics`, single entries of `[nightly.defaults]` hold for "
    "each capture too; a capture's own go before them.\n\n",
    REFERENCE.title: "It differs by one of the commits `revision`, `merge-base` and "
    "`previous-night`, by `python`, `workload` or `parameters`: at least one is needed. `setup` "
    "and `pythonpath` are for a commit.\n\n",
}


def plan_page() -> str:
    """Return the page."""
    return _HEAD + "".join(_section(one) for one in (NIGHT, STATE, CAPTURE, REFERENCE)) + _metrics()


def _section(keys: Keys) -> str:
    meanings = _meanings(keys.noun)
    rows = [
        f"| `{key}` | {_kind(keys, field)} | {_default(keys, key, field)} "
        f"| {_MEANINGS.get(field) or meanings[field]} |\n"
        for key, field in keys.fields.items()
    ]
    head = f"\n## {keys.title}\n\n{_NOTES.get(keys.title, '')}"
    return f"{head}\n| key | takes | default | what it is |\n|---|---|---|---|\n".replace(
        "\n\n\n", "\n\n"
    ) + "".join(rows)


def _kind(keys: Keys, field: str) -> str:
    return keys.kinds[field].words if field in keys.kinds else _TABLES[field]


def _default(keys: Keys, key: str, field: str) -> str:
    if (told := _DEFAULTS.get(f"{keys.title} {key}")) is not None:
        return told
    known = {one.name: one for one in fields(keys.noun)}.get(field)
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
    return _section(METRIC) + (
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
{STARTER}```

Paths are relative to the file, and so is a history of SQLite. All mistakes in the file are reported
at once, each with its line, column and key; then nothing runs. `tracekit nightly --dry-run` shows
what would run, how long it takes, and whether the references are available.
"""
