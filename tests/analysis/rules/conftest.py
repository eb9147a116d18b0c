"""Whole findings, compared with those of a golden file: message, advice, evidence and saving."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysed import Golden
from tracekit.analysis.rule import Finding

FILE = Path(__file__).parent / "findings.txt"


def lines_of(found: Finding) -> Iterator[str]:
    within = f", in the time of {found.within}" if found.within else ""
    saving = "nothing" if found.saving is None else f"{found.saving:,} ns"
    yield f"{found.severity}, saves {saving}{within}"
    yield f"    {found.message}"
    yield f"    {found.advice}"
    for place, seen in enumerate(found.evidence):
        if place < 3 or place == len(found.evidence) - 1:
            note = f": {seen.note}" if seen.note else ""
            yield f"    {place + 1}. {seen.table} {seen.start:,} to {seen.end:,}{note}"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare findings with those that the file has under the test's name.

    `--update-goldens` writes them, in one process (`-n 0`).
    """

    def require_equal(*found: Finding) -> None:
        sections = dict(re.findall(r"^== (.+)\n((?:(?!== ).*\n)*)", FILE.read_text(), re.MULTILINE))
        text = "".join(f"{line}\n" for each in found for line in lines_of(each))
        if request.config.getoption("--update-goldens"):
            sections[request.node.name] = text
            FILE.write_text("".join(f"== {name}\n{sections[name]}" for name in sorted(sections)))
        assert text == sections[request.node.name]

    return require_equal
