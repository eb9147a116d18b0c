"""Facts become one sentence, in one place."""

import re
from pathlib import Path

import jinja2
import pytest

from tracekit.analysis.rule import Fact, finding
from tracekit.analysis.wording import put_into_words, sentence_of
from tracekit.base import shipped

RULES = Path(__file__).parents[2] / "tracekit" / "analysis" / "rules"


def test_each_fact_is_written_by_its_unit() -> None:
    facts = (Fact("ratio", 0.125, "ratio"), Fact("spread", 0.01, "ratio"))
    assert sentence_of(finding(wording="trace-overhead", facts=facts)) == (
        "Recording made the workload 12.5 % (± 1.0 %) slower: absolute times are too long, only "
        "shares can be compared."
    )


def test_a_fact_that_is_not_known_is_not_a_number() -> None:
    facts = (Fact("ratio", 0.125, "ratio"), Fact("spread", None, "ratio"))
    assert sentence_of(finding(wording="trace-overhead", facts=facts)).startswith(
        "Recording made the workload 12.5 % slower"
    )


def test_a_template_that_names_a_fact_the_finding_lacks_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="ratio"):
        sentence_of(finding(wording="trace-overhead"))


def test_a_finding_without_a_template_keeps_its_message() -> None:
    assert put_into_words(finding("As it is.", "Advice.")).message == "As it is."


def test_doubt_follows_the_sentence_of_any_finding() -> None:
    facts = (Fact("ratio", 0.125, "ratio"), Fact("spread", None), Fact("uncompared", "names"))
    assert sentence_of(finding(wording="trace-overhead", facts=facts)).endswith(
        "only shares can be compared. The names were read by an encoding that was never compared "
        "with an export: compare some before you act."
    )


def test_rules_and_templates_name_each_other() -> None:
    used = {
        name
        for file in RULES.glob("*.py")
        for name in re.findall(r'wording="([^"]+)"', file.read_text())
    }
    assert used == {file.stem for file in (shipped("templates") / "findings").glob("*.txt")}
