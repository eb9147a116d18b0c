"""From a file to the plan of a night; all mistakes in it are reported at once, with their lines.

A key's type, in `plan.py`, says which values it takes.
"""

import re
from pathlib import Path
from typing import Any

from tracekit.base import UsageError, suggest_name
from tracekit.machine import StateLimits
from tracekit.nightly.history.night import ANCHORED
from tracekit.nightly.plan.capture_reading import CaptureReading
from tracekit.nightly.plan.document import MINIMAL, SHARED, Document, open_document
from tracekit.nightly.plan.mistakes import Mistakes
from tracekit.nightly.plan.plan import Capture, NightPlan, add_digest

_OUTPUT = Path("bench") / "nights"


def history_of(text: str, folder: Path) -> str:
    """Return the URL of a history; the file of an SQLite one is relative to the plan's folder."""
    # Every command imports plans; this import takes as long as half of pandas.
    from tracekit.nightly.history.store.place import url_of  # noqa: PLC0415

    url = url_of(text)
    if url.get_backend_name() == "sqlite":
        url = url.set(database=str(folder / str(url.database)))
    return url.render_as_string(hide_password=False)


def read_plan(path: Path | None = None, *, work: bool = True) -> NightPlan:
    """Read the plan of a night, from a TOML file with a table `[nightly]`.

    In a `pyproject.toml` it is `[tool.tracekit.nightly]`; None is the nearest file, from the
    current folder upwards. Without `work`, workloads are not loaded, so none of their files run.
    One UsageError names all mistakes, each with its line.
    """
    document = open_document(path)
    mistakes = Mistakes(document)
    root = document.root
    folder = document.file.parent
    night_table = _night_of(document, mistakes)
    values = mistakes.read(NightPlan, night_table, root)
    state = values.pop("state", {})
    defaults = values.pop("defaults", {})
    if mistakes.is_table((*root, "machine-state"), state):
        limits = mistakes.read(StateLimits, state, (*root, "machine-state"))
        values["state"] = StateLimits(**limits)
    if mistakes.is_table((*root, "defaults"), defaults):
        captures = values.get("captures", [])
        read_captures = _captures(captures, defaults, document, mistakes, work=work)
        values["captures"] = tuple(read_captures)
    values["output"] = folder / values.get("output", _OUTPUT)
    if "history" in values:
        try:
            values["history"] = history_of(values["history"], folder)
        except UsageError as error:
            mistakes.add((*root, "history"), f"is wrong: {error.message}", error.hint)
    else:
        values["history"] = f"sqlite:///{values['output'] / 'history.db'}"
    values.setdefault("name", _make_plan_name(folder))
    mistakes.end()
    return add_digest(NightPlan(file=document.file, **values))


def _make_plan_name(folder: Path) -> str:
    """Return the name of a folder, in letters that every file system accepts."""
    name = re.sub(r"[^\w.+-]+", "-", folder.name)
    return name.strip("-.+")[:64] or "nightly"


def _night_of(document: Document, mistakes: Mistakes) -> dict[str, Any]:
    """Return the table of the night; a file of our own must not hold others."""
    if document.file.name != SHARED:
        for key in document.table:
            if key not in document.root:
                hint = suggest_name(key, document.root, otherwise="A plan is below [nightly].")
                mistakes.add((key,), "is not a table of a plan.", hint)
    table: Any = document.table
    for place, key in enumerate(document.root, 1):
        if key not in table:
            words = f"there is no table [{'.'.join(document.root)}]."
            mistakes.add((), words, f"The least is:\n{MINIMAL}")
            mistakes.end()
        if not mistakes.is_table(document.root[:place], table[key]):
            mistakes.end()
        table = table[key]
    return table


def _captures(
    capture_tables: Any,
    defaults: dict[str, Any],
    document: Document,
    mistakes: Mistakes,
    *,
    work: bool,
) -> list[Capture]:
    root = document.root
    if not isinstance(capture_tables, list) or not capture_tables:
        hint = f"Write [[nightly.capture]], with two brackets. The least is:\n{MINIMAL}"
        mistakes.add((*root, "capture"), "must be an array of tables, one for each capture.", hint)
        return []
    if "name" in defaults:
        mistakes.add((*root, "defaults", "name"), "cannot be the same for all captures.")
        return []
    default_values = mistakes.read(Capture, defaults, (*root, "defaults"))
    captures: list[Capture] = []
    earlier_names: set[str] = set()
    for number, capture_table in enumerate(capture_tables):
        route = (*root, "capture", number)
        if not mistakes.is_table(route, capture_table):
            continue
        values = mistakes.read(Capture, capture_table, route)
        right = len(values) == len(capture_table) and len(default_values) == len(defaults)
        reading = CaptureReading(route, mistakes, document.file.parent)
        capture_values = _with_defaults(values, default_values)
        capture = reading.capture(capture_values, right=right, work=work)
        if capture is None:
            continue
        if capture.name.endswith(ANCHORED):
            words = f"must not end in {ANCHORED}, which nights add for anchors."
            mistakes.add((*route, "name"), words)
        name = capture.name.casefold()  # no disk must take the folders of two captures for one
        if name in earlier_names:
            mistakes.add((*route, "name"), f"is a second capture named {capture.name!r}.")
        earlier_names.add(name)
        captures.append(capture)
    return captures


def _with_defaults(values: dict[str, Any], default_values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a capture over the defaults; parameters and metrics add up."""
    merged = default_values | values
    for key in ("parameters", "metrics"):
        table = values.get(key)
        default_table = default_values.get(key)
        if isinstance(table, dict) and isinstance(default_table, dict):
            merged[key] = default_table | table
    return merged
