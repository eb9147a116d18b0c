"""`xctrace export`: the table of contents and tables of a bundle."""

import re
import sys
import time
from pathlib import Path
from typing import Any

import documents
import texts
from bundles import read_bundle
from scenario import Scenario

_MISSING, _USAGE = 10, 64
_XPATH = re.compile(
    r"""/trace-toc/run\[@number=["'](\d+)["']\]/data/table\[@schema=["']([^"']+)["']\](?:\[(\d+)\])?"""
)


def export(options: list[str], scenario: Scenario) -> int:
    scenario.note("Exporting")
    words = iter(options)
    option_values: dict[str, str] = {}
    paths: list[str] = []
    for word in words:
        option_values[word] = "" if word == "--toc" else next(words, "")
        if word == "--xpath":
            paths.append(option_values[word])
    modes = option_values.keys() & {"--toc", "--xpath"}
    if len(modes) != 1 or option_values.keys() - modes - {"--input", "--output"}:
        sys.stderr.write("Table of Contents and XPath query are two separate modes\n")
        return _USAGE  # the wording is not on record
    _take_time(scenario, "toc" if "--toc" in modes else "table")
    transient = scenario.get("missing_template", 0)
    missing = transient and scenario.is_due("export", transient)
    bundle = Path("/nowhere" if missing else option_values.get("--input", ""))
    try:
        state = read_bundle(bundle)
    except (OSError, ValueError):
        sys.stderr.write(f"{texts.NO_TEMPLATE}\n")
        return _MISSING
    if "--toc" in option_values:
        return _write(option_values, documents.toc(state))
    if scenario.get("xpaths") != "all":
        paths = paths[-1:]
    return _tables(option_values, paths, state, scenario)


def _take_time(scenario: Scenario, kind: str) -> None:
    """Take the seconds of an export: the same for each, or those of the TOC and of a table."""
    delay = scenario.get("export_delay", 0)
    time.sleep(delay.get(kind, 0) if isinstance(delay, dict) else delay)


def _tables(
    option_values: dict[str, str], paths: list[str], state: dict[str, Any], scenario: Scenario
) -> int:
    found_texts: list[str] = []
    for path in paths:
        match = _XPATH.fullmatch(path)
        if match is None:
            sys.stderr.write('Export failed: XQueryError:3 - "invalid token"\n')
            return 1
        schema, place = match[2], int(match[3] or 0)
        scenario.note(f"Exporting {schema}")
        text = documents.table(state, schema, place)
        found_texts.append(texts.NO_MATCH if match[1] != "1" or text is None else text)
    return _write(option_values, "".join(found_texts))


def _write(option_values: dict[str, str], text: str) -> int:
    output = option_values.get("--output")
    if output:
        Path(output).write_text(text)
        text = f"Finished export to the file: {output}\n"
    sys.stdout.write(text)
    return 0
