"""From a file to the plan of a night; every mistake in it is told at once, with its line."""

import re
import unicodedata
from collections import Counter
from pathlib import Path

from tracekit.base.errors import nearest
from tracekit.machine.state import StateLimits
from tracekit.nightly.plan.address import history_of
from tracekit.nightly.plan.captures import Reading, read_capture, read_defaults
from tracekit.nightly.plan.digest import digested
from tracekit.nightly.plan.document import MINIMAL, SHARED, Document, open_document
from tracekit.nightly.plan.given import Given, Table, entries, fields, is_table, read
from tracekit.nightly.plan.keys import NIGHT, STATE
from tracekit.nightly.plan.kind import shown
from tracekit.nightly.plan.mistakes import Mistakes
from tracekit.nightly.plan.plan import Capture, NightPlan

OUTPUT = Path("bench") / "nights"


def read_plan(path: Path | None = None, *, work: bool = True) -> NightPlan:
    """Read the plan of a night.

    Args:
        path: A TOML file with a table `[nightly]`, or a `pyproject.toml` with
            `[tool.tracekit.nightly]`; None for the nearest, from the current folder upwards.
        work: Whether workloads are loaded, which runs their files, and their parameters bound.

    Raises:
        UsageError: There is no plan, or there are mistakes in it; the message names all of them,
            each with line and column.
    """
    document = open_document(path)
    mistakes = Mistakes(document.shown, document.places)
    table = fields(_night_of(document, mistakes), NIGHT, mistakes)
    reading = Reading(document.file.parent, mistakes, work)
    values = read(table, NIGHT, mistakes)
    values["captures"] = _captures(table, reading, document)
    values["state"] = _state(table, mistakes)
    values["output"] = output = reading.folder / values.get("output", OUTPUT)
    values["history"] = history_of(table.get("history"), output, reading.folder, mistakes)
    values.setdefault("name", _name_of(reading.folder))
    mistakes.end()
    return digested(NightPlan(file=document.file, **values))


def _night_of(document: Document, mistakes: Mistakes) -> Given:
    """Return the table of the night; a file of our own holds nothing else."""
    if document.file.name != SHARED:
        for key in document.table:
            if key not in document.root:
                hint = nearest(key, document.root, otherwise="A plan is below [nightly].")
                mistakes.add((key,), "is no table of a plan.", hint)
    given = Given((), document.table)
    for key in document.root:
        inner = entries(given, mistakes)
        if key not in inner:
            words = f"there is no table [{'.'.join(document.root)}]."
            mistakes.add(given.route, words, f"The least is:\n{MINIMAL}")
            mistakes.end()
        given = inner[key]
    if not is_table(given, mistakes):
        mistakes.end()
    return given


def _state(table: Table, mistakes: Mistakes) -> StateLimits:
    if "state" not in table:
        return StateLimits()
    return StateLimits(**read(fields(table["state"], STATE, mistakes), STATE, mistakes))


def _captures(table: Table, reading: Reading, document: Document) -> tuple[Capture, ...]:
    mistakes = reading.mistakes
    defaults = read_defaults(table["defaults"], mistakes) if "defaults" in table else {}
    given = table.get("captures", Given(document.root, []))
    if not isinstance(given.value, list):
        words = f"must be an array of tables, not {shown(given.value)}."
        mistakes.add(given.route, words, "Write [[nightly.capture]], with two brackets.")
        return ()
    if not given.value:
        mistakes.add(given.route, "has no capture.", f"The least is:\n{MINIMAL}")
    several = [Given(given.at(place), one) for place, one in enumerate(given.value)]
    tables = [one for one in several if is_table(one, mistakes)]
    attempts = [(one, read_capture(one, defaults, reading)) for one in tables]
    captures = [(one, capture) for one, capture in attempts if capture is not None]
    _check_names(captures, mistakes)
    return tuple(capture for _, capture in captures)


def _check_names(captures: list[tuple[Given, Capture]], mistakes: Mistakes) -> None:
    """Add a mistake for each name that was taken: folders of two must not be one on any disk."""
    seen: Counter[str] = Counter()
    for given, capture in captures:
        key = unicodedata.normalize("NFKC", capture.name).casefold()
        seen[key] += 1
        if seen[key] > 1:
            words = f"is a second capture named {capture.name!r}."
            mistakes.add(given.at("name"), words, "Give each a name of its own.")


def _name_of(folder: Path) -> str:
    name = re.sub(r"[^\w.+-]+", "-", unicodedata.normalize("NFC", folder.name))
    return name.strip("-.+")[:64] or "nightly"
