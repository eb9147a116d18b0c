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


def lines_of(finding: Finding | str) -> Iterator[str]:
    if isinstance(finding, str):
        yield finding
        return
    within_text = f", in the time of {finding.within}" if finding.within else ""
    saving = "nothing" if finding.saving is None else f"{finding.saving:,} ns"
    yield f"{finding.severity}{finding.rule and f' of {finding.rule}'}, saves {saving}{within_text}"
    yield f"    {put_into_words(finding).message}"
    if finding.facts:
        yield f"    {', '.join(map(fact_of, finding.facts))}"
    yield f"    {finding.advice or finding.lever}"
    for place, evidence in enumerate(finding.evidence):
        if place < 3 or place == len(finding.evidence) - 1:
            note = f": {evidence.note}" if evidence.note else ""
            yield f"    {place + 1}. {evidence.table} {evidence.start:,} to {evidence.end:,}{note}"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare findings, or lines, with those that `findings.txt` has under the test's name.

    The file lies beside the test. `just update` writes it, in one process: all tests of a folder
    share it.
    """
    file = request.path.parent / "findings.txt"

    def require_equal(*findings: Finding | str) -> None:
        golden_text = file.read_text() if file.exists() else ""
        sections = dict(re.findall(r"^== (.+)\n((?:(?!== ).*\n)*)", golden_text, re.MULTILINE))
        text = "".join(f"{line}\n" for finding in findings for line in lines_of(finding))
        if request.config.getoption("--update-goldens"):
            sections[request.node.name] = text
            file.write_text("".join(f"== {name}\n{sections[name]}" for name in sorted(sections)))
        assert text == sections.get(request.node.name), "`just update` writes it again"

    return require_equal
