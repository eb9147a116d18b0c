"""`xctrace export`: the table of contents and tables of a bundle."""

import json
import os
import re
import signal
import sys
from pathlib import Path

import documents
import texts
from scenario import Scenario

_MISSING = 10
_XPATH = re.compile(
    r"""/trace-toc/run\[@number=["'](\d+)["']\]/data/table\[@schema=["']([^"']+)["']\](?:\[(\d+)\])?"""
)


def export(options: list[str], scenario: Scenario) -> int:
    toc = "--toc" in options
    given = _values(options)
    if toc == ("--xpath" in given):
        sys.stderr.write("Table of Contents and XPath query are two separate modes\n")
        return 64
    bundle = Path(given.get("--input", ""))
    transient = scenario.get("missing_template", 0)
    if transient and scenario.still("export", transient):
        return _refuse()
    try:
        state = json.loads((bundle / "form.template").read_text())
    except (OSError, ValueError):
        return _refuse()
    if toc:
        return _write(given, documents.toc(state, scenario))
    return _table(given, state, scenario)


def _values(options: list[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    words = iter(options)
    for word in words:
        if word != "--toc":
            values[word] = next(words, "")
    return values


def _table(given: dict[str, str], state: dict, scenario: Scenario) -> int:
    found = _XPATH.fullmatch(given["--xpath"])
    if found is None:
        sys.stderr.write('Export failed: XQueryError:3 - "invalid token"\n')
        return 1
    schema, place = found.group(2), int(found.group(3) or 0)
    text = documents.table(state, scenario, schema, place)
    if found.group(1) != "1" or text is None:
        return _write(given, texts.NO_MATCH)
    if schema in scenario.get("trap", []):
        Path(given["--output"]).write_text(text[: len(text) // 2])
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGTRAP)
    if schema in scenario.get("not_xml", []):
        return _write(given, "Export failed: something went wrong\n")
    return _write(given, text)


def _write(given: dict[str, str], text: str) -> int:
    output = given.get("--output")
    if not output:
        sys.stdout.write(text)
        return 0
    Path(output).write_text(text)
    sys.stdout.write(f"Finished export to the file: {output}\n")
    return 0


def _refuse() -> int:
    sys.stderr.write(f"{texts.NO_TEMPLATE}\n")
    return _MISSING
