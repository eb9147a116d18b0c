"""`xctrace export`: the table of contents and tables of a bundle."""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import documents
import texts
from scenario import Scenario

_MISSING = 10
_XPATH = re.compile(
    r"""/trace-toc/run\[@number=["'](\d+)["']\]/data/table\[@schema=["']([^"']+)["']\](?:\[(\d+)\])?"""
)


_WITH_VALUE = {"--input", "--output", "--xpath"}
_USAGE = 64


class UsageError(Exception):
    """The options make no sense; the wording is not on record."""


def export(options: list[str], scenario: Scenario) -> int:
    scenario.note("Exporting")
    time.sleep(scenario.get("export_delay", 0))
    try:
        given = _values(options)
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return _USAGE
    transient = scenario.get("missing_template", 0)
    if transient and scenario.still("export", transient):
        return _refuse()
    try:
        bundle = Path(given.get("--input", ""))
        there = bundle / "state.json"  # of a real bundle
        state = json.loads((there if there.exists() else bundle / "form.template").read_text())
    except (OSError, ValueError):
        return _refuse()
    if "--toc" in given:
        return _write(given, iter((documents.toc(state, scenario),)))
    return _table(given, state, scenario)


def _values(options: list[str]) -> dict[str, str]:
    """Return the options; one of --toc and --xpath is wanted, and one only."""
    values: dict[str, str] = {}
    words = iter(options)
    for word in words:
        if word == "--toc":
            values[word] = ""
        elif word in _WITH_VALUE:
            values[word] = next(words, "")
        else:
            raise UsageError(f"unexpected argument: {word}")
    if ("--toc" in values) == ("--xpath" in values):
        raise UsageError("Table of Contents and XPath query are two separate modes")
    return values


def _table(given: dict[str, str], state: dict, scenario: Scenario) -> int:
    found = _XPATH.fullmatch(given["--xpath"])
    if found is None:
        sys.stderr.write('Export failed: XQueryError:3 - "invalid token"\n')
        return 1
    schema, place = found.group(2), int(found.group(3) or 0)
    scenario.note(f"Exporting {schema}")
    pieces = documents.table(state, scenario, schema, place)
    lie = scenario.get("lies", {}).get(schema)
    if lie and pieces is not None:
        pieces = iter(("".join(pieces).replace(*lie, 1),))
    if found.group(1) != "1" or pieces is None:
        return _write(given, iter((texts.NO_MATCH,)))
    dies = dict.fromkeys(scenario.get("trap", []), signal.SIGTRAP) | dict.fromkeys(
        scenario.get("segv", []), signal.SIGSEGV
    )
    if schema in dies:
        text = "".join(pieces)
        Path(given["--output"]).write_text(text[: len(text) // 2])
        os.kill(os.getpid(), dies[schema])
    if schema in scenario.get("not_xml", []):
        pieces = iter(("Export failed: something went wrong\n",))
    return _write(given, pieces)


def _write(given: dict[str, str], pieces: Iterator[str]) -> int:
    output = given.get("--output")
    if not output:
        sys.stdout.writelines(pieces)
        return 0
    with Path(output).open("w") as file:
        file.writelines(pieces)
    sys.stdout.write(f"Finished export to the file: {output}\n")
    return 0


def _refuse() -> int:
    sys.stderr.write(f"{texts.NO_TEMPLATE}\n")
    return _MISSING
