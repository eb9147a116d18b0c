"""Whole findings, compared with a golden file: message, facts, advice, evidence, saving."""

import re
from collections.abc import Iterator

import pytest

from analysed import Golden
from tracekit.analysis.rule import Fact, Finding
from tracekit.analysis.wording import put_into_words


def fact_of(fact: Fact) -> str:
    value = f"{fact.value:.6g}" if isinstance(fact.value, float) else fact.value
    return f"{fact.name}={value}"


def lines_of(found: Finding | str) -> Iterator[str]:
    if isinstance(found, str):
        yield found
        return
    within = f", in the time of {found.within}" if found.within else ""
    saving = "nothing" if found.saving is None else f"{found.saving:,} ns"
    yield f"{found.severity}{found.rule and f' of {found.rule}'}, saves {saving}{within}"
    yield f"    {put_into_words(found).message}"
    if found.facts:
        yield f"    {', '.join(map(fact_of, found.facts))}"
    yield f"    {found.advice or found.lever}"
    for place, seen in enumerate(found.evidence):
        if place < 3 or place == len(found.evidence) - 1:
            note = f": {seen.note}" if seen.note else ""
            yield f"    {place + 1}. {seen.table} {seen.start:,} to {seen.end:,}{note}"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare findings, or lines, with those that `findings.txt` has under the test's name.

    The file lies beside the test. `just update` writes it, in one process: all tests of a folder
    share it.
    """
    file = request.path.parent / "findings.txt"

    def require_equal(*found: Finding | str) -> None:
        written = file.read_text() if file.exists() else ""
        sections = dict(re.findall(r"^== (.+)\n((?:(?!== ).*\n)*)", written, re.MULTILINE))
        text = "".join(f"{line}\n" for each in found for line in lines_of(each))
        if request.config.getoption("--update-goldens"):
            sections[request.node.name] = text
            file.write_text("".join(f"== {name}\n{sections[name]}" for name in sorted(sections)))
        assert text == sections.get(request.node.name), "`just update` writes it again"

    return require_equal
